/* What the page's worker calls: commands of the program, whose files are in memory, and the state
 * of a run while it goes on and when it has ended. */
#include "base/file.h"
#include "cli/cli.h"
#include "draw/drawing.h"
#include "run/job.h"

#include <emscripten.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FILES = 4 };

/* Every run asks for these before it knows whether a report is wanted; the page has no cJSON. */
void cJSON_InitHooks(cJSON_Hooks *hooks) { (void)hooks; }

static cvtm_memory_file inputs[FILES];
static cvtm_memory_output output;
static cvtm_memory_files files = {inputs, &output, 0, 1};
static cvtm_error message;
static cvtm_device *device;
static cli_options options;
static cvtm_run *run;

/* In the worker. sites: of the iteration. */
EM_JS(void, web_show, (const double *sites, int count, int iteration, double ratio, double offset),
      { Module.show(sites, count, iteration, ratio, offset); });

static int show(void *context, const cvtm_run_progress *now) {
  (void)context;
  const cvtm_cvt_record *record = now->record;
  if (now->event != CVTM_RUN_ITERATION || record->sites == 0 || now->run->cvt == NULL) return 0;
  /* The reference energy is inversely proportional to the number of sites. */
  const double bound = now->bound * (double)now->sites / (double)record->sites;
  web_show(cvtm_cvt_current_sites(now->run->cvt), (int)record->sites, (int)record->iteration,
           record->energy / bound, record->gradient_norm);
  return 0;
}

EMSCRIPTEN_KEEPALIVE const char *web_message(void) { return message.message; }

/* A file that commands read, in place of one of the same path; the memory is taken over. */
EMSCRIPTEN_KEEPALIVE void web_give(const char *path, const void *bytes, size_t size) {
  if (files.input_count < FILES)
    inputs[files.input_count++] = (cvtm_memory_file){path, bytes, size};
}

/* The file that the last command has written; freed by the next command. */
EMSCRIPTEN_KEEPALIVE const char *web_bytes(void) { return output.bytes; }
EMSCRIPTEN_KEEPALIVE size_t web_size(void) { return output.size; }

static void begin(const char *path) {
  free(output.bytes);
  output = (cvtm_memory_output){path, NULL, 0};
  message = (cvtm_error){CVTM_OK, ""};
  cvtm_memory_files_use(&files);
  cli_capture_messages(&message);
}

static cli_parsed parse(int argc, char **argv, cli_options *parsed, int *code) {
  return cli_options_parse(cli_command_find(argv[0]), argc, argv, parsed, code);
}

/* Any command that writes at most the file `path`. argv[0] is the command, as in `run`. */
EMSCRIPTEN_KEEPALIVE int web_command(const char *path, int argc, char **argv) {
  cli_options parsed;
  int code;
  begin(path);
  if (parse(argc, argv, &parsed, &code) == CLI_PARSED) code = cli_command_run(&parsed);
  cli_options_free(&parsed);
  return code;
}

/* `run`, whose result is kept. argv must stay. Once for each worker. */
EMSCRIPTEN_KEEPALIVE int web_run(int argc, char **argv) {
  int code;
  begin("");
  if (parse(argc, argv, &options, &code) != CLI_PARSED) return code;
  options.run.keep = options.run.measure = 1;
  options.run.progress = show;
  cvtm_status status = cvtm_device_create("cpu", 1, &device, &message);
  if (status == CVTM_OK) status = cvtm_run_create(device, &options.run, &run, &message);
  return (int)(status == CVTM_OK ? cvtm_run_solve(run, &message) : status);
}

/* Writes a file of the run: argv as for `run`, whose values for the kind of file may differ. */
EMSCRIPTEN_KEEPALIVE int web_write(const char *path, int argc, char **argv) {
  cli_options parsed;
  int code;
  begin(path);
  if (parse(argc, argv, &parsed, &code) == CLI_PARSED)
    code = (int)cvtm_run_write(run, path, &parsed.run, &message);
  cli_options_free(&parsed);
  return code;
}

/* --- what the page shows ---------------------------------------------------------------------- */

static cvtm_mesh mesh;
static cvtm_cells cells;

/* Numbers and addresses in the order of `names` in worker.js, from the run and, if it is drawn, its
 * last drawing. */
EMSCRIPTEN_KEEPALIVE const double *web_figures(void) {
  static double figure[32];
  const cvtm_quality_figures *q = &run->quality.inner;
  const run_stipples *s = &run->stipples;
  const run_colours *c = &run->colours;
  int k = 0;
  figure[k++] = run->domain.width;
  figure[k++] = run->domain.height;
  figure[k++] = (double)run->count;
  figure[k++] = (double)(uintptr_t)run->sites;
  figure[k++] = (double)(uintptr_t)(c->count > 0 ? c->radius : s->radius);
  figure[k++] = (double)run->result.iterations;
  figure[k++] = run->energy / run->bound;
  figure[k++] = q->min_angle;
  figure[k++] = q->mean_min_angle;
  figure[k++] = run->quality.degree6_share;
  figure[k++] = s->is_measured ? s->ink : NAN;
  figure[k++] = s->is_measured ? s->picture_ink : NAN;
  figure[k++] = s->is_measured ? s->likeness.correlation : NAN;
  figure[k++] = run->order.order != NULL ? run->order.length : NAN;
  figure[k++] = c->count;
  figure[k++] = (double)(uintptr_t)c->start;
  figure[k++] = (double)(uintptr_t)c->pens.pen;
  figure[k++] = sizeof c->pens.pen[0];
  return figure;
}

/* The Delaunay triangles and Voronoi cells of sites. Returns a status of the library. */
EMSCRIPTEN_KEEPALIVE int web_divide(const double *sites, int count, int width, int height) {
  const cvtm_domain domain = {width, height, 0};
  cvtm_mesh_free(&mesh);
  cvtm_cells_free(&cells);
  cvtm_status status = cvtm_delaunay(sites, count, &mesh, &message);
  if (status == CVTM_OK) status = cvtm_cells_create(&mesh, domain, &cells, &message);
  return (int)status;
}

EMSCRIPTEN_KEEPALIVE const int32_t *web_triangles(void) { return mesh.triangles; }
EMSCRIPTEN_KEEPALIVE int web_triangle_count(void) { return (int)mesh.triangle_count; }
EMSCRIPTEN_KEEPALIVE const int64_t *web_cell_start(void) { return cells.start; }
EMSCRIPTEN_KEEPALIVE const double *web_cell_corners(void) { return cells.corners; }

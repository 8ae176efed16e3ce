/* The functions that the page's worker calls: commands of the program, whose files are in memory,
 * and the state of a run during and after it. */
#include "base/file.h"
#include "cli/cli.h"
#include "draw/drawing.h"
#include "run/job.h"

#include <emscripten.h>
#include <math.h>
#include <stdlib.h>

enum { FILES = 4 };

/* Called at the start of every run, even one without a report; the page has no cJSON. */
void cJSON_InitHooks(cJSON_Hooks *hooks) { (void)hooks; }

static cvtm_memory_file inputs[FILES];
static cvtm_memory_output output;
static cvtm_memory_files files = {inputs, &output, 0, 1};
static cvtm_error message;
static cvtm_device *device;
static cli_options options;
static cvtm_run *run;

/* Passes the sites of an iteration to the page; runs in the worker. */
EM_JS(void, web_show, (const double *sites, int count, int iteration, double ratio, double offset),
      { Module.show(sites, count, iteration, ratio, offset); });

static int show(void *context, const cvtm_run_progress *now) {
  (void)context;
  const cvtm_cvt_record *record = now->record;
  if (now->event != CVTM_RUN_ITERATION || record->sites == 0 || now->run->cvt == NULL) return 0;
  /* the reference energy is inversely proportional to the number of sites */
  const double bound = now->bound * (double)now->sites / (double)record->sites;
  web_show(cvtm_cvt_current_sites(now->run->cvt), (int)record->sites, (int)record->iteration,
           record->energy / bound, record->gradient_norm);
  return 0;
}

EMSCRIPTEN_KEEPALIVE const char *web_message(void) { return message.message; }

/* Adds a file in memory that commands read instead of the file `path`. Takes over the memory. */
EMSCRIPTEN_KEEPALIVE void web_give(const char *path, const void *bytes, size_t size) {
  if (files.input_count < FILES)
    inputs[files.input_count++] = (cvtm_memory_file){path, bytes, size};
}

/* The file that the last command wrote; the next command frees it. */
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

/* Runs a command that writes at most the file `path`. argv[0] is the name of the command. */
EMSCRIPTEN_KEEPALIVE int web_command(const char *path, int argc, char **argv) {
  cli_options parsed;
  int code;
  begin(path);
  if (parse(argc, argv, &parsed, &code) == CLI_PARSED) code = cli_command_run(&parsed);
  cli_options_free(&parsed);
  return code;
}

/* Runs `run` and keeps its result. Called once in each worker; argv must outlive the run. */
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

/* Writes a file of the run. argv as for web_run; options of the kind of file may differ. */
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

/* The numbers and addresses of the run and, if there is one, of its last drawing, in the order of
 * `names` in worker.js. */
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

/* Computes the Delaunay triangles and Voronoi cells of sites. Returns a status of the library. */
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

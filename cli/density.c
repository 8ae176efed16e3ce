/* cvtmesh density: writes the density that `run` would use. */
#include "base/clock.h"
#include "base/file.h"
#include "base/npy.h"
#include "base/srgb.h"
#include "cli/cli.h"
#include "run/condition.h"
#include "run/output.h"
#include "run/json.h"
#include "density/density.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct work {
  cli_options options; /* with the chosen values in place of automatic ones */
  cvtm_device *device;
  cvtm_pipeline_result made;
  double start;
} work;

static int check_density_usage(const cli_options *o) {
  if (o->run.output.count == 0 && o->run.report == NULL) return cli_missing(o->command, "--output");
  cvtm_error error = {CVTM_OK, ""};
  (void)run_condition_check(&o->run, &error);
  CLI_TRY(cli_result(o->command, CLI_READING, error.status, &error));
  return cli_outputs_check_known(o, "npy png", "a density");
}

/* Writes a picture from which the default options read this density, up to a factor. */
static cvtm_status write_density_picture(const work *w, const char *path, cvtm_error *error) {
  const size_t count = (size_t)w->made.width * (size_t)w->made.height;
  unsigned char *grey = malloc(count);
  if (grey == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path);
  double most = 0;
  for (size_t p = 0; p < count; ++p) most = fmax(most, w->made.precise[p]);
  for (size_t p = 0; p < count; ++p) {
    const double light = 1 - sqrt(w->made.precise[p] / most);
    grey[p] = (unsigned char)(255 * cvtm_linear_to_srgb(light) + 0.5);
  }
  const cvtm_status status = cvtm_png_write(path, w->made.width, w->made.height, 1, grey, error);
  free(grey);
  return status;
}

/* A run_writer. */
static cvtm_status write_density(void *context, const char *path, const char *extension,
                                 cvtm_error *error) {
  const work *w = context;
  const int64_t shape[2] = {w->made.height, w->made.width};
  if (strcmp(extension, "png") == 0) return write_density_picture(w, path, error);
  return cvtm_npy_write(path, 'f', (int)sizeof(double), 2, shape, w->made.precise, error);
}

static cvtm_status write_density_report(const work *w, cvtm_error *error) {
  if (w->options.run.report == NULL) return CVTM_OK;
  cJSON *report = cli_report_begin(w->device, &w->options);
  run_json_integer(report, "width", w->made.width);
  run_json_integer(report, "height", w->made.height);
  run_condition_report(&w->options.run, &w->made, report);
  cJSON *seconds = cJSON_AddObjectToObject(report, "seconds");
  run_json_real(seconds, "total", cvtm_clock() - w->start);
  return run_json_write(w->options.run.report, report, error);
}

static int perform_density(work *w) {
  cvtm_error error = {CVTM_OK, ""};
  cli_options *o = &w->options;
  CLI_TRY(check_density_usage(o));
  CLI_TRY(cli_open_device(o, &w->device));
  cli_catch_signals();
  cvtm_status status = run_read_conditioned(w->device, &o->run, &w->made, NULL, NULL, &error);
  if (status != CVTM_OK) return cli_failed(CLI_READING, status, &error);
  status = run_outputs_write(&o->run, write_density, w, &error);
  if (status == CVTM_OK) status = write_density_report(w, &error);
  if (status != CVTM_OK) return cli_failed(CLI_WRITING, status, &error);
  if (!o->quiet)
    fprintf(stderr, "%s: %d x %d pixels, on %s (%s), %.3f seconds\n",
            cli_visible(o->run.input.name), w->made.width, w->made.height,
            cvtm_device_name(w->device), cvtm_device_description(w->device),
            cvtm_clock() - w->start);
  if (cli_interrupted()) return CLI_EXIT_INTERRUPTED;
  return w->made.condition.converged ? CLI_EXIT_OK : CLI_EXIT_NOT_CONVERGED;
}

int cli_density(const cli_options *options) {
  work w = {.options = *options, .start = cvtm_clock()};
  const int code = perform_density(&w);
  cvtm_pipeline_free(&w.made);
  cvtm_device_destroy(w.device);
  return code;
}

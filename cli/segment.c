/* cvtmesh segment: finds the object that the seeds mark in an image. */
#include "base/clock.h"
#include "base/file.h"
#include "base/npy.h"
#include "cli/cli.h"
#include "run/condition.h"
#include "run/input.h"
#include "run/output.h"
#include "run/json.h"
#include "meshes/contour.h"

#include <stdlib.h>
#include <string.h>

typedef struct work {
  cli_options options; /* with the chosen values in place of automatic ones */
  cvtm_device *device;
  cvtm_image image;
  cvtm_segmentation made;
  double start;
} work;

static int check_segment_usage(const cli_options *o) {
  if (o->run.output.count == 0 && o->run.report == NULL) return cli_missing(o->command, "--output");
  cvtm_error error = {CVTM_OK, ""};
  CLI_TRY(cli_result(o->command, CLI_READING, run_segment_check(&o->run, &error), &error));
  return cli_outputs_check_known(o, "png svg npy", "the mask, its contour or the level set");
}

static cvtm_status write_mask(const work *w, const char *path, cvtm_error *error) {
  const size_t count = (size_t)w->image.width * (size_t)w->image.height;
  unsigned char *grey = malloc(count);
  if (grey == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path);
  for (size_t p = 0; p < count; ++p) grey[p] = w->made.inside[p] ? 255 : 0;
  const cvtm_status status = cvtm_png_write(path, w->image.width, w->image.height, 1, grey, error);
  free(grey);
  return status;
}

static cvtm_status write_rings(const work *w, const cvtm_contour *contour, const char *path,
                               cvtm_error *error) {
  cvtm_output *output = NULL;
  CVTM_TRY(cvtm_output_open(path, &output, error));
  FILE *stream = cvtm_output_stream(output);
  fprintf(stream,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
          "viewBox=\"0 0 %d %d\">\n<path fill=\"none\" stroke=\"#d02020\" d=\"",
          w->image.width, w->image.height, w->image.width, w->image.height);
  for (int64_t arc = 0; arc < contour->arc_count; ++arc) {
    for (int64_t k = contour->start[arc]; k < contour->start[arc + 1] - 1; ++k)
      fprintf(stream, "%c%.3f %.3f", k == contour->start[arc] ? 'M' : 'L', contour->points[2 * k],
              contour->points[2 * k + 1]);
    fputs("Z\n", stream);
  }
  fputs("\"/>\n</svg>\n", stream);
  return cvtm_output_commit(output, error);
}

static cvtm_status write_contour(const work *w, const char *path, cvtm_error *error) {
  const size_t count = (size_t)w->image.width * (size_t)w->image.height;
  float *coverage = malloc(count * sizeof *coverage);
  if (coverage == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path);
  cvtm_segmentation_coverage(&w->made, coverage);
  cvtm_contour_options settings;
  cvtm_contour contour = {0};
  cvtm_contour_defaults(&settings);
  cvtm_status status =
      cvtm_contour_of_mask(coverage, w->image.width, w->image.height, &settings, &contour, error);
  if (status == CVTM_OK) status = write_rings(w, &contour, path, error);
  cvtm_contour_free(&contour);
  free(coverage);
  return status;
}

/* A run_writer. */
static cvtm_status write_segmentation(void *context, const char *path, const char *extension,
                                      cvtm_error *error) {
  const work *w = context;
  const int64_t shape[2] = {w->image.height, w->image.width};
  if (strcmp(extension, "png") == 0) return write_mask(w, path, error);
  if (strcmp(extension, "svg") == 0) return write_contour(w, path, error);
  return cvtm_npy_write(path, 'f', (int)sizeof(double), 2, shape, w->made.u, error);
}

static cvtm_status write_segment_report(const work *w, cvtm_error *error) {
  if (w->options.run.report == NULL) return CVTM_OK;
  cJSON *report = cli_report_begin(w->device, &w->options);
  run_json_integer(report, "width", w->image.width);
  run_json_integer(report, "height", w->image.height);
  run_segment_report(&w->made, report);
  cJSON *seconds = cJSON_AddObjectToObject(report, "seconds");
  run_json_real(seconds, "total", cvtm_clock() - w->start);
  return run_json_write(w->options.run.report, report, error);
}

static void print_segment_summary(const work *w) {
  const cvtm_segment_result *r = &w->made.result;
  fprintf(stderr,
          "%s: %d x %d pixels, on %s (%s)\n"
          "  %s, %.3f seconds; stopped by: %s\n"
          "  inside %.4f of the image, energy %.6g, last change %.2g\n",
          cli_visible(w->options.run.input.name), w->image.width, w->image.height,
          cvtm_device_name(w->device), cvtm_device_description(w->device),
          cli_count(r->steps, "step", "steps"), r->seconds, cvtm_segment_stop_name(r->stop),
          r->area, r->energy, r->change);
}

static int perform_segment(work *w) {
  cvtm_error error = {CVTM_OK, ""};
  cli_options *o = &w->options;
  CLI_TRY(check_segment_usage(o));
  CLI_TRY(cli_open_device(o, &w->device));
  cli_catch_signals();
  cvtm_status status = run_read_image(&o->run, &o->run.input, 0, &w->image, &error);
  if (status == CVTM_OK)
    status = run_segment_image(w->device, &o->run, &w->image, &w->made, &error);
  if (status != CVTM_OK) return cli_failed(CLI_READING, status, &error);
  status = run_outputs_write(&o->run, write_segmentation, w, &error);
  if (status == CVTM_OK) status = write_segment_report(w, &error);
  if (status != CVTM_OK) return cli_failed(CLI_WRITING, status, &error);
  if (!o->quiet) print_segment_summary(w);
  if (cli_interrupted()) return CLI_EXIT_INTERRUPTED;
  return w->made.result.stop == CVTM_SEGMENT_STEP_FAILED ? CLI_EXIT_NOT_CONVERGED : CLI_EXIT_OK;
}

int cli_segment(const cli_options *options) {
  work w = {.options = *options, .start = cvtm_clock()};
  const int code = perform_segment(&w);
  cvtm_segmentation_free(&w.made);
  cvtm_image_free(&w.image);
  cvtm_device_destroy(w.device);
  return code;
}

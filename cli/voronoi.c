/* cvtmesh voronoi: the discrete Voronoi diagram of a point file. */
#include "base/clock.h"
#include "base/file.h"
#include "base/npy.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "run/output.h"
#include "run/json.h"
#include "jfa/jfa.h"
#include "meshes/mesh_file.h"

#include <stdlib.h>

typedef struct diagram {
  cli_options options;
  cvtm_device *device;
  cvtm_domain domain;
  double *points;
  int64_t count;
  cvtm_npy start;  /* labels of a warm start */
  int32_t *labels; /* width * height on the host */
  int64_t wrong;   /* with --check: number of pixels whose label is not the nearest site */
  double seconds, check_seconds;
} diagram;

static int64_t pixels(cvtm_domain domain) { return (int64_t)domain.width * domain.height; }

/* A colour for a label, from the mixed bits of its index, so that neighbouring labels differ. */
static void label_color(int32_t label, unsigned char *color) {
  uint32_t mixed = (uint32_t)label + 1U;
  mixed = (mixed ^ (mixed >> 16)) * 0x7feb352dU;
  mixed = (mixed ^ (mixed >> 15)) * 0x846ca68bU;
  mixed ^= mixed >> 16;
  for (int k = 0; k < 3; ++k)
    color[k] = label < 0 ? 0 : (unsigned char)(64U + ((mixed >> (8 * k)) & 255U) * 3U / 4U);
}

static unsigned char *color_labels(const diagram *d) {
  unsigned char *colors = malloc(3 * (size_t)pixels(d->domain));
  if (colors == NULL) return NULL;
  for (int64_t p = 0; p < pixels(d->domain); ++p) label_color(d->labels[p], colors + 3 * p);
  return colors;
}

/* A run_writer. */
static cvtm_status write_labels(void *context, const char *path, const char *extension,
                                cvtm_error *error) {
  (void)extension;
  const diagram *d = context;
  if (run_output_kind_of(&d->options.run, path) == RUN_OUTPUT_LABELS) {
    const int64_t shape[2] = {d->domain.height, d->domain.width};
    return cvtm_npy_write(path, 'i', (int)sizeof(int32_t), 2, shape, d->labels, error);
  }
  unsigned char *colors = color_labels(d);
  if (colors == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path);
  const cvtm_status status =
      run_output_format(&d->options.run, path)
          ->write_pixels(path, d->domain.width, d->domain.height, 3, colors, error);
  free(colors);
  return status;
}

/* The device arrays of a computation. */
typedef struct arrays {
  cvtm_voronoi *plan;
  double *sites;
  int32_t *labels;
} arrays;

static cvtm_arrays list_arrays(const diagram *d, arrays *a) {
  return (cvtm_arrays){
      {CVTM_ARRAY(a->sites, 2 * d->count), CVTM_ARRAY(a->labels, pixels(d->domain))}};
}

static cvtm_status make_arrays(diagram *d, arrays *a) {
  const size_t bytes = 2 * (size_t)d->count * sizeof(double);
  CVTM_TRY(cvtm_voronoi_create(d->device, d->domain, d->count, &a->plan));
  CVTM_TRY(cvtm_device_allocate_arrays(d->device, list_arrays(d, a)));
  return cvtm_device_copy_in(d->device, a->sites, d->points, bytes);
}

static cvtm_status copy_labels(diagram *d, const arrays *a) {
  return cvtm_device_copy_out(d->device, d->labels, a->labels,
                              (size_t)pixels(d->domain) * sizeof(int32_t));
}

/* Reads the labels of --labels-from. The shape of the labels becomes that of the domain, unless
 * options give sides. */
static cvtm_status read_start(diagram *d, cvtm_error *error) {
  const cvtm_input *labels = &d->options.warm.labels;
  if (labels->name == NULL) return CVTM_OK;
  const cvtm_status status = cvtm_npy_open(labels, &d->start, error);
  if (status != CVTM_OK || d->start.dimensions != 2 || d->options.like.name != NULL) return status;
  if (d->options.width == 0 && d->start.shape[1] <= CVTM_MAX_SIDE)
    d->options.width = d->start.shape[1];
  if (d->options.height == 0 && d->start.shape[0] <= CVTM_MAX_SIDE)
    d->options.height = d->start.shape[0];
  return CVTM_OK;
}

static cvtm_status check_start(const diagram *d, cvtm_error *error) {
  const char *path = d->options.warm.labels.name;
  if (path == NULL) return CVTM_OK;
  if (d->start.dimensions != 2 || d->start.shape[0] != d->domain.height ||
      d->start.shape[1] != d->domain.width || d->start.kind != 'i' ||
      d->start.item != sizeof(int32_t))
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "%s: the array does not hold int32 labels of %d x %d pixels", path,
                     d->domain.width, d->domain.height);
  return CVTM_OK;
}

static cvtm_status compute_labels(diagram *d, const arrays *a) {
  const double start = cvtm_clock();
  cvtm_status status =
      d->options.warm.labels.name
          ? cvtm_voronoi_update(a->plan, a->sites, d->count, (int)d->options.warm.first_step,
                                a->labels)
          : cvtm_voronoi_compute(a->plan, a->sites, d->count, d->options.run.voronoi, a->labels);
  if (status == CVTM_OK) status = cvtm_device_synchronize(d->device);
  d->seconds = cvtm_clock() - start;
  return status == CVTM_OK ? copy_labels(d, a) : status;
}

static int is_checked(const diagram *d) {
  return d->options.check || d->options.warm.labels.name != NULL;
}

/* Compares the labels with the exact diagram. The labels of a warm start are corrected, those of
 * other methods are not. */
static cvtm_status check_labels(diagram *d, const arrays *a) {
  const double start = cvtm_clock();
  const cvtm_status status = cvtm_voronoi_correct(a->plan, a->labels, &d->wrong);
  d->check_seconds = cvtm_clock() - start;
  return status == CVTM_OK && d->options.warm.labels.name ? copy_labels(d, a) : status;
}

static cvtm_status solve_voronoi(diagram *d) {
  arrays a = {NULL, NULL, NULL};
  d->labels = malloc((size_t)pixels(d->domain) * sizeof *d->labels);
  if (d->labels == NULL)
    return cvtm_fail(cvtm_device_error(d->device), CVTM_ERROR_MEMORY,
                     "out of memory for %d x %d labels", d->domain.width, d->domain.height);
  cvtm_status status = make_arrays(d, &a);
  if (status == CVTM_OK && d->options.warm.labels.name)
    status = cvtm_device_copy_in(d->device, a.labels, d->start.data,
                                 (size_t)d->start.count * sizeof(int32_t));
  if (status == CVTM_OK) status = compute_labels(d, &a);
  if (status == CVTM_OK && is_checked(d)) status = check_labels(d, &a);
  cvtm_device_free_arrays(d->device, list_arrays(d, &a));
  cvtm_voronoi_destroy(a.plan);
  return status;
}

static double wrong_share(const diagram *d) { return (double)d->wrong / (double)pixels(d->domain); }

static cvtm_status write_voronoi_report(const diagram *d, cvtm_error *error) {
  if (d->options.run.report == NULL) return CVTM_OK;
  cJSON *report = cli_report_begin(d->device, &d->options);
  run_json_integer(report, "width", d->domain.width);
  run_json_integer(report, "height", d->domain.height);
  run_json_integer(report, "sites", d->count);
  run_json_text(report, "start", d->options.warm.labels.name ? "labels" : "sites");
  if (is_checked(d)) {
    run_json_integer(report, "wrong_pixels", d->wrong);
    run_json_real(report, "wrong_share", wrong_share(d));
  }
  cJSON *seconds = cJSON_AddObjectToObject(report, "seconds");
  run_json_real(seconds, "diagram", d->seconds);
  if (is_checked(d)) run_json_real(seconds, "check", d->check_seconds);
  return run_json_write(d->options.run.report, report, error);
}

static void print_voronoi_summary(const diagram *d) {
  fprintf(stderr, "%s: %s, %d x %d pixels, on %s (%s), %.3f seconds\n",
          cli_visible(d->options.run.input.name), cli_count(d->count, "site", "sites"),
          d->domain.width, d->domain.height, cvtm_device_name(d->device),
          cvtm_device_description(d->device), d->seconds);
  if (is_checked(d))
    fprintf(stderr, "  %s pixels: %lld of %lld (%.3g %%), %.3f seconds\n",
            d->options.warm.labels.name ? "corrected" : "wrong", (long long)d->wrong,
            (long long)pixels(d->domain), 100 * wrong_share(d), d->check_seconds);
}

/* Nonzero if options give the domain; a file of points does not have the picture's size. */
static int has_domain(const cli_options *o) {
  return o->like.name != NULL || (o->width > 0 && o->height > 0);
}

static int perform_voronoi(diagram *d) {
  if (d->options.run.output.count == 0 && d->options.run.report == NULL && !d->options.check)
    return cli_missing(CLI_VORONOI, "--output");
  if (d->options.warm.labels.name && cli_option_given(&d->options, "method"))
    return cli_usage_error(CLI_VORONOI,
                           "--labels-from does not use --method: leave one of them out");
  if (!d->options.warm.labels.name && cli_option_given(&d->options, "first-step"))
    return cli_usage_error(CLI_VORONOI, "--first-step needs --labels-from");
  cvtm_error error = {CVTM_OK, ""};
  CLI_TRY(cli_result(CLI_VORONOI, CLI_WRITING, run_outputs_check(&d->options.run, &error), &error));
  if (!d->options.warm.labels.name && !has_domain(&d->options))
    return cli_usage_error(CLI_VORONOI,
                           "the size of the diagram is missing: --like PICTURE, or --width and "
                           "--height");
  CLI_TRY(cli_outputs_check(&d->options));
  cvtm_status status = cvtm_points_open(&d->options.run.input, &d->points, &d->count, &error);
  if (status == CVTM_OK) status = read_start(d, &error);
  if (status == CVTM_OK)
    status = cli_domain_of_points(&d->options, d->options.run.input.name, d->points, d->count,
                                  &d->domain, NULL, &error);
  if (status == CVTM_OK) status = check_start(d, &error);
  if (status != CVTM_OK) return cli_failed(CLI_READING, status, &error);
  d->options.width = d->domain.width;
  d->options.height = d->domain.height;
  CLI_TRY(cli_open_device(&d->options, &d->device));
  status = solve_voronoi(d);
  if (status != CVTM_OK) return cli_failed(CLI_WORKING, status, cvtm_device_error(d->device));
  status = run_outputs_write(&d->options.run, write_labels, d, &error);
  if (status == CVTM_OK) status = write_voronoi_report(d, &error);
  if (status != CVTM_OK) return cli_failed(CLI_WRITING, status, &error);
  if (!d->options.quiet) print_voronoi_summary(d);
  cli_note_outside(&d->options, d->points, d->count, d->domain);
  return CLI_EXIT_OK;
}

int cli_voronoi(const cli_options *options) {
  diagram d = {.options = *options};
  int code = perform_voronoi(&d);
  cvtm_npy_free(&d.start);
  free(d.labels);
  free(d.points);
  cvtm_device_destroy(d.device);
  return code;
}

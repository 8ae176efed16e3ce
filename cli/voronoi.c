/* cvtmesh voronoi: the discrete Voronoi diagram of a point file. */
#include "base/file.h"
#include "base/npy.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/report.h"
#include "density/density.h"
#include "jfa/jfa.h"
#include "meshes/mesh_file.h"

#include <stdlib.h>
#include <string.h>

typedef struct diagram {
  cli_options options;
  cvtm_device *device;
  cvtm_domain domain;
  double *points;
  int64_t count;
  int32_t *labels; /* width * height on the host */
  int64_t wrong;   /* pixels whose site is farther than the nearest; with --check */
  double seconds;
} diagram;

static int64_t pixels(cvtm_domain domain) { return (int64_t)domain.width * domain.height; }

/* A colour that tells a label from its neighbours': the bits of its index, mixed. */
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

static cvtm_status write_ppm(const char *path, cvtm_domain domain, const unsigned char *colors,
                             cvtm_error *error) {
  cvtm_output *output;
  cvtm_status status = cvtm_output_open(path, &output, error);
  if (status != CVTM_OK) return status;
  FILE *stream = cvtm_output_stream(output);
  fprintf(stream, "P6\n%d %d\n255\n", domain.width, domain.height);
  fwrite(colors, 3, (size_t)pixels(domain), stream);
  return cvtm_output_commit(output, error);
}

static cvtm_status write_labels(void *context, const char *path, cvtm_error *error) {
  const diagram *d = context;
  const cli_output_kind kind = cli_output_kind_of(&d->options, path);
  if (kind == CLI_OUTPUT_LABELS) {
    const int64_t shape[2] = {d->domain.height, d->domain.width};
    return cvtm_npy_write(path, 'i', (int)sizeof(int32_t), 2, shape, d->labels, error);
  }
  unsigned char *colors = color_labels(d);
  if (colors == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path);
  cvtm_status status = kind == CLI_OUTPUT_PPM ? write_ppm(path, d->domain, colors, error)
                                              : cvtm_png_write(path, d->domain.width,
                                                               d->domain.height, 3, colors, error);
  free(colors);
  return status;
}

/* Device arrays of one computation. */
typedef struct arrays {
  cvtm_voronoi *plan;
  void *sites, *labels;
} arrays;

static cvtm_status make_arrays(diagram *d, arrays *a) {
  const size_t bytes = 2 * (size_t)d->count * sizeof(double);
  cvtm_status status = cvtm_voronoi_create(d->device, d->domain, d->count, &a->plan);
  if (status == CVTM_OK)
    status = cvtm_device_allocate(d->device, 2 * d->count, sizeof(double), &a->sites);
  if (status == CVTM_OK)
    status = cvtm_device_allocate(d->device, pixels(d->domain), sizeof(int32_t), &a->labels);
  if (status == CVTM_OK) status = cvtm_device_copy_in(d->device, a->sites, d->points, bytes);
  return status;
}

static cvtm_status compute(diagram *d, arrays *a, cvtm_voronoi_method method, int32_t *labels) {
  cvtm_status status = cvtm_voronoi_compute(a->plan, a->sites, d->count, method, a->labels);
  if (status != CVTM_OK) return status;
  return cvtm_device_copy_out(d->device, labels, a->labels,
                              (size_t)pixels(d->domain) * sizeof(int32_t));
}

static double wrapped(double difference, double side, int periodic) {
  if (!periodic) return difference;
  double turns = difference / side;
  turns -= (double)(int64_t)(turns + (turns < 0 ? -0.5 : 0.5));
  return turns * side;
}

static double distance(const diagram *d, int64_t pixel, int32_t label) {
  if (label < 0) return 1e300;
  double x = (double)(pixel % d->domain.width) + 0.5, y = (double)(pixel / d->domain.width) + 0.5;
  x = wrapped(x - d->points[2 * label], d->domain.width, d->domain.periodic);
  y = wrapped(y - d->points[2 * label + 1], d->domain.height, d->domain.periodic);
  return x * x + y * y;
}

/* Ties and rounding aside, a wrong label is one farther away than the exact diagram's. */
static cvtm_status count_wrong(diagram *d, arrays *a) {
  int32_t *exact = malloc((size_t)pixels(d->domain) * sizeof *exact);
  if (exact == NULL)
    return cvtm_fail(cvtm_device_error(d->device), CVTM_ERROR_MEMORY, "out of memory");
  cvtm_status status = compute(d, a, CVTM_VORONOI_EXACT, exact);
  for (int64_t p = 0; p < pixels(d->domain) && status == CVTM_OK; ++p) {
    if (exact[p] == d->labels[p]) continue;
    double nearest = distance(d, p, exact[p]);
    d->wrong += distance(d, p, d->labels[p]) > nearest + 1e-9 * (1 + nearest);
  }
  free(exact);
  return status;
}

static cvtm_status solve(diagram *d) {
  arrays a = {NULL, NULL, NULL};
  d->labels = malloc((size_t)pixels(d->domain) * sizeof *d->labels);
  if (d->labels == NULL)
    return cvtm_fail(cvtm_device_error(d->device), CVTM_ERROR_MEMORY,
                     "out of memory for %d x %d labels", d->domain.width, d->domain.height);
  cvtm_status status = make_arrays(d, &a);
  double start = cli_seconds();
  if (status == CVTM_OK)
    status = compute(d, &a, (cvtm_voronoi_method)d->options.voronoi, d->labels);
  d->seconds = cli_seconds() - start;
  if (status == CVTM_OK && d->options.check) status = count_wrong(d, &a);
  cvtm_device_free(d->device, a.sites);
  cvtm_device_free(d->device, a.labels);
  cvtm_voronoi_destroy(a.plan);
  return status;
}

static double wrong_share(const diagram *d) { return (double)d->wrong / (double)pixels(d->domain); }

static cvtm_status write_report(const diagram *d, cvtm_error *error) {
  if (d->options.report == NULL) return CVTM_OK;
  cJSON *report = cli_report_begin(d->device, &d->options);
  cli_json_integer(report, "width", d->domain.width);
  cli_json_integer(report, "height", d->domain.height);
  cli_json_integer(report, "sites", d->count);
  if (d->options.check) {
    cli_json_integer(report, "wrong_pixels", d->wrong);
    cli_json_real(report, "wrong_share", wrong_share(d));
  }
  cJSON *seconds = cJSON_AddObjectToObject(report, "seconds");
  cli_json_real(seconds, "diagram", d->seconds);
  return cli_json_write(d->options.report, report, error);
}

static void print_summary(const diagram *d) {
  fprintf(stderr, "%s: %lld sites, %d x %d pixels, on %s (%s), %.3f seconds\n", d->options.input,
          (long long)d->count, d->domain.width, d->domain.height, cvtm_device_name(d->device),
          cvtm_device_description(d->device), d->seconds);
  if (d->options.check)
    fprintf(stderr, "  wrong pixels: %lld of %lld (%.3g %%)\n", (long long)d->wrong,
            (long long)pixels(d->domain), 100 * wrong_share(d));
}

static int perform(diagram *d) {
  if (d->options.output.count == 0 && d->options.report == NULL && !d->options.check)
    return cli_usage_error(CLI_VORONOI, "--output is missing");
  int code = cli_outputs_check(&d->options);
  if (code != CLI_EXIT_OK) return code;
  cvtm_error error = {CVTM_OK, ""};
  cvtm_status status = cvtm_points_read(d->options.input, &d->points, &d->count, &error);
  if (status == CVTM_OK)
    status = cli_domain_of_points(&d->options, d->options.input, d->points, d->count, &d->domain,
                                  &error);
  if (status != CVTM_OK) return cli_failed(CLI_READING, status, &error);
  d->options.width = d->domain.width;
  d->options.height = d->domain.height;
  status = cvtm_device_create(d->options.device, (int)d->options.threads, &d->device, &error);
  if (status == CVTM_ERROR_ARGUMENT) return cli_usage_error(CLI_VORONOI, "%s", error.message);
  if (status != CVTM_OK) return cli_failed(CLI_WORKING, status, &error);
  d->options.device = cvtm_device_name(d->device);
  status = solve(d);
  if (status != CVTM_OK) return cli_failed(CLI_WORKING, status, cvtm_device_error(d->device));
  for (int k = 0; k < d->options.output.count && status == CVTM_OK; ++k)
    status = cli_output_write(&d->options, d->options.output.item[k], write_labels, d, &error);
  if (status == CVTM_OK) status = write_report(d, &error);
  if (status != CVTM_OK) return cli_failed(CLI_WRITING, status, &error);
  if (!d->options.quiet) print_summary(d);
  return CLI_EXIT_OK;
}

int cli_voronoi(const cli_options *options) {
  diagram d;
  memset(&d, 0, sizeof d);
  d.options = *options;
  int code = perform(&d);
  free(d.labels);
  free(d.points);
  cvtm_device_destroy(d.device);
  return code;
}

/* cvtmesh bench segment: Tables I and II of Klement & Oberhuber 2015, segmentation on cores of the
 * CPU and on the device. */
#include "bench/command/bench.h"
#include "cli/cli.h"
#include "density/seeds.h"
#include "density/segment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDES = 3, MOST_CORES = 5, STEPS = 10 };

static const int sides[SIDES] = {256, 512, 1024};
static const int cores[MOST_CORES] = {1, 2, 4, 8, 12};

/* Seconds: Table I, one core of a Core 2 Duo and a GTX 480; Table II, cores of an Opteron. The
 * number of steps is not stated. */
static const double core_2_duo[SIDES] = {25.3, 368, 5431}, gtx_480[SIDES] = {2.6, 25, 267};
static const double opteron[SIDES][MOST_CORES] = {
    {50, 25.3, 14.1, 7.6, 6.4}, {669, 341, 174, 89, 61}, {10830, 5575, 2748, 1392, 935}};

/* An image: a disc with a gap, a seed that must be inside in the part that the curve would leave,
 * and a first circle around it all. The side is 1. */
typedef struct picture {
  int side;
  double *image, *upper, *start, *u; /* side * side each; image owns all */
} picture;

static cvtm_status make_picture(int side, picture *p, cvtm_error *error) {
  const size_t pixels = (size_t)side * (size_t)side;
  p->side = side;
  p->image = malloc(4 * pixels * sizeof *p->image);
  if (p->image == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  p->upper = p->image + pixels;
  p->start = p->upper + pixels;
  p->u = p->start + pixels;
  for (size_t k = 0; k < pixels; ++k) {
    const double x = ((double)(k % (size_t)side) + 0.5) / side - 0.5;
    const double y = ((double)(k / (size_t)side) + 0.5) / side - 0.5, r = hypot(x, y);
    p->image[k] = r < 0.3 && !(fabs(atan2(y, x)) < 0.35 && r > 0.22);
    p->upper[k] = hypot(x - 0.26, y) < 0.03 ? -0.05 : HUGE_VAL;
    p->start[k] = r - 0.4;
  }
  return cvtm_shades_blur(side, side, 1, p->image, error); /* as cvtmesh segment does by default */
}

static cvtm_status segment_picture(cvtm_device *device, const picture *p, int64_t steps,
                                   cvtm_segment_result *result) {
  cvtm_segment_options options;
  cvtm_segment *segment = NULL;
  cvtm_segment_defaults(&options);
  options.max_steps = steps;
  options.tolerance = 0;
  memcpy(p->u, p->start, (size_t)p->side * (size_t)p->side * sizeof *p->u);
  cvtm_status status = cvtm_segment_create(device, p->side, p->side, &options, &segment);
  if (status == CVTM_OK)
    status = cvtm_segment_solve(segment, p->image, NULL, p->upper, p->u, result);
  cvtm_segment_destroy(segment);
  return status;
}

/* Table I's row of a GPU, or Table II's of cores; first: on one core. published: 0 for none. */
static void print_segment_row(const picture *p, const char *where, const cvtm_segment_result *own,
                              const cvtm_segment_result *first, double published,
                              double published_first) {
  printf("| %d^2 | %s | %.3f | %lld | %.1f |", p->side, where, own->seconds, (long long)own->cycles,
         first->seconds / own->seconds);
  if (published > 0)
    printf(" %g s, %.1f |\n", published, published_first / published);
  else
    printf(" - |\n");
  fflush(stdout);
}

static cvtm_status measure_cores(cvtm_device *device, int size, const picture *p, int64_t steps,
                                 int most, cvtm_segment_result *first) {
  for (int k = 0; k < MOST_CORES && cores[k] <= most; ++k) {
    cvtm_segment_result w;
    char where[32];
    cvtm_device *cpu = NULL;
    cvtm_status status = cvtm_device_create("cpu", cores[k], &cpu, cvtm_device_error(device));
    if (status == CVTM_OK) status = segment_picture(cpu, p, steps, &w);
    if (status != CVTM_OK && cpu != NULL)
      cvtm_fail(cvtm_device_error(device), status, "%s", cvtm_device_error(cpu)->message);
    cvtm_device_destroy(cpu);
    if (status != CVTM_OK) return status;
    if (k == 0) *first = w;
    snprintf(where, sizeof where, "%d core%s", cores[k], cores[k] > 1 ? "s" : "");
    print_segment_row(p, where, &w, first, size < SIDES ? opteron[size][k] : 0,
                      size < SIDES ? opteron[size][0] : 0);
  }
  return CVTM_OK;
}

/* size: an index of the published ones, or SIDES for an image of another side. */
static cvtm_status measure_size(cvtm_device *device, int size, int side, int64_t steps, int most) {
  picture p;
  cvtm_segment_result first = {0}, w;
  cvtm_status status = make_picture(side, &p, cvtm_device_error(device));
  if (status == CVTM_OK) status = measure_cores(device, size, &p, steps, most, &first);
  if (status == CVTM_OK && cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA) {
    status = segment_picture(device, &p, 1, &w); /* loads the kernels */
    if (status == CVTM_OK) status = segment_picture(device, &p, steps, &w);
    if (status == CVTM_OK)
      print_segment_row(&p, "GPU", &w, &first, size < SIDES ? gtx_480[size] : 0,
                        size < SIDES ? core_2_duo[size] : 0);
  }
  free(p.image);
  return status;
}

/* The number of cores that --threads allows; without the option, of the machine. */
static cvtm_status count_cores(cvtm_device *device, const cli_options *options, int *most) {
  cvtm_device *cpu = NULL;
  const cvtm_status status =
      cvtm_device_create("cpu", (int)options->threads, &cpu, cvtm_device_error(device));
  if (status == CVTM_OK) *most = cvtm_device_threads(cpu);
  cvtm_device_destroy(cpu);
  return status;
}

cvtm_status cli_bench_segment(cvtm_device *device, const cli_options *options) {
  const int64_t steps = cli_option_given(options, "iterations") && options->iterations > 0
                            ? options->iterations
                            : STEPS;
  int most = 1;
  cvtm_status status = count_cores(device, options, &most);
  printf("| image | where | ours, s | cycles | speed-up | paper |\n|---|---|---|---|---|---|\n");
  const int64_t limit = options->size_limit;
  if (status == CVTM_OK && limit > 0 && limit < sides[0])
    status = measure_size(device, SIDES, (int)limit, steps, most);
  for (int k = 0; k < SIDES && status == CVTM_OK; ++k)
    if (limit == 0 || sides[k] <= limit) status = measure_size(device, k, sides[k], steps, most);
  printf(
      "\n%lld steps of the level set; the paper does not state its number. Speed-ups are over one "
      "core of\nthis CPU; the paper's over one core of its Opteron, and of the GPU over its Core 2 "
      "Duo.\n",
      (long long)steps);
  return status;
}

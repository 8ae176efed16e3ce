/* The potential of a target: the sum over its density of kernels, at each node. The density is
 * divided into squares that are small beside their kernels, and each is one source. */
#include "base/device.h"
#include "cvt/noise/kernels.h"
#include "cvt/noise/target.h"

#include <math.h>
#include <stdlib.h>

enum { MARGIN = CVTM_TARGET_MARGIN, NODES_AT_ONCE = 1 << 18 };

static const double leaf_of_width = 1.2; /* the largest side of a square that is one source */

/* --- sources -------------------------------------------------------------------------------------
 */

/* Squares of the nodes' cells that are one source each. */
typedef struct leaves {
  const cvtm_target *target;
  const double *mass; /* of inner cells, without margins */
  int cells[2];
  cvtm_kernel_source *source;
  int64_t count;
} leaves;

static double log_width_of(const leaves *l, int i, int j) {
  return l->target->log_width[(int64_t)(j + MARGIN) * l->target->columns + i + MARGIN];
}

/* A source of the mass, the centroid and the mean variance of cells i0 .. i1 - 1, j0 .. j1 - 1. */
static void add_leaf(leaves *l, int i0, int i1, int j0, int j1) {
  const double *step = l->target->step;
  const double own = (step[0] * step[0] + step[1] * step[1]) / 24; /* variance of one cell */
  double m = 0, x = 0, y = 0, square = 0, width = 0;
  for (int j = j0; j < j1; ++j) {
    for (int i = i0; i < i1; ++i) {
      const double mass = l->mass[(int64_t)j * l->cells[0] + i];
      const double px = (i + 0.5) * step[0], py = (j + 0.5) * step[1];
      m += mass;
      x += mass * px;
      y += mass * py;
      square += mass * (px * px + py * py);
      width += mass * log_width_of(l, i, j);
    }
  }
  if (!(m > 0)) return;
  x /= m;
  y /= m;
  const double a = exp(width / m);
  const double spread = fmax(square / m - x * x - y * y, 0) / 2 + own;
  l->source[l->count++] = (cvtm_kernel_source){x, y, a, a * a + spread, m};
}

static void divide_square(leaves *l, int i, int j, int side) {
  const int i1 = i + side < l->cells[0] ? i + side : l->cells[0];
  const int j1 = j + side < l->cells[1] ? j + side : l->cells[1];
  double least = INFINITY;
  if (i >= i1 || j >= j1) return;
  for (int y = j; y < j1; ++y)
    for (int x = i; x < i1; ++x) least = fmin(least, log_width_of(l, x, y));
  if (side == 1 || side * l->target->step[0] <= leaf_of_width * exp(least)) {
    add_leaf(l, i, i1, j, j1);
    return;
  }
  for (int k = 0; k < 4; ++k)
    divide_square(l, i + k % 2 * side / 2, j + k / 2 * side / 2, side / 2);
}

/* The value of the B-spline at a node; beyond the margins that at the nearest. */
static double smoothed(const cvtm_target *target, int i, int j) {
  static const double weight[3] = {1.0 / 6, 4.0 / 6, 1.0 / 6};
  double sum = 0;
  for (int b = -1; b <= 1; ++b) {
    for (int a = -1; a <= 1; ++a) {
      const int x = (int)fmin(fmax(i + a, 0), target->columns - 1);
      const int y = (int)fmin(fmax(j + b, 0), target->rows - 1);
      sum += weight[a + 1] * weight[b + 1] * target->log_width[(int64_t)y * target->columns + x];
    }
  }
  return sum;
}

/* --- sums ----------------------------------------------------------------------------------------
 */

/* Nodes that are summed at once. */
typedef struct node_batch {
  cvtm_kernel_source *place, *place_on_device;
  cvtm_kernel_sum *sum, *sum_on_device;
} node_batch;

static void set_places(const cvtm_target *target, int64_t first, int64_t count, int threads,
                       cvtm_kernel_source *place) {
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t k = 0; k < count; ++k) {
    const int i = (int)((first + k) % target->columns), j = (int)((first + k) / target->columns);
    place[k] = (cvtm_kernel_source){.x = (i - MARGIN + 0.5) * target->step[0],
                                    .y = (j - MARGIN + 0.5) * target->step[1],
                                    .width = exp(smoothed(target, i, j))};
  }
}

static cvtm_status sum_batch(cvtm_device *device, const cvtm_kernels *kernels,
                             const node_batch *batch, int64_t first, int64_t count,
                             cvtm_target *target) {
  set_places(target, first, count, cvtm_device_threads(device), batch->place);
  cvtm_status status = cvtm_device_copy_in(device, batch->place_on_device, batch->place,
                                           (size_t)count * sizeof *batch->place);
  if (status == CVTM_OK)
    status = cvtm_kernels_sum(kernels, batch->place_on_device, count, batch->sum_on_device);
  if (status == CVTM_OK)
    status = cvtm_device_copy_out(device, batch->sum, batch->sum_on_device,
                                  (size_t)count * sizeof *batch->sum);
  for (int64_t k = 0; k < count && status == CVTM_OK; ++k)
    target->potential[first + k] = batch->sum[k].value;
  return status;
}

static cvtm_status sum_at_nodes(cvtm_device *device, const cvtm_kernels *kernels,
                                cvtm_target *target) {
  const int64_t nodes = (int64_t)target->columns * target->rows;
  const int64_t most = nodes < NODES_AT_ONCE ? nodes : NODES_AT_ONCE;
  node_batch b = {NULL, NULL, NULL, NULL};
  const cvtm_array arrays[] = {CVTM_ARRAY(b.place_on_device, most),
                               CVTM_ARRAY(b.sum_on_device, most)};
  cvtm_status status = cvtm_device_allocate_all(device, arrays, 2);
  b.place = malloc((size_t)most * sizeof *b.place);
  b.sum = malloc((size_t)most * sizeof *b.sum);
  if (status == CVTM_OK && (b.place == NULL || b.sum == NULL))
    status = cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "no memory for a density");
  for (int64_t first = 0; first < nodes && status == CVTM_OK; first += most)
    status =
        sum_batch(device, kernels, &b, first, first + most < nodes ? most : nodes - first, target);
  free(b.place);
  free(b.sum);
  cvtm_device_free_all(device, arrays, 2);
  return status;
}

/* *source: in device memory, or NULL. */
static cvtm_status make_sources(cvtm_device *device, const double *masses,
                                const cvtm_target *target, cvtm_kernel_source **source,
                                int64_t *count) {
  leaves l = {.target = target,
              .mass = masses,
              .cells = {target->columns - 2 * MARGIN, target->rows - 2 * MARGIN}};
  int side = 1;
  while (side < l.cells[0] || side < l.cells[1]) side *= 2;
  l.source = malloc((size_t)l.cells[0] * (size_t)l.cells[1] * sizeof *l.source);
  if (l.source == NULL)
    return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "no memory for a density");
  divide_square(&l, 0, 0, side);
  const cvtm_array array = CVTM_ARRAY(*source, l.count);
  cvtm_status status = cvtm_device_allocate_all(device, &array, 1);
  if (status == CVTM_OK)
    status = cvtm_device_copy_in(device, *source, l.source, (size_t)l.count * sizeof *l.source);
  free(l.source);
  *count = l.count;
  return status;
}

cvtm_status cvtm_target_add_potential(cvtm_device *device, const double *masses,
                                      cvtm_target *target) {
  cvtm_kernel_source *source = NULL;
  cvtm_kernels *kernels = NULL;
  int64_t count = 0;
  cvtm_status status = make_sources(device, masses, target, &source, &count);
  if (status == CVTM_OK) status = cvtm_kernels_create(device, target->domain, count, &kernels);
  if (status == CVTM_OK) status = cvtm_kernels_set(kernels, source, count);
  if (status == CVTM_OK) status = sum_at_nodes(device, kernels, target);
  cvtm_kernels_destroy(kernels);
  cvtm_device_free(device, source);
  return status;
}

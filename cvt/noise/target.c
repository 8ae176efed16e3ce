#include "cvt/noise/target.h"

#include "base/device.h"
#include "base/host.h"
#include "cvt/noise/blue_noise.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MARGIN = CVTM_TARGET_MARGIN };

/* --- the widths of kernels ----------------------------------------------------------------- */

/* Means of the density with Gaussian weights are computed for two widths s per octave. Each octave
 * has a grid, in which a cell joins four cells of the grid before. Between two widths ln(s^2 mean)
 * is interpolated linearly in ln s, which is exact where the density is constant. */

enum { TAPS_MOST = 16 };

static const double narrowest = 0.7; /* least width of a mean, in cells of the finest grid */
static const double nothing = -60;   /* used as the logarithm of 0 */

/* A grid of one octave. */
typedef struct octave {
  int cells[2], periodic, threads;
  double *mass, *area;         /* per cell; areas in cells of the finest grid */
  double *row_mass, *row_area; /* means along rows */
  double *value;               /* ln(s^2 mean density) */
} octave;

static int wrap(int i, int cells, int periodic) {
  if (i >= 0 && i < cells) return i;
  return periodic ? ((i % cells) + cells) % cells : -1;
}

static int fill_taps(double deviation, double *tap) {
  const int most = (int)fmin(ceil(4 * deviation), TAPS_MOST - 1);
  for (int k = 0; k <= most; ++k) tap[k] = exp(-0.5 * k * k / (deviation * deviation));
  return most;
}

/* Sets *sum to the sum along a line around cell i, where a cell at distance k has the weight
 * tap[k]. */
static void sum_taps(const octave *o, const double *from, int i, int axis, int64_t stride,
                     const double *tap, int most, double *sum) {
  *sum = 0;
  for (int k = -most; k <= most; ++k) {
    const int j = wrap(i + k, o->cells[axis], o->periodic);
    if (j >= 0) *sum += tap[k < 0 ? -k : k] * from[j * stride];
  }
}

/* Sets the values for the standard deviation `deviation`, in cells of this octave. side: the side
 * of such a cell, in cells of the finest grid. */
static void take_means(octave *o, double deviation, double side) {
  double tap[TAPS_MOST];
  const int columns = o->cells[0], rows = o->cells[1], most = fill_taps(deviation, tap);
#pragma omp parallel for schedule(static) num_threads(o->threads)
  for (int j = 0; j < rows; ++j) {
    for (int i = 0; i < columns; ++i) {
      const int64_t row = (int64_t)j * columns;
      sum_taps(o, o->mass + row, i, 0, 1, tap, most, &o->row_mass[row + i]);
      sum_taps(o, o->area + row, i, 0, 1, tap, most, &o->row_area[row + i]);
    }
  }
  const double square = deviation * side * deviation * side;
#pragma omp parallel for schedule(static) num_threads(o->threads)
  for (int j = 0; j < rows; ++j) {
    for (int i = 0; i < columns; ++i) {
      double mass, area;
      sum_taps(o, o->row_mass + i, j, 1, columns, tap, most, &mass);
      sum_taps(o, o->row_area + i, j, 1, columns, tap, most, &area);
      const double value = log(square * mass / area);
      o->value[(int64_t)j * columns + i] = value > nothing ? value : nothing;
    }
  }
}

/* Replaces the cells by those of the next octave. */
static void make_next_octave(octave *o) {
  const int columns = o->cells[0], rows = o->cells[1];
  const int half[2] = {(columns + 1) / 2, (rows + 1) / 2};
  for (int j = 0; j < half[1]; ++j) {
    for (int i = 0; i < half[0]; ++i) {
      double mass = 0, area = 0;
      for (int k = 0; k < 4; ++k) {
        const int x = 2 * i + k % 2, y = 2 * j + k / 2;
        if (x >= columns || y >= rows) continue;
        mass += o->mass[(int64_t)y * columns + x];
        area += o->area[(int64_t)y * columns + x];
      }
      o->mass[(int64_t)j * half[0] + i] = mass;
      o->area[(int64_t)j * half[0] + i] = area;
    }
  }
  memcpy(o->cells, half, sizeof half);
}

/* The value at the centre of cell (i, j) of the finest grid, interpolated bilinearly. */
static double value_at(const octave *o, int i, int j, double side) {
  const double u = (i + 0.5) / side - 0.5, v = (j + 0.5) / side - 0.5;
  const int x = (int)floor(u), y = (int)floor(v);
  double sum = 0;
  for (int k = 0; k < 4; ++k) {
    int a = wrap(x + k % 2, o->cells[0], o->periodic),
        b = wrap(y + k / 2, o->cells[1], o->periodic);
    const double weight = (k % 2 ? u - x : 1 - u + x) * (k / 2 ? v - y : 1 - v + y);
    if (a < 0) a = x < 0 ? 0 : o->cells[0] - 1;
    if (b < 0) b = y < 0 ? 0 : o->cells[1] - 1;
    sum += weight * o->value[(int64_t)b * o->cells[0] + a];
  }
  return sum;
}

/* Sets log_width where the value first reaches the target between the last two widths. s: the
 * logarithm of the larger width; step: the difference of the logarithms of both widths. */
static void find_crossings(const octave *o, const int cells[2], double side, double target,
                           double s, double step, int is_first, double *before, double *log_width) {
#pragma omp parallel for schedule(static) num_threads(o->threads)
  for (int j = 0; j < cells[1]; ++j) {
    for (int i = 0; i < cells[0]; ++i) {
      const int64_t at = (int64_t)j * cells[0] + i;
      if (!isnan(log_width[at])) continue;
      const double value = value_at(o, i, j, side), last = fmax(before[at], value - 8);
      before[at] = value;
      if (value < target) continue;
      log_width[at] = is_first || !(value > last) ? s - 0.5 * (value - target)
                                                  : s - step * (value - target) / (value - last);
    }
  }
}

static void search_widths(octave *o, const int cells[2], const double step[2], double target,
                          double *before, double *log_width) {
  const double unit = step[0] * step[1], half_octave = 0.5 * log(2.0);
  const double most = log(4 * fmax(cells[0], cells[1]));
  double s = log(narrowest), side = 1;
  for (int k = 0; s < most; ++k, s += half_octave) {
    /* The grid of an octave is used for deviations of 1.4 and 2 cells, the finest from 0.7 on. */
    if (k > 3 && k % 2 == 0 && (o->cells[0] > 1 || o->cells[1] > 1)) {
      make_next_octave(o);
      side *= 2;
    }
    take_means(o, exp(s) / side, side);
    find_crossings(o, cells, side, target, s, half_octave, k == 0, before, log_width);
  }
  const int64_t count = (int64_t)cells[0] * cells[1];
  for (int64_t c = 0; c < count; ++c) {
    if (isnan(log_width[c])) log_width[c] = s;
    log_width[c] += 0.5 * log(unit);
  }
}

/* Sets log_width of each cell to ln s such that s^2 times the mean density is width^2. The mean has
 * Gaussian weights of standard deviation s, over the grid or, on a torus, all periodic images.
 * mass: >= 0, not all 0, of cells[0] x cells[1] cells of step[0] x step[1] pixels. Fails with
 * CVTM_ERROR_MEMORY. */
static cvtm_status find_widths(const int cells[2], const double step[2], int periodic,
                               const double *mass, double width, int threads, double *log_width,
                               cvtm_error *error) {
  const int64_t count = (int64_t)cells[0] * cells[1];
  const size_t n = (size_t)count;
  cvtm_scratch memory = {0};
  octave o = {.cells = {cells[0], cells[1]},
              .periodic = periodic,
              .threads = threads,
              .mass = cvtm_scratch_take(&memory, n, sizeof(double)),
              .area = cvtm_scratch_take(&memory, n, sizeof(double)),
              .row_mass = cvtm_scratch_take(&memory, n, sizeof(double)),
              .row_area = cvtm_scratch_take(&memory, n, sizeof(double)),
              .value = cvtm_scratch_take(&memory, n, sizeof(double))};
  double *before = cvtm_scratch_take(&memory, n, sizeof *before);
  const cvtm_status status = memory.failed ? cvtm_no_memory(error, "a density") : CVTM_OK;
  if (status == CVTM_OK) {
    memcpy(o.mass, mass, n * sizeof *mass);
    for (int64_t c = 0; c < count; ++c) {
      o.area[c] = 1;
      before[c] = -INFINITY;
      log_width[c] = NAN;
    }
    search_widths(&o, cells, step, 2 * log(width), before, log_width);
  }
  cvtm_scratch_free(&memory);
  return status;
}

/* --- the nodes ----------------------------------------------------------------------------- */

static const double step_of_spacing = 0.5; /* distance of nodes / spacing, where the density is
                                            * largest */
static const double nodes_of_point = 8, nodes_least = 16384;

/* --- masses ----------------------------------------------------------------------------------- */

/* Divides a line of `count` piecewise constant values into `cells` equal parts. Their masses are
 * differences of cumulative sums. */
static void divide_line(const double *value, int64_t stride, int count, int cells, double *mass,
                        int64_t mass_stride) {
  const double size = (double)count / cells;
  double before = 0, sum = 0;
  int next = 0;
  for (int c = 1; c <= cells; ++c) {
    const double end = c == cells ? count : c * size;
    while (next < (int)end) sum += value[next++ * stride];
    const double part = end > next ? (end - next) * value[next * stride] : 0;
    mass[(c - 1) * mass_stride] = fmax(sum + part - before, 0);
    before = sum + part;
  }
}

/* Sets the masses of columns x rows cells of the domain; the total mass is `count`. */
static cvtm_status divide_density(cvtm_domain domain, const float *density, int64_t count,
                                  int columns, int rows, double *mass, cvtm_error *error) {
  const int width = domain.width, height = domain.height;
  cvtm_scratch memory = {0};
  double *line = cvtm_scratch_take(&memory, (size_t)width, sizeof *line);
  double *tall = cvtm_scratch_take(&memory, (size_t)columns * (size_t)height, sizeof *tall);
  const cvtm_status status = memory.failed ? cvtm_no_memory(error, "a density") : CVTM_OK;
  double total = 0;
  if (status == CVTM_OK) {
    for (int j = 0; j < height; ++j) {
      for (int i = 0; i < width; ++i) line[i] = (double)density[(int64_t)j * width + i];
      divide_line(line, 1, width, columns, tall + (int64_t)j * columns, 1);
    }
    for (int i = 0; i < columns; ++i)
      divide_line(tall + i, columns, height, rows, mass + i, columns);
    for (int64_t k = 0; k < (int64_t)columns * rows; ++k) total += mass[k];
    for (int64_t k = 0; k < (int64_t)columns * rows; ++k) mass[k] *= (double)count / total;
  }
  cvtm_scratch_free(&memory);
  return status;
}

/* Chooses the numbers of nodes by the distance that the largest density needs, or a larger distance
 * if there would be too many nodes. */
static void choose_nodes(cvtm_domain domain, const float *density, int64_t count, int cells[2]) {
  const double area = (double)domain.width * domain.height;
  double total = 0, largest = 0;
  for (int64_t p = 0; p < (int64_t)domain.width * domain.height; ++p) {
    total += (double)density[p];
    largest = fmax(largest, (double)density[p]);
  }
  const double least = sqrt(area / (nodes_of_point * (double)count + nodes_least));
  const double step = fmax(step_of_spacing * sqrt(total / (largest * (double)count)), least);
  cells[0] = (int)fmin(fmax(ceil(domain.width / step), 4), 30000);
  cells[1] = (int)fmin(fmax(ceil(domain.height / step), 4), 30000);
}

/* --- the target ---------------------------------------------------------------------------- */

/* Sets log_width at all nodes: inside to `inner`; in the margins to the value at the nearest inner
 * node or, on a torus, at the node one period away. */
static void fill_margins(cvtm_target *target, const int cells[2], const double *inner) {
  for (int j = 0; j < target->rows; ++j) {
    for (int i = 0; i < target->columns; ++i) {
      int x = i - MARGIN, y = j - MARGIN;
      if (target->domain.periodic) {
        x = (x + cells[0]) % cells[0];
        y = (y + cells[1]) % cells[1];
      }
      x = x < 0 ? 0 : x >= cells[0] ? cells[0] - 1 : x;
      y = y < 0 ? 0 : y >= cells[1] ? cells[1] - 1 : y;
      target->log_width[(int64_t)j * target->columns + i] = inner[(int64_t)y * cells[0] + x];
    }
  }
}

/* Divides the domain into cells[0] x cells[1] cells, as small as the largest density needs, and
 * sets *mass (malloc'd) to the number of points wanted in each, `count` in all. */
static cvtm_status find_masses(cvtm_domain domain, const float *density, int64_t count,
                               int cells[2], double **mass, cvtm_error *error) {
  choose_nodes(domain, density, count, cells);
  *mass = malloc((size_t)cells[0] * (size_t)cells[1] * sizeof **mass);
  if (*mass == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a density");
  const cvtm_status status =
      divide_density(domain, density, count, cells[0], cells[1], *mass, error);
  if (status == CVTM_OK) return CVTM_OK;
  free(*mass);
  *mass = NULL;
  return status;
}

static cvtm_status allocate_nodes(cvtm_target *target, double **inner, cvtm_error *error) {
  const size_t nodes = (size_t)target->columns * (size_t)target->rows;
  *inner = malloc(nodes * sizeof **inner);
  target->log_width = malloc(nodes * sizeof *target->log_width);
  target->potential = calloc(nodes, sizeof *target->potential);
  if (*inner && target->log_width && target->potential) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a density");
}

cvtm_status cvtm_target_create(cvtm_domain domain, const float *density, int64_t count,
                               double width, int threads, cvtm_target *target, double **masses,
                               cvtm_error *error) {
  int cells[2];
  double *mass = NULL, *inner = NULL;
  memset(target, 0, sizeof *target);
  CVTM_TRY(find_masses(domain, density, count, cells, &mass, error));
  cvtm_target made = {.domain = domain,
                      .columns = cells[0] + 2 * MARGIN,
                      .rows = cells[1] + 2 * MARGIN,
                      .step = {(double)domain.width / cells[0], (double)domain.height / cells[1]}};
  cvtm_status status = allocate_nodes(&made, &inner, error);
  if (status == CVTM_OK)
    status = find_widths(cells, made.step, domain.periodic, mass, width, threads, inner, error);
  if (status == CVTM_OK) fill_margins(&made, cells, inner);
  free(inner);
  if (status != CVTM_OK) cvtm_target_free(&made);
  if (status == CVTM_OK && masses != NULL) {
    *masses = mass;
  } else {
    free(mass);
  }
  *target = made;
  return status;
}

void cvtm_target_free(cvtm_target *target) {
  free(target->log_width);
  free(target->potential);
  memset(target, 0, sizeof *target);
}

/* --- the potential ------------------------------------------------------------------------- */

/* The potential of a target at a node is the sum of kernels over the density. The density is
 * divided into squares that are small compared with their kernels; each square is one source. */

enum { NODES_AT_ONCE = 1 << 18 };

static const double leaf_of_width =
    1.2; /* the largest side of a square that is one source, in kernel widths */

/* --- sources ---------------------------------------------------------------------------------- */

/* The squares, each of which is one source. */
typedef struct leaves {
  const cvtm_target *target;
  const double *mass; /* of each cell of the domain, without margins */
  int cells[2];
  cvtm_kernel_source *source;
  int64_t count;
} leaves;

static double log_width_of(const leaves *l, int i, int j) {
  return l->target->log_width[(int64_t)(j + MARGIN) * l->target->columns + i + MARGIN];
}

/* Adds a source with the mass, the centroid and the mean variance of cells i0 .. i1 - 1, j0 .. j1 -
 * 1. */
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

/* The value of the B-spline at a node. Beyond the margins it has the nearest coefficients. */
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

/* --- sums ------------------------------------------------------------------------------------- */

/* The nodes of one call of cvtm_kernels_sum, on the host and on the device. */
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
  cvtm_scratch memory = {0};
  node_batch b = {.place = cvtm_scratch_take(&memory, (size_t)most, sizeof *b.place),
                  .sum = cvtm_scratch_take(&memory, (size_t)most, sizeof *b.sum)};
  const cvtm_arrays arrays = {
      {CVTM_ARRAY(b.place_on_device, most), CVTM_ARRAY(b.sum_on_device, most)}};
  cvtm_status status = cvtm_device_allocate_arrays(device, arrays);
  if (status == CVTM_OK && memory.failed)
    status = cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "no memory for a density");
  for (int64_t first = 0; first < nodes && status == CVTM_OK; first += most)
    status =
        sum_batch(device, kernels, &b, first, first + most < nodes ? most : nodes - first, target);
  cvtm_scratch_free(&memory);
  cvtm_device_free_arrays(device, arrays);
  return status;
}

/* Makes the sources. *source: device memory that the caller frees, also on failure; or NULL. */
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
  cvtm_status status = cvtm_device_allocate(device, l.count, CVTM_TYPED(*source));
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

/* The means are taken for widths two to an octave, each on the grid of its octave: every coarser
 * grid adds four cells of the one before. Between two widths the logarithm of s^2 times the mean is
 * interpolated, which is exact where the density is constant. */
#include "cvt/noise/local_width.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { TAPS_MOST = 16 };

static const double narrowest = 0.7; /* of the means, in cells of the finest grid */
static const double nothing = -60;   /* for the logarithm of 0 */

/* A grid of one octave. */
typedef struct octave {
  int cells[2], periodic, threads;
  double *mass, *area;         /* of its cells; area in cells of the finest grid */
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

/* The sum over a line around cell i, with the weights of the taps. */
static void sum_taps(const octave *o, const double *from, int i, int axis, int64_t stride,
                     const double *tap, int most, double *sum) {
  *sum = 0;
  for (int k = -most; k <= most; ++k) {
    const int j = wrap(i + k, o->cells[axis], o->periodic);
    if (j >= 0) *sum += tap[k < 0 ? -k : k] * from[j * stride];
  }
}

/* Sets the values for the standard deviation `deviation`, in cells of this octave; side: of such a
 * cell, in cells of the finest grid. */
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

/* The value at the middle of cell (i, j) of the finest grid, linear between middles of cells. */
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

static cvtm_status allocate_octave(octave *o, int64_t count, double **before, cvtm_error *error) {
  const size_t n = (size_t)count;
  o->mass = malloc(n * sizeof *o->mass);
  o->area = malloc(n * sizeof *o->area);
  o->row_mass = malloc(n * sizeof *o->row_mass);
  o->row_area = malloc(n * sizeof *o->row_area);
  o->value = malloc(n * sizeof *o->value);
  *before = malloc(n * sizeof **before);
  if (o->mass && o->area && o->row_mass && o->row_area && o->value && *before) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a density");
}

/* Where the value passes the target for the first time between the last two widths. s: the wider,
 * as a logarithm; step: between both. */
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
    /* Grids of an octave serve deviations of 1.4 to 2.8 of their cells; the finest smaller ones. */
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

cvtm_status cvtm_local_width(const int cells[2], const double step[2], int periodic,
                             const double *mass, double width, int threads, double *log_width,
                             cvtm_error *error) {
  const int64_t count = (int64_t)cells[0] * cells[1];
  octave o = {.cells = {cells[0], cells[1]}, .periodic = periodic, .threads = threads};
  double *before = NULL;
  const cvtm_status status = allocate_octave(&o, count, &before, error);
  if (status == CVTM_OK) {
    memcpy(o.mass, mass, (size_t)count * sizeof *mass);
    for (int64_t c = 0; c < count; ++c) {
      o.area[c] = 1;
      before[c] = -INFINITY;
      log_width[c] = NAN;
    }
    search_widths(&o, cells, step, 2 * log(width), before, log_width);
  }
  free(o.mass);
  free(o.area);
  free(o.row_mass);
  free(o.row_area);
  free(o.value);
  free(before);
  return status;
}

#include "cvt/local_mean.h"

#include "base/host.h"
#include "base/portable.h"

#include <math.h>
#include <string.h>

/* The side of the square over which ink is averaged, divided by the side of a cell. */
static const double squares = 1.6;

/* A summed-area table: sum[j * (width + 1) + i] is the sum of the values over [0, i) x [0, j). */
typedef struct summed {
  cvtm_domain domain;
  double *sum;
} summed;

static void add_rows(const summed *s, const float *value) {
  const int64_t width = s->domain.width, height = s->domain.height;
#pragma omp parallel for schedule(static)
  for (int64_t j = 0; j < height; ++j) {
    double row = 0;
    double *to = s->sum + (j + 1) * (width + 1);
    for (int64_t i = 0; i < width; ++i) to[i + 1] = row += (double)value[j * width + i];
  }
}

static void add_columns(const summed *s) {
  const int64_t width = s->domain.width, height = s->domain.height;
  enum { COLUMNS = 512 }; /* columns that are summed at a time */
#pragma omp parallel for schedule(static)
  for (int64_t first = 1; first <= width; first += COLUMNS) {
    const int64_t end = first + COLUMNS <= width ? first + COLUMNS : width + 1;
    for (int64_t j = 1; j < height; ++j) {
      const double *from = s->sum + j * (width + 1);
      double *to = s->sum + (j + 1) * (width + 1);
      for (int64_t i = first; i < end; ++i) to[i] += from[i];
    }
  }
}

/* Instead of fmin and fmax, which are function calls and would take most of the time here. */
static inline double lesser(double a, double b) { return a < b ? a : b; }
static inline double larger(double a, double b) { return a > b ? a : b; }

/* The integral over [0, x) x [0, y), which is bilinear between the corners of pixels, since the
 * values are constant on pixels. */
static inline double integral_to(const summed *s, double x, double y) {
  const int64_t row = s->domain.width + 1;
  const int64_t i = (int64_t)lesser(x, s->domain.width - 1),
                j = (int64_t)lesser(y, s->domain.height - 1);
  const double *at = s->sum + j * row + i, u = x - (double)i, v = y - (double)j;
  return (1 - v) * ((1 - u) * at[0] + u * at[1]) + v * ((1 - u) * at[row] + u * at[row + 1]);
}

/* The integral over [left, right) x [top, bottom), inside the domain. */
static inline double integral_of(const summed *s, double left, double right, double top,
                                 double bottom) {
  return integral_to(s, right, bottom) - integral_to(s, left, bottom) - integral_to(s, right, top) +
         integral_to(s, left, top);
}

/* Finds the parts in [0, size) of the interval with this length and centre. Returns their number: 2
 * for an interval across the border of a torus, else 1. */
static inline int parts_of(double centre, double length, double size, int periodic,
                           double part[2][2]) {
  const double first = centre - length / 2, end = centre + length / 2;
  const int is_all = length >= size, wraps = periodic && !is_all && (first < 0 || end > size);
  const double shift = first < 0 ? size : 0;
  part[0][0] = wraps ? first + shift : is_all && periodic ? 0 : larger(first, 0);
  part[0][1] = wraps || (is_all && periodic) ? size : lesser(end, size);
  part[1][0] = 0;
  part[1][1] = end + shift - size;
  return wraps ? 2 : 1;
}

/* The mean of the values over the square of side `side` around the centre of pixel (i, j). */
static double mean_around(const summed *s, int64_t i, int64_t j, double side) {
  const int periodic = s->domain.periodic;
  double across[2][2], down[2][2], sum = 0, area = 0;
  const int columns = parts_of((double)i + 0.5, side, s->domain.width, periodic, across);
  const int rows = parts_of((double)j + 0.5, side, s->domain.height, periodic, down);
  for (int b = 0; b < rows; ++b) {
    for (int a = 0; a < columns; ++a) {
      sum += integral_of(s, across[a][0], across[a][1], down[b][0], down[b][1]);
      area += (across[a][1] - across[a][0]) * (down[b][1] - down[b][0]);
    }
  }
  return larger(sum, 0) / area;
}

/* The sizes of squares. The area of a cell is inversely proportional to the ink in the cell. */
typedef struct windows {
  double count; /* of cells */
  double total; /* integral of the ink; 0: of the values */
  double side;  /* of a square, in sides of a cell */
} windows;

/* Sets mean[p] to the mean of `value` over a square around pixel p. The side of the square is
 * proportional to the side of a cell where the ink is near[p]. If `near` is NULL, the ink is
 * instead the mean of `value` over a square that fits a cell of constant ink. `mean` may be
 * `value`. */
static void take_means(const summed *s, windows w, const float *value, const float *near,
                       float *mean) {
  const int64_t width = s->domain.width, height = s->domain.height;
  const double even = sqrt((double)width * (double)height / w.count);
  add_rows(s, value);
  add_columns(s);
  const double total = w.total > 0 ? w.total : integral_to(s, (double)width, (double)height);
#pragma omp parallel for schedule(static)
  for (int64_t j = 0; j < height; ++j) {
    for (int64_t i = 0; i < width; ++i) {
      const int64_t p = j * width + i;
      const double ink = near ? (double)near[p] : mean_around(s, i, j, w.side * even);
      const double side = ink > 0 ? fmin(sqrt(total / (w.count * ink)), 4 * even) : 4 * even;
      mean[p] = (float)mean_around(s, i, j, w.side * side);
    }
  }
}

/* --- pieces that overlap --- */

/* Areas of discs on a triangular lattice per unit of area: when they touch each other, and when
 * they cover the plane. */
static const double meeting = 0.90689968211710893; /* pi / sqrt(12) */
static const double most_discs = 1.2091995761561452;

/* The fraction of the plane that is covered by discs with this area per unit of area. Each disc has
 * a lens in common with each of its six neighbours. */
static double coverage_of(double discs) {
  const double distance = sqrt(2 * CVTM_PI / (sqrt(3.0) * discs)); /* in radii */
  if (distance >= 2) return discs;
  const double lens = 2 * acos(distance / 2) - distance / 2 * sqrt(4 - distance * distance);
  return discs * (1 - 3 * lens / CVTM_PI);
}

static double discs_needed(double coverage) {
  enum { STEPS = 30 };
  double low = meeting, high = most_discs;
  if (coverage <= meeting) return fmax(coverage, 0);
  for (int k = 0; k < STEPS; ++k) {
    const double middle = 0.5 * (low + high);
    *(coverage_of(middle) < coverage ? &low : &high) = middle;
  }
  return high;
}

/* cvtm_ink_needed for a line. The length of a tour per unit of area is proportional to the square
 * root of the number of sites per unit of area. Entry k of the table, measured in simulated plots
 * of constant ink, is the fraction that is covered by a line whose width is k / 10 times the square
 * root of a cell's area. */
static double line_needed(double coverage) {
  static const double covered[] = {0,      0.1048, 0.2092, 0.313,  0.4165, 0.5195, 0.6222,
                                   0.7245, 0.8264, 0.9274, 0.9868, 0.9962, 0.9995, 1};
  enum { LAST = sizeof covered / sizeof covered[0] - 1 };
  int k = 1;
  while (k < LAST && covered[k] < coverage) ++k;
  const double part = (fmin(fmax(coverage, 0), 1) - covered[k - 1]) / (covered[k] - covered[k - 1]);
  const double width = 0.1 * (k - 1 + part);
  return width * width;
}

/* cvtm_ink_needed for loose discs. The table, measured for 10,000 sites with a constant density
 * after 12 iterations from random sites, has the fractions that discs cover if their area per unit
 * of area is 0.6, 0.65 and so on. */
static double loose_discs_needed(double coverage) {
  static const double covered[] = {0.6,    0.6497, 0.6991, 0.7472, 0.7929, 0.835,  0.8725,
                                   0.9046, 0.9313, 0.9527, 0.969,  0.9807, 0.9887, 0.9935,
                                   0.9965, 0.9982, 0.999,  0.9995, 1};
  enum { LAST = sizeof covered / sizeof covered[0] - 1 };
  int k = 1;
  if (coverage <= covered[0]) return fmax(coverage, 0);
  while (k < LAST && covered[k] < coverage) ++k;
  const double part = (fmin(coverage, 1) - covered[k - 1]) / (covered[k] - covered[k - 1]);
  return 0.6 + 0.05 * (k - 1 + part);
}

double cvtm_ink_needed(cvtm_ink_kind kind, double coverage) {
  return kind == CVTM_INK_LINE          ? line_needed(coverage)
         : kind == CVTM_INK_LOOSE_DISCS ? loose_discs_needed(coverage)
                                        : discs_needed(coverage);
}

/* Values of cvtm_ink_needed for the coverages k / NEEDS. */
enum { NEEDS = 4096 };
typedef struct need_table {
  double need[NEEDS + 2];
} need_table;

static void fill_table(cvtm_ink_kind kind, need_table *t) {
  for (int k = 0; k <= NEEDS; ++k) t->need[k] = cvtm_ink_needed(kind, (double)k / NEEDS);
  t->need[NEEDS + 1] = t->need[NEEDS];
}

static double look_up(const need_table *t, double ink) {
  const double at = fmin(ink, 1) * NEEDS;
  const int k = (int)at;
  return t->need[k] + (at - k) * (t->need[k + 1] - t->need[k]);
}

/* The factor for the ink `mean` with which the pieces have the area `wanted` per pixel. */
static double multiple_of_ink(const need_table *t, const float *mean, size_t pixels,
                              double wanted) {
  enum { STEPS = 40, BINS = 1024 };
  double low = 0, high = 64, share[BINS + 1] = {0}, ink[BINS + 1] = {0};
  for (size_t p = 0; p < pixels; ++p) {
    const int bin = (int)(fmin((double)mean[p], 1) * BINS);
    ++share[bin];
    ink[bin] += (double)mean[p];
  }
  for (int k = 0; k < STEPS; ++k) {
    const double middle = 0.5 * (low + high);
    double sum = 0;
    for (int bin = 0; bin <= BINS; ++bin)
      sum += share[bin] > 0 ? share[bin] * look_up(t, middle * ink[bin] / share[bin]) : 0;
    *(sum < wanted * (double)pixels ? &low : &high) = middle;
  }
  return low;
}

/* Multiplies the density by the square of cvtm_ink_needed(m mean) / (m mean). mean: the mean ink
 * over a cell; m: the result of multiple_of_ink, or 1 if ink->area is 0. */
static void add_overlaps(cvtm_domain domain, const float *mean, double count, const cvtm_ink *ink,
                         float *rho) {
  const size_t pixels = (size_t)domain.width * (size_t)domain.height;
  need_table t;
  fill_table(ink->kind, &t);
  const double multiple =
      ink->area > 0 ? multiple_of_ink(&t, mean, pixels, count * ink->area / (double)pixels) : 1;
#pragma omp parallel for schedule(static)
  for (size_t p = 0; p < pixels; ++p) {
    const double q = multiple * (double)mean[p];
    const double more = q > 0 ? look_up(&t, q) / q : 1;
    rho[p] = (float)((double)rho[p] * more * more);
  }
}

/* The scratch arrays of the public functions. */
typedef struct means {
  cvtm_scratch memory;
  summed sums;
  float *root, *once, *twice;
} means;

static cvtm_status allocate_means(cvtm_domain domain, means *m, cvtm_error *error) {
  const size_t pixels = (size_t)domain.width * (size_t)domain.height;
  const size_t corners = ((size_t)domain.width + 1) * ((size_t)domain.height + 1);
  m->memory = (cvtm_scratch){0};
  m->sums = (summed){domain, cvtm_scratch_zeros(&m->memory, corners, sizeof *m->sums.sum)};
  m->root = cvtm_scratch_take(&m->memory, pixels, sizeof *m->root);
  m->once = cvtm_scratch_take(&m->memory, pixels, sizeof *m->once);
  m->twice = cvtm_scratch_take(&m->memory, pixels, sizeof *m->twice);
  if (!m->memory.failed) return CVTM_OK;
  cvtm_scratch_free(&m->memory);
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for means of the density");
}

static int has_few_pixels(cvtm_domain domain, double count) {
  return (double)domain.width * domain.height / count < 4;
}

/* Returns the mean ink over a cell, or `ink` itself if a cell has few pixels. */
static const float *mean_ink(const means *m, double count, const float *ink) {
  if (has_few_pixels(m->sums.domain, count)) return ink;
  const windows cell = {.count = count, .side = squares};
  take_means(&m->sums, cell, ink, NULL, m->once);
  take_means(&m->sums, cell, m->once, m->once, m->twice);
  return m->twice;
}

cvtm_status cvtm_density_of_local_mean(cvtm_domain domain, double count, const cvtm_ink *ink,
                                       float *rho, cvtm_error *error) {
  const size_t pixels = (size_t)domain.width * (size_t)domain.height;
  means m;
  if (has_few_pixels(domain, count) && ink == NULL) return CVTM_OK;
  CVTM_TRY(allocate_means(domain, &m, error));
  for (size_t p = 0; p < pixels; ++p) m.root[p] = sqrtf(rho[p]);
  const float *mean = mean_ink(&m, count, m.root);
  for (size_t p = 0; mean != m.root && p < pixels; ++p) rho[p] = m.root[p] * mean[p];
  if (ink != NULL) add_overlaps(domain, mean, count, ink, rho);
  cvtm_scratch_free(&m.memory);
  return CVTM_OK;
}

/* The difference between a pixel and the mean of its neighbours, in units of the standard deviation
 * if the pixels are independent. */
static double difference_at(cvtm_domain domain, const float *value, int64_t i, int64_t j) {
  const int64_t width = domain.width, p = j * width + i;
  const double left = (double)value[i > 0 ? p - 1 : p];
  const double right = (double)value[i + 1 < width ? p + 1 : p];
  const double above = (double)value[j > 0 ? p - width : p];
  const double below = (double)value[j + 1 < domain.height ? p + width : p];
  return ((double)value[p] - 0.25 * (left + right + above + below)) / sqrt(1.25);
}

/* Dither by diffusion of errors repeats within half of this side, in pixels. */
enum { DITHER_SIDE = 12 };
static const double least_noise = 0.6; /* share of the variance that noise explains */

/* The side of a square in which the minority, black pixels in white or white ones in black, has one
 * pixel if the mean of the pixels is `mean`. */
static double side_of_one(double mean) {
  const double minority = larger(lesser(mean, 1 - mean), 0);
  return fmin(fmax(1 / sqrt(minority), 2), DITHER_SIDE);
}

/* Sets mean[p] to the mean over a square with this side or, if `near` is not NULL, with the side
 * side_of_one(near[p]). `mean` may be `value`. */
static void take_box_means(const summed *s, double side, const float *near, const float *value,
                           float *mean) {
  const int64_t width = s->domain.width, pixels = width * s->domain.height;
  add_rows(s, value);
  add_columns(s);
#pragma omp parallel for schedule(static)
  for (int64_t p = 0; p < pixels; ++p)
    mean[p] = (float)mean_around(s, p % width, p / width,
                                 near != NULL ? side_of_one((double)near[p]) : side);
}

/* Squares of a picture with noise whose standard deviation is more than a tenth of the mean. */
typedef struct dither_squares {
  int64_t all, fine; /* fine: neighbours differ more than those of random pixels do */
} dither_squares;

static dither_squares find_dither(cvtm_domain domain, const float *value) {
  int64_t all = 0, fine = 0;
#pragma omp parallel for schedule(static) reduction(+ : all, fine)
  for (int32_t top = 0; top < domain.height; top += DITHER_SIDE) {
    for (int32_t left = 0; left < domain.width; left += DITHER_SIDE) {
      double sum = 0, squares_sum = 0, noise = 0, count = 0;
      for (int32_t j = top; j < top + DITHER_SIDE && j < domain.height; ++j) {
        for (int32_t i = left; i < left + DITHER_SIDE && i < domain.width; ++i, ++count) {
          const double v = (double)value[(int64_t)j * domain.width + i];
          const double d = difference_at(domain, value, i, j);
          sum += v;
          squares_sum += v * v;
          noise += d * d;
        }
      }
      const double mean = sum / count, variance = squares_sum / count - mean * mean;
      const int is_found = variance > 0.01 * mean * mean && noise > least_noise * count * variance;
      all += is_found;
      fine += is_found && noise > 1.1 * count * variance;
    }
  }
  return (dither_squares){all, fine};
}

cvtm_status cvtm_smooth_dither(cvtm_domain domain, float *value, cvtm_error *error) {
  const double fine = DITHER_SIDE / 2, wide = DITHER_SIDE;
  const int64_t pixels = (int64_t)domain.width * domain.height;
  const dither_squares found = find_dither(domain, value);
  means m;
  if (found.all == 0) return CVTM_OK;
  CVTM_TRY(allocate_means(domain, &m, error));
  float *mean = m.root, *noise = m.once, *variance = m.twice;
  /* Diffusion of errors and ordered dither keep the mean over a few pixels, and with it edges.
   * Random pixels keep it over many alone: of these, fewer squares are fine. */
  const int is_random = 3 * found.fine < found.all;
  take_box_means(&m.sums, is_random ? fine : wide, NULL, value, mean);
  take_box_means(&m.sums, fine, NULL, mean, mean);
  if (!is_random) {
    take_box_means(&m.sums, 0, mean, value, noise);
    take_box_means(&m.sums, 0, mean, noise, mean);
  }
#pragma omp parallel for schedule(static)
  for (int64_t p = 0; p < pixels; ++p) {
    const double d = difference_at(domain, value, p % domain.width, p / domain.width);
    const double away = (double)value[p] - (double)mean[p];
    noise[p] = (float)(d * d);
    variance[p] = (float)(away * away);
  }
  take_box_means(&m.sums, wide, NULL, noise, noise);
  take_box_means(&m.sums, wide, NULL, variance, variance);
#pragma omp parallel for schedule(static)
  for (int64_t p = 0; p < pixels; ++p) {
    const double share = variance[p] > 0 ? (double)noise[p] / (double)variance[p] : 0;
    value[p] += (float)fmin(fmax((share - least_noise) / 0.3, 0), 1) * (mean[p] - value[p]);
  }
  cvtm_scratch_free(&m.memory);
  return CVTM_OK;
}

cvtm_status cvtm_ink_count(cvtm_domain domain, const float *wanted, const cvtm_ink *ink,
                           double *count, cvtm_error *error) {
  const size_t pixels = (size_t)domain.width * (size_t)domain.height;
  need_table t;
  means m;
  *count = 0;
  CVTM_TRY(allocate_means(domain, &m, error));
  fill_table(ink->kind, &t);
  for (size_t p = 0; p < pixels; ++p) *count += look_up(&t, (double)wanted[p]) / ink->area;
  const float *mean = *count > 0 ? mean_ink(&m, *count, wanted) : wanted;
  double all = 0, sum = 0; /* the two differ, since the squares of the means have different sizes */
  for (size_t p = 0; p < pixels; ++p) {
    all += (double)wanted[p];
    sum += (double)mean[p];
  }
  *count = 0;
  for (size_t p = 0; p < pixels && sum > 0; ++p)
    *count += look_up(&t, all / sum * (double)mean[p]) / ink->area;
  cvtm_scratch_free(&m.memory);
  return CVTM_OK;
}

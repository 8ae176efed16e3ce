#include "cvt/local_mean.h"

#include "base/host.h"
#include "base/portable.h"

#include <math.h>

/* The side of a square of pixels over that of a cell. */
static const double squares = 1.6;

/* Sums of values over [0, i) x [0, j), at sum[j * (width + 1) + i]. */
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

/* The integral over [0, x) x [0, y): the values are constant on pixels, so it is bilinear between
 * their corners. */
static double integral_to(const summed *s, double x, double y) {
  const int64_t row = s->domain.width + 1;
  const int64_t i = (int64_t)fmin(x, s->domain.width - 1),
                j = (int64_t)fmin(y, s->domain.height - 1);
  const double *at = s->sum + j * row + i, u = x - (double)i, v = y - (double)j;
  return (1 - v) * ((1 - u) * at[0] + u * at[1]) + v * ((1 - u) * at[row] + u * at[row + 1]);
}

/* The integral over [left, right) x [top, bottom), inside the domain. */
static double integral_of(const summed *s, double left, double right, double top, double bottom) {
  return integral_to(s, right, bottom) - integral_to(s, left, bottom) - integral_to(s, right, top) +
         integral_to(s, left, top);
}

/* Finds the parts in [0, size) of the interval of length `length` around `centre`. An interval that
 * wraps around has two parts. Returns their number. */
static int parts_of(double centre, double length, double size, int periodic, double part[2][2]) {
  const double first = centre - length / 2, end = centre + length / 2;
  const int is_all = length >= size, wraps = periodic && !is_all && (first < 0 || end > size);
  const double shift = first < 0 ? size : 0;
  part[0][0] = wraps ? first + shift : is_all && periodic ? 0 : fmax(first, 0);
  part[0][1] = wraps || (is_all && periodic) ? size : fmin(end, size);
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
  return fmax(sum, 0) / area;
}

/* Sets mean[p] to the mean of `value` over a square around pixel p. The square is as large as a
 * cell where the ink is near[p]. If `near` is NULL, the ink there is the mean of `value` over a
 * square of the size for even ink. */
static void take_means(const summed *s, double count, const float *value, const float *near,
                       float *mean) {
  const int64_t width = s->domain.width, height = s->domain.height;
  const double even = sqrt((double)width * (double)height / count);
  add_rows(s, value);
  add_columns(s);
  const double total = integral_to(s, (double)width, (double)height);
#pragma omp parallel for schedule(static)
  for (int64_t j = 0; j < height; ++j) {
    for (int64_t i = 0; i < width; ++i) {
      const int64_t p = j * width + i;
      const double ink = near ? (double)near[p] : mean_around(s, i, j, squares * even);
      const double side = ink > 0 ? fmin(sqrt(total / (count * ink)), 4 * even) : 4 * even;
      mean[p] = (float)mean_around(s, i, j, squares * side);
    }
  }
}

/* --- ink that overlaps --- */

/* Discs on a triangular lattice meet at this coverage, and cover all at most_discs. */
static const double meeting = 0.90689968211710893; /* pi / sqrt(12) */
static const double most_discs = 1.2091995761561452;

/* The share that discs of this area cover: each is cut by the lenses which it has in common with
 * its six neighbours. */
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

/* The length of a tour per area goes with the root of the number of sites per area. Measured in
 * simulated plots of photographs: the share that a line covers whose width is 0, 0.1, 0.2 and so on
 * of the root of the area of a cell. With an even density it covers 6 % more. */
static double line_needed(double coverage) {
  static const double covered[] = {0,     0.092, 0.187, 0.285, 0.387, 0.492, 0.6,
                                   0.705, 0.808, 0.91,  0.972, 0.992, 0.999, 1};
  enum { LAST = sizeof covered / sizeof covered[0] - 1 };
  int k = 1;
  while (k < LAST && covered[k] < coverage) ++k;
  const double part = (fmin(fmax(coverage, 0), 1) - covered[k - 1]) / (covered[k] - covered[k - 1]);
  const double width = 0.1 * (k - 1 + part);
  return width * width;
}

/* Measured: the share that discs at 10,000 sites of an even density cover, after 12 iterations from
 * random sites, if their area per area is 0.6, 0.65 and so on. */
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

/* Values of cvtm_ink_needed between 0 and 1. */
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

/* The multiple of the ink `mean` that needs `wanted` per pixel. The ink is sorted into a histogram
 * first. */
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

/* Multiplies the density by the square of what the ink needs over the ink. */
static void add_overlaps(const float *mean, size_t pixels, double count, const cvtm_ink *ink,
                         float *rho) {
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

cvtm_status cvtm_density_of_local_mean(cvtm_domain domain, double count, const cvtm_ink *ink,
                                       float *rho, cvtm_error *error) {
  const size_t pixels = (size_t)domain.width * (size_t)domain.height;
  const int is_coarse = sqrt((double)pixels / count) < 2; /* a cell has few pixels */
  if (is_coarse && ink == NULL) return CVTM_OK;
  cvtm_scratch memory = {0};
  const size_t corners = ((size_t)domain.width + 1) * ((size_t)domain.height + 1);
  const summed s = {domain, cvtm_scratch_zeros(&memory, corners, sizeof *s.sum)};
  float *root = cvtm_scratch_take(&memory, pixels, sizeof *root);
  float *once = cvtm_scratch_take(&memory, pixels, sizeof *once);
  float *twice = cvtm_scratch_take(&memory, pixels, sizeof *twice);
  cvtm_status status = CVTM_OK;
  if (memory.failed) {
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for means of the density");
  } else {
    for (size_t p = 0; p < pixels; ++p) root[p] = sqrtf(rho[p]);
    if (!is_coarse) {
      take_means(&s, count, root, NULL, once);
      take_means(&s, count, once, once, twice);
      for (size_t p = 0; p < pixels; ++p) rho[p] = root[p] * twice[p];
    }
    if (ink != NULL) add_overlaps(is_coarse ? root : twice, pixels, count, ink, rho);
  }
  cvtm_scratch_free(&memory);
  return status;
}

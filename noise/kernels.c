#include "noise/kernels.h"

#include "base/vectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = 64, LANES = 4 };

/* Beyond this many root mean square widths a kernel is left out. */
static const double reach = 6;
static const double side_of_cell = 2; /* in widths */

/* The sources of one octave of variances. */
typedef struct width_class {
  int64_t count;
  int columns, rows;
  double width, height; /* of a cell */
  double widest;
  int64_t start; /* of its cells in `starts` */
} width_class;

struct cvtm_kernels {
  cvtm_domain domain;
  int64_t capacity, count, cells;
  int wide; /* AVX2 may be used */
  width_class classes[CLASSES];
  int32_t *cell;                       /* of each source, over all classes */
  int32_t *order;                      /* number of each stored source */
  int64_t *starts;                     /* of each cell; one more */
  double *x, *y, *variance, *strength; /* as stored, and LANES more; strength: 2 mass width */
};

cvtm_status cvtm_kernels_create(cvtm_domain domain, int64_t capacity, cvtm_kernels **made,
                                cvtm_error *error) {
  cvtm_kernels *k = calloc(1, sizeof *k);
  const size_t n = (size_t)capacity + 1;
  if (k != NULL) {
    k->domain = domain;
    k->capacity = capacity;
    k->wide = cvtm_has_wide_vectors();
    k->cell = malloc(n * sizeof *k->cell);
    k->order = malloc(n * sizeof *k->order);
    k->starts = malloc((4 * n + 2 * CLASSES) * sizeof *k->starts);
    k->x = calloc(n + LANES, sizeof *k->x);
    k->y = calloc(n + LANES, sizeof *k->y);
    k->variance = calloc(n + LANES, sizeof *k->variance);
    k->strength = calloc(n + LANES, sizeof *k->strength);
  }
  if (k == NULL || !k->cell || !k->order || !k->starts || !k->x || !k->y || !k->variance ||
      !k->strength) {
    cvtm_kernels_destroy(k);
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the kernels of %lld points",
                     (long long)capacity);
  }
  *made = k;
  return CVTM_OK;
}

void cvtm_kernels_destroy(cvtm_kernels *k) {
  if (k == NULL) return;
  free(k->cell);
  free(k->order);
  free(k->starts);
  free(k->x);
  free(k->y);
  free(k->variance);
  free(k->strength);
  free(k);
}

/* --- sorting -------------------------------------------------------------------------------------
 */

static int class_of(double variance, double least) {
  const int octave = ilogb(variance / least);
  return octave < CLASSES ? octave : CLASSES - 1;
}

static int cells_along(double length, double side) {
  return (int)fmax(1, fmin(length / side, 32768));
}

/* Cells of a class: as large as its kernels ask for, but no more than 4 for a source. */
static void shape_class(cvtm_kernels *k, width_class *c, double narrowest) {
  const double width = k->domain.width, height = k->domain.height;
  const double least = sqrt(width * height / (4 * (double)c->count));
  const double side = fmax(side_of_cell * narrowest, least);
  c->columns = cells_along(width, side);
  c->rows = cells_along(height, side);
  c->width = width / c->columns;
  c->height = height / c->rows;
  c->start = k->cells;
  k->cells += (int64_t)c->columns * c->rows;
}

static int on_axis(double x, double side, int cells) {
  const int i = (int)(x / side);
  return i < 0 ? 0 : i >= cells ? cells - 1 : i;
}

static void shape_classes(cvtm_kernels *k, const cvtm_kernel_source *sources, double least) {
  memset(k->classes, 0, sizeof k->classes);
  for (int64_t i = 0; i < k->count; ++i) {
    width_class *c = &k->classes[class_of(sources[i].variance, least)];
    ++c->count;
    c->widest = fmax(c->widest, sources[i].variance);
  }
  k->cells = 0;
  for (int c = 0; c < CLASSES; ++c)
    if (k->classes[c].count > 0) shape_class(k, &k->classes[c], sqrt(ldexp(least, c)));
}

static void store(cvtm_kernels *k, const cvtm_kernel_source *sources) {
  memset(k->starts, 0, (size_t)(k->cells + 1) * sizeof *k->starts);
  for (int64_t i = 0; i < k->count; ++i) ++k->starts[k->cell[i] + 1];
  for (int64_t c = 0; c < k->cells; ++c) k->starts[c + 1] += k->starts[c];
  for (int64_t i = 0; i < k->count; ++i) {
    const int64_t at = k->starts[k->cell[i]]++;
    k->order[at] = (int32_t)i;
    k->x[at] = sources[i].x;
    k->y[at] = sources[i].y;
    k->variance[at] = sources[i].variance;
    k->strength[at] = 2 * sources[i].mass * sources[i].width;
  }
  for (int64_t c = k->cells; c > 0; --c) k->starts[c] = k->starts[c - 1];
  k->starts[0] = 0;
}

void cvtm_kernels_set(cvtm_kernels *k, const cvtm_kernel_source *sources, int64_t count) {
  double least = INFINITY;
  k->count = count;
  for (int64_t i = 0; i < count; ++i) least = fmin(least, sources[i].variance);
  shape_classes(k, sources, least);
  for (int64_t i = 0; i < count; ++i) {
    const width_class *c = &k->classes[class_of(sources[i].variance, least)];
    k->cell[i] =
        (int32_t)(c->start + (int64_t)on_axis(sources[i].y, c->height, c->rows) * c->columns +
                  on_axis(sources[i].x, c->width, c->columns));
  }
  store(k, sources);
}

int32_t cvtm_kernels_order(const cvtm_kernels *k, int64_t at) { return k->order[at]; }

/* --- sums ----------------------------------------------------------------------------------------
 */

/* A place, and the sums over every LANES-th source of a run. */
typedef struct place_sums {
  double x, y, square; /* square: of the width */
  double value[LANES], by_x[LANES], by_y[LANES], by_width[LANES];
} place_sums;

/* exp(x) for -700 < x <= 0, by 2^k times a polynomial, so that compilers make vectors of it. */
CVTM_INLINE double exponential(double x) {
  const double shift = 0x1.8p52; /* its lowest bits become the nearest integer */
  const double whole = x * 1.4426950408889634 + shift;
  const double k = whole - shift;
  const double r = (x - k * 0x1.62e42fefa38p-1) - k * 0x1.ef35793c7673p-45;
  double p = 1.0 / 39916800;
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r + 1;
  p = p * r + 1;
  uint64_t exponent, bits;
  memcpy(&exponent, &whole, sizeof exponent);
  memcpy(&bits, &p, sizeof bits);
  bits += exponent << 52;
  memcpy(&p, &bits, sizeof bits);
  return p;
}

CVTM_INLINE void add_source(const cvtm_kernels *k, int64_t j, int lane, double strength,
                            place_sums *s) {
  const double dx = s->x - k->x[j], dy = s->y - k->y[j];
  const double inverse = 1 / (s->square + k->variance[j]);
  const double q = (dx * dx + dy * dy) * inverse;
  /* -q / 2 or -60, the larger, without a branch. */
  const double power = 0.5 * ((-0.5 * q - 60) + fabs(60 - 0.5 * q));
  const double part = strength * inverse * exponential(power);
  const double force = part * inverse, share = s->square * inverse;
  s->value[lane] += part;
  s->by_x[lane] -= force * dx;
  s->by_y[lane] -= force * dy;
  s->by_width[lane] += part * (1 + share * (q - 2));
}

/* The last lanes may stand beyond the run, without strength. */
CVTM_INLINE void add_run(const cvtm_kernels *k, int64_t begin, int64_t end, place_sums *s) {
  place_sums sums = *s;
  int64_t j = begin;
  for (; j + LANES <= end; j += LANES) {
#pragma omp simd
    for (int lane = 0; lane < LANES; ++lane)
      add_source(k, j + lane, lane, k->strength[j + lane], &sums);
  }
  const int rest = (int)(end - j);
  if (rest > 0) {
    double strength[LANES];
    for (int lane = 0; lane < LANES; ++lane)
      strength[lane] = lane < rest ? k->strength[j + lane] : 0;
#pragma omp simd
    for (int lane = 0; lane < LANES; ++lane) add_source(k, j + lane, lane, strength[lane], &sums);
  }
  *s = sums;
}

static void add_run_baseline(const cvtm_kernels *k, int64_t begin, int64_t end, place_sums *s) {
  add_run(k, begin, end, s);
}

CVTM_WIDE static void add_run_wide(const cvtm_kernels *k, int64_t begin, int64_t end,
                                   place_sums *s) {
  add_run(k, begin, end, s);
}

/* Adds the cells first .. last of a row; in a torus those beyond an end are of the next image. */
static void add_row(const cvtm_kernels *k, const width_class *c, int row, int first, int last,
                    place_sums *s) {
  const int64_t cells = c->start + (int64_t)row * c->columns;
  const double x = s->x;
  while (first <= last) {
    const int turn = (int)floor((double)first / c->columns), base = turn * c->columns;
    const int end = last < base + c->columns - 1 ? last : base + c->columns - 1;
    const int64_t from = k->starts[cells + first - base], to = k->starts[cells + end - base + 1];
    s->x = x - turn * (double)k->domain.width;
    if (k->wide) {
      add_run_wide(k, from, to, s);
    } else {
      add_run_baseline(k, from, to, s);
    }
    first = end + 1;
  }
  s->x = x;
}

static int clip(int i, int cells) { return i < 0 ? 0 : i >= cells ? cells - 1 : i; }

static void add_class(const cvtm_kernels *k, const width_class *c, place_sums *s) {
  const double radius = reach * sqrt(s->square + c->widest), x = s->x, y = s->y;
  const int periodic = k->domain.periodic;
  int first = (int)floor((y - radius) / c->height), last = (int)floor((y + radius) / c->height);
  if (!periodic) {
    first = clip(first, c->rows);
    last = clip(last, c->rows);
  }
  for (int row = first; row <= last; ++row) {
    const double above = row * c->height - y, below = y - (row + 1) * c->height;
    const double off = fmax(fmax(above, below), 0);
    const double half = sqrt(fmax(radius * radius - off * off, 0));
    const int turn = (int)floor((double)row / c->rows);
    int left = (int)floor((x - half) / c->width), right = (int)floor((x + half) / c->width);
    if (!periodic) {
      left = clip(left, c->columns);
      right = clip(right, c->columns);
    }
    s->y = y - turn * (double)k->domain.height;
    add_row(k, c, row - turn * c->rows, left, right, s);
  }
  s->y = y;
}

static double sum_lanes(const double *lane) { return (lane[0] + lane[1]) + (lane[2] + lane[3]); }

cvtm_kernel_sum cvtm_kernels_at(const cvtm_kernels *k, double x, double y, double width) {
  place_sums s = {.x = x, .y = y, .square = width * width};
  for (int c = 0; c < CLASSES; ++c)
    if (k->classes[c].count > 0) add_class(k, &k->classes[c], &s);
  return (cvtm_kernel_sum){width * sum_lanes(s.value), width * sum_lanes(s.by_x),
                           width * sum_lanes(s.by_y), width * sum_lanes(s.by_width)};
}

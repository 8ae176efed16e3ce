/* Each point is spread over WIDTH x WIDTH cells of a grid by a kernel; the discrete transform of
 * the grid over the transform of the kernel is the sum. */
#include "noise/fourier.h"

#include "base/portable.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum {
  MODES = CVTM_FOURIER_MODES,
  GRID = CVTM_FOURIER_GRID,
  WIDTH = 12,
  BAND = 32, /* rows of the grid that one thread fills */
  BANDS = GRID / BAND
};

static const double shape = 2.3 * WIDTH; /* of the kernel, for a grid twice as fine */

struct cvtm_fourier {
  const double *places, *weight;
  int64_t count, stride[2];
  int threads;
  int64_t start[BANDS + 1]; /* of the points whose first row lies in a band, */
  int64_t *order;           /* in this order */
  int16_t *corner;          /* 2 * count: the first cell under the kernel of each ordered point */
  double *kernel;           /* 2 * WIDTH * count: along x, then along y */
  cvtm_complex *strength;   /* count: of ordered points */
  cvtm_complex *grid;       /* GRID * GRID */
  cvtm_complex *columns;    /* MODES * GRID */
  cvtm_complex root[GRID / 2]; /* exp(-2 pi i k / GRID) */
  double scale[MODES];         /* 1 / the kernel's transform */
};

/* t: in half widths from the centre. */
static double kernel_at(double t) { return fabs(t) < 1 ? exp(shape * (sqrt(1 - t * t) - 1)) : 0; }

/* The transform of the kernel by the trapezoidal rule. */
static double kernel_transform(int mode) {
  enum { STEPS = 4000 };
  double sum = 0;
  for (int k = 1 - STEPS; k < STEPS; ++k) {
    const double t = (double)k / STEPS;
    sum += kernel_at(t) * cos(CVTM_PI * WIDTH * mode * t / GRID);
  }
  return sum * WIDTH / (2.0 * STEPS);
}

static void fill_tables(cvtm_fourier *f) {
  for (int k = 0; k < GRID / 2; ++k) {
    const double turn = 2 * CVTM_PI * k / GRID;
    f->root[k] = (cvtm_complex){cos(turn), -sin(turn)};
  }
  for (int a = 0; a < MODES; ++a) f->scale[a] = 1 / kernel_transform(a - MODES / 2);
}

/* The cell coordinate, 0 .. GRID, of a point on the axis. */
static double grid_place(const cvtm_fourier *f, int64_t point, int axis) {
  const double turns = f->places[2 * point + axis] * (double)f->stride[axis];
  return (turns - floor(turns)) * GRID;
}

static int first_cell(double place) { return ((int)ceil(place - WIDTH / 2.0) + GRID) % GRID; }

/* Sorts the points by the band of their first row; those of a band keep their order. */
static void sort_points(cvtm_fourier *f) {
  int64_t next[BANDS];
  memset(f->start, 0, sizeof f->start);
  for (int64_t i = 0; i < f->count; ++i) ++f->start[first_cell(grid_place(f, i, 1)) / BAND + 1];
  for (int b = 0; b < BANDS; ++b) f->start[b + 1] += f->start[b];
  memcpy(next, f->start, sizeof next);
  for (int64_t i = 0; i < f->count; ++i)
    f->order[next[first_cell(grid_place(f, i, 1)) / BAND]++] = i;
}

static void fill_kernels(cvtm_fourier *f) {
#pragma omp parallel for schedule(static) num_threads(f->threads)
  for (int64_t k = 0; k < f->count; ++k) {
    for (int axis = 0; axis < 2; ++axis) {
      const double place = grid_place(f, f->order[k], axis);
      const double first = ceil(place - WIDTH / 2.0);
      double *kernel = f->kernel + (2 * k + axis) * WIDTH;
      f->corner[2 * k + axis] = (int16_t)first_cell(place);
      for (int s = 0; s < WIDTH; ++s) kernel[s] = kernel_at((first + s - place) * 2 / WIDTH);
    }
  }
}

cvtm_status cvtm_fourier_create(const double *places, const double *weight, int64_t count,
                                const int64_t stride[2], int threads, cvtm_fourier **made,
                                cvtm_error *error) {
  cvtm_fourier *f = calloc(1, sizeof *f);
  const size_t n = (size_t)(count > 0 ? count : 1);
  if (f != NULL) {
    f->order = malloc(n * sizeof *f->order);
    f->corner = malloc(2 * n * sizeof *f->corner);
    f->kernel = malloc(2 * WIDTH * n * sizeof *f->kernel);
    f->strength = malloc(n * sizeof *f->strength);
    f->grid = malloc((size_t)GRID * GRID * sizeof *f->grid);
    f->columns = malloc((size_t)MODES * GRID * sizeof *f->columns);
  }
  if (f == NULL || f->order == NULL || f->corner == NULL || f->kernel == NULL ||
      f->strength == NULL || f->grid == NULL || f->columns == NULL) {
    cvtm_fourier_destroy(f);
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the spectrum of %lld points",
                     (long long)count);
  }
  f->places = places;
  f->weight = weight;
  f->count = count;
  memcpy(f->stride, stride, sizeof f->stride);
  f->threads = threads > 0 ? threads : omp_get_max_threads();
  fill_tables(f);
  sort_points(f);
  fill_kernels(f);
  *made = f;
  return CVTM_OK;
}

void cvtm_fourier_destroy(cvtm_fourier *f) {
  if (f == NULL) return;
  free(f->order);
  free(f->corner);
  free(f->kernel);
  free(f->strength);
  free(f->grid);
  free(f->columns);
  free(f);
}

/* In place, of length GRID (Cooley & Tukey 1965): bit reversal, then butterflies. */
static void transform_line(const cvtm_complex *root, cvtm_complex *line) {
  for (int i = 1, j = 0; i < GRID; ++i) {
    int bit = GRID >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) {
      const cvtm_complex kept = line[i];
      line[i] = line[j];
      line[j] = kept;
    }
  }
  for (int half = 1; half < GRID; half *= 2) {
    const int step = GRID / (2 * half);
    for (int block = 0; block < GRID; block += 2 * half) {
      for (int k = 0; k < half; ++k) {
        cvtm_complex *low = line + block + k, *high = low + half;
        const cvtm_complex w = root[k * step], h = *high, l = *low;
        const cvtm_complex turned = {w.re * h.re - w.im * h.im, w.re * h.im + w.im * h.re};
        *high = (cvtm_complex){l.re - turned.re, l.im - turned.im};
        *low = (cvtm_complex){l.re + turned.re, l.im + turned.im};
      }
    }
  }
}

/* The strengths of the points: their weights, with the phases that shift frequency `middle` to
 * zero. */
static void fill_strengths(cvtm_fourier *f, const int64_t middle[2]) {
#pragma omp parallel for schedule(static) num_threads(f->threads)
  for (int64_t k = 0; k < f->count; ++k) {
    const int64_t i = f->order[k];
    const double x = f->places[2 * i] * (double)middle[0];
    const double y = f->places[2 * i + 1] * (double)middle[1];
    const double turn = -2 * CVTM_PI * ((x - floor(x)) + (y - floor(y)));
    const double weight = f->weight != NULL ? f->weight[i] : 1;
    f->strength[k] = (cvtm_complex){weight * cos(turn), weight * sin(turn)};
  }
}

/* Adds an ordered point to the rows of a band. */
static void spread_point(cvtm_fourier *f, int64_t k, int band) {
  const double *along = f->kernel + 2 * k * WIDTH, *across = along + WIDTH;
  const cvtm_complex strength = f->strength[k];
  const int column = f->corner[2 * k], row = f->corner[2 * k + 1];
  for (int t = 0; t < WIDTH; ++t) {
    const int y = (row + t) % GRID;
    if (y / BAND != band) continue;
    cvtm_complex *line = f->grid + (size_t)y * GRID;
    const cvtm_complex part = {strength.re * across[t], strength.im * across[t]};
    for (int s = 0; s < WIDTH; ++s) {
      cvtm_complex *cell = line + (column + s) % GRID;
      cell->re += part.re * along[s];
      cell->im += part.im * along[s];
    }
  }
}

/* A point reaches into the band of its first row and the next one. */
static void spread_points(cvtm_fourier *f) {
#pragma omp parallel for schedule(dynamic) num_threads(f->threads)
  for (int band = 0; band < BANDS; ++band) {
    memset(f->grid + (size_t)band * BAND * GRID, 0, (size_t)BAND * GRID * sizeof *f->grid);
    const int before = (band + BANDS - 1) % BANDS;
    for (int64_t k = f->start[before]; k < f->start[before + 1]; ++k) spread_point(f, k, band);
    for (int64_t k = f->start[band]; k < f->start[band + 1]; ++k) spread_point(f, k, band);
  }
}

static cvtm_complex scaled(cvtm_complex value, double factor) {
  return (cvtm_complex){value.re * factor, value.im * factor};
}

void cvtm_fourier_transform(cvtm_fourier *f, const int64_t first[2], cvtm_complex *sums) {
  const int64_t middle[2] = {first[0] + MODES / 2 * f->stride[0],
                             first[1] + MODES / 2 * f->stride[1]};
  fill_strengths(f, middle);
  spread_points(f);
#pragma omp parallel for schedule(static) num_threads(f->threads)
  for (int y = 0; y < GRID; ++y) {
    cvtm_complex *line = f->grid + (size_t)y * GRID;
    transform_line(f->root, line);
    for (int a = 0; a < MODES; ++a)
      f->columns[a * GRID + y] = scaled(line[(a + GRID - MODES / 2) % GRID], f->scale[a]);
  }
#pragma omp parallel for schedule(static) num_threads(f->threads)
  for (int a = 0; a < MODES; ++a) {
    cvtm_complex *line = f->columns + (size_t)a * GRID;
    transform_line(f->root, line);
    for (int b = 0; b < MODES; ++b)
      sums[b * MODES + a] = scaled(line[(b + GRID - MODES / 2) % GRID], f->scale[b]);
  }
}

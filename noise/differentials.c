/* Spectra of points of varying density, by the histogram of their normalised differences. */
#include "base/portable.h"
#include "base/random.h"
#include "noise/cell_list.h"
#include "noise/figures.h"
#include "noise/spectrum.h"
#include "noise/target_value.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum {
  RANGE = CVTM_SPECTRUM_DISTANCE,
  BINS_OF_UNIT = 32,
  BINS = 2 * RANGE * BINS_OF_UNIT, /* along an axis */
  STEPS_OF_UNIT = 2 * RANGE,       /* of the frequency */
  HALF = CVTM_SPECTRUM_FREQUENCY * STEPS_OF_UNIT,
  FREQUENCIES = 2 * HALF + 1,
  GAPS = 25 * RANGE, /* bins of the pair correlation */
  CLASSES = 24,      /* classes of places, by octaves of their spacing */
  CHUNKS = 16
};

static const double width_of_spacing = 0.6; /* over which the density is averaged */

/* The points, then the places of the cells, which stand for independent points of the density. */
typedef struct places {
  cvtm_domain domain;
  int64_t points, count;
  double *xy, *spacing, *mass; /* mass: 1 of points */
  cvtm_cell_list list[CLASSES];
  int32_t *index[CLASSES]; /* of the places in each list */
  double widest[CLASSES];
} places;

typedef struct histograms {
  double *plane;                      /* BINS * BINS: points less the expected number */
  double found[GAPS], expected[GAPS]; /* over the distance */
  double least, sum;                  /* of the distances to the nearest point */
} histograms;

static void free_places(places *p) {
  for (int c = 0; c < CLASSES; ++c) {
    cvtm_cell_list_free(&p->list[c]);
    free(p->index[c]);
  }
  free(p->xy);
  free(p->spacing);
  free(p->mass);
}

static cvtm_status list_class(places *p, int class, const int *class_of, cvtm_error *error) {
  int64_t count = 0;
  double sum = 0;
  for (int64_t i = 0; i < p->count; ++i) count += class_of[i] == class;
  if (count == 0) return CVTM_OK;
  double *xy = malloc(2 * (size_t)count * sizeof *xy);
  p->index[class] = malloc((size_t)count * sizeof *p->index[class]);
  cvtm_status status = CVTM_ERROR_MEMORY;
  if (xy != NULL && p->index[class] != NULL) {
    int64_t at = 0;
    for (int64_t i = 0; i < p->count; ++i) {
      if (class_of[i] != class) continue;
      p->index[class][at] = (int32_t)i;
      memcpy(xy + 2 * at++, p->xy + 2 * i, 2 * sizeof *xy);
      sum += p->spacing[i];
      p->widest[class] = fmax(p->widest[class], p->spacing[i]);
    }
    status =
        cvtm_cell_list_create(p->domain, xy, count, sum / (double)count, &p->list[class], error);
  } else {
    cvtm_fail(error, status, "no memory for %lld places", (long long)count);
  }
  free(xy);
  return status;
}

static cvtm_status list_places(places *p, cvtm_error *error) {
  int *class_of = malloc((size_t)p->count * sizeof *class_of);
  double least = INFINITY;
  cvtm_status status = CVTM_OK;
  if (class_of == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for places");
  for (int64_t i = 0; i < p->count; ++i) least = fmin(least, p->spacing[i]);
  for (int64_t i = 0; i < p->count; ++i)
    class_of[i] = (int)fmin(floor(log2(p->spacing[i] / least)), CLASSES - 1);
  for (int c = 0; c < CLASSES && status == CVTM_OK; ++c) status = list_class(p, c, class_of, error);
  free(class_of);
  return status;
}

/* One random place in each cell, with the mass of the cell. */
static void draw_places(places *p, const int cells[2], const double *mass) {
  const double step[2] = {(double)p->domain.width / cells[0], (double)p->domain.height / cells[1]};
  for (int64_t c = 0; c < (int64_t)cells[0] * cells[1]; ++c) {
    double draw[2];
    if (!(mass[c] > 0)) continue;
    cvtm_random_uniform2(1, 3, (uint64_t)c, draw);
    p->xy[2 * p->count] = ((double)(c % cells[0]) + draw[0]) * step[0];
    p->xy[2 * p->count + 1] = ((double)(c / cells[0]) + draw[1]) * step[1];
    p->mass[p->count++] = mass[c] * (double)(p->points - 1) / (double)p->points;
  }
}

static cvtm_status make_places(places *p, const float *density, const double *points, int threads,
                               cvtm_error *error) {
  int cells[2];
  double *mass = NULL;
  cvtm_target target;
  cvtm_status status = cvtm_target_masses(p->domain, density, p->points, cells, &mass, error);
  if (status != CVTM_OK) return status;
  const size_t most = (size_t)p->points + (size_t)cells[0] * (size_t)cells[1];
  p->xy = malloc(2 * most * sizeof *p->xy);
  p->spacing = malloc(most * sizeof *p->spacing);
  p->mass = malloc(most * sizeof *p->mass);
  if (!p->xy || !p->spacing || !p->mass)
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for places");
  if (status == CVTM_OK)
    status = cvtm_target_create(p->domain, density, p->points, width_of_spacing, threads, &target,
                                NULL, error);
  if (status == CVTM_OK) {
    memcpy(p->xy, points, 2 * (size_t)p->points * sizeof *p->xy);
    for (int64_t i = 0; i < p->points; ++i) p->mass[i] = 1;
    p->count = p->points;
    draw_places(p, cells, mass);
    for (int64_t i = 0; i < p->count; ++i)
      p->spacing[i] =
          exp(cvtm_target_at(&target, p->xy[2 * i], p->xy[2 * i + 1]).log_width) / width_of_spacing;
    cvtm_target_free(&target);
    status = list_places(p, error);
  }
  free(mass);
  return status;
}

/* --- differences ---------------------------------------------------------------------------------
 */

static void add_difference(const places *p, int64_t i, int64_t j, double *nearest, histograms *h) {
  const cvtm_domain d = p->domain;
  const double spacing = 0.5 * (p->spacing[i] + p->spacing[j]);
  const double x = cvtm_difference(p->xy[2 * j], p->xy[2 * i], d.width, d.periodic) / spacing;
  const double y =
      cvtm_difference(p->xy[2 * j + 1], p->xy[2 * i + 1], d.height, d.periodic) / spacing;
  const double square = x * x + y * y;
  if (j == i || square >= RANGE * RANGE) return;
  const int is_point = j < p->points;
  const int gap = (int)(sqrt(square) * GAPS / RANGE);
  const int column = (int)((x + RANGE) * BINS_OF_UNIT), row = (int)((y + RANGE) * BINS_OF_UNIT);
  h->plane[row * BINS + column] += is_point ? 1 : -p->mass[j];
  if (gap < GAPS) *(is_point ? &h->found[gap] : &h->expected[gap]) += p->mass[j];
  if (is_point && square < *nearest) *nearest = square;
}

static void visit_class(const places *p, int64_t i, int class, double *nearest, histograms *h) {
  const cvtm_cell_list *l = &p->list[class];
  const double radius = RANGE * 0.5 * (p->spacing[i] + p->widest[class]);
  int x0, x1, y0, y1;
  cvtm_cells_near(p->xy[2 * i], radius, l->width, l->columns, p->domain.periodic, &x0, &x1);
  cvtm_cells_near(p->xy[2 * i + 1], radius, l->height, l->rows, p->domain.periodic, &y0, &y1);
  for (int y = y0; y <= y1; ++y) {
    const int64_t row = ((y % l->rows) + l->rows) % l->rows;
    for (int x = x0; x <= x1; ++x) {
      const int64_t cell = row * l->columns + ((x % l->columns) + l->columns) % l->columns;
      for (int64_t k = l->start[cell]; k < l->start[cell + 1]; ++k)
        add_difference(p, i, p->index[class][l->order[k]], nearest, h);
    }
  }
}

static void visit_chunk(const places *p, int chunk, histograms *h) {
  h->least = INFINITY;
  for (int64_t i = p->points * chunk / CHUNKS; i < p->points * (chunk + 1) / CHUNKS; ++i) {
    double nearest = INFINITY;
    for (int c = 0; c < CLASSES; ++c)
      if (p->index[c] != NULL) visit_class(p, i, c, &nearest, h);
    h->least = fmin(h->least, nearest);
    h->sum += sqrt(fmin(nearest, RANGE * RANGE));
  }
}

/* Into all[0]. */
static cvtm_status sum_differences(const places *p, int threads, histograms *all,
                                   cvtm_error *error) {
  for (int c = 0; c < CHUNKS; ++c) {
    all[c].plane = calloc((size_t)BINS * BINS, sizeof *all[c].plane);
    if (all[c].plane == NULL)
      return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a spectrum");
  }
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (int c = 0; c < CHUNKS; ++c) visit_chunk(p, c, &all[c]);
  for (int c = 1; c < CHUNKS; ++c) {
    for (int k = 0; k < BINS * BINS; ++k) all[0].plane[k] += all[c].plane[k];
    for (int k = 0; k < GAPS; ++k) all[0].found[k] += all[c].found[k];
    for (int k = 0; k < GAPS; ++k) all[0].expected[k] += all[c].expected[k];
    all[0].least = fmin(all[0].least, all[c].least);
    all[0].sum += all[c].sum;
  }
  return CVTM_OK;
}

/* --- transform -----------------------------------------------------------------------------------
 */

static double middle_of_bin(int bin) { return (bin + 0.5) / BINS_OF_UNIT - RANGE; }

static double window(double x, double y) {
  const double c = cos(0.5 * CVTM_PI * hypot(x, y) / RANGE);
  return x * x + y * y < RANGE * RANGE ? c * c : 0;
}

/* The factor by which the width of a bin damps a frequency. */
static double bin_transform(double frequency) {
  const double x = CVTM_PI * frequency / BINS_OF_UNIT;
  return x == 0 ? 1 : sin(x) / x;
}

/* The power at frequencies (a, b) / STEPS_OF_UNIT, a, b = -HALF .. HALF: first along rows. */
static cvtm_status transform(const double *plane, int64_t count, double *power, cvtm_error *error) {
  double *rows = calloc(2 * (size_t)BINS * FREQUENCIES, sizeof *rows);
  if (rows == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a spectrum");
  for (int a = 0; a < FREQUENCIES; ++a) {
    for (int x = 0; x < BINS; ++x) {
      const double px = middle_of_bin(x);
      const double turn = 2 * CVTM_PI * (a - HALF) / STEPS_OF_UNIT * px;
      const double c = cos(turn), s = sin(turn);
      for (int y = 0; y < BINS; ++y) {
        const double value = plane[y * BINS + x] * window(px, middle_of_bin(y));
        rows[2 * (a * BINS + y)] += value * c;
        rows[2 * (a * BINS + y) + 1] += value * s;
      }
    }
  }
  for (int b = 0; b < FREQUENCIES; ++b) {
    for (int a = 0; a < FREQUENCIES; ++a) {
      double sum = 0;
      for (int y = 0; y < BINS; ++y) {
        const double turn = 2 * CVTM_PI * (b - HALF) / STEPS_OF_UNIT * middle_of_bin(y);
        sum += rows[2 * (a * BINS + y)] * cos(turn) - rows[2 * (a * BINS + y) + 1] * sin(turn);
      }
      power[b * FREQUENCIES + a] =
          1 + sum / ((double)count * bin_transform((double)(a - HALF) / STEPS_OF_UNIT) *
                     bin_transform((double)(b - HALF) / STEPS_OF_UNIT));
    }
  }
  free(rows);
  return CVTM_OK;
}

/* --- the spectrum --------------------------------------------------------------------------------
 */

static cvtm_status allocate_spectrum(cvtm_spectrum *s, cvtm_error *error) {
  s->rings = CVTM_SPECTRUM_FREQUENCY * STEPS_OF_UNIT;
  s->step = 1.0 / STEPS_OF_UNIT;
  s->side = 2 * CVTM_SPECTRUM_SHOWN * STEPS_OF_UNIT + 1;
  s->gaps = GAPS;
  s->gap = (double)RANGE / GAPS;
  s->power = calloc((size_t)s->rings, sizeof *s->power);
  s->anisotropy = malloc((size_t)s->rings * sizeof *s->anisotropy);
  s->picture = calloc((size_t)(s->side * s->side), sizeof *s->picture);
  s->correlation = calloc((size_t)s->gaps, sizeof *s->correlation);
  if (s->power && s->anisotropy && s->picture && s->correlation) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a spectrum");
}

static void finish_power(cvtm_spectrum *s, const double *power) {
  int64_t number[HALF] = {0};
  double scatter[HALF], low = 0;
  int64_t low_number = 0;
  for (int b = -HALF; b <= HALF; ++b) {
    for (int a = -HALF; a <= HALF; ++a) {
      const double value = power[(b + HALF) * FREQUENCIES + a + HALF];
      const int64_t ring = (int64_t)hypot(a, b), middle = s->side / 2;
      if (a == 0 && b == 0) continue;
      if (labs(a) <= middle && labs(b) <= middle)
        s->picture[(b + middle) * s->side + a + middle] = value;
      if (ring >= s->rings) continue;
      s->power[ring] += value;
      ++number[ring];
      if (2 * hypot(a, b) > STEPS_OF_UNIT) continue;
      low += value;
      ++low_number;
    }
  }
  for (int64_t k = 0; k < s->rings; ++k) {
    s->power[k] = number[k] > 0 ? s->power[k] / (double)number[k] : NAN;
    s->anisotropy[k] = NAN;
    scatter[k] = 0;
  }
  s->low_power = low / (double)low_number;
  s->mean_anisotropy = NAN;
  s->dispersion = NAN;
  cvtm_spectrum_find_figures(s, number, scatter);
}

static void finish_distances(cvtm_spectrum *s, const histograms *h) {
  const double hexagonal = sqrt(2 / sqrt(3.0));
  for (int k = 0; k < GAPS; ++k)
    s->correlation[k] = h->expected[k] > 0 ? h->found[k] / h->expected[k] : NAN;
  s->least_distance = sqrt(h->least) / hexagonal;
  s->mean_distance = h->sum / (double)s->count / hexagonal;
}

static cvtm_status compute_spectrum(const places *p, int threads, cvtm_spectrum *s,
                                    cvtm_error *error) {
  histograms *all = calloc(CHUNKS, sizeof *all);
  double *power = malloc((size_t)FREQUENCIES * FREQUENCIES * sizeof *power);
  cvtm_status status = CVTM_OK;
  if (all == NULL || power == NULL)
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a spectrum");
  if (status == CVTM_OK) status = allocate_spectrum(s, error);
  if (status == CVTM_OK) status = sum_differences(p, threads, all, error);
  if (status == CVTM_OK) status = transform(all[0].plane, p->points, power, error);
  if (status == CVTM_OK) {
    finish_power(s, power);
    finish_distances(s, &all[0]);
  }
  for (int c = 0; c < CHUNKS && all != NULL; ++c) free(all[c].plane);
  free(all);
  free(power);
  return status;
}

cvtm_status cvtm_spectrum_compute_graded(cvtm_domain domain, const float *density,
                                         const double *points, int64_t count, int threads,
                                         cvtm_spectrum *spectrum, cvtm_error *error) {
  const int64_t most = (int64_t)1 << 22;
  places p = {.domain = domain, .points = count};
  memset(spectrum, 0, sizeof *spectrum);
  if (count < 2 || count > most)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "a spectrum of %lld points; 2 to %lld",
                     (long long)count, (long long)most);
  if (threads < 1) threads = omp_get_max_threads();
  spectrum->count = count;
  spectrum->spacing = sqrt((double)domain.width * domain.height / (double)count);
  cvtm_status status = make_places(&p, density, points, threads, error);
  if (status == CVTM_OK) status = compute_spectrum(&p, threads, spectrum, error);
  free_places(&p);
  if (status != CVTM_OK) cvtm_spectrum_free(spectrum);
  return status;
}

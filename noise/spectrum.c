#include "noise/spectrum.h"

#include "base/portable.h"
#include "noise/figures.h"
#include "noise/fourier.h"
#include "noise/pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RINGS_MAX = 2400, SIDE_MAX = 257, MODES = CVTM_FOURIER_MODES };

/* The sums over the frequencies of one half of the plane. */
typedef struct tally {
  cvtm_spectrum *spectrum;
  double period[2]; /* sides of the domain in units of the spacing */
  int64_t most[2];  /* the largest whole frequencies */
  double *square;   /* of each ring: sum of P^2 */
  int64_t *number;  /* of each ring: frequencies */
  double *cell_sum; /* of the picture */
  int64_t *cell_number;
  double low_sum;
  int64_t low_number;
  /* Hann's window, where the domain is no torus: */
  int windowed;
  double density; /* points in it, 0 for a torus */
} tally;

/* --- points and window --------------------------------------------------------------------------
 */

/* The points in periods, and their weights; NULL for a torus. The weights' squares sum to 1. */
static cvtm_status weigh_points(cvtm_domain domain, const double *points, int64_t count,
                                double **places, double **weight, cvtm_error *error) {
  const double side[2] = {domain.width, domain.height};
  *places = malloc(2 * (size_t)count * sizeof **places);
  *weight = domain.periodic ? NULL : malloc((size_t)count * sizeof **weight);
  if (*places == NULL || (*weight == NULL && !domain.periodic))
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for %lld points", (long long)count);
  for (int64_t k = 0; k < 2 * count; ++k) (*places)[k] = points[k] / side[k % 2];
  double sum = 0;
  for (int64_t i = 0; i < count && *weight != NULL; ++i) {
    const double a = sin(CVTM_PI * (*places)[2 * i]), b = sin(CVTM_PI * (*places)[2 * i + 1]);
    (*weight)[i] = a * a * b * b;
    sum += (*weight)[i] * (*weight)[i];
  }
  for (int64_t i = 0; i < count && sum > 0 && *weight != NULL; ++i) (*weight)[i] /= sqrt(sum);
  return CVTM_OK;
}

/* The transform of sin^2(pi x) on [0, 1] at a whole frequency. */
static double window_transform(int64_t k) { return k == 0 ? 0.5 : k == 1 || k == -1 ? -0.25 : 0; }

/* The power at (k, l) from the sum over the points. */
static double power_of(const tally *t, int64_t k, int64_t l, cvtm_complex sum) {
  if (t->windowed) sum.re -= t->density * window_transform(k) * window_transform(l);
  const double square = sum.re * sum.re + sum.im * sum.im;
  return t->windowed ? square : square / (double)t->spectrum->count;
}

/* --- sums over frequencies ----------------------------------------------------------------------
 */

static void add_to_picture(tally *t, double fx, double fy, double power) {
  const cvtm_spectrum *s = t->spectrum;
  const double scale = (double)s->side / (2.0 * CVTM_SPECTRUM_SHOWN + s->step);
  const int64_t middle = s->side / 2;
  for (int sign = -1; sign <= 1; sign += 2) {
    const int64_t i = middle + (int64_t)floor(sign * fx * scale + 0.5);
    const int64_t j = middle + (int64_t)floor(sign * fy * scale + 0.5);
    if (i < 0 || i >= s->side || j < 0 || j >= s->side) continue;
    t->cell_sum[j * s->side + i] += power;
    ++t->cell_number[j * s->side + i];
  }
}

static void add_frequency(tally *t, int64_t k, int64_t l, cvtm_complex sum) {
  cvtm_spectrum *s = t->spectrum;
  const double fx = (double)k / t->period[0], fy = (double)l / t->period[1];
  const double frequency = hypot(fx, fy);
  const int64_t ring = (int64_t)(frequency / s->step);
  if (ring >= s->rings) return;
  const double power = power_of(t, k, l, sum);
  s->power[ring] += power;
  t->square[ring] += power * power;
  ++t->number[ring];
  if (frequency <= 0.5) {
    t->low_sum += power;
    ++t->low_number;
  }
  add_to_picture(t, fx, fy, power);
}

/* Adds the frequencies of one transform: first + stride (a, b), of the half plane l > 0, and k > 0
 * where l = 0. */
static void add_frequencies(tally *t, const int64_t first[2], const int64_t stride[2],
                            const cvtm_complex *sums) {
  for (int64_t b = 0; b < MODES; ++b) {
    const int64_t l = first[1] + b * stride[1];
    if (l > t->most[1]) break;
    for (int64_t a = 0; a < MODES; ++a) {
      const int64_t k = first[0] + a * stride[0];
      if (k > t->most[0]) break;
      if (l > 0 || k > 0) add_frequency(t, k, l, sums[b * MODES + a]);
    }
  }
}

static cvtm_status sum_frequencies(tally *t, const double *places, const double *weight,
                                   int threads, cvtm_error *error) {
  /* Each transform takes every stride-th frequency; the remainders one after the other. */
  const int64_t stride[2] = {2 * t->most[0] / MODES + 1, t->most[1] / MODES + 1};
  cvtm_fourier *fourier = NULL;
  cvtm_complex *sums = malloc((size_t)MODES * MODES * sizeof *sums);
  cvtm_status status = CVTM_OK;
  if (sums == NULL) status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a spectrum");
  if (status == CVTM_OK)
    status =
        cvtm_fourier_create(places, weight, t->spectrum->count, stride, threads, &fourier, error);
  for (int64_t y = 0; y < stride[1] && status == CVTM_OK; ++y) {
    for (int64_t x = 0; x < stride[0]; ++x) {
      const int64_t first[2] = {x - t->most[0], y};
      cvtm_fourier_transform(fourier, first, sums);
      add_frequencies(t, first, stride, sums);
    }
  }
  cvtm_fourier_destroy(fourier);
  free(sums);
  return status;
}

/* --- figures ------------------------------------------------------------------------------------
 */

/* Turns sums into means. The scatter of a ring's mean is its variance over the number. */
static void finish_rings(tally *t, double *scatter) {
  cvtm_spectrum *s = t->spectrum;
  for (int64_t k = 0; k < s->rings; ++k) {
    const double number = (double)t->number[k];
    const double mean = s->power[k] / number;
    const double variance = (t->square[k] - number * mean * mean) / (number - 1);
    s->power[k] = t->number[k] > 0 ? mean : NAN;
    s->anisotropy[k] = t->number[k] > 1 ? fmax(variance, 0) / (mean * mean) : NAN;
    scatter[k] = t->number[k] > 1 ? fmax(variance, 0) / number : NAN;
  }
  for (int64_t p = 0; p < s->side * s->side; ++p)
    s->picture[p] = t->cell_number[p] > 0 ? t->cell_sum[p] / (double)t->cell_number[p] : 0;
}

/* The largest frequency up to which the mean power is below 0.1, before it passes 0.5. */
static double effective_nyquist(const cvtm_spectrum *s, const int64_t *number) {
  double sum = 0, found = 0;
  int64_t total = 0;
  for (int64_t k = 0; k < s->rings; ++k) {
    if (number[k] == 0) continue;
    sum += s->power[k] * (double)number[k];
    total += number[k];
    if (sum < 0.1 * (double)total) found = (double)(k + 1) * s->step;
    if (sum > 0.5 * (double)total && (double)k * s->step >= 0.5) break;
  }
  return found;
}

/* Means over rings that are weighted by their area. */
static double oscillation(const cvtm_spectrum *s, const double *scatter) {
  const double width = 5;
  int64_t first = 0;
  while (first < s->rings && !(s->power[first] >= 0.98)) ++first;
  const double end = fmin((double)first * s->step + width, CVTM_SPECTRUM_FREQUENCY);
  double sum = 0, area = 0;
  for (int64_t k = first; k < s->rings && ((double)k + 0.5) * s->step < end; ++k) {
    if (isnan(scatter[k])) continue;
    const double off = s->power[k] - 1;
    sum += (off * off - scatter[k]) * ((double)k + 0.5);
    area += (double)k + 0.5;
  }
  return area > 0 ? 10 * sqrt(fmax(sum, 0) / area) : NAN;
}

/* The mean at frequencies from 1/2 to 2, in decibels. */
static double mean_anisotropy(const cvtm_spectrum *s) {
  double sum = 0;
  int64_t number = 0;
  for (int64_t k = 0; k < s->rings; ++k) {
    const double frequency = ((double)k + 0.5) * s->step;
    if (frequency < 0.5 || frequency > 2 || isnan(s->anisotropy[k])) continue;
    sum += 10 * log10(fmax(s->anisotropy[k], 1e-30));
    ++number;
  }
  return number > 0 ? sum / (double)number : NAN;
}

void cvtm_spectrum_find_figures(cvtm_spectrum *s, const int64_t *number, const double *scatter) {
  s->effective_nyquist = effective_nyquist(s, number);
  s->oscillation = oscillation(s, scatter);
  s->peak_power = 0;
  for (int64_t k = 0; k < s->rings; ++k)
    if (s->power[k] > s->peak_power) s->peak_power = s->power[k];
}

/* --- the whole ----------------------------------------------------------------------------------
 */

static cvtm_status allocate_tally(tally *t, double **scatter, cvtm_error *error) {
  cvtm_spectrum *s = t->spectrum;
  const size_t rings = (size_t)s->rings, cells = (size_t)(s->side * s->side);
  s->power = calloc(rings, sizeof *s->power);
  s->anisotropy = calloc(rings, sizeof *s->anisotropy);
  s->picture = calloc(cells, sizeof *s->picture);
  t->square = calloc(rings, sizeof *t->square);
  t->number = calloc(rings, sizeof *t->number);
  t->cell_sum = calloc(cells, sizeof *t->cell_sum);
  t->cell_number = calloc(cells, sizeof *t->cell_number);
  *scatter = calloc(rings, sizeof **scatter);
  if (s->power && s->anisotropy && s->picture && t->square && t->number && t->cell_sum &&
      t->cell_number && *scatter)
    return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a spectrum");
}

/* Chooses the width of rings, which is the distance of frequencies, and the side of the picture.
 */
static void choose_sizes(tally *t, cvtm_domain domain) {
  cvtm_spectrum *s = t->spectrum;
  const double root = sqrt((double)s->count);
  s->spacing = sqrt((double)domain.width * domain.height) / root;
  t->period[0] = domain.width / s->spacing;
  t->period[1] = domain.height / s->spacing;
  for (int axis = 0; axis < 2; ++axis)
    t->most[axis] = (int64_t)(CVTM_SPECTRUM_FREQUENCY * t->period[axis]);
  s->rings = (int64_t)ceil(fmin(CVTM_SPECTRUM_FREQUENCY * root, RINGS_MAX));
  s->step = CVTM_SPECTRUM_FREQUENCY / (double)s->rings;
  const int64_t half = (int64_t)(CVTM_SPECTRUM_SHOWN * fmin(t->period[0], t->period[1]));
  s->side = 2 * half + 1 < SIDE_MAX ? 2 * half + 1 : SIDE_MAX;
  t->windowed = !domain.periodic;
}

/* The number of points over the root of the sum of squared weights: what the window's transform is
 * multiplied by. */
static void find_density(tally *t, const double *weight) {
  double sum = 0;
  for (int64_t i = 0; i < t->spectrum->count && weight != NULL; ++i) sum += weight[i];
  t->density = 4 * sum; /* the window's integral is 1/4 */
}

static cvtm_status compute_power(cvtm_domain domain, const double *points, int threads,
                                 cvtm_spectrum *s, cvtm_error *error) {
  tally t = {.spectrum = s};
  double *places = NULL, *weight = NULL, *scatter = NULL;
  choose_sizes(&t, domain);
  cvtm_status status = allocate_tally(&t, &scatter, error);
  if (status == CVTM_OK) status = weigh_points(domain, points, s->count, &places, &weight, error);
  if (status == CVTM_OK) {
    find_density(&t, weight);
    status = sum_frequencies(&t, places, weight, threads, error);
  }
  if (status == CVTM_OK) {
    finish_rings(&t, scatter);
    s->low_power = t.low_number > 0 ? t.low_sum / (double)t.low_number : NAN;
    s->mean_anisotropy = mean_anisotropy(s);
    cvtm_spectrum_find_figures(s, t.number, scatter);
  }
  free(t.square);
  free(t.number);
  free(t.cell_sum);
  free(t.cell_number);
  free(scatter);
  free(places);
  free(weight);
  return status;
}

cvtm_status cvtm_spectrum_compute(cvtm_domain domain, const double *points, int64_t count,
                                  int threads, cvtm_spectrum *spectrum, cvtm_error *error) {
  const int64_t most = (int64_t)1 << 22;
  memset(spectrum, 0, sizeof *spectrum);
  if (count < 2 || count > most)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "a spectrum of %lld points; 2 to %lld",
                     (long long)count, (long long)most);
  spectrum->count = count;
  cvtm_status status = compute_power(domain, points, threads, spectrum, error);
  if (status == CVTM_OK) status = cvtm_pairs_measure(domain, points, threads, spectrum, error);
  if (status != CVTM_OK) cvtm_spectrum_free(spectrum);
  return status;
}

void cvtm_spectrum_free(cvtm_spectrum *spectrum) {
  free(spectrum->power);
  free(spectrum->anisotropy);
  free(spectrum->picture);
  free(spectrum->correlation);
  memset(spectrum, 0, sizeof *spectrum);
}

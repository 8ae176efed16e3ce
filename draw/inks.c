#include "draw/inks.h"

#include "base/srgb.h"
#include "draw/oklab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void cvtm_inks_cmyk(cvtm_inks *inks) {
  static const unsigned char process[4][3] = {
      {0, 174, 239}, {236, 0, 140}, {255, 242, 0}, {0, 0, 0}};
  inks->count = 4;
  for (int k = 0; k < 4; ++k)
    for (int c = 0; c < 3; ++c) inks->colour[k][c] = cvtm_srgb_to_linear(process[k][c] / 255.0);
}

void cvtm_inks_mix(const cvtm_inks *inks, const double *coverage, double rgb[3]) {
  for (int c = 0; c < 3; ++c) {
    rgb[c] = 1;
    for (int k = 0; k < inks->count; ++k) rgb[c] *= 1 - coverage[k] * (1 - inks->colour[k][c]);
  }
}

/* --- separation of one colour --- */

/* The metric of OKLab at a colour: `metric` = J'J for the Jacobian J of OKLab by linear light. The
 * colour is first lightened a little, because J is infinite at black. */
static void find_metric(const double rgb[3], double metric[3][3]) {
  static const double cone[3][3] = {{0.4122214708, 0.5363325363, 0.0514459929},
                                    {0.2119034982, 0.6806995451, 0.1073969566},
                                    {0.0883024619, 0.2817188376, 0.6299787005}};
  static const double lab[3][3] = {{0.2104542553, 0.7936177850, -0.0040720468},
                                   {1.9779984951, -2.4285922050, 0.4505937099},
                                   {0.0259040371, 0.7827717662, -0.8086757660}};
  const double lightened = 0.03;
  double jacobian[3][3] = {{0}};
  for (int i = 0; i < 3; ++i) {
    double response = lightened;
    for (int c = 0; c < 3; ++c) response += cone[i][c] * rgb[c];
    const double slope = 1 / (3 * pow(response, 2.0 / 3));
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 3; ++c) jacobian[r][c] += lab[r][i] * slope * cone[i][c];
  }
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b) {
      metric[a][b] = 0;
      for (int r = 0; r < 3; ++r) metric[a][b] += jacobian[r][a] * jacobian[r][b];
    }
}

static double product(double metric[3][3], const double a[3], const double b[3]) {
  double sum = 0;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) sum += a[i] * metric[i][j] * b[j];
  return sum;
}

static double square(double x) { return x * x; }

/* cost[k]: how much dots of ink k vary the lightness around a colour. */
static void find_costs(const cvtm_inks *inks, const double rgb[3], double *cost) {
  const double lightness = cvtm_oklab_of_linear(rgb).l;
  for (int k = 0; k < inks->count; ++k)
    cost[k] = square(cvtm_oklab_of_linear(inks->colour[k]).l - lightness);
}

/* Coverages that change one by one, and their mixed colour. */
typedef struct mixture {
  const cvtm_inks *inks;
  double *coverage;
  double rgb[3];
} mixture;

static double light_through(const mixture *m, int k, int c) {
  return 1 - m->coverage[k] * (1 - m->inks->colour[k][c]);
}

/* The colour without ink k. */
static void mix_without(const mixture *m, int k, double without[3]) {
  const double safe = 1e-3; /* divisors */
  for (int c = 0; c < 3; ++c) {
    const double light = light_through(m, k, c);
    without[c] = 1;
    if (light > safe) without[c] = m->rgb[c] / light;
    for (int j = 0; light <= safe && j < m->inks->count; ++j)
      if (j != k) without[c] *= light_through(m, j, c);
  }
}

/* The colour is linear in the coverage of ink k: rgb = without - coverage * slope. Sets the
 * coverage to the minimum of the squared distance to `wanted` in the metric plus weight *
 * coverage^2 - 2 * pull * coverage, and returns the change. */
static double move_coverage(mixture *m, int k, const double wanted[3], double metric[3][3],
                            double weight, double pull) {
  double without[3], slope[3], rest[3];
  mix_without(m, k, without);
  for (int c = 0; c < 3; ++c) {
    slope[c] = without[c] * (1 - m->inks->colour[k][c]);
    rest[c] = without[c] - wanted[c];
  }
  const double before = m->coverage[k];
  const double best =
      (product(metric, slope, rest) + pull) / (product(metric, slope, slope) + weight);
  m->coverage[k] = fmin(fmax(best, 0), 1);
  for (int c = 0; c < 3; ++c) m->rgb[c] = without[c] * light_through(m, k, c);
  return fabs(m->coverage[k] - before);
}

/* Minimises by one coverage after the other: each minimum is that of a parabola. The weights of
 * variation and ink choose among the mixtures first, while they still cost some of the colour, and
 * then fade: from there the colour is found near that choice. */
static void separate(const cvtm_inks *inks, const double rgb[3], int stages, double *coverage) {
  enum { SWEEPS = 400 };
  const double variation_weight = 0.02, ink_weight = 5e-4, fading = 0.25, close = 1e-5;
  double metric[3][3], cost[CVTM_INKS_MAX], weight = 1;
  mixture m = {inks, coverage, {1, 1, 1}};
  find_metric(rgb, metric);
  find_costs(inks, rgb, cost);
  for (int k = 0; k < inks->count; ++k) coverage[k] = 0;
  for (int stage = 0; stage < stages; ++stage, weight *= fading) {
    double largest = 1;
    for (int sweep = 0; sweep < SWEEPS && largest > close; ++sweep) {
      largest = 0;
      for (int k = 0; k < inks->count; ++k)
        largest = fmax(largest, move_coverage(&m, k, rgb, metric, weight * ink_weight,
                                              -0.5 * weight * variation_weight * cost[k]));
    }
  }
}

void cvtm_inks_separate_colour(const cvtm_inks *inks, const double rgb[3], double *coverage) {
  separate(inks, rgb, 5, coverage);
}

void cvtm_inks_separate_roughly(const cvtm_inks *inks, const double rgb[3], double *coverage) {
  separate(inks, rgb, 1, coverage);
}

/* The same with the weighted squares of changes as costs. */
static void adjust_colour(const cvtm_inks *inks, const double rgb[3], const double *first,
                          double *coverage) {
  enum { SWEEPS = 8 };
  const double change_weight = 0.005, none = 1e-3;
  double metric[3][3];
  mixture m = {inks, coverage, {1, 1, 1}};
  find_metric(rgb, metric);
  for (int k = 0; k < inks->count; ++k) coverage[k] = first[k];
  cvtm_inks_mix(inks, coverage, m.rgb);
  for (int sweep = 0; sweep < SWEEPS; ++sweep)
    for (int k = 0; k < inks->count; ++k)
      if (first[k] >= none)
        (void)move_coverage(&m, k, rgb, metric, change_weight / first[k], change_weight);
}

void cvtm_inks_adjust(const cvtm_inks *inks, const float *rgb, int64_t pixels, float *const *first,
                      float *const *adjusted) {
#pragma omp parallel for schedule(dynamic, 4096)
  for (int64_t p = 0; p < pixels; ++p) {
    const double colour[3] = {(double)rgb[p], (double)rgb[pixels + p], (double)rgb[2 * pixels + p]};
    double before[CVTM_INKS_MAX], after[CVTM_INKS_MAX];
    for (int k = 0; k < inks->count; ++k) before[k] = (double)first[k][p];
    adjust_colour(inks, colour, before, after);
    for (int k = 0; k < inks->count; ++k) adjusted[k][p] = (float)after[k];
  }
}

/* --- the cube of colours --- */

enum { SIDE = 33 };

/* node[((r * SIDE + g) * SIDE + b) * count + k]; r, g, b: by steps of the sRGB values. */
static void fill_cube(const cvtm_inks *inks, float *node) {
#pragma omp parallel for schedule(dynamic, SIDE)
  for (int i = 0; i < SIDE * SIDE * SIDE; ++i) {
    const int step[3] = {i / (SIDE * SIDE), i / SIDE % SIDE, i % SIDE};
    double rgb[3], coverage[CVTM_INKS_MAX];
    for (int c = 0; c < 3; ++c) rgb[c] = cvtm_srgb_to_linear(step[c] / (SIDE - 1.0));
    cvtm_inks_separate_colour(inks, rgb, coverage);
    for (int k = 0; k < inks->count; ++k) node[(int64_t)i * inks->count + k] = (float)coverage[k];
  }
}

/* Trilinear interpolation. */
static void look_up(const float *node, int count, const double rgb[3], double *coverage) {
  int low[3];
  double part[3];
  for (int c = 0; c < 3; ++c) {
    const double at = (SIDE - 1) * cvtm_linear_to_srgb(fmin(fmax(rgb[c], 0), 1));
    low[c] = at < SIDE - 2 ? (int)at : SIDE - 2;
    part[c] = at - low[c];
  }
  for (int k = 0; k < count; ++k) coverage[k] = 0;
  for (int corner = 0; corner < 8; ++corner) {
    double weight = 1;
    int64_t at = 0;
    for (int c = 0; c < 3; ++c) {
      const int up = corner >> c & 1;
      weight *= up ? part[c] : 1 - part[c];
      at = at * SIDE + low[c] + up;
    }
    const float *from = node + at * count;
    for (int k = 0; k < count; ++k) coverage[k] += weight * (double)from[k];
  }
}

cvtm_status cvtm_inks_separate(const cvtm_inks *inks, const float *rgb, int64_t pixels,
                               float *const *coverage, cvtm_error *error) {
  float *node = malloc((size_t)SIDE * SIDE * SIDE * (size_t)inks->count * sizeof *node);
  if (node == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory to separate colours");
  fill_cube(inks, node);
#pragma omp parallel for schedule(static)
  for (int64_t p = 0; p < pixels; ++p) {
    const double colour[3] = {(double)rgb[p], (double)rgb[pixels + p], (double)rgb[2 * pixels + p]};
    double share[CVTM_INKS_MAX];
    look_up(node, inks->count, colour, share);
    for (int k = 0; k < inks->count; ++k) coverage[k][p] = (float)share[k];
  }
  free(node);
  return CVTM_OK;
}

/* Inside density only: the computations for one pixel of a field, for both devices, and the table
 * of the phases that differ between devices. Each phase enqueues work on the device's stream. */
#pragma once

#include "base/phases.h"
#include "base/portable.h"
#include "lcp/lcp.h"

#include <math.h>
#include <stdint.h>

CVTM_C_BEGIN

/* A step of the level set. All arrays are in device memory and borrowed. The edges between pixels
 * are laid out as the links of a cvtm_lcp_grid. */
typedef struct cvtm_level_set {
  int64_t width, height;
  double h, per_h2;           /* side of a pixel: 1 / longer side; 1 / h^2 */
  double epsilon, k, tau;     /* regularisation, edge detector, time step */
  double *image, *u, *before; /* shades; u of this step and of the previous step */
  double *next; /* initial guess of the next step, extrapolated from the last two steps */
  double *detector_horizontal, *detector_vertical;  /* g at the edges */
  double *diagonal, *horizontal, *vertical, *right; /* the LCP of the step */
  double *partial;                                  /* CVTM_LEVEL_SUMS * height */
  double *sums;                                     /* CVTM_LEVEL_SUMS */
} cvtm_level_set;

/* Sums over the pixels: the squared change of u, the number of pixels with u < 0, and the mean of g
 * Q over the edges of each pixel. */
enum { CVTM_LEVEL_CHANGE, CVTM_LEVEL_INSIDE, CVTM_LEVEL_ENERGY, CVTM_LEVEL_SUMS };

/* (sign L v) at pixel p = (i, j), where L is the Laplacian with the links of the grid. */
CVTM_HD double cvtm_field_laplacian(const cvtm_lcp_grid *grid, double sign, const double *v,
                                    int64_t i, int64_t j) {
  const int64_t width = grid->width, p = j * width + i;
  const double *h = grid->horizontal ? grid->horizontal + j * (width + 1) + i : NULL;
  double sum = 0;
  if (i > 0) sum += (h ? h[0] : grid->constant) * (v[p] - v[p - 1]);
  if (i + 1 < width) sum += (h ? h[1] : grid->constant) * (v[p] - v[p + 1]);
  if (j > 0) sum += (h ? grid->vertical[p] : grid->constant) * (v[p] - v[p - width]);
  if (j + 1 < grid->height)
    sum += (h ? grid->vertical[p + width] : grid->constant) * (v[p] - v[p + width]);
  return sign * sum;
}

/* The value of v at (i, j), mirrored at the border of the image. */
CVTM_HD double cvtm_field_mirrored(const cvtm_level_set *s, const double *v, int64_t i, int64_t j) {
  i = i < 0 ? 0 : i < s->width ? i : s->width - 1;
  j = j < 0 ? 0 : j < s->height ? j : s->height - 1;
  return v[j * s->width + i];
}

/* |grad v|^2 at the edge between (i - 1, j) and (i, j) or, if vertical, (i, j - 1) and (i, j): by
 * the difference across the edge, and the mean of the two central differences along it. */
CVTM_HD double cvtm_field_slope(const cvtm_level_set *s, const double *v, int64_t i, int64_t j,
                                int vertical) {
  const int64_t a = vertical ? 0 : 1, b = 1 - a; /* across; along */
  const double across = cvtm_field_mirrored(s, v, i, j) - cvtm_field_mirrored(s, v, i - a, j - b);
  const double along =
      0.25 * ((cvtm_field_mirrored(s, v, i + b, j + a) - cvtm_field_mirrored(s, v, i - b, j - a)) +
              (cvtm_field_mirrored(s, v, i - a + b, j - b + a) -
               cvtm_field_mirrored(s, v, i - a - b, j - b - a)));
  return (across * across + along * along) * s->per_h2;
}

CVTM_HD double cvtm_level_q(const cvtm_level_set *s, int64_t i, int64_t j, int vertical) {
  return sqrt(s->epsilon * s->epsilon + cvtm_field_slope(s, s->u, i, j, vertical));
}

/* Sets the edge detector 1 / (1 + K |grad I|^2) at the edges west and north of a pixel; 0 beyond
 * the image. Called for i = 0 .. width, j = 0 .. height. */
CVTM_HD void cvtm_level_detector(const cvtm_level_set *s, int64_t i, int64_t j) {
  if (j < s->height) {
    const int inside = i > 0 && i < s->width;
    s->detector_horizontal[j * (s->width + 1) + i] =
        inside ? 1 / (1 + s->k * cvtm_field_slope(s, s->image, i, j, 0)) : 0;
  }
  if (i < s->width) {
    const int inside = j > 0 && j < s->height;
    s->detector_vertical[j * s->width + i] =
        inside ? 1 / (1 + s->k * cvtm_field_slope(s, s->image, i, j, 1)) : 0;
  }
}

/* Sets Q at the four edges of a pixel: west, east, north, south; 0 beyond the image. Returns the
 * number of edges inside the image. */
CVTM_HD int cvtm_level_edges(const cvtm_level_set *s, int64_t i, int64_t j, double q[4]) {
  int count = 0;
  for (int e = 0; e < 4; ++e) {
    const int vertical = e >= 2;
    const int64_t x = e == 1 ? i + 1 : i, y = e == 3 ? j + 1 : j;
    const int inside = vertical ? y > 0 && y < s->height : x > 0 && x < s->width;
    q[e] = inside ? cvtm_level_q(s, x, y, vertical) : 0;
    count += inside;
  }
  return count;
}

/* Sets the coefficients of h^2 / mean Q u - tau div (g / Q grad u) = h^2 / mean Q u^n for one pixel
 * and the edges west and north of it; edges beyond the image have 0. Adds the pixel's contribution
 * to the sums of the step that led to u. */
CVTM_HD void cvtm_level_advance(const cvtm_level_set *s, int64_t i, int64_t j,
                                double sum[CVTM_LEVEL_SUMS]) {
  const int64_t p = j * s->width + i, west = j * (s->width + 1) + i;
  const double u = s->u[p], change = u - s->before[p];
  const double g_west = s->detector_horizontal[west], g_north = s->detector_vertical[p];
  double q[4];
  const int count = cvtm_level_edges(s, i, j, q);
  const double length = (q[0] + q[1]) + (q[2] + q[3]);
  const double weighted = (g_west * q[0] + s->detector_horizontal[west + 1] * q[1]) +
                          (g_north * q[2] + s->detector_vertical[p + s->width] * q[3]);
  const double b = count > 0 ? s->h * s->h * count / length : s->h * s->h / s->epsilon;
  s->diagonal[p] = b;
  s->right[p] = b * u;
  s->before[p] = u;
  s->next[p] = u + change;
  s->horizontal[west] = i > 0 ? s->tau * g_west / q[0] : 0;
  s->vertical[p] = j > 0 ? s->tau * g_north / q[2] : 0;
  if (i + 1 == s->width) s->horizontal[west + 1] = 0;
  if (j + 1 == s->height) s->vertical[p + s->width] = 0;
  sum[CVTM_LEVEL_CHANGE] += change * change;
  sum[CVTM_LEVEL_INSIDE] += u < 0;
  sum[CVTM_LEVEL_ENERGY] += count > 0 ? weighted / count : 0;
}

CVTM_HD void cvtm_field_displace(const double *v, const double *up, const double *down, double *out,
                                 int64_t p) {
  out[p] = v[p] + up[p] - down[p];
}

CVTM_HD void cvtm_field_at_least(double least, const double *v, double *out, int64_t p) {
  out[p] = fmax(v[p], least);
}

/* The phases of base/phases.h. */
#define CVTM_FIELD_PHASES(X)                                                                     \
  /* Sets out = v + up - down. */                                                                \
  X(displace,                                                                                    \
    (cvtm_device * device, int64_t count, const double *v, const double *up, const double *down, \
     double *out),                                                                               \
    device, count, cvtm_field_displace, v, up, down, out)                                        \
  /* Sets out = max(v, least). */                                                                \
  X(at_least, (cvtm_device * device, int64_t count, double least, const double *v, double *out), \
    device, count, cvtm_field_at_least, least, v, out)

typedef struct cvtm_field_table {
  /* Sets out = sign L v. */
  cvtm_status (*laplacian)(cvtm_device *device, const cvtm_lcp_grid *grid, double sign,
                           const double *v, double *out);
  /* Sets g at all edges of the image. */
  cvtm_status (*detector)(cvtm_device *device, const cvtm_level_set *set);
  /* Sets the LCP of the next step, and the sums of the previous step over all pixels, added in a
   * fixed order. Then copies u to `before`. */
  cvtm_status (*advance)(cvtm_device *device, const cvtm_level_set *set);
  CVTM_FIELD_PHASES(CVTM_PHASE_FIELD)
} cvtm_field_table;

extern const cvtm_field_table cvtm_field_table_cpu, cvtm_field_table_cuda;

CVTM_C_END

/* Inside lbfgsb/problems only: the terms that one node, unknown or atom adds to the value and to
 * the gradient of a MINPACK-2 problem, for both devices. Formulas of Averick, Carter, More & Xue
 * 1992. Each triangle or interval has one node as its owner, which adds its value. */
#pragma once

#include "base/portable.h"
#include "lbfgsb/problems/minpack2.h"

#include <math.h>

/* A problem in the form that kernels use; pointers are to device memory. */
typedef struct cvtm_minpack2_data {
  cvtm_minpack2_kind kind;
  int64_t nx, ny; /* number of nodes; gl1 and lj: nx unknowns or atoms, ny = 1 */
  int dimension;
  double hx, hy;
  double offset; /* constant part of the value. msa: triangles with three boundary nodes; ssc:
                    boundary nodes */
  /* ept, ssc: weights hy/hx and hx/hy of the differences in x and in y; weight of the load. */
  double weight_x, weight_y, load;
  double t1, t2; /* odc: |gradient| where psi changes its form, mu = 1 and 2 */
  double lambda;
  /* gl1: the two materials, N before S. Unknowns first_in_s .. last_in_s - 1 are in S. */
  int64_t first_in_s, last_in_s;
  double h[2], inverse_h[2], third_a[2], tenth_b[2], stiffness; /* inverse_h: 1 / h */
  /* gl2 */
  double kappa2, b_jump; /* b_jump: B(nx, j) - B(0, j) */
  /* Boundary values of the grid: bottom[0 .. nx + 1], top, left[0 .. ny + 1], right. */
  const double *bottom, *top, *left, *right;
  /* pjb: H[0 .. nx], V[0 .. nx], load[0 .. nx]. gl2: cos and sin of phi_j. */
  const double *tables;
  double *partial;
  int32_t *blocks_ended; /* CUDA: see cvtm_last_block */
} cvtm_minpack2_data;

/* Bits for the neighbours of a node that lie on the boundary. */
enum { CVTM_SIDE_LEFT = 1, CVTM_SIDE_RIGHT = 2, CVTM_SIDE_BELOW = 4, CVTM_SIDE_ABOVE = 8 };

/* A node of a triangulated grid, and the six other nodes of its triangles. */
typedef struct cvtm_stencil {
  double centre, left, right, below, above, below_right, above_left;
} cvtm_stencil;

/* The boundary sides next to node (i, j), for i = 1 .. nx and j = 1 .. ny. */
CVTM_HD int cvtm_minpack2_boundary_sides(const cvtm_minpack2_data *data, int64_t i, int64_t j) {
  return (i == 1 ? CVTM_SIDE_LEFT : 0) | (i == data->nx ? CVTM_SIDE_RIGHT : 0) |
         (j == 1 ? CVTM_SIDE_BELOW : 0) | (j == data->ny ? CVTM_SIDE_ABOVE : 0);
}

/* The value at (i, j), i = 0 .. nx + 1, j = 0 .. ny + 1, which includes the boundary. */
CVTM_HD double cvtm_minpack2_at(const cvtm_minpack2_data *data, const double *x, int64_t i,
                                int64_t j) {
  if (j == 0) return data->bottom[i];
  if (j == data->ny + 1) return data->top[i];
  if (i == 0) return data->left[j];
  if (i == data->nx + 1) return data->right[j];
  return x[i - 1 + data->nx * (j - 1)];
}

/* The stencil of a node that is not next to the boundary; x points to the node. */
CVTM_HD cvtm_stencil cvtm_minpack2_inner_stencil(const double *x, int64_t nx) {
  cvtm_stencil s;
  s.centre = x[0];
  s.left = x[-1];
  s.right = x[1];
  s.below = x[-nx];
  s.above = x[nx];
  s.below_right = x[1 - nx];
  s.above_left = x[nx - 1];
  return s;
}

CVTM_HD cvtm_stencil cvtm_minpack2_boundary_stencil(const cvtm_minpack2_data *data, const double *x,
                                                    int64_t i, int64_t j) {
  cvtm_stencil s;
  s.centre = cvtm_minpack2_at(data, x, i, j);
  s.left = cvtm_minpack2_at(data, x, i - 1, j);
  s.right = cvtm_minpack2_at(data, x, i + 1, j);
  s.below = cvtm_minpack2_at(data, x, i, j - 1);
  s.above = cvtm_minpack2_at(data, x, i, j + 1);
  s.below_right = cvtm_minpack2_at(data, x, i + 1, j - 1);
  s.above_left = cvtm_minpack2_at(data, x, i - 1, j + 1);
  return s;
}

/* ept, ssc: Dirichlet's integral with boundary values 0. A node owns the differences to its right
 * and upper neighbours, and those to its left and lower neighbours on the boundary. */
CVTM_HD double cvtm_minpack2_dirichlet(const cvtm_minpack2_data *data, const cvtm_stencil *s,
                                       int sides, double *g) {
  const double v = s->centre, right = s->right - v, above = s->above - v;
  double x = right * right, y = above * above;
  if (sides & CVTM_SIDE_LEFT) x += v * v;
  if (sides & CVTM_SIDE_BELOW) y += v * v;
  *g = data->weight_x * (2.0 * v - s->left - s->right) +
       data->weight_y * (2.0 * v - s->below - s->above);
  return 0.5 * (data->weight_x * x + data->weight_y * y);
}

CVTM_HD double cvtm_minpack2_torsion(const cvtm_minpack2_data *data, const cvtm_stencil *s,
                                     int sides, double *g) {
  const double energy = cvtm_minpack2_dirichlet(data, s, sides, g);
  *g -= data->load;
  return energy - data->load * s->centre;
}

CVTM_HD double cvtm_minpack2_combustion(const cvtm_minpack2_data *data, const cvtm_stencil *s,
                                        int sides, double *g) {
  const double energy = cvtm_minpack2_dirichlet(data, s, sides, g);
  const double heat = data->load * exp(s->centre);
  *g -= heat;
  return energy - heat;
}

/* pjb: the terms of a node in column i, 1 .. nx. */
CVTM_HD double cvtm_minpack2_bearing(const cvtm_minpack2_data *data, const cvtm_stencil *s,
                                     int64_t i, int sides, double *g) {
  const double *h = data->tables, *vertical = h + data->nx + 1, *load = vertical + data->nx + 1;
  const double v = s->centre, right = s->right - v, above = s->above - v;
  double x = h[i] * right * right, y = above * above;
  if (sides & CVTM_SIDE_LEFT) x += h[i - 1] * v * v;
  if (sides & CVTM_SIDE_BELOW) y += v * v;
  *g = h[i] * (v - s->right) + h[i - 1] * (v - s->left) +
       vertical[i] * (2.0 * v - s->below - s->above) - load[i];
  return 0.5 * (x + vertical[i] * y) - load[i] * v;
}

/* msa: the integrand on a triangle with gradient (gx, gy). *rate: its derivative with respect to
 * |gradient|, divided by |gradient|. */
CVTM_HD double cvtm_minpack2_surface(double gx, double gy, double *rate) {
  const double area = sqrt(1.0 + gx * gx + gy * gy);
  *rate = 1.0 / area;
  return area;
}

CVTM_HD double cvtm_minpack2_design(const cvtm_minpack2_data *data, double gx, double gy,
                                    double *rate) {
  const double t = sqrt(gx * gx + gy * gy);
  if (t <= data->t1) {
    *rate = 2.0;
    return t * t;
  }
  if (t < data->t2) {
    *rate = 2.0 * data->t1 / t;
    return 2.0 * data->t1 * t - data->lambda;
  }
  *rate = 1.0;
  return 0.5 * t * t + data->lambda;
}

CVTM_HD double cvtm_minpack2_element(cvtm_minpack2_kind kind, const cvtm_minpack2_data *data,
                                     double gx, double gy, double *rate) {
  return kind == CVTM_MINPACK2_MSA ? cvtm_minpack2_surface(gx, gy, rate)
                                   : cvtm_minpack2_design(data, gx, gy, rate);
}

/* msa, odc: the terms of the six triangles around a node. The node owns the lower triangle to its
 * upper right and the upper triangle to its lower left. It also adds the value of another triangle
 * whose owner would lie on the boundary. */
CVTM_HD double cvtm_minpack2_elements(cvtm_minpack2_kind kind, const cvtm_minpack2_data *data,
                                      const cvtm_stencil *s, int sides, double *g) {
  const double rx = 1.0 / data->hx, ry = 1.0 / data->hy, area = 0.5 * data->hx * data->hy;
  const double left = (s->centre - s->left) * rx, right = (s->right - s->centre) * rx;
  const double below = (s->centre - s->below) * ry, above = (s->above - s->centre) * ry;
  double rate, other;
  double value = cvtm_minpack2_element(kind, data, right, above, &rate);
  double slope = -rate * (right * rx + above * ry);
  value += cvtm_minpack2_element(kind, data, left, below, &rate);
  slope += rate * (left * rx + below * ry);
  other = cvtm_minpack2_element(kind, data, left, (s->above_left - s->left) * ry, &rate);
  slope += rate * left * rx;
  if (sides & CVTM_SIDE_LEFT) value += other;
  other = cvtm_minpack2_element(kind, data, (s->below_right - s->below) * rx, below, &rate);
  slope += rate * below * ry;
  if (sides & CVTM_SIDE_BELOW) value += other;
  other = cvtm_minpack2_element(kind, data, right, (s->right - s->below_right) * ry, &rate);
  slope -= rate * right * rx;
  if (sides & CVTM_SIDE_RIGHT) value += other;
  other = cvtm_minpack2_element(kind, data, (s->above - s->above_left) * rx, above, &rate);
  slope -= rate * above * ry;
  if (sides & CVTM_SIDE_ABOVE) value += other;
  *g = area * slope;
  if (kind == CVTM_MINPACK2_MSA) return area * value;
  *g += data->hx * data->hy;
  return area * value + data->hx * data->hy * s->centre;
}

/* The terms of a node of a problem with one unknown per node. `kind` is a constant in each call. */
CVTM_HD double cvtm_minpack2_node(cvtm_minpack2_kind kind, const cvtm_minpack2_data *data,
                                  const cvtm_stencil *s, int64_t i, int sides, double *g) {
  switch (kind) {
    case CVTM_MINPACK2_EPT:
      return cvtm_minpack2_torsion(data, s, sides, g);
    case CVTM_MINPACK2_PJB:
      return cvtm_minpack2_bearing(data, s, i, sides, g);
    case CVTM_MINPACK2_SSC:
      return cvtm_minpack2_combustion(data, s, sides, g);
    default:
      return cvtm_minpack2_elements(kind, data, s, sides, g);
  }
}

/* gl1: the value and the derivatives of interval i of the periodic chain, where u = x[i] and v =
 * x[i + 1]. */
CVTM_HD double cvtm_minpack2_interval(const cvtm_minpack2_data *data, int64_t i, double u, double v,
                                      double *by_u, double *by_v) {
  const int s = i >= data->first_in_s && i < data->last_in_s;
  const double h = data->h[s], a = data->third_a[s], b = data->tenth_b[s];
  const double slope = (v - u) * data->inverse_h[s];
  const double flux = 2.0 * data->stiffness * slope * data->inverse_h[s];
  const double u2 = u * u, v2 = v * v, uv = u * v;
  *by_u =
      h * (a * (2.0 * u + v) + b * (4.0 * u2 * u + 3.0 * u2 * v + 2.0 * u * v2 + v2 * v) - flux);
  *by_v =
      h * (a * (u + 2.0 * v) + b * (u2 * u + 2.0 * u2 * v + 3.0 * u * v2 + 4.0 * v2 * v) + flux);
  return h * (a * (u2 + uv + v2) + b * (u2 * u2 + u2 * uv + uv * uv + uv * v2 + v2 * v2) +
              data->stiffness * slope * slope);
}

/* gl1: the terms of unknown i, which owns the interval that begins there. */
CVTM_HD double cvtm_minpack2_ring(const cvtm_minpack2_data *data, const double *x, int64_t i,
                                  double *g) {
  const int64_t n = data->nx, before = i > 0 ? i - 1 : n - 1, after = i + 1 < n ? i + 1 : 0;
  double left, right, unused;
  (void)cvtm_minpack2_interval(data, before, x[before], x[i], &unused, &left);
  const double value = cvtm_minpack2_interval(data, i, x[i], x[after], &right, &unused);
  g[i] = left + right;
  return value;
}

/* lj: adds the gradient of a pair with respect to its first atom, and returns the energy of the
 * pair. `away` is the first position minus the second. */
CVTM_HD double cvtm_minpack2_pair(int dimension, const double *away, double *g) {
  double square = 0.0;
  for (int k = 0; k < dimension; ++k) square += away[k] * away[k];
  const double inverse = 1.0 / square, q = inverse * inverse * inverse;
  const double factor = 12.0 * q * (1.0 - q) * inverse;
  for (int k = 0; k < dimension; ++k) g[k] += factor * away[k];
  return q * (q - 2.0);
}

/* gl2: a complex number. */
typedef struct cvtm_complex {
  double re, im;
} cvtm_complex;

CVTM_HD cvtm_complex cvtm_complex_make(double re, double im) {
  cvtm_complex z;
  z.re = re;
  z.im = im;
  return z;
}

CVTM_HD cvtm_complex cvtm_complex_times(cvtm_complex a, cvtm_complex b) {
  return cvtm_complex_make(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}

/* The product of a and the conjugate of a factor of modulus 1, that is, a divided by the factor. */
CVTM_HD cvtm_complex cvtm_complex_times_conjugate(cvtm_complex a, cvtm_complex phase_factor) {
  return cvtm_complex_make(a.re * phase_factor.re + a.im * phase_factor.im,
                           a.im * phase_factor.re - a.re * phase_factor.im);
}

/* gl2: psi at (i, j) for i = 0 .. nx and j = 0 .. ny, by the quasi-periodic boundary conditions. */
CVTM_HD cvtm_complex cvtm_minpack2_psi(const cvtm_minpack2_data *data, const double *x, int64_t i,
                                       int64_t j) {
  const int64_t count = data->nx * data->ny;
  if (j == data->ny) j = 0;
  const int64_t k = (i == data->nx ? 0 : i) + data->nx * j;
  const cvtm_complex psi = cvtm_complex_make(x[k], x[count + k]);
  if (i < data->nx) return psi;
  return cvtm_complex_times(psi, cvtm_complex_make(data->tables[2 * j], data->tables[2 * j + 1]));
}

/* gl2: the covariant difference along a link of length h with potential a: `next` minus `centre`
 * times *carrier = e^(i h a). angle: h a. */
CVTM_HD cvtm_complex cvtm_minpack2_link(cvtm_complex centre, cvtm_complex next, double angle,
                                        cvtm_complex *carrier) {
  *carrier = cvtm_complex_make(cos(angle), sin(angle));
  const cvtm_complex carried = cvtm_complex_times(centre, *carrier);
  return cvtm_complex_make(next.re - carried.re, next.im - carried.im);
}

/* gl2: the covariant difference along link (i, j) in x (vertical = 0) or y (vertical = 1), i = 0 ..
 * nx - 1, j = 0 .. ny - 1. */
CVTM_HD cvtm_complex cvtm_minpack2_difference(const cvtm_minpack2_data *data, const double *x,
                                              int64_t i, int64_t j, int vertical,
                                              cvtm_complex *carrier) {
  const int64_t count = data->nx * data->ny, k = i + data->nx * j;
  const double angle = vertical ? data->hy * x[3 * count + k] : data->hx * x[2 * count + k];
  return cvtm_minpack2_link(cvtm_minpack2_psi(data, x, i, j),
                            cvtm_minpack2_psi(data, x, i + !vertical, j + vertical), angle,
                            carrier);
}

/* gl2: the curl of the potential (A, B) in the cell of node (i, j). */
CVTM_HD double cvtm_minpack2_curl(const cvtm_minpack2_data *data, const double *x, int64_t i,
                                  int64_t j) {
  const int64_t count = data->nx * data->ny, k = i + data->nx * j;
  const double *a = x + 2 * count, *b = a + count;
  const double right = i + 1 < data->nx ? b[k + 1] : b[data->nx * j] + data->b_jump;
  const double above = j + 1 < data->ny ? a[k + data->nx] : a[i];
  return (right - b[k]) / data->hx - (above - a[k]) / data->hy;
}

/* gl2: node (i, j), from (0, 0). Writes four components of the gradient; returns the value. */
CVTM_HD double cvtm_minpack2_vortex(const cvtm_minpack2_data *data, const double *x, int64_t i,
                                    int64_t j, double *g) {
  const int64_t nx = data->nx, ny = data->ny, count = nx * ny, k = i + nx * j;
  const int64_t before = i > 0 ? i - 1 : nx - 1, under = j > 0 ? j - 1 : ny - 1;
  const double share = 1.0 / (double)count;
  const double px = 2.0 * share / (data->hx * data->hx), py = 2.0 * share / (data->hy * data->hy);
  const cvtm_complex psi = cvtm_complex_make(x[k], x[count + k]);
  const double square = psi.re * psi.re + psi.im * psi.im;
  cvtm_complex to_right, to_above, unused;
  const cvtm_complex dx = cvtm_minpack2_difference(data, x, i, j, 0, &to_right);
  const cvtm_complex dy = cvtm_minpack2_difference(data, x, i, j, 1, &to_above);
  cvtm_complex left = cvtm_minpack2_difference(data, x, before, j, 0, &unused);
  const cvtm_complex below = cvtm_minpack2_difference(data, x, i, under, 1, &unused);
  if (i == 0) {
    left = cvtm_complex_times_conjugate(
        left, cvtm_complex_make(data->tables[2 * j], data->tables[2 * j + 1]));
  }
  const cvtm_complex back_x = cvtm_complex_times_conjugate(dx, to_right);
  const cvtm_complex back_y = cvtm_complex_times_conjugate(dy, to_above);
  const double bulk = 2.0 * share * (square - 1.0);
  g[k] = bulk * psi.re + px * (left.re - back_x.re) + py * (below.re - back_y.re);
  g[count + k] = bulk * psi.im + px * (left.im - back_x.im) + py * (below.im - back_y.im);

  const double curl = cvtm_minpack2_curl(data, x, i, j), field = 2.0 * data->kappa2 * share;
  const double curl_below = cvtm_minpack2_curl(data, x, i, under);
  const double curl_left = cvtm_minpack2_curl(data, x, before, j);
  const cvtm_complex right = cvtm_complex_times(psi, to_right);
  const cvtm_complex above = cvtm_complex_times(psi, to_above);
  g[2 * count + k] = field * (curl - curl_below) / data->hy +
                     data->hx * px * (dx.re * right.im - dx.im * right.re);
  g[3 * count + k] =
      field * (curl_left - curl) / data->hx + data->hy * py * (dy.re * above.im - dy.im * above.re);
  return share * (-square + 0.5 * square * square + data->kappa2 * curl * curl) +
         0.5 * px * (dx.re * dx.re + dx.im * dx.im) + 0.5 * py * (dy.re * dy.re + dy.im * dy.im);
}

/* The terms of node (i, j), from (0, 0), of a grid. `kind` is a constant in each call. */
CVTM_HD double cvtm_minpack2_grid_node(cvtm_minpack2_kind kind, const cvtm_minpack2_data *data,
                                       const double *x, int64_t i, int64_t j, double *g) {
  if (kind == CVTM_MINPACK2_GL2) return cvtm_minpack2_vortex(data, x, i, j, g);
  const int64_t k = i + data->nx * j;
  const int sides = cvtm_minpack2_boundary_sides(data, i + 1, j + 1);
  const cvtm_stencil s = sides ? cvtm_minpack2_boundary_stencil(data, x, i + 1, j + 1)
                               : cvtm_minpack2_inner_stencil(x + k, data->nx);
  return cvtm_minpack2_node(kind, data, &s, i + 1, sides, g + k);
}

/* --- what differs between devices ------------------------------------------------------------- */

CVTM_C_BEGIN

typedef struct cvtm_minpack2_table {
  /* The number of parts of an evaluation, which depends only on the sizes, not on the machine. */
  int64_t (*parts)(const cvtm_minpack2_data *data);
  /* Computes f[0] and g[n] at x[n]. data->partial: for all parts; data->blocks_ended: 0. */
  cvtm_status (*evaluate)(cvtm_device *device, const cvtm_minpack2_data *data, const double *x,
                          double *f, double *g, void *stream);
} cvtm_minpack2_table;

extern const cvtm_minpack2_table cvtm_minpack2_table_cpu, cvtm_minpack2_table_cuda;

CVTM_C_END

/* Inside cvt/sphere only: the phases of an evaluation, one row at a time on either device. */
#ifndef CVTMESH_CVT_SPHERE_SPHERE_PHASES_H
#define CVTMESH_CVT_SPHERE_SPHERE_PHASES_H

#include "base/phases.h"
#include "cvt/sphere/sphere_integral.h"

/* What the phases read and write, in device memory. Sites are in the order of the tree. */
typedef struct cvtm_sphere_work {
  cvtm_sphere_tree tree; /* its sites are `sites` */
  cvtm_sphere_map map;
  double *sites;              /* 3 * count, unit vectors */
  int32_t *hints;             /* CVTM_SPHERE_HINTS * count */
  const unsigned char *fixed; /* count; or NULL: all sites move */
  double *energy, *mass;      /* count */
  double *open;               /* count: 1 for a cell that could not be cut, else 0 */
} cvtm_sphere_work;

/* The Morton key of site i, 21 bits of each coordinate. */
CVTM_HD void cvtm_sphere_set_key(const double *sites, uint64_t *keys, int32_t *order, int64_t i) {
  uint64_t key = 0;
  for (int axis = 0; axis < 3; ++axis) {
    uint64_t bits = (uint64_t)((sites[3 * i + axis] + 1) * 1048575.0);
    bits = (bits | bits << 32) & 0x1f00000000ffffu; /* spreads the bits to every third place */
    bits = (bits | bits << 16) & 0x1f0000ff0000ffu;
    bits = (bits | bits << 8) & 0x100f00f00f00f00fu;
    bits = (bits | bits << 4) & 0x10c30c30c30c30c3u;
    bits = (bits | bits << 2) & 0x1249249249249249u;
    key |= bits << axis;
  }
  keys[i] = key;
  order[i] = (int32_t)i;
}

/* x[i] = sites[order[i]]; the first hints are the places before and after. */
CVTM_HD void cvtm_sphere_gather(const double *sites, const int32_t *order, int64_t count, double *x,
                                int32_t *hints, int64_t i) {
  cvtm_vector_store(x, i, cvtm_vector_load(sites, order[i]));
  int32_t *own = hints + CVTM_SPHERE_HINTS * i;
  int k = 0;
  for (int64_t j = i - 4; j <= i + 4; ++j)
    if (j != i && j >= 0 && j < count) own[k++] = (int32_t)j;
  while (k < CVTM_SPHERE_HINTS) own[k++] = -1;
}

CVTM_HD void cvtm_sphere_normalise(const double *x, double *sites, int64_t i) {
  cvtm_vector_store(sites, i, cvtm_vector_unit(cvtm_vector_load(x, i)));
}

CVTM_HD void cvtm_sphere_set_ball(const cvtm_sphere_work *work, int32_t level, int64_t k) {
  cvtm_sphere_make_ball(&work->tree, level, k);
}

/* The cell of site i: energy, mass and gradient with respect to x[i], whose direction is the site.
 * The gradient with respect to the site is -2 (M - (M.s) s), M the first moment of the cell: the
 * cell's boundary contributes nothing (Du, Faber & Gunzburger 1999). */
CVTM_INLINE void cvtm_sphere_evaluate_site(const cvtm_sphere_work *work, const double *x,
                                           double *gradient, int64_t i) {
  cvtm_sphere_cell cell;
  const cvtm_sphere_outcome outcome =
      cvtm_sphere_cell_make(&work->tree, i, work->hints + CVTM_SPHERE_HINTS * i, &cell);
  const cvtm_sphere_sums sums = cvtm_sphere_integrate(&work->map, &cell);
  work->energy[i] = sums.energy;
  work->mass[i] = sums.mass;
  work->open[i] = outcome == CVTM_SPHERE_DONE ? 0 : 1;
  const double share =
      work->fixed != NULL && work->fixed[i] ? 0 : -2 / cvtm_vector_length(cvtm_vector_load(x, i));
  const cvtm_vector zero = {0, 0, 0};
  const cvtm_vector along = cvtm_vector_add(zero, share * sums.x, cell.e1);
  cvtm_vector_store(gradient, i, cvtm_vector_add(along, share * sums.y, cell.e2));
}

/* The shapes of the triangles around site i, between it and its neighbours: the sum of 1 / t - 1,
 * with t = 4 sqrt(3) area / (sum of squared sides), 1 for an equilateral triangle (Bank & Smith
 * 1997). Below `least` a tangent goes on, so that turned triangles have values too. energy[i]: a
 * third of the sum, since each triangle has three sites. */
CVTM_INLINE void cvtm_sphere_evaluate_shape(const cvtm_sphere_work *work, const double *x,
                                            double *gradient, int64_t i) {
  const double root = 6.928203230275509, least = 0.2; /* root: 4 sqrt(3) */
  const int32_t *ring = work->hints + CVTM_SPHERE_HINTS * i;
  const cvtm_vector s = cvtm_vector_load(work->sites, i), zero = {0, 0, 0};
  cvtm_vector sum = zero;
  double energy = 0;
  int32_t count = 0;
  while (count < CVTM_SPHERE_HINTS && ring[count] >= 0) ++count;
  for (int32_t k = 0; k < count && count < CVTM_SPHERE_HINTS; ++k) {
    const cvtm_vector p = cvtm_vector_load(work->sites, ring[k]); /* the rings are clockwise */
    const cvtm_vector q = cvtm_vector_load(work->sites, ring[k > 0 ? k - 1 : count - 1]);
    const cvtm_vector u = cvtm_vector_add(p, -1, s), v = cvtm_vector_add(q, -1, s);
    const cvtm_vector across = cvtm_vector_add(q, -1, p), normal = cvtm_vector_cross(u, v);
    const double length = cvtm_vector_length(normal);
    if (!(length > 0)) continue;
    const double area2 = cvtm_vector_dot(normal, s) < 0 ? -length : length;
    const double squares =
        cvtm_vector_dot(u, u) + cvtm_vector_dot(v, v) + cvtm_vector_dot(across, across);
    const double t = 0.5 * root * area2 / squares, from = t > least ? t : least;
    const double slope = -1 / (from * from);
    energy += 1 / from + slope * (t - from) - 1;
    /* The slopes of twice the area and of the squares with respect to s. */
    const cvtm_vector area_slope = cvtm_vector_cross(normal, across);
    const cvtm_vector squares_slope = cvtm_vector_add(cvtm_vector_add(zero, -2, u), -2, v);
    sum = cvtm_vector_add(sum, slope * 0.5 * root / (squares * area2), area_slope);
    sum = cvtm_vector_add(sum, -slope * t / squares, squares_slope);
  }
  work->energy[i] = energy / 3;
  work->open[i] = 0;
  const double share =
      work->fixed != NULL && work->fixed[i] ? 0 : 1 / cvtm_vector_length(cvtm_vector_load(x, i));
  sum = cvtm_vector_add(sum, -cvtm_vector_dot(sum, s), s);
  cvtm_vector_store(gradient, i, cvtm_vector_add(zero, share, sum));
}

/* A step of Lloyd's method on unit vectors x. */
CVTM_HD void cvtm_sphere_move_site(const double *gradient, const double *mass, double *x,
                                   int64_t i) {
  if (!(mass[i] > 0)) return;
  cvtm_vector_store(x, i,
                    cvtm_vector_unit(cvtm_vector_add(cvtm_vector_load(x, i), -0.5 / mass[i],
                                                     cvtm_vector_load(gradient, i))));
}

/* The scale of the variables of site i: the Hessian is near 2 mass. */
CVTM_HD void cvtm_sphere_set_scale(const double *mass, double mean, double *scale, int64_t i) {
  const double ratio = mean / (mass[i] > 1e-9 * mean ? mass[i] : 1e-9 * mean);
  for (int axis = 0; axis < 3; ++axis) scale[3 * i + axis] = sqrt(ratio);
}

#define CVTM_SPHERE_PHASES(X)                                                                     \
  X(keys,                                                                                         \
    (cvtm_device * device, const double *sites, int64_t count, uint64_t *keys, int32_t *order),   \
    device, count, cvtm_sphere_set_key, sites, keys, order)                                       \
  X(gather,                                                                                       \
    (cvtm_device * device, const double *sites, const int32_t *order, int64_t count, double *x,   \
     int32_t *hints),                                                                             \
    device, count, cvtm_sphere_gather, sites, order, count, x, hints)                             \
  X(normalise, (cvtm_device * device, const double *x, int64_t count, double *sites), device,     \
    count, cvtm_sphere_normalise, x, sites)                                                       \
  X(balls, (cvtm_device * device, const cvtm_sphere_work *work, int32_t level, int64_t nodes),    \
    device, nodes, cvtm_sphere_set_ball, CVTM_HOST_STRUCT(work), level)                           \
  X(shapes,                                                                                       \
    (cvtm_device * device, const cvtm_sphere_work *work, const double *x, double *gradient),      \
    device, work->tree.count, cvtm_sphere_evaluate_shape, CVTM_HOST_STRUCT(work), x, gradient)    \
  X(move,                                                                                         \
    (cvtm_device * device, const double *gradient, const double *mass, int64_t count, double *x), \
    device, count, cvtm_sphere_move_site, gradient, mass, x)                                      \
  X(scale, (cvtm_device * device, const double *mass, int64_t count, double mean, double *scale), \
    device, count, cvtm_sphere_set_scale, mass, mean, scale)

typedef struct cvtm_sphere_table {
  /* cvtm_sphere_evaluate_site for all sites. */
  cvtm_status (*cells)(cvtm_device *device, const cvtm_sphere_work *work, const double *x,
                       double *gradient);
  CVTM_SPHERE_PHASES(CVTM_PHASE_FIELD)
} cvtm_sphere_table;

#ifdef __cplusplus
extern "C" {
#endif
extern const cvtm_sphere_table cvtm_sphere_cpu, cvtm_sphere_cuda;
#ifdef __cplusplus
}
#endif

#endif

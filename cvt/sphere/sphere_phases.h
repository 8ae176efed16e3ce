/* Inside cvt/sphere only: the phases of an evaluation, for both devices. */
#ifndef CVTMESH_CVT_SPHERE_SPHERE_PHASES_H
#define CVTMESH_CVT_SPHERE_SPHERE_PHASES_H

#include "base/phases.h"
#include "cvt/sphere/sphere_integral.h"

/* What the phases read and write, in device memory. Sites are in the order of the tree. */
typedef struct cvtm_sphere_work {
  cvtm_sphere_tree tree; /* tree.sites is `sites` */
  cvtm_sphere_map map;
  double *sites;              /* 3 * count, unit vectors */
  int32_t *hints;             /* CVTM_SPHERE_HINTS * count */
  const unsigned char *fixed; /* count; or NULL: all sites move */
  double *energy, *mass;      /* count */
  double *open;               /* count: 1 for a cell that is CVTM_SPHERE_OPEN, else 0 */
} cvtm_sphere_work;

/* Sets the Morton key of site i, from 21 bits of each coordinate. */
CVTM_HD void cvtm_sphere_set_key(const double *sites, uint64_t *keys, int32_t *order, int64_t i) {
  uint64_t key = 0;
  for (int axis = 0; axis < 3; ++axis) {
    uint64_t bits = (uint64_t)((sites[3 * i + axis] + 1) * 1048575.0);
    bits = (bits | bits << 32) & 0x1f00000000ffffu; /* spreads the bits to every third bit */
    bits = (bits | bits << 16) & 0x1f0000ff0000ffu;
    bits = (bits | bits << 8) & 0x100f00f00f00f00fu;
    bits = (bits | bits << 4) & 0x10c30c30c30c30c3u;
    bits = (bits | bits << 2) & 0x1249249249249249u;
    key |= bits << axis;
  }
  keys[i] = key;
  order[i] = (int32_t)i;
}

/* x[i] = sites[order[i]]; the first hints are the four sites before i and the four after. */
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

/* Computes the cell of site i: energy, mass and the gradient with respect to x[i], whose direction
 * is the site s. The gradient with respect to s is -2 (M - (M.s) s), where M is the first moment of
 * the cell: the cell's boundary contributes nothing (Du, Faber & Gunzburger 1999). */
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

/* The triangle of site i and neighbours k and k - 1 of the site's ring, which is clockwise. */
typedef struct cvtm_sphere_corner {
  cvtm_vector u, v, normal; /* u, v: from the site to the neighbours; |normal| is twice the area */
  int32_t other[2];
} cvtm_sphere_corner;

CVTM_INLINE cvtm_sphere_corner cvtm_sphere_corner_of(const cvtm_sphere_work *work, int64_t i,
                                                     int32_t k, int32_t count) {
  const int32_t *ring = work->hints + CVTM_SPHERE_HINTS * i;
  const cvtm_vector s = cvtm_vector_load(work->sites, i);
  cvtm_sphere_corner c;
  c.other[0] = ring[k];
  c.other[1] = ring[k > 0 ? k - 1 : count - 1];
  c.u = cvtm_vector_add(cvtm_vector_load(work->sites, c.other[0]), -1, s);
  c.v = cvtm_vector_add(cvtm_vector_load(work->sites, c.other[1]), -1, s);
  c.normal = cvtm_vector_cross(c.u, c.v);
  return c;
}

/* The number of neighbours of site i, or 0 if the ring has no room for all neighbours. */
CVTM_INLINE int32_t cvtm_sphere_ring_count(const cvtm_sphere_work *work, int64_t i) {
  const int32_t *ring = work->hints + CVTM_SPHERE_HINTS * i;
  int32_t count = 0;
  while (count < CVTM_SPHERE_HINTS && ring[count] >= 0) ++count;
  return count < CVTM_SPHERE_HINTS ? count : 0;
}

/* mass[i] = twice the mean area of the triangles around site i. */
CVTM_HD void cvtm_sphere_set_area(const cvtm_sphere_work *work, int64_t i) {
  const int32_t count = cvtm_sphere_ring_count(work, i);
  double sum = 0;
  for (int32_t k = 0; k < count; ++k)
    sum += cvtm_vector_length(cvtm_sphere_corner_of(work, i, k, count).normal);
  work->mass[i] = count > 0 ? sum / count : 1;
}

/* Evaluates the triangles around site i: the sum of 1 / t - 1, where t = 4 sqrt(3) area / (sum of
 * squared sides) is 1 for an equilateral triangle (Bank & Smith 1997), and of `share` times r + 1 /
 * r - 2, where r = area / mean area, at the start, of the triangles around the three sites. Below
 * `least` the functions of t and r continue as tangents, so that inverted triangles have values.
 * energy[i]: a third of the sum, since each triangle has three sites. */
CVTM_INLINE void cvtm_sphere_evaluate_shape(const cvtm_sphere_work *work, const double *x,
                                            double *gradient, int64_t i) {
  /* sqrt(12), and the weight of areas: with a larger weight, angles improve less; without it, cells
   * beside pentagons become half as wide. */
  const double root = 3.4641016151377544, share = 0.2, least = 0.2;
  const cvtm_vector s = cvtm_vector_load(work->sites, i), zero = {0, 0, 0};
  const int32_t count = cvtm_sphere_ring_count(work, i);
  cvtm_vector sum = zero;
  double energy = 0;
  for (int32_t k = 0; k < count; ++k) {
    const cvtm_sphere_corner c = cvtm_sphere_corner_of(work, i, k, count);
    const cvtm_vector across = cvtm_vector_add(c.v, -1, c.u);
    const double length = cvtm_vector_length(c.normal);
    if (!(length > 0)) continue;
    const double area = cvtm_vector_dot(c.normal, s) < 0 ? -length : length;
    const double squares =
        cvtm_vector_dot(c.u, c.u) + cvtm_vector_dot(c.v, c.v) + cvtm_vector_dot(across, across);
    const double wanted = (work->mass[i] + work->mass[c.other[0]] + work->mass[c.other[1]]) / 3;
    const double t = root * area / squares, t0 = t > least ? t : least;
    const double r = area / wanted, r0 = r > least ? r : least;
    const double slope = -1 / (t0 * t0), area_slope = share * (1 - 1 / (r0 * r0));
    energy += 1 / t0 - 1 + slope * (t - t0) + share * (r0 + 1 / r0 - 2) + area_slope * (r - r0);
    /* The derivatives of `area` and of `squares` with respect to s. */
    sum = cvtm_vector_add(sum, (slope * root / squares + area_slope / wanted) / area,
                          cvtm_vector_cross(c.normal, across));
    sum = cvtm_vector_add(sum, 2 * slope * t / squares, cvtm_vector_add(c.u, 1, c.v));
  }
  work->energy[i] = energy / 3;
  work->open[i] = 0;
  const double scale =
      work->fixed != NULL && work->fixed[i] ? 0 : 1 / cvtm_vector_length(cvtm_vector_load(x, i));
  sum = cvtm_vector_add(sum, -cvtm_vector_dot(sum, s), s);
  cvtm_vector_store(gradient, i, cvtm_vector_add(zero, scale, sum));
}

/* Does a step of Lloyd's method on unit vectors x. */
CVTM_HD void cvtm_sphere_move_site(const double *gradient, const double *mass, double *x,
                                   int64_t i) {
  if (!(mass[i] > 0)) return;
  cvtm_vector_store(x, i,
                    cvtm_vector_unit(cvtm_vector_add(cvtm_vector_load(x, i), -0.5 / mass[i],
                                                     cvtm_vector_load(gradient, i))));
}

/* Sets the scale of the variables of site i; the diagonal of the Hessian is about 2 mass. */
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
  X(areas, (cvtm_device * device, const cvtm_sphere_work *work), device, work->tree.count,        \
    cvtm_sphere_set_area, CVTM_HOST_STRUCT(work))                                                 \
  X(move,                                                                                         \
    (cvtm_device * device, const double *gradient, const double *mass, int64_t count, double *x), \
    device, count, cvtm_sphere_move_site, gradient, mass, x)                                      \
  X(scale, (cvtm_device * device, const double *mass, int64_t count, double mean, double *scale), \
    device, count, cvtm_sphere_set_scale, mass, mean, scale)

typedef struct cvtm_sphere_table {
  /* Calls cvtm_sphere_evaluate_site for all sites. */
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

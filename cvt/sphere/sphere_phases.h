/* Inside cvt/sphere only: the phases of an evaluation, for both devices. */
#pragma once

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

CVTM_C_BEGIN

extern const cvtm_sphere_table cvtm_sphere_cpu, cvtm_sphere_cuda;
CVTM_C_END

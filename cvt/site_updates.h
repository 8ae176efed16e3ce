/* Inside cvt only: the phases by which sites move between evaluations, and what a descent wants
 * to know of them. */
#ifndef CVTMESH_CVT_SITE_UPDATES_H
#define CVTMESH_CVT_SITE_UPDATES_H

#include "base/random.h"
#include "cvt/evaluate_kernels.h"
#include "cvt/edge_midpoints.h"

#include <math.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sites of the poorest cells that go beside those of the richest. */
typedef struct cvtm_cvt_transfer {
  cvtm_domain domain;
  double *sites;                    /* of the sums; moved in place */
  const cvtm_cell_moments *moments; /* by site */
  const int32_t *order;             /* the `movable` sites by the energies of their cells */
  int64_t movable, most;            /* at most `most` move, and no more than half */
  double contrast; /* a rich cell has more than this many times a poor one's energy */
  uint64_t seed, draw;
} cvtm_cvt_transfer;

typedef struct cvtm_site_updates_table {
  /* least[1] = the smaller of value[0] and least[0]; best = sites if that is value[0]. */
  cvtm_status (*keep_best)(cvtm_device *device, const double *sites, int64_t count,
                           const double *value, double *least, double *best);
  /* 2 * count each: cvtm_cvt_bounds_of. */
  cvtm_status (*bounds)(cvtm_device *device, cvtm_domain domain, const double *sites, int64_t count,
                        int64_t fixed, double *lower, double *upper);
  /* scale[2 i] = scale[2 i + 1]: cvtm_cvt_scale_of. */
  cvtm_status (*scale)(cvtm_device *device, const cvtm_cell_moments *sums, int64_t count,
                       double mean, double root, double *scale);
  /* keys in the order of the energies of the cells from `fixed` on, and their sites. */
  cvtm_status (*energy_keys)(cvtm_device *device, const cvtm_cell_moments *sums, int64_t fixed,
                             int64_t movable, uint64_t *keys, int32_t *sites);
  /* Of the sites in the tree, which are sorted, by place; *left (device memory, zero before): how
   * many have none because their cells are unusual. NULL: not done on this device. */
  cvtm_status (*edge_midpoints)(cvtm_cvt *cvt, cvtm_edge_midpoints *midpoints, int32_t *left);
  /* *moved (device memory, zero before): how many. */
  cvtm_status (*transfer)(cvtm_device *device, const cvtm_cvt_transfer *transfer, int64_t *moved);
} cvtm_site_updates_table;

extern const cvtm_site_updates_table cvtm_site_updates_cpu, cvtm_site_updates_cuda;
cvtm_status cvtm_edge_midpoints_cuda(cvtm_cvt *cvt, cvtm_edge_midpoints *midpoints, int32_t *left);

#ifdef __cplusplus
}
#endif

/* The bounds of coordinate k: the domain's rectangle, none on a torus; a box of one point for the
 * first `fixed` sites. */
CVTM_HD void cvtm_cvt_bounds_of(cvtm_domain domain, const double *sites, int64_t fixed, int64_t k,
                                double *lower, double *upper) {
  const double size = (double)(k % 2 ? domain.height : domain.width);
  const int is_fixed = k < 2 * fixed;
  *lower = is_fixed ? sites[k] : domain.periodic ? -HUGE_VAL : 0;
  *upper = is_fixed ? sites[k] : domain.periodic ? HUGE_VAL : size;
}

/* The mass that a cell will have, to a factor of 8 the one it has: in the end all cells have nearly
 * the same energy, and so masses of `root` times the root of the density around them, which is
 * that of a regular hexagon with this mass and second moment. */
CVTM_HD double cvtm_cvt_final_mass(const cvtm_cell_moments *sums, double root) {
  const double hexagon = 5 / (18 * 1.7320508075688772); /* its second moment / (mass * area) */
  if (!(sums->second > 0)) return sums->mass;
  const double final_mass = root * sums->mass * sqrt(hexagon / sums->second);
  return fmin(fmax(final_mass, sums->mass / 8), 8 * sums->mass);
}

/* With y_i = x_i sqrt(2 m_i) the Hessian is near the identity; m_i the final mass if root > 0 (the
 * mean of the integral of sqrt(rho) over a cell), else that of today. A site without mass has no
 * scale of its own and takes the mean's. */
CVTM_HD double cvtm_cvt_scale_of(const cvtm_cell_moments *sums, double mean, double root) {
  const double mass = root > 0 ? cvtm_cvt_final_mass(sums, root) : sums->mass;
  const double least = 1e-6 * mean;
  return 1 / sqrt(2 * (mass > 0 ? (mass > least ? mass : least) : mean));
}

/* The bits of a number that is not negative are in its order. */
CVTM_HD uint64_t cvtm_cvt_energy_key(double energy) {
  const double positive = energy > 0 ? energy : 0;
  uint64_t bits;
  memcpy(&bits, &positive, sizeof bits);
  return bits;
}

CVTM_HD double cvtm_cvt_inside(double x, int32_t size, int32_t periodic) {
  return periodic || (x >= 0 && x <= size) ? x : x < 0 ? 0 : size;
}

/* Whether the k-th transfer is worth while; if it is, so are all before it. */
CVTM_HD int cvtm_cvt_transfers(const cvtm_cvt_transfer *t, int64_t k) {
  if (k >= t->most || k >= t->movable / 2) return 0;
  const cvtm_cell_moments *poor = &t->moments[t->order[k]];
  const cvtm_cell_moments *rich = &t->moments[t->order[t->movable - 1 - k]];
  return rich->second > t->contrast * poor->second && rich->mass > 0;
}

/* The two sites take opposite places about that of the rich cell. */
CVTM_HD void cvtm_cvt_transfer_site(const cvtm_cvt_transfer *t, int64_t k) {
  const int32_t poor = t->order[k], rich = t->order[t->movable - 1 - k];
  const double turn = cvtm_random_uniform(t->seed, t->draw, (uint64_t)rich);
  const double radius = 0.7 * sqrt(t->moments[rich].second / t->moments[rich].mass);
  const double dx = radius * cos(6.283185307179586 * turn);
  const double dy = radius * sin(6.283185307179586 * turn);
  double *from = t->sites + 2 * (int64_t)poor, *to = t->sites + 2 * (int64_t)rich;
  const double x = to[0], y = to[1];
  const int32_t width = t->domain.width, height = t->domain.height, p = t->domain.periodic;
  from[0] = cvtm_cvt_inside(x + dx, width, p);
  from[1] = cvtm_cvt_inside(y + dy, height, p);
  to[0] = cvtm_cvt_inside(x - dx, width, p);
  to[1] = cvtm_cvt_inside(y - dy, height, p);
}

#endif

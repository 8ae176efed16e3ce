/* Inside cvt only: changes of sites between evaluations, and before a descent, by device. */
#pragma once

#include "base/phases.h"
#include "base/random.h"
#include "cvt/edge_midpoints.h"
#include "cvt/levels.h"

#include <math.h>
#include <string.h>

CVTM_C_BEGIN

/* The second moment of a regular hexagon about its centre, divided by its mass and its area. */
#define CVTM_HEXAGON_MOMENT (5 / (18 * 1.7320508075688772))

CVTM_HD size_t cvtm_site_bytes(int64_t count) { return 2 * (size_t)count * sizeof(double); }

/* A transfer: moves the sites with the least energies beside those with the largest energies. */
typedef struct cvtm_cvt_transfer {
  cvtm_domain domain;
  double *sites;                    /* changed in place */
  const cvtm_cell_moments *moments; /* moments of the sites before the transfer */
  const int32_t *order;             /* the `movable` sites, by the energies of their cells */
  int64_t movable, most;            /* at most `most` sites move, and at most half of `movable` */
  double contrast;                  /* least ratio of the larger to the smaller energy of a pair */
  uint64_t seed, draw;
} cvtm_cvt_transfer;

/* A displacement of the sites away from their nearest neighbours. */
typedef struct cvtm_cvt_repulsion {
  cvtm_site_tree_view tree; /* tree of the sites, with its boxes */
  cvtm_domain domain;
  const cvtm_cell_moments *moments; /* moments of the sites */
  int64_t fixed;
  double reach;  /* the displacement, in root mean square radii of the site's cell */
  double *sites; /* changed in place */
} cvtm_cvt_repulsion;

/* A list of phases (base/phases.h). */
#define CVTM_SITE_PHASES(X)                                                                       \
  /* Sets the bounds of all coordinates. */                                                       \
  X(bounds,                                                                                       \
    (cvtm_device * device, cvtm_domain domain, const double *sites, int64_t count, int64_t fixed, \
     double *lower, double *upper),                                                               \
    device, 2 * count, cvtm_cvt_set_bounds, domain, sites, fixed, lower, upper)                   \
  /* Sets the scales of all coordinates. */                                                       \
  X(scale,                                                                                        \
    (cvtm_device * device, const cvtm_cell_moments *sums, int64_t count, double mean,             \
     double sqrt_integral, double *scale),                                                        \
    device, count, cvtm_cvt_set_scale, sums, mean, sqrt_integral, scale)                          \
  /* Sets keys that have the order of the energies of the cells with indices >= fixed, and the    \
   * indices of their sites. */                                                                   \
  X(energy_keys,                                                                                  \
    (cvtm_device * device, const cvtm_cell_moments *sums, int64_t fixed, int64_t movable,         \
     uint64_t *keys, int32_t *sites),                                                             \
    device, movable, cvtm_cvt_set_energy_key, sums, fixed, keys, sites)                           \
  X(repel, (cvtm_device * device, const cvtm_cvt_repulsion *repulsion), device,                   \
    repulsion->tree.count, cvtm_cvt_repel_site, CVTM_HOST_STRUCT(repulsion))                      \
  /* Multiplies sites by a factor, and clamps or wraps them into the domain. */                   \
  X(rescale,                                                                                      \
    (cvtm_device * device, cvtm_domain domain, double factor, int64_t count, double *sites),      \
    device, 2 * count, cvtm_cvt_rescale, domain, factor, sites)                                   \
  /* Moves the sites i < from into the domain, and writes a choice of at most to - from midpoints \
   * to the sites from `from` on. before[i], i <= from: the number of midpoints of sites < i. */  \
  X(place,                                                                                        \
    (cvtm_device * device, cvtm_domain domain, const cvtm_edge_midpoints *midpoints,              \
     const int64_t *before, int64_t from, int64_t to, double *sites),                             \
    device, from, cvtm_cvt_place_midpoints, domain, midpoints, before, from, to, sites)           \
  /* Adds sites until there are `to` sites. */                                                    \
  X(fill_up,                                                                                      \
    (cvtm_device * device, const int64_t *before, int64_t from, int64_t to, double *sites),       \
    device, to - from, cvtm_cvt_fill_up, before, from, to, sites)                                 \
  /* marks[i] = 1 if cell i has no mass, else 0. */                                               \
  X(mark_empty,                                                                                   \
    (cvtm_device * device, const cvtm_cell_moments *sums, int64_t count, double *marks), device,  \
    count, cvtm_cvt_mark_empty, sums, marks)                                                      \
  /* to[k] = factor * from[k], k < numbers. */                                                    \
  X(enlarge,                                                                                      \
    (cvtm_device * device, const double *from, int64_t numbers, double factor, double *to),       \
    device, numbers, cvtm_cvt_enlarge, from, factor, to)                                          \
  /* sums = weight * sums + more. */                                                              \
  X(add_moments,                                                                                  \
    (cvtm_device * device, const cvtm_cell_moments *more, int64_t count, double weight,           \
     cvtm_cell_moments *sums),                                                                    \
    device, count, cvtm_cvt_add_moments, more, weight, sums)                                      \
  /* Sets `half` to the density in pixels of twice the side. */                                   \
  X(halve, (cvtm_device * device, const cvtm_density_view *density, float *half), device,         \
    (int64_t)((density->width + 1) / 2) * ((density->height + 1) / 2), cvtm_pyramid_set_pixel,    \
    CVTM_HOST_STRUCT(density), half)

typedef struct cvtm_site_updates_table {
  /* least[1] = the smaller of value[0] and least[0]. If value[0] is less, copies sites to best. */
  cvtm_status (*keep_best)(cvtm_device *device, const double *sites, int64_t count,
                           const double *value, double *least, double *best);
  /* Finds the edge midpoints of the sites in the tree, and their numbers, in the order of slots.
   * *failed (device memory, zero before): the number of sites without midpoints, because the device
   * could not make their cells. */
  cvtm_status (*edge_midpoints)(cvtm_cvt *cvt, cvtm_edge_midpoints *midpoints, int32_t *counts,
                                int32_t *failed);
  /* Performs a transfer. *moved (device memory, zero before): the number of sites that moved. */
  cvtm_status (*transfer)(cvtm_device *device, const cvtm_cvt_transfer *transfer, int64_t *moved);
  CVTM_SITE_PHASES(CVTM_PHASE_FIELD)
} cvtm_site_updates_table;

extern const cvtm_site_updates_table cvtm_site_updates_cpu, cvtm_site_updates_cuda;
cvtm_status cvtm_edge_midpoints_cuda(cvtm_cvt *cvt, cvtm_edge_midpoints *midpoints, int32_t *counts,
                                     int32_t *failed);

CVTM_C_END

/* Sets the bounds of coordinate k: those of the domain, none on a torus, and equal bounds for the
 * first `fixed` sites. */
CVTM_HD void cvtm_cvt_set_bounds(cvtm_domain domain, const double *sites, int64_t fixed,
                                 double *lower, double *upper, int64_t k) {
  const double size = (double)(k % 2 ? domain.height : domain.width);
  const int is_fixed = k < 2 * fixed;
  lower[k] = is_fixed ? sites[k] : domain.periodic ? -HUGE_VAL : 0;
  upper[k] = is_fixed ? sites[k] : domain.periodic ? HUGE_VAL : size;
}

/* Estimates the mass that a cell will have at the end, within a factor of 8 of its current mass. At
 * the end all cells have nearly the same energy, so the mass of a cell is `sqrt_integral` times the
 * square root of its density, which is estimated from a regular hexagon with the mass and second
 * moment of the cell. */
CVTM_HD double cvtm_cvt_final_mass(const cvtm_cell_moments *sums, double sqrt_integral) {
  if (!(sums->second > 0)) return sums->mass;
  const double final_mass = sqrt_integral * sums->mass * sqrt(CVTM_HEXAGON_MOMENT / sums->second);
  return fmin(fmax(final_mass, sums->mass / 8), 8 * sums->mass);
}

/* Sets the scale of both variables of site i: with y_i = x_i sqrt(2 m_i) the Hessian is near the
 * identity. m_i is the final mass if sqrt_integral (the integral of sqrt(rho) over the domain / the
 * number of cells) is > 0, else the current mass; for a site without mass, the mean mass. */
CVTM_HD void cvtm_cvt_set_scale(const cvtm_cell_moments *sums, double mean, double sqrt_integral,
                                double *scale, int64_t i) {
  const double mass =
      sqrt_integral > 0 ? cvtm_cvt_final_mass(&sums[i], sqrt_integral) : sums[i].mass;
  const double least = 1e-6 * mean;
  scale[2 * i] = scale[2 * i + 1] = 1 / sqrt(2 * (mass > 0 ? (mass > least ? mass : least) : mean));
}

CVTM_HD void cvtm_cvt_rescale(cvtm_domain domain, double factor, double *sites, int64_t k) {
  sites[k] =
      cvtm_cvt_inside(factor * sites[k], k % 2 ? domain.height : domain.width, domain.periodic);
}

CVTM_HD void cvtm_cvt_place_midpoints(cvtm_domain domain, const cvtm_edge_midpoints *midpoints,
                                      const int64_t *before, int64_t from, int64_t to,
                                      double *sites, int64_t i) {
  cvtm_cvt_rescale(domain, 1, sites, 2 * i);
  cvtm_cvt_rescale(domain, 1, sites, 2 * i + 1);
  cvtm_place_midpoints(midpoints + i, before[i], before[from], to - from, sites + 2 * from);
}

CVTM_HD void cvtm_cvt_fill_up(const int64_t *before, int64_t from, int64_t to, double *sites,
                              int64_t k) {
  const int64_t total = before[from], have = from + cvtm_chosen_before(total, total, to - from);
  if (have + k < to) cvtm_fill_up(sites, have, to, k);
}

CVTM_HD void cvtm_cvt_mark_empty(const cvtm_cell_moments *sums, double *marks, int64_t i) {
  marks[i] = sums[i].mass > 0 ? 0 : 1;
}

CVTM_HD void cvtm_cvt_enlarge(const double *from, double factor, double *to, int64_t k) {
  to[k] = factor * from[k];
}

CVTM_HD void cvtm_cvt_add_moments(const cvtm_cell_moments *more, double weight,
                                  cvtm_cell_moments *sums, int64_t i) {
  const cvtm_cell_moments added = {weight * sums[i].mass + more[i].mass,
                                   weight * sums[i].x + more[i].x, weight * sums[i].y + more[i].y,
                                   weight * sums[i].second + more[i].second};
  sums[i] = added;
}

/* Sets a key that has the order of the energy: the bits of a number >= 0. */
CVTM_HD void cvtm_cvt_set_energy_key(const cvtm_cell_moments *sums, int64_t fixed, uint64_t *keys,
                                     int32_t *sites, int64_t k) {
  const double energy = sums[fixed + k].second, positive = energy > 0 ? energy : 0;
  memcpy(&keys[k], &positive, sizeof keys[k]);
  sites[k] = (int32_t)(fixed + k);
}

/* True if the k-th pair of cells has enough contrast for a transfer; then every earlier pair has,
 * too. The pairs are the cells of least and of largest energy, the cells next to these in the
 * order of energies, and so on. */
CVTM_HD int cvtm_cvt_transfers(const cvtm_cvt_transfer *t, int64_t k) {
  if (k >= t->most || k >= t->movable / 2) return 0;
  const cvtm_cell_moments *low = &t->moments[t->order[k]];
  const cvtm_cell_moments *high = &t->moments[t->order[t->movable - 1 - k]];
  return high->second > t->contrast * low->second && high->mass > 0;
}

/* Moves the two sites of the k-th pair to opposite sides of the position of the site with the
 * larger energy. */
CVTM_HD void cvtm_cvt_transfer_site(const cvtm_cvt_transfer *t, int64_t k) {
  const int32_t low = t->order[k], high = t->order[t->movable - 1 - k];
  const double turn = cvtm_random_uniform(t->seed, t->draw, (uint64_t)high);
  const double radius = 0.7 * sqrt(t->moments[high].second / t->moments[high].mass);
  double direction[2];
  cvtm_random_direction(turn, direction);
  const double dx = radius * direction[0], dy = radius * direction[1];
  double *from = t->sites + 2 * (int64_t)low, *to = t->sites + 2 * (int64_t)high;
  const double x = to[0], y = to[1];
  const int32_t width = t->domain.width, height = t->domain.height, p = t->domain.periodic;
  from[0] = cvtm_cvt_clamp(x + dx, width, p);
  from[1] = cvtm_cvt_clamp(y + dy, height, p);
  to[0] = cvtm_cvt_clamp(x - dx, width, p);
  to[1] = cvtm_cvt_clamp(y - dy, height, p);
}

/* Displaces the site at a slot, unless it is fixed, has no mass or coincides with another site. */
CVTM_HD void cvtm_cvt_repel_site(const cvtm_cvt_repulsion *r, int64_t slot) {
  const cvtm_metric metric = cvtm_metric_of(r->domain);
  const cvtm_domain domain = r->domain;
  const int64_t i = r->tree.index[slot];
  const cvtm_cell_moments *cell = &r->moments[i];
  cvtm_nearest nearest = cvtm_nearest_none();
  double x, y, other_x, other_y;
  if (i < r->fixed || !(cell->mass > 0)) return;
  cvtm_tree_position(&r->tree, slot, &x, &y);
  cvtm_search_range(&r->tree, metric, x, y, 0, slot, &nearest);
  cvtm_search_range(&r->tree, metric, x, y, slot + 1, r->tree.count, &nearest);
  if (nearest.slot < 0 || !(nearest.distance2 > 0)) return;
  cvtm_tree_position(&r->tree, nearest.slot, &other_x, &other_y);
  if (domain.periodic) {
    other_x += domain.width * floor((x - other_x) / domain.width + 0.5);
    other_y += domain.height * floor((y - other_y) / domain.height + 0.5);
  }
  const double scale = r->reach * sqrt(cell->second / (cell->mass * nearest.distance2));
  r->sites[2 * i] = cvtm_cvt_inside(x + scale * (x - other_x), domain.width, domain.periodic);
  r->sites[2 * i + 1] = cvtm_cvt_inside(y + scale * (y - other_y), domain.height, domain.periodic);
}

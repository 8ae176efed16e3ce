/* Inside cvt and bench: the plan, and the phases of an evaluation that differ between devices. */
#pragma once

#include "base/phases.h"
#include "cvt/cvt.h"
#include "cvt/density_row.h"

CVTM_C_BEGIN

typedef struct cvtm_cvt_table cvtm_cvt_table;
struct cvtm_site_updates_table; /* site_updates.h */
struct cvtm_evaluator;          /* descent.h */
struct cvtm_decomposition;      /* decomposition.h */
struct cvtm_pyramid;            /* levels.h */

enum { CVTM_CVT_WINDOW = 10 }; /* steps of Lloyd's method whose energies are read together */

/* A plan. Pointers are to device memory unless stated otherwise. */
struct cvtm_cvt {
  cvtm_device *device;
  const cvtm_cvt_table *table;
  const struct cvtm_site_updates_table *updates;
  cvtm_domain domain;
  int64_t capacity;
  int64_t global_count; /* for a plan of own and ghost sites of one rank (decomposition.h), the
                           number of sites of all ranks; else 0 */
  const struct cvtm_evaluator *evaluator;
  struct cvtm_decomposition *decomposition; /* on a device with ranks, else NULL */
  struct cvtm_pyramid *pyramid;             /* the pyramid whose level is `density`, or NULL */
  double mass, sqrt_integral;               /* total mass; integral of sqrt(rho) */
  /* On the host, only on rank 0: integrals of sqrt(rho) over squares of pixels, by
   * cvtm_density_scan_squares. */
  double *square_roots;
  cvtm_density_view density;
  float *own_density;        /* memory of `density`; NULL if the caller owns `density` */
  const float *host_density; /* the density on the host, borrowed; NULL: only the device has it */
  cvtm_site_tree *tree;
  double *sites;              /* 2 * capacity: the current sites */
  cvtm_cell_moments *moments; /* capacity: in the caller's order */
  /* The next three arrays are empty if the plan has a decomposition, or if global_count > 0. */
  double *best;      /* 2 * capacity: the best sites of Lloyd's method */
  double *scale;     /* 2 * capacity: scale of the variables (cvtm_cvt_set_scale) */
  double *second;    /* capacity: second moments */
  double *distance;  /* capacity: distance of a site to its centroid; 0 if fixed or empty */
  double *value;     /* 2 * CVTM_CVT_WINDOW: energy and largest distance of each evaluation */
  double *least;     /* CVTM_CVT_WINDOW + 1: energy of `best` before and after each evaluation */
  void *state;       /* data of the functions of the table; NULL if the plan has a decomposition */
  int tree_clipping; /* for tests and benchmarks: nonzero: all cells are made by tree clipping */
  cvtm_lbfgsb *solver; /* solver of the last descent, kept for the next descent; or NULL */
  /* The counts of all and of fixed sites for which the solver has bounds; count 0: no bounds. */
  int64_t solver_count, solver_fixed;
  int solver_history;
  int solver_runs; /* nonzero: the current sites are those of the running solver */
  /* For the pixel energy: pixels sorted by label. */
  cvtm_voronoi *voronoi;
  int32_t *labels, *pixels, *pixels_alt;
  uint64_t *keys, *keys_alt;
};

/* A list of phases (base/phases.h). */
#define CVTM_CVT_PHASES(X)                                                                      \
  /* Sets keys[p] = labels[p] and pixels[p] = p for all pixels. */                              \
  X(pixel_keys, (cvtm_cvt * cvt), cvt->device, (int64_t)cvt->domain.width * cvt->domain.height, \
    cvtm_cvt_set_pixel_key, cvt->labels, cvt->keys, cvt->pixels)                                \
  /* Moves the sites with indices >= fixed to their centroids. */                               \
  X(lloyd,                                                                                      \
    (cvtm_cvt * cvt, const cvtm_cell_moments *moments, int64_t count, int64_t fixed,            \
     double *sites),                                                                            \
    cvt->device, count - fixed, cvtm_cvt_lloyd_step, cvt->domain, moments + fixed,              \
    sites + 2 * fixed)

struct cvtm_cvt_table {
  cvtm_status (*create_state)(cvtm_cvt *cvt);
  void (*destroy_state)(cvtm_cvt *cvt);
  /* Computes the moments of the cells of the `count` sites in the tree. */
  cvtm_status (*cell_moments)(cvtm_cvt *cvt, int64_t count);
  /* Collective, for a plan whose tree has `count` own and ghost sites: computes the moments of the
   * own cells. missed: in device memory. *lacking: the number of ranks whose searches set *missed;
   * unless this is 0, the moments are invalid. */
  cvtm_status (*part_moments)(cvtm_cvt *cvt, int64_t count, const uint32_t *missed,
                              int64_t *lacking);
  /* Sets the moments to sums over the pixel centres of each label, from sorted keys and pixels. */
  cvtm_status (*label_moments)(cvtm_cvt *cvt, const double *sites, int64_t count);
  /* Computes from the moments value[0] = the energy, value[1] = the largest distance of a site to
   * its centroid, where the first `fixed` sites do not count, and, unless it is NULL, the
   * gradient. */
  cvtm_status (*finish)(cvtm_cvt *cvt, int64_t count, int64_t fixed, double *value,
                        double *gradient);
  CVTM_CVT_PHASES(CVTM_PHASE_FIELD)
};

/* Creates a plan for decomposition.h, for at most `capacity` own and ghost sites of `global_count`
 * sites. density: in device memory, borrowed. */
cvtm_status cvtm_cvt_create_part(cvtm_device *device, cvtm_domain domain, const float *density,
                                 int64_t capacity, int64_t global_count, cvtm_cvt **cvt);

/* Allocates the data of the pixel energy, unless they are allocated. */
cvtm_status cvtm_cvt_prepare_labels(cvtm_cvt *cvt);

extern const cvtm_cvt_table cvtm_cvt_table_cpu, cvtm_cvt_table_cuda;

CVTM_C_END

/* The moments over no pixels: 0, or NaN for a site that is not finite. */
CVTM_HD cvtm_cell_moments cvtm_cvt_no_pixels(const double *site) {
  const double value = isfinite(site[0]) && isfinite(site[1]) ? 0 : NAN;
  const cvtm_cell_moments sums = {value, value, value, value};
  return sums;
}

/* Adds pixel p to the moments of a site; on a torus, its image nearest to the site. */
CVTM_HD void cvtm_cvt_add_pixel(const cvtm_density_view *density, int32_t p, double sx, double sy,
                                cvtm_cell_moments *sums) {
  const double width = (double)density->width, height = (double)density->height;
  const double rho = (double)density->value[p];
  double x = (double)(p % density->width) + 0.5 - sx;
  double y = (double)(p / density->width) + 0.5 - sy;
  if (density->periodic) {
    x -= width * floor(x / width + 0.5);
    y -= height * floor(y / height + 0.5);
  }
  sums->mass += rho;
  sums->x += rho * x;
  sums->y += rho * y;
  sums->second += rho * (x * x + y * y);
}

/* The larger of two numbers, or NaN if either is NaN. */
CVTM_HD double cvtm_cvt_larger(double a, double b) { return a > b || a != a ? a : b; }

/* Sets the gradient of site i, dF/dx_i = -2 integral of rho (p - x_i). Returns the distance of the
 * site to the centroid of its cell; 0 if the site is fixed or the cell has no mass. */
CVTM_HD double cvtm_cvt_finish_site(const cvtm_cell_moments *sums, int64_t i, int64_t fixed,
                                    double *gradient) {
  if (gradient) {
    gradient[2 * i] = -2 * sums->x;
    gradient[2 * i + 1] = -2 * sums->y;
  }
  if (i < fixed || sums->mass == 0) return 0; /* not if the mass is NaN */
  const double cx = sums->x / sums->mass, cy = sums->y / sums->mass;
  return sqrt(cx * cx + cy * cy);
}

/* x clamped to [0, size]; on a torus x itself. */
CVTM_HD double cvtm_cvt_clamp(double x, int32_t size, int32_t periodic) {
  if (periodic) return x;
  return x < 0 ? 0 : x > (double)size ? (double)size : x;
}

/* x clamped to [0, size], or on a torus wrapped into [0, size). */
CVTM_HD double cvtm_cvt_inside(double x, int32_t size, int32_t periodic) {
  if (!periodic) return cvtm_cvt_clamp(x, size, 0);
  const double wrapped = x - (double)size * floor(x / (double)size);
  return wrapped >= 0 && wrapped < (double)size ? wrapped : 0;
}

/* Moves site i to the centroid of its cell, unless the cell has no mass. */
CVTM_HD void cvtm_cvt_lloyd_step(cvtm_domain domain, const cvtm_cell_moments *moments,
                                 double *sites, int64_t i) {
  const cvtm_cell_moments *sums = &moments[i];
  if (!(sums->mass > 0)) return;
  double *site = sites + 2 * i;
  site[0] = cvtm_cvt_clamp(site[0] + sums->x / sums->mass, domain.width, domain.periodic);
  site[1] = cvtm_cvt_clamp(site[1] + sums->y / sums->mass, domain.height, domain.periodic);
}

CVTM_HD void cvtm_cvt_set_pixel_key(const int32_t *labels, uint64_t *keys, int32_t *pixels,
                                    int64_t p) {
  keys[p] = (uint32_t)labels[p];
  pixels[p] = (int32_t)p;
}

/* Inside cvt only: the plan, and the phases that differ between devices. */
#ifndef CVTMESH_CVT_EVALUATE_KERNELS_H
#define CVTMESH_CVT_EVALUATE_KERNELS_H

#include "cvt/cvt.h"
#include "cvt/density_row.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cvtm_cvt_table cvtm_cvt_table;
struct cvtm_site_updates_table; /* moves_kernels.h */

enum { CVTM_CVT_WINDOW = 10 }; /* iterations over which the relative decrease is averaged */

/* Everything of one plan; pointers are to device memory unless said otherwise. */
struct cvtm_cvt {
  cvtm_device *device;
  const cvtm_cvt_table *table;
  const struct cvtm_site_updates_table *updates;
  cvtm_domain domain;
  int64_t capacity;
  double mass, root;    /* integrals of rho and sqrt(rho) */
  double *square_roots; /* on the host: the latter over squares, of cvtm_density_scan */
  cvtm_density_view density;
  cvtm_site_tree *tree;
  double *sites;              /* 2 * capacity: the current state */
  double *best;               /* 2 * capacity: the best state of Lloyd's method */
  double *scale;              /* 2 * capacity */
  cvtm_cell_moments *moments; /* capacity, in the caller's order */
  double *second;             /* capacity */
  double *distance;           /* capacity: from the site to its centroid; 0 if fixed or empty */
  double *value;   /* of each evaluation of a window: f[0] energy, f[1] largest distance */
  double *least;   /* CVTM_CVT_WINDOW + 1: the energy of `best` before and after each */
  void *workspace; /* of sorts and reductions */
  size_t workspace_bytes;
  void *state;         /* of the table */
  cvtm_lbfgsb *solver; /* of the last descent, kept for the next, of `capacity` sites; or NULL */
  int64_t solver_count, solver_fixed; /* sites of its bounds, 0: none */
  int solver_history, solver_runs;
  /* For the pixel energy, allocated when first asked for: pixels grouped by label. */
  cvtm_voronoi *voronoi;
  int32_t *labels, *pixels, *pixels_alt;
  uint64_t *keys, *keys_alt;
};

struct cvtm_cvt_table {
  cvtm_status (*create_state)(cvtm_cvt *cvt);
  void (*destroy_state)(cvtm_cvt *cvt);
  /* sums over the cells of the sorted sites in the tree: integrals, or plain sums over the
   * pixel centres of the exact diagram. */
  cvtm_status (*cell_moments)(cvtm_cvt *cvt, int64_t count, cvtm_cvt_energy energy);
  /* keys[p] = labels[p] and pixels[p] = p for all pixels. */
  cvtm_status (*pixel_keys)(cvtm_cvt *cvt);
  /* sums over pixel centres from the sorted keys and pixels. */
  cvtm_status (*label_moments)(cvtm_cvt *cvt, const double *sites, int64_t count);
  /* From the sums: value[0] = the energy, value[1] = the largest distance of a site from `fixed`
   * on to its centroid, and the gradient if that is not NULL. */
  cvtm_status (*finish)(cvtm_cvt *cvt, int64_t count, int64_t fixed, double *value,
                        double *gradient);
  /* Moves the sites from `fixed` on to their centroids. */
  cvtm_status (*lloyd)(cvtm_cvt *cvt, double *sites, int64_t count, int64_t fixed);
};

/* Allocates what the pixel energy on a diagram that is not exact needs, once. */
cvtm_status cvtm_cvt_prepare_labels(cvtm_cvt *cvt);

extern const cvtm_cvt_table cvtm_cvt_table_cpu, cvtm_cvt_table_cuda;

#ifdef __cplusplus
}
#endif

/* Adds pixel p to the plain sum of a site, the nearest image of its centre on a torus. */
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

/* First place in sorted keys that is not below `key`. */
CVTM_HD int64_t cvtm_cvt_lower_bound(const uint64_t *keys, int64_t count, uint64_t key) {
  int64_t low = 0, high = count;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (keys[middle] < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* The larger of two; NaN on either side stays. */
CVTM_HD double cvtm_cvt_larger(double a, double b) { return a > b || a != a ? a : b; }

/* Site i's share of the gradient, dF/dx_i = -2 integral of rho (p - x_i), and the distance to its
 * centroid, 0 if it is fixed or its cell empty. */
CVTM_HD double cvtm_cvt_finish_site(const cvtm_cell_moments *sums, int64_t i, int64_t fixed,
                                    double *gradient) {
  if (gradient) {
    gradient[2 * i] = -2 * sums->x;
    gradient[2 * i + 1] = -2 * sums->y;
  }
  if (i < fixed || sums->mass == 0) return 0; /* NaN is not 0 */
  const double cx = sums->x / sums->mass, cy = sums->y / sums->mass;
  return sqrt(cx * cx + cy * cy);
}

CVTM_HD double cvtm_cvt_lloyd_coordinate(double x, double first, double mass, double size,
                                         int periodic) {
  const double moved = x + first / mass;
  if (periodic) return moved;
  return moved < 0 ? 0 : moved > size ? size : moved;
}

#endif

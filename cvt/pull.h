/* The derivative of a sum of integrals over Voronoi cells by the density of one pixel: with
 *
 *     L = sum_i integral over V_i of rho phi_i,  phi_i(x) = a_i + b_i . (x - x_i) + c_i |x - x_i|^2
 *
 * as in differential.h, it is the sum over the cells that meet the pixel of the integral of phi_i
 * over what they share. Each pixel gathers the sites near it, so that no two threads write to one
 * place. The cell of a site can meet the pixel only if the site is at most sqrt(2) farther from the
 * pixel's centre than the nearest one. Compiles as C11 and inside CUDA kernels. */
#ifndef CVTMESH_CVT_PULL_H
#define CVTMESH_CVT_PULL_H

#include "base/polygon.h"
#include "cvt/evaluate_kernels.h"
#include "voronoi/site_query.h"

enum {
  CVTM_PULL_SITES = 32,   /* the most cells that may meet a pixel */
  CVTM_PULL_VISITS = 512, /* the most sites that one search looks at */
  CVTM_PULL_CORNERS = CVTM_PULL_SITES + 4
};

typedef struct cvtm_pull_table {
  /* by_density: one number for each pixel. *crowded (device memory, zero before) becomes 1 if a
   * pixel has more sites near it than the limits allow; then the results are void. */
  cvtm_status (*pull)(cvtm_cvt *cvt, const double *phi, float *by_density, int32_t *crowded);
} cvtm_pull_table;

#ifdef __cplusplus
extern "C" {
#endif
extern const cvtm_pull_table cvtm_pull_cpu, cvtm_pull_cuda;
#ifdef __cplusplus
}
#endif

/* The places of the sites within `reach` of a point, and the squared distance of the nearest. */
typedef struct cvtm_pull_near {
  double nearest2;
  int32_t count; /* may be larger than the room */
  int32_t visits;
  int32_t place[CVTM_PULL_SITES];
} cvtm_pull_near;

CVTM_HD void cvtm_pull_search(const cvtm_site_tree_view *tree, cvtm_domain domain, double x,
                              double y, double reach, cvtm_pull_near *near) {
  const cvtm_bin_level bins = cvtm_bin_level_for(tree, domain, reach);
  const int32_t x0 = cvtm_bin_coordinate(&bins, x - reach, domain.width);
  const int32_t x1 = cvtm_bin_coordinate(&bins, x + reach, domain.width);
  const int32_t y0 = cvtm_bin_coordinate(&bins, y - reach, domain.height);
  const int32_t y1 = cvtm_bin_coordinate(&bins, y + reach, domain.height);
  near->nearest2 = HUGE_VAL;
  near->count = near->visits = 0;
  for (int32_t by = y0; by <= y1; ++by) {
    for (int32_t bx = x0; bx <= x1; ++bx) {
      int32_t first, last;
      cvtm_bin_sites(tree, bins.level, bx, by, &first, &last);
      near->visits += last - first;
      if (near->visits > CVTM_PULL_VISITS) return;
      for (int32_t place = first; place < last; ++place) {
        double sx, sy;
        cvtm_tree_position(tree, place, &sx, &sy);
        const double d2 = (x - sx) * (x - sx) + (y - sy) * (y - sy);
        if (!(d2 <= reach * reach)) continue;
        if (d2 < near->nearest2) near->nearest2 = d2;
        if (near->count < CVTM_PULL_SITES) near->place[near->count] = place;
        ++near->count;
      }
    }
  }
}

/* The estimated spacing of the sites around a point. */
CVTM_HD double cvtm_pull_spacing(const cvtm_site_tree_view *tree, cvtm_domain domain, double x,
                                 double y) {
  const cvtm_bin_level bins = cvtm_bin_level_for(tree, domain, 0);
  int32_t first, last;
  cvtm_bin_sites(tree, bins.level, cvtm_bin_coordinate(&bins, x, domain.width),
                 cvtm_bin_coordinate(&bins, y, domain.height), &first, &last);
  const double spacing = (double)tree->spacing[first < tree->count ? first : tree->count - 1];
  return spacing > 0 ? spacing : 0;
}

/* Finds the sites whose cells may meet the pixel around (x, y); returns 0 if there are too many. */
CVTM_HD int cvtm_pull_gather(const cvtm_site_tree_view *tree, cvtm_domain domain, double x,
                             double y, cvtm_pull_near *near) {
  const double farthest = 4e9; /* of a site from a pixel */
  double reach = 1.5 + 0.75 * cvtm_pull_spacing(tree, domain, x, y), needed;
  for (;;) {
    cvtm_pull_search(tree, domain, x, y, reach, near);
    if (near->visits > CVTM_PULL_VISITS || reach > farthest) return 0;
    needed = (sqrt(near->nearest2) + 1.4142135623730951) * (1 + 1e-9);
    if (needed <= reach || reach == needed) break;
    reach = near->count > 0 ? needed : 2 * reach;
  }
  if (near->count > CVTM_PULL_SITES) {
    cvtm_pull_search(tree, domain, x, y, needed, near);
    return near->visits <= CVTM_PULL_VISITS && near->count <= CVTM_PULL_SITES;
  }
  int32_t kept = 0;
  for (int32_t k = 0; k < near->count; ++k) {
    double sx, sy;
    cvtm_tree_position(tree, near->place[k], &sx, &sy);
    if ((x - sx) * (x - sx) + (y - sy) * (y - sy) <= needed * needed)
      near->place[kept++] = near->place[k];
  }
  near->count = kept;
  return 1;
}

/* The integral of phi over a polygon, both relative to one site. */
CVTM_HD double cvtm_pull_integral(const cvtm_corners *c, const double *phi) {
  double sum = 0;
  for (int32_t k = 0; k < c->count; ++k) {
    const int32_t next = k + 1 < c->count ? k + 1 : 0;
    const double x0 = c->x[k], y0 = c->y[k], x1 = c->x[next], y1 = c->y[next];
    const double second = x0 * x0 + x0 * x1 + x1 * x1 + y0 * y0 + y0 * y1 + y1 * y1;
    sum += (x1 * y0 - x0 * y1) *
           (phi[0] * (1.0 / 2) + (phi[1] * (x0 + x1) + phi[2] * (y0 + y1)) * (1.0 / 6) +
            phi[3] * second * (1.0 / 12));
  }
  return sum;
}

/* The same over what the cell of near->place[own] has of the pixel (column, row). Of sites that
 * share a place the first has the cell. */
CVTM_HD double cvtm_pull_part(const cvtm_site_tree_view *tree, const cvtm_pull_near *near,
                              int32_t own, double column, double row, const double *phi) {
  double x[CVTM_PULL_CORNERS], y[CVTM_PULL_CORNERS], sx, sy;
  int32_t border[4], at;
  cvtm_corners part = {0, CVTM_PULL_CORNERS, 1, x, y, NULL};
  const int32_t index = tree->index[near->place[own]];
  cvtm_tree_position(tree, near->place[own], &sx, &sy);
  cvtm_corners_rectangle(column - sx, row - sy, column + 1 - sx, row + 1 - sy, &part.count, x, y,
                         border);
  for (int32_t k = 0; k < near->count && part.count > 0; ++k) {
    double ox, oy;
    if (k == own) continue;
    cvtm_tree_position(tree, near->place[k], &ox, &oy);
    if (ox == sx && oy == sy && tree->index[near->place[k]] < index) return 0;
    (void)cvtm_corners_clip_bisector(&part, ox - sx, oy - sy, 0, &at);
  }
  return cvtm_pull_integral(&part, phi + 4 * (int64_t)index);
}

/* The derivative by the density of a pixel; returns 0 if it is crowded. */
CVTM_HD int cvtm_pull_to_pixel(const cvtm_site_tree_view *tree, cvtm_domain domain, int32_t column,
                               int32_t row, const double *phi, double *result) {
  cvtm_pull_near near;
  const double x = (double)column + 0.5, y = (double)row + 0.5;
  if (!cvtm_pull_gather(tree, domain, x, y, &near)) return 0;
  *result = 0;
  if (near.count == 1) { /* the whole pixel is in one cell */
    double sx, sy;
    cvtm_tree_position(tree, near.place[0], &sx, &sy);
    const double dx = x - sx, dy = y - sy, *p = phi + 4 * (int64_t)tree->index[near.place[0]];
    *result = p[0] + p[1] * dx + p[2] * dy + p[3] * (dx * dx + dy * dy + 1.0 / 6);
    return 1;
  }
  for (int32_t k = 0; k < near.count; ++k)
    *result += cvtm_pull_part(tree, &near, k, (double)column, (double)row, phi);
  return 1;
}

#endif

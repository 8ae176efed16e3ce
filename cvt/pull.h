/* The derivative of a sum of integrals over Voronoi cells by the density of one pixel: with
 *
 *     L = sum_i integral over V_i of rho phi_i,  phi_i(x) = a_i + b_i . (x - x_i) + c_i |x - x_i|^2
 *
 * as in differential.h, it is the sum over the cells that meet the pixel of the integral of phi_i
 * over what they share. Each pixel computes that of the sites near it, so that no two threads write
 * to one place.
 *
 * The lanes of a warp share the pixels of a tile. They gather the sites that may own a part of it
 * once, and each pixel takes the nearest of these, its base. Another site s owns a part of the
 * pixel only if its bisector with the base s_0 cuts the pixel, that is, with the pixel's centre p,
 *
 *     |p - s|^2 - |p - s_0|^2 <= |x_s - x_0| + |y_s - y_0|.
 *
 * The derivative is the integral of phi_0 over the pixel, and of phi_s - phi_0 over the part of
 * each such site: for one site a trapezoid or a triangle, for several polygons that are clipped.
 * Compiles as C11 and inside CUDA kernels. */
#ifndef CVTMESH_CVT_PULL_H
#define CVTMESH_CVT_PULL_H

#include "cvt/pull_sites.h"
#include "voronoi/cell_lanes.h"
#include "voronoi/site_query.h"

enum {
  CVTM_PULL_SHIFT = 5, /* log2 of the width of a tile, in pixels */
  CVTM_PULL_WIDTH = 1 << CVTM_PULL_SHIFT,
  CVTM_PULL_HEIGHT = 16,  /* so that the pixels of three cells occupy the lanes of a warp */
  CVTM_PULL_LEVELS = 4,   /* how often a tile is divided in four where too many sites are near */
  CVTM_PULL_SITES = 96,   /* the most sites near a tile, or a part of one */
  CVTM_PULL_SHARED = 128, /* flag of a base: other cells may meet its pixel */
  CVTM_PULL_AT_ONCE = 4,  /* pixels that a lane scans the sites for */
  CVTM_PULL_CELLS = 32,   /* the most cells that may meet a pixel */
  CVTM_PULL_VISITS = 4096 /* the most sites that a lane looks at in one search */
};

typedef struct cvtm_pull_table {
  /* by_density: one number for each pixel. *crowded (device memory, zero before) becomes 1 if a
   * pixel has more sites near it than the limits allow; then the results are void. */
  cvtm_status (*pull)(cvtm_cvt *cvt, const double *phi, float *by_density, int32_t *crowded);
  /* by_sites: 2 for each site; the boxes of the tree are built. memory->failed and
   * memory->deferred are 0 before; failed becomes 1 if a cell has too many corners or there is no
   * memory for it; then the results are void. */
  cvtm_status (*pull_to_sites)(cvtm_cvt *cvt, const double *phi, double *by_sites,
                               cvtm_pull_memory *memory);
} cvtm_pull_table;

#ifdef __cplusplus
extern "C" {
#endif
extern const cvtm_pull_table cvtm_pull_cpu, cvtm_pull_cuda;
#ifdef __cplusplus
}
#endif

/* a + b . x + c |x|^2. */
typedef struct cvtm_pull_polynomial {
  double a, bx, by, c;
} cvtm_pull_polynomial;

/* The sites near a part of a tile, in memory that its lanes share. Positions are relative to the
 * middle of the part; of sites that share a place the first has the cell. */
typedef struct cvtm_pull_near {
  double x[CVTM_PULL_SITES], y[CVTM_PULL_SITES];
  cvtm_pull_polynomial phi[CVTM_PULL_SITES]; /* of x - x_i */
  float fx[CVTM_PULL_SITES], fy[CVTM_PULL_SITES];
  uint8_t base[CVTM_PULL_WIDTH * CVTM_PULL_HEIGHT];    /* of each pixel of the part; flagged */
  uint16_t listed[CVTM_PULL_WIDTH * CVTM_PULL_HEIGHT]; /* pixels that several cells may meet */
  int32_t count;
} cvtm_pull_near;

/* A task: a part of a tile, and the lanes that share it. */
typedef struct cvtm_pull_part {
  cvtm_domain domain;
  cvtm_lanes lanes;
  int32_t column, row, width, height;
  int32_t shift; /* log2 of the width */
  cvtm_pull_near *near;
} cvtm_pull_part;

/* --- the sites near a part
 * ------------------------------------------------------------------------ */

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

/* Adds the site at a place if it is within `reach` of the part. All lanes call; place is negative
 * in those that have none. *count: the number of sites so far, the same in all lanes. */
CVTM_HD void cvtm_pull_add(const cvtm_pull_part *part, const cvtm_site_tree_view *tree,
                           int32_t place, double reach, const double *phi, int32_t *count) {
  cvtm_pull_near *near = part->near;
  double x = 0, y = 0;
  int keep = 0;
  if (place >= 0) {
    cvtm_tree_position(tree, place, &x, &y);
    x -= part->column + 0.5 * part->width;
    y -= part->row + 0.5 * part->height;
    const double dx = fmax(fabs(x) - 0.5 * part->width, 0);
    const double dy = fmax(fabs(y) - 0.5 * part->height, 0);
    keep = dx * dx + dy * dy <= reach * reach;
  }
  const int32_t at = cvtm_lanes_number(part->lanes, keep, count);
  if (!keep || at >= CVTM_PULL_SITES) return;
  const double *own = phi + 4 * (int64_t)tree->index[place];
  const cvtm_pull_polynomial p = {own[0], own[1], own[2], own[3]};
  near->x[at] = x;
  near->y[at] = y;
  near->fx[at] = (float)x;
  near->fy[at] = (float)y;
  near->phi[at] = p;
}

/* Gathers the sites within `reach`, and stops when there are too many. Returns 0 if too many were
 * looked at. */
CVTM_HD int cvtm_pull_gather(const cvtm_pull_part *part, const cvtm_site_tree_view *tree,
                             double reach, const double *phi) {
  const cvtm_domain domain = part->domain;
  const cvtm_bin_level bins =
      cvtm_bin_level_for(tree, domain, fmax(reach, (double)CVTM_PULL_HEIGHT));
  const int32_t x0 = cvtm_bin_coordinate(&bins, part->column - reach, domain.width);
  const int32_t x1 = cvtm_bin_coordinate(&bins, part->column + part->width + reach, domain.width);
  const int32_t y0 = cvtm_bin_coordinate(&bins, part->row - reach, domain.height);
  const int32_t y1 = cvtm_bin_coordinate(&bins, part->row + part->height + reach, domain.height);
  const int32_t across = x1 - x0 + 1, bin_count = across * (y1 - y0 + 1);
  const int32_t lane = part->lanes.lane;
  int32_t visits = 0, count = 0;
  cvtm_lanes_sync();
  for (int32_t bin = lane; bin - lane < bin_count && count <= CVTM_PULL_SITES;
       bin += part->lanes.count) {
    int32_t first = 0, last = 0;
    if (bin < bin_count)
      cvtm_bin_sites(tree, bins.level, x0 + bin % across, y0 + bin / across, &first, &last);
    const int32_t most = cvtm_lanes_most(last - first);
    if ((visits += most) > CVTM_PULL_VISITS) return 0;
    for (int32_t k = 0; k < most; ++k)
      cvtm_pull_add(part, tree, k < last - first ? first + k : -1, reach, phi, &count);
  }
  part->near->count = count;
  cvtm_lanes_sync();
  return 1;
}

CVTM_HD int cvtm_pull_is_inside(const cvtm_pull_part *part, int32_t pixel) {
  return (pixel & (part->width - 1)) < part->domain.width - part->column &&
         pixel >> part->shift < part->domain.height - part->row;
}

/* The middle of a pixel, relative to the middle of the part. */
CVTM_HD float cvtm_pull_x(const cvtm_pull_part *part, int32_t pixel) {
  return (float)(pixel & (part->width - 1)) + 0.5F * (float)(1 - part->width);
}
CVTM_HD float cvtm_pull_y(const cvtm_pull_part *part, int32_t pixel) {
  return (float)(pixel >> part->shift) + 0.5F * (float)(1 - part->height);
}

/* Sets the bases of the pixels first, first + lanes, ... to the nearest of the sites that have been
 * gathered, with a flag where another site is less than sqrt(2) farther. Returns the largest
 * squared distance. */
CVTM_HD float cvtm_pull_set_some_bases(const cvtm_pull_part *part, int32_t first) {
  cvtm_pull_near *near = part->near;
  const int32_t count = near->count < CVTM_PULL_SITES ? near->count : CVTM_PULL_SITES;
  float x[CVTM_PULL_AT_ONCE], y[CVTM_PULL_AT_ONCE], farthest = 0;
  float nearest[CVTM_PULL_AT_ONCE], second[CVTM_PULL_AT_ONCE];
  int32_t base[CVTM_PULL_AT_ONCE];
  for (int32_t q = 0; q < CVTM_PULL_AT_ONCE; ++q) {
    x[q] = cvtm_pull_x(part, first + q * part->lanes.count);
    y[q] = cvtm_pull_y(part, first + q * part->lanes.count);
    nearest[q] = second[q] = HUGE_VALF;
    base[q] = 0;
  }
  for (int32_t k = 0; k < count; ++k) {
    const float sx = near->fx[k], sy = near->fy[k];
    for (int32_t q = 0; q < CVTM_PULL_AT_ONCE; ++q) {
      const float dx = sx - x[q], dy = sy - y[q], d2 = CVTM_FMAF(dx, dx, dy * dy);
      second[q] = fminf(second[q], fmaxf(nearest[q], d2));
      base[q] = d2 < nearest[q] ? k : base[q];
      nearest[q] = fminf(nearest[q], d2);
    }
  }
  for (int32_t q = 0; q < CVTM_PULL_AT_ONCE; ++q) {
    const int32_t pixel = first + q * part->lanes.count;
    if (pixel >= part->width * part->height) break;
    const float least = (sqrtf(nearest[q]) + 1.4143F) * 1.00001F;
    near->base[pixel] = (uint8_t)(base[q] + (second[q] > least * least ? 0 : CVTM_PULL_SHARED));
    if (cvtm_pull_is_inside(part, pixel)) farthest = fmaxf(farthest, nearest[q]);
  }
  return farthest;
}

/* Sets all bases. Returns the distance from the part beyond which no other site can have a share of
 * its pixels. */
CVTM_HD double cvtm_pull_set_bases(const cvtm_pull_part *part) {
  float farthest = 0;
  for (int32_t first = part->lanes.lane; first < part->width * part->height;
       first += CVTM_PULL_AT_ONCE * part->lanes.count)
    farthest = fmaxf(farthest, cvtm_pull_set_some_bases(part, first));
  const double most = cvtm_lanes_largest(part->lanes, (double)farthest);
  return (sqrt(most) + 0.7072) * 1.00001;
}

/* Gathers all sites that have a share of the part's pixels, and sets the bases; returns 0 if there
 * are too many. */
CVTM_HD int cvtm_pull_prepare(const cvtm_pull_part *part, const cvtm_site_tree_view *tree,
                              const double *phi) {
  const double farthest = 4e9; /* of a site from a pixel */
  double reach = 1.5 + 0.9 * cvtm_pull_spacing(tree, part->domain, part->column + 0.5 * part->width,
                                               part->row + 0.5 * part->height);
  while (reach < farthest) {
    if (!cvtm_pull_gather(part, tree, reach, phi)) return 0;
    const int crowded = part->near->count > CVTM_PULL_SITES;
    if (part->near->count == 0) {
      reach *= 2;
      continue;
    }
    const double needed = cvtm_pull_set_bases(part);
    cvtm_lanes_sync();
    if (!crowded && needed <= reach) return 1;
    if (crowded && !(needed < 0.9 * reach)) return 0;
    reach = needed;
  }
  return 0;
}

/* --- integrals over the parts of a pixel
 * ---------------------------------------------------------- */

/* The polynomial of a site about the point (x, y) in place of the site. */
CVTM_HD cvtm_pull_polynomial cvtm_pull_about(const cvtm_pull_near *near, int32_t k, double x,
                                             double y) {
  const cvtm_pull_polynomial p = near->phi[k];
  const double dx = x - near->x[k], dy = y - near->y[k];
  const double cx = p.c * dx, cy = p.c * dy;
  const cvtm_pull_polynomial moved = {CVTM_FMA(p.bx + cx, dx, CVTM_FMA(p.by + cy, dy, p.a)),
                                      CVTM_FMA(2, cx, p.bx), CVTM_FMA(2, cy, p.by), p.c};
  return moved;
}

CVTM_HD cvtm_pull_polynomial cvtm_pull_difference(cvtm_pull_polynomial p, cvtm_pull_polynomial q) {
  const cvtm_pull_polynomial d = {p.a - q.a, p.bx - q.bx, p.by - q.by, p.c - q.c};
  return d;
}

/* The line nx x + ny y = offset of the points as near to site j as to site k, about (x, y); site k
 * is on the side of smaller values. */
typedef struct cvtm_pull_line {
  double nx, ny, offset;
} cvtm_pull_line;

CVTM_HD cvtm_pull_line cvtm_pull_bisector(const cvtm_pull_near *near, int32_t k, int32_t j,
                                          double x, double y) {
  const double nx = near->x[j] - near->x[k], ny = near->y[j] - near->y[k];
  const cvtm_pull_line line = {
      nx, ny,
      nx * (0.5 * (near->x[j] + near->x[k]) - x) + ny * (0.5 * (near->y[j] + near->y[k]) - y)};
  return line;
}

/* The integral of a polynomial over what lies beyond a line of the unit square about 0, whose
 * middle is not beyond it: mirrored to 0 <= ny <= nx, a trapezoid with one side on x = 1/2, which
 * the line makes `wide` at y = 1/2 and `narrow` at the other end of the side. */
CVTM_HD double cvtm_pull_cut(cvtm_pull_line line, cvtm_pull_polynomial p) {
  const int turned = fabs(line.ny) > fabs(line.nx);
  const double nx = fabs(turned ? line.ny : line.nx), ny = fabs(turned ? line.nx : line.ny);
  const double excess = CVTM_FMA(0.5, nx + ny, -line.offset); /* at the corner (1/2, 1/2) */
  if (!(excess > 0)) return 0;
  const int is_triangle = excess < ny;
  const double wide = excess / nx, narrow = is_triangle ? 0 : (excess - ny) / nx;
  const double height = is_triangle ? excess / ny : 1;
  const double h6 = height * (1.0 / 6), w2 = wide * wide, n2 = narrow * narrow;
  const double half = 1.5 * h6 * (wide + narrow); /* of the area */
  /* Of the distances from the corner: */
  const double u = h6 * CVTM_FMA(wide, narrow, w2 + n2),
               v = h6 * height * CVTM_FMA(2, narrow, wide);
  const double second =
      0.5 * h6 * CVTM_FMA(w2 + n2, wide + narrow, height * height * CVTM_FMA(3, narrow, wide));
  const double mx = line.nx < 0 ? -p.bx : p.bx, my = line.ny < 0 ? -p.by : p.by;
  const double first =
      turned ? CVTM_FMA(mx, half - v, my * (half - u)) : CVTM_FMA(mx, half - u, my * (half - v));
  return CVTM_FMA(2 * p.a, half, CVTM_FMA(p.c, second - u - v + half, first));
}

/* A convex polygon about the middle of a pixel, with room for what rounding adds. */
enum { CVTM_PULL_POLYGON = CVTM_PULL_CELLS + 8 };
typedef struct cvtm_pull_polygon {
  int32_t count;
  double x[CVTM_PULL_POLYGON], y[CVTM_PULL_POLYGON];
} cvtm_pull_polygon;

CVTM_HD void cvtm_pull_push(cvtm_pull_polygon *to, double x, double y) {
  if (to->count == CVTM_PULL_POLYGON) return;
  to->x[to->count] = x;
  to->y[to->count++] = y;
}

/* to = the part of a polygon that is not beyond a line. */
CVTM_HD void cvtm_pull_clip(const cvtm_pull_polygon *from, cvtm_pull_line line,
                            cvtm_pull_polygon *to) {
  to->count = 0;
  if (from->count == 0) return;
  double x = from->x[from->count - 1], y = from->y[from->count - 1];
  double beyond = CVTM_FMA(line.nx, x, CVTM_FMA(line.ny, y, -line.offset));
  for (int32_t k = 0; k < from->count; ++k) {
    const double next_x = from->x[k], next_y = from->y[k];
    const double next = CVTM_FMA(line.nx, next_x, CVTM_FMA(line.ny, next_y, -line.offset));
    if ((beyond < 0 && next > 0) || (beyond > 0 && next < 0)) {
      const double t = beyond / (beyond - next);
      cvtm_pull_push(to, CVTM_FMA(t, next_x - x, x), CVTM_FMA(t, next_y - y, y));
    }
    if (next <= 0) cvtm_pull_push(to, next_x, next_y);
    x = next_x;
    y = next_y;
    beyond = next;
  }
}

/* The integral of a polynomial over a polygon. */
CVTM_HD double cvtm_pull_integral(const cvtm_pull_polygon *c, cvtm_pull_polynomial p) {
  double sum = 0;
  if (c->count < 3) return 0;
  double x0 = c->x[c->count - 1], y0 = c->y[c->count - 1];
  for (int32_t k = 0; k < c->count; ++k) {
    const double x1 = c->x[k], y1 = c->y[k], x = x0 + x1, y = y0 + y1;
    const double second = CVTM_FMA(x, x, CVTM_FMA(y, y, -CVTM_FMA(x0, x1, y0 * y1)));
    sum += CVTM_FMA(x1, y0, -x0 * y1) *
           CVTM_FMA(p.c * (1.0 / 12), second,
                    CVTM_FMA(1.0 / 6, CVTM_FMA(p.bx, x, p.by * y), 0.5 * p.a));
    x0 = x1;
    y0 = y1;
  }
  return sum;
}

/* A pixel with its base, the middle at (x, y). */
typedef struct cvtm_pull_pixel {
  float x, y;
  int32_t base;
  cvtm_pull_polynomial phi; /* of the base, about the middle */
} cvtm_pull_pixel;

CVTM_HD cvtm_pull_pixel cvtm_pull_pixel_of(const cvtm_pull_part *part, int32_t pixel) {
  cvtm_pull_pixel p;
  p.x = cvtm_pull_x(part, pixel);
  p.y = cvtm_pull_y(part, pixel);
  p.base = part->near->base[pixel] & (CVTM_PULL_SHARED - 1);
  p.phi = cvtm_pull_about(part->near, p.base, (double)p.x, (double)p.y);
  return p;
}

/* Finds the sites that may have a share of a pixel, its base among them. Returns their number, and
 * the sum of their numbers; the first CVTM_PULL_CELLS go to list, unless that is NULL. */
CVTM_HD int32_t cvtm_pull_sharers(const cvtm_pull_near *near, const cvtm_pull_pixel *p,
                                  uint8_t *list, int32_t *sum) {
  const float x = p->x, y = p->y, bx = near->fx[p->base], by = near->fy[p->base];
  const float base2 = CVTM_FMAF(bx - x, bx - x, (by - y) * (by - y));
  const float least = base2 * (1 + 2e-6F) + 3e-4F; /* with room for rounding */
  int32_t count = 0;
  *sum = 0;
  for (int32_t k = 0; k < near->count; ++k) {
    const float sx = near->fx[k], sy = near->fy[k];
    const float d2 = CVTM_FMAF(sx - x, sx - x, (sy - y) * (sy - y));
    if (CVTM_FMAF(d2, 1 - 2e-6F, -least) > fabsf(sx - bx) + fabsf(sy - by)) continue;
    if (list != NULL && count < CVTM_PULL_CELLS) list[count] = (uint8_t)k;
    ++count;
    *sum += k;
  }
  return count;
}

/* The integral of phi_k - phi_base over the share of site k = list[own] of a pixel. */
CVTM_HD double cvtm_pull_share(const cvtm_pull_near *near, const cvtm_pull_pixel *p,
                               const uint8_t *list, int32_t count, int32_t own) {
  cvtm_pull_polygon shares[2];
  cvtm_pull_polygon *share = &shares[0];
  const int32_t k = list[own];
  share->count = 0;
  cvtm_pull_push(share, -0.5, -0.5);
  cvtm_pull_push(share, -0.5, 0.5);
  cvtm_pull_push(share, 0.5, 0.5);
  cvtm_pull_push(share, 0.5, -0.5);
  for (int32_t other = 0; other < count && share->count > 0; ++other) {
    if (other == own) continue;
    const cvtm_pull_line line =
        cvtm_pull_bisector(near, k, list[other], (double)p->x, (double)p->y);
    if (line.nx == 0 && line.ny == 0 && other < own) return 0;
    cvtm_pull_polygon *rest = share == &shares[0] ? &shares[1] : &shares[0];
    cvtm_pull_clip(share, line, rest);
    share = rest;
  }
  const cvtm_pull_polynomial phi = cvtm_pull_about(near, k, (double)p->x, (double)p->y);
  return cvtm_pull_integral(share, cvtm_pull_difference(phi, p->phi));
}

/* The integral over a pixel that the cell of site k and that of the base share. */
CVTM_HD double cvtm_pull_of_two(const cvtm_pull_near *near, const cvtm_pull_pixel *p, int32_t k) {
  const cvtm_pull_polynomial phi = cvtm_pull_about(near, k, (double)p->x, (double)p->y);
  const cvtm_pull_line line = cvtm_pull_bisector(near, p->base, k, (double)p->x, (double)p->y);
  if (line.offset >= 0)
    return p->phi.a + p->phi.c * (1.0 / 6) + cvtm_pull_cut(line, cvtm_pull_difference(phi, p->phi));
  /* The base is the farther one, by rounding. */
  const cvtm_pull_line back = {-line.nx, -line.ny, -line.offset};
  return phi.a + phi.c * (1.0 / 6) + cvtm_pull_cut(back, cvtm_pull_difference(p->phi, phi));
}

/* --- pixels
 * --------------------------------------------------------------------------------------- */

CVTM_HD void cvtm_pull_store(const cvtm_pull_part *part, int32_t pixel, double value,
                             float *by_density) {
  const int64_t row = part->row + (pixel >> part->shift);
  by_density[row * part->domain.width + part->column + (pixel & (part->width - 1))] = (float)value;
}

/* Computes the pixels that are in one cell, and lists the others; returns their number. */
CVTM_HD int32_t cvtm_pull_whole_pixels(const cvtm_pull_part *part, float *by_density) {
  const int32_t pixels = part->width * part->height, lane = part->lanes.lane;
  int32_t listed = 0;
  for (int32_t pixel = lane; pixel - lane < pixels; pixel += part->lanes.count) {
    const int wanted = pixel < pixels && cvtm_pull_is_inside(part, pixel);
    const int shared = wanted && part->near->base[pixel] >= CVTM_PULL_SHARED;
    if (wanted && !shared) {
      const cvtm_pull_pixel p = cvtm_pull_pixel_of(part, pixel);
      cvtm_pull_store(part, pixel, CVTM_FMA(p.phi.c, 1.0 / 6, p.phi.a), by_density);
    }
    const int32_t at = cvtm_lanes_number(part->lanes, shared, &listed);
    if (shared) part->near->listed[at] = (uint16_t)pixel;
  }
  cvtm_lanes_sync();
  return listed;
}

/* Computes the listed pixels that two cells meet at most, and lists the others again; returns their
 * number. */
CVTM_HD int32_t cvtm_pull_shared_pixels(const cvtm_pull_part *part, int32_t listed,
                                        float *by_density) {
  const int32_t lane = part->lanes.lane;
  int32_t left = 0;
  for (int32_t k = lane; k - lane < listed; k += part->lanes.count) {
    int32_t count = 0, sum = 0, pixel = 0;
    if (k < listed) {
      pixel = part->near->listed[k];
      const cvtm_pull_pixel p = cvtm_pull_pixel_of(part, pixel);
      count = cvtm_pull_sharers(part->near, &p, NULL, &sum);
      if (count <= 1)
        cvtm_pull_store(part, pixel, CVTM_FMA(p.phi.c, 1.0 / 6, p.phi.a), by_density);
      else if (count == 2)
        cvtm_pull_store(part, pixel, cvtm_pull_of_two(part->near, &p, sum - p.base), by_density);
    }
    const int32_t at = cvtm_lanes_number(part->lanes, count > 2, &left);
    cvtm_lanes_sync(); /* all lanes have read what the next step overwrites */
    if (count > 2) part->near->listed[at] = (uint16_t)pixel;
  }
  cvtm_lanes_sync();
  return left;
}

/* Computes a pixel of several cells; returns 0 if they are too many. */
CVTM_HD int cvtm_pull_listed_pixel(const cvtm_pull_part *part, int32_t pixel, float *by_density) {
  uint8_t list[CVTM_PULL_CELLS];
  int32_t sum;
  const cvtm_pull_pixel p = cvtm_pull_pixel_of(part, pixel);
  const int32_t count = cvtm_pull_sharers(part->near, &p, list, &sum);
  if (count > CVTM_PULL_CELLS) return 0;
  double value = p.phi.a + p.phi.c * (1.0 / 6);
  for (int32_t own = 0; own < count; ++own)
    if (list[own] != p.base) value += cvtm_pull_share(part->near, &p, list, count, own);
  cvtm_pull_store(part, pixel, value, by_density);
  return 1;
}

/* Computes a part of a tile; returns 0 in all lanes if too many sites are near. */
CVTM_HD int cvtm_pull_to_part(const cvtm_pull_part *part, const cvtm_site_tree_view *tree,
                              const double *phi, float *by_density) {
  if (part->column >= part->domain.width || part->row >= part->domain.height) return 1;
  if (!cvtm_pull_prepare(part, tree, phi)) return 0;
  const int32_t shared = cvtm_pull_whole_pixels(part, by_density);
  const int32_t listed = cvtm_pull_shared_pixels(part, shared, by_density);
  int good = 1;
  for (int32_t k = part->lanes.lane; k < listed; k += part->lanes.count)
    good &= cvtm_pull_listed_pixel(part, part->near->listed[k], by_density);
  return !cvtm_lanes_any(!good);
}

/* Computes the tile whose first pixel is (column, row), in parts where many sites are near; returns
 * 0 in all lanes if a pixel is crowded. */
CVTM_HD int cvtm_pull_to_tile(const cvtm_site_tree_view *tree, cvtm_domain domain, cvtm_lanes lanes,
                              int32_t column, int32_t row, const double *phi, cvtm_pull_near *near,
                              float *by_density) {
  /* Part `number` of the 4^level, along a Morton curve. */
  int32_t level = 0, number = 0;
  while (number < 1 || level > 0) {
    cvtm_pull_part part = {domain,
                           lanes,
                           0,
                           0,
                           CVTM_PULL_WIDTH >> level,
                           CVTM_PULL_HEIGHT >> level,
                           CVTM_PULL_SHIFT - level,
                           near};
    for (int32_t k = 0; k < level; ++k) {
      part.column += (number >> 2 * k & 1) << k;
      part.row += (number >> (2 * k + 1) & 1) << k;
    }
    part.column = column + part.column * part.width;
    part.row = row + part.row * part.height;
    if (cvtm_pull_to_part(&part, tree, phi, by_density)) {
      for (++number; level > 0 && number % 4 == 0; --level) number /= 4;
    } else if (level < CVTM_PULL_LEVELS) {
      number *= 4;
      ++level;
    } else {
      return 0;
    }
  }
  return 1;
}

#endif

/* The derivative of a sum of integrals over Voronoi cells with respect to a pixel's density. Let
 *
 *     L = sum_i integral over V_i of rho phi_i,  phi_i(x) = a_i + b_i . (x - x_i) + c_i |x - x_i|^2
 *
 * with rho constant on each pixel, so that L is linear in rho. Therefore the derivative is the sum,
 * over the cells that meet the pixel, of the integral of phi_i over the intersection. The
 * derivatives of energy, mass and centroid follow by the chain rule. Each pixel gathers from the
 * nearby sites, so that no two threads write to the same address.
 *
 * The image is divided into tiles of 32 x 16 pixels, and a tile into blocks of 8 x 8 pixels. On
 * CUDA the lanes of a warp divide the pixels of a tile among them. First the sites are gathered
 * whose cells may meet the tile. The cell of site s meets a rectangle of w x h pixels with the
 * centre p only if no bisector with another site s_0 separates the two, that is, only if
 *
 *     |p - s|^2 - |p - s_0|^2 <= w |x_s - x_0| + h |y_s - y_0|.
 *
 * By this test a block of pixels selects from the sites near the tile, with the site nearest to the
 * centre of the block as s_0. Then a pixel selects from the sites of its block. Its s_0 is its
 * base, the site nearest to its centre. The share of a site is the part of the pixel in its cell.
 * The derivative is the integral of phi_0 over the pixel, plus the integrals of phi_s - phi_0 over
 * the shares of the other sites. If there is a single other site, its share is a trapezoid or a
 * triangle. If there are several, line integrals along the boundaries of the shares are computed.
 * Compiles as C11 and inside CUDA kernels. */
#pragma once

#include "cvt/pull_near.h"
#include "cvt/pull_sites.h"

/* Arrays with a number for each pixel. If `precise` is not NULL, only `precise` is written, else
 * `single`. */
typedef struct cvtm_pull_result {
  float *single;
  double *precise;
} cvtm_pull_result;

typedef struct cvtm_pull_table {
  /* Computes derivatives with respect to the density. *crowded (device memory) must be 0. It is set
   * to 1 if a pixel has too many nearby sites; then the results are invalid. A CPU has no such
   * limit. */
  cvtm_status (*pull)(cvtm_cvt *cvt, const double *phi, cvtm_pull_result by_density,
                      int32_t *crowded);
  /* Computes the derivatives with respect to the sites. by_sites: 2 for each site. The boxes of the
   * tree must be built, and `memory->flags.failed` and `memory->flags.deferred` must be 0.
   * `memory->flags.failed` is set to 1 if a cell has too many corners or memory runs out; then the
   * results are invalid. */
  cvtm_status (*pull_to_sites)(cvtm_cvt *cvt, const double *phi, double *by_sites,
                               cvtm_pull_memory *memory);
} cvtm_pull_table;

CVTM_C_BEGIN

extern const cvtm_pull_table cvtm_pull_cpu, cvtm_pull_cuda;
CVTM_C_END

/* --- integrals over the parts of a pixel ----------------------------------------------------- */

/* Returns the polynomial of site k with (x, y) as the origin instead of the site. */
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

/* The points p where n . p = offset, with n = (nx, ny). "Beyond the line" means n . p > offset. */
typedef struct cvtm_pull_line {
  double nx, ny, offset;
} cvtm_pull_line;

/* Returns the bisector of sites k and j with (x, y) as the origin. Site j lies beyond the line. */
CVTM_HD cvtm_pull_line cvtm_pull_bisector(const cvtm_pull_near *near, int32_t k, int32_t j,
                                          double x, double y) {
  const double nx = near->x[j] - near->x[k], ny = near->y[j] - near->y[k];
  const cvtm_pull_line line = {
      nx, ny,
      nx * (0.5 * (near->x[j] + near->x[k]) - x) + ny * (0.5 * (near->y[j] + near->y[k]) - y)};
  return line;
}

/* Returns the integral of a polynomial over the part of the unit square around 0 that lies beyond a
 * line. The line must not have the centre beyond it, that is, offset >= 0. If axes are mirrored or
 * exchanged such that 0 <= ny <= nx, this part is a trapezoid or a triangle with a side on x = 1/2.
 * Its extent in x is `wide` at y = 1/2 and `narrow` at the other end of that side. */
CVTM_HD double cvtm_pull_cut(cvtm_pull_line line, cvtm_pull_polynomial p) {
  const int turned = fabs(line.ny) > fabs(line.nx);
  const double nx = fabs(turned ? line.ny : line.nx), ny = fabs(turned ? line.nx : line.ny);
  const double excess = CVTM_FMA(0.5, nx + ny, -line.offset); /* at the corner (1/2, 1/2) */
  if (!(excess > 0)) return 0;
  const int is_triangle = excess < ny;
  const double scale = 1 / nx, wide = excess * scale,
               narrow = is_triangle ? 0 : (excess - ny) * scale;
  const double height = is_triangle ? excess / ny : 1;
  const double h6 = height * (1.0 / 6), w2 = wide * wide, n2 = narrow * narrow;
  const double half = 1.5 * h6 * (wide + narrow); /* half of the area */
  /* u, v: integrals of the distances from the corner (1/2, 1/2) along x and y; second: the integral
   * of the squared distance from that corner. */
  const double u = h6 * CVTM_FMA(wide, narrow, w2 + n2),
               v = h6 * height * CVTM_FMA(2, narrow, wide);
  const double second =
      0.5 * h6 * CVTM_FMA(w2 + n2, wide + narrow, height * height * CVTM_FMA(3, narrow, wide));
  const double mx = line.nx < 0 ? -p.bx : p.bx, my = line.ny < 0 ? -p.by : p.by;
  const double first =
      turned ? CVTM_FMA(mx, half - v, my * (half - u)) : CVTM_FMA(mx, half - u, my * (half - v));
  return CVTM_FMA(2 * p.a, half, CVTM_FMA(p.c, second - u - v + half, first));
}

/* The segment (x, y) + t (dx, dy), t0 <= t <= t1, relative to the centre of a pixel; empty unless
 * t0 < t1. */
typedef struct cvtm_pull_segment {
  double x, y, dx, dy, t0, t1;
} cvtm_pull_segment;

/* Keeps the part of the segment that is not beyond a line. */
CVTM_HD void cvtm_pull_shorten(cvtm_pull_segment *s, cvtm_pull_line line) {
  const double slope = CVTM_FMA(line.nx, s->dx, line.ny * s->dy);
  const double room = CVTM_FMA(-line.nx, s->x, CVTM_FMA(-line.ny, s->y, line.offset));
  if (slope > 0)
    s->t1 = fmin(s->t1, room / slope);
  else if (slope < 0)
    s->t0 = fmax(s->t0, room / slope);
  else if (room < 0)
    s->t1 = s->t0;
}

/* Keeps the part of the segment where the coordinate p + t step is between -1/2 and 1/2. */
CVTM_HD void cvtm_pull_shorten_to_pixel(cvtm_pull_segment *s, double p, double step) {
  const double scale = 1 / step, middle = -p * scale, reach = 0.5 * fabs(scale);
  if (step != 0) {
    s->t0 = fmax(s->t0, middle - reach);
    s->t1 = fmin(s->t1, middle + reach);
  } else if (fabs(p) > 0.5) {
    s->t1 = s->t0;
  }
}

/* Returns the integral of P dy along a segment. P(x, y) is the integral of a polynomial along the
 * row from (-1/2, y) to (x, y). Gauss's rule with two points is exact, since P has degree 3. The
 * integral of the polynomial over a polygon is the sum of these integrals along the boundary
 * (Green's theorem); sides with x = -1/2 or constant y add nothing. */
CVTM_HD double cvtm_pull_along(const cvtm_pull_segment *s, cvtm_pull_polynomial p) {
  if (!(s->t0 < s->t1)) return 0;
  const double half = 0.5 * (s->t1 - s->t0), middle = 0.5 * (s->t0 + s->t1);
  double sum = 0;
  for (int k = -1; k <= 1; k += 2) {
    const double t = CVTM_FMA(k * half, 0.57735026918962576451, middle);
    const double x = CVTM_FMA(t, s->dx, s->x), y = CVTM_FMA(t, s->dy, s->y);
    const double row = CVTM_FMA(y, CVTM_FMA(p.c, y, p.by), p.a);
    const double rest =
        CVTM_FMA(p.c * (1.0 / 3), CVTM_FMA(x, x - 0.5, 0.25), 0.5 * p.bx * (x - 0.5));
    sum = CVTM_FMA(x + 0.5, row + rest, sum);
  }
  return half * s->dy * sum;
}

/* A pixel and its base. (x, y): its centre, relative to the centre of the part of the tile. */
typedef struct cvtm_pull_pixel {
  float x, y;
  int32_t base;
  cvtm_pull_polynomial phi; /* polynomial of the base, with the origin (x, y) */
} cvtm_pull_pixel;

CVTM_HD cvtm_pull_pixel cvtm_pull_pixel_of(const cvtm_pull_part *part, int32_t pixel) {
  cvtm_pull_pixel p;
  p.x = cvtm_pull_x(part, pixel);
  p.y = cvtm_pull_y(part, pixel);
  p.base = part->near->base[pixel] & (CVTM_PULL_SHARED - 1);
  p.phi = cvtm_pull_about(part->near, p.base, (double)p.x, (double)p.y);
  return p;
}

/* An iteration over the sites that may have a share of a pixel, including its base. */
typedef struct cvtm_pull_walk {
  const uint32_t *sites;
  uint32_t left; /* bits of sites[word] that have not been visited */
  int32_t word;
  float base2; /* squared distance of the base from the pixel's centre */
} cvtm_pull_walk;

CVTM_HD cvtm_pull_walk cvtm_pull_begin_walk(const cvtm_pull_part *part, int32_t pixel,
                                            const cvtm_pull_pixel *p) {
  const uint32_t *sites = part->near->of_block[cvtm_pull_block_of(part, pixel)];
  const cvtm_pull_walk walk = {sites, sites[0], 0,
                               cvtm_pull_distance2(part->near, p->base, p->x, p->y)};
  return walk;
}

/* Returns the next site, or -1 after the last. */
CVTM_HD int32_t cvtm_pull_next_sharer(const cvtm_pull_near *near, const cvtm_pull_pixel *p,
                                      cvtm_pull_walk *walk) {
  for (;;) {
    while (walk->left == 0) {
      if (++walk->word == CVTM_PULL_WORDS) return -1;
      walk->left = walk->sites[walk->word];
    }
    const int32_t k = 32 * walk->word + cvtm_lowest_bit(walk->left);
    walk->left &= walk->left - 1;
    if (cvtm_pull_may_share(near, k, p->base, walk->base2, p->x, p->y, 1, 1)) return k;
  }
}

/* Returns the number of sites of the walk. *sum = the sum of their indices in `near`. */
CVTM_HD int32_t cvtm_pull_count_sharers(const cvtm_pull_part *part, int32_t pixel,
                                        const cvtm_pull_pixel *p, int32_t *sum) {
  cvtm_pull_walk walk = cvtm_pull_begin_walk(part, pixel, p);
  int32_t count = 0, k;
  for (*sum = 0; (k = cvtm_pull_next_sharer(part->near, p, &walk)) >= 0; ++count) *sum += k;
  return count;
}

/* Lists the sites of the walk, and of coincident sites only the first. Returns the number of listed
 * sites, or CVTM_PULL_CELLS + 1 if there are more than CVTM_PULL_CELLS. */
CVTM_HD int32_t cvtm_pull_list_sharers(const cvtm_pull_part *part, int32_t pixel,
                                       const cvtm_pull_pixel *p, uint8_t *list) {
  const cvtm_pull_near *near = part->near;
  cvtm_pull_walk walk = cvtm_pull_begin_walk(part, pixel, p);
  int32_t count = 0, k;
  while ((k = cvtm_pull_next_sharer(near, p, &walk)) >= 0) {
    int32_t same = 0;
    while (same < count && (near->x[list[same]] != near->x[k] || near->y[list[same]] != near->y[k]))
      ++same;
    if (same < count) continue;
    if (count == CVTM_PULL_CELLS) return CVTM_PULL_CELLS + 1;
    list[count++] = (uint8_t)k;
  }
  return count;
}

/* Shortens *s to the points where no listed site except site j is nearer than site k. */
CVTM_HD void cvtm_pull_shorten_to_cell(const cvtm_pull_near *near, const cvtm_pull_pixel *p,
                                       const uint8_t *list, int32_t count, int32_t k, int32_t j,
                                       cvtm_pull_segment *s) {
  for (int32_t m = 0; m < count && s->t0 < s->t1; ++m)
    if (list[m] != k && list[m] != j)
      cvtm_pull_shorten(s, cvtm_pull_bisector(near, k, list[m], (double)p->x, (double)p->y));
}

/* Returns what site k = list[own] contributes to the line integrals along the boundaries of the
 * shares: the integral along the side x = 1/2 of the pixel, and those along the bisectors with the
 * sites earlier in the list. */
CVTM_HD double cvtm_pull_share(const cvtm_pull_near *near, const cvtm_pull_pixel *p,
                               const uint8_t *list, int32_t count, int32_t own) {
  const int32_t k = list[own];
  const cvtm_pull_polynomial phi = cvtm_pull_about(near, k, (double)p->x, (double)p->y);
  cvtm_pull_segment side = {0.5, 0, 0, 1, -0.5, 0.5};
  double sum = 0;
  if (k != p->base) {
    cvtm_pull_shorten_to_cell(near, p, list, count, k, k, &side);
    sum = cvtm_pull_along(&side, cvtm_pull_difference(phi, p->phi));
  }
  for (int32_t before = 0; before < own; ++before) {
    const int32_t j = list[before];
    const cvtm_pull_line line = cvtm_pull_bisector(near, k, j, (double)p->x, (double)p->y);
    const double scale = line.offset / CVTM_FMA(line.nx, line.nx, line.ny * line.ny);
    cvtm_pull_segment edge = {line.nx * scale, line.ny * scale, -line.ny,
                              line.nx,         -HUGE_VAL,       HUGE_VAL};
    cvtm_pull_shorten_to_pixel(&edge, edge.x, edge.dx);
    cvtm_pull_shorten_to_pixel(&edge, edge.y, edge.dy);
    cvtm_pull_shorten_to_cell(near, p, list, count, k, j, &edge);
    const cvtm_pull_polynomial other = cvtm_pull_about(near, j, (double)p->x, (double)p->y);
    sum += cvtm_pull_along(&edge, cvtm_pull_difference(phi, other));
  }
  return sum;
}

/* Returns the derivative with respect to the density of a pixel that meets only the cells of site k
 * and of the base. */
CVTM_HD double cvtm_pull_of_two(const cvtm_pull_near *near, const cvtm_pull_pixel *p, int32_t k) {
  const cvtm_pull_polynomial phi = cvtm_pull_about(near, k, (double)p->x, (double)p->y);
  const cvtm_pull_line line = cvtm_pull_bisector(near, p->base, k, (double)p->x, (double)p->y);
  if (line.offset >= 0)
    return p->phi.a + p->phi.c * (1.0 / 6) + cvtm_pull_cut(line, cvtm_pull_difference(phi, p->phi));
  /* By rounding, the base can be the farther of both sites. */
  const cvtm_pull_line back = {-line.nx, -line.ny, -line.offset};
  return phi.a + phi.c * (1.0 / 6) + cvtm_pull_cut(back, cvtm_pull_difference(p->phi, phi));
}

/* --- pixels ----------------------------------------------------------------------------------- */

CVTM_HD void cvtm_pull_store(const cvtm_pull_part *part, int32_t pixel, double value,
                             cvtm_pull_result by_density) {
  const int64_t row = part->row + (pixel >> part->shift);
  const int64_t at = row * part->domain.width + part->column + (pixel & (part->width - 1));
  if (by_density.precise)
    by_density.precise[at] = value;
  else
    by_density.single[at] = (float)value;
}

/* Computes the derivatives for the pixels that lie in one cell, and lists the other pixels. Returns
 * the number of the other pixels. */
CVTM_HD int32_t cvtm_pull_whole_pixels(const cvtm_pull_part *part, cvtm_pull_result by_density) {
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

/* Computes the derivatives for the listed pixels that meet at most two cells, and removes these
 * pixels from the list. Returns the number of pixels that remain in the list. */
CVTM_HD int32_t cvtm_pull_shared_pixels(const cvtm_pull_part *part, int32_t listed,
                                        cvtm_pull_result by_density) {
  const int32_t lane = part->lanes.lane;
  int32_t left = 0;
  for (int32_t k = lane; k - lane < listed; k += part->lanes.count) {
    int32_t count = 0, sum = 0, pixel = 0;
    if (k < listed) {
      pixel = part->near->listed[k];
      const cvtm_pull_pixel p = cvtm_pull_pixel_of(part, pixel);
      count = cvtm_pull_count_sharers(part, pixel, &p, &sum);
      if (count <= 1)
        cvtm_pull_store(part, pixel, CVTM_FMA(p.phi.c, 1.0 / 6, p.phi.a), by_density);
      else if (count == 2)
        cvtm_pull_store(part, pixel, cvtm_pull_of_two(part->near, &p, sum - p.base), by_density);
    }
    const int32_t at = cvtm_lanes_number(part->lanes, count > 2, &left);
    cvtm_lanes_sync(); /* all lanes have read `listed` before a lane overwrites it */
    if (count > 2) part->near->listed[at] = (uint16_t)pixel;
  }
  cvtm_lanes_sync();
  return left;
}

/* Computes the derivative for a pixel that meets several cells. Returns 0 if there are more than
 * CVTM_PULL_CELLS. */
CVTM_HD int cvtm_pull_listed_pixel(const cvtm_pull_part *part, int32_t pixel,
                                   cvtm_pull_result by_density) {
  uint8_t list[CVTM_PULL_CELLS];
  const cvtm_pull_pixel p = cvtm_pull_pixel_of(part, pixel);
  const int32_t count = cvtm_pull_list_sharers(part, pixel, &p, list);
  if (count > CVTM_PULL_CELLS) return 0;
  double value = p.phi.a + p.phi.c * (1.0 / 6);
  for (int32_t own = 0; own < count; ++own)
    value += cvtm_pull_share(part->near, &p, list, count, own);
  cvtm_pull_store(part, pixel, value, by_density);
  return 1;
}

/* Computes the derivatives for a part of a tile. Returns 0 in all lanes if there are too many
 * nearby sites. */
CVTM_HD int cvtm_pull_to_part(const cvtm_pull_part *part, const cvtm_site_tree_view *tree,
                              const double *phi, cvtm_pull_result by_density) {
  if (part->column >= part->domain.width || part->row >= part->domain.height) return 1;
  if (!cvtm_pull_prepare(part, tree, phi)) return 0;
  const int32_t shared = cvtm_pull_whole_pixels(part, by_density);
  const int32_t listed = cvtm_pull_shared_pixels(part, shared, by_density);
  int good = 1;
  for (int32_t k = part->lanes.lane; k < listed; k += part->lanes.count)
    good &= cvtm_pull_listed_pixel(part, part->near->listed[k], by_density);
  return !cvtm_lanes_any(!good);
}

/* Computes the derivatives for the tile whose first pixel is (column, row), in parts if there are
 * many nearby sites. Returns 0 in all lanes if there are too many sites even for the smallest
 * parts. */
CVTM_HD int cvtm_pull_to_tile(const cvtm_site_tree_view *tree, cvtm_domain domain, cvtm_lanes lanes,
                              int32_t column, int32_t row, const double *phi, cvtm_pull_near *near,
                              cvtm_pull_result by_density) {
  /* number: index of a part among 4^level parts, along a Morton curve. */
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

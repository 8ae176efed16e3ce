/* The Voronoi cell of a site on the sphere, and the integrals over it. In the central projection
 * from the centre of the sphere to the tangent plane of the site, great circles are straight lines,
 * so a cell is a convex polygon that lines cut out (base/geometry.h). Compiles as C11 and inside
 * CUDA kernels. */
#ifndef CVTMESH_CVT_SPHERE_SPHERE_CELL_H
#define CVTMESH_CVT_SPHERE_SPHERE_CELL_H

#include "base/geometry.h"
#include "base/host.h"
#include "base/sphere.h"

/* --- the tree of sites ------------------------------------------------------------------------ */

enum {
  CVTM_SPHERE_LEVELS = 10,
  CVTM_SPHERE_BRANCH_BITS = 3, /* 8 sites in a leaf, 8 children of a node */
  CVTM_SPHERE_SIDES = 32,      /* the most corners of a cell */
  CVTM_SPHERE_HINTS = 10       /* neighbours that are kept for the next evaluation */
};

/* A ball around the sites of a node. */
typedef struct cvtm_sphere_ball {
  cvtm_vector centre;
  double radius;
} cvtm_sphere_ball;

/* Sites in the order of a Morton curve; node k of level l has the sites k 8^(l+1) ..
 * (k+1) 8^(l+1) - 1. The order stays while the sites move, only the balls follow. */
typedef struct cvtm_sphere_tree {
  int64_t count;
  const double *sites; /* 3 * count, unit vectors */
  int32_t levels;
  cvtm_sphere_ball *balls[CVTM_SPHERE_LEVELS];
} cvtm_sphere_tree;

CVTM_INLINE int64_t cvtm_sphere_span(int32_t level) {
  return (int64_t)1 << (CVTM_SPHERE_BRANCH_BITS * (level + 1));
}

/* Makes ball k of a level from the level below, or from the sites. */
CVTM_INLINE void cvtm_sphere_make_ball(const cvtm_sphere_tree *tree, int32_t level, int64_t k) {
  const int64_t below =
      level == 0 ? tree->count : (tree->count - 1) / cvtm_sphere_span(level - 1) + 1;
  const int64_t first = k << CVTM_SPHERE_BRANCH_BITS;
  const int64_t most = first + (1 << CVTM_SPHERE_BRANCH_BITS), end = most < below ? most : below;
  cvtm_vector sum = cvtm_vector_of(0, 0, 0);
  for (int64_t i = first; i < end; ++i)
    sum = cvtm_vector_add(
        sum, 1, level == 0 ? cvtm_vector_load(tree->sites, i) : tree->balls[level - 1][i].centre);
  const double share = 1 / (double)(end - first);
  cvtm_sphere_ball ball = {cvtm_vector_of(share * sum.x, share * sum.y, share * sum.z), 0};
  for (int64_t i = first; i < end; ++i) {
    const cvtm_vector at =
        level == 0 ? cvtm_vector_load(tree->sites, i) : tree->balls[level - 1][i].centre;
    const double reach =
        sqrt(cvtm_chord2(at, ball.centre)) + (level == 0 ? 0 : tree->balls[level - 1][i].radius);
    if (reach > ball.radius) ball.radius = reach;
  }
  ball.radius *= 1 + 1e-14;
  tree->balls[level][k] = ball;
}

/* --- the map of widths ------------------------------------------------------------------------ */

/* Widths on the six faces of a cube around the sphere, from the centre: side x side points each.
 * Face 2 k + (coordinate k is negative); row and column are the next two coordinates, in turn, over
 * coordinate k, from -1 to 1. A look-up is a division; no place is special, and faces share the
 * points of their edges. Between the points the width is interpolated bilinearly. */
typedef struct cvtm_sphere_map {
  const float *value; /* NULL: the density is 1 */
  int32_t side;       /* at least 2 */
  double step;        /* the largest distance between points, in radians */
  int32_t quick;      /* nonzero: the rule of degree 2, for descents */
  int32_t most_parts; /* into which a triangle's side may be divided for an integral */
} cvtm_sphere_map;

/* The direction of a point of the map; not a unit vector. */
CVTM_INLINE cvtm_vector cvtm_sphere_map_point(int32_t side, int64_t index) {
  const int64_t face = index / ((int64_t)side * side), place = index % ((int64_t)side * side);
  const double sign = face % 2 ? -1 : 1;
  const double u = sign * (2 * (double)(place / side) / (side - 1) - 1);
  const double v = sign * (2 * (double)(place % side) / (side - 1) - 1);
  return face / 2 == 0   ? cvtm_vector_of(sign, u, v)
         : face / 2 == 1 ? cvtm_vector_of(v, sign, u)
                         : cvtm_vector_of(u, v, sign);
}

/* The width in a direction of any length. */
CVTM_INLINE double cvtm_sphere_width(const cvtm_sphere_map *map, double x, double y, double z) {
  const double ax = fabs(x), ay = fabs(y), az = fabs(z);
  const int on_x = ax >= ay && ax >= az, on_y = !on_x && ay >= az;
  const double top = on_x   ? x
                     : on_y ? y
                            : z,
               a = on_x   ? y
                   : on_y ? z
                          : x,
               b = on_x   ? z
                   : on_y ? x
                          : y;
  const double scale = 0.5 * (map->side - 1), f = scale / top;
  const double row = a * f + scale, column = b * f + scale;
  int32_t j = (int32_t)row, i = (int32_t)column;
  j = j < map->side - 2 ? j : map->side - 2;
  i = i < map->side - 2 ? i : map->side - 2;
  const double u = column - i, v = row - j;
  const int64_t face = (on_x ? 0 : on_y ? 2 : 4) + (top < 0);
  const float *lower = map->value + (face * map->side + j) * map->side + i;
  const float *upper = lower + map->side;
  const double south = (double)lower[0] + u * ((double)lower[1] - (double)lower[0]);
  const double north = (double)upper[0] + u * ((double)upper[1] - (double)upper[0]);
  return south + v * (north - south);
}

/* width^-4. */
CVTM_INLINE double cvtm_sphere_density(const cvtm_sphere_map *map, double x, double y, double z) {
  const double w = cvtm_sphere_width(map, x, y, z), w2 = w * w;
  return 1 / (w2 * w2);
}

/* --- the cell --------------------------------------------------------------------------------- */

typedef struct cvtm_sphere_cell {
  cvtm_vector site, e1, e2; /* corner k is in the direction site + x[k] e1 + y[k] e2 */
  cvtm_corners corners;
  double x[CVTM_SPHERE_SIDES], y[CVTM_SPHERE_SIDES];
  int32_t neighbor[CVTM_SPHERE_SIDES];
  double radius2; /* of the farthest corner in the plane */
} cvtm_sphere_cell;

typedef enum cvtm_sphere_outcome {
  CVTM_SPHERE_DONE,
  CVTM_SPHERE_OPEN, /* the cell reaches farther than 83 degrees, or has too many corners */
} cvtm_sphere_outcome;

CVTM_INLINE void cvtm_sphere_cell_start(cvtm_vector site, cvtm_sphere_cell *cell) {
  const double far = 8;
  cell->site = site;
  cvtm_tangents(site, &cell->e1, &cell->e2);
  cell->corners.capacity = CVTM_SPHERE_SIDES;
  cell->corners.stride = 1;
  cell->corners.x = cell->x;
  cell->corners.y = cell->y;
  cell->corners.neighbor = cell->neighbor;
  cvtm_corners_rectangle(-far, -far, far, far, &cell->corners.count, cell->x, cell->y,
                         cell->neighbor);
  cell->radius2 = 2 * far * far;
}

/* Cuts by the bisector with site j. A point s + x e1 + y e2 is nearer to s than to t if
 * x t.e1 + y t.e2 <= |s - t|^2 / 2. Sites farther away than twice the cell's radius do not cut. */
CVTM_INLINE void cvtm_sphere_cell_cut(cvtm_sphere_cell *cell, cvtm_vector t, int32_t j) {
  const double chord2 = cvtm_chord2(cell->site, t);
  if (chord2 * (1 + cell->radius2) > 4 * cell->radius2 || chord2 == 0) return;
  int32_t at;
  if (cvtm_corners_clip(&cell->corners, cvtm_vector_dot(t, cell->e1), cvtm_vector_dot(t, cell->e2),
                        0.5 * chord2, j, &at) != CVTM_CLIP_CUT)
    return;
  double farthest = 0;
  for (int32_t k = 0; k < cell->corners.count; ++k) {
    const double r2 = cell->x[k] * cell->x[k] + cell->y[k] * cell->y[k];
    farthest = r2 > farthest ? r2 : farthest;
  }
  cell->radius2 = farthest;
}

/* Cuts by the sites of the tree at chords from `from` to `to`, as far as they can cut. */
CVTM_INLINE void cvtm_sphere_cell_cut_ring(const cvtm_sphere_tree *tree, int64_t i,
                                           const int32_t *hints, int32_t hint_count, double from,
                                           double to, cvtm_sphere_cell *cell) {
  const cvtm_vector s = cell->site;
  int32_t level = tree->levels - 1;
  double reach = fmin(to, 2 * sqrt(cell->radius2 / (1 + cell->radius2)));
  for (int64_t place = 0; place < tree->count;) {
    const int64_t span = cvtm_sphere_span(level);
    const cvtm_sphere_ball *ball =
        tree->balls[level] + (place >> (CVTM_SPHERE_BRANCH_BITS * (level + 1)));
    const double near = reach + ball->radius;
    if (cvtm_chord2(s, ball->centre) <= near * near) {
      if (level > 0) {
        --level;
        continue;
      }
      const int64_t end = place + span < tree->count ? place + span : tree->count;
      for (int64_t j = place; j < end; ++j) {
        const cvtm_vector t = cvtm_vector_load(tree->sites, j);
        const double chord2 = cvtm_chord2(s, t);
        if (chord2 > reach * reach || chord2 < from * from || j == i) continue;
        int32_t known = 0;
        while (known < hint_count && hints[known] != (int32_t)j) ++known;
        if (known < hint_count) continue; /* its line has cut already */
        cvtm_sphere_cell_cut(cell, t, (int32_t)j);
        reach = fmin(to, 2 * sqrt(cell->radius2 / (1 + cell->radius2)));
      }
    }
    place += span;
    while (level < tree->levels - 1 && (place & (cvtm_sphere_span(level + 1) - 1)) == 0) ++level;
  }
}

/* hints: the cell's neighbours before, -1 after the last; replaced by those of now. */
CVTM_INLINE cvtm_sphere_outcome cvtm_sphere_cell_make(const cvtm_sphere_tree *tree, int64_t i,
                                                      int32_t *hints, cvtm_sphere_cell *cell) {
  const cvtm_vector s = cvtm_vector_load(tree->sites, i);
  cvtm_sphere_cell_start(s, cell);
  int32_t hint_count = 0;
  double nearest2 = 4;
  for (; hint_count < CVTM_SPHERE_HINTS && hints[hint_count] >= 0; ++hint_count) {
    const cvtm_vector t = cvtm_vector_load(tree->sites, hints[hint_count]);
    nearest2 = fmin(nearest2, cvtm_chord2(s, t));
    cvtm_sphere_cell_cut(cell, t, hints[hint_count]);
  }
  /* In rings, because the far sites would cut in vain before the near ones have. */
  double from = 0, to = 3 * sqrt(nearest2);
  if (!(to > 1e-9)) to = 1e-9;
  for (;;) {
    cvtm_sphere_cell_cut_ring(tree, i, hints, hint_count, from, to, cell);
    if (4 * cell->radius2 <= to * to * (1 + cell->radius2) || to > 2) break;
    from = to * (1 + 1e-15);
    to *= 2;
  }
  int32_t open = cell->corners.count < 3 || cell->corners.count == CVTM_SPHERE_SIDES;
  for (int32_t k = 0; k < cell->corners.count; ++k) {
    open |= cell->neighbor[k] < 0;
    if (k < CVTM_SPHERE_HINTS) hints[k] = cell->neighbor[k];
  }
  if (cell->corners.count < CVTM_SPHERE_HINTS) hints[cell->corners.count] = -1;
  return open ? CVTM_SPHERE_OPEN : CVTM_SPHERE_DONE;
}

/* --- the integrals ---------------------------------------------------------------------------- */

/* Integrals of the density over the cell: its mass, its first moment along the axes of the cell,
 * and its energy, with the squared chord from the site. */
typedef struct cvtm_sphere_sums {
  double mass, x, y, z, energy;
} cvtm_sphere_sums;

enum {
  CVTM_SPHERE_POINTS = 8,      /* seven, and one of no weight that fills the vectors */
  CVTM_SPHERE_QUICK_POINTS = 4 /* three and one */
};

/* Adds the integrals over the triangle between corners a, b, c of the plane: by the rule of degree
 * 5 with seven points (Radon 1948), or by that of degree 2 with three. points: one of the numbers
 * above. A point at distance r in the plane has the area element (1 + r^2)^(-3/2) on the sphere. */
CVTM_INLINE void cvtm_sphere_add_triangle(const cvtm_sphere_map *map, const cvtm_sphere_cell *cell,
                                          const double a[2], const double b[2], const double c[2],
                                          int points, cvtm_sphere_sums *sums) {
  const int quick = points == CVTM_SPHERE_QUICK_POINTS;
  const double p = quick ? 1.0 / 6 : 0.101286507323456338800, q = 0.470142064105115089770;
  const double weight_p = quick ? 1.0 / 3 : 0.125939180544827152595;
  const double weight_q = 0.132394152788506180737;
  double px[CVTM_SPHERE_POINTS], py[CVTM_SPHERE_POINTS], pw[CVTM_SPHERE_POINTS];
  double ps[CVTM_SPHERE_POINTS], pe[CVTM_SPHERE_POINTS];
  const double area = 0.5 * fabs((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]));
  const double sx = a[0] + b[0] + c[0], sy = a[1] + b[1] + c[1];
  px[0] = px[points - 1] = sx / 3;
  py[0] = py[points - 1] = sy / 3;
  pw[0] = 0.225 * area;
  for (int k = 0; k < (points - 1) / 3; ++k) {
    const double t = k == 0 ? p : q, w = area * (k == 0 ? weight_p : weight_q);
    const double rest = 1 - 3 * t; /* of the corner beyond t of each */
    for (int corner = 0; corner < 3; ++corner) {
      const double *at = corner == 0 ? a : corner == 1 ? b : c;
      const int place = quick ? corner : 1 + 3 * k + corner;
      px[place] = t * sx + rest * at[0];
      py[place] = t * sy + rest * at[1];
      pw[place] = w;
    }
  }
  pw[points - 1] = 0;
  if (map->value != NULL) {
    const cvtm_vector s = cell->site, e = cell->e1, f = cell->e2;
    for (int k = 0; k < points; ++k)
      pw[k] *=
          cvtm_sphere_density(map, s.x + px[k] * e.x + py[k] * f.x, s.y + px[k] * e.y + py[k] * f.y,
                              s.z + px[k] * e.z + py[k] * f.z);
  }
  for (int k = 0; k < points; ++k) {
    const double r2 = px[k] * px[k] + py[k] * py[k], shrink2 = 1 / (1 + r2), shrink = sqrt(shrink2);
    pw[k] *= shrink2 * shrink;
    ps[k] = pw[k] * shrink;
    pe[k] = pw[k] * 2 * r2 * shrink2 / (1 + shrink);
  }
  for (int k = 0; k < points - 1; ++k) {
    sums->mass += pw[k];
    sums->x += ps[k] * px[k];
    sums->y += ps[k] * py[k];
    sums->z += ps[k];
    sums->energy += pe[k];
  }
}

CVTM_INLINE cvtm_sphere_sums cvtm_sphere_integrate_by(const cvtm_sphere_map *map,
                                                      const cvtm_sphere_cell *cell, int points) {
  cvtm_sphere_sums sums = {0, 0, 0, 0, 0};
  const double limit = map->value != NULL && 2 * map->step < 0.02 ? 2 * map->step : 0.02;
  const double parts = ceil(sqrt(cell->radius2) / limit);
  const int32_t n = parts < 1 ? 1 : parts < map->most_parts ? (int32_t)parts : map->most_parts;
  const double share = 1 / (double)n;
  for (int32_t k = 0; k < cell->corners.count; ++k) {
    const int32_t next = k + 1 < cell->corners.count ? k + 1 : 0;
    const double ax = share * cell->x[k], ay = share * cell->y[k];
    const double bx = share * cell->x[next], by = share * cell->y[next];
    /* The triangle between the site and the edge, in n^2 parts: those of row i, in turn with two
     * corners away from the site and with one. */
    for (int32_t i = 0; i < n; ++i) {
      for (int32_t j = 0; j <= 2 * i; ++j) {
        const int32_t m = j / 2, odd = j % 2;
        const double near[2] = {(i - m) * ax + m * bx, (i - m) * ay + m * by};
        const double far0[2] = {near[0] + ax, near[1] + ay}, far1[2] = {near[0] + bx, near[1] + by};
        const double beside[2] = {near[0] - ax + bx, near[1] - ay + by};
        if (odd)
          cvtm_sphere_add_triangle(map, cell, near, far1, beside, points, &sums);
        else
          cvtm_sphere_add_triangle(map, cell, near, far0, far1, points, &sums);
      }
    }
  }
  return sums;
}

CVTM_INLINE cvtm_sphere_sums cvtm_sphere_integrate(const cvtm_sphere_map *map,
                                                   const cvtm_sphere_cell *cell) {
  if (map->quick) return cvtm_sphere_integrate_by(map, cell, CVTM_SPHERE_QUICK_POINTS);
  return cvtm_sphere_integrate_by(map, cell, CVTM_SPHERE_POINTS);
}

#endif

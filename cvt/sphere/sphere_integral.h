/* Integrals of the density over a cell of the sphere. Compiles as C11 and inside CUDA kernels. */
#pragma once

#include "cvt/sphere/sphere_cell.h"

/* --- the map of cell widths ------------------------------------------------------------------- */

/* The wanted widths of cells (cvtm_sphere_widths in sphere.h) at side x side points of each of the
 * six faces of a cube around the sphere. If coordinate k of a direction has the largest absolute
 * value, the direction is on face 2 k, or on face 2 k + 1 if coordinate k is negative. The next two
 * coordinates in cyclic order, divided by coordinate k, give the row and the column; both quotients
 * are in [-1, 1]. There are no poles, and faces share the points of their edges. Between the points
 * the width is interpolated bilinearly. */
typedef struct cvtm_sphere_map {
  const float *value; /* NULL: the density is 1 */
  int32_t side;       /* at least 2 */
  int32_t quick;      /* nonzero: integrals by the fast rule of degree 2, for descents */
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

/* The width in the direction (x, y, z), which need not be a unit vector. */
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

/* --- the integrals ---------------------------------------------------------------------------- */

/* Integrals of the density over a cell: the mass, the first moment along e1 and e2 of the cell, and
 * the energy, the integral of density times squared chord from the site. */
typedef struct cvtm_sphere_sums {
  double mass, x, y, energy;
} cvtm_sphere_sums;

enum { CVTM_SPHERE_POINTS = 8 /* seven, and one of weight 0 that fills the vectors */ };

#define CVTM_SPHERE_LARGEST 0.025 /* triangles with a longer side are divided before the rule */

/* Adds the integrands at points of the plane. pw: weights, as areas of the plane; overwritten. An
 * area at distance r is (1 + r^2)^(-3/2) times as large on the sphere. */
CVTM_INLINE void cvtm_sphere_add_points(const cvtm_sphere_map *map, const cvtm_sphere_cell *cell,
                                        int count, const double *px, const double *py, double *pw,
                                        cvtm_sphere_sums *sums) {
  double ps[CVTM_SPHERE_POINTS], pe[CVTM_SPHERE_POINTS];
  if (map->value != NULL) {
    const cvtm_vector s = cell->site, e = cell->e1, f = cell->e2;
    for (int k = 0; k < count; ++k)
      pw[k] *=
          cvtm_sphere_density(map, s.x + px[k] * e.x + py[k] * f.x, s.y + px[k] * e.y + py[k] * f.y,
                              s.z + px[k] * e.z + py[k] * f.z);
  }
  for (int k = 0; k < count; ++k) {
    const double r2 = px[k] * px[k] + py[k] * py[k], shrink2 = 1 / (1 + r2), shrink = sqrt(shrink2);
    pw[k] *= shrink2 * shrink;
    ps[k] = pw[k] * shrink;
    pe[k] = pw[k] * 2 * r2 * shrink2 / (1 + shrink);
  }
  for (int k = 0; k < count; ++k) {
    sums->mass += pw[k];
    sums->x += ps[k] * px[k];
    sums->y += ps[k] * py[k];
    sums->energy += pe[k];
  }
}

CVTM_INLINE double cvtm_sphere_flat_area(const double a[2], const double b[2], const double c[2]) {
  return 0.5 * fabs((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]));
}

/* Adds the integrals over the triangle between corners a, b, c of the plane, by the rule of degree
 * 5 with seven points (Radon 1948). */
CVTM_INLINE void cvtm_sphere_add_triangle(const cvtm_sphere_map *map, const cvtm_sphere_cell *cell,
                                          const double a[2], const double b[2], const double c[2],
                                          cvtm_sphere_sums *sums) {
  const double area = cvtm_sphere_flat_area(a, b, c);
  const double sx = a[0] + b[0] + c[0], sy = a[1] + b[1] + c[1];
  double px[CVTM_SPHERE_POINTS], py[CVTM_SPHERE_POINTS], pw[CVTM_SPHERE_POINTS];
  px[6] = px[7] = sx / 3;
  py[6] = py[7] = sy / 3;
  pw[6] = 0.225 * area;
  pw[7] = 0;
  for (int k = 0; k < 6; ++k) {
    const double t = k < 3 ? 0.101286507323456338800 : 0.470142064105115089770;
    const double *at = k % 3 == 0 ? a : k % 3 == 1 ? b : c;
    px[k] = t * sx + (1 - 3 * t) * at[0];
    py[k] = t * sy + (1 - 3 * t) * at[1];
    pw[k] = area * (k < 3 ? 0.125939180544827152595 : 0.132394152788506180737);
  }
  cvtm_sphere_add_points(map, cell, CVTM_SPHERE_POINTS, px, py, pw, sums);
}

/* Divides the triangle between corners a, b, c into n^2 triangles and adds their integrals. */
CVTM_INLINE void cvtm_sphere_add_parts(const cvtm_sphere_map *map, const cvtm_sphere_cell *cell,
                                       const double a[2], const double b[2], const double c[2],
                                       int32_t n, cvtm_sphere_sums *sums) {
  const double share = 1 / (double)n;
  const double ux = share * (b[0] - a[0]), uy = share * (b[1] - a[1]);
  const double vx = share * (c[0] - a[0]), vy = share * (c[1] - a[1]);
  /* In row i, triangles that point to corner `a` alternate with triangles that point away from
   * it. */
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t j = 0; j <= 2 * i; ++j) {
      const int32_t m = j / 2, odd = j % 2;
      const double near[2] = {a[0] + (i - m) * ux + m * vx, a[1] + (i - m) * uy + m * vy};
      const double far0[2] = {near[0] + ux, near[1] + uy}, far1[2] = {near[0] + vx, near[1] + vy};
      const double beside[2] = {near[0] - ux + vx, near[1] - uy + vy};
      if (odd)
        cvtm_sphere_add_triangle(map, cell, near, far1, beside, sums);
      else
        cvtm_sphere_add_triangle(map, cell, near, far0, far1, sums);
    }
  }
}

/* Integrates over the triangles between the site and the edges, without regard to the points of the
 * map, by the rule of degree 2 with the midpoints of the sides. */
CVTM_INLINE void cvtm_sphere_integrate_quickly(const cvtm_sphere_map *map,
                                               const cvtm_sphere_cell *cell,
                                               cvtm_sphere_sums *sums) {
  const double site[2] = {0, 0};
  const int32_t corners = cell->corners.count;
  double before = 0; /* the area of the last triangle */
  for (int32_t k = -1; k < corners; ++k) {
    const int32_t at = k < 0 ? corners - 1 : k, next = k + 1 < corners ? k + 1 : 0;
    const double a[2] = {cell->x[at], cell->y[at]}, b[2] = {cell->x[next], cell->y[next]};
    const double area = cvtm_sphere_flat_area(site, a, b);
    if (k >= 0) {
      const double px[2] = {0.5 * a[0], 0.5 * (a[0] + b[0])};
      const double py[2] = {0.5 * a[1], 0.5 * (a[1] + b[1])};
      double pw[2] = {(before + area) / 3, area / 3};
      cvtm_sphere_add_points(map, cell, 2, px, py, pw, sums);
    }
    before = area;
  }
}

/* A convex part of a cell, in the plane of the cell. */
enum { CVTM_SPHERE_PIECE_SIDES = CVTM_SPHERE_SIDES + 8 };
typedef struct cvtm_sphere_piece {
  int32_t count;
  double x[CVTM_SPHERE_PIECE_SIDES], y[CVTM_SPHERE_PIECE_SIDES];
} cvtm_sphere_piece;

/* Keeps the directions d of the piece with d . normal <= 0. */
CVTM_INLINE void cvtm_sphere_piece_cut(const cvtm_sphere_cell *cell, cvtm_vector normal,
                                       cvtm_sphere_piece *piece) {
  cvtm_corners corners = {piece->count, CVTM_SPHERE_PIECE_SIDES, 1, piece->x, piece->y, NULL};
  int32_t at;
  cvtm_corners_clip(&corners, cvtm_vector_dot(normal, cell->e1), cvtm_vector_dot(normal, cell->e2),
                    -cvtm_vector_dot(normal, cell->site), 0, &at);
  piece->count = corners.count;
}

/* Keeps the part between lines `line` and line + 1: line k has (d.along) / (d.top) = k step - 1. */
CVTM_INLINE void cvtm_sphere_piece_between(const cvtm_sphere_cell *cell, cvtm_vector top,
                                           cvtm_vector along, double step, int32_t line,
                                           cvtm_sphere_piece *piece) {
  const cvtm_vector minus = {-along.x, -along.y, -along.z};
  cvtm_sphere_piece_cut(cell, cvtm_vector_add(minus, line * step - 1, top), piece);
  cvtm_sphere_piece_cut(cell, cvtm_vector_add(along, 1 - (line + 1) * step, top), piece);
}

/* Finds the lines between which the piece lies: *first and *last + 1. */
CVTM_INLINE void cvtm_sphere_piece_lines(const cvtm_sphere_cell *cell, cvtm_vector top,
                                         cvtm_vector along, int32_t side,
                                         const cvtm_sphere_piece *piece, int32_t *first,
                                         int32_t *last) {
  double least = side, most = 0;
  for (int32_t k = 0; k < piece->count; ++k) {
    const cvtm_vector d =
        cvtm_vector_add(cvtm_vector_add(cell->site, piece->x[k], cell->e1), piece->y[k], cell->e2);
    const double line =
        (cvtm_vector_dot(d, along) / cvtm_vector_dot(d, top) + 1) * 0.5 * (side - 1);
    least = fmin(least, line);
    most = fmax(most, line);
  }
  *first = least > 0 ? (int32_t)fmin(least, (double)(side - 2)) : 0;
  *last = most > 0 ? (int32_t)fmin(most, (double)(side - 2)) : 0;
}

/* Adds the integrals over a piece, by triangles with sides of at most `limit`. */
CVTM_INLINE void cvtm_sphere_add_piece(const cvtm_sphere_map *map, const cvtm_sphere_cell *cell,
                                       const cvtm_sphere_piece *piece, double limit,
                                       cvtm_sphere_sums *sums) {
  const double a[2] = {piece->x[0], piece->y[0]};
  for (int32_t k = 1; k + 1 < piece->count; ++k) {
    const double b[2] = {piece->x[k], piece->y[k]}, c[2] = {piece->x[k + 1], piece->y[k + 1]};
    const double ab = (b[0] - a[0]) * (b[0] - a[0]) + (b[1] - a[1]) * (b[1] - a[1]);
    const double bc = (c[0] - b[0]) * (c[0] - b[0]) + (c[1] - b[1]) * (c[1] - b[1]);
    const double ca = (a[0] - c[0]) * (a[0] - c[0]) + (a[1] - c[1]) * (a[1] - c[1]);
    const double parts = sqrt(fmax(ab, fmax(bc, ca))) / limit;
    const int32_t n = parts < 1024 ? 1 + (int32_t)parts : 1024;
    cvtm_sphere_add_parts(map, cell, a, b, c, n, sums);
  }
}

/* Integrates over the parts between the lines of the map, in which the width is smooth. */
CVTM_INLINE void cvtm_sphere_integrate_pieces(const cvtm_sphere_map *map,
                                              const cvtm_sphere_cell *cell,
                                              cvtm_sphere_sums *sums) {
  cvtm_sphere_piece whole;
  whole.count = cell->corners.count;
  for (int32_t k = 0; k < whole.count; ++k) {
    whole.x[k] = cell->x[k];
    whole.y[k] = cell->y[k];
  }
  if (map->value == NULL) {
    cvtm_sphere_add_piece(map, cell, &whole, CVTM_SPHERE_LARGEST, sums);
    return;
  }
  const double step = 2.0 / (map->side - 1);
  for (int32_t face = 0; face < 6; ++face) {
    const double sign = face % 2 ? -1 : 1;
    const cvtm_vector x = {sign, 0, 0}, y = {0, sign, 0}, z = {0, 0, sign};
    const cvtm_vector top = face / 2 == 0 ? x : face / 2 == 1 ? y : z;
    const cvtm_vector rows = face / 2 == 0 ? y : face / 2 == 1 ? z : x;
    const cvtm_vector columns = face / 2 == 0 ? z : face / 2 == 1 ? x : y;
    cvtm_sphere_piece part = whole;
    for (int32_t k = 0; k < 2 && part.count > 0; ++k) {
      const cvtm_vector along = k == 0 ? rows : columns, minus = {-along.x, -along.y, -along.z};
      cvtm_sphere_piece_cut(cell, cvtm_vector_add(along, -1, top), &part);
      cvtm_sphere_piece_cut(cell, cvtm_vector_add(minus, -1, top), &part);
    }
    if (part.count == 0) continue;
    int32_t row, last_row, column, last_column;
    cvtm_sphere_piece_lines(cell, top, rows, map->side, &part, &row, &last_row);
    for (; row <= last_row; ++row) {
      cvtm_sphere_piece strip = part;
      cvtm_sphere_piece_between(cell, top, rows, step, row, &strip);
      if (strip.count == 0) continue;
      cvtm_sphere_piece_lines(cell, top, columns, map->side, &strip, &column, &last_column);
      for (; column <= last_column; ++column) {
        cvtm_sphere_piece pixel = strip;
        cvtm_sphere_piece_between(cell, top, columns, step, column, &pixel);
        if (pixel.count > 0) cvtm_sphere_add_piece(map, cell, &pixel, CVTM_SPHERE_LARGEST, sums);
      }
    }
  }
}

CVTM_INLINE cvtm_sphere_sums cvtm_sphere_integrate(const cvtm_sphere_map *map,
                                                   const cvtm_sphere_cell *cell) {
  cvtm_sphere_sums sums = {0, 0, 0, 0};
  if (map->quick)
    cvtm_sphere_integrate_quickly(map, cell, &sums);
  else
    cvtm_sphere_integrate_pieces(map, cell, &sums);
  return sums;
}

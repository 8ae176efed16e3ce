/* Point sets that are hard to triangulate, for the tests of the triangulations on host and device,
 * and the comparison of two meshes. Every function fills `points`, x and y of each. */
#pragma once

#include <math.h>
#include <string.h>

#include "meshes/mesh.h"
#include "splitmix64.h"

static inline double *new_points(int64_t count) {
  double *points = doubles(count * 2);
  return points;
}

static inline void assert_same_mesh(const cvtm_mesh *a, const cvtm_mesh *b) {
  assert_int_equal(a->vertex_count, b->vertex_count);
  assert_int_equal(a->triangle_count, b->triangle_count);
  assert_int_equal(a->coincident_count, b->coincident_count);
  assert_int_equal(a->collinear != 0, b->collinear != 0);
  assert_memory_equal(a->points, b->points, (size_t)a->vertex_count * 2 * sizeof(double));
  if (a->triangle_count > 0)
    assert_memory_equal(a->triangles, b->triangles,
                        (size_t)a->triangle_count * 3 * sizeof(int32_t));
}

static inline void fill_random(double *points, int count, double size, uint64_t *random) {
  for (int k = 0; k < 2 * count; ++k) points[k] = size * random_unit(random);
}

/* Integers below `lines`: with few lines nearly all points are coincident, collinear or
 * cocircular. */
static inline void fill_integers(double *points, int count, int lines, uint64_t *random) {
  for (int k = 0; k < 2 * count; ++k) points[k] = random_below(random, lines);
}

/* side * side points. */
static inline void fill_lattice(double *points, int side, int shear) {
  for (int k = 0; k < side * side; ++k) {
    const int i = k % side, j = k / side;
    points[2 * k] = 4 * i + shear * j;
    points[2 * k + 1] = 3 * j;
  }
}

/* All integer points on a circle about 0; returns their number. */
static inline int fill_circle(double *points, int radius2) {
  const int reach = (int)sqrt(radius2);
  int n = 0;
  for (int x = -reach; x <= reach; ++x) {
    for (int y = -reach; y <= reach; ++y) {
      if (x * x + y * y != radius2) continue;
      points[2 * n] = x;
      points[2 * n++ + 1] = y;
    }
  }
  return n;
}

/* `count` points on the unit circle about (x, 0), which rounding moves. */
static inline void fill_ring(double *points, int count, double x) {
  for (int k = 0; k < count; ++k) {
    const double angle = k * (2 * acos(-1.0) / count);
    points[2 * k] = x + cos(angle);
    points[2 * k + 1] = sin(angle);
  }
}

/* Integer points on a line of one of four directions, some of them coincident. */
static inline void fill_line(double *points, int count, int direction, uint64_t *random) {
  for (int k = 0; k < count; ++k) {
    const int t = random_below(random, 80);
    points[2 * k] = direction == 1 ? 5 : t;
    points[2 * k + 1] = direction == 0 ? 7 : direction == 2 ? 2 * t : -t;
  }
}

static inline void fill_one_place(double *points, int count) {
  for (int k = 0; k < count; ++k) {
    points[2 * k] = 12.25;
    points[2 * k + 1] = -3;
  }
}

/* Each point is a new one or a copy of an earlier one. */
static inline void fill_copies(double *points, int count, uint64_t *random) {
  for (int k = 0; k < count; ++k) {
    const int from = random_below(random, k + 1);
    points[2 * k] = from == k ? random_unit(random) : points[2 * from];
    points[2 * k + 1] = from == k ? random_unit(random) : points[2 * from + 1];
  }
}

/* 35 clusters of ten sizes from 1 to 1e-9, or of three sizes up to 2e-9. */
static inline void fill_clusters(double *points, int count, int tiny, uint64_t *random) {
  for (int k = 0; k < count; ++k) {
    const double size = tiny ? 1e-9 * (k % 3) : pow(10, -(k % 10));
    points[2 * k] = (k % 7) * 0.1 + size * random_unit(random);
    points[2 * k + 1] = (k % 5) * 0.2 + size * random_unit(random);
  }
}

enum { EXTREME_KINDS = 10 };

/* Coordinates near the ends of what a double can hold. */
static inline void fill_extreme(double *points, int count, int kind, uint64_t *random) {
  static const double scales[EXTREME_KINDS][4] = {
      /* size and offset in x, then in y */
      {1e9, 0, 1, 0},         {1, 1e15, 1, -1e15},
      {1, 0, 1e-12, 0},       {1e-300, 0, 1e-300, 0},
      {1e-320, 0, 1e-318, 0}, {1e299, -5e298, 1e299, 0},
      {8, 0x1p60, 8, 3},      {1e-5, 0, 1, 1e300},
      {1, 1e300, 1, 1e-300},  {2e300, -1e300, 2e300, -1e300}};
  for (int k = 0; k < 2 * count; ++k) {
    const double *scale = scales[kind] + 2 * (k % 2);
    points[k] = fmin(scale[0] * random_unit(random) + scale[1], 1e300);
  }
}

enum { DEGENERATE_KINDS = 4 };

/* At the full size of the integer grid: slivers one step high, across and along a diagonal, a
 * circle that hardly misses its points, a parabola. */
static inline void fill_nearly_degenerate(double *points, int count, int kind, uint64_t *random) {
  for (int k = 0; k < count; ++k) {
    const double t = rint(0x1p30 * random_unit(random)),
                 angle = 2 * acos(-1.0) * random_unit(random);
    points[2 * k] = kind == 2 ? rint(0x1p29 * (1 + cos(angle))) : kind == 3 ? k : t;
    points[2 * k + 1] = kind == 0   ? random_below(random, 2)
                        : kind == 1 ? t + random_below(random, 3)
                        : kind == 2 ? rint(0x1p29 * (1 + sin(angle)))
                                    : (double)k * k;
  }
}

/* Gives `triangulate` each of the sets of the two functions above. */
static inline void each_hard_set(void (*triangulate)(const double *points, int64_t count)) {
  double points[2 * 300];
  uint64_t random = 6;
  for (int kind = 0; kind < EXTREME_KINDS; ++kind) {
    fill_extreme(points, 200, kind, &random);
    triangulate(points, 200);
  }
  random = 7;
  for (int kind = 0; kind < DEGENERATE_KINDS; ++kind) {
    fill_nearly_degenerate(points, 300, kind, &random);
    triangulate(points, 300);
  }
}

#include "meshes/domain/area_fit.h"

#include "base/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 60, ITERATIONS = 400 };

static const double good_enough = 1e-9; /* relative error of an area */
static const double solved = 1e-6;      /* reduction of the residual in a round */
static const double longest_step = 0.1; /* of a coordinate in a round, pixels */
/* Added to the matrix, whose diagonal are the regions' perimeters: a region that cannot move then
 * leaves the others alone. */
static const double damping = 1e-3;
static const double shortest_reach = 1e-3; /* of a point's edges, pixels: bounds its weight */

typedef struct fit {
  const cvtm_area_map *map;
  int64_t regions;
  int32_t *left, *right; /* of each edge: the index of its region, `regions` if it has no area */
  double *weight;        /* of each coordinate: 0 if it does not move */
  double *move;          /* of each coordinate */
  double *error, *step, *residual, *direction, *image; /* of each region, and one more */
} fit;

static int64_t find_region(const int32_t *regions, int64_t count, int32_t wanted) {
  const int64_t k = cvtm_lower_bound_32(regions, 0, count, wanted);
  return k < count && regions[k] == wanted ? k : count;
}

/* ---- Areas and their derivatives ---- */

/* By Green's theorem; y is down, so that the left is positive. */
static void find_areas(const fit *f, double *areas) {
  const double *p = f->map->points;
  for (int64_t r = 0; r <= f->regions; ++r) areas[r] = 0;
  for (int64_t e = 0; e < f->map->edge_count; ++e) {
    const double *a = p + 2 * (int64_t)f->map->edges[2 * e];
    const double *b = p + 2 * (int64_t)f->map->edges[2 * e + 1];
    const double part = 0.5 * (b[0] - a[0]) * (a[1] + b[1]);
    areas[f->left[e]] += part;
    areas[f->right[e]] -= part;
  }
}

/* The movement that belongs to a multiplier of each region's area. */
static void find_move(const fit *f, const double *multiplier) {
  const double *p = f->map->points;
  memset(f->move, 0, 2 * (size_t)f->map->point_count * sizeof *f->move);
  for (int64_t e = 0; e < f->map->edge_count; ++e) {
    const double difference = multiplier[f->left[e]] - multiplier[f->right[e]];
    if (difference == 0) continue;
    const int64_t u = f->map->edges[2 * e], v = f->map->edges[2 * e + 1];
    const double *a = p + 2 * u, *b = p + 2 * v;
    const double along_x = 0.5 * difference * (a[1] + b[1]);
    const double along_y = 0.5 * difference * (b[0] - a[0]);
    f->move[2 * u] -= along_x;
    f->move[2 * v] += along_x;
    f->move[2 * u + 1] += along_y;
    f->move[2 * v + 1] += along_y;
  }
  for (int64_t k = 0; k < 2 * f->map->point_count; ++k) f->move[k] *= f->weight[k];
}

/* What the movement changes the areas by, to first order. */
static void find_changes(const fit *f, double *changes) {
  const double *p = f->map->points;
  for (int64_t r = 0; r <= f->regions; ++r) changes[r] = 0;
  for (int64_t e = 0; e < f->map->edge_count; ++e) {
    const int64_t u = f->map->edges[2 * e], v = f->map->edges[2 * e + 1];
    const double *a = p + 2 * u, *b = p + 2 * v;
    const double part = 0.5 * ((f->move[2 * v] - f->move[2 * u]) * (a[1] + b[1]) +
                               (f->move[2 * u + 1] + f->move[2 * v + 1]) * (b[0] - a[0]));
    changes[f->left[e]] += part;
    changes[f->right[e]] -= part;
  }
  changes[f->regions] = 0;
}

static double dot_product(const double *a, const double *b, int64_t count) {
  double sum = 0;
  for (int64_t k = 0; k < count; ++k) sum += a[k] * b[k];
  return sum;
}

/* ---- The steps ---- */

/* Multipliers whose movement changes the areas by the errors: conjugate gradients. The matrix is
 * the Laplacian of the regions' neighbourhood. */
static void solve_for_multipliers(const fit *f) {
  const int64_t n = f->regions;
  memset(f->step, 0, ((size_t)n + 1) * sizeof *f->step);
  memcpy(f->residual, f->error, ((size_t)n + 1) * sizeof *f->residual);
  memcpy(f->direction, f->error, ((size_t)n + 1) * sizeof *f->direction);
  double now = dot_product(f->residual, f->residual, n);
  const double wanted = now * solved * solved;
  for (int k = 0; k < ITERATIONS && now > wanted; ++k) {
    find_move(f, f->direction);
    find_changes(f, f->image);
    for (int64_t r = 0; r < n; ++r) f->image[r] += damping * f->direction[r];
    const double curvature = dot_product(f->direction, f->image, n);
    if (!(curvature > 0)) return;
    const double length = now / curvature;
    for (int64_t r = 0; r < n; ++r) {
      f->step[r] += length * f->direction[r];
      f->residual[r] -= length * f->image[r];
    }
    const double next = dot_product(f->residual, f->residual, n);
    for (int64_t r = 0; r < n; ++r) f->direction[r] = f->residual[r] + next / now * f->direction[r];
    now = next;
  }
}

/* Moves the points; a coordinate that meets its bound stays there. */
static void take_step(const fit *f) {
  const cvtm_area_map *m = f->map;
  find_move(f, f->step);
  for (int64_t k = 0; k < 2 * m->point_count; ++k) {
    if (f->weight[k] == 0) continue;
    const double wanted = m->points[k] + fmin(fmax(f->move[k], -longest_step), longest_step);
    m->points[k] = fmin(fmax(wanted, m->low[k]), m->high[k]);
    if (m->points[k] != wanted) f->weight[k] = 0;
  }
}

/* One over the length of the edges at each point that moves. */
static void set_weights(const fit *f) {
  const cvtm_area_map *m = f->map;
  memset(f->weight, 0, 2 * (size_t)m->point_count * sizeof *f->weight);
  for (int64_t e = 0; e < m->edge_count; ++e) {
    const int64_t u = m->edges[2 * e], v = m->edges[2 * e + 1];
    const double *a = m->points + 2 * u, *b = m->points + 2 * v;
    const double half = 0.5 * hypot(b[0] - a[0], b[1] - a[1]);
    for (int axis = 0; axis < 2; ++axis) {
      f->weight[2 * u + axis] += half;
      f->weight[2 * v + axis] += half;
    }
  }
  for (int64_t k = 0; k < 2 * m->point_count; ++k)
    f->weight[k] = m->low[k] < m->high[k] ? 1 / fmax(f->weight[k], shortest_reach) : 0;
}

static double find_errors(const fit *f, const double *areas) {
  double worst = 0;
  find_areas(f, f->error);
  for (int64_t r = 0; r < f->regions; ++r) {
    f->error[r] = areas[r] - f->error[r];
    worst = fmax(worst, fabs(f->error[r]) / areas[r]);
  }
  f->error[f->regions] = 0;
  return worst;
}

cvtm_status cvtm_fit_areas(const cvtm_area_map *map, const int32_t *regions, const double *areas,
                           int64_t region_count, double *worst, cvtm_error *error) {
  const size_t n = (size_t)map->point_count, rows = (size_t)region_count + 1;
  double *memory = malloc((4 * n + 5 * rows) * sizeof *memory);
  int32_t *sides = malloc((2 * (size_t)map->edge_count + 1) * sizeof *sides);
  *worst = 0;
  cvtm_status status = CVTM_OK;
  if (memory == NULL || sides == NULL) {
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the areas of %lld regions",
                       (long long)region_count);
  } else {
    double *vectors = memory + 4 * n;
    fit f = {map,
             region_count,
             sides,
             sides + map->edge_count,
             memory,
             memory + 2 * n,
             vectors,
             vectors + rows,
             vectors + 2 * rows,
             vectors + 3 * rows,
             vectors + 4 * rows};
    for (int64_t e = 0; e < map->edge_count; ++e) {
      f.left[e] = (int32_t)find_region(regions, region_count, map->left[e]);
      f.right[e] = (int32_t)find_region(regions, region_count, map->right[e]);
    }
    set_weights(&f);
    *worst = find_errors(&f, areas);
    for (int round = 0; round<ROUNDS && * worst> good_enough; ++round) {
      solve_for_multipliers(&f);
      take_step(&f);
      *worst = find_errors(&f, areas);
    }
  }
  free(memory);
  free(sides);
  return status;
}

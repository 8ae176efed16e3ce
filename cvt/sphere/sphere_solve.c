#include "cvt/sphere/sphere_plan.h"

#include "base/clock.h"
#include "base/host.h"
#include "base/random.h"

#include <stdlib.h>
#include <string.h>

enum { COARSEST = 400, COARSE_STEPS = 30, COARSE_ITERATIONS = 40, FINE_STEPS = 2 };
/* In a large icosahedral grid the long steps of L-BFGS-B make more pentagons; the short steps of
 * Lloyd's method do not. */
enum { MOST_EVEN = 200000, STEADY_STEPS = 8 };

void cvtm_sphere_defaults(cvtm_sphere_options *options) {
  memset(options, 0, sizeof *options);
  options->any_count = 1;
  options->iterations = 25;
  options->seed = 1;
}

/* --- the start -------------------------------------------------------------------------------- */

/* Finds the integers a >= b >= 0 whose icosahedral grid has a number of points as close as possible
 * to `count`. The grid has 10 (a^2 + a b + b^2) + 2 points (Caspar & Klug 1962). */
static void find_grid(int64_t count, int64_t *a, int64_t *b) {
  int64_t best = INT64_MAX;
  for (int64_t i = 1; 10 * i * i + 2 <= 2 * count; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      const int64_t off = llabs(10 * (i * i + i * j + j * j) + 2 - count);
      if (off < best) {
        best = off;
        *a = i;
        *b = j;
      }
    }
  }
}

static const double golden = 1.6180339887498949;

static cvtm_status make_icosahedron(cvtm_sphere_mesh *mesh, cvtm_error *error) {
  double points[36] = {0};
  for (int k = 0; k < 12; ++k) {
    points[3 * k + k / 4] = k & 1 ? -1 : 1;
    points[3 * k + (k / 4 + 1) % 3] = k & 2 ? -golden : golden;
    cvtm_vector_store(points, k, cvtm_vector_unit(cvtm_vector_load(points, k)));
  }
  return cvtm_sphere_delaunay(points, 12, mesh, error);
}

/* Makes the points of a lattice on the faces of an icosahedron. A face is the triangle (0, 0),
 * (a, b), (-b, a + b) of the lattice. The points on an edge belong to that one of its two faces
 * which runs along the edge from the corner of smaller index to the corner of larger index. */
static cvtm_status make_grid(int64_t a, int64_t b, double **grid, int64_t *count,
                             cvtm_error *error) {
  const int64_t parts = a * a + a * b + b * b;
  cvtm_sphere_mesh solid = {0};
  double *points = malloc(3 * (size_t)(10 * parts + 2) * sizeof *points);
  int64_t first[21] = {12};
  const cvtm_status status =
      points == NULL ? cvtm_no_memory(error, "the sites") : make_icosahedron(&solid, error);
  if (status != CVTM_OK) {
    free(points);
    return status;
  }
  memcpy(points, solid.points, 36 * sizeof *points);
  for (int pass = 0; pass < 2; ++pass) {
#pragma omp parallel for schedule(dynamic)
    for (int f = 0; f < 20; ++f) {
      const int32_t *corner = solid.triangles + 3 * f;
      int64_t made = pass == 0 ? 0 : first[f];
      for (int64_t j = 0; j <= a + b; ++j) {
        for (int64_t i = -b; i <= a; ++i) {
          const int64_t share[3] = {parts - (i * (a + b) + j * b) - (a * j - b * i),
                                    i * (a + b) + j * b, a * j - b * i};
          int own = 1, zeros = 0;
          for (int k = 0; k < 3; ++k) {
            own &= share[k] >= 0;
            if (share[k] != 0) continue;
            ++zeros; /* on the edge that runs from the next corner to the one after */
            own &= corner[(k + 1) % 3] < corner[(k + 2) % 3];
          }
          if (!own || zeros > 1) continue;
          cvtm_vector sum = {0, 0, 0};
          for (int k = 0; k < 3; ++k)
            sum = cvtm_vector_add(sum, (double)share[k], cvtm_vector_load(points, corner[k]));
          if (pass == 1) cvtm_vector_store(points, made, cvtm_vector_unit(sum));
          ++made;
        }
      }
      if (pass == 0) first[f + 1] = made;
    }
    for (int f = 0; pass == 0 && f < 20; ++f) first[f + 1] += first[f];
  }
  cvtm_sphere_mesh_free(&solid);
  *count = first[20];
  *grid = points;
  return CVTM_OK;
}

/* Returns random points (malloc'd) of density width^-2, stratified along the rows of the map. */
static double *random_points(const cvtm_sphere_widths *w, uint64_t seed, int64_t count) {
  double *points = malloc(3 * (size_t)count * sizeof *points);
  if (points == NULL) return NULL;
  const int64_t pixels = (int64_t)w->rows * w->columns;
  double total = 0, sum = 0;
  for (int pass = 0; pass < 2; ++pass) {
    int64_t made = 0;
    for (int64_t p = 0; w->value != NULL && p < pixels; ++p) {
      const double latitude = w->south + (double)(p / w->columns) * w->row_step;
      const double width = (double)w->value[p], share = cos(latitude) / (width * width);
      if (pass == 0) {
        total += share > 0 ? share : 0;
        continue;
      }
      sum += share > 0 ? share : 0;
      for (; made < count && ((double)made + 0.5) * total <= sum * (double)count; ++made) {
        const uint64_t at = (uint64_t)made;
        const double y = latitude + (cvtm_random_uniform(seed, 1, at) - 0.5) * w->row_step;
        const double x = w->west + ((double)(p % w->columns) + cvtm_random_uniform(seed, 2, at)) *
                                       w->column_step;
        cvtm_vector_store(points, made, cvtm_vector_of(cos(y) * cos(x), cos(y) * sin(x), sin(y)));
      }
    }
    for (; pass == 1 && made < count; ++made) { /* the rest: all points if the width is constant */
      const double z = 1 - 2 * ((double)made + 0.5) / (double)count, r = sqrt(1 - z * z);
      const double turn = 2 * CVTM_PI * cvtm_random_uniform(seed, 3, (uint64_t)made);
      cvtm_vector_store(points, made, cvtm_vector_of(r * cos(turn), r * sin(turn), z));
    }
  }
  return points;
}

/* --- levels ----------------------------------------------------------------------------------- */

/* Puts the fixed sites first, each of which replaces the nearest other site. */
static void place_fixed(double *sites, int64_t count, const double *fixed, int64_t fixed_count) {
  for (int64_t f = 0; f < fixed_count; ++f) {
    const cvtm_vector at = cvtm_vector_unit(cvtm_vector_load(fixed, f));
    int64_t nearest = f;
    for (int64_t i = f + 1; i < count; ++i)
      if (cvtm_chord2(at, cvtm_vector_load(sites, i)) <
          cvtm_chord2(at, cvtm_vector_load(sites, nearest)))
        nearest = i;
    cvtm_vector_store(sites, nearest, cvtm_vector_load(sites, f));
    cvtm_vector_store(sites, f, at);
  }
}

typedef struct descent {
  cvtm_device *device;
  const cvtm_sphere_widths *widths;
  cvtm_sphere_map map;
  int64_t fixed;
  double deadline;
  const cvtm_sphere_options *options;
} descent;

/* Moves the sites to lower energy. The mesh has the sites in the order of a Morton curve, or in the
 * caller's order if sites are fixed. last: nonzero: with the exact energy at the end. */
static cvtm_status descend_sites(const descent *d, const double *sites, int64_t count, int steps,
                                 int iterations, int last, cvtm_sphere_mesh *mesh,
                                 cvtm_sphere_result *result) {
  cvtm_sphere_plan plan;
  cvtm_lbfgsb_result run = {0};
  double value[2] = {0, 0};
  cvtm_status status = cvtm_sphere_plan_create(d->device, &d->map, count, &plan);
  plan.work.map.quick = 1;
  if (status == CVTM_OK) status = cvtm_sphere_plan_put(&plan, sites, d->fixed);
  if (status == CVTM_OK) status = cvtm_sphere_plan_lloyd(&plan, steps);
  if (status == CVTM_OK && steps > 8) { /* after far moves, sorts the sites again */
    double *moved = malloc(3 * (size_t)count * sizeof *moved);
    if (moved == NULL) status = cvtm_no_memory(cvtm_device_error(d->device), "the sites");
    if (status == CVTM_OK) status = cvtm_sphere_plan_get(&plan, moved);
    if (status == CVTM_OK) status = cvtm_sphere_plan_put(&plan, moved, d->fixed);
    free(moved);
  }
  const double left = d->deadline - cvtm_clock();
  const cvtm_sphere_options *o = d->options;
  const int stopped = o->stop != NULL && o->stop(o->stop_context);
  if (status == CVTM_OK && iterations > 0 && left > 0 && !stopped)
    status = cvtm_sphere_plan_descend(&plan, o, iterations, left < 1e9 ? left : 0, &run);
  plan.work.map.quick = !last;
  if (status == CVTM_OK)
    status = cvtm_sphere_plan_evaluate(&plan, plan.x, plan.value, plan.gradient);
  if (status == CVTM_OK) status = cvtm_device_copy_out(d->device, value, plan.value, sizeof value);
  if (status == CVTM_OK && value[1] > 0 && last)
    status = cvtm_fail(cvtm_device_error(d->device), CVTM_ERROR_UNSUPPORTED,
                       "%.0f cells reach farther than 83 degrees from their sites; take more sites",
                       value[1]);
  if (status == CVTM_OK) status = cvtm_sphere_plan_mesh(&plan, mesh);
  cvtm_sphere_plan_destroy(&plan);
  result->energy = value[0];
  result->iterations = run.iterations;
  result->evaluations = run.evaluations;
  return status;
}

/* Finds initial sites by descents on ever more sites, each time four times as many. *count: in: the
 * wanted number of sites; out: the number of *sites. */
static cvtm_status solve_levels(descent *d, const cvtm_sphere_options *o, double **sites,
                                int64_t *count, cvtm_sphere_result *result) {
  cvtm_error *error = cvtm_device_error(d->device);
  int64_t counts[32] = {*count};
  int levels = 1;
  for (; counts[levels - 1] > 4 * COARSEST; ++levels) counts[levels] = (counts[levels - 1] + 9) / 4;
  if (o->any_count) {
    for (int k = levels - 2; k >= 0; --k) counts[k] = 4 * counts[k + 1] - 6;
  }
  *count = counts[0];
  *sites = random_points(d->widths, o->seed, counts[levels - 1]);
  if (*sites == NULL) return cvtm_no_memory(error, "the sites");
  cvtm_status status = CVTM_OK;
  for (int k = levels - 1; status == CVTM_OK && k > 0; --k) {
    cvtm_sphere_mesh mesh = {0};
    const int coarsest = k == levels - 1;
    status = descend_sites(d, *sites, counts[k], coarsest ? COARSE_STEPS : FINE_STEPS,
                           COARSE_ITERATIONS, 0, &mesh, result);
    free(*sites);
    *sites = NULL;
    if (status == CVTM_OK) status = cvtm_sphere_refine(&mesh, counts[k - 1], sites, error);
    cvtm_sphere_mesh_free(&mesh);
  }
  return status;
}

/* *has: nonzero if the cells are 12 pentagons and otherwise hexagons. */
static cvtm_status find_pentagons(const cvtm_sphere_mesh *mesh, int *has, cvtm_error *error) {
  cvtm_sphere_quality quality;
  const cvtm_status status = cvtm_sphere_quality_compute(mesh, &quality, error);
  *has = status == CVTM_OK && quality.degree[5] == 12 && quality.degree[6] == mesh->count - 12;
  return status;
}

cvtm_status cvtm_sphere_solve(cvtm_device *device, const cvtm_sphere_widths *widths,
                              const double *fixed_sites, const cvtm_sphere_options *o,
                              cvtm_sphere_mesh *mesh, cvtm_sphere_result *result) {
  cvtm_error *error = cvtm_device_error(device);
  const double start = cvtm_clock();
  cvtm_sphere_options own;
  cvtm_sphere_defaults(&own);
  if (o != NULL) own = *o;
  o = &own;
  if (o->count == 0 && widths->value != NULL)
    own.count = (int64_t)fmin(fmax(cvtm_sphere_widths_count(widths), 12), 1e9);
  if (o->count < 12 || o->count > 300000000 || o->fixed < 0 || o->fixed > o->count / 2)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "a sphere takes 12 to 300000000 sites, of which half may be fixed");
  cvtm_sphere_result made = {0};
  cvtm_sphere_mesh found = {0};
  double *moved = NULL;
  descent d = {device, widths, {0}, 0, o->max_seconds > 0 ? start + o->max_seconds : HUGE_VAL, o};
  int64_t n = o->count, a = 1, b = 0;
  find_grid(n, &a, &b);
  made.even = widths->value == NULL && (o->any_count || 10 * (a * a + a * b + b * b) + 2 == n);
  cvtm_status status = cvtm_sphere_map_create(widths, &d.map, error);
  if (status != CVTM_OK) return status;
  if (made.even) {
    status = make_grid(a, b, &moved, &n, error);
  } else {
    status = solve_levels(&d, o, &moved, &n, &made);
  }
  if (status == CVTM_OK) {
    d.fixed = o->fixed;
    place_fixed(moved, n, fixed_sites, o->fixed);
    const int steps = made.even ? 0 : n > 4 * COARSEST ? FINE_STEPS : COARSE_STEPS;
    int done = 0;
    if (!made.even || n <= MOST_EVEN) {
      status = descend_sites(&d, moved, n, steps, o->iterations, 1, &found, &made);
      done = !made.even || o->fixed > 0;
      if (status == CVTM_OK && !done) status = find_pentagons(&found, &done, error);
    }
    if (status == CVTM_OK && !done) {
      cvtm_sphere_mesh_free(&found);
      status =
          descend_sites(&d, moved, n, o->iterations < STEADY_STEPS ? o->iterations : STEADY_STEPS,
                        0, 1, &found, &made);
    }
  }
  free((void *)d.map.value);
  free(moved);
  if (status != CVTM_OK) {
    cvtm_sphere_mesh_free(&found);
    return status;
  }
  made.seconds = cvtm_clock() - start;
  *mesh = found;
  *result = made;
  return CVTM_OK;
}

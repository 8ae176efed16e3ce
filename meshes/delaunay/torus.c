/* Triangulates in the plane the points and their copies within a margin around the domain. A
 * triangle whose circumcircle lies within the margin contains none of the infinitely many other
 * copies, so it is a triangle of the torus. If there are twice as many such triangles as points,
 * they are all triangles of the torus; otherwise the margin is enlarged. Cocircular points are
 * triangulated in the same way everywhere (mesh.h), so copies of a triangle are triangles. */
#include "meshes/delaunay/torus.h"

#include "base/host.h"
#include "meshes/device_delaunay.h"
#include "meshes/delaunay/grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The first margin in mean spacings, and the factor by which it is enlarged. */
enum { SPACINGS = 10, GROWTH = 4, WORTH_THREADS = 1 << 15 };

typedef struct copy {
  int32_t point, right, above; /* shift from the point, in widths and heights */
} copy;

typedef struct layout {
  cvtm_domain domain;
  int64_t point_count;
  double margin;  /* around the domain, in pixels */
  int exponent;   /* the grid's step is 2^exponent */
  double *points; /* 2 * count: the points, then the copies */
  copy *copies;   /* per vertex: the point and the shift; a point is its own copy with shift 0 */
  cvtm_grid_point
      *place; /* per vertex, in steps from the lower left corner of the domain with its margin */
  int64_t count;
  cvtm_mesh plane;
  char *used;          /* per point: nonzero if it is a corner of a triangle */
  char *chosen;        /* per triangle of the plane: nonzero if it belongs to the torus */
  cvtm_scratch memory; /* owns all arrays except points */
} layout;

static void free_layout(layout *l) {
  free(l->points);
  cvtm_scratch_free(&l->memory);
  cvtm_mesh_free(&l->plane);
}

void cvtm_torus_mesh_free(cvtm_torus_mesh *torus) {
  cvtm_mesh_free(&torus->mesh);
  free(torus->copies);
  torus->copies = NULL;
  torus->copy_count = 0;
}

static cvtm_status no_memory(const layout *l, cvtm_error *error) {
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory to triangulate %lld points on a torus",
                   (long long)l->point_count);
}

/* ---- Points and copies ---- */

/* Rounds a coordinate to the grid and moves it into [0, size). */
static double place_on_grid(double x, int size, int exponent) {
  const double inside = fmod(x, size);
  const double snapped =
      ldexp(rint(ldexp(inside < 0 ? inside + size : inside, -exponent)), exponent);
  return snapped < size ? snapped : 0;
}

static int is_near(const layout *l, const double *p) {
  return p[0] >= -l->margin && p[0] <= l->domain.width + l->margin && p[1] >= -l->margin &&
         p[1] <= l->domain.height + l->margin;
}

/* Lists the copies within the margin, unless `copies` is NULL. Returns the number of points and
 * copies. */
static int64_t list_copies(const layout *l, double *points, copy *copies) {
  const int wide = (int)ceil(l->margin / l->domain.width);
  const int high = (int)ceil(l->margin / l->domain.height);
  int64_t count = l->point_count;
  for (int above = -high; above <= high; ++above) {
    for (int right = -wide; right <= wide; ++right) {
      for (int64_t i = 0; i < l->point_count && (above != 0 || right != 0); ++i) {
        const double p[2] = {l->points[2 * i] + (double)right * l->domain.width,
                             l->points[2 * i + 1] - (double)above * l->domain.height};
        if (!is_near(l, p)) continue;
        if (copies) {
          copies[count] = (copy){(int32_t)i, right, above};
          memcpy(points + 2 * count, p, sizeof p);
        }
        ++count;
      }
    }
  }
  return count;
}

static void place_on_steps(layout *l) {
  const double per_pixel = ldexp(1, -l->exponent), left = floor(per_pixel * l->margin) + 1;
  const double below = left + per_pixel * l->domain.height;
#pragma omp parallel for schedule(static) if (l->count >= WORTH_THREADS)
  for (int64_t v = 0; v < l->count; ++v) {
    const double *p = l->points + 2 * v;
    l->place[v] =
        (cvtm_grid_point){(int32_t)(per_pixel * p[0] + left), (int32_t)(below - per_pixel * p[1])};
  }
}

static cvtm_status lay_out(layout *l, const double *points, cvtm_error *error) {
  const double side = (1 + 1e-6) * (fmax(l->domain.width, l->domain.height) + 2 * l->margin);
  l->exponent = (int)ceil(log2(side)) - CVTM_GRID_BITS;
  l->points = malloc(2 * (size_t)l->point_count * sizeof *l->points);
  if (!l->points) return no_memory(l, error);
  for (int64_t i = 0; i < 2 * l->point_count; ++i) {
    if (!isfinite(points[i]))
      return cvtm_fail(error, CVTM_ERROR_INPUT, "point %lld is not finite", (long long)(i / 2));
    l->points[i] =
        place_on_grid(points[i], i % 2 ? l->domain.height : l->domain.width, l->exponent);
  }
  const int64_t count = list_copies(l, NULL, NULL);
  double *grown = realloc(l->points, 2 * (size_t)count * sizeof *grown);
  if (grown) l->points = grown;
  l->copies = cvtm_scratch_take(&l->memory, (size_t)count, sizeof *l->copies);
  l->place = cvtm_scratch_take(&l->memory, (size_t)count, sizeof *l->place);
  if (!grown || l->memory.failed) return no_memory(l, error);
  for (int64_t i = 0; i < l->point_count; ++i) l->copies[i] = (copy){(int32_t)i, 0, 0};
  l->count = list_copies(l, l->points, l->copies);
  place_on_steps(l);
  return CVTM_OK;
}

/* ---- Triangles of the torus ---- */

/* Nonzero for the copy of a triangle to keep: no corner lies left of the domain or below it, at
 * least one corner is not shifted to the right, and at least one is not shifted up. */
static int is_kept_copy(const layout *l, const int32_t *v) {
  int right = 0, above = 0;
  for (int k = 0; k < 3; ++k) {
    const copy c = l->copies[v[k]];
    if (k == 0 || c.right < right) right = c.right;
    if (k == 0 || c.above < above) above = c.above;
  }
  return right == 0 && above == 0;
}

/* Nonzero if the circumcircle lies within the margin. The circumcentre is exact except for the last
 * division. */
static int is_certain(const layout *l, const int32_t *v) {
  const cvtm_grid_point a = l->place[v[0]], b = l->place[v[1]], c = l->place[v[2]];
  const int64_t bx = (int64_t)b.x - a.x, by = (int64_t)b.y - a.y;
  const int64_t cx = (int64_t)c.x - a.x, cy = (int64_t)c.y - a.y;
  const int64_t b2 = bx * bx + by * by, c2 = cx * cx + cy * cy;
  const double area = 2 * (double)(bx * cy - by * cx);
  const double dx = (double)((cvtm_int128)b2 * cy - (cvtm_int128)c2 * by) / area;
  const double dy = (double)((cvtm_int128)c2 * bx - (cvtm_int128)b2 * cx) / area;
  const double radius = ldexp(hypot(dx, dy), l->exponent) * (1 + 1e-9);
  const double *p = l->points + 2 * (ptrdiff_t)v[0];
  const double x = p[0] + ldexp(dx, l->exponent), y = p[1] - ldexp(dy, l->exponent);
  const double room = l->margin - radius;
  return x >= -room && x <= l->domain.width + room && y >= -room && y <= l->domain.height + room;
}

/* Chooses the triangles of the torus; returns 1 if all were found. */
static int choose_triangles(layout *l, int64_t *triangles, int64_t *distinct) {
  *triangles = *distinct = 0;
#pragma omp parallel for schedule(static) if (l->count >= WORTH_THREADS)
  for (int64_t t = 0; t < l->plane.triangle_count; ++t) {
    const int32_t *v = l->plane.triangles + 3 * t;
    l->chosen[t] = is_kept_copy(l, v) && is_certain(l, v);
  }
  for (int64_t t = 0; t < l->plane.triangle_count; ++t) {
    const int32_t *v = l->plane.triangles + 3 * t;
    *triangles += l->chosen[t];
    for (int k = 0; k < 3; ++k)
      if (v[k] < l->point_count) l->used[v[k]] = 1;
  }
  for (int64_t i = 0; i < l->point_count; ++i) *distinct += l->used[i];
  return *triangles > 0 && *triangles == 2 * *distinct;
}

/* name[v]: the number in the torus mesh of vertex v of the plane; -1 if it is not in that mesh.
 * Returns the number of vertices. */
static int64_t name_vertices(const layout *l, int32_t *name) {
  memset(name, 0xFF, (size_t)l->count * sizeof *name);
  for (int64_t t = 0; t < l->plane.triangle_count; ++t)
    for (int k = 0; l->chosen[t] && k < 3; ++k) name[l->plane.triangles[3 * t + k]] = 0;
  int64_t count = 0;
  for (int64_t v = 0; v < l->count; ++v)
    if (v < l->point_count || name[v] == 0) name[v] = (int32_t)count++;
  return count;
}

static void fill_torus(const layout *l, const int32_t *name, cvtm_torus_mesh *made) {
  for (int64_t v = 0; v < l->count; ++v) {
    if (name[v] < 0) continue;
    memcpy(made->mesh.points + 2 * (ptrdiff_t)name[v], l->points + 2 * v, 2 * sizeof *l->points);
    const int32_t entry[3] = {l->copies[v].point, l->copies[v].right, l->copies[v].above};
    if (v >= l->point_count)
      memcpy(made->copies + 3 * (name[v] - l->point_count), entry, sizeof entry);
  }
  int32_t *to = made->mesh.triangles;
  for (int64_t t = 0; t < l->plane.triangle_count; ++t)
    for (int k = 0; l->chosen[t] && k < 3; ++k) *to++ = name[l->plane.triangles[3 * t + k]];
}

static cvtm_status make_torus(const layout *l, int64_t triangles, int64_t distinct,
                              cvtm_torus_mesh *torus, cvtm_error *error) {
  int32_t *name = malloc((size_t)l->count * sizeof *name);
  if (!name) return no_memory(l, error);
  cvtm_torus_mesh made = {.mesh = {.vertex_count = name_vertices(l, name),
                                   .triangle_count = triangles,
                                   .coincident_count = l->point_count - distinct}};
  made.copy_count = made.mesh.vertex_count - l->point_count;
  made.mesh.points = malloc(2 * (size_t)made.mesh.vertex_count * sizeof(double));
  made.mesh.triangles = malloc(3 * (size_t)triangles * sizeof(int32_t));
  made.copies = malloc((3 * (size_t)made.copy_count + 1) * sizeof(int32_t));
  const int ready = made.mesh.points && made.mesh.triangles && made.copies;
  if (ready)
    fill_torus(l, name, &made);
  else
    cvtm_torus_mesh_free(&made);
  free(name);
  if (!ready) return no_memory(l, error);
  *torus = made;
  return CVTM_OK;
}

/* *complete: nonzero if the margin was large enough. */
static cvtm_status triangulate(cvtm_device *device, const double *points, layout *l,
                               cvtm_torus_mesh *torus, int *complete, cvtm_error *error) {
  int64_t triangles = 0, distinct = 0;
  CVTM_TRY(lay_out(l, points, error));
  CVTM_TRY(cvtm_delaunay_on(device, l->points, l->count, &l->plane, NULL, error));
  l->used = cvtm_scratch_zeros(&l->memory, (size_t)l->point_count, 1);
  l->chosen = cvtm_scratch_take(&l->memory, (size_t)l->plane.triangle_count, 1);
  if (l->memory.failed) return no_memory(l, error);
  *complete = choose_triangles(l, &triangles, &distinct);
  return *complete ? make_torus(l, triangles, distinct, torus, error) : CVTM_OK;
}

cvtm_status cvtm_delaunay_torus(cvtm_device *device, const double *points, int64_t count,
                                cvtm_domain domain, cvtm_torus_mesh *torus, cvtm_error *error) {
  if (!points || !torus || count < 1 || count > CVTM_DELAUNAY_MOST)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%lld points; 1 to %d can be triangulated",
                     (long long)count, CVTM_DELAUNAY_MOST);
  /* The diameter of an empty circle is at most the diagonal, so with a margin of twice the diagonal
   * the circumcircles of all kept triangles lie within the margin. */
  const double most = 2 * hypot(domain.width, domain.height) + 2;
  double margin = SPACINGS * sqrt((double)domain.width * domain.height / (double)count);
  cvtm_status status = CVTM_OK;
  for (int complete = 0; status == CVTM_OK && !complete; margin *= GROWTH) {
    layout l = {.domain = domain, .point_count = count, .margin = fmin(margin, most)};
    status = triangulate(device, points, &l, torus, &complete, error);
    free_layout(&l);
    if (status == CVTM_OK && !complete && margin >= most)
      status =
          cvtm_fail(error, CVTM_ERROR_INTERNAL, "the triangulation of the torus is incomplete");
  }
  return status;
}

/* Power cells on the host, and their dual, the regular triangulation of the sites. */
#include "power/equal_mass.h"
#include "power/power_cell_host.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>

/* The diagram whose dual is taken has a margin around the domain, of this many times its longer
 * side. */
static const double margin_of_plane = 1000;

/* --- cells -------------------------------------------------------------------------------- */

typedef struct diagram {
  cvtm_device *device; /* the CPU */
  cvtm_domain domain;  /* not periodic */
  cvtm_site_tree *tree;
  cvtm_power_view view;
  double *weight, *max_weight;
  cvtm_error *error;
} diagram;

static void destroy_diagram(diagram *d) {
  cvtm_site_tree_destroy(d->tree);
  cvtm_device_destroy(d->device);
  free(d->weight);
  free(d->max_weight);
}

static cvtm_status out_of_memory(const diagram *d) {
  cvtm_fail(d->error, CVTM_ERROR_MEMORY, "no memory for a power diagram");
  return CVTM_ERROR_MEMORY;
}

static cvtm_status build_diagram(diagram *d, const double *sites, const double *weights,
                                 int64_t count, int threads) {
  cvtm_status status = cvtm_device_create("cpu", threads, &d->device, d->error);
  if (status != CVTM_OK) return status;
  status = cvtm_site_tree_create(d->device, d->domain, count, &d->tree);
  if (status == CVTM_OK) status = cvtm_site_tree_build(d->tree, sites, count);
  if (status != CVTM_OK) {
    if (d->error) *d->error = *cvtm_device_error(d->device);
    return status;
  }
  const cvtm_site_tree_view tree = cvtm_site_tree_get_view(d->tree);
  d->weight = malloc((size_t)count * sizeof *d->weight);
  d->max_weight = malloc(2 * (size_t)tree.leaf_count * sizeof *d->max_weight);
  if (!d->weight || !d->max_weight) return out_of_memory(d);
  for (int64_t place = 0; place < count; ++place) d->weight[place] = weights[tree.index[place]];
  cvtm_power_set_max_weights(d->weight, count, tree.leaf_count, d->max_weight);
  d->view = (cvtm_power_view){.tree = tree, .weight = d->weight, .max_weight = d->max_weight};
  return CVTM_OK;
}

/* Clips all cells out of the domain with a margin around it. If cells->corners is NULL it stores
 * the number of corners of cell i in cells->start[i + 1], else the corners from cells->start[i] on.
 */
static int cut_all(const diagram *d, double margin, cvtm_cells *cells) {
  const cvtm_site_tree_view *tree = &d->view.tree;
  const double width = (double)d->domain.width, height = (double)d->domain.height;
  int failed = 0;
#pragma omp parallel num_threads(cvtm_device_threads(d->device)) reduction(| : failed)
  {
    cvtm_power_cell cell = {0};
    failed = !cvtm_power_cell_grow(&cell, CVTM_CELL_CORNERS);
#pragma omp for schedule(dynamic, 32)
    for (int64_t place = 0; place < tree->count; ++place) {
      const double x = tree->position[2 * place], y = tree->position[2 * place + 1];
      const cvtm_cell_box box = {-margin - x, -margin - y, width + margin - x, height + margin - y};
      const int32_t i = tree->index[place];
      if (failed || !cvtm_power_cut_out(&d->view, d->domain, place, &box, &cell)) {
        failed = 1;
        continue;
      }
      const int32_t corners = cell.polygon.count;
      if (!cells->corners) {
        cells->start[i + 1] = corners;
        continue;
      }
      for (int32_t k = 0; k < corners; ++k) {
        const int64_t at = cells->start[i] + k;
        cells->corners[2 * at] = fmin(fmax(x + cell.polygon.x[k], -margin), width + margin);
        cells->corners[2 * at + 1] = fmin(fmax(y + cell.polygon.y[k], -margin), height + margin);
        cells->neighbors[at] =
            cell.other[k] < 0 ? -1 : tree->index[cvtm_power_place(cell.other[k])];
      }
    }
    cvtm_power_cell_release(&cell);
  }
  return !failed;
}

static cvtm_status make_cells(const diagram *d, double margin, cvtm_cells *cells) {
  const int64_t count = d->view.tree.count;
  cells->count = count;
  cells->start = calloc((size_t)count + 1, sizeof *cells->start);
  if (!cells->start || !cut_all(d, margin, cells)) return out_of_memory(d);
  for (int64_t i = 0; i < count; ++i) cells->start[i + 1] += cells->start[i];
  const size_t corners = (size_t)cells->start[count] + 1;
  cells->corners = malloc(2 * corners * sizeof *cells->corners);
  cells->neighbors = malloc(corners * sizeof *cells->neighbors);
  if (!cells->corners || !cells->neighbors || !cut_all(d, margin, cells)) return out_of_memory(d);
  return CVTM_OK;
}

/* --- the dual ------------------------------------------------------------------------------- */

/* The half-edges are the edges of the cells: half-edge h belongs to cell owner[h], and twin[h] is
 * the same edge in the cell across. Where more than three cells meet, rounding may give an edge of
 * length 0 to only one of two cells. Such an edge has no twin (-1) and is skipped; the others form
 * a planar graph whose faces, around the corners of the diagram, are convex. */
typedef struct dual {
  const cvtm_cells *cells;
  const double *sites;
  int32_t *owner;
  int64_t *twin;
  unsigned char *seen;
  int32_t *face; /* scratch: the sites around a corner */
  int64_t face_capacity;
  int32_t *triangles;
  int64_t count, capacity;
} dual;

static void pair_edges(dual *d) {
  const cvtm_cells *cells = d->cells;
  for (int64_t i = 0; i < cells->count; ++i) {
    for (int64_t h = cells->start[i]; h < cells->start[i + 1]; ++h) {
      const int32_t j = cells->neighbors[h];
      d->owner[h] = (int32_t)i;
      for (int64_t t = j < 0 ? 0 : cells->start[j]; j >= 0 && t < cells->start[j + 1]; ++t)
        if (cells->neighbors[t] == i) d->twin[h] = t;
    }
  }
}

/* The next edge of the cell that has a twin or lies on the border; h itself if there is no other.
 */
static int64_t next_edge(const dual *d, int64_t h) {
  const int32_t i = d->owner[h];
  int64_t next = h;
  do {
    next = next + 1 < d->cells->start[i + 1] ? next + 1 : d->cells->start[i];
  } while (next != h && d->cells->neighbors[next] >= 0 && d->twin[next] < 0);
  return next;
}

/* Lists the sites around the corner at the end of half-edge h in d->face, and returns their number;
 * 0 if the corner lies on the border. */
static int64_t walk_face(dual *d, int64_t h) {
  int64_t count = 0, at = h;
  do {
    const int64_t next = next_edge(d, at);
    if (d->seen[at] || next == at || d->twin[next] < 0 || count == d->face_capacity) return 0;
    d->seen[at] = 1;
    d->face[count++] = d->owner[at];
    at = d->twin[next];
  } while (at != h);
  return count;
}

/* Adds a triangle, counterclockwise with y up, the site of smallest index first. */
static void add_triangle(dual *d, int32_t a, int32_t b, int32_t c) {
  const double *p = d->sites + 2 * (int64_t)a, *q = d->sites + 2 * (int64_t)b;
  const double *r = d->sites + 2 * (int64_t)c;
  const double twice = (q[0] - p[0]) * (r[1] - p[1]) - (r[0] - p[0]) * (q[1] - p[1]);
  if (twice == 0 || d->count == d->capacity) return;
  const int32_t corner[3] = {a, twice < 0 ? b : c, twice < 0 ? c : b};
  int least = 0;
  for (int k = 1; k < 3; ++k)
    if (corner[k] < corner[least]) least = k;
  for (int k = 0; k < 3; ++k) d->triangles[3 * d->count + k] = corner[(least + k) % 3];
  ++d->count;
}

static int compare_triangles(const void *left, const void *right) {
  const int32_t *a = left, *b = right;
  for (int k = 0; k < 3; ++k)
    if (a[k] != b[k]) return a[k] < b[k] ? -1 : 1;
  return 0;
}

/* A face of more than three sites becomes a fan around the site of smallest index. */
static void make_triangles(dual *d) {
  const int64_t edges = d->cells->start[d->cells->count];
  pair_edges(d);
  for (int64_t h = 0; h < edges; ++h) {
    const int64_t count = d->twin[h] >= 0 && !d->seen[h] ? walk_face(d, h) : 0;
    int64_t hub = 0;
    for (int64_t k = 1; k < count; ++k)
      if (d->face[k] < d->face[hub]) hub = k;
    for (int64_t k = 1; k + 1 < count; ++k)
      add_triangle(d, d->face[hub], d->face[(hub + k) % count], d->face[(hub + k + 1) % count]);
  }
  qsort(d->triangles, (size_t)d->count, 3 * sizeof *d->triangles, compare_triangles);
}

static void free_dual(dual *d) {
  free(d->owner);
  free(d->twin);
  free(d->seen);
  free(d->face);
  free(d->triangles);
}

/* Returns 0 if memory ran out. */
static int allocate_dual(dual *d) {
  const size_t edges = (size_t)d->cells->start[d->cells->count] + 1;
  d->owner = calloc(edges, sizeof *d->owner);
  d->twin = calloc(edges, sizeof *d->twin);
  d->seen = calloc(edges, 1);
  d->face = malloc(edges * sizeof *d->face);
  d->face_capacity = (int64_t)edges;
  d->triangles = malloc(6 * (size_t)d->cells->count * sizeof *d->triangles);
  d->capacity = 2 * d->cells->count;
  if (!d->owner || !d->twin || !d->seen || !d->face || !d->triangles) return 0;
  for (size_t h = 0; h < edges; ++h) d->twin[h] = -1;
  return 1;
}

/* The dual of the cells in the plane; *mesh is untouched on failure. */
static cvtm_status make_mesh(const diagram *plan, const double *sites, cvtm_mesh *mesh) {
  const int64_t count = plan->view.tree.count;
  const double side = fmax((double)plan->domain.width, (double)plan->domain.height);
  cvtm_cells plane = {0};
  cvtm_status status = make_cells(plan, margin_of_plane * side, &plane);
  dual d = {.cells = &plane, .sites = sites};
  double *points = status == CVTM_OK ? malloc(2 * (size_t)count * sizeof *points) : NULL;
  if (status == CVTM_OK && points && allocate_dual(&d)) {
    make_triangles(&d);
    memcpy(points, sites, 2 * (size_t)count * sizeof *points);
    *mesh = (cvtm_mesh){.vertex_count = count,
                        .triangle_count = d.count,
                        .points = points,
                        .triangles = d.triangles,
                        .collinear = d.count == 0};
    for (int64_t i = 0; i < count; ++i)
      mesh->coincident_count += plane.start[i] == plane.start[i + 1];
    points = NULL;
    d.triangles = NULL;
  } else if (status == CVTM_OK) {
    status = out_of_memory(plan);
  }
  free_dual(&d);
  free(points);
  cvtm_cells_free(&plane);
  return status;
}

cvtm_status cvtm_power_diagram(cvtm_domain domain, const double *sites, const double *weights,
                               int64_t count, int threads, cvtm_cells *cells, cvtm_mesh *mesh,
                               cvtm_error *error) {
  diagram d = {.domain = {domain.width, domain.height, 0}, .error = error};
  if (count < 1 || count > INT32_MAX / 11)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "a power diagram of %lld sites", (long long)count);
  for (int64_t i = 0; i < count; ++i) {
    const double x = sites[2 * i], y = sites[2 * i + 1];
    if (x >= 0 && x <= domain.width && y >= 0 && y <= domain.height && isfinite(weights[i]))
      continue;
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "site %lld at (%g, %g) with the weight %g is out of range", (long long)i, x, y,
                     weights[i]);
  }
  cvtm_cells made = {0};
  cvtm_status status = build_diagram(&d, sites, weights, count, threads);
  if (status == CVTM_OK) status = make_cells(&d, 0, &made);
  if (status == CVTM_OK) status = make_mesh(&d, sites, mesh);
  destroy_diagram(&d);
  if (status != CVTM_OK) {
    cvtm_cells_free(&made);
    return status;
  }
  *cells = made;
  return CVTM_OK;
}

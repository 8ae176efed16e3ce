/* Cells of a mesh that fills a domain: between the circumcentres of its triangles. */
#include "meshes/mesh.h"
#include "meshes/elements/twins.h"

#include <stdlib.h>
#include <string.h>

typedef struct builder {
  const cvtm_mesh *mesh;
  int64_t *twin, *at;
  double *centre; /* 2 per triangle */
  uint8_t *begun; /* per half-edge: its fan is in a cell already */
  cvtm_cells made;
  int64_t corners;
} builder;

static const double *point(const builder *b, int32_t v) { return b->mesh->points + 2 * (int64_t)v; }

/* The circumcentre; behind an edge of the border, the middle of that edge. */
static void find_centre(const builder *b, int64_t t, double centre[2]) {
  const int32_t *v = b->mesh->triangles + 3 * t;
  const double *a = point(b, v[0]);
  const double ux = point(b, v[1])[0] - a[0], uy = point(b, v[1])[1] - a[1];
  const double vx = point(b, v[2])[0] - a[0], vy = point(b, v[2])[1] - a[1];
  const double twice = 2 * (ux * vy - uy * vx), u2 = ux * ux + uy * uy, v2 = vx * vx + vy * vy;
  centre[0] = a[0] + (vy * u2 - uy * v2) / twice;
  centre[1] = a[1] + (ux * v2 - vx * u2) / twice;
  for (int k = 0; k < 3; ++k) {
    if (b->twin[3 * t + k] >= 0) continue;
    const double *p = point(b, v[k]), *q = point(b, v[(k + 1) % 3]), *r = point(b, v[(k + 2) % 3]);
    if ((p[0] - r[0]) * (q[0] - r[0]) + (p[1] - r[1]) * (q[1] - r[1]) >= 0) continue;
    centre[0] = 0.5 * (p[0] + q[0]);
    centre[1] = 0.5 * (p[1] + q[1]);
  }
}

static void add_corner(builder *b, double x, double y, int32_t across) {
  double *corner = b->made.corners + 2 * b->corners;
  corner[0] = x;
  corner[1] = y;
  b->made.neighbors[b->corners++] = across;
}

static void add_middle(builder *b, int32_t v, int32_t w, int32_t across) {
  const double *p = point(b, v), *q = point(b, w);
  add_corner(b, 0.5 * (p[0] + q[0]), 0.5 * (p[1] + q[1]), across);
}

/* The triangles around v from half-edge `first` counterclockwise, to the border or around. */
static void add_fan(builder *b, int32_t v, int64_t first) {
  const int32_t *corners = b->mesh->triangles;
  const int at_border = b->twin[first] < 0;
  if (at_border) {
    const int32_t w = corners[cvtm_half_after(first)];
    add_corner(b, point(b, v)[0], point(b, v)[1], -1);
    add_middle(b, v, w, w);
  }
  for (int64_t h = first;;) {
    const int64_t arriving = cvtm_half_before(h), next = b->twin[arriving];
    const int32_t w = corners[arriving];
    b->begun[h] = 1;
    add_corner(b, b->centre[2 * (h / 3)], b->centre[2 * (h / 3) + 1], w);
    if (next < 0) add_middle(b, v, w, -1);
    if (next < 0 || next == first) return;
    h = next;
  }
}

/* Fans that begin at the border first; where rings touch, a vertex has several. */
static void add_cell(builder *b, const int64_t *start, const int64_t *leaving, int32_t v) {
  for (int border = 1; border >= 0; --border) {
    for (int64_t k = start[v]; k < start[v + 1]; ++k) {
      const int64_t h = leaving[k];
      if (!b->begun[h] && (!border || b->twin[h] < 0)) add_fan(b, v, h);
    }
  }
}

/* The half-edges that leave each vertex, listed. */
static void list_leaving(const cvtm_mesh *mesh, int64_t *start, int64_t *leaving) {
  for (int64_t h = 0; h < 3 * mesh->triangle_count; ++h) ++start[mesh->triangles[h] + 2];
  for (int64_t v = 0; v < mesh->vertex_count; ++v) start[v + 2] += start[v + 1];
  for (int64_t h = 0; h < 3 * mesh->triangle_count; ++h) {
    leaving[start[mesh->triangles[h] + 1]++] = h;
  }
}

cvtm_status cvtm_cells_of_domain(const cvtm_mesh *mesh, cvtm_cells *cells, cvtm_error *error) {
  if (!mesh || !cells) return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "no mesh or no cells");
  if (mesh->vertex_count > INT32_MAX) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%lld sites; the most is %ld",
                     (long long)mesh->vertex_count, (long)INT32_MAX);
  }
  const size_t n = (size_t)mesh->vertex_count, halves = 3 * (size_t)mesh->triangle_count;
  /* A corner for each triangle, and three for each of the fans, of which every one at the
   * border has a half-edge of its own there. */
  const size_t most = 4 * halves + 1;
  builder b = {.mesh = mesh,
               .twin = malloc((halves + 1) * sizeof *b.twin),
               .at = malloc((n + 1) * sizeof *b.at),
               .centre = malloc((halves + 1) * sizeof *b.centre),
               .begun = calloc(halves + 1, 1),
               .made = {.count = mesh->vertex_count,
                        .start = malloc((n + 1) * sizeof *b.made.start),
                        .corners = malloc(2 * most * sizeof *b.made.corners),
                        .neighbors = malloc(most * sizeof *b.made.neighbors)}};
  int64_t *start = calloc(n + 2, sizeof *start);
  int64_t *leaving = malloc((halves + 1) * sizeof *leaving);
  cvtm_status status = CVTM_OK;
  if (!b.twin || !b.at || !b.centre || !b.begun || !b.made.start || !b.made.corners ||
      !b.made.neighbors || !start || !leaving) {
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the cells of %lld sites",
                       (long long)mesh->vertex_count);
  }
  if (status == CVTM_OK) {
    status = cvtm_find_twins(mesh->triangles, mesh->triangle_count, mesh->vertex_count, b.twin,
                             b.at, error);
  }
  if (status == CVTM_OK) {
    list_leaving(mesh, start, leaving);
    for (int64_t t = 0; t < mesh->triangle_count; ++t) find_centre(&b, t, b.centre + 2 * t);
    for (int64_t v = 0; v < mesh->vertex_count; ++v) {
      b.made.start[v] = b.corners;
      add_cell(&b, start, leaving, (int32_t)v);
    }
    b.made.start[mesh->vertex_count] = b.corners;
    *cells = b.made;
  } else {
    cvtm_cells_free(&b.made);
  }
  free(b.twin);
  free(b.at);
  free(b.centre);
  free(b.begun);
  free(start);
  free(leaving);
  return status;
}

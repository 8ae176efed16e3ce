#include "base/host.h"
#include "meshes/sphere/sphere_mesh.h"

#include <stdlib.h>
#include <string.h>

/* An array of a grid: the address of its pointer, and what it holds. */
typedef struct array {
  void *pointer;
  size_t count, size;
} array;

enum { ARRAYS = 18 };

static void list_arrays(cvtm_sphere_grid *g, array *list) {
  const size_t c = (size_t)g->cells, e = (size_t)g->edges, v = (size_t)g->vertices;
  const size_t m = (size_t)g->max_edges, real = sizeof(double), whole = sizeof(int32_t);
  const array all[ARRAYS] = {{&g->cell_point, 3 * c, real},
                             {&g->edge_point, 3 * e, real},
                             {&g->vertex_point, 3 * v, real},
                             {&g->edges_on_cell, m * c, whole},
                             {&g->cells_on_cell, m * c, whole},
                             {&g->vertices_on_cell, m * c, whole},
                             {&g->edge_count_on_cell, c, whole},
                             {&g->cells_on_edge, 2 * e, whole},
                             {&g->vertices_on_edge, 2 * e, whole},
                             {&g->cells_on_vertex, 3 * v, whole},
                             {&g->edges_on_vertex, 3 * v, whole},
                             {&g->dc, e, real},
                             {&g->dv, e, real},
                             {&g->angle, e, real},
                             {&g->cell_area, c, real},
                             {&g->triangle_area, v, real},
                             {&g->kite_area, 3 * v, real},
                             {&g->cell_parent, c, whole}};
  memcpy(list, all, sizeof all);
}

void cvtm_sphere_grid_free(cvtm_sphere_grid *g) {
  array list[ARRAYS];
  void *memory;
  list_arrays(g, list);
  for (int k = 0; k < ARRAYS; ++k) {
    memcpy(&memory, list[k].pointer, sizeof memory);
    free(memory);
  }
  memset(g, 0, sizeof *g);
}

static int allocate_grid(cvtm_sphere_grid *g) {
  array list[ARRAYS];
  list_arrays(g, list);
  for (int k = 0; k < ARRAYS; ++k) {
    void *memory = cvtm_host_allocate(list[k].count * list[k].size);
    if (memory == NULL) return 0;
    memcpy(list[k].pointer, &memory, sizeof memory);
  }
  return 1;
}

/* The triangulation, and the new numbers of what is kept: -1 for what is not. */
typedef struct source {
  const cvtm_sphere_mesh *mesh;
  int32_t *cell, *edge, *vertex; /* by point, half-edge, triangle */
} source;

static void number_kept(const source *s, const unsigned char *keep, cvtm_sphere_grid *g) {
  const cvtm_sphere_mesh *mesh = s->mesh;
  int32_t most = 0;
#pragma omp parallel for schedule(static) reduction(max : most)
  for (int64_t i = 0; i < mesh->count; ++i) {
    s->cell[i] = keep == NULL || keep[i] ? 0 : -1;
    const int32_t degree = s->cell[i] == 0 ? cvtm_sphere_degree(mesh, i) : 0;
    most = degree > most ? degree : most;
  }
  g->max_edges = most;
#pragma omp parallel for schedule(static)
  for (int64_t t = 0; t < mesh->triangle_count; ++t) {
    const int32_t *c = mesh->triangles + 3 * t;
    s->vertex[t] = s->cell[c[0]] & s->cell[c[1]] & s->cell[c[2]];
  }
  g->cells = cvtm_sphere_number(mesh->count, s->cell);
  g->edges = cvtm_sphere_number_edges(mesh, keep, s->edge);
  g->vertices = cvtm_sphere_number(mesh->triangle_count, s->vertex);
}

/* The midpoint between two cells, on their common edge. */
static cvtm_vector middle_of(const cvtm_sphere_mesh *mesh, int32_t a, int32_t b) {
  return cvtm_vector_unit(
      cvtm_vector_add(cvtm_vector_load(mesh->points, a), 1, cvtm_vector_load(mesh->points, b)));
}

static void set_vertices(const source *s, cvtm_sphere_grid *g) {
  const cvtm_sphere_mesh *mesh = s->mesh;
#pragma omp parallel for schedule(static)
  for (int64_t t = 0; t < mesh->triangle_count; ++t) {
    const int32_t v = s->vertex[t], *c = mesh->triangles + 3 * t;
    if (v < 0) continue;
    cvtm_vector p[3];
    for (int k = 0; k < 3; ++k) p[k] = cvtm_vector_load(mesh->points, c[k]);
    const cvtm_vector centre = cvtm_circumcentre(p[0], p[1], p[2]);
    cvtm_vector_store(g->vertex_point, v, centre);
    for (int k = 0; k < 3; ++k) {
      const int before = (k + 2) % 3, after = (k + 1) % 3;
      /* cell k lies between edges k and k + 1 */
      g->cells_on_vertex[3 * v + k] = s->cell[c[k]];
      g->edges_on_vertex[3 * v + k] = s->edge[3 * t + before];
      const double kite = cvtm_triangle_area(p[k], middle_of(mesh, c[k], c[after]), centre) +
                          cvtm_triangle_area(p[k], centre, middle_of(mesh, c[before], c[k]));
      g->kite_area[3 * v + k] = s->cell[c[k]] < 0 ? 0 : kite;
    }
    const double *kites = g->kite_area + 3 * (int64_t)v;
    g->triangle_area[v] = kites[0] + kites[1] + kites[2];
  }
}

/* The normal of an edge points from its first cell to its second, the tangent from its first
 * vertex to its second, which is 90 degrees to the left. The first cell always exists. */
static void set_edges(const source *s, cvtm_sphere_grid *g) {
  const cvtm_sphere_mesh *mesh = s->mesh;
#pragma omp parallel for schedule(static)
  for (int64_t h = 0; h < 3 * mesh->triangle_count; ++h) {
    const int32_t a = mesh->triangles[h], b = cvtm_sphere_end(mesh, (int32_t)h);
    const int64_t e = s->edge[h];
    if (a > b || e < 0) continue;
    const int turned = s->cell[a] < 0;
    const int32_t from = turned ? b : a, to = turned ? a : b;
    const int64_t left = turned ? mesh->twins[h] : h;
    const cvtm_vector p = cvtm_vector_load(mesh->points, from);
    const cvtm_vector q = cvtm_vector_load(mesh->points, to), at = middle_of(mesh, a, b);
    cvtm_vector_store(g->edge_point, e, at);
    g->cells_on_edge[2 * e] = s->cell[from];
    g->cells_on_edge[2 * e + 1] = s->cell[to];
    g->vertices_on_edge[2 * e] = s->vertex[mesh->twins[left] / 3];
    g->vertices_on_edge[2 * e + 1] = s->vertex[left / 3];
    g->dc[e] = cvtm_arc(p, q);
    g->dv[e] = cvtm_arc(cvtm_vector_load(g->vertex_point, g->vertices_on_edge[2 * e]),
                        cvtm_vector_load(g->vertex_point, g->vertices_on_edge[2 * e + 1]));
    const cvtm_vector normal = cvtm_vector_add(q, -1, p), east = {-at.y, at.x, 0};
    const cvtm_vector north = cvtm_vector_cross(at, east);
    g->angle[e] = atan2(cvtm_vector_dot(normal, north), cvtm_vector_dot(normal, east));
  }
}

/* Sets the arrays on cells, counterclockwise: cell k is beyond edge k, and vertex k is between
 * edges k and k + 1. */
static void set_cells(const source *s, cvtm_sphere_grid *g) {
  const cvtm_sphere_mesh *mesh = s->mesh;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < mesh->count; ++i) {
    const int32_t c = s->cell[i];
    if (c < 0) continue;
    cvtm_vector_store(g->cell_point, c, cvtm_vector_load(mesh->points, i));
    g->cell_parent[c] = (int32_t)i;
    int32_t h = mesh->leaves[i], count = 0;
    const int64_t place = (int64_t)c * g->max_edges;
    g->cell_area[c] = 0;
    do {
      const int64_t v = s->vertex[h / 3];
      g->edges_on_cell[place + count] = s->edge[h];
      g->cells_on_cell[place + count] = s->cell[cvtm_sphere_end(mesh, h)];
      g->vertices_on_cell[place + count++] = (int32_t)v;
      g->cell_area[c] += g->kite_area[3 * v + h % 3];
      h = cvtm_sphere_around(mesh, h);
    } while (h != mesh->leaves[i]);
    g->edge_count_on_cell[c] = count;
    for (; count < g->max_edges; ++count)
      g->edges_on_cell[place + count] = g->cells_on_cell[place + count] =
          g->vertices_on_cell[place + count] = -1;
  }
}

/* The area of cell c's kite at vertex v, relative to the cell. */
static double kite_share(const cvtm_sphere_grid *g, int32_t c, int32_t v) {
  for (int k = 0; k < 3; ++k)
    if (g->cells_on_vertex[3 * v + k] == c) return g->kite_area[3 * v + k] / g->cell_area[c];
  return 0;
}

/* TRiSK (Thuburn et al. 2009; Ringler et al. 2010, (24) and (33)): around each cell of the edge,
 * counterclockwise from the edge, 1/2 less the shares of the kites that have been passed. */
int32_t cvtm_sphere_grid_weights(const cvtm_sphere_grid *g, int64_t e, int32_t *others,
                                 double *weights) {
  int32_t count = 0;
  for (int side = 0; side < 2; ++side) {
    const int32_t c = g->cells_on_edge[2 * e + side];
    if (c < 0) continue;
    const int32_t n = g->edge_count_on_cell[c];
    const int32_t *edges = g->edges_on_cell + (int64_t)c * g->max_edges;
    const int32_t *vertices = g->vertices_on_cell + (int64_t)c * g->max_edges;
    int32_t at = 0;
    while (edges[at] != e) ++at;
    double passed = 0;
    for (int32_t k = 1; k < n; ++k, ++count) {
      const int32_t other = edges[(at + k) % n];
      if (others != NULL) others[count] = other;
      if (weights == NULL) continue;
      passed += kite_share(g, c, vertices[(at + k - 1) % n]);
      const double outward = g->cells_on_edge[2 * (int64_t)other] == c ? 1 : -1;
      const double sign = side == 0 ? outward : -outward;
      weights[count] = sign * (0.5 - passed) * g->dv[other] / g->dc[e];
    }
  }
  for (int32_t k = count; k < 2 * g->max_edges; ++k) {
    if (others != NULL) others[k] = -1;
    if (weights != NULL) weights[k] = 0;
  }
  return count;
}

cvtm_status cvtm_sphere_grid_create(const cvtm_sphere_mesh *mesh, const unsigned char *keep,
                                    cvtm_sphere_grid *grid, cvtm_error *error) {
  const size_t n = (size_t)mesh->count, t = (size_t)mesh->triangle_count;
  cvtm_scratch memory = {0};
  source s = {mesh, NULL, NULL, NULL};
  s.cell = cvtm_scratch_take(&memory, n, sizeof *s.cell);
  s.edge = cvtm_scratch_take(&memory, 3 * t, sizeof *s.edge);
  s.vertex = cvtm_scratch_take(&memory, t, sizeof *s.vertex);
  cvtm_sphere_grid g = {0};
  cvtm_status status = memory.failed ? cvtm_no_memory(error, "the grid") : CVTM_OK;
  if (status == CVTM_OK) {
    number_kept(&s, keep, &g);
    if (g.cells == 0)
      status = cvtm_fail(error, CVTM_ERROR_INPUT, "the mask leaves no cell");
    else if (!allocate_grid(&g))
      status = cvtm_no_memory(error, "the grid");
  }
  if (status == CVTM_OK) {
    set_vertices(&s, &g);
    set_edges(&s, &g);
    set_cells(&s, &g);
    *grid = g;
  } else {
    cvtm_sphere_grid_free(&g);
  }
  cvtm_scratch_free(&memory);
  return status;
}

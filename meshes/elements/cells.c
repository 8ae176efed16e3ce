/* Voronoi cells: the rectangle of the domain, cut by the bisectors between Delaunay neighbours. */
#include "base/host.h"
#include "base/geometry.h"
#include "meshes/elements/twins.h"
#include "meshes/mesh.h"

#include <math.h>
#include <stdlib.h>

/* ---- Neighbours ---- */

/* The neighbours of vertex v, ascending: the other ends, edges[ends[k] ^ 1], of its edges, where k
 * = start[v] .. start[v + 1] - 1. */
typedef struct adjacency {
  int32_t *edges; /* malloc'd, in lexicographic order */
  int64_t edge_count;
  int64_t *start, *ends;
  int64_t largest; /* largest number of neighbours */
} adjacency;

/* For points on one line: the neighbours are the previous and the next point. Returns the number of
 * edges. */
static int64_t list_line_edges(const cvtm_mesh *mesh, cvtm_placed *order, int32_t *edges) {
  for (int64_t i = 0; i < mesh->vertex_count; ++i)
    order[i] = (cvtm_placed){mesh->points[2 * i], mesh->points[2 * i + 1], i};
  qsort(order, (size_t)mesh->vertex_count, sizeof *order, cvtm_compare_placed);
  int64_t count = 0, last = 0;
  for (int64_t i = 1; i < mesh->vertex_count; ++i) {
    if (cvtm_compare_points(&order[last], &order[i]) == 0) continue;
    const int32_t one = (int32_t)order[last].index, other = (int32_t)order[i].index;
    edges[2 * count] = one < other ? one : other;
    edges[2 * count++ + 1] = one < other ? other : one;
    last = i;
  }
  qsort(edges, (size_t)count, 2 * sizeof *edges, cvtm_compare_two);
  return count;
}

static cvtm_status no_memory_for_cells(int64_t sites, cvtm_error *error) {
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the cells of %lld sites",
                   (long long)sites);
}

static cvtm_status find_adjacency(const cvtm_mesh *mesh, cvtm_scratch *memory, adjacency *adjacent,
                                  cvtm_error *error) {
  const size_t vertices = (size_t)mesh->vertex_count;
  if (mesh->triangle_count == 0) {
    cvtm_placed *order = cvtm_scratch_take(memory, vertices, sizeof *order);
    adjacent->edges = malloc(2 * vertices * sizeof *adjacent->edges);
    if (memory->failed || !adjacent->edges) return no_memory_for_cells(mesh->vertex_count, error);
    adjacent->edge_count = list_line_edges(mesh, order, adjacent->edges);
  } else {
    CVTM_TRY(cvtm_mesh_edges(mesh, &adjacent->edges, &adjacent->edge_count, error));
  }
  int64_t *start = cvtm_scratch_zeros(memory, vertices + 2, sizeof *start);
  int64_t *ends = cvtm_scratch_take(memory, 2 * (size_t)adjacent->edge_count, sizeof *ends);
  if (memory->failed) return no_memory_for_cells(mesh->vertex_count, error);
  cvtm_list_by_key(adjacent->edges, 2 * adjacent->edge_count, mesh->vertex_count, start, ends);
  for (size_t v = 0; v < vertices; ++v)
    if (start[v + 1] - start[v] > adjacent->largest) adjacent->largest = start[v + 1] - start[v];
  adjacent->start = start;
  adjacent->ends = ends;
  return CVTM_OK;
}

/* ---- One cell ---- */

typedef struct neighbor_site {
  double dx, dy; /* relative to the cell's site */
  double angle;  /* set only for hubs */
  int32_t id;
} neighbor_site;

/* Orders by angle, clockwise in stored coordinates as corners are; then by id. */
static int compare_angles(const void *left, const void *right) {
  const neighbor_site *a = left, *b = right;
  if (a->angle != b->angle) return a->angle > b->angle ? -1 : 1;
  return (a->id > b->id) - (a->id < b->id);
}

/* Lists the neighbours of v, sorted by id; returns their number. */
static int32_t gather_neighbors(const cvtm_mesh *mesh, const adjacency *adjacent, int64_t v,
                                neighbor_site *sites) {
  int32_t count = 0;
  for (int64_t k = adjacent->start[v]; k < adjacent->start[v + 1]; ++k) {
    const int64_t w = adjacent->edges[adjacent->ends[k] ^ 1];
    sites[count].dx = mesh->points[2 * w] - mesh->points[2 * v];
    sites[count].dy = mesh->points[2 * w + 1] - mesh->points[2 * v + 1];
    sites[count++].id = (int32_t)w;
  }
  return count;
}

/* A corner in a linked ring of corners, for hubs. */
typedef struct ring_corner {
  double x, y;
  int32_t neighbor, after, before;
} ring_corner;

/* Memory for the largest cell, reused for all cells. */
typedef struct workspace {
  neighbor_site *sites;
  int32_t capacity; /* corners */
  int32_t count;
  double *x, *y;
  int32_t *neighbor;
  ring_corner *ring;
} workspace;

static cvtm_status make_workspace(int64_t largest, cvtm_scratch *memory, workspace *work,
                                  cvtm_error *error) {
  /* Every neighbour adds at most one corner to the four of the rectangle; rings also keep the
   * corners that were cut off. */
  if (largest > INT32_MAX / 2 - 8)
    return cvtm_fail(error, CVTM_ERROR_MEMORY,
                     "a cell could have %lld corners, more than an array holds",
                     (long long)largest);
  const size_t corners = (size_t)largest + 8, ring = 2 * (size_t)largest + 8;
  work->capacity = (int32_t)corners;
  work->sites = cvtm_scratch_take(memory, corners, sizeof *work->sites);
  work->x = cvtm_scratch_take(memory, corners, sizeof *work->x);
  work->y = cvtm_scratch_take(memory, corners, sizeof *work->y);
  work->neighbor = cvtm_scratch_take(memory, corners, sizeof *work->neighbor);
  work->ring = cvtm_scratch_take(memory, ring, sizeof *work->ring);
  if (!memory->failed) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a cell of %lld corners",
                   (long long)largest);
}

static void clip_in_turn(workspace *work, int32_t sites) {
  cvtm_corners corners = {work->count, work->capacity, 1, work->x, work->y, work->neighbor};
  for (int32_t k = 0, at = 0; k < sites && corners.count > 0; ++k) {
    const neighbor_site *site = &work->sites[k];
    /* cannot overflow: there is room for a corner for every neighbour */
    (void)cvtm_corners_clip_bisector(&corners, site->dx, site->dy, site->id, &at);
  }
  work->count = corners.count;
}

/* ---- Hubs ---- */

/* A hub is a vertex with many neighbours: with d neighbours, simple cuts would take d^2 steps. The
 * neighbours are processed in the order of their directions. Then the corner farthest beyond each
 * bisector moves around the cell only once. With corners in a linked ring, the cost of a cut is the
 * number of corners that it removes. */
enum { HUB_NEIGHBORS = 64 };

static double beyond(const workspace *work, const neighbor_site *site, int32_t corner) {
  return site->dx * work->ring[corner].x + site->dy * work->ring[corner].y -
         0.5 * (site->dx * site->dx + site->dy * site->dy);
}

/* The corner farthest beyond the bisector of a site: with whole_ring the maximum over the ring,
 * else the local maximum found by walking from `corner` onwards. The walk continues over decreases
 * as small as rounding errors. */
static int32_t farthest_corner(const workspace *work, const neighbor_site *site, int32_t corner,
                               int whole_ring) {
  int32_t best = corner;
  double best_value = beyond(work, site, corner);
  const double rounding =
      1e-13 * (fabs(site->dx * work->ring[corner].x) + fabs(site->dy * work->ring[corner].y) +
               site->dx * site->dx + site->dy * site->dy);
  for (int32_t k = work->ring[corner].after; k != corner; k = work->ring[k].after) {
    const double value = beyond(work, site, k);
    if (value > best_value) {
      best = k;
      best_value = value;
    } else if (!whole_ring && value < best_value - rounding) {
      break;
    }
  }
  return best;
}

static void link_corners(workspace *work, int32_t a, int32_t b) {
  work->ring[a].after = b;
  work->ring[b].before = a;
}

/* Puts a corner where the bisector meets the edge from a removed to a kept corner. */
static void place_corner(workspace *work, const neighbor_site *site, int32_t removed, int32_t kept,
                         int32_t corner) {
  const double s = beyond(work, site, removed);
  const double t = s / (s - beyond(work, site, kept));
  work->ring[corner].x = work->ring[removed].x + (work->ring[kept].x - work->ring[removed].x) * t;
  work->ring[corner].y = work->ring[removed].y + (work->ring[kept].y - work->ring[removed].y) * t;
}

/* Cuts off the consecutive corners around `corner`. Returns the first new corner; -1 if no corner
 * remains. */
static int32_t cut_ring(workspace *work, const neighbor_site *site, int32_t corner, int32_t *used) {
  int32_t first = corner, last = corner;
  int32_t kept_before = work->ring[first].before, kept_after = work->ring[last].after;
  while (kept_before != corner && beyond(work, site, kept_before) >= 0) {
    first = kept_before;
    kept_before = work->ring[first].before;
  }
  if (kept_before == corner) return -1;
  while (beyond(work, site, kept_after) >= 0) {
    last = kept_after;
    kept_after = work->ring[last].after;
  }
  const int32_t p = (*used)++, q = (*used)++;
  place_corner(work, site, first, kept_before, p);
  place_corner(work, site, last, kept_after, q);
  work->ring[p].neighbor = site->id;
  work->ring[q].neighbor = work->ring[last].neighbor;
  link_corners(work, kept_before, p);
  link_corners(work, p, q);
  link_corners(work, q, kept_after);
  return p;
}

static void clip_by_direction(workspace *work, int32_t sites) {
  for (int32_t k = 0; k < sites; ++k)
    work->sites[k].angle = atan2(work->sites[k].dy, work->sites[k].dx);
  qsort(work->sites, (size_t)sites, sizeof *work->sites, compare_angles);
  int32_t used = work->count;
  for (int32_t k = 0; k < used; ++k)
    work->ring[k] = (ring_corner){.x = work->x[k], .y = work->y[k], .neighbor = work->neighbor[k]};
  for (int32_t k = 0; k < used; ++k) link_corners(work, k, (k + 1) % used);
  int32_t corner = 0;
  for (int32_t k = 0; k < sites; ++k) {
    /* Walking onwards finds the maximum only if the direction turns by less than half a circle. At
     * most two gaps between directions exceed 3 radians. */
    const int far = k == 0 || work->sites[k - 1].angle - work->sites[k].angle > 3;
    corner = farthest_corner(work, &work->sites[k], corner, far);
    if (!(beyond(work, &work->sites[k], corner) > 0)) continue;
    corner = cut_ring(work, &work->sites[k], corner, &used);
    if (corner < 0) {
      work->count = 0;
      return;
    }
  }
  work->count = 0;
  int32_t k = corner;
  do {
    work->x[work->count] = work->ring[k].x;
    work->y[work->count] = work->ring[k].y;
    work->neighbor[work->count++] = work->ring[k].neighbor;
    k = work->ring[k].after;
  } while (k != corner);
}

/* ---- All cells ---- */

/* Makes the cell of v, relative to v. Of coincident points only the first has a cell. */
static void make_cell(const cvtm_mesh *mesh, const adjacency *adjacent, cvtm_domain domain,
                      int64_t v, workspace *work) {
  const double x = mesh->points[2 * v], y = mesh->points[2 * v + 1];
  const int32_t sites = gather_neighbors(mesh, adjacent, v, work->sites);
  work->count = 0;
  const int alone = v == 0 && mesh->coincident_count == mesh->vertex_count - 1;
  if (sites == 0 && !alone) return;
  cvtm_corners_rectangle(0 - x, 0 - y, domain.width - x, domain.height - y, &work->count, work->x,
                         work->y, work->neighbor);
  if (sites > HUB_NEIGHBORS)
    clip_by_direction(work, sites);
  else
    clip_in_turn(work, sites);
}

/* site + relative, rounded to the side of the domain if the corner lies on that side. */
static double absolute(double relative, double site, double side) {
  if (relative <= 0 - site) return 0;
  if (relative >= side - site) return side;
  return fmin(fmax(site + relative, 0), side);
}

static int reserve_corners(cvtm_cells *cells, int64_t corners, int64_t *capacity) {
  const cvtm_growing arrays[] = {{&cells->corners, 2 * sizeof *cells->corners},
                                 {&cells->neighbors, sizeof *cells->neighbors}};
  return cvtm_grow_all(arrays, 2, capacity, corners);
}

static int make_cells(const cvtm_mesh *mesh, const adjacency *adjacent, cvtm_domain domain,
                      workspace *work, cvtm_cells *cells) {
  int64_t capacity = 0, used = 0;
  cells->start = malloc((size_t)(mesh->vertex_count + 1) * sizeof *cells->start);
  if (!cells->start || !reserve_corners(cells, 6 * mesh->vertex_count + 8, &capacity)) return 0;
  for (int64_t v = 0; v < mesh->vertex_count; ++v) {
    cells->start[v] = used;
    make_cell(mesh, adjacent, domain, v, work);
    if (!reserve_corners(cells, used + work->count, &capacity)) return 0;
    for (int32_t k = 0; k < work->count; ++k) {
      cells->corners[2 * used] = absolute(work->x[k], mesh->points[2 * v], domain.width);
      cells->corners[2 * used + 1] = absolute(work->y[k], mesh->points[2 * v + 1], domain.height);
      cells->neighbors[used++] = work->neighbor[k];
    }
  }
  cells->start[mesh->vertex_count] = used;
  cells->count = mesh->vertex_count;
  return 1;
}

static cvtm_status check_mesh(const cvtm_mesh *mesh, cvtm_error *error) {
  if (mesh->vertex_count < 1 || mesh->vertex_count > INT32_MAX || !mesh->points)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "the mesh has no vertices");
  if (mesh->triangle_count == 0 && !mesh->collinear)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "the mesh has no triangles");
  return cvtm_check_corners(mesh, error);
}

cvtm_status cvtm_cells_create(const cvtm_mesh *mesh, cvtm_domain domain, cvtm_cells *cells,
                              cvtm_error *error) {
  if (!mesh || !cells) return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "no mesh or no cells");
  if (domain.width < 1 || domain.height < 1)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "a domain of %d x %d", domain.width,
                     domain.height);
  CVTM_TRY(check_mesh(mesh, error));
  cvtm_scratch memory = {0};
  adjacency adjacent = {0};
  workspace work = {0};
  cvtm_cells made = {0};
  cvtm_status status = find_adjacency(mesh, &memory, &adjacent, error);
  if (status == CVTM_OK) status = make_workspace(adjacent.largest, &memory, &work, error);
  if (status == CVTM_OK && !make_cells(mesh, &adjacent, domain, &work, &made))
    status = no_memory_for_cells(mesh->vertex_count, error);
  free(adjacent.edges);
  cvtm_scratch_free(&memory);
  if (status != CVTM_OK) {
    cvtm_cells_free(&made);
    return status;
  }
  *cells = made;
  return CVTM_OK;
}

void cvtm_cells_free(cvtm_cells *cells) {
  if (!cells) return;
  free(cells->start);
  free(cells->corners);
  free(cells->neighbors);
  *cells = (cvtm_cells){0};
}

/* ---- Cells of a mesh that fills a domain: between the circumcentres of its triangles ---- */

typedef struct builder {
  const cvtm_mesh *mesh;
  int64_t *twin;
  double *centre; /* 2 per triangle */
  uint8_t *begun; /* per half-edge: nonzero if its fan is already part of a cell */
  cvtm_cells made;
  int64_t corners;
} builder;

static const double *point(const builder *b, int32_t v) { return b->mesh->points + 2 * (int64_t)v; }

/* Finds the circumcentre; if it lies beyond a border edge, the midpoint of that edge. */
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

/* Adds the circumcentres of the triangles around v, counterclockwise from `first`: once around or,
 * with v and the midpoints of its border edges, from border to border. */
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

/* Adds the fans of v, first those that begin at the border: several where rings touch. */
static void add_cell(builder *b, const int64_t *start, const int64_t *leaving, int32_t v) {
  for (int border = 1; border >= 0; --border) {
    for (int64_t k = start[v]; k < start[v + 1]; ++k) {
      const int64_t h = leaving[k];
      if (!b->begun[h] && (!border || b->twin[h] < 0)) add_fan(b, v, h);
    }
  }
}

cvtm_status cvtm_cells_of_domain(const cvtm_mesh *mesh, cvtm_cells *cells, cvtm_error *error) {
  if (!mesh || !cells) return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "no mesh or no cells");
  if (mesh->vertex_count > INT32_MAX) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%lld sites; at most %ld are possible",
                     (long long)mesh->vertex_count, (long)INT32_MAX);
  }
  const size_t n = (size_t)mesh->vertex_count, halves = 3 * (size_t)mesh->triangle_count;
  /* One corner per triangle, and three per fan at the border, each of which begins with its own
   * border half-edge. */
  const size_t most = 4 * halves + 1;
  cvtm_scratch memory = {0};
  int64_t *start = cvtm_scratch_zeros(&memory, n + 2, sizeof *start);
  int64_t *leaving = cvtm_scratch_take(&memory, halves, sizeof *leaving);
  builder b = {.mesh = mesh,
               .twin = cvtm_scratch_take(&memory, halves, sizeof *b.twin),
               .centre = cvtm_scratch_take(&memory, halves, sizeof *b.centre),
               .begun = cvtm_scratch_zeros(&memory, halves, 1),
               .made = {.count = mesh->vertex_count,
                        .start = malloc((n + 1) * sizeof *b.made.start),
                        .corners = malloc(2 * most * sizeof *b.made.corners),
                        .neighbors = malloc(most * sizeof *b.made.neighbors)}};
  cvtm_status status = CVTM_OK;
  if (memory.failed || !b.made.start || !b.made.corners || !b.made.neighbors)
    status = no_memory_for_cells(mesh->vertex_count, error);
  if (status == CVTM_OK)
    status = cvtm_find_twins(mesh->triangles, mesh->triangle_count, mesh->vertex_count, b.twin,
                             NULL, error);
  if (status == CVTM_OK) {
    cvtm_list_by_key(mesh->triangles, 3 * mesh->triangle_count, mesh->vertex_count, start, leaving);
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
  cvtm_scratch_free(&memory);
  return status;
}

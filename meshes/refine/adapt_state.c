#include "meshes/refine/adapt_state.h"

#include "base/grow.h"
#include "base/host_memory.h"
#include "meshes/constrained.h"
#include "meshes/elements/edge_faces.h"

#include <stdlib.h>
#include <string.h>

int cvtm_adapt_is_over(cvtm_adapter *a) {
  enum { STEPS = 64 }; /* between two questions */
  if (a->stopped || a->stop == NULL || a->polls++ % STEPS != 0) return a->stopped;
  return a->stopped = a->stop(a->stop_context) != 0;
}

/* ---- Lengths and shapes ---- */

static cvtm_metric metric_at(const cvtm_adapter *a, cvtm_grid_point p) {
  const double step = a->frame.step, factor = a->scale * step * step;
  const cvtm_metric m = cvtm_metric_at(a->field, a->frame.x + p.x * step, a->frame.y - p.y * step);
  return (cvtm_metric){factor * m.xx, -factor * m.xy, factor * m.yy}; /* y is up here */
}

double cvtm_adapt_length(const cvtm_adapter *a, int32_t u, int32_t v) {
  const cvtm_grid_point p = a->m.grid[u], q = a->m.grid[v];
  const double x = (double)q.x - p.x, y = (double)q.y - p.y;
  return 0.5 * (sqrt(cvtm_metric_square(a->metric[u], x, y)) +
                sqrt(cvtm_metric_square(a->metric[v], x, y)));
}

double cvtm_adapt_length_along(const cvtm_adapter *a, int32_t u, int32_t v) {
  enum { MOST = 16, CELLS = 4 }; /* pieces, and what one of them is long */
  const cvtm_grid_point p = a->m.grid[u], q = a->m.grid[v];
  const double x = (double)q.x - p.x, y = (double)q.y - p.y;
  const int pieces = (int)fmin(hypot(x, y) * a->frame.step / (CELLS * a->field->step), MOST);
  double sum = cvtm_adapt_length(a, u, v);
  for (int k = 1; k < pieces; ++k) {
    const double t = (double)k / pieces;
    const cvtm_grid_point place = {(int32_t)(p.x + t * x), (int32_t)(p.y + t * y)};
    sum += sqrt(cvtm_metric_square(metric_at(a, place), x, y));
  }
  return sum / fmax(pieces, 1);
}

double cvtm_adapt_shape(const cvtm_grid_point p[3], const cvtm_metric *const metric[3]) {
  const double twice = (double)cvtm_orient(p[0], p[1], p[2]);
  if (twice <= 0) return -1;
  cvtm_metric sum = {0, 0, 0};
  double squares = 0;
  for (int k = 0; k < 3; ++k) {
    sum.xx += metric[k]->xx;
    sum.xy += metric[k]->xy;
    sum.yy += metric[k]->yy;
  }
  for (int k = 0; k < 3; ++k) {
    const cvtm_grid_point q = p[(k + 1) % 3];
    squares += cvtm_metric_square(sum, (double)q.x - p[k].x, (double)q.y - p[k].y);
  }
  return 2 * sqrt(3) * twice * sqrt(fmax(cvtm_metric_determinant(sum), 0)) / squares;
}

double cvtm_adapt_quality(const cvtm_adapter *a, int32_t u, int32_t v, int32_t w) {
  const cvtm_grid_point p[3] = {a->m.grid[u], a->m.grid[v], a->m.grid[w]};
  const cvtm_metric *const metric[3] = {&a->metric[u], &a->metric[v], &a->metric[w]};
  return cvtm_adapt_shape(p, metric);
}

cvtm_grid_point cvtm_adapt_place_on(const cvtm_adapter *a, int32_t segment, double x, double y) {
  const int32_t *ends = a->given.edges + 2 * (int64_t)segment;
  const cvtm_grid_point p = a->m.grid[ends[0]], q = a->m.grid[ends[1]];
  const double ux = (double)q.x - p.x, uy = (double)q.y - p.y;
  const double s = ((x - p.x) * ux + (y - p.y) * uy) / (ux * ux + uy * uy);
  return (cvtm_grid_point){(int32_t)llround(p.x + s * ux), (int32_t)llround(p.y + s * uy)};
}

/* ---- Beginning and end ---- */

cvtm_status cvtm_adapt_describe(cvtm_adapter *a, int32_t v, int32_t segment) {
  const cvtm_growing arrays[] = {{&a->metric, sizeof *a->metric}, {&a->on, sizeof *a->on}};
  if (!cvtm_grow_all(arrays, 2, &a->capacity, v + 1)) return cvtm_no_memory(a->error, "the mesh");
  a->metric[v] = metric_at(a, a->m.grid[v]);
  a->on[v] = segment;
  ++a->live;
  return CVTM_OK;
}

static void mark_segments(cvtm_adapter *a, const int64_t *face) {
  for (int64_t e = 0; e < a->given.edge_count; ++e)
    cvtm_half_edges_mark(&a->m, face[e], (int32_t)e);
}

static double area_of(const cvtm_half_edges *m) {
  double twice = 0;
  for (int64_t t = 0; t < m->triangle_count; ++t)
    twice +=
        (double)cvtm_orient_of(m, m->corner[3 * t], m->corner[3 * t + 1], m->corner[3 * t + 2]);
  return 0.5 * twice;
}

static cvtm_status start_half_edges(cvtm_adapter *a, cvtm_mesh *mesh) {
  const size_t n = (size_t)mesh->vertex_count;
  double step = 0;
  cvtm_grid_point *grid = malloc(n * sizeof *grid);
  int64_t *face = malloc(((size_t)a->given.edge_count + 1) * sizeof *face);
  cvtm_status status =
      grid != NULL && face != NULL ? CVTM_OK : cvtm_no_memory(a->error, "the mesh");
  if (status == CVTM_OK)
    status = cvtm_snap_to_steps(mesh->points, mesh->vertex_count, grid, &step, a->error);
  if (status == CVTM_OK) {
    a->frame = cvtm_frame_of(mesh->points, grid[0], step);
    status = cvtm_half_edges_create(grid, mesh->vertex_count, mesh->triangles, a->given.region,
                                    mesh->triangle_count, &a->m, a->error);
  }
  if (status == CVTM_OK && !cvtm_find_edge_faces(mesh->triangles, mesh->triangle_count,
                                                 mesh->vertex_count, &a->given, face))
    status = cvtm_no_memory(a->error, "the mesh");
  if (status == CVTM_OK) mark_segments(a, face);
  free(grid);
  free(face);
  return status;
}

cvtm_status cvtm_adapt_begin(cvtm_adapter *a, const cvtm_boundary *boundary, int64_t wanted) {
  cvtm_mesh mesh = {0};
  int32_t *source = NULL;
  cvtm_status status = cvtm_constrained_delaunay(boundary->points, boundary->vertex_count, boundary,
                                                 &mesh, &a->given, &source, a->error);
  if (status == CVTM_OK) status = start_half_edges(a, &mesh);
  if (status == CVTM_OK) {
    /* A triangle that is equilateral with sides 1 has the area sqrt (3) / 4, and there are twice as
     * many as vertices. */
    const double area = area_of(&a->m) * a->frame.step * a->frame.step;
    a->scale = 0.5 * sqrt(3) * (double)wanted / (cvtm_metric_mean_density(a->field) * area);
  }
  for (int32_t v = 0; v < mesh.vertex_count && status == CVTM_OK; ++v)
    status = cvtm_adapt_describe(a, v, CVTM_ADAPT_CORNER);
  cvtm_mesh_free(&mesh);
  free(source);
  return status;
}

void cvtm_adapt_end(cvtm_adapter *a) {
  cvtm_half_edges_free(&a->m);
  cvtm_regions_free(&a->given);
  free(a->metric);
  free(a->on);
}

/* ---- Moves ---- */

enum { MOST_NEIGHBOURS = 64 };

/* The vertices around v; a fan that is not closed has one more than triangles. */
typedef struct ring {
  int32_t vertex[MOST_NEIGHBOURS + 1];
  int count, triangles;
  int on_segment[MOST_NEIGHBOURS + 1]; /* the edge to it is a piece of the segment of v */
} ring;

static int find_ring(const cvtm_adapter *a, int32_t v, ring *r) {
  const cvtm_half_edges *m = &a->m;
  const int64_t first = cvtm_first_of_fan(m, m->at[v]);
  const int32_t on = a->on[v];
  *r = (ring){.count = 0};
  for (int64_t h = first; h >= 0;) {
    if (r->count == MOST_NEIGHBOURS) return 0;
    r->on_segment[r->count] = on >= 0 && m->segment[h] == on;
    r->vertex[r->count++] = cvtm_end_of(m, h);
    ++r->triangles;
    const int64_t next = cvtm_turn_left(m, h);
    if (next < 0) {
      r->on_segment[r->count] = on >= 0 && m->segment[cvtm_half_before(h)] == on;
      r->vertex[r->count++] = cvtm_apex_of(m, h);
    }
    h = next;
    if (h == first) break;
  }
  return 1;
}

static double worst_around(const cvtm_adapter *a, const ring *r, cvtm_grid_point place,
                           const cvtm_metric *metric) {
  double worst = 1;
  for (int k = 0; k < r->triangles; ++k) {
    const int32_t u = r->vertex[k], v = r->vertex[k + 1 < r->count ? k + 1 : 0];
    const cvtm_grid_point p[3] = {place, a->m.grid[u], a->m.grid[v]};
    const cvtm_metric *const metrics[3] = {metric, &a->metric[u], &a->metric[v]};
    worst = fmin(worst, cvtm_adapt_shape(p, metrics));
  }
  return worst;
}

/* The mean of the places at the distance 1 from each neighbour, in its direction; of a vertex on a
 * segment from the two neighbours there. */
static int find_goal(const cvtm_adapter *a, int32_t v, const ring *r, double goal[2]) {
  const cvtm_grid_point at = a->m.grid[v];
  const int on = a->on[v] >= 0;
  int count = 0;
  goal[0] = goal[1] = 0;
  for (int k = 0; k < r->count; ++k) {
    if (on && !r->on_segment[k]) continue;
    const cvtm_grid_point p = a->m.grid[r->vertex[k]];
    const double length = cvtm_adapt_length(a, v, r->vertex[k]);
    goal[0] += p.x + ((double)at.x - p.x) / length;
    goal[1] += p.y + ((double)at.y - p.y) / length;
    ++count;
  }
  goal[0] /= count;
  goal[1] /= count;
  return count >= 2;
}

static cvtm_grid_point place_towards(const cvtm_adapter *a, int32_t v, const double goal[2],
                                     double share) {
  const cvtm_grid_point at = a->m.grid[v];
  const double x = at.x + share * (goal[0] - at.x), y = at.y + share * (goal[1] - at.y);
  if (a->on[v] >= 0) return cvtm_adapt_place_on(a, a->on[v], x, y);
  return (cvtm_grid_point){(int32_t)llround(x), (int32_t)llround(y)};
}

static void move_vertex(cvtm_adapter *a, int32_t v) {
  ring r;
  double goal[2];
  if (!find_ring(a, v, &r) || !find_goal(a, v, &r, goal)) return;
  const double before = worst_around(a, &r, a->m.grid[v], &a->metric[v]);
  for (double share = 0.8; share > 0.1; share *= 0.5) {
    const cvtm_grid_point place = place_towards(a, v, goal, share);
    const cvtm_metric metric = metric_at(a, place);
    if (worst_around(a, &r, place, &metric) < fmin(before, 0.9)) continue;
    if (!cvtm_half_edges_move(&a->m, v, place)) continue;
    a->metric[v] = metric;
    ++a->figures->moved;
    return;
  }
}

cvtm_status cvtm_adapt_smooth(cvtm_adapter *a) {
  for (int32_t v = 0; v < a->m.vertex_count && !cvtm_adapt_is_over(a); ++v) {
    if (a->m.at[v] < 0 || a->on[v] == CVTM_ADAPT_CORNER) continue;
    move_vertex(a, v);
    a->m.depth = 0;
    cvtm_half_edges_commit(&a->m);
  }
  return a->m.out_of_memory ? cvtm_no_memory(a->error, "the mesh") : CVTM_OK;
}

/* ---- The result ---- */

typedef struct listed_triangle {
  int32_t corner[3], region;
} listed_triangle;

/* For qsort. */
static int compare_listed(const void *left, const void *right) {
  const listed_triangle *a = left, *b = right;
  if (a->region != b->region) return a->region < b->region ? -1 : 1;
  for (int k = 0; k < 3; ++k)
    if (a->corner[k] != b->corner[k]) return a->corner[k] < b->corner[k] ? -1 : 1;
  return 0;
}

static int64_t list_triangles(const cvtm_half_edges *m, const int32_t *number,
                              listed_triangle *list) {
  int64_t count = 0;
  for (int64_t t = 0; t < m->triangle_count; ++t) {
    if (m->corner[3 * t] < 0) continue;
    int32_t v[3];
    for (int k = 0; k < 3; ++k) v[k] = number[m->corner[3 * t + k]];
    const int first = v[0] < v[1] ? (v[0] < v[2] ? 0 : 2) : (v[1] < v[2] ? 1 : 2);
    list[count++] =
        (listed_triangle){{v[first], v[(first + 1) % 3], v[(first + 2) % 3]}, m->region[t]};
  }
  qsort(list, (size_t)count, sizeof *list, compare_listed);
  return count;
}

/* The pieces of segments. As in the first triangulation the outside is never on the left. */
static void list_pieces(const cvtm_adapter *a, const int32_t *number, cvtm_regions *made) {
  const cvtm_half_edges *m = &a->m;
  for (int64_t h = 0; h < 3 * m->triangle_count; ++h) {
    const int32_t s = m->corner[h] < 0 ? -1 : m->segment[h];
    if (s < 0 || m->twin[h] >= h) continue;
    const int32_t left = m->region[h / 3], right = m->twin[h] >= 0 ? m->region[m->twin[h] / 3] : 0;
    const int turned = right > 0 && right < left;
    const int32_t from = number[m->corner[h]], to = number[cvtm_end_of(m, h)];
    const int64_t e = made->edge_count++;
    made->edges[2 * e] = turned ? to : from;
    made->edges[2 * e + 1] = turned ? from : to;
    made->left[e] = turned ? right : left;
    made->right[e] = turned ? left : right;
    made->curve[e] = 1;
  }
  made->curve_count = 1;
}

static void measure(const cvtm_adapter *a, cvtm_adapt_figures *f) {
  const cvtm_half_edges *m = &a->m;
  int64_t edges = 0, good = 0, triangles = 0;
  f->shortest = f->least_quality = INFINITY;
  for (int64_t h = 0; h < 3 * m->triangle_count; ++h) {
    if (m->corner[h] < 0) continue;
    if (h % 3 == 0) {
      const double quality =
          cvtm_adapt_quality(a, m->corner[h], m->corner[h + 1], m->corner[h + 2]);
      f->least_quality = fmin(f->least_quality, quality);
      f->mean_quality += quality;
      ++triangles;
    }
    if (m->twin[h] >= h) continue;
    const double length = cvtm_adapt_length(a, m->corner[h], cvtm_end_of(m, h));
    f->shortest = fmin(f->shortest, length);
    f->longest = fmax(f->longest, length);
    good += length >= a->shortest && length <= a->longest;
    ++edges;
  }
  f->good_edges = (double)good / (double)edges;
  f->mean_quality /= (double)triangles;
}

cvtm_status cvtm_adapt_extract(const cvtm_adapter *a, cvtm_mesh *mesh, cvtm_regions *regions) {
  const cvtm_half_edges *m = &a->m;
  const size_t n = (size_t)m->vertex_count + 1, t = (size_t)m->triangle_count + 1;
  int32_t *number = malloc(n * sizeof *number);
  listed_triangle *list = malloc(t * sizeof *list);
  cvtm_mesh made = {.points = malloc(2 * n * sizeof *made.points),
                    .triangles = malloc(3 * t * sizeof *made.triangles)};
  cvtm_regions parts = {.region = malloc(t * sizeof *parts.region),
                        .edges = malloc(6 * t * sizeof *parts.edges),
                        .left = malloc(3 * t * sizeof *parts.left),
                        .right = malloc(3 * t * sizeof *parts.right),
                        .curve = malloc(3 * t * sizeof *parts.curve)};
  const int all = number && list && made.points && made.triangles && parts.region && parts.edges &&
                  parts.left && parts.right && parts.curve;
  for (int64_t v = 0; v < m->vertex_count && all; ++v) {
    number[v] = (int32_t)made.vertex_count;
    if (m->at[v] < 0) continue;
    made.points[2 * made.vertex_count] = a->frame.x + m->grid[v].x * a->frame.step;
    made.points[2 * made.vertex_count++ + 1] = a->frame.y - m->grid[v].y * a->frame.step;
  }
  if (all) {
    made.triangle_count = list_triangles(m, number, list);
    for (int64_t k = 0; k < made.triangle_count; ++k) {
      memcpy(made.triangles + 3 * k, list[k].corner, sizeof list[k].corner);
      parts.region[k] = list[k].region;
    }
    list_pieces(a, number, &parts);
    measure(a, a->figures);
  }
  free(number);
  free(list);
  if (!all) {
    cvtm_mesh_free(&made);
    cvtm_regions_free(&parts);
    return cvtm_no_memory(a->error, "the mesh");
  }
  *mesh = made;
  *regions = parts;
  return CVTM_OK;
}

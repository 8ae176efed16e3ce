#include "base/host.h"
#include "base/select.h"
#include "base/portable.h"
#include "meshes/delaunay/crossings.h"
#include "meshes/refine.h"
#include "meshes/refine/refine_state.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Shapes ---- */

/* The cotangent of the smallest angle of a positively oriented triangle. */
static double largest_cotangent(cvtm_grid_point a, cvtm_grid_point b, cvtm_grid_point c) {
  const double cross = (double)cvtm_orient(a, b, c);
  const double of_a = cvtm_dot_at(a, b, c), of_b = cvtm_dot_at(b, c, a),
               of_c = cvtm_dot_at(c, a, b);
  const double of_ab = of_a > of_b ? of_a : of_b;
  return (of_ab > of_c ? of_ab : of_c) / cross;
}

static cvtm_grid_point corner_place(const cvtm_refiner *r, int64_t t, int k) {
  return r->m.grid[r->m.corner[3 * t + k]];
}

double cvtm_triangle_cotangent(const cvtm_refiner *r, int64_t t) {
  return largest_cotangent(corner_place(r, t, 0), corner_place(r, t, 1), corner_place(r, t, 2));
}

int64_t cvtm_shortest_side(const cvtm_refiner *r, int64_t t) {
  int shortest = 0;
  double length[3];
  for (int k = 0; k < 3; ++k) {
    length[k] = cvtm_length2(corner_place(r, t, k), corner_place(r, t, (k + 1) % 3));
    if (length[k] < length[shortest]) shortest = k;
  }
  return 3 * t + shortest;
}

double cvtm_triangle_excess(const cvtm_refiner *r, int64_t t) {
  if (r->options->area == NULL) return 0;
  const cvtm_grid_point a = corner_place(r, t, 0), b = corner_place(r, t, 1),
                        c = corner_place(r, t, 2);
  const double step = r->frame.step, area = 0.5 * (double)cvtm_orient(a, b, c) * step * step;
  const double x = ((double)a.x + b.x + c.x) / 3, y = ((double)a.y + b.y + c.y) / 3;
  return area / r->options->area(r->options->area_context, r->m.region[t], r->frame.x + x * step,
                                 r->frame.y - y * step);
}

/* ---- Small angles ---- */

static int is_given(const cvtm_refiner *r, int32_t v) {
  return r->vertex[v].kind == CVTM_VERTEX_GIVEN;
}

/* The segments that contain a vertex; *count: their number. */
static const int32_t *segments_of(const cvtm_refiner *r, int32_t v, int64_t *count) {
  if (is_given(r, v)) {
    *count = r->meeting[v + 1] - r->meeting[v];
    return r->met + r->meeting[v];
  }
  *count = r->vertex[v].segment >= 0;
  return &r->vertex[v].segment;
}

static int32_t common_end(const cvtm_refiner *r, int32_t s, int32_t t) {
  const int32_t *p = r->ends + 2 * (int64_t)s, *q = r->ends + 2 * (int64_t)t;
  if (p[0] == q[0] || p[0] == q[1]) return p[0];
  return p[1] == q[0] || p[1] == q[1] ? p[1] : -1;
}

/* The common end c of the segments s and t, if u on s and w on t have the same distance from it and
 * the angle between the segments is below 60 degrees; else -1. *cotangent: that of the angle. */
static int32_t shared_shell(const cvtm_refiner *r, int32_t s, int32_t t, int32_t u, int32_t w,
                            double *cotangent) {
  const int32_t c = s == t ? -1 : common_end(r, s, t);
  if (c < 0 || is_given(r, u) || is_given(r, w)) return -1;
  const cvtm_grid_point at = r->m.grid[c], p = r->m.grid[u], q = r->m.grid[w];
  const double pp = cvtm_length2(at, p), qq = cvtm_length2(at, q), pq = cvtm_dot_at(at, p, q);
  if (fabs(pp - qq) > 2e-3 * pp) return -1;
  *cotangent = pq / fabs((double)cvtm_orient(at, p, q));
  return pq > 0 && pq * pq > 0.2501 * pp * qq ? c : -1;
}

/* The given vertex at which the triangle has its smallest angle, if that is between two
 * segments. */
static int32_t corner_within(const cvtm_refiner *r, int64_t t, double *cotangent) {
  const cvtm_half_edges *m = &r->m;
  const int64_t before = cvtm_half_after(cvtm_shortest_side(r, t)), h = cvtm_half_after(before);
  const int32_t v = m->corner[h];
  if (m->segment[h] < 0 || m->segment[before] < 0 || !is_given(r, v)) return -1;
  *cotangent = cvtm_triangle_cotangent(r, t);
  return v;
}

/* Nonzero if fewer than two corners of a triangle are on the boundary. */
static int is_within(const cvtm_refiner *r, int64_t t) {
  int inside = 0;
  for (int k = 0; k < 3; ++k) {
    const int kind = r->vertex[r->m.corner[3 * t + k]].kind;
    inside += kind == CVTM_VERTEX_SITE || kind == CVTM_VERTEX_FREE;
  }
  return inside >= 2;
}

int32_t cvtm_small_corner_of(const cvtm_refiner *r, int64_t t, double *cotangent) {
  if (is_within(r, t)) return -1;
  const int64_t side = cvtm_shortest_side(r, t);
  const int32_t u = r->m.corner[side], w = cvtm_end_of(&r->m, side);
  int64_t of_u, of_w;
  int32_t corner = corner_within(r, t, cotangent);
  const int32_t *s = segments_of(r, u, &of_u), *q = segments_of(r, w, &of_w);
  for (int64_t i = 0; i < of_u && corner < 0; ++i) {
    for (int64_t k = 0; k < of_w && corner < 0; ++k)
      corner = shared_shell(r, s[i], q[k], u, w, cotangent);
  }
  return corner;
}

/* ---- Places on segments ---- */

static int64_t common_divisor(int64_t a, int64_t b) {
  while (b != 0) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

double cvtm_segment_parameter(const cvtm_refiner *r, int32_t segment, cvtm_grid_point p) {
  const cvtm_grid_point a = r->m.grid[r->ends[2 * (int64_t)segment]],
                        b = r->m.grid[r->ends[2 * (int64_t)segment + 1]];
  return cvtm_dot_at(a, b, p) / cvtm_length2(a, b);
}

cvtm_grid_point cvtm_segment_place(const cvtm_refiner *r, int32_t segment, double s,
                                   double tolerance) {
  const cvtm_grid_point a = r->m.grid[r->ends[2 * (int64_t)segment]],
                        b = r->m.grid[r->ends[2 * (int64_t)segment + 1]];
  const int64_t dx = (int64_t)b.x - a.x, dy = (int64_t)b.y - a.y;
  const int64_t parts = common_divisor(dx < 0 ? -dx : dx, dy < 0 ? -dy : dy);
  const int64_t k = llround(s * (double)parts);
  if (fabs((double)k / (double)parts - s) <= tolerance)
    return (cvtm_grid_point){(int32_t)(a.x + dx / parts * k), (int32_t)(a.y + dy / parts * k)};
  cvtm_grid_point place = {(int32_t)(a.x + llround(s * (double)dx)),
                           (int32_t)(a.y + llround(s * (double)dy))};
  if (r->keeps_inside && r->borders_outside[segment] && cvtm_orient(a, b, place) < 0) {
    if (llabs(dx) >= llabs(dy))
      place.y += dx > 0 ? 1 : -1;
    else
      place.x -= dy > 0 ? 1 : -1;
  }
  return place;
}

/* ---- Changes ---- */

int cvtm_refine_is_over(cvtm_refiner *r) {
  enum { STEPS = 64 }; /* between two calls of stop */
  if (r->stopped || r->options->stop == NULL || r->polls++ % STEPS != 0) return r->stopped;
  return r->stopped = r->options->stop(r->options->stop_context) != 0;
}

cvtm_status cvtm_list_changed(cvtm_refiner *r, int64_t mark) {
  const cvtm_half_edges *m = &r->m;
  const int64_t known = r->stamp_capacity;
  if (!cvtm_grow(&r->stamp, sizeof *r->stamp, &r->stamp_capacity, m->triangle_count) ||
      m->out_of_memory)
    return cvtm_no_memory(r->error, "the refinement");
  for (int64_t t = known; t < r->stamp_capacity; ++t) r->stamp[t] = 0;
  ++r->round;
  r->changed_count = 0;
  for (int64_t k = mark; k < m->change_count; ++k) {
    const int64_t t = m->changes[k].index / 3;
    if (m->changes[k].kind != CVTM_CHANGED_CORNER || m->corner[3 * t] < 0) continue;
    if (r->stamp[t] == r->round) continue;
    if (!cvtm_grow(&r->changed, sizeof *r->changed, &r->changed_capacity, r->changed_count + 1))
      return cvtm_no_memory(r->error, "the refinement");
    r->stamp[t] = r->round;
    r->changed[r->changed_count++] = t;
  }
  return CVTM_OK;
}

void cvtm_refine_defaults(cvtm_refine_options *options) {
  *options = (cvtm_refine_options){.min_angle = 30, .headroom = 1.5, .growth = 8, .fewest = 1};
}

void cvtm_refine_figures_free(cvtm_refine_figures *figures) {
  free(figures->corners);
  free(figures->narrow);
  *figures = (cvtm_refine_figures){0};
}

static const double usual_bound =
    33; /* degrees; up to this bound insertion terminates quickly without moves */
static const double lower_step =
    2; /* degrees by which a bound that takes too many points is reduced */
static const double free_points = 1000; /* points that are allowed for any bound */

/* ---- Setting up ---- */

/* Orders the vertices of a mesh like the caller's points: those of the boundary first. */
typedef struct start {
  cvtm_mesh mesh;
  cvtm_regions regions;
  int32_t *source;
} start;

static void free_start(start *s) {
  cvtm_mesh_free(&s->mesh);
  cvtm_regions_free(&s->regions);
  free(s->source);
}

static cvtm_status triangulate_start(const double *points, int64_t count,
                                     const cvtm_boundary *boundary, cvtm_refiner *r, start *s) {
  const cvtm_status status = cvtm_constrained_delaunay(points, count, boundary, &s->mesh,
                                                       &s->regions, &s->source, r->error);
  if (status != CVTM_OK) return status;
  return cvtm_half_edges_of_mesh(&s->mesh, s->regions.region, &r->m, &r->frame, r->error);
}

/* The segments are the edges of the boundary, divided at vertices of the mesh that lie on them. */
static cvtm_status take_segments(cvtm_refiner *r, const start *s) {
  const size_t edges = (size_t)s->regions.edge_count;
  r->segment_count = s->regions.edge_count;
  r->ends = malloc(2 * edges * sizeof *r->ends);
  r->borders_outside = malloc(edges);
  if (!r->ends || !r->borders_outside) return cvtm_no_memory(r->error, "the refinement");
  memcpy(r->ends, s->regions.edges, 2 * edges * sizeof *r->ends);
  for (size_t e = 0; e < edges; ++e) r->borders_outside[e] = s->regions.right[e] == 0;
  return cvtm_refine_index_segments(r);
}

cvtm_status cvtm_refine_index_segments(cvtm_refiner *r) {
  const size_t edges = (size_t)r->segment_count, n = (size_t)r->m.vertex_count;
  r->met = malloc((2 * edges + 1) * sizeof *r->met);
  r->meeting = calloc(n + 2, sizeof *r->meeting);
  r->is_acute = calloc(n, 1);
  if (!r->met || !r->meeting || !r->is_acute) return cvtm_no_memory(r->error, "the refinement");
  for (size_t k = 0; k < 2 * edges; ++k) ++r->meeting[r->ends[k] + 2];
  for (size_t v = 0; v < n; ++v) r->meeting[v + 2] += r->meeting[v + 1];
  for (size_t k = 0; k < 2 * edges; ++k) r->met[r->meeting[r->ends[k] + 1]++] = (int32_t)(k / 2);
  return CVTM_OK;
}

/* Marks the half-edges of segments; each is the half-edge between the two vertices of the
 * segment. */
static void mark_segments(cvtm_refiner *r) {
  cvtm_half_edges *m = &r->m;
  for (int64_t h = 0; h < 3 * m->triangle_count; ++h) {
    const int32_t from = m->corner[h], to = cvtm_end_of(m, h);
    for (int64_t k = r->meeting[from]; k < r->meeting[from + 1]; ++k) {
      const int32_t *ends = r->ends + 2 * (int64_t)r->met[k];
      if (ends[0] == to || ends[1] == to) m->segment[h] = r->met[k];
    }
  }
}

/* The smallest angle between two segments that meet at a vertex, degrees. */
static double corner_angle(const cvtm_refiner *r, int32_t v) {
  double smallest = 180;
  const cvtm_grid_point at = r->m.grid[v];
  for (int64_t i = r->meeting[v]; i < r->meeting[v + 1]; ++i) {
    const int32_t *p = r->ends + 2 * (int64_t)r->met[i];
    const cvtm_grid_point a = r->m.grid[p[p[0] == v]];
    for (int64_t k = r->meeting[v]; k < i; ++k) {
      const int32_t *q = r->ends + 2 * (int64_t)r->met[k];
      const cvtm_grid_point b = r->m.grid[q[q[0] == v]];
      const double cross = fabs((double)cvtm_orient(at, a, b)), dot = cvtm_dot_at(at, a, b);
      smallest = fmin(smallest, atan2(cross, dot) * 180 / CVTM_PI);
    }
  }
  return smallest;
}

/* Slightly less than 60 degrees, so that rounding does not make an angle of 60 degrees acute. */
static void find_acute(cvtm_refiner *r) {
  for (int64_t v = 0; v < r->given_count; ++v) r->is_acute[v] = corner_angle(r, (int32_t)v) < 59.99;
}

/* Also uses the distance of a vertex from the opposite part of a segment in its triangle, because a
 * corner may lie near the middle of a long segment. */
static void lower_scales_at_segments(cvtm_refiner *r) {
  const cvtm_half_edges *m = &r->m;
  for (int64_t h = 0; h < 3 * m->triangle_count; ++h) {
    if (m->segment[h] < 0 || m->corner[h] < 0) continue;
    const int32_t from = m->corner[h], to = cvtm_end_of(m, h), apex = cvtm_apex_of(m, h);
    const double length2 = cvtm_length2(m->grid[from], m->grid[to]);
    const double along = cvtm_dot_at(m->grid[from], m->grid[to], m->grid[apex]);
    if (along <= 0 || along >= length2) continue;
    const double to_apex2 = cvtm_length2(m->grid[from], m->grid[apex]);
    const double distance = sqrt(fmax(to_apex2 - along * along / length2, 0));
    r->vertex[apex].scale = fmin(r->vertex[apex].scale, distance);
  }
}

/* The scale of a vertex: the length of its shortest edge. */
static cvtm_status describe_vertices(cvtm_refiner *r) {
  const cvtm_half_edges *m = &r->m;
  const int64_t n = m->vertex_count;
  r->vertex = malloc((size_t)n * sizeof *r->vertex);
  r->vertex_capacity = r->given_count = n;
  if (r->vertex == NULL) return cvtm_no_memory(r->error, "the refinement");
  for (int64_t v = 0; v < n; ++v)
    r->vertex[v] = (cvtm_refine_vertex){
        .scale = INFINITY, .segment = -1, .copy = -1, .kind = CVTM_VERTEX_GIVEN};
  for (int64_t h = 0; h < 3 * m->triangle_count; ++h) {
    const int32_t v = m->corner[h], w = v < 0 ? v : cvtm_end_of(m, h);
    if (v < 0) continue;
    const double length = cvtm_length2(m->grid[v], m->grid[w]);
    r->vertex[v].scale = fmin(r->vertex[v].scale, length);
    r->vertex[w].scale = fmin(r->vertex[w].scale, length);
  }
  for (int64_t v = 0; v < n; ++v) r->vertex[v].scale = sqrt(r->vertex[v].scale);
  return CVTM_OK;
}

/* Points that are neither vertices of the boundary nor on one of its edges, which they would
 * divide, may move. */
static void find_sites(cvtm_refiner *r, const start *s, int64_t boundary_vertices) {
  for (int64_t v = 0; v < r->m.vertex_count; ++v)
    if (s->source[v] >= boundary_vertices && r->meeting[v] == r->meeting[v + 1])
      r->vertex[v].kind = CVTM_VERTEX_SITE;
}

void cvtm_refine_set_bound(cvtm_refiner *r, double degrees) {
  const double angle = degrees * CVTM_PI / 180;
  /* Slightly stricter than the bound, so that rounding leaves no angle below the bound. */
  r->cotangent = angle > 0 ? (1 - 1e-12) / tan(angle) : INFINITY;
  r->lens = fmax(cos(2 * angle), 0);
  r->relocates = degrees > usual_bound;
  r->off_centre = angle > 0 ? 0.475 * sqrt((1 + cos(angle)) / (1 - cos(angle))) : INFINITY;
}

/* Refuses area caps that need many more triangles than are allowed. */
static cvtm_status check_demand(const cvtm_refiner *r) {
  const int64_t most = cvtm_most_points(r->options);
  double triangles = 0;
  for (int64_t t = 0; t < r->m.triangle_count; ++t)
    if (r->m.corner[3 * t] >= 0) triangles += cvtm_triangle_excess(r, t);
  if (triangles <= 2 * (double)most) return CVTM_OK;
  return cvtm_fail(r->error, CVTM_ERROR_INPUT,
                   "the largest areas need %.3g triangles, and with these more than %" PRId64
                   " points",
                   triangles, most);
}

cvtm_status cvtm_refine_begin(cvtm_refiner *r, const double *points) {
  cvtm_status status = describe_vertices(r);
  if (status == CVTM_OK) status = cvtm_refine_pair_segments(r, points);
  if (status != CVTM_OK) return status;
  lower_scales_at_segments(r);
  find_acute(r);
  cvtm_refine_share_corners(r);
  status = cvtm_refine_find_touches(r);
  if (status != CVTM_OK) return status;
  return check_demand(r);
}

static cvtm_status start_refinement(cvtm_refiner *r, const double *points, int64_t count,
                                    const cvtm_boundary *boundary, start *s) {
  cvtm_refine_set_bound(r, r->options->min_angle);
  cvtm_status status = triangulate_start(points, count, boundary, r, s);
  if (status == CVTM_OK) status = take_segments(r, s);
  if (status != CVTM_OK) return status;
  mark_segments(r);
  status = cvtm_refine_begin(r, s->mesh.points);
  if (status == CVTM_OK) find_sites(r, s, boundary->vertex_count);
  return status;
}

void cvtm_refine_destroy(cvtm_refiner *r) {
  cvtm_half_edges_free(&r->m);
  free(r->vertex);
  free(r->ends);
  free(r->borders_outside);
  free(r->meeting);
  free(r->met);
  free(r->is_acute);
  free(r->touches);
  free(r->twin);
  free(r->heap);
  free(r->parts);
  free(r->changed);
  free(r->stamp);
}

/* ---- The result ---- */

static int is_kept(const cvtm_refiner *r, int64_t v) { return r->m.at[v] >= 0; }

/* number[v]: the index of v in the result, which has the boundary first. Returns the number of
 * vertices; *on_boundary: the number on the boundary. */
static int64_t number_vertices(const cvtm_refiner *r, int32_t *number, int64_t *on_boundary) {
  int64_t count = 0;
  for (int pass = 1; pass >= 0; --pass) {
    for (int64_t v = 0; v < r->m.vertex_count; ++v) {
      if (is_kept(r, v) && cvtm_is_on_boundary(r, v) == pass) number[v] = (int32_t)count++;
    }
    if (pass == 1) *on_boundary = count;
  }
  return count;
}

static int64_t count_parts(const cvtm_refiner *r) {
  int64_t parts = 0;
  for (int64_t h = 0; h < 3 * r->m.triangle_count; ++h)
    parts += r->m.corner[h] >= 0 && r->m.segment[h] >= 0 && r->m.twin[h] < h;
  return parts;
}

static cvtm_status allocate_boundary(int64_t vertices, int64_t edges, cvtm_boundary *b,
                                     cvtm_error *error) {
  const size_t n = (size_t)vertices + 1, e = (size_t)edges + 1;
  *b = (cvtm_boundary){.vertex_count = vertices,
                       .points = malloc(2 * n * sizeof *b->points),
                       .corner = calloc(n, sizeof *b->corner),
                       .edges = malloc(2 * e * sizeof *b->edges),
                       .left = malloc(e * sizeof *b->left),
                       .right = malloc(e * sizeof *b->right),
                       .deviation = calloc(e, sizeof *b->deviation),
                       .along = calloc(n, sizeof *b->along),
                       .home = calloc(n, sizeof *b->home)};
  if (b->points && b->corner && b->edges && b->left && b->right && b->deviation && b->along &&
      b->home)
    return CVTM_OK;
  cvtm_boundary_free(b);
  return cvtm_no_memory(error, "the refinement");
}

/* Lists the parts of each segment from its first end to its second, with left and right of the
 * segment. */
static void list_parts(const cvtm_refiner *r, const int32_t *number, const cvtm_regions *regions,
                       cvtm_boundary *b) {
  const cvtm_half_edges *m = &r->m;
  for (int64_t h = 0; h < 3 * m->triangle_count; ++h) {
    const int32_t segment = m->corner[h] < 0 ? -1 : m->segment[h];
    if (segment < 0 || m->twin[h] >= h) continue;
    int32_t from = m->corner[h], to = cvtm_end_of(m, h);
    const cvtm_grid_point p = m->grid[r->ends[2 * (int64_t)segment]],
                          q = m->grid[r->ends[2 * (int64_t)segment + 1]];
    const int64_t way = ((int64_t)q.x - p.x) * ((int64_t)m->grid[to].x - m->grid[from].x) +
                        ((int64_t)q.y - p.y) * ((int64_t)m->grid[to].y - m->grid[from].y);
    if (way < 0) {
      const int32_t swap = from;
      from = to;
      to = swap;
    }
    const int64_t e = b->edge_count++;
    b->edges[2 * e] = number[from];
    b->edges[2 * e + 1] = number[to];
    b->left[e] = regions->left[segment];
    b->right[e] = regions->right[segment];
  }
}

static void place_vertex(const cvtm_refiner *r, int64_t v, double *place) {
  place[0] = r->frame.x + r->m.grid[v].x * r->frame.step;
  place[1] = r->frame.y - r->m.grid[v].y * r->frame.step;
}

typedef struct result {
  double *points;
  int64_t count;
  cvtm_boundary boundary;
  int32_t *source;
  cvtm_refine_figures figures;
} result;

static cvtm_status extract_result(const cvtm_refiner *r, const start *s,
                                  const cvtm_boundary *boundary, result *made) {
  const size_t n = (size_t)r->m.vertex_count;
  int32_t *number = malloc(n * sizeof *number);
  made->points = malloc(2 * n * sizeof *made->points);
  made->source = malloc(n * sizeof *made->source);
  cvtm_status status =
      number && made->points && made->source ? CVTM_OK : cvtm_no_memory(r->error, "the refinement");
  int64_t on_boundary = 0;
  if (status == CVTM_OK) {
    made->count = number_vertices(r, number, &on_boundary);
    status = allocate_boundary(on_boundary, count_parts(r), &made->boundary, r->error);
  }
  for (int64_t v = 0; v < r->m.vertex_count && status == CVTM_OK; ++v) {
    if (!is_kept(r, v)) continue;
    const int64_t k = number[v];
    const int32_t source = v < s->mesh.vertex_count ? s->source[v] : -1;
    place_vertex(r, v, made->points + 2 * k);
    made->source[k] = source;
    if (k >= on_boundary) continue;
    memcpy(made->boundary.points + 2 * k, made->points + 2 * k, 2 * sizeof(double));
    if (source >= 0 && source < boundary->vertex_count)
      made->boundary.corner[k] = boundary->corner[source];
  }
  if (status == CVTM_OK) list_parts(r, number, &s->regions, &made->boundary);
  free(number);
  return status;
}

/* ---- Figures ---- */

static double smallest_angle(double cotangent) { return atan2(1, cotangent) * 180 / CVTM_PI; }

static void list_corners(const cvtm_refiner *r, const int64_t *below, cvtm_refine_figures *f) {
  for (int64_t v = 0; v < r->given_count; ++v) {
    if (below[v] == 0) continue;
    double place[2];
    place_vertex(r, v, place);
    f->corners[f->corner_count++] =
        (cvtm_small_corner){place[0], place[1], corner_angle(r, (int32_t)v), below[v]};
  }
}

/* The least distance in the input around a triangle, in grid steps. */
static double distance_around(const cvtm_refiner *r, int64_t t) {
  const int32_t *corner = r->m.corner + 3 * t;
  return fmin(r->vertex[corner[0]].scale,
              fmin(r->vertex[corner[1]].scale, r->vertex[corner[2]].scale));
}

/* Nonzero if a triangle, or the input around it, is narrow compared with the grid. */
static int is_narrow(const cvtm_refiner *r, int64_t t) {
  const int64_t side = cvtm_shortest_side(r, t);
  const double length2 =
      cvtm_length2(r->m.grid[r->m.corner[side]], r->m.grid[cvtm_end_of(&r->m, side)]);
  return length2 < 0.25 * cvtm_narrow_steps * cvtm_narrow_steps ||
         distance_around(r, t) < cvtm_narrow_steps;
}

static cvtm_status list_narrow(const cvtm_refiner *r, int64_t t, double cotangent,
                               int64_t *capacity, cvtm_refine_figures *f) {
  if (!cvtm_grow(&f->narrow, sizeof *f->narrow, capacity, f->narrow_count + 1))
    return cvtm_no_memory(r->error, "the refinement");
  cvtm_narrow_triangle *made = &f->narrow[f->narrow_count++];
  *made = (cvtm_narrow_triangle){0, 0, smallest_angle(cotangent),
                                 distance_around(r, t) * r->frame.step};
  for (int k = 0; k < 3; ++k) {
    double place[2];
    place_vertex(r, r->m.corner[3 * t + k], place);
    made->x += place[0] / 3;
    made->y += place[1] / 3;
  }
  return CVTM_OK;
}

static void count_vertices(const cvtm_refiner *r, cvtm_refine_figures *f) {
  for (int64_t v = 0; v < r->m.vertex_count; ++v) {
    const cvtm_refine_vertex *vertex = &r->vertex[v];
    if (vertex->cause == CVTM_CAUSE_NONE || !is_kept(r, v)) continue;
    f->added_on_boundary += vertex->kind == CVTM_VERTEX_ON_SEGMENT;
    f->added_for_angles += vertex->kind == CVTM_VERTEX_FREE && vertex->cause == CVTM_CAUSE_ANGLE;
    f->added_for_areas += vertex->kind == CVTM_VERTEX_FREE && vertex->cause == CVTM_CAUSE_AREA;
  }
}

static cvtm_status count_figures(const cvtm_refiner *r, cvtm_refine_figures *f) {
  int64_t *below = calloc((size_t)r->given_count, sizeof *below);
  f->corners = malloc((size_t)r->given_count * sizeof *f->corners);
  if (below == NULL || f->corners == NULL) {
    free(below);
    return cvtm_no_memory(r->error, "the refinement");
  }
  double worst = 0, worst_free = 0;
  int64_t capacity = 0;
  cvtm_status status = CVTM_OK;
  for (int64_t t = 0; t < r->m.triangle_count && status == CVTM_OK; ++t) {
    if (r->m.corner[3 * t] < 0) continue;
    const double cotangent = cvtm_triangle_cotangent(r, t);
    const int is_below = cotangent > r->cotangent;
    double of_corner;
    const int32_t corner = is_below ? cvtm_small_corner_of(r, t, &of_corner) : -1;
    const int narrow = is_below && corner < 0 && is_narrow(r, t);
    worst = fmax(worst, cotangent);
    if (corner < 0 && !narrow) worst_free = fmax(worst_free, cotangent);
    f->oversized += cvtm_triangle_excess(r, t) > 1;
    f->below += is_below;
    if (corner >= 0)
      ++below[corner];
    else if (narrow)
      status = list_narrow(r, t, cotangent, &capacity, f);
    else
      f->below_free += is_below;
  }
  f->min_angle = smallest_angle(worst);
  f->min_angle_free = smallest_angle(worst_free);
  list_corners(r, below, f);
  count_vertices(r, f);
  free(below);
  return status;
}

/* ---- All steps ---- */

static cvtm_status check_arguments(const double *points, const cvtm_boundary *boundary,
                                   const cvtm_refine_options *options, cvtm_error *error) {
  if (!points || !boundary || !options)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "no points, no boundary or no options");
  if (!(options->min_angle >= 0 && options->min_angle <= 40))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "the smallest angle must be between 0 and 40 degrees, not %g",
                     options->min_angle);
  return CVTM_OK;
}

/* Inserts vertices until no triangle is bad, or until there are too many vertices. */
static cvtm_status reach_bound(cvtm_refiner *r, double bound) {
  cvtm_status status = CVTM_OK;
  cvtm_refine_set_bound(r, bound);
  for (int round = 0; round < 2 && status == CVTM_OK; ++round) {
    status = cvtm_refine_repair(r);
    if (status == CVTM_OK) status = cvtm_refine_divide_between_touches(r);
    if (status == CVTM_OK) status = cvtm_refine_insert(r);
  }
  return status;
}

static cvtm_status work_for_bound(cvtm_refiner *r, double bound) {
  cvtm_status status = reach_bound(r, fmin(bound, usual_bound));
  if (status == CVTM_OK && bound > usual_bound) {
    r->most = (int64_t)(r->options->growth * (double)r->m.vertex_count + free_points);
    status = reach_bound(r, bound);
  }
  if (status == CVTM_OK && r->options->fewest) status = cvtm_refine_simplify(r);
  if (status == CVTM_OK) status = cvtm_refine_fill(r, r->options->wanted);
  if (status == CVTM_OK && r->options->headroom > 0) status = cvtm_refine_raise(r, bound);
  return status;
}

/* Refines for a bound. *enough: nonzero if the result is to be kept. A bound with headroom is
 * dropped if a bad triangle remains, another bound if it takes too many points. */
static cvtm_status refine_to(double bound, int keeps_inside, const double *points, int64_t count,
                             const cvtm_boundary *boundary, const cvtm_refine_options *options,
                             result *made, int *enough, cvtm_error *error) {
  start begin = {0};
  cvtm_refiner r = {.options = options,
                    .keeps_inside = keeps_inside,
                    .most = INT64_MAX,
                    .figures = &made->figures,
                    .error = error};
  cvtm_status status = start_refinement(&r, points, count, boundary, &begin);
  if (status == CVTM_OK) status = work_for_bound(&r, bound);
  cvtm_refine_set_bound(&r, options->min_angle);
  if (status == CVTM_OK) status = count_figures(&r, &made->figures);
  const int is_bad = made->figures.below_free > 0 || made->figures.oversized > 0;
  *enough = r.stopped || (r.m.vertex_count < r.most && !(is_bad && bound > options->min_angle));
  if (status == CVTM_OK && *enough) status = extract_result(&r, &begin, boundary, made);
  made->figures.bound = bound;
  made->figures.stopped = r.stopped;
  cvtm_refine_destroy(&r);
  free_start(&begin);
  return status;
}

static void free_result(result *made) {
  free(made->points);
  free(made->source);
  cvtm_boundary_free(&made->boundary);
  cvtm_refine_figures_free(&made->figures);
  *made = (result){0};
}

/* *crosses: nonzero if edges of the boundary meet in a point that is not an end of both. */
static cvtm_status test_boundary(const cvtm_boundary *b, int *crosses, cvtm_error *error) {
  uint8_t *crossed = malloc((size_t)b->edge_count + 1);
  int64_t found = 0;
  if (crossed == NULL) return cvtm_no_memory(error, "the refinement");
  const cvtm_status status = cvtm_find_crossed(b->points, b->vertex_count, b->edges, b->edge_count,
                                               crossed, &found, error);
  free(crossed);
  *crosses = found > 0;
  return status;
}

cvtm_status cvtm_refine(const double *points, int64_t count, const cvtm_boundary *boundary,
                        const cvtm_refine_options *options, double **refined_points,
                        int64_t *refined_count, cvtm_boundary *refined, int32_t **source,
                        cvtm_refine_figures *figures, cvtm_error *error) {
  CVTM_DEFAULT_OPTIONS(cvtm_refine, options)
  cvtm_status status = check_arguments(points, boundary, options, error);
  if (status != CVTM_OK) return status;
  result made = {0};
  int enough = 0, keeps_inside = 0;
  double bound = options->min_angle;
  if (bound > 0) bound += fmax(fmin(options->headroom, usual_bound - bound), 0);
  for (;;) {
    status =
        refine_to(bound, keeps_inside, points, count, boundary, options, &made, &enough, error);
    if (status != CVTM_OK || (enough && keeps_inside)) break;
    if (enough) status = test_boundary(&made.boundary, &keeps_inside, error);
    if (status != CVTM_OK || (enough && !keeps_inside)) break;
    free_result(&made);
    if (enough) continue;
    bound = bound > options->min_angle ? options->min_angle : fmax(bound - lower_step, usual_bound);
  }
  if (status == CVTM_OK) {
    *refined_points = made.points;
    *refined_count = made.count;
    *refined = made.boundary;
    *source = made.source;
    *figures = made.figures;
  } else {
    free_result(&made);
  }
  return status;
}

/* A refiner whose points move but are neither added nor removed. */
typedef struct moving {
  start begin;
  cvtm_refine_figures found;
  cvtm_refiner r;
} moving;

static cvtm_status begin_moving(const double *points, int64_t count, const cvtm_boundary *boundary,
                                const cvtm_refine_options *options, moving *m, cvtm_error *error) {
  *m = (moving){.r = {.options = options, .keeps_inside = 1, .most = INT64_MAX, .error = error}};
  m->r.figures = &m->found;
  const cvtm_status status = check_arguments(points, boundary, options, error);
  return status == CVTM_OK ? start_refinement(&m->r, points, count, boundary, &m->begin) : status;
}

static void end_moving(moving *m, cvtm_status status, double *points) {
  for (int64_t v = 0; v < m->r.m.vertex_count && status == CVTM_OK; ++v)
    place_vertex(&m->r, v, points + 2 * (int64_t)m->begin.source[v]);
  cvtm_refine_destroy(&m->r);
  free_start(&m->begin);
}

cvtm_status cvtm_refine_move(double *points, int64_t count, const cvtm_boundary *boundary,
                             const cvtm_refine_options *options, const double *target,
                             int64_t *moved, cvtm_error *error) {
  CVTM_DEFAULT_OPTIONS(cvtm_refine, options)
  moving m;
  double *goal = NULL;
  *moved = 0;
  cvtm_status status = begin_moving(points, count, boundary, options, &m, error);
  if (status == CVTM_OK) {
    goal = malloc(2 * (size_t)m.r.m.vertex_count * sizeof *goal);
    if (goal == NULL) status = cvtm_no_memory(error, "the refinement");
  }
  for (int64_t v = 0; v < m.r.m.vertex_count && status == CVTM_OK; ++v) {
    const double *to = target + 2 * (int64_t)m.begin.source[v];
    goal[2 * v] = (to[0] - m.r.frame.x) / m.r.frame.step;
    goal[2 * v + 1] = (m.r.frame.y - to[1]) / m.r.frame.step;
  }
  if (status == CVTM_OK) status = cvtm_refine_approach(&m.r, goal, moved);
  free(goal);
  end_moving(&m, status, points);
  return status;
}

/* The points that do not move: corners of the boundary, and sites that lie on it. */
static cvtm_status join_edges(moving *m, const cvtm_boundary *boundary) {
  const int64_t n = m->r.m.vertex_count;
  uint8_t *corner = malloc((size_t)n + 1);
  if (corner == NULL) return cvtm_no_memory(m->r.error, "the refinement");
  for (int64_t v = 0; v < n; ++v) {
    const int32_t source = m->begin.source[v];
    corner[v] = source >= boundary->vertex_count || boundary->corner[source];
  }
  const cvtm_status status = cvtm_refine_join_segments(&m->r, corner);
  free(corner);
  return status;
}

cvtm_status cvtm_refine_boundary_angles(double *points, int64_t count, cvtm_boundary *boundary,
                                        const cvtm_refine_options *options,
                                        cvtm_boundary_angles *figures, cvtm_error *error) {
  CVTM_DEFAULT_OPTIONS(cvtm_refine, options)
  moving m;
  cvtm_status status = begin_moving(points, count, boundary, options, &m, error);
  if (status == CVTM_OK) status = join_edges(&m, boundary);
  if (status == CVTM_OK) status = cvtm_refine_raise_at_boundary(&m.r, figures);
  end_moving(&m, status, points);
  if (status == CVTM_OK)
    memcpy(boundary->points, points, 2 * (size_t)boundary->vertex_count * sizeof *points);
  return status;
}

#include "base/host.h"
#include "base/select.h"
#include "base/portable.h"
#include "meshes/delaunay/constraints.h"
#include "meshes/delaunay/crossings.h"
#include "meshes/refine.h"
#include "meshes/refine/refine_state.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Shapes ---- */

static cvtm_grid_point corner_place(const cvtm_refiner *r, int64_t t, int k) {
  return r->m.grid[r->m.corner[3 * t + k]];
}

double cvtm_triangle_cotangent(const cvtm_refiner *r, int64_t t) {
  return cvtm_largest_cotangent(corner_place(r, t, 0), corner_place(r, t, 1),
                                corner_place(r, t, 2));
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

/* Returns the segments that contain a vertex; *count: the number of segments. */
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

/* Returns the common end c of the segments s and t, if u on s and w on t have equal distances from
 * c and the segments' angle is below 60 degrees; else -1. *cotangent: the angle's cotangent. */
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

/* Returns the given vertex at which the triangle has its smallest angle, if this angle is between
 * two segments; else -1. */
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
    33; /* degrees; up to this bound insertion ends soon without moves */
static const double lower_step =
    2; /* degrees by which a bound that takes too many points is reduced */
static const double free_points = 1000; /* points that are allowed for any bound */

/* ---- Setting up ---- */

cvtm_status cvtm_refine_number_segments(cvtm_refiner *r, int32_t **edge_of) {
  cvtm_half_edges *m = &r->m;
  int64_t count = 0;
  for (int64_t h = 0; h < 3 * m->triangle_count; ++h)
    count += m->corner[h] >= 0 && m->segment[h] >= 0 && m->twin[h] < h;
  r->ends = malloc((2 * (size_t)count + 1) * sizeof *r->ends);
  r->borders_outside = malloc((size_t)count + 1);
  int32_t *edge = malloc(((size_t)count + 1) * sizeof *edge);
  *edge_of = edge;
  const int is_short = !r->ends || !r->borders_outside || !edge;
  for (int64_t h = 0; h < 3 * m->triangle_count && !is_short; ++h) {
    if (m->corner[h] < 0 || m->segment[h] < 0 || m->twin[h] >= h) continue;
    const int64_t s = r->segment_count++;
    edge[s] = m->segment[h];
    r->ends[2 * s] = m->corner[h];
    r->ends[2 * s + 1] = cvtm_end_of(m, h);
    r->borders_outside[s] = m->twin[h] < 0;
    cvtm_half_edges_mark(m, h, (int32_t)s);
  }
  return is_short ? cvtm_no_memory(r->error, "the refinement") : CVTM_OK;
}

/* Lists the segments of each vertex. */
static cvtm_status index_segments(cvtm_refiner *r) {
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

/* 59.99, so that rounding does not make an angle of 60 degrees acute. */
static void find_acute(cvtm_refiner *r) {
  for (int64_t v = 0; v < r->given_count; ++v) r->is_acute[v] = corner_angle(r, (int32_t)v) < 59.99;
}

/* Lowers scales to the distance of a vertex from the opposite part of a segment in its triangle,
 * because a corner may be close to the middle of a long segment. */
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

/* Sets the scale of each vertex to the length of its shortest edge. */
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

/* Lets the points move that are not vertices of the boundary and not on one of its edges, which
 * would be divided there. */
static void find_sites(cvtm_refiner *r, int64_t boundary_vertices) {
  for (int64_t v = boundary_vertices; v < r->m.vertex_count; ++v)
    if (r->meeting[v] == r->meeting[v + 1]) r->vertex[v].kind = CVTM_VERTEX_SITE;
}

void cvtm_refine_set_bound(cvtm_refiner *r, double degrees) {
  const double angle = degrees * CVTM_PI / 180;
  /* Slightly stricter, so that rounding leaves no angle below the bound. */
  r->cotangent = angle > 0 ? (1 - 1e-12) / tan(angle) : INFINITY;
  r->lens = fmax(cos(2 * angle), 0);
  r->relocates = degrees > usual_bound;
  r->off_centre = angle > 0 ? 0.475 * sqrt((1 + cos(angle)) / (1 - cos(angle))) : INFINITY;
}

/* Refuses caps of areas that need many more triangles than are allowed. */
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

cvtm_status cvtm_refine_begin(cvtm_refiner *r, const cvtm_boundary *boundary,
                              const int32_t *edge_of) {
  CVTM_TRY(index_segments(r));
  CVTM_TRY(describe_vertices(r));
  CVTM_TRY(cvtm_refine_pair_segments(r, boundary, edge_of));
  lower_scales_at_segments(r);
  find_acute(r);
  cvtm_refine_share_corners(r);
  CVTM_TRY(cvtm_refine_find_touches(r));
  return check_demand(r);
}

static cvtm_status start_refinement(cvtm_refiner *r, const double *points, int64_t count,
                                    const cvtm_boundary *boundary) {
  cvtm_refine_set_bound(r, r->options->min_angle);
  CVTM_TRY(cvtm_constrained_half_edges(points, count, boundary, &r->m, &r->frame, r->error));
  int32_t *edge_of = NULL;
  cvtm_status status = cvtm_refine_number_segments(r, &edge_of);
  if (status == CVTM_OK) status = cvtm_refine_begin(r, boundary, edge_of);
  free(edge_of);
  if (status == CVTM_OK) find_sites(r, boundary->vertex_count);
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
  free(r->near);
}

/* ---- The result ---- */

static int is_kept(const cvtm_refiner *r, int64_t v) { return r->m.at[v] >= 0; }

/* number[v]: the index of v in the result, which begins with the boundary. Returns the number of
 * vertices; *on_boundary: the number of those on the boundary. */
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

static void place_vertex(const cvtm_refiner *r, int64_t v, double *place) {
  cvtm_grid_place(&r->frame, r->m.grid[v], place);
}

struct cvtm_refinement {
  cvtm_refiner r;
  cvtm_refine_options options;
  cvtm_refine_figures figures;
  uint8_t *corner;                  /* per given vertex of the boundary */
  int64_t boundary_vertices, given; /* numbers of the points given */
  int64_t on_boundary, count;       /* numbers of the vertices */
  int32_t *number;                  /* per vertex of r.m, of those that are left */
  int is_joined;                    /* nonzero: straight edges are joined */
};

void cvtm_refinement_destroy(cvtm_refinement *f) {
  if (f == NULL) return;
  cvtm_refine_destroy(&f->r);
  cvtm_refine_figures_free(&f->figures);
  free(f->corner);
  free(f->number);
  free(f);
}

static cvtm_status number_result(cvtm_refinement *f) {
  f->number = malloc((size_t)f->r.m.vertex_count * sizeof *f->number);
  if (f->number == NULL) return cvtm_no_memory(f->r.error, "the refinement");
  f->count = number_vertices(&f->r, f->number, &f->on_boundary);
  return CVTM_OK;
}

int64_t cvtm_refinement_count(const cvtm_refinement *f, int64_t *on_boundary) {
  if (on_boundary != NULL) *on_boundary = f->on_boundary;
  return f->count;
}

void cvtm_refinement_points(const cvtm_refinement *f, double *points) {
  for (int64_t v = 0; v < f->r.m.vertex_count; ++v)
    if (is_kept(&f->r, v)) place_vertex(&f->r, v, points + 2 * (int64_t)f->number[v]);
}

cvtm_status cvtm_refinement_mesh(const cvtm_refinement *f, cvtm_mesh *mesh, cvtm_regions *regions,
                                 int32_t **source, cvtm_error *error) {
  int32_t *from = malloc((size_t)f->count * sizeof *from);
  cvtm_status status = from != NULL ? CVTM_OK : cvtm_no_memory(error, "the mesh");
  if (status == CVTM_OK)
    status = cvtm_half_edges_extract(&f->r.m, f->number, f->count, mesh, regions, error);
  if (status != CVTM_OK) {
    free(from);
    return status;
  }
  cvtm_refinement_points(f, mesh->points);
  for (int32_t v = 0; v < f->r.m.vertex_count; ++v)
    if (is_kept(&f->r, v)) from[f->number[v]] = v < f->given ? v : -1;
  *source = from;
  return CVTM_OK;
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

/* The smallest distance in the input around a triangle, in grid steps. */
static double distance_around(const cvtm_refiner *r, int64_t t) {
  const int32_t *corner = r->m.corner + 3 * t;
  return fmin(r->vertex[corner[0]].scale,
              fmin(r->vertex[corner[1]].scale, r->vertex[corner[2]].scale));
}

/* Nonzero if a triangle, or the input around it, has only the width of a few grid steps. */
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
  cvtm_refine_set_bound(r, bound);
  for (int round = 0; round < 2; ++round) {
    CVTM_TRY(cvtm_refine_repair(r));
    CVTM_TRY(cvtm_refine_divide_between_touches(r));
    CVTM_TRY(cvtm_refine_insert(r));
  }
  return CVTM_OK;
}

static cvtm_status work_for_bound(cvtm_refiner *r, double bound) {
  CVTM_TRY(reach_bound(r, fmin(bound, usual_bound)));
  if (bound > usual_bound) {
    r->most = (int64_t)(r->options->growth * (double)r->m.vertex_count + free_points);
    CVTM_TRY(reach_bound(r, bound));
  }
  if (r->options->fewest) CVTM_TRY(cvtm_refine_simplify(r));
  CVTM_TRY(cvtm_refine_fill(r, r->options->wanted));
  if (r->options->headroom > 0) CVTM_TRY(cvtm_refine_raise(r, bound));
  return CVTM_OK;
}

/* Refines for a bound. *enough: nonzero if the result is to be kept. A bound with headroom is
 * dropped if a bad triangle remains; any other bound, if it takes too many points. */
static cvtm_status refine_to(double bound, int keeps_inside, const double *points, int64_t count,
                             const cvtm_boundary *boundary, cvtm_refinement *f, int *enough) {
  cvtm_refiner *r = &f->r;
  *r = (cvtm_refiner){.options = &f->options,
                      .keeps_inside = keeps_inside,
                      .most = INT64_MAX,
                      .figures = &f->figures,
                      .error = r->error};
  CVTM_TRY(start_refinement(r, points, count, boundary));
  CVTM_TRY(work_for_bound(r, bound));
  cvtm_refine_set_bound(r, f->options.min_angle);
  cvtm_status status = count_figures(r, &f->figures);
  const int is_bad = f->figures.below_free > 0 || f->figures.oversized > 0;
  *enough =
      r->stopped || (r->m.vertex_count < r->most && !(is_bad && bound > f->options.min_angle));
  f->figures.bound = bound;
  f->figures.stopped = r->stopped;
  return status == CVTM_OK ? number_result(f) : status;
}

/* *crosses: nonzero if parts of the boundary meet in a point that is not an end of both. Only
 * vertices that are not exactly on their segments can cause this. */
static cvtm_status test_boundary(const cvtm_refinement *f, cvtm_scratch *memory, int *crosses) {
  const cvtm_half_edges *m = &f->r.m;
  int64_t parts = 0, found = 0;
  if (f->figures.added_on_boundary == 0) return CVTM_OK;
  for (int64_t h = 0; h < 3 * m->triangle_count; ++h)
    parts += m->corner[h] >= 0 && m->segment[h] >= 0 && m->twin[h] < h;
  double *points = cvtm_scratch_take(memory, (size_t)f->on_boundary, 2 * sizeof *points);
  int32_t *edges = cvtm_scratch_take(memory, (size_t)parts, 2 * sizeof *edges);
  uint8_t *crossed = cvtm_scratch_take(memory, (size_t)parts, 1);
  if (memory->failed) return cvtm_no_memory(f->r.error, "the refinement");
  parts = 0;
  for (int64_t v = 0; v < m->vertex_count; ++v)
    if (is_kept(&f->r, v) && f->number[v] < f->on_boundary)
      place_vertex(&f->r, v, points + 2 * (int64_t)f->number[v]);
  for (int64_t h = 0; h < 3 * m->triangle_count; ++h) {
    if (m->corner[h] < 0 || m->segment[h] < 0 || m->twin[h] >= h) continue;
    edges[2 * parts] = f->number[m->corner[h]];
    edges[2 * parts++ + 1] = f->number[cvtm_end_of(m, h)];
  }
  CVTM_TRY(cvtm_find_crossed(points, f->on_boundary, edges, parts, crossed, &found, f->r.error));
  *crosses = found > 0;
  return CVTM_OK;
}

/* Frees the results of an attempt. */
static void forget_attempt(cvtm_refinement *f) {
  cvtm_error *const error = f->r.error;
  cvtm_refine_destroy(&f->r);
  cvtm_refine_figures_free(&f->figures);
  free(f->number);
  f->number = NULL;
  f->r = (cvtm_refiner){.error = error};
}

static cvtm_status refine_all(cvtm_refinement *f, const double *points, int64_t count,
                              const cvtm_boundary *boundary) {
  const cvtm_refine_options *options = &f->options;
  cvtm_scratch memory = {0};
  int enough = 0, keeps_inside = 0;
  double bound = options->min_angle;
  if (bound > 0) bound += fmax(fmin(options->headroom, usual_bound - bound), 0);
  for (;;) {
    cvtm_status status = refine_to(bound, keeps_inside, points, count, boundary, f, &enough);
    if (status != CVTM_OK || (enough && keeps_inside)) return status;
    if (enough) status = test_boundary(f, &memory, &keeps_inside);
    cvtm_scratch_free(&memory);
    if (status != CVTM_OK || (enough && !keeps_inside)) return status;
    forget_attempt(f);
    if (enough) continue;
    bound = bound > options->min_angle ? options->min_angle : fmax(bound - lower_step, usual_bound);
  }
}

cvtm_status cvtm_refine(const double *points, int64_t count, const cvtm_boundary *boundary,
                        const cvtm_refine_options *options, cvtm_refinement **made,
                        cvtm_refine_figures *figures, cvtm_error *error) {
  CVTM_DEFAULT_OPTIONS(cvtm_refine, options)
  CVTM_TRY(check_arguments(points, boundary, options, error));
  const size_t n = (size_t)boundary->vertex_count;
  cvtm_refinement *f = calloc(1, sizeof *f);
  if (f != NULL) f->corner = malloc(n + 1);
  if (f == NULL || f->corner == NULL) {
    free(f);
    return cvtm_no_memory(error, "the refinement");
  }
  memcpy(f->corner, boundary->corner, n);
  f->options = *options;
  f->boundary_vertices = boundary->vertex_count;
  f->given = count;
  f->r.error = error;
  cvtm_status status = refine_all(f, points, count, boundary);
  if (status != CVTM_OK) {
    cvtm_refinement_destroy(f);
    return status;
  }
  f->r.keeps_inside = 1;
  *figures = f->figures;
  f->figures = (cvtm_refine_figures){0};
  *made = f;
  return CVTM_OK;
}

/* ---- Moves afterwards ---- */

cvtm_status cvtm_refinement_move(cvtm_refinement *f, const double *target, int64_t *moved,
                                 cvtm_error *error) {
  const cvtm_grid_frame *frame = &f->r.frame;
  double *goal = malloc(2 * (size_t)f->r.m.vertex_count * sizeof *goal);
  f->r.error = error;
  *moved = 0;
  if (goal == NULL) return cvtm_no_memory(error, "the refinement");
  for (int64_t v = 0; v < f->r.m.vertex_count; ++v) {
    if (!is_kept(&f->r, v)) continue;
    const double *to = target + 2 * (int64_t)f->number[v];
    goal[2 * v] = (to[0] - frame->x) / frame->step;
    goal[2 * v + 1] = (frame->y - to[1]) / frame->step;
  }
  const cvtm_status status = cvtm_refine_approach(&f->r, goal, moved);
  free(goal);
  return status;
}

/* Joins straight edges. Corners of the boundary, and sites that lie on it, do not move. */
static cvtm_status join_edges(cvtm_refinement *f) {
  cvtm_refiner *r = &f->r;
  uint8_t *corner = malloc((size_t)r->given_count + 1);
  if (corner == NULL) return cvtm_no_memory(r->error, "the refinement");
  for (int64_t v = 0; v < r->given_count; ++v)
    corner[v] = v >= f->boundary_vertices || f->corner[v];
  const cvtm_status status = cvtm_refine_join_segments(r, corner);
  f->is_joined = 1;
  free(corner);
  return status;
}

cvtm_status cvtm_refinement_boundary_angles(cvtm_refinement *f, cvtm_boundary_angles *figures,
                                            cvtm_error *error) {
  f->r.error = error;
  if (!f->is_joined) CVTM_TRY(join_edges(f));
  return cvtm_refine_raise_at_boundary(&f->r, figures);
}

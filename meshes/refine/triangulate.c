#include "meshes/refine/triangulate.h"

#include "base/host.h"
#include "meshes/delaunay/constraints.h"
#include "meshes/delaunay/locate.h"
#include "meshes/mesh.h"
#include "meshes/refine/refine_state.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct planar {
  const cvtm_triangulate_input *in;
  const cvtm_triangulate_options *options;
  double *points;    /* y down: the points of the given vertices, then of the crossings */
  int64_t crossings; /* number of crossings */
  int32_t *ends, *marker, *ones; /* of the constraints */
  int64_t constraint_count,
      hidden; /* the last constraints, from `hidden` on, are not segments of the result */
  cvtm_constraints constraints;
  int32_t *
      part; /* per triangle: its part; the triangle's region in the refiner is the part + 1, or 0 */
  int32_t *
      row; /* per region: the given region or triangle to which it belongs; -1: none, -2: outside */
  int64_t *stack;
  int32_t *constraint_of; /* per segment of the refiner */
  cvtm_locator before;    /* triangles before vertices are added */
  double *values;         /* attributes of the given vertices, then of the crossings */
  cvtm_refine_options refine;
  cvtm_refine_figures figures;
  cvtm_refiner r;
  cvtm_error *error;
} planar;

/* For angles alone at most this many vertices are added, plus four for each given vertex. */
enum { MOST_FOR_ANGLES = 200000 };

static const char *const planar_work = "the triangulation";

/* ---- The triangulation of the vertices ---- */

static cvtm_status check_input(const planar *p) {
  const cvtm_triangulate_input *in = p->in;
  if (in->vertex_count < 3)
    return cvtm_fail(p->error, CVTM_ERROR_INPUT,
                     "%" PRId64 " vertices are too few: a triangle has three", in->vertex_count);
  if (in->vertex_count > CVTM_DELAUNAY_MOST || in->segment_count > INT32_MAX / 4)
    return cvtm_fail(p->error, CVTM_ERROR_INPUT, "too many vertices or segments");
  for (int64_t i = 0; i < 2 * in->vertex_count; ++i)
    if (!isfinite(in->vertices[i]))
      return cvtm_fail(p->error, CVTM_ERROR_INPUT, "vertex %" PRId64 " is (%g, %g)", i / 2,
                       in->vertices[i / 2 * 2], in->vertices[i / 2 * 2 + 1]);
  for (int64_t k = 0; k < 2 * in->segment_count && p->options->takes_segments; ++k)
    if (in->segments[k] < 0 || in->segments[k] >= in->vertex_count)
      return cvtm_fail(p->error, CVTM_ERROR_INPUT,
                       "segment %" PRId64 " ends at vertex %" PRId32
                       "; the vertices are 0 to %" PRId64,
                       k / 2, in->segments[k], in->vertex_count - 1);
  for (int64_t k = 0; k < 3 * in->triangle_count && p->options->refines; ++k)
    if (in->triangles[k] < 0 || in->triangles[k] >= in->vertex_count)
      return cvtm_fail(p->error, CVTM_ERROR_INPUT,
                       "triangle %" PRId64 " has the corner %" PRId32
                       "; the vertices are 0 to %" PRId64,
                       k / 3, in->triangles[k], in->vertex_count - 1);
  return CVTM_OK;
}

static cvtm_status copy_points(planar *p) {
  const size_t n = (size_t)p->in->vertex_count;
  p->points = malloc(2 * n * sizeof *p->points);
  if (p->points == NULL) return cvtm_no_memory(p->error, planar_work);
  for (size_t v = 0; v < n; ++v) {
    p->points[2 * v] = p->in->vertices[2 * v];
    p->points[2 * v + 1] = -p->in->vertices[2 * v + 1];
  }
  return CVTM_OK;
}

/* Nonzero if the corner opposite to half-edge h lies on h, except for the rounding to the grid. */
static int is_flat(const cvtm_half_edges *m, int64_t h) {
  const cvtm_grid_point a = m->grid[m->corner[h]], b = m->grid[cvtm_end_of(m, h)];
  const cvtm_grid_point c = m->grid[cvtm_apex_of(m, h)];
  return fabs(cvtm_side_of(a, b, c.x, c.y)) <= 2 * sqrt(cvtm_length2(a, b));
}

/* If the triangle of a half-edge of the border is flat and its apex is inside, puts it outside; its
 * other sides become the border. */
static int peel(cvtm_half_edges *m, uint8_t *on_border, int64_t h) {
  const int64_t after = cvtm_half_after(h), before = cvtm_half_after(after);
  const int32_t apex = m->corner[before];
  if (on_border[apex] || m->twin[after] < 0 || m->twin[before] < 0 || !is_flat(m, h)) return 0;
  on_border[apex] = 1;
  m->twin[m->twin[after]] = m->twin[m->twin[before]] = -1;
  m->region[h / 3] = 0;
  return 1;
}

/* Vertices that the user means to be on one line may lie beside it by rounding. Removes the
 * triangles without area that result along the convex hull. */
static cvtm_status peel_border(planar *p) {
  cvtm_half_edges *m = &p->r.m;
  uint8_t *on_border = calloc((size_t)m->vertex_count + 1, 1);
  int64_t *border = malloc((3 * (size_t)m->triangle_count + 1) * sizeof *border), count = 0;
  cvtm_status status = on_border && border ? CVTM_OK : cvtm_no_memory(p->error, planar_work);
  for (int64_t h = 0; h < 3 * m->triangle_count && status == CVTM_OK; ++h) {
    m->region[h / 3] = 1;
    if (m->twin[h] >= 0) continue;
    on_border[m->corner[h]] = 1;
    border[count++] = h;
  }
  while (status == CVTM_OK && count > 0) {
    const int64_t h = border[--count], after = cvtm_half_after(h), before = cvtm_half_after(after),
                  beside[2] = {m->twin[after], m->twin[before]};
    if (!peel(m, on_border, h)) continue;
    border[count++] = beside[0];
    border[count++] = beside[1];
  }
  free(on_border);
  free(border);
  return status == CVTM_OK ? cvtm_half_edges_drop_outside(m, p->error) : status;
}

static cvtm_status take_delaunay(planar *p) {
  cvtm_half_edges *m = &p->r.m;
  CVTM_TRY(cvtm_delaunay_half_edges(p->points, p->in->vertex_count, m, &p->r.frame, p->error));
  if (m->triangle_count == 0)
    return cvtm_fail(p->error, CVTM_ERROR_INPUT, "all vertices lie on one line");
  return peel_border(p);
}

/* For the switch r: takes the given triangles. */
static cvtm_status take_triangles(planar *p, cvtm_scratch *memory) {
  const int64_t n = p->in->vertex_count, count = p->in->triangle_count;
  int32_t *corners = cvtm_scratch_take(memory, (size_t)count, 3 * sizeof *corners);
  double *snapped = cvtm_scratch_take(memory, (size_t)n, 2 * sizeof *snapped);
  cvtm_grid_point *grid = cvtm_scratch_take(memory, (size_t)n, sizeof *grid);
  if (memory->failed) return cvtm_no_memory(p->error, planar_work);
  if (count == 0) return cvtm_fail(p->error, CVTM_ERROR_INPUT, "there are no triangles to refine");
  double step = 0;
  memcpy(snapped, p->points, 2 * (size_t)n * sizeof *snapped);
  memcpy(corners, p->in->triangles, 3 * (size_t)count * sizeof *corners);
  CVTM_TRY(cvtm_snap_to_steps(snapped, n, grid, &step, p->error));
  for (int64_t t = 0; t < count; ++t) {
    int32_t *c = corners + 3 * t;
    const int64_t turn = cvtm_orient(grid[c[0]], grid[c[1]], grid[c[2]]);
    if (turn == 0)
      return cvtm_fail(p->error, CVTM_ERROR_INPUT,
                       "the corners of triangle %" PRId64 " are on a line", t);
    if (turn >= 0) continue;
    const int32_t swap = c[1];
    c[1] = c[2];
    c[2] = swap;
  }
  p->r.frame = cvtm_frame_of(snapped, grid[0], step);
  return cvtm_half_edges_create(grid, n, corners, NULL, count, &p->r.m, p->error);
}

/* ---- Constraints ---- */

static int same_attributes(const cvtm_triangulate_input *in, int64_t s, int64_t t) {
  const size_t count = (size_t)in->triangle_attribute_count;
  return count == 0 || memcmp(in->triangle_attributes + count * (size_t)s,
                              in->triangle_attributes + count * (size_t)t,
                              count * sizeof *in->triangle_attributes) == 0;
}

/* Lists the constraints: the given segments; the border of the vertices, or of the given triangles;
 * edges between triangles with different attributes. */
static cvtm_status list_constraints(planar *p) {
  const cvtm_triangulate_input *in = p->in;
  const cvtm_half_edges *m = &p->r.m;
  const int has_border =
      !p->options->takes_segments || p->options->keeps_hull || p->options->refines;
  const int64_t given = p->options->takes_segments ? in->segment_count : 0;
  const size_t room = (size_t)given + 3 * (size_t)m->triangle_count + 1;
  int64_t count = given;
  p->ends = malloc(2 * room * sizeof *p->ends);
  p->marker = calloc(room, sizeof *p->marker);
  if (!p->ends || !p->marker) return cvtm_no_memory(p->error, planar_work);
  if (given > 0) memcpy(p->ends, in->segments, 2 * (size_t)given * sizeof *p->ends);
  if (given > 0 && in->segment_markers != NULL)
    memcpy(p->marker, in->segment_markers, (size_t)given * sizeof *p->marker);
  for (int pass = 0; pass < 2; ++pass) {
    if (pass == 1) p->hidden = count;
    for (int64_t h = 0; h < 3 * m->triangle_count; ++h) {
      const int64_t g = m->twin[h];
      const int is_wanted =
          pass == 0 ? has_border && g < 0
                    : p->options->refines && g > h && !same_attributes(in, h / 3, g / 3);
      if (!is_wanted) continue;
      p->ends[2 * count] = m->corner[h];
      p->ends[2 * count++ + 1] = cvtm_end_of(m, h);
    }
  }
  p->constraint_count = count;
  return CVTM_OK;
}

static cvtm_status constrain_planar(planar *p) {
  cvtm_boundary all = {.vertex_count = p->in->vertex_count,
                       .points = p->points,
                       .edge_count = p->constraint_count,
                       .edges = p->ends};
  p->constraints.marker = p->marker;
  cvtm_status status = cvtm_constrain(&p->r.m, &all, &p->constraints, p->error);
  p->crossings = p->constraints.crossed_count;
  return status;
}

/* Sets the attributes of a crossing, which are linear along the first of the two constraints. */
static void value_crossing(planar *p, int64_t k) {
  const int64_t width = p->in->attribute_count, v = p->in->vertex_count + k;
  const int32_t *pair = p->constraints.crossed + 2 * k,
                first = pair[0] < pair[1] ? pair[0] : pair[1];
  const int32_t *ends = p->ends + 2 * (int64_t)first;
  const cvtm_grid_point a = p->r.m.grid[ends[0]], b = p->r.m.grid[ends[1]];
  const double s = cvtm_dot_at(a, b, p->r.m.grid[v]) / cvtm_length2(a, b);
  for (int64_t i = 0; i < width; ++i) {
    const double from = p->in->attributes[width * ends[0] + i],
                 to = p->in->attributes[width * ends[1] + i];
    p->values[width * v + i] = from + fmin(fmax(s, 0), 1) * (to - from);
  }
}

static cvtm_status take_attributes(planar *p) {
  const int64_t width = p->in->attribute_count, n = p->in->vertex_count;
  if (width == 0) return CVTM_OK;
  p->values = malloc((size_t)(width * (n + p->crossings)) * sizeof *p->values);
  if (p->values == NULL) return cvtm_no_memory(p->error, planar_work);
  memcpy(p->values, p->in->attributes, (size_t)(width * n) * sizeof *p->values);
  for (int64_t k = 0; k < p->crossings; ++k) value_crossing(p, k);
  return CVTM_OK;
}

static cvtm_status place_crossings(planar *p) {
  const int64_t n = p->in->vertex_count;
  if (p->crossings == 0) return CVTM_OK;
  double *grown = realloc(p->points, 2 * (size_t)(n + p->crossings) * sizeof *grown);
  if (grown == NULL) return cvtm_no_memory(p->error, planar_work);
  p->points = grown;
  for (int64_t k = 0; k < p->crossings; ++k)
    cvtm_place_crossing(grown, p->ends, p->constraints.crossed + 2 * k, &p->r.frame,
                        p->r.m.grid[n + k], grown + 2 * (n + k));
  return CVTM_OK;
}

/* ---- Parts of the plane ---- */

/* The triangle that contains a point of the input; -1: outside the hull. */
static int64_t find_triangle(planar *p, cvtm_locator *l, const double at[2]) {
  const double x = (at[0] - p->r.frame.x) / p->r.frame.step,
               y = (p->r.frame.y + at[1]) / p->r.frame.step;
  return isfinite(x) && isfinite(y) ? cvtm_walk(l, x, y) : -1;
}

static void read_markers_of_parts(planar *p) {
  cvtm_half_edges *m = &p->r.m;
  cvtm_locator l = {m->triangle_count, m->grid, m->corner, m->twin, 0};
  for (int64_t k = 0; k < p->in->hole_count; ++k) {
    const int64_t t = find_triangle(p, &l, p->in->holes + 2 * k);
    if (t >= 0) p->row[p->part[t] + 1] = -2;
  }
  for (int64_t k = 0; k < p->in->region_count; ++k) {
    const int64_t t = find_triangle(p, &l, p->in->regions + 4 * k);
    if (t >= 0 && p->row[p->part[t] + 1] != -2) p->row[p->part[t] + 1] = (int32_t)k;
  }
}

static cvtm_status find_planar_parts(planar *p) {
  cvtm_half_edges *m = &p->r.m;
  const size_t triangles = (size_t)m->triangle_count;
  p->part = malloc((triangles + 1) * sizeof *p->part);
  p->row = malloc((triangles + 2) * sizeof *p->row);
  p->stack = malloc((triangles + 1) * sizeof *p->stack);
  uint8_t *is_open = malloc(triangles + 1);
  if (!p->part || !p->row || !p->stack || !is_open) {
    free(is_open);
    return cvtm_no_memory(p->error, planar_work);
  }
  const int32_t parts =
      cvtm_find_parts(m->triangle_count, m->twin, m->segment, p->part, is_open, p->stack);
  for (int32_t k = 0; k < parts; ++k) p->row[k + 1] = is_open[k] ? -2 : -1;
  free(is_open);
  if (p->options->takes_segments && !p->options->refines) read_markers_of_parts(p);
  for (size_t t = 0; t < triangles; ++t)
    m->region[t] = p->row[p->part[t] + 1] == -2 ? 0 : p->part[t] + 1;
  const cvtm_status status = cvtm_half_edges_drop_outside(m, p->error);
  if (status != CVTM_OK || m->triangle_count > 0) return status;
  return cvtm_fail(
      p->error, CVTM_ERROR_INPUT,
      "the segments enclose nothing that is not a hole; switch c keeps the convex hull");
}

/* ---- Refinement ---- */

static double area_at(const void *context, int32_t region, double x, double y) {
  planar *p = (planar *)(uintptr_t)context;
  double cap = p->options->max_area > 0 ? p->options->max_area : INFINITY, own = 0;
  if (!p->options->has_areas) return cap;
  if (p->options->refines) {
    const cvtm_grid_frame *f = &p->r.frame;
    if (p->in->triangle_areas != NULL)
      own =
          p->in
              ->triangle_areas[cvtm_locate(&p->before, (x - f->x) / f->step, (f->y - y) / f->step)];
  } else if (p->row[region] >= 0) {
    own = p->in->regions[4 * (int64_t)p->row[region] + 3];
  }
  return own > 0 && own < cap ? own : cap;
}

static cvtm_status refine_planar(planar *p) {
  const cvtm_triangulate_options *o = p->options;
  const int has_area = o->max_area > 0 || o->has_areas;
  p->refine = (cvtm_refine_options){.min_angle = o->min_angle,
                                    .area = has_area ? area_at : NULL,
                                    .area_context = p,
                                    .stop = o->stop,
                                    .stop_context = o->stop_context};
  if ((o->min_angle <= 0 && !has_area && !o->is_conforming) || o->most_added == 0) return CVTM_OK;
  cvtm_refiner *r = &p->r;
  r->options = &p->refine;
  r->figures = &p->figures;
  r->keeps_inside = 1;
  r->most = 5 * r->m.vertex_count + MOST_FOR_ANGLES;
  r->keeps_segments = o->keeps_segments;
  if (o->most_added > 0) {
    r->most_added = o->most_added - p->crossings;
    if (r->most_added <= 0) return CVTM_OK;
    r->most = r->m.vertex_count + r->most_added;
  }
  r->m.records_changes = 1;
  cvtm_refine_set_bound(r, o->min_angle);
  if (o->is_conforming) r->lens = 0;
  CVTM_TRY(cvtm_refine_begin(r, NULL, NULL));
  CVTM_TRY(cvtm_refine_divide_between_touches(r));
  CVTM_TRY(cvtm_refine_insert(r));
  if (r->m.vertex_count >= r->most && o->most_added < 0 && !has_area)
    return cvtm_fail(p->error, CVTM_ERROR_INPUT,
                     "a mesh without angles below %g degrees needs more than %" PRId64
                     " vertices: segments or "
                     "vertices are very near each other; switch S gives another bound",
                     o->min_angle, r->most);
  if (r->stopped) return cvtm_fail(p->error, CVTM_ERROR_INPUT, "the triangulation was interrupted");
  return CVTM_OK;
}

/* ---- The result ---- */

void cvtm_triangulated_free(cvtm_triangulated *made) {
  free(made->vertices);
  free(made->attributes);
  free(made->markers);
  free(made->triangles);
  free(made->neighbors);
  free(made->triangle_attributes);
  free(made->edges);
  free(made->edge_markers);
  free(made->is_segment);
  *made = (cvtm_triangulated){0};
}

/* The position of a vertex, y down. Given vertices and crossings do not move. A new vertex on a
 * segment is on the line between the ends of the segment, as exactly as doubles allow. All other
 * new vertices are at their grid points. */
static void place_of_planar(const planar *p, int64_t v, double place[2]) {
  const cvtm_refiner *r = &p->r;
  const int is_added = v >= p->in->vertex_count + p->crossings;
  const int32_t segment = is_added ? r->vertex[v].segment : -1;
  if (!is_added) {
    memcpy(place, p->points + 2 * v, 2 * sizeof *place);
  } else if (segment < 0) {
    cvtm_grid_place(&p->r.frame, p->r.m.grid[v], place);
  } else {
    const double s = cvtm_segment_parameter(r, segment, r->m.grid[v]);
    const double *a = p->points + 2 * (int64_t)r->ends[2 * (int64_t)segment],
                 *b = p->points + 2 * (int64_t)r->ends[2 * (int64_t)segment + 1];
    for (int k = 0; k < 2; ++k) place[k] = a[k] + s * (b[k] - a[k]);
  }
}

static cvtm_status list_vertices(planar *p, int32_t *number, cvtm_triangulated *made) {
  const cvtm_half_edges *m = &p->r.m;
  const int64_t given = p->in->vertex_count, width = p->in->attribute_count;
  int64_t count = 0;
  for (int64_t v = 0; v < m->vertex_count; ++v)
    number[v] = v < given || m->at[v] >= 0 ? (int32_t)count++ : -1;
  made->vertex_count = count;
  made->vertices = malloc(2 * (size_t)count * sizeof *made->vertices);
  made->markers = calloc((size_t)count + 1, sizeof *made->markers);
  made->attributes = malloc(((size_t)(count * width) + 1) * sizeof *made->attributes);
  if (!made->vertices || !made->markers || !made->attributes)
    return cvtm_no_memory(p->error, planar_work);
  memcpy(made->vertices, p->in->vertices, 2 * (size_t)given * sizeof *made->vertices);
  if (width > 0)
    memcpy(made->attributes, p->in->attributes, (size_t)(given * width) * sizeof *made->attributes);
  if (p->in->markers != NULL)
    memcpy(made->markers, p->in->markers, (size_t)given * sizeof *made->markers);
  for (int64_t v = given; v < m->vertex_count; ++v) {
    if (number[v] < 0) continue;
    double *place = made->vertices + 2 * (int64_t)number[v];
    place_of_planar(p, v, place);
    if (width > 0)
      cvtm_interpolate(&p->before, &p->r.frame, place, p->values, width,
                       made->attributes + width * number[v]);
    place[1] = -place[1];
  }
  return CVTM_OK;
}

static int32_t segment_marker(const planar *p, int64_t h) {
  const int32_t own = p->marker[p->constraint_of[p->r.m.segment[h]]];
  return own != 0 ? own : p->r.m.twin[h] < 0;
}

static void mark_end(const int32_t *number, int32_t v, int32_t marker, cvtm_triangulated *made) {
  int32_t *own = v < 0 || number[v] < 0 ? NULL : &made->markers[number[v]];
  if (own != NULL && *own == 0) *own = marker;
}

/* A vertex without a marker gets the first marker of a segment there; else 1 on the border. */
static void mark_planar_vertices(const planar *p, const int32_t *number, cvtm_triangulated *made) {
  const cvtm_half_edges *m = &p->r.m;
  for (int64_t v = p->in->vertex_count + p->crossings; v < m->vertex_count; ++v)
    if (number[v] >= 0 && p->r.vertex[v].segment >= 0)
      mark_end(number, (int32_t)v, p->marker[p->constraint_of[p->r.vertex[v].segment]], made);
  for (int64_t k = 0; k < 2 * p->hidden; ++k) mark_end(number, p->ends[k], p->marker[k / 2], made);
  for (int pass = 0; pass < 2;
       ++pass) { /* both passes also visit segments that were divided at vertices */
    for (int64_t h = 0; h < 3 * m->triangle_count; ++h) {
      if (m->corner[h] < 0 || m->segment[h] < 0 || (pass == 1 && m->twin[h] >= 0)) continue;
      const int32_t marker = segment_marker(p, h);
      if (pass == 0 && p->marker[p->constraint_of[m->segment[h]]] == 0) continue;
      mark_end(number, m->corner[h], marker, made);
      mark_end(number, cvtm_end_of(m, h), marker, made);
    }
  }
}

/* For the switches p and r without A: copies the attributes of the given triangles. */
static void attribute_triangle(planar *p, int64_t t, double *values) {
  const cvtm_half_edges *m = &p->r.m;
  if (!p->options->refines) {
    const int32_t row = p->row[m->region[t]];
    values[0] = row >= 0 ? p->in->regions[4 * (int64_t)row + 2] : 0;
    return;
  }
  double x = 0, y = 0;
  for (int k = 0; k < 3; ++k) {
    x += m->grid[m->corner[3 * t + k]].x / 3.0;
    y += m->grid[m->corner[3 * t + k]].y / 3.0;
  }
  const int64_t count = p->in->triangle_attribute_count;
  memcpy(values, p->in->triangle_attributes + count * cvtm_locate(&p->before, x, y),
         (size_t)count * sizeof *values);
}

static cvtm_status list_triangles(planar *p, const int32_t *number, cvtm_triangulated *made) {
  const cvtm_half_edges *m = &p->r.m;
  const int64_t width =
      p->options->refines ? p->in->triangle_attribute_count : p->options->marks_regions;
  const size_t room = (size_t)m->triangle_count + 1;
  int32_t *named = malloc(room * sizeof *named);
  made->triangle_attribute_count = width;
  made->triangles = malloc(3 * room * sizeof *made->triangles);
  made->neighbors = malloc(3 * room * sizeof *made->neighbors);
  made->triangle_attributes = malloc((room * (size_t)width + 1) * sizeof(double));
  made->edges = malloc(6 * room * sizeof *made->edges);
  made->edge_markers = malloc(3 * room * sizeof *made->edge_markers);
  made->is_segment = malloc(3 * room);
  if (!named || !made->triangles || !made->neighbors || !made->triangle_attributes ||
      !made->edges || !made->edge_markers || !made->is_segment) {
    free(named);
    return cvtm_no_memory(p->error, planar_work);
  }
  for (int64_t t = 0; t < m->triangle_count; ++t)
    named[t] = m->corner[3 * t] < 0 ? -1 : (int32_t)made->triangle_count++;
  for (int64_t t = 0; t < m->triangle_count; ++t) {
    if (named[t] < 0) continue;
    if (width > 0) attribute_triangle(p, t, made->triangle_attributes + width * named[t]);
    for (int k = 0; k < 3; ++k) {
      const int64_t h = 3 * t + k, opposite = m->twin[3 * t + (k + 1) % 3];
      made->triangles[3 * (int64_t)named[t] + k] = number[m->corner[h]];
      made->neighbors[3 * (int64_t)named[t] + k] = opposite < 0 ? -1 : named[opposite / 3];
      if (m->twin[h] >= h) continue;
      const int is_segment = m->segment[h] >= 0;
      const int64_t e = made->edge_count++;
      made->edges[2 * e] = number[m->corner[h]];
      made->edges[2 * e + 1] = number[cvtm_end_of(m, h)];
      made->is_segment[e] = is_segment && p->constraint_of[m->segment[h]] < p->hidden;
      made->edge_markers[e] = made->is_segment[e] ? segment_marker(p, h) : m->twin[h] < 0;
    }
  }
  free(named);
  return CVTM_OK;
}

/* Refuses triangles without area in doubles, between segments that are as close as their crossings
 * are rounded. */
static cvtm_status check_areas(const planar *p, const cvtm_triangulated *made) {
  for (int64_t t = 0; t < made->triangle_count; ++t) {
    const int32_t *corner = made->triangles + 3 * t;
    const double *a = made->vertices + 2 * (int64_t)corner[0],
                 *b = made->vertices + 2 * (int64_t)corner[1],
                 *c = made->vertices + 2 * (int64_t)corner[2];
    if ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) > 0) continue;
    return cvtm_fail(p->error, CVTM_ERROR_INPUT,
                     "segments or vertices lie too near each other at (%.17g, %.17g): a triangle "
                     "between them has no area",
                     a[0], a[1]);
  }
  return CVTM_OK;
}

static cvtm_status extract_planar(planar *p, cvtm_triangulated *made) {
  int32_t *number = malloc(((size_t)p->r.m.vertex_count + 1) * sizeof *number);
  cvtm_status status =
      number != NULL ? list_vertices(p, number, made) : cvtm_no_memory(p->error, planar_work);
  if (status == CVTM_OK) mark_planar_vertices(p, number, made);
  if (status == CVTM_OK) status = list_triangles(p, number, made);
  if (status == CVTM_OK) status = check_areas(p, made);
  free(number);
  return status;
}

/* ---- All steps ---- */

static void free_planar(planar *p) {
  free(p->points);
  free(p->ends);
  free(p->marker);
  free(p->constraints.crossed);
  free(p->part);
  free(p->row);
  free(p->stack);
  free(p->constraint_of);
  free(p->values);
  cvtm_locator_free(&p->before);
  cvtm_refine_figures_free(&p->figures);
  cvtm_refine_destroy(&p->r);
}

cvtm_status cvtm_triangulate(const cvtm_triangulate_input *input,
                             const cvtm_triangulate_options *options, cvtm_triangulated *made,
                             cvtm_error *error) {
  planar p = {.in = input, .options = options, .r.error = error, .error = error};
  cvtm_triangulated result = {0};
  cvtm_scratch memory = {0};
  cvtm_status status = check_input(&p);
  if (status == CVTM_OK) status = copy_points(&p);
  if (status == CVTM_OK)
    status = options->refines ? take_triangles(&p, &memory) : take_delaunay(&p);
  cvtm_scratch_free(&memory);
  if (status == CVTM_OK && options->refines) status = cvtm_locator_keep(&p.r.m, &p.before, error);
  if (status == CVTM_OK) status = list_constraints(&p);
  if (status == CVTM_OK) status = constrain_planar(&p);
  if (status == CVTM_OK) status = place_crossings(&p);
  if (status == CVTM_OK) status = take_attributes(&p);
  if (status == CVTM_OK && !options->refines && input->attribute_count > 0)
    status = cvtm_locator_keep(&p.r.m, &p.before, error);
  if (status == CVTM_OK) status = find_planar_parts(&p);
  if (status == CVTM_OK) status = cvtm_refine_number_segments(&p.r, &p.constraint_of);
  if (status == CVTM_OK) status = refine_planar(&p);
  if (status == CVTM_OK) status = extract_planar(&p, &result);
  free_planar(&p);
  if (status == CVTM_ERROR_INTERNAL)
    status = cvtm_fail(error, CVTM_ERROR_INPUT,
                       options->refines ? "the triangles given overlap"
                                        : "segments that cross lie too near each other");
  if (status == CVTM_OK)
    *made = result;
  else
    cvtm_triangulated_free(&result);
  return status;
}

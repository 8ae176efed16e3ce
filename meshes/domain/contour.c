/* Contours of masks, labels, polygons and graphs. */
#include "base/geometry.h"
#include "base/select.h"
#include "base/portable.h"
#include "meshes/contour.h"
#include "meshes/domain/contour_steps.h"
#include "meshes/domain/pslg.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void cvtm_contour_defaults(cvtm_contour_options *options) {
  options->corner_angle = 40;
  options->smallest = 1;
  options->border = CVTM_BORDER_EMPTY;
  options->smooth = 0;
}

void cvtm_contour_free(cvtm_contour *contour) {
  free(contour->start);
  free(contour->points);
  free(contour->corner);
  free(contour->left);
  free(contour->right);
  free(contour->twin);
  free(contour->region);
  free(contour->region_area);
  *contour = (cvtm_contour){0};
}

void cvtm_contour_begin_arc(cvtm_contour_builder *b, int32_t left, int32_t right) {
  cvtm_contour *m = &b->made;
  const cvtm_growing arrays[] = {{&m->start, sizeof *m->start},
                                 {&m->left, sizeof *m->left},
                                 {&m->right, sizeof *m->right},
                                 {&m->twin, sizeof *m->twin}};
  if (b->failed || !cvtm_grow_all(arrays, b->has_twins ? 4 : 3, &b->arc_capacity, m->arc_count + 2))
    b->failed = 1;
  if (b->failed) return;
  m->left[m->arc_count] = left;
  m->right[m->arc_count] = right;
  if (b->has_twins) m->twin[m->arc_count] = -1;
  m->start[m->arc_count++] = b->points;
  m->start[m->arc_count] = b->points;
}

void cvtm_contour_add_point(cvtm_contour_builder *b, const double *place, int corner) {
  cvtm_contour *m = &b->made;
  const cvtm_growing arrays[] = {{&m->points, 2 * sizeof *m->points},
                                 {&m->corner, sizeof *m->corner}};
  if (b->failed || !cvtm_grow_all(arrays, 2, &b->point_capacity, b->points + 1)) b->failed = 1;
  if (b->failed) return;
  memcpy(m->points + 2 * b->points, place, 2 * sizeof *place);
  m->corner[b->points++] = (uint8_t)corner;
  m->start[m->arc_count] = b->points;
}

void cvtm_contour_drop_small(cvtm_contour_builder *b, double smallest) {
  cvtm_contour *m = &b->made;
  const int64_t arc = m->arc_count - 1, first = b->failed ? 0 : m->start[arc];
  if (b->failed || !cvtm_contour_is_closed(m, arc) ||
      fabs(cvtm_ring_area(m->points + 2 * first, b->points - first)) >= smallest)
    return;
  b->points = first;
  --m->arc_count;
  ++m->dropped;
}

/* ---- Sides of a periodic image ---- */

typedef struct splitter {
  const cvtm_contour *rings;
  const double *size; /* of the image */
  cvtm_contour_builder builder;
  cvtm_side_edge *edges; /* by the number of their arc */
  int64_t edge_count;
} splitter;

/* The axis perpendicular to the side that contains both a and b; -1: none. */
static int side_axis(const splitter *s, const double *a, const double *b) {
  for (int axis = 0; axis < 2; ++axis)
    if (a[axis] == b[axis] && (a[axis] == 0 || a[axis] == s->size[axis])) return axis;
  return -1;
}

static void add_side_edge(splitter *s, int axis, const double *a, const double *b, int32_t left,
                          int32_t right) {
  const int turned = a[!axis] > b[!axis];
  const double *low = turned ? b : a, *high = turned ? a : b;
  s->edges[s->edge_count++] =
      (cvtm_side_edge){axis, a[axis] != 0, low[!axis], high[!axis], s->builder.made.arc_count};
  cvtm_contour_begin_arc(&s->builder, turned ? right : left, turned ? left : right);
  cvtm_contour_add_point(&s->builder, low, 1);
  cvtm_contour_add_point(&s->builder, high, 1);
}

/* Splits an arc into arcs along sides and arcs elsewhere. A closed arc is first rotated to an edge
 * along a side, if there is one. */
static void split_ring(splitter *s, int64_t ring) {
  const cvtm_contour *c = s->rings;
  cvtm_contour_builder *to = &s->builder;
  const int64_t n = c->start[ring + 1] - c->start[ring] - 1;
  const double *p = c->points + 2 * c->start[ring];
  const uint8_t *corner = c->corner + c->start[ring];
  int64_t first = 0;
  while (first < n && side_axis(s, p + 2 * first, p + 2 * first + 2) < 0) ++first;
  const int closed = first == n;
  if (!cvtm_contour_is_closed(c, ring)) first = 0;
  int in_arc = 0;
  for (int64_t k = 0; k < n && !to->failed; ++k) {
    const int64_t i = closed ? k : (first + k) % n;
    const double *a = p + 2 * i, *b = a + 2;
    const int axis = side_axis(s, a, b);
    if (axis >= 0) {
      if (in_arc) to->made.corner[to->points - 1] = 1;
      add_side_edge(s, axis, a, b, c->left[ring], c->right[ring]);
    } else {
      if (!in_arc) cvtm_contour_begin_arc(to, c->left[ring], c->right[ring]);
      if (!in_arc) cvtm_contour_add_point(to, a, !closed || corner[0]);
      cvtm_contour_add_point(to, b, corner[i + 1]);
    }
    in_arc = axis < 0;
  }
  if (in_arc && !closed && !to->failed) to->made.corner[to->points - 1] = 1;
}

/* Fails if some edges on a pair of sides have copies, and others have none. */
static cvtm_status join_twins(splitter *s, cvtm_error *error) {
  int64_t paired[2] = {0, 0}, count[2] = {0, 0};
  qsort(s->edges, (size_t)s->edge_count, sizeof *s->edges, cvtm_compare_side_edges);
  for (int64_t k = 0; k < s->edge_count; ++k) {
    const cvtm_side_edge *a = &s->edges[k], *b = a + 1;
    ++count[a->axis];
    if (k + 1 == s->edge_count || !cvtm_are_copies(a, b)) continue;
    const int64_t later = a->number > b->number ? a->number : b->number;
    s->builder.made.twin[later] = a->number + b->number - later;
    paired[a->axis] += 2;
  }
  if (paired[0] + paired[1] == 0)
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "--periodic: no edge on a side of the image has a copy on the opposite side");
  const int64_t alone =
      (paired[0] > 0 ? count[0] - paired[0] : 0) + (paired[1] > 0 ? count[1] - paired[1] : 0);
  if (alone == 0) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_INPUT,
                   "--periodic: %" PRId64
                   " %s on sides of the image without a copy on the "
                   "opposite side",
                   alone, alone == 1 ? "edge" : "edges");
}

/* Makes separate arcs of polygon edges along the sides of a periodic image. Two such arcs that
 * differ in only one coordinate are twins. CVTM_ERROR_INPUT if there are no twins, or if an edge
 * has no copy although other edges on its side have copies. */
static cvtm_status contour_pair_rings(cvtm_contour *contour, int width, int height,
                                      cvtm_error *error) {
  const double size[2] = {width, height};
  const size_t points = (size_t)contour->start[contour->arc_count];
  splitter s = {.rings = contour,
                .size = size,
                .builder.has_twins = 1,
                .edges = malloc((points + 1) * sizeof *s.edges)};
  s.builder.failed = s.edges == NULL;
  for (int64_t ring = 0; ring < contour->arc_count && !s.builder.failed; ++ring)
    split_ring(&s, ring);
  const cvtm_status status =
      s.builder.failed ? cvtm_no_memory(error, "the contour") : join_twins(&s, error);
  free(s.edges);
  if (status != CVTM_OK) {
    cvtm_contour_free(&s.builder.made);
    return status;
  }
  s.builder.made.dropped = contour->dropped;
  cvtm_contour_free(contour);
  *contour = s.builder.made;
  return CVTM_OK;
}

/* ---- From masks, labels and polygons ---- */

/* The area of all regions by Green's theorem, arc by arc. */
static double regions_area(const cvtm_contour *c) {
  double twice = 0;
  for (int64_t arc = 0; arc < c->arc_count; ++arc) {
    const int side = (c->left[arc] != 0) - (c->right[arc] != 0);
    for (int64_t k = c->start[arc]; k + 1 < c->start[arc + 1] && side != 0; ++k) {
      const double *a = c->points + 2 * k, *b = a + 2;
      twice += side * ((b[0] - a[0]) * (a[1] + b[1])); /* y down: left is positive */
    }
  }
  return 0.5 * twice;
}

static cvtm_status check_size(int width, int height, const cvtm_contour_options *options,
                              cvtm_error *error) {
  if (width < 1 || height < 1 || !options || !(options->corner_angle > 0) ||
      !(options->smallest >= 0) || !(options->smooth >= 0)) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "cannot trace a contour of %d x %d pixels", width,
                     height);
  }
  return CVTM_OK;
}

static cvtm_status contour_of(const cvtm_contour_picture *picture,
                              const cvtm_contour_options *options, cvtm_contour *contour,
                              cvtm_error *error) {
  const int least = 3; /* pixels: then the periodic copies of a square are distinct */
  cvtm_contour made = {0};
  if (picture->border == CVTM_BORDER_PERIODIC &&
      (picture->width < least || picture->height < least))
    return cvtm_fail(error, CVTM_ERROR_INPUT, "a periodic domain needs at least %d x %d pixels",
                     least, least);
  const int smooth = picture->labels != NULL && options->smooth > 0;
  const int mask = picture->coverage != NULL, frame = !mask && picture->labels == NULL;
  cvtm_status status = CVTM_OK;
  if (!frame) status = cvtm_contour_trace(picture, smooth ? 0 : options->smallest, &made, error);
  if (status == CVTM_OK && !mask) status = cvtm_contour_count_areas(picture, &made, error);
  if (status == CVTM_OK && smooth && made.arc_count > 0) {
    cvtm_contour_drop_specks(&made, options->smallest);
    status = cvtm_contour_smooth(picture, options->smooth, &made, error);
  }
  if (status == CVTM_OK && picture->border != CVTM_BORDER_EMPTY)
    status = cvtm_contour_add_sides(picture, &made, error);
  if (status == CVTM_OK && smooth && made.arc_count > 0)
    status = cvtm_contour_fit(picture, &made, error);
  if (status == CVTM_OK && made.arc_count == 0)
    status = cvtm_fail(error, CVTM_ERROR_INPUT,
                       made.dropped > 0 ? "the domain is empty: nothing in it is larger than %g "
                                          "square pixels"
                                        : "the domain is empty: no pixel is at least half covered",
                       options->smallest);
  if (status == CVTM_OK) {
    made.area = regions_area(&made);
    status = cvtm_contour_find_corners(&made, picture, options->corner_angle, error);
  }
  if (status != CVTM_OK) {
    cvtm_contour_free(&made);
    return status;
  }
  *contour = made;
  return CVTM_OK;
}

cvtm_status cvtm_contour_of_mask(const float *coverage, int width, int height,
                                 const cvtm_contour_options *options, cvtm_contour *contour,
                                 cvtm_error *error) {
  CVTM_DEFAULT_OPTIONS(cvtm_contour, options)
  cvtm_status status = check_size(width, height, options, error);
  for (int64_t p = 0; p < (int64_t)width * height && status == CVTM_OK; ++p) {
    if (coverage[p] >= 0 && coverage[p] <= 1) continue;
    status = cvtm_fail(error, CVTM_ERROR_INPUT, "coverage at pixel (%d, %d) must be 0 to 1, not %g",
                       (int)(p % width), (int)(p / width), (double)coverage[p]);
  }
  if (status != CVTM_OK) return status;
  const cvtm_contour_picture picture = {coverage, NULL, width, height, options->border};
  return contour_of(&picture, options, contour, error);
}

cvtm_status cvtm_contour_of_labels(const int32_t *labels, int width, int height,
                                   const cvtm_contour_options *options, cvtm_contour *contour,
                                   cvtm_error *error) {
  CVTM_DEFAULT_OPTIONS(cvtm_contour, options)
  cvtm_status status = check_size(width, height, options, error);
  for (int64_t p = 0; p < (int64_t)width * height && status == CVTM_OK; ++p) {
    if (labels[p] >= 0) continue;
    status = cvtm_fail(error, CVTM_ERROR_INPUT, "the label of pixel (%d, %d) is %" PRId32,
                       (int)(p % width), (int)(p / width), labels[p]);
  }
  if (status != CVTM_OK) return status;
  const int flat = options->smooth > 0 && options->border == CVTM_BORDER_EMPTY;
  const cvtm_contour_picture picture = {NULL, labels, width, height,
                                        flat ? CVTM_BORDER_FLAT : options->border};
  return contour_of(&picture, options, contour, error);
}

cvtm_status cvtm_contour_of_frame(int width, int height, const cvtm_contour_options *options,
                                  cvtm_contour *contour, cvtm_error *error) {
  CVTM_DEFAULT_OPTIONS(cvtm_contour, options)
  CVTM_TRY(check_size(width, height, options, error));
  const cvtm_contour_picture picture = {
      NULL, NULL, width, height,
      options->border == CVTM_BORDER_PERIODIC ? CVTM_BORDER_PERIODIC : CVTM_BORDER_FLAT};
  return contour_of(&picture, options, contour, error);
}

/* Adds a ring, which begins at a corner if it has any. */
static void add_ring(const double *p, int64_t n, double sharp, cvtm_contour_builder *builder) {
  int64_t first = 0;
  for (int64_t k = n - 1; k >= 0; --k) {
    const double *a = p + 2 * ((k + n - 1) % n), *b = p + 2 * k, *c = p + 2 * ((k + 1) % n);
    if (cvtm_turn_cosine(a, b, c) <= sharp) first = k;
  }
  cvtm_contour_begin_arc(builder, 1, 0); /* outer rings run counterclockwise, holes clockwise */
  for (int64_t k = 0; k <= n; ++k) {
    const int64_t at = (first + k) % n;
    const double *a = p + 2 * ((at + n - 1) % n), *b = p + 2 * at, *c = p + 2 * ((at + 1) % n);
    cvtm_contour_add_point(builder, b, cvtm_turn_cosine(a, b, c) <= sharp);
  }
}

/* CVTM_ERROR_INPUT if a corner is outside the image. */
static cvtm_status contour_check_inside(const double *points, int64_t count, int width, int height,
                                        cvtm_error *error) {
  for (int64_t k = 0; k < count; ++k) {
    const double x = points[2 * k], y = points[2 * k + 1];
    if (x >= 0 && y >= 0 && x <= width && y <= height) continue;
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "the polygon's corner at (%g, %g) is outside the image of %d x %d pixels", x,
                     y, width, height);
  }
  return CVTM_OK;
}

/* Takes a contour of polygons: finds twins on a periodic image, and the area. Fails if there are no
 * arcs. `status` is that of the steps before; on failure frees the builder's contour. */
static cvtm_status contour_of_builder(cvtm_status status, cvtm_contour_builder *builder, int width,
                                      int height, const cvtm_contour_options *options,
                                      cvtm_contour *contour, cvtm_error *error) {
  cvtm_contour *made = &builder->made;
  if (status == CVTM_OK && builder->failed) status = cvtm_no_memory(error, "the contour");
  if (status == CVTM_OK && made->arc_count == 0)
    status = cvtm_fail(error, CVTM_ERROR_INPUT,
                       "the domain is empty: nothing in it is larger than %g square pixels",
                       options->smallest);
  if (status == CVTM_OK && options->border == CVTM_BORDER_PERIODIC)
    status = contour_pair_rings(made, width, height, error);
  if (status != CVTM_OK) {
    cvtm_contour_free(made);
    return status;
  }
  made->area = regions_area(made);
  *contour = *made;
  return CVTM_OK;
}

cvtm_status cvtm_contour_of_polygons(const cvtm_polygons *polygons, int width, int height,
                                     const cvtm_contour_options *options, cvtm_contour *contour,
                                     cvtm_error *error) {
  CVTM_DEFAULT_OPTIONS(cvtm_contour, options)
  const int64_t rings = polygons->ring_count;
  cvtm_contour_builder builder = {0};
  CVTM_TRY(check_size(width, height, options, error));
  CVTM_TRY(contour_check_inside(polygons->points, polygons->start[rings], width, height, error));
  for (int64_t r = 0; r < rings; ++r) {
    const int64_t first = polygons->start[r];
    add_ring(polygons->points + 2 * first, polygons->start[r + 1] - first,
             cos(options->corner_angle * CVTM_PI / 180), &builder);
    cvtm_contour_drop_small(&builder, options->smallest);
  }
  return contour_of_builder(CVTM_OK, &builder, width, height, options, contour, error);
}

/* ---- Coverage ---- */

/* change: (width + 1) * height; the last entry of a row is for changes beyond the last pixel. */
typedef struct accumulator {
  double *change;
  int width;
} accumulator;

static void add_change(void *context, int x, int y, double change) {
  const accumulator *to = context;
  to->change[(int64_t)y * (to->width + 1) + x] += change;
}

cvtm_status cvtm_contour_coverage(const cvtm_contour *contour, int width, int height,
                                  float *coverage, cvtm_error *error) {
  double *rows = calloc((size_t)(width + 1) * (size_t)height, sizeof *rows);
  if (rows == NULL) return cvtm_no_memory(error, "the contour");
  const cvtm_pixel_box all = {0, 0, width, height};
  accumulator to = {rows, width};
  for (int64_t arc = 0; arc < contour->arc_count; ++arc) {
    const int side = (contour->left[arc] != 0) - (contour->right[arc] != 0);
    for (int64_t k = contour->start[arc]; k + 1 < contour->start[arc + 1] && side != 0; ++k)
      cvtm_cover_edge(contour->points + 2 * k, contour->points + 2 * k + 2, side, all, add_change,
                      &to);
  }
  for (int j = 0; j < height; ++j) {
    double sum = 0;
    for (int i = 0; i < width; ++i) {
      sum += rows[(int64_t)j * (width + 1) + i];
      /* Rounding errors may put the share slightly outside 0 .. 1. */
      const double share = sum < 1e-6 ? 0 : sum > 1 - 1e-6 ? 1 : sum;
      coverage[(int64_t)j * width + i] = (float)share;
    }
  }
  free(rows);
  return CVTM_OK;
}

/* ---- From graphs ---- */

typedef struct walker {
  const cvtm_boundary *b;
  double sharp;   /* cosine of the least turn of a corner */
  int64_t *begin; /* vertex_count + 1: where the edges of each vertex begin in `list` */
  int64_t *list;  /* twice the edge, plus 1 for the edge's second end */
  uint8_t *used;  /* per edge */
  cvtm_contour_builder builder;
} walker;

static cvtm_status list_edges(walker *w, cvtm_scratch *memory, cvtm_error *error) {
  const cvtm_boundary *b = w->b;
  const size_t edges = (size_t)b->edge_count;
  w->begin = cvtm_scratch_zeros(memory, (size_t)b->vertex_count + 2, sizeof *w->begin);
  w->list = cvtm_scratch_take(memory, 2 * edges, sizeof *w->list);
  w->used = cvtm_scratch_zeros(memory, edges, 1);
  if (memory->failed) return cvtm_no_memory(error, "the contour");
  cvtm_list_by_key(b->edges, 2 * b->edge_count, b->vertex_count, w->begin, w->list);
  return CVTM_OK;
}

static int32_t other_end(const walker *w, int64_t edge, int32_t v) {
  const int32_t *ends = w->b->edges + 2 * edge;
  return ends[0] == v ? ends[1] : ends[0];
}

/* The region on the left of an edge that starts at v. */
static int32_t left_from(const walker *w, int64_t edge, int32_t v) {
  return w->b->edges[2 * edge] == v ? w->b->left[edge] : w->b->right[edge];
}

static int32_t right_from(const walker *w, int64_t edge, int32_t v) {
  return left_from(w, edge, other_end(w, edge, v));
}

/* The edge that continues `edge` at its end v; -1 where the arc ends. */
static int64_t continue_at(const walker *w, int64_t edge, int32_t v) {
  const int64_t *at = w->list + w->begin[v];
  if (w->begin[v + 1] - w->begin[v] != 2) return -1;
  const int64_t next = (at[0] / 2 == edge ? at[1] : at[0]) / 2;
  const int same = left_from(w, next, v) == right_from(w, edge, v) &&
                   right_from(w, next, v) == left_from(w, edge, v);
  return same ? next : -1;
}

static const double *place(const walker *w, int32_t v) { return w->b->points + 2 * (int64_t)v; }

/* Nonzero if the arc that continues from v along `edge` begins at v or has a corner there. */
static int is_corner(const walker *w, int64_t edge, int32_t v) {
  const int64_t before = continue_at(w, edge, v);
  return before < 0 || cvtm_turn_cosine(place(w, other_end(w, before, v)), place(w, v),
                                        place(w, other_end(w, edge, v))) <= w->sharp;
}

static void walk_arc(walker *w, int64_t edge, int32_t v, double smallest) {
  cvtm_contour_begin_arc(&w->builder, left_from(w, edge, v), right_from(w, edge, v));
  cvtm_contour_add_point(&w->builder, place(w, v), is_corner(w, edge, v));
  while (edge >= 0 && !w->used[edge]) {
    w->used[edge] = 1;
    v = other_end(w, edge, v);
    cvtm_contour_add_point(&w->builder, place(w, v), is_corner(w, edge, v));
    edge = continue_at(w, edge, v);
  }
  cvtm_contour_drop_small(&w->builder, smallest);
}

/* Walks the arcs between junctions, then closed arcs from a corner, then those without corners. */
static void walk_all(walker *w, double smallest) {
  for (int pass = 0; pass < 3; ++pass) {
    for (int32_t v = 0; v < w->b->vertex_count; ++v) {
      for (int64_t k = w->begin[v]; k < w->begin[v + 1]; ++k) {
        const int64_t edge = w->list[k] / 2;
        if (w->used[edge] || (pass == 0 && continue_at(w, edge, v) >= 0) ||
            (pass == 1 && !is_corner(w, edge, v)))
          continue;
        walk_arc(w, edge, v, smallest);
      }
    }
  }
}

cvtm_status cvtm_contour_of_pslg(const cvtm_pslg *pslg, int width, int height,
                                 const cvtm_contour_options *options, cvtm_contour *contour,
                                 cvtm_error *error) {
  const cvtm_boundary *b = &pslg->boundary;
  cvtm_scratch memory = {0};
  walker w = {.b = b, .sharp = cos(options->corner_angle * CVTM_PI / 180)};
  CVTM_TRY(contour_check_inside(b->points, b->vertex_count, width, height, error));
  const cvtm_status status = list_edges(&w, &memory, error);
  if (status == CVTM_OK) walk_all(&w, options->smallest);
  cvtm_scratch_free(&memory);
  return contour_of_builder(status, &w.builder, width, height, options, contour, error);
}

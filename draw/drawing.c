#include "draw/drawing.h"

#include "base/host.h"
#include "base/portable.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

cvtm_status cvtm_page_place_in(double page_width, double page_height, const double clip[4],
                               int fill, double width, double height, cvtm_page *page,
                               cvtm_error *error) {
  const double inner_width = clip[2] - clip[0], inner_height = clip[3] - clip[1];
  if (!(inner_width > 0) || !(inner_height > 0))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "margins leave nothing of a page of %g x %g mm",
                     page_width, page_height);
  const double across = inner_width / width, down = inner_height / height;
  const double scale = fill ? fmax(across, down) : fmin(across, down);
  *page = (cvtm_page){.width = page_width,
                      .height = page_height,
                      .scale = scale,
                      .left = 0.5 * (clip[0] + clip[2] - scale * width),
                      .top = 0.5 * (clip[1] + clip[3] - scale * height),
                      .picture = {scale * width, scale * height}};
  memcpy(page->clip, clip, sizeof page->clip);
  return CVTM_OK;
}

cvtm_status cvtm_page_place(double page_width, double page_height, double margin, int fill,
                            double width, double height, cvtm_page *page, cvtm_error *error) {
  const double clip[4] = {margin, margin, page_width - margin, page_height - margin};
  if (!(clip[2] > clip[0]) || !(clip[3] > clip[1]))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "margins of %g mm leave nothing of a page of %g x %g mm", margin, page_width,
                     page_height);
  return cvtm_page_place_in(page_width, page_height, clip, fill, width, height, page, error);
}

static void place_point(const cvtm_page *page, const double *pixels, double *mm) {
  mm[0] = page->left + page->scale * pixels[0];
  mm[1] = page->top + page->scale * pixels[1];
}

static int is_inside(const cvtm_page *page, const double *mm) {
  const double *clip = page->clip, rounding = 1e-9 * (page->width + page->height);
  return mm[0] >= clip[0] - rounding && mm[1] >= clip[1] - rounding &&
         mm[0] <= clip[2] + rounding && mm[1] <= clip[3] + rounding;
}

/* Moves a point of a stroke so that a pen with this radius does not draw in the margins. */
static void keep_inside(const cvtm_page *page, double radius, double *mm) {
  if (page->in_pixels) return;
  for (int axis = 0; axis < 2; ++axis) {
    const double low = page->clip[axis], high = page->clip[axis + 2];
    const double inset = fmin(radius, 0.5 * (high - low));
    mm[axis] = fmin(fmax(mm[axis], low + inset), high - inset);
  }
}

static cvtm_status fail_without_memory(cvtm_drawing *drawing, cvtm_error *error) {
  cvtm_drawing_free(drawing);
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the strokes of a drawing");
}

cvtm_status cvtm_drawing_of_dots(const cvtm_page *page, const double *points, const double *radius,
                                 int64_t count, cvtm_drawing *drawing, cvtm_error *error) {
  const size_t n = (size_t)count + 1;
  *drawing = (cvtm_drawing){.page = *page,
                            .start = malloc(n * sizeof *drawing->start),
                            .points = malloc(2 * n * sizeof *drawing->points),
                            .radius = malloc(n * sizeof *drawing->radius)};
  if (!drawing->start || !drawing->points || !drawing->radius)
    return fail_without_memory(drawing, error);
  int64_t dots = 0;
  for (int64_t i = 0; i < count; ++i) {
    double *mm = drawing->points + 2 * dots;
    place_point(page, points + 2 * i, mm);
    if (!is_inside(page, mm)) continue;
    drawing->radius[dots] = page->scale * radius[i];
    keep_inside(page, drawing->radius[dots], mm);
    drawing->start[dots] = dots;
    ++dots;
  }
  drawing->start[dots] = dots;
  drawing->stroke_count = dots;
  return CVTM_OK;
}

/* --- touches of a pen --- */

/* The number of turns of a spiral whose outermost turn touches a circle of this radius from inside;
 * 0: one touch of the pen covers the disc. */
static int turns_of(double radius, double pen) {
  const double way = radius - 0.5 * pen, rounding = 1e-6;
  return way > rounding * pen ? (int)ceil(way / pen - rounding) : 0;
}

/* Points per turn: the distance of the chords from the circle is below 0.03 widths of the pen. */
static int chords_of(double radius, double pen) {
  return (int)fmax(ceil(CVTM_PI / acos(1 - 0.03 * pen / radius)), 12);
}

static int64_t touch_points(double radius, double pen) {
  const int turns = turns_of(radius, pen);
  return turns == 0 ? 1 : (int64_t)(turns + 1) * chords_of(radius, pen) + 1;
}

/* The distance of the outermost corners from the centre. They lie slightly outside the circle of
 * the pen, so that the area is right. */
static double corner_distance(double radius, double pen) {
  if (turns_of(radius, pen) == 0) return 0;
  return (radius - 0.5 * pen) * (1 + 2 / 3. * (1 - cos(CVTM_PI / chords_of(radius, pen))));
}

/* Adds a spiral from the centre outward, whose turns are at most one width of the pen apart, then a
 * circle. */
static int64_t add_touch(const double *mm, double radius, double pen, double *points) {
  const int64_t count = touch_points(radius, pen);
  const int turns = turns_of(radius, pen), chords = count > 1 ? chords_of(radius, pen) : 1;
  const double last = corner_distance(radius, pen);
  for (int64_t k = 0; k < count; ++k) {
    const double turn = (double)k / chords, share = turns > 0 ? fmin(turn / turns, 1) : 0;
    points[2 * k] = mm[0] + last * share * cos(2 * CVTM_PI * turn);
    points[2 * k + 1] = mm[1] + last * share * sin(2 * CVTM_PI * turn);
  }
  return count;
}

cvtm_status cvtm_drawing_of_touches(const cvtm_page *page, const double *points,
                                    const double *radius, int64_t count, double pen,
                                    cvtm_drawing *drawing, cvtm_error *error) {
  const double width = page->scale * pen;
  int64_t all = 0, made = 0, dots = 0;
  for (int64_t i = 0; i < count; ++i) all += touch_points(page->scale * radius[i], width);
  *drawing = (cvtm_drawing){.page = *page,
                            .line_width = width,
                            .start = malloc(((size_t)count + 1) * sizeof *drawing->start),
                            .points = malloc(2 * ((size_t)all + 1) * sizeof *drawing->points)};
  if (!drawing->start || !drawing->points) return fail_without_memory(drawing, error);
  for (int64_t i = 0; i < count; ++i) {
    const double r = fmax(page->scale * radius[i], 0.5 * width);
    double mm[2];
    place_point(page, points + 2 * i, mm);
    if (!is_inside(page, mm)) continue;
    keep_inside(page, corner_distance(r, width) + 0.5 * width, mm);
    drawing->start[dots++] = made;
    made += add_touch(mm, r, width, drawing->points + 2 * made);
  }
  drawing->start[dots] = made;
  drawing->stroke_count = dots;
  return CVTM_OK;
}

/* --- paths --- */

/* A drawing to which strokes are appended, and the capacities of its arrays. */
typedef struct stroke_builder {
  cvtm_drawing *drawing;
  int64_t point_count, point_capacity, start_capacity;
  int is_new; /* nonzero: the next line begins a new stroke */
} stroke_builder;

static int add_stroke_point(stroke_builder *b, const double *mm) {
  if (!cvtm_grow(&b->drawing->points, 2 * sizeof *mm, &b->point_capacity, b->point_count + 1))
    return 0;
  memcpy(b->drawing->points + 2 * b->point_count++, mm, 2 * sizeof *mm);
  return 1;
}

static int begin_stroke(stroke_builder *b, const double *mm) {
  cvtm_drawing *drawing = b->drawing;
  if (!cvtm_grow(&drawing->start, sizeof *drawing->start, &b->start_capacity,
                 drawing->stroke_count + 2))
    return 0;
  drawing->start[drawing->stroke_count++] = b->point_count;
  return add_stroke_point(b, mm);
}

/* Clips the line from a to b at the margins (Liang & Barsky 1984). Returns 0 if it lies outside. */
static int clip_line(const cvtm_page *page, const double *a, const double *b, double *from,
                     double *to) {
  double first = 0, last = 1;
  for (int axis = 0; axis < 2; ++axis) {
    const double step = b[axis] - a[axis];
    const double low = page->clip[axis] - a[axis], high = page->clip[axis + 2] - a[axis];
    if (step == 0) {
      if (low > 0 || high < 0) return 0;
      continue;
    }
    const double enter = (step > 0 ? low : high) / step, leave = (step > 0 ? high : low) / step;
    first = fmax(first, enter);
    last = fmin(last, leave);
  }
  if (first > last) return 0;
  for (int axis = 0; axis < 2; ++axis) {
    from[axis] = first > 0 ? a[axis] + first * (b[axis] - a[axis]) : a[axis];
    to[axis] = last < 1 ? a[axis] + last * (b[axis] - a[axis]) : b[axis];
  }
  return 1;
}

static int add_line(stroke_builder *b, const cvtm_page *page, const double *from_mm,
                    const double *to_mm) {
  double from[2], to[2];
  if (is_inside(page, from_mm) && is_inside(page, to_mm)) {
    memcpy(from, from_mm, sizeof from);
    memcpy(to, to_mm, sizeof to);
  } else if (!clip_line(page, from_mm, to_mm, from, to)) {
    return 1;
  }
  const double *end = b->point_count > 0 ? b->drawing->points + 2 * (b->point_count - 1) : NULL;
  const int goes_on = end != NULL && !b->is_new && end[0] == from[0] && end[1] == from[1];
  b->is_new = 0;
  return (goes_on || begin_stroke(b, from)) && add_stroke_point(b, to);
}

/* Adds the line through `count` points. Returns 0 if memory runs out. */
static int add_path(stroke_builder *b, const cvtm_page *page, const double *points, int64_t count,
                    int closed) {
  b->is_new = 1;
  for (int64_t i = 1; i < count + (closed && count > 2); ++i) {
    double from[2], to[2];
    place_point(page, points + 2 * (i - 1), from);
    place_point(page, points + 2 * (i % count), to);
    if (!add_line(b, page, from, to)) return 0;
  }
  return 1;
}

/* For a picture that the margins crop, crops half the width of a line more, so that lines do not
 * reach into the margins. */
static cvtm_page crop_for_lines(const cvtm_page *page, double line_width) {
  cvtm_page crop = *page;
  const double rounding = 1e-9 * (page->width + page->height);
  const int is_cropped =
      page->left < page->clip[0] - rounding || page->top < page->clip[1] - rounding;
  if (!is_cropped || page->in_pixels) return crop;
  for (int axis = 0; axis < 2; ++axis) {
    const double inset = fmin(0.5 * line_width, 0.5 * (page->clip[axis + 2] - page->clip[axis]));
    crop.clip[axis] += inset;
    crop.clip[axis + 2] -= inset;
  }
  return crop;
}

static cvtm_status draw_paths(const cvtm_page *page, const double *points, const int64_t *start,
                              int64_t count, int closed, double line_width, cvtm_drawing *drawing,
                              cvtm_error *error) {
  *drawing = (cvtm_drawing){.page = *page, .line_width = page->scale * line_width};
  const cvtm_page crop = crop_for_lines(page, drawing->line_width);
  stroke_builder b = {.drawing = drawing};
  int has_memory = cvtm_grow(&drawing->start, sizeof *drawing->start, &b.start_capacity, 1);
  for (int64_t k = 0; has_memory && k < count; ++k)
    has_memory = add_path(&b, &crop, points + 2 * start[k], start[k + 1] - start[k], closed);
  if (!has_memory) return fail_without_memory(drawing, error);
  drawing->start[drawing->stroke_count] = b.point_count;
  for (int64_t i = 0; i < b.point_count; ++i)
    keep_inside(page, 0.5 * drawing->line_width, drawing->points + 2 * i);
  return CVTM_OK;
}

cvtm_status cvtm_drawing_of_path(const cvtm_page *page, const double *points, int64_t count,
                                 int closed, double line_width, cvtm_drawing *drawing,
                                 cvtm_error *error) {
  const int64_t start[2] = {0, count};
  return draw_paths(page, points, start, 1, closed, line_width, drawing, error);
}

cvtm_status cvtm_drawing_of_lines(const cvtm_page *page, const double *points, const int64_t *start,
                                  int64_t count, double line_width, cvtm_drawing *drawing,
                                  cvtm_error *error) {
  return draw_paths(page, points, start, count, 0, line_width, drawing, error);
}

void cvtm_drawing_free(cvtm_drawing *drawing) {
  free(drawing->start);
  free(drawing->part);
  free(drawing->pen);
  free(drawing->points);
  free(drawing->radius);
  free(drawing->width);
  *drawing = (cvtm_drawing){0};
}

/* --- parts --- */

int64_t cvtm_drawing_parts(const cvtm_drawing *drawing) {
  return drawing->part != NULL ? drawing->part_count : 1;
}

void cvtm_drawing_part(const cvtm_drawing *drawing, int64_t k, int64_t *first, int64_t *end) {
  *first = drawing->part != NULL ? drawing->part[k] : 0;
  *end = drawing->part != NULL ? drawing->part[k + 1] : drawing->stroke_count;
}

int cvtm_drawing_pen_of(const cvtm_drawing *drawing, int64_t k) {
  return drawing->pen != NULL ? drawing->pen[k] : 0;
}

double cvtm_drawing_width_of(const cvtm_drawing *drawing, int64_t k) {
  return drawing->width != NULL ? drawing->width[k] : drawing->line_width;
}

typedef struct part_builder {
  stroke_builder strokes;
  int64_t capacity;
  double used; /* length of lines in the part so far, mm */
} part_builder;

/* Begins a part at `point`. A stroke that has just begun there becomes the first of the part.
 * Returns 0 if memory runs out. */
static int begin_part(part_builder *b, const double *point) {
  cvtm_drawing *made = b->strokes.drawing;
  const int has_begun = b->strokes.point_count == made->start[made->stroke_count - 1] + 1;
  if (!cvtm_grow(&made->part, sizeof *made->part, &b->capacity, made->part_count + 3)) return 0;
  made->part[++made->part_count] = made->stroke_count - has_begun;
  b->used = 0;
  return has_begun || begin_stroke(&b->strokes, point);
}

static int copy_stroke(part_builder *b, const double *point, int64_t count, double distance) {
  if (!begin_stroke(&b->strokes, point)) return 0;
  for (; count > 1; --count, point += 2) {
    const double length = hypot(point[2] - point[0], point[3] - point[1]);
    if (b->used > 0 && b->used + length > distance && !begin_part(b, point)) return 0;
    b->used += length;
    if (!add_stroke_point(&b->strokes, point + 2)) return 0;
  }
  return 1;
}

cvtm_status cvtm_drawing_split(cvtm_drawing *drawing, double distance, cvtm_error *error) {
  if (drawing->radius != NULL || drawing->stroke_count == 0) return CVTM_OK;
  cvtm_drawing made = *drawing;
  made.start = made.part = NULL;
  made.points = NULL;
  made.stroke_count = made.part_count = 0;
  part_builder b = {.strokes.drawing = &made};
  int has_memory = cvtm_grow(&made.part, sizeof *made.part, &b.capacity, 2);
  for (int64_t k = 0; has_memory && k < drawing->stroke_count; ++k)
    has_memory = copy_stroke(&b, drawing->points + 2 * drawing->start[k],
                             drawing->start[k + 1] - drawing->start[k], distance);
  if (!has_memory) return fail_without_memory(&made, error);
  made.part[0] = 0;
  made.part[++made.part_count] = made.stroke_count;
  made.start[made.stroke_count] = b.strokes.point_count;
  cvtm_drawing_free(drawing);
  *drawing = made;
  return CVTM_OK;
}

/* --- several colours: one layer for each pen -------------------------------------------------- */

/* Numbers of strokes, points and parts. */
typedef struct drawing_sizes {
  int64_t strokes, points, parts;
} drawing_sizes;

static int64_t points_of(const cvtm_drawing *layer) {
  return layer->stroke_count > 0 ? layer->start[layer->stroke_count] : 0;
}

static cvtm_status allocate_joined(const drawing_sizes *sizes, int has_dots, cvtm_drawing *drawing,
                                   cvtm_error *error) {
  drawing->start = malloc(((size_t)sizes->strokes + 1) * sizeof *drawing->start);
  drawing->points = malloc((2 * (size_t)sizes->points + 1) * sizeof *drawing->points);
  drawing->part = malloc(((size_t)sizes->parts + 1) * sizeof *drawing->part);
  drawing->pen = malloc((size_t)sizes->parts * sizeof *drawing->pen);
  drawing->width = malloc((size_t)sizes->parts * sizeof *drawing->width);
  if (has_dots) drawing->radius = malloc(((size_t)sizes->strokes + 1) * sizeof *drawing->radius);
  if (drawing->start && drawing->points && drawing->part && drawing->pen && drawing->width &&
      (drawing->radius || !has_dots))
    return CVTM_OK;
  cvtm_drawing_free(drawing);
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the strokes of a drawing");
}

static void add_layer(const cvtm_drawing *layer, int pen, int64_t *points, cvtm_drawing *drawing) {
  const int64_t stroke = drawing->stroke_count;
  for (int64_t k = 0; k < layer->stroke_count; ++k)
    drawing->start[stroke + k] = *points + layer->start[k];
  for (int64_t part = 0; part < cvtm_drawing_parts(layer); ++part) {
    int64_t first, end;
    cvtm_drawing_part(layer, part, &first, &end);
    drawing->part[drawing->part_count] = stroke + first;
    drawing->width[drawing->part_count] = cvtm_drawing_width_of(layer, part);
    drawing->pen[drawing->part_count++] = pen;
  }
  const size_t count = (size_t)points_of(layer);
  if (count > 0)
    memcpy(drawing->points + 2 * *points, layer->points, 2 * count * sizeof *layer->points);
  if (layer->radius != NULL && count > 0)
    memcpy(drawing->radius + stroke, layer->radius, count * sizeof *layer->radius);
  *points += (int64_t)count;
  drawing->stroke_count += layer->stroke_count;
  drawing->start[drawing->stroke_count] = *points;
  drawing->part[drawing->part_count] = drawing->stroke_count;
}

cvtm_status cvtm_drawing_join(const cvtm_drawing *layers, const cvtm_pen *pens, int count,
                              cvtm_drawing *drawing, cvtm_error *error) {
  drawing_sizes sizes = {0, 0, 0};
  for (int k = 0; k < count; ++k) {
    sizes.strokes += layers[k].stroke_count;
    sizes.points += points_of(&layers[k]);
    sizes.parts += cvtm_drawing_parts(&layers[k]);
  }
  *drawing =
      (cvtm_drawing){.page = layers[0].page, .pens = pens, .line_width = layers[0].line_width};
  cvtm_status status = allocate_joined(&sizes, layers[0].radius != NULL, drawing, error);
  if (status != CVTM_OK) return status;
  int64_t points = 0;
  drawing->start[0] = 0;
  for (int k = 0; k < count; ++k) add_layer(&layers[k], k, &points, drawing);
  return CVTM_OK;
}

/* --- trails ----------------------------------------------------------------------------------- */

/* The edges at vertex v are at[first[v]] .. at[first[v + 1] - 1]. Those before at[next[v]] are
 * used. */
typedef struct trail_graph {
  const int32_t *edges;
  int64_t *first, *next, *at;
  unsigned char *used; /* nonzero for each edge that is on a trail */
  int64_t vertices, edge_count;
} trail_graph;

static void free_graph(trail_graph *g) {
  free(g->first);
  free(g->next);
  free(g->at);
  free(g->used);
}

static void fill_graph(trail_graph *g) {
  for (int64_t k = 0; k < 2 * g->edge_count; ++k) g->first[g->edges[k] + 1]++;
  for (int64_t v = 0; v < g->vertices; ++v) g->first[v + 1] += g->first[v];
  for (int64_t v = 0; v < g->vertices; ++v) g->next[v] = g->first[v];
  for (int64_t k = 0; k < 2 * g->edge_count; ++k) g->at[g->next[g->edges[k]]++] = k / 2;
  for (int64_t v = 0; v < g->vertices; ++v) g->next[v] = g->first[v];
}

/* Takes an unused edge at v, and marks it as used; -1 if there is none. */
static int64_t take_edge(trail_graph *g, int32_t v) {
  for (; g->next[v] < g->first[v + 1]; ++g->next[v]) {
    const int64_t edge = g->at[g->next[v]];
    if (g->used[edge]) continue;
    g->used[edge] = 1;
    return edge;
  }
  return -1;
}

/* Adds the trail that begins at v, if v has an unused edge. */
static void walk_trail(trail_graph *g, int32_t v, cvtm_trails *trails) {
  int64_t length = trails->start[trails->count];
  int64_t edge = take_edge(g, v);
  if (edge < 0) return;
  trails->vertex[length++] = v;
  for (; edge >= 0; edge = take_edge(g, v)) {
    const int32_t *ends = g->edges + 2 * edge;
    v = ends[0] == v ? ends[1] : ends[0];
    trails->vertex[length++] = v;
  }
  trails->start[++trails->count] = length;
}

static int is_odd(const trail_graph *g, int64_t v) { return (g->first[v + 1] - g->first[v]) & 1; }

cvtm_status cvtm_trails_create(const int32_t *edges, int64_t edge_count, int64_t vertex_count,
                               cvtm_trails *trails, cvtm_error *error) {
  const size_t n = (size_t)vertex_count, m = (size_t)edge_count;
  trail_graph g = {edges,
                   calloc(n + 1, sizeof *g.first),
                   malloc((n + 1) * sizeof *g.next),
                   malloc((2 * m + 1) * sizeof *g.at),
                   calloc(m + 1, sizeof *g.used),
                   vertex_count,
                   edge_count};
  *trails = (cvtm_trails){.start = malloc((m + 1) * sizeof *trails->start),
                          .vertex = malloc((2 * m + 1) * sizeof *trails->vertex)};
  const int has_memory =
      g.first && g.next && g.at && g.used && trails->start != NULL && trails->vertex != NULL;
  if (has_memory) {
    fill_graph(&g);
    trails->start[0] = 0;
    for (int64_t v = 0; v < vertex_count; ++v)
      if (is_odd(&g, v)) walk_trail(&g, (int32_t)v, trails);
    for (int64_t v = 0; v < vertex_count; ++v) walk_trail(&g, (int32_t)v, trails);
  } else {
    cvtm_trails_free(trails);
  }
  free_graph(&g);
  return has_memory ? CVTM_OK : cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a drawing");
}

void cvtm_trails_free(cvtm_trails *trails) {
  free(trails->start);
  free(trails->vertex);
  *trails = (cvtm_trails){0};
}

/* SVG: reads circles, shapes and lines, with the transforms of their elements applied. */
#include "base/file.h"
#include "base/host.h"
#include "base/portable.h"
#include "meshes/formats/formats.h"
#include "meshes/formats/svg_style.h"
#include "meshes/mesh_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Numbers and transforms ---- */

/* (x, y) becomes (xx x + xy y + x0, yx x + yy y + y0). */
typedef struct affine {
  double xx, yx, xy, yy, x0, y0; /* in the order of matrix() */
  int is_identity;
} affine;

typedef struct element {
  const char *name, **attributes; /* as in cvtm_xml_handlers */
  affine transform;
  int is_filled;
  double pen;          /* stroke-width; 0: none */
  const char *used_as; /* the name of the <use> that shows it, or NULL */
} element;

/* Called for each drawn element. A status other than CVTM_OK ends parsing. */
typedef cvtm_status (*svg_visitor)(void *context, cvtm_source *source, const element *e);

static int at_digit(const cvtm_source *s) {
  return s->at < s->size && s->data[s->at] >= '0' && s->data[s->at] <= '9';
}

static int take_sign(cvtm_source *s) {
  if (s->at >= s->size || (s->data[s->at] != '+' && s->data[s->at] != '-')) return 0;
  ++s->at;
  return 1;
}

/* Reads the next number, after blanks and at most one comma or semicolon; returns 0 if none
 * follows. */
static int svg_take_number(cvtm_source *s, double *value) {
  const size_t before = s->at;
  int commas = 0;
  for (; s->at < s->size; ++s->at) {
    const unsigned char c = s->data[s->at];
    if (c == ',' || c == ';') {
      if (++commas > 1) break;
    } else if (c != ' ' && c != '\t' && c != '\r' && c != '\n') {
      break;
    }
  }
  const size_t start = s->at;
  (void)take_sign(s);
  while (at_digit(s)) ++s->at;
  if (s->at < s->size && s->data[s->at] == '.') ++s->at;
  while (at_digit(s)) ++s->at;
  const size_t mantissa = s->at;
  if (s->at < s->size && (s->data[s->at] | 32) == 'e') {
    ++s->at;
    (void)take_sign(s);
    if (!at_digit(s)) s->at = mantissa;
    while (at_digit(s)) ++s->at;
  }
  const cvtm_token token = {(const char *)s->data + start, s->at - start};
  if (cvtm_token_number(token, value)) return 1;
  s->at = before;
  return 0;
}

static const affine identity = {1, 0, 0, 1, 0, 0, 1};

/* Applies a transform; the identity changes no bit. */
static void affine_apply(const affine *m, double *x, double *y) {
  if (m->is_identity) return;
  const double px = *x, py = *y;
  *x = m->xx * px + m->xy * py + m->x0;
  *y = m->yx * px + m->yy * py + m->y0;
}

/* The transform that applies `inner`, then `outer`. */
static affine compose(const affine *outer, const affine *inner) {
  if (outer->is_identity) return *inner;
  affine m = {outer->xx * inner->xx + outer->xy * inner->yx,
              outer->yx * inner->xx + outer->yy * inner->yx,
              outer->xx * inner->xy + outer->xy * inner->yy,
              outer->yx * inner->xy + outer->yy * inner->yy,
              inner->x0,
              inner->y0,
              0};
  affine_apply(outer, &m.x0, &m.y0);
  return m;
}

typedef enum transform_kind { MATRIX, TRANSLATE, SCALE, ROTATE, SKEW_X, SKEW_Y } transform_kind;

static affine rotation(double degrees, double x, double y) {
  const double c = cos(degrees * CVTM_PI / 180), s = sin(degrees * CVTM_PI / 180);
  return (affine){c, s, -s, c, x - c * x + s * y, y - s * x - c * y, 0};
}

/* Makes the transform with `count` arguments a; missing arguments are 0 (SVG 1.1, section 7.6). */
static affine make_transform(transform_kind kind, int count, const double a[6]) {
  switch (kind) {
    case MATRIX:
      return (affine){a[0], a[1], a[2], a[3], a[4], a[5], 0};
    case TRANSLATE:
      return (affine){1, 0, 0, 1, a[0], a[1], 0};
    case SCALE:
      return (affine){a[0], 0, 0, count == 1 ? a[0] : a[1], 0, 0, 0};
    case ROTATE:
      return rotation(a[0], a[1], a[2]);
    case SKEW_X:
      return (affine){1, 0, tan(a[0] * CVTM_PI / 180), 1, 0, 0, 0};
    default:
      return (affine){1, tan(a[0] * CVTM_PI / 180), 0, 1, 0, 0, 0};
  }
}

/* Reads a list such as `translate(3 4) rotate(90)`, of which the last one is applied first. */
/* CSS has units in transforms, which are those of the attribute. */
static void skip_unit(cvtm_source *s) {
  static const char *const units[] = {"px", "deg"};
  for (int k = 0; k < 2; ++k)
    if (s->size - s->at >= strlen(units[k]) &&
        memcmp(s->data + s->at, units[k], strlen(units[k])) == 0)
      s->at += strlen(units[k]);
}

static cvtm_status read_transforms(cvtm_source *s, affine *transform) {
  static const struct {
    const char *name;
    int fewest, most; /* numbers of arguments: one of the two */
  } kinds[] = {{"matrix", 6, 6}, {"translate", 1, 2}, {"scale", 1, 2},
               {"rotate", 1, 3}, {"skewX", 1, 1},     {"skewY", 1, 1}};
  for (;;) {
    while (s->at < s->size && strchr(" \t\r\n,", s->data[s->at])) ++s->at;
    if (s->at >= s->size) return CVTM_OK;
    cvtm_token name = {(const char *)s->data + s->at, 0};
    while (s->at < s->size && !strchr(" \t\r\n(", s->data[s->at])) ++s->at, ++name.length;
    size_t kind = 0;
    while (kind < sizeof kinds / sizeof kinds[0] && !cvtm_token_is(name, kinds[kind].name)) ++kind;
    while (s->at < s->size && strchr(" \t\r\n", s->data[s->at])) ++s->at;
    if (kind == sizeof kinds / sizeof kinds[0] || s->at >= s->size || s->data[s->at] != '(')
      return cvtm_source_fail(s, "the transform `%.*s` is not known",
                              name.length < 40 ? (int)name.length : 40, name.text);
    ++s->at;
    double a[6] = {0};
    int count = 0;
    for (; count < kinds[kind].most && svg_take_number(s, &a[count]); ++count) skip_unit(s);
    while (s->at < s->size && strchr(" \t\r\n", s->data[s->at])) ++s->at;
    if ((count != kinds[kind].fewest && count != kinds[kind].most) || s->at >= s->size ||
        s->data[s->at] != ')')
      return cvtm_source_fail(s, "the transform `%s` has wrong arguments", kinds[kind].name);
    ++s->at;
    const affine next = make_transform((transform_kind)kind, count, a);
    *transform = compose(transform, &next);
  }
}

/* ---- Elements ---- */

/* What an open element passes on to its content. */
typedef struct state {
  affine transform;
  int is_skipped; /* a definition, or display: none */
  int is_hidden, is_unfilled;
  double pen; /* stroke-width; 0: none */
} state;

typedef struct document {
  cvtm_source *source;
  const cvtm_source *whole; /* the document from its begin */
  svg_visitor visitor;
  void *context;
  cvtm_svg_sheet *sheet;
  state *states; /* per open element, after that of the root */
  int64_t depth, capacity;
  const char *target; /* the id of the only element to visit; NULL: all are visited */
  state of_target;
  int64_t target_depth; /* 0: not found yet */
  const char *used_as;
  int nesting;   /* of <use> */
  int64_t *left; /* the number of bytes that <use> may still parse */
} document;

/* Nonzero for elements whose contents are not drawn directly. */
static int is_definition(const char *name) {
  static const char *const names[] = {"defs", "clipPath", "mask", "symbol", "pattern", "marker"};
  for (size_t k = 0; k < sizeof names / sizeof names[0]; ++k)
    if (strcmp(name, names[k]) == 0) return 1;
  return 0;
}

/* Makes a source from the value of an attribute, with the line of the element. */
static cvtm_source svg_value(const cvtm_source *source, const char *value) {
  cvtm_source s = *source;
  s.data = (const unsigned char *)value;
  s.size = strlen(value);
  s.at = 0;
  return s;
}

/* The length in mm of the unit at the begin of a text; 0: none, or px. */
static double unit_in_mm(const char *text) {
  static const struct {
    const char *name;
    double mm;
  } units[] = {{"mm", 1}, {"cm", 10}, {"in", 25.4}, {"pt", 25.4 / 72}, {"pc", 25.4 / 6}};
  for (size_t k = 0; k < sizeof units / sizeof units[0]; ++k)
    if (strncmp(text, units[k].name, 2) == 0) return units[k].mm;
  return 0;
}

/* Reads the attribute `name` as a length in pixels; 0 if it is absent. */
static cvtm_status svg_length(cvtm_source *source, const char **attributes, const char *name,
                              double *value) {
  const char *text = cvtm_xml_attribute(attributes, name);
  *value = 0;
  if (text == NULL) return CVTM_OK;
  cvtm_source s = svg_value(source, text);
  if (svg_take_number(&s, value) && isfinite(*value)) {
    const char *rest = text + s.at;
    const double mm = unit_in_mm(rest);
    if (mm > 0) *value *= mm * 96 / 25.4;
    rest += mm > 0 || strncmp(rest, "px", 2) == 0 ? 2 : 0;
    if (rest[strspn(rest, " \t\r\n")] == '\0') return CVTM_OK;
  }
  return cvtm_source_fail(source, "%s=\"%.40s\" is not a number of pixels", name, text);
}

static cvtm_status svg_lengths(cvtm_source *source, const char **attributes,
                               const char *const *names, int count, double *value) {
  for (int k = 0; k < count; ++k) {
    CVTM_TRY(svg_length(source, attributes, names[k], &value[k]));
  }
  return CVTM_OK;
}

/* Nonzero for ids as editors make them: path12-3, Rectangle 4, Layer_1, XMLID_5_. */
static int is_automatic(const char *id, const char *type) {
  static const char *const words[] = {
      "path", "rect", "circle", "ellipse", "polygon", "polyline", "rectangle", "line",  "g",
      "use",  "svg",  "text",   "vector",  "star",    "group",    "layer",     "image", "XMLID"};
  for (size_t k = 0; k < sizeof words / sizeof words[0]; ++k) {
    const size_t length = strlen(words[k]), capital = id[0] == (words[k][0] & ~32);
    if (strncmp(id + capital, words[k] + capital, length - capital) != 0) continue;
    const char *rest = id + length;
    if (*rest != 0 && rest[strspn(rest, "0123456789-_ ")] == 0) return 1;
  }
  return strcmp(id, type) == 0;
}

/* The name that a user gave an element; NULL: none. */
static const char *name_of(const char *type, const char **attributes) {
  const char *label = cvtm_xml_attribute(attributes, "inkscape:label");
  const char *id = cvtm_xml_attribute(attributes, "id");
  if (label != NULL && *label != 0) return label;
  return id != NULL && *id != 0 && !is_automatic(id, type) ? id : NULL;
}

/* Moves the content of an element by its x and y. */
static cvtm_status move_by_place(cvtm_source *source, const char **attributes, affine *transform) {
  static const char *const names[] = {"x", "y"};
  double by[2];
  CVTM_TRY(svg_lengths(source, attributes, names, 2, by));
  const affine move = {1, 0, 0, 1, by[0], by[1], 0};
  if (by[0] != 0 || by[1] != 0) *transform = compose(transform, &move);
  return CVTM_OK;
}

/* Applies the element's own transform and properties to the state that it inherits. */
static cvtm_status enter(document *d, const char *name, const char **attributes, state *now) {
  cvtm_token value;
  double opacity;
  if (cvtm_svg_property(d->sheet, name, attributes, "transform", &value)) {
    cvtm_source s = svg_value(d->source, value.text);
    s.size = value.length;
    d->source->status = read_transforms(&s, &now->transform);
  }
  if (d->depth > 1 && (strcmp(name, "svg") == 0 || strcmp(name, "symbol") == 0)) {
    if (cvtm_xml_attribute(attributes, "viewBox") != NULL)
      return cvtm_source_fail(d->source, "<%s> with a viewBox inside the SVG is not supported",
                              name);
    CVTM_TRY(move_by_place(d->source, attributes, &now->transform));
  }
  if (cvtm_svg_property(d->sheet, name, attributes, "display", &value))
    now->is_skipped |= cvtm_token_is(value, "none");
  if (cvtm_svg_property(d->sheet, name, attributes, "visibility", &value))
    now->is_hidden = cvtm_token_is(value, "hidden") || cvtm_token_is(value, "collapse");
  if (cvtm_svg_property(d->sheet, name, attributes, "fill", &value))
    now->is_unfilled = cvtm_token_is(value, "none") || cvtm_token_is(value, "transparent");
  if (cvtm_svg_property(d->sheet, name, attributes, "fill-opacity", &value))
    now->is_unfilled |= cvtm_token_number(value, &opacity) && opacity == 0;
  if (cvtm_svg_property(d->sheet, name, attributes, "stroke-width", &value))
    (void)cvtm_token_number(value, &now->pen);
  return d->source->status;
}

static cvtm_status parse_document(document *d);

/* Visits the element that a <use> shows. */
static cvtm_status visit_used(const document *d, const char **attributes, const state *now) {
  enum { DEEPEST = 16, COST = 4096 };
  const char *href = cvtm_xml_attribute(attributes, "href"), *name = name_of("use", attributes);
  if (href == NULL) href = cvtm_xml_attribute(attributes, "xlink:href");
  if (href == NULL) return CVTM_OK;
  *d->left -= (int64_t)d->whole->size + COST;
  if (d->nesting == DEEPEST || *d->left < 0)
    return cvtm_source_fail(d->source, "elements <use> are nested too deeply, or too many");
  cvtm_source source = *d->whole;
  document inner = *d;
  inner.source = &source;
  inner.states = NULL;
  inner.depth = inner.capacity = inner.target_depth = 0;
  inner.target = href + (*href == '#');
  inner.of_target = *now;
  CVTM_TRY(move_by_place(d->source, attributes, &inner.of_target.transform));
  inner.used_as = name != NULL ? name : d->used_as;
  ++inner.nesting;
  d->source->status = parse_document(&inner);
  if (d->source->status == CVTM_OK && inner.target_depth == 0)
    return cvtm_source_fail(d->source, "<use> shows `%.40s`, which is not in the file", href);
  return d->source->status;
}

static void start_element(void *context, const char *name, const char **attributes, int *stop) {
  document *d = context;
  cvtm_source *s = d->source;
  if (strncmp(name, "svg:", 4) == 0) name += 4;
  state now = d->depth > 0 ? d->states[d->depth - 1]
                           : (state){.transform = identity, .is_skipped = d->target != NULL};
  if (!cvtm_grow(&d->states, sizeof *d->states, &d->capacity, d->depth + 1)) {
    cvtm_source_no_memory(s);
    return;
  }
  ++d->depth;
  const char *id = d->target_depth == 0 ? cvtm_xml_attribute(attributes, "id") : NULL;
  *stop = d->target_depth > d->depth; /* the target has ended */
  if (d->target == NULL && strcmp(name, "style") == 0) (void)cvtm_svg_sheet_read(d->sheet, s);
  if (d->target != NULL && id != NULL && strcmp(id, d->target) == 0) {
    now = d->of_target;
    d->target_depth = d->depth;
  } else {
    now.is_skipped |= is_definition(name);
  }
  if (!now.is_skipped) (void)enter(d, name, attributes, &now);
  d->states[d->depth - 1] = now;
  if (now.is_skipped || s->status != CVTM_OK) return;
  const element e = {name, attributes, now.transform, !now.is_unfilled, now.pen, d->used_as};
  if (strcmp(name, "use") == 0)
    s->status = visit_used(d, attributes, &now);
  else if (!now.is_hidden)
    s->status = d->visitor(d->context, s, &e);
}

static void end_element(void *context, const char *name) {
  document *d = context;
  (void)name;
  /* nothing after the target is visited */
  if (--d->depth < d->target_depth) d->target_depth = INT64_MAX;
}

static cvtm_status parse_document(document *d) {
  static const cvtm_xml_handlers handlers = {start_element, end_element};
  cvtm_xml_parse(d->source, &handlers, d);
  free(d->states);
  return d->source->status;
}

static cvtm_status svg_walk(cvtm_source *source, svg_visitor visitor, void *context) {
  const cvtm_source whole = *source;
  cvtm_svg_sheet sheet = {0};
  int64_t left = (int64_t)1 << 30;
  document d = {.source = source,
                .whole = &whole,
                .visitor = visitor,
                .context = context,
                .sheet = &sheet,
                .left = &left};
  const cvtm_status status = parse_document(&d);
  free(sheet.rules);
  return status;
}

static cvtm_status svg_walk_file(const char *path, svg_visitor visitor, void *context,
                                 cvtm_error *error) {
  unsigned char *bytes;
  size_t size;
  CVTM_TRY(cvtm_file_read(path, CVTM_FILE_MOST, &bytes, &size, error));
  cvtm_source source = cvtm_source_open(path, bytes, size, error);
  const cvtm_status status = svg_walk(&source, visitor, context);
  free(bytes);
  return status;
}

/* ---- Dots ---- */

typedef struct dot_reader {
  cvtm_dots dots;
  cvtm_source *source; /* for messages */
  int64_t capacity, stroke_capacity, point_capacity;
  int64_t point_count; /* of the strokes, with that being read */
  int has_box, has_touches;
  double pen;   /* stroke-width */
  double width; /* of the stroke being read, after its transform */
} dot_reader;

static cvtm_status add_dot(dot_reader *r, cvtm_source *source, const double v[3],
                           const affine *transform) {
  cvtm_dots *dots = &r->dots;
  double x = v[0], y = v[1], radius = v[2];
  affine_apply(transform, &x, &y);
  if (!transform->is_identity)
    radius *= sqrt(fabs(transform->xx * transform->yy - transform->xy * transform->yx));
  if (!isfinite(x) || !isfinite(y) || !(radius >= 0) || !isfinite(radius))
    return cvtm_source_fail(source, "a circle has a negative radius or a value that is not finite");
  const cvtm_growing arrays[] = {{&dots->points, 2 * sizeof *dots->points},
                                 {&dots->radius, sizeof *dots->radius}};
  if (!cvtm_grow_all(arrays, 2, &r->capacity, dots->count + 1))
    return cvtm_source_no_memory(source);
  dots->points[2 * dots->count] = x;
  dots->points[2 * dots->count + 1] = y;
  dots->radius[dots->count++] = radius;
  return CVTM_OK;
}

static cvtm_status read_circle(dot_reader *r, cvtm_source *source, const char **attributes,
                               const affine *transform) {
  static const char *const names[] = {"cx", "cy", "r"};
  double v[3];
  CVTM_TRY(svg_lengths(source, attributes, names, 3, v));
  return add_dot(r, source, v, transform);
}

static cvtm_status add_stroke_point(dot_reader *r, double x, double y) {
  cvtm_dots *d = &r->dots;
  if (!isfinite(x) || !isfinite(y))
    return cvtm_source_fail(r->source, "a stroke has a coordinate that is not finite");
  if (!cvtm_grow(&d->stroke_points, 2 * sizeof *d->stroke_points, &r->point_capacity,
                 r->point_count + 1))
    return cvtm_source_no_memory(r->source);
  d->stroke_points[2 * r->point_count] = x;
  d->stroke_points[2 * r->point_count++ + 1] = y;
  return CVTM_OK;
}

/* Ends the stroke being read. A stroke of hardly any length is a touch of the pen, a dot. */
static cvtm_status end_stroke(dot_reader *r, int is_closed) {
  cvtm_dots *d = &r->dots;
  const cvtm_growing arrays[] = {{&d->stroke_start, sizeof *d->stroke_start},
                                 {&d->stroke_radius, sizeof *d->stroke_radius}};
  if (!cvtm_grow_all(arrays, 2, &r->stroke_capacity, d->stroke_count + 2))
    return cvtm_source_no_memory(r->source);
  if (d->stroke_count == 0) d->stroke_start[0] = 0;
  const int64_t first = d->stroke_start[d->stroke_count];
  double way = 0;
  if (r->point_count == first) return CVTM_OK;
  const double *at = d->stroke_points + 2 * first, v[3] = {at[0], at[1], 0.5 * r->width};
  for (int64_t i = first; i < r->point_count; ++i)
    way = fmax(way, hypot(d->stroke_points[2 * i] - v[0], d->stroke_points[2 * i + 1] - v[1]));
  if (way <= 0.1 * r->width) {
    r->point_count = first;
    r->has_touches = 1;
    return add_dot(r, r->source, v, &identity);
  }
  if (is_closed) CVTM_TRY(add_stroke_point(r, v[0], v[1]));
  d->stroke_radius[d->stroke_count] = v[2];
  d->stroke_start[++d->stroke_count] = r->point_count;
  return CVTM_OK;
}

/* Reads the viewBox, or another box, of the outermost element; without one the box remains 0. */
static void read_box(dot_reader *r, const cvtm_source *source, const char **attributes,
                     const char *name) {
  const char *text = cvtm_xml_attribute(attributes, name);
  double box[4];
  int count = 0;
  if (r->has_box || text == NULL) return;
  cvtm_source s = svg_value(source, text);
  while (count < 4 && svg_take_number(&s, &box[count])) ++count;
  if (count == 4 && isfinite(box[0] + box[1] + box[2] + box[3]))
    memcpy(r->dots.box, box, sizeof box);
  r->has_box = 1;
}

void cvtm_dots_free(cvtm_dots *dots) {
  free(dots->points);
  free(dots->radius);
  free(dots->stroke_start);
  free(dots->stroke_points);
  free(dots->stroke_radius);
  *dots = (cvtm_dots){0};
}

/* ---- The unit ---- */

typedef struct unit_reader {
  double mm; /* length of a user unit */
  int seen;  /* nonzero: the outermost element has been read */
} unit_reader;

/* The length of a side in mm; 0 if it is absent or has no unit of length. */
static double side_in_mm(const cvtm_source *source, const char **attributes, const char *name) {
  const char *text = cvtm_xml_attribute(attributes, name);
  double value = 0;
  if (text == NULL) return 0;
  cvtm_source s = svg_value(source, text);
  return svg_take_number(&s, &value) && value > 0 ? value * unit_in_mm(text + s.at) : 0;
}

/* An svg_visitor: sets the unit. The viewBox is scaled to fit into width and height; without a
 * viewBox a user unit is 1/96 inch. */
static cvtm_status read_unit(void *context, cvtm_source *source, const element *e) {
  unit_reader *r = context;
  const char **attributes = e->attributes;
  if (r->seen || strcmp(e->name, "svg") != 0) return CVTM_OK;
  dot_reader box = {0};
  const double width = side_in_mm(source, attributes, "width");
  const double height = side_in_mm(source, attributes, "height");
  read_box(&box, source, attributes, "viewBox");
  r->seen = 1;
  const double x = box.dots.box[2] > 0 ? width / box.dots.box[2] : 0;
  const double y = box.dots.box[3] > 0 ? height / box.dots.box[3] : 0;
  const char *fit = cvtm_xml_attribute(attributes, "preserveAspectRatio");
  r->mm = x > 0 && y > 0 ? fmin(x, y) : fmax(x, y);
  if (fit != NULL && strcmp(fit, "none") == 0 && x > 0 && fabs(y - x) > 1e-3 * x && y > 0)
    return cvtm_source_fail(source, "preserveAspectRatio=\"none\" stretches the SVG");
  if (cvtm_xml_attribute(attributes, "viewBox") == NULL && (width > 0 || height > 0))
    r->mm = 25.4 / 96;
  return CVTM_OK;
}

cvtm_status cvtm_svg_unit(const char *path, double *mm, cvtm_error *error) {
  unit_reader r = {0};
  const cvtm_status status = svg_walk_file(path, read_unit, &r, error);
  *mm = r.mm;
  return status;
}

/* ---- Polygons ---- */

/* The largest distance of chords from their curve, in pixels. */
static const double curve_tolerance = 0.02;

/* The tolerance for a curve of the given extent; smaller for small curves, so that drawings in
 * other units keep their shape. */
static double tolerance_of(double extent) { return fmin(curve_tolerance, extent / 140); }

/* ---- Paths ---- */

/* The paths of one element: rings, or strokes. */
typedef struct outline {
  cvtm_ring_collector *rings;
  affine transform;
  dot_reader *strokes; /* NULL: rings */
  int is_filled;
} outline;

typedef struct pen {
  double x, y;             /* position, before the transform */
  double start_x, start_y; /* of the subpath */
  double control_x, control_y;
  char last; /* last command, as a capital letter */
} pen;

/* Adds a point that is already transformed. */
static cvtm_status add_moved_point(outline *o, double x, double y, int is_between_chords) {
  if (o->strokes != NULL) return add_stroke_point(o->strokes, x, y);
  return (is_between_chords ? cvtm_ring_add_curve_point : cvtm_ring_add_point)(o->rings, x, y);
}

static cvtm_status add_outline_point(outline *o, double x, double y) {
  affine_apply(&o->transform, &x, &y);
  return add_moved_point(o, x, y, 0);
}

static cvtm_status end_path(outline *o, int is_closed) {
  if (o->strokes != NULL) return end_stroke(o->strokes, is_closed);
  return is_closed ? cvtm_ring_close(o->rings) : cvtm_ring_end_path(o->rings, o->is_filled);
}

static cvtm_status end_line(outline *o) {
  return o->strokes != NULL ? end_stroke(o->strokes, 0) : cvtm_ring_end_line(o->rings);
}

/* Draws a cubic curve from the pen to its last control point as chords, whose number follows from
 * the second differences. */
static cvtm_status draw_cubic(outline *o, pen *p, const double control[6]) {
  double x[4] = {p->x, control[0], control[2], control[4]};
  double y[4] = {p->y, control[1], control[3], control[5]};
  p->x = x[3];
  p->y = y[3];
  for (int k = 0; k < 4; ++k) affine_apply(&o->transform, &x[k], &y[k]);
  double bend = 0;
  for (int k = 0; k < 2; ++k)
    bend = fmax(bend, hypot(x[k] - 2 * x[k + 1] + x[k + 2], y[k] - 2 * y[k + 1] + y[k + 2]));
  double extent = 0;
  for (int k = 1; k < 4; ++k) extent = fmax(extent, hypot(x[k] - x[0], y[k] - y[0]));
  /* A chord over 1/n of the parameter is off by at most 6 bend / (8 n^2). */
  const double wanted = bend > 0 ? ceil(sqrt(0.75 * bend / tolerance_of(extent))) : 1;
  const int chords = wanted < 1                          ? 1
                     : wanted < CVTM_POLYGON_CORNERS_MAX ? (int)wanted
                                                         : CVTM_POLYGON_CORNERS_MAX;
  for (int k = 1; k <= chords; ++k) {
    const double t = (double)k / chords, u = 1 - t;
    const double w[4] = {u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t};
    double px = 0, py = 0;
    for (int j = 0; j < 4; ++j) {
      px += w[j] * x[j];
      py += w[j] * y[j];
    }
    CVTM_TRY(add_moved_point(o, k == chords ? x[3] : px, k == chords ? y[3] : py, k < chords));
  }
  return CVTM_OK;
}

static cvtm_status draw_quadratic(outline *o, pen *p, double qx, double qy, double x, double y) {
  const double control[6] = {p->x + 2 * (qx - p->x) / 3,
                             p->y + 2 * (qy - p->y) / 3,
                             x + 2 * (qx - x) / 3,
                             y + 2 * (qy - y) / 3,
                             x,
                             y};
  p->control_x = qx;
  p->control_y = qy;
  return draw_cubic(o, p, control);
}

/* An elliptic arc with semi-axes (ux, uy) and (vx, vy); t runs from `from` to `from` + `by`. */
typedef struct arc {
  double x, y, ux, uy, vx, vy, from, by;
} arc;

/* Adds the points of an arc except the first and the last, at equal steps of t. */
static cvtm_status draw_arc(outline *o, const arc *a) {
  const affine *m = &o->transform;
  const double ux = m->xx * a->ux + m->xy * a->uy, uy = m->yx * a->ux + m->yy * a->uy;
  const double vx = m->xx * a->vx + m->xy * a->vy, vy = m->yx * a->vx + m->yy * a->vy;
  const double radius = hypot(hypot(ux, uy), hypot(vx, vy)); /* at least the semi-major axis */
  /* A chord over a step in t is off by at most radius (1 - cos (step / 2)). */
  const double step = 2 * acos(fmax(1 - tolerance_of(radius) / radius, 0));
  const double wanted = ceil(fabs(a->by) / step);
  const int chords = wanted < CVTM_POLYGON_CORNERS_MAX ? (int)wanted : CVTM_POLYGON_CORNERS_MAX;
  for (int k = 1; k < chords; ++k) {
    const double t = a->from + a->by * k / chords, c = cos(t), s = sin(t);
    double x = a->x + c * a->ux + s * a->vx, y = a->y + c * a->uy + s * a->vy;
    affine_apply(&o->transform, &x, &y);
    CVTM_TRY(add_moved_point(o, x, y, 1));
  }
  return CVTM_OK;
}

/* The angle from (ux, uy) to (vx, vy). */
static double angle_between(double ux, double uy, double vx, double vy) {
  return atan2(ux * vy - uy * vx, ux * vx + uy * vy);
}

/* Path command A: an arc from the pen to (a[5], a[6]), by SVG 1.1, F.6. */
static cvtm_status draw_path_arc(outline *o, pen *p, const double a[7]) {
  const double turn = a[2] * CVTM_PI / 180, c = cos(turn), s = sin(turn);
  const double dx = 0.5 * (p->x - a[5]), dy = 0.5 * (p->y - a[6]);
  const double px = c * dx + s * dy,
               py = c * dy - s * dx; /* half the vector to the end, in the axes of the ellipse */
  double rx = fabs(a[0]), ry = fabs(a[1]);
  const int is_line = rx == 0 || ry == 0 || (dx == 0 && dy == 0);
  if (!is_line) {
    const double excess = hypot(px / rx, py / ry);
    if (excess > 1) { /* the radii are too small */
      rx *= excess;
      ry *= excess;
    }
    const double gap = fmin(excess, 1), away = sqrt(fmax(1 - gap * gap, 0)) / gap;
    const double side = (a[3] != 0) == (a[4] != 0) ? -away : away;
    const double qx = side * rx * py / ry, qy = -side * ry * px / rx; /* the centre */
    const double sx = (px - qx) / rx, sy = (py - qy) / ry;
    double by = angle_between(sx, sy, (-px - qx) / rx, (-py - qy) / ry);
    if (a[4] != 0 && by < 0) by += 2 * CVTM_PI;
    if (a[4] == 0 && by > 0) by -= 2 * CVTM_PI;
    const arc whole = {0.5 * (p->x + a[5]) + c * qx - s * qy,
                       0.5 * (p->y + a[6]) + s * qx + c * qy,
                       c * rx,
                       s * rx,
                       -s * ry,
                       c * ry,
                       atan2(sy, sx),
                       by};
    CVTM_TRY(draw_arc(o, &whole));
  }
  p->x = a[5];
  p->y = a[6];
  return add_outline_point(o, p->x, p->y);
}

/* The number of arguments of a path command; 0: unknown command. */
static int arguments_of(char command) {
  static const char commands[] = "HVMLTSQCA", counts[] = {1, 1, 2, 2, 2, 4, 4, 6, 7};
  const char *found = command != 0 ? strchr(commands, command) : NULL;
  return found != NULL ? counts[found - commands] : 0;
}

/* Runs a path command with absolute arguments a. */
static cvtm_status run_path_command(outline *o, pen *p, char command, const double *a) {
  const int cubic = p->last == 'C' || p->last == 'S', quadratic = p->last == 'Q' || p->last == 'T';
  switch (command) {
    case 'M':
      CVTM_TRY(end_path(o, 0));
      p->start_x = p->x = a[0];
      p->start_y = p->y = a[1];
      return add_outline_point(o, p->x, p->y);
    case 'C':
    case 'S': {
      const int k = command == 'C' ? 2 : 0;
      const double control[6] = {k ? a[0] : (cubic ? 2 * p->x - p->control_x : p->x),
                                 k ? a[1] : (cubic ? 2 * p->y - p->control_y : p->y),
                                 a[k],
                                 a[k + 1],
                                 a[k + 2],
                                 a[k + 3]};
      p->control_x = a[k];
      p->control_y = a[k + 1];
      return draw_cubic(o, p, control);
    }
    case 'Q':
      return draw_quadratic(o, p, a[0], a[1], a[2], a[3]);
    case 'A':
      return draw_path_arc(o, p, a);
    case 'T':
      return draw_quadratic(o, p, quadratic ? 2 * p->x - p->control_x : p->x,
                            quadratic ? 2 * p->y - p->control_y : p->y, a[0], a[1]);
    default:
      p->x = command == 'V' ? p->x : a[0];
      p->y = command == 'H' ? p->y : a[command == 'V' ? 0 : 1];
      return add_outline_point(o, p->x, p->y);
  }
}

/* Reads a flag of an arc: 0 or 1; no blank has to follow. */
static int take_flag(cvtm_source *s, double *value) {
  while (s->at < s->size && strchr(" \t\r\n,", s->data[s->at])) ++s->at;
  if (s->at >= s->size || (s->data[s->at] != '0' && s->data[s->at] != '1')) return 0;
  *value = s->data[s->at++] - '0';
  return 1;
}

static cvtm_status read_path(cvtm_source *s, outline *o) {
  pen p = {0};
  char command = 0;
  for (;;) {
    while (s->at < s->size && strchr(" \t\r\n,", s->data[s->at])) ++s->at;
    if (s->at >= s->size) return end_path(o, 0);
    int given = cvtm_is_letter(s->data[s->at]);
    if (given) command = (char)s->data[s->at++];
    const char large = (char)(command & ~32);
    const int relative = command != large;
    if (p.last == 0 && large != 'M') return cvtm_source_fail(s, "a path must begin with M");
    if (large == 'Z' && given) {
      CVTM_TRY(end_path(o, 1));
      p.x = p.start_x;
      p.y = p.start_y;
      p.last = 'Z';
      continue;
    }
    const int wanted = arguments_of(large);
    if (wanted == 0)
      return cvtm_source_fail(s, "path command `%c` is not supported", command ? command : '?');
    double a[7];
    for (int k = 0; k < wanted; ++k) {
      const int is_flag = large == 'A' && (k == 3 || k == 4);
      if (!(is_flag ? take_flag(s, &a[k]) : svg_take_number(s, &a[k])))
        return cvtm_source_fail(s, "path command `%c` needs %d numbers", command, wanted);
      const int vertical = large == 'V' || (large != 'H' && (wanted - k) % 2 == 1);
      if (relative && (large != 'A' || k >= 5)) a[k] += vertical ? p.y : p.x;
    }
    /* After Z a subpath without M begins at the start of the previous one. */
    if (p.last == 'Z' && large != 'M') CVTM_TRY(add_outline_point(o, p.x, p.y));
    CVTM_TRY(run_path_command(o, &p, large, a));
    p.last = large;
    if (large == 'M') command = relative ? 'l' : 'L'; /* further pairs are lines */
  }
}

static cvtm_status read_corner_list(cvtm_source *s, outline *o, int is_line) {
  double x, y;
  while (svg_take_number(s, &x)) {
    if (!svg_take_number(s, &y)) return cvtm_source_fail(s, "a corner needs two numbers");
    CVTM_TRY(add_outline_point(o, x, y));
  }
  while (s->at < s->size && strchr(" \t\r\n", s->data[s->at])) ++s->at;
  if (s->at < s->size) return cvtm_source_fail(s, "expected a number");
  return is_line ? end_line(o) : end_path(o, 1);
}

static cvtm_status read_line(cvtm_source *source, const char **attributes, outline *o) {
  static const char *const names[] = {"x1", "y1", "x2", "y2"};
  double v[4];
  CVTM_TRY(svg_lengths(source, attributes, names, 4, v));
  CVTM_TRY(add_outline_point(o, v[0], v[1]));
  CVTM_TRY(add_outline_point(o, v[2], v[3]));
  return end_line(o);
}

/* Reads a path, a line, a polyline or a polygon; skips other elements. */
static cvtm_status read_lines(cvtm_source *source, const char *name, const char **attributes,
                              outline *o) {
  if (strcmp(name, "line") == 0) return read_line(source, attributes, o);
  const int is_path = strcmp(name, "path") == 0, is_line = strcmp(name, "polyline") == 0;
  const char *value = is_path ? cvtm_xml_attribute(attributes, "d")
                      : is_line || strcmp(name, "polygon") == 0
                          ? cvtm_xml_attribute(attributes, "points")
                          : NULL;
  if (value == NULL) return CVTM_OK;
  cvtm_source s = svg_value(source, value);
  return is_path ? read_path(&s, o) : read_corner_list(&s, o, is_line);
}

/* ---- Closed shapes ---- */

/* Adds an arc, with its first point. */
static cvtm_status add_arc(outline *o, double x, double y, double rx, double ry, double from,
                           double by) {
  const arc whole = {x, y, rx, 0, 0, ry, from, by};
  const cvtm_status status = add_outline_point(o, x + rx * cos(from), y + ry * sin(from));
  return status == CVTM_OK ? draw_arc(o, &whole) : status;
}

static cvtm_status read_ellipse(cvtm_source *source, const char **attributes, outline *o,
                                int is_circle) {
  static const char *const names[] = {"cx", "cy", "rx", "ry", "r"};
  double v[5];
  CVTM_TRY(svg_lengths(source, attributes, names, 5, v));
  const double rx = is_circle ? v[4] : v[2], ry = is_circle ? v[4] : v[3];
  if (!(rx > 0 && ry > 0)) return CVTM_OK; /* an ellipse without area is not drawn */
  cvtm_status status = add_arc(o, v[0], v[1], rx, ry, 0, 2 * CVTM_PI);
  return status == CVTM_OK ? cvtm_ring_close(o->rings) : status;
}

static cvtm_status read_rectangle(cvtm_source *source, const char **attributes, outline *o) {
  static const char *const names[] = {"x", "y", "width", "height", "rx", "ry"};
  double v[6];
  CVTM_TRY(svg_lengths(source, attributes, names, 6, v));
  if (!(v[2] > 0 && v[3] > 0)) return CVTM_OK;
  const int has_rx = cvtm_xml_attribute(attributes, "rx") != NULL;
  const int has_ry = cvtm_xml_attribute(attributes, "ry") != NULL;
  const double rx = fmin(fmax(has_rx ? v[4] : v[5], 0), 0.5 * v[2]);
  const double ry = fmin(fmax(has_ry ? v[5] : v[4], 0), 0.5 * v[3]);
  for (int k = 0; k < 4; ++k) {
    const int right = k == 1 || k == 2, low = k >= 2;
    const double x = v[0] + (right ? v[2] - rx : rx), y = v[1] + (low ? v[3] - ry : ry);
    if (rx == 0 || ry == 0) {
      CVTM_TRY(add_outline_point(o, v[0] + (right ? v[2] : 0), v[1] + (low ? v[3] : 0)));
      continue;
    }
    const double from = (2 + k) * 0.5 * CVTM_PI, to = from + 0.5 * CVTM_PI;
    CVTM_TRY(add_arc(o, x, y, rx, ry, from, to - from));
    CVTM_TRY(add_outline_point(o, x + rx * cos(to), y + ry * sin(to)));
  }
  return cvtm_ring_close(o->rings);
}

/* The name of a shape; NULL: none, or that of a hole (hole, hole-2). */
static const char *name_of_shape(const element *e) {
  const char *name = e->used_as != NULL ? e->used_as : name_of(e->name, e->attributes);
  if (name == NULL || strncmp(name, "hole", 4) != 0) return name;
  return name[4 + strspn(name + 4, "0123456789-_")] == 0 ? NULL : name;
}

/* An svg_visitor: reads an outline. */
static cvtm_status read_outline(void *context, cvtm_source *source, const element *e) {
  outline o = {context, e->transform, NULL, e->is_filled};
  CVTM_TRY(cvtm_ring_begin_shape(o.rings, name_of_shape(e)));
  const int is_circle = strcmp(e->name, "circle") == 0;
  if (is_circle || strcmp(e->name, "ellipse") == 0)
    return read_ellipse(source, e->attributes, &o, is_circle);
  if (strcmp(e->name, "rect") == 0) return read_rectangle(source, e->attributes, &o);
  return read_lines(source, e->name, e->attributes, &o);
}

/* ---- Dots and strokes ---- */

static cvtm_status read_stroke(dot_reader *r, const char *name, const char **attributes,
                               const affine *m) {
  outline o = {NULL, *m, r, 0};
  r->width = r->pen * (m->is_identity ? 1 : sqrt(fabs(m->xx * m->yy - m->xy * m->yx)));
  return r->width > 0 && isfinite(r->width) ? read_lines(r->source, name, attributes, &o) : CVTM_OK;
}

/* An svg_visitor: reads the boxes, the pen, strokes and circles. */
static cvtm_status read_shape(void *context, cvtm_source *source, const element *e) {
  dot_reader *r = context;
  const char *name = e->name, **attributes = e->attributes;
  r->source = source;
  if (strcmp(name, "svg") == 0) {
    read_box(r, source, attributes, "data-picture");
    r->dots.has_picture |= r->dots.box[2] > 0;
    read_box(r, source, attributes, "viewBox");
  }
  r->pen = e->pen;
  return strcmp(name, "circle") == 0 ? read_circle(r, source, attributes, &e->transform)
                                     : read_stroke(r, name, attributes, &e->transform);
}

cvtm_status cvtm_dots_read(const char *path, cvtm_dots *dots, cvtm_error *error) {
  dot_reader r = {0};
  cvtm_status status = svg_walk_file(path, read_shape, &r, error);
  if (status == CVTM_OK && r.dots.count + r.dots.stroke_count == 0)
    status = cvtm_fail(error, CVTM_ERROR_INPUT,
                       "%s: the SVG has neither a circle nor a stroke with a stroke-width", path);
  if (status != CVTM_OK) cvtm_dots_free(&r.dots);
  *dots = r.dots;
  return status;
}

static cvtm_status read_polygons(cvtm_source *source, cvtm_ring_collector *collector) {
  collector->unnamed_cut = 1;
  CVTM_TRY(svg_walk(source, read_outline, collector));
  for (int64_t r = 0; r < collector->rings.ring_count; ++r)
    collector->names_divide |= collector->name[collector->shape[r]] != NULL;
  return CVTM_OK;
}

/* Reads the centres of the circles. */
static cvtm_status read_points(cvtm_source *s, cvtm_point_list *list) {
  dot_reader r = {0};
  cvtm_status status = svg_walk(s, read_shape, &r);
  if (status == CVTM_OK && r.dots.count == 0)
    status = cvtm_fail(s->error, CVTM_ERROR_INPUT, "%s: the SVG has no circle", s->name);
  else if (status == CVTM_OK && r.has_touches && r.dots.stroke_count > 0)
    status = cvtm_fail(s->error, CVTM_ERROR_INPUT,
                       "%s: the SVG has lines beside its touches, which are not read", s->name);
  if (status != CVTM_OK) cvtm_dots_free(&r.dots);
  list->points = r.dots.points;
  list->count = r.dots.count;
  r.dots.points = NULL;
  cvtm_dots_free(&r.dots);
  return status;
}

/* Drawings on a page are written by cvtm_format_svg_drawing. */
const cvtm_format cvtm_format_svg = {.extension = "svg",
                                     .help = "SVG: outlines; circles are points",
                                     .read_points = read_points,
                                     .read_polygons = read_polygons};

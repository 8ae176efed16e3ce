/* Polygons from SVG: paths and polygons, moved by the transforms of their elements. */
#include "base/grow.h"
#include "base/portable.h"
#include "meshes/polygon_rings.h"
#include "meshes/xml.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Chords of a curve stay within this of it, in pixels. */
static const double curve_tolerance = 0.02;

/* ---- Numbers that may follow each other without a blank, as in SVG ---- */

static int at_digit(const cvtm_source *s) {
  return s->at < s->size && s->data[s->at] >= '0' && s->data[s->at] <= '9';
}

static int take_sign(cvtm_source *s) {
  if (s->at >= s->size || (s->data[s->at] != '+' && s->data[s->at] != '-')) return 0;
  ++s->at;
  return 1;
}

/* The next number, after blanks and at most one comma (or semicolon); 0: there is none. */
static int take_number(cvtm_source *s, double *value) {
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

/* ---- Transforms ---- */

/* (x, y) becomes (xx x + xy y + x0, yx x + yy y + y0). */
typedef struct affine {
  double xx, yx, xy, yy, x0, y0; /* in the order of matrix() */
  int is_identity;
} affine;

static const affine identity = {1, 0, 0, 1, 0, 0, 1};

/* The identity leaves every bit as it is. */
static void apply(const affine *m, double *x, double *y) {
  if (m->is_identity) return;
  const double px = *x, py = *y;
  *x = m->xx * px + m->xy * py + m->x0;
  *y = m->yx * px + m->yy * py + m->y0;
}

/* First `inner`, then `outer`. */
static affine compose(const affine *outer, const affine *inner) {
  if (outer->is_identity) return *inner;
  affine m = {outer->xx * inner->xx + outer->xy * inner->yx,
              outer->yx * inner->xx + outer->yy * inner->yx,
              outer->xx * inner->xy + outer->xy * inner->yy,
              outer->yx * inner->xy + outer->yy * inner->yy,
              inner->x0,
              inner->y0,
              0};
  apply(outer, &m.x0, &m.y0);
  return m;
}

typedef enum transform_kind { MATRIX, TRANSLATE, SCALE, ROTATE, SKEW_X, SKEW_Y } transform_kind;

static affine rotation(double degrees, double x, double y) {
  const double c = cos(degrees * CVTM_PI / 180), s = sin(degrees * CVTM_PI / 180);
  return (affine){c, s, -s, c, x - c * x + s * y, y - s * x - c * y, 0};
}

/* `count` arguments a, the others 0; SVG 1.1, section 7.6. */
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

/* A list such as `translate(3 4) rotate(90)`: the last one is applied first. */
static cvtm_status read_transforms(cvtm_source *s, affine *transform) {
  static const struct {
    const char *name;
    int fewest, most; /* arguments: one of both */
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
    while (count < kinds[kind].most && take_number(s, &a[count])) ++count;
    while (s->at < s->size && strchr(" \t\r\n", s->data[s->at])) ++s->at;
    if ((count != kinds[kind].fewest && count != kinds[kind].most) || s->at >= s->size ||
        s->data[s->at] != ')')
      return cvtm_source_fail(s, "the transform `%s` has wrong arguments", kinds[kind].name);
    ++s->at;
    const affine next = make_transform((transform_kind)kind, count, a);
    *transform = compose(transform, &next);
  }
}

/* ---- Paths ---- */

/* The paths of one element. */
typedef struct outline {
  cvtm_ring_collector *rings;
  affine transform;
} outline;

typedef struct pen {
  double x, y;             /* where it is, before the transform */
  double start_x, start_y; /* of the subpath */
  double control_x, control_y;
  char last; /* command, large */
} pen;

static cvtm_status add_point(outline *o, double x, double y) {
  apply(&o->transform, &x, &y);
  return cvtm_ring_add_point(o->rings, x, y);
}

/* A cubic from the pen to its last control point, as chords; their number follows from the second
 * differences. */
static cvtm_status draw_cubic(outline *o, pen *p, const double control[6]) {
  double x[4] = {p->x, control[0], control[2], control[4]};
  double y[4] = {p->y, control[1], control[3], control[5]};
  p->x = x[3];
  p->y = y[3];
  for (int k = 0; k < 4; ++k) apply(&o->transform, &x[k], &y[k]);
  double bend = 0;
  for (int k = 0; k < 2; ++k) {
    bend = fmax(bend, hypot(x[k] - 2 * x[k + 1] + x[k + 2], y[k] - 2 * y[k + 1] + y[k + 2]));
  }
  /* A chord over 1/n of the parameter is off by at most 6 bend / (8 n^2). */
  const double wanted = ceil(sqrt(0.75 * bend / curve_tolerance));
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
    const int end = k == chords;
    const cvtm_status status = cvtm_ring_add_point(o->rings, end ? x[3] : px, end ? y[3] : py);
    if (status != CVTM_OK) return status;
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

static int arguments_of(char command) {
  switch (command) {
    case 'H':
    case 'V':
      return 1;
    case 'M':
    case 'L':
    case 'T':
      return 2;
    case 'S':
    case 'Q':
      return 4;
    case 'C':
      return 6;
    default:
      return 0;
  }
}

/* One command with its absolute arguments a. */
static cvtm_status draw(outline *o, pen *p, char command, const double *a) {
  const int cubic = p->last == 'C' || p->last == 'S', quadratic = p->last == 'Q' || p->last == 'T';
  cvtm_status status = CVTM_OK;
  switch (command) {
    case 'M':
      status = cvtm_ring_close(o->rings);
      p->start_x = p->x = a[0];
      p->start_y = p->y = a[1];
      return status == CVTM_OK ? add_point(o, p->x, p->y) : status;
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
    case 'T':
      return draw_quadratic(o, p, quadratic ? 2 * p->x - p->control_x : p->x,
                            quadratic ? 2 * p->y - p->control_y : p->y, a[0], a[1]);
    default:
      p->x = command == 'V' ? p->x : a[0];
      p->y = command == 'H' ? p->y : a[command == 'V' ? 0 : 1];
      return add_point(o, p->x, p->y);
  }
}

static cvtm_status read_path(cvtm_source *s, outline *o) {
  pen p = {0};
  char command = 0;
  for (;;) {
    while (s->at < s->size && strchr(" \t\r\n,", s->data[s->at])) ++s->at;
    if (s->at >= s->size) return cvtm_ring_close(o->rings);
    int given = cvtm_is_letter(s->data[s->at]);
    if (given) command = (char)s->data[s->at++];
    const char large = (char)(command & ~32);
    const int relative = command != large;
    if (p.last == 0 && large != 'M') return cvtm_source_fail(s, "a path begins with M");
    if (large == 'Z' && given) {
      const cvtm_status closed = cvtm_ring_close(o->rings);
      if (closed != CVTM_OK) return closed;
      p.x = p.start_x;
      p.y = p.start_y;
      p.last = 'Z';
      continue;
    }
    const int wanted = arguments_of(large);
    if (wanted == 0) {
      return cvtm_source_fail(s, "path command `%c` is not supported", command ? command : '?');
    }
    double a[6];
    for (int k = 0; k < wanted; ++k) {
      if (!take_number(s, &a[k])) {
        return cvtm_source_fail(s, "path command `%c` needs %d numbers", command, wanted);
      }
      const int vertical = large == 'V' || (large != 'H' && k % 2 == 1);
      if (relative) a[k] += vertical ? p.y : p.x;
    }
    cvtm_status status = CVTM_OK;
    /* After Z the next subpath may begin without M, where the last one did. */
    if (p.last == 'Z' && large != 'M') status = add_point(o, p.x, p.y);
    if (status == CVTM_OK) status = draw(o, &p, large, a);
    if (status != CVTM_OK) return status;
    p.last = large;
    if (large == 'M') command = relative ? 'l' : 'L'; /* further pairs are lines */
  }
}

static cvtm_status read_corner_list(cvtm_source *s, outline *o) {
  double x, y;
  while (take_number(s, &x)) {
    if (!take_number(s, &y)) return cvtm_source_fail(s, "a corner needs two numbers");
    const cvtm_status status = add_point(o, x, y);
    if (status != CVTM_OK) return status;
  }
  while (s->at < s->size && strchr(" \t\r\n", s->data[s->at])) ++s->at;
  return s->at < s->size ? cvtm_source_fail(s, "expected a number") : cvtm_ring_close(o->rings);
}

/* ---- Elements ---- */

/* An open element with a transform. */
typedef struct level {
  int64_t depth;
  affine transform; /* of its content */
} level;

typedef struct document {
  cvtm_source *source;
  cvtm_ring_collector *rings;
  int64_t depth;      /* of open elements */
  int64_t definition; /* depth of the definition that is being skipped; 0: none */
  level *levels;
  int64_t level_count, level_capacity;
} document;

/* Shapes inside these elements are not drawn where they stand. */
static int is_definition(const char *element) {
  static const char *const names[] = {"defs", "clipPath", "mask", "symbol", "pattern", "marker"};
  for (size_t k = 0; k < sizeof names / sizeof names[0]; ++k)
    if (strcmp(element, names[k]) == 0) return 1;
  return 0;
}

/* An attribute's value as a source of its own, on the line of the element. */
static cvtm_source value_source(const document *d, const char *value) {
  cvtm_source s = *d->source;
  s.data = (const unsigned char *)value;
  s.size = strlen(value);
  s.at = 0;
  return s;
}

static cvtm_status enter_transform(document *d, const char *value, affine *transform) {
  cvtm_source s = value_source(d, value);
  const cvtm_status status = read_transforms(&s, transform);
  if (status != CVTM_OK) return status;
  if (!cvtm_grow(&d->levels, sizeof *d->levels, &d->level_capacity, d->level_count + 1))
    return cvtm_source_no_memory(d->source);
  d->levels[d->level_count++] = (level){d->depth, *transform};
  return CVTM_OK;
}

static cvtm_status start_element(void *context, const char *name, const char **attributes,
                                 int *stop) {
  document *d = context;
  (void)stop;
  ++d->depth;
  if (d->definition > 0) return CVTM_OK;
  if (is_definition(name)) {
    d->definition = d->depth;
    return CVTM_OK;
  }
  outline o = {d->rings, d->level_count > 0 ? d->levels[d->level_count - 1].transform : identity};
  const char *transform = cvtm_xml_attribute(attributes, "transform");
  cvtm_status status = CVTM_OK;
  if (transform != NULL) status = enter_transform(d, transform, &o.transform);
  const int is_path = strcmp(name, "path") == 0, is_polygon = strcmp(name, "polygon") == 0;
  const char *value = is_path      ? cvtm_xml_attribute(attributes, "d")
                      : is_polygon ? cvtm_xml_attribute(attributes, "points")
                                   : NULL;
  if (status != CVTM_OK || value == NULL) return status;
  cvtm_source s = value_source(d, value);
  return is_path ? read_path(&s, &o) : read_corner_list(&s, &o);
}

static cvtm_status end_element(void *context, const char *name) {
  document *d = context;
  (void)name;
  if (d->definition == d->depth) d->definition = 0;
  if (d->level_count > 0 && d->levels[d->level_count - 1].depth == d->depth) --d->level_count;
  --d->depth;
  return CVTM_OK;
}

cvtm_status cvtm_read_polygons_svg(cvtm_source *source, cvtm_ring_collector *collector) {
  static const cvtm_xml_handlers handlers = {start_element, end_element};
  document d = {.source = source, .rings = collector};
  const cvtm_status status = cvtm_xml_parse(source, &handlers, &d);
  free(d.levels);
  return status;
}

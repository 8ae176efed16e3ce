#include "meshes/formats/svg_walk.h"

#include "base/grow.h"
#include "base/portable.h"
#include "meshes/formats/xml.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Numbers that may follow each other without a blank, as in SVG ---- */

static int at_digit(const cvtm_source *s) {
  return s->at < s->size && s->data[s->at] >= '0' && s->data[s->at] <= '9';
}

static int take_sign(cvtm_source *s) {
  if (s->at >= s->size || (s->data[s->at] != '+' && s->data[s->at] != '-')) return 0;
  ++s->at;
  return 1;
}

int cvtm_svg_take_number(cvtm_source *s, double *value) {
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

static const cvtm_affine identity = {1, 0, 0, 1, 0, 0, 1};

void cvtm_affine_apply(const cvtm_affine *m, double *x, double *y) {
  if (m->is_identity) return;
  const double px = *x, py = *y;
  *x = m->xx * px + m->xy * py + m->x0;
  *y = m->yx * px + m->yy * py + m->y0;
}

/* First `inner`, then `outer`. */
static cvtm_affine compose(const cvtm_affine *outer, const cvtm_affine *inner) {
  if (outer->is_identity) return *inner;
  cvtm_affine m = {outer->xx * inner->xx + outer->xy * inner->yx,
                   outer->yx * inner->xx + outer->yy * inner->yx,
                   outer->xx * inner->xy + outer->xy * inner->yy,
                   outer->yx * inner->xy + outer->yy * inner->yy,
                   inner->x0,
                   inner->y0,
                   0};
  cvtm_affine_apply(outer, &m.x0, &m.y0);
  return m;
}

typedef enum transform_kind { MATRIX, TRANSLATE, SCALE, ROTATE, SKEW_X, SKEW_Y } transform_kind;

static cvtm_affine rotation(double degrees, double x, double y) {
  const double c = cos(degrees * CVTM_PI / 180), s = sin(degrees * CVTM_PI / 180);
  return (cvtm_affine){c, s, -s, c, x - c * x + s * y, y - s * x - c * y, 0};
}

/* `count` arguments a, the others 0; SVG 1.1, section 7.6. */
static cvtm_affine make_transform(transform_kind kind, int count, const double a[6]) {
  switch (kind) {
    case MATRIX:
      return (cvtm_affine){a[0], a[1], a[2], a[3], a[4], a[5], 0};
    case TRANSLATE:
      return (cvtm_affine){1, 0, 0, 1, a[0], a[1], 0};
    case SCALE:
      return (cvtm_affine){a[0], 0, 0, count == 1 ? a[0] : a[1], 0, 0, 0};
    case ROTATE:
      return rotation(a[0], a[1], a[2]);
    case SKEW_X:
      return (cvtm_affine){1, 0, tan(a[0] * CVTM_PI / 180), 1, 0, 0, 0};
    default:
      return (cvtm_affine){1, tan(a[0] * CVTM_PI / 180), 0, 1, 0, 0, 0};
  }
}

/* A list such as `translate(3 4) rotate(90)`: the last one is applied first. */
static cvtm_status read_transforms(cvtm_source *s, cvtm_affine *transform) {
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
    while (count < kinds[kind].most && cvtm_svg_take_number(s, &a[count])) ++count;
    while (s->at < s->size && strchr(" \t\r\n", s->data[s->at])) ++s->at;
    if ((count != kinds[kind].fewest && count != kinds[kind].most) || s->at >= s->size ||
        s->data[s->at] != ')')
      return cvtm_source_fail(s, "the transform `%s` has wrong arguments", kinds[kind].name);
    ++s->at;
    const cvtm_affine next = make_transform((transform_kind)kind, count, a);
    *transform = compose(transform, &next);
  }
}

/* ---- Elements ---- */

/* An open element with a transform. */
typedef struct level {
  int64_t depth;
  cvtm_affine transform; /* of its content */
} level;

typedef struct document {
  cvtm_source *source;
  cvtm_svg_visitor visitor;
  void *context;
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

cvtm_source cvtm_svg_value(const cvtm_source *source, const char *value) {
  cvtm_source s = *source;
  s.data = (const unsigned char *)value;
  s.size = strlen(value);
  s.at = 0;
  return s;
}

cvtm_status cvtm_svg_length(cvtm_source *source, const char **attributes, const char *name,
                            double *value) {
  const char *text = cvtm_xml_attribute(attributes, name);
  *value = 0;
  if (text == NULL) return CVTM_OK;
  cvtm_source s = cvtm_svg_value(source, text);
  if (cvtm_svg_take_number(&s, value) && isfinite(*value)) {
    const char *rest = text + s.at;
    rest += strncmp(rest, "px", 2) == 0 ? 2 : 0;
    if (rest[strspn(rest, " \t\r\n")] == '\0') return CVTM_OK;
  }
  return cvtm_source_fail(source, "%s=\"%.40s\" is not a number of pixels", name, text);
}

static cvtm_status enter_transform(document *d, const char *value, cvtm_affine *transform) {
  cvtm_source s = cvtm_svg_value(d->source, value);
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
  cvtm_affine whole = d->level_count > 0 ? d->levels[d->level_count - 1].transform : identity;
  const char *transform = cvtm_xml_attribute(attributes, "transform");
  cvtm_status status = CVTM_OK;
  if (transform != NULL) status = enter_transform(d, transform, &whole);
  return status == CVTM_OK ? d->visitor(d->context, d->source, name, attributes, &whole) : status;
}

static cvtm_status end_element(void *context, const char *name) {
  document *d = context;
  (void)name;
  if (d->definition == d->depth) d->definition = 0;
  if (d->level_count > 0 && d->levels[d->level_count - 1].depth == d->depth) --d->level_count;
  --d->depth;
  return CVTM_OK;
}

cvtm_status cvtm_svg_walk(cvtm_source *source, cvtm_svg_visitor visitor, void *context) {
  static const cvtm_xml_handlers handlers = {start_element, end_element};
  document d = {.source = source, .visitor = visitor, .context = context};
  const cvtm_status status = cvtm_xml_parse(source, &handlers, &d);
  free(d.levels);
  return status;
}

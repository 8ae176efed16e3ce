#include "meshes/polygon_file.h"

#include "base/csv.h"
#include "base/file.h"
#include "base/grow.h"
#include "meshes/crossings.h"
#include "meshes/formats.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Chords of a curve stay within this of it, in pixels. */
static const double curve_tolerance = 0.02;

void cvtm_polygons_free(cvtm_polygons *polygons) {
  free(polygons->start);
  free(polygons->points);
  *polygons = (cvtm_polygons){0};
}

/* Relative to the first point, so that a small ring far from the origin keeps its digits. */
double cvtm_ring_area(const double *points, int64_t count) {
  double twice = 0;
  for (int64_t k = 2; k < count; ++k) {
    const double ax = points[2 * k - 2] - points[0], ay = points[2 * k - 1] - points[1];
    const double bx = points[2 * k] - points[0], by = points[2 * k + 1] - points[1];
    twice += bx * ay - ax * by;
  }
  return 0.5 * twice;
}

/* ---- Collecting rings ---- */

typedef struct collector {
  cvtm_source *source;
  cvtm_polygons rings;
  int64_t ring_capacity, point_capacity;
  int64_t open; /* points of the ring being read, behind the finished ones */
  int64_t read; /* points read, those that were dropped included */
} collector;

static int64_t finished_points(const collector *c) {
  return c->rings.ring_count > 0 ? c->rings.start[c->rings.ring_count] : 0;
}

static cvtm_status add_point(collector *c, double x, double y) {
  if (!(fabs(x) <= 1e9) || !(fabs(y) <= 1e9)) {
    return cvtm_source_fail(c->source, "the point (%g, %g) is no place in an image", x, y);
  }
  const int64_t at = finished_points(c) + c->open;
  if (++c->read > CVTM_POLYGON_CORNERS_MAX) {
    return cvtm_source_fail(c->source,
                            "more than %d corners, counting the chords that curves become",
                            CVTM_POLYGON_CORNERS_MAX);
  }
  if (!cvtm_grow(&c->rings.points, 2 * sizeof *c->rings.points, &c->point_capacity, at + 1))
    return cvtm_source_no_memory(c->source);
  double *p = c->rings.points + 2 * at;
  if (c->open > 0 && p[-2] == x && p[-1] == y) return CVTM_OK;
  p[0] = x;
  p[1] = y;
  ++c->open;
  return CVTM_OK;
}

static int on_one_line(const double *p, int64_t count) {
  for (int64_t k = 2; k < count; ++k) {
    const double *a = p + 2 * (k - 2), *b = a + 2, *c = b + 2;
    if ((b[0] - a[0]) * (c[1] - a[1]) != (b[1] - a[1]) * (c[0] - a[0])) return 0;
  }
  return 1;
}

/* The ring read so far is complete; one without area is dropped. */
static cvtm_status close_ring(collector *c) {
  const int64_t first = finished_points(c);
  const double *p = c->rings.points == NULL ? NULL : c->rings.points + 2 * first;
  int64_t count = c->open;
  c->open = 0;
  while (count > 1 && p[0] == p[2 * count - 2] && p[1] == p[2 * count - 1]) --count;
  if (count < 3 || on_one_line(p, count)) return CVTM_OK;
  if (!cvtm_grow(&c->rings.start, sizeof *c->rings.start, &c->ring_capacity,
                 c->rings.ring_count + 2))
    return cvtm_source_no_memory(c->source);
  c->rings.start[c->rings.ring_count++] = first;
  c->rings.start[c->rings.ring_count] = first + count;
  return CVTM_OK;
}

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

/* ---- CSV ---- */

static int is_letter(unsigned char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }

static int is_header(cvtm_csv_line line) {
  return *line.at == '"' || is_letter((unsigned char)*line.at);
}

static int take_coordinate(cvtm_csv_line *line, double *value) {
  cvtm_csv_field field;
  return cvtm_csv_next_field(line, &field) &&
         cvtm_token_number((cvtm_token){field.text, field.length}, value);
}

/* An empty line ends a ring; a line that holds only a comment does not. */
static cvtm_status read_csv(cvtm_source *s, collector *c) {
  s->at = cvtm_csv_byte_order_mark(s->data, s->size);
  cvtm_status status = CVTM_OK;
  int may_be_header = 1;
  for (; s->at < s->size && status == CVTM_OK; ++s->line) {
    cvtm_csv_line line = cvtm_csv_take_line(s->data, s->size, &s->at);
    double x, y;
    if (line.at == line.end) {
      if (!line.has_comment) status = close_ring(c);
      continue;
    }
    const int header = may_be_header && is_header(line);
    may_be_header = 0;
    if (header) continue;
    if (take_coordinate(&line, &x) && take_coordinate(&line, &y))
      status = add_point(c, x, y);
    else
      status = cvtm_source_fail(s, "a corner needs two numbers");
  }
  return status == CVTM_OK ? close_ring(c) : status;
}

/* ---- SVG ---- */

typedef struct pen {
  double x, y;             /* where it is */
  double start_x, start_y; /* of the subpath */
  double control_x, control_y;
  char last; /* command, large */
} pen;

/* A cubic from the pen, as chords; their number follows from the second differences. */
static cvtm_status draw_cubic(collector *c, pen *p, const double control[6]) {
  const double x[4] = {p->x, control[0], control[2], control[4]};
  const double y[4] = {p->y, control[1], control[3], control[5]};
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
    const cvtm_status status = add_point(c, end ? x[3] : px, end ? y[3] : py);
    if (status != CVTM_OK) return status;
  }
  p->x = x[3];
  p->y = y[3];
  return CVTM_OK;
}

static cvtm_status draw_quadratic(collector *c, pen *p, double qx, double qy, double x, double y) {
  const double control[6] = {p->x + 2 * (qx - p->x) / 3,
                             p->y + 2 * (qy - p->y) / 3,
                             x + 2 * (qx - x) / 3,
                             y + 2 * (qy - y) / 3,
                             x,
                             y};
  p->control_x = qx;
  p->control_y = qy;
  return draw_cubic(c, p, control);
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
static cvtm_status draw(collector *c, pen *p, char command, const double *a) {
  const int cubic = p->last == 'C' || p->last == 'S', quadratic = p->last == 'Q' || p->last == 'T';
  cvtm_status status = CVTM_OK;
  switch (command) {
    case 'M':
      status = close_ring(c);
      p->start_x = p->x = a[0];
      p->start_y = p->y = a[1];
      return status == CVTM_OK ? add_point(c, p->x, p->y) : status;
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
      return draw_cubic(c, p, control);
    }
    case 'Q':
      return draw_quadratic(c, p, a[0], a[1], a[2], a[3]);
    case 'T':
      return draw_quadratic(c, p, quadratic ? 2 * p->x - p->control_x : p->x,
                            quadratic ? 2 * p->y - p->control_y : p->y, a[0], a[1]);
    default:
      p->x = command == 'V' ? p->x : a[0];
      p->y = command == 'H' ? p->y : a[command == 'V' ? 0 : 1];
      return add_point(c, p->x, p->y);
  }
}

static cvtm_status read_path(cvtm_source *s, collector *c) {
  pen p = {0};
  char command = 0;
  for (;;) {
    while (s->at < s->size && strchr(" \t\r\n,", s->data[s->at])) ++s->at;
    if (s->at >= s->size) return close_ring(c);
    int given = is_letter(s->data[s->at]);
    if (given) command = (char)s->data[s->at++];
    const char large = (char)(command & ~32);
    const int relative = command != large;
    if (p.last == 0 && large != 'M') return cvtm_source_fail(s, "a path begins with M");
    if (large == 'Z' && given) {
      const cvtm_status closed = close_ring(c);
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
    if (p.last == 'Z' && large != 'M') status = add_point(c, p.x, p.y);
    if (status == CVTM_OK) status = draw(c, &p, large, a);
    if (status != CVTM_OK) return status;
    p.last = large;
    if (large == 'M') command = relative ? 'l' : 'L'; /* further pairs are lines */
  }
}

static cvtm_status read_corner_list(cvtm_source *s, collector *c) {
  double x, y;
  while (take_number(s, &x)) {
    if (!take_number(s, &y)) return cvtm_source_fail(s, "a corner needs two numbers");
    const cvtm_status status = add_point(c, x, y);
    if (status != CVTM_OK) return status;
  }
  while (s->at < s->size && strchr(" \t\r\n", s->data[s->at])) ++s->at;
  return s->at < s->size ? cvtm_source_fail(s, "expected a number") : close_ring(c);
}

/* Moves behind the next `text`, or to the end. */
static void skip_behind(cvtm_source *s, const char *text) {
  const size_t length = strlen(text);
  while (s->at < s->size) {
    if (s->size - s->at >= length && memcmp(s->data + s->at, text, length) == 0) {
      s->at += length;
      return;
    }
    s->line += s->data[s->at++] == '\n';
  }
}

static cvtm_token take_name(cvtm_source *s) {
  cvtm_token name = {(const char *)s->data + s->at, 0};
  while (s->at < s->size && !strchr(" \t\r\n=/>\"'", s->data[s->at])) ++s->at;
  name.length = (size_t)((const char *)s->data + s->at - name.text);
  return name;
}

static void skip_blanks(cvtm_source *s) {
  while (s->at < s->size && strchr(" \t\r\n", s->data[s->at])) s->line += s->data[s->at++] == '\n';
}

/* What is defined here is drawn elsewhere, if at all. */
static int is_definition(cvtm_token element) {
  return cvtm_token_is(element, "defs") || cvtm_token_is(element, "clipPath") ||
         cvtm_token_is(element, "mask") || cvtm_token_is(element, "symbol") ||
         cvtm_token_is(element, "pattern") || cvtm_token_is(element, "marker");
}

static cvtm_status read_attribute(cvtm_source *value, cvtm_token element, cvtm_token name,
                                  collector *c) {
  if (cvtm_token_is(name, "transform")) {
    return cvtm_source_fail(value, "a transform is not supported; write plain coordinates");
  }
  if (cvtm_token_is(element, "path") && cvtm_token_is(name, "d")) return read_path(value, c);
  if (cvtm_token_is(element, "polygon") && cvtm_token_is(name, "points")) {
    return read_corner_list(value, c);
  }
  return CVTM_OK;
}

static cvtm_status read_element(cvtm_source *s, collector *c) {
  const cvtm_token element = take_name(s);
  for (;;) {
    skip_blanks(s);
    if (s->at >= s->size) return cvtm_source_fail(s, "the file ends inside an element");
    if (s->data[s->at] == '>') {
      char closing[16];
      ++s->at;
      if (!is_definition(element)) return CVTM_OK;
      snprintf(closing, sizeof closing, "</%.*s", (int)element.length, element.text);
      skip_behind(s, closing);
      return CVTM_OK;
    }
    if (s->data[s->at] == '/') {
      ++s->at;
      if (s->at < s->size && s->data[s->at] == '>') return CVTM_OK;
      continue;
    }
    const cvtm_token name = take_name(s);
    skip_blanks(s);
    if (name.length == 0 || s->at >= s->size || s->data[s->at] != '=') {
      return cvtm_source_fail(s, "expected an attribute");
    }
    ++s->at;
    skip_blanks(s);
    const unsigned char quote = s->at < s->size ? s->data[s->at] : 0;
    if (quote != '"' && quote != '\'') return cvtm_source_fail(s, "expected a quoted value");
    ++s->at;
    const unsigned char *end = memchr(s->data + s->at, quote, s->size - s->at);
    if (end == NULL) return cvtm_source_fail(s, "the file ends inside a value");
    cvtm_source value = *s;
    value.size = (size_t)(end - s->data);
    const cvtm_status status = read_attribute(&value, element, name, c);
    if (status != CVTM_OK) return status;
    for (; s->at < value.size; ++s->at) s->line += s->data[s->at] == '\n';
    ++s->at;
  }
}

static cvtm_status read_svg(cvtm_source *s, collector *c) {
  for (;;) {
    skip_behind(s, "<");
    if (s->at >= s->size) return CVTM_OK;
    if (s->size - s->at >= 3 && memcmp(s->data + s->at, "!--", 3) == 0) {
      skip_behind(s, "-->");
    } else if (strchr("!?/", s->data[s->at])) {
      skip_behind(s, ">");
    } else {
      const cvtm_status status = read_element(s, c);
      if (status != CVTM_OK) return status;
    }
  }
}

/* ---- GeoJSON ---- */

static cvtm_status read_json_ring(const cJSON *ring, collector *c) {
  const cJSON *position;
  if (!cJSON_IsArray(ring)) return cvtm_source_fail(c->source, "a ring is no array");
  cJSON_ArrayForEach(position, ring) {
    const cJSON *x = cJSON_IsArray(position) ? position->child : NULL;
    const cJSON *y = x != NULL ? x->next : NULL;
    if (!cJSON_IsNumber(x) || !cJSON_IsNumber(y)) {
      return cvtm_source_fail(c->source, "ring %" PRId64 ": a position needs two numbers",
                              c->rings.ring_count);
    }
    const cvtm_status status = add_point(c, x->valuedouble, y->valuedouble);
    if (status != CVTM_OK) return status;
  }
  return close_ring(c);
}

/* Arrays nested so deep: 1 for rings of a polygon, 2 for polygons. */
static cvtm_status read_json_rings(const cJSON *array, int depth, collector *c) {
  const cJSON *item;
  if (!cJSON_IsArray(array)) return cvtm_source_fail(c->source, "coordinates are no array");
  cJSON_ArrayForEach(item, array) {
    const cvtm_status status =
        depth > 1 ? read_json_rings(item, depth - 1, c) : read_json_ring(item, c);
    if (status != CVTM_OK) return status;
  }
  return CVTM_OK;
}

/* Depth is limited by the parser. */
static cvtm_status read_json_object(const cJSON *object, collector *c) {
  const char *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "type"));
  if (type == NULL) return cvtm_source_fail(c->source, "an object without a type");
  const cJSON *coordinates = cJSON_GetObjectItemCaseSensitive(object, "coordinates");
  if (strcmp(type, "Polygon") == 0) return read_json_rings(coordinates, 1, c);
  if (strcmp(type, "MultiPolygon") == 0) return read_json_rings(coordinates, 2, c);
  if (strcmp(type, "Feature") == 0) {
    const cJSON *geometry = cJSON_GetObjectItemCaseSensitive(object, "geometry");
    return cJSON_IsObject(geometry) ? read_json_object(geometry, c) : CVTM_OK;
  }
  const char *list = strcmp(type, "FeatureCollection") == 0    ? "features"
                     : strcmp(type, "GeometryCollection") == 0 ? "geometries"
                                                               : NULL;
  if (list == NULL) return CVTM_OK; /* points and lines bound nothing */
  const cJSON *item;
  cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(object, list)) {
    const cvtm_status status = read_json_object(item, c);
    if (status != CVTM_OK) return status;
  }
  return CVTM_OK;
}

static cvtm_status read_geojson(cvtm_source *s, collector *c) {
  const char *end = NULL;
  errno = 0;
  cJSON *root = cJSON_ParseWithLengthOpts((const char *)s->data, s->size, &end, 0);
  /* cJSON does not tell; the C library does. */
  if (root == NULL && errno == ENOMEM) return cvtm_source_no_memory(s);
  s->offsets = 1;
  if (root == NULL) {
    s->at = end != NULL ? (size_t)(end - (const char *)s->data) : 0;
    return cvtm_source_fail(s, "this is no JSON");
  }
  const cvtm_status status = read_json_object(root, c);
  cJSON_Delete(root);
  return status;
}

/* ---- What crosses what, and which way round ---- */

static int64_t ring_of(const cvtm_polygons *rings, int64_t point) {
  int64_t low = 0, high = rings->ring_count - 1;
  while (low < high) {
    const int64_t middle = high - (high - low) / 2;
    if (rings->start[middle] <= point) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

static cvtm_status refuse_pair(const cvtm_polygons *rings, const int64_t pair[2], const char *name,
                               cvtm_error *error) {
  const int64_t ring = ring_of(rings, pair[0]), other = ring_of(rings, pair[1]);
  const double *a = rings->points + 2 * pair[0], *b = rings->points + 2 * pair[1];
  if (ring == other) {
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "%s: ring %" PRId64
                     " meets itself: the edges that begin at (%g, %g) and at (%g, %g)",
                     name, ring, a[0], a[1], b[0], b[1]);
  }
  return cvtm_fail(error, CVTM_ERROR_INPUT,
                   "%s: rings %" PRId64 " and %" PRId64
                   " cross: the edges that begin at (%g, %g) and at (%g, %g)",
                   name, ring, other, a[0], a[1], b[0], b[1]);
}

static void reverse(double *points, int64_t count) {
  for (int64_t i = 0, k = count - 1; i < k; ++i, --k) {
    for (int axis = 0; axis < 2; ++axis) {
      const double swap = points[2 * i + axis];
      points[2 * i + axis] = points[2 * k + axis];
      points[2 * k + axis] = swap;
    }
  }
}

static cvtm_status check_rings(cvtm_polygons *rings, const char *name, cvtm_error *error) {
  uint8_t *reversed = malloc((size_t)rings->ring_count);
  if (reversed == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", name);
  int64_t pair[2];
  cvtm_status status =
      cvtm_check_rings(rings->points, rings->start, rings->ring_count, reversed, pair, error);
  if (status == CVTM_OK && pair[0] >= 0) status = refuse_pair(rings, pair, name, error);
  for (int64_t r = 0; r < rings->ring_count && status == CVTM_OK; ++r) {
    const int64_t first = rings->start[r];
    if (reversed[r]) reverse(rings->points + 2 * first, rings->start[r + 1] - first);
  }
  free(reversed);
  return status;
}

/* ---- Reading ---- */

typedef cvtm_status (*reader)(cvtm_source *source, collector *c);

static reader find_reader(const char *extension) {
  if (strcmp(extension, "csv") == 0) return read_csv;
  if (strcmp(extension, "svg") == 0) return read_svg;
  if (strcmp(extension, "json") == 0 || strcmp(extension, "geojson") == 0) return read_geojson;
  return NULL;
}

int cvtm_polygon_format_known(const char *path) {
  char buffer[16];
  return find_reader(cvtm_file_extension(path, buffer, sizeof buffer)) != NULL;
}

cvtm_status cvtm_polygons_read_bytes(const char *extension, const unsigned char *bytes, size_t size,
                                     const char *name, cvtm_polygons *polygons, cvtm_error *error) {
  const reader read = find_reader(extension);
  if (read == NULL) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "%s: unknown polygon format (known: csv, geojson, svg)", name);
  }
  cvtm_source source = {.name = name, .data = bytes, .size = size, .line = 1, .error = error};
  collector c = {.source = &source};
  const cvtm_numeric_locale locale = cvtm_numeric_locale_enter();
  cvtm_status status = read(&source, &c);
  cvtm_numeric_locale_leave(locale);
  if (status == CVTM_OK && c.rings.ring_count == 0) {
    status = cvtm_fail(error, CVTM_ERROR_INPUT, "%s: no polygon with an area", name);
  }
  if (status == CVTM_OK) status = check_rings(&c.rings, name, error);
  if (status != CVTM_OK) {
    cvtm_polygons_free(&c.rings);
    return status;
  }
  *polygons = c.rings;
  return CVTM_OK;
}

cvtm_status cvtm_polygons_read(const char *path, cvtm_polygons *polygons, cvtm_error *error) {
  const size_t limit = (size_t)1 << 31;
  char buffer[16];
  const char *extension = cvtm_file_extension(path, buffer, sizeof buffer);
  unsigned char *bytes;
  size_t size;
  if (find_reader(extension) == NULL) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "%s: unknown polygon format (known: csv, geojson, svg)", path);
  }
  cvtm_status status = cvtm_file_read(path, limit, &bytes, &size, error);
  if (status != CVTM_OK) return status;
  status = cvtm_polygons_read_bytes(extension, bytes, size, path, polygons, error);
  free(bytes);
  return status;
}

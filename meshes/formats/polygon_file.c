#include "meshes/polygon_file.h"

#include "base/csv.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/numeric_locale.h"
#include "meshes/delaunay/crossings.h"
#include "meshes/formats/polygon_rings.h"
#include "meshes/formats/triangle_text.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

void cvtm_ring_collector_free(cvtm_ring_collector *c) {
  cvtm_polygons_free(&c->rings);
  free(c->shape);
  for (int64_t k = 0; k < c->shape_count; ++k) free(c->name[k]);
  free(c->name);
  *c = (cvtm_ring_collector){0};
}

cvtm_status cvtm_ring_begin_shape(cvtm_ring_collector *c, const char *name) {
  char *copy = NULL;
  if (!cvtm_grow(&c->name, sizeof *c->name, &c->name_capacity, c->shape_count + 1))
    return cvtm_source_no_memory(c->source);
  if (name != NULL && *name != 0) {
    const size_t size = strlen(name) + 1;
    copy = malloc(size);
    if (copy == NULL) return cvtm_source_no_memory(c->source);
    memcpy(copy, name, size);
  }
  c->name[c->shape_count++] = copy;
  return CVTM_OK;
}

static int64_t finished_points(const cvtm_ring_collector *c) {
  return c->rings.ring_count > 0 ? c->rings.start[c->rings.ring_count] : 0;
}

cvtm_status cvtm_ring_add_point(cvtm_ring_collector *c, double x, double y) {
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

int cvtm_ring_has_area(const double *points, int64_t count) {
  for (int64_t k = 2; k < count; ++k) {
    const double *a = points + 2 * (k - 2), *b = a + 2, *c = b + 2;
    if ((b[0] - a[0]) * (c[1] - a[1]) != (b[1] - a[1]) * (c[0] - a[0])) return 1;
  }
  return 0;
}

cvtm_status cvtm_ring_close(cvtm_ring_collector *c) {
  const int64_t first = finished_points(c);
  const double *p = c->rings.points == NULL ? NULL : c->rings.points + 2 * first;
  int64_t count = c->open;
  c->open = 0;
  while (count > 1 && p[0] == p[2 * count - 2] && p[1] == p[2 * count - 1]) --count;
  if (!cvtm_ring_has_area(p, count)) return CVTM_OK;
  if (!cvtm_grow(&c->rings.start, sizeof *c->rings.start, &c->ring_capacity,
                 c->rings.ring_count + 2) ||
      !cvtm_grow(&c->shape, sizeof *c->shape, &c->shape_capacity, c->rings.ring_count + 1))
    return cvtm_source_no_memory(c->source);
  c->shape[c->rings.ring_count] = (int32_t)(c->shape_count - 1);
  c->rings.start[c->rings.ring_count++] = first;
  c->rings.start[c->rings.ring_count] = first + count;
  return CVTM_OK;
}

/* ---- CSV ---- */

static int is_header(cvtm_csv_line line) {
  return *line.at == '"' || cvtm_is_letter((unsigned char)*line.at);
}

static int take_coordinate(cvtm_csv_line *line, double *value) {
  cvtm_csv_field field;
  return cvtm_csv_next_field(line, &field) &&
         cvtm_token_number((cvtm_token){field.text, field.length}, value);
}

/* An empty line ends a ring; a line that holds only a comment does not. */
static cvtm_status read_csv(cvtm_source *s, cvtm_ring_collector *c) {
  cvtm_status status = CVTM_OK;
  int may_be_header = 1;
  for (; s->at < s->size && status == CVTM_OK; ++s->line) {
    cvtm_csv_line line = cvtm_csv_take_line(s->data, s->size, &s->at);
    double x, y;
    if (line.at == line.end) {
      if (!line.has_comment) status = cvtm_ring_close(c);
      continue;
    }
    const int header = may_be_header && is_header(line);
    may_be_header = 0;
    if (header) continue;
    if (c->open == 0) status = cvtm_ring_begin_shape(c, NULL);
    if (status != CVTM_OK) break;
    if (take_coordinate(&line, &x) && take_coordinate(&line, &y))
      status = cvtm_ring_add_point(c, x, y);
    else
      status = cvtm_source_fail(s, "a corner needs two numbers");
  }
  return status == CVTM_OK ? cvtm_ring_close(c) : status;
}

/* ---- GeoJSON ---- */

static cvtm_status read_json_ring(const cJSON *ring, cvtm_ring_collector *c) {
  const cJSON *position;
  if (!cJSON_IsArray(ring)) return cvtm_source_fail(c->source, "a ring is no array");
  cJSON_ArrayForEach(position, ring) {
    const cJSON *x = cJSON_IsArray(position) ? position->child : NULL;
    const cJSON *y = x != NULL ? x->next : NULL;
    if (!cJSON_IsNumber(x) || !cJSON_IsNumber(y)) {
      return cvtm_source_fail(c->source, "ring %" PRId64 ": a position needs two numbers",
                              c->rings.ring_count);
    }
    const cvtm_status status = cvtm_ring_add_point(c, x->valuedouble, y->valuedouble);
    if (status != CVTM_OK) return status;
  }
  return cvtm_ring_close(c);
}

/* Arrays nested so deep: 1 for rings of a polygon, 2 for polygons. */
static cvtm_status read_json_rings(const cJSON *array, int depth, cvtm_ring_collector *c) {
  const cJSON *item;
  if (!cJSON_IsArray(array)) return cvtm_source_fail(c->source, "coordinates are no array");
  cJSON_ArrayForEach(item, array) {
    const cvtm_status status =
        depth > 1 ? read_json_rings(item, depth - 1, c) : read_json_ring(item, c);
    if (status != CVTM_OK) return status;
  }
  return CVTM_OK;
}

/* The name of a feature: a property, or its id. NULL: none. number: space for one. */
static const char *name_of_feature(const cJSON *feature, char number[32]) {
  static const char *const keys[] = {"name", "material", "label", "region", "class"};
  enum { KEYS = sizeof keys / sizeof keys[0] };
  const cJSON *properties = cJSON_GetObjectItemCaseSensitive(feature, "properties");
  for (int k = 0; k <= KEYS; ++k) {
    const cJSON *value = k < KEYS ? cJSON_GetObjectItem(properties, keys[k])
                                  : cJSON_GetObjectItemCaseSensitive(feature, "id");
    if (cJSON_IsString(value) && *value->valuestring != 0) return value->valuestring;
    if (!cJSON_IsNumber(value)) continue;
    snprintf(number, 32, "%.9g", value->valuedouble);
    return number;
  }
  return NULL;
}

static cvtm_status begin_feature(const cJSON *feature, cvtm_ring_collector *c) {
  char number[32];
  const char *name = name_of_feature(feature, number);
  if (name != NULL) c->names_divide = 1;
  return cvtm_ring_begin_shape(c, name);
}

/* Depth is limited by the parser. in_feature: the geometry's shape has begun. */
static cvtm_status read_json_object(const cJSON *object, int in_feature, cvtm_ring_collector *c) {
  const char *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "type"));
  if (type == NULL) return cvtm_source_fail(c->source, "an object without a type");
  const cJSON *coordinates = cJSON_GetObjectItemCaseSensitive(object, "coordinates");
  const int depth = strcmp(type, "Polygon") == 0 ? 1 : strcmp(type, "MultiPolygon") == 0 ? 2 : 0;
  if (depth > 0) {
    const cvtm_status status = in_feature ? CVTM_OK : cvtm_ring_begin_shape(c, NULL);
    return status == CVTM_OK ? read_json_rings(coordinates, depth, c) : status;
  }
  if (strcmp(type, "Feature") == 0) {
    const cJSON *geometry = cJSON_GetObjectItemCaseSensitive(object, "geometry");
    if (!cJSON_IsObject(geometry)) return CVTM_OK;
    const cvtm_status status = begin_feature(object, c);
    return status == CVTM_OK ? read_json_object(geometry, 1, c) : status;
  }
  const char *list = strcmp(type, "FeatureCollection") == 0    ? "features"
                     : strcmp(type, "GeometryCollection") == 0 ? "geometries"
                                                               : NULL;
  if (list == NULL) return CVTM_OK; /* points and lines bound nothing */
  const cJSON *item;
  cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(object, list)) {
    const cvtm_status status = read_json_object(item, in_feature, c);
    if (status != CVTM_OK) return status;
  }
  return CVTM_OK;
}

static cvtm_status read_geojson(cvtm_source *s, cvtm_ring_collector *c) {
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
  const cvtm_status status = read_json_object(root, 0, c);
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

void cvtm_polygons_turn(cvtm_polygons *polygons, int height) {
  if (!polygons->y_up) return;
  for (int64_t r = 0; r < polygons->ring_count; ++r) {
    const int64_t first = polygons->start[r], end = polygons->start[r + 1];
    for (int64_t k = first; k < end; ++k)
      polygons->points[2 * k + 1] = height - polygons->points[2 * k + 1];
    reverse(polygons->points + 2 * first, end - first);
  }
  polygons->y_up = 0;
}

cvtm_status cvtm_rings_refuse_crossings(const cvtm_polygons *rings, const char *name,
                                        cvtm_error *error) {
  const double depth = 32; /* grid steps; joining moves an edge by fewer */
  int64_t pair[2];
  const cvtm_status status =
      cvtm_find_deep_crossing(rings->points, rings->start, rings->ring_count, depth, pair, error);
  return status == CVTM_OK && pair[0] >= 0 ? refuse_pair(rings, pair, name, error) : status;
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

typedef cvtm_status (*reader)(cvtm_source *source, cvtm_ring_collector *c);

static reader find_reader(const char *extension) {
  if (strcmp(extension, "csv") == 0) return read_csv;
  if (strcmp(extension, "svg") == 0) return cvtm_read_polygons_svg;
  if (strcmp(extension, "json") == 0 || strcmp(extension, "geojson") == 0) return read_geojson;
  return strcmp(extension, "poly") == 0 ? cvtm_read_polygons_poly : NULL;
}

int cvtm_polygon_format_known(const char *path) {
  char buffer[16];
  return find_reader(cvtm_file_extension(path, buffer, sizeof buffer)) != NULL;
}

cvtm_status cvtm_rings_read(const char *extension, cvtm_source *source, cvtm_ring_collector *c) {
  const reader read = find_reader(extension);
  *c = (cvtm_ring_collector){.source = source};
  if (read == NULL) {
    return cvtm_fail(source->error, CVTM_ERROR_ARGUMENT,
                     "%s: unknown polygon format (known: csv, geojson, svg, poly)", source->name);
  }
  const cvtm_numeric_locale locale = cvtm_numeric_locale_enter();
  const cvtm_status status = read(source, c);
  cvtm_numeric_locale_leave(locale);
  return status;
}

cvtm_status cvtm_polygons_read_bytes(const char *extension, const unsigned char *bytes, size_t size,
                                     const char *name, cvtm_polygons *polygons, cvtm_error *error) {
  cvtm_source source = cvtm_source_open(name, bytes, size, error);
  cvtm_ring_collector c;
  cvtm_status status = cvtm_rings_read(extension, &source, &c);
  if (status == CVTM_OK) status = cvtm_rings_refuse_crossings(&c.rings, name, error);
  if (status == CVTM_OK) status = cvtm_rings_join(&c.rings, error);
  if (status == CVTM_OK && c.rings.ring_count == 0) {
    status = cvtm_fail(error, CVTM_ERROR_INPUT, "%s: no polygon with an area", name);
  }
  if (status == CVTM_OK) status = check_rings(&c.rings, name, error);
  if (status == CVTM_OK) {
    *polygons = c.rings;
    polygons->y_up = strcmp(extension, "poly") == 0;
    c.rings = (cvtm_polygons){0};
  }
  cvtm_ring_collector_free(&c);
  return status;
}

cvtm_status cvtm_polygons_load(const char *path, unsigned char **bytes, size_t *size,
                               cvtm_error *error) {
  const size_t limit = (size_t)1 << 31;
  char buffer[16];
  const char *extension = cvtm_file_extension(path, buffer, sizeof buffer);
  if (find_reader(extension) == NULL) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "%s: unknown polygon format (known: csv, geojson, svg, poly)", path);
  }
  return strcmp(extension, "poly") == 0 ? cvtm_triangle_load_poly(path, bytes, size, error)
                                        : cvtm_file_read(path, limit, bytes, size, error);
}

cvtm_status cvtm_polygons_read(const char *path, cvtm_polygons *polygons, cvtm_error *error) {
  char buffer[16];
  unsigned char *bytes;
  size_t size;
  cvtm_status status = cvtm_polygons_load(path, &bytes, &size, error);
  if (status != CVTM_OK) return status;
  status = cvtm_polygons_read_bytes(cvtm_file_extension(path, buffer, sizeof buffer), bytes, size,
                                    path, polygons, error);
  free(bytes);
  return status;
}

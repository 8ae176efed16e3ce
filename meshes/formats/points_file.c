#include "meshes/mesh_file.h"

#include "base/text.h"
#include "base/file.h"
#include "base/host.h"
#include "base/npy.h"
#include "meshes/formats/formats.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum format { UNKNOWN, CSV, XYZ, NPY, NODE, SVG } format;
static const char *const extensions[] = {"", "csv", "xyz", "npy", "node", "svg"};

static format name_format(const char *extension) {
  for (int f = CSV; f <= SVG; ++f)
    if (strcmp(extension, extensions[f]) == 0) return (format)f;
  return UNKNOWN;
}

static format find_format(const char *path) {
  char buffer[8];
  if (strcmp(path, "-") == 0) return CSV;
  return name_format(cvtm_file_extension(path, buffer, sizeof buffer));
}

static cvtm_status fail_unknown(const char *name, cvtm_error *error) {
  return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                   "%s: unknown point format (known: csv, npy, xyz; node and svg to read)", name);
}

int cvtm_points_format_known(const char *path) { return find_format(path) != UNKNOWN; }

cvtm_status cvtm_points_write(const char *path, const double *points, int64_t count,
                              cvtm_error *error) {
  return cvtm_points_write_as(extensions[find_format(path)], path, points, count, error);
}

static char *csv_line(char *to, const void *context, int64_t i) {
  return cvtm_text_word(cvtm_text_point(to, ',', (const double *)context + 2 * i), "\n");
}

static char *xyz_line(char *to, const void *context, int64_t i) {
  return cvtm_text_word(cvtm_text_point(to, ' ', (const double *)context + 2 * i), " 0\n");
}

static const int64_t MOST_POINTS =
    INT64_MAX / 24; /* so that their size in bytes does not overflow */

cvtm_status cvtm_points_write_as(const char *extension, const char *path, const double *points,
                                 int64_t count, cvtm_error *error) {
  const format f = name_format(extension);
  if (f == UNKNOWN || f == NODE || f == SVG) return fail_unknown(path, error);
  if (count < 0 || count > MOST_POINTS)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%s: %" PRId64 " points", path, count);
  if (f == NPY) {
    const int64_t shape[2] = {count, 2};
    return cvtm_npy_write(path, 'f', 8, 2, shape, points, error);
  }
  cvtm_output *output;
  cvtm_status status = cvtm_output_open(path, &output, error);
  if (status != CVTM_OK) return status;
  FILE *file = cvtm_output_stream(output);
  if (f == CSV) fputs("x,y\n", file);
  cvtm_write_items(file, count, CVTM_TEXT_POINT + 3, f == CSV ? csv_line : xyz_line, points);
  return cvtm_output_commit(output, error);
}

/* ---- points of several classes ---- */

/* Points sorted by class: those of class k are start[k] .. start[k + 1] - 1. */
typedef struct classed_points {
  const double *points;
  const int64_t *start;
  int classes;
} classed_points;

static int class_of(const classed_points *c, int64_t i) {
  int k = 0;
  while (k + 1 < c->classes && i >= c->start[k + 1]) ++k;
  return k + 1;
}

static char *classed_line(char *to, const void *context, int64_t i) {
  const classed_points *c = context;
  to = cvtm_text_word(cvtm_text_point(to, ',', c->points + 2 * i), ",");
  return cvtm_text_word(cvtm_text_integer(to, class_of(c, i)), "\n");
}

static cvtm_status write_classed_npy(const char *path, const classed_points *c, cvtm_error *error) {
  const int64_t count = c->start[c->classes], shape[2] = {count, 3};
  double *rows = malloc((3 * (size_t)count + 1) * sizeof *rows);
  if (rows == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path);
  for (int64_t i = 0; i < count; ++i) {
    memcpy(rows + 3 * i, c->points + 2 * i, 2 * sizeof *rows);
    rows[3 * i + 2] = class_of(c, i);
  }
  const cvtm_status status = cvtm_npy_write(path, 'f', 8, 2, shape, rows, error);
  free(rows);
  return status;
}

cvtm_status cvtm_points_write_classes(const char *extension, const char *path, const double *points,
                                      const int64_t *start, int classes, cvtm_error *error) {
  const format f = name_format(extension);
  const classed_points c = {points, start, classes};
  if (f != CSV && f != NPY)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "%s: points of several classes can be written only as csv or npy", path);
  if (classes < 1 || start[0] != 0)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%s: the number of classes is %d", path, classes);
  for (int k = 0; k < classes; ++k)
    if (start[k + 1] < start[k] || start[k + 1] > MOST_POINTS)
      return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%s: class %d ends at point %" PRId64, path,
                       k + 1, start[k + 1]);
  if (f == NPY) return write_classed_npy(path, &c, error);
  cvtm_output *output;
  cvtm_status status = cvtm_output_open(path, &output, error);
  if (status != CVTM_OK) return status;
  FILE *file = cvtm_output_stream(output);
  fputs("x,y,class\n", file);
  cvtm_write_items(file, start[classes], CVTM_TEXT_POINT + CVTM_TEXT_INTEGER + 3, classed_line, &c);
  return cvtm_output_commit(output, error);
}

/* ---- reading ---- */

typedef struct table {
  cvtm_source *source;
  int x_column, y_column, class_column; /* class_column is -1 where the file has no such column */
  int wants_class;
  int64_t announced; /* number of points in the first line of an XYZ file; -1: none */
  double *points;
  int32_t *class; /* NULL without that column */
  int64_t count, capacity, class_capacity;
} table;

static cvtm_token token_of(cvtm_csv_field field) { return (cvtm_token){field.text, field.length}; }

static int is_column(cvtm_csv_field field, char name) {
  if (field.length == 3 && (field.text[0] == '"' || field.text[0] == '\'') &&
      field.text[2] == field.text[0]) {
    ++field.text;
    field.length = 1;
  }
  return field.length == 1 && (field.text[0] | 32) == name;
}

static int is_class_column(cvtm_csv_field field) {
  return field.length == 5 && memcmp(field.text, "class", 5) == 0;
}

/* Finds the columns x and y in a header; without these names they are the first two. */
static void read_column_names(table *t, cvtm_csv_line line) {
  int x = -1, y = -1, column = 0;
  cvtm_csv_field field;
  for (; cvtm_csv_next_field(&line, &field); ++column) {
    if (x < 0 && is_column(field, 'x')) x = column;
    if (y < 0 && is_column(field, 'y')) y = column;
    if (t->wants_class && t->class_column < 0 && is_class_column(field)) t->class_column = column;
  }
  if (x < 0 || y < 0) return;
  t->x_column = x;
  t->y_column = y;
}

static cvtm_status add_table_point(table *t, double x, double y) {
  if (!isfinite(x) || !isfinite(y)) return cvtm_source_fail(t->source, "a point is not finite");
  if (!cvtm_grow(&t->points, 2 * sizeof *t->points, &t->capacity, t->count + 1))
    return cvtm_source_no_memory(t->source);
  t->points[2 * t->count] = x;
  t->points[2 * t->count + 1] = y;
  ++t->count;
  return CVTM_OK;
}

/* Reads the class of the next point. A column with other values than integers is not a column of
 * classes. */
static cvtm_status read_class(table *t, cvtm_csv_line line) {
  double value = 0;
  cvtm_csv_field field;
  int column = 0, found = 0;
  while (!found && cvtm_csv_next_field(&line, &field)) found = column++ == t->class_column;
  if (!found || !cvtm_token_number(token_of(field), &value) || value != floor(value) ||
      !(value >= 0 && value <= INT32_MAX)) {
    t->class_column = -1;
    return CVTM_OK;
  }
  if (!cvtm_grow(&t->class, sizeof *t->class, &t->class_capacity, t->count + 1))
    return cvtm_source_no_memory(t->source);
  t->class[t->count] = (int32_t)value;
  return CVTM_OK;
}

static cvtm_status read_point(table *t, cvtm_csv_line line) {
  double x = 0, y = 0;
  int found = 0;
  cvtm_csv_field field;
  for (int column = 0; found < 2 && cvtm_csv_next_field(&line, &field); ++column) {
    if (column != t->x_column && column != t->y_column) continue;
    if (!cvtm_token_number(token_of(field), column == t->x_column ? &x : &y)) {
      return cvtm_source_fail(t->source, "expected a number in column %d", column + 1);
    }
    ++found;
  }
  if (found < 2) return cvtm_source_fail(t->source, "a point needs two numbers");
  return add_table_point(t, x, y);
}

/* Nonzero if the first non-empty line is not a point. */
static int is_special(table *t, cvtm_csv_line line, format f) {
  cvtm_csv_field first, second;
  double value;
  cvtm_csv_line rest = line;
  if (!cvtm_csv_next_field(&rest, &first)) return 0;
  int number = cvtm_token_number(token_of(first), &value);
  /* Text that looks like a number (`1,5` next to a semicolon) is an error, not a title. */
  int resembles = first.length > 0 && memchr("0123456789+-.", first.text[0], 13) != NULL;
  if (f == CSV && !number && !resembles) {
    read_column_names(t, line);
    return 1;
  }
  if (f == XYZ && number && !cvtm_csv_next_field(&rest, &second) && value >= 0 && value < 0x1p52 &&
      value == floor(value)) {
    t->announced = (int64_t)value;
    return 1;
  }
  return 0;
}

static cvtm_status read_table(cvtm_source *s, format f, table *t) {
  int first = 1;
  for (; s->at < s->size; ++s->line) {
    cvtm_csv_line line = cvtm_csv_take_line(s->data, s->size, &s->at);
    if (line.at == line.end) continue;
    int special = first && is_special(t, line, f);
    first = 0;
    if (special) continue;
    cvtm_status status = t->class_column >= 0 ? read_class(t, line) : CVTM_OK;
    if (status == CVTM_OK) status = read_point(t, line);
    if (status != CVTM_OK) return status;
  }
  if (t->announced >= 0 && t->announced != t->count) {
    return cvtm_source_fail(s, "%" PRId64 " points are announced but %" PRId64 " follow",
                            t->announced, t->count);
  }
  return CVTM_OK;
}

/* classes: NULL if they are not wanted. */
static cvtm_status read_text(const char *name, format f, const unsigned char *bytes, size_t size,
                             double **points, int32_t **classes, int64_t *count,
                             cvtm_error *error) {
  cvtm_source source = cvtm_source_open(name, bytes, size, error);
  table t = {.source = &source,
             .y_column = 1,
             .class_column = -1,
             .wants_class = classes != NULL,
             .announced = -1};
  cvtm_status status = read_table(&source, f, &t);
  if (status == CVTM_OK && t.count == 0) {
    status = cvtm_fail(error, CVTM_ERROR_INPUT, "%s: no points", name);
  }
  if (status != CVTM_OK || t.class_column < 0) {
    free(t.class);
    t.class = NULL;
  }
  if (status != CVTM_OK) {
    free(t.points);
    return status;
  }
  *points = t.points;
  if (classes != NULL) *classes = t.class;
  *count = t.count;
  return CVTM_OK;
}

/* y is up in .node files, as in those of meshes. */
static cvtm_status read_nodes(const char *name, const unsigned char *bytes, size_t size,
                              double **points, int64_t *count, cvtm_error *error) {
  cvtm_source source = cvtm_source_open(name, bytes, size, error);
  cvtm_triangle_vertices found;
  const cvtm_status status = cvtm_triangle_read_vertices(&source, &found);
  if (status != CVTM_OK) return status;
  if (found.count == 0) {
    free(found.points);
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: no points", name);
  }
  double top = found.points[1];
  for (int64_t k = 1; k < found.count; ++k) top = fmax(top, found.points[2 * k + 1]);
  for (int64_t k = 0; k < found.count; ++k) found.points[2 * k + 1] = top - found.points[2 * k + 1];
  *points = found.points;
  *count = found.count;
  return CVTM_OK;
}

static cvtm_status convert_array(const cvtm_npy *array, const char *name, double **points,
                                 int64_t *count, cvtm_error *error) {
  if (array->dimensions != 2 || array->shape[1] < 2) {
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: points need an array of shape n x 2", name);
  }
  int64_t n = array->shape[0], columns = array->shape[1];
  if (n == 0) return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: no points", name);
  double *p = malloc((size_t)n * 2 * sizeof *p);
  if (p == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", name);
  for (int64_t i = 0; i < n; ++i) {
    for (int k = 0; k < 2; ++k) p[2 * i + k] = cvtm_npy_get(array, i * columns + k);
    if (isfinite(p[2 * i]) && isfinite(p[2 * i + 1])) continue;
    free(p);
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: row %" PRId64 ": a point is not finite", name,
                     i);
  }
  *points = p;
  *count = n;
  return CVTM_OK;
}

static cvtm_status read_circles(const char *name, const unsigned char *bytes, size_t size,
                                double **points, int64_t *count, cvtm_error *error) {
  cvtm_dots dots;
  const cvtm_status status = cvtm_dots_read_bytes(bytes, size, name, &dots, error);
  if (status != CVTM_OK) return status;
  *points = dots.points;
  *count = dots.count;
  dots.points = NULL;
  cvtm_dots_free(&dots);
  return CVTM_OK;
}

cvtm_status cvtm_points_read_bytes(const char *extension, const unsigned char *bytes, size_t size,
                                   const char *name, double **points, int32_t **classes,
                                   int64_t *count, cvtm_error *error) {
  const format f = name_format(extension);
  *points = NULL;
  if (classes != NULL) *classes = NULL;
  *count = 0;
  if (f == UNKNOWN) return fail_unknown(name, error);
  if (f == SVG) return read_circles(name, bytes, size, points, count, error);
  if (f == NODE) return read_nodes(name, bytes, size, points, count, error);
  if (f != NPY) return read_text(name, f, bytes, size, points, classes, count, error);
  cvtm_npy array;
  cvtm_status status = cvtm_npy_parse(bytes, size, name, &array, error);
  if (status != CVTM_OK) return status;
  status = convert_array(&array, name, points, count, error);
  cvtm_npy_free(&array);
  return status;
}

/* classes: NULL if they are not wanted. */
static cvtm_status read_file(const char *path, double **points, int32_t **classes, int64_t *count,
                             cvtm_error *error) {
  const size_t limit = (size_t)1 << 36;
  *points = NULL;
  *count = 0;
  format f = find_format(path);
  if (f == UNKNOWN) return fail_unknown(path, error);
  unsigned char *bytes;
  size_t size;
  cvtm_status status = cvtm_file_read(path, limit, &bytes, &size, error);
  if (status != CVTM_OK) return status;
  const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
  status = cvtm_points_read_bytes(extensions[f], bytes, size, name, points, classes, count, error);
  free(bytes);
  return status;
}

cvtm_status cvtm_points_read(const char *path, double **points, int64_t *count, cvtm_error *error) {
  return read_file(path, points, NULL, count, error);
}

cvtm_status cvtm_points_open(const cvtm_input *source, double **points, int64_t *count,
                             cvtm_error *error) {
  if (source->array == NULL) return cvtm_points_read(source->name, points, count, error);
  cvtm_npy array;
  *points = NULL;
  *count = 0;
  const cvtm_status status = cvtm_npy_open(source, &array, error);
  return status == CVTM_OK ? convert_array(&array, source->name, points, count, error) : status;
}

cvtm_status cvtm_points_read_classes(const char *path, double **points, int32_t **classes,
                                     int64_t *count, cvtm_error *error) {
  *classes = NULL;
  return read_file(path, points, classes, count, error);
}

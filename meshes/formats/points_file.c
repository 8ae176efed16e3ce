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

static const char *extension_of(const char *path, char buffer[16]) {
  return strcmp(path, "-") == 0 ? "csv" : cvtm_file_extension(path, buffer, 16);
}

int cvtm_points_format_known(const char *path) {
  char buffer[16];
  return cvtm_format_find(cvtm_formats, extension_of(path, buffer), CVTM_READS_POINTS) != NULL;
}

/* ---- writing ---- */

/* The number of the point's class, from 1. */
static int class_of(const cvtm_point_set *set, int64_t i) {
  int k = 0;
  while (k + 1 < set->classes && i >= set->start[k + 1]) ++k;
  return k + 1;
}

static char *csv_line(char *to, const void *context, int64_t i) {
  const cvtm_point_set *set = context;
  to = cvtm_text_point(to, ',', set->points + 2 * i);
  if (set->start != NULL) to = cvtm_text_integer(cvtm_text_word(to, ","), class_of(set, i));
  if (set->id != NULL) to = cvtm_text_integer(cvtm_text_word(to, ","), set->id[i]);
  return cvtm_text_word(to, "\n");
}

static char *xyz_line(char *to, const void *context, int64_t i) {
  const cvtm_point_set *set = context;
  return cvtm_text_word(cvtm_text_point(to, ' ', set->points + 2 * i), " 0\n");
}

static cvtm_status write_lines(const char *path, const char *title, cvtm_item_writer line,
                               const cvtm_point_set *set, cvtm_error *error) {
  cvtm_output *output;
  CVTM_TRY(cvtm_output_open(path, &output, error));
  FILE *file = cvtm_output_stream(output);
  fputs(title, file);
  cvtm_write_items(file, set->count, CVTM_TEXT_POINT + CVTM_TEXT_INTEGER + 3, line, set);
  return cvtm_output_commit(output, error);
}

static cvtm_status write_csv(const char *path, const cvtm_point_set *set, cvtm_error *error) {
  const char *title = set->start != NULL ? "x,y,class\n" : set->id != NULL ? "x,y,id\n" : "x,y\n";
  return write_lines(path, title, csv_line, set, error);
}

static cvtm_status write_xyz(const char *path, const cvtm_point_set *set, cvtm_error *error) {
  return write_lines(path, "", xyz_line, set, error);
}

static cvtm_status write_npy(const char *path, const cvtm_point_set *set, cvtm_error *error) {
  const int columns = set->start != NULL || set->id != NULL ? 3 : 2;
  const int64_t shape[2] = {set->count, columns};
  if (columns == 2) return cvtm_npy_write(path, 'f', 8, 2, shape, set->points, error);
  double *rows = malloc((3 * (size_t)set->count + 1) * sizeof *rows);
  if (rows == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path);
  for (int64_t i = 0; i < set->count; ++i) {
    memcpy(rows + 3 * i, set->points + 2 * i, 2 * sizeof *rows);
    rows[3 * i + 2] = set->id != NULL ? (double)set->id[i] : class_of(set, i);
  }
  const cvtm_status status = cvtm_npy_write(path, 'f', 8, 2, shape, rows, error);
  free(rows);
  return status;
}

static const int64_t MOST_POINTS = INT64_MAX / 24; /* so that the size in bytes does not overflow */

cvtm_status cvtm_points_write_as(const char *extension, const char *path, const double *points,
                                 int64_t count, cvtm_error *error) {
  return cvtm_points_write_ids(extension, path, points, NULL, count, error);
}

cvtm_status cvtm_points_write_ids(const char *extension, const char *path, const double *points,
                                  const int64_t *id, int64_t count, cvtm_error *error) {
  const cvtm_format *f = cvtm_format_find(cvtm_formats, extension, CVTM_WRITES_POINTS);
  const cvtm_point_set set = {.points = points, .count = count, .id = id};
  if (f == NULL) return cvtm_format_unknown(path, "point", CVTM_WRITES_POINTS, error);
  if (count < 0 || count > MOST_POINTS)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%s: %" PRId64 " points", path, count);
  return f->write_points(path, &set, error);
}

cvtm_status cvtm_points_write(const char *path, const double *points, int64_t count,
                              cvtm_error *error) {
  char buffer[16];
  return cvtm_points_write_as(extension_of(path, buffer), path, points, count, error);
}

cvtm_status cvtm_points_write_classes(const char *extension, const char *path, const double *points,
                                      const int64_t *start, int classes, cvtm_error *error) {
  const unsigned bits = CVTM_WRITES_POINTS | CVTM_HOLDS_CLASSES;
  const cvtm_format *f = cvtm_format_find(cvtm_formats, extension, bits);
  char known[CVTM_FORMAT_NAMES];
  if (f == NULL)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "%s: points of several classes can be written only as %s", path,
                     cvtm_format_names(cvtm_formats, bits, " or ", known, sizeof known));
  if (classes < 1 || start[0] != 0)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%s: the number of classes is %d", path, classes);
  for (int k = 0; k < classes; ++k)
    if (start[k + 1] < start[k] || start[k + 1] > MOST_POINTS)
      return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%s: class %d ends at point %" PRId64, path,
                       k + 1, start[k + 1]);
  const cvtm_point_set set = {points, start[classes], start, classes, NULL};
  return f->write_points(path, &set, error);
}

/* ---- reading ---- */

typedef struct table {
  cvtm_source *source;
  int x_column, y_column, class_column; /* class_column is -1 if the file has no such column */
  int wants_class;
  int64_t announced; /* number of points in the first line of an XYZ file; -1: none */
  double *points;
  int32_t *class; /* NULL without class_column */
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

/* Finds the columns x and y in a header; without such names, x and y are the first two columns. */
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

/* Reads the class of the next point. A column with values other than integers has no classes. */
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
    if (!cvtm_token_number(token_of(field), column == t->x_column ? &x : &y))
      return cvtm_source_fail(t->source, "expected a number in column %d", column + 1);
    ++found;
  }
  if (found < 2) return cvtm_source_fail(t->source, "a point needs two numbers");
  return add_table_point(t, x, y);
}

/* Nonzero if the first non-empty line is not a point. */
static int is_special(table *t, cvtm_csv_line line, int is_xyz) {
  cvtm_csv_field first, second;
  double value;
  cvtm_csv_line rest = line;
  if (!cvtm_csv_next_field(&rest, &first)) return 0;
  int number = cvtm_token_number(token_of(first), &value);
  /* Text that looks like a number (`1,5` next to a semicolon) is an error, not a title. */
  int resembles = first.length > 0 && memchr("0123456789+-.", first.text[0], 13) != NULL;
  if (!is_xyz && !number && !resembles) {
    read_column_names(t, line);
    return 1;
  }
  if (is_xyz && number && !cvtm_csv_next_field(&rest, &second) && value >= 0 && value < 0x1p52 &&
      value == floor(value)) {
    t->announced = (int64_t)value;
    return 1;
  }
  return 0;
}

static cvtm_status read_table(cvtm_source *s, int is_xyz, table *t) {
  int first = 1;
  for (; s->at < s->size; ++s->line) {
    cvtm_csv_line line = cvtm_csv_take_line(s->data, s->size, &s->at);
    if (line.at == line.end) continue;
    int special = first && is_special(t, line, is_xyz);
    first = 0;
    if (special) continue;
    CVTM_TRY(t->class_column >= 0 ? read_class(t, line) : CVTM_OK);
    CVTM_TRY(read_point(t, line));
  }
  if (t->announced >= 0 && t->announced != t->count)
    return cvtm_source_fail(s, "%" PRId64 " points are announced but %" PRId64 " follow",
                            t->announced, t->count);
  return CVTM_OK;
}

static cvtm_status read_text(cvtm_source *source, int is_xyz, cvtm_point_list *list) {
  table t = {.source = source,
             .y_column = 1,
             .class_column = -1,
             .wants_class = list->wants_classes,
             .announced = -1};
  const cvtm_status status = read_table(source, is_xyz, &t);
  if (status != CVTM_OK || t.class_column < 0) {
    free(t.class);
    t.class = NULL;
  }
  *list = (cvtm_point_list){.count = t.count, .points = t.points, .classes = t.class};
  return status;
}

static cvtm_status read_csv(cvtm_source *source, cvtm_point_list *list) {
  return read_text(source, 0, list);
}

static cvtm_status read_xyz(cvtm_source *source, cvtm_point_list *list) {
  return read_text(source, 1, list);
}

static cvtm_status convert_array(const cvtm_npy *array, const cvtm_source *s,
                                 cvtm_point_list *list) {
  if (array->dimensions != 2 || array->shape[1] < 2)
    return cvtm_fail(s->error, CVTM_ERROR_INPUT, "%s: points need an array of shape n x 2",
                     s->name);
  const int64_t n = array->shape[0], columns = array->shape[1];
  double *p = malloc((2 * (size_t)n + 1) * sizeof *p);
  if (p == NULL) return cvtm_fail(s->error, CVTM_ERROR_MEMORY, "%s: out of memory", s->name);
  list->points = p;
  list->count = n;
  for (int64_t i = 0; i < n; ++i) {
    for (int k = 0; k < 2; ++k) p[2 * i + k] = cvtm_npy_get(array, i * columns + k);
    if (!isfinite(p[2 * i]) || !isfinite(p[2 * i + 1]))
      return cvtm_fail(s->error, CVTM_ERROR_INPUT, "%s: row %" PRId64 ": a point is not finite",
                       s->name, i);
  }
  return CVTM_OK;
}

static cvtm_status read_npy(cvtm_source *source, cvtm_point_list *list) {
  cvtm_npy array;
  CVTM_TRY(cvtm_npy_parse(source->data, source->size, source->name, &array, source->error));
  cvtm_status status = convert_array(&array, source, list);
  cvtm_npy_free(&array);
  return status;
}

const cvtm_format cvtm_format_csv = {.extension = "csv",
                                     .help = "lines x,y after a title",
                                     .properties = CVTM_HOLDS_CLASSES,
                                     .write_points = write_csv,
                                     .read_points = read_csv,
                                     .read_polygons = cvtm_read_polygons_csv};
const cvtm_format cvtm_format_npy = {.extension = "npy",
                                     .help = "NumPy: an array n x 2",
                                     .properties = CVTM_HOLDS_CLASSES,
                                     .write_points = write_npy,
                                     .read_points = read_npy};
const cvtm_format cvtm_format_xyz = {
    .extension = "xyz", .help = "lines x y 0", .write_points = write_xyz, .read_points = read_xyz};

/* What is read: all points, and what the caller wants to know of them or NULL. */
typedef struct reading {
  double **points;
  int64_t *count;
  int32_t **classes;
  int *y_up; /* NULL: y is turned down */
} reading;

/* Passes the points and classes of a reader to the caller, or frees them on failure. */
static cvtm_status hand_over(cvtm_status status, cvtm_point_list *list, const char *name,
                             const reading *to, cvtm_error *error) {
  if (status == CVTM_OK && list->count == 0)
    status = cvtm_fail(error, CVTM_ERROR_INPUT, "%s: no points", name);
  if (status != CVTM_OK) {
    free(list->points);
    free(list->classes);
    return status;
  }
  if (list->y_up && to->y_up == NULL) (void)cvtm_flip_points(list->points, list->count);
  if (to->y_up != NULL) *to->y_up = list->y_up;
  *to->points = list->points;
  if (to->classes != NULL) *to->classes = list->classes;
  *to->count = list->count;
  return CVTM_OK;
}

static cvtm_status read_memory(const char *extension, const unsigned char *bytes, size_t size,
                               const char *name, const reading *to, cvtm_error *error) {
  const cvtm_format *f = cvtm_format_find(cvtm_formats, extension, CVTM_READS_POINTS);
  cvtm_source source = cvtm_source_open(name, bytes, size, error);
  cvtm_point_list list = {.wants_classes = to->classes != NULL};
  *to->points = NULL;
  if (to->classes != NULL) *to->classes = NULL;
  *to->count = 0;
  if (f == NULL) return cvtm_format_unknown(name, "point", CVTM_READS_POINTS, error);
  return hand_over(f->read_points(&source, &list), &list, name, to, error);
}

cvtm_status cvtm_points_read_bytes(const char *extension, const unsigned char *bytes, size_t size,
                                   const char *name, double **points, int32_t **classes,
                                   int64_t *count, cvtm_error *error) {
  const reading to = {points, count, classes, NULL};
  return read_memory(extension, bytes, size, name, &to, error);
}

static cvtm_status read_file(const char *path, const reading *to, cvtm_error *error) {
  char buffer[16];
  const char *extension = extension_of(path, buffer);
  *to->points = NULL;
  *to->count = 0;
  if (cvtm_format_find(cvtm_formats, extension, CVTM_READS_POINTS) == NULL)
    return cvtm_format_unknown(path, "point", CVTM_READS_POINTS, error);
  unsigned char *bytes;
  size_t size;
  CVTM_TRY(cvtm_file_read(path, CVTM_FILE_MOST, &bytes, &size, error));
  const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
  const cvtm_status status = read_memory(extension, bytes, size, name, to, error);
  free(bytes);
  return status;
}

static cvtm_status open_input(const cvtm_input *source, const reading *to, cvtm_error *error) {
  if (source->array == NULL) return read_file(source->name, to, error);
  cvtm_npy array;
  *to->points = NULL;
  *to->count = 0;
  CVTM_TRY(cvtm_npy_open(source, &array, error));
  const cvtm_source named = {.name = source->name, .error = error};
  cvtm_point_list list = {0};
  const cvtm_status status = convert_array(&array, &named, &list);
  return hand_over(status, &list, source->name, to, error);
}

cvtm_status cvtm_points_read(const char *path, double **points, int64_t *count, cvtm_error *error) {
  const reading to = {points, count, NULL, NULL};
  return read_file(path, &to, error);
}

cvtm_status cvtm_points_open(const cvtm_input *source, double **points, int64_t *count,
                             cvtm_error *error) {
  const reading to = {points, count, NULL, NULL};
  return open_input(source, &to, error);
}

cvtm_status cvtm_points_open_as_is(const cvtm_input *source, double **points, int64_t *count,
                                   int *y_up, cvtm_error *error) {
  const reading to = {points, count, NULL, y_up};
  return open_input(source, &to, error);
}

cvtm_status cvtm_points_read_classes(const char *path, double **points, int32_t **classes,
                                     int64_t *count, cvtm_error *error) {
  const reading to = {points, count, classes, NULL};
  *classes = NULL;
  return read_file(path, &to, error);
}

#include "base/npy.h"

#include "base/file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
enum { HOST_IS_BIG = 1 };
#else
enum { HOST_IS_BIG = 0 };
#endif

enum { WORTH_THREADS = 1 << 20 /* elements */ };

/* The contents of the header. kind, item: as in cvtm_npy. */
typedef struct layout {
  char kind;
  int item;
  int swap;    /* nonzero: the bytes of each element are reversed */
  int fortran; /* nonzero: column-major */
  int dimensions;
  int64_t shape[CVTM_NPY_MAX_DIMENSIONS];
  int64_t count;
  size_t offset; /* where the data begins, in bytes */
} layout;

/* A position in the text of the header, a Python dictionary with three known keys. */
typedef struct scanner {
  const char *at, *end;
  const char *name; /* name of the file */
  cvtm_error *error;
} scanner;

static cvtm_status bad(const scanner *s, const char *reason) {
  return cvtm_fail(s->error, CVTM_ERROR_INPUT, "%s: %s", s->name, reason);
}

static void skip_space(scanner *s) {
  while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
    ++s->at;
}

static int accept_character(scanner *s, char c) {
  skip_space(s);
  if (s->at >= s->end || *s->at != c) return 0;
  ++s->at;
  return 1;
}

/* Reads a quoted string without escapes, of fewer than `capacity` characters. */
static int take_string(scanner *s, char *text, size_t capacity) {
  skip_space(s);
  if (s->at >= s->end || (*s->at != '\'' && *s->at != '"')) return 0;
  char quote = *s->at++;
  size_t length = 0;
  while (s->at < s->end && *s->at != quote) {
    if (length + 1 >= capacity) return 0;
    text[length++] = *s->at++;
  }
  if (s->at >= s->end) return 0;
  ++s->at;
  text[length] = 0;
  return 1;
}

static int take_word(scanner *s, const char *word) {
  skip_space(s);
  size_t length = strlen(word);
  if ((size_t)(s->end - s->at) < length || memcmp(s->at, word, length) != 0) return 0;
  s->at += length;
  return 1;
}

static int take_size(scanner *s, int64_t *value) {
  skip_space(s);
  if (s->at >= s->end || *s->at < '0' || *s->at > '9') return 0;
  int64_t v = 0;
  for (; s->at < s->end && *s->at >= '0' && *s->at <= '9'; ++s->at) {
    int digit = *s->at - '0';
    if (v > (INT64_MAX - digit) / 10) return 0;
    v = v * 10 + digit;
  }
  if (s->at < s->end && *s->at == 'L') ++s->at; /* Python 2 */
  *value = v;
  return 1;
}

static int is_known(char kind, int item) {
  const int is_power = item == 1 || item == 2 || item == 4 || item == 8;
  if (kind == 'b') return item == 1;
  return is_power && (kind == 'i' || kind == 'u' || (kind == 'f' && item > 1));
}

static cvtm_status parse_descr(scanner *s, layout *l) {
  char text[16];
  skip_space(s);
  if (s->at < s->end && *s->at == '[') return bad(s, "structured arrays are not supported");
  if (!take_string(s, text, sizeof text) || strlen(text) != 3)
    return bad(s, "unsupported element type in the NPY header");
  char order = text[0];
  l->kind = text[1];
  l->item = text[2] - '0';
  int order_known = order == '<' || order == '>' || order == '=' || (order == '|' && l->item == 1);
  if (!is_known(l->kind, l->item) || !order_known)
    return cvtm_fail(s->error, CVTM_ERROR_INPUT, "%s: unsupported element type '%s'", s->name,
                     text);
  l->swap = l->item > 1 && ((order == '>' && !HOST_IS_BIG) || (order == '<' && HOST_IS_BIG));
  return CVTM_OK;
}

static cvtm_status parse_shape(scanner *s, layout *l) {
  if (!accept_character(s, '(')) return bad(s, "malformed shape in the NPY header");
  l->dimensions = 0;
  while (!accept_character(s, ')')) {
    if (l->dimensions == CVTM_NPY_MAX_DIMENSIONS)
      return cvtm_fail(s->error, CVTM_ERROR_INPUT, "%s: more than %d dimensions", s->name,
                       CVTM_NPY_MAX_DIMENSIONS);
    if (!take_size(s, &l->shape[l->dimensions])) return bad(s, "malformed shape in the NPY header");
    ++l->dimensions;
    if (accept_character(s, ',')) continue;
    if (!accept_character(s, ')')) return bad(s, "malformed shape in the NPY header");
    break;
  }
  return CVTM_OK;
}

static cvtm_status parse_dictionary(scanner *s, layout *l) {
  enum { DESCR = 1, ORDER = 2, SHAPE = 4 };
  int seen = 0;
  if (!accept_character(s, '{')) return bad(s, "malformed NPY header");
  while (!accept_character(s, '}')) {
    char key[16];
    if (!take_string(s, key, sizeof key) || !accept_character(s, ':'))
      return bad(s, "malformed NPY header");
    if (strcmp(key, "descr") == 0 && !(seen & DESCR)) {
      seen |= DESCR;
      CVTM_TRY(parse_descr(s, l));
    } else if (strcmp(key, "fortran_order") == 0 && !(seen & ORDER)) {
      seen |= ORDER;
      l->fortran = take_word(s, "True");
      if (!l->fortran && !take_word(s, "False")) return bad(s, "malformed NPY header");
    } else if (strcmp(key, "shape") == 0 && !(seen & SHAPE)) {
      seen |= SHAPE;
      CVTM_TRY(parse_shape(s, l));
    } else {
      return bad(s, "malformed NPY header");
    }
    if (accept_character(s, ',')) continue;
    if (!accept_character(s, '}')) return bad(s, "malformed NPY header");
    break;
  }
  skip_space(s);
  if (seen != (DESCR | ORDER | SHAPE) || s->at != s->end) return bad(s, "malformed NPY header");
  return CVTM_OK;
}

/* The number of elements of an array; -1 if a size is negative or no file holds so many. */
static int64_t count_of_shape(int dimensions, const int64_t *shape) {
  const int64_t most = INT64_MAX / 8;
  int64_t count = 1;
  int is_empty = 0;
  for (int k = 0; k < dimensions; ++k) {
    if (shape[k] < 0) return -1;
    is_empty |= shape[k] == 0;
  }
  for (int k = 0; k < dimensions && !is_empty; ++k) {
    if (count > most / shape[k]) return -1;
    count *= shape[k];
  }
  return is_empty ? 0 : count;
}

/* Sets l->count. Fails if the elements need more than `available` bytes. */
static cvtm_status count_elements(const scanner *s, layout *l, size_t available) {
  l->count = count_of_shape(l->dimensions, l->shape);
  if (l->count < 0) return bad(s, "the NPY header claims more elements than any file holds");
  uint64_t needed = (uint64_t)l->count * (uint64_t)l->item;
  if (needed > available)
    return cvtm_fail(s->error, CVTM_ERROR_INPUT,
                     "%s: the NPY header claims %" PRId64 " elements (%" PRIu64
                     " bytes) but %zu bytes follow",
                     s->name, l->count, needed, available);
  return CVTM_OK;
}

static cvtm_status parse_header(const unsigned char *bytes, size_t size, const char *name,
                                layout *l, cvtm_error *error) {
  scanner s = {NULL, NULL, name, error};
  memset(l, 0, sizeof *l);
  if (size < 10 || memcmp(bytes, "\x93NUMPY", 6) != 0) return bad(&s, "not an NPY file");
  size_t start, length;
  if (bytes[6] == 1) {
    start = 10;
    length = (size_t)bytes[8] | (size_t)bytes[9] << 8;
  } else if (bytes[6] == 2 || bytes[6] == 3) {
    if (size < 12) return bad(&s, "truncated NPY header");
    start = 12;
    length = (size_t)bytes[8] | (size_t)bytes[9] << 8 | (size_t)bytes[10] << 16 |
             (size_t)bytes[11] << 24;
  } else {
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: unknown NPY version %d", name, bytes[6]);
  }
  if (length > size - start) return bad(&s, "truncated NPY header");
  s.at = (const char *)bytes + start;
  s.end = s.at + length;
  l->offset = start + length;
  CVTM_TRY(parse_dictionary(&s, l));
  return count_elements(&s, l, size - l->offset);
}

static void swap_items(unsigned char *data, int64_t count, int item) {
#pragma omp parallel for schedule(static) if (count >= WORTH_THREADS)
  for (int64_t i = 0; i < count; ++i) {
    unsigned char *p = data + i * item;
    for (int a = 0, b = item - 1; a < b; ++a, --b) {
      unsigned char t = p[a];
      p[a] = p[b];
      p[b] = t;
    }
  }
}

/* Copies the column-major array `from` to the row-major array `to`. */
static void transpose(const layout *l, const unsigned char *from, unsigned char *to) {
  int64_t index[CVTM_NPY_MAX_DIMENSIONS] = {0};
  int64_t stride[CVTM_NPY_MAX_DIMENSIONS];
  int64_t step = 1;
  for (int k = 0; k < l->dimensions; ++k) {
    stride[k] = step;
    step *= l->shape[k];
  }
  int64_t source = 0;
  for (int64_t i = 0; i < l->count; ++i) {
    memcpy(to + i * l->item, from + source * l->item, (size_t)l->item);
    for (int k = l->dimensions - 1; k >= 0; --k) {
      source += stride[k];
      if (++index[k] < l->shape[k]) break;
      source -= stride[k] * l->shape[k];
      index[k] = 0;
    }
  }
}

static float half_to_float(uint16_t h) {
  int exponent = h >> 10 & 31;
  int fraction = h & 1023;
  double value;
  if (exponent == 31)
    value = fraction != 0 ? (double)NAN : (double)INFINITY;
  else if (exponent == 0)
    value = ldexp(fraction, -24);
  else
    value = ldexp(fraction + 1024, exponent - 25);
  return (float)(h & 0x8000 ? -value : value);
}

/* Converts float16 to float32; malloc'd; NULL if memory runs out. */
static float *widen_halves(const unsigned char *data, int64_t count) {
  float *wide = malloc(count > 0 ? (size_t)count * sizeof *wide : 1);
  if (wide == NULL) return NULL;
#pragma omp parallel for schedule(static) if (count >= WORTH_THREADS)
  for (int64_t i = 0; i < count; ++i) {
    uint16_t h;
    memcpy(&h, data + i * 2, sizeof h);
    wide[i] = half_to_float(h);
  }
  return wide;
}

/* Sets *array to the elements at l->offset of `bytes`; takes over `bytes`. */
static cvtm_status make_array(layout *l, unsigned char *bytes, const char *name, cvtm_npy *array,
                              cvtm_error *error) {
  unsigned char *data = bytes + l->offset;
  if (l->offset % (size_t)l->item != 0)
    data = memmove(bytes, data, (size_t)l->count * (size_t)l->item);
  if (l->swap) swap_items(data, l->count, l->item);
  if (l->fortran && l->dimensions > 1 && l->count > 0) {
    unsigned char *rows = malloc((size_t)l->count * (size_t)l->item);
    if (rows != NULL) transpose(l, data, rows);
    free(bytes);
    data = bytes = rows;
  }
  if (data != NULL && l->kind == 'f' && l->item == 2) {
    float *wide = widen_halves(data, l->count);
    free(bytes);
    data = bytes = (unsigned char *)wide;
    l->item = 4;
  }
  if (data == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", name);
  array->kind = l->kind;
  array->item = l->item;
  array->dimensions = l->dimensions;
  memcpy(array->shape, l->shape, sizeof array->shape);
  array->count = l->count;
  array->data = data;
  array->storage = bytes;
  return CVTM_OK;
}

cvtm_status cvtm_npy_take(unsigned char *bytes, size_t size, const char *name, cvtm_npy *array,
                          cvtm_error *error) {
  memset(array, 0, sizeof *array);
  layout l;
  const cvtm_status status = parse_header(bytes, size, name, &l, error);
  if (status == CVTM_OK) return make_array(&l, bytes, name, array, error);
  free(bytes);
  return status;
}

cvtm_status cvtm_npy_parse(const unsigned char *bytes, size_t size, const char *name,
                           cvtm_npy *array, cvtm_error *error) {
  memset(array, 0, sizeof *array);
  layout l;
  CVTM_TRY(parse_header(bytes, size, name, &l, error));
  const size_t length = (size_t)l.count * (size_t)l.item;
  unsigned char *data = malloc(length > 0 ? length : 1);
  if (data == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", name);
  if (length > 0) memcpy(data, bytes + l.offset, length);
  l.offset = 0;
  return make_array(&l, data, name, array, error);
}

cvtm_status cvtm_npy_read(const char *path, cvtm_npy *array, cvtm_error *error) {
  const size_t limit = CVTM_FILE_MOST;
  memset(array, 0, sizeof *array);
  unsigned char *bytes;
  size_t size;
  CVTM_TRY(cvtm_file_read(path, limit, &bytes, &size, error));
  return cvtm_npy_take(bytes, size, path, array, error);
}

cvtm_status cvtm_npy_open(const cvtm_input *source, cvtm_npy *array, cvtm_error *error) {
  const cvtm_npy *lent = source->array;
  if (lent == NULL) return cvtm_npy_read(source->name, array, error);
  const int fits = lent->dimensions >= 0 && lent->dimensions <= CVTM_NPY_MAX_DIMENSIONS;
  memset(array, 0, sizeof *array);
  if (!fits || lent->count < 0 || lent->count != count_of_shape(lent->dimensions, lent->shape))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "%s: the shape of the array does not match its number of elements",
                     source->name);
  if (!is_known(lent->kind, lent->item) || (lent->kind == 'f' && lent->item == 2))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "%s: NPY has no elements of kind '%c' with %d bytes", source->name, lent->kind,
                     lent->item);
  *array = *lent;
  array->storage = NULL;
  return CVTM_OK;
}

void cvtm_npy_free(cvtm_npy *array) {
  if (array == NULL) return;
  free(array->storage);
  memset(array, 0, sizeof *array);
}

double cvtm_npy_get(const cvtm_npy *array, int64_t i) {
  const void *data = array->data;
  switch (array->kind) {
    case 'f':
      return array->item == 4 ? (double)((const float *)data)[i] : ((const double *)data)[i];
    case 'i':
      if (array->item == 1) return ((const int8_t *)data)[i];
      if (array->item == 2) return ((const int16_t *)data)[i];
      if (array->item == 4) return ((const int32_t *)data)[i];
      return (double)((const int64_t *)data)[i];
    case 'b':
      return ((const uint8_t *)data)[i] != 0;
    default:
      if (array->item == 1) return ((const uint8_t *)data)[i];
      if (array->item == 2) return ((const uint16_t *)data)[i];
      if (array->item == 4) return ((const uint32_t *)data)[i];
      return (double)((const uint64_t *)data)[i];
  }
}

#define CONVERT(type)                                     \
  do {                                                    \
    const type *from = (const type *)array->data + first; \
    for (int64_t i = 0; i < count; ++i) {                 \
      const double value = (double)from[i];               \
      values[i] = (float)value;                           \
      large |= isinf(values[i]) && isfinite(value);       \
    }                                                     \
  } while (0)

int cvtm_npy_get_floats(const cvtm_npy *array, int64_t first, int64_t count, float *values) {
  int large = 0;
  if (array->kind == 'u' && array->item == 1) {
    CONVERT(uint8_t);
  } else if (array->kind == 'u' && array->item == 2) {
    CONVERT(uint16_t);
  } else if (array->kind == 'f' && array->item == 4) {
    CONVERT(float);
  } else if (array->kind == 'f') {
    CONVERT(double);
  } else {
    for (int64_t i = 0; i < count; ++i) values[i] = (float)cvtm_npy_get(array, first + i);
  }
  return large;
}

/* Writes the header (magic, version 1.0, the dictionary, and spaces up to a multiple of 64 bytes);
 * returns its size. */
static size_t format_header(char *header, size_t capacity, char kind, int item, int dimensions,
                            const int64_t *shape) {
  const size_t prefix = 10;
  char order = item == 1 ? '|' : HOST_IS_BIG ? '>' : '<';
  size_t at = prefix;
  at +=
      (size_t)snprintf(header + at, capacity - at,
                       "{'descr': '%c%c%d', 'fortran_order': False, 'shape': (", order, kind, item);
  for (int k = 0; k < dimensions; ++k) {
    const char *separator = k + 1 < dimensions ? ", " : dimensions == 1 ? "," : "";
    at += (size_t)snprintf(header + at, capacity - at, "%" PRId64 "%s", shape[k], separator);
  }
  at += (size_t)snprintf(header + at, capacity - at, "), }");
  while ((at + 1) % 64 != 0) header[at++] = ' ';
  header[at++] = '\n';
  memcpy(header, "\x93NUMPY\x01\x00", 8);
  header[8] = (char)((at - prefix) & 255);
  header[9] = (char)((at - prefix) >> 8);
  return at;
}

/* Sets *array to a copy of `made`, for a caller that wants an array in place of a file. */
static cvtm_status hand_over(const char *path, const cvtm_npy *made, cvtm_npy *array,
                             cvtm_error *error) {
  const size_t bytes = (size_t)made->item * (size_t)made->count;
  void *copy = malloc(bytes + 1);
  if (copy == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path);
  if (bytes > 0) memcpy(copy, made->data, bytes);
  cvtm_npy_free(array);
  *array = *made;
  array->data = array->storage = copy;
  return CVTM_OK;
}

cvtm_status cvtm_npy_write(const char *path, char kind, int item, int dimensions,
                           const int64_t *shape, const void *data, cvtm_error *error) {
  char header[512];
  if (dimensions < 0 || dimensions > CVTM_NPY_MAX_DIMENSIONS)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%s: cannot write an array of %d dimensions", path,
                     dimensions);
  if (!is_known(kind, item))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "%s: NPY has no elements of kind '%c' with %d bytes", path, kind, item);
  const int64_t count = count_of_shape(dimensions, shape);
  if (count < 0)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "%s: an array of a negative size or of too many elements", path);
  const cvtm_memory_output *wanted = cvtm_memory_output_find(path);
  if (wanted != NULL && wanted->array != NULL) {
    cvtm_npy made = {kind, item, dimensions, {0}, count, (void *)data, NULL};
    for (int k = 0; k < dimensions; ++k) made.shape[k] = shape[k];
    return hand_over(path, &made, wanted->array, error);
  }
  size_t length = format_header(header, sizeof header, kind, item, dimensions, shape);
  cvtm_output *output;
  CVTM_TRY(cvtm_output_open(path, &output, error));
  FILE *stream = cvtm_output_stream(output);
  fwrite(header, 1, length, stream);
  if (count > 0) fwrite(data, (size_t)item, (size_t)count, stream);
  return cvtm_output_commit(output, error);
}

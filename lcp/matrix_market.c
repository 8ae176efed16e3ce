#define _XOPEN_SOURCE 700

#include "lcp/matrix_market.h"

#include "base/file.h"
#include "base/host.h"
#include "base/text.h"
#include "lcp/sparse/csr.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- reading ------------------------------------------------------------------------ */

typedef enum symmetry { GENERAL, SYMMETRIC, SKEW_SYMMETRIC } symmetry;

typedef struct reader {
  const char *at, *end; /* *end is 0 */
  int64_t line;         /* line number of `at`, counted from 1 */
  const char *name;
  cvtm_error *error;
  int has_values, is_array;
  symmetry kind;
  int64_t rows, columns, listed; /* as in the size line; listed: entries in the file */
} reader;

/* Entries in the order of the file; a mirrored entry follows its original. */
typedef struct triplets {
  int64_t count;
  int32_t *row, *column;
  double *value;
} triplets;

static cvtm_status bad_line(const reader *in, const char *reason) {
  return cvtm_fail(in->error, CVTM_ERROR_INPUT, "%s: line %" PRId64 ": %s", in->name, in->line,
                   reason);
}

static void next_line(reader *in) {
  const char *feed = memchr(in->at, '\n', (size_t)(in->end - in->at));
  in->at = feed != NULL ? feed + 1 : in->end;
  ++in->line;
}

static void skip_blanks(reader *in) {
  while (in->at < in->end && (*in->at == ' ' || *in->at == '\t' || *in->at == '\r')) ++in->at;
}

/* Moves to the next line that is neither empty nor a comment. Returns 0 at the end of the file. */
static int find_line(reader *in) {
  while (in->at < in->end) {
    skip_blanks(in);
    if (in->at < in->end && *in->at != '\n' && *in->at != '%') return 1;
    next_line(in);
  }
  return 0;
}

static int at_line_end(reader *in) {
  skip_blanks(in);
  return in->at >= in->end || *in->at == '\n';
}

static int read_integer(reader *in, int64_t *number) {
  skip_blanks(in);
  if (in->at >= in->end || !isdigit((unsigned char)*in->at)) return 0;
  int64_t value = 0;
  for (; in->at < in->end && isdigit((unsigned char)*in->at); ++in->at) {
    const int digit = *in->at - '0';
    if (value > (INT64_MAX - digit) / 10) return 0;
    value = 10 * value + digit;
  }
  *number = value;
  return in->at >= in->end || isspace((unsigned char)*in->at);
}

/* Reads a number, perhaps with an exponent of Fortran, as in 1.0D+00. */
static int read_real(reader *in, double *number) {
  skip_blanks(in);
  if (in->at >= in->end || *in->at == '\n') return 0;
  char *stop, word[64];
  *number = cvtm_strtod(in->at, &stop);
  if (stop == in->at || stop > in->end) return 0;
  const size_t mantissa = (size_t)(stop - in->at), left = (size_t)(in->end - in->at);
  if ((*stop == 'D' || *stop == 'd') && mantissa < sizeof word - 8) {
    const size_t length = left < sizeof word - 1 ? left : sizeof word - 1;
    memcpy(word, in->at, length);
    word[length] = '\0';
    word[mantissa] = 'e';
    char *end;
    *number = cvtm_strtod(word, &end);
    stop = (char *)in->at + (end - word);
  }
  in->at = stop;
  return in->at >= in->end || isspace((unsigned char)*in->at);
}

/* Reads the next word of the header, truncated to 31 characters. */
static const char *read_word(reader *in, char word[32]) {
  size_t length = 0;
  skip_blanks(in);
  for (; in->at < in->end && !isspace((unsigned char)*in->at); ++in->at) {
    if (length < 31) word[length++] = *in->at;
  }
  word[length] = '\0';
  return word;
}

static cvtm_status read_banner(reader *in) {
  char word[32];
  if (strcasecmp(read_word(in, word), "%%MatrixMarket") != 0)
    return bad_line(in, "not a Matrix Market file");
  const int is_matrix = strcasecmp(read_word(in, word), "matrix") == 0;
  in->is_array = strcasecmp(read_word(in, word), "array") == 0;
  if (!is_matrix || (!in->is_array && strcasecmp(word, "coordinate") != 0))
    return bad_line(in, "only 'matrix coordinate' and 'matrix array' files are read");
  read_word(in, word);
  in->has_values = in->is_array || strcasecmp(word, "pattern") != 0;
  if (in->has_values && strcasecmp(word, "real") != 0 && strcasecmp(word, "integer") != 0)
    return bad_line(in, "entries are neither real nor integer nor pattern");
  read_word(in, word);
  if (strcasecmp(word, "general") == 0)
    in->kind = GENERAL;
  else if (strcasecmp(word, "symmetric") == 0)
    in->kind = SYMMETRIC;
  else if (strcasecmp(word, "skew-symmetric") == 0 && in->has_values)
    in->kind = SKEW_SYMMETRIC;
  else
    return bad_line(in, "neither general nor symmetric nor skew-symmetric");
  if (!at_line_end(in)) return bad_line(in, "more than five words in the header");
  return CVTM_OK;
}

/* The number of entries in a file of an array: all entries of a general matrix, the lower triangle
 * of other matrices. */
static int64_t array_entries(const reader *in) {
  if (in->kind == GENERAL) return in->rows * in->columns;
  return in->rows * (in->rows + (in->kind == SYMMETRIC ? 1 : -1)) / 2;
}

/* Reads the sizes. Fails before any allocation for sizes that the size of the file rules out: a
 * matrix may have FREE_ROWS rows or columns, and ROWS_PER_ENTRY more for each entry. */
static cvtm_status read_sizes(reader *in) {
  enum { FREE_ROWS = 1 << 20, ROWS_PER_ENTRY = 1 << 10 };
  const int64_t shortest_entry = in->is_array ? 2 : 4;
  const int64_t bytes = in->end - in->at;
  if (!find_line(in)) return bad_line(in, "the file ends before its size line");
  const int has_sides = read_integer(in, &in->rows) && read_integer(in, &in->columns);
  if (!has_sides || (!in->is_array && !read_integer(in, &in->listed)) || !at_line_end(in))
    return bad_line(in, in->is_array ? "not two whole numbers: rows, columns"
                                     : "not three whole numbers: rows, columns, entries");
  if (in->rows < 1 || in->columns < 1) return bad_line(in, "the matrix is empty");
  if (in->rows > INT32_MAX || in->columns > INT32_MAX)
    return bad_line(in, "a side is not below 2^31");
  if (in->kind != GENERAL && in->rows != in->columns)
    return bad_line(in, "symmetric, but not square");
  if (in->is_array) in->listed = array_entries(in);
  if (in->listed > bytes / shortest_entry + 1)
    return bad_line(in, "more entries than the file has room for");
  if (in->rows - FREE_ROWS > ROWS_PER_ENTRY * in->listed ||
      in->columns - FREE_ROWS > ROWS_PER_ENTRY * in->listed)
    return bad_line(in, "nearly all rows or columns are empty");
  const int64_t entry = 2 * sizeof(int32_t) + sizeof(double);
  const int64_t needed =
      (in->rows + in->columns) * (int64_t)sizeof(int64_t) + in->listed * (2 * entry);
  return cvtm_check_expansion(in->name, (size_t)bytes, (uint64_t)needed, in->error);
}

static void append_triplet(triplets *list, int64_t row, int64_t column, double value) {
  list->row[list->count] = (int32_t)(row - 1);
  list->column[list->count] = (int32_t)(column - 1);
  list->value[list->count] = value;
  ++list->count;
}

/* Reads an entry. *at_row, *at_column: in a file of an array, the row and column of the preceding
 * entry. */
static cvtm_status read_entry(reader *in, int64_t *at_row, int64_t *at_column, triplets *list) {
  int64_t row, column;
  double value = 1;
  if (in->is_array) {
    row = *at_row + 1;
    column = *at_column;
    if (row > in->rows) {
      ++column;
      row = in->kind == GENERAL ? 1 : in->kind == SYMMETRIC ? column : column + 1;
    }
    *at_row = row;
    *at_column = column;
  } else if (!read_integer(in, &row) || !read_integer(in, &column)) {
    return bad_line(in, "the row or the column is missing");
  }
  if (row < 1 || row > in->rows) return bad_line(in, "the row is out of range");
  if (column < 1 || column > in->columns) return bad_line(in, "the column is out of range");
  if (in->has_values && !read_real(in, &value)) return bad_line(in, "no number as the value");
  if (!isfinite(value)) return bad_line(in, "the value is not finite");
  if (!at_line_end(in)) return bad_line(in, "something follows the entry");
  if (in->kind == SKEW_SYMMETRIC && row == column)
    return bad_line(in, "a diagonal entry in a skew-symmetric matrix");
  if (in->is_array && value == 0) return CVTM_OK;
  append_triplet(list, row, column, value);
  if (in->kind != GENERAL && row != column)
    append_triplet(list, column, row, in->kind == SYMMETRIC ? value : -value);
  return CVTM_OK;
}

static cvtm_status read_entries(reader *in, triplets *list) {
  int64_t row = in->kind == SKEW_SYMMETRIC ? 1 : 0, column = 1;
  for (int64_t k = 0; k < in->listed; ++k) {
    if (!find_line(in)) return bad_line(in, "the file ends before its last entry");
    CVTM_TRY(read_entry(in, &row, &column, list));
    next_line(in);
  }
  return find_line(in) ? bad_line(in, "more entries than the size line says") : CVTM_OK;
}

/* Adds entries with equal row and column. */
static void sum_duplicates(cvtm_csr *matrix) {
  int64_t kept = 0, first = 0;
  for (int64_t row = 0; row < matrix->rows; ++row) {
    const int64_t end = matrix->row_start[row + 1], start = kept;
    for (int64_t k = first; k < end; ++k) {
      if (kept > start && matrix->column[kept - 1] == matrix->column[k]) {
        matrix->value[kept - 1] += matrix->value[k];
      } else {
        matrix->column[kept] = matrix->column[k];
        matrix->value[kept++] = matrix->value[k];
      }
    }
    first = end;
    matrix->row_start[row + 1] = kept;
  }
}

static cvtm_status build_csr(reader *in, const triplets *list, cvtm_csr *matrix) {
  cvtm_status status = cvtm_csr_create(in->rows, in->columns, list->count, matrix, in->error);
  if (status != CVTM_OK) return status;
  cvtm_scratch memory = {0};
  int64_t *order = cvtm_scratch_take(&memory, (size_t)list->count, sizeof *order);
  int64_t *start = cvtm_scratch_zeros(&memory, (size_t)in->rows + 2, sizeof *start);
  if (memory.failed) {
    status = cvtm_fail(in->error, CVTM_ERROR_MEMORY, "%s: out of memory", in->name);
  } else {
    cvtm_list_by_key(list->row, list->count, in->rows, start, order);
    memcpy(matrix->row_start, start, ((size_t)in->rows + 1) * sizeof *start);
    for (int64_t k = 0; k < list->count; ++k) {
      matrix->column[k] = list->column[order[k]];
      matrix->value[k] = list->value[order[k]];
    }
    cvtm_csr_sort_rows(matrix, 1);
    sum_duplicates(matrix);
    if (cvtm_csr_check(matrix, in->name, in->error) != CVTM_OK) status = CVTM_ERROR_INPUT;
  }
  cvtm_scratch_free(&memory);
  if (status != CVTM_OK) cvtm_csr_free(matrix);
  return status;
}

static cvtm_status read_matrix(reader *in, cvtm_csr *matrix) {
  CVTM_TRY(read_banner(in));
  next_line(in);
  cvtm_status status = read_sizes(in);
  if (status != CVTM_OK) return status;
  next_line(in);
  const size_t capacity = (size_t)in->listed * (in->kind == GENERAL ? 1 : 2);
  cvtm_scratch memory = {0};
  triplets list = {0, cvtm_scratch_take(&memory, capacity, sizeof *list.row),
                   cvtm_scratch_take(&memory, capacity, sizeof *list.column),
                   cvtm_scratch_take(&memory, capacity, sizeof *list.value)};
  if (memory.failed)
    status = cvtm_fail(in->error, CVTM_ERROR_MEMORY, "%s: out of memory", in->name);
  if (status == CVTM_OK) status = read_entries(in, &list);
  if (status == CVTM_OK) status = build_csr(in, &list, matrix);
  cvtm_scratch_free(&memory);
  return status;
}

cvtm_status cvtm_matrix_market_parse(const unsigned char *bytes, size_t size, const char *name,
                                     cvtm_csr *matrix, cvtm_error *error) {
  memset(matrix, 0, sizeof *matrix);
  reader in = {
      (const char *)bytes, (const char *)bytes + size, 1, name, error, 0, 0, GENERAL, 0, 0, 0};
  return read_matrix(&in, matrix);
}

cvtm_status cvtm_matrix_market_read(const char *path, cvtm_csr *matrix, cvtm_error *error) {
  unsigned char *bytes;
  size_t size;
  memset(matrix, 0, sizeof *matrix);
  CVTM_TRY(cvtm_text_read(path, SIZE_MAX / 2, &bytes, &size, error));
  cvtm_status status = cvtm_matrix_market_parse(bytes, size, path, matrix, error);
  free(bytes);
  return status;
}

/* --- writing ------------------------------------------------------------------------ */

static void write_matrix(FILE *stream, const cvtm_csr *matrix) {
  fprintf(stream, "%%%%MatrixMarket matrix coordinate real general\n");
  fprintf(stream, "%" PRId64 " %" PRId64 " %" PRId64 "\n", matrix->rows, matrix->columns,
          matrix->row_start[matrix->rows]);
  for (int64_t row = 0; row < matrix->rows; ++row) {
    for (int64_t k = matrix->row_start[row]; k < matrix->row_start[row + 1]; ++k)
      fprintf(stream, "%" PRId64 " %" PRId64 " %.17g\n", row + 1, (int64_t)matrix->column[k] + 1,
              matrix->value[k]);
  }
}

cvtm_status cvtm_matrix_market_write(const char *path, const cvtm_csr *matrix, cvtm_error *error) {
  cvtm_output *output;
  if (matrix->rows < 0 || matrix->columns < 0 || matrix->row_start[matrix->rows] < 0)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%s: a matrix of %" PRId64 " x %" PRId64, path,
                     matrix->rows, matrix->columns);
  CVTM_TRY(cvtm_output_open(path, &output, error));
  cvtm_numeric_locale locale = cvtm_numeric_locale_enter();
  write_matrix(cvtm_output_stream(output), matrix);
  cvtm_numeric_locale_leave(locale);
  return cvtm_output_commit(output, error);
}

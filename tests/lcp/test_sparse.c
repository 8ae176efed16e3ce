/* Sparse matrices: conversion, products, refusals; Matrix Market files; colourings. */
#include "test_devices.h"

#include "base/random.h"
#include "lcp/colouring.h"
#include "lcp/matrix_market.h"
#include "lcp/sparse/csr.h"
#include "lcp/sparse/sparse_kernels.h"

#include <unistd.h>

static double uniform(uint64_t stream, int64_t k) {
  return cvtm_random_uniform(7, stream, (uint64_t)k);
}

/* Rows of very different lengths, empty ones among them; every value is nonzero. */
static cvtm_csr random_matrix(int64_t rows, int64_t columns, uint64_t seed) {
  cvtm_csr a;
  assert_ok(cvtm_csr_create(rows, columns, rows * columns, &a, NULL));
  int64_t count = 0;
  for (int64_t i = 0; i < rows; ++i) {
    const double share = uniform(seed, -1 - i) < 0.2 ? 0 : 0.5 * uniform(seed + 1, i);
    for (int64_t j = 0; j < columns; ++j) {
      if (uniform(seed + 2, i * columns + j) >= share) continue;
      a.column[count] = (int32_t)j;
      a.value[count++] = 0.5 + uniform(seed + 3, i * columns + j);
    }
    a.row_start[i + 1] = count;
  }
  return a;
}

static void assert_same(const cvtm_csr *a, const cvtm_csr *b) {
  assert_int_equal(a->rows, b->rows);
  assert_int_equal(a->columns, b->columns);
  const size_t rows = (size_t)a->rows + 1, entries = (size_t)a->row_start[a->rows];
  assert_memory_equal(a->row_start, b->row_start, rows * sizeof *a->row_start);
  assert_memory_equal(a->column, b->column, entries * sizeof *a->column);
  assert_memory_equal(a->value, b->value, entries * sizeof *a->value);
}

/* The matrix back in host memory, without the padding at the ends of rows. */
static cvtm_csr csr_of(cvtm_device *device, const cvtm_sell *sell) {
  cvtm_sell host = *sell;
  const size_t slices = (size_t)cvtm_sell_slices(sell->rows), entries = (size_t)sell->entries;
  host.slice_start = malloc((slices + 1) * sizeof *host.slice_start);
  host.column = malloc((entries + 1) * sizeof *host.column);
  host.value = malloc((entries + 1) * sizeof *host.value);
  assert_device_ok(device, cvtm_device_copy_out(device, host.slice_start, sell->slice_start,
                                                (slices + 1) * sizeof *host.slice_start));
  assert_device_ok(
      device, cvtm_device_copy_out(device, host.column, sell->column, entries * sizeof(int32_t)));
  assert_device_ok(device,
                   cvtm_device_copy_out(device, host.value, sell->value, entries * sizeof(double)));
  cvtm_csr a;
  assert_ok(cvtm_csr_create(sell->rows, sell->columns, sell->entries, &a, NULL));
  int64_t count = 0;
  for (int64_t row = 0; row < sell->rows; ++row) {
    const int64_t first = cvtm_sell_first(&host, row);
    int64_t end = first;
    for (int64_t k = first; k < cvtm_sell_end(&host, row); k += CVTM_SLICE_ROWS)
      if (host.value[k] != 0 || host.column[k] != cvtm_sell_padding(sell, row))
        end = k + CVTM_SLICE_ROWS;
    for (int64_t k = first; k < end; k += CVTM_SLICE_ROWS, ++count) {
      a.column[count] = host.column[k];
      a.value[count] = host.value[k];
    }
    a.row_start[row + 1] = count;
  }
  free_all(host.slice_start, host.column, host.value);
  return a;
}

TEST_ON_DEVICE(sliced_and_back) {
  static const int64_t sizes[][2] = {{1, 1}, {31, 40}, {32, 32}, {33, 7}, {200, 150}, {5, 100}};
  for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; ++k) {
    cvtm_csr a = random_matrix(sizes[k][0], sizes[k][1], 10 * k), back;
    cvtm_sell sell;
    assert_device_ok(device, cvtm_sell_create(device, &a, &sell));
    assert_int_equal(sell.entries % CVTM_SLICE_ROWS, 0);
    back = csr_of(device, &sell);
    assert_same(&a, &back);
    cvtm_sell_free(device, &sell);
    CALL_EACH(cvtm_csr_free, cvtm_csr, &a, &back);
  }
}

/* Columns that change places, in rows short and long, and the columns of a transpose that several
 * threads fill: ascending at the end, with the values that they had. */
TEST_ON_DEVICE(rows_of_any_length_are_sorted) {
  enum { ROWS = 70, COLUMNS = 900 };
  cvtm_csr a = random_matrix(ROWS, COLUMNS, 41), back, transpose, twice;
  int32_t place[COLUMNS], *on_device;
  int64_t longest = 0;
  for (int64_t i = 0; i < ROWS; ++i) {
    const int64_t length = a.row_start[i + 1] - a.row_start[i];
    longest = length > longest ? length : longest;
  }
  assert_true(longest > CVTM_LONG_ROW && longest < COLUMNS);
  for (int32_t k = 0; k < COLUMNS; ++k) place[k] = 7 * k % COLUMNS; /* 7 does not divide 900 */
  assert_device_ok(device, cvtm_device_allocate(device, COLUMNS, CVTM_TYPED(on_device)));
  assert_device_ok(device, cvtm_device_copy_in(device, on_device, place, sizeof place));
  const cvtm_sell_order order = {NULL, on_device};
  cvtm_sell sell;
  assert_device_ok(device, cvtm_sell_create_ordered(device, &a, &order, &sell));
  back = csr_of(device, &sell);
  for (int64_t i = 0; i < ROWS; ++i) {
    double row[COLUMNS] = {0};
    for (int64_t k = a.row_start[i]; k < a.row_start[i + 1]; ++k)
      row[place[a.column[k]]] = a.value[k];
    int64_t at = back.row_start[i];
    for (int32_t c = 0; c < COLUMNS; ++c) {
      if (row[c] == 0) continue;
      assert_true(back.column[at] == c && back.value[at] == row[c]);
      ++at;
    }
    assert_int_equal(at, back.row_start[i + 1]);
  }
  assert_ok(cvtm_csr_transpose(&a, 3, &transpose, NULL));
  assert_ok(cvtm_csr_transpose(&transpose, 3, &twice, NULL));
  assert_ok(cvtm_csr_check(&transpose, "transpose", NULL));
  assert_same(&a, &twice);
  cvtm_device_free(device, on_device);
  cvtm_sell_free(device, &sell);
  CALL_EACH(cvtm_csr_free, cvtm_csr, &a, &back, &transpose, &twice);
}

enum { MOST_ROWS = 300 };

static void check_product(cvtm_device *device, const cvtm_csr *a, const cvtm_sell *sell) {
  double x[MOST_ROWS], y[MOST_ROWS], *memory;
  const size_t rows = (size_t)a->rows, columns = (size_t)a->columns;
  cvtm_level level;
  memset(&level, 0, sizeof level);
  level.rows = a->rows;
  level.matrix = *sell;
  for (int64_t k = 0; k < a->columns; ++k) x[k] = uniform(99, k) - 0.5;
  assert_device_ok(device, cvtm_device_allocate(device, a->rows, CVTM_TYPED(level.state)));
  assert_device_ok(device, cvtm_device_fill(device, level.state, 0, rows)); /* no active rows */
  assert_device_ok(device, cvtm_device_allocate(device, a->rows + a->columns, CVTM_TYPED(memory)));
  assert_device_ok(device, cvtm_device_copy_in(device, memory, x, columns * sizeof *x));
  assert_device_ok(
      device,
      CVTM_TABLE(device, cvtm_sparse_table)->apply(device, &level, memory, memory + columns));
  assert_device_ok(device, cvtm_device_copy_out(device, y, memory + columns, rows * sizeof *y));
  for (int64_t i = 0; i < a->rows; ++i) {
    double sum = 0;
    for (int64_t k = a->row_start[i]; k < a->row_start[i + 1]; ++k)
      sum += a->value[k] * x[a->column[k]];
    assert_true(sum == y[i]);
  }
  device_free_all(device, memory, level.state);
}

/* The product adds in the order of the columns, so it has the bits of the sum over the CSR row. */
TEST_ON_DEVICE(product_is_the_sum_over_the_csr_row) {
  cvtm_csr a = random_matrix(203, 150, 3);
  cvtm_sell sell;
  assert_device_ok(device, cvtm_sell_create(device, &a, &sell));
  check_product(device, &a, &sell);
  cvtm_sell_free(device, &sell);
  cvtm_csr_free(&a);
}

/* Bands of any width: `start` is the first column of row 0, `length` that of all rows within. */
static cvtm_csr banded_matrix(int64_t rows, int64_t start, int64_t length) {
  cvtm_csr a;
  assert_ok(cvtm_csr_create(rows, rows, rows * length, &a, NULL));
  int64_t to = 0;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t k = i + start; k < i + start + length; ++k) {
      if (k < 0 || k >= rows) continue;
      a.column[to] = (int32_t)k;
      a.value[to] = uniform(7, to) - 0.3;
      ++to;
    }
    a.row_start[i + 1] = to;
  }
  return a;
}

/* Runs of consecutive columns and slices of equal length change no product. */
TEST_ON_DEVICE(runs_and_equal_slices_change_nothing) {
  for (int64_t length = 1; length < 12; ++length) {
    cvtm_csr a = banded_matrix(MOST_ROWS, -length / 2, length);
    cvtm_sell sell;
    assert_device_ok(device, cvtm_sell_create(device, &a, &sell));
    assert_true(sell.uniform == 0 || sell.uniform == length * CVTM_SLICE_ROWS);
    assert_device_ok(device, cvtm_sell_find_runs(device, &sell));
    const size_t groups = (size_t)(sell.entries / CVTM_SLICE_ROWS);
    int32_t runs[12 * MOST_ROWS / CVTM_SLICE_ROWS + 12], found = 0;
    assert_device_ok(device, cvtm_device_copy_out(device, runs, sell.run, groups * sizeof *runs));
    for (size_t k = 0; k < groups; ++k) found += runs[k] >= 0;
    assert_true(found >= 8 * (int32_t)length); /* all slices but the first and the last */
    check_product(device, &a, &sell);
    cvtm_sell_free(device, &sell);
    cvtm_csr_free(&a);
  }
}

typedef struct bad_matrix {
  int64_t rows, columns, start[4];
  int32_t column[4];
  double value[4];
  const char *reason;
} bad_matrix;

TEST(refusals_name_row_and_reason) {
  const double nan = (double)NAN, infinite = (double)INFINITY;
  bad_matrix cases[] = {
      {2, 2, {0, 2, 1}, {0, 1, 1}, {1, 1, 1}, "row 2 ends before it starts"},
      {2, 2, {0, 1, 2}, {0, 2}, {1, 1}, "row 2: column 3 is not within 1 .. 2"},
      {2, 2, {0, 1, 2}, {-1, 1}, {1, 1}, "row 1: column 0 is not within 1 .. 2"},
      {2, 2, {0, 1, 3}, {0, 1, 0}, {1, 1, 1}, "row 2: column 1 is out of order"},
      {2, 2, {0, 1, 3}, {0, 1, 1}, {1, 1, 1}, "row 2: column 2 appears twice"},
      {2, 2, {0, 1, 2}, {0, 1}, {1, nan}, "row 2: the value in column 2 is"},
      {2, 2, {0, 1, 2}, {0, 1}, {infinite, 1}, "row 1: the value in column 1 is"},
      {2, 3, {0, 1, 2}, {0, 1}, {1, 1}, "2 rows and 3 columns: not square"},
      {2, 2, {0, 1, 2}, {0, 0}, {1, 1}, "row 2: the diagonal entry is missing"},
      {2, 2, {0, 1, 2}, {0, 1}, {1, 0}, "row 2: the diagonal entry is zero"},
      {2, 2, {0, 1, 2}, {0, 1}, {-1, 1}, "row 1: the diagonal entry is negative"},
      {2, 2, {1, 1, 2}, {0, 1}, {1, 1}, "the first row does not start at 0"},
  };
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; ++k) {
    const cvtm_csr a = {cases[k].rows, cases[k].columns, cases[k].start, cases[k].column,
                        cases[k].value};
    cvtm_error error = {CVTM_OK, ""};
    assert_int_equal(cvtm_csr_check_diagonal(&a, "A", &error), CVTM_ERROR_INPUT);
    if (strstr(error.message, cases[k].reason) == NULL)
      fail_msg("'%s' does not say '%s'", error.message, cases[k].reason);
    assert_int_equal(error.message[0], 'A');
  }
}

static cvtm_status parse(const char *text, cvtm_csr *a, cvtm_error *error) {
  return cvtm_matrix_market_parse((const unsigned char *)text, strlen(text), "text", a, error);
}

TEST(matrix_market_kinds) {
  cvtm_csr a;
  assert_ok(
      parse("%%MatrixMarket matrix coordinate real general\n% note\n\n2 3 3\n"
            "2 3 -1.5e0\n1 2 4\r\n2 1 .25",
            &a, NULL));
  assert_int_equal(a.rows, 2);
  assert_int_equal(a.columns, 3);
  assert_int_equal(a.row_start[1], 1);
  assert_int_equal(a.row_start[2], 3);
  assert_int_equal(a.column[1], 0);
  assert_true(a.value[0] == 4 && a.value[1] == 0.25 && a.value[2] == -1.5);
  cvtm_csr_free(&a);

  assert_ok(parse("%%matrixmarket MATRIX coordinate integer symmetric\n2 2 2\n1 1 3\n2 1 -1\n", &a,
                  NULL));
  assert_int_equal(a.row_start[2], 3);
  assert_true(a.value[0] == 3 && a.value[1] == -1 && a.value[2] == -1);
  cvtm_csr_free(&a);

  assert_ok(
      parse("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 5\n", &a, NULL));
  assert_true(a.value[0] == -5 && a.value[1] == 5);
  cvtm_csr_free(&a);

  assert_ok(parse("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n2 1\n", &a, NULL));
  assert_true(a.value[0] == 1);
  cvtm_csr_free(&a);
}

static void expect_matrix(const char *text, int64_t rows, int64_t columns, const double *dense) {
  cvtm_csr a;
  assert_ok(parse(text, &a, NULL));
  assert_int_equal(a.rows, rows);
  assert_int_equal(a.columns, columns);
  for (int64_t i = 0, k = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const int is_stored = k < a.row_start[i + 1] && a.column[k] == j;
      assert_true((is_stored ? a.value[k] : 0) == dense[i * columns + j]);
      k += is_stored;
    }
    assert_int_equal(k, a.row_start[i + 1]);
  }
  cvtm_csr_free(&a);
}

#define ARRAY "%%MatrixMarket matrix array real "

TEST(matrix_market_arrays_go_column_by_column) {
  expect_matrix(ARRAY "general\n2 3\n1\n0\n3\n4\n5\n6\n", 2, 3, (double[]){1, 3, 5, 0, 4, 6});
  expect_matrix(ARRAY "symmetric\n2 2\n1\n2\n3\n", 2, 2, (double[]){1, 2, 2, 3});
  expect_matrix(ARRAY "skew-symmetric\n3 3\n1\n2\n3\n", 3, 3,
                (double[]){0, -1, -2, 1, 0, -3, 2, 3, 0});
}

TEST(matrix_market_adds_entries_and_reads_exponents_of_fortran) {
  expect_matrix(
      "%%MatrixMarket matrix coordinate real general\n2 2 4\n"
      "1 1 1.5D+00\n2 1 -2d-1\n1 1 2\n2 2 1D2\n",
      2, 2, (double[]){3.5, 0, -0.2, 100});
}

TEST(matrix_market_refusals) {
#define REAL "%%MatrixMarket matrix coordinate real general\n"
  static const char *const cases[][2] = {
      {"", "line 1: not a Matrix Market file"},
      {"%%MatrixMarket vector array real general\n1 1\n1\n", "line 1: only 'matrix coordinate'"},
      {"%%MatrixMarket matrix array pattern general\n1 1\n1\n", "line 1: entries are neither"},
      {"%%MatrixMarket matrix array real general\n2\n1\n", "line 2: not two whole numbers"},
      {"%%MatrixMarket matrix array real general\n99 99\n1\n", "more entries than the file"},
      {"%%MatrixMarket matrix array real general\n2 1\n1.00\n", "ends before its last entry"},
      {"%%MatrixMarket matrix array real general\n1 1\n1\n2\n", "line 4: more entries than"},
      {"%%MatrixMarket matrix coordinate complex general\n", "line 1: entries are neither"},
      {"%%MatrixMarket matrix coordinate real hermitian\n", "line 1: neither general"},
      {REAL, "line 2: the file ends before its size line"},
      {REAL "2 2\n", "line 2: not three whole numbers"},
      {REAL "0 0 0\n", "line 2: the matrix is empty"},
      {REAL "3000000000 3 1\n1 1 1\n", "line 2: a side is not below 2^31"},
      {REAL "2000000000 2000000000 1\n1 1 1\n", "line 2: nearly all rows"},
      {REAL "2 2 99\n1 1 1\n", "line 2: more entries than the file has room for"},
      {REAL "2 2 2\n1 1 1\n", "line 4: the file ends before its last entry"},
      {REAL "2 2 1\n1 1 1\n2 2 1\n", "line 4: more entries than the size line says"},
      {REAL "2 2 1\n3 1 1\n", "line 3: the row is out of range"},
      {REAL "2 2 1\n1 0 1\n", "line 3: the column is out of range"},
      {REAL "2 2 1\n1 1\n", "line 3: no number as the value"},
      {REAL "2 2 1\n1 1 x\n", "line 3: no number as the value"},
      {REAL "2 2 1\n1 1 nan\n", "line 3: the value is not finite"},
      {REAL "2 2 1\n1 1 1e999\n", "line 3: the value is not finite"},
      {REAL "2 2 1\n1 1 1 1\n", "line 3: something follows the entry"},
      {REAL "2 2 2\n1 1 1e308\n1 1 1e308\n", "row 1: the value in column 1 is inf"},
      {"%%MatrixMarket matrix coordinate real symmetric\n2 3 1\n1 1 1\n", "line 2: symmetric, but"},
      {"%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 1 1\n",
       "line 3: a diagonal"},
  };
#undef REAL
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; ++k) {
    cvtm_csr a;
    cvtm_error error = {CVTM_OK, ""};
    assert_int_equal(parse(cases[k][0], &a, &error), CVTM_ERROR_INPUT);
    assert_null(a.value);
    if (strstr(error.message, cases[k][1]) == NULL)
      fail_msg("'%s' does not say '%s'", error.message, cases[k][1]);
  }
}

TEST(matrix_market_round_trip) {
  char path[] = "/tmp/cvtmesh-test-XXXXXX";
  const int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  cvtm_csr a = random_matrix(40, 30, 21), back;
  cvtm_error error = {CVTM_OK, ""};
  a.value[0] = 1.0 / 3;
  a.value[1] = 4.9406564584124654e-324;
  assert_ok(cvtm_matrix_market_write(path, &a, &error));
  assert_ok(cvtm_matrix_market_read(path, &back, &error));
  assert_same(&a, &back);
  CALL_EACH(cvtm_csr_free, cvtm_csr, &a, &back);
  unlink(path);
  assert_int_equal(cvtm_matrix_market_read(path, &back, &error), CVTM_ERROR_INPUT);
}

TEST_ON_DEVICE(colourings_are_proper) {
  for (uint64_t seed = 0; seed < 3; ++seed) {
    cvtm_csr a = random_matrix(150, 150, 100 + seed); /* without any symmetry */
    cvtm_colouring colouring;
    cvtm_error error = {CVTM_OK, ""};
    assert_device_ok(device, cvtm_colouring_create(device, &a, &colouring));
    assert_ok(cvtm_colouring_check(&a, &colouring, 1, &error));
    int32_t order[150];
    int64_t start[151];
    cvtm_colouring_sort(&colouring, order, start);
    assert_int_equal(start[0], 0);
    assert_int_equal(start[colouring.count], 150);
    for (int32_t c = 0; c < colouring.count; ++c) {
      assert_true(start[c] < start[c + 1]);
      for (int64_t k = start[c]; k < start[c + 1]; ++k) {
        assert_int_equal(colouring.colour[order[k]], c);
        if (k > start[c]) assert_true(order[k] > order[k - 1]);
      }
    }
    /* A row with the colour of a neighbour is refused. */
    int64_t row = 0;
    while (a.row_start[row + 1] == a.row_start[row] || a.column[a.row_start[row]] == row) ++row;
    colouring.colour[row] = colouring.colour[a.column[a.row_start[row]]];
    assert_int_equal(cvtm_colouring_check(&a, &colouring, 1, &error), CVTM_ERROR_INPUT);
    assert_non_null(strstr(error.message, "has the colour of row"));
    colouring.colour[row] = colouring.count;
    assert_int_equal(cvtm_colouring_check(&a, &colouring, 1, &error), CVTM_ERROR_INPUT);
    cvtm_colouring_free(&colouring);
    cvtm_csr_free(&a);
  }
}

/* The rule is a function of the pattern alone, so both devices find the same colours: here,
 * what the definition gives one row at a time, heaviest first. */
TEST_ON_DEVICE(colouring_is_greedy_by_weight) {
  enum { ROWS = 40 };
  cvtm_csr a = random_matrix(ROWS, ROWS, 55);
  cvtm_colouring one, two;
  assert_device_ok(device, cvtm_colouring_create(device, &a, &one));
  assert_device_ok(device, cvtm_colouring_create(device, &a, &two));
  assert_memory_equal(one.colour, two.colour, ROWS * sizeof *one.colour);
  /* Every row has, for each smaller colour, a neighbour of that colour. */
  for (int64_t i = 0; i < ROWS; ++i) {
    for (int32_t colour = 0; colour < one.colour[i]; ++colour) {
      int met = 0;
      for (int64_t r = 0; r < ROWS; ++r) {
        for (int64_t k = a.row_start[r]; k < a.row_start[r + 1]; ++k) {
          const int64_t c = a.column[k];
          met |= (r == i && c != i && one.colour[c] == colour) ||
                 (c == i && r != i && one.colour[r] == colour);
        }
      }
      assert_true(met);
    }
  }
  cvtm_colouring_free(&one);
  cvtm_colouring_free(&two);
  cvtm_csr_free(&a);
}

TEST_DEVICE_MAIN()

#include "testing.h"

#include "base/npy.h"

#include <unistd.h>

/* A version 1 or 2 file of this dictionary and data in memory; the caller frees. */
static unsigned char *make(int version, const char *dictionary, const void *data, size_t data_size,
                           size_t *size) {
  size_t length = strlen(dictionary), prefix = version == 1 ? 10 : 12;
  unsigned char *bytes = calloc(1, prefix + length + data_size + 1);
  memcpy(bytes, "\x93NUMPY", 6);
  bytes[6] = (unsigned char)version;
  bytes[8] = (unsigned char)(length & 255);
  bytes[9] = (unsigned char)(length >> 8);
  memcpy(bytes + prefix, dictionary, length);
  if (data_size > 0) memcpy(bytes + prefix + length, data, data_size);
  *size = prefix + length + data_size;
  return bytes;
}

static cvtm_status parse(const char *dictionary, const void *data, size_t data_size,
                         cvtm_npy *array, cvtm_error *error) {
  size_t size;
  unsigned char *bytes = make(1, dictionary, data, data_size, &size);
  /* A copy of the exact size, so that a sanitizer sees any read behind the end. */
  unsigned char *exact = malloc(size);
  memcpy(exact, bytes, size);
  free(bytes);
  cvtm_status status = cvtm_npy_parse(exact, size, "t.npy", array, error);
  free(exact);
  return status;
}

TEST(what_is_written_reads_back) {
  static const struct {
    char kind;
    int item;
  } types[] = {{'f', 4}, {'f', 8}, {'i', 1}, {'i', 2}, {'i', 4}, {'i', 8},
               {'u', 1}, {'u', 2}, {'u', 4}, {'u', 8}, {'b', 1}};
  char path[] = "/tmp/cvtmesh-test-XXXXXX";
  close(mkstemp(path));
  unsigned char data[24 * 8];
  for (size_t k = 0; k < sizeof data; ++k) data[k] = (unsigned char)(k * 37 + 11);
  for (int dimensions = 0; dimensions <= 4; ++dimensions) {
    const int64_t shapes[5][4] = {{0}, {24}, {3, 8}, {2, 3, 4}, {2, 3, 2, 2}};
    for (size_t t = 0; t < sizeof types / sizeof types[0]; ++t) {
      cvtm_npy array;
      assert_ok(cvtm_npy_write(path, types[t].kind, types[t].item, dimensions, shapes[dimensions],
                               data, NULL));
      assert_ok(cvtm_npy_read(path, &array, NULL));
      assert_int_equal(array.kind, types[t].kind);
      assert_int_equal(array.item, types[t].item);
      assert_int_equal(array.dimensions, dimensions);
      assert_int_equal(array.count, dimensions == 0 ? 1 : 24);
      for (int k = 0; k < dimensions; ++k) assert_int_equal(array.shape[k], shapes[dimensions][k]);
      assert_memory_equal(array.data, data, (size_t)array.count * (size_t)array.item);
      cvtm_npy_free(&array);
    }
  }
  remove(path);
}

TEST(values_convert_to_double) {
  cvtm_npy a;
  const unsigned char big[] = {0xc0, 0x09, 0x21, 0xfb, 0x54, 0x44, 0x2d, 0x18};
  assert_ok(parse("{'descr': '>f8', 'fortran_order': False, 'shape': (1,), }", big, 8, &a, NULL));
  assert_true(cvtm_npy_get(&a, 0) == -3.141592653589793);
  cvtm_npy_free(&a);
  const unsigned char shorts[] = {0xff, 0xfe, 0x01, 0x02};
  assert_ok(
      parse("{\"shape\":(2L,),\"descr\":\">i2\",\"fortran_order\":False}", shorts, 4, &a, NULL));
  assert_true(cvtm_npy_get(&a, 0) == -2 && cvtm_npy_get(&a, 1) == 258);
  cvtm_npy_free(&a);
  const unsigned char bytes[] = {0, 7};
  assert_ok(parse("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", bytes, 2, &a, NULL));
  assert_true(cvtm_npy_get(&a, 0) == 0 && cvtm_npy_get(&a, 1) == 1);
  cvtm_npy_free(&a);
  const unsigned char large[] = {255, 255, 255, 255, 255, 255, 255, 255};
  assert_ok(parse("{'descr': '<u8', 'fortran_order': False, 'shape': (1,), }", large, 8, &a, NULL));
  assert_true(cvtm_npy_get(&a, 0) == 0x1p64);
  cvtm_npy_free(&a);
}

TEST(halves_become_floats) {
  cvtm_npy a;
  const unsigned char halves[] = {0x00, 0x3c, 0x01, 0x80, 0xff, 0x7b, 0x00, 0xfc, 0x01, 0x7e};
  assert_ok(
      parse("{'descr': '<f2', 'fortran_order': False, 'shape': (5,), }", halves, 10, &a, NULL));
  assert_int_equal(a.item, 4);
  assert_true(cvtm_npy_get(&a, 0) == 1);
  assert_true(cvtm_npy_get(&a, 1) == -0x1p-24);
  assert_true(cvtm_npy_get(&a, 2) == 65504);
  assert_true(cvtm_npy_get(&a, 3) == -(double)INFINITY);
  assert_true(isnan(cvtm_npy_get(&a, 4)));
  cvtm_npy_free(&a);
}

TEST(fortran_order_is_transposed) {
  cvtm_npy a;
  unsigned char data[24];
  /* Element (i, j, k) of shape (2, 3, 4) is at i + 2 (j + 3 k) and is worth 12 i + 4 j + k. */
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k) data[i + 2 * (j + 3 * k)] = (unsigned char)(12 * i + 4 * j + k);
  }
  assert_ok(
      parse("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 4), }", data, 24, &a, NULL));
  for (int i = 0; i < 24; ++i) assert_true(cvtm_npy_get(&a, i) == i);
  cvtm_npy_free(&a);
}

TEST(empty_arrays_are_arrays) {
  cvtm_npy a;
  assert_ok(
      parse("{'descr': '<f8', 'fortran_order': True, 'shape': (0, "
            "9223372036854775807, 9223372036854775807), }",
            NULL, 0, &a, NULL));
  assert_int_equal(a.count, 0);
  cvtm_npy_free(&a);
}

TEST(bad_headers_are_refused) {
  static const char *const headers[] = {
      "",
      "{}",
      "{'descr': '<f8', 'fortran_order': False}",
      "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)",
      "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)} x",
      "{'descr': '<f8', 'fortran_order': False, 'shape': (1 1)}",
      "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}",
      "{'descr': '<f8', 'fortran_order': False, 'shape': 1}",
      "{'descr': '<f8', 'fortran_order': False, 'shape': (1,1,1,1,1)}",
      "{'descr': '<f8', 'fortran_order': Maybe, 'shape': (1,)}",
      "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (1,)}",
      "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'x': 1}",
      "{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}",
      "{'descr': '<f3', 'fortran_order': False, 'shape': (1,)}",
      "{'descr': '<f16', 'fortran_order': False, 'shape': (1,)}",
      "{'descr': '|f8', 'fortran_order': False, 'shape': (1,)}",
      "{'descr': '|O8', 'fortran_order': False, 'shape': (1,)}",
      "{'descr': [('x', '<f8')], 'fortran_order': False, 'shape': (1,)}",
      "{'descr': '<f8, 'fortran_order': False, 'shape': (1,)}",
      "{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}",
      "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 2)}",
      "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
      "{'descr': '<f8', 'fortran_order': False, 'shape': (3037000500, 3037000500, 2)}",
      "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,)}",
  };
  const double one = 1;
  for (size_t k = 0; k < sizeof headers / sizeof headers[0]; ++k) {
    cvtm_npy a;
    cvtm_error error;
    assert_int_equal(parse(headers[k], &one, sizeof one, &a, &error), CVTM_ERROR_INPUT);
    assert_null(a.data);
    assert_int_equal(strncmp(error.message, "t.npy: ", 7), 0);
  }
}

TEST(truncated_files_are_refused) {
  const double two[] = {1, 2};
  for (int version = 1; version <= 2; ++version) {
    size_t size;
    unsigned char *bytes =
        make(version, "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }\n", two,
             sizeof two, &size);
    for (size_t cut = 0; cut <= size; ++cut) {
      cvtm_npy a;
      unsigned char *exact = malloc(cut + 1);
      memcpy(exact, bytes, cut);
      cvtm_status status = cvtm_npy_parse(exact, cut, "t.npy", &a, NULL);
      assert_int_equal(status, cut == size ? CVTM_OK : CVTM_ERROR_INPUT);
      cvtm_npy_free(&a);
      free(exact);
    }
    free(bytes);
  }
}

TEST(files_that_fail_are_named) {
  cvtm_npy a;
  cvtm_error error;
  const int64_t shape[] = {1};
  const double one = 1;
  assert_int_equal(cvtm_npy_read("/tmp/cvtmesh-absent.npy", &a, &error), CVTM_ERROR_INPUT);
  assert_non_null(strstr(error.message, "/tmp/cvtmesh-absent.npy: No such file"));
  assert_int_equal(cvtm_npy_write("/dev/full", 'f', 8, 1, shape, &one, &error), CVTM_ERROR_IO);
  assert_int_equal(cvtm_npy_write("/absent/a.npy", 'f', 8, 1, shape, &one, &error), CVTM_ERROR_IO);
}

TEST_MAIN()

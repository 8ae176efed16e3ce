#include "testing.h"

#include "base/file.h"

#include "base/npy.h"

#include <unistd.h>

TEST(a_file_is_read_from_memory) {
  const cvtm_memory_file file = {"<image>", "contents", 8};
  const cvtm_memory_files files = {&file, NULL, 1, 0};
  unsigned char *bytes = NULL;
  size_t size = 0;
  cvtm_memory_files_use(&files);
  assert_ok(cvtm_file_read("<image>", 8, &bytes, &size, NULL));
  assert_int_equal(size, 8);
  assert_string_equal((char *)bytes, "contents");
  free(bytes);
  assert_int_equal(cvtm_file_read("<image>", 7, &bytes, &size, NULL), CVTM_ERROR_INPUT);
  assert_int_equal(cvtm_file_read("<other>", 8, &bytes, &size, NULL), CVTM_ERROR_INPUT);
  cvtm_memory_files_use(NULL);
  assert_int_equal(cvtm_file_read("<image>", 8, &bytes, &size, NULL), CVTM_ERROR_INPUT);
}

TEST(a_written_array_is_read_again) {
  cvtm_memory_output output = {"<labels>.npy", NULL, 0, NULL};
  const cvtm_memory_files written = {NULL, &output, 0, 1};
  const int32_t labels[6] = {0, 1, -1, 7, 5, 3};
  const int64_t shape[2] = {2, 3};
  cvtm_memory_files_use(&written);
  assert_ok(cvtm_npy_write("<labels>.npy", 'i', 4, 2, shape, labels, NULL));
  assert_int_equal(access("<labels>.npy", F_OK), -1);
  const cvtm_memory_file again = {"<labels>.npy", output.bytes, output.size};
  const cvtm_memory_files read = {&again, NULL, 1, 0};
  cvtm_npy array;
  cvtm_memory_files_use(&read);
  assert_ok(cvtm_npy_read("<labels>.npy", &array, NULL));
  assert_memory_equal(array.data, labels, sizeof labels);
  cvtm_npy_free(&array);
  cvtm_memory_files_use(NULL);
  free(output.bytes);
}

TEST(elements_are_handed_over_without_a_file) {
  cvtm_npy array = {0};
  cvtm_memory_output output = {"<labels>.npy", NULL, 0, &array};
  const cvtm_memory_files written = {NULL, &output, 0, 1};
  const int32_t labels[6] = {0, 1, -1, 7, 5, 3};
  cvtm_memory_files_use(&written);
  for (int64_t rows = 3; rows > 1; --rows) { /* the second array replaces the first */
    const int64_t shape[2] = {rows, 6 / rows};
    assert_ok(cvtm_npy_write("<labels>.npy", 'i', 4, 2, shape, labels, NULL));
    assert_int_equal(array.shape[0], rows);
  }
  cvtm_memory_files_use(NULL);
  assert_null(output.bytes);
  assert_int_equal(array.kind, 'i');
  assert_int_equal(array.count, 6);
  assert_memory_equal(array.data, labels, sizeof labels);
  cvtm_npy_free(&array);
}

TEST(an_aborted_output_leaves_nothing) {
  cvtm_memory_output output = {"<report>.json", NULL, 0, NULL};
  const cvtm_memory_files files = {NULL, &output, 0, 1};
  cvtm_output *opened = NULL;
  cvtm_memory_files_use(&files);
  assert_ok(cvtm_output_open("<report>.json", &opened, NULL));
  fputs("{}", cvtm_output_stream(opened));
  cvtm_output_abort(opened);
  assert_null(output.bytes);
  for (int k = 0; k < 2; ++k) { /* the second text replaces the first */
    assert_ok(cvtm_output_open("<report>.json", &opened, NULL));
    fprintf(cvtm_output_stream(opened), "%d", k);
    assert_ok(cvtm_output_commit(opened, NULL));
  }
  assert_string_equal(output.bytes, "1");
  cvtm_memory_files_use(NULL);
  free(output.bytes);
}

TEST_MAIN()

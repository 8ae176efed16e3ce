#include "base/host.h"

#include "tests/testing.h"

TEST(scratch_memory_is_freed_together) {
  cvtm_scratch scratch = {0};
  const int *zeros = cvtm_scratch_zeros(&scratch, 1000, sizeof *zeros);
  assert_non_null(zeros);
  for (int k = 0; k < 1000; ++k) assert_int_equal(zeros[k], 0);
  assert_non_null(cvtm_scratch_take(&scratch, 0, sizeof(double)));
  assert_false(scratch.failed);
  assert_null(cvtm_scratch_take(&scratch, SIZE_MAX / 2, sizeof(double)));
  assert_true(scratch.failed);
  cvtm_scratch_free(&scratch);
  assert_true(scratch.count == 0 && !scratch.failed);
}

TEST(scratch_memory_has_a_limited_number_of_blocks) {
  cvtm_scratch scratch = {0};
  for (int k = 0; k < CVTM_SCRATCH_BLOCKS; ++k) assert_non_null(cvtm_scratch_take(&scratch, 1, 1));
  assert_false(scratch.failed);
  assert_null(cvtm_scratch_zeros(&scratch, 1, 1));
  assert_true(scratch.failed);
  cvtm_scratch_free(&scratch);
}

TEST(items_are_listed_by_key) {
  const int32_t key[] = {2, 0, 2, 3, 0, 2};
  const int64_t begin[] = {0, 2, 2, 5, 6}, items[] = {1, 4, 0, 2, 5, 3};
  int64_t start[6] = {0}, list[6];
  cvtm_list_by_key(key, 6, 4, start, list);
  assert_memory_equal(start, begin, sizeof begin);
  assert_memory_equal(list, items, sizeof items);
}

TEST(the_smallest_number_is_the_root) {
  int32_t parent[] = {0, 1, 2, 3, 4};
  assert_true(cvtm_join_trees(parent, 4, 2));
  assert_true(cvtm_join_trees(parent, 1, 4));
  assert_false(cvtm_join_trees(parent, 2, 1));
  assert_int_equal(cvtm_root_of(parent, 4), 1);
  assert_int_equal(cvtm_root_of(parent, 3), 3);
}

TEST(structs_are_compared_by_their_first_fields) {
  const int32_t a[] = {1, -2, 3, 4}, b[] = {1, -2, 3, 5};
  assert_int_equal(cvtm_compare_three(a, b), 0);
  assert_int_equal(cvtm_compare_four(a, b), -1);
  assert_int_equal(cvtm_compare_two(b + 1, a), -1);
}

TEST_MAIN()

/* Handles that share a machine: memory comes back whole however often it is freed and taken. */
#include "test_devices.h"

enum { HANDLES = 3, ROUNDS = 50 };

/* Blocks of several handles, freed and allocated in turn, keep their own bytes. */
TEST(test_blocks_are_apart) {
  cvtm_device *device[HANDLES];
  unsigned char *host = malloc(100000);
  assert_non_null(host);
  for (int k = 0; k < HANDLES; ++k) {
    device[k] = test_device_open_threads(1);
    assert_ok(cvtm_device_share(device[k]));
  }
  for (int round = 0; round < ROUNDS; ++round) {
    void *block[HANDLES][2];
    const size_t bytes = (size_t)(round * 1999 + 1);
    for (int k = 0; k < HANDLES; ++k)
      for (int b = 0; b < 2; ++b) {
        assert_ok(cvtm_device_allocate(device[k], (int64_t)bytes, 1, &block[k][b]));
        assert_ok(cvtm_device_fill(device[k], block[k][b], round + 2 * k + b, bytes));
      }
    for (int k = 0; k < HANDLES; ++k)
      for (int b = 0; b < 2; ++b) {
        assert_ok(cvtm_device_copy_out(device[k], host, block[k][b], bytes));
        assert_int_equal(host[0], round + 2 * k + b);
        assert_int_equal(memcmp(host, host + 1, bytes - 1), 0);
        cvtm_device_free(device[k], block[k][b]);
      }
  }
  for (int k = 0; k < HANDLES; ++k) cvtm_device_destroy(device[k]);
  free(host);
}

/* Scratch, and nothing at all, come from the same place. */
TEST(test_scratch_and_nothing) {
  cvtm_device *device = test_device_open_threads(1);
  assert_ok(cvtm_device_share(device));
  void *scratch = NULL, *nothing = NULL;
  assert_ok(cvtm_device_scratch(device, 1000, &scratch));
  assert_ok(cvtm_device_scratch(device, 100000, &scratch));
  assert_ok(cvtm_device_fill(device, scratch, 1, 100000));
  assert_ok(cvtm_device_allocate(device, 0, 8, &nothing));
  assert_non_null(nothing);
  assert_ok(cvtm_device_synchronize(device));
  cvtm_device_free(device, nothing);
  cvtm_device_destroy(device);
}

/* Mapped memory is clear whenever it is taken, and two blocks are two. */
TEST(test_mapped_blocks_are_apart) {
  cvtm_device *device = test_device_open_threads(1);
  assert_ok(cvtm_device_share(device));
  for (size_t bytes = 8; bytes <= 8000; bytes *= 10) {
    void *host[2], *mapped[2];
    for (int b = 0; b < 2; ++b) {
      assert_ok(cvtm_device_allocate_mapped(device, bytes, &host[b], &mapped[b]));
      for (size_t k = 0; k < bytes; ++k) assert_int_equal(((const char *)host[b])[k], 0);
      assert_ok(cvtm_device_fill(device, mapped[b], b + 1, bytes));
      assert_ok(cvtm_device_synchronize(device));
    }
    for (int b = 0; b < 2; ++b)
      for (size_t k = 0; k < bytes; ++k) assert_int_equal(((const char *)host[b])[k], b + 1);
    cvtm_device_free_mapped(device, host[0]);
    assert_ok(cvtm_device_allocate_mapped(device, bytes / 2, &host[0], &mapped[0]));
    for (size_t k = 0; k < bytes / 2; ++k) assert_int_equal(((const char *)host[0])[k], 0);
    for (int b = 0; b < 2; ++b) cvtm_device_free_mapped(device, host[b]);
  }
  cvtm_device_destroy(device);
}

TEST_MAIN()

/* NCCL with one rank: the transport starts, works on the device's stream, and changes nothing. Two
 * ranks need two devices. */
#include "base/cuda_libraries.h"
#include "tests/test_devices.h"

enum { COUNT = 1000 };

TEST(test_one_rank) {
  cvtm_device *device = test_device_open();
  cvtm_nccl *nccl = NULL;
  if (cvtm_nccl_load(device, &nccl) == CVTM_ERROR_UNSUPPORTED) {
    cvtm_device_destroy(device);
    skip();
  }
  char id[CVTM_NCCL_ID_BYTES];
  double numbers[COUNT], back[COUNT];
  const int64_t counts[1] = {COUNT};
  for (int k = 0; k < COUNT; ++k) numbers[k] = 1.0 / (k + 1);
  assert_device_ok(device, cvtm_nccl_make_id(nccl, id));
  assert_device_ok(device, cvtm_nccl_join(nccl, id, 0, 1));
  void *memory = copied_in(device, numbers, COUNT, sizeof(double));
  assert_device_ok(device, cvtm_nccl_gather(nccl, memory, counts));
  assert_copy_out(device, back, memory, sizeof back);
  assert_memory_equal(back, numbers, sizeof numbers);
  cvtm_device_free(device, memory);
  cvtm_nccl_close(nccl);
  cvtm_device_destroy(device);
}

TEST_MAIN()

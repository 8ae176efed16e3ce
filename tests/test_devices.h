/* What every test that runs on devices includes: cmocka, and a device chosen by
 * the environment. CTest runs such a test once with CVTMESH_TEST_DEVICE unset (the
 * CPU) and once with `cuda`, where a machine without a GPU makes it skip (exit 77). */
#ifndef CVTMESH_TESTS_TEST_DEVICES_H
#define CVTMESH_TESTS_TEST_DEVICES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/device.h"

enum { TEST_SKIPPED = 77 };

/* CVTMESH_TEST_FILTER: only the tests whose names match, with * and ? (cmocka_set_test_filter).
 * Under compute-sanitizer a test program can take minutes, and one of its tests seconds. */
__attribute__((constructor)) static void test_filter(void) {
  const char *pattern = getenv("CVTMESH_TEST_FILTER");
  if (pattern && *pattern) cmocka_set_test_filter(pattern);
}

static inline const char *test_device_name(void) {
  const char *name = getenv("CVTMESH_TEST_DEVICE");
  return name && *name ? name : "cpu";
}

/* threads as in cvtm_device_create. Never returns NULL. */
static inline cvtm_device *test_device_open_threads(int threads) {
  cvtm_device *device = NULL;
  cvtm_error error = {CVTM_OK, ""};
  const cvtm_status status = cvtm_device_create(test_device_name(), threads, &device, &error);
  if (status == CVTM_ERROR_DEVICE_UNAVAILABLE) {
    fprintf(stderr, "skipped: %s\n", error.message);
    exit(TEST_SKIPPED);
  }
  if (status != CVTM_OK) {
    fprintf(stderr, "%s: %s\n", test_device_name(), error.message);
    exit(EXIT_FAILURE);
  }
  return device;
}

static inline cvtm_device *test_device_open(void) { return test_device_open_threads(0); }

/* Whether loops become graphs: on CUDA, unless the environment has the host drive them. */
static inline int test_device_captures(const cvtm_device *device) {
  const char *host = getenv("CVTMESH_HOST_LOOPS");
  return cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA && !(host && strcmp(host, "1") == 0);
}

/* Fails the test with the device's message unless status is CVTM_OK. */
#define assert_device_ok(device, expression)                                \
  do {                                                                      \
    const cvtm_status assert_status_ = (expression);                        \
    if (assert_status_ != CVTM_OK) {                                        \
      fail_msg("%s: %s: %s", #expression, cvtm_status_text(assert_status_), \
               cvtm_device_error(device)->message);                         \
    }                                                                       \
  } while (0)

#endif

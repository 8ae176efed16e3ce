/* Every CUDA call of a solve fails once: the solve returns an error that names the call, device
 * memory is as before, and the next solve on a new handle gives the bits of one without faults. */
#include "tests/test_devices.h"

#include "cvt/cvt.h"
#include "cvt/equal_mass.h"

#if CVTMESH_HAVE_CUDA
#include <cuda_runtime_api.h>

/* base/cuda_utils.h, which only .cu files include. */
void cvtm_cuda_fail_call(int64_t n);

enum { SIDE = 40, AREA = SIDE * SIDE, SITES = 60, MOST_CALLS = 20000 };

typedef struct outcome {
  double sites[2 * SITES], weights[SITES];
  cvtm_error error;
} outcome;

typedef cvtm_status (*solve)(cvtm_cvt *cvt, outcome *o);

static cvtm_status solve_plain(cvtm_cvt *cvt, outcome *o) {
  DEFAULT_OPTIONS(cvtm_cvt, options);
  cvtm_cvt_result result;
  options.max_iterations = 12;
  return cvtm_cvt_solve(cvt, &options, 0, o->sites, SITES, &result);
}

static cvtm_status solve_pixel(cvtm_cvt *cvt, outcome *o) {
  DEFAULT_OPTIONS(cvtm_cvt, options);
  cvtm_cvt_result result;
  options.energy = CVTM_CVT_PIXEL;
  options.voronoi = CVTM_VORONOI_JFA;
  options.effort = CVTM_CVT_EFFORT_LOW;
  options.max_iterations = 6;
  return cvtm_cvt_solve(cvt, &options, 0, o->sites, SITES, &result);
}

static cvtm_status solve_equal_mass(cvtm_cvt *cvt, outcome *o) {
  DEFAULT_OPTIONS(cvtm_cvt, options);
  cvtm_equal_mass_result result;
  options.effort = CVTM_CVT_EFFORT_LOW;
  options.max_iterations = 3;
  return cvtm_equal_mass_solve(cvt, &options, 1e-6, 0, o->sites, o->weights, SITES, NULL, &result);
}

/* The whole life of a handle, with call k failing. */
static cvtm_status run(solve how, int64_t k, outcome *o) {
  float density[AREA];
  cvtm_device *device = NULL;
  cvtm_cvt *cvt = NULL;
  const cvtm_domain domain = {SIDE, SIDE, 0};
  for (int p = 0; p < AREA; ++p) density[p] = (float)(1 + p % SIDE);
  memset(o, 0, sizeof *o);
  cvtm_cuda_fail_call(k);
  cvtm_status status = cvtm_device_create("cuda", 0, &device, &o->error);
  if (status == CVTM_OK) {
    status = cvtm_cvt_create(device, domain, density, SITES, &cvt);
    if (status == CVTM_OK) status = how(cvt, o);
    o->error = *cvtm_device_error(device);
    cvtm_cvt_destroy(cvt);
  }
  cvtm_device_destroy(device);
  cvtm_cuda_fail_call(0);
  return status;
}

static size_t free_memory(void) {
  size_t unused = 0, all = 0;
  assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
  assert_int_equal(cudaMemGetInfo(&unused, &all), cudaSuccess);
  return unused;
}

/* How many calls failed the solve: about as many each time, since the host polls. */
static int64_t fail_every_call(solve how, const outcome *clean) {
  static outcome faulty;
  int64_t k = 1, failures = 0;
  for (int unharmed = 0; unharmed < 20 && k < MOST_CALLS; ++k) {
    const cvtm_status status = run(how, k, &faulty);
    if (status == CVTM_OK) {
      /* Beyond the last call, or a call whose failure does not matter: the same result. */
      assert_memory_equal(faulty.sites, clean->sites, sizeof clean->sites);
      assert_memory_equal(faulty.weights, clean->weights, sizeof clean->weights);
      ++unharmed;
      continue;
    }
    unharmed = 0;
    ++failures;
    assert_true(faulty.error.message[0] != '\0');
    assert_int_equal(faulty.error.status, status);
  }
  assert_true(k < MOST_CALLS);
  return failures;
}

/* Twice: what CUDA keeps for kernels and graphs at their first use is there after the first time.
 */
static void check_failures(solve how) {
  static outcome clean, again;
  assert_ok(run(how, 0, &clean));
  assert_true(fail_every_call(how, &clean) > 50);
  const size_t before = free_memory();
  assert_true(fail_every_call(how, &clean) > 50);
  /* A leak of a single array at every failure would be more: CUDA takes pages of 2 MiB. */
  assert_true(free_memory() + (4 << 20) >= before);
  assert_ok(run(how, 0, &again));
  assert_memory_equal(again.sites, clean.sites, sizeof clean.sites);
}

TEST(test_plain) { check_failures(solve_plain); }

TEST(test_pixel) { check_failures(solve_pixel); }

TEST(test_equal_mass) { check_failures(solve_equal_mass); }
#endif

int main(void) {
#if CVTMESH_HAVE_CUDA
  if (strcmp(test_device_name(), "cpu") == 0) return TEST_SKIPPED;
  cvtm_device_destroy(test_device_open()); /* skips the test where there is no GPU */
  return cmocka_run_group_tests(testing_tests, NULL, NULL);
#else
  return TEST_SKIPPED;
#endif
}

#include "base/random.h"

#include "tests/test_devices.h"

/* The known answers that come with Salmon et al.'s Random123. */
TEST(philox_gives_the_published_answers) {
  static const uint32_t counters[3][4] = {
      {0, 0, 0, 0},
      {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
      {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
  };
  static const uint32_t keys[3][2] = {{0, 0}, {0xffffffff, 0xffffffff}, {0xa4093822, 0x299f31d0}};
  static const uint32_t answers[3][4] = {
      {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
      {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
      {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
  };
  for (int i = 0; i < 3; ++i) {
    uint32_t word[4] = {counters[i][0], counters[i][1], counters[i][2], counters[i][3]};
    cvtm_philox(word, keys[i][0], keys[i][1]);
    assert_memory_equal(word, answers[i], sizeof word);
  }
}

TEST(words_are_laid_out_as_documented) {
  uint64_t bits[2];
  cvtm_random_bits(UINT64_C(0x299f31d0a4093822), UINT64_C(0x0370734413198a2e),
                   UINT64_C(0x85a308d3243f6a88), bits);
  assert_true(bits[0] == UINT64_C(0x94fdccebd16cfe09));
  assert_true(bits[1] == UINT64_C(0x24126ea15001e420));
}

TEST(unit_numbers_stay_below_one) {
  assert_true(cvtm_random_to_unit(0) == 0.0);
  assert_true(cvtm_random_to_unit(2047) == 0.0);
  assert_true(cvtm_random_to_unit(2048) == ldexp(1, -53));
  assert_true(cvtm_random_to_unit(UINT64_MAX) == 1 - ldexp(1, -53));
}

TEST(directions_are_those_of_the_circle) {
  for (int k = 0; k <= 1000; ++k) {
    double direction[2];
    cvtm_random_direction(k / 1000.0, direction);
    assert_true(fabs(direction[0] - cos(6.283185307179586 * (k / 1000.0))) < 1e-15);
    assert_true(fabs(direction[1] - sin(6.283185307179586 * (k / 1000.0))) < 1e-15);
  }
}

TEST(pairs_begin_with_the_single_number) {
  for (uint64_t i = 0; i < 100; ++i) {
    double pair[2];
    cvtm_random_uniform2(7, 3, i, pair);
    assert_true(pair[0] == cvtm_random_uniform(7, 3, i));
    assert_true(pair[0] != pair[1]);
  }
}

/* Mean 1/2 and variance 1/12 within five standard deviations, and a chi-square over 64 bins. */
TEST(numbers_are_uniform) {
  enum { N = 100000, BINS = 64 };
  int64_t bins[BINS] = {0};
  double sum = 0, squares = 0, neighbours = 0, previous = 0.5;
  for (uint64_t i = 0; i < N; ++i) {
    const double u = cvtm_random_uniform(2024, 5, i);
    assert_true(u >= 0 && u < 1);
    sum += u;
    squares += (u - 0.5) * (u - 0.5);
    neighbours += (u - 0.5) * (previous - 0.5);
    previous = u;
    ++bins[(int)(u * BINS)];
  }
  assert_true(fabs(sum / N - 0.5) < 5 * sqrt(1.0 / 12 / N));
  assert_true(fabs(squares / N - 1.0 / 12) < 5 * sqrt(1.0 / 180 / N));
  assert_true(fabs(neighbours / N) < 5 / 12.0 / sqrt(N));
  double chi = 0;
  for (int b = 0; b < BINS; ++b) {
    const double off = (double)bins[b] - (double)N / BINS;
    chi += off * off / ((double)N / BINS);
  }
  assert_true(chi > 20 && chi < 130); /* 63 degrees of freedom: far beyond 5 sigma outside */
}

TEST(seeds_and_streams_differ) {
  for (uint64_t i = 0; i < 100; ++i) {
    const double u = cvtm_random_uniform(1, 0, i);
    assert_true(u != cvtm_random_uniform(2, 0, i));
    assert_true(u != cvtm_random_uniform(1, 1, i));
    assert_true(u != cvtm_random_uniform(1, UINT64_C(1) << 32, i));
    assert_true(u != cvtm_random_uniform(UINT64_C(1) << 32 | 1, 0, i));
    assert_true(u != cvtm_random_uniform(1, 0, i | UINT64_C(1) << 32));
  }
}

#if CVTMESH_HAVE_CUDA
cvtm_status test_draw_cuda(cvtm_device *device, uint64_t seed, uint64_t stream, int64_t count,
                           double *numbers);
#endif

static cvtm_status draw(cvtm_device *device, uint64_t seed, uint64_t stream, int64_t count,
                        double *numbers) {
#if CVTMESH_HAVE_CUDA
  if (cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA)
    return test_draw_cuda(device, seed, stream, count, numbers);
#endif
  (void)device;
  for (int64_t i = 0; i < count; ++i) numbers[i] = cvtm_random_uniform(seed, stream, (uint64_t)i);
  return CVTM_OK;
}

/* Drawn on the device, compared with the host's. */
TEST_ON_DEVICE(every_device_draws_the_same_bits) {
  enum { N = 10001 };
  static double host[N];
  const uint64_t seed = UINT64_C(0xfedcba9876543210);
  const uint64_t stream = UINT64_C(0x0123456789abcdef);
  void *numbers = device_array(device, N, sizeof(double));
  assert_device_ok(device, draw(device, seed, stream, N, numbers));
  assert_copy_out(device, host, numbers, sizeof host);
  for (int i = 0; i < N; ++i)
    assert_true(host[i] == cvtm_random_uniform(seed, stream, (uint64_t)i));
  cvtm_device_free(device, numbers);
}

TEST_DEVICE_MAIN()

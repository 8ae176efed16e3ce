/* The density that equal dots of a drawing take from ink: even where ink is even, and that of the
 * mean ink where ink is dithered. */
#include "testing.h"

#include "cvt/local_mean.h"

#include <math.h>
#include <string.h>

enum { SIDE = 96, PIXELS = SIDE * SIDE };

static float rho[PIXELS];

static void average(double count, int periodic) {
  const cvtm_domain domain = {SIDE, SIDE, periodic};
  cvtm_error error = {CVTM_OK, ""};
  assert_int_equal(cvtm_density_of_local_mean(domain, count, rho, &error), CVTM_OK);
}

TEST(even_ink_does_not_change) {
  for (int periodic = 0; periodic < 2; ++periodic) {
    for (int p = 0; p < PIXELS; ++p) rho[p] = 0.09F;
    average(100, periodic);
    for (int p = 0; p < PIXELS; ++p) assert_true(fabsf(rho[p] - 0.09F) < 1e-6F);
  }
}

/* One pixel in four is black: the mean ink is 1/4, so its square, 1/16, is the mean density. A
 * torus has no sides, where squares are cut off. */
TEST(dithered_ink_has_the_density_of_its_mean) {
  static const double counts[] = {40, 100, 300};
  for (size_t k = 0; k < sizeof counts / sizeof counts[0]; ++k) {
    double sum = 0;
    for (int p = 0; p < PIXELS; ++p) rho[p] = (float)(p % 2 == 0 && p / SIDE % 2 == 0);
    average(counts[k], 1);
    for (int p = 0; p < PIXELS; ++p) sum += (double)rho[p];
    assert_true(fabs(sum / PIXELS * 16 - 1) < 0.05); /* cells of 15, 10 and 5.5 pixels */
    assert_true(rho[1] == 0 && rho[SIDE] == 0);      /* white stays white */
  }
}

/* On a torus the result does not depend on where the ink is. */
TEST(periodic_ink_may_be_shifted) {
  static float first[PIXELS];
  for (int shift = 0; shift < SIDE; shift += 37) {
    for (int j = 0; j < SIDE; ++j)
      for (int i = 0; i < SIDE; ++i)
        rho[j * SIDE + (i + shift) % SIDE] = i < 20 ? 1 : (float)(i + j) / (4 * SIDE);
    average(60, 1);
    if (shift == 0) memcpy(first, rho, sizeof first);
    for (int j = 0; j < SIDE; ++j)
      for (int i = 0; i < SIDE; ++i)
        assert_true(fabsf(rho[j * SIDE + (i + shift) % SIDE] - first[j * SIDE + i]) < 1e-5F);
  }
}

/* Cells of a few pixels have no ink to average. */
TEST(small_cells_keep_the_density) {
  for (int p = 0; p < PIXELS; ++p) rho[p] = (float)(p % 2);
  average(PIXELS / 3.0, 0);
  for (int p = 0; p < PIXELS; ++p) assert_true(rho[p] == (float)(p % 2));
}

TEST_MAIN()

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
  assert_int_equal(cvtm_density_of_local_mean(domain, count, NULL, rho, &error), CVTM_OK);
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

/* Discs on a triangular lattice, counted at many points. */
TEST(discs_that_overlap) {
  enum { STEPS = 400 };
  assert_true(cvtm_ink_needed(CVTM_INK_DISCS, 0.3) == 0.3 &&
              cvtm_ink_needed(CVTM_INK_DISCS, 0) == 0);
  for (double coverage = 0.91; coverage <= 1; coverage += 0.015) {
    const double discs = cvtm_ink_needed(CVTM_INK_DISCS, coverage);
    const double radius = sqrt(discs * sqrt(0.75) / acos(-1)); /* the sides are 1 */
    int hits = 0;
    for (int j = 0; j < STEPS; ++j) {
      for (int i = 0; i < STEPS; ++i) {
        const double v = (j + 0.5) / STEPS, x = (i + 0.5) / STEPS + 0.5 * v, y = sqrt(0.75) * v;
        const double corners[4][2] = {{0, 0}, {1, 0}, {0.5, sqrt(0.75)}, {1.5, sqrt(0.75)}};
        int is_hit = 0;
        for (int k = 0; k < 4; ++k) is_hit |= hypot(x - corners[k][0], y - corners[k][1]) < radius;
        hits += is_hit;
      }
    }
    assert_true(fabs((double)hits / (STEPS * STEPS) - coverage) < 0.003);
  }
}

/* Dots of a fixed size are dense by their number where they overlap; with half the dots all places
 * get half their ink, and overlap nowhere. */
TEST(dark_ink_has_more_dots) {
  const cvtm_domain domain = {SIDE, SIDE, 1};
  for (int few = 1; few <= 2; ++few) {
    double sum[2] = {0, 0};
    for (int p = 0; p < PIXELS; ++p) rho[p] = p % SIDE < SIDE / 2 ? 0.25F : 0.98F * 0.98F;
    const double discs = (0.5 + cvtm_ink_needed(CVTM_INK_DISCS, 0.98)) / 2 / few, count = 900;
    const cvtm_ink ink = {CVTM_INK_DISCS, discs * PIXELS / count};
    assert_ok(cvtm_density_of_local_mean(domain, count, &ink, rho, NULL));
    for (int p = 0; p < PIXELS; ++p)
      if (p % SIDE % (SIDE / 2) == SIDE / 4) sum[p % SIDE > SIDE / 2] += sqrt((double)rho[p]);
    const double ratio = few == 1 ? cvtm_ink_needed(CVTM_INK_DISCS, 0.98) / 0.5 : 0.98 / 0.5;
    assert_true(fabs(sum[1] / sum[0] / ratio - 1) < 0.01);
  }
}

/* Irregular discs begin to overlap sooner, and need more for the same ink. */
TEST(loose_discs_overlap_more) {
  for (double coverage = 0; coverage < 0.6; coverage += 0.1)
    assert_true(cvtm_ink_needed(CVTM_INK_LOOSE_DISCS, coverage) == coverage);
  double before = 0.6;
  for (double coverage = 0.65; coverage <= 1; coverage += 0.01) {
    const double needed = cvtm_ink_needed(CVTM_INK_LOOSE_DISCS, coverage);
    assert_true(needed > before && needed >= cvtm_ink_needed(CVTM_INK_DISCS, coverage));
    before = needed;
  }
}

/* A line of twice the ink has twice the length per area, so four times the sites. */
TEST(lines_need_sites_by_the_square_of_the_ink) {
  const cvtm_domain domain = {SIDE, SIDE, 1};
  const cvtm_ink ink = {CVTM_INK_LINE, 0};
  for (int p = 0; p < PIXELS; ++p) rho[p] = p % SIDE < SIDE / 2 ? 0.04F : 0.16F;
  assert_ok(cvtm_density_of_local_mean(domain, 900, &ink, rho, NULL));
  const double low = (double)rho[SIDE / 4], high = (double)rho[3 * SIDE / 4];
  /* Sites per area are the root of the density. In dark places lines overlap a little. */
  assert_true(sqrt(high / low) > 4 && sqrt(high / low) < 4.1);
  assert_true(cvtm_ink_needed(CVTM_INK_LINE, 0) == 0);
  for (double ink_wanted = 0.1; ink_wanted < 1; ink_wanted += 0.1)
    assert_true(cvtm_ink_needed(CVTM_INK_LINE, ink_wanted) <
                cvtm_ink_needed(CVTM_INK_LINE, ink_wanted + 0.05));
}

/* A line needs sites by the square of the ink, discs by the ink. */
TEST(sites_for_ink) {
  static float ink[PIXELS];
  const cvtm_domain domain = {SIDE, SIDE, 0};
  const cvtm_ink line = {CVTM_INK_LINE, 1}, disc = {CVTM_INK_DISCS, 2};
  double count;
  for (int p = 0; p < PIXELS; ++p) ink[p] = 0.2F;
  assert_ok(cvtm_ink_count(domain, ink, &line, &count, NULL));
  assert_true(fabs(count / PIXELS / cvtm_ink_needed(CVTM_INK_LINE, 0.2) - 1) < 1e-3);
  for (int p = 0; p < PIXELS; ++p) ink[p] = p % SIDE < 6 && p / SIDE < 9 ? 0.5F : 0;
  assert_ok(cvtm_ink_count(domain, ink, &disc, &count, NULL));
  assert_true(fabs(count - 13.5) < 0.01);
}

/* Floyd & Steinberg's diffusion of errors, from left to right. */
static void diffuse(void) {
  static double wanted[PIXELS + SIDE + 1];
  for (int p = 0; p < PIXELS; ++p) wanted[p] = (double)rho[p];
  for (int p = 0; p < PIXELS; ++p) {
    rho[p] = wanted[p] >= 0.5;
    const double miss = (wanted[p] - (double)rho[p]) / 16;
    const int first = p % SIDE == 0, last = p % SIDE == SIDE - 1;
    if (!last) wanted[p + 1] += 7 * miss;
    if (!first) wanted[p + SIDE - 1] += 3 * miss;
    wanted[p + SIDE] += 5 * miss;
    if (!last) wanted[p + SIDE + 1] += miss;
  }
}

/* Stripes 12 pixels wide. The factor of their amplitude is found by the wave that they follow. */
TEST(smoothed_dither_keeps_details) {
  const cvtm_domain domain = {SIDE, SIDE, 0};
  double found = 0;
  for (int p = 0; p < PIXELS; ++p) rho[p] = (float)(0.5 + 0.25 * sin(acos(-1) / 6 * (p % SIDE)));
  diffuse();
  assert_ok(cvtm_smooth_dither(domain, rho, NULL));
  for (int p = 0; p < PIXELS; ++p)
    found += 2 * (double)rho[p] * sin(acos(-1) / 6 * (p % SIDE)) / PIXELS;
  assert_true(found / 0.25 > 0.8 && found / 0.25 < 1.05);
}

/* Random pixels have their mean over many pixels alone. */
TEST(random_pixels_become_even) {
  const cvtm_domain domain = {SIDE, SIDE, 0};
  uint64_t state = 1;
  double square = 0;
  for (int p = 0; p < PIXELS; ++p) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    rho[p] = (float)(state >> 63);
  }
  assert_ok(cvtm_smooth_dither(domain, rho, NULL));
  for (int p = 0; p < PIXELS; ++p) square += pow((double)rho[p] - 0.5, 2) / PIXELS;
  assert_true(sqrt(square) < 0.12); /* 0.07 by the squares alone */
}

TEST_MAIN()

/* Inks: the mixture against the sum over all overprints, separation, and inks of a picture. */
#include "testing.h"

#include "draw/likeness.h"
#include "draw/inks.h"
#include "draw/oklab.h"

static double unit(uint64_t *state) {
  *state = *state * 6364136223846793005U + 1442695040888963407U;
  return (double)(*state >> 33) / 2147483648.0;
}

/* The Neugebauer equations as they are written: the shares of all overprints, and their colours. */
static void mix_overprints(const cvtm_inks *inks, const double *coverage, double rgb[3]) {
  for (int c = 0; c < 3; ++c) {
    rgb[c] = 0;
    for (int overprint = 0; overprint < 1 << inks->count; ++overprint) {
      double share = 1, colour = 1;
      for (int k = 0; k < inks->count; ++k) {
        const int is_there = overprint >> k & 1;
        share *= is_there ? coverage[k] : 1 - coverage[k];
        if (is_there) colour *= inks->colour[k][c];
      }
      rgb[c] += share * colour;
    }
  }
}

TEST(test_mixture_is_that_of_neugebauer) {
  uint64_t seed = 3;
  cvtm_inks inks;
  cvtm_inks_cmyk(&inks);
  for (int round = 0; round < 50; ++round) {
    double coverage[4], mixed[3], expected[3];
    for (int k = 0; k < 4; ++k) coverage[k] = unit(&seed);
    cvtm_inks_mix(&inks, coverage, mixed);
    mix_overprints(&inks, coverage, expected);
    for (int c = 0; c < 3; ++c) assert_true(fabs(mixed[c] - expected[c]) < 1e-14);
  }
}

enum { SEPARATED = 40 };

/* Of each of some colours: the coverages, and the distance of what these give from the colour. The
 * table that colours are looked up in is made once a call. */
static void separate(const cvtm_inks *inks, int colours, double rgb[][3],
                     double coverage[][CVTM_INKS_MAX], double *error) {
  float planes[3 * SEPARATED], share[CVTM_INKS_MAX][SEPARATED], *part[CVTM_INKS_MAX];
  for (int c = 0; c < 3; ++c)
    for (int p = 0; p < colours; ++p) planes[c * colours + p] = (float)rgb[p][c];
  for (int k = 0; k < inks->count; ++k) part[k] = share[k];
  assert_ok(cvtm_inks_separate(inks, planes, colours, part, NULL));
  for (int p = 0; p < colours; ++p) {
    double mixed[3];
    for (int k = 0; k < inks->count; ++k) {
      coverage[p][k] = (double)share[k][p];
      assert_true(share[k][p] >= 0 && share[k][p] <= 1);
    }
    cvtm_inks_mix(inks, coverage[p], mixed);
    error[p] = cvtm_oklab_distance(cvtm_oklab_of_linear(mixed), cvtm_oklab_of_linear(rgb[p]));
  }
}

/* Colours that the inks can give are given; 0.02 is what the eye just sees. */
TEST(test_separation_gives_the_colour) {
  uint64_t seed = 5;
  double rgb[SEPARATED][3], found[SEPARATED][CVTM_INKS_MAX], error[SEPARATED], sum = 0;
  cvtm_inks inks;
  cvtm_inks_cmyk(&inks);
  for (int p = 0; p < SEPARATED; ++p) {
    double coverage[4];
    for (int k = 0; k < 4; ++k) coverage[k] = k < 3 ? unit(&seed) : 0.5 * unit(&seed);
    cvtm_inks_mix(&inks, coverage, rgb[p]);
  }
  separate(&inks, SEPARATED, rgb, found, error);
  for (int p = 0; p < SEPARATED; ++p) {
    assert_true(error[p] < 0.06);
    sum += error[p] / SEPARATED;
  }
  assert_true(sum < 0.02);
}

TEST(test_white_needs_no_ink_and_black_little_colour) {
  double rgb[3][3] = {{1, 1, 1}, {0, 0, 0}, {0.8, 0.8, 0.8}};
  double coverage[3][CVTM_INKS_MAX], error[3];
  cvtm_inks inks;
  cvtm_inks_cmyk(&inks);
  separate(&inks, 3, rgb, coverage, error);
  const double *white = coverage[0], *black = coverage[1], *light = coverage[2];
  assert_true(error[0] < 1e-6);
  for (int k = 0; k < 4; ++k) assert_true(white[k] < 1e-6);
  assert_true(black[3] > 0.95);
  assert_true(black[0] + black[1] + black[2] < 0.3);
  assert_true(error[2] < 0.02);
  assert_true(light[3] < 0.02);
}

/* Black takes the place of the grey component where colours are dark: of a dark grey all of it, of
 * a dark brown the part that its least saturated ink would have. */
TEST(test_black_replaces_the_grey_component) {
  double rgb[2][3] = {{0.07, 0.07, 0.07}, {0.2, 0.08, 0.04}}, coverage[2][CVTM_INKS_MAX], error[2];
  cvtm_inks inks;
  cvtm_inks_cmyk(&inks);
  separate(&inks, 2, rgb, coverage, error);
  const double *grey = coverage[0], *brown = coverage[1];
  assert_true(grey[3] > 0.9);
  assert_true(grey[0] + grey[1] + grey[2] < 0.4);
  assert_true(brown[3] > 0.7);
  assert_true(brown[0] < 0.02);
  for (int p = 0; p < 2; ++p) assert_true(error[p] < 0.02);
}

/* Of a colour that no ink gives, the nearest is taken: one ink gives its own tints. */
TEST(test_one_ink) {
  const cvtm_inks blue = {1, {{0.1, 0.2, 0.9}}};
  double rgb[2][3] = {{0.55, 0.6, 0.95}, {0.1, 0.9, 0.1}};
  double coverage[2][CVTM_INKS_MAX], error[2];
  separate(&blue, 2, rgb, coverage, error);
  assert_true(error[0] < 0.02);
  assert_true(fabs(coverage[0][0] - 0.5) < 0.03);
  assert_true(error[1] > 0.2);
}

enum { SIDE = 30, PIXELS = SIDE * SIDE };

/* Tints of red, blue and black in three bands, each on white. */
TEST(test_choice_finds_the_inks_of_tints) {
  const double ink[3][3] = {{0.9, 0.1, 0.1}, {0.1, 0.2, 0.9}, {0.02, 0.02, 0.02}};
  float *rgb = allocated(3 * PIXELS, sizeof *rgb);
  for (int p = 0; p < PIXELS; ++p) {
    const double coverage = (p % SIDE) / (SIDE - 1.0);
    for (int c = 0; c < 3; ++c)
      rgb[c * PIXELS + p] = (float)(1 - coverage * (1 - ink[p / SIDE / 10][c]));
  }
  cvtm_inks found;
  assert_ok(cvtm_inks_choose(rgb, PIXELS, 3, &found, NULL));
  assert_int_equal(found.count, 3);
  for (int k = 0; k < 3; ++k) {
    double nearest = 1;
    for (int j = 0; j < 3; ++j)
      nearest = fmin(nearest, cvtm_oklab_distance(cvtm_oklab_of_linear(found.colour[k]),
                                                  cvtm_oklab_of_linear(ink[j])));
    assert_true(nearest < 0.1);
  }
  for (int p = 0; p < 3 * PIXELS; ++p) rgb[p] = 1;
  assert_int_equal(cvtm_inks_choose(rgb, PIXELS, 3, &found, NULL), CVTM_ERROR_INPUT);
  free(rgb);
}

/* Two inks in a row of dots: disjoint, and one upon the other. */
TEST(test_rendering_multiplies_inks) {
  const cvtm_inks inks = {2, {{1, 0.5, 0.25}, {0.5, 1, 0.25}}};
  const double centres[] = {5, 5, 15, 5, 15, 5}, radii[] = {3, 3, 3};
  const int64_t start[] = {0, 2, 3};
  const cvtm_domain domain = {20, 10, 0};
  float rgb[3 * 200];
  double mean[2];
  assert_ok(cvtm_ink_drawing_render(&inks, domain, 1, centres, radii, start, rgb, mean, NULL));
  const int alone = 5 * 20 + 5, both = 5 * 20 + 15, paper = 0;
  for (int c = 0; c < 3; ++c) {
    const double one = inks.colour[0][c], other = inks.colour[1][c];
    assert_true(fabs((double)rgb[c * 200 + alone] - one) < 1e-6);
    assert_true(fabs((double)rgb[c * 200 + both] - one * other) < 1e-6);
    assert_true(fabs((double)rgb[c * 200 + paper] - 1) < 1e-6);
  }
  assert_true(fabs(mean[0] - 2 * 28.274 / 200) < 1e-3);
  assert_true(fabs(mean[1] - 28.274 / 200) < 1e-3);
}

TEST_MAIN()

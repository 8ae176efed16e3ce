/* Evaluations on the CPU that keep the neighbours of the last diagram: the same moments, to the
 * last bit, as those of a plan that has evaluated nothing before. */
#include "base/random.h"
#include "cvt/cvt.h"
#include "tests/test_devices.h"

enum { SIDE = 48, MOST = 800, STEPS = 6 };

static float density[SIDE * SIDE];

static double uniform(uint64_t *draw) { return cvtm_random_uniform(7, 0, (*draw)++); }

typedef struct evaluation {
  double value, mass[MOST], centroid[2 * MOST], second[MOST];
} evaluation;

static void evaluate(cvtm_cvt *cvt, cvtm_device *device, const double *sites, int64_t count,
                     evaluation *e) {
  const cvtm_cvt_moments moments = {e->mass, e->centroid, e->second};
  memset(e, 0, sizeof *e);
  evaluate_cvt(device, cvt, sites, count, &e->value, &moments);
}

static cvtm_cvt *create(cvtm_device *device, int64_t count) {
  const cvtm_domain domain = {SIDE, SIDE, 0};
  NEW_CVT(cvt, device, domain, density, count);
  return cvt;
}

/* Moves sites by `far` at most, and `jumps` of them anywhere. */
static void move(double *sites, int64_t count, double far, int jumps, uint64_t *draw) {
  for (int64_t k = 0; k < 2 * count; ++k)
    sites[k] = fmin(fmax(sites[k] + far * (2 * uniform(draw) - 1), 0), SIDE);
  for (int k = 0; k < jumps; ++k) {
    const int64_t i = (int64_t)(uniform(draw) * (double)count);
    sites[2 * i] = SIDE * uniform(draw);
    sites[2 * i + 1] = SIDE * uniform(draw);
  }
}

static void compare(double *sites, int64_t count, double far, int jumps, int repeats) {
  static evaluation kept, fresh;
  uint64_t draw = 1000000;
  cvtm_device *device = test_device_open_threads(2), *one = test_device_open_threads(1);
  cvtm_cvt *cvt = create(device, count);
  for (int step = 0; step < STEPS; ++step) {
    cvtm_cvt *other = create(one, count);
    evaluate(cvt, device, sites, count, &kept);
    evaluate(other, one, sites, count, &fresh);
    assert_memory_equal(&kept, &fresh, sizeof kept);
    double mass = 0;
    for (int64_t i = 0; i < count; ++i) mass += kept.mass[i];
    double whole = 0;
    for (int64_t p = 0; p < SIDE * SIDE; ++p) whole += (double)density[p];
    assert_true(fabs(mass - whole) < 1e-9 * whole);
    cvtm_cvt_destroy(other);
    move(sites, count, far, jumps, &draw);
    for (int k = 0; k < repeats; ++k) { /* coincident sites */
      const int64_t i = (int64_t)(uniform(&draw) * (double)count);
      const int64_t j = (int64_t)(uniform(&draw) * (double)count);
      memcpy(sites + 2 * i, sites + 2 * j, 2 * sizeof *sites);
    }
  }
  cvtm_cvt_destroy(cvt);
  cvtm_device_destroy(device);
  cvtm_device_destroy(one);
}

static double sites[2 * MOST];

static void place_random(int64_t count) {
  uint64_t draw = 0;
  for (int64_t k = 0; k < 2 * count; ++k) sites[k] = SIDE * uniform(&draw);
}

TEST(test_random_sites) {
  const double far[] = {0, 1e-6, 0.01, 0.1, 0.5, 5};
  for (int k = 0; k < 6; ++k) {
    place_random(MOST);
    compare(sites, MOST, far[k], k % 2 ? 20 : 0, 0);
  }
}

TEST(test_few_sites) {
  for (int64_t count = 1; count < 40; count += 1 + count / 4) {
    place_random(count);
    compare(sites, count, 1, 1, count > 3);
  }
}

TEST(test_coincident_sites) {
  place_random(700);
  compare(sites, 700, 0.02, 5, 20);
}

/* Four cells meet at each corner, and moves by rounding decide which of them are neighbours. */
TEST(test_lattice) {
  const double far[] = {0, 1e-14, 1e-9, 1e-3};
  for (int k = 0; k < 4; ++k) {
    for (int i = 0; i < 576; ++i) {
      sites[2 * i] = 2 * (i % 24) + 1;
      sites[2 * i + 1] = 2 * (int)(i / 24) + 1;
    }
    compare(sites, 576, far[k], 0, 0);
  }
}

/* Cells of very many neighbours, and clusters that no bin resolves. */
TEST(test_circle_and_clusters) {
  uint64_t draw = 0;
  for (int i = 0; i < 500; ++i) {
    sites[2 * i] = 24 + 20 * cos(0.0125 * i);
    sites[2 * i + 1] = 24 + 20 * sin(0.0125 * i);
  }
  sites[0] = sites[1] = 24;
  compare(sites, 500, 1e-3, 0, 0);
  for (int i = 0; i < 800; ++i) {
    sites[2 * i] = 5 + 9 * (i % 5) + 1e-3 * uniform(&draw);
    sites[2 * i + 1] = 5 + 9 * (i % 4) + 1e-3 * uniform(&draw);
  }
  compare(sites, 800, 1e-5, 2, 0);
}

int main(void) {
  uint64_t draw = 5;
  for (int p = 0; p < SIDE * SIDE; ++p) density[p] = (float)(0.1 + uniform(&draw));
  return cmocka_run_group_tests(testing_tests, NULL, NULL);
}

/* Sites of several classes: shares, energies against single evaluations, spacing, reproducibility.
 */
#include "cvt/classes.h"
#include "cvt/local_mean.h"
#include "tests/test_devices.h"

enum { SIDE = 64, AREA = SIDE * SIDE, CLASSES = 3, COUNT = 600 };

static const cvtm_domain square = {SIDE, SIDE, 0};

/* One class everywhere, one that fades to the right, one in a disc. */
static float *make_intensities(const float *plane[CLASSES]) {
  float *all = allocated(CLASSES * AREA, sizeof *all);
  for (int p = 0; p < AREA; ++p) {
    const double x = p % SIDE + 0.5, y = p / SIDE + 0.5;
    all[p] = 1;
    all[AREA + p] = (float)(1 - x / SIDE);
    all[2 * AREA + p] = hypot(x - 32, y - 32) < 20 ? 2.0F : 0.0F;
  }
  for (int k = 0; k < CLASSES; ++k) plane[k] = all + (ptrdiff_t)k * AREA;
  return all;
}

static double sum_of(const float *plane) {
  double sum = 0;
  for (int p = 0; p < AREA; ++p) sum += (double)plane[p];
  return sum;
}

typedef struct watch {
  cvtm_device *device;
  cvtm_cvt *plan;
  int seen;
} watch;

/* A monitor sees all sites while they descend together. */
static int look(void *context, const cvtm_cvt_record *record) {
  watch *w = context;
  double sites[2 * COUNT];
  assert_int_equal(w->plan != NULL, record->sites == COUNT);
  if (w->plan == NULL) return 0;
  assert_copy_out(w->device, sites, cvtm_cvt_current_sites(w->plan), sizeof sites);
  for (int k = 0; k < 2 * COUNT; ++k) assert_true(sites[k] >= 0 && sites[k] <= SIDE);
  ++w->seen;
  return 0;
}

static cvtm_classes_result solve(cvtm_device *device, double weight, double *sites,
                                 int64_t *start) {
  const float *plane[CLASSES];
  float *all = make_intensities(plane);
  DEFAULT_OPTIONS(cvtm_classes, options);
  cvtm_classes_result result;
  double amount[CLASSES];
  options.union_weight = weight;
  options.cvt.max_iterations = 60;
  watch w = {.device = device};
  options.cvt.monitor = look;
  options.cvt.monitor_context = &w;
  options.plan = &w.plan;
  for (int k = 0; k < CLASSES; ++k) amount[k] = sum_of(plane[k]);
  assert_ok(cvtm_classes_share(amount, CLASSES, COUNT, start, NULL));
  assert_device_ok(
      device, cvtm_classes_solve(device, square, plane, CLASSES, start, &options, sites, &result));
  assert_true(w.plan == NULL && (w.seen > 0) == (weight > 0));
  free(all);
  return result;
}

TEST(test_shares) {
  const double amount[] = {1, 0, 2.4, 2.6}, none[] = {0, 0};
  int64_t start[5];
  assert_ok(cvtm_classes_share(amount, 4, 7, start, NULL));
  const int64_t expected[] = {0, 1, 1, 4, 7};
  assert_memory_equal(start, expected, sizeof expected);
  assert_refused(cvtm_classes_share(none, 2, 7, start, NULL));
}

/* Energy over bound of sites by a density, with a plan of its own. */
static double ratio_of(cvtm_device *device, const float *density, const double *sites,
                       int64_t count) {
  double energy = 0;
  NEW_CVT(cvt, device, square, density, count);
  evaluate_cvt(device, cvt, sites, count, &energy, NULL);
  cvtm_cvt_destroy(cvt);
  return energy / cvtm_cvt_energy_bound(square, density, count);
}

TEST_ON_DEVICE(test_energies_are_those_of_the_classes) {
  const float *plane[CLASSES];
  float *all = make_intensities(plane), density[AREA], total[AREA] = {0};
  double sites[2 * COUNT];
  int64_t start[CLASSES + 1];
  const cvtm_classes_result result = solve(device, 1, sites, start);
  for (int k = 0; k < CLASSES; ++k) {
    const int64_t count = start[k + 1] - start[k];
    const double scale = (double)count / sum_of(plane[k]);
    for (int p = 0; p < AREA; ++p) {
      const float s = (float)(scale * (double)plane[k][p]);
      density[p] = s * s;
      total[p] += s;
    }
    assert_ok(cvtm_density_of_local_mean(square, (double)count, NULL, density, NULL));
    assert_true(fabs(ratio_of(device, density, sites + 2 * start[k], count) - result.ratio[k]) <
                1e-4);
  }
  for (int p = 0; p < AREA; ++p) density[p] = total[p] * total[p];
  assert_ok(cvtm_density_of_local_mean(square, COUNT, NULL, density, NULL));
  assert_true(fabs(ratio_of(device, density, sites, COUNT) - result.union_ratio) < 1e-4);
  free(all);
}

static double least_distance(const double *sites, int64_t first, int64_t end) {
  double least = INFINITY;
  for (int64_t i = first; i < end; ++i)
    for (int64_t j = first; j < i; ++j)
      least = fmin(least, hypot(sites[2 * i] - sites[2 * j], sites[2 * i + 1] - sites[2 * j + 1]));
  return least;
}

/* Alone, the classes ignore each other; together, their union is spaced, too, and each class still
 * is. Random sites have a ratio above 2. */
TEST_ON_DEVICE(test_each_class_and_the_union_are_spaced) {
  double alone[2 * COUNT], together[2 * COUNT];
  int64_t start[CLASSES + 1];
  const cvtm_classes_result a = solve(device, 0, alone, start);
  const cvtm_classes_result b = solve(device, 1, together, start);
  assert_true(a.union_ratio > 1.3);
  assert_true(b.union_ratio < 1.1);
  for (int k = 0; k < CLASSES; ++k) assert_true(a.ratio[k] < 1.06 && b.ratio[k] < 1.16);
  assert_true(least_distance(together, 0, COUNT) > 5 * least_distance(alone, 0, COUNT));
}

static double coupled_energy(cvtm_device *device, const float *const *density, const float *total,
                             const double *sites, const int64_t *start) {
  double energy = COUNT * ratio_of(device, total, sites, COUNT);
  for (int k = 0; k < CLASSES; ++k) {
    const int64_t count = start[k + 1] - start[k];
    energy += (double)count * ratio_of(device, density[k], sites + 2 * start[k], count);
  }
  return energy;
}

/* The coupled energy has a minimum at the result: steps of half a pixel in random directions raise
 * it. */
TEST_ON_DEVICE(test_moves_raise_the_energy) {
  const float *plane[CLASSES], *rho[CLASSES];
  float *all = make_intensities(plane), *density = calloc((CLASSES + 1) * AREA, sizeof *density);
  float *total = density + CLASSES * AREA;
  double sites[2 * COUNT];
  int64_t start[CLASSES + 1];
  assert_non_null(density);
  (void)solve(device, 1, sites, start);
  for (int k = 0; k < CLASSES; ++k) {
    const double scale = (double)(start[k + 1] - start[k]) / sum_of(plane[k]);
    rho[k] = density + (ptrdiff_t)k * AREA;
    for (int p = 0; p < AREA; ++p) {
      const float s = (float)(scale * (double)plane[k][p]);
      density[k * AREA + p] = s * s;
      total[p] += s;
    }
  }
  for (int p = 0; p < AREA; ++p) total[p] *= total[p];
  const double least = coupled_energy(device, rho, total, sites, start);
  for (int i = 7; i < COUNT; i += 50) {
    double moved[2 * COUNT];
    memcpy(moved, sites, sizeof moved);
    moved[2 * i] = fmin(fmax(moved[2 * i] + 0.5 * cos(i), 0), SIDE);
    moved[2 * i + 1] = fmin(fmax(moved[2 * i + 1] + 0.5 * sin(i), 0), SIDE);
    assert_true(coupled_energy(device, rho, total, moved, start) > least);
  }
  free_all(density, all);
}

/* The descents of two devices round otherwise and end in other minima, of the same quality. */
TEST_ON_DEVICE(test_quality_is_that_of_the_cpu) {
  cvtm_device *cpu = test_cpu_open(2);
  double here[2 * COUNT], there[2 * COUNT];
  int64_t start[CLASSES + 1];
  const cvtm_classes_result a = solve(device, 0.5, here, start);
  const cvtm_classes_result b = solve(cpu, 0.5, there, start);
  assert_true(fabs(a.union_ratio - b.union_ratio) < 0.02);
  for (int k = 0; k < CLASSES; ++k) assert_true(fabs(a.ratio[k] - b.ratio[k]) < 0.03);
  cvtm_device_destroy(cpu);
}

TEST(test_same_bits_for_any_number_of_threads) {
  double one[2 * COUNT], two[2 * COUNT];
  int64_t start[CLASSES + 1];
  for (int threads = 1; threads <= 2; ++threads) {
    cvtm_device *device = test_device_open_threads(threads);
    (void)solve(device, 1, threads == 1 ? one : two, start);
    cvtm_device_destroy(device);
  }
  assert_memory_equal(one, two, sizeof one);
}

TEST_ON_DEVICE(test_misuse_is_refused) {
  float zero[AREA] = {0};
  const float *plane[] = {zero};
  const int64_t start[] = {0, 10}, empty[] = {0, 0};
  double sites[20];
  DEFAULT_OPTIONS(cvtm_classes, options);
  assert_refused(cvtm_classes_solve(device, square, plane, 1, start, &options, sites, NULL));
  assert_refused(cvtm_classes_solve(device, square, plane, 1, empty, &options, sites, NULL));
  options.union_weight = -1;
  assert_refused(cvtm_classes_solve(device, square, plane, 1, start, &options, sites, NULL));
}

TEST_DEVICE_MAIN()

#include "test_devices.h"
#include "tests/jfa/voronoi_fixture.h"

#include "jfa/jfa.h"

/* A plan with sites and labels in device memory. */
typedef struct diagram {
  cvtm_device *device;
  cvtm_domain domain;
  int64_t count;
  cvtm_voronoi *voronoi;
  double *sites;
  int32_t *labels;
} diagram;

static int64_t pixels_of(cvtm_domain domain) { return (int64_t)domain.width * domain.height; }

static void put_sites(const diagram *d, const double *sites) {
  assert_copy_in(d->device, d->sites, sites, 2 * (size_t)d->count * sizeof *sites);
}

static void put_labels(const diagram *d, const int32_t *labels) {
  assert_copy_in(d->device, d->labels, labels, (size_t)pixels_of(d->domain) * sizeof *labels);
}

/* Free with free. */
static int32_t *get_labels(const diagram *d) {
  return copied_out(d->device, d->labels, pixels_of(d->domain), sizeof *d->labels);
}

static diagram open_diagram(cvtm_device *device, cvtm_domain domain, const double *sites,
                            int64_t count) {
  diagram d = {.device = device, .domain = domain, .count = count};
  d.sites = device_array(device, 2 * count, sizeof *d.sites);
  d.labels = device_array(device, pixels_of(domain), sizeof *d.labels);
  assert_device_ok(device, cvtm_voronoi_create(device, domain, count, &d.voronoi));
  put_sites(&d, sites);
  return d;
}

static void close_diagram(diagram *d) {
  cvtm_voronoi_destroy(d->voronoi);
  device_free_all(d->device, d->sites, d->labels);
}

static void run(const diagram *d, cvtm_voronoi_method method) {
  assert_device_ok(d->device,
                   cvtm_voronoi_compute(d->voronoi, d->sites, d->count, method, d->labels));
}

/* Labels of host sites, computed on the device; free with free. */
static int32_t *compute(cvtm_device *device, cvtm_domain domain, const double *sites, int64_t count,
                        cvtm_voronoi_method method) {
  diagram d = open_diagram(device, domain, sites, count);
  /* Twice: an earlier call must not influence a later one. */
  run(&d, method);
  run(&d, method);
  int32_t *labels = get_labels(&d);
  close_diagram(&d);
  return labels;
}

static int64_t wrong_pixels(cvtm_domain domain, const double *sites, int64_t count,
                            const int32_t *labels) {
  int64_t wrong = 0;
  for (int j = 0; j < domain.height; ++j)
    for (int i = 0; i < domain.width; ++i)
      wrong += !is_nearest(domain, sites, count, i + 0.5, j + 0.5,
                           labels[(int64_t)j * domain.width + i]);
  return wrong;
}

/* The exact diagram against an exhaustive search. */
static void check_exact(cvtm_device *device, cvtm_domain domain, const double *sites,
                        int64_t count) {
  int32_t *labels = compute(device, domain, sites, count, CVTM_VORONOI_EXACT);
  assert_int_equal(wrong_pixels(domain, sites, count, labels), 0);
  free(labels);
}

static const cvtm_domain domains[] = {{70, 45, 0}, {70, 45, 1}, {1, 1, 0},  {1, 1, 1},  {1, 500, 0},
                                      {500, 1, 1}, {33, 64, 0}, {3, 90, 1}, {200, 7, 0}};
enum { DOMAINS = sizeof domains / sizeof *domains };

TEST_ON_DEVICE(test_exact_random) {
  static const int64_t counts[] = {1, 2, 10, 300, 2000};
  for (int d = 0; d < DOMAINS; ++d)
    for (size_t k = 0; k < sizeof counts / sizeof *counts; ++k) {
      double *sites = uniform_sites(domains[d], counts[k], 100 + 10 * (uint64_t)d + k);
      check_exact(device, domains[d], sites, counts[k]);
      free(sites);
    }
}

TEST_ON_DEVICE(test_exact_clustered) {
  for (int d = 0; d < DOMAINS; ++d) {
    double *sites = clustered_sites(domains[d], 1200, 7);
    check_exact(device, domains[d], sites, 1200);
    free(sites);
  }
}

/* More than ten sites per pixel. */
TEST_ON_DEVICE(test_exact_crowded) {
  static const cvtm_domain small[] = {{16, 11, 0}, {16, 11, 1}, {1, 5, 0}, {1, 1, 0}};
  for (size_t d = 0; d < sizeof small / sizeof *small; ++d) {
    double *sites = uniform_sites(small[d], 5000, 11);
    check_exact(device, small[d], sites, 5000);
    free(sites);
  }
}

TEST_ON_DEVICE(test_exact_lattice_ties) {
  for (int d = 0; d < 2; ++d)
    for (int offset = 0; offset < 2; ++offset) {
      double sites[2 * 14 * 9];
      int count = 0;
      for (int j = 8; j >= 0; --j)
        for (int i = 0; i < 14; ++i, ++count) {
          sites[2 * count] = 5 * i + 0.5 * offset;
          sites[2 * count + 1] = 5 * j + 0.5 * offset;
        }
      check_exact(device, domains[d], sites, count);
    }
}

TEST_ON_DEVICE(test_exact_coincident) {
  for (int d = 0; d < DOMAINS; ++d) {
    double *sites = uniform_sites(domains[d], 900, 13);
    for (int i = 0; i < 900; ++i) memcpy(sites + 2 * i, sites + 2 * (i % 25), 2 * sizeof *sites);
    for (int i = 300; i < 900; ++i) memcpy(sites + 2 * i, sites, 2 * sizeof *sites);
    check_exact(device, domains[d], sites, 900);
    free(sites);
  }
}

TEST_ON_DEVICE(test_exact_outside) {
  for (int d = 0; d < DOMAINS; ++d) {
    double *sites = uniform_sites(domains[d], 400, 17);
    for (int i = 0; i < 400; ++i) {
      sites[2 * i] = 4 * sites[2 * i] - 1.5 * domains[d].width;
      sites[2 * i + 1] = 4 * sites[2 * i + 1] - 1.5 * domains[d].height;
    }
    check_exact(device, domains[d], sites, 400);
    /* No site inside, and all very far away. */
    for (int i = 0; i < 400; ++i) {
      sites[2 * i] = -1e3 - 1e4 * i;
      sites[2 * i + 1] = 1e6 + sites[2 * i + 1];
    }
    if (!domains[d].periodic) check_exact(device, domains[d], sites, 400);
    free(sites);
  }
}

/* Of every way of flooding, the fraction of pixels whose label differs from the exact diagram's
 * must be at most most[method]. */
static void check_error_rates(cvtm_device *device, cvtm_domain domain, const double *sites,
                              int64_t count, const double *most) {
  diagram d = open_diagram(device, domain, sites, count);
  run(&d, CVTM_VORONOI_EXACT);
  int32_t *exact = get_labels(&d);
  for (int method = 0; method < CVTM_VORONOI_EXACT; ++method) {
    run(&d, (cvtm_voronoi_method)method);
    int32_t *flooded = get_labels(&d);
    int64_t wrong = 0;
    for (int64_t p = 0; p < pixels_of(domain); ++p) {
      assert_in_range(flooded[p], 0, count - 1);
      wrong += flooded[p] != exact[p];
    }
    free(flooded);
    if ((double)wrong > most[method] * (double)pixels_of(domain))
      fail_msg("periodic %d, %d sites, method %d: %d pixels are wrong", domain.periodic, (int)count,
               method, (int)wrong);
  }
  close_diagram(&d);
  free(exact);
}

/* Random sites, 10, 100 and 1000 pixels per cell. Flooding only one site per pixel would have an
 * error of 2.9e-2 at 10; taking all sites of a seed into account must remove most of it. */
TEST_ON_DEVICE(test_error_rates) {
  enum { JFA = CVTM_VORONOI_JFA, ONE_PLUS = CVTM_VORONOI_ONE_PLUS_JFA };
  enum { PLUS_1 = CVTM_VORONOI_JFA_PLUS_1, PLUS_2 = CVTM_VORONOI_JFA_PLUS_2 };
  enum { SQUARED = CVTM_VORONOI_JFA_SQUARED };
  static const double most[][CVTM_VORONOI_EXACT] = {
      {[JFA] = 3.5e-3, [ONE_PLUS] = 4e-4, [PLUS_1] = 4e-4, [PLUS_2] = 3e-4, [SQUARED] = 3e-4},
      {[JFA] = 6e-4, [ONE_PLUS] = 3e-5, [PLUS_1] = 6e-5, [PLUS_2] = 3e-5, [SQUARED] = 3e-5},
      {[JFA] = 8e-5, [ONE_PLUS] = 2e-5, [PLUS_1] = 2e-5, [PLUS_2] = 2e-5, [SQUARED] = 2e-5},
  };
  static const int64_t cell[] = {10, 100, 1000};
  for (int periodic = 0; periodic < 2; ++periodic) {
    const cvtm_domain domain = {384, 384, periodic};
    for (int k = 0; k < 3; ++k) {
      const int64_t count = 384 * 384 / cell[k];
      double *sites = uniform_sites(domain, count, 23);
      check_error_rates(device, domain, sites, count, most[k]);
      free(sites);
    }
  }
}

/* Sites on pixel centres own their pixels; with every pixel a site, each owns just its own. */
TEST_ON_DEVICE(test_centred_sites_own_their_pixels) {
  const cvtm_domain domain = {60, 50, 0};
  double *sites = allocated(2 * 3000, sizeof *sites);
  for (int i = 0; i < 3000; ++i) {
    sites[2 * i] = (2999 - i) % 60 + 0.5;
    sites[2 * i + 1] = (2999 - i) / 60 + 0.5;
  }
  for (int method = 0; method <= CVTM_VORONOI_EXACT; ++method)
    for (int64_t count = 1; count <= 3000; count = 7 * count + 3) {
      int32_t *labels = compute(device, domain, sites, count, (cvtm_voronoi_method)method);
      for (int32_t i = 0; i < count; ++i)
        assert_int_equal(labels[(int)sites[2 * i + 1] * 60 + (int)sites[2 * i]], i);
      free(labels);
    }
  free(sites);
}

/* No site is lost that shares its pixel with others: two in one pixel, left and right, halve the
 * plane; of a ring of many in one pixel each owns the pixels in its direction. */
TEST_ON_DEVICE(test_shared_pixels) {
  const cvtm_domain domain = {64, 64, 0};
  const double pair[] = {32.75, 20.5, 32.25, 20.5};
  enum { RING = 40 };
  double ring[2 * RING];
  for (int i = 0; i < RING; ++i) {
    ring[2 * i] = 32.5 + 0.3 * cos(0.157 * i);
    ring[2 * i + 1] = 20.5 + 0.3 * sin(0.157 * i);
  }
  for (int method = 0; method <= CVTM_VORONOI_EXACT; ++method) {
    int32_t *labels = compute(device, domain, pair, 2, (cvtm_voronoi_method)method);
    for (int p = 0; p < 64 * 64; ++p) assert_int_equal(labels[p], p % 64 <= 31);
    free(labels);
    labels = compute(device, domain, ring, RING, (cvtm_voronoi_method)method);
    assert_int_equal(wrong_pixels(domain, ring, RING, labels), 0);
    free(labels);
  }
}

/* Two sites, mirrored at a column of pixel centres up to a billionth of a pixel: far less than seed
 * codes resolve. With two seeds jump flooding itself makes no errors. Then two pixels of several
 * sites, seven pixels apart and flooded as the middles of their pixels: far from them the line
 * between the middles may differ from the true one by more than the final pass looks for
 * candidates. */
TEST_ON_DEVICE(test_near_ties) {
  enum { CROWD = 6, TRIALS = 12 };
  for (int trial = 0; trial < TRIALS; ++trial) {
    const cvtm_domain domain = {61, 40, trial % 2};
    double sites[2 * CROWD];
    const double nudge = 1e-9 * (trial % 3 - 1);
    for (int i = 0; i < CROWD; ++i) {
      double at[2];
      cvtm_random_uniform2(67, (uint64_t)trial, (uint64_t)i, at);
      sites[2 * i] = (i % 2 ? 22 : 29) + at[0];
      sites[2 * i + 1] = (i % 2 ? 17 : 19) + at[1];
    }
    const double pair[] = {sites[0], sites[1], 53 - sites[0] + nudge, sites[1]};
    for (int method = 0; method <= CVTM_VORONOI_EXACT; ++method) {
      int32_t *labels = compute(device, domain, pair, 2, (cvtm_voronoi_method)method);
      assert_int_equal(wrong_pixels(domain, pair, 2, labels), 0);
      free(labels);
      labels = compute(device, domain, sites, CROWD, (cvtm_voronoi_method)method);
      assert_in_range(wrong_pixels(domain, sites, CROWD, labels), 0,
                      method == CVTM_VORONOI_EXACT ? 0 : 2);
      free(labels);
    }
  }
}

static const double two_percent[] = {0.02, 0.02, 0.02, 0.02, 0.02};

/* Jump flooding of ten sites in each pixel, and of clusters. */
TEST_ON_DEVICE(test_crowded_flooding) {
  const cvtm_domain domain = {48, 40, 0};
  double *crowd = uniform_sites(domain, 19200, 29);
  double *clusters = clustered_sites(domain, 1500, 31);
  static const double of_crowd[] = {1e-3, 1e-3, 1e-3, 1e-3, 1e-3};
  check_error_rates(device, domain, crowd, 19200, of_crowd);
  check_error_rates(device, domain, clusters, 1500, two_percent);
  free_all(crowd, clusters);
}

TEST_ON_DEVICE(test_tiny_domains) {
  for (int d = 0; d < DOMAINS; ++d) {
    double *sites = uniform_sites(domains[d], 30, 37);
    for (int method = 0; method <= CVTM_VORONOI_EXACT; ++method) {
      int32_t *labels = compute(device, domains[d], sites, 1, (cvtm_voronoi_method)method);
      for (int p = 0; p < domains[d].width * domains[d].height; ++p) assert_int_equal(labels[p], 0);
      free(labels);
    }
    if (domains[d].width == 1 || domains[d].height == 1)
      check_error_rates(device, domains[d], sites, 30, two_percent);
    free(sites);
  }
}

TEST_ON_DEVICE(test_no_sites) {
  for (int method = 0; method <= CVTM_VORONOI_EXACT; ++method) {
    int32_t *labels = compute(device, domains[0], NULL, 0, (cvtm_voronoi_method)method);
    for (int p = 0; p < 70 * 45; ++p) assert_int_equal(labels[p], -1);
    free(labels);
  }
}

/* A site that is not a number owns nothing while another is there. */
TEST_ON_DEVICE(test_not_finite) {
  const double sites[] = {NAN, 5, INFINITY, INFINITY, 20, 20, 50, NAN, 1e200, 3};
  for (int d = 0; d < 2; ++d)
    for (int method = 0; method <= CVTM_VORONOI_EXACT; ++method) {
      int32_t *labels = compute(device, domains[d], sites, domains[d].periodic ? 4 : 5,
                                (cvtm_voronoi_method)method);
      for (int p = 0; p < 70 * 45; ++p) assert_int_equal(labels[p], 2);
      free(labels);
    }
}

/* With sites outside the domain the labels are exact. */
TEST_ON_DEVICE(test_outside_flooding) {
  const cvtm_domain domain = {150, 110, 0};
  double *sites = uniform_sites(domain, 300, 43);
  for (int i = 0; i < 300; i += 3) {
    sites[2 * i] = 3 * sites[2 * i] - 150;
    sites[2 * i + 1] = 3 * sites[2 * i + 1] - 110;
  }
  static const double none[CVTM_VORONOI_EXACT] = {0};
  check_error_rates(device, domain, sites, 300, none);
  free(sites);
}

/* --- warm starts ------------------------------------------------------------------- */

/* Corrects the labels. Returns how many were wrong, after checking that number against the exact
 * diagram. */
static int64_t correct(const diagram *d, const double *sites) {
  int32_t *before = get_labels(d);
  int64_t wrong = -1;
  assert_device_ok(d->device, cvtm_voronoi_correct(d->voronoi, d->labels, &wrong));
  int32_t *after = get_labels(d);
  run(d, CVTM_VORONOI_EXACT);
  int32_t *exact = get_labels(d);
  assert_memory_equal(after, exact, (size_t)pixels_of(d->domain) * sizeof *after);
  int64_t farther = 0;
  for (int64_t p = 0; p < pixels_of(d->domain); ++p) {
    const int label_is_none = before[p] < 0 || before[p] >= d->count;
    const double x = (double)(p % d->domain.width) + 0.5, y = (double)(p / d->domain.width) + 0.5;
    farther += label_is_none ||
               reference_distance2(d->domain, x, y, sites + 2 * before[p]) >
                   reference_distance2(d->domain, x, y, sites + 2 * exact[p]) * (1 + 1e-13L);
  }
  assert_int_equal(wrong, farther);
  free_all(before, after, exact);
  return wrong;
}

/* A warm start follows small moves; the errors after larger ones are corrected. */
TEST_ON_DEVICE(test_warm_start) {
  enum { COUNT = 400 };
  static const double move[] = {0, 0.3, 3, 200};
  for (int periodic = 0; periodic < 2; ++periodic) {
    const cvtm_domain domain = {220, 190, periodic};
    double *sites = uniform_sites(domain, COUNT, 53), moved[2 * COUNT];
    diagram d = open_diagram(device, domain, sites, COUNT);
    for (size_t k = 0; k < sizeof move / sizeof *move; ++k) {
      put_sites(&d, sites);
      run(&d, CVTM_VORONOI_EXACT);
      for (int i = 0; i < COUNT; ++i) {
        double at[2];
        cvtm_random_uniform2(59, k, (uint64_t)i, at);
        moved[2 * i] = sites[2 * i] + move[k] * (2 * at[0] - 1);
        moved[2 * i + 1] = sites[2 * i + 1] + move[k] * (2 * at[1] - 1);
      }
      put_sites(&d, moved);
      const int step = k < 3 ? (int)ceil(move[k]) : 0;
      assert_device_ok(d.device, cvtm_voronoi_update(d.voronoi, d.sites, COUNT, step, d.labels));
      const int64_t wrong = correct(&d, moved);
      if (k < 3) assert_true(wrong <= pixels_of(domain) / 200);
    }
    close_diagram(&d);
    free(sites);
  }
}

/* Useless old labels: no index, too large, all the same, and those of other pixels. */
TEST_ON_DEVICE(test_warm_start_from_anything) {
  enum { COUNT = 250 };
  const cvtm_domain domain = {96, 130, 0};
  double *sites = uniform_sites(domain, COUNT, 61);
  sites[8] = -40; /* one site outside, one not finite */
  sites[21] = NAN;
  diagram d = open_diagram(device, domain, sites, COUNT);
  run(&d, CVTM_VORONOI_EXACT);
  int32_t *exact = get_labels(&d), *labels = get_labels(&d);
  for (int trial = 0; trial < 8; ++trial) {
    const int kind = trial % 4;
    if (trial == 4) { /* all sites inside */
      sites[8] = 40;
      sites[21] = 1;
      put_sites(&d, sites);
      run(&d, CVTM_VORONOI_EXACT);
      free(exact);
      exact = get_labels(&d);
    }
    for (int p = 0; p < 96 * 130; ++p) {
      const int32_t garbage[] = {-1, p % 2 ? INT32_MAX : INT32_MIN, COUNT - 1,
                                 exact[96 * 130 - 1 - p]};
      labels[p] = garbage[kind];
    }
    put_labels(&d, labels);
    assert_device_ok(d.device, cvtm_voronoi_update(d.voronoi, d.sites, COUNT, 1, d.labels));
    int64_t wrong = 0;
    assert_device_ok(d.device, cvtm_voronoi_correct(d.voronoi, d.labels, &wrong));
    assert_int_equal(wrong > 0, trial >= 4);
    int32_t *corrected = get_labels(&d);
    assert_memory_equal(corrected, exact, (size_t)pixels_of(domain) * sizeof *exact);
    free(corrected);
  }
  close_diagram(&d);
  free_all(exact, labels, sites);
}

/* The same labels from any number of threads and, since everything is decided by exact
 * comparisons, on every device. */
TEST(test_determinism) {
  cvtm_device *one = NULL, *three = test_device_open_threads(3);
  assert_ok(cvtm_device_create("cpu", 1, &one, NULL));
  for (int d = 0; d < DOMAINS + 2; ++d) {
    const cvtm_domain large = {333, 270, d % 2}, domain = d < DOMAINS ? domains[d] : large;
    double *sites = d < DOMAINS ? clustered_sites(domain, 500, 41) : uniform_sites(domain, 900, 41);
    for (int method = 0; method <= CVTM_VORONOI_EXACT; ++method) {
      int32_t *a = compute(one, domain, sites, 500, (cvtm_voronoi_method)method);
      int32_t *b = compute(three, domain, sites, 500, (cvtm_voronoi_method)method);
      assert_memory_equal(a, b, (size_t)pixels_of(domain) * sizeof *a);
      free_all(a, b);
    }
    free(sites);
  }
  cvtm_device_destroy(one);
  cvtm_device_destroy(three);
}

/* Distances that are not finite in float mean the same on every device. */
TEST_ON_DEVICE(test_infinite_distances) {
  const double sites[] = {NAN, 5, INFINITY, 1e30, -1e25, 3, 40, 1e25, 1e20, -1e19, 45, -90};
  cvtm_device *cpu = test_cpu_open(1);
  for (int64_t count = 1; count <= 6; ++count)
    for (int method = 0; method <= CVTM_VORONOI_EXACT; ++method) {
      const cvtm_domain domain = domains[0];
      int32_t *a = compute(cpu, domain, sites, count, (cvtm_voronoi_method)method);
      int32_t *b = compute(device, domain, sites, count, (cvtm_voronoi_method)method);
      assert_memory_equal(a, b, (size_t)pixels_of(domain) * sizeof *a);
      free_all(a, b);
    }
  cvtm_device_destroy(cpu);
}

TEST_ON_DEVICE(test_arguments) {
  cvtm_voronoi *voronoi = NULL;
  const cvtm_domain bad = {-1, 5, 0};
  assert_refused(cvtm_voronoi_create(device, bad, 1, &voronoi));
  assert_null(voronoi);
  assert_device_ok(device, cvtm_voronoi_create(device, domains[0], 2, &voronoi));
  assert_refused(cvtm_voronoi_compute(voronoi, NULL, 3, CVTM_VORONOI_EXACT, NULL));
  assert_refused(cvtm_voronoi_compute(voronoi, NULL, 1, (cvtm_voronoi_method)17, NULL));
  cvtm_voronoi_destroy(voronoi);
  cvtm_voronoi_destroy(NULL);
}

TEST_DEVICE_MAIN()

#include "test_devices.h"
#include "tests/jfa/voronoi_fixture.h"

#include "jfa/site_tree_kernels.h"

/* A tree's arrays on the host. */
typedef struct host_tree {
  cvtm_site_tree_view view;
  double *position, *box;
  int32_t *index, *start;
  float *spacing;
} host_tree;

static host_tree build(cvtm_device *device, cvtm_domain domain, const double *sites,
                       int64_t count) {
  void *memory = copied_in(device, sites, 2 * count, sizeof(double));
  cvtm_site_tree *tree = NULL;
  assert_device_ok(device, cvtm_site_tree_create(device, domain, count + 3, &tree));
  assert_device_ok(device, cvtm_site_tree_build(tree, memory, count));
  assert_device_ok(device, cvtm_device_synchronize(device));
  const cvtm_site_tree_view view = cvtm_site_tree_get_view(tree);
  host_tree host;
  host.position = copied_out(device, view.position, 2 * count, sizeof(double));
  host.index = copied_out(device, view.index, count, sizeof(int32_t));
  host.box = copied_out(device, view.box, 8 * view.leaf_count, sizeof(double));
  host.start = copied_out(device, view.start, (INT64_C(1) << 2 * view.levels) + 1, sizeof(int32_t));
  host.spacing = copied_out(device, view.spacing, count, sizeof(float));
  host.view = view;
  host.view.position = host.position;
  host.view.index = host.index;
  host.view.box = host.box;
  host.view.start = host.start;
  host.view.spacing = host.spacing;
  cvtm_site_tree_destroy(tree);
  cvtm_device_free(device, memory);
  return host;
}

static void free_tree(host_tree *tree) {
  free_all(tree->position, tree->box, tree->index, tree->start, tree->spacing);
}

static void check_structure(const host_tree *tree, cvtm_domain domain, const double *sites) {
  const cvtm_site_tree_view *view = &tree->view;
  const cvtm_metric metric = cvtm_metric_of(domain);
  assert_true(view->leaf_count >= 1 && (view->leaf_count & (view->leaf_count - 1)) == 0);
  assert_true(view->leaf_count * CVTM_TREE_LEAF >= view->count);
  char *seen = calloc((size_t)view->count + 1, 1);
  assert_non_null(seen);
  for (int64_t slot = 0; slot < view->count; ++slot) {
    const int32_t i = view->index[slot];
    assert_true(i >= 0 && i < view->count && !seen[i]);
    seen[i] = 1;
    assert_true(view->position[2 * slot] == cvtm_wrap(sites[2 * i], metric.period_x));
    assert_true(view->position[2 * slot + 1] == cvtm_wrap(sites[2 * i + 1], metric.period_y));
    /* Every box above the site holds it. */
    for (int64_t node = view->leaf_count + slot / CVTM_TREE_LEAF; node >= 1; node /= 2) {
      const double *box = view->box + 4 * node;
      assert_true(box[0] <= view->position[2 * slot] && view->position[2 * slot] <= box[2]);
      assert_true(box[1] <= view->position[2 * slot + 1] && view->position[2 * slot + 1] <= box[3]);
    }
  }
  free(seen);
}

static void check_queries(const host_tree *tree, cvtm_domain domain, const double *sites,
                          int queries) {
  const cvtm_metric metric = cvtm_metric_of(domain);
  for (int q = 0; q < queries; ++q) {
    double point[2];
    cvtm_random_uniform2(99, 0, (uint64_t)q, point);
    /* Some points are outside the domain; half of them are half-integers, where lattices tie. */
    double x = (1.5 * point[0] - 0.25) * domain.width, y = (1.5 * point[1] - 0.25) * domain.height;
    if (q % 2) {
      x = floor(x) + 0.5;
      y = floor(y) + 0.5;
    }
    const cvtm_nearest found = cvtm_site_tree_nearest(&tree->view, metric, x, y);
    assert_true(is_nearest(domain, sites, tree->view.count, x, y, found.index));
    assert_int_equal(tree->view.index[found.slot], found.index);
    assert_true(found.distance2 == cvtm_distance2(metric, cvtm_wrap(x, metric.period_x),
                                                  cvtm_wrap(y, metric.period_y),
                                                  tree->view.position[2 * found.slot],
                                                  tree->view.position[2 * found.slot + 1]));
  }
}

static void check_sites(cvtm_device *device, cvtm_domain domain, const double *sites, int64_t count,
                        int queries) {
  host_tree tree = build(device, domain, sites, count);
  assert_int_equal(tree.view.count, count);
  check_structure(&tree, domain, sites);
  check_queries(&tree, domain, sites, queries);
  free_tree(&tree);
}

static const cvtm_domain domains[] = {{64, 48, 0},   {64, 48, 1},    {1, 1, 0},
                                      {1, 1, 1},     {1, 300, 1},    {777, 3, 0},
                                      {32768, 9, 1}, {262144, 2, 0}, {3, 65537, 1}};
enum { DOMAINS = sizeof domains / sizeof *domains };

TEST_ON_DEVICE(test_random) {
  static const int64_t counts[] = {1, 2, 7, 8, 9, 64, 65, 1000, 5000};
  for (int d = 0; d < DOMAINS; ++d)
    for (size_t k = 0; k < sizeof counts / sizeof *counts; ++k) {
      double *sites = uniform_sites(domains[d], counts[k], 10 * (uint64_t)d + k);
      check_sites(device, domains[d], sites, counts[k], 100);
      free(sites);
    }
}

TEST_ON_DEVICE(test_clustered) {
  for (int d = 0; d < DOMAINS; ++d) {
    double *sites = clustered_sites(domains[d], 3000, 5);
    check_sites(device, domains[d], sites, 3000, 200);
    free(sites);
  }
}

TEST_ON_DEVICE(test_lattice) {
  double sites[2 * 256];
  for (int i = 0; i < 256; ++i) {
    sites[2 * i] = 4 * ((255 - i) % 16);
    sites[2 * i + 1] = 3 * ((255 - i) / 16);
  }
  check_sites(device, domains[0], sites, 256, 2000);
  check_sites(device, domains[1], sites, 256, 2000);
}

/* Of very many coincident sites the lowest index must be found, and each search must visit only a
 * few boxes. */
TEST_ON_DEVICE(test_coincident) {
  enum { COUNT = 200000 };
  const cvtm_domain domain = {100, 100, 0};
  double *sites = uniform_sites(domain, COUNT, 3);
  for (int i = 1000; i < COUNT; ++i) {
    sites[2 * i] = 31.25;
    sites[2 * i + 1] = 60.5;
  }
  host_tree tree = build(device, domain, sites, COUNT);
  const cvtm_metric metric = cvtm_metric_of(domain);
  for (int q = 0; q < 100000; ++q) {
    const double x = 31.25 + 1e-3 * (q % 10), y = 60.5 - 1e-3 * (q % 7);
    assert_int_equal(cvtm_site_tree_nearest(&tree.view, metric, x, y).index, 1000);
  }
  free_tree(&tree);
  free(sites);
}

/* Sites of equal Morton code keep the caller's order, and the sites of a pixel are consecutive. */
TEST_ON_DEVICE(test_order) {
  enum { COUNT = 4000 };
  const cvtm_domain domain = {37, 21, 0};
  double *sites = uniform_sites(domain, COUNT, 8);
  for (int i = 0; i < COUNT; i += 3) memcpy(sites + 2 * i, sites, 2 * sizeof *sites);
  host_tree tree = build(device, domain, sites, COUNT);
  char seen[37 * 21] = {0};
  int previous = -1;
  for (int64_t slot = 0; slot < COUNT; ++slot) {
    const double *p = tree.position + 2 * slot;
    const int pixel = 37 * (int)p[1] + (int)p[0];
    if (pixel != previous) assert_int_equal(seen[pixel], 0);
    seen[pixel] = 1;
    previous = pixel;
    if (slot > 0 && p[0] == p[-2] && p[1] == p[-1])
      assert_true(tree.index[slot] > tree.index[slot - 1]);
  }
  free_tree(&tree);
  free(sites);
}

/* Crowded bins, whose sites are not ordered by comparing each with all others: half of the sites in
 * one pixel, many of them in a thousandth of it, some at one point. */
TEST_ON_DEVICE(test_crowded_bins) {
  enum { COUNT = 200000 };
  const cvtm_domain domain = {200, 100, 0};
  const double center[2] = {60.3, 40.6};
  double *sites = uniform_sites(domain, COUNT, 6);
  for (int i = 0; i < COUNT; i += 2) {
    const double spread = i % 4 == 0 ? 0.5 : i % 100 == 2 ? 0 : 1e-3;
    for (int axis = 0; axis < 2; ++axis) {
      const double side = axis == 0 ? domain.width : domain.height;
      sites[2 * i + axis] = center[axis] + spread * (sites[2 * i + axis] / side - 0.5);
    }
  }
  host_tree tree = build(device, domain, sites, COUNT);
  check_structure(&tree, domain, sites);
  const double finest = ldexp(1, 32 - tree.view.shift - tree.view.levels);
  uint64_t before = 0;
  for (int64_t slot = 0; slot < COUNT; ++slot) {
    const double x = tree.position[2 * slot], y = tree.position[2 * slot + 1];
    const uint64_t code = cvtm_morton_code(domain, x, y);
    const int32_t bin = cvtm_bin_of(code, tree.view.levels);
    assert_true(slot >= tree.start[bin] && slot < tree.start[bin + 1]);
    assert_true(code >= before);
    if (slot > 0 && code == before) assert_true(tree.index[slot] > tree.index[slot - 1]);
    before = code;
    if (tree.start[bin + 1] - tree.start[bin] <= CVTM_TREE_CROWDED_BIN) continue;
    const double spacing = (double)tree.spacing[slot];
    assert_true(spacing > 0 && spacing * CVTM_TREE_CROWDED_SPACING <= finest);
    if (tree.index[slot] % 4 != 0) continue;
    /* COUNT / 4 sites are even over a quarter of a square pixel; the others are in its middle. */
    const double even = 0.5 / sqrt(COUNT / 4);
    const double from_center = fmax(fabs(x - center[0]), fabs(y - center[1]));
    if (from_center < 0.01 || from_center > 0.2) continue;
    assert_true(spacing > even / 4 && spacing < 4 * even);
  }
  free_tree(&tree);
  free(sites);
}

/* The sort of the device gives the same tree as that of the CPU, in every bit. */
static void check_as_on_cpu(cvtm_device *device, cvtm_domain domain, const double *sites,
                            int64_t count) {
  cvtm_device *cpu = test_cpu_open(1);
  host_tree tree[2] = {build(device, domain, sites, count), build(cpu, domain, sites, count)};
  cvtm_device_destroy(cpu);
  const cvtm_site_tree_view *view = &tree[0].view;
  const size_t n = (size_t)count, bins = (size_t)1 << 2 * view->levels;
  assert_int_equal(view->levels, tree[1].view.levels);
  assert_memory_equal(tree[0].index, tree[1].index, n * sizeof(int32_t));
  assert_memory_equal(tree[0].start, tree[1].start, (bins + 1) * sizeof(int32_t));
  assert_memory_equal(tree[0].spacing, tree[1].spacing, n * sizeof(float));
  assert_memory_equal(tree[0].position, tree[1].position, 2 * n * sizeof(double));
  free_tree(&tree[0]);
  free_tree(&tree[1]);
}

TEST_ON_DEVICE(test_sort_as_on_cpu) {
  enum { COUNT = 100000 };
  for (int d = 0; d < DOMAINS; ++d) {
    double *sites = uniform_sites(domains[d], COUNT, 11);
    for (int64_t count = COUNT; count > 0; count /= 17)
      check_as_on_cpu(device, domains[d], sites, count);
    for (int i = 0; i < COUNT; i += 2) { /* coincident and nearly coincident ones */
      sites[2 * i] = 0.5 + (i % 3 == 0 ? 1e-6 * sites[2 * i] : 0);
      sites[2 * i + 1] = 0.25;
    }
    check_as_on_cpu(device, domains[d], sites, COUNT);
    free(sites);
  }
}

TEST_ON_DEVICE(test_range) {
  enum { COUNT = 1003 };
  for (int d = 0; d < 2; ++d) {
    const cvtm_metric metric = cvtm_metric_of(domains[d]);
    double *sites = uniform_sites(domains[d], COUNT, 4);
    host_tree tree = build(device, domains[d], sites, COUNT);
    for (int q = 0; q < 3000; ++q) {
      uint64_t bits[2];
      cvtm_random_bits(1, 2, (uint64_t)q, bits);
      const int64_t first = (int64_t)(bits[0] % COUNT);
      const int64_t last = first + 1 + (int64_t)(bits[1] % (uint64_t)(COUNT - first));
      cvtm_nearest best = cvtm_nearest_none(), expected = cvtm_nearest_none();
      cvtm_search_range(&tree.view, metric, 20.5, 17.25, first, last, &best);
      for (int64_t slot = first; slot < last; ++slot)
        cvtm_nearest_consider(&tree.view, metric, 20.5, 17.25, slot, &expected);
      assert_int_equal(best.index, expected.index);
      assert_int_equal(best.slot, expected.slot);
    }
    free_tree(&tree);
    free(sites);
  }
}

TEST_ON_DEVICE(test_empty_and_not_finite) {
  host_tree tree = build(device, domains[0], NULL, 0);
  assert_int_equal(cvtm_site_tree_nearest(&tree.view, cvtm_metric_of(domains[0]), 1, 1).slot, -1);
  free_tree(&tree);
  const double sites[] = {NAN, 1, 3, 3, INFINITY, 2, 1e300, -1e300, 60, 40, -INFINITY, NAN};
  for (int d = 0; d < 2; ++d) {
    tree = build(device, domains[d], sites, 6);
    const cvtm_metric metric = cvtm_metric_of(domains[d]);
    assert_int_equal(cvtm_site_tree_nearest(&tree.view, metric, 20, 20).index, 1);
    assert_int_equal(cvtm_site_tree_nearest(&tree.view, metric, 50, 40).index, 4);
    free_tree(&tree);
  }
}

/* The boxes are built if *wanted is not 0, and stay as they are if it is. */
TEST_ON_DEVICE(test_boxes_if_wanted) {
  enum { COUNT = 100 };
  double *sites = uniform_sites(domains[0], COUNT, 6);
  void *memory = NULL, *wanted = NULL;
  cvtm_site_tree *tree = NULL;
  memory = device_array(device, 2 * COUNT, sizeof(double));
  wanted = device_array(device, 1, sizeof(int32_t));
  assert_device_ok(device, cvtm_site_tree_create(device, domains[0], COUNT, &tree));
  double *boxes[3];
  size_t size = 0;
  static const int32_t wishes[3] = {1, 0, 1};
  for (int k = 0; k < 3; ++k) {
    assert_copy_in(device, memory, sites, 2 * COUNT * sizeof *sites);
    assert_copy_in(device, wanted, &wishes[k], sizeof wishes[k]);
    assert_device_ok(device, cvtm_site_tree_sort(tree, memory, COUNT));
    assert_device_ok(device, cvtm_site_tree_build_boxes(tree, wanted));
    assert_device_ok(device, cvtm_device_synchronize(device));
    const cvtm_site_tree_view view = cvtm_site_tree_get_view(tree);
    size = 8 * (size_t)view.leaf_count * sizeof(double);
    boxes[k] = copied_out(device, view.box, 8 * view.leaf_count, sizeof(double));
    for (int i = 0; i < COUNT; ++i) sites[2 * i] *= 0.5;
  }
  assert_memory_equal(boxes[1] + 4, boxes[0] + 4, size - 4 * sizeof(double));
  assert_true(boxes[2][6] < 0.5 * boxes[0][6]); /* the right end of the root's box */
  for (int k = 0; k < 3; ++k) free(boxes[k]);
  cvtm_site_tree_destroy(tree);
  device_free_all(device, wanted, memory);
  free(sites);
}

TEST_ON_DEVICE(test_arguments) {
  cvtm_site_tree *tree = NULL;
  const cvtm_domain none = {0, 5, 0}, huge = {5, CVTM_MAX_SIDE + 1, 0};
  assert_refused(cvtm_site_tree_create(device, none, 1, &tree));
  assert_refused(cvtm_site_tree_create(device, huge, 1, &tree));
  assert_refused(cvtm_site_tree_create(device, domains[0], -1, &tree));
  assert_refused(cvtm_site_tree_create(device, domains[0], INT64_C(1) << 31, &tree));
  assert_null(tree);
  assert_device_ok(device, cvtm_site_tree_create(device, domains[0], 4, &tree));
  assert_refused(cvtm_site_tree_build(tree, NULL, 5));
  cvtm_site_tree_destroy(tree);
  cvtm_site_tree_destroy(NULL);
}

TEST_DEVICE_MAIN()

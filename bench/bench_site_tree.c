/* Sorting the sites of a tree, beside a radix sort of as many keys (CUB's on CUDA), which alone
 * would find neither the bins nor the spacings. Random sites of a square. Usage: bench_site_tree
 * [--device NAME] [--threads N] */
#include "base/random.h"
#include "bench/harness.h"
#include "voronoi/site_tree.h"

static const int64_t counts[] = {4000, 20000, 60000, 1000000, 10000000};
enum { COUNTS = sizeof counts / sizeof counts[0], SIDE = 8192, ROUNDS = 10 };

typedef struct job {
  cvtm_device *device;
  cvtm_site_tree *tree;
  int64_t count;
  double *sites, *left;
  uint64_t *keys, *keys_alt;
  int32_t *values, *values_alt;
  void *workspace;
  size_t workspace_bytes;
} job;

static cvtm_status sort_tree(void *context) {
  const job *j = context;
  const cvtm_status status = cvtm_site_tree_sort(j->tree, j->sites, j->count);
  return status == CVTM_OK ? bench_end_round(j->device, j->left) : status;
}

/* The bits that tell the bins of as many sites apart. */
static int key_bits(int64_t count) {
  int bits = 2;
  while ((INT64_C(1) << bits) < count) bits += 2;
  return bits;
}

/* The order of the input does not matter to a radix sort: it may be sorted already. */
static cvtm_status sort_radix(void *context) {
  const job *j = context;
  const cvtm_status status =
      cvtm_sort_pairs(j->device, j->keys, j->values, j->keys_alt, j->values_alt, j->count,
                      key_bits(j->count), j->workspace, j->workspace_bytes);
  return status == CVTM_OK ? bench_end_round(j->device, j->left) : status;
}

enum { ARRAYS = 7 };

static void list_job_arrays(job *j, cvtm_array arrays[ARRAYS]) {
  const cvtm_array list[ARRAYS] = {
      CVTM_ARRAY(j->sites, 2 * j->count),
      CVTM_ARRAY(j->keys, j->count),
      CVTM_ARRAY(j->keys_alt, j->count),
      CVTM_ARRAY(j->values, j->count),
      CVTM_ARRAY(j->values_alt, j->count),
      CVTM_ARRAY(j->left, 2),
      {&j->workspace, (int64_t)j->workspace_bytes, 1},
  };
  memcpy(arrays, list, sizeof list);
}

static cvtm_status fill_job(job *j) {
  double *sites = malloc(2 * (size_t)j->count * sizeof *sites);
  uint64_t *keys = malloc((size_t)j->count * sizeof *keys);
  cvtm_status status = sites && keys ? CVTM_OK : CVTM_ERROR_MEMORY;
  for (int64_t i = 0; status == CVTM_OK && i < j->count; ++i) {
    cvtm_random_uniform2(1, 1, (uint64_t)i, sites + 2 * i);
    keys[i] = (uint64_t)(sites[2 * i] * (double)(UINT64_C(1) << key_bits(j->count)));
    sites[2 * i] *= SIDE;
    sites[2 * i + 1] *= SIDE;
  }
  const size_t n = (size_t)j->count;
  if (status == CVTM_OK)
    status = cvtm_device_copy_in(j->device, j->sites, sites, 2 * n * sizeof *sites);
  if (status == CVTM_OK) status = cvtm_device_copy_in(j->device, j->keys, keys, n * sizeof *keys);
  free(sites);
  free(keys);
  return status;
}

static cvtm_status run_count(cvtm_device *device, int64_t count) {
  const cvtm_domain domain = {SIDE, SIDE, 0};
  job j = {.device = device, .count = count};
  double tree = 0, radix = 0;
  cvtm_status status = cvtm_sort_workspace(device, count, &j.workspace_bytes);
  cvtm_array arrays[ARRAYS];
  list_job_arrays(&j, arrays);
  if (status == CVTM_OK) status = cvtm_device_allocate_all(device, arrays, ARRAYS);
  if (status == CVTM_OK) status = cvtm_site_tree_create(device, domain, count, &j.tree);
  if (status == CVTM_OK) status = fill_job(&j);
  if (status == CVTM_OK) status = bench_loop(device, sort_tree, &j, j.left, ROUNDS, &tree);
  if (status == CVTM_OK) status = bench_loop(device, sort_radix, &j, j.left, ROUNDS, &radix);
  if (status == CVTM_OK) printf("| %lld | %.4f | %.4f |\n", (long long)count, tree, radix);
  fflush(stdout);
  cvtm_site_tree_destroy(j.tree);
  cvtm_device_free_all(device, arrays, ARRAYS);
  return status;
}

int main(int argc, char **argv) {
  cvtm_device *device = bench_device(argc, argv, "auto");
  printf("Device: %s (%s); milliseconds\n\n| sites | site tree | radix sort |\n|---|---|---|\n",
         cvtm_device_name(device), cvtm_device_description(device));
  for (int k = 0; k < COUNTS; ++k) bench_check(device, run_count(device, counts[k]));
  cvtm_device_destroy(device);
  return 0;
}

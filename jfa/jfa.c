#include "jfa/jfa.h"

#include "jfa/jfa_kernels.h"

#include <stdlib.h>

enum { MAX_PASSES = 40 };

struct cvtm_voronoi {
  cvtm_device *device;
  const cvtm_voronoi_table *table;
  cvtm_domain domain;
  cvtm_site_tree *tree;
  int32_t *group_end;
  int32_t *labels_alt;
  uint64_t *labelled;
};

static const cvtm_voronoi_table *choose_table(const cvtm_device *device) {
#if CVTMESH_HAVE_CUDA
  if (cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA) return &cvtm_voronoi_table_cuda;
#else
  (void)device;
#endif
  return &cvtm_voronoi_table_cpu;
}

static int64_t pixels_of(cvtm_domain domain) { return (int64_t)domain.width * domain.height; }

static cvtm_status allocate_int32(cvtm_device *device, int64_t count, int32_t **array) {
  void *memory = NULL;
  const cvtm_status status = cvtm_device_allocate(device, count, sizeof(int32_t), &memory);
  *array = memory;
  return status;
}

cvtm_status cvtm_voronoi_create(cvtm_device *device, cvtm_domain domain, int64_t capacity,
                                cvtm_voronoi **result) {
  cvtm_voronoi *voronoi = calloc(1, sizeof *voronoi);
  if (!voronoi) return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "out of memory");
  voronoi->device = device;
  voronoi->table = choose_table(device);
  voronoi->domain = domain;
  cvtm_status status = cvtm_site_tree_create(device, domain, capacity, &voronoi->tree);
  if (status == CVTM_OK) status = allocate_int32(device, capacity, &voronoi->group_end);
  if (status == CVTM_OK) status = allocate_int32(device, pixels_of(domain), &voronoi->labels_alt);
  if (status == CVTM_OK)
    status =
        cvtm_device_allocate(device, 1, sizeof *voronoi->labelled, (void **)&voronoi->labelled);
  if (status != CVTM_OK) {
    cvtm_voronoi_destroy(voronoi);
    return status;
  }
  *result = voronoi;
  return CVTM_OK;
}

void cvtm_voronoi_destroy(cvtm_voronoi *voronoi) {
  if (!voronoi) return;
  cvtm_site_tree_destroy(voronoi->tree);
  cvtm_device_free(voronoi->device, voronoi->group_end);
  cvtm_device_free(voronoi->device, voronoi->labels_alt);
  cvtm_device_free(voronoi->device, voronoi->labelled);
  free(voronoi);
}

cvtm_site_tree_view cvtm_voronoi_get_tree(const cvtm_voronoi *voronoi) {
  return cvtm_site_tree_get_view(voronoi->tree);
}

/* Appends N/2, ..., 1 to the steps. */
static int append_halving(cvtm_domain domain, int *steps, int passes) {
  const int side = domain.width > domain.height ? domain.width : domain.height;
  int covering = 1;
  while (covering < side) covering *= 2;
  for (int step = covering / 2; step >= 1; step /= 2) steps[passes++] = step;
  return passes;
}

/* The steps of a jump-flooding method; how many there are is returned. */
static int plan_steps(cvtm_domain domain, cvtm_voronoi_method method, int steps[MAX_PASSES]) {
  int passes = 0;
  if (method == CVTM_VORONOI_ONE_PLUS_JFA) steps[passes++] = 1;
  passes = append_halving(domain, steps, passes);
  if (method == CVTM_VORONOI_JFA_SQUARED) passes = append_halving(domain, steps, passes);
  if (method == CVTM_VORONOI_JFA_PLUS_2) steps[passes++] = 2;
  if (method == CVTM_VORONOI_JFA_PLUS_1 || method == CVTM_VORONOI_JFA_PLUS_2) steps[passes++] = 1;
  return passes;
}

static cvtm_status jump_flood(cvtm_voronoi *voronoi, const cvtm_flood *flood,
                              cvtm_voronoi_method method, int32_t *labels) {
  cvtm_device *device = voronoi->device;
  int steps[MAX_PASSES];
  const int passes = plan_steps(voronoi->domain, method, steps);
  /* Begin in the array from which the last pass ends in `labels`. */
  int32_t *from = passes % 2 ? voronoi->labels_alt : labels;
  int32_t *to = passes % 2 ? labels : voronoi->labels_alt;
  cvtm_status status =
      cvtm_device_fill(device, from, 0xFF, (size_t)pixels_of(voronoi->domain) * sizeof *from);
  if (status == CVTM_OK) status = voronoi->table->seed(device, flood, from);
  for (int k = 0; status == CVTM_OK && k < passes; ++k) {
    status = voronoi->table->pass(device, flood, steps[k], from, to);
    int32_t *const swap = from;
    from = to;
    to = swap;
  }
  if (status == CVTM_OK) status = voronoi->table->resolve(device, flood, labels);
  return status;
}

cvtm_status cvtm_voronoi_compute(cvtm_voronoi *voronoi, const double *sites, int64_t count,
                                 cvtm_voronoi_method method, int32_t *labels) {
  cvtm_device *device = voronoi->device;
  if ((int)method < 0 || method > CVTM_VORONOI_EXACT)
    return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_ARGUMENT, "no Voronoi method %d",
                     (int)method);
  cvtm_status status = cvtm_site_tree_build(voronoi->tree, sites, count);
  if (status != CVTM_OK) return status;
  if (count == 0)
    return cvtm_device_fill(device, labels, 0xFF,
                            (size_t)pixels_of(voronoi->domain) * sizeof *labels);
  const cvtm_flood flood = {
      .tree = cvtm_site_tree_get_view(voronoi->tree),
      .domain = voronoi->domain,
      .metric = cvtm_metric_of(voronoi->domain),
      .group_end = voronoi->group_end,
      .labelled = voronoi->labelled,
  };
  if (method == CVTM_VORONOI_EXACT) return voronoi->table->exact(device, &flood, labels);
  return jump_flood(voronoi, &flood, method, labels);
}

#include "jfa/jfa.h"

#include "base/table_select.h"
#include "jfa/jfa_kernels.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_PASSES = 40, NO_LIMIT = 0x7F /* in every byte of the first step */ };

struct cvtm_voronoi {
  cvtm_device *device;
  const cvtm_voronoi_table *table;
  const cvtm_flood_table *flood_table;
  cvtm_domain domain;
  cvtm_site_tree *tree;
  int32_t *labels_alt;
  int32_t *first_step, *missing; /* one number each */
  uint64_t *wrong;               /* one number */
  const double *sites;           /* of the last diagram: the caller's */
  cvtm_voronoi_cost cost;        /* of the last diagram, before larger steps are left out */
};

/* The steps of all passes; the last, of step 1, makes the labels. The first two may be done in
 * one. */
typedef struct schedule {
  int passes, opens;
  int step[MAX_PASSES];
} schedule;

static int64_t pixels_of(cvtm_domain domain) { return (int64_t)domain.width * domain.height; }

enum { ARRAYS = 4 };

static void list_arrays(cvtm_voronoi *voronoi, cvtm_array arrays[ARRAYS]) {
  const cvtm_array list[ARRAYS] = {
      {(void **)&voronoi->labels_alt, pixels_of(voronoi->domain), sizeof(int32_t)},
      {(void **)&voronoi->first_step, 1, sizeof(int32_t)},
      {(void **)&voronoi->missing, 1, sizeof(int32_t)},
      {(void **)&voronoi->wrong, 1, sizeof(uint64_t)},
  };
  memcpy(arrays, list, sizeof list);
}

cvtm_status cvtm_voronoi_create(cvtm_device *device, cvtm_domain domain, int64_t capacity,
                                cvtm_voronoi **result) {
  cvtm_voronoi *voronoi = calloc(1, sizeof *voronoi);
  if (!voronoi) return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "out of memory");
  voronoi->device = device;
  voronoi->domain = domain;
  voronoi->table = CVTM_TABLE(device, cvtm_voronoi_table);
  voronoi->flood_table = CVTM_TABLE(device, cvtm_flood_table);
  cvtm_array arrays[ARRAYS];
  list_arrays(voronoi, arrays);
  cvtm_status status = cvtm_site_tree_create(device, domain, capacity, &voronoi->tree);
  if (status == CVTM_OK) status = cvtm_device_allocate_all(device, arrays, ARRAYS);
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
  cvtm_array arrays[ARRAYS];
  list_arrays(voronoi, arrays);
  cvtm_device_free_all(voronoi->device, arrays, ARRAYS);
  free(voronoi);
}

/* --- schedules ------------------------------------------------------------------- */

/* Half the least power of two that covers the longer side. */
static int largest_step(cvtm_domain domain) {
  const int side = domain.width > domain.height ? domain.width : domain.height;
  int covering = 1;
  while (covering < side) covering *= 2;
  return covering / 2;
}

static void append(schedule *plan, int step) { plan->step[plan->passes++] = step; }

static void append_halving(schedule *plan, int step) {
  for (; step >= 1; step /= 2) append(plan, step);
}

static schedule plan_method(const cvtm_voronoi *voronoi, cvtm_voronoi_method method) {
  const cvtm_domain domain = voronoi->domain;
  const int largest = largest_step(domain);
  schedule plan = {0, 0, {0}};
  if (method == CVTM_VORONOI_ONE_PLUS_JFA) append(&plan, 1);
  append_halving(&plan, largest);
  if (method == CVTM_VORONOI_JFA_SQUARED) append_halving(&plan, largest);
  if (method == CVTM_VORONOI_JFA_PLUS_2) append(&plan, 2);
  if (method == CVTM_VORONOI_JFA_PLUS_1 || method == CVTM_VORONOI_JFA_PLUS_2) append(&plan, 1);
  if (plan.passes == 0) append(&plan, 1); /* one pixel */
  plan.opens = voronoi->flood_table->open && !domain.periodic && largest >= 4 &&
               method != CVTM_VORONOI_ONE_PLUS_JFA && method != CVTM_VORONOI_JFA_SHORT;
  return plan;
}

static schedule plan_update(const cvtm_voronoi *voronoi, int64_t count, int first_step) {
  const int largest = largest_step(voronoi->domain);
  const double spacing = sqrt((double)pixels_of(voronoi->domain) / (double)(count > 0 ? count : 1));
  int step = 1;
  while (step < (first_step > 0 ? first_step : 0.3 * spacing) && step < largest) step *= 2;
  schedule plan = {0, 0, {0}};
  append_halving(&plan, step);
  return plan;
}

/* --- flooding -------------------------------------------------------------------- */

static uint32_t *words_in(int32_t *labels) { return (uint32_t *)labels; }

/* Where words begin, so that the passes before the last end in labels_alt. */
static int32_t *first_array(const cvtm_voronoi *voronoi, const schedule *plan, int32_t *labels) {
  return (plan->passes - plan->opens) % 2 ? voronoi->labels_alt : labels;
}

static int32_t *other_array(const cvtm_voronoi *voronoi, const int32_t *array, int32_t *labels) {
  return array == labels ? voronoi->labels_alt : labels;
}

/* All passes, on words that are in their first array. */
static cvtm_status run_passes(cvtm_voronoi *voronoi, const cvtm_flood *flood, const schedule *plan,
                              int32_t *labels) {
  const cvtm_flood_table *table = voronoi->flood_table;
  cvtm_device *device = voronoi->device;
  int32_t *from = first_array(voronoi, plan, labels);
  cvtm_status status = CVTM_OK;
  for (int k = plan->opens; status == CVTM_OK && k + 1 < plan->passes; ++k) {
    int32_t *const to = other_array(voronoi, from, labels);
    const int opens = plan->opens && k == 1;
    status = (opens ? table->open : table->pass)(device, flood, plan->step[k - opens],
                                                 words_in(from), words_in(to));
    from = to;
  }
  if (status != CVTM_OK) return status;
  return table->finish(device, flood, words_in(from), labels);
}

static cvtm_status jump_flood(cvtm_voronoi *voronoi, const cvtm_flood *flood,
                              cvtm_voronoi_method method, const schedule *plan, int32_t *labels) {
  const cvtm_flood_table *table = voronoi->flood_table;
  cvtm_device *device = voronoi->device;
  const int is_short = method == CVTM_VORONOI_JFA_SHORT;
  int32_t *const from = first_array(voronoi, plan, labels);
  cvtm_status status = table->start(device, flood, words_in(from));
  /* Either array may be the one that the first pass reads which is not left out. */
  if (status == CVTM_OK && is_short)
    status = table->start(device, flood, words_in(other_array(voronoi, from, labels)));
  if (status == CVTM_OK)
    status = is_short
                 ? table->limit(device, flood)
                 : cvtm_device_fill(device, flood->first_step, NO_LIMIT, sizeof *flood->first_step);
  return status == CVTM_OK ? run_passes(voronoi, flood, plan, labels) : status;
}

static cvtm_status compute_exact(cvtm_voronoi *voronoi, const cvtm_flood *flood, int32_t *labels) {
  const cvtm_voronoi_table *table = voronoi->table;
  cvtm_device *device = voronoi->device;
  int32_t *const missing = table->cells ? voronoi->missing : NULL;
  cvtm_status status = CVTM_OK;
  if (table->cells) status = table->cells(device, flood, labels, missing);
  if (status == CVTM_OK) status = cvtm_site_tree_build_boxes(voronoi->tree, missing);
  return status == CVTM_OK ? table->tiles(device, flood, labels, missing) : status;
}

static cvtm_status label_none(const cvtm_voronoi *voronoi, int32_t *labels) {
  return cvtm_device_fill(voronoi->device, labels, 0xFF,
                          (size_t)pixels_of(voronoi->domain) * sizeof *labels);
}

static cvtm_flood flood_of(const cvtm_voronoi *voronoi) {
  const cvtm_flood flood = {
      .tree = cvtm_site_tree_get_view(voronoi->tree),
      .domain = voronoi->domain,
      .metric = cvtm_metric_of(voronoi->domain),
      .first_step = voronoi->first_step,
  };
  return flood;
}

/* Words or labels are written once before the passes, then read and written by each. */
static cvtm_voronoi_cost cost_of(const cvtm_voronoi *voronoi, const schedule *plan) {
  const cvtm_voronoi_cost cost = {
      .passes = plan->passes,
      .first_step = plan->step[0],
      .bytes = 4 * (2 * (int64_t)(plan->passes - plan->opens) + 1) * pixels_of(voronoi->domain),
  };
  return cost;
}

cvtm_status cvtm_voronoi_compute(cvtm_voronoi *voronoi, const double *sites, int64_t count,
                                 cvtm_voronoi_method method, int32_t *labels) {
  if ((int)method < 0 || method > CVTM_VORONOI_EXACT)
    return cvtm_fail(cvtm_device_error(voronoi->device), CVTM_ERROR_ARGUMENT,
                     "no Voronoi method %d", (int)method);
  const int exact = method == CVTM_VORONOI_EXACT;
  cvtm_status status = cvtm_site_tree_sort(voronoi->tree, sites, count);
  if (status != CVTM_OK) return status;
  voronoi->sites = sites;
  const schedule plan = plan_method(voronoi, method);
  voronoi->cost = cost_of(voronoi, &plan);
  if (exact) voronoi->cost = (cvtm_voronoi_cost){.bytes = 4 * pixels_of(voronoi->domain)};
  if (count == 0) return label_none(voronoi, labels);
  const cvtm_flood flood = flood_of(voronoi);
  if (exact) return compute_exact(voronoi, &flood, labels);
  status = cvtm_site_tree_build_boxes(voronoi->tree, NULL);
  return status == CVTM_OK ? jump_flood(voronoi, &flood, method, &plan, labels) : status;
}

cvtm_status cvtm_voronoi_update(cvtm_voronoi *voronoi, const double *sites, int64_t count,
                                int first_step, int32_t *labels) {
  cvtm_device *device = voronoi->device;
  cvtm_status status = cvtm_site_tree_build(voronoi->tree, sites, count);
  if (status != CVTM_OK) return status;
  voronoi->sites = sites;
  const schedule plan = plan_update(voronoi, count, first_step);
  voronoi->cost = cost_of(voronoi, &plan);
  if (count == 0) return label_none(voronoi, labels);
  const cvtm_flood flood = flood_of(voronoi);
  status = voronoi->flood_table->recall(device, &flood, sites, labels,
                                        words_in(first_array(voronoi, &plan, labels)));
  if (status == CVTM_OK)
    status = cvtm_device_fill(device, flood.first_step, NO_LIMIT, sizeof *flood.first_step);
  return status == CVTM_OK ? run_passes(voronoi, &flood, &plan, labels) : status;
}

cvtm_status cvtm_voronoi_correct(cvtm_voronoi *voronoi, int32_t *labels, int64_t *wrong) {
  cvtm_device *device = voronoi->device;
  const cvtm_flood flood = flood_of(voronoi);
  *wrong = 0;
  if (flood.tree.count == 0) return label_none(voronoi, labels);
  cvtm_status status = compute_exact(voronoi, &flood, voronoi->labels_alt);
  if (status == CVTM_OK)
    status = cvtm_device_fill(device, voronoi->wrong, 0, sizeof *voronoi->wrong);
  if (status == CVTM_OK)
    status = voronoi->table->correct(device, &flood, voronoi->sites, voronoi->labels_alt, labels,
                                     voronoi->wrong);
  if (status != CVTM_OK) return status;
  return cvtm_device_copy_out(device, wrong, voronoi->wrong, sizeof *wrong);
}

cvtm_status cvtm_voronoi_get_cost(cvtm_voronoi *voronoi, cvtm_voronoi_cost *cost) {
  *cost = voronoi->cost;
  if (cost->passes == 0 || cvtm_site_tree_get_view(voronoi->tree).count == 0) return CVTM_OK;
  int32_t limit = 0;
  const cvtm_status status =
      cvtm_device_copy_out(voronoi->device, &limit, voronoi->first_step, sizeof limit);
  const int64_t pass_bytes = 8 * pixels_of(voronoi->domain);
  for (; status == CVTM_OK && cost->first_step > limit && cost->passes > 1; cost->first_step /= 2) {
    --cost->passes;
    cost->bytes -= pass_bytes;
  }
  return status;
}

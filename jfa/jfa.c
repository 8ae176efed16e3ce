#include "jfa/jfa.h"

#include "base/select.h"
#include "jfa/jfa_kernels.h"

#include <stdlib.h>

enum { MAX_PASSES = 40 };

struct cvtm_voronoi {
  cvtm_device *device;
  const cvtm_jfa_table *table;
  cvtm_domain domain;
  cvtm_site_tree *tree;
  int32_t *second_array; /* width * height codes or labels */
  int32_t *unlabelled;   /* one number, as is *wrong */
  uint64_t *wrong;
  const double *sites; /* the array that the caller gave for the last diagram */
};

/* The steps of all passes. The last step is 1, for the final pass. */
typedef struct schedule {
  int passes;
  int step[MAX_PASSES];
} schedule;

static int64_t pixels_of(cvtm_domain domain) { return (int64_t)domain.width * domain.height; }

static cvtm_arrays voronoi_arrays(cvtm_voronoi *voronoi) {
  return (cvtm_arrays){{
      CVTM_ARRAY(voronoi->second_array, pixels_of(voronoi->domain)),
      CVTM_ARRAY(voronoi->unlabelled, 1),
      CVTM_ARRAY(voronoi->wrong, 1),
  }};
}

cvtm_status cvtm_voronoi_create(cvtm_device *device, cvtm_domain domain, int64_t capacity,
                                cvtm_voronoi **result) {
  if (domain.width > CVTM_MAX_LABELLED_SIDE || domain.height > CVTM_MAX_LABELLED_SIDE)
    return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_ARGUMENT,
                     "labels of %d x %d pixels: each side has at most %d", domain.width,
                     domain.height, CVTM_MAX_LABELLED_SIDE);
  cvtm_voronoi *voronoi = calloc(1, sizeof *voronoi);
  if (!voronoi) return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "out of memory");
  voronoi->device = device;
  voronoi->domain = domain;
  voronoi->table = CVTM_TABLE(device, cvtm_jfa_table);
  cvtm_status status = cvtm_site_tree_create(device, domain, capacity, &voronoi->tree);
  if (status == CVTM_OK) status = cvtm_device_allocate_arrays(device, voronoi_arrays(voronoi));
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
  cvtm_device_free_arrays(voronoi->device, voronoi_arrays(voronoi));
  free(voronoi);
}

/* --- schedules -------------------------------------------------------------------------------- */

/* Half of the smallest power of two that covers the longer side. */
static int largest_step(cvtm_domain domain) {
  const int side = domain.width > domain.height ? domain.width : domain.height;
  int covering = 1;
  while (covering < side) covering *= 2;
  return covering / 2;
}

static void append_pass(schedule *plan, int step) { plan->step[plan->passes++] = step; }

static void append_halving(schedule *plan, int step) {
  for (; step >= 1; step /= 2) append_pass(plan, step);
}

static schedule plan_method(cvtm_domain domain, cvtm_voronoi_method method) {
  const int largest = largest_step(domain);
  schedule plan = {0, {0}};
  if (method == CVTM_VORONOI_ONE_PLUS_JFA) append_pass(&plan, 1);
  append_halving(&plan, largest);
  if (method == CVTM_VORONOI_JFA_SQUARED) append_halving(&plan, largest);
  if (method == CVTM_VORONOI_JFA_PLUS_2) append_pass(&plan, 2);
  if (method == CVTM_VORONOI_JFA_PLUS_1 || method == CVTM_VORONOI_JFA_PLUS_2) append_pass(&plan, 1);
  if (plan.passes == 0) append_pass(&plan, 1); /* the domain is one pixel */
  return plan;
}

static schedule plan_warm_start(cvtm_domain domain, int64_t count, int first_step) {
  const int largest = largest_step(domain);
  const double spacing = sqrt((double)pixels_of(domain) / (double)(count > 0 ? count : 1));
  int step = 1;
  while (step < (first_step > 0 ? first_step : 0.3 * spacing) && step < largest) step *= 2;
  schedule plan = {0, {0}};
  append_halving(&plan, step);
  return plan;
}

/* --- exact labels ----------------------------------------------------------------------------- */

static cvtm_diagram diagram_of(const cvtm_site_tree *tree, cvtm_domain domain) {
  const cvtm_diagram diagram = {cvtm_site_tree_get_view(tree), domain, cvtm_metric_of(domain)};
  return diagram;
}

/* Labels all pixels of the domain, and builds the boxes of the tree if needed. The tree must have
 * at least one site, and its sites must be sorted. Enqueued; allocates nothing. */
static cvtm_status label_exactly(cvtm_device *device, cvtm_site_tree *tree, cvtm_domain domain,
                                 int32_t *labels, int32_t *unlabelled) {
  const cvtm_exact_labels_table *table = CVTM_TABLE(device, cvtm_exact_labels_table);
  const cvtm_diagram diagram = diagram_of(tree, domain);
  int32_t *const left = table->label_cells ? unlabelled : NULL;
  cvtm_status status = CVTM_OK;
  if (table->label_cells) status = table->label_cells(device, &diagram, labels, left);
  if (status == CVTM_OK) status = cvtm_site_tree_build_boxes(tree, left);
  return status == CVTM_OK ? table->label_tiles(device, &diagram, labels, left) : status;
}

/* Replaces labels by exact labels. *wrong: the number of labels whose site was farther away than
 * the nearest site, which includes labels that are not the index of a site. Enqueued. */
static cvtm_status correct_labels(cvtm_device *device, const cvtm_diagram *diagram,
                                  const double *sites, const int32_t *exact, int32_t *labels,
                                  uint64_t *wrong) {
  CVTM_TRY(cvtm_device_fill(device, wrong, 0, sizeof *wrong));
  return CVTM_TABLE(device, cvtm_exact_labels_table)
      ->correct(device, diagram, sites, exact, labels, wrong);
}

/* --- flooding --------------------------------------------------------------------------------- */

static uint32_t *codes_in(int32_t *array) { return (uint32_t *)array; }

/* The array that the first pass reads, such that the final pass reads second_array and writes
 * labels. */
static int32_t *first_array(const cvtm_voronoi *voronoi, const schedule *plan, int32_t *labels) {
  return plan->passes % 2 ? voronoi->second_array : labels;
}

static int32_t *other_array(const cvtm_voronoi *voronoi, const int32_t *array, int32_t *labels) {
  return array == labels ? voronoi->second_array : labels;
}

/* Sets the codes of the seeds, and runs all passes. The codes of the other pixels are already in
 * first_array. */
static cvtm_status run_passes(cvtm_voronoi *voronoi, const cvtm_diagram *diagram,
                              const schedule *plan, int32_t *labels) {
  const cvtm_jfa_table *table = voronoi->table;
  int32_t *from = first_array(voronoi, plan, labels);
  cvtm_status status = table->set_seeds(voronoi->device, diagram, codes_in(from));
  for (int k = 0; status == CVTM_OK && k + 1 < plan->passes; ++k) {
    int32_t *const to = other_array(voronoi, from, labels);
    status = table->pass(voronoi->device, diagram, plan->step[k], codes_in(from), codes_in(to));
    from = to;
  }
  return status == CVTM_OK ? table->final_pass(voronoi->device, diagram, codes_in(from), labels)
                           : status;
}

static cvtm_status label_none(const cvtm_voronoi *voronoi, int32_t *labels) {
  return cvtm_device_fill(voronoi->device, labels, 0xFF,
                          (size_t)pixels_of(voronoi->domain) * sizeof *labels);
}

cvtm_status cvtm_voronoi_compute(cvtm_voronoi *voronoi, const double *sites, int64_t count,
                                 cvtm_voronoi_method method, int32_t *labels) {
  if ((int)method < 0 || method > CVTM_VORONOI_EXACT)
    return cvtm_fail(cvtm_device_error(voronoi->device), CVTM_ERROR_ARGUMENT,
                     "no Voronoi method %d", (int)method);
  const int exact = method == CVTM_VORONOI_EXACT;
  CVTM_TRY(cvtm_site_tree_sort(voronoi->tree, sites, count));
  voronoi->sites = sites;
  if (count == 0) return label_none(voronoi, labels);
  if (exact)
    return label_exactly(voronoi->device, voronoi->tree, voronoi->domain, labels,
                         voronoi->unlabelled);
  CVTM_TRY(cvtm_site_tree_build_boxes(voronoi->tree, NULL));
  const cvtm_diagram diagram = diagram_of(voronoi->tree, voronoi->domain);
  const schedule plan = plan_method(voronoi->domain, method);
  cvtm_status status = label_none(voronoi, first_array(voronoi, &plan, labels)); /* CVTM_NO_SEED */
  return status == CVTM_OK ? run_passes(voronoi, &diagram, &plan, labels) : status;
}

cvtm_status cvtm_voronoi_update(cvtm_voronoi *voronoi, const double *sites, int64_t count,
                                int first_step, int32_t *labels) {
  CVTM_TRY(cvtm_site_tree_build(voronoi->tree, sites, count));
  voronoi->sites = sites;
  const schedule plan = plan_warm_start(voronoi->domain, count, first_step);
  if (count == 0) return label_none(voronoi, labels);
  const cvtm_diagram diagram = diagram_of(voronoi->tree, voronoi->domain);
  CVTM_TRY(voronoi->table->warm_start(voronoi->device, &diagram, sites, labels,
                                      codes_in(first_array(voronoi, &plan, labels))));
  return run_passes(voronoi, &diagram, &plan, labels);
}

cvtm_status cvtm_voronoi_correct(cvtm_voronoi *voronoi, int32_t *labels, int64_t *wrong) {
  cvtm_device *device = voronoi->device;
  int32_t *const exact = voronoi->second_array;
  *wrong = 0;
  const cvtm_diagram diagram = diagram_of(voronoi->tree, voronoi->domain);
  if (diagram.tree.count == 0) return label_none(voronoi, labels);
  CVTM_TRY(label_exactly(device, voronoi->tree, voronoi->domain, exact, voronoi->unlabelled));
  CVTM_TRY(correct_labels(device, &diagram, voronoi->sites, exact, labels, voronoi->wrong));
  return cvtm_device_copy_out(device, wrong, voronoi->wrong, sizeof *wrong);
}

/* The evaluator of one device, which descents call, and the functions that evaluate sites given by
 * the caller: energy, gradient and moments. */
#include "base/primitives.h"
#include "base/select.h"
#include "cvt/descent.h"
#include "cvt/pull.h"

#include <math.h>
#include <stdlib.h>

enum { WORTH_THREADS = 1 << 17 /* with fewer sites, one thread is as fast */ };

/* Beyond this coordinate, doubles are too coarse for a position within a pixel. */
static const double farthest = 1e9;

static int bits_for(int64_t largest) {
  int bits = 1;
  while (bits < 63 && largest >> bits) ++bits;
  return bits;
}

static cvtm_status enqueue_cells(cvtm_cvt *cvt, const double *sites, int64_t count) {
  CVTM_TRY(cvtm_site_tree_sort(cvt->tree, sites, count));
  return cvt->table->cell_moments(cvt, count);
}

/* Computes the moments over the pixels of each label: sorts the pixels by label, then sums over the
 * pixels of each label. */
static cvtm_status enqueue_labels(cvtm_cvt *cvt, const double *sites, int64_t count,
                                  cvtm_voronoi_method voronoi) {
  CVTM_TRY(cvtm_voronoi_compute(cvt->voronoi, sites, count, voronoi, cvt->labels));
  CVTM_TRY(cvt->table->pixel_keys(cvt));
  CVTM_TRY(cvtm_sort_pairs(cvt->device, cvt->keys, cvt->pixels, cvt->keys_alt, cvt->pixels_alt,
                           (int64_t)cvt->domain.width * cvt->domain.height, bits_for(count - 1)));
  return cvt->table->label_moments(cvt, sites, count);
}

/* --- the evaluator of a device ---------------------------------------------------------------- */

static cvtm_status prepare_on_device(const cvtm_cvt_task *task) {
  return task->energy == CVTM_CVT_PIXEL ? cvtm_cvt_prepare_labels(task->cvt) : CVTM_OK;
}

static cvtm_status evaluate_on_device(const cvtm_cvt_task *task, const double *sites, double *value,
                                      double *gradient) {
  cvtm_cvt *cvt = task->cvt;
  CVTM_TRY(task->energy == CVTM_CVT_PIXEL ? enqueue_labels(cvt, sites, task->count, task->voronoi)
                                          : enqueue_cells(cvt, sites, task->count));
  return cvt->table->finish(cvt, task->count, task->fixed, value, gradient);
}

static cvtm_status begin_on_device(const cvtm_cvt_task *task, int restored) {
  (void)task;
  (void)restored;
  return CVTM_OK;
}

static cvtm_own_sites get_own_on_device(const cvtm_cvt_task *task) {
  const cvtm_cvt *cvt = task->cvt;
  return (cvtm_own_sites){0, task->count, task->fixed, cvt->sites, cvt->best, cvt->scale};
}

static cvtm_cell_moments *get_moments_on_device(const cvtm_cvt *cvt) { return cvt->moments; }

static cvtm_status end_on_device(const cvtm_cvt_task *task) {
  (void)task;
  return CVTM_OK;
}

/* Creates a solver with room for as many sites as the plan. */
static cvtm_status create_solver_on_device(const cvtm_cvt_task *task,
                                           const cvtm_lbfgsb_options *options,
                                           cvtm_lbfgsb **solver) {
  return cvtm_lbfgsb_create(task->cvt->device, 2 * task->cvt->capacity, options, solver);
}

static size_t array_bytes_on_device(const cvtm_cvt_task *task, int in_solver) {
  return (in_solver ? 6U : 4U) * (size_t)task->count * sizeof(double);
}

/* Copies the arrays of a descent to `to` or from `from`; the other is NULL. */
static cvtm_status copy_arrays(const cvtm_cvt_task *task, int in_solver, unsigned char *to,
                               const unsigned char *from) {
  cvtm_cvt *cvt = task->cvt;
  double *const arrays[] = {cvt->sites, cvt->best, cvt->scale};
  const size_t bytes = 2 * (size_t)task->count * sizeof(double);
  for (size_t k = 0; k < (in_solver ? 3 : 2); ++k)
    CVTM_TRY(to ? cvtm_device_copy_out(cvt->device, to + k * bytes, arrays[k], bytes)
                : cvtm_device_copy_in(cvt->device, arrays[k], from + k * bytes, bytes));
  return CVTM_OK;
}

static cvtm_status save_on_device(const cvtm_cvt_task *task, int in_solver, unsigned char *to) {
  const cvtm_status status = copy_arrays(task, in_solver, to, NULL);
  if (status != CVTM_OK || !in_solver) return status;
  return cvtm_lbfgsb_save(task->cvt->solver, to + array_bytes_on_device(task, 1));
}

static cvtm_status restore_on_device(const cvtm_cvt_task *task, int in_solver,
                                     const unsigned char *from) {
  return copy_arrays(task, in_solver, NULL, from);
}

static cvtm_status restore_solver_on_device(const cvtm_cvt *cvt, const unsigned char *from) {
  return cvtm_lbfgsb_restore(cvt->solver, from, cvtm_lbfgsb_save_bytes(cvt->solver), NULL);
}

const cvtm_evaluator cvtm_evaluator_of_device = {.solver_resizes = 1,
                                                 .prepare = prepare_on_device,
                                                 .evaluate_all = evaluate_on_device,
                                                 .begin = begin_on_device,
                                                 .own = get_own_on_device,
                                                 .evaluate = evaluate_on_device,
                                                 .moments = get_moments_on_device,
                                                 .end = end_on_device,
                                                 .create_solver = create_solver_on_device,
                                                 .array_bytes = array_bytes_on_device,
                                                 .save = save_on_device,
                                                 .restore = restore_on_device,
                                                 .restore_solver = restore_solver_on_device};

cvtm_status cvtm_cvt_enqueue(const cvtm_cvt_task *task, const double *sites, double *value,
                             double *gradient) {
  return task->cvt->evaluator->evaluate_all(task, sites, value, gradient);
}

/* --- evaluations of given sites --------------------------------------------------------------- */

static cvtm_status check_count(const cvtm_cvt *cvt, const double *sites, int64_t count) {
  if (count >= 1 && count <= cvt->capacity && sites) return CVTM_OK;
  return cvtm_fail(cvtm_device_error(cvt->device), CVTM_ERROR_ARGUMENT,
                   "%lld sites; the plan has room for %lld", (long long)count,
                   (long long)cvt->capacity);
}

cvtm_status cvtm_cvt_check_sites(const cvtm_cvt *cvt, const double *sites, int64_t count) {
  cvtm_error *error = cvtm_device_error(cvt->device);
  CVTM_TRY(check_count(cvt, sites, count));
  int64_t first = count;
#pragma omp parallel for schedule(static) reduction(min : first) if (count >= WORTH_THREADS)
  for (int64_t i = 0; i < count; ++i)
    if (!(fabs(sites[2 * i]) <= farthest && fabs(sites[2 * i + 1]) <= farthest) && i < first)
      first = i;
  if (first == count) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                   "site %lld is at (%g, %g), too far outside the domain", (long long)first,
                   sites[2 * first], sites[2 * first + 1]);
}

cvtm_status cvtm_cvt_prepare(const cvtm_cvt_task *task) {
  if (task->energy != CVTM_CVT_EXACT && task->energy != CVTM_CVT_PIXEL)
    return cvtm_fail(cvtm_device_error(task->cvt->device), CVTM_ERROR_ARGUMENT, "unknown energy %d",
                     (int)task->energy);
  return task->cvt->evaluator->prepare(task);
}

cvtm_status cvtm_cvt_read_cell_moments(cvtm_cvt *cvt, int64_t count, cvtm_cell_moments **sums) {
  const size_t bytes = (size_t)count * sizeof **sums;
  *sums = malloc(bytes);
  if (!*sums)
    return cvtm_fail(cvtm_device_error(cvt->device), CVTM_ERROR_MEMORY, "no memory for moments");
  const cvtm_status status = cvtm_device_copy_out(cvt->device, *sums, cvt->moments, bytes);
  if (status != CVTM_OK) {
    free(*sums);
    *sums = NULL;
  }
  return status;
}

cvtm_status cvtm_cvt_read_moments(cvtm_cvt *cvt, const double *sites, int64_t count,
                                  const cvtm_cvt_moments *moments) {
  cvtm_cell_moments *sums = NULL;
  CVTM_TRY(cvtm_cvt_read_cell_moments(cvt, count, &sums));
#pragma omp parallel for schedule(static) if (count >= WORTH_THREADS)
  for (int64_t i = 0; i < count; ++i) {
    const cvtm_cell_moments *s = &sums[i];
    if (moments->mass) moments->mass[i] = s->mass;
    if (moments->second) moments->second[i] = s->second;
    if (moments->centroid) {
      moments->centroid[2 * i] = sites[2 * i] + (s->mass > 0 ? s->x / s->mass : 0);
      moments->centroid[2 * i + 1] = sites[2 * i + 1] + (s->mass > 0 ? s->y / s->mass : 0);
    }
  }
  free(sums);
  return CVTM_OK;
}

cvtm_status cvtm_cvt_evaluate(cvtm_cvt *cvt, const double *sites, int64_t count,
                              cvtm_cvt_energy energy, cvtm_voronoi_method voronoi, double *value,
                              const cvtm_cvt_moments *moments) {
  const size_t bytes = 2 * (size_t)count * sizeof(double);
  CVTM_TRY(cvtm_cvt_check_sites(cvt, sites, count));
  CVTM_TRY(cvtm_device_copy_in(cvt->device, cvt->sites, sites, bytes));
  return cvtm_cvt_evaluate_again(cvt, sites, count, energy, voronoi, value, moments);
}

cvtm_status cvtm_cvt_evaluate_again(cvtm_cvt *cvt, const double *sites, int64_t count,
                                    cvtm_cvt_energy energy, cvtm_voronoi_method voronoi,
                                    double *value, const cvtm_cvt_moments *moments) {
  const cvtm_cvt_task task = {cvt, count, 0, energy, voronoi};
  double result = 0;
  CVTM_TRY(cvtm_cvt_prepare(&task));
  CVTM_TRY(cvtm_cvt_enqueue(&task, cvt->sites, cvt->value, NULL));
  CVTM_TRY(cvtm_device_copy_out(cvt->device, &result, cvt->value, sizeof result));
  if (moments) CVTM_TRY(cvtm_cvt_read_moments(cvt, sites, count, moments));
  if (value) *value = result;
  return CVTM_OK;
}

cvtm_status cvtm_cvt_evaluate_on_device(cvtm_cvt *cvt, const double *sites, int64_t count,
                                        cvtm_cvt_energy energy, cvtm_voronoi_method voronoi,
                                        double *value, double *moments) {
  const cvtm_cvt_task task = {cvt, count, 0, energy, voronoi};
  CVTM_TRY(check_count(cvt, sites, count));
  CVTM_TRY(cvtm_cvt_prepare(&task));
  CVTM_TRY(cvtm_cvt_enqueue(&task, sites, cvt->value, NULL));
  CVTM_TRY(cvtm_device_copy(cvt->device, value, cvt->value, sizeof *value));
  return moments ? cvtm_device_copy(cvt->device, moments, cvt->moments,
                                    (size_t)count * sizeof *cvt->moments)
                 : CVTM_OK;
}

cvtm_status cvtm_cvt_pull_back(cvtm_cvt *cvt, const double *sites, int64_t count, const double *phi,
                               float *by_density, double *by_density_double, double *by_sites) {
  const cvtm_pull_result density_result = {by_density, by_density_double};
  cvtm_error *error = cvtm_device_error(cvt->device);
  const cvtm_pull_table *table = CVTM_TABLE(cvt->device, cvtm_pull);
  const int64_t sorted = cvtm_site_tree_get_view(cvt->tree).count;
  const size_t bytes = sizeof(cvtm_pull_memory) + (size_t)count * sizeof(int32_t);
  cvtm_pull_flags flags = {0, 0, 0};
  void *scratch = NULL;
  if (cvt->domain.periodic)
    return cvtm_fail(error, CVTM_ERROR_UNSUPPORTED, "derivatives on a torus are not supported");
  if (sites) {
    CVTM_TRY(check_count(cvt, sites, count));
    CVTM_TRY(cvtm_site_tree_sort(cvt->tree, sites, count));
  } else if (count < 1 || count != sorted) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%lld sites; the last call had %lld",
                     (long long)count, (long long)sorted);
  }
  if (by_sites) CVTM_TRY(cvtm_site_tree_build_boxes(cvt->tree, NULL));
  CVTM_TRY(cvtm_device_scratch(cvt->device, bytes, &scratch));
  cvtm_pull_memory *m = scratch;
  CVTM_TRY(cvtm_device_fill(cvt->device, &m->flags, 0, sizeof flags));
  if (by_density || by_density_double)
    CVTM_TRY(table->pull(cvt, phi, density_result, &m->flags.crowded));
  if (by_sites) CVTM_TRY(table->pull_to_sites(cvt, phi, by_sites, m));
  CVTM_TRY(cvtm_device_copy_out(cvt->device, &flags, &m->flags, sizeof flags));
  if (flags.crowded)
    return cvtm_fail(error, CVTM_ERROR_UNSUPPORTED, "too many sites are near one pixel");
  if (flags.failed) return cvtm_fail(error, CVTM_ERROR_UNSUPPORTED, "a cell has too many corners");
  return CVTM_OK;
}

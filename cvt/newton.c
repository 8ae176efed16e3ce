#include "cvt/newton.h"

#include "base/clock.h"
#include "base/primitives.h"
#include "base/ranks.h"
#include "base/table_select.h"

#include <math.h>
#include <string.h>

enum {
  ARRAYS = 20,
  MOST_PRODUCTS = 2000, /* for a step */
  HALVINGS = 30,        /* of a step's length */
};

static const double default_tolerance = 1e-8; /* pixels */
/* A system is solved to the root of the gradient over the spacing of the sites, at most to this. */
static const double rough = 0.3;
/* No site moves farther in a step, in root mean square radii of its cell: a quarter of the
 * spacing. */
static const double reach = 0.62;
static const double sufficient = 1e-4; /* decrease, of that expected from the slope (Armijo) */
static const double rounding = 1e-13;  /* of energies, relative */

static void list_newton_arrays(cvtm_newton *n, cvtm_array arrays[ARRAYS]) {
  const int64_t sites = n->count, vector = 2 * sites, blocks = n->hessian.capacity;
  const int cuda = cvtm_device_get_kind(n->cvt->device) == CVTM_DEVICE_CUDA;
  cvtm_hessian *h = &n->hessian;
  const cvtm_array list[ARRAYS] = {
      CVTM_ARRAY(h->first, sites),
      CVTM_ARRAY(h->degree, sites),
      CVTM_ARRAY(h->neighbor, blocks),
      CVTM_ARRAY(h->block, 4 * blocks),
      CVTM_ARRAY(h->diagonal, 3 * sites),
      CVTM_ARRAY(h->inverse, sites),
      CVTM_ARRAY(h->used, 2),
      CVTM_ARRAY(n->gradient, vector),
      CVTM_ARRAY(n->trial, vector),
      CVTM_ARRAY(n->step, vector),
      CVTM_ARRAY(n->residual, vector),
      CVTM_ARRAY(n->direction, vector),
      CVTM_ARRAY(n->next_direction, vector),
      CVTM_ARRAY(n->product, vector),
      CVTM_ARRAY(n->row, sites),
      CVTM_ARRAY(n->figures, CVTM_NEWTON_FIGURES),
      {&n->workspace, (int64_t)n->workspace_bytes, 1},
      CVTM_ARRAY(n->part, cuda ? 2 * CVTM_NEWTON_PARTS : 1),
      CVTM_ARRAY(n->deferred, cuda ? sites + 1 : 1),
      CVTM_ARRAY(n->corners, cuda ? CVTM_NEWTON_CORNERS : 1),
  };
  memcpy(arrays, list, sizeof list);
}

cvtm_status cvtm_newton_create(cvtm_newton *n) {
  cvtm_device *device = n->cvt->device;
  cvtm_array arrays[ARRAYS];
  /* Room for twice the edges of a planar graph, the sides on the border, and edges as short as
   * rounding. */
  n->hessian.capacity = 7 * n->count + 64;
  const cvtm_status status = cvtm_reduce_workspace(device, 2 * n->count, &n->workspace_bytes);
  list_newton_arrays(n, arrays);
  return status == CVTM_OK ? cvtm_device_allocate_all(device, arrays, ARRAYS) : status;
}

void cvtm_newton_destroy(cvtm_newton *n) {
  cvtm_array arrays[ARRAYS];
  list_newton_arrays(n, arrays);
  cvtm_device_free_all(n->cvt->device, arrays, ARRAYS);
}

/* --- one iteration -------------------------------------------------------------------------- */

/* The state between iterations. */
typedef struct search {
  const cvtm_cvt_task *task;
  const cvtm_cvt_options *options;
  const cvtm_newton_table *table;
  cvtm_newton *newton;
  double deadline;
  double value[2]; /* at cvt->sites: the energy, the largest distance to a centroid */
  double length;   /* of the last step */
  cvtm_cvt_result *result;
} search;

static cvtm_status evaluate_trial(search *s, const double *sites, double value[2]) {
  cvtm_cvt *cvt = s->task->cvt;
  const double start = cvtm_clock();
  cvtm_status status = cvtm_cvt_enqueue(s->task, sites, cvt->value, s->newton->gradient);
  if (status == CVTM_OK)
    status = cvtm_device_copy_out(cvt->device, value, cvt->value, 2 * sizeof *value);
  ++s->result->evaluations;
  s->result->seconds_evaluation += cvtm_clock() - start;
  return status;
}

static cvtm_status find_figures(search *s) {
  const cvtm_newton *n = s->newton;
  cvtm_device *device = n->cvt->device;
  cvtm_status status = cvtm_dot(device, n->gradient, n->step, 2 * n->count,
                                n->figures + CVTM_NEWTON_SLOPE, n->workspace, n->workspace_bytes);
  if (status == CVTM_OK) status = s->table->lengths(s->newton);
  if (status != CVTM_OK) return status;
  return cvtm_reduce(device, CVTM_REDUCE_MAX, n->row, n->count, n->figures + CVTM_NEWTON_LONGEST,
                     n->workspace, n->workspace_bytes);
}

/* figures: of the step, on the host. */
static cvtm_status find_step(search *s, double figures[CVTM_NEWTON_FIGURES]) {
  cvtm_newton *n = s->newton;
  cvtm_cvt *cvt = n->cvt;
  const double area = (double)cvt->domain.width * (double)cvt->domain.height;
  const double spacing = sqrt(area / (double)n->count);
  const double tolerance = fmin(rough, sqrt(s->value[1] / spacing));
  int32_t used[2] = {0, 0};
  cvtm_status status = cvtm_site_tree_build(cvt->tree, cvt->sites, n->count);
  if (status == CVTM_OK)
    status = cvtm_device_fill(cvt->device, n->hessian.used, 0, 2 * sizeof *n->hessian.used);
  if (status == CVTM_OK) status = s->table->assemble(n);
  if (status == CVTM_OK) status = s->table->solve(n, tolerance, MOST_PRODUCTS);
  if (status == CVTM_OK) status = find_figures(s);
  if (status == CVTM_OK)
    status = cvtm_device_copy_out(cvt->device, used, n->hessian.used, sizeof used);
  if (status == CVTM_OK)
    status = cvtm_device_copy_out(cvt->device, figures, n->figures, CVTM_NEWTON_FIGURES * 8);
  if (status == CVTM_OK && used[1])
    status = cvtm_fail(cvtm_device_error(cvt->device), CVTM_ERROR_UNSUPPORTED,
                       "cells with too many corners for Newton's method");
  return status;
}

/* Moves the sites along the step. *moved = 0 if no length lowers the energy; then the last
 * evaluation is that of the sites again. */
static cvtm_status search_line(search *s, const double figures[CVTM_NEWTON_FIGURES], int *moved) {
  cvtm_newton *n = s->newton;
  cvtm_cvt *cvt = n->cvt;
  const double slope = figures[CVTM_NEWTON_SLOPE], longest = figures[CVTM_NEWTON_LONGEST];
  const double before = s->value[0];
  double value[2];
  *moved = 0;
  s->length = longest > reach ? reach / longest : 1;
  for (int k = 0; slope < 0 && k < HALVINGS; ++k, s->length /= 2) {
    cvtm_status status = s->table->advance(n, s->length);
    if (status == CVTM_OK) status = evaluate_trial(s, n->trial, value);
    if (status != CVTM_OK) return status;
    if (!(value[0] <= before + sufficient * s->length * slope + rounding * fabs(before))) continue;
    memcpy(s->value, value, sizeof value);
    *moved = 1;
    return cvtm_device_copy(cvt->device, cvt->sites, n->trial, 2 * (size_t)n->count * 8);
  }
  return evaluate_trial(s, cvt->sites, s->value);
}

static cvtm_status report(search *s, cvtm_stop *stop) {
  const cvtm_cvt_options *o = s->options;
  cvtm_cvt_result *r = s->result;
  const double tolerance = o->gradient_tolerance > 0 ? o->gradient_tolerance : default_tolerance;
  const cvtm_cvt_record record = {s->task->count, r->iterations, s->value[0], s->value[1],
                                  s->length};
  const int64_t most = o->max_iterations;
  int64_t decision[2] = {0, s->deadline < INFINITY && cvtm_clock() >= s->deadline};
  if (o->monitor && r->newton_iterations > 0)
    decision[0] = o->monitor(o->monitor_context, &record) != 0;
  for (int k = 0; k < 2; ++k) {
    const cvtm_status status = cvtm_ranks_agree(s->task->cvt->device, &decision[k]);
    if (status != CVTM_OK) return status;
  }
  *stop = decision[0]                                ? CVTM_STOP_REQUEST
          : s->value[1] <= tolerance                 ? CVTM_STOP_GRADIENT
          : most > 0 && r->newton_iterations >= most ? CVTM_STOP_ITERATIONS
          : decision[1]                              ? CVTM_STOP_TIME
                                                     : CVTM_STOP_NONE;
  return CVTM_OK;
}

static cvtm_status iterate(search *s) {
  cvtm_cvt_result *r = s->result;
  cvtm_stop stop = CVTM_STOP_NONE;
  cvtm_status status = evaluate_trial(s, s->task->cvt->sites, s->value);
  if (status == CVTM_OK) status = report(s, &stop);
  while (status == CVTM_OK && stop == CVTM_STOP_NONE) {
    double figures[CVTM_NEWTON_FIGURES];
    int moved = 0;
    status = find_step(s, figures);
    if (status == CVTM_OK) status = search_line(s, figures, &moved);
    if (status != CVTM_OK) return status;
    r->hessian_products += (int64_t)figures[CVTM_NEWTON_PRODUCTS];
    r->newton_iterations += moved;
    r->iterations += moved;
    stop = CVTM_STOP_LINE_SEARCH;
    if (moved) status = report(s, &stop);
  }
  r->stop = stop;
  r->objective = s->value[0];
  r->gradient_norm = s->value[1];
  return status;
}

cvtm_status cvtm_newton_run(const cvtm_cvt_task *task, const cvtm_cvt_options *options,
                            double deadline, cvtm_cvt_result *result) {
  cvtm_device *device = task->cvt->device;
  const double start = cvtm_clock(), evaluations = result->seconds_evaluation;
  cvtm_newton n = {.cvt = task->cvt,
                   .count = task->count,
                   .hessian = {.count = task->count, .fixed = task->fixed}};
  search s = {.task = task,
              .options = options,
              .table = CVTM_TABLE(device, cvtm_newton),
              .newton = &n,
              .deadline = deadline,
              .result = result};
  if (options->method != CVTM_CVT_NEWTON || result->stop == CVTM_STOP_REQUEST) return CVTM_OK;
  cvtm_status status = cvtm_newton_create(&n);
  if (status != CVTM_OK) return status;
  status = iterate(&s);
  cvtm_newton_destroy(&n);
  result->seconds_optimizer += cvtm_clock() - start - (result->seconds_evaluation - evaluations);
  return status;
}

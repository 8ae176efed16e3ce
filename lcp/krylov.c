#include "lcp/krylov.h"

#include "base/primitives.h"

#include <stdlib.h>
#include <string.h>

struct cvtm_krylov {
  cvtm_device *device;
  const cvtm_krylov_table *table;
  cvtm_krylov_setup setup;
  cvtm_krylov_view view;
  cvtm_loop *loop;
};

static cvtm_status krylov_pass(const cvtm_krylov *k, cvtm_krylov_pass pass) {
  return k->table->pass(k->device, &k->view, pass);
}

static cvtm_status krylov_dot(const cvtm_krylov *k, const double *x, const double *y,
                              double *result) {
  return cvtm_dot(k->device, x, y, k->view.n, result);
}

static cvtm_status apply_operator(const cvtm_krylov *k, double *direction, double *preconditioned,
                                  double *image) {
  return k->setup.apply(k->setup.context, direction, preconditioned, image);
}

static cvtm_status bicgstab_iteration(void *context) {
  const cvtm_krylov *k = context;
  const cvtm_krylov_view *w = &k->view;
  cvtm_krylov_state *state = w->state;
  CVTM_TRY(krylov_pass(k, CVTM_KRYLOV_DIRECTION));
  CVTM_TRY(apply_operator(k, w->p, w->p_hat, w->v));
  CVTM_TRY(krylov_dot(k, w->shadow, w->v, &state->shadow_v));
  CVTM_TRY(krylov_pass(k, CVTM_KRYLOV_ALPHA));
  CVTM_TRY(krylov_pass(k, CVTM_KRYLOV_HALF));
  CVTM_TRY(apply_operator(k, w->r, w->s_hat, w->t));
  CVTM_TRY(krylov_dot(k, w->t, w->r, &state->ts));
  CVTM_TRY(krylov_dot(k, w->t, w->t, &state->tt));
  CVTM_TRY(krylov_pass(k, CVTM_KRYLOV_OMEGA));
  CVTM_TRY(krylov_pass(k, CVTM_KRYLOV_FULL));
  CVTM_TRY(krylov_dot(k, w->r, w->r, &state->squares));
  CVTM_TRY(krylov_dot(k, w->shadow, w->r, &state->rho));
  CVTM_TRY(krylov_pass(k, CVTM_KRYLOV_END));
  return w->best != NULL ? krylov_pass(k, CVTM_KRYLOV_KEEP) : CVTM_OK;
}

static cvtm_arrays krylov_arrays(cvtm_krylov *k) {
  cvtm_krylov_view *w = &k->view;
  return (cvtm_arrays){{CVTM_ARRAY(w->shadow, w->n), CVTM_ARRAY(w->p, w->n), CVTM_ARRAY(w->v, w->n),
                        CVTM_ARRAY(w->t, w->n), CVTM_ARRAY(w->p_hat, w->n),
                        CVTM_ARRAY(w->state, 1)}};
}

static cvtm_status allocate_krylov(cvtm_krylov *k) {
  cvtm_krylov_view *w = &k->view;
  CVTM_TRY(cvtm_device_allocate_arrays(k->device, krylov_arrays(k)));
  if (w->inverse != NULL) CVTM_TRY(cvtm_device_allocate(k->device, w->n, CVTM_TYPED(w->s_hat)));
  if (w->inverse == NULL) w->s_hat = w->p_hat;
  if (k->setup.keeps_best) CVTM_TRY(cvtm_device_allocate(k->device, w->n, CVTM_TYPED(w->best)));
  /* the first CVTM_KRYLOV_KEEP does not set `best` if the residual is NaN */
  if (w->best != NULL)
    CVTM_TRY(cvtm_device_fill(k->device, w->best, 0, (size_t)w->n * sizeof(double)));
  return cvtm_reduce_reserve(k->device, w->n);
}

cvtm_status cvtm_krylov_create(cvtm_device *device, const cvtm_krylov_setup *setup,
                               cvtm_krylov **krylov) {
  cvtm_krylov *k = calloc(1, sizeof *k);
  if (k == NULL)
    return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "no memory for a solver");
  k->device = device;
  k->table = CVTM_TABLE(device, cvtm_krylov_table);
  k->setup = *setup;
  k->view.n = setup->n;
  k->view.inverse = setup->inverse;
  k->view.solution = setup->solution;
  k->view.r = setup->residual;
  cvtm_status status = allocate_krylov(k);
  if (status == CVTM_OK)
    status = cvtm_loop_create(device, bicgstab_iteration, k, &k->view.state->go_on, &k->loop);
  if (status != CVTM_OK) {
    cvtm_krylov_destroy(k);
    return status;
  }
  *krylov = k;
  return CVTM_OK;
}

void cvtm_krylov_destroy(cvtm_krylov *k) {
  if (k == NULL) return;
  const cvtm_krylov_view *w = &k->view;
  cvtm_loop_destroy(k->loop);
  if (w->s_hat != w->p_hat) cvtm_device_free(k->device, w->s_hat);
  cvtm_device_free(k->device, w->best);
  cvtm_device_free_arrays(k->device, krylov_arrays(k));
  free(k);
}

cvtm_status cvtm_krylov_solve(cvtm_krylov *k, double goal, double relative_goal, double scale,
                              int64_t limit, int64_t *iterations) {
  const cvtm_krylov_view *w = &k->view;
  cvtm_krylov_state state;
  memset(&state, 0, sizeof state);
  state.goal = goal;
  state.relative_goal = relative_goal;
  state.scale = scale;
  state.limit = limit;
  cvtm_status status = cvtm_device_copy_in(k->device, w->state, &state, sizeof state);
  if (status == CVTM_OK) status = krylov_dot(k, w->r, w->r, &w->state->squares);
  if (status == CVTM_OK) status = krylov_pass(k, CVTM_KRYLOV_BEGIN);
  if (status == CVTM_OK && w->best != NULL) status = krylov_pass(k, CVTM_KRYLOV_KEEP);
  if (status == CVTM_OK) status = cvtm_loop_run(k->loop);
  if (status == CVTM_OK) status = cvtm_device_copy_out(k->device, &state, w->state, sizeof state);
  *iterations = state.iteration;
  if (status != CVTM_OK || w->best == NULL || state.squares <= state.least) return status;
  return cvtm_device_copy(k->device, w->solution, w->best, (size_t)w->n * sizeof(double));
}

enum { ROWS_PER_THREAD = 8192 }; /* with fewer rows, starting a thread takes longer than the work */

static cvtm_status krylov_pass_cpu(cvtm_device *device, const cvtm_krylov_view *view,
                                   cvtm_krylov_pass pass) {
  if (cvtm_krylov_is_scalar(pass)) {
    cvtm_krylov_decide(view->state, pass);
    return CVTM_OK;
  }
  const int64_t useful = 1 + view->n / ROWS_PER_THREAD;
  const int threads =
      useful < cvtm_device_threads(device) ? (int)useful : cvtm_device_threads(device);
  (void)threads; /* without OpenMP */
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t i = 0; i < view->n; ++i) cvtm_krylov_element(view, pass, i);
  return CVTM_OK;
}

const cvtm_krylov_table cvtm_krylov_table_cpu = {krylov_pass_cpu};

/* Multigrid for five-point complementarity problems that are never stored as matrices: the solver
 * behind cvtm_lcp_create_grid. The V-cycle is in grid_cycle.c, the setup in grid_setup.c. */
#include "lcp/grid/grid_solver.h"
#include "base/select.h"

#include "lcp/grid/grid_hierarchy.h"

#include <stdlib.h>
#include <string.h>

enum { MONITOR_STRIDE = 4 }; /* iterations between two polls by the host, if there is a monitor */

static void destroy_grid_solver(cvtm_lcp *lcp) {
  cvtm_grid_solver *s = (cvtm_grid_solver *)lcp;
  cvtm_grid_drop_loops(s);
  cvtm_device_free(s->head.device, s->arena);
  cvtm_device_free(s->head.device, s->extra);
  cvtm_lcp_close(lcp);
  free(s);
}

/* Reports the iterations from *reported on to the monitor. *stop = 1: it asks to stop. */
static cvtm_status report_iterations(const cvtm_grid_solver *s, int64_t *reported,
                                     int64_t iteration, int *stop) {
  const cvtm_lcp_options *options = &s->head.options;
  double norms[2 * (MONITOR_STRIDE + 1)];
  const int64_t count = iteration + 1 - *reported;
  const cvtm_status status =
      cvtm_device_copy_out(s->head.device, norms, s->top[0].history + 2 * *reported,
                           (size_t)(2 * count) * sizeof *norms);
  for (int64_t k = 0; k < count && status == CVTM_OK; ++k) {
    const cvtm_lcp_progress progress = {*reported + k, norms[2 * k], norms[2 * k + 1]};
    if (options->monitor(options->monitor_context, &progress)) *stop = 1;
  }
  *reported = iteration + 1;
  return status;
}

/* Iterates until the stop rule ends the loop; with a monitor in strides of MONITOR_STRIDE. */
static cvtm_status run_iterations(const cvtm_grid_solver *s, cvtm_grid_state *state) {
  const cvtm_lcp_options *options = &s->head.options;
  const int64_t most = options->max_iterations, stride = options->monitor ? MONITOR_STRIDE : most;
  int64_t reported = 0, limit = stride < most ? stride : most;
  int stop = 0;
  cvtm_status status = cvtm_grid_iterate(s, 0, limit);
  while (status == CVTM_OK) {
    status = cvtm_device_copy_out(s->head.device, state, s->top[0].state, sizeof *state);
    if (status == CVTM_OK && options->monitor) {
      status = report_iterations(s, &reported, state->loop.iteration, &stop);
    }
    if (status != CVTM_OK) break;
    if (stop || state->loop.stop != CVTM_LCP_ITERATIONS || limit >= most) {
      if (stop && state->loop.stop == CVTM_LCP_ITERATIONS) state->loop.stop = CVTM_LCP_INTERRUPTED;
      return CVTM_OK;
    }
    limit = limit + stride < most ? limit + stride : most;
    status = s->table->raise_limit(&s->top[0], limit);
    if (status == CVTM_OK) status = cvtm_loop_run(s->loop[0]);
  }
  return status;
}

/* Sets the start x, and the norm that the tolerance refers to. */
static cvtm_status set_start(const cvtm_grid_solver *s, int warm) {
  const cvtm_lcp_options *options = &s->head.options;
  const cvtm_grid_top *top = &s->top[0];
  cvtm_status status = CVTM_OK;
  if (options->tolerance > 0) {
    status = s->table->clip_start(top, 0, 1);
    if (status == CVTM_OK) status = s->table->measure_cold_start(top);
    if (status != CVTM_OK) return status;
  }
  const int nested = !warm && options->nested && s->levels > 0 && options->method != CVTM_LCP_PSOR;
  return nested ? cvtm_grid_nested_start(s) : s->table->clip_start(top, warm, 0);
}

static cvtm_status solve_on_grid(cvtm_lcp *lcp, const double *b, const double *lower,
                                 const double *upper, double *x, int warm,
                                 cvtm_lcp_result *result) {
  cvtm_grid_solver *s = (cvtm_grid_solver *)lcp;
  const cvtm_grid_top *top = &s->top[0];
  cvtm_grid_state state, final;
  memset(&state, 0, sizeof state);
  cvtm_status status = cvtm_grid_set_problem(s, b, lower, upper, x);
  if (status == CVTM_OK) status = set_start(s, warm);
  if (status == CVTM_OK) status = run_iterations(s, &state);
  const cvtm_iteration_state *loop = &state.loop;
  if (status == CVTM_OK) status = s->table->measure_energy(top);
  if (status == CVTM_OK) {
    status = cvtm_device_copy_out(lcp->device, &final, top->state, sizeof final);
  }
  if (status != CVTM_OK) return status;
  result->stop = (cvtm_lcp_stop)loop->stop;
  result->iterations = loop->iteration;
  result->natural_residual = final.loop.norm;
  result->natural_residual_max = final.loop.maximum;
  result->active_lower = final.active_lower;
  result->active_upper = final.active_upper;
  result->energy = final.energy;
  result->rate = cvtm_iteration_rate(loop);
  return CVTM_OK;
}

static const cvtm_grid_table *choose_table(const cvtm_device *device) {
#if CVTMESH_HAVE_CUDA
  if (cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA && cvtm_uses_plain("grid")) {
    return &cvtm_grid_reference_table_cuda;
  }
#endif
  return CVTM_TABLE(device, cvtm_grid_table);
}

cvtm_status cvtm_lcp_create_grid(cvtm_device *device, int64_t width, int64_t height,
                                 const cvtm_lcp_options *options, cvtm_lcp **lcp) {
  CVTM_DEFAULT_OPTIONS(cvtm_lcp, options)
  static const cvtm_lcp_table dispatch = {solve_on_grid, destroy_grid_solver};
  if (!device) return CVTM_ERROR_ARGUMENT;
  cvtm_error *error = cvtm_device_error(device);
  if (!options || !lcp) return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "no options or no result");
  if (width < 1 || height < 1 || width > INT32_MAX || height > INT32_MAX) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "a grid of %lld x %lld nodes", (long long)width,
                     (long long)height);
  }
  if (height > INT32_MAX / width) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "a grid of %lld x %lld nodes: the solvers take at most 2^31 - 1",
                     (long long)width, (long long)height);
  }
  cvtm_lcp_options chosen = *options;
  if (chosen.method == CVTM_LCP_AUTO) chosen.method = CVTM_LCP_TNNMG;
  if (chosen.method == CVTM_LCP_PDAS) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "pdas needs a matrix, not a grid");
  }
  cvtm_grid_solver *s = calloc(1, sizeof *s);
  if (!s) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  cvtm_status status = cvtm_lcp_open(&s->head, &dispatch, device, width * height, &chosen);
  if (status != CVTM_OK) {
    free(s);
    return status;
  }
  s->table = choose_table(device);
  status = cvtm_grid_lay_out(s, width, height, 1);
  if (status != CVTM_OK) {
    destroy_grid_solver(&s->head);
    return status;
  }
  *lcp = &s->head;
  return CVTM_OK;
}

cvtm_status cvtm_lcp_set_grid(cvtm_lcp *lcp, const cvtm_lcp_grid *grid) {
  if (!lcp) return CVTM_ERROR_ARGUMENT;
  if (!grid || lcp->table->solve != solve_on_grid) {
    return cvtm_fail(cvtm_device_error(lcp->device), CVTM_ERROR_ARGUMENT,
                     "no coefficients, or not a solver on a grid");
  }
  return cvtm_grid_set_coefficients((cvtm_grid_solver *)lcp, grid);
}

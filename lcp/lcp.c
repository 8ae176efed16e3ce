#include "lcp/lcp_solver.h"

#include "base/select.h"
#include "base/clock.h"
#include "base/text.h"
#include "lcp/lemke.h"
#include "lcp/sparse/csr.h"
#include "lcp/sparse/sparse_solver.h"

#include <stdlib.h>
#include <string.h>

CVTM_DEFINE_NAMES(cvtm_lcp_method_name, cvtm_lcp_method, CVTM_LCP_METHOD_LIST)
CVTM_DEFINE_NAMES(cvtm_lcp_stop_name, cvtm_lcp_stop, CVTM_LCP_STOP_LIST)

void cvtm_lcp_defaults(cvtm_lcp_options *options) {
  memset(options, 0, sizeof *options);
  options->method = CVTM_LCP_AUTO;
  options->tolerance = 1e-8;
  options->max_iterations = 0;
  options->omega = 1;
  options->nested = 1;
}

/* --- the base of every solver ----------------------------------------------------------- */

static cvtm_status check_lcp_options(const cvtm_lcp_options *options, cvtm_error *error) {
  if (!(options->omega > 0 && options->omega < 2))
    return cvtm_fail(error, CVTM_ERROR_INPUT, "omega is %g, not between 0 and 2", options->omega);
  if (!(options->tolerance >= 0 && options->tolerance < 1) || !(options->absolute_tolerance >= 0))
    return cvtm_fail(
        error, CVTM_ERROR_INPUT,
        "a tolerance of %g is not from 0 to below 1, or the absolute one, %g, is negative",
        options->tolerance, options->absolute_tolerance);
  if (options->max_iterations < 0)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "the limit of iterations is negative: %lld",
                     (long long)options->max_iterations);
  return CVTM_OK;
}

cvtm_status cvtm_lcp_open(cvtm_lcp *lcp, const cvtm_lcp_table *table, cvtm_device *device,
                          int64_t rows, const cvtm_lcp_options *options) {
  lcp->table = table;
  lcp->device = device;
  lcp->rows = rows;
  lcp->options = *options;
  CVTM_TRY(check_lcp_options(options, cvtm_device_error(device)));
  lcp->has_limit = options->max_iterations > 0;
  if (!lcp->has_limit)
    lcp->options.max_iterations = options->method == CVTM_LCP_PSOR    ? 100000
                                  : options->method == CVTM_LCP_LEMKE ? 100 * rows
                                                                      : 200;
  lcp->setup_seconds = 0;
  return cvtm_device_allocate(device, 2, CVTM_TYPED(lcp->verdict));
}

void cvtm_lcp_close(cvtm_lcp *lcp) { cvtm_device_free(lcp->device, lcp->verdict); }

/* --- the public interface ----------------------------------------------------------------- */

/* Checks the matrix. Replaces auto by lemke if the diagonal is not positive and the matrix is
 * small; other methods need a positive diagonal. */
static cvtm_status check_matrix(const cvtm_csr *matrix, int threads, cvtm_lcp_options *options,
                                cvtm_error *error) {
  cvtm_error diagonal = {CVTM_OK, ""};
  cvtm_status status = CVTM_OK;
  if (options->method != CVTM_LCP_LEMKE) {
    status = cvtm_csr_check_square(matrix, "the matrix", threads, &diagonal);
    if (status == CVTM_OK) return CVTM_OK;
    if (options->method != CVTM_LCP_AUTO || matrix->rows > CVTM_LEMKE_ROWS)
      return cvtm_fail(error, status, "%s; only --method lemke accepts such a matrix",
                       diagonal.message);
  }
  options->method = CVTM_LCP_LEMKE;
  status = cvtm_csr_check(matrix, "the matrix", error);
  if (status != CVTM_OK || matrix->rows == matrix->columns) return status;
  return cvtm_fail(error, CVTM_ERROR_INPUT, "the matrix: %lld rows and %lld columns: not square",
                   (long long)matrix->rows, (long long)matrix->columns);
}

/* Replaces auto by a method. Fails for tnnmg if the matrix is not symmetric. */
static cvtm_status resolve_method(const cvtm_csr *matrix, int threads, cvtm_lcp_options *options,
                                  int *is_symmetric, cvtm_error *error) {
  const int64_t row = cvtm_csr_asymmetric_row(matrix, threads);
  *is_symmetric = row < 0;
  if (options->method == CVTM_LCP_AUTO) options->method = row < 0 ? CVTM_LCP_TNNMG : CVTM_LCP_PDAS;
  if (row < 0 || options->method != CVTM_LCP_TNNMG) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_INPUT,
                   "tnnmg needs a symmetric matrix, but row %lld differs from column %lld; pdas "
                   "does not need one",
                   (long long)row + 1, (long long)row + 1);
}

cvtm_status cvtm_lcp_create(cvtm_device *device, const cvtm_csr *matrix, int64_t width,
                            int64_t height, const cvtm_lcp_options *options, cvtm_lcp **lcp) {
  CVTM_DEFAULT_OPTIONS(cvtm_lcp, options)
  const double start = cvtm_clock();
  cvtm_error *error = cvtm_device_error(device);
  const int threads = cvtm_device_threads(device);
  cvtm_lcp_options resolved = *options;
  *lcp = NULL;
  CVTM_TRY(cvtm_device_activate(device));
  CVTM_TRY(check_matrix(matrix, threads, &resolved, error));
  if ((width != 0 || height != 0) &&
      (width < 1 || height < 1 || width > matrix->rows || height != matrix->rows / width ||
       width * height != matrix->rows)) {
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%lld rows are not a grid of %lld x %lld",
                     (long long)matrix->rows, (long long)width, (long long)height);
  }
  if (matrix->rows == 0) return cvtm_fail(error, CVTM_ERROR_INPUT, "the matrix has no rows");
  int is_symmetric = 0;
  cvtm_status status = resolve_method(matrix, threads, &resolved, &is_symmetric, error);
  if (status != CVTM_OK) return status;
  switch (resolved.method) {
    case CVTM_LCP_PSOR:
      status = cvtm_psor_create(device, matrix, is_symmetric, &resolved, lcp);
      break;
    case CVTM_LCP_PDAS:
      status = cvtm_pdas_create(device, matrix, is_symmetric, width, height, &resolved, lcp);
      break;
    case CVTM_LCP_LEMKE:
      status = cvtm_lemke_create(device, matrix, is_symmetric, &resolved, lcp);
      break;
    default:
      status =
          cvtm_sparse_multigrid_create(device, matrix, is_symmetric, width, height, &resolved, lcp);
  }
  if (status == CVTM_OK && options->method == CVTM_LCP_AUTO && resolved.method != CVTM_LCP_LEMKE &&
      matrix->rows <= CVTM_LEMKE_ROWS) {
    resolved.method = CVTM_LCP_LEMKE;
    status = cvtm_lemke_create(device, matrix, is_symmetric, &resolved, &(*lcp)->fallback);
  }
  if (status == CVTM_OK) {
    (*lcp)->setup_seconds = cvtm_clock() - start;
  } else {
    cvtm_lcp_destroy(*lcp);
    *lcp = NULL;
  }
  return status;
}

void cvtm_lcp_destroy(cvtm_lcp *lcp) {
  if (lcp == NULL) return;
  cvtm_lcp_destroy(lcp->fallback);
  lcp->table->destroy(lcp);
}

static cvtm_status check_problem(cvtm_lcp *lcp, const double *b, const double *lower,
                                 const double *upper) {
  int64_t verdict[2] = {lcp->rows, lcp->rows};
  cvtm_error *error = cvtm_device_error(lcp->device);
  CVTM_TRY(CVTM_TABLE(lcp->device, cvtm_sparse_table)
               ->check(lcp->device, b, lower, upper, lcp->rows, lcp->verdict));
  CVTM_TRY(cvtm_device_copy_out(lcp->device, verdict, lcp->verdict, sizeof verdict));
  if (verdict[0] < lcp->rows)
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "row %lld: b or a bound is not a number, or b is infinite",
                     (long long)verdict[0] + 1);
  if (verdict[1] < lcp->rows)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "row %lld: the lower bound is above the upper one",
                     (long long)verdict[1] + 1);
  return CVTM_OK;
}

static int ends_in_ray(const cvtm_lcp_result *result) {
  return result->stop == CVTM_LCP_RAY || result->stop == CVTM_LCP_INFEASIBLE;
}

int cvtm_lcp_is_solved(cvtm_lcp_stop stop) {
  return stop == CVTM_LCP_CONVERGED || stop == CVTM_LCP_ROUNDING;
}

/* Solves by lemke, after the method has found no solution. Keeps the earlier x and result if lemke
 * finds neither a solution nor a ray, and the residual of lemke is not smaller than the earlier
 * one. */
static cvtm_status solve_again(cvtm_lcp *lcp, const double *b, const double *lower,
                               const double *upper, double *x, cvtm_lcp_result *found) {
  const size_t bytes = (size_t)lcp->rows * sizeof *x;
  cvtm_lcp_result again = {0};
  double *kept = malloc(bytes);
  if (kept == NULL)
    return cvtm_fail(cvtm_device_error(lcp->device), CVTM_ERROR_MEMORY, "no memory for a solution");
  cvtm_status status = cvtm_device_copy_out(lcp->device, kept, x, bytes);
  if (status == CVTM_OK)
    status = lcp->fallback->table->solve(lcp->fallback, b, lower, upper, x, 0, &again);
  if (status == CVTM_OK && !cvtm_lcp_is_solved(again.stop) && !ends_in_ray(&again) &&
      !(again.natural_residual < found->natural_residual)) {
    status = cvtm_device_copy_in(lcp->device, x, kept, bytes);
  } else {
    *found = again;
    found->method = CVTM_LCP_LEMKE;
  }
  free(kept);
  return status;
}

cvtm_status cvtm_lcp_solve(cvtm_lcp *lcp, const double *b, const double *lower, const double *upper,
                           double *x, int warm, cvtm_lcp_result *result) {
  const double start = cvtm_clock();
  CVTM_TRY(cvtm_device_activate(lcp->device));
  CVTM_TRY(check_problem(lcp, b, lower, upper));
  cvtm_lcp_result found;
  memset(&found, 0, sizeof found);
  CVTM_TRY(lcp->table->solve(lcp, b, lower, upper, x, warm, &found));
  found.method = lcp->options.method;
  const int at_callers_limit = found.stop == CVTM_LCP_ITERATIONS && lcp->has_limit;
  if (lcp->fallback && !cvtm_lcp_is_solved(found.stop) && !at_callers_limit &&
      found.stop != CVTM_LCP_INTERRUPTED)
    CVTM_TRY(solve_again(lcp, b, lower, upper, x, &found));
  CVTM_TRY(cvtm_device_synchronize(lcp->device));
  found.seconds = cvtm_clock() - start;
  found.setup_seconds = lcp->setup_seconds;
  *result = found;
  return CVTM_OK;
}

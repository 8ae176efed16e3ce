/* Obstacle problems with general sparse storage: seconds for the setup, milliseconds for a
 * V(1,1) cycle and for the whole solve to a relative natural residual of 1e-8; and the bytes per
 * unknown that a copy moves in the time of a cycle (a cycle has to move 440 to 540).
 * Usage: bench_lcp_sparse [--device NAME] [--size M] */
#include "base/clock.h"
#include "bench/harness.h"
#include "bench/problems/complementarity.h"
#include "lcp/lcp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct timing {
  double setup, cycle, solve;
  int64_t iterations;
  double rate;
} timing;

/* Milliseconds of a copy of one vector: 16 bytes per unknown. */
static cvtm_status time_copy(cvtm_device *device, double *to, const double *from, size_t bytes,
                             double *milliseconds) {
  enum { COPIES = 10 };
  cvtm_status status = cvtm_device_copy(device, to, from, bytes);
  if (!status) status = cvtm_device_synchronize(device);
  const double start = cvtm_clock();
  for (int k = 0; k < COPIES && !status; k++) status = cvtm_device_copy(device, to, from, bytes);
  if (!status) status = cvtm_device_synchronize(device);
  *milliseconds = 1e3 * (cvtm_clock() - start) / COPIES;
  return status;
}

static cvtm_status run_method(cvtm_device *device, const cvtm_model_problem *problem,
                              cvtm_lcp_method method, const double *b, const double *lower,
                              double *x, timing *out) {
  cvtm_lcp_options options;
  cvtm_lcp_defaults(&options);
  options.method = method;
  cvtm_lcp *lcp = NULL;
  cvtm_lcp_result result;
  cvtm_status status =
      cvtm_lcp_create(device, &problem->matrix, problem->width, problem->height, &options, &lcp);
  /* The first solve warms the device up. */
  for (int k = 0; k < 2 && !status; k++)
    status = cvtm_lcp_solve(lcp, b, lower, NULL, x, 0, &result);
  if (!status) {
    out->setup = result.setup_seconds;
    out->solve = 1e3 * result.seconds;
    out->iterations = result.iterations;
    out->rate = result.rate;
  }
  cvtm_lcp_destroy(lcp);

  lcp = NULL;
  /* Cycles that start from the solution, where the active set no longer changes. */
  options.nested = 0;
  options.tolerance = 0;
  options.max_iterations = 10;
  if (!status) {
    status =
        cvtm_lcp_create(device, &problem->matrix, problem->width, problem->height, &options, &lcp);
  }
  double first = 0;
  for (int k = 0; k < 2 && !status; k++) {
    status = cvtm_lcp_solve(lcp, b, lower, NULL, x, 1, &result);
    if (k == 0) first = result.seconds;
  }
  if (!status) out->cycle = 1e3 * (result.seconds < first ? result.seconds : first);
  if (!status) out->cycle /= (double)(result.iterations ? result.iterations : 1);
  cvtm_lcp_destroy(lcp);
  return status;
}

static cvtm_status bench_size(cvtm_device *device, int64_t size) {
  static const cvtm_model models[] = {CVTM_MODEL_MEMBRANE, CVTM_MODEL_TORSION};
  static const cvtm_lcp_method methods[] = {CVTM_LCP_TNNMG, CVTM_LCP_PDAS};
  static const char *const names[] = {"membrane", "torsion"};
  cvtm_status status = CVTM_OK;
  for (size_t k = 0; k < 2 && !status; k++) {
    cvtm_model_problem problem;
    status =
        cvtm_model_problem_create(models[k], size, size, 1, &problem, cvtm_device_error(device));
    if (status) return status;
    const size_t bytes = (size_t)(size * size) * sizeof(double);
    double *b = NULL, *lower = NULL, *x = NULL;
    status = cvtm_device_allocate(device, size * size, CVTM_TYPED(b));
    if (!status) status = cvtm_device_allocate(device, size * size, CVTM_TYPED(x));
    if (!status) {
      status = cvtm_device_allocate(device, size * size, CVTM_TYPED(lower));
    }
    if (!status) status = cvtm_device_copy_in(device, b, problem.b, bytes);
    if (!status) status = cvtm_device_copy_in(device, lower, problem.lower, bytes);
    double copy = 0;
    if (!status) status = time_copy(device, x, b, bytes, &copy);
    for (size_t m = 0; m < 2 && !status; m++) {
      timing t;
      status = run_method(device, &problem, methods[m], b, lower, x, &t);
      if (!status) {
        printf("%-11s %6lld  %-10s %9.3f %10.4f %7.0f %10.3f %7lld %7.3f\n", names[k],
               (long long)size, cvtm_lcp_method_name(methods[m]), t.setup, t.cycle,
               16 * t.cycle / copy, t.solve, (long long)t.iterations, t.rate);
        fflush(stdout);
      }
    }
    cvtm_device_free(device, b);
    cvtm_device_free(device, lower);
    cvtm_device_free(device, x);
    cvtm_model_problem_free(&problem);
  }
  return status;
}

int main(int argc, char **argv) {
  const int64_t size = bench_integer(argc, argv, "--size");
  cvtm_device *device = bench_device(argc, argv, "auto");
  const int is_cuda = cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA;
  printf("%s (%s)\n", cvtm_device_name(device), cvtm_device_description(device));
  printf("%-11s %6s  %-10s %9s %10s %7s %10s %7s %7s\n", "problem", "size", "method", "setup s",
         "cycle ms", "bytes", "solve ms", "cycles", "rate");
  cvtm_status status = CVTM_OK;
  if (size > 0) {
    status = bench_size(device, size);
  } else {
    status = bench_size(device, 255);
    if (!status && is_cuda) status = bench_size(device, 1023);
  }
  if (status) fprintf(stderr, "%s\n", cvtm_device_error(device)->message);
  cvtm_device_destroy(device);
  return status != CVTM_OK;
}

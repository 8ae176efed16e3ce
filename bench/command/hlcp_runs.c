#include "bench/command/hlcp_runs.h"

#include <math.h>
#include <string.h>

enum { REPEATS = 2 };

const double cli_hlcp_table_1[CLI_HLCP_SHAPES] = {0.94, 0.57, 0.46, 0.45, 0.43,
                                                  0.37, 0.53, 0.90, 1.73, 2.72};

void cli_hlcp_runs_close(cli_hlcp_runs *r) {
  cvtm_device_free(r->device, r->q);
  cvtm_device_free(r->device, r->z);
  cvtm_device_free(r->device, r->w);
  cvtm_hlcp_problem_free(&r->problem);
}

cvtm_status cli_hlcp_runs_open(cvtm_device *device, int example, int size, cli_hlcp_runs *r) {
  memset(r, 0, sizeof *r);
  r->device = device;
  r->example = example;
  cvtm_status status = cvtm_hlcp_example(example, size, &r->problem, cvtm_device_error(device));
  const int64_t n = r->problem.a.rows;
  double **const vectors[] = {&r->q, &r->z, &r->w};
  for (int k = 0; k < 3 && status == CVTM_OK; ++k)
    status = cvtm_device_allocate(device, n, CVTM_TYPED(*vectors[k]));
  if (status == CVTM_OK)
    status = cvtm_device_copy_in(device, r->q, r->problem.q, (size_t)n * sizeof *r->q);
  if (status != CVTM_OK) cli_hlcp_runs_close(r);
  return status;
}

cvtm_status cli_hlcp_runs_solve(cli_hlcp_runs *r, cvtm_hlcp_method method, int64_t splits,
                                int64_t block_threads, cvtm_hlcp_result *result) {
  cvtm_hlcp_options options;
  cvtm_hlcp_defaults(&options);
  options.method = method;
  options.scaling = CVTM_HLCP_OMEGA_NUMBER;
  options.omega = cvtm_hlcp_example_omega(r->example);
  options.splits = splits;
  options.block_threads = block_threads;
  cvtm_hlcp *hlcp = NULL;
  cvtm_status status = cvtm_hlcp_create(r->device, &r->problem.a, &r->problem.b, &options, &hlcp);
  double best = HUGE_VAL;
  for (int k = 0; k < REPEATS && status == CVTM_OK; ++k) {
    status = cvtm_hlcp_solve(hlcp, r->q, NULL, 0, r->z, r->w, result);
    best = fmin(best, result->seconds);
  }
  result->seconds = best;
  cvtm_hlcp_destroy(hlcp);
  return status;
}

cvtm_status cli_hlcp_shapes(cli_hlcp_runs *r, double *seconds, cvtm_hlcp_result *result) {
  cvtm_status status = CVTM_OK;
  for (int k = 0; k < CLI_HLCP_SHAPES && status == CVTM_OK; ++k) {
    status = cli_hlcp_runs_solve(r, CVTM_HLCP_MMGS, CLI_HLCP_SHAPE_THREADS,
                                 CLI_HLCP_SHAPE_THREADS >> k, result);
    seconds[k] = result->seconds;
  }
  return status;
}

/* L-BFGS-B on a function of your own: Rosenbrock's function of 1,000 variables, of which the odd
 * ones are at most 0.5.
 * cc minimize.c $(pkg-config --cflags --libs cvtmesh) -lm -o minimize */
#include <cvtmesh/cvtmesh.h>

#include <math.h>
#include <stdio.h>

enum { N = 1000 };

/* sum of 100 (x[i + 1] - x[i]^2)^2 + (1 - x[i])^2 over pairs; returns the value, writes g. */
static double rosenbrock(void *context, const double *x, double *g) {
  const double *weight = context;
  double value = 0;
  for (int i = 0; i < N; i += 2) {
    const double bend = x[i + 1] - x[i] * x[i], away = 1 - x[i];
    value += *weight * bend * bend + away * away;
    g[i] = -4 * *weight * x[i] * bend - 2 * away;
    g[i + 1] = 2 * *weight * bend;
  }
  return value;
}

int main(void) {
  static double x[N], lower[N], upper[N];
  double weight = 100;
  for (int i = 0; i < N; ++i) {
    x[i] = -1;
    lower[i] = -INFINITY;
    upper[i] = i % 2 == 1 ? 0.5 : INFINITY;
  }
  cvtm_error error;
  cvtm_device *device = NULL;
  cvtm_lbfgsb_options options;
  cvtm_lbfgsb_result result;
  cvtm_lbfgsb_defaults(&options);
  options.gradient_tolerance = 1e-8;
  if (cvtm_device_create("cpu", 0, &device, &error)) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  const int failed =
      cvtm_lbfgsb_minimize_host(device, N, lower, upper, x, rosenbrock, &weight, &options, &result);
  if (failed)
    fprintf(stderr, "%s\n", cvtm_device_error(device)->message);
  else
    printf(
        "f = %.9g after %lld iterations (%s), %lld variables at a bound, x = (%.6f, %.6f, ...)\n",
        result.f, (long long)result.iterations, cvtm_stop_name(result.stop),
        (long long)result.active, x[0], x[1]);
  cvtm_device_destroy(device);
  return failed;
}

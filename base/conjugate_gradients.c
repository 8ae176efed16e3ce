#include "base/conjugate_gradients.h"

static double dot(const cvtm_cg_system *s, const double *a, const double *b) {
  double sum = 0;
  if (s->dot) return s->dot(s->context, a, b);
  for (int64_t i = 0; i < s->count; ++i) sum += a[i] * b[i];
  return sum;
}

/* The preconditioned residual. */
static const double *preconditioned(const cvtm_cg_system *s, const cvtm_cg_vectors *v) {
  if (!s->precondition) return v->r;
  s->precondition(s->context, v->r, v->z);
  return v->z;
}

cvtm_cg cvtm_cg_solve(const cvtm_cg_system *system, const cvtm_cg_vectors *vectors,
                      double tolerance, int32_t max_iterations) {
  const int64_t n = system->count;
  const cvtm_cg_vectors v = *vectors;
  const double *z = preconditioned(system, &v);
  cvtm_cg cg = cvtm_cg_begin(dot(system, v.r, z), tolerance, max_iterations);
  for (int64_t i = 0; i < n; ++i) {
    v.x[i] = 0;
    v.d[i] = z[i];
  }
  while (cg.running) {
    system->multiply(system->context, v.d, v.product);
    cvtm_cg_set_alpha(&cg, dot(system, v.d, v.product));
#pragma omp parallel for num_threads(system->threads) schedule(static) if (system->threads > 1)
    for (int64_t i = 0; i < n; ++i) {
      v.x[i] += cg.alpha * v.d[i];
      v.r[i] -= cg.alpha * v.product[i];
    }
    z = preconditioned(system, &v);
    cvtm_cg_set_beta(&cg, dot(system, v.r, z));
#pragma omp parallel for num_threads(system->threads) schedule(static) if (system->threads > 1)
    for (int64_t i = 0; i < n; ++i) v.d[i] = z[i] + cg.beta * v.d[i];
  }
  return cg;
}

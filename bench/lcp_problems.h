/* The complementarity problems that the timing programs solve. */
#ifndef CVTMESH_BENCH_LCP_PROBLEMS_H
#define CVTMESH_BENCH_LCP_PROBLEMS_H

#include "bench/harness.h"
#include "lcp/sparse.h"

/* The elastic-plastic torsion problem on m x m nodes, with a free boundary along the diagonals:
 * right side and lower bound in device memory. The operator is the five-point one, 4 and -1. */
static inline void bench_torsion(cvtm_device *device, int64_t m, double **b, double **lower) {
  const double h = 1.0 / (double)(m + 1);
  double *host = malloc((size_t)(m * m) * sizeof *host);
  if (!host) exit(1);
  for (int64_t k = 0; k < m * m; ++k) host[k] = -5 * h * h;
  *b = bench_copied(device, host, m * m);
  for (int64_t k = 0; k < m * m; ++k) {
    const double x = (double)(k % m + 1) * h, y = (double)(k / m + 1) * h;
    host[k] = -fmin(fmin(x, 1 - x), fmin(y, 1 - y));
  }
  *lower = bench_copied(device, host, m * m);
  free(host);
}

/* A five-point matrix on size x size nodes, by its entries below, left, at the node, right, above;
 * 0: none. */
static inline cvtm_csr bench_five_points(cvtm_device *device, int64_t size,
                                         const double entries[5]) {
  const int64_t n = size * size, shifts[5] = {-size, -1, 0, 1, size};
  cvtm_csr made;
  bench_check(device, cvtm_csr_create(n, n, 5 * n, &made, cvtm_device_error(device)));
  for (int64_t row = 0, place = 0; row < n; ++row) {
    for (int k = 0; k < 5; ++k) {
      const int64_t column = row + shifts[k], x = row % size;
      if (column < 0 || column >= n || (k == 1 && x == 0) || (k == 3 && x == size - 1)) continue;
      if (entries[k] == 0) continue;
      made.column[place] = (int32_t)column;
      made.value[place++] = entries[k];
    }
    made.row_start[row + 1] = place;
  }
  return made;
}

/* A z - B w = q; q in host memory. */
typedef struct bench_hlcp {
  cvtm_csr a, b;
  double *q;
} bench_hlcp;

static const double bench_hlcp_omega = 0.5;

/* Example 3 of Mezzadri 2020, nu = 4, with the solution z = (0, 1, 0, 1, ...), w = (1, 0, 1, 0,
 * ...). */
static inline bench_hlcp bench_hlcp_create(cvtm_device *device, int64_t size) {
  static const double a[5] = {-1.5, -1.5, 4, -0.5, -0.5}, b[5] = {0, -1.5, 8, -0.5, 0};
  bench_hlcp p = {bench_five_points(device, size, a), bench_five_points(device, size, b),
                  calloc((size_t)(size * size), sizeof *p.q)};
  if (!p.q) exit(1);
  for (int64_t row = 0; row < size * size; ++row) {
    for (int64_t k = p.a.row_start[row]; k < p.a.row_start[row + 1]; ++k)
      if (p.a.column[k] % 2) p.q[row] += p.a.value[k];
    for (int64_t k = p.b.row_start[row]; k < p.b.row_start[row + 1]; ++k)
      if (p.b.column[k] % 2 == 0) p.q[row] -= p.b.value[k];
  }
  return p;
}

static inline void bench_hlcp_free(bench_hlcp *p) {
  cvtm_csr_free(&p->a);
  cvtm_csr_free(&p->b);
  free(p->q);
}

#endif

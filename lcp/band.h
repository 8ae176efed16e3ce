/* Inside lcp only: banded linear systems in host memory. */
#ifndef CVTMESH_LCP_BAND_H
#define CVTMESH_LCP_BAND_H

#include <stdint.h>

/* A matrix with `lower` diagonals below the main one and `upper` above it, replaced by its LU
 * factors with partial pivoting. Entry (i, j) is value[j * height + lower + upper + i - j]; the
 * height of a column leaves `lower` entries for fill-in. */
typedef struct cvtm_band {
  int64_t n, lower, upper;
  double *value;  /* n * height */
  int64_t *pivot; /* n */
} cvtm_band;

static inline int64_t cvtm_band_height(const cvtm_band *band) {
  return 2 * band->lower + band->upper + 1;
}
static inline double *cvtm_band_at(const cvtm_band *band, int64_t i, int64_t j) {
  return band->value + j * cvtm_band_height(band) + band->lower + band->upper + (i - j);
}

/* Returns 0 if the matrix is singular. */
int cvtm_band_factor(cvtm_band *band);
/* x: the right side, then the solution; n. */
void cvtm_band_solve(const cvtm_band *band, double *x);

#endif

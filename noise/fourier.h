/* Inside noise/: Fourier sums over points at a block of frequencies, by a non-uniform fast Fourier
 * transform (Dutt & Rokhlin 1993; kernel of Barnett, Magland & af Klinteberg 2019). */
#ifndef CVTMESH_NOISE_FOURIER_H
#define CVTMESH_NOISE_FOURIER_H

#include "base/status.h"

#include <stdint.h>

/* Frequencies of one transform along an axis, and the cells of its grid, twice as many. */
enum { CVTM_FOURIER_MODES = 512, CVTM_FOURIER_GRID = 2 * CVTM_FOURIER_MODES };

typedef struct cvtm_complex {
  double re, im;
} cvtm_complex;

typedef struct cvtm_fourier cvtm_fourier;

/* places: 2 * count, in periods, finite; both borrowed. weight: count; NULL: all 1. The transforms
 * will be at frequencies whose parts are `stride` cycles apart. threads: of the CPU, 0: all; the
 * bits do not depend on it. Fails with CVTM_ERROR_MEMORY. */
cvtm_status cvtm_fourier_create(const double *places, const double *weight, int64_t count,
                                const int64_t stride[2], int threads, cvtm_fourier **made,
                                cvtm_error *error);
void cvtm_fourier_destroy(cvtm_fourier *fourier);

/* sums[b * MODES + a] = sum_j weight_j exp(-2 pi i ((first_x + a stride_x) x_j + (first_y + b
 * stride_y) y_j)) for a, b = 0 .. MODES - 1, with an error of about 1e-10 of the root of count. */
void cvtm_fourier_transform(cvtm_fourier *fourier, const int64_t first[2], cvtm_complex *sums);

#endif

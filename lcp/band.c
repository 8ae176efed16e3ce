#include "lcp/band.h"

#include <math.h>

int cvtm_band_factor(cvtm_band *band) {
  const int64_t n = band->n, reach = band->lower + band->upper;
  for (int64_t k = 0; k < n; ++k) {
    const int64_t last_row = k + band->lower < n ? k + band->lower : n - 1;
    const int64_t last_column = k + reach < n ? k + reach : n - 1;
    int64_t pivot = k;
    for (int64_t i = k + 1; i <= last_row; ++i) {
      if (fabs(*cvtm_band_at(band, i, k)) > fabs(*cvtm_band_at(band, pivot, k))) pivot = i;
    }
    band->pivot[k] = pivot;
    if (*cvtm_band_at(band, pivot, k) == 0) return 0;
    for (int64_t j = k; j <= last_column && pivot != k; ++j) {
      const double swapped = *cvtm_band_at(band, k, j);
      *cvtm_band_at(band, k, j) = *cvtm_band_at(band, pivot, j);
      *cvtm_band_at(band, pivot, j) = swapped;
    }
    for (int64_t i = k + 1; i <= last_row; ++i)
      *cvtm_band_at(band, i, k) /= *cvtm_band_at(band, k, k);
    for (int64_t j = k + 1; j <= last_column; ++j) {
      const double above = *cvtm_band_at(band, k, j);
      if (above == 0) continue;
      for (int64_t i = k + 1; i <= last_row; ++i) {
        *cvtm_band_at(band, i, j) -= *cvtm_band_at(band, i, k) * above;
      }
    }
  }
  return 1;
}

void cvtm_band_solve(const cvtm_band *band, double *x) {
  const int64_t n = band->n, reach = band->lower + band->upper;
  for (int64_t k = 0; k < n; ++k) {
    const double value = x[band->pivot[k]];
    x[band->pivot[k]] = x[k];
    x[k] = value;
    for (int64_t i = k + 1; i <= k + band->lower && i < n; ++i) {
      x[i] -= *cvtm_band_at(band, i, k) * value;
    }
  }
  for (int64_t k = n - 1; k >= 0; --k) {
    x[k] /= *cvtm_band_at(band, k, k);
    for (int64_t i = k - reach > 0 ? k - reach : 0; i < k; ++i) {
      x[i] -= *cvtm_band_at(band, i, k) * x[k];
    }
  }
}

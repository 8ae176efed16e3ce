#include "lcp/hlcp/splitting_band.h"

#include "lcp/band.h"

#include <stdio.h>
#include <stdlib.h>

static const double most_bytes = 4e9;

struct cvtm_hlcp_bands {
  cvtm_device *device;
  int64_t count, n;
  cvtm_band *band; /* count */
  double *host;    /* n */
};

int cvtm_hlcp_are_triangular(const cvtm_hlcp_multisplitting *given) {
  const cvtm_csr *const lists[] = {given->m_a, given->m_b};
  if (given->m_a == NULL || given->m_b == NULL) return 1;
  for (int list = 0; list < 2; ++list)
    for (int64_t k = 0; k < given->count; ++k) {
      const cvtm_csr *m = &lists[list][k];
      for (int64_t i = 0; i < m->rows; ++i) {
        const int64_t end = m->row_start[i + 1];
        if (end > m->row_start[i] && m->column[end - 1] > i) return 0;
      }
    }
  return 1;
}

static void widen(const cvtm_csr *m, cvtm_band *band) {
  for (int64_t i = 0; i < m->rows; ++i) {
    if (m->row_start[i] == m->row_start[i + 1]) continue;
    const int64_t first = m->column[m->row_start[i]], last = m->column[m->row_start[i + 1] - 1];
    if (i - first > band->lower) band->lower = i - first;
    if (last - i > band->upper) band->upper = last - i;
  }
}

/* omega: NULL for ones. */
static void add_to_band(const cvtm_csr *m, const double *omega, cvtm_band *band) {
  for (int64_t i = 0; i < m->rows; ++i)
    for (int64_t k = m->row_start[i]; k < m->row_start[i + 1]; ++k) {
      const int64_t j = m->column[k];
      *cvtm_band_at(band, i, j) += m->value[k] * (omega != NULL ? omega[j] : 1);
    }
}

static cvtm_status check_matrix(const cvtm_csr *m, const char *name, int64_t k, int64_t n,
                                cvtm_error *error) {
  char full[64];
  snprintf(full, sizeof full, "%s of splitting %lld", name, (long long)k + 1);
  const cvtm_status status = cvtm_csr_check(m, full, error);
  if (status != CVTM_OK || (m->rows == n && m->columns == n)) return status;
  return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: %lld x %lld where the matrices are %lld x %lld",
                   full, (long long)m->rows, (long long)m->columns, (long long)n, (long long)n);
}

static cvtm_status factor(cvtm_hlcp_bands *b, const cvtm_hlcp_multisplitting *given, int64_t k,
                          const double *omega, double *bytes) {
  cvtm_error *error = cvtm_device_error(b->device);
  cvtm_band *band = &b->band[k];
  cvtm_status status = check_matrix(&given->m_a[k], "M_A", k, b->n, error);
  if (status == CVTM_OK) status = check_matrix(&given->m_b[k], "M_B", k, b->n, error);
  if (status != CVTM_OK) return status;
  band->n = b->n;
  widen(&given->m_a[k], band);
  widen(&given->m_b[k], band);
  *bytes += 8.0 * (double)cvtm_band_height(band) * (double)b->n;
  if (*bytes > most_bytes)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "splitting %lld: factors of a band of %lld diagonals need too much memory",
                     (long long)k + 1, (long long)(band->lower + band->upper + 1));
  band->value = calloc((size_t)(cvtm_band_height(band) * b->n), sizeof *band->value);
  band->pivot = malloc((size_t)b->n * sizeof *band->pivot);
  if (band->value == NULL || band->pivot == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for factors of splittings");
  add_to_band(&given->m_a[k], NULL, band);
  add_to_band(&given->m_b[k], omega, band);
  if (cvtm_band_factor(band)) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_INPUT, "splitting %lld: M_A + M_B Omega is singular",
                   (long long)k + 1);
}

cvtm_status cvtm_hlcp_bands_create(cvtm_device *device, const cvtm_hlcp_multisplitting *given,
                                   int64_t n, const double *omega, cvtm_hlcp_bands **bands) {
  cvtm_error *error = cvtm_device_error(device);
  double bytes = 0;
  cvtm_hlcp_bands *b = calloc(1, sizeof *b);
  *bands = NULL;
  if (b == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for splittings");
  b->device = device;
  b->count = given->count;
  b->n = n;
  b->band = calloc((size_t)given->count, sizeof *b->band);
  b->host = malloc((size_t)n * sizeof *b->host);
  cvtm_status status = CVTM_OK;
  if (b->band == NULL || b->host == NULL)
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for splittings");
  for (int64_t k = 0; k < given->count && status == CVTM_OK; ++k)
    status = factor(b, given, k, omega, &bytes);
  if (status == CVTM_OK)
    *bands = b;
  else
    cvtm_hlcp_bands_destroy(b);
  return status;
}

void cvtm_hlcp_bands_destroy(cvtm_hlcp_bands *b) {
  if (b == NULL) return;
  for (int64_t k = 0; k < b->count && b->band != NULL; ++k) {
    free(b->band[k].value);
    free(b->band[k].pivot);
  }
  free(b->band);
  free(b->host);
  free(b);
}

cvtm_status cvtm_hlcp_bands_solve(void *context, int64_t k, const double *right, double *solution) {
  const cvtm_hlcp_bands *b = context;
  const size_t bytes = (size_t)b->n * sizeof *b->host;
  const cvtm_status status = cvtm_device_copy_out(b->device, b->host, right, bytes);
  if (status != CVTM_OK) return status;
  cvtm_band_solve(&b->band[k], b->host);
  return cvtm_device_copy_in(b->device, solution, b->host, bytes);
}

#include "lcp/hlcp/splitting.h"

#include "base/plain.h"
#include "lcp/hlcp/splitting_builder.h"
#include "lcp/sparse/csr.h"

#include <stdlib.h>
#include <string.h>

cvtm_status cvtm_hlcp_no_memory(cvtm_error *error) {
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory to set up a multisplitting");
}

/* --- Omega and weights -------------------------------------------------------------------- */

static cvtm_status omega_row(const cvtm_csr *a, const cvtm_csr *b, const cvtm_hlcp_options *options,
                             int64_t row, double *omega, cvtm_error *error) {
  double value = options->omega;
  if (options->scaling == CVTM_HLCP_OMEGA_VECTOR) value = options->omega_vector[row];
  if (options->scaling == CVTM_HLCP_OMEGA_RATIO) {
    value *= cvtm_csr_entry(a, row, row) / cvtm_csr_entry(b, row, row);
  }
  *omega = value;
  if (value > 0 && isfinite(value)) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_INPUT, "Omega: row %lld: %g is not positive",
                   (long long)row + 1, value);
}

cvtm_status cvtm_hlcp_omega(const cvtm_csr *a, const cvtm_csr *b, const cvtm_hlcp_options *options,
                            double **omega, cvtm_error *error) {
  double *values = malloc(((size_t)a->rows + 1) * sizeof *values);
  if (values == NULL) return cvtm_hlcp_no_memory(error);
  cvtm_status status = CVTM_OK;
  for (int64_t row = 0; row < a->rows && status == CVTM_OK; ++row) {
    status = omega_row(a, b, options, row, &values[row], error);
  }
  if (status != CVTM_OK) free(values);
  if (status == CVTM_OK) *omega = values;
  return status;
}

cvtm_status cvtm_hlcp_scale_columns(const cvtm_csr *b, const double *omega, cvtm_csr *scaled,
                                    cvtm_error *error) {
  const int64_t entries = b->row_start[b->rows];
  const cvtm_status status = cvtm_csr_create(b->rows, b->columns, entries, scaled, error);
  if (status != CVTM_OK) return status;
  memcpy(scaled->row_start, b->row_start, ((size_t)b->rows + 1) * sizeof *b->row_start);
  memcpy(scaled->column, b->column, (size_t)entries * sizeof *b->column);
  for (int64_t k = 0; k < entries; ++k) scaled->value[k] = b->value[k] * omega[b->column[k]];
  return CVTM_OK;
}

cvtm_status cvtm_hlcp_check_weights(const cvtm_csr *weights, int64_t count, int64_t n,
                                    cvtm_error *error) {
  cvtm_status status = cvtm_csr_check(weights, "weights", error);
  if (status != CVTM_OK) return status;
  if (weights->rows != count || weights->columns != n) {
    return cvtm_fail(error, CVTM_ERROR_INPUT, "weights: %lld x %lld where %lld x %lld are needed",
                     (long long)weights->rows, (long long)weights->columns, (long long)count,
                     (long long)n);
  }
  double *sums = calloc((size_t)n + 1, sizeof *sums);
  if (sums == NULL) return cvtm_hlcp_no_memory(error);
  for (int64_t k = 0; k < count && status == CVTM_OK; ++k) {
    for (int64_t t = weights->row_start[k]; t < weights->row_start[k + 1]; ++t) {
      sums[weights->column[t]] += weights->value[t];
      if (weights->value[t] >= 0) continue;
      status = cvtm_fail(error, CVTM_ERROR_INPUT, "weights: row %lld: %g is negative",
                         (long long)k + 1, weights->value[t]);
      break;
    }
  }
  for (int64_t i = 0; i < n && status == CVTM_OK; ++i) {
    if (fabs(sums[i] - 1) <= 1e-12) continue;
    status = cvtm_fail(error, CVTM_ERROR_INPUT,
                       "weights: column %lld sums to %.17g: the E_k must sum to the identity",
                       (long long)i + 1, sums[i]);
  }
  free(sums);
  return status;
}

/* --- the systems in host memory ------------------------------------------------------------ */

static void cvtm_hlcp_builder_free(cvtm_hlcp_builder *s) {
  free(s->block_first);
  free(s->row);
  free(s->scale);
  cvtm_csr_free(&s->lower);
  cvtm_csr_free(&s->weights);
}

cvtm_status cvtm_hlcp_check_unknowns(const cvtm_hlcp_builder *s, cvtm_error *error) {
  if (s->unknowns <= INT32_MAX - s->n) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                   "the %lld splittings have %lld unknowns together, too many",
                   (long long)s->splits, (long long)s->unknowns);
}

int64_t cvtm_hlcp_first_of_block(const cvtm_hlcp_builder *s, int64_t k) {
  return s->block_first != NULL ? s->block_first[k] : cvtm_hlcp_block_start(s->n, s->splits, k);
}

cvtm_status cvtm_hlcp_build_weights(cvtm_hlcp_builder *s, const cvtm_csr *e,
                                    const int64_t *unknown_of, cvtm_error *error) {
  const int64_t entries = e->row_start[e->rows];
  const cvtm_status status = cvtm_csr_create(s->n, s->n + s->unknowns, entries, &s->weights, error);
  if (status != CVTM_OK) return status;
  int64_t *next = s->weights.row_start;
  memset(next, 0, ((size_t)s->n + 1) * sizeof *next);
  for (int64_t t = 0; t < entries; ++t) ++next[e->column[t] + 1];
  for (int64_t i = 0; i < s->n; ++i) next[i + 1] += next[i];
  /* Block after block, so that columns ascend. This moves each row start to the row's end. */
  for (int64_t t = 0; t < entries; ++t) {
    const int64_t place = next[e->column[t]]++;
    s->weights.column[place] = (int32_t)(s->n + unknown_of[t]);
    s->weights.value[place] = e->value[t];
  }
  for (int64_t i = s->n; i > 0; --i) next[i] = next[i - 1];
  next[0] = 0;
  return CVTM_OK;
}

/* The paper's E_k as a matrix of weights. */
static cvtm_status even_weights(int64_t n, int64_t splits, cvtm_csr *e, cvtm_error *error) {
  const cvtm_status status = cvtm_csr_create(splits, n, n, e, error);
  if (status != CVTM_OK) return status;
  for (int64_t k = 0; k <= splits; ++k) e->row_start[k] = cvtm_hlcp_block_start(n, splits, k);
  for (int64_t i = 0; i < n; ++i) {
    e->column[i] = (int32_t)i;
    e->value[i] = 1;
  }
  return CVTM_OK;
}

static cvtm_status build_systems(cvtm_hlcp_builder *s, cvtm_error *error) {
  const cvtm_hlcp_multisplitting *given = s->options->multisplitting;
  if (given == NULL && s->options->weights == NULL) return cvtm_hlcp_build_even(s, error);
  if (given == NULL) return cvtm_hlcp_build_weighted(s, s->options->weights, error);
  cvtm_csr even = {0, 0, NULL, NULL, NULL};
  cvtm_status status = CVTM_OK;
  const cvtm_csr *e = given->weights;
  if (e == NULL) {
    status = even_weights(s->n, s->splits, &even, error);
    e = &even;
  }
  if (status == CVTM_OK) {
    status = given->m_a != NULL ? cvtm_hlcp_build_given(s, e, error)
                                : cvtm_hlcp_build_for_solver(s, e, error);
  }
  cvtm_csr_free(&even);
  return status;
}

/* --- to the device ------------------------------------------------------------------------- */

static cvtm_status copy_to_device(cvtm_device *device, const void *host, int64_t count, size_t size,
                                  void **memory) {
  if (host == NULL) return CVTM_OK;
  const cvtm_status status = cvtm_device_allocate(device, count, size, memory);
  if (status != CVTM_OK) return status;
  return cvtm_device_copy_in(device, *memory, host, (size_t)count * size);
}

/* True if some unknown depends on another. */
static int is_chained(const cvtm_hlcp_builder *s) {
  const int64_t entries = s->lower.row_start != NULL ? s->lower.row_start[s->lower.rows] : 0;
  for (int64_t t = 0; t < entries; ++t) {
    if (s->lower.column[t] >= s->n) return 1;
  }
  return 0;
}

static int64_t largest_block(const cvtm_hlcp_builder *s) {
  if (s->block_first == NULL) return cvtm_hlcp_first_of_block(s, 1); /* the first is the largest */
  int64_t largest = 0;
  for (int64_t k = 0; k < s->splits; ++k) {
    const int64_t size = s->block_first[k + 1] - s->block_first[k];
    if (size > largest) largest = size;
  }
  return largest;
}

static cvtm_status upload_systems(cvtm_device *device, const cvtm_hlcp_builder *s,
                                  const cvtm_hlcp_levels *l, cvtm_hlcp_systems *systems) {
  systems->unknowns = s->unknowns;
  systems->blocks = s->splits;
  systems->widest = l->widest;
  systems->block_threads = s->options->block_threads;
  cvtm_status status = CVTM_OK;
  if (s->lower.row_start != NULL) status = cvtm_sell_create(device, &s->lower, &systems->lower);
  if (status == CVTM_OK && s->weights.row_start != NULL) {
    status = cvtm_sell_create(device, &s->weights, &systems->weights);
  }
  if (status == CVTM_OK) {
    status =
        copy_to_device(device, s->block_first, s->splits + 1, CVTM_TYPED(systems->block_first));
  }
  if (status == CVTM_OK) {
    status = copy_to_device(device, s->row, s->unknowns, CVTM_TYPED(systems->row));
  }
  if (status == CVTM_OK) {
    status = copy_to_device(device, s->scale, s->unknowns, CVTM_TYPED(systems->scale));
  }
  if (status == CVTM_OK) {
    status = copy_to_device(device, l->order, s->unknowns, CVTM_TYPED(systems->order));
  }
  if (status == CVTM_OK) {
    status = copy_to_device(device, l->level_first, l->count + 1, CVTM_TYPED(systems->level_first));
  }
  if (status == CVTM_OK) {
    status =
        copy_to_device(device, l->block_level, s->splits + 1, CVTM_TYPED(systems->block_level));
  }
  return status;
}

cvtm_status cvtm_hlcp_systems_create(cvtm_device *device, const cvtm_csr *a, const cvtm_csr *b,
                                     const double *omega, const cvtm_hlcp_options *options,
                                     int64_t splits, int with_levels, cvtm_hlcp_systems *systems) {
  cvtm_error *error = cvtm_device_error(device);
  cvtm_hlcp_builder s;
  memset(&s, 0, sizeof s);
  s.a = a;
  s.b = b;
  s.omega = omega;
  s.options = options;
  s.n = a->rows;
  s.splits = splits;
  cvtm_hlcp_levels l;
  memset(&l, 0, sizeof l);
  memset(systems, 0, sizeof *systems);
  cvtm_status status = build_systems(&s, error);
  if (status == CVTM_OK) {
    systems->chained = is_chained(&s);
    systems->largest = largest_block(&s);
    const int is_small = s.row == NULL && systems->largest <= CVTM_HLCP_SMALL_BLOCK &&
                         !cvtm_uses_plain("small_blocks");
    const int by_level = with_levels && options->block_threads == 0;
    if (by_level && systems->chained && !is_small) status = cvtm_hlcp_build_levels(&s, &l, error);
  }
  if (status == CVTM_OK) status = upload_systems(device, &s, &l, systems);
  cvtm_hlcp_levels_free(&l);
  cvtm_hlcp_builder_free(&s);
  if (status != CVTM_OK) cvtm_hlcp_systems_free(device, systems);
  return status;
}

void cvtm_hlcp_systems_free(cvtm_device *device, cvtm_hlcp_systems *systems) {
  cvtm_sell_free(device, &systems->lower);
  cvtm_sell_free(device, &systems->weights);
  cvtm_device_free(device, systems->block_first);
  cvtm_device_free(device, systems->row);
  cvtm_device_free(device, systems->scale);
  cvtm_device_free(device, systems->order);
  cvtm_device_free(device, systems->level_first);
  cvtm_device_free(device, systems->block_level);
  memset(systems, 0, sizeof *systems);
}

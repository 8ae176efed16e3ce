/* Multisplittings by the caller: of each M_Ak + M_Bk Omega only the rows on which the support of
 * E_k depends are kept. */
#include "lcp/hlcp/splitting_builder.h"

#include "base/grow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cvtm_status check_triangle(const cvtm_csr *m, const char *name, int64_t k, int64_t n,
                                  cvtm_error *error) {
  char full[64];
  snprintf(full, sizeof full, "%s of splitting %lld", name, (long long)k + 1);
  const cvtm_status status = cvtm_csr_check(m, full, error);
  if (status != CVTM_OK) return status;
  if (m->rows != n || m->columns != n) {
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: %lld x %lld where the matrices are %lld x %lld",
                     full, (long long)m->rows, (long long)m->columns, (long long)n, (long long)n);
  }
  for (int64_t i = 0; i < n; ++i) {
    const int64_t end = m->row_start[i + 1];
    if (end == m->row_start[i] || m->column[end - 1] <= i) continue;
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: row %lld: column %d is above the diagonal", full,
                     (long long)i + 1, m->column[end - 1] + 1);
  }
  return CVTM_OK;
}

/* Sets place[] to 1 in the rows on which the support of E_k depends. */
static void mark_needed(const cvtm_csr *ma, const cvtm_csr *mb, const cvtm_csr *e, int64_t k,
                        int32_t *place, int32_t *stack) {
  int64_t height = 0;
  for (int64_t t = e->row_start[k]; t < e->row_start[k + 1]; ++t) {
    place[e->column[t]] = 1;
    stack[height++] = e->column[t];
  }
  while (height > 0) {
    cvtm_hlcp_merge m = cvtm_hlcp_merge_row(ma, mb, stack[--height]);
    double a = 0, b = 0;
    for (int64_t j = cvtm_hlcp_merge_next(&m, &a, &b); j < m.row;
         j = cvtm_hlcp_merge_next(&m, &a, &b)) {
      if (place[j] >= 0) continue;
      place[j] = 1;
      stack[height++] = (int32_t)j;
    }
  }
}

/* Arrays of systems whose size is known only at the end. */
typedef struct growing {
  int64_t unknowns, entries, unknown_capacity, entry_capacity;
  int64_t *row_start;
  int32_t *row, *column;
  double *scale, *value;
} growing;

static int reserve_rows(growing *g, int64_t unknowns, int64_t entries) {
  const cvtm_growing by_unknown[] = {{&g->row_start, sizeof *g->row_start},
                                     {&g->row, sizeof *g->row},
                                     {&g->scale, sizeof *g->scale}};
  const cvtm_growing by_entry[] = {{&g->column, sizeof *g->column}, {&g->value, sizeof *g->value}};
  return cvtm_grow_all(by_unknown, 3, &g->unknown_capacity, g->unknowns + unknowns + 1) &&
         cvtm_grow_all(by_entry, 2, &g->entry_capacity, g->entries + entries + 1);
}

/* Appends the marked rows of M_Ak + M_Bk Omega and sets place[] to their unknowns. */
static cvtm_status append_splitting(const cvtm_hlcp_builder *s, const cvtm_csr *ma,
                                    const cvtm_csr *mb, int64_t k, int32_t *place, growing *g,
                                    cvtm_error *error) {
  for (int64_t i = 0; i < s->n; ++i) {
    if (place[i] < 0) continue;
    const int64_t most =
        ma->row_start[i + 1] - ma->row_start[i] + mb->row_start[i + 1] - mb->row_start[i];
    if (!reserve_rows(g, 1, most)) return cvtm_hlcp_no_memory(error);
    const double diagonal = cvtm_csr_entry(ma, i, i) + cvtm_csr_entry(mb, i, i) * s->omega[i];
    if (!(diagonal > 0) || !isfinite(diagonal)) {
      return cvtm_fail(error, CVTM_ERROR_INPUT,
                       "splitting %lld: row %lld: the diagonal of M_A + M_B Omega is not positive",
                       (long long)k + 1, (long long)i + 1);
    }
    cvtm_hlcp_merge m = cvtm_hlcp_merge_row(ma, mb, i);
    double a = 0, b = 0;
    for (int64_t j = cvtm_hlcp_merge_next(&m, &a, &b); j < i;
         j = cvtm_hlcp_merge_next(&m, &a, &b)) {
      g->column[g->entries] = place[j]; /* n is added at the end */
      g->value[g->entries++] = (a + b * s->omega[j]) / diagonal;
    }
    place[i] = (int32_t)g->unknowns;
    g->row[g->unknowns] = (int32_t)i;
    g->scale[g->unknowns++] = 1 / diagonal;
    g->row_start[g->unknowns] = g->entries;
    if (g->unknowns > INT32_MAX - s->n) {
      return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "the splittings have too many unknowns");
    }
  }
  return CVTM_OK;
}

static cvtm_status append_all(cvtm_hlcp_builder *s, const cvtm_csr *e, growing *g,
                              int64_t *unknown_of, int32_t *place, int32_t *stack,
                              cvtm_error *error) {
  const cvtm_hlcp_multisplitting *given = s->options->multisplitting;
  if (!reserve_rows(g, 0, 0)) return cvtm_hlcp_no_memory(error);
  g->row_start[0] = 0;
  s->block_first[0] = 0;
  cvtm_status status = CVTM_OK;
  for (int64_t k = 0; k < s->splits && status == CVTM_OK; ++k) {
    const cvtm_csr *ma = &given->m_a[k], *mb = &given->m_b[k];
    status = check_triangle(ma, "M_A", k, s->n, error);
    if (status == CVTM_OK) status = check_triangle(mb, "M_B", k, s->n, error);
    if (status != CVTM_OK) break;
    for (int64_t i = 0; i < s->n; ++i) place[i] = -1;
    mark_needed(ma, mb, e, k, place, stack);
    status = append_splitting(s, ma, mb, k, place, g, error);
    for (int64_t t = e->row_start[k]; t < e->row_start[k + 1]; ++t) {
      unknown_of[t] = place[e->column[t]];
    }
    s->block_first[k + 1] = g->unknowns;
  }
  return status;
}

cvtm_status cvtm_hlcp_build_given(cvtm_hlcp_builder *s, const cvtm_csr *e, cvtm_error *error) {
  growing g = {0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL};
  int32_t *place = malloc(((size_t)s->n + 1) * sizeof *place);
  int32_t *stack = malloc(((size_t)s->n + 1) * sizeof *stack);
  int64_t *unknown_of = malloc(((size_t)e->row_start[e->rows] + 1) * sizeof *unknown_of);
  s->block_first = malloc(((size_t)s->splits + 1) * sizeof *s->block_first);
  cvtm_status status = CVTM_OK;
  if (!place || !stack || !unknown_of || !s->block_first) status = cvtm_hlcp_no_memory(error);
  if (status == CVTM_OK) status = append_all(s, e, &g, unknown_of, place, stack, error);
  s->row = g.row;
  s->scale = g.scale;
  s->unknowns = g.unknowns;
  s->lower.rows = g.unknowns;
  s->lower.columns = s->n + g.unknowns;
  s->lower.row_start = g.row_start;
  s->lower.column = g.column;
  s->lower.value = g.value;
  if (status == CVTM_OK) {
    for (int64_t t = 0; t < g.entries; ++t) g.column[t] += (int32_t)s->n;
    status = cvtm_hlcp_build_weights(s, e, unknown_of, error);
  }
  free(place);
  free(stack);
  free(unknown_of);
  return status;
}

/* The caller's solver computes all n components of every splitting. */
cvtm_status cvtm_hlcp_build_for_solver(cvtm_hlcp_builder *s, const cvtm_csr *e, cvtm_error *error) {
  if (s->splits > (INT32_MAX - s->n) / (s->n > 0 ? s->n : 1)) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%lld splittings of %lld unknowns are too many",
                     (long long)s->splits, (long long)s->n);
  }
  s->unknowns = s->splits * s->n;
  int64_t *unknown_of = malloc(((size_t)e->row_start[e->rows] + 1) * sizeof *unknown_of);
  if (unknown_of == NULL) return cvtm_hlcp_no_memory(error);
  for (int64_t k = 0; k < s->splits; ++k) {
    for (int64_t t = e->row_start[k]; t < e->row_start[k + 1]; ++t) {
      unknown_of[t] = k * s->n + e->column[t];
    }
  }
  const cvtm_status status = cvtm_hlcp_build_weights(s, e, unknown_of, error);
  free(unknown_of);
  return status;
}

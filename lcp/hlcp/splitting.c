#include "lcp/hlcp/splitting.h"

#include "lcp/sparse/csr.h"

#include "base/grow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cvtm_status no_memory(cvtm_error *error) {
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory to set up a multisplitting");
}

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
  if (values == NULL) return no_memory(error);
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
  if (sums == NULL) return no_memory(error);
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

/* --- the systems on the host ---------------------------------------------------------- */

/* Which unknown stands for which row of which block, and the entries collected so far. */
typedef struct builder {
  const cvtm_csr *a, *b; /* b: B Omega */
  const double *omega;
  const cvtm_hlcp_options *options;
  int64_t n, splits, unknowns;
  int64_t *block_first; /* splits + 1 */
  int32_t *row;         /* of an unknown; NULL: itself */
  double *scale;        /* NULL: 1 */
  cvtm_csr lower, weights;
} builder;

static void builder_free(builder *s) {
  free(s->block_first);
  free(s->row);
  free(s->scale);
  cvtm_csr_free(&s->lower);
  cvtm_csr_free(&s->weights);
}

/* Entries left of the diagonal in a row of two matrices together, columns ascending. */
typedef struct merge {
  const cvtm_csr *a, *b;
  int64_t row, at_a, at_b, end_a, end_b;
} merge;

static merge merge_row(const cvtm_csr *a, const cvtm_csr *b, int64_t row) {
  const merge m = {a,
                   b,
                   row,
                   a->row_start[row],
                   b->row_start[row],
                   a->row_start[row + 1],
                   b->row_start[row + 1]};
  return m;
}

/* The next column, or the row itself at the end. */
static int64_t merge_next(merge *m, double *a, double *b) {
  int64_t column = m->row;
  const int32_t *columns_a = m->a->column, *columns_b = m->b->column;
  if (m->at_a < m->end_a && columns_a[m->at_a] < column) column = columns_a[m->at_a];
  if (m->at_b < m->end_b && columns_b[m->at_b] < column) column = columns_b[m->at_b];
  *a = *b = 0;
  if (m->at_a < m->end_a && columns_a[m->at_a] == column) *a = m->a->value[m->at_a++];
  if (m->at_b < m->end_b && columns_b[m->at_b] == column) *b = m->b->value[m->at_b++];
  return column;
}

/* Row i of beta / M_ii times the strictly lower part of block k. `first` is the block's first row
 * where the blocks are even, else place[j] is the unknown of row j in this block or -1.
 * Written where csr is not NULL; returns the number of entries. */
static int64_t put_lower_row(const builder *s, int64_t i, int64_t first, const int32_t *place,
                             int64_t at, cvtm_csr *csr) {
  const cvtm_hlcp_options *o = s->options;
  const int a_only = o->split == CVTM_HLCP_SPLIT_A_ONLY;
  const double diagonal =
      cvtm_csr_entry(s->a, i, i) + (a_only ? o->alpha : 1) * cvtm_csr_entry(s->b, i, i);
  merge m = merge_row(s->a, s->b, i);
  int64_t count = 0;
  double a = 0, b = 0;
  for (int64_t j = merge_next(&m, &a, &b); j < i; j = merge_next(&m, &a, &b)) {
    const int64_t unknown = place != NULL ? place[j] : j >= first ? j : -1;
    const double value = a_only ? a : a + b;
    if (value == 0 || (unknown < 0 && o->rule == CVTM_HLCP_BLOCK)) continue;
    if (csr != NULL) {
      csr->column[at + count] = (int32_t)(unknown < 0 ? j : s->n + unknown);
      csr->value[at + count] = o->beta * value / diagonal;
    }
    ++count;
  }
  return count;
}

static cvtm_status too_many_unknowns(const builder *s, cvtm_error *error) {
  if (s->unknowns <= INT32_MAX - s->n) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                   "the %lld splittings have %lld unknowns together, too many",
                   (long long)s->splits, (long long)s->unknowns);
}

/* The paper's blocks: unknown i is row i. */
static cvtm_status build_even(builder *s, cvtm_error *error) {
  s->unknowns = s->n;
  cvtm_status status = too_many_unknowns(s, error);
  if (status != CVTM_OK) return status;
  int64_t entries = 0;
  for (int64_t k = 0; k < s->splits; ++k) {
    const int64_t first = cvtm_hlcp_block_start(s->n, s->splits, k);
    const int64_t end = cvtm_hlcp_block_start(s->n, s->splits, k + 1);
    for (int64_t i = first; i < end && s->options->beta != 0; ++i) {
      entries += put_lower_row(s, i, first, NULL, 0, NULL);
    }
  }
  status = cvtm_csr_create(s->n, 2 * s->n, entries, &s->lower, error);
  if (status == CVTM_OK) {
    for (int64_t k = 0; k < s->splits; ++k) {
      const int64_t first = cvtm_hlcp_block_start(s->n, s->splits, k);
      const int64_t end = cvtm_hlcp_block_start(s->n, s->splits, k + 1);
      for (int64_t i = first; i < end; ++i) {
        const int64_t at = s->lower.row_start[i];
        const int64_t count =
            s->options->beta != 0 ? put_lower_row(s, i, first, NULL, at, &s->lower) : 0;
        s->lower.row_start[i + 1] = at + count;
      }
    }
  }
  return status;
}

/* weights: n x (n + unknowns) from the E_k and the unknowns that they meet. unknown_of[t] is the
 * unknown of entry t of E. */
static cvtm_status build_weights(builder *s, const cvtm_csr *e, const int64_t *unknown_of,
                                 cvtm_error *error) {
  const int64_t entries = e->row_start[e->rows];
  const cvtm_status status = cvtm_csr_create(s->n, s->n + s->unknowns, entries, &s->weights, error);
  if (status != CVTM_OK) return status;
  int64_t *next = s->weights.row_start;
  memset(next, 0, ((size_t)s->n + 1) * sizeof *next);
  for (int64_t t = 0; t < entries; ++t) ++next[e->column[t] + 1];
  for (int64_t i = 0; i < s->n; ++i) next[i + 1] += next[i];
  /* Block after block, so columns ascend; the starts move on to the ends and are moved back. */
  for (int64_t t = 0; t < entries; ++t) {
    const int64_t place = next[e->column[t]]++;
    s->weights.column[place] = (int32_t)(s->n + unknown_of[t]);
    s->weights.value[place] = e->value[t];
  }
  for (int64_t i = s->n; i > 0; --i) next[i] = next[i - 1];
  next[0] = 0;
  return CVTM_OK;
}

/* The AOR family with weights of the caller's: block k is the support of E_k. */
static cvtm_status build_weighted(builder *s, const cvtm_csr *e, cvtm_error *error) {
  s->unknowns = e->row_start[e->rows];
  cvtm_status status = too_many_unknowns(s, error);
  if (status != CVTM_OK) return status;
  s->block_first = malloc(((size_t)s->splits + 1) * sizeof *s->block_first);
  s->row = malloc(((size_t)s->unknowns + 1) * sizeof *s->row);
  int32_t *place = malloc(((size_t)s->n + 1) * sizeof *place);
  int64_t *unknown_of = malloc(((size_t)s->unknowns + 1) * sizeof *unknown_of);
  if (!s->block_first || !s->row || !place || !unknown_of) status = no_memory(error);
  if (status == CVTM_OK) {
    memcpy(s->block_first, e->row_start, ((size_t)s->splits + 1) * sizeof *s->block_first);
    for (int64_t j = 0; j < s->n; ++j) place[j] = -1;
    for (int64_t t = 0; t < s->unknowns; ++t) {
      s->row[t] = e->column[t];
      unknown_of[t] = t;
    }
  }
  /* Twice: count, then fill. */
  int64_t entries = 0;
  for (int pass = 0; pass < 2 && status == CVTM_OK; ++pass) {
    cvtm_csr *csr = pass == 0 ? NULL : &s->lower;
    if (csr != NULL) {
      status = cvtm_csr_create(s->unknowns, s->n + s->unknowns, entries, csr, error);
      if (status != CVTM_OK) break;
    }
    for (int64_t k = 0; k < s->splits; ++k) {
      const int64_t first = e->row_start[k], end = e->row_start[k + 1];
      for (int64_t t = first; t < end; ++t) place[e->column[t]] = (int32_t)t;
      for (int64_t t = first; t < end; ++t) {
        const int64_t at = csr != NULL ? csr->row_start[t] : 0;
        const int64_t count = put_lower_row(s, e->column[t], 0, place, at, csr);
        if (csr != NULL) csr->row_start[t + 1] = at + count;
        entries += count;
      }
      for (int64_t t = first; t < end; ++t) place[e->column[t]] = -1;
    }
  }
  if (status == CVTM_OK) status = build_weights(s, e, unknown_of, error);
  free(place);
  free(unknown_of);
  return status;
}

/* --- splittings of the caller's ------------------------------------------------------- */

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

/* Marks in place[] (1: needed) what the rows of the support depend on. */
static void mark_needed(const cvtm_csr *ma, const cvtm_csr *mb, const cvtm_csr *e, int64_t k,
                        int32_t *place, int32_t *stack) {
  int64_t height = 0;
  for (int64_t t = e->row_start[k]; t < e->row_start[k + 1]; ++t) {
    place[e->column[t]] = 1;
    stack[height++] = e->column[t];
  }
  while (height > 0) {
    merge m = merge_row(ma, mb, stack[--height]);
    double a = 0, b = 0;
    for (int64_t j = merge_next(&m, &a, &b); j < m.row; j = merge_next(&m, &a, &b)) {
      if (place[j] >= 0) continue;
      place[j] = 1;
      stack[height++] = (int32_t)j;
    }
  }
}

/* The growing parts of systems whose size is only known in the end. */
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

/* Appends the marked rows of M_Ak + M_Bk Omega, and gives place[] their unknowns. */
static cvtm_status append_splitting(const builder *s, const cvtm_csr *ma, const cvtm_csr *mb,
                                    int64_t k, int32_t *place, growing *g, cvtm_error *error) {
  for (int64_t i = 0; i < s->n; ++i) {
    if (place[i] < 0) continue;
    const int64_t most =
        ma->row_start[i + 1] - ma->row_start[i] + mb->row_start[i + 1] - mb->row_start[i];
    if (!reserve_rows(g, 1, most)) return no_memory(error);
    const double diagonal = cvtm_csr_entry(ma, i, i) + cvtm_csr_entry(mb, i, i) * s->omega[i];
    if (!(diagonal > 0) || !isfinite(diagonal)) {
      return cvtm_fail(error, CVTM_ERROR_INPUT,
                       "splitting %lld: row %lld: the diagonal of M_A + M_B Omega is not positive",
                       (long long)k + 1, (long long)i + 1);
    }
    merge m = merge_row(ma, mb, i);
    double a = 0, b = 0;
    for (int64_t j = merge_next(&m, &a, &b); j < i; j = merge_next(&m, &a, &b)) {
      g->column[g->entries] = place[j]; /* n is added when all are known */
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

static cvtm_status append_all(builder *s, const cvtm_csr *e, growing *g, int64_t *unknown_of,
                              int32_t *place, int32_t *stack, cvtm_error *error) {
  const cvtm_hlcp_multisplitting *given = s->options->multisplitting;
  if (!reserve_rows(g, 0, 0)) return no_memory(error);
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

static cvtm_status build_given(builder *s, const cvtm_csr *e, cvtm_error *error) {
  growing g = {0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL};
  int32_t *place = malloc(((size_t)s->n + 1) * sizeof *place);
  int32_t *stack = malloc(((size_t)s->n + 1) * sizeof *stack);
  int64_t *unknown_of = malloc(((size_t)e->row_start[e->rows] + 1) * sizeof *unknown_of);
  s->block_first = malloc(((size_t)s->splits + 1) * sizeof *s->block_first);
  cvtm_status status = CVTM_OK;
  if (!place || !stack || !unknown_of || !s->block_first) status = no_memory(error);
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
    status = build_weights(s, e, unknown_of, error);
  }
  free(place);
  free(stack);
  free(unknown_of);
  return status;
}

/* A solver of the caller's writes all n components of every splitting. */
static cvtm_status build_for_solver(builder *s, const cvtm_csr *e, cvtm_error *error) {
  if (s->splits > (INT32_MAX - s->n) / (s->n > 0 ? s->n : 1)) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%lld splittings of %lld unknowns are too many",
                     (long long)s->splits, (long long)s->n);
  }
  s->unknowns = s->splits * s->n;
  int64_t *unknown_of = malloc(((size_t)e->row_start[e->rows] + 1) * sizeof *unknown_of);
  if (unknown_of == NULL) return no_memory(error);
  for (int64_t k = 0; k < s->splits; ++k) {
    for (int64_t t = e->row_start[k]; t < e->row_start[k + 1]; ++t) {
      unknown_of[t] = k * s->n + e->column[t];
    }
  }
  const cvtm_status status = build_weights(s, e, unknown_of, error);
  free(unknown_of);
  return status;
}

static cvtm_status build(builder *s, cvtm_error *error) {
  const cvtm_hlcp_multisplitting *given = s->options->multisplitting;
  if (given == NULL && s->options->weights == NULL) return build_even(s, error);
  if (given == NULL) return build_weighted(s, s->options->weights, error);
  cvtm_csr even = {0, 0, NULL, NULL, NULL};
  cvtm_status status = CVTM_OK;
  const cvtm_csr *e = given->weights;
  if (e == NULL) {
    status = even_weights(s->n, s->splits, &even, error);
    e = &even;
  }
  if (status == CVTM_OK) {
    status = given->m_a != NULL ? build_given(s, e, error) : build_for_solver(s, e, error);
  }
  cvtm_csr_free(&even);
  return status;
}

/* --- levels --------------------------------------------------------------------------- */

static int64_t first_of_block(const builder *s, int64_t k) {
  return s->block_first != NULL ? s->block_first[k] : cvtm_hlcp_block_start(s->n, s->splits, k);
}

typedef struct levels {
  int32_t *level; /* of an unknown within its block */
  int32_t *order;
  int64_t *level_first, *block_level;
  int64_t count, widest;
} levels;

/* The unknowns of a level depend only on levels before. */
static int32_t level_of(const builder *s, const int32_t *level, int64_t e) {
  int32_t highest = 0;
  for (int64_t t = s->lower.row_start[e]; t < s->lower.row_start[e + 1]; ++t) {
    const int64_t before = s->lower.column[t] - s->n;
    if (before >= 0 && level[before] >= highest) highest = level[before] + 1;
  }
  return highest;
}

/* A counting sort of one block by level; sums has room for one level more than the block's rows. */
static void order_block(levels *l, int64_t k, int64_t first, int64_t end, int64_t count) {
  int64_t *starts = l->level_first + l->count;
  memset(starts, 0, ((size_t)count + 1) * sizeof *starts);
  for (int64_t e = first; e < end; ++e) ++starts[l->level[e] + 1];
  for (int64_t t = 1; t <= count; ++t) {
    if (starts[t] > l->widest) l->widest = starts[t];
    starts[t] += starts[t - 1];
  }
  for (int64_t e = first; e < end; ++e) l->order[first + starts[l->level[e]]++] = (int32_t)e;
  for (int64_t t = count; t > 0; --t) starts[t] = first + starts[t - 1];
  starts[0] = first;
  l->block_level[k] = l->count;
  l->count += count;
}

static void levels_free(levels *l) {
  free(l->level);
  free(l->order);
  free(l->level_first);
  free(l->block_level);
}

static cvtm_status build_levels(const builder *s, levels *l, cvtm_error *error) {
  l->level = malloc(((size_t)s->unknowns + 1) * sizeof *l->level);
  l->order = malloc(((size_t)s->unknowns + 1) * sizeof *l->order);
  l->level_first = malloc(((size_t)s->unknowns + 2) * sizeof *l->level_first);
  l->block_level = malloc(((size_t)s->splits + 1) * sizeof *l->block_level);
  if (!l->level || !l->order || !l->level_first || !l->block_level) return no_memory(error);
  for (int64_t k = 0; k < s->splits; ++k) {
    const int64_t first = first_of_block(s, k), end = first_of_block(s, k + 1);
    int32_t highest = -1;
    for (int64_t e = first; e < end; ++e) {
      l->level[e] = level_of(s, l->level, e);
      if (l->level[e] > highest) highest = l->level[e];
    }
    order_block(l, k, first, end, highest + 1);
  }
  l->block_level[s->splits] = l->count;
  l->level_first[l->count] = s->unknowns;
  return CVTM_OK;
}

/* --- to the device -------------------------------------------------------------------- */

static cvtm_status upload(cvtm_device *device, const void *host, int64_t count, size_t size,
                          void **memory) {
  if (host == NULL) return CVTM_OK;
  const cvtm_status status = cvtm_device_allocate(device, count, size, memory);
  if (status != CVTM_OK) return status;
  return cvtm_device_copy_in(device, *memory, host, (size_t)count * size);
}

static int is_chained(const builder *s) {
  const int64_t entries = s->lower.row_start != NULL ? s->lower.row_start[s->lower.rows] : 0;
  for (int64_t t = 0; t < entries; ++t) {
    if (s->lower.column[t] >= s->n) return 1;
  }
  return 0;
}

static int64_t largest_block(const builder *s) {
  if (s->block_first == NULL) return first_of_block(s, 1); /* the first is the largest */
  int64_t largest = 0;
  for (int64_t k = 0; k < s->splits; ++k) {
    const int64_t size = s->block_first[k + 1] - s->block_first[k];
    if (size > largest) largest = size;
  }
  return largest;
}

static cvtm_status send(cvtm_device *device, const builder *s, const levels *l,
                        cvtm_hlcp_systems *systems) {
  systems->unknowns = s->unknowns;
  systems->blocks = s->splits;
  systems->widest = l->widest;
  cvtm_status status = CVTM_OK;
  if (s->lower.row_start != NULL) status = cvtm_sell_create(device, &s->lower, &systems->lower);
  if (status == CVTM_OK && s->weights.row_start != NULL) {
    status = cvtm_sell_create(device, &s->weights, &systems->weights);
  }
  if (status == CVTM_OK) {
    status = upload(device, s->block_first, s->splits + 1, sizeof(int64_t),
                    (void **)&systems->block_first);
  }
  if (status == CVTM_OK) {
    status = upload(device, s->row, s->unknowns, sizeof(int32_t), (void **)&systems->row);
  }
  if (status == CVTM_OK) {
    status = upload(device, s->scale, s->unknowns, sizeof(double), (void **)&systems->scale);
  }
  if (status == CVTM_OK) {
    status = upload(device, l->order, s->unknowns, sizeof(int32_t), (void **)&systems->order);
  }
  if (status == CVTM_OK) {
    status = upload(device, l->level_first, l->count + 1, sizeof(int64_t),
                    (void **)&systems->level_first);
  }
  if (status == CVTM_OK) {
    status = upload(device, l->block_level, s->splits + 1, sizeof(int64_t),
                    (void **)&systems->block_level);
  }
  return status;
}

cvtm_status cvtm_hlcp_systems_create(cvtm_device *device, const cvtm_csr *a, const cvtm_csr *b,
                                     const double *omega, const cvtm_hlcp_options *options,
                                     int64_t splits, int with_levels, cvtm_hlcp_systems *systems) {
  cvtm_error *error = cvtm_device_error(device);
  builder s;
  memset(&s, 0, sizeof s);
  s.a = a;
  s.b = b;
  s.omega = omega;
  s.options = options;
  s.n = a->rows;
  s.splits = splits;
  levels l;
  memset(&l, 0, sizeof l);
  memset(systems, 0, sizeof *systems);
  cvtm_status status = build(&s, error);
  if (status == CVTM_OK) {
    systems->chained = is_chained(&s);
    systems->largest = largest_block(&s);
    const int is_small = s.row == NULL && systems->largest <= CVTM_HLCP_SMALL_BLOCK;
    if (with_levels && systems->chained && !is_small) status = build_levels(&s, &l, error);
  }
  if (status == CVTM_OK) status = send(device, &s, &l, systems);
  levels_free(&l);
  builder_free(&s);
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

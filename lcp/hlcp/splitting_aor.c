/* The AOR family of multisplittings: the strictly lower parts of the blocks, times beta. */
#include "lcp/hlcp/splitting_builder.h"

#include <stdlib.h>
#include <string.h>

/* Row i of beta / M_ii times the strictly lower part of its block, written from entry `at` of csr
 * on (NULL: not written). place[j]: the unknown of row j in the block, or -1; NULL: the block has
 * the rows from `first` on and unknown j is row j. Returns the number of entries. */
static int64_t put_lower_row(const cvtm_hlcp_builder *s, int64_t i, int64_t first,
                             const int32_t *place, int64_t at, cvtm_csr *csr) {
  const cvtm_hlcp_options *o = s->options;
  const int a_only = o->split == CVTM_HLCP_SPLIT_A_ONLY;
  const double diagonal =
      cvtm_csr_entry(s->a, i, i) + (a_only ? o->alpha : 1) * cvtm_csr_entry(s->b, i, i);
  cvtm_hlcp_merge m = cvtm_hlcp_merge_row(s->a, s->b, i);
  int64_t count = 0;
  double a = 0, b = 0;
  for (int64_t j = cvtm_hlcp_merge_next(&m, &a, &b); j < i; j = cvtm_hlcp_merge_next(&m, &a, &b)) {
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

/* Blocks of the paper: unknown i is row i. */
cvtm_status cvtm_hlcp_build_even(cvtm_hlcp_builder *s, cvtm_error *error) {
  s->unknowns = s->n;
  cvtm_status status = cvtm_hlcp_check_unknowns(s, error);
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

/* Block k is the support of E_k. */
cvtm_status cvtm_hlcp_build_weighted(cvtm_hlcp_builder *s, const cvtm_csr *e, cvtm_error *error) {
  s->unknowns = e->row_start[e->rows];
  cvtm_status status = cvtm_hlcp_check_unknowns(s, error);
  if (status != CVTM_OK) return status;
  s->block_first = malloc(((size_t)s->splits + 1) * sizeof *s->block_first);
  s->row = malloc(((size_t)s->unknowns + 1) * sizeof *s->row);
  int32_t *place = malloc(((size_t)s->n + 1) * sizeof *place);
  int64_t *unknown_of = malloc(((size_t)s->unknowns + 1) * sizeof *unknown_of);
  if (!s->block_first || !s->row || !place || !unknown_of) status = cvtm_hlcp_no_memory(error);
  if (status == CVTM_OK) {
    memcpy(s->block_first, e->row_start, ((size_t)s->splits + 1) * sizeof *s->block_first);
    for (int64_t j = 0; j < s->n; ++j) place[j] = -1;
    for (int64_t t = 0; t < s->unknowns; ++t) {
      s->row[t] = e->column[t];
      unknown_of[t] = t;
    }
  }
  /* First pass: count; second pass: fill. */
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
  if (status == CVTM_OK) status = cvtm_hlcp_build_weights(s, e, unknown_of, error);
  free(place);
  free(unknown_of);
  return status;
}

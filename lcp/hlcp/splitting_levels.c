/* The level schedule of the triangular systems, for devices that solve a level in parallel. */
#include "lcp/hlcp/splitting_builder.h"

#include <stdlib.h>
#include <string.h>

/* The first level after those on which unknown e depends. */
static int32_t level_of(const cvtm_hlcp_builder *s, const int32_t *level, int64_t e) {
  int32_t highest = 0;
  for (int64_t t = s->lower.row_start[e]; t < s->lower.row_start[e + 1]; ++t) {
    const int64_t before = s->lower.column[t] - s->n;
    if (before >= 0 && level[before] >= highest) highest = level[before] + 1;
  }
  return highest;
}

/* Sorts the unknowns first .. end - 1 of block k by level: a counting sort with `count` levels. */
static void order_block(cvtm_hlcp_levels *l, int64_t k, int64_t first, int64_t end, int64_t count) {
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

void cvtm_hlcp_levels_free(cvtm_hlcp_levels *l) {
  free(l->level);
  free(l->order);
  free(l->level_first);
  free(l->block_level);
}

cvtm_status cvtm_hlcp_build_levels(const cvtm_hlcp_builder *s, cvtm_hlcp_levels *l,
                                   cvtm_error *error) {
  l->level = malloc(((size_t)s->unknowns + 1) * sizeof *l->level);
  l->order = malloc(((size_t)s->unknowns + 1) * sizeof *l->order);
  l->level_first = malloc(((size_t)s->unknowns + 2) * sizeof *l->level_first);
  l->block_level = malloc(((size_t)s->splits + 1) * sizeof *l->block_level);
  if (!l->level || !l->order || !l->level_first || !l->block_level)
    return cvtm_hlcp_no_memory(error);
  for (int64_t k = 0; k < s->splits; ++k) {
    const int64_t first = cvtm_hlcp_first_of_block(s, k), end = cvtm_hlcp_first_of_block(s, k + 1);
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

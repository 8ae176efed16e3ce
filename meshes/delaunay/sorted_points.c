/* Sorting of grid points: into columns by the upper bits of their keys, then within each column. */
#include "meshes/delaunay/sorted_points.h"

#include "base/large_pages.h"
#include "meshes/delaunay/star_tree.h"

#include <stdlib.h>
#include <string.h>

typedef struct keyed {
  uint64_t key; /* cvtm_star_code */
  int32_t index;
} keyed;

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };
enum { COLUMN_BITS = 11, COLUMNS = (1 << COLUMN_BITS) + 1 /* 2^30 has its own */, BLOCKS = 64 };
enum { WORTH_COLUMNS = 1 << 15, WORTH_DIGITS = 1 << 16 };

/* Stable radix sort. Returns the array of the two that holds the result. */
static keyed *sort_by_digits(keyed *from, keyed *to, int64_t count) {
  for (int shift = 0; shift < CVTM_STAR_KEY_BITS; shift += DIGIT_BITS) {
    int64_t start[DIGITS] = {0};
    for (int64_t i = 0; i < count; ++i) start[(from[i].key >> shift) % DIGITS]++;
    int64_t sum = 0;
    for (int d = 0; d < DIGITS; ++d) {
      const int64_t here = start[d];
      start[d] = sum;
      sum += here;
    }
    for (int64_t i = 0; i < count; ++i) to[start[(from[i].key >> shift) % DIGITS]++] = from[i];
    keyed *swap = from;
    from = to;
    to = swap;
  }
  return from;
}

static void sort_by_insertion(keyed *keys, int64_t count) {
  for (int64_t i = 1; i < count; ++i) {
    const keyed moving = keys[i];
    int64_t k = i;
    for (; k > 0 && keys[k - 1].key > moving.key; --k) keys[k] = keys[k - 1];
    keys[k] = moving;
  }
}

/* Stable, in place; with space for half of the points. */
static void sort_by_merging(keyed *keys, keyed *space, int64_t count) {
  if (count <= 16) {
    sort_by_insertion(keys, count);
    return;
  }
  const int64_t half = count / 2;
  sort_by_merging(keys, space, half);
  sort_by_merging(keys + half, space, count - half);
  memcpy(space, keys, (size_t)half * sizeof *keys);
  int64_t left = 0, right = half, at = 0;
  while (left < half && right < count)
    keys[at++] = space[left].key <= keys[right].key ? space[left++] : keys[right++];
  while (left < half) keys[at++] = space[left++];
}

static void sort_column(keyed *keys, keyed *space, int64_t count) {
  if (count < WORTH_DIGITS) {
    sort_by_merging(keys, space, count);
  } else if (sort_by_digits(keys, space, count) != keys) {
    memcpy(keys, space, (size_t)count * sizeof *keys);
  }
}

static inline int column_of(keyed k) {
  const uint64_t column = k.key >> (2 * CVTM_GRID_BITS - COLUMN_BITS);
  return column < COLUMNS ? (int)column : COLUMNS - 1;
}

/* Moves keys to their columns, block by block, so that points that share a place stay in order;
 * start[c] becomes where column c begins. `place` has room for BLOCKS * COLUMNS. */
static void spread_columns(const keyed *from, keyed *to, int64_t count, int64_t *place,
                           int64_t *start) {
  memset(place, 0, (size_t)BLOCKS * COLUMNS * sizeof *place);
#pragma omp parallel for schedule(static)
  for (int b = 0; b < BLOCKS; ++b) {
    for (int64_t i = count * b / BLOCKS; i < count * (b + 1) / BLOCKS; ++i)
      place[b * COLUMNS + column_of(from[i])]++;
  }
  int64_t sum = 0;
  for (int c = 0; c < COLUMNS; ++c) {
    start[c] = sum;
    for (int b = 0; b < BLOCKS; ++b) {
      const int64_t here = place[b * COLUMNS + c];
      place[b * COLUMNS + c] = sum;
      sum += here;
    }
  }
  start[COLUMNS] = sum;
#pragma omp parallel for schedule(static)
  for (int b = 0; b < BLOCKS; ++b) {
    for (int64_t i = count * b / BLOCKS; i < count * (b + 1) / BLOCKS; ++i)
      to[place[b * COLUMNS + column_of(from[i])]++] = from[i];
  }
}

/* Returns the array of the two that holds the result; NULL without memory. */
static keyed *sort_keys(keyed *keys, keyed *other, int64_t count) {
  if (count < WORTH_COLUMNS) {
    sort_column(keys, other, count);
    return keys;
  }
  int64_t *place = malloc(((size_t)BLOCKS * COLUMNS + COLUMNS + 1) * sizeof *place);
  if (place == NULL) return NULL;
  int64_t *start = place + (ptrdiff_t)BLOCKS * COLUMNS;
  spread_columns(keys, other, count, place, start);
#pragma omp parallel for schedule(dynamic, 16)
  for (int c = 0; c < COLUMNS; ++c)
    sort_column(other + start[c], keys + start[c], start[c + 1] - start[c]);
  free(place);
  return other;
}

void cvtm_sorted_points_free(cvtm_sorted_points *sorted) {
  free(sorted->place);
  free(sorted->vertex);
}

/* Is key k another than the one before? */
static int is_distinct(const keyed *order, int64_t k) {
  return k == 0 || order[k].key != order[k - 1].key;
}

static void keep_distinct(const keyed *order, int64_t count, cvtm_sorted_points *sorted) {
  int64_t at[BLOCKS + 1] = {0};
#pragma omp parallel for schedule(static) if (count >= WORTH_COLUMNS)
  for (int b = 0; b < BLOCKS; ++b)
    for (int64_t k = count * b / BLOCKS; k < count * (b + 1) / BLOCKS; ++k)
      at[b + 1] += is_distinct(order, k);
  for (int b = 0; b < BLOCKS; ++b) at[b + 1] += at[b];
  sorted->count = at[BLOCKS];
#pragma omp parallel for schedule(static) if (count >= WORTH_COLUMNS)
  for (int b = 0; b < BLOCKS; ++b) {
    int64_t to = at[b];
    for (int64_t k = count * b / BLOCKS; k < count * (b + 1) / BLOCKS; ++k) {
      if (!is_distinct(order, k)) continue;
      const uint64_t key = order[k].key;
      sorted->place[to] =
          (cvtm_grid_point){(int32_t)cvtm_star_collect(key), (int32_t)cvtm_star_collect(key >> 1)};
      sorted->vertex[to++] = order[k].index;
    }
  }
}

_Static_assert(2 * sizeof(keyed) == CVTM_SORT_SPACE, "keys twice");

cvtm_status cvtm_sort_distinct(const cvtm_grid_point *grid, int64_t count, void *space,
                               cvtm_sorted_points *sorted, cvtm_error *error) {
  keyed *keys = space, *other = keys + count;
  sorted->place = malloc((size_t)count * sizeof *sorted->place);
  sorted->vertex = malloc((size_t)count * sizeof *sorted->vertex);
  const keyed *order = NULL;
  if (sorted->place && sorted->vertex) {
    cvtm_prefer_large_pages(sorted->place, (size_t)count * sizeof *sorted->place);
    cvtm_prefer_large_pages(sorted->vertex, (size_t)count * sizeof *sorted->vertex);
#pragma omp parallel for schedule(static) if (count >= WORTH_COLUMNS)
    for (int64_t i = 0; i < count; ++i) {
      keys[i].key = cvtm_star_code((uint32_t)grid[i].x, (uint32_t)grid[i].y);
      keys[i].index = (int32_t)i;
    }
    order = sort_keys(keys, other, count);
  }
  if (order != NULL) {
    keep_distinct(order, count, sorted);
    return CVTM_OK;
  }
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory to triangulate %lld points",
                   (long long)count);
}

#include "cvt/equal_mass/hierarchy.h"

#include "base/host.h"

#include <stdlib.h>
#include <string.h>

/* Coarsening stops at a level of at most INVERTED rows, whose matrix is inverted, or if the next
 * level would have more than largest_share times the rows. A matrix of at most TINY rows is not
 * coarsened. */
enum { INVERTED = 192, TINY = 4 };
enum {
  MATCHED = 4096,       /* rows of a block; only rows of the same block are matched */
  WORTH_THREADS = 20000 /* rows */
};
static const double largest_share = 0.75;

/* A matrix of couplings on the host, without the diagonal. Row i has the entries start[i] .. end[i]
 * - 1; there may be gaps between rows. */
typedef struct host_rows {
  cvtm_scratch memory;
  int64_t count;
  int32_t *start, *end;
  int32_t *column;
  double *coupling;
  int threads; /* number of threads for loops over the rows */
} host_rows;

/* The arrays of all levels, one after the other. */
typedef struct packed {
  int32_t *index;
  double *value;
  int64_t indices, values, index_capacity, value_capacity;
} packed;

/* Allocates rows with `entries` entries. Returns 0 if memory runs out; the caller always frees. */
static int allocate_rows(host_rows *rows, int64_t count, int64_t entries, int threads) {
  rows->count = count;
  rows->threads = count < WORTH_THREADS ? 1 : threads;
  rows->start = cvtm_scratch_take(&rows->memory, (size_t)count, sizeof *rows->start);
  rows->end = cvtm_scratch_take(&rows->memory, (size_t)count, sizeof *rows->end);
  rows->column = cvtm_scratch_take(&rows->memory, (size_t)entries, sizeof *rows->column);
  rows->coupling = cvtm_scratch_take(&rows->memory, (size_t)entries, sizeof *rows->coupling);
  return !rows->memory.failed;
}

/* --- aggregates ------------------------------------------------------------------------------ */

/* Makes aggregates of the rows first .. last - 1, numbered from 0. A row is free as long as it has
 * no aggregate. Each free row is matched to the free row to which it is coupled most; if it is
 * coupled to no free row, it joins the aggregate of the row to which it is coupled most. Returns
 * the number of aggregates. */
static int32_t match_block(const host_rows *rows, int32_t first, int32_t last, int32_t *aggregate) {
  int32_t count = 0;
  for (int32_t i = first; i < last; ++i) aggregate[i] = -1;
  for (int32_t i = first; i < last; ++i) {
    if (aggregate[i] >= 0) continue;
    double most = 0, most_free = 0;
    int32_t strongest = -1, mate = -1;
    for (int32_t e = rows->start[i]; e < rows->end[i]; ++e) {
      const int32_t j = rows->column[e];
      if (j < first || j >= last) continue;
      if (rows->coupling[e] > most) {
        most = rows->coupling[e];
        strongest = j;
      }
      if (aggregate[j] < 0 && rows->coupling[e] > most_free) {
        most_free = rows->coupling[e];
        mate = j;
      }
    }
    if (mate < 0 && strongest >= 0) {
      aggregate[i] = aggregate[strongest];
      continue;
    }
    aggregate[i] = count;
    if (mate >= 0) aggregate[mate] = count;
    ++count;
  }
  return count;
}

/* Sets the aggregate of each row. Rows of different blocks are not matched, so that threads can
 * take blocks. before[b]: the number of aggregates before block b. Returns the number of all
 * aggregates. */
static int32_t match_pairs(const host_rows *rows, int32_t *aggregate, int32_t *before) {
  const int32_t n = (int32_t)rows->count, blocks = (n + MATCHED - 1) / MATCHED;
  int32_t count = 0;
#pragma omp parallel for num_threads(rows->threads) schedule(dynamic, 1)
  for (int32_t b = 0; b < blocks; ++b) {
    const int32_t first = b * MATCHED, last = n - first < MATCHED ? n : first + MATCHED;
    before[b] = match_block(rows, first, last, aggregate);
  }
  for (int32_t b = 0; b < blocks; ++b) {
    const int32_t own = before[b];
    before[b] = count;
    count += own;
  }
#pragma omp parallel for num_threads(rows->threads) schedule(static)
  for (int32_t i = 0; i < n; ++i) aggregate[i] += before[i / MATCHED];
  return count;
}

/* Lists the rows of each aggregate k as child[first[k]] .. child[first[k + 1] - 1]. `first` has
 * count + 1 entries. */
static void list_children(const int32_t *aggregate, int64_t rows, int64_t count, int32_t *first,
                          int32_t *child) {
  memset(first, 0, ((size_t)count + 1) * sizeof *first);
  for (int64_t i = 0; i < rows; ++i) ++first[aggregate[i] + 1];
  for (int64_t k = 0; k < count; ++k) first[k + 1] += first[k];
  for (int64_t i = 0; i < rows; ++i) child[first[aggregate[i]]++] = (int32_t)i;
  for (int64_t k = count; k > 0; --k) first[k] = first[k - 1];
  first[0] = 0;
}

/* Adds fine row i to the row of its aggregate; skips the couplings inside the aggregate. */
static void add_row(const host_rows *fine, int32_t i, const int32_t *aggregate, host_rows *coarse) {
  const int32_t own = aggregate[i], start = coarse->start[own];
  for (int32_t e = fine->start[i]; e < fine->end[i]; ++e) {
    const int32_t target = aggregate[fine->column[e]];
    if (target == own) continue;
    int32_t at = start;
    while (at < coarse->end[own] && coarse->column[at] != target) ++at;
    if (at == coarse->end[own]) {
      ++coarse->end[own];
      coarse->column[at] = target;
      coarse->coupling[at] = 0;
    }
    coarse->coupling[at] += fine->coupling[e];
  }
}

/* Sums the couplings between aggregates. The row of an aggregate has memory for the entries of all
 * its fine rows. Returns 0 if memory runs out. */
static int sum_couplings(const host_rows *fine, const int32_t *aggregate, int32_t count,
                         const int32_t *first, const int32_t *child, host_rows *coarse) {
  int32_t entries = 0;
  for (int64_t i = 0; i < fine->count; ++i) entries += fine->end[i] - fine->start[i];
  if (!allocate_rows(coarse, count, entries, fine->threads)) return 0;
  entries = 0;
  for (int32_t k = 0; k < count; ++k) {
    coarse->start[k] = coarse->end[k] = entries;
    for (int32_t c = first[k]; c < first[k + 1]; ++c)
      entries += fine->end[child[c]] - fine->start[child[c]];
  }
#pragma omp parallel for num_threads(fine->threads) schedule(static)
  for (int32_t k = 0; k < count; ++k)
    for (int32_t c = first[k]; c < first[k + 1]; ++c) add_row(fine, child[c], aggregate, coarse);
  return 1;
}

/* Makes one matching. *coarse: the couplings of its aggregates. first, child: scratch for
 * list_children. Returns 0 if memory runs out. */
static int halve(const host_rows *fine, int32_t *aggregate, int32_t *first, int32_t *child,
                 host_rows *coarse) {
  const int32_t count = match_pairs(fine, aggregate, first);
  list_children(aggregate, fine->count, count, first, child);
  return sum_couplings(fine, aggregate, count, first, child, coarse);
}

/* Makes two matchings, one after the other; aggregate, first and child describe their composition.
 * Returns 0 if memory runs out. */
static int coarsen_by_matchings(const host_rows *fine, int32_t *aggregate, int32_t *first,
                                int32_t *child, host_rows *coarse) {
  host_rows half = {0};
  int32_t *second = malloc(((size_t)fine->count + 1) * sizeof *second);
  const int good = second && halve(fine, aggregate, first, child, &half) &&
                   halve(&half, second, first, child, coarse);
  for (int64_t i = 0; good && i < fine->count; ++i) aggregate[i] = second[aggregate[i]];
  if (good) list_children(aggregate, fine->count, coarse->count, first, child);
  free(second);
  cvtm_scratch_free(&half.memory);
  return good;
}

/* --- packing ---------------------------------------------------------------------------------- */

/* Appends `count` numbers; returns the address of the first, or NULL if memory runs out. */
static int32_t *add_indices(packed *all, int64_t count) {
  if (!cvtm_grow(&all->index, sizeof *all->index, &all->index_capacity, all->indices + count))
    return NULL;
  all->indices += count;
  return all->index + all->indices - count;
}

static double *add_values(packed *all, int64_t count) {
  if (!cvtm_grow(&all->value, sizeof *all->value, &all->value_capacity, all->values + count))
    return NULL;
  all->values += count;
  return all->value + all->values - count;
}

static int pack_indices(packed *all, const int32_t *from, int64_t count) {
  int32_t *to = add_indices(all, count);
  if (to) memcpy(to, from, (size_t)count * sizeof *from);
  return to != NULL;
}

/* Appends a level to the packed arrays: its matrix, without gaps between rows, then its vectors,
 * set to 0. Returns the number of entries of the matrix, or -1 if memory runs out. */
static int64_t pack_rows(packed *all, const host_rows *rows) {
  const int64_t n = rows->count;
  int32_t *first = add_indices(all, 2 * n), entries = 0;
  if (!first) return -1;
  for (int64_t i = 0; i < n; ++i) {
    first[i] = entries;
    first[n + i] = rows->end[i] - rows->start[i];
    entries += first[n + i];
  }
  int32_t *column = add_indices(all, entries);
  double *coupling = add_values(all, entries + 4 * n);
  if (!column || !coupling) return -1;
  first = column - 2 * n; /* the array may have moved */
  double *diagonal = coupling + entries;
#pragma omp parallel for num_threads(rows->threads) schedule(static)
  for (int64_t i = 0; i < n; ++i) {
    const int32_t *from = rows->column + rows->start[i];
    const double *of = rows->coupling + rows->start[i];
    double sum = 0;
    for (int32_t e = 0; e < first[n + i]; ++e) {
      column[first[i] + e] = from[e];
      coupling[first[i] + e] = of[e];
      sum += of[e];
    }
    diagonal[i] = sum;
    diagonal[n + i] = diagonal[2 * n + i] = diagonal[3 * n + i] = 0;
  }
  return entries;
}

/* Replaces a symmetric, positive definite matrix by its inverse, by Gauss-Jordan elimination. A row
 * whose pivot is a rounding error becomes 0. */
static void invert(double *a, int32_t n) {
  double smallest[INVERTED];
  for (int32_t k = 0; k < n; ++k) smallest[k] = 1e-14 * a[k * n + k];
  for (int32_t k = 0; k < n; ++k) {
    double *row = a + k * n;
    const double factor = row[k] > smallest[k] ? 1 / row[k] : 0;
    row[k] = factor > 0;
    for (int32_t j = 0; j < n; ++j) row[j] *= factor;
    for (int32_t i = 0; i < n; ++i) {
      const double of = a[i * n + k];
      if (i == k) continue;
      a[i * n + k] = 0;
      for (int32_t j = 0; j < n; ++j) a[i * n + j] -= of * row[j];
    }
  }
}

/* Packs the inverse of the coarsest matrix, which is first made regular such that right sides of
 * mean 0 give solutions of mean 0. Returns 0 if memory runs out. */
static int pack_inverse(packed *all, const host_rows *rows) {
  const int32_t n = (int32_t)rows->count;
  double *a = add_values(all, (int64_t)n * n), trace = 0;
  if (!a) return 0;
  for (int32_t e = 0; e < n * n; ++e) a[e] = 0;
  for (int32_t i = 0; i < n; ++i)
    for (int32_t e = rows->start[i]; e < rows->end[i]; ++e) {
      a[i * n + rows->column[e]] -= rows->coupling[e];
      a[i * n + i] += rows->coupling[e];
      trace += rows->coupling[e];
    }
  for (int32_t e = 0; e < n * n; ++e) a[e] += trace / ((double)n * n);
  invert(a, n);
  return 1;
}

/* --- the levels ------------------------------------------------------------------------------- */

/* The sizes of the levels, and their arrays on the host; pointers are set last. */
typedef struct plan {
  int32_t levels;
  int64_t count[CVTM_POWER_LEVELS], entries[CVTM_POWER_LEVELS];
  packed all;
  int inverted; /* nonzero: the coarsest level has an inverse */
} plan;

/* Replaces *rows by the next coarser level, and packs that level. row_of: the caller's number of
 * each row of the finest level, whose rows are sorted by slot. Returns 1 after the last level, 0 if
 * there may be more levels, and -1 if memory runs out. */
static int add_level(plan *made, host_rows *rows, const int32_t *row_of) {
  const size_t n = (size_t)rows->count + 1;
  int32_t *aggregate = malloc(3 * n * sizeof *aggregate);
  host_rows coarse = {0};
  int32_t *first = aggregate + n, *child = first + n;
  int state = -1;
  if (aggregate && coarsen_by_matchings(rows, aggregate, first, child, &coarse)) {
    state = (double)coarse.count > largest_share * (double)rows->count;
    if (!state) {
      for (int64_t k = 0; made->levels == 1 && k < rows->count; ++k) child[k] = row_of[child[k]];
      const int64_t entries = pack_indices(&made->all, first, coarse.count + 1) &&
                                      pack_indices(&made->all, child, rows->count)
                                  ? pack_rows(&made->all, &coarse)
                                  : -1;
      if (entries < 0) state = -1;
      made->count[made->levels] = coarse.count;
      made->entries[made->levels++] = entries;
    }
  }
  free(aggregate);
  if (state != 0) {
    cvtm_scratch_free(&coarse.memory);
    return state;
  }
  cvtm_scratch_free(&rows->memory);
  *rows = coarse;
  return made->levels == CVTM_POWER_LEVELS || rows->count <= INVERTED;
}

/* A copy on the host of the finest level's matrix. */
typedef struct device_rows {
  cvtm_scratch memory;
  int32_t *slot, *first, *degree, *neighbor;
  double *coupling;
} device_rows;

/* Copies the matrix to the host; the caller frees the copy, also on failure. *entries: number of
 * entries. */
static cvtm_status copy_rows(cvtm_device *device, const cvtm_power_matrix *a, const int32_t *order,
                             device_rows *d, int64_t *entries) {
  const size_t n = (size_t)a->count;
  int64_t end = 0;
  d->slot = cvtm_scratch_take(&d->memory, n, sizeof *d->slot);
  d->first = cvtm_scratch_take(&d->memory, n, sizeof *d->first);
  d->degree = cvtm_scratch_take(&d->memory, n, sizeof *d->degree);
  if (d->memory.failed) return CVTM_ERROR_MEMORY;
  cvtm_status status = cvtm_device_copy_out(device, d->slot, order, n * sizeof *d->slot);
  if (!status) status = cvtm_device_copy_out(device, d->first, a->first, n * sizeof *d->first);
  if (!status) status = cvtm_device_copy_out(device, d->degree, a->degree, n * sizeof *d->degree);
  *entries = 0;
  for (size_t i = 0; !status && i < n; ++i) {
    if (d->degree[i] > 0 && d->first[i] + d->degree[i] > end) end = d->first[i] + d->degree[i];
    *entries += d->degree[i];
  }
  if (status) return status;
  d->neighbor = cvtm_scratch_take(&d->memory, (size_t)end, sizeof *d->neighbor);
  d->coupling = cvtm_scratch_take(&d->memory, (size_t)end, sizeof *d->coupling);
  if (d->memory.failed) return CVTM_ERROR_MEMORY;
  status = cvtm_device_copy_out(device, d->neighbor, a->neighbor, (size_t)end * sizeof(int32_t));
  if (!status)
    status = cvtm_device_copy_out(device, d->coupling, a->coupling, (size_t)end * sizeof(double));
  return status;
}

/* Reads the finest level's rows in the order of their slots. */
static cvtm_status read_rows(cvtm_device *device, const cvtm_power_matrix *a, const int32_t *order,
                             int32_t *row_of, host_rows *rows) {
  device_rows d = {0};
  int64_t entries = 0;
  int32_t start = 0;
  cvtm_status status = copy_rows(device, a, order, &d, &entries);
  if (!status && !allocate_rows(rows, a->count, entries, cvtm_device_threads(device)))
    status = CVTM_ERROR_MEMORY;
  for (int64_t i = 0; !status && i < a->count; ++i) row_of[d.slot[i]] = (int32_t)i;
  for (int64_t p = 0; !status && p < a->count; ++p) {
    rows->start[p] = start;
    start += d.degree[row_of[p]];
  }
  const int64_t count = status ? 0 : a->count;
#pragma omp parallel for num_threads(count > 0 ? rows->threads : 1) schedule(static)
  for (int64_t p = 0; p < count; ++p) {
    const int32_t i = row_of[p];
    int32_t k = rows->start[p];
    for (int32_t e = d.first[i]; e < d.first[i] + d.degree[i]; ++e) {
      if (d.neighbor[e] == i || !(d.coupling[e] > 0)) continue;
      rows->column[k] = d.slot[d.neighbor[e]];
      rows->coupling[k++] = d.coupling[e];
    }
    rows->end[p] = k;
  }
  cvtm_scratch_free(&d.memory);
  return status;
}

static const int32_t *take_indices(const int32_t **at, int64_t count) {
  const int32_t *taken = *at;
  *at += count;
  return taken;
}

static double *take_values(double **at, int64_t count) {
  double *taken = *at;
  *at += count;
  return taken;
}

/* Sets the pointers of the levels into the packed arrays, in the order of add_level. */
static void point_levels(const plan *made, const cvtm_power_level *finest,
                         cvtm_power_hierarchy *h) {
  const int32_t *index = h->indices;
  double *value = h->values;
  h->level[0] = *finest;
  for (int32_t l = 1; l < made->levels; ++l) {
    cvtm_power_level *level = &h->level[l];
    const int64_t fine = h->level[l - 1].matrix.count, n = made->count[l];
    level->child_first = take_indices(&index, n + 1);
    level->child = take_indices(&index, fine);
    level->matrix.count = n;
    level->matrix.first = take_indices(&index, n);
    level->matrix.degree = take_indices(&index, n);
    level->matrix.neighbor = take_indices(&index, made->entries[l]);
    level->matrix.coupling = take_values(&value, made->entries[l]);
    level->matrix.diagonal = take_values(&value, n);
    level->right = take_values(&value, n);
    level->correction = take_values(&value, n);
    level->scratch = take_values(&value, n);
  }
  h->levels = made->levels;
  h->inverse = made->inverted ? value : NULL;
}

/* Reserves a quarter more than needed, so that the memory suffices for similar hierarchies. */
static cvtm_status reserve_array(cvtm_device *device, void *memory, size_t size, int64_t needed,
                                 int64_t *capacity) {
  void **pointer = memory;
  if (needed <= *capacity) return CVTM_OK;
  cvtm_device_free(device, *pointer);
  *pointer = NULL;
  *capacity = 0;
  CVTM_TRY(cvtm_device_allocate(device, needed + needed / 4, size, pointer));
  *capacity = needed + needed / 4;
  return CVTM_OK;
}

static cvtm_status upload_levels(cvtm_device *device, const packed *all, cvtm_power_hierarchy *h) {
  cvtm_status status =
      reserve_array(device, &h->indices, sizeof *h->indices, all->indices, &h->index_capacity);
  if (status == CVTM_OK)
    status = reserve_array(device, &h->values, sizeof *h->values, all->values, &h->value_capacity);
  if (status == CVTM_OK && all->indices > 0)
    status = cvtm_device_copy_in(device, h->indices, all->index,
                                 (size_t)all->indices * sizeof *all->index);
  if (status == CVTM_OK && all->values > 0)
    status = cvtm_device_copy_in(device, h->values, all->value,
                                 (size_t)all->values * sizeof *all->value);
  return status;
}

cvtm_status cvtm_power_hierarchy_build(cvtm_device *device, const cvtm_power_level *finest,
                                       const int32_t *order, cvtm_power_hierarchy *h) {
  plan made = {.levels = 1, .count = {finest->matrix.count}};
  host_rows rows = {0};
  int32_t *row_of = malloc(((size_t)finest->matrix.count + 1) * sizeof *row_of);
  h->levels = 0;
  cvtm_status status =
      row_of ? read_rows(device, &finest->matrix, order, row_of, &rows) : CVTM_ERROR_MEMORY;
  int last = rows.count <= TINY;
  while (status == CVTM_OK && !last) {
    last = add_level(&made, &rows, row_of);
    if (last < 0) status = CVTM_ERROR_MEMORY;
  }
  made.inverted = made.levels > 1 && rows.count <= INVERTED;
  if (status == CVTM_OK && made.inverted && !pack_inverse(&made.all, &rows))
    status = CVTM_ERROR_MEMORY;
  if (status == CVTM_ERROR_MEMORY)
    status = cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "no memory for a hierarchy");
  if (status == CVTM_OK) status = upload_levels(device, &made.all, h);
  if (status == CVTM_OK) point_levels(&made, finest, h);
  free(row_of);
  cvtm_scratch_free(&rows.memory);
  free(made.all.index);
  free(made.all.value);
  return status;
}

void cvtm_power_hierarchy_release(cvtm_device *device, cvtm_power_hierarchy *h) {
  cvtm_device_free(device, h->indices);
  cvtm_device_free(device, h->values);
  h->indices = NULL;
  h->values = NULL;
  h->levels = 0;
  h->index_capacity = h->value_capacity = 0;
}

#include "power/hierarchy.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

/* Levels are made until one has so few rows, or a level keeps more than this part of its rows. */
enum { COARSEST = 4 };
static const double slowest = 0.75;

/* A matrix of couplings on the host, without the diagonal. */
typedef struct host_rows {
  int64_t count;
  int32_t *start; /* count + 1 */
  int32_t *column;
  double *coupling;
} host_rows;

/* All indices and values of the levels, one array after the other. */
typedef struct packed {
  int32_t *index;
  double *value;
  int64_t indices, values, index_capacity, value_capacity;
} packed;

static void free_rows(host_rows *rows) {
  free(rows->start);
  free(rows->column);
  free(rows->coupling);
  *rows = (host_rows){0};
}

/* Returns 0 if there is no memory; the caller frees. */
static int allocate_rows(host_rows *rows, int64_t count, int64_t entries) {
  rows->count = count;
  rows->start = malloc(((size_t)count + 1) * sizeof *rows->start);
  rows->column = malloc(((size_t)entries + 1) * sizeof *rows->column);
  rows->coupling = malloc(((size_t)entries + 1) * sizeof *rows->coupling);
  return rows->start && rows->column && rows->coupling;
}

/* --- aggregates ------------------------------------------------------------------------------ */

/* The aggregate of each row: each free row is matched to the free row to which it is coupled most,
 * or joins the aggregate of its strongest coupling. Returns their number. */
static int64_t match_pairs(const host_rows *rows, int32_t *aggregate) {
  int64_t count = 0;
  memset(aggregate, 0xFF, (size_t)rows->count * sizeof *aggregate);
  for (int64_t i = 0; i < rows->count; ++i) {
    if (aggregate[i] >= 0) continue;
    double most = 0, most_free = 0;
    int32_t strongest = -1, mate = -1;
    for (int32_t e = rows->start[i]; e < rows->start[i + 1]; ++e) {
      const int32_t j = rows->column[e];
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
    aggregate[i] = (int32_t)count;
    if (mate >= 0) aggregate[mate] = (int32_t)count;
    ++count;
  }
  return count;
}

/* Lists the rows of each aggregate; first: count + 1. */
static void list_children(const int32_t *aggregate, int64_t rows, int64_t count, int32_t *first,
                          int32_t *child) {
  memset(first, 0, ((size_t)count + 1) * sizeof *first);
  for (int64_t i = 0; i < rows; ++i) ++first[aggregate[i] + 1];
  for (int64_t k = 0; k < count; ++k) first[k + 1] += first[k];
  for (int64_t i = 0; i < rows; ++i) child[first[aggregate[i]]++] = (int32_t)i;
  for (int64_t k = count; k > 0; --k) first[k] = first[k - 1];
  first[0] = 0;
}

/* Adds a row's couplings to other aggregates to the entries from `start` on; returns the end. */
static int32_t add_row(const host_rows *fine, int64_t i, const int32_t *aggregate, int32_t start,
                       int32_t end, int32_t *entry_of, host_rows *coarse) {
  for (int32_t e = fine->start[i]; e < fine->start[i + 1]; ++e) {
    const int32_t target = aggregate[fine->column[e]];
    if (target == aggregate[i]) continue;
    if (entry_of[target] < start) {
      entry_of[target] = end;
      coarse->column[end] = target;
      coarse->coupling[end++] = 0;
    }
    coarse->coupling[entry_of[target]] += fine->coupling[e];
  }
  return end;
}

/* The couplings between the aggregates; returns 0 if there is no memory. */
static int sum_couplings(const host_rows *fine, const int32_t *aggregate, int64_t count,
                         const int32_t *first, const int32_t *child, host_rows *coarse) {
  int32_t *entry_of = malloc(((size_t)count + 1) * sizeof *entry_of);
  if (!entry_of || !allocate_rows(coarse, count, fine->start[fine->count])) {
    free(entry_of);
    return 0;
  }
  memset(entry_of, 0xFF, (size_t)count * sizeof *entry_of);
  coarse->start[0] = 0;
  for (int64_t k = 0; k < count; ++k) {
    int32_t end = coarse->start[k];
    for (int32_t c = first[k]; c < first[k + 1]; ++c)
      end = add_row(fine, child[c], aggregate, coarse->start[k], end, entry_of, coarse);
    coarse->start[k + 1] = end;
  }
  free(entry_of);
  return 1;
}

/* One matching: the aggregates' couplings in *coarse. first, child: scratch for list_children.
 * Returns 0 if there is no memory. */
static int halve(const host_rows *fine, int32_t *aggregate, int32_t *first, int32_t *child,
                 host_rows *coarse) {
  const int64_t count = match_pairs(fine, aggregate);
  list_children(aggregate, fine->count, count, first, child);
  return sum_couplings(fine, aggregate, count, first, child, coarse);
}

/* Two matchings, one after the other: aggregate, first and child are those of both together. */
static int coarsen_by_matchings(const host_rows *fine, int32_t *aggregate, int32_t *first,
                                int32_t *child, host_rows *coarse) {
  host_rows half = {0};
  int32_t *second = malloc(((size_t)fine->count + 1) * sizeof *second);
  const int good = second && halve(fine, aggregate, first, child, &half) &&
                   halve(&half, second, first, child, coarse);
  for (int64_t i = 0; good && i < fine->count; ++i) aggregate[i] = second[aggregate[i]];
  if (good) list_children(aggregate, fine->count, coarse->count, first, child);
  free(second);
  free_rows(&half);
  return good;
}

/* --- packing -----------------------------------------------------------------------------------
 */

static int add_indices(packed *all, const int32_t *from, int64_t count) {
  if (!cvtm_grow(&all->index, sizeof *all->index, &all->index_capacity, all->indices + count))
    return 0;
  memcpy(all->index + all->indices, from, (size_t)count * sizeof *from);
  all->indices += count;
  return 1;
}

/* from: NULL for zeros. */
static int add_values(packed *all, const double *from, int64_t count) {
  if (!cvtm_grow(&all->value, sizeof *all->value, &all->value_capacity, all->values + count))
    return 0;
  if (from) {
    memcpy(all->value + all->values, from, (size_t)count * sizeof *from);
  } else {
    memset(all->value + all->values, 0, (size_t)count * sizeof *all->value);
  }
  all->values += count;
  return 1;
}

/* Adds a level's matrix and its unknowns. scratch: `rows->count` numbers of each kind. */
static int pack_rows(packed *all, const host_rows *rows, int32_t *degree, double *diagonal) {
  const int64_t n = rows->count, entries = rows->start[n];
  for (int64_t i = 0; i < n; ++i) {
    degree[i] = rows->start[i + 1] - rows->start[i];
    diagonal[i] = 0;
    for (int32_t e = rows->start[i]; e < rows->start[i + 1]; ++e) diagonal[i] += rows->coupling[e];
  }
  return add_indices(all, rows->start, n) && add_indices(all, degree, n) &&
         add_indices(all, rows->column, entries) && add_values(all, rows->coupling, entries) &&
         add_values(all, diagonal, n) && add_values(all, NULL, 3 * n);
}

/* --- the levels ----------------------------------------------------------------------------------
 */

/* Sizes of the levels on the host; pointers are set when all are known. */
typedef struct plan {
  int32_t levels;
  int64_t count[CVTM_POWER_LEVELS], entries[CVTM_POWER_LEVELS];
  packed all;
} plan;

/* Makes and packs one coarser level of *rows, which it replaces. The rows of the finest level are
 * numbered by place; row_of tells which of the caller's they are. Returns 1 if that is the last
 * one, 0 if there may be more, and -1 if there is no memory. */
static int add_level(plan *made, host_rows *rows, const int32_t *row_of) {
  const size_t n = (size_t)rows->count + 1;
  int32_t *aggregate = malloc(4 * n * sizeof *aggregate);
  double *diagonal = malloc(n * sizeof *diagonal);
  host_rows coarse = {0};
  int32_t *first = aggregate + n, *child = first + n, *scratch = child + n;
  int state = -1;
  if (aggregate && diagonal && coarsen_by_matchings(rows, aggregate, first, child, &coarse)) {
    state = (double)coarse.count > slowest * (double)rows->count;
    if (!state) {
      for (int64_t k = 0; made->levels == 1 && k < rows->count; ++k) child[k] = row_of[child[k]];
      if (!add_indices(&made->all, first, coarse.count + 1) ||
          !add_indices(&made->all, child, rows->count) ||
          !pack_rows(&made->all, &coarse, scratch, diagonal))
        state = -1;
      made->count[made->levels] = coarse.count;
      made->entries[made->levels++] = coarse.start[coarse.count];
    }
  }
  free(aggregate);
  free(diagonal);
  if (state != 0) {
    free_rows(&coarse);
    return state;
  }
  free_rows(rows);
  *rows = coarse;
  return made->levels == CVTM_POWER_LEVELS || rows->count <= COARSEST;
}

/* Reads the finest level's rows in the order of their places; returns a status, as the copies can
 * fail. */
static cvtm_status read_rows(cvtm_device *device, const cvtm_power_matrix *a, const int32_t *order,
                             int32_t *row_of, host_rows *rows) {
  const size_t n = (size_t)a->count;
  int32_t *place = malloc(3 * (n + 1) * sizeof *place), *first = NULL, *degree = NULL;
  int32_t *neighbor = NULL;
  double *coupling = NULL;
  int64_t end = 0, entries = 0;
  cvtm_status status = place ? CVTM_OK : CVTM_ERROR_MEMORY;
  if (place) first = place + n, degree = first + n;
  if (!status) status = cvtm_device_copy_out(device, place, order, n * sizeof *place);
  if (!status) status = cvtm_device_copy_out(device, first, a->first, n * sizeof *first);
  if (!status) status = cvtm_device_copy_out(device, degree, a->degree, n * sizeof *degree);
  for (size_t i = 0; !status && i < n; ++i) {
    row_of[place[i]] = (int32_t)i;
    if (degree[i] > 0 && first[i] + degree[i] > end) end = first[i] + degree[i];
    entries += degree[i];
  }
  if (!status) {
    neighbor = malloc(((size_t)end + 1) * sizeof *neighbor);
    coupling = malloc(((size_t)end + 1) * sizeof *coupling);
    if (!neighbor || !coupling || !allocate_rows(rows, a->count, entries))
      status = CVTM_ERROR_MEMORY;
  }
  if (!status)
    status = cvtm_device_copy_out(device, neighbor, a->neighbor, (size_t)end * sizeof *neighbor);
  if (!status)
    status = cvtm_device_copy_out(device, coupling, a->coupling, (size_t)end * sizeof *coupling);
  for (int64_t p = 0, k = 0; !status && p <= a->count; ++p) {
    rows->start[p] = (int32_t)k;
    if (p == a->count) break;
    const int32_t i = row_of[p];
    for (int32_t e = first[i]; e < first[i] + degree[i]; ++e) {
      if (neighbor[e] == i || !(coupling[e] > 0)) continue;
      rows->column[k] = place[neighbor[e]];
      rows->coupling[k++] = coupling[e];
    }
  }
  free(place);
  free(neighbor);
  free(coupling);
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

/* Lets the levels point into the packed arrays, in the order in which add_level packs them. */
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
}

/* Memory with a quarter to spare, so that similar hierarchies need no other. */
static cvtm_status reserve_array(cvtm_device *device, void *memory, size_t size, int64_t needed,
                                 int64_t *capacity) {
  void **pointer = memory;
  if (needed <= *capacity) return CVTM_OK;
  const cvtm_array array = {pointer, needed + needed / 4, size};
  cvtm_device_free_all(device, &array, 1);
  *capacity = 0;
  const cvtm_status status = cvtm_device_allocate_all(device, &array, 1);
  if (status == CVTM_OK) *capacity = array.count;
  return status;
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
  int last = rows.count <= COARSEST;
  while (status == CVTM_OK && !last) {
    last = add_level(&made, &rows, row_of);
    if (last < 0) status = CVTM_ERROR_MEMORY;
  }
  if (status == CVTM_ERROR_MEMORY)
    status = cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "no memory for a hierarchy");
  if (status == CVTM_OK) status = upload_levels(device, &made.all, h);
  if (status == CVTM_OK) point_levels(&made, finest, h);
  free(row_of);
  free_rows(&rows);
  free(made.all.index);
  free(made.all.value);
  return status;
}

void cvtm_power_hierarchy_release(cvtm_device *device, cvtm_power_hierarchy *h) {
  const cvtm_array arrays[] = {CVTM_ARRAY(h->indices, h->index_capacity),
                               CVTM_ARRAY(h->values, h->value_capacity)};
  cvtm_device_free_all(device, arrays, sizeof arrays / sizeof arrays[0]);
  h->levels = 0;
  h->index_capacity = h->value_capacity = 0;
}

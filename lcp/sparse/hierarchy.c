#include "lcp/sparse/hierarchy.h"

#include "base/select.h"
#include "lcp/sparse/coarsening.h"
#include "lcp/colouring.h"
#include "lcp/sparse/csr.h"

#include <stdlib.h>
#include <string.h>

enum { COARSEST_ROWS = 9, COARSEST_SWEEPS = 12 };

/* --- setup: one level after the other in host memory ------------------------------------- */

/* A level in host memory, in the user's order. */
typedef struct host_level {
  cvtm_csr matrix; /* borrowed on level 0 */
  int64_t width, height;
  int32_t *order; /* the rows sorted by colour */
  int32_t *place; /* the inverse permutation */
  int32_t *device_order,
      *device_place; /* the same in device memory; the hierarchy owns device_place */
  int64_t *colour_start;
  int64_t colours;
} host_level;

static void host_level_free(cvtm_device *device, host_level *d, int is_borrowed) {
  if (!is_borrowed) cvtm_csr_free(&d->matrix);
  cvtm_device_free(device, d->device_order);
  free(d->order);
  free(d->place);
  free(d->colour_start);
  memset(d, 0, sizeof *d);
}

/* Red-black on a grid of five-point rows, four colours for nine points, else a general colouring.
 */
static cvtm_status choose_colours(cvtm_device *device, const host_level *d,
                                  cvtm_colouring *colouring) {
  for (int32_t colours = 2; colours <= 4 && d->width > 0; colours += 2) {
    cvtm_error unfit;
    const int threads = cvtm_device_threads(device);
    const cvtm_status status = cvtm_colouring_create_grid(d->width, d->height, colours, threads,
                                                          colouring, cvtm_device_error(device));
    if (status != CVTM_OK) return status;
    if (cvtm_colouring_check(&d->matrix, colouring, threads, &unfit) == CVTM_OK) return CVTM_OK;
    cvtm_colouring_free(colouring);
  }
  return cvtm_colouring_create(device, &d->matrix, colouring);
}

static cvtm_status sort_by_colour(cvtm_device *device, host_level *d) {
  cvtm_colouring colouring;
  const cvtm_status status = choose_colours(device, d, &colouring);
  if (status != CVTM_OK) return status;
  const size_t rows = (size_t)d->matrix.rows;
  d->colours = colouring.count;
  d->order = malloc((rows + 1) * sizeof *d->order);
  d->place = malloc((rows + 1) * sizeof *d->place);
  d->colour_start = malloc(((size_t)colouring.count + 1) * sizeof *d->colour_start);
  if (d->order == NULL || d->place == NULL || d->colour_start == NULL) {
    cvtm_colouring_free(&colouring);
    return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "no memory for an order");
  }
  cvtm_colouring_sort(&colouring, d->order, d->colour_start);
  for (int64_t k = 0; k < d->matrix.rows; ++k) d->place[d->order[k]] = (int32_t)k;
  cvtm_colouring_free(&colouring);
  return CVTM_OK;
}

cvtm_status cvtm_hierarchy_allocate(cvtm_hierarchy *h, int64_t count, size_t size, void **memory) {
  const int capacity = (int)(sizeof h->owned / sizeof h->owned[0]);
  if (h->owned_count == capacity) {
    return cvtm_fail(cvtm_device_error(h->device), CVTM_ERROR_INTERNAL, "too many arrays");
  }
  const cvtm_status status = cvtm_device_allocate(h->device, count, size, memory);
  if (status == CVTM_OK) h->owned[h->owned_count++] = *memory;
  return status;
}

/* A device copy of host memory; the hierarchy owns it. */
static cvtm_status copy_to_hierarchy(cvtm_hierarchy *h, const void *from, int64_t count,
                                     size_t size, void **memory) {
  const cvtm_status status = cvtm_hierarchy_allocate(h, count, size, memory);
  if (status != CVTM_OK) return status;
  return cvtm_device_copy_in(h->device, *memory, from, (size_t)count * size);
}

static cvtm_status upload_order(cvtm_hierarchy *h, host_level *d) {
  const int64_t rows = d->matrix.rows;
  cvtm_status status = cvtm_device_allocate(h->device, rows, CVTM_TYPED(d->device_order));
  if (status == CVTM_OK) {
    status =
        cvtm_device_copy_in(h->device, d->device_order, d->order, (size_t)rows * sizeof *d->order);
  }
  if (status != CVTM_OK) return status;
  return copy_to_hierarchy(h, d->place, rows, CVTM_TYPED(d->device_place));
}

/* The sliced matrix with rows (NULL: unchanged) and columns in the orders of their levels. */
static cvtm_status upload_matrix(cvtm_hierarchy *h, const cvtm_csr *matrix, const host_level *rows,
                                 const host_level *columns, cvtm_sell *sell) {
  const cvtm_sell_order order = {rows != NULL ? rows->device_order : NULL, columns->device_place};
  return cvtm_sell_create_ordered(h->device, matrix, &order, sell);
}

static cvtm_status build_level(cvtm_hierarchy *h, host_level *d) {
  cvtm_level *level = &h->level[h->count];
  memset(level, 0, sizeof *level);
  cvtm_status status = sort_by_colour(h->device, d);
  if (status == CVTM_OK) status = upload_order(h, d);
  if (status != CVTM_OK) return status;
  const int64_t rows = d->matrix.rows;
  level->rows = rows;
  level->colours = d->colours;
  level->has_bounds = h->has_bounds;
  level->place = d->device_place;
  level->colour_start = d->colour_start;
  d->colour_start = NULL; /* now the level's */
  double **const vectors[] = {&level->x, &level->b, &level->lower, &level->upper, &level->r};
  status = upload_matrix(h, &d->matrix, d, d, &level->matrix);
  ++h->count; /* from here on cvtm_hierarchy_destroy frees the level */
  if (status == CVTM_OK) status = cvtm_sell_find_runs(h->device, &level->matrix);
  level->correction = level->matrix;
  for (size_t k = 0; k < sizeof vectors / sizeof vectors[0] && status == CVTM_OK; ++k)
    status = cvtm_hierarchy_allocate(h, rows, CVTM_TYPED(*vectors[k]));
  if (status == CVTM_OK) status = cvtm_hierarchy_allocate(h, rows, CVTM_TYPED(level->state));
  if (status == CVTM_OK && h->count > 1) {
    status = cvtm_hierarchy_allocate(h, level->matrix.entries, CVTM_TYPED(level->correction.value));
  }
  if (status == CVTM_OK) {
    status = copy_to_hierarchy(h, level->colour_start, level->colours + 1,
                               CVTM_TYPED(level->colour_start_device));
  }
  return status;
}

/* level->centre from `centre`, permuted to the orders of both levels. */
static cvtm_status upload_centres(cvtm_hierarchy *h, const host_level *fine,
                                  const host_level *coarse, const int32_t *centre,
                                  cvtm_level *level) {
  int32_t *sorted = malloc(((size_t)level->rows + 1) * sizeof *sorted);
  if (sorted == NULL) {
    return cvtm_fail(cvtm_device_error(h->device), CVTM_ERROR_MEMORY, "no memory for an order");
  }
  for (int64_t k = 0; k < level->rows; ++k) sorted[k] = fine->place[centre[coarse->order[k]]];
  const cvtm_status status = copy_to_hierarchy(h, sorted, level->rows, CVTM_TYPED(level->centre));
  free(sorted);
  return status;
}

typedef struct transfer_matrices {
  cvtm_csr prolongation, restriction;
  int32_t *centre;
} transfer_matrices;

static void transfer_matrices_free(transfer_matrices *t) {
  cvtm_csr_free(&t->prolongation);
  cvtm_csr_free(&t->restriction);
  free(t->centre);
}

static cvtm_status build_transfer(const host_level *fine, const cvtm_hierarchy_options *options,
                                  int level, int threads, transfer_matrices *t, host_level *coarse,
                                  cvtm_error *error) {
  cvtm_status status;
  if (options->width > 0) {
    cvtm_csr_coarsening grids;
    status =
        cvtm_csr_grid_coarsen(&fine->matrix, fine->width, fine->height, threads, &grids, error);
    if (status != CVTM_OK) return status;
    coarse->width = grids.coarse_width;
    coarse->height = grids.coarse_height;
    status = cvtm_csr_grid_prolongation(&fine->matrix, grids, threads, &t->prolongation, &t->centre,
                                        error);
  } else {
    status = cvtm_aggregate(&fine->matrix, level, options->is_symmetric, &t->prolongation,
                            &t->centre, error);
  }
  if (status == CVTM_OK)
    status = cvtm_csr_transpose(&t->prolongation, threads, &t->restriction, error);
  return status;
}

/* Builds the next coarser level. *found = 0 if it would have more than 7/8 of the rows, or none. */
static cvtm_status add_coarse(cvtm_hierarchy *h, const cvtm_hierarchy_options *options,
                              const host_level *fine, host_level *coarse, int *found) {
  cvtm_error *error = cvtm_device_error(h->device);
  transfer_matrices t;
  memset(&t, 0, sizeof t);
  cvtm_level *level = &h->level[h->count - 1];
  const int threads = cvtm_device_threads(h->device);
  cvtm_status status = build_transfer(fine, options, h->count - 1, threads, &t, coarse, error);
  *found = status == CVTM_OK && t.prolongation.columns > 0 &&
           t.prolongation.columns <= level->rows - level->rows / 8;
  if (*found) {
    status = cvtm_csr_galerkin(&fine->matrix, &t.prolongation, &t.restriction, threads,
                               &coarse->matrix, error);
    if (status == CVTM_OK) status = build_level(h, coarse);
    if (status == CVTM_OK) {
      status = upload_matrix(h, &t.prolongation, fine, coarse, &level->prolongation);
    }
    if (status == CVTM_OK) {
      status = upload_matrix(h, &t.restriction, NULL, fine, &level->restriction);
    }
    if (status == CVTM_OK) status = cvtm_sell_find_runs(h->device, &level->restriction);
    if (status == CVTM_OK) status = upload_centres(h, fine, coarse, t.centre, &level[1]);
  }
  transfer_matrices_free(&t);
  return status;
}

static cvtm_status add_levels(cvtm_hierarchy *h, const cvtm_csr *matrix,
                              const cvtm_hierarchy_options *options) {
  host_level fine = {.matrix = *matrix, .width = options->width, .height = options->height};
  cvtm_status status = build_level(h, &fine);
  if (status == CVTM_OK) {
    status = copy_to_hierarchy(h, fine.order, matrix->rows, CVTM_TYPED(h->order));
  }
  while (status == CVTM_OK && h->count < options->levels && fine.matrix.rows > COARSEST_ROWS) {
    int found = 0;
    host_level coarse;
    memset(&coarse, 0, sizeof coarse);
    status = add_coarse(h, options, &fine, &coarse, &found);
    if (!found || status != CVTM_OK) {
      host_level_free(h->device, &coarse, 0);
      break;
    }
    host_level_free(h->device, &fine, fine.matrix.value == matrix->value);
    fine = coarse;
  }
  host_level_free(h->device, &fine, fine.matrix.value == matrix->value);
  return status;
}

cvtm_status cvtm_hierarchy_create(cvtm_device *device, const cvtm_csr *matrix,
                                  const cvtm_hierarchy_options *options,
                                  cvtm_hierarchy *hierarchy) {
  memset(hierarchy, 0, sizeof *hierarchy);
  hierarchy->device = device;
  hierarchy->table = CVTM_TABLE(device, cvtm_sparse_table);
  cvtm_csr pattern = {0, 0, NULL, NULL, NULL};
  cvtm_status status = CVTM_OK;
  if (!options->is_symmetric) {
    status = cvtm_csr_symmetric_pattern(matrix, cvtm_device_threads(device), &pattern,
                                        cvtm_device_error(device));
    matrix = &pattern;
  }
  if (status == CVTM_OK) {
    status = cvtm_hierarchy_allocate(hierarchy, 2, CVTM_TYPED(hierarchy->has_bounds));
  }
  if (status == CVTM_OK) status = add_levels(hierarchy, matrix, options);
  cvtm_csr_free(&pattern);
  if (status == CVTM_OK) {
    status = copy_to_hierarchy(hierarchy, hierarchy->level, hierarchy->count,
                               CVTM_TYPED(hierarchy->level_device));
  }
  if (status != CVTM_OK) cvtm_hierarchy_destroy(hierarchy);
  return status;
}

void cvtm_hierarchy_destroy(cvtm_hierarchy *h) {
  for (int k = 0; k < h->owned_count; ++k) cvtm_device_free(h->device, h->owned[k]);
  for (int l = 0; l < h->count; ++l) {
    cvtm_sell_free(h->device, &h->level[l].matrix);
    cvtm_sell_free(h->device, &h->level[l].prolongation);
    cvtm_sell_free(h->device, &h->level[l].restriction);
    free((void *)(uintptr_t)h->level[l].colour_start);
  }
  memset(h, 0, sizeof *h);
}

/* --- cycles ------------------------------------------------------------------------------ */

cvtm_status cvtm_hierarchy_reset(cvtm_hierarchy *h, int top) {
  cvtm_status status = CVTM_OK;
  for (int l = top; l < h->count && status == CVTM_OK; ++l) {
    const cvtm_level *level = &h->level[l];
    status = cvtm_device_fill(h->device, level->state, 0, (size_t)level->rows);
    if (status != CVTM_OK || l == top || level->correction.value == level->matrix.value) continue;
    status = cvtm_device_copy(h->device, level->correction.value, level->matrix.value,
                              (size_t)level->matrix.entries * sizeof(double));
  }
  return status;
}

cvtm_status cvtm_hierarchy_relax(const cvtm_hierarchy *h, const cvtm_level *level,
                                 cvtm_kernel_flags flags, double omega, int64_t colours) {
  cvtm_status status = CVTM_OK;
  for (int64_t colour = 0; colour < colours && status == CVTM_OK; ++colour)
    status = h->table->relax(h->device, level, flags, omega, colour);
  return status;
}

cvtm_status cvtm_hierarchy_sweep(const cvtm_hierarchy *h, const cvtm_level *level,
                                 cvtm_kernel_flags flags, double omega, int sweeps) {
  cvtm_status status = CVTM_OK;
  for (int sweep = 0; sweep < sweeps && status == CVTM_OK; ++sweep)
    status = cvtm_hierarchy_relax(h, level, flags, omega, level->colours);
  return status;
}

/* A sweep and the residual. The last relaxation yields the residual of the last colour. */
static cvtm_status sweep_to_residual(const cvtm_hierarchy *h, const cvtm_level *level,
                                     cvtm_kernel_flags flags) {
  const int64_t last = level->colours - 1;
  cvtm_kernel_flags closing = flags;
  closing.residual = 1;
  cvtm_status status = cvtm_hierarchy_relax(h, level, flags, 1, last);
  if (status == CVTM_OK) status = h->table->relax(h->device, level, closing, 1, last);
  if (status != CVTM_OK) return status;
  return h->table->residual(h->device, level, flags, level->colour_start[last]);
}

/* The first level from `first` on that small_cycle takes together with all coarser ones. */
static int first_small(const cvtm_hierarchy *h, int first) {
  int l = first;
  if (h->table->small_cycle == NULL || cvtm_uses_plain("small_levels")) return h->count;
  while (l < h->count && h->level[l].rows > h->table->small_rows) ++l;
  return l;
}

cvtm_status cvtm_hierarchy_update_galerkin(const cvtm_hierarchy *h, int top) {
  const int small = first_small(h, top + 1); /* small_cycle updates those below */
  for (int l = top; l + 1 < h->count && l < small; ++l) {
    const cvtm_status status =
        h->table->galerkin(h->device, &h->level[l], &h->level[l + 1], l == top);
    if (status != CVTM_OK) return status;
  }
  return CVTM_OK;
}

cvtm_status cvtm_hierarchy_cycle(const cvtm_hierarchy *h, int first) {
  const cvtm_kernel_flags flags = {.correction = 1};
  const cvtm_level *level = &h->level[first];
  if (first == first_small(h, first)) {
    const cvtm_vcycle cycle = {first, h->count - 1, COARSEST_SWEEPS};
    return h->table->small_cycle(h->device, h->level_device, &cycle);
  }
  if (first == h->count - 1) return cvtm_hierarchy_sweep(h, level, flags, 1, COARSEST_SWEEPS);
  cvtm_status status = sweep_to_residual(h, level, flags);
  if (status == CVTM_OK) status = h->table->restrict_problem(h->device, level, level + 1);
  if (status == CVTM_OK) status = cvtm_hierarchy_cycle(h, first + 1);
  if (status == CVTM_OK) status = h->table->prolong(h->device, level, level + 1, 0);
  if (status == CVTM_OK) status = cvtm_hierarchy_sweep(h, level, flags, 1, 1);
  return status;
}

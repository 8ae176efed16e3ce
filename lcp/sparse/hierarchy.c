/* A hierarchy of sparse matrices: coarse unknowns, levels and cycles. */
#include "lcp/sparse/sparse_solver.h"

#include "base/host.h"
#include "base/select.h"
#include "lcp/colouring.h"
#include "lcp/grid/grid_node.h"
#include "lcp/sparse/csr.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COARSEST_ROWS = 9, COARSEST_SWEEPS = 12 };

/* ------ coarse unknowns of grids: in a halved direction, coarse node I is fine node 2 I + 1; the
 * other fine nodes are interpolated ------ */

/* The next coarser grid. Sides of more than one node are halved. If the links in one direction are
 * more than three times as strong as in the other, only the side in that direction is halved
 * (semicoarsening). */
typedef struct coarsening {
  int64_t width, height;               /* of the fine grid */
  int64_t coarse_width, coarse_height; /* equal to the fine side if that is not halved */
} coarsening;

/* Sums of links over a grid line: to the next node of the line, and to the next line. */
typedef struct line_links {
  double across, down;
} line_links;

static line_links add_line(const cvtm_csr *a, int64_t first, int64_t width) {
  line_links sums = {0, 0};
  for (int64_t row = first; row < first + width; ++row) {
    for (int64_t k = a->row_start[row]; k < a->row_start[row + 1]; ++k) {
      if (a->column[k] - row == 1) sums.across -= a->value[k];
      if (a->column[k] - row == width) sums.down -= a->value[k];
    }
  }
  return sums;
}

static cvtm_status coarsen_grid(const cvtm_csr *matrix, int64_t width, int64_t height, int threads,
                                coarsening *grids, cvtm_error *error) {
  const coarsening same = {width, height, width, height};
  line_links *lines = malloc((size_t)height * sizeof *lines);
  if (lines == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a coarse grid");
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t j = 0; j < height; ++j) lines[j] = add_line(matrix, j * width, width);
  (void)threads;
  double across = 0, down = 0;
  for (int64_t j = 0; j < height; ++j) {
    across += lines[j].across;
    down += lines[j].down;
  }
  free(lines);
  across = width > 1 && across > 0 ? across : 0;
  down = height > 1 && down > 0 ? down : 0;
  *grids = same;
  if (cvtm_grid_is_halved(width, height, across, down)) grids->coarse_width = width / 2;
  if (cvtm_grid_is_halved(height, width, down, across)) grids->coarse_height = height / 2;
  return CVTM_OK;
}

/* --- interpolation ---------------------------------------------------------------------- */

/* The coarse nodes, at most two, from which fine node i is interpolated in one direction. */
typedef struct coarse_nodes {
  int count, first; /* first: the first of the two weights of node i that belongs to a coarse node:
                       1 if there is no coarse node before i, else 0 */
  int64_t node;     /* the first coarse node */
} coarse_nodes;

static int is_between(int64_t side, int64_t coarse, int64_t i) {
  int64_t first;
  return cvtm_grid_parents(coarse != side, i, &first) == 2;
}

static coarse_nodes coarse_nodes_of(int64_t side, int64_t coarse, int64_t i) {
  coarse_nodes s = {0, 0, 0};
  s.count = cvtm_grid_parents(coarse != side, i, &s.node);
  s.first = s.node < 0;
  s.count -= s.first + (s.node + s.count > coarse); /* coarse nodes outside the grid do not count */
  s.node += s.first;
  return s;
}

/* The number of interpolation weights of all nodes in one direction. */
static int64_t side_entries(int64_t side, int64_t coarse) {
  int64_t sum = 0;
  for (int64_t i = 0; i < side; ++i) sum += coarse_nodes_of(side, coarse, i).count;
  return sum;
}

/* Reads the row of node (i, j) as a stencil for cvtm_grid_line_weights. Returns 0 outside the grid,
 * if the row has other entries than those of nine points, and on grids of width 2, where the
 * difference of column and row of an entry does not determine the direction of its link. */
static int read_stencil(const cvtm_csr *a, coarsening g, int64_t i, int64_t j, double link[3][3]) {
  if (i < 0 || j < 0 || i >= g.width || j >= g.height || g.width == 2) return 0;
  const int64_t row = j * g.width + i;
  memset(link, 0, 9 * sizeof(double));
  for (int64_t k = a->row_start[row]; k < a->row_start[row + 1]; ++k) {
    const int64_t distance = a->column[k] - row;
    const int64_t v = g.width == 1 ? distance + 1 : 1 + (distance > 1) - (distance < -1);
    const int64_t u = distance - (v - 1) * g.width + 1;
    if (v < 0 || v > 2 || u < 0 || u > 2 || i + u < 1 || i + u > g.width) return 0;
    link[v][u] += distance == 0 ? a->value[k] : -a->value[k];
  }
  return 1;
}

/* Weights of the two coarse nodes next to a fine node: 1/2 each without a stencil. */
static void line_weights(const cvtm_csr *a, coarsening g, int64_t i, int64_t j, int vertical,
                         double weight[2]) {
  double link[3][3];
  weight[0] = weight[1] = 0.5;
  if (read_stencil(a, g, i, j, link)) cvtm_grid_line_weights(link, vertical, weight);
}

/* Sets weight[v][u] to the weights of the coarse nodes around node (i, j). */
static void node_weights(const cvtm_csr *a, coarsening g, int64_t i, int64_t j,
                         double weight[2][2]) {
  const int across = is_between(g.width, g.coarse_width, i);
  const int down = is_between(g.height, g.coarse_height, j);
  double link[3][3], amid[4] = {0.25, 0.25, 0.25, 0.25}, beside[2] = {1, 1};
  if (across && down && read_stencil(a, g, i, j, link)) {
    double north[2], south[2], west[2], east[2];
    line_weights(a, g, i, j - 1, 0, north);
    line_weights(a, g, i, j + 1, 0, south);
    line_weights(a, g, i - 1, j, 1, west);
    line_weights(a, g, i + 1, j, 1, east);
    cvtm_grid_amid_weights(link, north, south, west, east, amid);
  }
  if (across != down) line_weights(a, g, i, j, down, beside);
  for (int k = 0; k < 4; ++k)
    weight[k / 2][k % 2] = across && down ? amid[k] : beside[across ? k % 2 : k / 2];
}

/* Fills the rows of the prolongation for grid line j; row_start of the first row must be set. */
static void fill_line(const cvtm_csr *a, coarsening g, int64_t j, cvtm_csr *p) {
  const coarse_nodes down = coarse_nodes_of(g.height, g.coarse_height, j);
  int64_t k = p->row_start[j * g.width];
  for (int64_t i = 0; i < g.width; ++i) {
    const coarse_nodes across = coarse_nodes_of(g.width, g.coarse_width, i);
    double weight[2][2];
    node_weights(a, g, i, j, weight);
    for (int v = 0; v < down.count; ++v) {
      for (int u = 0; u < across.count; ++u, ++k) {
        p->column[k] = (int32_t)((down.node + v) * g.coarse_width + across.node + u);
        p->value[k] = weight[down.first + v][across.first + u];
      }
    }
    if (i + 1 < g.width) p->row_start[j * g.width + i + 1] = k;
  }
}

static void fill_prolongation(const cvtm_csr *a, coarsening g, int threads, cvtm_csr *p) {
  const int64_t across = side_entries(g.width, g.coarse_width);
  for (int64_t j = 0; j < g.height; ++j) {
    const int down = coarse_nodes_of(g.height, g.coarse_height, j).count;
    p->row_start[(j + 1) * g.width] = p->row_start[j * g.width] + down * across;
  }
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t j = 0; j < g.height; ++j) fill_line(a, g, j, p);
  (void)threads;
}

/* Operator-dependent interpolation from the coarse grid (Dendy 1982, "Black box multigrid"):
 * bilinear for constant coefficients and for rows of more than nine points. centre: the fine node
 * of each coarse node; the caller frees it, also after a failure. */
static cvtm_status interpolate_grid(const cvtm_csr *matrix, coarsening g, int threads,
                                    cvtm_csr *prolongation, int32_t **centre, cvtm_error *error) {
  const int64_t coarse = g.coarse_width * g.coarse_height;
  *centre = malloc((size_t)coarse * sizeof **centre);
  if (*centre == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a coarse grid");
  const int64_t entries =
      side_entries(g.width, g.coarse_width) * side_entries(g.height, g.coarse_height);
  CVTM_TRY(cvtm_csr_create(g.width * g.height, coarse, entries, prolongation, error));
  fill_prolongation(matrix, g, threads, prolongation);
  for (int64_t j = 0; j < g.coarse_height; ++j) {
    for (int64_t i = 0; i < g.coarse_width; ++i) {
      const int64_t row = g.coarse_height < g.height ? 2 * j + 1 : j;
      const int64_t column = g.coarse_width < g.width ? 2 * i + 1 : i;
      (*centre)[j * g.coarse_width + i] = (int32_t)(row * g.width + column);
    }
  }
  return CVTM_OK;
}

/* ------ aggregates of strongly connected unknowns (Vanek, Mandel & Brezina 1996, "Algebraic
 * multigrid by smoothed aggregation for second and fourth order elliptic problems") ------ */

/* Values of `member` for rows in no aggregate: rows without strong links; rows not yet assigned. */
enum { ISOLATED = -2, FREE = -1 };

typedef struct aggregates {
  const cvtm_csr *matrix;
  double limit; /* a link is strong if |a_ij| > limit sqrt|a_ii a_jj| */
  double *diagonal;
  int32_t *member; /* the aggregate of each row, or FREE, or ISOLATED */
  int32_t *root;   /* the root row of each aggregate */
  int64_t count;
} aggregates;

static int is_strong(const aggregates *work, int64_t row, int64_t k) {
  const int32_t column = work->matrix->column[k];
  const double value = work->matrix->value[k];
  return column != row && fabs(value) > work->limit * sqrt(fabs(work->diagonal[row])) *
                                            sqrt(fabs(work->diagonal[column]));
}

static void read_diagonal(aggregates *work) {
  const cvtm_csr *a = work->matrix;
  for (int64_t row = 0; row < a->rows; ++row) {
    work->diagonal[row] = 0;
    for (int64_t k = a->row_start[row]; k < a->row_start[row + 1]; ++k)
      if (a->column[k] == row) work->diagonal[row] = a->value[k];
  }
}

static void mark_isolated_rows(aggregates *work) {
  const cvtm_csr *a = work->matrix;
  for (int64_t row = 0; row < a->rows; ++row) {
    work->member[row] = ISOLATED;
    for (int64_t k = a->row_start[row]; k < a->row_start[row + 1]; ++k)
      if (is_strong(work, row, k)) work->member[row] = FREE;
  }
}

/* Makes a new aggregate of a row and its free strong neighbours. */
static void start_aggregate(aggregates *work, int64_t row) {
  const cvtm_csr *a = work->matrix;
  const int32_t mine = (int32_t)work->count++;
  work->root[mine] = (int32_t)row;
  work->member[row] = mine;
  for (int64_t k = a->row_start[row]; k < a->row_start[row + 1]; ++k)
    if (is_strong(work, row, k) && work->member[a->column[k]] == FREE)
      work->member[a->column[k]] = mine;
}

/* First pass: each row whose strong neighbours are all free starts an aggregate. */
static void start_from_free_neighbourhoods(aggregates *work) {
  const cvtm_csr *a = work->matrix;
  for (int64_t row = 0; row < a->rows; ++row) {
    int all_free = work->member[row] == FREE;
    for (int64_t k = a->row_start[row]; all_free && k < a->row_start[row + 1]; ++k)
      all_free = !is_strong(work, row, k) || work->member[a->column[k]] < 0;
    if (all_free) start_aggregate(work, row);
  }
}

/* Second pass: each free row joins the aggregate of the first pass to which it has its strongest
 * link. */
static void join_strongest_link(aggregates *work) {
  const cvtm_csr *a = work->matrix;
  for (int64_t row = 0; row < a->rows; ++row) {
    if (work->member[row] != FREE) continue;
    double strongest = 0;
    int32_t chosen = FREE;
    for (int64_t k = a->row_start[row]; k < a->row_start[row + 1]; ++k) {
      const int32_t other = work->member[a->column[k]];
      if (!is_strong(work, row, k) || other < 0 || fabs(a->value[k]) <= strongest) continue;
      strongest = fabs(a->value[k]);
      chosen = other;
    }
    if (chosen >= 0)
      work->member[row] = (int32_t)(-3 - chosen); /* marks the row as assigned in this pass */
  }
  for (int64_t row = 0; row < a->rows; ++row)
    if (work->member[row] < ISOLATED) work->member[row] = -3 - work->member[row];
}

/* Assigns all rows. The loop is the third pass: rows that are still free start aggregates. */
static void aggregate_rows(aggregates *work) {
  read_diagonal(work);
  mark_isolated_rows(work);
  start_from_free_neighbourhoods(work);
  join_strongest_link(work);
  for (int64_t row = 0; row < work->matrix->rows; ++row)
    if (work->member[row] == FREE) start_aggregate(work, row);
}

/* Makes the piecewise constant interpolation: 1 in the column of each row's aggregate. */
static cvtm_status build_piecewise_constant(const aggregates *work, cvtm_csr *p,
                                            cvtm_error *error) {
  const int64_t rows = work->matrix->rows;
  CVTM_TRY(cvtm_csr_create(rows, work->count, rows, p, error));
  int64_t k = 0;
  for (int64_t row = 0; row < rows; ++row) {
    if (work->member[row] >= 0) {
      p->column[k] = work->member[row];
      p->value[k++] = 1;
    }
    p->row_start[row + 1] = k;
  }
  return CVTM_OK;
}

/* Adds `term` to the sorted entries start .. *end - 1 of a row. */
static void add_entry(cvtm_csr *p, int64_t start, int64_t *end, int32_t column, double term) {
  int64_t k = *end;
  while (k > start && p->column[k - 1] > column) --k;
  if (k > start && p->column[k - 1] == column) {
    p->value[k - 1] += term;
    return;
  }
  for (int64_t m = (*end)++; m > k; --m) {
    p->column[m] = p->column[m - 1];
    p->value[m] = p->value[m - 1];
  }
  p->column[k] = column;
  p->value[k] = term;
}

/* Makes (I - 2/3 D^-1 A_F) times the piecewise constant interpolation. A_F is A with its weak links
 * added to the diagonal, and D is the diagonal of A_F. */
static cvtm_status build_smoothed(const aggregates *work, cvtm_csr *p, cvtm_error *error) {
  const cvtm_csr *a = work->matrix;
  const double damping = 2.0 / 3.0;
  CVTM_TRY(cvtm_csr_create(a->rows, work->count, a->row_start[a->rows], p, error));
  int64_t end = 0;
  for (int64_t row = 0; row < a->rows; ++row) {
    const int64_t start = end;
    double filtered = work->diagonal[row];
    for (int64_t k = a->row_start[row]; k < a->row_start[row + 1]; ++k)
      if (a->column[k] != row && !is_strong(work, row, k)) filtered += a->value[k];
    if (!(filtered > 0)) filtered = work->diagonal[row];
    if (work->member[row] >= 0) add_entry(p, start, &end, work->member[row], 1 - damping);
    for (int64_t k = a->row_start[row]; k < a->row_start[row + 1]; ++k) {
      const int32_t other = work->member[a->column[k]];
      if (work->member[row] >= 0 && is_strong(work, row, k) && other >= 0)
        add_entry(p, start, &end, other, -damping * a->value[k] / filtered);
    }
    p->row_start[row + 1] = end;
  }
  return CVTM_OK;
}

/* Makes the interpolation from aggregates. The pattern of the matrix is symmetric. smoothed:
 * nonzero: a Jacobi step smooths the piecewise constant interpolation; 0: piecewise constant. Rows
 * without a strong link get empty rows. centre: the root row of each aggregate; the caller frees
 * it, also after a failure. level: 0 for the finest; the limit for strong links decreases from
 * level to level. */
static cvtm_status aggregate(const cvtm_csr *matrix, int level, int smoothed,
                             cvtm_csr *prolongation, int32_t **centre, cvtm_error *error) {
  const size_t rows = (size_t)matrix->rows;
  cvtm_scratch memory = {0};
  *centre = malloc((rows + 1) * sizeof **centre);
  aggregates work = {.matrix = matrix,
                     .limit = 0.08 * pow(0.5, level),
                     .diagonal = cvtm_scratch_take(&memory, rows, sizeof(double)),
                     .member = cvtm_scratch_take(&memory, rows, sizeof(int32_t)),
                     .root = *centre};
  cvtm_status status = CVTM_OK;
  if (memory.failed || *centre == NULL) {
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for aggregates");
  } else {
    aggregate_rows(&work);
    status = smoothed ? build_smoothed(&work, prolongation, error)
                      : build_piecewise_constant(&work, prolongation, error);
  }
  cvtm_scratch_free(&memory);
  return status;
}

/* ------ the levels ------ */

/* --- setup: one level after the other in host memory ------------------------------------- */

/* A level in host memory, its matrix in the original order of rows (see row_functions.h). */
typedef struct host_level {
  cvtm_csr matrix; /* borrowed on level 0 */
  int64_t width, height;
  int32_t *order; /* the rows sorted by colour */
  int32_t *place; /* inverse of `order` */
  int32_t *device_order,
      *device_place; /* the permutations in device memory; the hierarchy owns device_place */
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

/* Chooses two colours on a grid with five-point rows, four with nine-point rows, else a general
 * colouring. */
static cvtm_status choose_colours(cvtm_device *device, const host_level *d,
                                  cvtm_colouring *colouring) {
  for (int32_t colours = 2; colours <= 4 && d->width > 0; colours += 2) {
    cvtm_error unfit;
    const int threads = cvtm_device_threads(device);
    CVTM_TRY(cvtm_colouring_create_grid(d->width, d->height, colours, threads, colouring,
                                        cvtm_device_error(device)));
    if (cvtm_colouring_check(&d->matrix, colouring, threads, &unfit) == CVTM_OK) return CVTM_OK;
    cvtm_colouring_free(colouring);
  }
  return cvtm_colouring_create(device, &d->matrix, colouring);
}

static cvtm_status sort_by_colour(cvtm_device *device, host_level *d) {
  cvtm_colouring colouring;
  CVTM_TRY(choose_colours(device, d, &colouring));
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

cvtm_status cvtm_hierarchy_allocate(cvtm_hierarchy *h, cvtm_arrays arrays) {
  const int capacity = (int)(sizeof h->owned / sizeof h->owned[0]);
  for (const cvtm_array *a = arrays.array; a->memory != NULL; ++a) {
    if (h->owned_count == capacity)
      return cvtm_fail(cvtm_device_error(h->device), CVTM_ERROR_INTERNAL, "too many arrays");
    CVTM_TRY(cvtm_device_allocate(h->device, a->count, a->size, a->memory));
    h->owned[h->owned_count++] = *a->memory;
  }
  return CVTM_OK;
}

/* Copies host memory to device memory that the hierarchy owns. */
static cvtm_status copy_to_hierarchy(cvtm_hierarchy *h, const void *from, cvtm_array copy) {
  CVTM_TRY(cvtm_hierarchy_allocate(h, (cvtm_arrays){{copy}}));
  return cvtm_device_copy_in(h->device, *copy.memory, from, (size_t)copy.count * copy.size);
}

static cvtm_status upload_order(cvtm_hierarchy *h, host_level *d) {
  const int64_t rows = d->matrix.rows;
  CVTM_TRY(cvtm_device_allocate(h->device, rows, CVTM_TYPED(d->device_order)));
  CVTM_TRY(
      cvtm_device_copy_in(h->device, d->device_order, d->order, (size_t)rows * sizeof *d->order));
  return copy_to_hierarchy(h, d->place, (cvtm_array)CVTM_ARRAY(d->device_place, rows));
}

/* Makes the sliced matrix, with its rows in the order of level `rows` (NULL: the original order)
 * and its columns in the order of level `columns`. */
static cvtm_status upload_matrix(cvtm_hierarchy *h, const cvtm_csr *matrix, const host_level *rows,
                                 const host_level *columns, cvtm_sell *sell) {
  const cvtm_sell_order order = {rows != NULL ? rows->device_order : NULL, columns->device_place};
  return cvtm_sell_create_ordered(h->device, matrix, &order, sell);
}

static cvtm_status build_level(cvtm_hierarchy *h, host_level *d) {
  cvtm_level *level = &h->level[h->count];
  memset(level, 0, sizeof *level);
  CVTM_TRY(sort_by_colour(h->device, d));
  CVTM_TRY(upload_order(h, d));
  const int64_t rows = d->matrix.rows;
  level->rows = rows;
  level->colours = d->colours;
  level->has_bounds = h->has_bounds;
  level->place = d->device_place;
  level->colour_start = d->colour_start;
  d->colour_start = NULL; /* from here on the level owns the array */
  cvtm_status status = upload_matrix(h, &d->matrix, d, d, &level->matrix);
  ++h->count; /* from here on cvtm_hierarchy_destroy frees the level */
  if (status == CVTM_OK) status = cvtm_sell_find_runs(h->device, &level->matrix);
  level->correction = level->matrix;
  if (status == CVTM_OK)
    status = cvtm_hierarchy_allocate(
        h, (cvtm_arrays){{CVTM_ARRAY(level->x, rows), CVTM_ARRAY(level->b, rows),
                          CVTM_ARRAY(level->lower, rows), CVTM_ARRAY(level->upper, rows),
                          CVTM_ARRAY(level->r, rows), CVTM_ARRAY(level->state, rows)}});
  if (status == CVTM_OK && h->count > 1)
    status = cvtm_hierarchy_allocate(
        h, (cvtm_arrays){{CVTM_ARRAY(level->correction.value, level->matrix.entries)}});
  return status;
}

/* Sets level->centre to `centre`, after the sort of both levels by colour. */
static cvtm_status upload_centres(cvtm_hierarchy *h, const host_level *fine,
                                  const host_level *coarse, const int32_t *centre,
                                  cvtm_level *level) {
  int32_t *sorted = malloc(((size_t)level->rows + 1) * sizeof *sorted);
  if (sorted == NULL)
    return cvtm_fail(cvtm_device_error(h->device), CVTM_ERROR_MEMORY, "no memory for an order");
  for (int64_t k = 0; k < level->rows; ++k) sorted[k] = fine->place[centre[coarse->order[k]]];
  const cvtm_status status =
      copy_to_hierarchy(h, sorted, (cvtm_array)CVTM_ARRAY(level->centre, level->rows));
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
  if (options->width > 0) {
    coarsening grids = {0, 0, 0, 0};
    CVTM_TRY(coarsen_grid(&fine->matrix, fine->width, fine->height, threads, &grids, error));
    coarse->width = grids.coarse_width;
    coarse->height = grids.coarse_height;
    CVTM_TRY(interpolate_grid(&fine->matrix, grids, threads, &t->prolongation, &t->centre, error));
  } else {
    CVTM_TRY(aggregate(&fine->matrix, level, options->is_symmetric, &t->prolongation, &t->centre,
                       error));
  }
  return cvtm_csr_transpose(&t->prolongation, threads, &t->restriction, error);
}

/* Builds the next coarser level. *found = 0: it would have no rows, or over 7/8 of the rows of the
 * fine level. */
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
    if (status == CVTM_OK)
      status = upload_matrix(h, &t.prolongation, fine, coarse, &level->prolongation);
    if (status == CVTM_OK)
      status = upload_matrix(h, &t.restriction, NULL, fine, &level->restriction);
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
  if (status == CVTM_OK)
    status = copy_to_hierarchy(h, fine.order, (cvtm_array)CVTM_ARRAY(h->order, matrix->rows));
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
  if (status == CVTM_OK)
    status =
        cvtm_hierarchy_allocate(hierarchy, (cvtm_arrays){{CVTM_ARRAY(hierarchy->has_bounds, 2)}});
  if (status == CVTM_OK) status = add_levels(hierarchy, matrix, options);
  cvtm_csr_free(&pattern);
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
  for (int64_t colour = 0; colour < colours; ++colour)
    CVTM_TRY(h->table->relax(h->device, level, flags, omega, colour));
  return CVTM_OK;
}

cvtm_status cvtm_hierarchy_sweep(const cvtm_hierarchy *h, const cvtm_level *level,
                                 cvtm_kernel_flags flags, double omega, int sweeps) {
  for (int sweep = 0; sweep < sweeps; ++sweep)
    CVTM_TRY(cvtm_hierarchy_relax(h, level, flags, omega, level->colours));
  return CVTM_OK;
}

/* Makes a sweep and computes the residual. The pass that relaxes the last colour also computes the
 * residual of that colour. */
static cvtm_status sweep_to_residual(const cvtm_hierarchy *h, const cvtm_level *level,
                                     cvtm_kernel_flags flags) {
  const int64_t last = level->colours - 1;
  cvtm_kernel_flags closing = flags;
  closing.residual = 1;
  CVTM_TRY(cvtm_hierarchy_relax(h, level, flags, 1, last));
  CVTM_TRY(h->table->relax(h->device, level, closing, 1, last));
  return h->table->residual(h->device, level, flags, level->colour_start[last]);
}

cvtm_status cvtm_hierarchy_update_galerkin(const cvtm_hierarchy *h, int top) {
  for (int l = top; l + 1 < h->count; ++l)
    CVTM_TRY(h->table->galerkin(h->device, &h->level[l], &h->level[l + 1], l == top));
  return CVTM_OK;
}

cvtm_status cvtm_hierarchy_cycle(const cvtm_hierarchy *h, int first) {
  const cvtm_kernel_flags flags = {.correction = 1};
  const cvtm_level *level = &h->level[first];
  if (first == h->count - 1) return cvtm_hierarchy_sweep(h, level, flags, 1, COARSEST_SWEEPS);
  CVTM_TRY(sweep_to_residual(h, level, flags));
  CVTM_TRY(h->table->restrict_problem(h->device, level, level + 1));
  CVTM_TRY(cvtm_hierarchy_cycle(h, first + 1));
  CVTM_TRY(h->table->prolong(h->device, level, level + 1, 0));
  return cvtm_hierarchy_sweep(h, level, flags, 1, 1);
}

#include "lcp/sparse/coarsening.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sums over a grid line of the links to the next node, and to the next line. */
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

cvtm_status cvtm_csr_grid_coarsen(const cvtm_csr *matrix, int64_t width, int64_t height,
                                  int threads, cvtm_csr_coarsening *grids, cvtm_error *error) {
  const double semicoarsening_ratio = 3;
  const cvtm_csr_coarsening same = {width, height, width, height};
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
  if (width > 1 && (height == 1 || semicoarsening_ratio * across >= down))
    grids->coarse_width = width / 2;
  if (height > 1 && (width == 1 || semicoarsening_ratio * down >= across))
    grids->coarse_height = height / 2;
  return CVTM_OK;
}

/* --- interpolation ---------------------------------------------------------------------- */

/* In one direction: the coarse nodes that fine node i interpolates from, at most two. */
typedef struct coarse_nodes {
  int count, first; /* first = 1: there is none before i */
  int64_t node;     /* the first one */
} coarse_nodes;

static int is_between(int64_t side, int64_t coarse, int64_t i) {
  return coarse != side && i % 2 == 0;
}

static coarse_nodes coarse_nodes_of(int64_t side, int64_t coarse, int64_t i) {
  if (!is_between(side, coarse, i)) {
    const coarse_nodes same = {1, 0, coarse == side ? i : i / 2};
    return same;
  }
  const int has_before = i > 0, has_after = i / 2 < coarse;
  const coarse_nodes s = {has_before + has_after, !has_before, has_before ? i / 2 - 1 : i / 2};
  return s;
}

/* Interpolation weights of all nodes in one direction. */
static int64_t side_entries(int64_t side, int64_t coarse) {
  int64_t sum = 0;
  for (int64_t i = 0; i < side; ++i) sum += coarse_nodes_of(side, coarse, i).count;
  return sum;
}

/* A row of the matrix as a nine-point stencil: entry [v][u] belongs to node (i + u - 1, j + v - 1).
 * All zero if the row has other entries too, and on grids of two columns, where a column distance
 * does not determine a direction. */
typedef struct nine_points {
  double at[3][3];
} nine_points;

static nine_points read_row(const cvtm_csr *a, int64_t width, int64_t i, int64_t j) {
  nine_points s = {{{0}}};
  const nine_points none = s;
  const int64_t row = j * width + i;
  for (int64_t k = a->row_start[row]; k < a->row_start[row + 1]; ++k) {
    const int64_t distance = a->column[k] - row;
    const int64_t v = width == 1 ? distance + 1 : 1 + (distance > 1) - (distance < -1);
    const int64_t u = distance - (v - 1) * width + 1;
    if (width == 2 || v < 0 || v > 2 || u < 0 || u > 2 || i + u < 1 || i + u > width) return none;
    s.at[v][u] += a->value[k];
  }
  return s;
}

/* Interpolation weights of the coarse nodes before and after a node. */
typedef struct two_weights {
  double at[2];
} two_weights;

/* Weights in proportion to the links `before` and `after`. Between two coarse nodes (is_inner) they
 * sum to 1; next to the boundary the node's diagonal `middle` divides if it is larger, since the
 * boundary value is 0. */
static two_weights share(double before, double after, double middle, int is_inner) {
  const two_weights halves = {{0.5, 0.5}};
  const double whole = is_inner || before + after > middle ? before + after : middle;
  if (!(before >= 0 && after >= 0 && whole > 0)) return halves;
  const two_weights weights = {{before / whole, after / whole}};
  return weights;
}

/* Weights from the stencil summed over the other direction (Dendy). */
static two_weights across_weights(const nine_points *s, int is_inner) {
  double sum[3];
  for (int u = 0; u < 3; ++u) sum[u] = s->at[0][u] + s->at[1][u] + s->at[2][u];
  return share(-sum[0], -sum[2], sum[1], is_inner);
}

static two_weights down_weights(const nine_points *s, int is_inner) {
  double sum[3];
  for (int v = 0; v < 3; ++v) sum[v] = s->at[v][0] + s->at[v][1] + s->at[v][2];
  return share(-sum[0], -sum[2], sum[1], is_inner);
}

/* weight[v][u] of the four coarse nodes around a node at the centre of a coarse cell: its equation
 * with the values of its neighbours interpolated. */
static void middle_weights(const cvtm_csr *a, cvtm_csr_coarsening g, int64_t i, int64_t j,
                           double weight[2][2]) {
  const int inner_across = coarse_nodes_of(g.width, g.coarse_width, i).count == 2;
  const int inner_down = coarse_nodes_of(g.height, g.coarse_height, j).count == 2;
  const nine_points s = read_row(a, g.width, i, j);
  double sum = 0;
  int is_sound = 1;
  memset(weight, 0, 4 * sizeof(double));
  for (int side = 0; side < 2; ++side) {
    const int64_t x = i + 2 * side - 1, y = j + 2 * side - 1;
    const double horizontal = -s.at[1][2 * side], vertical = -s.at[2 * side][1];
    two_weights w = {{0, 0}};
    if (horizontal != 0) {
      const nine_points neighbour = read_row(a, g.width, x, j);
      w = down_weights(&neighbour, inner_down);
    }
    for (int v = 0; v < 2; ++v) weight[v][side] += horizontal * w.at[v] - s.at[2 * v][2 * side];
    if (vertical != 0) {
      const nine_points neighbour = read_row(a, g.width, i, y);
      w = across_weights(&neighbour, inner_across);
      for (int u = 0; u < 2; ++u) weight[side][u] += vertical * w.at[u];
    }
    sum += horizontal + vertical - s.at[0][2 * side] - s.at[2][2 * side];
    is_sound &= horizontal >= 0 && vertical >= 0;
  }
  for (int k = 0; k < 4; ++k) is_sound &= weight[k / 2][k % 2] >= 0;
  const double whole = (inner_across && inner_down) || sum > s.at[1][1] ? sum : s.at[1][1];
  for (int k = 0; k < 4; ++k)
    weight[k / 2][k % 2] = is_sound && whole > 0 ? weight[k / 2][k % 2] / whole : 0.25;
}

static void node_weights(const cvtm_csr *a, cvtm_csr_coarsening g, int64_t i, int64_t j,
                         double weight[2][2]) {
  const int across = is_between(g.width, g.coarse_width, i);
  const int down = is_between(g.height, g.coarse_height, j);
  if (across && down) {
    middle_weights(a, g, i, j, weight);
    return;
  }
  weight[0][0] = weight[0][1] = weight[1][0] = weight[1][1] = 1;
  if (!across && !down) return;
  const nine_points s = read_row(a, g.width, i, j);
  const two_weights w =
      across ? across_weights(&s, coarse_nodes_of(g.width, g.coarse_width, i).count == 2)
             : down_weights(&s, coarse_nodes_of(g.height, g.coarse_height, j).count == 2);
  for (int k = 0; k < 4; ++k) weight[k / 2][k % 2] = w.at[across ? k % 2 : k / 2];
}

/* The rows of grid line j; the row_start of the first is set. */
static void fill_line(const cvtm_csr *a, cvtm_csr_coarsening g, int64_t j, cvtm_csr *p) {
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

static void fill_prolongation(const cvtm_csr *a, cvtm_csr_coarsening g, int threads, cvtm_csr *p) {
  const int64_t across = side_entries(g.width, g.coarse_width);
  for (int64_t j = 0; j < g.height; ++j) {
    const int down = coarse_nodes_of(g.height, g.coarse_height, j).count;
    p->row_start[(j + 1) * g.width] = p->row_start[j * g.width] + down * across;
  }
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t j = 0; j < g.height; ++j) fill_line(a, g, j, p);
  (void)threads;
}

cvtm_status cvtm_csr_grid_prolongation(const cvtm_csr *matrix, cvtm_csr_coarsening g, int threads,
                                       cvtm_csr *prolongation, int32_t **centre,
                                       cvtm_error *error) {
  const int64_t coarse = g.coarse_width * g.coarse_height;
  *centre = malloc((size_t)coarse * sizeof **centre);
  if (*centre == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a coarse grid");
  const int64_t entries =
      side_entries(g.width, g.coarse_width) * side_entries(g.height, g.coarse_height);
  const cvtm_status status =
      cvtm_csr_create(g.width * g.height, coarse, entries, prolongation, error);
  if (status != CVTM_OK) {
    free(*centre);
    *centre = NULL;
    return status;
  }
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

/* Instead of an aggregate: a row without strong links; one that has not been assigned yet. */
enum { ISOLATED = -2, FREE = -1 };

typedef struct aggregates {
  const cvtm_csr *matrix;
  double limit; /* a link is strong if |a_ij| > limit sqrt|a_ii a_jj| */
  double *diagonal;
  int32_t *member; /* aggregate of each row, or FREE or ISOLATED */
  int32_t *root;   /* of each aggregate */
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

/* A new aggregate of a row and its free strong neighbours. */
static void start_aggregate(aggregates *work, int64_t row) {
  const cvtm_csr *a = work->matrix;
  const int32_t mine = (int32_t)work->count++;
  work->root[mine] = (int32_t)row;
  work->member[row] = mine;
  for (int64_t k = a->row_start[row]; k < a->row_start[row + 1]; ++k)
    if (is_strong(work, row, k) && work->member[a->column[k]] == FREE)
      work->member[a->column[k]] = mine;
}

/* First pass: rows whose strong neighbours are all free start aggregates. */
static void start_from_free_neighbourhoods(aggregates *work) {
  const cvtm_csr *a = work->matrix;
  for (int64_t row = 0; row < a->rows; ++row) {
    int whole = work->member[row] == FREE;
    for (int64_t k = a->row_start[row]; whole && k < a->row_start[row + 1]; ++k)
      whole = !is_strong(work, row, k) || work->member[a->column[k]] < 0;
    if (whole) start_aggregate(work, row);
  }
}

/* Second pass: each free row joins the aggregate of its strongest link among those of the first
 * pass. */
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
      work->member[row] = (int32_t)(-3 - chosen); /* encoded: not an aggregate of the first pass */
  }
  for (int64_t row = 0; row < a->rows; ++row)
    if (work->member[row] < ISOLATED) work->member[row] = -3 - work->member[row];
}

/* Third pass, in the loop: rows still free start aggregates. */
static void aggregate_rows(aggregates *work) {
  read_diagonal(work);
  mark_isolated_rows(work);
  start_from_free_neighbourhoods(work);
  join_strongest_link(work);
  for (int64_t row = 0; row < work->matrix->rows; ++row)
    if (work->member[row] == FREE) start_aggregate(work, row);
}

/* Piecewise constant interpolation: 1 in the column of each row's aggregate. */
static cvtm_status build_piecewise_constant(const aggregates *work, cvtm_csr *p,
                                            cvtm_error *error) {
  const int64_t rows = work->matrix->rows;
  const cvtm_status status = cvtm_csr_create(rows, work->count, rows, p, error);
  if (status != CVTM_OK) return status;
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

/* Adds to the sorted entries start .. *end - 1 of a row. */
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

/* (I - 2/3 D^-1 A_F) times the piecewise constant interpolation. A_F is A with its weak links added
 * to the diagonal, which is D. */
static cvtm_status build_smoothed(const aggregates *work, cvtm_csr *p, cvtm_error *error) {
  const cvtm_csr *a = work->matrix;
  const double damping = 2.0 / 3.0;
  const cvtm_status status = cvtm_csr_create(a->rows, work->count, a->row_start[a->rows], p, error);
  if (status != CVTM_OK) return status;
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

cvtm_status cvtm_aggregate(const cvtm_csr *matrix, int level, int smoothed, cvtm_csr *prolongation,
                           int32_t **centre, cvtm_error *error) {
  const size_t rows = (size_t)matrix->rows;
  aggregates work = {matrix,
                     0.08 * pow(0.5, level),
                     malloc((rows + 1) * sizeof(double)),
                     malloc((rows + 1) * sizeof(int32_t)),
                     malloc((rows + 1) * sizeof(int32_t)),
                     0};
  cvtm_status status = CVTM_OK;
  if (work.diagonal == NULL || work.member == NULL || work.root == NULL) {
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for aggregates");
  } else {
    aggregate_rows(&work);
    status = smoothed ? build_smoothed(&work, prolongation, error)
                      : build_piecewise_constant(&work, prolongation, error);
  }
  *centre = status == CVTM_OK ? work.root : NULL;
  if (status != CVTM_OK) free(work.root);
  free(work.diagonal);
  free(work.member);
  return status;
}

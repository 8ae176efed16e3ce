/* The phases of cells of equal mass on a CPU. A cell is computed from its ring (cvt/rings.h), or
 * cut out by a search of the tree. */
#include "cvt/equal_mass/power_cpu.h"

#include "base/primitives.h"
#include "base/host.h"
#include "cvt/cell_host.h"
#include "cvt/equal_mass/power_kernels.h"
#include "cvt/integral_batch.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)CVTM_POWER_RING == (int)CVTM_BATCH_CORNERS, "a batch has room for a kept cell");

void cvtm_power_cell_release(cvtm_power_cell *cell) {
  cvtm_cell_release(&cell->polygon);
  free(cell->other);
  cell->other = NULL;
}

int cvtm_power_cell_grow(cvtm_power_cell *cell, int32_t capacity) {
  int32_t *other = malloc((size_t)capacity * sizeof *other);
  if (!other || !cvtm_cell_grow(&cell->polygon, capacity)) {
    free(other);
    return 0;
  }
  free(cell->other);
  cell->other = other;
  return 1;
}

int cvtm_power_cut_out(const cvtm_power_view *view, cvtm_domain domain, int64_t slot,
                       const cvtm_cell_box *start, cvtm_power_cell *cell) {
  cvtm_cell_box box;
  cvtm_cell_origin o = cvtm_cell_origin_at(&view->tree, domain, slot, &box);
  if (start) box = *start;
  while (cvtm_power_cut_from(view, domain, &box, &o, cell) == CVTM_CELL_OVERFLOW) {
    const int32_t capacity = cell->polygon.capacity;
    if (capacity > INT32_MAX / 2 || !cvtm_power_cell_grow(cell, 2 * capacity)) return 0;
  }
  return 1;
}

/* --- the state ----------------------------------------------------------------------------- */

/* The arrays have one number per site, in the caller's order. There is one polygon per thread. */
typedef struct power_state {
  int32_t *is_ring; /* 1: the row of couplings lists all neighbours, in order around the cell */
  int32_t *cut;     /* the round in which the cell is cut out; 0: the cell is kept */
  int threads;
  cvtm_power_cell cell[];
} power_state;

static power_state *state_of(const cvtm_power *power) { return power->state; }

static void destroy_state_cpu(cvtm_power *power) {
  power_state *state = power->state;
  if (!state) return;
  for (int t = 0; t < state->threads; ++t) cvtm_power_cell_release(&state->cell[t]);
  free(state->is_ring);
  free(state->cut);
  free(state);
  power->state = NULL;
}

static cvtm_status create_state_cpu(cvtm_power *power) {
  cvtm_device *device = power->cvt->device;
  const int threads = cvtm_device_threads(device);
  const size_t n = (size_t)power->count;
  power_state *state = calloc(1, sizeof *state + (size_t)threads * sizeof state->cell[0]);
  int good = state != NULL;
  if (good) {
    state->threads = threads;
    power->state = state;
    state->is_ring = calloc(n, sizeof *state->is_ring);
    state->cut = calloc(n, sizeof *state->cut);
    good = state->is_ring && state->cut;
    for (int t = 0; t < threads; ++t)
      good &= cvtm_power_cell_grow(&state->cell[t], CVTM_CELL_CORNERS);
  }
  if (good) return CVTM_OK;
  destroy_state_cpu(power);
  return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "no memory for %lld cells",
                   (long long)power->count);
}

/* --- the diagram --------------------------------------------------------------------------- */

/* A cell of the batch: its couplings are stored when the means along its edges are known. */
typedef struct pending_cell {
  int64_t slot;
  int32_t corners;
  double x[CVTM_POWER_RING], y[CVTM_POWER_RING];
  int32_t other[CVTM_POWER_RING];
} pending_cell;

/* The value of `round` before the first round. */
enum { KEEP = 0 /* keeps the cells that are still bounded by their rings */ };

/* A thread's part of a diagram. */
typedef struct power_part {
  cvtm_power *power;
  cvtm_power_view view;
  int32_t round;
  cvtm_power_cell *cell;
  cvtm_batch batch; /* cells whose integrals have not been computed */
  /* The cells of `batch`; the next cell is built in the entry after the last. */
  pending_cell pending[CVTM_BATCH_CELLS];
} power_part;

/* --- sums and couplings ---------------------------------------------------------------- */

/* Allocates `count` entries for new rows; returns the first. */
static int32_t allocate_entries(cvtm_power *power, int32_t count) {
  int32_t first = 0;
  if (count == 0) return first;
#pragma omp atomic capture
  {
    first = *power->edges;
    *power->edges += count;
  }
  return first;
}

/* The number of new entries for the row of cell i: 0 if its row of an earlier round is long
 * enough. */
CVTM_INLINE int32_t new_entries(const cvtm_power *power, int32_t i, int32_t corners) {
  return corners > power->degree[i] ? corners : 0;
}

/* Stores the row of couplings of a cell, in new entries from *next on or in its old entries, if the
 * arrays are large enough. mean: the means of the density along the edges; NULL: the function
 * computes the means. */
CVTM_INLINE void store_couplings(const power_part *s, int64_t slot, const cvtm_power_cell *cell,
                                 const cvtm_power_mean *mean, int32_t *next) {
  cvtm_power *power = s->power;
  const int32_t i = s->view.tree.index[slot], corners = cell->polygon.count;
  const int32_t first =
      power->degree[i] > 0 && new_entries(power, i, corners) == 0 ? power->first[i] : *next;
  int32_t degree = 0;
  double diagonal = 0;
  *next += new_entries(power, i, corners);
  power->degree[i] = state_of(power)->is_ring[i] = 0;
  if (first > power->edge_capacity - corners) return;
  for (int32_t k = 0; k < corners; ++k) {
    const cvtm_power_edge edge =
        cvtm_power_edge_of(&s->view, power->cvt->domain, &power->cvt->density, slot, cell, k,
                           mean ? &mean[k] : NULL, power->target, power->regularisation);
    if (edge.index < 0) continue;
    const int32_t entry = first + degree++;
    double *offset = power->edge_offset + 4 * (int64_t)entry;
    power->neighbor[entry] = edge.index;
    power->coupling[entry] = edge.coupling;
    for (int a = 0; a < 4; ++a) offset[a] = edge.offset[a];
    diagonal += edge.coupling;
  }
  power->first[i] = first;
  power->degree[i] = degree;
  power->diagonal[i] = diagonal;
  state_of(power)->is_ring[i] =
      degree == corners && degree > 2 && degree <= CVTM_POWER_RING && !power->cvt->domain.periodic;
}

CVTM_INLINE cvtm_power_cell cell_of(pending_cell *pending) {
  return (cvtm_power_cell){{.count = pending->corners,
                            .capacity = CVTM_POWER_RING,
                            .stride = 1,
                            .x = pending->x,
                            .y = pending->y},
                           pending->other};
}

/* Adds a cell to the batch; returns 0 if it must be integrated alone. The caller has put its
 * corners into the next entry of `pending`. */
CVTM_INLINE int add_to_batch(power_part *s, int64_t slot, const cvtm_cell *polygon) {
  const double *site = s->view.tree.position + 2 * slot;
  pending_cell *pending = &s->pending[s->batch.cells];
  pending->slot = slot;
  pending->corners = polygon->count;
  return cvtm_batch_add(&s->batch, s->power->cvt->domain, polygon, site[0], site[1],
                        s->view.tree.index[slot]);
}

/* Sets the moments and the couplings of the cell in s->cell, without the batch. */
static void sum_alone(power_part *s, int64_t slot) {
  cvtm_power_cell *cell = s->cell;
  const cvtm_cvt *cvt = s->power->cvt;
  const double *site = s->view.tree.position + 2 * slot;
  const int32_t i = s->view.tree.index[slot];
  int32_t next = allocate_entries(s->power, new_entries(s->power, i, cell->polygon.count));
  store_couplings(s, slot, cell, NULL, &next);
  cvt->moments[i] =
      cvtm_cell_integrate(&cvt->density, cvt->domain, site[0], site[1], &cell->polygon);
}

/* Reads the means along the edges of cell c of the batch. The moment of an edge changes sign if the
 * edge runs upwards. */
CVTM_INLINE void read_means(const cvtm_batch *batch, int32_t c,
                            cvtm_power_mean mean[CVTM_POWER_RING]) {
  const cvtm_batch_cell *cell = &batch->cell[c];
  for (int32_t e = cell->first_edge; e < cell->first_edge + cell->edges; ++e) {
    const int32_t upper = batch->upper[e], lower = batch->lower[e];
    const int goes_down = lower == (upper + 1 < cell->edges ? upper + 1 : 0);
    mean[goes_down ? upper : lower] =
        (cvtm_power_mean){batch->mean[e], goes_down ? batch->moment[e] : -batch->moment[e]};
  }
}

/* Sets the moments and the couplings of the cells of the batch. */
CVTM_INLINE void empty_batch(power_part *s) {
  cvtm_power *power = s->power;
  int32_t entries = 0;
  for (int32_t c = 0; c < s->batch.cells; ++c)
    entries += new_entries(power, (int32_t)s->batch.cell[c].slot, s->pending[c].corners);
  int32_t next = allocate_entries(power, entries);
  cvtm_batch_integrate_with_means(&s->batch, power->cvt->moments);
  for (int32_t c = 0; c < s->batch.cells; ++c) {
    const cvtm_power_cell cell = cell_of(&s->pending[c]);
    cvtm_power_mean mean[CVTM_POWER_RING];
    read_means(&s->batch, c, mean);
    store_couplings(s, s->pending[c].slot, &cell, mean, &next);
  }
  cvtm_batch_clear(&s->batch);
}

/* --- cells ------------------------------------------------------------------------------- */

/* Keeps the cell at a slot if the cell's ring still bounds it and no other cell has marked it. Else
 * marks the cells to cut: the cell itself, and the four cells that meet at each vanished edge. A
 * kept cell that is marked later is cut nevertheless. */
CVTM_INLINE void keep_cell(power_part *s, int64_t slot) {
  const int32_t i = s->view.tree.index[slot];
  const cvtm_ring row = cvtm_power_hints_of(&s->view, i);
  const cvtm_domain domain = s->power->cvt->domain;
  pending_cell *pending = &s->pending[s->batch.cells];
  int32_t *cut = state_of(s->power)->cut;
  if (!state_of(s->power)->is_ring[i]) {
    cvtm_ring_mark(&cut[i], 1);
    return;
  }
  const uint32_t missing = cvtm_power_set_by_ring(&s->view, domain, slot, row, pending->x,
                                                  pending->y, pending->other, 1);
  if (missing != 0) cvtm_ring_mark(&cut[i], 1);
  cvtm_ring_mark_gone(row, missing, cut);
  if (cvtm_ring_mark_of(&cut[i]) != 0) return;
  s->power->empty[i] = 0;
  pending->corners = row.count;
  const cvtm_power_cell cell = cell_of(pending);
  if (add_to_batch(s, slot, &cell.polygon)) return;
  s->cell->polygon.count = row.count;
  (void)cvtm_power_set_by_ring(&s->view, domain, slot, row, s->cell->polygon.x, s->cell->polygon.y,
                               s->cell->other, 1);
  sum_alone(s, slot);
}

/* Cuts out a cell; returns 0 if memory runs out. */
CVTM_INLINE int cut_cell(power_part *s, int64_t slot) {
  cvtm_power *power = s->power;
  const cvtm_cell *polygon = &s->cell->polygon;
  if (!cvtm_power_cut_out(&s->view, power->cvt->domain, slot, NULL, s->cell)) return 0;
  const size_t corners = (size_t)polygon->count;
  pending_cell *pending = &s->pending[s->batch.cells];
  power->empty[s->view.tree.index[slot]] = corners < 3;
  if (corners >= 3 && corners <= CVTM_POWER_RING) {
    memcpy(pending->x, polygon->x, corners * sizeof *pending->x);
    memcpy(pending->y, polygon->y, corners * sizeof *pending->y);
    memcpy(pending->other, s->cell->other, corners * sizeof *pending->other);
    if (add_to_batch(s, slot, polygon)) return 1;
  }
  sum_alone(s, slot);
  return 1;
}

enum { BLOCK = 32 }; /* slots that a thread takes at a time */

/* Keeps, marks or cuts the cells at the slots first .. end - 1; returns 0 if memory runs out. */
CVTM_INLINE int visit_block(power_part *s, int64_t first, int64_t end) {
  const int32_t *cut = state_of(s->power)->cut;
  int good = 1;
  cvtm_batch_clear(&s->batch);
  for (int64_t slot = first; slot < end; ++slot) {
    if (s->round == KEEP)
      keep_cell(s, slot);
    else if (cut[s->view.tree.index[slot]] == s->round)
      good &= cut_cell(s, slot);
    if (slot + 1 == end || cvtm_batch_is_full(&s->batch)) empty_batch(s);
  }
  return good;
}

CVTM_DEFINE_WIDTHS(int, visit_block, (power_part * s, int64_t first, int64_t end), (s, first, end))

/* --- agreement --------------------------------------------------------------------------- */

static cvtm_ring row_of(const void *of, int32_t i) {
  const cvtm_power *power = of;
  return (cvtm_ring){power->neighbor + power->first[i], power->degree[i]};
}

static power_part begin_part(cvtm_power *power, int32_t round) {
  power_part s;
  s.power = power;
  s.round = round;
  s.view = cvtm_power_view_of(power);
  s.cell = &state_of(power)->cell[omp_get_thread_num()];
  s.batch.density = power->cvt->density;
  return s;
}

/* Makes the cells of a round; *marked: the number of marks for the next round; after round KEEP
 * always 1, so that round 1 follows. Returns 0 if memory runs out. */
static int make_round(cvtm_power *power, int32_t round, int64_t *marked) {
  int (*const visit)(power_part *, int64_t, int64_t) =
      cvtm_has_wide_vectors() ? visit_block_wide : visit_block_baseline;
  const int64_t n = power->count;
  const power_state *state = state_of(power);
  int64_t found = 0;
  int failed = 0;
#pragma omp parallel num_threads(state->threads) reduction(| : failed) reduction(+ : found)
  {
    power_part s = begin_part(power, round);
#pragma omp for schedule(dynamic, 1)
    for (int64_t first = 0; first < n; first += BLOCK)
      failed |= !visit(&s, first, first + BLOCK < n ? first + BLOCK : n);
#pragma omp for schedule(static)
    for (int64_t i = 0; i < n; ++i)
      if (round != KEEP && cvtm_ring_mark_of(&state->cut[i]) == round)
        found += cvtm_ring_mark_disagreeing((int32_t)i, cvtm_power_hints_of(&s.view, (int32_t)i),
                                            row_of(power, (int32_t)i), row_of, power, round + 1,
                                            state->cut);
  }
  *marked = round == KEEP ? 1 : found;
  return !failed;
}

static cvtm_status cells_cpu(cvtm_power *power) {
  const size_t n = (size_t)power->count;
  int64_t marked = 1;
  memset(state_of(power)->cut, 0, n * sizeof *state_of(power)->cut);
  memset(power->degree, 0, n * sizeof *power->degree);
  for (int32_t round = KEEP; marked > 0; ++round)
    if (!make_round(power, round, &marked))
      return cvtm_fail(cvtm_device_error(power->cvt->device), CVTM_ERROR_MEMORY,
                       "no memory for a cell with very many corners");
  return CVTM_OK;
}

/* --- the other phases ---------------------------------------------------------------------- */

static cvtm_status set_weights_cpu(cvtm_power *power, const double *weight) {
  const int threads = cvtm_device_threads(power->cvt->device);
  const cvtm_site_tree_view tree = cvtm_site_tree_get_view(power->cvt->tree);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t slot = 0; slot < tree.count; ++slot) {
    power->sorted_weight[slot] = weight[tree.index[slot]];
    power->slot_of[tree.index[slot]] = (int32_t)slot;
  }
  cvtm_power_set_max_weights(power->sorted_weight, tree.count, tree.leaf_count, power->max_weight);
  return CVTM_OK;
}

static cvtm_status figures_cpu(cvtm_power *power, const double *weight) {
  cvtm_cvt *cvt = power->cvt;
  cvtm_device *device = cvt->device;
  const int64_t n = power->count;
#pragma omp parallel for num_threads(cvtm_device_threads(device)) schedule(static)
  for (int64_t i = 0; i < n; ++i) {
    power->deficit[i] = power->target - cvt->moments[i].mass;
    power->dual[i] = cvt->moments[i].second + weight[i] * power->deficit[i];
    cvt->second[i] = cvt->moments[i].second;
  }
  const struct {
    cvtm_reduction reduction;
    const double *x;
    double *result;
  } reductions[] = {{CVTM_REDUCE_SUM, power->dual, power->figures},
                    {CVTM_REDUCE_SUM, cvt->second, power->figures + 1},
                    {CVTM_REDUCE_MAX_ABS, power->deficit, power->figures + 2},
                    {CVTM_REDUCE_SUM, power->empty, power->figures + 4}};
  power->figures[5] = (double)*power->edges;
  CVTM_TRY(cvtm_dot(device, power->deficit, power->deficit, n, power->figures + 3));
  for (size_t k = 0; k < sizeof reductions / sizeof reductions[0]; ++k)
    CVTM_TRY(
        cvtm_reduce(device, reductions[k].reduction, reductions[k].x, n, reductions[k].result));
  return CVTM_OK;
}

/* The number of threads for a loop that does few operations per site. */
static int threads_of(const cvtm_power *power) {
  return power->count < 20000 ? 1 : cvtm_device_threads(power->cvt->device);
}

/* --- conjugate gradients ---------------------------------------------------------------- */

static double dot_vectors(const void *context, const double *a, const double *b) {
  const cvtm_power *power = context;
  const cvtm_cvt *cvt = power->cvt;
  double sum = 0;
  (void)cvtm_dot(cvt->device, a, b, power->count, &sum);
  return sum;
}

/* Multiplies by the matrix of couplings. */
static void multiply_couplings(const void *context, const double *x, double *y) {
  const cvtm_power *power = context;
#pragma omp parallel for num_threads(threads_of(power)) schedule(static)
  for (int64_t i = 0; i < power->count; ++i) y[i] = cvtm_power_apply_row(power, x, i);
}

/* The number of threads for the rows of a level. */
static int threads_of_level(const cvtm_power *power, const cvtm_power_level *level) {
  return level->matrix.count < 5000 ? 1 : threads_of(power);
}

static void go_down(const cvtm_power *power, const cvtm_power_level *fine,
                    const cvtm_power_level *coarse) {
#pragma omp parallel num_threads(threads_of_level(power, fine))
  {
#pragma omp for schedule(static)
    for (int64_t i = 0; i < fine->matrix.count; ++i) cvtm_power_set_residual(fine, i);
#pragma omp for schedule(static)
    for (int64_t i = 0; i < coarse->matrix.count; ++i) cvtm_power_restrict(fine, coarse, i);
  }
}

static void go_up(const cvtm_power *power, const cvtm_power_level *level,
                  const cvtm_power_level *finer) {
#pragma omp parallel for num_threads(threads_of_level(power, level)) schedule(static)
  for (int64_t i = 0; i < level->matrix.count; ++i) cvtm_power_correct_level(level, finer, i);
}

/* Solves the coarsest level. */
static void solve_coarsest(const cvtm_power_hierarchy *h) {
  const cvtm_power_level *level = &h->level[h->levels - 1];
  const int64_t n = level->matrix.count;
  for (int64_t i = 0; i < n; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < n; ++j) sum += h->inverse[i * n + j] * level->right[j];
    cvtm_power_set_correction(level, level - 1, i, sum);
  }
}

/* A V-cycle. r and z are the right side and the correction of the finest level. */
static void precondition(const void *context, const double *r, double *z) {
  const cvtm_power *power = context;
  const cvtm_power_level *level = power->hierarchy.level;
  const int32_t last = power->hierarchy.levels - 1;
  (void)r;
  (void)z;
#pragma omp parallel for num_threads(threads_of(power)) schedule(static)
  for (int64_t i = 0; i < power->count; ++i) cvtm_power_begin_cycle(level, i);
  for (int32_t l = 0; l < last; ++l) go_down(power, &level[l], &level[l + 1]);
  if (power->hierarchy.inverse) solve_coarsest(&power->hierarchy);
  for (int32_t l = power->hierarchy.inverse ? last - 1 : last; l > 0; --l)
    go_up(power, &level[l], &level[l - 1]);
  go_up(power, level, NULL);
}

static cvtm_status solve_cpu(cvtm_power *power, double tolerance, int32_t max_iterations) {
  const cvtm_cvt *cvt = power->cvt;
  const cvtm_cg_system system = {.count = power->count,
                                 .threads = threads_of(power),
                                 .context = power,
                                 .multiply = multiply_couplings,
                                 .precondition = precondition,
                                 .dot = dot_vectors};
  const cvtm_cg_vectors vectors = {power->step, power->residual, power->preconditioned,
                                   power->direction, power->product};
  double sum = 0;
  CVTM_TRY(cvtm_reduce(cvt->device, CVTM_REDUCE_SUM, power->deficit, power->count, &sum));
  for (int64_t i = 0; i < power->count; ++i)
    power->residual[i] = power->deficit[i] - sum / (double)power->count;
  *power->iterations = cvtm_cg_solve(&system, &vectors, tolerance, max_iterations).iteration;
  return CVTM_OK;
}

CVTM_POWER_PHASES(CVTM_PHASE_CPU)

const cvtm_power_table cvtm_power_table_cpu = {.create_state = create_state_cpu,
                                               .destroy_state = destroy_state_cpu,
                                               .set_weights = set_weights_cpu,
                                               .cells = cells_cpu,
                                               .figures = figures_cpu,
                                               .solve = solve_cpu,
                                               CVTM_POWER_PHASES(CVTM_PHASE_CPU_NAME)};

/* The cells of a power diagram on the CPU: kept by their rings (ring.h), or cut out by the tree. */
#include "base/vectors.h"
#include "cvt/integral.h"
#include "cvt/integral_batch.h"
#include "power/power_cpu.h"
#include "power/ring.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)CVTM_POWER_RING == (int)CVTM_BATCH_CORNERS, "a batch has room for a kept cell");

/* A copy of a cell of the batch, whose couplings need the means along its edges. */
typedef struct due_cell {
  int64_t place;
  int32_t corners;
  double x[CVTM_POWER_RING], y[CVTM_POWER_RING];
  int32_t other[CVTM_POWER_RING];
} due_cell;

/* A thread's part of a diagram. */
typedef struct power_part {
  cvtm_power *power;
  cvtm_power_view view;
  int32_t round;
  cvtm_power_cell *cell;
  cvtm_batch batch;               /* of cells whose integrals are due */
  due_cell due[CVTM_BATCH_CELLS]; /* the same cells */
  void (*integrate)(cvtm_batch *batch, cvtm_cell_moments *moments);
} power_part;

static cvtm_power_state_cpu *state_of(const cvtm_power *power) { return power->state; }

/* --- cells that are kept --------------------------------------------------------------- */

/* Sets the polygon of the site at a place by its ring; returns the missing edges. */
static uint32_t set_by_ring(power_part *s, int64_t place) {
  const cvtm_power_row row = cvtm_power_hints_of(&s->view, s->view.tree.index[place]);
  cvtm_cell *polygon = &s->cell->polygon;
  polygon->count = row.count;
  return cvtm_power_set_by_ring(&s->view, s->power->cvt->domain, place, row, polygon->x, polygon->y,
                                s->cell->other, 1);
}

/* Threads mark cells, and look at the marks, at the same time. */
static void mark(int32_t *cut, int32_t round) { __atomic_store_n(cut, round, __ATOMIC_RELAXED); }
static int32_t mark_of(const int32_t *cut) { return __atomic_load_n(cut, __ATOMIC_RELAXED); }

/* Marks the cells to be cut: those without a ring, and the four cells that meet at each edge that
 * has vanished. */
static void mark_changed(power_part *s, int64_t place) {
  const int32_t i = s->view.tree.index[place];
  const cvtm_power_state_cpu *state = state_of(s->power);
  if (!state->is_ring[i]) {
    mark(&state->cut[i], 1);
    return;
  }
  const cvtm_power_row row = cvtm_power_hints_of(&s->view, i);
  const uint32_t missing = set_by_ring(s, place);
  if (missing != 0) mark(&state->cut[i], 1);
  for (int32_t k = 0; k < row.count; ++k) {
    if (!(missing >> k & 1)) continue;
    mark(&state->cut[row.index[k > 0 ? k - 1 : row.count - 1]], 1);
    mark(&state->cut[row.index[k]], 1);
    mark(&state->cut[row.index[k + 1 < row.count ? k + 1 : 0]], 1);
  }
}

/* --- sums and couplings ---------------------------------------------------------------- */

/* The first entry of a row of `count` couplings. A cell that was kept uses its row again. */
static int32_t allocate_row(cvtm_power *power, int32_t i, int32_t count, int again) {
  int32_t first;
  if (again && count <= power->degree[i]) return power->first[i];
#pragma omp atomic capture
  {
    first = *power->edges;
    *power->edges += count;
  }
  return first;
}

/* Stores the row of couplings of a cell, if the arrays have room for it. mean: along each edge;
 * NULL: to be found. */
static void store_couplings(const power_part *s, int64_t place, const cvtm_power_cell *cell,
                            const cvtm_power_mean *mean) {
  cvtm_power *power = s->power;
  const int32_t i = s->view.tree.index[place], corners = cell->polygon.count;
  const int32_t first = allocate_row(power, i, corners, s->round > 1);
  int32_t degree = 0;
  double diagonal = 0;
  power->degree[i] = state_of(power)->is_ring[i] = 0;
  if (first > power->edge_capacity - corners) return;
  for (int32_t k = 0; k < corners; ++k) {
    const cvtm_power_edge edge =
        cvtm_power_edge_of(&s->view, power->cvt->domain, &power->cvt->density, place, cell, k,
                           mean ? &mean[k] : NULL, power->target, power->regularisation);
    if (edge.index < 0) continue;
    const int32_t entry = first + degree++;
    power->neighbor[entry] = edge.index;
    power->coupling[entry] = edge.coupling;
    memcpy(power->edge_offset + 4 * (int64_t)entry, edge.offset, sizeof edge.offset);
    diagonal += edge.coupling;
  }
  power->first[i] = first;
  power->degree[i] = degree;
  power->diagonal[i] = diagonal;
  state_of(power)->is_ring[i] =
      degree == corners && degree > 2 && degree <= CVTM_POWER_RING && !power->cvt->domain.periodic;
}

/* Adds the cell to the batch; returns 0 if it does not belong there. */
static int add_to_batch(power_part *s, int64_t place, double sx, double sy) {
  const cvtm_cell *polygon = &s->cell->polygon;
  const size_t corners = (size_t)polygon->count;
  due_cell *due = &s->due[s->batch.cells];
  if (!cvtm_batch_add(&s->batch, s->power->cvt->domain, polygon, sx, sy, s->view.tree.index[place]))
    return 0;
  due->place = place;
  due->corners = polygon->count;
  memcpy(due->x, polygon->x, corners * sizeof *due->x);
  memcpy(due->y, polygon->y, corners * sizeof *due->y);
  memcpy(due->other, s->cell->other, corners * sizeof *due->other);
  return 1;
}

/* Sets the moments and the couplings of a cell, or adds it to the batch. */
static void sum_cell(power_part *s, int64_t place) {
  const cvtm_cvt *cvt = s->power->cvt;
  cvtm_cell *polygon = &s->cell->polygon;
  const int32_t i = s->view.tree.index[place];
  const double sx = s->view.tree.position[2 * place], sy = s->view.tree.position[2 * place + 1];
  cvtm_cell_walk rows;
  cvt->moments[i] = (cvtm_cell_moments){0, 0, 0, 0};
  if (polygon->count >= 3 && add_to_batch(s, place, sx, sy)) return;
  store_couplings(s, place, s->cell, NULL);
  if (polygon->count < 3) return;
  cvtm_cell_set_slopes(polygon);
  cvtm_cell_begin_walk(cvt->domain, sx, sy, polygon, &rows);
  cvtm_integral_add_rows(&cvt->density, polygon, &rows, rows.first, rows.last, &cvt->moments[i]);
}

static void integrate_baseline(cvtm_batch *batch, cvtm_cell_moments *moments) {
  cvtm_batch_integrate_with_means(batch, moments);
}

CVTM_WIDE static void integrate_wide(cvtm_batch *batch, cvtm_cell_moments *moments) {
  cvtm_batch_integrate_with_means(batch, moments);
}

/* The means along the edges of cell c of the batch. An edge goes on from its upper end, or ends
 * there. */
static void read_means(const cvtm_batch *batch, int32_t c, cvtm_power_mean mean[CVTM_POWER_RING]) {
  const cvtm_batch_cell *cell = &batch->cell[c];
  for (int32_t e = cell->first_edge; e < cell->first_edge + cell->edges; ++e) {
    const int32_t upper = batch->upper[e], lower = batch->lower[e];
    const int goes_down = lower == (upper + 1 < cell->edges ? upper + 1 : 0);
    mean[goes_down ? upper : lower] =
        (cvtm_power_mean){batch->mean[e], goes_down ? batch->moment[e] : -batch->moment[e]};
  }
}

/* Sets the moments and the couplings of the cells of the batch. */
static void empty_batch(power_part *s) {
  s->integrate(&s->batch, s->power->cvt->moments);
  for (int32_t c = 0; c < s->batch.cells; ++c) {
    due_cell *due = &s->due[c];
    const cvtm_power_cell cell = {
        {.count = due->corners, .capacity = CVTM_POWER_RING, .stride = 1, .x = due->x, .y = due->y},
        due->other};
    cvtm_power_mean mean[CVTM_POWER_RING];
    read_means(&s->batch, c, mean);
    store_couplings(s, due->place, &cell, mean);
  }
  cvtm_batch_clear(&s->batch);
}

/* Makes one cell; returns 0 if memory ran out. */
static int make_cell(power_part *s, int64_t place) {
  cvtm_power *power = s->power;
  const int32_t i = s->view.tree.index[place];
  if (state_of(power)->cut[i] == 0)
    (void)set_by_ring(s, place);
  else if (!cvtm_power_cut_out(&s->view, power->cvt->domain, place, NULL, s->cell))
    return 0;
  power->empty[i] = s->cell->polygon.count < 3;
  sum_cell(s, place);
  return 1;
}

enum { BLOCK = 32 }; /* places that a thread takes at a time */

/* Makes the cells at some places that were marked for the round, in round 1 all. */
static int make_block(power_part *s, int64_t first, int64_t end) {
  const int32_t *cut = state_of(s->power)->cut;
  int good = 1;
  cvtm_batch_clear(&s->batch);
  for (int64_t place = first; place < end; ++place) {
    if (s->round == 1 || cut[s->view.tree.index[place]] == s->round) good &= make_cell(s, place);
    if (place + 1 == end || cvtm_batch_is_full(&s->batch)) empty_batch(s);
  }
  return good;
}

/* --- agreement --------------------------------------------------------------------------- */

static cvtm_power_row row_of(const cvtm_power *power, int32_t i) {
  return (cvtm_power_row){power->neighbor + power->first[i], power->degree[i]};
}

/* Marks for the next round the kept cells that do not agree with cell i, which was cut. Returns
 * their number. */
static int64_t mark_disagreeing(const cvtm_power *power, const cvtm_power_view *view, int32_t i,
                                int32_t next) {
  int32_t *cut = state_of(power)->cut;
  const cvtm_power_row old = cvtm_power_hints_of(view, i), row = row_of(power, i);
  int64_t marked = 0;
  for (int32_t k = 0; k < row.count; ++k) {
    const int32_t j = row.index[k], before = row.index[k > 0 ? k - 1 : row.count - 1];
    const int32_t after = row.index[k + 1 < row.count ? k + 1 : 0];
    if (mark_of(&cut[j]) != 0 || cvtm_power_row_agrees(row_of(power, j), i, before, after))
      continue;
    mark(&cut[j], next);
    ++marked;
  }
  for (int32_t k = 0; k < old.count; ++k) {
    const int32_t j = old.index[k];
    if (mark_of(&cut[j]) != 0 || cvtm_power_find_in_row(row, j) >= 0) continue;
    mark(&cut[j], next);
    ++marked;
  }
  return marked;
}

static power_part begin_part(cvtm_power *power, int32_t round) {
  power_part s;
  s.power = power;
  s.round = round;
  s.view = cvtm_power_view_of(power);
  s.cell = &state_of(power)->cell[omp_get_thread_num()];
  s.batch.density = power->cvt->density;
  s.integrate = cvtm_has_wide_vectors() ? integrate_wide : integrate_baseline;
  return s;
}

/* Makes the cells of a round; *marked: at least 1 if there are any for the next one. Returns 0 if
 * memory ran out. */
static int make_round(cvtm_power *power, int32_t round, int64_t *marked) {
  const int64_t n = power->count;
  const cvtm_power_state_cpu *state = state_of(power);
  int64_t found = 0;
  int failed = 0;
#pragma omp parallel num_threads(state->threads) reduction(| : failed) reduction(+ : found)
  {
    power_part s = begin_part(power, round);
#pragma omp for schedule(dynamic, 1)
    for (int64_t first = 0; first < n; first += BLOCK)
      failed |= !make_block(&s, first, first + BLOCK < n ? first + BLOCK : n);
#pragma omp for schedule(static)
    for (int64_t i = 0; i < n; ++i)
      if (mark_of(&state->cut[i]) == round)
        found += mark_disagreeing(power, &s.view, (int32_t)i, round + 1);
  }
  *marked = found;
  return !failed;
}

cvtm_status cvtm_power_cells_cpu(cvtm_power *power) {
  const cvtm_power_state_cpu *state = state_of(power);
  const int64_t n = power->count;
  int64_t marked = 1;
  memset(state->cut, 0, (size_t)n * sizeof *state->cut);
#pragma omp parallel num_threads(state->threads)
  {
    power_part s = begin_part(power, 0);
#pragma omp for schedule(static)
    for (int64_t place = 0; place < n; ++place) mark_changed(&s, place);
  }
  for (int32_t round = 1; marked > 0; ++round)
    if (!make_round(power, round, &marked))
      return cvtm_fail(cvtm_device_error(power->cvt->device), CVTM_ERROR_MEMORY,
                       "no memory for a cell with very many corners");
  return CVTM_OK;
}

#include "base/primitives.h"
#include "base/ranks.h"
#include "cvt/cell_host.h"
#include "cvt/evaluate_kernels.h"
#include "cvt/integral_batch.h"
#include "cvt/rings.h"

#include <stdlib.h>
#include <string.h>

#include <omp.h>

/* A value in kept_cells.cut: the cell and a neighbour disagree by rounding, so that the next
 * evaluation does not keep the cell. */
enum { DOUBTED = -1 };

enum {
  RING = 15,        /* neighbours of a ring, at most */
  RING_PADDED = 16, /* RING rounded up to full vectors */
  RING_TURNS = -1   /* result of set_corners: the polygon does not go around the site once */
};

/* An edge counts as gone if its squared length is below this fraction of the squared radius of the
 * cell. */
#define RING_SHORT 1e-6

/* The ring of a cell; count 0: none. */
typedef struct kept_ring {
  int32_t count;
  int32_t site[RING];
} kept_ring;

static cvtm_ring ring_view(const kept_ring *ring) { return (cvtm_ring){ring->site, ring->count}; }

/* The rings from which the next evaluation begins, if it has the same number of sites (rings.h). */
typedef struct kept_cells {
  kept_ring *ring;  /* the ring of each site */
  int32_t *slot_of; /* the slot of each site in the tree of this evaluation */
  int32_t *cut;     /* the round in which each cell is cut out; 0: the cell is kept; DOUBTED */
  int64_t count;    /* sites of the evaluation that made the rings; 0: there are none */
  int tangled;      /* nonzero: a cell has too many neighbours for a ring */
} kept_cells;

/* The state of a plan. cell: a polygon for each thread, whose memory grows when a cell needs more
 * corners. */
typedef struct cpu_state {
  kept_cells kept;
  int threads;
  cvtm_cell cell[];
} cpu_state;

static void destroy_state_cpu(cvtm_cvt *cvt) {
  cpu_state *state = cvt->state;
  if (!state) return;
  for (int t = 0; t < state->threads; ++t) cvtm_cell_release(&state->cell[t]);
  free(state->kept.ring);
  free(state->kept.slot_of);
  free(state->kept.cut);
  free(state);
  cvt->state = NULL;
}

static int allocate_kept(kept_cells *kept, int64_t capacity) {
  const size_t n = (size_t)(capacity > 0 ? capacity : 1);
  kept->ring = malloc(n * sizeof *kept->ring);
  kept->slot_of = malloc(n * sizeof *kept->slot_of);
  kept->cut = malloc(n * sizeof *kept->cut);
  return kept->ring && kept->slot_of && kept->cut;
}

static cvtm_status create_state_cpu(cvtm_cvt *cvt) {
  const int threads = cvtm_device_threads(cvt->device);
  cpu_state *state = calloc(1, sizeof *state + (size_t)threads * sizeof state->cell[0]);
  int good = state != NULL;
  if (good) {
    state->threads = threads;
    cvt->state = state;
    for (int t = 0; t < threads; ++t) good &= cvtm_cell_grow(&state->cell[t], CVTM_CELL_CORNERS);
    good = good && allocate_kept(&state->kept, cvt->capacity);
  }
  if (good) return CVTM_OK;
  destroy_state_cpu(cvt);
  return cvtm_fail(cvtm_device_error(cvt->device), CVTM_ERROR_MEMORY, "no memory for %d cells",
                   threads);
}

enum { BLOCK = 64 /* sites that a thread evaluates at a time */ };

/* cell_sums.round is the number of a round (1, 2, ...; see rings.h), or one of these: */
enum {
  KEEP = 0 /* keeps the cells that can be kept */,
  CUT_ALL = -1 /* cuts out all cells, without rings */
};
enum {
  FOUND_MORE = 1 /* a cell is marked for the next round */,
  FOUND_TANGLE = 2 /* kept_cells.tangled */
};

/* A thread's part of an evaluation. */
typedef struct cell_sums {
  const cvtm_cvt *cvt;
  cvtm_site_tree_view tree;
  kept_cells *kept; /* NULL: no cell is kept */
  int32_t round;
  int found; /* sum of FOUND_MORE and FOUND_TANGLE, or 0 */
  cvtm_cell *cell;
  cvtm_batch batch; /* cells that wait for their integration */
} cell_sums;

/* Sets the moments of the cell in s->cell, or adds it to the batch. */
CVTM_INLINE void sum_made_cell(cell_sums *s, int64_t slot) {
  const cvtm_cvt *cvt = s->cvt;
  const double sx = s->tree.position[2 * slot], sy = s->tree.position[2 * slot + 1];
  const int32_t index = s->tree.index[slot];
  if (!cvtm_batch_add(&s->batch, cvt->domain, s->cell, sx, sy, index))
    cvt->moments[index] = cvtm_cell_integrate(&cvt->density, cvt->domain, sx, sy, s->cell);
}

/* Sets the moments to those of no pixels; returns 0 if the site is not finite. */
static int clear_moments(const cell_sums *s, int64_t slot) {
  cvtm_cell_moments *sums = &s->cvt->moments[s->tree.index[slot]];
  *sums = cvtm_cvt_no_pixels(s->tree.position + 2 * slot);
  return sums->mass == 0;
}

/* --- cells that are kept (rings.h) --------------------------------------------------------- */

static int is_kept(const int32_t *cut) { return cvtm_ring_mark_of(cut) == 0; }

/* The positions of sites by their indices. slot_of: the slot of each site. */
typedef struct ring_sites {
  const cvtm_site_tree_view *tree;
  const int32_t *slot_of;
} ring_sites;

CVTM_INLINE int may_be_kept(const kept_ring *ring) {
  int touches_border = 0;
  for (int32_t k = 0; k < ring->count; ++k) touches_border |= ring->site[k] < 0;
  return ring->count >= 3 && !touches_border;
}

/* Returns a bit for each edge of the polygon that is too short or begins too close to the border of
 * the domain. Edge k leads from corner (x[k], y[k]) to the next corner, perpendicular to (dx[k],
 * dy[k]). */
CVTM_INLINE uint32_t gone_edges(const double *dx, const double *dy, int32_t sides, const double *x,
                                const double *y, double radius2, const cvtm_cell_box *inner) {
  uint32_t gone = 0;
  for (int32_t k = 0; k < sides; k += CVTM_SIDE_LANES) {
    const cvtm_side_lanes px = CVTM_SIDE_READ(dx + k), py = CVTM_SIDE_READ(dy + k);
    const cvtm_side_lanes cx = CVTM_SIDE_READ(x + k), cy = CVTM_SIDE_READ(y + k);
    const cvtm_side_lanes forth =
        (CVTM_SIDE_READ(x + k + 1) - cx) * py - (CVTM_SIDE_READ(y + k + 1) - cy) * px;
    const cvtm_side_masks there =
        (forth > 0) & (forth * forth > RING_SHORT * radius2 * (px * px + py * py)) &
        (cx > inner->x0) & (cx < inner->x1) & (cy > inner->y0) & (cy < inner->y1);
    for (int32_t lane = 0; lane < CVTM_SIDE_LANES && k + lane < sides; ++lane)
      gone |= (uint32_t)(there[lane] == 0) << (k + lane);
  }
  return gone;
}

/* Sets the corners of the cell of the site at a slot from its ring, which does not touch the
 * border. Returns 0 if the ring still bounds the cell. Otherwise the cell gets no corners, and the
 * result is RING_TURNS, or has a bit for each neighbour whose edge is gone. The cell must have
 * memory for RING_PADDED corners. */
CVTM_INLINE int32_t set_corners(const ring_sites *sites, cvtm_domain domain, int64_t slot,
                                const kept_ring *ring, cvtm_cell *cell) {
  double dx[RING_PADDED + 2], dy[RING_PADDED + 2];
  double x[RING_PADDED + 1], y[RING_PADDED + 1];
  const double *position = sites->tree->position;
  const double sx = position[2 * slot], sy = position[2 * slot + 1];
  const int32_t n = ring->count, padded = (n + CVTM_SIDE_LANES - 1) & -CVTM_SIDE_LANES;
  int32_t turns = 0;
  int good = 1;
  for (int32_t k = 0; k < n; ++k) {
    const int64_t other = sites->slot_of[ring->site[k]];
    dx[k] = position[2 * other] - sx;
    dy[k] = position[2 * other + 1] - sy;
  }
  for (int32_t k = n; k <= padded + 1; ++k) {
    dx[k] = dx[k - n];
    dy[k] = dy[k - n];
  }
  for (int32_t k = 0; k < n; ++k) turns += dy[k] < 0 && !(dy[k + 1] < 0);
  cell->count = 0;
  /* Corner k is the point where bisectors k and k + 1 meet. */
  const double radius2 = cvtm_hull_corner_lanes(dx, dy, n, cell->x, cell->y, &good);
  if (turns != 1 || !good || !(radius2 < HUGE_VAL)) return RING_TURNS;
  for (int32_t k = 0; k < padded; ++k) {
    x[k] = cell->x[k];
    y[k] = cell->y[k];
  }
  x[padded] = x[padded - n];
  y[padded] = y[padded - n];
  const double margin = sqrt(RING_SHORT * radius2);
  const cvtm_cell_box inner = {margin - sx, margin - sy, (double)domain.width - sx - margin,
                               (double)domain.height - sy - margin};
  const uint32_t gone = gone_edges(dx + 1, dy + 1, n, x, y, radius2, &inner);
  if (gone == 0) cell->count = n;
  /* bit k: the edge to neighbour k is gone */
  return (int32_t)(gone << 1 | gone >> (n - 1)) & ((1 << n) - 1);
}

/* Sets the ring of a cell that hull construction has made. */
CVTM_INLINE void ring_of_hull(const cvtm_site_tree_view *tree, const cvtm_hull *hull, int32_t sides,
                              kept_ring *ring) {
  /* If all other poles were removed after the corners were listed, every remaining pole is a
   * corner. */
  const int compacted = hull->count == __builtin_popcount(hull->corners);
  ring->count = sides;
  for (int32_t k = 0; k < sides; ++k) {
    const int32_t order = hull->order[k];
    const int32_t at = compacted ? __builtin_popcount(hull->corners & ((1u << order) - 1)) : order;
    const int32_t slot = hull->slot[at];
    ring->site[k] = slot < 0 ? CVTM_POLYGON_BORDER : tree->index[slot];
  }
}

/* Sets the ring of a polygon that tree clipping has made. If a site has clipped twice, by rounding
 * two consecutive edges may have that site; the second edge is skipped. If there are too many
 * neighbours, sets an empty ring and returns 0. */
CVTM_INLINE int ring_of_polygon(const int32_t *neighbor, int32_t corners, kept_ring *ring) {
  ring->count = 0;
  for (int32_t k = 0; k < corners; ++k) {
    if (neighbor[k] == neighbor[k > 0 ? k - 1 : corners - 1]) continue;
    if (ring->count == RING) {
      ring->count = 0;
      return 0;
    }
    ring->site[ring->count++] = neighbor[k];
  }
  return 1;
}

enum {
  PREFETCHED = 6 /* slots ahead at which rings, which lie in the caller's order, are prefetched */
};

/* Makes the cell if its ring still bounds it; otherwise marks the cells that cannot be kept. */
CVTM_INLINE void keep_cell(cell_sums *s, int64_t slot) {
  const int64_t later = slot + PREFETCHED < s->tree.count ? slot + PREFETCHED : slot;
  __builtin_prefetch(&s->kept->ring[s->tree.index[later]]);
  const ring_sites sites = {&s->tree, s->kept->slot_of};
  const int32_t i = s->tree.index[slot];
  const kept_ring *ring = &s->kept->ring[i];
  int32_t *cut = s->kept->cut;
  if (!is_kept(&cut[i])) return;
  if (!clear_moments(s, slot) || !may_be_kept(ring)) {
    cvtm_ring_mark(&cut[i], 1);
    return;
  }
  const int32_t gone = set_corners(&sites, s->cvt->domain, slot, ring, s->cell);
  if (gone == 0) return;
  cvtm_ring_mark(&cut[i], 1);
  if (gone != RING_TURNS) cvtm_ring_mark_gone(ring_view(ring), (uint32_t)gone, cut);
}

/* Sets the ring of a cell that tree clipping has made. If the cell could be kept, also computes its
 * corners from the ring, so that the corners of a cell do not depend on the method. */
static void set_ring_of_tree(cell_sums *s, int64_t slot, kept_ring *ring) {
  const ring_sites sites = {&s->tree, s->kept->slot_of};
  cvtm_cell *cell = s->cell;
  const int32_t n = cell->count;
  double x[RING_PADDED], y[RING_PADDED];
  cvtm_cell found = {.capacity = RING_PADDED, .stride = 1, .x = x, .y = y};
  if (!ring_of_polygon(cell->neighbor, n, ring)) s->found |= FOUND_TANGLE;
  if (!may_be_kept(ring)) return;
  if (set_corners(&sites, s->cvt->domain, slot, ring, &found) != 0) return;
  cell->count = found.count;
  memcpy(cell->x, x, (size_t)found.count * sizeof x[0]);
  memcpy(cell->y, y, (size_t)found.count * sizeof y[0]);
}

/* The part of cut_out for the few cells that hull construction cannot decide: tree clipping. */
static int cut_out_by_tree(cell_sums *s, int64_t slot, kept_ring *ring) {
  if (!cvtm_cell_cut_out_by_tree(&s->tree, s->cvt->domain, slot, s->cell)) return 0;
  if (ring) set_ring_of_tree(s, slot, ring);
  return 1;
}

/* Makes a cell, and sets *ring unless `ring` is NULL. Returns 0 if memory runs out. */
CVTM_INLINE int cut_out(cell_sums *s, int64_t slot, kept_ring *ring) {
  cvtm_hull_pole poles[CVTM_HULL_POLES];
  int32_t slots[CVTM_HULL_POLES], order[CVTM_HULL_SIDES], scratch[CVTM_HULL_SCRATCH];
  cvtm_hull hull = cvtm_hull_in(&s->tree, poles, slots, order, scratch);
  const cvtm_lanes one = {.lane = 0, .count = 1};
  double radius2;
  if (s->cvt->tree_clipping || cvtm_cell_by_hull(&s->tree, s->cvt->domain, slot, 1, one, &hull,
                                                 s->cell, &radius2) != CVTM_CELL_DONE)
    return cut_out_by_tree(s, slot, ring);
  if (ring) ring_of_hull(&s->tree, &hull, s->cell->count, ring);
  return 1;
}

static cvtm_ring ring_of_site(const void *kept, int32_t i) {
  return ring_view(&((const kept_cells *)kept)->ring[i]);
}

/* Makes a cell that is marked for this round; returns 0 if memory runs out. */
CVTM_INLINE int cut_cell(cell_sums *s, int64_t slot) {
  const int32_t i = s->tree.index[slot];
  kept_ring now = {0};
  if (s->round != CUT_ALL && cvtm_ring_mark_of(&s->kept->cut[i]) != s->round) return 1;
  if (clear_moments(s, slot) && !cut_out(s, slot, s->kept ? &now : NULL)) return 0;
  if (s->round == CUT_ALL) return 1;
  if (cvtm_ring_mark_disagreeing(i, ring_of_site(s->kept, i), ring_view(&now), ring_of_site,
                                 s->kept, s->round + 1, s->kept->cut) > 0)
    s->found |= FOUND_MORE;
  s->kept->ring[i] = now;
  return 1;
}

CVTM_INLINE int visit_cell(cell_sums *s, int64_t slot) {
  int good = 1;
  s->cell->count = 0;
  if (!cvtm_tree_is_own(&s->tree, slot)) return 1;
  if (s->round == KEEP)
    keep_cell(s, slot);
  else
    good = cut_cell(s, slot);
  if (good && s->cell->count >= 3) sum_made_cell(s, slot);
  return good;
}

/* Visits the cells at slots first .. end - 1; returns 0 if memory runs out. */
CVTM_INLINE int sum_block(cell_sums *s, int64_t first, int64_t end) {
  int good = 1;
  cvtm_batch_clear(&s->batch);
  for (int64_t slot = first; slot < end; ++slot) {
    good &= visit_cell(s, slot);
    if (slot + 1 == end || cvtm_batch_is_full(&s->batch))
      cvtm_batch_integrate(&s->batch, s->cvt->moments);
  }
  return good;
}

CVTM_DEFINE_WIDTHS(int, sum_block, (cell_sums * s, int64_t first, int64_t end), (s, first, end))

/* Makes one pass over the cells. *found = the bits of cell_sums.found of all threads. Returns 0 if
 * memory runs out. */
static int sum_cells(cvtm_cvt *cvt, int64_t count, kept_cells *kept, int32_t round, int *found) {
  int (*const sum)(cell_sums *, int64_t, int64_t) =
      cvtm_has_wide_vectors() ? sum_block_wide : sum_block_baseline;
  cpu_state *state = cvt->state;
  int failed = 0, all = 0;
#pragma omp parallel num_threads(state->threads) reduction(| : failed, all)
  {
    cell_sums s;
    s.cvt = cvt;
    s.tree = cvtm_site_tree_get_view(cvt->tree);
    s.kept = kept;
    s.round = round;
    s.found = 0;
    s.cell = &state->cell[omp_get_thread_num()];
    s.batch.density = cvt->density;
#pragma omp for schedule(dynamic, 1)
    for (int64_t first = 0; first < count; first += BLOCK)
      failed |= !sum(&s, first, first + BLOCK < count ? first + BLOCK : count);
    all |= s.found;
  }
  *found = all;
  return !failed;
}

/* Marks DOUBTED cells for round 1; marks all cells and returns 1 if there are no usable rings. */
static int begin_rounds(const cvtm_cvt *cvt, int64_t count, kept_cells *kept) {
  const cvtm_site_tree_view tree = cvtm_site_tree_get_view(cvt->tree);
  const int other = kept->count != count, all = other || kept->tangled;
#pragma omp parallel for num_threads(cvtm_device_threads(cvt->device)) schedule(static)
  for (int64_t slot = 0; slot < count; ++slot) {
    const int32_t i = tree.index[slot];
    kept->slot_of[i] = (int32_t)slot;
    if (other) kept->ring[i].count = 0;
    kept->cut[i] = all || kept->cut[i] == DOUBTED;
  }
  kept->count = count;
  return all;
}

static void mark_kept(kept_cells *kept, int32_t round) {
  for (int64_t i = 0; i < kept->count; ++i)
    if (kept->cut[i] == 0) kept->cut[i] = round;
}

/* Marks as DOUBTED the cells that disagree with a neighbour, which occurs where rounding decides
 * which cells meet. If such cells were kept in the next evaluation, they would leave a gap. */
static void doubt_disagreeing(const cvtm_cvt *cvt, kept_cells *kept) {
#pragma omp parallel for num_threads(cvtm_device_threads(cvt->device)) schedule(static)
  for (int64_t i = 0; i < kept->count; ++i) {
    const cvtm_ring ring = ring_of_site(kept, (int32_t)i);
    if (is_kept(&kept->cut[i])) continue;
    for (int32_t k = 0; k < ring.count; ++k) {
      const int32_t j = ring.site[k];
      if (j < 0 || cvtm_ring_agrees(ring_of_site(kept, j), (int32_t)i, cvtm_ring_at(ring, k - 1),
                                    cvtm_ring_at(ring, k + 1)))
        continue;
      cvtm_ring_mark(&kept->cut[i], DOUBTED);
      cvtm_ring_mark(&kept->cut[j], DOUBTED);
    }
  }
}

/* Sets the moments of all cells; returns 0 if memory runs out. A cell with too many neighbours for
 * a ring cannot be compared with other cells; then all cells are cut out, in this and in the next
 * evaluation. */
static int sum_in_rounds(cvtm_cvt *cvt, int64_t count, kept_cells *kept) {
  int all_cut = begin_rounds(cvt, count, kept), found = 0;
  int good = all_cut || sum_cells(cvt, count, kept, KEEP, &found);
  kept->tangled = 0;
  found = FOUND_MORE;
  for (int32_t round = 1; good && (found & FOUND_MORE); ++round) {
    good = sum_cells(cvt, count, kept, round, &found);
    kept->tangled |= (found & FOUND_TANGLE) != 0;
    if (!kept->tangled || all_cut) continue;
    mark_kept(kept, round + 1);
    found |= FOUND_MORE;
    all_cut = 1;
  }
  if (good) doubt_disagreeing(cvt, kept);
  if (!good) kept->count = 0;
  return good;
}

/* Sets the moments of all cells as sum_in_rounds does, but cuts out every cell and keeps no rings.
 * The bits are the same, since cells are cut out by the same methods. */
static int sum_without_rings(cvtm_cvt *cvt, int64_t count, kept_cells *kept) {
  int found;
  (void)begin_rounds(cvt, count, kept);
  kept->count = 0;
  return sum_cells(cvt, count, kept, CUT_ALL, &found);
}

/* Sets the moments of all cells. keeps: nonzero: keeps their rings for the next evaluation. */
static cvtm_status sum_all_cells(cvtm_cvt *cvt, int64_t count, int keeps) {
  cpu_state *state = cvt->state;
  int found, good;
  if (cvt->tree_clipping || cvt->domain.periodic)
    good = sum_cells(cvt, count, NULL, CUT_ALL, &found);
  else
    good = keeps ? sum_in_rounds(cvt, count, &state->kept)
                 : sum_without_rings(cvt, count, &state->kept);
  return good ? CVTM_OK
              : cvtm_fail(cvtm_device_error(cvt->device), CVTM_ERROR_MEMORY,
                          "no memory for a cell with very many corners");
}

static cvtm_status cell_moments_cpu(cvtm_cvt *cvt, int64_t count) {
  return sum_all_cells(cvt, count, 1);
}

/* Keeps no rings, since the ghost sites change from one evaluation to the next. */
static cvtm_status part_moments_cpu(cvtm_cvt *cvt, int64_t count, const uint32_t *missed,
                                    int64_t *lacking) {
  const cvtm_status status = sum_all_cells(cvt, count, 0);
  *lacking = *missed != 0;
  return status == CVTM_OK ? cvtm_ranks_sum(cvt->device, lacking, 1) : status;
}

static cvtm_status label_moments_cpu(cvtm_cvt *cvt, const double *sites, int64_t count) {
  const int64_t area = (int64_t)cvt->domain.width * cvt->domain.height;
#pragma omp parallel for num_threads(cvtm_device_threads(cvt->device)) schedule(dynamic, 64)
  for (int64_t i = 0; i < count; ++i) {
    cvtm_cell_moments sums = cvtm_cvt_no_pixels(sites + 2 * i);
    for (int64_t k = cvtm_lower_bound_64(cvt->keys, 0, area, (uint64_t)i);
         k < area && cvt->keys[k] == (uint64_t)i; ++k) {
      cvtm_cvt_add_pixel(&cvt->density, cvt->pixels[k], sites[2 * i], sites[2 * i + 1], &sums);
    }
    cvt->moments[i] = sums;
  }
  return CVTM_OK;
}

static cvtm_status finish_cpu(cvtm_cvt *cvt, int64_t count, int64_t fixed, double *value,
                              double *gradient) {
#pragma omp parallel for num_threads(cvtm_device_threads(cvt->device)) schedule(static)
  for (int64_t i = 0; i < count; ++i) {
    cvt->second[i] = cvt->moments[i].second;
    cvt->distance[i] = cvtm_cvt_finish_site(&cvt->moments[i], i, fixed, gradient);
  }
  CVTM_TRY(cvtm_reduce(cvt->device, CVTM_REDUCE_SUM, cvt->second, count, value));
  return cvtm_reduce(cvt->device, CVTM_REDUCE_MAX, cvt->distance, count, value + 1);
}

CVTM_CVT_PHASES(CVTM_PHASE_CPU)

const cvtm_cvt_table cvtm_cvt_table_cpu = {.create_state = create_state_cpu,
                                           .destroy_state = destroy_state_cpu,
                                           .cell_moments = cell_moments_cpu,
                                           .part_moments = part_moments_cpu,
                                           .label_moments = label_moments_cpu,
                                           .finish = finish_cpu,
                                           CVTM_CVT_PHASES(CVTM_PHASE_CPU_NAME)};

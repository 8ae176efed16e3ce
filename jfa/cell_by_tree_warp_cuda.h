/* For .cu files only: tree clipping (cell_by_tree.h) by a warp. The lanes test 32 squares or sites
 * at once, and clip with a lane for each corner. All lanes of the warp call these functions
 * together. Each lane has a copy of the number of corners, the radius of the cell and the results;
 * the corners are in memory that all lanes can read.
 *
 * If one thread makes each cell that hull construction leaves undecided, by cvtm_cell_by_tree, an
 * evaluation of 60,000 sites takes 3.1 times as long. If all lanes test but lane 0 alone clips, the
 * evaluation takes 1.2 times as long for sites in the order of an initial placement, and 1.8 times
 * as long with half of the sites crowded (H200). */
#pragma once

#include "jfa/cell_by_tree.h"

/* --- the walk --------------------------------------------------------------------------------- */

/* The walk of a warp through a site tree. In the heap order of the tree, the 32 descendants five
 * levels below a node are consecutive: one for each lane. The lowest nodes of the walk are buckets
 * of at most 32 sites: one site for each lane. */

enum {
  CVTM_WALK_LANES = 32,
  CVTM_WALK_LEVELS = 5 /* levels of the tree that a warp descends at once */
};

/* The first node of the level of buckets, a power of two. */
static __device__ inline int64_t cvtm_walk_buckets(const cvtm_site_tree_view *tree) {
  return tree->leaf_count >= 4 ? tree->leaf_count / 4 : 1;
}

/* The slot of this lane's site of a bucket, or -1. */
static __device__ inline int64_t cvtm_walk_slot(const cvtm_site_tree_view *tree, int64_t buckets,
                                                int64_t node, int lane) {
  const int64_t size = tree->leaf_count / buckets * CVTM_TREE_LEAF;
  const int64_t slot = (node - buckets) * size + lane;
  return lane < size && slot < tree->count ? slot : -1;
}

/* This lane's descendant of a node above the buckets, or -1. */
static __device__ inline int64_t cvtm_walk_child(int64_t buckets, int64_t node, int lane) {
  const int below = __clz(static_cast<int>(node)) - __clz(static_cast<int>(buckets));
  const int levels = below < CVTM_WALK_LEVELS ? below : CVTM_WALK_LEVELS;
  return lane < 1 << levels ? (node << levels) + lane : -1;
}

static __device__ inline double cvtm_warp_min(double value) {
  for (int offset = CVTM_WALK_LANES / 2; offset > 0; offset /= 2) {
    const double other = __shfl_xor_sync(0xFFFFFFFFu, value, offset);
    if (other < value) value = other;
  }
  return value;
}

/* --- clipping --------------------------------------------------------------------------------- */

enum {
  CVTM_WARP_QUEUE_BEST = 384, /* up to this length the nearest square is taken first */
  /* The last visit that takes the nearest square may add 32. Then the walk is depth first: a visit
   * that halves k times takes one square and adds 2^k. From the Morton square to the smallest
   * square there are CVTM_SQUARE_DEPTH halvings, at most 5 a visit: 13 visits. */
  CVTM_WARP_QUEUE = CVTM_WARP_QUEUE_BEST + 14 * CVTM_WALK_LANES
};

/* The squares that a walk has still to visit, and lower bounds of the squared distances to their
 * sites; in shared memory of the warp. */
typedef struct cvtm_warp_queue {
  uint64_t square[CVTM_WARP_QUEUE];
  float distance2[CVTM_WARP_QUEUE];
} cvtm_warp_queue;

/* A cell under construction. */
typedef struct cvtm_warp_clipping {
  const cvtm_site_tree_view *tree;
  cvtm_domain domain;
  cvtm_cell_origin o;
  cvtm_cell *cell;
  double radius2;  /* squared distance of the farthest corner */
  double nearest2; /* squared distance to this lane's nearest site that does not coincide */
  cvtm_cell_status status;
  bool ended; /* the cell is empty, or `status` is an error */
} cvtm_warp_clipping;

/* A site that may cut the cell; slot -1: none. */
typedef struct cvtm_warp_site {
  int64_t slot;
  double dx, dy, distance2;
} cvtm_warp_site;

static __device__ inline cvtm_warp_site cvtm_warp_site_at(const cvtm_warp_clipping *c,
                                                          int64_t slot) {
  cvtm_warp_site site = {slot, 0, 0, HUGE_VAL};
  if (slot < 0) return site;
  cvtm_cell_relative_site(c->tree, slot, &c->o, &site.dx, &site.dy);
  site.distance2 = site.dx * site.dx + site.dy * site.dy;
  return site;
}

/* The maximum over all lanes. */
static __device__ inline double cvtm_warp_larger(double value) {
  for (int apart = 1; apart < CVTM_WALK_LANES; apart *= 2)
    value = fmax(value, __shfl_xor_sync(0xFFFFFFFFu, value, apart));
  return value;
}

/* The corners that a line cuts off: `removed` corners, from `first` to `last` (cyclic). */
typedef struct cvtm_warp_run {
  int first, last, removed;
} cvtm_warp_run;

/* The run around the farthest of n corners. Bit k of `stay` is set if corner k is not cut off. */
static __device__ inline cvtm_warp_run cvtm_warp_find_run(unsigned stay, int farthest, int n) {
  const unsigned below = stay & ((1u << farthest) - 1), above = stay & ~((2u << farthest) - 1);
  const int before = below ? 31 - __clz(below) : 31 - __clz(stay);
  const int after = above ? __ffs(above) - 1 : __ffs(stay) - 1;
  cvtm_warp_run run = {before + 1 < n ? before + 1 : 0, after > 0 ? after - 1 : n - 1, 0};
  run.removed = run.last - run.first + (run.last < run.first ? n : 0) + 1;
  return run;
}

/* The new corner on the edge from corner `from`, which is cut off, to the kept corner `to`. */
static __device__ inline void cvtm_warp_new_corner(const cvtm_cell *cell, int from, int to,
                                                   double s_from, double s_to, double *x,
                                                   double *y) {
  const double t = s_from / (s_from - s_to), fx = cell->x[from * cell->stride],
               fy = cell->y[from * cell->stride];
  *x = fx + (cell->x[to * cell->stride] - fx) * t;
  *y = fy + (cell->y[to * cell->stride] - fy) * t;
}

/* cvtm_cell_clip of a cell with at most 31 corners, by a lane for each corner, with the same
 * result. Updates *radius2 after a cut. */
static __device__ inline cvtm_clip cvtm_warp_clip(cvtm_cell *cell, double dx, double dy,
                                                  double *radius2, int lane) {
  const unsigned all = 0xFFFFFFFFu;
  const int n = cell->count, s = cell->stride;
  const bool own = lane < n;
  double x = own ? cell->x[lane * s] : 0, y = own ? cell->y[lane * s] : 0;
  const double excess = own ? dx * x + dy * y - 0.5 * (dx * dx + dy * dy) : -HUGE_VAL;
  const double largest = cvtm_warp_larger(excess);
  if (!(largest > 0)) return CVTM_CLIP_NONE;
  const int farthest = __ffs(static_cast<int>(__ballot_sync(all, excess == largest))) - 1;
  const unsigned stay = __ballot_sync(all, own && excess < 0);
  if (stay == 0) return CVTM_CLIP_EMPTY;
  const cvtm_warp_run run = cvtm_warp_find_run(stay, farthest, n);
  const int kept = n - run.removed;
  if (kept + 2 > cell->capacity) return CVTM_CLIP_OVERFLOW;
  const int before = run.first > 0 ? run.first - 1 : n - 1,
            after = run.last + 1 < n ? run.last + 1 : 0;
  /* Lane 0 computes the first new corner, the other lanes compute the second. */
  const int from = lane == 0 ? run.first : run.last, to = lane == 0 ? before : after;
  const double s_from = __shfl_sync(all, excess, from), s_to = __shfl_sync(all, excess, to);
  double new_x, new_y;
  cvtm_warp_new_corner(cell, from, to, s_from, s_to, &new_x, &new_y);
  if (dy == 0) new_x = 0.5 * dx; /* new corners lie exactly on a bisector along x */
  if (dx == 0) new_y = 0.5 * dy;
  const bool wraps = run.first > run.last;
  const int at = wraps ? kept : run.first; /* index of the first new corner */
  const bool stays =
      own && (wraps ? lane > run.last && lane < run.first : lane < run.first || lane > run.last);
  const int shift = wraps ? -run.last - 1 : lane > run.last ? run.first + 1 - run.last : 0;
  __syncwarp(); /* all lanes have read the corners */
  if (stays) {
    cell->x[(lane + shift) * s] = x;
    cell->y[(lane + shift) * s] = y;
  }
  if (lane < 2) {
    cell->x[(at + lane) * s] = new_x;
    cell->y[(at + lane) * s] = new_y;
  }
  cell->count = kept + 2;
  *radius2 = cvtm_warp_larger(fmax(stays ? x * x + y * y : 0, new_x * new_x + new_y * new_y));
  __syncwarp(); /* all lanes see the new corners */
  return CVTM_CLIP_CUT;
}

/* cvtm_cell_clip_site by a warp, with the same return value. Lane 0 alone clips if the cell has
 * more corners than cvtm_warp_clip allows, or the site coincides with the site of the cell. */
static __device__ inline int cvtm_warp_clip_site(cvtm_warp_clipping *c, double dx, double dy,
                                                 int32_t other, int lane) {
  const unsigned all = 0xFFFFFFFFu;
  if (c->cell->count < CVTM_WALK_LANES && (dx != 0 || dy != 0) && c->cell->count > 0) {
    switch (cvtm_warp_clip(c->cell, dx, dy, &c->radius2, lane)) {
      case CVTM_CLIP_NONE:
      case CVTM_CLIP_CUT:
        return 1;
      case CVTM_CLIP_EMPTY:
        c->cell->count = 0;
        return 0;
      default:
        c->status = CVTM_CELL_OVERFLOW;
        return 0;
    }
  }
  int status = c->status, more = 1;
  if (lane == 0) {
    more = cvtm_cell_clip_site(dx, dy, other, &c->o, c->cell, &c->radius2, &c->status);
    status = c->status;
  }
  c->status = static_cast<cvtm_cell_status>(__shfl_sync(all, status, 0));
  c->cell->count = __shfl_sync(all, c->cell->count, 0);
  c->radius2 = __shfl_sync(all, c->radius2, 0);
  __syncwarp(); /* all lanes see the new corners */
  return __shfl_sync(all, more, 0);
}

/* Clips by the site of lane `from`, which is not the site of the cell. */
static __device__ inline void cvtm_warp_clip_by(cvtm_warp_clipping *c, const cvtm_warp_site *site,
                                                int from, int lane) {
  const unsigned all = 0xFFFFFFFFu;
  const double dx = __shfl_sync(all, site->dx, from), dy = __shfl_sync(all, site->dy, from);
  const int64_t slot = __shfl_sync(all, site->slot, from);
  c->ended = !cvtm_warp_clip_site(c, dx, dy, c->tree->index[slot], lane);
}

/* True if the site cuts the cell or coincides with the site of the cell. */
static __device__ inline bool cvtm_warp_site_matters(const cvtm_warp_clipping *c,
                                                     const cvtm_warp_site *site) {
  if (site->slot < 0 || site->slot == c->o.slot || site->distance2 >= 4 * c->radius2) return false;
  if (site->dx == 0 && site->dy == 0) return true;
  const double offset = 0.5 * (site->dx * site->dx + site->dy * site->dy);
  for (int32_t k = 0; k < c->cell->count; ++k)
    if (cvtm_cell_excess(c->cell, k, site->dx, site->dy, offset) > 0) return true;
  return false;
}

/* Clips by the sites of all lanes, the nearest site first. */
static __device__ inline void cvtm_warp_clip_sites(cvtm_warp_clipping *c, cvtm_warp_site site,
                                                   int lane) {
  if (site.slot >= 0 && site.slot != c->o.slot && site.distance2 > 0)
    c->nearest2 = fmin(c->nearest2, site.distance2);
  while (!c->ended) {
    const bool matters = cvtm_warp_site_matters(c, &site);
    if (!matters) site.slot = -1; /* nor will it matter after further clips */
    const double least = cvtm_warp_min(matters ? site.distance2 : HUGE_VAL);
    const unsigned nearest = __ballot_sync(0xFFFFFFFFu, matters && site.distance2 == least);
    if (nearest == 0) return;
    const int from = __ffs(static_cast<int>(nearest)) - 1;
    cvtm_warp_clip_by(c, &site, from, lane);
    if (lane == from) site.slot = -1;
  }
}

/* cvtm_cell_square_cuts by all lanes, with a lane for each corner. */
static __device__ inline bool cvtm_warp_square_cuts(const cvtm_warp_clipping *c, uint64_t square,
                                                    int lane) {
  const cvtm_cell_box box = cvtm_square_relative_box(c->tree, c->domain, square, &c->o);
  const double distance2 = cvtm_cell_box_distance2(&box, 0, 0);
  if (!(distance2 > 0)) return true;
  if (distance2 >= 4 * c->radius2) return false;
  bool nearer = false;
  for (int32_t k = lane; k < c->cell->count; k += CVTM_WALK_LANES) {
    const double x = c->cell->x[k * c->cell->stride], y = c->cell->y[k * c->cell->stride];
    nearer |= cvtm_cell_box_distance2(&box, x, y) < x * x + y * y;
  }
  return __any_sync(0xFFFFFFFFu, nearer);
}

/* Adds the squares of the lanes with `wanted` set. */
static __device__ inline void cvtm_warp_queue_add(cvtm_warp_queue *queue, int *size, bool wanted,
                                                  uint64_t square, double distance2, int lane) {
  const unsigned mask = __ballot_sync(0xFFFFFFFFu, wanted);
  if (wanted) {
    const int item = *size + __popc(mask & ((1u << lane) - 1));
    queue->square[item] = square;
    queue->distance2[item] = __double2float_rd(distance2);
  }
  *size += __popc(mask);
  __syncwarp();
}

/* Removes the nearest square or, if the queue is longer than CVTM_WARP_QUEUE_BEST, the last square:
 * the walk is then depth first, which needs little memory. */
static __device__ inline uint64_t cvtm_warp_queue_remove(cvtm_warp_queue *queue, int *size,
                                                         double *distance2, int lane) {
  int item = *size - 1;
  double least = HUGE_VAL;
  if (*size <= CVTM_WARP_QUEUE_BEST) {
    for (int k = lane; k < *size; k += CVTM_WALK_LANES) {
      if (!(queue->distance2[k] < least)) continue;
      least = queue->distance2[k];
      item = k;
    }
    const double all = cvtm_warp_min(least);
    const unsigned lanes = __ballot_sync(0xFFFFFFFFu, least == all);
    item = __shfl_sync(0xFFFFFFFFu, item, __ffs(static_cast<int>(lanes)) - 1);
  }
  const int last = --*size;
  const uint64_t square = queue->square[item];
  *distance2 = queue->distance2[item];
  __syncwarp(); /* all lanes have read the item */
  if (lane == 0) {
    queue->square[item] = queue->square[last];
    queue->distance2[item] = queue->distance2[last];
  }
  __syncwarp();
  return square;
}

/* Queues the parts of a square that may cut the cell. */
static __device__ inline void cvtm_warp_queue_parts(const cvtm_warp_clipping *c, uint64_t square,
                                                    int depth, cvtm_warp_queue *queue, int *size,
                                                    int lane) {
  const int halvings = min(CVTM_SQUARE_DEPTH - depth, static_cast<int>(CVTM_WALK_LEVELS));
  const uint64_t part = (square << halvings) + static_cast<uint64_t>(lane);
  double distance2 = HUGE_VAL;
  bool wanted = false;
  if (lane < 1 << halvings) {
    int32_t first, last;
    cvtm_square_slots(c->tree, c->domain, part, &first, &last);
    if (first < last || c->tree->cover != nullptr) {
      const cvtm_cell_box box = cvtm_square_relative_box(c->tree, c->domain, part, &c->o);
      distance2 = cvtm_cell_box_distance2(&box, 0, 0);
      wanted = cvtm_cell_box_cuts(c->cell, c->radius2, &box, distance2) &&
               cvtm_square_is_wanted(c->tree, part, last - first);
    }
  }
  cvtm_warp_queue_add(queue, size, wanted, part, distance2, lane);
}

/* Visits a square: clips by its sites, or queues its parts. */
static __device__ inline void cvtm_warp_visit(cvtm_warp_clipping *c, uint64_t square,
                                              cvtm_warp_queue *queue, int *size, int lane) {
  const int depth = cvtm_square_depth(square);
  int32_t first, last;
  cvtm_square_slots(c->tree, c->domain, square, &first, &last);
  if (cvtm_square_is_divided(c->tree, depth, last - first, CVTM_WALK_LANES)) {
    cvtm_warp_queue_parts(c, square, depth, queue, size, lane);
    return;
  }
  for (int32_t from = first; from < last && !c->ended; from += CVTM_WALK_LANES)
    cvtm_warp_clip_sites(c, cvtm_warp_site_at(c, from + lane < last ? from + lane : -1), lane);
}

/* Clips by all sites of one image of the tree, in squares of increasing distance. So the cell is
 * small before most squares are tested, and has many corners only if the finished cell has many. */
static __device__ inline void cvtm_warp_clip_tree(cvtm_warp_clipping *c, cvtm_warp_queue *queue,
                                                  int lane) {
  uint64_t square = 1;
  int size = 0;
  for (;;) {
    cvtm_warp_visit(c, square, queue, &size, lane);
    double distance2;
    do {
      if (size == 0 || c->ended) return;
      const bool nearest = size <= CVTM_WARP_QUEUE_BEST;
      square = cvtm_warp_queue_remove(queue, &size, &distance2, lane);
      if (nearest && distance2 >= 4 * c->radius2) return;
    } while (distance2 >= 4 * c->radius2 || !cvtm_warp_square_cuts(c, square, lane));
  }
}

/* cvtm_cell_cut_from by a warp. */
static __device__ inline void cvtm_warp_cut_from(cvtm_warp_clipping *c, const cvtm_cell_box *start,
                                                 cvtm_warp_queue *queue, int lane) {
  const cvtm_domain domain = c->domain;
  c->status = CVTM_CELL_DONE;
  c->ended = false;
  c->nearest2 = HUGE_VAL;
  __syncwarp(); /* all lanes have read the corners of an earlier polygon */
  if (lane == 0) cvtm_cell_set_rectangle(c->cell, start);
  c->cell->count = 4;
  __syncwarp();
  c->radius2 = cvtm_cell_radius2(c->cell);
  for (int image = 0; image < (domain.periodic ? 9 : 1) && !c->ended; ++image) {
    const int near = (image + 4) % 9; /* first the image without a shift */
    c->o.shift_x = domain.periodic ? (near % 3 - 1) * static_cast<double>(domain.width) : 0;
    c->o.shift_y = domain.periodic ? (near / 3 - 1) * static_cast<double>(domain.height) : 0;
    cvtm_warp_clip_tree(c, queue, lane);
  }
  c->cell->nearest2 = cvtm_warp_min(c->nearest2);
}

/* cvtm_cell_by_tree by a warp. */
static __device__ inline cvtm_cell_status cvtm_warp_compute_cell(const cvtm_site_tree_view *tree,
                                                                 cvtm_domain domain, int64_t slot,
                                                                 cvtm_warp_queue *queue, int lane,
                                                                 cvtm_cell *cell) {
  cvtm_cell_box start;
  cvtm_warp_clipping c;
  c.tree = tree;
  c.domain = domain;
  c.o = cvtm_cell_origin_at(tree, domain, slot, &start);
  c.cell = cell;
  cvtm_warp_cut_from(&c, &start, queue, lane);
  if (c.status != CVTM_CELL_DONE || cell->count == 0) return c.status;
  const double reach = 2 * sqrt(c.radius2);
  const double size = fmax(static_cast<double>(domain.width), static_cast<double>(domain.height));
  if (reach > 1e-3 * size || !cvtm_cell_shrink_box(&start, reach)) return c.status;
  cvtm_warp_cut_from(&c, &start, queue, lane);
  return c.status;
}

/* For .cu files only: tree clipping (cell_by_tree.h) by a warp. The lanes test 32 boxes or sites at
 * once; lane 0 clips. All lanes of the warp call these functions together, and all have the cell's
 * count of corners, its radius and the results; its corners are in memory that all can read. */
#ifndef CVTMESH_VORONOI_CELL_BY_TREE_WARP_CUDA_H
#define CVTMESH_VORONOI_CELL_BY_TREE_WARP_CUDA_H

#include "voronoi/cell_by_tree.h"
#include "voronoi/site_tree_warp_cuda.h"

enum {
  CVTM_WARP_QUEUE_BEST = 512, /* length up to which the nearest node is taken first */
  /* Depth first, a visit takes one node and adds at most 32; there are at most 6 visits on a way
   * down the 2^26 nodes above the buckets of 2^31 sites. */
  CVTM_WARP_QUEUE = CVTM_WARP_QUEUE_BEST + 7 * CVTM_WALK_LANES
};

/* Nodes that a walk has still to visit, with a lower bound of the squared distance to their sites.
 * In shared memory of the warp. */
typedef struct cvtm_warp_queue {
  double distance2[CVTM_WARP_QUEUE];
  int32_t node[CVTM_WARP_QUEUE];
} cvtm_warp_queue;

/* A cell that is being cut out. */
typedef struct cvtm_warp_clipping {
  const cvtm_site_tree_view *tree;
  cvtm_cell_origin o;
  cvtm_cell *cell;
  double radius2;  /* of the farthest corner */
  double nearest2; /* squared distance to the nearest of this lane's sites elsewhere */
  cvtm_cell_status status;
  bool ended; /* the cell is empty, or the status says why it cannot be done */
} cvtm_warp_clipping;

/* A site that may cut the cell; place -1: none. */
typedef struct cvtm_warp_site {
  int64_t place;
  double dx, dy, distance2;
} cvtm_warp_site;

static __device__ inline cvtm_warp_site cvtm_warp_site_at(const cvtm_warp_clipping *c,
                                                          int64_t place) {
  cvtm_warp_site site = {place, 0, 0, HUGE_VAL};
  if (place < 0) return site;
  cvtm_cell_relative_site(c->tree, place, &c->o, &site.dx, &site.dy);
  site.distance2 = site.dx * site.dx + site.dy * site.dy;
  return site;
}

/* Lane 0 clips by the site of lane `from`. */
static __device__ inline void cvtm_warp_clip_by(cvtm_warp_clipping *c, const cvtm_warp_site *site,
                                                int from, int lane) {
  const unsigned all = 0xFFFFFFFFu;
  const double dx = __shfl_sync(all, site->dx, from), dy = __shfl_sync(all, site->dy, from);
  const int64_t place = __shfl_sync(all, site->place, from);
  int status = c->status, more = 1;
  if (lane == 0) {
    more =
        cvtm_cell_clip_site(dx, dy, c->tree->index[place], &c->o, c->cell, &c->radius2, &c->status);
    status = c->status;
  }
  c->ended = !__shfl_sync(all, more, 0);
  c->status = static_cast<cvtm_cell_status>(__shfl_sync(all, status, 0));
  c->cell->count = __shfl_sync(all, c->cell->count, 0);
  c->radius2 = __shfl_sync(all, c->radius2, 0);
  __syncwarp(); /* all lanes see the new corners */
}

/* True if the site cuts the cell or coincides with the cell's own. */
static __device__ inline bool cvtm_warp_site_matters(const cvtm_warp_clipping *c,
                                                     const cvtm_warp_site *site) {
  if (site->place < 0 || site->place == c->o.place || site->distance2 >= 4 * c->radius2)
    return false;
  if (site->dx == 0 && site->dy == 0) return true;
  const double offset = 0.5 * (site->dx * site->dx + site->dy * site->dy);
  for (int32_t k = 0; k < c->cell->count; ++k)
    if (cvtm_cell_excess(c->cell, k, site->dx, site->dy, offset) > 0) return true;
  return false;
}

/* Clips by the sites of all lanes, the nearest first. */
static __device__ inline void cvtm_warp_clip_sites(cvtm_warp_clipping *c, cvtm_warp_site site,
                                                   int lane) {
  if (site.place >= 0 && site.place != c->o.place && site.distance2 > 0)
    c->nearest2 = fmin(c->nearest2, site.distance2);
  while (!c->ended) {
    const bool matters = cvtm_warp_site_matters(c, &site);
    if (!matters) site.place = -1; /* no clip of another site changes that */
    const double least = cvtm_warp_min(matters ? site.distance2 : HUGE_VAL);
    const unsigned nearest = __ballot_sync(0xFFFFFFFFu, matters && site.distance2 == least);
    if (nearest == 0) return;
    const int from = __ffs(static_cast<int>(nearest)) - 1;
    cvtm_warp_clip_by(c, &site, from, lane);
    if (lane == from) site.place = -1;
  }
}

/* cvtm_cell_box_cuts by all lanes, a corner each. */
static __device__ inline bool cvtm_warp_box_cuts(const cvtm_warp_clipping *c, int64_t node,
                                                 double distance2, int lane) {
  if (!(distance2 > 0)) return true;
  const cvtm_cell_box box = cvtm_cell_relative_box(c->tree, node, &c->o);
  bool nearer = false;
  for (int32_t k = lane; k < c->cell->count; k += CVTM_WALK_LANES) {
    const double x = c->cell->x[k * c->cell->stride], y = c->cell->y[k * c->cell->stride];
    nearer |= cvtm_cell_box_distance2(&box, x, y) < x * x + y * y;
  }
  return __any_sync(0xFFFFFFFFu, nearer);
}

/* Adds the nodes of the lanes that want it. */
static __device__ inline void cvtm_warp_queue_add(cvtm_warp_queue *queue, int *size, bool wanted,
                                                  int64_t node, double distance2, int lane) {
  const unsigned mask = __ballot_sync(0xFFFFFFFFu, wanted);
  if (wanted) {
    const int slot = *size + __popc(mask & ((1u << lane) - 1));
    queue->node[slot] = static_cast<int32_t>(node);
    queue->distance2[slot] = distance2;
  }
  *size += __popc(mask);
  __syncwarp();
}

/* Removes a nearest node, or the last one of a queue that is almost full: from then on the walk is
 * depth first, which needs little memory. */
static __device__ inline int64_t cvtm_warp_queue_remove(cvtm_warp_queue *queue, int *size,
                                                        double *distance2, int lane) {
  int slot = *size - 1;
  double least = HUGE_VAL;
  if (*size <= CVTM_WARP_QUEUE_BEST) {
    for (int k = lane; k < *size; k += CVTM_WALK_LANES) {
      if (!(queue->distance2[k] < least)) continue;
      least = queue->distance2[k];
      slot = k;
    }
    const double all = cvtm_warp_min(least);
    const unsigned lanes = __ballot_sync(0xFFFFFFFFu, least == all);
    slot = __shfl_sync(0xFFFFFFFFu, slot, __ffs(static_cast<int>(lanes)) - 1);
  }
  const int last = --*size;
  const int64_t node = queue->node[slot];
  *distance2 = queue->distance2[slot];
  __syncwarp(); /* all have read the slot */
  if (lane == 0) {
    queue->node[slot] = queue->node[last];
    queue->distance2[slot] = queue->distance2[last];
  }
  __syncwarp();
  return node;
}

/* Visits a node above the buckets: clips by the piles of coincident sites below it, and queues its
 * other descendants that may cut the cell. */
static __device__ inline void cvtm_warp_visit_children(cvtm_warp_clipping *c, int64_t buckets,
                                                       int64_t node, cvtm_warp_queue *queue,
                                                       int *size, int lane) {
  const int64_t child = cvtm_walk_child(buckets, node, lane);
  double distance2 = HUGE_VAL;
  bool wanted = false, pile = false;
  if (child >= 0) {
    const cvtm_cell_box box = cvtm_cell_relative_box(c->tree, child, &c->o);
    distance2 = cvtm_cell_box_distance2(&box, 0, 0);
    wanted = cvtm_cell_box_cuts(c->cell, c->radius2, &box, distance2);
    pile = wanted && cvtm_cell_box_is_point(&box);
  }
  if (__any_sync(0xFFFFFFFFu, pile)) {
    const int64_t place = pile ? cvtm_node_first(c->tree, child) : -1;
    cvtm_warp_clip_sites(c, cvtm_warp_site_at(c, place), lane);
  }
  cvtm_warp_queue_add(queue, size, wanted && !pile, child, distance2, lane);
}

/* Clips by all sites of one image of the tree, nodes in the order of their distance: so the cell is
 * small before most of them are looked at, and never has many corners unless it ends with many. */
static __device__ inline void cvtm_warp_clip_tree(cvtm_warp_clipping *c, cvtm_warp_queue *queue,
                                                  int lane) {
  const int64_t buckets = cvtm_walk_buckets(c->tree);
  int64_t node = 1;
  int size = 0;
  for (;;) {
    if (node >= buckets) {
      const int64_t place = cvtm_walk_place(c->tree, buckets, node, lane);
      cvtm_warp_clip_sites(c, cvtm_warp_site_at(c, place), lane);
    } else {
      cvtm_warp_visit_children(c, buckets, node, queue, &size, lane);
    }
    double distance2;
    do {
      if (size == 0 || c->ended) return;
      const bool nearest = size <= CVTM_WARP_QUEUE_BEST;
      node = cvtm_warp_queue_remove(queue, &size, &distance2, lane);
      if (nearest && distance2 >= 4 * c->radius2) return;
    } while (distance2 >= 4 * c->radius2 || !cvtm_warp_box_cuts(c, node, distance2, lane));
  }
}

/* cvtm_cell_cut_from by a warp. */
static __device__ inline void cvtm_warp_cut_from(cvtm_warp_clipping *c, cvtm_domain domain,
                                                 const cvtm_cell_box *start, cvtm_warp_queue *queue,
                                                 int lane) {
  c->status = CVTM_CELL_DONE;
  c->ended = false;
  c->nearest2 = HUGE_VAL;
  __syncwarp(); /* all have read the corners of an earlier polygon */
  if (lane == 0) cvtm_cell_set_rectangle(c->cell, start);
  c->cell->count = 4;
  __syncwarp();
  c->radius2 = cvtm_cell_radius2(c->cell);
  for (int image = 0; image < (domain.periodic ? 9 : 1) && !c->ended; ++image) {
    const int near = (image + 4) % 9; /* the site's own image first */
    c->o.shift_x = domain.periodic ? (near % 3 - 1) * static_cast<double>(domain.width) : 0;
    c->o.shift_y = domain.periodic ? (near / 3 - 1) * static_cast<double>(domain.height) : 0;
    cvtm_warp_clip_tree(c, queue, lane);
  }
  c->cell->nearest2 = cvtm_warp_min(c->nearest2);
}

/* cvtm_cell_by_tree by a warp. */
static __device__ inline cvtm_cell_status cvtm_warp_compute_cell(const cvtm_site_tree_view *tree,
                                                                 cvtm_domain domain, int64_t place,
                                                                 cvtm_warp_queue *queue, int lane,
                                                                 cvtm_cell *cell) {
  cvtm_cell_box start;
  cvtm_warp_clipping c;
  c.tree = tree;
  c.o = cvtm_cell_origin_at(tree, domain, place, &start);
  c.cell = cell;
  cvtm_warp_cut_from(&c, domain, &start, queue, lane);
  if (c.status != CVTM_CELL_DONE || cell->count == 0) return c.status;
  const double reach = 2 * sqrt(c.radius2);
  const double size = fmax(static_cast<double>(domain.width), static_cast<double>(domain.height));
  if (reach > 1e-3 * size || !cvtm_cell_shrink_box(&start, reach)) return c.status;
  cvtm_warp_cut_from(&c, domain, &start, queue, lane);
  return c.status;
}

#endif

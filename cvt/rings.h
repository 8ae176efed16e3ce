/* Inside cvt only, on the CPU: Voronoi cells from the neighbours that they had in an earlier
 * diagram.
 *
 * A cell is kept if its bisectors with those neighbours, in the same order, bound a convex polygon
 * inside the domain. Any other cell is cut out afresh, and so are the four cells that meet at an
 * edge that has vanished, and all cells at the border of the domain. A kept cell that does not
 * agree with a cell that was cut out about a corner is cut out, too, until all agree. Then no cell
 * lies over another: cells that agree about their corners cover the domain everywhere as often as
 * they cover its border, once. So kept cells are right.
 *
 * Where an edge is very short, rounding decides which cells meet there. Such an edge counts as
 * gone, so that kept cells have the corners, bit for bit, that they would have if cut out. */
#ifndef CVTMESH_CVT_RINGS_H
#define CVTMESH_CVT_RINGS_H

#include "base/geometry.h"
#include "jfa/cell_by_hull.h"

enum {
  CVTM_RING = 15,                         /* neighbours, at most */
  CVTM_RING_PADDED = 16,                  /* in whole vectors */
  CVTM_RING_BORDER = CVTM_POLYGON_BORDER, /* across an edge of the domain */
  CVTM_RING_TURNS = -1                    /* the polygon does not go around the site once */
};

/* The squared length below which an edge counts as gone, relative to the squared radius of the
 * cell. */
#define CVTM_RING_SHORT 1e-6

/* The caller's indices of the sites around a cell, or CVTM_RING_BORDER, in the order of the edges;
 * count 0: none. */
typedef struct cvtm_ring {
  int32_t count;
  int32_t site[CVTM_RING];
} cvtm_ring;

/* Sites in the tree's order, and where the caller's are in it. */
typedef struct cvtm_ring_sites {
  const cvtm_site_tree_view *tree;
  const int32_t *place_of;
} cvtm_ring_sites;

CVTM_INLINE int cvtm_ring_may_be_kept(const cvtm_ring *ring) {
  int touches_border = 0;
  for (int32_t k = 0; k < ring->count; ++k) touches_border |= ring->site[k] < 0;
  return ring->count >= 3 && !touches_border;
}

/* The edges of the polygon that are too short or begin too near to the border of the domain, a bit
 * each; edge k begins at corner (x[k], y[k]) and ends at the next, and is at a right angle to
 * (dx[k], dy[k]). */
CVTM_INLINE uint32_t cvtm_ring_gone(const double *dx, const double *dy, int32_t sides,
                                    const double *x, const double *y, double radius2,
                                    const cvtm_cell_box *inner) {
  uint32_t gone = 0;
  for (int32_t k = 0; k < sides; k += CVTM_SIDE_LANES) {
    const cvtm_side_lanes px = CVTM_SIDE_READ(dx + k), py = CVTM_SIDE_READ(dy + k);
    const cvtm_side_lanes cx = CVTM_SIDE_READ(x + k), cy = CVTM_SIDE_READ(y + k);
    const cvtm_side_lanes forth =
        (CVTM_SIDE_READ(x + k + 1) - cx) * py - (CVTM_SIDE_READ(y + k + 1) - cy) * px;
    const cvtm_side_masks there =
        (forth > 0) & (forth * forth > CVTM_RING_SHORT * radius2 * (px * px + py * py)) &
        (cx > inner->x0) & (cx < inner->x1) & (cy > inner->y0) & (cy < inner->y1);
    for (int32_t lane = 0; lane < CVTM_SIDE_LANES && k + lane < sides; ++lane)
      gone |= (uint32_t)(there[lane] == 0) << (k + lane);
  }
  return gone;
}

/* Sets the corners of the cell of the site at a place from its ring, which does not touch the
 * border. Returns 0 if they bound the cell, as far as it can tell, CVTM_RING_TURNS, or a bit for
 * each edge that is gone; the cell then has no corners. Memory for CVTM_RING_PADDED corners. */
CVTM_INLINE int32_t cvtm_ring_set_corners(const cvtm_ring_sites *sites, cvtm_domain domain,
                                          int64_t place, const cvtm_ring *ring, cvtm_cell *cell) {
  double dx[CVTM_RING_PADDED + 2], dy[CVTM_RING_PADDED + 2];
  double x[CVTM_RING_PADDED + 1], y[CVTM_RING_PADDED + 1];
  const double *position = sites->tree->position;
  const double sx = position[2 * place], sy = position[2 * place + 1];
  const int32_t n = ring->count, padded = (n + CVTM_SIDE_LANES - 1) & -CVTM_SIDE_LANES;
  int32_t turns = 0;
  int good = 1;
  for (int32_t k = 0; k < n; ++k) {
    const int64_t other = sites->place_of[ring->site[k]];
    dx[k] = position[2 * other] - sx;
    dy[k] = position[2 * other + 1] - sy;
  }
  for (int32_t k = n; k <= padded + 1; ++k) {
    dx[k] = dx[k - n];
    dy[k] = dy[k - n];
  }
  for (int32_t k = 0; k < n; ++k) turns += dy[k] < 0 && !(dy[k + 1] < 0);
  cell->count = 0;
  /* Corner k is where bisectors k and k + 1 meet. */
  const double radius2 = cvtm_hull_corner_lanes(dx, dy, n, cell->x, cell->y, &good);
  if (turns != 1 || !good || !(radius2 < HUGE_VAL)) return CVTM_RING_TURNS;
  for (int32_t k = 0; k < padded; ++k) {
    x[k] = cell->x[k];
    y[k] = cell->y[k];
  }
  x[padded] = x[padded - n];
  y[padded] = y[padded - n];
  const double margin = sqrt(CVTM_RING_SHORT * radius2);
  const cvtm_cell_box inner = {margin - sx, margin - sy, (double)domain.width - sx - margin,
                               (double)domain.height - sy - margin};
  const uint32_t gone = cvtm_ring_gone(dx + 1, dy + 1, n, x, y, radius2, &inner);
  if (gone == 0) cell->count = n;
  return (int32_t)(gone << 1 | gone >> (n - 1)) & ((1 << n) - 1); /* bit k: with neighbour k */
}

/* The ring of a cell that the hull construction has made. */
CVTM_INLINE void cvtm_ring_of_hull(const cvtm_site_tree_view *tree, const cvtm_hull *hull,
                                   int32_t sides, cvtm_ring *ring) {
  /* Poles may have been compacted after the corners were listed; else these are the same. */
  const int compacted = hull->count == __builtin_popcount(hull->corners);
  ring->count = sides;
  for (int32_t k = 0; k < sides; ++k) {
    const int32_t order = hull->order[k];
    const int32_t at = compacted ? __builtin_popcount(hull->corners & ((1u << order) - 1)) : order;
    const int32_t place = hull->place[at];
    ring->site[k] = place < 0 ? CVTM_RING_BORDER : tree->index[place];
  }
}

/* The ring of a polygon that tree clipping has made. Two clips by one site may have left an edge by
 * rounding. Returns 0, and sets an empty ring, if there are too many. */
CVTM_INLINE int cvtm_ring_of_polygon(const int32_t *neighbor, int32_t corners, cvtm_ring *ring) {
  ring->count = 0;
  for (int32_t k = 0; k < corners; ++k) {
    if (neighbor[k] == neighbor[k > 0 ? k - 1 : corners - 1]) continue;
    if (ring->count == CVTM_RING) {
      ring->count = 0;
      return 0;
    }
    ring->site[ring->count++] = neighbor[k];
  }
  return 1;
}

/* The index of a site in a ring, or -1. */
CVTM_INLINE int32_t cvtm_ring_find(const cvtm_ring *ring, int32_t site) {
  for (int32_t k = 0; k < ring->count; ++k)
    if (ring->site[k] == site) return k;
  return -1;
}

/* True if the ring of site j, neighbour k of site i, has i between the same sites as that of i has
 * j. */
CVTM_INLINE int cvtm_ring_agrees(const cvtm_ring *of_i, int32_t i, int32_t k,
                                 const cvtm_ring *of_j) {
  const int32_t n = of_i->count, m = of_j->count, at = cvtm_ring_find(of_j, i);
  return at >= 0 && of_j->site[at > 0 ? at - 1 : m - 1] == of_i->site[k + 1 < n ? k + 1 : 0] &&
         of_j->site[at + 1 < m ? at + 1 : 0] == of_i->site[k > 0 ? k - 1 : n - 1];
}

#endif

/* For .cu files only: the warp's share of cutting out cells, CELLS neighbouring ones at a time, by
 * as many lanes each as there are. */
#ifndef CVTMESH_VORONOI_CELL_WARP_CUDA_H
#define CVTMESH_VORONOI_CELL_WARP_CUDA_H

#include "voronoi/cell_by_hull.h"
#include "voronoi/cell_scanlines.h"

enum { CVTM_WARP_ROWS = 512 /* about the most that a cell may have */ };

/* What cutting out needs of shared memory. */
template <int CELLS>
struct cvtm_warp_hulls {
  cvtm_hull_pole pole[CVTM_HULL_POLES * CELLS];
  int32_t place[CVTM_HULL_POLES * CELLS], order[CVTM_HULL_SIDES * CELLS],
      scratch[CVTM_HULL_SCRATCH * CELLS];
};

/* Cuts out the cells at places base .. base + CELLS - 1 that are before `end`, each by the lanes of
 * a whole warp that leave its number when divided by CELLS. Whether this lane's cell is done:
 * the quick way ended, and it does not have very many rows. */
template <int CELLS>
__device__ bool cvtm_warp_cells_by_hull(const cvtm_site_tree_view &tree, cvtm_domain domain,
                                        int64_t base, int64_t end, int lane,
                                        cvtm_warp_hulls<CELLS> *memory, cvtm_cell *cell) {
  const int c = lane % CELLS;
  const cvtm_lanes lanes = {lane / CELLS, CVTM_WARP / CELLS};
  cvtm_hull hull = {0,
                    CELLS,
                    CVTM_HULL_POLES,
                    CELLS == 16 ? 1.6F : CVTM_HULL_REACH, /* to few lanes a site costs more */
                    0,
                    memory->pole + c,
                    memory->place + c,
                    memory->order + c,
                    memory->scratch + c};
  double radius2 = 0;
  const bool cut = cvtm_cell_by_hull(&tree, domain, base + c, base + c < end, lanes, &hull, cell,
                                     &radius2) == CVTM_CELL_DONE;
  const bool done = cut && 4 * radius2 <= CVTM_WARP_ROWS * CVTM_WARP_ROWS;
  if (!done) cell->count = 0;
  __syncwarp();
  return done;
}

/* Cells in shared memory: first hulls, then slopes. */
template <int CELLS>
struct cvtm_warp_cells {
  double x[CVTM_HULL_SIDES * CELLS], y[CVTM_HULL_SIDES * CELLS], tolerance[CELLS];
  union {
    cvtm_warp_hulls<CELLS> hulls;
    struct {
      double slope[CVTM_HULL_SIDES * CELLS], inverse[CVTM_HULL_SIDES * CELLS];
    };
  };
  int32_t count[CELLS]; /* corners; less than 3: nothing to do */
};

template <int CELLS>
__device__ cvtm_cell cvtm_warp_cell(cvtm_warp_cells<CELLS> *memory, int c) {
  const cvtm_cell cell = {
      memory->count[c],  CVTM_HULL_SIDES,     CELLS, memory->x + c, memory->y + c,
      memory->slope + c, memory->inverse + c, 0};
  return cell;
}

/* The same there, with slopes. */
template <int CELLS>
__device__ bool cvtm_warp_cells_with_slopes(const cvtm_site_tree_view &tree, cvtm_domain domain,
                                            int64_t base, int lane,
                                            cvtm_warp_cells<CELLS> *memory) {
  const int c = lane % CELLS;
  cvtm_cell cell = {0,
                    CVTM_HULL_SIDES,
                    CELLS,
                    memory->x + c,
                    memory->y + c,
                    memory->slope + c,
                    memory->inverse + c,
                    0};
  const bool done =
      cvtm_warp_cells_by_hull(tree, domain, base, tree.count, lane, &memory->hulls, &cell);
  for (int k = lane / CELLS; k < cell.count; k += CVTM_WARP / CELLS) cvtm_cell_set_slope(&cell, k);
  if (lane < CELLS) {
    memory->count[c] = cell.count;
    memory->tolerance[c] = cell.count < 3 ? 0 : cvtm_cell_tolerance(domain, &cell);
  }
  __syncwarp();
  return done;
}

#endif

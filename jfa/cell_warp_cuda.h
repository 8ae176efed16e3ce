/* For .cu files only: hull construction of CELLS cells at a time by a warp, with 32 / CELLS lanes
 * for each cell. */
#pragma once

#include "jfa/cell_by_hull.h"
#include "jfa/cell_scanlines.h"

enum { CVTM_WARP_ROWS = 512 /* about the largest number of pixel rows of a cell */ };

/* Shared memory of the hulls. */
template <int CELLS>
struct cvtm_warp_hulls {
  cvtm_hull_pole pole[CVTM_HULL_POLES * CELLS];
  int32_t slot[CVTM_HULL_POLES * CELLS], order[CVTM_HULL_SIDES * CELLS],
      scratch[CVTM_HULL_SCRATCH * CELLS];
};

/* Constructs the cells of the sites at slots base .. base + CELLS - 1 that are before `end`. Lane k
 * of the warp works on cell k % CELLS. Returns true if that cell is done: hull construction did not
 * fail, and the cell has at most about CVTM_WARP_ROWS rows. left: NULL, or *left is set to the
 * hull. PARTIAL: the tree may lack some sites (cvtm_tree_cover in site_query.h), and only the cells
 * of its own sites are done. It is a template parameter because a kernel for complete trees is 2 %
 * faster without the test (H200). */
template <int CELLS, bool PARTIAL = false>
__device__ bool cvtm_warp_cells_by_hull(const cvtm_site_tree_view &tree, cvtm_domain domain,
                                        int64_t base, int64_t end, int lane, int32_t most_tests,
                                        cvtm_warp_hulls<CELLS> *memory, cvtm_cell *cell,
                                        cvtm_hull *left = nullptr) {
  const int c = lane % CELLS;
  const cvtm_lanes lanes = {lane / CELLS, CVTM_WARP / CELLS};
  cvtm_hull hull = {0,
                    CELLS,
                    CVTM_HULL_POLES,
                    CELLS == 16 ? 1.6F : CVTM_HULL_REACH, /* with few lanes a test takes longer */
                    0,
                    memory->pole + c,
                    memory->slot + c,
                    memory->order + c,
                    memory->scratch + c,
                    most_tests,
                    0,
                    PARTIAL};
  double radius2 = 0;
  const int64_t slot = base + c;
  const bool cut = cvtm_cell_by_hull(&tree, domain, slot, slot < end, lanes, &hull, cell,
                                     &radius2) == CVTM_CELL_DONE;
  const bool done = cut && 4 * radius2 <= CVTM_WARP_ROWS * CVTM_WARP_ROWS;
  if (!done) cell->count = 0;
  if (left != nullptr) *left = hull;
  __syncwarp();
  return done;
}

/* Cells in shared memory. The slopes overwrite the hulls. */
template <int CELLS>
struct cvtm_warp_cells {
  double x[CVTM_HULL_SIDES * CELLS], y[CVTM_HULL_SIDES * CELLS], tolerance[CELLS];
  union {
    cvtm_warp_hulls<CELLS> hulls;
    struct {
      double slope[CVTM_HULL_SIDES * CELLS], inverse[CVTM_HULL_SIDES * CELLS];
    };
  };
  int32_t count[CELLS]; /* corners; fewer than 3 if there is no cell */
};

template <int CELLS>
__device__ cvtm_cell cvtm_warp_cell(cvtm_warp_cells<CELLS> *memory, int c) {
  const cvtm_cell cell = {
      memory->count[c],  CVTM_HULL_SIDES,     CELLS, memory->x + c, memory->y + c,
      memory->slope + c, memory->inverse + c, 0};
  return cell;
}

/* Does cvtm_warp_cells_by_hull, and sets the slopes and tolerances of the cells. All results are in
 * *memory. */
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
      cvtm_warp_cells_by_hull(tree, domain, base, tree.count, lane, 0, &memory->hulls, &cell);
  for (int k = lane / CELLS; k < cell.count; k += CVTM_WARP / CELLS) cvtm_cell_set_slope(&cell, k);
  if (lane < CELLS) {
    memory->count[c] = cell.count;
    memory->tolerance[c] = cell.count < 3 ? 0 : cvtm_cell_tolerance(domain, &cell);
  }
  __syncwarp();
  return done;
}

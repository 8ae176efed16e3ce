/* For .cu files only: the warp's share of cutting out cells, CELLS neighbouring ones in
 * shared memory, one lane each. */
#ifndef CVTMESH_JFA_CELL_WARP_H
#define CVTMESH_JFA_CELL_WARP_H

#include "jfa/cell_rows.h"

enum {
  CVTM_WARP = 32,
  CVTM_WARP_CORNERS = 12, /* of a cell on the way */
  CVTM_WARP_SIDES = 10,   /* of a cell in the end */
  CVTM_WARP_ROWS = 512    /* about the most that a cell may have */
};

/* First lists of sites, then slopes and EXTRA numbers for other purposes. */
template <int CELLS, int EXTRA>
struct cvtm_warp_cells {
  double x[CVTM_WARP_CORNERS * CELLS], y[CVTM_WARP_CORNERS * CELLS], doubt[CELLS];
  union {
    uint64_t entry[CVTM_CELL_LIST * CELLS];
    struct {
      double slope[CVTM_WARP_SIDES * CELLS], inverse[CVTM_WARP_SIDES * CELLS];
      int32_t extra[EXTRA];
    };
  };
  int32_t count[CELLS]; /* corners; less than 3: nothing to do */
};

template <int CELLS, int EXTRA>
__device__ cvtm_cell cvtm_warp_cell(cvtm_warp_cells<CELLS, EXTRA> *memory, int c) {
  const cvtm_cell cell = {
      memory->count[c],  CVTM_WARP_CORNERS,   CELLS, memory->x + c, memory->y + c,
      memory->slope + c, memory->inverse + c, 0};
  return cell;
}

/* Cuts out one cell; false if the quick way does not end or it has very many rows or sides. */
template <int CELLS, int EXTRA>
__device__ bool cvtm_warp_cut_one(const cvtm_site_tree_view &tree, cvtm_domain domain,
                                  int64_t place, int lane, cvtm_warp_cells<CELLS, EXTRA> *memory) {
  cvtm_cell cell = cvtm_warp_cell(memory, lane);
  cvtm_cell_list list = {0, CELLS, 0, memory->entry + lane};
  if (!isfinite(tree.position[2 * place]) || !isfinite(tree.position[2 * place + 1]) ||
      cvtm_cell_quick(&tree, domain, place, &list, &cell) != CVTM_CELL_DONE)
    return false;
  double top = 0, bottom = 0;
  for (int k = 0; k < cell.count; ++k) {
    top = fmin(top, cell.y[k * CELLS]);
    bottom = fmax(bottom, cell.y[k * CELLS]);
  }
  if (cell.count > CVTM_WARP_SIDES || bottom - top > CVTM_WARP_ROWS) return false;
  memory->count[lane] = cell.count;
  memory->doubt[lane] = cell.count < 3 ? 0 : cvtm_cell_doubt(domain, &cell);
  return true;
}

/* Cuts out the cells at places base .. base + CELLS - 1, in the first lanes of a whole warp.
 * Whether this lane's cell is done, of those lanes; the others have none. */
template <int CELLS, int EXTRA>
__device__ bool cvtm_warp_cut(const cvtm_site_tree_view &tree, cvtm_domain domain, int64_t base,
                              int lane, cvtm_warp_cells<CELLS, EXTRA> *memory) {
  bool done = false;
  if (lane < CELLS) {
    memory->count[lane] = 0;
    done = base + lane < tree.count && cvtm_warp_cut_one(tree, domain, base + lane, lane, memory);
  }
  __syncwarp();
  if (lane < CELLS) {
    cvtm_cell cell = cvtm_warp_cell(memory, lane);
    cvtm_cell_set_slopes(&cell);
  }
  __syncwarp();
  return done;
}

#endif

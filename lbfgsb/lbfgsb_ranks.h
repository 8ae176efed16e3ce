/* L-BFGS-B with its variables divided among the ranks of a device (base/ranks.h). All calls of
 * lbfgsb.h are then collective, except destroy, point and save: the ranks make them in the same
 * order with equal options. Only rank 0 decides about stops by time or by the monitor. */
#pragma once

#include "lbfgsb/lbfgsb.h"

CVTM_C_BEGIN

/* A rank has the variables first .. first + count - 1 of `total`. The arrays of all calls have only
 * the elements of these variables, except f. */
typedef struct cvtm_lbfgsb_share {
  int64_t first, count, total;
} cvtm_lbfgsb_share;

/* The number of variables in a block; there are at most 256 blocks. A sum is formed for each block,
 * and the sums of the blocks are added in their order, so runs give the same bits for any number of
 * ranks. */
int64_t cvtm_lbfgsb_block(int64_t total);
/* Creates a solver of one problem with divided variables; at most 20 pairs. The shares are
 * contiguous in the order of the ranks; `first` is a multiple of cvtm_lbfgsb_block(total), `count`
 * may be 0. Without ranks the share is all variables. The objective writes f[0..1] for each block
 * of the rank, consecutively: f[0] is the block's contribution to the value; the largest f[1] of
 * all blocks becomes `measure`. The ranks exchange sums between two evaluations: twice on CUDA,
 * three times on the CPU, in an iteration that accepts its first trial point. */
cvtm_status cvtm_lbfgsb_create_divided(cvtm_device *device, const cvtm_lbfgsb_share *share,
                                       const cvtm_lbfgsb_options *options, cvtm_lbfgsb **solver);
/* cvtm_lbfgsb_set_size for a divided solver: count is at most the count of the creation. */
cvtm_status cvtm_lbfgsb_set_share(cvtm_lbfgsb *solver, const cvtm_lbfgsb_share *share);

/* The saved bytes of a rank are pieces of the saved bytes of all ranks. The joined bytes can be cut
 * into pieces for any number of ranks, which restore them. */
enum { CVTM_LBFGSB_PIECES = 8 };
typedef struct cvtm_lbfgsb_piece {
  int64_t at; /* position in the bytes of all ranks */
  size_t bytes;
} cvtm_lbfgsb_piece;
/* Sets pieces[0 .. CVTM_LBFGSB_PIECES - 1] of this rank; the first piece is the same on every rank.
 * Returns the number of bytes of all ranks. Not collective. */
int64_t cvtm_lbfgsb_save_pieces(const cvtm_lbfgsb *solver, cvtm_lbfgsb_piece *pieces);

CVTM_C_END

/* L-BFGS-B with its variables divided among the ranks of a device (base/ranks.h). The solver is
 * that of lbfgsb.h, whose calls then are collective, but for destroy, point and save: the ranks
 * make them in the same order with the same options. A stop by time or by the monitor is that of
 * rank 0. */
#ifndef CVTMESH_LBFGSB_LBFGSB_RANKS_H
#define CVTMESH_LBFGSB_LBFGSB_RANKS_H

#include "lbfgsb/lbfgsb.h"

#ifdef __cplusplus
extern "C" {
#endif

/* This rank has variables first .. first + count - 1 of `total`; the arrays of all calls, but f,
 * hold these alone. */
typedef struct cvtm_lbfgsb_share {
  int64_t first, count, total;
} cvtm_lbfgsb_share;

/* The variables of a block, of which `total` make 256 at most. Sums are formed by blocks and added
 * in their order, so iterates, results and records have the same bits for any number of ranks. */
int64_t cvtm_lbfgsb_block(int64_t total);
/* A solver of one problem whose variables are divided. The shares follow each other in the order of
 * the ranks; `first` is a multiple of cvtm_lbfgsb_block(total), and `count` may be 0. Without ranks
 * the share is the whole. At most 20 pairs. The objective writes f[0..1] of each of the rank's
 * blocks, one after the other: f[0] is the block's part of the value, and the largest f[1] of all
 * becomes `measure`. Between two evaluations the ranks exchange the sums of the blocks, twice in
 * an iteration that accepts its first trial point on CUDA, three times on the CPU. */
cvtm_status cvtm_lbfgsb_create_divided(cvtm_device *device, const cvtm_lbfgsb_share *share,
                                       const cvtm_lbfgsb_options *options, cvtm_lbfgsb **solver);
/* cvtm_lbfgsb_set_size for such a solver: count is at most that of its creation. */
cvtm_status cvtm_lbfgsb_set_share(cvtm_lbfgsb *solver, const cvtm_lbfgsb_share *share);

/* The saved bytes of a rank are pieces of those of all ranks, one after the other. Bytes of all
 * ranks that are put together can be cut into the pieces of any number of ranks, which restore
 * them. */
enum { CVTM_LBFGSB_PIECES = 8 };
typedef struct cvtm_lbfgsb_piece {
  int64_t at; /* in the bytes of all ranks */
  size_t bytes;
} cvtm_lbfgsb_piece;
/* pieces[0 .. CVTM_LBFGSB_PIECES - 1] of this rank; the first is the same on every rank. Returns
 * the number of bytes of all ranks. Not collective. */
int64_t cvtm_lbfgsb_save_pieces(const cvtm_lbfgsb *solver, cvtm_lbfgsb_piece *pieces);

#ifdef __cplusplus
}
#endif
#endif

/* Inside lbfgsb only: a problem whose variables are divided among ranks. The host of every rank
 * makes the same decisions of iteration.h from the same numbers. In a pass, each block of rows
 * belongs to one rank, which forms the sums of the block. The ranks gather the sums of all blocks,
 * and every rank adds them in the order of the blocks. */
#pragma once

#include "lbfgsb/lbfgsb_ranks.h"
#include "lbfgsb/rows.h"

CVTM_C_BEGIN

/* A pass, and the layout of the record of a block: the entries; f[0..1] of the block; and, if
 * has_row, the row with the smallest positive breakpoint: 2m entries of W = [Y S], then g_i of the
 * scaled variable. */
typedef struct cvtm_divided_pass {
  cvtm_lbfgsb_pass pass;
  int entries, has_row, stride; /* stride: number of doubles in a record */
  int speculative;       /* nonzero: pass A before the trial point is accepted; writes no rows */
  int commit;            /* nonzero: pass B also writes the rows of a speculative pass A */
  int64_t block, blocks; /* rows in a block; number of blocks of all ranks */
  int64_t first, own_blocks; /* this rank's first row, and its number of blocks */
} cvtm_divided_pass;

enum {
  CVTM_DIVIDED_BLOCKS = 256, /* largest number of blocks */
  CVTM_DIVIDED_BATCH = 128,  /* breakpoints that each rank exchanges at once */
  CVTM_DIVIDED_ROW = 2 * CVTM_LBFGSB_SHORT + 1,
  CVTM_DIVIDED_STRIDE = CVTM_LBFGSB_MAX_ENTRIES + 2 + CVTM_DIVIDED_ROW /* the largest stride */
};

/* The functions that differ between devices. The host and the device see arrays->state, and the
 * other data of decisions, at one address. */
typedef struct cvtm_divided_table {
  /* The number of parts of a pass over at most n rows; each part is within a block. */
  int64_t (*parts)(int64_t n);
  /* Enqueues the computation of this rank's records; rows are numbered over all ranks. */
  cvtm_status (*pass)(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays,
                      const cvtm_divided_pass *pass, double *records);
  /* Sets total to the records of all blocks, combined in the order of the blocks. Waits for the
   * device. */
  cvtm_status (*combine)(cvtm_device *device, const cvtm_divided_pass *pass, const double *records,
                         double *total);
  /* Sets the trial point to x + step d, projected onto the box. */
  cvtm_status (*move)(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays);
  /* Writes the rows that a speculative pass A has not stored, unless a following pass B does so.
   * NULL: no pass is speculative. */
  cvtm_status (*commit)(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays);
  /* For r < count (at most CVTM_DIVIDED_BATCH), sets w[r * (2m + 1) ..] to row rows[r]: the 2m
   * entries of W, then g_i of the scaled variable. `rows` is in device memory, w on the host. Waits
   * for the device. */
  cvtm_status (*read_rows)(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays,
                           const int32_t *rows, int count, double *w);
} cvtm_divided_table;

extern const cvtm_divided_table cvtm_divided_table_cpu, cvtm_divided_table_cuda;

/* Allocates the data of decisions, sets the pointers of `arrays` to it, and allocates the data that
 * the ranks exchange. */
cvtm_status cvtm_divided_create(cvtm_device *device, cvtm_lbfgsb_arrays *arrays, int64_t capacity,
                                int exact, cvtm_divided **divided);
void cvtm_divided_destroy(cvtm_device *device, cvtm_divided *divided);
/* Collective: sets the shares of the ranks, which must be contiguous, and n and block of `arrays`.
 * capacity: the number of rows for which `arrays` has memory. */
cvtm_status cvtm_divided_set_share(cvtm_device *device, cvtm_lbfgsb_arrays *arrays,
                                   int64_t capacity, const cvtm_lbfgsb_share *share);
const cvtm_lbfgsb_share *cvtm_divided_share(const cvtm_divided *divided);
/* The number of blocks of this rank. */
int64_t cvtm_divided_own_blocks(const cvtm_divided *divided);
int64_t cvtm_divided_parts(cvtm_device *device, int64_t n, int64_t problems);
/* Functions of cvtm_lbfgsb_table. */
cvtm_status cvtm_divided_start(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m,
                               const cvtm_lbfgsb_state *first);
cvtm_status cvtm_divided_round(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m);

CVTM_C_END

/* Combines f[0..1] of two records. */
CVTM_HD void cvtm_divided_combine_values(double *own, const double *other) {
  own[0] += other[0];
  if (other[1] > own[1]) own[1] = other[1];
}

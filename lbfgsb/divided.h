/* Inside lbfgsb only: a problem whose variables are divided among ranks, each of which has the rows
 * of its share. The host of every rank makes the same decisions of iteration.h from the same
 * numbers: a pass forms the sums of each block of rows, which one rank has, the ranks gather those
 * of all blocks, and every rank adds them in the order of the blocks. */
#ifndef CVTMESH_LBFGSB_DIVIDED_H
#define CVTMESH_LBFGSB_DIVIDED_H

#include "lbfgsb/lbfgsb_ranks.h"
#include "lbfgsb/rows.h"
#include "lbfgsb/variables.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A pass, and the record that it makes of each block: entries, then f[0..1] of the block, then, if
 * it has a row, that of W and g with the smallest positive breakpoint (the 2m columns of Y and S,
 * and g, scaled). */
typedef struct cvtm_divided_pass {
  cvtm_lbfgsb_pass pass;
  int entries, has_row, stride; /* stride: doubles of a record */
  int speculative;              /* A: the trial point is not accepted yet, and nothing is written */
  int commit;                   /* B: after a speculative pass A that was right */
  int64_t block, blocks;        /* rows of a block; blocks of all ranks */
  int64_t first, own_blocks;    /* this rank's first row, and its blocks */
} cvtm_divided_pass;

enum {
  CVTM_DIVIDED_BLOCKS = 256, /* at most */
  CVTM_DIVIDED_BATCH = 128,  /* breakpoints that the ranks exchange at once */
  CVTM_DIVIDED_ROW = 2 * CVTM_LBFGSB_SHORT + 1,
  CVTM_DIVIDED_STRIDE = CVTM_LBFGSB_MAX_ENTRIES + 2 + CVTM_DIVIDED_ROW /* at most */
};

/* What differs between devices. arrays->state and what else the decisions need is in memory that
 * the host and the device see at one address. */
typedef struct cvtm_divided_table {
  /* Into how many parts a pass over n rows is divided at most, each within a block. */
  int64_t (*parts)(int64_t n);
  /* The records of this rank's blocks; their nearest rows are counted over all ranks. Enqueued. */
  cvtm_status (*pass)(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays,
                      const cvtm_divided_pass *pass, double *records);
  /* total: a record of all blocks, from those of each, in the order of the blocks. Waits. */
  cvtm_status (*combine)(cvtm_device *device, const cvtm_divided_pass *pass, const double *records,
                         double *total);
  /* Sets the trial point to x + step d, projected. */
  cvtm_status (*move)(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays);
  /* Writes what a speculative pass A did not, if no pass B follows that does. NULL: no pass is
   * speculative. */
  cvtm_status (*commit)(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays);
  /* w[r * (2m + 1) ..], on the host: the rows of W and g of at most CVTM_DIVIDED_BATCH rows that
   * are listed in device memory. Waits. */
  cvtm_status (*read_rows)(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays,
                           const int32_t *rows, int count, double *w);
} cvtm_divided_table;

extern const cvtm_divided_table cvtm_divided_table_cpu, cvtm_divided_table_cuda;

/* Allocates what the decisions need, to which `arrays` points afterwards, and what the ranks
 * exchange. */
cvtm_status cvtm_divided_create(cvtm_device *device, cvtm_lbfgsb_arrays *arrays, int64_t capacity,
                                int exact, cvtm_divided **divided);
void cvtm_divided_destroy(cvtm_device *device, cvtm_divided *divided);
/* Collective: the shares of the ranks, which must follow each other. capacity: rows that `arrays`
 * have room for. Sets their n and block. */
cvtm_status cvtm_divided_set_share(cvtm_device *device, cvtm_lbfgsb_arrays *arrays,
                                   int64_t capacity, const cvtm_lbfgsb_share *share);
const cvtm_lbfgsb_share *cvtm_divided_share(const cvtm_divided *divided);
/* The blocks of this rank. */
int64_t cvtm_divided_own_blocks(const cvtm_divided *divided);
int64_t cvtm_divided_parts(cvtm_device *device, int64_t n, int64_t problems);
/* The functions of cvtm_lbfgsb_table. */
cvtm_status cvtm_divided_start(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m);
cvtm_status cvtm_divided_round(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m);

#ifdef __cplusplus
}
#endif

/* f[0..1] of two records. */
CVTM_HD void cvtm_divided_combine_values(double *own, const double *other) {
  own[0] += other[0];
  if (other[1] > own[1]) own[1] = other[1];
}

#endif

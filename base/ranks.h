/* Ranks are the processes that solve one problem together. All ranks take the same steps with the
 * same numbers. Divided work consists of parts whose results are the same in every process, so the
 * bits of a result do not depend on the number of processes. Decisions that depend on the clock or
 * on a signal are made by rank 0.
 *
 * A failure that follows from what all ranks know, such as a wrong option, is found by every rank.
 * A rank that fails alone returns its error, and makes no further collective call. The other ranks
 * wait in their next collective call, until the program ends them all (cli_distributed_leave). No
 * status is sent, except where ranks have shares of different sizes: after the ranks have allocated
 * memory for their shares, they call cvtm_ranks_all_succeed; if one of them has failed, every rank
 * returns an error. In the same way every rank learns of wrong bounds of another rank's variables
 * (lbfgsb_setup.c). */
#pragma once

#include "base/device.h"
#include "base/cuda_libraries.h"

CVTM_C_BEGIN

/* gather and agree are collective: all ranks call them in the same order. They return nonzero if
 * the communication failed. */
typedef struct cvtm_ranks {
  int rank, size;
  /* all: the parts of all ranks in turn, counts[r] numbers of rank r. On entry this rank's own part
   * is set, on return every part is. */
  int (*gather)(double *all, const int64_t *counts);
  /* Sets *value to the value of rank 0. */
  int (*agree)(int64_t *value);
  cvtm_nccl *nccl; /* between CUDA devices; NULL: their data is copied through the host */
} cvtm_ranks;

/* Makes the device work for one of several ranks. ranks: borrowed; NULL: there is one process. */
void cvtm_device_set_ranks(cvtm_device *device, const cvtm_ranks *ranks);
const cvtm_ranks *cvtm_device_ranks(const cvtm_device *device);
/* Collective, for a device with ranks: sets ranks->nccl, which the caller closes, if no two ranks
 * share a GPU and every rank can load NCCL. CVTM_ERROR_UNSUPPORTED if the devices differ in their
 * kind or their number of multiprocessors, on which sums depend. */
cvtm_status cvtm_ranks_connect(cvtm_device *device, cvtm_ranks *ranks);
/* Call agree and gather of the device's ranks; do nothing without ranks. */
cvtm_status cvtm_ranks_agree(cvtm_device *device, int64_t *value);
cvtm_status cvtm_ranks_gather(cvtm_device *device, double *all, const int64_t *counts);
/* cvtm_ranks_gather for an array in the device's memory. staging: an array of the same size in the
 * host's memory; the CPU and NCCL do not use it. */
cvtm_status cvtm_ranks_gather_on_device(cvtm_device *device, double *all, const int64_t *counts,
                                        double *staging);
/* Sends counts[r * size + q] numbers from rank r to rank q, for all r and q, between arrays in the
 * devices' memory. from: what this rank sends, in the order of destinations. to: what this rank
 * receives, in the order of sources; `gap` numbers at its own position are not changed. */
cvtm_status cvtm_ranks_exchange(cvtm_device *device, const double *from, const int64_t *counts,
                                double *to, int64_t gap);
/* True without ranks, and on rank 0. Only rank 0 reads input and samples. */
int cvtm_ranks_lead(const cvtm_device *device);
/* Copies memory of rank 0, on the host or on the device, to all ranks. */
cvtm_status cvtm_ranks_broadcast(cvtm_device *device, void *memory, size_t bytes);
cvtm_status cvtm_ranks_broadcast_on_device(cvtm_device *device, void *memory, size_t bytes);
/* Replaces values[k], k < count <= 4, by the sum over all ranks. */
cvtm_status cvtm_ranks_sum(cvtm_device *device, int64_t *values, int count);
/* Collective. status: that of an allocation of this rank. Returns it, or CVTM_ERROR_MEMORY if only
 * other ranks have failed. */
cvtm_status cvtm_ranks_all_succeed(cvtm_device *device, cvtm_status status);

CVTM_C_END

/* Ranks are the processes that solve one problem together. All ranks take the same steps with the
 * same numbers. Divided work has parts whose results are the same in any process, so the bits of a
 * result do not depend on the number of processes. Rank 0 decides what depends on the clock or on a
 * signal. */
#ifndef CVTMESH_BASE_RANKS_H
#define CVTMESH_BASE_RANKS_H

#include "base/device.h"
#include "base/cuda_libraries.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Collective functions: all ranks call them in the same order. They return nonzero if the transport
 * failed. */
typedef struct cvtm_ranks {
  int rank, size;
  /* all: the parts of all ranks in turn, counts[r] numbers of rank r. On entry this rank's own part
   * is set, on return every part is. */
  int (*gather)(double *all, const int64_t *counts);
  /* *value becomes the value of rank 0. */
  int (*agree)(int64_t *value);
  cvtm_nccl *nccl; /* between CUDA devices; NULL: their data goes through the host */
} cvtm_ranks;

/* Makes the device work as one of several ranks. ranks: borrowed; NULL: this process works
 * alone. */
void cvtm_device_set_ranks(cvtm_device *device, const cvtm_ranks *ranks);
const cvtm_ranks *cvtm_device_ranks(const cvtm_device *device);
/* Collective, for a device with ranks: sets ranks->nccl if no two ranks share a GPU and every rank
 * can load NCCL. The caller closes it. Fails if the GPUs differ in a way that changes sums. */
cvtm_status cvtm_ranks_connect(cvtm_device *device, cvtm_ranks *ranks);
/* agree and gather of the device's ranks; without ranks they do nothing. */
cvtm_status cvtm_ranks_agree(cvtm_device *device, int64_t *value);
cvtm_status cvtm_ranks_gather(cvtm_device *device, double *all, const int64_t *counts);
/* cvtm_ranks_gather for an array in the device's memory. staging: an array of the same size in the
 * host's memory; the CPU and NCCL do not use it. */
cvtm_status cvtm_ranks_gather_on_device(cvtm_device *device, double *all, const int64_t *counts,
                                        double *staging);
/* Sends arrays in the devices' memory from each rank to each: counts[r * size + q] numbers from
 * rank r to rank q. `from`: what this rank sends, in the order of destinations. to: what it
 * receives, in the order of sources; `gap` numbers at its own place are not changed. */
cvtm_status cvtm_ranks_exchange(cvtm_device *device, const double *from, const int64_t *counts,
                                double *to, int64_t gap);
/* True without ranks, and on rank 0. Only rank 0 reads input and samples. */
int cvtm_ranks_lead(const cvtm_device *device);
/* Copies memory of rank 0, on the host or on the device, to all ranks. */
cvtm_status cvtm_ranks_broadcast(cvtm_device *device, void *memory, size_t bytes);
cvtm_status cvtm_ranks_broadcast_on_device(cvtm_device *device, void *memory, size_t bytes);
/* values[k], k < count, becomes its sum over all ranks. */
cvtm_status cvtm_ranks_sum(cvtm_device *device, int64_t *values, int count);

#ifdef __cplusplus
}
#endif
#endif

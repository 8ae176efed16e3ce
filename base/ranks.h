/* The processes that work at one problem together. All go through the same steps with the same
 * numbers; the work that they divide has parts with the same result in any process, so that the
 * bits of a result do not depend on the number of processes. A decision by the clock or by a signal
 * is that of rank 0. */
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
  /* all: the parts of all ranks, one after the other, counts[r] numbers of rank r. On entry this
   * rank's own part is in its place, on return every part is. */
  int (*gather)(double *all, const int64_t *counts);
  /* *value becomes the value of rank 0. */
  int (*agree)(int64_t *value);
  cvtm_nccl *nccl; /* between CUDA devices; NULL: their data goes through the host */
} cvtm_ranks;

/* Makes the device's work that of one of several ranks. ranks: borrowed; NULL: this process works
 * alone. */
void cvtm_device_set_ranks(cvtm_device *device, const cvtm_ranks *ranks);
const cvtm_ranks *cvtm_device_ranks(const cvtm_device *device);
/* Collective, for a device with ranks: sets ranks->nccl if no two ranks share a GPU and every rank
 * can load NCCL. The caller closes it. Fails if the GPUs differ so that sums would. */
cvtm_status cvtm_ranks_connect(cvtm_device *device, cvtm_ranks *ranks);
/* agree and gather of the device's ranks; without ranks they do nothing. */
cvtm_status cvtm_ranks_agree(cvtm_device *device, int64_t *value);
cvtm_status cvtm_ranks_gather(cvtm_device *device, double *all, const int64_t *counts);
/* gather of an array in the device's memory. staging: as large, in the host's memory; not used on
 * the CPU and by NCCL. */
cvtm_status cvtm_ranks_gather_on_device(cvtm_device *device, double *all, const int64_t *counts,
                                        double *staging);
/* Arrays in the devices' memory go from each rank to each: counts[r * size + q] numbers from rank r
 * to rank q. `from`: this rank's, one after the other by destination. to: those that come, by
 * source, with `gap` numbers left alone where this rank's own would be. */
cvtm_status cvtm_ranks_exchange(cvtm_device *device, const double *from, const int64_t *counts,
                                double *to, int64_t gap);
/* True without ranks, and on rank 0, which alone reads and samples. */
int cvtm_ranks_lead(const cvtm_device *device);
/* Memory of the host, or of the device, becomes that of rank 0. */
cvtm_status cvtm_ranks_broadcast(cvtm_device *device, void *memory, size_t bytes);
cvtm_status cvtm_ranks_broadcast_on_device(cvtm_device *device, void *memory, size_t bytes);
/* values[k] becomes the sum of those of all ranks, k < count. */
cvtm_status cvtm_ranks_sum(cvtm_device *device, int64_t *values, int count);

#ifdef __cplusplus
}
#endif
#endif

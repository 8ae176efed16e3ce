#include "base/ranks.h"

#include "base/device_kernels.h"
#include "base/select.h"

#include <stdlib.h>
#include <string.h>

void cvtm_device_set_ranks(cvtm_device *device, const cvtm_ranks *ranks) { device->ranks = ranks; }

const cvtm_ranks *cvtm_device_ranks(const cvtm_device *device) { return device->ranks; }

static cvtm_status check_exchange(cvtm_device *device, int failed) {
  if (!failed) return CVTM_OK;
  return cvtm_fail(&device->error, CVTM_ERROR_INTERNAL, "the ranks cannot reach each other");
}

cvtm_status cvtm_ranks_agree(cvtm_device *device, int64_t *value) {
  return device->ranks ? check_exchange(device, device->ranks->agree(value)) : CVTM_OK;
}

cvtm_status cvtm_ranks_gather(cvtm_device *device, double *all, const int64_t *counts) {
  return device->ranks ? check_exchange(device, device->ranks->gather(all, counts)) : CVTM_OK;
}

/* --- rank 0 and the others -------------------------------------------------------------------- */

int cvtm_ranks_lead(const cvtm_device *device) {
  return !device->ranks || device->ranks->rank == 0;
}

/* Copies `count` numbers of rank 0 to all ranks. staging: as in cvtm_ranks_gather_on_device, for
 * numbers in the device's memory. */
static cvtm_status gather_from_first(cvtm_device *device, double *all, int64_t count,
                                     double *staging, int on_device) {
  int64_t *counts = calloc((size_t)device->ranks->size, sizeof *counts);
  if (!counts) return cvtm_fail(&device->error, CVTM_ERROR_MEMORY, "out of memory");
  counts[0] = count;
  const cvtm_status status = on_device ? cvtm_ranks_gather_on_device(device, all, counts, staging)
                                       : cvtm_ranks_gather(device, all, counts);
  free(counts);
  return status;
}

cvtm_status cvtm_ranks_broadcast(cvtm_device *device, void *memory, size_t bytes) {
  const size_t words = bytes / sizeof(double), rest = bytes % sizeof(double);
  double last = 0;
  if (!device->ranks || device->ranks->size == 1) return CVTM_OK;
  cvtm_status status = gather_from_first(device, memory, (int64_t)words, NULL, 0);
  if (status != CVTM_OK || rest == 0) return status;
  memcpy(&last, (double *)memory + words, rest);
  status = gather_from_first(device, &last, 1, NULL, 0);
  memcpy((double *)memory + words, &last, rest);
  return status;
}

/* The largest number of values that are copied through the host at once. */
enum { SLAB = 1 << 23 };

static cvtm_status broadcast_in_slabs(cvtm_device *device, double *memory, int64_t count) {
  const int through_host = device->kind == CVTM_DEVICE_CUDA && !device->ranks->nccl;
  const int64_t most = through_host && count > SLAB ? SLAB : count;
  double *staging = through_host ? malloc((size_t)most * sizeof *staging) : NULL;
  cvtm_status status = CVTM_OK;
  if (through_host && !staging)
    return cvtm_fail(&device->error, CVTM_ERROR_MEMORY, "out of memory");
  for (int64_t at = 0; status == CVTM_OK && at < count; at += most)
    status =
        gather_from_first(device, memory + at, count - at < most ? count - at : most, staging, 1);
  free(staging);
  return status;
}

cvtm_status cvtm_ranks_broadcast_on_device(cvtm_device *device, void *memory, size_t bytes) {
  const size_t words = bytes / sizeof(double), rest = bytes % sizeof(double);
  double last = 0;
  if (!device->ranks || device->ranks->size == 1) return CVTM_OK;
  if (device->kind == CVTM_DEVICE_CPU) return cvtm_ranks_broadcast(device, memory, bytes);
  double *end = (double *)memory + words;
  CVTM_TRY(broadcast_in_slabs(device, memory, (int64_t)words));
  CVTM_TRY(cvtm_device_copy_out(device, &last, end, rest));
  CVTM_TRY(cvtm_ranks_broadcast(device, &last, rest));
  return cvtm_device_copy_in(device, end, &last, rest);
}

/* --- gathers ---------------------------------------------------------------------------------- */

static cvtm_status gather_through_host(cvtm_device *device, double *all, const int64_t *counts,
                                       double *staging) {
  const cvtm_ranks *ranks = device->ranks;
  int64_t total = 0, before = 0;
  for (int r = 0; r < ranks->size; ++r) {
    if (r < ranks->rank) before += counts[r];
    total += counts[r];
  }
  const int64_t after = before + counts[ranks->rank];
  CVTM_TRY(cvtm_device_copy_out(device, staging + before, all + before,
                                (size_t)(after - before) * sizeof *all));
  CVTM_TRY(cvtm_ranks_gather(device, staging, counts));
  CVTM_TRY(cvtm_device_copy_in(device, all, staging, (size_t)before * sizeof *all));
  return cvtm_device_copy_in(device, all + after, staging + after,
                             (size_t)(total - after) * sizeof *all);
}

cvtm_status cvtm_ranks_gather_on_device(cvtm_device *device, double *all, const int64_t *counts,
                                        double *staging) {
  const cvtm_ranks *ranks = device->ranks;
  if (!ranks || ranks->size == 1) return CVTM_OK;
  if (device->kind == CVTM_DEVICE_CPU) return cvtm_ranks_gather(device, all, counts);
  return ranks->nccl ? cvtm_nccl_gather(ranks->nccl, all, counts)
                     : gather_through_host(device, all, counts, staging);
}

/* Gathers `count` numbers from each rank. Returns NULL on failure; the caller frees the result. */
static double *gather_alike(cvtm_device *device, const double *own, int count) {
  const cvtm_ranks *ranks = device->ranks;
  const size_t size = (size_t)ranks->size, bytes = (size_t)count * sizeof *own;
  double *all = malloc(size * bytes);
  int64_t *counts = malloc(size * sizeof *counts);
  cvtm_status status = CVTM_OK;
  if (!all || !counts) {
    status = cvtm_fail(&device->error, CVTM_ERROR_MEMORY, "out of memory");
  } else {
    for (size_t r = 0; r < size; ++r) counts[r] = count;
    memcpy(all + (int64_t)ranks->rank * count, own, bytes);
    status = cvtm_ranks_gather(device, all, counts);
  }
  free(counts);
  if (status == CVTM_OK) return all;
  free(all);
  return NULL;
}

cvtm_status cvtm_ranks_sum(cvtm_device *device, int64_t *values, int count) {
  enum { MOST = 4 };
  double own[MOST] = {0};
  if (!device->ranks || device->ranks->size == 1) return CVTM_OK;
  for (int k = 0; k < count; ++k) own[k] = (double)values[k];
  double *all = gather_alike(device, own, count);
  if (!all) return device->error.status;
  for (int k = 0; k < count; ++k) values[k] = 0;
  for (int r = 0; r < device->ranks->size; ++r)
    for (int k = 0; k < count; ++k) values[k] += (int64_t)all[r * count + k];
  free(all);
  return CVTM_OK;
}

cvtm_status cvtm_ranks_all_succeed(cvtm_device *device, cvtm_status status) {
  int64_t failed = status != CVTM_OK;
  const cvtm_status shared = cvtm_ranks_sum(device, &failed, 1);
  if (status != CVTM_OK) return status;
  if (shared != CVTM_OK || failed == 0) return shared;
  return cvtm_fail(&device->error, CVTM_ERROR_MEMORY, "another rank has no memory");
}

/* How many numbers rank r sends. */
static int64_t sent_by(const int64_t *counts, int size, int r) {
  int64_t sum = 0;
  for (int q = 0; q < size; ++q) sum += counts[r * size + q];
  return sum;
}

/* Gathers what all ranks send, and copies to `to` what this rank receives. all: the numbers sent by
 * each rank in turn; sent: how many each rank sends. */
static cvtm_status exchange_through_host(cvtm_device *device, const double *from,
                                         const int64_t *counts, double *to, int64_t gap,
                                         double *all, const int64_t *sent) {
  const int size = device->ranks->size, rank = device->ranks->rank;
  int64_t before = 0;
  for (int r = 0; r < rank; ++r) before += sent[r];
  CVTM_TRY(cvtm_device_copy_out(device, all + before, from, (size_t)sent[rank] * sizeof *all));
  CVTM_TRY(cvtm_ranks_gather(device, all, sent));
  for (int r = 0; r < size; all += sent[r++]) {
    const int64_t count = counts[r * size + rank], step = r == rank ? gap : count;
    int64_t skipped = 0;
    for (int q = 0; q < rank; ++q) skipped += counts[r * size + q];
    if (r != rank)
      CVTM_TRY(cvtm_device_copy_in(device, to, all + skipped, (size_t)count * sizeof *all));
    to += step;
  }
  return CVTM_OK;
}

cvtm_status cvtm_ranks_exchange(cvtm_device *device, const double *from, const int64_t *counts,
                                double *to, int64_t gap) {
  const cvtm_ranks *ranks = device->ranks;
  if (!ranks || ranks->size == 1) return CVTM_OK;
  if (ranks->nccl) return cvtm_nccl_exchange(ranks->nccl, from, counts, ranks->rank, to, gap);
  int64_t *sent = malloc((size_t)ranks->size * sizeof *sent), total = 0;
  for (int r = 0; sent && r < ranks->size; ++r) total += sent[r] = sent_by(counts, ranks->size, r);
  double *all = malloc((size_t)(total > 0 ? total : 1) * sizeof *all);
  const cvtm_status status = sent && all
                                 ? exchange_through_host(device, from, counts, to, gap, all, sent)
                                 : cvtm_fail(&device->error, CVTM_ERROR_MEMORY, "out of memory");
  free(all);
  free(sent);
  return status;
}

/* --- NCCL ------------------------------------------------------------------------------------- */

/* What a rank sends about its device: integers that a double holds exactly. */
enum { DEVICE_KIND, DEVICE_PARTS, DEVICE_LOW, DEVICE_HIGH, HAS_NCCL, FACTS };

static void describe(const cvtm_device *device, int has_nccl, double facts[FACTS]) {
  facts[DEVICE_KIND] = device->kind;
  facts[DEVICE_PARTS] = device->multiprocessors;
  facts[DEVICE_LOW] = (double)(device->identity & 0xFFFFFFFF);
  facts[DEVICE_HIGH] = (double)(device->identity >> 32);
  facts[HAS_NCCL] = has_nccl;
}

static int are_alike(const double *all, int size) {
  for (int r = 1; r < size; ++r)
    if (all[r * FACTS + DEVICE_KIND] != all[DEVICE_KIND] ||
        all[r * FACTS + DEVICE_PARTS] != all[DEVICE_PARTS])
      return 0;
  return 1;
}

/* True if no two ranks share a GPU, and each has NCCL. */
static int can_connect(const double *all, int size) {
  for (int r = 0; r < size; ++r) {
    const double *own = all + r * FACTS;
    if (own[HAS_NCCL] == 0) return 0;
    for (int other = 0; other < r; ++other)
      if (memcmp(all + other * FACTS + DEVICE_LOW, own + DEVICE_LOW, 2 * sizeof *own) == 0)
        return 0;
  }
  return 1;
}

static cvtm_status join_nccl(cvtm_device *device, cvtm_nccl *nccl) {
  double id[CVTM_NCCL_ID_BYTES / sizeof(double)] = {0};
  const int count = (int)(sizeof id / sizeof id[0]);
  cvtm_status status = CVTM_OK;
  if (device->ranks->rank == 0) status = cvtm_nccl_make_id(nccl, (char *)id);
  if (status != CVTM_OK) return status;
  double *all = gather_alike(device, id, count); /* the identifier of rank 0 comes first */
  if (!all) return device->error.status;
  status = cvtm_nccl_join(nccl, (const char *)all, device->ranks->rank, device->ranks->size);
  free(all);
  return status;
}

cvtm_status cvtm_ranks_connect(cvtm_device *device, cvtm_ranks *ranks) {
  cvtm_nccl *nccl = NULL;
  double facts[FACTS];
  if (ranks->size == 1) return CVTM_OK;
  if (device->kind == CVTM_DEVICE_CUDA && !cvtm_uses_plain("nccl"))
    (void)cvtm_nccl_load(device, &nccl);
  describe(device, nccl != NULL, facts);
  double *all = gather_alike(device, facts, FACTS);
  cvtm_status status = all ? CVTM_OK : device->error.status;
  if (all && !are_alike(all, ranks->size))
    status = cvtm_fail(&device->error, CVTM_ERROR_UNSUPPORTED,
                       "the ranks have devices of different kinds, whose sums would differ");
  const int connects = status == CVTM_OK && can_connect(all, ranks->size);
  free(all);
  if (connects) status = join_nccl(device, nccl);
  if (connects && status == CVTM_OK)
    ranks->nccl = nccl;
  else
    cvtm_nccl_close(nccl);
  return status;
}

#include "base/primitives_kernels.h"

#include <string.h>

/* The integer primitives cut their input into chunks, one for each thread. The result does not
 * depend on the number of chunks. */
enum { CHUNK_MIN = 16384, RADIX_BITS = 8, RADIX = 1 << RADIX_BITS };

static int64_t chunks_for(const cvtm_device *device, int64_t count) {
  const int64_t useful = 1 + count / CHUNK_MIN;
  const int64_t threads = cvtm_device_threads(device);
  return useful < threads ? useful : threads;
}

/* First element of a chunk, without overflow of chunk * count. */
static int64_t chunk_start(int64_t count, int64_t chunks, int64_t chunk) {
  const int64_t remainder = count % chunks;
  return count / chunks * chunk + (chunk < remainder ? chunk : remainder);
}

static cvtm_status cpu_sort_workspace(cvtm_device *device, int64_t count, size_t *bytes) {
  (void)count;
  *bytes = (size_t)cvtm_device_threads(device) * RADIX * sizeof(int64_t);
  return CVTM_OK;
}

/* Replaces places[chunk][digit], the number of elements with this digit in the chunk, by the new
 * index of the first of them. Returns 0 if all elements have the same digit, so that none would
 * move. */
static int place_digits(int64_t *places, int64_t chunks, int64_t count) {
  int64_t sum = 0;
  for (int digit = 0; digit < RADIX; ++digit) {
    const int64_t before = sum;
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      int64_t *place = &places[chunk * RADIX + digit];
      const int64_t here = *place;
      *place = sum;
      sum += here;
    }
    if (sum - before == count) return 0;
  }
  return 1;
}

typedef struct pairs {
  uint64_t *keys;
  int32_t *values;
} pairs;

/* Sorts by the digit at `shift`, stably; returns 0 if no element has to move. */
static int radix_pass(const cvtm_device *device, pairs from, pairs to, int64_t count, int shift,
                      uint64_t mask, int64_t *places) {
  const int64_t chunks = chunks_for(device, count);
  memset(places, 0, (size_t)chunks * RADIX * sizeof *places);
#pragma omp parallel for schedule(static) num_threads((int)chunks)
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    int64_t *counts = places + chunk * RADIX;
    const int64_t end = chunk_start(count, chunks, chunk + 1);
    for (int64_t i = chunk_start(count, chunks, chunk); i < end; ++i)
      ++counts[(from.keys[i] >> shift) & mask];
  }
  if (!place_digits(places, chunks, count)) return 0;
#pragma omp parallel for schedule(static) num_threads((int)chunks)
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    int64_t *next = places + chunk * RADIX;
    const int64_t end = chunk_start(count, chunks, chunk + 1);
    for (int64_t i = chunk_start(count, chunks, chunk); i < end; ++i) {
      const int64_t place = next[(from.keys[i] >> shift) & mask]++;
      to.keys[place] = from.keys[i];
      to.values[place] = from.values[i];
    }
  }
  return 1;
}

static cvtm_status cpu_sort_pairs(cvtm_device *device, uint64_t *keys, int32_t *values,
                                  uint64_t *keys_alt, int32_t *values_alt, int64_t count, int bits,
                                  void *workspace, size_t bytes) {
  (void)bytes;
  pairs from = {keys, values};
  pairs to = {keys_alt, values_alt};
  for (int shift = 0; shift < bits; shift += RADIX_BITS) {
    const int left = bits - shift;
    const uint64_t mask = (UINT64_C(1) << (left < RADIX_BITS ? left : RADIX_BITS)) - 1;
    if (radix_pass(device, from, to, count, shift, mask, workspace)) {
      const pairs swapped = from;
      from = to;
      to = swapped;
    }
  }
  if (from.keys != keys) {
    memcpy(keys, from.keys, (size_t)count * sizeof *keys);
    memcpy(values, from.values, (size_t)count * sizeof *values);
  }
  return CVTM_OK;
}

/* The workspace has one sum per chunk. */
static cvtm_status cpu_scan_workspace(cvtm_device *device, int64_t count, size_t *bytes) {
  (void)count;
  *bytes = (size_t)cvtm_device_threads(device) * sizeof(int64_t);
  return CVTM_OK;
}

/* Sets starts[chunk] to the sum of all counts before the chunk; returns the total. */
static int64_t chunk_sums(const int32_t *counts, int64_t count, int64_t chunks, int64_t *starts) {
#pragma omp parallel for schedule(static) num_threads((int)chunks)
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    const int64_t end = chunk_start(count, chunks, chunk + 1);
    int64_t sum = 0;
    for (int64_t i = chunk_start(count, chunks, chunk); i < end; ++i) sum += counts[i];
    starts[chunk] = sum;
  }
  int64_t total = 0;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    const int64_t sum = starts[chunk];
    starts[chunk] = total;
    total += sum;
  }
  return total;
}

static cvtm_status cpu_scan_64(cvtm_device *device, const int32_t *counts, int64_t count,
                               int64_t *sums, void *workspace, size_t bytes) {
  (void)bytes;
  const int64_t chunks = chunks_for(device, count);
  int64_t *starts = workspace;
  sums[count] = chunk_sums(counts, count, chunks, starts);
#pragma omp parallel for schedule(static) num_threads((int)chunks)
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    const int64_t end = chunk_start(count, chunks, chunk + 1);
    int64_t sum = starts[chunk];
    for (int64_t i = chunk_start(count, chunks, chunk); i < end; ++i) {
      sums[i] = sum;
      sum += counts[i];
    }
  }
  return CVTM_OK;
}

/* Joins at most 256 elements to the lanes; inlined with a constant reduction so that the compiler
 * vectorises it. */
static inline void join_row(cvtm_reduction reduction, int takes_magnitude, double *lanes,
                            const double *x, const double *y, int64_t width) {
  for (int64_t k = 0; k < width; ++k) {
    double value = y ? x[k] * y[k] : x[k];
    if (takes_magnitude) value = fabs(value);
    lanes[k] = cvtm_reduce_join(reduction, lanes[k], value);
  }
}

static inline double reduce_block(cvtm_reduction reduction, int takes_magnitude, const double *x,
                                  const double *y, int64_t count) {
  double lanes[CVTM_REDUCE_LANES];
  for (int k = 0; k < CVTM_REDUCE_LANES; ++k) lanes[k] = cvtm_reduce_identity(reduction);
  for (int64_t row = 0; row < count; row += CVTM_REDUCE_LANES) {
    const int64_t left = count - row;
    const int64_t width = left < CVTM_REDUCE_LANES ? left : CVTM_REDUCE_LANES;
    join_row(reduction, takes_magnitude, lanes, x + row, y ? y + row : NULL, width);
  }
  for (int half = CVTM_REDUCE_LANES / 2; half > 0; half /= 2) {
    for (int k = 0; k < half; ++k)
      lanes[k] = cvtm_reduce_join(reduction, lanes[k], lanes[k + half]);
  }
  return lanes[0];
}

static double reduce_block_of(cvtm_reduction reduction, const double *x, const double *y,
                              int64_t count) {
  switch (reduction) {
    case CVTM_REDUCE_SUM:
      return y ? reduce_block(CVTM_REDUCE_SUM, 0, x, y, count)
               : reduce_block(CVTM_REDUCE_SUM, 0, x, NULL, count);
    case CVTM_REDUCE_MIN:
      return reduce_block(CVTM_REDUCE_MIN, 0, x, NULL, count);
    case CVTM_REDUCE_MAX:
      return reduce_block(CVTM_REDUCE_MAX, 0, x, NULL, count);
    default:
      return reduce_block(CVTM_REDUCE_MAX_ABS, 1, x, NULL, count);
  }
}

static cvtm_status cpu_reduce_blocks(cvtm_device *device, cvtm_reduction reduction, const double *x,
                                     const double *y, int64_t count, double *partial) {
  const int64_t blocks = count == 0 ? 1 : (count + CVTM_REDUCE_BLOCK - 1) / CVTM_REDUCE_BLOCK;
#pragma omp parallel for schedule(static) num_threads((int)chunks_for(device, count))
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t start = block * CVTM_REDUCE_BLOCK;
    const int64_t left = count - start;
    const int64_t size = left < CVTM_REDUCE_BLOCK ? left : CVTM_REDUCE_BLOCK;
    partial[block] = size == 0 ? cvtm_reduce_identity(reduction)
                               : reduce_block_of(reduction, x + start, y ? y + start : NULL, size);
  }
  return CVTM_OK;
}

CVTM_VECTOR_PHASES(CVTM_PHASE_CPU)

const cvtm_primitives_table cvtm_primitives_table_cpu = {.sort_workspace = cpu_sort_workspace,
                                                         .sort_pairs = cpu_sort_pairs,
                                                         .scan_workspace = cpu_scan_workspace,
                                                         .scan_64 = cpu_scan_64,
                                                         .reduce_blocks = cpu_reduce_blocks,
                                                         CVTM_VECTOR_PHASES(CVTM_PHASE_CPU_NAME)};

#include "base/primitives.h"

#include "base/select.h"
#include "base/device_kernels.h"
#include "base/primitives_kernels.h"

/* --- the workspace ---------------------------------------------------------------------------- */

/* Makes the workspace at least `bytes` long. Graphs of loops keep the addresses of earlier, smaller
 * workspaces, so these are freed only with the device; the size at least doubles. */
static cvtm_status reserve(cvtm_device *device, size_t bytes) {
  size_t more = 2 * device->workspace_bytes + CVTM_LEAST_WORKSPACE;
  void *grown = NULL;
  if (bytes <= device->workspace_bytes) return CVTM_OK;
  if (more < bytes) more = bytes;
  CVTM_TRY(cvtm_device_allocate(device, (int64_t)more, 1, &grown));
  device->workspaces[device->workspace_count++] = device->workspace = grown;
  device->workspace_bytes = more;
  return CVTM_OK;
}

cvtm_status cvtm_sort_reserve(cvtm_device *device, int64_t count) {
  size_t bytes = 0;
  CVTM_TRY(cvtm_device_activate(device));
  CVTM_TRY(CVTM_TABLE(device, cvtm_primitives_table)->sort_workspace(device, count, &bytes));
  return reserve(device, bytes);
}

cvtm_status cvtm_scan_reserve(cvtm_device *device, int64_t count) {
  size_t bytes = 0;
  CVTM_TRY(cvtm_device_activate(device));
  CVTM_TRY(CVTM_TABLE(device, cvtm_primitives_table)->scan_workspace(device, count, &bytes));
  return reserve(device, bytes);
}

static int64_t block_count(int64_t count) {
  return count == 0 ? 1 : (count + CVTM_REDUCE_BLOCK - 1) / CVTM_REDUCE_BLOCK;
}

cvtm_status cvtm_reduce_reserve(cvtm_device *device, int64_t count) {
  const int64_t blocks = block_count(count);
  CVTM_TRY(cvtm_device_activate(device));
  return blocks == 1 ? CVTM_OK
                     : reserve(device, (size_t)(blocks + block_count(blocks)) * sizeof(double));
}

/* --- the primitives --------------------------------------------------------------------------- */

cvtm_status cvtm_sort_pairs(cvtm_device *device, uint64_t *keys, int32_t *values,
                            uint64_t *keys_alt, int32_t *values_alt, int64_t count, int bits) {
  const cvtm_primitives_table *table = CVTM_TABLE(device, cvtm_primitives_table);
  CVTM_TRY(cvtm_sort_reserve(device, count));
  if (count < 2) return CVTM_OK;
  return table->sort_pairs(device, keys, values, keys_alt, values_alt, count, bits,
                           device->workspace, device->workspace_bytes);
}

cvtm_status cvtm_scan_64(cvtm_device *device, const int32_t *counts, int64_t count, int64_t *sums) {
  const cvtm_primitives_table *table = CVTM_TABLE(device, cvtm_primitives_table);
  CVTM_TRY(cvtm_scan_reserve(device, count));
  if (count == 0) return cvtm_device_fill(device, sums, 0, sizeof *sums);
  return table->scan_64(device, counts, count, sums, device->workspace, device->workspace_bytes);
}

/* Reduces level by level. The partial results alternate between two parts of the workspace, until a
 * level with a single block writes the result. */
static cvtm_status reduce_tree(cvtm_device *device, cvtm_reduction reduction, const double *x,
                               const double *y, int64_t count, double *result) {
  const cvtm_primitives_table *table = CVTM_TABLE(device, cvtm_primitives_table);
  CVTM_TRY(cvtm_reduce_reserve(device, count));
  double *to = device->workspace;
  double *other = count > CVTM_REDUCE_BLOCK ? to + block_count(count) : to;
  for (;;) {
    const int64_t blocks = block_count(count);
    CVTM_TRY(table->reduce_blocks(device, reduction, x, y, count, blocks == 1 ? result : to));
    if (blocks == 1) break;
    /* Only the first level multiplies by y. */
    x = to;
    y = NULL;
    count = blocks;
    to = other;
    other = (double *)x;
  }
  return CVTM_OK;
}

cvtm_status cvtm_reduce(cvtm_device *device, cvtm_reduction reduction, const double *x,
                        int64_t count, double *result) {
  return reduce_tree(device, reduction, x, NULL, count, result);
}

cvtm_status cvtm_dot(cvtm_device *device, const double *x, const double *y, int64_t count,
                     double *result) {
  return reduce_tree(device, CVTM_REDUCE_SUM, x, y, count, result);
}

cvtm_status cvtm_vector_fill(cvtm_device *device, double *x, double value, int64_t count) {
  const cvtm_status status = cvtm_device_activate(device);
  if (status != CVTM_OK || count == 0) return status;
  return CVTM_TABLE(device, cvtm_primitives_table)->fill(device, x, value, count);
}

cvtm_status cvtm_vector_axpy(cvtm_device *device, double a, const double *x, double *y,
                             int64_t count) {
  const cvtm_status status = cvtm_device_activate(device);
  if (status != CVTM_OK || count == 0) return status;
  return CVTM_TABLE(device, cvtm_primitives_table)->axpy(device, a, x, y, count);
}

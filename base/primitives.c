#include "base/primitives.h"

#include "base/select.h"
#include "base/device_kernels.h"
#include "base/primitives_kernels.h"

/* Checks the number of elements and makes the device current. */
static cvtm_status begin_primitive(cvtm_device *device, const char *what, int64_t count,
                                   int64_t limit) {
  if (count < 0 || count > limit)
    return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_ARGUMENT,
                     "%s: cannot work on %lld elements", what, (long long)count);
  return cvtm_device_activate(device);
}

static cvtm_status check_workspace(cvtm_device *device, const char *what, const void *workspace,
                                   size_t bytes, size_t needed) {
  if (bytes >= needed && (workspace || needed == 0)) return CVTM_OK;
  return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_ARGUMENT,
                   "%s: workspace of %zu bytes where %zu are needed", what, bytes, needed);
}

typedef cvtm_status (*workspace_query)(cvtm_device *device, int64_t count, size_t *bytes);

static cvtm_status begin_with_workspace(cvtm_device *device, const char *what, int64_t count,
                                        int64_t limit, workspace_query query, const void *workspace,
                                        size_t bytes) {
  size_t needed = 0;
  CVTM_TRY(begin_primitive(device, what, count, limit));
  CVTM_TRY(query(device, count, &needed));
  return check_workspace(device, what, workspace, bytes, needed);
}

/* More elements than any memory holds, and small enough for sizes in bytes. */
static const int64_t count_limit = INT64_C(1) << 48;

cvtm_status cvtm_sort_workspace(cvtm_device *device, int64_t count, size_t *bytes) {
  CVTM_TRY(begin_primitive(device, "sort", count, count_limit));
  return CVTM_TABLE(device, cvtm_primitives_table)->sort_workspace(device, count, bytes);
}

cvtm_status cvtm_sort_pairs(cvtm_device *device, uint64_t *keys, int32_t *values,
                            uint64_t *keys_alt, int32_t *values_alt, int64_t count, int bits,
                            void *workspace, size_t bytes) {
  const cvtm_primitives_table *table = CVTM_TABLE(device, cvtm_primitives_table);
  if (bits < 1 || bits > 64)
    return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_ARGUMENT, "sort: %d bits", bits);
  const cvtm_status status = begin_with_workspace(device, "sort", count, count_limit,
                                                  table->sort_workspace, workspace, bytes);
  if (status != CVTM_OK || count < 2) return status;
  return table->sort_pairs(device, keys, values, keys_alt, values_alt, count, bits, workspace,
                           bytes);
}

cvtm_status cvtm_scan_workspace(cvtm_device *device, int64_t count, size_t *bytes) {
  CVTM_TRY(begin_primitive(device, "scan", count, count_limit));
  return CVTM_TABLE(device, cvtm_primitives_table)->scan_workspace(device, count, bytes);
}

cvtm_status cvtm_scan_64(cvtm_device *device, const int32_t *counts, int64_t count, int64_t *sums,
                         void *workspace, size_t bytes) {
  const cvtm_primitives_table *table = CVTM_TABLE(device, cvtm_primitives_table);
  CVTM_TRY(begin_with_workspace(device, "scan", count, count_limit, table->scan_workspace,
                                workspace, bytes));
  if (count == 0) return cvtm_device_fill(device, sums, 0, sizeof *sums);
  return table->scan_64(device, counts, count, sums, workspace, bytes);
}

static int64_t block_count(int64_t count) {
  return count == 0 ? 1 : (count + CVTM_REDUCE_BLOCK - 1) / CVTM_REDUCE_BLOCK;
}

static size_t reduce_bytes(int64_t count) {
  const int64_t blocks = block_count(count);
  return blocks == 1 ? 0 : (size_t)(blocks + block_count(blocks)) * sizeof(double);
}

cvtm_status cvtm_reduce_workspace(cvtm_device *device, int64_t count, size_t *bytes) {
  CVTM_TRY(begin_primitive(device, "reduction", count, count_limit));
  *bytes = reduce_bytes(count);
  return CVTM_OK;
}

/* Reduces level by level. The partial results alternate between two parts of the workspace, until a
 * level with a single block writes the result. */
static cvtm_status reduce_tree(cvtm_device *device, cvtm_reduction reduction, const double *x,
                               const double *y, int64_t count, double *result, void *workspace,
                               size_t bytes) {
  const cvtm_primitives_table *table = CVTM_TABLE(device, cvtm_primitives_table);
  CVTM_TRY(begin_primitive(device, "reduction", count, count_limit));
  CVTM_TRY(check_workspace(device, "reduction", workspace, bytes, reduce_bytes(count)));
  double *to = workspace;
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
                        int64_t count, double *result, void *workspace, size_t bytes) {
  return reduce_tree(device, reduction, x, NULL, count, result, workspace, bytes);
}

cvtm_status cvtm_dot(cvtm_device *device, const double *x, const double *y, int64_t count,
                     double *result, void *workspace, size_t bytes) {
  return reduce_tree(device, CVTM_REDUCE_SUM, x, y, count, result, workspace, bytes);
}

cvtm_status cvtm_vector_fill(cvtm_device *device, double *x, double value, int64_t count) {
  const cvtm_status status = begin_primitive(device, "fill", count, count_limit);
  if (status != CVTM_OK || count == 0) return status;
  return CVTM_TABLE(device, cvtm_primitives_table)->fill(device, x, value, count);
}

cvtm_status cvtm_vector_axpy(cvtm_device *device, double a, const double *x, double *y,
                             int64_t count) {
  const cvtm_status status = begin_primitive(device, "axpy", count, count_limit);
  if (status != CVTM_OK || count == 0) return status;
  return CVTM_TABLE(device, cvtm_primitives_table)->axpy(device, a, x, y, count);
}

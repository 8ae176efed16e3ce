#include "cvt/shares.h"

#include "base/table_select.h"

#include <math.h>
#include <stdlib.h>

cvtm_status cvtm_shares_create(cvtm_device *device, int64_t capacity, cvtm_shares *s) {
  const size_t size = (size_t)cvtm_device_ranks(device)->size;
  const int on_host = cvtm_device_get_kind(device) == CVTM_DEVICE_CPU || size == 1;
  s->bound = malloc((size + 1) * sizeof *s->bound);
  s->seconds = malloc(size * sizeof *s->seconds);
  s->counts = malloc(size * sizeof *s->counts);
  s->old = malloc(size * sizeof *s->old);
  s->staging = on_host ? NULL : malloc(4 * (size_t)capacity * sizeof *s->staging);
  cvtm_status status =
      cvtm_device_allocate(device, 4 * capacity, sizeof *s->packed, (void **)&s->packed);
  if (!s->bound || !s->seconds || !s->counts || !s->old || (!on_host && !s->staging))
    status = cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY,
                       "no memory to exchange the moments of %lld cells", (long long)capacity);
  if (status != CVTM_OK) {
    cvtm_shares_free(device, s);
    return status;
  }
  for (size_t r = 0; r <= size; ++r) s->bound[r] = (double)r / (double)size;
  return CVTM_OK;
}

void cvtm_shares_free(cvtm_device *device, cvtm_shares *s) {
  cvtm_device_free(device, s->packed);
  free(s->bound);
  free(s->seconds);
  free(s->counts);
  free(s->old);
  free(s->staging);
  *s = (cvtm_shares){NULL, NULL, NULL, NULL, NULL, NULL};
}

/* The first place of rank r; that of rank `size` is `count`. */
static int64_t place_of(const cvtm_shares *s, const cvtm_ranks *ranks, int64_t count, int r) {
  const int64_t block = (int64_t)(s->bound[r] * (double)(count / CVTM_SHARES_BLOCK + 1));
  const int64_t place = block * CVTM_SHARES_BLOCK;
  return r == ranks->size || place > count ? count : place;
}

void cvtm_shares_own(const cvtm_shares *s, const cvtm_ranks *ranks, int64_t count, int64_t *first,
                     int64_t *end) {
  *first = ranks ? place_of(s, ranks, count, ranks->rank) : 0;
  *end = ranks ? place_of(s, ranks, count, ranks->rank + 1) : count;
}

void cvtm_shares_balance(double *bound, const double *seconds, int size, double *old) {
  double total = 0;
  for (int r = 0; r < size; ++r) total += seconds[r];
  if (!(total > 0) || !isfinite(total)) return;
  double *wanted = bound + 1, before = 0, left = bound[0];
  for (int r = 0; r < size; ++r) old[r] = bound[r + 1];
  int next = 1;
  for (int r = 0; r < size; ++r) {
    for (; next < size && before + seconds[r] >= total * next / size; ++next) {
      const double share = seconds[r] > 0 ? (total * next / size - before) / seconds[r] : 1;
      wanted[next - 1] = left + (old[r] - left) * share;
    }
    before += seconds[r];
    left = old[r];
  }
}

cvtm_status cvtm_shares_exchange(cvtm_shares *s, cvtm_device *device, const int32_t *index,
                                 int64_t count, double seconds, cvtm_cell_moments *moments) {
  const cvtm_shares_table *table = CVTM_TABLE(device, cvtm_shares);
  const cvtm_ranks *ranks = cvtm_device_ranks(device);
  int64_t first, end;
  if (ranks->size == 1) return CVTM_OK;
  cvtm_shares_own(s, ranks, count, &first, &end);
  for (int r = 0; r < ranks->size; ++r)
    s->counts[r] = 4 * (place_of(s, ranks, count, r + 1) - place_of(s, ranks, count, r));
  cvtm_status status = table->pack(device, moments, index, first, end, s->packed);
  if (status == CVTM_OK)
    status = cvtm_ranks_gather_on_device(device, s->packed, s->counts, s->staging);
  if (status == CVTM_OK)
    status = table->unpack(device, s->packed, index, first, end, count, moments);
  if (status != CVTM_OK) return status;
  for (int r = 0; r < ranks->size; ++r) s->counts[r] = 1;
  s->seconds[ranks->rank] = seconds;
  status = cvtm_ranks_gather(device, s->seconds, s->counts);
  if (status == CVTM_OK) cvtm_shares_balance(s->bound, s->seconds, ranks->size, s->old);
  return status;
}

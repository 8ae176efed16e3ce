#include "base/ranks.h"
#include "cvt/shares.h"

#include <math.h>
#include <stdlib.h>

cvtm_status cvtm_shares_create(cvtm_device *device, int64_t capacity, cvtm_shares *s) {
  const size_t size = (size_t)cvtm_device_ranks(device)->size;
  s->bound = malloc((size + 1) * sizeof *s->bound);
  s->seconds = malloc(size * sizeof *s->seconds);
  s->counts = malloc(size * sizeof *s->counts);
  s->packed = malloc(4 * (size_t)capacity * sizeof *s->packed);
  s->old = malloc(size * sizeof *s->old);
  if (!s->bound || !s->seconds || !s->counts || !s->packed || !s->old) {
    cvtm_shares_free(s);
    return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY,
                     "no memory to exchange the moments of %lld cells", (long long)capacity);
  }
  for (size_t r = 0; r <= size; ++r) s->bound[r] = (double)r / (double)size;
  return CVTM_OK;
}

void cvtm_shares_free(cvtm_shares *s) {
  free(s->bound);
  free(s->seconds);
  free(s->counts);
  free(s->packed);
  free(s->old);
  *s = (cvtm_shares){NULL, NULL, NULL, NULL, NULL};
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
  const cvtm_ranks *ranks = cvtm_device_ranks(device);
  const int own = ranks->rank;
  for (int64_t p = place_of(s, ranks, count, own); p < place_of(s, ranks, count, own + 1); ++p) {
    const cvtm_cell_moments *m = &moments[index[p]];
    double *to = s->packed + 4 * p;
    to[0] = m->mass;
    to[1] = m->x;
    to[2] = m->y;
    to[3] = m->second;
  }
  for (int r = 0; r < ranks->size; ++r)
    s->counts[r] = 4 * (place_of(s, ranks, count, r + 1) - place_of(s, ranks, count, r));
  cvtm_status status = cvtm_ranks_gather(device, s->packed, s->counts);
  if (status != CVTM_OK) return status;
  for (int64_t p = 0; p < count; ++p) {
    const double *from = s->packed + 4 * p;
    moments[index[p]] =
        (cvtm_cell_moments){.mass = from[0], .x = from[1], .y = from[2], .second = from[3]};
  }
  for (int r = 0; r < ranks->size; ++r) s->counts[r] = 1;
  s->seconds[own] = seconds;
  status = cvtm_ranks_gather(device, s->seconds, s->counts);
  if (status == CVTM_OK) cvtm_shares_balance(s->bound, s->seconds, ranks->size, s->old);
  return status;
}

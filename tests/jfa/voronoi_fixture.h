/* Point sets, and a slow nearest-site search that the tests of jfa and voronoi compare with. */
#pragma once

#include "test_devices.h"

#include "base/domain.h"
#include "base/random.h"

/* count sites, uniform over the domain; free with free. */
static inline double *uniform_sites(cvtm_domain domain, int64_t count, uint64_t seed) {
  double *sites = doubles(2 * count);
  for (int64_t i = 0; i < count; ++i) {
    cvtm_random_uniform2(seed, 1, (uint64_t)i, sites + 2 * i);
    sites[2 * i] *= domain.width;
    sites[2 * i + 1] *= domain.height;
  }
  return sites;
}

/* Half of the sites in a square of one pixel, most others in a few tight clusters. */
static inline double *clustered_sites(cvtm_domain domain, int64_t count, uint64_t seed) {
  double *sites = uniform_sites(domain, count, seed);
  for (int64_t i = 0; i < count; ++i) {
    const double u = sites[2 * i] / domain.width, v = sites[2 * i + 1] / domain.height;
    const int64_t cluster = i % 2 ? 0 : 1 + i % 10 / 2;
    if (cluster == 5) continue;
    const double spread = cluster == 0 ? 1 : pow(10, -(double)cluster);
    sites[2 * i] = domain.width * (0.13 + 0.2 * (double)cluster) + spread * (u - 0.5);
    sites[2 * i + 1] = domain.height * (0.9 - 0.17 * (double)cluster) + spread * (v - 0.5);
  }
  return sites;
}

static inline long double reference_axis(cvtm_domain domain, int side, double p, double s) {
  if (!domain.periodic) return fabsl((long double)p - s);
  const long double d = fabsl(remainderl((long double)p - s, side));
  return d;
}

static inline long double reference_distance2(cvtm_domain domain, double x, double y,
                                              const double *site) {
  const long double dx = reference_axis(domain, domain.width, x, site[0]);
  const long double dy = reference_axis(domain, domain.height, y, site[1]);
  return dx * dx + dy * dy;
}

/* The lowest index among the nearest; -1 if count is 0. */
static inline int32_t reference_nearest(cvtm_domain domain, const double *sites, int64_t count,
                                        double x, double y) {
  long double best = HUGE_VALL;
  int32_t index = -1;
  for (int64_t i = 0; i < count; ++i) {
    const long double d = reference_distance2(domain, x, y, sites + 2 * i);
    if (d < best) {
      best = d;
      index = (int32_t)i;
    }
  }
  return index;
}

/* True if `found` is the nearest site, up to the rounding of doubles. In an exact tie it must be
 * the lowest index. */
static inline int is_nearest(cvtm_domain domain, const double *sites, int64_t count, double x,
                             double y, int32_t found) {
  const int32_t expected = reference_nearest(domain, sites, count, x, y);
  if (found == expected) return 1;
  if (found < 0 || found >= count || expected < 0) return 0;
  const long double d = reference_distance2(domain, x, y, sites + 2 * (int64_t)found);
  const long double best = reference_distance2(domain, x, y, sites + 2 * (int64_t)expected);
  return d != best && d <= best + 1e-13L * (best + domain.width + domain.height);
}

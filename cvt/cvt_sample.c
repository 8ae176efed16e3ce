/* Initial sites, and the energy that regular hexagons would have. */
#include "base/random.h"
#include "cvt/cvt.h"

#include <math.h>
#include <stdlib.h>

enum { BLOCK = 64 }; /* pixels per entry of the cumulative table */

static double root_of(float rho) { return sqrt((double)rho); }

/* Row by row, so that the sum stays accurate for large images. */
static double root_integral(cvtm_domain domain, const float *density) {
  double total = 0;
  for (int j = 0; j < domain.height; ++j) {
    double row = 0;
    const float *rho = density + (int64_t)j * domain.width;
    for (int i = 0; i < domain.width; ++i) row += root_of(rho[i]);
    total += row;
  }
  return total;
}

double cvtm_cvt_energy_bound(cvtm_domain domain, const float *density, int64_t count) {
  if (count <= 0 || !density) return INFINITY;
  const double integral = root_integral(domain, density);
  return 5 / (18 * sqrt(3.0)) * (integral * integral) / (double)count;
}

/* A uniform place in pixel (i, j), strictly inside the domain. */
static void place_in_pixel(cvtm_domain domain, int i, int j, uint64_t seed, uint64_t site,
                           double *xy) {
  double u[2];
  cvtm_random_uniform2(seed, 1, site, u);
  const double tiny = 1.0 / 9007199254740992.0;
  xy[0] = fmin(i + fmax(u[0], tiny), nextafter((double)domain.width, 0));
  xy[1] = fmin(j + fmax(u[1], tiny), nextafter((double)domain.height, 0));
}

/* The pixel where the cumulative sum of sqrt(rho), pixels in order of storage, passes `target`. */
static int64_t pixel_at(const float *density, int64_t area, const double *cumulative,
                        int64_t blocks, double target) {
  int64_t low = 0, high = blocks - 1; /* the last block that begins at or below the target */
  while (low < high) {
    const int64_t middle = high - (high - low) / 2;
    if (cumulative[middle] <= target) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  int64_t chosen = -1;
  double sum = cumulative[low];
  for (int64_t p = low * BLOCK; p < area; ++p) {
    if (!(density[p] > 0)) continue;
    chosen = p;
    sum += root_of(density[p]);
    if (sum > target) return p;
  }
  /* Rounding put the target at the very end: the last pixel that has any density. */
  for (int64_t p = low * BLOCK - 1; chosen < 0 && p >= 0; --p) {
    if (density[p] > 0) chosen = p;
  }
  return chosen;
}

static cvtm_status sample_random(cvtm_domain domain, const float *density, int64_t count,
                                 uint64_t seed, double *sites, cvtm_error *error) {
  const int64_t area = (int64_t)domain.width * domain.height;
  const int64_t blocks = (area + BLOCK - 1) / BLOCK;
  double *cumulative = malloc((size_t)(blocks + 1) * sizeof *cumulative);
  if (!cumulative) return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory to sample sites");
  cumulative[0] = 0;
  for (int64_t b = 0; b < blocks; ++b) {
    double sum = 0;
    for (int64_t p = b * BLOCK; p < area && p < (b + 1) * BLOCK; ++p) sum += root_of(density[p]);
    cumulative[b + 1] = cumulative[b] + sum;
  }
  const double total = cumulative[blocks];
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < count; ++i) {
    const double target = total * cvtm_random_uniform(seed, 0, (uint64_t)i);
    const int64_t p = pixel_at(density, area, cumulative, blocks, target);
    place_in_pixel(domain, (int)(p % domain.width), (int)(p / domain.width), seed, (uint64_t)i,
                   sites + 2 * i);
  }
  free(cumulative);
  return CVTM_OK;
}

/* A walk along the Hilbert curve that cuts its length, sqrt(rho) per pixel, into count
 * equal strata and draws one site in each. */
typedef struct hilbert_walk {
  cvtm_domain domain;
  const float *density;
  int64_t count, next; /* sites, and those placed so far */
  uint64_t seed;
  double total, sum, target; /* target: where the next site lies */
  int last_i, last_j;        /* the last pixel with any density */
  double *sites;
} hilbert_walk;

static void set_target(hilbert_walk *walk) {
  const double u = cvtm_random_uniform(walk->seed, 0, (uint64_t)walk->next);
  walk->target = walk->total * (((double)walk->next + u) / (double)walk->count);
}

static void visit_pixel(hilbert_walk *walk, int i, int j) {
  const float rho = walk->density[(int64_t)j * walk->domain.width + i];
  if (!(rho > 0)) return;
  walk->last_i = i;
  walk->last_j = j;
  walk->sum += root_of(rho);
  while (walk->next < walk->count && walk->target < walk->sum) {
    place_in_pixel(walk->domain, i, j, walk->seed, (uint64_t)walk->next,
                   walk->sites + 2 * walk->next);
    ++walk->next;
    set_target(walk);
  }
}

/* The square of 2^order pixels whose corner is (i, j); the curve enters it at the corner that
 * lies against both (ax, ay) and (bx, by), unit steps along it and across it. */
static void walk_square(hilbert_walk *walk, int order, int i, int j, int ax, int ay, int bx,
                        int by) {
  const int side = 1 << order;
  if (i >= walk->domain.width || j >= walk->domain.height) return;
  if (order == 0) {
    visit_pixel(walk, i, j);
    return;
  }
  const int half = side / 2;
  /* A quarter is named by whether it is on the far side along a and along b. */
  static const int along[4] = {0, 1, 1, 0}, across[4] = {0, 0, 1, 1};
  for (int q = 0; q < 4; ++q) {
    const int x = along[q] * ax + across[q] * bx, y = along[q] * ay + across[q] * by;
    /* Against a negative step the far side is the one of smaller coordinates. */
    const int qi = i + half * ((ax + bx < 0) + x), qj = j + half * ((ay + by < 0) + y);
    if (q == 0) {
      walk_square(walk, order - 1, qi, qj, bx, by, ax, ay);
    } else if (q == 3) {
      walk_square(walk, order - 1, qi, qj, -bx, -by, -ax, -ay);
    } else {
      walk_square(walk, order - 1, qi, qj, ax, ay, bx, by);
    }
  }
}

static void sample_stratified(cvtm_domain domain, const float *density, int64_t count,
                              uint64_t seed, double total, double *sites) {
  hilbert_walk walk = {.domain = domain,
                       .density = density,
                       .count = count,
                       .seed = seed,
                       .total = total,
                       .sites = sites};
  const int side = domain.width > domain.height ? domain.width : domain.height;
  int order = 0;
  while ((1 << order) < side) ++order;
  set_target(&walk);
  walk_square(&walk, order, 0, 0, 1, 0, 0, 1);
  /* The walk adds in another order than the total did: rounding may leave a site over. */
  for (; walk.next < count; ++walk.next) {
    place_in_pixel(domain, walk.last_i, walk.last_j, seed, (uint64_t)walk.next,
                   sites + 2 * walk.next);
  }
}

static cvtm_status check_density(cvtm_domain domain, const float *density, double *total,
                                 cvtm_error *error) {
  if (!density || domain.width < 1 || domain.height < 1 || domain.width > CVTM_MAX_SIDE ||
      domain.height > CVTM_MAX_SIDE) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "no density of 1 to %d pixels a side",
                     CVTM_MAX_SIDE);
  }
  const int64_t area = (int64_t)domain.width * domain.height;
  for (int64_t p = 0; p < area; ++p) {
    if (!(density[p] >= 0) || isinf(density[p])) {
      return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "density at pixel (%d, %d) is %g",
                       (int)(p % domain.width), (int)(p / domain.width), (double)density[p]);
    }
  }
  *total = root_integral(domain, density);
  if (!(*total > 0)) return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "the density is zero everywhere");
  return CVTM_OK;
}

cvtm_status cvtm_cvt_sample(cvtm_domain domain, const float *density, int64_t count, uint64_t seed,
                            cvtm_cvt_start start, double *sites, cvtm_error *error) {
  if (count < 0 || (count > 0 && !sites))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "no room for %lld sites", (long long)count);
  double total = 0;
  const cvtm_status status = check_density(domain, density, &total, error);
  if (status != CVTM_OK || count == 0) return status;
  if (start == CVTM_CVT_START_RANDOM)
    return sample_random(domain, density, count, seed, sites, error);
  if (start != CVTM_CVT_START_STRATIFIED)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "unknown way %d to sample sites", (int)start);
  sample_stratified(domain, density, count, seed, total, sites);
  return CVTM_OK;
}

/* Initial sites by random sampling, and the energy of regular hexagons. */
#include "base/random.h"
#include "cvt/density_scan.h"
#include "cvt/solve.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>

enum { BLOCK = 64 }; /* pixels per entry of the table of cumulative sums */

static double root_of(float rho) { return sqrt((double)rho); }

/* sqrt_integral: the integral of sqrt(rho) over the domain. */
static double bound_of(double sqrt_integral, int64_t count) {
  return CVTM_HEXAGON_MOMENT * (sqrt_integral * sqrt_integral) / (double)count;
}

double cvtm_cvt_energy_bound(cvtm_domain domain, const float *density, int64_t count) {
  cvtm_density_sums sums;
  if (count <= 0 || !density || cvtm_density_scan(domain, density, &sums, NULL, NULL) != CVTM_OK)
    return INFINITY;
  return bound_of(sums.sqrt_integral, count);
}

double cvtm_cvt_plan_bound(const cvtm_cvt *cvt, int64_t count) {
  return count > 0 ? bound_of(cvt->sqrt_integral, count) : INFINITY;
}

/* A uniformly random point of pixel (i, j), strictly inside the domain. */
static void place_in_pixel(cvtm_domain domain, int i, int j, uint64_t seed, uint64_t site,
                           double *xy) {
  double u[2];
  cvtm_random_uniform2(seed, 1, site, u);
  const double tiny = 1.0 / 9007199254740992.0;
  xy[0] = fmin(i + fmax(u[0], tiny), nextafter((double)domain.width, 0));
  xy[1] = fmin(j + fmax(u[1], tiny), nextafter((double)domain.height, 0));
}

/* The first pixel, in the order of storage, at which the cumulative sum of sqrt(rho) exceeds
 * `target`. */
static int64_t pixel_at(const float *density, int64_t area, const double *cumulative,
                        int64_t blocks, double target) {
  int64_t low = 0, high = blocks - 1; /* finds the last block b with cumulative[b] <= target */
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
  /* By rounding the total can be below the target; then the last pixel with a density above 0 is
   * taken. */
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

/* A Hilbert curve passes through all pixels; its length in a pixel is set to sqrt(rho). The curve
 * is divided into `count` strata of equal length, and a site is drawn in each stratum. Threads
 * process tiles, which are parts of the curve, in parallel. */
typedef struct tile {
  int i, j, ax, ay, bx, by; /* arguments of walk_square */
  double before, length;    /* lengths of the curve before the tile and in the tile */
} tile;

enum {
  TILE_ORDER = 7,
  SQUARE_ORDER = 3,
  TILES_OF_THREAD = 32 /* one more thread for each 32 tiles */
};
_Static_assert(CVTM_DENSITY_SQUARE == 1 << SQUARE_ORDER,
               "the curve fills one square after the other");

typedef struct hilbert_walk {
  cvtm_domain domain;
  const float *density;
  const double *sqrt_integral; /* length of the curve in each square: cvtm_density_scan_squares */
  int64_t count, next, last;   /* number of sites; sites next .. last - 1 are still to be placed */
  uint64_t seed;
  double total, sum, target; /* target: position of the next site on the curve */
  double *sites;
  tile *tiles; /* not NULL: the walk lists the tiles, and places no sites */
  int64_t tile_count;
} hilbert_walk;

static void set_target(hilbert_walk *walk) {
  const double u = cvtm_random_uniform(walk->seed, 0, (uint64_t)walk->next);
  walk->target = walk->total * (((double)walk->next + u) / (double)walk->count);
}

static void place_next(hilbert_walk *walk, int i, int j) {
  place_in_pixel(walk->domain, i, j, walk->seed, (uint64_t)walk->next,
                 walk->sites + 2 * walk->next);
  ++walk->next;
  set_target(walk);
}

static void visit_pixel(hilbert_walk *walk, int i, int j) {
  const float rho = walk->density[(int64_t)j * walk->domain.width + i];
  if (!(rho > 0)) return;
  walk->sum += root_of(rho);
  while (walk->next < walk->last && walk->target < walk->sum) place_next(walk, i, j);
}

/* The length of the curve in the square whose corner is (i, j). */
static double square_length(const hilbert_walk *walk, int i, int j) {
  const int64_t row = cvtm_density_squares(walk->domain.width);
  return walk->sqrt_integral[(j >> SQUARE_ORDER) * row + (i >> SQUARE_ORDER)];
}

static double tile_length(const hilbert_walk *walk, const tile *t) {
  const int side = 1 << TILE_ORDER, step = CVTM_DENSITY_SQUARE;
  double length = 0;
  for (int j = t->j; j < t->j + side && j < walk->domain.height; j += step) {
    for (int i = t->i; i < t->i + side && i < walk->domain.width; i += step)
      length += square_length(walk, i, j);
  }
  return length;
}

/* Prefetches a square's rows, which are too far apart for the processor's own prefetching. */
static void prefetch_square(const hilbert_walk *walk, int i, int j) {
  const int side = CVTM_DENSITY_SQUARE;
  for (int row = j; row < j + side && row < walk->domain.height; ++row)
    __builtin_prefetch(walk->density + (int64_t)row * walk->domain.width + i);
}

/* Skips the square with the corner (i, j) and returns 1, or returns 0 if a site belongs in it. */
static int skip_square(hilbert_walk *walk, int i, int j) {
  const double after = walk->sum + square_length(walk, i, j);
  if (walk->next < walk->last && walk->target < after) {
    prefetch_square(walk, i, j);
    return 0;
  }
  walk->sum = after;
  return 1;
}

/* Walks through the square with the corner (i, j) and a side of 2^order pixels. (ax, ay), (bx, by):
 * unit steps along and across the curve, which enters the square at the corner from which both
 * steps lead inside. */
static void walk_square(hilbert_walk *walk, int order, int i, int j, int ax, int ay, int bx,
                        int by) {
  const int side = 1 << order;
  if (i >= walk->domain.width || j >= walk->domain.height) return;
  if (order == TILE_ORDER && walk->tiles) {
    walk->tiles[walk->tile_count++] = (tile){i, j, ax, ay, bx, by, 0, 0};
    return;
  }
  if (order == SQUARE_ORDER && skip_square(walk, i, j)) return;
  if (order == 0) {
    visit_pixel(walk, i, j);
    return;
  }
  const int half = side / 2;
  /* along: 1 for each quarter on the far side in the direction a; across: in the direction b. */
  static const int along[4] = {0, 1, 1, 0}, across[4] = {0, 0, 1, 1};
  for (int q = 0; q < 4; ++q) {
    const int x = along[q] * ax + across[q] * bx, y = along[q] * ay + across[q] * by;
    /* The far side of a negative step has the smaller coordinates. */
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

/* Lists the tiles in the order of the curve. The number of tiles along a side is a power of 2. */
static cvtm_status list_tiles(hilbert_walk *walk, cvtm_error *error) {
  const int side =
      walk->domain.width > walk->domain.height ? walk->domain.width : walk->domain.height;
  int order = TILE_ORDER;
  while ((1 << order) < side) ++order;
  const int across = 1 << (order - TILE_ORDER);
  walk->tiles = malloc((size_t)across * (size_t)across * sizeof *walk->tiles);
  if (!walk->tiles) return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory to sample sites");
  walk_square(walk, order, 0, 0, 1, 0, 0, 1);
  return CVTM_OK;
}

/* The first site whose target on the curve is not before `position`. */
static int64_t first_site_from(const hilbert_walk *walk, double position) {
  hilbert_walk probe = *walk;
  probe.next = (int64_t)fmax(0, floor(position / walk->total * (double)walk->count) - 1);
  for (set_target(&probe); probe.next < probe.count && probe.target < position; set_target(&probe))
    ++probe.next;
  return probe.next;
}

/* The last pixel of a tile with a density above 0. */
static int64_t last_pixel(const hilbert_walk *walk, const tile *t) {
  const int width = walk->domain.width, height = walk->domain.height;
  int64_t last = 0;
  for (int j = t->j; j < t->j + (1 << TILE_ORDER) && j < height; ++j) {
    for (int i = t->i; i < t->i + (1 << TILE_ORDER) && i < width; ++i)
      if (walk->density[(int64_t)j * width + i] > 0) last = (int64_t)j * width + i;
  }
  return last;
}

/* Places the sites of a tile. The walk adds lengths in a different order from tile_length, so by
 * rounding the targets of some sites can be beyond the end of the walk; these are placed in the
 * last pixel. */
static void walk_tile(hilbert_walk walk, const tile *t) {
  walk.tiles = NULL;
  walk.sum = t->before;
  set_target(&walk);
  walk_square(&walk, TILE_ORDER, t->i, t->j, t->ax, t->ay, t->bx, t->by);
  if (walk.next == walk.last) return;
  const int64_t p = last_pixel(&walk, t);
  while (walk.next < walk.last)
    place_next(&walk, (int)(p % walk.domain.width), (int)(p / walk.domain.width));
}

static void walk_tiles(const hilbert_walk *all) {
  int64_t end = all->tile_count; /* the last tile with a density above 0 gets all remaining sites */
  while (end > 0 && all->tiles[end - 1].length == 0) --end;
  const int most = omp_get_max_threads();
  const int threads = end / TILES_OF_THREAD < most ? (int)(end / TILES_OF_THREAD) + 1 : most;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 8)
  for (int64_t k = 0; k < end; ++k) {
    const tile *t = &all->tiles[k];
    if (t->length == 0) continue;
    hilbert_walk walk = *all;
    walk.next = first_site_from(all, t->before);
    walk.last = k + 1 == end ? all->count : first_site_from(all, t->before + t->length);
    if (walk.next < walk.last) walk_tile(walk, t);
  }
}

static cvtm_status sample_stratified(cvtm_domain domain, const float *density,
                                     const double *sqrt_integral, int64_t count, uint64_t seed,
                                     double *sites, cvtm_error *error) {
  hilbert_walk walk = {.domain = domain,
                       .density = density,
                       .sqrt_integral = sqrt_integral,
                       .count = count,
                       .seed = seed,
                       .sites = sites};
  CVTM_TRY(list_tiles(&walk, error));
  for (int64_t k = 0; k < walk.tile_count; ++k) {
    walk.tiles[k].length = tile_length(&walk, &walk.tiles[k]);
    walk.tiles[k].before = walk.total;
    walk.total += walk.tiles[k].length;
  }
  walk_tiles(&walk);
  free(walk.tiles);
  return CVTM_OK;
}

cvtm_status cvtm_cvt_sample_scanned(cvtm_domain domain, const float *density,
                                    const double *sqrt_integral, int64_t count, uint64_t seed,
                                    cvtm_cvt_start start, double *sites, cvtm_error *error) {
  if (count == 0) return CVTM_OK;
  if (start == CVTM_CVT_START_RANDOM)
    return sample_random(domain, density, count, seed, sites, error);
  if (start == CVTM_CVT_START_STRATIFIED || start == CVTM_CVT_START_AUTO)
    return sample_stratified(domain, density, sqrt_integral, count, seed, sites, error);
  return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "unknown way %d to sample sites", (int)start);
}

cvtm_status cvtm_cvt_sample(cvtm_domain domain, const float *density, int64_t count, uint64_t seed,
                            cvtm_cvt_start start, double *sites, cvtm_error *error) {
  cvtm_density_sums sums;
  double *sqrt_integral = NULL;
  if (count < 0 || (count > 0 && !sites))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "no room for %lld sites", (long long)count);
  if (!density || domain.width < 1 || domain.height < 1 || domain.width > CVTM_MAX_SIDE ||
      domain.height > CVTM_MAX_SIDE)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "the density must have 1 to %d pixels a side",
                     CVTM_MAX_SIDE);
  cvtm_status status = cvtm_density_scan_squares(domain, density, &sums, &sqrt_integral, error);
  if (status == CVTM_OK)
    status =
        cvtm_cvt_sample_scanned(domain, density, sqrt_integral, count, seed, start, sites, error);
  free(sqrt_integral);
  return status;
}

/* Centroidal Voronoi tessellations: the energy F(X) = sum_i integral over cell i of
 * rho |x - x_i|^2, its gradient 2 m_i (x_i - c_i), where m_i is the mass and c_i the centroid of
 * cell i, and its minimisation by Lloyd's method or L-BFGS-B (Liu et al. 2009; Fei, Rong, Wang &
 * Wang 2014, (8)). */
#pragma once

#include "base/device.h"
#include "base/domain.h"
#include "jfa/jfa.h"
#include "lbfgsb/lbfgsb.h"

CVTM_API_BEGIN

/* CVTM_CVT_EXACT: integrals over the polygonal cells; rho is constant on each pixel.
 * CVTM_CVT_PIXEL: sums over the centres of the pixels with the label of the cell (Fei et al.). */
typedef enum cvtm_cvt_energy { CVTM_CVT_EXACT, CVTM_CVT_PIXEL } cvtm_cvt_energy;
typedef enum cvtm_cvt_method { CVTM_CVT_LLOYD, CVTM_CVT_LBFGSB } cvtm_cvt_method;

/* A plan: a density on a device, and all memory for up to `capacity` sites. */
typedef struct cvtm_cvt cvtm_cvt;

/* density: width * height floats on the host, finite, >= 0 and not all zero; the plan copies the
 * density. The message of CVTM_ERROR_ARGUMENT names the first invalid pixel. On failure *cvt is
 * unchanged. Device memory: 4 bytes per pixel, and 28 more for the pixel energy; in a run with a
 * history of 8, about 700 bytes per site, and 72 more on a CPU; on CUDA, from 100,000 sites on, 170
 * more for each of the first 2^20 sites. */
cvtm_status cvtm_cvt_create(cvtm_device *device, cvtm_domain domain, const float *density,
                            int64_t capacity, cvtm_cvt **cvt);
/* As cvtm_cvt_create, but the plan borrows the density until it is destroyed. on_device: the
 * density in device memory, also borrowed; NULL: a CPU uses `density`, and CUDA makes a copy. */
cvtm_status cvtm_cvt_create_borrowed(cvtm_device *device, cvtm_domain domain, const float *density,
                                     const float *on_device, int64_t capacity, cvtm_cvt **cvt);
void cvtm_cvt_destroy(cvtm_cvt *cvt);
/* Replaces the density by another, as for cvtm_cvt_create. On failure the old density remains. */
cvtm_status cvtm_cvt_set_density(cvtm_cvt *cvt, const float *density);

/* Moments of the cells, in host memory of the caller; any pointer may be NULL. */
typedef struct cvtm_cvt_moments {
  double *mass;     /* count */
  double *centroid; /* 2 * count; the site itself if the mass is zero */
  double *second;   /* count: integral of rho |x - x_i|^2 over the cell */
} cvtm_cvt_moments;

/* Creates a plan for cvtm_cvt_evaluate_on_device. density: width * height floats in device memory,
 * finite (not checked), borrowed as long as the plan uses it. The density must be >= 0, except
 * where the caller adds results for several densities (see cvtm_cvt_pull_back).
 * cvtm_cvt_view_density exchanges it for another density of the same size. */
cvtm_status cvtm_cvt_create_view(cvtm_device *device, cvtm_domain domain, const float *density,
                                 int64_t capacity, cvtm_cvt **cvt);
cvtm_status cvtm_cvt_view_density(cvtm_cvt *cvt, const float *density);

/* Computes the energy of sites (host, 2 * count), and, unless NULL, the moments of their cells.
 * Sites may lie outside the domain; the message of CVTM_ERROR_ARGUMENT names the first site that is
 * not finite or has a coordinate beyond 1e9. Of coincident sites, the first has the cell, and the
 * others have no mass. Only the pixel energy uses `voronoi`. In a periodic domain the cells are
 * those of the torus. The time is proportional to the numbers of pixels and sites, however uneven
 * the sites are; if all sites lie on one circle to the last bits, the time is proportional to the
 * number of pairs of sites. */
cvtm_status cvtm_cvt_evaluate(cvtm_cvt *cvt, const double *sites, int64_t count,
                              cvtm_cvt_energy energy, cvtm_voronoi_method voronoi, double *value,
                              const cvtm_cvt_moments *moments);

/* As cvtm_cvt_evaluate, for sites that the plan still has from its last cvtm_cvt_evaluate,
 * cvtm_cvt_optimize or cvtm_cvt_solve, so that the sites are not copied to the device again. sites:
 * the sites on the host after that call. */
cvtm_status cvtm_cvt_evaluate_again(cvtm_cvt *cvt, const double *sites, int64_t count,
                                    cvtm_cvt_energy energy, cvtm_voronoi_method voronoi,
                                    double *value, const cvtm_cvt_moments *moments);
/* Takes the plan's array of sites (device memory), which the caller frees by cvtm_device_free.
 * After that the plan may only be destroyed. */
double *cvtm_cvt_take_sites(cvtm_cvt *cvt);

/* Enqueues an evaluation for arrays in device memory; nothing is copied to or from the host, and on
 * CUDA the call does not wait. sites: 2 * count. value: 1, the energy. moments: 4 * count, or NULL:
 * for each cell the integrals of rho, rho (x - x_i), rho (y - y_i) and rho |x - x_i|^2, so that the
 * gradient of the energy is -2 times the second and the third. If a site is not finite, its moments
 * and the energy are NaN. A site beyond 1e9 is not an error, but its moments are unspecified. */
cvtm_status cvtm_cvt_evaluate_on_device(cvtm_cvt *cvt, const double *sites, int64_t count,
                                        cvtm_cvt_energy energy, cvtm_voronoi_method voronoi,
                                        double *value, double *moments);

/* Computes derivatives of L = sum_i integral over cell i of rho phi_i, where
 * phi_i(x) = a + b . (x - x_i) + c |x - x_i|^2. All arrays are in device memory; results are NULL
 * if not wanted. by_density_double: width * height derivatives with respect to the density;
 * by_density: the same in single precision, if by_density_double is NULL. by_sites: 2 * count, with
 * respect to the sites; the phi_i are fixed functions of x. sites: 2 * count; NULL: the sites of
 * the plan's last call, which had the same count and exact cells. phi: 4 * count: a, b (2), c.
 * Waits for the device. L, moments and energy are linear in the density, so for a density in double
 * precision the results for two densities in single precision can be added. CVTM_ERROR_UNSUPPORTED:
 * the domain is periodic. On CUDA also: a derivative with respect to the density is wanted, and
 * more than 32 cells may meet a pixel, or many sites are about equally near a pixel; by_sites is
 * wanted, and a cell has more than 1024 corners. */
cvtm_status cvtm_cvt_pull_back(cvtm_cvt *cvt, const double *sites, int64_t count, const double *phi,
                               float *by_density, double *by_density_double, double *by_sites);

/* 5 / (18 sqrt 3) (integral of sqrt rho)^2 / count: the energy if all cells are regular hexagons
 * (Fejes Toth; Gersho and Zador for graded densities); infinity for invalid arguments. density:
 * width * height, on the host. */
double cvtm_cvt_energy_bound(cvtm_domain domain, const float *density, int64_t count);
/* As cvtm_cvt_energy_bound, for the plan's density, without a pass over its pixels. */
double cvtm_cvt_plan_bound(const cvtm_cvt *cvt, int64_t count);

/* auto: a hexagonal lattice if the density is constant (cvtm_cvt_solve), else stratified. */
typedef enum cvtm_cvt_start {
  CVTM_CVT_START_RANDOM,
  CVTM_CVT_START_STRATIFIED,
  CVTM_CVT_START_AUTO
} cvtm_cvt_start;
/* Samples `count` sites (host, 2 * count) with a local density proportional to sqrt(rho), as in an
 * optimal tessellation of many sites. The same seed gives the same bits on all machines. */
cvtm_status cvtm_cvt_sample(cvtm_domain domain, const float *density, int64_t count, uint64_t seed,
                            cvtm_cvt_start start, double *sites, cvtm_error *error);

typedef struct cvtm_cvt_record {
  int64_t sites; /* the number of sites on the level; 0 in the descents of transfers, annealing and
                    lattices */
  int64_t iteration;
  double energy;        /* value of the objective */
  double gradient_norm; /* max_i |dF/dx_i| / (2 m_i): largest distance to a centroid, pixels */
  double step;          /* accepted step length; 1 for Lloyd's method */
} cvtm_cvt_record;

/* Called on the host in the order of iterations. Returns nonzero to stop the run. */
typedef int (*cvtm_cvt_monitor)(void *context, const cvtm_cvt_record *record);

/* A round of transfers moves some sites from cells of small energy to cells of large energy, and
 * descends; if the energy does not decrease, the round is undone. A round of annealing moves every
 * site away from its nearest neighbour, and descends.
 * low: sampled sites, then a descent.
 * normal: sites placed from coarse to fine, with some rounds of transfers on the level with a
 * sixteenth of the sites, then a descent.
 * high: longer descents on coarse levels, and many rounds of transfers after the descent of each
 * level.
 * best: as high, then up to 200 rounds of annealing; the best sites are kept, and 15 rounds without
 * a gain end the annealing.
 * With every effort, a descent by L-BFGS-B includes a few rounds of transfers if cvtm_cvt_solve has
 * placed the sites. */
typedef enum cvtm_cvt_effort {
  CVTM_CVT_EFFORT_LOW,
  CVTM_CVT_EFFORT_NORMAL,
  CVTM_CVT_EFFORT_HIGH,
  CVTM_CVT_EFFORT_BEST
} cvtm_cvt_effort;

/* For monitors: the sites (device memory, 2 * count; valid during the monitor's call) of the
 * iteration of the record, or of a later iteration if the device runs ahead (CUDA). On a torus the
 * sites may lie outside the domain. */
const double *cvtm_cvt_current_sites(const cvtm_cvt *cvt);

/* Saves and restores the state of cvtm_cvt_solve as bytes. A run that was killed can continue from
 * the last state, and its result then equals that of an uninterrupted run bit for bit. */
typedef struct cvtm_cvt_checkpoint {
  double seconds; /* least time between two calls of `save`; 0: saves as often as possible */
  /* Called on the host to store the bytes, which are valid only during the call; an error ends the
   * run. NULL: no state is saved. */
  cvtm_status (*save)(void *context, const void *bytes, size_t count, cvtm_error *error);
  void *context;
  /* The bytes of the last call of `save`; NULL: a new run. Density, sites, kind of device and
   * options, except max_seconds, must be those of the run that saved the bytes, else the message of
   * CVTM_ERROR_INPUT names the difference. max_seconds limits the total time of all processes. The
   * caller must have checked that the bytes are not damaged. */
  const void *saved;
  size_t saved_bytes;
} cvtm_cvt_checkpoint;

/* A value of 0 disables a tolerance or limit. Comments end with the default value. */
typedef struct cvtm_cvt_options {
  cvtm_cvt_method method;      /* lbfgsb */
  cvtm_cvt_energy energy;      /* exact */
  cvtm_voronoi_method voronoi; /* exact; only for the pixel energy */
  int64_t max_iterations;      /* 300 */
  double tolerance;          /* mean relative decrease of the objective over 10 iterations; 2e-6 */
  double gradient_tolerance; /* limit on gradient_norm, in pixels; 0 */
  double max_seconds;        /* 0 */
  int history;               /* pairs of L-BFGS-B; 8 */
  int lloyd_steps;           /* steps of Lloyd's method before L-BFGS-B; 5 */
  int64_t fixed;             /* the first `fixed` sites do not move; 0 */
  cvtm_cvt_effort effort;    /* for cvtm_cvt_solve; normal */
  cvtm_cvt_start start;      /* for cvtm_cvt_solve; auto */
  uint64_t seed;             /* for cvtm_cvt_solve; 1 */
  cvtm_cvt_monitor monitor;
  void *monitor_context;
  int live; /* nonzero: on CUDA the device waits for the monitor in every iteration; 0 */
  const cvtm_cvt_checkpoint *checkpoint; /* for cvtm_cvt_solve; NULL: none; NULL */
  CVTM_RESERVED(7);
} cvtm_cvt_options;

void cvtm_cvt_defaults(cvtm_cvt_options *options);

typedef struct cvtm_cvt_result {
  cvtm_stop stop;
  int64_t iterations, evaluations;
  double objective;          /* the minimised energy at the resulting sites */
  double gradient_norm;      /* as in cvtm_cvt_record, at the resulting sites */
  int64_t empty_cells;       /* cells of zero mass at the resulting sites */
  int64_t levels;            /* coarse levels before the level of all sites */
  int64_t coarse_iterations; /* iterations on coarse levels; `iterations` does not count them */
  int64_t lattices;          /* lattices tried as starts; 0: the start is no lattice */
  int64_t rounds, transfers; /* rounds of transfers that were not undone; sites that they moved */
  double seconds_evaluation, seconds_optimizer, seconds;
  int64_t anneal_rounds; /* at effort best */
  CVTM_RESERVED(3);
} cvtm_cvt_result;

/* Minimises the energy of sites (host, 2 * count), which are first clamped or wrapped into the
 * domain. On return `sites` are the best sites found, inside the domain, for any result->stop. */
cvtm_status cvtm_cvt_optimize(cvtm_cvt *cvt, const cvtm_cvt_options *options, double *sites,
                              int64_t count, cvtm_cvt_result *result);

/* Places and optimises sites. The first `given` of sites (host, 2 * count) are set, fixed sites
 * first. The others are placed: by sampling if some sites are given or the effort is low, else from
 * coarse to fine. With start auto and a constant density, there are no coarse levels and no rounds
 * of transfers: of several hexagonal lattices that fit the domain, the one with the lowest energy
 * after a few iterations is the start. Then follow the descent of all sites, with rounds of
 * transfers if only fixed sites were given, and the rounds of the high effort. max_iterations
 * limits the iterations of all parts of that descent together. max_seconds limits the time from
 * sampling on, of which that descent gets at least half. On return no two movable sites coincide.
 * After a failure, sites that are not fixed are unspecified. */
cvtm_status cvtm_cvt_solve(cvtm_cvt *cvt, const cvtm_cvt_options *options, int64_t given,
                           double *sites, int64_t count, cvtm_cvt_result *result);

CVTM_API_END

/* Centroidal Voronoi tessellations: F(X) = sum_i integral over cell i of
 * rho |x - x_i|^2, its gradient 2 m_i (x_i - c_i), and its minimisation by Lloyd's
 * method or L-BFGS-B (Liu et al. 2009; Fei, Rong, Wang & Wang 2014, equation 8). */
#ifndef CVTMESH_CVT_CVT_H
#define CVTMESH_CVT_CVT_H

#include "base/device.h"
#include "base/domain.h"
#include "jfa/jfa.h"
#include "lbfgsb/lbfgsb.h"

CVTM_API_BEGIN

/* exact: integrals over the polygonal cells of rho, which is constant on each pixel. pixel: a sum
 * over the pixels, each of which counts, at its centre, for the cell of its label (Fei et al.). */
typedef enum cvtm_cvt_energy { CVTM_CVT_EXACT, CVTM_CVT_PIXEL } cvtm_cvt_energy;
typedef enum cvtm_cvt_method { CVTM_CVT_LLOYD, CVTM_CVT_LBFGSB } cvtm_cvt_method;

/* A plan: a density on a device, and all memory for up to `capacity` sites. */
typedef struct cvtm_cvt cvtm_cvt;

/* density: width * height floats on the host, finite, >= 0 and not all zero; the plan copies them.
 * CVTM_ERROR_ARGUMENT names the first pixel that is not so. On failure *cvt is untouched. Device
 * memory: 4 bytes a pixel, and 28 more for the pixel energy; about 700 bytes a site in a run with a
 * history of 8, and 72 more on a CPU; on CUDA, from 100,000 sites on, 170 more for each of up to
 * 2^20 sites. */
cvtm_status cvtm_cvt_create(cvtm_device *device, cvtm_domain domain, const float *density,
                            int64_t capacity, cvtm_cvt **cvt);
/* As cvtm_cvt_create, but the plan borrows the density as long as it lives. on_device: the same
 * density in the device's memory, borrowed too; if it is NULL, a CPU uses `density`, and CUDA a
 * copy of it. */
cvtm_status cvtm_cvt_create_borrowed(cvtm_device *device, cvtm_domain domain, const float *density,
                                     const float *on_device, int64_t capacity, cvtm_cvt **cvt);
void cvtm_cvt_destroy(cvtm_cvt *cvt);
/* Replaces the density by one of the same size, under the same rules. On failure the old one stays.
 */
cvtm_status cvtm_cvt_set_density(cvtm_cvt *cvt, const float *density);

/* Moments of the cells, in host memory of the caller; a pointer may be NULL. */
typedef struct cvtm_cvt_moments {
  double *mass;     /* count */
  double *centroid; /* 2 * count; the site itself where the mass is zero */
  double *second;   /* count: integral of rho |x - x_i|^2 over the cell */
} cvtm_cvt_moments;

/* A plan for cvtm_cvt_evaluate_on_device. density: width * height floats in the device's memory,
 * finite, which is not checked, and >= 0, unless it is a part of a sum; borrowed as long as work on
 * them may be enqueued. cvtm_cvt_view_density exchanges it for another density of the same size. */
cvtm_status cvtm_cvt_create_view(cvtm_device *device, cvtm_domain domain, const float *density,
                                 int64_t capacity, cvtm_cvt **cvt);
cvtm_status cvtm_cvt_view_density(cvtm_cvt *cvt, const float *density);

/* Computes the energy of sites (host, 2 * count), and their moments unless that is NULL. Sites may
 * lie outside the domain; CVTM_ERROR_ARGUMENT names the first that is not finite or lies beyond
 * 1e9. Where sites share a place the first has the cell, and the others have no mass. Only the
 * pixel energy uses `voronoi`. In a periodic domain the cells are those of the torus. The time is
 * proportional to the numbers of pixels and sites, however uneven the sites lie; if all lie on one
 * circle to the last bits, to the number of pairs of sites. */
cvtm_status cvtm_cvt_evaluate(cvtm_cvt *cvt, const double *sites, int64_t count,
                              cvtm_cvt_energy energy, cvtm_voronoi_method voronoi, double *value,
                              const cvtm_cvt_moments *moments);

/* Enqueues the same for arrays in the device's memory: nothing crosses the bus, and on CUDA the
 * call does not wait. sites: 2 * count. value: 1. moments: 4 * count, or NULL; of each cell the
 * integrals of rho, rho (x - x_i), rho (y - y_i) and rho |x - x_i|^2, so that the gradient of the
 * energy is -2 times the second and third. A site that is not finite makes its moments and the
 * energy NaN; one beyond 1e9 is not refused, and its moments are not specified. */
cvtm_status cvtm_cvt_evaluate_on_device(cvtm_cvt *cvt, const double *sites, int64_t count,
                                        cvtm_cvt_energy energy, cvtm_voronoi_method voronoi,
                                        double *value, double *moments);

/* The derivatives of L = sum_i integral over cell i of rho phi_i, with
 * phi_i(x) = a + b . (x - x_i) + c |x - x_i|^2, of arrays in the device's memory: by the density,
 * width * height, in double precision or, if by_density_double is NULL, in single; and by the
 * sites, 2 * count, where the phi_i stay as functions of x. What is NULL is not computed. sites:
 * 2 * count; NULL: those of the plan's last call, of as many and with exact cells. phi: 4 * count:
 * a, b (2), c. Waits for the device. L is linear in the density: that of a density in double
 * precision is the sum of those of two in single, whose sum it is; the same holds for moments and
 * energy. CVTM_ERROR_UNSUPPORTED: the domain is periodic; on CUDA also: by the density, somewhere
 * more than 32 cells may meet a pixel, or many sites are about equally near a pixel; by the sites,
 * a cell has more than 1024 corners. Then a plan on a CPU is left. */
cvtm_status cvtm_cvt_pull_back(cvtm_cvt *cvt, const double *sites, int64_t count, const double *phi,
                               float *by_density, double *by_density_double, double *by_sites);

/* 5 / (18 sqrt 3) (integral of sqrt rho)^2 / count: the energy if all cells were regular hexagons
 * (Fejes Toth; Gersho and Zador for graded densities). */
double cvtm_cvt_energy_bound(cvtm_domain domain, const float *density, int64_t count);
/* The same of the plan's density, without a pass over it. */
double cvtm_cvt_plan_bound(const cvtm_cvt *cvt, int64_t count);

/* auto: a hexagonal lattice for an even density (cvtm_cvt_solve), else stratified. */
typedef enum cvtm_cvt_start {
  CVTM_CVT_START_RANDOM,
  CVTM_CVT_START_STRATIFIED,
  CVTM_CVT_START_AUTO
} cvtm_cvt_start;
/* Samples count sites (host, 2 * count) with local density proportional to sqrt(rho), the
 * asymptotic density of an optimal tessellation. Counter-based: the same seed gives the same bits
 * everywhere. */
cvtm_status cvtm_cvt_sample(cvtm_domain domain, const float *density, int64_t count, uint64_t seed,
                            cvtm_cvt_start start, double *sites, cvtm_error *error);

typedef struct cvtm_cvt_record {
  int64_t sites; /* the level's number of sites; 0 in the descents of rounds of transfers, of
                    annealing, and of lattices */
  int64_t iteration;
  double energy;        /* of the objective */
  double gradient_norm; /* max_i |dF/dx_i| / (2 m_i): largest distance to a centroid, pixels */
  double step;          /* accepted step length; 1 for Lloyd */
} cvtm_cvt_record;

/* Called on the host in order of iterations; nonzero asks to stop. */
typedef int (*cvtm_cvt_monitor)(void *context, const cvtm_cvt_record *record);

/* low: sampled sites, then a descent. normal: sites placed from coarse to fine, with some rounds of
 * transfers on the level of a sixteenth of them, then a descent. high: longer descents on coarse
 * levels, and after that of each level many rounds of transfers. A round moves some sites from
 * cells of little energy to cells of much; it is undone if the descent after it does not end lower.
 * best: then also up to 200 rounds of annealing, each of which moves every site away from the
 * nearest other one and descends, and of which the best sites stay; they end after 15 without a
 * gain.
 * With every effort a few rounds are part of a descent by L-BFGS-B from sites that cvtm_cvt_solve
 * has placed. */
typedef enum cvtm_cvt_effort {
  CVTM_CVT_EFFORT_LOW,
  CVTM_CVT_EFFORT_NORMAL,
  CVTM_CVT_EFFORT_HIGH,
  CVTM_CVT_EFFORT_BEST
} cvtm_cvt_effort;

/* For monitors: the sites (device memory, 2 * count) of the record's iteration, or of a later one
 * where the device runs ahead (CUDA). On a torus they may lie outside the domain. */
const double *cvtm_cvt_current_sites(const cvtm_cvt *cvt);

/* The state of cvtm_cvt_solve as bytes, by which a run that was killed continues to the same bits.
 * The last state is enough. */
typedef struct cvtm_cvt_checkpoint {
  double seconds; /* the least time between two calls of `save`; 0: as often as possible */
  /* Called on the host, to store the bytes, which are valid only during the call. An error ends the
   * run. NULL: nothing is saved. */
  cvtm_status (*save)(void *context, const void *bytes, size_t count, cvtm_error *error);
  void *context;
  /* The bytes of the last call of `save`; NULL: a new run. Density, sites, kind of device and
   * options must be those of that run, else CVTM_ERROR_INPUT names the difference. Only max_seconds
   * may differ: it limits the time of all processes together. The caller has checked that the bytes
   * are not damaged. */
  const void *saved;
  size_t saved_bytes;
} cvtm_cvt_checkpoint;

/* Zero of a tolerance or a limit switches it off. */
typedef struct cvtm_cvt_options {
  cvtm_cvt_method method;      /* lbfgsb */
  cvtm_cvt_energy energy;      /* exact */
  cvtm_voronoi_method voronoi; /* exact; for the pixel energy */
  int64_t max_iterations;      /* 300 */
  double tolerance;          /* mean relative decrease of the objective over 10 iterations; 2e-6 */
  double gradient_tolerance; /* on gradient_norm, pixels; 0 */
  double max_seconds;        /* 0 */
  int history;               /* m; 8 */
  int lloyd_steps;           /* before L-BFGS-B; 5 */
  int64_t fixed;             /* the first `fixed` sites do not move; 0 */
  cvtm_cvt_effort effort;    /* normal; of cvtm_cvt_solve, as are the next two */
  cvtm_cvt_start start;      /* auto */
  uint64_t seed;             /* 1 */
  cvtm_cvt_monitor monitor;
  void *monitor_context;
  int live; /* a CUDA device waits for the monitor at every iteration, and does not run ahead; 0 */
  const cvtm_cvt_checkpoint *checkpoint; /* of cvtm_cvt_solve; NULL: none; NULL */
  CVTM_RESERVED(7);
} cvtm_cvt_options;

void cvtm_cvt_defaults(cvtm_cvt_options *options);

typedef struct cvtm_cvt_result {
  cvtm_stop stop;
  int64_t iterations, evaluations;
  double objective;          /* the minimised energy at the final sites */
  double gradient_norm;      /* there */
  int64_t empty_cells;       /* cells of zero mass at the end */
  int64_t levels;            /* coarse levels before the full set */
  int64_t coarse_iterations; /* on them, not counted in `iterations` */
  int64_t lattices;          /* tried as starts; 0: the start was none */
  int64_t rounds, transfers; /* rounds of transfers that were kept; sites moved in them */
  double seconds_evaluation, seconds_optimizer, seconds;
  int64_t anneal_rounds; /* of the best effort */
  CVTM_RESERVED(3);
} cvtm_cvt_result;

/* Minimises the energy of sites (host, 2 * count), which are first clamped or wrapped into the
 * domain. On return they are the best that were found, inside the domain, whatever result->stop is.
 */
cvtm_status cvtm_cvt_optimize(cvtm_cvt *cvt, const cvtm_cvt_options *options, double *sites,
                              int64_t count, cvtm_cvt_result *result);

/* From a density to a tessellation. sites (host, 2 * count) holds `given` sites, the fixed ones
 * first; the others are placed: sampled if some are given or the effort is low, else from coarse to
 * fine. With start auto and a density that is the same in all pixels, hexagonal lattices that fit
 * the domain take the place of the coarse levels, and rounds of transfers are left out: the
 * lattice of least energy after a few iterations is the start. Then follow the descent, with rounds
 * of transfers if only fixed sites were given, and the rounds of the high effort. max_iterations
 * limits all parts of the full set's descent together; max_seconds limits the time from sampling
 * on, of which that descent has at least half. No two movable sites end at the same place. */
cvtm_status cvtm_cvt_solve(cvtm_cvt *cvt, const cvtm_cvt_options *options, int64_t given,
                           double *sites, int64_t count, cvtm_cvt_result *result);

CVTM_API_END
#endif

/* Segments the object that seeds mark in a picture, in these steps: shades, seeds, the first curve,
 * the level set, and the selection of the components of the level set's inside that contain a
 * seed. */
#pragma once

#include "base/device.h"
#include "base/status.h"
#include "density/density.h"
#include "lcp/lcp.h"

#include <stdint.h>

CVTM_API_BEGIN

/* --- shades, seeds and the first curve -------------------------------------------------------- */

/* The input of a segmentation: the shades of the picture, the seeds inside and outside the object,
 * and the first curve. All arrays are in host memory and have width * height values. */

/* Computes shades in [0, 1]: for pictures the sRGB-encoded luminance, for data the values scaled to
 * their range. *shades is malloc'd. Fails with CVTM_ERROR_INPUT for a value that is not finite,
 * unless it is the NaN of a pixel without data. */
cvtm_status cvtm_shades_of_image(const cvtm_image *image, double **shades, cvtm_error *error);
/* Smooths in place by a Gaussian, mirrored at the border; sigma: in pixels, 0: no smoothing. */
cvtm_status cvtm_shades_blur(int width, int height, double sigma, double *shades,
                             cvtm_error *error);

typedef enum cvtm_seed { CVTM_SEED_NONE, CVTM_SEED_INSIDE, CVTM_SEED_OUTSIDE } cvtm_seed;

typedef struct cvtm_seeds {
  int width, height;
  uint8_t *mark; /* a cvtm_seed per pixel */
} cvtm_seeds;

cvtm_status cvtm_seeds_create(int width, int height, cvtm_seeds *seeds, cvtm_error *error);
void cvtm_seeds_free(cvtm_seeds *seeds);
/* Marks a disc, or at least the pixel of its centre. Fails with CVTM_ERROR_INPUT if the centre is
 * outside the image, or a pixel already has the opposite mark. */
cvtm_status cvtm_seeds_add_disc(cvtm_seeds *seeds, double x, double y, double radius,
                                cvtm_seed seed, cvtm_error *error);
/* Adds marks from an image of the same size. In pictures opaque pixels with an sRGB value above 3/4
 * are inside and below 1/4 outside; in data positive values are inside and negative values
 * outside. */
cvtm_status cvtm_seeds_add_image(cvtm_seeds *seeds, const cvtm_input *source, cvtm_error *error);
int64_t cvtm_seeds_count(const cvtm_seeds *seeds, cvtm_seed seed);

/* Sets the upper bound to -value on inside seeds and the lower bound to value on outside seeds; all
 * other bounds are infinite. */
void cvtm_seeds_bounds(const cvtm_seeds *seeds, double value, double *lower, double *upper);

/* Propagates two fronts from the inside and from the outside seeds (from the border of the image if
 * there are no outside seeds), with slowness 1 + K |grad I|^2 on the unit square. inside: the
 * pixels that the front from the inside seeds reaches first. */
cvtm_status cvtm_seeds_grow(const cvtm_seeds *seeds, const double *shades, double k,
                            uint8_t *inside, cvtm_error *error);
/* Sets u to the signed distance to the boundary of a region, on the unit square, negative inside.
 * Fails with CVTM_ERROR_INPUT if the region is empty or has all pixels. */
cvtm_status cvtm_level_set_of_region(int width, int height, const uint8_t *inside, double *u,
                                     cvtm_error *error);
/* cvtm_level_set_of_region for a disc, exact at the pixel centres. */
cvtm_status cvtm_level_set_of_disc(int width, int height, double x, double y, double radius,
                                   double *u, cvtm_error *error);
/* Selects the pixels with u < 0 that are connected to an inside seed through pixel sides. */
cvtm_status cvtm_seeds_select(const cvtm_seeds *seeds, const double *u, uint8_t *inside,
                              cvtm_error *error);

/* --- the level set ---------------------------------------------------------------------------- */

/* Segmentation by a level set with constraints (Klement, Oberhuber & Sevcovic): the curve u = 0
 * moves by
 *
 *     u_t = Q div(g grad u / Q),  Q = sqrt(eps^2 + |grad u|^2),  g = 1 / (1 + K |grad I|^2),
 *
 * on the unit square (longer side 1, Neumann boundary), with lower <= u <= upper. The inside is
 * where u < 0: seeds of the object have a negative upper bound, other seeds a positive lower bound.
 * The discretisation is by semi-implicit finite volumes: the equation is divided by Q and
 * integrated over each pixel. So every step is one LCP with a symmetric five-point M-matrix,
 *
 *     b_p u_p + tau sum_q a_pq (u_p - u_q) <= b_p u_p^n,  b_p = h^2 / mean Q,  a_pq = g_pq / Q_pq,
 *
 * which multigrid solves, starting from u^n + (u^n - u^(n-1)). The motion decreases the energy, the
 * integral of g Q. */

typedef struct cvtm_segment_progress {
  int64_t step;   /* 0: the start */
  double change;  /* h ||u^(n+1) - u^n||_2 */
  double area;    /* fraction of the pixels with u < 0 */
  double energy;  /* the integral of g Q over the unit square */
  int64_t cycles; /* multigrid cycles of this step */
  int stalled;    /* nonzero: the LCP of the step was not solved */
} cvtm_segment_progress;

/* Called on the host after every step; a nonzero result stops the iteration. */
typedef int (*cvtm_segment_monitor)(void *context, const cvtm_segment_progress *progress);

/* Each comment ends with the default; without one, the default is 0 or NULL. */
typedef struct cvtm_segment_options {
  double k;              /* K >= 0: how strongly edges of the picture slow the curve; 10 */
  double epsilon;        /* regularisation of |grad u|; 1 */
  double tau;            /* the time step; 5e-3 */
  int64_t max_steps;     /* 200 */
  double tolerance;      /* the iteration stops when a step changes less; 5e-4 */
  double step_tolerance; /* relative decrease of the natural residual that ends an LCP; 3e-5 */
  cvtm_segment_monitor monitor;
  void *monitor_context;
  CVTM_RESERVED(8);
} cvtm_segment_options;

void cvtm_segment_defaults(cvtm_segment_options *options);

/* X(code, name in reports) */
#define CVTM_SEGMENT_STOP_LIST(X)            \
  X(CVTM_SEGMENT_CONVERGED, "tolerance")     \
  X(CVTM_SEGMENT_STEPS, "steps")             \
  X(CVTM_SEGMENT_INTERRUPTED, "interrupted") \
  X(CVTM_SEGMENT_STEP_FAILED, "a step's LCP did not converge")

typedef enum cvtm_segment_stop {
#define CVTM_SEGMENT_STOP_CODE(code, name) code,
  CVTM_SEGMENT_STOP_LIST(CVTM_SEGMENT_STOP_CODE)
#undef CVTM_SEGMENT_STOP_CODE
} cvtm_segment_stop;

const char *cvtm_segment_stop_name(cvtm_segment_stop stop);

typedef struct cvtm_segment_result {
  cvtm_segment_stop stop;
  int64_t steps, cycles;       /* cycles: multigrid cycles of all steps */
  double change, area, energy; /* values of the last step */
  double seconds;
  CVTM_RESERVED(8);
} cvtm_segment_result;

typedef struct cvtm_segment cvtm_segment;

/* Allocates all memory for images of width * height pixels, except the operators of the solver,
 * which the first step allocates. Later steps do not allocate, and no step copies a field between
 * host and device. */
cvtm_status cvtm_segment_create(cvtm_device *device, int width, int height,
                                const cvtm_segment_options *options, cvtm_segment **segment);
void cvtm_segment_destroy(cvtm_segment *segment);
/* image: shades in [0, 1]; lower, upper: the bounds, or NULL; u: the first level set, which is
 * clipped to the bounds; on return the last one. All are width * height doubles in host memory.
 * Fails with CVTM_ERROR_INPUT, and does not change u, if a lower bound exceeds an upper bound. */
cvtm_status cvtm_segment_solve(cvtm_segment *segment, const double *image, const double *lower,
                               const double *upper, double *u, cvtm_segment_result *result);

/* --- all steps ------------------------------------------------------------------------------ */

typedef struct cvtm_disc {
  double x, y, radius; /* pixels */
} cvtm_disc;

typedef enum cvtm_first_curve {
  CVTM_FIRST_CURVE_GROW,  /* grown from the seeds: cvtm_seeds_grow */
  CVTM_FIRST_CURVE_IMAGE, /* the border of the image, moved inward by one pixel */
  CVTM_FIRST_CURVE_DISC,
  CVTM_FIRST_CURVE_REGION /* the boundary of a region: cvtm_region_open */
} cvtm_first_curve;

/* The arrays and strings must outlive the call. Each comment ends with the default; without one,
 * the default is 0 or NULL. */
typedef struct cvtm_segmentation_options {
  const cvtm_disc *inside, *outside; /* seeds */
  int inside_count, outside_count;
  cvtm_input seeds;       /* for cvtm_seeds_add_image */
  double seed_value;      /* > 0: the level set is at most -seed_value on inside seeds and at least
                             seed_value on outside seeds; 0.05 */
  cvtm_first_curve first; /* grow */
  cvtm_disc first_disc;
  cvtm_input first_region;
  double sigma; /* standard deviation of the Gaussian smoothing of the shades, pixels; 0 */
  cvtm_segment_options segment; /* defaults: cvtm_segment_defaults */
  CVTM_RESERVED(8);
} cvtm_segmentation_options;

void cvtm_segmentation_defaults(cvtm_segmentation_options *options);

typedef struct cvtm_segmentation {
  double *shades, *u; /* width * height; u: the level set, negative inside */
  uint8_t *inside;    /* width * height; 1 in the components of the inside that contain a seed */
  cvtm_seeds seeds;
  cvtm_segment_result result;
  cvtm_segment_progress *history; /* the start, then each step */
  int64_t history_count;
} cvtm_segmentation;

/* name: name of the picture; messages begin with it unless they name another file. On failure *made
 * is empty and the message is in *error. */
cvtm_status cvtm_segmentation_run(cvtm_device *device, const cvtm_image *image, const char *name,
                                  const cvtm_segmentation_options *options, cvtm_segmentation *made,
                                  cvtm_error *error);
void cvtm_segmentation_free(cvtm_segmentation *made);
/* Sets coverage (width * height) such that its interpolation between pixel centres is 1/2 on the
 * boundary of the components that contain a seed, and larger inside. */
void cvtm_segmentation_coverage(const cvtm_segmentation *made, float *coverage);

CVTM_API_END

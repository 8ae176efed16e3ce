/* Segments the object in a picture that seeds mark, in these steps: shades, seeds, the first curve,
 * the level set (density/segment.h), and the choice of those parts of its inside that have a seed.
 */
#ifndef CVTMESH_DENSITY_SEGMENTATION_H
#define CVTMESH_DENSITY_SEGMENTATION_H

#include "base/device.h"
#include "base/status.h"
#include "density/density.h"
#include "lcp/lcp.h"

#include <stdint.h>

CVTM_API_BEGIN

/* --- shades, seeds and the first curve -------------------------------------------------------- */

/* What a segmentation starts from: the picture as a plane of shades, seeds that belong to the
 * object or do not, and the first curve. All in host memory, width * height each. */

/* Shades in [0, 1]: of pictures the sRGB value of their luminance, of data its values scaled
 * to its range. malloc'd. CVTM_ERROR_INPUT for a value that is not finite. */
cvtm_status cvtm_shades_of_image(const cvtm_image *image, double **shades, cvtm_error *error);
/* Gaussian smoothing in place, mirrored at the border; sigma in pixels, 0: none. */
cvtm_status cvtm_shades_blur(int width, int height, double sigma, double *shades,
                             cvtm_error *error);

typedef enum cvtm_seed { CVTM_SEED_NONE, CVTM_SEED_INSIDE, CVTM_SEED_OUTSIDE } cvtm_seed;

typedef struct cvtm_seeds {
  int width, height;
  uint8_t *mark; /* cvtm_seed per pixel */
} cvtm_seeds;

cvtm_status cvtm_seeds_create(int width, int height, cvtm_seeds *seeds, cvtm_error *error);
void cvtm_seeds_free(cvtm_seeds *seeds);
/* Marks a disc, at least the pixel of its centre. CVTM_ERROR_INPUT for a centre outside the image
 * and for pixels that are marked as the opposite. */
cvtm_status cvtm_seeds_add_disc(cvtm_seeds *seeds, double x, double y, double radius,
                                cvtm_seed seed, cvtm_error *error);
/* Marks from an image of the same size. Pictures: opaque pixels brighter than 3/4 are inside,
 * darker than 1/4 outside (of sRGB values). Data: positive inside, negative outside. */
cvtm_status cvtm_seeds_add_image(cvtm_seeds *seeds, const char *path, cvtm_error *error);
int64_t cvtm_seeds_count(const cvtm_seeds *seeds, cvtm_seed seed);

/* Upper bounds of -value where a seed is inside, lower bounds of value where it is outside,
 * infinite elsewhere. */
void cvtm_seeds_bounds(const cvtm_seeds *seeds, double value, double *lower, double *upper);

/* The pixels that a front reaches from the inside seeds before one reaches them from the outside
 * seeds (from the border of the image if there are none), both slowed by 1 + K |grad I|^2 on
 * the unit square. */
cvtm_status cvtm_seeds_grow(const cvtm_seeds *seeds, const double *shades, double k,
                            uint8_t *inside, cvtm_error *error);
/* Sets u to the signed distance to the boundary of a region on the unit square, negative inside.
 * CVTM_ERROR_INPUT if the region is empty or everything. */
cvtm_status cvtm_level_set_of_region(int width, int height, const uint8_t *inside, double *u,
                                     cvtm_error *error);
/* The same for a disc, exact at the pixel centres. */
cvtm_status cvtm_level_set_of_disc(int width, int height, double x, double y, double radius,
                                   double *u, cvtm_error *error);
/* The pixels with u < 0 that are connected, by sides, with a seed inside. */
cvtm_status cvtm_seeds_select(const cvtm_seeds *seeds, const double *u, uint8_t *inside,
                              cvtm_error *error);

/* --- the level set ---------------------------------------------------------------------------- */

/* Segmentation by a level set under constraints (Klement, Oberhuber & Sevcovic): the curve u = 0
 * moves by
 *
 *     u_t = Q div(g grad u / Q),  Q = sqrt(eps^2 + |grad u|^2),  g = 1 / (1 + K |grad I|^2),
 *
 * on the unit square (longer side 1, Neumann), inside where u < 0, with lower <= u <= upper: what
 * belongs to the object has a negative upper bound, what does not a positive lower one.
 * Semi-implicit finite volumes: divided by Q and integrated over a pixel, every step is one LCP
 * with a symmetric five-point M-matrix,
 *
 *     b_p u_p + tau sum_q a_pq (u_p - u_q) <= b_p u_p^n,  b_p = h^2 / mean Q,  a_pq = g_pq / Q_pq,
 *
 * solved by multigrid, starting from u^n + (u^n - u^(n-1)). The motion decreases the energy, the
 * integral of g Q. */

typedef struct cvtm_segment_progress {
  int64_t step;   /* 0: the start */
  double change;  /* h ||u^(n+1) - u^n||_2 */
  double area;    /* share of the pixels with u < 0 */
  double energy;  /* the integral of g Q over the unit square */
  int64_t cycles; /* of multigrid, in this step */
  int stalled;    /* the step's LCP was not solved */
} cvtm_segment_progress;

/* Called on the host after every step; nonzero asks to stop. */
typedef int (*cvtm_segment_monitor)(void *context, const cvtm_segment_progress *progress);

typedef struct cvtm_segment_options {
  double k;              /* K >= 0: how much an edge holds the curve; 10 */
  double epsilon;        /* 1 */
  double tau;            /* the step in time; 5e-3 */
  int64_t max_steps;     /* 200 */
  double tolerance;      /* stop when the change is less; 5e-4 */
  double step_tolerance; /* of the LCPs: the fall of the natural residual; 3e-5 */
  cvtm_segment_monitor monitor;
  void *monitor_context;
  CVTM_RESERVED(8);
} cvtm_segment_options;

void cvtm_segment_defaults(cvtm_segment_options *options);

/* code, name in reports */
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
  int64_t steps, cycles;       /* cycles of all steps */
  double change, area, energy; /* of the last step */
  double seconds;
  CVTM_RESERVED(8);
} cvtm_segment_result;

typedef struct cvtm_segment cvtm_segment;

/* Allocates all memory for images of one size, except for the solver's operators, which the first
 * step allocates. No later step allocates, and none copies a field to or from the host. */
cvtm_status cvtm_segment_create(cvtm_device *device, int width, int height,
                                const cvtm_segment_options *options, cvtm_segment **segment);
void cvtm_segment_destroy(cvtm_segment *segment);
/* All of width * height doubles in host memory: the image, presmoothed or not, in [0, 1]; the
 * bounds, NULL for none; u, the start (clipped to the bounds). CVTM_ERROR_INPUT if the bounds
 * contradict. On return u is the last step's. */
cvtm_status cvtm_segment_solve(cvtm_segment *segment, const double *image, const double *lower,
                               const double *upper, double *u, cvtm_segment_result *result);

/* --- the whole segmentation ------------------------------------------------------------------- */

typedef struct cvtm_disc {
  double x, y, radius; /* pixels */
} cvtm_disc;

typedef enum cvtm_first_curve {
  CVTM_FIRST_CURVE_GROW,  /* grown from the seeds: cvtm_seeds_grow */
  CVTM_FIRST_CURVE_IMAGE, /* a pixel inside the border of the image */
  CVTM_FIRST_CURVE_DISC,
  CVTM_FIRST_CURVE_FILE /* the boundary of a region: cvtm_region_read */
} cvtm_first_curve;

/* The arrays and strings must outlive the call. */
typedef struct cvtm_segmentation_options {
  const cvtm_disc *inside, *outside; /* seeds */
  int inside_count, outside_count;
  const char *seeds_file; /* for cvtm_seeds_add_image; NULL: none */
  double seed_value;      /* > 0: the level set is at most -seed_value on inside seeds and at least
                             seed_value on outside ones; 0.05 */
  cvtm_first_curve first; /* grow */
  cvtm_disc first_disc;
  const char *first_file;
  double sigma;                 /* of the Gaussian smoothing before, pixels; 0 */
  cvtm_segment_options segment; /* cvtm_segment_defaults */
  CVTM_RESERVED(8);
} cvtm_segmentation_options;

void cvtm_segmentation_defaults(cvtm_segmentation_options *options);

typedef struct cvtm_segmentation {
  double *shades, *u; /* width * height; u < 0 inside */
  uint8_t *inside;    /* width * height; 1 in the parts of the inside that have a seed */
  cvtm_seeds seeds;
  cvtm_segment_result result;
  cvtm_segment_progress *history; /* of the start and each step */
  int64_t history_count;
} cvtm_segmentation;

/* name: of the picture; begins the messages that name no other file. *made is empty on failure;
 * else cvtm_segmentation_free frees it. The message is in *error. */
cvtm_status cvtm_segmentation_run(cvtm_device *device, const cvtm_image *image, const char *name,
                                  const cvtm_segmentation_options *options, cvtm_segmentation *made,
                                  cvtm_error *error);
void cvtm_segmentation_free(cvtm_segmentation *made);
/* coverage: width * height values. Interpolated between pixel centres they are 1/2 on the boundary
 * of the parts with a seed, and larger inside. */
void cvtm_segmentation_coverage(const cvtm_segmentation *made, float *coverage);

CVTM_API_END
#endif

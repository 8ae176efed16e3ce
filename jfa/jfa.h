/* Discrete Voronoi diagrams: the nearest site of each pixel centre.
 *
 * Jump flooding (Rong & Tan 2006): in each pass every pixel compares the sites stored by the eight
 * pixels `step` away with its own site, and keeps the nearest site. The variants (Rong & Tan 2007)
 * add passes. N is the smallest power of two that is not less than the longer side:
 *
 *   jfa        N/2, N/4, ..., 1          log2 N passes
 *   1+jfa      1, then as jfa            log2 N + 1
 *   jfa+1      jfa, then 1               log2 N + 1
 *   jfa+2      jfa, then 2, 1            log2 N + 2
 *   jfa2       jfa twice                 2 log2 N
 *   exact      no flooding; 0 wrong pixels
 *
 * `exact` is by far the fastest; the others are for comparison and study. On a CPU it gathers the
 * sites near each tile of pixels from a tree of boxes. On CUDA it computes the polygon of each
 * site, labels the pixel centres inside, and compares distances for centres within rounding of an
 * edge. Pixels in cells with very many corners, or in cells that cover a large part of the image,
 * are labelled tile by tile, as on a CPU.
 *
 * Jump flooding stores seeds. A seed is a pixel that contains sites, so that no site is lost where
 * several share a pixel. All passes but the last measure, in float, the distance to the site of a
 * seed, or to the centre of a seed with several sites. The site's coordinates are rounded down to
 * 2^-16 N pixels (for N = 8192, to an eighth of a pixel). The last pass compares, in double, all
 * sites of the candidate seeds, and has four more candidates, two pixels away, which make up for
 * that rounding. The errors that remain are those of jump flooding itself. Measured at 512^2 on
 * random sites, as fractions of all pixels:
 *
 *   pixels per cell    10       100      1000
 *   jfa                2.5e-3   2.3e-4   2.2e-5
 *   1+jfa              1.9e-4   2.0e-5   0
 *   jfa+1              1.5e-4   2.5e-5   0
 *   jfa+2, jfa2        1.5e-4   2.2e-5   0
 *
 * If a site is not finite, or lies outside a domain that is not periodic, the labels are exact:
 * each pixel searches the tree, which takes several times as long. */
#pragma once

#include "base/device.h"
#include "base/domain.h"
#include "jfa/site_tree.h"

CVTM_API_BEGIN

/* code, name on the command line */
#define CVTM_VORONOI_LIST(X)            \
  X(CVTM_VORONOI_JFA, "jfa")            \
  X(CVTM_VORONOI_ONE_PLUS_JFA, "1+jfa") \
  X(CVTM_VORONOI_JFA_PLUS_1, "jfa+1")   \
  X(CVTM_VORONOI_JFA_PLUS_2, "jfa+2")   \
  X(CVTM_VORONOI_JFA_SQUARED, "jfa2")   \
  X(CVTM_VORONOI_EXACT, "exact")

typedef enum cvtm_voronoi_method {
#define CVTM_VORONOI_CODE(code, name) code,
  CVTM_VORONOI_LIST(CVTM_VORONOI_CODE)
#undef CVTM_VORONOI_CODE
} cvtm_voronoi_method;

/* A plan: buffers for one domain and up to `capacity` sites. A plan takes 4 bytes for each pixel
 * and, for each site, 44 bytes (on CUDA 36), 8 to 16 bytes for boxes, and 1 to 16 bins (more in
 * long and thin domains) of 4 bytes each (on CUDA 12). */
typedef struct cvtm_voronoi cvtm_voronoi;

/* Creates a plan. CVTM_ERROR_ARGUMENT: a side has more than CVTM_MAX_LABELLED_SIDE pixels. */
cvtm_status cvtm_voronoi_create(cvtm_device *device, cvtm_domain domain, int64_t capacity,
                                cvtm_voronoi **voronoi);
void cvtm_voronoi_destroy(cvtm_voronoi *voronoi);

/* Sets labels[j * width + i] to the index of the site nearest to the centre of pixel (i, j), the
 * lowest index if several are equally near; jump flooding may miss the nearest site. sites: 2 *
 * count doubles x, y in pixels; labels: width * height; both in device memory. Sites may lie
 * outside the domain (they are wrapped if it is periodic); a site that is not finite is infinitely
 * far away. With count = 0 all labels are -1. The labels are the same for any number of threads and
 * on every device. Enqueued; allocates nothing. */
cvtm_status cvtm_voronoi_compute(cvtm_voronoi *voronoi, const double *sites, int64_t count,
                                 cvtm_voronoi_method method, int32_t *labels);

/* Warm start: jump flooding from the labels of an earlier diagram of as many sites, which have
 * moved a little since. A pixel that contains sites begins as their seed. Any other pixel begins
 * with the new position of the site of its old label (or of some site, if the label is not the
 * index of a site). The steps are first_step, rounded up to a power of two, and its halves down
 * to 1. first_step should be about the largest distance that a site has moved; 0: 0.3 spacings of
 * evenly distributed sites. cvtm_voronoi_correct mends the pixels that do not get the nearest site.
 * Otherwise as cvtm_voronoi_compute. */
cvtm_status cvtm_voronoi_update(cvtm_voronoi *voronoi, const double *sites, int64_t count,
                                int first_step, int32_t *labels);

/* Replaces the labels of the last cvtm_voronoi_compute or cvtm_voronoi_update by the exact labels.
 * The sites of that call must still be in memory. *wrong: the number of pixels whose site was
 * farther away than the nearest site. Waits for the device. */
cvtm_status cvtm_voronoi_correct(cvtm_voronoi *voronoi, int32_t *labels, int64_t *wrong);

CVTM_API_END

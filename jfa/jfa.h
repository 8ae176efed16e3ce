/* Discrete Voronoi diagrams: which site is nearest to each pixel centre.
 *
 * Jump flooding (Rong & Tan 2006): in each pass every pixel looks at the sites stored by the eight
 * pixels `step` away and keeps the nearest. Its variants (Rong & Tan 2007) add passes. With N the
 * least power of two that covers the longer side:
 *
 *   jfa        N/2, N/4, ..., 1          log2 N passes
 *   1+jfa      1, then as jfa            log2 N + 1
 *   jfa+1      jfa, then 1               log2 N + 1
 *   jfa+2      jfa, then 2, 1            log2 N + 2
 *   jfa2       jfa twice                 2 log2 N
 *   exact      no flooding; 0 wrong pixels
 *
 * exact is by far the fastest; the others are there for comparison and study. On the CPU it gathers
 * the sites near each tile of pixels from a box tree. On CUDA it cuts out each site's polygon,
 * labels the pixel centres inside, and compares distances for those within rounding of an edge;
 * what no polygon could label (cells of very many corners, or of a large part of the image) is
 * gathered tile by tile.
 *
 * Several sites in one pixel are all taken into account, because seeds are pixels with sites in
 * them. All passes but the last measure the distance, in float, to the site of a seed, its
 * coordinates rounded down to 2^-16 of the least square of side a power of two that covers the
 * domain (for 8192 pixels: to an eighth), or to the middle of a pixel of several sites. The last
 * pass compares, in double, all sites of its candidate seeds; it has four candidates more, two
 * pixels away, which make up for that rounding. The errors that remain are those of jump flooding
 * itself. Measured at 512^2 on random sites, as fractions of all pixels:
 *
 *   pixels per cell    10       100      1000
 *   jfa                2.5e-3   2.3e-4   2.2e-5
 *   1+jfa              1.9e-4   2.0e-5   0
 *   jfa+1              1.5e-4   2.5e-5   0
 *   jfa+2, jfa2        1.5e-4   2.2e-5   0
 *
 * If a site lies outside a domain that is not periodic, or is not finite, the labels are exact: a
 * search in the tree for each pixel, which takes several times as long. */
#ifndef CVTMESH_JFA_JFA_H
#define CVTMESH_JFA_JFA_H

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

/* A plan: buffers for one domain and up to `capacity` sites. It holds 4 bytes per pixel and, per
 * site, 44 bytes, 64 to 128 bytes of tree boxes, 16 to 128 bytes of bins, and the buffers of a
 * sort. */
typedef struct cvtm_voronoi cvtm_voronoi;

/* Each side of the domain has at most CVTM_MAX_LABELLED_SIDE pixels. */
cvtm_status cvtm_voronoi_create(cvtm_device *device, cvtm_domain domain, int64_t capacity,
                                cvtm_voronoi **voronoi);
void cvtm_voronoi_destroy(cvtm_voronoi *voronoi);

/* labels[j * width + i] becomes the index of the site nearest to the centre of pixel (i, j), the
 * lowest index of equally near ones; jump flooding may miss it. sites: 2 * count doubles x, y in
 * pixels; labels: width * height; both in device memory. Sites outside the domain are allowed
 * (wrapped if it is periodic); a site that is not finite is infinitely far away. count = 0 gives -1
 * everywhere. The labels are the same for any number of threads and on every device. Enqueued;
 * allocates nothing. */
cvtm_status cvtm_voronoi_compute(cvtm_voronoi *voronoi, const double *sites, int64_t count,
                                 cvtm_voronoi_method method, int32_t *labels);

/* Warm start: jump flooding from the labels of an earlier diagram of as many sites, which have
 * moved a little since. Every pixel with a site in it starts as that seed, every other pixel with
 * the site of its old label at its new position (a label that is no index counts as 0). Passes run
 * from first_step, raised to a power of two, down to 1. first_step should be about the largest
 * distance that a site has moved; 0 stands for 0.3 spacings of evenly distributed sites.
 * cvtm_voronoi_correct finds the pixels that this misses. Otherwise as cvtm_voronoi_compute. */
cvtm_status cvtm_voronoi_update(cvtm_voronoi *voronoi, const double *sites, int64_t count,
                                int first_step, int32_t *labels);

/* Replaces the labels of the last compute or update by the exact ones; the sites of that call must
 * still be in memory. *wrong becomes the number of pixels whose site was farther than the nearest.
 * Waits for the device. */
cvtm_status cvtm_voronoi_correct(cvtm_voronoi *voronoi, int32_t *labels, int64_t *wrong);

CVTM_API_END
#endif

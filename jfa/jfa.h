/* Discrete Voronoi diagrams: which site is nearest to each pixel centre.
 *
 * Jump flooding (Rong & Tan 2006) lets every pixel look at the labels of the eight
 * pixels `step` away and keep the nearest site it hears of; its variants (Rong &
 * Tan 2007) add passes. With N the least power of two that covers the longer side:
 *
 *   jfa     N/2, N/4, ..., 1          log2 N passes
 *   1+jfa   1, then as jfa            log2 N + 1
 *   jfa+1   jfa, then 1               log2 N + 1
 *   jfa+2   jfa, then 2, 1            log2 N + 2
 *   jfa2    jfa twice                 2 log2 N
 *   exact   no flooding; 0 wrong pixels
 *
 * A pass reads nine labels per pixel and compares the sites that differ. The exact
 * diagram is the fastest of all by far; the others are there for comparison and study. On
 * the CPU it gathers the sites that matter to a tile of pixels from a box tree. On CUDA it
 * cuts out each site's polygon and labels the pixel centres in it; those within rounding of
 * a side are decided by comparing distances, and what no polygon could label (cells of
 * very many corners, of a large part of the image) is gathered tile by tile.
 *
 * No site is lost because several share a pixel. The sites are sorted so that those of
 * one pixel are consecutive; what is flooded is the whole group, whose distance is
 * that of its nearest member, found by scanning the group or, when it is large, by searching
 * its part of the box tree. The errors that remain are those of jump flooding
 * itself; measured at 512^2 on random sites, as shares of all pixels:
 *
 *   pixels per cell    10       100      1000
 *   jfa                2.2e-3   3.2e-4   1.9e-5
 *   1+jfa              6.1e-5   0        0
 *   jfa+1              5.0e-5   1.9e-5   0
 *   jfa+2, jfa2        3.8e-6   0        0
 *
 * A site outside a domain that is not periodic joins the group of the nearest
 * border pixel and keeps its own coordinates. */
#ifndef CVTMESH_JFA_JFA_H
#define CVTMESH_JFA_JFA_H

#include "base/device.h"
#include "base/domain.h"
#include "jfa/site_tree.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/* A plan: buffers for one domain and up to `capacity` sites. It holds 4 bytes per pixel and,
 * per site, 48 bytes, 64 to 128 bytes of tree boxes, 16 to 128 bytes of bins, and what sorting
 * takes. */
typedef struct cvtm_voronoi cvtm_voronoi;

cvtm_status cvtm_voronoi_create(cvtm_device *device, cvtm_domain domain, int64_t capacity,
                                cvtm_voronoi **voronoi);
void cvtm_voronoi_destroy(cvtm_voronoi *voronoi);

/* labels[j * width + i] = index of the site nearest to the centre of pixel (i, j), the
 * lowest index among equally near ones; jump flooding may miss it. sites: 2 * count
 * doubles x, y in pixels; labels: width * height; both in device memory. Sites
 * outside the domain are allowed (wrapped when periodic); one that is not finite lies
 * infinitely far away. count = 0 labels everything -1. The labels are the same for any number
 * of threads and on every device. Enqueued; allocates nothing. */
cvtm_status cvtm_voronoi_compute(cvtm_voronoi *voronoi, const double *sites, int64_t count,
                                 cvtm_voronoi_method method, int32_t *labels);

/* The tree over the sites of the last compute; valid until the next one or destroy. */
cvtm_site_tree_view cvtm_voronoi_get_tree(const cvtm_voronoi *voronoi);

#ifdef __cplusplus
}
#endif
#endif

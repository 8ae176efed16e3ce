/* A picture of labels: which site is nearest to each pixel of the screen, drawn by OpenGL from the
 * sites alone. A site is a disc whose depth is the distance to it (Hoff, Keyser, Lin, Manocha &
 * Culver 1999), so the depth test keeps the nearest one. A second pass colours the pixels. It
 * follows the sites at every frame where the geometry of their cells takes seconds. */
#ifndef CVTMESH_VIEWER_LABELS_H
#define CVTMESH_VIEWER_LABELS_H

#include "base/status.h"

enum {
  CVTM_LABELS_MARGIN = 128,    /* pixels around the screen whose sites also have labels; the radius
                                  of the largest disc */
  CVTM_LABELS_FEWEST = 200000, /* sites from which the picture replaces geometry that lags behind */
};

/* Shaders, to be compiled behind the preamble of render.c. */
extern const char cvtm_labels_site_vertex[], cvtm_labels_site_fragment[], cvtm_labels_fragment[];

typedef struct cvtm_labels {
  unsigned framebuffer, picture, depth; /* OpenGL's names; 0 before the first use */
  int width, height;                    /* with the margins */
  int outer;                            /* the framebuffer to return to */
} cvtm_labels;

/* Binds and clears a framebuffer for a screen of width x height pixels and its margins. */
cvtm_status cvtm_labels_begin(cvtm_labels *labels, int width, int height, cvtm_error *error);
/* Returns to the framebuffer that was bound before. */
void cvtm_labels_end(const cvtm_labels *labels);
void cvtm_labels_destroy(cvtm_labels *labels);

#endif

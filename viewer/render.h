/* Draws frames into the currently bound framebuffer with OpenGL 3.3 core. The caller keeps a
 * context current until the renderer is destroyed. */
#pragma once

#include "viewer/frame.h"
#include "viewer/view.h"

typedef struct cvtm_render cvtm_render;

cvtm_status cvtm_render_create(cvtm_render **render, cvtm_error *error);
void cvtm_render_destroy(cvtm_render *render);

/* The name of OpenGL's renderer ("llvmpipe ..."), borrowed. A context must be current. */
const char *cvtm_render_name(void);

/* Sets the frame to draw, which is borrowed until the next call. */
void cvtm_render_set_frame(cvtm_render *render, const cvtm_view_frame *frame);
cvtm_status cvtm_render_set_density(cvtm_render *render, const float *density, cvtm_domain domain,
                                    cvtm_error *error);
/* Returns an OpenGL buffer that the caller fills with the coordinates of `count` sites (float x,
 * y). *renewed: nonzero if it is not the buffer of the last call. */
unsigned cvtm_render_sites_buffer(cvtm_render *render, int64_t count, int *renewed);
/* Fills that buffer with the sites of the frame. */
cvtm_status cvtm_render_set_sites(cvtm_render *render, cvtm_error *error);

/* Sets the number of sites (default 200,000) from which cells are drawn by labels of pixels while
 * the computed cells are older than the sites. */
void cvtm_render_set_fewest_labels(cvtm_render *render, int64_t fewest);

/* Draws the frame into view->width x view->height pixels. Fails with CVTM_ERROR_DEVICE if OpenGL
 * reports an error. */
cvtm_status cvtm_render_draw(cvtm_render *render, const cvtm_view *view, cvtm_error *error);
/* Reads the picture: RGB, rows from the top, 3 * width * height bytes. */
cvtm_status cvtm_render_read(int width, int height, unsigned char *pixels, cvtm_error *error);

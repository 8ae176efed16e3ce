/* Flat drawing over a picture: rounded boxes, lines and text, in framebuffer pixels with y down.
 * Shapes are collected and drawn in order by one call. */
#ifndef CVTMESH_VIEWER_CANVAS_H
#define CVTMESH_VIEWER_CANVAS_H

#include "base/status.h"

typedef struct cvtm_canvas cvtm_canvas;

cvtm_status cvtm_canvas_create(cvtm_canvas **canvas, cvtm_error *error);
void cvtm_canvas_destroy(cvtm_canvas *canvas);

/* size: width and height of the framebuffer. scale: of the text. */
cvtm_status cvtm_canvas_begin(cvtm_canvas *canvas, int width, int height, double scale,
                              cvtm_error *error);
void cvtm_canvas_box(cvtm_canvas *canvas, double x, double y, double width, double height,
                     double radius, const float colour[3], double opacity);
void cvtm_canvas_line(cvtm_canvas *canvas, double x0, double y0, double x1, double y1,
                      double thickness, const float colour[3], double opacity);
/* A circle's outline. */
void cvtm_canvas_ring(cvtm_canvas *canvas, double x, double y, double radius, double thickness,
                      const float colour[3], double opacity);
/* x: left end, y: the middle of the line; bytes that are not printable ASCII are drawn as blanks.
 * Returns the right end. */
double cvtm_canvas_text(cvtm_canvas *canvas, double x, double y, const char *text,
                        const float colour[3], double opacity);
double cvtm_canvas_text_width(const cvtm_canvas *canvas, const char *text);
cvtm_status cvtm_canvas_end(cvtm_canvas *canvas, cvtm_error *error);

#endif

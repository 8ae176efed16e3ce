/* Flat drawing over a picture: rounded boxes, lines and text, in framebuffer pixels with y down.
 * Shapes are collected and drawn in order by one call. */
#ifndef CVTMESH_VIEWER_CANVAS_H
#define CVTMESH_VIEWER_CANVAS_H

#include "viewer/frame.h"
#include "viewer/view.h"

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

/* ---- The layers over the picture ---- */

/* The border of the domain, the line of figures, the plot, the help: in overlay.c. */
void cvtm_overlay_draw(cvtm_canvas *canvas, const cvtm_view_state *state, const cvtm_view *view);

/* ---- Helpers for OpenGL 3.3 core; a context is current ---- */

/* Compiles and links; the preamble (#version and shared functions) precedes both stages. */
cvtm_status cvtm_gl_program(const char *name, const char *preamble, const char *vertex,
                            const char *fragment, unsigned *program, cvtm_error *error);
/* CVTM_ERROR_DEVICE if OpenGL has seen an error since the last call. */
cvtm_status cvtm_gl_check(const char *what, cvtm_error *error);

/* ---- The typeface ---- */

/* A monospaced typeface of strokes: printable ASCII. A glyph is a list of strokes split by blanks,
 * each a list of points of two characters, x in 0 .. 8 (left to right) and y in 0 .. b (0 the top
 * of capitals, 3 of small letters, 8 the base line, b the bottom of descenders). A stroke is a
 * polygonal line; after ~ the points control a quadratic spline that begins and ends at its ends,
 * after o a closed one. */
enum { CVTM_FONT_FIRST = 32, CVTM_FONT_GLYPHS = 95 };

extern const char *const cvtm_font_strokes[CVTM_FONT_GLYPHS];

/* Coverage of a glyph in a box of width x height pixels (top to bottom, 0 .. 255). The capitals
 * are `capital` pixels high, lines are `weight` wide. */
void cvtm_font_draw(int glyph, int width, int height, double capital, double weight,
                    unsigned char *pixels, int stride);

#endif

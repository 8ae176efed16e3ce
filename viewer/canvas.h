/* Draws rounded boxes, lines and text over a picture, in framebuffer pixels, y down. The canvas
 * collects shapes, and cvtm_canvas_end draws them in order with one call of OpenGL. */
#pragma once

#include "viewer/frame.h"
#include "viewer/view.h"

typedef struct cvtm_canvas cvtm_canvas;

cvtm_status cvtm_canvas_create(cvtm_canvas **canvas, cvtm_error *error);
void cvtm_canvas_destroy(cvtm_canvas *canvas);

/* Begins a list of shapes. width, height: size of the framebuffer. scale: size of the text. */
cvtm_status cvtm_canvas_begin(cvtm_canvas *canvas, int width, int height, double scale,
                              cvtm_error *error);
void cvtm_canvas_box(cvtm_canvas *canvas, double x, double y, double width, double height,
                     double radius, const float colour[3], double opacity);
void cvtm_canvas_line(cvtm_canvas *canvas, double x0, double y0, double x1, double y1,
                      double thickness, const float colour[3], double opacity);
/* Draws the outline of a circle. */
void cvtm_canvas_ring(cvtm_canvas *canvas, double x, double y, double radius, double thickness,
                      const float colour[3], double opacity);
/* Draws text from x on, with its middle line at y. Bytes that are not printable ASCII are drawn as
 * blanks. Returns the x of the right end. */
double cvtm_canvas_text(cvtm_canvas *canvas, double x, double y, const char *text,
                        const float colour[3], double opacity);
double cvtm_canvas_text_width(const cvtm_canvas *canvas, const char *text);
cvtm_status cvtm_canvas_end(cvtm_canvas *canvas, cvtm_error *error);

/* ---- The layers over the picture ---- */

/* Draws the border of the domain, the status line, the plot and the help (overlay.c). */
void cvtm_overlay_draw(cvtm_canvas *canvas, const cvtm_view_state *state, const cvtm_view *view);

/* ---- Helpers for OpenGL 3.3 core; a context is current ---- */

/* Compiles and links a program; the preamble (#version and shared functions) is prepended to both
 * shaders. */
cvtm_status cvtm_gl_program(const char *name, const char *preamble, const char *vertex,
                            const char *fragment, unsigned *program, cvtm_error *error);
/* Fails with CVTM_ERROR_DEVICE if OpenGL has reported an error since the last call. */
cvtm_status cvtm_gl_check(const char *what, cvtm_error *error);

/* ---- The typeface ---- */

/* A monospaced stroke font for printable ASCII. A glyph is a list of strokes separated by blanks. A
 * stroke is a list of points of two characters: x from 0 (left) to 8, y from 0 (top of capitals; 3:
 * top of small letters; 8: base line) to b (bottom of descenders). The points are joined by lines;
 * after ~ they control a quadratic spline from the first to the last point, after o a closed
 * spline. */
enum { CVTM_FONT_FIRST = 32, CVTM_FONT_GLYPHS = 95 };

extern const char *const cvtm_font_strokes[CVTM_FONT_GLYPHS];

/* Draws the coverage of a glyph, 0 .. 255, into a box of width x height pixels, rows from the top.
 * Capitals are `capital` pixels high, lines `weight` pixels wide. */
void cvtm_font_draw(int glyph, int width, int height, double capital, double weight,
                    unsigned char *pixels, int stride);

/* Drawings for pens: dots and lines on a page, in millimetres, with x right and y down from the
 * upper left corner. They are written as SVG, PDF, DXF, HPGL and G-code. */
#pragma once

#include "base/status.h"

#include <stdint.h>

CVTM_API_BEGIN

/* The size of the page and the position of the picture on it: the point p of the picture is drawn
 * at (left, top) + scale * p. clip: left, top, right and bottom of the area inside the margins. */
typedef struct cvtm_page {
  double width, height;    /* mm */
  double scale, left, top; /* mm per pixel; mm */
  double clip[4];          /* mm */
  double picture[2];       /* mm; width and height of the whole picture; 0: it is the page */
  int in_pixels;           /* nonzero: all lengths are in pixels; only for SVG */
  double pixel;            /* mm; the size of such a pixel; 0: unknown */
} cvtm_page;

/* Centres the picture in the area `clip`. fill: nonzero: the picture covers all of the area and is
 * cropped there; 0: all of the picture lies inside. Fails with CVTM_ERROR_ARGUMENT if the area is
 * empty. */
cvtm_status cvtm_page_place_in(double page_width, double page_height, const double clip[4],
                               int fill, double width, double height, cvtm_page *page,
                               cvtm_error *error);
/* cvtm_page_place_in for the area inside margins of width `margin`. */
cvtm_status cvtm_page_place(double page_width, double page_height, double margin, int fill,
                            double width, double height, cvtm_page *page, cvtm_error *error);

enum { CVTM_PEN_NAME = 64 };
/* A pen of a drawing in several colours. */
typedef struct cvtm_pen {
  char name[CVTM_PEN_NAME]; /* UTF-8 */
  unsigned char colour[3];  /* sRGB */
} cvtm_pen;

/* Strokes in the order in which they are drawn: stroke k goes through points start[k] ..
 * start[k + 1) - 1; a dot is a stroke of one point. All arrays are malloc'd and owned. */
typedef struct cvtm_drawing {
  cvtm_page page;
  int64_t stroke_count;
  int64_t *start; /* stroke_count + 1 */
  double *points; /* 2 * start[stroke_count]: x, y in mm */
  int64_t part_count;
  int64_t *part; /* part_count + 1: part k has strokes part[k] .. part[k + 1) - 1; NULL: one part */
  int *pen;      /* part_count: index into `pens` of the pen that draws each part */
  const cvtm_pen *pens; /* borrowed; NULL: one black pen, or a white one if `light` */
  double *radius;       /* the radius of each dot, mm; NULL: strokes without radii */
  double line_width;    /* the width of the pen, mm; used in SVG and PDF */
  double *width;        /* part_count: the width of the pen of each part, mm; NULL: line_width */
  int light;            /* nonzero: SVG and PDF show white ink on black paper */
} cvtm_drawing;

/* Makes a dot for each of `count` points (x, y in pixels) that lies inside the margins. radius: the
 * radius of each dot, in pixels. On a page a disc that would reach into a margin is moved away from
 * the margin. Fails with CVTM_ERROR_MEMORY; then *drawing is empty. */
cvtm_status cvtm_drawing_of_dots(const cvtm_page *page, const double *points, const double *radius,
                                 int64_t count, cvtm_drawing *drawing, cvtm_error *error);
/* Makes the strokes by which a pen of this width (in pixels) draws these dots: a touch, that is, a
 * stroke of one point, or, for a disc wider than the pen, a spiral that fills the disc. Dots are
 * kept out of the margins as by cvtm_drawing_of_dots. */
cvtm_status cvtm_drawing_of_touches(const cvtm_page *page, const double *points,
                                    const double *radius, int64_t count, double pen,
                                    cvtm_drawing *drawing, cvtm_error *error);
/* Makes the line through `count` points, and back to the first point if closed; the margins cut the
 * line into strokes. line_width: in pixels; on a page no part of the width reaches into the
 * margins. Errors as above. */
cvtm_status cvtm_drawing_of_path(const cvtm_page *page, const double *points, int64_t count,
                                 int closed, double line_width, cvtm_drawing *drawing,
                                 cvtm_error *error);
/* Makes `count` lines, cut at the margins: line k goes through points start[k] .. start[k + 1] - 1.
 * line_width: in pixels. Errors as above. */
cvtm_status cvtm_drawing_of_lines(const cvtm_page *page, const double *points, const int64_t *start,
                                  int64_t count, double line_width, cvtm_drawing *drawing,
                                  cvtm_error *error);
/* Joins `count` drawings of the same page, all of dots or all of strokes. layers[k] is drawn with
 * pens[k]; pens must outlive *drawing. The parts of each layer stay separate parts; an empty layer
 * becomes an empty part. The layers are copied. Fails with CVTM_ERROR_MEMORY; then *drawing is
 * empty. */
cvtm_status cvtm_drawing_join(const cvtm_drawing *layers, const cvtm_pen *pens, int count,
                              cvtm_drawing *drawing, cvtm_error *error);
void cvtm_drawing_free(cvtm_drawing *drawing);
/* Puts the strokes of each part into an order with little travel, reverses some of them, and joins
 * strokes that meet: each stroke is followed by the stroke with the nearest end. O(n log n). A
 * drawing of dots is unchanged (cvtm_tour_create orders dots). Fails with CVTM_ERROR_MEMORY or,
 * above 2^30 strokes, CVTM_ERROR_UNSUPPORTED; then the drawing is unchanged. */
cvtm_status cvtm_drawing_order(cvtm_drawing *drawing, cvtm_error *error);

/* Cuts the strokes into parts with at most `distance` mm of line, so that the pen can be refilled
 * between parts. A part is longer only if the line between two of its points is. Dots have no
 * length. Fails with CVTM_ERROR_MEMORY; then the drawing is unchanged. */
cvtm_status cvtm_drawing_split(cvtm_drawing *drawing, double distance, cvtm_error *error);
/* The number of parts; 1 for a drawing that was not cut. */
int64_t cvtm_drawing_parts(const cvtm_drawing *drawing);
/* Sets the range of the strokes of part k: *first .. *end - 1. */
void cvtm_drawing_part(const cvtm_drawing *drawing, int64_t k, int64_t *first, int64_t *end);
/* The number of the pen that draws part k, from 0. */
int cvtm_drawing_pen_of(const cvtm_drawing *drawing, int64_t k);

/* The width in mm of the pen that draws part k. */
double cvtm_drawing_width_of(const cvtm_drawing *drawing, int64_t k);

/* Simulates the plot: the fraction of each of width * height pixels of the picture that the strokes
 * of all pens cover; each stroke is as wide as its pen (draw/disc.h). */
cvtm_status cvtm_drawing_coverage(const cvtm_drawing *drawing, int width, int height,
                                  float *coverage, cvtm_error *error);

/* Trails that together use every edge of a graph once. Trail k goes through vertices
 * vertex[start[k]] .. vertex[start[k + 1] - 1]. The arrays are owned. */
typedef struct cvtm_trails {
  int64_t count;
  int64_t *start; /* count + 1 */
  int32_t *vertex;
} cvtm_trails;

/* Covers a graph by few trails: each of the `edge_count` edges (two different vertices below
 * vertex_count, listed once) is on one trail, once. Trails first begin at vertices of odd degree,
 * since a connected graph needs at least half as many trails as it has such vertices, then at
 * vertices with remaining edges. Each trail continues as long as there is an unused edge.
 * Deterministic, O(vertices + edges). Fails with CVTM_ERROR_MEMORY; then *trails is empty. */
cvtm_status cvtm_trails_create(const int32_t *edges, int64_t edge_count, int64_t vertex_count,
                               cvtm_trails *trails, cvtm_error *error);
void cvtm_trails_free(cvtm_trails *trails);

/* Settings of a file that are not part of the drawing. */
struct cvtm_plotter;
struct cvtm_gcode_profile;
typedef struct cvtm_drawing_settings {
  int in_mm; /* DXF: nonzero: the header gives mm as the unit; else it names no unit */
  const struct cvtm_gcode_profile *profile; /* G-code (draw/plotter.h) */
  const struct cvtm_plotter *plotter;       /* HPGL; NULL: 40 units/mm from the lower left corner */
  CVTM_RESERVED(5);
} cvtm_drawing_settings;

/* Writes the drawing in the format that `extension` names, whatever the extension of the path.
 * settings: NULL: zeros.
 * svg: the page has its size in mm, a user unit of 1 mm, and an Inkscape layer for each part, named
 * after the pen of the part. Inks of several pens are transparent: where they overlap, their
 * colours multiply.
 * pdf, by cairo: one page of vector graphics, compressed. The same drawing gives the same bytes.
 * Inks are as in SVG; there are no layers, because cairo cannot write them. Fails with
 * CVTM_ERROR_UNSUPPORTED in a build without cairo, where cvtm_drawing_writes_pdf() is 0.
 * dxf: AutoCAD R12 in ASCII, x right and y up from the lower left corner of the page. Dots become
 * circles, strokes become lines and polylines, and parts become layers.
 * hpgl: in the units of the plotter, with points as by cvtm_plotter_place. Pen k of the drawing is
 * SP(k + 1). Between parts the plotter puts the pen back and takes it again.
 * gcode: the profile's `start` and `up`; then for every stroke `travel` to its first point, `down`,
 * `dwell` for a dot, `draw` to its other points, and `up`; last `end`. Between parts comes `pause`,
 * and with several pens `pen` before the parts of each pen. */
cvtm_status cvtm_drawing_write(const char *path, const char *extension, const cvtm_drawing *drawing,
                               const cvtm_drawing_settings *settings, cvtm_error *error);
int cvtm_drawing_writes_pdf(void);

CVTM_API_END

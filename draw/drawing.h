/* Drawings for pens: dots and lines on a page, in millimetres, x right and y down from the upper
 * left corner. Written as SVG, PDF, DXF, HPGL and G-code. */
#ifndef CVTMESH_DRAW_DRAWING_H
#define CVTMESH_DRAW_DRAWING_H

#include "base/status.h"

#include <stdint.h>

CVTM_API_BEGIN

/* Where a picture of width x height pixels stands on the page: a point p of the picture is at
 * (left, top) + scale * p. clip: left, top, right and bottom of what lies inside the margins. */
typedef struct cvtm_page {
  double width, height;    /* mm */
  double scale, left, top; /* mm per pixel; mm */
  double clip[4];          /* mm */
  int in_pixels;           /* all lengths are pixels instead; for SVG alone */
} cvtm_page;

/* Centres the picture inside the margins. fill: nonzero: it covers all that lies inside the margins
 * and is cut there; else it lies inside as a whole. Fails with CVTM_ERROR_ARGUMENT if the margins
 * leave nothing. */
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
  int64_t *part; /* part_count + 1: its strokes are part[k] .. part[k + 1) - 1; NULL: one part */
  int *pen;      /* part_count: index into `pens` of the pen that draws each part */
  const cvtm_pen *pens; /* borrowed; NULL: one black pen, or a white one if `light` */
  double *radius;       /* of each dot in mm; NULL: the drawing has no dots */
  double line_width;    /* mm; what an SVG shows */
  int light;            /* an SVG shows white ink on black paper */
} cvtm_drawing;

/* A dot for each of `count` points (x, y in pixels) inside the margins. radius: of each dot in
 * pixels. Fails with CVTM_ERROR_MEMORY; then *drawing is empty. */
cvtm_status cvtm_drawing_of_dots(const cvtm_page *page, const double *points, const double *radius,
                                 int64_t count, cvtm_drawing *drawing, cvtm_error *error);
/* The line through `count` points, and back to the first if it is closed; cut at the margins into
 * strokes. line_width: in pixels. Errors as above. */
cvtm_status cvtm_drawing_of_path(const cvtm_page *page, const double *points, int64_t count,
                                 int closed, double line_width, cvtm_drawing *drawing,
                                 cvtm_error *error);
/* `count` lines, cut at the margins: line k goes through points[2 * start[k]] and so on, up to
 * start[k + 1]. line_width: in pixels. Errors as above. */
cvtm_status cvtm_drawing_of_lines(const cvtm_page *page, const double *points, const int64_t *start,
                                  int64_t count, double line_width, cvtm_drawing *drawing,
                                  cvtm_error *error);
/* Joins `count` drawings of one page, all of dots or all of paths: layers[k] is drawn with pens[k],
 * which must outlive *drawing. Each layer keeps its parts, and an empty one has an empty part. The
 * layers stay the caller's. Fails with CVTM_ERROR_MEMORY; then *drawing is empty. */
cvtm_status cvtm_drawing_join(const cvtm_drawing *layers, const cvtm_pen *pens, int count,
                              cvtm_drawing *drawing, cvtm_error *error);
void cvtm_drawing_free(cvtm_drawing *drawing);

/* Cuts the strokes into parts, none with more than `distance` mm of line unless a single line from
 * point to point is longer: the pen is refilled between them. Dots have no length. Fails with
 * CVTM_ERROR_MEMORY; then the drawing is as before. */
cvtm_status cvtm_drawing_split(cvtm_drawing *drawing, double distance, cvtm_error *error);
/* A drawing without parts is one part. */
int64_t cvtm_drawing_parts(const cvtm_drawing *drawing);
/* The strokes of part k are *first .. *end - 1. */
void cvtm_drawing_part(const cvtm_drawing *drawing, int64_t k, int64_t *first, int64_t *end);
/* The number of the pen that draws part k, from 0. */
int cvtm_drawing_pen_of(const cvtm_drawing *drawing, int64_t k);

/* The length of all strokes in mm, and the length of the ways from the end of each to the next. */
double cvtm_drawing_pen_down(const cvtm_drawing *drawing);
double cvtm_drawing_pen_up(const cvtm_drawing *drawing);

/* Few lines that pass along every edge of a graph once. Trail k goes through vertices
 * vertex[start[k]] .. vertex[start[k + 1] - 1]. Owned. */
typedef struct cvtm_trails {
  int64_t count;
  int64_t *start; /* count + 1 */
  int32_t *vertex;
} cvtm_trails;

/* Covers a graph by trails: each of `edge_count` edges (two different vertices below vertex_count,
 * listed once) lies on one of them, once. Trails begin at vertices of odd degree, whose number is
 * twice that of the fewest possible trails of a connected graph, then where edges are left; each
 * continues as long as it finds an edge. Deterministic, O(vertices + edges). Fails with
 * CVTM_ERROR_MEMORY; then *trails is empty. */
cvtm_status cvtm_trails_create(const int32_t *edges, int64_t edge_count, int64_t vertex_count,
                               cvtm_trails *trails, cvtm_error *error);
void cvtm_trails_free(cvtm_trails *trails);

/* SVG: the size of the page in mm, the user unit 1 mm, a layer of Inkscape for each part, named
 * after its pen. Inks of several pens are transparent: their colours multiply. */
cvtm_status cvtm_drawing_write_svg(const char *path, const cvtm_drawing *drawing,
                                   cvtm_error *error);
/* PDF by cairo: one page of this size, vectors, compressed; the same drawing gives the same bytes.
 * Inks as in the SVG. Cairo cannot write layers. Fails with CVTM_ERROR_UNSUPPORTED if
 * cvtm_drawing_writes_pdf() is 0: the build has no cairo. */
cvtm_status cvtm_drawing_write_pdf(const char *path, const cvtm_drawing *drawing,
                                   cvtm_error *error);
int cvtm_drawing_writes_pdf(void);
/* DXF of AutoCAD R12 in ASCII, x right and y up from the lower left corner of the page: dots are
 * circles, strokes lines and polylines, parts layers. in_mm: nonzero: the header says that units
 * are mm; else it names no unit. */
cvtm_status cvtm_drawing_write_dxf(const char *path, const cvtm_drawing *drawing, int in_mm,
                                   cvtm_error *error);
/* HPGL: 40 units per mm, x right and y up from the lower left corner of the page. Pen k of the
 * drawing is SP(k + 1). The pen is put back and taken again between parts. */
cvtm_status cvtm_drawing_write_hpgl(const char *path, const cvtm_drawing *drawing,
                                    cvtm_error *error);

/* What a machine wants to read as G-code: lines of text, in `text`, each ended by a zero byte. */
enum { CVTM_GCODE_LINES = 32 };
typedef struct cvtm_gcode_lines {
  const char *line[CVTM_GCODE_LINES];
  int count;
} cvtm_gcode_lines;
typedef struct cvtm_gcode_profile {
  cvtm_gcode_lines start, up, down, dwell, pause, pen, end;
  const char *travel, *draw; /* {x} and {y} stand for mm with three decimals */
  int from_top;              /* y down from the upper left corner instead of up from the lower */
  char *text;                /* malloc'd and owned */
} cvtm_gcode_profile;

/* The text of a profile of this name: grbl-servo, grbl-z or marlin-servo; NULL: there is none. */
const char *cvtm_gcode_builtin(const char *name);
/* Reads a profile: lines `name = value`; # starts a comment line. start, up, down, dwell, pause,
 * pen and end repeat and may be missing, but for up and down; travel, draw and origin (bottom-left,
 * top-left) stand once. In pen, {pen} stands for the pen's number from 1 and {name} for its name.
 * `name` is used in messages. Fails with CVTM_ERROR_INPUT, with the line. */
cvtm_status cvtm_gcode_profile_parse(const char *text, const char *name,
                                     cvtm_gcode_profile *profile, cvtm_error *error);
void cvtm_gcode_profile_free(cvtm_gcode_profile *profile);
/* start, up; then for every stroke travel to its first point, down, dwell if it is a dot, draw to
 * its other points, up; between parts pause; before the parts of each pen of several pen; then end.
 */
cvtm_status cvtm_drawing_write_gcode(const char *path, const cvtm_drawing *drawing,
                                     const cvtm_gcode_profile *profile, cvtm_error *error);

CVTM_API_END
#endif

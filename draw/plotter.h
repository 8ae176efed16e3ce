/* Plotters: their area, origin, units and speeds, and their profiles of G-code. */
#pragma once

#include "draw/drawing.h"

CVTM_API_BEGIN

/* Lengths are in mm, y down. A page of the size `paper` is put into the plotter with its longer
 * side across, and `area` is the part that the pen reaches. A portrait page is turned by 90
 * degrees, with its top to the left. A page of another size has its lower left corner at the
 * origin. The origin of HPGL is the lower left corner of the area. */
typedef struct cvtm_plotter {
  const char *name, *second_name; /* the second may be NULL */
  const char *help;
  const char *format; /* the extension of its files: svg, hpgl or gcode */
  double paper[2];    /* the longer side first; 0: any page */
  double area[4];     /* left, top, right, bottom on the paper; 0: all of the page */
  double units;       /* units of HPGL per mm */
  double draw_speed, travel_speed, acceleration; /* mm/s, mm/s^2 */
  double lift_seconds,
      dot_seconds;   /* time to lower and raise the pen; time that it rests on a dot */
  int pens;          /* number of pens; 0: pens are changed by hand, in any number */
  const char *gcode; /* the text of the profile; NULL: the plotter takes no G-code */
} cvtm_plotter;

/* Row k of the table of plotters; NULL after the last. */
const cvtm_plotter *cvtm_plotter_at(int k);
/* Finds a plotter by one of its names, in upper or lower case; NULL if there is none. */
const cvtm_plotter *cvtm_plotter_find(const char *name);
/* The row of the same plotter for this size of paper; `plotter` itself if there is none. */
const cvtm_plotter *cvtm_plotter_for_page(const cvtm_plotter *plotter, double width, double height);
/* Sets area[] to left, top, right and bottom of the part of a page that the pen reaches. Returns 0
 * if the page is too large for the plotter. */
int cvtm_plotter_area(const cvtm_plotter *plotter, double width, double height, double area[4]);
/* Converts a point of the page to units of the plotter, x right and y up from its origin. */
void cvtm_plotter_place(const cvtm_plotter *plotter, double width, double height, const double *mm,
                        double *place);

/* The time in seconds that the raised pen needs for this distance, from rest to rest. */
double cvtm_plotter_seconds(const cvtm_plotter *plotter, double mm);

typedef struct cvtm_plot_figures {
  int64_t strokes;
  double drawn, travelled; /* mm */
  double seconds_drawing, seconds_lifting, seconds_travelling;
} cvtm_plot_figures;
/* Measures the lengths and the time of plotting. Each stroke and each move between strokes begins
 * and ends at rest; corners do not slow the pen. The time for changes of pens is left out. */
void cvtm_plotter_measure(const cvtm_plotter *plotter, const cvtm_drawing *drawing,
                          cvtm_plot_figures *figures);

/* A profile: the lines of G-code for each action of a plotter. The strings are zero-terminated and
 * point into `text`. */
enum { CVTM_GCODE_LINES = 32 };
typedef struct cvtm_gcode_lines {
  const char *line[CVTM_GCODE_LINES];
  int count;
} cvtm_gcode_lines;
typedef struct cvtm_gcode_profile {
  cvtm_gcode_lines start, up, down, dwell, pause, pen, end;
  const char *travel, *draw; /* {x} and {y} are replaced by mm with three decimals */
  int from_top; /* nonzero: y is down from the upper left corner; 0: up from the lower left */
  char *text;   /* malloc'd and owned */
} cvtm_gcode_profile;

/* Reads a profile: lines `name = value`; # starts a comment line. The names start, up, down, dwell,
 * pause, pen and end may be repeated; all but up and down may be missing. travel, draw and origin
 * (bottom-left or top-left) are given once. In the value of pen, {pen} is replaced by the number of
 * the pen, from 1, and {name} by the name of the pen. `name` is used in messages. On an error in a
 * line fails with CVTM_ERROR_INPUT, and the message has the line. */
cvtm_status cvtm_gcode_profile_parse(const char *text, const char *name,
                                     cvtm_gcode_profile *profile, cvtm_error *error);
void cvtm_gcode_profile_free(cvtm_gcode_profile *profile);

CVTM_API_END

/* The plotters, with one row for each, and the time that a plot takes. */
#include "draw/plotter.h"

#include "base/text.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- the machines ------------------------------------------------------------------------------
 * Sources. HP 7475A: the hard-clip limits of metric and US paper in its Interfacing and Programming
 * Manual (1984); a unit is 0.02488 mm. HP 7550A and Roland DXY-1100 to 1300: areas smaller than
 * those that the makers state, centred on the paper. AxiDraw: the travel that the maker states.
 * Times assume common speeds, which differ between machines; speeds of G-code are those of the
 * profiles. */

#define GRBL_START "start = G21\nstart = G90\n"
#define GRBL_MOVES              \
  "pause = M0\n"                \
  "pen = (pen {pen}: {name})\n" \
  "travel = G0 X{x} Y{y}\n"     \
  "draw = G1 X{x} Y{y} F2000\n"

static const char grbl_servo[] = "# GRBL; a servo lifts the pen: S of M3\n" GRBL_START
                                 "up = M3 S300\n"
                                 "up = G4 P0.15\n"
                                 "down = M3 S700\n"
                                 "down = G4 P0.15\n"
                                 "dwell = G4 P0.05\n" GRBL_MOVES
                                 "end = G0 X0 Y0\n"
                                 "end = M5\n";

static const char grbl_z[] =
    "# GRBL; the pen hangs on the Z axis, which is 0 on the paper\n" GRBL_START
    "start = G94\n"
    "up = G0 Z3\n"
    "down = G1 Z0 F600\n"
    "dwell = G4 P0.05\n" GRBL_MOVES
    "end = G0 X0 Y0\n"
    "end = M2\n";

/* With M4 the power is proportional to the speed, so a beam at rest has none. A dot is therefore
 * burnt with M3, after G1, because after G0 GRBL keeps the beam off. */
static const char grbl_laser[] =
    "# GRBL in laser mode ($32 = 1); S300 of 1000 is the power\n" GRBL_START
    "start = G94\n"
    "up = M5\n"
    "down = M4 S300\n"
    "dwell = G1 F1500\n"
    "dwell = M3 S300\n"
    "dwell = G4 P0.05\n"
    "pause = M0\n"
    "pen = (layer {pen}: {name})\n"
    "travel = G0 X{x} Y{y}\n"
    "draw = G1 X{x} Y{y} F1500\n"
    "end = M5\n"
    "end = G0 X0 Y0\n";

static const char marlin_servo[] = "# Marlin; servo 0 lifts the pen; G4 in ms\n" GRBL_START
                                   "start = G28 X Y\n"
                                   "up = M280 P0 S60\n"
                                   "up = G4 P150\n"
                                   "down = M280 P0 S30\n"
                                   "down = G4 P150\n"
                                   "dwell = G4 P50\n"
                                   "pause = M0\n"
                                   "pen = M117 pen {pen}: {name}\n"
                                   "travel = G0 X{x} Y{y} F6000\n"
                                   "draw = G1 X{x} Y{y} F2000\n"
                                   "end = G0 X0 Y0 F6000\n"
                                   "end = M84\n";

static const char marlin_laser[] =
    "# Marlin with a laser on the fan's or the laser's output; S of 255 is the power\n" GRBL_START
    "start = G28 X Y\n"
    "up = M5\n"
    "down = M3 S80\n"
    "dwell = G4 P50\n"
    "pause = M0\n"
    "pen = M117 layer {pen}: {name}\n"
    "travel = G0 X{x} Y{y} F6000\n"
    "draw = G1 X{x} Y{y} F1500\n"
    "end = M5\n"
    "end = G0 X0 Y0 F6000\n"
    "end = M84\n";

/* Members that several rows share. */
#define A4 .paper = {297, 210}
#define A3 .paper = {420, 297}
#define LETTER .paper = {279.4, 215.9}
#define TABLOID .paper = {431.8, 279.4}
#define HP7475A                                                                   \
  .format = "hpgl", .units = 1 / 0.02488, .draw_speed = 381, .travel_speed = 508, \
  .acceleration = 19600, .lift_seconds = 0.15, .dot_seconds = 0.03, .pens = 6
#define HP7550A                                                                                 \
  .format = "hpgl", .units = 40, .draw_speed = 800, .travel_speed = 800, .acceleration = 58800, \
  .lift_seconds = 0.1, .dot_seconds = 0.03, .pens = 8
#define AXIDRAW                                                                 \
  .format = "svg", .draw_speed = 55, .travel_speed = 229, .acceleration = 1016, \
  .lift_seconds = 0.4, .dot_seconds = 0.05, .pens = 1
#define GCODE .format = "gcode", .acceleration = 500, .dot_seconds = 0.05

/* Members that a row does not give are 0 or NULL, with the meanings in plotter.h. */
static const cvtm_plotter plotters[] = {
    {"hp7475a", "hp7475a-a4", "HP 7475A, A4", HP7475A, A4,
     .area = {10, 206 - 7721 * 0.02488, 10 + 11040 * 0.02488, 206}},
    {"hp7475a-a3", NULL, "HP 7475A, A3", HP7475A, A3,
     .area = {15, 287 - 11040 * 0.02488, 15 + 16158 * 0.02488, 287}},
    {"hp7475a-letter", NULL, "HP 7475A, letter", HP7475A, LETTER,
     .area = {10, 211 - 7962 * 0.02488, 10 + 10365 * 0.02488, 211}},
    {"hp7475a-tabloid", NULL, "HP 7475A, tabloid", HP7475A, TABLOID,
     .area = {15, 269.4 - 10365 * 0.02488, 15 + 16640 * 0.02488, 269.4}},
    {"hp7550", "hp7550-a4", "HP 7550A, A4", HP7550A, A4,
     .area = {12.5, 10, 12.5 + 10870 / 40., 10 + 7600 / 40.}},
    {"hp7550-a3", NULL, "HP 7550A, A3", HP7550A, A3,
     .area = {10, 12.5, 10 + 15970 / 40., 12.5 + 10870 / 40.}},
    {"hp7550-letter", NULL, "HP 7550A, letter", HP7550A, LETTER,
     .area = {12.5, 10, 12.5 + 10170 / 40., 10 + 7840 / 40.}},
    {"hp7550-tabloid", NULL, "HP 7550A, tabloid", HP7550A, TABLOID,
     .area = {9, 12.5, 9 + 16540 / 40., 12.5 + 10170 / 40.}},
    {"dxy", "dxy-a3", "Roland DXY-1100, 1200, 1300, A3", "hpgl", A3,
     .area = {8, 10.5, 8 + 16158 / 40., 10.5 + 11040 / 40.}, .units = 40, .draw_speed = 420,
     .travel_speed = 420, .acceleration = 9800, .lift_seconds = 0.15, .dot_seconds = 0.03,
     .pens = 8},
    {"axidraw-a4", "axidraw", "AxiDraw V3, SE/A4", AXIDRAW, A4, .area = {0, 0, 300, 218}},
    {"axidraw-a3", NULL, "AxiDraw V3/A3, SE/A3", AXIDRAW, A3, .area = {0, 0, 430, 297}},
    {"grbl-servo", NULL, "GRBL, a servo lifts the pen", GCODE, .draw_speed = 2000 / 60.,
     .travel_speed = 5000 / 60., .lift_seconds = 0.3, .gcode = grbl_servo},
    {"grbl-z", NULL, "GRBL, the Z axis lifts the pen", GCODE, .draw_speed = 2000 / 60.,
     .travel_speed = 5000 / 60., .lift_seconds = 0.6, .gcode = grbl_z},
    {"grbl-laser", "laser", "GRBL, a laser", GCODE, .draw_speed = 1500 / 60.,
     .travel_speed = 5000 / 60., .lift_seconds = 0.01, .gcode = grbl_laser},
    {"marlin-servo", "marlin", "Marlin, a servo lifts the pen", GCODE, .draw_speed = 2000 / 60.,
     .travel_speed = 100, .lift_seconds = 0.3, .gcode = marlin_servo},
    {"marlin-laser", NULL, "Marlin, a laser", GCODE, .draw_speed = 1500 / 60., .travel_speed = 100,
     .lift_seconds = 0.01, .gcode = marlin_laser},
    {"hpgl", NULL, "HPGL of 40 units/mm from the lower left corner of any page", "hpgl",
     .units = 40, .draw_speed = 381, .travel_speed = 508, .acceleration = 9800,
     .lift_seconds = 0.15, .dot_seconds = 0.03}};

const cvtm_plotter *cvtm_plotter_at(int k) {
  return k >= 0 && k < (int)(sizeof plotters / sizeof plotters[0]) ? &plotters[k] : NULL;
}

const cvtm_plotter *cvtm_plotter_find(const char *name) {
  for (int k = 0; cvtm_plotter_at(k) != NULL; ++k) {
    const char *second = plotters[k].second_name;
    if (strcasecmp(plotters[k].name, name) == 0 ||
        (second != NULL && strcasecmp(second, name) == 0))
      return &plotters[k];
  }
  return NULL;
}

static int is_paper(const cvtm_plotter *plotter, double width, double height) {
  const double tolerance = 0.5;
  return fabs(plotter->paper[0] - fmax(width, height)) < tolerance &&
         fabs(plotter->paper[1] - fmin(width, height)) < tolerance;
}

const cvtm_plotter *cvtm_plotter_for_page(const cvtm_plotter *plotter, double width,
                                          double height) {
  const size_t length = strcspn(plotter->name, "-");
  if (is_paper(plotter, width, height)) return plotter;
  for (int k = 0; plotter->paper[0] > 0 && cvtm_plotter_at(k) != NULL; ++k)
    if (strncmp(plotters[k].name, plotter->name, length) == 0 &&
        strcspn(plotters[k].name, "-") == length && is_paper(&plotters[k], width, height))
      return &plotters[k];
  return plotter;
}

static int has_area(const cvtm_plotter *plotter) { return plotter->area[2] > 0; }

int cvtm_plotter_area(const cvtm_plotter *plotter, double width, double height, double area[4]) {
  const double *a = plotter->area;
  area[0] = area[1] = 0;
  area[2] = width;
  area[3] = height;
  if (!has_area(plotter)) return 1;
  const double across = a[2] - a[0], down = a[3] - a[1], rounding = 1e-9;
  if (!is_paper(plotter, width, height))
    return fmax(width, height) <= across + rounding && fmin(width, height) <= down + rounding;
  const int is_turned = height > width;
  area[0] = fmax(is_turned ? width - a[3] : a[0], 0);
  area[1] = fmax(is_turned ? a[0] : a[1], 0);
  area[2] = fmin(is_turned ? width - a[1] : a[2], width);
  area[3] = fmin(is_turned ? a[2] : a[3], height);
  return 1;
}

void cvtm_plotter_place(const cvtm_plotter *plotter, double width, double height, const double *mm,
                        double *place) {
  double x = mm[0], y = mm[1], bottom = height;
  if (has_area(plotter) && height > width) {
    x = mm[1];
    y = width - mm[0];
    bottom = width;
  }
  const int is_on_paper = has_area(plotter) && is_paper(plotter, width, height);
  place[0] = plotter->units * (is_on_paper ? x - plotter->area[0] : x);
  place[1] = plotter->units * (is_on_paper ? plotter->area[3] - y : bottom - y);
}

/* --- the time to plot ------------------------------------------------------------------------- */

/* The seconds of a straight move that begins and ends at rest. */
static double seconds_of(double length, double speed, double acceleration) {
  if (length * acceleration < speed * speed) return 2 * sqrt(length / acceleration);
  return length / speed + speed / acceleration;
}

double cvtm_plotter_seconds(const cvtm_plotter *plotter, double mm) {
  return seconds_of(mm, plotter->travel_speed, plotter->acceleration);
}

void cvtm_plotter_measure(const cvtm_plotter *plotter, const cvtm_drawing *drawing,
                          cvtm_plot_figures *figures) {
  const double home[2] = {0, 0}, *at = home;
  *figures = (cvtm_plot_figures){.strokes = drawing->stroke_count};
  for (int64_t k = 0; k < drawing->stroke_count; ++k) {
    const double *p = drawing->points + 2 * drawing->start[k];
    const double *last = drawing->points + 2 * (drawing->start[k + 1] - 1);
    const double way = hypot(p[0] - at[0], p[1] - at[1]);
    double length = 0;
    for (; p < last; p += 2) length += hypot(p[2] - p[0], p[3] - p[1]);
    figures->drawn += length;
    figures->travelled += way;
    figures->seconds_drawing += length > 0
                                    ? seconds_of(length, plotter->draw_speed, plotter->acceleration)
                                    : plotter->dot_seconds;
    figures->seconds_travelling += cvtm_plotter_seconds(plotter, way);
    at = last;
  }
  figures->seconds_lifting = plotter->lift_seconds * (double)figures->strokes;
}

/* --- profiles of G-code ----------------------------------------------------------------------- */

static cvtm_gcode_lines *lines_of_key(cvtm_gcode_profile *profile, const char *key) {
  const struct {
    const char *key;
    cvtm_gcode_lines *lines;
  } table[] = {{"start", &profile->start}, {"up", &profile->up},       {"down", &profile->down},
               {"dwell", &profile->dwell}, {"pause", &profile->pause}, {"pen", &profile->pen},
               {"end", &profile->end}};
  for (size_t k = 0; k < sizeof table / sizeof table[0]; ++k)
    if (strcmp(table[k].key, key) == 0) return table[k].lines;
  return NULL;
}

static cvtm_status set_origin(cvtm_gcode_profile *profile, const cvtm_pairs *pair) {
  profile->from_top = strcmp(pair->value, "top-left") == 0;
  if (profile->from_top || strcmp(pair->value, "bottom-left") == 0) return CVTM_OK;
  return cvtm_pairs_fail(pair, "origin must be bottom-left or top-left");
}

static cvtm_status set_key(cvtm_gcode_profile *profile, const cvtm_pairs *pair) {
  if (pair->value == NULL) return cvtm_pairs_fail(pair, "this is not of the form name = value");
  cvtm_gcode_lines *lines = lines_of_key(profile, pair->name);
  if (lines != NULL) {
    if (lines->count == CVTM_GCODE_LINES)
      return cvtm_pairs_fail(pair, "too many lines have this name");
    lines->line[lines->count++] = pair->value;
    return CVTM_OK;
  }
  if (strcmp(pair->name, "origin") == 0) return set_origin(profile, pair);
  const int is_travel = strcmp(pair->name, "travel") == 0;
  if (!is_travel && strcmp(pair->name, "draw") != 0)
    return cvtm_pairs_fail(
        pair, "the known names are start, up, down, dwell, pause, pen, end, travel, draw, origin");
  if (strstr(pair->value, "{x}") == NULL || strstr(pair->value, "{y}") == NULL)
    return cvtm_pairs_fail(pair, "travel and draw need {x} and {y}");
  *(is_travel ? &profile->travel : &profile->draw) = pair->value;
  return CVTM_OK;
}

cvtm_status cvtm_gcode_profile_parse(const char *text, const char *name,
                                     cvtm_gcode_profile *profile, cvtm_error *error) {
  memset(profile, 0, sizeof *profile);
  profile->text = strdup(text);
  if (profile->text == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: no memory", name);
  cvtm_pairs pairs = {.next = profile->text, .file = name, .error = error};
  cvtm_status status = CVTM_OK;
  while (status == CVTM_OK && cvtm_pairs_take(&pairs)) status = set_key(profile, &pairs);
  const int is_complete = profile->travel != NULL && profile->draw != NULL &&
                          profile->up.count > 0 && profile->down.count > 0;
  if (status == CVTM_OK && !is_complete)
    status = cvtm_pairs_fail(&pairs, "up, down, travel or draw is missing");
  if (status != CVTM_OK) cvtm_gcode_profile_free(profile);
  return status;
}

void cvtm_gcode_profile_free(cvtm_gcode_profile *profile) {
  free(profile->text);
  memset(profile, 0, sizeof *profile);
}

/* The dots of an SVG: their sizes, with which the ink is that of the picture, and the likeness of
 * drawing and picture. */
#pragma once

#include "base/domain.h"
#include "cvt/local_mean.h"
#include "run/options.h"
#include "draw/likeness.h"
#include "meshes/mesh.h"

#include <cjson/cJSON.h>

typedef struct run_stipples {
  double *radius;           /* per vertex of the mesh; NULL: all equal, chosen by the SVG */
  double smallest, largest; /* diameters */
  int is_measured;          /* nonzero: the following members are set */
  double ink, picture_ink;  /* mean fraction of the paper that is, or should be, drawn on */
  double blur;              /* standard deviation of the Gaussian, pixels */
  cvtm_likeness likeness;
} run_stipples;

/* Chooses --pen and --dot-size where they are not given. A pen is as wide as the smallest dot or,
 * without --dot-size, 0.5 mm wide in a drawing for a machine. Dots are as wide as the pen. */
void run_pen_choose(cvtm_run_options *options);
/* Sets *width to the width of the pen in pixels of the domain; 0: no pen. */
cvtm_status run_pen_width(const cvtm_run_options *options, cvtm_domain domain, double *width,
                          cvtm_error *error);

/* True if a drawing of dots with sizes, or a path of a pen, is among the outputs. */
int run_stipples_wanted(const cvtm_run_options *options);

/* True if a pen draws, and discs are not among the outputs. */
int run_stipples_are_strokes(const cvtm_run_options *options);

/* Checks --pen, --dots and --dot-size; fails with CVTM_ERROR_USAGE. */
cvtm_status run_stipples_check(const cvtm_run_options *options, cvtm_error *error);

/* With --dots tone: the ratio of diameters of dots in bright and in dark parts. */
double run_dot_ratio(const cvtm_run_options *options);
/* True for one diameter above 0, or a smallest and a largest diameter. */
int run_dot_size_is_valid(const cvtm_run_lengths *size);

/* Sets *ink to the shape drawn at the points: discs or, with --svg path and a pen, a line.
 * *is_even: 0 if the sizes of the dots differ. */
cvtm_status run_ink_find(const cvtm_run_options *options, cvtm_domain domain, cvtm_ink *ink,
                         int *is_even, cvtm_error *error);

/* How many dots a picture needs. */
typedef struct run_dot_count {
  double count;             /* at least 1; 0: the number was given */
  double smallest, largest; /* diameters in pixels */
  double ink;               /* mean tone of the picture */
  double mm_per_pixel;      /* 0: no page */
  int is_line;              /* nonzero: points of a line as wide as `largest` */
  int is_default;           /* nonzero: --dot-size is not given */
} run_dot_count;
/* Finds the number of dots of --dot-size that have the ink of the picture if none overlap, as in
 * Linde-Buzo-Gray stippling (Deussen, Spicker & Zheng 2017). Without --dot-size the diameter is
 * 1/128 of the longer side. */
cvtm_status run_stipples_count(const cvtm_run_options *options, cvtm_domain domain,
                               const float *tone, run_dot_count *dots, cvtm_error *error);
/* Adds `points_found` if the number was found by run_stipples_count. */
void run_dot_count_report(const run_dot_count *dots, cJSON *report);

/* True if the dots are light on a dark ground. */
int run_stipples_are_light(const cvtm_run_options *options);

/* The input for making dots. */
typedef struct run_stipples_source {
  cvtm_domain domain;
  const float *tone;     /* ink wanted in each pixel, 0 to 1; NULL: data, which have no tone */
  const double *mass;    /* mass of each cell, for the density of the run */
  const cvtm_mesh *mesh; /* its vertices are the dots */
  const cvtm_cells
      *cells; /* their Voronoi cells in the rectangle of the domain; NULL: computed here */
  const double *radius; /* per dot; NULL: found here */
} run_stipples_source;

/* Makes the dots. *stipples is empty on failure; else run_stipples_free frees it. */
/* With a pen and no discs among the outputs, run_page_measure measures the drawing instead. */
cvtm_status run_stipples_make(const cvtm_run_options *options, const run_stipples_source *source,
                              run_stipples *stipples, cvtm_error *error);
void run_stipples_free(run_stipples *stipples);
/* Sets the smallest and the largest diameter of `count` dots, at least one. */
void run_stipples_range(const double *radius, int64_t count, run_stipples *stipples);
/* Compares the tone with the coverage of each pixel by a drawing of `count` points. */
cvtm_status run_stipples_measure(const cvtm_run_options *options, cvtm_domain domain,
                                 const float *tone, int64_t count, const float *drawn,
                                 run_stipples *stipples, cvtm_error *error);

/* Sizes dots such that each covers the area ink[i] of its cell, within the bounds of --dot-size;
 * with --dots equal all dots together cover the sum. */
cvtm_status run_stipples_size(const cvtm_run_options *options, const run_stipples_source *source,
                              const double *ink, double *radius, cvtm_error *error);
/* Shrinks dots (radius, at `points`) that extend farther than halfway to the nearest other dot, so
 * that no dots overlap. */
void run_stipples_separate(cvtm_domain domain, const double *points, const cvtm_cells *cells,
                           double *radius);

/* Adds `tone` if the dots were measured. */
void run_stipples_report(const run_stipples *stipples, cJSON *report);

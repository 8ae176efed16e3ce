/* The dots of an SVG: their sizes, so that the ink is that of the picture, and how much the drawing
 * looks like the picture. */
#ifndef CVTMESH_RUN_STIPPLES_H
#define CVTMESH_RUN_STIPPLES_H

#include "base/domain.h"
#include "cvt/local_mean.h"
#include "run/options.h"
#include "draw/likeness.h"
#include "meshes/mesh.h"

#include <cjson/cJSON.h>

typedef struct run_stipples {
  double *radius;           /* of each vertex of the mesh; NULL: of one size, chosen by the SVG */
  double smallest, largest; /* diameters */
  int is_measured;          /* the following are set */
  double ink, picture_ink;  /* mean share of the paper that is, or should be, drawn on */
  double blur;              /* standard deviation of the Gaussian, pixels */
  cvtm_likeness likeness;
} run_stipples;

/* Chooses what --pen and --dot-size leave open. A pen is as wide as the smallest dot or, if
 * --dot-size is not given either, 0.5 mm wide in a drawing for a machine. Dots are as wide as the
 * pen. */
void run_pen_choose(cvtm_run_options *options);
/* Sets *width to the width of the pen in pixels of the domain; 0: there is none. */
cvtm_status run_pen_width(const cvtm_run_options *options, cvtm_domain domain, double *width,
                          cvtm_error *error);
/* The options for one of several pens, with the size of its dots if that is given. */
cvtm_run_options run_options_of_pen(const cvtm_run_options *options, const cvtm_run_lengths *size);

/* True if a drawing of dots with their sizes is among the outputs, or a path of a pen. */
int run_stipples_wanted(const cvtm_run_options *options);

/* True if a pen draws, and discs are not among the outputs. */
int run_stipples_are_strokes(const cvtm_run_options *options);

/* Checks --pen, --dots and --dot-size. CVTM_ERROR_USAGE. */
cvtm_status run_stipples_check(const cvtm_run_options *options, cvtm_error *error);

/* With --dots tone: the diameter of dots in bright places over that in dark ones. */
double run_dot_ratio(const cvtm_run_options *options);
/* True for a diameter above 0, or a least and a largest one. */
int run_dot_size_is_valid(const cvtm_run_lengths *size);

/* Sets *ink to what is drawn at the points: discs or, with --svg path and a pen, a line. *is_even:
 * 0: the sizes of the dots differ. */
cvtm_status run_ink_find(const cvtm_run_options *options, cvtm_domain domain, cvtm_ink *ink,
                         int *is_even, cvtm_error *error);

/* How many dots a picture needs. */
typedef struct run_dot_count {
  double count;             /* at least 1; 0: the number was given */
  double smallest, largest; /* diameters in pixels */
  double ink;               /* mean tone of the picture */
  double mm_per_pixel;      /* 0: there is no page */
  int is_line;              /* true: points of a line as wide as `largest` */
  int is_default;           /* true: --dot-size is not given */
} run_dot_count;
/* The number of dots of --dot-size that have the ink of the picture if none overlap, as in
 * Linde-Buzo-Gray stippling (Deussen, Spicker & Zheng 2017). Without --dot-size the diameter is
 * 1/128 of the longer side. */
cvtm_status run_stipples_count(const cvtm_run_options *options, cvtm_domain domain,
                               const float *tone, run_dot_count *dots, cvtm_error *error);
/* Adds `points_found` if the number was found; prints the same. */
void run_dot_count_report(const run_dot_count *dots, cJSON *report);

/* True if the dots are light on a dark ground. */
int run_stipples_are_light(const cvtm_run_options *options);

/* What the dots are made from. */
typedef struct run_stipples_source {
  cvtm_domain domain;
  const float *tone;       /* ink wanted in each pixel, 0 to 1; NULL: data, which has no tone */
  const double *mass;      /* of the cells by the density of the run */
  const cvtm_mesh *mesh;   /* whose vertices are the dots */
  const cvtm_cells *cells; /* their Voronoi cells in the whole domain; NULL: computed here */
  const double *radius;    /* of each dot; NULL: found here */
} run_stipples_source;

/* *stipples is empty on failure; else run_stipples_free frees it. */
/* With a pen, and without discs among the outputs, this function does not measure the drawing;
 * run_page_measure does. */
cvtm_status run_stipples_make(const cvtm_run_options *options, const run_stipples_source *source,
                              run_stipples *stipples, cvtm_error *error);
void run_stipples_free(run_stipples *stipples);
/* Compares with the tone what a drawing of `count` points covers of each pixel. */
cvtm_status run_stipples_measure(const cvtm_run_options *options, cvtm_domain domain,
                                 const float *tone, int64_t count, const float *drawn,
                                 run_stipples *stipples, cvtm_error *error);

/* Shrinks dots (radius, at `points`) that reach farther than halfway to the nearest other one, so
 * that none overlap. */
void run_stipples_separate(cvtm_domain domain, const double *points, const cvtm_cells *cells,
                           double *radius);

/* Adds `tone` if the dots were measured. */
void run_stipples_report(const run_stipples *stipples, cJSON *report);

#endif

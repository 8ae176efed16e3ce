/* The dots of an SVG: their sizes, so that the ink is that of the picture, and how much the drawing
 * looks like the picture. */
#ifndef CVTMESH_CLI_STIPPLES_H
#define CVTMESH_CLI_STIPPLES_H

#include "base/domain.h"
#include "cli/options.h"
#include "draw/likeness.h"
#include "meshes/mesh.h"

#include <cjson/cJSON.h>

typedef struct cli_stipples {
  double *radius;           /* of each vertex of the mesh; NULL: of one size, chosen by the SVG */
  double smallest, largest; /* diameters */
  int is_measured;          /* the following are set */
  double ink, picture_ink;  /* mean share of the paper that is, or should be, drawn on */
  double blur;              /* standard deviation of the Gaussian, pixels */
  cvtm_likeness likeness;
} cli_stipples;

/* True if a drawing of dots with their sizes is among the outputs. */
int cli_stipples_wanted(const cli_options *options);

/* Checks --dots and --dot-size. Returns CLI_EXIT_OK, or CLI_EXIT_USAGE after a message. */
int cli_stipples_check(const cli_options *options);

/* Of --dots tone: the diameter of dots in bright places over that in dark ones. */
double cli_dot_ratio(const cli_options *options);

/* How many dots a picture needs. */
typedef struct cli_dot_count {
  double count;             /* at least 1; 0: the number was not found so */
  double smallest, largest; /* diameters in pixels */
  double ink;               /* mean tone of the picture */
  double mm_per_pixel;      /* 0: there is no page */
  int is_default;           /* without --dot-size */
} cli_dot_count;
/* The number of dots of --dot-size that have the ink of the picture if none overlap, as in
 * Linde-Buzo-Gray stippling (Deussen, Spicker & Zheng 2017). Without --dot-size the diameter is
 * 1/128 of the longer side. */
cvtm_status cli_stipples_count(const cli_options *options, cvtm_domain domain, const float *tone,
                               cli_dot_count *dots, cvtm_error *error);
/* Adds `points_found` if the number was found; prints the same. */
void cli_dot_count_report(const cli_dot_count *dots, cJSON *report);
void cli_dot_count_print(const cli_dot_count *dots, FILE *stream);

/* True if the dots are light on a dark ground. */
int cli_stipples_are_light(const cli_options *options);

/* What the dots are made from. */
typedef struct cli_stipples_source {
  cvtm_domain domain;
  const float *tone;       /* ink wanted in each pixel, 0 to 1; NULL: data, which has no tone */
  const double *mass;      /* of the cells by the density of the run */
  const cvtm_mesh *mesh;   /* whose vertices are the dots */
  const cvtm_cells *cells; /* their Voronoi cells in the whole domain; NULL: computed here */
  const double *radius;    /* of each dot; NULL: found here */
} cli_stipples_source;

/* *stipples is empty on failure; else cli_stipples_free frees it. */
cvtm_status cli_stipples_make(const cli_options *options, const cli_stipples_source *source,
                              cli_stipples *stipples, cvtm_error *error);
void cli_stipples_free(cli_stipples *stipples);

/* Shrinks dots (radius, at `points`) that reach farther than halfway to the nearest other one, so
 * that none overlap. */
void cli_stipples_separate(cvtm_domain domain, const double *points, const cvtm_cells *cells,
                           double *radius);

/* Adds `tone` if the dots were measured. */
void cli_stipples_report(const cli_stipples *stipples, cJSON *report);
/* Prints a line that begins with `title` if the dots were measured. */
void cli_stipples_print(const cli_stipples *stipples, FILE *stream, const char *title);

#endif

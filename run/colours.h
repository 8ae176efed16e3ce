/* Drawings in several colours: --colours of `run`. The picture is separated into coverages by the
 * inks, each ink has dots of its own. The sizes of the dots minimise the difference of the blurred
 * drawing and the blurred picture. */
#pragma once

#include "base/device.h"
#include "base/status.h"
#include "run/options.h"
#include "run/page.h"
#include "run/stipples.h"
#include "cvt/classes.h"
#include "cvt/nearest.h"
#include "draw/likeness.h"
#include "draw/inks.h"
#include "draw/drawing.h"

#include <cjson/cJSON.h>

#include <stddef.h>

/* The pens of --colours. */

typedef struct run_pens {
  cvtm_inks inks;
  cvtm_pen pen[CVTM_INKS_MAX];           /* the inks with names */
  cvtm_run_lengths size[CVTM_INKS_MAX];  /* of the dots, as in --dot-size; count 0: not given */
  cvtm_run_lengths width[CVTM_INKS_MAX]; /* of the pen, if it has a size */
} run_pens;

/* Reads the file of --colours, if there is one. CVTM_ERROR_INPUT names the file. */
cvtm_status run_pens_open(const cvtm_run_options *options, run_pens *pens, cvtm_error *error);
/* Without --pen: sets its option if all pens of a file have sizes, so that these pens draw. */
void run_pens_use(const run_pens *pens, cvtm_run_options *options);
/* The options for pen k, with its width and the size of its dots if it has one. */
cvtm_run_options run_options_of_pen(const cvtm_run_options *options, const run_pens *pens, int k);

/* Reads lines `name = #rrggbb` or `name = #rrggbb MIN,MAX` with the bounds of the diameters of dots
 * as in --dot-size; skips empty lines and lines that begin with #. `name` begins the messages.
 * Fails with CVTM_ERROR_INPUT and the line. */
cvtm_status run_pens_parse(const char *text, size_t size, const char *name, run_pens *pens,
                           cvtm_error *error);

/* Figures of one pen. */
typedef struct run_pen_figures {
  double asked, drawn;      /* mean coverage of the paper */
  double smallest, largest; /* diameters of dots, pixels */
  cvtm_likeness likeness;   /* of the dots, compared with `asked` */
  cvtm_nearest_distances nearest;
} run_pen_figures;

typedef struct run_colours {
  int count; /* number of pens; 0: the drawing has one colour, and the rest is empty */
  run_pens pens;
  cvtm_domain domain;
  float *rgb;                       /* the picture: three planes */
  float *coverage[CVTM_INKS_MAX];   /* needed for the picture */
  float *points[CVTM_INKS_MAX];     /* per area, of dots of one size or of lines; else NULL */
  int64_t start[CVTM_INKS_MAX + 1]; /* the dots of pen k are start[k] .. start[k + 1] - 1 */
  cvtm_classes_result solved;
  double *radius; /* per dot */
  run_pen_figures figures[CVTM_INKS_MAX];
  double blur;                            /* pixels */
  cvtm_colour_likeness reached, possible; /* of the drawing, and the best that the inks can give */
  int is_measured;
} run_colours;

/* True if the dots of each pen have one given size. */
int run_colours_have_sizes(const cvtm_run_options *options, const run_colours *colours);
int run_colours_wanted(const cvtm_run_options *options);
/* Checks the options against each other; fails with CVTM_ERROR_USAGE. */
cvtm_status run_colours_check(const cvtm_run_options *options, cvtm_error *error);

/* Chooses pens, or uses those that run_pens_open has read; separates the picture and distributes
 * the dots among the pens. rgb: three planes, now owned by *colours. Sets options->points if it is
 * not given; *dots explains the number. */
cvtm_status run_colours_read(cvtm_run_options *options, cvtm_domain domain, float *rgb,
                             run_colours *colours, run_dot_count *dots, cvtm_error *error);
/* Computes the colours that the coverages give, by the model of cvtm_inks_mix: three planes. */
void run_colours_mix(const run_colours *colours, float *mixed);
/* Finds the positions of the dots: sites (2 * start[count]). plan: as in cvtm_classes_options. */
cvtm_status run_colours_solve(const cvtm_run_options *options, cvtm_device *device,
                              const cvtm_cvt_options *descent, cvtm_cvt **plan,
                              run_colours *colours, double *sites);
/* Orders the dots of each pen by --order. *order: the figures, summed over the pens. deadline: as
 * for run_order_find. */
cvtm_status run_colours_order(const cvtm_run_options *options, const run_colours *colours,
                              double deadline, double *sites, run_point_order *order,
                              cvtm_error *error);
/* Sizes the dots and measures the drawing. cells: the Voronoi cells of the sites of all pens. */
cvtm_status run_colours_draw(const cvtm_run_options *options, run_colours *colours,
                             const double *sites, const cvtm_cells *cells, cvtm_error *error);
void run_colours_free(run_colours *colours);

void run_colours_report(const run_colours *colours, cJSON *report);

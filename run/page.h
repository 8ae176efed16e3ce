/* Drawings on a page in millimetres (--page), as SVG, PDF, DXF, HPGL or G-code. */
#pragma once

#include "run/options.h"
#include "run/output.h"
#include "run/stipples.h"

#include <cjson/cJSON.h>

/* True if the file is a drawing that shows dots with their sizes. */
int run_page_shows_sizes(const cvtm_run_options *options, const char *path);
/* True if a pen of some width draws the dots of the drawing `path`. */
int run_page_shows_touches(const cvtm_run_options *options, const char *path);
/* True if a pen draws one line through the points in the first drawing that shows points. */
int run_page_shows_line(const cvtm_run_options *options);
/* True if all drawings show cells or triangles, whose lines have no tone. */
int run_page_shows_edges(const cvtm_run_options *options);
/* The machine that draws, and the width of a pixel on its page in mm. */
typedef struct run_machine {
  const cvtm_plotter *plotter;
  double mm;
} run_machine;
/* True if a pen draws one of the outputs on a page. */
int run_page_has_machine(const cvtm_run_options *options);
/* Sets *machine to the machine of the first such output. */
cvtm_status run_page_machine(const cvtm_run_options *options, cvtm_domain domain,
                             run_machine *machine, cvtm_error *error);
/* True if the drawing `path` shows the points, as dots or along a path. */
int run_page_shows_points(const cvtm_run_options *options, const char *path);
/* Checks --page, --margin and --unit; fails with CVTM_ERROR_USAGE. */
cvtm_status run_page_check_size(const cvtm_run_options *options, cvtm_error *error);
/* run_page_check_size; also checks the outputs, and reads the profile of G-code if one is written.
 * CVTM_ERROR_USAGE names the first contradiction. */
cvtm_status run_page_check(const cvtm_run_options *options, cvtm_error *error);
/* Writes a drawing of the scene in the format of the extension. Without a page a pixel of a PDF is
 * 1/96 inch, and the unit of a DXF is the pixel; the other formats need a page. */
cvtm_status run_page_write(const run_scene *scene, const char *path, const char *extension,
                           cvtm_error *error);
/* Makes the drawing of a scene on a page: `shown`, by one pen or by the pens of --colours. */
cvtm_status run_page_draw(const run_scene *scene, cvtm_svg_kind shown, const cvtm_page *page,
                          cvtm_drawing *drawing, cvtm_error *error);
/* The scene of pen k; without --colours the unchanged scene. *of_pen: memory for its options. */
run_scene run_scene_of_pen(const run_scene *scene, int k, cvtm_run_options *of_pen);
/* True if the picture `path` shows a simulated plot: there is a pen, and no --layers. */
int run_page_shows_plot(const cvtm_run_options *options, const char *path);
/* Writes such a picture, or the simulated plot of a drawing in several colours. */
cvtm_status run_page_picture(const run_scene *scene, const char *path, cvtm_pixels_writer write,
                             cvtm_error *error);
/* Simulates the plot of `shown` on a canvas with `scale` pixels per pixel of the picture. The
 * caller frees *drawn: the fraction of each pixel that is covered. */
cvtm_status run_page_simulate(const run_scene *scene, cvtm_svg_kind shown, double scale,
                              cvtm_domain canvas, float **drawn, cvtm_error *error);
/* Multiplies the light of a plane by the fraction that ink transmits. drawn: the fraction of each
 * pixel that is covered; ink: the light that the ink itself transmits. */
void run_plot_lay(const float *drawn, double ink, int64_t pixels, float *light);
/* With a pen: compares a simulated plot of the scene with the ink wanted in each pixel. The plot
 * consists of touches or, with --svg path, of a line. */
cvtm_status run_page_measure(const run_scene *scene, const float *tone, run_stipples *stipples,
                             cvtm_error *error);
/* Sets *scale to the width of a pixel in mm on the page or, without a page, in the world. Fails if
 * neither is known. */
cvtm_status run_page_scale(const cvtm_run_options *options, cvtm_domain domain, double *scale,
                           cvtm_error *error);

/* The coordinates of files. The point (x, y) of the domain has the position (left + scale x,
 * top + scale y) on the page, in the unit of --unit. height: the height of the page. With the units
 * `px` and `width` the domain takes the place of the page. With --pixel-size, files of meshes and
 * points have (left + scale x, bottom + scale (H - y)), where H is the height of the domain. */
typedef struct run_frame {
  double scale, left, top, height;
  int is_up;     /* nonzero, with --pixel-size and for a height of 0: y is up in points, too */
  double bottom; /* bottom of the domain where y is up */
} run_frame;
cvtm_status run_frame_find(const cvtm_run_options *options, cvtm_domain domain, run_frame *frame,
                           cvtm_error *error);

/* Sets part to the first column and row, and those after the last, of the pixels of which some part
 * lies inside the margins of the page; without a page, of all pixels. */
cvtm_status run_page_part(const cvtm_run_options *options, cvtm_domain domain, int part[4],
                          cvtm_error *error);
/* Crops planes of floats, one after the other, to such a part, in place; `planes` may be NULL. */
void run_crop_planes(float *planes, int count, cvtm_domain whole, const int part[4]);

/* Adds `plot` to the report, if there was a plot. */
void run_plot_report(const run_plot *plot, cJSON *report);
/* Adds `page` to the report, if there is a page. */
void run_page_report(const cvtm_run_options *options, cvtm_domain domain, cJSON *report);

/* --order of `run` and `mesh`: points in the order in which a pen visits them. */

typedef struct run_point_order {
  int32_t *order;  /* count; NULL: the order is unchanged */
  double length;   /* of the path, in pixels; closed for `tsp` */
  double bound;    /* lower bound on the length of any tour */
  double estimate; /* cvtm_tour_estimate for the rectangle of the points */
  double seconds;
  int is_stopped; /* nonzero: a signal or the deadline ended the improvement */
} run_point_order;

/* The order of the sites of a run: that of --order or, with --svg path alone, `tsp`. */
cvtm_run_order run_order_of(const cvtm_run_options *options);
/* Refuses outputs whose points have no order. CVTM_ERROR_USAGE names the first contradiction. */
cvtm_status run_order_check(const cvtm_run_options *options, cvtm_error *error);
/* Finds the order of --order. points: x, y. A signal ends the search early, and so does the
 * deadline (a time of cvtm_clock; 0: none). *order must be freed also on failure. */
cvtm_status run_order_find(const cvtm_run_options *options, const double *points, int64_t count,
                           double deadline, run_point_order *order, cvtm_error *error);
/* Sorts `count` rows of `columns` values (at most 2) by the order; `values` may be NULL. */
cvtm_status run_order_apply(const run_point_order *order, int64_t count, int columns,
                            double *values, cvtm_error *error);
void run_order_free(run_point_order *order);
void run_order_report(const run_point_order *order, const cvtm_run_options *options, cJSON *report);

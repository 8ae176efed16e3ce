/* The files that a command writes: formats, checks before the work begins, output of meshes. */
#pragma once

#include "base/status.h"
#include "run/options.h"
#include "draw/picture.h"
#include "draw/plotter.h"
#include "meshes/format.h"
#include "meshes/second_order.h"

typedef enum run_output_kind {
  RUN_OUTPUT_UNKNOWN,
  RUN_OUTPUT_MESH,
  RUN_OUTPUT_POINTS,
  RUN_OUTPUT_DRAWING,
  RUN_OUTPUT_PICTURE,
  RUN_OUTPUT_LABELS
} run_output_kind;

enum { RUN_EXTENSION_MAX = 64 };
/* The extension of the output `path`, or --format for `-`; buffer: RUN_EXTENSION_MAX bytes. */
const char *run_output_extension(const cvtm_run_options *options, const char *path, char *buffer);
/* The kind of the output `path` for this command, by its extension or, for `-`, by --format. */
run_output_kind run_output_kind_of(const cvtm_run_options *options, const char *path);

/* The row of the output's format, or NULL. */
const cvtm_format *run_output_format(const cvtm_run_options *options, const char *path);

/* Row k of all formats that are written or read; NULL after the last row. */
const cvtm_format *run_format_at(int k);
typedef void (*run_format_visitor)(void *context, run_output_kind kind, const cvtm_format *format);
/* Visits the formats that this command writes. */
void run_output_visit(const cvtm_run_options *options, run_format_visitor visitor, void *context);

/* Refuses extensions that are unknown or not available in this build, with CVTM_ERROR_USAGE. */
cvtm_status run_outputs_check(const cvtm_run_options *options, cvtm_error *error);

/* True if an output is a mesh. */
int run_outputs_have_mesh(const cvtm_run_options *options);
/* True if an output shows more than points and a mesh: a drawing or a picture. */
int run_outputs_draw(const cvtm_run_options *options);

/* Writes one output. extension: that of the path, in lower case, or --format if the path is `-`. */
typedef cvtm_status (*run_writer)(void *context, const char *path, const char *extension,
                                  cvtm_error *error);
/* Calls `writer` for every -o, until one fails. */
cvtm_status run_outputs_write(const cvtm_run_options *options, run_writer writer, void *context,
                              cvtm_error *error);

/* The plot of the first drawing on a page. */
typedef struct run_plot {
  const cvtm_plotter *plotter; /* NULL: nothing is plotted */
  cvtm_plot_figures figures;
} run_plot;

/* The content of a command's outputs; NULL for what the command does not have. */
typedef struct run_scene {
  const cvtm_run_options *options;
  cvtm_domain domain;
  const double
      *sites; /* 2 * count, for point formats; not snapped, unlike the points of the mesh */
  int64_t count;
  const float *density;
  const double *mass;
  const double *original; /* per vertex, instead of the mass: the point that it is a copy of */
  const cvtm_mesh *mesh;
  const cvtm_cells *cells;
  const cvtm_regions *regions;
  const double *radius; /* of the dots of an SVG */
  const int64_t *id;    /* of the sites of a film, for point formats */
  const cvtm_second_order *second;
  const cvtm_triangle_labels *labels; /* or NULL */
  const struct run_colours *colours;  /* of a drawing in several colours */
  int is_simulated;                   /* the order of the strokes does not matter */
  run_plot *plot;                     /* set by the first drawing on a page; may be NULL */
  const struct run_scene *drawn; /* this scene in coordinates of the domain, for files that show the
                                    domain; NULL: the scene has these */
} run_scene;

enum { RUN_DRAWING_LEAST = 16 }; /* pixels: the longer side of a drawing that is not scaled */

/* The domain of a drawing of a rectangle (left, upper, right, lower). *scale: 1, except for a tiny
 * or huge rectangle. */
cvtm_domain run_drawing_domain(const double sides[4], double *scale);

/* The vertices of the mesh as in mesh files, y up: malloc'd; NULL if memory runs out. */
double *run_scene_place(const run_scene *scene);

/* Writes every -o. */
cvtm_status run_scene_write(const run_scene *scene, cvtm_error *error);

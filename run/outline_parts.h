/* Functions for meshing an outline, called by run/outline.c: sizes and their formulas
 * (expression.c), division of curves by sizes, and sides of a periodic outline. */
#pragma once

#include "meshes/domain/pslg.h"
#include "meshes/refine/adapt.h"
#include "meshes/sized/size_tree.h"
#include "meshes/sized_mesh.h"
#include "run/domain.h"
#include "run/outline.h"
#include "run/output.h"

#include <cjson/cJSON.h>

/* ---- Formulas of x, y and distances, as in --size '1+0.1*d(hole)' ---- */

enum { RUN_EXPRESSION_STEPS = 128, RUN_EXPRESSION_NAMES = 8, RUN_EXPRESSION_NAME_BYTES = 80 };

/* A function of one number or of two; the other pointer is NULL. */
typedef struct run_function {
  double (*of_one)(double);
  double (*of_two)(double, double);
} run_function;

/* A step replaces its operands on a stack by its value. */
typedef struct run_expression_step {
  int code;
  double value; /* a number, or the index of a name */
  run_function function;
} run_expression_step;

typedef struct run_expression {
  int count, name_count;
  run_expression_step step[RUN_EXPRESSION_STEPS];
  char name[RUN_EXPRESSION_NAMES][RUN_EXPRESSION_NAME_BYTES]; /* the names in d(NAME) */
} run_expression;

/* Parses numbers, x, y, + - * / ^, parentheses, sqrt exp log sin cos abs min max, d(NAME) and
 * d(X,Y): the distances to a named part and to a point. CVTM_ERROR_USAGE gives the position. */
cvtm_status run_expression_parse(const char *text, run_expression *made, cvtm_error *error);

/* The distance of (x, y) from the part whose name has this index in `name`. */
typedef double (*run_distance)(const void *context, int name, double x, double y);
double run_expression_value(const run_expression *e, double x, double y, run_distance distance,
                            const void *context);

/* ---- Curves ---- */

/* The wanted length on edge e of the boundary at (x, y). */
typedef double (*run_edge_size)(const void *context, int64_t e, double x, double y);

/* Sets mark (per edge) to the segment of `marks` within `slack` of the edge, else -1. Sets
 * is_smooth (per vertex) for the vertices at the listed points (2 * count, sorted here) or, with a
 * tolerance
 * >= 0, for those at which the boundary turns by less than 30 degrees; not where more than two
 * edges meet, or edges of different groups or regions. */
cvtm_status run_outline_find_smooth(const cvtm_boundary *boundary, double *points, int64_t count,
                                    double tolerance, const cvtm_marks *marks, double slack,
                                    int32_t *mark, uint8_t *is_smooth, cvtm_error *error);

/* Divides chains of edges between vertices that are not smooth into parts of about the wanted
 * length, whose ends lie on the chains. tolerance: the largest distance between a chain and its
 * parts; < 0: a tenth of the length of the part. A chain that already has at most that many edges
 * is unchanged. source: malloc'd, per new edge the old edge where it begins. */
cvtm_status run_outline_divide_curves(const cvtm_boundary *boundary, const uint8_t *is_smooth,
                                      double tolerance, run_edge_size size, const void *context,
                                      cvtm_boundary *made, int64_t **source, cvtm_error *error);

/* ---- Periodic outlines, and exact places ---- */

enum { RUN_PERIODS_MOST = 3 };

/* Finds the bounding box: left, upper, right, lower. */
void run_outline_box(const double *points, int64_t count, double sides[4]);

/* Finds sides of the outline that are translated copies, and sets `twin` and `period` of the
 * boundary. Candidates are sides of the convex hull that are equal but opposite. The longest pair
 * is taken first, of equal ones that to the left and right; then one with which copies of the
 * outline do not overlap, and the sum or difference of both. Every translation pairs all edges that
 * it connects. Coordinates may differ by a rounding error, or by two units of the last decimal and
 * an eighth of the edge where that pairs more. If edges cover the same parts of two sides, a corner
 * on only one of them divides an edge of the other. CVTM_ERROR_INPUT if no edges are paired, or
 * only some of a side. */
cvtm_status run_outline_pair(cvtm_outline *outline, cvtm_error *error);

/* Gives vertices of a refined mesh the places of the outline: corners exactly, others at the same
 * fractions of edges and their twins. */
cvtm_status run_outline_place(cvtm_outline *outline, cvtm_error *error);

/* ---- Sizes ---- */

/* The size of one --size. */
typedef struct run_size_rule {
  char name[RUN_EXPRESSION_NAME_BYTES]; /* "": everywhere */
  run_expression formula;
  const char *file;       /* with a field that is the size, instead of the formula; NULL: none */
  run_size_raster raster; /* of the file's field */
  int unit;               /* unit of the number before its conversion; -1: converted */
  int32_t region;         /* > 0: the rule holds only there */
  int is_of_boundary;
  cvtm_size_tree around; /* points of the outline that have this size, which grows from there */
  cvtm_size_tree near[RUN_EXPRESSION_NAMES]; /* points on the parts named by d(NAME) */
} run_size_rule;

typedef struct run_sizes {
  int count;
  run_size_rule *rule;
  int is_everywhere; /* nonzero: a rule has no name */
  double factor;     /* of the sizes without a name, for -n */
  double cap_factor; /* of sizes that follow from areas */
  double base;       /* size without a rule, for -n; INFINITY: none */
  int is_up;         /* nonzero: y of the formulas is -y of the boundary */
  const run_area_caps *caps;
  double *edge_size;  /* per edge of the boundary; NULL: no edge has its own size */
  uint8_t *is_smooth; /* per vertex of the boundary; NULL: none is smooth */
  int32_t *mark;      /* per edge of the boundary: its segment of the graph's marks; -1: none */
  cvtm_marks marks;   /* with is_smooth: the graph's, on the divided boundary */
  double tolerance;   /* of --simplify; -1: the default for curves */
  cvtm_sized_options options;
  cvtm_sized_figures figures;
} run_sizes;

/* Gives the edges of a divided boundary the sizes and the marks of the edges that `source` (as
 * run_outline_divide_curves sets it) names. given: the marks of the undivided boundary; those of
 * points stay. size: malloc'd; NULL: no edge has its own. */
cvtm_status run_outline_carry_over(const cvtm_marks *given, const cvtm_boundary *divided,
                                   const int64_t *source, run_sizes *sizes, double **size,
                                   cvtm_error *error);

/* True if --size or -n asks for edge lengths; not with --metric, --size max or --min-angle. */
int run_sizes_wanted(const cvtm_run_options *options);
/* Reads every --size; fails with CVTM_ERROR_USAGE. */
cvtm_status run_sizes_read(const cvtm_run_options *options, run_sizes *sizes, cvtm_error *error);
void run_sizes_free(run_sizes *sizes);

/* ---- The outline ---- */

struct cvtm_outline {
  cvtm_run_options options;
  cvtm_domain domain;     /* frame of a picture that contains the outline */
  cvtm_polygons polygons; /* of a file with one region */
  cvtm_pslg graph;        /* of several regions; its boundary moves to `boundary` */
  int y_up; /* true: the file has y up, and y here is exactly -y; else the file has y down, too */
  cvtm_boundary boundary;
  run_area_caps caps;
  cvtm_refine_options refine;
  cvtm_refine_figures figures;
  run_sizes sizes; /* of --size */
  run_plot plot;
  cvtm_metric_field metric; /* of --metric */
  cvtm_adapt_figures adapted;
  cvtm_mesh mesh;
  cvtm_regions regions;
  cvtm_second_order second; /* of --element-order 2; else empty */
  cvtm_quality quality;
  double sides[4]; /* of the rectangle around the outline: left, upper, right, lower */
  int period_count, first_period; /* of a periodic outline: how many translations connect sides, and
                                     the number of the first; y down */
  double period[RUN_PERIODS_MOST][2];
  double period_error; /* of coordinates of copies, by their decimals; 0: a rounding error */
  int32_t *origin;     /* per vertex its corner of the outline; -1: none; NULL: not known */
  int is_framed;       /* nonzero: options or a picture gave the domain */
  double seconds;
  run_limit limit; /* of the refinement */
  struct { /* the mesh in the coordinates of drawings, sharing all but the points with `mesh` */
    cvtm_domain domain;
    cvtm_mesh mesh;
    cvtm_cells cells; /* of the domain; empty: not yet made */
  } drawn;
  cvtm_triangle_labels labels; /* of a .poly file; the next arrays */
  double *attribute, *vertex_attribute;
  int32_t *group_marker, *vertex_marker;
  double *placed; /* the vertices in the coordinates of files */
  cvtm_outline_result got;
};

/* Nonzero if the options ask for the mesh of an outline, not of points. */
int run_outline_wanted(const cvtm_run_options *options);

/* True if the outline is an SVG, whose y is down and which may state its size. */
int run_outline_is_svg(const cvtm_run_options *options);

/* The domain for writing files, where y = height - y. The height is 0 if the outline has y up. */
cvtm_domain run_outline_place_domain(const cvtm_outline *outline);

/* The two stages of cvtm_outline_solve. */
cvtm_status run_outline_read(cvtm_outline *outline, cvtm_error *error);
cvtm_status run_outline_mesh(cvtm_outline *outline, cvtm_error *error);

/* Makes `mesh` and `regions` by the sizes. */
cvtm_status run_sizes_mesh(cvtm_outline *outline, cvtm_error *error);
/* With --min-angle and --size: limits the area of each triangle to that of an equilateral triangle
 * whose sides have the size. */
cvtm_status run_sizes_bound_areas(cvtm_outline *outline, cvtm_error *error);
void run_sizes_report(const run_sizes *sizes, cJSON *report);

/* Checks --boundary-name, except for the names of parts; fails with CVTM_ERROR_USAGE. */
cvtm_status run_outline_names_check(const cvtm_run_list *given, cvtm_error *error);

/* True if the mark is of a point. */
static inline int run_mark_is_point(const cvtm_mark *m) {
  return m->from[0] == m->to[0] && m->from[1] == m->to[1];
}

/* True if the part has the name; `hole` also stands for hole-1, hole-2, and so on. */
int run_part_is_named(const char *part, const char *name);

/* cvtm_regions_group_marked with the sides of the rectangle instead of the image's; then gives the
 * names of --boundary-name. markers: NULL, or receives a malloc'd marker per line group: that of
 * the file, else 1 for the boundary and 0 for the inside. */
cvtm_status run_outline_group(const cvtm_outline *outline, const cvtm_mesh *mesh,
                              const double sides[4], cvtm_regions *regions, int32_t **markers,
                              cvtm_error *error);

/* Gives the grouped mesh, whose vertices have the places of the file, groups of named points and
 * the labels of a .poly file. */
cvtm_status run_outline_label(cvtm_outline *outline, cvtm_error *error);

/* A complete run, as by the program `cvtmesh run`: from a picture to sites, their mesh and files.
 * Set the options, then
 *
 *     cvtm_run_create(device, &options, &run, &error);   checks the options
 *     cvtm_run_solve(run, &error);                       reads, places the sites, makes the mesh
 *     cvtm_run_write(run, "dots.svg", NULL, &error);     as often as there are files
 *     cvtm_run_destroy(run);
 *
 * The fields have the names of the program's options (docs/cvtmesh.1), as messages do, too. */
#pragma once

#include "base/api.h"
#include "base/device.h"
#include "base/domain.h"
#include "base/npy.h"
#include "base/status.h"
#include "cvt/cvt.h"
#include "density/condition.h"
#include "density/density.h"
#include "density/pipeline.h"
#include "density/segmentation.h"
#include "density/size_field.h"
#include "meshes/mesh.h"
#include "meshes/mesh_file.h"

#include <stdint.h>

CVTM_API_BEGIN

struct cJSON;

enum { CVTM_RUN_LIST_MAX = 64 };

/* Strings, borrowed. */
typedef struct cvtm_run_list {
  const char *item[CVTM_RUN_LIST_MAX];
  int count;
} cvtm_run_list;

typedef struct cvtm_run_inputs {
  cvtm_input item[CVTM_RUN_LIST_MAX];
  int count;
} cvtm_run_inputs;
typedef struct cvtm_run_weights {
  cvtm_region_weight item[CVTM_RUN_LIST_MAX];
  int count;
} cvtm_run_weights;
typedef struct cvtm_run_region_names {
  cvtm_region_name item[CVTM_RUN_LIST_MAX];
  int count;
} cvtm_run_region_names;
typedef struct cvtm_run_discs {
  cvtm_disc item[CVTM_RUN_LIST_MAX];
  int count;
} cvtm_run_discs;

/* What a drawing shows. */
typedef enum cvtm_svg_kind {
  CVTM_SVG_STIPPLES,
  CVTM_SVG_CELLS,
  CVTM_SVG_MESH,
  CVTM_SVG_PATH,   /* one line through the points; closed with CVTM_RUN_ORDER_TSP */
  CVTM_SVG_TOUCHES /* dots as touches of a pen */
} cvtm_svg_kind;

typedef enum cvtm_run_dots {
  CVTM_RUN_DOTS_AUTO,
  CVTM_RUN_DOTS_EQUAL,
  CVTM_RUN_DOTS_MASS,
  CVTM_RUN_DOTS_TONE
} cvtm_run_dots;
enum {
  CVTM_RUN_EFFORT_PREVIEW = -1
}; /* value of `effort`: low, with limits of time and of sites */
typedef enum cvtm_run_preset { CVTM_RUN_PRESET_NONE, CVTM_RUN_PRESET_PAPER } cvtm_run_preset;
typedef enum cvtm_run_noise { CVTM_RUN_NOISE_HEXAGONAL, CVTM_RUN_NOISE_BLUE } cvtm_run_noise;
typedef enum cvtm_run_tone {
  CVTM_RUN_TONE_AUTO,
  CVTM_RUN_TONE_LINEAR,
  CVTM_RUN_TONE_CHOSEN /* set by the run: flatten, black, white and gamma were chosen */
} cvtm_run_tone;
typedef enum cvtm_run_order {
  CVTM_RUN_ORDER_NONE,
  CVTM_RUN_ORDER_TSP,
  CVTM_RUN_ORDER_PLOT
} cvtm_run_order;
typedef enum cvtm_run_orientation {
  CVTM_RUN_PAGE_AUTO,
  CVTM_RUN_PAGE_PORTRAIT,
  CVTM_RUN_PAGE_LANDSCAPE
} cvtm_run_orientation;
typedef enum cvtm_run_domain_kind {
  CVTM_RUN_DOMAIN_NONE,
  CVTM_RUN_DOMAIN_IMAGE,
  CVTM_RUN_DOMAIN_MASK,
  CVTM_RUN_DOMAIN_POLYGON,
  CVTM_RUN_DOMAIN_LABELS,
  CVTM_RUN_DOMAIN_FRAME
} cvtm_run_domain_kind;

/* Units of lengths: code, name, mm. */
#define CVTM_RUN_LENGTH_LIST(X)   \
  X(CVTM_RUN_UNIT_NM, "nm", 1e-6) \
  X(CVTM_RUN_UNIT_UM, "um", 1e-3) \
  X(CVTM_RUN_UNIT_MM, "mm", 1.0)  \
  X(CVTM_RUN_UNIT_CM, "cm", 10.0) \
  X(CVTM_RUN_UNIT_M, "m", 1000.0) \
  X(CVTM_RUN_UNIT_IN, "in", 25.4) \
  X(CVTM_RUN_UNIT_FT, "ft", 304.8)

/* Units of coordinates: pixels, multiples of the width of the domain, or lengths. */
typedef enum cvtm_run_unit {
  CVTM_RUN_UNIT_NONE = -1, /* a number without a unit */
  CVTM_RUN_UNIT_PIXEL,
  CVTM_RUN_UNIT_WIDTH,
#define CVTM_RUN_UNIT_CODE(code, name, mm) code,
  CVTM_RUN_LENGTH_LIST(CVTM_RUN_UNIT_CODE)
#undef CVTM_RUN_UNIT_CODE
      CVTM_RUN_UNIT_COUNT
} cvtm_run_unit;

/* Numbers with one unit. */
typedef struct cvtm_run_lengths {
  double value[2];
  int count; /* 1 or 2; 0: not given */
  cvtm_run_unit unit;
} cvtm_run_lengths;

/* The largest area of triangles. */
typedef struct cvtm_run_area {
  int32_t region; /* from 1 on; 0: all */
  double area;
  /* Area in squares of this unit; CVTM_RUN_UNIT_NONE: of pixels, or of the outline's unit. */
  cvtm_run_unit unit;
} cvtm_run_area;
typedef struct cvtm_run_areas {
  cvtm_run_area item[CVTM_RUN_LIST_MAX];
  int count;
} cvtm_run_areas;

/* The purpose of a run. Callers of cvtm_run_create make complete runs, CVTM_RUN_ALL; the other
 * commands of the program share parts of a run. */
typedef enum cvtm_run_purpose {
  CVTM_RUN_ALL,
  CVTM_RUN_OUTLINE, /* the mesh of a polygon */
  CVTM_RUN_POINTS,  /* the mesh of points */
  CVTM_RUN_DENSITY,
  CVTM_RUN_SEGMENTATION,
  CVTM_RUN_LABELS,
  CVTM_RUN_VIEW,
  CVTM_RUN_STATS
} cvtm_run_purpose;

/* Presets, previews and automatic choices replace these values unless they are given. A value is
 * given if it differs from the default or its bit is set in `given`. A value that is given but has
 * no effect is refused. Code, bit, name of the option. */
#define CVTM_RUN_GIVEN_LIST(X)                                  \
  X(CVTM_RUN_GIVEN_CHECKPOINT_EVERY, 0, "checkpoint-every")     \
  X(CVTM_RUN_GIVEN_DENSITY_FROM, 1, "density-from")             \
  X(CVTM_RUN_GIVEN_EFFORT, 2, "effort")                         \
  X(CVTM_RUN_GIVEN_GRADIENT_TOLERANCE, 3, "gradient-tolerance") \
  X(CVTM_RUN_GIVEN_ITERATIONS, 4, "iterations")                 \
  X(CVTM_RUN_GIVEN_MASS_TOLERANCE, 5, "mass-tolerance")         \
  X(CVTM_RUN_GIVEN_METHOD, 6, "method")                         \
  X(CVTM_RUN_GIVEN_MIN_ANGLE, 7, "min-angle")                   \
  X(CVTM_RUN_GIVEN_PRESET, 8, "preset")                         \
  X(CVTM_RUN_GIVEN_SVG, 9, "svg")                               \
  X(CVTM_RUN_GIVEN_TIME_LIMIT, 10, "time-limit")                \
  X(CVTM_RUN_GIVEN_TOLERANCE, 11, "tolerance")                  \
  X(CVTM_RUN_GIVEN_WATCH, 12, "watch")                          \
  X(CVTM_RUN_GIVEN_SIMPLIFY, 13, "simplify")                    \
  X(CVTM_RUN_GIVEN_METRIC_RATIO, 14, "metric-ratio")            \
  X(CVTM_RUN_GIVEN_ORDER, 15, "order")

enum {
#define CVTM_RUN_GIVEN_CODE(code, bit, name) code = 1 << (bit),
  CVTM_RUN_GIVEN_LIST(CVTM_RUN_GIVEN_CODE)
#undef CVTM_RUN_GIVEN_CODE
};

typedef struct cvtm_run cvtm_run;

typedef enum cvtm_run_event {
  CVTM_RUN_BEGINS,    /* the optimisation begins */
  CVTM_RUN_ITERATION, /* an iteration has ended */
  CVTM_RUN_ENDS       /* the optimisation has ended; the mesh of a domain is refined afterwards */
} cvtm_run_event;

typedef struct cvtm_run_progress {
  cvtm_run_event event;
  const cvtm_run *run;
  const cvtm_cvt_record *record; /* of the iteration; else NULL */
  int64_t sites;                 /* of the run; records of coarser levels have fewer */
  double bound;                  /* reference energy, relative to which the energy is shown */
  cvtm_status status;            /* of the optimisation, when it ends */
} cvtm_run_progress;

/* Strings and arrays are borrowed; they must outlive the run. A comment ends with the default;
 * where it names none, the default is 0 or NULL. The file of a source may be `-` or in memory
 * (base/file.h); an array is data, or points. */
typedef struct cvtm_run_options {
  cvtm_input input; /* the picture */
  /* Number of sites. 0: as many as the picture needs dots; below 0: as many touches of a pen, or
   * points of a line, as the machine draws in this number of seconds. */
  int64_t points;
  unsigned given; /* bits of CVTM_RUN_GIVEN_LIST */
  cvtm_run_purpose purpose;
  int64_t threads; /* for meshes and drawings; 0: all */

  /* Files to be written; their formats are checked before the run. Without `keep` the run makes
   * only what these files need; with it cvtm_run_write also writes any others. */
  cvtm_run_list output;
  const char *format; /* the extension for the output `-`; csv */
  const char *density_out, *report;
  int keep;        /* keep all that any kind of file needs; 1 */
  int measure;     /* measure the quality of the mesh and the likeness of a drawing; 1 */
  unsigned layers; /* of the picture, as in cvtm_picture_options; 0: the default layers */
  int64_t picture_size;
  int ascii, binary;
  cvtm_msh_version msh_version;
  cvtm_compression compression;
  int64_t element_order; /* of meshes: 1 or 2; 1 */
  cvtm_run_unit unit;

  /* Drawings. */
  cvtm_svg_kind svg;
  cvtm_run_dots dots;
  cvtm_run_lengths dot_size; /* smallest and largest diameter, or one for both; without a unit in mm
                                on a page, else in pixels */
  cvtm_run_lengths pen;      /* width of the pen; one number; units as for dot_size */
  int pen_is_chosen;         /* set by the run: `pen` was not given */
  int is_loose;              /* set by the run: iterations are few, so that touches form no rows */
  int overlap;               /* of dots; 1 */
  int dark;                  /* nonzero: light dots on a dark ground */
  cvtm_run_order order;
  struct {
    int cmyk;
    const char *pens; /* name of a file */
    int64_t palette;  /* number of inks */
    double coupling;  /* weight of the union of all dots; as in cvtm_classes_defaults */
  } colours;
  struct {
    double width, height; /* mm; 0: no page */
    int is_format;        /* nonzero: CVTM_RUN_PAGE_AUTO may turn the page (cvtm_run_page_format) */
    double margin, split; /* mm; margin 10; split 0: the pen needs no refill */
    cvtm_run_orientation orientation;
    int fill; /* nonzero: the picture covers the page. If all outputs are drawings and pictures and
                 no other input is in pixels, the domain of the run is the part on the page. */
    const char *plotter; /* a machine (draw/plotter.h) or a file with a G-code profile; NULL: by the
                            format */
  } page;
  struct {
    cvtm_run_lengths pixel_size; /* one number, or width and height that are equal */
    int from_file;               /* nonzero: take the size of pixels from the picture's file */
    cvtm_run_lengths origin;     /* x and y of the lower left corner; not given: 0 or the file's */
    /* Set by the run. */
    double scale;        /* of a pixel in the unit of files; 0: files are in pixels */
    double left, bottom; /* of the picture in the unit of files, y up */
    double mm;           /* of a pixel; 0: the size has no unit of length */
    const char *unit;    /* of files; NULL: none */
  } world;

  /* Sites. */
  struct { /* set by the run */
    int on;
    int side;      /* pixels of the picture along a pixel of the run; 0: as in the picture */
    int64_t asked; /* number of sites asked for, if the preview has fewer; else 0 */
  } preview;
  cvtm_run_preset preset;
  cvtm_run_noise noise;
  cvtm_cvt_method method; /* the next members as in cvtm_cvt_options */
  cvtm_cvt_energy energy;
  cvtm_voronoi_method voronoi;
  cvtm_cvt_start start;
  cvtm_cvt_effort effort;
  int64_t iterations, seed;
  double tolerance, gradient_tolerance, time_limit;
  int periodic;
  cvtm_input init, fixed; /* points */
  struct {                /* of a frame of a film */
    int on, continues;    /* continues: the frame starts from the sites of the previous frame */
  } follow;
  struct {
    const char *file; /* if it exists, the run continues from it */
    double every;     /* seconds; 600 */
  } checkpoint;
  struct {
    int on;
    double tolerance; /* 1e-6 */
    const char *weights_out;
  } equal_mass;

  /* The density. */
  int invert;
  cvtm_density_from density_from; /* the next members as in cvtm_density_options */
  double gamma, floor, black, white, contrast;
  cvtm_run_tone tone;
  struct {
    cvtm_input from;   /* a mesh with a field, or rows of x, y and value */
    const char *field; /* NULL: the first field */
    cvtm_size_source as;
  } size;
  struct {
    cvtm_condition_options how;
    cvtm_run_inputs within, obstacle; /* regions, as in cvtm_pipeline_options */
    cvtm_run_weights weight;
  } condition;
  struct {
    cvtm_run_discs inside, outside;
    cvtm_segmentation_options how; /* without seeds, which the fields above give; sigma 1 */
  } segment;

  /* The mesh of a domain. */
  struct {
    cvtm_run_domain_kind kind;
    cvtm_input source; /* of a mask, polygons or labels */
    const char *pairs_out;
    cvtm_run_region_names region_names;
    double smooth, smallest, tolerance; /* smallest 1; tolerance 0.3 */
    int sliding;
  } domain;
  struct {
    double min_angle; /* 30 */
    cvtm_run_areas max_area;
  } refine;

  /* The mesh of an outline (run/outline.h). */
  struct {
    cvtm_run_list
        size; /* a number, perhaps with a unit; a formula; `max`; each perhaps after NAME= */
    cvtm_run_list boundary_names; /* PART=NAME */
    double grade, simplify;       /* grade 0: 0.13, with points 0.2 */
    const char *metric;           /* `hessian`, or a file with a picture or a field; NULL: none */
    double metric_ratio;          /* 100 */
    int64_t width, height;        /* of the frame of a drawing; 0: chosen */
  } outline;

  /* Called in the thread of the run. Each may be NULL. */
  void *context;
  int (*progress)(void *context,
                  const cvtm_run_progress *now); /* returns nonzero to stop the run */
  int live;                          /* `progress` copies the sites (as in cvtm_cvt_options) */
  int (*interrupted)(void *context); /* returns nonzero to stop the run */
  void (*segmented)(void *context,
                    const cvtm_segment_progress *step); /* step NULL: all steps are done */
  void (*note)(void *context, const char *text);        /* one line about a file that was read */
  /* Fills the member `options` of the report, an object of cJSON; NULL: the report has no such
   * member. chosen: these options with the chosen values in place of automatic ones. */
  void (*describe)(void *context, const struct cvtm_run_options *chosen, const cvtm_device *device,
                   struct cJSON *member);
  cvtm_inp_elements inp_elements;
  double plot_seconds; /* set by the run: the time given instead of a number of points */
  double flatten;      /* 0: as in the picture, or chosen for a drawing with little ink */
  CVTM_RESERVED(13);
} cvtm_run_options;

void cvtm_run_defaults(cvtm_run_options *options);
/* Finds the size in mm, upright, of a page by its name: A0 to A6, letter, legal, tabloid. Returns 0
 * for another name. */
int cvtm_run_page_format(const char *name, double *width, double *height);

/* The results of a run, borrowed from the run until it is destroyed. Coordinates are in pixels, y
 * down. Results that were not made are 0 or NULL. */
typedef struct cvtm_run_result {
  cvtm_domain domain;
  const float *density; /* height * width */
  const double *points; /* 2 * count */
  int64_t count;
  int64_t fixed;                 /* number of the first sites, which did not move */
  const double *mass, *centroid; /* of the cells: count, 2 * count */
  const double *weights;         /* of cells of equal mass: count */
  const cvtm_mesh *mesh;
  const cvtm_cells *cells;
  const cvtm_regions *regions; /* of the mesh of a domain */
  const cvtm_quality *quality;
  const cvtm_cvt_result *solve;
  double energy, bound; /* of the sites, and of regular hexagons */
  double seconds;       /* from the begin of reading to the last file */
  int converged;        /* 0: a solver did not converge, or angles are below the bound */
  CVTM_RESERVED(16);
} cvtm_run_result;

/* Checks the options against each other, and copies them to a new run. `output` and the other files
 * of the options may be empty. NULL: the defaults, which lack a picture. The device is borrowed
 * until cvtm_run_destroy. CVTM_ERROR_USAGE: options contradict each other, or a file would be
 * written over another one that the run reads or writes. */
cvtm_status cvtm_run_create(cvtm_device *device, const cvtm_run_options *options, cvtm_run **run,
                            cvtm_error *error);
/* Reads the picture, finds the sites and makes the mesh; called once for each run. An interrupted
 * run keeps its best state and succeeds; result->solve->stop then has the reason. Afterwards the
 * device may be used for other work. */
cvtm_status cvtm_run_solve(cvtm_run *run, cvtm_error *error);
/* After cvtm_run_solve: writes a file in the format of its extension; `-` is standard output. path
 * NULL: every file that the options name. options: NULL: those of the run; else a copy of them, in
 * which members for the kind of file are changed, such as svg, dots, page, unit or ascii.
 * CVTM_ERROR_USAGE: a file would be written over another one that the run reads or writes, or
 * options contradict each other. */
cvtm_status cvtm_run_write(cvtm_run *run, const char *path, const cvtm_run_options *options,
                           cvtm_error *error);
/* The report, as the program writes it by --report, with the member `options` if options.describe
 * fills it: JSON text, freed by the caller; NULL if memory runs out. */
char *cvtm_run_report(const cvtm_run *run);
const cvtm_run_result *cvtm_run_get(cvtm_run *run);
/* NULL is allowed. */
void cvtm_run_destroy(cvtm_run *run);

CVTM_API_END

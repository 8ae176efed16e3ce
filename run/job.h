/* The state of a run: run.c has the stages and the input, solve.c the optimisation. */
#pragma once

#include "run/colours.h"
#include "run/condition.h"
#include "run/domain.h"
#include "run/options.h"
#include "run/page.h"
#include "run/checkpoint.h"
#include "run/stages.h"
#include "run/follow.h"
#include "run/stipples.h"
#include "cvt/cvt.h"
#include "cvt/equal_mass.h"
#include "meshes/device_delaunay.h"
#include "meshes/mesh.h"
#include "meshes/second_order.h"

#include <cjson/cJSON.h>

/* --equal-mass of `run`: cells of equal mass, by a power diagram. */

typedef struct run_equal_mass {
  double *weights;    /* of the sites */
  float *drawn;       /* density for pictures; the sites follow its square root */
  double least, most; /* masses of cells, relative to the target */
  double tolerance;
  cvtm_equal_mass_result result;
} run_equal_mass;

/* Checks options that depend on each other. CVTM_ERROR_USAGE names the first contradiction. */
cvtm_status run_equal_mass_check(const cvtm_run_options *options, cvtm_error *error);
void run_equal_mass_free(run_equal_mass *made);
void run_equal_mass_report(const run_equal_mass *made, cJSON *report);

/* `run --noise`: the kind of noise of the sites. */

/* Checks options that depend on each other. CVTM_ERROR_USAGE names the first contradiction. */
cvtm_status run_noise_check(const cvtm_run_options *options, cvtm_error *error);
/* Sets the defaults of options that depend on --noise. */
void run_noise_choose(cvtm_run_options *options);

/* code, name in the report's `seconds` */
#define RUN_PHASE_LIST(X)               \
  X(RUN_PHASE_READ, "read")             \
  X(RUN_PHASE_SAMPLE, "sample")         \
  X(RUN_PHASE_OPTIMIZE, "optimize")     \
  X(RUN_PHASE_EVALUATION, "evaluation") \
  X(RUN_PHASE_MESH, "mesh")             \
  X(RUN_PHASE_WRITE, "write")

typedef enum run_phase {
#define RUN_PHASE_CODE(code, name) code,
  RUN_PHASE_LIST(RUN_PHASE_CODE)
#undef RUN_PHASE_CODE
      RUN_PHASE_COUNT
} run_phase;

extern const char *const run_phase_names[];

struct cvtm_run {
  cvtm_run_options options; /* with the chosen values in place of automatic ones */
  cvtm_device *device;      /* borrowed; NULL before run_plan */
  cvtm_domain domain;
  float *density; /* width * height; borrowed from `made`; with several ranks on rank 0 alone */
  const float *on_device; /* the density in the device's memory, borrowed; NULL: not there */
  cvtm_pipeline_result made;
  float *tone;   /* ink wanted in each pixel; NULL for data, and without an SVG of dots */
  double *sites; /* 2 * count; first the fixed sites, then those of --init, then samples */
  int64_t count, fixed;
  int64_t given;        /* number of fixed sites and sites of --init */
  run_film_frame frame; /* of a film: its `id` is owned */
  int reduced;          /* side of the squares that a preview averaged, in pixels; 0: none */
  int64_t moved;        /* number of sites moved out of obstacles at the end */
  double bound;         /* reference energy: that of regular hexagons */
  cvtm_cvt *cvt;
  cvtm_cvt_result result;
  run_equal_mass equal; /* of --equal-mass; else empty */
  double noise_energy;  /* with --noise blue: cvtm_gaussian_noise divided by the number of sites */
  const char *stop_reason;
  double energy, energy_pixel; /* of the final sites; energy_pixel by the pixel energy */
  double *mass, *centroid;     /* of the cells; count, 2 * count */
  cvtm_mesh mesh;
  cvtm_delaunay_report triangulation; /* seconds are 0 if the mesh is made in another way */
  cvtm_cells cells;
  cvtm_quality quality;
  run_stipples stipples;
  run_colours colours;      /* of a drawing in several colours; else empty */
  run_dot_count dots;       /* if the number of sites was found from the picture */
  run_domain shape;         /* of --domain; else empty */
  cvtm_second_order second; /* of --element-order 2; else empty */
  run_plot plot;
  run_point_order order;           /* of --order; else empty */
  run_history history;             /* of cvtm_cvt_record */
  run_checkpoint checkpoint;       /* of --checkpoint */
  double seconds[RUN_PHASE_COUNT]; /* spent in each phase */
  double start, phase_start;       /* by cvtm_clock */
  double solve_start;              /* from which --time-limit counts */
  cvtm_run_result got;             /* what cvtm_run_get returns */
};

/* Makes the plan of the descent, unless there is one. */
cvtm_status run_make_plan(cvtm_run *r);
/* Samples the sites that were not given, minimises the energy and moves sites out of obstacles. */
cvtm_status run_optimize(cvtm_run *r);
/* With --domain: refines the mesh of the sites, whose number may change. */
cvtm_status run_refine(cvtm_run *r);
/* Computes energies, masses and centroids. */
cvtm_status run_evaluate_result(cvtm_run *r);
/* Makes the report, which the caller deletes. */
cJSON *run_report_make(const cvtm_run *r);

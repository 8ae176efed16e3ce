/* The state of one run and its parts, shared by the files run*.c: run.c has the stages and what is
 * read, run_solve.c the optimisation, run_report.c the report and the summary. */
#ifndef CVTMESH_CLI_RUN_JOB_H
#define CVTMESH_CLI_RUN_JOB_H

#include "cli/cli.h"
#include "cli/colours.h"
#include "cli/condition.h"
#include "cli/domain.h"
#include "cli/options.h"
#include "cli/page.h"
#include "cli/processes.h"
#include "cli/run.h"
#include "cli/stipples.h"
#include "cvt/cvt.h"
#include "cvt/equal_mass.h"
#include "meshes/device_delaunay.h"
#include "meshes/mesh.h"
#include "meshes/second_order.h"

#include <cjson/cJSON.h>

/* --equal-mass of `run`: cells of equal mass, by a power diagram. */

typedef struct cli_equal_mass {
  double *weights;    /* of the sites */
  float *drawn;       /* density for pictures, whose square root the sites follow */
  double least, most; /* masses of cells, relative to the target */
  double tolerance;
  cvtm_equal_mass_result result;
} cli_equal_mass;

/* Checks options that depend on one another. Returns CLI_EXIT_OK, or CLI_EXIT_USAGE after a
 * message. */
int cli_equal_mass_check(const cli_options *options);
void cli_equal_mass_free(cli_equal_mass *made);
void cli_equal_mass_report(const cli_equal_mass *made, cJSON *report);
void cli_equal_mass_print_summary(const cli_equal_mass *made);

/* `run --noise`: what kind of noise the sites shall be. */

/* Checks options that depend on one another. Returns CLI_EXIT_OK, or CLI_EXIT_USAGE after a
 * message. */
int cli_noise_check(const cli_options *options);
/* Sets the defaults of options that depend on --noise. */
void cli_noise_choose(cli_options *options);

/* code, name in the report's `seconds` */
#define CLI_RUN_PHASE_LIST(X)               \
  X(CLI_RUN_PHASE_READ, "read")             \
  X(CLI_RUN_PHASE_SAMPLE, "sample")         \
  X(CLI_RUN_PHASE_OPTIMIZE, "optimize")     \
  X(CLI_RUN_PHASE_EVALUATION, "evaluation") \
  X(CLI_RUN_PHASE_MESH, "mesh")             \
  X(CLI_RUN_PHASE_WRITE, "write")

typedef enum cli_run_phase {
#define CLI_RUN_PHASE_CODE(code, name) code,
  CLI_RUN_PHASE_LIST(CLI_RUN_PHASE_CODE)
#undef CLI_RUN_PHASE_CODE
      CLI_RUN_PHASE_COUNT
} cli_run_phase;

struct cli_run_job {
  cli_options options; /* with the chosen values in place of automatic ones */
  cvtm_device *device; /* borrowed; NULL until cli_run_solve */
  cvtm_domain domain;
  float *density;         /* width * height; borrowed from `made`; of several ranks on rank 0 */
  const float *on_device; /* the same in the device's memory, borrowed; NULL: not there */
  cvtm_pipeline_result made;
  float *tone;   /* ink wanted in each pixel; NULL without an SVG of dots, or of data */
  int keep_tone; /* make `tone` in any case */
  double *sites; /* 2 * count; first the fixed sites, then those of --init, then samples */
  int64_t count, fixed;
  int64_t given; /* fixed sites and those of --init */
  int64_t moved; /* sites moved out of obstacles at the end */
  double bound;  /* of the energy, from below */
  cvtm_cvt *cvt;
  cvtm_cvt_result result;
  cli_equal_mass equal; /* of --equal-mass; else empty */
  double noise_energy;  /* with --noise blue: of cvtm_gaussian_noise, for each site */
  const char *stop_reason;
  double energy, energy_pixel; /* of the final sites; energy_pixel with --energy pixel alone */
  double *mass, *centroid;     /* of the cells; count, 2 * count */
  cvtm_mesh mesh;
  cvtm_delaunay_report triangulation; /* seconds are 0 if the mesh is made in another way */
  cvtm_cells cells;
  cvtm_quality quality;
  cli_stipples stipples;
  cli_colours colours;      /* of a drawing in several colours; else empty */
  cli_dot_count dots;       /* if the number of sites was found from the picture */
  cli_domain shape;         /* of --domain; else empty */
  cvtm_second_order second; /* of --element-order 2; else empty */
  cli_point_order order;    /* of --order; else empty */
  cli_progress progress;
  cli_checkpoint checkpoint;           /* of --checkpoint */
  cli_watch *watch;                    /* NULL without --watch */
  double seconds[CLI_RUN_PHASE_COUNT]; /* spent in each phase */
  double start, phase_start;           /* by cvtm_clock */
  double solve_start;                  /* from which --time-limit is counted */
};

/* Samples the sites that were not given, then minimises the energy. */
cvtm_status cli_run_optimize(cli_run_job *r);
/* With --domain: refines the mesh of the sites, whose number may change. */
cvtm_status cli_run_refine(cli_run_job *r);
/* Moves sites out of obstacles, then computes energies, masses and centroids. */
cvtm_status cli_run_evaluate_result(cli_run_job *r);
cvtm_status cli_run_write_report(const cli_run_job *r, cvtm_error *error);
/* The report as text, to be freed by cJSON_free; NULL without memory. */
char *cli_run_report_text(const cli_run_job *r);
/* The page of --watch. */
cvtm_status cli_run_write_watch_page(const cli_run_job *r, cvtm_error *error);

#endif

#include "cli/option_table.h"

#include "cvt/classes.h"
#include "density/condition.h"
#include "density/density.h"
#include "density/segmentation.h"
#include "lcp/hlcp.h"
#include "lcp/lcp.h"
#include "meshes/mesh_file.h"

#include <string.h>

/* By default `minimize` stops only where the decrease of the objective is rounding. */
static void set_minimize_defaults(cli_options *options) {
  cvtm_lbfgsb_options lbfgsb;
  cvtm_lbfgsb_defaults(&lbfgsb);
  options->iterations = 20000;
  options->tolerance = lbfgsb.decrease_tolerance;
  options->gradient_tolerance = lbfgsb.gradient_tolerance;
  options->minimize.memory = lbfgsb.history;
  options->minimize.cauchy = (int)lbfgsb.cauchy;
  options->minimize.dimension = 2;
}

static void set_hlcp_defaults(cli_options *options) {
  cvtm_hlcp_options hlcp;
  cvtm_hlcp_defaults(&hlcp);
  options->iterations = hlcp.max_iterations;
  options->tolerance = hlcp.tolerance;
  options->hlcp.method = (int)hlcp.method;
  options->hlcp.alpha = hlcp.alpha;
  options->hlcp.beta = hlcp.beta;
  options->hlcp.gamma = hlcp.gamma;
  options->hlcp.start = hlcp.start;
  options->hlcp.size = 256;
}

static void set_lcp_defaults(cli_options *options) {
  cvtm_lcp_options lcp;
  cvtm_lcp_defaults(&lcp);
  options->tolerance = lcp.tolerance;
  options->iterations = lcp.max_iterations;
  options->lcp.size = 255;
  options->lcp.omega = lcp.omega;
  options->lcp.nested = lcp.nested;
}

static void set_condition_defaults(cli_options *options) {
  cvtm_condition_options condition;
  cvtm_condition_defaults(&condition);
  cvtm_segmentation_options segmentation;
  cvtm_segmentation_defaults(&segmentation);
  const cvtm_segment_options segment = segmentation.segment;
  options->condition.bias = condition.bias;
  options->segment.initial = "grow";
  options->segment.sigma = 1;
  options->segment.k = segment.k;
  options->segment.epsilon = segment.epsilon;
  options->segment.seed_value = segmentation.seed_value;
  options->segment.tau = segment.tau;
  options->segment.steps = segment.max_steps;
  options->segment.tolerance = segment.tolerance;
}

void cli_options_set_defaults(cli_command command, cli_options *options) {
  memset(options, 0, sizeof *options);
  cvtm_cvt_options cvt;
  cvtm_cvt_defaults(&cvt);
  cvtm_density_options density;
  cvtm_density_defaults(&density);
  cvtm_classes_options classes;
  cvtm_classes_defaults(&classes);
  options->command = command;
  options->format = command == CLI_RUN || command == CLI_BATCH || command == CLI_VIEW ? "csv"
                    : command == CLI_MESH                                             ? "obj"
                                                                                      : "npy";
  options->overlap = 1;
  options->colours.coupling = classes.union_weight;
  options->element_order = 1;
  options->svg = command == CLI_MESH ? CVTM_SVG_MESH : CVTM_SVG_STIPPLES;
  options->page.margin = 10;
  options->page.gcode = "grbl-servo";
  options->method = (int)cvt.method;
  options->energy = (int)cvt.energy;
  options->voronoi = (int)CVTM_VORONOI_EXACT;
  options->start = (int)cvt.start;
  options->effort = (int)cvt.effort;
  options->iterations = cvt.max_iterations;
  options->tolerance = cvt.tolerance;
  options->gradient_tolerance = cvt.gradient_tolerance;
  options->time_limit = cvt.max_seconds;
  options->checkpoint.every = 600;
  options->seed = 1;
  options->density_from = (int)density.from;
  options->gamma = density.gamma;
  options->floor = density.floor;
  options->black = density.black;
  options->white = density.white;
  options->contrast = density.contrast;
  options->equal_mass.tolerance = 1e-6;
  options->domain.smallest = 1;
  options->domain.tolerance = 0.3;
  options->refine.min_angle = 30;
  options->metric.ratio = 100;
  options->device = "auto";
  set_condition_defaults(options);
  options->view.save = "cvtmesh-view";
  options->view.every = 10;
  if (command == CLI_VIEW) options->iterations = 1000000;
  if (command == CLI_MINIMIZE) set_minimize_defaults(options);
  if (command == CLI_HLCP) set_hlcp_defaults(options);
  if (command == CLI_LCP) set_lcp_defaults(options);
}

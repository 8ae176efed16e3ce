/* The runs of run_lines.py by the library, as a program of a user would make them.
 * usage: run_lines NAME; the files are those of the working directory. */
#include "cvt/cvt.h"
#include "draw/picture.h"
#include "run/run.h"

#include <stdio.h>
#include <string.h>

typedef cvtm_run_options options;

static void add(options *o, const char *file) { o->output.item[o->output.count++] = file; }

static void plain(options *o) {
  o->input.name = "camera.png";
  o->points = 400;
  o->iterations = 20;
  add(o, "a.svg");
  add(o, "a.msh");
  add(o, "a.csv");
  add(o, "a.png");
}

static void domain(options *o) {
  o->input.name = "horse.png";
  o->points = 700;
  o->domain.kind = CVTM_RUN_DOMAIN_IMAGE;
  o->domain.region_names = (cvtm_run_region_names){{{1, "horse"}}, 1};
  o->refine.max_area = (cvtm_run_areas){{{0, 90, CVTM_RUN_UNIT_NONE}}, 1};
  o->refine.min_angle = 32;
  o->element_order = 2;
  o->ascii = 1;
  o->msh_version = CVTM_MSH_2_2;
  add(o, "a.msh");
  add(o, "a.vtu");
}

static void labels(options *o) {
  o->points = 300;
  o->domain.kind = CVTM_RUN_DOMAIN_LABELS;
  o->domain.source.name = "labels.npy";
  o->domain.smooth = 1;
  o->domain.sliding = 1;
  o->refine.max_area = (cvtm_run_areas){{{1, 40, CVTM_RUN_UNIT_NONE}}, 1};
  o->unit = CVTM_RUN_UNIT_WIDTH;
  o->svg = CVTM_SVG_MESH;
  add(o, "a.msh");
  add(o, "a.obj");
  add(o, "a.svg");
}

static void periodic(options *o) {
  o->points = 300;
  o->domain.kind = CVTM_RUN_DOMAIN_POLYGON;
  o->domain.source.name = "shape.geojson";
  o->domain.pairs_out = "p.npy";
  o->domain.tolerance = 0.5;
  o->periodic = 1;
  add(o, "a.vtk");
  add(o, "a.inp");
}

static void torus(options *o) {
  o->periodic = 1;
  o->init.name = "points.csv";
  o->fixed.name = "fixed.csv";
  o->preset = CVTM_RUN_PRESET_PAPER;
  o->seed = 3;
  add(o, "a.ply");
  add(o, "a.npy");
}

static void inks(options *o) {
  o->input.name = "coins.png";
  o->points = 600;
  o->colours.cmyk = 1;
  o->dot_size = (cvtm_run_lengths){{1, 3}, 2, CVTM_RUN_UNIT_NONE};
  add(o, "a.svg");
  add(o, "a.png");
  add(o, "a.csv");
}

static void page(options *o) {
  o->input.name = "camera.png";
  o->iterations = 5;
  o->page.is_format = cvtm_run_page_format("A6", &o->page.width, &o->page.height);
  o->page.margin = 7.5;
  o->page.orientation = CVTM_RUN_PAGE_LANDSCAPE;
  o->page.plotter = "grbl-z";
  o->dot_size = (cvtm_run_lengths){{0.9, 1.8}, 2, CVTM_RUN_UNIT_MM};
  o->dots = CVTM_RUN_DOTS_TONE;
  o->order = CVTM_RUN_ORDER_PLOT;
  add(o, "a.svg");
  add(o, "a.plt");
  add(o, "a.nc");
}

static void path(options *o) {
  o->input.name = "horse.png";
  o->points = 300;
  o->order = CVTM_RUN_ORDER_TSP;
  o->svg = CVTM_SVG_PATH;
  o->page.width = 120;
  o->page.height = 90;
  o->page.fill = 1;
  o->page.split = 300;
  o->black = 0.1;
  o->white = 0.9;
  o->contrast = 1.3;
  o->gamma = 1.2;
  add(o, "a.svg");
  add(o, "a.dxf");
}

static void equal_mass(options *o) {
  o->points = 200;
  o->equal_mass.on = 1;
  o->equal_mass.tolerance = 1e-5;
  o->equal_mass.weights_out = "w.npy";
  add(o, "a.npy");
  add(o, "a.off");
}

static void noise(options *o) {
  o->input.name = "camera.png";
  o->points = 500;
  o->iterations = 20;
  o->noise = CVTM_RUN_NOISE_BLUE;
  o->invert = 1;
  o->seed = 7;
  add(o, "a.csv");
  add(o, "a.svg");
}

static void world(options *o) {
  o->points = 200;
  o->domain.kind = CVTM_RUN_DOMAIN_FRAME;
  o->world.pixel_size = (cvtm_run_lengths){{0.65}, 1, CVTM_RUN_UNIT_UM};
  o->world.origin = (cvtm_run_lengths){{2, 3.5}, 2, CVTM_RUN_UNIT_NONE};
  o->unit = CVTM_RUN_UNIT_MM;
  o->refine.max_area = (cvtm_run_areas){{{0, 20, CVTM_RUN_UNIT_UM}}, 1};
  add(o, "a.msh");
  add(o, "a.csv");
  add(o, "a.xyz");
}

static void density(options *o) {
  o->points = 200;
  o->condition.within = (cvtm_run_inputs){{{"shape.geojson", NULL}}, 1};
  o->condition.obstacle = (cvtm_run_inputs){{{"left.npy", NULL}}, 1};
  o->condition.weight =
      (cvtm_run_weights){{{{"left.npy", NULL}, 2.5}, {{"shape.geojson", NULL}, 0.5}}, 2};
  o->condition.how.smooth = 4;
  o->condition.how.bias = 0.3;
  o->condition.how.grade = 2;
  o->condition.how.grade_max = 50;
  o->condition.how.grade_size = 0.4;
  o->floor = 0.01;
  o->density_out = "d.npy";
  add(o, "a.csv");
}

static void sizes(options *o) {
  o->size.from.name = "sizes.npy";
  o->size.as = CVTM_SIZE_GIVEN;
  o->effort = CVTM_CVT_EFFORT_HIGH;
  add(o, "a.off");
  add(o, "a.stl");
}

static void checkpoint(options *o) {
  cvtm_cvt_options defaults;
  cvtm_cvt_defaults(&defaults);
  o->input.name = "camera.png";
  o->iterations = defaults.max_iterations;
  o->points = 300;
  o->effort = CVTM_CVT_EFFORT_LOW;
  o->gradient_tolerance = 0.05;
  o->tolerance = 0;
  o->checkpoint.file = "c.bin";
  o->checkpoint.every = 0;
  o->picture_size = 300;
  o->layers = CVTM_PICTURE_CELLS | CVTM_PICTURE_SITES;
  add(o, "a.png");
}

static const struct {
  const char *name;
  void (*set)(options *o);
} lines[] = {{"plain", plain},
             {"domain", domain},
             {"labels", labels},
             {"periodic", periodic},
             {"torus", torus},
             {"inks", inks},
             {"page", page},
             {"path", path},
             {"equal mass", equal_mass},
             {"noise", noise},
             {"world", world},
             {"density", density},
             {"sizes", sizes},
             {"checkpoint", checkpoint}};

int main(int argc, char **argv) {
  cvtm_error error = {CVTM_OK, "there is no such line"};
  cvtm_device *device = NULL;
  cvtm_run *run = NULL;
  options o;
  int failed = 1;
  cvtm_run_defaults(&o);
  o.input.name = "density.npy";
  o.iterations = 9;
  o.report = "r.json";
  for (size_t k = 0; argc > 1 && k < sizeof lines / sizeof lines[0]; ++k) {
    if (strcmp(lines[k].name, argv[1]) != 0) continue;
    lines[k].set(&o);
    failed = cvtm_device_create("cpu", 0, &device, &error) ||
             cvtm_run_create(device, &o, &run, &error) || cvtm_run_solve(run, &error) ||
             cvtm_run_write(run, NULL, NULL, &error);
  }
  if (failed) fprintf(stderr, "%s\n", error.message);
  cvtm_run_destroy(run);
  cvtm_device_destroy(device);
  return failed;
}

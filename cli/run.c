/* cvtmesh run: density image -> centroidal Voronoi tessellation -> files. */
#include "cli/run.h"

#include "base/clock.h"
#include "base/npy.h"
#include "base/ranks.h"
#include "cli/cli.h"
#include "cli/condition.h"
#include "cli/domain.h"
#include "cli/files.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/page.h"
#include "cli/processes.h"
#include "cli/run_job.h"
#include "meshes/mesh_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- presets and previews ------------------------------------------------------------------- */

enum { PREVIEW_SITES = 20000 };
static const double preview_seconds = 2; /* of the descent */

/* In a preview: no more sites than it has time for. */
static void cli_preview_limit(cli_options *o) {
  if (!o->preview.on || o->points <= PREVIEW_SITES) return;
  o->preview.asked = o->points;
  o->points = PREVIEW_SITES;
}

void cli_preview_print(const cli_options *o) {
  if (!o->preview.on) return;
  fprintf(stderr, "  preview    ");
  if (o->preview.asked > 0)
    fprintf(stderr, "%d of %lld sites; ", PREVIEW_SITES, (long long)o->preview.asked);
  fprintf(stderr, "at most %g %s of descent; another --effort is better\n", o->time_limit,
          o->time_limit == 1 ? "second" : "seconds");
}

static void apply_preview(cli_options *o) {
  if (o->effort == CLI_EFFORT_PREVIEW) {
    o->preview.on = 1;
    o->effort = CVTM_CVT_EFFORT_LOW;
  }
  if (!o->preview.on) return;
  if (!cli_option_given(o, "time-limit")) o->time_limit = preview_seconds;
  cli_preview_limit(o);
}

void cli_preset_apply(cli_options *o) {
  apply_preview(o);
  if (o->preset != CLI_PRESET_PAPER) return;
  o->energy = CVTM_CVT_PIXEL;
  o->voronoi = CVTM_VORONOI_JFA;
  o->start = CVTM_CVT_START_RANDOM;
  if (!cli_option_given(o, "effort")) o->effort = CVTM_CVT_EFFORT_LOW;
  if (!cli_option_given(o, "tolerance")) o->tolerance = 0;
}

void cli_preset_descent(const cli_options *options, cvtm_cvt_options *settings) {
  if (options->preset != CLI_PRESET_PAPER) return;
  settings->history = 8;
  settings->lloyd_steps = 0;
}

/* --- what a run reads: image, density, domain, given sites ---------------------------------- */

/* Copies the vertices on the boundary of --domain; *fixed is malloc'd. */
static cvtm_status copy_boundary(const cli_run_job *r, double **fixed, int64_t *count,
                                 cvtm_error *error) {
  const size_t bytes = 2 * (size_t)r->shape.boundary.vertex_count * sizeof **fixed;
  *fixed = malloc(bytes);
  if (*fixed == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for the boundary");
  memcpy(*fixed, r->shape.boundary.points, bytes);
  *count = r->shape.boundary.vertex_count;
  return CVTM_OK;
}

static cvtm_status read_sites(const cli_run_job *r, const char *path, double **sites,
                              int64_t *count, cvtm_error *error) {
  const cvtm_status status = cvtm_points_read(path, sites, count, error);
  if (status != CVTM_OK) return status;
  return cli_require_inside(path, *sites, *count, r->domain, error);
}

/* Allocates r->count sites: first the r->fixed fixed ones, then those of --init. */
static int set_sites(cli_run_job *r, const double *fixed, const double *init, int64_t init_count) {
  const size_t pair = 2 * sizeof *r->sites;
  r->sites = malloc((size_t)r->count * pair);
  if (r->sites == NULL) {
    cvtm_error error;
    cvtm_fail(&error, CVTM_ERROR_MEMORY, "out of memory for %lld sites", (long long)r->count);
    return cli_failed(CLI_WORKING, error.status, &error);
  }
  if (r->fixed > 0) memcpy(r->sites, fixed, (size_t)r->fixed * pair);
  if (init_count > 0) memcpy(r->sites + 2 * r->fixed, init, (size_t)init_count * pair);
  r->given = r->fixed + init_count;
  return CLI_EXIT_OK;
}

/* Allocates all sites and sets the given ones. Returns as cli_run_read_density. */
static int cli_run_place_given_sites(cli_run_job *r) {
  cli_options *options = &r->options;
  cvtm_error error = {CVTM_OK, ""};
  double *fixed = NULL, *init = NULL;
  int64_t init_count = 0;
  cvtm_status status = CVTM_OK;
  int code = CLI_EXIT_OK;
  if (options->fixed != NULL) status = read_sites(r, options->fixed, &fixed, &r->fixed, &error);
  if (options->domain.kind != CLI_DOMAIN_NONE) status = copy_boundary(r, &fixed, &r->fixed, &error);
  if (status == CVTM_OK && options->init != NULL)
    status = read_sites(r, options->init, &init, &init_count, &error);
  r->count = options->points > 0 ? options->points : r->fixed + init_count;
  if (status != CVTM_OK) {
    code = cli_failed(CLI_READING, status, &error);
  } else if (r->count > CVTM_DELAUNAY_MOST) {
    code = cli_usage_error(CLI_RUN, "%lld sites: a triangulation has at most %d",
                           (long long)r->count, CVTM_DELAUNAY_MOST);
  } else if (r->fixed > r->count) {
    code = cli_usage_error(CLI_RUN, "%s: %lld fixed sites are more than the %lld of --points",
                           options->fixed, (long long)r->fixed, (long long)r->count);
  } else if (init_count > 0 && r->fixed + init_count != r->count) {
    code = cli_usage_error(CLI_RUN,
                           "%s: %lld sites, fixed ones included, are not the %lld of --points",
                           options->init, (long long)(r->fixed + init_count), (long long)r->count);
  } else {
    code = set_sites(r, fixed, init, init_count);
  }
  free(fixed);
  free(init);
  return code;
}

/* For --density-from size: as many sites as hexagons of the wanted sizes fill the domain. A hexagon
 * of size s, the distance between centres of neighbours, has the area sqrt(3)/2 s^2. */
static cvtm_status count_by_size(cli_run_job *r, cvtm_error *error) {
  const double most = 1e9;
  const int64_t pixels = (int64_t)r->domain.width * r->domain.height;
  double sites = 0; /* rho = s^-4; s^-2 with --equal-mass */
  for (int64_t p = 0; p < pixels; ++p) {
    const double rho = (double)r->made.density[p];
    sites += 2 / sqrt(3.0) * (r->options.equal_mass.on ? rho : sqrt(rho));
  }
  if (sites > most)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: the sizes ask for %.3g sites; at most %g",
                     r->options.input, sites, most);
  r->options.points = (int64_t)fmax(round(sites), 1);
  cli_preview_limit(&r->options);
  return CVTM_OK;
}

/* True if the number of sites is that of the dots that the picture needs. */
static int count_by_dots(const cli_options *o) {
  return o->points == 0 && o->init == NULL && (o->dot_size != NULL || o->fixed == NULL) &&
         o->density_from != CVTM_DENSITY_FROM_SIZE && o->domain.kind == CLI_DOMAIN_NONE;
}

/* Chooses the dots, and their number if it is not given. */
static cvtm_status choose_dots(cli_run_job *r, cvtm_error *error) {
  cli_options *o = &r->options;
  const double most = 1e9;
  if (o->dots == CLI_DOTS_TONE && o->density_from != CVTM_DENSITY_FROM_TONE)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: --dots tone needs the density of a tone",
                     o->input);
  if (!count_by_dots(o)) return CVTM_OK;
  if (r->tone == NULL)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: data has no tone; --points is missing",
                     o->input);
  const cvtm_status status = cli_stipples_count(o, r->domain, r->tone, &r->dots, error);
  if (status != CVTM_OK) return status;
  if (r->dots.count > most)
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "%s: the ink needs %.3g dots of --dot-size; at most %g", o->input,
                     r->dots.count, most);
  o->points = (int64_t)r->dots.count;
  cli_preview_limit(o);
  return CVTM_OK;
}

/* Chooses the dots, and leaves out the ink where no sites may be. */
static void finish_tone(cli_run_job *r) {
  const size_t pixels = (size_t)r->domain.width * (size_t)r->domain.height;
  if (r->options.dots == CLI_DOTS_AUTO)
    r->options.dots =
        r->tone != NULL || cli_colours_wanted(&r->options) ? CLI_DOTS_MASS : CLI_DOTS_EQUAL;
  for (size_t p = 0; p < pixels && r->tone != NULL; ++p)
    if (!(r->made.density[p] > 0)) r->tone[p] = 0;
}

/* Chooses pens and the number of dots of each; no ink where no sites may be. */
static cvtm_status choose_colours(cli_run_job *r, float *rgb, cvtm_error *error) {
  const size_t pixels = (size_t)r->domain.width * (size_t)r->domain.height;
  for (size_t p = 0; p < pixels; ++p)
    if (!(r->density[p] > 0)) rgb[p] = rgb[pixels + p] = rgb[2 * pixels + p] = 1;
  return cli_colours_read(&r->options, r->domain, rgb, &r->colours, &r->dots, error);
}

/* What all ranks must know of what rank 0 has read: its density is brought to their devices by
 * cvtm_cvt_create_borrowed. */
static cvtm_status share_reading(cli_run_job *r, cvtm_device *device) {
  const int64_t resumed = r->checkpoint.resumed != NULL;
  int64_t facts[] = {r->domain.width, r->domain.height, r->options.points, resumed};
  const cvtm_status status = cvtm_ranks_broadcast(device, facts, sizeof facts);
  if (status == CVTM_OK && facts[3] != resumed)
    return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_INPUT,
                     "%s: some ranks have this checkpoint and others not", r->checkpoint.path);
  r->domain = (cvtm_domain){(int32_t)facts[0], (int32_t)facts[1], r->options.periodic};
  r->options.points = facts[2];
  return status;
}

static int read_density(cli_run_job *r, cvtm_device *device) {
  cvtm_error error = {CVTM_OK, ""};
  const int tone = r->keep_tone || cli_stipples_wanted(&r->options) || count_by_dots(&r->options);
  const int in_colours = cli_colours_wanted(&r->options);
  float *rgb = NULL;
  cvtm_status status =
      cli_read_conditioned(device, r->options.input, &r->options, &r->made, tone ? &r->tone : NULL,
                           in_colours ? &rgb : NULL, &error);
  r->domain = (cvtm_domain){r->made.width, r->made.height, r->options.periodic};
  const int by_size = r->options.density_from == CVTM_DENSITY_FROM_SIZE && r->options.points == 0 &&
                      r->options.init == NULL;
  if (status == CVTM_OK && r->options.domain.kind != CLI_DOMAIN_NONE) {
    status = cli_domain_read(&r->options, r->domain, r->made.density, &r->shape, &error);
    r->domain.periodic = 0; /* the sites of both sides are there: cells end at the sides */
    if (status == CVTM_OK) r->options.points = r->shape.figures.sites;
  } else if (status == CVTM_OK && by_size) {
    status = count_by_size(r, &error);
  }
  r->density = r->made.density;
  if (status == CVTM_OK) finish_tone(r);
  if (status == CVTM_OK)
    status = in_colours ? choose_colours(r, rgb, &error) : choose_dots(r, &error);
  if (r->colours.rgb != rgb) free(rgb);
  if (status != CVTM_OK) return cli_failed(CLI_READING, status, &error);
  return CLI_EXIT_OK;
}

/* Reads image, density and domain, of several ranks on rank 0. Returns CLI_EXIT_OK, or an exit code
 * after a message. */
static int cli_run_read_density(cli_run_job *r, cvtm_device *device) {
  if (device == NULL || cvtm_device_ranks(device) == NULL) return read_density(r, device);
  const int code = cvtm_ranks_lead(device) ? read_density(r, device) : CLI_EXIT_OK;
  if (code != CLI_EXIT_OK) return code;
  const cvtm_status status = share_reading(r, device);
  return status == CVTM_OK ? code : cli_failed(CLI_WORKING, status, cvtm_device_error(device));
}

/* --- the stages ----------------------------------------------------------------------------- */

int cli_run_check_values(const cli_options *options) {
  if (options->points == 0 && options->init == NULL && options->fixed == NULL &&
      options->density_from != CVTM_DENSITY_FROM_SIZE && options->domain.kind != CLI_DOMAIN_NONE)
    return cli_missing(options->command, "--points");
  static int (*const checks[])(const cli_options *) = {
      cli_watch_check,       cli_condition_check,    cli_size_from_check, cli_region_names_check,
      cli_domain_check,      cli_equal_mass_check,   cli_noise_check,     cli_checkpoint_check,
      cli_distributed_check, cli_stipples_check,     cli_colours_check,   cli_order_check,
      cli_page_check,        cli_outputs_check_names};
  int code = CLI_EXIT_OK;
  for (size_t k = 0; code == CLI_EXIT_OK && k < sizeof checks / sizeof checks[0]; ++k)
    code = checks[k](options);
  return code;
}

int cli_run_check(const cli_options *options) {
  const int code = cli_run_check_values(options);
  if (code != CLI_EXIT_OK) return code;
  if (options->output.count == 0 && options->density_out == NULL && options->report == NULL &&
      options->view.watch == NULL)
    return cli_missing(options->command, "--output");
  return CLI_EXIT_OK;
}

static void start_phase(cli_run_job *r) { r->phase_start = cvtm_clock(); }

static void end_phase(cli_run_job *r, cli_run_phase phase) {
  double now = cvtm_clock();
  r->seconds[phase] += now - r->phase_start;
  r->phase_start = now;
}

/* A job that keeps the ink of its picture may be asked for any output later. */
static int needs_cells(const cli_run_job *r) {
  return r->keep_tone || r->colours.count > 0 || cli_outputs_draw(&r->options);
}

static int needs_quality(const cli_run_job *r) {
  return r->keep_tone || !r->options.quiet || r->options.report != NULL || r->watch != NULL;
}

static int needs_mesh(const cli_run_job *r) {
  return needs_cells(r) || needs_quality(r) || cli_outputs_have_mesh(&r->options);
}

/* Computes mesh, cells and quality, as far as they are used: with --domain the constrained mesh and
 * cells clipped to the boundary, with --equal-mass the power diagram. */
static cvtm_status triangulate_sites(cli_run_job *r, cvtm_device *device, cvtm_error *error) {
  if (r->options.domain.kind != CLI_DOMAIN_NONE) {
    cvtm_status status = cli_domain_triangulate(&r->shape, r->sites, r->mass, r->centroid,
                                                &r->count, &r->mesh, error);
    const cvtm_domain image = {r->domain.width, r->domain.height, r->options.periodic};
    if (status == CVTM_OK)
      status = cli_region_names_group(&r->options, &r->shape.graph, &r->mesh, image,
                                      &r->shape.regions, error);
    double sides[4];
    cli_domain_paired_sides(&r->options, image, &r->shape.contour, sides);
    if (status == CVTM_OK && image.periodic)
      status = cvtm_regions_pair(&r->mesh, sides, &r->shape.regions, error);
    if (status == CVTM_OK) status = cvtm_cells_of_domain(&r->mesh, &r->cells, error);
    if (status == CVTM_OK) status = cvtm_quality_compute(&r->mesh, NULL, &r->quality, error);
    return status;
  }
  if (!needs_mesh(r)) return CVTM_OK;
  const double *weights = r->options.equal_mass.on ? r->equal.weights : NULL;
  cvtm_status status =
      weights ? cvtm_regular_triangulation(device, r->sites, weights, r->count, &r->mesh,
                                           &r->triangulation, error)
              : cvtm_delaunay_on(device, r->sites, r->count, &r->mesh, &r->triangulation, error);
  if (status == CVTM_OK && needs_cells(r))
    status = weights ? cvtm_power_diagram(r->domain, r->sites, weights, r->count,
                                          (int)r->options.threads, &r->cells, NULL, error)
                     : cvtm_cells_create(&r->mesh, r->domain, &r->cells, error);
  if (status == CVTM_OK && needs_quality(r))
    status = cvtm_quality_compute(&r->mesh, &r->domain, &r->quality, error);
  return status;
}

static cvtm_status add_middle_nodes(cli_run_job *r, cvtm_error *error) {
  if (r->options.element_order < 2 || r->second.count > 0) return CVTM_OK;
  const int has_domain = r->options.domain.kind != CLI_DOMAIN_NONE;
  return cvtm_second_order_create(&r->mesh, has_domain ? &r->shape.regions : NULL,
                                  has_domain ? &r->shape.contour : NULL, &r->second, error);
}

static cvtm_status make_stipples(cli_run_job *r, cvtm_error *error) {
  const int own_cells = r->options.equal_mass.on || r->options.domain.kind != CLI_DOMAIN_NONE;
  const cli_stipples_source source = {
      r->domain, r->tone, r->mass, &r->mesh, own_cells ? NULL : &r->cells, NULL};
  if (r->colours.count > 0)
    return cli_colours_draw(&r->options, &r->colours, r->sites, &r->cells, error);
  if (!cli_stipples_wanted(&r->options)) return CVTM_OK;
  return cli_stipples_make(&r->options, &source, &r->stipples, error);
}

static cvtm_status write_outputs(cli_run_job *r, cvtm_error *error) {
  const int has_domain = r->options.domain.kind != CLI_DOMAIN_NONE;
  const cli_scene scene = {.options = &r->options,
                           .domain = r->domain,
                           .sites = r->sites,
                           .count = r->count,
                           .density = r->options.equal_mass.on ? r->equal.drawn : r->density,
                           .mass = r->mass,
                           .mesh = &r->mesh,
                           .cells = &r->cells,
                           .regions = has_domain ? &r->shape.regions : NULL,
                           .radius = r->colours.count > 0 ? r->colours.radius : r->stipples.radius,
                           .second = r->options.element_order == 2 ? &r->second : NULL,
                           .colours = r->colours.count > 0 ? &r->colours : NULL};
  cvtm_status status = cli_scene_write(&scene, error);
  if (status == CVTM_OK && r->options.equal_mass.weights_out != NULL)
    status = cvtm_npy_write(r->options.equal_mass.weights_out, 'f', (int)sizeof(double), 1,
                            &r->count, r->equal.weights, error);
  if (status == CVTM_OK) status = cli_domain_write_pairs(&r->options, &r->shape.regions, error);
  if (status != CVTM_OK || r->options.density_out == NULL) return status;
  const int64_t shape[2] = {r->domain.height, r->domain.width};
  return cvtm_npy_write(r->options.density_out, 'f', (int)sizeof(float), 2, shape, r->density,
                        error);
}

int cli_run_create(const cli_options *options, cli_run_job **job) {
  cli_run_job *r = calloc(1, sizeof *r);
  if (r == NULL) {
    cvtm_error error;
    cvtm_fail(&error, CVTM_ERROR_MEMORY, "out of memory");
    return cli_failed(CLI_WORKING, error.status, &error);
  }
  r->options = *options;
  cli_preset_apply(&r->options);
  cli_noise_choose(&r->options);
  *job = r;
  return CLI_EXIT_OK;
}

void cli_run_keep_tone(cli_run_job *r) { r->keep_tone = 1; }

int cli_run_read(cli_run_job *r, cvtm_device *device) {
  cvtm_error error = {CVTM_OK, ""};
  start_phase(r);
  r->start = r->phase_start;
  const cvtm_status status = cli_checkpoint_open(&r->options, &r->checkpoint, &error);
  if (status != CVTM_OK) return cli_failed(CLI_READING, status, &error);
  int code = cli_run_read_density(r, device);
  if (code != CLI_EXIT_OK) return code;
  end_phase(r, CLI_RUN_PHASE_READ);
  code = cli_run_place_given_sites(r);
  if (code != CLI_EXIT_OK) return code;
  r->options.points = r->count;
  end_phase(r, CLI_RUN_PHASE_SAMPLE);
  return CLI_EXIT_OK;
}

int cli_run_solve(cli_run_job *r, cvtm_device *device) {
  start_phase(r);
  r->solve_start = r->phase_start;
  r->device = device;
  r->options.device = cvtm_device_name(device);
  cvtm_status status = cli_run_optimize(r);
  if (status == CVTM_OK) status = cli_run_refine(r);
  end_phase(r, CLI_RUN_PHASE_OPTIMIZE);
  if (status == CVTM_OK && r->colours.count == 0) status = cli_run_evaluate_result(r);
  cvtm_cvt_destroy(r->cvt);
  r->cvt = NULL;
  end_phase(r, CLI_RUN_PHASE_EVALUATION);
  if (status == CVTM_OK) return CLI_EXIT_OK;
  return cli_failed(CLI_WORKING, status, cvtm_device_error(device));
}

void cli_run_lend(cli_run_job *r, const float *array, int64_t pixels, const float *on_device) {
  if (pixels == (int64_t)r->domain.width * r->domain.height &&
      memcmp(array, r->density, (size_t)pixels * sizeof *array) == 0)
    r->on_device = on_device;
}

/* --order: the sites, and all that belongs to them, change their order. */
static cvtm_status order_sites(cli_run_job *r, cvtm_error *error) {
  const double limit = r->options.time_limit, deadline = limit > 0 ? r->solve_start + limit : 0;
  if (r->colours.count > 0)
    return cli_colours_order(&r->options, &r->colours, deadline, r->sites, &r->order, error);
  cvtm_status status = cli_order_find(&r->options, r->sites, r->count, deadline, &r->order, error);
  if (status == CVTM_OK) status = cli_order_apply(&r->order, r->count, 2, r->sites, error);
  if (status == CVTM_OK) status = cli_order_apply(&r->order, r->count, 2, r->centroid, error);
  if (status == CVTM_OK) status = cli_order_apply(&r->order, r->count, 1, r->mass, error);
  if (status == CVTM_OK) status = cli_order_apply(&r->order, r->count, 1, r->equal.weights, error);
  return status;
}

int cli_run_order(cli_run_job *r) {
  cvtm_error error = {CVTM_OK, ""};
  start_phase(r);
  const cvtm_status status = order_sites(r, &error);
  end_phase(r, CLI_RUN_PHASE_MESH);
  return status == CVTM_OK ? CLI_EXIT_OK : cli_failed(CLI_WORKING, status, &error);
}

int cli_run_mesh_is_large(const cli_run_job *r) {
  enum { LARGE = 20000 }; /* memory of a device takes milliseconds */
  return r->count >= LARGE && r->options.domain.kind == CLI_DOMAIN_NONE;
}

int cli_run_mesh(cli_run_job *r, cvtm_device *device) {
  cvtm_error error = {CVTM_OK, ""};
  start_phase(r);
  const cvtm_status status = triangulate_sites(r, cli_run_mesh_is_large(r) ? device : NULL, &error);
  end_phase(r, CLI_RUN_PHASE_MESH);
  return status == CVTM_OK ? CLI_EXIT_OK : cli_failed(CLI_WORKING, status, &error);
}

int cli_run_write(cli_run_job *r) {
  cvtm_error error = {CVTM_OK, ""};
  start_phase(r);
  cvtm_status status = make_stipples(r, &error);
  if (status == CVTM_OK) status = add_middle_nodes(r, &error);
  if (status != CVTM_OK) return cli_failed(CLI_WORKING, status, &error);
  status = write_outputs(r, &error);
  end_phase(r, CLI_RUN_PHASE_WRITE);
  if (status == CVTM_OK) status = cli_run_write_report(r, &error);
  if (status == CVTM_OK) status = cli_run_write_watch_page(r, &error);
  return status == CVTM_OK ? CLI_EXIT_OK : cli_failed(CLI_WRITING, status, &error);
}

/* True if an option of the write that follows would change the sites. */
static int changes_sites(const cli_options *asked, const cli_options *made) {
  return asked->order != made->order || asked->points != made->points;
}

int cli_run_save(cli_run_job *r, const cli_options *asked) {
  if (changes_sites(asked, &r->options))
    return cli_usage_error(CLI_RUN, "--order and --points are options of the run itself");
  int code = cli_run_check(asked);
  if (code == CLI_EXIT_OK) code = cli_files_check(asked);
  if (code == CLI_EXIT_OK) code = cli_outputs_check(asked);
  if (code != CLI_EXIT_OK) return code;
  const cli_options made = r->options;
  r->options = *asked;
  cli_stipples_free(&r->stipples);
  r->stipples = (cli_stipples){0};
  code = cli_run_write(r);
  r->options = made;
  return code;
}

void cli_run_destroy(cli_run_job *r) {
  if (r == NULL) return;
  cli_watch_destroy(r->watch);
  cli_checkpoint_close(&r->checkpoint);
  cli_progress_free(&r->progress);
  cvtm_cells_free(&r->cells);
  cvtm_mesh_free(&r->mesh);
  cli_stipples_free(&r->stipples);
  cli_colours_free(&r->colours);
  cli_domain_free(&r->shape);
  cvtm_second_order_free(&r->second);
  cvtm_cvt_destroy(r->cvt);
  cli_equal_mass_free(&r->equal);
  cli_order_free(&r->order);
  free(r->tone);
  free(r->mass);
  free(r->centroid);
  free(r->sites);
  cvtm_pipeline_free(&r->made);
  free(r);
}

/* Ranks that do not write end with the sites. */
static int run_on(cli_run_job *job, cvtm_device *device, int writes) {
  int code = cli_run_read(job, device);
  if (code == CLI_EXIT_OK) code = cli_run_solve(job, device);
  if (code != CLI_EXIT_OK || !writes) return code;
  code = cli_run_order(job);
  if (code == CLI_EXIT_OK) code = cli_run_mesh(job, device);
  if (code == CLI_EXIT_OK) code = cli_run_write(job);
  return code;
}

int cli_run_converged(const cli_run_job *r) {
  if (r->options.equal_mass.on && !r->equal.result.converged) return 0;
  return !cli_refine_fell_short(&r->shape.refinement);
}

/* How a run that has written its files ends. */
static int exit_code_of(const cli_run_job *job) {
  if (cli_interrupted()) return CLI_EXIT_INTERRUPTED;
  return cli_run_converged(job) ? CLI_EXIT_OK : CLI_EXIT_NOT_CONVERGED;
}

/* *failed: the code of a failure that ends all ranks. */
static int run_part(cli_options *options, cli_distributed *distributed, int *failed) {
  const int writes = cli_distributed_writes(distributed);
  cvtm_device *device = NULL;
  int code = cli_open_device(options, &device);
  if (code != CLI_EXIT_OK) return *failed = code;
  code = cli_distributed_attach(distributed, device);
  cli_catch_signals();
  cli_run_job *job = NULL;
  if (code == CLI_EXIT_OK) code = cli_run_create(options, &job);
  if (code == CLI_EXIT_OK) code = run_on(job, device, writes);
  *failed = code;
  if (code == CLI_EXIT_OK && !options->quiet) cli_run_print_summary(job);
  if (code == CLI_EXIT_OK) code = exit_code_of(job);
  cli_run_destroy(job);
  if (*failed == CLI_EXIT_OK) cli_distributed_detach(distributed, device);
  cvtm_device_destroy(device);
  return code;
}

static int check_run(const cli_options *options) {
  const int code = cli_run_check(options);
  return code == CLI_EXIT_OK ? cli_outputs_check(options) : code;
}

int cli_run(const cli_options *options) {
  cli_options chosen = *options;
  cli_distributed distributed;
  int failed = CLI_EXIT_OK;
  const int64_t asked = cli_distributed_count(&chosen);
  int code = asked > 1 ? check_run(&chosen) : CLI_EXIT_OK;
  if (code != CLI_EXIT_OK) return code;
  const int64_t ranks = asked > 1 ? cli_distributed_useful(&chosen, asked) : 1;
  if (ranks > 1) return cli_launch_ranks(ranks);
  code = cli_distributed_join(&chosen, &distributed);
  if (code != CLI_EXIT_OK) return code;
  code = check_run(&chosen);
  if (code == CLI_EXIT_OK) code = run_part(&chosen, &distributed, &failed);
  cli_distributed_leave(&distributed, failed);
  return code;
}

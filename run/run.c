/* A run in its stages, and the public functions. */
#include "run/run.h"

#include "base/clock.h"
#include "base/npy.h"
#include "base/ranks.h"
#include "meshes/mesh_file.h"
#include "run/budget.h"
#include "run/files.h"
#include "run/input.h"
#include "run/job.h"
#include "run/line.h"
#include "run/output.h"
#include "run/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- input: image, density, domain, given sites --------------------------------------------- */

/* Copies the vertices on the boundary of --domain; *fixed is malloc'd. */
static cvtm_status copy_boundary(const cvtm_run *r, double **fixed, int64_t *count,
                                 cvtm_error *error) {
  const size_t bytes = 2 * (size_t)r->shape.boundary.vertex_count * sizeof **fixed;
  *fixed = malloc(bytes);
  if (*fixed == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for the boundary");
  memcpy(*fixed, r->shape.boundary.points, bytes);
  *count = r->shape.boundary.vertex_count;
  return CVTM_OK;
}

static cvtm_status read_sites(const cvtm_run *r, const cvtm_input *source, double **sites,
                              int64_t *count, cvtm_error *error) {
  CVTM_TRY(cvtm_points_open(source, sites, count, error));
  return run_require_inside(source->name, *sites, *count, r->domain, error);
}

/* Allocates r->count sites, and sets the first: the r->fixed fixed ones, then those of --init. */
static cvtm_status set_sites(cvtm_run *r, const double *fixed, const double *init,
                             int64_t init_count, cvtm_error *error) {
  const size_t pair = 2 * sizeof *r->sites;
  r->sites = malloc((size_t)r->count * pair);
  if (r->sites == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for %lld sites", (long long)r->count);
  if (r->fixed > 0) memcpy(r->sites, fixed, (size_t)r->fixed * pair);
  if (init_count > 0) memcpy(r->sites + 2 * r->fixed, init, (size_t)init_count * pair);
  r->given = r->fixed + init_count;
  return CVTM_OK;
}

static cvtm_status check_count(const cvtm_run *r, int64_t init_count, cvtm_error *error) {
  const cvtm_run_options *o = &r->options;
  if (r->count > CVTM_DELAUNAY_MOST)
    return run_usage_error(error, "%lld sites: a triangulation has at most %d", (long long)r->count,
                           CVTM_DELAUNAY_MOST);
  if (r->fixed > r->count)
    return run_usage_error(error, "%s: %lld fixed sites are more than the %lld of --points",
                           o->fixed.name, (long long)r->fixed, (long long)r->count);
  if (init_count > 0 && r->fixed + init_count != r->count)
    return run_usage_error(error, "%s: with the fixed sites there are %lld, but --points is %lld",
                           o->init.name, (long long)(r->fixed + init_count), (long long)r->count);
  return CVTM_OK;
}

/* Allocates all sites and sets the given ones. */
static cvtm_status place_given_sites(cvtm_run *r, cvtm_error *error) {
  const cvtm_run_options *options = &r->options;
  double *fixed = NULL, *init = NULL;
  int64_t init_count = 0;
  cvtm_status status = CVTM_OK;
  if (options->fixed.name != NULL)
    status = read_sites(r, &options->fixed, &fixed, &r->fixed, error);
  if (options->domain.kind != CVTM_RUN_DOMAIN_NONE)
    status = copy_boundary(r, &fixed, &r->fixed, error);
  if (status == CVTM_OK && options->init.name != NULL)
    status = read_sites(r, &options->init, &init, &init_count, error);
  r->count = options->points > 0 ? options->points : r->fixed + init_count;
  if (status == CVTM_OK) status = check_count(r, init_count, error);
  if (status == CVTM_OK) status = set_sites(r, fixed, init, init_count, error);
  free(fixed);
  free(init);
  return status;
}

/* For --density-from size: counts the hexagons of the wanted sizes that fill the domain. A hexagon
 * of size s, the distance between centres of neighbours, has the area sqrt(3)/2 s^2. */
static cvtm_status count_by_size(cvtm_run *r, cvtm_error *error) {
  const double most = 1e9;
  const int64_t pixels = (int64_t)r->domain.width * r->domain.height;
  double sites = 0; /* the density is s^-4; s^-2 with --equal-mass */
  for (int64_t p = 0; p < pixels; ++p) {
    const double rho = (double)r->made.density[p];
    sites += 2 / sqrt(3.0) * (r->options.equal_mass.on ? rho : sqrt(rho));
  }
  if (sites > most)
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "%s: the sizes need %.3g sites; at most %g are possible",
                     r->options.input.name, sites, most);
  r->options.points = (int64_t)fmax(round(sites), 1);
  run_preview_limit(&r->options);
  return CVTM_OK;
}

/* True if the number of sites is the number of dots that the picture needs. */
static int count_by_dots(const cvtm_run_options *o) {
  return o->points == 0 && o->init.name == NULL &&
         (o->dot_size.count > 0 || o->fixed.name == NULL) &&
         o->density_from != CVTM_DENSITY_FROM_SIZE &&
         (o->domain.kind == CVTM_RUN_DOMAIN_NONE || o->domain.kind == CVTM_RUN_DOMAIN_FRAME);
}

/* Chooses the dots, and their number if it is not given. */
static cvtm_status choose_dots(cvtm_run *r, cvtm_error *error) {
  cvtm_run_options *o = &r->options;
  const double most = 1e9;
  if (o->dots == CVTM_RUN_DOTS_TONE && o->density_from != CVTM_DENSITY_FROM_TONE)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: --dots tone needs --density-from tone",
                     o->input.name);
  if (!count_by_dots(o)) return CVTM_OK;
  if (r->tone == NULL)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: an array has no tone; --points is missing",
                     o->input.name);
  CVTM_TRY(run_stipples_count(o, r->domain, r->tone, &r->dots, error));
  if (r->dots.count > most)
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "%s: the ink needs %.3g dots of --dot-size; at most %g are possible",
                     o->input.name, r->dots.count, most);
  o->points = (int64_t)r->dots.count;
  run_preview_limit(o);
  return CVTM_OK;
}

/* Chooses the dots, and removes ink from regions without sites. The positions of the sites depend
 * on the dots even if no drawing is asked for and no tone is read. */
static void finish_tone(cvtm_run *r) {
  const size_t pixels = (size_t)r->domain.width * (size_t)r->domain.height;
  const int of_picture = r->options.density_from == CVTM_DENSITY_FROM_TONE || r->tone != NULL ||
                         run_colours_wanted(&r->options);
  if (r->options.dots == CVTM_RUN_DOTS_AUTO)
    r->options.dots = of_picture ? CVTM_RUN_DOTS_MASS : CVTM_RUN_DOTS_EQUAL;
  for (size_t p = 0; p < pixels && r->tone != NULL; ++p)
    if (!(r->made.density[p] > 0)) r->tone[p] = 0;
}

/* Chooses the pens and their numbers of dots, and removes ink from regions without sites. */
static cvtm_status choose_colours(cvtm_run *r, float *rgb, cvtm_error *error) {
  const size_t pixels = (size_t)r->domain.width * (size_t)r->domain.height;
  for (size_t p = 0; p < pixels; ++p)
    if (!(r->density[p] > 0)) rgb[p] = rgb[pixels + p] = rgb[2 * pixels + p] = 1;
  return run_colours_read(&r->options, r->domain, rgb, &r->colours, &r->dots, error);
}

/* Sends all ranks the input that they need, which rank 0 has read. cvtm_cvt_create_borrowed sends
 * the density to their devices. */
static cvtm_status share_reading(cvtm_run *r, cvtm_device *device) {
  const int64_t resumed = r->checkpoint.resumed != NULL;
  int64_t facts[] = {r->domain.width, r->domain.height, r->options.points, resumed};
  const cvtm_status status = cvtm_ranks_broadcast(device, facts, sizeof facts);
  if (status == CVTM_OK && facts[3] != resumed)
    return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_INPUT,
                     "%s: some ranks have this checkpoint and others do not", r->checkpoint.path);
  r->domain = (cvtm_domain){(int32_t)facts[0], (int32_t)facts[1], r->options.periodic};
  r->options.points = facts[2];
  return status;
}

static cvtm_status read_density(cvtm_run *r, cvtm_device *device, cvtm_error *error) {
  cvtm_run_options *o = &r->options;
  const int tone = o->keep || run_stipples_wanted(o) || count_by_dots(o);
  const int in_colours = run_colours_wanted(o);
  float *rgb = NULL;
  cvtm_status status = run_read_conditioned(device, o, &r->made, tone ? &r->tone : NULL,
                                            in_colours ? &rgb : NULL, error);
  r->domain = (cvtm_domain){r->made.width, r->made.height, o->periodic};
  const int by_size =
      o->density_from == CVTM_DENSITY_FROM_SIZE && o->points == 0 && o->init.name == NULL;
  if (status == CVTM_OK && o->domain.kind == CVTM_RUN_DOMAIN_FRAME) {
    finish_tone(r);
    status = choose_dots(r, error);
  }
  if (status == CVTM_OK && o->domain.kind != CVTM_RUN_DOMAIN_NONE) {
    status = run_domain_read(&r->options, r->domain, r->made.density, &r->shape, error);
    r->domain.periodic = 0; /* sites are on opposite sides: cells end at the sides */
    if (status == CVTM_OK) o->points = r->shape.figures.sites;
  } else if (status == CVTM_OK && by_size) {
    status = count_by_size(r, error);
  }
  r->density = r->made.density;
  if (status == CVTM_OK) finish_tone(r);
  if (status == CVTM_OK)
    status = in_colours ? choose_colours(r, rgb, error) : choose_dots(r, error);
  if (status == CVTM_OK && r->tone != NULL && run_tone_is_averaged(o))
    status = run_line_correct(o, r->domain, &r->dots, r->tone, r->made.density, error);
  if (r->colours.rgb != rgb) free(rgb);
  return status;
}

/* Reads image, density and domain; with several ranks only on rank 0. */
static cvtm_status read_on_rank_0(cvtm_run *r, cvtm_device *device, cvtm_error *error) {
  if (device == NULL || cvtm_device_ranks(device) == NULL) return read_density(r, device, error);
  CVTM_TRY(cvtm_ranks_lead(device) ? read_density(r, device, error) : CVTM_OK);
  cvtm_status status = share_reading(r, device);
  return status == CVTM_OK ? status
                           : cvtm_fail(error, status, "%s", cvtm_device_error(device)->message);
}

/* --- the stages ----------------------------------------------------------------------------- */

cvtm_status run_check(const cvtm_run_options *options, cvtm_error *error) {
  static cvtm_status (*const checks[])(const cvtm_run_options *, cvtm_error *) = {
      run_condition_check,  run_size_from_check, run_region_names_check, run_domain_check,
      run_equal_mass_check, run_noise_check,     run_checkpoint_check,   run_stipples_check,
      run_colours_check,    run_order_check,     run_page_check,         run_outputs_check,
      run_follow_check,     run_budget_check};
  if (options->input.name == NULL) return run_usage_error(error, "IMAGE is missing");
  if (options->points == 0 && options->init.name == NULL && options->fixed.name == NULL &&
      options->density_from != CVTM_DENSITY_FROM_SIZE &&
      options->domain.kind != CVTM_RUN_DOMAIN_NONE && options->domain.kind != CVTM_RUN_DOMAIN_FRAME)
    return run_usage_error(error, "--points is missing");
  cvtm_status status = CVTM_OK;
  for (size_t k = 0; status == CVTM_OK && k < sizeof checks / sizeof checks[0]; ++k)
    status = checks[k](options, error);
  return status;
}

static void start_phase(cvtm_run *r) { r->phase_start = cvtm_clock(); }

static void end_phase(cvtm_run *r, run_phase phase) {
  double now = cvtm_clock();
  r->seconds[phase] += now - r->phase_start;
  r->phase_start = now;
}

/* With `keep`, any output may be asked for later. */
static int needs_cells(const cvtm_run *r) {
  return r->options.keep || r->colours.count > 0 || run_outputs_draw(&r->options);
}

static int needs_quality(const cvtm_run *r) { return r->options.keep || r->options.measure; }

static int needs_mesh(const cvtm_run *r) {
  return needs_cells(r) || needs_quality(r) || run_outputs_have_mesh(&r->options);
}

/* Computes mesh, cells and quality, as far as outputs need them: with --domain the constrained mesh
 * and cells clipped to the boundary, with --equal-mass the power diagram. */
static cvtm_status triangulate_sites(cvtm_run *r, cvtm_device *device, cvtm_error *error) {
  if (r->options.domain.kind != CVTM_RUN_DOMAIN_NONE) {
    cvtm_status status = run_domain_triangulate(&r->shape, r->sites, r->mass, r->centroid,
                                                &r->count, &r->mesh, error);
    const cvtm_domain image = {r->domain.width, r->domain.height, r->options.periodic};
    if (status == CVTM_OK)
      status = run_region_names_group(&r->options, &r->shape.graph, &r->mesh, image,
                                      &r->shape.regions, error);
    if (status == CVTM_OK && image.periodic)
      status = cvtm_regions_pair(&r->mesh, &r->shape.boundary, r->shape.source, &r->shape.regions,
                                 error);
    if (status == CVTM_OK && needs_cells(r))
      status = cvtm_cells_of_domain(&r->mesh, &r->cells, error);
    if (status == CVTM_OK && needs_quality(r))
      status = cvtm_quality_compute(&r->mesh, NULL, &r->quality, error);
    return status;
  }
  if (!needs_mesh(r)) return CVTM_OK;
  const double *weights = r->options.equal_mass.on ? r->equal.weights : NULL;
  cvtm_status status = CVTM_OK;
  if (weights)
    status = cvtm_regular_triangulation(device, r->sites, weights, r->count, &r->mesh,
                                        &r->triangulation, error);
  else if (r->mesh.points == NULL) /* not made by run_place */
    status = cvtm_delaunay_on(device, r->sites, r->count, &r->mesh, &r->triangulation, error);
  if (status == CVTM_OK && needs_cells(r))
    status = weights ? cvtm_power_diagram(r->domain, r->sites, weights, r->count,
                                          (int)r->options.threads, &r->cells, NULL, error)
                     : cvtm_cells_create(&r->mesh, r->domain, &r->cells, error);
  if (status == CVTM_OK && needs_quality(r))
    status = cvtm_quality_compute(&r->mesh, &r->domain, &r->quality, error);
  return status;
}

static cvtm_status add_middle_nodes(cvtm_run *r, cvtm_error *error) {
  if (r->options.element_order < 2 || r->second.count > 0) return CVTM_OK;
  const int has_domain = r->options.domain.kind != CVTM_RUN_DOMAIN_NONE;
  return cvtm_second_order_create(&r->mesh, has_domain ? &r->shape.regions : NULL,
                                  has_domain ? &r->shape.contour : NULL, &r->second, error);
}

static cvtm_status make_stipples(cvtm_run *r, cvtm_error *error) {
  const int own_cells = r->options.equal_mass.on || r->options.domain.kind != CVTM_RUN_DOMAIN_NONE;
  const run_stipples_source source = {
      r->domain, r->tone, r->mass, &r->mesh, own_cells ? NULL : &r->cells, NULL};
  if (r->colours.count > 0)
    return run_colours_draw(&r->options, &r->colours, r->sites, &r->cells, error);
  if (!run_stipples_wanted(&r->options)) return CVTM_OK;
  const cvtm_status status = run_stipples_make(&r->options, &source, &r->stipples, error);
  if (status != CVTM_OK || r->tone == NULL || !r->options.measure ||
      !run_stipples_are_strokes(&r->options))
    return status;
  const run_scene scene = {.options = &r->options,
                           .domain = r->domain,
                           .sites = r->sites,
                           .count = r->count,
                           .radius = r->stipples.radius};
  return run_page_measure(&scene, r->tone, &r->stipples, error);
}

static cvtm_status write_outputs(cvtm_run *r, cvtm_error *error) {
  const int has_domain = r->options.domain.kind != CVTM_RUN_DOMAIN_NONE;
  const run_scene scene = {.options = &r->options,
                           .domain = r->domain,
                           .sites = r->sites,
                           .count = r->count,
                           .density = r->options.equal_mass.on ? r->equal.drawn : r->density,
                           .mass = r->mass,
                           .mesh = &r->mesh,
                           .cells = &r->cells,
                           .regions = has_domain ? &r->shape.regions : NULL,
                           .radius = r->colours.count > 0 ? r->colours.radius : r->stipples.radius,
                           .id = r->frame.id,
                           .second = r->options.element_order == 2 ? &r->second : NULL,
                           .colours = r->colours.count > 0 ? &r->colours : NULL,
                           .plot = &r->plot};
  r->plot = (run_plot){.plotter = NULL};
  cvtm_status status = run_scene_write(&scene, error);
  if (status == CVTM_OK && r->options.equal_mass.weights_out != NULL)
    status = cvtm_npy_write(r->options.equal_mass.weights_out, 'f', (int)sizeof(double), 1,
                            &r->count, r->equal.weights, error);
  if (status == CVTM_OK) status = run_domain_write_pairs(&r->options, &r->shape.regions, error);
  if (status != CVTM_OK || r->options.density_out == NULL) return status;
  const int64_t shape[2] = {r->domain.height, r->domain.width};
  return cvtm_npy_write(r->options.density_out, 'f', (int)sizeof(float), 2, shape, r->density,
                        error);
}

cvtm_status run_create(const cvtm_run_options *options, cvtm_run **run, cvtm_error *error) {
  cvtm_run *r = calloc(1, sizeof *r);
  if (r == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  const cvtm_status status = run_pens_open(options, &r->colours.pens, error);
  if (status != CVTM_OK) {
    free(r);
    return status;
  }
  r->options = *options;
  r->options.order = run_order_of(options);
  run_pens_use(&r->colours.pens, &r->options);
  run_pen_choose(&r->options);
  run_preset_apply(&r->options);
  run_noise_choose(&r->options);
  *run = r;
  return CVTM_OK;
}

cvtm_status run_read(cvtm_run *r, cvtm_device *device, cvtm_error *error) {
  start_phase(r);
  r->start = r->phase_start;
  cvtm_status status = run_checkpoint_open(&r->options, &r->checkpoint, error);
  if (status == CVTM_OK) status = read_on_rank_0(r, device, error);
  end_phase(r, RUN_PHASE_READ);
  if (status == CVTM_OK) status = place_given_sites(r, error);
  r->options.points = r->count;
  if (status == CVTM_OK && r->density != NULL && r->options.domain.kind == CVTM_RUN_DOMAIN_NONE)
    status = run_average_tone(&r->options, r->domain, r->count, r->density, error);
  if (status == CVTM_OK && r->options.follow.on) {
    r->frame = (run_film_frame){
        .domain = r->domain, .density = r->density, .points = r->sites, .count = r->count};
    status = run_frame_number(&r->frame, error);
  }
  end_phase(r, RUN_PHASE_SAMPLE);
  return status;
}

int run_mesh_is_large(const cvtm_run *r) {
  enum { LARGE = 20000 }; /* allocation on a device takes milliseconds */
  return r->count >= LARGE && r->options.domain.kind == CVTM_RUN_DOMAIN_NONE;
}

/* Nonzero if run_place makes the mesh, since the device has the sites. An order must come first. */
static int meshes_in_place(const cvtm_run *r) {
  return run_mesh_is_large(r) && needs_mesh(r) && !r->options.equal_mass.on &&
         r->colours.count == 0 && r->options.order == CVTM_RUN_ORDER_NONE &&
         cvtm_ranks_lead(r->device);
}

cvtm_status run_follow(cvtm_run *r, const run_film_frame *before, const run_motion *motion,
                       cvtm_error *error) {
  start_phase(r);
  const cvtm_status status = run_frame_follow(before, motion, r->fixed, &r->frame, error);
  r->given = r->count;
  end_phase(r, RUN_PHASE_SAMPLE);
  return status;
}

/* Ends a stage on the device of the run. */
static cvtm_status leave_device(cvtm_run *r, run_phase p, cvtm_status status, cvtm_error *error) {
  end_phase(r, p);
  if (status == CVTM_OK) return CVTM_OK;
  return cvtm_fail(error, status, "%s", cvtm_device_error(r->device)->message);
}

cvtm_status run_plan(cvtm_run *r, cvtm_device *device, cvtm_error *error) {
  start_phase(r);
  r->solve_start = r->phase_start;
  r->device = device;
  return leave_device(r, RUN_PHASE_OPTIMIZE, run_make_plan(r), error);
}

cvtm_status run_descend(cvtm_run *r, cvtm_device *device, cvtm_error *error) {
  cvtm_status status = run_plan(r, device, error);
  if (status == CVTM_OK) status = run_optimize(r);
  if (status == CVTM_OK) status = run_refine(r);
  return leave_device(r, RUN_PHASE_OPTIMIZE, status, error);
}

cvtm_status run_place(cvtm_run *r, cvtm_device *device, cvtm_error *error) {
  double *resident = NULL;
  cvtm_status status = r->stop_reason == NULL ? run_descend(r, device, error) : CVTM_OK;
  start_phase(r);
  if (status == CVTM_OK && r->colours.count == 0) status = run_evaluate_result(r);
  if (status == CVTM_OK && meshes_in_place(r)) resident = cvtm_cvt_take_sites(r->cvt);
  cvtm_cvt_destroy(r->cvt);
  r->cvt = NULL;
  status = leave_device(r, RUN_PHASE_EVALUATION, status, error);
  if (status == CVTM_OK && resident)
    status = cvtm_delaunay_resident(device, r->sites, resident, r->count, &r->mesh,
                                    &r->triangulation, error);
  cvtm_device_free(device, resident);
  end_phase(r, RUN_PHASE_MESH);
  return status;
}

void run_lend(cvtm_run *r, const float *array, int64_t pixels, const float *on_device) {
  if (pixels == (int64_t)r->domain.width * r->domain.height &&
      memcmp(array, r->density, (size_t)pixels * sizeof *array) == 0)
    r->on_device = on_device;
}

/* Orders the sites, and all arrays that belong to them, by --order. */
static cvtm_status order_sites(cvtm_run *r, cvtm_error *error) {
  const double limit = r->options.time_limit, deadline = limit > 0 ? r->solve_start + limit : 0;
  if (r->colours.count > 0)
    return run_colours_order(&r->options, &r->colours, deadline, r->sites, &r->order, error);
  CVTM_TRY(run_order_find(&r->options, r->sites, r->count, deadline, &r->order, error));
  CVTM_TRY(run_order_apply(&r->order, r->count, 2, r->sites, error));
  CVTM_TRY(run_order_apply(&r->order, r->count, 2, r->centroid, error));
  CVTM_TRY(run_order_apply(&r->order, r->count, 1, r->mass, error));
  return run_order_apply(&r->order, r->count, 1, r->equal.weights, error);
}

cvtm_status run_order(cvtm_run *r, cvtm_error *error) {
  start_phase(r);
  const cvtm_status status = order_sites(r, error);
  end_phase(r, RUN_PHASE_MESH);
  return status;
}

cvtm_status run_mesh(cvtm_run *r, cvtm_device *device, cvtm_error *error) {
  start_phase(r);
  const cvtm_status status = triangulate_sites(r, run_mesh_is_large(r) ? device : NULL, error);
  end_phase(r, RUN_PHASE_MESH);
  return status;
}

cvtm_status run_write(cvtm_run *r, cvtm_error *error) {
  start_phase(r);
  cvtm_status status = make_stipples(r, error);
  if (status == CVTM_OK) status = run_preview_restore(r, error);
  if (status == CVTM_OK) status = add_middle_nodes(r, error);
  if (status == CVTM_OK) status = write_outputs(r, error);
  end_phase(r, RUN_PHASE_WRITE);
  if (status == CVTM_OK && r->options.report != NULL)
    status = run_json_write(r->options.report, run_report_make(r), error);
  return status;
}

cvtm_status run_save(cvtm_run *r, const cvtm_run_options *asked, cvtm_error *error) {
  if (run_order_of(asked) != r->options.order || asked->points != r->options.points)
    return run_usage_error(error, "--order and --points cannot change after the run");
  CVTM_TRY(run_check(asked, error));
  const cvtm_run_options made = r->options;
  r->options = *asked;
  r->options.order = made.order; /* that of --svg path */
  run_pens_use(&r->colours.pens, &r->options);
  run_pen_choose(&r->options);
  run_stipples_free(&r->stipples);
  cvtm_status status = run_write(r, error);
  r->options = made;
  return status;
}

int run_converged(const cvtm_run *r) {
  if (r->options.equal_mass.on && !r->equal.result.converged) return 0;
  return !run_refine_fell_short(&r->shape.refinement);
}

/* --- the public functions ------------------------------------------------------------------- */

cvtm_status cvtm_run_create(cvtm_device *device, const cvtm_run_options *options, cvtm_run **run,
                            cvtm_error *error) {
  cvtm_run_options asked;
  cvtm_run_defaults(&asked);
  if (options != NULL) asked = *options;
  asked.given = run_given(&asked);
  run_json_start();
  cvtm_status status = run_check(&asked, error);
  if (status == CVTM_OK) status = run_refuse_overwriting(&asked, error);
  if (status == CVTM_OK) status = run_create(&asked, run, error);
  if (status != CVTM_OK) return status;
  (*run)->device = device;
  (*run)->options.preview.side = 1; /* cvtm_run_get has the picture's own pixels */
  return CVTM_OK;
}

cvtm_status cvtm_run_solve(cvtm_run *r, cvtm_error *error) {
  cvtm_device *device = r->device;
  cvtm_status status = run_read(r, device, error);
  if (status == CVTM_OK) status = run_place(r, device, error);
  if (status == CVTM_OK) status = run_order(r, error);
  return status == CVTM_OK ? run_mesh(r, device, error) : status;
}

cvtm_status cvtm_run_write(cvtm_run *r, const char *path, const cvtm_run_options *options,
                           cvtm_error *error) {
  if (options == NULL) options = &r->options;
  const cvtm_run_options asked =
      path != NULL ? run_options_of_file(&r->options, path, options) : *options;
  const cvtm_status status = run_refuse_overwriting(&asked, error);
  return status == CVTM_OK ? run_save(r, &asked, error) : status;
}

const cvtm_run_result *cvtm_run_get(cvtm_run *r) {
  const int has_domain = r->options.domain.kind != CVTM_RUN_DOMAIN_NONE;
  r->got = (cvtm_run_result){.domain = r->domain,
                             .density = r->density,
                             .points = r->sites,
                             .count = r->count,
                             .fixed = r->fixed,
                             .mass = r->mass,
                             .centroid = r->centroid,
                             .weights = r->equal.weights,
                             .mesh = &r->mesh,
                             .cells = &r->cells,
                             .regions = has_domain ? &r->shape.regions : NULL,
                             .quality = &r->quality,
                             .solve = &r->result,
                             .energy = r->energy,
                             .bound = r->bound,
                             .seconds = r->phase_start - r->start,
                             .converged = run_converged(r)};
  return &r->got;
}

void cvtm_run_destroy(cvtm_run *r) {
  if (r == NULL) return;
  run_checkpoint_close(&r->checkpoint);
  free(r->history.records);
  cvtm_cells_free(&r->cells);
  cvtm_mesh_free(&r->mesh);
  run_stipples_free(&r->stipples);
  run_colours_free(&r->colours);
  run_domain_free(&r->shape);
  cvtm_second_order_free(&r->second);
  cvtm_cvt_destroy(r->cvt);
  run_equal_mass_free(&r->equal);
  run_order_free(&r->order);
  free(r->frame.id);
  free(r->tone);
  free(r->mass);
  free(r->centroid);
  free(r->sites);
  cvtm_pipeline_free(&r->made);
  free(r);
}

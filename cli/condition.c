#include "cli/condition.h"

#include "cli/cli.h"
#include "cli/input.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "density/region.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cvtm_status no_memory(cvtm_error *error) {
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for a picture");
}

/* --- options ------------------------------------------------------------------------------- */

static int check_discs(const cli_options *options, const char *name, const cli_list *list) {
  double disc[3];
  for (int k = 0; k < list->count; ++k) {
    if (!cli_numbers_parse(list->item[k], 3, disc) || !(disc[2] >= 0))
      return cli_usage_error(options->command, "--%s: '%s' is not X,Y,RADIUS", name, list->item[k]);
  }
  return CLI_EXIT_OK;
}

int cli_segment_check(const cli_options *o) {
  const int asked = o->command == CLI_SEGMENT || o->segment.on;
  int code = check_discs(o, "inside", &o->segment.inside);
  if (code == CLI_EXIT_OK) code = check_discs(o, "outside", &o->segment.outside);
  if (code != CLI_EXIT_OK) return code;
  const int seeded = o->segment.inside.count > 0 || o->segment.seeds != NULL;
  if (asked && !seeded)
    return cli_usage_error(o->command,
                           "no seeds inside: give --inside X,Y,RADIUS or --seeds IMAGE");
  if (!asked && (seeded || o->segment.outside.count > 0))
    return cli_usage_error(o->command, "seeds need --segment");
  return CLI_EXIT_OK;
}

int cli_condition_check(const cli_options *o) {
  if (cli_option_given(o, "bias") && !(o->condition.smooth > 0))
    return cli_usage_error(o->command, "--bias needs --smooth LAMBDA");
  if (cli_option_given(o, "grade-max") && !(o->condition.grade > 0))
    return cli_usage_error(o->command, "--grade-max needs --grade LAMBDA");
  for (int k = 0; k < o->condition.weight.count; ++k) {
    size_t length;
    double factor;
    if (!cli_weight_parse(o->condition.weight.item[k], &length, &factor))
      return cli_usage_error(o->command, "--weight: '%s' is not FILE=FACTOR",
                             o->condition.weight.item[k]);
  }
  return CLI_EXIT_OK;
}

/* --- segmentation -------------------------------------------------------------------------- */

static cvtm_status add_discs(const cli_list *list, cvtm_seed seed, cvtm_seeds *seeds,
                             cvtm_error *error) {
  cvtm_status status = CVTM_OK;
  double disc[3];
  for (int k = 0; k < list->count && status == CVTM_OK; ++k) {
    (void)cli_numbers_parse(list->item[k], 3, disc);
    status = cvtm_seeds_add_disc(seeds, disc[0], disc[1], disc[2], seed, error);
  }
  return status;
}

static cvtm_status read_seeds(const cli_options *o, int width, int height, cvtm_seeds *seeds,
                              cvtm_error *error) {
  cvtm_status status = cvtm_seeds_create(width, height, seeds, error);
  if (status == CVTM_OK && o->segment.seeds != NULL)
    status = cvtm_seeds_add_image(seeds, o->segment.seeds, error);
  if (status == CVTM_OK) status = add_discs(&o->segment.inside, CVTM_SEED_INSIDE, seeds, error);
  if (status == CVTM_OK) status = add_discs(&o->segment.outside, CVTM_SEED_OUTSIDE, seeds, error);
  if (status == CVTM_OK && cvtm_seeds_count(seeds, CVTM_SEED_INSIDE) == 0)
    status = cvtm_fail(error, CVTM_ERROR_INPUT, "%s: no pixel is marked as inside",
                       o->segment.seeds != NULL ? o->segment.seeds : "the seeds");
  return status;
}

/* The region that --initial names. */
static cvtm_status first_region(const cli_options *o, cli_segmentation *s, cvtm_error *error) {
  const int width = s->seeds.width, height = s->seeds.height;
  const char *initial = o->segment.initial;
  double disc[3];
  if (strcmp(initial, "grow") == 0)
    return cvtm_seeds_grow(&s->seeds, s->shades, o->segment.k, s->inside, error);
  if (strcmp(initial, "image") != 0 && !cli_numbers_parse(initial, 3, disc)) {
    cvtm_region region = {0};
    const cvtm_status status = cvtm_region_read(initial, width, height, &region, error);
    if (status == CVTM_OK) memcpy(s->inside, region.inside, (size_t)width * (size_t)height);
    cvtm_region_free(&region);
    return status;
  }
  for (int j = 0; j < height; ++j) {
    for (int i = 0; i < width; ++i) {
      const int within = strcmp(initial, "image") == 0
                             ? i > 0 && j > 0 && i < width - 1 && j < height - 1
                             : hypot(i + 0.5 - disc[0], j + 0.5 - disc[1]) < disc[2];
      s->inside[(size_t)j * (size_t)width + (size_t)i] = (uint8_t)within;
    }
  }
  return CVTM_OK;
}

/* Remembers a step, and prints it if asked to. */
static int watch(void *context, const cvtm_segment_progress *progress) {
  cli_segmentation *s = context;
  s->history[s->count++] = *progress;
  if (s->verbose) {
    fprintf(stderr, "step %lld  energy %.8g  area %.6f  change %.3e  %lld cycles\n",
            (long long)progress->step, progress->energy, progress->area, progress->change,
            (long long)progress->cycles);
  }
  return cli_interrupted();
}

static cvtm_status move_curve(cvtm_device *device, const cli_options *o, cli_segmentation *s,
                              cvtm_error *error) {
  const int width = s->seeds.width, height = s->seeds.height;
  const size_t count = (size_t)width * (size_t)height;
  cvtm_segment_options how;
  cvtm_segment_defaults(&how);
  how.k = o->segment.k;
  how.tau = o->segment.tau;
  how.max_steps = o->segment.steps;
  how.tolerance = o->segment.tolerance;
  /* A step that is solved too roughly would look like one that changes nothing. */
  if (how.tolerance > 0)
    how.step_tolerance = fmin(how.step_tolerance, fmax(0.2 * how.tolerance, 1e-9));
  how.monitor = watch;
  how.monitor_context = s;
  s->verbose = o->verbose && !o->quiet;
  double *bounds = malloc(2 * count * sizeof *bounds);
  s->history = malloc((size_t)(how.max_steps + 1) * sizeof *s->history);
  if (bounds == NULL || s->history == NULL) {
    free(bounds);
    return no_memory(error);
  }
  cvtm_seeds_bounds(&s->seeds, bounds, bounds + count);
  cvtm_segment *segment = NULL;
  cvtm_status status = cvtm_segment_create(device, width, height, &how, &segment);
  if (status == CVTM_OK) {
    const int has_lower = cvtm_seeds_count(&s->seeds, CVTM_SEED_OUTSIDE) > 0;
    status = cvtm_segment_solve(segment, s->shades, has_lower ? bounds : NULL, bounds + count, s->u,
                                &s->result);
  }
  if (status != CVTM_OK) *error = *cvtm_device_error(device);
  cvtm_segment_destroy(segment);
  free(bounds);
  return status;
}

static cvtm_status segment_on(cvtm_device *device, const cli_options *o, const cvtm_image *image,
                              cli_segmentation *s, cvtm_error *error) {
  const int width = image->width, height = image->height;
  const size_t count = (size_t)width * (size_t)height;
  cvtm_status status = read_seeds(o, width, height, &s->seeds, error);
  s->u = malloc(count * sizeof *s->u);
  s->inside = malloc(count);
  if (status == CVTM_OK && (s->u == NULL || s->inside == NULL)) status = no_memory(error);
  if (status == CVTM_OK) status = cvtm_shades_of_image(image, &s->shades, error);
  if (status == CVTM_OK)
    status = cvtm_shades_blur(width, height, o->segment.sigma, s->shades, error);
  if (status == CVTM_OK) status = first_region(o, s, error);
  if (status == CVTM_OK) status = cvtm_level_set_of_region(width, height, s->inside, s->u, error);
  if (status == CVTM_OK) status = move_curve(device, o, s, error);
  if (status == CVTM_OK) status = cvtm_seeds_select(&s->seeds, s->u, s->inside, error);
  return status;
}

/* Device NULL: a handle of the CPU for as long as it is needed. */
static cvtm_status borrow(cvtm_device *device, const cli_options *o, cvtm_device **borrowed,
                          cvtm_error *error) {
  *borrowed = device;
  return device != NULL ? CVTM_OK : cvtm_device_create("cpu", (int)o->threads, borrowed, error);
}

/* Messages name the picture, unless they name a file of seeds or of the first curve. */
static cvtm_status name_picture(const cli_options *o, cvtm_status status, cvtm_error *error) {
  const char *files[] = {o->segment.seeds, o->segment.initial};
  for (int k = 0; k < 2 && status != CVTM_OK; ++k)
    if (files[k] != NULL && strncmp(error->message, files[k], strlen(files[k])) == 0) return status;
  return cli_name_file(o->input, status, error);
}

cvtm_status cli_segment_image(cvtm_device *device, const cli_options *options,
                              const cvtm_image *image, cli_segmentation *made, cvtm_error *error) {
  cvtm_device *borrowed = NULL;
  *made = (cli_segmentation){0};
  cvtm_status status = borrow(device, options, &borrowed, error);
  if (status == CVTM_OK) status = segment_on(borrowed, options, image, made, error);
  if (device == NULL) cvtm_device_destroy(borrowed);
  if (status != CVTM_OK) cli_segmentation_free(made);
  return name_picture(options, status, error);
}

void cli_segmentation_free(cli_segmentation *made) {
  free(made->shades);
  free(made->u);
  free(made->inside);
  free(made->history);
  cvtm_seeds_free(&made->seeds);
  *made = (cli_segmentation){0};
}

void cli_segment_coverage(const cli_segmentation *s, float *coverage) {
  const int64_t pixels = (int64_t)s->seeds.width * s->seeds.height;
  double most = 0;
  for (int64_t p = 0; p < pixels; ++p) most = fmax(most, fabs(s->u[p]));
  for (int64_t p = 0; p < pixels; ++p) {
    const double u = s->inside[p] ? s->u[p] : fabs(s->u[p]);
    coverage[p] = (float)(0.5 - 0.5 * u / most);
  }
}

void cli_segment_report(const cli_segmentation *s, cJSON *report) {
  const int64_t pixels = (int64_t)s->seeds.width * s->seeds.height;
  int64_t kept = 0;
  for (int64_t p = 0; p < pixels; ++p) kept += s->inside[p];
  cJSON *entry = cJSON_AddObjectToObject(report, "segmentation");
  cli_json_integer(entry, "steps", s->result.steps);
  cli_json_integer(entry, "cycles", s->result.cycles);
  cli_json_text(entry, "stop_reason", cvtm_segment_stop_name(s->result.stop));
  cli_json_real(entry, "change", s->result.change);
  cli_json_real(entry, "area", s->result.area);
  cli_json_real(entry, "energy", s->result.energy);
  cli_json_integer(entry, "pixels", kept);
  cli_json_real(entry, "seconds", s->result.seconds);
  cJSON *history = cJSON_AddArrayToObject(entry, "history");
  for (int64_t k = 0; k < s->count; ++k) {
    cJSON *row = cJSON_CreateObject();
    cli_json_integer(row, "step", s->history[k].step);
    cli_json_real(row, "change", s->history[k].change);
    cli_json_real(row, "area", s->history[k].area);
    cli_json_real(row, "energy", s->history[k].energy);
    cli_json_append(history, row);
  }
}

/* --- regions ------------------------------------------------------------------------------- */

static cvtm_status read_region(const cvtm_image *image, const char *path, const char *input,
                               cvtm_region *region, cvtm_error *error) {
  if (strcmp(path, "alpha") == 0) return cvtm_region_of_alpha(image, input, region, error);
  return cvtm_region_read(path, image->width, image->height, region, error);
}

static cvtm_status apply_weights(const cli_options *o, const cvtm_image *image, double *density,
                                 cvtm_error *error) {
  const size_t count = (size_t)image->width * (size_t)image->height;
  cvtm_status status = CVTM_OK;
  for (int k = 0; k < o->condition.weight.count && status == CVTM_OK; ++k) {
    size_t length = 0;
    double factor = 1;
    (void)cli_weight_parse(o->condition.weight.item[k], &length, &factor);
    char *path = strndup(o->condition.weight.item[k], length);
    cvtm_region region = {0};
    status = path != NULL ? read_region(image, path, o->input, &region, error) : no_memory(error);
    for (size_t p = 0; p < count && status == CVTM_OK; ++p)
      if (region.inside[p]) density[p] *= factor;
    cvtm_region_free(&region);
    free(path);
  }
  return status;
}

static cvtm_status make_domain(const cli_options *o, const cvtm_image *image, cli_conditioned *made,
                               cvtm_error *error) {
  const size_t count = (size_t)image->width * (size_t)image->height;
  const cli_list *within = &o->condition.within, *obstacle = &o->condition.obstacle;
  const uint8_t *segmented = made->segmentation.inside;
  const int regions = within->count + obstacle->count;
  if (regions == 0 && segmented == NULL) return CVTM_OK;
  made->inside = malloc(count);
  made->regions = calloc((size_t)regions + 1, sizeof *made->regions);
  if (made->inside == NULL || made->regions == NULL) return no_memory(error);
  made->obstacles_from = within->count;
  for (size_t p = 0; p < count; ++p) made->inside[p] = segmented == NULL || segmented[p] ? 1 : 0;
  for (int k = 0; k < regions; ++k) {
    const int wall = k >= within->count;
    const char *path = wall ? obstacle->item[k - within->count] : within->item[k];
    cvtm_region *region = &made->regions[made->region_count];
    const cvtm_status status = read_region(image, path, o->input, region, error);
    if (status != CVTM_OK) return status;
    ++made->region_count;
    for (size_t p = 0; p < count; ++p) made->inside[p] &= (uint8_t)(region->inside[p] != wall);
  }
  return CVTM_OK;
}

/* --- sites --------------------------------------------------------------------------------- */

/* May a site be at this place? */
static int is_free(const cli_conditioned *made, double x, double y) {
  const int64_t i = (int64_t)fmin(x, made->domain.width - 1);
  const int64_t j = (int64_t)fmin(y, made->domain.height - 1);
  const uint8_t *segmented = made->segmentation.inside;
  if (segmented != NULL && !segmented[j * made->domain.width + i]) return 0;
  for (int k = 0; k < made->region_count; ++k) {
    if (cvtm_region_contains(&made->regions[k], x, y) == (k >= made->obstacles_from)) return 0;
  }
  return 1;
}

/* The centre of the pixel of the domain nearest to a place; there is one. */
static void nearest_centre(const cli_conditioned *made, const double *place, double *centre) {
  const int width = made->domain.width, height = made->domain.height;
  const int i0 = (int)fmin(place[0], width - 1), j0 = (int)fmin(place[1], height - 1);
  double least = INFINITY;
  for (int ring = 0; ring <= (width > height ? width : height) && ring - 1 < least; ++ring) {
    for (int j = j0 - ring; j <= j0 + ring; ++j) {
      const int across = j == j0 - ring || j == j0 + ring || ring == 0 ? 1 : 2 * ring;
      for (int i = i0 - ring; i <= i0 + ring; i += across) {
        if (i < 0 || j < 0 || i >= width || j >= height) continue;
        const double off = hypot(i + 0.5 - place[0], j + 0.5 - place[1]);
        if (off >= least || !made->inside[(int64_t)j * width + i]) continue;
        least = off;
        centre[0] = i + 0.5;
        centre[1] = j + 0.5;
      }
    }
  }
}

/* From where no site may be to a free centre: a little beyond the border on the way. */
static void move_out(const cli_conditioned *made, double *site) {
  const double margin = 1e-3; /* pixels */
  double centre[2] = {site[0], site[1]}, low = 0, high = 1;
  nearest_centre(made, site, centre);
  const double dx = centre[0] - site[0], dy = centre[1] - site[1];
  for (int k = 0; k < 40; ++k) {
    const double middle = 0.5 * (low + high);
    if (is_free(made, site[0] + middle * dx, site[1] + middle * dy)) {
      high = middle;
    } else {
      low = middle;
    }
  }
  const double beyond = fmin(high + margin / hypot(dx, dy), 1);
  if (is_free(made, site[0] + beyond * dx, site[1] + beyond * dy)) high = beyond;
  site[0] += high * dx;
  site[1] += high * dy;
}

int64_t cli_condition_move_sites(const cli_conditioned *made, double *sites, int64_t count) {
  int64_t moved = 0;
  if (made->inside == NULL) return 0;
  for (int64_t k = 0; k < count; ++k) {
    if (is_free(made, sites[2 * k], sites[2 * k + 1])) continue;
    move_out(made, sites + 2 * k);
    ++moved;
  }
  return moved;
}

/* --- the density --------------------------------------------------------------------------- */

static cvtm_status check_range(const char *path, const double *density, size_t count,
                               cvtm_error *error) {
  double most = 0;
  for (size_t p = 0; p < count; ++p) most = fmax(most, density[p]);
  if (most > (double)FLT_MAX)
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "%s: the weights make a density beyond single precision", path);
  if (most > 0) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_INPUT,
                   "%s: weights and domain leave no pixel with a density above zero;"
                   " --floor or --invert may help",
                   path);
}

static cvtm_status smooth(cvtm_device *device, const cli_options *o, cli_conditioned *made,
                          cvtm_error *error) {
  const cvtm_condition_options how = {
      .bias = o->condition.bias,
      .smooth = o->condition.smooth,
      .bias_method = (cvtm_hlcp_method)o->condition.bias_method,
      .grade = o->condition.grade,
      .grade_max = o->condition.grade_max > 0 ? o->condition.grade_max : (double)INFINITY,
      .grade_size = o->condition.grade_size};
  made->result.converged = 1;
  if (!cvtm_condition_wanted(&how)) return CVTM_OK;
  cvtm_device *borrowed = NULL;
  cvtm_status status = borrow(device, o, &borrowed, error);
  if (status != CVTM_OK) return status;
  status = cvtm_density_condition(borrowed, made->domain.width, made->domain.height, made->inside,
                                  &how, made->precise, &made->result);
  if (status != CVTM_OK) *error = *cvtm_device_error(borrowed);
  if (device == NULL) cvtm_device_destroy(borrowed);
  return status;
}

static cvtm_status condition(cvtm_device *device, const cli_options *o, const cvtm_image *image,
                             cli_conditioned *made, cvtm_error *error) {
  const size_t count = (size_t)image->width * (size_t)image->height;
  made->precise = malloc(count * sizeof *made->precise);
  if (made->precise == NULL) return no_memory(error);
  for (size_t p = 0; p < count; ++p) made->precise[p] = (double)made->density[p];
  cvtm_status status = CVTM_OK;
  if (o->segment.on) status = cli_segment_image(device, o, image, &made->segmentation, error);
  if (status == CVTM_OK) status = apply_weights(o, image, made->precise, error);
  if (status == CVTM_OK) status = make_domain(o, image, made, error);
  if (status != CVTM_OK) return status;
  for (size_t p = 0; p < count; ++p)
    if (made->inside != NULL && !made->inside[p]) made->precise[p] = 0;
  status = check_range(o->input, made->precise, count, error);
  if (status == CVTM_OK) status = smooth(device, o, made, error);
  for (size_t p = 0; p < count; ++p) made->density[p] = (float)made->precise[p];
  return status;
}

cvtm_status cli_read_conditioned(cvtm_device *device, const char *path, cli_options *options,
                                 cli_conditioned *made, cvtm_error *error) {
  *made = (cli_conditioned){0};
  cvtm_image image = {0};
  cvtm_status status = cvtm_image_read(path, &image, error);
  if (status == CVTM_OK)
    status = cli_density_of_image(&image, path, options, &made->density, &made->domain, error);
  if (status == CVTM_OK) status = condition(device, options, &image, made, error);
  cvtm_image_free(&image);
  if (status != CVTM_OK) cli_conditioned_free(made);
  return status;
}

void cli_conditioned_free(cli_conditioned *made) {
  free(made->density);
  free(made->precise);
  free(made->inside);
  for (int k = 0; k < made->region_count; ++k) cvtm_region_free(&made->regions[k]);
  free(made->regions);
  cli_segmentation_free(&made->segmentation);
  *made = (cli_conditioned){0};
}

void cli_condition_report(const cli_options *o, const cli_conditioned *made, cJSON *report) {
  if (o->segment.on) cli_segment_report(&made->segmentation, report);
  if (o->condition.smooth > 0) {
    const cvtm_hlcp_result *r = &made->result.bias;
    cJSON *entry = cJSON_AddObjectToObject(report, "smoothing");
    cli_json_integer(entry, "iterations", r->iterations);
    cli_json_integer(entry, "cycles", r->linear_iterations);
    cli_json_real(entry, "residual", r->residual);
    cli_json_text(entry, "stop_reason", cvtm_hlcp_stop_name(r->stop));
    cli_json_real(entry, "seconds", r->seconds);
  }
  if (o->condition.grade > 0) {
    const cvtm_lcp_result *r = &made->result.grade;
    cJSON *entry = cJSON_AddObjectToObject(report, "grading");
    cli_json_integer(entry, "iterations", r->iterations);
    cli_json_real(entry, "natural_residual", r->natural_residual);
    cli_json_integer(entry, "active_lower", r->active_lower);
    cli_json_integer(entry, "active_upper", r->active_upper);
    cli_json_text(entry, "stop_reason", cvtm_lcp_stop_name(r->stop));
    cli_json_real(entry, "seconds", r->seconds);
  }
}

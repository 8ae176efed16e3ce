/* What `run` reads: image, density, domain, and the sites that the user gives. */
#include "base/ranks.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/preset.h"
#include "cli/run_job.h"
#include "meshes/mesh_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

int cli_run_place_given_sites(cli_run_job *r) {
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

static cvtm_status read_domain(cli_run_job *r, cvtm_error *error) {
  float *segmented = NULL;
  if (r->options.segment.on) {
    segmented = malloc((size_t)r->domain.width * (size_t)r->domain.height * sizeof *segmented);
    if (segmented == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
    cvtm_segmentation_coverage(&r->made.segmentation, segmented);
  }
  const cvtm_status status =
      cli_domain_read(&r->options, r->domain, segmented, r->made.density, &r->shape, error);
  free(segmented);
  return status;
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
  int64_t facts[] = {r->domain.width, r->domain.height, r->options.points};
  const cvtm_status status = cvtm_ranks_broadcast(device, facts, sizeof facts);
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
    status = read_domain(r, &error);
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

int cli_run_read_density(cli_run_job *r, cvtm_device *device) {
  if (device == NULL || cvtm_device_ranks(device) == NULL) return read_density(r, device);
  const int code = cvtm_ranks_lead(device) ? read_density(r, device) : CLI_EXIT_OK;
  if (code != CLI_EXIT_OK) return code;
  const cvtm_status status = share_reading(r, device);
  return status == CVTM_OK ? code : cli_failed(CLI_WORKING, status, cvtm_device_error(device));
}

#include "run/input.h"

#include "cvt/local_mean.h"
#include "run/colours.h"
#include "run/condition.h"
#include "run/flatten.h"
#include "run/json.h"
#include "run/stipples.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void run_choose_tone(const cvtm_image *image, cvtm_run_options *options,
                     cvtm_density_options *tone) {
  cvtm_density_defaults(tone);
  tone->invert = options->invert;
  tone->gamma = options->gamma;
  tone->from = options->density_from;
  tone->floor = options->floor;
  tone->black = options->black;
  tone->white = options->white;
  tone->contrast = options->contrast;
  if (options->dots == CVTM_RUN_DOTS_TONE) tone->dot_ratio = run_dot_ratio(options);
  if (tone->from == CVTM_DENSITY_FROM_AUTO)
    tone->from = image->is_data ? CVTM_DENSITY_FROM_DENSITY : CVTM_DENSITY_FROM_TONE;
  options->density_from = tone->from;
  /* With --equal-mass the sites follow the density itself, not its square root, so the exponent is
   * halved. Sites of blue noise follow the root of a density that is the square of the value. */
  if (options->noise == CVTM_RUN_NOISE_BLUE && tone->from == CVTM_DENSITY_FROM_DENSITY)
    tone->gamma *= 2;
  if (options->equal_mass.on && tone->from != CVTM_DENSITY_FROM_DENSITY) tone->gamma *= 0.5;
}

CVTM_PRINTF(2, 3)
static void note(const cvtm_run_options *options, const char *format, ...) {
  char text[4096];
  va_list arguments;
  if (options->note == NULL) return;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  options->note(options->context, text);
}

cvtm_status run_read_image(const cvtm_run_options *options, const cvtm_input *source, int with_rgb,
                           cvtm_image *image, cvtm_error *error) {
  const cvtm_status status = cvtm_image_open(source, with_rgb, image, error);
  if (status == CVTM_OK && image->note[0] != 0)
    note(options, "%s: note: %s", source->name, image->note);
  return status;
}

cvtm_status run_read_pslg(const cvtm_run_options *options, const char *path, cvtm_pslg *pslg,
                          int *is_rings, cvtm_error *error) {
  const cvtm_status status = cvtm_pslg_read(path, pslg, is_rings, error);
  if (status == CVTM_OK && pslg->skipped > 0)
    note(options, "%s: note: %lld %s left out: the ends are the same vertex", path,
         (long long)pslg->skipped, pslg->skipped == 1 ? "segment is" : "segments are");
  return status;
}

int run_tone_is_averaged(const cvtm_run_options *o) {
  const int is_plain = o->preset != CVTM_RUN_PRESET_PAPER && !o->equal_mass.on &&
                       o->noise == CVTM_RUN_NOISE_HEXAGONAL && o->dots != CVTM_RUN_DOTS_TONE &&
                       !run_colours_wanted(o);
  const cvtm_condition_options conditions = o->condition.how;
  return o->density_from == CVTM_DENSITY_FROM_TONE && is_plain &&
         !cvtm_condition_wanted(&conditions);
}

cvtm_status run_average_tone(const cvtm_run_options *o, cvtm_domain domain, int64_t count,
                             float *density, cvtm_error *error) {
  cvtm_ink ink;
  int is_even;
  if (count < 1 || !run_tone_is_averaged(o)) return CVTM_OK;
  CVTM_TRY(run_ink_find(o, domain, &ink, &is_even, error));
  return cvtm_density_of_local_mean(domain, (double)count, is_even ? &ink : NULL, density, error);
}

cvtm_status run_read_density(const cvtm_input *source, cvtm_run_options *options, float **density,
                             float **tone, cvtm_domain *domain, cvtm_error *error) {
  const char *path = source->name;
  cvtm_density_options how;
  *density = NULL;
  cvtm_image image = {0};
  cvtm_status status = run_read_image(options, source, 0, &image, error);
  if (status == CVTM_OK) {
    run_choose_tone(&image, options, &how);
    *domain = (cvtm_domain){image.width, image.height, options->periodic};
    status = run_world_set(options, &image.place, path, image.height, error);
  }
  if (status == CVTM_OK) status = run_flatten(&image, options->flatten, path, error);
  if (status == CVTM_OK) status = cvtm_density_from_image(&image, &how, path, density, error);
  if (status == CVTM_OK && tone != NULL)
    status = cvtm_tone_from_image(&image, &how, path, tone, error);
  if (status != CVTM_OK) {
    free(*density);
    *density = NULL;
  }
  cvtm_image_free(&image);
  return status;
}

cvtm_status run_check_sizes(const cvtm_image *image, const cvtm_run_options *options,
                            cvtm_error *error) {
  const int counts =
      options->purpose == CVTM_RUN_ALL && options->points == 0 && options->init.name == NULL;
  if (!counts || image->is_data || options->density_from != CVTM_DENSITY_FROM_SIZE) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_INPUT,
                   "%s: the values of a picture, 0 to 1, are not sizes in pixels: give --points, "
                   "or sizes as data (npy, pfm, float tiff)",
                   options->input.name);
}

int run_is_inside(const double *point, cvtm_domain domain) {
  return point[0] >= 0 && point[0] <= domain.width && point[1] >= 0 && point[1] <= domain.height;
}

cvtm_status run_require_inside(const char *path, const double *points, int64_t count,
                               cvtm_domain domain, cvtm_error *error) {
  for (int64_t i = 0; i < count; ++i) {
    double x = points[2 * i], y = points[2 * i + 1];
    if (run_is_inside(points + 2 * i, domain)) continue;
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "%s: point %lld at %g, %g is outside the image of %d x %d pixels", path,
                     (long long)i + 1, x, y, domain.width, domain.height);
  }
  return CVTM_OK;
}

cvtm_status run_name_file(const char *path, cvtm_status status, cvtm_error *error) {
  if (status != CVTM_ERROR_INPUT || strncmp(error->message, path, strlen(path)) == 0) return status;
  const cvtm_error reason = *error;
  return cvtm_fail(error, status, "%s: %s", path, reason.message);
}

/* --- the position of the picture in the world ----------------------------------------------- */

/* The size of a pixel, before its conversion to the unit of files. */
typedef struct pixel_size {
  double width, height;
  int unit; /* -1: none */
} pixel_size;

static pixel_size given_size(const cvtm_run_options *o) {
  const cvtm_run_lengths *size = &o->world.pixel_size;
  return (pixel_size){size->value[0], size->value[size->count > 1], size->unit};
}

/* Nonzero for square pixels, which densities and energies assume. */
static int is_square(const pixel_size *size) {
  return fabs(size->width - size->height) <= 1e-6 * size->width;
}

static cvtm_status check_size(const cvtm_run_options *o, cvtm_error *error) {
  const cvtm_run_lengths *given = &o->world.pixel_size;
  const pixel_size size = given_size(o);
  char text[RUN_LENGTHS_TEXT];
  if (o->world.from_file) {
    const int has_picture = o->purpose != CVTM_RUN_POINTS && o->purpose != CVTM_RUN_OUTLINE;
    return has_picture ? CVTM_OK : run_usage_error(error, "--pixel-size file needs a picture");
  }
  if (!run_lengths_are_sizes(given) || given->unit == CVTM_RUN_UNIT_PIXEL)
    return run_usage_error(error, "--pixel-size: '%s' is neither a length nor `file`",
                           run_lengths_text(given, text));
  if (!is_square(&size))
    return run_usage_error(
        error,
        "--pixel-size %s: the pixels are not square; resample the picture to square ones first",
        run_lengths_text(given, text));
  if (run_unit_mm(o->unit) > 0 && size.unit < 0)
    return run_usage_error(error, "--unit %s: --pixel-size %s has no unit", run_unit_name(o->unit),
                           run_lengths_text(given, text));
  return CVTM_OK;
}

cvtm_status run_world_check(const cvtm_run_options *o, cvtm_error *error) {
  const cvtm_run_lengths *origin = &o->world.origin;
  const int in_length = origin->unit == CVTM_RUN_UNIT_NONE || run_unit_mm(origin->unit) > 0;
  char text[RUN_LENGTHS_TEXT];
  if (!run_has_world(o))
    return origin->count == 0 ? CVTM_OK : run_usage_error(error, "--origin needs --pixel-size");
  if (o->unit == CVTM_RUN_UNIT_WIDTH)
    return run_usage_error(error, "--unit width does not go with --pixel-size");
  if (origin->count != 0 && (origin->count != 2 || !in_length))
    return run_usage_error(error, "--origin: '%s' is not X,Y", run_lengths_text(origin, text));
  return check_size(o, error);
}

int run_world_may_have_unit(const cvtm_run_options *o) {
  return o->world.from_file || (o->world.pixel_size.count > 0 && o->world.pixel_size.unit >= 0);
}

static int find_unit(const char *name) {
  for (int unit = CVTM_RUN_UNIT_WIDTH + 1; unit < CVTM_RUN_UNIT_COUNT; ++unit)
    if (name != NULL && strcmp(run_unit_name(unit), name) == 0) return unit;
  return -1;
}

static cvtm_status size_of_file(const cvtm_image_place *place, const char *path, pixel_size *size,
                                cvtm_error *error) {
  if (place == NULL || !(place->pixel[0] > 0))
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "%s: the file does not say how large its pixels are; give --pixel-size", path);
  *size = (pixel_size){place->pixel[0], place->pixel[1], find_unit(place->unit)};
  if (is_square(size)) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_INPUT,
                   "%s: pixels of %g x %g %s are not square; resample the picture to square ones",
                   path, size->width, size->height, place->unit != NULL ? place->unit : "units");
}

/* Sets the origin: that of --origin, of the file, or 0. factor: from the unit of the file to the
 * unit of the world. */
static cvtm_status set_origin(cvtm_run_options *o, const cvtm_image_place *place, double factor,
                              int height, int world_unit, cvtm_error *error) {
  const cvtm_run_lengths *given = &o->world.origin;
  char text[RUN_LENGTHS_TEXT];
  double origin[2] = {0, 0};
  if (given->count > 0) {
    if (given->unit >= 0 && world_unit < 0)
      return cvtm_fail(error, CVTM_ERROR_INPUT, "--origin %s: the size of pixels has no unit",
                       run_lengths_text(given, text));
    for (int k = 0; k < 2; ++k)
      origin[k] = given->unit < 0
                      ? given->value[k]
                      : given->value[k] * (run_unit_mm(given->unit) / run_unit_mm(world_unit));
  } else if (o->world.from_file && place->has_origin) {
    origin[0] = factor * place->left;
    origin[1] = factor * (place->top - place->pixel[1] * height);
  }
  o->world.left = origin[0];
  o->world.bottom = origin[1];
  return CVTM_OK;
}

cvtm_status run_world_set(cvtm_run_options *o, const cvtm_image_place *place, const char *path,
                          int height, cvtm_error *error) {
  if (!run_has_world(o)) return CVTM_OK;
  pixel_size size = given_size(o);
  CVTM_TRY(o->world.from_file ? size_of_file(place, path, &size, error) : CVTM_OK);
  const int unit = run_unit_mm(o->unit) > 0 ? o->unit : size.unit;
  if (unit >= 0 && size.unit < 0)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: --unit %s: the file does not name its unit",
                     path, run_unit_name(unit));
  const double factor = unit == size.unit ? 1 : run_unit_mm(size.unit) / run_unit_mm(unit);
  o->world.scale = factor * size.width;
  o->world.unit = unit >= 0 ? run_unit_name(unit) : NULL;
  o->world.mm = size.unit >= 0 ? run_unit_mm(size.unit) * size.width : 0;
  return set_origin(o, place, factor, height, unit, error);
}

/* --- the report --- */

static double edge_length(const double *points, int32_t a, int32_t b) {
  return hypot(points[2 * a] - points[2 * b], points[2 * a + 1] - points[2 * b + 1]);
}

/* Lengths of the triangles' edges, and the area of the mesh, in pixels; inner edges count twice. */
typedef struct mesh_sizes {
  double shortest, longest, sum, area;
} mesh_sizes;

static mesh_sizes measure_mesh(const cvtm_mesh *mesh) {
  mesh_sizes sizes = {.shortest = (double)INFINITY};
  const double *p = mesh->points;
  for (int64_t t = 0; t < mesh->triangle_count; ++t) {
    const int32_t *v = mesh->triangles + 3 * t;
    for (int k = 0; k < 3; ++k) {
      const double length = edge_length(p, v[k], v[(k + 1) % 3]);
      sizes.shortest = fmin(sizes.shortest, length);
      sizes.longest = fmax(sizes.longest, length);
      sizes.sum += length;
    }
    sizes.area += fabs((p[2 * v[1]] - p[2 * v[0]]) * (p[2 * v[2] + 1] - p[2 * v[0] + 1]) -
                       (p[2 * v[2]] - p[2 * v[0]]) * (p[2 * v[1] + 1] - p[2 * v[0] + 1])) /
                  2;
  }
  return sizes;
}

void run_world_report(const cvtm_run_options *options, cvtm_domain domain, const cvtm_mesh *mesh,
                      cJSON *report) {
  const double scale = options->world.scale;
  if (!(scale > 0)) return;
  cJSON *world = cJSON_AddObjectToObject(report, "world");
  run_json_text(world, "unit", options->world.unit);
  run_json_real(world, "pixel_size", scale);
  cJSON *origin = cJSON_AddArrayToObject(world, "origin");
  run_json_append(origin, cJSON_CreateNumber(options->world.left));
  run_json_append(origin, cJSON_CreateNumber(options->world.bottom));
  run_json_real(world, "width", scale * domain.width);
  run_json_real(world, "height", scale * domain.height);
  run_json_real(world, "area", scale * domain.width * scale * domain.height);
  if (mesh->triangle_count == 0) return;
  const mesh_sizes sizes = measure_mesh(mesh);
  run_json_real(world, "mesh_area", scale * scale * sizes.area);
  run_json_real(world, "mean_triangle_area",
                scale * scale * sizes.area / (double)mesh->triangle_count);
  run_json_real(world, "shortest_edge", scale * sizes.shortest);
  run_json_real(world, "mean_edge", scale * sizes.sum / (3 * (double)mesh->triangle_count));
  run_json_real(world, "longest_edge", scale * sizes.longest);
}

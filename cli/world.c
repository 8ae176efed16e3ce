#include "cli/world.h"

#include "cli/cli.h"
#include "cli/report.h"

#include <math.h>
#include <string.h>

/* A size of pixels, before it is converted to the unit of files. */
typedef struct pixel_size {
  double width, height;
  int unit; /* -1: none */
} pixel_size;

static int comes_from_file(const cli_options *options) {
  return strcmp(options->world.pixel_size, "file") == 0;
}

/* Returns 0 if the text is neither SIZE nor WIDTH,HEIGHT with a unit of length or without. */
static int parse_size(const char *text, pixel_size *size) {
  double numbers[2];
  if (cli_lengths_parse(text, 1, numbers, &size->unit))
    numbers[1] = numbers[0];
  else if (!cli_lengths_parse(text, 2, numbers, &size->unit))
    return 0;
  size->width = numbers[0];
  size->height = numbers[1];
  return size->width > 0 && size->height > 0 && size->unit != CLI_UNIT_PIXEL;
}

/* The densities and the energies are those of square pixels. */
static int is_square(const pixel_size *size) {
  return fabs(size->width - size->height) <= 1e-6 * size->width;
}

static int parse_origin(const char *text, double *origin, int *unit) {
  return cli_lengths_parse(text, 2, origin, unit) && *unit != CLI_UNIT_PIXEL;
}

static int check_size(const cli_options *o) {
  pixel_size size;
  const char *text = o->world.pixel_size;
  if (comes_from_file(o)) {
    const int has_picture = o->command == CLI_STATS ? o->photograph != NULL || o->density != NULL
                                                    : o->command != CLI_MESH;
    return has_picture ? CLI_EXIT_OK
                       : cli_usage_error(o->command, "--pixel-size file: there is no picture");
  }
  if (!parse_size(text, &size))
    return cli_usage_error(o->command, "--pixel-size: '%s' is neither a length nor `file`", text);
  if (!is_square(&size))
    return cli_usage_error(o->command,
                           "--pixel-size %s: pixels that are not square; resample "
                           "the picture to square ones first",
                           text);
  if (cli_unit_mm(o->unit) > 0 && size.unit < 0)
    return cli_usage_error(o->command, "--unit %s: --pixel-size %s has no unit",
                           cli_unit_name(o->unit), text);
  return CLI_EXIT_OK;
}

int cli_world_check(const cli_options *o) {
  double origin[2];
  int unit;
  if (o->world.pixel_size == NULL)
    return o->world.origin == NULL
               ? CLI_EXIT_OK
               : cli_usage_error(o->command, "--origin: --pixel-size is missing");
  if (o->unit == CLI_UNIT_WIDTH)
    return cli_usage_error(o->command, "--unit width is not for --pixel-size");
  if (o->world.origin != NULL && !parse_origin(o->world.origin, origin, &unit))
    return cli_usage_error(o->command, "--origin: '%s' is not X,Y", o->world.origin);
  return check_size(o);
}

int cli_world_may_have_unit(const cli_options *o) {
  pixel_size size;
  if (o->world.pixel_size == NULL) return 0;
  return comes_from_file(o) || (parse_size(o->world.pixel_size, &size) && size.unit >= 0);
}

static int find_unit(const char *name) {
  for (int unit = CLI_UNIT_WIDTH + 1; unit < CLI_UNIT_COUNT; ++unit)
    if (name != NULL && strcmp(cli_unit_name(unit), name) == 0) return unit;
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

/* Sets the origin: of --origin, or of the file, or 0. factor: from the unit of the file to the unit
 * of the world. */
static cvtm_status set_origin(cli_options *o, const cvtm_image_place *place, double factor,
                              int height, int world_unit, cvtm_error *error) {
  double origin[2] = {0, 0};
  int unit = -1;
  if (o->world.origin != NULL) {
    (void)parse_origin(o->world.origin, origin, &unit);
    if (unit >= 0 && world_unit < 0)
      return cvtm_fail(error, CVTM_ERROR_INPUT, "--origin %s: the size of pixels has no unit",
                       o->world.origin);
    for (int k = 0; k < 2 && unit >= 0; ++k)
      origin[k] *= cli_unit_mm(unit) / cli_unit_mm(world_unit);
  } else if (comes_from_file(o) && place->has_origin) {
    origin[0] = factor * place->left;
    origin[1] = factor * (place->top - place->pixel[1] * height);
  }
  o->world.left = origin[0];
  o->world.bottom = origin[1];
  return CVTM_OK;
}

cvtm_status cli_world_set(cli_options *o, const cvtm_image_place *place, const char *path,
                          int height, cvtm_error *error) {
  if (o->world.pixel_size == NULL) return CVTM_OK;
  pixel_size size;
  cvtm_status status = CVTM_OK;
  if (comes_from_file(o)) {
    status = size_of_file(place, path, &size, error);
  } else {
    (void)parse_size(o->world.pixel_size, &size);
  }
  if (status != CVTM_OK) return status;
  const int unit = cli_unit_mm(o->unit) > 0 ? o->unit : size.unit;
  if (unit >= 0 && size.unit < 0)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: --unit %s: the file does not name its unit",
                     path, cli_unit_name(unit));
  const double factor = unit == size.unit ? 1 : cli_unit_mm(size.unit) / cli_unit_mm(unit);
  o->world.scale = factor * size.width;
  o->world.unit = unit >= 0 ? cli_unit_name(unit) : NULL;
  o->world.mm = size.unit >= 0 ? cli_unit_mm(size.unit) * size.width : 0;
  return set_origin(o, place, factor, height, unit, error);
}

/* --- the report --- */

static double edge_length(const double *points, int32_t a, int32_t b) {
  return hypot(points[2 * a] - points[2 * b], points[2 * a + 1] - points[2 * b + 1]);
}

/* Lengths of the triangles' edges and their area, in pixels; an inner edge counts twice. */
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

void cli_world_report(const cli_options *options, cvtm_domain domain, const cvtm_mesh *mesh,
                      cJSON *report) {
  const double scale = options->world.scale;
  if (!(scale > 0)) return;
  cJSON *world = cJSON_AddObjectToObject(report, "world");
  cli_json_text(world, "unit", options->world.unit);
  cli_json_real(world, "pixel_size", scale);
  cJSON *origin = cJSON_AddArrayToObject(world, "origin");
  cli_json_append(origin, cJSON_CreateNumber(options->world.left));
  cli_json_append(origin, cJSON_CreateNumber(options->world.bottom));
  cli_json_real(world, "width", scale * domain.width);
  cli_json_real(world, "height", scale * domain.height);
  cli_json_real(world, "area", scale * domain.width * scale * domain.height);
  if (mesh->triangle_count == 0) return;
  const mesh_sizes sizes = measure_mesh(mesh);
  cli_json_real(world, "mesh_area", scale * scale * sizes.area);
  cli_json_real(world, "mean_triangle_area",
                scale * scale * sizes.area / (double)mesh->triangle_count);
  cli_json_real(world, "shortest_edge", scale * sizes.shortest);
  cli_json_real(world, "mean_edge", scale * sizes.sum / (3 * (double)mesh->triangle_count));
  cli_json_real(world, "longest_edge", scale * sizes.longest);
}

void cli_world_print(const cli_options *options, cvtm_domain domain, FILE *stream) {
  const double scale = options->world.scale;
  const char *unit = options->world.unit != NULL ? options->world.unit : "units";
  if (!(scale > 0)) return;
  fprintf(stream, "  world      %.6g x %.6g %s from (%.9g, %.9g), a pixel is %.6g %s\n",
          scale * domain.width, scale * domain.height, unit, options->world.left,
          options->world.bottom, scale, unit);
}

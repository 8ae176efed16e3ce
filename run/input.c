#include "run/input.h"

#include "base/npy.h"
#include "cli/cli.h"
#include "run/json.h"
#include "run/stipples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void run_choose_tone(const cvtm_image *image, cli_options *options, cvtm_density_options *tone) {
  cvtm_density_defaults(tone);
  tone->invert = options->invert;
  tone->gamma = options->gamma;
  tone->from = (cvtm_density_from)options->density_from;
  tone->floor = options->floor;
  tone->black = options->black;
  tone->white = options->white;
  tone->contrast = options->contrast;
  if (options->dots == CLI_DOTS_TONE) tone->dot_ratio = run_dot_ratio(options);
  if (tone->from == CVTM_DENSITY_FROM_AUTO)
    tone->from = image->is_data ? CVTM_DENSITY_FROM_DENSITY : CVTM_DENSITY_FROM_TONE;
  options->density_from = (int)tone->from;
  /* With --equal-mass the sites follow the density itself, not its square root, so the exponent is
   * halved. Those of blue noise follow the root of a density that is the square of the value. */
  if (options->noise == CLI_NOISE_BLUE && tone->from == CVTM_DENSITY_FROM_DENSITY) tone->gamma *= 2;
  if (options->equal_mass.on && tone->from != CVTM_DENSITY_FROM_DENSITY) tone->gamma *= 0.5;
}

cvtm_status run_read_image(const cli_options *options, const char *path, int with_rgb,
                           cvtm_image *image, cvtm_error *error) {
  const cvtm_status status =
      with_rgb ? cvtm_image_read_colour(path, image, error) : cvtm_image_read(path, image, error);
  if (status == CVTM_OK && image->note[0] != 0 && !options->quiet)
    fprintf(stderr, "%s: note: %s\n", path, image->note);
  return status;
}

cvtm_status run_read_pslg(const cli_options *options, const char *path, cvtm_pslg *pslg,
                          int *is_rings, cvtm_error *error) {
  const cvtm_status status = cvtm_pslg_read(path, pslg, is_rings, error);
  if (status == CVTM_OK && pslg->skipped > 0 && !options->quiet)
    fprintf(stderr, "%s: note: %lld %s left out: the ends are the same vertex\n", path,
            (long long)pslg->skipped, cli_word(pslg->skipped, "segment is", "segments are"));
  return status;
}

cvtm_status run_read_density(const char *path, cli_options *options, float **density, float **tone,
                             cvtm_domain *domain, cvtm_error *error) {
  cvtm_density_options how;
  *density = NULL;
  cvtm_image image = {0};
  cvtm_status status = run_read_image(options, path, 0, &image, error);
  if (status == CVTM_OK) {
    run_choose_tone(&image, options, &how);
    *domain = (cvtm_domain){image.width, image.height, options->periodic};
    status = run_world_set(options, &image.place, path, image.height, error);
  }
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

/* No points this far from 0: the sides of their domain are integers of 32 bits. */
static const double far = 1e9;

/* The smallest side that holds coordinates from `low` to `high`; 0 if that is too large. */
static int side_for(double low, double high, double *corner) {
  if (low >= 0 && high <= CVTM_MAX_SIDE) return high <= 1 ? 1 : (int)ceil(high);
  if (corner == NULL) return high <= 1 ? 1 : high <= CVTM_MAX_SIDE ? (int)ceil(high) : 0;
  if (!(low > -far && high < far)) return 0;
  *corner = floor(low);
  return (int)fmax(ceil(high - *corner), 1);
}

cvtm_status run_check_sizes(const cvtm_image *image, const cli_options *options,
                            cvtm_error *error) {
  const int counts = options->command == CLI_RUN && options->points == 0 && options->init == NULL;
  if (!counts || image->is_data || options->density_from != CVTM_DENSITY_FROM_SIZE) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_INPUT,
                   "%s: the values of a picture, 0 to 1, are no sizes in pixels: give --points, or "
                   "sizes as data (npy, pfm, float tiff)",
                   options->input);
}

/* The sides that --width, --height or else --like give; 0: none. */
static cvtm_status given_sides(const cli_options *options, int64_t side[2], cvtm_error *error) {
  side[0] = options->width;
  side[1] = options->height;
  if (options->like == NULL || (side[0] > 0 && side[1] > 0)) return CVTM_OK;
  cvtm_image image = {0};
  const cvtm_status status = cvtm_image_read(options->like, &image, error);
  if (status == CVTM_OK && side[0] == 0) side[0] = image.width;
  if (status == CVTM_OK && side[1] == 0) side[1] = image.height;
  cvtm_image_free(&image);
  return status;
}

cvtm_status cli_domain_of_points(const cli_options *options, const char *path, const double *points,
                                 int64_t count, cvtm_domain *domain, double corner[2],
                                 cvtm_error *error) {
  double low[2] = {(double)INFINITY, (double)INFINITY}, high[2] = {0, 0};
  int64_t side[2];
  const cvtm_status status = given_sides(options, side, error);
  if (status != CVTM_OK) return status;
  for (int axis = 0; axis < 2; ++axis) {
    if (count > 0) high[axis] = points[axis];
    for (int64_t i = axis; i < 2 * count; i += 2) {
      low[axis] = fmin(low[axis], points[i]);
      high[axis] = fmax(high[axis], points[i]);
    }
    double *at = corner != NULL ? corner + axis : NULL;
    if (at != NULL) *at = 0;
    if (side[axis] == 0) side[axis] = side_for(low[axis], high[axis], at);
  }
  *domain = (cvtm_domain){(int)side[0], (int)side[1], options->periodic};
  if (domain->width > 0 && domain->height > 0) return CVTM_OK;
  if (corner != NULL)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: a coordinate is beyond %g", path, far);
  return cvtm_fail(error, CVTM_ERROR_INPUT,
                   "%s: coordinates up to %g, %g are beyond the largest domain, %d x %d pixels",
                   path, high[0], high[1], CVTM_MAX_SIDE, CVTM_MAX_SIDE);
}

void cli_move_to_corner(const double corner[2], double *points, int64_t count) {
  for (int64_t i = 0; i < 2 * count && (corner[0] != 0 || corner[1] != 0); ++i)
    points[i] -= corner[i % 2];
}

static int is_inside(const double *point, cvtm_domain domain) {
  return point[0] >= 0 && point[0] <= domain.width && point[1] >= 0 && point[1] <= domain.height;
}

void cli_note_outside(const cli_options *options, const double *points, int64_t count,
                      cvtm_domain domain) {
  int64_t outside = 0;
  if (options->quiet || domain.periodic) return;
  for (int64_t i = 0; i < count; ++i) outside += !is_inside(points + 2 * i, domain);
  if (outside == 0) return;
  fprintf(stderr, "%s: note: %lld of %lld points lie outside the domain of %d x %d pixels\n",
          cli_visible(options->input), (long long)outside, (long long)count, domain.width,
          domain.height);
}

cvtm_status run_require_inside(const char *path, const double *points, int64_t count,
                               cvtm_domain domain, cvtm_error *error) {
  for (int64_t i = 0; i < count; ++i) {
    double x = points[2 * i], y = points[2 * i + 1];
    if (is_inside(points + 2 * i, domain)) continue;
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "%s: point %lld at %g, %g is outside the image of %d x %d pixels", path,
                     (long long)i + 1, x, y, domain.width, domain.height);
  }
  return CVTM_OK;
}

cvtm_status cli_read_vector(const char *path, int64_t rows, double **vector, cvtm_error *error) {
  cvtm_npy array;
  if (path == NULL) return CVTM_OK;
  const cvtm_status status = cvtm_npy_read(path, &array, error);
  if (status != CVTM_OK) return status;
  if (array.count != rows) {
    const long long count = array.count;
    cvtm_npy_free(&array);
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: %lld numbers for a matrix of %lld rows", path,
                     count, (long long)rows);
  }
  *vector = malloc((size_t)rows * sizeof **vector);
  for (int64_t k = 0; k < rows && *vector != NULL; ++k) (*vector)[k] = cvtm_npy_get(&array, k);
  cvtm_npy_free(&array);
  if (*vector != NULL) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path);
}

cvtm_status run_name_file(const char *path, cvtm_status status, cvtm_error *error) {
  if (status != CVTM_ERROR_INPUT || strncmp(error->message, path, strlen(path)) == 0) return status;
  const cvtm_error reason = *error;
  return cvtm_fail(error, status, "%s: %s", path, reason.message);
}

/* --- the picture's place in the world ------------------------------------------------------- */

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

int run_world_check(const cli_options *o) {
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

int run_world_may_have_unit(const cli_options *o) {
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

cvtm_status run_world_set(cli_options *o, const cvtm_image_place *place, const char *path,
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

void run_world_report(const cli_options *options, cvtm_domain domain, const cvtm_mesh *mesh,
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

void cli_world_print(const cli_options *options, cvtm_domain domain, FILE *stream) {
  const double scale = options->world.scale;
  const char *unit = options->world.unit != NULL ? options->world.unit : "units";
  if (!(scale > 0)) return;
  fprintf(stream, "  world      %.6g x %.6g %s from (%.9g, %.9g), a pixel is %.6g %s\n",
          scale * domain.width, scale * domain.height, unit, options->world.left,
          options->world.bottom, scale, unit);
}

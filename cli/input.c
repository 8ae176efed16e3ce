#include "cli/input.h"

#include "cli/cli.h"
#include "base/npy.h"
#include "cli/cli.h"
#include "cli/stipples.h"
#include "cli/world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void cli_choose_tone(const cvtm_image *image, cli_options *options, cvtm_density_options *tone) {
  cvtm_density_defaults(tone);
  tone->invert = options->invert;
  tone->gamma = options->gamma;
  tone->from = (cvtm_density_from)options->density_from;
  tone->floor = options->floor;
  tone->black = options->black;
  tone->white = options->white;
  tone->contrast = options->contrast;
  if (options->dots == CLI_DOTS_TONE) tone->dot_ratio = cli_dot_ratio(options);
  if (tone->from == CVTM_DENSITY_FROM_AUTO)
    tone->from = image->is_data ? CVTM_DENSITY_FROM_DENSITY : CVTM_DENSITY_FROM_TONE;
  options->density_from = (int)tone->from;
  /* With --equal-mass the sites follow the density itself, not its square root, so the exponent is
   * halved. Those of blue noise follow the root of a density that is the square of the value. */
  if (options->noise == CLI_NOISE_BLUE && tone->from == CVTM_DENSITY_FROM_DENSITY) tone->gamma *= 2;
  if (options->equal_mass.on && tone->from != CVTM_DENSITY_FROM_DENSITY) tone->gamma *= 0.5;
}

cvtm_status cli_read_image(const cli_options *options, const char *path, int with_rgb,
                           cvtm_image *image, cvtm_error *error) {
  const cvtm_status status =
      with_rgb ? cvtm_image_read_colour(path, image, error) : cvtm_image_read(path, image, error);
  if (status == CVTM_OK && image->note[0] != 0 && !options->quiet)
    fprintf(stderr, "%s: note: %s\n", path, image->note);
  return status;
}

cvtm_status cli_read_pslg(const cli_options *options, const char *path, cvtm_pslg *pslg,
                          int *is_rings, cvtm_error *error) {
  const cvtm_status status = cvtm_pslg_read(path, pslg, is_rings, error);
  if (status == CVTM_OK && pslg->skipped > 0 && !options->quiet)
    fprintf(stderr, "%s: note: %lld %s left out: the ends are the same vertex\n", path,
            (long long)pslg->skipped, cli_word(pslg->skipped, "segment is", "segments are"));
  return status;
}

cvtm_status cli_read_density(const char *path, cli_options *options, float **density,
                             cvtm_domain *domain, cvtm_error *error) {
  return cli_read_density_and_tone(path, options, density, NULL, domain, error);
}

cvtm_status cli_read_density_and_tone(const char *path, cli_options *options, float **density,
                                      float **tone, cvtm_domain *domain, cvtm_error *error) {
  cvtm_density_options how;
  *density = NULL;
  cvtm_image image = {0};
  cvtm_status status = cli_read_image(options, path, 0, &image, error);
  if (status == CVTM_OK) {
    cli_choose_tone(&image, options, &how);
    *domain = (cvtm_domain){image.width, image.height, options->periodic};
    status = cli_world_set(options, &image.place, path, image.height, error);
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

cvtm_status cli_check_sizes(const cvtm_image *image, const cli_options *options,
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

cvtm_status cli_require_inside(const char *path, const double *points, int64_t count,
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

cvtm_status cli_name_file(const char *path, cvtm_status status, cvtm_error *error) {
  if (status != CVTM_ERROR_INPUT || strncmp(error->message, path, strlen(path)) == 0) return status;
  const cvtm_error reason = *error;
  return cvtm_fail(error, status, "%s: %s", path, reason.message);
}

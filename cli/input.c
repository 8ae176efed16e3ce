#include "cli/input.h"

#include "base/npy.h"
#include "cli/cli.h"
#include "base/file.h"
#include "density/density.h"
#include "lcp/matrix_market.h"
#include "run/input.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Points farther from 0 are refused, since doubles are coarse there, and points farther from each
 * other, since the sides of a domain are 32-bit integers. */
static const double far = 1e15, widest = 2e9;

/* Finds the sides that --width, --height or else --like give; 0: none. */
static cvtm_status given_sides(const cli_options *options, int64_t side[2], cvtm_error *error) {
  side[0] = options->width;
  side[1] = options->height;
  if (options->like.name == NULL || (side[0] > 0 && side[1] > 0)) return CVTM_OK;
  cvtm_image image = {0};
  const cvtm_status status = cvtm_image_open(&options->like, 0, &image, error);
  if (status == CVTM_OK && side[0] == 0) side[0] = image.width;
  if (status == CVTM_OK && side[1] == 0) side[1] = image.height;
  cvtm_image_free(&image);
  return status;
}

/* Nonzero if points between `low` and `high` can be pixels of a picture. */
static int are_pixels(const double low[2], const double high[2]) {
  const double least = 16, width = high[0] - low[0], height = high[1] - low[1];
  return fmin(low[0], low[1]) >= 0 && fmax(high[0], high[1]) <= CVTM_MAX_SIDE &&
         width >= high[0] / 2 && height >= high[1] / 2 && fmax(width, height) >= least;
}

cvtm_status cli_domain_of_points(const cli_options *options, const char *path, const double *points,
                                 int64_t count, cvtm_domain *domain, cli_corner *corner,
                                 cvtm_error *error) {
  double low[2] = {(double)INFINITY, (double)INFINITY},
         high[2] = {-(double)INFINITY, -(double)INFINITY};
  int64_t side[2];
  cli_corner at = {0, {0, 0}};
  CVTM_TRY(given_sides(options, side, error));
  for (int64_t i = 0; i < 2 * count; ++i) {
    low[i % 2] = fmin(low[i % 2], points[i]);
    high[i % 2] = fmax(high[i % 2], points[i]);
  }
  at.is_of_places = corner != NULL && side[0] == 0 && side[1] == 0 && count > 0 &&
                    !run_has_world(&options->run) && !are_pixels(low, high);
  for (int axis = 0; axis < 2; ++axis) {
    if (at.is_of_places &&
        !(low[axis] > -far && high[axis] < far && high[axis] - low[axis] < widest))
      return cvtm_fail(error, CVTM_ERROR_INPUT,
                       "%s: a coordinate is beyond %g, or points are %g apart", path, far, widest);
    if (at.is_of_places) at.at[axis] = floor(low[axis]);
    const double least = high[axis] - at.at[axis];
    if (side[axis] == 0)
      side[axis] = least <= 1 ? 1 : least < widest + 1 ? (int64_t)ceil(least) : 0;
    if (side[axis] > CVTM_MAX_SIDE && !at.is_of_places) side[axis] = 0;
  }
  *domain = (cvtm_domain){(int)side[0], (int)side[1], options->run.periodic};
  if (corner != NULL) *corner = at;
  if (domain->width > 0 && domain->height > 0) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_INPUT,
                   "%s: coordinates up to %g, %g are beyond the largest domain, %d x %d pixels",
                   path, high[0], high[1], CVTM_MAX_SIDE, CVTM_MAX_SIDE);
}

void cli_note_outside(const cli_options *options, const double *points, int64_t count,
                      cvtm_domain domain) {
  int64_t outside = 0;
  if (options->quiet || domain.periodic) return;
  for (int64_t i = 0; i < count; ++i) outside += !run_is_inside(points + 2 * i, domain);
  if (outside == 0) return;
  fprintf(stderr, "%s: note: %lld of %lld points lie outside the domain of %d x %d pixels\n",
          cli_visible(options->run.input.name), (long long)outside, (long long)count, domain.width,
          domain.height);
}

static cvtm_status refuse_length(const char *path, long long count, int64_t rows,
                                 cvtm_error *error) {
  return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: %lld numbers for a matrix of %lld rows", path,
                   count, (long long)rows);
}

/* Reads a matrix of one column or one row. */
static cvtm_status read_market_vector(const char *path, int64_t rows, double **vector,
                                      cvtm_error *error) {
  cvtm_csr m;
  cvtm_status status = cvtm_matrix_market_read(path, &m, error);
  if (status != CVTM_OK) return status;
  if ((m.rows != 1 && m.columns != 1) || m.rows * m.columns != rows)
    status = refuse_length(path, (long long)(m.rows * m.columns), rows, error);
  else if ((*vector = calloc((size_t)rows, sizeof **vector)) == NULL)
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path);
  for (int64_t row = 0; row < m.rows && status == CVTM_OK; ++row) {
    for (int64_t k = m.row_start[row]; k < m.row_start[row + 1]; ++k)
      (*vector)[row + m.column[k]] = m.value[k];
  }
  cvtm_csr_free(&m);
  return status;
}

cvtm_status cli_read_vector(const cvtm_input *source, int64_t rows, double **vector,
                            cvtm_error *error) {
  const char *path = source->name;
  char extension[8];
  cvtm_npy array;
  if (path == NULL) return CVTM_OK;
  if (strcmp(cvtm_file_extension(path, extension, sizeof extension), "mtx") == 0)
    return read_market_vector(path, rows, vector, error);
  CVTM_TRY(cvtm_npy_open(source, &array, error));
  if (array.count != rows) {
    const long long count = array.count;
    cvtm_npy_free(&array);
    return refuse_length(path, count, rows, error);
  }
  *vector = malloc((size_t)rows * sizeof **vector);
  for (int64_t k = 0; k < rows && *vector != NULL; ++k) (*vector)[k] = cvtm_npy_get(&array, k);
  cvtm_npy_free(&array);
  if (*vector != NULL) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path);
}

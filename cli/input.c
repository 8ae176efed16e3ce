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

/* Points farther from 0 are refused, since the sides of a domain are 32-bit integers. */
static const double far = 1e9;

/* The smallest side that contains coordinates from `low` to `high`; 0 if that side is too large. */
static int side_for(double low, double high, double *corner) {
  if (low >= 0 && high <= CVTM_MAX_SIDE) return high <= 1 ? 1 : (int)ceil(high);
  if (corner == NULL) return high <= 1 ? 1 : high <= CVTM_MAX_SIDE ? (int)ceil(high) : 0;
  if (!(low > -far && high < far)) return 0;
  *corner = floor(low);
  return (int)fmax(ceil(high - *corner), 1);
}

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

cvtm_status cli_domain_of_points(const cli_options *options, const char *path, const double *points,
                                 int64_t count, cvtm_domain *domain, double corner[2],
                                 cvtm_error *error) {
  double low[2] = {(double)INFINITY, (double)INFINITY}, high[2] = {0, 0};
  int64_t side[2];
  CVTM_TRY(given_sides(options, side, error));
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
  *domain = (cvtm_domain){(int)side[0], (int)side[1], options->run.periodic};
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

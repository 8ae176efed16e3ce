#include "run/flatten.h"

#include "base/host.h"
#include "base/srgb.h"
#include "draw/likeness.h"

#include <math.h>
#include <string.h>

cvtm_status run_surroundings(const float *light, int width, int height, int side, float *level,
                             float *around, cvtm_error *error) {
  /* About the size of a face: small enough that faces differ from what is behind them, large enough
   * that eyes differ from faces. */
  const int columns = (width + side - 1) / side, rows = (height + side - 1) / side;
  const double reach = 0.085 * fmax(columns, rows);
  const int64_t cells = (int64_t)columns * rows;
  double sum = 0;
  cvtm_plane_shrink(light, width, height, side, level);
  for (int64_t k = 0; k < cells; ++k)
    level[k] = (float)cvtm_linear_to_srgb(fmin(fmax((double)level[k], 0), 1));
  memcpy(around, level, (size_t)cells * sizeof *around);
  CVTM_TRY(cvtm_plane_blur(around, columns, rows, reach, error));
  for (int64_t k = 0; k < cells; ++k) sum += (double)around[k];
  for (int64_t k = 0; k < cells; ++k) around[k] -= (float)(sum / (double)cells);
  return CVTM_OK;
}

double run_flattened(double level, double around, double share) {
  return fmin(fmax(level - share * around, 0), 1);
}

/* Flattens row j. around: of cells of `side` pixels, `columns` x `rows`. */
static void flatten_row(cvtm_image *image, int j, double share, const float *around, int columns,
                        int rows, int side) {
  const int64_t pixels = (int64_t)image->width * image->height;
  for (int i = 0; i < image->width; ++i) {
    const int64_t p = (int64_t)j * image->width + i;
    const double light = (double)image->value[p];
    const double means =
        cvtm_plane_at(around, columns, rows, (i + 0.5) / side - 0.5, (j + 0.5) / side - 0.5);
    const double level = cvtm_linear_to_srgb(fmin(fmax(light, 0), 1));
    const double made = cvtm_srgb_to_linear(run_flattened(level, means, share));
    image->value[p] = (float)made;
    for (int c = 0; c < 3 && image->rgb != NULL; ++c) {
      float *colour = image->rgb + c * pixels + p;
      *colour = (float)fmin(light > 0 ? (double)*colour * made / light : made, 1);
    }
  }
}

cvtm_status run_flatten(cvtm_image *image, double share, const char *name, cvtm_error *error) {
  enum { MOST = 128 }; /* cells along the longer side */
  if (share == 0) return CVTM_OK;
  if (image->is_data)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: data has no levels for --flatten; use --gamma",
                     name);
  const int longer = image->width > image->height ? image->width : image->height;
  const int side = (longer + MOST - 1) / MOST;
  const int columns = (image->width + side - 1) / side, rows = (image->height + side - 1) / side;
  const size_t cells = (size_t)columns * (size_t)rows;
  cvtm_scratch memory = {0};
  float *level = cvtm_scratch_take(&memory, cells, sizeof *level);
  float *around = cvtm_scratch_take(&memory, cells, sizeof *around);
  cvtm_status status = memory.failed ? cvtm_no_memory(error, "a flattened picture") : CVTM_OK;
  if (status == CVTM_OK)
    status =
        run_surroundings(image->value, image->width, image->height, side, level, around, error);
#pragma omp parallel for schedule(static) if (status == CVTM_OK)
  for (int j = 0; j < (status == CVTM_OK ? image->height : 0); ++j)
    flatten_row(image, j, share, around, columns, rows, side);
  cvtm_scratch_free(&memory);
  return status;
}

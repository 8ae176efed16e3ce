#include "run/resemblance.h"

#include "draw/likeness.h"

#include <math.h>
#include <string.h>

static const double blur = 1; /* cells */

static int64_t cells_of(const run_sight *s) { return (int64_t)s->width * s->height; }

/* Halves the resolution of a plane; `other` is a buffer of its size. */
static void step_back(float *plane, const run_sight *from, float *other) {
  cvtm_plane_shrink(plane, from->width, from->height, 2, other);
  const size_t columns = ((size_t)from->width + 1) / 2, rows = ((size_t)from->height + 1) / 2;
  memcpy(plane, other, columns * rows * sizeof *plane);
}

static cvtm_status look_at(const run_sight *s, float *plane, cvtm_error *error) {
  return cvtm_plane_blur(plane, s->width, s->height, blur, error);
}

/* Sets `product` to the local means of the products of two planes, minus those of `mean` and
 * `other_mean`. */
static cvtm_status covary(const run_sight *s, const float *plane, const float *other,
                          const float *mean, const float *other_mean, float *product,
                          cvtm_error *error) {
  const int64_t cells = cells_of(s);
  for (int64_t k = 0; k < cells; ++k) product[k] = plane[k] * other[k];
  const cvtm_status status = look_at(s, product, error);
  for (int64_t k = 0; k < cells; ++k) product[k] -= mean[k] * other_mean[k];
  return status;
}

cvtm_status run_sights_make(const float *picture, int width, int height, run_sights *sights,
                            cvtm_error *error) {
  const size_t cells = (size_t)width * (size_t)height;
  *sights = (run_sights){.at[0] = {.width = width, .height = height}};
  for (int d = 0; d < RUN_DISTANCES; ++d) {
    run_sight *s = &sights->at[d];
    if (d > 0) *s = (run_sight){.width = (s[-1].width + 1) / 2, .height = (s[-1].height + 1) / 2};
    const size_t count = (size_t)cells_of(s);
    s->blurred = cvtm_scratch_take(&sights->memory, count, sizeof *s->blurred);
    s->mean = cvtm_scratch_take(&sights->memory, count, sizeof *s->mean);
    s->variance = cvtm_scratch_take(&sights->memory, count, sizeof *s->variance);
  }
  for (int k = 0; k < 4; ++k)
    sights->plane[k] = cvtm_scratch_take(&sights->memory, cells, sizeof **sights->plane);
  if (sights->memory.failed) return cvtm_no_memory(error, "the tones of a drawing");
  float *plane = sights->plane[0];
  memcpy(plane, picture, cells * sizeof *plane);
  for (int d = 0; d < RUN_DISTANCES; ++d) {
    run_sight *s = &sights->at[d];
    const size_t bytes = (size_t)cells_of(s) * sizeof *plane;
    if (d > 0) step_back(plane, s - 1, sights->plane[1]);
    memcpy(s->blurred, plane, bytes);
    CVTM_TRY(look_at(s, s->blurred, error));
    memcpy(s->mean, s->blurred, bytes);
    CVTM_TRY(look_at(s, s->mean, error));
    CVTM_TRY(covary(s, s->blurred, s->blurred, s->mean, s->mean, s->variance, error));
  }
  return CVTM_OK;
}

void run_sights_free(run_sights *sights) { cvtm_scratch_free(&sights->memory); }

static double mean_above_0(const float *plane, int64_t count) {
  double sum = 0;
  for (int64_t k = 0; k < count; ++k) sum += fmax((double)plane[k], 0);
  return sum / (double)count;
}

/* The weighted similarity of contrasts; 1 if the picture is even. */
static double similarity(const run_sight *s, const float *variance, const float *covariance) {
  const double c = 0.01 * 0.01, adaptation = 0.1;
  const double own = mean_above_0(variance, cells_of(s));
  const double gain =
      own > 0 ? pow(mean_above_0(s->variance, cells_of(s)) / own, 0.5 * adaptation) : 1;
  double sum = 0, weights = 0;
  for (int64_t k = 0; k < cells_of(s); ++k) {
    const double of_picture = fmax((double)s->variance[k], 0), weight = sqrt(of_picture);
    const double of_drawing = gain * gain * fmax((double)variance[k], 0);
    sum += weight * (2 * gain * (double)covariance[k] + c) / (of_picture + of_drawing + c);
    weights += weight;
  }
  return weights > 0 ? sum / weights : 1;
}

/* The correlation of two planes; 0 if one of them is even. */
static double correlation(const float *a, const float *b, int64_t count) {
  double sum[2] = {0}, aa = 0, bb = 0, ab = 0;
  for (int64_t k = 0; k < count; ++k) {
    sum[0] += (double)a[k];
    sum[1] += (double)b[k];
  }
  for (int64_t k = 0; k < count; ++k) {
    const double x = (double)a[k] - sum[0] / (double)count;
    const double y = (double)b[k] - sum[1] / (double)count;
    aa += x * x;
    bb += y * y;
    ab += x * y;
  }
  return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0;
}

cvtm_status run_sights_score(run_sights *sights, float *drawing, double *score, cvtm_error *error) {
  const double power = 0.25;
  float *seen = sights->plane[0], *mean = sights->plane[1], *variance = sights->plane[2],
        *covariance = sights->plane[3];
  double sum = 0, order = 0;
  for (int d = 0; d < RUN_DISTANCES; ++d) {
    const run_sight *s = &sights->at[d];
    const size_t bytes = (size_t)cells_of(s) * sizeof *seen;
    if (d > 0) step_back(drawing, s - 1, mean);
    memcpy(seen, drawing, bytes);
    CVTM_TRY(look_at(s, seen, error));
    memcpy(mean, seen, bytes);
    CVTM_TRY(look_at(s, mean, error));
    CVTM_TRY(covary(s, seen, seen, mean, mean, variance, error));
    CVTM_TRY(covary(s, seen, s->blurred, mean, s->mean, covariance, error));
    sum += similarity(s, variance, covariance) / RUN_DISTANCES;
    if (d == 0) order = correlation(seen, s->blurred, cells_of(s));
  }
  *score = sum * pow(fmax(order, 0), power);
  return CVTM_OK;
}

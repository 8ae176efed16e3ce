#include "density/eikonal.h"

#include <math.h>
#include <stddef.h>

typedef struct field {
  int64_t width, height;
  const uint8_t *mask;
  const double *slowness;
  double constant, *value;
} field;

static double value_or_infinity(const field *f, int64_t i, int64_t j) {
  if (i < 0 || j < 0 || i >= f->width || j >= f->height) return (double)INFINITY;
  const int64_t p = j * f->width + i;
  return f->mask == NULL || f->mask[p] ? f->value[p] : (double)INFINITY;
}

/* The solution of Godunov's upwind difference at (i, j). */
static double upwind(const field *f, int64_t i, int64_t j) {
  const double a = fmin(value_or_infinity(f, i - 1, j), value_or_infinity(f, i + 1, j));
  const double b = fmin(value_or_infinity(f, i, j - 1), value_or_infinity(f, i, j + 1));
  const double s = f->slowness != NULL ? f->slowness[j * f->width + i] : f->constant;
  const double low = fmin(a, b), apart = fabs(a - b);
  if (isinf(low)) return low;
  return apart < s ? 0.5 * (a + b + sqrt(2 * s * s - apart * apart)) : low + s;
}

/* One sweep in one of the four orders; nonzero if a value changed. */
static int sweep_in_order(field *f, int order) {
  int changed = 0;
  for (int64_t y = 0; y < f->height; ++y) {
    const int64_t j = order & 2 ? f->height - 1 - y : y;
    for (int64_t x = 0; x < f->width; ++x) {
      const int64_t i = order & 1 ? f->width - 1 - x : x, p = j * f->width + i;
      if (f->mask != NULL && !f->mask[p]) continue;
      const double value = upwind(f, i, j);
      /* A decrease within rounding would cause further sweeps without effect. */
      if (!(value < f->value[p] * (1 - 1e-14))) continue;
      f->value[p] = value;
      changed = 1;
    }
  }
  return changed;
}

void cvtm_eikonal(int width, int height, const uint8_t *mask, const double *slowness,
                  double constant, double *value) {
  field f = {width, height, mask, slowness, constant, value};
  for (int idle = 0, order = 0; idle < 4; order = (order + 1) & 3) {
    idle = sweep_in_order(&f, order) ? 0 : idle + 1;
  }
}

static int differs(const uint8_t *inside, int width, int height, int i, int j) {
  const int64_t p = (int64_t)j * width + i;
  const int own = inside[p] != 0;
  return (i > 0 && (inside[p - 1] != 0) != own) || (i + 1 < width && (inside[p + 1] != 0) != own) ||
         (j > 0 && (inside[p - width] != 0) != own) ||
         (j + 1 < height && (inside[p + width] != 0) != own);
}

void cvtm_signed_distance(int width, int height, const uint8_t *inside, double *distance) {
  const int64_t count = (int64_t)width * height;
  for (int j = 0; j < height; ++j) {
    for (int i = 0; i < width; ++i) {
      const int beside = differs(inside, width, height, i, j);
      distance[(int64_t)j * width + i] = beside ? 0.5 : (double)INFINITY;
    }
  }
  cvtm_eikonal(width, height, NULL, NULL, 1, distance);
  for (int64_t p = 0; p < count; ++p)
    if (inside[p]) distance[p] = -distance[p];
}

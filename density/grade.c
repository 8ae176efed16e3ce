/* Bounds of the gradation: by an LCP, and by fast sweeping. */
#include "density/grade.h"

#include "density/eikonal.h"
#include "density/links.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* --- links --- */

static void fill_links(int64_t width, int64_t height, const uint8_t *mask, double weight,
                       double *horizontal, double *vertical) {
  for (int64_t j = 0; j < height; ++j) {
    for (int64_t i = 0; i < width; ++i) {
      const int64_t p = j * width + i;
      horizontal[j * (width + 1) + i] = i > 0 && mask[p] && mask[p - 1] ? weight : 0;
      vertical[p] = j > 0 && mask[p] && mask[p - width] ? weight : 0;
    }
    horizontal[j * (width + 1) + width] = 0;
  }
  for (int64_t i = 0; i < width; ++i) vertical[height * width + i] = 0;
}

static cvtm_status upload_links(cvtm_links *links, const uint8_t *mask, double weight) {
  const int64_t width = links->grid.width, height = links->grid.height;
  const int64_t across = (width + 1) * height, down = width * (height + 1);
  const size_t bytes = (size_t)(across + down) * sizeof(double);
  double *host = malloc(bytes);
  if (host == NULL) {
    return cvtm_fail(cvtm_device_error(links->device), CVTM_ERROR_MEMORY, "out of memory");
  }
  fill_links(width, height, mask, weight, host, host + across);
  cvtm_status status =
      cvtm_device_allocate(links->device, (int64_t)bytes + width * height, 1, &links->memory);
  double *memory = links->memory;
  if (status == CVTM_OK) status = cvtm_device_copy_in(links->device, memory, host, bytes);
  if (status == CVTM_OK) {
    links->grid.horizontal = memory;
    links->grid.vertical = memory + across;
    links->grid.mask = (uint8_t *)(memory + across + down);
    status =
        cvtm_device_copy_in(links->device, memory + across + down, mask, (size_t)(width * height));
  }
  free(host);
  return status;
}

cvtm_status cvtm_links_create(cvtm_device *device, int width, int height, const uint8_t *mask,
                              double weight, cvtm_links *links) {
  memset(links, 0, sizeof *links);
  links->device = device;
  links->grid.width = width;
  links->grid.height = height;
  links->grid.constant = weight;
  links->grid.neumann = 1;
  if (mask == NULL) return CVTM_OK;
  const cvtm_status status = upload_links(links, mask, weight);
  if (status != CVTM_OK) cvtm_links_destroy(links);
  return status;
}

void cvtm_links_destroy(cvtm_links *links) {
  if (links->device != NULL) cvtm_device_free(links->device, links->memory);
  memset(links, 0, sizeof *links);
}

/* --- grading by an LCP --- */

struct cvtm_grade {
  cvtm_device *device;
  cvtm_links links;
  cvtm_lcp *lcp;
};

static cvtm_status open_solver(cvtm_grade *g, double tolerance) {
  const int64_t width = g->links.grid.width, height = g->links.grid.height;
  cvtm_lcp_options options;
  cvtm_lcp_defaults(&options);
  options.tolerance = 0;
  options.absolute_tolerance = tolerance;
  const cvtm_status status = cvtm_lcp_create_grid(g->device, width, height, &options, &g->lcp);
  cvtm_lcp_grid grid = g->links.grid;
  grid.mass = 1;
  return status == CVTM_OK ? cvtm_lcp_set_grid(g->lcp, &grid) : status;
}

cvtm_status cvtm_grade_create(cvtm_device *device, int width, int height, const uint8_t *mask,
                              double lambda, double tolerance, cvtm_grade **grade) {
  cvtm_error *error = cvtm_device_error(device);
  *grade = NULL;
  if (!(lambda > 0) || !isfinite(lambda) || !(tolerance > 0)) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "grading with lambda %g to a tolerance of %g",
                     lambda, tolerance);
  }
  cvtm_grade *g = calloc(1, sizeof *g);
  if (g == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  g->device = device;
  cvtm_status status = cvtm_links_create(device, width, height, mask, lambda, &g->links);
  if (status == CVTM_OK) status = open_solver(g, tolerance);
  if (status == CVTM_OK)
    *grade = g;
  else
    cvtm_grade_destroy(g);
  return status;
}

cvtm_status cvtm_grade_solve(cvtm_grade *grade, const double *rho, const double *upper, double *u,
                             cvtm_lcp_result *result) {
  return cvtm_lcp_solve(grade->lcp, rho, rho, upper, u, 0, result);
}

void cvtm_grade_destroy(cvtm_grade *g) {
  if (g == NULL) return;
  cvtm_lcp_destroy(g->lcp);
  cvtm_links_destroy(&g->links);
  free(g);
}

/* --- fast sweeping --- */

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

#include "density/condition.h"

#include "base/select.h"
#include "base/primitives.h"
#include "density/field_kernels.h"
#include "lcp/hlcp/grid.h"
#include "lcp/lcp.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* --- links ------------------------------------------------------------------------------------ */

/* The five-point Laplacian: links of one weight between neighbouring pixels of the mask, no links
 * across the border of the mask (Neumann). Without a mask no links are stored. */
typedef struct link_set {
  cvtm_device *device;
  cvtm_lcp_grid grid; /* arrays in device memory, without `diagonal` */
  void *memory;
} link_set;

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

static cvtm_status upload_links(link_set *links, const uint8_t *mask, double weight) {
  const int64_t width = links->grid.width, height = links->grid.height;
  const int64_t across = (width + 1) * height, down = width * (height + 1);
  const size_t bytes = (size_t)(across + down) * sizeof(double);
  double *host = malloc(bytes);
  if (host == NULL)
    return cvtm_fail(cvtm_device_error(links->device), CVTM_ERROR_MEMORY, "out of memory");
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

static void destroy_links(link_set *links) {
  if (links->device != NULL) cvtm_device_free(links->device, links->memory);
  memset(links, 0, sizeof *links);
}

/* mask: width * height in host memory, 0 outside; NULL: all pixels are inside. */
static cvtm_status create_links(cvtm_device *device, int width, int height, const uint8_t *mask,
                                double weight, link_set *links) {
  memset(links, 0, sizeof *links);
  links->device = device;
  links->grid.width = width;
  links->grid.height = height;
  links->grid.constant = weight;
  links->grid.neumann = 1;
  if (mask == NULL) return CVTM_OK;
  const cvtm_status status = upload_links(links, mask, weight);
  if (status != CVTM_OK) destroy_links(links);
  return status;
}

/* --- grading by an LCP ------------------------------------------------------------------------ */

struct cvtm_grade {
  cvtm_device *device;
  link_set links;
  cvtm_lcp *lcp;
};

static cvtm_status create_lcp(cvtm_grade *g, double tolerance) {
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
  if (!(lambda > 0) || !isfinite(lambda) || !(tolerance > 0))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "grading needs a positive lambda and tolerance, not %g and %g", lambda,
                     tolerance);
  cvtm_grade *g = calloc(1, sizeof *g);
  if (g == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  g->device = device;
  cvtm_status status = create_links(device, width, height, mask, lambda, &g->links);
  if (status == CVTM_OK) status = create_lcp(g, tolerance);
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
  destroy_links(&g->links);
  free(g);
}

/* --- fast sweeping ---------------------------------------------------------------------------- */

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

/* The solution of the equation at (i, j), with Godunov's upwind differences. */
static double upwind(const field *f, int64_t i, int64_t j) {
  const double a = fmin(value_or_infinity(f, i - 1, j), value_or_infinity(f, i + 1, j));
  const double b = fmin(value_or_infinity(f, i, j - 1), value_or_infinity(f, i, j + 1));
  const double s = f->slowness != NULL ? f->slowness[j * f->width + i] : f->constant;
  const double low = fmin(a, b), apart = fabs(a - b);
  if (isinf(low)) return low;
  return apart < s ? 0.5 * (a + b + sqrt(2 * s * s - apart * apart)) : low + s;
}

/* Sweeps once in one of the four orders; returns nonzero if a value changed. */
static int sweep_in_order(field *f, int order) {
  int changed = 0;
  for (int64_t y = 0; y < f->height; ++y) {
    const int64_t j = order & 2 ? f->height - 1 - y : y;
    for (int64_t x = 0; x < f->width; ++x) {
      const int64_t i = order & 1 ? f->width - 1 - x : x, p = j * f->width + i;
      if (f->mask != NULL && !f->mask[p]) continue;
      const double value = upwind(f, i, j);
      /* a decrease as small as rounding errors would only cause further sweeps */
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
  for (int idle = 0, order = 0; idle < 4; order = (order + 1) & 3)
    idle = sweep_in_order(&f, order) ? 0 : idle + 1;
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

/* --- asymmetric smoothing --------------------------------------------------------------------- */

enum { NEWTON_STEPS = 200 };

struct cvtm_bias {
  cvtm_device *device;
  cvtm_bias_options options;
  link_set links;
  cvtm_hlcp_grid *newton;
  double *q, *x, *z, *w; /* right-hand side, unknowns; in device memory */
};

/* Sets the weights of pixels where u > rho (a) and where u < rho (b). */
static void weights_of(double p, double *a, double *b) {
  *a = p > 0.5 ? p / (1 - p) : 1;
  *b = p > 0.5 ? 1 : (1 - p) / p;
}

static cvtm_arrays bias_arrays(cvtm_bias *s) {
  const int64_t count = s->links.grid.width * s->links.grid.height;
  return (cvtm_arrays){{CVTM_ARRAY(s->q, count), CVTM_ARRAY(s->x, count), CVTM_ARRAY(s->z, count),
                        CVTM_ARRAY(s->w, count)}};
}

static cvtm_status create_newton(cvtm_bias *s) {
  CVTM_TRY(cvtm_device_allocate_arrays(s->device, bias_arrays(s)));
  return cvtm_hlcp_grid_create(s->device, s->links.grid.width, s->links.grid.height,
                               s->options.tolerance, NEWTON_STEPS, &s->newton);
}

cvtm_status cvtm_bias_create(cvtm_device *device, int width, int height, const uint8_t *mask,
                             const cvtm_bias_options *options, cvtm_bias **bias) {
  cvtm_error *error = cvtm_device_error(device);
  *bias = NULL;
  if (options == NULL)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "smoothing has no default values of p and lambda");
  if (!(options->p > 0 && options->p < 1))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "p must be between 0 and 1, not %g", options->p);
  if (!(options->lambda > 0) || !isfinite(options->lambda))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "lambda of smoothing must be positive and finite, not %g", options->lambda);
  cvtm_bias *s = calloc(1, sizeof *s);
  if (s == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  s->device = device;
  s->options = *options;
  cvtm_status status = create_links(device, width, height, mask, options->lambda, &s->links);
  if (status == CVTM_OK) status = create_newton(s);
  if (status == CVTM_OK)
    *bias = s;
  else
    cvtm_bias_destroy(s);
  return status;
}

cvtm_status cvtm_bias_solve(cvtm_bias *s, const double *rho, double *u, cvtm_hlcp_result *result) {
  const cvtm_field_table *table = CVTM_TABLE(s->device, cvtm_field_table);
  double a, b;
  weights_of(s->options.p, &a, &b);
  CVTM_TRY(table->laplacian(s->device, &s->links.grid, -1, rho, s->q));
  CVTM_TRY(
      cvtm_hlcp_grid_solve(s->newton, &s->links.grid, a, b, s->q, s->x, 0, s->z, s->w, result));
  return table->displace(s->device, s->links.grid.width * s->links.grid.height, rho, s->z, s->w, u);
}

void cvtm_bias_destroy(cvtm_bias *s) {
  if (s == NULL) return;
  cvtm_hlcp_grid_destroy(s->newton);
  cvtm_device_free_arrays(s->device, bias_arrays(s));
  destroy_links(&s->links);
  free(s);
}

/* --- all steps -------------------------------------------------------------------------------- */

void cvtm_condition_defaults(cvtm_condition_options *options) {
  *options = (cvtm_condition_options){.bias = 0.5, .grade_max = (double)INFINITY};
}

int cvtm_condition_wanted(const cvtm_condition_options *options) {
  CVTM_DEFAULT_OPTIONS(cvtm_condition, options)
  return options->smooth > 0 || options->grade > 0 || options->grade_size > 0;
}

void cvtm_grade_size(int width, int height, const uint8_t *mask, double slope, double *density) {
  const int64_t count = (int64_t)width * height;
  const double up = 1 + 0x1p-49; /* so that 13 roundings of 2^-53 cannot decrease a density */
  for (int64_t p = 0; p < count; ++p) density[p] = 1 / sqrt(sqrt(density[p]));
  cvtm_eikonal(width, height, mask, NULL, slope, density);
  for (int64_t p = 0; p < count; ++p) {
    const double squared = density[p] * density[p];
    density[p] = mask != NULL && !mask[p] ? 0 : up / (squared * squared);
  }
}

typedef struct work {
  cvtm_device *device;
  int width, height;
  const uint8_t *mask;
  const cvtm_condition_options *options;
  double tolerance;
  double *rho, *u, *upper; /* in device memory; rho belongs to the caller */
} work;

static cvtm_status at_least(const work *w, double least, const double *v, double *out) {
  const cvtm_field_table *table = CVTM_TABLE(w->device, cvtm_field_table);
  return table->at_least(w->device, (int64_t)w->width * w->height, least, v, out);
}

static cvtm_status smooth(work *w, cvtm_condition_result *result) {
  const cvtm_bias_options options = {
      .p = w->options->bias, .lambda = w->options->smooth, .tolerance = w->tolerance};
  cvtm_bias *bias = NULL;
  cvtm_status status = cvtm_bias_create(w->device, w->width, w->height, w->mask, &options, &bias);
  if (status == CVTM_OK) status = cvtm_bias_solve(bias, w->rho, w->u, &result->bias);
  cvtm_bias_destroy(bias);
  result->converged &= cvtm_lcp_is_solved(result->bias.stop);
  /* rounding can make the smallest value slightly negative */
  return status == CVTM_OK ? at_least(w, 0, w->u, w->rho) : status;
}

static cvtm_status set_upper(work *w) {
  CVTM_TRY(cvtm_device_allocate(w->device, (int64_t)w->width * w->height, CVTM_TYPED(w->upper)));
  return at_least(w, w->options->grade_max, w->rho, w->upper);
}

static cvtm_status grade(work *w, cvtm_condition_result *result) {
  const size_t bytes = (size_t)w->width * (size_t)w->height * sizeof *w->rho;
  cvtm_grade *made = NULL;
  cvtm_status status = CVTM_OK;
  if (isfinite(w->options->grade_max)) status = set_upper(w);
  if (status == CVTM_OK)
    status = cvtm_grade_create(w->device, w->width, w->height, w->mask, w->options->grade,
                               w->tolerance, &made);
  if (status == CVTM_OK) status = cvtm_grade_solve(made, w->rho, w->upper, w->u, &result->grade);
  cvtm_grade_destroy(made);
  result->converged &= cvtm_lcp_is_solved(result->grade.stop);
  return status == CVTM_OK ? cvtm_device_copy(w->device, w->rho, w->u, bytes) : status;
}

/* Finds the largest value of w->rho; overwrites w->u. */
static cvtm_status find_largest(const work *w, double *largest) {
  const int64_t count = (int64_t)w->width * w->height;
  CVTM_TRY(cvtm_reduce(w->device, CVTM_REDUCE_MAX, w->rho, count, w->u));
  return cvtm_device_copy_out(w->device, largest, w->u, sizeof *largest);
}

cvtm_status cvtm_density_condition_on_device(cvtm_device *device, int width, int height,
                                             const uint8_t *mask,
                                             const cvtm_condition_options *options, double *density,
                                             cvtm_condition_result *result) {
  CVTM_DEFAULT_OPTIONS(cvtm_condition, options)
  work w = {.device = device,
            .width = width,
            .height = height,
            .mask = mask,
            .options = options,
            .rho = density};
  double largest = 0;
  *result = (cvtm_condition_result){.converged = 1};
  if (options->grade_size > 0)
    return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_UNSUPPORTED,
                     "grade_size is supported only for a density in host memory");
  cvtm_status status = cvtm_device_allocate(device, (int64_t)width * height, CVTM_TYPED(w.u));
  if (status == CVTM_OK) status = find_largest(&w, &largest);
  w.tolerance = 0.9e-8 * largest;
  if (status == CVTM_OK && largest > 0 && options->smooth > 0) status = smooth(&w, result);
  if (status == CVTM_OK && largest > 0 && options->grade > 0) status = grade(&w, result);
  if (status == CVTM_OK) status = cvtm_device_synchronize(device);
  cvtm_device_free(device, w.u);
  cvtm_device_free(device, w.upper);
  return status;
}

/* Smooths and grades a density in host memory. */
static cvtm_status solve_problems(cvtm_device *device, int width, int height, const uint8_t *mask,
                                  cvtm_condition_options options, double *density,
                                  cvtm_condition_result *result) {
  const int64_t count = (int64_t)width * height;
  const size_t bytes = (size_t)count * sizeof *density;
  double *rho = NULL;
  options.grade_size = 0;
  cvtm_status status = cvtm_device_allocate(device, count, CVTM_TYPED(rho));
  if (status == CVTM_OK) status = cvtm_device_copy_in(device, rho, density, bytes);
  if (status == CVTM_OK)
    status = cvtm_density_condition_on_device(device, width, height, mask, &options, rho, result);
  if (status == CVTM_OK) status = cvtm_device_copy_out(device, density, rho, bytes);
  cvtm_device_free(device, rho);
  return status;
}

cvtm_status cvtm_density_condition(cvtm_device *device, int width, int height, const uint8_t *mask,
                                   const cvtm_condition_options *options, double *density,
                                   cvtm_condition_result *result) {
  CVTM_DEFAULT_OPTIONS(cvtm_condition, options)
  cvtm_status status = CVTM_OK;
  *result = (cvtm_condition_result){.converged = 1};
  if (options->smooth > 0 || options->grade > 0)
    status = solve_problems(device, width, height, mask, *options, density, result);
  if (status == CVTM_OK && options->grade_size > 0)
    cvtm_grade_size(width, height, mask, options->grade_size, density);
  return status;
}

#include "lcp/model_problems.h"

#include "base/portable.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* American put: half the domain in standard deviations of ln(S/K) at expiry. */
static const double put_deviations = 10;
/* Journal bearing: eccentricity, and half the domain's height. */
static const double bearing_eccentricity = 0.1, bearing_half_height = 10;

typedef struct grid_shape {
  int64_t width, height;
  double spacing;
} grid_shape;

static grid_shape shape_of(const cvtm_model_problem *problem) {
  const grid_shape shape = {problem->width, problem->height, problem->spacing};
  return shape;
}

/* --- memory -------------------------------------------------------------------------- */

void cvtm_model_problem_free(cvtm_model_problem *problem) {
  cvtm_csr_free(&problem->matrix);
  free(problem->b);
  free(problem->lower);
  free(problem->horizontal);
  free(problem->vertical);
  memset(problem, 0, sizeof *problem);
}

static double *allocate_doubles(int64_t count) { return malloc((size_t)count * sizeof(double)); }

static cvtm_status allocate_problem(cvtm_model_problem *problem, int has_matrix, int has_links,
                                    cvtm_error *error) {
  const int64_t width = problem->width, height = problem->height, rows = width * height;
  const int64_t entries = 5 * rows - 2 * width - 2 * height;
  if (has_matrix) {
    const cvtm_status status = cvtm_csr_create(rows, rows, entries, &problem->matrix, error);
    if (status != CVTM_OK) return status;
  }
  problem->b = allocate_doubles(rows);
  problem->lower = allocate_doubles(rows);
  if (has_links) {
    problem->horizontal = allocate_doubles((width + 1) * height);
    problem->vertical = allocate_doubles(width * (height + 1));
  }
  if (problem->b != NULL && problem->lower != NULL &&
      (!has_links || (problem->horizontal != NULL && problem->vertical != NULL)))
    return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a problem of %lld rows",
                   (long long)rows);
}

/* --- matrices ------------------------------------------------------------------------- */

static double link(const double *links, int64_t k) { return links != NULL ? links[k] : 1; }

static int64_t put_entry(cvtm_csr *matrix, int64_t k, int64_t column, double value) {
  matrix->column[k] = (int32_t)column;
  matrix->value[k] = value;
  return k + 1;
}

/* The five-point matrix of the links; x = 0 beyond the grid. */
static void fill_matrix(cvtm_model_problem *problem) {
  const int64_t width = problem->width, height = problem->height;
  cvtm_csr *matrix = &problem->matrix;
  int64_t k = 0;
  for (int64_t j = 0; j < height; ++j) {
    for (int64_t i = 0; i < width; ++i) {
      const int64_t row = j * width + i;
      const double left = link(problem->horizontal, j * (width + 1) + i);
      const double right = link(problem->horizontal, j * (width + 1) + i + 1);
      const double below = link(problem->vertical, row);
      const double above = link(problem->vertical, row + width);
      if (j > 0) k = put_entry(matrix, k, row - width, -below);
      if (i > 0) k = put_entry(matrix, k, row - 1, -left);
      k = put_entry(matrix, k, row, left + right + below + above);
      if (i + 1 < width) k = put_entry(matrix, k, row + 1, -right);
      if (j + 1 < height) k = put_entry(matrix, k, row + width, -above);
      matrix->row_start[row + 1] = k;
    }
  }
}

/* --- membranes and torsion --------------------------------------------------------------- */

static double smaller(double a, double b) { return a < b ? a : b; }

static void fill_plane(cvtm_model_problem *problem) {
  const grid_shape s = shape_of(problem);
  const double load = problem->model == CVTM_MODEL_TORSION ? 5 : 1;
  for (int64_t j = 0; j < s.height; ++j) {
    for (int64_t i = 0; i < s.width; ++i) {
      const int64_t across = i + 1 < s.width - i ? i + 1 : s.width - i;
      const int64_t down = j + 1 < s.height - j ? j + 1 : s.height - j;
      const double distance = smaller((double)across, (double)down) * s.spacing;
      problem->b[j * s.width + i] = -load * s.spacing * s.spacing;
      problem->lower[j * s.width + i] = problem->model == CVTM_MODEL_TORSION ? -distance : -0.05;
    }
  }
}

static double hemisphere_obstacle(double r) {
  const double r0 = 0.9, height = sqrt(1 - r0 * r0);
  return r <= r0 ? sqrt(1 - r * r) : height - r0 / height * (r - r0);
}

/* The obstacle for r <= a, where it is in contact, and a harmonic function beyond. */
static double hemisphere_exact(double r) {
  const double a = 0.6979651482233735, slope = 0.6802594118917167, shift = 0.4715198934021099;
  return r <= a ? hemisphere_obstacle(r) : shift - slope * log(r);
}

/* Distance of node (i, j) from the centre; nodes -1, width, height are on the boundary. */
static double radius(grid_shape s, int64_t i, int64_t j) {
  const double x = ((double)i - 0.5 * (double)(s.width - 1)) * s.spacing;
  const double y = ((double)j - 0.5 * (double)(s.height - 1)) * s.spacing;
  return sqrt(x * x + y * y);
}

static void fill_hemisphere(cvtm_model_problem *problem) {
  const grid_shape s = shape_of(problem);
  for (int64_t j = 0; j < s.height; ++j) {
    for (int64_t i = 0; i < s.width; ++i) {
      double boundary = 0;
      if (i == 0) boundary += hemisphere_exact(radius(s, -1, j));
      if (i == s.width - 1) boundary += hemisphere_exact(radius(s, s.width, j));
      if (j == 0) boundary += hemisphere_exact(radius(s, i, -1));
      if (j == s.height - 1) boundary += hemisphere_exact(radius(s, i, s.height));
      problem->b[j * s.width + i] = boundary;
      problem->lower[j * s.width + i] = hemisphere_obstacle(radius(s, i, j));
    }
  }
}

double cvtm_model_hemisphere_error(const cvtm_model_problem *problem, const double *x) {
  const grid_shape s = shape_of(problem);
  double largest = 0;
  for (int64_t j = 0; j < s.height; ++j) {
    for (int64_t i = 0; i < s.width; ++i) {
      const double error = fabs(x[j * s.width + i] - hemisphere_exact(radius(s, i, j)));
      if (!(error <= largest)) largest = error;
    }
  }
  return largest;
}

/* --- journal bearing ------------------------------------------------------------------------ */

static void fill_bearing(cvtm_model_problem *problem) {
  const int64_t width = problem->width, height = problem->height;
  const double hx = 2 * CVTM_PI / (double)(width + 1);
  const double hy = 2 * bearing_half_height / (double)(height + 1);
  const double e = bearing_eccentricity;
  for (int64_t i = 0; i <= width; ++i) {
    double p[3]; /* film thickness cubed at i, i + 1, i + 2 */
    for (int k = 0; k < 3; ++k) p[k] = pow(1 + e * cos((double)(i + k) * hx), 3);
    const double across = hy / hx * (p[0] + p[1]) / 2;
    const double down = hx / hy * (p[0] + 4 * p[1] + p[2]) / 6;
    const double load = e * hx * hy * sin((double)(i + 1) * hx);
    for (int64_t j = 0; j <= height; ++j) {
      if (j < height) problem->horizontal[j * (width + 1) + i] = across;
      if (i < width) problem->vertical[j * width + i] = down;
      if (i == width || j == height) continue;
      problem->b[j * width + i] = load;
      problem->lower[j * width + i] = 0;
    }
  }
}

/* --- American put ----------------------------------------------------------------------------- */

static double payoff(double x) { return x < 0 ? 1 - exp(x) : 0; }

void cvtm_put_defaults(cvtm_put *put) {
  *put = (cvtm_put){.rate = 0.05, .volatility = 0.2, .expiry = 1, .spot = 100, .strike = 100};
}

static double put_half_width(const cvtm_put *put) {
  return put_deviations * put->volatility * sqrt(put->expiry);
}

/* In units of ln(S/K). */
static double put_node(const cvtm_model_problem *problem, int64_t i) {
  return -put_half_width(&problem->put) + (double)(i + 1) * problem->spacing;
}

/* Central differences in space, one implicit step of the given length. */
static void fill_put(cvtm_model_problem *problem, double step) {
  const double rate = problem->put.rate, volatility = problem->put.volatility;
  const double h = problem->spacing, variance = volatility * volatility;
  const double diffusion = step * variance / (h * h);
  const double drift = step * (rate - variance / 2) / (2 * h);
  cvtm_csr *matrix = &problem->matrix;
  int64_t k = 0;
  for (int64_t i = 0; i < problem->width; ++i) {
    if (i > 0) k = put_entry(matrix, k, i - 1, -(diffusion / 2 - drift));
    k = put_entry(matrix, k, i, 1 + diffusion + step * rate);
    if (i + 1 < problem->width) k = put_entry(matrix, k, i + 1, -(diffusion / 2 + drift));
    matrix->row_start[i + 1] = k;
    problem->lower[i] = payoff(put_node(problem, i));
  }
  cvtm_model_put_next(problem, problem->lower);
}

void cvtm_model_put_next(cvtm_model_problem *problem, const double *x) {
  const int64_t width = problem->width;
  memcpy(problem->b, x, (size_t)width * sizeof *x);
  if (width < 2) return;
  /* The boundary values are the payoff. All rows have the same coefficients, so those of the
   * missing neighbours are value[2], of row 1, and value[last - 3], of the last row but one. */
  const double *value = problem->matrix.value;
  const int64_t last = problem->matrix.row_start[width] - 1;
  problem->b[0] -= value[2] * payoff(-put_half_width(&problem->put));
  problem->b[width - 1] -= value[last - 3] * payoff(put_half_width(&problem->put));
}

double cvtm_model_put_price(const cvtm_model_problem *problem, const double *x) {
  const int64_t n = problem->width;
  const double place =
      (log(problem->put.spot / problem->put.strike) + put_half_width(&problem->put)) /
          problem->spacing -
      1;
  int64_t first = (int64_t)floor(place) - 1; /* of the four nodes */
  if (first > n - 4) first = n - 4;
  if (first < 0) first = 0;
  const int nodes = n < 4 ? (int)n : 4;
  double value = 0;
  for (int a = 0; a < nodes; ++a) {
    double weight = 1; /* Lagrange's polynomial */
    for (int b = 0; b < nodes; ++b)
      if (b != a) weight *= (place - (double)(first + b)) / (double)(a - b);
    value += weight * x[first + a];
  }
  return problem->put.strike * value;
}

/* --- creation ------------------------------------------------------------------------------ */

static int is_positive(double value) { return value > 0 && value < HUGE_VAL; }

static cvtm_status check_put(const cvtm_put *put, int64_t intervals, int64_t steps,
                             cvtm_error *error) {
  if (intervals < 3 || intervals > INT32_MAX || steps < 1)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "no put of %lld intervals in %lld steps",
                     (long long)intervals, (long long)steps);
  if (!is_positive(put->volatility) || !is_positive(put->expiry) || !is_positive(put->spot) ||
      !is_positive(put->strike) || !(fabs(put->rate) < HUGE_VAL))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "a figure of the put is not positive and finite");
  if (!(fabs(log(put->spot / put->strike)) < put_half_width(put)))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "the spot %g is more than %g standard deviations from the strike %g",
                     put->spot, put_deviations, put->strike);
  return CVTM_OK;
}

cvtm_status cvtm_model_put_create(const cvtm_put *put, int64_t intervals, int64_t steps,
                                  cvtm_model_problem *problem, cvtm_error *error) {
  memset(problem, 0, sizeof *problem);
  cvtm_status status = check_put(put, intervals, steps, error);
  if (status != CVTM_OK) return status;
  problem->model = CVTM_MODEL_PUT;
  problem->put = *put;
  problem->width = intervals - 1;
  problem->height = 1;
  problem->spacing = 2 * put_half_width(put) / (double)intervals;
  status = allocate_problem(problem, 1, 0, error);
  if (status == CVTM_OK)
    fill_put(problem, put->expiry / (double)steps);
  else
    cvtm_model_problem_free(problem);
  return status;
}

static cvtm_status create_problem(cvtm_model model, int64_t width, int64_t height, int has_matrix,
                                  cvtm_model_problem *problem, cvtm_error *error) {
  memset(problem, 0, sizeof *problem);
  if (width < 1 || height < 1 || width > INT32_MAX || height > INT32_MAX / width) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "no problem of %lld x %lld", (long long)width,
                     (long long)height);
  }
  problem->model = model;
  problem->width = width;
  problem->height = height;
  const double length = model == CVTM_MODEL_HEMISPHERE ? 4 : 1;
  const int64_t side = problem->width > height ? problem->width : height;
  problem->spacing = length / (double)(side + 1);
  const cvtm_status status = allocate_problem(problem, has_matrix, model == CVTM_MODEL_PJB, error);
  if (status != CVTM_OK) {
    cvtm_model_problem_free(problem);
    return status;
  }
  if (model == CVTM_MODEL_HEMISPHERE)
    fill_hemisphere(problem);
  else if (model == CVTM_MODEL_PJB)
    fill_bearing(problem);
  else
    fill_plane(problem);
  if (has_matrix) fill_matrix(problem);
  return CVTM_OK;
}

cvtm_status cvtm_model_problem_create(cvtm_model model, int64_t width, int64_t height,
                                      int64_t steps, cvtm_model_problem *problem,
                                      cvtm_error *error) {
  cvtm_put put;
  cvtm_put_defaults(&put);
  return model == CVTM_MODEL_PUT ? cvtm_model_put_create(&put, width, steps, problem, error)
                                 : create_problem(model, width, height, 1, problem, error);
}

cvtm_status cvtm_model_problem_create_grid(cvtm_model model, int64_t width, int64_t height,
                                           cvtm_model_problem *problem, cvtm_error *error) {
  if (model == CVTM_MODEL_PUT) {
    memset(problem, 0, sizeof *problem);
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "a put has no five-point operator");
  }
  return create_problem(model, width, height, 0, problem, error);
}

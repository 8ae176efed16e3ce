/* The MINPACK-2 problems: sizes, constants, starting points and bounds, as in the collection's
 * report and its Fortran subroutines (d...fg.f). */
#include "lbfgsb/problems/minpack2.h"

#include "base/portable.h"
#include "base/select.h"
#include "lbfgsb/problems/minpack2_kernels.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 16 /* number of values copied at a time */ };

struct cvtm_minpack2 {
  cvtm_device *device;
  const cvtm_minpack2_table *table;
  cvtm_minpack2_data data;
  int64_t n;
  double start_value; /* gl1: the start value of every unknown */
  double vortices;    /* gl2 */
  /* owned arrays; the starting point needs the boundary values on the host, too */
  double *host_boundary, *boundary, *tables;
};

static const struct {
  const char *name, *title;
} kind_names[] = {
#define CVTM_MINPACK2_ROW(code, name, title) {name, title},
    CVTM_MINPACK2_LIST(CVTM_MINPACK2_ROW)
#undef CVTM_MINPACK2_ROW
};

/* Default and range of a parameter. strictly: nonzero: the range excludes its ends. */
typedef struct parameter_range {
  const char *name;
  double value, least, most;
  int strictly;
} parameter_range;

static const parameter_range parameters[CVTM_MINPACK2_COUNT][CVTM_MINPACK2_PARAMETERS] = {
    [CVTM_MINPACK2_EPT] = {{"c", 5.0, -1e100, 1e100, 0}},
    [CVTM_MINPACK2_PJB] = {{"e", 0.1, 0.0, 1.0, 1}, {"b", 10.0, 0.0, 1e100, 1}},
    [CVTM_MINPACK2_ODC] = {{"lambda", 0.008, 0.0, 1e100, 1}},
    [CVTM_MINPACK2_GL1] = {{"T", 5.0, 0.0, 7.32, 1}},
    [CVTM_MINPACK2_SSC] = {{"lambda", 1.0, 0.0, 1e100, 0}},
    [CVTM_MINPACK2_GL2] = {{"vortices", 8.0, 1.0, 1e6, 0}, {"kappa", 5.0, 0.0, 1e100, 1}},
};

cvtm_minpack2_kind cvtm_minpack2_find(const char *name) {
  int kind = 0;
  while (kind < (int)CVTM_MINPACK2_COUNT && strcmp(name, kind_names[kind].name) != 0) ++kind;
  return (cvtm_minpack2_kind)kind;
}

const char *cvtm_minpack2_name(cvtm_minpack2_kind kind) { return kind_names[kind].name; }
const char *cvtm_minpack2_title(cvtm_minpack2_kind kind) { return kind_names[kind].title; }

const char *cvtm_minpack2_parameter_name(cvtm_minpack2_kind kind, int k) {
  return k >= 0 && k < CVTM_MINPACK2_PARAMETERS ? parameters[kind][k].name : NULL;
}

void cvtm_minpack2_defaults(cvtm_minpack2_kind kind, cvtm_minpack2_options *options) {
  memset(options, 0, sizeof *options);
  options->nx = options->ny = kind == CVTM_MINPACK2_GL2 ? 100 : 200;
  options->variables = 40000;
  options->atoms = 20000;
  options->dimension = 2;
  for (int k = 0; k < CVTM_MINPACK2_PARAMETERS; ++k)
    options->parameter[k] = parameters[kind][k].value;
}

static cvtm_status check_parameters(cvtm_error *error, cvtm_minpack2_kind kind,
                                    const cvtm_minpack2_options *options) {
  for (int k = 0; k < CVTM_MINPACK2_PARAMETERS; ++k) {
    const parameter_range *row = &parameters[kind][k];
    const double value = options->parameter[k];
    if (!row->name) continue;
    const int inside = row->strictly ? value > row->least && value < row->most
                                     : value >= row->least && value <= row->most;
    if (!inside) {
      return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%s: %s = %g is not %s %g and %g",
                       kind_names[kind].name, row->name, value,
                       row->strictly ? "strictly between" : "between", row->least, row->most);
    }
  }
  if (kind == CVTM_MINPACK2_GL2 && floor(options->parameter[0]) != options->parameter[0]) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "gl2: vortices = %g is not a whole number",
                     options->parameter[0]);
  }
  return CVTM_OK;
}

static int is_grid(cvtm_minpack2_kind kind) {
  return kind != CVTM_MINPACK2_GL1 && kind != CVTM_MINPACK2_LJ;
}

/* Sets dimension, n, and nx and ny (for gl1 and lj: the number of unknowns or atoms, and 1). */
static cvtm_status set_sizes(cvtm_error *error, cvtm_minpack2 *problem,
                             const cvtm_minpack2_options *options) {
  cvtm_minpack2_data *data = &problem->data;
  const int64_t most = INT64_MAX / 1024;
  const char *name = kind_names[data->kind].name;
  int64_t each = 1;
  data->ny = 1;
  if (is_grid(data->kind)) {
    data->nx = options->nx;
    data->ny = options->ny;
    each = data->kind == CVTM_MINPACK2_GL2 ? 4 : 1;
    if (data->nx < 1 || data->ny < 1 || data->nx > most / each / data->ny) {
      return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%s: a grid cannot have %lld x %lld nodes", name,
                       (long long)data->nx, (long long)data->ny);
    }
  } else if (data->kind == CVTM_MINPACK2_GL1) {
    data->nx = options->variables;
    if (data->nx < 4 || data->nx > most) {
      return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%s: %lld variables, and at least 4 are needed",
                       name, (long long)data->nx);
    }
  } else {
    data->nx = options->atoms;
    data->dimension = options->dimension;
    if (data->dimension != 2 && data->dimension != 3) {
      return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%s: dimension %d is neither 2 nor 3", name,
                       data->dimension);
    }
    each = data->dimension;
    if (data->nx < 1 || data->nx > most / each)
      return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%s: %lld atoms", name, (long long)data->nx);
  }
  problem->n = each * data->nx * data->ny;
  return CVTM_OK;
}

/* Sets materials N and S of gl1 at temperature T, in CGS units, lengths in 1e-6 cm. */
static void set_layers(cvtm_minpack2 *problem, double temperature) {
  cvtm_minpack2_data *data = &problem->data;
  const double mass = 9.11e-28, light = 2.99e10, charge = 4.80e-10, planck = 1.05459e-27;
  const double critical[2] = {3.73, 7.32}, field[2] = {309.0, 803.0}, depth[2] = {3.4e-6, 3.7e-6};
  const double q = (charge / light) * (charge / light) / mass;
  const int64_t quarter = data->nx / 4;
  data->first_in_s = quarter;
  data->last_in_s = data->nx - quarter;
  data->h[0] = 2.2 / (double)quarter;
  data->h[1] = 2.0 / (double)(data->last_in_s - data->first_in_s);
  double a[2], b[2];
  for (int k = 0; k < 2; ++k) {
    const double ratio = temperature / critical[k], s = ratio * ratio;
    const double strength = field[k] * depth[k], area = depth[k] * depth[k];
    a[k] = -2.0 * q * strength * strength * (1.0 - s) / (1.0 + s) * 1e18;
    b[k] = 16.0 * CVTM_PI * q * q * strength * strength * area / ((1.0 + s) * (1.0 + s)) * 1e36;
    data->inverse_h[k] = 1.0 / data->h[k];
    data->third_a[k] = a[k] / 3.0;
    data->tenth_b[k] = b[k] / 10.0;
  }
  data->stiffness = planck * planck / (4.0 * mass) * 1e30;
  problem->start_value = sqrt((b[0] + b[1]) / (2.0 * (fabs(a[0]) + fabs(a[1]))));
}

static void set_constants(cvtm_minpack2 *problem, const double *parameter) {
  cvtm_minpack2_data *data = &problem->data;
  data->hx = 1.0 / (double)(data->nx + 1);
  data->hy = 1.0 / (double)(data->ny + 1);
  switch (data->kind) {
    case CVTM_MINPACK2_PJB:
      data->hx = 2.0 * CVTM_PI / (double)(data->nx + 1);
      data->hy = 2.0 * parameter[1] / (double)(data->ny + 1);
      break;
    case CVTM_MINPACK2_ODC:
      data->lambda = parameter[0];
      data->t1 = sqrt(2.0 * data->lambda * 0.5);
      data->t2 = sqrt(2.0 * data->lambda * 2.0);
      break;
    case CVTM_MINPACK2_GL1:
      set_layers(problem, parameter[0]);
      break;
    case CVTM_MINPACK2_SSC:
      data->lambda = parameter[0];
      break;
    case CVTM_MINPACK2_GL2:
      problem->vortices = parameter[0];
      data->hx = 3.0 * sqrt(0.5 * parameter[0]) / (double)data->nx;
      data->hy = 3.0 * sqrt(3.0) * sqrt(0.5 * parameter[0]) / (double)data->ny;
      data->kappa2 = parameter[1] * parameter[1];
      data->b_jump = 2.0 * CVTM_PI * parameter[0] / ((double)data->ny * data->hy);
      break;
    default:
      break;
  }
  data->weight_x = data->hy / data->hx;
  data->weight_y = data->hx / data->hy;
  data->load = data->hx * data->hy * parameter[0];
  if (data->kind == CVTM_MINPACK2_SSC)
    data->offset = -data->load * ((double)data->nx + (double)data->ny + 1.0);
}

/* The height of Enneper's surface over (x, y), by at most five steps of Newton's method. */
static double enneper(double x, double y) {
  double u = x, v = -y;
  for (int step = 0; step < 5; ++step) {
    const double fx = u + u * v * v - u * u * u / 3.0 - x;
    const double fy = -v - u * u * v + v * v * v / 3.0 - y;
    if (sqrt(fx * fx + fy * fy) <= 1e-10) break;
    const double xu = 1.0 + v * v - u * u, xv = 2.0 * u * v, yu = -2.0 * u * v,
                 yv = v * v - u * u - 1.0;
    const double determinant = xu * yv - xv * yu;
    u -= (yv * fx - xv * fy) / determinant;
    v -= (xu * fy - yu * fx) / determinant;
  }
  return u * u - v * v;
}

/* Copies a table to the device. */
static cvtm_status copy_table(cvtm_device *device, const double *table, int64_t count,
                              double **copy) {
  CVTM_TRY(cvtm_device_allocate(device, count, CVTM_TYPED(*copy)));
  return cvtm_device_copy_in(device, *copy, table, (size_t)count * sizeof *table);
}

/* Sets the boundary values: bottom[nx + 2], top[nx + 2], left[ny + 2], right[ny + 2]. */
static cvtm_status make_boundary_values(cvtm_minpack2 *problem) {
  cvtm_minpack2_data *data = &problem->data;
  const int64_t columns = data->nx + 2, rows = data->ny + 2, count = 2 * (columns + rows);
  double *bottom = calloc((size_t)count, sizeof *bottom);
  if (!bottom)
    return cvtm_fail(cvtm_device_error(problem->device), CVTM_ERROR_MEMORY, "out of memory");
  problem->host_boundary = bottom;
  double *top = bottom + columns, *left = top + columns, *right = left + rows;
  if (data->kind == CVTM_MINPACK2_MSA) {
    for (int64_t i = 0; i < columns; ++i) {
      bottom[i] = enneper(-0.5 + (double)i * data->hx, -0.5);
      top[i] = enneper(-0.5 + (double)i * data->hx, 0.5);
    }
    for (int64_t j = 0; j < rows; ++j) {
      left[j] = enneper(-0.5, -0.5 + (double)j * data->hy);
      right[j] = enneper(0.5, -0.5 + (double)j * data->hy);
    }
    double unused;
    const double low = cvtm_minpack2_surface((bottom[1] - bottom[0]) / data->hx,
                                             (left[1] - left[0]) / data->hy, &unused);
    const double high =
        cvtm_minpack2_surface((top[columns - 1] - top[columns - 2]) / data->hx,
                              (right[rows - 1] - right[rows - 2]) / data->hy, &unused);
    data->offset = 0.5 * data->hx * data->hy * (low + high);
  }
  const cvtm_status status = copy_table(problem->device, bottom, count, &problem->boundary);
  data->bottom = problem->boundary;
  data->top = data->bottom + columns;
  data->left = data->top + columns;
  data->right = data->left + rows;
  return status;
}

/* pjb: fills tables for columns 0 .. nx: weights of differences in x and in y, and the load. */
static void fill_bearing(const cvtm_minpack2_data *data, double eccentricity, double *table) {
  const int64_t nx = data->nx;
  const double w = data->hx * data->hy;
  double *vertical = table + nx + 1, *load = vertical + nx + 1;
  double film[3]; /* cube of the film's thickness in columns i - 1, i, i + 1 */
  for (int64_t i = 0; i <= nx; ++i) {
    for (int k = 0; k < 3; ++k) {
      const double height = 1.0 + eccentricity * cos((double)(i + k - 1) * data->hx);
      film[k] = height * height * height;
    }
    table[i] = w * (film[1] + film[2]) / (2.0 * data->hx * data->hx);
    vertical[i] = w * (4.0 * film[1] + film[0] + film[2]) / (6.0 * data->hy * data->hy);
    load[i] = eccentricity * w * sin((double)i * data->hx);
  }
}

/* gl2: for each row, cosine and sine of the phase difference of psi between the right and the left
 * side. */
static void fill_phase_factors(const cvtm_minpack2_data *data, double vortices, double *table) {
  for (int64_t j = 0; j < data->ny; ++j) {
    const double angle = 2.0 * CVTM_PI * vortices * (double)j / (double)data->ny;
    table[2 * j] = cos(angle);
    table[2 * j + 1] = sin(angle);
  }
}

static cvtm_status make_tables(cvtm_minpack2 *problem, const double *parameter) {
  cvtm_minpack2_data *data = &problem->data;
  int64_t count = 0;
  if (data->kind == CVTM_MINPACK2_PJB) count = 3 * (data->nx + 1);
  if (data->kind == CVTM_MINPACK2_GL2) count = 2 * data->ny;
  if (count == 0) return CVTM_OK;
  double *table = malloc((size_t)count * sizeof *table);
  if (!table)
    return cvtm_fail(cvtm_device_error(problem->device), CVTM_ERROR_MEMORY, "out of memory");
  if (data->kind == CVTM_MINPACK2_PJB)
    fill_bearing(data, parameter[0], table);
  else
    fill_phase_factors(data, parameter[0], table);
  const cvtm_status status = copy_table(problem->device, table, count, &problem->tables);
  free(table);
  data->tables = problem->tables;
  return status;
}

static cvtm_status build(cvtm_minpack2 *problem, const cvtm_minpack2_options *options) {
  cvtm_minpack2_data *data = &problem->data;
  cvtm_error *error = cvtm_device_error(problem->device);
  CVTM_TRY(set_sizes(error, problem, options));
  CVTM_TRY(check_parameters(error, data->kind, options));
  set_constants(problem, options->parameter);
  if (is_grid(data->kind) && data->kind != CVTM_MINPACK2_GL2)
    CVTM_TRY(make_boundary_values(problem));
  CVTM_TRY(make_tables(problem, options->parameter));
  CVTM_TRY(cvtm_device_allocate(problem->device, problem->table->parts(data),
                                CVTM_TYPED(data->partial)));
  CVTM_TRY(cvtm_device_allocate(problem->device, 1, CVTM_TYPED(data->blocks_ended)));
  return cvtm_device_fill(problem->device, data->blocks_ended, 0, sizeof *data->blocks_ended);
}

cvtm_status cvtm_minpack2_create(cvtm_device *device, cvtm_minpack2_kind kind,
                                 const cvtm_minpack2_options *options, cvtm_minpack2 **problem) {
  cvtm_minpack2_options defaults;
  cvtm_minpack2_defaults(kind, &defaults);
  cvtm_minpack2 *result = calloc(1, sizeof *result);
  if (!result) return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "out of memory");
  result->device = device;
  result->table = CVTM_TABLE(device, cvtm_minpack2_table);
  result->data.kind = kind;
  const cvtm_status status = build(result, options ? options : &defaults);
  if (status != CVTM_OK) {
    cvtm_minpack2_destroy(result);
    return status;
  }
  *problem = result;
  return CVTM_OK;
}

void cvtm_minpack2_destroy(cvtm_minpack2 *problem) {
  if (!problem) return;
  void *const owned[] = {problem->boundary, problem->tables, problem->data.partial,
                         problem->data.blocks_ended};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; ++i)
    cvtm_device_free(problem->device, owned[i]);
  free(problem->host_boundary);
  free(problem);
}

int64_t cvtm_minpack2_variables(const cvtm_minpack2 *problem) { return problem->n; }

/* The distance of node (i, j) to the boundary of the unit square. */
static double boundary_distance(const cvtm_minpack2_data *data, int64_t i, int64_t j) {
  const int64_t column = i < data->nx + 1 - i ? i : data->nx + 1 - i;
  const int64_t row = j < data->ny + 1 - j ? j : data->ny + 1 - j;
  return fmin((double)column * data->hx, (double)row * data->hy);
}

static double distance_of_variable(const cvtm_minpack2_data *data, int64_t k) {
  return boundary_distance(data, k % data->nx + 1, k / data->nx + 1);
}

/* msa: the mean of the two linear interpolations between opposite sides. */
static double start_of_surface(const cvtm_minpack2 *problem, int64_t i, int64_t j) {
  const cvtm_minpack2_data *data = &problem->data;
  const double *bottom = problem->host_boundary, *top = bottom + data->nx + 2;
  const double *left = top + data->nx + 2, *right = left + data->ny + 2;
  const double alpha = (double)j * data->hy, beta = (double)i * data->hx;
  return 0.5 *
         (alpha * top[i] + (1.0 - alpha) * bottom[i] + beta * right[j] + (1.0 - beta) * left[j]);
}

static double start_of_vortices(const cvtm_minpack2 *problem, int64_t k) {
  const cvtm_minpack2_data *data = &problem->data;
  const int64_t count = data->nx * data->ny, block = k / count;
  const double x = (double)(k % count % data->nx) * data->hx;
  const double y = (double)(k % count / data->nx) * data->hy, root = sqrt(problem->vortices);
  if (block == 0) {
    const double wave = sin(root * CVTM_PI * x / 6.0) * sin(root * CVTM_PI * y / (6.0 * sqrt(3.0)));
    return 1.0 - wave * wave;
  }
  if (block < 3) return 0.0;
  return 2.0 * CVTM_PI * problem->vortices * x / ((double)count * data->hx * data->hy);
}

/* The number of atoms along a side of the lattice at the start. */
static int64_t lattice_side(const cvtm_minpack2_data *data) {
  const double count = (double)data->nx;
  return data->dimension == 2 ? (int64_t)sqrt(count) : (int64_t)cbrt(count + 0.5);
}

static double start_of_atoms(const cvtm_minpack2_data *data, int64_t k) {
  const int64_t side = lattice_side(data), atom = k / data->dimension;
  if (k % data->dimension == 0) return (double)(atom % side);
  if (data->dimension == 2) return (double)(atom / side);
  if (k % data->dimension == 1) return (double)(atom / side % side);
  return (double)(atom / (side * side));
}

static double start_of(const cvtm_minpack2 *problem, int64_t k) {
  const cvtm_minpack2_data *data = &problem->data;
  switch (data->kind) {
    case CVTM_MINPACK2_EPT:
      return distance_of_variable(data, k);
    case CVTM_MINPACK2_PJB:
      return fmax(sin((double)(k % data->nx + 1) * data->hx), 0.0);
    case CVTM_MINPACK2_MSA:
      return start_of_surface(problem, k % data->nx + 1, k / data->nx + 1);
    case CVTM_MINPACK2_ODC:
      return -distance_of_variable(data, k) * distance_of_variable(data, k);
    case CVTM_MINPACK2_GL1:
      return problem->start_value;
    case CVTM_MINPACK2_LJ:
      return start_of_atoms(data, k);
    case CVTM_MINPACK2_SSC:
      return data->lambda / (data->lambda + 1.0) * sqrt(distance_of_variable(data, k));
    default:
      return start_of_vortices(problem, k);
  }
}

static double lower_of(const cvtm_minpack2 *problem, int64_t k) {
  if (problem->data.kind == CVTM_MINPACK2_EPT) return -distance_of_variable(&problem->data, k);
  return problem->data.kind == CVTM_MINPACK2_PJB ? 0.0 : -HUGE_VAL;
}

static double upper_of(const cvtm_minpack2 *problem, int64_t k) {
  return problem->data.kind == CVTM_MINPACK2_EPT ? distance_of_variable(&problem->data, k)
                                                 : HUGE_VAL;
}

/* Fills an array in device memory, CHUNK values at a time. */
static cvtm_status fill_array(const cvtm_minpack2 *problem,
                              double (*value_of)(const cvtm_minpack2 *, int64_t), double *values) {
  double *part = malloc(CHUNK * sizeof *part);
  if (!part)
    return cvtm_fail(cvtm_device_error(problem->device), CVTM_ERROR_MEMORY, "out of memory");
  cvtm_status status = CVTM_OK;
  for (int64_t first = 0; status == CVTM_OK && first < problem->n; first += CHUNK) {
    const int64_t count = problem->n - first < CHUNK ? problem->n - first : CHUNK;
    for (int64_t k = 0; k < count; ++k) part[k] = value_of(problem, first + k);
    status =
        cvtm_device_copy_in(problem->device, values + first, part, (size_t)count * sizeof *part);
  }
  free(part);
  return status;
}

cvtm_status cvtm_minpack2_start(const cvtm_minpack2 *problem, double *x) {
  return fill_array(problem, start_of, x);
}

cvtm_status cvtm_minpack2_bounds(const cvtm_minpack2 *problem, double *lower, double *upper) {
  CVTM_TRY(fill_array(problem, lower_of, lower));
  return fill_array(problem, upper_of, upper);
}

cvtm_status cvtm_minpack2_evaluate(void *problem, const double *x, double *f, double *g,
                                   void *stream) {
  const cvtm_minpack2 *p = problem;
  return p->table->evaluate(p->device, &p->data, x, f, g, stream);
}

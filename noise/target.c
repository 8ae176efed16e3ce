#include "noise/target.h"

#include "noise/kernels.h"
#include "noise/local_width.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MARGIN = CVTM_TARGET_MARGIN };

static const double step_of_spacing = 0.5; /* of the nodes, where the density is largest */
static const double nodes_of_point = 8, nodes_least = 16384;
static const double leaf_of_width = 1.2; /* the largest side of a square that is one source */

/* --- interpolation -------------------------------------------------------------------------------
 */

/* Weights of four nodes, and their derivatives, at t of the way from the second to the third. */
static void spline_weights(double t, double *w, double *dw) {
  const double u = 1 - t;
  w[0] = u * u * u / 6;
  w[1] = 2.0 / 3 - t * t + t * t * t / 2;
  w[2] = 2.0 / 3 - u * u + u * u * u / 2;
  w[3] = t * t * t / 6;
  dw[0] = -u * u / 2;
  dw[1] = -2 * t + 1.5 * t * t;
  dw[2] = 2 * u - 1.5 * u * u;
  dw[3] = t * t / 2;
}

static void keys_weights(double t, double *w, double *dw) {
  w[0] = t * (-0.5 + t * (1 - 0.5 * t));
  w[1] = 1 + t * t * (-2.5 + 1.5 * t);
  w[2] = t * (0.5 + t * (2 - 1.5 * t));
  w[3] = t * t * (-0.5 + 0.5 * t);
  dw[0] = -0.5 + t * (2 - 1.5 * t);
  dw[1] = t * (-5 + 4.5 * t);
  dw[2] = 0.5 + t * (4 - 4.5 * t);
  dw[3] = t * (-1 + 1.5 * t);
}

typedef struct stencil {
  int first[2]; /* node */
  double spline[2][4], spline_by[2][4], keys[2][4], keys_by[2][4];
} stencil;

static stencil stencil_at(const cvtm_target *target, double x, double y) {
  stencil s;
  const double place[2] = {x, y};
  const int nodes[2] = {target->columns, target->rows};
  for (int axis = 0; axis < 2; ++axis) {
    const double u = place[axis] / target->step[axis] - 0.5 + MARGIN;
    const int i = (int)fmin(fmax(floor(u), 1), nodes[axis] - 3);
    s.first[axis] = i - 1;
    spline_weights(u - i, s.spline[axis], s.spline_by[axis]);
    keys_weights(u - i, s.keys[axis], s.keys_by[axis]);
  }
  return s;
}

cvtm_target_value cvtm_target_at(const cvtm_target *target, double x, double y) {
  const stencil s = stencil_at(target, x, y);
  cvtm_target_value v = {0, 0, {0, 0}, {0, 0}};
  for (int j = 0; j < 4; ++j) {
    const int64_t row = (int64_t)(s.first[1] + j) * target->columns + s.first[0];
    double sum[4] = {0, 0, 0, 0}; /* along the row: value and derivative of both */
    for (int i = 0; i < 4; ++i) {
      sum[0] += s.spline[0][i] * target->log_width[row + i];
      sum[1] += s.spline_by[0][i] * target->log_width[row + i];
      sum[2] += s.keys[0][i] * target->potential[row + i];
      sum[3] += s.keys_by[0][i] * target->potential[row + i];
    }
    v.log_width += s.spline[1][j] * sum[0];
    v.width_by[0] += s.spline[1][j] * sum[1];
    v.width_by[1] += s.spline_by[1][j] * sum[0];
    v.potential += s.keys[1][j] * sum[2];
    v.potential_by[0] += s.keys[1][j] * sum[3];
    v.potential_by[1] += s.keys_by[1][j] * sum[2];
  }
  for (int axis = 0; axis < 2; ++axis) {
    v.width_by[axis] /= target->step[axis];
    v.potential_by[axis] /= target->step[axis];
  }
  return v;
}

/* --- masses --------------------------------------------------------------------------------------
 */

/* The masses of `cells` equal parts of a line of `count` values, constant on each: differences of
 * their sums. */
static void divide_line(const double *value, int64_t stride, int count, int cells, double *mass,
                        int64_t mass_stride) {
  const double size = (double)count / cells;
  double before = 0, sum = 0;
  int next = 0;
  for (int c = 1; c <= cells; ++c) {
    const double end = c == cells ? count : c * size;
    while (next < (int)end) sum += value[next++ * stride];
    const double part = end > next ? (end - next) * value[next * stride] : 0;
    mass[(c - 1) * mass_stride] = fmax(sum + part - before, 0);
    before = sum + part;
  }
}

/* Masses of a grid of columns x rows cells of the domain, whose total is `count`. */
static cvtm_status divide_density(cvtm_domain domain, const float *density, int64_t count,
                                  int columns, int rows, double *mass, cvtm_error *error) {
  const int width = domain.width, height = domain.height;
  double *line = malloc((size_t)width * sizeof *line);
  double *tall = malloc((size_t)columns * (size_t)height * sizeof *tall);
  double total = 0;
  if (line != NULL && tall != NULL) {
    for (int j = 0; j < height; ++j) {
      for (int i = 0; i < width; ++i) line[i] = (double)density[(int64_t)j * width + i];
      divide_line(line, 1, width, columns, tall + (int64_t)j * columns, 1);
    }
    for (int i = 0; i < columns; ++i)
      divide_line(tall + i, columns, height, rows, mass + i, columns);
    for (int64_t k = 0; k < (int64_t)columns * rows; ++k) total += mass[k];
    for (int64_t k = 0; k < (int64_t)columns * rows; ++k) mass[k] *= (double)count / total;
  }
  const int made = line != NULL && tall != NULL;
  free(line);
  free(tall);
  return made ? CVTM_OK : cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a density");
}

/* Nodes as close as the largest density wants, if there is room for so many. */
static void choose_nodes(cvtm_domain domain, const float *density, int64_t count, int cells[2]) {
  const double area = (double)domain.width * domain.height;
  double total = 0, largest = 0;
  for (int64_t p = 0; p < (int64_t)domain.width * domain.height; ++p) {
    total += (double)density[p];
    largest = fmax(largest, (double)density[p]);
  }
  const double least = sqrt(area / (nodes_of_point * (double)count + nodes_least));
  const double step = fmax(step_of_spacing * sqrt(total / (largest * (double)count)), least);
  cells[0] = (int)fmin(fmax(ceil(domain.width / step), 4), 30000);
  cells[1] = (int)fmin(fmax(ceil(domain.height / step), 4), 30000);
}

/* --- potential -----------------------------------------------------------------------------------
 */

/* Squares of the nodes' cells that are one source each. */
typedef struct leaves {
  const cvtm_target *target;
  const double *mass; /* of inner cells, without margins */
  int cells[2];
  cvtm_kernel_source *source;
  int64_t count;
} leaves;

static double log_width_of(const leaves *l, int i, int j) {
  return l->target->log_width[(int64_t)(j + MARGIN) * l->target->columns + i + MARGIN];
}

/* A source of the mass, the centroid and the mean variance of cells i0 .. i1 - 1, j0 .. j1 - 1. */
static void add_leaf(leaves *l, int i0, int i1, int j0, int j1) {
  const double *step = l->target->step;
  const double own = (step[0] * step[0] + step[1] * step[1]) / 24; /* variance of one cell */
  double m = 0, x = 0, y = 0, square = 0, width = 0;
  for (int j = j0; j < j1; ++j) {
    for (int i = i0; i < i1; ++i) {
      const double mass = l->mass[(int64_t)j * l->cells[0] + i];
      const double px = (i + 0.5) * step[0], py = (j + 0.5) * step[1];
      m += mass;
      x += mass * px;
      y += mass * py;
      square += mass * (px * px + py * py);
      width += mass * log_width_of(l, i, j);
    }
  }
  if (!(m > 0)) return;
  x /= m;
  y /= m;
  const double a = exp(width / m);
  const double spread = fmax(square / m - x * x - y * y, 0) / 2 + own;
  l->source[l->count++] = (cvtm_kernel_source){x, y, a, a * a + spread, m};
}

static void divide_square(leaves *l, int i, int j, int side) {
  const int i1 = i + side < l->cells[0] ? i + side : l->cells[0];
  const int j1 = j + side < l->cells[1] ? j + side : l->cells[1];
  double least = INFINITY;
  if (i >= i1 || j >= j1) return;
  for (int y = j; y < j1; ++y)
    for (int x = i; x < i1; ++x) least = fmin(least, log_width_of(l, x, y));
  if (side == 1 || side * l->target->step[0] <= leaf_of_width * exp(least)) {
    add_leaf(l, i, i1, j, j1);
    return;
  }
  for (int k = 0; k < 4; ++k)
    divide_square(l, i + k % 2 * side / 2, j + k / 2 * side / 2, side / 2);
}

/* The value of the B-spline at a node; beyond the margins that at the nearest. */
static double smoothed(const cvtm_target *target, int i, int j) {
  static const double weight[3] = {1.0 / 6, 4.0 / 6, 1.0 / 6};
  double sum = 0;
  for (int b = -1; b <= 1; ++b) {
    for (int a = -1; a <= 1; ++a) {
      const int x = (int)fmin(fmax(i + a, 0), target->columns - 1);
      const int y = (int)fmin(fmax(j + b, 0), target->rows - 1);
      sum += weight[a + 1] * weight[b + 1] * target->log_width[(int64_t)y * target->columns + x];
    }
  }
  return sum;
}

static void sum_potential(cvtm_target *target, const cvtm_kernels *kernels, int threads) {
#pragma omp parallel for schedule(dynamic, 4) num_threads(threads)
  for (int j = 0; j < target->rows; ++j) {
    for (int i = 0; i < target->columns; ++i) {
      const double x = (i - MARGIN + 0.5) * target->step[0],
                   y = (j - MARGIN + 0.5) * target->step[1];
      target->potential[(int64_t)j * target->columns + i] =
          cvtm_kernels_at(kernels, x, y, exp(smoothed(target, i, j))).value;
    }
  }
}

static cvtm_status make_potential(cvtm_target *target, const double *mass, const int cells[2],
                                  int threads, cvtm_error *error) {
  const int64_t count = (int64_t)cells[0] * cells[1];
  leaves l = {.target = target, .mass = mass, .cells = {cells[0], cells[1]}};
  cvtm_kernels *kernels = NULL;
  int side = 1;
  while (side < cells[0] || side < cells[1]) side *= 2;
  l.source = malloc((size_t)count * sizeof *l.source);
  if (l.source == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a density");
  divide_square(&l, 0, 0, side);
  const cvtm_status status = cvtm_kernels_create(target->domain, l.count, &kernels, error);
  if (status == CVTM_OK) {
    cvtm_kernels_set(kernels, l.source, l.count);
    sum_potential(target, kernels, threads);
  }
  cvtm_kernels_destroy(kernels);
  free(l.source);
  return status;
}

/* --- the whole -----------------------------------------------------------------------------------
 */

/* Copies the inner values outwards: those of the nearest nodes, in a torus those a turn away. */
static void fill_margins(cvtm_target *target, const int cells[2], const double *inner) {
  for (int j = 0; j < target->rows; ++j) {
    for (int i = 0; i < target->columns; ++i) {
      int x = i - MARGIN, y = j - MARGIN;
      if (target->domain.periodic) {
        x = (x + cells[0]) % cells[0];
        y = (y + cells[1]) % cells[1];
      }
      x = x < 0 ? 0 : x >= cells[0] ? cells[0] - 1 : x;
      y = y < 0 ? 0 : y >= cells[1] ? cells[1] - 1 : y;
      target->log_width[(int64_t)j * target->columns + i] = inner[(int64_t)y * cells[0] + x];
    }
  }
}

cvtm_status cvtm_target_masses(cvtm_domain domain, const float *density, int64_t count,
                               int cells[2], double **mass, cvtm_error *error) {
  choose_nodes(domain, density, count, cells);
  *mass = malloc((size_t)cells[0] * (size_t)cells[1] * sizeof **mass);
  if (*mass == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a density");
  const cvtm_status status =
      divide_density(domain, density, count, cells[0], cells[1], *mass, error);
  if (status == CVTM_OK) return CVTM_OK;
  free(*mass);
  *mass = NULL;
  return status;
}

static cvtm_status allocate_nodes(cvtm_target *target, double **inner, cvtm_error *error) {
  const size_t nodes = (size_t)target->columns * (size_t)target->rows;
  *inner = malloc(nodes * sizeof **inner);
  target->log_width = malloc(nodes * sizeof *target->log_width);
  target->potential = calloc(nodes, sizeof *target->potential);
  if (*inner && target->log_width && target->potential) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a density");
}

cvtm_status cvtm_target_create(cvtm_domain domain, const float *density, int64_t count,
                               double width, int wants_potential, int threads, cvtm_target *target,
                               cvtm_error *error) {
  int cells[2];
  double *mass = NULL, *inner = NULL;
  memset(target, 0, sizeof *target);
  cvtm_status status = cvtm_target_masses(domain, density, count, cells, &mass, error);
  if (status != CVTM_OK) return status;
  cvtm_target made = {.domain = domain,
                      .columns = cells[0] + 2 * MARGIN,
                      .rows = cells[1] + 2 * MARGIN,
                      .step = {(double)domain.width / cells[0], (double)domain.height / cells[1]}};
  status = allocate_nodes(&made, &inner, error);
  if (status == CVTM_OK)
    status =
        cvtm_local_width(cells, made.step, domain.periodic, mass, width, threads, inner, error);
  if (status == CVTM_OK) fill_margins(&made, cells, inner);
  if (status == CVTM_OK && wants_potential)
    status = make_potential(&made, mass, cells, threads, error);
  free(mass);
  free(inner);
  if (status != CVTM_OK) cvtm_target_free(&made);
  *target = made;
  return status;
}

void cvtm_target_free(cvtm_target *target) {
  free(target->log_width);
  free(target->potential);
  memset(target, 0, sizeof *target);
}

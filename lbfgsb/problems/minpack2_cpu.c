#include "lbfgsb/problems/minpack2_kernels.h"

enum {
  PART = 4096, /* approximate number of nodes, unknowns or pairs in a part */
  LANES = 256  /* number of values of a row that are computed before they are added */
};

/* The number of rows of a problem: grid rows, or single unknowns or atoms. */
static int64_t rows_of(const cvtm_minpack2_data *data) {
  return data->kind == CVTM_MINPACK2_GL1 || data->kind == CVTM_MINPACK2_LJ ? data->nx : data->ny;
}

static int64_t rows_of_part(const cvtm_minpack2_data *data) {
  if (data->kind == CVTM_MINPACK2_GL1) return PART;
  return data->nx < PART ? PART / data->nx : 1;
}

static int64_t cpu_parts(const cvtm_minpack2_data *data) {
  return (rows_of(data) - 1) / rows_of_part(data) + 1;
}

/* Sums in a fixed order: four partial sums, whose additions do not wait for each other. */
static double sum_of(const double *values, int count) {
  double sum[4] = {0.0, 0.0, 0.0, 0.0};
  int k = 0;
  for (; k + 4 <= count; k += 4) {
    for (int l = 0; l < 4; ++l) sum[l] += values[k + l];
  }
  for (; k < count; ++k) sum[0] += values[k];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* Returns the sum of the terms of nodes first .. last of a row, none of which is next to the
 * boundary, and sets their g. Inlined for each kind, so that the compiler can vectorise the loop
 * over l. */
static inline double inner_nodes(cvtm_minpack2_kind kind, const cvtm_minpack2_data *data,
                                 const double *restrict x, double *restrict g, int64_t first,
                                 int64_t last) {
  const int64_t nx = data->nx;
  double values[LANES], sum = 0.0;
  for (int64_t i = first; i <= last; i += LANES) {
    const int count = last - i < LANES ? (int)(last - i + 1) : (int)LANES;
    for (int l = 0; l < count; ++l) {
      const cvtm_stencil s = cvtm_minpack2_inner_stencil(x + i + l, nx);
      values[l] = cvtm_minpack2_node(kind, data, &s, i + l, 0, g + i + l);
    }
    sum += sum_of(values, count);
  }
  return sum;
}

static double grid_row(const cvtm_minpack2_data *data, const double *x, double *g, int64_t j) {
  const int64_t nx = data->nx, row = nx * j;
  const int inner = data->kind != CVTM_MINPACK2_GL2 && j > 0 && j + 1 < data->ny && nx > 2;
  double sum = 0.0;
  switch (inner ? data->kind : CVTM_MINPACK2_COUNT) {
#define INNER_NODES(kind, name, title)                                  \
  case kind:                                                            \
    sum = inner_nodes(kind, data, x + row - 1, g + row - 1, 2, nx - 1); \
    break;
    CVTM_MINPACK2_LIST(INNER_NODES)
    default:
      break;
  }
  for (int64_t i = 0; i < nx; i += inner && i == 0 ? nx - 1 : 1)
    sum += cvtm_minpack2_grid_node(data->kind, data, x, i, j, g);
  return sum;
}

/* Returns the sum of the terms of an atom with all others, and sets the g of the atom. Each atom of
 * a pair counts half of the pair's energy. */
static inline double atom_row(int dimension, const cvtm_minpack2_data *data, const double *x,
                              double *g, int64_t atom) {
  double sum = 0.0, away[3], slope[3] = {0.0, 0.0, 0.0};
  for (int64_t other = 0; other < data->nx; ++other) {
    if (other == atom) continue;
    for (int k = 0; k < dimension; ++k)
      away[k] = x[dimension * atom + k] - x[dimension * other + k];
    sum += cvtm_minpack2_pair(dimension, away, slope);
  }
  for (int k = 0; k < dimension; ++k) g[dimension * atom + k] = slope[k];
  return 0.5 * sum;
}

static double any_row(const cvtm_minpack2_data *data, const double *x, double *g, int64_t row) {
  switch (data->kind) {
    case CVTM_MINPACK2_GL1:
      return cvtm_minpack2_ring(data, x, row, g);
    case CVTM_MINPACK2_LJ:
      return data->dimension == 2 ? atom_row(2, data, x, g, row) : atom_row(3, data, x, g, row);
    default:
      return grid_row(data, x, g, row);
  }
}

static cvtm_status cpu_evaluate(cvtm_device *device, const cvtm_minpack2_data *data,
                                const double *x, double *f, double *g, void *stream) {
  const int64_t parts = cpu_parts(data), rows = rows_of(data), each = rows_of_part(data);
  int threads = cvtm_device_threads(device);
  if (threads > parts) threads = (int)parts;
  (void)threads;
  (void)stream;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t last = (part + 1) * each < rows ? (part + 1) * each : rows;
    double sum = 0.0;
    for (int64_t row = part * each; row < last; ++row) sum += any_row(data, x, g, row);
    data->partial[part] = sum;
  }
  double sum = data->offset;
  for (int64_t part = 0; part < parts; ++part) sum += data->partial[part];
  f[0] = sum;
  return CVTM_OK;
}

const cvtm_minpack2_table cvtm_minpack2_table_cpu = {
    .parts = cpu_parts,
    .evaluate = cpu_evaluate,
};

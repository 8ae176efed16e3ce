#include "base/cuda_utils.h"
#include "lbfgsb/problems/minpack2_kernels.h"

enum {
  THREADS = 256,
  WARP = 32,
  ATOMS = 32,                          /* atoms of a block */
  LANES = THREADS / ATOMS,             /* threads that share an atom */
  ENOUGH_BLOCKS = 8 * CVTM_CUDA_PARTS, /* with more blocks, a thread takes several rows */
  MAX_ROWS = 16                        /* largest number of rows of a thread */
};

/* The division of a grid into tiles x bands parts. In a part, width x (THREADS / width) threads
 * each compute a column of `rows` nodes. In gl1 a thread computes `rows` unknowns at distance
 * THREADS; in lj a part consists of `width` atoms. */
struct tiling {
  int width, rows;
  int64_t tiles, bands;
};

static int rows_per_thread(int64_t nodes) {
  const int64_t rows = nodes / ((int64_t)THREADS * ENOUGH_BLOCKS);
  return rows < 1 ? 1 : rows > MAX_ROWS ? MAX_ROWS : (int)rows;
}

static tiling find_tiling(const cvtm_minpack2_data *data) {
  tiling t;
  t.rows = rows_per_thread(data->nx * data->ny);
  t.width = 1;
  if (data->kind == CVTM_MINPACK2_GL1) {
    t.width = THREADS * t.rows;
  } else if (data->kind == CVTM_MINPACK2_LJ) {
    t.width = ATOMS;
  } else {
    while (t.width < THREADS && t.width < data->nx) t.width *= 2;
  }
  t.tiles = (data->nx - 1) / t.width + 1;
  t.bands = 1;
  if (data->ny > 1) t.bands = (data->ny - 1) / (THREADS / t.width * t.rows) + 1;
  return t;
}

/* Sets f[0] = data.offset + factor times the sum over all parts. The block that ends last adds the
 * sums of the parts in the order of the parts, so the result does not depend on the number of
 * blocks, nor on which block ends last. value_of(part): the value of a thread in a part. */
template <typename Value>
static __device__ void sum_parts(const cvtm_minpack2_data &data, int64_t parts, double factor,
                                 double *f, Value value_of) {
  for (int64_t part = blockIdx.x; part < parts; part += gridDim.x) {
    const double sum = cvtm_block_sum<THREADS>(factor * value_of(part));
    if (threadIdx.x == 0) data.partial[part] = sum;
  }
  if (!cvtm_last_block(data.blocks_ended)) return;
  double total = 0.0;
  for (int64_t part = threadIdx.x; part < parts; part += THREADS)
    total += __ldcg(data.partial + part);
  total = cvtm_block_sum<THREADS>(total);
  if (threadIdx.x == 0) f[0] = data.offset + total;
}

static __host__ __device__ int64_t parts_of(const tiling &t) { return t.tiles * t.bands; }

/* The first node of a thread: column *i, row *j, both counted from 0. */
static __device__ void find_node(const tiling &t, int64_t part, int64_t *i, int64_t *j) {
  const int64_t tile = part % t.tiles, band = part / t.tiles;
  const int thread = (int)threadIdx.x, across = THREADS / t.width;
  *i = tile * t.width + thread % t.width;
  *j = (band * across + thread / t.width) * t.rows;
}

/* Returns, for problem gl1, the sum of the terms of the unknowns that this thread computes in a
 * part. */
static __device__ double sum_ring(const cvtm_minpack2_data &data, const tiling &t,
                                  const double *__restrict__ x, int64_t part,
                                  double *__restrict__ g) {
  const int64_t first = part * t.width + threadIdx.x;
  double value = 0.0;
  for (int row = 0; row < t.rows; ++row) {
    const int64_t i = first + (int64_t)row * THREADS;
    if (i < data.nx) value += cvtm_minpack2_ring(&data, x, i, g);
  }
  return value;
}

/* Returns the sum of the terms of the grid nodes that this thread computes in a part. */
template <cvtm_minpack2_kind kind>
static __device__ double sum_nodes(const cvtm_minpack2_data &data, const tiling &t,
                                   const double *__restrict__ x, int64_t part,
                                   double *__restrict__ g) {
  int64_t i, j;
  find_node(t, part, &i, &j);
  const int64_t end = j + t.rows < data.ny ? j + t.rows : data.ny;
  double value = 0.0;
  for (; i < data.nx && j < end; ++j) value += cvtm_minpack2_grid_node(kind, &data, x, i, j, g);
  return value;
}

/* Returns the thread's share of the energy of the pairs of ATOMS atoms with all atoms, and sets the
 * gradient at these ATOMS atoms. All atoms pass through shared memory, THREADS at a time; LANES
 * threads share an atom. */
template <int dimension>
static __device__ double sum_pairs(const cvtm_minpack2_data &data, const double *__restrict__ x,
                                   int64_t part, double *__restrict__ g) {
  __shared__ double others[THREADS * dimension];
  __shared__ double slopes[dimension][LANES][ATOMS];
  const int own = (int)threadIdx.x % ATOMS, lane = (int)threadIdx.x / ATOMS;
  const int64_t count = data.nx, atom = part * ATOMS + own;
  double here[dimension], slope[dimension], away[dimension], value = 0.0;
  for (int k = 0; k < dimension; ++k) {
    here[k] = atom < count ? x[dimension * atom + k] : 0.0;
    slope[k] = 0.0;
  }
  for (int64_t first = 0; first < count; first += THREADS) {
    const int64_t left = dimension * (count - first);
    __syncthreads();
    for (int e = (int)threadIdx.x; e < THREADS * dimension && e < left; e += THREADS) {
      others[e] = x[dimension * first + e];
    }
    __syncthreads();
    const int end = count - first < THREADS ? (int)(count - first) : THREADS;
    for (int other = lane; other < end; other += LANES) {
      if (atom >= count || first + other == atom) continue;
      for (int k = 0; k < dimension; ++k) away[k] = here[k] - others[dimension * other + k];
      value += cvtm_minpack2_pair(dimension, away, slope);
    }
  }
  for (int k = 0; k < dimension; ++k) slopes[k][lane][own] = slope[k];
  __syncthreads();
  if (lane < dimension && atom < count) {
    double sum = 0.0;
    for (int l = 0; l < LANES; ++l) sum += slopes[lane][l][own];
    g[dimension * atom + lane] = sum;
  }
  return value;
}

/* dimension: used by lj. */
template <cvtm_minpack2_kind kind, int dimension>
static __global__ void __launch_bounds__(THREADS)
    evaluate(cvtm_minpack2_data data, tiling t, const double *__restrict__ x, double *f,
             double *__restrict__ g) {
  constexpr bool atoms = kind == CVTM_MINPACK2_LJ;
  sum_parts(data, parts_of(t), atoms ? 0.5 : 1, f, [&](int64_t part) {
    if constexpr (atoms) {
      return sum_pairs<dimension>(data, x, part, g);
    } else if constexpr (kind == CVTM_MINPACK2_GL1) {
      return sum_ring(data, t, x, part, g);
    } else {
      return sum_nodes<kind>(data, t, x, part, g);
    }
  });
}

using evaluation = void (*)(cvtm_minpack2_data, tiling, const double *, double *, double *);

static evaluation find_evaluation(const cvtm_minpack2_data *data) {
#define EVALUATION(kind, name, title) evaluate<kind, 2>,
  static const evaluation of_kind[] = {CVTM_MINPACK2_LIST(EVALUATION)};
  const bool is_spatial = data->kind == CVTM_MINPACK2_LJ && data->dimension == 3;
  return is_spatial ? evaluate<CVTM_MINPACK2_LJ, 3> : of_kind[data->kind];
}

extern "C" {

static int64_t cuda_parts(const cvtm_minpack2_data *data) { return parts_of(find_tiling(data)); }

static cvtm_status cuda_evaluate(cvtm_device *device, const cvtm_minpack2_data *data,
                                 const double *x, double *f, double *g, void *stream) {
  const tiling t = find_tiling(data);
  const unsigned blocks = cvtm_cuda_blocks(parts_of(t), 1);
  find_evaluation(data)<<<blocks, THREADS, 0, static_cast<cudaStream_t>(stream)>>>(*data, t, x, f,
                                                                                   g);
  return cvtm_cuda_launched(device, cvtm_minpack2_name(data->kind));
}

extern const cvtm_minpack2_table cvtm_minpack2_table_cuda = {
    cuda_parts,
    cuda_evaluate,
};

}  // extern "C"

/* For lbfgsb_cuda.cu and divided_cuda.cu only: the passes over the rows. Pass A makes the trial
 * point the current point, and forms the sums for the Cauchy point and the subspace problem. A
 * second pass restricts these sums to the free rows of the Cauchy point. Both passes read W once,
 * by asynchronous copies, and tensor cores form the products in double precision. With ordinary
 * multiplications the optimiser takes 1.7 times as long at n = 10^6, 2.2 times at 6.4 * 10^7, and
 * 3.9 times with m = 17 (H200). Then come pass B and the passes without products. */
#pragma once

#include "lbfgsb/blocks_cuda.h"
#include "lbfgsb/variables.h"

/* C (16 x 8) += A' B by the tensor cores, where A has 8 rows x 16 columns and B 8 x 8. With r =
 * lane % 4 and k = lane / 4, a lane has
 *   a[0] = A(r, k), a[1] = A(r, k + 8), a[2] = A(r + 4, k), a[3] = A(r + 4, k + 8),
 *   b[0] = B(r, k), b[1] = B(r + 4, k),
 *   c[0] = C(k, 2 r), c[1] = C(k, 2 r + 1), c[2] = C(k + 8, 2 r), c[3] = C(k + 8, 2 r + 1). */
static __device__ void multiply(double (&c)[4], const double (&a)[4], const double (&b)[2]) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c[i % 2 * 2]), "+d"(c[i % 2 * 2 + 1])
        : "d"(a[i]), "d"(b[i / 2]));
  }
#endif
}

/* The products of pass A by fragments. Y and S have BLOCKS groups of 8 columns each. */
template <int BLOCKS>
struct products {
  enum {
    V = 0,                          /* [Y S]'V, V = [g over free rows, s, y] */
    FREE = BLOCKS,                  /* [Y S]'Y over free rows */
    FIXED = FREE + BLOCKS * BLOCKS, /* [S Y]'S over fixed rows */
    COUNT = FIXED + BLOCKS * BLOCKS
  };
  double c[COUNT][4];
};

/* The entry of pass A for element (r, c) of fragment f; negative if there is none. */
template <int BLOCKS>
static __device__ int entry_of_element(const cvtm_lbfgsb_state *state,
                                       const cvtm_lbfgsb_layout &layout, int f, int r, int c) {
  typedef products<BLOCKS> shape;
  const int m = state->history, of_s = r / COLUMNS; /* of_s: row r is a column of S, else of Y */
  if (f < shape::FREE) {
    const int p = COLUMNS * f + r % COLUMNS;
    if (p >= m) return -1;
    if (c == 0) return layout.wg + of_s * m + p;
    if (c == 1) return (of_s ? layout.s_s : layout.y_s) + p;
    return c == 2 && !state->bounded ? (of_s ? layout.s_y : layout.y_y) + p : -1;
  }
  const int fixed = f >= shape::FIXED, at = f - (fixed ? shape::FIXED : shape::FREE);
  const int p = COLUMNS * (at / BLOCKS) + r % COLUMNS, q = COLUMNS * (at % BLOCKS) + c;
  if (!state->bounded || p >= m || q >= m) return -1;
  if (!of_s) return q <= p ? (fixed ? layout.ss : layout.yy) + cvtm_lbfgsb_triangle(p, q) : -1;
  const int s = fixed ? q : p, y = fixed ? p : q;
  const int over_fixed = cvtm_lbfgsb_age(state, s) > cvtm_lbfgsb_age(state, y);
  return over_fixed == fixed ? layout.sy + s * m + y : -1;
}

/* Adds the fragments of the warps of the block, FRAGMENTS_AT_ONCE at a time, and writes the sums
 * for the other blocks. */
template <int BLOCKS>
static __device__ void write_products(block_group on, const cvtm_lbfgsb_state *state,
                                      const products<BLOCKS> &own) {
  const cvtm_lbfgsb_layout layout = cvtm_lbfgsb_get_layout(state->history, state->bounded);
  double *buffer = block_memory()->buffer;
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int warp = thread / WARP, lane = thread % WARP, warps = threads / WARP;
#pragma unroll
  for (int first = 0; first < products<BLOCKS>::COUNT; first += FRAGMENTS_AT_ONCE) {
    __syncthreads();
#pragma unroll
    for (int f = 0; f < FRAGMENTS_AT_ONCE; ++f) {
      if (first + f >= products<BLOCKS>::COUNT) break;
      double *to = buffer + (warp * FRAGMENTS_AT_ONCE + f) * FRAGMENT + 2 * lane;
      to[0] = own.c[first + f][0];
      to[1] = own.c[first + f][1];
      to[FRAGMENT / 2] = own.c[first + f][2];
      to[FRAGMENT / 2 + 1] = own.c[first + f][3];
    }
    __syncthreads();
    for (int e = thread; e < FRAGMENTS_AT_ONCE * FRAGMENT; e += threads) {
      const int f = first + e / FRAGMENT;
      if (f >= products<BLOCKS>::COUNT) break;
      const int entry =
          entry_of_element<BLOCKS>(state, layout, f, e % FRAGMENT / COLUMNS, e % COLUMNS);
      if (entry < 0) continue;
      double sum = buffer[e];
      for (int w = 1; w < warps; ++w) sum += buffer[w * FRAGMENTS_AT_ONCE * FRAGMENT + e];
      *block_sum_at(on, 1, on.block, entry) = sum;
    }
  }
  __syncthreads();
}

/* Two adjacent elements of a column, loaded together. */
struct alignas(2 * sizeof(double)) couple {
  double first, second;
};

/* Adds the products of a tile of W. v: g over free rows, s and y. Of every 8 rows a lane loads two
 * adjacent rows, which `multiply` uses as rows lane % 4 and lane % 4 + 4. This permutes the rows in
 * the same way for both factors. */
template <int BLOCKS>
static __device__ __forceinline__ void add_tile(products<BLOCKS> &sums, const double *tile,
                                                const double *v, int m, int bounded,
                                                unsigned free_rows, unsigned fixed_rows) {
  typedef products<BLOCKS> shape;
  const int lane = static_cast<int>(threadIdx.x) % WARP, column = lane / 4;
#pragma unroll(BLOCKS == 1 ? 2 : 1)
  for (int h = 0; h < TILE; h += 8) {
    const int row = h + 2 * (lane % 4);
    couple y[BLOCKS], s[BLOCKS], side = {0.0, 0.0};
    if (column < VECTORS) side = *reinterpret_cast<const couple *>(v + column * TILE + row);
    const double of_v[2] = {side.first, side.second};
#pragma unroll
    for (int b = 0; b < BLOCKS; ++b) {
      const int c = COLUMNS * b + column;
      y[b] = s[b] = {0.0, 0.0};
      if (c < m) {
        y[b] = *reinterpret_cast<const couple *>(tile + c * TILE + row);
        s[b] = *reinterpret_cast<const couple *>(tile + (m + c) * TILE + row);
      }
      const double w[4] = {y[b].first, s[b].first, y[b].second, s[b].second};
      multiply(sums.c[shape::V + b], w, of_v);
    }
    if (!bounded) continue;
    if (free_rows != 0) {
      const int first = free_rows >> row & 1, second = free_rows >> (row + 1) & 1;
#pragma unroll
      for (int c = 0; c < BLOCKS; ++c) {
        const double free_y[2] = {first ? y[c].first : 0.0, second ? y[c].second : 0.0};
#pragma unroll
        for (int b = 0; b < BLOCKS; ++b) {
          const double w[4] = {y[b].first, s[b].first, y[b].second, s[b].second};
          multiply(sums.c[shape::FREE + b * BLOCKS + c], w, free_y);
        }
      }
    }
    if (fixed_rows != 0) {
      const int first = fixed_rows >> row & 1, second = fixed_rows >> (row + 1) & 1;
#pragma unroll
      for (int b = 0; b < BLOCKS; ++b) {
        const double fixed[4] = {first ? s[b].first : 0.0, first ? y[b].first : 0.0,
                                 second ? s[b].second : 0.0, second ? y[b].second : 0.0};
#pragma unroll
        for (int c = 0; c < BLOCKS; ++c) {
          const double of_s[2] = {s[c].first, s[c].second};
          multiply(sums.c[shape::FIXED + b * BLOCKS + c], fixed, of_s);
        }
      }
    }
  }
}

/* The values of a row that pass A reads, without W. */
struct row_data {
  double x, g, old_x, old_g, d, lower, upper, scale;
};

static __device__ row_data load_row(const cvtm_lbfgsb_arrays &arrays, int64_t i) {
  row_data data = {0.0, 0.0, 0.0, 0.0, 0.0, -HUGE_VAL, HUGE_VAL, 1.0};
  if (i >= arrays.n) return data;
  data.x = arrays.trial_x[i];
  data.g = arrays.trial_g[i];
  data.old_x = arrays.x[i];
  data.old_g = arrays.g[i];
  data.d = arrays.d[i];
  if (arrays.lower) data.lower = arrays.lower[i];
  if (arrays.upper) data.upper = arrays.upper[i];
  if (arrays.scale) data.scale = arrays.scale[i];
  return data;
}

/* Column c of row i of W; for c = 2m, g_i of the scaled variable. pending: after a speculative pass
 * A, the row is taken at the trial point, and its new pair is not yet in W. */
static __device__ double read_row(const cvtm_lbfgsb_arrays &arrays, const cvtm_lbfgsb_state &state,
                                  int64_t i, int c, int pending) {
  const int m = state.history;
  const double x = pending ? arrays.trial_x[i] : arrays.x[i];
  const double g = pending ? arrays.trial_g[i] : arrays.g[i];
  const cvtm_lbfgsb_variable row = cvtm_lbfgsb_get_variable(&arrays, i, x, g);
  if (c == 2 * m) return row.g;
  if (pending && c % m == state.newest) {
    const cvtm_lbfgsb_pair pair = cvtm_lbfgsb_make_pair(&arrays, &row, arrays.x[i], g, arrays.g[i]);
    return c < m ? pair.y : pair.s;
  }
  return arrays.w[cvtm_lbfgsb_at(i, c, m)];
}

/* A warp's tiles and vectors in shared memory. */
struct warp_slots {
  double *tiles;
  double *vectors;
};

template <int WARPS>
static __device__ warp_slots find_slots(int m) {
  constexpr int stages = device_stages<WARPS>();
  const int warp = static_cast<int>(threadIdx.x) / WARP, size = 2 * m * TILE;
  warp_slots slots;
  slots.vectors = block_memory()->buffer + warp * VECTORS * TILE;
  slots.tiles = reinterpret_cast<double *>(block_memory()->buffer + WARPS * VECTORS * TILE) +
                warp * stages * size;
  return slots;
}

/* Pass A by warps; a warp takes tiles of 32 rows. speculative: the trial point is not accepted yet,
 * so x, g and W are not written, and the state is if_accepted. */
template <int BLOCKS, int WARPS>
static __device__ __noinline__ void pass_a(block_group on, int speculative) {
  constexpr int stages = device_stages<WARPS>();
  typedef products<BLOCKS> shape;
  /* a copy that no store can change, so its pointers stay in registers */
  const cvtm_lbfgsb_arrays arrays = block_memory()->arrays;
  const cvtm_lbfgsb_state *state =
      speculative ? &block_memory()->if_accepted : &block_memory()->state;
  const int m = state->history, bounded = state->bounded, any = state->count > 0;
  const int newest = state->store_pair ? state->newest : -1, size = 2 * m * TILE;
  const int lane = static_cast<int>(threadIdx.x) % WARP;
  const warp_slots slots = find_slots<WARPS>(m);
  double *const w = arrays.w;
  const int64_t tiles = (arrays.n + TILE - 1) / TILE, stride = on.blocks * WARPS;
  int64_t at = on.block * WARPS + static_cast<int>(threadIdx.x) / WARP;
  shape sums;
  thread_sums own = empty_sums();
#pragma unroll
  for (int f = 0; f < shape::COUNT; ++f) {
    sums.c[f][0] = sums.c[f][1] = sums.c[f][2] = sums.c[f][3] = 0.0;
  }
  __syncthreads();
  const auto load = [&](int64_t number, double *slot) {
    load_tile(m, newest, slot, number < tiles ? w + number * size : nullptr);
  };
  for (int stage = 0; any && stage < stages; ++stage) {
    load(at + stage * stride, slots.tiles + stage * size);
  }
  row_data next = load_row(arrays, at * TILE + lane);
  for (int stage = 0; at < tiles; at += stride) {
    const int64_t i = at * TILE + lane;
    const row_data data = next;
    next = load_row(arrays, (at + stride) * TILE + lane);
    const cvtm_lbfgsb_variable row = {data.x, data.lower, data.upper, data.scale,
                                      data.scale * data.g};
    const int is_row = i < arrays.n, is_free = is_row && cvtm_lbfgsb_is_free(&row);
    const unsigned free_rows = __ballot_sync(0xffffffffu, is_free);
    const unsigned fixed_rows = __ballot_sync(0xffffffffu, is_row && !is_free);
    const cvtm_lbfgsb_pair pair =
        cvtm_lbfgsb_make_pair(&arrays, &row, data.old_x, data.g, data.old_g);
    if (is_row) cvtm_lbfgsb_add_point(&arrays, &row, i, is_free, own.value);
    own.value[CVTM_SUM_TRIAL] += data.g * data.d;
    if (!speculative && is_row) {
      arrays.x[i] = data.x;
      arrays.g[i] = data.g;
    }
    if (!any) continue;
    double *tile = slots.tiles + stage * size;
    wait_for_tile<stages - 1>();
    slots.vectors[lane] = is_free ? row.g : 0.0;
    slots.vectors[TILE + lane] = pair.s;
    slots.vectors[2 * TILE + lane] = pair.y;
    if (newest >= 0) {
      tile[newest * TILE + lane] = pair.y;
      tile[(m + newest) * TILE + lane] = pair.s;
      own.value[CVTM_SUM_YY] += pair.y * pair.y;
      if (!speculative) {
        w[at * size + newest * TILE + lane] = pair.y;
        w[at * size + (m + newest) * TILE + lane] = pair.s;
      }
    }
    __syncwarp();
    add_tile<BLOCKS>(sums, tile, slots.vectors, m, bounded, free_rows, fixed_rows);
    __syncwarp();
    load(at + stages * stride, tile);
    stage = stage + 1 < stages ? stage + 1 : 0;
  }
  __syncwarp();
  write_block_sums(on, own, 1);
  write_products<BLOCKS>(on, state, sums);
}

/* Sums the entries of pass A over the rows with 0 < t_i <= t^c, which leave the free set. */
template <int BLOCKS, int WARPS>
static __device__ __noinline__ void pass_restrict(block_group on) {
  typedef products<BLOCKS> shape;
  const cvtm_lbfgsb_arrays arrays = block_memory()->arrays;
  const cvtm_lbfgsb_state *state = &block_memory()->state;
  const int m = state->history, size = 2 * m * TILE;
  const int lane = static_cast<int>(threadIdx.x) % WARP;
  const warp_slots slots = find_slots<WARPS>(m);
  const double *w = arrays.w;
  const int64_t tiles = (arrays.n + TILE - 1) / TILE, stride = on.blocks * WARPS;
  shape sums;
  thread_sums own = empty_sums();
#pragma unroll
  for (int f = 0; f < shape::COUNT; ++f) {
    sums.c[f][0] = sums.c[f][1] = sums.c[f][2] = sums.c[f][3] = 0.0;
  }
  __syncthreads();
  for (int64_t at = on.block * WARPS + static_cast<int>(threadIdx.x) / WARP; at < tiles;
       at += stride) {
    const int64_t i = at * TILE + lane;
    int leaves = 0;
    double g = 0.0;
    if (i < arrays.n) {
      const cvtm_lbfgsb_variable row =
          cvtm_lbfgsb_get_variable(&arrays, i, arrays.x[i], arrays.g[i]);
      double t;
      leaves = cvtm_lbfgsb_selects(state, CVTM_ROWS_LEAVING, &row, &t);
      g = leaves ? row.g : 0.0;
    }
    const unsigned rows = __ballot_sync(0xffffffffu, leaves);
    if (rows == 0) continue;
    load_tile(m, -1, slots.tiles, w + at * size);
    slots.vectors[lane] = g;
    slots.vectors[TILE + lane] = slots.vectors[2 * TILE + lane] = 0.0;
    wait_for_tile<0>();
    add_tile<BLOCKS>(sums, slots.tiles, slots.vectors, m, 1, rows, rows);
    __syncwarp();
  }
  __syncwarp();
  write_block_sums(on, own, 1);
  write_products<BLOCKS>(on, state, sums);
}

/* Sets x = trial_x = x projected onto the box, and g = d = 0. */
static __device__ void pass_start(block_group on) {
  const cvtm_lbfgsb_arrays &arrays = block_memory()->arrays;
  thread_sums own = empty_sums();
  for (int64_t i = first_index(on); i < arrays.n; i += index_stride(on)) {
    cvtm_lbfgsb_start_row(&arrays, i, own.value);
  }
  write_block_sums(on, own, 0);
}

/* The pass of the line search: computes g'd at the trial point. */
static __device__ void pass_search(block_group on) {
  thread_sums own = empty_sums();
  for (int64_t i = first_index(on); i < block_memory()->arrays.n; i += index_stride(on)) {
    cvtm_lbfgsb_search_row(&block_memory()->arrays, i, own.value);
  }
  write_block_sums(on, own, 0);
}

/* Writes x, g and the new pair of row i from the trial point, after a speculative pass A. */
static __device__ void commit_row(const cvtm_lbfgsb_arrays &arrays, int64_t i, int m, int newest) {
  cvtm_lbfgsb_variable row;
  const cvtm_lbfgsb_pair pair = cvtm_lbfgsb_accept_row(&arrays, i, &row);
  double *w = arrays.w;
  w[cvtm_lbfgsb_at(i, newest, m)] = pair.y;
  w[cvtm_lbfgsb_at(i, m + newest, m)] = pair.s;
}

/* Writes the rows that a speculative pass A has not stored, unless a following pass B does so. */
static __device__ void pass_commit(block_group on) {
  const cvtm_lbfgsb_state *state = &block_memory()->state;
  for (int64_t i = first_index(on); i < block_memory()->arrays.n; i += index_stride(on)) {
    commit_row(block_memory()->arrays, i, state->history, state->newest);
  }
}

/* Pass B: computes d and the trial point of step 1, with the truncated step if the state needs it.
 * commit: also writes the rows that a speculative pass A has not stored. The pass goes from the
 * last row to the first, since the rows that pass A read last are still in the cache. */
static __device__ __noinline__ void pass_b(block_group on, int commit) {
  const cvtm_lbfgsb_arrays arrays = block_memory()->arrays;
  const cvtm_lbfgsb_state *state = &block_memory()->state;
  const int m = state->history, k = state->count, newest = commit ? state->newest : -1;
  const double factor = state->needs_fallback ? state->truncation : 1.0;
  const double *q = block_memory()->model.q;
  const double *point = commit ? arrays.trial_x : arrays.x;
  const double *gradient = commit ? arrays.trial_g : arrays.g;
  const int64_t stride = index_stride(on), end = (arrays.n + WARP - 1) / WARP * WARP;
  const int lane = static_cast<int>(threadIdx.x) % WARP;
  thread_sums own = empty_sums();
  for (int64_t i = end - WARP - first_index(on) + 2 * lane; i >= 0; i -= stride) {
    if (i >= arrays.n) continue;
    const double *w = arrays.w + cvtm_lbfgsb_at(i, 0, m);
    const double g = gradient[i];
    const cvtm_lbfgsb_variable row = cvtm_lbfgsb_get_variable(&arrays, i, point[i], g);
    cvtm_lbfgsb_pair pair = {0.0, 0.0};
    if (commit) pair = cvtm_lbfgsb_make_pair(&arrays, &row, arrays.x[i], g, arrays.g[i]);
    double wq = 0.0;
#pragma unroll 8
    for (int p = 0; p < k; ++p) {
      const double y = p == newest ? pair.y : w[p * TILE];
      const double s = p == newest ? pair.s : w[(m + p) * TILE];
      wq += y * q[p] + s * q[m + p];
    }
    if (commit) {
      double *to = arrays.w + cvtm_lbfgsb_at(i, 0, m);
      to[newest * TILE] = pair.y;
      to[(m + newest) * TILE] = pair.s;
      arrays.x[i] = row.x;
      arrays.g[i] = g;
    }
    cvtm_lbfgsb_step_row(&arrays, state, &row, i, g, wq, factor, own.value);
  }
  write_block_sums(on, own, 0);
}

/* Computes the trial point of a step other than 1. */
static __device__ void pass_trial(block_group on) {
  const cvtm_lbfgsb_arrays &arrays = block_memory()->arrays;
  const double step = block_memory()->state.step;
  for (int64_t i = first_index(on); i < arrays.n; i += index_stride(on)) {
    cvtm_lbfgsb_move_row(&arrays, i, step);
  }
}

#include "base/cuda_check.h"
#include "lbfgsb/lbfgsb_decide.h"
#include "lbfgsb/lbfgsb_kernels.h"

/* One kernel does a whole round: the passes over n rows with all blocks, and between them the
 * decisions by block 0, while the others wait. It is launched cooperatively,
 * so all blocks are resident. Every reduction has a fixed order: which warp has which tiles
 * depends on n and the number of blocks alone, and blocks are combined by their index. In a batch
 * each problem has one block, which waits for nobody. */
enum {
  WARP = 32,
  TILE = CVTM_LBFGSB_TILE,
  SINGLE_WARPS = 16, /* of a block that shares a problem */
  BATCH_WARPS = 4,   /* of a block that has one of its own */
  COLUMNS = 8,       /* of a fragment of the tensor cores */
  FRAGMENT = COLUMNS * COLUMNS,
  GROUP = 6,    /* fragments that the warps of a block put into shared memory at a time */
  PENDING = 16, /* loads of a thread that are under way together */
  SORTED = 2048 /* breakpoints that are sorted in shared memory */
};

static_assert(TILE == WARP, "a lane has a row of a tile");

struct shared_memory {
  cvtm_lbfgsb_state state;
  cvtm_lbfgsb_dense dense;
  cvtm_lbfgsb_work work;
  double sums[CVTM_LBFGSB_MAX_ENTRIES], rows[CVTM_LBFGSB_MAX_ENTRIES];
  double w[CVTM_LBFGSB_PAIR];
  double buffer[1]; /* of SINGLE_WARPS or BATCH_WARPS * GROUP * FRAGMENT doubles */
};

static size_t shared_bytes(int warps) {
  const size_t buffer = static_cast<size_t>(warps) * GROUP * FRAGMENT * sizeof(double);
  return sizeof(shared_memory) + buffer;
}

/* The blocks that share a problem, and what they share. */
struct crew {
  cvtm_lbfgsb_arrays arrays;
  shared_memory *shared;
  int64_t block, blocks;
};

template <typename T>
static __device__ void copy_words(T *to, const T *from) {
  const int words = static_cast<int>(sizeof(T) / sizeof(int64_t));
  static_assert(sizeof(T) % sizeof(int64_t) == 0, "whole words");
  int64_t *target = reinterpret_cast<int64_t *>(to);
  const int64_t *source = reinterpret_cast<const int64_t *>(from);
  for (int i = static_cast<int>(threadIdx.x); i < words; i += static_cast<int>(blockDim.x)) {
    target[i] = source[i];
  }
}

/* --- blocks that wait for each other --------------------------------------------------------- */

/* Arrives. Block 0 (always the same: its caches hold what a decision needs) waits for all and
 * returns 1; it then must let the others go. */
static __device__ int arrive(const crew &team, unsigned *generation) {
  if (team.blocks == 1) return 1;
  volatile unsigned *barrier = team.arrays.barrier;
  __syncthreads();
  if (threadIdx.x == 0) {
    *generation = barrier[1];
    __threadfence();
    if (team.block == 0) {
      while (barrier[0] != static_cast<unsigned>(team.blocks) - 1u) continue;
    } else {
      atomicAdd(team.arrays.barrier, 1u);
    }
    __threadfence();
  }
  __syncthreads();
  return team.block == 0;
}

static __device__ void let_go(const crew &team, unsigned generation) {
  __syncthreads();
  if (team.blocks == 1 || threadIdx.x != 0) return;
  volatile unsigned *barrier = team.arrays.barrier;
  barrier[0] = 0;
  __threadfence();
  barrier[1] = generation + 1;
}

static __device__ void wait(const crew &team, unsigned generation) {
  volatile unsigned *barrier = team.arrays.barrier;
  if (threadIdx.x == 0) {
    while (barrier[1] == generation) continue;
    __threadfence();
  }
  __syncthreads();
}

static __device__ void meet(const crew &team) {
  unsigned generation = 0;
  if (arrive(team, &generation)) {
    let_go(team, generation);
  } else {
    wait(team, generation);
  }
  __syncthreads();
}

/* figures[0 .. entries - 1], in shared memory, from those of the blocks. */
static __device__ __noinline__ void combine_blocks(const crew &team, int entries, double *figures) {
  const double *partial = team.arrays.partial;
  const int64_t stride = team.arrays.entries;
  const int threads = static_cast<int>(blockDim.x), thread = static_cast<int>(threadIdx.x);
  if (entries <= threads / WARP) {
    /* A warp for each entry. */
    const int entry = thread / WARP, lane = thread % WARP;
    if (entry < entries) {
      double value = cvtm_lbfgsb_neutral(entry);
      for (int64_t b = lane; b < team.blocks; b += WARP) {
        value = cvtm_lbfgsb_combine(entry, value, partial[b * stride + entry]);
      }
      for (int offset = WARP / 2; offset > 0; offset /= 2) {
        const double other = __shfl_down_sync(0xffffffffu, value, offset);
        value = cvtm_lbfgsb_combine(entry, value, other);
      }
      if (lane == 0) figures[entry] = value;
    }
    __syncthreads();
    return;
  }
  /* A thread for each entry, or several with the blocks dealt among them. */
  double *buffer = team.shared->buffer;
  const int width = entries < threads ? entries : threads;
  const int groups = threads / width, group = thread / width;
  for (int first = 0; first < entries; first += width) {
    const int entry = first + thread % width;
    const int mine = group < groups && entry < entries;
    double value = cvtm_lbfgsb_neutral(entry);
    if (mine) {
      /* The loads first: one after the other they would cost a latency each. */
      for (int64_t b = group; b < team.blocks; b += PENDING * groups) {
        double loaded[PENDING];
#pragma unroll
        for (int l = 0; l < PENDING; ++l) {
          const int64_t at = b + l * groups;
          loaded[l] = at < team.blocks ? partial[at * stride + entry] : cvtm_lbfgsb_neutral(entry);
        }
#pragma unroll
        for (int l = 0; l < PENDING; ++l) value = cvtm_lbfgsb_combine(entry, value, loaded[l]);
      }
      buffer[thread] = value;
    }
    __syncthreads();
    if (mine && group == 0) {
      for (int g = 1; g < groups; ++g) {
        value = cvtm_lbfgsb_combine(entry, value, buffer[g * width + thread]);
      }
      figures[entry] = value;
    }
    __syncthreads();
  }
}

/* The end of a pass: block 0 combines and decides, and all blocks go on with the new
 * state in their shared memory. decide(lanes) is called by one warp; with_dense: it needs the
 * dense matrices. */
template <int with_dense, typename Decide>
static __device__ void conclude(const crew &team, int entries, double *figures, Decide decide) {
  unsigned generation = 0;
  shared_memory *shared = team.shared;
  __syncthreads();
  if (!arrive(team, &generation)) {
    wait(team, generation);
    copy_words(&shared->state, team.arrays.state);
    __syncthreads();
    return;
  }
  if (with_dense) copy_words(&shared->dense, team.arrays.dense);
  combine_blocks(team, entries, figures);
  __syncthreads();
  if (threadIdx.x < WARP) {
    const cvtm_team lanes = {static_cast<int>(threadIdx.x), WARP};
    decide(lanes);
  }
  __syncthreads();
  if (with_dense) copy_words(team.arrays.dense, &shared->dense);
  copy_words(team.arrays.state, &shared->state);
  let_go(team, generation);
  __syncthreads();
}

/* --- a block's figures ----------------------------------------------------------------------- */

static __device__ double warp_combine(int entry, double value) {
  for (int offset = WARP / 2; offset > 0; offset /= 2) {
    const double other = __shfl_down_sync(0xffffffffu, value, offset);
    value = cvtm_lbfgsb_combine(entry, value, other);
  }
  return value;
}

/* The first CVTM_SUM_COLUMNS figures of this block, from those of its threads. */
static __device__ __noinline__ void write_figures(const crew &team, const double *own) {
  double *buffer = team.shared->buffer;
  const int thread = static_cast<int>(threadIdx.x), warps = static_cast<int>(blockDim.x) / WARP;
  __syncthreads();
#pragma unroll
  for (int e = 0; e < CVTM_SUM_COLUMNS; ++e) {
    const double value = warp_combine(e, own[e]);
    if (thread % WARP == 0) buffer[thread / WARP * CVTM_SUM_COLUMNS + e] = value;
  }
  __syncthreads();
  if (thread < CVTM_SUM_COLUMNS) {
    double value = buffer[thread];
    for (int warp = 1; warp < warps; ++warp) {
      value = cvtm_lbfgsb_combine(thread, value, buffer[warp * CVTM_SUM_COLUMNS + thread]);
    }
    team.arrays.partial[team.block * team.arrays.entries + thread] = value;
  }
  __syncthreads();
}

static __device__ void clear_figures(double *own) {
#pragma unroll
  for (int e = 0; e < CVTM_SUM_COLUMNS; ++e) own[e] = cvtm_lbfgsb_neutral(e);
}

static __device__ int64_t first_row(const crew &team) {
  return team.block * static_cast<int64_t>(blockDim.x) + threadIdx.x;
}

static __device__ int64_t row_stride(const crew &team) {
  return team.blocks * static_cast<int64_t>(blockDim.x);
}

/* --- pass A ---------------------------------------------------------------------------------- */

/* c (8 x 8) += a' b for fragments a, b of 4 rows x 8 columns. A lane has one element of a
 * fragment: row lane % 4, column lane / 4; and two of c: row lane / 4, columns 2 (lane % 4)
 * and the next. */
static __device__ void multiply(double (&c)[2], double a, double b) {
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(c[0]), "+d"(c[1])
      : "d"(a), "d"(b));
}

/* The products of pass A for BLOCKS blocks of 8 columns of Y and of S, in fragments. */
template <int BLOCKS>
struct products {
  enum { TRIANGLE = BLOCKS * (BLOCKS + 1) / 2, SQUARE = BLOCKS * BLOCKS };
  enum {
    Y_V = 0, /* Y'V, V = [g over free rows, s, y] */
    S_V = Y_V + BLOCKS,
    Y_Y = S_V + BLOCKS,        /* Y'Y over free rows, lower triangle of blocks */
    S_S = Y_Y + TRIANGLE,      /* S'S over fixed rows */
    S_FREE_Y = S_S + TRIANGLE, /* S'Y over free rows */
    S_FIXED_Y = S_FREE_Y + SQUARE,
    COUNT = S_FIXED_Y + SQUARE
  };
  double c[COUNT][2];
};

/* Which figure the element (r, c) of fragment f is; negative: none. */
template <int BLOCKS>
static __device__ int find_entry(const cvtm_lbfgsb_state *state, const cvtm_lbfgsb_layout &layout,
                                 int f, int r, int c) {
  typedef products<BLOCKS> shape;
  const int m = state->history;
  if (f < shape::Y_Y) {
    const int p = COLUMNS * (f % BLOCKS) + r, side = f / BLOCKS;
    if (p >= m) return -1;
    if (c == 0) return layout.wg + side * m + p;
    if (c == 1) return (side ? layout.s_s : layout.y_s) + p;
    return c == 2 && !state->bounded ? (side ? layout.s_y : layout.y_y) + p : -1;
  }
  if (!state->bounded) return -1;
  if (f < shape::S_FREE_Y) {
    const int side = f >= shape::S_S;
    int at = f - (side ? shape::S_S : shape::Y_Y), block = 0;
    while (at > block) at -= ++block;
    const int p = COLUMNS * block + r, q = COLUMNS * at + c;
    return p < m && q <= p ? (side ? layout.ss : layout.yy) + cvtm_lbfgsb_triangle(p, q) : -1;
  }
  const int fixed = f >= shape::S_FIXED_Y;
  const int at = f - (fixed ? shape::S_FIXED_Y : shape::S_FREE_Y);
  const int p = COLUMNS * (at / BLOCKS) + r, q = COLUMNS * (at % BLOCKS) + c;
  if (p >= m || q >= m) return -1;
  const int over_fixed = cvtm_lbfgsb_age(state, p) > cvtm_lbfgsb_age(state, q);
  return over_fixed == fixed ? layout.sy + p * m + q : -1;
}

/* Adds the fragments of the block's warps up, GROUP at a time, into the block's figures. */
template <int BLOCKS>
static __device__ void write_products(const crew &team, const cvtm_lbfgsb_layout &layout,
                                      const products<BLOCKS> &own) {
  double *buffer = team.shared->buffer;
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int warp = thread / WARP, lane = thread % WARP, warps = threads / WARP;
  double *partial = team.arrays.partial + team.block * team.arrays.entries;
#pragma unroll
  for (int first = 0; first < products<BLOCKS>::COUNT; first += GROUP) {
    __syncthreads();
#pragma unroll
    for (int f = 0; f < GROUP; ++f) {
      double *to = buffer + (warp * GROUP + f) * FRAGMENT + 2 * lane;
      to[0] = own.c[first + f][0];
      to[1] = own.c[first + f][1];
    }
    __syncthreads();
    for (int e = thread; e < GROUP * FRAGMENT; e += threads) {
      const int entry = find_entry<BLOCKS>(&team.shared->state, layout, first + e / FRAGMENT,
                                           e % FRAGMENT / COLUMNS, e % COLUMNS);
      if (entry < 0) continue;
      double sum = buffer[e];
      for (int w = 1; w < warps; ++w) sum += buffer[w * GROUP * FRAGMENT + e];
      partial[entry] = sum;
    }
  }
  __syncthreads();
}

/* Two neighbouring elements of a column, loaded at once. */
template <typename Real>
struct __align__(2 * sizeof(Real)) couple {
  Real first, second;
};

/* The row of step `step` of 8 that this lane holds: steps 2 h and 2 h + 1 share rows 8 h to
 * 8 h + 7, even and odd, so that a lane loads neighbours. */
static __device__ int row_of_step(int step) {
  const int lane = static_cast<int>(threadIdx.x) % WARP;
  return 8 * (step / 2) + 2 * (lane % 4) + step % 2;
}

/* STEPS fragments of Y and of S, starting with number `first` of 8. */
template <int BLOCKS, int STEPS, typename Real>
static __device__ void load_fragments(const Real *tile, int m, int first,
                                      double (&y)[STEPS][BLOCKS], double (&s)[STEPS][BLOCKS]) {
  const int lane = static_cast<int>(threadIdx.x) % WARP;
#pragma unroll
  for (int step = 0; step < STEPS; step += 2) {
    const int row = row_of_step(first + step);
#pragma unroll
    for (int block = 0; block < BLOCKS; ++block) {
      const int column = COLUMNS * block + lane / 4;
      couple<Real> from_y = {0, 0}, from_s = {0, 0};
      if (column < m) {
        from_y = *reinterpret_cast<const couple<Real> *>(tile + column * TILE + row);
        from_s = *reinterpret_cast<const couple<Real> *>(tile + (m + column) * TILE + row);
      }
      y[step][block] = static_cast<double>(from_y.first);
      y[step + 1][block] = static_cast<double>(from_y.second);
      s[step][block] = static_cast<double>(from_s.first);
      s[step + 1][block] = static_cast<double>(from_s.second);
    }
  }
}

/* This lane's row of a tile. */
struct lane_row {
  double s, y, g; /* g scaled, zero where the row is fixed */
  int is_free, is_fixed;
};

/* Takes the trial point over. */
static __device__ lane_row update_row(const cvtm_lbfgsb_arrays &arrays, int64_t i, double *own) {
  lane_row made;
  const double x = arrays.trial_x[i], g = arrays.trial_g[i];
  const cvtm_lbfgsb_row row = cvtm_lbfgsb_get_row(&arrays, i, x, g);
  made.s = cvtm_lbfgsb_unscaled(&arrays, &row, x - arrays.x[i]);
  made.y = (g - arrays.g[i]) * row.scale;
  arrays.x[i] = x;
  arrays.g[i] = g;
  made.is_free = cvtm_lbfgsb_is_free(&row);
  made.is_fixed = !made.is_free;
  made.g = made.is_free ? row.g : 0.0;
  own[CVTM_MAX_GRADIENT] = cvtm_lbfgsb_combine(CVTM_MAX_GRADIENT, own[CVTM_MAX_GRADIENT],
                                               cvtm_lbfgsb_projected_gradient(&arrays, &row));
  if (made.is_free) {
    own[CVTM_MIN_BREAKPOINT] = cvtm_lbfgsb_least_breakpoint(&row, own[CVTM_MIN_BREAKPOINT]);
  }
  if (x == row.lower || x == row.upper) own[CVTM_SUM_ACTIVE] += 1.0;
  own[CVTM_SUM_FREE_GG] += made.g * made.g;
  return made;
}

/* The same where rows with 0 < t_i <= t^c are to change sides. */
static __device__ lane_row restrict_row(const cvtm_lbfgsb_arrays &arrays, int64_t i,
                                        double cauchy) {
  lane_row made;
  const cvtm_lbfgsb_row row = cvtm_lbfgsb_get_row(&arrays, i, arrays.x[i], arrays.g[i]);
  const double t = cvtm_lbfgsb_breakpoint(&row);
  made.s = made.y = 0.0;
  made.is_free = made.is_fixed = t > 0.0 && t <= cauchy;
  made.g = made.is_free ? row.g : 0.0;
  return made;
}

/* Pass A (restricting = 0) and its correction (1): a warp takes tiles of 32 rows. */
template <int BLOCKS, int restricting, typename Real>
static __device__ __noinline__ void pass_a(const crew &team) {
  enum { STEPS = BLOCKS == 1 ? 8 : BLOCKS == 2 ? 4 : 2 };
  typedef products<BLOCKS> shape;
  /* A copy: stores cannot change it, so its pointers stay in registers. */
  const cvtm_lbfgsb_arrays arrays = team.arrays;
  const cvtm_lbfgsb_state *state = &team.shared->state;
  const int m = state->history, bounded = state->bounded, any = state->count > 0;
  const int store = !restricting && state->store_pair;
  const int newest = store ? state->newest : -1;
  const double cauchy = state->cauchy;
  const int lane = static_cast<int>(threadIdx.x) % WARP;
  const int warps = static_cast<int>(blockDim.x) / WARP;
  const int64_t tiles = (arrays.n + TILE - 1) / TILE;
  Real *const w = static_cast<Real *>(arrays.w);
  shape sums;
  double own[CVTM_SUM_COLUMNS], y[STEPS][BLOCKS], s[STEPS][BLOCKS];
  clear_figures(own);
#pragma unroll
  for (int f = 0; f < shape::COUNT; ++f) sums.c[f][0] = sums.c[f][1] = 0.0;
  for (int64_t at = team.block * warps + static_cast<int>(threadIdx.x) / WARP; at < tiles;
       at += team.blocks * warps) {
    const int64_t i = at * TILE + lane;
    Real *tile = w + at * TILE * 2 * m;
    lane_row row = {0.0, 0.0, 0.0, 0, 0};
    if (!restricting && any) load_fragments<BLOCKS, STEPS>(tile, m, 0, y, s);
    if (i < arrays.n) {
      row = restricting ? restrict_row(arrays, i, cauchy) : update_row(arrays, i, own);
    }
    const unsigned free_rows = __ballot_sync(0xffffffffu, row.is_free);
    const unsigned fixed_rows = __ballot_sync(0xffffffffu, row.is_fixed);
    if (!any || (restricting && free_rows == 0)) continue;
    if (restricting) load_fragments<BLOCKS, STEPS>(tile, m, 0, y, s);
    if (store) {
      const Real stored_y = static_cast<Real>(row.y), stored_s = static_cast<Real>(row.s);
      tile[newest * TILE + lane] = stored_y;
      tile[(m + newest) * TILE + lane] = stored_s;
      row.y = static_cast<double>(stored_y);
      row.s = static_cast<double>(stored_s);
      own[CVTM_SUM_YY] += row.y * row.y;
    }
#pragma unroll
    for (int first = 0; first < 8; first += STEPS) {
      if (first > 0) load_fragments<BLOCKS, STEPS>(tile, m, first, y, s);
#pragma unroll
      for (int step = 0; step < STEPS; ++step) {
        const int from = row_of_step(first + step), column = lane / 4;
        const double row_g = __shfl_sync(0xffffffffu, row.g, from);
        const double row_s = __shfl_sync(0xffffffffu, row.s, from);
        const double row_y = __shfl_sync(0xffffffffu, row.y, from);
        const double v = column == 0 ? row_g : column == 1 ? row_s : column == 2 ? row_y : 0.0;
        const int is_free = free_rows >> from & 1, is_fixed = fixed_rows >> from & 1;
        double free_y[BLOCKS], fixed_y[BLOCKS], fixed_s[BLOCKS];
#pragma unroll
        for (int b = 0; b < BLOCKS; ++b) {
          if (COLUMNS * b + column == newest) {
            y[step][b] = row_y;
            s[step][b] = row_s;
          }
          free_y[b] = is_free ? y[step][b] : 0.0;
          fixed_y[b] = is_fixed ? y[step][b] : 0.0;
          fixed_s[b] = is_fixed ? s[step][b] : 0.0;
          multiply(sums.c[shape::Y_V + b], y[step][b], v);
          multiply(sums.c[shape::S_V + b], s[step][b], v);
        }
        if (!bounded) continue;
#pragma unroll
        for (int b = 0; b < BLOCKS; ++b) {
#pragma unroll
          for (int c = 0; c < BLOCKS; ++c) {
            if (c <= b) {
              multiply(sums.c[shape::Y_Y + b * (b + 1) / 2 + c], y[step][b], free_y[c]);
              multiply(sums.c[shape::S_S + b * (b + 1) / 2 + c], s[step][b], fixed_s[c]);
            }
            multiply(sums.c[shape::S_FREE_Y + b * BLOCKS + c], s[step][b], free_y[c]);
            multiply(sums.c[shape::S_FIXED_Y + b * BLOCKS + c], s[step][b], fixed_y[c]);
          }
        }
      }
    }
  }
  write_figures(team, own);
  write_products<BLOCKS>(team, cvtm_lbfgsb_get_layout(m, bounded), sums);
}

template <int BLOCKS, int restricting>
static __device__ void pass_a_any(const crew &team) {
  if (team.shared->state.single) {
    pass_a<BLOCKS, restricting, float>(team);
  } else {
    pass_a<BLOCKS, restricting, double>(team);
  }
}

/* --- the exact Cauchy point ------------------------------------------------------------------ */

static __device__ void list_breakpoints(const crew &team) {
  const cvtm_lbfgsb_arrays &arrays = team.arrays;
  const double start = team.shared->state.window_start, end = team.shared->state.window_end;
  for (int64_t i = first_row(team); i < arrays.n; i += row_stride(team)) {
    const cvtm_lbfgsb_row row = cvtm_lbfgsb_get_row(&arrays, i, arrays.x[i], arrays.g[i]);
    const double t = cvtm_lbfgsb_breakpoint(&row);
    if (!(t > start && t <= end)) continue;
    const unsigned long long at =
        atomicAdd(reinterpret_cast<unsigned long long *>(arrays.breakpoint_count), 1ull);
    arrays.breakpoints[at] = t;
    arrays.breakpoint_rows[at] = i;
  }
}

/* One stage of Batcher's odd-even merge sort by (t, row), which undoes the chance order of the
 * list; threads first, first + stride, .. take part. */
static __device__ void sort_stage(double *t, int64_t *rows, int64_t count, int64_t p, int64_t k,
                                  int64_t first, int64_t stride) {
  const int64_t begin = k % p;
  for (int64_t a = first; a + k < count; a += stride) {
    const int64_t b = a + k;
    if (a < begin || (a - begin) % (2 * k) >= k || a / (2 * p) != b / (2 * p)) continue;
    const double ta = t[a], tb = t[b];
    const int64_t ra = rows[a], rb = rows[b];
    if (ta < tb || (ta == tb && ra < rb)) continue;
    t[a] = tb;
    t[b] = ta;
    rows[a] = rb;
    rows[b] = ra;
  }
}

/* Row i of W in order of age into shared memory; by one warp. */
static __device__ void read_w_row(const crew &team, int64_t i, cvtm_team lanes) {
  const cvtm_lbfgsb_state *state = &team.shared->state;
  for (int r = lanes.lane; r < 2 * state->count; r += lanes.lanes) {
    const int64_t at =
        cvtm_lbfgsb_at(i, cvtm_lbfgsb_w_column(state, &team.shared->work, r), state->history);
    team.shared->w[r] = state->single ? static_cast<double>(static_cast<float *>(team.arrays.w)[at])
                                      : static_cast<double *>(team.arrays.w)[at];
  }
  cvtm_team_sync();
}

/* Past the sorted breakpoints of the window, as far as the model falls; by one warp. */
static __device__ void walk(const crew &team, const double *t, const int64_t *rows, int64_t count,
                            cvtm_team lanes) {
  const cvtm_lbfgsb_arrays &arrays = team.arrays;
  shared_memory *shared = team.shared;
  cvtm_lbfgsb_list_columns(lanes, &shared->state, &shared->work);
  for (int64_t b = 0; b < count; ++b) {
    const double minimum = cvtm_lbfgsb_walk_minimum(lanes, &shared->state, arrays.walk);
    if (minimum <= t[b]) break;
    const int64_t i = rows[b];
    const double g = (arrays.scale ? arrays.scale[i] : 1.0) * arrays.g[i];
    read_w_row(team, i, lanes);
    cvtm_lbfgsb_walk_to(lanes, &shared->state, arrays.walk, t[b], g, shared->w);
  }
}

static __device__ __noinline__ void walk_window(const crew &team) {
  const cvtm_lbfgsb_arrays &arrays = team.arrays;
  shared_memory *shared = team.shared;
  const cvtm_lbfgsb_layout layout =
      cvtm_lbfgsb_get_layout(shared->state.history, shared->state.bounded);
  list_breakpoints(team);
  meet(team);
  const int64_t count = *static_cast<volatile int64_t *>(arrays.breakpoint_count);
  double *t = arrays.breakpoints;
  int64_t *rows = arrays.breakpoint_rows;
  const int64_t room = static_cast<int64_t>(blockDim.x) / WARP * GROUP * FRAGMENT / 2;
  const int in_shared = count <= SORTED && count <= room;
  if (!in_shared) {
    for (int64_t p = 1; p < count; p *= 2) {
      for (int64_t k = p; k >= 1; k /= 2) {
        sort_stage(t, rows, count, p, k, first_row(team), row_stride(team));
        meet(team);
      }
    }
  }
  unsigned generation = 0;
  __syncthreads();
  if (!arrive(team, &generation)) {
    wait(team, generation);
    copy_words(&shared->state, arrays.state);
    __syncthreads();
    return;
  }
  copy_words(&shared->dense, arrays.dense);
  for (int e = static_cast<int>(threadIdx.x); e < arrays.entries;
       e += static_cast<int>(blockDim.x)) {
    shared->sums[e] = arrays.sums[e];
  }
  if (in_shared) {
    t = shared->buffer;
    rows = reinterpret_cast<int64_t *>(t + count);
    for (int64_t e = threadIdx.x; e < count; e += blockDim.x) {
      t[e] = arrays.breakpoints[e];
      rows[e] = arrays.breakpoint_rows[e];
    }
    for (int64_t p = 1; p < count; p *= 2) {
      for (int64_t k = p; k >= 1; k /= 2) {
        __syncthreads();
        sort_stage(t, rows, count, p, k, threadIdx.x, blockDim.x);
      }
    }
  }
  __syncthreads();
  if (threadIdx.x < WARP) {
    const cvtm_team lanes = {static_cast<int>(threadIdx.x), WARP};
    walk(team, t, rows, count, lanes);
    cvtm_lbfgsb_end_window(lanes, &shared->state, &shared->dense, &shared->work, arrays.walk,
                           &layout, shared->sums);
    if (lanes.lane == 0) *arrays.breakpoint_count = 0;
  }
  __syncthreads();
  copy_words(arrays.dense, &shared->dense);
  copy_words(arrays.state, &shared->state);
  let_go(team, generation);
  __syncthreads();
}

/* --- the other passes ------------------------------------------------------------------------ */

static __device__ void pass_search(const crew &team) {
  double own[CVTM_SUM_COLUMNS];
  clear_figures(own);
  for (int64_t i = first_row(team); i < team.arrays.n; i += row_stride(team)) {
    own[CVTM_SUM_SLOPE] += team.arrays.trial_g[i] * team.arrays.d[i];
  }
  write_figures(team, own);
}

/* Pass B, truncated where that is due. */
template <typename Real>
static __device__ __noinline__ void pass_b(const crew &team) {
  const cvtm_lbfgsb_arrays arrays = team.arrays;
  const cvtm_lbfgsb_state *state = &team.shared->state;
  const int m = state->history, k = state->count;
  const double factor = state->due_fallback ? state->truncation : 1.0;
  double *q = team.shared->buffer, own[CVTM_SUM_COLUMNS];
  clear_figures(own);
  for (int c = static_cast<int>(threadIdx.x); c < 2 * m; c += static_cast<int>(blockDim.x)) {
    q[c] = arrays.dense->q[c];
  }
  __syncthreads();
  for (int64_t i = first_row(team); i < arrays.n; i += row_stride(team)) {
    const Real *w = static_cast<const Real *>(arrays.w) + cvtm_lbfgsb_at(i, 0, m);
    double wq = 0.0;
#pragma unroll 8
    for (int p = 0; p < k; ++p) {
      wq += static_cast<double>(w[p * TILE]) * q[p] +
            static_cast<double>(w[(m + p) * TILE]) * q[m + p];
    }
    const double g = arrays.g[i];
    const cvtm_lbfgsb_row row = cvtm_lbfgsb_get_row(&arrays, i, arrays.x[i], g);
    const double d = cvtm_lbfgsb_direction(state, &row, wq, factor, &own[CVTM_MIN_TRUNCATION]);
    const double scaled = cvtm_lbfgsb_unscaled(&arrays, &row, d);
    arrays.d[i] = d;
    arrays.trial_x[i] = cvtm_lbfgsb_trial(&row, d, 1.0);
    own[CVTM_MIN_STEP] = cvtm_lbfgsb_least_step(&row, row.x, d, own[CVTM_MIN_STEP]);
    own[CVTM_SUM_SLOPE] += g * d;
    own[CVTM_SUM_DD] += scaled * scaled;
  }
  write_figures(team, own);
}

static __device__ void pass_b_any(const crew &team) {
  if (team.shared->state.single) {
    pass_b<float>(team);
  } else {
    pass_b<double>(team);
  }
}

static __device__ void pass_trial(const crew &team) {
  const cvtm_lbfgsb_arrays &arrays = team.arrays;
  const double step = team.shared->state.step;
  for (int64_t i = first_row(team); i < arrays.n; i += row_stride(team)) {
    const cvtm_lbfgsb_row row = cvtm_lbfgsb_get_row(&arrays, i, arrays.x[i], 0.0);
    arrays.trial_x[i] = cvtm_lbfgsb_trial(&row, arrays.d[i], step);
  }
}

/* --- a round ---------------------------------------------------------------------------------- */

static __device__ void keep_figures(const crew &team, int entries) {
  for (int e = static_cast<int>(threadIdx.x) % WARP; e < entries; e += WARP) {
    team.arrays.sums[e] = team.shared->sums[e];
  }
}

template <int BLOCKS>
static __device__ void run_round(const crew &team) {
  const cvtm_lbfgsb_arrays &arrays = team.arrays;
  shared_memory *shared = team.shared;
  cvtm_lbfgsb_state *state = &shared->state;
  const cvtm_lbfgsb_layout layout = cvtm_lbfgsb_get_layout(state->history, state->bounded);

  pass_search(team);
  conclude<0>(team, CVTM_SUM_COLUMNS, shared->rows, [&](cvtm_team lanes) {
    if (lanes.lane != 0) return;
    cvtm_lbfgsb_decide_search(state, arrays.values, shared->rows[CVTM_SUM_SLOPE],
                              *static_cast<const volatile int *>(&arrays.orders->stop));
  });
  if (!state->running) return;

  if (state->due_update || state->due_direction) {
    const int renew = state->due_update;
    if (renew) pass_a_any<BLOCKS, 0>(team);
    conclude<1>(team, renew ? layout.entries : 0, shared->sums, [&](cvtm_team lanes) {
      if (renew) {
        keep_figures(team, layout.entries);
      } else {
        for (int e = lanes.lane; e < layout.entries; e += WARP) shared->sums[e] = arrays.sums[e];
      }
      cvtm_team_sync();
      cvtm_lbfgsb_decide_direction(lanes, state, &shared->dense, &shared->work, arrays.walk,
                                   &layout, shared->sums, arrays.mailbox,
                                   *static_cast<const volatile int *>(&arrays.orders->stop));
      if (lanes.lane == 0 && arrays.breakpoint_count) *arrays.breakpoint_count = 0;
    });
    if (!state->running) return;
  }
  while (state->due_breakpoints) walk_window(team);
  if (state->due_restrict) {
    pass_a_any<BLOCKS, 1>(team);
    conclude<1>(team, layout.entries, shared->rows, [&](cvtm_team lanes) {
      for (int e = lanes.lane; e < layout.entries; e += WARP) shared->sums[e] = arrays.sums[e];
      cvtm_team_sync();
      cvtm_lbfgsb_decide_restrict(lanes, state, &shared->dense, &shared->work, &layout,
                                  shared->sums, shared->rows);
    });
  }
  if (state->due_step) {
    pass_b_any(team);
    conclude<0>(team, CVTM_SUM_COLUMNS, shared->rows, [&](cvtm_team lanes) {
      if (lanes.lane == 0) cvtm_lbfgsb_decide_step(state, shared->rows);
    });
  }
  if (state->running && state->due_fallback) {
    pass_b_any(team);
    conclude<0>(team, CVTM_SUM_COLUMNS, shared->rows, [&](cvtm_team lanes) {
      if (lanes.lane == 0) cvtm_lbfgsb_decide_fallback(state, shared->rows);
    });
  }
  if (state->running && state->due_trial) pass_trial(team);
}

extern __shared__ double dynamic_memory[];

static __device__ crew make_crew(const cvtm_lbfgsb_arrays &all, int m, int single) {
  crew team;
  const int batch = all.problems > 1;
  team.shared = reinterpret_cast<shared_memory *>(dynamic_memory);
  team.arrays = cvtm_lbfgsb_of_problem(&all, batch ? blockIdx.x : 0, m,
                                       single ? sizeof(float) : sizeof(double));
  team.block = batch ? 0 : blockIdx.x;
  team.blocks = batch ? 1 : gridDim.x;
  copy_words(&team.shared->state, team.arrays.state);
  __syncthreads();
  return team;
}

/* Whether the loop goes on; by one thread of each problem. */
static __device__ void signal(const crew &team, const cvtm_lbfgsb_arrays &all, int was_running,
                              int claimed, cudaGraphConditionalHandle handle) {
  const cvtm_lbfgsb_state *state = &team.shared->state;
  if (all.problems > 1) {
    if (was_running && !state->running) atomicSub(all.flag, 1);
    return;
  }
  const int64_t taken = *static_cast<const volatile int64_t *>(&all.orders->taken);
  const int more = state->running && !cvtm_lbfgsb_mailbox_full(state, taken);
  *all.flag = more;
  if (claimed) cudaGraphSetConditional(handle, more ? 1u : 0u);
}

template <int BLOCKS, int WARPS>
static __global__ void __launch_bounds__(WARPS *WARP)
    round_kernel(cvtm_lbfgsb_arrays all, int m, int single, int claimed,
                 cudaGraphConditionalHandle handle) {
  const crew team = make_crew(all, m, single);
  const int was_running = team.shared->state.running;
  if (was_running) run_round<BLOCKS>(team);
  __syncthreads();
  if (team.block == 0 && threadIdx.x == 0) signal(team, all, was_running, claimed, handle);
}

template <int WARPS>
static __global__ void __launch_bounds__(WARPS *WARP)
    start_kernel(cvtm_lbfgsb_arrays all, int m, int single) {
  const crew team = make_crew(all, m, single);
  const cvtm_lbfgsb_arrays &arrays = team.arrays;
  double own[CVTM_SUM_COLUMNS];
  clear_figures(own);
  for (int64_t i = first_row(team); i < arrays.n; i += row_stride(team)) {
    const cvtm_lbfgsb_row row = cvtm_lbfgsb_get_row(&arrays, i, arrays.x[i], 0.0);
    const double x = cvtm_clamp(row.x, row.lower, row.upper);
    if (x != row.x) own[CVTM_SUM_ACTIVE] += 1.0;
    arrays.x[i] = x;
    arrays.trial_x[i] = x;
    arrays.g[i] = 0.0;
    arrays.d[i] = 0.0;
  }
  write_figures(team, own);
  conclude<0>(team, CVTM_SUM_COLUMNS, team.shared->rows, [&](cvtm_team lanes) {
    if (lanes.lane == 0) cvtm_lbfgsb_begin(&team.shared->state, team.shared->rows);
  });
}

/* --- launching ---------------------------------------------------------------------------------
 */

static const void *find_round(int m, int batch) {
  typedef void (*kernel)(cvtm_lbfgsb_arrays, int, int, int, cudaGraphConditionalHandle);
  static const kernel kernels[2][3] = {
      {round_kernel<1, SINGLE_WARPS>, round_kernel<2, SINGLE_WARPS>, round_kernel<3, SINGLE_WARPS>},
      {round_kernel<1, BATCH_WARPS>, round_kernel<2, BATCH_WARPS>, round_kernel<3, BATCH_WARPS>}};
  return reinterpret_cast<const void *>(kernels[batch][(m - 1) / COLUMNS]);
}

static const void *find_start(int batch) {
  typedef void (*kernel)(cvtm_lbfgsb_arrays, int, int);
  const kernel found = batch ? start_kernel<BATCH_WARPS> : start_kernel<SINGLE_WARPS>;
  return reinterpret_cast<const void *>(found);
}

static cvtm_status launch(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, const void *kernel,
                          void **arguments) {
  const int batch = arrays->problems > 1, warps = batch ? BATCH_WARPS : SINGLE_WARPS;
  const dim3 grid(static_cast<unsigned>(batch ? arrays->problems : arrays->parts));
  const dim3 block(static_cast<unsigned>(warps) * WARP);
  const size_t bytes = shared_bytes(warps);
  CVTM_CUDA_TRY(device, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(bytes)));
  if (batch) {
    CVTM_CUDA_TRY(
        device, cudaLaunchKernel(kernel, grid, block, arguments, bytes, cvtm_cuda_stream(device)));
  } else {
    CVTM_CUDA_TRY(device, cudaLaunchCooperativeKernel(kernel, grid, block, arguments, bytes,
                                                      cvtm_cuda_stream(device)));
  }
  return CVTM_OK;
}

extern "C" {

static int64_t cuda_parts(cvtm_device *device, int64_t n, int64_t problems) {
  int current = 0, multiprocessors = 1;
  const int64_t tiles = n / TILE + 1, wanted = (tiles - 1) / SINGLE_WARPS + 1;
  if (problems > 1 || cvtm_device_activate(device) != CVTM_OK) return 1;
  if (cudaGetDevice(&current) != cudaSuccess ||
      cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, current) !=
          cudaSuccess) {
    (void)cudaGetLastError();
    return 1;
  }
  return wanted < multiprocessors ? wanted : multiprocessors;
}

static cvtm_status cuda_start(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m,
                              int single) {
  cvtm_lbfgsb_arrays all = *arrays;
  void *arguments[] = {&all, &m, &single};
  return launch(device, arrays, find_start(arrays->problems > 1), arguments);
}

static cvtm_status cuda_round(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m,
                              int single) {
  cvtm_lbfgsb_arrays all = *arrays;
  uint64_t claim = 0;
  int claimed = arrays->problems == 1 && cvtm_loop_claim(device, &claim);
  cudaGraphConditionalHandle handle = claim;
  void *arguments[] = {&all, &m, &single, &claimed, &handle};
  return launch(device, arrays, find_round(m, arrays->problems > 1), arguments);
}

extern const cvtm_lbfgsb_table cvtm_lbfgsb_table_cuda = {cuda_parts, cuda_start, cuda_round};

}  // extern "C"

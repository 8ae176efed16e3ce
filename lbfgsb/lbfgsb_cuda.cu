#include "base/cuda_check.h"
#include "lbfgsb/lbfgsb_decide.h"
#include "lbfgsb/lbfgsb_kernels.h"

/* One kernel does a whole round: the passes over n rows with all blocks, and between them the
 * decisions by block 0, while the others wait. It is launched cooperatively, so all blocks are
 * resident. Every reduction has a fixed order: which warp has which tiles depends on n and the
 * number of blocks alone, and blocks are combined by their index. In a batch each problem has one
 * block, which waits for nobody. */
enum {
  WARP = 32,
  TILE = CVTM_LBFGSB_TILE,
  MOST_WARPS = 16,
  BATCH_WARPS = 4, /* of a block that has a problem of its own */
  STAGES = 2,      /* tiles of a warp in shared memory, one of them on its way */
  COLUMNS = 8,     /* of a fragment of the tensor cores, which has twice as many rows */
  FRAGMENT = 2 * COLUMNS * COLUMNS,
  GROUP = 3,     /* fragments that the warps of a block put into shared memory at a time */
  SIDES = 3,     /* vectors that the history is multiplied with: g over free rows, s, y */
  PENDING = 14,  /* loads of a thread that are under way together */
  AT_ONCE = 5,   /* the same where the lanes of a warp share the blocks */
  SORTED = 2048, /* breakpoints that are sorted in shared memory */
  BATCH_SORTED = 768
};

static_assert(TILE == WARP, "a lane has a row of a tile");

/* Warps of a block that shares a problem: as many as the registers allow. */
constexpr int warps_for(int blocks) { return blocks == 1 ? 16 : 8; }

/* Of a device without bulk copies, whose shared memory is smaller: one. */
static constexpr __host__ __device__ int stages_for(int warps, int bulk) {
  return warps == BATCH_WARPS || !bulk ? 1 : STAGES;
}

struct shared_memory {
  cvtm_lbfgsb_arrays arrays; /* of this problem */
  cvtm_lbfgsb_state state;
  cvtm_lbfgsb_state ahead;             /* as it will be if the trial point is accepted */
  alignas(16) cvtm_lbfgsb_dense dense; /* of block 0; the others have its q */
  alignas(16) double sums[CVTM_LBFGSB_MAX_ENTRIES + 1], rows[CVTM_LBFGSB_MAX_ENTRIES + 1];
  double w[CVTM_LBFGSB_PAIR];
  double second;                        /* f'' of the model */
  uint64_t kept;                        /* mbarrier of `dense` and `sums` */
  uint64_t landed[MOST_WARPS * STAGES]; /* mbarriers of the tiles */
  unsigned phases[MOST_WARPS];          /* which of their phases comes next, a bit for each */
  unsigned meetings;                    /* of the blocks so far */
  int solved;
  /* In a pass: tiles and SIDES vectors for each warp. Behind it: figures of the warps. In a
   * decision: the work space of two warps, and breakpoints. */
  alignas(128) double buffer[1];
};

static_assert(sizeof(cvtm_lbfgsb_work) % sizeof(double) == 0, "whole words");

static __host__ __device__ int sorted_room(const cvtm_lbfgsb_arrays *arrays) {
  return !arrays->breakpoints ? 0 : arrays->problems > 1 ? BATCH_SORTED : SORTED;
}

static size_t shared_bytes(const cvtm_lbfgsb_arrays *all, int warps, int stages, int m,
                           int single) {
  const size_t real = single ? sizeof(float) : sizeof(double);
  const size_t tiles = static_cast<size_t>(stages) * 2 * static_cast<size_t>(m) * real;
  const size_t pass = (tiles + SIDES * sizeof(double)) * TILE * static_cast<size_t>(warps);
  const size_t figures = static_cast<size_t>(warps) * GROUP * FRAGMENT * sizeof(double);
  const size_t decision =
      2 * sizeof(cvtm_lbfgsb_work) + static_cast<size_t>(sorted_room(all)) * 2 * sizeof(double);
  const size_t larger = pass > figures ? pass : figures;
  return sizeof(shared_memory) + (larger > decision ? larger : decision);
}

/* The blocks that share a problem, as one of them sees it. */
struct crew {
  int64_t block, blocks;
};

extern __shared__ __align__(128) double dynamic_memory[];

/* Never passed on: where the compiler sees whence it comes, it knows the kind of memory. */
static __device__ __forceinline__ shared_memory *the_shared() {
  return reinterpret_cast<shared_memory *>(dynamic_memory);
}

static __device__ __forceinline__ cvtm_lbfgsb_work *work_of(int warp) {
  return reinterpret_cast<cvtm_lbfgsb_work *>(the_shared()->buffer) + warp;
}

static __device__ void copy_doubles(double *to, const double *from, int count) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) {
    to[i] = from[i];
  }
}

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

/* --- copies to shared memory that nobody waits for at once ---------------------------------- */

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define BULK_COPIES 0
#else
#define BULK_COPIES 1
#endif

/* What a lane copies of every tile. Without bulk copies a lane has every 32nd couple of words; else
 * all columns but number `missing` of Y and of S (-1: all) are three runs, of lanes 0 to 2. */
struct lane_copy {
  unsigned first, bytes; /* of its run, in elements and in bytes */
  unsigned all;          /* bytes of the tile */
};

template <typename Real>
static __device__ lane_copy plan_copy(int m, int missing) {
  const int lane = static_cast<int>(threadIdx.x) % WARP, whole = !BULK_COPIES || missing < 0;
  const int first = lane == 0 || whole ? 0 : lane == 1 ? missing + 1 : m + missing + 1;
  const int last = whole ? 2 * m : lane == 0 ? missing : lane == 1 ? m + missing : 2 * m;
  const int columns = lane < (whole ? 1 : 3) ? last - first : 0;
  lane_copy plan;
  plan.first = static_cast<unsigned>(first * TILE);
  plan.bytes = static_cast<unsigned>(columns * TILE) * sizeof(Real);
  plan.all = static_cast<unsigned>((whole ? 2 * m : 2 * m - 2) * TILE) * sizeof(Real);
  return plan;
}

static __device__ unsigned shared_address(const void *pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

#if BULK_COPIES

/* Of one arrival: that of expect_bytes. */
static __device__ void make_barrier(uint64_t *barrier) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier)) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

static __device__ void expect_bytes(uint64_t *barrier, unsigned bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
      "r"(bytes)
      : "memory");
}

/* By one thread; what it copies comes by once in a round (evict_first): what else is in the cache
 * is wanted again sooner. */
static __device__ void copy_bulk(void *to, const void *from, unsigned bytes, uint64_t *barrier) {
  uint64_t policy;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1], %2, [%3], %4;" ::"r"(shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(barrier)), "l"(policy)
      : "memory");
}

static __device__ void wait_for_copy(uint64_t *landed, unsigned phase) {
  unsigned done;
  do {
    asm volatile(
        "{\n.reg .pred p;\n"
        "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n}"
        : "=r"(done)
        : "r"(shared_address(landed)), "r"(phase)
        : "memory");
  } while (!done);
}

/* Ordinary accesses before it come before bulk copies behind it. */
static __device__ void fence_copies() { asm volatile("fence.proxy.async;" ::: "memory"); }

/* The same for shared memory alone: loads of device memory may be under way. */
static __device__ void fence_tiles() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* By all lanes of a warp. */
template <typename Real>
static __device__ void send_for(const lane_copy &plan, Real *slot, const Real *tile,
                                uint64_t *landed) {
  if (threadIdx.x % WARP == 0) expect_bytes(landed, plan.all);
  if (plan.bytes > 0) copy_bulk(slot + plan.first, tile + plan.first, plan.bytes, landed);
}

/* What block 0 alone needs, and not before its first decision. */
static __device__ void send_for_kept(const cvtm_lbfgsb_arrays &all, int64_t problem) {
  shared_memory *shared = the_shared();
  const unsigned bytes = static_cast<unsigned>(all.entries) * sizeof(double);
  if (threadIdx.x != 0) return;
  expect_bytes(&shared->kept, sizeof shared->dense + bytes);
  copy_bulk(&shared->dense, all.dense + problem, sizeof shared->dense, &shared->kept);
  copy_bulk(shared->sums, all.sums + problem * all.entries, bytes, &shared->kept);
}

#else

static __device__ void make_barrier(uint64_t *) {}
static __device__ void fence_copies() {}
static __device__ void fence_tiles() {}

static __device__ void wait_for_copy(uint64_t *, unsigned) {
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncwarp();
}

template <typename Real>
static __device__ void send_for(const lane_copy &plan, Real *slot, const Real *tile, uint64_t *) {
  const unsigned words = plan.all / sizeof(int4), lane = threadIdx.x % WARP;
  for (unsigned i = lane; i < words; i += WARP) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                     shared_address(reinterpret_cast<int4 *>(slot) + i)),
                 "l"(reinterpret_cast<const int4 *>(tile) + i)
                 : "memory");
  }
}

static __device__ void send_for_kept(const cvtm_lbfgsb_arrays &all, int64_t problem) {
  copy_words(&the_shared()->dense, all.dense + problem);
  copy_doubles(the_shared()->sums, all.sums + problem * all.entries, static_cast<int>(all.entries));
}

#endif

/* --- blocks that wait for each other --------------------------------------------------------- */

static __device__ void wait_until(const unsigned *count, unsigned goal) {
  unsigned seen;
  for (;;) {
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(count) : "memory");
    if (static_cast<int>(seen - goal) >= 0) break;
  }
}

/* By thread 0, behind a __syncthreads: what the block wrote can be seen by those who wait. The
 * number of the meeting. */
static __device__ unsigned arrive(crew team) {
  asm volatile(
      "red.release.gpu.global.add.u32 [%0], 1;" ::"l"(&the_shared()->arrays.barrier->arrived)
      : "memory");
  return ++the_shared()->meetings;
}

static __device__ void wait_for_all(crew team, unsigned meeting) {
  wait_until(&the_shared()->arrays.barrier->arrived, meeting * static_cast<unsigned>(team.blocks));
}

static __device__ void meet(crew team) {
  __syncthreads();
  if (team.blocks > 1 && threadIdx.x == 0) wait_for_all(team, arrive(team));
  __syncthreads();
}

/* --- figures of all blocks ------------------------------------------------------------------- */

static __device__ double warp_combine(int entry, double value) {
  for (int offset = WARP / 2; offset > 0; offset /= 2) {
    const double other = __shfl_xor_sync(0xffffffffu, value, offset);
    value = cvtm_lbfgsb_combine(entry, value, other);
  }
  return value;
}

static __device__ cvtm_lbfgsb_first warp_combine_first(cvtm_lbfgsb_first value) {
  for (int offset = WARP / 2; offset > 0; offset /= 2) {
    const cvtm_lbfgsb_first other = {__shfl_xor_sync(0xffffffffu, value.t, offset),
                                     __shfl_xor_sync(0xffffffffu, value.row, offset)};
    value = cvtm_lbfgsb_combine_first(value, other);
  }
  return value;
}

/* Where a block leaves figure `entry` of a pass: all figures of pass A side by side, those of
 * the other passes (all == 0) beside the same figure of the next block. */
static __device__ double *figure_at(crew team, int all, int64_t block, int entry) {
  const int64_t at =
      all ? block * the_shared()->arrays.entries + entry : entry * team.blocks + block;
  return the_shared()->arrays.partial + at;
}

/* rows[0 .. CVTM_SUM_COLUMNS - 1], in shared memory, from those of the blocks. In both functions
 * the loads come first: one after the other they would cost a latency each. */
static __device__ __noinline__ void combine_columns(crew team) {
  const int warp = static_cast<int>(threadIdx.x) / WARP,
            lane = static_cast<int>(threadIdx.x) % WARP;
  const int blocks = static_cast<int>(team.blocks);
  for (int e = warp; e < CVTM_SUM_COLUMNS; e += static_cast<int>(blockDim.x) / WARP) {
    const double *from = figure_at(team, 0, 0, e);
    double value = cvtm_lbfgsb_neutral(e);
    for (int first = lane; first < blocks; first += AT_ONCE * WARP) {
      double loaded[AT_ONCE];
#pragma unroll
      for (int l = 0; l < AT_ONCE; ++l) {
        const int b = first + l * WARP;
        loaded[l] = b < blocks ? from[b] : cvtm_lbfgsb_neutral(e);
      }
#pragma unroll
      for (int l = 0; l < AT_ONCE; ++l) value = cvtm_lbfgsb_combine(e, value, loaded[l]);
    }
    value = warp_combine(e, value);
    if (lane == 0) the_shared()->rows[e] = value;
  }
  __syncthreads();
}

/* The first breakpoint of pass A; by one warp. */
static __device__ void combine_firsts(crew team) {
  const int lane = static_cast<int>(threadIdx.x) % WARP, blocks = static_cast<int>(team.blocks);
  const int stride = static_cast<int>(the_shared()->arrays.entries);
  const double *from = the_shared()->arrays.partial;
  cvtm_lbfgsb_first found = {HUGE_VAL, HUGE_VAL};
  for (int first = lane; first < blocks; first += AT_ONCE * WARP) {
    cvtm_lbfgsb_first loaded[AT_ONCE];
#pragma unroll
    for (int l = 0; l < AT_ONCE; ++l) {
      const int b = first + l * WARP;
      loaded[l].t = b < blocks ? from[b * stride + CVTM_MIN_BREAKPOINT] : HUGE_VAL;
      loaded[l].row = b < blocks ? from[b * stride + CVTM_FIRST_ROW] : HUGE_VAL;
    }
#pragma unroll
    for (int l = 0; l < AT_ONCE; ++l) found = cvtm_lbfgsb_combine_first(found, loaded[l]);
  }
  found = warp_combine_first(found);
  if (lane != 0) return;
  the_shared()->rows[CVTM_MIN_BREAKPOINT] = found.t;
  the_shared()->rows[CVTM_FIRST_ROW] = found.row;
}

/* The same of all of pass A's figures: a thread has two neighbouring ones, or several threads
 * with the blocks dealt among them. */
static __device__ __noinline__ void combine_all(crew team, int entries) {
  double2 *buffer = reinterpret_cast<double2 *>(the_shared()->buffer);
  double *figures = the_shared()->rows;
  const double *partial = the_shared()->arrays.partial;
  const int stride = static_cast<int>(the_shared()->arrays.entries);
  const int blocks = static_cast<int>(team.blocks);
  const int threads = static_cast<int>(blockDim.x), thread = static_cast<int>(threadIdx.x);
  const int pairs = (entries + 1) / 2, width = pairs < threads ? pairs : threads;
  const int groups = threads / width, group = thread / width, place = thread - group * width;
  for (int first = 0; first < pairs; first += width) {
    const int e = 2 * (first + place);
    const int mine = group < groups && e < entries;
    double2 value = {0.0, 0.0};
    if (mine) {
      const double *from = partial + e;
      for (int b = group; b < blocks; b += PENDING * groups) {
        double2 loaded[PENDING];
#pragma unroll
        for (int l = 0; l < PENDING; ++l) {
          const int at = b + l * groups;
          loaded[l] = {0.0, 0.0};
          if (at < blocks) loaded[l] = *reinterpret_cast<const double2 *>(from + at * stride);
        }
#pragma unroll
        for (int l = 0; l < PENDING; ++l) {
          /* All are sums but the first three, of which only the maximum of what is never
           * negative is found here. */
          value.x = e > 0 ? value.x + loaded[l].x : cvtm_lbfgsb_combine(0, value.x, loaded[l].x);
          value.y += loaded[l].y;
        }
      }
      buffer[thread] = value;
    }
    __syncthreads();
    if (mine && group == 0) {
      for (int g = 1; g < groups; ++g) {
        const double2 other = buffer[g * width + thread];
        value.x = e > 0 ? value.x + other.x : cvtm_lbfgsb_combine(0, value.x, other.x);
        value.y += other.y;
      }
      figures[e] = value.x;
      figures[e + 1] = value.y;
    }
    __syncthreads();
  }
  if (thread < WARP) combine_firsts(team);
  __syncthreads();
}

/* The end of a pass: block 0 combines the figures into `rows` (entries = 0: there are none) and
 * decides, with all its threads, and all blocks go on with the new state. */
template <typename Decide>
static __device__ void conclude(crew team, int entries, Decide decide) {
  shared_memory *shared = the_shared();
  cvtm_lbfgsb_barrier *barrier = the_shared()->arrays.barrier;
  unsigned meeting = 0;
  __syncthreads();
  if (team.block != 0) {
    if (threadIdx.x == 0) wait_until(&barrier->ended, arrive(team));
    __syncthreads();
    copy_words(&shared->state, the_shared()->arrays.state);
    copy_doubles(shared->dense.q, the_shared()->arrays.dense->q, CVTM_LBFGSB_PAIR);
    __syncthreads();
    return;
  }
  if (team.blocks > 1 && threadIdx.x == 0) {
    meeting = arrive(team);
    wait_for_all(team, meeting);
  }
  wait_for_copy(&shared->kept, 0);
  __syncthreads();
  if (entries > CVTM_SUM_COLUMNS) {
    combine_all(team, entries);
  } else if (entries > 0) {
    combine_columns(team);
  }
  decide();
  __syncthreads();
  if (team.blocks == 1) return;
  copy_words(the_shared()->arrays.state, &shared->state);
  copy_doubles(the_shared()->arrays.dense->q, shared->dense.q, CVTM_LBFGSB_PAIR);
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(&barrier->ended), "r"(meeting)
                 : "memory");
  }
}

/* The end of a pass that every block can judge for itself. */
template <typename Decide>
static __device__ void settle(crew team, Decide decide) {
  meet(team);
  combine_columns(team);
  if (threadIdx.x == 0) decide();
  __syncthreads();
}

/* --- a block's figures ----------------------------------------------------------------------- */

/* Of a thread. */
struct figures {
  double of[CVTM_SUM_COLUMNS];
};

/* The first CVTM_SUM_COLUMNS figures of this block, from those of its threads, a warp for each;
 * all: those of pass A. */
static __device__ __noinline__ void write_figures(crew team, figures own, int all) {
  double *buffer = the_shared()->buffer;
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int lane = thread % WARP;
  __syncthreads();
#pragma unroll
  for (int e = 0; e < CVTM_SUM_COLUMNS; ++e) buffer[e * threads + thread] = own.of[e];
  __syncthreads();
  for (int e = thread / WARP; e < CVTM_SUM_COLUMNS; e += threads / WARP) {
    const double *from = buffer + e * threads;
    double value = from[lane];
    if (all && e == CVTM_FIRST_ROW) {
      const double *t = buffer + CVTM_MIN_BREAKPOINT * threads;
      cvtm_lbfgsb_first found = {t[lane], value};
      for (int i = lane + WARP; i < threads; i += WARP) {
        const cvtm_lbfgsb_first other = {t[i], from[i]};
        found = cvtm_lbfgsb_combine_first(found, other);
      }
      value = warp_combine_first(found).row;
    } else {
#pragma unroll 4
      for (int i = lane + WARP; i < threads; i += WARP) {
        value = cvtm_lbfgsb_combine(e, value, from[i]);
      }
      value = warp_combine(e, value);
    }
    if (lane == 0) *figure_at(team, all, team.block, e) = value;
  }
  __syncthreads();
}

static __device__ figures no_figures() {
  figures own;
#pragma unroll
  for (int e = 0; e < CVTM_SUM_COLUMNS; ++e) own.of[e] = cvtm_lbfgsb_neutral(e);
  return own;
}

static __device__ int64_t first_row(crew team) {
  return team.block * static_cast<int64_t>(blockDim.x) + threadIdx.x;
}

static __device__ int64_t row_stride(crew team) {
  return team.blocks * static_cast<int64_t>(blockDim.x);
}

/* --- pass A ---------------------------------------------------------------------------------- */

/* c (16 x 8) += a' b for a of 8 rows x 16 columns, 8 of them in a[0] and a[2], 8 in a[1] and
 * a[3], and b of 8 rows x 8 columns. A lane has rows lane % 4 and lane % 4 + 4, of columns
 * lane / 4; and of c rows lane / 4 and lane / 4 + 8, columns 2 (lane % 4) and the next. */
static __device__ void multiply(double (&c)[4], const double (&a)[4], const double (&b)[2]) {
#if BULK_COPIES
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

/* The products of pass A for BLOCKS blocks of 8 columns of Y and of S, in fragments. */
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

/* Which figure the element (r, c) of fragment f is; negative: none. */
template <int BLOCKS>
static __device__ int find_entry(const cvtm_lbfgsb_state *state, const cvtm_lbfgsb_layout &layout,
                                 int f, int r, int c) {
  typedef products<BLOCKS> shape;
  const int m = state->history, side = r / COLUMNS;
  if (f < shape::FREE) {
    const int p = COLUMNS * f + r % COLUMNS;
    if (p >= m) return -1;
    if (c == 0) return layout.wg + side * m + p;
    if (c == 1) return (side ? layout.s_s : layout.y_s) + p;
    return c == 2 && !state->bounded ? (side ? layout.s_y : layout.y_y) + p : -1;
  }
  const int fixed = f >= shape::FIXED, at = f - (fixed ? shape::FIXED : shape::FREE);
  const int p = COLUMNS * (at / BLOCKS) + r % COLUMNS, q = COLUMNS * (at % BLOCKS) + c;
  if (!state->bounded || p >= m || q >= m) return -1;
  if (!side) return q <= p ? (fixed ? layout.ss : layout.yy) + cvtm_lbfgsb_triangle(p, q) : -1;
  const int s = fixed ? q : p, y = fixed ? p : q;
  const int over_fixed = cvtm_lbfgsb_age(state, s) > cvtm_lbfgsb_age(state, y);
  return over_fixed == fixed ? layout.sy + s * m + y : -1;
}

/* Adds the fragments of the block's warps up, GROUP at a time, into the block's figures. */
template <int BLOCKS>
static __device__ void write_products(crew team, const cvtm_lbfgsb_state *state,
                                      const products<BLOCKS> &own) {
  const cvtm_lbfgsb_layout layout = cvtm_lbfgsb_get_layout(state->history, state->bounded);
  double *buffer = the_shared()->buffer;
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int warp = thread / WARP, lane = thread % WARP, warps = threads / WARP;
#pragma unroll
  for (int first = 0; first < products<BLOCKS>::COUNT; first += GROUP) {
    __syncthreads();
#pragma unroll
    for (int f = 0; f < GROUP; ++f) {
      if (first + f >= products<BLOCKS>::COUNT) break;
      double *to = buffer + (warp * GROUP + f) * FRAGMENT + 2 * lane;
      to[0] = own.c[first + f][0];
      to[1] = own.c[first + f][1];
      to[FRAGMENT / 2] = own.c[first + f][2];
      to[FRAGMENT / 2 + 1] = own.c[first + f][3];
    }
    __syncthreads();
    for (int e = thread; e < GROUP * FRAGMENT; e += threads) {
      const int f = first + e / FRAGMENT;
      if (f >= products<BLOCKS>::COUNT) break;
      const int entry = find_entry<BLOCKS>(state, layout, f, e % FRAGMENT / COLUMNS, e % COLUMNS);
      if (entry < 0) continue;
      double sum = buffer[e];
      for (int w = 1; w < warps; ++w) sum += buffer[w * GROUP * FRAGMENT + e];
      *figure_at(team, 1, team.block, entry) = sum;
    }
  }
  __syncthreads();
}

/* Two neighbouring elements of a column, loaded at once. */
template <typename Real>
struct alignas(2 * sizeof(Real)) couple {
  Real first, second;
};

/* Adds the products of a tile of W; v: g over free rows, s and y. Of every 8 rows a lane loads two
 * neighbours and passes them as rows lane % 4 and lane % 4 + 4. */
template <int BLOCKS, typename Real>
static __device__ __forceinline__ void add_tile(products<BLOCKS> &sums, const Real *tile,
                                                const double *v, int m, int bounded,
                                                unsigned free_rows, unsigned fixed_rows) {
  typedef products<BLOCKS> shape;
  const int lane = static_cast<int>(threadIdx.x) % WARP, column = lane / 4;
#pragma unroll(BLOCKS == 1 ? 2 : 1)
  for (int h = 0; h < TILE; h += 8) {
    const int row = h + 2 * (lane % 4);
    couple<double> y[BLOCKS], s[BLOCKS], side = {0.0, 0.0};
    if (column < SIDES) side = *reinterpret_cast<const couple<double> *>(v + column * TILE + row);
    const double of_v[2] = {side.first, side.second};
#pragma unroll
    for (int b = 0; b < BLOCKS; ++b) {
      const int c = COLUMNS * b + column;
      couple<Real> from_y = {0, 0}, from_s = {0, 0};
      if (c < m) {
        from_y = *reinterpret_cast<const couple<Real> *>(tile + c * TILE + row);
        from_s = *reinterpret_cast<const couple<Real> *>(tile + (m + c) * TILE + row);
      }
      y[b].first = static_cast<double>(from_y.first);
      y[b].second = static_cast<double>(from_y.second);
      s[b].first = static_cast<double>(from_s.first);
      s[b].second = static_cast<double>(from_s.second);
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

/* What pass A reads of a row besides the history. */
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

/* A pair's entries in a row, as the history keeps them. */
template <typename Real>
struct pair_entry {
  Real y, s;
};

template <typename Real>
static __device__ pair_entry<Real> make_pair(const cvtm_lbfgsb_arrays &arrays,
                                             const cvtm_lbfgsb_row &row, double old_x, double g,
                                             double old_g) {
  const double s = cvtm_lbfgsb_unscaled(&arrays, &row, row.x - old_x);
  const double y = (g - old_g) * row.scale;
  return {static_cast<Real>(y), static_cast<Real>(s)};
}

/* The figures of a row of the trial point that need no history. */
static __device__ void add_row(const cvtm_lbfgsb_arrays &arrays, const cvtm_lbfgsb_row &row,
                               int64_t i, int is_free, figures &own) {
  own.of[CVTM_MAX_GRADIENT] = cvtm_lbfgsb_combine(CVTM_MAX_GRADIENT, own.of[CVTM_MAX_GRADIENT],
                                                  cvtm_lbfgsb_projected_gradient(&arrays, &row));
  if (is_free) {
    const cvtm_lbfgsb_first before = {own.of[CVTM_MIN_BREAKPOINT], own.of[CVTM_FIRST_ROW]};
    const cvtm_lbfgsb_first first = cvtm_lbfgsb_next_first(&row, i, before);
    own.of[CVTM_MIN_BREAKPOINT] = first.t;
    own.of[CVTM_FIRST_ROW] = first.row;
    own.of[CVTM_SUM_FREE_GG] += row.g * row.g;
  }
  if (row.x == row.lower || row.x == row.upper) own.of[CVTM_SUM_ACTIVE] += 1.0;
}

/* Where a warp has its tiles, their vectors and their barriers in shared memory. */
template <typename Real>
struct warp_slots {
  Real *tiles;
  double *sides;
  uint64_t *landed;
  unsigned *phases;
};

template <int WARPS, typename Real>
static __device__ warp_slots<Real> find_slots(int m) {
  constexpr int stages = stages_for(WARPS, BULK_COPIES);
  const int warp = static_cast<int>(threadIdx.x) / WARP, size = 2 * m * TILE;
  warp_slots<Real> slots;
  slots.sides = the_shared()->buffer + warp * SIDES * TILE;
  slots.tiles =
      reinterpret_cast<Real *>(the_shared()->buffer + WARPS * SIDES * TILE) + warp * stages * size;
  slots.landed = the_shared()->landed + warp * stages;
  slots.phases = the_shared()->phases + warp;
  return slots;
}

/* Pass A: a warp takes tiles of 32 rows. eager: the trial point is not accepted yet; nothing is
 * written, and the state is the one that comes with it. */
template <int BLOCKS, int WARPS, typename Real>
static __device__ __noinline__ void pass_a(crew team, int eager) {
  constexpr int stages = stages_for(WARPS, BULK_COPIES);
  typedef products<BLOCKS> shape;
  /* A copy: stores cannot change it, so its pointers stay in registers. */
  const cvtm_lbfgsb_arrays arrays = the_shared()->arrays;
  const cvtm_lbfgsb_state *state = eager ? &the_shared()->ahead : &the_shared()->state;
  const int m = state->history, bounded = state->bounded, any = state->count > 0;
  const int newest = state->store_pair ? state->newest : -1, size = 2 * m * TILE;
  const int lane = static_cast<int>(threadIdx.x) % WARP;
  const warp_slots<Real> slots = find_slots<WARPS, Real>(m);
  const lane_copy plan = plan_copy<Real>(m, newest);
  Real *const w = static_cast<Real *>(arrays.w);
  const int64_t tiles = (arrays.n + TILE - 1) / TILE, stride = team.blocks * WARPS;
  int64_t at = team.block * WARPS + static_cast<int>(threadIdx.x) / WARP;
  shape sums;
  figures own = no_figures();
#pragma unroll
  for (int f = 0; f < shape::COUNT; ++f) {
    sums.c[f][0] = sums.c[f][1] = sums.c[f][2] = sums.c[f][3] = 0.0;
  }
  fence_copies();
  __syncthreads();
  for (int stage = 0; any && stage < stages && at + stage * stride < tiles; ++stage) {
    send_for(plan, slots.tiles + stage * size, w + (at + stage * stride) * size,
             slots.landed + stage);
  }
  row_data next = load_row(arrays, at * TILE + lane);
  unsigned phases = *slots.phases;
  for (int stage = 0; at < tiles; at += stride) {
    const int64_t i = at * TILE + lane;
    const row_data data = next;
    next = load_row(arrays, (at + stride) * TILE + lane);
    const cvtm_lbfgsb_row row = {data.x, data.lower, data.upper, data.scale, data.scale * data.g};
    const int is_row = i < arrays.n, is_free = is_row && cvtm_lbfgsb_is_free(&row);
    const unsigned free_rows = __ballot_sync(0xffffffffu, is_free);
    const unsigned fixed_rows = __ballot_sync(0xffffffffu, is_row && !is_free);
    const pair_entry<Real> pair = make_pair<Real>(arrays, row, data.old_x, data.g, data.old_g);
    if (is_row) add_row(arrays, row, i, is_free, own);
    own.of[CVTM_SUM_TRIAL] += data.g * data.d;
    if (!eager && is_row) {
      arrays.x[i] = data.x;
      arrays.g[i] = data.g;
    }
    if (!any) continue;
    Real *tile = slots.tiles + stage * size;
    wait_for_copy(slots.landed + stage, phases >> stage & 1);
    phases ^= 1u << stage;
    slots.sides[lane] = is_free ? row.g : 0.0;
    slots.sides[TILE + lane] = static_cast<double>(pair.s);
    slots.sides[2 * TILE + lane] = static_cast<double>(pair.y);
    if (newest >= 0) {
      tile[newest * TILE + lane] = pair.y;
      tile[(m + newest) * TILE + lane] = pair.s;
      own.of[CVTM_SUM_YY] += static_cast<double>(pair.y) * static_cast<double>(pair.y);
      if (!eager) {
        w[at * size + newest * TILE + lane] = pair.y;
        w[at * size + (m + newest) * TILE + lane] = pair.s;
      }
    }
    __syncwarp();
    add_tile<BLOCKS>(sums, tile, slots.sides, m, bounded, free_rows, fixed_rows);
    fence_tiles();
    __syncwarp();
    if (at + stages * stride < tiles) {
      send_for(plan, tile, w + (at + stages * stride) * size, slots.landed + stage);
    }
    stage = stage + 1 < stages ? stage + 1 : 0;
  }
  __syncwarp();
  if (lane == 0) *slots.phases = phases;
  write_figures(team, own, 1);
  write_products<BLOCKS>(team, state, sums);
}

/* What the rows with 0 < t_i <= t^c contributed to pass A. */
template <int BLOCKS, int WARPS, typename Real>
static __device__ __noinline__ void pass_restrict(crew team) {
  typedef products<BLOCKS> shape;
  const cvtm_lbfgsb_arrays arrays = the_shared()->arrays;
  const cvtm_lbfgsb_state *state = &the_shared()->state;
  const int m = state->history, size = 2 * m * TILE;
  const double cauchy = state->cauchy;
  const int lane = static_cast<int>(threadIdx.x) % WARP;
  const warp_slots<Real> slots = find_slots<WARPS, Real>(m);
  const lane_copy plan = plan_copy<Real>(m, -1);
  const Real *w = static_cast<const Real *>(arrays.w);
  const int64_t tiles = (arrays.n + TILE - 1) / TILE, stride = team.blocks * WARPS;
  shape sums;
  figures own = no_figures();
#pragma unroll
  for (int f = 0; f < shape::COUNT; ++f) {
    sums.c[f][0] = sums.c[f][1] = sums.c[f][2] = sums.c[f][3] = 0.0;
  }
  fence_copies();
  __syncthreads();
  unsigned phases = *slots.phases;
  for (int64_t at = team.block * WARPS + static_cast<int>(threadIdx.x) / WARP; at < tiles;
       at += stride) {
    const int64_t i = at * TILE + lane;
    int leaves = 0;
    double g = 0.0;
    if (i < arrays.n) {
      const cvtm_lbfgsb_row row = cvtm_lbfgsb_get_row(&arrays, i, arrays.x[i], arrays.g[i]);
      const double t = cvtm_lbfgsb_breakpoint(&row);
      leaves = t > 0.0 && t <= cauchy;
      g = leaves ? row.g : 0.0;
    }
    const unsigned rows = __ballot_sync(0xffffffffu, leaves);
    if (rows == 0) continue;
    send_for(plan, slots.tiles, w + at * size, slots.landed);
    slots.sides[lane] = g;
    slots.sides[TILE + lane] = slots.sides[2 * TILE + lane] = 0.0;
    wait_for_copy(slots.landed, phases & 1);
    phases ^= 1u;
    __syncwarp();
    add_tile<BLOCKS>(sums, slots.tiles, slots.sides, m, 1, rows, rows);
    fence_tiles();
    __syncwarp();
  }
  __syncwarp();
  if (lane == 0) *slots.phases = phases;
  write_figures(team, own, 1);
  write_products<BLOCKS>(team, state, sums);
}

/* --- the exact Cauchy point ------------------------------------------------------------------ */

static __device__ void list_breakpoints(crew team) {
  const cvtm_lbfgsb_arrays &arrays = the_shared()->arrays;
  const double start = the_shared()->state.window_start, end = the_shared()->state.window_end;
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

/* What the small problems are made of: the state and pass A's sums; the state and `rows`, behind
 * a restriction; the state to come and `rows`. */
enum source { NOW, RESTRICTED, AHEAD };

static __device__ __forceinline__ cvtm_lbfgsb_state *state_of(source from) {
  return from == AHEAD ? &the_shared()->ahead : &the_shared()->state;
}

/* The subspace step, by one warp. */
static __device__ __noinline__ void solve(source from, int on_first) {
  shared_memory *shared = the_shared();
  const cvtm_lbfgsb_state *state = state_of(from);
  const cvtm_lbfgsb_layout layout = cvtm_lbfgsb_get_layout(state->history, state->bounded);
  const cvtm_team lanes = {static_cast<int>(threadIdx.x) % WARP, WARP};
  const double *sums = from == NOW ? shared->sums : shared->rows;
  cvtm_lbfgsb_list_columns(lanes, state, work_of(0));
  const int solved =
      cvtm_lbfgsb_solve_subspace(lanes, state, &shared->dense, work_of(0), &layout, sums, on_first);
  if (lanes.lane == 0) shared->solved = solved;
  __syncwarp();
}

/* Column c of row i of W. */
static __device__ double read_w(int64_t i, int c) {
  const cvtm_lbfgsb_state *state = &the_shared()->state;
  const int64_t at = cvtm_lbfgsb_at(i, c, state->history);
  return state->single ? static_cast<double>(static_cast<float *>(the_shared()->arrays.w)[at])
                       : static_cast<double *>(the_shared()->arrays.w)[at];
}

/* Past the sorted breakpoints of the window, as far as the model falls; by one warp. */
static __device__ void walk(crew team, const double *t, const int64_t *rows, int64_t count,
                            cvtm_team lanes) {
  const cvtm_lbfgsb_arrays &arrays = the_shared()->arrays;
  shared_memory *shared = the_shared();
  cvtm_lbfgsb_work *work = work_of(0);
  cvtm_lbfgsb_list_columns(lanes, &shared->state, work);
  for (int64_t b = 0; b < count; ++b) {
    const double minimum = cvtm_lbfgsb_walk_minimum(lanes, &shared->state, arrays.walk);
    if (minimum <= t[b]) break;
    const int64_t i = rows[b];
    const double g = (arrays.scale ? arrays.scale[i] : 1.0) * arrays.g[i];
    for (int r = lanes.lane; r < 2 * shared->state.count; r += lanes.lanes) {
      shared->w[r] = read_w(i, cvtm_lbfgsb_w_column(&shared->state, work, r));
    }
    cvtm_team_sync();
    cvtm_lbfgsb_walk_to(lanes, &shared->state, arrays.walk, t[b], g, shared->w);
  }
}

static __device__ __noinline__ void walk_window(crew team) {
  const cvtm_lbfgsb_arrays &arrays = the_shared()->arrays;
  shared_memory *shared = the_shared();
  list_breakpoints(team);
  meet(team);
  const int64_t count = *static_cast<volatile int64_t *>(arrays.breakpoint_count);
  const int in_shared = count <= sorted_room(&arrays);
  if (!in_shared) {
    for (int64_t p = 1; p < count; p *= 2) {
      for (int64_t k = p; k >= 1; k /= 2) {
        sort_stage(arrays.breakpoints, arrays.breakpoint_rows, count, p, k, first_row(team),
                   row_stride(team));
        meet(team);
      }
    }
  }
  conclude(team, 0, [&] {
    double *t = arrays.breakpoints;
    int64_t *rows = arrays.breakpoint_rows;
    if (in_shared) {
      t = reinterpret_cast<double *>(work_of(2));
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
    if (threadIdx.x >= WARP) return;
    const cvtm_team lanes = {static_cast<int>(threadIdx.x), WARP};
    walk(team, t, rows, count, lanes);
    cvtm_lbfgsb_end_window(lanes, &shared->state, &shared->dense, work_of(0), arrays.walk);
    if (!shared->state.due_breakpoints && !shared->state.due_restrict) {
      solve(NOW, 0);
      cvtm_lbfgsb_decide_subspace(lanes, &shared->state, shared->solved);
    }
    if (lanes.lane == 0) *arrays.breakpoint_count = 0;
  });
}

/* --- the other passes ------------------------------------------------------------------------ */

static __device__ void pass_search(crew team) {
  figures own = no_figures();
  for (int64_t i = first_row(team); i < the_shared()->arrays.n; i += row_stride(team)) {
    own.of[CVTM_SUM_SLOPE] += the_shared()->arrays.trial_g[i] * the_shared()->arrays.d[i];
  }
  write_figures(team, own, 0);
}

/* x, g and the new pair of row i become those of the trial point that an eager pass A saw. */
template <typename Real>
static __device__ pair_entry<Real> commit_row(const cvtm_lbfgsb_arrays &arrays, int64_t i, int m,
                                              int newest) {
  const double x = arrays.trial_x[i], g = arrays.trial_g[i];
  const cvtm_lbfgsb_row row = cvtm_lbfgsb_get_row(&arrays, i, x, g);
  const pair_entry<Real> pair = make_pair<Real>(arrays, row, arrays.x[i], g, arrays.g[i]);
  Real *w = static_cast<Real *>(arrays.w);
  w[cvtm_lbfgsb_at(i, newest, m)] = pair.y;
  w[cvtm_lbfgsb_at(i, m + newest, m)] = pair.s;
  arrays.x[i] = x;
  arrays.g[i] = g;
  return pair;
}

static __device__ void pass_commit(crew team) {
  const cvtm_lbfgsb_state *state = &the_shared()->state;
  for (int64_t i = first_row(team); i < the_shared()->arrays.n; i += row_stride(team)) {
    if (state->single) {
      commit_row<float>(the_shared()->arrays, i, state->history, state->newest);
    } else {
      commit_row<double>(the_shared()->arrays, i, state->history, state->newest);
    }
  }
}

/* Pass B, truncated where that is due; from the last row to the first, since what pass A read
 * last is still in the cache. */
template <typename Real>
static __device__ __noinline__ void pass_b(crew team, int commit) {
  const cvtm_lbfgsb_arrays arrays = the_shared()->arrays;
  const cvtm_lbfgsb_state *state = &the_shared()->state;
  const int m = state->history, k = state->count, newest = commit ? state->newest : -1;
  const double factor = state->due_fallback ? state->truncation : 1.0;
  const double *q = the_shared()->dense.q;
  const double *point = commit ? arrays.trial_x : arrays.x;
  const double *gradient = commit ? arrays.trial_g : arrays.g;
  const int64_t stride = row_stride(team), end = (arrays.n + WARP - 1) / WARP * WARP;
  const int lane = static_cast<int>(threadIdx.x) % WARP;
  figures own = no_figures();
  for (int64_t i = end - WARP - first_row(team) + 2 * lane; i >= 0; i -= stride) {
    if (i >= arrays.n) continue;
    const Real *w = static_cast<const Real *>(arrays.w) + cvtm_lbfgsb_at(i, 0, m);
    const double g = gradient[i];
    const cvtm_lbfgsb_row row = cvtm_lbfgsb_get_row(&arrays, i, point[i], g);
    pair_entry<Real> pair = {0, 0};
    if (commit) pair = make_pair<Real>(arrays, row, arrays.x[i], g, arrays.g[i]);
    double wq = 0.0;
#pragma unroll 8
    for (int p = 0; p < k; ++p) {
      const Real y = p == newest ? pair.y : w[p * TILE];
      const Real s = p == newest ? pair.s : w[(m + p) * TILE];
      wq += static_cast<double>(y) * q[p] + static_cast<double>(s) * q[m + p];
    }
    const double d = cvtm_lbfgsb_direction(state, &row, wq, factor, &own.of[CVTM_MIN_TRUNCATION]);
    const double scaled = cvtm_lbfgsb_unscaled(&arrays, &row, d);
    if (commit) {
      Real *to = static_cast<Real *>(arrays.w) + cvtm_lbfgsb_at(i, 0, m);
      to[newest * TILE] = pair.y;
      to[(m + newest) * TILE] = pair.s;
      arrays.x[i] = row.x;
      arrays.g[i] = g;
    }
    arrays.d[i] = d;
    arrays.trial_x[i] = cvtm_lbfgsb_trial(&row, d, 1.0);
    own.of[CVTM_MIN_STEP] = cvtm_lbfgsb_least_step(&row, row.x, d, own.of[CVTM_MIN_STEP]);
    own.of[CVTM_SUM_SLOPE] += g * d;
    own.of[CVTM_SUM_DD] += scaled * scaled;
  }
  write_figures(team, own, 0);
}

static __device__ void pass_trial(crew team) {
  const cvtm_lbfgsb_arrays &arrays = the_shared()->arrays;
  const double step = the_shared()->state.step;
  for (int64_t i = first_row(team); i < arrays.n; i += row_stride(team)) {
    const cvtm_lbfgsb_row row = cvtm_lbfgsb_get_row(&arrays, i, arrays.x[i], 0.0);
    arrays.trial_x[i] = cvtm_lbfgsb_trial(&row, arrays.d[i], step);
  }
}

/* --- a round ---------------------------------------------------------------------------------- */

static __device__ int requested_stop() {
  return *static_cast<const volatile int *>(&the_shared()->arrays.orders->stop);
}

/* The row that alone has t_i = t^c leaves the free set; by one warp. */
static __device__ __noinline__ void restrict_first() {
  const cvtm_lbfgsb_arrays &arrays = the_shared()->arrays;
  shared_memory *shared = the_shared();
  const cvtm_lbfgsb_state *state = &shared->state;
  const cvtm_lbfgsb_layout layout = cvtm_lbfgsb_get_layout(state->history, state->bounded);
  const cvtm_team lanes = {static_cast<int>(threadIdx.x) % WARP, WARP};
  const int64_t i = state->first_row;
  const int m = state->history, pending = state->due_commit;
  const double x = pending ? arrays.trial_x[i] : arrays.x[i];
  const double g = pending ? arrays.trial_g[i] : arrays.g[i];
  const cvtm_lbfgsb_row row = cvtm_lbfgsb_get_row(&arrays, i, x, g);
  for (int c = lanes.lane; c < 2 * m; c += lanes.lanes) {
    shared->w[c] = read_w(i, c);
    if (!pending || (c != state->newest && c != m + state->newest)) continue;
    const double s = cvtm_lbfgsb_unscaled(&arrays, &row, x - arrays.x[i]);
    const double y = (g - arrays.g[i]) * row.scale;
    const double value = c < m ? y : s;
    shared->w[c] = state->single ? static_cast<double>(static_cast<float>(value)) : value;
  }
  cvtm_team_sync();
  cvtm_lbfgsb_restrict_row(lanes, state, &layout, shared->sums, shared->rows, shared->w, row.g);
}

/* f'' of the model, by one warp. */
static __device__ __noinline__ void find_curvature(source from) {
  shared_memory *shared = the_shared();
  const cvtm_lbfgsb_state *state = state_of(from);
  const cvtm_team lanes = {static_cast<int>(threadIdx.x) % WARP, WARP};
  double second = state->free_gg;
  if (state->count > 0) {
    cvtm_lbfgsb_list_columns(lanes, state, work_of(1));
    second = cvtm_lbfgsb_model_curvature(lanes, state, &shared->dense, work_of(1));
  }
  if (lanes.lane == 0) shared->second = second;
}

/* What pass A found out about the model; by one warp. */
static __device__ __noinline__ void absorb(source from) {
  shared_memory *shared = the_shared();
  cvtm_lbfgsb_state *state = state_of(from);
  const cvtm_lbfgsb_layout layout = cvtm_lbfgsb_get_layout(state->history, state->bounded);
  const cvtm_team lanes = {static_cast<int>(threadIdx.x) % WARP, WARP};
  cvtm_lbfgsb_absorb(lanes, state, &shared->dense, &layout,
                     from == NOW ? shared->sums : shared->rows);
}

/* The Cauchy point and the subspace step from it, behind solve and find_curvature; by warp 0. */
static __device__ __noinline__ void decide_direction() {
  shared_memory *shared = the_shared();
  cvtm_lbfgsb_state *state = &shared->state;
  const cvtm_team lanes = {static_cast<int>(threadIdx.x), WARP};
  cvtm_lbfgsb_decide_cauchy(lanes, state, &shared->dense, work_of(1), shared->arrays.walk,
                            shared->second);
  if (state->due_breakpoints) return;
  if (state->due_restrict) {
    if (state->first_row < 0) return;
    restrict_first();
    solve(RESTRICTED, 0);
  }
  cvtm_lbfgsb_decide_subspace(lanes, state, shared->solved);
}

static __device__ __noinline__ void decide_point(source from) {
  shared_memory *shared = the_shared();
  cvtm_lbfgsb_decide_point(&shared->state, from == NOW ? shared->sums : shared->rows,
                           shared->arrays.mailbox, requested_stop());
}

static __device__ __noinline__ void decide_search(double slope) {
  shared_memory *shared = the_shared();
  cvtm_lbfgsb_decide_search(&shared->state, shared->arrays.values, slope, requested_stop());
}

/* The small problems need nothing of each other as long as no breakpoint is passed: two warps have
 * one each. Behind an eager pass A a third one tests the trial point, while they take for granted
 * that it holds. By all threads of block 0. */
static __device__ void decide_eagerly() {
  shared_memory *shared = the_shared();
  cvtm_lbfgsb_state *state = &shared->state;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / WARP;
  if (warp == 0) absorb(AHEAD);
  __syncthreads();
  if (warp == 0) {
    solve(AHEAD, 1);
  } else if (warp == 1) {
    find_curvature(AHEAD);
  } else if (thread == 2 * WARP) {
    decide_search(shared->rows[CVTM_SUM_TRIAL]);
    state->due_commit = state->due_update && state->store_pair;
    if (state->due_commit) decide_point(AHEAD);
  }
  __syncthreads();
  if (!state->due_commit) {
    copy_words(&shared->dense, shared->arrays.dense);
    return;
  }
  copy_doubles(shared->sums, shared->rows, static_cast<int>(shared->arrays.entries));
  if (thread == 0) {
    state->theta = shared->ahead.theta;
    state->free_gg = shared->ahead.free_gg;
  }
  __syncthreads();
  if (state->running && warp == 0) decide_direction();
}

/* The same behind a pass A with everything decided, or without pass A. */
static __device__ void decide_plainly(int entries) {
  shared_memory *shared = the_shared();
  const int warp = static_cast<int>(threadIdx.x) / WARP, renew = shared->state.due_update;
  if (renew) copy_doubles(shared->sums, shared->rows, entries);
  __syncthreads();
  if (threadIdx.x == 0) {
    decide_point(NOW);
    if (shared->arrays.breakpoint_count) *shared->arrays.breakpoint_count = 0;
  }
  __syncthreads();
  if (warp == 0 && renew) absorb(NOW);
  __syncthreads();
  if (warp == 0) {
    solve(NOW, 1);
  } else if (warp == 1) {
    find_curvature(NOW);
  }
  __syncthreads();
  if (shared->state.running && warp == 0) decide_direction();
}

/* The test of the trial point and, if it holds, everything that pass A is for. */
template <int BLOCKS, int WARPS, typename Real>
static __device__ void search_eagerly(crew team, const cvtm_lbfgsb_layout &layout) {
  shared_memory *shared = the_shared();
  if (threadIdx.x == 0) {
    shared->ahead = shared->state;
    shared->ahead.store_pair = 1;
    cvtm_lbfgsb_make_room(&shared->ahead);
  }
  __syncthreads();
  pass_a<BLOCKS, WARPS, Real>(team, 1);
  conclude(team, layout.entries, [] { decide_eagerly(); });
}

static __device__ void search(crew team) {
  shared_memory *shared = the_shared();
  pass_search(team);
  conclude(team, CVTM_SUM_COLUMNS, [&] {
    if (threadIdx.x != 0) return;
    decide_search(shared->rows[CVTM_SUM_SLOPE]);
  });
}

template <int BLOCKS, int WARPS, typename Real>
static __device__ void find_direction(crew team, const cvtm_lbfgsb_layout &layout) {
  const int renew = the_shared()->state.due_update;
  if (renew) pass_a<BLOCKS, WARPS, Real>(team, 0);
  conclude(team, renew ? layout.entries : 0, [&] { decide_plainly(layout.entries); });
}

template <int BLOCKS, int WARPS, typename Real>
static __device__ void run_round(crew team) {
  shared_memory *shared = the_shared();
  cvtm_lbfgsb_state *state = &shared->state;
  const cvtm_lbfgsb_layout layout = cvtm_lbfgsb_get_layout(state->history, state->bounded);

  if (cvtm_lbfgsb_is_eager(state)) {
    search_eagerly<BLOCKS, WARPS, Real>(team, layout);
  } else {
    search(team);
  }
  if (state->running && !state->due_commit && (state->due_update || state->due_direction)) {
    find_direction<BLOCKS, WARPS, Real>(team, layout);
  }
  if (state->due_commit && !(state->running && state->due_step)) {
    pass_commit(team);
    meet(team);
    if (threadIdx.x == 0) state->due_commit = 0;
    __syncthreads();
  }
  if (!state->running) return;
  while (state->due_breakpoints) walk_window(team);
  if (state->due_restrict) {
    pass_restrict<BLOCKS, WARPS, Real>(team);
    conclude(team, layout.entries, [&] {
      if (threadIdx.x >= WARP) return;
      const cvtm_team lanes = {static_cast<int>(threadIdx.x), WARP};
      cvtm_lbfgsb_restrict_sums(lanes, state, &layout, shared->sums, shared->rows);
      solve(RESTRICTED, 0);
      cvtm_lbfgsb_decide_subspace(lanes, state, shared->solved);
    });
  }
  if (state->due_step) {
    pass_b<Real>(team, state->due_commit);
    settle(team, [&] {
      state->due_commit = 0;
      cvtm_lbfgsb_decide_step(state, shared->rows);
    });
  }
  if (state->running && state->due_fallback) {
    meet(team); /* everyone has read the figures of pass B */
    pass_b<Real>(team, 0);
    settle(team, [&] { cvtm_lbfgsb_decide_fallback(state, shared->rows); });
  }
  if (state->running && state->due_trial) pass_trial(team);
}

/* first: the batch's problem that block 0 of this launch has. */
static __device__ crew make_crew(const cvtm_lbfgsb_arrays &all, int64_t first, int m, int single) {
  const int batch = all.problems > 1, thread = static_cast<int>(threadIdx.x);
  const int64_t problem = batch ? first + blockIdx.x : 0;
  shared_memory *shared = the_shared();
  const crew team = {batch ? 0 : blockIdx.x, batch ? 1 : gridDim.x};
  copy_words(&shared->arrays, &all);
  copy_words(&shared->state, all.state + problem);
  if (thread < MOST_WARPS * STAGES) make_barrier(shared->landed + thread);
  if (thread < MOST_WARPS) shared->phases[thread] = 0;
  if (thread == 0) make_barrier(&shared->kept);
  if (thread == 0) {
    shared->meetings = all.barrier->meetings;
    shared->solved = 1;
  }
  __syncthreads();
  if (team.block == 0 && shared->state.running) send_for_kept(all, problem);
  if (batch && thread == 0) {
    shared->arrays =
        cvtm_lbfgsb_of_problem(&all, problem, m, single ? sizeof(float) : sizeof(double));
  }
  if (batch) __syncthreads();
  return team;
}

/* What the next kernel goes on from. */
static __device__ void keep(crew team) {
  __syncthreads();
  if (team.block != 0) return;
  wait_for_copy(&the_shared()->kept, 0);
  copy_words(the_shared()->arrays.state, &the_shared()->state);
  copy_words(the_shared()->arrays.dense, &the_shared()->dense);
  copy_doubles(the_shared()->arrays.sums, the_shared()->sums,
               static_cast<int>(the_shared()->arrays.entries));
  if (threadIdx.x == 0 && team.blocks > 1) {
    the_shared()->arrays.barrier->meetings = the_shared()->meetings;
  }
}

/* Whether the loop goes on; by one thread of each problem. */
static __device__ void signal(crew team, const cvtm_lbfgsb_arrays &all, int was_running,
                              int claimed, cudaGraphConditionalHandle handle) {
  const cvtm_lbfgsb_state *state = &the_shared()->state;
  if (all.problems > 1) {
    if (was_running && !state->running) atomicSub(all.flag, 1);
    return;
  }
  int more = state->running;
  if (state->monitored) {
    const int64_t taken = *static_cast<const volatile int64_t *>(&all.orders->taken);
    more = more && !cvtm_lbfgsb_mailbox_full(state, taken);
  }
  *all.flag = more;
  if (claimed) cudaGraphSetConditional(handle, more ? 1u : 0u);
}

template <int BLOCKS, int WARPS, typename Real>
static __global__ void __launch_bounds__(WARPS *WARP)
    round_kernel(const __grid_constant__ cvtm_lbfgsb_arrays all, int64_t first, int m, int single,
                 int claimed, cudaGraphConditionalHandle handle) {
  const crew team = make_crew(all, first, m, single);
  const int was_running = the_shared()->state.running;
  if (was_running) {
    run_round<BLOCKS, WARPS, Real>(team);
    keep(team);
  }
  if (team.block == 0 && threadIdx.x == 0) signal(team, all, was_running, claimed, handle);
}

template <int WARPS>
static __global__ void __launch_bounds__(WARPS *WARP)
    start_kernel(const __grid_constant__ cvtm_lbfgsb_arrays all, int64_t first, int m, int single) {
  const crew team = make_crew(all, first, m, single);
  const cvtm_lbfgsb_arrays &arrays = the_shared()->arrays;
  figures own = no_figures();
  for (int64_t i = first_row(team); i < arrays.n; i += row_stride(team)) {
    const cvtm_lbfgsb_row row = cvtm_lbfgsb_get_row(&arrays, i, arrays.x[i], 0.0);
    const double x = cvtm_clamp(row.x, row.lower, row.upper);
    if (x != row.x) own.of[CVTM_SUM_ACTIVE] += 1.0;
    arrays.x[i] = x;
    arrays.trial_x[i] = x;
    arrays.g[i] = 0.0;
    arrays.d[i] = 0.0;
  }
  write_figures(team, own, 0);
  settle(team, [&] { cvtm_lbfgsb_begin(&the_shared()->state, the_shared()->rows); });
  keep(team);
}

/* --- launching ---------------------------------------------------------------------------------
 */

template <int BLOCKS, int WARPS>
static const void *pick_round(int single) {
  return single ? reinterpret_cast<const void *>(round_kernel<BLOCKS, WARPS, float>)
                : reinterpret_cast<const void *>(round_kernel<BLOCKS, WARPS, double>);
}

static int blocks_of_columns(int m) { return (m - 1) / COLUMNS + 1; }

static const void *find_round(int m, int batch, int single) {
  switch (blocks_of_columns(m)) {
    case 1:
      return batch ? pick_round<1, BATCH_WARPS>(single) : pick_round<1, warps_for(1)>(single);
    case 2:
      return batch ? pick_round<2, BATCH_WARPS>(single) : pick_round<2, warps_for(2)>(single);
    default:
      return batch ? pick_round<3, BATCH_WARPS>(single) : pick_round<3, warps_for(3)>(single);
  }
}

static const void *find_start(int warps) {
  typedef void (*kernel)(cvtm_lbfgsb_arrays, int64_t, int, int);
  const kernel found = warps == BATCH_WARPS    ? start_kernel<BATCH_WARPS>
                       : warps == warps_for(1) ? start_kernel<warps_for(1)>
                                               : start_kernel<warps_for(2)>;
  return reinterpret_cast<const void *>(found);
}

static int find_warps(const cvtm_lbfgsb_arrays *arrays, int m) {
  return arrays->problems > 1 ? BATCH_WARPS : warps_for(blocks_of_columns(m));
}

/* `first` is one of the arguments: a batch of more problems than a launch may have blocks takes
 * several launches, each with the problems that follow. */
static cvtm_status launch(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m, int single,
                          const void *kernel, void **arguments, int64_t *first) {
  const int batch = arrays->problems > 1, warps = find_warps(arrays, m);
  int current = 0, major = 0;
  CVTM_CUDA_TRY(device, cudaGetDevice(&current));
  CVTM_CUDA_TRY(device, cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, current));
  const dim3 block(static_cast<unsigned>(warps) * WARP);
  const size_t bytes = shared_bytes(arrays, warps, stages_for(warps, major >= 9), m, single);
  CVTM_CUDA_TRY(device, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(bytes)));
  if (!batch) {
    const dim3 grid(static_cast<unsigned>(arrays->parts));
    return CVTM_CUDA_CALL(device, cudaLaunchCooperativeKernel(kernel, grid, block, arguments, bytes,
                                                              cvtm_cuda_stream(device)));
  }
  for (*first = 0; *first < arrays->problems;) {
    const dim3 grid(cvtm_cuda_cap(arrays->problems - *first));
    CVTM_CUDA_TRY(
        device, cudaLaunchKernel(kernel, grid, block, arguments, bytes, cvtm_cuda_stream(device)));
    *first += grid.x;
  }
  return CVTM_OK;
}

extern "C" {

static int64_t cuda_parts(cvtm_device *device, int64_t n, int64_t problems) {
  int current = 0, multiprocessors = 1;
  const int64_t tiles = n / TILE + 1, wanted = (tiles - 1) / MOST_WARPS + 1;
  if (problems > 1 || cvtm_device_activate(device) != CVTM_OK) return 1;
  if (cudaGetDevice(&current) != cudaSuccess ||
      cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, current) !=
          cudaSuccess) {
    (void)cudaGetLastError();
    return 1;
  }
  return cvtm_cuda_cap(wanted < multiprocessors ? wanted : multiprocessors);
}

static cvtm_status cuda_start(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m,
                              int single) {
  cvtm_lbfgsb_arrays all = *arrays;
  int64_t first = 0;
  void *arguments[] = {&all, &first, &m, &single};
  return launch(device, arrays, m, single, find_start(find_warps(arrays, m)), arguments, &first);
}

static cvtm_status cuda_round(cvtm_device *device, const cvtm_lbfgsb_arrays *arrays, int m,
                              int single) {
  cvtm_lbfgsb_arrays all = *arrays;
  uint64_t claim = 0;
  int claimed = arrays->problems == 1 && cvtm_loop_claim(device, &claim);
  cudaGraphConditionalHandle handle = claim;
  int64_t first = 0;
  void *arguments[] = {&all, &first, &m, &single, &claimed, &handle};
  return launch(device, arrays, m, single, find_round(m, arrays->problems > 1, single), arguments,
                &first);
}

extern const cvtm_lbfgsb_table cvtm_lbfgsb_table_cuda = {cuda_parts, cuda_start, cuda_round};

}  // extern "C"

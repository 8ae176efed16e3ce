#include "base/cuda_check.h"
#include "base/cuda_utils.h"
#include "jfa/flood.h"

enum {
  BLOCK = 256,
  WARP = 32,
  WARPS = BLOCK / WARP,
  PASS_BLOCKS = 4,   /* of a pass on a multiprocessor */
  FINISH_BLOCKS = 4, /* of the last pass */
  CHAIN = 16         /* pixels of a column, `step` apart, that a thread of a pass does in turn */
};

static __device__ int64_t pixels_of(const cvtm_flood &flood) {
  return static_cast<int64_t>(flood.domain.width) * flood.domain.height;
}

static __global__ void __launch_bounds__(BLOCK) seed_kernel(cvtm_flood flood, uint32_t *words) {
  const int packed = cvtm_flood_scale_of(&flood).packed;
  for (int64_t place = cvtm_first_thread(); place < flood.tree.count; place += cvtm_thread_count())
    cvtm_seed_place(&flood, packed, place, words);
}

static __global__ void __launch_bounds__(BLOCK)
    recall_kernel(cvtm_flood flood, const double *sites, const int32_t *labels, uint32_t *words) {
  const int packed = cvtm_flood_scale_of(&flood).packed;
  for (int64_t p = cvtm_first_thread(); p < pixels_of(flood); p += cvtm_thread_count())
    words[p] = cvtm_recall_word(&flood, packed, sites, labels[p]);
}

static __global__ void __launch_bounds__(BLOCK) limit_kernel(cvtm_flood flood) {
  const int32_t levels = cvtm_circle_levels(&flood);
  int32_t step = 1;
  for (int64_t k = cvtm_first_thread(); k < INT64_C(1) << 2 * levels; k += cvtm_thread_count()) {
    const int32_t column = static_cast<int32_t>(k & ((1 << levels) - 1));
    const int32_t row = static_cast<int32_t>(k >> levels);
    step = max(step, cvtm_covering_step(2 * cvtm_empty_radius(&flood, column, row)));
  }
  step = __reduce_max_sync(0xFFFFFFFFu, step);
  if (threadIdx.x % WARP == 0) atomicMax(flood.first_step, step);
}

/* Calls work(x, y) for each block of a grid of blocks, by a launch of any size. */
template <typename Work>
static __device__ void for_blocks(dim3 blocks, Work work) {
  for (unsigned y = blockIdx.y; y < blocks.y; y += gridDim.y)
    for (unsigned x = blockIdx.x; x < blocks.x; x += gridDim.x) {
      work(static_cast<int>(x), static_cast<int>(y));
      __syncthreads(); /* before the memory serves the next block */
    }
}

static dim3 launched_blocks(dim3 blocks) {
  return dim3(cvtm_cuda_cap(blocks.x), cvtm_cuda_cap(blocks.y));
}

/* --- a pass ------------------------------------------------------------------------ *
 * A thread goes down two columns, one step apart, in steps, and holds the three rows of four words
 * that a pair of pixels hears of: two words are read a pixel, not nine, and the squares along
 * x are taken once for three pixels. The least key tells where the best word is; it is read
 * again from there. The next row is on its way while one is worked on, and so is the word to be
 * written. Offsets fit 32 bits: there are at most 2^30 pixels. */

enum { PAIR = 2, HEARD = PAIR + 2 };

/* A pair's own words in a row, with the one a step to the left before and the one a step to the
 * right after. */
typedef struct heard_words {
  uint32_t offset; /* of the row */
  uint32_t word[HEARD];
} heard_words;

/* Where those words' sites lie: y, and for each pixel the squares of the distances along x, in
 * the order of tags. */
typedef struct heard_row {
  uint32_t offset;
  float y[HEARD], x2[PAIR][3];
} heard_row;

/* What passes are compiled for: words that are positions; a torus. */
template <bool PACKED, bool PERIODIC>
struct chain {
  const cvtm_flood &flood;
  const cvtm_flood_scale &scale;
  const int32_t *jumps; /* not on a torus: from a pixel to the one that a tag means */
  const uint32_t *from;
  uint32_t column[HEARD];
  float x[PAIR];

  /* Which of the heard words pixel p has tagged c. */
  static __device__ constexpr int tagged(int p, int c) {
    return c == 0 ? p + 1 : c == 1 ? p : p + 2;
  }

  __device__ heard_words read(uint32_t offset) const {
    heard_words heard;
    heard.offset = offset;
#pragma unroll
    for (int h = 0; h < HEARD; ++h) heard.word[h] = from[offset + column[h]];
    return heard;
  }

  __device__ heard_row locate(const heard_words &heard) const {
    heard_row row;
    float seed_x[HEARD];
    row.offset = heard.offset;
#pragma unroll
    for (int h = 0; h < HEARD; ++h) {
      cvtm_seed_position(&flood, PACKED, heard.word[h], &seed_x[h], &row.y[h]);
      if (heard.word[h] == CVTM_NO_SEED) row.y[h] = HUGE_VALF;
    }
#pragma unroll
    for (int p = 0; p < PAIR; ++p)
#pragma unroll
      for (int c = 0; c < 3; ++c) {
        const float gap = cvtm_flood_gap(x[p], seed_x[tagged(p, c)], PERIODIC, scale.period_x);
        row.x2[p][c] = gap * gap;
      }
    return row;
  }

  /* The least keys with those of row R of three. */
  template <int R>
  __device__ void hear(const heard_row &row, float y, uint32_t *least) const {
    float gap[HEARD];
#pragma unroll
    for (int h = 0; h < HEARD; ++h) gap[h] = cvtm_flood_gap(y, row.y[h], PERIODIC, scale.period_y);
#pragma unroll
    for (int p = 0; p < PAIR; ++p)
#pragma unroll
      for (int c = 0; c < 3; ++c)
        least[p] = min(least[p],
                       cvtm_flood_key(cvtm_flood_distance2(PACKED, row.x2[p][c], gap[tagged(p, c)]),
                                      4 * R + c));
  }

  /* The word with the least key of pixel p. */
  __device__ uint32_t heard_word(int p, uint32_t least, uint32_t above, uint32_t here,
                                 uint32_t below) const {
    if (!PERIODIC) return from[here + column[p + 1] + static_cast<uint32_t>(jumps[least & 15])];
    const uint32_t c = least & 3, r = least & 12;
    return from[(c == 0   ? column[p + 1]
                 : c == 1 ? column[p]
                          : column[p + 2]) +
                (r == 0   ? here
                 : r == 4 ? above
                          : below)];
  }

  /* The pairs in rows j, j + step and so on. */
  __device__ void flood_down(int step, int j, bool is_pair, uint32_t *to) {
    const int height = flood.domain.height;
    const uint32_t width = static_cast<uint32_t>(flood.domain.width);
    const uint32_t stride = static_cast<uint32_t>(step) * width;
    const int under = (height - 1 - j) / step; /* rows below j, and the one that is below them */
    const uint32_t bottom =
        static_cast<uint32_t>(cvtm_step_along(j + under * step, step, height, PERIODIC)) * width;
    float y = scale.origin + static_cast<float>(j) * scale.step;
    const float y_step = static_cast<float>(step) * scale.step;
    uint32_t offset = static_cast<uint32_t>(j) * width;
    heard_row rows[3];
    rows[0] =
        locate(read(static_cast<uint32_t>(cvtm_step_along(j, -step, height, PERIODIC)) * width));
    rows[1] = locate(read(offset));
    heard_words next = read(under > 0 ? offset + stride : bottom);
    uint32_t word[PAIR] = {0, 0};
#pragma unroll
    for (int k = 0; k < CHAIN; ++k) {
      const heard_row &above = rows[k % 3], &here = rows[(k + 1) % 3];
      heard_row &below = rows[(k + 2) % 3];
      below = locate(next);
      if (k + 1 < CHAIN) next = read(k + 1 < under ? below.offset + stride : bottom);
      uint32_t least[PAIR] = {UINT32_MAX, UINT32_MAX};
      hear<0>(here, y, least);
      hear<1>(above, y, least);
      hear<2>(below, y, least);
      if (k > 0) {
        to[offset + column[1]] = word[0];
        if (is_pair) to[offset + column[2]] = word[1];
      }
      offset = here.offset;
#pragma unroll
      for (int p = 0; p < PAIR; ++p)
        word[p] = heard_word(p, least[p], above.offset, offset, below.offset);
      if (k == under) break;
      y += y_step;
    }
    to[offset + column[1]] = word[0];
    if (is_pair) to[offset + column[2]] = word[1];
  }
};

template <bool PACKED, bool PERIODIC>
static __device__ void flood_down(const cvtm_flood &flood, const cvtm_flood_scale &scale, int step,
                                  int i, int j, const int32_t *jumps,
                                  const uint32_t *__restrict__ from, uint32_t *__restrict__ to) {
  const int width = flood.domain.width;
  const bool is_pair = i + step < width;
  const int second = is_pair ? i + step : i;
  const float x = scale.origin + static_cast<float>(i) * scale.step;
  chain<PACKED, PERIODIC> down = {
      flood,
      scale,
      jumps,
      from,
      {static_cast<uint32_t>(cvtm_step_along(i, -step, width, PERIODIC)), static_cast<uint32_t>(i),
       static_cast<uint32_t>(cvtm_step_along(i, step, width, PERIODIC)),
       static_cast<uint32_t>(cvtm_step_along(second, step, width, PERIODIC))},
      {x, x + static_cast<float>(step) * scale.step}};
  down.flood_down(step, j, is_pair, to);
}

/* The first of a pair or chain of `many`, by its number. */
static __device__ int chain_start(int number, int step, int many) {
  const int shift = 31 - __clz(step); /* a power of two */
  return ((number >> shift) * many << shift) + (number & (step - 1));
}

static __global__ void __launch_bounds__(BLOCK, PASS_BLOCKS)
    pass_kernel(cvtm_flood flood, dim3 blocks, int step, const uint32_t *__restrict__ from,
                uint32_t *__restrict__ to) {
  __shared__ int32_t jumps[16];
  const int width = flood.domain.width, thread = static_cast<int>(threadIdx.x);
  if (step > *flood.first_step) return;
  if (thread < 16) {
    const int r = thread / 4, c = thread % 4;
    jumps[thread] = ((r == 1   ? -width
                      : r == 2 ? width
                               : 0) +
                     (c == 1   ? -1
                      : c == 2 ? 1
                               : 0)) *
                    step;
  }
  __syncthreads();
  const cvtm_flood_scale scale = cvtm_flood_scale_of(&flood);
  for_blocks(blocks, [&](int x, int y) {
    const int i = chain_start(x * WARP + thread % WARP, step, PAIR);
    const int j = chain_start(y * WARPS + thread / WARP, step, CHAIN);
    if (i >= width || j >= flood.domain.height) return;
    if (scale.packed && !flood.domain.periodic)
      flood_down<true, false>(flood, scale, step, i, j, jumps, from, to);
    else if (scale.packed)
      flood_down<true, true>(flood, scale, step, i, j, jumps, from, to);
    else if (flood.domain.periodic)
      flood_down<false, true>(flood, scale, step, i, j, jumps, from, to);
    else
      flood_down<false, false>(flood, scale, step, i, j, jumps, from, to);
  });
}

/* --- the first two passes ------------------------------------------------------------ *
 * The first step is half the side of a square that covers the domain. So the pixels a multiple of
 * the second step apart are at most four by four, and hear in two passes of nobody else. Most
 * such groups have no seed or one, which all their pixels hear of; the others are flooded by
 * half a warp each. */

enum { GROUP = 4, GROUP_PIXELS = GROUP * GROUP };

/* The pixels (i, j), (i + step, j) and so on. */
typedef struct pixel_group {
  int i, j, columns, rows, step;
} pixel_group;

static __device__ pixel_group group_at(cvtm_domain domain, int i, int j, int step) {
  pixel_group group;
  group.i = i;
  group.j = j;
  group.columns = i < domain.width ? (domain.width - 1 - i) / step + 1 : 0;
  group.rows = j < domain.height ? (domain.height - 1 - j) / step + 1 : 0;
  group.step = step;
  return group;
}

/* Where pixel k of a group is; it may not be there. */
static __device__ uint32_t group_offset(cvtm_domain domain, const pixel_group &group, int k) {
  return static_cast<uint32_t>(group.j + k / GROUP * group.step) *
             static_cast<uint32_t>(domain.width) +
         static_cast<uint32_t>(group.i + k % GROUP * group.step);
}

/* The word that pixel k of a group has after a pass of `by` group steps. */
static __device__ uint32_t flood_group(const cvtm_flood &flood, const cvtm_flood_scale &scale,
                                       const pixel_group &group, int k, int by,
                                       const uint32_t *words) {
  const int column = k % GROUP, row = k / GROUP;
  const float x = scale.origin + static_cast<float>(group.i + column * group.step) * scale.step;
  const float y = scale.origin + static_cast<float>(group.j + row * group.step) * scale.step;
  uint32_t least = UINT32_MAX, word = words[k];
  for (uint32_t tag = 0; tag < 11; ++tag) {
    const int r = row + (tag / 4 == 1 ? -by : tag / 4 == 2 ? by : 0);
    const int c = column + (tag % 4 == 1 ? -by : tag % 4 == 2 ? by : 0);
    if (tag % 4 == 3 || r < 0 || c < 0 || r >= group.rows || c >= group.columns) continue;
    const uint32_t heard = words[r * GROUP + c];
    float seed_x, seed_y;
    cvtm_seed_position(&flood, scale.packed, heard, &seed_x, &seed_y);
    const float x2 = cvtm_flood_square(heard, x - seed_x);
    const uint32_t key = cvtm_flood_key(cvtm_flood_distance2(scale.packed, x2, y - seed_y), tag);
    if (key < least) word = heard;
    least = min(least, key);
  }
  return word;
}

/* Two passes over a group whose first column is `i`, by half a warp, a lane for each pixel. */
static __device__ void flood_twice(const cvtm_flood &flood, const cvtm_flood_scale &scale,
                                   const pixel_group &group, uint32_t *words,
                                   const uint32_t *__restrict__ from, uint32_t *__restrict__ to) {
  const int k = static_cast<int>(threadIdx.x) % GROUP_PIXELS;
  const bool is_there = k % GROUP < group.columns && k / GROUP < group.rows;
  const uint32_t offset = group_offset(flood.domain, group, k);
  uint32_t word = is_there ? from[offset] : CVTM_NO_SEED;
  for (int by = GROUP / 2; by > 0; by /= 2) {
    words[k] = word;
    __syncwarp();
    if (is_there) word = flood_group(flood, scale, group, k, by, words);
    __syncwarp();
  }
  if (is_there) to[offset] = word;
}

/* The groups that begin in row j and in the columns from `left` on, a lane for each. */
static __device__ void open_row(const cvtm_flood &flood, int step, int left, int j,
                                uint32_t (*memory)[GROUP_PIXELS], const uint32_t *__restrict__ from,
                                uint32_t *__restrict__ to) {
  const cvtm_domain domain = flood.domain;
  const int lane = static_cast<int>(threadIdx.x) % WARP, i = left + lane;
  const pixel_group own = group_at(domain, i < step ? i : domain.width, j, step);
  const cvtm_flood_scale scale = cvtm_flood_scale_of(&flood);
  uint32_t seed = CVTM_NO_SEED;
  bool is_several = i < step && !scale.packed; /* where nobody hears of a site infinitely far */
#pragma unroll
  for (int k = 0; k < GROUP_PIXELS; ++k) {
    if (k % GROUP >= own.columns || k / GROUP >= own.rows) continue;
    const uint32_t word = from[group_offset(domain, own, k)];
    is_several |= word != CVTM_NO_SEED && seed != CVTM_NO_SEED;
    seed = min(seed, word);
  }
#pragma unroll
  for (int k = 0; k < GROUP_PIXELS; ++k)
    if (k % GROUP < own.columns && k / GROUP < own.rows && !is_several)
      to[group_offset(domain, own, k)] = seed;
  for (unsigned several = __ballot_sync(0xFFFFFFFFu, is_several); several != 0;) {
    const int first = __ffs(static_cast<int>(several)) - 1;
    several &= several - 1;
    const int second = several != 0 ? __ffs(static_cast<int>(several)) - 1 : first;
    several &= several - 1;
    const pixel_group group =
        group_at(domain, left + (lane < GROUP_PIXELS ? first : second), j, step);
    flood_twice(flood, scale, group, memory[threadIdx.x / GROUP_PIXELS], from, to);
  }
}

static __global__ void __launch_bounds__(BLOCK)
    open_kernel(cvtm_flood flood, dim3 blocks, int step, const uint32_t *__restrict__ from,
                uint32_t *__restrict__ to) {
  __shared__ uint32_t memory[2 * WARPS][GROUP_PIXELS];
  for_blocks(blocks, [&](int x, int y) {
    const int j = y * WARPS + static_cast<int>(threadIdx.x) / WARP;
    if (j < step) open_row(flood, step, x * WARP, j, memory, from, to);
  });
}

/* --- the last pass ------------------------------------------------------------------ *
 * A block labels a tile, and reads two pixels more on every side. Where the least squared
 * distance in float is so much less than those of other words that rounding cannot have decided
 * it, and no word stands for several sites, the seed is known; of pixels side by side with the
 * same seed the first has its site looked up. All other pixels are put into a list, so that full
 * warps compare their sites in double. */

static const float BIAS = 8388608; /* of halves of words */

enum {
  MARGIN = 2,
  AREA = PAIR * WARP, /* columns read: two a lane */
  TILE = AREA - 2 * MARGIN,
  TILE_WARPS = 4,
  TILE_BLOCK = TILE_WARPS * WARP,
  RUN = 8, /* rows that a warp decides */
  TILE_ROWS = TILE_WARPS * RUN,
  AREA_ROWS = TILE_ROWS + 2 * MARGIN,
  AREA_PIXELS = AREA * AREA_ROWS
};

typedef struct tile_memory {
  uint2 word[AREA_ROWS][WARP];     /* of pairs of pixels */
  uint2 seed[AREA_ROWS][WARP];     /* the words of the nearest; then, of listed pixels, labels */
  uint32_t looked_up[AREA_PIXELS]; /* words, then the indices of their first sites */
  uint16_t listed[AREA_PIXELS];
  uint32_t shared[AREA_ROWS][PAIR]; /* bits, by lane: words of several sites, or of none */
  uint32_t close[AREA_ROWS][PAIR];  /* pixels with a close decision */
  uint64_t unsure[AREA_ROWS];       /* by column: pixels that hear of such words */
  uint64_t doubt[AREA_ROWS];        /* pixels that are listed */
  int32_t listed_from[AREA_ROWS];
  int32_t all_listed, lookups;
  int32_t jumps[CVTM_LAST_HEARD]; /* from a pixel to those it hears of */
} tile_memory;

static __device__ uint32_t &word_at(tile_memory *memory, int at) {
  return reinterpret_cast<uint32_t *>(memory->word)[at];
}

static __device__ uint32_t &seed_at(tile_memory *memory, int at) {
  return reinterpret_cast<uint32_t *>(memory->seed)[at];
}

static __device__ int area_coordinate(int k, int side, bool periodic) {
  if (!periodic) return min(max(k, 0), side - 1);
  k %= side;
  return k < 0 ? k + side : k;
}

static __device__ void read_area(const cvtm_domain &domain, const uint32_t *__restrict__ words,
                                 int left, int top, tile_memory *memory) {
  const int lane = static_cast<int>(threadIdx.x) % WARP,
            warp = static_cast<int>(threadIdx.x) / WARP;
  const int shift = cvtm_word_shift(domain);
  const int first = area_coordinate(left + PAIR * lane, domain.width, domain.periodic);
  const int second = area_coordinate(left + PAIR * lane + 1, domain.width, domain.periodic);
#pragma unroll
  for (int row = warp; row < AREA_ROWS; row += TILE_WARPS) {
    const int64_t offset =
        static_cast<int64_t>(area_coordinate(top + row, domain.height, domain.periodic)) *
        domain.width;
    uint2 word;
    word.x = words[offset + first];
    word.y = words[offset + second];
    memory->word[row][lane] = word;
    const unsigned shared_x =
        __ballot_sync(0xFFFFFFFFu, word.x == CVTM_NO_SEED || cvtm_is_shared(shift, word.x));
    const unsigned shared_y =
        __ballot_sync(0xFFFFFFFFu, word.y == CVTM_NO_SEED || cvtm_is_shared(shift, word.y));
    if (lane == 0) {
      memory->shared[row][0] = shared_x;
      memory->shared[row][1] = shared_y;
    }
  }
}

/* Of the words that may stand for several sites those that do remain. */
static __device__ void check_shared(const cvtm_flood &flood, tile_memory *memory) {
  const int thread = static_cast<int>(threadIdx.x);
  if (thread >= AREA_ROWS * PAIR) return;
  const int row = thread / PAIR, p = thread % PAIR;
  uint32_t all = memory->shared[row][p];
  for (uint32_t left = all; left != 0; left &= left - 1) {
    const int lane = __ffs(static_cast<int>(left)) - 1;
    const uint32_t word = word_at(memory, row * AREA + PAIR * lane + p);
    if (word == CVTM_NO_SEED) continue;
    const cvtm_seed_sites sites = cvtm_sites_of_word(&flood, true, word);
    if (sites.last - sites.first == 1) all &= ~(1u << lane);
  }
  memory->shared[row][p] = all;
}

/* What a pair of pixels hears of from a row: of its own two columns */
typedef struct heard_middle {
  uint32_t word[PAIR];
  float y[PAIR], x2[PAIR];
} heard_middle;

/* and of the columns beside them; the squares are of the distances along x to the left and the
 * right of either pixel. */
typedef struct heard_beside {
  uint32_t word[PAIR];
  float y[PAIR], x2[PAIR][2];
} heard_beside;

/* Finds the seeds of pixels. Distances are to the middles of the words' squares, so that they are
 * wrong by sqrt(1/2) steps at most: a site may be nearer whose distance is no more than twice that
 * larger. */
template <bool PERIODIC>
struct tile_flood {
  const cvtm_flood_scale &scale;
  tile_memory *memory;

  /* The centre of a pixel, against the middles of squares. */
  __device__ float center(int i) const {
    return (scale.origin - BIAS - 0.5F) + static_cast<float>(i) * scale.step;
  }

  __device__ float square(uint32_t word, float x) const {
    const float gap = cvtm_flood_gap(x, cvtm_biased_half(word, 0) - BIAS, PERIODIC, scale.period_x);
    return gap * gap;
  }

  static __device__ float y_of(uint32_t word) { return cvtm_biased_half(word, 1) - BIAS; }

  __device__ float distance2(float x2, float seed_y, float y) const {
    return cvtm_flood_distance2(true, x2, cvtm_flood_gap(y, seed_y, PERIODIC, scale.period_y));
  }

  /* Others may be nearer up to this, than one of at most this squared distance; with some more for
   * rounding here. */
  static __device__ float reach2(float best2) {
    return __fmaf_rn(2.87F, best2 * rsqrtf(best2), best2) + 2.1F;
  }

  __device__ heard_middle hear_middle(int row, int lane, const float *x) const {
    const uint2 both = memory->word[row][lane];
    heard_middle heard = {{both.x, both.y}, {y_of(both.x), y_of(both.y)}, {0, 0}};
#pragma unroll
    for (int p = 0; p < PAIR; ++p) heard.x2[p] = square(heard.word[p], x[p]);
    return heard;
  }

  __device__ heard_beside hear_beside(int row, int lane, const float *x,
                                      const heard_middle &middle) const {
    const uint32_t left = memory->word[row][lane - 1].y, right = memory->word[row][lane + 1].x;
    const heard_beside heard = {{left, right},
                                {y_of(left), y_of(right)},
                                {{square(left, x[0]), square(middle.word[1], x[0])},
                                 {square(middle.word[0], x[1]), square(right, x[1])}}};
    return heard;
  }

  /* The word of a pixel's seed, from words and squared distances; true for a close decision. */
  __device__ bool decide(const uint32_t *heard, const float *squares, int at,
                         uint32_t *seed) const {
    uint32_t least = UINT32_MAX;
#pragma unroll
    for (int k = 0; k < CVTM_LAST_HEARD; ++k)
      least = min(least, cvtm_flood_key(squares[k], static_cast<uint32_t>(k)));
    *seed = word_at(memory, at + memory->jumps[least & 15]);
    const float reach = reach2(__uint_as_float(least | 15));
    uint32_t other = 0;
#pragma unroll
    for (int k = 0; k < CVTM_LAST_HEARD; ++k)
      if (squares[k] <= reach) other |= heard[k] ^ *seed;
    return other != 0;
  }

  /* Pixel p of a pair: middle[2] and beside[1] are its own row's. */
  __device__ bool decide_pixel(int p, const heard_middle *middle, const heard_beside *beside,
                               uint32_t far, const float *x, float y, int at,
                               uint32_t *seed) const {
    uint32_t heard[CVTM_LAST_HEARD];
    float squares[CVTM_LAST_HEARD];
#pragma unroll
    for (int r = 0; r < 3; ++r) {
      const heard_middle &own = middle[r + 1];
      const heard_beside &sides = beside[r];
      heard[3 * r] = p == 0 ? sides.word[0] : own.word[0];
      heard[3 * r + 1] = own.word[p];
      heard[3 * r + 2] = p == 0 ? own.word[1] : sides.word[1];
      squares[3 * r] = distance2(sides.x2[p][0], p == 0 ? sides.y[0] : own.y[0], y);
      squares[3 * r + 1] = distance2(own.x2[p], own.y[p], y);
      squares[3 * r + 2] = distance2(sides.x2[p][1], p == 0 ? own.y[1] : sides.y[1], y);
    }
    heard[9] = p == 0 ? far : beside[1].word[0];
    heard[10] = p == 0 ? beside[1].word[1] : far;
#pragma unroll
    for (int k = 9; k < 11; ++k) squares[k] = distance2(square(heard[k], x[p]), y_of(heard[k]), y);
#pragma unroll
    for (int k = 11; k < 13; ++k) {
      const heard_middle &own = middle[k == 11 ? 0 : 4];
      heard[k] = own.word[p];
      squares[k] = distance2(own.x2[p], own.y[p], y);
    }
    return decide(heard, squares, at, seed);
  }

  /* The pairs of a warp, down its rows. */
  __device__ void flood_rows(int left, int top) const {
    const int lane = static_cast<int>(threadIdx.x) % WARP;
    const int first = MARGIN + static_cast<int>(threadIdx.x) / WARP * RUN;
    const int mid = min(max(lane, 1), WARP - 2); /* the outermost pairs are not labelled */
    const float x[PAIR] = {center(left + PAIR * mid), center(left + PAIR * mid + 1)};
    heard_middle middle[RUN + 4];
    heard_beside beside[RUN + 2];
#pragma unroll
    for (int k = 0; k < 4; ++k) middle[k] = hear_middle(first + k - 2, mid, x);
#pragma unroll
    for (int k = 0; k < 2; ++k) beside[k] = hear_beside(first + k - 1, mid, x, middle[k + 1]);
    float y = center(top + first);
#pragma unroll
    for (int k = 0; k < RUN; ++k) {
      const int row = first + k;
      middle[k + 4] = hear_middle(row + 2, mid, x);
      beside[k + 2] = hear_beside(row + 1, mid, x, middle[k + 3]);
      uint2 seed;
      const int at = row * AREA + PAIR * mid;
      const bool close_x =
          decide_pixel(0, middle + k, beside + k, memory->word[row][mid - 1].x, x, y, at, &seed.x);
      const bool close_y = decide_pixel(1, middle + k, beside + k, memory->word[row][mid + 1].y, x,
                                        y, at + 1, &seed.y);
      memory->seed[row][lane] = seed;
      const unsigned all_x = __ballot_sync(0xFFFFFFFFu, close_x);
      const unsigned all_y = __ballot_sync(0xFFFFFFFFu, close_y);
      if (lane == 0) {
        memory->close[row][0] = all_x;
        memory->close[row][1] = all_y;
      }
      y += scale.step;
    }
  }

  /* Of the words that a pixel hears of those that are not among the nearest are replaced by no
   * seed. */
  __device__ void drop_distant(int i, int j, uint32_t *heard) const {
    float squares[CVTM_LAST_HEARD], least = HUGE_VALF;
#pragma unroll
    for (int k = 0; k < CVTM_LAST_HEARD; ++k) {
      squares[k] = distance2(square(heard[k], center(i)), y_of(heard[k]), center(j));
      least = fminf(least, squares[k]);
    }
    const float reach = reach2(least);
#pragma unroll
    for (int k = 0; k < CVTM_LAST_HEARD; ++k)
      if (squares[k] > reach) heard[k] = CVTM_NO_SEED;
  }
};

/* Bits by lane, as bits by column. */
static __device__ uint64_t by_column(const uint32_t *bits) {
  return cvtm_spread_bits(bits[0]) | cvtm_spread_bits(bits[1]) << 1;
}

/* Which pixels are to be compared, and where they are listed; by one warp, a lane for each row. */
static __device__ void find_doubt(cvtm_domain domain, int packed, int left, int top,
                                  tile_memory *memory) {
  const int lane = static_cast<int>(threadIdx.x), row = MARGIN + lane;
  uint64_t unsure = 0;
  for (int k = -2; k <= 2; ++k) {
    const uint64_t shared = by_column(memory->shared[row + k]);
    unsure |= shared;
    if (k >= -1 && k <= 1) unsure |= shared << 1 | shared >> 1;
    if (k == 0) unsure |= shared << 2 | shared >> 2;
  }
  uint64_t doubt = 0;
  if (top + row < domain.height) {
    const int columns = min(domain.width - left - MARGIN, static_cast<int>(TILE));
    doubt = packed ? unsure | by_column(memory->close[row]) : UINT64_MAX;
    doubt &= ((UINT64_C(1) << columns) - 1) << MARGIN;
  }
  const int count = __popcll(doubt);
  int sum = count;
  for (int by = 1; by < WARP; by *= 2) {
    const int before = __shfl_up_sync(0xFFFFFFFFu, sum, static_cast<unsigned>(by));
    if (lane >= by) sum += before;
  }
  memory->unsure[row] = packed ? unsure : UINT64_MAX;
  memory->doubt[row] = doubt;
  memory->listed_from[row] = sum - count;
  if (lane == WARP - 1) memory->all_listed = sum;
}

/* Lists the pixels of a pair that are to be compared. */
static __device__ void list_doubt(int row, int lane, tile_memory *memory) {
  const uint64_t doubt = memory->doubt[row];
  const unsigned both = static_cast<unsigned>(doubt >> PAIR * lane) & 3;
  if (both == 0) return;
  const int at = row * AREA + PAIR * lane;
  int place = memory->listed_from[row] + __popcll(doubt & ((UINT64_C(1) << PAIR * lane) - 1));
  if (both & 1) memory->listed[place++] = static_cast<uint16_t>(at);
  if (both & 2) memory->listed[place] = static_cast<uint16_t>(at + 1);
}

/* Puts the words of a pair's seeds among those to be looked up; where they are. */
static __device__ int2 list_seeds(int row, int lane, tile_memory *memory) {
  const uint2 seed = memory->seed[row][lane];
  const uint32_t before = __shfl_up_sync(0xFFFFFFFFu, seed.y, 1);
  const bool is_first = lane == 0 || seed.x != before, is_second = seed.y != seed.x;
  const unsigned firsts = __ballot_sync(0xFFFFFFFFu, is_first);
  const unsigned seconds = __ballot_sync(0xFFFFFFFFu, is_second);
  const unsigned left = (1u << lane) - 1;
  int place = 0;
  if (lane == 0) place = atomicAdd(&memory->lookups, __popc(firsts) + __popc(seconds));
  place = __shfl_sync(0xFFFFFFFFu, place, 0) + __popc(firsts & left) + __popc(seconds & left) - 1;
  int2 places;
  places.x = place + is_first;
  places.y = places.x + is_second;
  if (is_first) memory->looked_up[places.x] = seed.x;
  if (is_second) memory->looked_up[places.y] = seed.y;
  return places;
}

static __device__ uint32_t look_up(const cvtm_flood &flood, int packed, uint32_t word) {
  if (word == CVTM_NO_SEED) return word;
  return static_cast<uint32_t>(flood.tree.index[cvtm_sites_of_word(&flood, packed, word).first]);
}

/* The label of a listed pixel. */
static __device__ uint32_t label_listed(const cvtm_flood &flood, const cvtm_flood_scale &scale,
                                        int left, int top, int at, tile_memory *memory) {
  const int i = left + at % AREA, j = top + at / AREA;
  uint32_t heard[CVTM_LAST_HEARD];
#pragma unroll
  for (int k = 0; k < CVTM_LAST_HEARD; ++k)
    heard[k] = word_at(memory, at + cvtm_last_row(k) * AREA + cvtm_last_column(k));
  if (!(memory->unsure[at / AREA] >> at % AREA & 1)) {
    if (flood.domain.periodic)
      tile_flood<true>{scale, memory}.drop_distant(i, j, heard);
    else
      tile_flood<false>{scale, memory}.drop_distant(i, j, heard);
  }
  cvtm_nearest best = cvtm_nearest_none();
  uint32_t from = 0;
  for (;;) {
    const uint32_t word = cvtm_next_heard(heard, from);
    if (word < from || word == CVTM_NO_SEED) break;
    cvtm_consider_sites(&flood, i + 0.5, j + 0.5, cvtm_sites_of_word(&flood, scale.packed, word),
                        &best);
    from = word + 1;
  }
  return static_cast<uint32_t>(best.place >= 0 ? best.index : -1);
}

static __device__ void write_labels(cvtm_domain domain, int left, int top, int row, int2 places,
                                    const tile_memory &memory, int32_t *__restrict__ labels) {
  const int lane = static_cast<int>(threadIdx.x) % WARP, i = left + PAIR * lane;
  const uint2 listed = memory.seed[row][lane];
  const unsigned both = static_cast<unsigned>(memory.doubt[row] >> PAIR * lane) & 3;
  int32_t *const to = labels + static_cast<int64_t>(top + row) * domain.width + i;
  if (i < domain.width)
    to[0] = static_cast<int32_t>(both & 1 ? listed.x : memory.looked_up[places.x]);
  if (i + 1 < domain.width)
    to[1] = static_cast<int32_t>(both & 2 ? listed.y : memory.looked_up[places.y]);
}

/* Labels the tile whose margin begins at (left, top). */
static __device__ void label_tile(const cvtm_flood &flood, int left, int top,
                                  const uint32_t *__restrict__ words, tile_memory &memory,
                                  int32_t *__restrict__ labels) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread % WARP;
  const int first_row = MARGIN + thread / WARP * RUN;
  const cvtm_domain domain = flood.domain;
  const cvtm_flood_scale scale = cvtm_flood_scale_of(&flood);
  if (thread == 0) memory.lookups = 0;
  if (thread < CVTM_LAST_HEARD)
    memory.jumps[thread] = cvtm_last_row(thread) * AREA + cvtm_last_column(thread);
  read_area(domain, words, left, top, &memory);
  __syncthreads();
  if (scale.packed) {
    if (domain.periodic)
      tile_flood<true>{scale, &memory}.flood_rows(left, top);
    else
      tile_flood<false>{scale, &memory}.flood_rows(left, top);
    check_shared(flood, &memory);
  } else {
    for (int k = 0; k < RUN; ++k)
      memory.seed[first_row + k][lane] = memory.word[first_row + k][lane];
  }
  __syncthreads();
  if (thread < WARP) find_doubt(domain, scale.packed, left, top, &memory);
  int2 places[RUN];
#pragma unroll
  for (int k = 0; k < RUN; ++k) places[k] = list_seeds(first_row + k, lane, &memory);
  __syncthreads();
#pragma unroll
  for (int k = 0; k < RUN; ++k) list_doubt(first_row + k, lane, &memory);
  for (int k = thread; k < memory.lookups; k += TILE_BLOCK)
    memory.looked_up[k] = look_up(flood, scale.packed, memory.looked_up[k]);
  __syncthreads();
  for (int k = thread; k < memory.all_listed; k += TILE_BLOCK) {
    const int at = memory.listed[k];
    seed_at(&memory, at) = label_listed(flood, scale, left, top, at, &memory);
  }
  __syncthreads();
  if (lane == 0 || lane == WARP - 1) return;
#pragma unroll
  for (int k = 0; k < RUN; ++k)
    if (top + first_row + k < domain.height)
      write_labels(domain, left, top, first_row + k, places[k], memory, labels);
}

static __global__ void __launch_bounds__(TILE_BLOCK, FINISH_BLOCKS)
    finish_kernel(cvtm_flood flood, dim3 blocks, const uint32_t *__restrict__ words,
                  int32_t *__restrict__ labels) {
  __shared__ tile_memory memory;
  for_blocks(blocks, [&](int x, int y) {
    label_tile(flood, x * TILE - MARGIN, y * TILE_ROWS - MARGIN, words, memory, labels);
  });
}

/* --- launchers ------------------------------------------------------------------- */

static unsigned pixel_blocks(const cvtm_flood *flood) {
  return cvtm_cuda_blocks(static_cast<int64_t>(flood->domain.width) * flood->domain.height, BLOCK);
}

static cvtm_status seed_all(cvtm_device *device, const cvtm_flood *flood, uint32_t *words) {
  seed_kernel<<<cvtm_cuda_blocks(flood->tree.count, BLOCK), BLOCK, 0, cvtm_cuda_stream(device)>>>(
      *flood, words);
  return cvtm_cuda_launched(device, "seed_kernel");
}

static cvtm_status start_cuda(cvtm_device *device, const cvtm_flood *flood, uint32_t *words) {
  const size_t pixels = static_cast<size_t>(flood->domain.width) * flood->domain.height;
  const cvtm_status status = cvtm_device_fill(device, words, 0xFF, pixels * sizeof *words);
  return status == CVTM_OK ? seed_all(device, flood, words) : status;
}

static cvtm_status recall_cuda(cvtm_device *device, const cvtm_flood *flood, const double *sites,
                               const int32_t *labels, uint32_t *words) {
  recall_kernel<<<pixel_blocks(flood), BLOCK, 0, cvtm_cuda_stream(device)>>>(*flood, sites, labels,
                                                                             words);
  const cvtm_status status = cvtm_cuda_launched(device, "recall_kernel");
  return status == CVTM_OK ? seed_all(device, flood, words) : status;
}

static cvtm_status limit_cuda(cvtm_device *device, const cvtm_flood *flood) {
  const cvtm_status status = cvtm_device_fill(device, flood->first_step, 0, sizeof(int32_t));
  if (status != CVTM_OK) return status;
  limit_kernel<<<cvtm_cuda_blocks(INT64_C(1) << 2 * cvtm_circle_levels(flood), BLOCK), BLOCK, 0,
                 cvtm_cuda_stream(device)>>>(*flood);
  return cvtm_cuda_launched(device, "limit_kernel");
}

/* How many pairs or chains of `many` pixels, `step` apart, cover a side. */
static int chains_of(int side, int step, int many) {
  return (side + many * step - 1) / (many * step) * step;
}

static cvtm_status pass_cuda(cvtm_device *device, const cvtm_flood *flood, int step,
                             const uint32_t *from, uint32_t *to) {
  const int pairs = chains_of(flood->domain.width, step, PAIR);
  const int chains = chains_of(flood->domain.height, step, CHAIN);
  const dim3 grid(static_cast<unsigned>((pairs + WARP - 1) / WARP),
                  static_cast<unsigned>((chains + WARPS - 1) / WARPS));
  pass_kernel<<<launched_blocks(grid), BLOCK, 0, cvtm_cuda_stream(device)>>>(*flood, grid, step,
                                                                             from, to);
  return cvtm_cuda_launched(device, "pass_kernel");
}

static cvtm_status open_cuda(cvtm_device *device, const cvtm_flood *flood, int step,
                             const uint32_t *from, uint32_t *to) {
  const int second = step / 2;
  const dim3 grid(static_cast<unsigned>((second + WARP - 1) / WARP),
                  static_cast<unsigned>((second + WARPS - 1) / WARPS));
  open_kernel<<<launched_blocks(grid), BLOCK, 0, cvtm_cuda_stream(device)>>>(*flood, grid, second,
                                                                             from, to);
  return cvtm_cuda_launched(device, "open_kernel");
}

static cvtm_status finish_cuda(cvtm_device *device, const cvtm_flood *flood, uint32_t *words,
                               int32_t *labels) {
  const dim3 grid(static_cast<unsigned>((flood->domain.width + TILE - 1) / TILE),
                  static_cast<unsigned>((flood->domain.height + TILE_ROWS - 1) / TILE_ROWS));
  finish_kernel<<<launched_blocks(grid), TILE_BLOCK, 0, cvtm_cuda_stream(device)>>>(*flood, grid,
                                                                                    words, labels);
  return cvtm_cuda_launched(device, "finish_kernel");
}

extern "C" const cvtm_flood_table cvtm_flood_table_cuda = {
    start_cuda, recall_cuda, limit_cuda, open_cuda, pass_cuda, finish_cuda,
};

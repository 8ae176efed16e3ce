/* Phases on coarse levels: a thread block for each tile of a level; one for all small levels. */
#include "lcp/grid/grid_cuda.h"
#include "lcp/grid/grid_galerkin.h"

/* ------ tiles ------
 *
 * The down phase of a coarse level is pre-smoothing and restriction, the up phase interpolation and
 * post-smoothing. A phase is one launch, with a block for each tile; the plain kernels need six
 * launches. The tile's corrections and links are in shared memory, so that the four colours of a
 * sweep read global memory once. The threads at the rim of a tile compute nodes that its neighbours
 * own, so that no tile waits for another. With the plain kernels a cycle takes 1.6 to 2.1 times as
 * long at 1024 x 1024, and 1.9 to 2.6 times at 4096 x 4096 (H200).
 *
 * A thread has the nodes (2 X, 2 Y) .. (2 X + 1, 2 Y + 1), one of each colour (a quad), and coarse
 * node (X, Y). Values by colour: those of colour c and thread t are at [c * quad_plane + t]. */

namespace {

constexpr int quads_x = 32, quads_y = 16, tile_threads = quads_x * quads_y;
constexpr int quad_pitch = quads_x + 2, quad_plane = quad_pitch * (quads_y + 2);
/* The width of the rim on each side, in threads: the reach of sweeps and transfers. */
constexpr int rim_west = 2, down_east = 3, up_east = 2, rim_north = 1, down_south = 2, up_south = 1;
constexpr int down_x = quads_x - rim_west - down_east, down_y = quads_y - rim_north - down_south;
constexpr int up_x = quads_x - rim_west - up_east, up_y = quads_y - rim_north - up_south;
/* Shared memory of a tile: corrections and four planes of links, each for four colours. */
constexpr size_t tile_bytes = 5 * 4 * quad_plane * sizeof(double);

/* A value at each node of a thread, by colour: 0 and 1 on line 2 Y, 2 and 3 on line 2 Y + 1. */
struct quad {
  double at[4];
};

/* Bytes of a thread's nodes as they are loaded, with the two bytes of a line in a word. Only a use
 * of the bytes waits for the load. */
struct quad_bytes {
  uint32_t line[2];
};

/* The position of a thread's nodes in the level and in the tile. */
struct quad_place {
  int x, y, at; /* X and Y; index of the thread in a plane of shared memory */
  int width, height;
  bool owner;
  bool has[4];

  __device__ quad_place(const cvtm_grid_level *level, int quad_x, int quad_y, int index, bool owns)
      : x(quad_x),
        y(quad_y),
        at(index),
        width(static_cast<int>(level->width)),
        height(static_cast<int>(level->height)),
        owner(owns) {
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      const int i = 2 * x + (c & 1), j = 2 * y + (c >> 1);
      has[c] = i >= 0 && j >= 0 && i < width && j < height;
    }
  }
  __device__ int64_t node(int c) const {
    return (2 * y + (c >> 1)) * static_cast<int64_t>(width) + 2 * x + (c & 1);
  }
  /* True if lines begin at even indices: both nodes of a line are then loaded at once. */
  __device__ bool pairs_aligned() const { return (width & 1) == 0; }

  /* Loads the values of the nodes; 0 outside the grid. The load bypasses the L1 cache, which must
   * not get values before pdl_wait. */
  __device__ quad load(const double *array) const {
    quad q = {{0, 0, 0, 0}};
#pragma unroll
    for (int c = 0; c < 4; c += 2) {
      if (pairs_aligned()) {
        if (!has[c]) continue;
        const double2 pair = __ldcg(reinterpret_cast<const double2 *>(array + node(c)));
        q.at[c] = pair.x;
        q.at[c + 1] = pair.y;
      } else {
        if (has[c]) q.at[c] = __ldcg(array + node(c));
        if (has[c + 1]) q.at[c + 1] = __ldcg(array + node(c + 1));
      }
    }
    return q;
  }
  __device__ void store(double *array, const quad &q) const {
    if (!owner) return;
#pragma unroll
    for (int c = 0; c < 4; c += 2) {
      if (pairs_aligned()) {
        if (has[c])
          *reinterpret_cast<double2 *>(array + node(c)) = make_double2(q.at[c], q.at[c + 1]);
      } else {
        if (has[c]) array[node(c)] = q.at[c];
        if (has[c + 1]) array[node(c + 1)] = q.at[c + 1];
      }
    }
  }
  /* Starts to load the bytes of the four nodes. Outside the grid it loads the bytes of other
   * nodes. */
  __device__ quad_bytes load_bytes(const uint8_t *array) const {
    quad_bytes bytes;
#pragma unroll
    for (int l = 0; l < 2; ++l) {
      const uint8_t *at = array + (has[2 * l] ? node(2 * l) : 0);
      if (pairs_aligned()) {
        bytes.line[l] = __ldcg(reinterpret_cast<const unsigned short *>(at));
      } else {
        bytes.line[l] = __ldcg(at) | __ldcg(at + (has[2 * l + 1] ? 1 : 0)) << 8;
      }
    }
    return bytes;
  }
  /* Byte c of the bytes from load_bytes, or `none` outside the grid. */
  __device__ int byte(const quad_bytes &bytes, int c, int none) const {
    return has[c] ? static_cast<int>(bytes.line[c >> 1] >> (8 * (c & 1)) & 0xffU) : none;
  }
};

/* A level's tiles. One block computes a tile, which owns own_x x own_y quads. */
struct level_tiles {
  int across, count;

  __host__ __device__ level_tiles(const cvtm_grid_level &level, int own_x, int own_y)
      : across(static_cast<int>(((level.width + 1) / 2 + own_x - 1) / own_x)),
        count(static_cast<int>(across * (((level.height + 1) / 2 + own_y - 1) / own_y))) {}
};

/* The position in a tile of the calling thread's nodes. */
__device__ quad_place tile_place(const cvtm_grid_level *level, const level_tiles &tiles, int tile,
                                 int own_x, int own_y) {
  const int tx = static_cast<int>(threadIdx.x), ty = static_cast<int>(threadIdx.y);
  return quad_place(
      level, tile % tiles.across * own_x + tx - rim_west,
      tile / tiles.across * own_y + ty - rim_north, (ty + 1) * quad_pitch + tx + 1,
      tx >= rim_west && tx < rim_west + own_x && ty >= rim_north && ty < rim_north + own_y);
}

/* The value at offset (dx, dy) from the thread's node of colour c. */
__device__ double neighbour(const double *values, int at, int c, int dx, int dy) {
  const int x = (c & 1) + dx, y = (c >> 1) + dy;
  const int quad_x = x < 0 ? -1 : x / 2, quad_y = y < 0 ? -1 : y / 2;
  return values[((x & 1) + 2 * (y & 1)) * quad_plane + at + quad_y * quad_pitch + quad_x];
}

/* The operator at a thread's nodes. */
struct quad_operator {
  double *e;    /* shared: corrections, then links to the east, south, south-east, south-west */
  quad inverse; /* inverse diagonal entries; 0 where the stencil is empty */
  double side, corner;
  bool varying; /* false: all stencils are constant or empty, with links `side` and `corner` */

  __device__ explicit quad_operator(double *memory) : e(memory) {}
  /* Sets constant or empty stencils. */
  __device__ void set_constant(const quad_place &t, const cvtm_grid_constant_stencil &constant,
                               const quad_bytes &kinds) {
    varying = false;
    side = constant.side;
    corner = constant.corner;
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      inverse.at[c] =
          t.byte(kinds, c, CVTM_GRID_EMPTY) == CVTM_GRID_CONSTANT ? 1 / constant.diagonal : 0.0;
    }
  }
  /* Loads any stencils. The caller must synchronise the block before a thread reads links of
   * another. */
  __device__ void load(const quad_place &t, const cvtm_grid_level *level) {
    const int64_t plane = level->width * level->height;
    varying = true;
    const quad diagonal = t.load(level->coefficient);
#pragma unroll
    for (int p = CVTM_GRID_EAST; p < CVTM_GRID_PLANES; ++p) {
      const quad link = t.load(level->coefficient + p * plane);
#pragma unroll
      for (int c = 0; c < 4; ++c) e[(4 * p + c) * quad_plane + t.at] = link.at[c];
    }
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      inverse.at[c] = cvtm_relax_inverse(diagonal.at[c]);
    }
  }

  /* The diagonal entries if all stencils are constant or empty. */
  __device__ quad constant_diagonal(const cvtm_grid_constant_stencil &constant) const {
    quad q;
#pragma unroll
    for (int c = 0; c < 4; ++c) q.at[c] = inverse.at[c] > 0 ? constant.diagonal : 0.0;
    return q;
  }
  __device__ double link(int at, int plane, int c, int dx, int dy) const {
    return neighbour(e + 4 * plane * quad_plane, at, c, dx, dy);
  }
  /* The sum of link times e over the neighbours of the node of colour c. is_varying: `varying`, as
   * a constant. from_zero: e is taken as 0 at the colours c and above. */
  template <int c, bool from_zero, bool is_varying>
  __device__ double neighbour_sum_of(int at) const {
    constexpr bool has_sides = !from_zero || (c & 1), has_lines = !from_zero || (c & 2);
    constexpr bool has_corners = !from_zero || c >= 2;
    const double west = has_sides ? neighbour(e, at, c, -1, 0) : 0,
                 east = has_sides ? neighbour(e, at, c, 1, 0) : 0;
    const double north = has_lines ? neighbour(e, at, c, 0, -1) : 0;
    const double south = has_lines ? neighbour(e, at, c, 0, 1) : 0;
    double corner_e[4] = {0, 0, 0, 0};
    if (has_corners) {
#pragma unroll
      for (int k = 0; k < 4; ++k) corner_e[k] = neighbour(e, at, c, k & 1 ? 1 : -1, k & 2 ? 1 : -1);
    }
    if (!is_varying)
      return side * ((west + east) + (north + south)) +
             corner * ((corner_e[0] + corner_e[1]) + (corner_e[2] + corner_e[3]));
    double sum = 0;
    if (has_sides)
      sum = link(at, CVTM_GRID_EAST, c, -1, 0) * west + link(at, CVTM_GRID_EAST, c, 0, 0) * east;
    if (has_lines)
      sum +=
          link(at, CVTM_GRID_SOUTH, c, 0, -1) * north + link(at, CVTM_GRID_SOUTH, c, 0, 0) * south;
    if (has_corners)
      sum += (link(at, CVTM_GRID_SOUTH_EAST, c, -1, -1) * corner_e[0] +
              link(at, CVTM_GRID_SOUTH_WEST, c, 1, -1) * corner_e[1]) +
             (link(at, CVTM_GRID_SOUTH_WEST, c, 0, 0) * corner_e[2] +
              link(at, CVTM_GRID_SOUTH_EAST, c, 0, 0) * corner_e[3]);
    return sum;
  }
  template <int c, bool from_zero>
  __device__ double neighbour_sum(int at) const {
    return varying ? neighbour_sum_of<c, from_zero, true>(at)
                   : neighbour_sum_of<c, from_zero, false>(at);
  }
};

/* Loads the operator of a tile. kinds: the bytes of level->kind. Called by all threads. */
__device__ void tile_operator(const quad_place &t, const cvtm_grid_level *level,
                              const cvtm_grid_constant_stencil &constant, const quad_bytes &kinds,
                              quad_operator *a) {
  bool varying = false;
#pragma unroll
  for (int c = 0; c < 4; ++c)
    varying = varying || t.byte(kinds, c, CVTM_GRID_EMPTY) == CVTM_GRID_VARYING;
  if (__syncthreads_or(varying)) {
    a->load(t, level);
  } else {
    a->set_constant(t, constant, kinds);
  }
}

/* Relaxes one colour. Returns the new residual plus the diagonal's term of A e. */
template <int c, bool from_zero>
__device__ __forceinline__ double relax_colour(const quad_operator &a, const quad &r, int at,
                                               quad *e) {
  const double sum = r.at[c] + a.template neighbour_sum<c, from_zero>(at);
  const double value = a.inverse.at[c] > 0 ? cvtm_relax_by_inverse(sum, a.inverse.at[c]) : 0.0;
  e->at[c] = value;
  a.e[c * quad_plane + at] = value;
  __syncthreads();
  return sum;
}

/* Makes a sweep. from_zero: starts from e = 0, whatever is in memory. Returns the result of
 * relax_colour for the last colour. */
template <bool from_zero>
__device__ __forceinline__ double relax_quads(const quad_operator &a, const quad &r, int at,
                                              quad *e) {
  (void)relax_colour<0, from_zero>(a, r, at, e);
  (void)relax_colour<1, from_zero>(a, r, at, e);
  (void)relax_colour<2, from_zero>(a, r, at, e);
  return relax_colour<3, from_zero>(a, r, at, e);
}

/* The residuals of the nodes. last: the result of relax_quads. */
template <bool is_varying>
__device__ __forceinline__ quad quad_residuals(const quad_operator &a, const quad &diagonal,
                                               const quad &r, int at, const quad &e, double last) {
  return quad{{cvtm_residual(r.at[0] + a.template neighbour_sum_of<0, false, is_varying>(at),
                             diagonal.at[0], e.at[0]),
               cvtm_residual(r.at[1] + a.template neighbour_sum_of<1, false, is_varying>(at),
                             diagonal.at[1], e.at[1]),
               cvtm_residual(r.at[2] + a.template neighbour_sum_of<2, false, is_varying>(at),
                             diagonal.at[2], e.at[2]),
               cvtm_residual(last, diagonal.at[3], e.at[3])}};
}

/* Calls combine(dx, dy, value) for the nodes of the support of the thread's coarse node. */
template <typename Combine>
__device__ void gather_support(const double *plane, int at, Combine combine) {
#pragma unroll
  for (int dy = 0; dy < 3; ++dy) {
#pragma unroll
    for (int dx = 0; dx < 3; ++dx) combine(dx, dy, neighbour(plane, at, 0, dx, dy));
  }
}

/* Computes the values of the basis function of the thread's coarse node on its support. */
template <bool stored>
__device__ void tile_weights(const quad_place &t, const cvtm_grid_level *c,
                             double (&weight)[3][3]) {
  double across[3], down[3];
  cvtm_grid_closed_form_weights(c->neumann, t.x, c->width, across);
  cvtm_grid_closed_form_weights(c->neumann, t.y, c->height, down);
#pragma unroll
  for (int dy = 0; dy < 3; ++dy) {
#pragma unroll
    for (int dx = 0; dx < 3; ++dx) {
      const int i = 2 * t.x + dx, j = 2 * t.y + dy;
      weight[dy][dx] = !stored                       ? down[dy] * across[dx]
                       : i < t.width && j < t.height ? cvtm_grid_basis(c, t.x, t.y, i, j)
                                                     : 0.0;
    }
  }
}

/* The down phase: sets level.scratch to e after a sweep from 0, then restricts the residual. If
 * `changed` is given, the operator is loaded before the preceding kernels have ended, and again if
 * they have changed it. */
template <bool stored>
__global__ void __launch_bounds__(tile_threads, 2)
    pre_smooth_and_restrict_tile(cvtm_grid_level level, cvtm_grid_level coarse,
                                 cvtm_grid_constant_stencil constant, const uint8_t *changed,
                                 launch_part part) {
  extern __shared__ double tile_memory[];
  double *memory = tile_memory;
  pdl_trigger();
  const level_tiles tiles(level, down_x, down_y);
  const int tile = part.block();
  const quad_place t = tile_place(&level, tiles, tile, down_x, down_y);
  quad_operator a(memory);
  if (changed) tile_operator(t, &level, constant, t.load_bytes(level.kind), &a);
  pdl_wait();
  const bool is_late = !changed || __ldcg(changed);
  quad_bytes kinds = {{0, 0}}; /* loaded before r, so that both loads overlap */
  if (is_late) kinds = t.load_bytes(level.kind);
  const quad r = t.load(level.r);
  if (is_late) tile_operator(t, &level, constant, kinds, &a);
  quad e;
  const double last = relax_quads<true>(a, r, t.at, &e);
  t.store(level.scratch, e);
  /* the diagonal is loaded only here: the sweeps do not need it, and it would occupy registers */
  const quad residual =
      a.varying ? quad_residuals<true>(a, t.load(level.coefficient), r, t.at, e, last)
                : quad_residuals<false>(a, a.constant_diagonal(constant), r, t.at, e, last);
  __syncthreads();
#pragma unroll
  for (int c = 0; c < 4; ++c) memory[c * quad_plane + t.at] = t.has[c] ? residual.at[c] : 0.0;
  __syncthreads();
  if (!t.owner || t.x >= coarse.width || t.y >= coarse.height) return;
  double weight[3][3], sum = 0;
  tile_weights<stored>(t, &coarse, weight);
  gather_support(memory, t.at,
                 [&](int dx, int dy, double value) { sum += weight[dy][dx] * value; });
  coarse.r[t.y * coarse.width + t.x] = sum;
}

template <bool stored>
__device__ quad prolong_tile(const quad_place &t, const cvtm_grid_level *c) {
  quad q = {{0, 0, 0, 0}};
  if (stored) {
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      if (t.has[n])
        q.at[n] = cvtm_grid_interpolated(c, c->e, 2 * t.x + (n & 1), 2 * t.y + (n >> 1));
    }
    return q;
  }
  const double north_west = coarse_value(c, t.x - 1, t.y - 1),
               north = coarse_value(c, t.x, t.y - 1);
  const double west = coarse_value(c, t.x - 1, t.y), here = coarse_value(c, t.x, t.y);
#pragma unroll
  for (int n = 0; n < 4; ++n)
    q.at[n] = cvtm_grid_bilinear(n & 1, n >> 1, north_west, north, west, here);
  return q;
}

/* The up phase: sets level.e to level.scratch + the interpolated correction, then makes a sweep. It
 * may read the results of the down phase before pdl_wait: the tail runs between the two phases, and
 * triggers the up phase only after its own wait. */
template <bool stored>
__global__ void __launch_bounds__(tile_threads, 2)
    prolong_and_post_smooth_tile(cvtm_grid_level level, cvtm_grid_level coarse,
                                 cvtm_grid_constant_stencil constant, launch_part part) {
  extern __shared__ double tile_memory[];
  double *memory = tile_memory;
  pdl_trigger();
  const level_tiles tiles(level, up_x, up_y);
  const int tile = part.block();
  const quad_place t = tile_place(&level, tiles, tile, up_x, up_y);
  const quad_bytes kinds = t.load_bytes(level.kind);
  quad e = t.load(level.scratch);
  const quad r = t.load(level.r);
  quad_operator a(memory);
  tile_operator(t, &level, constant, kinds, &a);
  pdl_wait();
  const quad change = prolong_tile<stored>(t, &coarse);
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    if (t.has[c]) e.at[c] += change.at[c];
    memory[c * quad_plane + t.at] = e.at[c];
  }
  __syncthreads();
  (void)relax_quads<false>(a, r, t.at, &e);
  t.store(level.e, e);
}

/* --- launchers --- */

/* The largest number of nodes of a level that loads its operator before pdl_wait. All tiles of such
 * a level run at the same time; of a larger level only the first tiles could load early. */
constexpr int64_t early_nodes = 1 << 18;

/* The operator of a level at nodes where it is constant. */
cvtm_grid_constant_stencil constant_stencil_of(const cvtm_grid_top *top,
                                               const cvtm_grid_level *level) {
  cvtm_grid_constant_stencil stencil = cvtm_grid_constant_stencil_of(top->shape);
  for (int64_t width = top->shape->width; width > level->width; width /= 2)
    stencil = cvtm_grid_galerkin_constant(stencil);
  return stencil;
}

/* Launches kernel(level, coarse, constant stencil, more). */
template <typename Kernel, typename... More>
cvtm_status launch_tiles(const cvtm_grid_top *top, const char *name, Kernel kernel,
                         const cvtm_grid_level *level, const cvtm_grid_level *coarse, int own_x,
                         int own_y, More... more) {
  return launch_phase(top, name, kernel, level_tiles(*level, own_x, own_y).count,
                      dim3(quads_x, quads_y), tile_bytes, *level, *coarse,
                      constant_stencil_of(top, level), more...);
}

} /* namespace */

cvtm_status cvtm_grid_pre_smooth_and_restrict_tiles(const cvtm_grid_top *top,
                                                    const cvtm_grid_level *level,
                                                    const cvtm_grid_level *coarse) {
  const uint8_t *changed = level->width * level->height <= early_nodes ? top->changed : nullptr;
  cvtm_status status = CVTM_OK;
  with_flag(coarse->weight != nullptr, [&](auto stored) {
    status = launch_tiles(top, "pre_smooth_and_restrict_tile",
                          pre_smooth_and_restrict_tile<decltype(stored)::value>, level, coarse,
                          down_x, down_y, changed);
  });
  return status;
}

cvtm_status cvtm_grid_prolong_and_post_smooth_tiles(const cvtm_grid_top *top,
                                                    const cvtm_grid_level *level,
                                                    const cvtm_grid_level *coarse) {
  cvtm_status status = CVTM_OK;
  with_flag(coarse->weight != nullptr, [&](auto stored) {
    status = launch_tiles(top, "prolong_and_post_smooth_tile",
                          prolong_and_post_smooth_tile<decltype(stored)::value>, level, coarse,
                          up_x, up_y);
  });
  return status;
}

/* ------ the tail ------
 *
 * One thread block computes the tail of the V-cycle, that is, all small levels. A barrier within
 * the block replaces the launches that tiles need for each level and phase. Operators and vectors
 * are in shared memory, each surrounded by zeros. The launch always has one block, since block
 * barriers separate the levels.
 *
 * With tiles on all levels a cycle takes 1.15 to 1.6 times as long at 255 x 255, and 1.2 to 1.6
 * times at 1024 x 1024 (H200). */

namespace {

constexpr int tail_threads = 512;
constexpr int max_small_levels = 12;           /* capacity of small_levels */
constexpr size_t max_small_bytes = 160 * 1024; /* bytes of shared memory for all small levels */

/* cvtm_grid_coarse_neighbour_sum in an array with `pitch` numbers per line, surrounded by zeros. */
__device__ double small_neighbour_sum(const double *e, int pitch, const double link[3][3]) {
  return cvtm_grid_nine_point_sum(
      cvtm_grid_three_points(link[0][0], link[0][1], link[0][2], e, -pitch),
      cvtm_grid_two_points(link[1][0], link[1][2], e),
      cvtm_grid_three_points(link[2][0], link[2][1], link[2][2], e, pitch));
}

/* --- in shared memory: a level --- */

extern __shared__ double small_memory[];

/* A level in shared memory. Its arrays are consecutive, each surrounded by zeros. */
struct small_level {
  int first, width, height; /* first: the offset of the level's arrays in small_memory */
  int pitch, size;          /* numbers in a line, and in an array, including the zeros around it */

  __device__ int at(int x, int y) const { return (y + 1) * pitch + x + 1; }
  __device__ double *array(int number) const { return small_memory + (first + number * size); }
  __device__ double *plane(int p) const { return array(p); }
  __device__ double *e() const { return array(CVTM_GRID_PLANES); }
  __device__ double *r() const { return array(CVTM_GRID_PLANES + 1); }
  __device__ double *residual() const { return array(CVTM_GRID_PLANES + 2); }
  __device__ double *inverse() const { return array(CVTM_GRID_PLANES + 3); }
  __device__ void stencil(int k, double link[3][3]) const {
    link[0][0] = plane(CVTM_GRID_SOUTH_EAST)[k - pitch - 1];
    link[0][1] = plane(CVTM_GRID_SOUTH)[k - pitch];
    link[0][2] = plane(CVTM_GRID_SOUTH_WEST)[k - pitch + 1];
    link[1][0] = plane(CVTM_GRID_EAST)[k - 1];
    link[1][1] = plane(CVTM_GRID_DIAGONAL)[k];
    link[1][2] = plane(CVTM_GRID_EAST)[k];
    link[2][0] = plane(CVTM_GRID_SOUTH_WEST)[k];
    link[2][1] = plane(CVTM_GRID_SOUTH)[k];
    link[2][2] = plane(CVTM_GRID_SOUTH_EAST)[k];
  }
};

constexpr int small_arrays = CVTM_GRID_PLANES + 4; /* arrays of a level */

__device__ small_level small_from(const cvtm_grid_level *level, int first) {
  small_level s;
  s.first = first;
  s.width = static_cast<int>(level->width);
  s.height = static_cast<int>(level->height);
  s.pitch = s.width + 2;
  s.size = s.pitch * (s.height + 2);
  return s;
}

/* Calls work(x, y) for all nodes of a grid; then, if `wait`, waits for all threads. 2^n threads
 * share each line, so that no division is needed. */
template <bool wait = true, typename Work>
__device__ void for_small(int width, int height, Work work) {
  int bits = width > 1 ? 32 - __clz(width - 1) : 0;
  if ((1 << bits) > tail_threads) bits = 31 - __clz(tail_threads);
  const int thread = static_cast<int>(threadIdx.x);
  for (int y = thread >> bits; y < height; y += tail_threads >> bits) {
    for (int x = thread & ((1 << bits) - 1); x < width; x += 1 << bits) work(x, y);
  }
  if (wait) __syncthreads();
}

__device__ double small_relaxed(small_level s, int k, const double (&link)[3][3]) {
  return cvtm_relax_by_inverse(s.r()[k] + small_neighbour_sum(s.e() + k, s.pitch, link),
                               s.inverse()[k]);
}

__device__ void relax_small(small_level s, int sweeps) {
  for (int colour = 0; colour < 4 * sweeps; ++colour) {
    const int cx = colour & 1, cy = (colour >> 1) & 1;
    for_small((s.width + 1 - cx) / 2, (s.height + 1 - cy) / 2, [&](int x, int y) {
      const int k = s.at(2 * x + cx, 2 * y + cy);
      double link[3][3];
      s.stencil(k, link);
      s.e()[k] = small_relaxed(s, k, link);
    });
  }
}

/* Relaxes at most 32 nodes, by one warp with a node per thread and without block barriers. */
__device__ void relax_small_by_warp(small_level s, int sweeps) {
  const int lane = static_cast<int>(threadIdx.x);
  if (lane < 32) {
    const int x = lane % s.width, y = lane / s.width, k = s.at(x, y < s.height ? y : 0);
    const int colour = y < s.height ? (x & 1) + 2 * (y & 1) : 4;
    double link[3][3];
    s.stencil(k, link);
    for (int pass = 0; pass < 4 * sweeps; ++pass) {
      if ((pass & 3) == colour) s.e()[k] = small_relaxed(s, k, link);
      __syncwarp();
    }
  }
  __syncthreads();
}

/* --- in shared memory: transfers --- */

__device__ bool is_bilinear(const cvtm_grid_level *c) {
  return !c->weight && c->halved_x && c->halved_y;
}

/* Restricts the residual of level f to node (x, y) of level s. */
__device__ double restrict_bilinear(small_level f, small_level s, const cvtm_grid_level *c, int x,
                                    int y) {
  const double *at = f.residual() + f.at(2 * x + 1, 2 * y);
  double across[3], down[3], row[3];
  cvtm_grid_closed_form_weights(c->neumann, x, s.width, across);
  cvtm_grid_closed_form_weights(c->neumann, y, s.height, down);
  for (int d = 0; d < 3; ++d, at += f.pitch)
    row[d] = cvtm_grid_three_points(across[0], across[1], across[2], at, 0);
  return cvtm_grid_three_points(down[0], down[1], down[2], row + 1, 0);
}

__device__ double restrict_any(small_level f, const cvtm_grid_level *c, int x, int y) {
  double sum = 0;
  int64_t i0, i1, j0, j1;
  cvtm_grid_support(c->halved_x, x, f.width, &i0, &i1);
  cvtm_grid_support(c->halved_y, y, f.height, &j0, &j1);
  for (int64_t j = j0; j <= j1; ++j) {
    for (int64_t i = i0; i <= i1; ++i)
      sum += cvtm_grid_basis(c, x, y, i, j) *
             f.residual()[f.at(static_cast<int>(i), static_cast<int>(j))];
  }
  return sum;
}

__device__ void restrict_small(small_level f, small_level s, const cvtm_grid_level *c) {
  for_small(f.width, f.height, [&](int x, int y) {
    const int k = f.at(x, y);
    double link[3][3];
    f.stencil(k, link);
    f.residual()[k] = cvtm_residual(f.r()[k] + small_neighbour_sum(f.e() + k, f.pitch, link),
                                    link[1][1], f.e()[k]);
  });
  const bool bilinear = is_bilinear(c);
  for_small(s.width, s.height, [&](int x, int y) {
    s.r()[s.at(x, y)] = bilinear ? restrict_bilinear(f, s, c, x, y) : restrict_any(f, c, x, y);
  });
}

__device__ double interpolated_bilinear(small_level s, const cvtm_grid_level *c, int i, int j) {
  int x = i / 2, y = j / 2, west = x - 1, north = y - 1;
  if (c->neumann) {
    west = west < 0 ? 0 : west;
    north = north < 0 ? 0 : north;
    x = x < s.width ? x : s.width - 1;
    y = y < s.height ? y : s.height - 1;
  }
  const double *e = s.e();
  return cvtm_grid_bilinear(i & 1, j & 1, e[s.at(west, north)], e[s.at(x, north)], e[s.at(west, y)],
                            e[s.at(x, y)]);
}

/* cvtm_grid_interpolated in shared memory with 32-bit indices, which spills fewer registers. */
__device__ double interpolated_any(small_level s, const cvtm_grid_level *c, int i, int j) {
  int64_t x0, y0;
  const int count_x = cvtm_grid_parents(c->halved_x, i, &x0);
  const int count_y = cvtm_grid_parents(c->halved_y, j, &y0);
  double sum = 0;
  for (int ky = 0; ky < count_y; ++ky) {
    for (int kx = 0; kx < count_x; ++kx) {
      const int x = static_cast<int>(x0) + kx, y = static_cast<int>(y0) + ky;
      if (x < 0 || x >= s.width || y < 0 || y >= s.height) continue;
      sum += cvtm_grid_weight(c, i, j, count_x, count_y, kx, ky) * s.e()[s.at(x, y)];
    }
  }
  return sum;
}

__device__ void prolong_small(small_level f, small_level s, const cvtm_grid_level *c) {
  const bool bilinear = is_bilinear(c);
  for_small(f.width, f.height, [&](int i, int j) {
    f.e()[f.at(i, j)] +=
        bilinear ? interpolated_bilinear(s, c, i, j) : interpolated_any(s, c, i, j);
  });
}

/* --- in shared memory: operators --- */

struct small_levels {
  cvtm_grid_level level[max_small_levels];
  int bottom;   /* the last level */
  int galerkin; /* nonzero: P'AP is computed below the first level */
};

/* Copies the operator of a level to shared memory. The caller must synchronise the block. */
__device__ void load_small(small_level s, const cvtm_grid_level &c) {
  const int count = s.width * s.height;
  for_small<false>(s.width, s.height, [&](int x, int y) {
    const int k = y * s.width + x, at = s.at(x, y);
    double plane[CVTM_GRID_PLANES];
#pragma unroll
    for (int p = 0; p < CVTM_GRID_PLANES; ++p) plane[p] = __ldcg(c.coefficient + p * count + k);
#pragma unroll
    for (int p = 0; p < CVTM_GRID_PLANES; ++p) s.plane(p)[at] = plane[p];
    s.inverse()[at] = cvtm_relax_inverse(plane[CVTM_GRID_DIAGONAL]);
  });
}

/* Computes P'AP of level s, the next coarser level than f, with bilinear interpolation, into shared
 * and global memory. Due to the zeros around f, its stencils outside the grid are 0. */
__device__ void galerkin_small(small_level f, small_level s, const cvtm_grid_level &c) {
  const int count = s.width * s.height;
  for_small(s.width, s.height, [&](int x, int y) {
    double across[3], along[3], q[5][5] = {}, sum[3][3] = {};
    cvtm_grid_closed_form_weights(c.neumann, x, s.width, across);
    cvtm_grid_closed_form_weights(c.neumann, y, s.height, along);
#pragma unroll
    for (int dy = 0; dy < 3; ++dy) {
#pragma unroll
      for (int dx = 0; dx < 3; ++dx) {
        double link[3][3];
        f.stencil(f.at(2 * x + dx, 2 * y + dy), link);
        cvtm_grid_add_stencil(along[dy] * across[dx], dx, dy, link, q);
      }
    }
    cvtm_grid_add_all_to_parents(&c, x, y, across, along, 0, 0, q, sum);
    const double row[CVTM_GRID_PLANES] = {-sum[1][1], sum[1][2], sum[2][1], sum[2][2], sum[2][0]};
    const int k = y * s.width + x, at = s.at(x, y);
#pragma unroll
    for (int p = 0; p < CVTM_GRID_PLANES; ++p)
      c.coefficient[p * count + k] = s.plane(p)[at] = row[p];
    s.inverse()[at] = cvtm_relax_inverse(row[0]);
  });
}

/* --- in shared memory: the V-cycle --- */

__device__ void cycle_small_levels(const small_level *small, const small_levels &tail) {
  const int bottom = tail.bottom, sweeps = cvtm_grid_bottom_sweeps(&tail.level[bottom]);
  for (int l = 0; l < bottom; ++l) {
    relax_small(small[l], 1);
    restrict_small(small[l], small[l + 1], &tail.level[l + 1]);
  }
  if (small[bottom].width * small[bottom].height <= 32) {
    relax_small_by_warp(small[bottom], sweeps);
  } else {
    relax_small(small[bottom], sweeps);
  }
  for (int l = bottom - 1; l >= 0; --l) {
    prolong_small(small[l], small[l + 1], &tail.level[l + 1]);
    relax_small(small[l], 1);
  }
}

/* Operators seldom change, so the kernel loads them before the preceding kernels have ended. It
 * loads them again if `changed` tells that they have changed since, or if `changed` is NULL. */
__global__ void __launch_bounds__(tail_threads)
    tail_kernel(const __grid_constant__ small_levels tail, const uint8_t *changed) {
  __shared__ small_level small[max_small_levels];
  const int thread = static_cast<int>(threadIdx.x);
  int end = 0;
  for (int l = 0; l <= tail.bottom; ++l) {
    const small_level s = small_from(&tail.level[l], end);
    if (l == thread) small[l] = s;
    end += s.size * small_arrays;
  }
  for (int k = thread; k < end; k += tail_threads) small_memory[k] = 0;
  __syncthreads();
#pragma unroll 1
  for (bool waited = false;; waited = true) {
    const int loaded = waited && tail.galerkin ? 0 : tail.bottom;
    for (int l = 0; l <= loaded; ++l) load_small(small[l], tail.level[l]);
    if (waited) {
      __syncthreads();
      for (int l = loaded + 1; l <= tail.bottom; ++l)
        galerkin_small(small[l - 1], small[l], tail.level[l]);
      break;
    }
    pdl_wait();
    pdl_trigger(); /* not earlier: see prolong_and_post_smooth_tile */
    if (changed && !__ldcg(changed)) break;
  }
  const small_level s = small[0];
  const cvtm_grid_level &level = tail.level[0];
  for_small(s.width, s.height, [&](int x, int y) { s.r()[s.at(x, y)] = level.r[y * s.width + x]; });
  cycle_small_levels(small, tail);
  for_small<false>(s.width, s.height,
                   [&](int x, int y) { level.e[y * s.width + x] = s.e()[s.at(x, y)]; });
}

/* --- launchers --- */

/* Bytes of shared memory for levels first .. last; 0 if these levels cannot be a tail. */
size_t small_bytes(const cvtm_grid_level *levels, int first, int last) {
  if (levels[first].width * levels[first].height > CVTM_GRID_TAIL_NODES ||
      last - first >= max_small_levels || uses_plain("tail")) {
    return 0;
  }
  int64_t nodes = 0;
  for (int l = first; l <= last; ++l) nodes += (levels[l].width + 2) * (levels[l].height + 2);
  const size_t bytes = static_cast<size_t>(nodes * small_arrays) * sizeof(double);
  return bytes <= max_small_bytes ? bytes : 0;
}

} /* namespace */

int cvtm_grid_is_tail_cuda(const cvtm_grid_top * /* top */, const cvtm_grid_level *levels,
                           int first, int last) {
  return small_bytes(levels, first, last) > 0;
}

int cvtm_grid_last_before_tail(const cvtm_grid_top *top, const cvtm_grid_level *levels, int first,
                               int last) {
  int small = first;
  while (small < last && !cvtm_grid_is_tail_cuda(top, levels, small, last)) ++small;
  for (int l = small + 1; l <= last; ++l) {
    if (!levels[l].halved_x || !levels[l].halved_y || levels[l].weight) return last;
  }
  return small;
}

cvtm_status cvtm_grid_tail_cycle_cuda(const cvtm_grid_top *top, const cvtm_grid_level *levels,
                                      int first, int last) {
  const size_t bytes = small_bytes(levels, first, last);
  small_levels small = {};
  small.bottom = last - first;
  small.galerkin = cvtm_grid_last_before_tail(top, levels, first, last) == first;
  for (int l = first; l <= last; ++l) small.level[l - first] = levels[l];
  return launch_pdl(top->device, "tail_kernel", tail_kernel, 1, tail_threads, bytes, small,
                    top->changed);
}

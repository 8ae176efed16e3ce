/* Inside grid_cuda.cu only: a coarse level's way down and up, tile by tile. A thread holds the
 * nodes (2 X, 2 Y) .. (2 X + 1, 2 Y + 1), one of each colour, and coarse node (X, Y); the tile's
 * corrections are in shared memory, colour by colour. The threads at the rim only lend theirs. */
#ifndef CVTMESH_LCP_GRID_GRID_CUDA_TILES_H
#define CVTMESH_LCP_GRID_GRID_CUDA_TILES_H

#include "lcp/grid/grid_cuda_sums.h"
#include "lcp/grid/grid_galerkin.h"
#include "lcp/grid/grid_kernels.h"
#include "lcp/grid/grid_measure.h"
#include "lcp/grid/grid_nested.h"
#include "lcp/grid/grid_relax.h"

namespace {

constexpr int quads_x = 32, quads_y = 16, tile_threads = quads_x * quads_y;
constexpr int quad_pitch = quads_x + 2, quad_plane = quad_pitch * (quads_y + 2);
/* Threads at the rim, before and behind: colours follow one another over that many nodes. */
constexpr int rim_west = 2, down_east = 3, up_east = 2, rim_north = 1, down_south = 2, up_south = 1;
constexpr int down_x = quads_x - rim_west - down_east, down_y = quads_y - rim_north - down_south;
constexpr int up_x = quads_x - rim_west - up_east, up_y = quads_y - rim_north - up_south;
/* Corrections, and four planes of links, each of four colours. */
constexpr size_t tile_bytes = 5 * 4 * quad_plane * sizeof(double);

/* A thread's four nodes, by colour: 0 and 1 in row 2 Y, 2 and 3 in row 2 Y + 1. */
struct quad {
  double at[4];
};

/* A thread's place. */
struct quad_place {
  int x, y, at; /* the coarse node; where the thread's values lie in a plane */
  int width, height;
  bool owner;
  bool has[4];

  __device__ quad_place(const cvtm_grid_level *level, int quad_x, int quad_y, int place, bool owns)
      : x(quad_x),
        y(quad_y),
        at(place),
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
  /* Rows begin at even places, so that both nodes of a row are read and written at once. */
  __device__ bool wide() const { return (width & 1) == 0; }

  /* Loads from the L2 cache, as these may run before the kernel has waited. 0 outside the grid. */
  __device__ quad load(const double *array) const {
    quad q = {{0, 0, 0, 0}};
#pragma unroll
    for (int c = 0; c < 4; c += 2) {
      if (wide()) {
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
      if (wide()) {
        if (has[c])
          *reinterpret_cast<double2 *>(array + node(c)) = make_double2(q.at[c], q.at[c + 1]);
      } else {
        if (has[c]) array[node(c)] = q.at[c];
        if (has[c + 1]) array[node(c + 1)] = q.at[c + 1];
      }
    }
  }
  /* Bytes of the four nodes, `none` outside the grid. */
  __device__ void load_bytes(const uint8_t *array, int none, int (&out)[4]) const {
#pragma unroll
    for (int c = 0; c < 4; c += 2) {
      out[c] = out[c + 1] = none;
      if (wide() && has[c]) {
        const unsigned pair = __ldcg(reinterpret_cast<const unsigned short *>(array + node(c)));
        out[c] = static_cast<int>(pair & 0xff);
        out[c + 1] = static_cast<int>(pair >> 8);
      } else {
        if (has[c]) out[c] = __ldcg(array + node(c));
        if (has[c + 1]) out[c + 1] = __ldcg(array + node(c + 1));
      }
    }
  }
};

/* That of a thread in a tile of a grid of blocks. */
__device__ quad_place tile_place(const cvtm_grid_level *level, int own_x, int own_y) {
  const int tx = static_cast<int>(threadIdx.x), ty = static_cast<int>(threadIdx.y);
  const int x = static_cast<int>(blockIdx.x) * own_x + tx - rim_west;
  const int y = static_cast<int>(blockIdx.z * gridDim.y + blockIdx.y) * own_y + ty - rim_north;
  return quad_place(
      level, x, y, (ty + 1) * quad_pitch + tx + 1,
      tx >= rim_west && tx < rim_west + own_x && ty >= rim_north && ty < rim_north + own_y);
}

/* What is (dx, dy) away from a node of colour c, among values by colour. */
__device__ double away(const double *values, int at, int c, int dx, int dy) {
  const int x = (c & 1) + dx, y = (c >> 1) + dy;
  const int quad_x = x < 0 ? -1 : x / 2, quad_y = y < 0 ? -1 : y / 2;
  return values[((x & 1) + 2 * (y & 1)) * quad_plane + at + quad_y * quad_pitch + quad_x];
}

/* The operator at a thread's nodes: in shared memory, or known. */
struct quad_operator {
  double *e; /* shared: corrections; behind them links to the east, south, south-east, south-west */
  quad diagonal, inverse;
  double side, corner;
  bool any; /* else all rows are known */

  __device__ explicit quad_operator(double *memory) : e(memory) {}
  /* Known rows. */
  __device__ void know(const cvtm_grid_constant_stencil &plain, const int (&kind)[4]) {
    any = false;
    side = plain.side;
    corner = plain.corner;
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      diagonal.at[c] = kind[c] == CVTM_GRID_CONSTANT ? plain.diagonal : 0.0;
      inverse.at[c] = kind[c] == CVTM_GRID_CONSTANT ? 1 / plain.diagonal : 0.0;
    }
  }
  /* Rows of any kind; the caller waits. */
  __device__ void load(const quad_place &t, const cvtm_grid_level *level) {
    const int64_t plane = level->width * level->height;
    any = true;
    diagonal = t.load(level->coefficient);
#pragma unroll
    for (int p = CVTM_GRID_EAST; p < CVTM_GRID_PLANES; ++p) {
      const quad link = t.load(level->coefficient + p * plane);
#pragma unroll
      for (int c = 0; c < 4; ++c) e[(4 * p + c) * quad_plane + t.at] = link.at[c];
    }
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      inverse.at[c] = diagonal.at[c] > 0 ? 1 / diagonal.at[c] : 0.0;
    }
  }

  __device__ double link(int at, int plane, int c, int dx, int dy) const {
    return away(e + 4 * plane * quad_plane, at, c, dx, dy);
  }
  /* Sum of link times e over the neighbours of the node of colour c; fresh: all e of colours from
   * c on are 0 still. */
  template <int c, bool fresh>
  __device__ double around(int at) const {
    constexpr bool beside = !fresh || (c & 1), below = !fresh || (c & 2);
    constexpr bool slanted = !fresh || c >= 2;
    const double west = beside ? away(e, at, c, -1, 0) : 0,
                 east = beside ? away(e, at, c, 1, 0) : 0;
    const double north = below ? away(e, at, c, 0, -1) : 0;
    const double south = below ? away(e, at, c, 0, 1) : 0;
    double slant[4] = {0, 0, 0, 0};
    if (slanted) {
#pragma unroll
      for (int k = 0; k < 4; ++k) slant[k] = away(e, at, c, k & 1 ? 1 : -1, k & 2 ? 1 : -1);
    }
    if (!any) {
      return side * ((west + east) + (north + south)) +
             corner * ((slant[0] + slant[1]) + (slant[2] + slant[3]));
    }
    double sum = 0;
    if (beside) {
      sum = link(at, CVTM_GRID_EAST, c, -1, 0) * west + link(at, CVTM_GRID_EAST, c, 0, 0) * east;
    }
    if (below) {
      sum +=
          link(at, CVTM_GRID_SOUTH, c, 0, -1) * north + link(at, CVTM_GRID_SOUTH, c, 0, 0) * south;
    }
    if (slanted) {
      sum += (link(at, CVTM_GRID_SOUTH_EAST, c, -1, -1) * slant[0] +
              link(at, CVTM_GRID_SOUTH_WEST, c, 1, -1) * slant[1]) +
             (link(at, CVTM_GRID_SOUTH_WEST, c, 0, 0) * slant[2] +
              link(at, CVTM_GRID_SOUTH_EAST, c, 0, 0) * slant[3]);
    }
    return sum;
  }
};

/* A tile's: known if all its rows are. All threads take part. */
__device__ void tile_operator(const quad_place &t, const cvtm_grid_level *level,
                              const cvtm_grid_constant_stencil &plain, quad_operator *a) {
  int kind[4];
  t.load_bytes(level->kind, CVTM_GRID_EMPTY, kind);
  if (__syncthreads_or(kind[0] == CVTM_GRID_VARYING || kind[1] == CVTM_GRID_VARYING ||
                       kind[2] == CVTM_GRID_VARYING || kind[3] == CVTM_GRID_VARYING)) {
    a->load(t, level);
  } else {
    a->know(plain, kind);
  }
}

/* What sweeps read beside the operator. */
template <bool bounded>
struct quad_data {
  quad r, lower, upper;
  __device__ void load(const quad_place &t, const cvtm_grid_level *level) {
    r = t.load(level->r);
    if (!bounded) return;
    lower = t.load(level->lower);
    upper = t.load(level->upper);
  }
};

/* One colour of a sweep; returns the residual that it leaves. */
template <int c, bool fresh, bool bounded>
__device__ __forceinline__ double relax_colour(const quad_operator &a, const quad_data<bounded> &d,
                                               int at, quad *e) {
  const double sum = d.r.at[c] + a.template around<c, fresh>(at);
  double value = a.inverse.at[c] > 0 ? sum * a.inverse.at[c] : 0.0;
  if (bounded && a.inverse.at[c] > 0) value = cvtm_grid_clip(value, d.lower.at[c], d.upper.at[c]);
  e->at[c] = value;
  a.e[c * quad_plane + at] = value;
  __syncthreads();
  return sum - a.diagonal.at[c] * value;
}

/* fresh: from e = 0 (whatever the memory holds). Returns the residual of the last colour. */
template <bool fresh, bool bounded>
__device__ __forceinline__ double relax_quads(const quad_operator &a, const quad_data<bounded> &d,
                                              int at, quad *e) {
  (void)relax_colour<0, fresh>(a, d, at, e);
  (void)relax_colour<1, fresh>(a, d, at, e);
  (void)relax_colour<2, fresh>(a, d, at, e);
  return relax_colour<3, fresh>(a, d, at, e);
}

/* Residuals of the other three. */
template <bool bounded>
__device__ __forceinline__ void quad_residuals(const quad_operator &a, const quad_data<bounded> &d,
                                               int at, const quad &e, quad *left) {
  left->at[0] = (d.r.at[0] + a.template around<0, false>(at)) - a.diagonal.at[0] * e.at[0];
  left->at[1] = (d.r.at[1] + a.template around<1, false>(at)) - a.diagonal.at[1] * e.at[1];
  left->at[2] = (d.r.at[2] + a.template around<2, false>(at)) - a.diagonal.at[2] * e.at[2];
}

/* What coarse node (x, y) gathers from values by colour around its thread; combine(dx, dy, value).
 */
template <typename Combine>
__device__ void gather_tile(const double *plane, int at, Combine combine) {
#pragma unroll
  for (int dy = 0; dy < 3; ++dy) {
#pragma unroll
    for (int dx = 0; dx < 3; ++dx) combine(dx, dy, away(plane, at, 0, dx, dy));
  }
}

/* Interpolation weights at the nodes of a support. */
template <bool stored>
__device__ void tile_weights(const quad_place &t, const cvtm_grid_level *c,
                             double (&weight)[3][3]) {
  const bool wall = c->neumann;
  const double across[3] = {wall && t.x == 0 ? 1.0 : 0.5, 1,
                            wall && t.x + 1 == c->width ? 1.0 : 0.5};
  const double down[3] = {wall && t.y == 0 ? 1.0 : 0.5, 1,
                          wall && t.y + 1 == c->height ? 1.0 : 0.5};
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

/* From e = 0: smoothing, and what the next level gets. The smoothed e goes to `half`. With a flag
 * `changed`, the operator is looked at beforehand, and again where it may have changed. */
template <bool bounded, bool stored>
__global__ void __launch_bounds__(tile_threads, 2)
    down_tile(cvtm_grid_level level, cvtm_grid_level coarse, cvtm_grid_constant_stencil plain,
              const uint8_t *changed) {
  extern __shared__ double tile_memory[];
  double *memory = tile_memory;
  pdl_trigger();
  const quad_place t = tile_place(&level, down_x, down_y);
  quad_operator a(memory);
  if (changed) tile_operator(t, &level, plain, &a);
  pdl_wait();
  quad_data<bounded> d;
  d.load(t, &level);
  if (!changed || __ldcg(changed)) {
    __syncthreads();
    tile_operator(t, &level, plain, &a);
  }
  quad e, left;
  left.at[3] = relax_quads<true>(a, d, t.at, &e);
  t.store(level.scratch, e);
  quad_residuals(a, d, t.at, e, &left);
  __syncthreads();
  double *lower = memory + 4 * quad_plane, *upper = lower + 4 * quad_plane;
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    bool off = !t.has[c];
    if (bounded && level.active) {
      if (t.owner && !off) cvtm_grid_truncate(&level, t.node(c), e.at[c]);
      off = off || e.at[c] <= d.lower.at[c] || e.at[c] >= d.upper.at[c];
    }
    const int at = c * quad_plane + t.at;
    memory[at] = off ? 0.0 : left.at[c];
    if (!bounded) continue;
    const double none = static_cast<double>(INFINITY);
    lower[at] = off ? -none : d.lower.at[c] - e.at[c];
    upper[at] = off ? none : d.upper.at[c] - e.at[c];
  }
  __syncthreads();
  if (!t.owner || t.x >= coarse.width || t.y >= coarse.height) return;
  double weight[3][3], sum = 0;
  tile_weights<stored>(t, &coarse, weight);
  gather_tile(memory, t.at, [&](int dx, int dy, double value) { sum += weight[dy][dx] * value; });
  const int64_t k = t.y * coarse.width + t.x;
  coarse.r[k] = sum;
  if (!bounded) return;
  double low = -static_cast<double>(INFINITY), high = static_cast<double>(INFINITY);
  gather_tile(lower, t.at, [&](int dx, int dy, double value) {
    if (weight[dy][dx] > 0 && value > low) low = value;
  });
  gather_tile(upper, t.at, [&](int dx, int dy, double value) {
    if (weight[dy][dx] > 0 && value < high) high = value;
  });
  coarse.lower[k] = low;
  coarse.upper[k] = high;
}

/* The next level's e around a thread's nodes; beyond a Neumann boundary it goes on as it is. */
__device__ double coarse_value(const cvtm_grid_level *c, int x, int y) {
  const int width = static_cast<int>(c->width), height = static_cast<int>(c->height);
  const int i = x < 0 ? 0 : x < width ? x : width - 1, j = y < 0 ? 0 : y < height ? y : height - 1;
  return c->neumann || (i == x && j == y) ? c->e[j * c->width + i] : 0.0;
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
  q.at[0] = 0.25 * ((north_west + north) + (west + here));
  q.at[1] = 0.5 * (north + here);
  q.at[2] = 0.5 * (west + here);
  q.at[3] = here;
  return q;
}

/* The next level's correction, smoothing: half -> e. What the way down has left is there from the
 * start: the tail between has waited for it before it lets any way up begin. */
template <bool bounded, bool stored>
__global__ void __launch_bounds__(tile_threads, 2)
    up_tile(cvtm_grid_level level, cvtm_grid_level coarse, cvtm_grid_constant_stencil plain) {
  extern __shared__ double tile_memory[];
  double *memory = tile_memory;
  pdl_trigger();
  const quad_place t = tile_place(&level, up_x, up_y);
  quad_data<bounded> d;
  d.load(t, &level);
  quad e = t.load(level.scratch);
  int cut[4] = {0, 0, 0, 0};
  if (level.active) t.load_bytes(level.active, 0, cut);
  quad_operator a(memory);
  tile_operator(t, &level, plain, &a);
  pdl_wait();
  const quad change = prolong_tile<stored>(t, &coarse);
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    if (t.has[c] && !cut[c]) e.at[c] += change.at[c];
    memory[c * quad_plane + t.at] = e.at[c];
  }
  __syncthreads();
  (void)relax_quads<false>(a, d, t.at, &e);
  t.store(level.e, e);
}

} /* namespace */

#endif

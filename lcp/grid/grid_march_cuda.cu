/* The phases of the V-cycle on a five-point problem with constant links, as marches. A warp marches
 * down a strip of the grid with a few lines of the strip in registers, so a phase reads and writes
 * global memory once, while the plain kernels read it once for each colour. A lane has columns 2 I
 * and 2 I + 1, hence one node of each colour on a line, and coarse column I. Lanes get the values
 * of neighbours by shuffles. Lanes at the rim of a strip compute nodes that the next strip owns, so
 * that no warp waits for another.
 *
 * With the plain kernels a cycle takes 1.3 to 2.1 times as long at 1024 x 1024, 2.8 to 4.2 times at
 * 4096 x 4096, and equally long at 255 x 255 (H200). Marches that also loaded links took 1.2 to 1.3
 * times as long as the plain kernels. */
#include "lcp/grid/grid_cuda.h"
#include "lcp/grid/grid_march_strip.h"

#include <algorithm>

namespace {

/* ------ strips: a red-black sweep down, active nodes and restriction; interpolation, the step
 * along the correction, norms; the line search along the interpolated correction ------ */

/* --- restriction --- */

/* Residuals on a fine line, 0 where active: at the lane's two nodes and at the next node to the
 * east. */
struct fine_line {
  double residual[3];
};

/* Adds the restriction of fine line j to the sum for the lane's node of coarse line y. */
template <bool odd, bool interior>
__device__ void gather(const strip<interior> &s, const cvtm_grid_level *c, int y, int j,
                       const fine_line &fine, double *sum) {
  double across[3] = {0.5, 1, 0.5}, down[3] = {0.5, 1, 0.5};
  if (!interior) {
    cvtm_grid_closed_form_weights(c->neumann, s.pair, c->width, across);
    cvtm_grid_closed_form_weights(c->neumann, y, c->height, down);
  }
  const double line = cvtm_grid_three_points(across[0], across[1], across[2], fine.residual + 1, 0);
  *sum += (odd ? down[1] : j == 2 * y ? down[0] : down[2]) * line;
}

template <bool interior>
__device__ void gather_store(const strip<interior> &s, const cvtm_grid_level *c, int y,
                             double sum) {
  if (!s.owner || !s.owns_line(2 * y)) return;
  if (!interior && (s.pair >= c->width || y >= c->height)) return;
  *lines_down(c->r + s.pair, y, static_cast<int>(c->width)) = sum;
}

/* A red-black sweep during the march, with x of lines j - 4 .. j. */
template <bool interior>
struct sweep_lines {
  node_pair x[5];
  double black_residual, next_black_residual; /* black residuals of lines j - 3 and j - 2 */

  __device__ sweep_lines() : black_residual(0), next_black_residual(0) {
    for (int k = 0; k < 5; ++k) x[k] = splat(0);
  }
  /* Appends line j; relaxes red nodes on line j - 1 and black nodes on line j - 2. */
  template <bool odd, typename Operator, typename Lines>
  __device__ void sweep(const Lines &lines, const Operator &op, int j, node_pair line) {
#pragma unroll
    for (int k = 4; k > 0; --k) x[k] = x[k - 1];
    x[0] = line;
    black_residual = next_black_residual;
    (void)relax<!odd, interior>(lines, op, j - 1, x[2], x[1], x[0]);
    next_black_residual = relax<!odd, interior>(lines, op, j - 2, x[3], x[2], x[1]);
  }
  /* The residuals of line j - 3. */
  template <bool odd, typename Operator, typename Lines>
  __device__ node_pair residuals(const Lines &lines, const Operator &op, int j) const {
    const double red = residual_of<!odd, interior>(lines, op, j - 3, x[4], x[3], x[2]);
    return odd ? node_pair{red, black_residual} : node_pair{black_residual, red};
  }
};

/* Calls advance(parity, j) for lines j = from .. to; `from` is odd. */
template <typename Advance>
__device__ void march(int from, int to, Advance advance) {
  for (int j = from;; j += 2) {
    advance(odd_line(), j);
    if (j == to) return;
    advance(even_line(), j + 1);
    if (j + 1 == to) return;
  }
}

/* Stores the flags of a lane's nodes of line j that have changed, and marks the coarse nodes whose
 * supports contain these nodes (all warps write the value 1). Few lanes call this function; it is
 * not inlined, so that the marches need fewer registers. */
__device__ __noinline__ void store_changed_flags(uint8_t *active, uint8_t *marked,
                                                 int64_t coarse_width, int64_t coarse_height,
                                                 int pair, int j, unsigned before, unsigned now) {
  const bool x_changed = (before & 0xff) != (now & 0xff);
  if (x_changed) active[0] = static_cast<uint8_t>(now);
  if (before >> 8 != now >> 8) active[1] = static_cast<uint8_t>(now >> 8);
  marked[coarse_width * coarse_height] = 1; /* the flag top->changed */
  for (int y = j / 2 - !(j & 1); y <= j / 2; ++y) {
    if (y < 0 || y >= coarse_height) continue;
    uint8_t *line = marked + y * coarse_width;
    if (pair < coarse_width) line[pair] = 1;
    if (x_changed && pair > 0) line[pair - 1] = 1;
  }
}

/* The high word of a nonnegative number; these words have the order of the numbers. */
__device__ unsigned high_word(double value) { return static_cast<unsigned>(__double2hiint(value)); }

/* A slack is the smallest distance to a bound over the inactive nodes of slack_lines lines of a
 * strip, rounded down to its high word. If the correction is smaller than the slack, no node of
 * these lines leaves its bounds, and the line search need not read x and the bounds. Without slacks
 * a cycle takes 1.11 times as long at 4096^2, and 1.21 times for torsion at 16384^2 (H200). */
constexpr int slack_lines = 4;
constexpr unsigned slack_most = 0x7ff00000U; /* the high word of infinity */

/* The slack of a node. */
template <bool second, typename Lines>
__device__ unsigned slack_of(const Lines &lines, int j, double x, bool off) {
  if (off) return slack_most;
  unsigned slack = high_word(x - lines.template lower<second>(j));
  if (lines.p->upper) slack = min(slack, high_word(lines.template upper<second>(j) - x));
  return slack;
}

/* Returns the residuals of line j for the restriction, 0 at active nodes. Stores the flags of
 * active nodes that have changed, and lowers *slack to the least slack of the line. */
template <typename Lines>
__device__ fine_line gather_line(const Lines &lines, const cvtm_grid_level *coarse, int j,
                                 node_pair x, node_pair residual, unsigned *slack) {
  const auto &s = lines.s;
  const bool has_x = s.has_x() && s.has_line(j), has_y = s.has_y() && s.has_line(j);
  bool off_x = has_x && is_at_bound<false>(lines, j, x.x);
  bool off_y = has_y && is_at_bound<true>(lines, j, x.y);
  const unsigned now = (off_x ? 1U : 0U) | (off_y ? 256U : 0U);
  const unsigned before = lines.flags(j) & ((s.has_x() ? 0xffU : 0U) | (s.has_y() ? 0xff00U : 0U));
  if (s.owner && s.owns_line(j) && before != now)
    store_changed_flags(s.at(lines.p->active, j), coarse->support_changed, coarse->width,
                        coarse->height, s.pair, j, before, now);
  off_x = off_x || !has_x;
  off_y = off_y || !has_y;
  if (s.near_owned_x()) *slack = min(*slack, slack_of<false>(lines, j, x.x, off_x));
  if (s.near_owned_y()) *slack = min(*slack, slack_of<true>(lines, j, x.y, off_y));
  fine_line out;
  out.residual[0] = off_x ? 0.0 : residual.x;
  out.residual[1] = off_y ? 0.0 : residual.y;
  out.residual[2] = from_east(out.residual[0]);
  return out;
}

/* The index of the slack of line j of a strip. */
template <bool interior>
__device__ int64_t slack_place(const strip<interior> &s, int j) {
  return static_cast<unsigned>(j) / slack_lines * strips_of(s.width) + s.across;
}

/* Restriction to the next coarser level, line by line. */
template <typename Lines>
struct restriction {
  const Lines &lines;
  const cvtm_grid_level *coarse;
  unsigned *slacks;
  double sum;
  unsigned slack;

  __device__ restriction(const Lines &march_lines, const cvtm_grid_level *level,
                         unsigned *to_slacks)
      : lines(march_lines), coarse(level), slacks(to_slacks), sum(0), slack(slack_most) {}
  /* Restricts line j from its residuals; called for all lines from the first owned one. */
  template <bool odd>
  __device__ void take(int j, node_pair x, node_pair residual) {
    const auto &s = lines.s;
    const fine_line fine = gather_line(lines, coarse, j, x, residual, &slack);
    if ((j & (slack_lines - 1)) == slack_lines - 1 || j == s.end - 1) {
      slack = __reduce_min_sync(0xffffffffU, slack);
      if ((threadIdx.x & 31) == 0 && j < s.end) slacks[slack_place(s, j)] = slack;
      slack = slack_most;
    }
    const int y = j >> 1;
    if (!odd) { /* the last line of one support is the first of the next support */
      gather<odd>(s, coarse, y - 1, j, fine, &sum);
      gather_store(s, coarse, y - 1, sum);
      sum = 0;
    }
    gather<odd>(s, coarse, y, j, fine, &sum);
  }
};

/* --- interpolation --- */

/* The coarse level's correction e, in the lane's coarse column, on two coarse lines. */
struct coarse_lines {
  double north, here;
};

/* Loads e on coarse line y; beyond the grid, the last value (Neumann) or 0. */
template <bool interior>
__device__ double load_coarse(const strip<interior> &s, const cvtm_grid_level *c, int y) {
  const int height = static_cast<int>(c->height);
  if (interior) return c->e[(y < height ? y : height - 1) * c->width + s.pair];
  return coarse_value(c, s.pair, y);
}

/* Interpolates the correction of line j. */
template <bool odd>
__device__ node_pair interpolate_line(const coarse_lines &e) {
  const double west = from_west(e.here), north_west = odd ? 0.0 : from_west(e.north);
  return node_pair{cvtm_grid_bilinear(0, odd, north_west, e.north, west, e.here),
                   cvtm_grid_bilinear(1, odd, 0, e.north, 0, e.here)};
}

/* e in the lane's column on coarse lines y, y + 1, ..., loaded one line ahead. */
template <typename Strip>
struct loaded_coarse {
  const Strip &s;
  const cvtm_grid_level *c;
  double ahead;

  __device__ loaded_coarse(const Strip &strip, const cvtm_grid_level *level, int y)
      : s(strip), c(level), ahead(load_coarse(s, c, y)) {}
  __device__ double take(int y) {
    const double value = ahead;
    ahead = load_coarse(s, c, y + 1);
    return value;
  }
};

/* loaded_coarse through shared memory. It is constructed before cached_lines, with which it shares
 * groups of copies. If a register held the next line, it would be copied at the end of each round
 * of a march, and this copy would wait for the load. That took a quarter of the time of a march
 * with two sweeps at 4096 x 4096. */
template <typename Strip>
struct cached_coarse {
  const Strip &s;
  const cvtm_grid_level *c;
  int column; /* the lane's column, or the nearest column of the grid */

  __device__ cached_coarse(const Strip &strip, const cvtm_grid_level *level, int y)
      : s(strip), c(level) {
    const int width = static_cast<int>(c->width);
    column = Strip::is_inside || s.pair < width ? s.pair : width - 1;
    if (!Strip::is_inside && column < 0) column = 0;
    request(y);
  }
  __device__ int line(int y) const {
    const int height = static_cast<int>(c->height);
    return y < 0 ? 0 : y < height ? y : height - 1;
  }
  __device__ double *slot(int y) const {
    extern __shared__ double2 march_memory[];
    return reinterpret_cast<double *>(march_memory + lines_bytes / sizeof(double2)) +
           (y & (cached_e - 1)) * march_threads + threadIdx.x;
  }
  /* Adds a copy to the group of copies that is completed next. */
  __device__ void request(int y) const {
    cvtm_copy_start(slot(y), lines_down(c->e + column, line(y), static_cast<int>(c->width)), 8);
  }
  /* Requests the coarse line that line j + lines_ahead needs. Each coarse line is needed by an even
   * line first. */
  template <bool odd>
  __device__ void request_ahead(int j) const {
    if (odd == (lines_ahead & 1)) request((j + lines_ahead) >> 1);
  }
  __device__ double take(int y) const {
    const double value = *slot(y);
    if (Strip::is_inside) return value;
    return c->neumann || (column == s.pair && line(y) == y) ? value : 0.0;
  }
};

/* The corrections of line j and later lines. j is odd and may be negative. */
template <typename Coarse>
struct correction {
  coarse_lines e;
  Coarse coarse;

  template <typename Strip>
  __device__ correction(const Strip &s, const cvtm_grid_level *c, int j)
      : e{0, load_coarse(s, c, (j - 1) >> 1)}, coarse(s, c, (j + 1) >> 1) {}
  /* Returns x of line j after the correction, within its bounds. *unbounded: the correction itself,
   * without bounds. */
  template <bool odd, typename Lines>
  __device__ node_pair next(const Lines &lines, int j, node_pair x, node_pair *unbounded) {
    const auto &s = lines.s;
    if (!odd) {
      e.north = e.here;
      e.here = coarse.take(j >> 1);
    }
    const unsigned active = lines.flags(j);
    const node_pair change = interpolate_line<odd>(e);
    *unbounded =
        s.inside(j, node_pair{active & 0xff ? 0.0 : change.x, active >> 8 ? 0.0 : change.y});
    return s.inside(j, node_pair{active & 0xff ? x.x : clip<false>(lines, j, x.x + change.x),
                                 active >> 8 ? x.y : clip<true>(lines, j, x.y + change.y)});
  }
};

/* Adds the natural residual of a node. residual: b - A x. */
template <bool second, bool interior, typename Operator, typename Lines>
__device__ void add_natural(const Lines &lines, const Operator &op, int j, double x,
                            double residual, cvtm_grid_norms *sum) {
  const auto &s = lines.s;
  if (!(second ? s.has_y() : s.has_x())) return;
  const auto a = op.template at<interior>(lines.p, 2 * s.pair + second, j);
  const double r = cvtm_natural_residual(-residual, x, lines.template lower<second>(j),
                                         lines.template upper<second>(j));
  cvtm_grid_add_natural(sum, r, cvtm_natural_size(lines.template b<second>(j), a.diagonal * x));
}

/* Adds the natural residuals of the lane's nodes of line j. */
template <bool interior, typename Operator, typename Lines>
__device__ void add_natural_line(const Lines &lines, const Operator &op, int j, node_pair x,
                                 node_pair residual, cvtm_grid_norms *sum) {
  if (!lines.s.owner || !lines.s.owns_line(j)) return;
  add_natural<false, interior>(lines, op, j, x.x, residual.x, sum);
  add_natural<true, interior>(lines, op, j, x.y, residual.y, sum);
}

/* Line j after the step along the correction. */
template <bool odd, typename Lines, typename Coarse>
__device__ node_pair corrected(const Lines &lines, double step, int j, correction<Coarse> *from) {
  const auto &s = lines.s;
  const node_pair x = s.inside(j, lines.x(j));
  node_pair unbounded;
  node_pair moved = from->template next<odd>(lines, j, x, &unbounded);
  moved.x = clip<false>(lines, j, x.x + step * (moved.x - x.x));
  moved.y = clip<true>(lines, j, x.y + step * (moved.y - x.y));
  return s.inside(j, moved);
}

template <bool interior, typename Operator>
__device__ void post_smooth_strip(const strip<interior> &s, const cvtm_grid_problem *p,
                                  const Operator &op, const cvtm_grid_level *coarse, double step,
                                  cvtm_grid_norms *sum) {
  using Cached = cached_lines<true, strip<interior>>;
  correction<cached_coarse<strip<interior>>> from(s, coarse, s.first - 3);
  const Cached lines(s, p, p->d, s.first - 3, s.end + 2);
  sweep_lines<interior> m;
  march(s.first - 3, s.end + 2, [&](auto parity, int j) {
    constexpr bool odd = decltype(parity)::value;
    from.coarse.template request_ahead<odd>(j);
    lines.wait_for(j);
    m.template sweep<odd>(lines, op, j, corrected<odd>(lines, step, j, &from));
    lines.store(p->x, j - 2, m.x[2]);
    const node_pair residual = m.template residuals<odd>(lines, op, j);
    add_natural_line<interior>(lines, op, j - 3, m.x[3], residual, sum);
  });
}

template <bool interior, typename Operator>
__device__ void measure_strip(const strip<interior> &s, const cvtm_grid_problem *p,
                              const Operator &op, const double *x, cvtm_grid_norms *sum) {
  const cached_lines<false, strip<interior>> lines(s, p, x, s.first - 1, s.end);
  node_pair line[3] = {splat(0), splat(0), splat(0)};
  march(s.first - 1, s.end, [&](auto, int j) {
    line[2] = line[1];
    line[1] = line[0];
    lines.wait_for(j);
    line[0] = s.inside(j, lines.x(j));
    const node_pair residual = {
        residual_of<false, interior>(lines, op, j - 1, line[2], line[1], line[0]),
        residual_of<true, interior>(lines, op, j - 1, line[2], line[1], line[0])};
    add_natural_line<interior>(lines, op, j - 1, line[1], residual, sum);
  });
}

constexpr int search_lines = 8; /* number of lines of a tile */

/* x and the lower bounds on the lines of a tile and on one more line on each side. Every lane
 * copies its own nodes to shared memory, all lines at once, and reads them from there. With loads
 * line by line the kernel takes 1.3 times as long at 16384 x 16384 (H200). */
constexpr int tile_lines = search_lines + 2;
constexpr size_t tile_cache_bytes = march_threads * 2 * tile_lines * 2 * sizeof(double);

template <typename Strip>
struct cached_tile {
  const Strip &s;
  const cvtm_grid_problem *p;

  __device__ double2 *slot_x(int j) const {
    extern __shared__ double2 march_memory[];
    return march_memory + (j - s.first + 1) * march_threads + threadIdx.x;
  }
  __device__ double2 *slot_lower(int j) const { return slot_x(j) + tile_lines * march_threads; }
  __device__ void copy(double2 *to, const double *array, int j) const {
    const double *from = s.at(array, j);
    if (is_aligned(p->width, array)) {
      cvtm_copy_start(to, from, 16);
    } else {
      cvtm_copy_start(&to->x, from, 8);
      cvtm_copy_start(&to->y, from + s.beside(), 8);
    }
  }
  __device__ void load() const {
#pragma unroll
    for (int k = 0; k < tile_lines; ++k) {
      copy(slot_x(s.first - 1 + k), p->d, s.first - 1 + k);
      if (p->lower) copy(slot_lower(s.first - 1 + k), p->lower, s.first - 1 + k);
    }
    cvtm_copy_group();
    cvtm_copy_wait<0>();
  }
  __device__ node_pair x(int j) const { return s.inside(j, node_pair{slot_x(j)->x, slot_x(j)->y}); }
  template <bool second>
  __device__ double lower(int j) const {
    if (!p->lower) return -static_cast<double>(INFINITY);
    return second ? slot_lower(j)->y : slot_lower(j)->x;
  }
  template <bool second>
  __device__ double upper(int j) const {
    if (!p->upper) return static_cast<double>(INFINITY);
    return s.at(p->upper, j)[second ? s.beside() : 0];
  }
  template <bool second>
  __device__ double b(int j) const {
    return s.at(p->b, j)[second ? s.beside() : 0];
  }
  __device__ unsigned flags(int j) const { return s.load_flags(p->active, j); }
};

/* Adds r'd and d'Ad over a tile where the correction may leave the bounds. The slope is added only
 * at nodes where the bounds change it; only there b is read. */
template <bool interior, typename Operator>
__device__ void line_search_bounded(const strip<interior> &s, const cvtm_grid_problem *p,
                                    const Operator &op, const cvtm_grid_level *coarse,
                                    double (&sum)[2]) {
  const cached_tile<strip<interior>> lines = {s, p};
  lines.load();
  correction<loaded_coarse<strip<interior>>> from(s, coarse, s.first - 1);
  node_pair step[3] = {splat(0), splat(0), splat(0)}, over[2] = {splat(0), splat(0)};
  march(s.first - 1, s.end, [&](auto parity, int j) {
    step[2] = step[1];
    step[1] = step[0];
    over[1] = over[0];
    const node_pair x = lines.x(j);
    node_pair q;
    const node_pair moved = from.template next<decltype(parity)::value>(lines, j, x, &q);
    step[0] = node_pair{moved.x - x.x, moved.y - x.y};
    over[0] = node_pair{step[0].x - q.x, step[0].y - q.y};
    const neighbours cx = neighbours_of<false>(step[2], step[1], step[0]);
    const neighbours cy = neighbours_of<true>(step[2], step[1], step[0]);
    const bool owned = s.owner && s.owns_line(j - 1);
    if (__any_sync(0xffffffffU, owned && (over[1].x != 0 || over[1].y != 0))) {
      const node_pair north = lines.x(j - 2), line = lines.x(j - 1);
      const double rx = residual_of<false, interior>(lines, op, j - 1, north, line, x);
      const double ry = residual_of<true, interior>(lines, op, j - 1, north, line, x);
      if (owned) {
        sum[0] += over[1].x * rx;
        sum[0] += over[1].y * ry;
      }
    }
    if (!owned) return;
    /* outside the grid the step is 0 */
    const auto ax = op.template at<interior>(p, 2 * s.pair, j - 1);
    const auto ay = op.template at<interior>(p, 2 * s.pair + 1, j - 1);
    sum[1] += step[1].x * (ax.diagonal * step[1].x - ax.around(cx));
    sum[1] += step[1].y * (ay.diagonal * step[1].y - ay.around(cy));
  });
}

/* Adds r'd and d'Ad over a tile in which no node leaves its bounds. There d is the interpolated e,
 * and r'd is the coarse residual times e, so x and b are not read. Returns 0 if a node may leave
 * its bounds; then line_search_bounded must add the curvature, and to the slope the change due to
 * the bounds. */
template <bool interior, typename Operator>
__device__ int line_search_unbounded(const strip<interior> &s, const cvtm_grid_problem *p,
                                     const Operator &op, const cvtm_grid_level *c,
                                     const unsigned *slacks, double (&sum)[2]) {
  constexpr int lines = search_lines / 2;
  const int y = s.first >> 1;
  double e[lines + 2], r[lines];
  unsigned cut[search_lines + 2], slack = slack_most, reach = 0;
#pragma unroll
  for (int k = 0; k < lines + 2; ++k) e[k] = load_coarse(s, c, y - 1 + k);
#pragma unroll
  for (int k = 0; k < search_lines + 2; ++k) cut[k] = s.load_flags(p->active, s.first - 1 + k);
#pragma unroll
  for (int k = 0; k < lines; ++k) {
    const bool owned = s.owner && s.pair < c->width && y + k < c->height;
    r[k] = owned ? c->r[(y + k) * c->width + s.pair] : 0.0;
  }
#pragma unroll
  for (int k = -slack_lines; k < search_lines + slack_lines; k += slack_lines) {
    const int j = s.first + k;
    if (j >= 0 && j < s.height) slack = min(slack, slacks[slack_place(s, j)]);
  }
  node_pair step[search_lines + 2];
#pragma unroll
  for (int k = 0; k < search_lines + 2; ++k) {
    const int j = s.first - 1 + k;
    const coarse_lines at = {e[k > 0 ? (k - 1) / 2 : 0], e[(k + 1) / 2]};
    const node_pair q = k & 1 ? interpolate_line<false>(at) : interpolate_line<true>(at);
    step[k] = s.inside(j, node_pair{cut[k] & 0xff ? 0.0 : q.x, cut[k] >> 8 ? 0.0 : q.y});
    reach = max(reach, max(high_word(fabs(step[k].x)), high_word(fabs(step[k].y))));
  }
#pragma unroll
  for (int k = 0; k < lines; ++k) sum[0] += e[k + 1] * r[k];
  if (__any_sync(0xffffffffU, reach >= slack)) return 0;
#pragma unroll
  for (int k = 1; k <= search_lines; ++k) {
    const neighbours cx = neighbours_of<false>(step[k - 1], step[k], step[k + 1]);
    const neighbours cy = neighbours_of<true>(step[k - 1], step[k], step[k + 1]);
    if (!s.owner) continue;
    const auto ax = op.template at<interior>(p, 2 * s.pair, s.first - 1 + k);
    const auto ay = op.template at<interior>(p, 2 * s.pair + 1, s.first - 1 + k);
    sum[1] += step[k].x * (ax.diagonal * step[k].x - ax.around(cx));
    sum[1] += step[k].y * (ay.diagonal * step[k].y - ay.around(cy));
  }
  return 1;
}

/* ------ kernels and launches ------ */

/* --- launches --- */

constexpr int blocks_per_sm = 4; /* resident thread blocks; limits the registers of a thread */

constant_operator constant_operator_of(double link, double outer, double mass) {
  constant_operator op = {link, outer, mass, {0, 0, 0}, {0, 0, 0}};
  for (int k = 0; k < 3; ++k) {
    op.diagonal[k] = mass + ((link + (k > 0 ? outer : link)) + (link + (k > 1 ? outer : link)));
    op.inverse[k] = 1 / op.diagonal[k];
  }
  return op;
}

/* True if uniform_operator fits: constant links, no mass, and a Dirichlet boundary. */
bool is_uniform(const cvtm_grid_problem *shape) {
  return !shape->diagonal && !shape->neumann && !(shape->mass > 0);
}

uniform_operator uniform_operator_of(double link) {
  const double diagonal = (link + link) + (link + link);
  return uniform_operator{constant_stencil{link, diagonal, 1 / diagonal}};
}

/* Calls launch with the operator of a problem that satisfies cvtm_grid_can_march. */
template <typename Launch>
void with_operator(const cvtm_grid_problem *shape, Launch launch) {
  const double c = shape->constant;
  if (shape->diagonal) {
    launch(diagonal_operator{c, 0.0});
  } else if (is_uniform(shape)) {
    launch(uniform_operator_of(c));
  } else {
    launch(constant_operator_of(c, shape->neumann ? 0.0 : c, shape->mass));
  }
}

/* The number of lines that each warp owns, chosen such that the thread blocks run in as few rounds
 * as possible. A round has full_round blocks, that is, blocks_per_sm for each of the 132
 * multiprocessors of an H200. At most max_lines, since warps that are farther apart do not share
 * the cache. */
int lines_of(int64_t width, int64_t height) {
  const int64_t full_round = 528, max_lines = 64;
  const int64_t across = march_blocks(width, height, 1).across;
  const int64_t rounds = (height * across + max_lines * full_round - 1) / (max_lines * full_round);
  const int64_t down = rounds * full_round > across ? rounds * full_round / across : 1;
  const int64_t lines = (height + down - 1) / down;
  return static_cast<int>((lines + slack_lines - 1) / slack_lines * slack_lines);
}

int lines_of(const cvtm_grid_top *top) { return lines_of(top->shape->width, top->shape->height); }

/* Launches kernel(problem, op, arguments); each warp owns lines_of(...) lines. */
template <typename Operator, typename Kernel, typename... Arguments>
cvtm_status launch_march(const cvtm_grid_top *top, const char *name, Kernel kernel,
                         const Operator &op, Arguments... arguments) {
  const march_blocks grid(top->shape->width, top->shape->height, lines_of(top));
  return launch_phase(top, name, kernel, grid.count, march_threads, cache_bytes, top->problem, op,
                      arguments...);
}

/* Zeroes coarse.support_changed and the flag after it, top->changed. */
cvtm_status clear_changes(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  const size_t bytes = static_cast<size_t>(coarse->width * coarse->height) + 1;
  CVTM_CUDA_TRY(top->device, cudaMemsetAsync(coarse->support_changed, 0, bytes, stream_of(top)));
  return CVTM_OK;
}

/* --- kernels --- */

template <bool interior, typename Operator>
__device__ void pre_smooth_strip(const strip<interior> &s, const cvtm_grid_problem *p,
                                 const Operator &op, const cvtm_grid_level *coarse,
                                 unsigned *slacks) {
  using Cached = cached_lines<true, strip<interior>>;
  const Cached lines(s, p, p->x, s.first - 3, s.end + 3);
  sweep_lines<interior> m;
  restriction<Cached> below(lines, coarse, slacks);
  march(s.first - 3, s.end + 3, [&](auto parity, int j) {
    constexpr bool odd = decltype(parity)::value;
    lines.wait_for(j);
    m.template sweep<odd>(lines, op, j, s.inside(j, lines.x(j)));
    lines.store(p->d, j - 2, m.x[2]);
    if (j - 3 < s.first) return;
    below.template take<!odd>(j - 3, m.x[3], m.template residuals<odd>(lines, op, j));
  });
}

/* Pre-smooths x, and writes it to d; finds the active nodes; restricts the residual to the coarse
 * level. coarse.support_changed must be 0 before. */
template <typename Operator>
__global__ void __launch_bounds__(march_threads, blocks_per_sm)
    pre_smooth_and_restrict_march(const cvtm_grid_problem *problem, Operator op,
                                  cvtm_grid_level coarse, int lines_each, unsigned *slacks,
                                  launch_part part) {
  pdl_trigger_and_wait();
  const cvtm_grid_problem p = *problem;
  for_own_strip(p.width, p.height, lines_each, part.block(),
                [&](const auto &s) { pre_smooth_strip(s, &p, op, &coarse, slacks); });
}

/* Computes slope and curvature along the correction. Warps take tiles round-robin. */
template <typename Operator>
__global__ void __launch_bounds__(march_threads, blocks_per_sm)
    line_search_march(const cvtm_grid_problem *problem, Operator op, cvtm_grid_level coarse,
                      const unsigned *slacks, cvtm_grid_state *state, double *partial) {
  pdl_trigger_and_wait();
  if (!state->line_search_due) return;
  const cvtm_grid_problem p = *problem;
  const int strips = static_cast<int>(strips_of(p.width));
  const int64_t tiles = strips * ((p.height + search_lines - 1) / search_lines);
  double sum[2] = {0, 0};
  for (int64_t t = blockIdx.x * static_cast<int64_t>(march_warps) + (threadIdx.x >> 5); t < tiles;
       t += gridDim.x * march_warps) {
    const int across = static_cast<int>(t % strips);
    const strip<> tile(p.width, p.height, across, t / strips * search_lines, search_lines);
    for_strip(tile, [&](const auto &s) {
      if (line_search_unbounded(s, &p, op, &coarse, slacks, sum)) return;
      line_search_bounded(s, &p, op, &coarse, sum);
    });
  }
  if (!reduce_grid(sum, -1, partial, state) || threadIdx.x != 0) return;
  state->slope = sum[0];
  state->curvature = sum[1];
}

/* Moves x, which is in d, along the correction, post-smooths it to x, and computes norms. */
template <typename Operator>
__global__ void __launch_bounds__(march_threads, blocks_per_sm)
    post_smooth_and_measure_march(const cvtm_grid_problem *problem, Operator op,
                                  cvtm_grid_level coarse, int lines_each, cvtm_grid_state *state,
                                  double *partial, double *history, int claimed,
                                  cudaGraphConditionalHandle handle, launch_part part) {
  pdl_trigger_and_wait();
  const cvtm_grid_problem p = *problem;
  const double step = cvtm_grid_line_search_step(state);
  cvtm_grid_norms norms = {0, 0, 0};
  for_own_strip(p.width, p.height, lines_each, part.block(),
                [&](const auto &s) { post_smooth_strip(s, &p, op, &coarse, step, &norms); });
  if (!reduce_norms(&norms, partial, state, static_cast<unsigned>(part.block()),
                    static_cast<unsigned>(part.count)) ||
      threadIdx.x != 0) {
    return;
  }
  enter_norms(norms, MEASURE_ITERATION, state, history);
  if (claimed) cudaGraphSetConditional(handle, state->loop.go_on ? 1 : 0);
}

/* Measures norms at x, or at d for MEASURE_COLD_START, in the order of the march. */
template <typename Operator>
__global__ void __launch_bounds__(march_threads, blocks_per_sm)
    measure_march(const cvtm_grid_problem *problem, Operator op, int lines_each,
                  cvtm_grid_measured what, cvtm_grid_state *state, double *partial, double *history,
                  launch_part part) {
  pdl_trigger_and_wait();
  const cvtm_grid_problem p = *problem;
  const double *x = what == MEASURE_COLD_START ? p.d : p.x;
  cvtm_grid_norms norms = {0, 0, 0};
  for_own_strip(p.width, p.height, lines_each, part.block(),
                [&](const auto &s) { measure_strip(s, &p, op, x, &norms); });
  if (!reduce_norms(&norms, partial, state, static_cast<unsigned>(part.block()),
                    static_cast<unsigned>(part.count)) ||
      threadIdx.x != 0) {
    return;
  }
  enter_norms(norms, what, state, history);
}

/* --- launchers --- */

/* The number of thread blocks of the line search: blocks_per_sm for each of the 132 multiprocessors
 * of an H200, so that there all can run at the same time. Any number would do: warps take tiles
 * round-robin. */
constexpr int search_blocks = 528;

/* The slacks are at the start of top->partial; the partial sums follow. */
unsigned *slacks_of(const cvtm_grid_top *top) { return reinterpret_cast<unsigned *>(top->partial); }

/* The number of doubles that the slacks of a grid occupy. */
int64_t slack_doubles(int64_t width, int64_t height) {
  return (strips_of(width) * ((height + slack_lines - 1) / slack_lines) + 1) / 2;
}

} /* namespace */

bool cvtm_grid_can_march(const cvtm_grid_problem *shape) {
  return shape->constant > 0 && !shape->horizontal && !shape->mask &&
         (!shape->diagonal || shape->neumann) && shape->width < max_march_width;
}

double *cvtm_grid_sums_of(const cvtm_grid_top *top) {
  return top->partial + slack_doubles(top->shape->width, top->shape->height);
}

int64_t cvtm_grid_partial_doubles_cuda(int64_t width, int64_t height) {
  int64_t blocks = std::max(max_parts, static_cast<int64_t>(search_blocks));
  blocks = std::max<int64_t>(blocks, march_blocks(width, height, lines_of(width, height)).count);
  return slack_doubles(width, height) + CVTM_GRID_SUMS * blocks;
}

cvtm_status cvtm_grid_measure_march(const cvtm_grid_top *top, cvtm_grid_measured what) {
  cvtm_status status = CVTM_OK;
  with_operator(top->shape, [&](auto op) {
    using Operator = decltype(op);
    status = launch_march(top, "measure_march", measure_march<Operator>, op, lines_of(top), what,
                          top->state, cvtm_grid_sums_of(top), top->history);
  });
  return status;
}

cvtm_status cvtm_grid_pre_smooth_and_restrict_march(const cvtm_grid_top *top,
                                                    const cvtm_grid_level *coarse) {
  cvtm_status status = clear_changes(top, coarse);
  if (status != CVTM_OK) return status;
  with_operator(top->shape, [&](auto op) {
    using Operator = decltype(op);
    status =
        launch_march(top, "pre_smooth_and_restrict_march", pre_smooth_and_restrict_march<Operator>,
                     op, *coarse, lines_of(top), slacks_of(top));
  });
  return status;
}

cvtm_status cvtm_grid_line_search_march(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  cvtm_status status = CVTM_OK;
  with_operator(top->shape, [&](auto op) {
    status =
        launch_pdl(top->device, "line_search_march", line_search_march<decltype(op)>,
                   dim3(cvtm_cuda_cap(search_blocks)), march_threads, tile_cache_bytes,
                   top->problem, op, *coarse, slacks_of(top), top->state, cvtm_grid_sums_of(top));
  });
  return status;
}

cvtm_status cvtm_grid_post_smooth_and_measure_march(const cvtm_grid_top *top,
                                                    const cvtm_grid_level *coarse) {
  cvtm_status status = CVTM_OK;
  uint64_t handle = 0;
  const int claimed = cvtm_loop_claim(top->device, &handle);
  with_operator(top->shape, [&](auto op) {
    using Operator = decltype(op);
    status =
        launch_march(top, "post_smooth_and_measure_march", post_smooth_and_measure_march<Operator>,
                     op, *coarse, lines_of(top), top->state, cvtm_grid_sums_of(top), top->history,
                     claimed, static_cast<cudaGraphConditionalHandle>(handle));
  });
  return status;
}

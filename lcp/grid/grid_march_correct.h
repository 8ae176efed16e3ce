/* For marches only: interpolation, the step along the correction, and norms. */
#ifndef CVTMESH_LCP_GRID_GRID_MARCH_CORRECT_H
#define CVTMESH_LCP_GRID_GRID_MARCH_CORRECT_H

#include "lcp/grid/grid_march_restrict.h"

namespace {

/* --- interpolation --- */

/* e at column I of two coarse lines. */
struct coarse_lines {
  double north, here;
};

/* e of coarse line y; beyond the boundary constant if that is a Neumann one, else 0. */
template <bool interior>
__device__ double load_coarse(const strip<interior> &s, const cvtm_grid_level *c, int y) {
  const int width = static_cast<int>(c->width), height = static_cast<int>(c->height);
  if (interior) return c->e[(y < height ? y : height - 1) * c->width + s.pair];
  const int x = s.pair < 0 ? 0 : s.pair < width ? s.pair : width - 1;
  const int line = y < 0 ? 0 : y < height ? y : height - 1;
  const double value = c->e[line * c->width + x];
  return c->neumann || (x == s.pair && line == y) ? value : 0.0;
}

/* The interpolated correction of line j. */
template <bool odd>
__device__ node_pair interpolate_line(const coarse_lines &e) {
  const double below = from_west(e.here) + e.here;
  if (odd) return node_pair{0.5 * below, e.here};
  return node_pair{0.25 * ((from_west(e.north) + e.north) + below), 0.5 * (e.north + e.here)};
}

/* e at the lane's column of coarse line y, y + 1, ..., each loaded into a register a line ahead. */
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

/* The same through shared memory, together with the lines of cached_lines, before which it must be
 * constructed. A register would be copied to another one at the end of each round of a march, which
 * waits for the load: a quarter of the time of a march with two sweeps at 4096 x 4096. */
template <typename Strip>
struct cached_coarse {
  const Strip &s;
  const cvtm_grid_level *c;
  int column; /* the lane's column, or the nearest one in the grid */

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
  /* Adds a copy to the group of copies that ends next. */
  __device__ void request(int y) const {
    cvtm_copy_start(slot(y), lines_down(c->e + column, line(y), static_cast<int>(c->width)), 8);
  }
  /* Requests what line j + lines_ahead needs: even lines are the first that need their coarse
   * line. */
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

/* The corrections of the lines from j on, which is odd, perhaps below 0. */
template <typename Coarse>
struct correction {
  coarse_lines e;
  Coarse coarse;

  template <typename Strip>
  __device__ correction(const Strip &s, const cvtm_grid_level *c, int j)
      : e{0, load_coarse(s, c, (j - 1) >> 1)}, coarse(s, c, (j + 1) >> 1) {}
  /* x of line j after the correction, in its bounds; *unbounded: the correction itself. */
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

/* Adds the natural residual of one node. */
template <bool second, bool interior, typename Operator, typename Lines>
__device__ void add_natural(const Lines &lines, const Operator &op, int j, double x,
                            double residual, double (&sum)[3]) {
  const auto &s = lines.s;
  if (!(second ? s.has_y() : s.has_x())) return;
  const auto a = op.template at<interior>(lines.p, 2 * s.pair + second, j);
  const double r = x - clip<second>(lines, j, x + residual);
  const double size = fabs(lines.template b<second>(j)) + 2 * fabs(a.diagonal * x);
  sum[0] += r * r;
  sum[1] += size * size;
  if (!(fabs(r) <= sum[2])) sum[2] = fabs(r);
}

/* Adds those of the lane's nodes of line j. */
template <bool interior, typename Operator, typename Lines>
__device__ void add_natural_line(const Lines &lines, const Operator &op, int j, node_pair x,
                                 node_pair residual, double (&sum)[3]) {
  if (!lines.s.owner || !lines.s.owns_line(j)) return;
  add_natural<false, interior>(lines, op, j, x.x, residual.x, sum);
  add_natural<true, interior>(lines, op, j, x.y, residual.y, sum);
}

/* Line j after the step along its correction. */
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
                                  double (&sum)[3]) {
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
                              const Operator &op, const double *x, double (&sum)[3]) {
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

} /* namespace */

#endif

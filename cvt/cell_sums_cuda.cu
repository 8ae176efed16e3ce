/* Sums over the cells of a Voronoi diagram, a few neighbouring ones by the lanes of a warp
 * together. All sums have a fixed order. */
#include "base/cuda_check.h"
#include "cvt/cell_path.h"
#include "cvt/cell_sums.h"
#include "jfa/cell_hull.h"

namespace {

enum {
  WARP = 32,
  BLOCKS = 24, /* of a warp each, on a multiprocessor: what registers allow */
};

__device__ void add_sums(cvtm_cell_sums *to, const cvtm_cell_sums &from) {
  to->mass += from.mass;
  to->x += from.x;
  to->y += from.y;
  to->second += from.second;
}

/* The sums of the lane `offset` further on. */
__device__ cvtm_cell_sums shift_sums(const cvtm_cell_sums &sums, int offset) {
  const unsigned all = 0xFFFFFFFFu;
  const cvtm_cell_sums other = {
      __shfl_down_sync(all, sums.mass, offset), __shfl_down_sync(all, sums.x, offset),
      __shfl_down_sync(all, sums.y, offset), __shfl_down_sync(all, sums.second, offset)};
  return other;
}

/* What the lanes of a cell read, all of it before any is waited for. */
struct read_cell {
  int32_t count, index;
  double sx, sy, nearest2;
};

/* Cell k, at `place`, if it is before `last`; corner s at x[s * CELLS], y[s * CELLS]. Counts as
 * empty if there is nothing in it. */
template <int CELLS>
__device__ read_cell read(const cvtm_site_tree_view &tree, const cvtm_cut_cells &cells, int64_t k,
                          int64_t place, int64_t last, int own, double *x, double *y) {
  constexpr int lanes = WARP / CELLS, rounds = (CVTM_HULL_SIDES + lanes - 1) / lanes;
  read_cell cell = {CVTM_CELL_LEFT, 0, 0, 0, 0};
  if (place >= last) return cell;
  cell.count = cells.count[k];
  cell.index = tree.index[place];
  cell.sx = tree.position[2 * place];
  cell.sy = tree.position[2 * place + 1];
  cell.nearest2 = cells.nearest2[k];
  double corner_x[rounds], corner_y[rounds];
#pragma unroll
  for (int r = 0; r < rounds; ++r) {
    const int64_t s = min(own + r * lanes, CVTM_HULL_SIDES - 1);
    corner_x[r] = cells.x[s * cells.chunk + k];
    corner_y[r] = cells.y[s * cells.chunk + k];
  }
#pragma unroll
  for (int r = 0; r < rounds; ++r) {
    const int s = own + r * lanes;
    if (s >= cell.count) break;
    x[s * CELLS] = corner_x[r];
    y[s * CELLS] = corner_y[r];
  }
  return cell;
}

/* Adds up the parts of a cell's lanes. */
template <int CELLS>
__device__ void write(const read_cell &cell, int own, cvtm_cell_sums part, cvtm_cell_sums *sums) {
  for (int offset = WARP / 2; offset >= CELLS; offset /= 2)
    add_sums(&part, shift_sums(part, offset));
  if (own == 0 && cell.count != CVTM_CELL_LEFT) sums[cell.index] = part;
}

/* Cells whose rows and sides the lanes of a warp share. */
template <int CELLS>
struct warp_paths {
  static constexpr int rows = 256 / CELLS; /* at a time */
  cvtm_path_edge edge[CVTM_HULL_SIDES * CELLS];
  union {
    struct { /* first these */
      double x[CVTM_HULL_SIDES * CELLS], y[CVTM_HULL_SIDES * CELLS];
      cvtm_path_pixel pixel[CVTM_HULL_SIDES * CELLS];
    };
    int32_t entry[2][rows * CELLS];
  };
  int32_t base[(CVTM_HULL_SIDES + 1) * CELLS];
};

template <int CELLS>
__global__ void __launch_bounds__(WARP, BLOCKS)
    integral_kernel(cvtm_site_tree_view tree, cvtm_domain domain, cvtm_density_view density,
                    cvtm_cut_cells cells, int64_t first, int64_t last, cvtm_cell_sums *sums) {
  __shared__ __align__(16) warp_paths<CELLS> memory;
  constexpr int lanes = WARP / CELLS, window = warp_paths<CELLS>::rows;
  const unsigned all = 0xFFFFFFFFu;
  const int lane = static_cast<int>(threadIdx.x), c = lane % CELLS, own = lane / CELLS;
  const int64_t k = static_cast<int64_t>(blockIdx.x) * CELLS + c;
  const read_cell cell =
      read<CELLS>(tree, cells, k, first + k, last, own, memory.x + c, memory.y + c);
  cvtm_path path;
  path.count = cell.count >= 3 ? cell.count : 0;
  path.stride = CELLS;
  path.x = memory.x + c;
  path.y = memory.y + c;
  path.pixel = memory.pixel + c;
  path.edge = memory.edge + c;
  path.base = memory.base + c;
  path.sx = cell.sx;
  path.sy = cell.sy;
  for (int s = own; s < path.count; s += lanes) cvtm_path_set_pixel(domain, &path, s);
  __syncwarp();
  int32_t segments = 0, column = 0;
  path.first = 0;
  path.last = -1;
  path.wide = 0;
  if (path.count > 0) {
    cvtm_path_measure(&path);
    if (own < 2) segments = cvtm_path_chain(&path, own);
    column = path.pixel[path.top * CELLS].column;
  }
  __syncwarp();
  const int32_t left = __shfl_sync(all, segments, c);
  segments = left + __shfl_sync(all, segments, CELLS + c);
  for (int s = own; s < path.count; s += lanes) cvtm_path_set_edge(&path, s, left);
  if (own == 0) path.base[path.count * CELLS] = segments;
  if (own < 2) memory.entry[own][c] = column;
  __syncwarp();
  cvtm_path_sums part = {0, 0, 0, 0};
  for (int32_t from = path.first; __any_sync(all, from <= path.last); from += window) {
    const int32_t end = from + window;
    int e = -1;
    int32_t base = 0, next = 0;
    for (int32_t t = own; from <= path.last && t < segments; t += lanes) {
      while (t >= next) {
        ++e;
        base = next;
        next = path.base[(e + 1) * CELLS];
      }
      cvtm_path_add_segment(&density, &path, path.edge + e * CELLS, t - base, next - 1 - t, from,
                            end, memory.entry[e >= path.left] + c, &part);
    }
    __syncwarp();
    const int32_t stop = path.wide != 0 ? min(end, path.last + 1) : from;
    for (int32_t j = from + own; j < stop; j += lanes) {
      const int32_t at = (j - from) * CELLS + c;
      cvtm_path_add_run(&density, &path, j, memory.entry[0][at], memory.entry[1][at], &part);
    }
    __syncwarp();
  }
  write<CELLS>(cell, own, cvtm_path_sums_of(&part), sums);
}

/* Of cells whose pixel centres the lanes of a warp add up: the first row whose centre is below each
 * corner; of edges as in a path, where they begin, and the first row whose centre is beyond. */
template <int CELLS>
struct warp_centres {
  double x[CVTM_HULL_SIDES * CELLS], y[CVTM_HULL_SIDES * CELLS], slope[CVTM_HULL_SIDES * CELLS];
  int32_t row[CVTM_HULL_SIDES * CELLS];
  int32_t corner[CVTM_HULL_SIDES * CELLS], end[CVTM_HULL_SIDES * CELLS];
};

/* The first pixel whose centre is not before v. In doubt if one is about there. */
__device__ int32_t centre_from(double v, double doubt, bool *doubtful) {
  const int32_t low = cvtm_path_floor(v - 0.5 - doubt), high = cvtm_path_floor(v - 0.5 + doubt);
  *doubtful |= low != high;
  return low + 1;
}

/* Every `step`th row of a cell, each centre with care. */
__device__ __noinline__ cvtm_cell_sums add_doubtful(cvtm_site_tree_view tree, cvtm_domain domain,
                                                    cvtm_density_view density, int64_t place,
                                                    cvtm_cell cell, double doubt, int32_t begin,
                                                    int32_t step) {
  cvtm_cell_sums part = {0, 0, 0, 0};
  cvtm_cell_rows rows;
  cvtm_cell_begin_rows(domain, tree.position[2 * place], tree.position[2 * place + 1], &cell,
                       &rows);
  for (int32_t j = rows.first + begin; j <= rows.last; j += step)
    cvtm_cell_add_centres(&tree, domain, &density, place, &cell, doubt, &rows, j, &part);
  return part;
}

template <int CELLS>
__global__ void __launch_bounds__(WARP, BLOCKS)
    centre_kernel(cvtm_site_tree_view tree, cvtm_domain domain, cvtm_density_view density,
                  cvtm_cut_cells cells, int64_t first, int64_t last, cvtm_cell_sums *sums) {
  __shared__ warp_centres<CELLS> memory;
  constexpr int lanes = WARP / CELLS;
  const unsigned all = 0xFFFFFFFFu, ours = all / ((1u << CELLS) - 1); /* lanes, shifted by c */
  const int lane = static_cast<int>(threadIdx.x), c = lane % CELLS, own = lane / CELLS;
  const int64_t k = static_cast<int64_t>(blockIdx.x) * CELLS + c;
  double *const xs = memory.x + c, *const ys = memory.y + c, *const slopes = memory.slope + c;
  const read_cell cell = read<CELLS>(tree, cells, k, first + k, last, own, xs, ys);
  const int count = cell.count >= 3 ? cell.count : 0;
  __syncwarp();
  const double sx = cell.sx, sy = cell.sy;
  double doubt = 0;
  int32_t top = 0, bottom = 0, begin = 0, end = 0;
  bool doubtful = false;
  if (count > 0) {
    double y_top = HUGE_VAL, y_bottom = -HUGE_VAL, radius2 = 0;
    for (int s = 0; s < count; ++s) {
      const double x = xs[s * CELLS], y = ys[s * CELLS], r2 = CVTM_FMA(x, x, y * y);
      radius2 = r2 > radius2 ? r2 : radius2;
      if (y < y_top) {
        y_top = y;
        top = s;
      }
      if (y > y_bottom) {
        y_bottom = y;
        bottom = s;
      }
    }
    doubt = 1e-12 * (domain.width + domain.height) + 1e-14 * radius2 * rsqrt(cell.nearest2);
    doubtful = !(doubt < 0.25);
    for (int s = own; s < count; s += lanes) {
      const int next = s + 1 < count ? s + 1 : 0;
      slopes[s * CELLS] = (xs[next * CELLS] - xs[s * CELLS]) / (ys[next * CELLS] - ys[s * CELLS]);
      memory.row[s * CELLS + c] = centre_from(sy + ys[s * CELLS], doubt, &doubtful);
    }
  }
  const int left = bottom < top ? bottom - top + count : bottom - top;
  __syncwarp();
  if (own < 2 && count > 0) { /* the chains */
    int s = top;
    begin = end = memory.row[s * CELLS + c];
    const int after = own ? count : left;
    for (int e = own ? left : 0; e < after; ++e) {
      const int from = s;
      s = own ? (s > 0 ? s - 1 : count - 1) : s + 1 < count ? s + 1 : 0;
      end = max(end, memory.row[s * CELLS + c]);
      memory.corner[e * CELLS + c] = from;
      memory.end[e * CELLS + c] = end;
    }
  }
  __syncwarp();
  doubtful = (__ballot_sync(all, doubtful) >> c) & ours;
  begin = __shfl_sync(all, begin, c);
  end = __shfl_sync(all, end, c);
  if (!domain.periodic) {
    begin = max(begin, 0);
    end = min(end, domain.height);
  }
  cvtm_cell_sums part = {0, 0, 0, 0};
  bool unsure = doubtful;
  int l = -1, r = left - 1;
  int32_t l_end = INT32_MIN, r_end = INT32_MIN;
  double l_x = 0, l_y = 0, l_slope = 0, r_x = 0, r_y = 0, r_slope = 0;
  for (int32_t j = begin + own; !doubtful && j < end; j += lanes) {
    if (j >= l_end) {
      do l_end = memory.end[++l * CELLS + c];
      while (j >= l_end);
      const int at = memory.corner[l * CELLS + c];
      l_x = xs[at * CELLS];
      l_y = ys[at * CELLS];
      l_slope = slopes[at * CELLS];
    }
    if (j >= r_end) {
      do r_end = memory.end[++r * CELLS + c];
      while (j >= r_end);
      const int at = memory.corner[r * CELLS + c];
      r_x = xs[at * CELLS];
      r_y = ys[at * CELLS];
      r_slope = slopes[(at > 0 ? at - 1 : count - 1) * CELLS];
    }
    const double y = cvtm_cell_double(j) + 0.5 - sy;
    int32_t from = centre_from(sx + CVTM_FMA(y - l_y, l_slope, l_x),
                               CVTM_FMA(doubt, fabs(l_slope), doubt), &unsure);
    int32_t to = centre_from(sx + CVTM_FMA(y - r_y, r_slope, r_x),
                             CVTM_FMA(doubt, fabs(r_slope), doubt), &unsure);
    if (!domain.periodic) {
      from = max(from, 0);
      to = min(to, domain.width);
    }
    const cvtm_cell_run run = cvtm_cell_sum_run(&density, cvtm_cell_row(&density, j), sx, from, to);
    part.mass += run.s0;
    part.x += run.s1;
    part.y = CVTM_FMA(y, run.s0, part.y);
    part.second += CVTM_FMA(y * y, run.s0, run.s2);
  }
  __syncwarp();
  unsure = (__ballot_sync(all, unsure) >> c) & ours;
  if (unsure) {
    const cvtm_cell careful = {count, CVTM_HULL_SIDES, CELLS,  xs,
                               ys,    slopes,          slopes, cell.nearest2};
    part = add_doubtful(tree, domain, density, first + k, careful, doubt, own, lanes);
  }
  __syncwarp();
  write<CELLS>(cell, own, part, sums);
}

template <int CELLS>
cvtm_status launch(cvtm_cvt *cvt, const cvtm_site_tree_view &tree, const cvtm_cut_cells &cells,
                   int64_t first, int64_t last, bool pixel) {
  const unsigned blocks = cvtm_cuda_blocks(last - first, CELLS);
  const cudaStream_t stream = cvtm_cuda_stream(cvt->device);
  if (pixel) {
    centre_kernel<CELLS><<<blocks, WARP, 0, stream>>>(tree, cvt->domain, cvt->density, cells, first,
                                                      last, cvt->sums);
    return cvtm_cuda_launched(cvt->device, "centre_kernel");
  }
  integral_kernel<CELLS>
      <<<blocks, WARP, 0, stream>>>(tree, cvt->domain, cvt->density, cells, first, last, cvt->sums);
  return cvtm_cuda_launched(cvt->device, "integral_kernel");
}

}  // namespace

/* Few cells get more lanes each, so that there are enough warps for the device. */
extern "C" cvtm_status cvtm_cell_sums_cuda(cvtm_cvt *cvt, const cvtm_site_tree_view *tree,
                                           const cvtm_cut_cells *cells, int64_t first, int64_t last,
                                           cvtm_cvt_energy energy) {
  const bool pixel = energy == CVTM_CVT_PIXEL;
  const int64_t count = last - first;
  if (count < 6000) return launch<2>(cvt, *tree, *cells, first, last, pixel);
  if (count < (pixel ? 16000 : 40000)) return launch<4>(cvt, *tree, *cells, first, last, pixel);
  return launch<8>(cvt, *tree, *cells, first, last, pixel);
}

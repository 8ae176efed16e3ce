/* The phases of star.h, with one thread per point. */
#include "base/cuda_utils.h"
#include "meshes/delaunay/star.h"

#include <algorithm>

namespace {

constexpr int block_size = 256, star_block = 128;
constexpr unsigned most_bound_blocks = 16 * CVTM_CUDA_PARTS;

/* ---- Bounds ---- */

/* Atomic minimum of doubles. The bits of nonnegative numbers, read as integers, have the order of
 * the numbers; those of negative numbers have the opposite order. */
__device__ void atomic_lower(double *least, double v) {
  v += 0.0; /* no negative zero */
  if (v < 0) {
    atomicMax(reinterpret_cast<unsigned long long *>(least),
              static_cast<unsigned long long>(__double_as_longlong(v)));
  } else {
    atomicMin(reinterpret_cast<long long *>(least), __double_as_longlong(v));
  }
}

__device__ void raise(double *largest, double v) {
  v += 0.0;
  if (v < 0) {
    atomicMin(reinterpret_cast<unsigned long long *>(largest),
              static_cast<unsigned long long>(__double_as_longlong(v)));
  } else {
    atomicMax(reinterpret_cast<long long *>(largest), __double_as_longlong(v));
  }
}

__global__ void begin_bounds(cvtm_bounds *bounds) {
  const cvtm_bounds none = {{HUGE_VAL, HUGE_VAL}, {-HUGE_VAL, -HUGE_VAL}, 1};
  *bounds = none;
}

__device__ double warp_least(double v) {
  for (int apart = 16; apart > 0; apart /= 2) v = fmin(v, __shfl_xor_sync(0xFFFFFFFFu, v, apart));
  return v;
}

__global__ void __launch_bounds__(block_size)
    bound_kernel(const double2 *points, int64_t count, cvtm_bounds *bounds) {
  double x0 = HUGE_VAL, y0 = HUGE_VAL, x1 = HUGE_VAL, y1 = HUGE_VAL; /* x1, y1: negative */
  int usable = 1;
  for (int64_t i = cvtm_first_thread(); i < count; i += cvtm_thread_count()) {
    const double2 p = points[i];
    usable &= fabs(p.x) <= CVTM_LARGEST_COORDINATE && fabs(p.y) <= CVTM_LARGEST_COORDINATE;
    x0 = fmin(x0, p.x);
    y0 = fmin(y0, p.y);
    x1 = fmin(x1, -p.x);
    y1 = fmin(y1, -p.y);
  }
  x0 = warp_least(x0);
  y0 = warp_least(y0);
  x1 = warp_least(x1);
  y1 = warp_least(y1);
  if (!usable) bounds->usable = 0;
  if (threadIdx.x % 32 != 0) return;
  atomic_lower(&bounds->low[0], x0);
  atomic_lower(&bounds->low[1], y0);
  raise(&bounds->high[0], -x1);
  raise(&bounds->high[1], -y1);
}

cvtm_status bound_points(cvtm_device *device, const double *points, int64_t count,
                         cvtm_bounds *bounds) {
  begin_bounds<<<1, 1, 0, cvtm_cuda_stream(device)>>>(bounds);
  CVTM_TRY(cvtm_cuda_launched(device, "begin_bounds"));
  const unsigned blocks = std::min(cvtm_cuda_blocks(count, block_size), most_bound_blocks);
  bound_kernel<<<blocks, block_size, 0, cvtm_cuda_stream(device)>>>(
      reinterpret_cast<const double2 *>(points), count, bounds);
  return cvtm_cuda_launched(device, "bound_kernel");
}

/* ---- The tree ---- */

__global__ void snap_kernel(cvtm_snapping snapping, double2 *points, int64_t count, uint64_t *keys,
                            int32_t *index) {
  for (int64_t i = cvtm_first_thread(); i < count; i += cvtm_thread_count()) {
    double2 v = points[i];
    cvtm_grid_point p;
    p.x = cvtm_snap_coordinate(&snapping.x, &v.x);
    p.y = cvtm_snap_coordinate(&snapping.y, &v.y);
    points[i] = v;
    keys[i] = cvtm_star_key(p);
    index[i] = static_cast<int32_t>(i);
  }
}

cvtm_status snap_points(cvtm_device *device, cvtm_snapping snapping, double *points, int64_t count,
                        uint64_t *keys, int32_t *index) {
  snap_kernel<<<cvtm_cuda_blocks(count, block_size), block_size, 0, cvtm_cuda_stream(device)>>>(
      snapping, reinterpret_cast<double2 *>(points), count, keys, index);
  return cvtm_cuda_launched(device, "snap_kernel");
}

__global__ void mark_kernel(const uint64_t *keys, int64_t count, int32_t *distinct) {
  for (int64_t k = cvtm_first_thread(); k < count; k += cvtm_thread_count())
    distinct[k] = k == 0 || keys[k] != keys[k - 1];
}

cvtm_status mark_distinct(cvtm_device *device, const uint64_t *keys, int64_t count,
                          int32_t *distinct) {
  mark_kernel<<<cvtm_cuda_blocks(count, block_size), block_size, 0, cvtm_cuda_stream(device)>>>(
      keys, count, distinct);
  return cvtm_cuda_launched(device, "mark_kernel");
}

__global__ void compact_kernel(const uint64_t *keys, const int32_t *index, const int32_t *distinct,
                               const int64_t *sums, int64_t count, uint64_t *tree_keys,
                               cvtm_grid_point *place, int32_t *vertex) {
  for (int64_t k = cvtm_first_thread(); k < count; k += cvtm_thread_count()) {
    if (!distinct[k]) continue;
    const int64_t at = sums[k];
    tree_keys[at] = keys[k];
    place[at] = cvtm_star_place(keys[k]);
    vertex[at] = index[k];
  }
}

cvtm_status compact_keys(cvtm_device *device, const uint64_t *keys, const int32_t *index,
                         const int32_t *distinct, const int64_t *sums, int64_t count,
                         uint64_t *tree_keys, cvtm_grid_point *place, int32_t *vertex) {
  compact_kernel<<<cvtm_cuda_blocks(count, block_size), block_size, 0, cvtm_cuda_stream(device)>>>(
      keys, index, distinct, sums, count, tree_keys, place, vertex);
  return cvtm_cuda_launched(device, "compact_kernel");
}

__global__ void weigh_kernel(const double *weights, cvtm_star_scale scale, const int32_t *index,
                             const int32_t *distinct, const int64_t *sums, int64_t count,
                             int64_t *weight, int32_t *vertex) {
  for (int64_t k = cvtm_first_thread(); k < count; k += cvtm_thread_count())
    if (distinct[k])
      cvtm_star_weigh(weights, scale, index, distinct, k, count, weight + sums[k],
                      vertex + sums[k]);
}

cvtm_status weigh_points(cvtm_device *device, const double *weights, cvtm_star_scale scale,
                         const int32_t *index, const int32_t *distinct, const int64_t *sums,
                         int64_t count, int64_t *weight, int32_t *vertex) {
  weigh_kernel<<<cvtm_cuda_blocks(count, block_size), block_size, 0, cvtm_cuda_stream(device)>>>(
      weights, scale, index, distinct, sums, count, weight, vertex);
  return cvtm_cuda_launched(device, "weigh_kernel");
}

__global__ void heaviest_kernel(cvtm_star_tree tree, int32_t level, int64_t *heaviest) {
  const int64_t squares = int64_t{1} << 2 * level;
  for (int64_t code = cvtm_first_thread(); code < squares; code += cvtm_thread_count())
    cvtm_star_set_heaviest(&tree, level, code, heaviest);
}

cvtm_status find_heaviest(cvtm_device *device, const cvtm_star_tree *tree, int32_t level,
                          int64_t *heaviest) {
  const int64_t squares = int64_t{1} << 2 * level;
  heaviest_kernel<<<cvtm_cuda_blocks(squares, block_size), block_size, 0,
                    cvtm_cuda_stream(device)>>>(*tree, level, heaviest);
  return cvtm_cuda_launched(device, "heaviest_kernel");
}

__global__ void divide_kernel(const uint64_t *tree_keys, int64_t count, int64_t bins, int shift,
                              int32_t *start) {
  for (int64_t b = cvtm_first_thread(); b <= bins; b += cvtm_thread_count()) {
    const uint64_t key = static_cast<uint64_t>(b) << shift;
    const int64_t first = b == bins ? count : cvtm_lower_bound_64(tree_keys, 0, count, key);
    start[b] = static_cast<int32_t>(first);
  }
}

cvtm_status divide_keys(cvtm_device *device, const uint64_t *tree_keys, int64_t count,
                        int32_t levels, int32_t *start) {
  const int64_t bins = int64_t{1} << 2 * levels;
  divide_kernel<<<cvtm_cuda_blocks(bins + 1, block_size), block_size, 0,
                  cvtm_cuda_stream(device)>>>(tree_keys, count, bins,
                                              CVTM_STAR_KEY_BITS - 2 * levels, start);
  return cvtm_cuda_launched(device, "divide_kernel");
}

/* ---- Stars ---- */

/* Adds the values of all lanes of a warp to *sum with one atomic; returns the sum before the value
 * of this lane. All lanes must call. */
__device__ int32_t hand_out(int32_t *sum, int32_t value) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  int32_t upto = value;
  for (int apart = 1; apart < 32; apart *= 2) {
    const int32_t before = __shfl_up_sync(0xFFFFFFFFu, upto, apart);
    if (lane >= apart) upto += before;
  }
  int32_t first = 0;
  if (lane == 31 && upto > 0) first = atomicAdd(sum, upto);
  return __shfl_sync(0xFFFFFFFFu, first, 31) + upto - value;
}

/* near: the search uses only the block of squares, and stars with long fans are left unfinished. */
template <bool near, bool weighted>
__global__ void __launch_bounds__(star_block)
    star_kernel(cvtm_star_tree tree, const int32_t *list, int64_t count, cvtm_star_output output) {
  cvtm_star_corners triangles[CVTM_STAR_ROOM];
  const int32_t visits = near ? CVTM_STAR_NEAR : CVTM_STAR_AROUND;
  const int64_t padded =
      (count + 31) / 32 * 32; /* so that all lanes of a warp take part in the shuffles */
  for (int64_t k = cvtm_first_thread(); k < padded; k += cvtm_thread_count()) {
    cvtm_star_fan fan = cvtm_star_fan_in(triangles, CVTM_STAR_ROOM, nullptr);
    int32_t place = 0;
    cvtm_star_outcome outcome = CVTM_STAR_DONE;
    if (k < count) {
      place = list ? list[k] : static_cast<int32_t>(k);
      outcome = cvtm_star_make(&tree, weighted, place, visits, nullptr, &fan);
    }
    __syncwarp();
    if (near && fan.count > CVTM_STAR_ROOM && outcome == CVTM_STAR_DONE) outcome = CVTM_STAR_FAR;
    const bool done = k < count && outcome == CVTM_STAR_DONE, left = k < count && !done;
    const int32_t at = hand_out(&output.counts->triangles, done ? fan.count : 0);
    const int32_t back = hand_out(&output.counts->deferred, left);
    if (left) output.deferred[back] = place;
    if (weighted) hand_out(&output.counts->unlinked, left && outcome == CVTM_STAR_UNLINKED);
    if (!done) continue;
    if (fan.open) atomicAdd(&output.counts->open, 1);
    if (near) {
      cvtm_star_copy(&tree, place, at, &fan, &output);
    } else {
      cvtm_star_store(&tree, weighted, place, visits, at, &fan, &output);
    }
  }
}

/* Finds stars with a far search, one per warp. The lanes share the search; every lane does all
 * other work itself. */
template <bool weighted>
__global__ void __launch_bounds__(32)
    far_star_kernel(cvtm_star_tree tree, const int32_t *list, int64_t count, int32_t visits,
                    cvtm_star_output output) {
  __shared__ cvtm_star_node stack[CVTM_STAR_SHARED + CVTM_STAR_STACK];
  cvtm_star_corners triangles[CVTM_STAR_ROOM];
  const bool first = threadIdx.x == 0;
  for (int64_t k = blockIdx.x; k < count; k += gridDim.x) {
    const int32_t place = list[k];
    cvtm_star_fan fan = cvtm_star_fan_in(triangles, CVTM_STAR_ROOM, nullptr);
    const cvtm_star_outcome outcome = cvtm_star_make(&tree, weighted, place, visits, stack, &fan);
    __syncwarp();
    int32_t at = 0;
    if (outcome == CVTM_STAR_DONE) {
      if (first) at = atomicAdd(&output.counts->triangles, fan.count);
      at = __shfl_sync(0xFFFFFFFFu, at, 0);
      if (first && fan.open) atomicAdd(&output.counts->open, 1);
      if (fan.count <= CVTM_STAR_ROOM) {
        if (first) cvtm_star_copy(&tree, place, at, &fan, &output);
      } else if (fan.count <= output.room - at) {
        fan = cvtm_star_fan_in(output.fans + at, first ? fan.count : 0, nullptr);
        (void)cvtm_star_make(&tree, weighted, place, visits, stack, &fan);
        if (first) cvtm_star_keep(&tree, place, at, fan.count, &output);
      }
    } else if (first) {
      output.deferred[atomicAdd(&output.counts->deferred, 1)] = place;
      if (outcome == CVTM_STAR_UNLINKED) atomicAdd(&output.counts->unlinked, 1);
    }
    __syncwarp();
  }
}

template <bool weighted>
cvtm_status make_some(cvtm_device *device, const cvtm_star_tree *tree, const int32_t *list,
                      int64_t count, int32_t visits, const cvtm_star_output *output) {
  const cudaStream_t stream = cvtm_cuda_stream(device);
  if (list && visits > 0) {
    far_star_kernel<weighted>
        <<<cvtm_cuda_blocks(count, 1), 32, 0, stream>>>(*tree, list, count, visits, *output);
    return cvtm_cuda_launched(device, "far_star_kernel");
  }
  const unsigned blocks = cvtm_cuda_blocks(count, star_block);
  if (visits == CVTM_STAR_NEAR) {
    star_kernel<true, weighted><<<blocks, star_block, 0, stream>>>(*tree, list, count, *output);
  } else {
    star_kernel<false, weighted><<<blocks, star_block, 0, stream>>>(*tree, list, count, *output);
  }
  return cvtm_cuda_launched(device, "star_kernel");
}

cvtm_status make_stars(cvtm_device *device, const cvtm_star_tree *tree, const int32_t *list,
                       int64_t count, int32_t visits, const cvtm_star_output *output) {
  return tree->weight ? make_some<true>(device, tree, list, count, visits, output)
                      : make_some<false>(device, tree, list, count, visits, output);
}

/* ---- Vertices whose star search failed ---- */

__global__ void flag_kernel(cvtm_star_tree tree, const int32_t *list, int64_t count,
                            int32_t *undecided) {
  for (int64_t k = cvtm_first_thread(); k < count; k += cvtm_thread_count())
    undecided[tree.vertex[list[k]]] = 1;
}

cvtm_status flag_undecided(cvtm_device *device, const cvtm_star_tree *tree, const int32_t *list,
                           int64_t count, int32_t *undecided) {
  flag_kernel<<<cvtm_cuda_blocks(count, block_size), block_size, 0, cvtm_cuda_stream(device)>>>(
      *tree, list, count, undecided);
  return cvtm_cuda_launched(device, "flag_kernel");
}

__device__ void mark_hull(const cvtm_star_tree &tree, const cvtm_star_fan &fan,
                          int32_t *undecided) {
  for (int k = 0; k < 2 && fan.open; ++k) atomicCAS(undecided + tree.vertex[fan.end[k]], 1, 2);
}

__global__ void __launch_bounds__(star_block)
    adopt_kernel(cvtm_star_tree tree, int32_t visits, int32_t *undecided,
                 cvtm_star_corners *adopted, cvtm_star_output output) {
  cvtm_star_corners triangles[CVTM_STAR_ROOM];
  for (int64_t k = cvtm_first_thread(); k < tree.count; k += cvtm_thread_count()) {
    cvtm_star_fan fan = cvtm_star_fan_in(triangles, CVTM_STAR_ROOM, undecided);
    if (undecided[tree.vertex[k]]) continue;
    (void)cvtm_star_make(&tree, 0, static_cast<int32_t>(k), visits, nullptr, &fan);
    mark_hull(tree, fan, undecided);
    const int32_t count = cvtm_star_kept(&fan);
    const int32_t at = count > 0 ? atomicAdd(&output.counts->adopted, count) : 0;
    for (int32_t t = 0; t < count && at + t < output.room; ++t) {
      adopted[at + t] = triangles[t];
      atomicAdd(output.fan_count + triangles[t].first, 1);
    }
  }
}

cvtm_status adopt_triangles(cvtm_device *device, const cvtm_star_tree *tree, int32_t visits,
                            int32_t *undecided, cvtm_star_corners *adopted,
                            const cvtm_star_output *output) {
  adopt_kernel<<<cvtm_cuda_blocks(tree->count, star_block), star_block, 0,
                 cvtm_cuda_stream(device)>>>(*tree, visits, undecided, adopted, *output);
  return cvtm_cuda_launched(device, "adopt_kernel");
}

__global__ void begin_fans_kernel(cvtm_star_tree tree, const int32_t *list, int64_t count,
                                  const int32_t *undecided, cvtm_star_output output) {
  for (int64_t k = cvtm_first_thread(); k < count; k += cvtm_thread_count()) {
    const int32_t v = tree.vertex[list[k]];
    output.fan_start[v] = atomicAdd(&output.counts->triangles, output.fan_count[v]);
    output.fan_count[v] = 0;
    if (undecided[v] == 2) atomicAdd(&output.counts->open, 1);
  }
}

__global__ void fill_fans_kernel(const cvtm_star_corners *adopted, int64_t count,
                                 cvtm_star_output output) {
  for (int64_t t = cvtm_first_thread(); t < count; t += cvtm_thread_count()) {
    const int32_t v = adopted[t].first;
    output.fans[output.fan_start[v] + atomicAdd(output.fan_count + v, 1)] = adopted[t];
  }
}

__global__ void sort_fans_kernel(cvtm_star_tree tree, const int32_t *list, int64_t count,
                                 cvtm_star_output output) {
  for (int64_t k = cvtm_first_thread(); k < count; k += cvtm_thread_count()) {
    const int32_t v = tree.vertex[list[k]];
    cvtm_star_sort(output.fans + output.fan_start[v], output.fan_count[v]);
  }
}

cvtm_status sort_adopted_triangles(cvtm_device *device, const cvtm_star_tree *tree,
                                   const int32_t *list, int64_t count, const int32_t *undecided,
                                   const cvtm_star_corners *adopted, int64_t adopted_count,
                                   const cvtm_star_output *output) {
  const cudaStream_t stream = cvtm_cuda_stream(device);
  const unsigned blocks = cvtm_cuda_blocks(count, block_size);
  begin_fans_kernel<<<blocks, block_size, 0, stream>>>(*tree, list, count, undecided, *output);
  CVTM_TRY(cvtm_cuda_launched(device, "begin_fans_kernel"));
  fill_fans_kernel<<<cvtm_cuda_blocks(adopted_count, block_size), block_size, 0, stream>>>(
      adopted, adopted_count, *output);
  CVTM_TRY(cvtm_cuda_launched(device, "fill_fans_kernel"));
  sort_fans_kernel<<<blocks, block_size, 0, stream>>>(*tree, list, count, *output);
  return cvtm_cuda_launched(device, "sort_fans_kernel");
}

/* ---- Triangles ---- */

__global__ void collect_kernel(cvtm_star_output output, const int64_t *first, int64_t count,
                               cvtm_star_corners *triangles) {
  for (int64_t v = cvtm_first_thread(); v < count; v += cvtm_thread_count())
    cvtm_star_collect_fan(&output, first, v, triangles);
}

cvtm_status collect_fans(cvtm_device *device, const cvtm_star_output *output, const int64_t *first,
                         int64_t count, cvtm_star_corners *triangles) {
  collect_kernel<<<cvtm_cuda_blocks(count, block_size), block_size, 0, cvtm_cuda_stream(device)>>>(
      *output, first, count, triangles);
  return cvtm_cuda_launched(device, "collect_kernel");
}

} /* namespace */

const cvtm_star_table cvtm_star_table_cuda = {
    bound_points,           snap_points,  mark_distinct, compact_keys,   weigh_points,
    find_heaviest,          divide_keys,  make_stars,    flag_undecided, adopt_triangles,
    sort_adopted_triangles, collect_fans,
};

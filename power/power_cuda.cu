/* A power diagram: the tree's weights level by level; cells, a lane cuts out each one, then all
 * lanes of the warp share its rows and its edges; large, a warp for each cell with more corners
 * than that; figures. The vectors of conjugate gradients take three kernels a step. All sums have a
 * fixed order. */
#include "base/cuda_check.h"
#include "base/cuda_utils.h"
#include "power/power_kernels.h"

#include <cooperative_groups.h>

#include <new>

namespace {

enum {
  WARP = 32,
  CORNERS = 18, /* of a cell on the way */
  SLOTS = 19,   /* numbers from one cell to the next in shared memory: odd, for its banks */
  LARGE_BLOCKS = 128,
  LARGE_CORNERS = 4096, /* of a cell in a block's scratch */
  TOP = 1024,           /* nodes of a level that one block does with all levels above */
  THREADS = 512,
  BLOCKS = 264, /* of reductions, at most */
};

/* listed: how many cells are left to the large kernel, how many of these have more corners than a
 * block's scratch holds, and how many blocks of a reduction have ended. list, giant: their places.
 */
struct cuda_state {
  int32_t *listed;
  int32_t *list, *giant;
  double *corners, *giant_corners;
  int32_t *other, *giant_other;
  int64_t giant_capacity;
  double *part; /* of reductions: CVTM_POWER_FIGURES per block */
};
enum { LISTED_LARGE, LISTED_GIANT, LISTED_ENDED, LISTED };

/* --- weights ------------------------------------------------------------------------------- */

__global__ void weigh_kernel(cvtm_site_tree_view tree, const double *weight, double *sorted,
                             int32_t *place_of, double *heaviest) {
  for (int64_t leaf = cvtm_first_thread(); leaf < tree.leaf_count; leaf += cvtm_thread_count()) {
    const int64_t first = leaf * CVTM_TREE_LEAF;
    for (int64_t place = first; place < first + CVTM_TREE_LEAF && place < tree.count; ++place) {
      sorted[place] = weight[tree.index[place]];
      place_of[tree.index[place]] = static_cast<int32_t>(place);
    }
    cvtm_power_weigh_leaf(sorted, tree.count, tree.leaf_count, leaf, heaviest);
  }
}

/* The nodes first .. 2 first - 1. */
__global__ void weigh_level_kernel(int64_t first, double *heaviest) {
  for (int64_t node = first + cvtm_first_thread(); node < 2 * first; node += cvtm_thread_count())
    cvtm_power_weigh_node(node, heaviest);
}

/* One block: the same, and all levels above. */
__global__ void weigh_top_kernel(int64_t first, double *heaviest) {
  for (; first >= 1; first /= 2) {
    for (int64_t node = first + threadIdx.x; node < 2 * first; node += blockDim.x)
      cvtm_power_weigh_node(node, heaviest);
    __syncthreads();
  }
}

/* --- cells --------------------------------------------------------------------------------- */

template <int CELLS>
struct warp_cells {
  double x[SLOTS * CELLS], y[SLOTS * CELLS], slope[SLOTS * CELLS], inverse[SLOTS * CELLS];
  int32_t other[SLOTS * CELLS];
  int32_t stack[CVTM_TREE_STACK];
};

template <int CELLS>
__device__ cvtm_power_cell warp_cell(warp_cells<CELLS> *memory, int c) {
  const int at = SLOTS * c;
  const cvtm_power_cell cell = {
      {0, CORNERS, 1, memory->x + at, memory->y + at, memory->slope + at, memory->inverse + at, 0},
      memory->other + at};
  return cell;
}

__device__ void shift_and_add(cvtm_cell_sums *sums, int offset) {
  const unsigned all = 0xFFFFFFFFu;
  const cvtm_cell_sums other = {
      __shfl_down_sync(all, sums->mass, offset), __shfl_down_sync(all, sums->x, offset),
      __shfl_down_sync(all, sums->y, offset), __shfl_down_sync(all, sums->second, offset)};
  cvtm_cell_sums_add(sums, &other);
}

/* The rows that one of `lanes` lanes adds up; the slopes are set. */
__device__ cvtm_cell_sums share_sums(const cvtm_power_view &view, cvtm_domain domain,
                                     const cvtm_density_view &density, int64_t place,
                                     const cvtm_cell &cell, int lane, int lanes) {
  cvtm_cell_sums sums = {0, 0, 0, 0};
  if (cell.count < 3) return sums;
  cvtm_cell_walk rows;
  cvtm_cell_begin_walk(domain, view.tree.position[2 * place], view.tree.position[2 * place + 1],
                       &cell, &rows);
  const int32_t share = (rows.last - rows.first + lanes) / lanes;
  const int32_t first = rows.first + lane * share;
  const int32_t last = first + share - 1 < rows.last ? first + share - 1 : rows.last;
  cvtm_cell_add_rows(&density, &cell, &rows, first, last, &sums);
  return sums;
}

/* Edge k of the cell to its entry; edges at the border couple the cell with itself. */
__device__ double put_edge(const cvtm_power &power, const cvtm_power_view &view, cvtm_domain domain,
                           const cvtm_density_view &density, int64_t place,
                           const cvtm_power_cell &cell, int32_t k, int32_t entry) {
  const cvtm_power_link link =
      cvtm_power_edge(&view, domain, &density, place, &cell, k, power.target, power.bridge);
  power.neighbor[entry] = link.index < 0 ? view.tree.index[place] : link.index;
  power.coupling[entry] = link.coupling;
  for (int a = 0; a < 4; ++a) power.arm[4 * static_cast<int64_t>(entry) + a] = link.arm[a];
  return link.coupling;
}

/* Where each lane's edges begin, in the order of the lanes. */
__device__ int32_t take_edges(const cvtm_power &power, int32_t corners, int lane) {
  int32_t end = corners;
  for (int offset = 1; offset < WARP; offset *= 2) {
    const int32_t before = __shfl_up_sync(0xFFFFFFFFu, end, offset);
    if (lane >= offset) end += before;
  }
  int32_t base = 0;
  if (lane == WARP - 1) base = atomicAdd(power.edges, end);
  return __shfl_sync(0xFFFFFFFFu, base, WARP - 1) + end - corners;
}

/* Clips the cells of the lanes that are `cutting` by the sites of one leaf, for all lanes at once.
 */
__device__ void cut_by_leaf(const cvtm_power_view &view, int64_t leaf, const cvtm_cell_origin &o,
                            const cvtm_power_known &known, bool *cutting, cvtm_power_cell *cell,
                            double *radius2, cvtm_cell_status *status) {
  if (*cutting)
    *cutting = cvtm_power_clip_leaf(&view, leaf, &o, &known, cell, radius2, status) != 0;
}

/* The lanes' cells, which are neighbours, are cut together: a node of the tree is visited by all
 * if one of them needs it. `stack` is the warp's. */
__device__ void warp_cut_by_tree(const cvtm_power_view &view, const cvtm_cell_origin &o,
                                 const cvtm_power_known &known, int lane, int32_t *stack,
                                 bool *cutting, cvtm_power_cell *cell, double *radius2,
                                 cvtm_cell_status *status) {
  const cvtm_site_tree_view &tree = view.tree;
  const double weight = *cutting ? view.weight[o.place] : 0;
  int top = 0;
  if (lane == 0) stack[top] = 1;
  ++top;
  __syncwarp();
  while (top > 0) {
    const int64_t node = stack[--top];
    const bool wanted = *cutting && [&] {
      const cvtm_cell_box box = cvtm_cell_relative_box(&tree, node, &o);
      return cvtm_power_box_cuts(&cell->polygon, *radius2, &box, view.heaviest[node], weight) != 0;
    }();
    __syncwarp();
    if (!__any_sync(0xFFFFFFFFu, wanted)) continue;
    if (node >= tree.leaf_count) {
      bool mine = wanted;
      cut_by_leaf(view, node - tree.leaf_count, o, known, &mine, cell, radius2, status);
      if (wanted) *cutting = mine;
    } else {
      if (lane == 0) {
        stack[top] = static_cast<int32_t>(2 * node + 1);
        stack[top + 1] = static_cast<int32_t>(2 * node);
      }
      top += 2;
    }
    __syncwarp();
  }
}

/* cvtm_power_cut_from of each lane that has a cell; whether this lane's is done. */
__device__ bool warp_cut_cells(const cvtm_power_view &view, cvtm_domain domain, int64_t place,
                               bool mine, int lane, int32_t *stack, cvtm_power_cell *cell) {
  cvtm_cell_status status = CVTM_CELL_DONE;
  cvtm_cell_origin o = {0, 0, 0, 0, -1, -1};
  cvtm_power_known known = {0, {0}};
  double radius2 = 0;
  bool cutting = mine;
  if (mine) {
    cvtm_cell_box start;
    o = cvtm_cell_origin_at(&view.tree, domain, place, &start);
    cutting = cvtm_power_begin_cell(&view, &start, &o, &known, cell, &radius2, &status) != 0;
  }
  for (int round = 0; round < (domain.periodic ? 9 : 1); ++round) {
    cvtm_power_shift_to(domain, (round + 4) % 9, &o);
    warp_cut_by_tree(view, o, known, lane, stack, &cutting, cell, &radius2, &status);
    known.count = 0;
  }
  return mine && status == CVTM_CELL_DONE;
}

/* The cells at places base .. base + CELLS - 1, by a warp. */
template <int CELLS>
__device__ void sum_cells(const cvtm_power &power, const cvtm_power_view &view, cvtm_domain domain,
                          const cvtm_density_view &density, const cuda_state &state, int64_t base,
                          warp_cells<CELLS> *memory, cvtm_cell_sums *sums) {
  const int lane = static_cast<int>(threadIdx.x), c = lane % CELLS, part = lane / CELLS;
  const int64_t place = base + c;
  const bool mine = part == 0 && place < view.tree.count;
  cvtm_power_cell cell = warp_cell(memory, c);
  const bool done = warp_cut_cells(view, domain, place, mine, lane, memory->stack, &cell);
  if (done) cvtm_cell_set_slopes(&cell.polygon);
  if (mine && !done)
    state.list[atomicAdd(state.listed + LISTED_LARGE, 1)] = static_cast<int32_t>(place);
  __syncwarp();
  const int32_t corners = __shfl_sync(0xFFFFFFFFu, done ? cell.polygon.count : 0, c);
  cell.polygon.count = corners;
  cvtm_cell_sums sum = share_sums(view, domain, density, place, cell.polygon, part, WARP / CELLS);
  for (int offset = WARP / 2; offset >= CELLS; offset /= 2) shift_and_add(&sum, offset);
  const int32_t taken = take_edges(power, part == 0 ? corners : 0, lane);
  const int32_t first = __shfl_sync(0xFFFFFFFFu, taken, c);
  const bool room = first <= power.edge_capacity - corners;
  __syncwarp(); /* the slopes are not needed any more */
  for (int32_t k = part; room && k < corners; k += WARP / CELLS)
    cell.polygon.slope[k] = put_edge(power, view, domain, density, place, cell, k, first + k);
  __syncwarp();
  if (!done) return;
  const int32_t i = view.tree.index[place];
  double diagonal = 0;
  for (int32_t k = 0; k < corners; ++k) diagonal += cell.polygon.slope[k];
  sums[i] = sum;
  power.hidden[i] = corners < 3;
  power.first[i] = first;
  power.degree[i] = room ? corners : 0;
  power.diagonal[i] = room ? diagonal : 0;
}

template <int CELLS>
__global__ void __launch_bounds__(WARP)
    cells_kernel(cvtm_power power, cvtm_power_view view, cvtm_domain domain,
                 cvtm_density_view density, cuda_state state, cvtm_cell_sums *sums) {
  extern __shared__ __align__(16) unsigned char shared[];
  warp_cells<CELLS> *memory = reinterpret_cast<warp_cells<CELLS> *>(shared);
  const int64_t stride = static_cast<int64_t>(gridDim.x) * CELLS;
  for (int64_t base = static_cast<int64_t>(blockIdx.x) * CELLS; base < view.tree.count;
       base += stride) {
    sum_cells<CELLS>(power, view, domain, density, state, base, memory, sums);
    __syncwarp(); /* before the memory serves the next cells */
  }
}

/* A cell in scratch: lane 0 cuts it out. All lanes have it then; false: it needs more room. */
__device__ bool warp_cut(const cvtm_power_view &view, cvtm_domain domain, int64_t place, int lane,
                         cvtm_power_cell *cell) {
  int32_t count = 0;
  if (lane == 0) {
    cvtm_cell_box start;
    cvtm_cell_origin o = cvtm_cell_origin_at(&view.tree, domain, place, &start);
    const cvtm_cell_status status = cvtm_power_cut_from(&view, domain, &start, &o, cell);
    count = status == CVTM_CELL_DONE ? cell->polygon.count : -1;
    if (count >= 3) cvtm_cell_set_slopes(&cell->polygon);
  }
  __syncwarp();
  count = __shfl_sync(0xFFFFFFFFu, count, 0);
  cell->polygon.count = count;
  return count >= 0;
}

__device__ void warp_integrate(const cvtm_power &power, const cvtm_power_view &view,
                               cvtm_domain domain, const cvtm_density_view &density, int64_t place,
                               int lane, const cvtm_power_cell &cell, cvtm_cell_sums *sums) {
  const int32_t i = view.tree.index[place], corners = cell.polygon.count;
  cvtm_cell_sums sum = share_sums(view, domain, density, place, cell.polygon, lane, WARP);
  for (int offset = WARP / 2; offset >= 1; offset /= 2) shift_and_add(&sum, offset);
  const int32_t own = take_edges(power, lane == 0 ? corners : 0, lane);
  const int32_t first = __shfl_sync(0xFFFFFFFFu, own, 0);
  const bool room = first <= power.edge_capacity - corners;
  double diagonal = 0;
  for (int32_t k = lane; room && k < corners; k += WARP)
    diagonal += put_edge(power, view, domain, density, place, cell, k, first + k);
  diagonal = cvtm_warp_sum(diagonal);
  if (lane != 0) return;
  sums[i] = sum;
  power.hidden[i] = corners < 3;
  power.first[i] = first;
  power.degree[i] = room ? corners : 0;
  power.diagonal[i] = diagonal;
}

__device__ cvtm_power_cell scratch_cell(double *corners, int32_t *other, int64_t n) {
  const cvtm_power_cell cell = {
      {0, static_cast<int32_t>(n), 1, corners, corners + n, corners + 2 * n, corners + 3 * n, 0},
      other};
  return cell;
}

__global__ void __launch_bounds__(WARP)
    large_kernel(cvtm_power power, cvtm_power_view view, cvtm_domain domain,
                 cvtm_density_view density, cuda_state state, cvtm_cell_sums *sums) {
  const int lane = static_cast<int>(threadIdx.x);
  const int64_t block = blockIdx.x;
  cvtm_power_cell cell = scratch_cell(state.corners + block * (4 * LARGE_CORNERS),
                                      state.other + block * LARGE_CORNERS, LARGE_CORNERS);
  const int32_t listed = state.listed[LISTED_LARGE];
  for (int32_t entry = blockIdx.x; entry < listed; entry += gridDim.x) {
    const int64_t place = state.list[entry];
    if (warp_cut(view, domain, place, lane, &cell))
      warp_integrate(power, view, domain, density, place, lane, cell, sums);
    else if (lane == 0)
      state.giant[atomicAdd(state.listed + LISTED_GIANT, 1)] = static_cast<int32_t>(place);
    __syncwarp();
  }
}

/* One warp: the cells that are left, one after the other. */
__global__ void __launch_bounds__(WARP)
    giant_kernel(cvtm_power power, cvtm_power_view view, cvtm_domain domain,
                 cvtm_density_view density, cuda_state state, cvtm_cell_sums *sums) {
  const int lane = static_cast<int>(threadIdx.x);
  cvtm_power_cell cell = scratch_cell(state.giant_corners, state.giant_other, state.giant_capacity);
  const int32_t listed = state.listed[LISTED_GIANT];
  for (int32_t entry = 0; entry < listed; ++entry) {
    (void)warp_cut(view, domain, state.giant[entry], lane, &cell);
    warp_integrate(power, view, domain, density, state.giant[entry], lane, cell, sums);
    __syncwarp();
  }
  if (lane == 0) state.listed[LISTED_LARGE] = state.listed[LISTED_GIANT] = 0;
}

/* --- reductions ---------------------------------------------------------------------------- */

struct sum_of {
  __device__ static double join(double a, double b) { return a + b; }
};
struct largest_of {
  __device__ static double join(double a, double b) { return cvtm_cvt_larger(a, b); }
};

/* The warp's values joined; the result is lane 0's. */
template <typename Op>
__device__ double join_warp(double value) {
  for (int offset = WARP / 2; offset > 0; offset /= 2)
    value = Op::join(value, __shfl_down_sync(0xFFFFFFFFu, value, offset));
  return value;
}

/* The block's values joined, none less than 0 if the largest is asked for; all threads have the
 * result. */
template <typename Op>
__device__ double join_block(double value, double *memory) {
  const unsigned lane = threadIdx.x % WARP;
  value = join_warp<Op>(value);
  if (lane == 0) memory[threadIdx.x / WARP] = value;
  __syncthreads();
  value = join_warp<Op>(lane < THREADS / WARP ? memory[lane] : 0);
  __syncthreads();
  return __shfl_sync(0xFFFFFFFFu, value, 0);
}

/* Joins figure f of all blocks, in the last one. */
template <typename Op>
__device__ double join_parts(const double *part, int f, double *memory) {
  double value = 0;
  for (unsigned b = threadIdx.x; b < gridDim.x; b += THREADS)
    value = Op::join(value, part[f * BLOCKS + b]);
  return join_block<Op>(value, memory);
}

__global__ void __launch_bounds__(THREADS)
    figures_kernel(cvtm_power power, const cvtm_cell_sums *sums, const double *weight,
                   cuda_state state) {
  __shared__ double memory[THREADS / WARP];
  double dual = 0, energy = 0, deviation = 0, square = 0, hidden = 0;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x; i < power.count;
       i += static_cast<int64_t>(gridDim.x) * THREADS) {
    const double missing = power.target - sums[i].mass;
    power.missing[i] = missing;
    dual += sums[i].second + weight[i] * missing;
    energy += sums[i].second;
    deviation = cvtm_cvt_larger(deviation, fabs(missing));
    square += missing * missing;
    hidden += power.hidden[i];
  }
  dual = join_block<sum_of>(dual, memory);
  energy = join_block<sum_of>(energy, memory);
  deviation = join_block<largest_of>(deviation, memory);
  square = join_block<sum_of>(square, memory);
  hidden = join_block<sum_of>(hidden, memory);
  if (threadIdx.x == 0) {
    double *part = state.part + blockIdx.x;
    part[0] = dual;
    part[BLOCKS] = energy;
    part[2 * BLOCKS] = deviation;
    part[3 * BLOCKS] = square;
    part[4 * BLOCKS] = hidden;
  }
  if (!cvtm_last_block(state.listed + LISTED_ENDED)) return;
  dual = join_parts<sum_of>(state.part, 0, memory);
  energy = join_parts<sum_of>(state.part, 1, memory);
  deviation = join_parts<largest_of>(state.part, 2, memory);
  square = join_parts<sum_of>(state.part, 3, memory);
  hidden = join_parts<sum_of>(state.part, 4, memory);
  if (threadIdx.x != 0) return;
  power.figures[0] = dual;
  power.figures[1] = energy;
  power.figures[2] = deviation;
  power.figures[3] = square;
  power.figures[4] = hidden;
  power.figures[5] = *power.edges;
}

__global__ void predict_kernel(cvtm_power power, const double *sites) {
  for (int64_t i = cvtm_first_thread(); i < power.count; i += cvtm_thread_count())
    power.missing[i] -= cvtm_power_gain_row(&power, sites, i);
}

/* --- conjugate gradients -------------------------------------------------------------------- */

/* The sum of all threads' values, the same in every thread; `slot` alternates from call to call. */
__device__ double grid_sum(double value, int slot, const cuda_state &state, double *memory) {
  const double mine = join_block<sum_of>(value, memory);
  double *part = state.part + slot * BLOCKS;
  if (threadIdx.x == 0) part[blockIdx.x] = mine;
  cooperative_groups::this_grid().sync();
  double total = 0;
  for (unsigned b = threadIdx.x; b < gridDim.x; b += THREADS) total += part[b];
  return join_block<sum_of>(total, memory);
}

/* cvtm_power_apply_row for x_i = own and x_j = z_j + turn * last_j, z the preconditioned residual.
 */
__device__ double apply_turned(const cvtm_power &power, const double *last, double turn, double own,
                               int64_t i) {
  const int32_t first = power.first[i], end = first + power.degree[i];
  double sum = 0;
  for (int32_t e = first; e < end; ++e) {
    const int32_t j = power.neighbor[e];
    sum += power.coupling[e] * (own - (power.preconditioned[j] + turn * last[j]));
  }
  return sum;
}

/* All blocks at once, in step: a direction is turned when its image is taken, by each row for
 * itself and its neighbours, so that a step takes two sums and no further wait. */
__global__ void __launch_bounds__(THREADS)
    solve_kernel(cvtm_power power, double tolerance, int32_t most, cuda_state state) {
  __shared__ double memory[THREADS / WARP];
  const int64_t begin = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
  const int64_t step = static_cast<int64_t>(gridDim.x) * THREADS;
  double *last = power.direction, *next = power.turned;
  double sum = 0;
  for (int64_t i = begin; i < power.count; i += step) sum += power.missing[i];
  const double mean = grid_sum(sum, 1, state, memory) / static_cast<double>(power.count);
  sum = 0;
  for (int64_t i = begin; i < power.count; i += step) {
    power.step[i] = last[i] = 0;
    power.residual[i] = power.missing[i] - mean;
    power.preconditioned[i] = cvtm_power_precondition(&power, i);
    sum += power.residual[i] * power.preconditioned[i];
  }
  cvtm_power_cg cg = cvtm_power_cg_begin(grid_sum(sum, 0, state, memory), tolerance, most);
  while (cg.running) {
    sum = 0;
    for (int64_t i = begin; i < power.count; i += step) {
      next[i] = power.preconditioned[i] + cg.turn * last[i];
      power.image[i] = apply_turned(power, last, cg.turn, next[i], i);
      sum += next[i] * power.image[i];
    }
    cvtm_power_cg_measure(&cg, grid_sum(sum, 1, state, memory));
    sum = 0;
    for (int64_t i = begin; i < power.count; i += step) {
      power.step[i] += cg.length * next[i];
      power.residual[i] -= cg.length * power.image[i];
      const double z = cvtm_power_precondition(&power, i);
      power.preconditioned[i] = z;
      sum += power.residual[i] * z;
    }
    cvtm_power_cg_decide(&cg, grid_sum(sum, 0, state, memory));
    double *swap = last;
    last = next;
    next = swap;
  }
  if (begin == 0) *power.iterations = cg.iteration;
}

/* --- the table ------------------------------------------------------------------------------- */

template <typename T>
cvtm_status allocate(cvtm_power *power, int64_t count, T **array) {
  void *memory = nullptr;
  const cvtm_status status = cvtm_device_allocate(power->cvt->device, count, sizeof(T), &memory);
  *array = static_cast<T *>(memory);
  return status;
}

void destroy_state_cuda(cvtm_power *power) {
  cuda_state *state = static_cast<cuda_state *>(power->state);
  if (!state) return;
  void *arrays[] = {state->listed, state->list,          state->giant,       state->corners,
                    state->other,  state->giant_corners, state->giant_other, state->part};
  for (void *array : arrays) cvtm_device_free(power->cvt->device, array);
  delete state;
  power->state = nullptr;
}

cvtm_status create_state_cuda(cvtm_power *power) {
  cvtm_device *device = power->cvt->device;
  cuda_state *state = new (std::nothrow) cuda_state();
  if (!state) return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "no memory");
  power->state = state;
  const int64_t n = power->count, blocks = LARGE_BLOCKS, corners = LARGE_CORNERS;
  const int64_t few = n < corners ? n : corners; /* several images of a site cut where few are */
  state->giant_capacity = 4 + n + 8 * few;
  cvtm_status status = allocate(power, LISTED, &state->listed);
  if (status == CVTM_OK)
    status = cvtm_device_fill(device, state->listed, 0, LISTED * sizeof *state->listed);
  if (status == CVTM_OK) status = allocate(power, n, &state->list);
  if (status == CVTM_OK) status = allocate(power, n, &state->giant);
  if (status == CVTM_OK) status = allocate(power, blocks * corners * 4, &state->corners);
  if (status == CVTM_OK) status = allocate(power, blocks * corners, &state->other);
  if (status == CVTM_OK) status = allocate(power, 4 * state->giant_capacity, &state->giant_corners);
  if (status == CVTM_OK) status = allocate(power, state->giant_capacity, &state->giant_other);
  if (status == CVTM_OK) status = allocate(power, CVTM_POWER_FIGURES * BLOCKS, &state->part);
  if (status != CVTM_OK) destroy_state_cuda(power);
  return status;
}

cvtm_status weigh_cuda(cvtm_power *power, const double *weight) {
  cvtm_device *device = power->cvt->device;
  const cudaStream_t stream = cvtm_cuda_stream(device);
  const cvtm_site_tree_view tree = cvtm_site_tree_get_view(power->cvt->tree);
  weigh_kernel<<<cvtm_cuda_blocks(tree.leaf_count, 128), 128, 0, stream>>>(
      tree, weight, power->sorted_weight, power->place_of, power->heaviest);
  cvtm_status status = cvtm_cuda_launched(device, "weigh_kernel");
  int64_t level = tree.leaf_count / 2;
  for (; status == CVTM_OK && level > TOP; level /= 2) {
    weigh_level_kernel<<<cvtm_cuda_blocks(level, 256), 256, 0, stream>>>(level, power->heaviest);
    status = cvtm_cuda_launched(device, "weigh_level_kernel");
  }
  if (status != CVTM_OK || level < 1) return status;
  weigh_top_kernel<<<1, TOP, 0, stream>>>(level, power->heaviest);
  return cvtm_cuda_launched(device, "weigh_top_kernel");
}

template <int CELLS>
cvtm_status launch_cells(cvtm_power *power, const cvtm_power_view &view, const cuda_state &state) {
  cvtm_cvt *cvt = power->cvt;
  const int bytes = sizeof(warp_cells<CELLS>);
  CVTM_CUDA_TRY(cvt->device,
                cudaFuncSetAttribute(cells_kernel<CELLS>,
                                     cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  const unsigned blocks = cvtm_cuda_blocks(view.tree.count, CELLS);
  cells_kernel<CELLS><<<blocks, WARP, bytes, cvtm_cuda_stream(cvt->device)>>>(
      *power, view, cvt->domain, cvt->density, state, cvt->sums);
  return cvtm_cuda_launched(cvt->device, "cells_kernel");
}

cvtm_status cells_cuda(cvtm_power *power) {
  cvtm_cvt *cvt = power->cvt;
  const cudaStream_t stream = cvtm_cuda_stream(cvt->device);
  const cuda_state state = *static_cast<const cuda_state *>(power->state);
  const cvtm_power_view view = cvtm_power_view_of(power);
  /* Enough warps for the device. */
  cvtm_status status = view.tree.count < 16000   ? launch_cells<4>(power, view, state)
                       : view.tree.count < 40000 ? launch_cells<8>(power, view, state)
                                                 : launch_cells<16>(power, view, state);
  if (status != CVTM_OK) return status;
  large_kernel<<<cvtm_cuda_cap(LARGE_BLOCKS), WARP, 0, stream>>>(*power, view, cvt->domain,
                                                                 cvt->density, state, cvt->sums);
  status = cvtm_cuda_launched(cvt->device, "large_kernel");
  if (status != CVTM_OK) return status;
  giant_kernel<<<1, WARP, 0, stream>>>(*power, view, cvt->domain, cvt->density, state, cvt->sums);
  return cvtm_cuda_launched(cvt->device, "giant_kernel");
}

unsigned reduction_blocks(const cvtm_power *power) {
  const unsigned needed = cvtm_cuda_blocks(power->count, THREADS), most = BLOCKS;
  return needed < most ? needed : most;
}

cvtm_status figures_cuda(cvtm_power *power, const double *weight) {
  cvtm_device *device = power->cvt->device;
  figures_kernel<<<reduction_blocks(power), THREADS, 0, cvtm_cuda_stream(device)>>>(
      *power, power->cvt->sums, weight, *static_cast<const cuda_state *>(power->state));
  return cvtm_cuda_launched(device, "figures_kernel");
}

cvtm_status predict_cuda(cvtm_power *power, const double *sites) {
  cvtm_device *device = power->cvt->device;
  predict_kernel<<<reduction_blocks(power), THREADS, 0, cvtm_cuda_stream(device)>>>(*power, sites);
  return cvtm_cuda_launched(device, "predict_kernel");
}

/* As many blocks as are there at once. */
cvtm_status solve_blocks(cvtm_device *device, const cvtm_power *power, unsigned *blocks) {
  int at_once = 0, number = 0, processors = 0;
  CVTM_CUDA_TRY(device, cudaGetDevice(&number));
  CVTM_CUDA_TRY(device,
                cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, number));
  CVTM_CUDA_TRY(device,
                cudaOccupancyMaxActiveBlocksPerMultiprocessor(&at_once, solve_kernel, THREADS, 0));
  const unsigned most = static_cast<unsigned>(at_once) * static_cast<unsigned>(processors);
  *blocks = reduction_blocks(power);
  if (*blocks > most) *blocks = most;
  return CVTM_OK;
}

cvtm_status solve_cuda(cvtm_power *power, double tolerance, int32_t most) {
  cvtm_device *device = power->cvt->device;
  cuda_state state = *static_cast<const cuda_state *>(power->state);
  cvtm_power argument = *power;
  unsigned blocks = 0;
  const cvtm_status status = solve_blocks(device, power, &blocks);
  if (status != CVTM_OK) return status;
  void *arguments[] = {&argument, &tolerance, &most, &state};
  CVTM_CUDA_TRY(device, cudaLaunchCooperativeKernel(solve_kernel, dim3(blocks), dim3(THREADS),
                                                    arguments, 0, cvtm_cuda_stream(device)));
  return CVTM_OK;
}

}  // namespace

extern "C" const cvtm_power_table cvtm_power_table_cuda = {
    create_state_cuda, destroy_state_cuda, weigh_cuda, cells_cuda,
    figures_cuda,      predict_cuda,       solve_cuda,
};

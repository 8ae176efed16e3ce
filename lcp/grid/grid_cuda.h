/* For .cu files of lcp/grid only: loops over nodes, launches, and the phases of each file.
 *
 * grid_reference_cuda.cu  every phase, by kernels that call the node functions: the reference
 * grid_march_cuda.cu      phases on the five-point problem, a warp for each strip of the grid
 * grid_tiles_cuda.cu      phases on a coarse level, a block for each tile, in shared memory
 * grid_galerkin_cuda.cu   P'AP, where flags say that it may have changed
 * grid_tail_cuda.cu       the V-cycle of the small levels in one block
 * grid_cuda.cu            the table: which phase runs where */
#ifndef CVTMESH_LCP_GRID_GRID_CUDA_H
#define CVTMESH_LCP_GRID_GRID_CUDA_H

#include "base/cuda_utils.h"
#include "lcp/grid/grid_kernels.h"
#include "lcp/launch_cuda.h"

#include <type_traits>

/* --- loops over nodes, by blocks of tile_x x tile_y threads --- */

enum { tile_x = 32, tile_y = 8 };

static inline dim3 tile_threads_xy() { return dim3(tile_x, tile_y); }

/* Calls work(i, j) for each node of a grid, with any number of blocks in x and y. */
template <typename Work>
static __device__ void for_nodes(int64_t width, int64_t height, Work work) {
  const int64_t first_x = blockIdx.x * static_cast<int64_t>(tile_x) + threadIdx.x;
  const int64_t first_y = blockIdx.y * static_cast<int64_t>(tile_y) + threadIdx.y;
  const int64_t step_x = static_cast<int64_t>(gridDim.x) * tile_x;
  const int64_t step_y = static_cast<int64_t>(gridDim.y) * tile_y;
  for (int64_t j = first_y; j < height; j += step_y)
    for (int64_t i = first_x; i < width; i += step_x) work(i, j);
}

/* Blocks for for_nodes. */
static inline dim3 blocks_for_nodes(int64_t width, int64_t height) {
  return dim3(cvtm_cuda_blocks(width, tile_x), cvtm_cuda_rows(height, tile_y));
}

static inline dim3 blocks_for_nodes(const cvtm_grid_top *top) {
  return blocks_for_nodes(top->shape->width, top->shape->height);
}

static inline dim3 blocks_for_nodes(const cvtm_grid_level *level) {
  return blocks_for_nodes(level->width, level->height);
}

/* --- launches --- */

static inline cudaStream_t stream_of(const cvtm_grid_top *top) {
  return cvtm_cuda_stream(top->device);
}

/* The part of a phase of `count` blocks that one launch does: the blocks from `first` on. */
struct launch_part {
  int first, count;
  __device__ int block() const { return first + static_cast<int>(blockIdx.x); }
};

/* Launches a kernel that loops by for_nodes. */
template <typename... Parameters, typename... Arguments>
cvtm_status launch_nodes(const cvtm_grid_top *top, const char *name, void (*kernel)(Parameters...),
                         dim3 blocks, Arguments... arguments) {
  kernel<<<blocks, tile_threads_xy(), 0, stream_of(top)>>>(arguments...);
  return cvtm_cuda_launched(top->device, name);
}

/* Launches kernel(arguments, launch_part), in several parts if the phase has more blocks than a
 * launch may have. A loop over blocks in the kernels would cost registers. */
template <typename... Parameters, typename... Arguments>
cvtm_status launch_phase(const cvtm_grid_top *top, const char *name, void (*kernel)(Parameters...),
                         int blocks, dim3 block, size_t shared, Arguments... arguments) {
  cvtm_status status = CVTM_OK;
  for (int first = 0; first < blocks && status == CVTM_OK;) {
    const unsigned count = cvtm_cuda_cap(blocks - first);
    status = launch_pdl(top->device, name, kernel, dim3(count), block, shared, arguments...,
                        launch_part{first, blocks});
    first += static_cast<int>(count);
  }
  return status;
}

/* Calls launch with std::true_type or std::false_type, for a template argument of a kernel. */
template <typename Launch>
void with_flag(bool flag, Launch launch) {
  flag ? launch(std::true_type()) : launch(std::false_type());
}

/* True if the marches and tiles know the transfers: both directions are halved. */
static inline bool is_specialised(const cvtm_grid_level *coarse) {
  return coarse->halved_x && coarse->halved_y;
}

/* --- partial sums --- */

/* How top->partial is divided: slacks (see grid_march_strip.h), then partial sums of blocks. */
unsigned *cvtm_grid_slacks_of(const cvtm_grid_top *top);
double *cvtm_grid_sums_of(const cvtm_grid_top *top);

/* What norms are measured for. */
enum cvtm_grid_measured { MEASURE_COLD_START, MEASURE_START, MEASURE_ITERATION };

/* --- grid_march_cuda.cu --- */

/* True for constant links, without a mask, with a varying diagonal only in a Neumann boundary. */
bool cvtm_grid_can_march(const cvtm_grid_problem *shape);
int64_t cvtm_grid_partial_doubles_cuda(int64_t width, int64_t height);
cvtm_status cvtm_grid_measure_march(const cvtm_grid_top *top, cvtm_grid_measured what);
cvtm_status cvtm_grid_pre_smooth_and_restrict_march(const cvtm_grid_top *top,
                                                    const cvtm_grid_level *coarse);
/* The line search only: post_smooth_and_measure prolongs and corrects. */
cvtm_status cvtm_grid_line_search_march(const cvtm_grid_top *top, const cvtm_grid_level *coarse);
cvtm_status cvtm_grid_post_smooth_and_measure_march(const cvtm_grid_top *top,
                                                    const cvtm_grid_level *coarse);

/* --- grid_tiles_cuda.cu --- */

cvtm_status cvtm_grid_pre_smooth_and_restrict_tiles(const cvtm_grid_top *top,
                                                    const cvtm_grid_level *level,
                                                    const cvtm_grid_level *coarse);
cvtm_status cvtm_grid_prolong_and_post_smooth_tiles(const cvtm_grid_top *top,
                                                    const cvtm_grid_level *level,
                                                    const cvtm_grid_level *coarse);

/* --- grid_galerkin_cuda.cu --- */

cvtm_status cvtm_grid_galerkin_cuda(const cvtm_grid_top *top, const cvtm_grid_level *levels,
                                    int first, int last, int all);

/* --- grid_tail_cuda.cu --- */

int cvtm_grid_is_tail_cuda(const cvtm_grid_top *top, const cvtm_grid_level *levels, int first,
                           int last);
cvtm_status cvtm_grid_tail_cycle_cuda(const cvtm_grid_top *top, const cvtm_grid_level *levels,
                                      int first, int last);
/* The last of levels first .. last whose P'AP the tail does not compute itself. */
int cvtm_grid_last_before_tail(const cvtm_grid_top *top, const cvtm_grid_level *levels, int first,
                               int last);

/* --- grid_reference_cuda.cu --- */

cvtm_status cvtm_grid_clip_start_reference(const cvtm_grid_top *top, int warm, int into_d);
cvtm_status cvtm_grid_begin_iteration_reference(const cvtm_grid_top *top,
                                                const cvtm_grid_stop_rule *rule);
cvtm_status cvtm_grid_raise_limit_reference(const cvtm_grid_top *top, int64_t limit);
cvtm_status cvtm_grid_smooth_reference(const cvtm_grid_top *top, int sweeps);
/* The step along d, and a sweep on x. */
cvtm_status cvtm_grid_step_and_smooth_reference(const cvtm_grid_top *top);
cvtm_status cvtm_grid_measure_energy_reference(const cvtm_grid_top *top);
cvtm_status cvtm_grid_mark_masked_reference(const cvtm_grid_top *top);
cvtm_status cvtm_grid_interpolation_weights_reference(const cvtm_grid_top *top,
                                                      const cvtm_grid_level *finer,
                                                      const cvtm_grid_level *coarse);
cvtm_status cvtm_grid_coarsen_data_reference(const cvtm_grid_top *top, const cvtm_grid_top *coarse,
                                             const cvtm_grid_level *level);
cvtm_status cvtm_grid_coarsen_links_reference(const cvtm_grid_top *top, const cvtm_grid_top *coarse,
                                              const cvtm_grid_level *level);
cvtm_status cvtm_grid_prolong_solution_reference(const cvtm_grid_top *top,
                                                 const cvtm_grid_top *coarse,
                                                 const cvtm_grid_level *level);

#endif

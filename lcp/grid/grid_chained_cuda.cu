/* Chained V-cycles: one march does post_smooth_and_measure and the next cycle's
 * pre_smooth_and_restrict, and does not store the iterate between them. For constant links without
 * mass and with a Dirichlet boundary; marches by other operators lack the registers.
 *
 * On a torsion problem (H200, cycles 5 to 12) a cycle takes 1.14, 1.32 and 1.39 times as long
 * without it at 1024 x 1024, 4096 x 4096 and 16384 x 16384 (monotone; tnnmg 1.12, 1.32, 1.28). */
#include "lcp/grid/grid_cuda_sums.h"
#include "lcp/grid/grid_march_correct.h"
#include "lcp/grid/grid_march_launch.h"

namespace {

/* Both phases on a strip: the second sweep follows two lines behind the first. */
template <bool bounded, bool only_lower_aligned, int rim, bool interior>
__device__ void chained_strip(const strip<rim, interior> &s, const cvtm_grid_problem *p,
                              const uniform_operator &op, const cvtm_grid_level *coarse,
                              const cvtm_grid_rules &rules, double step, unsigned *slacks,
                              double (&sum)[3]) {
  using Cached = cached_lines<true, strip<rim, interior>, 2, only_lower_aligned>;
  correction<cached_coarse<strip<rim, interior>>> from(s, coarse, s.first - 5);
  const Cached lines(s, p, p->d, s.first - 5, s.end + 5);
  sweep_lines<interior> up, down;
  restriction<bounded, true, Cached> below(lines, coarse, rules.truncated, slacks);
  march(s.first - 5, s.end + 5, [&](auto parity, int j) {
    constexpr bool odd = decltype(parity)::value;
    from.coarse.template request_ahead<odd, Cached::lines_ahead>(j);
    lines.wait_for(j);
    up.template sweep<odd>(lines, op, j, corrected<odd>(lines, rules.searched, step, j, &from));
    down.template sweep<odd>(lines, op, j - 2, up.x[2]);
    const node_pair residual = odd ? node_pair{down.red_residual_before, up.black_residual}
                                   : node_pair{up.black_residual, down.red_residual_before};
    add_natural_line<interior>(lines, op, j - 3, up.x[3], residual, sum);
    lines.store(p->x, j - 4, down.x[2]);
    if (j - 5 < s.first) return;
    below.template take<!odd>(j - 5, down.x[3], down.template residuals<odd>(lines, op, j - 2));
  });
}

/* True if there are lower bounds and no upper ones, and all arrays may be read 16 bytes at a time.
 */
__device__ bool is_only_lower_aligned(const cvtm_grid_problem &p) {
  return p.lower && !p.upper && is_aligned(p.width, p.x) && is_aligned(p.width, p.d) &&
         is_aligned(p.width, p.b) && is_aligned(p.width, p.lower);
}

/* d -> x, which are then swapped, as the two arrays of active nodes are. The norms are those of the
 * iterate between the two phases. */
template <bool bounded>
__global__ void __launch_bounds__(march_threads, blocks_per_sm)
    end_cycle_and_begin_next_march(cvtm_grid_problem *problem, uniform_operator op,
                                   cvtm_grid_level coarse, cvtm_grid_rules rules, int lines_each,
                                   unsigned *slacks, cvtm_grid_state *state, double *partial,
                                   double *history, int claimed, cudaGraphConditionalHandle handle,
                                   launch_part part) {
  pdl_trigger_and_wait();
  const cvtm_grid_problem p = *problem;
  const double step = rules.searched ? cvtm_grid_line_search_step(state) : 1.0;
  const bool only_lower_aligned = is_only_lower_aligned(p);
  double sum[3] = {0, 0, 0};
  for_own_strip<uniform_operator::rim>(
      p.width, p.height, lines_each, part.block(), [&](const auto &s) {
        if (only_lower_aligned) {
          chained_strip<bounded, true>(s, &p, op, &coarse, rules, step, slacks, sum);
        } else {
          chained_strip<bounded, false>(s, &p, op, &coarse, rules, step, slacks, sum);
        }
      });
  if (!reduce_grid(sum, 2, partial, state, part) || threadIdx.x != 0) return;
  problem->x = p.d;
  problem->d = p.x;
  problem->active = p.active_next;
  problem->active_next = p.active;
  cvtm_grid_judge(state, history, sum[0], sum[2], sum[1], 1);
  if (claimed) cudaGraphSetConditional(handle, state->loop.go_on ? 1 : 0);
}

/* d = the iterate that the last end_cycle_and_begin_next_march measured, if there was one. */
__global__ void __launch_bounds__(march_threads, blocks_per_sm)
    store_last_iterate_march(const cvtm_grid_problem *problem, uniform_operator op,
                             cvtm_grid_level coarse, int searched, int lines_each,
                             const cvtm_grid_state *state, launch_part part) {
  pdl_trigger_and_wait();
  if (state->loop.iteration == 0) return;
  cvtm_grid_problem p = *problem;
  p.d = problem->x; /* as before that march */
  p.x = problem->d;
  p.active = problem->active_next;
  const double step = searched ? cvtm_grid_line_search_step(state) : 1.0;
  double sum[3] = {0, 0, 0};
  for_own_strip<uniform_operator::rim>(
      p.width, p.height, lines_each, part.block(),
      [&](const auto &s) { post_smooth_strip(s, &p, op, &coarse, searched, step, sum); });
}

/* x = d, if chained cycles have left the iterate in d. */
__global__ void copy_iterate_kernel(const cvtm_grid_problem *problem, const cvtm_grid_state *state,
                                    double *x) {
  if (state->loop.iteration == 0) return;
  const cvtm_grid_problem p = *problem;
  if (p.d == x) return;
  for_nodes(p.width, p.height,
            [&](int64_t i, int64_t j) { x[j * p.width + i] = p.d[j * p.width + i]; });
}

__global__ void restore_problem_kernel(cvtm_grid_problem *problem, cvtm_grid_problem shape) {
  *problem = shape;
}

} /* namespace */

bool cvtm_grid_can_chain(const cvtm_grid_problem *shape) {
  return cvtm_grid_can_march(shape) && is_uniform(shape);
}

cvtm_status cvtm_grid_end_cycle_and_begin_next(const cvtm_grid_top *top,
                                               const cvtm_grid_level *coarse) {
  cvtm_status status = clear_changes(top, coarse);
  if (status != CVTM_OK) return status;
  uint64_t handle = 0;
  const int claimed = cvtm_loop_claim(top->device, &handle);
  with_flag(top->rules.bounded, [&](auto bounded) {
    status = launch_march(top, "end_cycle_and_begin_next_march",
                          end_cycle_and_begin_next_march<decltype(bounded)::value>,
                          uniform_operator_of(top->shape->constant), *coarse, top->rules,
                          lines_of<uniform_operator>(top), cvtm_grid_slacks_of(top), top->state,
                          cvtm_grid_sums_of(top), top->history, claimed,
                          static_cast<cudaGraphConditionalHandle>(handle));
  });
  return status;
}

cvtm_status cvtm_grid_store_last_iterate(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  const cvtm_status status =
      launch_march(top, "store_last_iterate_march", store_last_iterate_march,
                   uniform_operator_of(top->shape->constant), *coarse, top->rules.searched,
                   lines_of<uniform_operator>(top), top->state);
  if (status != CVTM_OK) return status;
  copy_iterate_kernel<<<blocks_for_nodes(top), tile_threads_xy(), 0, stream_of(top)>>>(
      top->problem, top->state, top->shape->x);
  restore_problem_kernel<<<1, 1, 0, stream_of(top)>>>(top->problem, *top->shape);
  return cvtm_cuda_launched(top->device, "copy_iterate_kernel");
}

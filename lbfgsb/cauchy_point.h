/* The generalised Cauchy point x^c = P(x - t^c g), where P projects onto the box. t^1 is the
 * smallest positive breakpoint, t* the minimiser of the model on the first segment. The approximate
 * point has t^c = min(t*, t^1) (Fei, Rong, Wang & Wang 2014, section 4.1). The exact point is the
 * first local minimiser along the projected gradient path (Byrd et al. 1995, section 4). */
#pragma once

#include "lbfgsb/limited_memory.h"

/* Starts the search for the exact Cauchy point at x, t = 0. first_minimum: t*. `work` must be
 * unchanged since cvtm_lbfgsb_model_curvature. */
CVTM_HD void cvtm_lbfgsb_start_walk(cvtm_lane_group group, cvtm_lbfgsb_state *state,
                                    const cvtm_lbfgsb_model *model, const cvtm_lbfgsb_work *work,
                                    cvtm_lbfgsb_walk *walk, double first_minimum) {
  const int size = 2 * state->count;
  for (int r = group.lane; r < size; r += group.lanes) {
    cvtm_lbfgsb_model_column(state, model, work, r, walk->p + r * size); /* P is symmetric */
    walk->wd[r] = -model->wg[cvtm_lbfgsb_w_column(state, work, r)];
    walk->wc[r] = walk->pwc[r] = 0.0;
  }
  cvtm_lanes_sync();
  for (int r = group.lane; r < size; r += group.lanes) {
    walk->pwd[r] = cvtm_small_dot(walk->p + r * size, walk->wd, size);
  }
  if (group.lane == 0) {
    state->walk_t = 0.0;
    state->walk_dd = state->free_gg;
    state->window_start = 0.0;
    state->window_end = 2.0 * first_minimum;
    state->needs_breakpoints = 1;
  }
  cvtm_lanes_sync();
}

/* The minimiser of the model on the ray that extends the segment beginning at t: t - f' / f''.
 * first, second: f' and f''. If few variables still move, f'' may consist of rounding errors, so it
 * is kept positive. */
CVTM_HD double cvtm_lbfgsb_ray_minimum(const cvtm_lbfgsb_state *state, double t, double dd,
                                       double first, double second) {
  const double least = DBL_EPSILON * state->walk_second;
  if (!(second > least)) second = least;
  if (!(first < 0.0) || !(dd > DBL_EPSILON * state->free_gg)) return t;
  return t - first / second;
}

/* cvtm_lbfgsb_ray_minimum at walk_t, with f' = -d'd (1 - theta t) - d'W P W'(x(t) - x) and f'' =
 * theta d'd - d'W P W'd, Byrd et al. (4.4) and (4.5). */
CVTM_HD double cvtm_lbfgsb_walk_minimum(cvtm_lane_group group, const cvtm_lbfgsb_state *state,
                                        const cvtm_lbfgsb_walk *walk) {
  double first = 0.0, second = 0.0;
  for (int r = group.lane; r < 2 * state->count; r += group.lanes) {
    first += walk->wd[r] * walk->pwc[r];
    second += walk->wd[r] * walk->pwd[r];
  }
  first = -state->walk_dd * (1.0 - state->theta * state->walk_t) - cvtm_lanes_sum(first);
  second = state->theta * state->walk_dd - cvtm_lanes_sum(second);
  return cvtm_lbfgsb_ray_minimum(state, state->walk_t, state->walk_dd, first, second);
}

/* Moves along the segment from walk_t to t, where a variable reaches its bound and stops. g, w: the
 * gradient of this variable and its row of W (in order of age). g = 0: no variable stops. */
CVTM_HD void cvtm_lbfgsb_walk_to(cvtm_lane_group group, cvtm_lbfgsb_state *state,
                                 cvtm_lbfgsb_walk *walk, double t, double g, const double *w) {
  const int size = 2 * state->count;
  const double by = t - state->walk_t;
  for (int r = group.lane; r < size; r += group.lanes) {
    walk->wc[r] += by * walk->wd[r];
    walk->pwc[r] += by * walk->pwd[r];
    if (g == 0.0) continue;
    walk->pwd[r] += g * cvtm_small_dot(walk->p + r * size, w, size);
    walk->wd[r] += g * w[r];
  }
  cvtm_lanes_sync();
  if (group.lane == 0) {
    state->walk_t = t;
    state->walk_dd -= g * g;
  }
  cvtm_lanes_sync();
}

/* Called after the last breakpoint of the window: takes the minimiser as the Cauchy point if it
 * lies within the window, else asks for the next window. */
CVTM_HD void cvtm_lbfgsb_end_window(cvtm_lane_group group, cvtm_lbfgsb_state *state,
                                    cvtm_lbfgsb_model *model, const cvtm_lbfgsb_work *work,
                                    cvtm_lbfgsb_walk *walk) {
  const double minimum = cvtm_lbfgsb_walk_minimum(group, state, walk);
  const int more = minimum > state->window_end;
  cvtm_lanes_sync();
  if (more) {
    if (group.lane == 0) {
      state->window_start = state->window_end;
      state->window_end = 2.0 * minimum;
    }
    cvtm_lanes_sync();
    return;
  }
  cvtm_lbfgsb_walk_to(group, state, walk, minimum, 0.0, NULL);
  for (int r = group.lane; r < 2 * state->count; r += group.lanes) {
    model->wc[cvtm_lbfgsb_w_column(state, work, r)] = walk->wc[r];
  }
  if (group.lane == 0) {
    state->cauchy = minimum;
    state->needs_breakpoints = 0;
    state->needs_restriction = minimum >= state->first_breakpoint;
  }
  cvtm_lanes_sync();
}

/* Sets t^c = min(t*, t^1), and asks to restrict the free rows if t^c = t^1. second: f'' along the
 * projected gradient; if it is not positive, the history is dropped. Called by one lane. */
CVTM_HD void cvtm_lbfgsb_choose_cauchy(cvtm_lbfgsb_state *state, double second) {
  if (!(second > 0.0 && cvtm_is_finite(state->theta)) && state->count > 0) {
    cvtm_lbfgsb_drop_history(state);
    state->restarts++;
    second = state->free_gg;
  }
  const double t = second > 0.0 ? state->free_gg / second : 1.0;
  const int first_segment = t < state->first_breakpoint;
  state->walk_second = second;
  state->cauchy = first_segment ? t : state->first_breakpoint;
  state->needs_restriction = state->bounded && state->count > 0 && !first_segment;
}

/* Sets the approximate Cauchy point, or starts the search for the exact one if t* is beyond the
 * first breakpoint. second: f'', the result of cvtm_lbfgsb_model_curvature; `work` must be
 * unchanged since that call. */
CVTM_HD void cvtm_lbfgsb_decide_cauchy(cvtm_lane_group group, cvtm_lbfgsb_state *state,
                                       cvtm_lbfgsb_model *model, const cvtm_lbfgsb_work *work,
                                       cvtm_lbfgsb_walk *walk, double second) {
  if (group.lane == 0) cvtm_lbfgsb_choose_cauchy(state, second);
  cvtm_lanes_sync();
  for (int p = group.lane; p < 2 * state->history; p += group.lanes) {
    model->wc[p] = -state->cauchy * model->wg[p];
  }
  cvtm_lanes_sync();
  if (state->exact && state->needs_restriction) {
    cvtm_lanes_sync();
    if (group.lane == 0) state->needs_restriction = 0;
    cvtm_lbfgsb_start_walk(group, state, model, work, walk, state->free_gg / state->walk_second);
  }
}

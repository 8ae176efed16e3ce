#include "lcp/grid_cycle.h"

static int threads_of(const cvtm_grid_top *top) { return cvtm_device_threads(top->device); }

static int64_t partials(int64_t width, int64_t height) {
  (void)width;
  return CVTM_GRID_SUMS * height;
}

static cvtm_status start(const cvtm_grid_top *top, int warm, int into_d) {
  const cvtm_grid_problem *p = top->problem;
  double *out = into_d ? p->d : p->x;
  const int64_t count = p->width * p->height;
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t k = 0; k < count; ++k) {
    const double value = warm ? p->x[k] : 0.0;
    out[k] = cvtm_grid_masked(p, k)
                 ? 0.0
                 : cvtm_grid_clip(value, cvtm_grid_lower(p, k), cvtm_grid_upper(p, k));
  }
  return CVTM_OK;
}

typedef struct norms {
  double squares, maximum, rounding;
} norms;

/* Rows are summed one by one and then in order, whatever the number of threads. */
static norms natural_norms(const cvtm_grid_top *top, const double *x) {
  const cvtm_grid_problem *p = top->problem;
  double *partial = top->partial;
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t j = 0; j < p->height; ++j) {
    double squares = 0, maximum = 0, rounding = 0;
    for (int64_t i = 0; i < p->width; ++i) {
      const int64_t k = j * p->width + i;
      if (cvtm_grid_masked(p, k)) continue;
      const cvtm_grid_natural n = cvtm_grid_natural_residual(p, x, i, j);
      squares += n.residual * n.residual;
      rounding += n.size * n.size;
      if (!(fabs(n.residual) <= maximum)) maximum = fabs(n.residual);
    }
    partial[3 * j] = squares;
    partial[3 * j + 1] = maximum;
    partial[3 * j + 2] = rounding;
  }
  norms sum = {0, 0, 0};
  for (int64_t j = 0; j < p->height; ++j) {
    sum.squares += partial[3 * j];
    if (!(partial[3 * j + 1] <= sum.maximum)) sum.maximum = partial[3 * j + 1];
    sum.rounding += partial[3 * j + 2];
  }
  return sum;
}

static cvtm_status measure_cold(const cvtm_grid_top *top) {
  top->state->cold = sqrt(natural_norms(top, top->problem->d).squares);
  return CVTM_OK;
}

static cvtm_status begin(const cvtm_grid_top *top, const cvtm_grid_course *course) {
  cvtm_grid_begin(top->state, course);
  return CVTM_OK;
}

static cvtm_status resume(const cvtm_grid_top *top, int64_t limit) {
  top->state->course.limit = limit;
  top->state->course.go_on = 1;
  return CVTM_OK;
}

static cvtm_status measure(const cvtm_grid_top *top, int counted) {
  const norms n = natural_norms(top, top->problem->x);
  cvtm_grid_judge(top->state, top->history, n.squares, n.maximum, n.rounding, counted);
  return CVTM_OK;
}

static cvtm_status smooth(const cvtm_grid_top *top, int sweeps) {
  const cvtm_grid_problem *p = top->problem;
  for (int colour = 0; colour < 2 * sweeps; ++colour) {
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
    for (int64_t j = 0; j < p->height; ++j) {
      for (int64_t i = (j + colour) & 1; i < p->width; i += 2) {
        const int64_t k = j * p->width + i;
        if (cvtm_grid_masked(p, k)) continue;
        p->x[k] = cvtm_grid_relaxed(p, p->x, i, j, top->rules.omega);
      }
    }
  }
  return CVTM_OK;
}

static cvtm_status free_active(const cvtm_grid_top *top) {
  const cvtm_grid_problem *p = top->problem;
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t k = 0; k < p->width * p->height; ++k) {
    p->active[k] = (uint8_t)cvtm_grid_masked(p, k);
  }
  return CVTM_OK;
}

static cvtm_status descend(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  const cvtm_grid_problem *p = top->problem;
  smooth(top, top->rules.pre);
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t y = 0; y < coarse->height; ++y) {
    for (int64_t x = 0; x < coarse->width; ++x) cvtm_grid_descend(p, coarse, &top->rules, x, y);
  }
  /* The marks of last time are compared before they are replaced. */
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t k = 0; k < p->width * p->height; ++k) {
    p->active[k] = (uint8_t)cvtm_grid_now_active(p, top->rules.truncated, k);
  }
  return CVTM_OK;
}

static cvtm_grid_finer finer_of(const cvtm_grid_top *top, const cvtm_grid_level *finer) {
  const cvtm_grid_finer f = {finer ? NULL : top->problem, finer};
  return f;
}

static cvtm_status galerkin(const cvtm_grid_top *top, const cvtm_grid_level *finer,
                            const cvtm_grid_level *coarse, int all) {
  const cvtm_grid_finer f = finer_of(top, finer);
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t y = 0; y < coarse->height; ++y) {
    for (int64_t x = 0; x < coarse->width; ++x) {
      const int due = cvtm_grid_due(&f, coarse, x, y, all);
      coarse->fresh[y * coarse->width + x] = (uint8_t)due;
      if (due) cvtm_grid_galerkin(&f, coarse, x, y);
    }
  }
  return CVTM_OK;
}

static cvtm_status weights(const cvtm_grid_top *top, const cvtm_grid_level *finer,
                           const cvtm_grid_level *coarse) {
  const cvtm_grid_finer f = finer_of(top, finer);
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t y = 0; y < coarse->blocks_y; ++y) {
    for (int64_t x = 0; x < coarse->blocks_x; ++x) cvtm_grid_weights(&f, coarse, x, y);
  }
  return CVTM_OK;
}

static void relax(const cvtm_grid_top *top, const cvtm_grid_level *level, int sweeps) {
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    for (int colour = 0; colour < 4; ++colour) {
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
      for (int64_t y = colour >> 1; y < level->height; y += 2) {
        for (int64_t x = colour & 1; x < level->width; x += 2) {
          level->e[y * level->width + x] =
              cvtm_grid_coarse_relaxed(level, top->rules.bounded, x, y);
        }
      }
    }
  }
}

static void clear(const cvtm_grid_level *level) {
  for (int64_t k = 0; k < level->width * level->height; ++k) level->e[k] = 0;
}

static cvtm_status down(const cvtm_grid_top *top, const cvtm_grid_level *level,
                        const cvtm_grid_level *coarse) {
  clear(level);
  relax(top, level, top->rules.pre);
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t y = 0; y < coarse->height; ++y) {
    for (int64_t x = 0; x < coarse->width; ++x) cvtm_grid_down(level, coarse, &top->rules, x, y);
  }
  return CVTM_OK;
}

static cvtm_status up(const cvtm_grid_top *top, const cvtm_grid_level *level,
                      const cvtm_grid_level *coarse) {
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t y = 0; y < level->height; ++y) {
    for (int64_t x = 0; x < level->width; ++x) {
      level->e[y * level->width + x] += cvtm_grid_prolonged(coarse, coarse->e, x, y);
    }
  }
  relax(top, level, top->rules.post);
  return CVTM_OK;
}

static cvtm_status tail(const cvtm_grid_top *top, const cvtm_grid_level *finer,
                        const cvtm_grid_level *levels, int first, int last) {
  for (int l = first; l <= last; ++l) {
    galerkin(top, l == first ? finer : &levels[l - 1], &levels[l], 0);
  }
  for (int l = first; l < last; ++l) down(top, &levels[l], &levels[l + 1]);
  clear(&levels[last]);
  relax(top, &levels[last], CVTM_GRID_BOTTOM_SWEEPS);
  for (int l = last - 1; l >= first; --l) up(top, &levels[l], &levels[l + 1]);
  return CVTM_OK;
}

static cvtm_status correct(const cvtm_grid_top *top, const cvtm_grid_level *coarse) {
  const cvtm_grid_problem *p = top->problem;
  double *out = top->rules.searched ? p->d : p->x;
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t j = 0; j < p->height; ++j) {
    for (int64_t i = 0; i < p->width; ++i) {
      const int64_t k = j * p->width + i;
      const double moved = cvtm_grid_corrected(p, coarse, i, j);
      out[k] = top->rules.searched ? moved - p->x[k] : moved;
    }
  }
  if (!top->rules.searched) return CVTM_OK;
  double *partial = top->partial;
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t j = 0; j < p->height; ++j) {
    double slope = 0, bend = 0;
    for (int64_t i = 0; i < p->width; ++i) cvtm_grid_search(p, i, j, &slope, &bend);
    partial[2 * j] = slope;
    partial[2 * j + 1] = bend;
  }
  top->state->slope = top->state->bend = 0;
  for (int64_t j = 0; j < p->height; ++j) {
    top->state->slope += partial[2 * j];
    top->state->bend += partial[2 * j + 1];
  }
  return CVTM_OK;
}

static cvtm_status ascend(const cvtm_grid_top *top) {
  const cvtm_grid_problem *p = top->problem;
  if (top->rules.searched) {
    const double step = cvtm_grid_step(top->state);
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
    for (int64_t k = 0; k < p->width * p->height; ++k) p->x[k] = cvtm_grid_moved(p, k, step);
  }
  smooth(top, top->rules.post);
  return measure(top, 1);
}

static cvtm_status coarsen_data(const cvtm_grid_top *top, const cvtm_grid_top *coarse,
                                const cvtm_grid_level *level) {
  const cvtm_grid_problem *c = coarse->problem;
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t y = 0; y < c->height; ++y) {
    for (int64_t x = 0; x < c->width; ++x) cvtm_grid_coarsen_data(top->problem, c, level, x, y);
  }
  return CVTM_OK;
}

static cvtm_status coarsen_links(const cvtm_grid_top *top, const cvtm_grid_top *coarse,
                                 const cvtm_grid_level *level) {
  const cvtm_grid_problem *c = coarse->problem;
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t y = 0; y <= c->height; ++y) {
    for (int64_t x = 0; x <= c->width; ++x) cvtm_grid_coarsen_links(top->problem, c, level, x, y);
  }
  return CVTM_OK;
}

static cvtm_status prolong_start(const cvtm_grid_top *top, const cvtm_grid_top *coarse,
                                 const cvtm_grid_level *level) {
  const cvtm_grid_problem *p = top->problem;
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t j = 0; j < p->height; ++j) {
    for (int64_t i = 0; i < p->width; ++i) {
      p->x[j * p->width + i] = cvtm_grid_started(p, level, coarse->problem->x, i, j);
    }
  }
  return CVTM_OK;
}

static cvtm_status keep_best(const cvtm_grid_top *top, int back) {
  const cvtm_grid_problem *p = top->problem;
  const int wanted = back ? !top->state->course.improved : top->state->course.improved;
  if (!wanted) return CVTM_OK;
  const double *from = back ? p->d : p->x;
  double *to = back ? p->x : p->d;
#pragma omp parallel for num_threads(threads_of(top)) schedule(static)
  for (int64_t k = 0; k < p->width * p->height; ++k) to[k] = from[k];
  return CVTM_OK;
}

static cvtm_status finish(const cvtm_grid_top *top) {
  const cvtm_grid_problem *p = top->problem;
  double *partial = top->partial;
  int64_t lower = 0, upper = 0;
#pragma omp parallel for num_threads(threads_of(top)) schedule(static) reduction(+ : lower, upper)
  for (int64_t j = 0; j < p->height; ++j) {
    partial[j] = 0;
    for (int64_t i = 0; i < p->width; ++i) {
      const int64_t k = j * p->width + i;
      if (cvtm_grid_masked(p, k)) continue;
      partial[j] += cvtm_grid_energy(p, i, j);
      lower += p->x[k] <= cvtm_grid_lower(p, k);
      upper += p->x[k] >= cvtm_grid_upper(p, k);
    }
  }
  top->state->energy = 0;
  for (int64_t j = 0; j < p->height; ++j) top->state->energy += partial[j];
  top->state->active_lower = lower;
  top->state->active_upper = upper;
  return CVTM_OK;
}

const cvtm_grid_table cvtm_grid_table_cpu = {
    .partials = partials,
    .start = start,
    .measure_cold = measure_cold,
    .begin = begin,
    .resume = resume,
    .measure = measure,
    .smooth = smooth,
    .free_active = free_active,
    .descend = descend,
    .galerkin = galerkin,
    .weights = weights,
    .down = down,
    .up = up,
    .tail_nodes = 0,
    .tail = tail,
    .correct = correct,
    .ascend = ascend,
    .coarsen_data = coarsen_data,
    .coarsen_links = coarsen_links,
    .prolong_start = prolong_start,
    .keep_best = keep_best,
    .finish = finish,
};

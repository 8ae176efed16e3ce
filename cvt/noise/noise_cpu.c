#include "cvt/noise/noise_kernels.h"

enum { LANES = CVTM_KERNEL_LANES };

/* --- sorting ---------------------------------------------------------------------------------- */

/* Counts the sources of each class. Returns the least variance. */
static double divide_into_classes(const cvtm_kernel_cells *cells, const cvtm_kernel_source *source,
                                  int64_t count) {
  double least = INFINITY;
  for (int64_t i = 0; i < count; ++i) least = fmin(least, source[i].variance);
  memset(cells->classes, 0, CVTM_WIDTH_CLASSES * sizeof *cells->classes);
  for (int64_t i = 0; i < count; ++i) {
    cvtm_width_class *c = &cells->classes[cvtm_width_class_of(source[i].variance, least)];
    ++c->count;
    c->widest = fmax(c->widest, source[i].variance);
  }
  return least;
}

/* Sorts the sources by cells, by counting. number: the number of cells. */
static void sort_by_cell(const cvtm_kernel_cells *cells, int64_t number,
                         const cvtm_kernel_source *source, int64_t count) {
  int64_t *starts = cells->starts;
  memset(starts, 0, (size_t)(number + 1) * sizeof *starts);
  for (int64_t i = 0; i < count; ++i) ++starts[cells->cell[i] + 1];
  for (int64_t c = 0; c < number; ++c) starts[c + 1] += starts[c];
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = starts[cells->cell[i]]++;
    cells->order[at] = (int32_t)i;
    cvtm_kernel_store(cells, source, (int32_t)i, at);
  }
  for (int64_t c = number; c > 0; --c) starts[c] = starts[c - 1];
  starts[0] = 0;
}

static cvtm_status sort_cpu(cvtm_device *device, const cvtm_kernel_cells *cells,
                            const cvtm_kernel_source *source, int64_t count) {
  (void)device;
  const double least = divide_into_classes(cells, source, count);
  const int64_t number = cvtm_width_classes_shape(cells->domain, least, cells->classes);
  for (int64_t i = 0; i < count; ++i) {
    const cvtm_width_class *c = &cells->classes[cvtm_width_class_of(source[i].variance, least)];
    cells->cell[i] = cvtm_kernel_cell_of(c, source[i].x, source[i].y);
  }
  sort_by_cell(cells, number, source, count);
  return CVTM_OK;
}

/* --- sums ------------------------------------------------------------------------------------- */

/* The sums of each lane: lane k sums sources k, k + LANES, ... of each run. */
typedef struct lane_sums {
  double value[LANES], by_x[LANES], by_y[LANES], by_width[LANES];
} lane_sums;

CVTM_INLINE void add_lane(const cvtm_kernel_cells *cells, const cvtm_kernel_run *run, int64_t j,
                          double strength, double square, int lane, lane_sums *s) {
  const cvtm_kernel_sum term = cvtm_kernel_term(cells, j, strength, run->x, run->y, square);
  s->value[lane] += term.value;
  s->by_x[lane] += term.by_x;
  s->by_y[lane] += term.by_y;
  s->by_width[lane] += term.by_log_width;
}

/* Adds the sources of a run. The last lanes may read sources beyond the run, with strength 0. */
CVTM_INLINE void add_run(const cvtm_kernel_cells *cells, const cvtm_kernel_run *run, double square,
                         lane_sums *s) {
  lane_sums sums = *s;
  int64_t j = run->begin;
  for (; j + LANES <= run->end; j += LANES) {
#pragma omp simd
    for (int lane = 0; lane < LANES; ++lane)
      add_lane(cells, run, j + lane, cells->strength[j + lane], square, lane, &sums);
  }
  const int rest = (int)(run->end - j);
  if (rest > 0) {
    double strength[LANES];
    for (int lane = 0; lane < LANES; ++lane)
      strength[lane] = lane < rest ? cells->strength[j + lane] : 0;
#pragma omp simd
    for (int lane = 0; lane < LANES; ++lane)
      add_lane(cells, run, j + lane, strength[lane], square, lane, &sums);
  }
  *s = sums;
}

CVTM_DEFINE_WIDTHS(void, add_run,
                   (const cvtm_kernel_cells *cells, const cvtm_kernel_run *run, double square,
                    lane_sums *s),
                   (cells, run, square, s))

static double sum_lanes(const double *lane) { return (lane[0] + lane[1]) + (lane[2] + lane[3]); }

static cvtm_kernel_sum sum_at(const cvtm_kernel_cells *cells, const cvtm_kernel_source *p,
                              int wide) {
  const double square = p->width * p->width;
  lane_sums s = {{0}, {0}, {0}, {0}};
  for (int k = 0; k < CVTM_WIDTH_CLASSES; ++k) {
    const cvtm_width_class *c = &cells->classes[k];
    cvtm_kernel_run run;
    if (c->count == 0) continue;
    cvtm_kernel_walk walk = cvtm_kernel_walk_from(c, cells->domain.periodic, p->x, p->y, square);
    while (cvtm_kernel_walk_next(cells, c, &walk, &run))
      (wide ? add_run_wide : add_run_baseline)(cells, &run, square, &s);
  }
  return (cvtm_kernel_sum){p->width * sum_lanes(s.value), p->width * sum_lanes(s.by_x),
                           p->width * sum_lanes(s.by_y), p->width * sum_lanes(s.by_width)};
}

static cvtm_status sums_cpu(cvtm_device *device, const cvtm_kernel_cells *cells,
                            const cvtm_kernel_source *place, const int32_t *order, int64_t count,
                            cvtm_kernel_sum *sum) {
  const int wide = cvtm_has_wide_vectors();
#pragma omp parallel for schedule(dynamic, 128) num_threads(cvtm_device_threads(device))
  for (int64_t k = 0; k < count; ++k) {
    const int64_t i = order != NULL ? order[k] : k;
    sum[i] = sum_at(cells, &place[i], wide);
  }
  return CVTM_OK;
}

/* --- points ----------------------------------------------------------------------------------- */

static cvtm_status gradient_cpu(cvtm_device *device, const cvtm_noise_points *points, double *f,
                                double *g) {
#pragma omp parallel for schedule(static) num_threads(cvtm_device_threads(device))
  for (int64_t i = 0; i < points->count; ++i) cvtm_noise_gradient(points, g, i);
  double energy = 0;
  for (int64_t i = 0; i < points->count; ++i) energy += points->term[i];
  f[0] = energy;
  return CVTM_OK;
}

CVTM_NOISE_PHASES(CVTM_PHASE_CPU)

const cvtm_noise_table cvtm_noise_table_cpu = {.sort = sort_cpu,
                                               .sums = sums_cpu,
                                               .gradient = gradient_cpu,
                                               CVTM_NOISE_PHASES(CVTM_PHASE_CPU_NAME)};

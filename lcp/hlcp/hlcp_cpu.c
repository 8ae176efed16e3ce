#include "base/host.h"
#include "lcp/hlcp/hlcp_kernels.h"

#include <string.h>

/* The residual is summed over parts of complete slices. */
enum { PART_SLICES = 32, PART_ROWS = PART_SLICES * CVTM_SLICE_ROWS, AUTOMATIC_BLOCKS = 64 };

static int64_t cpu_parts(int64_t n) { return (n + PART_ROWS - 1) / PART_ROWS; }

/* The number of threads, fewer for small problems. */
static int threads_for(const cvtm_device *device, int64_t n) {
  const int64_t useful = 1 + n / (8 * PART_ROWS);
  const int threads = cvtm_device_threads(device);
  return useful < threads ? (int)useful : threads;
}

/* Sums over the rows of a slice, one per lane. */
typedef struct lanes {
  double half[CVTM_SLICE_ROWS];
  double a[CVTM_SLICE_ROWS], b[CVTM_SLICE_ROWS]; /* diagonals */
} lanes;

/* Adds the products of the rows of a slice to `half`, and their diagonal entries to `diagonal`. m:
 * A if `positive`, else B Omega. */
CVTM_INLINE void add_slice(const cvtm_sell *m, int64_t slice, const double *x, int positive,
                           double *half, double *diagonal) {
  const int32_t first = (int32_t)(slice * CVTM_SLICE_ROWS);
  for (int64_t k = m->slice_start[slice]; k < m->slice_start[slice + 1]; k += CVTM_SLICE_ROWS) {
    const int32_t *column = m->column + k;
    const double *value = m->value + k;
    for (int lane = 0; lane < CVTM_SLICE_ROWS; ++lane) {
      const double at = x[column[lane]];
      half[lane] += value[lane] * (positive ? cvtm_hlcp_plus(at) : cvtm_hlcp_minus(at));
      diagonal[lane] += column[lane] == first + lane ? value[lane] : 0;
    }
  }
}

static void residual_lanes(const cvtm_hlcp_arrays *s, int64_t slice, lanes *l) {
  memset(l, 0, sizeof *l);
  add_slice(&s->a, slice, s->x, 1, l->half, l->a);
  add_slice(&s->b, slice, s->x, 0, l->half, l->b);
}

static double residual_part(const cvtm_hlcp_arrays *s, int64_t part) {
  const int64_t end = (part + 1) * PART_ROWS < s->n ? (part + 1) * PART_ROWS : s->n;
  double squares = 0;
  for (int64_t first = part * PART_ROWS; first < end; first += CVTM_SLICE_ROWS) {
    lanes l;
    residual_lanes(s, first / CVTM_SLICE_ROWS, &l);
    const int64_t width = end - first < CVTM_SLICE_ROWS ? end - first : CVTM_SLICE_ROWS;
    for (int64_t lane = 0; lane < width; ++lane) {
      const double r = cvtm_hlcp_residual(l.half[lane], s->gamma, s->q[first + lane]);
      s->change[first + lane] = cvtm_hlcp_change(r, l.a[lane], l.b[lane], s->alpha, s->share);
      squares += r * r;
    }
  }
  return squares;
}

static cvtm_status cpu_residual(cvtm_device *device, const cvtm_hlcp_arrays *s) {
  const int64_t parts = cpu_parts(s->n);
  const int threads = threads_for(device, s->n);
  (void)threads; /* without OpenMP */
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t part = 0; part < parts; ++part) s->partial[part] = residual_part(s, part);
  return CVTM_OK;
}

static cvtm_status cpu_check(cvtm_device *device, const cvtm_hlcp_arrays *s) {
  (void)device;
  double squares = 0;
  for (int64_t part = 0; part < cpu_parts(s->n); ++part) squares += s->partial[part];
  cvtm_hlcp_check(s->state, squares, s->gamma);
  return CVTM_OK;
}

static cvtm_status cpu_correct(cvtm_device *device, const cvtm_hlcp_arrays *s) {
  if (!s->state->apply) return CVTM_OK;
  const cvtm_hlcp_systems *t = &s->systems;
  const int threads = threads_for(device, s->n);
  (void)threads;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t k = 0; k < t->blocks; ++k) {
    const int64_t end = cvtm_hlcp_block_start(s->n, t->blocks, k + 1);
    for (int64_t e = cvtm_hlcp_block_start(s->n, t->blocks, k); e < end; ++e)
      cvtm_hlcp_solve_unknown(s, e);
  }
  return CVTM_OK;
}

CVTM_HLCP_ROW_PHASES(CVTM_PHASE_CPU)

/* --- Newton's method on a grid -------------------------------------------------------- */

static int64_t cpu_pixel_parts(int64_t width, int64_t height) {
  (void)width;
  return height;
}

static cvtm_status cpu_pixels(cvtm_device *device, const cvtm_hlcp_pixels *s) {
  const int threads = threads_for(device, s->links.width * s->links.height);
  (void)threads;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t j = 0; j < s->links.height; ++j) {
    const cvtm_hlcp_pixels own = *s; /* no store of the loop can change a copy */
    double sums[2] = {0, 0};
    for (int64_t i = 0; i < own.links.width; ++i)
      if (cvtm_hlcp_add_pixel(&own, i, j, sums))
        cvtm_hlcp_set_diagonal(&own, j * own.links.width + i);
    s->squares[j] = sums[0];
    s->squares[s->links.height + j] = sums[1];
  }
  return CVTM_OK;
}

const cvtm_hlcp_table cvtm_hlcp_table_cpu = {.automatic_block = 0,
                                             .automatic_blocks = AUTOMATIC_BLOCKS,
                                             .parts = cpu_parts,
                                             .residual = cpu_residual,
                                             .check = cpu_check,
                                             .correct = cpu_correct,
                                             .pixel_parts = cpu_pixel_parts,
                                             .pixels = cpu_pixels,
                                             CVTM_HLCP_ROW_PHASES(CVTM_PHASE_CPU_NAME)};

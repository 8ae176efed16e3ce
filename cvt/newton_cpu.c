#include "base/primitives.h"
#include "cvt/cell_host.h"
#include "cvt/newton.h"

/* The number of threads for a loop that does few operations per site. */
static int threads_of(const cvtm_newton *n) {
  return n->count < 5000 ? 1 : cvtm_device_threads(n->cvt->device);
}

/* Row by row in any order; where in `block` a row stands has no effect on sums. */
static void set_row(cvtm_hessian *h, const cvtm_hessian_cells *cells, int64_t place,
                    const cvtm_cell *cell) {
  const int64_t i = cells->tree.index[place];
  double diagonal[3] = {0, 0, 0};
  int32_t first;
#pragma omp atomic capture
  {
    first = *h->used;
    *h->used += cell->count;
  }
  const int fits = (int64_t)first + cell->count <= h->capacity;
  if (!fits) h->used[1] = 1;
  h->first[i] = first;
  h->degree[i] = fits ? cell->count : 0;
  for (int32_t k = 0; k < h->degree[i]; ++k)
    h->neighbor[first + k] =
        cvtm_hessian_side(cells, place, cell, k, h->block + 4 * ((int64_t)first + k), diagonal);
  cvtm_hessian_end_row(h, &cells->moments[i], i, diagonal);
}

static cvtm_status assemble_cpu(cvtm_newton *n) {
  cvtm_cvt *cvt = n->cvt;
  const cvtm_hessian_cells cells = {cvtm_site_tree_get_view(cvt->tree), cvt->domain,
                                    cvt->density.value, cvt->moments};
  int good = 1;
#pragma omp parallel num_threads(cvtm_device_threads(cvt->device)) reduction(&& : good)
  {
    cvtm_cell cell = {0};
    good = cvtm_cell_grow(&cell, CVTM_CELL_CORNERS);
#pragma omp for schedule(dynamic, 256)
    for (int64_t place = 0; place < n->count; ++place) {
      good = good && cvtm_cell_cut_out(&cells.tree, cells.domain, place, &cell);
      if (good) set_row(&n->hessian, &cells, place, &cell);
    }
    cvtm_cell_release(&cell);
  }
  return good ? CVTM_OK
              : cvtm_fail(cvtm_device_error(cvt->device), CVTM_ERROR_MEMORY,
                          "no memory for %lld cells", (long long)n->count);
}

static cvtm_status sum_rows(const cvtm_newton *n, double *sum) {
  return cvtm_reduce(n->cvt->device, CVTM_REDUCE_SUM, n->row, n->count, sum, n->workspace,
                     n->workspace_bytes);
}

static cvtm_status solve_cpu(cvtm_newton *n, double tolerance, int32_t max_products) {
  double *last = n->direction, *next = n->next_direction;
  double sum = 0;
  for (int64_t i = 0; i < n->count; ++i) n->row[i] = cvtm_newton_begin_row(n, i);
  cvtm_status status = sum_rows(n, &sum);
  cvtm_cg cg = cvtm_cg_begin(sum, tolerance, max_products);
  while (status == CVTM_OK && cg.running) {
#pragma omp parallel for num_threads(threads_of(n)) schedule(static)
    for (int64_t i = 0; i < n->count; ++i)
      n->row[i] = cvtm_newton_multiply_row(n, last, cg.beta, next, i);
    status = sum_rows(n, &sum);
    cvtm_newton_set_alpha(&cg, sum);
#pragma omp parallel for num_threads(threads_of(n)) schedule(static)
    for (int64_t i = 0; i < n->count; ++i) n->row[i] = cvtm_newton_move_row(n, next, cg.alpha, i);
    if (status == CVTM_OK) status = sum_rows(n, &sum);
    cvtm_cg_set_beta(&cg, sum);
    double *swap = last;
    last = next;
    next = swap;
  }
  n->figures[CVTM_NEWTON_PRODUCTS] = cg.iteration;
  return status;
}

static cvtm_status lengths_cpu(cvtm_newton *n) {
  for (int64_t i = 0; i < n->count; ++i)
    n->row[i] = cvtm_newton_row_length(n, &n->cvt->moments[i], i);
  return CVTM_OK;
}

static cvtm_status advance_cpu(cvtm_newton *n, double length) {
  for (int64_t i = 0; i < n->count; ++i)
    cvtm_newton_advance_row(n, n->cvt->domain, n->cvt->sites, length, i);
  return CVTM_OK;
}

const cvtm_newton_table cvtm_newton_cpu = {assemble_cpu, solve_cpu, lengths_cpu, advance_cpu};

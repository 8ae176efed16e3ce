#include "lcp/hlcp/problems.h"

#include "base/portable.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry {
  int64_t shift; /* column - row */
  int along;     /* -1, 0 or 1: the part of the shift within a grid line */
  double a, b;
} entry;

enum { STENCIL_ENTRIES = 5 };

typedef struct hlcp_stencil {
  int64_t size, n;
  int count;
  entry entries[STENCIL_ENTRIES]; /* shifts ascending */
} hlcp_stencil;

static void stencil_of(int example, int64_t size, double mu, double nu, hlcp_stencil *s) {
  const entry first[] = {
      {-1, -1, -1, -1}, {0, 0, 4, 4}, {1, 1, -1, -1}, {size, 0, -1, 0}, {2 * size, 0, -1, 0}};
  const entry second[] = {{-size, 0, -1, 0},
                          {-1, -1, -1, -1},
                          {0, 0, 4 + mu, 4 + nu},
                          {1, 1, -1, -1},
                          {size, 0, -1, 0}};
  const entry third[] = {{-size, 0, -1.5, 0},
                         {-1, -1, -1.5, -1.5},
                         {0, 0, 4 + mu, 4 + nu},
                         {1, 1, -0.5, -0.5},
                         {size, 0, -0.5, 0}};
  s->size = size;
  s->n = size * size;
  s->count = STENCIL_ENTRIES;
  memcpy(s->entries, example == 1 ? first : example == 2 ? second : third, sizeof s->entries);
}

static int has_entry(const hlcp_stencil *s, int64_t row, const entry *e) {
  const int64_t along = row % s->size + e->along;
  const int64_t column = row + e->shift;
  return along >= 0 && along < s->size && column >= 0 && column < s->n;
}

static int in_b(const entry *e) { return e->along != 0 || e->shift == 0; }

/* The number of entries of a row of A (which = 0) or B (1), which are written if csr is not NULL.
 */
static int64_t put_row(const hlcp_stencil *s, int64_t row, int which, cvtm_csr *csr) {
  int64_t count = 0;
  for (int k = 0; k < s->count; ++k) {
    const entry *e = &s->entries[k];
    if (!has_entry(s, row, e) || (which == 1 && !in_b(e))) continue;
    if (csr != NULL) {
      const int64_t place = csr->row_start[row] + count;
      csr->column[place] = (int32_t)(row + e->shift);
      csr->value[place] = which == 1 ? e->b : e->a;
    }
    ++count;
  }
  return count;
}

static cvtm_status put_matrix(const hlcp_stencil *s, int which, cvtm_csr *csr, cvtm_error *error) {
  int64_t count = 0;
  for (int64_t row = 0; row < s->n; ++row) count += put_row(s, row, which, NULL);
  const cvtm_status status = cvtm_csr_create(s->n, s->n, count, csr, error);
  if (status != CVTM_OK) return status;
  for (int64_t row = 0; row < s->n; ++row) {
    csr->row_start[row + 1] = csr->row_start[row] + put_row(s, row, which, csr);
  }
  return CVTM_OK;
}

/* q = A z - B w with z = (0, 1, 0, 1, ...) and w = (1, 0, 1, 0, ...). */
static double right_side(const hlcp_stencil *s, int64_t row) {
  double q = 0;
  for (int k = 0; k < s->count; ++k) {
    const entry *e = &s->entries[k];
    if (!has_entry(s, row, e)) continue;
    q += (row + e->shift) % 2 != 0 ? e->a : in_b(e) ? -e->b : 0;
  }
  return q;
}

static cvtm_status allocate_right_side(int64_t n, cvtm_hlcp_problem *problem, cvtm_error *error) {
  problem->q = malloc((size_t)n * sizeof *problem->q);
  if (problem->q != NULL) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for %lld unknowns", (long long)n);
}

cvtm_status cvtm_hlcp_example(int example, int64_t size, double mu, double nu,
                              cvtm_hlcp_problem *problem, cvtm_error *error) {
  memset(problem, 0, sizeof *problem);
  if (example < 1 || example > 3) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "there is no example %d", example);
  }
  if (size < 1 || size > 32768) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "the size of an example is 1 to 32768, not %lld",
                     (long long)size);
  }
  hlcp_stencil s;
  stencil_of(example, size, mu, nu, &s);
  cvtm_status status = put_matrix(&s, 0, &problem->a, error);
  if (status == CVTM_OK) status = put_matrix(&s, 1, &problem->b, error);
  if (status == CVTM_OK) status = allocate_right_side(s.n, problem, error);
  if (status != CVTM_OK) {
    cvtm_hlcp_problem_free(problem);
    return status;
  }
  for (int64_t row = 0; row < s.n; ++row) problem->q[row] = right_side(&s, row);
  return CVTM_OK;
}

double cvtm_hlcp_example_omega(int example) { return example == 1 ? 1 : 0.5; }

static void append_entry(cvtm_csr *csr, int64_t row, int64_t column, double value) {
  csr->column[csr->row_start[row + 1]] = (int32_t)column;
  csr->value[csr->row_start[row + 1]++] = value;
}

cvtm_status cvtm_hlcp_bearing(int64_t size, double eccentricity, double supply,
                              cvtm_hlcp_problem *problem, cvtm_error *error) {
  memset(problem, 0, sizeof *problem);
  if (size < 3 || size > INT32_MAX) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "a bearing has at least 3 nodes, not %lld",
                     (long long)size);
  }
  if (!(eccentricity >= 0 && eccentricity < 1) || !(supply >= 0) || !isfinite(supply)) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "a bearing has an eccentricity in [0, 1) and a supply pressure >= 0");
  }
  const int64_t n = size - 1; /* p(0) and p(2 pi) are given */
  cvtm_status status = cvtm_csr_create(n, n, 3 * n - 2, &problem->a, error);
  if (status == CVTM_OK) status = cvtm_csr_create(n, n, 2 * n - 1, &problem->b, error);
  if (status == CVTM_OK) status = allocate_right_side(n, problem, error);
  if (status != CVTM_OK) {
    cvtm_hlcp_problem_free(problem);
    return status;
  }
  const double step = 2 * CVTM_PI / (double)size;
  for (int64_t i = 0; i < n; ++i) {
    const double node = (double)(i + 1);
    const double left = 1 + eccentricity * cos((node - 0.5) * step);
    const double right = 1 + eccentricity * cos((node + 0.5) * step);
    const double left_cubed = left * left * left / step, right_cubed = right * right * right / step;
    cvtm_csr *a = &problem->a, *b = &problem->b;
    a->row_start[i + 1] = a->row_start[i];
    b->row_start[i + 1] = b->row_start[i];
    if (i > 0) append_entry(a, i, i - 1, -left_cubed);
    append_entry(a, i, i, left_cubed + right_cubed);
    if (i + 1 < n) append_entry(a, i, i + 1, -right_cubed);
    if (i > 0) append_entry(b, i, i - 1, -left);
    append_entry(b, i, i, right);
    problem->q[i] = -(right - left);
    if (i == 0) problem->q[i] += supply * left_cubed;
    if (i + 1 == n) problem->q[i] += supply * right_cubed;
  }
  return CVTM_OK;
}

/* --- a film over a rectangle ---------------------------------------------------------------- */

typedef struct film {
  int64_t width, height;
  const float *thickness;
  double step, supply;
} film;

/* The thickness between node (i, j) and its neighbour by (di, dj); at a side, that of the node. */
static double between(const film *f, int64_t i, int64_t j, int di, int dj) {
  const int64_t x = i + di, y = j + dj;
  const double own = (double)f->thickness[j * f->width + i];
  if (x < 0 || x >= f->width || y < 0 || y >= f->height) return own;
  return 0.5 * (own + (double)f->thickness[y * f->width + x]);
}

/* Row (i, j), times the step. Columns ascend: the neighbours before along the slower direction,
 * before along the faster one, the node itself, and those behind. */
static void put_film_row(const film *f, int64_t i, int64_t j, cvtm_hlcp_problem *problem) {
  static const int by_line[4][2] = {{0, -1}, {-1, 0}, {1, 0}, {0, 1}};
  static const int by_column[4][2] = {{-1, 0}, {0, -1}, {0, 1}, {1, 0}};
  const int(*directions)[2] = f->width <= f->height ? by_line : by_column;
  cvtm_csr *a = &problem->a, *b = &problem->b;
  const int64_t row = cvtm_hlcp_film_unknown(f->width, f->height, i, j);
  const double left = between(f, i, j, -1, 0), right = between(f, i, j, 1, 0);
  double links[4], diagonal = 0;
  problem->q[row] = -(right - left);
  for (int k = 0; k < 4; ++k) {
    const double h = between(f, i, j, directions[k][0], directions[k][1]);
    links[k] = directions[k][1] != 0 && f->height == 1 ? 0 : h * h * h / f->step;
    diagonal += links[k];
  }
  a->row_start[row + 1] = a->row_start[row];
  b->row_start[row + 1] = b->row_start[row];
  for (int k = 0; k < 4; ++k) {
    const int64_t x = i + directions[k][0], y = j + directions[k][1];
    if (k == 2) append_entry(a, row, row, diagonal);
    if (x < 0 || x >= f->width || y < 0 || y >= f->height)
      problem->q[row] += f->supply * links[k];
    else
      append_entry(a, row, cvtm_hlcp_film_unknown(f->width, f->height, x, y), -links[k]);
  }
  if (i > 0) append_entry(b, row, cvtm_hlcp_film_unknown(f->width, f->height, i - 1, j), -left);
  append_entry(b, row, row, right);
}

cvtm_status cvtm_hlcp_film(int64_t width, int64_t height, const float *thickness, double supply,
                           cvtm_hlcp_problem *problem, cvtm_error *error) {
  const int64_t n = width * height, longer = width > height ? width : height;
  const film f = {width, height, thickness, 2 * CVTM_PI / (double)(longer + 1), supply};
  memset(problem, 0, sizeof *problem);
  if (!(supply >= 0) || !isfinite(supply))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "a film has a supply pressure >= 0");
  for (int64_t k = 0; k < n; ++k)
    if (!(thickness[k] > 0) || !isfinite(thickness[k]))
      return cvtm_fail(error, CVTM_ERROR_INPUT, "the film has a thickness of %g at (%lld, %lld)",
                       (double)thickness[k], (long long)(k % width), (long long)(k / width));
  cvtm_status status = cvtm_csr_create(n, n, 5 * n, &problem->a, error);
  if (status == CVTM_OK) status = cvtm_csr_create(n, n, 2 * n, &problem->b, error);
  if (status == CVTM_OK) status = allocate_right_side(n, problem, error);
  if (status != CVTM_OK) {
    cvtm_hlcp_problem_free(problem);
    return status;
  }
  problem->a.row_start[0] = problem->b.row_start[0] = 0;
  for (int64_t k = 0; k < n; ++k) {
    const int64_t shorter = width <= height ? width : height, slow = k / shorter,
                  fast = k % shorter;
    put_film_row(&f, width <= height ? fast : slow, width <= height ? slow : fast, problem);
  }
  return CVTM_OK;
}

void cvtm_hlcp_problem_free(cvtm_hlcp_problem *problem) {
  cvtm_csr_free(&problem->a);
  cvtm_csr_free(&problem->b);
  free(problem->q);
  problem->q = NULL;
}

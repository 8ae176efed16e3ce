#include "lcp/problems/complementarity.h"

#include <stdlib.h>
#include <string.h>

/* --- matrices of stencils -------------------------------------------------------------------- */

typedef struct entry {
  int64_t shift; /* column - row */
  int along;     /* -1, 0 or 1: the shift within a grid line */
  double a, b;
} entry;

enum { STENCIL_ENTRIES = 5 };

typedef struct stencil {
  int64_t width, n;               /* length of a grid line; number of rows */
  entry entries[STENCIL_ENTRIES]; /* in order of ascending shifts */
} stencil;

static int has_entry(const stencil *s, int64_t row, const entry *e) {
  const int64_t along = row % s->width + e->along;
  const int64_t column = row + e->shift;
  return along >= 0 && along < s->width && column >= 0 && column < s->n;
}

static int in_b(const entry *e) { return e->along != 0 || e->shift == 0; }

/* Makes A (which = 0) or B (1). */
static cvtm_status put_matrix(const stencil *s, int which, cvtm_csr *csr, cvtm_error *error) {
  CVTM_TRY(cvtm_csr_create(s->n, s->n, STENCIL_ENTRIES * s->n, csr, error));
  int64_t count = 0;
  for (int64_t row = 0; row < s->n; ++row) {
    for (int k = 0; k < STENCIL_ENTRIES; ++k) {
      const entry *e = &s->entries[k];
      if (!has_entry(s, row, e) || (which == 1 && !in_b(e))) continue;
      csr->column[count] = (int32_t)(row + e->shift);
      csr->value[count++] = which == 1 ? e->b : e->a;
    }
    csr->row_start[row + 1] = count;
  }
  return CVTM_OK;
}

/* --- membranes and torsion --------------------------------------------------------------- */

void cvtm_model_problem_free(cvtm_model_problem *problem) {
  cvtm_csr_free(&problem->matrix);
  free(problem->b);
  free(problem->lower);
  memset(problem, 0, sizeof *problem);
}

/* Makes the five-point matrix of a grid; x = 0 beyond the grid. */
static cvtm_status fill_matrix(cvtm_model_problem *problem, cvtm_error *error) {
  const int64_t width = problem->width;
  const stencil five_points = {
      width,
      width * problem->height,
      {{-width, 0, -1, 0}, {-1, -1, -1, 0}, {0, 0, 4, 0}, {1, 1, -1, 0}, {width, 0, -1, 0}}};
  return put_matrix(&five_points, 0, &problem->matrix, error);
}

cvtm_status cvtm_model_problem_create(cvtm_model model, int64_t width, int64_t height,
                                      int has_matrix, cvtm_model_problem *problem,
                                      cvtm_error *error) {
  memset(problem, 0, sizeof *problem);
  if (width < 1 || height < 1 || width > INT32_MAX || height > INT32_MAX / width)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "no problem of %lld x %lld", (long long)width,
                     (long long)height);
  const int is_torsion = model == CVTM_MODEL_TORSION;
  const double h = 1 / (double)((width > height ? width : height) + 1);
  problem->width = width;
  problem->height = height;
  problem->spacing = h;
  problem->b = malloc((size_t)(width * height) * sizeof *problem->b);
  problem->lower = malloc((size_t)(width * height) * sizeof *problem->lower);
  cvtm_status status = CVTM_OK;
  if (problem->b == NULL || problem->lower == NULL)
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a problem of %lld rows",
                       (long long)(width * height));
  if (status == CVTM_OK && has_matrix) status = fill_matrix(problem, error);
  if (status != CVTM_OK) {
    cvtm_model_problem_free(problem);
    return status;
  }
  for (int64_t j = 0; j < height; ++j) {
    for (int64_t i = 0; i < width; ++i) {
      const int64_t across = i + 1 < width - i ? i + 1 : width - i;
      const int64_t down = j + 1 < height - j ? j + 1 : height - j;
      const double distance = (double)(across < down ? across : down) * h;
      problem->b[j * width + i] = -(is_torsion ? 5.0 : 1.0) * h * h;
      problem->lower[j * width + i] = is_torsion ? -distance : -0.05;
    }
  }
  return CVTM_OK;
}

/* --- examples of HLCPs --------------------------------------------------------------------- */

static void stencil_of(int example, int64_t size, stencil *s) {
  const entry first[] = {
      {-1, -1, -1, -1}, {0, 0, 4, 4}, {1, 1, -1, -1}, {size, 0, -1, 0}, {2 * size, 0, -1, 0}};
  const entry second[] = {
      {-size, 0, -1, 0}, {-1, -1, -1, -1}, {0, 0, 4, 8}, {1, 1, -1, -1}, {size, 0, -1, 0}};
  const entry third[] = {{-size, 0, -1.5, 0},
                         {-1, -1, -1.5, -1.5},
                         {0, 0, 4, 8},
                         {1, 1, -0.5, -0.5},
                         {size, 0, -0.5, 0}};
  s->width = size;
  s->n = size * size;
  memcpy(s->entries, example == 1 ? first : example == 2 ? second : third, sizeof s->entries);
}

/* Computes q = A z - B w in a row, with z = (0, 1, 0, 1, ...) and w = (1, 0, 1, 0, ...). */
static double right_side(const stencil *s, int64_t row) {
  double q = 0;
  for (int k = 0; k < STENCIL_ENTRIES; ++k) {
    const entry *e = &s->entries[k];
    if (!has_entry(s, row, e)) continue;
    q += (row + e->shift) % 2 != 0 ? e->a : in_b(e) ? -e->b : 0;
  }
  return q;
}

cvtm_status cvtm_hlcp_example(int example, int64_t size, cvtm_hlcp_problem *problem,
                              cvtm_error *error) {
  memset(problem, 0, sizeof *problem);
  if (example < 1 || example > 3)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "there is no example %d", example);
  if (size < 1 || size > 32768)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "the size of an example is 1 to 32768, not %lld",
                     (long long)size);
  stencil s;
  stencil_of(example, size, &s);
  cvtm_status status = put_matrix(&s, 0, &problem->a, error);
  if (status == CVTM_OK) status = put_matrix(&s, 1, &problem->b, error);
  problem->q = malloc((size_t)s.n * sizeof *problem->q);
  if (status == CVTM_OK && problem->q == NULL)
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for %lld unknowns", (long long)s.n);
  if (status != CVTM_OK) {
    cvtm_hlcp_problem_free(problem);
    return status;
  }
  for (int64_t row = 0; row < s.n; ++row) problem->q[row] = right_side(&s, row);
  return CVTM_OK;
}

double cvtm_hlcp_example_omega(int example) { return example == 1 ? 1 : 0.5; }

void cvtm_hlcp_problem_free(cvtm_hlcp_problem *problem) {
  cvtm_csr_free(&problem->a);
  cvtm_csr_free(&problem->b);
  free(problem->q);
  problem->q = NULL;
}

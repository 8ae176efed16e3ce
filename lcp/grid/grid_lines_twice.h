/* No include guard: grid_lines.c includes this file once for each width of vectors, with
 *   LINES(name)  the name with a suffix for the width,
 *   VECTORS      the attribute that compiles a function for the width.
 * The bodies are always inlined; here their constant arguments are fixed. */

VECTORS static void LINES(relax)(const cvtm_grid_problem *p, int64_t j, int colour, double omega,
                                 int shared) {
  if (has_constant_stencil(p)) {
    if (shared) relax_line_body(p, j, colour, omega, 2, 0);
    if (!shared) relax_line_body(p, j, colour, omega, 1, 0);
  } else {
    if (shared) relax_line_body(p, j, colour, omega, 2, 1);
    if (!shared) relax_line_body(p, j, colour, omega, 1, 1);
  }
}

VECTORS static void LINES(residual)(const cvtm_grid_problem *p, int64_t j, double *out) {
  if (has_constant_stencil(p)) {
    residual_line_body(p, j, out, 0);
  } else {
    residual_line_body(p, j, out, 1);
  }
}

VECTORS static cvtm_grid_norms LINES(measure)(const cvtm_grid_problem *p, const double *x,
                                              int64_t j) {
  return has_constant_stencil(p) ? measure_line_body(p, x, j, 0) : measure_line_body(p, x, j, 1);
}

VECTORS static void LINES(line_search)(const cvtm_grid_problem *p, int64_t j, double *slope,
                                       double *curvature) {
  if (has_constant_stencil(p)) {
    line_search_body(p, j, slope, curvature, 0);
  } else {
    line_search_body(p, j, slope, curvature, 1);
  }
}

VECTORS static void LINES(truncate)(const cvtm_grid_problem *p, int64_t j, int store,
                                    double *residual, uint8_t *changed) {
  truncate_line_body(p, j, store, residual, changed);
}

VECTORS static void LINES(correct)(const cvtm_grid_problem *p, const cvtm_grid_level *c,
                                   int64_t j) {
  correct_line_body(p, c, j);
}

VECTORS static void LINES(step)(const cvtm_grid_problem *p, int64_t j, double step) {
  step_line_body(p, j, step);
}

VECTORS static void LINES(relax_coarse)(const cvtm_grid_level *c, int64_t y) {
  relax_coarse_line_body(c, y);
}

VECTORS static void LINES(residual_coarse)(const cvtm_grid_level *c, int64_t y, double *out) {
  coarse_residual_line_body(c, y, out);
}

VECTORS static void LINES(restrict_line)(const cvtm_grid_level *c, int64_t fine_width,
                                         int64_t fine_height, int64_t y,
                                         const double *const residual[3]) {
  restrict_line_body(c, fine_width, fine_height, y, residual);
}

VECTORS static void LINES(mark_changes)(const cvtm_grid_level *c, int64_t fine_width, int64_t y,
                                        const uint8_t *const changed[3]) {
  mark_changes_body(c, fine_width, y, changed);
}

VECTORS static void LINES(prolong)(const cvtm_grid_level *f, const cvtm_grid_level *c, int64_t y) {
  prolong_line_body(f, c, y);
}

VECTORS static void LINES(due_below_problem)(const cvtm_grid_level *c, int64_t y, uint8_t *due) {
  due_below_problem_body(c, y, due);
}

VECTORS static void LINES(due_below_level)(const cvtm_grid_level *f, const cvtm_grid_level *c,
                                           int64_t y, uint8_t *due) {
  due_below_level_body(f, c, y, due);
}

VECTORS static void LINES(galerkin)(const cvtm_grid_finer *f, const cvtm_grid_level *c, int64_t y,
                                    const uint8_t *due) {
  galerkin_line_body(f, c, y, due);
}

static const cvtm_grid_lines LINES(table) = {
    .relax = LINES(relax),
    .residual = LINES(residual),
    .measure = LINES(measure),
    .line_search = LINES(line_search),
    .truncate = LINES(truncate),
    .correct = LINES(correct),
    .step = LINES(step),
    .relax_coarse = LINES(relax_coarse),
    .residual_coarse = LINES(residual_coarse),
    .restrict_line = LINES(restrict_line),
    .mark_changes = LINES(mark_changes),
    .prolong = LINES(prolong),
    .due_below_problem = LINES(due_below_problem),
    .due_below_level = LINES(due_below_level),
    .galerkin = LINES(galerkin),
};

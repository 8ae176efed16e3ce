/* The phases on lines, for both widths of vectors. */
#include "lcp/grid/grid_lines.h"

#include "lcp/grid/grid_lines_coarse.h"
#include "lcp/grid/grid_lines_galerkin.h"
#include "lcp/grid/grid_lines_problem.h"

#define LINES(name) name##_baseline
#define VECTORS
#include "lcp/grid/grid_lines_twice.h"
#undef LINES
#undef VECTORS
#define LINES(name) name##_wide
#define VECTORS CVTM_WIDE
#include "lcp/grid/grid_lines_twice.h"

const cvtm_grid_lines *cvtm_grid_lines_of_machine(void) {
  return cvtm_has_wide_vectors() ? &table_wide : &table_baseline;
}

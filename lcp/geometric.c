#include "lcp/geometric.h"

#include <math.h>
#include <stdlib.h>

int64_t cvtm_coarse_side(int64_t side) { return side > 1 ? side / 2 : 1; }

/* Where the row sum of a node on a side, not at a corner, is small beside its strongest link,
 * nothing is lost through that side. */
static int is_closed(const cvtm_csr *a, int64_t first, int64_t step, int64_t count) {
  double sums = 0, links = 0;
  const int64_t skipped = count > 2 ? 1 : 0;
  for (int64_t k = skipped; k < count - skipped; ++k) {
    const int64_t row = first + k * step;
    double sum = 0, link = 0;
    for (int64_t m = a->row_start[row]; m < a->row_start[row + 1]; ++m) {
      sum += a->value[m];
      if (a->column[m] != row && -a->value[m] > link) link = -a->value[m];
    }
    sums += fabs(sum);
    links += link;
  }
  return sums < 0.25 * links;
}

cvtm_grid_sides cvtm_grid_sides_of(const cvtm_csr *matrix, int64_t width, int64_t height) {
  const cvtm_grid_sides sides = {
      is_closed(matrix, 0, width, height), is_closed(matrix, width - 1, width, height),
      is_closed(matrix, 0, 1, width), is_closed(matrix, (height - 1) * width, 1, width)};
  return sides;
}

/* Interpolation along one side: at most two coarse nodes for fine node i. */
typedef struct stencil {
  int count;
  int64_t node[2];
  double weight[2];
} stencil;

static stencil along_side(int64_t side, int64_t i, int closed_before, int closed_after) {
  const int64_t coarse = cvtm_coarse_side(side);
  stencil s = {0, {0, 0}, {1, 1}};
  if (side == 1 || i % 2 == 1) {
    s.node[s.count++] = side == 1 ? 0 : i / 2;
    return s;
  }
  const int has_before = i > 0, has_after = i / 2 < coarse;
  if (has_before) {
    s.weight[s.count] = has_after || !closed_after ? 0.5 : 1;
    s.node[s.count++] = i / 2 - 1;
  }
  if (has_after) {
    s.weight[s.count] = has_before || !closed_before ? 0.5 : 1;
    s.node[s.count++] = i / 2;
  }
  return s;
}

static void fill(int64_t width, int64_t height, cvtm_grid_sides sides, cvtm_csr *p) {
  const int64_t coarse_width = cvtm_coarse_side(width);
  int64_t k = 0;
  for (int64_t j = 0; j < height; ++j) {
    const stencil down = along_side(height, j, sides.top, sides.bottom);
    for (int64_t i = 0; i < width; ++i) {
      const stencil across = along_side(width, i, sides.left, sides.right);
      for (int v = 0; v < down.count; ++v) {
        for (int u = 0; u < across.count; ++u, ++k) {
          p->column[k] = (int32_t)(down.node[v] * coarse_width + across.node[u]);
          p->value[k] = down.weight[v] * across.weight[u];
        }
      }
      p->row_start[j * width + i + 1] = k;
    }
  }
}

/* Entries of all stencils along a side. */
static int64_t side_entries(int64_t side) {
  int64_t sum = 0;
  for (int64_t i = 0; i < side; ++i) sum += along_side(side, i, 0, 0).count;
  return sum;
}

cvtm_status cvtm_grid_prolongation(int64_t width, int64_t height, cvtm_grid_sides sides,
                                   cvtm_csr *prolongation, int32_t **centre, cvtm_error *error) {
  const int64_t coarse_width = cvtm_coarse_side(width), coarse_height = cvtm_coarse_side(height);
  const int64_t coarse = coarse_width * coarse_height;
  *centre = malloc((size_t)coarse * sizeof **centre);
  if (*centre == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a coarse grid");
  const cvtm_status status = cvtm_csr_create(
      width * height, coarse, side_entries(width) * side_entries(height), prolongation, error);
  if (status != CVTM_OK) {
    free(*centre);
    *centre = NULL;
    return status;
  }
  fill(width, height, sides, prolongation);
  for (int64_t j = 0; j < coarse_height; ++j) {
    for (int64_t i = 0; i < coarse_width; ++i) {
      const int64_t row = height > 1 ? 2 * j + 1 : 0, column = width > 1 ? 2 * i + 1 : 0;
      (*centre)[j * coarse_width + i] = (int32_t)(row * width + column);
    }
  }
  return CVTM_OK;
}

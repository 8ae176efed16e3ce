#include "lcp/geometric.h"

#include <math.h>
#include <stdlib.h>

/* Links of a line of nodes towards the next node, and towards the next line, added up. */
typedef struct line_links {
  double across, down;
} line_links;

static line_links add_line(const cvtm_csr *a, int64_t first, int64_t width) {
  line_links sums = {0, 0};
  for (int64_t row = first; row < first + width; ++row) {
    for (int64_t k = a->row_start[row]; k < a->row_start[row + 1]; ++k) {
      if (a->column[k] - row == 1) sums.across -= a->value[k];
      if (a->column[k] - row == width) sums.down -= a->value[k];
    }
  }
  return sums;
}

cvtm_status cvtm_grid_coarsen(const cvtm_csr *matrix, int64_t width, int64_t height, int threads,
                              cvtm_grid_coarsening *grids, cvtm_error *error) {
  const double much = 3;
  const cvtm_grid_coarsening same = {width, height, width, height};
  line_links *lines = malloc((size_t)height * sizeof *lines);
  if (lines == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a coarse grid");
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t j = 0; j < height; ++j) lines[j] = add_line(matrix, j * width, width);
  (void)threads;
  double across = 0, down = 0;
  for (int64_t j = 0; j < height; ++j) {
    across += lines[j].across;
    down += lines[j].down;
  }
  free(lines);
  across = width > 1 && across > 0 ? across : 0;
  down = height > 1 && down > 0 ? down : 0;
  *grids = same;
  if (width > 1 && (height == 1 || much * across >= down)) grids->coarse_width = width / 2;
  if (height > 1 && (width == 1 || much * down >= across)) grids->coarse_height = height / 2;
  return CVTM_OK;
}

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

static stencil along_side(int64_t side, int64_t coarse, int64_t i, int closed_before,
                          int closed_after) {
  stencil s = {0, {0, 0}, {1, 1}};
  if (coarse == side || i % 2 == 1) {
    s.node[s.count++] = coarse == side ? i : i / 2;
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

/* Entries of all stencils along a side. */
static int64_t side_entries(int64_t side, int64_t coarse) {
  int64_t sum = 0;
  for (int64_t i = 0; i < side; ++i) sum += along_side(side, coarse, i, 0, 0).count;
  return sum;
}

/* A line of nodes, whose first row has its start. */
static void fill_line(cvtm_grid_coarsening g, cvtm_grid_sides sides, int64_t j, cvtm_csr *p) {
  const stencil down = along_side(g.height, g.coarse_height, j, sides.top, sides.bottom);
  int64_t k = p->row_start[j * g.width];
  for (int64_t i = 0; i < g.width; ++i) {
    const stencil across = along_side(g.width, g.coarse_width, i, sides.left, sides.right);
    for (int v = 0; v < down.count; ++v) {
      for (int u = 0; u < across.count; ++u, ++k) {
        p->column[k] = (int32_t)(down.node[v] * g.coarse_width + across.node[u]);
        p->value[k] = down.weight[v] * across.weight[u];
      }
    }
    if (i + 1 < g.width) p->row_start[j * g.width + i + 1] = k;
  }
}

static void fill(cvtm_grid_coarsening g, cvtm_grid_sides sides, int threads, cvtm_csr *p) {
  const int64_t across = side_entries(g.width, g.coarse_width);
  for (int64_t j = 0; j < g.height; ++j) {
    const int down = along_side(g.height, g.coarse_height, j, 0, 0).count;
    p->row_start[(j + 1) * g.width] = p->row_start[j * g.width] + down * across;
  }
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t j = 0; j < g.height; ++j) fill_line(g, sides, j, p);
  (void)threads;
}

cvtm_status cvtm_grid_prolongation(cvtm_grid_coarsening g, cvtm_grid_sides sides, int threads,
                                   cvtm_csr *prolongation, int32_t **centre, cvtm_error *error) {
  const int64_t coarse = g.coarse_width * g.coarse_height;
  *centre = malloc((size_t)coarse * sizeof **centre);
  if (*centre == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a coarse grid");
  const int64_t entries =
      side_entries(g.width, g.coarse_width) * side_entries(g.height, g.coarse_height);
  const cvtm_status status =
      cvtm_csr_create(g.width * g.height, coarse, entries, prolongation, error);
  if (status != CVTM_OK) {
    free(*centre);
    *centre = NULL;
    return status;
  }
  fill(g, sides, threads, prolongation);
  for (int64_t j = 0; j < g.coarse_height; ++j) {
    for (int64_t i = 0; i < g.coarse_width; ++i) {
      const int64_t row = g.coarse_height < g.height ? 2 * j + 1 : j;
      const int64_t column = g.coarse_width < g.width ? 2 * i + 1 : i;
      (*centre)[j * g.coarse_width + i] = (int32_t)(row * g.width + column);
    }
  }
  return CVTM_OK;
}

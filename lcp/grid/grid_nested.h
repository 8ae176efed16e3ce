/* Inside lcp/grid only: the coarser problems of the nested start, in finite volumes, and the start
 * that the solution of a coarser problem gives. One source for both devices, C11 and CUDA C++. */
#ifndef CVTMESH_LCP_GRID_GRID_NESTED_H
#define CVTMESH_LCP_GRID_GRID_NESTED_H

#include "lcp/grid/grid_transfer.h"

/* b and bounds of node (x, y) of problem c below problem f: b is restricted as residuals are, the
 * bounds are those of the fine node in the same place. c owns its arrays: const in a problem only
 * says that a solve does not write them. */
CVTM_HD void cvtm_grid_coarsen_data(const cvtm_grid_problem *f, const cvtm_grid_problem *c,
                                    const cvtm_grid_level *level, int64_t x, int64_t y) {
  double sum = 0;
  int64_t i0, i1, j0, j1;
  cvtm_grid_support(level->halved_x, x, f->width, &i0, &i1);
  cvtm_grid_support(level->halved_y, y, f->height, &j0, &j1);
  for (int64_t j = j0; j <= j1; ++j) {
    for (int64_t i = i0; i <= i1; ++i) {
      const int64_t k = j * f->width + i;
      if (!cvtm_grid_masked(f, k)) sum += cvtm_grid_basis(level, x, y, i, j) * f->b[k];
    }
  }
  const int64_t k = y * c->width + x;
  const int64_t same =
      (y + (level->halved_y ? y + 1 : 0)) * f->width + (x + (level->halved_x ? x + 1 : 0));
  /* A coarse problem owns the arrays that other problems borrow. */
  ((double *)c->b)[k] = sum;
  if (c->lower) ((double *)c->lower)[k] = f->lower[same];
  if (c->upper) ((double *)c->upper)[k] = f->upper[same];
}

/* The share of fine index `fine` in its coarse control volume in one direction: half of a node
 * between two volumes, all of it at a Neumann boundary. */
CVTM_HD double cvtm_grid_control_volume_share(const cvtm_grid_level *level, int halved,
                                              int64_t coarse_count, int64_t fine) {
  int64_t first;
  const int count = cvtm_grid_parents(halved, fine, &first);
  return cvtm_grid_closed_form_weight(level->neumann, count, first, coarse_count);
}

/* Link `index` (0: the one before node 0) of line `line` of the finer problem; lines run down if
 * `vertical`. */
CVTM_HD double cvtm_grid_line_link(const cvtm_grid_problem *f, int vertical, int64_t index,
                                   int64_t line) {
  double link[4];
  const int64_t count = vertical ? f->height : f->width;
  const int beyond = index == count; /* seen from the last node */
  const int64_t at = index - beyond;
  cvtm_grid_links(f, vertical ? line : at, vertical ? at : line, link);
  return link[2 * vertical + beyond];
}

/* The same link of the coarser problem: conductances of two fine links in series, of fine lines
 * side by side. */
CVTM_HD double cvtm_grid_coarse_volume_link(const cvtm_grid_problem *f,
                                            const cvtm_grid_level *level, int vertical,
                                            int64_t index, int64_t line) {
  const int along = vertical ? level->halved_y : level->halved_x;
  const int across = vertical ? level->halved_x : level->halved_y;
  const int64_t count = vertical ? f->height : f->width;
  const int64_t lines = vertical ? f->width : f->height;
  const int64_t coarse_lines = vertical ? level->width : level->height;
  int64_t first, last;
  cvtm_grid_support(across, line, lines, &first, &last);
  double sum = 0;
  for (int64_t l = first; l <= last; ++l) {
    double link = cvtm_grid_line_link(f, vertical, along ? 2 * index : index, l);
    if (along && 2 * index < count) {
      const double next = cvtm_grid_line_link(f, vertical, 2 * index + 1, l);
      link = link + next > 0 ? link * next / (link + next) : 0.0;
    }
    sum += cvtm_grid_control_volume_share(level, across, coarse_lines, l) * link;
  }
  return sum;
}

/* Links, diagonal and mask of node (x, y) of problem c below problem f; x = width and y = height
 * have the last links. */
CVTM_HD void cvtm_grid_coarsen_links(const cvtm_grid_problem *f, const cvtm_grid_problem *c,
                                     const cvtm_grid_level *level, int64_t x, int64_t y) {
  if (c->horizontal && y < c->height) {
    ((double *)c->horizontal)[y * (c->width + 1) + x] =
        cvtm_grid_coarse_volume_link(f, level, 0, x, y);
  }
  if (c->vertical && x < c->width) {
    ((double *)c->vertical)[y * c->width + x] = cvtm_grid_coarse_volume_link(f, level, 1, y, x);
  }
  if (x >= c->width || y >= c->height) return;
  const int64_t k = y * c->width + x;
  int64_t i0, i1, j0, j1;
  cvtm_grid_support(level->halved_x, x, f->width, &i0, &i1);
  cvtm_grid_support(level->halved_y, y, f->height, &j0, &j1);
  if (c->diagonal) {
    double sum = 0;
    for (int64_t j = j0; j <= j1; ++j) {
      for (int64_t i = i0; i <= i1; ++i) {
        if (cvtm_grid_masked(f, j * f->width + i)) continue;
        sum += cvtm_grid_control_volume_share(level, level->halved_x, c->width, i) *
               cvtm_grid_control_volume_share(level, level->halved_y, c->height, j) *
               cvtm_grid_mass_at(f, j * f->width + i);
      }
    }
    ((double *)c->diagonal)[k] = sum;
  }
  if (c->mask) {
    const int64_t i = level->halved_x ? 2 * x + 1 : x, j = level->halved_y ? 2 * y + 1 : y;
    ((uint8_t *)c->mask)[k] = f->mask[j * f->width + i];
  }
}

/* x of node (i, j) from the solution x of the coarser problem. */
CVTM_HD double cvtm_grid_nested_start_value(const cvtm_grid_problem *p, const cvtm_grid_level *c,
                                            const double *x, int64_t i, int64_t j) {
  const int64_t k = j * p->width + i;
  if (cvtm_grid_masked(p, k)) return 0.0;
  return cvtm_lcp_clip(cvtm_grid_interpolated(c, x, i, j), cvtm_grid_lower(p, k),
                       cvtm_grid_upper(p, k));
}

#endif

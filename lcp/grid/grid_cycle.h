/* Inside lcp only: what a cycle and the nested start do at one node, for both devices. */
#ifndef CVTMESH_LCP_GRID_GRID_CYCLE_H
#define CVTMESH_LCP_GRID_GRID_CYCLE_H

#include "lcp/grid/grid_kernels.h"

/* Sweeps on the coarsest grid: it has at most 3 x 3 nodes, or the mass prevails there. */
enum { CVTM_GRID_BOTTOM_SWEEPS = 8, CVTM_GRID_MASSIVE_SWEEPS = 2 };

CVTM_HD int cvtm_grid_bottom_sweeps(const cvtm_grid_level *bottom) {
  return bottom->width <= 3 && bottom->height <= 3 ? CVTM_GRID_BOTTOM_SWEEPS
                                                   : CVTM_GRID_MASSIVE_SWEEPS;
}

/* The natural residual of a node, and the size of the terms it is the difference of. */
typedef struct cvtm_grid_natural {
  double residual, size;
} cvtm_grid_natural;

CVTM_HD cvtm_grid_natural cvtm_grid_natural_residual(const cvtm_grid_problem *p, const double *x,
                                                     int64_t i, int64_t j) {
  const int64_t k = j * p->width + i;
  double link[4];
  const double diagonal = cvtm_grid_links(p, i, j, link);
  const double held = diagonal * x[k];
  const double f = held - (p->b[k] + cvtm_grid_around(p, x, i, j, link));
  cvtm_grid_natural natural;
  natural.residual = x[k] - cvtm_grid_clip(x[k] - f, cvtm_grid_lower(p, k), cvtm_grid_upper(p, k));
  natural.size = fabs(p->b[k]) + 2 * fabs(held);
  return natural;
}

/* --- from the five-point problem to the first coarse level --- */

CVTM_HD int cvtm_grid_now_active(const cvtm_grid_problem *p, int truncated, int64_t k) {
  if (cvtm_grid_masked(p, k)) return 1;
  return truncated && (p->x[k] <= cvtm_grid_lower(p, k) || p->x[k] >= cvtm_grid_upper(p, k));
}

/* Bounds of a coarse correction, gathered over a support: the tightest of the fine nodes, so
 * that no interpolated correction leaves the fine bounds, or the published averages. */
typedef struct cvtm_grid_room {
  double lower, upper, weight;
} cvtm_grid_room;

CVTM_HD cvtm_grid_room cvtm_grid_room_start(int averaged) {
  cvtm_grid_room room;
  room.lower = averaged ? 0.0 : -(double)INFINITY;
  room.upper = averaged ? 0.0 : (double)INFINITY;
  room.weight = 0;
  return room;
}

CVTM_HD void cvtm_grid_room_add(cvtm_grid_room *room, int averaged, double weight, double lower,
                                double upper) {
  if (averaged) {
    room->lower += weight * lower;
    room->upper += weight * upper;
    room->weight += weight;
  } else {
    if (lower > room->lower) room->lower = lower;
    if (upper < room->upper) room->upper = upper;
  }
}

CVTM_HD void cvtm_grid_room_store(const cvtm_grid_room *room, int averaged,
                                  const cvtm_grid_level *c, int64_t k) {
  const double scale = averaged && room->weight > 0 ? room->weight : 1.0;
  c->lower[k] = room->lower / scale;
  c->upper[k] = room->upper / scale;
}

/* Residual, bounds and changes of coarse node (x, y). */
CVTM_HD void cvtm_grid_descend(const cvtm_grid_problem *p, const cvtm_grid_level *c,
                               const cvtm_grid_rules *rules, int64_t x, int64_t y) {
  cvtm_grid_room room = cvtm_grid_room_start(rules->averaged);
  double sum = 0;
  int marked = 0;
  int64_t i0, i1, j0, j1;
  cvtm_grid_support(c->halved_x, x, p->width, &i0, &i1);
  cvtm_grid_support(c->halved_y, y, p->height, &j0, &j1);
  for (int64_t j = j0; j <= j1; ++j) {
    for (int64_t i = i0; i <= i1; ++i) {
      const int64_t k = j * p->width + i;
      const int active = cvtm_grid_now_active(p, rules->truncated, k);
      marked |= active != p->active[k];
      if (active) continue;
      const double weight = cvtm_grid_basis(c, x, y, i, j);
      if (!(weight > 0)) continue;
      sum += weight * cvtm_grid_residual(p, p->x, i, j);
      if (rules->bounded) {
        cvtm_grid_room_add(&room, rules->averaged, weight, cvtm_grid_lower(p, k) - p->x[k],
                           cvtm_grid_upper(p, k) - p->x[k]);
      }
    }
  }
  const int64_t k = y * c->width + x;
  c->r[k] = sum;
  c->marked[k] = (uint8_t)marked;
  if (rules->bounded) cvtm_grid_room_store(&room, rules->averaged, c, k);
}

/* Must row (x, y) of the coarse operator be computed again? */
CVTM_HD int cvtm_grid_due(const cvtm_grid_finer *f, const cvtm_grid_level *c, int64_t x, int64_t y,
                          int all) {
  if (all) return 1;
  int any = 0;      /* all flags are looked at: loads in a row, no branches between them */
  if (f->problem) { /* its entries reach over the supports of the neighbours */
    for (int64_t ny = y > 0 ? y - 1 : 0; ny <= y + 1 && ny < c->height; ++ny) {
      for (int64_t nx = x > 0 ? x - 1 : 0; nx <= x + 1 && nx < c->width; ++nx) {
        any |= c->marked[ny * c->width + nx];
      }
    }
    return any != 0;
  }
  int64_t i0, i1, j0, j1;
  const int64_t width = f->level->width, height = f->level->height;
  const int reach = f->level->active != NULL; /* an entry ends with the node that it leads to */
  cvtm_grid_support(c->halved_x, x, width, &i0, &i1);
  cvtm_grid_support(c->halved_y, y, height, &j0, &j1);
  for (int64_t j = j0 - reach; j <= j1 + reach; ++j) {
    for (int64_t i = i0 - reach; i <= i1 + reach; ++i) {
      if (i >= 0 && j >= 0 && i < width && j < height) any |= f->level->fresh[j * width + i];
    }
  }
  return any != 0;
}

/* --- between coarse levels --- */

CVTM_HD int cvtm_grid_cut(const cvtm_grid_level *f, int64_t k) { return f->active && f->active[k]; }

/* Truncation goes on below: a node that the smoothing leaves at a bound would hold back every
 * coarser correction, so it leaves the coarser bases, as on the finest grid. */
CVTM_HD void cvtm_grid_truncate(const cvtm_grid_level *f, int64_t k, double e) {
  const uint8_t active = e <= f->lower[k] || e >= f->upper[k];
  if (active == f->active[k]) return;
  f->active[k] = active;
  f->fresh[k] |= 2;
}

CVTM_HD void cvtm_grid_down(const cvtm_grid_level *f, const cvtm_grid_level *c,
                            const cvtm_grid_rules *rules, int64_t x, int64_t y) {
  cvtm_grid_room room = cvtm_grid_room_start(rules->averaged);
  double sum = 0;
  int64_t i0, i1, j0, j1;
  cvtm_grid_support(c->halved_x, x, f->width, &i0, &i1);
  cvtm_grid_support(c->halved_y, y, f->height, &j0, &j1);
  for (int64_t j = j0; j <= j1; ++j) {
    for (int64_t i = i0; i <= i1; ++i) {
      const int64_t k = j * f->width + i;
      const double weight = cvtm_grid_basis(c, x, y, i, j);
      if (!(weight > 0) || cvtm_grid_cut(f, k)) continue;
      sum += weight * cvtm_grid_coarse_residual(f, i, j);
      if (rules->bounded) {
        cvtm_grid_room_add(&room, rules->averaged, weight, f->lower[k] - f->e[k],
                           f->upper[k] - f->e[k]);
      }
    }
  }
  const int64_t k = y * c->width + x;
  c->r[k] = sum;
  if (rules->bounded) cvtm_grid_room_store(&room, rules->averaged, c, k);
}

CVTM_HD double cvtm_grid_lifted(const cvtm_grid_level *f, const cvtm_grid_level *c, int64_t x,
                                int64_t y) {
  const int64_t k = y * f->width + x;
  return cvtm_grid_cut(f, k) ? f->e[k] : f->e[k] + cvtm_grid_prolonged(c, c->e, x, y);
}

/* --- back to the five-point problem --- */

/* x moved by the interpolated correction, into its bounds. */
CVTM_HD double cvtm_grid_corrected(const cvtm_grid_problem *p, const cvtm_grid_level *c, int64_t i,
                                   int64_t j) {
  const int64_t k = j * p->width + i;
  if (p->active[k]) return p->x[k];
  return cvtm_grid_clip(p->x[k] + cvtm_grid_prolonged(c, c->e, i, j), cvtm_grid_lower(p, k),
                        cvtm_grid_upper(p, k));
}

/* Adds this node's part of r'd and d'Ad. */
CVTM_HD void cvtm_grid_search(const cvtm_grid_problem *p, int64_t i, int64_t j, double *slope,
                              double *bend) {
  const int64_t k = j * p->width + i;
  const double d = p->d[k];
  double link[4];
  const double diagonal = cvtm_grid_links(p, i, j, link);
  *slope += d * ((p->b[k] + cvtm_grid_around(p, p->x, i, j, link)) - diagonal * p->x[k]);
  *bend += d * (diagonal * d - cvtm_grid_around(p, p->d, i, j, link));
}

CVTM_HD double cvtm_grid_moved(const cvtm_grid_problem *p, int64_t k, double step) {
  if (cvtm_grid_masked(p, k)) return 0.0;
  return cvtm_grid_clip(p->x[k] + step * p->d[k], cvtm_grid_lower(p, k), cvtm_grid_upper(p, k));
}

/* The part of links and diagonal of node (i, j) in 1/2 x'Ax - b'x: differences of neighbours,
 * which do not cancel as the rows of A do. A link inside the grid is shared by its two ends. */
CVTM_HD double cvtm_grid_energy(const cvtm_grid_problem *p, int64_t i, int64_t j) {
  const int64_t k = j * p->width + i;
  const int64_t next[4] = {k - 1, k + 1, k - p->width, k + p->width};
  const int inside[4] = {i > 0, i + 1 < p->width, j > 0, j + 1 < p->height};
  double link[4];
  double sum = 0;
  cvtm_grid_links(p, i, j, link);
  for (int side = 0; side < 4; ++side) {
    const int shared = inside[side] && !cvtm_grid_masked(p, next[side]);
    const double difference = p->x[k] - (shared ? p->x[next[side]] : 0.0);
    sum += (shared ? 0.25 : 0.5) * link[side] * difference * difference;
  }
  return sum + (0.5 * cvtm_grid_own(p, k) * p->x[k] - p->b[k]) * p->x[k];
}

/* --- nested start --- */

/* b is collected as residuals are, the bounds are those of the node that coincides. */
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
  /* The borrowed arrays of a coarse problem are its own. */
  ((double *)c->b)[k] = sum;
  if (c->lower) ((double *)c->lower)[k] = f->lower[same];
  if (c->upper) ((double *)c->upper)[k] = f->upper[same];
}

/* Half of the fine node to either side belongs to a coarse node, all of it at a Neumann
 * boundary. */
CVTM_HD double cvtm_grid_share(const cvtm_grid_level *level, int halved, int64_t coarse_count,
                               int64_t fine) {
  int64_t first;
  const int count = cvtm_grid_parents(halved, fine, &first);
  return cvtm_grid_weight_1d(level->neumann, count, first, coarse_count);
}

/* The link with index `index` in one direction of line `line` of the finer grid. */
CVTM_HD double cvtm_grid_line_link(const cvtm_grid_problem *f, int vertical, int64_t index,
                                   int64_t line) {
  double link[4];
  const int64_t count = vertical ? f->height : f->width;
  const int beyond = index == count; /* seen from the last node */
  const int64_t at = index - beyond;
  cvtm_grid_links(f, vertical ? line : at, vertical ? at : line, link);
  return link[2 * vertical + beyond];
}

/* Two links one behind the other, lines beside each other. */
CVTM_HD double cvtm_grid_coarse_path(const cvtm_grid_problem *f, const cvtm_grid_level *level,
                                     int vertical, int64_t index, int64_t line) {
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
    sum += cvtm_grid_share(level, across, coarse_lines, l) * link;
  }
  return sum;
}

/* Links and diagonal of the next coarser problem, in finite volumes; x and y go one further
 * than its nodes. */
CVTM_HD void cvtm_grid_coarsen_links(const cvtm_grid_problem *f, const cvtm_grid_problem *c,
                                     const cvtm_grid_level *level, int64_t x, int64_t y) {
  if (c->horizontal && y < c->height) {
    ((double *)c->horizontal)[y * (c->width + 1) + x] = cvtm_grid_coarse_path(f, level, 0, x, y);
  }
  if (c->vertical && x < c->width) {
    ((double *)c->vertical)[y * c->width + x] = cvtm_grid_coarse_path(f, level, 1, y, x);
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
        sum += cvtm_grid_share(level, level->halved_x, c->width, i) *
               cvtm_grid_share(level, level->halved_y, c->height, j) *
               cvtm_grid_own(f, j * f->width + i);
      }
    }
    ((double *)c->diagonal)[k] = sum;
  }
  if (c->mask) {
    const int64_t i = level->halved_x ? 2 * x + 1 : x, j = level->halved_y ? 2 * y + 1 : y;
    ((uint8_t *)c->mask)[k] = f->mask[j * f->width + i];
  }
}

CVTM_HD double cvtm_grid_started(const cvtm_grid_problem *p, const cvtm_grid_level *c,
                                 const double *x, int64_t i, int64_t j) {
  const int64_t k = j * p->width + i;
  if (cvtm_grid_masked(p, k)) return 0.0;
  return cvtm_grid_clip(cvtm_grid_prolonged(c, x, i, j), cvtm_grid_lower(p, k),
                        cvtm_grid_upper(p, k));
}

#endif

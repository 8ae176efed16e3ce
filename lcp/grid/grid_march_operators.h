/* For marches only: five-point operators, one type for each set of constant coefficients, so that a
 * march loads only the others. */
#ifndef CVTMESH_LCP_GRID_GRID_MARCH_OPERATORS_H
#define CVTMESH_LCP_GRID_GRID_MARCH_OPERATORS_H

#include "lcp/grid/grid_operator.h"

namespace {

/* The four neighbours of a node. */
struct neighbours {
  double west, east, north, south;
};

/* Constant links. Values beyond the boundary are 0, so that the links there only enter the diagonal
 * entry. */
struct constant_stencil {
  double link, diagonal, inverse;
  __device__ double around(const neighbours &c) const {
    return link * ((c.west + c.east) + (c.north + c.south));
  }
  __device__ double divide(double sum, double) const { return sum * inverse; }
};

/* Constant links, no mass and a Dirichlet boundary: the same stencil at every node. */
struct uniform_operator {
  constant_stencil stencil;
  template <bool interior>
  __device__ constant_stencil at(const cvtm_grid_problem *, int64_t, int64_t) const {
    return stencil;
  }
};

/* Constant links and mass; other diagonal entries at the boundary. */
struct constant_operator {
  double link, outer, mass;
  double diagonal[3], inverse[3]; /* inside, at a side, at a corner */
  template <bool interior>
  __device__ constant_stencil at(const cvtm_grid_problem *p, int64_t i, int64_t j) const {
    if (interior) return constant_stencil{link, diagonal[0], inverse[0]};
    const double across = (i > 0 ? link : outer) + (i + 1 < p->width ? link : outer);
    const double down = (j > 0 ? link : outer) + (j + 1 < p->height ? link : outer);
    const double entry = mass + (across + down);
    const double inverted = entry == diagonal[0]   ? inverse[0]
                            : entry == diagonal[1] ? inverse[1]
                                                   : inverse[2];
    return constant_stencil{link, entry, inverted};
  }
};

/* Constant links, and a part of the diagonal in memory. */
struct diagonal_stencil {
  double link, diagonal;
  __device__ double around(const neighbours &c) const {
    return link * ((c.west + c.east) + (c.north + c.south));
  }
  __device__ double divide(double sum, double old) const {
    return diagonal > 0 ? sum / diagonal : old;
  }
};

struct diagonal_operator {
  double link, outer;
  template <bool interior>
  __device__ diagonal_stencil at(const cvtm_grid_problem *p, int64_t i, int64_t j) const {
    if (interior) return diagonal_stencil{link, p->diagonal[j * p->width + i] + 4 * link};
    const int width = static_cast<int>(p->width), height = static_cast<int>(p->height);
    const int x = static_cast<int>(i), y = static_cast<int>(j);
    const int64_t line = y < 0        ? 0
                         : y < height ? y
                                      : height - 1; /* beyond the boundary any value will do */
    const double across = (x > 0 ? link : outer) + (x + 1 < width ? link : outer);
    const double down = (y > 0 ? link : outer) + (y + 1 < height ? link : outer);
    const double own = p->diagonal[line * width + (x < 0 ? 0 : x < width ? x : width - 1)];
    return diagonal_stencil{link, own + (across + down)};
  }
};

} /* namespace */

#endif

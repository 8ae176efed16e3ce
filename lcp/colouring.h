/* Colourings of the unknowns of a sparse matrix: no two unknowns that a row joins share a
 * colour, so the rows of one colour can be relaxed at once (Klement & Oberhuber, section III). */
#ifndef CVTMESH_LCP_COLOURING_H
#define CVTMESH_LCP_COLOURING_H

#include "lcp/sparse.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In host memory. */
typedef struct cvtm_colouring {
  int64_t rows;
  int32_t count;   /* of colours */
  int32_t *colour; /* rows, 0 .. count - 1 */
} cvtm_colouring;

/* Any square matrix, symmetric in its pattern or not; Jones & Plassmann 1993, "A parallel graph
 * coloring heuristic", with hashed weights: the same on every device. The caller frees. */
cvtm_status cvtm_colouring_create(cvtm_device *device, const cvtm_csr *matrix,
                                  cvtm_colouring *colouring);
/* The nodes of a grid, row by row: red and black (colours = 2) for five-point matrices, four
 * colours (4) for nine-point ones. */
cvtm_status cvtm_colouring_create_grid(int64_t width, int64_t height, int32_t colours, int threads,
                                       cvtm_colouring *colouring, cvtm_error *error);
void cvtm_colouring_free(cvtm_colouring *colouring);

/* Refuses a colouring that is not one, with the row (counted from 1) and the reason. */
cvtm_status cvtm_colouring_check(const cvtm_csr *matrix, const cvtm_colouring *colouring,
                                 int threads, cvtm_error *error);
/* order[k] = the row that comes k-th when rows are sorted by colour, stable; start: count + 1
 * entries, colour c takes the places start[c] .. start[c + 1] - 1. */
void cvtm_colouring_sort(const cvtm_colouring *colouring, int32_t *order, int64_t *start);

#ifdef __cplusplus
}
#endif
#endif

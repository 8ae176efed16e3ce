/* Colourings of the rows of a sparse matrix: rows i and j with a_ij != 0 differ in colour, so that
 * the rows of a colour can be relaxed in parallel (Klement & Oberhuber, section III). */
#ifndef CVTMESH_LCP_COLOURING_H
#define CVTMESH_LCP_COLOURING_H

#include "lcp/sparse.h"

CVTM_API_BEGIN

/* In host memory. */
typedef struct cvtm_colouring {
  int64_t rows;
  int32_t count;   /* of colours */
  int32_t *colour; /* rows, 0 .. count - 1 */
} cvtm_colouring;

/* For any square matrix, its pattern symmetric or not: Jones & Plassmann 1993, "A parallel graph
 * coloring heuristic", with hashed weights. The result is the same on every device. The caller
 * frees. */
cvtm_status cvtm_colouring_create(cvtm_device *device, const cvtm_csr *matrix,
                                  cvtm_colouring *colouring);
/* The nodes of a grid, row by row: red and black (colours = 2) for five-point matrices, four
 * colours (4) for nine-point ones. */
cvtm_status cvtm_colouring_create_grid(int64_t width, int64_t height, int32_t colours, int threads,
                                       cvtm_colouring *colouring, cvtm_error *error);
void cvtm_colouring_free(cvtm_colouring *colouring);

/* Refuses neighbours of one colour and colours out of range, with the row (counted from 1). */
cvtm_status cvtm_colouring_check(const cvtm_csr *matrix, const cvtm_colouring *colouring,
                                 int threads, cvtm_error *error);
/* order: the rows sorted by colour, stable. start, count + 1 entries: colour c has the rows
 * order[start[c]] .. order[start[c + 1] - 1]. */
void cvtm_colouring_sort(const cvtm_colouring *colouring, int32_t *order, int64_t *start);

CVTM_API_END
#endif

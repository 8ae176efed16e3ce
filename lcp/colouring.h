/* Colourings of the rows of a sparse matrix: rows i and j with a_ij != 0 have different colours, so
 * that the rows of a colour can be relaxed in parallel (Klement & Oberhuber, section III). */
#pragma once

#include "lcp/sparse.h"

CVTM_API_BEGIN

/* A colouring, in host memory. */
typedef struct cvtm_colouring {
  int64_t rows;
  int32_t count;   /* number of colours */
  int32_t *colour; /* the colour of each row, 0 .. count - 1 */
} cvtm_colouring;

/* Colours any square matrix; its pattern need not be symmetric (Jones & Plassmann 1993, "A parallel
 * graph coloring heuristic", with hashed weights). The colouring does not depend on the device. The
 * caller frees it. */
cvtm_status cvtm_colouring_create(cvtm_device *device, const cvtm_csr *matrix,
                                  cvtm_colouring *colouring);
/* Colours the nodes of a grid, numbered row by row. Five-point matrices need two colours (red and
 * black), nine-point matrices four. */
cvtm_status cvtm_colouring_create_grid(int64_t width, int64_t height, int32_t colours, int threads,
                                       cvtm_colouring *colouring, cvtm_error *error);
void cvtm_colouring_free(cvtm_colouring *colouring);

/* CVTM_ERROR_INPUT: another number of rows, or a row (named, counted from 1) whose colour is out of
 * range or equals the colour of a neighbour. */
cvtm_status cvtm_colouring_check(const cvtm_csr *matrix, const cvtm_colouring *colouring,
                                 int threads, cvtm_error *error);
/* Sorts the rows by colour, by a stable sort. start: count + 1 entries; the rows of colour c are
 * order[start[c]] .. order[start[c + 1] - 1]. */
void cvtm_colouring_sort(const cvtm_colouring *colouring, int32_t *order, int64_t *start);

CVTM_API_END

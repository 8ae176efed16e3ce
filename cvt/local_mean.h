/* Inside the library: a density whose sites follow the mean of the ink over a cell. */
#pragma once

#include "base/device.h"
#include "base/domain.h"

/* What is drawn at the sites. */
typedef enum cvtm_ink_kind {
  CVTM_INK_DISCS,       /* equal discs on a lattice; a piece has the area of a disc */
  CVTM_INK_LOOSE_DISCS, /* the same at the irregular sites after a few iterations */
  CVTM_INK_LINE /* a short tour through the sites; a piece is a square as wide as the line */
} cvtm_ink_kind;
typedef struct cvtm_ink {
  cvtm_ink_kind kind;
  double area; /* of a piece, in square pixels; 0: chosen so that `count` pieces cover the ink */
} cvtm_ink;

/* The local density of many sites is proportional to sqrt(q^2) = q for an even ink q. Where the ink
 * varies within a cell, as in a dithered picture, the mean of q^2 over the cell is larger than the
 * square of the mean ink. So this function replaces rho = q^2 by q times the mean of q over about
 * one cell of `count` sites. That mean is taken twice, over a square of means over squares, so that
 * regular patterns of dither do not bias it. Even areas do not change. On failure rho is untouched.
 * Where ink is dense, pieces overlap and more of them are needed. So the density is that of the
 * number of pieces which cover the mean of q. If `count` pieces cover more or less than all ink,
 * the ink of every place is multiplied by the same factor. ink may be NULL: then a cell is as large
 * as its ink is small. */
cvtm_status cvtm_density_of_local_mean(cvtm_domain domain, double count, const cvtm_ink *ink,
                                       float *rho, cvtm_error *error);

/* Sets *count to the number of pieces that cover this ink. The area of a piece is given. */
cvtm_status cvtm_ink_count(cvtm_domain domain, const float *wanted, const cvtm_ink *ink,
                           double *count, cvtm_error *error);

/* The number of pieces per unit of area, times the area of a piece, with which pieces cover this
 * share of the plane if the ink is even. */
double cvtm_ink_needed(cvtm_ink_kind kind, double coverage);

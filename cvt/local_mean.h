/* Inside the library: a density whose sites follow the mean of the ink over a cell. */
#ifndef CVTMESH_CVT_LOCAL_MEAN_H
#define CVTMESH_CVT_LOCAL_MEAN_H

#include "base/device.h"
#include "base/domain.h"

/* What is drawn at the sites. */
typedef enum cvtm_ink_kind {
  CVTM_INK_DISCS,       /* equal discs on a lattice; a piece has the area of a disc */
  CVTM_INK_LOOSE_DISCS, /* the same of sites after a few iterations, which are irregular */
  CVTM_INK_LINE /* a short tour through the sites; a piece is a square as wide as the line */
} cvtm_ink_kind;
typedef struct cvtm_ink {
  cvtm_ink_kind kind;
  double area; /* of a piece, in square pixels; 0: that with which `count` pieces cover the ink */
} cvtm_ink;

/* The density of many sites follows sqrt(q^2) = q for an even ink q. Where the ink varies within a
 * cell, as in a dithered picture, q^2 averaged over the cell is larger than the square of the mean
 * ink. So this replaces rho = q^2 by q times the mean of q over about a cell of `count` sites
 * there: the mean over a square of the means over squares, which regular patterns of dither do not
 * bias. Even areas do not change. On failure rho is untouched.
 *
 * Ink that overlaps where it is dense needs more pieces there, and so the density is that of the
 * pieces which cover the mean of q. If `count` pieces cover more or less than all ink, each place
 * gets the same multiple of its ink. ink: NULL: a cell is as large as its ink is small. */
cvtm_status cvtm_density_of_local_mean(cvtm_domain domain, double count, const cvtm_ink *ink,
                                       float *rho, cvtm_error *error);

/* Sets *count to the number of pieces, whose area is given, that cover this ink of each pixel. */
cvtm_status cvtm_ink_count(cvtm_domain domain, const float *wanted, const cvtm_ink *ink,
                           double *count, cvtm_error *error);

/* The pieces that cover this share of the plane, times the area of a piece, per area, where
 * the ink is even. */
double cvtm_ink_needed(cvtm_ink_kind kind, double coverage);

#endif

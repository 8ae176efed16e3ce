/* Inside the library: the density for which the local density of sites is the mean of the wanted
 * ink over a cell. Ink is the fraction of the paper that is to be covered. */
#pragma once

#include "base/device.h"
#include "base/domain.h"

/* What is drawn at the sites: one piece for each site. */
typedef enum cvtm_ink_kind {
  CVTM_INK_DISCS,       /* equal discs on a lattice; a piece is a disc */
  CVTM_INK_LOOSE_DISCS, /* equal discs at the irregular sites after a few iterations */
  CVTM_INK_LINE /* a line along a short path, closed or open, through all sites; a piece is a square
                   as wide as the line */
} cvtm_ink_kind;
typedef struct cvtm_ink {
  cvtm_ink_kind kind;
  double area; /* area of a piece, square pixels; 0: chosen so that `count` pieces cover the ink */
} cvtm_ink;

/* Replaces rho = q^2, where q is the wanted ink. For a constant ink q, the local density of many
 * sites is proportional to sqrt(rho) = q. Where the ink varies within a cell, as in a dithered
 * picture, the mean of q^2 over the cell is larger than the square of the mean ink. So the new rho
 * is q times the mean of q over about one cell of `count` sites. The mean is taken twice (the mean
 * over a square of means over squares), so that regular patterns of dither do not bias it. Areas of
 * constant ink do not change. With `ink`, the density is also increased where pieces overlap, so
 * that they cover the mean of q; if `count` pieces cover more or less than all ink, the ink is
 * multiplied by a factor. ink: NULL: the area of a cell is inversely proportional to its ink. On
 * failure rho is unchanged. */
cvtm_status cvtm_density_of_local_mean(cvtm_domain domain, double count, const cvtm_ink *ink,
                                       float *rho, cvtm_error *error);

/* Replaces the values of a dithered or grainy picture by means over some pixels, for tones that are
 * not proportional to the values. A picture without dither changes little: as in the filter of Lee
 * (1980), means replace the values in so far as noise explains the variance. The noise is estimated
 * from the differences between pixels and their neighbours. Dither by diffusion of errors, whose
 * neighbours differ most, is averaged over squares with about one pixel of the minority. */
cvtm_status cvtm_smooth_dither(cvtm_domain domain, float *value, cvtm_error *error);

/* *count = the number of pieces that cover the wanted ink (width * height), or 0 on an error.
 * ink->area is not 0. */
cvtm_status cvtm_ink_count(cvtm_domain domain, const float *wanted, const cvtm_ink *ink,
                           double *count, cvtm_error *error);

/* The number of pieces per unit of area, times the area of a piece, with which pieces cover this
 * fraction of the plane, for constant ink. */
double cvtm_ink_needed(cvtm_ink_kind kind, double coverage);

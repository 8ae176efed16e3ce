/* What kind of noise a set of points is: its power spectrum, its pair correlation, and figures by
 * which samplers are compared.
 *
 * Lengths are in units of the mean spacing s = sqrt(area / count), frequencies in units of 1 / s:
 * the square lattice of that spacing has its first peaks at 1, the hexagonal one at 1.0746. The
 * power of white noise is 1 at every frequency. */
#ifndef CVTMESH_NOISE_SPECTRUM_H
#define CVTMESH_NOISE_SPECTRUM_H

#include "base/domain.h"
#include "base/status.h"

#include <stdint.h>

CVTM_API_BEGIN

enum { CVTM_SPECTRUM_FREQUENCY = 6, CVTM_SPECTRUM_DISTANCE = 6, CVTM_SPECTRUM_SHOWN = 3 };

/* A figure is NaN where the points are too few for it. All arrays are malloc'd and owned. */
typedef struct cvtm_spectrum {
  int64_t count;
  double spacing; /* s, pixels */

  /* The mean power and the anisotropy in the ring from k step to (k + 1) step around 0, k = 0 ..
   * rings - 1, up to CVTM_SPECTRUM_FREQUENCY. NaN where a ring has no frequency, or one alone. */
  int64_t rings;
  double step;
  double *power;      /* mean of P(f) */
  double *anisotropy; /* variance of P(f) over the square of its mean (Ulichney 1987): 1, that is
                         0 dB, for one set of points if the noise is isotropic */

  /* P(f) for frequencies up to CVTM_SPECTRUM_SHOWN along both axes: side x side means over squares,
   * x right, y down; the frequency 0, which is left out, in the middle. */
  int64_t side;
  double *picture;

  /* g(r), the density of points at distance r from a point over the mean density, for r from
   * k gap to (k + 1) gap, k = 0 .. gaps - 1. In a torus up to half the shorter side, else up to
   * CVTM_SPECTRUM_DISTANCE. */
  int64_t gaps;
  double gap;
  double *correlation;

  double least_distance;    /* smallest distance between points over that of the hexagonal lattice,
                               sqrt(2 / sqrt 3) s (Lagae & Dutre 2008) */
  double mean_distance;     /* the same of the mean distance to the nearest point */
  double low_power;         /* mean power at frequencies up to 1/2 */
  double peak_power;        /* largest mean power of a ring */
  double mean_anisotropy;   /* mean anisotropy of the rings between 1/2 and 2, in decibels */
  double effective_nyquist; /* the frequency up to which the mean power is 0.1 (Heck, Schloemer &
                               Deussen 2013, over sqrt(count) / 2, as in their figures) */
  double oscillation;       /* 10 times the root of the mean of (P - 1)^2 over the plane's ring of
                               width 5 beyond the first frequency where the power reaches 0.98 (the
                               same), less what the scatter of P adds */
  double dispersion; /* variance of the number of points in squares of some 16 points over its mean:
                        1 for Poisson's process; much more if the density is not uniform */
} cvtm_spectrum;

/* The spectrum of points (2 * count, inside the domain). In a torus the power
 * P(f) = |sum_j exp(-2 pi i f x_j)|^2 / count is taken at all its frequencies (k / width,
 * l / height). In a rectangle each point has the weight sin^2(pi x / width) sin^2(pi y / height)
 * (Hann's window), the window's own transform times the density is taken off the sum, and the
 * square is divided by the sum of the squared weights; pairs at a distance are counted with weights
 * that make up for the border (Ohser & Stoyan 1981). threads: 0: all; the bits do not depend on it.
 * Fails with CVTM_ERROR_ARGUMENT for fewer than 2 points or more than 2^22, and with
 * CVTM_ERROR_MEMORY. *spectrum is empty on failure; else cvtm_spectrum_free frees it. */
cvtm_status cvtm_spectrum_compute(cvtm_domain domain, const double *points, int64_t count,
                                  int threads, cvtm_spectrum *spectrum, cvtm_error *error);

/* The same of points whose density is `density` (width * height floats, >= 0, finite, not all 0)
 * but for a factor, by differential domain analysis (Wei & Wang 2011): differences of points are
 * divided by the mean of the local spacings at both, the root of one over the density, and their
 * histogram, less that of independent points of the density (by one random place in each small
 * cell), is transformed with the window cos^2(pi d / 12), d < 6. So the power is smoothed over some
 * 1/6 and has a scatter of 6 / sqrt(count) at a frequency, and may be negative; anisotropy and
 * dispersion are not known (NaN). spacing: of an even density. */
cvtm_status cvtm_spectrum_compute_graded(cvtm_domain domain, const float *density,
                                         const double *points, int64_t count, int threads,
                                         cvtm_spectrum *spectrum, cvtm_error *error);
void cvtm_spectrum_free(cvtm_spectrum *spectrum);

/* The mean over points that are not on the mesh's border of |sum exp(6 i angle)| / degree over the
 * edges at a point: 1 for the hexagonal lattice (Heck et al. 2013: bond-orientational order). NaN
 * if there is no such point. triangles: 3 * triangle_count, all of one orientation. */
cvtm_status cvtm_bond_order(const double *points, int64_t count, const int32_t *triangles,
                            int64_t triangle_count, double *order, cvtm_error *error);

CVTM_API_END
#endif

/* Inside cvt only: hexagonal lattices for an even density. Regular hexagons tessellate the plane
 * with the least energy (Fejes Toth 1953; Gersho 1979). */
#pragma once

#include "base/domain.h"

#include <stdint.h>

/* Rows of sites. On a torus all rows have the same number of sites, and each row is shifted against
 * the row before it. In a rectangle every other row is shifted by half a spacing. */
typedef struct cvtm_lattice {
  double ratio;   /* cvtm_lattice_ratio of the lattice, continued over the plane */
  int64_t rows;   /* at least 1 */
  int64_t shift;  /* torus: each row is shifted by shift * width / sites */
  int columns;    /* rectangle: 1 if the rows run along y, 0 if they run along x */
  int alternates; /* rectangle: 1 if every other row has one site less, and the longer rows end
                     half a spacing before both sides of the domain; 0 if all rows have equal
                     numbers of sites */
} cvtm_lattice;

enum { CVTM_LATTICE_MAX = 16 };

/* The energy of a lattice divided by that of regular hexagons of equal area. (ux, uy) and (vx, vy)
 * are a basis. The ratio is 1 for the hexagonal lattice and 1.0392 for squares. */
double cvtm_lattice_ratio(double ux, double uy, double vx, double vy);
/* Finds lattices of `count` >= 1 sites that fit the domain, and returns their number.
 *
 * In a rectangle the border decides which lattice has the least energy. For up to 2,000 sites the
 * list has all lattices whose rows have nearly the right height. For more sites it has the best
 * lattice for each direction of the rows, with equal and with alternating rows.
 *
 * A torus has at most one lattice, which is exactly periodic. It has none if all are far from
 * hexagonal, which can happen with few sites. The time to find the lattice is at worst proportional
 * to the sum of the divisors of `count`. */
int cvtm_lattice_find(cvtm_domain domain, int64_t count, cvtm_lattice lattice[CVTM_LATTICE_MAX]);
/* Sets sites (2 * count) to those of the lattice. If `count` is no multiple of the number of rows
 * of a rectangle, the first rows have one site more. */
void cvtm_lattice_place(cvtm_domain domain, const cvtm_lattice *lattice, int64_t count,
                        double *sites);

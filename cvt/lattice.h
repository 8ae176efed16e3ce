/* Inside cvt only: hexagonal lattices for a constant density. Regular hexagons tessellate the plane
 * with the least energy (Fejes Toth 1953; Gersho 1979). */
#pragma once

#include "base/domain.h"

#include <stdint.h>

/* Rows of sites. On a torus all rows have the same number of sites, and each row is shifted against
 * the row before. In a rectangle every other row is shifted by half a spacing. */
typedef struct cvtm_lattice {
  double ratio;   /* cvtm_lattice_ratio of the lattice, extended over the plane */
  int64_t rows;   /* at least 1 */
  int64_t shift;  /* torus: each row is shifted by shift * width / sites */
  int columns;    /* rectangle: 1 if the rows are parallel to y, 0 if they are parallel to x */
  int alternates; /* rectangle: 1 if every other row has one site less, and the longer rows end
                     half a spacing before both sides of the domain; 0 if all rows have equal
                     numbers of sites */
} cvtm_lattice;

enum { CVTM_LATTICE_MAX = 16 };

/* The energy of the lattice with the basis (ux, uy), (vx, vy), divided by that of regular hexagons
 * of equal area: 1 for the hexagonal lattice, 1.0392 for squares. */
double cvtm_lattice_ratio(double ux, double uy, double vx, double vy);
/* Finds lattices of `count` >= 1 sites that fit the domain, and returns their number.
 *
 * In a rectangle the lattice with the least energy depends on the border. For up to 2,000 sites the
 * list has all lattices whose rows have nearly the height of hexagons; for more sites, the best
 * lattice for each direction of the rows, with equal and with alternating rows.
 *
 * On a torus one lattice is found, which is exactly periodic, or none if all are far from
 * hexagonal, which can happen with few sites. The time is at worst proportional to the sum of the
 * divisors of `count`. */
int cvtm_lattice_find(cvtm_domain domain, int64_t count, cvtm_lattice lattice[CVTM_LATTICE_MAX]);
/* Sets the sites (2 * count) of the lattice. If `count` is not a multiple of the number of rows in
 * a rectangle, the first rows have one site more. */
void cvtm_lattice_place(cvtm_domain domain, const cvtm_lattice *lattice, int64_t count,
                        double *sites);

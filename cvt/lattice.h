/* Inside cvt only: hexagonal lattices for an even density, which regular hexagons tessellate best
 * (Fejes Toth 1953; Gersho 1979). */
#ifndef CVTMESH_CVT_LATTICE_H
#define CVTMESH_CVT_LATTICE_H

#include "base/domain.h"

#include <stdint.h>

/* Rows of sites. On a torus every row has the same number of them and is shifted against the row
 * before; in a rectangle every other row is shifted by half a spacing. */
typedef struct cvtm_lattice {
  double ratio; /* energy of the lattice of the plane over that of regular hexagons of equal area */
  int64_t rows; /* at least 1 */
  int64_t shift;  /* torus: by shift * width / sites */
  int columns;    /* rectangle: nonzero: the rows run down the domain, along y */
  int alternates; /* rectangle: nonzero: every other row has one site less, so that the longer rows
                     have half a spacing to both sides of the domain; else all rows have equal
                     numbers */
} cvtm_lattice;

enum { CVTM_LATTICE_MAX = 16 };

/* The energy of a lattice over that of regular hexagons of equal area; (ux, uy) and (vx, vy) are a
 * basis. 1 for the hexagonal lattice, 1.0392 for squares. */
double cvtm_lattice_ratio(double ux, double uy, double vx, double vy);
/* Lattices of `count` >= 1 sites that fit the domain. Which one has the least energy in a rectangle
 * depends on the border: of up to 2,000 sites the list has all whose rows have nearly the right
 * height, of more the best for each direction and kind of rows. A torus has one lattice at most,
 * exactly periodic, and none if all are far from hexagonal, as they may be for few sites; the time
 * to find it is at worst proportional to the sum of the divisors of `count`. Returns the number of
 * lattices. */
int cvtm_lattice_find(cvtm_domain domain, int64_t count, cvtm_lattice lattice[CVTM_LATTICE_MAX]);
/* Sets sites (2 * count) to those of the lattice. Where `count` does not divide into the rows of a
 * rectangle, the first rows have one site more. */
void cvtm_lattice_place(cvtm_domain domain, const cvtm_lattice *lattice, int64_t count,
                        double *sites);

#endif

/* Hexagonal lattices that fit a rectangle or a torus. */
#include "cvt/lattice.h"

#include "base/host.h"
#include "cvt/site_updates.h"

#include <math.h>
#include <stdlib.h>

/* The search on a torus ends at a lattice with this ratio. */
static const double good_ratio = 1 + 1e-5;

/* Lattices on a torus with a larger ratio have more energy than tessellations by coarse levels. */
static const double worst_ratio = 1.004;

/* Up to this number of sites, the best lattice depends on the border, and all are tried. */
enum { FEW_SITES = 2000 };

/* First reduces the basis by Gauss's method to u, v with 0 <= -2 u.v <= |u|^2 <= |v|^2. Then finds
 * the second moment of the Voronoi cell from the products of u, v and -(u + v) (Conway & Sloane
 * 1982, section 5). */
double cvtm_lattice_ratio(double ux, double uy, double vx, double vy) {
  const double area = fabs(ux * vy - uy * vx);
  double uu = ux * ux + uy * uy, vv = vx * vx + vy * vy, uv = ux * vx + uy * vy;
  for (;;) {
    if (vv < uu) {
      const double swap = uu;
      uu = vv;
      vv = swap;
    }
    const double k = rint(uv / uu);
    if (k == 0) break;
    vv -= k * (2 * uv - k * uu);
    uv -= k * uu;
  }
  uv = -fabs(uv);
  const double a = -uv, b = uu + uv, c = vv + uv; /* Selling's parameters */
  const double moment = (a + b + c + a * b * c / (area * area)) / 12;
  return moment / (CVTM_HEXAGON_MOMENT * area);
}

/* Tries the lattices with `rows` rows and any periodic shift. */
static void try_torus(cvtm_domain domain, int64_t count, int64_t rows, cvtm_lattice *best) {
  const double width = domain.width, along = width * (double)rows / (double)count;
  const double height = domain.height / (double)rows;
  for (int64_t shift = 0; shift < rows; ++shift) {
    const double ratio =
        cvtm_lattice_ratio(along, 0, (double)shift * width / (double)count, height);
    if (best->rows > 0 && ratio >= best->ratio) continue;
    *best = (cvtm_lattice){.ratio = ratio, .rows = rows, .shift = shift};
    if (ratio <= good_ratio) return;
  }
}

static cvtm_lattice find_on_torus(cvtm_domain domain, int64_t count) {
  cvtm_lattice best = {0};
  for (int64_t d = 1; d * d <= count; ++d) {
    if (count % d != 0) continue;
    try_torus(domain, count, d, &best);
    if (best.ratio > good_ratio && d * d != count) try_torus(domain, count, count / d, &best);
    if (best.ratio <= good_ratio) break;
  }
  return best;
}

/* For qsort. */
/* Adds the lattices of one kind. In the hexagonal lattice rows have the height sqrt(3)/2 times the
 * spacing, which seldom gives an integer number of rows. So a lattice is added for each of the two
 * next smaller and the two next larger integers. kind: alternates + 2 * columns of cvtm_lattice.
 * Returns the number of lattices. */
static int find_in_rectangle(double width, double height, int64_t count, int kind,
                             cvtm_lattice *lattice) {
  int found = 0;
  const int alternates = kind % 2;
  const double spacing = sqrt(width * height / (double)count * 2 / sqrt(3.0));
  const int64_t near = (int64_t)(height / (spacing * sqrt(0.75)));
  for (int64_t rows = near > 2 ? near - 1 : 1; rows <= near + 2 && rows <= count; ++rows) {
    const double missing = alternates ? (double)(rows / 2) : 0;
    const double along = width * (double)rows / ((double)count + missing);
    lattice[found++] =
        (cvtm_lattice){.ratio = cvtm_lattice_ratio(along, 0, along / 2, height / (double)rows),
                       .rows = rows,
                       .columns = kind / 2,
                       .alternates = alternates};
  }
  return found;
}

int cvtm_lattice_find(cvtm_domain domain, int64_t count, cvtm_lattice lattice[CVTM_LATTICE_MAX]) {
  if (domain.periodic) {
    lattice[0] = find_on_torus(domain, count);
    return lattice[0].ratio <= worst_ratio;
  }
  int found = 0;
  for (int kind = 0; kind < 4; ++kind) {
    const double width = kind / 2 ? domain.height : domain.width;
    const double height = kind / 2 ? domain.width : domain.height;
    const int added = find_in_rectangle(width, height, count, kind, lattice + found);
    qsort(lattice + found, (size_t)added, sizeof *lattice, cvtm_compare_doubles);
    found += count <= FEW_SITES ? added : 1;
  }
  return found;
}

static void place_on_torus(cvtm_domain domain, const cvtm_lattice *l, int64_t count,
                           double *sites) {
  const int64_t in_row = count / l->rows;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = i / in_row;
    /* In units of width / count, so that x is wrapped exactly. */
    const int64_t x = (i % in_row * l->rows + row * l->shift) % count;
    sites[2 * i] = ((double)x + 0.5) * domain.width / (double)count;
    sites[2 * i + 1] = ((double)row + 0.5) * domain.height / (double)l->rows;
  }
}

/* The height of a row is proportional to its number of sites. A shorter row counts as having one
 * more site, since at each end it has an additional half spacing. */
static void place_in_rectangle(cvtm_domain domain, const cvtm_lattice *l, int64_t count,
                               double *sites) {
  const double width = l->columns ? domain.height : domain.width;
  const double height = l->columns ? domain.width : domain.height;
  const int64_t missing = l->alternates ? l->rows / 2 : 0;
  const int64_t in_row = (count + missing) / l->rows, more = (count + missing) % l->rows;
  int64_t before = 0;
  for (int64_t row = 0; row < l->rows; ++row) {
    const int64_t full = in_row + (row < more);
    const int odd = (int)(row % 2), shorter = l->alternates && odd;
    const double first = l->alternates ? (odd ? 1 : 0.5) : (odd ? 0.75 : 0.25);
    const double y = ((double)before + 0.5 * (double)full) * height / (double)(count + missing);
    for (int64_t i = 0; i < full - shorter; ++i) {
      const double x = ((double)i + first) * width / (double)full;
      *sites++ = l->columns ? y : x;
      *sites++ = l->columns ? x : y;
    }
    before += full;
  }
}

void cvtm_lattice_place(cvtm_domain domain, const cvtm_lattice *lattice, int64_t count,
                        double *sites) {
  if (domain.periodic)
    place_on_torus(domain, lattice, count, sites);
  else
    place_in_rectangle(domain, lattice, count, sites);
}

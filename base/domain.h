/* The domain: [0, width] x [0, height] in pixels, x right, y down, pixel (i, j) the unit square
 * centred at (i + .5, j + .5), stored at j * width + i. */
#ifndef CVTMESH_BASE_DOMAIN_H
#define CVTMESH_BASE_DOMAIN_H

#include <stdint.h>

/* Pixels are counted in 64 bits, and in 32 bits where each pixel has a label (jump flooding, exact
 * labels). */
enum { CVTM_MAX_SIDE = 262144, CVTM_MAX_LABELLED_SIDE = 32768 };

typedef struct cvtm_domain {
  int width, height; /* 1 .. CVTM_MAX_SIDE */
  int periodic;      /* nonzero: a torus, opposite sides are glued */
} cvtm_domain;

#endif

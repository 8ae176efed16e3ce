/* The domain: [0, width] x [0, height] in pixels, x to the right, y down. Pixel (i, j) is the unit
 * square with the centre (i + .5, j + .5), and is stored at j * width + i. */
#pragma once

/* Pixels have 64-bit indices, and 32-bit indices where each pixel has a label (jump flooding, exact
 * labels). */
enum { CVTM_MAX_SIDE = 262144, CVTM_MAX_LABELLED_SIDE = 32768 };

typedef struct cvtm_domain {
  int width, height; /* 1 .. CVTM_MAX_SIDE */
  int periodic;      /* nonzero: a torus, whose opposite sides are identified */
} cvtm_domain;

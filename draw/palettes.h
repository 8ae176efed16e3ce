/* The colours of pictures and of the viewer. */
#ifndef CVTMESH_DRAW_PALETTES_H
#define CVTMESH_DRAW_PALETTES_H

#include "base/api.h"

CVTM_API_BEGIN

/* Linear red, green, blue. */
typedef struct cvtm_colour {
  float channel[3];
} cvtm_colour;

/* Pictures: depth 0 is paper, 1 is ink; lightness falls evenly between. */
cvtm_colour cvtm_picture_colour(double depth);

/* --- the viewer's two themes, as 8-bit sRGB --- */

enum { CVTM_PALETTE_WIDTH = 256, CVTM_PALETTE_ROWS = 3 };

/* Rows of cvtm_fill: 256 steps from large cells to small ones; hues for sites; sides, entry k for
 * k sides. */
void cvtm_palette_fill(int dark, unsigned char pixels[CVTM_PALETTE_ROWS][CVTM_PALETTE_WIDTH][4]);

/* Colours of everything else. */
typedef struct cvtm_theme {
  float ground[3]; /* around the domain */
  float paper[3];  /* the domain */
  float ink[3];
  float mesh[3], boundary[3], few[3], many[3], accent[3];
} cvtm_theme;

const cvtm_theme *cvtm_theme_of(int dark);

CVTM_API_END

#endif

/* The palettes of the two themes, as 8-bit sRGB. */
#ifndef CVTMESH_VIEWER_COLOURS_H
#define CVTMESH_VIEWER_COLOURS_H

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

#endif

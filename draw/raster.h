/* A small antialiased rasteriser: it computes the exact area of a shape in each pixel and blends in
 * linear light. Also has the colours of pictures and of the viewer. */
#pragma once

#include "base/status.h"

CVTM_API_BEGIN

/* Linear red, green, blue. */
typedef struct cvtm_colour {
  float channel[3];
} cvtm_colour;

/* The colour of pictures for a depth: 0 is paper, 1 is ink; lightness is linear between them. */
cvtm_colour cvtm_picture_colour(double depth);

/* A canvas and a layer on which shapes are drawn. On the layer, shapes that share an edge meet
 * without a seam, and overlapping shapes are not darker. cvtm_raster_merge blends the layer over
 * the canvas and clears the layer. */
typedef struct cvtm_raster {
  int width, height;
  float *canvas; /* 3 * width * height */
  float *layer;  /* 4 * width * height: colour times coverage, coverage */
  float *area;   /* (width + 2) * height: the area that is being accumulated; zero between calls */
} cvtm_raster;

cvtm_status cvtm_raster_create(int width, int height, cvtm_colour ground, cvtm_raster *raster,
                               cvtm_error *error);
void cvtm_raster_destroy(cvtm_raster *raster);

/* Draws a polygon with count corners x, y that does not cross itself; parts of it may lie outside
 * the canvas. */
void cvtm_raster_polygon(cvtm_raster *raster, const double *corners, int count, cvtm_colour colour);
void cvtm_raster_line(cvtm_raster *raster, double x0, double y0, double x1, double y1, double width,
                      cvtm_colour colour);
void cvtm_raster_disc(cvtm_raster *raster, double x, double y, double radius, cvtm_colour colour);
void cvtm_raster_merge(cvtm_raster *raster, double opacity);

/* Converts the canvas to 8-bit sRGB: 3 * width * height bytes. */
void cvtm_raster_encode(const cvtm_raster *raster, unsigned char *pixels);
/* Sets every `step`-th byte to the 8-bit sRGB of a value of linear light. */
void cvtm_light_encode(const float *light, int64_t count, int step, unsigned char *bytes);

/* --- the viewer's two themes, in sRGB --- */

enum { CVTM_PALETTE_WIDTH = 256, CVTM_PALETTE_ROWS = 3 };

/* Makes a row of 256 colours for each cvtm_fill: first from large cells to small ones, then hues
 * for sites, then, as entry k, the colour of cells with k sides. */
void cvtm_palette_fill(int dark, unsigned char pixels[CVTM_PALETTE_ROWS][CVTM_PALETTE_WIDTH][4]);

/* The colours of everything but the cells and sites. */
typedef struct cvtm_theme {
  float ground[3]; /* around the domain */
  float paper[3];  /* the domain */
  float ink[3];
  float mesh[3], boundary[3], few[3], many[3], accent[3];
} cvtm_theme;

const cvtm_theme *cvtm_theme_of(int dark);

CVTM_API_END

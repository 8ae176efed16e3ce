/* A small antialiased rasteriser: shapes are covered by their exact area per pixel and
 * blended in linear light. */
#ifndef CVTMESH_CLI_RASTER_H
#define CVTMESH_CLI_RASTER_H

#include "base/status.h"

/* Linear red, green, blue. */
typedef struct cli_colour {
  float channel[3];
} cli_colour;

/* Shapes go to a layer, where those that share an edge meet without a seam and those that
 * overlap do not darken; merging lays the layer over the canvas and empties it. */
typedef struct cli_raster {
  int width, height;
  float *canvas; /* 3 * width * height */
  float *layer;  /* 4 * width * height: colour times coverage, coverage */
  float *area;   /* (width + 2) * height, all zero between calls */
} cli_raster;

cvtm_status cli_raster_create(int width, int height, cli_colour ground, cli_raster *raster,
                              cvtm_error *error);
void cli_raster_destroy(cli_raster *raster);

/* A polygon of count corners x, y that does not cross itself; any part may lie outside. */
void cli_raster_polygon(cli_raster *raster, const double *corners, int count, cli_colour colour);
void cli_raster_line(cli_raster *raster, double x0, double y0, double x1, double y1, double width,
                     cli_colour colour);
void cli_raster_disc(cli_raster *raster, double x, double y, double radius, cli_colour colour);
void cli_raster_merge(cli_raster *raster, double opacity);

/* As an 8-bit sRGB PNG. */
cvtm_status cli_raster_write(const cli_raster *raster, const char *path, cvtm_error *error);

#endif

/* A small antialiased rasteriser: shapes are covered by their exact area per pixel and
 * blended in linear light. */
#ifndef CVTMESH_DRAW_RASTER_H
#define CVTMESH_DRAW_RASTER_H

#include "base/status.h"
#include "draw/palettes.h"

CVTM_API_BEGIN

/* Shapes go to a layer, where those that share an edge meet without a seam and those that
 * overlap do not darken; merging lays the layer over the canvas and empties it. */
typedef struct cvtm_raster {
  int width, height;
  float *canvas; /* 3 * width * height */
  float *layer;  /* 4 * width * height: colour times coverage, coverage */
  float *area;   /* (width + 2) * height, all zero between calls */
} cvtm_raster;

cvtm_status cvtm_raster_create(int width, int height, cvtm_colour ground, cvtm_raster *raster,
                               cvtm_error *error);
void cvtm_raster_destroy(cvtm_raster *raster);

/* A polygon of count corners x, y that does not cross itself; any part may lie outside. */
void cvtm_raster_polygon(cvtm_raster *raster, const double *corners, int count, cvtm_colour colour);
void cvtm_raster_line(cvtm_raster *raster, double x0, double y0, double x1, double y1, double width,
                      cvtm_colour colour);
void cvtm_raster_disc(cvtm_raster *raster, double x, double y, double radius, cvtm_colour colour);
void cvtm_raster_merge(cvtm_raster *raster, double opacity);

/* 8-bit sRGB: 3 * width * height bytes. */
void cvtm_raster_encode(const cvtm_raster *raster, unsigned char *pixels);

CVTM_API_END

#endif

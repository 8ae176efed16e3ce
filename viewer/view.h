/* The part of a frame that is shown, and how; shared by drawing and controls. */
#pragma once

#include "base/domain.h"

/* X(code, bit, name for --layers, title, key) */
#define CVTM_LAYER_LIST(X)                                         \
  X(CVTM_LAYER_DENSITY, 0, "density", "density", '1')              \
  X(CVTM_LAYER_CELLS, 1, "cells", "cells", '2')                    \
  X(CVTM_LAYER_CELL_EDGES, 2, "cell-edges", "cell edges", '3')     \
  X(CVTM_LAYER_SITES, 3, "sites", "sites", '4')                    \
  X(CVTM_LAYER_MESH_EDGES, 4, "mesh-edges", "Delaunay edges", '5') \
  X(CVTM_LAYER_DEFECTS, 5, "defects", "defects", '6')              \
  X(CVTM_LAYER_BOUNDARY, 6, "boundary", "boundary", '7')           \
  X(CVTM_LAYER_PLOT, 7, "plot", "energy plot", '8')                \
  X(CVTM_LAYER_FIGURES, 8, "figures", "figures", '9')

typedef enum cvtm_layer {
#define CVTM_LAYER_CODE(code, bit, name, title, key) code = 1 << (bit),
  CVTM_LAYER_LIST(CVTM_LAYER_CODE)
#undef CVTM_LAYER_CODE
} cvtm_layer;

/* A row of the list, and all rows. */
typedef struct cvtm_layer_row {
  unsigned layer;
  const char *name, *title;
  char key;
} cvtm_layer_row;
#define CVTM_LAYER_ROW(code, bit, name, title, key) {code, name, title, key},
enum { CVTM_LAYERS = 9 };
extern const cvtm_layer_row cvtm_layer_rows[CVTM_LAYERS];

typedef enum cvtm_fill {
  CVTM_FILL_AREA,
  CVTM_FILL_SITE,
  CVTM_FILL_SIDES,
  CVTM_FILL_COUNT
} cvtm_fill;

typedef struct cvtm_view {
  int width, height; /* size of the framebuffer */
  double scale; /* framebuffer pixels per design pixel, for example 2 on a high-density screen */
  double x, y;  /* the point of the domain at the centre of the screen */
  double zoom;  /* framebuffer pixels per pixel of the domain */
  unsigned layers;
  cvtm_fill fill;
  int dark, help;
  double brush;       /* radius of the brush, pixels of the domain; 0: no brush is shown */
  double cursor[2];   /* position in the framebuffer */
  const char *device; /* for the status line */
  const char *tool;   /* what the mouse does; may be empty */
  const char *note;   /* a message; may be empty */
} cvtm_view;

static inline void cvtm_view_to_screen(const cvtm_view *view, const double p[2], double s[2]) {
  s[0] = (p[0] - view->x) * view->zoom + 0.5 * view->width;
  s[1] = (p[1] - view->y) * view->zoom + 0.5 * view->height;
}

static inline void cvtm_view_to_domain(const cvtm_view *view, const double s[2], double p[2]) {
  p[0] = (s[0] - 0.5 * view->width) / view->zoom + view->x;
  p[1] = (s[1] - 0.5 * view->height) / view->zoom + view->y;
}

/* Fits the domain into the view, with a margin, above the status line. */
static inline void cvtm_view_fit(cvtm_view *view, cvtm_domain domain) {
  const double margin = 16 * view->scale;
  const double bar = view->layers & CVTM_LAYER_FIGURES ? 34 * view->scale : 0;
  double width = view->width - 2 * margin, height = view->height - 2 * margin - bar;
  if (width < 1) width = 1;
  if (height < 1) height = 1;
  const double zx = width / domain.width, zy = height / domain.height;
  view->zoom = zx < zy ? zx : zy;
  view->x = 0.5 * domain.width;
  view->y = 0.5 * domain.height + 0.5 * bar / view->zoom;
}

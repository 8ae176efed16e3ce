/* The raster picture of a run: density, Voronoi cells, mesh and sites as a PNG. */
#pragma once

#include "base/domain.h"
#include "base/status.h"
#include "draw/raster.h"
#include "meshes/mesh.h"

CVTM_API_BEGIN

/* Layers, drawn in this order; any combination. */
enum {
  CVTM_PICTURE_DENSITY = 1,     /* the density itself as a soft tint */
  CVTM_PICTURE_CELLS = 2,       /* Voronoi cells filled by their tone */
  CVTM_PICTURE_CELL_EDGES = 4,  /* Voronoi edges */
  CVTM_PICTURE_TRIANGLES = 8,   /* Delaunay triangles filled by their tone */
  CVTM_PICTURE_MESH_EDGES = 16, /* Delaunay edges */
  CVTM_PICTURE_SITES = 32,      /* one dot per site, sized by its cell */
  CVTM_PICTURE_STIPPLES = 64 /* dots on white paper that reproduce the tone; excludes the others */
};

/* Writes 8 bits of each of 1, 3 or 4 channels, like cvtm_png_write. */
typedef cvtm_status (*cvtm_pixels_writer)(const char *path, int width, int height, int channels,
                                          const unsigned char *pixels, cvtm_error *error);

/* Each comment ends with the default; without one, the default is 0 or NULL. */
typedef struct cvtm_picture_options {
  unsigned layers; /* CVTM_PICTURE_* or-ed; cells, their edges and sites */
  int long_side; /* pixels of the longer side, at most 16384; 0: chosen from the spacing of sites */
  int invert; /* nonzero: dense areas are light on a dark ground, for densities made with invert */
  cvtm_pixels_writer write; /* NULL: cvtm_png_write */
  CVTM_RESERVED(7);
} cvtm_picture_options;

void cvtm_picture_defaults(cvtm_picture_options *options);

/* Draws and writes a picture at `path` (`-`: standard output). density: width * height values of
 * the domain; NULL: tones are computed from the areas of cells. All layers except DENSITY need
 * `mesh` and `cells`, which otherwise may be NULL. */
cvtm_status cvtm_picture_write(const char *path, const float *density, cvtm_domain domain,
                               const cvtm_mesh *mesh, const cvtm_cells *cells,
                               const cvtm_picture_options *options, cvtm_error *error);

/* The longer side of a picture, in pixels: `asked` or, if that is 0, a length for which sites are
 * about ten pixels apart, limited to 1600 .. 2048. */
int cvtm_picture_side(cvtm_domain domain, int64_t sites, int64_t asked);
/* Writes a PNG at `path` (`-`: standard output). */
cvtm_status cvtm_raster_write(const cvtm_raster *raster, const char *path, cvtm_error *error);

CVTM_API_END

/* Inside cli: areas of the globe, from polygons in longitudes and latitudes. */
#ifndef CVTMESH_CLI_SPHERE_AREA_H
#define CVTMESH_CLI_SPHERE_AREA_H

#include "base/status.h"

#include <stdint.h>

/* Edges are straight in longitude and latitude, in degrees, as in GeoJSON (RFC 7946). */
typedef struct cli_area {
  int64_t *first; /* of each band of latitudes: the place of its first edge, and the end */
  double *edge;   /* longitude and latitude of both ends; an edge is in each band that it crosses */
} cli_area;

/* Reads polygons (geojson, csv, svg, poly). */
cvtm_status cli_area_read(const char *path, cli_area *area, cvtm_error *error);
void cli_area_free(cli_area *area);
/* True inside, by the even-odd rule. Polygons may go beyond 180 degrees by up to a turn. */
int cli_area_contains(const cli_area *area, double longitude, double latitude);

#endif

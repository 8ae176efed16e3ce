/* Inside meshes only: what the readers of polygon files share. */
#ifndef CVTMESH_MESHES_FORMATS_POLYGON_RINGS_H
#define CVTMESH_MESHES_FORMATS_POLYGON_RINGS_H

#include "meshes/formats/formats.h"
#include "meshes/polygon_file.h"
#include "meshes/domain/pslg.h"

/* The rings read so far, and the one being read. */
typedef struct cvtm_ring_collector {
  cvtm_source *source; /* for messages */
  cvtm_polygons rings;
  int64_t ring_capacity, point_capacity;
  int64_t open;   /* points of the ring being read, which follow those of the finished rings */
  int64_t read;   /* points read, dropped ones included */
  int32_t *shape; /* per ring: the shape that it is of; -1: the reader knows no shapes */
  int64_t shape_capacity;
  char **name; /* per shape; NULL: it has none */
  int64_t shape_count, name_capacity;
  int names_divide; /* shapes with names are regions, whether or not they have common edges */
} cvtm_ring_collector;

void cvtm_ring_collector_free(cvtm_ring_collector *collector);

/* The rings that follow are of another shape. name: copied, or NULL. */
cvtm_status cvtm_ring_begin_shape(cvtm_ring_collector *collector, const char *name);

/* A point equal to the one before it is dropped. */
cvtm_status cvtm_ring_add_point(cvtm_ring_collector *collector, double x, double y);
/* The ring being read is complete; one without area is dropped. */
cvtm_status cvtm_ring_close(cvtm_ring_collector *collector);

static inline int cvtm_is_letter(unsigned char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }

/* Rings that touch but for rounding touch exactly, as after cvtm_rings_join; here edges get corners
 * of other rings that are exactly on them, too, no ring is divided, and corners may be repeated. */
cvtm_status cvtm_rings_touch(cvtm_polygons *rings, cvtm_error *error);

/* Refuses rings that cross so far that neither of these two joins them: where many long edges
 * cross, they take time of the square of the edges. */
cvtm_status cvtm_rings_refuse_crossings(const cvtm_polygons *rings, const char *name,
                                        cvtm_error *error);

/* The bytes of a polygon file; of .poly with those of its .node file. bytes: malloc'd. */
cvtm_status cvtm_polygons_load(const char *path, unsigned char **bytes, size_t *size,
                               cvtm_error *error);
/* Reads the rings of a file as they are. The caller frees the collector, on failure too. */
cvtm_status cvtm_rings_read(const char *extension, cvtm_source *source,
                            cvtm_ring_collector *collector);

/* Vertices and segments of Triangle; y stays up. */
cvtm_status cvtm_read_polygons_poly(cvtm_source *source, cvtm_ring_collector *collector);
/* The paths and closed shapes of an SVG document, with their transforms. */
cvtm_status cvtm_read_polygons_svg(cvtm_source *source, cvtm_ring_collector *collector);

#endif

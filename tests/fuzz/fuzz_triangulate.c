/* Triangulations of vertices, segments, holes and regions on a small lattice, where many of them
 * meet. The first bytes choose the switches and the numbers. */
#include "meshes/refine/triangulate.h"

#include "fuzz.h"

#include <math.h>

typedef struct reader {
  const unsigned char *data;
  size_t size, at;
} reader;

static int next(reader *r) { return r->at < r->size ? r->data[r->at++] : 0; }

/* A lattice of 8 by 8; some places are off by a rounding error or far away. */
static double coordinate(reader *r) {
  static const double moves[4] = {0, 1e-16, 1e-9, 1e6};
  const int byte = next(r);
  return byte % 8 / 3.0 + (byte >= 224 ? moves[byte / 8 % 4] : 0);
}

static void check_made(const cvtm_triangulated *made) {
  for (int64_t k = 0; k < 2 * made->vertex_count; ++k)
    if (!isfinite(made->vertices[k])) abort();
  for (int64_t k = 0; k < 3 * made->triangle_count; ++k)
    if (made->triangles[k] < 0 || made->triangles[k] >= made->vertex_count ||
        made->neighbors[k] < -1 || made->neighbors[k] >= made->triangle_count)
      abort();
  for (int64_t k = 0; k < 2 * made->edge_count; ++k)
    if (made->edges[k] < 0 || made->edges[k] >= made->vertex_count) abort();
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
  enum { MOST = 24 };
  reader r = {data, size, 0};
  double vertices[2 * MOST], values[MOST], holes[4], regions[8];
  int32_t segments[2 * MOST], markers[MOST], triangles[12];
  const int switches = next(&r), more = next(&r);
  cvtm_triangulate_input in = {.vertex_count = next(&r) % (MOST + 1),
                               .vertices = vertices,
                               .attribute_count = more & 1,
                               .attributes = values,
                               .segment_count = next(&r) % (MOST + 1),
                               .segments = segments,
                               .segment_markers = markers,
                               .hole_count = next(&r) % 3,
                               .holes = holes,
                               .region_count = next(&r) % 3,
                               .regions = regions,
                               .triangle_count = next(&r) % 5,
                               .triangles = triangles};
  const cvtm_triangulate_options options = {.takes_segments = switches & 1,
                                            .refines = (switches >> 1) & 1,
                                            .keeps_hull = (switches >> 2) & 1,
                                            .min_angle = (switches >> 3) & 1 ? 25 : 0,
                                            .max_area = (switches >> 4) & 1 ? 0.5 : 0,
                                            .has_areas = (switches >> 5) & 1,
                                            .marks_regions = (switches >> 6) & 1,
                                            .is_conforming = (switches >> 7) & 1,
                                            .keeps_segments = (more >> 1) % 3,
                                            .most_added = 300};
  for (int k = 0; k < 2 * MOST; ++k) vertices[k] = coordinate(&r);
  for (int k = 0; k < MOST; ++k) values[k] = next(&r);
  for (int k = 0; k < 2 * MOST; ++k) segments[k] = next(&r) % (MOST + 1) - (k == 7 && more > 250);
  for (int k = 0; k < MOST; ++k) markers[k] = next(&r) - 9;
  for (int k = 0; k < 4; ++k) holes[k] = coordinate(&r);
  for (int k = 0; k < 8; ++k) regions[k] = coordinate(&r);
  for (int k = 0; k < 12; ++k) triangles[k] = next(&r) % (MOST + 1);
  cvtm_triangulated made = {0};
  cvtm_error error;
  const cvtm_status status = cvtm_triangulate(&in, &options, &made, &error);
  if (status == CVTM_OK) check_made(&made);
  if (status != CVTM_OK && status != CVTM_ERROR_INPUT) abort();
  cvtm_triangulated_free(&made);
  return 0;
}

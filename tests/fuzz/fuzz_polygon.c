/* Polygons from bytes, and what a domain mesh does with them. The first byte chooses the format. */
#include "meshes/constrained.h"
#include "meshes/domain/pslg.h"

#include "fuzz.h"

#include <math.h>
#include <string.h>

static double spacing(const void *context, double x, double y) {
  (void)context;
  (void)x;
  (void)y;
  return 4;
}

static void mesh_polygons(const cvtm_polygons *polygons) {
  cvtm_contour_options how;
  cvtm_contour_defaults(&how);
  cvtm_contour contour = {0};
  cvtm_boundary boundary = {0};
  cvtm_mesh mesh = {0};
  cvtm_regions regions = {0};
  int32_t *source = NULL;
  cvtm_error error;
  if (cvtm_contour_of_polygons(polygons, 100, 100, &how, &contour, &error) != CVTM_OK) return;
  cvtm_status status = cvtm_boundary_sample(&contour, spacing, NULL, &boundary, &error);
  if (status != CVTM_OK) abort();
  status = cvtm_constrained_delaunay(boundary.points, boundary.vertex_count, &boundary, &mesh,
                                     &regions, &source, &error);
  /* Samples of rings that all but touch may cross. */
  if (status != CVTM_OK && status != CVTM_ERROR_INPUT) abort();
  const cvtm_domain image = {100, 100, 0};
  if (status == CVTM_OK && cvtm_regions_group(&mesh, image, NULL, 0, &regions, &error) != CVTM_OK)
    abort();
  cvtm_mesh_free(&mesh);
  cvtm_regions_free(&regions);
  free(source);
  cvtm_boundary_free(&boundary);
  cvtm_contour_free(&contour);
}

static void read_graph(const char *extension, const unsigned char *data, size_t size) {
  cvtm_pslg graph = {0};
  cvtm_error error;
  int is_rings;
  if (cvtm_pslg_read_bytes(extension, data, size, "fuzz", &graph, &is_rings, &error) != CVTM_OK)
    return;
  const cvtm_boundary *b = &graph.boundary;
  for (int64_t k = 0; k < 2 * b->vertex_count; ++k)
    if (!isfinite(b->points[k])) abort();
  for (int64_t e = 0; e < b->edge_count; ++e)
    if (b->left[e] < 0 || b->right[e] < 0 || b->left[e] + (int64_t)b->right[e] == 0) abort();
  cvtm_pslg_free(&graph);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
  static const char *const extensions[] = {"csv", "svg", "json", "poly"};
  const size_t formats = sizeof extensions / sizeof extensions[0];
  if (size < 1) return 0;
  cvtm_polygons polygons = {0};
  cvtm_error error;
  const char *extension = extensions[(size_t)(data[0] - 'a') % formats];
  read_graph(extension, data + 1, size - 1);
  if (cvtm_polygons_read_bytes(extension, data + 1, size - 1, "fuzz", &polygons, &error) != CVTM_OK)
    return 0;
  for (int64_t k = 0; k < 2 * polygons.start[polygons.ring_count]; ++k)
    if (!isfinite(polygons.points[k])) abort();
  mesh_polygons(&polygons);
  cvtm_polygons_free(&polygons);
  return 0;
}

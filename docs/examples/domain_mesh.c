/* The mesh of a domain in a picture: what is dark in PICTURE, 1,500 vertices, no angle below 30
 * degrees but at sharper corners, in a Gmsh file whose outline and holes are physical groups.
 * cc domain_mesh.c $(pkg-config --cflags --libs cvtmesh) -o domain_mesh
 * ./domain_mesh horse.png horse.msh */
#include <cvtmesh/cvtmesh.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All that a step makes and a later one needs; empty is zero. */
typedef struct work {
  cvtm_device *device;
  cvtm_image image;
  float *density; /* of the picture, then of the domain */
  float *coverage;
  cvtm_contour contour;
  cvtm_boundary boundary;
  cvtm_refinement *refined;
  cvtm_cvt *cvt;
  double *sites; /* before the refinement */
  int64_t site_count;
  cvtm_refine_figures figures;
  cvtm_mesh mesh;
  cvtm_regions regions;
  int32_t *source;
} work;

/* Where the picture is dark, how dense the mesh is to be, and vertices on the outline. */
static cvtm_status plan(work *w, const char *picture, int64_t wanted, cvtm_error *error) {
  cvtm_density_options tone;
  cvtm_contour_options outline;
  cvtm_domain_plan_figures planned;
  cvtm_density_defaults(&tone);
  cvtm_contour_defaults(&outline);
  if (cvtm_image_read(picture, &w->image, error)) return error->status;
  if (cvtm_density_from_image(&w->image, &tone, picture, &w->density, error)) return error->status;
  const int width = w->image.width, height = w->image.height;
  w->coverage = malloc((size_t)width * (size_t)height * sizeof *w->coverage);
  if (w->coverage == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  for (int64_t p = 0; p < (int64_t)width * height; ++p) w->coverage[p] = 1 - w->image.value[p];
  if (cvtm_contour_of_mask(w->coverage, width, height, &outline, &w->contour, error))
    return error->status;
  if (cvtm_domain_plan(&w->contour, width, height, wanted, 0.5, w->density, &w->boundary, &planned,
                       error))
    return error->status;
  w->site_count = planned.sites;
  return CVTM_OK;
}

/* The vertices of the outline stay; the other sites go to the centroids of their cells. */
static cvtm_status place(work *w, cvtm_error *error) {
  const cvtm_domain domain = {w->image.width, w->image.height, 0};
  cvtm_cvt_options options;
  cvtm_cvt_result result;
  cvtm_cvt_defaults(&options);
  options.fixed = w->boundary.vertex_count;
  w->sites = malloc(2 * (size_t)w->site_count * sizeof *w->sites);
  if (w->sites == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  memcpy(w->sites, w->boundary.points, 2 * (size_t)options.fixed * sizeof *w->sites);
  if (cvtm_device_create("auto", 0, &w->device, error)) return error->status;
  if (cvtm_cvt_create(w->device, domain, w->density, w->site_count, &w->cvt) ||
      cvtm_cvt_solve(w->cvt, &options, options.fixed, w->sites, w->site_count, &result))
    *error = *cvtm_device_error(w->device);
  else
    error->status = CVTM_OK;
  return error->status;
}

static cvtm_status triangulate(work *w, const char *path, cvtm_error *error) {
  cvtm_refine_options refine;
  cvtm_refine_defaults(&refine);
  refine.wanted = w->site_count;
  if (cvtm_refine(w->sites, w->site_count, &w->boundary, &refine, &w->refined, &w->figures,
                  error) ||
      cvtm_refinement_mesh(w->refined, &w->mesh, &w->regions, &w->source, error))
    return error->status;
  const cvtm_domain domain = {w->image.width, w->image.height, 0};
  if (cvtm_regions_group(&w->mesh, domain, NULL, 0, &w->regions, error)) return error->status;
  const cvtm_mesh_file_options how = {.domain = domain, .regions = &w->regions};
  return cvtm_mesh_write(path, &w->mesh, &how, error);
}

static void free_work(work *w) {
  free(w->source);
  cvtm_regions_free(&w->regions);
  cvtm_mesh_free(&w->mesh);
  cvtm_refine_figures_free(&w->figures);
  free(w->sites);
  cvtm_cvt_destroy(w->cvt);
  cvtm_refinement_destroy(w->refined);
  cvtm_boundary_free(&w->boundary);
  cvtm_contour_free(&w->contour);
  free(w->coverage);
  free(w->density);
  cvtm_image_free(&w->image);
  cvtm_device_destroy(w->device);
}

int main(int argc, char **argv) {
  work w = {0};
  cvtm_error error = {CVTM_OK, ""};
  if (argc != 3) {
    fprintf(stderr, "usage: %s PICTURE MESH\n", argv[0]);
    return 2;
  }
  cvtm_status status = plan(&w, argv[1], 1500, &error);
  if (status == CVTM_OK) status = place(&w, &error);
  if (status == CVTM_OK) status = triangulate(&w, argv[2], &error);
  if (status == CVTM_OK)
    printf("%lld vertices, %lld triangles, smallest angle %.1f degrees\n",
           (long long)w.mesh.vertex_count, (long long)w.mesh.triangle_count, w.figures.min_angle);
  else
    fprintf(stderr, "%s\n", error.message);
  free_work(&w);
  return status != CVTM_OK;
}

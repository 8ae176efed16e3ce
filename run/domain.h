/* --domain of `run`: reads the domain, plans its boundary, and triangulates the sites within it. */
#pragma once

#include "base/domain.h"
#include "run/condition.h"
#include "run/options.h"
#include "cvt/slide.h"
#include "meshes/domain_mesh.h"
#include "meshes/domain_plan.h"
#include "meshes/domain/pslg.h"
#include "meshes/refine.h"

#include <cjson/cJSON.h>

/* --min-angle and --max-area: Delaunay refinement of an outline or of a domain's mesh. */

/* The largest areas of triangles, each for one region or, with region 0, for all regions. */
typedef struct run_area_caps {
  int count;
  cvtm_run_area cap[CVTM_RUN_LIST_MAX];
  int64_t file_count;
  const cvtm_region_area *file; /* caps in the outline's file, by ascending region; borrowed */
} run_area_caps;

/* Checks and reads --max-area; fails with CVTM_ERROR_USAGE. */
cvtm_status run_area_caps_read(const cvtm_run_options *options, run_area_caps *caps,
                               cvtm_error *error);
/* Converts areas in squares of units of length, by --page or the size of pixels. */
cvtm_status run_area_caps_convert(const cvtm_run_options *options, cvtm_domain domain,
                                  run_area_caps *caps, cvtm_error *error);

/* Returns the largest area of triangles of a region by --max-area and the outline's file. */
double run_area_cap_of(const run_area_caps *caps, int32_t region);
/* The edge length with which the triangles of a region do not exceed its cap; INFINITY: no cap. */
double run_area_caps_size(const run_area_caps *caps, int32_t region);

/* Sets the options of a refinement that ends at the limit. caps and limit are borrowed. */
void run_refine_choose(const cvtm_run_options *options, const run_area_caps *caps,
                       const run_limit *limit, cvtm_refine_options *refine);

/* Nonzero if triangles are worse than demanded and no small angle of the input is the reason. */
int run_refine_fell_short(const cvtm_refine_figures *figures);

/* Adds the member `refinement`. Corners are reported at height - y or, with height NaN, at y. */
void run_refine_report(const cvtm_refine_options *refine, const cvtm_refine_figures *figures,
                       double height, cJSON *report);

typedef struct run_domain {
  cvtm_contour contour;
  cvtm_pslg graph;        /* of --domain polygon with several regions, for the regions' names */
  cvtm_boundary boundary; /* its vertices are the first sites, which are fixed during descents */
  cvtm_domain_plan_figures figures;
  cvtm_regions regions;   /* of the mesh */
  int32_t *source;        /* per vertex of the mesh the site that it was; -1: none */
  cvtm_cvt_slides slides; /* of --boundary sliding */
  int64_t dropped;        /* number of sites that the mesh leaves out */
  run_area_caps caps;
  run_limit limit;          /* of the refinement */
  cvtm_refinement *refined; /* made by run_domain_refine; NULL: the mesh is not refined */
  int64_t boundary_vertices;
  cvtm_refine_options refine;
  cvtm_refine_figures refinement;
  cvtm_boundary_angles angles;
  double mesh_area,
      smallest; /* smallest: area of the smallest part of the domain that is not dropped */
} run_domain;

/* Checks options that depend on each other. CVTM_ERROR_USAGE names the first contradiction. */
cvtm_status run_domain_check(const cvtm_run_options *options, cvtm_error *error);
/* Reads the domain, plans its boundary, and changes the density to match. */
cvtm_status run_domain_read(const cvtm_run_options *options, cvtm_domain image, float *density,
                            run_domain *domain, cvtm_error *error);
/* Moves sites that run_domain_triangulate would remove into the triangles where the density demands
 * the largest number of sites. sites: 2 * count. *moved: the number of moved sites. */
cvtm_status run_domain_move_dropped(const run_domain *domain, cvtm_domain image,
                                    const float *density, double *sites, int64_t count,
                                    int64_t *moved, cvtm_error *error);
/* Makes the constrained triangulation. From sites (2 * count), mass (count) and centroid (2 *
 * count) removes sites without a triangle and, unless the domain was refined, sites so close to a
 * boundary edge that the edge's triangle is flat. Sets *count to the number of remaining sites. */
cvtm_status run_domain_triangulate(run_domain *domain, double *sites, double *mass,
                                   double *centroid, int64_t *count, cvtm_mesh *mesh,
                                   cvtm_error *error);
/* Writes the file of --pairs-out, if that is given. */
cvtm_status run_domain_write_pairs(const cvtm_run_options *options, const cvtm_regions *regions,
                                   cvtm_error *error);
int64_t run_domain_corners(const run_domain *domain);
/* An upper bound on the Hausdorff distance of the boundary's edges, after sliding, and the
 * contour. */
double run_domain_deviation(const run_domain *domain);
void run_domain_report(const run_domain *domain, cJSON *report);
void run_domain_free(run_domain *domain);

/* --min-angle and --max-area with --domain. */

/* Zero for --min-angle 0 without --max-area, with which the mesh is not refined. */
int run_domain_refines(const cvtm_run_options *options);
/* Refines the mesh of the sites: moves, removes and adds sites, and divides edges of the boundary.
 * *sites: 2 * *count, malloc'd; the vertices of the boundary come first, before and after. Does
 * nothing unless run_domain_refines. */
cvtm_status run_domain_refine(const cvtm_run_options *options, run_domain *domain, double **sites,
                              int64_t *count, cvtm_error *error);
/* Moves the sites inside towards the centroids of their cells (2 * count) where the mesh does not
 * become worse than run_domain_refine has made it. */
cvtm_status run_domain_relax(run_domain *domain, double *sites, const double *centroid,
                             int64_t *moved, cvtm_error *error);
/* To be called after run_domain_relax: moves sites close to the boundary so that the smallest
 * angles there grow. */
cvtm_status run_domain_raise_angles(run_domain *domain, double *sites, cvtm_error *error);

/* --region-name of `run`: names of the regions of a domain. */

/* Nonzero if a name is valid in every format. */
int run_name_is_valid(const char *name);
/* Checks --region-name; fails with CVTM_ERROR_USAGE. */
cvtm_status run_region_names_check(const cvtm_run_options *options, cvtm_error *error);
/* cvtm_regions_group with the names of the options, else those of the graph. */
cvtm_status run_region_names_group(const cvtm_run_options *options, const cvtm_pslg *graph,
                                   const cvtm_mesh *mesh, cvtm_domain image, cvtm_regions *regions,
                                   cvtm_error *error);

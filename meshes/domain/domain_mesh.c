#include "meshes/domain_mesh.h"

#include "base/portable.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 4 };

static const double least_angle = 20 * CVTM_PI / 180;

static double angle_at(const double *a, const double *b, const double *c) {
  const double ux = b[0] - a[0], uy = b[1] - a[1], vx = c[0] - a[0], vy = c[1] - a[1];
  return fabs(atan2(ux * vy - uy * vx, ux * vx + uy * vy));
}

/* A site to leave out for the sake of a triangle; -1 if there is none, or no need. */
static int32_t crowded_site(const cvtm_mesh *mesh, const int32_t *source, int64_t fixed,
                            const int32_t *corners) {
  for (int k = 0; k < 3; ++k) {
    const int32_t v = corners[k], from = corners[(k + 1) % 3], to = corners[(k + 2) % 3];
    const double *a = mesh->points + 2 * (int64_t)from, *b = mesh->points + 2 * (int64_t)to;
    const double *c = mesh->points + 2 * (int64_t)v;
    const double opposite = angle_at(c, a, b);
    if (opposite >= least_angle || opposite > fmin(angle_at(a, b, c), angle_at(b, c, a))) continue;
    const int32_t crowded = source[from] > source[to] ? source[from] : source[to];
    return crowded >= fixed ? crowded : -1;
  }
  return -1;
}

/* The sites that are left, and what they were in the whole list. */
typedef struct selection {
  double *sites;
  int32_t *from;
  char *drop;
  int64_t count;
} selection;

static int64_t drop_crowded(const cvtm_mesh *mesh, const int32_t *source, int64_t fixed,
                            selection *left) {
  memset(left->drop, 0, (size_t)left->count);
  for (int64_t t = 0; t < mesh->triangle_count; ++t) {
    const int32_t site = crowded_site(mesh, source, fixed, mesh->triangles + 3 * t);
    if (site >= 0) left->drop[site] = 1;
  }
  int64_t kept = 0;
  for (int64_t i = 0; i < left->count; ++i) {
    if (left->drop[i]) continue;
    left->sites[2 * kept] = left->sites[2 * i];
    left->sites[2 * kept + 1] = left->sites[2 * i + 1];
    left->from[kept++] = left->from[i];
  }
  const int64_t dropped = left->count - kept;
  left->count = kept;
  return dropped;
}

static cvtm_status mesh_selection(selection *left, const cvtm_boundary *boundary, cvtm_mesh *mesh,
                                  cvtm_regions *regions, int32_t **source, cvtm_error *error) {
  for (int round = 0;; ++round) {
    const cvtm_status status =
        cvtm_constrained_delaunay(left->sites, left->count, boundary, mesh, regions, source, error);
    if (status != CVTM_OK) return status;
    if (round == ROUNDS || drop_crowded(mesh, *source, boundary->vertex_count, left) == 0) break;
    cvtm_mesh_free(mesh);
    cvtm_regions_free(regions);
    free(*source);
    *source = NULL;
  }
  for (int64_t v = 0; v < mesh->vertex_count; ++v) (*source)[v] = left->from[(*source)[v]];
  return CVTM_OK;
}

cvtm_status cvtm_domain_mesh(const double *sites, int64_t count, const cvtm_boundary *boundary,
                             cvtm_mesh *mesh, cvtm_regions *regions, int32_t **source,
                             cvtm_error *error) {
  const size_t n = (size_t)count;
  selection left = {malloc(2 * n * sizeof *left.sites), malloc(n * sizeof *left.from), malloc(n),
                    count};
  cvtm_status status = CVTM_OK;
  if (left.sites == NULL || left.from == NULL || left.drop == NULL) {
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the domain's mesh");
  } else {
    memcpy(left.sites, sites, 2 * n * sizeof *left.sites);
    for (size_t i = 0; i < n; ++i) left.from[i] = (int32_t)i;
    status = mesh_selection(&left, boundary, mesh, regions, source, error);
  }
  free(left.sites);
  free(left.from);
  free(left.drop);
  return status;
}

/* Inside meshes only: the phases of the Delaunay triangulation by stars (star.h) that differ
 * between devices. Each enqueues its work; all arrays are in device memory. */
#ifndef CVTMESH_MESHES_DELAUNAY_STAR_KERNELS_H
#define CVTMESH_MESHES_DELAUNAY_STAR_KERNELS_H

#include "base/device.h"
#include "meshes/delaunay/snap.h"
#include "meshes/delaunay/star.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CVTM_STAR_ROOM = 16 /* triangles of a fan that are kept while it is made */ };

/* What the kernels count. */
typedef struct cvtm_star_counts {
  int32_t triangles; /* in fans */
  int32_t deferred;  /* stars left undone */
  int32_t unlinked;  /* so many of them for want of a neighbour */
  int32_t open;      /* stars of the hull */
  int32_t adopted;   /* triangles of undecided vertices */
} cvtm_star_counts;

/* Arrays that receive the stars. */
typedef struct cvtm_star_output {
  cvtm_star_corners *fans; /* `room` triangles; the triangles of a fan are consecutive */
  int32_t room;
  int32_t *fan_start, *fan_count; /* of each vertex */
  int32_t *deferred;              /* places of stars left undone */
  cvtm_star_counts *counts;
} cvtm_star_output;

/* Weights count from `least` on, in units of 2^exponent. */
typedef struct cvtm_star_scale {
  double least;
  int32_t exponent;
} cvtm_star_scale;

CVTM_HD int64_t cvtm_star_weight(cvtm_star_scale scale, double weight) {
  return (int64_t)rint(ldexp(weight - scale.least, -scale.exponent));
}

typedef struct cvtm_star_table {
  /* *bounds: of count >= 1 points. Not finite or too large: see cvtm_bounds. */
  cvtm_status (*bound)(cvtm_device *device, const double *points, int64_t count,
                       cvtm_bounds *bounds);
  /* Snaps the points, and makes a key of each; index[i] = i. */
  cvtm_status (*snap)(cvtm_device *device, cvtm_snapping snapping, double *points, int64_t count,
                      uint64_t *keys, int32_t *index);
  /* distinct[k]: does sorted key k differ from the one before? */
  cvtm_status (*mark)(cvtm_device *device, const uint64_t *keys, int64_t count, int32_t *distinct);
  /* The distinct keys: to place sums[k] of the tree's arrays. */
  cvtm_status (*compact)(cvtm_device *device, const uint64_t *keys, const int32_t *index,
                         const int32_t *distinct, const int64_t *sums, int64_t count,
                         uint64_t *tree_keys, cvtm_grid_point *place, int32_t *vertex);
  /* The weights of the tree's points, and which of those at one place each stands for: the
   * heaviest, of equals the first. weights: of all points, to be taken as
   * cvtm_star_weight says. */
  cvtm_status (*weigh)(cvtm_device *device, const double *weights, cvtm_star_scale scale,
                       const int32_t *index, const int32_t *distinct, const int64_t *sums,
                       int64_t count, int64_t *weight, int32_t *vertex);
  /* The largest weights in the squares of a level, of the tree's points (level = tree->levels), or
   * of the four squares below each. */
  cvtm_status (*find_heaviest)(cvtm_device *device, const cvtm_star_tree *tree, int32_t level,
                               int64_t *heaviest);
  /* start of 4^levels squares. */
  cvtm_status (*divide)(cvtm_device *device, const uint64_t *tree_keys, int64_t count,
                        int32_t levels, int32_t *start);
  /* The stars of the places list[0 .. count - 1], or of 0 .. count - 1 (list NULL). With the tree's
   * weights, if it has any. */
  cvtm_status (*make)(cvtm_device *device, const cvtm_star_tree *tree, const int32_t *list,
                      int64_t count, int32_t visits, const cvtm_star_output *output);
  /* undecided[v] = 1 for the vertices v at the places of a list. */
  cvtm_status (*flag)(cvtm_device *device, const cvtm_star_tree *tree, const int32_t *list,
                      int64_t count, int32_t *undecided);
  /* Without weights: finds the triangles of undecided vertices by their other corners: to
   * `adopted`, which has output->room, and counted in fan_count. undecided[v] becomes 2 on the
   * hull. */
  cvtm_status (*adopt)(cvtm_device *device, const cvtm_star_tree *tree, int32_t visits,
                       int32_t *undecided, cvtm_star_corners *adopted,
                       const cvtm_star_output *output);
  /* Makes fans of them, for the vertices at the places of the list. */
  cvtm_status (*settle)(cvtm_device *device, const cvtm_star_tree *tree, const int32_t *list,
                        int64_t count, const int32_t *undecided, const cvtm_star_corners *adopted,
                        int64_t adopted_count, const cvtm_star_output *output);
  /* Turns fans into triangles: the fan of vertex v from first[v] on. */
  cvtm_status (*collect)(cvtm_device *device, const cvtm_star_output *output, const int64_t *first,
                         int64_t count, cvtm_star_corners *triangles);
} cvtm_star_table;

extern const cvtm_star_table cvtm_star_table_cpu, cvtm_star_table_cuda;

#ifdef __cplusplus
}
#endif

/* The fan of a place, whose triangles are those from `at` on. */
CVTM_HD void cvtm_star_keep(const cvtm_star_tree *tree, int32_t place, int32_t at, int32_t count,
                            const cvtm_star_output *output) {
  output->fan_start[tree->vertex[place]] = at;
  output->fan_count[tree->vertex[place]] = count;
  cvtm_star_sort(output->fans + at, count);
}

/* Stores a fan of at most CVTM_STAR_ROOM triangles from `at` on. There is room for all triangles
 * that a triangulation can have; more would be told by their number. */
CVTM_HD void cvtm_star_copy(const cvtm_star_tree *tree, int32_t place, int32_t at,
                            const cvtm_star_fan *fan, const cvtm_star_output *output) {
  if (fan->count > output->room - at) return;
  for (int32_t k = 0; k < fan->count; ++k) output->fans[at + k] = fan->triangles[k];
  cvtm_star_keep(tree, place, at, fan->count, output);
}

/* Stores a fan; a longer one is made again. */
CVTM_HD void cvtm_star_store(const cvtm_star_tree *tree, int weighted, int32_t place,
                             int32_t visits, int32_t at, const cvtm_star_fan *fan,
                             const cvtm_star_output *output) {
  if (fan->count <= CVTM_STAR_ROOM) {
    cvtm_star_copy(tree, place, at, fan, output);
  } else if (fan->count <= output->room - at) {
    cvtm_star_fan again = cvtm_star_fan_in(output->fans + at, fan->count, NULL);
    (void)cvtm_star_make(tree, weighted, place, visits, NULL, &again);
    cvtm_star_keep(tree, place, at, fan->count, output);
  }
}

/* The triangles of a fan that it has room for. More than that, of undecided vertices, are missed;
 * the number of all triangles tells. */
CVTM_HD int32_t cvtm_star_kept(const cvtm_star_fan *fan) {
  return fan->count < fan->room ? fan->count : fan->room;
}

/* The triangles of vertex v. */
CVTM_HD void cvtm_star_collect_fan(const cvtm_star_output *output, const int64_t *first, int64_t v,
                                   cvtm_star_corners *triangles) {
  const int32_t count = output->fan_count[v];
  if (count == 0) return; /* a coincident point has no fan */
  const cvtm_star_corners *fan = output->fans + output->fan_start[v];
  for (int32_t k = 0; k < count; ++k) triangles[first[v] + k] = fan[k];
}

/* The heaviest of the points at the place whose first sorted key is k; see `weigh`. */
CVTM_HD void cvtm_star_weigh(const double *weights, cvtm_star_scale scale, const int32_t *index,
                             const int32_t *distinct, int64_t k, int64_t count, int64_t *weight,
                             int32_t *vertex) {
  *weight = -1;
  do {
    const int64_t here = cvtm_star_weight(scale, weights[index[k]]);
    if (here > *weight) *vertex = index[k];
    if (here > *weight) *weight = here;
  } while (++k < count && !distinct[k]);
}

/* The largest weight in square `code` of a level; see `find_heaviest`. */
CVTM_HD void cvtm_star_set_heaviest(const cvtm_star_tree *tree, int32_t level, int64_t code,
                                    int64_t *heaviest) {
  const int64_t *below = heaviest + cvtm_star_first_of_level(level + 1) + 4 * code;
  const int leaf = level == tree->levels;
  const int64_t first = leaf ? tree->start[code] : 0, last = leaf ? tree->start[code + 1] : 4;
  int64_t most = 0;
  for (int64_t k = first; k < last; ++k) {
    const int64_t weight = leaf ? tree->weight[k] : below[k];
    if (weight > most) most = weight;
  }
  heaviest[cvtm_star_first_of_level(level) + code] = most;
}

#endif

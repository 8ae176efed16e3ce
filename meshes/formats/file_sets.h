/* Inside meshes only: what formats with sets of nodes and faces need of a mesh with regions. */
#ifndef CVTMESH_MESHES_FORMATS_FILE_SETS_H
#define CVTMESH_MESHES_FORMATS_FILE_SETS_H

#include "meshes/formats/formats.h"

/* Of the line groups of the regions. face[e] = 3 t + k: edge e is that from corner k to the next
 * one of triangle t, on its left. Group k (its tag less 1) has the nodes start[k] .. start[k + 1] -
 * 1, ascending. marker: per node the smallest tag of its groups, 0 if it has none. seeds: a
 * triangle of every connected part of every region. number: per vertex, for the writer to use. */
struct cvtm_file_sets {
  int64_t *face;
  int64_t *start;
  int32_t *nodes;
  int32_t *marker, *number;
  int64_t seed_count;
  int64_t *seeds;
};

/* The mesh has grouped regions; 0: no memory. */
int cvtm_file_sets_create(const cvtm_file_mesh *mesh, cvtm_file_sets *sets);
void cvtm_file_sets_free(cvtm_file_sets *sets);

#endif

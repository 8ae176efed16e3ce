/* Inside meshes only: formats whose nodes have numbers of their own (MSH, INP). */
#ifndef CVTMESH_MESHES_NODE_TAGS_H
#define CVTMESH_MESHES_NODE_TAGS_H

#include "meshes/formats.h"

/* Vertices are numbered from 0 as they are added. Zeroed memory is an empty list. */
typedef struct cvtm_node_tags {
  struct cvtm_node_tag *list; /* by tag once sorted */
  int64_t count, capacity;
  int consecutive; /* vertex k has the tag of vertex 0 plus k */
} cvtm_node_tags;

cvtm_status cvtm_node_tags_add(cvtm_node_tags *tags, cvtm_source *source, double tag);
/* Fails if two nodes have the same tag. */
cvtm_status cvtm_node_tags_sort(cvtm_node_tags *tags, cvtm_source *source);
/* The vertex of a tag, -1 if there is none; the tags are sorted. */
double cvtm_node_tags_find(const cvtm_node_tags *tags, double tag);
void cvtm_node_tags_free(cvtm_node_tags *tags);

#endif

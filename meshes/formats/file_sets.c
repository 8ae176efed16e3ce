#include "meshes/formats/file_sets.h"
#include "meshes/elements/edge_faces.h"
#include "meshes/elements/twins.h"

#include <stdlib.h>
#include <string.h>

static int compare_nodes(const void *a, const void *b) {
  const int32_t p = *(const int32_t *)a, q = *(const int32_t *)b;
  return (p > q) - (p < q);
}

/* Sorts the nodes of each group and drops those that are there twice. */
static void sort_nodes(const cvtm_regions *r, cvtm_file_sets *sets) {
  int64_t kept = 0;
  for (int32_t g = 0; g < r->line_group_count; ++g) {
    const int64_t first = sets->start[g], end = sets->start[g + 1];
    qsort(sets->nodes + first, (size_t)(end - first), sizeof *sets->nodes, compare_nodes);
    sets->start[g] = kept;
    for (int64_t k = first; k < end; ++k) {
      if (k == first || sets->nodes[k] != sets->nodes[k - 1]) sets->nodes[kept++] = sets->nodes[k];
    }
  }
  sets->start[r->line_group_count] = kept;
}

static void list_nodes(const cvtm_file_mesh *m, cvtm_file_sets *sets) {
  const cvtm_regions *r = m->regions;
  int32_t node[3];
  for (int pass = 0; pass < 2; ++pass) {
    for (int64_t e = 0; e < r->edge_count; ++e) {
      const int32_t g = r->group[e];
      const int count = cvtm_edge_nodes(m, e, node);
      for (int k = 0; k < count; ++k) {
        if (pass == 0) {
          ++sets->start[g];
          if (sets->marker[node[k]] == 0 || g < sets->marker[node[k]]) sets->marker[node[k]] = g;
        } else {
          sets->nodes[--sets->start[g]] = node[k];
        }
      }
    }
    /* After the first pass start[g] is made the end of group g, which the second one moves to its
     * beginning. */
    for (int32_t g = 0; pass == 0 && g < r->line_group_count; ++g)
      sets->start[g + 1] += sets->start[g];
  }
  /* start[g] belongs to the group of tag g; groups are counted from 0 from here. */
  const int64_t all = (m->edge_middle != NULL ? 3 : 2) * r->edge_count;
  for (int32_t g = 0; g < r->line_group_count; ++g) sets->start[g] = sets->start[g + 1];
  sets->start[r->line_group_count] = all;
  sort_nodes(r, sets);
}

/* Of each connected part of a region the first triangle. */
static int find_seeds(const cvtm_file_mesh *m, cvtm_file_sets *sets) {
  const size_t n = (size_t)m->triangle_count + 1;
  int64_t *twin = malloc(3 * n * sizeof *twin), *stack = malloc(n * sizeof *stack);
  int64_t *at = malloc((size_t)(m->vertex_count + 1) * sizeof *at);
  char *seen = calloc(n, 1);
  const int ready =
      twin && stack && at && seen &&
      cvtm_find_twins(m->triangles, m->triangle_count, m->vertex_count, twin, at, NULL) == CVTM_OK;
  for (int64_t first = 0; ready && first < m->triangle_count; ++first) {
    if (seen[first]) continue;
    int64_t depth = 0;
    sets->seeds[sets->seed_count++] = stack[depth++] = first;
    seen[first] = 1;
    while (depth > 0) {
      const int64_t t = stack[--depth];
      for (int k = 0; k < 3; ++k) {
        const int64_t g = twin[3 * t + k], other = g / 3;
        if (g < 0 || seen[other] || m->regions->region[other] != m->regions->region[t]) continue;
        seen[other] = 1;
        stack[depth++] = other;
      }
    }
  }
  free(twin);
  free(stack);
  free(at);
  free(seen);
  return ready;
}

int cvtm_file_sets_create(const cvtm_file_mesh *mesh, cvtm_file_sets *sets) {
  const cvtm_regions *r = mesh->regions;
  const size_t edges = (size_t)r->edge_count + 1;
  const size_t nodes = (size_t)mesh->node_count + 1;
  *sets =
      (cvtm_file_sets){.face = malloc(edges * sizeof *sets->face),
                       .start = calloc((size_t)r->line_group_count + 2, sizeof *sets->start),
                       .nodes = malloc(3 * edges * sizeof *sets->nodes),
                       .marker = calloc(nodes, sizeof *sets->marker),
                       .number = malloc(nodes * sizeof *sets->number),
                       .seeds = malloc(((size_t)mesh->triangle_count + 1) * sizeof *sets->seeds)};
  if (sets->face && sets->start && sets->nodes && sets->marker && sets->number && sets->seeds) {
    list_nodes(mesh, sets);
    if (cvtm_find_edge_faces(mesh->triangles, mesh->triangle_count, mesh->vertex_count, r,
                             sets->face) &&
        find_seeds(mesh, sets))
      return 1;
  }
  cvtm_file_sets_free(sets);
  return 0;
}

void cvtm_file_sets_free(cvtm_file_sets *sets) {
  free(sets->face);
  free(sets->start);
  free(sets->nodes);
  free(sets->marker);
  free(sets->number);
  free(sets->seeds);
  *sets = (cvtm_file_sets){0};
}

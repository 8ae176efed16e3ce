#include "draw/trails.h"

#include <stdlib.h>

/* The edges at vertex v are at[first[v]] .. at[first[v + 1] - 1]; next[v] is the first of them that
 * may be unused. */
typedef struct trail_graph {
  const int32_t *edges;
  int64_t *first, *next, *at;
  unsigned char *used; /* of each edge */
  int64_t vertices, edge_count;
} trail_graph;

static void free_graph(trail_graph *g) {
  free(g->first);
  free(g->next);
  free(g->at);
  free(g->used);
}

static void fill_graph(trail_graph *g) {
  for (int64_t k = 0; k < 2 * g->edge_count; ++k) g->first[g->edges[k] + 1]++;
  for (int64_t v = 0; v < g->vertices; ++v) g->first[v + 1] += g->first[v];
  for (int64_t v = 0; v < g->vertices; ++v) g->next[v] = g->first[v];
  for (int64_t k = 0; k < 2 * g->edge_count; ++k) g->at[g->next[g->edges[k]]++] = k / 2;
  for (int64_t v = 0; v < g->vertices; ++v) g->next[v] = g->first[v];
}

/* An unused edge at v; -1 if there is none. */
static int64_t take_edge(trail_graph *g, int32_t v) {
  for (; g->next[v] < g->first[v + 1]; ++g->next[v]) {
    const int64_t edge = g->at[g->next[v]];
    if (g->used[edge]) continue;
    g->used[edge] = 1;
    return edge;
  }
  return -1;
}

/* Adds the trail that begins at v, if an edge is left there. */
static void walk_trail(trail_graph *g, int32_t v, cvtm_trails *trails) {
  int64_t length = trails->start[trails->count];
  int64_t edge = take_edge(g, v);
  if (edge < 0) return;
  trails->vertex[length++] = v;
  for (; edge >= 0; edge = take_edge(g, v)) {
    const int32_t *ends = g->edges + 2 * edge;
    v = ends[0] == v ? ends[1] : ends[0];
    trails->vertex[length++] = v;
  }
  trails->start[++trails->count] = length;
}

static int is_odd(const trail_graph *g, int64_t v) { return (g->first[v + 1] - g->first[v]) & 1; }

cvtm_status cvtm_trails_create(const int32_t *edges, int64_t edge_count, int64_t vertex_count,
                               cvtm_trails *trails, cvtm_error *error) {
  const size_t n = (size_t)vertex_count, m = (size_t)edge_count;
  trail_graph g = {edges,
                   calloc(n + 1, sizeof *g.first),
                   malloc((n + 1) * sizeof *g.next),
                   malloc((2 * m + 1) * sizeof *g.at),
                   calloc(m + 1, sizeof *g.used),
                   vertex_count,
                   edge_count};
  *trails = (cvtm_trails){.start = malloc((m + 1) * sizeof *trails->start),
                          .vertex = malloc((2 * m + 1) * sizeof *trails->vertex)};
  const int has_memory =
      g.first && g.next && g.at && g.used && trails->start != NULL && trails->vertex != NULL;
  if (has_memory) {
    fill_graph(&g);
    trails->start[0] = 0;
    for (int64_t v = 0; v < vertex_count; ++v)
      if (is_odd(&g, v)) walk_trail(&g, (int32_t)v, trails);
    for (int64_t v = 0; v < vertex_count; ++v) walk_trail(&g, (int32_t)v, trails);
  } else {
    cvtm_trails_free(trails);
  }
  free_graph(&g);
  return has_memory ? CVTM_OK : cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a drawing");
}

void cvtm_trails_free(cvtm_trails *trails) {
  free(trails->start);
  free(trails->vertex);
  *trails = (cvtm_trails){0};
}

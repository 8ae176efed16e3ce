/* Chains of mesh edges on the edges of a boundary, and the pairs of vertices and edges on its
 * periodic sides. */
#include "base/host.h"
#include "meshes/constrained.h"
#include "meshes/elements/chains.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Chains ---- */

/* An edge by its ends, the smaller first. */
typedef struct known_edge {
  int32_t low, high, edge;
} known_edge;

static known_edge between(int32_t a, int32_t b, int32_t edge) {
  return a < b ? (known_edge){a, b, edge} : (known_edge){b, a, edge};
}

typedef struct walker {
  const cvtm_regions *regions;
  const int32_t *source;
  int32_t *link; /* 2 per vertex: its neighbours on the boundary, if it was added there */
} walker;

static void link_vertices(walker *w, int64_t vertex_count) {
  for (int64_t k = 0; k < 2 * vertex_count; ++k) w->link[k] = -1;
  for (int64_t k = 0; k < 2 * w->regions->edge_count; ++k) {
    int32_t *of = w->link + 2 * (int64_t)w->regions->edges[k];
    of[of[0] >= 0] = w->regions->edges[k ^ 1];
  }
}

/* Walks from a vertex of the boundary, beginning with a neighbour, to the next vertex of the
 * boundary, which is returned; -1: none. chain: NULL, or receives the vertices. *count: their
 * number. */
static int32_t walk(const walker *w, int32_t from, int32_t to, int32_t boundary_count,
                    int32_t *chain, int64_t *count) {
  int32_t before = from;
  *count = 1;
  if (chain != NULL) chain[0] = from;
  while (to >= 0) {
    if (chain != NULL) chain[*count] = to;
    ++*count;
    if (w->source[to] >= 0 && w->source[to] < boundary_count) return to;
    const int32_t *of = w->link + 2 * (int64_t)to, next = of[of[0] == before];
    before = to;
    to = next;
  }
  return -1;
}

/* Finds the chain of each edge; chains->vertex == NULL: only counts. */
static void find_chains(const walker *w, const cvtm_boundary *b, const known_edge *known,
                        cvtm_chains *chains) {
  const int32_t n = (int32_t)b->vertex_count;
  for (int64_t k = 0; k < 2 * w->regions->edge_count; ++k) {
    const int32_t from = w->regions->edges[k], to = w->regions->edges[k ^ 1];
    if (w->source[from] < 0 || w->source[from] >= n) continue;
    int64_t count;
    const int32_t end = walk(w, from, to, n, NULL, &count);
    if (end < 0) continue;
    const known_edge key = between(w->source[from], w->source[end], 0);
    const known_edge *found =
        bsearch(&key, known, (size_t)b->edge_count, sizeof *known, cvtm_compare_two);
    if (found == NULL || b->edges[2 * (int64_t)found->edge] != w->source[from]) continue;
    if (chains->vertex != NULL)
      (void)walk(w, from, to, n, chains->vertex + chains->start[found->edge], &count);
    else
      chains->start[found->edge] = count;
  }
}

cvtm_status cvtm_chains_find(const cvtm_boundary *b, const cvtm_mesh *mesh,
                             const cvtm_regions *regions, const int32_t *source,
                             cvtm_chains *chains, cvtm_error *error) {
  const size_t n = (size_t)b->edge_count;
  cvtm_scratch memory = {0};
  walker w = {regions, source, cvtm_scratch_take(&memory, (size_t)mesh->vertex_count, 8)};
  known_edge *known = cvtm_scratch_take(&memory, n, sizeof *known);
  cvtm_chains made = {calloc(n + 1, sizeof *made.start), NULL};
  int64_t total = 0;
  if (!memory.failed && made.start != NULL) {
    link_vertices(&w, mesh->vertex_count);
    for (size_t e = 0; e < n; ++e)
      known[e] = between(b->edges[2 * e], b->edges[2 * e + 1], (int32_t)e);
    qsort(known, n, sizeof *known, cvtm_compare_two);
    find_chains(&w, b, known, &made);
    for (size_t e = 0; e <= n; ++e) {
      const int64_t count = made.start[e];
      made.start[e] = total;
      total += count;
    }
    made.vertex = malloc(((size_t)total + 1) * sizeof *made.vertex);
    if (made.vertex != NULL) find_chains(&w, b, known, &made);
  }
  cvtm_scratch_free(&memory);
  if (made.vertex == NULL) {
    free(made.start);
    return cvtm_no_memory(error, "the edges of the boundary");
  }
  *chains = made;
  return CVTM_OK;
}

void cvtm_chains_free(cvtm_chains *chains) {
  free(chains->start);
  free(chains->vertex);
  *chains = (cvtm_chains){NULL, NULL};
}

/* ---- Pairs ---- */

typedef struct pair {
  int32_t period, original, copy;
  double along; /* position of the original along its side, upwards or to the right */
} pair;

static int compare_pairs(const void *left, const void *right) {
  const pair *a = left, *b = right;
  if (a->period != b->period) return a->period < b->period ? -1 : 1;
  if (a->along != b->along) return a->along < b->along ? -1 : 1;
  return cvtm_compare_two(&a->original, &b->original);
}

/* An edge to be reordered. */
typedef struct moving_edge {
  int32_t curve, edge;
  int64_t opposite; /* the curve of the edge's copy, and the side; 0: no copy */
  double along;
} moving_edge;

typedef struct pairing {
  const cvtm_mesh *mesh;
  const cvtm_boundary *boundary;
  cvtm_regions *regions;
  cvtm_chains chains;
  known_edge *known; /* the edges of the regions, sorted */
  pair *pairs;
  int64_t count;
  moving_edge *order;
} pairing;

/* The edge of the regions between two vertices. */
static int32_t edge_between(const pairing *p, int32_t a, int32_t b) {
  const known_edge key = between(a, b, 0);
  const known_edge *found =
      bsearch(&key, p->known, (size_t)p->regions->edge_count, sizeof key, cvtm_compare_two);
  return found->edge;
}

/* The position of a vertex along a side that is translated by `way`. */
static double along_side(const pairing *p, int32_t vertex, const double way[2]) {
  const double *at = p->mesh->points + 2 * (int64_t)vertex;
  const double along = way[1] * at[0] - way[0] * at[1];
  return fabs(way[0]) >= fabs(way[1]) ? along : -along;
}

/* Pairs the vertices and edges of an original and its twin. way: the translation; NAN: not yet
 * known. */
static void pair_chains(pairing *p, int64_t e, double way[2]) {
  const cvtm_boundary *b = p->boundary;
  cvtm_regions *r = p->regions;
  const int64_t *start = p->chains.start, twin = b->twin[e], count = start[e + 1] - start[e];
  const int32_t *own = p->chains.vertex + start[e], *other = p->chains.vertex + start[twin];
  const int is_turned = cvtm_twin_is_turned(b, e);
  if (count != start[twin + 1] - start[twin] || count == 0) {
    r->unpaired += count + start[twin + 1] - start[twin] + (count == 0);
    return;
  }
  int32_t last = -1;
  for (int64_t k = 0; k < count; ++k) {
    const int32_t copy = other[is_turned ? count - 1 - k : k];
    const double *u = p->mesh->points + 2 * (int64_t)own[k],
                 *v = p->mesh->points + 2 * (int64_t)copy;
    for (int axis = 0; axis < 2 && isnan(way[axis]); ++axis) way[axis] = v[axis] - u[axis];
    const double along = along_side(p, own[k], way);
    p->pairs[p->count++] = (pair){b->period[e], own[k], copy, along};
    if (k > 0) {
      const int32_t here = edge_between(p, own[k - 1], own[k]), there = edge_between(p, last, copy);
      const int64_t side = 2 * (int64_t)b->period[e];
      r->edge_copy[there] = here;
      p->order[here].along = p->order[there].along = along;
      p->order[here].opposite = ((int64_t)r->curve[there] << 32) + side;
      p->order[there].opposite = ((int64_t)r->curve[here] << 32) + side + 1;
    }
    last = copy;
  }
}

/* Pairs all twins, one translation after another. */
static void pair_all(pairing *p) {
  cvtm_regions *r = p->regions;
  const cvtm_boundary *b = p->boundary;
  int64_t left = 0;
  p->count = r->unpaired = 0;
  for (int64_t e = 0; e < r->edge_count; ++e) {
    p->known[e] = between(r->edges[2 * e], r->edges[2 * e + 1], (int32_t)e);
    p->order[e] = (moving_edge){r->curve[e], (int32_t)e, 0, 0};
    r->edge_copy[e] = -1;
  }
  qsort(p->known, (size_t)r->edge_count, sizeof *p->known, cvtm_compare_two);
  for (int64_t e = 0; e < b->edge_count && b->twin != NULL; ++e)
    left += b->twin[e] >= 0 && b->period[e] >= 0;
  for (int32_t period = 0; left > 0; ++period) {
    double way[2] = {NAN, NAN};
    for (int64_t e = 0; e < b->edge_count; ++e) {
      if (b->twin[e] < 0 || b->period[e] != period) continue;
      pair_chains(p, e, way);
      --left;
    }
  }
}

/* Sorts the pairs, and keeps one of equal ones: consecutive edges have a vertex in common. */
static void keep_pairs(pairing *p) {
  cvtm_regions *r = p->regions;
  qsort(p->pairs, (size_t)p->count, sizeof *p->pairs, compare_pairs);
  r->pair_count = 0;
  for (int64_t k = 0; k < p->count; ++k) {
    if (k > 0 && compare_pairs(&p->pairs[k - 1], &p->pairs[k]) == 0) continue;
    const int32_t row[3] = {p->pairs[k].original, p->pairs[k].copy, p->pairs[k].period};
    memcpy(r->pairs + 3 * r->pair_count++, row, sizeof row);
  }
}

/* ---- Curves ---- */

static int compare_moving(const void *first, const void *second) {
  const moving_edge *a = first, *b = second;
  if (a->curve != b->curve) return a->curve < b->curve ? -1 : 1;
  if (a->opposite != b->opposite) return a->opposite < b->opposite ? -1 : 1;
  if (a->along != b->along) return a->along < b->along ? -1 : 1;
  return (a->edge > b->edge) - (a->edge < b->edge);
}

/* Brings rows of `width` integers into a new order; copy: memory of the same size. */
static void reorder(int32_t *rows, int width, const moving_edge *order, int64_t count,
                    int32_t *copy) {
  const size_t bytes = (size_t)width * sizeof *rows;
  if (rows == NULL) return;
  memcpy(copy, rows, (size_t)count * bytes);
  for (int64_t k = 0; k < count; ++k)
    memcpy(rows + width * k, copy + width * (int64_t)order[k].edge, bytes);
}

/* Divides curves on the sides where curves on the opposite side end, so that each becomes the copy
 * of a single curve, and sorts the edges of these curves along the sides. copy: memory for 2 *
 * edge_count. */
static void divide_curves(const pairing *p, int32_t *copy) {
  cvtm_regions *r = p->regions;
  const moving_edge *order = p->order;
  const int64_t n = r->edge_count;
  qsort(p->order, (size_t)n, sizeof *p->order, compare_moving);
  reorder(r->edges, 2, order, n, copy);
  reorder(r->left, 1, order, n, copy);
  reorder(r->right, 1, order, n, copy);
  reorder(r->group, 1, order, n, copy);
  r->curve_count = 0;
  for (int64_t k = 0; k < n; ++k) {
    r->curve_count += k == 0 || order[k].curve != order[k - 1].curve ||
                      order[k].opposite != order[k - 1].opposite;
    r->curve[k] = r->curve_count;
  }
}

cvtm_status cvtm_regions_pair(const cvtm_mesh *mesh, const cvtm_boundary *boundary,
                              const int32_t *source, cvtm_regions *regions, cvtm_error *error) {
  const size_t edges = (size_t)regions->edge_count + 1;
  pairing p = {mesh, boundary, regions, {NULL, NULL}, NULL, NULL, 0, NULL};
  const cvtm_status status = cvtm_chains_find(boundary, mesh, regions, source, &p.chains, error);
  if (status != CVTM_OK) return status;
  const size_t most = (size_t)p.chains.start[boundary->edge_count] + 1;
  cvtm_scratch memory = {0};
  int32_t *copy = cvtm_scratch_take(&memory, 2 * edges, sizeof *copy);
  p.known = cvtm_scratch_take(&memory, edges, sizeof *p.known);
  p.order = cvtm_scratch_take(&memory, edges, sizeof *p.order);
  p.pairs = cvtm_scratch_take(&memory, most, sizeof *p.pairs);
  int32_t *pairs = malloc(3 * most * sizeof *pairs), *edge_copy = malloc(edges * sizeof *edge_copy);
  const int ready = !memory.failed && pairs && edge_copy;
  if (ready) {
    free(regions->pairs);
    free(regions->edge_copy);
    regions->pairs = pairs;
    regions->edge_copy = edge_copy;
    pair_all(&p);
    divide_curves(&p, copy);
    pair_all(&p);
    keep_pairs(&p);
  } else {
    free(pairs);
    free(edge_copy);
  }
  cvtm_scratch_free(&memory);
  cvtm_chains_free(&p.chains);
  return ready ? CVTM_OK : cvtm_no_memory(error, "periodic pairs");
}

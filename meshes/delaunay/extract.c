#include "base/host.h"
#include "meshes/delaunay/half_edges.h"

#include <stdlib.h>
#include <string.h>

/* ---- Triangles ---- */

/* The region, then the corners, beginning with the smallest. */
typedef struct listed_triangle {
  int32_t key[4];
} listed_triangle;

/* Sorts triangles with the same smallest vertex, by the second one within each region at least. */
static void sort_around(listed_triangle *list, int64_t count) {
  enum { FEW = 16 };
  if (count > FEW) {
    qsort(list, (size_t)count, sizeof *list, cvtm_compare_three);
    return;
  }
  for (int64_t k = 1; k < count; ++k) {
    const listed_triangle moved = list[k];
    int64_t to = k;
    for (; to > 0 && list[to - 1].key[2] > moved.key[2]; --to) list[to] = list[to - 1];
    list[to] = moved;
  }
}

/* Returns the next place among the triangles with the smallest vertex v, which are sorted later. */
static int64_t take_place(int64_t *start, int32_t v) {
  int64_t place;
#pragma omp atomic capture
  place = start[v]++;
  return place;
}

/* Lists the triangles by their vertices; returns their number. start: number of vertices + 2. */
static int64_t list_triangles(const cvtm_half_edges *m, const int32_t *number, int64_t vertices,
                              listed_triangle *list, int64_t *start) {
  const int64_t n = m->triangle_count;
  memset(start, 0, ((size_t)vertices + 2) * sizeof *start);
  for (int pass = 0; pass < 2; ++pass) { /* counts, then lists */
#pragma omp parallel for schedule(static) if (n >= CVTM_WORTH_THREADS)
    for (int64_t t = 0; t < n; ++t) {
      if (m->corner[3 * t] < 0) continue;
      int32_t v[3];
      for (int k = 0; k < 3; ++k) v[k] = number[m->corner[3 * t + k]];
      const int first = v[0] < v[1] ? (v[0] < v[2] ? 0 : 2) : (v[1] < v[2] ? 1 : 2);
      const int64_t place = take_place(start + (pass == 0 ? 2 : 1), v[first]);
      if (pass == 0) continue;
      list[place] =
          (listed_triangle){{m->region[t], v[first], v[(first + 1) % 3], v[(first + 2) % 3]}};
    }
    for (int64_t v = 0; v < vertices && pass == 0; ++v) start[v + 2] += start[v + 1];
  }
#pragma omp parallel for schedule(static) if (n >= CVTM_WORTH_THREADS)
  for (int64_t v = 0; v < vertices; ++v) sort_around(list + start[v], start[v + 1] - start[v]);
  return start[vertices];
}

/* Sorts by the regions, digit by digit, and keeps the order within each. Returns the array that
 * holds the result, one of the two. start: DIGITS + 1 elements. */
enum { DIGIT_BITS = 16, DIGITS = 1 << DIGIT_BITS };

static listed_triangle *sort_regions(listed_triangle *list, listed_triangle *other, int64_t count,
                                     int64_t *start) {
  for (int shift = 0; shift < 2 * DIGIT_BITS && count > 0; shift += DIGIT_BITS) {
    memset(start, 0, (DIGITS + 1) * sizeof *start);
    for (int64_t k = 0; k < count; ++k) ++start[(list[k].key[0] >> shift) % DIGITS + 1];
    if (start[(list[0].key[0] >> shift) % DIGITS + 1] == count) continue;
    for (int d = 0; d < DIGITS; ++d) start[d + 1] += start[d];
    for (int64_t k = 0; k < count; ++k)
      other[start[(list[k].key[0] >> shift) % DIGITS]++] = list[k];
    listed_triangle *swap = list;
    list = other;
    other = swap;
  }
  return list;
}

/* ---- Edges ---- */

/* An edge on a segment, its regions and its curve. Edges are sorted by the first four members. */
typedef struct kept_edge {
  int32_t left, right, curve, from, to;
} kept_edge;

enum { BLOCKS = 64 };

/* Lists the edges of a block of half-edges, or, with NULL, counts them; returns their number. */
static int64_t list_block(const cvtm_half_edges *m, const int32_t *number, int64_t block,
                          kept_edge *list) {
  const int64_t halves = 3 * m->triangle_count, end = halves * (block + 1) / BLOCKS;
  int64_t count = 0;
  for (int64_t h = halves * block / BLOCKS; h < end; ++h) {
    const int64_t g = m->twin[h];
    if (m->segment[h] < 0 || m->corner[h] < 0 || g >= h) continue;
    const int32_t left = m->region[h / 3], right = g >= 0 ? m->region[g / 3] : 0;
    const int32_t from = number[m->corner[h]], to = number[cvtm_end_of(m, h)];
    const int turned = right > 0 && right < left;
    if (list != NULL)
      list[count] =
          turned ? (kept_edge){right, left, 0, to, from} : (kept_edge){left, right, 0, from, to};
    ++count;
  }
  return count;
}

/* first: per block, and after the last: its first edge. */
static void count_edges(const cvtm_half_edges *m, const int32_t *number, int64_t *first) {
  first[0] = 0;
#pragma omp parallel for schedule(static) if (m->triangle_count >= CVTM_WORTH_THREADS)
  for (int64_t b = 0; b < BLOCKS; ++b) first[b + 1] = list_block(m, number, b, NULL);
  for (int64_t b = 0; b < BLOCKS; ++b) first[b + 1] += first[b];
}

static void list_edges(const cvtm_half_edges *m, const int32_t *number, const int64_t *first,
                       kept_edge *list) {
#pragma omp parallel for schedule(static) if (m->triangle_count >= CVTM_WORTH_THREADS)
  for (int64_t b = 0; b < BLOCKS; ++b) (void)list_block(m, number, b, list + first[b]);
  qsort(list, (size_t)first[BLOCKS], sizeof *list, cvtm_compare_four);
}

/* Numbers the curves of edges that are sorted by their pair of regions: for each pair, a union-find
 * joins the vertices that edges connect. parent: one entry per vertex. */
static int32_t find_curves(kept_edge *list, int64_t count, int32_t *parent) {
  int32_t curves = 0;
  for (int64_t first = 0, end; first < count; first = end) {
    for (end = first;
         end < count && list[end].left == list[first].left && list[end].right == list[first].right;
         ++end) {
      parent[list[end].from] = list[end].from;
      parent[list[end].to] = list[end].to;
    }
    for (int64_t e = first; e < end; ++e) (void)cvtm_join_trees(parent, list[e].from, list[e].to);
    for (int64_t e = first; e < end; ++e) list[e].curve = cvtm_root_of(parent, list[e].from);
    qsort(list + first, (size_t)(end - first), sizeof *list, cvtm_compare_four);
    for (int64_t e = first; e < end;) {
      const int32_t root = list[e].curve;
      for (++curves; e < end && list[e].curve == root; ++e) list[e].curve = curves;
    }
  }
  return curves;
}

/* ---- The mesh ---- */

static void copy_triangles(const listed_triangle *list, int64_t count, cvtm_mesh *mesh,
                           cvtm_regions *regions) {
  mesh->triangle_count = count;
#pragma omp parallel for schedule(static) if (count >= CVTM_WORTH_THREADS)
  for (int64_t t = 0; t < count; ++t) {
    regions->region[t] = list[t].key[0];
    memcpy(mesh->triangles + 3 * t, list[t].key + 1, 3 * sizeof *mesh->triangles);
  }
}

static void copy_edges(const kept_edge *sides, cvtm_regions *regions) {
  for (int64_t e = 0; e < regions->edge_count; ++e) {
    regions->edges[2 * e] = sides[e].from;
    regions->edges[2 * e + 1] = sides[e].to;
    regions->left[e] = sides[e].left;
    regions->right[e] = sides[e].right;
    regions->curve[e] = sides[e].curve;
  }
}

cvtm_status cvtm_half_edges_extract(const cvtm_half_edges *m, const int32_t *number, int64_t count,
                                    cvtm_mesh *mesh, cvtm_regions *regions, cvtm_error *error) {
  const size_t n = (size_t)count + 1, triangles = (size_t)m->triangle_count + 1;
  const size_t starts = n + 1 > DIGITS + 1 ? n + 1 : DIGITS + 1;
  int64_t first[BLOCKS + 1];
  count_edges(m, number, first);
  cvtm_regions parts = {.edge_count = first[BLOCKS]};
  const size_t edges = (size_t)parts.edge_count + 1;
  cvtm_scratch memory = {0};
  listed_triangle *list = cvtm_scratch_take(&memory, 2 * triangles, sizeof *list);
  kept_edge *sides = cvtm_scratch_take(&memory, edges, sizeof *sides);
  int64_t *start = cvtm_scratch_take(&memory, starts, sizeof *start);
  int32_t *tree = cvtm_scratch_take(&memory, n, sizeof *tree);
  cvtm_mesh made = {.vertex_count = count,
                    .points = malloc(2 * n * sizeof *made.points),
                    .triangles = malloc(3 * triangles * sizeof *made.triangles)};
  parts.region = malloc(triangles * sizeof *parts.region);
  parts.edges = malloc(2 * edges * sizeof *parts.edges);
  parts.left = malloc(edges * sizeof *parts.left);
  parts.right = malloc(edges * sizeof *parts.right);
  parts.curve = malloc(edges * sizeof *parts.curve);
  cvtm_status status = CVTM_OK;
  if (memory.failed || !made.points || !made.triangles || !parts.region || !parts.edges ||
      !parts.left || !parts.right || !parts.curve) {
    status = cvtm_no_memory(error, "the mesh");
  } else {
    cvtm_prefer_large_pages(list, 2 * triangles * sizeof *list);
    cvtm_prefer_large_pages(made.points, 2 * n * sizeof *made.points);
    cvtm_prefer_large_pages(made.triangles, 3 * triangles * sizeof *made.triangles);
    const int64_t found = list_triangles(m, number, count, list, start);
    copy_triangles(sort_regions(list, list + triangles, found, start), found, &made, &parts);
    list_edges(m, number, first, sides);
    parts.curve_count = find_curves(sides, parts.edge_count, tree);
    copy_edges(sides, &parts);
  }
  cvtm_scratch_free(&memory);
  if (status != CVTM_OK) {
    cvtm_mesh_free(&made);
    cvtm_regions_free(&parts);
    return status;
  }
  *mesh = made;
  *regions = parts;
  return CVTM_OK;
}

#include "base/host.h"
#include "meshes/delaunay/half_edges.h"

#include <stdlib.h>
#include <string.h>

/* ---- Triangles ---- */

/* The region, then the corners, beginning with the smallest. */
typedef struct listed_triangle {
  int32_t key[4];
} listed_triangle;

static int64_t list_triangles(const cvtm_half_edges *m, const int32_t *number,
                              listed_triangle *list) {
  int64_t count = 0;
  for (int64_t t = 0; t < m->triangle_count; ++t) {
    if (m->corner[3 * t] < 0) continue;
    int32_t v[3];
    for (int k = 0; k < 3; ++k) v[k] = number[m->corner[3 * t + k]];
    const int first = v[0] < v[1] ? (v[0] < v[2] ? 0 : 2) : (v[1] < v[2] ? 1 : 2);
    list[count++] =
        (listed_triangle){{m->region[t], v[first], v[(first + 1) % 3], v[(first + 2) % 3]}};
  }
  return count;
}

/* Sorts by the first three keys, which are >= 0 and determine the fourth, digit by digit. Returns
 * the array that holds the result, one of the two. start: memory for DIGITS + 1 elements. */
enum { DIGIT_BITS = 16, DIGITS = 1 << DIGIT_BITS };

static listed_triangle *sort_triangles(listed_triangle *list, listed_triangle *other, int64_t count,
                                       int64_t *start) {
  for (int pass = 0; pass < 6 && count > 0; ++pass) {
    const int field = 2 - pass / 2, shift = pass % 2 * DIGIT_BITS;
    memset(start, 0, (DIGITS + 1) * sizeof *start);
    for (int64_t k = 0; k < count; ++k) ++start[(list[k].key[field] >> shift) % DIGITS + 1];
    if (start[(list[0].key[field] >> shift) % DIGITS + 1] == count) continue;
    for (int d = 0; d < DIGITS; ++d) start[d + 1] += start[d];
    for (int64_t k = 0; k < count; ++k)
      other[start[(list[k].key[field] >> shift) % DIGITS]++] = list[k];
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

static int64_t count_edges(const cvtm_half_edges *m) {
  int64_t count = 0;
  for (int64_t h = 0; h < 3 * m->triangle_count; ++h)
    count += m->corner[h] >= 0 && m->segment[h] >= 0 && m->twin[h] < h;
  return count;
}

static void list_edges(const cvtm_half_edges *m, const int32_t *number, kept_edge *list) {
  int64_t count = 0;
  for (int64_t h = 0; h < 3 * m->triangle_count; ++h) {
    const int64_t g = m->twin[h];
    if (m->corner[h] < 0 || m->segment[h] < 0 || g >= h) continue;
    const int32_t left = m->region[h / 3], right = g >= 0 ? m->region[g / 3] : 0;
    const int32_t from = number[m->corner[h]], to = number[cvtm_end_of(m, h)];
    const int turned = right > 0 && right < left;
    list[count++] =
        turned ? (kept_edge){right, left, 0, to, from} : (kept_edge){left, right, 0, from, to};
  }
  qsort(list, (size_t)count, sizeof *list, cvtm_compare_four);
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
  cvtm_regions parts = {.edge_count = count_edges(m)};
  const size_t edges = (size_t)parts.edge_count + 1;
  cvtm_scratch memory = {0};
  listed_triangle *list = cvtm_scratch_take(&memory, 2 * triangles, sizeof *list);
  kept_edge *sides = cvtm_scratch_take(&memory, edges, sizeof *sides);
  int64_t *start = cvtm_scratch_take(&memory, DIGITS + 1, sizeof *start);
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
    const int64_t found = list_triangles(m, number, list);
    copy_triangles(sort_triangles(list, list + triangles, found, start), found, &made, &parts);
    list_edges(m, number, sides);
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

/* Edges and half-edges of a mesh, the triangles at edges, and the quality of the mesh: angles,
 * shapes, areas, degrees. */
#include "base/host.h"
#include "base/random.h"
#include "meshes/elements/twins.h"
#include "meshes/mesh.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>

void cvtm_mesh_free(cvtm_mesh *mesh) {
  if (!mesh) return;
  free(mesh->points);
  free(mesh->triangles);
  *mesh = (cvtm_mesh){0};
}

void cvtm_regions_free(cvtm_regions *regions) {
  free(regions->region);
  free(regions->edges);
  free(regions->left);
  free(regions->right);
  free(regions->curve);
  free(regions->area_groups);
  free(regions->line_groups);
  free(regions->group);
  free(regions->pairs);
  free(regions->edge_copy);
  free(regions->points);
  free(regions->point_groups);
  *regions = (cvtm_regions){0};
}

/* ---- Edges ---- */

static void sort_vertices(int32_t *v, int64_t count) {
  if (count > 32) {
    qsort(v, (size_t)count, sizeof *v, cvtm_compare_int32);
    return;
  }
  for (int64_t i = 1; i < count; ++i) {
    const int32_t moving = v[i];
    int64_t k = i;
    for (; k > 0 && v[k - 1] > moving; --k) v[k] = v[k - 1];
    v[k] = moving;
  }
}

/* The lower and the higher end of a side of a triangle. */
typedef struct side {
  int32_t low, high;
} side;

static inline side side_of(const int32_t *corners, int k) {
  const int32_t one = corners[k], other = corners[k < 2 ? k + 1 : 0];
  return one < other ? (side){one, other} : (side){other, one};
}

/* Writes the edges to `pairs`, sorted by the lower and then the higher vertex. start: vertex_count
 * + 2 zeros; higher: memory for three vertices per triangle. Returns the number of edges. */
static int64_t list_edges(const cvtm_mesh *mesh, int64_t *start, int32_t *higher, int32_t *pairs) {
  const int64_t vertices = mesh->vertex_count;
  for (int64_t t = 0; t < mesh->triangle_count; ++t)
    for (int k = 0; k < 3; ++k) start[side_of(mesh->triangles + 3 * t, k).low + 2]++;
  for (int64_t v = 0; v < vertices; ++v) start[v + 2] += start[v + 1];
  for (int64_t t = 0; t < mesh->triangle_count; ++t) {
    for (int k = 0; k < 3; ++k) {
      const side s = side_of(mesh->triangles + 3 * t, k);
      higher[start[s.low + 1]++] = s.high;
    }
  }
  int64_t kept = 0;
  for (int64_t v = 0; v < vertices; ++v) {
    sort_vertices(higher + start[v], start[v + 1] - start[v]);
    for (int64_t k = start[v]; k < start[v + 1]; ++k) {
      if (k > start[v] && higher[k] == higher[k - 1]) continue; /* two triangles share the side */
      pairs[2 * kept] = (int32_t)v;
      pairs[2 * kept + 1] = higher[k];
      ++kept;
    }
  }
  return kept;
}

cvtm_status cvtm_mesh_edges(const cvtm_mesh *mesh, int32_t **edges, int64_t *count,
                            cvtm_error *error) {
  const size_t sides = 3 * (size_t)mesh->triangle_count + 1;
  int32_t *higher = malloc(sides * sizeof *higher), *pairs = malloc(2 * sides * sizeof *pairs);
  int64_t *start = calloc((size_t)mesh->vertex_count + 2, sizeof *start);
  cvtm_prefer_large_pages(higher, sides * sizeof *higher);
  cvtm_prefer_large_pages(pairs, 2 * sides * sizeof *pairs);
  const int good = higher != NULL && start != NULL && pairs != NULL;
  if (good) {
    *count = list_edges(mesh, start, higher, pairs);
    *edges = pairs;
  } else {
    free(pairs);
  }
  free(higher);
  free(start);
  if (good) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for the edges of a mesh");
}

/* ---- Half-edges ---- */

/* Sorts half-edges, stably, by the vertex where they begin or, if by_end is nonzero, end. from: the
 * half-edges to sort; NULL: all of them. The half-edges of vertex v become to[start[v]] ..
 * to[start[v + 1] - 1]. */
static void sort_halves(const int32_t *corners, int by_end, const int64_t *from, int64_t halves,
                        int64_t vertices, int64_t *start, int64_t *to) {
  for (int64_t v = 0; v < vertices + 2; ++v) start[v] = 0;
  for (int64_t h = 0; h < halves; ++h) ++start[corners[h] + 2];
  for (int64_t v = 0; v < vertices; ++v) start[v + 2] += start[v + 1];
  for (int64_t k = 0; k < halves; ++k) {
    const int64_t h = from != NULL ? from[k] : k;
    to[start[corners[by_end ? cvtm_half_after(h) : h] + 1]++] = h;
  }
}

/* Finds the last half-edge that ends in `end` among leaving[low .. high - 1], which are sorted by
 * their ends; -1: none. */
static int64_t last_ending(const int32_t *corners, const int64_t *leaving, int64_t low,
                           int64_t high, int32_t end) {
  const int64_t first = low;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (corners[cvtm_half_after(leaving[middle])] <= end)
      low = middle + 1;
    else
      high = middle;
  }
  const int64_t found = low > first ? leaving[low - 1] : -1;
  return found >= 0 && corners[cvtm_half_after(found)] == end ? found : -1;
}

/* Lists the half-edges that leave each vertex, sorted by their ends, and looks up the reverse of
 * each half-edge. This is fast for any number of triangles at a vertex. */
cvtm_status cvtm_find_twins(const int32_t *corners, int64_t triangles, int64_t vertices,
                            int64_t *twin, int64_t *at, cvtm_error *error) {
  const int64_t halves = 3 * triangles;
  cvtm_scratch memory = {0};
  int64_t *start = cvtm_scratch_take(&memory, (size_t)vertices + 2, sizeof *start);
  int64_t *by_end = cvtm_scratch_take(&memory, (size_t)halves, sizeof *by_end);
  int64_t *leaving = cvtm_scratch_take(&memory, (size_t)halves, sizeof *leaving);
  cvtm_status status = CVTM_OK;
  if (memory.failed) {
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the edges of %lld triangles",
                       (long long)triangles);
  } else {
    sort_halves(corners, 1, NULL, halves, vertices, start, by_end);
    sort_halves(corners, 0, by_end, halves, vertices, start, leaving);
    for (int64_t v = 0; at != NULL && v < vertices; ++v) at[v] = -1;
    for (int64_t h = halves - 1; at != NULL && h >= 0; --h) at[corners[h]] = h;
    for (int64_t h = 0; h < halves; ++h) {
      const int32_t to = corners[cvtm_half_after(h)];
      twin[h] = last_ending(corners, leaving, start[to], start[to + 1], corners[h]);
    }
  }
  cvtm_scratch_free(&memory);
  return status;
}

/* ---- The triangles at the edges of regions ---- */

/* A directed edge, sorted by its ends. */
typedef struct directed_edge {
  int32_t from, to, edge;
} directed_edge;

int cvtm_find_edge_faces(const int32_t *triangles, int64_t triangle_count, int64_t vertex_count,
                         const cvtm_regions *r, int64_t *face) {
  directed_edge *list = malloc((size_t)(r->edge_count + 1) * sizeof *list);
  char *begins = calloc((size_t)vertex_count + 1, 1);
  for (int64_t e = 0; list != NULL && begins != NULL && e < r->edge_count; ++e) {
    list[e] = (directed_edge){r->edges[2 * e], r->edges[2 * e + 1], (int32_t)e};
    begins[r->edges[2 * e]] = 1;
    face[e] = 0;
  }
  const int ready = list != NULL && begins != NULL;
  if (ready) qsort(list, (size_t)r->edge_count, sizeof *list, cvtm_compare_two);
  for (int64_t h = 0; ready && h < 3 * triangle_count; ++h) {
    if (!begins[triangles[h]]) continue;
    const directed_edge wanted = {triangles[h], triangles[cvtm_half_after(h)], 0};
    const directed_edge *found =
        bsearch(&wanted, list, (size_t)r->edge_count, sizeof *list, cvtm_compare_two);
    if (found != NULL) face[found->edge] = h;
  }
  free(list);
  free(begins);
  return ready;
}

/* ---- Quality of one triangle ---- */

typedef struct triangle_figures {
  double area;      /* unsigned */
  double min_angle; /* degrees */
  double q, aspect;
  int clockwise; /* as seen with y up */
  int inner;     /* nonzero: the circumcentre is in the domain */
} triangle_figures;

/* a b - c d within one or two units in the last place, even under cancellation (Kahan). */
static double difference_of_products(double a, double b, double c, double d) {
  const double cd = c * d;
  return fma(a, b, -cd) + fma(-c, d, cd);
}

static int circumcentre_inside(const cvtm_domain *domain, const double *a, double bx, double by,
                               double cx, double cy, double cross) {
  if (!domain) return 1;
  if (cross == 0) return 0;
  const double b2 = bx * bx + by * by, c2 = cx * cx + cy * cy;
  const double x = a[0] + (b2 * cy - c2 * by) / (2 * cross);
  const double y = a[1] + (c2 * bx - b2 * cx) / (2 * cross);
  return x >= 0 && x <= domain->width && y >= 0 && y <= domain->height;
}

static triangle_figures measure_triangle(const double *a, const double *b, const double *c,
                                         const cvtm_domain *domain) {
  static const double degrees = 57.295779513082320877;
  const double bx = b[0] - a[0], by = b[1] - a[1];
  const double cx = c[0] - a[0], cy = c[1] - a[1];
  const double cross = difference_of_products(bx, cy, by, cx);
  const double ab = hypot(bx, by), ac = hypot(cx, cy), bc = hypot(cx - bx, cy - by);
  const double longest = fmax(ab, fmax(ac, bc)), shortest = fmin(ab, fmin(ac, bc));
  triangle_figures t = {.area = 0.5 * fabs(cross), .clockwise = cross > 0};
  t.inner = circumcentre_inside(domain, a, bx, by, cx, cy, cross);
  if (cross == 0) return t;
  /* The smallest angle is opposite the shortest edge. */
  double cosine;
  if (shortest == bc)
    cosine = bx * cx + by * cy;
  else if (shortest == ac)
    cosine = bx * (bx - cx) + by * (by - cy);
  else
    cosine = cx * (cx - bx) + cy * (cy - by);
  t.min_angle = degrees * atan2(fabs(cross), cosine);
  t.q = 2 * sqrt(3.0) * t.area / (0.5 * (ab + ac + bc) * longest);
  t.aspect = sqrt(3.0) * longest * longest / (4 * t.area);
  return t;
}

/* ---- Sums over triangles ---- */

static void add_triangle(cvtm_quality_figures *figures, const triangle_figures *t) {
  if (figures->triangles == 0) {
    figures->min_angle = t->min_angle;
    figures->min_q = t->q;
    figures->min_area = figures->max_area = t->area;
  }
  figures->triangles++;
  figures->min_angle = fmin(figures->min_angle, t->min_angle);
  figures->mean_min_angle += t->min_angle;
  figures->min_q = fmin(figures->min_q, t->q);
  figures->mean_q += t->q;
  figures->min_area = fmin(figures->min_area, t->area);
  figures->max_area = fmax(figures->max_area, t->area);
  figures->mean_area += t->area;
  figures->max_aspect = fmax(figures->max_aspect, t->aspect);
  if (t->area == 0) figures->degenerate++;
  const int bin = (int)(t->min_angle / (60.0 / CVTM_ANGLE_BINS));
  figures->angle_histogram[bin < CVTM_ANGLE_BINS ? bin : CVTM_ANGLE_BINS - 1]++;
}

/* Adds the figures of further triangles to the sum. */
static void add_figures(cvtm_quality_figures *sum, const cvtm_quality_figures *other) {
  if (other->triangles == 0) return;
  if (sum->triangles == 0) {
    *sum = *other;
    return;
  }
  sum->triangles += other->triangles;
  sum->min_angle = fmin(sum->min_angle, other->min_angle);
  sum->mean_min_angle += other->mean_min_angle;
  sum->min_q = fmin(sum->min_q, other->min_q);
  sum->mean_q += other->mean_q;
  sum->min_area = fmin(sum->min_area, other->min_area);
  sum->max_area = fmax(sum->max_area, other->max_area);
  sum->mean_area += other->mean_area;
  sum->max_aspect = fmax(sum->max_aspect, other->max_aspect);
  sum->degenerate += other->degenerate;
  for (int bin = 0; bin < CVTM_ANGLE_BINS; ++bin)
    sum->angle_histogram[bin] += other->angle_histogram[bin];
}

static void finish_means(cvtm_quality_figures *figures) {
  if (figures->triangles == 0) return;
  const double count = (double)figures->triangles;
  figures->mean_min_angle /= count;
  figures->mean_q /= count;
  figures->mean_area /= count;
}

/* ---- Vertices ---- */

typedef struct vertex_star {
  uint64_t open;      /* 0 if the triangles close around the vertex */
  uint64_t triangles; /* number of triangles, plus 2^32 for each that is not inner */
} vertex_star;

/* Each triangle at a vertex goes from one neighbour to the next. If the triangles close around the
 * vertex, each neighbour is once the first and once the second one, so the sum of the differences
 * of their hashes is 0. For an open fan the sum is the difference of the hashes of both ends. */
static void add_corner(vertex_star *star, int32_t entered, int32_t left, uint64_t triangle,
                       int threads) {
  const uint64_t difference = cvtm_mix_bits((uint64_t)entered) - cvtm_mix_bits((uint64_t)left);
  if (threads == 1) {
    star->open += difference;
    star->triangles += triangle;
    return;
  }
#pragma omp atomic
  star->open += difference;
#pragma omp atomic
  star->triangles += triangle;
}

static void add_star_corners(vertex_star *stars, const int32_t *corners, const triangle_figures *t,
                             int threads) {
  const int32_t a = corners[0], b = corners[t->clockwise ? 2 : 1],
                c = corners[t->clockwise ? 1 : 2];
  const uint64_t triangle = t->inner ? 1 : 1 + (UINT64_C(1) << 32);
  add_corner(&stars[a], b, c, triangle, threads);
  add_corner(&stars[b], c, a, triangle, threads);
  add_corner(&stars[c], a, b, triangle, threads);
}

static void count_degrees(const vertex_star *stars, cvtm_quality *quality) {
  static const int bins =
      (int)(sizeof quality->degree_histogram / sizeof quality->degree_histogram[0]);
  for (int64_t v = 0; v < quality->vertices; ++v) {
    const vertex_star *star = &stars[v];
    const int64_t degree = (int64_t)star->triangles; /* at least 2^32 if a triangle is not inner */
    if (degree == 0 || degree >> 32 != 0 || star->open) continue;
    quality->interior_vertices++;
    quality->degree_histogram[degree < bins ? degree : bins - 1]++;
  }
  if (quality->interior_vertices > 0)
    quality->degree6_share =
        (double)quality->degree_histogram[6] / (double)quality->interior_vertices;
}

/* ---- All triangles ---- */

/* Number of triangles whose figures are added one after another; the figures of such blocks are
 * then added in order. */
enum { BLOCK = 1 << 14 };

typedef struct block_figures {
  cvtm_quality_figures all, inner;
  int64_t too_large; /* the first triangle that cannot be measured; triangle_count: all can */
} block_figures;

static block_figures measure_block(const cvtm_mesh *mesh, const cvtm_domain *domain, int64_t first,
                                   int threads, vertex_star *stars) {
  block_figures block = {.too_large = mesh->triangle_count};
  const int64_t rest = mesh->triangle_count - first, end = first + (rest < BLOCK ? rest : BLOCK);
  for (int64_t t = first; t < end; ++t) {
    const int32_t *corners = mesh->triangles + 3 * t;
    const triangle_figures figures = measure_triangle(
        mesh->points + 2 * (int64_t)corners[0], mesh->points + 2 * (int64_t)corners[1],
        mesh->points + 2 * (int64_t)corners[2], domain);
    if (!isfinite(figures.area)) {
      block.too_large = t;
      break;
    }
    add_triangle(&block.all, &figures);
    if (figures.inner) add_triangle(&block.inner, &figures);
    add_star_corners(stars, corners, &figures, threads);
  }
  return block;
}

/* The first corner that is not the index of a vertex; 3 * triangle_count: none. */
static int64_t find_bad_corner(const cvtm_mesh *mesh) {
  int64_t bad = 3 * mesh->triangle_count;
#pragma omp parallel for schedule(static) reduction(min : bad) if (bad > BLOCK)
  for (int64_t k = 0; k < 3 * mesh->triangle_count; ++k)
    if ((mesh->triangles[k] < 0 || mesh->triangles[k] >= mesh->vertex_count) && k < bad) bad = k;
  return bad;
}

int32_t cvtm_find_parts(int64_t triangles, const int64_t *twin, const int32_t *segment,
                        int32_t *part, uint8_t *is_open, int64_t *stack) {
  int32_t count = 0;
  for (int64_t t = 0; t < triangles; ++t) part[t] = -1;
  for (int64_t t = 0; t < triangles; ++t) {
    if (part[t] >= 0) continue;
    int64_t depth = 0;
    is_open[count] = 0;
    part[t] = count;
    stack[depth++] = t;
    while (depth > 0) {
      const int64_t here = stack[--depth];
      for (int64_t h = 3 * here; h < 3 * here + 3; ++h) {
        const int64_t beside = segment[h] >= 0 ? here : twin[h] < 0 ? -1 : twin[h] / 3;
        is_open[count] |= beside < 0;
        if (beside < 0 || part[beside] >= 0) continue;
        part[beside] = count;
        stack[depth++] = beside;
      }
    }
    ++count;
  }
  return count;
}

cvtm_status cvtm_check_corners(const cvtm_mesh *mesh, cvtm_error *error) {
  const int64_t bad = find_bad_corner(mesh);
  if (bad == 3 * mesh->triangle_count) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                   "triangle %lld has vertex %d, but there are %lld vertices", (long long)(bad / 3),
                   (int)mesh->triangles[bad], (long long)mesh->vertex_count);
}

static cvtm_status fail_memory(const cvtm_mesh *mesh, cvtm_error *error) {
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the quality of %lld vertices",
                   (long long)mesh->vertex_count);
}

/* Measures all blocks, and joins their figures in order. */
static cvtm_status measure_all(const cvtm_mesh *mesh, const cvtm_domain *domain, vertex_star *stars,
                               cvtm_quality *quality, cvtm_error *error) {
  const int64_t blocks = (mesh->triangle_count + BLOCK - 1) / BLOCK;
  const int threads = blocks > 1 ? omp_get_max_threads() : 1;
  block_figures *block = malloc((size_t)(blocks + 1) * sizeof *block);
  if (!block) return fail_memory(mesh, error);
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1)
  for (int64_t b = 0; b < blocks; ++b)
    block[b] = measure_block(mesh, domain, b * BLOCK, threads, stars);
  int64_t too_large = mesh->triangle_count;
  for (int64_t b = 0; b < blocks && too_large == mesh->triangle_count; ++b) {
    add_figures(&quality->all, &block[b].all);
    add_figures(&quality->inner, &block[b].inner);
    too_large = block[b].too_large;
  }
  free(block);
  if (too_large == mesh->triangle_count) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_INPUT, "triangle %lld is too large to measure",
                   (long long)too_large);
}

cvtm_status cvtm_quality_compute(const cvtm_mesh *mesh, const cvtm_domain *domain,
                                 cvtm_quality *quality, cvtm_error *error) {
  if (!mesh || !quality)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "the mesh, or the struct for its quality, is NULL");
  CVTM_TRY(cvtm_check_corners(mesh, error));
  vertex_star *stars = calloc((size_t)mesh->vertex_count + 1, sizeof *stars);
  if (!stars) return fail_memory(mesh, error);
  cvtm_quality made = {.vertices = mesh->vertex_count};
  cvtm_status status = measure_all(mesh, domain, stars, &made, error);
  if (status == CVTM_OK) {
    finish_means(&made.all);
    finish_means(&made.inner);
    count_degrees(stars, &made);
    *quality = made;
  }
  free(stars);
  return status;
}

#include "base/host.h"
#include "base/portable.h"
#include "meshes/delaunay/constraints.h"
#include "meshes/sized/sized_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Relative to the size: least distance of the vertices from the boundary, where the lattice grows
 * later; largest differences of the size, and of the length of parts that the lattice follows. */
static const double clearance = 1.2, same_size = 0.01, same_length = 0.005;
/* Vertices of a lattice that is worth a triangulation of its own. */
enum { WORTH_LATTICE = 1 << 14 };

enum { FREE, BLOCKED, TAKEN };

/* A row has sites at along * (i + 0.5 * (j % 2)) + up * j from the origin. */
typedef struct lattice {
  const cvtm_sizer *z;
  cvtm_scratch memory;               /* owns the arrays up to `parent` */
  double origin[2], along[2], up[2]; /* vectors: to the next site, to the next row */
  double direction, size;
  int64_t rows, columns;
  uint8_t *state; /* per site: BLOCKED: it is close to the boundary, or the size differs */
  int64_t *first; /* per row, and after the last: its first run */
  int64_t run_count;
  int64_t *begin, *end; /* per run: free sites that follow each other in a row */
  int32_t *parent;      /* per run: as for cvtm_root_of */
  int32_t region, root; /* of the sites that are taken */
  int64_t count;
  int32_t *vertex, *over, *under; /* per site: its vertex, and the triangles over and under the edge
                                     to the next site; -1: none */
} lattice;

static void site(const lattice *l, int64_t i, int64_t j, double place[2]) {
  const double a = (double)i + 0.5 * (double)(j % 2), b = (double)j;
  for (int k = 0; k < 2; ++k) place[k] = l->origin[k] + a * l->along[k] + b * l->up[k];
}

/* The coordinates of a point in multiples of along and up. */
static void find_coordinates(const lattice *l, double x, double y, double at[2]) {
  const double dx = x - l->origin[0], dy = y - l->origin[1];
  const double *a = l->along, *u = l->up;
  at[0] = (dx * a[0] + dy * a[1]) / (a[0] * a[0] + a[1] * a[1]);
  at[1] = (dx * u[0] + dy * u[1]) / (u[0] * u[0] + u[1] * u[1]);
}

/* Lays the lattice over half-edge h, a part of the boundary. Row 0 has the third corners of
 * triangles over parts. Returns 0 if the lattice would have too few sites, or too many. */
static int lay_over(lattice *l, int64_t h) {
  const cvtm_sizer *z = l->z;
  const cvtm_half_edges *m = &z->m;
  const cvtm_grid_point p = m->grid[m->corner[h]], q = m->grid[cvtm_end_of(m, h)];
  const double dx = (double)q.x - p.x, dy = (double)q.y - p.y, length = hypot(dx, dy);
  const double x = p.x + 0.5 * dx, y = p.y + 0.5 * dy, reach = 3; /* lengths */
  l->region = m->region[h / 3];
  l->size = cvtm_sizer_at(z, l->region, x - reach * dy, y + reach * dx);
  if (!(l->size > 0)) return 0;
  const double ratio = l->size / length, scale = fabs(ratio - 1) < same_length ? 1 : ratio;
  const double rise = sqrt(ratio * ratio - 0.25 * scale * scale);
  const double first_rise = sqrt(3) / 6 * (1 + 2 * ratio);
  l->direction = atan2(dy, dx);
  l->origin[0] = x - first_rise * dy;
  l->origin[1] = y + first_rise * dx;
  l->along[0] = scale * dx;
  l->along[1] = scale * dy;
  l->up[0] = -rise * dy;
  l->up[1] = rise * dx;
  double low[2] = {0, 0}, high[2] = {0, 0};
  for (int64_t v = 0; v < z->fixed_count; ++v) {
    double at[2];
    find_coordinates(l, m->grid[v].x, m->grid[v].y, at);
    for (int k = 0; k < 2; ++k) {
      low[k] = fmin(low[k], at[k]);
      high[k] = fmax(high[k], at[k]);
    }
  }
  const int64_t left = (int64_t)ceil(-low[0]) + 1, under = 2 * (int64_t)ceil(-0.5 * low[1]) + 2;
  for (int k = 0; k < 2; ++k) l->origin[k] -= (double)left * l->along[k] + (double)under * l->up[k];
  l->columns = left + (int64_t)ceil(high[0]) + 2;
  l->rows = under + (int64_t)ceil(high[1]) + 2;
  const double sites = (double)l->columns * (double)l->rows;
  return sites > WORTH_LATTICE && sites < 4 * z->figures->expected;
}

/* Blocks the sites that are close to a line between two vertices. */
static void block_line(lattice *l, int32_t v, int32_t w) {
  const cvtm_grid_point *grid = l->z->m.grid;
  const double px = grid[v].x, py = grid[v].y, dx = grid[w].x - px, dy = grid[w].y - py;
  const double square = dx * dx + dy * dy, most = clearance * l->size;
  double p[2], q[2];
  find_coordinates(l, px, py, p);
  find_coordinates(l, px + dx, py + dy, q);
  const double margin = clearance * l->size / hypot(l->along[0], l->along[1]) + 1;
  const int64_t left = (int64_t)fmax(0, fmin(p[0], q[0]) - margin),
                right = (int64_t)fmin((double)l->columns - 1, fmax(p[0], q[0]) + margin);
  const int64_t low = (int64_t)fmax(0, fmin(p[1], q[1]) - margin),
                high = (int64_t)fmin((double)l->rows - 1, fmax(p[1], q[1]) + margin);
  for (int64_t j = low; j <= high; ++j) {
    for (int64_t i = left; i <= right; ++i) {
      double at[2];
      site(l, i, j, at);
      const double x = at[0] - px, y = at[1] - py;
      const double t = square > 0 ? fmin(fmax((x * dx + y * dy) / square, 0), 1) : 0;
      if (hypot(x - t * dx, y - t * dy) < most) l->state[j * l->columns + i] = BLOCKED;
    }
  }
}

static void block_sites(lattice *l) {
  const cvtm_sizer *z = l->z;
  memset(l->state, FREE, (size_t)(l->rows * l->columns));
  for (int64_t k = 0; k < z->parts.edge_count; ++k)
    block_line(l, z->parts.edges[2 * k], z->parts.edges[2 * k + 1]);
  for (int32_t v = 0; v < z->given->vertex_count; ++v)
    if (!isfinite(z->least[v])) block_line(l, v, v);
#pragma omp parallel for schedule(dynamic, 8)
  for (int64_t j = 0; j < l->rows; ++j) {
    for (int64_t i = 0; i < l->columns; ++i) {
      double at[2];
      site(l, i, j, at);
      const double size = cvtm_sizer_at(z, l->region, at[0], at[1]);
      if (!(fabs(size / l->size - 1) < same_size)) l->state[j * l->columns + i] = BLOCKED;
    }
  }
}

/* ---- Connected sites ---- */

/* Finds the runs of a row; returns their number. begin, end: NULL, or places for them. */
static int64_t find_runs(const lattice *l, int64_t j, int64_t *begin, int64_t *end) {
  const uint8_t *state = l->state + j * l->columns;
  int64_t count = 0;
  for (int64_t i = 0; i < l->columns; ++i) {
    if (state[i] != FREE) continue;
    const int64_t from = i;
    while (i < l->columns && state[i] == FREE) ++i;
    if (begin != NULL) begin[count] = from;
    if (end != NULL) end[count] = i;
    ++count;
  }
  return count;
}

static int list_runs(lattice *l) {
#pragma omp parallel for schedule(static)
  for (int64_t j = 0; j < l->rows; ++j) l->first[j + 1] = find_runs(l, j, NULL, NULL);
  l->first[0] = 0;
  for (int64_t j = 0; j < l->rows; ++j) l->first[j + 1] += l->first[j];
  l->run_count = l->first[l->rows];
  l->begin = cvtm_scratch_take(&l->memory, (size_t)l->run_count, sizeof *l->begin);
  l->end = cvtm_scratch_take(&l->memory, (size_t)l->run_count, sizeof *l->end);
  l->parent = cvtm_scratch_take(&l->memory, (size_t)l->run_count, sizeof *l->parent);
  if (l->memory.failed) return 0;
#pragma omp parallel for schedule(static)
  for (int64_t j = 0; j < l->rows; ++j)
    (void)find_runs(l, j, l->begin + l->first[j], l->end + l->first[j]);
  for (int64_t k = 0; k < l->run_count; ++k) l->parent[k] = (int32_t)k;
  return 1;
}

/* Joins the runs that have neighbours in each other. These are free, so that no boundary is between
 * them. */
static void join_runs(lattice *l) {
  for (int64_t j = 0; j + 1 < l->rows; ++j) {
    const int64_t shift = j % 2; /* site i has neighbours i + shift - 1 and i + shift above */
    for (int64_t a = l->first[j], b = l->first[j + 1];
         a < l->first[j + 1] && b < l->first[j + 2];) {
      if (l->begin[b] < l->end[a] + shift && l->begin[a] + shift <= l->end[b])
        (void)cvtm_join_trees(l->parent, (int32_t)a, (int32_t)b);
      if (l->end[a] + shift <= l->end[b])
        ++a;
      else
        ++b;
    }
  }
}

/* The run with a site. */
static int64_t run_of(const lattice *l, int64_t i, int64_t j) {
  for (int64_t k = l->first[j]; k < l->first[j + 1]; ++k)
    if (l->begin[k] <= i && i < l->end[k]) return k;
  return -1;
}

/* Finds the free site over half-edge h, and the sites connected to it. Returns 0 if there is none.
 */
static int find_root(lattice *l, int64_t h) {
  const cvtm_sizer *z = l->z;
  const cvtm_half_edges *m = &z->m;
  const cvtm_grid_point p = m->grid[m->corner[h]];
  double at[2];
  find_coordinates(l, p.x, p.y, at);
  for (int64_t j = (int64_t)rint(at[1]) + 2; j < (int64_t)rint(at[1]) + 5; ++j) {
    const int64_t i = (int64_t)rint(at[0]), k = j < l->rows ? run_of(l, i, j) : -1;
    double place[2];
    site(l, i, j, place);
    const cvtm_grid_point to = {(int32_t)rint(place[0]), (int32_t)rint(place[1])};
    if (k < 0 || cvtm_sizer_see(z, m->corner[h], to) < 0) continue;
    l->root = cvtm_root_of(l->parent, (int32_t)k);
    return 1;
  }
  return 0;
}

/* Marks and numbers the sites of these runs. */
static void take_sites(lattice *l, int32_t fixed) {
  for (int64_t j = 0; j < l->rows; ++j) {
    for (int64_t k = l->first[j]; k < l->first[j + 1]; ++k) {
      if (cvtm_root_of(l->parent, (int32_t)k) != l->root) continue;
      for (int64_t s = j * l->columns + l->begin[k]; s < j * l->columns + l->end[k]; ++s) {
        l->state[s] = TAKEN;
        l->vertex[s] = fixed + (int32_t)l->count++;
      }
    }
  }
}

/* ---- Triangles ---- */

/* The sites over and under the edge from site s of row j to the next site. */
static int64_t over_edge(const lattice *l, int64_t s, int64_t j) { return s + l->columns + j % 2; }
static int64_t under_edge(const lattice *l, int64_t s, int64_t j) { return s - l->columns + j % 2; }

static int has_triangle(const lattice *l, int64_t s, int64_t other) {
  return l->state[s] == TAKEN && l->state[s + 1] == TAKEN && l->state[other] == TAKEN;
}

/* Numbers the triangles over and under the edges of a row, from `next` on; returns the number of
 * the next triangle. No site on the border of the array is taken. */
static int32_t number_triangles(lattice *l, int64_t j, int32_t next) {
  for (int64_t s = j * l->columns; s + 1 < (j + 1) * l->columns; ++s) {
    if (l->state[s] != TAKEN) continue;
    l->under[s] = has_triangle(l, s, under_edge(l, s, j)) ? next++ : -1;
    l->over[s] = has_triangle(l, s, over_edge(l, s, j)) ? next++ : -1;
  }
  return next;
}

static int64_t find_triangle(const lattice *l, const int32_t *triangle, int64_t s) {
  return l->state[s] == TAKEN ? triangle[s] : -1;
}

/* Writes a triangle whose corners are sites. other: its neighbours, which have half-edges of the
 * same numbers. */
static void put_triangle(const lattice *l, cvtm_half_edges *m, int64_t t, const int64_t corner[3],
                         const int64_t other[3]) {
  m->region[t] = l->region;
  for (int k = 0; k < 3; ++k) {
    m->corner[3 * t + k] = l->vertex[corner[k]];
    m->twin[3 * t + k] = other[k] < 0 ? -1 : 3 * other[k] + k;
    m->segment[3 * t + k] = -1;
  }
}

/* Writes the vertices of a row, and the triangles over and under its edges. Vertices of one colour
 * have no edge in common. */
static void put_row(const lattice *l, int64_t j, cvtm_half_edges *m, cvtm_sized_vertex *vertex) {
  for (int64_t i = 0; i < l->columns; ++i) {
    const int64_t s = j * l->columns + i, a = over_edge(l, s, j), b = under_edge(l, s, j);
    if (l->state[s] != TAKEN) continue;
    const int64_t over = l->over[s], under = l->under[s];
    if (over >= 0)
      put_triangle(
          l, m, over, (int64_t[]){s, s + 1, a},
          (int64_t[]){under, find_triangle(l, l->under, a), find_triangle(l, l->under, a - 1)});
    if (under >= 0)
      put_triangle(
          l, m, under, (int64_t[]){s + 1, s, b},
          (int64_t[]){over, find_triangle(l, l->over, b - 1), find_triangle(l, l->over, b)});
    const int32_t v = l->vertex[s];
    double place[2];
    site(l, i, j, place);
    m->grid[v] = (cvtm_grid_point){(int32_t)rint(place[0]), (int32_t)rint(place[1])};
    m->at[v] = over >= 0 ? 3 * over : -1;
    vertex[v] = (cvtm_sized_vertex){.size = cvtm_sizer_at(l->z, l->region, place[0], place[1]),
                                    .at = m->grid[v],
                                    .place = -1,
                                    .colour = (uint8_t)((i - j / 2 + 2 * j) % 3),
                                    .degree = 6};
  }
}

/* ---- The rest of the domain ---- */

/* Nonzero if all neighbours of site s in row j are taken. */
static int is_surrounded(const lattice *l, int64_t s, int64_t j) {
  const uint8_t *over = l->state + over_edge(l, s, j), *under = l->state + under_edge(l, s, j);
  return l->state[s - 1] == TAKEN && l->state[s + 1] == TAKEN && over[-1] == TAKEN &&
         over[0] == TAKEN && under[-1] == TAKEN && under[0] == TAKEN;
}

/* What is triangulated between the lattice and the boundary: vertices of the boundary, then those
 * of the lattice's rim; parts of the boundary, then edges of the rim. */
typedef struct rest {
  cvtm_boundary b;
  int32_t *rim;    /* vertices of the rim */
  int32_t *number; /* per vertex of the rim: its number here */
  int64_t *half;   /* per edge of the rim: the half-edge of the lattice */
  int64_t rim_count, half_count;
} rest;

static cvtm_status list_rim(const cvtm_sizer *z, const lattice *l, rest *r) {
  int64_t capacity = 0;
  for (int64_t j = 0; j < l->rows; ++j) {
    for (int64_t s = j * l->columns; s < (j + 1) * l->columns; ++s) {
      if (l->state[s] != TAKEN || is_surrounded(l, s, j)) continue;
      if (!cvtm_grow(&r->rim, sizeof *r->rim, &capacity, r->rim_count + 1))
        return cvtm_no_memory(z->error, "the mesh");
      r->number[l->vertex[s]] = (int32_t)(z->fixed_count + r->rim_count);
      r->rim[r->rim_count++] = l->vertex[s];
    }
  }
  capacity = 0;
  for (int64_t h = 0; h < 3 * z->m.triangle_count; ++h) {
    if (z->m.twin[h] >= 0) continue;
    if (!cvtm_grow(&r->half, sizeof *r->half, &capacity, r->half_count + 1))
      return cvtm_no_memory(z->error, "the mesh");
    r->half[r->half_count++] = h;
  }
  return CVTM_OK;
}

static cvtm_status bound_rest(const cvtm_sizer *z, const lattice *l, rest *r) {
  const int64_t fixed = z->fixed_count, parts = z->parts.edge_count;
  const int64_t n = fixed + r->rim_count, edges = parts + r->half_count;
  cvtm_boundary *b = &r->b;
  *b = (cvtm_boundary){.vertex_count = n,
                       .edge_count = edges,
                       .points = malloc(2 * (size_t)n * sizeof *b->points),
                       .edges = malloc(2 * (size_t)edges * sizeof *b->edges),
                       .left = calloc((size_t)edges, sizeof *b->left),
                       .right = malloc((size_t)edges * sizeof *b->right)};
  if (!b->points || !b->edges || !b->left || !b->right) return cvtm_no_memory(z->error, "the mesh");
  for (int64_t v = 0; v < n; ++v) {
    const cvtm_grid_point p = z->m.grid[v < fixed ? v : r->rim[v - fixed]];
    b->points[2 * v] = p.x;
    b->points[2 * v + 1] = -p.y;
  }
  memcpy(b->edges, z->parts.edges, 2 * (size_t)parts * sizeof *b->edges);
  memcpy(b->left, z->parts.left, (size_t)parts * sizeof *b->left);
  memcpy(b->right, z->parts.right, (size_t)parts * sizeof *b->right);
  for (int64_t k = 0; k < r->half_count; ++k) {
    b->edges[2 * (parts + k)] = r->number[z->m.corner[r->half[k]]];
    b->edges[2 * (parts + k) + 1] = r->number[cvtm_end_of(&z->m, r->half[k])];
    b->right[parts + k] = l->region;
  }
  return CVTM_OK;
}

/* Copies the triangles of the rest, behind those of the lattice. */
static void join_rest(cvtm_sizer *z, const rest *r, const cvtm_half_edges *from) {
  cvtm_half_edges *m = &z->m;
  const int64_t first = m->triangle_count, parts = z->parts.edge_count;
  m->triangle_count += from->triangle_count;
  for (int64_t h = 0, to = 3 * first; h < 3 * from->triangle_count; ++h, ++to) {
    const int32_t v = from->corner[h], segment = from->segment[h];
    m->corner[to] = v < z->fixed_count ? v : r->rim[v - z->fixed_count];
    m->at[m->corner[to]] = to;
    m->twin[to] = from->twin[h] < 0 ? -1 : from->twin[h] + 3 * first;
    m->segment[to] = segment < parts ? segment : -1;
    m->region[to / 3] = from->region[h / 3];
    if (segment < parts) continue;
    const int64_t g = r->half[segment - parts];
    m->twin[to] = g;
    m->twin[g] = to;
    cvtm_half_edges_push(m, to);
  }
  cvtm_half_edges_restore(m);
}

static cvtm_status triangulate_rest(cvtm_sizer *z, const lattice *l, rest *r) {
  cvtm_grid_frame frame;
  cvtm_half_edges made = {0};
  cvtm_status status = list_rim(z, l, r);
  if (status == CVTM_OK) status = bound_rest(z, l, r);
  if (status == CVTM_OK)
    status =
        cvtm_constrained_half_edges(r->b.points, r->b.vertex_count, &r->b, &made, &frame, z->error);
  if (status == CVTM_OK) join_rest(z, r, &made);
  cvtm_half_edges_free(&made);
  cvtm_boundary_free(&r->b);
  return z->m.out_of_memory ? cvtm_no_memory(z->error, "the mesh") : status;
}

/* ---- All steps ---- */

/* Makes room for the triangles, the rest, and vertices that are added later. The vertices of the
 * boundary stay. */
static cvtm_status allocate_mesh(cvtm_sizer *z, const lattice *l, int64_t triangles) {
  const int64_t fixed = z->fixed_count, n = fixed + l->count;
  const size_t vertices = (size_t)(n + n / 8), t = (size_t)triangles + 2 * (size_t)(fixed + n / 8);
  cvtm_half_edges *m = &z->m;
  cvtm_half_edges made = {.vertex_count = n,
                          .vertex_capacity = (int64_t)vertices,
                          .triangle_count = triangles,
                          .triangle_capacity = (int64_t)t,
                          .grid = cvtm_host_allocate(vertices * sizeof *m->grid),
                          .at = cvtm_host_allocate(vertices * sizeof *m->at),
                          .corner = cvtm_host_allocate(3 * t * sizeof *m->corner),
                          .twin = cvtm_host_allocate(3 * t * sizeof *m->twin),
                          .segment = cvtm_host_allocate(3 * t * sizeof *m->segment),
                          .region = cvtm_host_allocate(t * sizeof *m->region)};
  cvtm_sized_vertex *vertex = cvtm_host_allocate(vertices * sizeof *vertex);
  if (!made.grid || !made.at || !made.corner || !made.twin || !made.segment || !made.region ||
      !vertex) {
    cvtm_half_edges_free(&made);
    free(vertex);
    return cvtm_no_memory(z->error, "the mesh");
  }
  for (int64_t v = 0; v < fixed; ++v) made.at[v] = -1;
  memcpy(made.grid, m->grid, (size_t)fixed * sizeof *m->grid);
  memcpy(vertex, z->vertex, (size_t)fixed * sizeof *vertex);
  cvtm_half_edges_free(m);
  free(z->vertex);
  *m = made;
  z->vertex = vertex;
  z->vertex_capacity = (int64_t)vertices;
  return CVTM_OK;
}

static cvtm_status make_mesh(cvtm_sizer *z, lattice *l) {
#pragma omp parallel for schedule(static)
  for (int64_t j = 1; j < l->rows - 1; ++j) l->first[j + 1] = number_triangles(l, j, 0);
  l->first[1] = 0;
  for (int64_t j = 1; j < l->rows - 1; ++j) l->first[j + 1] += l->first[j];
  const cvtm_status status = allocate_mesh(z, l, l->first[l->rows - 1]);
#pragma omp parallel for schedule(static)
  for (int64_t j = 1; j < (status == CVTM_OK ? l->rows - 1 : 0); ++j)
    (void)number_triangles(l, j, (int32_t)l->first[j]);
#pragma omp parallel for schedule(static)
  for (int64_t j = 1; j < (status == CVTM_OK ? l->rows - 1 : 0); ++j)
    put_row(l, j, &z->m, z->vertex);
  return status;
}

static cvtm_status fill_sites(cvtm_sizer *z, lattice *l, rest *r, int64_t h) {
  const size_t sites = (size_t)(l->rows * l->columns);
  l->state = cvtm_scratch_take(&l->memory, sites, sizeof *l->state);
  l->vertex = cvtm_host_allocate(sites * sizeof *l->vertex);
  l->over = cvtm_host_allocate(sites * sizeof *l->over);
  l->under = cvtm_host_allocate(sites * sizeof *l->under);
  l->first = cvtm_scratch_take(&l->memory, (size_t)l->rows + 1, sizeof *l->first);
  r->number = cvtm_host_allocate((sites + (size_t)z->fixed_count) * sizeof *r->number);
  if (l->memory.failed || !l->vertex || !l->over || !l->under || !r->number)
    return cvtm_no_memory(z->error, "the mesh");
  block_sites(l);
  if (!list_runs(l)) return cvtm_no_memory(z->error, "the mesh");
  join_runs(l);
  if (!find_root(l, h)) return CVTM_OK;
  take_sites(l, (int32_t)z->fixed_count);
  if (l->count < WORTH_LATTICE) return CVTM_OK;
  CVTM_TRY(make_mesh(z, l));
  return triangulate_rest(z, l, r);
}

cvtm_status cvtm_sizer_lay(cvtm_sizer *z, int64_t part, int32_t **rim, int64_t *count,
                           double *direction) {
  lattice l = {.z = z};
  rest r = {.rim = NULL};
  const int32_t *ends = z->parts.edges + 2 * part;
  const int64_t h = cvtm_half_edges_find(&z->m, ends[0], ends[1]);
  if (!(z->figures->expected > WORTH_LATTICE) || h < 0 || !lay_over(&l, h)) return CVTM_OK;
  const cvtm_status status = fill_sites(z, &l, &r, h);
  *rim = r.rim;
  *count = r.rim_count;
  *direction = l.direction;
  cvtm_scratch_free(&l.memory);
  free(l.vertex);
  free(l.over);
  free(l.under);
  free(r.number);
  free(r.half);
  return status;
}

#include "base/host.h"
#include "base/portable.h"
#include "meshes/sized/sized_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BALANCE_EVERY = 4 }; /* sweeps between two rounds of additions and removals */

/* In all sweeps but the last, vertices move by this multiple of the vector to their centroids. */
static const double over_relaxation = 1.6;
/* Relative to the wanted length. Edges longer than `longest` are divided. A vertex is removed if
 * the mean of its edges is below shortest_mean, or below crowded_mean with an edge below
 * `shortest`. */
static const double longest = 1.3, shortest = 0.6, shortest_mean = 0.78, crowded_mean = 0.93;
static const double stale =
    0.1; /* the size of a vertex is found again after a move by this fraction of it */
static const double still =
    0.003; /* a vertex rests if it would move by less than this fraction of its size */

/* ---- Colours ---- */

/* The colours of a vertex's neighbours with smaller numbers or, with `all`, of all neighbours; bit
 * k stands for colour k. */
static uint64_t colours_around(const cvtm_sizer *z, int64_t v, int all) {
  const cvtm_half_edges *m = &z->m;
  uint64_t around = 0;
  int64_t h = m->at[v];
  do {
    const int32_t w = cvtm_end_of(m, h);
    if (all || w < v) around |= (uint64_t)1 << z->vertex[w].colour;
    h = cvtm_turn_left(m, h);
  } while (h != m->at[v]);
  return around;
}

enum { COLOUR_BLOCKS = 64 };

/* Lists the vertices of a block that get a colour, or, with NULL, counts them; returns their
 * number. */
static int64_t list_block(const cvtm_sizer *z, int64_t block, int32_t *list) {
  const int64_t n = z->m.vertex_count - z->fixed_count,
                end = z->fixed_count + n * (block + 1) / COLOUR_BLOCKS;
  int64_t count = 0;
  for (int64_t v = z->fixed_count + n * block / COLOUR_BLOCKS; v < end; ++v) {
    if (z->m.at[v] < 0 || z->vertex[v].place >= 0 || z->vertex[v].is_still) continue;
    if (list != NULL) list[count] = (int32_t)v;
    ++count;
  }
  return count;
}

/* Returns the number of vertices that get a colour. */
static int64_t list_free(cvtm_sizer *z) {
  const int64_t n = z->m.vertex_count;
  int64_t first[COLOUR_BLOCKS + 1] = {0};
#pragma omp parallel for schedule(static) if (n >= CVTM_WORTH_THREADS)
  for (int b = 0; b < COLOUR_BLOCKS; ++b) first[b + 1] = list_block(z, b, NULL);
  for (int b = 0; b < COLOUR_BLOCKS; ++b) first[b + 1] += first[b];
#pragma omp parallel for schedule(static) if (n >= CVTM_WORTH_THREADS)
  for (int b = 0; b < COLOUR_BLOCKS; ++b) (void)list_block(z, b, z->colours.free + first[b]);
  return first[COLOUR_BLOCKS];
}

/* Gives other colours to vertices that have none, or that of a neighbour with a smaller number. */
static void change_colours(cvtm_sizer *z, int64_t count, uint8_t *is_wrong) {
  const int32_t *list = z->colours.free;
#pragma omp parallel for schedule(static) if (count >= CVTM_WORTH_THREADS)
  for (int64_t k = 0; k < count; ++k) {
    const uint8_t colour = z->vertex[list[k]].colour;
    is_wrong[k] = colour == CVTM_SIZED_COLOURS || colours_around(z, list[k], 0) >> colour & 1;
  }
  for (int64_t k = 0; k < count; ++k) {
    if (!is_wrong[k]) continue;
    const uint64_t around = colours_around(z, list[k], 1);
    int colour = 0;
    while (colour < CVTM_SIZED_COLOURS && around >> colour & 1) ++colour;
    z->vertex[list[k]].colour = (uint8_t)colour; /* or none, with too many neighbours to be moved */
    is_wrong[k] = 0;
  }
}

int cvtm_sizer_colour(cvtm_sizer *z) {
  cvtm_half_edges *m = &z->m;
  cvtm_sized_colours *c = &z->colours;
  const cvtm_growing arrays[] = {
      {&c->list, sizeof *c->list}, {&c->free, sizeof *c->free}, {&c->has_moved, 1}};
  if (!cvtm_grow_all(arrays, 3, &c->capacity, m->vertex_count)) {
    m->out_of_memory = 1;
    return 0;
  }
  memset(c->has_moved, 0, (size_t)m->vertex_count);
  const int64_t n = list_free(z);
  change_colours(z, n, c->has_moved);
  int64_t next[COLOUR_BLOCKS][CVTM_SIZED_COLOURS + 1] = {{0}}, count = 0;
#pragma omp parallel for schedule(static) if (n >= CVTM_WORTH_THREADS)
  for (int b = 0; b < COLOUR_BLOCKS; ++b)
    for (int64_t k = n * b / COLOUR_BLOCKS; k < n * (b + 1) / COLOUR_BLOCKS; ++k)
      ++next[b][z->vertex[c->free[k]].colour];
  for (int k = 0; k < CVTM_SIZED_COLOURS; ++k) {
    c->first[k] = count;
    for (int b = 0; b < COLOUR_BLOCKS; ++b) {
      const int64_t here = next[b][k];
      next[b][k] = count;
      count += here;
    }
  }
  c->first[CVTM_SIZED_COLOURS] = count;
#pragma omp parallel for schedule(static) if (n >= CVTM_WORTH_THREADS)
  for (int b = 0; b < COLOUR_BLOCKS; ++b)
    for (int64_t k = n * b / COLOUR_BLOCKS; k < n * (b + 1) / COLOUR_BLOCKS; ++k) {
      const int colour = z->vertex[c->free[k]].colour;
      if (colour < CVTM_SIZED_COLOURS) c->list[next[b][colour]++] = c->free[k];
    }
  return 1;
}

/* ---- Centroids ---- */

/* Finds the centroid, relative to the vertex, of its Voronoi cell with the density size^-4. The
 * cell consists of triangles, one for each neighbour, between the vertex and two consecutive
 * circumcentres. A circumcentre beyond a part of the boundary moves to the middle of the part. */
static void find_centroid(const cvtm_sizer *z, const cvtm_sized_star *s, double size,
                          double centroid[2]) {
  double cx[CVTM_SIZED_LINKS], cy[CVTM_SIZED_LINKS], mass = 0, x = 0, y = 0;
  for (int k = 0; k < s->count; ++k) {
    const int next = k + 1 < s->count ? k + 1 : 0;
    const double ux = s->x[k], uy = s->y[k], vx = s->x[next], vy = s->y[next];
    const double u = ux * ux + uy * uy, v = vx * vx + vy * vy;
    const double scale = 0.5 / (ux * vy - uy * vx);
    cx[k] = (vy * u - uy * v) * scale;
    cy[k] = (ux * v - vx * u) * scale;
    const int is_beyond = u + v < (ux - vx) * (ux - vx) + (uy - vy) * (uy - vy);
    if (is_beyond && z->m.segment[cvtm_half_after(s->half[k])] >= 0) {
      cx[k] = 0.5 * (ux + vx);
      cy[k] = 0.5 * (uy + vy);
    }
  }
  for (int k = 0; k < s->count; ++k) { /* the triangle for neighbour k, between two circumcentres */
    const int last = k > 0 ? k - 1 : s->count - 1;
    const double ratio = size / (size + (z->vertex[s->vertex[k]].size - size) / 3);
    const double weight = ratio * ratio * ratio * ratio * (cx[last] * cy[k] - cy[last] * cx[k]);
    mass += weight;
    x += weight * (cx[last] + cx[k]);
    y += weight * (cy[last] + cy[k]);
  }
  centroid[0] = mass > 0 ? x / (3 * mass) : 0;
  centroid[1] = mass > 0 ? y / (3 * mass) : 0;
}

static void renew_size(cvtm_sizer *z, int32_t v) {
  cvtm_sized_vertex *vertex = &z->vertex[v];
  const cvtm_grid_point at = z->m.grid[v];
  if (cvtm_sized_distance(at, vertex->at) < stale * vertex->size) return;
  vertex->at = at;
  vertex->size = cvtm_sizer_at(z, z->m.region[z->m.at[v] / 3], at.x, at.y);
}

/* Moves a vertex towards its centroid, as far as all triangles are then positive. A vertex that
 * would move little rests until a neighbour moves far. */
static void approach_centroid(cvtm_sizer *z, int32_t v, const cvtm_sized_star *s, double share) {
  cvtm_half_edges *m = &z->m;
  cvtm_sized_vertex *vertex = &z->vertex[v];
  double way[2];
  find_centroid(z, s, vertex->size, way);
  vertex->is_still = fabs(way[0]) + fabs(way[1]) < still * vertex->size;
  for (double part = share; part > 0.1; part *= 0.5) {
    const cvtm_grid_point to = {(int32_t)(m->grid[v].x + rint(part * way[0])),
                                (int32_t)(m->grid[v].y + rint(part * way[1]))};
    if (!cvtm_sized_is_inside(m, s, to)) continue;
    m->grid[v] = to;
    z->colours.has_moved[v] = 1;
    if (!vertex->is_still) cvtm_sizer_wake(z, s);
    renew_size(z, v);
    return;
  }
}

/* Moves the vertices inside that do not rest towards their centroids. */
static void sweep(cvtm_sizer *z, double share) {
  const cvtm_half_edges *m = &z->m;
  if (!cvtm_sizer_colour(z)) return;
  for (int k = 0; k < CVTM_SIZED_COLOURS; ++k) {
    const int64_t begin = z->colours.first[k], end = z->colours.first[k + 1];
#pragma omp parallel for schedule(dynamic, 256) if (end - begin >= CVTM_WORTH_THREADS / 64)
    for (int64_t i = begin; i < end; ++i) {
      const int32_t v = z->colours.list[i];
      cvtm_sized_star s;
      if (cvtm_sized_find_star(m, v, m->at[v], &s)) approach_centroid(z, v, &s, share);
    }
  }
  cvtm_half_edges_restore_all(&z->m, z->colours.has_moved);
}

/* ---- Added and removed vertices ---- */

static double relative_length(const cvtm_sizer *z, int32_t v, int32_t w) {
  return 2 * cvtm_sized_distance(z->m.grid[v], z->m.grid[w]) /
         (z->vertex[v].size + z->vertex[w].size);
}

/* Removes a vertex inside. */
static cvtm_status remove_vertex(cvtm_sizer *z, int32_t v) {
  cvtm_half_edges *m = &z->m;
  cvtm_sized_star s;
  if (cvtm_sized_find_star(m, v, m->at[v], &s)) cvtm_sizer_wake(z, &s);
  if (cvtm_half_edges_remove(m, v))
    cvtm_half_edges_restore(m);
  else
    cvtm_half_edges_undo(m, 0);
  cvtm_half_edges_commit(m);
  return m->out_of_memory ? cvtm_no_memory(z->error, "the mesh") : CVTM_OK;
}

/* The mean length of a vertex's edges; 0 for a vertex with too few or too short edges, INFINITY for
 * one that stays. */
static double room_of(const cvtm_sizer *z, int64_t v) {
  double mean = 0, least = INFINITY;
  cvtm_sized_star s;
  if (z->m.at[v] < 0 || z->vertex[v].place >= 0 ||
      !cvtm_sized_find_star(&z->m, (int32_t)v, z->m.at[v], &s))
    return INFINITY;
  for (int k = 0; k < s.count; ++k) {
    const double length = relative_length(z, (int32_t)v, s.vertex[k]);
    mean += length / s.count;
    least = fmin(least, length);
  }
  return s.count <= 4 || (least < shortest && mean < crowded_mean) ? 0 : mean;
}

/* Threads find the vertices and edges that a change may be needed at, and set their marks. The
 * changes are made one after another, if they are still needed then. */

static cvtm_status remove_some(cvtm_sizer *z, uint8_t *mark) {
  const int64_t n = z->m.vertex_count;
  cvtm_status status = CVTM_OK;
#pragma omp parallel for schedule(static) if (n >= CVTM_WORTH_THREADS)
  for (int64_t v = z->fixed_count; v < n; ++v) mark[v] = room_of(z, v) < shortest_mean;
  for (int64_t v = z->fixed_count; v < n && status == CVTM_OK; ++v)
    if (mark[v] && room_of(z, v) < shortest_mean) status = remove_vertex(z, (int32_t)v);
  return status;
}

/* Adds a vertex at the midpoint of edge h, unless the midpoint is close to other vertices. */
static cvtm_status divide_edge(cvtm_sizer *z, int64_t h) {
  cvtm_half_edges *m = &z->m;
  const int32_t a = m->corner[h], b = cvtm_end_of(m, h);
  const cvtm_grid_point p = m->grid[a], q = m->grid[b];
  const cvtm_grid_point to = {(int32_t)(((int64_t)p.x + q.x + 1) / 2),
                              (int32_t)(((int64_t)p.y + q.y + 1) / 2)};
  const double least = 0.5 * shortest * (z->vertex[a].size + z->vertex[b].size);
  if (least < 2 || cvtm_sized_distance(m->grid[cvtm_apex_of(m, h)], to) < least ||
      cvtm_sized_distance(m->grid[cvtm_apex_of(m, m->twin[h])], to) < least)
    return CVTM_OK;
  const int32_t v = cvtm_half_edges_insert_on(m, h, to);
  if (v >= 0)
    cvtm_half_edges_restore(m);
  else
    cvtm_half_edges_undo(m, 0);
  cvtm_half_edges_commit(m);
  if (m->out_of_memory) return cvtm_no_memory(z->error, "the mesh");
  if (v < 0) return CVTM_OK;
  return cvtm_sizer_take_vertex(z, v, cvtm_sizer_at(z, m->region[m->at[v] / 3], to.x, to.y));
}

/* The length of an edge; 0 for one that is not to be divided, or its other half-edge is. */
static double length_of(const cvtm_sizer *z, int64_t h) {
  const cvtm_half_edges *m = &z->m;
  return m->corner[h] >= 0 && m->twin[h] >= h && m->segment[h] < 0
             ? relative_length(z, m->corner[h], cvtm_end_of(m, h))
             : 0;
}

static cvtm_status divide_long_edges(cvtm_sizer *z, uint8_t *mark) {
  const int64_t n = 3 * z->m.triangle_count;
  cvtm_status status = CVTM_OK;
#pragma omp parallel for schedule(static) if (n >= CVTM_WORTH_THREADS)
  for (int64_t h = 0; h < n; ++h) mark[h] = length_of(z, h) > longest;
  for (int64_t h = 0; h < n && status == CVTM_OK; ++h)
    if (mark[h] && length_of(z, h) > longest) status = divide_edge(z, h);
  return status;
}

/* Adds vertices at the longest edges, or removes those with the shortest edges, if their number
 * differs by more than a percent from the wanted one. Places are visited in large strides, so that
 * changes in a lattice, where all lengths are equal, are far apart. */
static cvtm_status reach_number(cvtm_sizer *z) {
  enum {
    BINS = 256,
    BINS_PER_SIZE = 100,
    SHARE = 4,
    STRIDE = 1000003
  };                                     /* fit places per change;
                                            a prime */
  const double near = 0.01, most = 0.08; /* relative to the wanted number */
  const double wanted = z->options->number;
  const cvtm_half_edges *m = &z->m;
  const double more = wanted > 0 ? wanted - (double)cvtm_sizer_count(z) : 0;
  const int adds = more > 0;
  const int64_t n = adds ? 3 * m->triangle_count : m->vertex_count,
                first = adds ? 0 : z->fixed_count;
  int64_t changes = (int64_t)fabs(more), bins[BINS] = {0}, fit = 0;
  if (fabs(more) <= near * wanted || fabs(more) > most * wanted || n % STRIDE == 0) return CVTM_OK;
  for (int64_t k = first; k < n; ++k)
    ++bins[(int)fmin(BINS_PER_SIZE * (adds ? length_of(z, k) : room_of(z, k)), BINS - 1)];
  int bin = adds ? BINS : 0;
  while (fit < SHARE * changes && (adds ? bin > 0 : bin < BINS - 1))
    fit += bins[adds ? --bin : bin++];
  const double bound = (double)bin / BINS_PER_SIZE;
  cvtm_status status = CVTM_OK;
  for (int64_t i = 0; i < n && changes > 0 && status == CVTM_OK; ++i) {
    const int64_t k = i * STRIDE % n, before = m->vertex_count;
    if (adds ? length_of(z, k) < fmax(bound, shortest) : k < first || room_of(z, k) >= bound)
      continue;
    status = adds ? divide_edge(z, k) : remove_vertex(z, (int32_t)k);
    changes -= adds ? m->vertex_count - before : m->at[k] < 0;
  }
  return status;
}

static cvtm_status balance(cvtm_sizer *z) {
  const int64_t vertices = z->m.vertex_count, halves = 3 * z->m.triangle_count;
  uint8_t *mark = malloc((size_t)(halves + vertices) + 1); /* divisions add some vertices */
  if (mark == NULL) return cvtm_no_memory(z->error, "the mesh");
  z->m.records_changes = 1;
  cvtm_status status = divide_long_edges(z, mark);
  if (status == CVTM_OK) status = remove_some(z, mark);
  if (status == CVTM_OK) status = reach_number(z);
  z->m.records_changes = 0;
  free(mark);
  return status;
}

/* ---- All sweeps ---- */

cvtm_status cvtm_sizer_relax(cvtm_sizer *z) {
  const cvtm_sized_options *o = z->options;
  cvtm_status status = CVTM_OK;
  z->m.records_changes = 0;
  for (int k = 0; k < o->sweeps && status == CVTM_OK; ++k) {
    if (o->stop != NULL && o->stop(o->stop_context)) {
      z->figures->stopped = 1;
      break;
    }
    sweep(z, k + 1 == o->sweeps ? 1 : over_relaxation);
    z->figures->sweeps = k + 1;
    if ((k + 1) % BALANCE_EVERY == 0 && k + BALANCE_EVERY < o->sweeps) status = balance(z);
  }
  if (status == CVTM_OK && z->figures->sweeps == o->sweeps && o->sweeps > 0)
    status = cvtm_sizer_raise(z);
  return z->m.out_of_memory ? cvtm_no_memory(z->error, "the mesh") : status;
}

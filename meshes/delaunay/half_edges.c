#include "meshes/delaunay/half_edges.h"

#include "base/host.h"

#include <stdlib.h>
#include <string.h>

/* ---- Recorded changes ---- */

/* cvtm_grow, which also sets m->out_of_memory. */
static int grow_or_note(cvtm_half_edges *m, void *array, size_t size, int64_t *capacity,
                        int64_t needed) {
  const int is_good = cvtm_grow(array, size, capacity, needed);
  m->out_of_memory |= !is_good;
  return is_good;
}

static void record(cvtm_half_edges *m, cvtm_change_kind kind, int64_t index, int64_t old) {
  if (m->records_changes &&
      grow_or_note(m, &m->changes, sizeof *m->changes, &m->change_capacity, m->change_count + 1))
    m->changes[m->change_count++] = (cvtm_change){index, old, kind};
}

static void set_corner(cvtm_half_edges *m, int64_t h, int32_t v) {
  record(m, CVTM_CHANGED_CORNER, h, m->corner[h]);
  m->corner[h] = v;
}

static void set_at(cvtm_half_edges *m, int32_t v, int64_t h) {
  if (m->at[v] == h) return;
  record(m, CVTM_CHANGED_AT, v, m->at[v]);
  m->at[v] = h;
}

static void set_twin(cvtm_half_edges *m, int64_t h, int64_t twin) {
  record(m, CVTM_CHANGED_TWIN, h, m->twin[h]);
  m->twin[h] = twin;
}

static void set_segment(cvtm_half_edges *m, int64_t h, int32_t segment) {
  if (m->segment[h] == segment) return;
  record(m, CVTM_CHANGED_SEGMENT, h, m->segment[h]);
  m->segment[h] = segment;
}

static int64_t pack_point(cvtm_grid_point p) { return ((int64_t)p.x << 32) | (uint32_t)p.y; }

static cvtm_grid_point unpack_point(int64_t packed) {
  return (cvtm_grid_point){(int32_t)(packed >> 32), (int32_t)(packed & 0xffffffff)};
}

static void return_triangle(cvtm_half_edges *m, int64_t t) {
  if (grow_or_note(m, &m->unused, sizeof *m->unused, &m->unused_capacity, m->unused_count + 1))
    m->unused[m->unused_count++] = t;
}

static void undo_change(cvtm_half_edges *m, const cvtm_change *c) {
  switch (c->kind) {
    case CVTM_CHANGED_CORNER:
      m->corner[c->index] = (int32_t)c->old;
      break;
    case CVTM_CHANGED_TWIN:
      m->twin[c->index] = c->old;
      break;
    case CVTM_CHANGED_SEGMENT:
      m->segment[c->index] = (int32_t)c->old;
      break;
    case CVTM_CHANGED_REGION:
      m->region[c->index] = (int32_t)c->old;
      break;
    case CVTM_CHANGED_AT:
      m->at[c->index] = c->old;
      break;
    case CVTM_CHANGED_PLACE:
      m->grid[c->index] = unpack_point(c->old);
      break;
    case CVTM_TAKEN_TRIANGLE:
      return_triangle(m, c->index);
      break;
    case CVTM_ADDED_VERTEX:
      --m->vertex_count;
      break;
    case CVTM_DROPPED_TRIANGLE:
      break;
  }
}

void cvtm_half_edges_undo(cvtm_half_edges *m, int64_t mark) {
  while (m->change_count > mark) undo_change(m, &m->changes[--m->change_count]);
  m->depth = 0;
}

void cvtm_half_edges_commit(cvtm_half_edges *m) {
  for (int64_t k = 0; k < m->change_count; ++k) {
    if (m->changes[k].kind == CVTM_DROPPED_TRIANGLE) return_triangle(m, m->changes[k].index);
  }
  m->change_count = 0;
}

/* ---- Triangles ---- */

void cvtm_half_edges_push(cvtm_half_edges *m, int64_t h) {
  if (grow_or_note(m, &m->stack, sizeof *m->stack, &m->stack_capacity, m->depth + 1))
    m->stack[m->depth++] = h;
}

/* Returns -1 if memory runs out. */
static int64_t take_triangle(cvtm_half_edges *m, int32_t region) {
  int64_t t = m->triangle_count;
  if (m->unused_count > 0) {
    t = m->unused[--m->unused_count];
  } else {
    const cvtm_growing arrays[] = {{&m->corner, 3 * sizeof *m->corner},
                                   {&m->twin, 3 * sizeof *m->twin},
                                   {&m->segment, 3 * sizeof *m->segment},
                                   {&m->region, sizeof *m->region}};
    if (!cvtm_grow_all(arrays, 4, &m->triangle_capacity, t + 1)) {
      m->out_of_memory = 1;
      return -1;
    }
    ++m->triangle_count;
    for (int64_t h = 3 * t; h < 3 * t + 3; ++h) m->corner[h] = m->segment[h] = -1;
    for (int64_t h = 3 * t; h < 3 * t + 3; ++h) m->twin[h] = -1;
    m->region[t] = 0;
  }
  record(m, CVTM_TAKEN_TRIANGLE, t, 0);
  record(m, CVTM_CHANGED_REGION, t, m->region[t]);
  m->region[t] = region;
  return t;
}

static void drop_triangle(cvtm_half_edges *m, int64_t t) {
  for (int64_t h = 3 * t; h < 3 * t + 3; ++h) {
    set_corner(m, h, -1);
    set_twin(m, h, -1);
    set_segment(m, h, -1);
  }
  record(m, CVTM_DROPPED_TRIANGLE, t, 0);
}

/* Sets origin, twin and segment of a half-edge, and pushes it on the stack of flips. */
static void put_half(cvtm_half_edges *m, int64_t h, int32_t origin, int64_t twin, int32_t segment) {
  set_corner(m, h, origin);
  set_twin(m, h, twin);
  if (twin >= 0) set_twin(m, twin, h);
  set_segment(m, h, segment);
  set_at(m, origin, h);
  cvtm_half_edges_push(m, h);
}

void cvtm_half_edges_flip(cvtm_half_edges *m, int64_t h) {
  const int64_t g = m->twin[h];
  const int64_t h1 = cvtm_half_after(h), h2 = cvtm_half_before(h), g1 = cvtm_half_after(g),
                g2 = cvtm_half_before(g);
  const int32_t a = m->corner[h], b = m->corner[g], c = m->corner[h2], d = m->corner[g2];
  const int64_t bc = m->twin[h1], ca = m->twin[h2], ad = m->twin[g1], db = m->twin[g2];
  const int32_t on_bc = m->segment[h1], on_ca = m->segment[h2];
  const int32_t on_ad = m->segment[g1], on_db = m->segment[g2];
  /* The new triangles are d c a and c d b. */
  put_half(m, h1, c, ca, on_ca);
  put_half(m, h2, a, ad, on_ad);
  put_half(m, g1, d, db, on_db);
  put_half(m, g2, b, bc, on_bc);
  set_corner(m, h, d);
  set_corner(m, g, c);
  set_at(m, d, h);
  set_at(m, c, g);
}

/* Nonzero if the edge of h and its twin has to be flipped. */
static int is_bad_edge(const cvtm_half_edges *m, int64_t h) {
  const int64_t g = m->corner[h] < 0 ? -1 : m->twin[h];
  return g >= 0 && m->segment[h] < 0 &&
         cvtm_in_circle(m->grid[m->corner[h]], m->grid[m->corner[g]], m->grid[cvtm_apex_of(m, h)],
                        m->grid[cvtm_apex_of(m, g)]);
}

void cvtm_half_edges_restore(cvtm_half_edges *m) {
  while (m->depth > 0 && !m->out_of_memory) {
    const int64_t h = m->stack[--m->depth];
    if (is_bad_edge(m, h) && !cvtm_flip_is_fenced_off(m, h)) cvtm_half_edges_flip(m, h);
  }
}

static int has_moved_corner(const cvtm_half_edges *m, const uint8_t *has_moved, int64_t t) {
  const int32_t *v = m->corner + 3 * t;
  return has_moved == NULL || has_moved[v[0]] | has_moved[v[1]] | has_moved[v[2]];
}

/* Lists bad edges; one between two triangles with moved corners is listed with the first. */
static int list_bad(const cvtm_half_edges *m, const uint8_t *has_moved, int64_t t, int64_t *list) {
  int count = 0;
  if (m->corner[3 * t] < 0 || !has_moved_corner(m, has_moved, t)) return 0;
  for (int64_t h = 3 * t; h < 3 * t + 3; ++h) {
    const int64_t g = m->twin[h];
    if ((h < g || (g >= 0 && !has_moved_corner(m, has_moved, g / 3))) && is_bad_edge(m, h))
      list[count++] = h;
  }
  return count;
}

void cvtm_half_edges_restore_all(cvtm_half_edges *m, const uint8_t *has_moved) {
  enum { BLOCKS = 256 };
  const int64_t n = m->triangle_count;
  int64_t count[BLOCKS] = {0};
  int64_t *list = malloc(3 * (size_t)n * sizeof *list + 1);
  m->out_of_memory |= list == NULL;
  if (list == NULL) return;
#pragma omp parallel for schedule(static) if (n >= CVTM_WORTH_THREADS)
  for (int b = 0; b < BLOCKS; ++b)
    for (int64_t t = n * b / BLOCKS; t < n * (b + 1) / BLOCKS; ++t)
      count[b] += list_bad(m, has_moved, t, list + 3 * (n * b / BLOCKS) + count[b]);
  for (int b = 0; b < BLOCKS; ++b)
    for (int64_t k = 0; k < count[b]; ++k) cvtm_half_edges_push(m, list[3 * (n * b / BLOCKS) + k]);
  free(list);
  cvtm_half_edges_restore(m);
}

/* ---- Insertion ---- */

static int32_t add_vertex(cvtm_half_edges *m, cvtm_grid_point place) {
  const cvtm_growing arrays[] = {{&m->grid, sizeof *m->grid}, {&m->at, sizeof *m->at}};
  if (m->vertex_count == INT32_MAX ||
      !cvtm_grow_all(arrays, 2, &m->vertex_capacity, m->vertex_count + 1)) {
    m->out_of_memory = 1;
    return -1;
  }
  record(m, CVTM_ADDED_VERTEX, 0, 0);
  m->grid[m->vertex_count] = place;
  m->at[m->vertex_count] = -1;
  return (int32_t)m->vertex_count++;
}

int32_t cvtm_half_edges_insert_inside(cvtm_half_edges *m, int64_t t, cvtm_grid_point place) {
  int64_t outer[3], made[3] = {t, -1, -1};
  int32_t corner[3], segment[3];
  for (int k = 0; k < 3; ++k) {
    corner[k] = m->corner[3 * t + k];
    outer[k] = m->twin[3 * t + k];
    segment[k] = m->segment[3 * t + k];
  }
  for (int k = 0; k < 3; ++k) {
    if (cvtm_orient(m->grid[corner[k]], m->grid[corner[(k + 1) % 3]], place) <= 0) return -1;
  }
  const int32_t v = add_vertex(m, place);
  made[1] = take_triangle(m, m->region[t]);
  made[2] = take_triangle(m, m->region[t]);
  if (v < 0 || m->out_of_memory) return -1;
  /* Triangle k has corner k, the next corner and v. */
  for (int k = 0; k < 3; ++k) put_half(m, 3 * made[k], corner[k], outer[k], segment[k]);
  for (int k = 0; k < 3; ++k) {
    const int64_t next = made[(k + 1) % 3];
    put_half(m, 3 * next + 2, v, -1, -1);
    put_half(m, 3 * made[k] + 1, corner[(k + 1) % 3], 3 * next + 2, -1);
  }
  return v;
}

/* Splits the triangle of h = ab, with apex c, at v: triangle a v c keeps h, and v b c is new.
 * Returns the half-edge v b. */
static int64_t cut_triangle(cvtm_half_edges *m, int64_t h, int32_t v) {
  const int64_t h1 = cvtm_half_after(h);
  const int32_t b = m->corner[h1], c = cvtm_apex_of(m, h), segment = m->segment[h];
  const int64_t bc = m->twin[h1];
  const int32_t on_bc = m->segment[h1];
  const int64_t t = take_triangle(m, m->region[h / 3]);
  if (t < 0) return -1;
  put_half(m, 3 * t, v, -1, segment);
  put_half(m, 3 * t + 1, b, bc, on_bc);
  put_half(m, h1, v, -1, -1);
  put_half(m, 3 * t + 2, c, h1, -1);
  cvtm_half_edges_push(m, cvtm_half_before(h));
  set_corner(m, h, m->corner[h]); /* records that the triangle changed */
  return 3 * t;
}

int32_t cvtm_half_edges_insert_on(cvtm_half_edges *m, int64_t h, cvtm_grid_point place) {
  const int64_t g = m->twin[h];
  for (int side = 0; side < 2; ++side) {
    const int64_t half = side == 0 ? h : g;
    if (half < 0) continue;
    const cvtm_grid_point apex = m->grid[cvtm_apex_of(m, half)];
    if (cvtm_orient(m->grid[m->corner[half]], place, apex) <= 0) return -1;
    if (cvtm_orient(place, m->grid[cvtm_end_of(m, half)], apex) <= 0) return -1;
  }
  const int32_t v = add_vertex(m, place);
  if (v < 0) return -1;
  const int64_t vb = cut_triangle(m, h, v);
  const int64_t va = g >= 0 ? cut_triangle(m, g, v) : -1;
  if (m->out_of_memory) return -1;
  if (g >= 0) {
    /* Now h is a v and g is b v. */
    set_twin(m, h, va);
    set_twin(m, va, h);
    set_twin(m, g, vb);
    set_twin(m, vb, g);
  } else {
    set_twin(m, h, -1);
  }
  return v;
}

static int take_into_cavity(cvtm_half_edges *m, cvtm_cavity *c, int64_t t) {
  if (!grow_or_note(m, &c->triangle, sizeof *c->triangle, &c->triangle_capacity,
                    c->triangle_count + 1))
    return 0;
  c->triangle[c->triangle_count++] = t;
  return 1;
}

/* Takes an edge around the cavity; returns 0 if the point is not strictly on its left. */
static int take_cavity_edge(cvtm_half_edges *m, cvtm_cavity *c, int64_t h, cvtm_grid_point place) {
  if (cvtm_orient(m->grid[m->corner[h]], m->grid[cvtm_end_of(m, h)], place) <= 0) return 0;
  if (!grow_or_note(m, &c->edge, sizeof *c->edge, &c->edge_capacity, c->edge_count + 1)) return 0;
  c->edge[c->edge_count++] = (cvtm_cavity_edge){h, m->twin[h], m->corner[h], m->segment[h]};
  return 1;
}

int cvtm_half_edges_find_cavity(cvtm_half_edges *m, int64_t t, cvtm_grid_point place,
                                cvtm_cavity *cavity) {
  cavity->triangle_count = cavity->edge_count = m->depth = 0;
  int is_good = take_into_cavity(m, cavity, t);
  for (int k = 2; k >= 0; --k) cvtm_half_edges_push(m, 3 * t + k);
  while (m->depth > 0 && is_good && !m->out_of_memory) {
    const int64_t h = m->stack[--m->depth], g = m->twin[h];
    if (g < 0 || m->segment[h] >= 0 ||
        !cvtm_in_circle(m->grid[m->corner[g]], m->grid[m->corner[h]], m->grid[cvtm_apex_of(m, g)],
                        place)) {
      is_good = take_cavity_edge(m, cavity, h, place);
      continue;
    }
    is_good = take_into_cavity(m, cavity, g / 3);
    cvtm_half_edges_push(m, cvtm_half_before(g));
    cvtm_half_edges_push(m, cvtm_half_after(g));
  }
  m->depth = 0;
  return is_good && !m->out_of_memory;
}

/* The new half-edge of cavity edge k. The star of n edges has two triangles more than the cavity.
 */
static int64_t half_in_star(const cvtm_cavity *c, const int64_t made[2], int64_t k) {
  return 3 * (k < c->triangle_count ? c->triangle[k] : made[k - c->triangle_count]) + 1;
}

/* The new twin of cavity edge k. A segment that ends in the cavity has both sides around it. */
static int64_t twin_in_star(const cvtm_cavity *c, const int64_t made[2], int64_t k) {
  const cvtm_cavity_edge *e = &c->edge[k];
  for (int64_t i = 0; e->segment >= 0 && e->twin >= 0 && i < c->edge_count; ++i)
    if (c->edge[i].half == e->twin) return half_in_star(c, made, i);
  return e->twin;
}

int32_t cvtm_half_edges_fill_cavity(cvtm_half_edges *m, const cvtm_cavity *cavity,
                                    cvtm_grid_point place) {
  const int recorded = m->records_changes;
  const int32_t region = m->region[cavity->triangle[0]];
  const int64_t n = cavity->edge_count;
  m->records_changes = 0;
  const int32_t v = add_vertex(m, place);
  int64_t made[2];
  for (int k = 0; k < 2; ++k) made[k] = take_triangle(m, region);
  m->records_changes = recorded;
  if (m->out_of_memory) return -1;
  for (int64_t k = 0; k < n; ++k) {
    const cvtm_cavity_edge *e = &cavity->edge[k];
    const int64_t next = k + 1 < n ? k + 1 : 0, last = k > 0 ? k - 1 : n - 1;
    const int64_t h = half_in_star(cavity, made, k), twin = twin_in_star(cavity, made, k);
    m->corner[h - 1] = v;
    m->corner[h] = e->corner;
    m->corner[h + 1] = cavity->edge[next].corner;
    m->twin[h - 1] = half_in_star(cavity, made, last) + 1;
    m->twin[h] = twin;
    m->twin[h + 1] = half_in_star(cavity, made, next) - 1;
    m->segment[h - 1] = m->segment[h + 1] = -1;
    m->segment[h] = e->segment;
    if (twin >= 0) m->twin[twin] = h;
    m->at[e->corner] = h;
  }
  m->at[v] = half_in_star(cavity, made, 0) - 1;
  return v;
}

/* ---- Moves and removal ---- */

int cvtm_half_edges_move(cvtm_half_edges *m, int32_t v, cvtm_grid_point place) {
  const int64_t first = cvtm_first_of_fan(m, m->at[v]);
  for (int64_t h = first; h >= 0; h = cvtm_next_in_fan(m, h, first))
    if (cvtm_orient(place, m->grid[cvtm_end_of(m, h)], m->grid[cvtm_apex_of(m, h)]) <= 0) return 0;
  record(m, CVTM_CHANGED_PLACE, v, pack_point(m->grid[v]));
  m->grid[v] = place;
  for (int64_t h = first; h >= 0; h = cvtm_next_in_fan(m, h, first)) {
    set_corner(m, h, v); /* records that the triangle changed */
    cvtm_half_edges_push(m, h);
    cvtm_half_edges_push(m, cvtm_half_after(h)); /* the third side is h of the next triangle */
  }
  return 1;
}

/* Counts the triangles around a vertex from half-edge h on, up to `end` (which leaves the same
 * vertex), a segment or the border. */
static int count_fan(const cvtm_half_edges *m, int64_t h, int64_t end) {
  for (int count = 1;; ++count) {
    const int64_t arriving = cvtm_half_before(h);
    h = m->twin[arriving];
    if (h < 0 || h == end || m->segment[arriving] >= 0) return count;
  }
}

/* h leaves the vertex v. Flips one edge at v between h and the end of the fan; returns 0 if none
 * can be flipped. Triangles at v may become flat, because v is removed later. */
static int flip_spoke(cvtm_half_edges *m, int64_t h, int count, int closed) {
  const int32_t v = m->corner[h];
  for (int k = 0; k < count; ++k) {
    /* the edge v w between the triangles (v, y, w) and (v, w, x) */
    const int64_t spoke = h;
    h = cvtm_turn_left(m, h);
    if (k == 0 && !closed) continue;
    const int32_t w = cvtm_end_of(m, spoke), x = cvtm_apex_of(m, spoke),
                  y = cvtm_apex_of(m, m->twin[spoke]);
    if (cvtm_orient_of(m, y, w, x) <= 0 || cvtm_orient_of(m, y, x, v) < 0) continue;
    cvtm_half_edges_flip(m, spoke);
    return 1;
  }
  return 0;
}

static int remove_inside(cvtm_half_edges *m, int32_t v) {
  int count;
  while ((count = count_fan(m, m->at[v], m->at[v])) > 3) {
    if (!flip_spoke(m, m->at[v], count, 1)) return 0;
  }
  int64_t spoke[3] = {m->at[v], -1, -1}, outer[3];
  int32_t corner[3], segment[3];
  for (int k = 1; k < 3; ++k) spoke[k] = cvtm_turn_left(m, spoke[k - 1]);
  for (int k = 0; k < 3; ++k) {
    const int64_t link = cvtm_half_after(spoke[k]);
    corner[k] = m->corner[link];
    outer[k] = m->twin[link];
    segment[k] = m->segment[link];
  }
  if (cvtm_orient_of(m, corner[0], corner[1], corner[2]) <= 0) return 0;
  const int64_t t = spoke[0] / 3;
  drop_triangle(m, spoke[1] / 3);
  drop_triangle(m, spoke[2] / 3);
  for (int k = 0; k < 3; ++k) put_half(m, 3 * t + k, corner[k], outer[k], segment[k]);
  set_at(m, v, -1);
  return 1;
}

/* v lies between the parts v p and q v of a segment. Merges the triangles (v, p, c) and (v, c, q)
 * on one side of the segment into (p, c, q). Returns the half-edge q p; -1: impossible. */
static int64_t close_side(cvtm_half_edges *m, int64_t first) {
  const int32_t v = m->corner[first];
  int count;
  set_at(m, v, first);
  while ((count = count_fan(m, first, -1)) > 2) {
    if (!flip_spoke(m, first, count, 0)) return -1;
    for (first = m->at[v]; m->segment[first] < 0;) first = cvtm_turn_right(m, first);
  }
  if (count < 2) return -1;
  const int64_t second = cvtm_turn_left(m, first);
  const int64_t pc = cvtm_half_after(first), cq = cvtm_half_after(second);
  const int32_t p = m->corner[pc], c = m->corner[cq], q = cvtm_apex_of(m, second);
  if (cvtm_orient_of(m, p, c, q) <= 0) return -1;
  const int64_t t = first / 3, outer[2] = {m->twin[pc], m->twin[cq]};
  const int32_t on[2] = {m->segment[pc], m->segment[cq]}, segment = m->segment[first];
  drop_triangle(m, second / 3);
  put_half(m, 3 * t, p, outer[0], on[0]);
  put_half(m, 3 * t + 1, c, outer[1], on[1]);
  put_half(m, 3 * t + 2, q, -1, segment);
  return 3 * t + 2;
}

/* Removes a vertex v between two parts of a segment. */
static int remove_on_segment(cvtm_half_edges *m, int32_t v) {
  int64_t side[2] = {cvtm_first_of_fan(m, m->at[v]), -1}, joined[2] = {-1, -1};
  while (m->segment[side[0]] < 0) side[0] = cvtm_turn_left(m, side[0]);
  int64_t h = side[0];
  do h = cvtm_turn_left(m, h);
  while (h >= 0 && m->segment[h] < 0);
  side[1] = h;
  if (side[1] >= 0 && m->segment[side[1]] != m->segment[side[0]]) return 0;
  for (int k = 0; k < 2 && side[1] >= 0; ++k) { /* open the segment: both sides become borders */
    set_twin(m, m->twin[side[k]], -1);
    set_twin(m, side[k], -1);
  }
  for (int k = 0; k < 2; ++k) {
    if (side[k] >= 0 && (joined[k] = close_side(m, side[k])) < 0) return 0;
  }
  if (side[1] >= 0) {
    set_twin(m, joined[0], joined[1]);
    set_twin(m, joined[1], joined[0]);
  }
  set_at(m, v, -1);
  return 1;
}

int cvtm_half_edges_remove(cvtm_half_edges *m, int32_t v) {
  const int64_t first = cvtm_first_of_fan(m, m->at[v]);
  int on_segment = m->twin[first] < 0;
  for (int64_t h = first; h >= 0 && !on_segment; h = cvtm_next_in_fan(m, h, first))
    on_segment = m->segment[h] >= 0;
  return on_segment ? remove_on_segment(m, v) : remove_inside(m, v);
}

/* ---- All triangles ---- */

int64_t cvtm_half_edges_find(const cvtm_half_edges *m, int32_t from, int32_t to) {
  if (m->at[from] < 0) return -1;
  const int64_t first = cvtm_first_of_fan(m, m->at[from]);
  for (int64_t h = first; h >= 0; h = cvtm_next_in_fan(m, h, first)) {
    if (cvtm_end_of(m, h) == to) return h;
    if (cvtm_apex_of(m, h) == to) return cvtm_half_before(h);
  }
  return -1;
}

void cvtm_half_edges_mark(cvtm_half_edges *m, int64_t h, int32_t segment) {
  m->segment[h] = segment;
  if (m->twin[h] >= 0) m->segment[m->twin[h]] = segment;
}

/* Moves triangle `from` to the number `to`, which is not larger. number: the new number of each
 * triangle; -1: the triangle is removed. */
static void move_triangle(cvtm_half_edges *m, int64_t from, int64_t to, const int32_t *number) {
  m->region[to] = m->region[from];
  for (int k = 0; k < 3; ++k) {
    const int64_t h = 3 * to + k, old = 3 * from + k, g = m->twin[old];
    m->corner[h] = m->corner[old];
    m->segment[h] = m->segment[old];
    m->twin[h] = g < 0 || number[g / 3] < 0 ? -1 : 3 * (int64_t)number[g / 3] + g % 3;
    m->at[m->corner[h]] = h;
  }
}

cvtm_status cvtm_half_edges_drop_outside(cvtm_half_edges *m, cvtm_error *error) {
  const int64_t before = m->triangle_count;
  int32_t *number = malloc(((size_t)before + 1) * sizeof *number);
  if (number == NULL) return cvtm_no_memory(error, "the triangulation");
  m->triangle_count = 0;
  for (int64_t t = 0; t < before; ++t)
    number[t] = m->region[t] > 0 ? (int32_t)m->triangle_count++ : -1;
  for (int64_t v = 0; v < m->vertex_count; ++v) m->at[v] = -1;
  for (int64_t t = 0; t < before; ++t)
    if (number[t] >= 0) move_triangle(m, t, number[t], number);
  free(number);
  return CVTM_OK;
}

void cvtm_half_edges_free(cvtm_half_edges *m) {
  free(m->grid);
  free(m->at);
  free(m->corner);
  free(m->twin);
  free(m->segment);
  free(m->region);
  free(m->unused);
  free(m->changes);
  free(m->stack);
  *m = (cvtm_half_edges){0};
}

cvtm_status cvtm_half_edges_create(const cvtm_grid_point *grid, int64_t count,
                                   const int32_t *corners, const int32_t *region, int64_t triangles,
                                   cvtm_half_edges *m, cvtm_error *error) {
  const size_t n = (size_t)count, t = (size_t)triangles;
  cvtm_half_edges made = {.vertex_count = count,
                          .vertex_capacity = count,
                          .triangle_count = triangles,
                          .triangle_capacity = triangles,
                          .records_changes = region != NULL,
                          .grid = malloc(n * sizeof *made.grid),
                          .at = malloc(n * sizeof *made.at),
                          .corner = malloc(3 * t * sizeof *made.corner),
                          .twin = malloc(3 * t * sizeof *made.twin),
                          .segment = malloc(3 * t * sizeof *made.segment),
                          .region = malloc(t * sizeof *made.region)};
  cvtm_status status = CVTM_OK;
  if (!made.grid || !made.at || !made.corner || !made.twin || !made.segment || !made.region)
    status =
        cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for %lld triangles", (long long)triangles);
  if (status == CVTM_OK)
    status = cvtm_find_twins(corners, triangles, count, made.twin, made.at, error);
  if (status != CVTM_OK) {
    cvtm_half_edges_free(&made);
    return status;
  }
  memcpy(made.grid, grid, n * sizeof *grid);
  memcpy(made.corner, corners, 3 * t * sizeof *corners);
  for (size_t k = 0; k < t; ++k) made.region[k] = region != NULL ? region[k] : -1;
  for (size_t h = 0; h < 3 * t; ++h) made.segment[h] = -1;
  *m = made;
  return CVTM_OK;
}

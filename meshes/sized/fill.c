#include "base/host.h"
#include "base/portable.h"
#include "meshes/sized/sized_state.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>

/* least_distance: of a new vertex from other vertices; least_height: from the boundary. Both are
 * relative to the wanted length. */
static const double least_distance = 0.75, least_height = 0.5;
/* If a neighbour of a vertex is closer than this to the point of a new vertex, relative to the
 * vertex's size, there is no room, whatever the size there. This saves the search for that size. */
static const double taken = 0.45;
static const double widest_hole =
    0.8; /* radius of the largest empty circle, relative to the size */

/* A vertex around which the lattice grows. direction: the angle of a lattice edge there; the others
 * follow at multiples of 60 degrees. */
typedef struct seed {
  int32_t v;
  float direction;
} seed;

/* A vertex that the lattice may get beside vertex v; v is -1 if there is no room. */
typedef struct proposal {
  int32_t v, region;
  float direction;           /* as for a seed */
  double way[2];             /* the way to `about`, which is at the size of v */
  cvtm_grid_point about, to; /* `to` is at the wanted length */
  double size;               /* at `to` */
  int is_measured;           /* nonzero: `to` and `size` are known */
} proposal;

typedef struct filler {
  cvtm_sizer *z;
  seed *queue;
  int64_t head, count, capacity;
  proposal *proposals; /* six per seed of a batch */
  int64_t proposal_capacity;
  cvtm_cavity cavity;
} filler;

static cvtm_status push_seed(filler *f, int32_t v, double direction) {
  if (!cvtm_grow(&f->queue, sizeof *f->queue, &f->capacity, f->count + 1))
    return cvtm_no_memory(f->z->error, "the mesh");
  f->queue[f->count++] = (seed){v, (float)direction};
  return CVTM_OK;
}

cvtm_status cvtm_sizer_take_vertex(cvtm_sizer *z, int32_t v, double size) {
  if (!cvtm_grow(&z->vertex, sizeof *z->vertex, &z->vertex_capacity, (int64_t)v + 1))
    return cvtm_no_memory(z->error, "the mesh");
  z->vertex[v] = (cvtm_sized_vertex){
      .size = size, .at = z->m.grid[v], .place = -1, .colour = CVTM_SIZED_COLOURS, .degree = 6};
  return CVTM_OK;
}

/* ---- The point of a new vertex ---- */

/* The half-edge leaving p whose triangle is entered by the line from p to `to`; -1: none. */
static int64_t find_wedge(const cvtm_half_edges *m, int32_t p, cvtm_grid_point to) {
  if (m->at[p] < 0) return -1;
  const cvtm_grid_point at = m->grid[p];
  const int64_t first = cvtm_first_of_fan(m, m->at[p]);
  for (int64_t h = first; h >= 0;) {
    if (cvtm_orient(at, m->grid[cvtm_end_of(m, h)], to) >= 0 &&
        cvtm_orient(at, to, m->grid[cvtm_apex_of(m, h)]) > 0)
      return h;
    h = cvtm_turn_left(m, h);
    if (h == first) break;
  }
  return -1;
}

/* Walks from p along the line to `to`, first through the triangle of h, which leaves p. Returns the
 * triangle that contains `to`; -1 if a part of the boundary blocks the line. */
static int64_t walk(const cvtm_half_edges *m, int64_t h, cvtm_grid_point to) {
  const cvtm_grid_point p = m->grid[m->corner[h]];
  for (h = cvtm_half_after(h);;) {
    const cvtm_grid_point a = m->grid[m->corner[h]], b = m->grid[cvtm_end_of(m, h)];
    if (cvtm_orient(a, b, to) >= 0) return h / 3;
    const int64_t g = m->twin[h];
    if (g < 0 || m->segment[h] >= 0) return -1;
    const cvtm_grid_point apex = m->grid[cvtm_apex_of(m, g)];
    h = cvtm_orient(p, to, apex) >= 0 ? cvtm_half_after(g) : cvtm_half_before(g);
  }
}

int64_t cvtm_sizer_see(const cvtm_sizer *z, int32_t p, cvtm_grid_point to) {
  const int64_t h = find_wedge(&z->m, p, to);
  return h >= 0 ? walk(&z->m, h, to) : -1;
}

/* Nonzero if a corner of triangle t, or of a triangle beside t, is closer to `to` than allowed. */
static int is_crowded(const cvtm_half_edges *m, int64_t t, cvtm_grid_point to, double size) {
  const double least = least_distance * size;
  for (int64_t h = 3 * t; h < 3 * t + 3; ++h) {
    if (cvtm_sized_distance(m->grid[m->corner[h]], to) < least) return 1;
    if (m->segment[h] >= 0 || m->twin[h] < 0) continue;
    if (cvtm_sized_distance(m->grid[cvtm_apex_of(m, m->twin[h])], to) < least) return 1;
  }
  return 0;
}

/* Nonzero if a neighbour of a new vertex, or a part of the boundary around it, is closer than
 * allowed. */
static int is_close(const cvtm_half_edges *m, const cvtm_cavity *c, cvtm_grid_point at,
                    double size) {
  for (int64_t k = 0; k < c->edge_count; ++k) {
    const cvtm_grid_point a = m->grid[c->edge[k].corner];
    if (cvtm_sized_distance(a, at) < least_distance * size) return 1;
    if (c->edge[k].segment < 0) continue;
    const cvtm_grid_point b = m->grid[c->edge[k + 1 < c->edge_count ? k + 1 : 0].corner];
    const double height = (double)cvtm_orient(a, b, at) / cvtm_sized_distance(a, b);
    if (height < least_height * size) return 1;
  }
  return 0;
}

/* Inserts a vertex in triangle t, unless that is too close to others. *made: the vertex, or -1. */
static cvtm_status insert(filler *f, int64_t t, cvtm_grid_point to, double size, int32_t *made) {
  cvtm_sizer *z = f->z;
  cvtm_half_edges *m = &z->m;
  *made = -1;
  if (!(size > 0)) return cvtm_sizer_refuse(z, size, to.x, to.y);
  if (is_crowded(m, t, to, size)) return CVTM_OK;
  const int is_free = cvtm_half_edges_find_cavity(m, t, to, &f->cavity);
  if (is_free && !is_close(m, &f->cavity, to, size))
    *made = cvtm_half_edges_fill_cavity(m, &f->cavity, to);
  if (m->out_of_memory) return cvtm_no_memory(z->error, "the mesh");
  return *made < 0 ? CVTM_OK : cvtm_sizer_take_vertex(z, *made, size);
}

static cvtm_grid_point place_near(double x, double y) {
  static const double most = 1 << CVTM_GRID_BITS;
  return (cvtm_grid_point){(int32_t)rint(fmin(fmax(x, 0), most)),
                           (int32_t)rint(fmin(fmax(y, 0), most))};
}

/* ---- The lattice ---- */

/* Edges of the lattice are geodesics if lengths are measured in multiples of the size. The
 * direction of an edge turns by turn[0] per step along x and by turn[1] per step along y. If the
 * logarithm of the sizes is harmonic, such a lattice closes without a defect. */
static void find_turn(const cvtm_sizer *z, int32_t v, double turn[2]) {
  const cvtm_grid_point p = z->m.grid[v];
  const int32_t region = z->m.region[z->m.at[v] / 3];
  const double given = cvtm_sizer_given(z, region, p.x, p.y);
  double slope[2] = {0, 0};
  int64_t k;
  const double size = cvtm_size_tree_find(&z->tree, z->options->growth, p.x, p.y, given, &k);
  if (k >= 0) {
    const double dx = p.x - z->tree.sources[k].x, dy = p.y - z->tree.sources[k].y;
    const double distance = hypot(dx, dy);
    slope[0] = distance > 0 ? z->options->growth * dx / distance : 0;
    slope[1] = distance > 0 ? z->options->growth * dy / distance : 0;
  } else if (z->options->size != NULL) {
    const double step = 0.1 * size;
    slope[0] = (cvtm_sizer_given(z, region, p.x + step, p.y) - given) / step;
    slope[1] = (cvtm_sizer_given(z, region, p.x, p.y + step) - given) / step;
  }

  turn[0] = -slope[1] / size;
  turn[1] = slope[0] / size;
}

/* The half-edge of v whose triangle contains the begin of the line to `about`; -1: there is none,
 * or a neighbour is close to `about`. */
static int64_t find_room(const cvtm_sizer *z, int32_t v, cvtm_grid_point about) {
  const cvtm_half_edges *m = &z->m;
  const double least = taken * z->vertex[v].size;
  const int64_t h = find_wedge(m, v, about);
  const int has_room = h >= 0 &&
                       !(cvtm_sized_distance(m->grid[cvtm_end_of(m, h)], about) < least) &&
                       !(cvtm_sized_distance(m->grid[cvtm_apex_of(m, h)], about) < least);
  return has_room ? h : -1;
}

/* Finds whether there is room along the edge of the lattice that leaves the seed in direction
 * `ahead`. */
static void propose(const cvtm_sizer *z, const seed *from, double ahead, const double turn[2],
                    proposal *p) {
  const cvtm_grid_point at = z->m.grid[from->v];
  const double size = z->vertex[from->v].size;
  double c = cos(ahead), s = sin(ahead);
  const double bend = size * (turn[0] * c + turn[1] * s);
  if (bend != 0) {
    c = cos(ahead + 0.5 * bend);
    s = sin(ahead + 0.5 * bend);
  }
  *p = (proposal){.v = from->v,
                  .direction = (float)(from->direction + bend),
                  .way = {size * c, size * s},
                  .about = place_near(at.x + size * c, at.y + size * s)};
  const int64_t h = find_room(z, p->v, p->about);
  if (h >= 0)
    p->region = z->m.region[h / 3];
  else
    p->v = -1;
}

/* Finds the wanted length of that edge, and the size at its end. */
static void measure(const cvtm_sizer *z, proposal *p) {
  const cvtm_grid_point at = z->m.grid[p->v];
  const double ratio = cvtm_sizer_at(z, p->region, at.x + 0.5 * p->way[0], at.y + 0.5 * p->way[1]) /
                       z->vertex[p->v].size;
  p->to = place_near(at.x + ratio * p->way[0], at.y + ratio * p->way[1]);
  p->size = cvtm_sizer_at(z, p->region, p->to.x, p->to.y);
  p->is_measured = 1;
}

/* Adds the vertex if there is still room: p->v becomes its number, or -1. */
static cvtm_status accept(filler *f, proposal *p) {
  const cvtm_sizer *z = f->z;
  const int32_t v = p->v;
  const int64_t h = find_room(z, v, p->about);
  if (h >= 0 && !p->is_measured) measure(z, p);
  p->v = -1;
  if (h < 0 || !(cvtm_sized_distance(z->m.grid[v], p->to) > 2)) return CVTM_OK;
  const int64_t t = walk(&z->m, h, p->to);
  return t >= 0 ? insert(f, t, p->to, p->size, &p->v) : CVTM_OK;
}

/* Adds vertices beside n seeds. */
static cvtm_status accept_all(filler *f, int64_t n) {
  cvtm_status status = CVTM_OK;
  for (proposal *p = f->proposals; p < f->proposals + 6 * n && status == CVTM_OK; ++p)
    if (p->v >= 0) status = accept(f, p);
  for (int64_t i = 0; i < 6 * n && status == CVTM_OK; ++i)
    if (f->proposals[i].v >= 0) status = push_seed(f, f->proposals[i].v, f->proposals[i].direction);
  return status;
}

/* Adds a vertex as the third corner of a triangle over a part of the boundary. */
static cvtm_status grow_over(filler *f, int64_t h) {
  cvtm_sizer *z = f->z;
  const cvtm_half_edges *m = &z->m;
  const int32_t a = m->corner[h], b = cvtm_end_of(m, h), region = m->region[h / 3];
  const cvtm_grid_point p = m->grid[a], q = m->grid[b];
  const double dx = (double)q.x - p.x, dy = (double)q.y - p.y, length = hypot(dx, dy);
  const double mx = p.x + 0.5 * dx, my = p.y + 0.5 * dy;
  double height = 0.5 * sqrt(3) * length;
  for (int k = 0; k < 2; ++k) {
    const double ux = -dy / length * height, uy = dx / length * height;
    const double wanted = cvtm_sizer_at(z, region, mx + 0.6 * ux, my + 0.6 * uy);
    height = sqrt(3) / 6 * (length + 2 * wanted);
  }
  const cvtm_grid_point to = place_near(mx - dy / length * height, my + dx / length * height);
  const int64_t t = length > 2 ? cvtm_sizer_see(z, a, to) : -1;
  int32_t made = -1;
  if (t < 0) return CVTM_OK;
  const cvtm_status status = insert(f, t, to, cvtm_sizer_at(z, region, to.x, to.y), &made);
  return status == CVTM_OK && made >= 0 ? push_seed(f, made, atan2(dy, dx)) : status;
}

/* Grows the lattice from all seeds. Threads propose vertices for the seeds of a batch, which are
 * then inserted one after another. Several threads also measure proposals that will be in vain. */
static cvtm_status empty_queue(filler *f) {
  enum { BATCH = 4096, WORTH_THREADS = 128 };
  const cvtm_sizer *z = f->z;
  const int has_threads = omp_get_max_threads() > 1;
  cvtm_status status = CVTM_OK;
  while (f->head < f->count && status == CVTM_OK) {
    const seed *seeds = f->queue + f->head;
    const int64_t n = f->count - f->head < BATCH ? f->count - f->head : BATCH;
    if (!cvtm_grow(&f->proposals, sizeof *f->proposals, &f->proposal_capacity, 6 * n))
      return cvtm_no_memory(z->error, "the mesh");
#pragma omp parallel for schedule(static) if (n >= WORTH_THREADS)
    for (int64_t i = 0; i < n; ++i) {
      double turn[2];
      find_turn(z, seeds[i].v, turn);
      for (int k = 0; k < 6; ++k) {
        proposal *p = &f->proposals[6 * i + k];
        propose(z, &seeds[i], seeds[i].direction + k * CVTM_PI / 3, turn, p);
        if (p->v >= 0 && has_threads) measure(z, p);
      }
    }
    f->head += n;
    status = accept_all(f, n);
  }
  return status;
}

/* ---- Holes ---- */

/* Finds the circumcentre of a triangle, relative to its first corner; returns the circumradius. */
static double circumcentre(const cvtm_half_edges *m, int64_t t, double centre[2]) {
  const cvtm_grid_point a = m->grid[m->corner[3 * t]], b = m->grid[m->corner[3 * t + 1]],
                        c = m->grid[m->corner[3 * t + 2]];
  const double ux = (double)b.x - a.x, uy = (double)b.y - a.y;
  const double vx = (double)c.x - a.x, vy = (double)c.y - a.y;
  const double cross = 2 * (double)cvtm_orient(a, b, c), u = ux * ux + uy * uy,
               v = vx * vx + vy * vy;
  centre[0] = (vy * u - uy * v) / cross;
  centre[1] = (ux * v - vx * u) / cross;
  return hypot(centre[0], centre[1]);
}

/* Nonzero if there is room for a vertex at the circumcentre of a triangle. */
static int is_hole(const cvtm_sizer *z, int64_t t, double centre[2], double *size) {
  const cvtm_half_edges *m = &z->m;
  const double most = 1 << CVTM_GRID_BITS;
  if (m->corner[3 * t] < 0) return 0;
  const double radius = circumcentre(m, t, centre);
  const cvtm_grid_point a = m->grid[m->corner[3 * t]];
  const double x = a.x + centre[0], y = a.y + centre[1];
  if (!(x >= 0 && y >= 0 && x <= most && y <= most)) return 0;
  *size = cvtm_sizer_at(z, m->region[t], x, y);
  return !(radius < widest_hole * *size || *size < 2);
}

static cvtm_status fill_hole(filler *f, int64_t t, int64_t *filled) {
  const cvtm_half_edges *m = &f->z->m;
  double centre[2], size;
  if (!is_hole(f->z, t, centre, &size)) return CVTM_OK;
  const int32_t a = m->corner[3 * t];
  const cvtm_grid_point to = place_near(m->grid[a].x + centre[0], m->grid[a].y + centre[1]);
  const int64_t at = cvtm_sizer_see(f->z, a, to);
  int32_t made = -1;
  if (at < 0) return CVTM_OK;
  const cvtm_status status = insert(f, at, to, size, &made);
  if (status != CVTM_OK || made < 0) return status;
  ++*filled;
  return push_seed(f, made, atan2(-centre[1], -centre[0]));
}

/* Threads find the holes, which are then filled one after another. */
static cvtm_status fill_holes(filler *f, int64_t *filled) {
  const cvtm_sizer *z = f->z;
  const int64_t n = z->m.triangle_count;
  uint8_t *is_wide = malloc((size_t)n + 1);
  cvtm_status status = is_wide != NULL ? CVTM_OK : cvtm_no_memory(z->error, "the mesh");
  *filled = 0;
#pragma omp parallel for schedule(static) if (n >= CVTM_WORTH_THREADS)
  for (int64_t t = 0; t < n; ++t) {
    double centre[2], size;
    if (is_wide != NULL) is_wide[t] = (uint8_t)is_hole(z, t, centre, &size);
  }
  for (int64_t t = 0; t < n && status == CVTM_OK; ++t) {
    if (!is_wide[t]) continue;
    status = fill_hole(f, t, filled);
    if (status == CVTM_OK) status = empty_queue(f);
  }
  free(is_wide);
  return status;
}

/* ---- The order of the boundary's parts ---- */

/* A part of the boundary over which the lattice may begin. */
typedef struct start {
  double rank; /* smaller ones first */
  int32_t edge;
  int64_t part;
} start;

/* For qsort. */
static int compare_starts(const void *left, const void *right) {
  const start *a = left, *b = right;
  if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
  if (a->edge != b->edge) return a->edge < b->edge ? -1 : 1;
  return (a->part > b->part) - (a->part < b->part);
}

/* Sorts the parts of the boundary. A lattice fits all edges whose directions differ by multiples of
 * 60 degrees. The rank prefers long edges, and by up to a factor of two edges whose lattice fits
 * most of the boundary. */
static start *order_starts(const cvtm_sizer *z) {
  const cvtm_boundary *b = &z->parts, *given = z->given;
  start *starts = malloc(((size_t)b->edge_count + 1) * sizeof *starts);
  double *angle = malloc(((size_t)given->edge_count + 1) * sizeof *angle);
  double *length = malloc(((size_t)given->edge_count + 1) * sizeof *length);
  double c = 0, s = 0, sum = 0;
  for (int64_t e = 0; e < given->edge_count && starts && angle && length; ++e) {
    const cvtm_grid_point p = z->place[given->edges[2 * e]], q = z->place[given->edges[2 * e + 1]];
    angle[e] = 6 * atan2((double)q.y - p.y, (double)q.x - p.x);
    length[e] = cvtm_sized_distance(p, q);
    c += length[e] * cos(angle[e]);
    s += length[e] * sin(angle[e]);
    sum += length[e];
  }
  for (int64_t k = 0; k < b->edge_count && starts && angle && length; ++k) {
    const int32_t e = z->part_edge[k];
    const double fit = (c * cos(angle[e]) + s * sin(angle[e])) / sum;
    starts[k] = (start){-length[e] * (1 + fit), e, k};
  }
  free(angle);
  free(length);
  if (starts == NULL || !angle || !length) {
    free(starts);
    return NULL;
  }
  qsort(starts, (size_t)b->edge_count, sizeof *starts, compare_starts);
  return starts;
}

static cvtm_status grow_over_part(filler *f, int64_t part) {
  const cvtm_half_edges *m = &f->z->m;
  const int32_t *ends = f->z->parts.edges + 2 * part;
  cvtm_status status = CVTM_OK;
  for (int side = 0; side < 2 && status == CVTM_OK; ++side) {
    const int32_t from = ends[side], to = ends[1 - side];
    if (m->at[from] < 0) continue;
    const int64_t first = cvtm_first_of_fan(m, m->at[from]);
    for (int64_t h = first; h >= 0;) {
      if (cvtm_end_of(m, h) == to) {
        status = grow_over(f, h);
        break;
      }
      h = cvtm_turn_left(m, h);
      if (h == first) break;
    }
  }
  return status;
}

/* Lays the lattice of the first edge, over its middle. */
static cvtm_status lay_first(filler *f, const start *starts) {
  int32_t *rim = NULL;
  int64_t count = 0, parts = 0;
  double direction = 0;
  while (parts < f->z->parts.edge_count && starts[parts].edge == starts[0].edge) ++parts;
  if (parts == 0) return CVTM_OK;
  cvtm_status status = cvtm_sizer_lay(f->z, starts[parts / 2].part, &rim, &count, &direction);
  for (int64_t k = 0; k < count && status == CVTM_OK; ++k) status = push_seed(f, rim[k], direction);
  free(rim);
  return status;
}

/* All parts of one edge begin a lattice together. This lattice grows as far as it can before the
 * next edge begins one. */
static cvtm_status grow_from_boundary(filler *f) {
  const cvtm_sizer *z = f->z;
  start *starts = order_starts(z);
  if (starts == NULL) return cvtm_no_memory(z->error, "the mesh");
  cvtm_status status = lay_first(f, starts);
  for (int64_t k = 0; k < z->parts.edge_count && status == CVTM_OK; ++k) {
    status = grow_over_part(f, starts[k].part);
    const int is_last = k + 1 == z->parts.edge_count || starts[k + 1].edge != starts[k].edge;
    if (is_last && status == CVTM_OK) status = empty_queue(f);
  }
  for (int64_t v = 0; v < z->given->vertex_count && status == CVTM_OK; ++v)
    if (!isfinite(z->least[v]) && z->m.at[v] >= 0) status = push_seed(f, (int32_t)v, 0);
  free(starts);
  return status == CVTM_OK ? empty_queue(f) : status;
}

cvtm_status cvtm_sizer_fill(cvtm_sizer *z) {
  filler f = {.z = z};
  int64_t filled = 1;
  cvtm_status status = grow_from_boundary(&f);
  if (status == CVTM_OK) status = empty_queue(&f);
  for (int round = 0; round < 8 && filled > 0 && status == CVTM_OK; ++round)
    status = fill_holes(&f, &filled);
  cvtm_sizer_estimate_again(z);
  free(f.queue);
  free(f.proposals);
  free(f.cavity.triangle);
  free(f.cavity.edge);
  return status;
}

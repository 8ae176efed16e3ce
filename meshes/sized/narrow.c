#include "base/host.h"
#include "meshes/sized/sized_state.h"

#include <math.h>
#include <stdlib.h>

/* Relative to the wanted length: at wider gaps vertices do not move along the boundary, at gaps
 * wider than close_by edges need not be shorter. */
static const double near = 2, close_by = 0.9;

/* The given edge on which vertex v of the divided boundary lies; -1: v is a given vertex. */
static int32_t edge_under(const cvtm_sizer *z, int32_t v) {
  const int64_t k = v - z->given->vertex_count;
  return k < 0 ? -1 : z->places[k].edge;
}

/* A given vertex that belongs to v and w or to the edges on which they lie; -1: none. */
static int32_t common_corner(const cvtm_sizer *z, int32_t v, int32_t w) {
  const int32_t e = edge_under(z, v), f = edge_under(z, w);
  const int32_t p[2] = {e < 0 ? v : z->given->edges[2 * (int64_t)e],
                        e < 0 ? v : z->given->edges[2 * (int64_t)e + 1]};
  const int32_t q[2] = {f < 0 ? w : z->given->edges[2 * (int64_t)f],
                        f < 0 ? w : z->given->edges[2 * (int64_t)f + 1]};
  for (int i = 0; i < 4; ++i)
    if (p[i / 2] == q[i % 2]) return p[i / 2];
  return -1;
}

/* Asks for smaller edges at a gap of width `gap` between vertex v and (x, y). There is vertex w or,
 * with `across`, a point of that edge in a part that ends at w. least: per vertex, the smallest
 * size asked for there. */
static cvtm_status narrow(cvtm_sizer *z, int32_t region, int32_t v, double x, double y, int32_t w,
                          int32_t across, double gap, double *least, int64_t *found) {
  const cvtm_grid_point at = z->m.grid[v];
  const double mx = 0.5 * (at.x + x), my = 0.5 * (at.y + y);
  const double wanted = cvtm_sizer_at(z, region, mx, my);
  const double size = z->options->narrow * gap;
  if (size > near * wanted) return CVTM_OK;
  const int32_t corner = common_corner(z, v, w);
  if (corner >= 0) {
    if (!z->is_acute[corner]) return CVTM_OK;
    const cvtm_grid_point c = z->m.grid[corner];
    const double tip = fmin(cvtm_sizer_given(z, region, c.x, c.y), z->least[corner]);
    if (cvtm_sized_distance(at, c) < 0.45 * tip) return CVTM_OK;
  }
  const int32_t beside[2] = {edge_under(z, v), across >= 0 ? across : edge_under(z, w)};
  for (int k = 0; k < 2; ++k)
    if (beside[k] >= 0) z->is_narrow[beside[k]] = 1;
  if (size > close_by * wanted) return CVTM_OK;
  ++*found;
  least[v] = fmin(least[v], size);
  if (across >= 0) return cvtm_sizer_add_source(z, x, y, size);
  least[w] = fmin(least[w], size);
  return CVTM_OK;
}

cvtm_status cvtm_sizer_find_gaps(cvtm_sizer *z, int64_t *found) {
  const cvtm_half_edges *m = &z->m;
  double *least = malloc(((size_t)m->vertex_count + 1) * sizeof *least);
  cvtm_status status = least != NULL ? CVTM_OK : cvtm_no_memory(z->error, "the sizes");
  for (int64_t v = 0; v < m->vertex_count && least != NULL; ++v) least[v] = INFINITY;
  *found = 0;
  for (int64_t h = 0; h < 3 * m->triangle_count && status == CVTM_OK; ++h) {
    const int32_t a = m->corner[h], b = cvtm_end_of(m, h), c = cvtm_apex_of(m, h);
    const cvtm_grid_point p = m->grid[a], q = m->grid[b], r = m->grid[c];
    const int32_t region = m->region[h / 3];
    const double length = cvtm_sized_distance(p, q);
    if (m->segment[h] < 0) {
      const int32_t e = edge_under(z, a);
      if (e >= 0 && e == edge_under(z, b)) continue;
      if (m->twin[h] > h) status = narrow(z, region, a, q.x, q.y, b, -1, length, least, found);
      continue;
    }
    const double along =
        ((double)q.x - p.x) * ((double)r.x - p.x) + ((double)q.y - p.y) * ((double)r.y - p.y);
    const double t = along / (length * length);
    if (!(t > 0.1 && t < 0.9)) continue;
    const double height = (double)cvtm_orient(p, q, r) / length;
    status = narrow(z, region, c, p.x + t * ((double)q.x - p.x), p.y + t * ((double)q.y - p.y), a,
                    z->part_edge[m->segment[h]], height, least, found);
  }
  for (int64_t v = 0; v < m->vertex_count && status == CVTM_OK; ++v)
    if (isfinite(least[v])) status = cvtm_sizer_add_source(z, m->grid[v].x, m->grid[v].y, least[v]);
  free(least);
  return status;
}

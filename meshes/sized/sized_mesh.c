#include "base/host.h"
#include "base/portable.h"
#include "base/select.h"
#include "meshes/sized/sized_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void cvtm_sized_defaults(cvtm_sized_options *options) {
  *options = (cvtm_sized_options){
      .length = 1, .growth = 0.13, .narrow = 1.15, .sweeps = 16, .off = INFINITY};
}

/* ---- The grid ---- */

/* Rounds the vertices of the boundary to the grid. */
static cvtm_status place_given(cvtm_sizer *z) {
  const int64_t n = z->given->vertex_count;
  double *copy = malloc((2 * (size_t)n + 1) * sizeof *copy);
  z->place = malloc(((size_t)n + 1) * sizeof *z->place);
  cvtm_status status = copy && z->place ? CVTM_OK : cvtm_no_memory(z->error, "the boundary");
  if (status == CVTM_OK) {
    memcpy(copy, z->given->points, 2 * (size_t)n * sizeof *copy);
    status = cvtm_snap_to_steps(copy, n, z->place, &z->step, z->error);
  }
  z->corner[0] = INFINITY;
  z->corner[1] = -INFINITY;
  for (int64_t v = 0; v < n && status == CVTM_OK; ++v) {
    z->corner[0] = fmin(z->corner[0], copy[2 * v]);
    z->corner[1] = fmax(z->corner[1], copy[2 * v + 1]);
  }
  free(copy);
  return status;
}

static cvtm_status describe_fixed(cvtm_sizer *z) {
  cvtm_status status = CVTM_OK;
  z->fixed_count = z->parts.vertex_count;
  for (int64_t v = 0; v < z->fixed_count && status == CVTM_OK; ++v)
    status = cvtm_sizer_take_vertex(z, (int32_t)v, INFINITY);
  for (int64_t k = 0; k < z->added && status == CVTM_OK; ++k)
    z->vertex[z->given->vertex_count + k].place = (int32_t)k;
  z->place_count = z->place_capacity = z->added;
  const cvtm_half_edges *m = &z->m;
  for (int64_t h = 0; h < 3 * m->triangle_count && status == CVTM_OK; ++h) {
    const int32_t v = m->corner[h];
    const double size = cvtm_sizer_at(z, m->region[h / 3], m->grid[v].x, m->grid[v].y);
    z->vertex[v].size = fmin(z->vertex[v].size, size);
  }
  return status;
}

/* ---- The result ---- */

/* Inside the boundary the coordinates are those of the grid. */
static void place_exactly(const cvtm_sizer *z, int64_t v, double place[2]) {
  const int32_t on = z->vertex[v].place;
  if (v < z->given->vertex_count) {
    cvtm_sizer_place(z, v, place);
    return;
  }
  if (on >= 0) {
    cvtm_sizer_point_on(z, z->places[on].edge, z->places[on].t, place);
    return;
  }
  place[0] = z->corner[0] + z->step * z->m.grid[v].x;
  place[1] = z->corner[1] - z->step * z->m.grid[v].y;
}

static cvtm_status extract(cvtm_sizer *z, cvtm_mesh *mesh, cvtm_regions *regions,
                           int32_t **source) {
  const cvtm_half_edges *m = &z->m;
  const size_t n = (size_t)m->vertex_count;
  int32_t *number = malloc((n + 1) * sizeof *number), *from = malloc((n + 1) * sizeof *from);
  int64_t count = 0;
  cvtm_status status = number && from ? CVTM_OK : cvtm_no_memory(z->error, "the mesh");
  for (int64_t v = 0; v < m->vertex_count && status == CVTM_OK; ++v) {
    if (m->at[v] < 0) continue;
    from[count] = v < z->given->vertex_count ? (int32_t)v : -1;
    number[v] = (int32_t)count++;
    z->figures->on_boundary += z->vertex[v].place >= 0;
    z->figures->inside += v >= z->fixed_count && z->vertex[v].place < 0;
  }
  if (status == CVTM_OK)
    status = cvtm_half_edges_extract(m, number, count, mesh, regions, z->error);
#pragma omp parallel for schedule(static) if (count >= CVTM_WORTH_THREADS)
  for (int64_t v = 0; v < (status == CVTM_OK ? m->vertex_count : 0); ++v)
    if (m->at[v] >= 0) place_exactly(z, v, mesh->points + 2 * (int64_t)number[v]);
  free(number);
  if (source != NULL && status == CVTM_OK)
    *source = from;
  else
    free(from);
  return status;
}

static cvtm_status check(const cvtm_boundary *b, const cvtm_sized_options *o, cvtm_error *error) {
  if (b == NULL || o == NULL || b->edge_count < 3)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "no boundary or no options");
  if (!(o->growth > 0) || !(o->narrow > 0) || (o->size == NULL && !(o->length > 0)))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "length, growth and narrow must be positive");
  return CVTM_OK;
}

static cvtm_status fill(cvtm_sizer *z, cvtm_mesh *mesh, cvtm_regions *regions, int32_t **source) {
  const int slides = 40; /* rounds of moves along narrow edges before vertices are added inside */
  const cvtm_sized_options *o = z->options;
  (void)cvtm_sizer_slide(z, slides, 1);
  cvtm_status status = cvtm_sizer_fill(z);
  if (status == CVTM_OK &&
      !(o->number > 0 && fabs(z->figures->expected - o->number) > o->off * o->number))
    status = cvtm_sizer_relax(z);
  return status == CVTM_OK ? extract(z, mesh, regions, source) : status;
}

cvtm_status cvtm_sized_mesh(const cvtm_boundary *boundary, const cvtm_sized_options *options,
                            cvtm_mesh *mesh, cvtm_regions *regions, int32_t **source,
                            cvtm_sized_figures *figures, cvtm_error *error) {
  CVTM_DEFAULT_OPTIONS(cvtm_sized, options)
  cvtm_sized_figures found = {0};
  cvtm_status status = check(boundary, options, error);
  if (status != CVTM_OK) return status;
  cvtm_sizer z = {
      .given = boundary, .options = options, .error = error, .figures = &found, .scale = 1};
  status = place_given(&z);
  if (status == CVTM_OK) status = cvtm_sizer_divide(&z);
  if (status == CVTM_OK) status = describe_fixed(&z);
  if (status == CVTM_OK) status = cvtm_sizer_estimate(&z);
  if (status == CVTM_OK && !options->only_estimates) status = fill(&z, mesh, regions, source);
  if (status == CVTM_OK && figures != NULL) *figures = found;
  cvtm_half_edges_free(&z.m);
  cvtm_boundary_free(&z.parts);
  cvtm_size_tree_free(&z.tree);
  free(z.place);
  free(z.least);
  free(z.is_acute);
  free(z.is_narrow);
  free(z.places);
  free(z.part_edge);
  free(z.vertex);
  free(z.colours.free);
  free(z.colours.list);
  free(z.colours.has_moved);
  return status;
}

#include "viewer/frame.h"

#include "base/host.h"
#include "meshes/mesh.h"
#include "meshes/polygon_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void cvtm_view_history_add(cvtm_view_history *history, int64_t iteration, double ratio,
                           double gradient) {
  if (history->stride == 0) history->stride = 1;
  if (history->seen++ % history->stride != 0) return;
  if (history->count == CVTM_VIEW_HISTORY) {
    history->count /= 2;
    for (int k = 0; k < history->count; ++k) {
      history->iteration[k] = history->iteration[2 * k];
      history->ratio[k] = history->ratio[2 * k];
      history->gradient[k] = history->gradient[2 * k];
    }
    history->stride *= 2;
  }
  history->iteration[history->count] = (float)iteration;
  history->ratio[history->count] = (float)ratio;
  history->gradient[history->count++] = (float)gradient;
}

double cvtm_view_history_floor(const cvtm_view_history *history) {
  double low = INFINITY, high = -INFINITY;
  for (int k = 0; k < history->count; ++k) {
    low = fmin(low, (double)history->ratio[k]);
    high = fmax(high, (double)history->ratio[k]);
  }
  return low > 1 ? 1 : fmin(low - 0.01 * (high - low), low * (1 - 1e-6));
}

/* Grows an array to `count` elements, but at least one, so that NULL always means failure. */
static cvtm_status grow_array(void *array, int64_t *capacity, int64_t count, size_t size,
                              cvtm_error *error) {
  if (cvtm_grow(array, size, capacity, count > 0 ? count : 1)) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory to show %lld elements", (long long)count);
}

cvtm_status cvtm_view_state_reserve(cvtm_view_state *state, int64_t count, cvtm_error *error) {
  return grow_array(&state->sites, &state->capacity, count, 2 * sizeof *state->sites, error);
}

void cvtm_view_state_free(cvtm_view_state *state) {
  free(state->sites);
  state->sites = NULL;
  state->capacity = state->count = 0;
}

cvtm_status cvtm_view_state_copy(cvtm_view_state *to, const cvtm_view_state *from,
                                 cvtm_error *error) {
  CVTM_TRY(cvtm_view_state_reserve(to, from->count, error));
  double *sites = to->sites;
  const int64_t capacity = to->capacity;
  *to = *from;
  to->sites = sites;
  to->capacity = capacity;
  if (from->count > 0) memcpy(sites, from->sites, 2 * (size_t)from->count * sizeof *sites);
  return CVTM_OK;
}

/* The number of visible sides. Where four cells almost meet in a point, the short edge between two
 * of them is not counted. */
static int count_sides(const double *corners, int64_t count, double area) {
  const double shortest = 1e-6 * sqrt(area);
  int sides = 0;
  for (int64_t k = 0; k < count; ++k) {
    const double *a = corners + 2 * k, *b = corners + 2 * ((k + 1) % count);
    sides += fabs(a[0] - b[0]) > shortest || fabs(a[1] - b[1]) > shortest;
  }
  return sides;
}

static void add_cell(cvtm_view_frame *frame, const cvtm_mesh *mesh, const cvtm_cells *cells,
                     int64_t i) {
  const int64_t first = cells->start[i], count = cells->start[i + 1] - first;
  const double *corners = cells->corners + 2 * first;
  const double area = fabs(cvtm_ring_area(corners, count));
  const int sides = count_sides(corners, count, area);
  const uint32_t centre = (uint32_t)frame->vertex_count;
  int inner = 1;
  frame->vertices[frame->vertex_count++] = (cvtm_view_vertex){
      (float)mesh->points[2 * i], (float)mesh->points[2 * i + 1], (uint32_t)i, CVTM_VIEW_CENTRE};
  for (int64_t k = 0; k < count; ++k) {
    const int32_t other = cells->neighbors[first + k];
    inner = inner && other >= 0;
    frame->vertices[frame->vertex_count++] =
        (cvtm_view_vertex){(float)corners[2 * k], (float)corners[2 * k + 1], (uint32_t)i,
                           other < 0 ? CVTM_VIEW_BORDER : (uint32_t)other};
    uint32_t *index = frame->indices + frame->index_count;
    index[0] = centre;
    index[1] = centre + 1 + (uint32_t)((k + 1) % count);
    index[2] = centre + 1 + (uint32_t)k;
    frame->index_count += 3;
  }
  frame->cells[i] = (cvtm_view_cell){(float)area, (float)(inner ? sides : -sides)};
  if (inner && sides != 6) {
    float *defect = frame->defects + 3 * frame->defect_count++;
    defect[0] = (float)mesh->points[2 * i];
    defect[1] = (float)mesh->points[2 * i + 1];
    defect[2] = (float)sides;
  }
}

/* Finds the ends of the colour scale: it covers most areas, but at least a factor of four, so that
 * an even tessellation looks even. */
static void find_area_range(cvtm_view_frame *frame) {
  enum { SAMPLE = 2048 };
  float sample[SAMPLE];
  int taken = 0;
  const int64_t stride = frame->cell_count / SAMPLE + 1;
  for (int64_t i = 0; i < frame->cell_count; i += stride)
    if (frame->cells[i].area > 0) sample[taken++] = frame->cells[i].area;
  frame->low_area = frame->high_area = 1;
  if (taken == 0) return;
  qsort(sample, (size_t)taken, sizeof *sample, cvtm_compare_floats);
  const float low = sample[taken / 50], high = sample[taken - 1 - taken / 50];
  const float middle = sqrtf(low * high), factor = fmaxf(sqrtf(high / low), 2);
  frame->low_area = middle / factor;
  frame->high_area = middle * factor;
}

static cvtm_status reserve_geometry(cvtm_view_frame *frame, const cvtm_mesh *mesh,
                                    const cvtm_cells *cells, cvtm_error *error) {
  const int64_t corners = cells->start[cells->count];
  const struct {
    void *array;
    int64_t count;
    size_t size;
  } arrays[5] = {
      {&frame->vertices, cells->count + corners, sizeof *frame->vertices},
      {&frame->indices, 3 * corners, sizeof *frame->indices},
      {&frame->cells, cells->count, sizeof *frame->cells},
      {&frame->corners, 6 * mesh->triangle_count, sizeof *frame->corners},
      {&frame->defects, 3 * cells->count, sizeof *frame->defects},
  };
  for (int k = 0; k < 5; ++k)
    CVTM_TRY(
        grow_array(arrays[k].array, &frame->capacity[k], arrays[k].count, arrays[k].size, error));
  return CVTM_OK;
}

static cvtm_status fill_geometry(cvtm_view_frame *frame, const cvtm_mesh *mesh,
                                 const cvtm_cells *cells, cvtm_error *error) {
  CVTM_TRY(reserve_geometry(frame, mesh, cells, error));
  for (int64_t i = 0; i < cells->count; ++i) add_cell(frame, mesh, cells, i);
  frame->cell_count = cells->count;
  for (int64_t k = 0; k < 3 * mesh->triangle_count; ++k) {
    const double *point = mesh->points + 2 * (int64_t)mesh->triangles[k];
    frame->corners[2 * k] = (float)point[0];
    frame->corners[2 * k + 1] = (float)point[1];
  }
  frame->corner_count = 3 * mesh->triangle_count;
  find_area_range(frame);
  return CVTM_OK;
}

cvtm_status cvtm_view_frame_build(cvtm_view_frame *frame, cvtm_error *error) {
  frame->vertex_count = frame->index_count = frame->cell_count = 0;
  frame->corner_count = frame->defect_count = 0;
  frame->low_area = frame->high_area = 1;
  if (frame->state.count == 0) return CVTM_OK;
  cvtm_mesh mesh = {0};
  cvtm_cells cells = {0};
  cvtm_status status = cvtm_delaunay(frame->state.sites, frame->state.count, &mesh, error);
  if (status == CVTM_OK) status = cvtm_cells_create(&mesh, frame->state.domain, &cells, error);
  if (status == CVTM_OK) status = fill_geometry(frame, &mesh, &cells, error);
  cvtm_cells_free(&cells);
  cvtm_mesh_free(&mesh);
  return status;
}

void cvtm_view_frame_free(cvtm_view_frame *frame) {
  cvtm_view_state_free(&frame->state);
  free(frame->vertices);
  free(frame->indices);
  free(frame->cells);
  free(frame->corners);
  free(frame->defects);
  memset(frame, 0, sizeof *frame);
}

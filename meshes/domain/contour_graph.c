/* The boundary of a graph as arcs between the vertices where it branches. */
#include "base/portable.h"
#include "meshes/domain/contour_steps.h"
#include "meshes/domain/pslg.h"

#include <stdlib.h>
#include <string.h>

typedef struct walker {
  const cvtm_boundary *b;
  double sharp;   /* cosine of the least turn of a corner */
  int64_t *begin; /* vertex_count + 1: where the edges of each vertex begin in `list` */
  int64_t *list;
  uint8_t *used; /* per edge */
  cvtm_contour *made;
  int64_t points;
} walker;

static cvtm_status list_edges(walker *w, cvtm_error *error) {
  const cvtm_boundary *b = w->b;
  const size_t n = (size_t)b->vertex_count, edges = (size_t)b->edge_count;
  w->begin = calloc(n + 2, sizeof *w->begin);
  w->list = malloc((2 * edges + 1) * sizeof *w->list);
  w->used = calloc(edges + 1, 1);
  if (!w->begin || !w->list || !w->used) return cvtm_contour_no_memory(error);
  for (size_t k = 0; k < 2 * edges; ++k) ++w->begin[b->edges[k] + 2];
  for (size_t v = 0; v < n; ++v) w->begin[v + 2] += w->begin[v + 1];
  for (size_t k = 0; k < 2 * edges; ++k) w->list[w->begin[b->edges[k] + 1]++] = (int64_t)(k / 2);
  return CVTM_OK;
}

static int32_t other_end(const walker *w, int64_t edge, int32_t v) {
  const int32_t *ends = w->b->edges + 2 * edge;
  return ends[0] == v ? ends[1] : ends[0];
}

/* The region on the left of an edge as it is passed from v. */
static int32_t left_from(const walker *w, int64_t edge, int32_t v) {
  return w->b->edges[2 * edge] == v ? w->b->left[edge] : w->b->right[edge];
}

static int32_t right_from(const walker *w, int64_t edge, int32_t v) {
  return w->b->edges[2 * edge] == v ? w->b->right[edge] : w->b->left[edge];
}

/* The edge that continues `edge` at its end v; -1 where the arc ends. */
static int64_t continue_at(const walker *w, int64_t edge, int32_t v) {
  const int64_t *at = w->list + w->begin[v];
  if (w->begin[v + 1] - w->begin[v] != 2) return -1;
  const int64_t next = at[0] == edge ? at[1] : at[0];
  const int same = left_from(w, next, v) == right_from(w, edge, v) &&
                   right_from(w, next, v) == left_from(w, edge, v);
  return same ? next : -1;
}

static const double *place(const walker *w, int32_t v) { return w->b->points + 2 * (int64_t)v; }

/* Nonzero if an arc through v, by `edge` from there, begins or turns there. */
static int is_corner(const walker *w, int64_t edge, int32_t v) {
  const int64_t before = continue_at(w, edge, v);
  return before < 0 || cvtm_turn_cosine(place(w, other_end(w, before, v)), place(w, v),
                                        place(w, other_end(w, edge, v))) <= w->sharp;
}

static void add_point(walker *w, int32_t v, int corner) {
  memcpy(w->made->points + 2 * w->points, place(w, v), 2 * sizeof(double));
  w->made->corner[w->points++] = (uint8_t)corner;
}

static void walk_arc(walker *w, int64_t edge, int32_t v, double smallest) {
  cvtm_contour *made = w->made;
  const int64_t arc = made->arc_count++;
  made->left[arc] = left_from(w, edge, v);
  made->right[arc] = right_from(w, edge, v);
  add_point(w, v, is_corner(w, edge, v));
  while (edge >= 0 && !w->used[edge]) {
    w->used[edge] = 1;
    v = other_end(w, edge, v);
    add_point(w, v, is_corner(w, edge, v));
    edge = continue_at(w, edge, v);
  }
  made->start[arc + 1] = w->points;
  cvtm_contour_drop_small(made, smallest, &w->points);
}

/* First the arcs between branches, then closed ones from a corner, then those without one. */
static void walk_all(walker *w, double smallest) {
  for (int pass = 0; pass < 3; ++pass) {
    for (int32_t v = 0; v < w->b->vertex_count; ++v) {
      for (int64_t k = w->begin[v]; k < w->begin[v + 1]; ++k) {
        const int64_t edge = w->list[k];
        if (w->used[edge] || (pass == 0 && continue_at(w, edge, v) >= 0) ||
            (pass == 1 && !is_corner(w, edge, v)))
          continue;
        walk_arc(w, edge, v, smallest);
      }
    }
  }
}

cvtm_status cvtm_contour_of_pslg(const cvtm_pslg *pslg, int width, int height,
                                 const cvtm_contour_options *options, cvtm_contour *contour,
                                 cvtm_error *error) {
  const cvtm_boundary *b = &pslg->boundary;
  cvtm_contour made = {0};
  walker w = {.b = b, .sharp = cos(options->corner_angle * CVTM_PI / 180), .made = &made};
  cvtm_status status = cvtm_contour_check_inside(b->points, b->vertex_count, width, height, error);
  if (status == CVTM_OK)
    status = cvtm_contour_allocate(b->edge_count, 2 * b->edge_count, &made, error);
  if (status == CVTM_OK) status = list_edges(&w, error);
  if (status == CVTM_OK) {
    walk_all(&w, options->smallest);
    status = cvtm_contour_finish_polygons(width, height, options, &made, error);
  }
  free(w.begin);
  free(w.list);
  free(w.used);
  if (status != CVTM_OK) {
    cvtm_contour_free(&made);
    return status;
  }
  *contour = made;
  return CVTM_OK;
}

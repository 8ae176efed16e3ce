/* Groups of the edges of regions. */
#include "base/host.h"
#include "meshes/elements/marks.h"
#include "meshes/mesh.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the order of the tags of their groups. */
typedef enum group_kind { OUTER, LEFT, RIGHT, BOTTOM, TOP, HOLE, INTERFACE, MARKED } group_kind;

/* Describes what an edge bounds; edges with equal labels form a group. Sorted by all fields. */
typedef struct label {
  int32_t kind, first, second; /* HOLE: its number; INTERFACE: the regions, ascending;
                                  MARKED: the marker */
} label;

/* An edge to be reordered. Sorted by the first four fields. */
typedef struct grouped_edge {
  int32_t left, right, first_edge, edge; /* first_edge: the first edge of its curve */
  label bounds;
} grouped_edge;

typedef struct grouping {
  const cvtm_mesh *mesh;
  const cvtm_regions *regions;
  const cvtm_region_name *names;
  int64_t name_count, count;
  const cvtm_marks *marks;
  double slack;
  grouped_edge *edges;
  int64_t *start; /* vertex_count + 1: where the edge ends at each vertex begin in `ends` */
  int64_t *ends;  /* twice the edge, plus 1 at its second vertex */
  int64_t *next;  /* the edge that follows a boundary edge; -1: unknown */
  int32_t *parent;
} grouping;

static const double *start_of(const grouping *g, int64_t e) {
  return g->mesh->points + 2 * (int64_t)g->regions->edges[2 * e];
}

static const double *end_of(const grouping *g, int64_t e) {
  return g->mesh->points + 2 * (int64_t)g->regions->edges[2 * e + 1];
}

/* ---- loops around the outside ---- */

/* The direction from a to b as an angle with y up. */
static double direction(const double *a, const double *b) {
  return atan2(a[1] - b[1], b[0] - a[0]);
}

/* The edge that follows e along the same part of the outside: of the edges at the end of e, the
 * first one counterclockwise from the reverse of e. */
static int64_t find_next(const grouping *g, int64_t e) {
  const cvtm_regions *r = g->regions;
  const int32_t v = r->edges[2 * e + 1];
  const double back = direction(end_of(g, e), start_of(g, e));
  int64_t best = -1;
  double least = HUGE_VAL;
  for (int64_t k = g->start[v]; k < g->start[v + 1]; ++k) {
    const int64_t other = g->ends[k] / 2;
    if (g->ends[k] % 2 != 0 || r->right[other] != 0) continue;
    double turn = direction(start_of(g, other), end_of(g, other)) - back;
    if (turn <= 0) turn += 2 * acos(-1.0);
    if (turn < least) {
      least = turn;
      best = other;
    }
  }
  return best;
}

/* Labels the loop that begins with edge `first`; with y up, the loop of a hole runs clockwise. */
static void label_loop(grouping *g, int64_t first, int32_t *holes) {
  double twice_area = 0;
  int64_t e = first;
  for (int64_t steps = 0; steps <= g->count && e >= 0; ++steps) {
    const double *a = start_of(g, e), *b = end_of(g, e);
    twice_area += b[0] * a[1] - a[0] * b[1];
    g->next[e] = find_next(g, e);
    e = g->next[e];
    if (e == first) break;
  }
  const int hole = e == first && twice_area < 0;
  const label bounds = {hole ? HOLE : OUTER, hole ? ++*holes : 0, 0};
  for (e = first; e >= 0 && g->edges[e].bounds.kind < 0; e = g->next[e])
    g->edges[e].bounds = bounds;
}

/* ---- labels ---- */

/* The side of the image that contains both ends of an edge, else OUTER. Where two regions meet at a
 * side, a traced contour may deviate from the side by up to half a pixel. */
static group_kind side_of(const double *a, const double *b, cvtm_domain image) {
  const double slack = image.periodic ? 0 : 0.5;
  for (int axis = 0; axis < 2; ++axis) {
    const double far = axis == 0 ? image.width : image.height;
    if (fabs(a[axis]) <= slack && fabs(b[axis]) <= slack) return axis == 0 ? LEFT : TOP;
    if (fabs(a[axis] - far) <= slack && fabs(b[axis] - far) <= slack)
      return axis == 0 ? RIGHT : BOTTOM;
  }
  return OUTER;
}

static int is_on(const cvtm_mark *m, const double *p, double slack) {
  for (int k = 0; k < 2; ++k)
    if (p[k] < (m->from[k] < m->to[k] ? m->from[k] : m->to[k]) - slack ||
        p[k] > (m->from[k] < m->to[k] ? m->to[k] : m->from[k]) + slack)
      return 0;
  const double ux = m->to[0] - m->from[0], uy = m->to[1] - m->from[1];
  const double x = p[0] - m->from[0], y = p[1] - m->from[1], length = hypot(ux, uy);
  const double along = (x * ux + y * uy) / length, side = (x * uy - y * ux) / length;
  return fabs(side) <= slack && along >= -slack && along <= length + slack;
}

int64_t cvtm_mark_find(const cvtm_marks *marks, int64_t first, const double *p, const double *q,
                       double slack) {
  for (int64_t k = 0; k < marks->count; ++k) {
    const int64_t at = (first + k) % marks->count;
    if (is_on(&marks->mark[at], p, slack) && is_on(&marks->mark[at], q, slack)) return at;
  }
  return -1;
}

/* Labels the edges on marked segments. Consecutive edges are on one segment or on neighbouring
 * ones, so each search begins with the segment of the previous edge. */
static void label_marked(grouping *g) {
  int64_t last = 0;
  for (int64_t e = 0; e < g->count && g->marks != NULL; ++e) {
    const int32_t *of_edge = g->marks->of_edge;
    const int64_t at = of_edge != NULL && of_edge[e] >= 0
                           ? of_edge[e]
                           : cvtm_mark_find(g->marks, last, start_of(g, e), end_of(g, e), g->slack);
    if (at < 0) continue;
    const int32_t marker = g->marks->mark[at].marker;
    if (marker != 0 && marker != 1) g->edges[e].bounds = (label){MARKED, marker, 0};
    last = at;
  }
}

static void label_edges(grouping *g, cvtm_domain image) {
  const cvtm_regions *r = g->regions;
  int32_t holes = 0;
  for (int64_t e = 0; e < g->count; ++e) {
    const int32_t a = r->left[e], b = r->right[e];
    g->next[e] = -1;
    g->edges[e] = (grouped_edge){a, b, (int32_t)e, (int32_t)e, {-1, 0, 0}};
    if (b != 0) g->edges[e].bounds = (label){INTERFACE, a < b ? a : b, a < b ? b : a};
  }
  for (int64_t e = 0; e < g->count; ++e) {
    if (g->edges[e].bounds.kind < 0) label_loop(g, e, &holes);
  }
  for (int64_t e = 0; e < g->count; ++e) {
    if (g->edges[e].bounds.kind != OUTER) continue;
    g->edges[e].bounds.kind = (int32_t)side_of(start_of(g, e), end_of(g, e), image);
  }
  label_marked(g);
}

/* ---- curves ---- */

static int same_class(const grouped_edge *a, const grouped_edge *b) {
  return cvtm_compare_two(a, b) == 0 && cvtm_compare_three(&a->bounds, &b->bounds) == 0;
}

/* Joins edges of one group and between the same two regions that meet in a vertex. */
static void find_curves(grouping *g) {
  for (int64_t e = 0; e < g->count; ++e) g->parent[e] = (int32_t)e;
  for (int64_t v = 0; v < g->mesh->vertex_count; ++v) {
    for (int64_t k = g->start[v]; k < g->start[v + 1]; ++k) {
      const int64_t e = g->ends[k] / 2;
      for (int64_t j = k + 1; j < g->start[v + 1]; ++j)
        if (same_class(&g->edges[e], &g->edges[g->ends[j] / 2]))
          (void)cvtm_join_trees(g->parent, (int32_t)e, (int32_t)(g->ends[j] / 2));
    }
  }
  for (int64_t e = 0; e < g->count; ++e)
    g->edges[e].first_edge = cvtm_root_of(g->parent, (int32_t)e);
}

/* ---- names ---- */

/* Writes the given name of a region; without one, a prefix and its number. */
static void name_region(const grouping *g, int32_t region, const char *prefix, char *text,
                        size_t capacity) {
  snprintf(text, capacity, "%s%" PRId32, prefix, region);
  for (int64_t k = g->name_count - 1; k >= 0; --k)
    if (g->names[k].region == region) snprintf(text, capacity, "%s", g->names[k].name);
}

static void name_lines(const grouping *g, const label *bounds, cvtm_group *group) {
  static const char *const words[] = {"outer", "left", "right", "bottom", "top"};
  char first[CVTM_GROUP_NAME_BYTES / 2 - 6], second[sizeof first];
  if (bounds->kind < HOLE) {
    snprintf(group->name, sizeof group->name, "%s", words[bounds->kind]);
  } else if (bounds->kind == HOLE) {
    snprintf(group->name, sizeof group->name, "hole-%" PRId32, bounds->first);
  } else if (bounds->kind == MARKED) {
    snprintf(group->name, sizeof group->name, "marker-%" PRId32, bounds->first);
    for (int64_t k = 0; k < g->marks->count; ++k)
      if (g->marks->mark[k].marker == bounds->first && g->marks->mark[k].name[0] != 0)
        snprintf(group->name, sizeof group->name, "%s", g->marks->mark[k].name);
  } else {
    name_region(g, bounds->first, "", first, sizeof first);
    name_region(g, bounds->second, "", second, sizeof second);
    snprintf(group->name, sizeof group->name, "interface-%s-%s", first, second);
  }
}

/* Lists the distinct labels in ascending order, and returns their number. */
static int32_t list_labels(const grouping *g, label *labels) {
  for (int64_t e = 0; e < g->count; ++e) labels[e] = g->edges[e].bounds;
  qsort(labels, (size_t)g->count, sizeof *labels, cvtm_compare_three);
  int32_t count = 0;
  for (int64_t e = 0; e < g->count; ++e) {
    if (e == 0 || cvtm_compare_three(&labels[e], &labels[e - 1]) != 0) labels[count++] = labels[e];
  }
  return count;
}

/* Lists the regions, in whose order the triangles are sorted, and returns their number. groups:
 * NULL: only counts. */
static int32_t list_areas(const grouping *g, cvtm_group *groups) {
  const int32_t *region = g->regions->region;
  int32_t count = 0;
  for (int64_t t = 0; t < g->mesh->triangle_count; ++t) {
    if (t > 0 && region[t] == region[t - 1]) continue;
    if (groups != NULL) {
      cvtm_group *group = &groups[count];
      group->tag = region[t];
      name_region(g, group->tag, "region-", group->name, sizeof group->name);
    }
    ++count;
  }
  return count;
}

/* ---- all steps ---- */

/* Sorts the edges, and returns their vertices in the new order; NULL if memory runs out. */
static int32_t *take_edges(const grouping *g, const label *labels, int32_t label_count,
                           cvtm_regions *r, int32_t *group) {
  int32_t *edges = malloc(2 * (size_t)(g->count + 1) * sizeof *edges);
  if (edges == NULL) return NULL;
  r->curve_count = 0;
  for (int64_t k = 0; k < g->count; ++k) {
    const grouped_edge *e = &g->edges[k];
    const label *found =
        bsearch(&e->bounds, labels, (size_t)label_count, sizeof *labels, cvtm_compare_three);
    memcpy(edges + 2 * k, r->edges + 2 * (int64_t)e->edge, 2 * sizeof *edges);
    r->left[k] = e->left;
    r->right[k] = e->right;
    r->curve_count += k == 0 || g->edges[k - 1].first_edge != e->first_edge;
    r->curve[k] = r->curve_count;
    group[k] = (int32_t)(found - labels) + 1;
  }
  return edges;
}

/* meshio and others keep the names of regions and of groups of edges in one list: appends `-side`
 * to the name of a group that is also given to a region. */
static void tell_apart(const grouping *g, cvtm_group *lines, int32_t count) {
  static const char ending[] = "-side";
  for (int32_t k = 0; k < count; ++k) {
    char *name = lines[k].name;
    int is_taken = 0;
    if (strncmp(name, "interface-", 10) == 0) continue;
    for (int64_t r = 0; r < g->name_count && !is_taken; ++r)
      is_taken = strcmp(g->names[r].name, name) == 0;
    const size_t length = strlen(name);
    if (is_taken && length + sizeof ending <= sizeof lines[k].name)
      memcpy(name + length, ending, sizeof ending);
  }
}

static int replace_groups(const grouping *g, label *labels, cvtm_regions *r) {
  const int32_t lines = list_labels(g, labels);
  const int32_t areas = list_areas(g, NULL);
  cvtm_group *line_groups = calloc((size_t)lines + 1, sizeof *line_groups);
  cvtm_group *area_groups = calloc((size_t)areas + 1, sizeof *area_groups);
  int32_t *group = malloc((size_t)(g->count + 1) * sizeof *group), *edges = NULL;
  if (line_groups != NULL && area_groups != NULL && group != NULL)
    edges = take_edges(g, labels, lines, r, group);
  if (edges == NULL) {
    free(line_groups);
    free(area_groups);
    free(group);
    return 0;
  }
  for (int32_t k = 0; k < lines; ++k) {
    line_groups[k].tag = k + 1;
    name_lines(g, &labels[k], &line_groups[k]);
  }
  list_areas(g, area_groups);
  tell_apart(g, line_groups, lines);
  free(r->edges);
  free(r->group);
  free(r->line_groups);
  free(r->area_groups);
  r->edges = edges;
  r->group = group;
  r->line_groups = line_groups;
  r->area_groups = area_groups;
  r->line_group_count = lines;
  r->area_group_count = areas;
  return 1;
}

cvtm_status cvtm_regions_group(const cvtm_mesh *mesh, cvtm_domain image,
                               const cvtm_region_name *names, int64_t name_count,
                               cvtm_regions *regions, cvtm_error *error) {
  return cvtm_regions_group_marked(mesh, image, names, name_count, NULL, 0, regions, error);
}

cvtm_status cvtm_regions_group_marked(const cvtm_mesh *mesh, cvtm_domain image,
                                      const cvtm_region_name *names, int64_t name_count,
                                      const cvtm_marks *marks, double slack, cvtm_regions *regions,
                                      cvtm_error *error) {
  const size_t n = (size_t)regions->edge_count;
  cvtm_scratch memory = {0};
  label *labels = cvtm_scratch_take(&memory, n, sizeof *labels);
  grouping g = {mesh,
                regions,
                names,
                name_count,
                regions->edge_count,
                marks,
                slack,
                cvtm_scratch_take(&memory, n, sizeof *g.edges),
                cvtm_scratch_zeros(&memory, (size_t)mesh->vertex_count + 2, sizeof *g.start),
                cvtm_scratch_take(&memory, n, 2 * sizeof *g.ends),
                cvtm_scratch_take(&memory, n, sizeof *g.next),
                cvtm_scratch_take(&memory, n, sizeof *g.parent)};
  int done = 0;
  if (!memory.failed) {
    cvtm_list_by_key(regions->edges, 2 * g.count, mesh->vertex_count, g.start, g.ends);
    label_edges(&g, image);
    find_curves(&g);
    qsort(g.edges, (size_t)g.count, sizeof *g.edges, cvtm_compare_four);
    done = replace_groups(&g, labels, regions);
  }
  cvtm_scratch_free(&memory);
  return done ? CVTM_OK : cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for groups");
}

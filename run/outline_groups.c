/* --boundary-name: names of parts of an outline; labels of .poly files. */
#include "run/outline_parts.h"

#include "base/geometry.h"
#include "base/host.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

cvtm_status run_outline_names_check(const cvtm_run_list *given, cvtm_error *error) {
  for (int k = 0; k < given->count; ++k) {
    const char *equals = strchr(given->item[k], '=');
    if (equals == NULL || equals == given->item[k] || !run_name_is_valid(equals + 1))
      return run_usage_error(error,
                             "--boundary-name: '%s' is not PART=NAME, with a name of letters, "
                             "digits, _ and -",
                             given->item[k]);
  }
  return CVTM_OK;
}

int run_part_is_named(const char *part, const char *name) {
  const size_t length = strlen(name);
  return strncmp(part, name, length) == 0 && (part[length] == '\0' || part[length] == '-');
}

/* Reads the place of X,Y=NAME; returns 0 for PART=NAME. */
static int read_place(const char *text, double place[2]) {
  char *comma, *end;
  place[0] = cvtm_strtod(text, &comma);
  if (comma == text || *comma != ',') return 0;
  place[1] = cvtm_strtod(comma + 1, &end);
  return end > comma + 1 && *end == '=';
}

/* Marks the sides nearest to the places of --boundary-name: edges between vertices where the
 * boundary turns by 30 degrees or more. of_edge: edge_count. */
static cvtm_status mark_sides(const cvtm_outline *o, const cvtm_mesh *mesh, const cvtm_regions *r,
                              cvtm_marks *marks, int32_t *of_edge, cvtm_error *error) {
  const cvtm_run_list *names = &o->options.outline.boundary_names;
  const size_t n = (size_t)mesh->vertex_count, edges = (size_t)r->edge_count;
  const cvtm_boundary b = {.vertex_count = mesh->vertex_count,
                           .edge_count = r->edge_count,
                           .points = mesh->points,
                           .edges = r->edges,
                           .left = r->left,
                           .right = r->right};
  const cvtm_marks none = {0};
  cvtm_scratch memory = {0};
  uint8_t *is_smooth = cvtm_scratch_zeros(&memory, n, 1);
  int32_t *parent = cvtm_scratch_take(&memory, edges, sizeof *parent),
          *last = cvtm_scratch_zeros(&memory, n, sizeof *last); /* an edge at each vertex, plus 1 */
  double place[2];
  cvtm_status status =
      memory.failed ? cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for groups")
                    : run_outline_find_smooth(&b, NULL, 0, 0, &none, 0, of_edge, is_smooth, error);
  for (int32_t e = 0; e < r->edge_count && status == CVTM_OK; ++e) parent[e] = e;
  for (int32_t e = 0; e < 2 * r->edge_count && status == CVTM_OK; ++e) {
    const int32_t v = r->edges[e];
    if (is_smooth[v] && last[v] > 0) (void)cvtm_join_trees(parent, e / 2, last[v] - 1);
    last[v] = e / 2 + 1;
  }
  for (int k = 0; k < names->count && status == CVTM_OK; ++k) {
    if (!read_place(names->item[k], place)) continue;
    cvtm_mark *m = &marks->mark[marks->count];
    *m = (cvtm_mark){{0}, {0}, INT32_MAX - k, ""};
    snprintf(m->name, sizeof m->name, "%s", strchr(names->item[k], '=') + 1);
    double least = INFINITY;
    int32_t nearest = 0;
    for (int32_t e = 0; e < r->edge_count; ++e) {
      const double distance = cvtm_segment_distance(mesh->points + 2 * (int64_t)r->edges[2 * e],
                                                    mesh->points + 2 * (int64_t)r->edges[2 * e + 1],
                                                    place[0], o->y_up ? -place[1] : place[1]);
      if (distance < least) nearest = e;
      least = fmin(least, distance);
    }
    for (int32_t e = 0; e < r->edge_count; ++e)
      if (cvtm_root_of(parent, e) == cvtm_root_of(parent, nearest))
        of_edge[e] = (int32_t)marks->count;
    ++marks->count;
  }
  cvtm_scratch_free(&memory);
  return status;
}

/* Names groups by PART=NAME; given: the groups with their names so far. */
static cvtm_status rename_part(const char *text, const cvtm_group *given, cvtm_regions *r,
                               cvtm_error *error) {
  const size_t length = strcspn(text, "=");
  const int is_marker = strspn(text, "-0123456789") == length;
  char part[CVTM_GROUP_NAME_BYTES], known[256] = "";
  int found = 0, is_exact = 0;
  size_t used = 0;
  snprintf(part, sizeof part, "%s%.*s", is_marker ? "marker-" : "", (int)length, text);
  for (int32_t k = 0; k < r->line_group_count; ++k) is_exact |= strcmp(given[k].name, part) == 0;
  for (int32_t k = 0; k < r->line_group_count; ++k) {
    if (used < sizeof known)
      used += (size_t)snprintf(known + used, sizeof known - used, " %s", given[k].name);
    if (is_exact ? strcmp(given[k].name, part) != 0 : !run_part_is_named(given[k].name, part))
      continue;
    snprintf(r->line_groups[k].name, sizeof r->line_groups[k].name, "%s", text + length + 1);
    found = 1;
  }
  return found ? CVTM_OK
               : cvtm_fail(error, CVTM_ERROR_INPUT,
                           "--boundary-name %s: the outline has no part '%s'; it has%s", text, part,
                           known);
}

/* Readers such as meshio keep one of two groups with the same name. */
static cvtm_status check_names(const cvtm_run_list *names, const cvtm_regions *r,
                               cvtm_error *error) {
  for (int k = 0; k < names->count; ++k)
    for (int32_t i = 0; i < r->area_group_count; ++i)
      if (strcmp(strchr(names->item[k], '=') + 1, r->area_groups[i].name) == 0)
        return cvtm_fail(error, CVTM_ERROR_INPUT, "--boundary-name %s: a region has this name",
                         names->item[k]);
  return CVTM_OK;
}

/* Gives the names of --boundary-name; groups with equal names become one. markers: NULL, or one per
 * group. */
static cvtm_status rename_parts(const cvtm_run_list *names, cvtm_regions *r, int32_t *markers,
                                cvtm_error *error) {
  const size_t count = (size_t)r->line_group_count;
  cvtm_group *given = malloc((count + 1) * sizeof *given), *groups = r->line_groups;
  int32_t *tag = malloc((count + 1) * sizeof *tag);
  double place[2];
  cvtm_status status = given != NULL && tag != NULL
                           ? CVTM_OK
                           : cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for groups");
  if (given != NULL) memcpy(given, groups, count * sizeof *given);
  for (int k = 0; k < names->count && status == CVTM_OK; ++k)
    if (!read_place(names->item[k], place)) status = rename_part(names->item[k], given, r, error);
  int32_t kept = 0;
  for (size_t k = 0; k < count && status == CVTM_OK; ++k) {
    int32_t into = 0;
    while (into < kept && strcmp(groups[into].name, groups[k].name) != 0) ++into;
    tag[k] = into + 1;
    if (into < kept) continue;
    groups[kept] = groups[k];
    groups[kept].tag = kept + 1;
    if (markers != NULL) markers[kept] = markers[k];
    ++kept;
  }
  for (int64_t e = 0; e < r->edge_count && status == CVTM_OK; ++e)
    r->group[e] = tag[r->group[e] - 1];
  if (status == CVTM_OK) r->line_group_count = kept;
  free(given);
  free(tag);
  return status;
}

/* The markers of groups before these get other names; NULL if memory runs out. */
static int32_t *mark_groups(const cvtm_regions *r) {
  int32_t *markers = malloc(((size_t)r->line_group_count + 1) * sizeof *markers);
  for (int32_t k = 0; k < r->line_group_count && markers != NULL; ++k) {
    const char *name = r->line_groups[k].name;
    markers[k] = strncmp(name, "interface-", 10) != 0;
    if (strncmp(name, "marker-", 7) == 0) markers[k] = (int32_t)strtol(name + 7, NULL, 10);
  }
  return markers;
}

cvtm_status run_outline_group(const cvtm_outline *o, const cvtm_mesh *mesh, const double sides[4],
                              cvtm_regions *regions, int32_t **markers, cvtm_error *error) {
  const int width = 1 << 30; /* with such a width half a pixel is a rounding error */
  const cvtm_marks *marks = o->sizes.marks.count > 0 ? &o->sizes.marks : &o->graph.marks;
  const cvtm_run_list *names = &o->options.outline.boundary_names;
  cvtm_mesh moved = *mesh;
  cvtm_scratch memory = {0};
  cvtm_marks placed = {
      marks->count,
      cvtm_scratch_take(&memory, (size_t)marks->count + CVTM_RUN_LIST_MAX, sizeof *placed.mark),
      NULL};
  int32_t *of_edge = cvtm_scratch_take(&memory, (size_t)regions->edge_count, sizeof *of_edge);
  moved.points = cvtm_scratch_take(&memory, (size_t)mesh->vertex_count, 2 * sizeof *moved.points);
  if (memory.failed) {
    cvtm_scratch_free(&memory);
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for groups");
  }
  if (marks->count > 0)
    memcpy(placed.mark, marks->mark, (size_t)marks->count * sizeof *placed.mark);
  double span[2], slack = 4; /* grid steps */
  for (int axis = 0; axis < 2; ++axis) {
    span[axis] = sides[2 + axis] > sides[axis] ? sides[2 + axis] - sides[axis] : 1;
    for (int64_t v = 0; v < mesh->vertex_count; ++v)
      moved.points[2 * v + axis] =
          width * ((mesh->points[2 * v + axis] - sides[axis]) / span[axis]);
    for (int64_t k = 0; k < marks->count; ++k) {
      const cvtm_mark *m = &marks->mark[k];
      placed.mark[k].from[axis] = width * ((m->from[axis] - sides[axis]) / span[axis]);
      placed.mark[k].to[axis] = width * ((m->to[axis] - sides[axis]) / span[axis]);
    }
  }
  slack *= fmax(span[0] / span[1], span[1] / span[0]);
  const cvtm_domain image = {width, width, 0};
  cvtm_status status = CVTM_OK;
  if (names->count > 0) {
    status = mark_sides(o, mesh, regions, &placed, of_edge, error);
    placed.of_edge = of_edge;
  }
  if (status == CVTM_OK)
    status = cvtm_regions_group_marked(&moved, image, o->graph.names, o->graph.name_count, &placed,
                                       slack, regions, error);
  cvtm_scratch_free(&memory);
  if (status == CVTM_OK && markers != NULL) {
    *markers = mark_groups(regions);
    if (*markers == NULL) status = cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for groups");
  }
  if (status == CVTM_OK) status = check_names(names, regions, error);
  return status == CVTM_OK ? rename_parts(names, regions, markers != NULL ? *markers : NULL, error)
                           : status;
}

/* Finds the attribute of each triangle: 0 in a region without one. */
static void find_attributes(cvtm_outline *o) {
  cvtm_region_attribute *list = o->graph.attributes;
  const size_t count = (size_t)o->graph.attribute_count;
  qsort(list, count, sizeof *list, cvtm_compare_int32);
  for (int64_t t = 0; t < o->mesh.triangle_count; ++t) {
    const cvtm_region_attribute key = {o->regions.region[t], 0};
    const cvtm_region_attribute *found =
        bsearch(&key, list, count, sizeof *list, cvtm_compare_int32);
    o->attribute[t] = found != NULL ? found->value : 0;
  }
}

/* Finds the vertices of the mesh at the given places, 2 * count; -1: none. */
static cvtm_status find_vertices(const cvtm_mesh *mesh, const double *places, size_t count,
                                 int32_t *vertex, cvtm_error *error) {
  cvtm_placed *list = malloc((count + 1) * sizeof *list);
  if (list == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for markers");
  for (size_t k = 0; k < count; ++k) {
    list[k] = (cvtm_placed){places[2 * k], places[2 * k + 1], (int64_t)k};
    vertex[k] = -1;
  }
  qsort(list, count, sizeof *list, cvtm_compare_placed);
  for (int64_t v = 0; v < mesh->vertex_count; ++v) {
    const cvtm_placed key = {mesh->points[2 * v], mesh->points[2 * v + 1], 0};
    const cvtm_placed *found = bsearch(&key, list, count, sizeof *list, cvtm_compare_points);
    if (found == NULL) continue;
    while (found > list && cvtm_compare_points(found - 1, &key) == 0) --found;
    for (; found < list + count && cvtm_compare_points(found, &key) == 0; ++found)
      vertex[found->index] = (int32_t)v;
  }
  free(list);
  return CVTM_OK;
}

/* Gives vertices the markers and attributes of a .poly file. A new vertex gets the marker of its
 * edges. */
static cvtm_status label_vertices(cvtm_outline *o, cvtm_error *error) {
  const cvtm_triangle_vertices *file = &o->graph.file;
  const cvtm_regions *r = &o->regions;
  const size_t count = (size_t)file->count, width = (size_t)file->attribute_count;
  const size_t vertices = (size_t)o->mesh.vertex_count;
  int32_t *vertex = malloc((count + 1) * sizeof *vertex);
  o->vertex_marker = calloc(vertices + 1, sizeof *o->vertex_marker);
  o->vertex_attribute = malloc((vertices * width + 1) * sizeof *o->vertex_attribute);
  const int good = vertex != NULL && o->vertex_marker != NULL && o->vertex_attribute != NULL;
  const cvtm_status status = good
                                 ? find_vertices(&o->mesh, file->points, count, vertex, error)
                                 : cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for markers");
  if (status == CVTM_OK && width > 0)
    cvtm_pslg_interpolate(&o->graph, o->mesh.points, o->mesh.vertex_count, o->vertex_attribute);
  for (size_t k = count; k-- > 0 && status == CVTM_OK;) { /* of coincident ones the first counts */
    if (vertex[k] < 0) continue;
    o->vertex_marker[vertex[k]] = file->marker[k];
    memcpy(o->vertex_attribute + width * (size_t)vertex[k], file->attributes + width * k,
           width * sizeof *o->vertex_attribute);
  }
  for (int64_t k = 0; k < 2 * r->edge_count && status == CVTM_OK; ++k) {
    int32_t *marker = &o->vertex_marker[r->edges[k]];
    if (*marker == 0) *marker = o->group_marker[r->group[k / 2] - 1];
  }
  free(vertex);
  return status;
}

/* Nonzero if a region or a part of the boundary has the name. */
static int is_taken(const cvtm_regions *r, const char *name) {
  int taken = 0;
  for (int32_t k = 0; k < r->area_group_count; ++k) taken |= !strcmp(r->area_groups[k].name, name);
  for (int32_t k = 0; k < r->line_group_count; ++k) taken |= !strcmp(r->line_groups[k].name, name);
  return taken;
}

/* Makes groups of the named points, whose marks are sorted by name. */
static cvtm_status group_points(cvtm_outline *o, cvtm_error *error) {
  const cvtm_marks *marks = &o->graph.marks;
  const size_t count = (size_t)marks->count;
  cvtm_regions *r = &o->regions;
  cvtm_scratch memory = {0};
  double *places = cvtm_scratch_take(&memory, count, 2 * sizeof *places);
  int32_t *vertex = cvtm_scratch_take(&memory, count, sizeof *vertex);
  r->points = malloc((count + 1) * 2 * sizeof *r->points);
  r->point_groups = calloc(count + 1, sizeof *r->point_groups);
  for (size_t k = 0; k < count && !memory.failed; ++k)
    memcpy(places + 2 * k, marks->mark[k].from, 2 * sizeof *places);
  const cvtm_status status = !memory.failed && r->points != NULL && r->point_groups != NULL
                                 ? find_vertices(&o->mesh, places, count, vertex, error)
                                 : cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for groups");
  for (size_t k = 0, last = count; k < count && status == CVTM_OK; ++k) {
    const cvtm_mark *m = &marks->mark[k];
    if (!run_mark_is_point(m) || vertex[k] < 0) continue;
    if (last == count || marks->mark[last].marker != m->marker) {
      cvtm_group *group = &r->point_groups[r->point_group_count++];
      group->tag = r->point_group_count;
      snprintf(group->name, sizeof group->name, "%s%s", m->name,
               is_taken(r, m->name) ? "-point" : "");
    }
    r->points[2 * r->point_count] = vertex[k];
    r->points[2 * r->point_count++ + 1] = r->point_group_count;
    last = k;
  }
  cvtm_scratch_free(&memory);
  return status;
}

cvtm_status run_outline_label(cvtm_outline *o, cvtm_error *error) {
  if (o->graph.attribute_count > 0) {
    o->attribute = malloc(((size_t)o->mesh.triangle_count + 1) * sizeof *o->attribute);
    if (o->attribute == NULL)
      return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for attributes");
    find_attributes(o);
    o->labels.attribute = o->attribute;
  }
  if (o->graph.marks.count > 0) CVTM_TRY(group_points(o, error));
  if (o->graph.file.count == 0) return CVTM_OK;
  CVTM_TRY(label_vertices(o, error));
  o->labels.group = o->group_marker;
  o->labels.vertex = o->vertex_marker;
  o->labels.from_zero = o->graph.file.first == 0;
  o->labels.vertex_attribute_count = o->graph.file.attribute_count;
  o->labels.vertex_attribute = o->vertex_attribute;
  return CVTM_OK;
}

/* --boundary-name: names of parts of an outline; labels of .poly files. */
#include "run/outline_parts.h"

#include "base/geometry.h"

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

/* Names a group by PART=NAME. */
static cvtm_status rename_part(const char *text, cvtm_regions *r, cvtm_error *error) {
  const size_t length = strcspn(text, "=");
  const int is_marker = strspn(text, "-0123456789") == length;
  char part[CVTM_GROUP_NAME_BYTES], known[256] = "";
  cvtm_group *found = NULL;
  size_t used = 0;
  snprintf(part, sizeof part, "%s%.*s", is_marker ? "marker-" : "", (int)length, text);
  for (int32_t k = 0; k < r->line_group_count; ++k) {
    cvtm_group *group = &r->line_groups[k];
    if (strcmp(group->name, part) == 0) found = group;
    if (strcmp(group->name, text + length + 1) == 0)
      return cvtm_fail(error, CVTM_ERROR_INPUT, "--boundary-name %s: another part is called '%s'",
                       text, group->name);
    if (used < sizeof known)
      used += (size_t)snprintf(known + used, sizeof known - used, " %s", group->name);
  }
  if (found == NULL)
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "--boundary-name %s: the outline has no part '%s'; it has%s", text, part,
                     known);
  snprintf(found->name, sizeof found->name, "%s", text + length + 1);
  return CVTM_OK;
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
  cvtm_marks placed = {marks->count, malloc(((size_t)marks->count + 1) * sizeof *placed.mark)};
  moved.points = malloc((2 * (size_t)mesh->vertex_count + 1) * sizeof *moved.points);
  if (moved.points == NULL || placed.mark == NULL) {
    free(moved.points);
    free(placed.mark);
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
  cvtm_status status = cvtm_regions_group_marked(&moved, image, o->graph.names, o->graph.name_count,
                                                 &placed, slack, regions, error);
  free(moved.points);
  free(placed.mark);
  if (status == CVTM_OK && markers != NULL) {
    *markers = mark_groups(regions);
    if (*markers == NULL) status = cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for groups");
  }
  for (int k = 0; k < names->count && status == CVTM_OK; ++k)
    status = rename_part(names->item[k], regions, error);
  return status;
}

/* For qsort and bsearch. */
static int compare_regions(const void *left, const void *right) {
  const cvtm_region_attribute *a = left, *b = right;
  return (a->region > b->region) - (a->region < b->region);
}

/* Finds the attribute of each triangle: 0 in a region without one. */
static void find_attributes(cvtm_outline *o) {
  cvtm_region_attribute *list = o->graph.attributes;
  const size_t count = (size_t)o->graph.attribute_count;
  qsort(list, count, sizeof *list, compare_regions);
  for (int64_t t = 0; t < o->mesh.triangle_count; ++t) {
    const cvtm_region_attribute key = {o->regions.region[t], 0};
    const cvtm_region_attribute *found = bsearch(&key, list, count, sizeof *list, compare_regions);
    o->attribute[t] = found != NULL ? found->value : 0;
  }
}

/* For bsearch. */
static int compare_places(const void *left, const void *right) {
  const cvtm_placed *a = left, *b = right;
  if (a->x != b->x) return a->x < b->x ? -1 : 1;
  return (a->y > b->y) - (a->y < b->y);
}

/* Finds the vertices of the file among those of the mesh. */
static cvtm_status find_markers(cvtm_outline *o, cvtm_error *error) {
  const size_t count = (size_t)o->graph.marked_count;
  cvtm_placed *list = malloc((count + 1) * sizeof *list);
  if (list == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for markers");
  for (size_t k = 0; k < count; ++k)
    list[k] = (cvtm_placed){o->graph.marked[2 * k], o->graph.marked[2 * k + 1], (int64_t)k};
  qsort(list, count, sizeof *list, cvtm_compare_placed);
  for (int64_t v = 0; v < o->mesh.vertex_count; ++v) {
    const cvtm_placed key = {o->mesh.points[2 * v], o->mesh.points[2 * v + 1], 0};
    const cvtm_placed *found = bsearch(&key, list, count, sizeof *list, compare_places);
    if (found != NULL) o->vertex_marker[v] = o->graph.vertex_marker[found->index];
  }
  free(list);
  return CVTM_OK;
}

cvtm_status run_outline_label(cvtm_outline *o, cvtm_error *error) {
  if (o->graph.attribute_count > 0) {
    o->attribute = malloc(((size_t)o->mesh.triangle_count + 1) * sizeof *o->attribute);
    if (o->attribute == NULL)
      return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for attributes");
    find_attributes(o);
    o->labels.attribute = o->attribute;
  }
  if (o->graph.marked == NULL) return CVTM_OK;
  o->vertex_marker = calloc((size_t)o->mesh.vertex_count + 1, sizeof *o->vertex_marker);
  if (o->vertex_marker == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for markers");
  o->labels.group = o->group_marker;
  o->labels.vertex = o->vertex_marker;
  return find_markers(o, error);
}

/* --boundary-name: names of parts of an outline. */
#include "run/outline_parts.h"

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

cvtm_status run_outline_group(const cvtm_outline *o, const cvtm_mesh *mesh, const double sides[4],
                              cvtm_regions *regions, cvtm_error *error) {
  const int width = 1 << 30; /* with such a width half a pixel is a rounding error */
  const cvtm_marks *marks = &o->graph.marks;
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
  for (int k = 0; k < names->count && status == CVTM_OK; ++k)
    status = rename_part(names->item[k], regions, error);
  return status;
}

/* The dots of an SVG: its circles, moved by the transforms of their elements. */
#include "base/file.h"
#include "base/grow.h"
#include "meshes/mesh_file.h"
#include "meshes/formats/svg_walk.h"
#include "meshes/formats/xml.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct dot_reader {
  cvtm_dots dots;
  int64_t point_capacity, radius_capacity;
  int has_box;
} dot_reader;

static cvtm_status read_circle(dot_reader *r, cvtm_source *source, const char **attributes,
                               const cvtm_affine *transform) {
  double x, y, radius;
  cvtm_dots *dots = &r->dots;
  cvtm_status status = cvtm_svg_length(source, attributes, "cx", &x);
  if (status == CVTM_OK) status = cvtm_svg_length(source, attributes, "cy", &y);
  if (status == CVTM_OK) status = cvtm_svg_length(source, attributes, "r", &radius);
  if (status != CVTM_OK) return status;
  cvtm_affine_apply(transform, &x, &y);
  if (!transform->is_identity)
    radius *= sqrt(fabs(transform->xx * transform->yy - transform->xy * transform->yx));
  if (!isfinite(x) || !isfinite(y) || !(radius >= 0) || !isfinite(radius))
    return cvtm_source_fail(source, "a circle is not finite, or its radius negative");
  if (!cvtm_grow(&dots->points, 2 * sizeof *dots->points, &r->point_capacity, dots->count + 1) ||
      !cvtm_grow(&dots->radius, sizeof *dots->radius, &r->radius_capacity, dots->count + 1))
    return cvtm_source_no_memory(source);
  dots->points[2 * dots->count] = x;
  dots->points[2 * dots->count + 1] = y;
  dots->radius[dots->count++] = radius;
  return CVTM_OK;
}

/* The viewBox of the outermost element; it stays 0 if there is none. */
static void read_box(dot_reader *r, const cvtm_source *source, const char **attributes) {
  const char *text = cvtm_xml_attribute(attributes, "viewBox");
  double box[4];
  int count = 0;
  if (r->has_box || text == NULL) return;
  cvtm_source s = cvtm_svg_value(source, text);
  while (count < 4 && cvtm_svg_take_number(&s, &box[count])) ++count;
  if (count == 4 && isfinite(box[0] + box[1] + box[2] + box[3]))
    memcpy(r->dots.box, box, sizeof box);
  r->has_box = 1;
}

/* A cvtm_svg_visitor. */
static cvtm_status read_shape(void *context, cvtm_source *source, const char *name,
                              const char **attributes, const cvtm_affine *transform) {
  if (strcmp(name, "svg") == 0) read_box(context, source, attributes);
  if (strcmp(name, "circle") != 0) return CVTM_OK;
  return read_circle(context, source, attributes, transform);
}

cvtm_status cvtm_dots_read_bytes(const unsigned char *bytes, size_t size, const char *name,
                                 cvtm_dots *dots, cvtm_error *error) {
  cvtm_source source = cvtm_source_open(name, bytes, size, error);
  dot_reader r = {0};
  *dots = (cvtm_dots){0};
  cvtm_status status = cvtm_svg_walk(&source, read_shape, &r);
  if (status == CVTM_OK && r.dots.count == 0)
    status = cvtm_fail(error, CVTM_ERROR_INPUT, "%s: the SVG has no circle", name);
  if (status == CVTM_OK)
    *dots = r.dots;
  else
    cvtm_dots_free(&r.dots);
  return status;
}

cvtm_status cvtm_dots_read(const char *path, cvtm_dots *dots, cvtm_error *error) {
  const size_t limit = (size_t)1 << 36;
  unsigned char *bytes;
  size_t size;
  *dots = (cvtm_dots){0};
  cvtm_status status = cvtm_file_read(path, limit, &bytes, &size, error);
  if (status != CVTM_OK) return status;
  status = cvtm_dots_read_bytes(bytes, size, path, dots, error);
  free(bytes);
  return status;
}

void cvtm_dots_free(cvtm_dots *dots) {
  free(dots->points);
  free(dots->radius);
  *dots = (cvtm_dots){0};
}

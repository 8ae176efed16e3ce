/* Inside meshes only: the elements of an SVG, with the transforms that hold for each. */
#ifndef CVTMESH_MESHES_FORMATS_SVG_WALK_H
#define CVTMESH_MESHES_FORMATS_SVG_WALK_H

#include "meshes/formats/formats.h"

/* (x, y) becomes (xx x + xy y + x0, yx x + yy y + y0). */
typedef struct cvtm_affine {
  double xx, yx, xy, yy, x0, y0; /* in the order of matrix() */
  int is_identity;
} cvtm_affine;

/* The identity leaves every bit as it is. */
void cvtm_affine_apply(const cvtm_affine *m, double *x, double *y);

/* The next number, after blanks and at most one comma (or semicolon); 0: there is none. */
int cvtm_svg_take_number(cvtm_source *s, double *value);

/* An attribute's value as a source of its own, on the line of the element. */
cvtm_source cvtm_svg_value(const cvtm_source *source, const char *value);

/* The attribute `name` as a number, perhaps with px behind it; absent: 0. */
cvtm_status cvtm_svg_length(cvtm_source *source, const char **attributes, const char *name,
                            double *value);

/* Called for each element that is drawn where it stands; attributes as in meshes/formats/xml.h. A
 * status other than CVTM_OK ends the walk. */
typedef cvtm_status (*cvtm_svg_visitor)(void *context, cvtm_source *source, const char *name,
                                        const char **attributes, const cvtm_affine *transform);
cvtm_status cvtm_svg_walk(cvtm_source *source, cvtm_svg_visitor visitor, void *context);

#endif

#include "cli/outline_drawing.h"

#include <math.h>
#include <stdlib.h>

static const double least_side = 16, largest_side = 16384; /* of a drawing that is not scaled */
static const double scaled_side = 1024;

/* Nonzero if the outline lies in the frame and covers most of its width and height. */
static int is_in_frame(const double sides[4], cvtm_domain frame, int is_up) {
  const double top = is_up ? -frame.height : 0, width = sides[2] - sides[0],
               height = sides[3] - sides[1];
  return sides[0] >= 0 && sides[2] <= frame.width && sides[1] >= top &&
         sides[3] <= top + frame.height && width >= 0.5 * frame.width &&
         height >= 0.5 * frame.height && fmax(width, height) >= least_side;
}

static int whole_side(double side) { return (int)fmax(ceil(side - 1e-9 * side), 1); }

cvtm_status cli_outline_draw(const cvtm_mesh *mesh, const double sides[4], cvtm_domain frame,
                             int is_fixed, int is_up, cli_outline_drawing *drawing,
                             cvtm_error *error) {
  double left = 0, upper = is_up ? -frame.height : 0, scale = 1;
  drawing->domain = frame;
  if (!is_fixed && !is_in_frame(sides, frame, is_up)) {
    const double width = sides[2] - sides[0], height = sides[3] - sides[1];
    const double longer = fmax(width, height);
    left = sides[0];
    upper = sides[1];
    if (longer < least_side || longer > largest_side) scale = scaled_side / longer;
    drawing->domain = (cvtm_domain){whole_side(scale * width), whole_side(scale * height), 0};
  }
  drawing->mesh = *mesh;
  drawing->mesh.points = malloc((2 * (size_t)mesh->vertex_count + 1) * sizeof *mesh->points);
  if (drawing->mesh.points == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for the drawing");
  for (int64_t v = 0; v < mesh->vertex_count; ++v) {
    drawing->mesh.points[2 * v] = scale * (mesh->points[2 * v] - left);
    drawing->mesh.points[2 * v + 1] = scale * (mesh->points[2 * v + 1] - upper);
  }
  return cvtm_cells_of_domain(&drawing->mesh, &drawing->cells, error);
}

void cli_outline_drawing_free(cli_outline_drawing *drawing) {
  free(drawing->mesh.points);
  cvtm_cells_free(&drawing->cells);
}

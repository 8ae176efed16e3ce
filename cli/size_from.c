#include "cli/size_from.h"

#include "cli/cli.h"
#include "cli/input.h"
#include "cli/page.h"
#include "density/size_field.h"
#include "meshes/mesh_file.h"

#include <stdlib.h>

int cli_size_from_check(const cli_options *o) {
  if (o->size.from == NULL) {
    if (o->size.field != NULL || cli_option_given(o, "size-as"))
      return cli_usage_error(o->command, "--size-field and --size-as need --size-from");
    return CLI_EXIT_OK;
  }
  if (cli_option_given(o, "density-from"))
    return cli_usage_error(o->command, "--size-from takes the place of --density-from");
  if (o->size.as != CVTM_SIZE_GIVEN && o->points == 0)
    return cli_usage_error(o->command,
                           "--points is missing: --size-from gives sizes up to a factor");
  return CLI_EXIT_OK;
}

/* From the coordinates of mesh files, y down from their top, to pixels. */
static void place_in_image(const cli_options *o, const cli_frame *frame, int width, int height,
                           cvtm_mesh *mesh, double *scale) {
  *scale = o->unit == CLI_UNIT_WIDTH ? 1.0 / width : frame->scale;
  for (int64_t v = 0; v < mesh->vertex_count; ++v) {
    double *p = mesh->points + 2 * v;
    p[0] = (p[0] - frame->left) / *scale;
    p[1] = height - (mesh->file_top - p[1] - frame->bottom) / *scale;
  }
}

static cvtm_status replace_values(const cli_options *o, const cvtm_mesh *mesh, const double *values,
                                  cvtm_image *image, cvtm_error *error) {
  const int width = image->width, height = image->height;
  float *size = malloc((size_t)width * (size_t)height * sizeof *size);
  if (size == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the sizes");
  const cvtm_status status =
      cvtm_size_field(mesh, values, (cvtm_size_source)o->size.as, width, height, size, error);
  if (status != CVTM_OK) {
    free(size);
    return status;
  }
  const cvtm_image_place place = image->place;
  cvtm_image_free(image);
  *image =
      (cvtm_image){.width = width, .height = height, .is_data = 1, .value = size, .place = place};
  return CVTM_OK;
}

cvtm_status cli_size_from_apply(cli_options *o, cvtm_image *image, cvtm_error *error) {
  if (o->size.from == NULL) return CVTM_OK;
  const cvtm_domain domain = {image->width, image->height, o->periodic};
  cvtm_mesh mesh = {0};
  double *values = NULL, scale = 1;
  cli_frame frame;
  cvtm_status status = cvtm_mesh_read_field(o->size.from, o->size.field, &mesh, &values, error);
  if (status == CVTM_OK) status = cli_frame_find(o, domain, &frame, error);
  if (status == CVTM_OK) {
    place_in_image(o, &frame, image->width, image->height, &mesh, &scale);
    for (int64_t v = 0; o->size.as == CVTM_SIZE_GIVEN && v < mesh.vertex_count; ++v)
      values[v] /= scale;
    status = replace_values(o, &mesh, values, image, error);
    status = cli_name_file(o->size.from, status, error);
  }
  o->density_from = CVTM_DENSITY_FROM_SIZE;
  cvtm_mesh_free(&mesh);
  free(values);
  return status;
}

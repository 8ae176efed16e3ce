#include "cli/size_from.h"

#include "base/file.h"
#include "base/npy.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/page.h"
#include "density/eikonal.h"
#include "density/size_field.h"
#include "meshes/mesh_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int is_array(const char *path) {
  char buffer[8];
  return strcmp(cvtm_file_extension(path, buffer, sizeof buffer), "npy") == 0;
}

int cli_size_from_check(const cli_options *o) {
  if (o->size.from == NULL) {
    if (o->size.field != NULL || cli_option_given(o, "size-as"))
      return cli_usage_error(o->command, "--size-field and --size-as need --size-from");
    return CLI_EXIT_OK;
  }
  if (o->size.field != NULL && is_array(o->size.from))
    return cli_usage_error(o->command, "--size-field: %s has no names", o->size.from);
  if (cli_option_given(o, "density-from"))
    return cli_usage_error(o->command, "--size-from takes the place of --density-from");
  if (o->command == CLI_MESH && o->size.as != CVTM_SIZE_GIVEN)
    return cli_usage_error(o->command,
                           "an outline takes given sizes: --size-as size; sizes from a solution or "
                           "an indicator: cvtmesh run --domain polygon --points N");
  if (o->size.as != CVTM_SIZE_GIVEN && o->points == 0)
    return cli_usage_error(o->command,
                           "--points is missing: --size-from gives sizes up to a factor");
  return CLI_EXIT_OK;
}

/* The Delaunay triangulation of the points of an array whose rows are x, y and the value; y up. */
static cvtm_status triangulate_rows(const cvtm_npy *rows, const char *path, cvtm_mesh *mesh,
                                    double **values, cvtm_error *error) {
  if (rows->dimensions != 2 || rows->shape[1] != 3 || rows->shape[0] == 0)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: rows of x, y and a value are needed", path);
  const int64_t n = rows->shape[0];
  double *points = malloc(2 * (size_t)n * sizeof *points);
  *values = malloc((size_t)n * sizeof **values);
  cvtm_status status = CVTM_OK;
  if (points == NULL || *values == NULL)
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path);
  for (int64_t i = 0; i < n && status == CVTM_OK; ++i) {
    points[2 * i] = cvtm_npy_get(rows, 3 * i);
    points[2 * i + 1] = -cvtm_npy_get(rows, 3 * i + 1);
    (*values)[i] = cvtm_npy_get(rows, 3 * i + 2);
  }
  if (status == CVTM_OK) status = cli_name_file(path, cvtm_delaunay(points, n, mesh, error), error);
  free(points);
  return status;
}

static cvtm_status read_field(const cli_options *o, cvtm_mesh *mesh, double **values,
                              cvtm_error *error) {
  cvtm_npy rows;
  if (!is_array(o->size.from))
    return cvtm_mesh_read_field(o->size.from, o->size.field, mesh, values, error);
  cvtm_status status = cvtm_npy_read(o->size.from, &rows, error);
  if (status != CVTM_OK) return status;
  status = triangulate_rows(&rows, o->size.from, mesh, values, error);
  cvtm_npy_free(&rows);
  return status;
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
  cvtm_status status = read_field(o, &mesh, &values, error);
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

/* ---- Outlines ---- */

static void map_points(const cli_size_raster *raster, cvtm_mesh *mesh) {
  for (int64_t v = 0; v < mesh->vertex_count; ++v) {
    mesh->points[2 * v] = (mesh->points[2 * v] - raster->left) / raster->step;
    mesh->points[2 * v + 1] = (mesh->points[2 * v + 1] - raster->upper) / raster->step;
  }
}

/* Triangles are split by the size at their centroids: with a slope below 1 a triangle cannot pass
 * over a place that asks for a smaller size. */
static cvtm_status fill_raster(cvtm_mesh *mesh, const double *values, cli_size_raster *raster,
                               cvtm_error *error) {
  const double slope = 0.3;
  const size_t cells = (size_t)raster->width * (size_t)raster->height;
  float *size = malloc(cells * sizeof *size);
  raster->size = malloc(cells * sizeof *raster->size);
  cvtm_status status = CVTM_OK;
  if (size == NULL || raster->size == NULL)
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the sizes");
  if (status == CVTM_OK)
    status =
        cvtm_size_field(mesh, values, CVTM_SIZE_GIVEN, raster->width, raster->height, size, error);
  for (size_t k = 0; k < cells && status == CVTM_OK; ++k) raster->size[k] = (double)size[k];
  if (status == CVTM_OK)
    cvtm_eikonal(raster->width, raster->height, NULL, NULL, slope * raster->step, raster->size);
  free(size);
  return status;
}

cvtm_status cli_size_raster_read(const cli_options *options, cvtm_domain domain,
                                 const double rectangle[4], cli_size_raster *raster,
                                 cvtm_error *error) {
  enum { CELLS = 1024 }; /* along the longer side */
  const double width = rectangle[2] - rectangle[0], height = rectangle[3] - rectangle[1];
  const double step = fmax(width, height) / CELLS;
  *raster = (cli_size_raster){rectangle[0],
                              rectangle[1],
                              step,
                              (int)fmax(ceil(width / step), 1),
                              (int)fmax(ceil(height / step), 1),
                              NULL};
  cvtm_mesh mesh = {0};
  double *values = NULL, scale = 1;
  cli_frame frame;
  cvtm_status status = read_field(options, &mesh, &values, error);
  if (status == CVTM_OK) status = cli_frame_find(options, domain, &frame, error);
  if (status == CVTM_OK) {
    place_in_image(options, &frame, domain.width, domain.height, &mesh, &scale);
    map_points(raster, &mesh);
    for (int64_t v = 0; v < mesh.vertex_count; ++v) values[v] /= scale;
    status = fill_raster(&mesh, values, raster, error);
    status = cli_name_file(options->size.from, status, error);
  }
  cvtm_mesh_free(&mesh);
  free(values);
  return status;
}

static int64_t cell_at(double at, int count) {
  return (int64_t)fmin(fmax(floor(at), 0), count - 1);
}

double cli_size_at(const cli_size_raster *raster, double x, double y) {
  const int64_t i = cell_at((x - raster->left) / raster->step, raster->width);
  const int64_t j = cell_at((y - raster->upper) / raster->step, raster->height);
  return raster->size[j * raster->width + i];
}

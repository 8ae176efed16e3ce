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

static int has_extension(const char *path, const char *extension) {
  char buffer[8];
  return strcmp(cvtm_file_extension(path, buffer, sizeof buffer), extension) == 0;
}

static int is_array(const char *path) { return has_extension(path, "npy"); }

int cli_field_file_known(const char *path) {
  return is_array(path) || has_extension(path, "vtu") || has_extension(path, "msh");
}

int cli_size_from_check(const cli_options *o) {
  if (o->size.from == NULL) {
    if ((o->size.field != NULL && o->metric.from == NULL) || cli_option_given(o, "size-as"))
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

/* The Delaunay triangulation of the points of an array whose rows are x, y, with y up, and the
 * value or the components of a metric. */
static cvtm_status triangulate_rows(const cvtm_npy *rows, const char *path, cli_field *field,
                                    cvtm_error *error) {
  const int64_t columns = rows->dimensions == 2 ? rows->shape[1] : 0, n = rows->shape[0];
  if ((columns != 3 && columns != 5) || n == 0)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: rows of x, y and a value are needed", path);
  double *points = malloc(2 * (size_t)n * sizeof *points);
  cvtm_status status = CVTM_OK;
  if (columns == 3)
    field->values = malloc((size_t)n * sizeof *field->values);
  else
    field->metric = malloc((size_t)n * sizeof *field->metric);
  if (points == NULL || (field->values == NULL && field->metric == NULL))
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path);
  for (int64_t i = 0; i < n && status == CVTM_OK; ++i) {
    points[2 * i] = cvtm_npy_get(rows, columns * i);
    points[2 * i + 1] = -cvtm_npy_get(rows, columns * i + 1);
    if (columns == 3)
      field->values[i] = cvtm_npy_get(rows, 3 * i + 2);
    else
      field->metric[i] = (cvtm_metric){cvtm_npy_get(rows, 5 * i + 2),
                                       -cvtm_npy_get(rows, 5 * i + 3), /* y is down */
                                       cvtm_npy_get(rows, 5 * i + 4)};
  }
  if (status == CVTM_OK)
    status = cli_name_file(path, cvtm_delaunay(points, n, &field->mesh, error), error);
  free(points);
  return status;
}

static cvtm_status read_field_file(const char *path, const char *name, cli_field *field,
                                   cvtm_error *error) {
  cvtm_npy rows;
  if (!is_array(path)) return cvtm_mesh_read_field(path, name, &field->mesh, &field->values, error);
  cvtm_status status = cvtm_npy_read(path, &rows, error);
  if (status != CVTM_OK) return status;
  status = triangulate_rows(&rows, path, field, error);
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

cvtm_status cli_field_read(const cli_options *o, const char *path, cvtm_domain domain,
                           cli_field *field, cvtm_error *error) {
  cli_frame frame;
  *field = (cli_field){.scale = 1};
  cvtm_status status = read_field_file(path, o->size.field, field, error);
  if (status == CVTM_OK) status = cli_frame_find(o, domain, &frame, error);
  if (status == CVTM_OK)
    place_in_image(o, &frame, domain.width, domain.height, &field->mesh, &field->scale);
  return status;
}

void cli_field_free(cli_field *field) {
  cvtm_mesh_free(&field->mesh);
  free(field->values);
  free(field->metric);
}

/* The same of --size-from, which is no metric; sizes in pixels. */
static cvtm_status read_sizes(const cli_options *o, cvtm_domain domain, cli_field *field,
                              cvtm_error *error) {
  const cvtm_status status = cli_field_read(o, o->size.from, domain, field, error);
  if (status != CVTM_OK) return status;
  if (field->values == NULL)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: rows of x, y and a value are needed",
                     o->size.from);
  for (int64_t v = 0; o->size.as == CVTM_SIZE_GIVEN && v < field->mesh.vertex_count; ++v)
    field->values[v] /= field->scale;
  return CVTM_OK;
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
  const int64_t masked = image->masked;
  for (size_t k = 0; masked > 0 && k < (size_t)width * (size_t)height; ++k)
    if (isnan(image->value[k])) size[k] = NAN;
  cvtm_image_free(image);
  *image = (cvtm_image){.width = width,
                        .height = height,
                        .is_data = 1,
                        .value = size,
                        .place = place,
                        .masked = masked};
  return CVTM_OK;
}

cvtm_status cli_size_from_apply(cli_options *o, cvtm_image *image, cvtm_error *error) {
  if (o->size.from == NULL) return CVTM_OK;
  const cvtm_domain domain = {image->width, image->height, o->periodic};
  cli_field field;
  cvtm_status status = read_sizes(o, domain, &field, error);
  if (status == CVTM_OK)
    status = cli_name_file(o->size.from, replace_values(o, &field.mesh, field.values, image, error),
                           error);
  o->density_from = CVTM_DENSITY_FROM_SIZE;
  cli_field_free(&field);
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
  cli_field field;
  cvtm_status status = read_sizes(options, domain, &field, error);
  if (status == CVTM_OK) {
    map_points(raster, &field.mesh);
    status = cli_name_file(options->size.from,
                           fill_raster(&field.mesh, field.values, raster, error), error);
  }
  cli_field_free(&field);
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

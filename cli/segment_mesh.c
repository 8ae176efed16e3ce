#include "cli/segment_mesh.h"

#include "base/npy.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/progress.h"
#include "density/segment_mesh.h"
#include "meshes/mesh_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of each vertex; one block, owned by the caller. */
typedef struct vertex_fields {
  double *image, *lower, *upper;
} vertex_fields;

/* The nearest of the pixels 0 ... side - 1. */
static int64_t nearest_pixel(double place, int side) {
  return (int64_t)fmax(0, fmin(floor(place), side - 1));
}

/* Between four pixel centres; constant beyond the outermost. */
static double interpolate(const double *field, int width, int height, double x, double y) {
  const double i = fmin(fmax(x - 0.5, 0), width - 1), j = fmin(fmax(y - 0.5, 0), height - 1);
  const int64_t left = nearest_pixel(i, width), top = nearest_pixel(j, height);
  const int64_t right = left + 1 < width ? left + 1 : left;
  const int64_t bottom = top + 1 < height ? top + 1 : top;
  const double s = i - (double)left, t = j - (double)top;
  const double *above = field + top * width, *below = field + bottom * width;
  return (1 - t) * ((1 - s) * above[left] + s * above[right]) +
         t * ((1 - s) * below[left] + s * below[right]);
}

/* Values at the vertices from those at the pixels; bounds are those of the pixel around. */
static cvtm_status sample_at_vertices(const cli_segment_mesh *m, const cvtm_segmentation *pixels,
                                      double seed_value, const vertex_fields *f,
                                      cvtm_error *error) {
  const int width = pixels->seeds.width, height = pixels->seeds.height;
  const size_t count = (size_t)width * (size_t)height;
  double *bounds = malloc(2 * count * sizeof *bounds);
  int64_t marked = 0;
  if (bounds == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  cvtm_seeds_bounds(&pixels->seeds, seed_value, bounds, bounds + count);
  for (int64_t v = 0; v < m->mesh.vertex_count; ++v) {
    const double x = m->mesh.points[2 * v], y = m->mesh.points[2 * v + 1];
    const size_t p = (size_t)(nearest_pixel(y, height) * width + nearest_pixel(x, width));
    f->image[v] = interpolate(pixels->shades, width, height, x, y);
    m->u[v] = interpolate(pixels->u, width, height, x, y);
    f->lower[v] = bounds[p];
    f->upper[v] = bounds[count + p];
    marked += bounds[count + p] < 0;
  }
  free(bounds);
  return marked > 0 ? CVTM_OK
                    : cvtm_fail(error, CVTM_ERROR_INPUT, "no vertex lies in a seed inside");
}

static int record_step(void *context, const cvtm_segment_progress *progress) {
  cvtm_segmentation *s = context;
  s->history[s->history_count++] = *progress;
  return cli_interrupted();
}

static cvtm_status move_curve(cvtm_device *device, const cli_options *o, cvtm_segmentation *pixels,
                              cli_segment_mesh *m, const vertex_fields *f, cvtm_error *error) {
  const int width = pixels->seeds.width, height = pixels->seeds.height;
  cvtm_segment_options settings;
  cvtm_segment_defaults(&settings);
  settings.k = o->segment.k;
  settings.epsilon = o->segment.epsilon;
  settings.tau = o->segment.tau;
  settings.max_steps = o->segment.steps;
  settings.tolerance = o->segment.tolerance;
  settings.monitor = record_step;
  settings.monitor_context = pixels;
  free(pixels->history);
  pixels->history_count = 0;
  pixels->history = malloc((size_t)(settings.max_steps + 1) * sizeof *pixels->history);
  if (pixels->history == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  const cvtm_status status =
      cvtm_segment_on_mesh(device, &m->mesh, width > height ? width : height, &settings, f->image,
                           f->lower, f->upper, m->u, &pixels->result);
  if (status != CVTM_OK) *error = *cvtm_device_error(device);
  return status;
}

cvtm_status cli_segment_mesh_run(cvtm_device *device, const cli_options *options,
                                 cvtm_segmentation *pixels, cli_segment_mesh *made,
                                 cvtm_error *error) {
  const char *path = options->segment.mesh;
  cvtm_status status = cvtm_mesh_read(path, &made->mesh, error);
  if (status != CVTM_OK) return status;
  const int64_t n = made->mesh.vertex_count;
  for (int64_t v = 0; v < n; ++v)
    made->mesh.points[2 * v + 1] += pixels->seeds.height - made->mesh.file_top;
  double *memory = malloc(3 * (size_t)n * sizeof *memory);
  made->u = malloc((size_t)n * sizeof *made->u);
  const vertex_fields fields = {memory, memory + n, memory + 2 * n};
  if (memory == NULL || made->u == NULL)
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path);
  if (status == CVTM_OK)
    status = sample_at_vertices(made, pixels, options->segment.seed_value, &fields, error);
  if (status == CVTM_OK) status = move_curve(device, options, pixels, made, &fields, error);
  free(memory);
  free(pixels->inside);
  pixels->inside = NULL;
  return cli_name_file(path, status, error);
}

void cli_segment_mesh_free(cli_segment_mesh *made) {
  cvtm_mesh_free(&made->mesh);
  free(made->u);
  *made = (cli_segment_mesh){0};
}

cvtm_status cli_segment_mesh_write(const cli_segment_mesh *made, const cvtm_segmentation *pixels,
                                   const char *path, const char *extension, cvtm_error *error) {
  const int64_t vertices = made->mesh.vertex_count;
  const cvtm_mesh_file_options settings = {.domain = {pixels->seeds.width, pixels->seeds.height, 0},
                                           .vertex_data = made->u,
                                           .vertex_data_name = "level_set",
                                           .format = extension,
                                           .scale = 1};
  if (strcmp(extension, "npy") == 0)
    return cvtm_npy_write(path, 'f', (int)sizeof *made->u, 1, &vertices, made->u, error);
  return cvtm_mesh_write(path, &made->mesh, &settings, error);
}

#include "run/condition.h"

#include "base/file.h"
#include "base/host.h"
#include "base/npy.h"
#include "run/budget.h"
#include "run/flatten.h"
#include "run/input.h"
#include "run/page.h"
#include "run/json.h"
#include "run/stages.h"
#include "density/condition.h"
#include "density/size_field.h"
#include "density/take.h"
#include "meshes/format.h"
#include "meshes/mesh_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- sizes from a field --------------------------------------------------------------------- */

static int is_array_file(const char *path) {
  char buffer[8];
  return strcmp(cvtm_file_extension(path, buffer, sizeof buffer), "npy") == 0;
}

static int is_array(const cvtm_input *source) {
  return source->array != NULL || is_array_file(source->name);
}

int run_field_file_known(const char *path) {
  return is_array_file(path) || cvtm_format_of(path, CVTM_READS_FIELDS) != NULL;
}

cvtm_status run_size_from_check(const cvtm_run_options *o, cvtm_error *error) {
  if (o->size.from.name == NULL) {
    if (o->size.field != NULL) return run_usage_error(error, "--size-field needs --size-from");
    return CVTM_OK;
  }
  if (o->size.field != NULL && is_array(&o->size.from))
    return run_usage_error(error, "--size-field: the fields of %s have no names",
                           o->size.from.name);
  if (o->given & CVTM_RUN_GIVEN_DENSITY_FROM)
    return run_usage_error(error, "--size-from does not go with --density-from");
  if (o->size.as != CVTM_SIZE_GIVEN && o->points == 0)
    return run_usage_error(error,
                           "--points is missing; --size-from alone gives sizes up to a factor");
  return CVTM_OK;
}

/* Triangulates (by Delaunay) the points of an array whose rows are x, y, with y up, and the value
 * or the components of a metric. */
static cvtm_status triangulate_rows(const cvtm_npy *rows, const char *path, run_field *field,
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
    status = run_name_file(path, cvtm_delaunay(points, n, &field->mesh, error), error);
  free(points);
  return status;
}

static cvtm_status read_field_file(const cvtm_input *source, const char *name, run_field *field,
                                   cvtm_error *error) {
  cvtm_npy rows;
  if (!is_array(source))
    return cvtm_mesh_read_field(source->name, name, &field->mesh, &field->values, error);
  CVTM_TRY(cvtm_npy_open(source, &rows, error));
  cvtm_status status = triangulate_rows(&rows, source->name, field, error);
  cvtm_npy_free(&rows);
  return status;
}

/* Converts coordinates of mesh files, with y down from the top of the mesh, to pixels. */
static void place_in_image(const cvtm_run_options *o, const run_frame *frame, int width, int height,
                           cvtm_mesh *mesh, double *scale) {
  *scale = o->unit == CVTM_RUN_UNIT_WIDTH ? 1.0 / width : frame->scale;
  for (int64_t v = 0; v < mesh->vertex_count; ++v) {
    double *p = mesh->points + 2 * v;
    p[0] = (p[0] - frame->left) / *scale;
    p[1] = height - (mesh->file_top - p[1] - frame->bottom) / *scale;
  }
}

cvtm_status run_field_read(const cvtm_run_options *o, const cvtm_input *source, cvtm_domain domain,
                           run_field *field, cvtm_error *error) {
  run_frame frame;
  *field = (run_field){.scale = 1};
  cvtm_status status = read_field_file(source, o->size.field, field, error);
  if (status == CVTM_OK) status = run_frame_find(o, domain, &frame, error);
  if (status == CVTM_OK)
    place_in_image(o, &frame, domain.width, domain.height, &field->mesh, &field->scale);
  return status;
}

void run_field_free(run_field *field) {
  cvtm_mesh_free(&field->mesh);
  free(field->values);
  free(field->metric);
}

/* Reads the field of --size-from, which must not be a metric, as sizes in pixels. */
static cvtm_status read_sizes(const cvtm_run_options *o, cvtm_domain domain, run_field *field,
                              cvtm_error *error) {
  CVTM_TRY(run_field_read(o, &o->size.from, domain, field, error));
  if (field->values == NULL)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: rows of x, y and a value are needed",
                     o->size.from.name);
  for (int64_t v = 0; o->size.as == CVTM_SIZE_GIVEN && v < field->mesh.vertex_count; ++v)
    field->values[v] /= field->scale;
  return CVTM_OK;
}

static cvtm_status replace_values(const cvtm_run_options *o, const cvtm_mesh *mesh,
                                  const double *values, cvtm_image *image, cvtm_error *error) {
  const int width = image->width, height = image->height;
  float *size = malloc((size_t)width * (size_t)height * sizeof *size);
  if (size == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the sizes");
  const cvtm_status status = cvtm_size_field(mesh, values, o->size.as, width, height, size, error);
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

/* With --size-from, replaces the values of the image by sizes in pixels, and sets
 * options->density_from. The coordinates of files must be set before (run_world_set). */
static cvtm_status run_size_from_apply(cvtm_run_options *o, cvtm_image *image, cvtm_error *error) {
  if (o->size.from.name == NULL) return CVTM_OK;
  const cvtm_domain domain = {image->width, image->height, o->periodic};
  run_field field;
  cvtm_status status = read_sizes(o, domain, &field, error);
  if (status == CVTM_OK)
    status = run_name_file(o->size.from.name,
                           replace_values(o, &field.mesh, field.values, image, error), error);
  o->density_from = CVTM_DENSITY_FROM_SIZE;
  run_field_free(&field);
  return status;
}

/* ---- Outlines ---- */

static void map_points(const run_size_raster *raster, cvtm_mesh *mesh) {
  for (int64_t v = 0; v < mesh->vertex_count; ++v) {
    mesh->points[2 * v] = (mesh->points[2 * v] - raster->left) / raster->step;
    mesh->points[2 * v + 1] = (mesh->points[2 * v + 1] - raster->upper) / raster->step;
  }
}

/* Triangles are split by the size at their centroids. With a slope below 1, a triangle cannot
 * extend over a point that demands a smaller size. */
static cvtm_status fill_raster(cvtm_mesh *mesh, const double *values, run_size_raster *raster,
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

cvtm_status run_size_raster_read(const cvtm_run_options *options, const char *path,
                                 cvtm_domain domain, const double rectangle[4],
                                 run_size_raster *raster, cvtm_error *error) {
  enum { CELLS = 1024 }; /* along the longer side */
  const double width = rectangle[2] - rectangle[0], height = rectangle[3] - rectangle[1];
  const double step = fmax(width, height) / CELLS;
  *raster = (run_size_raster){rectangle[0],
                              rectangle[1],
                              step,
                              (int)fmax(ceil(width / step), 1),
                              (int)fmax(ceil(height / step), 1),
                              NULL};
  cvtm_run_options given = *options;
  given.size.from = (cvtm_input){path, NULL};
  given.size.as = CVTM_SIZE_GIVEN;
  run_field field;
  cvtm_status status = read_sizes(&given, domain, &field, error);
  if (status == CVTM_OK) {
    map_points(raster, &field.mesh);
    status = run_name_file(path, fill_raster(&field.mesh, field.values, raster, error), error);
  }
  run_field_free(&field);
  return status;
}

static int64_t cell_at(double at, int count) {
  return (int64_t)fmin(fmax(floor(at), 0), count - 1);
}

double run_size_at(const run_size_raster *raster, double x, double y) {
  const int64_t i = cell_at((x - raster->left) / raster->step, raster->width);
  const int64_t j = cell_at((y - raster->upper) / raster->step, raster->height);
  return raster->size[j * raster->width + i];
}

/* --- checks -------------------------------------------------------------------------------- */

static cvtm_status check_discs(const char *name, const cvtm_disc *discs, int count,
                               cvtm_error *error) {
  for (int k = 0; k < count; ++k)
    if (!isfinite(discs[k].x) || !isfinite(discs[k].y) || !isfinite(discs[k].radius) ||
        discs[k].radius < 0)
      return run_usage_error(error, "--%s: %g,%g,%g is not a disc X,Y,RADIUS", name, discs[k].x,
                             discs[k].y, discs[k].radius);
  return CVTM_OK;
}

cvtm_status run_segment_check(const cvtm_run_options *o, cvtm_error *error) {
  const cvtm_run_discs *inside = &o->segment.inside, *outside = &o->segment.outside;
  const int has_disc = o->segment.how.first == CVTM_FIRST_CURVE_DISC;
  CVTM_TRY(check_discs("inside", inside->item, inside->count, error));
  CVTM_TRY(check_discs("outside", outside->item, outside->count, error));
  CVTM_TRY(check_discs("initial", &o->segment.how.first_disc, has_disc, error));
  if (inside->count == 0 && o->segment.how.seeds.name == NULL)
    return run_usage_error(error, "no seeds inside: give --inside X,Y,RADIUS or --seeds IMAGE");
  return CVTM_OK;
}

cvtm_status run_condition_check(const cvtm_run_options *o, cvtm_error *error) {
  for (int k = 0; k < o->condition.weight.count; ++k) {
    const cvtm_region_weight *weight = &o->condition.weight.item[k];
    if (!isfinite(weight->factor) || weight->factor < 0)
      return run_usage_error(error, "--weight: '%s=%g' is not FILE=FACTOR with FACTOR at least 0",
                             weight->region.name, weight->factor);
  }
  return CVTM_OK;
}

/* --- segmentation -------------------------------------------------------------------------- */

static int show_step(void *context, const cvtm_segment_progress *progress) {
  const cvtm_run_options *o = context;
  if (o->segmented != NULL) o->segmented(o->context, progress);
  return run_interrupted(o);
}

cvtm_status run_segment_image(cvtm_device *device, const cvtm_run_options *options,
                              const cvtm_image *image, cvtm_segmentation *made, cvtm_error *error) {
  cvtm_segmentation_options settings = options->segment.how;
  settings.inside = options->segment.inside.item;
  settings.inside_count = options->segment.inside.count;
  settings.outside = options->segment.outside.item;
  settings.outside_count = options->segment.outside.count;
  /* an inaccurate step could look like one that changes nothing */
  const double step = 0.2 * settings.segment.tolerance;
  if (step > 0)
    settings.segment.step_tolerance = fmin(settings.segment.step_tolerance, fmax(step, 1e-9));
  settings.segment.monitor = show_step;
  settings.segment.monitor_context = (void *)(uintptr_t)options;
  const cvtm_status status =
      cvtm_segmentation_run(device, image, options->input.name, &settings, made, error);
  if (options->segmented != NULL)
    options->segmented(options->context, NULL); /* end of the segmentation */
  return status;
}

void run_segment_report(const cvtm_segmentation *s, cJSON *report) {
  const int64_t pixels = (int64_t)s->seeds.width * s->seeds.height;
  int64_t kept = 0;
  for (int64_t p = 0; p < pixels; ++p) kept += s->inside[p];
  cJSON *entry = cJSON_AddObjectToObject(report, "segmentation");
  run_json_integer(entry, "steps", s->result.steps);
  run_json_integer(entry, "cycles", s->result.cycles);
  run_json_text(entry, "stop_reason", cvtm_segment_stop_name(s->result.stop));
  run_json_real(entry, "change", s->result.change);
  run_json_real(entry, "area", s->result.area);
  run_json_real(entry, "energy", s->result.energy);
  run_json_integer(entry, "pixels", kept);
  run_json_real(entry, "seconds", s->result.seconds);
  cJSON *history = cJSON_AddArrayToObject(entry, "history");
  for (int64_t k = 0; k < s->history_count; ++k) {
    cJSON *row = run_json_item(history);
    run_json_integer(row, "step", s->history[k].step);
    run_json_real(row, "change", s->history[k].change);
    run_json_real(row, "area", s->history[k].area);
    run_json_real(row, "energy", s->history[k].energy);
  }
}

/* --- the pipeline -------------------------------------------------------------------------- */

static void set_pipeline(const cvtm_run_options *o, cvtm_pipeline_options *made) {
  made->within = o->condition.within.item;
  made->within_count = o->condition.within.count;
  made->obstacles = o->condition.obstacle.item;
  made->obstacle_count = o->condition.obstacle.count;
  made->weights = o->condition.weight.item;
  made->weight_count = o->condition.weight.count;
  made->condition = o->condition.how;
  made->precise = o->purpose == CVTM_RUN_DENSITY;
  made->threads = (int)o->threads;
}

/* Computes the tone, without the halved gamma of --equal-mass. */
static cvtm_status read_tone(const cvtm_image *image, const char *path,
                             const cvtm_run_options *options, const cvtm_density_options *settings,
                             float **tone, cvtm_error *error) {
  cvtm_density_options asked = *settings;
  asked.gamma = options->gamma;
  return cvtm_tone_from_image(image, &asked, path, tone, error);
}

cvtm_status run_read_conditioned(cvtm_device *device, cvtm_run_options *options,
                                 cvtm_pipeline_result *made, float **tone, float **rgb,
                                 cvtm_error *error) {
  const char *path = options->input.name;
  cvtm_image image = {0};
  cvtm_pipeline_options settings;
  *made = (cvtm_pipeline_result){0};
  cvtm_pipeline_defaults(&settings);
  cvtm_status status = run_read_image(options, &options->input, rgb != NULL, &image, error);
  if (status == CVTM_OK) status = run_page_crop(options, &image, error);
  if (status == CVTM_OK) status = run_preview_reduce(options, &image, error);
  if (status == CVTM_OK) status = run_world_set(options, &image.place, path, image.height, error);
  if (status == CVTM_OK) status = run_size_from_apply(options, &image, error);
  if (status == CVTM_OK) {
    run_choose_tone(&image, options, &settings.tone);
    status = run_smooth_dither(options, &image, error);
  }
  if (status == CVTM_OK) status = run_flatten(&image, options->flatten, path, error);
  if (status == CVTM_OK) status = run_budget_choose(options, &image, error);
  if (status == CVTM_OK) {
    run_choose_tone(&image, options, &settings.tone);
    status = run_check_sizes(&image, options, error);
  }
  if (run_tones_thin_inks(options))
    cvtm_density_defaults(&settings.tone); /* the tones reduce the inks later */
  set_pipeline(options, &settings);
  if (status == CVTM_OK)
    status = tone != NULL || rgb != NULL
                 ? cvtm_pipeline_run(device, &image, path, &settings, made, error)
                 : cvtm_pipeline_take(device, &image, path, &settings, made, error);
  if (status == CVTM_OK && tone != NULL)
    status = read_tone(&image, path, options, &settings.tone, tone, error);
  if (status == CVTM_OK && rgb != NULL)
    status = cvtm_colours_from_image(&image, &settings.tone, path, rgb, error);
  if (status != CVTM_OK) cvtm_pipeline_free(made);
  cvtm_image_free(&image);
  return status;
}

void run_condition_report(const cvtm_run_options *o, const cvtm_pipeline_result *made,
                          cJSON *report) {
  if (o->condition.how.smooth > 0) {
    const cvtm_hlcp_result *r = &made->condition.bias;
    cJSON *entry = cJSON_AddObjectToObject(report, "smoothing");
    run_json_integer(entry, "iterations", r->iterations);
    run_json_integer(entry, "cycles", r->linear_iterations);
    run_json_real(entry, "residual", r->residual);
    run_json_text(entry, "stop_reason", cvtm_lcp_stop_name(r->stop));
    run_json_real(entry, "seconds", r->seconds);
  }
  if (o->condition.how.grade > 0) {
    const cvtm_lcp_result *r = &made->condition.grade;
    cJSON *entry = cJSON_AddObjectToObject(report, "grading");
    run_json_integer(entry, "iterations", r->iterations);
    run_json_real(entry, "natural_residual", r->natural_residual);
    run_json_integer(entry, "active_lower", r->active_lower);
    run_json_integer(entry, "active_upper", r->active_upper);
    run_json_text(entry, "stop_reason", cvtm_lcp_stop_name(r->stop));
    run_json_real(entry, "seconds", r->seconds);
  }
}

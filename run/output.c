#include "run/output.h"

#include "base/file.h"
#include "run/colours.h"
#include "run/page.h"
#include "run/stipples.h"
#include "meshes/mesh_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int is_stream(const char *path) { return strcmp(path, "-") == 0; }

const char *run_output_extension(const cvtm_run_options *options, const char *path, char *buffer) {
  return is_stream(path) ? options->format : cvtm_file_extension(path, buffer, RUN_EXTENSION_MAX);
}

run_output_kind run_output_kind_of(const cvtm_run_options *options, const char *path) {
  char name[RUN_EXTENSION_MAX + 8], buffer[RUN_EXTENSION_MAX];
  const char *extension = run_output_extension(options, path, buffer);
  if (is_stream(path)) {
    snprintf(name, sizeof name, "stdout.%s", options->format);
    path = name;
  }
  const int png = strcmp(extension, "png") == 0;
  if (options->purpose == CVTM_RUN_LABELS) {
    if (png) return RUN_OUTPUT_PICTURE;
    if (strcmp(extension, "npy") == 0) return RUN_OUTPUT_LABELS;
    return strcmp(extension, "ppm") == 0 ? RUN_OUTPUT_PPM : RUN_OUTPUT_UNKNOWN;
  }
  if (strcmp(extension, "svg") == 0) return RUN_OUTPUT_SVG;
  if (png) return RUN_OUTPUT_PICTURE;
  const int is_for_another =
      options->purpose == CVTM_RUN_VIEW && run_page_extension_is_of_pens(extension);
  if (run_page_extension_known(extension) && !is_for_another) return RUN_OUTPUT_DRAWING;
  if (cvtm_mesh_format_known(path)) return RUN_OUTPUT_MESH;
  return cvtm_points_format_known(path) ? RUN_OUTPUT_POINTS : RUN_OUTPUT_UNKNOWN;
}

static int has_extension(const char *path, const char *wanted) {
  char buffer[64];
  return path == NULL || strcmp(cvtm_file_extension(path, buffer, sizeof buffer), wanted) == 0;
}

/* Refuses an output by its extension, and names those that this command writes. */
static cvtm_status refuse_extension(const cvtm_run_options *options, const char *path,
                                    const char *extension, cvtm_error *error) {
  static const char *const every[] = {"obj",  "off", "ply",  "stl",  "vtk",   "vtu", "msh", "inp",
                                      "node", "ele", "poly", "xdmf", "csv",   "npy", "xyz", "svg",
                                      "pdf",  "dxf", "hpgl", "plt",  "gcode", "nc",  "png", "ppm"};
  run_nearest nearest = run_nearest_start(extension);
  char list[128] = "";
  size_t used = 0;
  for (size_t k = 0; k < sizeof every / sizeof every[0]; ++k) {
    char name[16];
    snprintf(name, sizeof name, "x.%s", every[k]);
    if (run_output_kind_of(options, name) == RUN_OUTPUT_UNKNOWN) continue;
    run_nearest_offer(&nearest, every[k]);
    if (used < sizeof list)
      used += (size_t)snprintf(list + used, sizeof list - used, " %s", every[k]);
  }
  if (is_stream(path)) path = "--format";
  if (*extension == '\0')
    return run_usage_error(error, "%s: the name has no extension; formats:%s", path, list);
  if (nearest.best != NULL)
    return run_usage_error(error, "%s: '%s' is no format; did you mean '%s'? Formats:%s", path,
                           extension, nearest.best, list);
  return run_usage_error(error, "%s: '%s' is not a format written here; formats:%s", path,
                         extension, list);
}

/* True if the nodes of --element-order 2 have a place in one of the outputs. */
static int holds_middle_nodes(const cvtm_run_options *options) {
  static const char *const formats[] = {"vtu", "vtk", "msh", "inp", "ele", "node", "xdmf"};
  char buffer[RUN_EXTENSION_MAX];
  for (int k = 0; k < options->output.count; ++k) {
    const char *extension = run_output_extension(options, options->output.item[k], buffer);
    for (size_t f = 0; f < sizeof formats / sizeof formats[0]; ++f)
      if (strcmp(extension, formats[f]) == 0) return 1;
  }
  return 0;
}

static cvtm_status check_extensions(const cvtm_run_options *options, cvtm_error *error) {
  char buffer[RUN_EXTENSION_MAX];
  if (options->element_order == 2 && options->output.count > 0 && !holds_middle_nodes(options))
    return run_usage_error(error,
                           "--element-order 2: no output is vtu, vtk, msh, inp, ele or xdmf");
  for (int k = 0; k < options->output.count && !options->ascii; ++k) {
    const char *path = options->output.item[k];
    if (strcmp(run_output_extension(options, path, buffer), "xdmf") != 0) continue;
    if (!cvtm_hdf5_known())
      return run_usage_error(error, "%s: this build has no HDF5; --format ascii needs none", path);
    if (is_stream(path))
      return run_usage_error(error, "XDMF goes to a stream with --format ascii alone");
  }
  if (!cvtm_compression_known(options->compression))
    return run_usage_error(error, "--format %s: this build does not have it",
                           options->compression == CVTM_COMPRESS_ZLIB ? "zlib" : "lz4");
  for (int k = 0; k < options->output.count; ++k) {
    const char *path = options->output.item[k];
    if (strcmp(run_output_extension(options, path, buffer), "poly") == 0 &&
        options->domain.kind == CVTM_RUN_DOMAIN_NONE && options->purpose != CVTM_RUN_OUTLINE)
      return run_usage_error(error, "%s: a boundary to write needs --domain", path);
    if (run_output_kind_of(options, path) != RUN_OUTPUT_UNKNOWN) continue;
    return refuse_extension(options, path, run_output_extension(options, path, buffer), error);
  }
  if (run_output_kind_of(options, "-") == RUN_OUTPUT_UNKNOWN)
    return refuse_extension(options, "-", options->format, error);
  if (!has_extension(options->density_out, "npy"))
    return run_usage_error(error, "%s: --density-out is written as .npy", options->density_out);
  if (!has_extension(options->equal_mass.weights_out, "npy"))
    return run_usage_error(error, "%s: --weights-out is written as .npy",
                           options->equal_mass.weights_out);
  if (!has_extension(options->domain.pairs_out, "npy"))
    return run_usage_error(error, "%s: --pairs-out is written as .npy", options->domain.pairs_out);
  return CVTM_OK;
}

/* Sets *picture by --layers and --picture-size. */
static void choose_picture(const cvtm_run_options *options, cvtm_picture_options *picture) {
  cvtm_picture_defaults(picture);
  picture->long_side = (int)options->picture_size;
  picture->invert = options->invert;
  if (options->layers != 0) picture->layers = options->layers;
}

cvtm_status run_outputs_check(const cvtm_run_options *options, cvtm_error *error) {
  const unsigned all = 2 * CVTM_PICTURE_STIPPLES - 1;
  if ((options->layers & ~all) != 0)
    return run_usage_error(error, "--layers: there is no layer %#x", options->layers & ~all);
  return check_extensions(options, error);
}

int run_outputs_have_mesh(const cvtm_run_options *options) {
  for (int k = 0; k < options->output.count; ++k)
    if (run_output_kind_of(options, options->output.item[k]) == RUN_OUTPUT_MESH) return 1;
  return 0;
}

int run_outputs_draw(const cvtm_run_options *options) {
  for (int k = 0; k < options->output.count; ++k) {
    const run_output_kind kind = run_output_kind_of(options, options->output.item[k]);
    if (kind != RUN_OUTPUT_MESH && kind != RUN_OUTPUT_POINTS) return 1;
  }
  return 0;
}

cvtm_status run_outputs_write(const cvtm_run_options *options, run_writer writer, void *context,
                              cvtm_error *error) {
  cvtm_status status = CVTM_OK;
  for (int k = 0; k < options->output.count && status == CVTM_OK; ++k) {
    char buffer[RUN_EXTENSION_MAX];
    const char *path = options->output.item[k];
    status = writer(context, path, run_output_extension(options, path, buffer), error);
  }
  return status;
}

static cvtm_status write_svg(const run_scene *scene, const char *path, cvtm_error *error) {
  if (run_has_page(scene->options) || scene->colours != NULL)
    return run_page_write(scene, path, "svg", error);
  cvtm_svg_kind kind = scene->options->svg;
  if (kind == CVTM_SVG_PATH && scene->options->order == CVTM_RUN_ORDER_TSP) kind = CVTM_SVG_TOUR;
  return cvtm_svg_write(path, kind, scene->mesh, scene->cells, scene->radius,
                        run_stipples_are_light(scene->options), scene->options->world.mm,
                        scene->domain, error);
}

static cvtm_status write_scene_picture(const run_scene *scene, const char *path,
                                       cvtm_error *error) {
  cvtm_picture_options picture;
  if (scene->colours != NULL)
    return run_colours_picture(scene->colours, scene->sites, scene->options->picture_size, path,
                               error);
  choose_picture(scene->options, &picture);
  return cvtm_picture_write(path, scene->density, scene->domain, scene->mesh, scene->cells,
                            &picture, error);
}

static cvtm_status write_mesh(const run_scene *scene, const char *path, const char *extension,
                              cvtm_error *error) {
  const cvtm_run_options *options = scene->options;
  run_frame frame;
  const cvtm_status status = run_frame_find(options, scene->domain, &frame, error);
  if (status != CVTM_OK) return status;
  const cvtm_mesh_file_options how = {
      .domain = scene->domain,
      .unit = options->unit == CVTM_RUN_UNIT_WIDTH,
      .ascii = options->ascii,
      .binary = options->binary,
      .msh_version = options->msh_version,
      .vertex_data = scene->original ? scene->original : scene->mass,
      .vertex_data_name = scene->original ? "original" : NULL,
      .compression = options->compression,
      .regions = scene->regions,
      .second = scene->second,
      .format = extension,
      .scale = frame.scale,
      .left = frame.left,
      .bottom = frame.bottom};
  return cvtm_mesh_write(path, scene->mesh, &how, error);
}

static cvtm_status put_points(const run_scene *scene, const char *path, const char *extension,
                              const double *points, cvtm_error *error) {
  if (scene->colours != NULL)
    return cvtm_points_write_classes(extension, path, points, scene->colours->start,
                                     scene->colours->count, error);
  return cvtm_points_write_as(extension, path, points, scene->count, error);
}

static cvtm_status write_points(const run_scene *scene, const char *path, const char *extension,
                                cvtm_error *error) {
  run_frame frame;
  cvtm_status status = run_frame_find(scene->options, scene->domain, &frame, error);
  if (status != CVTM_OK) return status;
  if (!(run_unit_mm(scene->options->unit) > 0) && !frame.is_up)
    return put_points(scene, path, extension, scene->sites, error);
  double *placed = malloc(2 * (size_t)scene->count * sizeof *placed);
  if (placed == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path);
  for (int64_t i = 0; i < scene->count; ++i) {
    const double x = scene->sites[2 * i], y = scene->sites[2 * i + 1];
    placed[2 * i] = frame.left + frame.scale * x;
    placed[2 * i + 1] = frame.is_up ? frame.bottom + frame.scale * (scene->domain.height - y)
                                    : frame.top + frame.scale * y;
  }
  status = put_points(scene, path, extension, placed, error);
  free(placed);
  return status;
}

static cvtm_status write_scene_file(void *context, const char *path, const char *extension,
                                    cvtm_error *error) {
  const run_scene *scene = context;
  const run_output_kind kind = run_output_kind_of(scene->options, path);
  const int has_places = (kind == RUN_OUTPUT_MESH || kind == RUN_OUTPUT_POINTS) &&
                         scene->options->unit != CVTM_RUN_UNIT_WIDTH &&
                         !run_has_page(scene->options);
  if (scene->drawn != NULL && !has_places) scene = scene->drawn;
  switch (kind) {
    case RUN_OUTPUT_MESH:
      return write_mesh(scene, path, extension, error);
    case RUN_OUTPUT_POINTS:
      return write_points(scene, path, extension, error);
    case RUN_OUTPUT_SVG:
      return write_svg(scene, path, error);
    case RUN_OUTPUT_DRAWING:
      return run_page_write(scene, path, extension, error);
    case RUN_OUTPUT_PICTURE:
      return write_scene_picture(scene, path, error);
    default:
      return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%s: unknown format", path);
  }
}

cvtm_status run_scene_write(const run_scene *scene, cvtm_error *error) {
  run_scene context = *scene;
  return run_outputs_write(scene->options, write_scene_file, &context, error);
}

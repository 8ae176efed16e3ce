#include "run/output.h"

#include "base/file.h"
#include "run/colours.h"
#include "run/page.h"
#include "run/stipples.h"
#include "draw/formats.h"
#include "meshes/mesh_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int is_stream(const char *path) { return strcmp(path, "-") == 0; }

const char *run_output_extension(const cvtm_run_options *options, const char *path, char *buffer) {
  return is_stream(path) ? options->format : cvtm_file_extension(path, buffer, RUN_EXTENSION_MAX);
}

const cvtm_format *run_format_at(int k) {
  for (const cvtm_format *const *f = cvtm_formats; *f != NULL; ++f)
    if (k-- == 0) return *f;
  for (const cvtm_format *const *f = cvtm_drawing_formats; *f != NULL; ++f)
    if (k-- == 0) return *f;
  return NULL;
}

/* The kind of a file with the extension. If the extension stands for formats of several kinds, a
 * drawing has priority over a mesh. *format: the row of its format. */
static run_output_kind find_kind(const char *extension, const cvtm_format **format) {
  static const struct {
    run_output_kind kind;
    unsigned role;
  } kinds[] = {{RUN_OUTPUT_DRAWING, CVTM_WRITES_DRAWING},
               {RUN_OUTPUT_PICTURE, CVTM_WRITES_PICTURE},
               {RUN_OUTPUT_MESH, CVTM_WRITES_MESH},
               {RUN_OUTPUT_POINTS, CVTM_WRITES_POINTS}};
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; ++k) {
    *format = cvtm_format_find(cvtm_drawing_formats, extension, kinds[k].role);
    if (*format == NULL) *format = cvtm_format_find(cvtm_formats, extension, kinds[k].role);
    if (*format != NULL) return kinds[k].kind;
  }
  return RUN_OUTPUT_UNKNOWN;
}

static run_output_kind kind_of_extension(const cvtm_run_options *options, const char *extension) {
  const cvtm_format *f;
  const run_output_kind kind = find_kind(extension, &f);
  if (options->purpose == CVTM_RUN_LABELS && kind != RUN_OUTPUT_PICTURE)
    return strcmp(extension, "npy") == 0 ? RUN_OUTPUT_LABELS : RUN_OUTPUT_UNKNOWN;
  const int is_of_pens = kind == RUN_OUTPUT_DRAWING && cvtm_format_has(f, CVTM_NEEDS_PAGE);
  return options->purpose == CVTM_RUN_VIEW && is_of_pens ? RUN_OUTPUT_UNKNOWN : kind;
}

run_output_kind run_output_kind_of(const cvtm_run_options *options, const char *path) {
  char buffer[RUN_EXTENSION_MAX];
  return kind_of_extension(options, run_output_extension(options, path, buffer));
}

const cvtm_format *run_output_format(const cvtm_run_options *options, const char *path) {
  char buffer[RUN_EXTENSION_MAX];
  const cvtm_format *f;
  (void)find_kind(run_output_extension(options, path, buffer), &f);
  return f;
}

void run_output_visit(const cvtm_run_options *options, run_format_visitor visitor, void *context) {
  const cvtm_format *f, *first;
  for (int k = 0; (f = run_format_at(k)) != NULL; ++k) {
    const run_output_kind kind = kind_of_extension(options, f->extension);
    if (kind == RUN_OUTPUT_LABELS ||
        (kind != RUN_OUTPUT_UNKNOWN && find_kind(f->extension, &first) == kind && first == f))
      visitor(context, kind, f);
  }
}

typedef struct known_formats {
  run_nearest nearest;
  char list[CVTM_FORMAT_NAMES]; /* each name after a blank */
  size_t used;
} known_formats;

/* A run_format_visitor. */
static void offer_format(void *context, run_output_kind kind, const cvtm_format *f) {
  known_formats *known = context;
  const char *const names[] = {f->extension, f->alias};
  (void)kind;
  for (int k = 0; k < 2 && names[k] != NULL; ++k) {
    run_nearest_offer(&known->nearest, names[k]);
    if (known->used < sizeof known->list)
      known->used += (size_t)snprintf(known->list + known->used, sizeof known->list - known->used,
                                      " %s", names[k]);
  }
}

/* Refuses an output by its extension, and names the extensions that this command writes. */
static cvtm_status refuse_extension(const cvtm_run_options *options, const char *path,
                                    const char *extension, cvtm_error *error) {
  known_formats known = {.nearest = run_nearest_start(extension)};
  run_output_visit(options, offer_format, &known);
  const char *words =
      options->format == NULL ? "" : "; words: ascii, binary, zlib, lz4, msh2, cps, cpe, shell";
  if (is_stream(path)) path = "standard output";
  if (*extension == '\0')
    return run_usage_error(error, "%s: the name has no extension; formats:%s", path, known.list);
  if (known.nearest.best != NULL)
    return run_usage_error(error, "%s: '%s' is not a format; did you mean '%s'? Formats:%s%s", path,
                           extension, known.nearest.best, known.list, words);
  return run_usage_error(error, "%s: '%s' is not a format written here; formats:%s%s", path,
                         extension, known.list, words);
}

/* True if one of the outputs can hold the nodes of --element-order 2. */
static int holds_middle_nodes(const cvtm_run_options *options) {
  for (int k = 0; k < options->output.count; ++k) {
    const cvtm_format *f = run_output_format(options, options->output.item[k]);
    if (f != NULL && cvtm_format_has(f, CVTM_HOLDS_SECOND_ORDER)) return 1;
  }
  return 0;
}

/* Refuses an output whose format this build, a stream or a mesh without a domain cannot have. */
static cvtm_status check_format(const cvtm_run_options *options, const char *path,
                                cvtm_error *error) {
  const cvtm_format *f = run_output_format(options, path);
  const int has_text = cvtm_format_has(f, CVTM_TEXT_OR_BINARY);
  const int has_library = f->dependency == NULL || (options->ascii && has_text) || f->has_library();
  if (!has_library && has_text)
    return run_usage_error(error, "%s: this build has no %s; --format ascii needs none", path,
                           f->dependency);
  if (!has_library) return run_usage_error(error, "%s: this build has no %s", path, f->dependency);
  if (is_stream(path) && f->files_beside[0].ending != NULL && !options->ascii)
    return run_usage_error(error, "%s goes to a stream only with --format ascii", f->extension);
  if (cvtm_format_has(f, CVTM_NEEDS_GROUPS) && options->domain.kind == CVTM_RUN_DOMAIN_NONE &&
      options->purpose != CVTM_RUN_OUTLINE)
    return run_usage_error(error, "%s: writing a boundary needs --domain", path);
  return CVTM_OK;
}

static cvtm_status check_extensions(const cvtm_run_options *options, cvtm_error *error) {
  char buffer[RUN_EXTENSION_MAX], known[CVTM_FORMAT_NAMES];
  if (options->element_order == 2 && options->output.count > 0 && !holds_middle_nodes(options))
    return run_usage_error(
        error, "--element-order 2: no output has one of the formats %s",
        cvtm_format_names(cvtm_formats, CVTM_HOLDS_SECOND_ORDER, ", ", known, sizeof known));
  if (!cvtm_compression_known(options->compression))
    return run_usage_error(error, "--format %s: this build does not have it",
                           options->compression == CVTM_COMPRESS_ZLIB ? "zlib" : "lz4");
  for (int k = 0; k < options->output.count; ++k) {
    const char *path = options->output.item[k];
    if (run_output_kind_of(options, path) == RUN_OUTPUT_UNKNOWN)
      return refuse_extension(options, path, run_output_extension(options, path, buffer), error);
    CVTM_TRY(check_format(options, path, error));
  }
  if (run_output_kind_of(options, "-") == RUN_OUTPUT_UNKNOWN)
    return refuse_extension(options, "-", options->format, error);
  const struct {
    const char *option, *path;
  } arrays[] = {{"density-out", options->density_out},
                {"weights-out", options->equal_mass.weights_out},
                {"pairs-out", options->domain.pairs_out}};
  for (size_t k = 0; k < sizeof arrays / sizeof arrays[0]; ++k)
    if (arrays[k].path != NULL &&
        strcmp(cvtm_file_extension(arrays[k].path, buffer, sizeof buffer), "npy") != 0)
      return run_usage_error(error, "%s: --%s is written as .npy", arrays[k].path,
                             arrays[k].option);
  return CVTM_OK;
}

/* Sets *picture by --layers and --picture-size. */
static void choose_picture(const cvtm_run_options *options, cvtm_picture_options *picture) {
  cvtm_picture_defaults(picture);
  picture->long_side = (int)options->picture_size;
  picture->invert = options->invert;
  if (options->purpose == CVTM_RUN_OUTLINE) picture->layers = CVTM_PICTURE_MESH_EDGES;
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

static cvtm_status write_scene_picture(const run_scene *scene, const char *path,
                                       cvtm_error *error) {
  const cvtm_pixels_writer write = run_output_format(scene->options, path)->write_pixels;
  cvtm_picture_options picture;
  if (scene->colours != NULL || run_page_shows_plot(scene->options, path))
    return run_page_picture(scene, path, write, error);
  choose_picture(scene->options, &picture);
  picture.write = write;
  return cvtm_picture_write(path, scene->density, scene->domain, scene->mesh, scene->cells,
                            &picture, error);
}

/* Sets how a mesh becomes a file. */
static cvtm_status choose_mesh_file(const run_scene *scene, const char *extension,
                                    cvtm_mesh_file_options *how, cvtm_error *error) {
  const cvtm_run_options *options = scene->options;
  run_frame frame;
  CVTM_TRY(run_frame_find(options, scene->domain, &frame, error));
  *how = (cvtm_mesh_file_options){.domain = scene->domain,
                                  .unit = options->unit == CVTM_RUN_UNIT_WIDTH,
                                  .ascii = options->ascii,
                                  .binary = options->binary,
                                  .msh_version = options->msh_version,
                                  .inp_elements = options->inp_elements,
                                  .vertex_data = scene->original ? scene->original : scene->mass,
                                  .vertex_data_name = scene->original ? "original" : NULL,
                                  .compression = options->compression,
                                  .regions = scene->regions,
                                  .second = scene->second,
                                  .labels = scene->labels,
                                  .format = extension,
                                  .scale = frame.scale,
                                  .left = frame.left,
                                  .bottom = frame.bottom};
  return CVTM_OK;
}

static cvtm_status write_mesh(const run_scene *scene, const char *path, const char *extension,
                              cvtm_error *error) {
  cvtm_mesh_file_options how;
  const cvtm_status status = choose_mesh_file(scene, extension, &how, error);
  return status == CVTM_OK ? cvtm_mesh_write(path, scene->mesh, &how, error) : status;
}

static cvtm_status put_points(const run_scene *scene, const char *path, const char *extension,
                              const double *points, cvtm_error *error) {
  if (scene->colours != NULL)
    return cvtm_points_write_classes(extension, path, points, scene->colours->start,
                                     scene->colours->count, error);
  return cvtm_points_write_ids(extension, path, points, scene->id, scene->count, error);
}

static cvtm_status write_points(const run_scene *scene, const char *path, const char *extension,
                                cvtm_error *error) {
  run_frame frame;
  CVTM_TRY(run_frame_find(scene->options, scene->domain, &frame, error));
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
  cvtm_status status = put_points(scene, path, extension, placed, error);
  free(placed);
  return status;
}

/* The scene in the coordinates of a file of this kind. */
static const run_scene *scene_for(const run_scene *scene, run_output_kind kind) {
  const int has_places = (kind == RUN_OUTPUT_MESH || kind == RUN_OUTPUT_POINTS) &&
                         scene->options->unit != CVTM_RUN_UNIT_WIDTH &&
                         !run_has_page(scene->options);
  return scene->drawn != NULL && !has_places ? scene->drawn : scene;
}

static int whole_side(double side) { return (int)fmax(ceil(side - 1e-9 * side), 1); }

cvtm_domain run_drawing_domain(const double sides[4], double *scale) {
  const double largest = 16384, scaled = 1024;
  const double width = sides[2] - sides[0], height = sides[3] - sides[1];
  const double longer = fmax(width, height);
  *scale = longer > 0 && (longer < RUN_DRAWING_LEAST || longer > largest) ? scaled / longer : 1;
  return (cvtm_domain){whole_side(*scale * width), whole_side(*scale * height), 0};
}

double *run_scene_place(const run_scene *scene) {
  cvtm_mesh_file_options how;
  scene = scene_for(scene, RUN_OUTPUT_MESH);
  if (choose_mesh_file(scene, NULL, &how, NULL) != CVTM_OK) return NULL;
  how.second = NULL;
  return cvtm_mesh_file_points(scene->mesh, &how);
}

static cvtm_status write_scene_file(void *context, const char *path, const char *extension,
                                    cvtm_error *error) {
  const run_scene *scene = context;
  const run_output_kind kind = run_output_kind_of(scene->options, path);
  scene = scene_for(scene, kind);
  switch (kind) {
    case RUN_OUTPUT_MESH:
      return write_mesh(scene, path, extension, error);
    case RUN_OUTPUT_POINTS:
      return write_points(scene, path, extension, error);
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

#include "cli/output.h"

#include "base/file.h"
#include "cli/cli.h"
#include "cli/colours.h"
#include "cli/domain.h"
#include "cli/page.h"
#include "cli/stipples.h"
#include "meshes/mesh_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int is_stream(const char *path) { return strcmp(path, "-") == 0; }

const char *cli_output_extension(const cli_options *options, const char *path, char *buffer) {
  return is_stream(path) ? options->format : cvtm_file_extension(path, buffer, CLI_EXTENSION_MAX);
}

cli_output_kind cli_output_kind_of(const cli_options *options, const char *path) {
  char name[CLI_EXTENSION_MAX + 8], buffer[CLI_EXTENSION_MAX];
  const char *extension = cli_output_extension(options, path, buffer);
  if (is_stream(path)) {
    snprintf(name, sizeof name, "stdout.%s", options->format);
    path = name;
  }
  const int png = strcmp(extension, "png") == 0;
  if (options->command == CLI_VORONOI) {
    if (png) return CLI_OUTPUT_PICTURE;
    if (strcmp(extension, "npy") == 0) return CLI_OUTPUT_LABELS;
    return strcmp(extension, "ppm") == 0 ? CLI_OUTPUT_PPM : CLI_OUTPUT_UNKNOWN;
  }
  if (strcmp(extension, "svg") == 0) return CLI_OUTPUT_SVG;
  if (png) return CLI_OUTPUT_PICTURE;
  const int is_for_another =
      options->command == CLI_VIEW && cli_page_extension_is_of_pens(extension);
  if (cli_page_extension_known(extension) && !is_for_another) return CLI_OUTPUT_DRAWING;
  if (cvtm_mesh_format_known(path)) return CLI_OUTPUT_MESH;
  return cvtm_points_format_known(path) ? CLI_OUTPUT_POINTS : CLI_OUTPUT_UNKNOWN;
}

/* Checks that `path` can be written: creates its temporary file and removes it again. */
static cvtm_status probe(const char *path, cvtm_error *error) {
  struct stat found;
  if (is_stream(path)) return CVTM_OK;
  /* Opening a pipe or a device may have effects, so they are opened only to be written. */
  if (lstat(path, &found) == 0 && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode))
    return CVTM_OK;
  cvtm_output *output;
  cvtm_status status = cvtm_output_open(path, &output, error);
  if (status == CVTM_OK) cvtm_output_abort(output);
  return status;
}

/* A cli_file_visitor; the context is a cvtm_error. */
static void probe_written(void *context, cli_file_use use, const char *option, const char *path) {
  cvtm_error *error = context;
  (void)option;
  if (use == CLI_FILE_WRITTEN && error->status == CVTM_OK) (void)probe(path, error);
}

static int has_extension(const char *path, const char *wanted) {
  char buffer[64];
  return path == NULL || strcmp(cvtm_file_extension(path, buffer, sizeof buffer), wanted) == 0;
}

/* Refuses an output by its extension, and names those that this command writes. */
static int refuse_extension(const cli_options *options, const char *path, const char *extension) {
  static const char *const every[] = {"obj",  "off", "ply",  "stl",  "vtk",   "vtu", "msh", "inp",
                                      "node", "ele", "poly", "xdmf", "csv",   "npy", "xyz", "svg",
                                      "pdf",  "dxf", "hpgl", "plt",  "gcode", "nc",  "png", "ppm"};
  cli_nearest nearest = cli_nearest_start(extension);
  char list[128] = "";
  size_t used = 0;
  for (size_t k = 0; k < sizeof every / sizeof every[0]; ++k) {
    char name[16];
    snprintf(name, sizeof name, "x.%s", every[k]);
    if (cli_output_kind_of(options, name) == CLI_OUTPUT_UNKNOWN) continue;
    cli_nearest_offer(&nearest, every[k]);
    if (used < sizeof list)
      used += (size_t)snprintf(list + used, sizeof list - used, " %s", every[k]);
  }
  if (is_stream(path)) path = "--format";
  if (*extension == '\0')
    return cli_usage_error(options->command, "%s: the name has no extension; formats:%s", path,
                           list);
  if (nearest.best != NULL)
    return cli_usage_error(options->command, "%s: '%s' is no format; did you mean '%s'? Formats:%s",
                           path, extension, nearest.best, list);
  return cli_usage_error(options->command, "%s: '%s' is not a format written here; formats:%s",
                         path, extension, list);
}

/* True if the nodes of --element-order 2 have a place in one of the outputs. */
static int holds_middle_nodes(const cli_options *options) {
  static const char *const formats[] = {"vtu", "vtk", "msh", "inp", "ele", "node", "xdmf"};
  char buffer[CLI_EXTENSION_MAX];
  for (int k = 0; k < options->output.count; ++k) {
    const char *extension = cli_output_extension(options, options->output.item[k], buffer);
    for (size_t f = 0; f < sizeof formats / sizeof formats[0]; ++f)
      if (strcmp(extension, formats[f]) == 0) return 1;
  }
  return 0;
}

static int check_extensions(const cli_options *options) {
  char buffer[CLI_EXTENSION_MAX];
  if (options->element_order == 2 && options->output.count > 0 && !holds_middle_nodes(options))
    return cli_usage_error(options->command,
                           "--element-order 2: no output is vtu, vtk, msh, inp, ele or xdmf");
  for (int k = 0; k < options->output.count && !options->ascii; ++k) {
    const char *path = options->output.item[k];
    if (strcmp(cli_output_extension(options, path, buffer), "xdmf") != 0) continue;
    if (!cvtm_hdf5_known())
      return cli_usage_error(options->command,
                             "%s: this build has no HDF5; --format ascii needs none", path);
    if (is_stream(path))
      return cli_usage_error(options->command, "XDMF goes to a stream with --format ascii alone");
  }
  if (!cvtm_compression_known((cvtm_compression)options->compression))
    return cli_usage_error(options->command, "--format %s: this build does not have it",
                           options->format_text);
  for (int k = 0; k < options->output.count; ++k) {
    const char *path = options->output.item[k];
    if (strcmp(cli_output_extension(options, path, buffer), "poly") == 0 &&
        options->domain.kind == CLI_DOMAIN_NONE && !cli_outline_wanted(options))
      return cli_usage_error(options->command, "%s: a boundary to write needs --domain", path);
    if (cli_output_kind_of(options, path) != CLI_OUTPUT_UNKNOWN) continue;
    return refuse_extension(options, path, cli_output_extension(options, path, buffer));
  }
  if (cli_output_kind_of(options, "-") == CLI_OUTPUT_UNKNOWN)
    return refuse_extension(options, "-", options->format);
  if (!has_extension(options->density_out, "npy"))
    return cli_usage_error(options->command, "%s: --density-out is written as .npy",
                           options->density_out);
  if (!has_extension(options->equal_mass.weights_out, "npy"))
    return cli_usage_error(options->command, "%s: --weights-out is written as .npy",
                           options->equal_mass.weights_out);
  if (!has_extension(options->domain.pairs_out, "npy"))
    return cli_usage_error(options->command, "%s: --pairs-out is written as .npy",
                           options->domain.pairs_out);
  return CLI_EXIT_OK;
}

static unsigned layer_bit(const char *name, size_t length) {
  static const struct {
    const char *name;
    unsigned bit;
  } layers[] = {{"density", CVTM_PICTURE_DENSITY},       {"cells", CVTM_PICTURE_CELLS},
                {"cell-edges", CVTM_PICTURE_CELL_EDGES}, {"triangles", CVTM_PICTURE_TRIANGLES},
                {"mesh-edges", CVTM_PICTURE_MESH_EDGES}, {"sites", CVTM_PICTURE_SITES},
                {"stipples", CVTM_PICTURE_STIPPLES}};
  for (size_t k = 0; k < sizeof layers / sizeof layers[0]; ++k)
    if (strlen(layers[k].name) == length && strncmp(layers[k].name, name, length) == 0)
      return layers[k].bit;
  return 0;
}

/* Sets *picture by --layers and --picture-size. Returns CLI_EXIT_OK, or CLI_EXIT_USAGE after a
 * message. */
static int choose_picture(const cli_options *options, cvtm_picture_options *picture) {
  cvtm_picture_defaults(picture);
  picture->long_side = (int)options->picture_size;
  picture->invert = options->invert;
  if (options->layers == NULL) return CLI_EXIT_OK;
  picture->layers = 0;
  for (const char *name = options->layers;; ++name) {
    size_t length = strcspn(name, ",");
    unsigned bit = layer_bit(name, length);
    if (bit == 0)
      return cli_usage_error(options->command, "--layers: there is no layer '%.*s'", (int)length,
                             name);
    picture->layers |= bit;
    name += length;
    if (*name == '\0') return CLI_EXIT_OK;
  }
}

int cli_outputs_check_names(const cli_options *options) {
  int code = check_extensions(options);
  if (code != CLI_EXIT_OK) return code;
  cvtm_picture_options picture;
  return choose_picture(options, &picture);
}

int cli_outputs_check(const cli_options *options) {
  int code = cli_outputs_check_names(options);
  if (code != CLI_EXIT_OK) return code;
  cvtm_error error = {CVTM_OK, ""};
  cli_options_visit_files(options, probe_written, &error);
  return error.status == CVTM_OK ? CLI_EXIT_OK : cli_failed(CLI_WRITING, error.status, &error);
}

int cli_outputs_have_mesh(const cli_options *options) {
  for (int k = 0; k < options->output.count; ++k)
    if (cli_output_kind_of(options, options->output.item[k]) == CLI_OUTPUT_MESH) return 1;
  return 0;
}

int cli_outputs_draw(const cli_options *options) {
  for (int k = 0; k < options->output.count; ++k) {
    const cli_output_kind kind = cli_output_kind_of(options, options->output.item[k]);
    if (kind != CLI_OUTPUT_MESH && kind != CLI_OUTPUT_POINTS) return 1;
  }
  return 0;
}

int cli_outputs_check_npy(const cli_options *options) {
  for (int k = 0; k < options->output.count; ++k) {
    const char *path = options->output.item[k];
    if (is_stream(path) ? strcmp(options->format, "npy") != 0 : !has_extension(path, "npy"))
      return cli_usage_error(options->command, "%s: x is written as .npy", path);
  }
  return cli_outputs_check(options);
}

cvtm_status cli_outputs_write(const cli_options *options, cli_writer writer, void *context,
                              cvtm_error *error) {
  cvtm_status status = CVTM_OK;
  for (int k = 0; k < options->output.count && status == CVTM_OK; ++k) {
    char buffer[CLI_EXTENSION_MAX];
    const char *path = options->output.item[k];
    status = writer(context, path, cli_output_extension(options, path, buffer), error);
  }
  return status;
}

static cvtm_status write_svg(const cli_scene *scene, const char *path, cvtm_error *error) {
  if (scene->options->page.size != NULL || scene->colours != NULL)
    return cli_page_write(scene, path, "svg", error);
  cvtm_svg_kind kind = (cvtm_svg_kind)scene->options->svg;
  if (kind == CVTM_SVG_PATH && scene->options->order == CLI_ORDER_TSP) kind = CVTM_SVG_TOUR;
  return cvtm_svg_write(path, kind, scene->mesh, scene->cells, scene->radius,
                        cli_stipples_are_light(scene->options), scene->options->world.mm,
                        scene->domain, error);
}

static cvtm_status write_scene_picture(const cli_scene *scene, const char *path,
                                       cvtm_error *error) {
  cvtm_picture_options picture;
  if (scene->colours != NULL)
    return cli_colours_picture(scene->colours, scene->sites, scene->options->picture_size, path,
                               error);
  if (choose_picture(scene->options, &picture) != CLI_EXIT_OK)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%s: unknown layer", path);
  return cvtm_picture_write(path, scene->density, scene->domain, scene->mesh, scene->cells,
                            &picture, error);
}

static cvtm_status write_mesh(const cli_scene *scene, const char *path, const char *extension,
                              cvtm_error *error) {
  const cli_options *options = scene->options;
  cli_frame frame;
  const cvtm_status status = cli_frame_find(options, scene->domain, &frame, error);
  if (status != CVTM_OK) return status;
  const cvtm_mesh_file_options how = {
      .domain = scene->domain,
      .unit = options->unit == CLI_UNIT_WIDTH,
      .ascii = options->ascii,
      .binary = options->binary,
      .msh_version = (cvtm_msh_version)options->msh_version,
      .vertex_data = scene->original ? scene->original : scene->mass,
      .vertex_data_name = scene->original ? "original" : NULL,
      .compression = (cvtm_compression)options->compression,
      .regions = scene->regions,
      .second = scene->second,
      .format = extension,
      .scale = frame.scale,
      .left = frame.left,
      .bottom = frame.bottom};
  return cvtm_mesh_write(path, scene->mesh, &how, error);
}

static cvtm_status put_points(const cli_scene *scene, const char *path, const char *extension,
                              const double *points, cvtm_error *error) {
  if (scene->colours != NULL)
    return cvtm_points_write_classes(extension, path, points, scene->colours->start,
                                     scene->colours->count, error);
  return cvtm_points_write_as(extension, path, points, scene->count, error);
}

static cvtm_status write_points(const cli_scene *scene, const char *path, const char *extension,
                                cvtm_error *error) {
  cli_frame frame;
  cvtm_status status = cli_frame_find(scene->options, scene->domain, &frame, error);
  if (status != CVTM_OK) return status;
  if (!(cli_unit_mm(scene->options->unit) > 0) && !frame.is_up)
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
  const cli_scene *scene = context;
  const cli_output_kind kind = cli_output_kind_of(scene->options, path);
  const int has_places = (kind == CLI_OUTPUT_MESH || kind == CLI_OUTPUT_POINTS) &&
                         scene->options->unit != CLI_UNIT_WIDTH &&
                         scene->options->page.size == NULL;
  if (scene->drawn != NULL && !has_places) scene = scene->drawn;
  switch (kind) {
    case CLI_OUTPUT_MESH:
      return write_mesh(scene, path, extension, error);
    case CLI_OUTPUT_POINTS:
      return write_points(scene, path, extension, error);
    case CLI_OUTPUT_SVG:
      return write_svg(scene, path, error);
    case CLI_OUTPUT_DRAWING:
      return cli_page_write(scene, path, extension, error);
    case CLI_OUTPUT_PICTURE:
      return write_scene_picture(scene, path, error);
    default:
      return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%s: unknown format", path);
  }
}

cvtm_status cli_scene_write(const cli_scene *scene, cvtm_error *error) {
  cli_scene context = *scene;
  return cli_outputs_write(scene->options, write_scene_file, &context, error);
}

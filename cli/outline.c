#include "cli/outline.h"

#include "base/clock.h"
#include "base/file.h"
#include "cli/cli.h"
#include "cli/domain.h"
#include "cli/input.h"
#include "cli/metric.h"
#include "cli/output.h"
#include "cli/page.h"
#include "cli/progress.h"
#include "cli/refine.h"
#include "cli/report.h"
#include "cli/world.h"
#include "meshes/mesh_file.h"
#include "meshes/polygon_file.h"
#include "meshes/domain/pslg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct outline {
  cli_options options;
  cvtm_domain domain;
  cvtm_polygons polygons; /* or, of a file with several regions, */
  cvtm_pslg graph;        /* its boundary is moved to the field below */
  int y_up;               /* in the file; here y is down */
  cvtm_boundary boundary, refined;
  cli_area_caps caps;
  cvtm_refine_options refine;
  cvtm_refine_figures figures;
  cvtm_metric_field metric; /* of --metric */
  cvtm_adapt_figures adapted;
  double *points;
  int64_t count;
  cvtm_mesh mesh;
  cvtm_cells cells;
  cvtm_regions regions;
  cvtm_second_order second; /* of --element-order 2; else empty */
  cvtm_quality quality;
  double sides[4];          /* of the rectangle around the outline: left, upper, right, lower */
  double seconds, deadline; /* deadline: 0, or when the refinement has to end */
} outline;

int cli_outline_wanted(const cli_options *options) {
  return cli_option_given(options, "min-angle") || options->refine.max_area.count > 0 ||
         options->size.from != NULL || options->metric.from != NULL;
}

/* The rectangle of pictures: from 0 to the largest coordinates, or of the sides that the options
 * give. */
static cvtm_domain domain_around(const cli_options *options, const double *points, int64_t count) {
  double side[2] = {1, 1};
  for (int64_t i = 0; i < 2 * count; ++i) side[i % 2] = fmax(side[i % 2], ceil(points[i]));
  const int64_t width = options->width > 0 ? options->width : (int64_t)side[0];
  const int64_t height = options->height > 0 ? options->height : (int64_t)side[1];
  return (cvtm_domain){(int)(width < CVTM_MAX_SIDE ? width : CVTM_MAX_SIDE),
                       (int)(height < CVTM_MAX_SIDE ? height : CVTM_MAX_SIDE), 0};
}

/* The rings as edges with the inside, region 1, on their left. */
static cvtm_status bound_rings(outline *o, cvtm_error *error) {
  const cvtm_polygons *p = &o->polygons;
  const int64_t n = p->start[p->ring_count];
  const size_t size = (size_t)n;
  cvtm_boundary *b = &o->boundary;
  *b = (cvtm_boundary){.vertex_count = n,
                       .points = malloc(2 * size * sizeof *b->points),
                       .corner = malloc(size),
                       .edges = malloc(2 * size * sizeof *b->edges),
                       .left = calloc(size, sizeof *b->left),
                       .right = calloc(size, sizeof *b->right)};
  if (!b->points || !b->corner || !b->edges || !b->left || !b->right)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for %lld corners", (long long)n);
  memcpy(b->points, p->points, 2 * size * sizeof *b->points);
  memset(b->corner, 1, size);
  for (int64_t r = 0; r < p->ring_count; ++r) {
    for (int64_t k = p->start[r]; k < p->start[r + 1]; ++k) {
      const int64_t next = k + 1 < p->start[r + 1] ? k + 1 : p->start[r], e = b->edge_count++;
      b->edges[2 * e] = (int32_t)k;
      b->edges[2 * e + 1] = (int32_t)next;
      b->left[e] = 1;
    }
  }
  return CVTM_OK;
}

/* The frame of a picture. */
static cvtm_status take_frame(outline *o, cvtm_error *error) {
  cvtm_polygons *p = &o->polygons;
  cvtm_status status = cli_metric_picture_size(&o->options, &o->domain, error);
  if (status != CVTM_OK) return status;
  const double w = o->domain.width, h = o->domain.height;
  const double corners[8] = {0, h, w, h, w, 0, 0, 0};
  *p = (cvtm_polygons){1, calloc(2, sizeof *p->start), malloc(sizeof corners), 0};
  if (p->start == NULL || p->points == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the frame");
  p->start[1] = 4;
  memcpy(p->points, corners, sizeof corners);
  return bound_rings(o, error);
}

/* Areas that the file asks for are like those of --max-area. */
static cvtm_status take_graph(outline *o, cvtm_error *error) {
  cli_area_caps *caps = &o->caps;
  o->domain = domain_around(&o->options, o->graph.boundary.points, o->graph.boundary.vertex_count);
  cvtm_pslg_turn(&o->graph, o->y_up, o->domain.height);
  o->boundary = o->graph.boundary;
  o->graph.boundary = (cvtm_boundary){0};
  if (o->graph.area_count > CLI_LIST_MAX - caps->count)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: more than %d regions have an area",
                     o->options.input, CLI_LIST_MAX - caps->count);
  for (int64_t k = 0; k < o->graph.area_count; ++k)
    caps->cap[caps->count++] = (cli_area_cap){o->graph.areas[k].region, o->graph.areas[k].area, -1};
  return CVTM_OK;
}

static cvtm_status read_rings(outline *o, cvtm_error *error) {
  const char *path = o->options.input;
  const cvtm_status status = cvtm_polygons_read(path, &o->polygons, error);
  if (status != CVTM_OK) return status;
  o->domain =
      domain_around(&o->options, o->polygons.points, o->polygons.start[o->polygons.ring_count]);
  o->polygons.y_up = o->y_up;
  cvtm_polygons_turn(&o->polygons, o->domain.height);
  return bound_rings(o, error);
}

/* Coordinates of an outline have y up, like those of its mesh, except in SVG. */
static cvtm_status read_outline(outline *o, cvtm_error *error) {
  const char *path = o->options.input;
  char buffer[16];
  int is_rings = 1;
  if (cli_metric_is_of_picture(&o->options)) return take_frame(o, error);
  const cvtm_status status =
      cli_name_file(path, cli_read_pslg(&o->options, path, &o->graph, &is_rings, error), error);
  o->y_up = strcmp(cvtm_file_extension(path, buffer, sizeof buffer), "svg") != 0;
  if (status != CVTM_OK) return status;
  return is_rings ? read_rings(o, error) : take_graph(o, error);
}

static void find_sides(outline *o) {
  const double *points = o->boundary.points;
  for (int k = 0; k < 4; ++k) o->sides[k] = points[k % 2];
  for (int64_t i = 0; i < 2 * o->boundary.vertex_count; ++i) {
    o->sides[i % 2] = fmin(o->sides[i % 2], points[i]);
    o->sides[2 + i % 2] = fmax(o->sides[2 + i % 2], points[i]);
  }
}

/* Of a periodic outline: the pairs of the mesh, between the sides that are alike. */
static cvtm_status pair_sides(outline *o, cvtm_error *error) {
  const int64_t *paired = o->figures.paired;
  double sides[4];
  if (!o->options.periodic) return CVTM_OK;
  if (paired[0] + paired[1] == 0)
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "--periodic: no edges on opposite sides of the outline are alike");
  for (int k = 0; k < 4; ++k) sides[k] = paired[k % 2] > 0 ? o->sides[k] : NAN;
  const cvtm_status status = cvtm_regions_pair(&o->mesh, sides, &o->regions, error);
  if (status != CVTM_OK || o->figures.unpaired + o->regions.unpaired == 0) return status;
  return cvtm_fail(error, CVTM_ERROR_INPUT,
                   "--periodic: %lld edges and %lld points on sides of the outline have no copy on "
                   "the opposite side",
                   (long long)o->figures.unpaired, (long long)o->regions.unpaired);
}

static cvtm_status triangulate_refined(outline *o, cvtm_error *error) {
  int32_t *source = NULL;
  cvtm_status status =
      cvtm_refine(o->boundary.points, o->boundary.vertex_count, &o->boundary, &o->refine,
                  &o->points, &o->count, &o->refined, &source, &o->figures, error);
  free(source);
  source = NULL;
  if (status == CVTM_OK)
    status = cvtm_constrained_delaunay(o->points, o->count, &o->refined, &o->mesh, &o->regions,
                                       &source, error);
  free(source);
  return status;
}

static cvtm_status mesh_outline(outline *o, cvtm_error *error) {
  const double start = cvtm_clock();
  cvtm_status status =
      o->options.metric.from != NULL
          ? cvtm_adapt(&o->boundary, &o->metric, o->options.points, o->refine.stop,
                       o->refine.stop_context, &o->mesh, &o->regions, &o->adapted, error)
          : triangulate_refined(o, error);
  o->seconds = cvtm_clock() - start;
  if (status == CVTM_OK)
    status = cvtm_regions_group(&o->mesh, o->domain, o->graph.names, o->graph.name_count,
                                &o->regions, error);
  if (status == CVTM_OK) status = pair_sides(o, error);
  if (status == CVTM_OK && o->options.element_order == 2)
    status = cvtm_second_order_create(&o->mesh, &o->regions, NULL, &o->second, error);
  if (status == CVTM_OK) status = cvtm_cells_of_domain(&o->mesh, &o->cells, error);
  if (status == CVTM_OK) status = cvtm_quality_compute(&o->mesh, NULL, &o->quality, error);
  return cli_name_file(o->options.input, status, error);
}

static cvtm_status write_outline_report(const outline *o, cvtm_error *error) {
  if (o->options.report == NULL) return CVTM_OK;
  cJSON *report = cli_report_begin(NULL, &o->options);
  cli_json_integer(report, "width", o->domain.width);
  cli_json_integer(report, "height", o->domain.height);
  cli_json_integer(report, "sites", o->mesh.vertex_count);
  cli_json_integer(report, "triangles", o->mesh.triangle_count);
  cli_json_integer(report, "input_corners", o->boundary.vertex_count);
  if (o->regions.pairs != NULL) cli_json_integer(report, "pairs", o->regions.pair_count);
  if (o->options.metric.from != NULL)
    cli_metric_report(&o->adapted, report);
  else
    cli_refine_report(&o->refine, &o->figures, o->y_up ? o->domain.height : 0, report);
  cJSON *seconds = cJSON_AddObjectToObject(report, "seconds");
  cli_json_real(seconds, "mesh", o->seconds);
  cli_page_report(&o->options, o->domain, report);
  cli_world_report(&o->options, o->domain, &o->mesh, report);
  cli_json_quality(report, &o->quality);
  return cli_json_write(o->options.report, report, error);
}

static void print_outline_summary(const outline *o) {
  const cvtm_quality_figures *all = &o->quality.all;
  fprintf(stderr, "%s: %lld %s, %lld %s, %lld %s in %.3f seconds\n", cli_visible(o->options.input),
          (long long)o->boundary.vertex_count,
          cli_word(o->boundary.vertex_count, "corner", "corners"), (long long)o->mesh.vertex_count,
          cli_word(o->mesh.vertex_count, "point", "points"), (long long)o->mesh.triangle_count,
          cli_word(o->mesh.triangle_count, "triangle", "triangles"), o->seconds);
  fprintf(stderr, "  smallest angle %.3g degrees, mean %.1f; mean Q %.4f\n", all->min_angle,
          all->mean_min_angle, all->mean_q);
  cli_world_print(&o->options, o->domain, stderr);
  if (o->regions.pairs != NULL)
    fprintf(stderr, "  periodic   %lld %s of vertices on opposite sides\n",
            (long long)o->regions.pair_count, cli_word(o->regions.pair_count, "pair", "pairs"));
  if (o->options.metric.from != NULL)
    cli_metric_print_summary(&o->adapted);
  else
    cli_refine_print_summary(&o->refine, &o->figures);
}

static int perform_outline(outline *o) {
  cli_options *options = &o->options;
  cvtm_error error = {CVTM_OK, ""};
  if (options->output.count == 0 && options->report == NULL)
    return cli_missing(CLI_MESH, "--output");
  if (options->domain.pairs_out != NULL && !options->periodic)
    return cli_usage_error(CLI_MESH, "--pairs-out needs --periodic");
  if (options->order != CLI_ORDER_NONE)
    return cli_usage_error(CLI_MESH, "--order has no use for the mesh of an outline");
  if (strcmp(options->device, "auto") != 0 && strcmp(options->device, "cpu") != 0)
    return cli_usage_error(CLI_MESH, "--device %s: an outline is meshed on the CPU",
                           options->device);
  int code = cli_area_caps_read(options, &o->caps);
  if (code == CLI_EXIT_OK) code = cli_size_from_check(options);
  if (code == CLI_EXIT_OK) code = cli_metric_check(options);
  if (code == CLI_EXIT_OK) code = cli_page_check(options);
  if (code == CLI_EXIT_OK) code = cli_outputs_check(options);
  if (code != CLI_EXIT_OK) return code;
  cvtm_status status = read_outline(o, &error);
  if (status != CVTM_OK) return cli_failed(CLI_READING, status, &error);
  options->width = o->domain.width;
  options->height = o->domain.height;
  find_sides(o);
  status = cli_world_set(options, NULL, options->input, o->domain.height, &error);
  if (status == CVTM_OK) status = cli_area_caps_convert(options, o->domain, &o->caps, &error);
  if (status == CVTM_OK && options->size.from != NULL)
    status = cli_size_raster_read(options, o->domain, o->sides, &o->caps.sizes, &error);
  if (status == CVTM_OK && options->metric.from != NULL)
    status = cli_metric_read(options, o->domain, o->sides, &o->metric, &error);
  if (status != CVTM_OK) return cli_failed(CLI_READING, status, &error);
  cli_refine_choose(options, &o->caps, &o->deadline, &o->refine);
  if (options->periodic) memcpy(o->refine.paired_sides, o->sides, sizeof o->sides);
  cli_catch_signals();
  if (options->time_limit > 0) o->deadline = cvtm_clock() + options->time_limit;
  status = mesh_outline(o, &error);
  if (status != CVTM_OK) return cli_failed(CLI_WORKING, status, &error);
  const cli_scene scene = {.options = options,
                           .domain = o->domain,
                           .sites = o->mesh.points,
                           .count = o->mesh.vertex_count,
                           .mesh = &o->mesh,
                           .cells = &o->cells,
                           .regions = &o->regions,
                           .second = o->second.count > 0 ? &o->second : NULL};
  status = cli_scene_write(&scene, &error);
  if (status == CVTM_OK) status = cli_domain_write_pairs(options, &o->regions, &error);
  if (status == CVTM_OK) status = write_outline_report(o, &error);
  if (status != CVTM_OK) return cli_failed(CLI_WRITING, status, &error);
  if (!options->quiet) print_outline_summary(o);
  if (cli_interrupted()) return CLI_EXIT_INTERRUPTED;
  return cli_refine_fell_short(&o->figures) ? CLI_EXIT_NOT_CONVERGED : CLI_EXIT_OK;
}

int cli_outline_mesh(const cli_options *options) {
  outline o;
  memset(&o, 0, sizeof o);
  o.options = *options;
  const int code = perform_outline(&o);
  cvtm_polygons_free(&o.polygons);
  cvtm_pslg_free(&o.graph);
  cvtm_boundary_free(&o.boundary);
  cvtm_boundary_free(&o.refined);
  cvtm_refine_figures_free(&o.figures);
  free(o.caps.sizes.size);
  cvtm_metric_field_free(&o.metric);
  cvtm_cells_free(&o.cells);
  cvtm_mesh_free(&o.mesh);
  cvtm_second_order_free(&o.second);
  cvtm_regions_free(&o.regions);
  free(o.points);
  return code;
}

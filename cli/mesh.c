/* cvtmesh mesh: meshes of polygons, refined or stretched along a field (--metric), and of
 * points. */
#include "base/clock.h"
#include "base/domain.h"
#include "base/file.h"
#include "base/npy.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/outline_drawing.h"
#include "cli/outline_sides.h"
#include "cli/outline_sizes.h"
#include "cli/summary.h"
#include "run/condition.h"
#include "run/domain.h"
#include "run/input.h"
#include "cli/options.h"
#include "run/output.h"
#include "run/page.h"
#include "run/json.h"
#include "density/density.h"
#include "density/metric_source.h"
#include "meshes/refine/adapt.h"
#include "meshes/mesh_file.h"
#include "meshes/polygon_file.h"
#include "meshes/domain/pslg.h"
#include "meshes/delaunay/grid.h"
#include "meshes/delaunay/torus.h"

#include <cjson/cJSON.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Nonzero if the operand of `mesh` is the picture whose frame is to be meshed. */
static int cli_metric_is_of_picture(const cli_options *o) {
  return o->metric.from != NULL && !cvtm_polygon_format_known(o->run.input.name);
}

/* The picture that gives the metric; NULL: a field on a mesh or at points gives it. */
static const char *picture_of(const cli_options *o) {
  if (strcmp(o->metric.from, "hessian") == 0) return o->run.input.name;
  return run_field_file_known(o->metric.from) ? NULL : o->metric.from;
}

/* Checks options that depend on one another. Returns CLI_EXIT_OK, or CLI_EXIT_USAGE after a
 * message. */
static int cli_metric_check(const cli_options *o) {
  const int of_picture = cli_metric_is_of_picture(o);
  if (o->metric.from == NULL) {
    if (cli_option_given(o, "metric-ratio"))
      return cli_usage_error(o->command, "--metric-ratio needs --metric");
    return CLI_EXIT_OK;
  }
  if (strcmp(o->metric.from, "hessian") == 0 && !of_picture)
    return cli_usage_error(
        o->command, "--metric hessian needs a picture; for an outline, name a file with a field");
  if (cli_option_given(o, "min-angle") || o->run.refine.max_area.count > 0 ||
      o->run.size.from.name != NULL || o->outline.size.count > 0)
    return cli_usage_error(o->command,
                           "--metric determines sizes and angles: --size, --min-angle, --max-area "
                           "and --size-from contradict it");
  if (o->run.periodic || o->run.element_order == 2)
    return cli_usage_error(o->command, "--metric does not go with --periodic or --element-order 2");
  return o->run.points > 0 ? CLI_EXIT_OK : cli_missing(o->command, "--points");
}

/* The size of the picture that gives the metric. */
static cvtm_status cli_metric_picture_size(const cli_options *o, cvtm_domain *domain,
                                           cvtm_error *error) {
  cvtm_image image = {0};
  const cvtm_status status = cvtm_image_open(&o->run.input, 0, &image, error);
  if (status == CVTM_OK) *domain = (cvtm_domain){image.width, image.height, 0};
  cvtm_image_free(&image);
  return status;
}

/* The picture's lower left corner lies at the origin of mesh files, as that of its frame does. */
static cvtm_status read_metric_picture(const cli_options *o, cvtm_domain domain, const char *path,
                                       cvtm_metric_field *field, cvtm_error *error) {
  const cvtm_input source = {path, NULL};
  cvtm_image image = {0};
  cvtm_status status = run_read_image(&o->run, &source, 0, &image, error);
  if (status == CVTM_OK && image.masked > 0)
    status = cvtm_fail(error, CVTM_ERROR_INPUT, "%s: a metric needs data in every pixel", path);
  if (status != CVTM_OK) {
    cvtm_image_free(&image);
    return status;
  }
  /* Smoothing over a fifth of the mean distance of vertices removes noise that no edge resolves. */
  const double spacing = sqrt((double)image.width * image.height / (double)o->run.points);
  *field = (cvtm_metric_field){.upper = domain.height - image.height,
                               .step = 1,
                               .width = image.width,
                               .height = image.height};
  status =
      cvtm_metric_of_picture(image.value, fmax(0.2 * spacing, 1), o->metric.ratio, field, error);
  cvtm_image_free(&image);
  return run_name_file(path, status, error);
}

static void choose_cells(const double rectangle[4], cvtm_metric_field *field) {
  enum { CELLS = 1024 }; /* along the longer side */
  const double width = rectangle[2] - rectangle[0], height = rectangle[3] - rectangle[1];
  const double step = fmax(width, height) / CELLS;
  *field = (cvtm_metric_field){.left = rectangle[0],
                               .upper = rectangle[1],
                               .step = step,
                               .width = (int)fmax(ceil(width / step), 1),
                               .height = (int)fmax(ceil(height / step), 1)};
}

/* The metric, up to a factor, over a rectangle (left, upper, right, lower) in pixels, y down. */
static cvtm_status cli_metric_read(const cli_options *o, cvtm_domain domain,
                                   const double rectangle[4], cvtm_metric_field *field,
                                   cvtm_error *error) {
  const char *picture = picture_of(o);
  if (picture != NULL) return read_metric_picture(o, domain, picture, field, error);
  const cvtm_input from = {o->metric.from, NULL};
  run_field source;
  choose_cells(rectangle, field);
  cvtm_status status = run_field_read(&o->run, &from, domain, &source, error);
  for (int64_t v = 0; v < source.mesh.vertex_count && status == CVTM_OK; ++v) {
    double *p = source.mesh.points + 2 * v; /* in cells of the raster */
    p[0] = (p[0] - field->left) / field->step;
    p[1] = (p[1] - field->upper) / field->step;
  }
  if (status == CVTM_OK)
    status =
        source.metric != NULL
            ? cvtm_metric_of_vertices(&source.mesh, source.metric, o->metric.ratio, field, error)
            : cvtm_metric_of_solution(&source.mesh, source.values, o->metric.ratio, field, error);
  run_field_free(&source);
  return run_name_file(o->metric.from, status, error);
}

static void cli_metric_report(const cvtm_adapt_figures *f, cJSON *report) {
  cJSON *entry = cJSON_AddObjectToObject(report, "metric");
  run_json_integer(entry, "rounds", f->rounds);
  run_json_integer(entry, "divided", f->divided);
  run_json_integer(entry, "removed", f->removed);
  run_json_integer(entry, "flipped", f->flipped);
  run_json_integer(entry, "moved", f->moved);
  run_json_real(entry, "shortest", f->shortest);
  run_json_real(entry, "longest", f->longest);
  run_json_real(entry, "good_edges", f->good_edges);
  run_json_real(entry, "least_quality", f->least_quality);
  run_json_real(entry, "mean_quality", f->mean_quality);
}

static void cli_metric_print_summary(const cvtm_adapt_figures *f) {
  fprintf(
      stderr,
      "  metric     %.1f %% of the edges between 1/sqrt(2) and sqrt(2); quality %.3f, mean %.3f\n",
      100 * f->good_edges, f->least_quality, f->mean_quality);
}

/* --- the mesh of an outline ----------------------------------------------------------------- */

typedef struct outline {
  cli_options options;
  cvtm_domain domain;     /* the frame of a picture in which the outline lies */
  cvtm_polygons polygons; /* of a file with one region */
  cvtm_pslg graph;        /* of several regions; its boundary moves to the field below */
  int y_up; /* true: y in the file is -y, to the last bit; else y is down there, too */
  cvtm_boundary boundary, refined;
  run_area_caps caps;
  cvtm_refine_options refine;
  cvtm_refine_figures figures;
  cli_sizes sizes; /* of --size */
  cli_outline_drawing drawing;
  run_plot plot;
  cvtm_metric_field metric; /* of --metric */
  cvtm_adapt_figures adapted;
  double *points;
  int64_t count;
  cvtm_mesh mesh;
  cvtm_regions regions;
  cvtm_second_order second; /* of --element-order 2; else empty */
  cvtm_quality quality;
  double sides[4];   /* of the rectangle around the outline: left, upper, right, lower */
  double snapped[4]; /* the same in the mesh before place_exactly */
  int32_t *twin;     /* of a periodic outline: the copy of each edge, or -1 */
  int32_t *origin;   /* of --min-angle: of each vertex the corner of the outline, or -1 */
  int is_framed;     /* options or a picture gave the domain */
  double seconds;
  run_limit limit; /* of the refinement */
} outline;

int cli_outline_wanted(const cli_options *options) {
  return cli_option_given(options, "min-angle") || options->run.refine.max_area.count > 0 ||
         options->run.size.from.name != NULL || options->metric.from != NULL ||
         options->outline.size.count > 0 ||
         (options->run.points > 0 && cvtm_polygon_format_known(options->run.input.name));
}

/* The domain whose lower side has y = 0 in files. */
static cvtm_domain place_domain(const outline *o) {
  return (cvtm_domain){o->domain.width, o->y_up ? 0 : o->domain.height, 0};
}

/* The rectangle that pictures show: from 0 to the largest coordinates, or to the sides that the
 * options give. */
static cvtm_domain domain_around(const cli_options *options, const double *points, int64_t count) {
  double side[2] = {1, 1};
  for (int64_t i = 0; i < 2 * count; ++i)
    side[i % 2] = fmax(side[i % 2], fmin(ceil(points[i]), CVTM_MAX_SIDE));
  const int64_t width = options->width > 0 ? options->width : (int64_t)side[0];
  const int64_t height = options->height > 0 ? options->height : (int64_t)side[1];
  return (cvtm_domain){(int)(width < CVTM_MAX_SIDE ? width : CVTM_MAX_SIDE),
                       (int)(height < CVTM_MAX_SIDE ? height : CVTM_MAX_SIDE), 0};
}

/* Makes edges of the rings. The inside, region 1, is on their left. */
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

/* Takes the frame of a picture as the outline. */
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

/* For qsort. */
static int compare_regions(const void *left, const void *right) {
  const cvtm_region_area *a = left, *b = right;
  return (a->region > b->region) - (a->region < b->region);
}

/* Areas that the file gives count like those of --max-area. */
static void take_graph(outline *o) {
  run_area_caps *caps = &o->caps;
  o->domain = domain_around(&o->options, o->graph.boundary.points, o->graph.boundary.vertex_count);
  cvtm_pslg_turn(&o->graph, o->y_up, 0);
  o->boundary = o->graph.boundary;
  o->graph.boundary = (cvtm_boundary){0};
  if (o->graph.area_count == 0) return;
  qsort(o->graph.areas, (size_t)o->graph.area_count, sizeof *o->graph.areas, compare_regions);
  caps->file_count = o->graph.area_count;
  caps->file = o->graph.areas;
}

static cvtm_status read_rings(outline *o, cvtm_error *error) {
  const char *path = o->options.run.input.name;
  const cvtm_status status = cvtm_polygons_read(path, &o->polygons, error);
  if (status != CVTM_OK) return status;
  o->domain =
      domain_around(&o->options, o->polygons.points, o->polygons.start[o->polygons.ring_count]);
  o->polygons.y_up = o->y_up;
  cvtm_polygons_turn(&o->polygons, 0);
  return bound_rings(o, error);
}

/* Reads the outline. Its y is up, as in mesh files, except in SVG. */
static cvtm_status read_outline(outline *o, cvtm_error *error) {
  const char *path = o->options.run.input.name;
  char buffer[16];
  int is_rings = 1;
  if (cli_metric_is_of_picture(&o->options)) return take_frame(o, error);
  const cvtm_status status =
      run_name_file(path, run_read_pslg(&o->options.run, path, &o->graph, &is_rings, error), error);
  o->y_up = strcmp(cvtm_file_extension(path, buffer, sizeof buffer), "svg") != 0;
  if (status != CVTM_OK) return status;
  if (is_rings) return read_rings(o, error);
  take_graph(o);
  return CVTM_OK;
}

/* Sides of a periodic outline that have equal edges: of the width, of the height. */
static void find_alike(const outline *o, int is_alike[2]) {
  is_alike[0] = o->figures.paired[0] > 0;
  is_alike[1] = o->figures.paired[1] > 0;
  for (int64_t e = 0; o->twin != NULL && e < o->boundary.edge_count; ++e) {
    const double *p = o->boundary.points + 2 * (int64_t)o->boundary.edges[2 * e],
                 *q = o->boundary.points + 2 * (int64_t)o->boundary.edges[2 * e + 1];
    if (o->twin[e] >= 0) is_alike[p[0] == q[0] ? 0 : 1] = 1;
  }
}

/* Finds the pairs of vertices on opposite sides of a periodic outline. */
static cvtm_status pair_sides(outline *o, cvtm_error *error) {
  int is_alike[2];
  double sides[4];
  if (!o->options.run.periodic) return CVTM_OK;
  find_alike(o, is_alike);
  if (!is_alike[0] && !is_alike[1])
    return cvtm_fail(
        error, CVTM_ERROR_INPUT,
        "--periodic: no edge on a side of the outline has a copy on the opposite side");
  for (int k = 0; k < 4; ++k) sides[k] = is_alike[k % 2] ? o->snapped[k] : NAN;
  const cvtm_status status = cvtm_regions_pair(&o->mesh, sides, &o->regions, error);
  if (status != CVTM_OK || o->figures.unpaired + o->regions.unpaired == 0) return status;
  return cvtm_fail(error, CVTM_ERROR_INPUT,
                   "--periodic: %lld edges and %lld points on sides of the outline have no copy on "
                   "the opposite side",
                   (long long)o->figures.unpaired, (long long)o->regions.unpaired);
}

/* The box of the outline, and that of its corners on the grid of the mesh, where the mesh has
 * those. */
static cvtm_status find_sides(outline *o, cvtm_error *error) {
  cvtm_boundary *b = &o->boundary;
  const size_t n = (size_t)b->vertex_count;
  cvtm_status status = o->options.run.periodic ? cli_outline_align(b, error) : CVTM_OK;
  cli_outline_box(b->points, b->vertex_count, o->sides);
  memcpy(o->snapped, o->sides, sizeof o->sides);
  if (status != CVTM_OK || !o->options.run.periodic) return status;
  if (cli_sizes_wanted(&o->options)) return cli_outline_twins(b, o->sides, &o->twin, error);
  double *copy = malloc(2 * n * sizeof *copy);
  cvtm_grid_point *grid = malloc(n * sizeof *grid);
  if (copy == NULL || grid == NULL) {
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for %zu corners", n);
  } else {
    memcpy(copy, b->points, 2 * n * sizeof *copy);
    status = cvtm_snap_points(copy, b->vertex_count, grid, error);
    if (status == CVTM_OK) cli_outline_box(copy, b->vertex_count, o->snapped);
  }
  free(copy);
  free(grid);
  return status;
}

/* Vertices of the outline get the doubles of the file, and those on the sides of a periodic one
 * stay on these. */
static void place_exactly(outline *o) {
  for (int64_t v = 0; v < o->mesh.vertex_count && o->origin != NULL; ++v) {
    double *p = o->mesh.points + 2 * v;
    const int32_t corner = o->origin[v];
    for (int k = 0; k < 4 && o->options.run.periodic; ++k)
      if (p[k % 2] == o->snapped[k]) p[k % 2] = o->sides[k];
    if (corner >= 0) memcpy(p, o->boundary.points + 2 * (int64_t)corner, 2 * sizeof *p);
  }
}

static cvtm_status triangulate_refined(outline *o, cvtm_error *error) {
  int32_t *source = NULL;
  cvtm_status status =
      cvtm_refine(o->boundary.points, o->boundary.vertex_count, &o->boundary, &o->refine,
                  &o->points, &o->count, &o->refined, &source, &o->figures, error);
  if (status == CVTM_OK)
    status = cvtm_constrained_delaunay(o->points, o->count, &o->refined, &o->mesh, &o->regions,
                                       &o->origin, error);
  for (int64_t v = 0; v < o->mesh.vertex_count && status == CVTM_OK; ++v)
    o->origin[v] = source[o->origin[v]];
  free(source);
  return status;
}

static cvtm_status triangulate_outline(outline *o, const cli_outline_names *names,
                                       cvtm_error *error) {
  const cli_sized_outline sized = {.boundary = &o->boundary,
                                   .names = names,
                                   .sides = o->sides,
                                   .domain = o->domain,
                                   .is_up = o->y_up,
                                   .twin = o->twin,
                                   .curve = o->graph.curve,
                                   .curve_count = o->graph.curve_count};
  if (o->options.metric.from != NULL)
    return cvtm_adapt(&o->boundary, &o->metric, o->options.run.points, o->refine.stop,
                      o->refine.stop_context, &o->mesh, &o->regions, &o->adapted, error);
  return cli_sizes_wanted(&o->options) ? cli_sizes_mesh(&o->options, &sized, &o->caps, &o->limit,
                                                        &o->sizes, &o->mesh, &o->regions, error)
                                       : triangulate_refined(o, error);
}

static cvtm_status mesh_outline(outline *o, cvtm_error *error) {
  const double start = cvtm_clock();
  const cli_outline_names names = {o->graph.names, o->graph.name_count, &o->graph.marks,
                                   &o->options.outline.boundary_names};
  cvtm_status status = triangulate_outline(o, &names, error);
  o->seconds = cvtm_clock() - start;
  if (status == CVTM_OK)
    status = cli_outline_group(&o->mesh, o->snapped, &names, &o->regions, error);
  if (status == CVTM_OK) status = pair_sides(o, error);
  if (status == CVTM_OK) place_exactly(o);
  if (status == CVTM_OK && o->options.run.element_order == 2)
    status = cvtm_second_order_create(&o->mesh, &o->regions, NULL, &o->second, error);
  if (status == CVTM_OK) status = cvtm_quality_compute(&o->mesh, NULL, &o->quality, error);
  if (status == CVTM_OK && (run_outputs_draw(&o->options.run) || run_has_page(&o->options.run) ||
                            o->options.run.unit == CVTM_RUN_UNIT_WIDTH))
    status =
        cli_outline_draw(&o->mesh, o->sides, o->domain, o->is_framed, o->y_up, &o->drawing, error);
  return run_name_file(o->options.run.input.name, status, error);
}

static cvtm_status write_outline_report(const outline *o, cvtm_error *error) {
  if (o->options.run.report == NULL) return CVTM_OK;
  cJSON *report = cli_report_begin(NULL, &o->options);
  run_json_integer(report, "width", o->domain.width);
  run_json_integer(report, "height", o->domain.height);
  run_json_integer(report, "sites", o->mesh.vertex_count);
  run_json_integer(report, "triangles", o->mesh.triangle_count);
  run_json_integer(report, "input_corners", o->boundary.vertex_count);
  if (o->regions.pairs != NULL) run_json_integer(report, "pairs", o->regions.pair_count);
  if (o->options.metric.from != NULL)
    cli_metric_report(&o->adapted, report);
  else if (cli_sizes_wanted(&o->options))
    cli_sizes_report(&o->sizes, report);
  else
    run_refine_report(&o->refine, &o->figures, o->y_up ? 0 : NAN, report);
  cJSON *seconds = cJSON_AddObjectToObject(report, "seconds");
  run_json_real(seconds, "mesh", o->seconds);
  run_page_report(&o->options.run, o->domain, report);
  run_plot_report(&o->plot, report);
  run_world_report(&o->options.run, o->domain, &o->mesh, report);
  run_json_quality(report, &o->quality);
  return run_json_write(o->options.run.report, report, error);
}

static void print_outline_summary(const outline *o) {
  const cvtm_quality_figures *all = &o->quality.all;
  fprintf(stderr, "%s: %s, %s, %s in %.3f seconds\n", cli_visible(o->options.run.input.name),
          cli_count(o->boundary.vertex_count, "corner", "corners"),
          cli_count(o->mesh.vertex_count, "point", "points"),
          cli_count(o->mesh.triangle_count, "triangle", "triangles"), o->seconds);
  fprintf(stderr, "  smallest angle %.3g degrees, mean %.1f; mean Q %.4f\n", all->min_angle,
          all->mean_min_angle, all->mean_q);
  cli_world_print(&o->options.run, o->domain);
  if (o->regions.pairs != NULL)
    fprintf(stderr, "  periodic   %s of vertices on opposite sides\n",
            cli_count(o->regions.pair_count, "pair", "pairs"));
  if (o->options.metric.from != NULL)
    cli_metric_print_summary(&o->adapted);
  else if (!cli_sizes_wanted(&o->options))
    cli_refine_print_summary(&o->refine, &o->figures);
  cli_plot_print(&o->plot);
}

static int perform_outline(outline *o) {
  cli_options *options = &o->options;
  cvtm_error error = {CVTM_OK, ""};
  if (options->run.order != CVTM_RUN_ORDER_NONE)
    return cli_usage_error(CLI_MESH, "--order does not go with the mesh of an outline");
  if (strcmp(options->device, "auto") != 0 && strcmp(options->device, "cpu") != 0)
    return cli_usage_error(CLI_MESH, "--device %s: an outline is meshed on the CPU",
                           options->device);
  cvtm_run_options sizes = options->run;
  if (options->metric.from != NULL) sizes.size.field = NULL; /* it names the metric's field */
  if (run_area_caps_read(&options->run, &o->caps, &error) == CVTM_OK &&
      cli_sizes_read(options, &o->sizes, &error) == CVTM_OK &&
      cli_outline_names_check(&options->outline.boundary_names, &error) == CVTM_OK)
    (void)run_size_from_check(&sizes, &error);
  int code = cli_result(CLI_MESH, CLI_READING, error.status, &error);
  if (code == CLI_EXIT_OK) code = cli_metric_check(options);
  if (code == CLI_EXIT_OK)
    code = cli_result(CLI_MESH, CLI_READING, run_page_check(&options->run, &error), &error);
  if (code == CLI_EXIT_OK) code = cli_outputs_check(options);
  if (code != CLI_EXIT_OK) return code;
  o->is_framed = options->width > 0 || options->height > 0 || cli_metric_is_of_picture(options);
  cvtm_status status = read_outline(o, &error);
  if (status != CVTM_OK) return cli_failed(CLI_READING, status, &error);
  options->width = o->domain.width;
  options->height = o->domain.height;
  status = find_sides(o, &error);
  if (status != CVTM_OK) return cli_failed(CLI_WORKING, status, &error);
  status = run_world_set(&options->run, NULL, options->run.input.name, o->domain.height, &error);
  if (status == CVTM_OK) status = run_area_caps_convert(&options->run, o->domain, &o->caps, &error);
  if (status == CVTM_OK && options->run.size.from.name != NULL)
    status = run_size_raster_read(&options->run, place_domain(o), o->sides, &o->caps.sizes, &error);
  if (status == CVTM_OK && options->metric.from != NULL)
    status = cli_metric_read(options, place_domain(o), o->sides, &o->metric, &error);
  if (status != CVTM_OK) return cli_failed(CLI_READING, status, &error);
  run_refine_choose(&options->run, &o->caps, &o->limit, &o->refine);
  if (options->run.periodic) memcpy(o->refine.paired_sides, o->snapped, sizeof o->snapped);
  cli_catch_signals();
  o->limit.options = &options->run;
  if (options->run.time_limit > 0) o->limit.deadline = cvtm_clock() + options->run.time_limit;
  status = mesh_outline(o, &error);
  if (status != CVTM_OK) return cli_failed(CLI_WORKING, status, &error);
  run_scene scene = {.options = &options->run,
                     .domain = o->drawing.domain,
                     .sites = o->drawing.mesh.points,
                     .count = o->mesh.vertex_count,
                     .mesh = &o->drawing.mesh,
                     .cells = &o->drawing.cells,
                     .regions = &o->regions,
                     .second = o->second.count > 0 ? &o->second : NULL,
                     .plot = &o->plot};
  const run_scene drawn = scene;
  scene.domain = place_domain(o);
  scene.sites = o->mesh.points;
  scene.mesh = &o->mesh;
  scene.cells = NULL;
  scene.drawn = &drawn;
  status = run_scene_write(&scene, &error);
  if (status == CVTM_OK) status = run_domain_write_pairs(&options->run, &o->regions, &error);
  if (status == CVTM_OK) status = write_outline_report(o, &error);
  if (status != CVTM_OK) return cli_failed(CLI_WRITING, status, &error);
  if (!options->quiet) print_outline_summary(o);
  if (cli_interrupted()) return CLI_EXIT_INTERRUPTED;
  return run_refine_fell_short(&o->figures) ? CLI_EXIT_NOT_CONVERGED : CLI_EXIT_OK;
}

static int run_outline(const cli_options *options) {
  outline o = {.options = *options};
  o.options.run.purpose = CVTM_RUN_OUTLINE;
  const int code = perform_outline(&o);
  cvtm_polygons_free(&o.polygons);
  cvtm_pslg_free(&o.graph);
  cvtm_boundary_free(&o.boundary);
  cvtm_boundary_free(&o.refined);
  cvtm_refine_figures_free(&o.figures);
  free(o.caps.sizes.size);
  cvtm_metric_field_free(&o.metric);
  cli_sizes_free(&o.sizes);
  free(o.twin);
  free(o.origin);
  cli_outline_drawing_free(&o.drawing);
  cvtm_mesh_free(&o.mesh);
  cvtm_second_order_free(&o.second);
  cvtm_regions_free(&o.regions);
  free(o.points);
  return code;
}

/* --- the mesh of points, and the command ---------------------------------------------------- */

typedef struct meshing {
  cli_options options;
  cvtm_device *device; /* NULL: the CPU */
  cvtm_domain domain;
  double corner[2]; /* of the domain, in coordinates of the points */
  double *points;
  int64_t count;
  cvtm_mesh mesh;
  double *moved; /* the vertices in coordinates of the domain; NULL: mesh.points are */
  cvtm_cells cells;
  cvtm_quality quality;
  cvtm_second_order second; /* of --element-order 2; else empty */
  int32_t *copies;          /* with --periodic: 3 * copy_count, as in a cvtm_torus_mesh */
  int64_t copy_count;
  double *original; /* with --periodic: the point that each vertex is, or is a copy of */
  run_point_order order;
  run_plot plot;
  int is_guessed; /* true: the points gave the domain */
  cvtm_delaunay_report triangulation;
} meshing;

static cvtm_status write_mesh_report(const meshing *m, cvtm_error *error) {
  if (m->options.run.report == NULL) return CVTM_OK;
  cJSON *report = cli_report_begin(m->device, &m->options);
  run_json_integer(report, "width", m->domain.width);
  run_json_integer(report, "height", m->domain.height);
  run_json_integer(report, "sites", m->count);
  run_json_integer(report, "triangles", m->mesh.triangle_count);
  if (m->options.run.periodic) run_json_integer(report, "copies", m->copy_count);
  run_json_integer(report, "coincident_sites", m->mesh.coincident_count);
  cJSON_AddBoolToObject(report, "collinear", m->mesh.collinear != 0);
  cJSON *seconds = cJSON_AddObjectToObject(report, "seconds");
  run_json_real(seconds, "mesh", m->triangulation.seconds);
  run_json_triangulation(report, &m->triangulation);
  run_order_report(&m->order, &m->options.run, report);
  run_page_report(&m->options.run, m->domain, report);
  run_plot_report(&m->plot, report);
  run_world_report(&m->options.run, m->domain, &m->mesh, report);
  run_json_quality(report, &m->quality);
  return run_json_write(m->options.run.report, report, error);
}

static void print_mesh_summary(const meshing *m) {
  const cvtm_quality_figures *all = &m->quality.all;
  char from[64] = "";
  if (m->moved != NULL)
    snprintf(from, sizeof from, " from (%.10g, %.10g)", m->corner[0], m->corner[1]);
  fprintf(stderr, "%s: %s, %s in %.3f seconds\n", cli_visible(m->options.run.input.name),
          cli_count(m->count, "point", "points"),
          cli_count(m->mesh.triangle_count, "triangle", "triangles"), m->triangulation.seconds);
  if (m->options.run.periodic)
    fprintf(stderr, "  torus      %d x %d, %s of points beyond its sides\n", m->domain.width,
            m->domain.height, cli_count(m->copy_count, "copy", "copies"));
  if (all->triangles > 0)
    fprintf(stderr, "  smallest angle %.3g degrees, mean %.1f; mean Q %.4f\n", all->min_angle,
            all->mean_min_angle, all->mean_q);
  if (m->is_guessed)
    fprintf(stderr,
            "  domain %d x %d pixels%s, the smallest that holds the points; --like PICTURE takes a "
            "picture's\n",
            m->domain.width, m->domain.height, from);
  cli_order_print_summary(&m->order);
  cli_plot_print(&m->plot);
  cli_world_print(&m->options.run, m->domain);
  if (m->mesh.coincident_count > 0)
    fprintf(stderr, "  %s no triangle\n",
            cli_count(m->mesh.coincident_count, "point has the position of another one, and",
                      "points have the positions of others, and"));
  if (m->mesh.collinear) fprintf(stderr, "  all points lie on one line: there is no triangle\n");
}

/* Opens the device, unless the host makes the mesh sooner than CUDA starts. */
static int open_device(meshing *m) {
  enum { LARGE = 500000 };
  if (strcmp(m->options.device, "auto") == 0 && m->count < LARGE) return CLI_EXIT_OK;
  return cli_open_device(&m->options, &m->device);
}

/* --periodic: the triangulation of the torus. */
static cvtm_status triangulate_torus(meshing *m, cvtm_error *error) {
  cvtm_torus_mesh torus = {0};
  const double start = cvtm_clock();
  const cvtm_status status =
      cvtm_delaunay_torus(m->device, m->points, m->count, m->domain, &torus, error);
  if (status != CVTM_OK) return status;
  m->triangulation.seconds = cvtm_clock() - start;
  m->mesh = torus.mesh;
  m->copies = torus.copies;
  m->copy_count = torus.copy_count;
  m->original = malloc((size_t)m->mesh.vertex_count * sizeof *m->original);
  if (m->original == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for %lld points",
                     (long long)m->count);
  for (int64_t v = 0; v < m->mesh.vertex_count; ++v)
    m->original[v] = (double)(v < m->count ? v : m->copies[3 * (v - m->count)]);
  return m->options.run.report != NULL || !m->options.quiet
             ? cvtm_quality_compute(&m->mesh, NULL, &m->quality, error)
             : CVTM_OK;
}

/* A row for each copy of a point: the point, the copy, and the axis between them, 0 or 1, or 2 for
 * both. */
static cvtm_status write_copies(const meshing *m, cvtm_error *error) {
  const int64_t shape[2] = {m->copy_count, 3};
  if (m->options.run.domain.pairs_out == NULL) return CVTM_OK;
  int32_t *rows = malloc((3 * (size_t)m->copy_count + 1) * sizeof *rows);
  if (rows == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for pairs");
  for (int64_t k = 0; k < m->copy_count; ++k) {
    const int32_t *copy = m->copies + 3 * k;
    rows[3 * k] = copy[0];
    rows[3 * k + 1] = (int32_t)(m->count + k);
    rows[3 * k + 2] = copy[1] && copy[2] ? 2 : copy[2];
  }
  const cvtm_status status = cvtm_npy_write(m->options.run.domain.pairs_out, 'i', (int)sizeof *rows,
                                            2, shape, rows, error);
  free(rows);
  return status;
}

/* The mesh in coordinates of the domain; it shares everything but the vertices. */
static cvtm_mesh mesh_in_domain(const meshing *m) {
  cvtm_mesh mesh = m->mesh;
  if (m->moved != NULL) mesh.points = m->moved;
  return mesh;
}

static cvtm_status move_mesh(meshing *m, cvtm_error *error) {
  const size_t bytes = 2 * (size_t)m->count * sizeof *m->moved;
  if (m->corner[0] == 0 && m->corner[1] == 0) return CVTM_OK;
  m->moved = malloc(bytes);
  if (m->moved == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for %lld points",
                     (long long)m->count);
  memcpy(m->moved, m->mesh.points, bytes);
  cli_move_to_corner(m->corner, m->moved, m->count);
  return CVTM_OK;
}

/* Computes cells only for an output that draws them, and quality only for a report or a summary.
 * Points outside the domain have empty cells. */
static cvtm_status triangulate_points(meshing *m, cvtm_error *error) {
  if (m->options.run.periodic) return triangulate_torus(m, error);
  cvtm_status status =
      cvtm_delaunay_on(m->device, m->points, m->count, &m->mesh, &m->triangulation, error);
  if (status == CVTM_OK && m->options.run.element_order == 2)
    status = cvtm_second_order_create(&m->mesh, NULL, NULL, &m->second, error);
  if (status == CVTM_OK) status = move_mesh(m, error);
  const cvtm_mesh mesh = mesh_in_domain(m);
  if (status == CVTM_OK && run_outputs_draw(&m->options.run))
    status = cvtm_cells_create(&mesh, m->domain, &m->cells, error);
  if (status == CVTM_OK && (m->options.run.report != NULL || !m->options.quiet))
    status = cvtm_quality_compute(&mesh, &m->domain, &m->quality, error);
  return status;
}

static int perform_mesh(meshing *m) {
  cli_options *options = &m->options;
  if (options->run.periodic && (run_outputs_draw(&options->run) || options->run.element_order == 2))
    return cli_usage_error(
        CLI_MESH, "--periodic with points cannot be used with a drawing or --element-order 2");
  if (options->run.periodic && options->like.name == NULL &&
      (options->width == 0 || options->height == 0))
    return cli_usage_error(CLI_MESH,
                           "the size of the torus is missing: --like PICTURE, or --width and "
                           "--height");
  if (options->run.points > 0 || cli_option_given(options, "metric-ratio"))
    return cli_usage_error(CLI_MESH, "--points and --metric-ratio need --metric or an outline");
  char known[CVTM_FORMAT_NAMES];
  const char *name = options->run.input.name;
  const int is_points = options->run.input.array != NULL || cvtm_points_format_known(name);
  if (!is_points && cvtm_polygon_format_known(name))
    return cli_usage_error(CLI_MESH,
                           "%s is an outline: --size or --points is missing, as in --size 5", name);
  if (!is_points)
    return cli_usage_error(
        CLI_MESH,
        "%s: the extension names neither points (%s) nor an outline; a picture needs --metric "
        "hessian, or cvtmesh run",
        name, cvtm_format_names(cvtm_formats, CVTM_READS_POINTS, " ", known, sizeof known));
  cvtm_error error = {CVTM_OK, ""};
  if (run_order_check(&options->run, &error) == CVTM_OK)
    (void)run_page_check(&options->run, &error);
  int code = cli_result(CLI_MESH, CLI_READING, error.status, &error);
  if (code == CLI_EXIT_OK) code = cli_outputs_check(options);
  if (code != CLI_EXIT_OK) return code;
  cvtm_status status = cvtm_points_open(&options->run.input, &m->points, &m->count, &error);
  if (status == CVTM_OK)
    status = cli_domain_of_points(options, options->run.input.name, m->points, m->count, &m->domain,
                                  m->corner, &error);
  if (status != CVTM_OK) return cli_failed(CLI_READING, status, &error);
  m->is_guessed = options->like.name == NULL && (options->width == 0 || options->height == 0);
  options->width = m->domain.width;
  options->height = m->domain.height;
  status = run_world_set(&options->run, NULL, options->run.input.name, m->domain.height, &error);
  if (status != CVTM_OK) return cli_failed(CLI_READING, status, &error);
  code = open_device(m);
  if (code != CLI_EXIT_OK) return code;
  const double deadline = options->run.time_limit > 0 ? cvtm_clock() + options->run.time_limit : 0;
  cli_catch_signals();
  status = run_order_find(&options->run, m->points, m->count, deadline, &m->order, &error);
  if (status == CVTM_OK) status = run_order_apply(&m->order, m->count, 2, m->points, &error);
  if (status == CVTM_OK) status = triangulate_points(m, &error);
  if (status != CVTM_OK) return cli_failed(CLI_WORKING, status, &error);
  cvtm_mesh mesh = mesh_in_domain(m);
  run_scene scene = {.options = &options->run,
                     .domain = m->domain,
                     .sites = mesh.points,
                     .count = m->count,
                     .original = m->original,
                     .mesh = &mesh,
                     .cells = &m->cells,
                     .plot = &m->plot};
  const run_scene drawn = scene;
  scene.sites = m->points;
  scene.mesh = &m->mesh;
  scene.second = m->second.count > 0 ? &m->second : NULL;
  scene.domain.height += (int)m->corner[1]; /* y up counts from its lower side */
  if (m->moved != NULL) scene.drawn = &drawn;
  status = run_scene_write(&scene, &error);
  if (status == CVTM_OK) status = write_copies(m, &error);
  if (status == CVTM_OK) status = write_mesh_report(m, &error);
  if (status != CVTM_OK) return cli_failed(CLI_WRITING, status, &error);
  if (!options->quiet) print_mesh_summary(m);
  if (m->moved == NULL) cli_note_outside(options, m->points, m->count, m->domain);
  return cli_interrupted() ? CLI_EXIT_INTERRUPTED : CLI_EXIT_OK;
}

int cli_mesh(const cli_options *options) {
  const int is_outline = cli_outline_wanted(options);
  if (options->run.output.count == 0 && options->run.report == NULL)
    return cli_missing(CLI_MESH, "--output");
  if (!is_outline && options->run.size.field != NULL)
    return cli_usage_error(CLI_MESH, "--size-field needs --size-from");
  if (options->run.domain.pairs_out != NULL && !options->run.periodic)
    return cli_usage_error(CLI_MESH, "--pairs-out needs --periodic");
  if (is_outline) return run_outline(options);
  meshing m = {.options = *options};
  int code = perform_mesh(&m);
  run_order_free(&m.order);
  cvtm_cells_free(&m.cells);
  cvtm_second_order_free(&m.second);
  cvtm_mesh_free(&m.mesh);
  free(m.copies);
  free(m.original);
  free(m.moved);
  cvtm_device_destroy(m.device);
  free(m.points);
  return code;
}

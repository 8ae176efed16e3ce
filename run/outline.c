/* The mesh of an outline: refined, of wanted sizes, or stretched along a field. */
#include "run/outline_parts.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/host.h"
#include "density/density.h"
#include "density/metric_source.h"
#include "meshes/formats/formats.h"
#include "meshes/polygon_file.h"
#include "run/files.h"
#include "run/input.h"
#include "run/json.h"
#include "run/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Nonzero if the operand is the picture whose frame is to be meshed. */
static int is_of_picture(const cvtm_run_options *o) {
  return o->outline.metric != NULL && !cvtm_polygon_format_known(o->input.name);
}

int run_outline_wanted(const cvtm_run_options *o) {
  return (o->given & CVTM_RUN_GIVEN_MIN_ANGLE) || o->outline.metric != NULL ||
         o->outline.size.count > 0 || (o->points > 0 && cvtm_polygon_format_known(o->input.name));
}

/* --- the metric ----------------------------------------------------------------------------- */

/* The picture that gives the metric; NULL: a field on a mesh or at points gives it. */
static const char *picture_of(const cvtm_run_options *o) {
  if (strcmp(o->outline.metric, "hessian") == 0) return o->input.name;
  return run_field_file_known(o->outline.metric) ? NULL : o->outline.metric;
}

static cvtm_status check_metric(const cvtm_run_options *o, cvtm_error *error) {
  if (o->outline.metric == NULL)
    return o->given & CVTM_RUN_GIVEN_METRIC_RATIO
               ? run_usage_error(error, "--metric-ratio needs --metric")
               : CVTM_OK;
  if (strcmp(o->outline.metric, "hessian") == 0 && !is_of_picture(o))
    return run_usage_error(
        error, "--metric hessian needs a picture; for an outline, name a file with a field");
  if ((o->given & CVTM_RUN_GIVEN_MIN_ANGLE) || o->outline.size.count > 0)
    return run_usage_error(
        error, "--metric determines sizes and angles: --size and --min-angle contradict it");
  if (o->periodic || o->element_order == 2)
    return run_usage_error(error, "--metric does not go with --periodic or --element-order 2");
  return o->points > 0 ? CVTM_OK : run_usage_error(error, "--points is missing");
}

/* Finds the size of the picture that gives the metric. */
static cvtm_status picture_size(const cvtm_run_options *o, cvtm_domain *domain, cvtm_error *error) {
  cvtm_image image = {0};
  const cvtm_status status = cvtm_image_open(&o->input, 0, &image, error);
  if (status == CVTM_OK) *domain = (cvtm_domain){image.width, image.height, 0};
  cvtm_image_free(&image);
  return status;
}

/* Reads the metric from a picture, whose lower left corner becomes the origin of mesh files. */
static cvtm_status read_metric_picture(const cvtm_run_options *o, cvtm_domain domain,
                                       const char *path, cvtm_metric_field *field,
                                       cvtm_error *error) {
  const cvtm_input source = {path, NULL};
  cvtm_image image = {0};
  cvtm_status status = run_read_image(o, &source, 0, &image, error);
  if (status == CVTM_OK && image.masked > 0)
    status = cvtm_fail(error, CVTM_ERROR_INPUT, "%s: a metric needs data in every pixel", path);
  if (status != CVTM_OK) {
    cvtm_image_free(&image);
    return status;
  }
  /* smoothing over a fifth of the mean distance of vertices removes noise that no edge resolves */
  const double spacing = sqrt((double)image.width * image.height / (double)o->points);
  *field = (cvtm_metric_field){.upper = domain.height - image.height,
                               .step = 1,
                               .width = image.width,
                               .height = image.height};
  status = cvtm_metric_of_picture(image.value, fmax(0.2 * spacing, 1), o->outline.metric_ratio,
                                  field, error);
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

/* Reads the metric, up to a factor, over a rectangle (left, upper, right, lower) in pixels, y
 * down. */
static cvtm_status read_metric(const cvtm_run_options *o, cvtm_domain domain,
                               const double rectangle[4], cvtm_metric_field *field,
                               cvtm_error *error) {
  const char *picture = picture_of(o);
  if (picture != NULL) return read_metric_picture(o, domain, picture, field, error);
  const cvtm_input from = {o->outline.metric, NULL};
  run_field source;
  choose_cells(rectangle, field);
  cvtm_status status = run_field_read(o, &from, domain, &source, error);
  for (int64_t v = 0; v < source.mesh.vertex_count && status == CVTM_OK; ++v) {
    double *p = source.mesh.points + 2 * v; /* in cells of the raster */
    p[0] = (p[0] - field->left) / field->step;
    p[1] = (p[1] - field->upper) / field->step;
  }
  if (status == CVTM_OK)
    status = source.metric != NULL ? cvtm_metric_of_vertices(&source.mesh, source.metric,
                                                             o->outline.metric_ratio, field, error)
                                   : cvtm_metric_of_solution(&source.mesh, source.values,
                                                             o->outline.metric_ratio, field, error);
  run_field_free(&source);
  return run_name_file(o->outline.metric, status, error);
}

static void report_metric(const cvtm_adapt_figures *f, cJSON *report) {
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

/* --- reading -------------------------------------------------------------------------------- */

cvtm_domain run_outline_place_domain(const cvtm_outline *o) {
  return (cvtm_domain){o->domain.width, o->y_up ? 0 : o->domain.height, 0};
}

/* The rectangle that pictures show: from 0 to the largest coordinates, or to given sides. */
static cvtm_domain domain_around(const cvtm_run_options *options, const double *points,
                                 int64_t count) {
  double side[2] = {1, 1};
  for (int64_t i = 0; i < 2 * count; ++i)
    side[i % 2] = fmax(side[i % 2], fmin(ceil(points[i]), CVTM_MAX_SIDE));
  const int64_t width = options->outline.width > 0 ? options->outline.width : (int64_t)side[0];
  const int64_t height = options->outline.height > 0 ? options->outline.height : (int64_t)side[1];
  return (cvtm_domain){(int)(width < CVTM_MAX_SIDE ? width : CVTM_MAX_SIDE),
                       (int)(height < CVTM_MAX_SIDE ? height : CVTM_MAX_SIDE), 0};
}

/* Makes edges of the rings, with the inside, region 1, on the left. */
static cvtm_status bound_rings(cvtm_outline *o, cvtm_error *error) {
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
static cvtm_status take_frame(cvtm_outline *o, cvtm_error *error) {
  cvtm_polygons *p = &o->polygons;
  cvtm_status status = picture_size(&o->options, &o->domain, error);
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

/* Takes a graph as the outline, and the largest areas that its file may give. */
static void take_graph(cvtm_outline *o) {
  run_area_caps *caps = &o->caps;
  o->domain = domain_around(&o->options, o->graph.boundary.points, o->graph.boundary.vertex_count);
  cvtm_pslg_turn(&o->graph, o->y_up, 0);
  o->boundary = o->graph.boundary;
  o->graph.boundary = (cvtm_boundary){0};
  if (o->graph.area_count == 0) return;
  qsort(o->graph.areas, (size_t)o->graph.area_count, sizeof *o->graph.areas, cvtm_compare_int32);
  caps->file_count = o->graph.area_count;
  caps->file = o->graph.areas;
}

static cvtm_status read_rings(cvtm_outline *o, cvtm_error *error) {
  const char *path = o->options.input.name;
  CVTM_TRY(cvtm_polygons_read(path, &o->polygons, error));
  /* the edges of periodic sides end where holes touch them */
  if (o->options.periodic) CVTM_TRY(cvtm_rings_touch(&o->polygons, error));
  o->domain =
      domain_around(&o->options, o->polygons.points, o->polygons.start[o->polygons.ring_count]);
  o->polygons.y_up = o->y_up;
  cvtm_polygons_turn(&o->polygons, 0);
  return bound_rings(o, error);
}

int run_outline_is_svg(const cvtm_run_options *options) {
  char buffer[16];
  return strcmp(cvtm_file_extension(options->input.name, buffer, sizeof buffer), "svg") == 0;
}

/* Reads the outline, which has y up as in mesh files, except in SVG. */
static cvtm_status read_outline(cvtm_outline *o, cvtm_error *error) {
  const char *path = o->options.input.name;
  int is_rings = 1;
  if (is_of_picture(&o->options)) return take_frame(o, error);
  const cvtm_status status =
      run_name_file(path, run_read_pslg(&o->options, path, &o->graph, &is_rings, error), error);
  o->y_up = !run_outline_is_svg(&o->options);
  if (status != CVTM_OK) return status;
  if (is_rings) return read_rings(o, error);
  take_graph(o);
  return CVTM_OK;
}

void run_outline_box(const double *points, int64_t count, double sides[4]) {
  for (int k = 0; k < 4; ++k) sides[k] = points[k % 2];
  for (int64_t i = 0; i < 2 * count; ++i) {
    sides[i % 2] = fmin(sides[i % 2], points[i]);
    sides[2 + i % 2] = fmax(sides[2 + i % 2], points[i]);
  }
}

cvtm_status run_outline_read(cvtm_outline *o, cvtm_error *error) {
  cvtm_run_options *options = &o->options;
  o->is_framed =
      options->outline.width > 0 || options->outline.height > 0 || is_of_picture(options);
  cvtm_status status = read_outline(o, error);
  if (status == CVTM_OK) run_outline_box(o->boundary.points, o->boundary.vertex_count, o->sides);
  if (status == CVTM_OK && options->periodic)
    status = run_name_file(options->input.name, run_outline_pair(o, error), error);
  if (status == CVTM_OK)
    status = run_world_set(options, NULL, options->input.name, o->domain.height, error);
  if (status == CVTM_OK && options->world.mm == 0 && run_outline_is_svg(options))
    status = cvtm_svg_unit(options->input.name, &options->world.mm, error);
  if (status == CVTM_OK && options->outline.metric != NULL)
    status = read_metric(options, run_outline_place_domain(o), o->sides, &o->metric, error);
  return status;
}

/* --- the mesh ------------------------------------------------------------------------------- */

/* Finds the pairs of vertices on the sides of a periodic outline. */
static cvtm_status pair_sides(cvtm_outline *o, cvtm_error *error) {
  const cvtm_status status =
      cvtm_regions_pair(&o->mesh, &o->boundary, o->origin, &o->regions, error);
  if (status != CVTM_OK || o->regions.unpaired == 0) return status;
  return cvtm_fail(error, CVTM_ERROR_INPUT,
                   "--periodic: %lld %s on sides of the outline without a copy on the other side",
                   (long long)o->regions.unpaired, o->regions.unpaired == 1 ? "point" : "points");
}

static cvtm_status triangulate_refined(cvtm_outline *o, cvtm_error *error) {
  cvtm_refinement *refined = NULL;
  cvtm_status status = run_sizes_bound_areas(o, error);
  if (status == CVTM_OK)
    status = cvtm_refine(o->boundary.points, o->boundary.vertex_count, &o->boundary, &o->refine,
                         &refined, &o->figures, error);
  if (status == CVTM_OK)
    status = cvtm_refinement_mesh(refined, &o->mesh, &o->regions, &o->origin, error);
  cvtm_refinement_destroy(refined);
  return status == CVTM_OK ? run_outline_place(o, error) : status;
}

static cvtm_status triangulate_outline(cvtm_outline *o, cvtm_error *error) {
  if (o->options.outline.metric != NULL)
    return cvtm_adapt(&o->boundary, &o->metric, o->options.points, run_is_over, &o->limit, &o->mesh,
                      &o->regions, &o->adapted, error);
  return run_sizes_wanted(&o->options) ? run_sizes_mesh(o, error) : triangulate_refined(o, error);
}

cvtm_status run_outline_mesh(cvtm_outline *o, cvtm_error *error) {
  const double start = cvtm_clock();
  const cvtm_run_options *options = &o->options;
  run_refine_choose(options, &o->caps, &o->limit, &o->refine);
  o->limit.options = options;
  if (options->time_limit > 0) o->limit.deadline = start + options->time_limit;
  cvtm_status status = triangulate_outline(o, error);
  o->seconds = cvtm_clock() - start;
  if (status == CVTM_OK)
    status = run_outline_group(o, &o->mesh, o->sides, &o->regions, &o->group_marker, error);
  if (status == CVTM_OK && options->periodic) status = pair_sides(o, error);
  if (status == CVTM_OK) status = run_outline_label(o, error);
  if (status == CVTM_OK) status = cvtm_quality_compute(&o->mesh, NULL, &o->quality, error);
  return run_name_file(options->input.name, status, error);
}

/* --- drawings and files --------------------------------------------------------------------- */

/* Nonzero if the outline lies in the frame and covers most of its width and height. */
static int is_in_frame(const cvtm_outline *o) {
  const double *sides = o->sides, top = o->y_up ? -o->domain.height : 0;
  const double width = sides[2] - sides[0], height = sides[3] - sides[1];
  return sides[0] >= 0 && sides[2] <= o->domain.width && sides[1] >= top &&
         sides[3] <= top + o->domain.height && width >= 0.5 * o->domain.width &&
         height >= 0.5 * o->domain.height && fmax(width, height) >= RUN_DRAWING_LEAST;
}

/* Makes the mesh in the coordinates of drawings. An outline in the frame of a picture is drawn in
 * that frame. Other outlines, and tiny or huge ones, are moved and scaled to fill the drawing. */
static cvtm_status draw(cvtm_outline *o, cvtm_error *error) {
  double left = 0, upper = o->y_up ? -o->domain.height : 0, scale = 1;
  cvtm_mesh *drawn = &o->drawn.mesh;
  if (drawn->points != NULL) return CVTM_OK;
  o->drawn.domain = o->domain;
  if (!o->is_framed && !is_in_frame(o)) {
    left = o->sides[0];
    upper = o->sides[1];
    o->drawn.domain = run_drawing_domain(o->sides, &scale);
  }
  *drawn = o->mesh;
  drawn->points = malloc((2 * (size_t)o->mesh.vertex_count + 1) * sizeof *drawn->points);
  if (drawn->points == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for the drawing");
  for (int64_t v = 0; v < o->mesh.vertex_count; ++v) {
    drawn->points[2 * v] = scale * (o->mesh.points[2 * v] - left);
    drawn->points[2 * v + 1] = scale * (o->mesh.points[2 * v + 1] - upper);
  }
  return cvtm_cells_of_domain(drawn, &o->drawn.cells, error);
}

/* Makes the nodes of second order, with the attributes of a .poly file. */
static cvtm_status make_second_order(cvtm_outline *o, cvtm_error *error) {
  const size_t n = (size_t)o->mesh.vertex_count, width = (size_t)o->labels.vertex_attribute_count;
  CVTM_TRY(cvtm_second_order_create(&o->mesh, &o->regions, NULL, &o->second, error));
  if (width == 0) return CVTM_OK;
  double *all = realloc(o->vertex_attribute, (n + (size_t)o->second.count) * width * sizeof *all);
  if (all == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for attributes");
  cvtm_pslg_interpolate(&o->graph, o->second.points, o->second.count, all + n * width);
  o->labels.vertex_attribute = o->vertex_attribute = all;
  return CVTM_OK;
}

/* Makes the scene for files with these options. The scene borrows *drawn. */
static cvtm_status make_scene(cvtm_outline *o, const cvtm_run_options *options, run_scene *scene,
                              run_scene *drawn, cvtm_error *error) {
  const int second = options->element_order == 2;
  cvtm_status status = CVTM_OK;
  if (second && o->second.count == 0) status = make_second_order(o, error);
  if (status == CVTM_OK &&
      (run_outputs_draw(options) || run_has_page(options) || options->unit == CVTM_RUN_UNIT_WIDTH))
    status = draw(o, error);
  *drawn = (run_scene){.options = options,
                       .domain = o->drawn.domain,
                       .sites = o->drawn.mesh.points,
                       .count = o->mesh.vertex_count,
                       .mesh = &o->drawn.mesh,
                       .cells = &o->drawn.cells,
                       .regions = &o->regions,
                       .second = second ? &o->second : NULL,
                       .labels = &o->labels,
                       .plot = &o->plot};
  *scene = *drawn;
  scene->domain = run_outline_place_domain(o);
  scene->sites = o->mesh.points;
  scene->mesh = &o->mesh;
  scene->cells = NULL;
  scene->drawn = drawn;
  return status;
}

static void report_periods(const cvtm_outline *o, cJSON *report) {
  cJSON *list = cJSON_AddArrayToObject(report, "translations");
  run_json_real(report, "translation_error", o->period_error);
  for (int k = 0; k < o->period_count; ++k) {
    cJSON *entry = run_json_item(list);
    run_json_integer(entry, "number", o->first_period + k);
    run_json_real(entry, "x", o->period[k][0]);
    run_json_real(entry, "y", o->y_up ? 0 - o->period[k][1] : o->period[k][1]);
  }
}

static cJSON *make_report(const cvtm_outline *o, const cvtm_run_options *options) {
  cJSON *report = run_json_begin(NULL);
  if (options->describe != NULL)
    options->describe(options->context, options, NULL, cJSON_AddObjectToObject(report, "options"));
  run_json_integer(report, "width", o->domain.width);
  run_json_integer(report, "height", o->domain.height);
  run_json_integer(report, "sites", o->mesh.vertex_count);
  run_json_integer(report, "triangles", o->mesh.triangle_count);
  run_json_integer(report, "input_corners", o->boundary.vertex_count);
  if (o->regions.pairs != NULL) run_json_integer(report, "pairs", o->regions.pair_count);
  if (o->period_count > 0) report_periods(o, report);
  if (options->outline.metric != NULL)
    report_metric(&o->adapted, report);
  else if (run_sizes_wanted(options))
    run_sizes_report(&o->sizes, report);
  else
    run_refine_report(&o->refine, &o->figures, o->y_up ? 0 : NAN, report);
  cJSON *seconds = cJSON_AddObjectToObject(report, "seconds");
  run_json_real(seconds, "mesh", o->seconds);
  run_page_report(options, o->domain, report);
  run_plot_report(&o->plot, report);
  run_world_report(options, o->domain, &o->mesh, report);
  run_json_quality(report, &o->quality);
  return report;
}

/* --- the public functions ------------------------------------------------------------------- */

/* Sets options that differ from the defaults of a run: drawings show the mesh. */
static void choose_outline(cvtm_run_options *options) {
  options->given = run_given(options);
  options->purpose = CVTM_RUN_OUTLINE;
  if (!(options->given & CVTM_RUN_GIVEN_SVG)) options->svg = CVTM_SVG_MESH;
}

static cvtm_status check_files(const cvtm_run_options *options, cvtm_error *error) {
  cvtm_status status = run_page_check(options, error);
  if (status == CVTM_OK) status = run_outputs_check(options, error);
  return status == CVTM_OK ? run_refuse_overwriting(options, error) : status;
}

static cvtm_status check_outline(cvtm_outline *o, cvtm_error *error) {
  const cvtm_run_options *options = &o->options;
  char known[CVTM_FORMAT_NAMES];
  if (options->input.name == NULL) return run_usage_error(error, "OUTLINE is missing");
  if (options->outline.metric == NULL && !cvtm_polygon_format_known(options->input.name))
    return run_usage_error(
        error, "%s is no outline (%s); meshes of pictures: cvtmesh run, or --metric hessian",
        options->input.name,
        cvtm_format_names(cvtm_formats, CVTM_READS_POLYGONS, " ", known, sizeof known));
  if (options->order != CVTM_RUN_ORDER_NONE)
    return run_usage_error(error, "--order does not go with the mesh of an outline");
  if (options->refine.max_area.count > 0 || options->size.from.name != NULL)
    return run_usage_error(error, "--max-area and --size-from are not for outlines: give --size");
  if ((options->given & CVTM_RUN_GIVEN_SIMPLIFY) &&
      (options->periodic || !run_sizes_wanted(options)))
    return run_usage_error(error,
                           "--simplify needs --size or --points, and goes neither with --periodic "
                           "nor with --min-angle, --size max or --metric");
  cvtm_status status = run_sizes_read(options, &o->sizes, error);
  if (status == CVTM_OK) status = run_outline_names_check(&options->outline.boundary_names, error);
  if (status == CVTM_OK) status = check_metric(options, error);
  return status == CVTM_OK ? check_files(options, error) : status;
}

cvtm_status cvtm_outline_create(const cvtm_run_options *options, cvtm_outline **outline,
                                cvtm_error *error) {
  cvtm_outline *o = calloc(1, sizeof *o);
  if (o == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  cvtm_run_defaults(&o->options);
  if (options != NULL) o->options = *options;
  choose_outline(&o->options);
  run_json_start();
  const cvtm_status status = check_outline(o, error);
  if (status == CVTM_OK)
    *outline = o;
  else
    cvtm_outline_destroy(o);
  return status;
}

cvtm_status cvtm_outline_solve(cvtm_outline *o, cvtm_error *error) {
  const cvtm_status status = run_outline_read(o, error);
  return status == CVTM_OK ? run_outline_mesh(o, error) : status;
}

/* Nonzero if these options need another mesh. */
static int asks_for_another(const cvtm_run_options *made, const cvtm_run_options *asked) {
  return asked->points != made->points || asked->periodic != made->periodic ||
         asked->refine.min_angle != made->refine.min_angle ||
         asked->refine.max_area.count != made->refine.max_area.count ||
         asked->outline.size.count != made->outline.size.count ||
         asked->outline.boundary_names.count != made->outline.boundary_names.count ||
         asked->outline.grade != made->outline.grade ||
         asked->outline.simplify != made->outline.simplify ||
         asked->outline.metric != made->outline.metric;
}

cvtm_status cvtm_outline_write(cvtm_outline *o, const char *path, const cvtm_run_options *options,
                               cvtm_error *error) {
  if (options == NULL) options = &o->options;
  cvtm_run_options asked =
      path != NULL ? run_options_of_file(&o->options, path, options) : *options;
  choose_outline(&asked);
  run_scene scene, drawn;
  if (asks_for_another(&o->options, &asked))
    return run_usage_error(error,
                           "options that determine the mesh cannot change after it was made");
  o->plot = (run_plot){.plotter = NULL};
  cvtm_status status = check_files(&asked, error);
  if (status == CVTM_OK) status = make_scene(o, &asked, &scene, &drawn, error);
  if (status == CVTM_OK) status = run_scene_write(&scene, error);
  if (status == CVTM_OK) status = run_domain_write_pairs(&asked, &o->regions, error);
  if (status != CVTM_OK || asked.report == NULL) return status;
  return run_json_write(asked.report, make_report(o, &asked), error);
}

char *cvtm_outline_report(const cvtm_outline *o) {
  cJSON *report = make_report(o, &o->options);
  char *text = run_json_print(report, 0);
  cJSON_Delete(report);
  return text;
}

const cvtm_outline_result *cvtm_outline_get(cvtm_outline *o) {
  run_scene scene, drawn;
  if (o->placed == NULL && make_scene(o, &o->options, &scene, &drawn, NULL) == CVTM_OK)
    o->placed = run_scene_place(&scene);
  o->got = (cvtm_outline_result){.points = o->placed,
                                 .mesh = &o->mesh,
                                 .regions = &o->regions,
                                 .quality = &o->quality,
                                 .domain = o->domain,
                                 .seconds = o->seconds,
                                 .converged = !run_refine_fell_short(&o->figures)};
  return &o->got;
}

void cvtm_outline_destroy(cvtm_outline *o) {
  if (o == NULL) return;
  cvtm_polygons_free(&o->polygons);
  cvtm_pslg_free(&o->graph);
  cvtm_boundary_free(&o->boundary);
  cvtm_refine_figures_free(&o->figures);
  cvtm_metric_field_free(&o->metric);
  run_sizes_free(&o->sizes);
  free(o->origin);
  free(o->drawn.mesh.points);
  cvtm_cells_free(&o->drawn.cells);
  cvtm_mesh_free(&o->mesh);
  cvtm_second_order_free(&o->second);
  cvtm_regions_free(&o->regions);
  free(o->attribute);
  free(o->group_marker);
  free(o->vertex_marker);
  free(o->vertex_attribute);
  free(o->placed);
  free(o);
}

/* cvtmesh mesh: meshes of polygons, refined or stretched along a field (--metric), or of points. */
#include "base/clock.h"
#include "base/npy.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/summary.h"
#include "run/input.h"
#include "run/outline_parts.h"
#include "run/output.h"
#include "run/page.h"
#include "run/json.h"
#include "meshes/mesh_file.h"
#include "meshes/polygon_file.h"
#include "meshes/delaunay/torus.h"
#include "meshes/formats/formats.h"

#include <cjson/cJSON.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- the mesh of an outline ----------------------------------------------------------------- */

static void print_outline_summary(const cvtm_outline *o) {
  const cvtm_quality_figures *all = &o->quality.all;
  fprintf(stderr, "%s: %s, %s, %s in %.3f seconds\n", cli_visible(o->options.input.name),
          cli_count(o->boundary.vertex_count, "corner", "corners"),
          cli_count(o->mesh.vertex_count, "point", "points"),
          cli_count(o->mesh.triangle_count, "triangle", "triangles"), o->seconds);
  fprintf(stderr, "  smallest angle %.3g degrees, mean %.1f; mean Q %.4f\n", all->min_angle,
          all->mean_min_angle, all->mean_q);
  cli_world_print(&o->options, o->domain);
  if (o->regions.pairs != NULL)
    fprintf(stderr, "  periodic   %s of vertices on sides moved by %s\n",
            cli_count(o->regions.pair_count, "pair", "pairs"),
            cli_count(o->period_count, "translation", "translations"));
  if (o->period_error > 0)
    fprintf(stderr, "  note       places on the sides differ from translated ones by up to %g\n",
            o->period_error);
  if (o->options.outline.metric != NULL)
    fprintf(stderr,
            "  metric     %.1f %% of the edges between 1/sqrt(2) and sqrt(2); quality %.3f, mean "
            "%.3f\n",
            100 * o->adapted.good_edges, o->adapted.least_quality, o->adapted.mean_quality);
  else if (!run_sizes_wanted(&o->options))
    cli_refine_print_summary(&o->refine, &o->figures);
  else if (o->options.points > 0 &&
           fabs((double)o->mesh.vertex_count / (double)o->options.points - 1) > 0.02)
    fprintf(stderr,
            "  -n %lld is not met: edges have whole parts, and sizes with names, short edges and "
            "narrow parts stay; a %s --grade needs %s vertices\n",
            (long long)o->options.points,
            o->mesh.vertex_count > o->options.points ? "larger" : "smaller",
            o->mesh.vertex_count > o->options.points ? "fewer" : "more");
  cli_plot_print(&o->plot);
}

int cli_outline_make(cli_options *own, cvtm_outline **made) {
  cvtm_error error = {CVTM_OK, ""};
  if (strcmp(own->device, "auto") != 0 && strcmp(own->device, "cpu") != 0)
    return cli_usage_error(CLI_MESH, "--device %s: an outline is meshed on the CPU", own->device);
  own->run.purpose = CVTM_RUN_OUTLINE;
  own->run.outline.width = own->width;
  own->run.outline.height = own->height;
  int code =
      cli_result(CLI_MESH, CLI_READING, cvtm_outline_create(&own->run, made, &error), &error);
  if (code == CLI_EXIT_OK) code = cli_outputs_check(own);
  if (code != CLI_EXIT_OK) return code;
  cvtm_outline *o = *made;
  cvtm_status status = run_outline_read(o, &error);
  if (status != CVTM_OK) return cli_failed(CLI_READING, status, &error);
  own->width = o->domain.width;
  own->height = o->domain.height;
  cli_catch_signals();
  status = run_outline_mesh(o, &error);
  return status == CVTM_OK ? CLI_EXIT_OK : cli_failed(CLI_WORKING, status, &error);
}

static int write_outline(const cli_options *own, cvtm_outline *o) {
  cvtm_error error = {CVTM_OK, ""};
  const cvtm_status status = cvtm_outline_write(o, NULL, NULL, &error);
  if (status != CVTM_OK) return cli_failed(CLI_WRITING, status, &error);
  if (!own->quiet) print_outline_summary(o);
  if (cli_interrupted()) return CLI_EXIT_INTERRUPTED;
  return !run_refine_fell_short(&o->figures) ? CLI_EXIT_OK : CLI_EXIT_NOT_CONVERGED;
}

static int run_outline(const cli_options *options) {
  cli_options own = *options;
  cli_progress progress = {0};
  cvtm_outline *outline = NULL;
  cli_progress_attach(&progress, &own);
  int code = cli_outline_make(&own, &outline);
  if (code == CLI_EXIT_OK) code = write_outline(&own, outline);
  cvtm_outline_destroy(outline);
  return code;
}

/* --- the mesh of points, and the command ---------------------------------------------------- */

typedef struct meshing {
  cli_options options;
  cvtm_device *device; /* NULL: the CPU */
  cvtm_domain domain;
  cli_corner corner; /* of places, whose y here is -y of the file */
  double *points;
  int64_t count;
  cvtm_mesh mesh; /* with the very coordinates of the points */
  double *moved;  /* places in coordinates of the domain; NULL: mesh.points have these */
  cvtm_cells cells;
  cvtm_quality quality;
  cvtm_second_order second; /* of --element-order 2; else empty */
  int32_t *copies;          /* with --periodic: 3 * copy_count, as in a cvtm_torus_mesh */
  int64_t copy_count;
  double *original; /* with --periodic: per vertex the point that it is, or that it is a copy of */
  run_point_order order;
  run_plot plot;
  int is_guessed; /* nonzero: the domain was found from the points */
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
  fprintf(stderr, "%s: %s, %s in %.3f seconds\n", cli_visible(m->options.run.input.name),
          cli_count(m->count, "point", "points"),
          cli_count(m->mesh.triangle_count, "triangle", "triangles"), m->triangulation.seconds);
  if (m->options.run.periodic)
    fprintf(stderr, "  torus      %d x %d, %s of points beyond its sides\n", m->domain.width,
            m->domain.height, cli_count(m->copy_count, "copy", "copies"));
  if (all->triangles > 0)
    fprintf(stderr, "  smallest angle %.3g degrees, mean %.1f; mean Q %.4f\n", all->min_angle,
            all->mean_min_angle, all->mean_q);
  if (m->corner.is_of_places)
    fprintf(
        stderr,
        "  places from (%.10g, %.10g) on, with y up as in the file; pixels of a picture: --like "
        "PICTURE\n",
        m->corner.at[0], m->corner.at[1]);
  else if (m->is_guessed)
    fprintf(stderr,
            "  domain %d x %d pixels, the smallest that holds the points; --like PICTURE takes a "
            "picture's\n",
            m->domain.width, m->domain.height);
  cli_order_print_summary(&m->order);
  cli_plot_print(&m->plot);
  cli_world_print(&m->options.run, m->domain);
  if (m->mesh.coincident_count > 0)
    fprintf(stderr, "  %s no triangle\n",
            cli_count(m->mesh.coincident_count, "point has the position of another one, and",
                      "points have the positions of others, and"));
  if (m->mesh.collinear) fprintf(stderr, "  all points lie on one line: there is no triangle\n");
}

/* Opens the device, unless the host makes the mesh before CUDA has started. */
static int open_device(meshing *m) {
  enum { LARGE = 500000 };
  if (strcmp(m->options.device, "auto") == 0 && m->count < LARGE) return CLI_EXIT_OK;
  return cli_open_device(&m->options, &m->device);
}

/* With --periodic: triangulates the torus. */
static cvtm_status triangulate_torus(meshing *m, cvtm_error *error) {
  cvtm_torus_mesh torus = {0};
  const double start = cvtm_clock();
  CVTM_TRY(cvtm_delaunay_torus(m->device, m->points, m->count, m->domain, &torus, error));
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

/* Writes a row for each copy of a point: the point, the copy, and the axis between them, 0 or 1, or
 * 2 for both. */
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

/* The mesh in coordinates of the domain, sharing all arrays except the vertices. */
static cvtm_mesh mesh_in_domain(const meshing *m) {
  cvtm_mesh mesh = m->mesh;
  if (m->moved != NULL) mesh.points = m->moved;
  return mesh;
}

/* Moves places to the domain. */
static void move_places(meshing *m, double left, double upper, double scale) {
  for (int64_t i = 0; i < m->count; ++i) {
    m->moved[2 * i] = scale * (m->points[2 * i] - left);
    m->moved[2 * i + 1] = scale * (m->points[2 * i + 1] - upper);
  }
}

/* Scales the domain of tiny or huge places for drawings. */
static void scale_drawing(meshing *m) {
  double sides[4], scale;
  run_outline_box(m->points, m->count, sides);
  const cvtm_domain scaled = run_drawing_domain(sides, &scale);
  if (m->moved == NULL || scale == 1) return;
  m->domain = scaled;
  move_places(m, sides[0], sides[1], scale);
}

/* Makes the mesh; also cells for an output that draws them, and quality for a report or a summary.
 * Points outside the domain have empty cells. */
static cvtm_status triangulate_points(meshing *m, cvtm_error *error) {
  if (m->options.run.periodic) return triangulate_torus(m, error);
  const size_t bytes = 2 * (size_t)m->count * sizeof *m->points;
  CVTM_TRY(cvtm_delaunay_on(m->device, m->points, m->count, &m->mesh, &m->triangulation, error));
  memcpy(m->mesh.points, m->points, bytes); /* the triangulation has rounded them */
  if (m->options.run.element_order == 2)
    CVTM_TRY(cvtm_second_order_create(&m->mesh, NULL, NULL, &m->second, error));
  if (m->corner.is_of_places) {
    m->moved = malloc(bytes);
    if (m->moved == NULL)
      return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for %lld points",
                       (long long)m->count);
    move_places(m, m->corner.at[0], -(m->corner.at[1] + m->domain.height), 1);
  }
  cvtm_mesh mesh = mesh_in_domain(m);
  if (m->options.run.report != NULL || !m->options.quiet)
    CVTM_TRY(cvtm_quality_compute(&mesh, &m->domain, &m->quality, error));
  scale_drawing(m);
  return run_outputs_draw(&m->options.run) ? cvtm_cells_create(&mesh, m->domain, &m->cells, error)
                                           : CVTM_OK;
}

/* Reads the points and finds their domain. */
static cvtm_status open_points(meshing *m, cvtm_error *error) {
  cli_options *o = &m->options;
  int y_up = 0;
  m->is_guessed = o->like.name == NULL && (o->width == 0 || o->height == 0);
  const int is_picture =
      o->like.name != NULL || o->width > 0 || o->height > 0 || run_has_world(&o->run);
  CVTM_TRY(is_picture ? cvtm_points_open(&o->run.input, &m->points, &m->count, error)
                      : cvtm_points_open_as_is(&o->run.input, &m->points, &m->count, &y_up, error));
  CVTM_TRY(cli_domain_of_points(o, o->run.input.name, m->points, m->count, &m->domain, &m->corner,
                                error));
  m->corner.is_of_places |= y_up;
  for (int64_t i = 0; i < m->count && m->corner.is_of_places; ++i)
    m->points[2 * i + 1] = -m->points[2 * i + 1];
  o->width = m->domain.width;
  o->height = m->domain.height;
  return run_world_set(&o->run, NULL, o->run.input.name, m->domain.height, error);
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
  cvtm_status status = open_points(m, &error);
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
  if (m->moved != NULL) {
    scene.domain.height = 0; /* y of the file is -y */
    scene.drawn = &drawn;
  }
  status = run_scene_write(&scene, &error);
  if (status == CVTM_OK) status = write_copies(m, &error);
  if (status == CVTM_OK) status = write_mesh_report(m, &error);
  if (status != CVTM_OK) return cli_failed(CLI_WRITING, status, &error);
  if (!options->quiet) print_mesh_summary(m);
  if (m->moved == NULL) cli_note_outside(options, m->points, m->count, m->domain);
  return cli_interrupted() ? CLI_EXIT_INTERRUPTED : CLI_EXIT_OK;
}

int cli_mesh(const cli_options *options) {
  const int is_outline = run_outline_wanted(&options->run);
  if (options->run.output.count == 0 && options->run.report == NULL)
    return cli_missing(CLI_MESH, "--output");
  if (!is_outline && options->run.size.field != NULL)
    return cli_usage_error(CLI_MESH, "--size-field needs --size or --metric");
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

/* cvtmesh mesh: the Delaunay triangulation of a point file, or the mesh of an outline. */
#include "base/clock.h"
#include "base/file.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/order.h"
#include "cli/outline.h"
#include "cli/output.h"
#include "cli/page.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/world.h"
#include "base/npy.h"
#include "meshes/mesh_file.h"
#include "meshes/delaunay/torus.h"

#include <stdlib.h>
#include <string.h>

typedef struct meshing {
  cli_options options;
  cvtm_device *device; /* NULL: the CPU */
  cvtm_domain domain;
  double corner[2]; /* of the domain, among the points */
  double *points;
  int64_t count;
  cvtm_mesh mesh;
  double *moved; /* the vertices in the domain; NULL: those of the mesh */
  cvtm_cells cells;
  cvtm_quality quality;
  cvtm_second_order second; /* of --element-order 2; else empty */
  int32_t *copies;          /* of --periodic: 3 * copy_count, as in a cvtm_torus_mesh */
  int64_t copy_count;
  double *original; /* of --periodic: of each vertex the point that it is or is a copy of */
  cli_point_order order;
  int is_guessed; /* the domain */
  cvtm_delaunay_report triangulation;
} meshing;

static cvtm_status write_mesh_report(const meshing *m, cvtm_error *error) {
  if (m->options.report == NULL) return CVTM_OK;
  cJSON *report = cli_report_begin(m->device, &m->options);
  cli_json_integer(report, "width", m->domain.width);
  cli_json_integer(report, "height", m->domain.height);
  cli_json_integer(report, "sites", m->count);
  cli_json_integer(report, "triangles", m->mesh.triangle_count);
  if (m->options.periodic) cli_json_integer(report, "copies", m->copy_count);
  cli_json_integer(report, "coincident_sites", m->mesh.coincident_count);
  cJSON_AddBoolToObject(report, "collinear", m->mesh.collinear != 0);
  cJSON *seconds = cJSON_AddObjectToObject(report, "seconds");
  cli_json_real(seconds, "mesh", m->triangulation.seconds);
  cli_json_triangulation(report, &m->triangulation);
  cli_order_report(&m->order, &m->options, report);
  cli_page_report(&m->options, m->domain, report);
  cli_world_report(&m->options, m->domain, &m->mesh, report);
  cli_json_quality(report, &m->quality);
  return cli_json_write(m->options.report, report, error);
}

static void print_mesh_summary(const meshing *m) {
  const cvtm_quality_figures *all = &m->quality.all;
  char from[64] = "";
  if (m->moved != NULL)
    snprintf(from, sizeof from, " from (%.10g, %.10g)", m->corner[0], m->corner[1]);
  fprintf(stderr, "%s: %lld %s, %lld %s in %.3f seconds\n", cli_visible(m->options.input),
          (long long)m->count, cli_word(m->count, "point", "points"),
          (long long)m->mesh.triangle_count,
          cli_word(m->mesh.triangle_count, "triangle", "triangles"), m->triangulation.seconds);
  if (m->options.periodic)
    fprintf(stderr, "  torus      %d x %d, %lld %s of points beyond its sides\n", m->domain.width,
            m->domain.height, (long long)m->copy_count, cli_word(m->copy_count, "copy", "copies"));
  if (all->triangles > 0)
    fprintf(stderr, "  smallest angle %.3g degrees, mean %.1f; mean Q %.4f\n", all->min_angle,
            all->mean_min_angle, all->mean_q);
  if (m->is_guessed)
    fprintf(stderr,
            "  domain %d x %d pixels%s, the smallest that holds the points; --like PICTURE takes a "
            "picture's\n",
            m->domain.width, m->domain.height, from);
  cli_order_print_summary(&m->order);
  cli_world_print(&m->options, m->domain, stderr);
  if (m->mesh.coincident_count > 0)
    fprintf(stderr, "  %lld %s no triangle\n", (long long)m->mesh.coincident_count,
            cli_word(m->mesh.coincident_count, "point shares another's place and has",
                     "points share another's place and have"));
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
  return m->options.report != NULL || !m->options.quiet
             ? cvtm_quality_compute(&m->mesh, NULL, &m->quality, error)
             : CVTM_OK;
}

/* A row for each copy of a point: the point, the copy, and the axis between them, 0 or 1, or 2 for
 * both. */
static cvtm_status write_copies(const meshing *m, cvtm_error *error) {
  const int64_t shape[2] = {m->copy_count, 3};
  if (m->options.domain.pairs_out == NULL) return CVTM_OK;
  int32_t *rows = malloc((3 * (size_t)m->copy_count + 1) * sizeof *rows);
  if (rows == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for pairs");
  for (int64_t k = 0; k < m->copy_count; ++k) {
    const int32_t *copy = m->copies + 3 * k;
    rows[3 * k] = copy[0];
    rows[3 * k + 1] = (int32_t)(m->count + k);
    rows[3 * k + 2] = copy[1] && copy[2] ? 2 : copy[2];
  }
  const cvtm_status status =
      cvtm_npy_write(m->options.domain.pairs_out, 'i', (int)sizeof *rows, 2, shape, rows, error);
  free(rows);
  return status;
}

/* The mesh in the domain; it shares all but the vertices. */
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
  if (m->options.periodic) return triangulate_torus(m, error);
  cvtm_status status =
      cvtm_delaunay_on(m->device, m->points, m->count, &m->mesh, &m->triangulation, error);
  if (status == CVTM_OK && m->options.element_order == 2)
    status = cvtm_second_order_create(&m->mesh, NULL, NULL, &m->second, error);
  if (status == CVTM_OK) status = move_mesh(m, error);
  const cvtm_mesh mesh = mesh_in_domain(m);
  if (status == CVTM_OK && cli_outputs_draw(&m->options))
    status = cvtm_cells_create(&mesh, m->domain, &m->cells, error);
  if (status == CVTM_OK && (m->options.report != NULL || !m->options.quiet))
    status = cvtm_quality_compute(&mesh, &m->domain, &m->quality, error);
  return status;
}

static int perform_mesh(meshing *m) {
  cli_options *options = &m->options;
  if (options->output.count == 0 && options->report == NULL)
    return cli_missing(CLI_MESH, "--output");
  if (options->size.field != NULL || cli_option_given(options, "size-as"))
    return cli_usage_error(CLI_MESH, "--size-field and --size-as need --size-from");
  if (options->domain.pairs_out != NULL && !options->periodic)
    return cli_usage_error(CLI_MESH, "--pairs-out needs --periodic");
  if (options->periodic && (cli_outputs_draw(options) || options->element_order == 2))
    return cli_usage_error(CLI_MESH, "--periodic: points make meshes of straight triangles alone");
  if (options->periodic && options->like == NULL && (options->width == 0 || options->height == 0))
    return cli_usage_error(CLI_MESH,
                           "the size of the torus is missing: --like PICTURE, or --width and "
                           "--height");
  if (options->points > 0 || cli_option_given(options, "metric-ratio"))
    return cli_usage_error(CLI_MESH, "--points and --metric-ratio need --metric");
  char buffer[CLI_EXTENSION_MAX];
  const char *extension = cvtm_file_extension(options->input, buffer, sizeof buffer);
  if (strcmp(extension, "geojson") == 0 || strcmp(extension, "poly") == 0)
    return cli_usage_error(CLI_MESH, "%s is an outline: --min-angle or --max-area is missing",
                           options->input);
  if (!cvtm_points_format_known(options->input))
    return cli_usage_error(CLI_MESH,
                           "%s: the extension names neither points (csv npy xyz node svg) nor an "
                           "outline; a picture needs --metric hessian, or cvtmesh run",
                           options->input);
  int code = cli_order_check(options);
  if (code == CLI_EXIT_OK) code = cli_page_check(options);
  if (code == CLI_EXIT_OK) code = cli_outputs_check(options);
  if (code != CLI_EXIT_OK) return code;
  cvtm_error error = {CVTM_OK, ""};
  cvtm_status status = cvtm_points_read(options->input, &m->points, &m->count, &error);
  if (status == CVTM_OK)
    status = cli_domain_of_points(options, options->input, m->points, m->count, &m->domain,
                                  m->corner, &error);
  if (status != CVTM_OK) return cli_failed(CLI_READING, status, &error);
  m->is_guessed = options->like == NULL && (options->width == 0 || options->height == 0);
  options->width = m->domain.width;
  options->height = m->domain.height;
  status = cli_world_set(options, NULL, options->input, m->domain.height, &error);
  if (status != CVTM_OK) return cli_failed(CLI_READING, status, &error);
  code = open_device(m);
  if (code != CLI_EXIT_OK) return code;
  const double deadline = options->time_limit > 0 ? cvtm_clock() + options->time_limit : 0;
  cli_catch_signals();
  status = cli_order_find(options, m->points, m->count, deadline, &m->order, &error);
  if (status == CVTM_OK) status = cli_order_apply(&m->order, m->count, 2, m->points, &error);
  if (status == CVTM_OK) status = triangulate_points(m, &error);
  if (status != CVTM_OK) return cli_failed(CLI_WORKING, status, &error);
  cvtm_mesh mesh = mesh_in_domain(m);
  cli_scene scene = {.options = options,
                     .domain = m->domain,
                     .sites = mesh.points,
                     .count = m->count,
                     .original = m->original,
                     .mesh = &mesh,
                     .cells = &m->cells};
  const cli_scene drawn = scene;
  scene.sites = m->points;
  scene.mesh = &m->mesh;
  scene.second = m->second.count > 0 ? &m->second : NULL;
  scene.domain.height += (int)m->corner[1]; /* y up starts at the domain's lower side */
  if (m->moved != NULL) scene.drawn = &drawn;
  status = cli_scene_write(&scene, &error);
  if (status == CVTM_OK) status = write_copies(m, &error);
  if (status == CVTM_OK) status = write_mesh_report(m, &error);
  if (status != CVTM_OK) return cli_failed(CLI_WRITING, status, &error);
  if (!options->quiet) print_mesh_summary(m);
  if (m->moved == NULL) cli_note_outside(options, m->points, m->count, m->domain);
  return cli_interrupted() ? CLI_EXIT_INTERRUPTED : CLI_EXIT_OK;
}

int cli_mesh(const cli_options *options) {
  if (cli_outline_wanted(options)) return cli_outline_mesh(options);
  meshing m;
  memset(&m, 0, sizeof m);
  m.options = *options;
  int code = perform_mesh(&m);
  cli_order_free(&m.order);
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

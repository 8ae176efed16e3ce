/* cvtmesh lcp: a linear complementarity problem, from the model problems or from files. */
#include "base/npy.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "run/input.h"
#include "cli/options.h"
#include "run/output.h"
#include "run/json.h"
#include "cli/solvers.h"
#include "draw/raster.h"
#include "lcp/lcp.h"
#include "lcp/matrix_market.h"
#include "lcp/problems/complementarity.h"
#include "meshes/mesh_file.h"
#include "meshes/elements/p1_elements.h"
#include "draw/picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- on the triangles of a mesh file -------------------------------------------------------- */

/* A model problem on a mesh, scaled to a longer side of 1; x = 0 on the boundary. */
typedef struct cli_lcp_mesh {
  cvtm_mesh mesh;
  cvtm_p1 p1;
  double *b, *lower; /* p1.count */
} cli_lcp_mesh;

enum { PICTURE_SIDE = 1600 };

static const double membrane_load = 1, membrane_obstacle = -0.05, torsion_load = 5;

/* --- the problem ------------------------------------------------------------------------------ */

static void fill_problem(cvtm_model model, double load, cli_lcp_mesh *m) {
  const int is_torsion = model == CVTM_MODEL_TORSION;
  if (load == 0) load = is_torsion ? torsion_load : membrane_load;
  for (int64_t i = 0; i < m->p1.count; ++i) {
    m->b[i] = -load * m->p1.load[i];
    m->lower[i] = is_torsion ? -m->p1.distance[i] : membrane_obstacle;
  }
}

static void cli_lcp_mesh_free(cli_lcp_mesh *made) {
  cvtm_mesh_free(&made->mesh);
  cvtm_p1_free(&made->p1);
  free(made->b);
  free(made->lower);
  *made = (cli_lcp_mesh){0};
}

/* Makes the problem -div grad x >= -load, and x >= -0.05 (membrane) or x >= -distance to the
 * boundary (torsion). load 0 means 1 (membrane) or 5 (torsion). On failure *made is empty. */
static cvtm_status cli_lcp_mesh_read(const char *path, cvtm_model model, double load,
                                     cli_lcp_mesh *made, cvtm_error *error) {
  *made = (cli_lcp_mesh){0};
  CVTM_TRY(cvtm_mesh_read(path, &made->mesh, error));
  cvtm_status status = cvtm_p1_create(&made->mesh, &made->p1, error);
  status = run_name_file(path, status, error);
  if (status == CVTM_OK) {
    made->b = malloc((size_t)made->p1.count * sizeof *made->b);
    made->lower = malloc((size_t)made->p1.count * sizeof *made->lower);
    if (made->b != NULL && made->lower != NULL)
      fill_problem(model, load, made);
    else
      status = cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path);
  }
  if (status != CVTM_OK) cli_lcp_mesh_free(made);
  return status;
}

/* The integral of x over the mesh. */
static double cli_lcp_mesh_integral(const cli_lcp_mesh *made, const double *x) {
  double sum = 0;
  for (int64_t i = 0; i < made->p1.count; ++i) sum += made->p1.load[i] * x[i];
  return sum;
}

/* --- outputs ---------------------------------------------------------------------------------- */

static int check_outputs_on_mesh(const cli_options *options) {
  char known[CVTM_FORMAT_NAMES] = "npy png ";
  const size_t used = strlen(known);
  cvtm_format_names(cvtm_formats, CVTM_WRITES_MESH | CVTM_HOLDS_VALUES, " ", known + used,
                    sizeof known - used);
  return cli_outputs_check_known(options, known, "x");
}

/* x at each vertex, 0 on the boundary; malloc'd; NULL if memory runs out. */
static double *values_at_vertices(const cli_lcp_mesh *m, const double *x) {
  double *value = calloc((size_t)m->mesh.vertex_count, sizeof *value);
  for (int64_t i = 0; value != NULL && i < m->p1.count; ++i) value[m->p1.vertex[i]] = x[i];
  return value;
}

/* Writes the mesh in the coordinates of its file. */
static cvtm_status write_mesh(const cli_lcp_mesh *m, const cli_options *options,
                              const double *value, const char *path, const char *extension,
                              cvtm_error *error) {
  const cvtm_mesh_file_options settings = {.domain = {1, 1, 0},
                                           .ascii = options->run.ascii,
                                           .vertex_data = value,
                                           .vertex_data_name = "solution",
                                           .format = extension,
                                           .scale = 1,
                                           .bottom = m->mesh.file_top - 1};
  return cvtm_mesh_write(path, &m->mesh, &settings, error);
}

typedef struct plot {
  const cli_lcp_mesh *problem;
  const double *value;
  double left, top, scale, deepest;
  cvtm_raster raster;
} plot;

static void find_frame(plot *p) {
  const cvtm_mesh *mesh = &p->problem->mesh;
  double right = -HUGE_VAL, bottom = -HUGE_VAL;
  p->left = p->top = HUGE_VAL;
  for (int64_t h = 0; h < 3 * mesh->triangle_count; ++h) {
    const double *at = mesh->points + 2 * (int64_t)mesh->triangles[h];
    p->left = fmin(p->left, at[0]);
    p->top = fmin(p->top, at[1]);
    right = fmax(right, at[0]);
    bottom = fmax(bottom, at[1]);
  }
  p->scale = PICTURE_SIDE / fmax(right - p->left, bottom - p->top);
  p->raster.width = (int)fmax(ceil((right - p->left) * p->scale), 1);
  p->raster.height = (int)fmax(ceil((bottom - p->top) * p->scale), 1);
  for (int64_t v = 0; v < mesh->vertex_count; ++v) p->deepest = fmax(p->deepest, fabs(p->value[v]));
}

static void corners_of(const plot *p, int64_t t, double corners[6]) {
  const cvtm_mesh *mesh = &p->problem->mesh;
  for (int k = 0; k < 3; ++k) {
    const double *at = mesh->points + 2 * (int64_t)mesh->triangles[3 * t + k];
    corners[2 * k] = (at[0] - p->left) * p->scale;
    corners[2 * k + 1] = (at[1] - p->top) * p->scale;
  }
}

static void draw_triangles(plot *p) {
  const int32_t *corner = p->problem->mesh.triangles;
  for (int64_t t = 0; t < p->problem->mesh.triangle_count; ++t, corner += 3) {
    const double sum = p->value[corner[0]] + p->value[corner[1]] + p->value[corner[2]];
    double corners[6];
    corners_of(p, t, corners);
    cvtm_raster_polygon(&p->raster, corners, 3,
                        cvtm_picture_colour(p->deepest > 0 ? fabs(sum) / 3 / p->deepest : 0));
  }
  cvtm_raster_merge(&p->raster, 1);
}

enum { APART, ON_BOUNDARY, IN_CONTACT };

/* Outlines triangles of which all corners except those on the boundary touch the obstacle. */
static void draw_contact(plot *p, const unsigned char *state) {
  const int32_t *corner = p->problem->mesh.triangles;
  const cvtm_colour ink = cvtm_picture_colour(1);
  for (int64_t t = 0; t < p->problem->mesh.triangle_count; ++t, corner += 3) {
    const int a = state[corner[0]], b = state[corner[1]], c = state[corner[2]];
    const int touches = a == IN_CONTACT || b == IN_CONTACT || c == IN_CONTACT;
    if (!touches || a == APART || b == APART || c == APART) continue;
    double at[6];
    corners_of(p, t, at);
    for (int k = 0; k < 6; k += 2)
      cvtm_raster_line(&p->raster, at[k], at[k + 1], at[(k + 2) % 6], at[(k + 3) % 6], 1, ink);
  }
  cvtm_raster_merge(&p->raster, 0.6);
}

static cvtm_status write_lcp_picture(const cli_lcp_mesh *m, const double *x, const double *value,
                                     const char *path, cvtm_error *error) {
  plot p = {.problem = m, .value = value};
  find_frame(&p);
  unsigned char *state = malloc((size_t)m->mesh.vertex_count);
  if (state == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path);
  memset(state, ON_BOUNDARY, (size_t)m->mesh.vertex_count);
  for (int64_t i = 0; i < m->p1.count; ++i)
    state[m->p1.vertex[i]] = x[i] <= m->lower[i] ? IN_CONTACT : APART;
  cvtm_status status =
      cvtm_raster_create(p.raster.width, p.raster.height, cvtm_picture_colour(0), &p.raster, error);
  if (status == CVTM_OK) {
    draw_triangles(&p);
    draw_contact(&p, state);
    status = cvtm_raster_write(&p.raster, path, error);
    cvtm_raster_destroy(&p.raster);
  }
  free(state);
  return status;
}

/* Writes x. npy: x at all vertices; png: the triangles coloured by x, those in contact outlined;
 * else a mesh file with the vertex data `solution`. */
static cvtm_status cli_lcp_mesh_write(const cli_lcp_mesh *made, const cli_options *options,
                                      const double *x, const char *path, const char *extension,
                                      cvtm_error *error) {
  double *value = values_at_vertices(made, x);
  if (value == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path);
  const int64_t vertices = made->mesh.vertex_count;
  cvtm_status status;
  if (strcmp(extension, "npy") == 0)
    status = cvtm_npy_write(path, 'f', (int)sizeof *value, 1, &vertices, value, error);
  else if (strcmp(extension, "png") == 0)
    status = write_lcp_picture(made, x, value, path, error);
  else
    status = write_mesh(made, options, value, path, extension, error);
  free(value);
  return status;
}

/* --- the command ---------------------------------------------------------------------------- */

typedef struct history {
  run_history list; /* one cvtm_lcp_progress per iteration */
  int keep, verbose, interrupted;
} history;

typedef struct work {
  cli_options options; /* with the chosen values in place of automatic ones */
  int is_model;
  cvtm_model_problem model;
  int is_on_mesh; /* nonzero: a model problem on the mesh of a file */
  cli_lcp_mesh mesh;
  cvtm_csr matrix; /* borrowed from the model or the mesh, or read from a file */
  int64_t n, width, height;
  double *b, *lower, *upper,
      *x; /* host memory; b and lower come from the model, the mesh or files */
  cvtm_device *device;
  cvtm_lcp *lcp;
  double *memory; /* device memory: b, lower, upper, x */
  double *on_b, *on_lower, *on_upper, *on_x;
  cvtm_lcp_result result;
  history history;
} work;

/* A cvtm_lcp_monitor. Stops the solver if memory runs out; the command then fails. */
static int record_lcp_step(void *context, const cvtm_lcp_progress *progress) {
  history *h = context;
  if (h->verbose)
    fprintf(stderr, "iteration %lld  natural residual %.3e, at most %.3e\n",
            (long long)progress->iteration, progress->natural_residual,
            progress->natural_residual_max);
  if (h->keep) {
    cvtm_lcp_progress *next = run_history_add(&h->list, sizeof *next);
    if (next == NULL) return 1;
    *next = *progress;
  }
  h->interrupted |= cli_interrupted();
  return h->interrupted;
}

/* --- the problem ------------------------------------------------------------------------- */

static int check_lcp_usage(work *w) {
  const cli_options *o = &w->options;
  w->is_model = o->lcp.problem >= 0;
  if (w->is_model == (o->lcp.matrix != NULL))
    return cli_usage_error(CLI_LCP, "one of --problem and --matrix is needed");
  if (w->is_model &&
      (o->lcp.rhs.name != NULL || o->lcp.lower.name != NULL || o->lcp.upper.name != NULL))
    return cli_usage_error(CLI_LCP, "--rhs, --lower and --upper need --matrix");
  if (!w->is_model && o->lcp.rhs.name == NULL) return cli_usage_error(CLI_LCP, "--rhs is missing");
  if ((o->lcp.width > 0) != (o->lcp.height > 0))
    return cli_usage_error(CLI_LCP, "--width and --height must be given together");
  if (o->lcp.is_matrix_free && !w->is_model)
    return cli_usage_error(CLI_LCP, "only the model problems can be matrix-free");
  if (o->lcp.is_matrix_free && o->lcp.solver.method == CVTM_LCP_PDAS)
    return cli_usage_error(CLI_LCP, "pdas needs a stored matrix");
  w->is_on_mesh = o->lcp.mesh != NULL;
  if (!w->is_on_mesh) return cli_outputs_check_known(o, "npy", "x");
  if (!w->is_model || o->lcp.is_matrix_free)
    return cli_usage_error(CLI_LCP, "--mesh needs --problem, and --storage sparse");
  return check_outputs_on_mesh(o);
}

static cvtm_status make_model(work *w, cvtm_error *error) {
  cli_options *o = &w->options;
  if (o->lcp.width == 0) o->lcp.width = o->lcp.height = o->lcp.size;
  CVTM_TRY(cvtm_model_problem_create((cvtm_model)o->lcp.problem, o->lcp.width, o->lcp.height,
                                     !o->lcp.is_matrix_free, &w->model, error));
  w->matrix = w->model.matrix;
  w->b = w->model.b;
  w->lower = w->model.lower;
  w->width = w->model.width;
  w->height = w->model.height;
  w->n = w->width * w->height;
  return CVTM_OK;
}

static cvtm_status make_model_on_mesh(work *w, cvtm_error *error) {
  const cli_options *o = &w->options;
  CVTM_TRY(
      cli_lcp_mesh_read(o->lcp.mesh, (cvtm_model)o->lcp.problem, o->lcp.load, &w->mesh, error));
  const cvtm_p1 *p1 = &w->mesh.p1;
  w->matrix = (cvtm_csr){p1->count, p1->count, p1->row_start, p1->column, p1->value};
  w->n = p1->count;
  w->b = w->mesh.b;
  w->lower = w->mesh.lower;
  return CVTM_OK;
}

static cvtm_status read_files(work *w, cvtm_error *error) {
  const cli_options *o = &w->options;
  w->width = o->lcp.width;
  w->height = o->lcp.height;
  CVTM_TRY(cvtm_matrix_market_read(o->lcp.matrix, &w->matrix, error));
  const cvtm_lcp_method method = o->lcp.solver.method;
  if (method != CVTM_LCP_AUTO && method != CVTM_LCP_LEMKE)
    CVTM_TRY(cvtm_csr_check_diagonal(&w->matrix, o->lcp.matrix, error));
  w->n = w->matrix.rows;
  CVTM_TRY(cli_read_vector(&o->lcp.rhs, w->n, &w->b, error));
  CVTM_TRY(cli_read_vector(&o->lcp.lower, w->n, &w->lower, error));
  return cli_read_vector(&o->lcp.upper, w->n, &w->upper, error);
}

/* --- the solver --------------------------------------------------------------------------- */

/* Takes the next n doubles of the device memory for *to, and copies `from` there. */
static cvtm_status take_vector(work *w, double **free_memory, const double *from, double **to) {
  if (from == NULL) return CVTM_OK;
  *to = *free_memory;
  *free_memory += w->n;
  return cvtm_device_copy_in(w->device, *to, from, (size_t)w->n * sizeof *from);
}

static cvtm_status to_device(work *w) {
  const int64_t vectors = 2 + (w->lower != NULL) + (w->upper != NULL);
  CVTM_TRY(cvtm_device_allocate(w->device, vectors * w->n, CVTM_TYPED(w->memory)));
  double *free_memory = w->memory;
  CVTM_TRY(take_vector(w, &free_memory, w->b, &w->on_x));
  CVTM_TRY(take_vector(w, &free_memory, w->b, &w->on_b));
  CVTM_TRY(take_vector(w, &free_memory, w->lower, &w->on_lower));
  return take_vector(w, &free_memory, w->upper, &w->on_upper);
}

/* Frees the host's copies of the vectors on the device. */
static void drop_vectors(work *w) {
  free(w->b);
  free(w->lower);
  w->b = w->lower = NULL;
  w->model.b = w->model.lower = NULL;
}

void cli_lcp_settings(const cli_options *o, cvtm_lcp_options *settings) {
  *settings = o->lcp.solver;
  settings->tolerance = o->run.tolerance;
  settings->max_iterations = o->run.iterations;
}

static cvtm_status create_solver(work *w) {
  const cli_options *o = &w->options;
  cvtm_lcp_options settings;
  cli_lcp_settings(o, &settings);
  settings.monitor = record_lcp_step;
  settings.monitor_context = &w->history;
  if (!o->lcp.is_matrix_free)
    return cvtm_lcp_create(w->device, &w->matrix, w->width, w->height, &settings, &w->lcp);
  const cvtm_lcp_grid grid = {.width = w->width, .height = w->height, .constant = 1};
  CVTM_TRY(cvtm_lcp_create_grid(w->device, w->width, w->height, &settings, &w->lcp));
  return cvtm_lcp_set_grid(w->lcp, &grid);
}

static cvtm_status solve_once(work *w) {
  const size_t bytes = (size_t)w->n * sizeof *w->x;
  w->x = malloc(bytes);
  if (w->x == NULL)
    return cvtm_fail(cvtm_device_error(w->device), CVTM_ERROR_MEMORY, "out of memory");
  CVTM_TRY(cvtm_lcp_solve(w->lcp, w->on_b, w->on_lower, w->on_upper, w->on_x, 0, &w->result));
  CVTM_TRY(cvtm_device_copy_out(w->device, w->x, w->on_x, bytes));
  return run_history_check(&w->history.list, cvtm_device_error(w->device));
}

static int solve_lcp(work *w) {
  cli_options *o = &w->options;
  CLI_TRY(cli_open_device(o, &w->device));
  w->history.keep = o->run.report != NULL;
  w->history.verbose = o->verbose && !o->quiet;
  cli_catch_signals();
  cvtm_status status = to_device(w);
  if (status == CVTM_OK && w->options.lcp.is_matrix_free) drop_vectors(w);
  if (status == CVTM_OK) status = create_solver(w);
  if (status == CVTM_OK) status = solve_once(w);
  if (status == CVTM_OK) return CLI_EXIT_OK;
  return cli_failed(CLI_WORKING, status, cvtm_device_error(w->device));
}

/* --- results ------------------------------------------------------------------------------- */

/* A run_writer. */
static cvtm_status write_solution(void *context, const char *path, const char *extension,
                                  cvtm_error *error) {
  const work *w = context;
  if (w->is_on_mesh) return cli_lcp_mesh_write(&w->mesh, &w->options, w->x, path, extension, error);
  const int64_t shape[2] = {w->height, w->width}, line = w->n;
  const int is_plane = w->width > 0 && w->height > 1;
  return cvtm_npy_write(path, 'f', (int)sizeof *w->x, is_plane ? 2 : 1, is_plane ? shape : &line,
                        w->x, error);
}

static void add_history(cJSON *report, const work *w) {
  cJSON *array = cJSON_AddArrayToObject(report, "history");
  const cvtm_lcp_progress *records = w->history.list.records;
  for (int64_t k = 0; k < w->history.list.count; ++k) {
    const cvtm_lcp_progress *r = &records[k];
    cJSON *entry = run_json_item(array);
    run_json_integer(entry, "iteration", r->iteration);
    run_json_real(entry, "natural_residual", r->natural_residual);
    run_json_real(entry, "natural_residual_max", r->natural_residual_max);
  }
}

/* Adds figures for which the solution of the model problem is known. */
static void add_checks(cJSON *report, const work *w) {
  if (w->is_on_mesh) run_json_real(report, "integral", cli_lcp_mesh_integral(&w->mesh, w->x));
  if (!w->is_model || w->is_on_mesh) return;
  const cvtm_model_problem *p = &w->model;
  double sum = 0;
  for (int64_t k = 0; k < w->n; ++k) sum += w->x[k];
  run_json_real(report, "integral", sum * p->spacing * p->spacing);
}

/* The number of nonzeros of the matrix, even if it is not stored. */
static int64_t nonzeros(const work *w) {
  if (w->options.lcp.is_matrix_free) return 5 * w->n - 2 * w->width - 2 * w->height;
  return w->matrix.row_start[w->n];
}

static cvtm_status write_lcp_report(const work *w, cvtm_error *error) {
  if (w->options.run.report == NULL) return CVTM_OK;
  const cvtm_lcp_result *r = &w->result;
  cJSON *report = cli_report_begin(w->device, &w->options);
  run_json_text(report, "method", cvtm_lcp_method_name(r->method));
  run_json_integer(report, "unknowns", w->n);
  run_json_integer(report, "nonzeros", nonzeros(w));
  run_json_integer(report, "iterations", r->iterations);
  run_json_real(report, "natural_residual", r->natural_residual);
  run_json_real(report, "natural_residual_max", r->natural_residual_max);
  run_json_integer(report, "active_lower", r->active_lower);
  run_json_integer(report, "active_upper", r->active_upper);
  run_json_real(report, "energy", r->energy);
  run_json_real(report, "rate", r->rate);
  run_json_text(report, "stop_reason", cvtm_lcp_stop_name(w->result.stop));
  add_checks(report, w);
  cJSON *seconds = cJSON_AddObjectToObject(report, "seconds");
  run_json_real(seconds, "setup", r->setup_seconds);
  run_json_real(seconds, "solve", r->seconds);
  add_history(report, w);
  return run_json_write(w->options.run.report, report, error);
}

static void print_lcp_summary(const work *w) {
  const cvtm_lcp_result *r = &w->result;
  fprintf(stderr,
          "%s on %s (%s)\n"
          "  %s, natural residual %.3e, at most %.3e; stopped by: %s\n"
          "  at the lower bound %lld, at the upper bound %lld; setup %.3f, solve %.3f seconds\n",
          cli_count(w->n, "unknown", "unknowns"), cvtm_device_name(w->device),
          cvtm_device_description(w->device), cli_count(r->iterations, "iteration", "iterations"),
          r->natural_residual, r->natural_residual_max, cvtm_lcp_stop_name(r->stop),
          (long long)r->active_lower, (long long)r->active_upper, r->setup_seconds, r->seconds);
  if (r->stop == CVTM_LCP_INFEASIBLE)
    fputs("  the problem has no solution: no x within the bounds gives F the signs that it needs\n",
          stderr);
  if (r->stop == CVTM_LCP_RAY)
    fputs("  there may be a solution, but no method here finds it\n", stderr);
}

static int finish_lcp(work *w) {
  cvtm_error error = {CVTM_OK, ""};
  cvtm_status status = run_outputs_write(&w->options.run, write_solution, w, &error);
  if (status == CVTM_OK) status = write_lcp_report(w, &error);
  if (status != CVTM_OK) return cli_failed(CLI_WRITING, status, &error);
  if (!w->options.quiet) print_lcp_summary(w);
  if (w->history.interrupted) return CLI_EXIT_INTERRUPTED;
  const cvtm_lcp_stop stop = w->result.stop;
  return cvtm_lcp_is_solved(stop) ? CLI_EXIT_OK : CLI_EXIT_NOT_CONVERGED;
}

static int perform_lcp(work *w) {
  cvtm_error error = {CVTM_OK, ""};
  CLI_TRY(check_lcp_usage(w));
  const cvtm_status status = w->is_on_mesh ? make_model_on_mesh(w, &error)
                             : w->is_model ? make_model(w, &error)
                                           : read_files(w, &error);
  if (status == CVTM_ERROR_ARGUMENT) return cli_usage_error(CLI_LCP, "%s", error.message);
  if (status != CVTM_OK) return cli_failed(CLI_READING, status, &error);
  CLI_TRY(solve_lcp(w));
  return finish_lcp(w);
}

static void free_work(work *w) {
  cvtm_lcp_destroy(w->lcp);
  cvtm_device_free(w->device, w->memory);
  cvtm_device_destroy(w->device);
  if (!w->is_model) {
    cvtm_csr_free(&w->matrix);
    free(w->b);
    free(w->lower);
  }
  cvtm_model_problem_free(&w->model);
  cli_lcp_mesh_free(&w->mesh);
  free(w->upper);
  free(w->x);
  free(w->history.list.records);
}

int cli_lcp(const cli_options *options) {
  work w = {.options = *options};
  const int code = perform_lcp(&w);
  free_work(&w);
  return code;
}

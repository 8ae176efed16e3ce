#include "cli/lcp_mesh.h"

#include "base/npy.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/output.h"
#include "draw/picture.h"
#include "draw/raster.h"
#include "meshes/mesh_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

cvtm_status cli_lcp_mesh_read(const char *path, cvtm_model model, double load, cli_lcp_mesh *made,
                              cvtm_error *error) {
  *made = (cli_lcp_mesh){0};
  cvtm_status status = cvtm_mesh_read(path, &made->mesh, error);
  if (status != CVTM_OK) return status;
  status = cvtm_p1_create(&made->mesh, &made->p1, error);
  status = cli_name_file(path, status, error);
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

void cli_lcp_mesh_free(cli_lcp_mesh *made) {
  cvtm_mesh_free(&made->mesh);
  cvtm_p1_free(&made->p1);
  free(made->b);
  free(made->lower);
  *made = (cli_lcp_mesh){0};
}

double cli_lcp_mesh_integral(const cli_lcp_mesh *made, const double *x) {
  double sum = 0;
  for (int64_t i = 0; i < made->p1.count; ++i) sum += made->p1.load[i] * x[i];
  return sum;
}

/* --- outputs ---------------------------------------------------------------------------------- */

int cli_lcp_mesh_check_outputs(const cli_options *options) {
  static const char *const known[] = {"npy", "png", "vtu", "vtk", "msh", "ply"};
  for (int k = 0; k < options->output.count; ++k) {
    char buffer[CLI_EXTENSION_MAX];
    const char *extension = cli_output_extension(options, options->output.item[k], buffer);
    int found = 0;
    for (size_t f = 0; f < sizeof known / sizeof *known; ++f)
      found |= strcmp(extension, known[f]) == 0;
    if (!found)
      return cli_usage_error(CLI_LCP, "%s: x is written as npy, png, vtu, vtk, msh or ply",
                             options->output.item[k]);
  }
  return cli_outputs_check(options);
}

/* x at the vertex; 0 on the boundary. malloc'd; NULL without memory. */
static double *values_at_vertices(const cli_lcp_mesh *m, const double *x) {
  double *value = calloc((size_t)m->mesh.vertex_count, sizeof *value);
  for (int64_t i = 0; value != NULL && i < m->p1.count; ++i) value[m->p1.vertex[i]] = x[i];
  return value;
}

/* Writes the mesh in the coordinates of the file that was read. */
static cvtm_status write_mesh(const cli_lcp_mesh *m, const cli_options *options,
                              const double *value, const char *path, const char *extension,
                              cvtm_error *error) {
  const cvtm_mesh_file_options settings = {.domain = {1, 1, 0},
                                           .ascii = options->ascii,
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

/* Outlines the triangles that touch the obstacle with all corners that are not on the boundary. */
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

cvtm_status cli_lcp_mesh_write(const cli_lcp_mesh *made, const cli_options *options,
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

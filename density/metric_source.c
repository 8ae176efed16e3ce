#include "density/metric_source.h"

#include "base/host_memory.h"
#include "density/seeds.h"

#include <math.h>
#include <stdlib.h>

static int64_t count_cells(const cvtm_metric_field *f) { return (int64_t)f->width * f->height; }

static double *component(cvtm_metric *m, int which) {
  return which == 0 ? &m->xx : which == 1 ? &m->xy : &m->yy;
}

static cvtm_status allocate(cvtm_metric_field *f, cvtm_error *error) {
  f->log = malloc((size_t)count_cells(f) * sizeof *f->log);
  return f->log != NULL ? CVTM_OK : cvtm_no_memory(error, "the metric");
}

/* Fills the field from one metric or Hessian per vertex. */
static cvtm_status fill_from_vertices(const cvtm_mesh *mesh, cvtm_metric *at_vertex,
                                      cvtm_metric_field *f, cvtm_error *error) {
  const int64_t cells = count_cells(f), n = mesh->vertex_count;
  double *values = malloc(((size_t)n + 1) * sizeof *values);
  double *pixel = malloc((size_t)cells * sizeof *pixel);
  cvtm_status status =
      values != NULL && pixel != NULL ? CVTM_OK : cvtm_no_memory(error, "the metric");
  for (int k = 0; k < 3 && status == CVTM_OK; ++k) {
    for (int64_t v = 0; v < n; ++v) values[v] = *component(&at_vertex[v], k);
    status = cvtm_mesh_raster(mesh, values, f->width, f->height, pixel, error);
    for (int64_t p = 0; p < cells && status == CVTM_OK; ++p) *component(&f->log[p], k) = pixel[p];
  }
  free(values);
  free(pixel);
  return status;
}

cvtm_status cvtm_metric_of_solution(const cvtm_mesh *mesh, const double *values, double ratio,
                                    cvtm_metric_field *f, cvtm_error *error) {
  cvtm_metric *hessian = malloc(((size_t)mesh->vertex_count + 1) * sizeof *hessian);
  cvtm_status status = hessian != NULL ? allocate(f, error) : cvtm_no_memory(error, "the metric");
  if (status == CVTM_OK) status = cvtm_mesh_hessians(mesh, values, hessian, error);
  if (status == CVTM_OK) status = fill_from_vertices(mesh, hessian, f, error);
  if (status == CVTM_OK) status = cvtm_metric_of_hessians(f, ratio, error);
  free(hessian);
  return status;
}

cvtm_status cvtm_metric_of_vertices(const cvtm_mesh *mesh, cvtm_metric *given, double ratio,
                                    cvtm_metric_field *f, cvtm_error *error) {
  cvtm_metric_field list = {.width = (int)mesh->vertex_count, .height = 1, .log = given};
  cvtm_status status = cvtm_metric_of_given(&list, ratio, error);
  if (status == CVTM_OK) status = allocate(f, error);
  return status == CVTM_OK ? fill_from_vertices(mesh, given, f, error) : status;
}

/* ---- Pictures ---- */

static double clamped_value(const double *u, const cvtm_metric_field *f, int i, int j) {
  const int x = i < 0 ? 0 : i < f->width ? i : f->width - 1;
  const int y = j < 0 ? 0 : j < f->height ? j : f->height - 1;
  return u[(int64_t)y * f->width + x];
}

/* Second differences. */
static void find_hessians(const double *u, cvtm_metric_field *f) {
  for (int j = 0; j < f->height; ++j) {
    for (int i = 0; i < f->width; ++i) {
      const double here = clamped_value(u, f, i, j);
      cvtm_metric *h = &f->log[(int64_t)j * f->width + i];
      h->xx = clamped_value(u, f, i - 1, j) - 2 * here + clamped_value(u, f, i + 1, j);
      h->yy = clamped_value(u, f, i, j - 1) - 2 * here + clamped_value(u, f, i, j + 1);
      h->xy = 0.25 * (clamped_value(u, f, i - 1, j - 1) + clamped_value(u, f, i + 1, j + 1) -
                      clamped_value(u, f, i - 1, j + 1) - clamped_value(u, f, i + 1, j - 1));
    }
  }
}

static cvtm_status smooth_logarithms(double sigma, double *plane, cvtm_metric_field *f,
                                     cvtm_error *error) {
  cvtm_status status = CVTM_OK;
  for (int k = 0; k < 3 && status == CVTM_OK; ++k) {
    for (int64_t p = 0; p < count_cells(f); ++p) plane[p] = *component(&f->log[p], k);
    status = cvtm_shades_blur(f->width, f->height, sigma, plane, error);
    for (int64_t p = 0; p < count_cells(f); ++p) *component(&f->log[p], k) = plane[p];
  }
  return status;
}

cvtm_status cvtm_metric_of_picture(const float *value, double sigma, double ratio,
                                   cvtm_metric_field *f, cvtm_error *error) {
  double *plane = malloc((size_t)count_cells(f) * sizeof *plane);
  cvtm_status status = plane != NULL ? allocate(f, error) : cvtm_no_memory(error, "the metric");
  for (int64_t p = 0; p < count_cells(f) && status == CVTM_OK; ++p) {
    plane[p] = (double)value[p];
    if (!isfinite(plane[p]))
      status = cvtm_fail(error, CVTM_ERROR_INPUT, "pixel (%d, %d) is %g", (int)(p % f->width),
                         (int)(p / f->width), plane[p]);
  }
  if (status == CVTM_OK) status = cvtm_shades_blur(f->width, f->height, sigma, plane, error);
  if (status == CVTM_OK) {
    find_hessians(plane, f);
    status = cvtm_metric_of_hessians(f, ratio, error);
  }
  if (status == CVTM_OK) status = smooth_logarithms(sigma, plane, f, error);
  free(plane);
  return status;
}

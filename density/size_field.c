#include "density/size_field.h"

#include "base/geometry.h"
#include "base/host.h"
#include "density/metric_source.h"
#include "density/segmentation.h"

#include <math.h>
#include <stdlib.h>

enum { UNKNOWNS = 6, PATCH_MAX = 96, PATCH_MIN = 10 };

static const double largest_ratio = 32; /* largest ratio of a size to the mean size */

/* ---- neighbours ---- */

/* The corners of triangles at vertex v are corner[start[v]] .. corner[start[v + 1] - 1]. */
typedef struct neighbours {
  const int32_t *triangles;
  int64_t *start, *corner;
} neighbours;

static cvtm_status find_neighbours(const cvtm_mesh *mesh, neighbours *n, cvtm_error *error) {
  const int64_t corners = 3 * mesh->triangle_count;
  *n = (neighbours){.triangles = mesh->triangles,
                    .start = calloc((size_t)mesh->vertex_count + 2, sizeof *n->start),
                    .corner = malloc(((size_t)corners + 1) * sizeof *n->corner)};
  if (n->start == NULL || n->corner == NULL) return cvtm_no_memory(error, "the sizes");
  cvtm_list_by_key(mesh->triangles, corners, mesh->vertex_count, n->start, n->corner);
  return CVTM_OK;
}

static void free_neighbours(neighbours *n) {
  free(n->start);
  free(n->corner);
}

/* The vertex `step` corners after corner h in the triangle of h. */
static int32_t corner_after(const neighbours *n, int64_t h, int64_t step) {
  return n->triangles[h - h % 3 + (h + step) % 3];
}

/* Adds the vertices around patch[first .. end - 1] that are not yet in the patch. */
static int add_ring(const neighbours *n, int32_t *patch, int first, int end) {
  int count = end;
  for (int i = first; i < end; ++i) {
    for (int64_t k = 2 * n->start[patch[i]]; k < 2 * n->start[patch[i] + 1]; ++k) {
      const int32_t beside = corner_after(n, n->corner[k / 2], 1 + k % 2);
      int known = 0;
      for (int j = 0; j < count && !known; ++j) known = patch[j] == beside;
      if (!known && count < PATCH_MAX) patch[count++] = beside;
    }
  }
  return count;
}

/* ---- the Hessian ---- */

/* Solves the normal equations by Cholesky factorisation; returns 0 if they are singular. */
static int solve_by_cholesky(double a[UNKNOWNS][UNKNOWNS], double b[UNKNOWNS]) {
  for (int j = 0; j < UNKNOWNS; ++j) {
    double pivot = a[j][j];
    for (int k = 0; k < j; ++k) pivot -= a[j][k] * a[j][k];
    if (!(pivot > 1e-10 * a[j][j])) return 0;
    a[j][j] = sqrt(pivot);
    for (int i = j + 1; i < UNKNOWNS; ++i) {
      for (int k = 0; k < j; ++k) a[i][j] -= a[i][k] * a[j][k];
      a[i][j] /= a[j][j];
    }
  }
  for (int i = 0; i < UNKNOWNS; ++i) {
    for (int k = 0; k < i; ++k) b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  for (int i = UNKNOWNS - 1; i >= 0; --i) {
    for (int k = i + 1; k < UNKNOWNS; ++k) b[i] -= a[k][i] * b[k];
    b[i] /= a[i][i];
  }
  return 1;
}

/* The largest absolute eigenvalue. */
static double largest_eigenvalue(cvtm_metric m) {
  return fabs(m.xx + m.yy) / 2 + hypot((m.xx - m.yy) / 2, m.xy);
}

/* Fits a quadratic polynomial to a patch and sets its Hessian; returns 0 if the vertices do not
 * determine it. */
static int fit_patch(const cvtm_mesh *mesh, const double *values, const int32_t *patch, int count,
                     cvtm_metric *hessian) {
  const double *centre = mesh->points + 2 * (int64_t)patch[0];
  double a[UNKNOWNS][UNKNOWNS] = {{0}}, b[UNKNOWNS] = {0}, radius = 0, most = 0;
  for (int i = 1; i < count; ++i) {
    const double *p = mesh->points + 2 * (int64_t)patch[i];
    radius = fmax(radius, hypot(p[0] - centre[0], p[1] - centre[1]));
  }
  if (!(radius > 0)) return 0;
  for (int i = 0; i < count; ++i) {
    const double *p = mesh->points + 2 * (int64_t)patch[i];
    const double x = (p[0] - centre[0]) / radius, y = (p[1] - centre[1]) / radius;
    const double term[UNKNOWNS] = {1, x, y, x * x / 2, x * y, y * y / 2};
    const double value = values[patch[i]] - values[patch[0]];
    most = fmax(most, fabs(values[patch[i]]));
    for (int j = 0; j < UNKNOWNS; ++j) {
      for (int k = 0; k <= j; ++k) a[j][k] += term[j] * term[k];
      b[j] += term[j] * value;
    }
  }
  if (!solve_by_cholesky(a, b)) return 0;
  const double r2 = radius * radius;
  *hessian = (cvtm_metric){b[3] / r2, b[4] / r2, b[5] / r2};
  const double rounding = 1e-11 * most / r2;
  if (!(largest_eigenvalue(*hessian) > rounding)) *hessian = (cvtm_metric){0, 0, 0};
  return 1;
}

static cvtm_metric hessian_at(const cvtm_mesh *mesh, const double *values, const neighbours *n,
                              int32_t vertex) {
  int32_t patch[PATCH_MAX] = {vertex};
  int first = 0, count = 1, found = 0;
  cvtm_metric hessian = {0, 0, 0};
  for (int ring = 0; ring < 4 && !found; ++ring) {
    const int end = count;
    count = add_ring(n, patch, first, end);
    first = end;
    const int whole = count == end; /* the patch is the entire mesh */
    if (count >= PATCH_MIN || (whole && count >= UNKNOWNS))
      found = fit_patch(mesh, values, patch, count, &hessian);
  }
  return hessian;
}

static double area_of(const cvtm_mesh *mesh, int64_t u, int64_t v, int64_t w) {
  const double *a = mesh->points + 2 * u, *b = mesh->points + 2 * v, *c = mesh->points + 2 * w;
  return 0.5 * fabs((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]));
}

/* The mean area of the triangles around a vertex: proportional to the squared size there. */
static double mean_area(const cvtm_mesh *mesh, const neighbours *n, int64_t v) {
  double sum = 0;
  for (int64_t k = n->start[v]; k < n->start[v + 1]; ++k)
    sum += area_of(mesh, v, corner_after(n, n->corner[k], 1), corner_after(n, n->corner[k], 2));
  return n->start[v + 1] > n->start[v] ? sum / (double)(n->start[v + 1] - n->start[v]) : 0;
}

/* ---- log sizes at the vertices ---- */

/* Converts h^-2 at the vertices, known up to a factor, into log h. Values far below the mean over
 * the mesh are raised. */
static cvtm_status take_logarithms(const cvtm_mesh *mesh, double *wanted, cvtm_error *error) {
  double sum = 0, area = 0;
  for (int64_t t = 0; t < mesh->triangle_count; ++t) {
    const int32_t *v = mesh->triangles + 3 * t;
    const double part = area_of(mesh, v[0], v[1], v[2]);
    area += part;
    for (int k = 0; k < 3; ++k) sum += part / 3 * wanted[v[k]];
  }
  const double mean = sum / area;
  if (!(mean > 0) || !isfinite(mean))
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "the field has no positive curvature or error that determines sizes");
  for (int64_t v = 0; v < mesh->vertex_count; ++v)
    wanted[v] = -0.5 * log(fmax(wanted[v] / mean, 1 / (largest_ratio * largest_ratio)));
  return CVTM_OK;
}

static cvtm_status check_values(const cvtm_mesh *mesh, const double *values,
                                cvtm_size_source source, cvtm_error *error) {
  for (int64_t v = 0; v < mesh->vertex_count; ++v) {
    const int bad = !isfinite(values[v]) || (source == CVTM_SIZE_GIVEN && !(values[v] > 0)) ||
                    (source == CVTM_SIZE_FROM_INDICATOR && values[v] < 0);
    if (bad)
      return cvtm_fail(error, CVTM_ERROR_INPUT,
                       "point %lld has the value %g, which is not a valid %s", (long long)v,
                       values[v],
                       source == CVTM_SIZE_GIVEN            ? "size"
                       : source == CVTM_SIZE_FROM_INDICATOR ? "error"
                                                            : "number");
  }
  return CVTM_OK;
}

static cvtm_status find_logarithms(const cvtm_mesh *mesh, const double *values,
                                   cvtm_size_source source, double *wanted, cvtm_error *error) {
  neighbours n = {0};
  cvtm_status status = check_values(mesh, values, source, error);
  if (status == CVTM_OK && source == CVTM_SIZE_GIVEN) {
    for (int64_t v = 0; v < mesh->vertex_count; ++v) wanted[v] = log(values[v]);
    return CVTM_OK;
  }
  if (status == CVTM_OK) status = find_neighbours(mesh, &n, error);
  if (status == CVTM_OK) {
#pragma omp parallel for schedule(static)
    for (int64_t v = 0; v < mesh->vertex_count; ++v) {
      if (source == CVTM_SIZE_FROM_SOLUTION) {
        wanted[v] = largest_eigenvalue(hessian_at(mesh, values, &n, (int32_t)v));
      } else {
        const double area = mean_area(mesh, &n, v);
        wanted[v] = area > 0 ? values[v] / area : 0;
      }
    }
    status = take_logarithms(mesh, wanted, error);
  }
  free_neighbours(&n);
  return status;
}

/* ---- pixels ---- */

/* Interpolates the values at the corners of a triangle at the pixel centres inside it. */
static void fill_triangle(const cvtm_mesh *mesh, const double *values, int64_t t, int width,
                          int height, double *pixel) {
  const int32_t *v = mesh->triangles + 3 * t;
  const double *a = mesh->points + 2 * (int64_t)v[0], *b = mesh->points + 2 * (int64_t)v[1];
  const double *c = mesh->points + 2 * (int64_t)v[2];
  const double twice = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
  const double slack = -1e-9;
  if (!(fabs(twice) > 0)) return;
  const int left = (int)fmax(floor(fmin(fmin(a[0], b[0]), c[0]) - 0.5), 0);
  const int top = (int)fmax(floor(fmin(fmin(a[1], b[1]), c[1]) - 0.5), 0);
  const int right = (int)fmin(ceil(fmax(fmax(a[0], b[0]), c[0])), width - 1);
  const int bottom = (int)fmin(ceil(fmax(fmax(a[1], b[1]), c[1])), height - 1);
  for (int j = top; j <= bottom; ++j) {
    for (int i = left; i <= right; ++i) {
      const double x = i + 0.5 - a[0], y = j + 0.5 - a[1];
      const double s = (x * (c[1] - a[1]) - y * (c[0] - a[0])) / twice;
      const double e = ((b[0] - a[0]) * y - (b[1] - a[1]) * x) / twice;
      if (s < slack || e < slack || s + e > 1 - slack) continue;
      pixel[(int64_t)j * width + i] =
          (1 - s - e) * values[v[0]] + s * values[v[1]] + e * values[v[2]];
    }
  }
}

/* Gives pixels without a value (NAN) the value of a nearby pixel, ring by ring. */
static cvtm_status spread_values(const cvtm_mesh *mesh, int width, int height, double *pixel,
                                 cvtm_error *error) {
  static const int step[4][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
  const int64_t pixels = (int64_t)width * height;
  int64_t *queue = malloc((size_t)pixels * sizeof *queue), count = 0;
  if (queue == NULL) return cvtm_no_memory(error, "the sizes");
  for (int64_t p = 0; p < pixels; ++p)
    if (!isnan(pixel[p])) queue[count++] = p;
  for (int64_t k = 0; k < count; ++k) {
    for (int d = 0; d < 4; ++d) {
      const int64_t i = queue[k] % width + step[d][0], j = queue[k] / width + step[d][1];
      if (i < 0 || j < 0 || i >= width || j >= height || !isnan(pixel[j * width + i])) continue;
      pixel[j * width + i] = pixel[queue[k]];
      queue[count++] = j * width + i;
    }
  }
  free(queue);
  if (count > 0) return CVTM_OK;
  cvtm_box box = cvtm_empty_box();
  for (int64_t v = 0; v < mesh->vertex_count; ++v) cvtm_box_add(&box, mesh->points + 2 * v);
  return cvtm_fail(
      error, CVTM_ERROR_INPUT,
      "the mesh of the field covers no pixel: in pixels it lies in [%g, %g] x [%g, %g], "
      "the picture in [0, %d] x [0, %d] (is it in another unit?)",
      box.low[0], box.high[0], box.low[1], box.high[1], width, height);
}

/* Sets each pixel to the value at its centre, by linear interpolation of the values at the
 * vertices. A pixel whose centre is outside the mesh gets the value of a nearby pixel. */
static cvtm_status draw_values(const cvtm_mesh *mesh, const double *values, int width, int height,
                               double *pixel, cvtm_error *error) {
  for (int64_t p = 0; p < (int64_t)width * height; ++p) pixel[p] = NAN;
  for (int64_t t = 0; t < mesh->triangle_count; ++t)
    fill_triangle(mesh, values, t, width, height, pixel);
  return spread_values(mesh, width, height, pixel, error);
}

static cvtm_status find_vertex_hessians(const cvtm_mesh *mesh, const double *values,
                                        cvtm_metric *hessian, cvtm_error *error) {
  neighbours n = {0};
  cvtm_status status = check_values(mesh, values, CVTM_SIZE_FROM_SOLUTION, error);
  if (status == CVTM_OK) status = find_neighbours(mesh, &n, error);
  if (status == CVTM_OK) {
#pragma omp parallel for schedule(static)
    for (int64_t v = 0; v < mesh->vertex_count; ++v)
      hessian[v] = hessian_at(mesh, values, &n, (int32_t)v);
  }
  free_neighbours(&n);
  return status;
}

cvtm_status cvtm_size_field(const cvtm_mesh *mesh, const double *values, cvtm_size_source source,
                            int width, int height, float *size, cvtm_error *error) {
  const size_t pixels = (size_t)width * (size_t)height;
  double *logarithm = malloc(((size_t)mesh->vertex_count + 1) * sizeof *logarithm);
  double *pixel = malloc(pixels * sizeof *pixel);
  cvtm_status status = logarithm != NULL && pixel != NULL
                           ? find_logarithms(mesh, values, source, logarithm, error)
                           : cvtm_no_memory(error, "the sizes");
  if (status == CVTM_OK) status = draw_values(mesh, logarithm, width, height, pixel, error);
  for (size_t p = 0; p < pixels && status == CVTM_OK; ++p) size[p] = (float)exp(pixel[p]);
  free(logarithm);
  free(pixel);
  return status;
}

/* ---- metrics ---- */

static int64_t count_cells(const cvtm_metric_field *f) { return (int64_t)f->width * f->height; }

static double *component(cvtm_metric *m, int which) {
  return which == 0 ? &m->xx : which == 1 ? &m->xy : &m->yy;
}

static cvtm_status allocate_field(cvtm_metric_field *f, cvtm_error *error) {
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
    status = draw_values(mesh, values, f->width, f->height, pixel, error);
    for (int64_t p = 0; p < cells && status == CVTM_OK; ++p) *component(&f->log[p], k) = pixel[p];
  }
  free(values);
  free(pixel);
  return status;
}

cvtm_status cvtm_metric_of_solution(const cvtm_mesh *mesh, const double *values, double ratio,
                                    cvtm_metric_field *f, cvtm_error *error) {
  cvtm_metric *hessian = malloc(((size_t)mesh->vertex_count + 1) * sizeof *hessian);
  cvtm_status status =
      hessian != NULL ? allocate_field(f, error) : cvtm_no_memory(error, "the metric");
  if (status == CVTM_OK) status = find_vertex_hessians(mesh, values, hessian, error);
  if (status == CVTM_OK) status = fill_from_vertices(mesh, hessian, f, error);
  if (status == CVTM_OK) status = cvtm_metric_of_hessians(f, ratio, error);
  free(hessian);
  return status;
}

cvtm_status cvtm_metric_of_vertices(const cvtm_mesh *mesh, cvtm_metric *given, double ratio,
                                    cvtm_metric_field *f, cvtm_error *error) {
  cvtm_metric_field list = {.width = (int)mesh->vertex_count, .height = 1, .log = given};
  CVTM_TRY(cvtm_metric_of_given(&list, ratio, error));
  CVTM_TRY(allocate_field(f, error));
  return fill_from_vertices(mesh, given, f, error);
}

/* ---- metrics of pictures ---- */

static double clamped_value(const double *u, const cvtm_metric_field *f, int i, int j) {
  const int x = i < 0 ? 0 : i < f->width ? i : f->width - 1;
  const int y = j < 0 ? 0 : j < f->height ? j : f->height - 1;
  return u[(int64_t)y * f->width + x];
}

/* Computes Hessians by second differences. */
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
  for (int k = 0; k < 3; ++k) {
    for (int64_t p = 0; p < count_cells(f); ++p) plane[p] = *component(&f->log[p], k);
    CVTM_TRY(cvtm_shades_blur(f->width, f->height, sigma, plane, error));
    for (int64_t p = 0; p < count_cells(f); ++p) *component(&f->log[p], k) = plane[p];
  }
  return CVTM_OK;
}

cvtm_status cvtm_metric_of_picture(const float *value, double sigma, double ratio,
                                   cvtm_metric_field *f, cvtm_error *error) {
  double *plane = malloc((size_t)count_cells(f) * sizeof *plane);
  cvtm_status status =
      plane != NULL ? allocate_field(f, error) : cvtm_no_memory(error, "the metric");
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

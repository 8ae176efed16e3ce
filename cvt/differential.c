#include "cvt/differential_power.h"

#include "base/geometry.h"
#include "meshes/mesh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct cvtm_differential {
  cvtm_domain domain;
  int64_t count;
  double *sites, *weights; /* weights: of a power diagram, or NULL */
  /* Corners of cell i: range[2 * i] to range[2 * i + 1] - 1, relative to the site; across[k]: the
   * site beyond the edge from corner k to the next, CVTM_POLYGON_BORDER: the border. */
  int64_t *range;
  double *x, *y;
  int32_t *across;
};

/* --- the cells: topology of the triangulation, corners from the sites as they are ---------------
 */

static cvtm_status no_memory_for_cells(cvtm_error *error, int64_t count) {
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for %lld cells", (long long)count);
}

/* cells: of the sites as the triangulation has snapped them. There is room for a corner for each of
 * their edges, and for four of the rectangle's. */
static void clip_cell(cvtm_differential *d, const cvtm_cells *cells, int64_t i) {
  const double *site = d->sites + 2 * i;
  const int64_t first = cells->start[i], edges = cells->start[i + 1] - first;
  const int64_t at = first + 4 * i;
  cvtm_corners c = {.capacity = (int32_t)(edges + 4),
                    .stride = 1,
                    .x = d->x + at,
                    .y = d->y + at,
                    .neighbor = d->across + at};
  d->range[2 * i] = d->range[2 * i + 1] = at;
  if (edges == 0) return;
  cvtm_corners_rectangle(-site[0], -site[1], d->domain.width - site[0], d->domain.height - site[1],
                         &c.count, c.x, c.y, c.neighbor);
  for (int64_t k = first; k < first + edges && c.count > 0; ++k) {
    const int32_t j = cells->neighbors[k];
    int32_t cut;
    if (j < 0) continue;
    const double dx = d->sites[2 * (int64_t)j] - site[0];
    const double dy = d->sites[2 * (int64_t)j + 1] - site[1];
    const double gain = d->weights != NULL ? d->weights[i] - d->weights[j] : 0;
    (void)cvtm_corners_clip(&c, dx, dy, 0.5 * (dx * dx + dy * dy + gain), j, &cut);
  }
  d->range[2 * i + 1] = at + c.count;
}

static cvtm_status make_polygons(cvtm_differential *d, const cvtm_cells *cells, cvtm_error *error) {
  const size_t corners = (size_t)(cells->start[d->count] + 4 * d->count) + 1;
  d->range = malloc(2 * (size_t)d->count * sizeof *d->range);
  d->x = malloc(corners * sizeof *d->x);
  d->y = malloc(corners * sizeof *d->y);
  d->across = malloc(corners * sizeof *d->across);
  if (d->range == NULL || d->x == NULL || d->y == NULL || d->across == NULL)
    return no_memory_for_cells(error, d->count);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < d->count; ++i) clip_cell(d, cells, i);
  return CVTM_OK;
}

static double *copy_of(const double *numbers, int64_t count) {
  double *copy = malloc((size_t)count * sizeof *copy);
  if (copy != NULL) memcpy(copy, numbers, (size_t)count * sizeof *copy);
  return copy;
}

cvtm_status cvtm_differential_create_power(cvtm_domain domain, const double *sites,
                                           const double *weights, const cvtm_cells *cells,
                                           cvtm_differential **made, cvtm_error *error) {
  cvtm_status status = CVTM_OK;
  cvtm_differential *d = calloc(1, sizeof *d);
  if (d == NULL) return no_memory_for_cells(error, cells->count);
  d->domain = domain;
  d->count = cells->count;
  d->sites = copy_of(sites, 2 * d->count);
  if (weights != NULL) d->weights = copy_of(weights, d->count);
  if (d->sites == NULL || (weights != NULL && d->weights == NULL))
    status = no_memory_for_cells(error, d->count);
  else
    status = make_polygons(d, cells, error);
  if (status == CVTM_OK)
    *made = d;
  else
    cvtm_differential_destroy(d);
  return status;
}

cvtm_status cvtm_differential_create(cvtm_domain domain, const double *sites, int64_t count,
                                     cvtm_differential **made, cvtm_error *error) {
  if (domain.periodic)
    return cvtm_fail(error, CVTM_ERROR_UNSUPPORTED, "derivatives on a torus are not supported");
  cvtm_mesh mesh = {0};
  cvtm_cells cells = {0};
  cvtm_status status = cvtm_delaunay(sites, count, &mesh, error);
  if (status != CVTM_OK) return status;
  status = cvtm_cells_create(&mesh, domain, &cells, error);
  cvtm_mesh_free(&mesh);
  if (status == CVTM_OK)
    status = cvtm_differential_create_power(domain, sites, NULL, &cells, made, error);
  cvtm_cells_free(&cells);
  return status;
}

void cvtm_differential_destroy(cvtm_differential *d) {
  if (d == NULL) return;
  free(d->sites);
  free(d->weights);
  free(d->range);
  free(d->x);
  free(d->y);
  free(d->across);
  free(d);
}

/* --- the parts of a cell in pixels ---------------------------------------------------------------
 */

/* A convex polygon in the caller's memory, relative to a site. */
typedef struct part {
  int64_t count;
  double *x, *y;
} part;

/* to = the part of `from` with sign * coordinate <= sign * bound; coordinate: y if by_y, else x. */
static void cut(const part *from, int by_y, double sign, double bound, part *to) {
  const double *along = by_y ? from->y : from->x;
  to->count = 0;
  for (int64_t k = 0; k < from->count; ++k) {
    const int64_t next = k + 1 < from->count ? k + 1 : 0;
    const double here = sign * (along[k] - bound), there = sign * (along[next] - bound);
    if (here <= 0) {
      to->x[to->count] = from->x[k];
      to->y[to->count++] = from->y[k];
    }
    if ((here < 0 && there > 0) || (here > 0 && there < 0)) {
      const double t = here / (here - there);
      const double x = from->x[k] + t * (from->x[next] - from->x[k]);
      const double y = from->y[k] + t * (from->y[next] - from->y[k]);
      to->x[to->count] = by_y ? x : bound;
      to->y[to->count++] = by_y ? bound : y;
    }
  }
  if (to->count < 3) to->count = 0;
}

/* Integrals of 1, x, y and x^2 + y^2. */
typedef struct integrals {
  double area, x, y, second;
} integrals;

/* Corners run clockwise in numbers with y down. */
static integrals integrate(const part *p) {
  integrals sum = {0, 0, 0, 0};
  for (int64_t k = 0; k < p->count; ++k) {
    const int64_t next = k + 1 < p->count ? k + 1 : 0;
    const double x0 = p->x[k], y0 = p->y[k], x1 = p->x[next], y1 = p->y[next];
    const double twice = x1 * y0 - x0 * y1;
    sum.area += twice / 2;
    sum.x += twice * (x0 + x1) / 6;
    sum.y += twice * (y0 + y1) / 6;
    sum.second += twice * (x0 * x0 + x0 * x1 + x1 * x1 + y0 * y0 + y0 * y1 + y1 * y1) / 12;
  }
  return sum;
}

/* Memory for the parts of any cell of a diagram. */
typedef struct workspace {
  double *memory;
  part rest, row, strip, pixel;
} workspace;

static int64_t most_corners(const cvtm_differential *d) {
  int64_t most = 4;
  for (int64_t i = 0; i < d->count; ++i) {
    const int64_t corners = d->range[2 * i + 1] - d->range[2 * i];
    if (corners > most) most = corners;
  }
  return most + 8; /* each of at most four cuts adds a corner, or two by rounding */
}

static int open_workspace(workspace *w, int64_t corners) {
  part *parts[] = {&w->rest, &w->row, &w->strip, &w->pixel};
  w->memory = malloc(8 * (size_t)corners * sizeof *w->memory);
  for (int k = 0; k < 4 && w->memory != NULL; ++k)
    *parts[k] = (part){0, w->memory + 2 * k * corners, w->memory + (2 * k + 1) * corners};
  return w->memory != NULL;
}

static void swap(part *a, part *b) {
  const part other = *a;
  *a = *b;
  *b = other;
}

static void extent(const double *values, int64_t count, double *least, double *most) {
  *least = INFINITY;
  *most = -INFINITY;
  for (int64_t k = 0; k < count; ++k) {
    *least = fmin(*least, values[k]);
    *most = fmax(*most, values[k]);
  }
}

/* The pixels from *first to *last that the interval meets, within 0 to count - 1. */
static void find_pixel_range(double least, double most, int64_t count, int64_t *first,
                             int64_t *last) {
  *first = (int64_t)fmin(fmax(floor(least), 0), (double)count);
  *last = (int64_t)fmin(fmax(ceil(most), 0), (double)count) - 1;
}

typedef void (*visit_part)(void *context, int64_t cell, int64_t pixel, const integrals *sum);

/* Visits the parts of w->row, which lies in the row j of pixels. */
static void visit_row(const cvtm_differential *d, workspace *w, int64_t i, int64_t j,
                      visit_part visit, void *context) {
  double least, most;
  int64_t first, last;
  extent(w->row.x, w->row.count, &least, &most);
  find_pixel_range(least + d->sites[2 * i], most + d->sites[2 * i], d->domain.width, &first, &last);
  for (int64_t column = first; column <= last && w->row.count > 0; ++column) {
    const double right = (double)(column + 1) - d->sites[2 * i];
    const part *inside = &w->row;
    if (column < last) {
      cut(&w->row, 0, 1, right, &w->pixel);
      cut(&w->row, 0, -1, right, &w->strip);
      swap(&w->row, &w->strip);
      inside = &w->pixel;
    }
    const integrals sum = integrate(inside);
    visit(context, i, j * d->domain.width + column, &sum);
  }
}

/* Visits the parts of cell i in the rows `from` to `to`. */
static void visit_cell(const cvtm_differential *d, workspace *w, int64_t i, int64_t from,
                       int64_t to, visit_part visit, void *context) {
  const int64_t at = d->range[2 * i], count = d->range[2 * i + 1] - at;
  const double top = d->sites[2 * i + 1];
  double least, most;
  int64_t first, last;
  if (count < 3) return;
  extent(d->y + at, count, &least, &most);
  find_pixel_range(least + top, most + top, d->domain.height, &first, &last);
  first = first > from ? first : from;
  last = last < to ? last : to;
  if (first > last) return;
  const part whole = {count, d->x + at, d->y + at};
  cut(&whole, 1, -1, (double)first - top, &w->rest);
  for (int64_t j = first; j <= last && w->rest.count > 0; ++j) {
    const double bottom = (double)(j + 1) - top;
    cut(&w->rest, 1, 1, bottom, &w->row);
    cut(&w->rest, 1, -1, bottom, &w->strip);
    swap(&w->rest, &w->strip);
    visit_row(d, w, i, j, visit, context);
  }
}

/* --- moments
 * -------------------------------------------------------------------------------------- */

typedef struct moments {
  const double *density;
  double mass, x, y, second;
} moments;

static void add_moments(void *context, int64_t cell, int64_t pixel, const integrals *sum) {
  moments *m = context;
  (void)cell;
  const double rho = m->density[pixel];
  m->mass += rho * sum->area;
  m->x += rho * sum->x;
  m->y += rho * sum->y;
  m->second += rho * sum->second;
}

void cvtm_differential_moments(const cvtm_differential *d, const double *density, double *mass,
                               double *first, double *second) {
  const int64_t corners = most_corners(d);
#pragma omp parallel
  {
    workspace w;
    const int good = open_workspace(&w, corners);
#pragma omp for schedule(dynamic, 64)
    for (int64_t i = 0; i < d->count; ++i) {
      moments sum = {density, 0, 0, 0, 0};
      if (good) visit_cell(d, &w, i, 0, d->domain.height - 1, add_moments, &sum);
      mass[i] = good ? sum.mass : NAN;
      first[2 * i] = sum.x;
      first[2 * i + 1] = sum.y;
      second[i] = sum.second;
    }
    free(w.memory);
  }
}

/* --- derivatives
 * ---------------------------------------------------------------------------------- */

typedef struct pull {
  const double *phi;
  double *by_density;
} pull;

static void add_by_density(void *context, int64_t cell, int64_t pixel, const integrals *sum) {
  const pull *p = context;
  const double *phi = p->phi + 4 * cell;
  p->by_density[pixel] +=
      phi[0] * sum->area + phi[1] * sum->x + phi[2] * sum->y + phi[3] * sum->second;
}

static double quadratic_at(const double *phi, double x, double y) {
  return phi[0] + phi[1] * x + phi[2] * y + phi[3] * (x * x + y * y);
}

/* The next t > `t` at which p + t step is an integer; 1 if there is none before. */
static double next_crossing(double p, double step, double t) {
  const double here = p + t * step;
  if (step == 0) return 1;
  double line = step > 0 ? floor(here) + 1 : ceil(here) - 1;
  double next = (line - p) / step;
  while (next <= t) next = ((line += step > 0 ? 1 : -1) - p) / step;
  return next < 1 ? next : 1;
}

typedef struct edge {
  double x, y, dx, dy;     /* from its first corner to the second, relative to the site */
  double site_x, site_y;   /* of the cell */
  double other_x, other_y; /* of the neighbour, relative to the site */
  const double *phi, *phi_other;
} edge;

/* Adds the integrals of the jump times x - x_i and times 1 over the edge's piece in one pixel, of
 * density rho, by Gauss's two points, which are exact up to degree 3. */
static void add_piece(const edge *e, double t0, double t1, double rho, double *sum) {
  const double half = 0.5 * (t1 - t0), middle = 0.5 * (t0 + t1);
  const double length = hypot(e->dx, e->dy) * half * rho;
  for (int k = -1; k <= 1; k += 2) {
    const double t = middle + k * half * 0.57735026918962576451;
    const double x = e->x + t * e->dx, y = e->y + t * e->dy;
    const double jump =
        quadratic_at(e->phi, x, y) - quadratic_at(e->phi_other, x - e->other_x, y - e->other_y);
    sum[0] += length * jump * x;
    sum[1] += length * jump * y;
    sum[2] += length * jump;
  }
}

static void add_edge(const cvtm_differential *d, const edge *e, const double *density,
                     double *sum) {
  const double x = e->x + e->site_x, y = e->y + e->site_y;
  for (double t = 0; t < 1;) {
    const double next = fmin(next_crossing(x, e->dx, t), next_crossing(y, e->dy, t));
    const double middle = 0.5 * (t + next);
    const double column = fmin(fmax(floor(x + middle * e->dx), 0), d->domain.width - 1);
    const double row = fmin(fmax(floor(y + middle * e->dy), 0), d->domain.height - 1);
    add_piece(e, t, next, density[(int64_t)row * d->domain.width + (int64_t)column], sum);
    t = next;
  }
}

/* The edge from corner k of cell i to the next. */
static edge edge_of(const cvtm_differential *d, int64_t i, int64_t k, const double *phi,
                    const double *phi_other) {
  const int64_t next = k + 1 < d->range[2 * i + 1] ? k + 1 : d->range[2 * i], j = d->across[k];
  const edge e = {d->x[k],
                  d->y[k],
                  d->x[next] - d->x[k],
                  d->y[next] - d->y[k],
                  d->sites[2 * i],
                  d->sites[2 * i + 1],
                  d->sites[2 * j] - d->sites[2 * i],
                  d->sites[2 * j + 1] - d->sites[2 * i + 1],
                  phi,
                  phi_other};
  return e;
}

/* sum: the derivatives by the site's coordinates and twice that by its weight. */
static void pull_to_site(const cvtm_differential *d, const double *density, const double *phi,
                         int64_t i, double sum[3]) {
  sum[0] = sum[1] = sum[2] = 0;
  for (int64_t k = d->range[2 * i]; k < d->range[2 * i + 1]; ++k) {
    const int64_t j = d->across[k];
    if (j < 0) continue;
    double own[3] = {0, 0, 0};
    const edge e = edge_of(d, i, k, phi + 4 * i, phi + 4 * j);
    const double distance = hypot(e.other_x, e.other_y);
    add_edge(d, &e, density, own);
    for (int c = 0; c < 3; ++c) sum[c] += own[c] / distance;
  }
}

/* Bands of rows are independent, and in each the cells come in order. */
static void pull_to_density(const cvtm_differential *d, const double *phi, double *by_density) {
  enum { ROWS = 32 };
  const int64_t corners = most_corners(d), height = d->domain.height;
  const int64_t bands = (height + ROWS - 1) / ROWS;
  pull context = {phi, by_density};
  memset(by_density, 0, (size_t)d->domain.width * (size_t)height * sizeof *by_density);
#pragma omp parallel
  {
    workspace w;
    const int good = open_workspace(&w, corners);
#pragma omp for schedule(dynamic, 1)
    for (int64_t band = 0; band < bands; ++band) {
      const int64_t from = band * ROWS, to = from + ROWS < height ? from + ROWS : height;
      for (int64_t i = 0; good && i < d->count; ++i)
        visit_cell(d, &w, i, from, to - 1, add_by_density, &context);
      if (!good) by_density[from * d->domain.width] = NAN;
    }
    free(w.memory);
  }
}

void cvtm_differential_pull_back(const cvtm_differential *d, const double *density,
                                 const double *phi, double *by_density, double *by_sites) {
  if (by_density != NULL) pull_to_density(d, phi, by_density);
  if (by_sites == NULL) return;
#pragma omp parallel for schedule(dynamic, 64)
  for (int64_t i = 0; i < d->count; ++i) {
    double sum[3];
    pull_to_site(d, density, phi, i, sum);
    by_sites[2 * i] = sum[0];
    by_sites[2 * i + 1] = sum[1];
  }
}

void cvtm_differential_pull_to_weights(const cvtm_differential *d, const double *density,
                                       const double *phi, double *by_weights) {
#pragma omp parallel for schedule(dynamic, 64)
  for (int64_t i = 0; i < d->count; ++i) {
    double sum[3];
    pull_to_site(d, density, phi, i, sum);
    by_weights[i] = 0.5 * sum[2];
  }
}

/* --- the matrix of the masses' derivatives by the weights
 * ------------------------------------------------ */

/* Fills row i with the edges that are not of the border, up to where row i + 1 starts. */
static void set_row(const cvtm_differential *d, const double *density, int64_t i,
                    cvtm_laplacian *a) {
  static const double one[4] = {1, 0, 0, 0}, none[4] = {0, 0, 0, 0};
  int64_t at = a->start[i];
  for (int64_t k = d->range[2 * i]; k < d->range[2 * i + 1]; ++k) {
    if (d->across[k] < 0) continue;
    double sum[3] = {0, 0, 0};
    const edge e = edge_of(d, i, k, one, none);
    add_edge(d, &e, density, sum);
    a->neighbor[at] = d->across[k];
    a->coupling[at++] = 0.5 * sum[2] / hypot(e.other_x, e.other_y);
  }
}

cvtm_status cvtm_differential_laplacian(const cvtm_differential *d, const double *density,
                                        cvtm_laplacian *made, cvtm_error *error) {
  cvtm_laplacian a = {.count = d->count};
  a.start = calloc((size_t)d->count + 1, sizeof *a.start);
  if (a.start == NULL) return no_memory_for_cells(error, d->count);
  for (int64_t i = 0; i < d->count; ++i) {
    a.start[i + 1] = a.start[i];
    for (int64_t k = d->range[2 * i]; k < d->range[2 * i + 1]; ++k)
      a.start[i + 1] += d->across[k] >= 0;
  }
  const size_t edges = (size_t)a.start[d->count] + 1;
  a.neighbor = malloc(edges * sizeof *a.neighbor);
  a.coupling = malloc(edges * sizeof *a.coupling);
  if (a.neighbor == NULL || a.coupling == NULL) {
    cvtm_laplacian_free(&a);
    return no_memory_for_cells(error, d->count);
  }
#pragma omp parallel for schedule(dynamic, 64)
  for (int64_t i = 0; i < d->count; ++i) set_row(d, density, i, &a);
  *made = a;
  return CVTM_OK;
}

void cvtm_laplacian_free(cvtm_laplacian *laplacian) {
  free(laplacian->start);
  free(laplacian->neighbor);
  free(laplacian->coupling);
  *laplacian = (cvtm_laplacian){0};
}

#include "noise/pairs.h"

#include "base/portable.h"
#include "noise/cell_list.h"

#include <omp.h>
#include <stdlib.h>

enum { CHUNKS = 64 /* of the points, whose sums are added in their order */ };

static const double gap_step = 0.04; /* of the pair correlation, in units of the spacing */
static const double points_of_square = 16;

typedef struct pair_search {
  cvtm_cell_list list;
  const double *points;
  int64_t count, gaps;
  double radius, gap; /* pixels */
  double *nearest;    /* count: squared distance to the nearest point within the radius */
  double *sums;       /* CHUNKS * gaps */
} pair_search;

/* A pair at (dx, dy) of a rectangle is seen from the share (1 - |dx| / width) (1 - |dy| / height)
 * of the places. */
static double pair_weight(cvtm_domain domain, double dx, double dy) {
  if (domain.periodic) return 1;
  return 1 / ((1 - fabs(dx) / domain.width) * (1 - fabs(dy) / domain.height));
}

static void visit_cell(pair_search *s, int64_t i, int64_t cell, double *sums) {
  const cvtm_domain domain = s->list.domain;
  const double *p = s->points + 2 * i;
  for (int64_t k = s->list.start[cell]; k < s->list.start[cell + 1]; ++k) {
    const int64_t j = s->list.order[k];
    if (j == i) continue;
    const double dx = cvtm_difference(s->points[2 * j], p[0], domain.width, domain.periodic);
    const double dy = cvtm_difference(s->points[2 * j + 1], p[1], domain.height, domain.periodic);
    const double square = dx * dx + dy * dy;
    if (square < s->nearest[i]) s->nearest[i] = square;
    if (square >= s->radius * s->radius) continue;
    const int64_t gap = (int64_t)(sqrt(square) / s->gap);
    if (gap < s->gaps) sums[gap] += pair_weight(domain, dx, dy);
  }
}

static void visit_neighbours(pair_search *s, int64_t i, double *sums) {
  const cvtm_cell_list *list = &s->list;
  int x0, x1, y0, y1;
  cvtm_cells_near(s->points[2 * i], s->radius, list->width, list->columns, list->domain.periodic,
                  &x0, &x1);
  cvtm_cells_near(s->points[2 * i + 1], s->radius, list->height, list->rows, list->domain.periodic,
                  &y0, &y1);
  s->nearest[i] = INFINITY;
  for (int y = y0; y <= y1; ++y) {
    const int64_t row = (y + list->rows) % list->rows;
    for (int x = x0; x <= x1; ++x)
      visit_cell(s, i, row * list->columns + (x + list->columns) % list->columns, sums);
  }
}

static void search_pairs(pair_search *s, int threads) {
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (int c = 0; c < CHUNKS; ++c) {
    for (int64_t k = s->count * c / CHUNKS; k < s->count * (c + 1) / CHUNKS; ++k)
      visit_neighbours(s, s->list.order[k], s->sums + c * s->gaps);
  }
}

/* Pairs over what Poisson's process has: count (count - 1) times the area of the ring. */
static void finish_correlation(const pair_search *s, cvtm_spectrum *spectrum) {
  const double area = (double)s->list.domain.width * s->list.domain.height;
  const double pairs = (double)s->count * (double)(s->count - 1);
  for (int64_t k = 0; k < s->gaps; ++k) {
    double sum = 0;
    for (int c = 0; c < CHUNKS; ++c) sum += s->sums[c * s->gaps + k];
    const double ring = CVTM_PI * s->gap * s->gap * (double)(2 * k + 1);
    spectrum->correlation[k] = sum * area / (pairs * ring);
  }
}

static void finish_distances(const pair_search *s, cvtm_spectrum *spectrum) {
  const double hexagonal = sqrt(2 / sqrt(3.0)) * spectrum->spacing;
  double least = INFINITY, sum = 0;
  int64_t found = 0;
  for (int64_t i = 0; i < s->count; ++i) {
    if (s->nearest[i] == INFINITY) continue; /* the nearest is farther than the radius */
    least = fmin(least, s->nearest[i]);
    sum += sqrt(s->nearest[i]);
    ++found;
  }
  spectrum->least_distance = found > 0 ? sqrt(least) / hexagonal : NAN;
  spectrum->mean_distance = found > 0 ? sum / (double)found / hexagonal : NAN;
}

/* Counts points in squares; NaN if there are fewer than 4 of them. */
static cvtm_status find_dispersion(cvtm_domain domain, const double *points, int64_t count,
                                   double *dispersion, cvtm_error *error) {
  cvtm_cell_list list;
  const double side = sqrt(points_of_square * (double)domain.width * domain.height / (double)count);
  const cvtm_status status = cvtm_cell_list_create(domain, points, count, side, &list, error);
  if (status != CVTM_OK) return status;
  const int64_t cells = (int64_t)list.columns * list.rows;
  const double mean = (double)count / (double)cells;
  double sum = 0;
  for (int64_t c = 0; c < cells; ++c) {
    const double off = (double)(list.start[c + 1] - list.start[c]) - mean;
    sum += off * off;
  }
  *dispersion = cells < 4 ? NAN : sum / (double)(cells - 1) / mean;
  cvtm_cell_list_free(&list);
  return CVTM_OK;
}

cvtm_status cvtm_pairs_measure(cvtm_domain domain, const double *points, int threads,
                               cvtm_spectrum *spectrum, cvtm_error *error) {
  const double half = 0.5 * fmin(domain.width, domain.height);
  pair_search s = {.points = points, .count = spectrum->count};
  s.gap = gap_step * spectrum->spacing;
  s.gaps = (int64_t)fmax(1, floor(fmin(CVTM_SPECTRUM_DISTANCE / gap_step, half / s.gap)));
  s.radius = (double)s.gaps * s.gap;
  spectrum->gaps = s.gaps;
  spectrum->gap = gap_step;
  spectrum->correlation = calloc((size_t)s.gaps, sizeof *spectrum->correlation);
  s.nearest = malloc((size_t)s.count * sizeof *s.nearest);
  s.sums = calloc((size_t)(CHUNKS * s.gaps), sizeof *s.sums);
  cvtm_status status = CVTM_OK;
  if (spectrum->correlation == NULL || s.nearest == NULL || s.sums == NULL)
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for %lld points", (long long)s.count);
  if (status == CVTM_OK)
    status = find_dispersion(domain, points, s.count, &spectrum->dispersion, error);
  if (status == CVTM_OK)
    status = cvtm_cell_list_create(domain, points, s.count, spectrum->spacing, &s.list, error);
  if (status == CVTM_OK) {
    search_pairs(&s, threads > 0 ? threads : omp_get_max_threads());
    finish_correlation(&s, spectrum);
    finish_distances(&s, spectrum);
    cvtm_cell_list_free(&s.list);
  }
  free(s.nearest);
  free(s.sums);
  return status;
}

/* --- bonds ---------------------------------------------------------------------------------------
 */

/* Every triangle adds, at each of its corners, the edge to the next corner: at an interior vertex
 * all edges, once each. The numbers of the next corners less those of the previous ones sum to 0
 * there; on the border the first edge's end and the last one's are left. */
typedef struct bonds {
  double x, y; /* of the sum of exp(6 i angle) */
  int32_t degree;
} bonds;

static void add_bond(const double *points, int32_t from, int32_t to, bonds *at) {
  const double angle = atan2(points[2 * (int64_t)to + 1] - points[2 * (int64_t)from + 1],
                             points[2 * (int64_t)to] - points[2 * (int64_t)from]);
  at->x += cos(6 * angle);
  at->y += sin(6 * angle);
  ++at->degree;
}

cvtm_status cvtm_bond_order(const double *points, int64_t count, const int32_t *triangles,
                            int64_t triangle_count, double *order, cvtm_error *error) {
  bonds *at = calloc((size_t)count, sizeof *at);
  int64_t *balance = calloc((size_t)count, sizeof *balance);
  double sum = 0;
  int64_t interior = 0;
  if (at == NULL || balance == NULL) {
    free(at);
    free(balance);
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for %lld points", (long long)count);
  }
  for (int64_t t = 0; t < triangle_count; ++t) {
    for (int k = 0; k < 3; ++k) {
      const int32_t v = triangles[3 * t + k];
      const int32_t next = triangles[3 * t + (k + 1) % 3],
                    previous = triangles[3 * t + (k + 2) % 3];
      add_bond(points, v, next, &at[v]);
      balance[v] += (int64_t)next - previous;
    }
  }
  for (int64_t i = 0; i < count; ++i) {
    if (at[i].degree == 0 || balance[i] != 0) continue; /* on the border */
    sum += hypot(at[i].x, at[i].y) / at[i].degree;
    ++interior;
  }
  *order = interior > 0 ? sum / (double)interior : NAN;
  free(at);
  free(balance);
  return CVTM_OK;
}

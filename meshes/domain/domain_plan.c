/* Plans the vertices of a domain's boundary and the density inside, and meshes the domain. */
#include "base/host.h"
#include "base/portable.h"
#include "meshes/constrained.h"
#include "meshes/delaunay/crossings.h"
#include "meshes/domain_mesh.h"
#include "meshes/domain_plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Vertices and their spacing ---- */

static const double gradation = 0.3; /* growth of a limited spacing per pixel of distance */
static const double smallest_edge =
    1.25; /* pixels: the contour has pixel noise below that length */
static const double largest_deviation =
    0.5; /* largest distance of an edge from the contour, pixels */
static const double every_point =
    0.05; /* pixels: with this spacing every point of the contour becomes a vertex */
static const double least_limit = 0.25; /* least limit, away from corners, pixels */
enum { WORTH_THREADS = 1 << 16 /* pixels */ };
static const double most_sites = 1e9; /* largest number of sites for given sizes */
/* The spacing at two vertices that see each other is at most this many times their distance. The
 * second value is for neighbours of a corner, which form a triangle with the corner. */
static const double largest_jump = 1.3, largest_at_corner = 2.2;
static const double hexagon =
    1.1547005383792517; /* 2 / sqrt 3; a cell has the area h^2 / hexagon */

typedef struct planner {
  const cvtm_contour *contour;
  int width, height;
  float *density;  /* inside the domain at least the floor */
  float *coverage; /* fraction of each pixel inside the domain */
  float *limit; /* upper bound of the spacing because of the shape; it grows with the distance from
                   the vertices and edges that need it */
  double *row_sum; /* per row of pixels: scratch of sum_pixels */
  double scale;    /* spacing = scale * rho^(-1/4) */
  double tolerance;
  int64_t limited;
} planner;

/* Nonzero on a torus, where the pixels beyond a side are those along the opposite side. */
static int is_torus(const planner *p) { return p->contour->twin != NULL; }

static int64_t pixel_of(const planner *p, double x, double y) {
  const int i = (int)fmin(fmax(floor(x), 0), p->width - 1);
  const int j = (int)fmin(fmax(floor(y), 0), p->height - 1);
  return (int64_t)j * p->width + i;
}

/* The mean of the square root of the density over the pixels of the domain in the 5 x 5 pixels
 * around a point, since single pixels on the boundary also contain outside. */
static double mean_root(const planner *p, double x, double y) {
  const int64_t middle = pixel_of(p, x, y);
  const int i0 = (int)(middle % p->width), j0 = (int)(middle / p->width);
  double sum = 0, weight = 0;
  for (int j = j0 - 2; j <= j0 + 2; ++j) {
    for (int i = i0 - 2; i <= i0 + 2; ++i) {
      const int outside = i < 0 || j < 0 || i >= p->width || j >= p->height;
      if (outside && !is_torus(p)) continue;
      const int column = outside ? (i % p->width + p->width) % p->width : i;
      const int row = outside ? (j % p->height + p->height) % p->height : j;
      const int64_t k = (int64_t)row * p->width + column;
      sum += (double)p->coverage[k] * sqrt((double)p->density[k]);
      weight += (double)p->coverage[k];
    }
  }
  return weight > 0 ? sum / weight : 0;
}

static double plane_spacing_at(const planner *p, double x, double y) {
  const double root = mean_root(p, x, y);
  const double limit = (double)p->limit[pixel_of(p, x, y)];
  return root > 0 ? fmin(p->scale / sqrt(root), limit) : limit;
}

/* The spacing at a point; on a side of a torus, the smaller of the values on both sides. */
static double spacing_at(const void *context, double x, double y) {
  const planner *p = context;
  double least = plane_spacing_at(p, x, y);
  if (is_torus(p) && (x == 0 || x == p->width))
    least = fmin(least, plane_spacing_at(p, p->width - x, y));
  if (is_torus(p) && (y == 0 || y == p->height))
    least = fmin(least, plane_spacing_at(p, x, p->height - y));
  return least;
}

/* ---- Limits from the shape ---- */

static double vertex_distance(const cvtm_boundary *b, int32_t u, int32_t v) {
  const double *p = b->points + 2 * (int64_t)u, *q = b->points + 2 * (int64_t)v;
  return hypot(q[0] - p[0], q[1] - p[1]);
}

static double edge_length(const cvtm_boundary *b, int64_t e) {
  return vertex_distance(b, b->edges[2 * e], b->edges[2 * e + 1]);
}

/* The angle between edge e and the next edge, if the contour is smooth there; else 0. */
static double turn_after(const cvtm_boundary *b, int64_t e) {
  if (e < 0 || e + 1 >= b->edge_count) return 0;
  const int32_t middle = b->edges[2 * e + 1];
  if (middle != b->edges[2 * e + 2] || b->corner[middle]) return 0;
  const double *p = b->points + 2 * (int64_t)b->edges[2 * e];
  const double *q = b->points + 2 * (int64_t)middle;
  const double *r = b->points + 2 * (int64_t)b->edges[2 * e + 3];
  const double ux = q[0] - p[0], uy = q[1] - p[1], vx = r[0] - q[0], vy = r[1] - q[1];
  return fabs(atan2(ux * vy - uy * vx, ux * vx + uy * vy));
}

/* The length that the contour's shape allows for an edge: the current one if possible. */
static double allowed_length(const planner *p, const cvtm_boundary *b, int64_t e) {
  const double length = edge_length(b, e);
  const double divided = b->deviation[e] > largest_deviation ? 0.6 * length : length; /* in two */
  if (!(length > smallest_edge)) return divided;
  /* Uses the sagitta of an arc that turns like the edges. The deviation itself consists of pixel
   * steps, which even shorter edges would only reproduce. */
  const double sagitta = length * fmax(turn_after(b, e - 1), turn_after(b, e)) / 8;
  const double bent = sagitta > p->tolerance ? 0.9 * length * sqrt(p->tolerance / sagitta) : length;
  return fmax(fmin(divided, bent), smallest_edge);
}

static void lower_limit(planner *p, const double *place, double allowed) {
  float *limit = &p->limit[pixel_of(p, place[0], place[1])];
  if ((float)allowed < *limit) *limit = (float)allowed;
}

/* Lowers the limit along an edge. */
static void set_limit(planner *p, const cvtm_boundary *b, int64_t e, double allowed) {
  const double *from = b->points + 2 * (int64_t)b->edges[2 * e];
  const double *to = b->points + 2 * (int64_t)b->edges[2 * e + 1];
  const int steps = (int)ceil(edge_length(b, e)) + 1;
  for (int k = 0; k <= steps; ++k) {
    const double t = (double)k / steps;
    const double place[2] = {from[0] + t * (to[0] - from[0]), from[1] + t * (to[1] - from[1])};
    lower_limit(p, place, allowed);
  }
}

/* Chamfer distance transform: a forward and a backward pass (Borgefors 1986, weights 1 and sqrt 2),
 * on a torus both twice, so that values cross the sides. */
static void spread_limits(planner *p) {
  const float side = (float)gradation, diagonal = (float)(gradation * 1.4142135623730951);
  const int w = p->width, h = p->height, torus = is_torus(p);
  for (int pass = 0; pass < (torus ? 4 : 2); ++pass) {
    const int back = pass % 2;
    for (int row = 0; row < h; ++row) {
      const int j = back ? h - 1 - row : row;
      float *here = p->limit + (int64_t)j * w;
      const float *last = p->limit + (int64_t)(back ? (j + 1) % h : (j + h - 1) % h) * w;
      float reached = torus ? here[back ? 0 : w - 1] : INFINITY;
      for (int i = 0; i < w && (row > 0 || torus); ++i) {
        const float left = last[i > 0 ? i - 1 : torus ? w - 1 : i];
        const float right = last[i + 1 < w ? i + 1 : torus ? 0 : i];
        const float across = (left < right ? left : right) + diagonal, along = last[i] + side;
        const float least = across < along ? across : along;
        if (least < here[i]) here[i] = least;
      }
      for (int column = 0; column < w; ++column) {
        float *limit = &here[back ? w - 1 - column : column];
        if (reached + side < *limit) *limit = reached + side;
        reached = *limit;
      }
    }
  }
}

/* Shortens edges that cross each other. After enough rounds the edges follow the contour point by
 * point, and the contour does not cross itself. */
static cvtm_status separate_edges(planner *p, const cvtm_boundary *b, int64_t *found,
                                  cvtm_error *error) {
  uint8_t *crossed = malloc((size_t)b->edge_count + 1);
  if (crossed == NULL) return cvtm_no_memory(error, "the boundary");
  const cvtm_status status =
      cvtm_find_crossed(b->points, b->vertex_count, b->edges, b->edge_count, crossed, found, error);
  for (int64_t e = 0; e < b->edge_count && status == CVTM_OK; ++e) {
    if (!crossed[e]) continue;
    set_limit(p, b, e, fmax(0.4 * edge_length(b, e), every_point));
  }
  free(crossed);
  return status;
}

/* Sets limits for every edge that is too long; returns the number of such edges. */
static int64_t limit_long_edges(planner *p, const cvtm_boundary *b) {
  int64_t found = 0;
  for (int64_t e = 0; e < b->edge_count; ++e) {
    const double allowed = allowed_length(p, b, e);
    if (!(allowed < 0.98 * edge_length(b, e))) continue;
    ++found;
    set_limit(p, b, e, allowed);
  }
  return found;
}

/* ---- Narrow parts ---- */

/* For each vertex and direction along the boundary: the next vertex and the next corner; -1: none.
 * For a corner the next corner is itself. */
typedef struct vicinity {
  int32_t next[2], corner[2];
} vicinity;

static void find_vicinities(const cvtm_boundary *b, vicinity *around) {
  for (int64_t v = 0; v < b->vertex_count; ++v) around[v] = (vicinity){{-1, -1}, {-1, -1}};
  for (int side = 0; side < 2; ++side) {
    int32_t last = -1, passed = -1; /* vertex, corner */
    for (int64_t step = 0; step < b->edge_count; ++step) {
      const int64_t e = side == 0 ? step : b->edge_count - 1 - step;
      const int32_t from = b->edges[2 * e + side], to = b->edges[2 * e + 1 - side];
      if (b->corner[from]) passed = from;
      if (!b->corner[from] && from != last) passed = -1;
      last = to;
      around[to].next[side] = b->corner[to] ? to : from;
      around[to].corner[side] = b->corner[to] ? to : passed;
    }
  }
}

/* The corner that has u and v on its two sides, and whose distance from u is less than 8 times the
 * distance between u and v; -1: none. */
static int32_t corner_between(const cvtm_boundary *b, const vicinity *around, int32_t u,
                              int32_t v) {
  for (int k = 0; k < 4; ++k) {
    const int32_t c = around[u].corner[k / 2];
    if (c < 0 || c != around[v].corner[k % 2] || c == u || c == v) continue;
    if (vertex_distance(b, u, c) < 8 * vertex_distance(b, u, v)) return c;
  }
  return -1;
}

static int is_next_to(const vicinity *around, int32_t u, int32_t c) {
  return around[u].next[0] == c || around[u].next[1] == c;
}

/* The spacing that two vertices which see each other allow; infinite if they set no limit. Between
 * the two sides of a corner, which are close anyway, at least smallest_edge is allowed. */
static double limit_between(const planner *p, const cvtm_boundary *b, const vicinity *around,
                            int32_t u, int32_t v) {
  const double *from = b->points + 2 * (int64_t)u, *to = b->points + 2 * (int64_t)v;
  const int32_t corner = corner_between(b, around, u, v);
  const int at_corner =
      corner >= 0 && is_next_to(around, u, corner) && is_next_to(around, v, corner);
  const double jump = at_corner ? largest_at_corner : largest_jump;
  const double allowed =
      fmax(jump * vertex_distance(b, u, v), corner >= 0 ? smallest_edge : least_limit);
  const double here = fmin(spacing_at(p, from[0], from[1]), spacing_at(p, to[0], to[1]));
  return here > 1.05 * allowed ? allowed : INFINITY;
}

/* Sets limits at every two vertices that are much closer to each other than the spacing there,
 * whether they are neighbours on the boundary or on opposite sides of a narrow part. */
static cvtm_status limit_narrow_places(planner *p, const cvtm_boundary *b, int64_t *found,
                                       cvtm_error *error) {
  cvtm_mesh mesh = {0};
  cvtm_regions regions = {0};
  int32_t *source = NULL;
  *found = 0;
  vicinity *around = malloc((size_t)b->vertex_count * sizeof *around);
  if (around == NULL) return cvtm_no_memory(error, "the boundary");
  cvtm_status status =
      cvtm_constrained_delaunay(b->points, b->vertex_count, b, &mesh, &regions, &source, error);
  if (status == CVTM_OK) find_vicinities(b, around);
  for (int64_t h = 0; h < 3 * mesh.triangle_count; ++h) {
    const int32_t u = source[mesh.triangles[h]];
    const int32_t v = source[mesh.triangles[h % 3 == 2 ? h - 2 : h + 1]];
    const double allowed = limit_between(p, b, around, u, v);
    if (!isfinite(allowed)) continue;
    ++*found;
    lower_limit(p, b->points + 2 * (int64_t)u, allowed);
    lower_limit(p, b->points + 2 * (int64_t)v, allowed);
  }
  cvtm_mesh_free(&mesh);
  cvtm_regions_free(&regions);
  free(source);
  free(around);
  return status;
}

/* Sets all limits for the current boundary. *found: the number of limits set. */
static cvtm_status apply_limits(planner *p, const cvtm_boundary *b, int64_t *found,
                                cvtm_error *error) {
  int64_t crossed = 0, narrow = 0;
  CVTM_TRY(separate_edges(p, b, &crossed, error));
  if (crossed == 0) CVTM_TRY(limit_narrow_places(p, b, &narrow, error));
  *found = crossed + narrow + limit_long_edges(p, b);
  if (*found > 0) spread_limits(p);
  return CVTM_OK;
}

/* ---- Densities ---- */

static double limited_spacing(const planner *p, int64_t k) {
  const double h = p->scale / sqrt(sqrt((double)p->density[k]));
  return fmin(h, (double)p->limit[k]);
}

/* The sum of a term over all pixels. Each row is the work of one thread, so the number of threads
 * changes no bit. */
static inline double sum_pixels(const planner *p, double (*term)(const planner *, int64_t)) {
  const int64_t width = p->width;
#pragma omp parallel for schedule(static) if (width * p->height >= WORTH_THREADS)
  for (int j = 0; j < p->height; ++j) {
    double sum = 0;
    for (int64_t k = j * width; k < (j + 1) * width; ++k) sum += term(p, k);
    p->row_sum[j] = sum;
  }
  double total = 0;
  for (int j = 0; j < p->height; ++j) total += p->row_sum[j];
  return total;
}

static double pixel_area(const planner *p, int64_t k) { return (double)p->coverage[k]; }

static double pixel_root(const planner *p, int64_t k) {
  return (double)p->coverage[k] * sqrt((double)p->density[k]);
}

static double pixel_sites(const planner *p, int64_t k) {
  if (!(p->coverage[k] > 0)) return 0;
  const double h = limited_spacing(p, k);
  return (double)p->coverage[k] * hexagon / (h * h);
}

/* The number of sites of a hexagonal tessellation with the limited spacings, including the half
 * cells at the boundary. */
static double count_sites(const planner *p, const cvtm_boundary *b) {
  double half_cells = 0;
  for (int64_t e = 0; e < b->edge_count; ++e)
    half_cells += 0.5 * (b->left[e] == 0 || b->right[e] == 0);
  return sum_pixels(p, pixel_sites) + half_cells;
}

/* Raises the density to its floor. Sets the first scale or, for sizes, the final one. */
static cvtm_status raise_density(planner *p, int64_t sites, cvtm_domain_plan_figures *figures,
                                 cvtm_error *error) {
  const int64_t pixels = (int64_t)p->width * p->height;
  const double roots = sum_pixels(p, pixel_root), area = sum_pixels(p, pixel_area);
  if (!(roots > 0)) {
    return cvtm_fail(error, CVTM_ERROR_INPUT, "the density is zero everywhere in the domain");
  }
  const double mean = roots / area;
  const double least = mean * mean / 625;
#pragma omp parallel for schedule(static) if (pixels >= WORTH_THREADS)
  for (int64_t k = 0; k < pixels; ++k) {
    if ((double)p->density[k] < least) p->density[k] = (float)least;
  }
  if (sites == 0 && hexagon * roots > most_sites) {
    return cvtm_fail(error, CVTM_ERROR_INPUT, "the sizes need %.3g sites; at most %g are possible",
                     hexagon * roots, most_sites);
  }
  p->scale = sites > 0 ? sqrt(hexagon * roots / (double)sites) : 1;
  figures->spacing = p->scale / sqrt(mean);
  return CVTM_OK;
}

/* Sets the density that yields the limited spacings. */
static void write_density(const planner *p) {
  const int64_t pixels = (int64_t)p->width * p->height;
#pragma omp parallel for schedule(static) if (pixels >= WORTH_THREADS)
  for (int64_t k = 0; k < pixels; ++k) {
    double rho = p->coverage[k] > 0 ? (double)p->density[k] : 0;
    if (rho > 0 && (double)p->limit[k] < p->scale / sqrt(sqrt(rho)))
      rho = pow((double)p->limit[k] / p->scale, -4);
    p->density[k] = (float)((double)p->coverage[k] * rho);
  }
}

/* ---- The plan ---- */

static void clamp_to_image(const planner *p, cvtm_boundary *b) {
  for (int64_t v = 0; v < b->vertex_count; ++v) {
    b->points[2 * v] = fmin(fmax(b->points[2 * v], 0), p->width);
    b->points[2 * v + 1] = fmin(fmax(b->points[2 * v + 1], 0), p->height);
  }
}

enum { ROUNDS = 16 };

/* Samples the boundary and reduces spacings until all limits hold. *sites: their total number. */
static cvtm_status limit_spacings(planner *p, cvtm_boundary *boundary, int64_t *sites,
                                  cvtm_error *error) {
  int64_t found = 1;
  for (int round = 0; found > 0 && round <= ROUNDS; ++round) {
    cvtm_boundary_free(boundary);
    CVTM_TRY(cvtm_boundary_sample(p->contour, spacing_at, p, boundary, error));
    if (round < ROUNDS) CVTM_TRY(apply_limits(p, boundary, &found, error));
    p->limited = p->limited > found ? p->limited : found;
  }
  *sites = llround(fmax(count_sites(p, boundary), (double)boundary->vertex_count));
  return CVTM_OK;
}

/* Alternates scaling and limits until both hold. */
static cvtm_status fit_scale(planner *p, int64_t sites, cvtm_boundary *boundary,
                             cvtm_error *error) {
  const double largest_scale = 16 * p->scale;
  for (int round = 0;; ++round) {
    cvtm_boundary_free(boundary);
    CVTM_TRY(cvtm_boundary_sample(p->contour, spacing_at, p, boundary, error));
    const double wanted = count_sites(p, boundary);
    if (round == ROUNDS) {
      if (wanted < 1.1 * (double)sites && boundary->vertex_count <= sites) return CVTM_OK;
      return cvtm_fail(error, CVTM_ERROR_INPUT,
                       "%" PRId64 " sites are too few: the boundary alone needs %" PRId64
                       ", and the domain about %.0f in all, because of its finest parts",
                       sites, boundary->vertex_count,
                       fmax(wanted, fmax((double)sites, (double)boundary->vertex_count)));
    }
    int64_t found = 0;
    CVTM_TRY(apply_limits(p, boundary, &found, error));
    const double ratio = wanted / (double)sites;
    p->limited = p->limited > found ? p->limited : found;
    const int enough = boundary->vertex_count <= sites;
    if (found == 0 && enough && fabs(ratio - 1) < 2e-3) return CVTM_OK;
    /* If the shape alone needs more sites than are given, no scale suffices. */
    p->scale = fmin(p->scale * sqrt(ratio), largest_scale);
  }
}

cvtm_status cvtm_domain_plan(const cvtm_contour *contour, int width, int height, int64_t sites,
                             double tolerance, float *density, cvtm_boundary *boundary,
                             cvtm_domain_plan_figures *figures, cvtm_error *error) {
  if (!contour || !density || width < 1 || height < 1 || sites < 0 || !(tolerance > 0)) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "the domain is missing or empty, or an argument is out of range");
  }
  const size_t pixels = (size_t)width * (size_t)height;
  planner p = {.contour = contour,
               .width = width,
               .height = height,
               .density = density,
               .coverage = malloc(pixels * sizeof *p.coverage),
               .limit = malloc(pixels * sizeof *p.limit),
               .row_sum = malloc((size_t)height * sizeof *p.row_sum),
               .tolerance = tolerance};
  cvtm_boundary made = {0};
  cvtm_domain_plan_figures result = {0};
  cvtm_status status = CVTM_OK;
  if (p.coverage == NULL || p.limit == NULL || p.row_sum == NULL)
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory to plan %d x %d pixels", width, height);
  if (status == CVTM_OK) {
    for (size_t k = 0; k < pixels; ++k) p.limit[k] = 1e30F;
    status = cvtm_contour_coverage(contour, width, height, p.coverage, error);
  }
  if (status == CVTM_OK) status = raise_density(&p, sites, &result, error);
  result.sites = sites;
  if (status == CVTM_OK)
    status = sites > 0 ? fit_scale(&p, sites, &made, error)
                       : limit_spacings(&p, &made, &result.sites, error);
  if (status == CVTM_OK) status = cvtm_boundary_fit(contour, 1, &made, error);
  if (status == CVTM_OK) {
    write_density(&p);
    clamp_to_image(&p, &made);
    result.limited = p.limited;
    *boundary = made;
    *figures = result;
  } else {
    cvtm_boundary_free(&made);
  }
  free(p.coverage);
  free(p.limit);
  free(p.row_sum);
  return status;
}

/* ---- The mesh ---- */

enum { MESH_ROUNDS = 4 };

static const double least_angle = 20 * CVTM_PI / 180;

static double angle_at(const double *a, const double *b, const double *c) {
  const double ux = b[0] - a[0], uy = b[1] - a[1], vx = c[0] - a[0], vy = c[1] - a[1];
  return fabs(atan2(ux * vy - uy * vx, ux * vx + uy * vy));
}

/* The site to drop because a triangle has a small angle; -1: none. */
static int32_t crowded_site(const cvtm_mesh *mesh, const int32_t *source, int64_t fixed,
                            const int32_t *corners) {
  for (int k = 0; k < 3; ++k) {
    const int32_t v = corners[k], from = corners[(k + 1) % 3], to = corners[(k + 2) % 3];
    const double *a = mesh->points + 2 * (int64_t)from, *b = mesh->points + 2 * (int64_t)to;
    const double *c = mesh->points + 2 * (int64_t)v;
    const double opposite = angle_at(c, a, b);
    if (opposite >= least_angle || opposite > fmin(angle_at(a, b, c), angle_at(b, c, a))) continue;
    const int32_t crowded = source[from] > source[to] ? source[from] : source[to];
    return crowded >= fixed ? crowded : -1;
  }
  return -1;
}

/* Lists the remaining sites. from: their indices among all sites. */
typedef struct selection {
  double *sites;
  int32_t *from;
  char *drop;
  int64_t count;
} selection;

static int64_t drop_crowded(const cvtm_mesh *mesh, const int32_t *source, int64_t fixed,
                            selection *left) {
  memset(left->drop, 0, (size_t)left->count);
  for (int64_t t = 0; t < mesh->triangle_count; ++t) {
    const int32_t site = crowded_site(mesh, source, fixed, mesh->triangles + 3 * t);
    if (site >= 0) left->drop[site] = 1;
  }
  int64_t kept = 0;
  for (int64_t i = 0; i < left->count; ++i) {
    if (left->drop[i]) continue;
    left->sites[2 * kept] = left->sites[2 * i];
    left->sites[2 * kept + 1] = left->sites[2 * i + 1];
    left->from[kept++] = left->from[i];
  }
  const int64_t dropped = left->count - kept;
  left->count = kept;
  return dropped;
}

static cvtm_status mesh_selection(selection *left, const cvtm_boundary *boundary, cvtm_mesh *mesh,
                                  cvtm_regions *regions, int32_t **source, cvtm_error *error) {
  for (int round = 0;; ++round) {
    CVTM_TRY(cvtm_constrained_delaunay(left->sites, left->count, boundary, mesh, regions, source,
                                       error));
    if (round == MESH_ROUNDS || drop_crowded(mesh, *source, boundary->vertex_count, left) == 0)
      break;
    cvtm_mesh_free(mesh);
    cvtm_regions_free(regions);
    free(*source);
    *source = NULL;
  }
  for (int64_t v = 0; v < mesh->vertex_count; ++v) (*source)[v] = left->from[(*source)[v]];
  return CVTM_OK;
}

cvtm_status cvtm_domain_mesh(const double *sites, int64_t count, const cvtm_boundary *boundary,
                             cvtm_mesh *mesh, cvtm_regions *regions, int32_t **source,
                             cvtm_error *error) {
  const size_t n = (size_t)count;
  cvtm_scratch memory = {0};
  selection left = {cvtm_scratch_take(&memory, n, 2 * sizeof *left.sites),
                    cvtm_scratch_take(&memory, n, sizeof *left.from),
                    cvtm_scratch_take(&memory, n, 1), count};
  cvtm_status status = CVTM_OK;
  if (memory.failed) {
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the domain's mesh");
  } else {
    memcpy(left.sites, sites, 2 * n * sizeof *left.sites);
    for (size_t i = 0; i < n; ++i) left.from[i] = (int32_t)i;
    status = mesh_selection(&left, boundary, mesh, regions, source, error);
  }
  cvtm_scratch_free(&memory);
  return status;
}

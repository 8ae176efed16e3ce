#include "meshes/domain_plan.h"

#include "meshes/crossings.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double gradation = 0.3;         /* growth of a limited spacing per pixel */
static const double smallest_edge = 1.25;    /* pixels: below that the contour is noise */
static const double largest_deviation = 0.5; /* of an edge from the contour, pixels */
static const double every_point = 0.05; /* spacing so small that all points of a contour count */
static const double least_limit = 0.25; /* beside edges that are short anyway */
static const double hexagon = 1.1547005383792517; /* 2 / sqrt 3: area of a cell is h^2 / that */

typedef struct planner {
  const cvtm_contour *contour;
  const int32_t *region;
  int width, height;
  float *density;  /* within the domain raised to the floor */
  float *coverage; /* of pixels by the domain */
  float *limit;    /* of the spacing, by the shape; grows away from where it is set */
  double scale;    /* spacing = scale * rho^(-1/4) */
  double tolerance;
  int64_t limited;
} planner;

static int64_t pixel_of(const planner *p, double x, double y) {
  const int i = (int)fmin(fmax(floor(x), 0), p->width - 1);
  const int j = (int)fmin(fmax(floor(y), 0), p->height - 1);
  return (int64_t)j * p->width + i;
}

/* The mean root of the density over the 5 x 5 pixels around a place, as far as they are in the
 * domain: on the boundary pixels are mixed with the outside. */
static double mean_root(const planner *p, double x, double y) {
  const int64_t middle = pixel_of(p, x, y);
  const int i0 = (int)(middle % p->width), j0 = (int)(middle / p->width);
  double sum = 0, weight = 0;
  for (int j = j0 - 2; j <= j0 + 2; ++j) {
    for (int i = i0 - 2; i <= i0 + 2; ++i) {
      if (i < 0 || j < 0 || i >= p->width || j >= p->height) continue;
      const int64_t k = (int64_t)j * p->width + i;
      sum += (double)p->coverage[k] * sqrt((double)p->density[k]);
      weight += (double)p->coverage[k];
    }
  }
  return weight > 0 ? sum / weight : 0;
}

static double spacing_at(const void *context, double x, double y) {
  const planner *p = context;
  const double root = mean_root(p, x, y);
  const double limit = (double)p->limit[pixel_of(p, x, y)];
  return root > 0 ? fmin(p->scale / sqrt(root), limit) : limit;
}

/* ---- What the shape asks for ---- */

/* How far one gets from (x, y) along the unit vector (dx, dy) within one region. */
static double clear_way(const planner *p, double x, double y, double dx, double dy, double most) {
  const double first = 1; /* off the boundary's own pixels */
  int32_t here = 0;
  for (double d = first; d < most; d += 0.5) {
    const double px = x + d * dx, py = y + d * dy;
    if (px < 0 || py < 0 || px >= p->width || py >= p->height) return d;
    const int32_t region = p->region[pixel_of(p, px, py)];
    if (d == first) here = region;
    if (region != here) return d;
  }
  return most;
}

/* The turn between edge e and the next, if they meet where the contour is smooth; else 0. */
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

/* The longest that an edge may be, by what surrounds it; its length if nothing objects. */
static double allowed_length(const planner *p, const cvtm_boundary *b, int64_t e) {
  const double *from = b->points + 2 * (int64_t)b->edges[2 * e];
  const double *to = b->points + 2 * (int64_t)b->edges[2 * e + 1];
  const double dx = to[0] - from[0], dy = to[1] - from[1], length = hypot(dx, dy);
  double allowed = length;
  if (!(length > smallest_edge)) return length;
  /* The sagitta of an arc that turns like the edges: deviations themselves are made of steps of
   * pixels, which shorter edges would only follow. */
  const double sagitta = length * fmax(turn_after(b, e - 1), turn_after(b, e)) / 8;
  if (sagitta > p->tolerance) allowed = 0.9 * length * sqrt(p->tolerance / sagitta);
  if (b->deviation[e] > largest_deviation) allowed = fmin(allowed, 0.7 * length);
  const double x = 0.5 * (from[0] + to[0]), y = 0.5 * (from[1] + to[1]);
  /* Left of the edge, y down, is (dy, -dx). */
  for (int side = -1; side <= 1; side += 2) {
    if ((side > 0 ? b->left[e] : b->right[e]) == 0) continue;
    const double clear = clear_way(p, x, y, side * dy / length, -side * dx / length, 1.1 * length);
    if (clear < length) allowed = fmin(allowed, clear);
  }
  return fmax(allowed, smallest_edge);
}

/* Lowers the limit along an edge. */
static void set_limit(planner *p, const cvtm_boundary *b, int64_t e, double allowed) {
  const double *from = b->points + 2 * (int64_t)b->edges[2 * e];
  const double *to = b->points + 2 * (int64_t)b->edges[2 * e + 1];
  const int steps = (int)ceil(hypot(to[0] - from[0], to[1] - from[1])) + 1;
  for (int k = 0; k <= steps; ++k) {
    const double t = (double)k / steps;
    float *limit =
        &p->limit[pixel_of(p, from[0] + t * (to[0] - from[0]), from[1] + t * (to[1] - from[1]))];
    if ((float)allowed < *limit) *limit = (float)allowed;
  }
}

/* From each pixel to its neighbours, forwards and backwards (Borgefors 1986, weights 1, sqrt 2). */
static void spread_limits(planner *p) {
  static const int di[4] = {-1, -1, 0, 1}, dj[4] = {0, -1, -1, -1};
  const int w = p->width, h = p->height;
  for (int pass = 0; pass < 2; ++pass) {
    const int way = pass == 0 ? 1 : -1;
    for (int row = 0; row < h; ++row) {
      const int j = pass == 0 ? row : h - 1 - row;
      for (int column = 0; column < w; ++column) {
        const int i = pass == 0 ? column : w - 1 - column;
        float *limit = &p->limit[(int64_t)j * w + i];
        for (int k = 0; k < 4; ++k) {
          const int ni = i + way * di[k], nj = j + way * dj[k];
          if (ni < 0 || nj < 0 || ni >= w || nj >= h) continue;
          const double step = di[k] != 0 && dj[k] != 0 ? 1.4142135623730951 : 1;
          const float reached = p->limit[(int64_t)nj * w + ni] + (float)(gradation * step);
          if (reached < *limit) *limit = reached;
        }
      }
    }
  }
}

/* Edges that cross each other are to follow the contour point by point there. */
static cvtm_status separate_edges(planner *p, const cvtm_boundary *b, int64_t *found,
                                  cvtm_error *error) {
  uint8_t *crossed = malloc((size_t)b->edge_count + 1);
  if (crossed == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the boundary");
  const cvtm_status status =
      cvtm_find_crossed(b->points, b->vertex_count, b->edges, b->edge_count, crossed, found, error);
  for (int64_t e = 0; e < b->edge_count && status == CVTM_OK; ++e) {
    if (crossed[e]) set_limit(p, b, e, every_point);
  }
  free(crossed);
  if (status == CVTM_OK && *found > 0) spread_limits(p);
  return status;
}

/* Limits from every edge that is too long, or so short (between corners) that its neighbours
 * must not be much longer; returns how many there are. */
static int64_t apply_limits(planner *p, const cvtm_boundary *b) {
  const double jump = 1.3; /* of lengths */
  int64_t found = 0;
  for (int64_t e = 0; e < b->edge_count; ++e) {
    const double *from = b->points + 2 * (int64_t)b->edges[2 * e];
    const double *to = b->points + 2 * (int64_t)b->edges[2 * e + 1];
    const double length = hypot(to[0] - from[0], to[1] - from[1]);
    double allowed = allowed_length(p, b, e);
    const double around = fmin(spacing_at(p, from[0], from[1]), spacing_at(p, to[0], to[1]));
    if (!(allowed < 0.98 * length)) {
      if (!(around > 1.05 * fmax(jump * length, least_limit))) continue;
      allowed = fmax(jump * length, least_limit);
    }
    ++found;
    set_limit(p, b, e, allowed);
  }
  if (found > 0) spread_limits(p);
  return found;
}

/* ---- Densities ---- */

static double limited_spacing(const planner *p, int64_t k) {
  const double h = p->scale / sqrt(sqrt((double)p->density[k]));
  return fmin(h, (double)p->limit[k]);
}

/* Sites of a hexagonal tessellation with these spacings, the boundary's half cells included. */
static double count_sites(const planner *p, const cvtm_boundary *b) {
  double total = 0;
  for (int j = 0; j < p->height; ++j) {
    double row = 0;
    for (int64_t k = (int64_t)j * p->width; k < (int64_t)(j + 1) * p->width; ++k) {
      if (!(p->coverage[k] > 0)) continue;
      const double h = limited_spacing(p, k);
      row += (double)p->coverage[k] * hexagon / (h * h);
    }
    total += row;
  }
  double half_cells = 0;
  for (int64_t e = 0; e < b->edge_count; ++e) {
    half_cells += 0.5 * (b->left[e] == 0 || b->right[e] == 0);
  }
  return total + half_cells;
}

/* Raises the density to the floor, and sets the first scale. */
static cvtm_status raise_density(planner *p, int64_t sites, cvtm_domain_plan_figures *figures,
                                 cvtm_error *error) {
  const int64_t pixels = (int64_t)p->width * p->height;
  double roots = 0, area = 0;
  for (int64_t k = 0; k < pixels; ++k) {
    roots += (double)p->coverage[k] * sqrt((double)p->density[k]);
    area += (double)p->coverage[k];
  }
  if (!(roots > 0)) {
    return cvtm_fail(error, CVTM_ERROR_INPUT, "the density is zero all over the domain");
  }
  const double mean = roots / area;
  const double least = mean * mean / 625;
  for (int64_t k = 0; k < pixels; ++k) {
    if ((double)p->density[k] < least) p->density[k] = (float)least;
  }
  p->scale = sqrt(hexagon * roots / (double)sites);
  figures->spacing = sqrt(hexagon * area / (double)sites);
  return CVTM_OK;
}

/* The density that the planned spacings come from. */
static void write_density(const planner *p) {
  for (int64_t k = 0; k < (int64_t)p->width * p->height; ++k) {
    double rho = p->coverage[k] > 0 ? (double)p->density[k] : 0;
    if (rho > 0 && (double)p->limit[k] < p->scale / sqrt(sqrt(rho))) {
      rho = pow((double)p->limit[k] / p->scale, -4);
    }
    p->density[k] = (float)((double)p->coverage[k] * rho);
  }
}

/* ---- The plan ---- */

static double find_hausdorff(const cvtm_boundary *b, double corner_shift) {
  double largest = corner_shift;
  for (int64_t e = 0; e < b->edge_count; ++e) largest = fmax(largest, b->deviation[e]);
  return largest;
}

static void clamp_to_image(const planner *p, cvtm_boundary *b) {
  for (int64_t v = 0; v < b->vertex_count; ++v) {
    b->points[2 * v] = fmin(fmax(b->points[2 * v], 0), p->width);
    b->points[2 * v + 1] = fmin(fmax(b->points[2 * v + 1], 0), p->height);
  }
}

/* Spacing and limits in turn, until both hold. */
static cvtm_status settle(planner *p, int64_t sites, cvtm_boundary *boundary, cvtm_error *error) {
  enum { ROUNDS = 12 };
  const double largest_scale = 16 * p->scale;
  for (int round = 0;; ++round) {
    cvtm_boundary_free(boundary);
    cvtm_status status = cvtm_boundary_sample(p->contour, spacing_at, p, boundary, error);
    if (status != CVTM_OK) return status;
    const double wanted = count_sites(p, boundary);
    if (round == ROUNDS) {
      if (wanted < 1.1 * (double)sites && boundary->vertex_count <= sites) return CVTM_OK;
      return cvtm_fail(error, CVTM_ERROR_INPUT,
                       "%" PRId64 " sites are too few: the boundary takes %" PRId64
                       ", and the finest places of the shape about %.0f in all",
                       sites, boundary->vertex_count, fmax(wanted, (double)sites));
    }
    int64_t crossed = 0;
    status = separate_edges(p, boundary, &crossed, error);
    if (status != CVTM_OK) return status;
    const int64_t found = apply_limits(p, boundary) + crossed;
    const double ratio = wanted / (double)sites;
    p->limited = p->limited > found ? p->limited : found;
    const int enough = boundary->vertex_count <= sites;
    if (found == 0 && enough && fabs(ratio - 1) < 2e-3) return CVTM_OK;
    /* Where the shape alone asks for more sites than there are, no scale is large enough. */
    p->scale = fmin(p->scale * sqrt(ratio), largest_scale);
  }
}

cvtm_status cvtm_domain_plan(const cvtm_contour *contour, const int32_t *region, int width,
                             int height, int64_t sites, double tolerance, float *density,
                             cvtm_boundary *boundary, cvtm_domain_plan_figures *figures,
                             cvtm_error *error) {
  if (!contour || !region || !density || width < 1 || height < 1 || sites < 1 || !(tolerance > 0)) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "no domain, or no sites for it");
  }
  const size_t pixels = (size_t)width * (size_t)height;
  planner p = {.contour = contour,
               .region = region,
               .width = width,
               .height = height,
               .density = density,
               .coverage = malloc(pixels * sizeof *p.coverage),
               .limit = malloc(pixels * sizeof *p.limit),
               .tolerance = tolerance};
  cvtm_boundary made = {0};
  cvtm_domain_plan_figures result = {0};
  cvtm_status status = CVTM_OK;
  if (p.coverage == NULL || p.limit == NULL) {
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory to plan %d x %d pixels", width, height);
  }
  if (status == CVTM_OK) {
    for (size_t k = 0; k < pixels; ++k) p.limit[k] = 1e30F;
    status = cvtm_contour_coverage(contour, width, height, p.coverage, error);
  }
  if (status == CVTM_OK) status = raise_density(&p, sites, &result, error);
  if (status == CVTM_OK) status = settle(&p, sites, &made, error);
  if (status == CVTM_OK) {
    write_density(&p);
    clamp_to_image(&p, &made);
    result.hausdorff = find_hausdorff(&made, contour->corner_shift);
    result.limited = p.limited;
    *boundary = made;
    *figures = result;
  } else {
    cvtm_boundary_free(&made);
  }
  free(p.coverage);
  free(p.limit);
  return status;
}

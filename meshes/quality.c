/* Quality of triangulations: angles, shapes, areas, degrees. */
#include "meshes/mesh.h"

#include <math.h>
#include <stdlib.h>

/* ---- One triangle ---- */

typedef struct triangle_figures {
  double area;      /* unsigned */
  double min_angle; /* degrees */
  double q, aspect;
  int clockwise; /* as seen with y up */
  int inner;     /* circumcentre in the domain */
} triangle_figures;

/* a b - c d, right to the last place or two however much cancels (Kahan). */
static double difference_of_products(double a, double b, double c, double d) {
  const double cd = c * d;
  return fma(a, b, -cd) + fma(-c, d, cd);
}

static int circumcentre_inside(const cvtm_domain *domain, const double *a, double bx, double by,
                               double cx, double cy, double cross) {
  if (!domain) return 1;
  if (cross == 0) return 0;
  const double b2 = bx * bx + by * by, c2 = cx * cx + cy * cy;
  const double x = a[0] + (b2 * cy - c2 * by) / (2 * cross);
  const double y = a[1] + (c2 * bx - b2 * cx) / (2 * cross);
  return x >= 0 && x <= domain->width && y >= 0 && y <= domain->height;
}

static triangle_figures measure(const double *a, const double *b, const double *c,
                                const cvtm_domain *domain) {
  static const double degrees = 57.295779513082320877;
  const double bx = b[0] - a[0], by = b[1] - a[1];
  const double cx = c[0] - a[0], cy = c[1] - a[1];
  const double cross = difference_of_products(bx, cy, by, cx);
  const double ab = hypot(bx, by), ac = hypot(cx, cy), bc = hypot(cx - bx, cy - by);
  const double longest = fmax(ab, fmax(ac, bc)), shortest = fmin(ab, fmin(ac, bc));
  triangle_figures t = {.area = 0.5 * fabs(cross), .clockwise = cross > 0};
  t.inner = circumcentre_inside(domain, a, bx, by, cx, cy, cross);
  if (cross == 0) return t;
  /* The smallest angle is opposite to the shortest edge, between the other two. */
  double cosine;
  if (shortest == bc) {
    cosine = bx * cx + by * cy;
  } else if (shortest == ac) {
    cosine = bx * (bx - cx) + by * (by - cy);
  } else {
    cosine = cx * (cx - bx) + cy * (cy - by);
  }
  t.min_angle = degrees * atan2(fabs(cross), cosine);
  t.q = 2 * sqrt(3.0) * t.area / (0.5 * (ab + ac + bc) * longest);
  t.aspect = sqrt(3.0) * longest * longest / (4 * t.area);
  return t;
}

/* ---- Sums over triangles ---- */

static void add_triangle(cvtm_quality_figures *figures, const triangle_figures *t) {
  if (figures->triangles == 0) {
    figures->min_angle = t->min_angle;
    figures->min_q = t->q;
    figures->min_area = figures->max_area = t->area;
  }
  figures->triangles++;
  figures->min_angle = fmin(figures->min_angle, t->min_angle);
  figures->mean_min_angle += t->min_angle;
  figures->min_q = fmin(figures->min_q, t->q);
  figures->mean_q += t->q;
  figures->min_area = fmin(figures->min_area, t->area);
  figures->max_area = fmax(figures->max_area, t->area);
  figures->mean_area += t->area;
  figures->max_aspect = fmax(figures->max_aspect, t->aspect);
  if (t->area == 0) figures->degenerate++;
  const int bin = (int)(t->min_angle / (60.0 / CVTM_ANGLE_BINS));
  figures->angle_histogram[bin < CVTM_ANGLE_BINS ? bin : CVTM_ANGLE_BINS - 1]++;
}

static void finish_means(cvtm_quality_figures *figures) {
  if (figures->triangles == 0) return;
  const double count = (double)figures->triangles;
  figures->mean_min_angle /= count;
  figures->mean_q /= count;
  figures->mean_area /= count;
}

/* ---- Vertices ---- */

typedef struct vertex_star {
  uint64_t open;    /* 0 if the triangles close around the vertex */
  int32_t degree;   /* triangles */
  int32_t touching; /* nonzero: a triangle that is not inner */
} vertex_star;

/* A bijection of 64-bit numbers (Steele, Lea & Flood 2014). */
static uint64_t mix(uint64_t z) {
  z += 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

/* Around a vertex every triangle enters by one edge and leaves by another. If they
 * close, each neighbour is entered and left once, and the sum of what is entered less
 * what is left is 0; an open fan leaves the difference of its two ends. */
static void add_corner(vertex_star *star, int32_t entered, int32_t left, int inner) {
  star->open += mix((uint64_t)entered) - mix((uint64_t)left);
  star->degree++;
  if (!inner) star->touching = 1;
}

static void add_star_corners(vertex_star *stars, const int32_t *corners,
                             const triangle_figures *t) {
  const int32_t a = corners[0], b = corners[t->clockwise ? 2 : 1],
                c = corners[t->clockwise ? 1 : 2];
  add_corner(&stars[a], b, c, t->inner);
  add_corner(&stars[b], c, a, t->inner);
  add_corner(&stars[c], a, b, t->inner);
}

static void count_degrees(const vertex_star *stars, cvtm_quality *quality) {
  static const int bins =
      (int)(sizeof quality->degree_histogram / sizeof quality->degree_histogram[0]);
  for (int64_t v = 0; v < quality->vertices; ++v) {
    const vertex_star *star = &stars[v];
    if (star->degree == 0 || star->open || star->touching) continue;
    quality->interior_vertices++;
    quality->degree_histogram[star->degree < bins ? star->degree : bins - 1]++;
  }
  if (quality->interior_vertices > 0) {
    quality->degree6_share =
        (double)quality->degree_histogram[6] / (double)quality->interior_vertices;
  }
}

cvtm_status cvtm_quality_compute(const cvtm_mesh *mesh, const cvtm_domain *domain,
                                 cvtm_quality *quality, cvtm_error *error) {
  if (!mesh || !quality) return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "no mesh or no quality");
  for (int64_t k = 0; k < 3 * mesh->triangle_count; ++k) {
    if (mesh->triangles[k] < 0 || mesh->triangles[k] >= mesh->vertex_count) {
      return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "triangle %lld names vertex %d of %lld",
                       (long long)(k / 3), (int)mesh->triangles[k], (long long)mesh->vertex_count);
    }
  }
  vertex_star *stars = calloc((size_t)mesh->vertex_count + 1, sizeof *stars);
  if (!stars) {
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for the quality of %lld vertices",
                     (long long)mesh->vertex_count);
  }
  cvtm_quality made = {.vertices = mesh->vertex_count};
  for (int64_t t = 0; t < mesh->triangle_count; ++t) {
    const int32_t *corners = mesh->triangles + 3 * t;
    const triangle_figures figures =
        measure(mesh->points + 2 * (int64_t)corners[0], mesh->points + 2 * (int64_t)corners[1],
                mesh->points + 2 * (int64_t)corners[2], domain);
    if (!isfinite(figures.area)) {
      free(stars);
      return cvtm_fail(error, CVTM_ERROR_INPUT, "triangle %lld is too large to measure",
                       (long long)t);
    }
    add_triangle(&made.all, &figures);
    if (figures.inner) add_triangle(&made.inner, &figures);
    add_star_corners(stars, corners, &figures);
  }
  finish_means(&made.all);
  finish_means(&made.inner);
  count_degrees(stars, &made);
  free(stars);
  *quality = made;
  return CVTM_OK;
}

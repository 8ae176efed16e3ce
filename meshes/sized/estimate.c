#include "meshes/sized/sized_state.h"

#include <math.h>

/* A triangle is divided while its longest side is longer than `coarse` wanted lengths at a corner
 * or, where these differ by more than `uneven`, than `fine` wanted lengths. */
static const double coarse = 8, fine = 2, uneven = 1.4;
static const double varied = 1.1; /* ratio of sizes at corners from which fewer triangles fit */
static const double most_triangles = 2e8;
/* The largest number of divisions, so that tiny sizes are refused soon. Slivers between many short
 * edges need about 40 each. */
enum { SAMPLES = 1 << 18, SAMPLES_PER_TRIANGLE = 64 };

typedef struct integral {
  const cvtm_sizer *z;
  int64_t samples;     /* number of divisions that are left */
  double triangles;    /* the integral of 1 / size^2, in equilateral triangles */
  double where_uneven; /* the part of it where sizes vary */
} integral;

typedef struct corner {
  double x, y, size;
} corner;

static double side(const corner *a, const corner *b) {
  const double x = a->x - b->x, y = a->y - b->y;
  return sqrt(x * x + y * y);
}

/* Adds the number of equilateral triangles of the wanted size that cover a triangle. */
static void add_triangle(integral *sum, int32_t region, const corner c[3]) {
  const double length[3] = {side(&c[0], &c[1]), side(&c[1], &c[2]), side(&c[2], &c[0])};
  const double least = fmin(c[0].size, fmin(c[1].size, c[2].size)),
               largest = fmax(c[0].size, fmax(c[1].size, c[2].size));
  int k = length[1] > length[0] ? 1 : 0;
  if (length[2] > length[k]) k = 2;
  if (sum->samples > 0 && length[k] > (largest > uneven * least ? fine : coarse) * least) {
    const corner *a = &c[k], *b = &c[(k + 1) % 3], *apex = &c[(k + 2) % 3];
    corner middle = {0.5 * (a->x + b->x), 0.5 * (a->y + b->y), 0};
    --sum->samples;
    middle.size = cvtm_sizer_at(sum->z, region, middle.x, middle.y);
    const corner one[3] = {*a, middle, *apex}, other[3] = {middle, *b, *apex};
    add_triangle(sum, region, one);
    add_triangle(sum, region, other);
    return;
  }
  const double middle = (c[0].size + c[1].size + c[2].size) / 3;
  double mean = 0.75 / (middle * middle);
  for (int i = 0; i < 3; ++i) mean += 0.25 / (3 * c[i].size * c[i].size);
  const double cross =
      (c[1].x - c[0].x) * (c[2].y - c[0].y) - (c[1].y - c[0].y) * (c[2].x - c[0].x);
  const double found = 2 / sqrt(3) * cross * mean;
  sum->triangles += found;
  if (largest > varied * least) sum->where_uneven += found;
}

int64_t cvtm_sizer_count(const cvtm_sizer *z) {
  int64_t count = 0;
  for (int64_t v = 0; v < z->m.vertex_count; ++v) count += z->m.at[v] >= 0;
  return count;
}

cvtm_status cvtm_sizer_estimate(cvtm_sizer *z) {
  const double missing = 0.035; /* fewer triangles than the integral where sizes vary */
  const cvtm_half_edges *m = &z->m;
  cvtm_sized_figures *f = z->figures;
  integral sum = {.z = z, .samples = SAMPLES + SAMPLES_PER_TRIANGLE * m->triangle_count};
  for (int64_t t = 0; t < m->triangle_count; ++t) {
    corner c[3];
    for (int k = 0; k < 3; ++k) {
      const cvtm_grid_point p = m->grid[m->corner[3 * t + k]];
      c[k] = (corner){p.x, p.y, cvtm_sizer_at(z, m->region[t], p.x, p.y)};
      if (!(c[k].size > 0)) return cvtm_sizer_refuse(z, c[k].size, p.x, p.y);
    }
    add_triangle(&sum, m->region[t], c);
    if (sum.triangles > most_triangles)
      return cvtm_fail(z->error, CVTM_ERROR_INPUT,
                       "the sizes need %.3g triangles; at most %.3g are possible", sum.triangles,
                       most_triangles);
  }
  z->demand = sum.triangles;
  /* a vertex inside adds two triangles */
  const double expected = sum.triangles - missing * sum.where_uneven;
  f->inside = (int64_t)fmax(0, 0.5 * (expected - (double)m->triangle_count));
  f->on_boundary = z->added;
  f->expected = (double)(cvtm_sizer_count(z) + f->inside);
  return CVTM_OK;
}

/* Where sizes vary, the lattice has fewer triangles than the integral says, and about a third of
 * them are added later. */
void cvtm_sizer_estimate_again(cvtm_sizer *z) {
  const double later = 0.005;
  const double missing = fmax(0, 1 - (double)z->m.triangle_count / z->demand);
  z->figures->inside = z->figures->on_boundary = 0;
  z->figures->expected = (1 + later + 0.2 * missing) * (double)cvtm_sizer_count(z);
}

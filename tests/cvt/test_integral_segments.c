/* The three integrators (a walk down a cell, the lanes of a group together, a batch) are compared
 * with the cell clipped by the square of each pixel, with any number of lanes and of rows at a
 * time. The cells are random; or have corners on the pixel grid, exactly or nearly; or are much
 * smaller than a pixel; or have edges along the axes and corners cut off by rounding. A batch gives
 * the same bits wherever in it a cell is, with and without wide vectors. Its means along edges are
 * compared with sums over the pixels that the edges cross. */

#include "testing.h"

#include "cvt/integral.h"
#include "cvt/integral_batch.h"
#include "cvt/integral_segments.h"
#include "tests/splitmix64.h"

enum { CORNERS = 16, MOST_ROWS = 64, MOST_LANES = 8, MOST_SIDE = 48 };

static uint64_t state = 1;

static double uniform(void) { return congruential_unit(&state); }

static int32_t below(int32_t n) { return (int32_t)(uniform() * n); }

typedef struct shape {
  cvtm_domain domain;
  cvtm_density_view density;
  double sx, sy;
  cvtm_cell cell;
  float rho[MOST_SIDE * MOST_SIDE];
  double x[CORNERS], y[CORNERS], slope[CORNERS], inverse[CORNERS];
} shape;

/* A grid of halves, and what is added to places on it; or edges that are nearly parallel to the
 * axes, at any place. */
typedef enum placing { ANYWHERE, ON_GRID, NEAR_GRID, ALONG_AXES } placing;

static double place(double v, placing how) {
  if (how == ANYWHERE || how == ALONG_AXES) return v;
  return floor(2 * v) / 2 + (how == NEAR_GRID ? 1e-14 * (uniform() - 0.5) : 0);
}

/* Cuts off a corner, but for rounding: an edge without length may have any direction. */
static void cut_corner(cvtm_cell *cell) {
  const int32_t k = below(cell->count);
  const double angle = atan2(cell->y[k], cell->x[k]) + 3 * (uniform() - 0.5);
  const double u = cos(angle), v = sin(angle), far = 2 * (cell->x[k] * u + cell->y[k] * v);
  if (far > 0) cvtm_cell_clip(cell, far * u * (1 - 1e-16 * below(5)), far * v, 0);
}

/* Cut out by bisectors with sites up to `reach` away. */
static void make_shape(placing how, int periodic, double reach, shape *s) {
  const cvtm_domain domain = {8 + below(MOST_SIDE - 8), 8 + below(MOST_SIDE - 8), periodic};
  const cvtm_density_view density = {s->rho, domain.width, domain.height, periodic};
  const cvtm_cell cell = {0, CORNERS, 1, s->x, s->y, s->slope, s->inverse, 1, NULL};
  s->domain = domain;
  s->density = density;
  s->cell = cell;
  for (int32_t p = 0; p < domain.width * domain.height; ++p)
    s->rho[p] = (float)pow(10, -8 * uniform());
  const placing of_site = how == NEAR_GRID ? ON_GRID : how;
  s->sx = place(domain.width * uniform(), of_site);
  s->sy = place(domain.height * uniform(), of_site);
  const cvtm_cell_box box = {-s->sx, -s->sy, domain.width - s->sx, domain.height - s->sy};
  cvtm_cell_set_rectangle(&s->cell, &box);
  for (int k = 3 + below(8); k > 0 && s->cell.count > 0; --k) {
    const double angle = 2 * 3.14159265358979323846 * uniform(), far = reach * (0.5 + uniform());
    double dx = place(far * cos(angle), how), dy = place(far * sin(angle), how);
    if (how == ALONG_AXES) {
      const double slight = below(2) ? 0 : 1e-15 * (uniform() - 0.5);
      if (fabs(dx) > fabs(dy))
        dy = slight;
      else
        dx = slight;
    }
    if (dx != 0 || dy != 0) cvtm_cell_clip(&s->cell, dx, dy, 0);
  }
  if (how == ALONG_AXES)
    for (int k = below(4); k > 0 && s->cell.count > 2; --k) cut_corner(&s->cell);
  cvtm_cell_set_slopes(&s->cell);
}

static cvtm_cell_moments walk(const shape *s) {
  cvtm_pixel_sums sums = {0, 0, 0, 0};
  cvtm_cell_walk rows;
  cvtm_cell_begin_walk(s->domain, s->sx, s->sy, &s->cell, &rows);
  cvtm_integral_add_rows(&s->density, &s->cell, &rows, rows.first, rows.last, &sums);
  return cvtm_pixel_moments(&sums);
}

/* Appends to `to` the part of the polygon `from` where a x + b y <= c; returns its corners. */
static int clip(const long double (*from)[2], int count, long double a, long double b,
                long double c, long double (*to)[2]) {
  int kept = 0;
  for (int k = 0; k < count; ++k) {
    const long double *p = from[k], *q = from[(k + 1) % count];
    const long double at = a * p[0] + b * p[1] - c, next = a * q[0] + b * q[1] - c;
    if (at <= 0) memcpy(to[kept++], p, sizeof to[0]);
    if ((at < 0 && next > 0) || (at > 0 && next < 0)) {
      const long double t = at / (at - next);
      to[kept][0] = p[0] + t * (q[0] - p[0]);
      to[kept++][1] = p[1] + t * (q[1] - p[1]);
    }
  }
  return kept;
}

/* Adds the moments of a polygon of density rho, as a fan of triangles. */
static void add_polygon(const long double (*p)[2], int count, long double rho,
                        long double sums[4]) {
  for (int k = 1; k + 1 < count; ++k) {
    const long double *a = p[0], *b = p[k], *c = p[k + 1];
    const long double area = 0.5L * ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]));
    const long double mass = rho * fabsl(area);
    long double second = 0;
    for (int d = 0; d < 2; ++d) {
      const long double middle = a[d] + b[d] + c[d];
      sums[1 + d] += mass * middle / 3;
      second += middle * middle + a[d] * a[d] + b[d] * b[d] + c[d] * c[d];
    }
    sums[0] += mass;
    sums[3] += mass * second / 12;
  }
}

/* The cell clipped by the square of each pixel: an independent reference. */
static cvtm_cell_moments by_pixels(const shape *s) {
  enum { MOST = CORNERS + 8 };
  long double sums[4] = {0, 0, 0, 0}, whole[MOST][2], part[2][MOST][2];
  const int torus = s->domain.periodic, width = s->domain.width, height = s->domain.height;
  for (int k = 0; k < s->cell.count; ++k) {
    whole[k][0] = s->x[k];
    whole[k][1] = s->y[k];
  }
  for (int j = torus ? -height : 0; j < (torus ? 2 * height : height); ++j) {
    const int rows = clip(whole, s->cell.count, 0, -1, (long double)s->sy - j, part[0]);
    const int row = clip(part[0], rows, 0, 1, j + 1 - (long double)s->sy, part[1]);
    for (int i = torus ? -width : 0; row > 0 && i < (torus ? 2 * width : width); ++i) {
      long double pixel[2][MOST][2];
      const int right = clip(part[1], row, -1, 0, (long double)s->sx - i, pixel[0]);
      const int count = clip(pixel[0], right, 1, 0, i + 1 - (long double)s->sx, pixel[1]);
      const int at = (j + height) % height * width + (i + width) % width;
      add_polygon(pixel[1], count, s->rho[at], sums);
    }
  }
  const cvtm_cell_moments of = {(double)sums[0], (double)sums[1], (double)sums[2], (double)sums[3]};
  return of;
}

/* As a group does it, one lane after the other. */
static cvtm_cell_moments share(const shape *s, int32_t lanes, int32_t window) {
  cvtm_segments_pixel pixel[CORNERS] = {{0, 0}};
  cvtm_segments_edge edge[CORNERS];
  int32_t base[CORNERS + 1], entry[2][MOST_ROWS];
  cvtm_segments polygon = {.count = s->cell.count,
                           .stride = 1,
                           .sx = s->sx,
                           .sy = s->sy,
                           .x = s->x,
                           .y = s->y,
                           .pixel = pixel,
                           .edge = edge,
                           .base = base};
  for (int32_t k = 0; k < polygon.count; ++k) cvtm_segments_set_pixel(s->domain, &polygon, k);
  cvtm_segments_measure(&polygon);
  const int32_t left = cvtm_segments_chain(&polygon, 0),
                all = left + cvtm_segments_chain(&polygon, 1);
  for (int32_t e = 0; e < polygon.count; ++e) cvtm_segments_set_edge(&polygon, e, left);
  base[polygon.count] = all;
  entry[0][0] = entry[1][0] = pixel[polygon.top].column;
  cvtm_pixel_sums sums = {0, 0, 0, 0};
  for (int32_t from = polygon.first; from <= polygon.last; from += window) {
    for (int32_t lane = 0; lane < lanes; ++lane) {
      int32_t e = 0;
      for (int32_t t = lane; t < all; t += lanes) {
        while (t >= base[e + 1]) ++e;
        cvtm_segments_add_segment(&s->density, &polygon, edge + e, t - base[e], base[e + 1] - 1 - t,
                                  from, from + window, entry[e >= polygon.left], &sums);
      }
    }
    for (int32_t j = from; polygon.wide != 0 && j <= polygon.last && j < from + window; ++j)
      cvtm_segments_add_run(&s->density, &polygon, j, entry[0][j - from], entry[1][j - from],
                            &sums);
  }
  return cvtm_pixel_moments(&sums);
}

static void integrate_baseline(cvtm_batch *batch, cvtm_cell_moments *moments) {
  cvtm_batch_integrate(batch, moments);
}

CVTM_WIDE static void integrate_wide(cvtm_batch *batch, cvtm_cell_moments *moments) {
  cvtm_batch_integrate(batch, moments);
}

/* Returns 0 for a cell that does not belong in a batch. */
static int integrate_batch(const shape *s, cvtm_cell_moments *sums) {
  static cvtm_batch batch;
  const int wide = cvtm_has_wide_vectors();
  cvtm_cell_moments all[2][CVTM_BATCH_CELLS];
  batch.density = s->density;
  for (int round = 0; round < 1 + wide; ++round) {
    int64_t cells = 0;
    cvtm_batch_clear(&batch);
    while (!cvtm_batch_is_full(&batch))
      if (!cvtm_batch_add(&batch, s->domain, &s->cell, s->sx, s->sy, cells++)) return 0;
    assert_true(cells > 3);
    (round ? integrate_wide : integrate_baseline)(&batch, all[round]);
    assert_int_equal(batch.cells, 0);
    for (int64_t k = 0; k < cells; ++k)
      assert_memory_equal(&all[round][k], &all[0][0], sizeof all[0][0]);
  }
  *sums = all[0][0];
  return 1;
}

/* Beside 1e-12 of the value: the rounding of corners, where the density jumps by up to 1. */
static void assert_near(double value, double expected, double scale, double corners) {
  if (!(fabs(value - expected) <= 1e-12 * scale + 1e-14 * corners))
    fail_msg("%.17g, expected %.17g", value, expected);
}

static void assert_moments_near(const shape *s, const cvtm_cell_moments *sums,
                                const cvtm_cell_moments *expected) {
  const double r2 = cvtm_cell_radius2(&s->cell), r = sqrt(r2);
  assert_near(sums->mass, expected->mass, expected->mass, r2);
  assert_near(sums->x, expected->x, expected->mass * r, r2 * r);
  assert_near(sums->y, expected->y, expected->mass * r, r2 * r);
  assert_near(sums->second, expected->second, expected->second, r2 * r2);
}

static void compare(placing how, double smallest) {
  static shape s;
  int compared = 0, batched = 0;
  for (int round = 0; round < 4000; ++round) {
    make_shape(how, round % 2, round % 3 ? 2 + 10 * uniform() : pow(smallest, uniform()), &s);
    /* Smaller than this it is made of rounding alone. */
    if (s.cell.count < 3 || cvtm_cell_radius2(&s.cell) < 1e-18) continue;
    const cvtm_cell_moments expected = by_pixels(&s), walked = walk(&s);
    assert_moments_near(&s, &walked, &expected);
    const cvtm_cell_moments sums = share(&s, 1 + below(MOST_LANES), round % 5 ? MOST_ROWS : 3);
    assert_moments_near(&s, &sums, &expected);
    cvtm_cell_moments of_batch;
    if (integrate_batch(&s, &of_batch)) {
      assert_moments_near(&s, &of_batch, &expected);
      ++batched;
    }
    ++compared;
  }
  assert_true(compared > 2000);
  assert_true(batched > 1000);
}

TEST(test_anywhere) { compare(ANYWHERE, 1e-7); }

TEST(test_on_grid) { compare(ON_GRID, 1); }

TEST(test_near_grid) { compare(NEAR_GRID, 1); }

TEST(test_along_axes) { compare(ALONG_AXES, 1); }

/* --- the means along edges --------------------------------------------------------------- */

static int compare_numbers(const void *left, const void *right) {
  const double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

/* Adds the t at which a + t d crosses lines of the grid; returns their number. */
static int add_crossings(double a, double d, double *t, int count) {
  const double from = fmin(a, a + d), to = fmax(a, a + d);
  for (double line = ceil(from); line <= to && d != 0; ++line) t[count++] = (line - a) / d;
  return count;
}

/* The mean of the density along the edge from corner a to corner b, and of the density times
 * t - 1/2, from pixel to pixel. */
static void mean_by_pixels(const shape *s, int32_t a, int32_t b, double mean[2]) {
  double t[4 * MOST_SIDE] = {0, 1};
  const double x = s->sx + s->x[a], y = s->sy + s->y[a];
  const double dx = s->x[b] - s->x[a], dy = s->y[b] - s->y[a];
  const int count = add_crossings(y, dy, t, add_crossings(x, dx, t, 2));
  mean[0] = mean[1] = 0;
  qsort(t, (size_t)count, sizeof *t, compare_numbers);
  for (int k = 0; k + 1 < count; ++k) {
    const double from = fmax(t[k], 0), to = fmin(t[k + 1], 1), middle = 0.5 * (from + to);
    if (!(to > from)) continue;
    const int column = (int)fmin(floor(x + middle * dx), s->domain.width - 1);
    const int row = (int)fmin(floor(y + middle * dy), s->domain.height - 1);
    const double part = (to - from) * (double)s->rho[row * s->domain.width + column];
    mean[0] += part;
    mean[1] += part * (middle - 0.5);
  }
}

static void means_baseline(cvtm_batch *batch, cvtm_cell_moments *moments) {
  cvtm_batch_integrate_with_means(batch, moments);
}

CVTM_WIDE static void means_wide(cvtm_batch *batch, cvtm_cell_moments *moments) {
  cvtm_batch_integrate_with_means(batch, moments);
}

/* Rounding moves where an edge crosses a line by up to some 1e-14 of a coordinate, and more where
 * it is nearly along it; short edges are left out. */
TEST(test_means) {
  static shape s;
  static cvtm_batch batch;
  int compared = 0;
  for (int round = 0; round < 2000; ++round) {
    cvtm_cell_moments plain, sums;
    make_shape(ANYWHERE, 0, 0.5 + 10 * uniform(), &s);
    if (s.cell.count < 3 || !integrate_batch(&s, &plain)) continue;
    batch.density = s.density;
    cvtm_batch_clear(&batch);
    assert_true(cvtm_batch_add(&batch, s.domain, &s.cell, s.sx, s.sy, 0));
    (round % 2 && cvtm_has_wide_vectors() ? means_wide : means_baseline)(&batch, &sums);
    assert_memory_equal(&sums, &plain, sizeof sums);
    assert_int_equal(batch.edges, s.cell.count);
    for (int32_t e = 0; e < batch.edges; ++e) {
      const int32_t a = batch.upper[e], b = batch.lower[e];
      double mean[2];
      if (hypot(s.x[b] - s.x[a], s.y[b] - s.y[a]) < 1e-3) continue;
      mean_by_pixels(&s, a, b, mean);
      assert_near(batch.mean[e], mean[0], 0, 1e3);
      assert_near(batch.moment[e], mean[1], 0, 1e3);
      ++compared;
    }
  }
  assert_true(compared > 3000);
}

TEST_MAIN()

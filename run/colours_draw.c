/* The sizes of the dots of several inks, and the comparison with the picture. */
#include "base/host.h"
#include "run/colours.h"
#include "cvt/cell_mass.h"
#include "density/density.h"
#include "draw/disc.h"
#include "draw/oklab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Dots of different inks are spaced, so they overlap less than in the model of cvtm_inks_mix, and
 * an ink with few dots shows spots. So the sizes minimise the squared differences in OKLab of the
 * blurred drawing and the blurred picture, by the Gauss-Newton method: each round renders the
 * drawing, and finds how the colour around each dot changes with its area. Damping grows after a
 * round that failed; the sizes of the best round are kept. */
enum { ROUNDS = 10, ROUNDS_OF_PREVIEW = 4, SWEEPS = 3 };
static const double blur_of_fit = 1.25; /* spacings */
static const double flare = 0.003; /* light added before OKLab, whose slope at black is infinite */

typedef struct pen_cells {
  cvtm_mesh mesh;
  cvtm_cells cells;
} pen_cells;

/* The state of one run_colours_draw. Pixels of the grid are `side` pixels of the picture wide; the
 * canvas has `fine` pixels along each pixel of the grid. */
typedef struct colour_drawing {
  const cvtm_run_options *options;
  run_colours *c;
  const double *sites;
  const cvtm_cells *all;
  pen_cells pen[CVTM_INKS_MAX];
  double spacing;
  int side, fine, width, height;
  float *canvas;      /* 3 planes */
  float *drawn;       /* 3 planes of the grid */
  float *wanted;      /* the picture: 3 planes of the grid, blurred */
  float *possible;    /* 3 planes of the picture: the colours of the mixed coverages */
  double *ink;        /* per dot: the area that it covers in the cell among dots of its pen */
  double *best;       /* `ink` of the best round */
  double *full;       /* per dot: the area of this cell */
  double *change;     /* per dot: the change of `ink` in this round */
  double *pull;       /* per dot: half the derivative of the squared differences by `ink` */
  double (*slope)[3]; /* per dot: the derivative of OKLab by `ink` */
  int64_t *start; /* the dots of square b of the fit are list[start[b]] .. list[start[b + 1] - 1] */
  int32_t *list;
  int columns, rows;
  double reach;   /* the side of these squares: dots farther apart do not change the same colours */
  double damping; /* of the steps, as by Levenberg and Marquardt */
  double least, last;  /* the least and the last mean squared difference */
  cvtm_scratch memory; /* owns all these arrays */
} colour_drawing;

static int64_t count_of(const run_colours *c, int k) { return c->start[k + 1] - c->start[k]; }

/* --- the grids --- */

/* A pixel of the grid is a third of the spacing wide, a pixel of the canvas about an eighth of the
 * spacing. But the canvas has at most `most` pixels, or as many as the picture if that has more. */
static void choose_grids(colour_drawing *d) {
  const cvtm_domain domain = d->c->domain;
  const double most = 1.6e7, area = (double)domain.width * domain.height;
  d->spacing = sqrt(area / (double)d->c->start[d->c->count]);
  d->side = (int)fmax(d->spacing / 3, 1);
  d->width = (domain.width + d->side - 1) / d->side;
  d->height = (domain.height + d->side - 1) / d->side;
  const double wanted = 8 * d->side / d->spacing, possible = d->side * sqrt(most / area);
  d->fine = (int)fmax(fmin(ceil(wanted), floor(possible)), 1);
}

static cvtm_status allocate_canvas(colour_drawing *d, cvtm_error *error) {
  const size_t grid = 3 * (size_t)d->width * (size_t)d->height;
  const size_t pixels = 3 * (size_t)d->c->domain.width * (size_t)d->c->domain.height;
  const size_t dots = (size_t)d->c->start[d->c->count];
  const cvtm_domain canvas = cvtm_canvas_of(d->c->domain, (double)d->fine / d->side);
  cvtm_scratch *memory = &d->memory;
  d->reach = sqrt(22) * blur_of_fit * d->spacing; /* see `bump` */
  d->columns = (int)ceil(d->c->domain.width / d->reach);
  d->rows = (int)ceil(d->c->domain.height / d->reach);
  d->canvas = cvtm_scratch_take(memory, 3 * (size_t)canvas.width * (size_t)canvas.height,
                                sizeof *d->canvas);
  d->drawn = cvtm_scratch_take(memory, grid, sizeof *d->drawn);
  d->wanted = cvtm_scratch_take(memory, grid, sizeof *d->wanted);
  d->possible = cvtm_scratch_take(memory, pixels, sizeof *d->possible);
  d->ink = cvtm_scratch_take(memory, dots, sizeof *d->ink);
  d->best = cvtm_scratch_take(memory, dots, sizeof *d->best);
  d->full = cvtm_scratch_take(memory, dots, sizeof *d->full);
  d->change = cvtm_scratch_take(memory, dots, sizeof *d->change);
  d->pull = cvtm_scratch_take(memory, dots, sizeof *d->pull);
  d->slope = cvtm_scratch_take(memory, dots, sizeof *d->slope);
  d->list = cvtm_scratch_take(memory, dots, sizeof *d->list);
  d->start = cvtm_scratch_zeros(memory, (size_t)d->columns * (size_t)d->rows + 1, sizeof *d->start);
  d->c->radius = calloc(dots, sizeof *d->c->radius);
  return memory->failed || d->c->radius == NULL ? cvtm_no_memory(error, "the colours of a drawing")
                                                : CVTM_OK;
}

static void free_drawing(colour_drawing *d) {
  for (int k = 0; k < d->c->count; ++k) {
    cvtm_cells_free(&d->pen[k].cells);
    cvtm_mesh_free(&d->pen[k].mesh);
  }
  cvtm_scratch_free(&d->memory);
}

static cvtm_status make_cells_of_pens(colour_drawing *d, cvtm_error *error) {
  cvtm_status status = CVTM_OK;
  for (int k = 0; status == CVTM_OK && k < d->c->count; ++k) {
    pen_cells *pen = &d->pen[k];
    if (count_of(d->c, k) == 0) continue;
    status = cvtm_delaunay(d->sites + 2 * d->c->start[k], count_of(d->c, k), &pen->mesh, error);
    if (status == CVTM_OK) status = cvtm_cells_create(&pen->mesh, d->c->domain, &pen->cells, error);
  }
  return status;
}

static void shrink_planes(const float *from, int width, int height, int side, float *to) {
  const int64_t pixels = (int64_t)width * height;
  const int64_t small = (int64_t)((width + side - 1) / side) * ((height + side - 1) / side);
  for (int c = 0; c < 3; ++c)
    cvtm_plane_shrink(from + c * pixels, width, height, side, to + c * small);
}

static void shrink_picture(const colour_drawing *d, const float *from, float *to) {
  shrink_planes(from, d->c->domain.width, d->c->domain.height, d->side, to);
}

static cvtm_status blur_planes(const colour_drawing *d, float *planes, cvtm_error *error) {
  const int64_t grid = (int64_t)d->width * d->height;
  const double sigma = blur_of_fit * d->spacing / d->side;
  cvtm_status status = CVTM_OK;
  for (int c = 0; status == CVTM_OK && c < 3; ++c)
    status = cvtm_plane_blur(planes + c * grid, d->width, d->height, sigma, error);
  return status;
}

/* --- sizes --- */

static cvtm_run_options options_of_pen(const colour_drawing *d, int k) {
  return run_options_of_pen(d->options, &d->c->pens, k);
}

/* Sizes the dots of pen k by their ink. measures: nonzero: also compares the dots with the
 * coverage. */
static cvtm_status size_pen(colour_drawing *d, int k, int measures, cvtm_error *error) {
  run_colours *c = d->c;
  cvtm_run_options own = options_of_pen(d, k);
  double *radius = c->radius + c->start[k];
  const run_stipples_source source = {c->domain,       c->coverage[k],   NULL,
                                      &d->pen[k].mesh, &d->pen[k].cells, radius};
  run_stipples dots;
  CVTM_TRY(run_stipples_size(&own, &source, d->ink + c->start[k], radius, error));
  if (!measures) return CVTM_OK;
  own.pen.count = 0; /* the discs are measured */
  CVTM_TRY(run_stipples_make(&own, &source, &dots, error));
  c->figures[k].likeness = dots.likeness;
  c->figures[k].smallest = dots.smallest;
  c->figures[k].largest = dots.largest;
  c->is_measured = dots.is_measured;
  run_stipples_free(&dots);
  return CVTM_OK;
}

static cvtm_status size_dots(colour_drawing *d, int measures, cvtm_error *error) {
  cvtm_status status = CVTM_OK;
  for (int k = 0; status == CVTM_OK && k < d->c->count; ++k)
    if (count_of(d->c, k) > 0) status = size_pen(d, k, measures, error);
  if (status == CVTM_OK && !d->options->overlap)
    run_stipples_separate(d->c->domain, d->sites, d->all, d->c->radius);
  return status;
}

/* Renders the dots into d->drawn. */
static cvtm_status render(colour_drawing *d, cvtm_error *error) {
  run_colours *c = d->c;
  const double scale = (double)d->fine / d->side;
  const cvtm_domain canvas = cvtm_canvas_of(c->domain, scale);
  double drawn[CVTM_INKS_MAX];
  const cvtm_status status = cvtm_ink_drawing_render(&c->pens.inks, c->domain, scale, d->sites,
                                                     c->radius, c->start, d->canvas, drawn, error);
  if (status != CVTM_OK) return status;
  for (int k = 0; k < c->count; ++k) c->figures[k].drawn = drawn[k];
  shrink_planes(d->canvas, canvas.width, canvas.height, d->fine, d->drawn);
  return CVTM_OK;
}

/* --- the fit --- */

void run_colours_mix(const run_colours *c, float *mixed) {
  const int64_t pixels = (int64_t)c->domain.width * c->domain.height;
#pragma omp parallel for schedule(static)
  for (int64_t p = 0; p < pixels; ++p) {
    double coverage[CVTM_INKS_MAX], rgb[3];
    for (int k = 0; k < c->count; ++k) coverage[k] = (double)c->coverage[k][p];
    cvtm_inks_mix(&c->pens.inks, coverage, rgb);
    for (int i = 0; i < 3; ++i) mixed[i * pixels + p] = (float)rgb[i];
  }
}

/* The polygon of dot i of pen k. */
static const double *polygon_of(const colour_drawing *d, int k, int64_t i, int64_t *count) {
  const cvtm_cells *cells = &d->pen[k].cells;
  *count = cells->start[i + 1] - cells->start[i];
  return cells->corners + 2 * cells->start[i];
}

/* True if p and q are on one side of every side of the convex polygon. */
static int cell_has(const double *corners, int64_t count, const double *p, const double *q) {
  for (int64_t e = 0; e < count; ++e) {
    const double *u = corners + 2 * e, *v = corners + 2 * (e + 1 < count ? e + 1 : 0);
    const double dx = v[0] - u[0], dy = v[1] - u[1];
    const double one = dx * (p[1] - u[1]) - dy * (p[0] - u[0]);
    const double other = dx * (q[1] - u[1]) - dy * (q[0] - u[0]);
    if (one * other < 0) return 0;
  }
  return 1;
}

static int square_of(const colour_drawing *d, int64_t i) {
  const int x = (int)fmin(fmax(d->sites[2 * i] / d->reach, 0), d->columns - 1);
  const int y = (int)fmin(fmax(d->sites[2 * i + 1] / d->reach, 0), d->rows - 1);
  return y * d->columns + x;
}

static void list_dots(colour_drawing *d) {
  const int64_t dots = d->c->start[d->c->count], squares = (int64_t)d->columns * d->rows;
  for (int64_t i = 0; i < dots; ++i) ++d->start[square_of(d, i) + 1];
  for (int64_t b = 0; b < squares; ++b) d->start[b + 1] += d->start[b];
  for (int64_t i = 0; i < dots; ++i) d->list[d->start[square_of(d, i)]++] = (int32_t)i;
  memmove(d->start + 1, d->start, (size_t)squares * sizeof *d->start);
  d->start[0] = 0;
}

/* Sets the first ink, the coverage's, and what remains the same in all rounds. */
static cvtm_status start_fit(colour_drawing *d, cvtm_error *error) {
  const run_colours *c = d->c;
  const double widest = hypot(c->domain.width, c->domain.height);
  d->damping = 1;
  d->least = d->last = INFINITY;
  list_dots(d);
  for (int k = 0; k < c->count; ++k) {
    const int64_t first = c->start[k];
    if (count_of(c, k) == 0) continue;
    CVTM_TRY(cvtm_cells_mass(&d->pen[k].cells, d->sites + 2 * first, c->domain, c->coverage[k],
                             d->ink + first, error));
    for (int64_t i = 0; i < count_of(c, k); ++i) {
      int64_t count;
      const double *corners = polygon_of(d, k, i, &count);
      double arc;
      d->full[first + i] =
          cvtm_disc_polygon_area(corners, count, d->sites + 2 * (first + i), widest, &arc);
    }
  }
  shrink_picture(d, c->rgb, d->wanted);
  return blur_planes(d, d->wanted, error);
}

static cvtm_oklab lab_of(const double rgb[3]) {
  const double seen[3] = {fmax(rgb[0], 0) + flare, fmax(rgb[1], 0) + flare,
                          fmax(rgb[2], 0) + flare};
  return cvtm_oklab_of_linear(seen);
}

/* Sets the slope of dot i of pen k: light is lost in a ring around the dot inside its cell, where
 * the canvas shows the other inks. A dot that fills its cell keeps its size. */
static void set_slope(colour_drawing *d, int k, int64_t i) {
  enum { SAMPLES = 16 };
  /* The cosines of multiples of pi / 8: a table has the same bits with every C library. */
  static const double cosine[SAMPLES] = {
      1,  0.9238795325112867,  0.7071067811865476,  0.3826834323650898,
      0,  -0.3826834323650898, -0.7071067811865476, -0.9238795325112867,
      -1, -0.9238795325112867, -0.7071067811865476, -0.3826834323650898,
      0,  0.3826834323650898,  0.7071067811865476,  0.9238795325112867};
  const run_colours *c = d->c;
  const double scale = (double)d->fine / d->side, step = -0.01;
  const cvtm_domain canvas = cvtm_canvas_of(c->domain, scale);
  const int64_t at = c->start[k] + i, pixels = (int64_t)canvas.width * canvas.height;
  const double *site = d->sites + 2 * at;
  const double radius = c->radius[at] + 0.7 / scale;
  double ring[3] = {0}, rgb[3], changed[3];
  int64_t count, seen = 0;
  const double *corners = polygon_of(d, k, i, &count);
  for (int t = 0; t < SAMPLES; ++t) {
    const double p[2] = {site[0] + radius * cosine[t],
                         site[1] + radius * cosine[(t + SAMPLES * 3 / 4) % SAMPLES]};
    if (!cell_has(corners, count, p, site)) continue;
    const int x = (int)fmin(fmax(p[0] * scale, 0), canvas.width - 1);
    const int y = (int)fmin(fmax(p[1] * scale, 0), canvas.height - 1);
    for (int a = 0; a < 3; ++a)
      ring[a] += (double)d->canvas[a * pixels + (int64_t)y * canvas.width + x];
    ++seen;
  }
  for (int a = 0; a < 3; ++a) {
    rgb[a] = cvtm_plane_at(d->drawn + a * ((int64_t)d->width * d->height), d->width, d->height,
                           site[0] / d->side - 0.5, site[1] / d->side - 0.5);
    changed[a] = rgb[a];
    if (seen > 0) changed[a] += step * ring[a] / (double)seen * (1 - c->pens.inks.colour[k][a]);
  }
  const cvtm_oklab before = lab_of(rgb), after = lab_of(changed);
  d->slope[at][0] = (before.l - after.l) / step;
  d->slope[at][1] = (before.a - after.a) / step;
  d->slope[at][2] = (before.b - after.b) / step;
}

/* Replaces d->drawn by its difference in OKLab from d->wanted; returns the mean square. */
static double subtract_picture(colour_drawing *d) {
  const int64_t grid = (int64_t)d->width * d->height;
  double sum = 0;
  for (int64_t q = 0; q < grid; ++q) {
    double one[3], other[3];
    for (int a = 0; a < 3; ++a) {
      one[a] = (double)d->drawn[a * grid + q];
      other[a] = (double)d->wanted[a * grid + q];
    }
    const cvtm_oklab x = lab_of(one), y = lab_of(other);
    const double distance = cvtm_oklab_distance(x, y);
    d->drawn[q] = (float)(x.l - y.l);
    d->drawn[grid + q] = (float)(x.a - y.a);
    d->drawn[2 * grid + q] = (float)(x.b - y.b);
    sum += distance * distance;
  }
  return sum / (double)grid;
}

/* The covered areas, slopes and derivatives for the sizes of the last rendering. */
static void set_derivatives(colour_drawing *d, int k, int64_t i) {
  const run_colours *c = d->c;
  const int64_t at = c->start[k] + i, grid = (int64_t)d->width * d->height;
  const double *site = d->sites + 2 * at;
  int64_t count;
  double arc;
  const double *corners = polygon_of(d, k, i, &count);
  d->ink[at] = cvtm_disc_polygon_area(corners, count, site, c->radius[at], &arc);
  d->pull[at] = d->change[at] = 0;
  for (int a = 0; a < 3; ++a)
    d->pull[at] +=
        d->slope[at][a] * cvtm_plane_at(d->drawn + a * grid, d->width, d->height,
                                        site[0] / d->side - 0.5, site[1] / d->side - 0.5);
}

static double fourth_power(double x) { return x * x * x * x; }

/* Nearly a Gaussian of the standard deviation reach / sqrt(11), for two coordinates in [0, size],
 * with the mirror images at the borders. */
static double bump(double a, double b, double size, double reach) {
  const double scale = 1 / reach, t = (a - b) * scale;
  const double left = (a + b) * scale, right = (2 * size - a - b) * scale;
  double sum = t * t < 1 ? fourth_power(1 - t * t) : 0;
  if (left < 1) sum += fourth_power(1 - left * left);
  if (right < 1) sum += fourth_power(1 - right * right);
  return sum;
}

/* Part of the change of the colour at dot i by that of dot j, where both blurs count. */
static double nearness(const colour_drawing *d, int64_t i, int64_t j) {
  const double *p = d->sites + 2 * i, *q = d->sites + 2 * j, peak = 315 / (256 * d->reach);
  const double across = bump(p[0], q[0], d->c->domain.width, d->reach);
  return across > 0 ? peak * peak * across * bump(p[1], q[1], d->c->domain.height, d->reach) : 0;
}

/* Sets the change of dot i to the minimum of the linear model while other dots keep theirs. */
static void relax_dot(colour_drawing *d, int64_t i, int column, int row) {
  const double weakest = 1e-3; /* least squared slope */
  double sum[3] = {0}, square = 0, gradient = d->pull[i];
  for (int y = row > 0 ? row - 1 : 0; y <= row + 1 && y < d->rows; ++y)
    for (int x = column > 0 ? column - 1 : 0; x <= column + 1 && x < d->columns; ++x) {
      const int64_t b = (int64_t)y * d->columns + x;
      for (int64_t n = d->start[b]; n < d->start[b + 1]; ++n) {
        const int64_t j = d->list[n];
        if (j == i || d->change[j] == 0) continue;
        const double moved = nearness(d, i, j) * d->change[j];
        for (int a = 0; a < 3; ++a) sum[a] += moved * d->slope[j][a];
      }
    }
  for (int a = 0; a < 3; ++a) {
    gradient += sum[a] * d->slope[i][a];
    square += d->slope[i][a] * d->slope[i][a];
  }
  const double peak = 315 / (256 * d->reach);
  const double curvature =
      square * nearness(d, i, i) + peak * peak * d->damping * (square + weakest);
  d->change[i] = fmin(fmax(-gradient / curvature, -d->ink[i]), d->full[i] - d->ink[i]);
}

/* A sweep of the projected method of Gauss and Seidel. Squares of one parity in each direction do
 * not meet, so threads may relax them at once. */
static void sweep(colour_drawing *d) {
  for (int parity = 0; parity < 4; ++parity) {
    const int columns = (d->columns + 1 - parity % 2) / 2, rows = (d->rows + 1 - parity / 2) / 2;
#pragma omp parallel for schedule(dynamic, 1)
    for (int b = 0; b < columns * rows; ++b) {
      const int column = 2 * (b % columns) + parity % 2, row = 2 * (b / columns) + parity / 2;
      const int64_t at = (int64_t)row * d->columns + column;
      for (int64_t n = d->start[at]; n < d->start[at + 1]; ++n)
        relax_dot(d, d->list[n], column, row);
    }
  }
}

/* Renders the dots and notes the error. changes: nonzero: then changes the ink. */
static cvtm_status fit(colour_drawing *d, int changes, cvtm_error *error) {
  const run_colours *c = d->c;
  const int64_t dots = c->start[c->count];
  CVTM_TRY(size_dots(d, 0, error));
  CVTM_TRY(render(d, error));
  CVTM_TRY(blur_planes(d, d->drawn, error));
  for (int k = 0; changes && k < c->count; ++k) {
#pragma omp parallel for schedule(dynamic, 256)
    for (int64_t i = 0; i < count_of(c, k); ++i) set_slope(d, k, i);
  }
  const double square = subtract_picture(d);
  d->damping *= square > d->last ? 4 : 1;
  d->last = square;
  if (square < d->least) {
    d->least = square;
    memcpy(d->best, d->ink, (size_t)dots * sizeof *d->ink);
  }
  if (!changes) return CVTM_OK;
  CVTM_TRY(blur_planes(d, d->drawn, error));
  for (int k = 0; k < c->count; ++k) {
#pragma omp parallel for schedule(dynamic, 256)
    for (int64_t i = 0; i < count_of(c, k); ++i) set_derivatives(d, k, i);
  }
  for (int n = 0; n < SWEEPS; ++n) sweep(d);
  for (int64_t i = 0; i < dots; ++i) d->ink[i] += d->change[i];
  return CVTM_OK;
}

/* Fits the sizes unless they are given. */
static cvtm_status fit_sizes(colour_drawing *d, cvtm_error *error) {
  CVTM_TRY(start_fit(d, error));
  if (run_colours_have_sizes(d->options, d->c)) return CVTM_OK;
  const int rounds = d->options->preview.on ? ROUNDS_OF_PREVIEW : ROUNDS;
  for (int round = 0; round < rounds; ++round) CVTM_TRY(fit(d, round < rounds - 1, error));
  memcpy(d->ink, d->best, (size_t)d->c->start[d->c->count] * sizeof *d->ink);
  return CVTM_OK;
}

/* --- all steps --- */

/* Compares the drawing with the picture. d->drawn must be rendered before. */
static cvtm_status measure_likeness(colour_drawing *d, cvtm_error *error) {
  run_colours *c = d->c;
  const double sigma = 1.5 * d->spacing / d->side;
  c->blur = 1.5 * d->spacing;
  shrink_picture(d, c->rgb, d->wanted);
  cvtm_status status = cvtm_colour_likeness_measure(d->drawn, d->wanted, d->width, d->height, sigma,
                                                    &c->reached, error);
  if (status != CVTM_OK) return status;
  shrink_picture(d, c->rgb, d->wanted);
  shrink_picture(d, d->possible, d->drawn);
  return cvtm_colour_likeness_measure(d->drawn, d->wanted, d->width, d->height, sigma, &c->possible,
                                      error);
}

static void find_asked(const colour_drawing *d) {
  run_colours *c = d->c;
  for (int k = 0; k < c->count; ++k) {
    double sum = 0;
    for (int64_t i = c->start[k]; i < c->start[k + 1]; ++i) sum += d->ink[i];
    c->figures[k].asked = sum / ((double)c->domain.width * c->domain.height);
  }
}

static cvtm_status measure_spacings(const colour_drawing *d, cvtm_error *error) {
  run_colours *c = d->c;
  cvtm_status status = CVTM_OK;
  for (int k = 0; status == CVTM_OK && k < c->count; ++k)
    status =
        cvtm_nearest_distances_measure(c->domain, d->sites + 2 * c->start[k], count_of(c, k),
                                       (int)d->options->threads, &c->figures[k].nearest, error);
  return status;
}

/* Plots the lines of all pens into d->drawn, and compares each with its coverage. */
static cvtm_status plot_lines(colour_drawing *d, cvtm_error *error) {
  run_colours *c = d->c;
  const int64_t pixels = (int64_t)c->domain.width * c->domain.height;
  const run_scene scene = {.options = d->options,
                           .domain = c->domain,
                           .sites = d->sites,
                           .radius = c->radius,
                           .colours = c};
  cvtm_status status = CVTM_OK;
  for (int64_t p = 0; p < 3 * pixels; ++p) d->possible[p] = 1;
  for (int k = 0; status == CVTM_OK && k < c->count; ++k) {
    run_pen_figures *f = &c->figures[k];
    cvtm_run_options of_pen;
    run_stipples line = {0};
    float *drawn = NULL;
    const run_scene own = run_scene_of_pen(&scene, k, &of_pen);
    if (own.count == 0) continue;
    status = run_page_simulate(&own, CVTM_SVG_PATH, 1, c->domain, &drawn, error);
    if (status == CVTM_OK)
      status =
          run_stipples_measure(&of_pen, c->domain, c->coverage[k], own.count, drawn, &line, error);
    for (int a = 0; status == CVTM_OK && a < 3; ++a)
      run_plot_lay(drawn, c->pens.inks.colour[k][a], pixels, d->possible + a * pixels);
    free(drawn);
    if (status == CVTM_OK) status = run_pen_width(&of_pen, c->domain, &f->largest, error);
    f->smallest = f->largest;
    f->likeness = line.likeness;
    f->drawn = line.ink;
    f->asked = line.picture_ink;
  }
  shrink_picture(d, d->possible, d->drawn);
  c->is_measured = 1;
  return status;
}

static cvtm_status draw_dots(colour_drawing *d, cvtm_error *error) {
  cvtm_status status = make_cells_of_pens(d, error);
  if (status == CVTM_OK) status = fit_sizes(d, error);
  if (status == CVTM_OK) status = size_dots(d, 1, error);
  if (status == CVTM_OK) status = render(d, error);
  if (status == CVTM_OK) find_asked(d);
  return status;
}

cvtm_status run_colours_draw(const cvtm_run_options *options, run_colours *c, const double *sites,
                             const cvtm_cells *cells, cvtm_error *error) {
  colour_drawing d = {.options = options, .c = c, .sites = sites, .all = cells};
  choose_grids(&d);
  cvtm_status status = allocate_canvas(&d, error);
  if (status == CVTM_OK && !run_page_shows_line(options)) status = draw_dots(&d, error);
  if (status == CVTM_OK && run_page_shows_line(options) && options->measure)
    status = plot_lines(&d, error);
  if (status == CVTM_OK) run_colours_mix(c, d.possible);
  if (status == CVTM_OK) status = measure_spacings(&d, error);
  if (status == CVTM_OK && c->is_measured) status = measure_likeness(&d, error);
  free_drawing(&d);
  return status;
}

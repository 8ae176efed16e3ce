/* The sizes of the dots of several inks, and the comparison with the picture. */
#include "base/host.h"
#include "run/colours.h"
#include "density/density.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Dots of different inks are spaced, so they overlap less than in the model of cvtm_inks_mix, and
 * the drawing would be too dark. Each round renders the drawing, and adds the difference of wanted
 * and drawn light to the light that is asked for. White remains white, since no ink is added. */
enum { ROUNDS = 4 };
static const double blur_of_correction = 2; /* spacings */

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
  float *canvas;     /* 3 planes */
  float *drawn;      /* 3 planes of the grid */
  float *wanted;     /* the picture, or `possible`: 3 planes of the grid */
  float *correction; /* added to the light of `possible`: 3 planes of the grid, zeros at first */
  float *possible;   /* 3 planes of the picture: the closest colours that the inks can give */
  float *asked;      /* `possible` after the correction */
  float *coverage[CVTM_INKS_MAX]; /* per ink, after the correction */
  cvtm_scratch memory;            /* owns all these arrays */
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
  const cvtm_domain canvas = cvtm_canvas_of(d->c->domain, (double)d->fine / d->side);
  cvtm_scratch *memory = &d->memory;
  d->canvas = cvtm_scratch_take(memory, 3 * (size_t)canvas.width * (size_t)canvas.height,
                                sizeof *d->canvas);
  d->drawn = cvtm_scratch_take(memory, grid, sizeof *d->drawn);
  d->wanted = cvtm_scratch_take(memory, grid, sizeof *d->wanted);
  d->correction = cvtm_scratch_zeros(memory, grid, sizeof *d->correction);
  d->possible = cvtm_scratch_take(memory, pixels, sizeof *d->possible);
  d->asked = cvtm_scratch_take(memory, pixels, sizeof *d->asked);
  float *coverage = cvtm_scratch_take(memory, (size_t)d->c->count * (pixels / 3), sizeof *coverage);
  d->c->radius = malloc((size_t)d->c->start[d->c->count] * sizeof *d->c->radius);
  if (memory->failed || d->c->radius == NULL)
    return cvtm_no_memory(error, "the colours of a drawing");
  for (int k = 0; k < d->c->count; ++k) {
    d->coverage[k] = coverage + (size_t)k * (pixels / 3);
    memcpy(d->coverage[k], d->c->coverage[k], pixels / 3 * sizeof *coverage);
  }
  return CVTM_OK;
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
  const double sigma = blur_of_correction * d->spacing / d->side;
  cvtm_status status = CVTM_OK;
  for (int c = 0; status == CVTM_OK && c < 3; ++c)
    status = cvtm_plane_blur(planes + c * grid, d->width, d->height, sigma, error);
  return status;
}

/* --- sizes --- */

static cvtm_run_options options_of_pen(const colour_drawing *d, int k) {
  return run_options_of_pen(d->options, &d->c->pens.size[k]);
}

/* Sizes the dots of pen k by its coverage. measures: nonzero: also compares the dots with the
 * coverage. */
static cvtm_status size_pen(colour_drawing *d, int k, int measures, cvtm_error *error) {
  run_colours *c = d->c;
  cvtm_run_options own = options_of_pen(d, k);
  const run_stipples_source source = {c->domain,       d->coverage[k],   NULL,
                                      &d->pen[k].mesh, &d->pen[k].cells, NULL};
  run_stipples dots;
  own.measure = own.measure && measures;
  own.pen.count = 0; /* the discs are measured */
  const cvtm_status status = run_stipples_make(&own, &source, &dots, error);
  if (status != CVTM_OK) return status;
  memcpy(c->radius + c->start[k], dots.radius, (size_t)count_of(c, k) * sizeof *dots.radius);
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

/* --- the correction --- */

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

static void set_asked(colour_drawing *d) {
  const cvtm_domain domain = d->c->domain;
  const int64_t pixels = (int64_t)domain.width * domain.height;
  const int64_t grid = (int64_t)d->width * d->height;
#pragma omp parallel for schedule(static)
  for (int64_t p = 0; p < pixels; ++p) {
    const double x = (double)(p % domain.width) + 0.5, y = (double)(p / domain.width) + 0.5;
    for (int c = 0; c < 3; ++c) {
      const double light = (double)d->possible[c * pixels + p] +
                           cvtm_plane_at(d->correction + c * grid, d->width, d->height,
                                         x / d->side - 0.5, y / d->side - 0.5);
      d->asked[c * pixels + p] = (float)fmin(fmax(light, 0), 1);
    }
  }
}

static void update_correction(colour_drawing *d) {
  const int64_t values = 3 * (int64_t)d->width * d->height;
  for (int64_t i = 0; i < values; ++i)
    d->correction[i] = fminf(fmaxf(d->correction[i] + d->wanted[i] - d->drawn[i], -0.5F), 0.5F);
}

static cvtm_status correct(colour_drawing *d, cvtm_error *error) {
  const int64_t pixels = (int64_t)d->c->domain.width * d->c->domain.height;
  cvtm_status status = render(d, error);
  if (status == CVTM_OK) status = blur_planes(d, d->drawn, error);
  if (status != CVTM_OK) return status;
  shrink_picture(d, d->possible, d->wanted);
  status = blur_planes(d, d->wanted, error);
  if (status != CVTM_OK) return status;
  update_correction(d);
  set_asked(d);
  cvtm_inks_adjust(&d->c->pens.inks, d->asked, pixels, d->c->coverage, d->coverage);
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
  const int64_t pixels = (int64_t)c->domain.width * c->domain.height;
  for (int k = 0; k < c->count; ++k) {
    double sum = 0;
    for (int64_t p = 0; p < pixels; ++p) sum += (double)d->coverage[k][p];
    c->figures[k].asked = sum / (double)pixels;
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

cvtm_status run_colours_draw(const cvtm_run_options *options, run_colours *c, const double *sites,
                             const cvtm_cells *cells, cvtm_error *error) {
  colour_drawing d = {.options = options, .c = c, .sites = sites, .all = cells};
  choose_grids(&d);
  cvtm_status status = allocate_canvas(&d, error);
  if (status == CVTM_OK) status = make_cells_of_pens(&d, error);
  if (status == CVTM_OK) run_colours_mix(c, d.possible);
  const int rounds = run_colours_have_sizes(options, c) ? 0 : ROUNDS; /* given sizes are kept */
  for (int round = 0; status == CVTM_OK && round < rounds; ++round) {
    status = size_dots(&d, 0, error);
    if (status == CVTM_OK) status = correct(&d, error);
  }
  if (status == CVTM_OK) status = size_dots(&d, 1, error);
  if (status == CVTM_OK) status = render(&d, error);
  if (status == CVTM_OK) find_asked(&d);
  if (status == CVTM_OK) status = measure_spacings(&d, error);
  if (status == CVTM_OK && c->is_measured) status = measure_likeness(&d, error);
  free_drawing(&d);
  return status;
}

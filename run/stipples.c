#include "run/stipples.h"

#include "base/host.h"
#include "base/portable.h"
#include "run/domain.h"
#include "run/output.h"
#include "run/page.h"
#include "run/json.h"
#include "cvt/cell_mass.h"
#include "draw/disc.h"
#include "meshes/mesh_file.h"
#include "run/input.h"
#include "cvt/equal_mass.h"
#include "cvt/local_mean.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int run_stipples_wanted(const cvtm_run_options *options) {
  for (int k = 0; k < options->output.count; ++k) {
    const char *path = options->output.item[k];
    if (run_page_shows_sizes(options, path)) return 1;
    if (options->pen.count > 0 && run_page_shows_points(options, path)) return 1;
  }
  return 0;
}

int run_stipples_are_strokes(const cvtm_run_options *options) {
  if (options->pen.count == 0) return 0;
  for (int k = 0; k < options->output.count; ++k)
    if (run_page_shows_sizes(options, options->output.item[k]) &&
        !run_page_shows_touches(options, options->output.item[k]))
      return 0;
  return 1;
}

int run_stipples_are_light(const cvtm_run_options *options) {
  return options->invert || options->dark;
}

/* The unit of sizes. Sizes without a unit are in pixels or, on a page, in mm. */
static int unit_of(const cvtm_run_options *options, const cvtm_run_lengths *given) {
  return given->count == 0                   ? CVTM_RUN_UNIT_PIXEL
         : given->unit != CVTM_RUN_UNIT_NONE ? (int)given->unit
         : run_has_page(options)             ? CVTM_RUN_UNIT_MM
                                             : CVTM_RUN_UNIT_PIXEL;
}

/* Sets the bounds of --dot-size and their unit: 0 and infinity without the option. */
static void find_bounds(const cvtm_run_options *options, double *size, int *unit) {
  const cvtm_run_lengths *given = &options->dot_size;
  size[0] = given->count > 0 ? given->value[0] : 0;
  size[1] = given->count > 0 ? given->value[given->count - 1] : (double)INFINITY;
  *unit = unit_of(options, given);
}

int run_dot_size_is_valid(const cvtm_run_lengths *size) {
  return run_lengths_are_sizes(size) && size->value[0] <= size->value[size->count - 1];
}

/* Factor of diameters in a preview: with fewer dots than asked for, larger ones keep the tone. */
static double preview_scale(const cvtm_run_options *o) {
  const int has_fewer = o->preview.asked > o->points && o->points > 0;
  return has_fewer ? sqrt((double)o->preview.asked / (double)o->points) : 1;
}

/* Sets *scale to the number of pixels in a unit. */
static cvtm_status find_scale(const cvtm_run_options *options, cvtm_domain domain, int unit,
                              double *scale, cvtm_error *error) {
  double mm = 1;
  cvtm_status status = CVTM_OK;
  *scale = preview_scale(options);
  if (!(run_unit_mm(unit) > 0)) {
    /* of the picture, which a preview may have reduced */
    *scale *= options->preview.side > 1 ? 1.0 / options->preview.side : 1;
    return CVTM_OK;
  }
  status = run_page_scale(options, domain, &mm, error);
  if (status == CVTM_OK) *scale *= run_unit_mm(unit) / mm;
  return status;
}

/* Finds the bounds of --dot-size in pixels. */
static cvtm_status find_sizes(const cvtm_run_options *options, cvtm_domain domain, double *size,
                              cvtm_error *error) {
  int unit;
  double scale;
  find_bounds(options, size, &unit);
  const cvtm_status status = find_scale(options, domain, unit, &scale, error);
  for (int k = 0; k < 2 && status == CVTM_OK; ++k) size[k] *= scale;
  return status;
}

/* --- the pen --- */

/* True if a drawing by a pen of some width is among the outputs. */
static int needs_pen(const cvtm_run_options *options) {
  for (int k = 0; k < options->output.count; ++k)
    if (run_page_shows_touches(options, options->output.item[k])) return 1;
  return 0;
}

void run_pen_choose(cvtm_run_options *o) {
  if (o->pen.count == 0 && needs_pen(o)) {
    const int has_mm = run_has_page(o) || run_world_may_have_unit(o);
    o->pen_is_chosen = 1;
    if (o->dot_size.count > 0)
      o->pen = (cvtm_run_lengths){.value[0] = o->dot_size.value[0], .unit = o->dot_size.unit};
    else
      o->pen = (cvtm_run_lengths){.value[0] = 0.5, .unit = CVTM_RUN_UNIT_MM};
    o->pen.count = o->dot_size.count > 0 || has_mm;
  }
  if (o->dot_size.count == 0 && !run_page_shows_edges(o)) o->dot_size = o->pen;
  /* No dot is smaller than the width of the pen. */
  for (int k = 0; k < o->dot_size.count && unit_of(o, &o->pen) == unit_of(o, &o->dot_size); ++k)
    o->dot_size.value[k] = fmax(o->dot_size.value[k], o->pen.value[0]);
}

cvtm_status run_pen_width(const cvtm_run_options *o, cvtm_domain domain, double *width,
                          cvtm_error *error) {
  double scale;
  const cvtm_status status = find_scale(o, domain, unit_of(o, &o->pen), &scale, error);
  *width = status == CVTM_OK && o->pen.count > 0 ? o->pen.value[0] * scale : 0;
  return status;
}

static cvtm_status check_pen(const cvtm_run_options *o, cvtm_error *error) {
  cvtm_run_options chosen = *o;
  char text[RUN_LENGTHS_TEXT];
  run_lengths_text(&o->pen, text);
  if (o->pen.count != 0 && (o->pen.count != 1 || !run_lengths_are_sizes(&o->pen)))
    return run_usage_error(error, "--pen: '%s' is not a width above 0", text);
  if (run_unit_mm(unit_of(o, &o->pen)) > 0 && !run_has_page(o) && !run_world_may_have_unit(o))
    return run_usage_error(error, "--pen %s: --page is missing, as in --page A4, or --pixel-size",
                           text);
  run_pen_choose(&chosen);
  /* a file for a machine without a page is refused later, by its name */
  if (chosen.pen.count == 0 && needs_pen(o) && o->svg == CVTM_SVG_TOUCHES)
    return run_usage_error(error, "--svg touches: --pen is missing, as in --pen 0.5mm");
  return CVTM_OK;
}

cvtm_status run_stipples_check(const cvtm_run_options *o, cvtm_error *error) {
  double size[2];
  int unit;
  char text[RUN_LENGTHS_TEXT];
  if (o->dot_size.count != 0 && !run_dot_size_is_valid(&o->dot_size))
    return run_usage_error(error, "--dot-size: '%s' is neither a diameter above 0 nor MIN,MAX",
                           run_lengths_text(&o->dot_size, text));
  find_bounds(o, size, &unit);
  if (run_unit_mm(unit) > 0 && !run_has_page(o) && !run_world_may_have_unit(o))
    return run_usage_error(error,
                           "--dot-size %s: --page is missing, as in --page A4, or --pixel-size",
                           run_lengths_text(&o->dot_size, text));
  if (o->dots == CVTM_RUN_DOTS_TONE && o->equal_mass.on)
    return run_usage_error(error, "--dots tone does not go with --equal-mass");
  return check_pen(o, error);
}

double run_dot_ratio(const cvtm_run_options *options) {
  const cvtm_run_lengths *size = &options->dot_size;
  const double without = 0.5;
  return size->count > 0 ? size->value[0] / size->value[size->count - 1] : without;
}

cvtm_status run_ink_find(const cvtm_run_options *o, cvtm_domain domain, cvtm_ink *ink, int *is_even,
                         cvtm_error *error) {
  const int is_fixed = o->dot_size.count > 0 && run_dot_ratio(o) == 1;
  double size[2];
  *ink = (cvtm_ink){.kind = CVTM_INK_DISCS};
  *is_even = 1;
  if (run_page_shows_line(o)) {
    ink->kind = CVTM_INK_LINE;
    const cvtm_status status = run_pen_width(o, domain, &size[0], error);
    ink->area = status == CVTM_OK ? size[0] * size[0] : 0;
    return status;
  }
  if (o->is_loose) ink->kind = CVTM_INK_LOOSE_DISCS;
  *is_even = is_fixed;
  if (!is_fixed) return CVTM_OK;
  const cvtm_status status = find_sizes(o, domain, size, error);
  if (status == CVTM_OK) ink->area = 0.25 * CVTM_PI * size[0] * size[0];
  return status;
}

cvtm_status run_stipples_count(const cvtm_run_options *options, cvtm_domain domain,
                               const float *tone, run_dot_count *dots, cvtm_error *error) {
  const int64_t pixels = (int64_t)domain.width * domain.height;
  const double dots_along = 128; /* along the longer side, without --dot-size */
  double size[2], count = 0, ink = 0;
  cvtm_ink piece;
  int is_even;
  cvtm_status status = find_sizes(options, domain, size, error);
  if (status == CVTM_OK) status = run_ink_find(options, domain, &piece, &is_even, error);
  if (status != CVTM_OK) return status;
  const int is_default = options->dot_size.count == 0;
  if (is_default) size[0] = size[1] = fmax(domain.width, domain.height) / dots_along;
  for (int64_t p = 0; p < pixels; ++p) {
    const double share = options->dots == CVTM_RUN_DOTS_TONE ? (double)tone[p] : 0.5;
    const double diameter = size[0] + (size[1] - size[0]) * share;
    count += (double)tone[p] / (0.25 * CVTM_PI * diameter * diameter);
    ink += (double)tone[p];
  }
  if (is_even && piece.area > 0) status = cvtm_ink_count(domain, tone, &piece, &count, error);
  if (status != CVTM_OK) return status;
  *dots = (run_dot_count){.count = fmax(round(count), 1),
                          .smallest = size[0],
                          .largest = size[1],
                          .ink = ink / (double)pixels,
                          .is_line = piece.kind == CVTM_INK_LINE,
                          .is_default = is_default};
  if (!run_has_page(options)) return CVTM_OK;
  return run_page_scale(options, domain, &dots->mm_per_pixel, error);
}

void run_dot_count_report(const run_dot_count *dots, cJSON *report) {
  if (!(dots->count > 0)) return;
  cJSON *part = cJSON_AddObjectToObject(report, "points_found");
  run_json_text(part, "from", dots->is_default ? "default" : "dot-size");
  run_json_real(part, "smallest_dot", dots->smallest);
  run_json_real(part, "largest_dot", dots->largest);
  run_json_real(part, "picture_ink", dots->ink);
}

static double mean_spacing(const run_stipples_source *s) {
  return sqrt((double)s->domain.width * s->domain.height / (double)s->mesh->vertex_count);
}

/* --- data, which have no tone --- */

/* Sets radii such that the area of a dot is proportional to the mass of its cell. */
static void set_radii_by_mass(const run_stipples_source *s, double *radius) {
  const int64_t count = s->mesh->vertex_count;
  double total = 0;
  for (int64_t i = 0; i < count; ++i) total += s->mass[i];
  const double mean = total / (double)count, scale = 0.35 * mean_spacing(s);
  for (int64_t i = 0; i < count; ++i)
    radius[i] = mean > 0 ? scale * sqrt(s->mass[i] / mean) : scale;
}

/* --- pictures --- */

/* Dots of neighbours overlap where the tone is above 0.907. The border between two cells halves
 * the overlap of equal dots, so the ink of equal dots is exactly the sum of the parts in their
 * cells. */

static const double *corners_of(const cvtm_cells *cells, int64_t i, int64_t *count) {
  *count = cells->start[i + 1] - cells->start[i];
  return cells->corners + 2 * cells->start[i];
}

/* Sizes each dot such that it covers as much of its cell as the tone demands. */
static void set_radii_by_ink(const run_stipples_source *s, const cvtm_cells *cells,
                             const double *ink, double *radius) {
#pragma omp parallel for schedule(dynamic, 256)
  for (int64_t i = 0; i < cells->count; ++i) {
    int64_t count;
    const double *corners = corners_of(cells, i, &count);
    radius[i] = cvtm_disc_radius_for(corners, count, s->mesh->points + 2 * i, ink[i]);
  }
}

/* The ink of equal dots. *slope: d ink / d radius. part: memory for 2 * cells->count numbers. */
static double ink_of_equal_dots(const run_stipples_source *s, const cvtm_cells *cells,
                                double radius, double *part, double *slope) {
  double sum = 0, arcs = 0;
#pragma omp parallel for schedule(dynamic, 256)
  for (int64_t i = 0; i < cells->count; ++i) {
    int64_t count;
    const double *corners = corners_of(cells, i, &count);
    part[2 * i] =
        cvtm_disc_polygon_area(corners, count, s->mesh->points + 2 * i, radius, &part[2 * i + 1]);
  }
  for (int64_t i = 0; i < cells->count; ++i) {
    sum += part[2 * i];
    arcs += part[2 * i + 1];
  }
  *slope = radius * arcs;
  return sum;
}

/* Sets one radius with which the ink is that of the picture, by Newton's method between bounds. */
static cvtm_status set_equal_radii(const run_stipples_source *s, const cvtm_cells *cells,
                                   const double *ink, double *radius, cvtm_error *error) {
  enum { STEPS = 60 };
  const int64_t count = cells->count;
  double *part = malloc(2 * (size_t)count * sizeof *part);
  if (part == NULL) return cvtm_no_memory(error, "dots");
  double wanted = 0;
  for (int64_t i = 0; i < count; ++i) wanted += ink[i];
  double low = sqrt(wanted / (CVTM_PI * (double)count));
  double high = hypot(s->domain.width, s->domain.height), r = low;
  for (int k = 0; k < STEPS && low < high; ++k) {
    double slope;
    const double excess = ink_of_equal_dots(s, cells, r, part, &slope) - wanted;
    if (fabs(excess) <= 1e-9 * wanted) break;
    if (excess < 0)
      low = r;
    else
      high = r;
    r -= excess / slope;
    if (!(r > low && r < high)) r = 0.5 * (low + high);
  }
  for (int64_t i = 0; i < count; ++i) radius[i] = r;
  free(part);
  return CVTM_OK;
}

/* The discs of a union meet along the borders of their power cells, so the area of the union is the
 * sum of the parts of the discs in their own power cells. Each dot gets the radius with which its
 * part equals the ink of its power cell; the cells are those of the current radii. */
static cvtm_status match_power_cells(const cvtm_run_options *o, const run_stipples_source *s,
                                     double *radius, cvtm_error *error) {
  const int64_t count = s->mesh->vertex_count;
  cvtm_cells cells = {0};
  double *work = malloc((size_t)count * sizeof *work);
  if (work == NULL) return cvtm_no_memory(error, "dots");
  for (int64_t i = 0; i < count; ++i) work[i] = radius[i] * radius[i];
  cvtm_status status = cvtm_power_diagram(s->domain, s->mesh->points, work, count, (int)o->threads,
                                          &cells, NULL, error);
  if (status == CVTM_OK)
    status = cvtm_cells_mass(&cells, s->mesh->points, s->domain, s->tone, work, error);
  if (status == CVTM_OK) set_radii_by_ink(s, &cells, work, radius);
  cvtm_cells_free(&cells);
  free(work);
  return status;
}

static cvtm_status size_by_ink(const cvtm_run_options *o, const run_stipples_source *s,
                               const cvtm_cells *cells, const double *ink, double *radius,
                               cvtm_error *error) {
  if (o->dots == CVTM_RUN_DOTS_EQUAL) return set_equal_radii(s, cells, ink, radius, error);
  set_radii_by_ink(s, cells, ink, radius);
  return CVTM_OK;
}

static cvtm_status set_radii(const cvtm_run_options *o, const run_stipples_source *s,
                             const cvtm_cells *cells, double *radius, cvtm_error *error) {
  enum { MATCHES = 8 };
  double *ink = malloc((size_t)cells->count * sizeof *ink);
  if (ink == NULL) return cvtm_no_memory(error, "dots");
  cvtm_status status = cvtm_cells_mass(cells, s->mesh->points, s->domain, s->tone, ink, error);
  if (status == CVTM_OK) status = size_by_ink(o, s, cells, ink, radius, error);
  free(ink);
  /* Dots on the outline of a domain are much smaller than dots inside, which extend into the cells
   * of the outline. */
  const int has_outline = o->domain.kind != CVTM_RUN_DOMAIN_NONE && o->dots != CVTM_RUN_DOTS_EQUAL;
  for (int k = 0; k < MATCHES && has_outline && status == CVTM_OK; ++k)
    status = match_power_cells(o, s, radius, error);
  return status;
}

/* --- bounds --- */

static double point_distance(cvtm_domain domain, const double *points, int64_t i, int32_t j) {
  const double *a = points + 2 * i, *b = points + 2 * (int64_t)j;
  double dx = fabs(a[0] - b[0]), dy = fabs(a[1] - b[1]);
  if (domain.periodic) {
    dx = fmin(dx, fabs(domain.width - dx));
    dy = fmin(dy, fabs(domain.height - dy));
  }
  return hypot(dx, dy);
}

/* The gap is needed because the SVG rounds numbers. The nearest site is always a neighbour across
 * an edge of the cell. */
void run_stipples_separate(cvtm_domain domain, const double *points, const cvtm_cells *cells,
                           double *radius) {
  const double gap = 1e-3 * sqrt((double)domain.width * domain.height / (double)cells->count);
#pragma omp parallel for schedule(dynamic, 256)
  for (int64_t i = 0; i < cells->count; ++i) {
    double nearest = INFINITY;
    for (int64_t k = cells->start[i]; k < cells->start[i + 1]; ++k)
      if (cells->neighbors[k] >= 0)
        nearest = fmin(nearest, point_distance(domain, points, i, cells->neighbors[k]));
    if (cells->start[i] == cells->start[i + 1]) nearest = 0; /* another dot is at this point */
    radius[i] = fmin(radius[i], fmax(0.5 * nearest - gap, 0));
  }
}

static cvtm_status bound_radii(const cvtm_run_options *o, const run_stipples_source *s,
                               const cvtm_cells *cells, double *radius, cvtm_error *error) {
  double size[2];
  const cvtm_status status = find_sizes(o, s->domain, size, error);
  if (status != CVTM_OK) return status;
  for (int64_t i = 0; i < cells->count; ++i)
    radius[i] = fmin(fmax(radius[i], 0.5 * size[0]), 0.5 * size[1]);
  if (!o->overlap) run_stipples_separate(s->domain, s->mesh->points, cells, radius);
  return CVTM_OK;
}

cvtm_status run_stipples_size(const cvtm_run_options *o, const run_stipples_source *s,
                              const double *ink, double *radius, cvtm_error *error) {
  CVTM_TRY(size_by_ink(o, s, s->cells, ink, radius, error));
  return bound_radii(o, s, s->cells, radius, error);
}

/* Makes the Voronoi cells of the dots in the rectangle; with --domain or --equal-mass the cells of
 * the run are different. */
static cvtm_status make_cells(const run_stipples_source *s, cvtm_cells *cells, cvtm_error *error) {
  cvtm_mesh mesh = {0};
  cvtm_status status = cvtm_delaunay(s->mesh->points, s->mesh->vertex_count, &mesh, error);
  if (status == CVTM_OK) status = cvtm_cells_create(&mesh, s->domain, cells, error);
  cvtm_mesh_free(&mesh);
  return status;
}

/* --- likeness --- */

/* Tones are blurred and compared on columns x rows rectangles. These divide the domain evenly,
 * because the blur mirrors them at the border. */
typedef struct comparison {
  cvtm_domain domain;
  int columns, rows;
} comparison;

/* Divides the domain into rectangles about a third of the spacing wide, but not below a pixel. */
static comparison make_comparison(cvtm_domain domain, double spacing) {
  const double side = fmax(spacing / 3, 1);
  return (comparison){domain, (int)ceil(domain.width / side), (int)ceil(domain.height / side)};
}

/* The fraction of pixel `i` between two coordinates. */
static double part_between(double begin, double end, int i) {
  return fmin(end, i + 1.0) - fmax(begin, (double)i);
}

/* The mean of the pixels of rectangle (i, j). */
static double mean_of_rectangle(const comparison *c, const float *pixel, int i, int j) {
  const double width = (double)c->domain.width / c->columns, left = i * width;
  const double height = (double)c->domain.height / c->rows, top = j * height;
  const int right = (int)fmin(ceil(left + width), c->domain.width);
  const int bottom = (int)fmin(ceil(top + height), c->domain.height);
  double sum = 0;
  for (int y = (int)top; y < bottom; ++y) {
    double row = 0;
    for (int x = (int)left; x < right; ++x)
      row += part_between(left, left + width, x) * (double)pixel[(int64_t)y * c->domain.width + x];
    sum += part_between(top, top + height, y) * row;
  }
  return sum / (width * height);
}

/* Averages values over rectangles; light: nonzero: averages 1 - value. */
static void shrink(const comparison *c, const float *pixel, int light, float *shrunk) {
#pragma omp parallel for schedule(static)
  for (int j = 0; j < c->rows; ++j) {
    for (int i = 0; i < c->columns; ++i) {
      const double mean = mean_of_rectangle(c, pixel, i, j);
      shrunk[(int64_t)j * c->columns + i] = (float)(light ? 1 - mean : mean);
    }
  }
}

static double mean_of(const float *value, int64_t count) {
  double sum = 0;
  for (int64_t k = 0; k < count; ++k) sum += (double)value[k];
  return sum / (double)count;
}

/* Compares the drawing with the tone. drawn: the coverage of each pixel. */
static cvtm_status compare_tones(const cvtm_run_options *o, cvtm_domain domain, double spacing,
                                 const float *tone, const float *drawn, run_stipples *stipples,
                                 cvtm_error *error) {
  const comparison c = make_comparison(domain, spacing);
  const size_t count = (size_t)c.columns * (size_t)c.rows;
  const int light = !run_stipples_are_light(o);
  const double area = (double)domain.width * domain.height;
  float *a = malloc(count * sizeof *a), *b = malloc(count * sizeof *b);
  cvtm_status status = a != NULL && b != NULL ? CVTM_OK : cvtm_no_memory(error, "dots");
  if (status == CVTM_OK) {
    shrink(&c, drawn, light, a);
    shrink(&c, tone, light, b);
    stipples->blur = 1.5 * spacing;
    status =
        cvtm_likeness_measure(a, b, c.columns, c.rows, stipples->blur * sqrt((double)count / area),
                              &stipples->likeness, error);
  }
  free(a);
  free(b);
  return status;
}

cvtm_status run_stipples_measure(const cvtm_run_options *o, cvtm_domain domain, const float *tone,
                                 int64_t count, const float *drawn, run_stipples *stipples,
                                 cvtm_error *error) {
  const int64_t pixels = (int64_t)domain.width * domain.height;
  const double spacing = sqrt((double)pixels / (double)count);
  stipples->ink = mean_of(drawn, pixels);
  stipples->picture_ink = mean_of(tone, pixels);
  const cvtm_status status = compare_tones(o, domain, spacing, tone, drawn, stipples, error);
  stipples->is_measured = status == CVTM_OK;
  return status;
}

static cvtm_status measure_discs(const cvtm_run_options *o, const run_stipples_source *s,
                                 run_stipples *stipples, cvtm_error *error) {
  const cvtm_disc_grid grid = cvtm_disc_grid_make(s->domain, 1);
  const int64_t count = s->mesh->vertex_count;
  float *drawn = malloc((size_t)s->domain.width * (size_t)s->domain.height * sizeof *drawn);
  cvtm_status status = drawn != NULL ? CVTM_OK : cvtm_no_memory(error, "dots");
  if (status == CVTM_OK)
    status = cvtm_disc_coverage(&grid, s->mesh->points, stipples->radius, count, drawn, error);
  if (status == CVTM_OK)
    status = run_stipples_measure(o, s->domain, s->tone, count, drawn, stipples, error);
  free(drawn);
  return status;
}

void run_stipples_range(const double *radius, int64_t count, run_stipples *stipples) {
  stipples->smallest = stipples->largest = 2 * radius[0];
  for (int64_t i = 1; i < count; ++i) {
    stipples->smallest = fmin(stipples->smallest, 2 * radius[i]);
    stipples->largest = fmax(stipples->largest, 2 * radius[i]);
  }
}

/* --- all steps --- */

static cvtm_status make(const cvtm_run_options *o, const run_stipples_source *s,
                        run_stipples *stipples, cvtm_error *error) {
  const int64_t count = s->mesh->vertex_count;
  cvtm_status status = CVTM_OK;
  stipples->radius = malloc((size_t)count * sizeof *stipples->radius);
  if (stipples->radius == NULL) return cvtm_no_memory(error, "dots");
  if (s->radius != NULL)
    memcpy(stipples->radius, s->radius, (size_t)count * sizeof *s->radius);
  else if (s->tone != NULL)
    status = set_radii(o, s, s->cells, stipples->radius, error);
  else if (o->dots == CVTM_RUN_DOTS_MASS)
    set_radii_by_mass(s, stipples->radius);
  else
    for (int64_t i = 0; i < count; ++i) stipples->radius[i] = 0.3 * mean_spacing(s);
  if (status == CVTM_OK && s->radius == NULL)
    status = bound_radii(o, s, s->cells, stipples->radius, error);
  if (status != CVTM_OK) return status;
  run_stipples_range(stipples->radius, count, stipples);
  if (s->tone == NULL || !o->measure || run_stipples_are_strokes(o)) return CVTM_OK;
  return measure_discs(o, s, stipples, error);
}

cvtm_status run_stipples_make(const cvtm_run_options *options, const run_stipples_source *source,
                              run_stipples *stipples, cvtm_error *error) {
  run_stipples_source s = *source;
  cvtm_cells own = {0};
  cvtm_status status = CVTM_OK;
  *stipples = (run_stipples){0};
  if (s.cells == NULL) {
    status = make_cells(&s, &own, error);
    s.cells = &own;
  }
  if (status == CVTM_OK) status = make(options, &s, stipples, error);
  cvtm_cells_free(&own);
  if (status != CVTM_OK) run_stipples_free(stipples);
  return status;
}

void run_stipples_free(run_stipples *stipples) {
  free(stipples->radius);
  *stipples = (run_stipples){0};
}

void run_stipples_report(const run_stipples *stipples, cJSON *report) {
  if (!stipples->is_measured) return;
  cJSON *tone = cJSON_AddObjectToObject(report, "tone");
  run_json_real(tone, "contrast", stipples->likeness.contrast);
  run_json_real(tone, "correlation", stipples->likeness.correlation);
  run_json_real(tone, "ssim", stipples->likeness.ssim);
  run_json_real(tone, "ink", stipples->ink);
  run_json_real(tone, "picture_ink", stipples->picture_ink);
  run_json_real(tone, "blur", stipples->blur);
  run_json_real(tone, "smallest_dot", stipples->smallest);
  run_json_real(tone, "largest_dot", stipples->largest);
}

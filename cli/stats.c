/* cvtmesh stats: the quality of a mesh or of the Delaunay mesh of a point file. */
#include "base/file.h"
#include "base/host.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/summary.h"
#include "run/budget.h"
#include "run/flatten.h"
#include "run/input.h"
#include "run/page.h"
#include "run/json.h"
#include "run/stipples.h"
#include "cvt/cvt.h"
#include "cvt/nearest.h"
#include "meshes/mesh_file.h"
#include "meshes/polygon_file.h"

#include <cjson/cJSON.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the spacing of the points of each class ----------------------------------------------- */

typedef struct cli_class_spacing {
  int64_t classes;
  int32_t *number; /* the number of each class, ascending */
  cvtm_nearest_distances *distances;
} cli_class_spacing;

typedef struct class_point {
  int32_t class_of, index;
} class_point;

static cvtm_status no_memory_for_points(int64_t count, cvtm_error *error) {
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for %lld points", (long long)count);
}

/* Adds a class with `count` points. */
static cvtm_status add_class(cvtm_domain domain, const double *points, const class_point *of_class,
                             int64_t count, double *xy, int64_t capacity[2],
                             cli_class_spacing *made, cvtm_error *error) {
  const int64_t k = made->classes;
  for (int64_t i = 0; i < count; ++i)
    memcpy(xy + 2 * i, points + 2 * (int64_t)of_class[i].index, 2 * sizeof *xy);
  if (!cvtm_grow(&made->number, sizeof *made->number, &capacity[0], k + 1) ||
      !cvtm_grow(&made->distances, sizeof *made->distances, &capacity[1], k + 1))
    return no_memory_for_points(count, error);
  made->number[k] = of_class[0].class_of;
  ++made->classes;
  return cvtm_nearest_distances_measure(domain, xy, count, 0, &made->distances[k], error);
}

/* class_of: the class of each of `count` points, or NULL. Fails with CVTM_ERROR_MEMORY. */
static cvtm_status cli_class_spacing_measure(cvtm_domain domain, const double *points,
                                             const int32_t *class_of, int64_t count,
                                             cli_class_spacing *made, cvtm_error *error) {
  int64_t capacity[2] = {0, 0};
  *made = (cli_class_spacing){0};
  if (class_of == NULL || domain.width < 1) return CVTM_OK;
  class_point *sorted = malloc((size_t)count * sizeof *sorted);
  double *xy = malloc(2 * (size_t)count * sizeof *xy);
  cvtm_status status = sorted != NULL && xy != NULL ? CVTM_OK : no_memory_for_points(count, error);
  if (status == CVTM_OK) {
    for (int64_t i = 0; i < count; ++i) sorted[i] = (class_point){class_of[i], (int32_t)i};
    qsort(sorted, (size_t)count, sizeof *sorted, cvtm_compare_two);
  }
  for (int64_t first = 0, end; first < count && status == CVTM_OK; first = end) {
    for (end = first; end < count && sorted[end].class_of == sorted[first].class_of;) ++end;
    status = add_class(domain, points, sorted + first, end - first, xy, capacity, made, error);
  }
  free(sorted);
  free(xy);
  return status;
}

static void cli_class_spacing_free(cli_class_spacing *made) {
  free(made->number);
  free(made->distances);
  *made = (cli_class_spacing){0};
}

/* Adds the list `classes` if there are any. */
static void cli_class_spacing_report(const cli_class_spacing *made, cJSON *report) {
  if (made->classes == 0) return;
  cJSON *list = cJSON_AddArrayToObject(report, "classes");
  for (int64_t k = 0; k < made->classes; ++k) {
    cJSON *part = run_json_item(list);
    run_json_integer(part, "class", made->number[k]);
    run_json_integer(part, "points", made->distances[k].points);
    run_json_real(part, "nearest_least", made->distances[k].least);
    run_json_real(part, "nearest_mean", made->distances[k].mean);
  }
}

static void cli_class_spacing_print(const cli_class_spacing *made, FILE *stream) {
  for (int64_t k = 0; k < made->classes; ++k) {
    const cvtm_nearest_distances *of = &made->distances[k];
    fprintf(stream, "%s%8d: %s", k == 0 ? "classes:\n" : "", (int)made->number[k],
            cli_count(of->points, "point", "points"));
    if (of->points > 1)
      fprintf(stream, ", the nearest at %.4g px on average, %.4g at least", of->mean, of->least);
    fputc('\n', stream);
  }
}

/* --- the command ---------------------------------------------------------------------------- */

typedef struct stats {
  cli_options options;
  int is_mesh;
  cvtm_device *device;
  cvtm_domain domain;
  int has_domain;
  float *density; /* NULL without --density */
  float *tone;    /* NULL without --picture */
  run_stipples stipples;
  double *points;   /* of a point file; NULL for a mesh */
  int32_t *classes; /* of the points; NULL if the file has none */
  cli_class_spacing spacing;
  double *radius;       /* of the dots of a drawing without lines, else NULL */
  cvtm_drawing drawing; /* of a drawing with lines: its dots and strokes, in pixels; else empty */
  int64_t count;
  cvtm_mesh mesh;
  cvtm_quality quality;
  double energy, bound;
} stats;

static int64_t points_of_drawing(const stats *s) {
  return s->drawing.stroke_count > 0 ? s->drawing.start[s->drawing.stroke_count] : 0;
}

/* Multiplies the radii of the dots and strokes of a drawing. */
static void scale_radii(stats *s, double factor) {
  for (int64_t i = 0; s->radius != NULL && i < s->count; ++i) s->radius[i] *= factor;
  for (int64_t k = 0; k < s->drawing.stroke_count; ++k) s->drawing.radius[k] *= factor;
}

/* The number of points of the file and of the strokes of a drawing. */
static int64_t count_places(const stats *s) { return s->count + points_of_drawing(s); }

static double *place_at(const stats *s, int64_t i) {
  return i < s->count ? s->points + 2 * i : s->drawing.points + 2 * (i - s->count);
}

/* Multiplies all lengths of a drawing, measured from a corner. */
static void scale_drawing(stats *s, double factor, const double corner[2]) {
  scale_radii(s, factor);
  for (int64_t i = 0; i < count_places(s); ++i)
    for (int axis = 0; axis < 2; ++axis)
      place_at(s, i)[axis] = factor * (place_at(s, i)[axis] - corner[axis]);
}

/* Converts points in a unit of length to pixels. */
static cvtm_status find_pixels(const stats *s, cvtm_error *error) {
  run_frame frame;
  if (!(run_unit_mm(s->options.run.unit) > 0) && !run_has_world(&s->options.run)) return CVTM_OK;
  if (!s->has_domain)
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "%s: --unit and --pixel-size need the domain: --picture, --density, or "
                     "--width and --height",
                     s->options.run.input.name);
  CVTM_TRY(run_frame_find(&s->options.run, s->domain, &frame, error));
  for (int64_t i = 0; i < count_places(s); ++i) {
    double *p = place_at(s, i);
    p[0] = (p[0] - frame.left) / frame.scale;
    p[1] = frame.is_up ? s->domain.height - (p[1] - frame.bottom) / frame.scale
                       : (p[1] - frame.top) / frame.scale;
  }
  return CVTM_OK;
}

/* Sets the domain from --width and --height, unless a density or a picture has set it. */
static void set_given_domain(stats *s) {
  if (s->has_domain || s->options.width <= 0 || s->options.height <= 0) return;
  s->domain.width = (int)s->options.width;
  s->domain.height = (int)s->options.height;
  s->domain.periodic = s->options.run.periodic;
  s->has_domain = 1;
}

/* Scales a drawing to the domain. Without one, read_points takes it from the points. */
static cvtm_status fit_drawing(stats *s, const double *box, cvtm_error *error) {
  const double same = 0.005; /* relative difference of scales; sides of drawings are rounded */
  if (s->has_domain && run_unit_mm(s->options.run.unit) > 0) {
    run_frame frame;
    CVTM_TRY(run_frame_find(&s->options.run, s->domain, &frame, error));
    scale_radii(s, 1 / frame.scale);
    return CVTM_OK; /* find_pixels moves the points */
  }
  if (!s->has_domain || !(box[2] > 0) || !(box[3] > 0)) return CVTM_OK;
  const double across = s->domain.width / box[2], down = s->domain.height / box[3];
  if (!(fabs(across / down - 1) < same))
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "%s: a drawing of %g x %g does not have the shape of %d x %d pixels; if it is "
                     "on a page, give --page",
                     s->options.run.input.name, box[2], box[3], s->domain.width, s->domain.height);
  scale_drawing(s, across, box);
  return CVTM_OK;
}

/* True if a stroke only moves away from one of its ends, as a spiral of a pen does. */
static int is_spiral(const double *points, int64_t count, double rounding) {
  int is_away = count > 2, is_near = count > 2;
  const double *last = points + 2 * (count - 1);
  double from_first = 0, from_last = INFINITY;
  for (int64_t i = 0; i < count && (is_away || is_near); ++i) {
    const double *p = points + 2 * i;
    const double first_way = hypot(p[0] - points[0], p[1] - points[1]);
    const double last_way = hypot(p[0] - last[0], p[1] - last[1]);
    is_away &= first_way >= from_first - rounding;
    is_near &= last_way <= from_last + rounding;
    from_first = first_way;
    from_last = last_way;
  }
  return is_away ? 1 : is_near ? -1 : 0;
}

/* Takes the dots and strokes. The points are the dots, the centres of spirals and the corners of
 * other strokes. */
static cvtm_status take_strokes(stats *s, const cvtm_dots *dots, cvtm_error *error) {
  const int64_t strokes = dots->stroke_count, lines = dots->stroke_start[strokes];
  const size_t points = (size_t)(dots->count + lines), pair = 2 * sizeof(double);
  cvtm_drawing *d = &s->drawing;
  *d = (cvtm_drawing){.page.scale = 1,
                      .points = malloc(points * pair),
                      .start = malloc((size_t)(dots->count + strokes + 1) * sizeof *d->start),
                      .radius = malloc((size_t)(dots->count + strokes) * sizeof *d->radius)};
  s->points = malloc(points * pair);
  if (s->points == NULL || d->points == NULL || d->start == NULL || d->radius == NULL)
    return no_memory_for_points(dots->count + lines, error);
  d->stroke_count = dots->count + strokes;
  for (int64_t k = 0; k < dots->count; ++k) d->start[k] = k;
  for (int64_t k = 0; k <= strokes; ++k)
    d->start[dots->count + k] = dots->count + dots->stroke_start[k];
  if (dots->count > 0) {
    memcpy(s->points, dots->points, (size_t)dots->count * pair);
    memcpy(d->points, dots->points, (size_t)dots->count * pair);
    memcpy(d->radius, dots->radius, (size_t)dots->count * sizeof *d->radius);
  }
  memcpy(d->points + 2 * dots->count, dots->stroke_points, (size_t)lines * pair);
  memcpy(d->radius + dots->count, dots->stroke_radius, (size_t)strokes * sizeof *d->radius);
  s->count = dots->count;
  for (int64_t k = 0; k < strokes; ++k) {
    const int64_t first = dots->stroke_start[k], count = dots->stroke_start[k + 1] - first;
    const double *from = dots->stroke_points + 2 * first;
    const int spiral = is_spiral(from, count, 0.02 * dots->stroke_radius[k]);
    const int64_t kept = spiral != 0 ? 1 : count;
    memcpy(s->points + 2 * s->count, spiral < 0 ? from + 2 * (count - 1) : from,
           (size_t)kept * pair);
    s->count += kept;
  }
  return CVTM_OK;
}

/* Reads the dots of an SVG, with their sizes, and its strokes. */
static cvtm_status read_drawing(stats *s, cvtm_error *error) {
  const char *path = s->options.run.input.name;
  const double corner[2] = {0, 0};
  double mm = 0; /* of a user unit */
  cvtm_dots dots;
  cvtm_status status = cvtm_dots_read(path, &dots, error);
  if (status == CVTM_OK && dots.stroke_count > 0) {
    status = take_strokes(s, &dots, error);
  } else if (status == CVTM_OK) {
    s->points = dots.points;
    s->radius = dots.radius;
    s->count = dots.count;
    dots.points = dots.radius = NULL;
  }
  if (status == CVTM_OK && run_has_page(&s->options.run) &&
      (!dots.has_picture || s->options.run.page.fill) &&
      s->options.run.unit == CVTM_RUN_UNIT_PIXEL) {
    s->options.run.unit = CVTM_RUN_UNIT_MM;
    status = cvtm_svg_unit(path, &mm, error);
    if (mm > 0) scale_drawing(s, mm, corner);
  }
  if (status == CVTM_OK) status = fit_drawing(s, dots.box, error);
  cvtm_dots_free(&dots);
  return status;
}

static int is_drawing(const char *path) {
  char buffer[8];
  return strcmp(cvtm_file_extension(path, buffer, sizeof buffer), "svg") == 0;
}

/* Makes the part of the picture that is on the page the domain: the drawing ends there. */
static cvtm_status crop_to_page(stats *s, cli_corner *corner, cvtm_error *error) {
  int part[4];
  CVTM_TRY(run_page_part(&s->options.run, s->domain, part, error));
  run_crop_planes(s->tone, 1, s->domain, part);
  run_crop_planes(s->density, 1, s->domain, part);
  const cvtm_domain whole = s->domain;
  s->domain = (cvtm_domain){part[2] - part[0], part[3] - part[1], 0};
  if (s->domain.width == whole.width && s->domain.height == whole.height) s->domain = whole;
  for (int axis = 0; axis < 2; ++axis) corner->at[axis] = part[axis];
  return CVTM_OK;
}

static cvtm_status read_points(stats *s, cvtm_error *error) {
  const cvtm_input *input = &s->options.run.input;
  const char *path = input->name;
  cli_corner corner = {0};
  cvtm_status status = input->array != NULL ? cvtm_points_open(input, &s->points, &s->count, error)
                       : is_drawing(path)   ? read_drawing(s, error)
                                          : cvtm_points_read_classes(path, &s->points, &s->classes,
                                                                     &s->count, error);
  if (status == CVTM_OK) status = find_pixels(s, error);
  if (status == CVTM_OK && !s->has_domain)
    status =
        cli_domain_of_points(&s->options, path, s->points, s->count, &s->domain, &corner, error);
  else if (status == CVTM_OK && s->tone != NULL && input->array == NULL && is_drawing(path))
    status = crop_to_page(s, &corner, error);
  if (status == CVTM_OK) status = cvtm_delaunay(s->points, s->count, &s->mesh, error);
  if (status != CVTM_OK) return status;
  s->has_domain = 1;
  for (int64_t i = 0; i < 2 * count_places(s); ++i) place_at(s, i / 2)[i % 2] -= corner.at[i % 2];
  for (int64_t i = 0; i < 2 * s->count; ++i) s->mesh.points[i] -= corner.at[i % 2];
  return cli_class_spacing_measure(s->domain, s->points, s->classes, s->count, &s->spacing, error);
}

/* Maps the coordinates of the file to pixels of the domain, y down. */
static cvtm_status place_in_domain(stats *s, cvtm_error *error) {
  const double scale = s->options.run.unit == CVTM_RUN_UNIT_WIDTH ? s->domain.width : 1;
  double *points = s->mesh.points;
  run_frame frame;
  CVTM_TRY(run_frame_find(&s->options.run, s->domain, &frame, error));
  for (int64_t i = 0; i < s->mesh.vertex_count; ++i) {
    const double up = (s->mesh.file_top - points[2 * i + 1] - frame.bottom) / frame.scale;
    points[2 * i] = scale * ((points[2 * i] - frame.left) / frame.scale);
    points[2 * i + 1] = s->domain.height - scale * up;
  }
  const double slack =
      1e-6 * (s->domain.width + s->domain.height); /* for coordinates in single precision */
  for (int64_t i = 0; i < 2 * s->mesh.vertex_count; ++i) {
    const double side = i % 2 == 0 ? s->domain.width : s->domain.height;
    if (points[i] < 0 && points[i] > -slack) points[i] = 0;
    if (points[i] > side && points[i] < side + slack) points[i] = side;
  }
  return run_require_inside(s->options.run.input.name, points, s->mesh.vertex_count, s->domain,
                            error);
}

/* Reads a mesh, which has a domain if a density or both sides are given. */
static cvtm_status read_mesh(stats *s, cvtm_error *error) {
  CVTM_TRY(cvtm_mesh_read(s->options.run.input.name, &s->mesh, error));
  s->count = s->mesh.vertex_count;
  if (s->has_domain) return place_in_domain(s, error);
  if (!run_has_world(&s->options.run)) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_INPUT,
                   "%s: --pixel-size needs the domain: --picture, --density, or --width and "
                   "--height",
                   s->options.run.input.name);
}

/* Reads the ink that a drawing of --picture needs. */
static cvtm_status read_photograph(stats *s, cvtm_error *error) {
  const cvtm_input *source = &s->options.photograph;
  const char *path = source->name;
  cvtm_image image = {0};
  cvtm_density_options how;
  cvtm_status status = run_read_image(&s->options.run, source, 0, &image, error);
  if (status != CVTM_OK) return status;
  const cvtm_domain domain = {image.width, image.height, s->options.run.periodic};
  run_choose_tone(&image, &s->options.run, &how);
  if (image.is_data)
    status = cvtm_fail(error, CVTM_ERROR_INPUT,
                       "%s: an array has no tone; --picture takes a picture", path);
  else if (s->has_domain && (domain.width != s->domain.width || domain.height != s->domain.height))
    status = cvtm_fail(error, CVTM_ERROR_INPUT, "%s: %d x %d pixels, but the density has %d x %d",
                       path, domain.width, domain.height, s->domain.width, s->domain.height);
  else
    status = run_smooth_dither(&s->options.run, &image, error);
  if (status == CVTM_OK) status = run_flatten(&image, s->options.run.flatten, path, error);
  if (status == CVTM_OK) status = cvtm_tone_from_image(&image, &how, path, &s->tone, error);
  if (status == CVTM_OK && s->options.density.name == NULL)
    status = run_world_set(&s->options.run, &image.place, path, image.height, error);
  cvtm_image_free(&image);
  s->domain = domain;
  s->has_domain = 1;
  return status;
}

static cvtm_status read_stats_input(stats *s, cvtm_error *error) {
  cvtm_status status = CVTM_OK;
  if (s->options.density.name != NULL) {
    status = run_read_density(&s->options.density, &s->options.run, &s->density, NULL, &s->domain,
                              error);
    s->has_domain = 1;
  }
  if (status == CVTM_OK && s->options.photograph.name != NULL) status = read_photograph(s, error);
  if (status != CVTM_OK) return status;
  set_given_domain(s);
  if (s->has_domain && !(s->options.run.world.scale > 0))
    status =
        run_world_set(&s->options.run, NULL, s->options.run.input.name, s->domain.height, error);
  if (status != CVTM_OK) return status;
  status = s->is_mesh ? read_mesh(s, error) : read_points(s, error);
  return status == CVTM_OK && s->density != NULL
             ? run_average_tone(&s->options.run, s->domain, s->count, s->density, error)
             : status;
}

static cvtm_status evaluate_stats(stats *s) {
  cvtm_cvt *cvt = NULL;
  const double *sites = s->is_mesh ? s->mesh.points : s->points;
  cvtm_status status = cvtm_cvt_create(s->device, s->domain, s->density, s->count, &cvt);
  if (status == CVTM_OK)
    status = cvtm_cvt_evaluate(cvt, sites, s->count, CVTM_CVT_EXACT, CVTM_VORONOI_EXACT, &s->energy,
                               NULL);
  s->bound = cvtm_cvt_energy_bound(s->domain, s->density, s->count);
  cvtm_cvt_destroy(cvt);
  return status;
}

/* Compares the picture with a simulated plot of the strokes. */
static cvtm_status measure_strokes(stats *s, cvtm_error *error) {
  const cvtm_drawing *d = &s->drawing;
  float *drawn = malloc((size_t)s->domain.width * (size_t)s->domain.height * sizeof *drawn);
  cvtm_status status = drawn != NULL ? CVTM_OK : no_memory_for_points(s->count, error);
  if (status == CVTM_OK)
    status = cvtm_drawing_coverage(d, s->domain.width, s->domain.height, drawn, error);
  if (status == CVTM_OK)
    status = run_stipples_measure(&s->options.run, s->domain, s->tone, s->count, drawn,
                                  &s->stipples, error);
  free(drawn);
  run_stipples_range(d->radius, d->stroke_count, &s->stipples);
  return status;
}

static int print_json(const stats *s) {
  cJSON *report = cJSON_CreateObject();
  run_json_text(report, "version", CVTMESH_VERSION);
  run_json_text(report, "file", s->options.run.input.name);
  if (s->has_domain) {
    run_json_integer(report, "width", s->domain.width);
    run_json_integer(report, "height", s->domain.height);
  }
  if (s->density != NULL) {
    run_json_device(report, s->device);
    run_json_real(report, "energy", s->energy);
    run_json_real(report, "energy_reference", s->bound);
    run_json_real(report, "energy_bound", s->bound); /* the old name */
    run_json_real(report, "energy_ratio", s->energy / s->bound);
  }
  run_json_integer(report, "coincident_sites", s->mesh.coincident_count);
  run_stipples_report(&s->stipples, report);
  cli_class_spacing_report(&s->spacing, report);
  run_world_report(&s->options.run, s->domain, &s->mesh, report);
  run_json_quality(report, &s->quality);
  cvtm_error error = {CVTM_OK, ""};
  cvtm_status status = run_json_write("-", report, &error);
  return status == CVTM_OK ? CLI_EXIT_OK : cli_failed(CLI_WRITING, status, &error);
}

static void print_figures(const char *title, const cvtm_quality_figures *f) {
  printf("%s: %lld\n", title, (long long)f->triangles);
  if (f->triangles == 0) return;
  printf("  smallest angle   %.4g degrees, mean %.2f\n", f->min_angle, f->mean_min_angle);
  printf("  Q                %.4g, mean %.4f\n", f->min_q, f->mean_q);
  printf("  area             %.6g to %.6g, mean %.6g\n", f->min_area, f->max_area, f->mean_area);
  printf("  largest aspect   %.4g\n", f->max_aspect);
  if (f->degenerate > 0) printf("  of zero area     %lld\n", (long long)f->degenerate);
  printf("  smallest angles, 0 to 60 degrees in steps of 5:\n   ");
  for (int k = 0; k < CVTM_ANGLE_BINS; ++k) printf(" %lld", (long long)f->angle_histogram[k]);
  printf("\n");
}

static void print_text(const stats *s) {
  printf("%s: %s, %s\n", cli_visible(s->options.run.input.name),
         cli_count(s->quality.vertices, "vertex", "vertices"),
         cli_count(s->mesh.triangle_count, "triangle", "triangles"));
  if (s->mesh.coincident_count > 0)
    printf("points that share another's place: %lld\n", (long long)s->mesh.coincident_count);
  if (s->density != NULL) printf("energy ratio: %.9f\n", s->energy / s->bound);
  cli_stipples_print(&s->stipples, stdout, "tone: ");
  if (s->quality.interior_vertices > 0)
    printf("interior vertices of degree 6: %.2f %%\n", 100 * s->quality.degree6_share);
  if (s->has_domain)
    print_figures("triangles whose circumcentre lies in the domain", &s->quality.inner);
  print_figures("all triangles", &s->quality.all);
  cli_class_spacing_print(&s->spacing, stdout);
}

static int perform_stats(stats *s) {
  const char *path = s->options.run.input.name;
  cvtm_error error = {CVTM_OK, ""};
  if (s->options.photograph.name == NULL && s->options.density.name == NULL)
    s->options.run.purpose = CVTM_RUN_POINTS; /* there is no picture */
  if (run_stipples_check(&s->options.run, &error) == CVTM_OK)
    (void)run_page_check_size(&s->options.run, &error);
  run_pen_choose(&s->options.run);
  CLI_TRY(cli_result(CLI_STATS, CLI_READING, error.status, &error));
  s->is_mesh = s->options.run.input.array == NULL && !cvtm_points_format_known(path);
  if (s->is_mesh && !cvtm_mesh_format_known(path))
    return cli_usage_error(CLI_STATS, "%s: the extension names no format of points or meshes",
                           path);
  if (s->options.density.name != NULL) {
    const int opened = cli_open_device(&s->options, &s->device);
    if (opened != CLI_EXIT_OK) return opened;
  }
  cvtm_status status = read_stats_input(s, &error);
  if (status != CVTM_OK) return cli_failed(CLI_READING, status, &error);
  status = cvtm_quality_compute(&s->mesh, s->has_domain ? &s->domain : NULL, &s->quality, &error);
  if (status != CVTM_OK) return cli_failed(CLI_WORKING, status, &error);
  if (s->density != NULL) {
    status = evaluate_stats(s);
    if (status != CVTM_OK) return cli_failed(CLI_WORKING, status, cvtm_device_error(s->device));
  }
  if (s->tone != NULL && s->drawing.stroke_count > 0) {
    status = measure_strokes(s, &error);
    if (status != CVTM_OK) return cli_failed(CLI_WORKING, status, &error);
  } else if (s->tone != NULL) {
    const run_stipples_source source = {s->domain, s->tone, NULL, &s->mesh, NULL, s->radius};
    status = run_stipples_make(&s->options.run, &source, &s->stipples, &error);
    if (status == CVTM_OK && s->options.run.pen.count > 0) {
      const run_scene scene = {.options = &s->options.run,
                               .domain = s->domain,
                               .sites = s->mesh.points,
                               .count = s->count,
                               .radius = s->stipples.radius};
      status = run_page_measure(&scene, s->tone, &s->stipples, &error);
    }
    if (status != CVTM_OK) return cli_failed(CLI_WORKING, status, &error);
  }
  const double *points = s->is_mesh ? s->mesh.points : s->points;
  if (s->has_domain) cli_note_outside(&s->options, points, s->count, s->domain);
  if (s->options.json) return print_json(s);
  if (!s->options.quiet) print_text(s);
  return CLI_EXIT_OK;
}

int cli_stats(const cli_options *options) {
  stats s = {.options = *options};
  int code = perform_stats(&s);
  cvtm_mesh_free(&s.mesh);
  free(s.points);
  free(s.classes);
  cli_class_spacing_free(&s.spacing);
  free(s.radius);
  cvtm_drawing_free(&s.drawing);
  free(s.density);
  free(s.tone);
  run_stipples_free(&s.stipples);
  cvtm_device_destroy(s.device);
  return code;
}

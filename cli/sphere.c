/* cvtmesh sphere: a centroidal Voronoi tessellation of the globe. */
#include "base/clock.h"
#include "base/file.h"
#include "base/host.h"
#include "base/npy.h"
#include "base/sphere.h"
#include "base/srgb.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cvt/sphere.h"
#include "density/density.h"
#include "draw/picture.h"
#include "draw/raster.h"
#include "meshes/mesh_file.h"
#include "meshes/polygon_file.h"
#include "meshes/sphere.h"
#include "run/json.h"
#include "run/options.h"
#include "run/output.h"

#include <stdlib.h>
#include <string.h>

enum { GLOBE_SIDE = 1000, NOT_LESS = 46 /* degrees, the wanted least angle */ };

typedef struct work {
  cli_options options;
  cvtm_device *device;
  cvtm_sphere_widths widths;
  double even;   /* the constant width, in radii; 0: a map */
  double cap[3]; /* of --region: longitude, latitude, radius in degrees; radius 0: a file or none */
  double *fixed;
  int64_t fixed_count, wanted;
  cvtm_sphere_result result;
  cvtm_sphere_mesh mesh;
  cvtm_sphere_quality quality;
  cvtm_sphere_grid grid;
  double *density; /* of each cell of the grid, relative to the largest */
  int32_t *zone;   /* of each cell of the grid, with --region */
  double start, raise_seconds, dual_seconds, file_seconds;
} work;

/* --- input ------------------------------------------------------------------------------------ */

/* Allocates a map. With odd sides, the map has rows at the poles, and its first and last columns
 * are one meridian; else its elements are pixels. */
static cvtm_status create_grid(const char *name, int64_t rows, int64_t columns,
                               cvtm_geographic_grid *grid, cvtm_error *error) {
  if (rows < 2 || columns < 4 || rows > CVTM_MAX_SIDE || columns > CVTM_MAX_SIDE)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: a map has latitudes x longitudes", name);
  const int nodes = rows % 2 == 1 && columns % 2 == 1;
  const double row_step = 180.0 / (double)(rows - nodes);
  const double column_step = 360.0 / (double)(columns - nodes);
  *grid = (cvtm_geographic_grid){rows,
                                 columns - nodes,
                                 -90 + (nodes ? 0 : 0.5 * row_step),
                                 -180 + (nodes ? 0 : 0.5 * column_step),
                                 row_step,
                                 column_step,
                                 malloc((size_t)(rows * columns) * sizeof(float))};
  return grid->value == NULL ? cvtm_no_memory(error, "the map") : CVTM_OK;
}

static cvtm_status grid_of_array(const cvtm_input *source, cvtm_geographic_grid *grid,
                                 cvtm_error *error) {
  cvtm_npy array;
  CVTM_TRY(cvtm_npy_open(source, &array, error));
  const int64_t columns = array.dimensions == 2 ? array.shape[1] : 0;
  cvtm_status status = create_grid(source->name, array.shape[0], columns, grid, error);
  for (int64_t j = 0; status == CVTM_OK && j < grid->rows; ++j)
    for (int64_t i = 0; i < grid->columns; ++i)
      grid->value[j * grid->columns + i] = (float)cvtm_npy_get(&array, j * columns + i);
  cvtm_npy_free(&array);
  return status;
}

/* Reads a map from a picture, with row 0 in the north. The sRGB values of a picture without data
 * are interpolated between the two values of black_white, which may be NULL for data. */
static cvtm_status grid_of_picture(const char *name, const double *black_white,
                                   cvtm_geographic_grid *grid, cvtm_error *error) {
  cvtm_image image;
  cvtm_status status = cvtm_image_read(name, &image, error);
  if (status != CVTM_OK) return status;
  if (!image.is_data && black_white == NULL)
    status = cvtm_fail(error, CVTM_ERROR_INPUT,
                       "%s: --picture-widths says which widths black and white stand for", name);
  if (status == CVTM_OK) status = create_grid(name, image.height, image.width, grid, error);
  for (int64_t j = 0; status == CVTM_OK && j < grid->rows; ++j)
    for (int64_t i = 0; i < grid->columns; ++i) {
      const double value = (double)image.value[(grid->rows - 1 - j) * image.width + i];
      grid->value[j * grid->columns + i] =
          (float)(image.is_data ? value
                                : black_white[0] + (black_white[1] - black_white[0]) *
                                                       cvtm_linear_to_srgb(value));
    }
  cvtm_image_free(&image);
  return status;
}

/* Reads a map that covers the globe; values are not checked. */
static cvtm_status read_map(const cvtm_input *source, double scale, const double *black_white,
                            cvtm_sphere_widths *map, cvtm_error *error) {
  char extension[16] = "npy";
  cvtm_geographic_grid grid = {0};
  if (source->array == NULL) cvtm_file_extension(source->name, extension, sizeof extension);
  const int is_array = *extension == '\0' || strcmp(extension, "npy") == 0;
  CVTM_TRY(is_array ? grid_of_array(source, &grid, error)
           : strcmp(extension, "nc") == 0
               ? cvtm_geographic_grid_read(source->name, &grid, error)
               : grid_of_picture(source->name, black_white, &grid, error));
  const int64_t file_columns = grid.columns;
  const double turn = grid.column_step * (double)(grid.columns - 1);
  if (fabs(turn - 360) < 0.01 * grid.column_step)
    --grid.columns; /* the last column repeats the first meridian */
  const double north = grid.south + grid.row_step * (double)(grid.rows - 1);
  if (fabs(grid.column_step * (double)grid.columns - 360) > 0.01 * grid.column_step ||
      grid.south > -90 + 1.01 * grid.row_step || north < 90 - 1.01 * grid.row_step ||
      grid.south < -90.001 || north > 90.001) {
    free(grid.value);
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: the map does not cover the globe", source->name);
  }
  for (int64_t j = 0; j < grid.rows; ++j)
    for (int64_t i = 0; i < grid.columns; ++i)
      grid.value[j * grid.columns + i] = (float)(scale * (double)grid.value[j * file_columns + i]);
  const double degree = CVTM_PI / 180;
  *map = (cvtm_sphere_widths){(int32_t)grid.rows, (int32_t)grid.columns,  degree * grid.south,
                              degree * grid.west, degree * grid.row_step, degree * grid.column_step,
                              grid.value};
  return CVTM_OK;
}

static cvtm_status read_widths(work *w, cvtm_error *error) {
  const cli_options *o = &w->options;
  const cvtm_input *source = &o->run.input;
  double number;
  if (source->array == NULL && run_numbers_parse(source->name, 1, &number)) {
    w->even = number / o->sphere.radius;
    if (!(w->even > 0 && w->even < 1.5))
      return cvtm_fail(error, CVTM_ERROR_INPUT,
                       "a width of %s does not fit a sphere with a radius of %g", source->name,
                       o->sphere.radius);
    w->wanted = llround(4 * CVTM_PI * 2 / sqrt(3.0) / (w->even * w->even));
  } else {
    const int given = o->sphere.picture_widths[0] > 0;
    CVTM_TRY(read_map(source, 1 / o->sphere.radius, given ? o->sphere.picture_widths : NULL,
                      &w->widths, error));
    const int64_t count = (int64_t)w->widths.rows * w->widths.columns;
    for (int64_t k = 0; k < count; ++k)
      if (!(w->widths.value[k] > 0 && w->widths.value[k] < 1e6F))
        return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: width %lld of the map is not positive",
                         source->name, (long long)k + 1);
    cvtm_sphere_widths_grade(&w->widths, o->sphere.grade);
    const double cells = cvtm_sphere_widths_count(&w->widths);
    if (!(cells < 3e8))
      return cvtm_fail(error, CVTM_ERROR_INPUT,
                       "%s: these widths take %.3g cells, but at most 3e8 are possible",
                       source->name, cells);
    w->wanted = llround(cells);
  }
  if (o->run.points > 0) w->wanted = o->run.points;
  if (w->wanted < 12) w->wanted = 12;
  if (w->wanted > 300000000)
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "%s: these widths take %lld cells, but at most 3e8 are possible", source->name,
                     (long long)w->wanted);
  return CVTM_OK;
}

static cvtm_vector place_of(double longitude, double latitude) {
  const double x = longitude * CVTM_PI / 180, y = latitude * CVTM_PI / 180;
  return cvtm_vector_of(cos(y) * cos(x), cos(y) * sin(x), sin(y));
}

static cvtm_status read_fixed(work *w, cvtm_error *error) {
  if (w->options.run.fixed.name == NULL) return CVTM_OK;
  double *points;
  cvtm_status status = cvtm_points_open(&w->options.run.fixed, &points, &w->fixed_count, error);
  if (status != CVTM_OK) return status;
  w->fixed = malloc(3 * (size_t)w->fixed_count * sizeof *w->fixed);
  if (w->fixed == NULL) status = cvtm_no_memory(error, "the fixed points");
  for (int64_t i = 0; status == CVTM_OK && i < w->fixed_count; ++i) {
    if (!(fabs(points[2 * i + 1]) <= 90 && fabs(points[2 * i]) <= 720))
      status =
          cvtm_fail(error, CVTM_ERROR_INPUT, "%s: point %lld is not a longitude and a latitude",
                    w->options.run.fixed.name, (long long)i + 1);
    cvtm_vector_store(w->fixed, i, place_of(points[2 * i], points[2 * i + 1]));
  }
  free(points);
  return status;
}

/* --- areas ---------------------------------------------------------------------------------- */

/* Polygons in longitude and latitude, in degrees, with straight edges, as in GeoJSON (RFC 7946).
 * Each band of latitudes has the edges that cross it. */
enum { BANDS = 1800 };

static int64_t band_of(double latitude) {
  const double band = (latitude + 90) * (BANDS / 180.0);
  return band > 0 ? (int64_t)fmin(band, BANDS - 1.0) : 0;
}

/* edge NULL: counts the edges of each band in count[band]. Else stores them from edge next[band]
 * on, and advances next[band]. An edge is in each band that it meets. */
static void sort_edges(const cvtm_polygons *p, int64_t *count, int64_t *next, double *edge) {
  for (int64_t ring = 0; ring < p->ring_count; ++ring) {
    for (int64_t k = p->start[ring]; k < p->start[ring + 1]; ++k) {
      const double *from = p->points + 2 * k;
      const double *to = p->points + 2 * (k + 1 < p->start[ring + 1] ? k + 1 : p->start[ring]);
      const int64_t last = band_of(fmax(from[1], to[1]));
      for (int64_t band = band_of(fmin(from[1], to[1])); band <= last; ++band) {
        if (edge == NULL) {
          ++count[band];
          continue;
        }
        double *place = edge + 4 * next[band]++;
        memcpy(place, from, 2 * sizeof *place);
        memcpy(place + 2, to, 2 * sizeof *place);
      }
    }
  }
}

/* True inside, by the even-odd rule. Polygons may extend beyond 180 degrees by up to a turn. */
static int is_between(const double *edge, const double *end, double longitude, double latitude) {
  int inside = 0;
  for (int turn = -1; turn <= 1 && !inside; ++turn) {
    const double x = longitude + 360.0 * turn;
    for (const double *e = edge; e < end; e += 4) {
      if ((e[1] > latitude) == (e[3] > latitude)) continue;
      inside ^= x < e[0] + (latitude - e[1]) / (e[3] - e[1]) * (e[2] - e[0]);
    }
  }
  return inside;
}

/* --- the work --------------------------------------------------------------------------------- */

static int is_polygon_file(const cvtm_input *source) {
  return source->name != NULL && source->array == NULL && cvtm_polygon_format_known(source->name);
}

/* Removes the cells inside polygons (inside: 1) or outside of them (inside: 0). */
static cvtm_status leave_out(const work *w, const char *path, int inside, unsigned char *keep,
                             cvtm_error *error) {
  cvtm_polygons polygons;
  CVTM_TRY(cvtm_polygons_read(path, &polygons, error));
  int64_t first[BANDS + 1] = {0}, next[BANDS];
  sort_edges(&polygons, first + 1, NULL, NULL);
  for (int band = 0; band < BANDS; ++band) {
    next[band] = first[band];
    first[band + 1] += first[band];
  }
  double *edge = malloc(((size_t)first[BANDS] + 1) * 4 * sizeof *edge);
  if (edge != NULL) sort_edges(&polygons, NULL, next, edge);
  cvtm_polygons_free(&polygons);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < (edge != NULL ? w->mesh.count : 0); ++i) {
    const cvtm_vector p = cvtm_vector_load(w->mesh.points, i);
    const double longitude = atan2(p.y, p.x) * 180 / CVTM_PI;
    const double latitude = atan2(p.z, hypot(p.x, p.y)) * 180 / CVTM_PI;
    const double *own = edge + 4 * first[band_of(latitude)];
    const double *end = edge + 4 * first[band_of(latitude) + 1];
    if (is_between(own, end, longitude, latitude) == inside) keep[i] = 0;
  }
  free(edge);
  return edge == NULL ? cvtm_no_memory(error, path) : CVTM_OK;
}

/* Adds seven rings of cells around a region, the zones where limited-area models relax to their
 * boundary values. keep: 1 in the region, 2 to 8 in the rings. */
static void add_zones(const cvtm_sphere_mesh *mesh, unsigned char *keep) {
  for (unsigned char ring = 1; ring <= 7; ++ring)
    for (int64_t h = 0; h < 3 * mesh->triangle_count; ++h) {
      unsigned char *beside = keep + mesh->triangles[mesh->twins[h]];
      if (keep[mesh->triangles[h]] == ring && *beside == 0) *beside = ring + 1;
    }
}

/* *keep: malloc'd, nonzero for each cell that is kept, as in add_zones; NULL: all are. */
static cvtm_status choose_cells(work *w, unsigned char **keep, cvtm_error *error) {
  const cli_options *o = &w->options;
  const double *cap = w->cap;
  const cvtm_input *mask = &o->sphere.mask;
  *keep = NULL;
  if (mask->name == NULL && o->sphere.region == NULL) return CVTM_OK;
  unsigned char *kept = malloc((size_t)w->mesh.count);
  if (kept == NULL) return cvtm_no_memory(error, "the mask");
  *keep = kept;
  const cvtm_vector centre = place_of(cap[0], cap[1]);
  for (int64_t i = 0; i < w->mesh.count; ++i)
    kept[i] = cap[2] == 0 ||
              cvtm_arc(cvtm_vector_load(w->mesh.points, i), centre) <= cap[2] * CVTM_PI / 180;
  cvtm_status status = CVTM_OK;
  if (o->sphere.region != NULL && cap[2] == 0)
    status = leave_out(w, o->sphere.region, 0, kept, error);
  if (status == CVTM_OK && o->sphere.region != NULL) add_zones(&w->mesh, kept);
  if (status == CVTM_OK && is_polygon_file(mask)) {
    status = leave_out(w, mask->name, 1, kept, error);
  } else if (status == CVTM_OK && mask->name != NULL) {
    cvtm_sphere_widths map;
    status = read_map(mask, 1, (const double[]){0, 1}, &map, error);
    if (status != CVTM_OK) return status;
    for (int64_t i = 0; i < w->mesh.count; ++i)
      if (!(cvtm_sphere_widths_at(&map, w->mesh.points + 3 * i) < 0.5)) kept[i] = 0;
    cvtm_sphere_widths_free(&map);
  }
  return status;
}

static cvtm_status set_density(work *w, cvtm_error *error) {
  const int64_t n = w->grid.cells;
  if (w->widths.value == NULL) return CVTM_OK;
  w->density = malloc((size_t)n * sizeof *w->density);
  if (w->density == NULL) return cvtm_no_memory(error, "the density");
  double most = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double width = cvtm_sphere_widths_at(&w->widths, w->grid.cell_point + 3 * i);
    w->density[i] = 1 / (width * width * width * width);
    most = fmax(most, w->density[i]);
  }
  for (int64_t i = 0; i < n; ++i) w->density[i] /= most;
  return CVTM_OK;
}

static int is_interrupted(void *context) {
  (void)context;
  return cli_interrupted();
}

static cvtm_status solve_sphere(work *w, cvtm_error *error) {
  const cli_options *o = &w->options;
  cvtm_sphere_options settings;
  cvtm_sphere_defaults(&settings);
  settings.count = w->wanted;
  settings.fixed = w->fixed_count;
  settings.any_count = o->run.points == 0;
  settings.iterations = (int)fmin((double)o->run.iterations, 1e9);
  settings.seed = (uint64_t)o->run.seed;
  settings.max_seconds = o->run.time_limit;
  settings.stop = is_interrupted;
  unsigned char *keep = NULL;
  cvtm_status status =
      cvtm_sphere_solve(w->device, &w->widths, w->fixed, &settings, &w->mesh, &w->result);
  if (status != CVTM_OK) {
    *error = *cvtm_device_error(w->device);
    return status;
  }
  const double raised = cvtm_clock();
  status = cvtm_sphere_raise(&w->mesh, w->fixed_count, NOT_LESS, error);
  w->raise_seconds = cvtm_clock() - raised;
  const double made = cvtm_clock();
  if (status == CVTM_OK) status = cvtm_sphere_quality_compute(&w->mesh, &w->quality, error);
  if (status == CVTM_OK) status = choose_cells(w, &keep, error);
  if (status == CVTM_OK) status = cvtm_sphere_grid_create(&w->mesh, keep, &w->grid, error);
  cvtm_sphere_mesh_free(&w->mesh);
  if (status == CVTM_OK && o->sphere.region != NULL) {
    w->zone = malloc((size_t)w->grid.cells * sizeof *w->zone);
    if (w->zone == NULL) status = cvtm_no_memory(error, "the zones");
    for (int64_t c = 0; w->zone != NULL && c < w->grid.cells; ++c)
      w->zone[c] = keep[w->grid.cell_parent[c]] - 1;
  }
  free(keep);
  if (status == CVTM_OK) status = set_density(w, error);
  w->dual_seconds = cvtm_clock() - made;
  return status;
}

/* --- output ----------------------------------------------------------------------------------- */

/* Draws the cells of one half of the globe around a disc. longitude, tilt: of the disc's centre. */
static void draw_half(const work *w, cvtm_raster *raster, double x0, double y0, double longitude,
                      double tilt) {
  const cvtm_sphere_grid *g = &w->grid;
  const double radius = 0.48 * GLOBE_SIDE, left = x0 + 0.5 * GLOBE_SIDE,
               top = y0 + 0.5 * GLOBE_SIDE;
  const cvtm_vector toward = place_of(longitude, tilt), up = place_of(longitude, tilt + 90);
  const cvtm_vector right = cvtm_vector_cross(up, toward);
  double least = HUGE_VAL, most = 0;
  for (int64_t c = 0; c < g->cells; ++c) {
    least = fmin(least, g->cell_area[c]);
    most = fmax(most, g->cell_area[c]);
  }
  const double spread = log(most / least) > 0.7 ? log(most / least) : 0.7;
  for (int64_t c = 0; c < g->cells; ++c) {
    if (cvtm_vector_dot(cvtm_vector_load(g->cell_point, c), toward) < 0.01) continue;
    double corner[64];
    const int n = g->edge_count_on_cell[c] < 32 ? g->edge_count_on_cell[c] : 32;
    for (int k = 0; k < n; ++k) {
      const cvtm_vector p =
          cvtm_vector_load(g->vertex_point, g->vertices_on_cell[c * g->max_edges + k]);
      corner[2 * k] = left + radius * cvtm_vector_dot(p, right);
      corner[2 * k + 1] = top - radius * cvtm_vector_dot(p, up);
    }
    const float t = (float)(log(g->cell_area[c] / least) / spread);
    const cvtm_colour six = {{0.03F + 0.75F * t, 0.12F + 0.75F * t, 0.35F + 0.55F * t}};
    const cvtm_colour few = {{0.8F, 0.05F, 0.03F}}, many = {{0.9F, 0.5F, 0.02F}};
    const int degree = g->edge_count_on_cell[c];
    cvtm_raster_polygon(raster, corner, n, degree == 6 ? six : degree < 6 ? few : many);
  }
  cvtm_raster_merge(raster, 1);
  /* outlines only where cells have at least 6 pixels */
  const cvtm_colour line = {{0.01F, 0.02F, 0.05F}};
  for (int64_t e = 0; e < g->edges; ++e) {
    const cvtm_vector at = cvtm_vector_load(g->edge_point, e);
    if (g->dc[e] * radius < 6 || cvtm_vector_dot(at, toward) < 0.02) continue;
    const cvtm_vector p = cvtm_vector_load(g->vertex_point, g->vertices_on_edge[2 * e]);
    const cvtm_vector q = cvtm_vector_load(g->vertex_point, g->vertices_on_edge[2 * e + 1]);
    cvtm_raster_line(raster, left + radius * cvtm_vector_dot(p, right),
                     top - radius * cvtm_vector_dot(p, up),
                     left + radius * cvtm_vector_dot(q, right),
                     top - radius * cvtm_vector_dot(q, up), 0.8, line);
  }
  cvtm_raster_merge(raster, 0.7);
}

/* Draws four orthographic views, of both halves and of the poles; cells without six neighbours are
 * red or orange. */
static cvtm_status write_globe(const work *w, const char *path, cvtm_error *error) {
  const cvtm_colour paper = {{1, 1, 1}};
  const double *view = w->options.sphere.view;
  cvtm_raster raster;
  CVTM_TRY(cvtm_raster_create(2 * GLOBE_SIDE, 2 * GLOBE_SIDE, paper, &raster, error));
  draw_half(w, &raster, 0, 0, view[0], view[1]);
  draw_half(w, &raster, GLOBE_SIDE, 0, view[0] + 180, -view[1]);
  draw_half(w, &raster, 0, GLOBE_SIDE, 0, 90);
  draw_half(w, &raster, GLOBE_SIDE, GLOBE_SIDE, 0, -90);
  cvtm_status status = cvtm_raster_write(&raster, path, error);
  cvtm_raster_destroy(&raster);
  return status;
}

/* A run_writer. */
static cvtm_status write_sphere(void *context, const char *path, const char *extension,
                                cvtm_error *error) {
  const work *w = context;
  const double radius = w->options.sphere.radius;
  if (strcmp(extension, "png") == 0) return write_globe(w, path, error);
  const cvtm_sphere_labels labels = {radius == 1 ? 1 : 1000 * radius, w->density,
                                     "cvtmesh " CVTMESH_VERSION, w->zone, 0};
  return cvtm_sphere_grid_write(&w->grid, &labels, path, error);
}

static void add_quality(const work *w, cJSON *report) {
  const cvtm_sphere_quality *q = &w->quality;
  const double radius = w->options.sphere.radius;
  cJSON *quality = cJSON_AddObjectToObject(report, "quality");
  run_json_real(quality, "min_angle", q->min_angle);
  run_json_real(quality, "mean_min_angle", q->mean_min_angle);
  run_json_real(quality, "max_angle", q->max_angle);
  run_json_integer(quality, "obtuse", q->obtuse);
  run_json_real(quality, "not_six_share", q->not_six);
  run_json_real(quality, "min_edge", radius * q->min_arc);
  run_json_real(quality, "max_edge", radius * q->max_arc);
  cJSON *degrees = cJSON_AddArrayToObject(quality, "degrees");
  for (int k = 0; k < 16; ++k) run_json_append(degrees, cJSON_CreateNumber((double)q->degree[k]));
}

static cvtm_status write_sphere_report(const work *w, cvtm_error *error) {
  if (w->options.run.report == NULL) return CVTM_OK;
  cJSON *report = cli_report_begin(w->device, &w->options);
  run_json_integer(report, "cells", w->grid.cells);
  run_json_integer(report, "edges", w->grid.edges);
  run_json_integer(report, "vertices", w->grid.vertices);
  run_json_real(report, "energy", w->result.energy);
  run_json_integer(report, "iterations", w->result.iterations);
  run_json_integer(report, "evaluations", w->result.evaluations);
  add_quality(w, report);
  cJSON *seconds = cJSON_AddObjectToObject(report, "seconds");
  run_json_real(seconds, "solve", w->result.seconds);
  run_json_real(seconds, "raise", w->raise_seconds);
  run_json_real(seconds, "dual", w->dual_seconds);
  run_json_real(seconds, "files", w->file_seconds);
  run_json_real(seconds, "total", cvtm_clock() - w->start);
  return run_json_write(w->options.run.report, report, error);
}

static void print_sphere_summary(const work *w) {
  const cvtm_sphere_quality *q = &w->quality;
  fprintf(stderr,
          "%s: %s on %s (%s)\n"
          "  %.3g %% without six neighbours, angles %.1f to %.1f degrees, %s\n"
          "  %lld iterations on all sites, %.2f seconds\n",
          cli_visible(w->options.run.input.name), cli_count(w->grid.cells, "cell", "cells"),
          cvtm_device_name(w->device), cvtm_device_description(w->device), 100 * q->not_six,
          q->min_angle, q->max_angle, cli_count(q->obtuse, "obtuse triangle", "obtuse triangles"),
          (long long)w->result.iterations, cvtm_clock() - w->start);
}

/* Reads --region: a cap, or a file of polygons. */
static int read_region(const cli_options *o, double cap[3]) {
  const char *text = o->sphere.region;
  if (text == NULL) return CLI_EXIT_OK;
  if (run_numbers_parse(text, 3, cap) && fabs(cap[1]) <= 90 && cap[2] > 0 && cap[2] < 180)
    return CLI_EXIT_OK;
  cap[2] = 0;
  if (cvtm_polygon_format_known(text)) return CLI_EXIT_OK;
  return cli_usage_error(
      o->command, "--region: '%s' is neither LON,LAT,RADIUS in degrees nor a file of polygons",
      text);
}

static int check_sphere_usage(const cli_options *o) {
  if (o->run.output.count == 0 && o->run.report == NULL) return cli_missing(o->command, "--output");
  return cli_outputs_check_known(o, "nc info vtu obj png", "a sphere");
}

static int perform_sphere(work *w) {
  cvtm_error error = {CVTM_OK, ""};
  CLI_TRY(read_region(&w->options, w->cap));
  CLI_TRY(check_sphere_usage(&w->options));
  CLI_TRY(cli_open_device(&w->options, &w->device));
  cli_catch_signals();
  cvtm_status status = read_widths(w, &error);
  if (status == CVTM_OK) status = read_fixed(w, &error);
  if (status != CVTM_OK) return cli_failed(CLI_READING, status, &error);
  status = solve_sphere(w, &error);
  if (status != CVTM_OK) return cli_failed(CLI_WORKING, status, &error);
  const double solved = cvtm_clock();
  status = run_outputs_write(&w->options.run, write_sphere, w, &error);
  w->file_seconds = cvtm_clock() - solved;
  if (status == CVTM_OK) status = write_sphere_report(w, &error);
  if (status != CVTM_OK) return cli_failed(CLI_WRITING, status, &error);
  if (!w->options.quiet) print_sphere_summary(w);
  return cli_interrupted() ? CLI_EXIT_INTERRUPTED : CLI_EXIT_OK;
}

int cli_sphere(const cli_options *options) {
  work w = {.options = *options, .start = cvtm_clock()};
  const int code = perform_sphere(&w);
  cvtm_sphere_grid_free(&w.grid);
  cvtm_sphere_mesh_free(&w.mesh);
  cvtm_sphere_widths_free(&w.widths);
  free(w.fixed);
  free(w.density);
  free(w.zone);
  cvtm_device_destroy(w.device);
  return code;
}

/* What holds for all public functions of a kind: NULL options are the defaults, and writers refuse
 * sizes that cannot be. tests/test_layers.py sees that no function with options is missing here. */
#include "testing.h"

#include "base/file.h"
#include "base/npy.h"
#include "cvt/classes.h"
#include "cvt/slide.h"
#include "cvt/sphere.h"
#include "density/condition.h"
#include "density/pipeline.h"
#include "density/segmentation.h"
#include "lbfgsb/lbfgsb.h"
#include "lcp/lcp.h"
#include "lcp/matrix_market.h"
#include "meshes/mesh_file.h"
#include "meshes/refine.h"
#include "meshes/sized_mesh.h"
#include "cvt/equal_mass.h"
#include "cvt/gaussian.h"
#include "draw/picture.h"
#include "run/outline.h"
#include "run/run.h"

#include <unistd.h>

enum { SIDE = 32, SITES = 24, PIXELS = SIDE * SIDE };
static const cvtm_domain domain = {SIDE, SIDE, 0};
static cvtm_device *device;
static cvtm_image picture;
static float density[PIXELS];
static const double corners[8] = {4, 4, 4, 28, 28, 28, 28, 4};

static int start(void **state) {
  (void)state;
  unsigned char bytes[16 + 3 * PIXELS] = "P6 32 32 255\n";
  const size_t header = strlen((char *)bytes);
  for (int p = 0; p < PIXELS; ++p) {
    for (int c = 0; c < 3; ++c) bytes[header + (size_t)(3 * p + c)] = (unsigned char)(p % 200);
    density[p] = 1 + (float)(p % SIDE);
  }
  assert_ok(cvtm_device_create("cpu", 1, &device, NULL));
  return cvtm_image_parse_colour(bytes, header + 3 * PIXELS, "a.ppm", &picture, NULL) != CVTM_OK;
}

static int finish(void **state) {
  (void)state;
  cvtm_image_free(&picture);
  cvtm_device_destroy(device);
  return 0;
}

/* --- a figure of the result of each function, or its status where it fails -------------- */

static double take(float *made, cvtm_status status) {
  const double figure = status == CVTM_OK ? (double)made[99] : -(double)status;
  free(made);
  return figure;
}

static double tone(const void *options) {
  float *made = NULL;
  const cvtm_status status = cvtm_tone_from_image(&picture, options, "a", &made, NULL);
  return take(made, status);
}

static double colours(const void *options) {
  float *made = NULL;
  const cvtm_status status = cvtm_colours_from_image(&picture, options, "a", &made, NULL);
  return take(made, status);
}

static double density_of(const void *options) {
  float *made = NULL;
  const cvtm_status status = cvtm_density_from_image(&picture, options, "a", &made, NULL);
  return take(made, status);
}

static double pipeline(const void *options) {
  cvtm_pipeline_result made;
  assert_ok(cvtm_pipeline_run(device, &picture, "a", options, &made, NULL));
  const double figure = (double)made.density[99];
  cvtm_pipeline_free(&made);
  return figure;
}

static double condition(const void *options) {
  double here[PIXELS], there[PIXELS];
  cvtm_condition_result result;
  for (int p = 0; p < PIXELS; ++p) here[p] = there[p] = (double)density[p];
  assert_ok(cvtm_density_condition(device, SIDE, SIDE, NULL, options, here, &result));
  assert_ok(cvtm_density_condition_on_device(device, SIDE, SIDE, NULL, options, there, &result));
  return here[99] + there[99] + cvtm_condition_wanted(options);
}

static double segment(const void *options) {
  cvtm_segment *made = NULL;
  const cvtm_status status = cvtm_segment_create(device, SIDE, SIDE, options, &made);
  cvtm_segment_destroy(made);
  return -(double)status;
}

static double segmentation(const void *options) {
  cvtm_segmentation made = {0};
  cvtm_error error;
  const cvtm_status status = cvtm_segmentation_run(device, &picture, "a", options, &made, &error);
  cvtm_segmentation_free(&made);
  return -(double)status;
}

static void spread(double *sites) {
  for (int i = 0; i < SITES; ++i) {
    sites[2 * i] = 5 + 3 * (i % 6) + 0.1 * i;
    sites[2 * i + 1] = 5 + 4 * (i / 6) + 0.2 * (i % 3);
  }
}

static double cvt(const void *options) {
  double sites[2 * SITES], weights[SITES], sum = 0;
  cvtm_cvt *plan;
  cvtm_cvt_result result;
  cvtm_equal_mass_result equal;
  assert_ok(cvtm_cvt_create(device, domain, density, SITES, &plan));
  spread(sites);
  assert_ok(cvtm_cvt_optimize(plan, options, sites, SITES, &result));
  sum += sites[7];
  spread(sites);
  assert_ok(cvtm_cvt_solve(plan, options, 0, sites, SITES, &result));
  sum += sites[7];
  spread(sites);
  assert_ok(cvtm_equal_mass_solve(plan, options, 1e-6, SITES, sites, weights, SITES, NULL, &equal));
  sum += sites[7];
  cvtm_cvt_destroy(plan);
  return sum;
}

static double spacing(const void *context, double x, double y) {
  (void)context, (void)x, (void)y;
  return 6;
}

/* Of a square. */
static void make_boundary(cvtm_contour *contour, cvtm_boundary *boundary) {
  int64_t first[2] = {0, 4};
  cvtm_polygons square = {1, first, (double *)(uintptr_t)corners, 0};
  assert_ok(cvtm_contour_of_polygons(&square, SIDE, SIDE, NULL, contour, NULL));
  assert_ok(cvtm_boundary_sample(contour, spacing, NULL, boundary, NULL));
}

static double slide(const void *options) {
  cvtm_contour contour;
  cvtm_boundary boundary;
  cvtm_cvt *plan;
  cvtm_cvt_result result;
  cvtm_cvt_slides slides;
  double sites[2 * SITES];
  make_boundary(&contour, &boundary);
  spread(sites);
  memcpy(sites, boundary.points, 2 * (size_t)boundary.vertex_count * sizeof *sites);
  assert_ok(cvtm_cvt_create(device, domain, density, SITES, &plan));
  const cvtm_status status =
      cvtm_cvt_slide(plan, &contour, options, &boundary, sites, SITES, &result, &slides);
  cvtm_cvt_destroy(plan);
  cvtm_boundary_free(&boundary);
  cvtm_contour_free(&contour);
  return status == CVTM_OK ? sites[7] : -(double)status;
}

static double classes(const void *options) {
  const float *intensity[2] = {density, density};
  const int64_t first[3] = {0, SITES / 2, SITES};
  double sites[2 * SITES];
  cvtm_classes_result result;
  assert_ok(cvtm_classes_solve(device, domain, intensity, 2, first, options, sites, &result));
  return sites[7];
}

static double gaussian(const void *options) {
  double points[2 * SITES];
  cvtm_lbfgsb_result result;
  spread(points);
  assert_ok(cvtm_gaussian_noise(device, domain, density, options, points, SITES, &result));
  return points[7];
}

static double contour(const void *options) {
  float coverage[PIXELS];
  int32_t labels[PIXELS];
  int64_t first[2] = {0, 4};
  cvtm_polygons square = {1, first, (double *)(uintptr_t)corners, 0};
  double sum = 0;
  for (int p = 0; p < PIXELS; ++p) {
    coverage[p] = (float)(p / SIDE > 8 && p / SIDE < 24 && p % SIDE > 8 && p % SIDE < 20);
    labels[p] = coverage[p] > 0;
  }
  for (int kind = 0; kind < 4; ++kind) {
    cvtm_contour made;
    const cvtm_status status =
        kind == 0   ? cvtm_contour_of_mask(coverage, SIDE, SIDE, options, &made, NULL)
        : kind == 1 ? cvtm_contour_of_labels(labels, SIDE, SIDE, options, &made, NULL)
        : kind == 2 ? cvtm_contour_of_frame(SIDE, SIDE, options, &made, NULL)
                    : cvtm_contour_of_polygons(&square, SIDE, SIDE, options, &made, NULL);
    assert_ok(status);
    for (int64_t k = 0; k < 2 * made.start[made.arc_count]; ++k) sum += made.points[k];
    cvtm_contour_free(&made);
  }
  return sum;
}

static double refine(const void *options) {
  cvtm_contour outline;
  cvtm_boundary boundary;
  cvtm_refinement *made = NULL;
  cvtm_refine_figures figures;
  cvtm_boundary_angles angles;
  int64_t moved = 0;
  make_boundary(&outline, &boundary);
  assert_ok(cvtm_refine(boundary.points, boundary.vertex_count, &boundary, options, &made, &figures,
                        NULL));
  const int64_t count = cvtm_refinement_count(made, NULL);
  double *points = malloc(2 * (size_t)count * sizeof *points);
  assert_non_null(points);
  cvtm_refinement_points(made, points);
  assert_ok(cvtm_refinement_move(made, points, &moved, NULL));
  assert_ok(cvtm_refinement_boundary_angles(made, &angles, NULL));
  cvtm_refinement_points(made, points);
  double sum = (double)count;
  for (int64_t k = 0; k < 2 * count; ++k) sum += points[k];
  free(points);
  cvtm_refinement_destroy(made);
  cvtm_refine_figures_free(&figures);
  cvtm_boundary_free(&boundary);
  cvtm_contour_free(&outline);
  return sum;
}

/* The number of sites is that of the map. */
static double sphere(const void *options) {
  float widths[12];
  double sum = 0;
  cvtm_sphere_mesh mesh;
  cvtm_sphere_result result;
  for (int k = 0; k < 12; ++k) widths[k] = 0.4F + 0.02F * (float)k;
  const cvtm_sphere_widths map = {
      3, 4, -1.5707963267948966, 0, 1.5707963267948966, 1.5707963267948966, widths};
  assert_ok(cvtm_sphere_solve(device, &map, NULL, options, &mesh, &result));
  for (int64_t k = 0; k < 3 * mesh.count; ++k) sum += (double)(k % 7) * mesh.points[k];
  cvtm_sphere_mesh_free(&mesh);
  return sum;
}

static double sized(const void *options) {
  cvtm_contour outline;
  cvtm_boundary boundary;
  cvtm_mesh mesh;
  cvtm_regions regions;
  double sum = 0;
  make_boundary(&outline, &boundary);
  assert_ok(cvtm_sized_mesh(&boundary, options, &mesh, &regions, NULL, NULL, NULL));
  for (int64_t k = 0; k < 2 * mesh.vertex_count; ++k) sum += mesh.points[k];
  cvtm_regions_free(&regions);
  cvtm_mesh_free(&mesh);
  cvtm_boundary_free(&boundary);
  cvtm_contour_free(&outline);
  return sum;
}

/* The sum of the bytes of a file. */
static double take_file(const char *path) {
  unsigned char *bytes;
  size_t size;
  double sum = 0;
  assert_ok(cvtm_file_read(path, 1 << 20, &bytes, &size, NULL));
  for (size_t k = 0; k < size; ++k) sum += (double)(k % 97 + 1) * bytes[k];
  free(bytes);
  remove(path);
  return sum;
}

static const char *name_of(const char *extension) {
  static char path[64];
  snprintf(path, sizeof path, "/tmp/cvtmesh-library-%ld.%s", (long)getpid(), extension);
  return path;
}

static double mesh_and_picture(const void *mesh_options, const void *picture_options) {
  double sites[2 * SITES], sum;
  cvtm_mesh mesh;
  cvtm_cells cells;
  spread(sites);
  assert_ok(cvtm_delaunay(sites, SITES, &mesh, NULL));
  assert_ok(cvtm_cells_create(&mesh, domain, &cells, NULL));
  assert_ok(cvtm_mesh_write(name_of("obj"), &mesh, mesh_options, NULL));
  sum = take_file(name_of("obj"));
  assert_ok(
      cvtm_picture_write(name_of("png"), density, domain, &mesh, &cells, picture_options, NULL));
  sum += take_file(name_of("png"));
  cvtm_cells_free(&cells);
  cvtm_mesh_free(&mesh);
  return sum;
}

static double mesh_file(const void *options) { return mesh_and_picture(options, NULL); }
static double picture_file(const void *options) { return mesh_and_picture(NULL, options); }

static double square(void *context, const double *x, double *g) {
  (void)context;
  g[0] = 2 * (x[0] - 0.3);
  return (x[0] - 0.3) * (x[0] - 0.3);
}

static double lbfgsb(const void *options) {
  cvtm_lbfgsb *one, *many;
  cvtm_lbfgsb_result result;
  double x = 2;
  assert_ok(cvtm_lbfgsb_create(device, 1, options, &one));
  assert_ok(cvtm_lbfgsb_create_batch(device, 2, 1, options, &many));
  assert_ok(cvtm_lbfgsb_set_options(one, options));
  cvtm_lbfgsb_destroy(one);
  cvtm_lbfgsb_destroy(many);
  assert_ok(cvtm_lbfgsb_minimize_host(device, 1, NULL, NULL, &x, square, NULL, options, &result));
  return x;
}

/* 2 on the diagonal of 2 rows. */
static void make_matrix(cvtm_csr *matrix) {
  assert_ok(cvtm_csr_create(2, 2, 2, matrix, NULL));
  for (int k = 0; k < 2; ++k) {
    matrix->row_start[k] = matrix->column[k] = k;
    matrix->value[k] = 2;
  }
  matrix->row_start[2] = 2;
}

static double lcp(const void *options) {
  cvtm_csr matrix;
  cvtm_lcp *stored, *grid;
  make_matrix(&matrix);
  assert_ok(cvtm_lcp_create(device, &matrix, 0, 0, options, &stored));
  assert_ok(cvtm_lcp_create_grid(device, 7, 7, options, &grid));
  cvtm_lcp_destroy(stored);
  cvtm_lcp_destroy(grid);
  cvtm_csr_free(&matrix);
  return 1;
}

static double hlcp(const void *options) {
  cvtm_csr matrix;
  cvtm_hlcp *made = NULL;
  make_matrix(&matrix);
  const cvtm_status status = cvtm_hlcp_create(device, &matrix, &matrix, options, &made);
  cvtm_hlcp_destroy(made);
  cvtm_csr_free(&matrix);
  return (double)status;
}

/* A drawing of 40 dots of a picture in memory. */
static double run(const void *options) {
  unsigned char bytes[16 + PIXELS] = "P5 32 32 255\n";
  const size_t header = strlen((char *)bytes);
  for (int p = 0; p < PIXELS; ++p) bytes[header + (size_t)p] = (unsigned char)(p % 200);
  const cvtm_memory_file file = {"a.pgm", bytes, header + PIXELS};
  cvtm_memory_output drawing = {"a.svg", NULL, 0, NULL};
  const cvtm_memory_files files = {&file, &drawing, 1, 1};
  cvtm_run_options o;
  cvtm_run *made = NULL;
  cvtm_run_defaults(&o);
  o.input.name = "a.pgm";
  o.points = 40;
  cvtm_memory_files_use(&files);
  assert_int_equal(cvtm_run_create(device, options, &made, NULL), CVTM_ERROR_USAGE);
  assert_ok(cvtm_run_create(device, &o, &made, NULL));
  assert_ok(cvtm_run_solve(made, NULL));
  assert_ok(cvtm_run_write(made, "a.svg", options, NULL));
  cvtm_memory_files_use(NULL);
  const double x = cvtm_run_get(made)->points[7];
  const double figure = x * (double)drawing.size;
  assert_true(drawing.size > 1000);
  free(drawing.bytes);
  cvtm_run_destroy(made);
  return figure;
}

static const char plate[] = "0,0\n8,0\n8,6\n0,6\n\n3,2\n5,2\n5,4\n3,4\n";

/* A triangle of a plate with a hole. */
static double outline(const void *options) {
  const cvtm_memory_file file = {"a.csv", (const unsigned char *)plate, sizeof plate - 1};
  cvtm_memory_output mesh = {"a.obj", NULL, 0, NULL};
  const cvtm_memory_files files = {&file, &mesh, 1, 1};
  cvtm_run_options o;
  cvtm_outline *made = NULL;
  cvtm_run_defaults(&o);
  o.input.name = "a.csv";
  o.outline.size = (cvtm_run_list){{"0.3+0.2*d(hole)"}, 1};
  cvtm_memory_files_use(&files);
  assert_int_equal(cvtm_outline_create(options, &made, NULL), CVTM_ERROR_USAGE);
  assert_ok(cvtm_outline_create(&o, &made, NULL));
  assert_ok(cvtm_outline_solve(made, NULL));
  assert_ok(cvtm_outline_write(made, "a.obj", options, NULL));
  cvtm_memory_files_use(NULL);
  const double figure = (double)mesh.size;
  free(mesh.bytes);
  cvtm_outline_destroy(made);
  return figure;
}

#define DEFAULTS(room) \
  static void room##_fill(void *options) { room##_defaults(options); }
DEFAULTS(cvtm_density)
DEFAULTS(cvtm_pipeline)
DEFAULTS(cvtm_condition)
DEFAULTS(cvtm_segment)
DEFAULTS(cvtm_segmentation)
DEFAULTS(cvtm_cvt)
DEFAULTS(cvtm_classes)
DEFAULTS(cvtm_gaussian)
DEFAULTS(cvtm_contour)
DEFAULTS(cvtm_refine)
DEFAULTS(cvtm_sized)
DEFAULTS(cvtm_sphere)
DEFAULTS(cvtm_picture)
DEFAULTS(cvtm_lbfgsb)
DEFAULTS(cvtm_lcp)
DEFAULTS(cvtm_hlcp)
DEFAULTS(cvtm_run)
static void nothing(void *options) { (void)options; }

TEST(test_no_options_are_the_defaults) {
  static const struct {
    double (*figure)(const void *options);
    void (*fill)(void *options);
  } kinds[] = {{tone, cvtm_density_fill},
               {colours, cvtm_density_fill},
               {density_of, cvtm_density_fill},
               {pipeline, cvtm_pipeline_fill},
               {condition, cvtm_condition_fill},
               {segment, cvtm_segment_fill},
               {segmentation, cvtm_segmentation_fill},
               {cvt, cvtm_cvt_fill},
               {slide, cvtm_cvt_fill},
               {classes, cvtm_classes_fill},
               {gaussian, cvtm_gaussian_fill},
               {contour, cvtm_contour_fill},
               {refine, cvtm_refine_fill},
               {sized, cvtm_sized_fill},
               {sphere, cvtm_sphere_fill},
               {mesh_file, nothing},
               {picture_file, cvtm_picture_fill},
               {lbfgsb, cvtm_lbfgsb_fill},
               {lcp, cvtm_lcp_fill},
               {hlcp, cvtm_hlcp_fill},
               {run, cvtm_run_fill},
               {outline, cvtm_run_fill}};
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; ++k) {
    double options[2048] = {0}; /* larger than any */
    kinds[k].fill(options);
    const double wanted = kinds[k].figure(options), found = kinds[k].figure(NULL);
    if (memcmp(&found, &wanted, sizeof found) != 0)
      fail_msg("kind %zu: %.17g without options, %.17g with the defaults", k, found, wanted);
  }
}

static int count_event(void *context, const cvtm_run_progress *now) {
  int *events = context;
  ++events[now->event];
  return now->event == CVTM_RUN_ITERATION && events[CVTM_RUN_ITERATION] == 2;
}

/* The sites that a report describes; the member stays empty. */
static void describe_sites(void *context, const cvtm_run_options *chosen,
                           const cvtm_device *described, struct cJSON *member) {
  if (described == device && member != NULL) *(int64_t *)context = chosen->points;
}

static int holds(const char *path, const char *text) {
  unsigned char *bytes;
  size_t size;
  assert_ok(cvtm_text_read(path, 1 << 20, &bytes, &size, NULL));
  const int found = strstr((char *)bytes, text) != NULL;
  free(bytes);
  return found;
}

/* A run reads arrays of the caller as it reads NPY files with the same elements. */
TEST(test_arrays_of_a_run) {
  enum { GIVEN = 5, ARRAYS = 4 };
  static double given[PIXELS];
  static uint8_t region[PIXELS];
  static float weighted[PIXELS];
  int32_t init[2 * GIVEN];
  for (int p = 0; p < PIXELS; ++p) {
    given[p] = 1 + p % SIDE;
    region[p] = p / SIDE > 4;
    weighted[p] = p % SIDE > SIDE / 2 ? 1 : 0;
  }
  for (int k = 0; k < GIVEN; ++k) {
    init[2 * k] = 5 * k + 3;
    init[2 * k + 1] = 4 * k + 8;
  }
  cvtm_npy arrays[ARRAYS] = {{'f', 8, 2, {SIDE, SIDE}, PIXELS, given, NULL},
                             {'u', 1, 2, {SIDE, SIDE}, PIXELS, region, NULL},
                             {'f', 4, 2, {SIDE, SIDE}, PIXELS, weighted, NULL},
                             {'i', 4, 2, {GIVEN, 2}, 2 * GIVEN, init, NULL}};
  const char *const names[ARRAYS] = {"density", "region", "weight", "init"};
  char folder[] = "/tmp/cvtmesh-run-XXXXXX", path[ARRAYS][64];
  double points[2][2 * GIVEN];
  cvtm_error error;
  assert_non_null(mkdtemp(folder));
  for (int from_file = 0; from_file < 2; ++from_file) {
    cvtm_input input[ARRAYS];
    for (int k = 0; k < ARRAYS; ++k) {
      const cvtm_npy *a = &arrays[k];
      snprintf(path[k], sizeof path[k], "%s/%s.npy", folder, names[k]);
      assert_ok(cvtm_npy_write(path[k], a->kind, a->item, 2, a->shape, a->data, NULL));
      input[k] = from_file ? (cvtm_input){path[k], NULL} : (cvtm_input){names[k], a};
    }
    cvtm_run_options o;
    cvtm_run *made = NULL;
    cvtm_run_defaults(&o);
    o.input = input[0];
    o.condition.within = (cvtm_run_inputs){{input[1]}, 1};
    o.condition.weight = (cvtm_run_weights){{{input[2], 3.5}}, 1};
    o.init = input[3];
    o.given = CVTM_RUN_GIVEN_ITERATIONS;
    o.iterations = 5;
    assert_ok(cvtm_run_create(device, &o, &made, &error));
    assert_ok(cvtm_run_solve(made, &error));
    assert_int_equal(cvtm_run_get(made)->count, GIVEN);
    memcpy(points[from_file], cvtm_run_get(made)->points, sizeof points[0]);
    cvtm_run_destroy(made);
    o.condition.weight.item[0].factor = -1;
    assert_int_equal(cvtm_run_create(device, &o, &made, &error), CVTM_ERROR_USAGE);
    assert_non_null(strstr(error.message, "-1' is not FILE=FACTOR"));
    arrays[0].count = PIXELS - 1;
    o.condition.weight.count = 0;
    assert_ok(cvtm_run_create(device, &o, &made, &error));
    assert_int_equal(cvtm_run_solve(made, &error), from_file ? CVTM_OK : CVTM_ERROR_ARGUMENT);
    cvtm_run_destroy(made);
    arrays[0].count = PIXELS;
    for (int k = 0; k < ARRAYS; ++k) assert_int_equal(unlink(path[k]), 0);
  }
  assert_memory_equal(points[0], points[1], sizeof points[0]);
  assert_int_equal(rmdir(folder), 0);
}

/* Values of which no text has been parsed are checked as such, and the messages name the option. */
TEST(test_values_of_a_run) {
  static double given[PIXELS];
  for (int p = 0; p < PIXELS; ++p) given[p] = 1;
  const cvtm_npy array = {'f', 8, 2, {SIDE, SIDE}, PIXELS, given, NULL};
  cvtm_run_options o[10], good;
  static const char *const named[10] = {
      "--dot-size: '2,1mm'", "--dot-size: '0'",       "--page: '0x20'",   "--pixel-size: '-1mm'",
      "--origin: '3' is",    "--max-area: '0mm'",     "--max-area 2mm^2", "--region-name: '0=a'",
      "--layers: there is",  "--dot-size 1mm: --page"};
  cvtm_run *made = NULL;
  cvtm_error error;
  cvtm_run_defaults(&good);
  good.input = (cvtm_input){"density", &array};
  good.points = 30;
  for (int k = 0; k < 10; ++k) o[k] = good;
  o[0].dot_size = (cvtm_run_lengths){{2, 1}, 2, CVTM_RUN_UNIT_MM};
  o[1].dot_size = (cvtm_run_lengths){{0}, 1, CVTM_RUN_UNIT_NONE};
  o[2].page.height = 20;
  o[3].world.pixel_size = (cvtm_run_lengths){{-1}, 1, CVTM_RUN_UNIT_MM};
  o[4].world.from_file = 1;
  o[4].world.origin = (cvtm_run_lengths){{3}, 1, CVTM_RUN_UNIT_NONE};
  for (int k = 5; k < 8; ++k) o[k].domain.kind = CVTM_RUN_DOMAIN_FRAME;
  o[5].refine.max_area = (cvtm_run_areas){{{0, 0, CVTM_RUN_UNIT_MM}}, 1};
  o[6].refine.max_area = (cvtm_run_areas){{{1, 2, CVTM_RUN_UNIT_MM}}, 1};
  o[7].domain.region_names = (cvtm_run_region_names){{{0, "a"}}, 1};
  o[8].layers = 1 << 10;
  o[9].dot_size = (cvtm_run_lengths){{1}, 1, CVTM_RUN_UNIT_MM};
  for (int k = 0; k < 10; ++k) {
    assert_int_equal(cvtm_run_create(device, &o[k], &made, &error), CVTM_ERROR_USAGE);
    if (strstr(error.message, named[k]) == NULL) fail_msg("%s: %s", named[k], error.message);
  }
  assert_int_equal(cvtm_run_page_format("a5", &good.page.width, &good.page.height), 1);
  assert_true(good.page.width == 148 && good.page.height == 210);
  good.dot_size = o[9].dot_size;
  good.world.pixel_size = (cvtm_run_lengths){{2, 2}, 2, CVTM_RUN_UNIT_CM};
  good.world.origin = (cvtm_run_lengths){{1, 2}, 2, CVTM_RUN_UNIT_M};
  good.layers = CVTM_PICTURE_CELLS | CVTM_PICTURE_SITES;
  good.refine.max_area = (cvtm_run_areas){{{0, 9, CVTM_RUN_UNIT_NONE}}, 1};
  good.domain.kind = CVTM_RUN_DOMAIN_FRAME;
  good.domain.region_names = (cvtm_run_region_names){{{1, "plate"}}, 1};
  assert_ok(cvtm_run_create(device, &good, &made, &error));
  assert_ok(cvtm_run_solve(made, &error));
  assert_int_equal(cvtm_run_get(made)->regions->area_group_count, 1);
  assert_string_equal(cvtm_run_get(made)->regions->area_groups[0].name, "plate");
  char *report = cvtm_run_report(made);
  assert_non_null(
      strstr(report, "\"world\":{\"unit\":\"cm\",\"pixel_size\":2,\"origin\":[100,200]"));
  free(report);
  cvtm_run_destroy(made);
}

/* The mesh of an outline: points of files, groups, the report, several files; no file is written
 * over the outline. */
TEST(test_files_of_an_outline) {
  const cvtm_memory_file file = {"a.csv", (const unsigned char *)plate, sizeof plate - 1};
  cvtm_memory_output made_files[] = {
      {"a.obj", NULL, 0, NULL}, {"b.svg", NULL, 0, NULL}, {"r.json", NULL, 0, NULL}};
  const cvtm_memory_files files = {&file, made_files, 1, 3};
  cvtm_run_options o, wrong[3];
  cvtm_outline *made = NULL;
  cvtm_error error;
  cvtm_run_defaults(&o);
  o.input.name = "a.csv";
  o.points = 300;
  for (int k = 0; k < 3; ++k) wrong[k] = o;
  wrong[0].outline.size = (cvtm_run_list){{"1+"}, 1};
  wrong[1].outline.metric_ratio = 3;
  wrong[2].refine.min_angle = 20;
  cvtm_memory_files_use(&files);
  for (int k = 0; k < 3; ++k)
    assert_int_equal(cvtm_outline_create(&wrong[k], &made, &error), CVTM_ERROR_USAGE);
  o.outline.boundary_names = (cvtm_run_list){{"hole-1=inlet"}, 1};
  o.report = "r.json";
  assert_ok(cvtm_outline_create(&o, &made, &error));
  assert_ok(cvtm_outline_solve(made, &error));
  const cvtm_outline_result *got = cvtm_outline_get(made);
  const int64_t n = got->mesh->vertex_count;
  assert_true(n > 280 && n < 320 && got->converged);
  int is_corner = 0;
  for (int64_t v = 0; v < n; ++v) {
    assert_true(got->points[2 * v + 1] >= 0 && got->points[2 * v + 1] <= 6);
    is_corner |= got->points[2 * v] == 3 && got->points[2 * v + 1] == 2;
  }
  assert_true(is_corner);
  assert_string_equal(got->regions->line_groups[4].name, "inlet");
  assert_ok(cvtm_outline_write(made, "a.obj", NULL, &error));
  assert_ok(cvtm_outline_write(made, "b.svg", NULL, &error));
  assert_int_equal(cvtm_outline_write(made, "a.unknown", NULL, &error), CVTM_ERROR_USAGE);
  assert_ok(cvtm_outline_write(made, NULL, NULL, &error));
  char *report = cvtm_outline_report(made);
  assert_non_null(strstr(report, "\"input_corners\":8,"));
  free(report);
  cvtm_outline_destroy(made);
  cvtm_memory_files_use(NULL);
  for (int k = 0; k < 3; ++k) {
    assert_true(made_files[k].size > 100);
    free(made_files[k].bytes);
  }
  char folder[] = "/tmp/cvtmesh-outline-XXXXXX", path[64];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/a.csv", folder);
  FILE *stream = fopen(path, "w");
  assert_non_null(stream);
  assert_true(fputs(plate, stream) >= 0 && fclose(stream) == 0);
  o.input.name = path;
  o.report = NULL;
  o.output = (cvtm_run_list){{path}, 1};
  assert_int_equal(cvtm_outline_create(&o, &made, &error), CVTM_ERROR_USAGE);
  assert_non_null(strstr(error.message, "overwrite"));
  assert_int_equal(unlink(path) + rmdir(folder), 0);
}

/* A run refuses to overwrite what it reads, and writes several kinds of a file. */
TEST(test_files_of_a_run) {
  char folder[] = "/tmp/cvtmesh-run-XXXXXX", path[64], link[64];
  cvtm_run_options o;
  cvtm_run *made = NULL;
  cvtm_error error;
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/a.png", folder);
  snprintf(link, sizeof link, "%s/b.png", folder);
  unsigned char grey[PIXELS];
  for (int p = 0; p < PIXELS; ++p) grey[p] = (unsigned char)(p % 200);
  assert_ok(cvtm_png_write(path, SIDE, SIDE, 1, grey, NULL));
  assert_int_equal(symlink(path, link), 0);
  cvtm_run_defaults(&o);
  o.input.name = path;
  o.points = 40;
  assert_ok(cvtm_run_create(device, &o, &made, NULL));
  assert_ok(cvtm_run_solve(made, NULL));
  assert_int_equal(cvtm_run_write(made, link, NULL, &error), CVTM_ERROR_USAGE);
  assert_non_null(strstr(error.message, "overwrite"));
  snprintf(link, sizeof link, "%s/a.unknown", folder);
  assert_int_equal(cvtm_run_write(made, link, NULL, &error), CVTM_ERROR_USAGE);
  snprintf(link, sizeof link, "%s/a.svg", folder);
  assert_ok(cvtm_run_write(made, link, NULL, &error));
  assert_true(holds(link, "<circle"));
  cvtm_run_options cells = o;
  cells.svg = CVTM_SVG_CELLS;
  assert_ok(cvtm_run_write(made, link, &cells, &error));
  assert_false(holds(link, "<circle"));
  cells.svg = CVTM_SVG_STIPPLES;
  cells.output = (cvtm_run_list){{link}, 1};
  assert_ok(cvtm_run_write(made, NULL, &cells, &error));
  assert_true(holds(link, "<circle"));
  cells.density_out = "d.npy";
  cells.equal_mass.weights_out = "./d.npy";
  assert_int_equal(cvtm_run_write(made, NULL, &cells, &error), CVTM_ERROR_USAGE);
  assert_non_null(
      strstr(error.message, "--weights-out would overwrite d.npy, which --density-out"));
  cells.density_out = cells.equal_mass.weights_out = NULL;
  cells.output = (cvtm_run_list){{link, link}, 2};
  cvtm_run *none = NULL;
  assert_int_equal(cvtm_run_create(device, &cells, &none, &error), CVTM_ERROR_USAGE);
  assert_non_null(strstr(error.message, "--output would overwrite"));
  cells.output.count = 1;
  cells.report = path; /* the picture */
  assert_int_equal(cvtm_run_write(made, NULL, &cells, &error), CVTM_ERROR_USAGE);
  assert_int_equal(unlink(link), 0);
  const cvtm_run_result *got = cvtm_run_get(made);
  assert_int_equal(got->count, 40);
  assert_int_equal(got->mesh->vertex_count, 40);
  assert_int_equal(got->cells->count, 40);
  char *report = cvtm_run_report(made);
  assert_non_null(strstr(report, "\"sites\":40,"));
  assert_null(strstr(report, "\"options\""));
  free(report);
  cvtm_run_destroy(made);
  int64_t described = 0;
  cvtm_run_options asked = o;
  asked.points = 0; /* as the ink of the picture needs */
  asked.context = &described;
  asked.describe = describe_sites;
  assert_ok(cvtm_run_create(device, &asked, &made, &error));
  assert_ok(cvtm_run_solve(made, &error));
  report = cvtm_run_report(made);
  assert_non_null(strstr(report, "\"options\":{},\"seed\":1,"));
  assert_true(described == cvtm_run_get(made)->count);
  free(report);
  cvtm_run_destroy(made);
  int events[3] = {0, 0, 0};
  o.context = events;
  o.progress = count_event;
  assert_ok(cvtm_run_create(device, &o, &made, &error));
  assert_ok(cvtm_run_solve(made, &error));
  assert_int_equal(cvtm_run_get(made)->solve->stop, CVTM_STOP_REQUEST);
  assert_true(events[CVTM_RUN_BEGINS] == 1 && events[CVTM_RUN_ITERATION] == 2 &&
              events[CVTM_RUN_ENDS] == 1);
  cvtm_run_destroy(made);
  snprintf(link, sizeof link, "%s/b.png", folder);
  assert_int_equal(unlink(path) | unlink(link) | rmdir(folder), 0);
}

/* Smoothing has none. */
TEST(test_options_without_defaults) {
  cvtm_bias *bias;
  assert_refused(cvtm_bias_create(device, SIDE, SIDE, NULL, NULL, &bias));
}

TEST(test_writers_refuse_sizes_that_cannot_be) {
  const double points[4] = {1, 2, 3, 4};
  static const int64_t shapes[][3] = {{-1, 2, 1},
                                      {2, -1, 1},
                                      {-2, -1, 1},
                                      {INT64_MAX, 2, 1},
                                      {INT64_MAX / 2, 1, 1},
                                      {INT64_C(1) << 32, INT64_C(1) << 32, 1},
                                      {0, -1, 1}};
  cvtm_error error;
  for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; ++k)
    assert_refused(cvtm_npy_write(name_of("npy"), 'f', 8, 3, shapes[k], points, &error));
  const int64_t empty[2] = {INT64_MAX, 0};
  assert_refused(cvtm_npy_write(name_of("npy"), 'f', 3, 2, shapes[0], points, &error));
  assert_int_not_equal(access(name_of("npy"), F_OK), 0);
  assert_ok(cvtm_npy_write(name_of("npy"), 'f', 8, 2, empty, points, &error));
  remove(name_of("npy"));
  for (int e = 0; e < 3; ++e) {
    const char *extension = (const char *const[]){"csv", "xyz", "npy"}[e];
    for (int k = 0; k < 3; ++k) {
      const int64_t count = (const int64_t[]){-1, INT64_MAX, INT64_MIN}[k], first[2] = {0, count};
      assert_refused(cvtm_points_write(name_of(extension), points, count, &error));
      assert_refused(cvtm_points_write_classes(e == 0 ? "csv" : "npy", name_of(extension), points,
                                               first, 1, &error));
      assert_int_not_equal(access(name_of(extension), F_OK), 0);
    }
    assert_ok(cvtm_points_write(name_of(extension), points, 0, &error));
    remove(name_of(extension));
  }
  const int64_t down[3] = {0, 2, 1}, late[2] = {1, 2};
  assert_refused(cvtm_points_write_classes("csv", name_of("csv"), points, down, 2, &error));
  assert_refused(cvtm_points_write_classes("csv", name_of("csv"), points, late, 1, &error));
  assert_refused(cvtm_points_write_classes("csv", name_of("csv"), points, late, 0, &error));
  cvtm_mesh mesh = {.vertex_count = -1};
  assert_refused(cvtm_mesh_write(name_of("obj"), &mesh, NULL, &error));
  mesh = (cvtm_mesh){.triangle_count = -1};
  assert_refused(cvtm_mesh_write(name_of("svg"), &mesh, NULL, &error));
  const unsigned char grey[4] = {0};
  assert_refused(cvtm_png_write(name_of("png"), -1, 2, 1, grey, &error));
  cvtm_csr matrix;
  make_matrix(&matrix);
  matrix.columns = -1;
  assert_refused(cvtm_matrix_market_write(name_of("mtx"), &matrix, &error));
  cvtm_csr_free(&matrix);
}

int main(void) { return cmocka_run_group_tests(testing_tests, start, finish); }

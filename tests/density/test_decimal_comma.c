/* Numbers in files and messages have a decimal point where the caller's locale has a comma: what is
 * written is the same bytes as in the C locale, and what is read the same numbers. */
#include "testing.h"

#include "base/file.h"
#include "density/density.h"
#include "lcp/matrix_market.h"
#include "meshes/mesh_file.h"
#include "meshes/polygon_file.h"

#include <unistd.h>

#include "decimal_comma.h"

enum { POINTS = 5 };
/* Each branch that prints a number: short, long, with an exponent, of a power of two. */
static const double points[2 * POINTS] = {0.5,    0.1,   12.25,  1.0 / 3, 7.5,
                                          1.5e-7, 2.5e5, 0x1p-9, 100.125, 123456.789e-3};

static const char *name_of(const char *extension) {
  static char path[64];
  snprintf(path, sizeof path, "/tmp/cvtmesh-comma-%ld.%s", (long)getpid(), extension);
  return path;
}

/* The file, which is removed; malloc'd, with a zero byte behind it. */
static char *take_file(const char *path) {
  unsigned char *bytes;
  size_t size;
  assert_ok(cvtm_file_read(path, 1 << 20, &bytes, &size, NULL));
  assert_int_equal(strlen((char *)bytes), size);
  remove(path);
  return (char *)bytes;
}

static char *write_points(const char *extension) {
  const char *path = name_of(extension);
  double *read = NULL;
  int64_t count = 0;
  assert_ok(cvtm_points_write(path, points, POINTS, NULL));
  assert_ok(cvtm_points_read(path, &read, &count, NULL));
  assert_int_equal(count, POINTS);
  assert_memory_equal(read, points, sizeof points);
  free(read);
  return take_file(path);
}

static char *write_mesh(const char *extension) {
  const char *path = name_of(extension);
  const cvtm_mesh_file_options options = {
      .domain = {300000, 200, 0}, .ascii = 1, .vertex_data = points};
  cvtm_mesh mesh, read;
  assert_ok(cvtm_delaunay(points, POINTS, &mesh, NULL));
  assert_ok(cvtm_mesh_write(path, &mesh, &options, NULL));
  static const char *const readable = "obj vtu msh";
  if (strstr(readable, extension) != NULL) {
    assert_ok(cvtm_mesh_read(path, &read, NULL));
    assert_int_equal(read.triangle_count, mesh.triangle_count);
    const double width = read.points[6] - read.points[0];
    assert_memory_equal(&width, &(double){mesh.points[6] - mesh.points[0]}, sizeof width);
    cvtm_mesh_free(&read);
  }
  cvtm_mesh_free(&mesh);
  return take_file(path);
}

static char *write_matrix(const char *extension) {
  const char *path = name_of(extension);
  cvtm_csr matrix, read;
  assert_ok(cvtm_csr_create(1, 2, 2, &matrix, NULL));
  matrix.row_start[0] = 0, matrix.row_start[1] = 2;
  matrix.column[0] = 0, matrix.column[1] = 1;
  matrix.value[0] = 0.1, matrix.value[1] = -1.5e-300;
  assert_ok(cvtm_matrix_market_write(path, &matrix, NULL));
  assert_ok(cvtm_matrix_market_read(path, &read, NULL));
  assert_memory_equal(read.value, matrix.value, 2 * sizeof *matrix.value);
  CALL_EACH(cvtm_csr_free, cvtm_csr, &matrix, &read);
  return take_file(path);
}

static char *write_message(const char *extension) {
  cvtm_error error;
  (void)extension;
  (void)cvtm_fail(&error, CVTM_ERROR_INPUT, "%g and %.3f", 1.5, 0.25);
  return strdup(error.message);
}

typedef char *(*writer)(const char *extension);
static const struct {
  writer write;
  const char *extension;
} files[] = {{write_points, "csv"}, {write_points, "xyz"}, {write_mesh, "obj"},
             {write_mesh, "off"},   {write_mesh, "ply"},   {write_mesh, "stl"},
             {write_mesh, "vtk"},   {write_mesh, "vtu"},   {write_mesh, "msh"},
             {write_mesh, "inp"},   {write_mesh, "node"},  {write_mesh, "ele"},
             {write_mesh, "xdmf"},  {write_matrix, "mtx"}, {write_message, "text"}};
enum { FILES = sizeof files / sizeof files[0] };

static void write_all(char *text[FILES]) {
  for (int k = 0; k < FILES; ++k) text[k] = files[k].write(files[k].extension);
}

TEST(test_written_bytes_are_the_same) {
  char *with_point[FILES], *with_comma[FILES];
  assert_non_null(setlocale(LC_ALL, "C"));
  write_all(with_point);
  use_decimal_comma();
  write_all(with_comma);
  for (int k = 0; k < FILES; ++k) {
    assert_string_equal(with_comma[k], with_point[k]);
    free_all(with_comma[k], with_point[k]);
  }
  assert_string_equal(setlocale(LC_ALL, NULL), "de_DE.UTF-8");
}

TEST(test_numbers_of_text) {
  static const char *const rings[][2] = {
      {"csv", "x,y\n1.5,1\n9,1\n9,7.25\n"},
      {"geojson", "{\"type\":\"Polygon\",\"coordinates\":[[[1.5,1],[9,1],[9,7.25],[1.5,1]]]}"},
      {"svg",
       "<svg viewBox=\"0 0 10 10\" xmlns=\"http://www.w3.org/2000/svg\">"
       "<path d=\"M1.5 1L9 1 9 7.25z\"/></svg>"}};
  for (size_t k = 0; k < sizeof rings / sizeof rings[0]; ++k) {
    cvtm_polygons polygons;
    const char *text = rings[k][1];
    assert_ok(cvtm_polygons_read_bytes(rings[k][0], (const unsigned char *)text, strlen(text),
                                       "ring", &polygons, NULL));
    double least = polygons.points[0], most = polygons.points[1];
    for (int i = 0; i < 3; ++i) {
      if (polygons.points[2 * i] < least) least = polygons.points[2 * i];
      if (polygons.points[2 * i + 1] > most) most = polygons.points[2 * i + 1];
    }
    assert_true(least == 1.5 && most == 7.25);
    cvtm_polygons_free(&polygons);
  }
}

TEST(test_pfm) {
  cvtm_image image;
  unsigned char bytes[64] = "Pf\n2 1\n-1.5\n";
  const size_t header = strlen((char *)bytes);
  const float values[2] = {0.25f, 3};
  memcpy(bytes + header, values, sizeof values);
  assert_ok(cvtm_image_parse(bytes, header + sizeof values, "a.pfm", &image, NULL));
  assert_int_equal(image.width, 2);
  assert_memory_equal(image.value, values, sizeof values);
  cvtm_image_free(&image);
}

TEST_MAIN()

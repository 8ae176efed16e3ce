/* Numbers as text against printf, and large files against themselves for any number of threads. */

#include "testing.h"

#include <omp.h>
#include <unistd.h>

#include "base/file.h"
#include "meshes/mesh_file.h"
#include "meshes/formats/formats.h"
#include "splitmix64.h"

/* Numbers of every kind: coordinates, floats, few digits, powers of two and their neighbours, ties
 * between decimals, integers, and all bits. */
static double pick(uint64_t *state, int kind) {
  const double u = random_unit(state);
  uint64_t bits;
  double value;
  switch (kind % 9) {
    case 0:
      return 8192 * u;
    case 1:
      return (double)(float)(8192 * u);
    case 2:
      return floor(1e6 * u) / 1000;
    case 3:
      return nextafter(ldexp(1, random_below(state, 90) - 40), random_below(state, 3));
    case 4:
      return ldexp(u, random_below(state, 110) - 50);
    case 5:
      return (rint(1e7 * u) + 0.5) / 1e4;
    case 6:
      return -random_below(state, 2000) / 8.0;
    case 7:
      return pow(10, random_below(state, 20) - 5) * (1 + (random_below(state, 5) - 2) * 0x1p-52);
    default:
      bits = random_bits(state);
      memcpy(&value, &bits, sizeof value);
      return isnan(value) ? 0 : value;
  }
}

static void check_number(double value) {
  char expected[64], text[CVTM_TEXT_NUMBER + 1];
  *cvtm_text_number(text, value) = '\0';
  snprintf(expected, sizeof expected, "%.15g", value);
  if (strtod(expected, NULL) != value) snprintf(expected, sizeof expected, "%.17g", value);
  assert_string_equal(text, expected);
}

static void check_fixed(double value, int decimals) {
  char expected[400], text[CVTM_TEXT_FIXED + 1];
  *cvtm_text_fixed(text, value, decimals) = '\0';
  size_t length = (size_t)snprintf(expected, sizeof expected, "%.*f", decimals, value);
  while (expected[length - 1] == '0') --length;
  if (expected[length - 1] == '.') --length;
  expected[length] = '\0';
  assert_string_equal(text, strcmp(expected, "-0") == 0 ? "0" : expected);
}

TEST(numbers_are_those_of_printf) {
  uint64_t random = 1;
  static const double few[] = {
      0,     -0.0,  1,    -1,   10,     0.1,    1.0 / 3,  9.99999999999999,
      1e-4,  1e-5,  1e14, 1e15, 1e-320, 1e308,  INFINITY, -INFINITY,
      0.125, -0.04, 1e22, 1e23, 123456, 999999, 0.3,      4503599627370497.5};
  for (size_t k = 0; k < sizeof few / sizeof few[0]; ++k) {
    check_number(few[k]);
    for (int d = 1; d <= 15 && isfinite(few[k]); ++d) check_fixed(few[k], d);
  }
  for (int k = 0; k < 200000; ++k) {
    const double value = pick(&random, k);
    check_number(value);
    if (isfinite(value)) check_fixed(value, 1 + random_below(&random, 15));
  }
}

TEST(integers) {
  static const int64_t some[] = {0, 7, -7, 10, 2147483648, INT64_MAX, INT64_MIN};
  for (size_t k = 0; k < sizeof some / sizeof some[0]; ++k) {
    char expected[32], text[CVTM_TEXT_INTEGER + 1];
    *cvtm_text_integer(text, some[k]) = '\0';
    snprintf(expected, sizeof expected, "%lld", (long long)some[k]);
    assert_string_equal(text, expected);
  }
}

static const char *const formats[] = {"obj", "off", "ply", "stl", "vtk",
                                      "vtu", "msh", "csv", "xyz"};
enum { FORMATS = 9, MESHES = 7 /* the first of them */, COUNT = 30000 };
static const cvtm_domain domain = {100, 70, 0};

static cvtm_mesh make_mesh(double *mass) {
  double *points = doubles(2 * COUNT);
  uint64_t random = 2;
  cvtm_mesh mesh;
  for (int k = 0; k < 2 * COUNT; ++k)
    points[k] = random_unit(&random) * (k % 2 == 0 ? domain.width : domain.height);
  for (int k = 0; k < COUNT; ++k) mass[k] = random_unit(&random);
  assert_ok(cvtm_delaunay(points, COUNT, &mesh, NULL));
  free(points);
  return mesh;
}

static cvtm_status write_mesh(const char *path, int format, const cvtm_mesh *mesh,
                              const double *mass, int ascii, cvtm_error *error) {
  const cvtm_mesh_file_options options = {
      .domain = domain, .ascii = ascii, .vertex_data = mass, .format = formats[format]};
  if (format < MESHES) return cvtm_mesh_write(path, mesh, &options, error);
  return cvtm_points_write_as(formats[format], path, mesh->points, mesh->vertex_count, error);
}

TEST(large_files_do_not_depend_on_threads) {
  const int threads[] = {1, 2, 5}, before = omp_get_max_threads();
  double *mass = doubles(COUNT);
  const cvtm_mesh mesh = make_mesh(mass);
  char path[] = "/tmp/cvtmesh-test-XXXXXX";
  close(mkstemp(path));
  for (int f = 0; f < 2 * FORMATS; ++f) {
    unsigned char *first = NULL, *bytes;
    size_t length = 0, size;
    for (int t = 0; t < 3; ++t) {
      omp_set_num_threads(threads[t]);
      assert_ok(write_mesh(path, f / 2, &mesh, mass, f % 2, NULL));
      assert_ok(cvtm_file_read(path, 1 << 28, &bytes, &size, NULL));
      assert_true(size > COUNT);
      if (t == 0) {
        first = bytes;
        length = size;
        continue;
      }
      assert_int_equal(size, length);
      assert_memory_equal(bytes, first, size);
      free(bytes);
    }
    free(first);
    cvtm_error error = {CVTM_OK, ""};
    assert_int_equal(write_mesh("/dev/full", f / 2, &mesh, mass, f % 2, &error), CVTM_ERROR_IO);
    assert_memory_equal(error.message, "/dev/full: ", 11);
  }
  omp_set_num_threads(before);
  remove(path);
  cvtm_mesh copy = mesh;
  cvtm_mesh_free(&copy);
  free(mass);
}

TEST_MAIN()

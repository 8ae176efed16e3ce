#include "testing.h"

#include "meshes/mesh_file.h"

#include "base/file.h"
#include "splitmix64.h"

#include <unistd.h>

/* The first READ of them are also read. */
static const char *const formats[] = {"obj", "vtu", "msh", "off", "ply", "stl", "vtk", "inp"};
enum { READ = 3, FORMATS = 8, SITES = 60 };

static const cvtm_domain domain = {100, 70, 0};

static cvtm_mesh make_mesh(int64_t count) {
  double points[2 * SITES];
  uint64_t state = 5;
  cvtm_mesh mesh;
  for (int64_t i = 0; i < count; ++i) {
    points[2 * i] = domain.width * congruential_unit(&state);
    points[2 * i + 1] = domain.height * congruential_unit(&state);
  }
  assert_ok(cvtm_delaunay(points, count, &mesh, NULL));
  /* The mesh itself lies on a coarse grid; these coordinates need every digit. */
  memcpy(mesh.points, points, 2 * (size_t)count * sizeof *points);
  return mesh;
}

static char path[64];

static const char *temporary(const char *extension) {
  snprintf(path, sizeof path, "/tmp/cvtmesh-test-%ld.%s", (long)getpid(), extension);
  return path;
}

/* The vertex at this place, -1 if there is none. */
static int64_t find_vertex(const cvtm_mesh *mesh, const double *place) {
  for (int64_t i = 0; i < mesh->vertex_count; ++i)
    if (mesh->points[2 * i] == place[0] && mesh->points[2 * i + 1] == place[1]) return i;
  return -1;
}

/* What reading should give: the largest y of the file is 0. */
static double *expected_points(const cvtm_mesh *mesh, int unit) {
  double *points = malloc(2 * (size_t)mesh->vertex_count * sizeof *points);
  double scale = unit ? domain.width : 1, top = -1e300;
  for (int64_t i = 0; i < mesh->vertex_count; ++i) {
    points[2 * i] = mesh->points[2 * i] / scale;
    points[2 * i + 1] = (domain.height - mesh->points[2 * i + 1]) / scale;
    top = fmax(top, points[2 * i + 1]);
  }
  for (int64_t i = 0; i < mesh->vertex_count; ++i) points[2 * i + 1] = top - points[2 * i + 1];
  return points;
}

static void assert_same(const cvtm_mesh *mesh, const double *points, const cvtm_mesh *read) {
  assert_int_equal(read->vertex_count, mesh->vertex_count);
  assert_int_equal(read->triangle_count, mesh->triangle_count);
  assert_int_equal(read->coincident_count, 0);
  assert_memory_equal(read->points, points, 2 * (size_t)mesh->vertex_count * sizeof *points);
  assert_memory_equal(read->triangles, mesh->triangles, 12 * (size_t)mesh->triangle_count);
}

TEST(every_format_reads_back) {
  cvtm_mesh mesh = make_mesh(SITES);
  double mass[SITES];
  for (int k = 0; k < SITES; ++k) mass[k] = k / 3.0;
  for (int f = 0; f < READ; ++f) {
    for (int variant = 0; variant < 8; ++variant) {
      int ascii = variant & 1, unit = variant >> 1 & 1;
      cvtm_mesh_file_options options = {
          .domain = domain, .unit = unit, .ascii = ascii, .vertex_data = variant & 4 ? mass : NULL};
      cvtm_error error = {0};
      cvtm_mesh read;
      const char *file = temporary(formats[f]);
      assert_ok(cvtm_mesh_write(file, &mesh, &options, &error));
      assert_ok(cvtm_mesh_read(file, &read, &error));
      double *points = expected_points(&mesh, unit);
      assert_same(&mesh, points, &read);
      free(points);
      cvtm_mesh_free(&read);
      remove(file);
    }
  }
  cvtm_mesh_free(&mesh);
}

TEST(one_and_two_sites_can_be_written) {
  for (int64_t sites = 1; sites <= 2; ++sites) {
    cvtm_mesh mesh = make_mesh(sites);
    assert_int_equal(mesh.triangle_count, 0);
    for (int f = 0; f < FORMATS; ++f) {
      for (int ascii = 0; ascii < 2; ++ascii) {
        cvtm_mesh_file_options options = {.domain = domain, .ascii = ascii};
        cvtm_mesh read;
        const char *file = temporary(formats[f]);
        assert_ok(cvtm_mesh_write(file, &mesh, &options, NULL));
        const cvtm_status status = cvtm_mesh_read(file, &read, NULL);
        remove(file);
        assert_int_equal(status, f < READ ? CVTM_OK : CVTM_ERROR_ARGUMENT);
        if (f >= READ) continue;
        assert_int_equal(read.vertex_count, sites);
        assert_int_equal(read.triangle_count, 0);
        assert_true(read.collinear);
        cvtm_mesh_free(&read);
      }
    }
    cvtm_mesh_free(&mesh);
  }
}

TEST(coincident_sites_are_counted) {
  const double points[] = {0, 0, 9, 1, 4, 8, 9, 1, 9, 1};
  cvtm_mesh mesh, read;
  assert_ok(cvtm_delaunay(points, 5, &mesh, NULL));
  cvtm_mesh_file_options options = {.domain = domain};
  const char *file = temporary("vtu");
  assert_ok(cvtm_mesh_write(file, &mesh, &options, NULL));
  assert_ok(cvtm_mesh_read(file, &read, NULL));
  remove(file);
  assert_int_equal(read.vertex_count, 5);
  assert_int_equal(read.coincident_count, 2);
  assert_false(read.collinear);
  CALL_EACH(cvtm_mesh_free, cvtm_mesh, &mesh, &read);
}

static cvtm_status read_text(const char *extension, const char *text, cvtm_mesh *mesh,
                             cvtm_error *error) {
  size_t size = strlen(text);
  unsigned char *exact = malloc(size + (size == 0)); /* no zero byte behind it */
  memcpy(exact, text, size);
  cvtm_status status = cvtm_mesh_read_bytes(extension, exact, size, "t", mesh, error);
  free(exact);
  return status;
}

TEST(files_of_others_are_read) {
  static const struct {
    const char *extension, *text;
  } files[] = {
      {"obj", "o x\nv 0 0 1 0.5\nvn 0 0 1\nv 2 0 1\nv 0 1 1\nusemtl a\nf -3//1 -2//1 -1//1\n"},
      {"obj", "v 0 0 1\r\nv 2 0 1\r\nv 0 1 1\r\nf 1/2/3 3/4/5 2/6/7 # turned\r\n"},
      {"msh",
       "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n1\n2 1 \"$x\"\n"
       "$EndPhysicalNames\n$Nodes\n3\n9 0 1 0\n5 0 0 0\n7 2 0 0\n$EndNodes\n$Elements\n2\n1 "
       "15 2 0 1 5\n2 2 2 0 1 5 7 9\n$EndElements\n"},
      {"msh",
       "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$ParametricNodes\n3\n9 0 1 0 0 4\n5 0 0 0 1 2 .5\n7 "
       "2 0 0 2 1 .5 1\n$EndParametricNodes\n$Elements\n1\n2 2 2 0 1 5 7 9\n$EndElements\n"},
      {"msh",
       "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$ParametricNodes\n3\n9 0 1 0 3 1\n5 0 0 0 3 1\n7 2 0 "
       "0 3 1\n$EndParametricNodes\n$Elements\n1\n2 2 0 5 7 9\n$EndElements\n"},
      {"vtu",
       "<?xml version='1.0'?><!-- <a> --><VTKFile type='UnstructuredGrid' "
       "byte_order='BigEndian'><UnstructuredGrid><Piece NumberOfPoints='3' NumberOfCells='1'>"
       "<Cells><DataArray type='Int32' Name='connectivity' format='ascii'>0 1 2</DataArray>"
       "<DataArray type='Int32' Name='offsets' format='ascii'>3</DataArray><DataArray "
       "type='UInt8' Name='types' format='ascii'>5</DataArray></Cells><Points><DataArray "
       "type='Float32' NumberOfComponents='3' format='binary'>"
       "AAAAJA==AAAAAAAAAAAAAAAAQAAAAAAAAAAAAAAAAAAAAD+AAAAAAAAA</DataArray></Points></Piece>"
       "</UnstructuredGrid></VTKFile>"},
  };
  enum { FILES = sizeof files / sizeof files[0] };
  for (size_t k = 0; k < 2 * FILES; ++k) { /* then again after a byte order mark */
    cvtm_mesh mesh;
    cvtm_error error = {0};
    char text[1024];
    snprintf(text, sizeof text, "%s%s", k < FILES ? "" : "\xef\xbb\xbf", files[k % FILES].text);
    cvtm_status status = read_text(files[k % FILES].extension, text, &mesh, &error);
    if (status != CVTM_OK) print_error("%s\n", error.message);
    assert_ok(status);
    assert_int_equal(mesh.vertex_count, 3);
    assert_int_equal(mesh.triangle_count, 1);
    /* y down now: the corners (0,0), (2,0), (0,1), counterclockwise with y up. */
    const double corners[3][2] = {{0, 1}, {2, 1}, {0, 0}};
    int first = 0;
    while (first < 3 && find_vertex(&mesh, corners[0]) != mesh.triangles[first]) ++first;
    assert_true(first < 3);
    for (int c = 0; c < 3; ++c)
      assert_int_equal(mesh.triangles[(first + c) % 3], find_vertex(&mesh, corners[c]));
    cvtm_mesh_free(&mesh);
  }
}

#define VTU_HEAD "<VTKFile type='UnstructuredGrid'><UnstructuredGrid>"
#define VTU_TAIL "</UnstructuredGrid></VTKFile>"
#define VTU_POINTS                                                                 \
  VTU_HEAD                                                                         \
  "<Piece NumberOfPoints='1' NumberOfCells='1'><Points><DataArray type='Float64' " \
  "NumberOfComponents='3' format='ascii'>0 0 0</DataArray></Points>"
#define MSH_HEAD "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n"
#define MSH_NODES MSH_HEAD "$Nodes\n1 3 1 3\n2 1 0 3\n1\n2\n3\n0 0 0\n1 0 0\n0 1 0\n$EndNodes\n"

TEST(malformed_files_are_refused) {
  static const struct {
    const char *extension, *text, *reason;
  } files[] = {
      {"obj", "", "no vertex"},
      {"obj", "v 0 0 0\nv 1 0\n", "line 2: a vertex needs three numbers"},
      {"obj", "v 0 0 0\nv 1 0 x\n", "line 2: "},
      {"obj", "v 0 0 0\n\nv 1 nan 0\n", "line 3: a coordinate is not finite"},
      {"obj", "v 0 0 0\nv 1 0 1\n", "line 2: the mesh is not planar"},
      {"obj", "v 0x1p3 0 0\n", "line 1: "},
      {"obj", "v 0 0 0\nf 1 1 2\n", "line 2: a triangle refers to a vertex"},
      {"obj", "v 0 0 0\nf 0 1 1\n", "line 2: a triangle refers to a vertex"},
      {"obj", "v 0 0 0\nf -2 1 1\n", "line 2: a triangle refers to a vertex"},
      {"obj", "v 0 0 0\nf 1 1\n", "line 2: a face is not a triangle"},
      {"obj", "v 0 0 0\nf 1 1 1 1\n", "line 2: a face is not a triangle"},
      {"obj", "v 0 0 0\nf 1 1 1.5\n", "line 2: a triangle refers to a vertex"},
      {"obj", "hello\n", "line 1: unknown keyword"},
      {"vtu", "<a/>", "line 1: not a VTK file"},
      {"vtu", VTU_HEAD VTU_TAIL, "no piece"},
      {"vtu", VTU_HEAD, "line 1: malformed XML"},
      {"vtu", VTU_POINTS, "line 1: malformed XML"},
      {"vtu", "<!DOCTYPE s [<!ENTITY a 'a'>\n<!ENTITY b '&a;'>]>" VTU_HEAD,
       "line 2: a long entity"},
      {"vtu", "<VTKFile type='PolyData'>", "not an unstructured grid"},
      {"vtu", "<VTKFile type='UnstructuredGrid' compressor='vtkLZMADataCompressor'>",
       "this build does not support the compressor vtkLZMADataCompressor"},
      {"vtu", VTU_HEAD "\n<Piece NumberOfPoints='x' NumberOfCells='1'>", "line 2: malformed or"},
      {"vtu", VTU_HEAD "<Piece NumberOfPoints='1' NumberOfCells='0'></Piece>" VTU_TAIL,
       "no points"},
      {"vtu", VTU_POINTS "</Piece>" VTU_TAIL, "no offsets"},
      {"vtu",
       VTU_HEAD "<Piece NumberOfPoints='1000000000' NumberOfCells='0'><Points><DataArray "
                "type='Float64' NumberOfComponents='3' "
                "format='binary'>AAAA</DataArray></Points></Piece>" VTU_TAIL,
       "claims more points than"},
      {"vtu",
       VTU_HEAD "<Piece NumberOfPoints='1' NumberOfCells='0'><Points><DataArray "
                "type='Float64' NumberOfComponents='3' format='appended' "
                "offset='99'/></Points></Piece>" VTU_TAIL,
       "not in the appended data"},
      {"msh", "hello", "line 1: expected '$MeshFormat'"},
      {"msh", "$MeshFormat\n3.0 0 8\n", "line 2: only versions"},
      {"msh", MSH_HEAD "$Nodes\n1 2 1 2\n2 1 0 2\n1\n1\n0 0 0\n1 0 0\n", "the same tag"},
      {"msh", MSH_HEAD "$Nodes\n1 1000000000 1 2\n2 1 0 1000000000\n1\n", "ends too early"},
      {"msh", MSH_HEAD "$Elements\n0 0 0 0\n$EndElements\n", "before $Nodes"},
      {"msh", MSH_NODES, "no $Elements"},
      {"msh", MSH_HEAD "$Stuff\n1\n", "a section does not end"},
      {"msh", MSH_NODES "$Elements\n1 1 1 1\n2 1 2 1\n1 1 2 4\n", "line 17: a triangle refers to"},
      {"msh", MSH_NODES "$Elements\n1 1 1 1\n2 1 3 1\n1 1 2 3 1\n", "not a triangle"},
  };
  for (size_t k = 0; k < sizeof files / sizeof files[0]; ++k) {
    cvtm_mesh mesh;
    cvtm_error error = {0};
    cvtm_status status = read_text(files[k].extension, files[k].text, &mesh, &error);
    if (status != CVTM_ERROR_INPUT || strstr(error.message, files[k].reason) == NULL) {
      print_error("%s file %zu: expected '%s', got '%s'\n", files[k].extension, k, files[k].reason,
                  error.message);
    }
    assert_int_equal(status, CVTM_ERROR_INPUT);
    assert_non_null(strstr(error.message, files[k].reason));
    assert_int_equal(strncmp(error.message, "t: ", 3), 0);
    assert_null(mesh.points);
    assert_null(mesh.triangles);
  }
}

/* No prefix of a file crashes a reader, and one without a large part of the file is refused. */
TEST(truncated_files_are_survived) {
  cvtm_mesh mesh = make_mesh(12);
  for (int f = 0; f < READ; ++f) {
    for (int ascii = 0; ascii < 2; ++ascii) {
      cvtm_mesh_file_options options = {.domain = domain, .ascii = ascii};
      const char *file = temporary(formats[f]);
      unsigned char *bytes;
      size_t size;
      assert_ok(cvtm_mesh_write(file, &mesh, &options, NULL));
      assert_ok(cvtm_file_read(file, 1 << 20, &bytes, &size, NULL));
      remove(file);
      for (size_t cut = 0; cut < size; ++cut) {
        cvtm_mesh read;
        unsigned char *exact = malloc(cut + (cut == 0));
        memcpy(exact, bytes, cut);
        cvtm_status status = cvtm_mesh_read_bytes(formats[f], exact, cut, "t", &read, NULL);
        if (status == CVTM_OK) {
          assert_true(cut + 64 > size || strcmp(formats[f], "obj") == 0);
          cvtm_mesh_free(&read);
        } else {
          assert_int_equal(status, CVTM_ERROR_INPUT);
        }
        free(exact);
      }
      free(bytes);
    }
  }
  cvtm_mesh_free(&mesh);
}

TEST(unwritable_places_are_errors) {
  cvtm_mesh mesh = make_mesh(SITES);
  cvtm_mesh_file_options options = {.domain = domain};
  cvtm_error error;
  char link[64];
  for (int f = 0; f < FORMATS; ++f) {
    const char *extension = formats[f];
    snprintf(link, sizeof link, "/tmp/cvtmesh-full-%ld.%s", (long)getpid(), extension);
    assert_int_equal(symlink("/dev/full", link), 0);
    assert_int_equal(cvtm_mesh_write(link, &mesh, &options, &error), CVTM_ERROR_IO);
    assert_int_equal(strncmp(error.message, link, strlen(link)), 0);
    remove(link);
    snprintf(link, sizeof link, "/tmp/cvtmesh-absent-%ld/m.%s", (long)getpid(), extension);
    assert_int_equal(cvtm_mesh_write(link, &mesh, &options, &error), CVTM_ERROR_IO);
  }
  assert_refused(cvtm_mesh_write("/tmp/m.xxx", &mesh, &options, &error));
  assert_refused(cvtm_points_write("/tmp/p.xxx", mesh.points, 1, &error));
  assert_int_equal(cvtm_points_write("/absent/p.csv", mesh.points, 1, &error), CVTM_ERROR_IO);
  cvtm_mesh_free(&mesh);
}

TEST(unreadable_files_are_errors) {
  cvtm_mesh mesh;
  cvtm_error error;
  double *points;
  int64_t count;
  assert_int_equal(cvtm_mesh_read("/absent/m.vtu", &mesh, &error), CVTM_ERROR_INPUT);
  assert_string_equal(error.message, "/absent/m.vtu: No such file or directory");
  assert_refused(cvtm_mesh_read("m.svg", &mesh, &error));
  assert_int_equal(cvtm_points_read("/absent/p.csv", &points, &count, &error), CVTM_ERROR_INPUT);
  assert_refused(cvtm_points_read("p.dat", &points, &count, &error));
}

TEST(formats_go_by_extension) {
  for (int f = 0; f < FORMATS; ++f) assert_true(cvtm_mesh_format_known(temporary(formats[f])));
  assert_true(cvtm_mesh_format_known("a.VTU"));
  assert_false(cvtm_mesh_format_known("a.svg"));
  assert_false(cvtm_mesh_format_known("ply"));
  assert_false(cvtm_mesh_format_known("a.csv"));
  assert_true(cvtm_points_format_known("a.csv"));
  assert_true(cvtm_points_format_known("a.NPY"));
  assert_true(cvtm_points_format_known("a.xyz"));
  assert_true(cvtm_points_format_known("-"));
  assert_false(cvtm_points_format_known("a.ply"));
}

TEST(points_read_back_to_the_same_bits) {
  static const char *const extensions[] = {"csv", "xyz", "npy"};
  uint64_t seed = 9;
  double points[2 * SITES];
  for (int k = 0; k < 2 * SITES; ++k)
    points[k] = (congruential_unit(&seed) - 0.5) * pow(10, k % 40 - 20);
  points[0] = 5e-324;
  points[1] = -1.7976931348623157e308;
  for (int f = 0; f < 3; ++f) {
    double *read;
    int64_t count;
    const char *file = temporary(extensions[f]);
    assert_ok(cvtm_points_write(file, points, SITES, NULL));
    assert_ok(cvtm_points_read(file, &read, &count, NULL));
    remove(file);
    assert_int_equal(count, SITES);
    assert_memory_equal(read, points, sizeof points);
    free(read);
  }
}

static cvtm_status read_points(const char *extension, const char *text, double **points,
                               int64_t *count, cvtm_error *error) {
  size_t size = strlen(text);
  unsigned char *exact = malloc(size + (size == 0));
  memcpy(exact, text, size);
  cvtm_status status =
      cvtm_points_read_bytes(extension, exact, size, "t", points, NULL, count, error);
  free(exact);
  return status;
}

TEST(point_files_of_others_are_read) {
  static const struct {
    const char *extension, *text;
  } files[] = {
      {"csv", "1,2\n3,4"},
      {"csv", "x,y\n1,2\n3,4\n"},
      {"csv", "\xef\xbb\xbfX;Y\r\n1;2\r\n3;4\r\n"},
      {"xyz",
       "\xef\xbb\xbf"
       "2\n1 2 0\n3 4 0\n"},
      {"csv",
       "\xef\xbb\xbf"
       "1,2\n3,4"},
      {"svg", "\xef\xbb\xbf<svg><circle cx='1' cy='2' r='1'/><circle cx='3' cy='4' r='1'/></svg>"},
      {"csv", "# c\n\n1\t2\n3 4 # d\n"},
      {"csv", "  1 , 2 , 9\n+3e0 , 4.0 ,\n"},
      {"csv", "id,\"y\",\"x\"\n7,2,1\n8,4,3\n"},
      {"csv", "left,top\n1,2\n3,4\n"},
      {"xyz", "1 2 0\n3 4 0\n"},
      {"xyz", "2\n1 2 0\n3 4 0\n"},
  };
  const double expected[] = {1, 2, 3, 4};
  for (size_t k = 0; k < sizeof files / sizeof files[0]; ++k) {
    double *points = NULL;
    int64_t count = 0;
    cvtm_error error = {0};
    assert_ok(read_points(files[k].extension, files[k].text, &points, &count, &error));
    assert_int_equal(count, 2);
    assert_memory_equal(points, expected, sizeof expected);
    free(points);
  }
}

TEST(bad_point_files_are_refused) {
  static const struct {
    const char *extension, *text, *reason;
  } files[] = {
      {"csv", "", "no points"},
      {"csv", "x,y\n", "no points"},
      {"csv", "x,y\n1,2\n3\n", "line 3: a point needs two numbers"},
      {"csv", "1,2\n3,,4\n", "line 2: expected a number in column 2"},
      {"csv", "1,2\n\n3,nan\n", "line 3: a point is not finite"},
      {"csv", "1,2\n-Inf,4\n", "line 2: a point is not finite"},
      {"csv", "1,2\n1e999,4\n", "line 2: a point is not finite"},
      {"csv", "1,2\nx,4\n", "line 2: expected a number in column 1"},
      {"csv", "1,5;2,5\n", "line 1: expected a number in column 1"},
      {"csv", "x;y\n1,5;2,5\n", "line 2: expected a number"},
      {"xyz", "C 1 2 3\n", "line 1: expected a number"},
      {"xyz", "3\n1 2 0\n3 4 0\n", "3 points are announced but 2 follow"},
      {"npy", "hello", "not an NPY file"},
  };
  for (size_t k = 0; k < sizeof files / sizeof files[0]; ++k) {
    double *points = NULL;
    int64_t count;
    cvtm_error error = {0};
    cvtm_status status = read_points(files[k].extension, files[k].text, &points, &count, &error);
    if (status == CVTM_OK || strstr(error.message, files[k].reason) == NULL)
      print_error("points %zu: expected '%s', got '%s'\n", k, files[k].reason, error.message);
    assert_int_equal(status, CVTM_ERROR_INPUT);
    assert_non_null(strstr(error.message, files[k].reason));
    assert_null(points);
  }
}

TEST_MAIN()

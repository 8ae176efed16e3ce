/* XDMF 3 with HDF5: the layout that meshio and dolfinx read. A file has one grid, so the edges of
 * the boundary are in a second file, NAME_boundary.xdmf. The arrays are in NAME.h5 and
 * NAME_boundary.h5, because dolfinx looks there, or in the XDMF file as text.
 * https://www.xdmf.org/index.php/XDMF_Model_and_Format */
#include "base/file.h"
#include "base/host.h"
#include "base/shared_library.h"
#include "base/text.h"
#include "meshes/formats/formats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#if CVTMESH_HAVE_HDF5
#include <hdf5.h>
#include <pthread.h>
#endif

int cvtm_hdf5_known(void) { return CVTMESH_HAVE_HDF5; }

/* An array of rows x columns numbers; one of the pointers is not NULL. */
typedef struct array {
  const char *name;
  int64_t rows;
  int columns;
  const double *reals;
  const int32_t *integers;
  const char *file; /* name of the HDF5 file with the array, without its folder; NULL: none */
  int is_of_nodes;  /* nonzero: data of nodes, not of cells */
} array;

/* ---- HDF5 ---- */

#if CVTMESH_HAVE_HDF5
/* clang-format off */
#define SYMBOLS(X) \
  X(open) X(Eset_auto2) X(Screate_simple) X(Sclose) X(Pcreate) X(Pclose) X(Pset_obj_track_times) \
  X(Pset_fapl_core) X(Dcreate2) X(Dwrite) X(Dclose) X(Fcreate) X(Fflush) X(Fget_file_image) \
  X(Fclose) X(T_NATIVE_DOUBLE_g) X(T_NATIVE_INT32_g) X(T_IEEE_F64LE_g) X(T_STD_I32LE_g) \
  X(P_CLS_DATASET_CREATE_ID_g) X(P_CLS_FILE_ACCESS_ID_g)
/* clang-format on */
#define POINTER(name) __typeof__(H5##name) *(name);
#define NAME(name) "H5" #name "\0"
enum { TRUNCATE = 2 }; /* H5F_ACC_TRUNC, a macro that calls functions of HDF5 */
/* The functions of HDF5, and its numbers of types and classes, which are set by H5open. */
static struct {
  void *library;
  SYMBOLS(POINTER)
} h5;

static int put_dataset(hid_t file, const array *a) {
  const hsize_t shape[2] = {(hsize_t)a->rows, (hsize_t)a->columns};
  const hid_t in_memory = a->reals != NULL ? *h5.T_NATIVE_DOUBLE_g : *h5.T_NATIVE_INT32_g;
  const hid_t in_file = a->reals != NULL ? *h5.T_IEEE_F64LE_g : *h5.T_STD_I32LE_g;
  const hid_t space = h5.Screate_simple(a->columns > 1 ? 2 : 1, shape, NULL);
  const hid_t how = h5.Pcreate(*h5.P_CLS_DATASET_CREATE_ID_g);
  int done = 0;
  if (space >= 0 && how >= 0 && h5.Pset_obj_track_times(how, 0) >= 0) {
    const hid_t set = h5.Dcreate2(file, a->name, in_file, space, H5P_DEFAULT, how, H5P_DEFAULT);
    const void *values = a->reals != NULL ? (const void *)a->reals : (const void *)a->integers;
    done = set >= 0 && h5.Dwrite(set, in_memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0;
    if (set >= 0) h5.Dclose(set);
  }
  if (how >= 0) h5.Pclose(how);
  if (space >= 0) h5.Sclose(space);
  return done;
}

/* Makes the bytes of an HDF5 file with the arrays, malloc'd; NULL on failure. */
static void *make_image(const array *arrays, int count, size_t *size) {
  const hid_t access = h5.Pcreate(*h5.P_CLS_FILE_ACCESS_ID_g);
  void *bytes = NULL;
  if (access < 0) return NULL;
  h5.Pset_fapl_core(access, (size_t)1 << 20, 0);
  const hid_t file = h5.Fcreate("cvtmesh.h5", TRUNCATE, H5P_DEFAULT, access);
  int done = file >= 0;
  for (int k = 0; done && k < count; ++k) done = put_dataset(file, &arrays[k]);
  if (done) done = h5.Fflush(file, H5F_SCOPE_GLOBAL) >= 0;
  const ssize_t length = done ? h5.Fget_file_image(file, NULL, 0) : -1;
  if (length > 0) bytes = malloc((size_t)length);
  if (bytes != NULL && h5.Fget_file_image(file, bytes, (size_t)length) != length) {
    free(bytes);
    bytes = NULL;
  }
  *size = length > 0 ? (size_t)length : 0;
  if (file >= 0) h5.Fclose(file);
  h5.Pclose(access);
  return bytes;
}

/* HDF5 is not thread-safe. */
static pthread_mutex_t hdf5_lock = PTHREAD_MUTEX_INITIALIZER;

static cvtm_status write_hdf5(const char *path, const array *arrays, int count, cvtm_error *error) {
  void *bytes = NULL;
  size_t size = 0;
  const char *missing = cvtm_library_load(CVTMESH_HDF5_FILE "\0", SYMBOLS(NAME), &h5);
  if (missing != NULL) return cvtm_fail(error, CVTM_ERROR_UNSUPPORTED, "%s: %s", path, missing);
  pthread_mutex_lock(&hdf5_lock);
  h5.Eset_auto2(H5E_DEFAULT, NULL, NULL);
  if (h5.open() >= 0) bytes = make_image(arrays, count, &size);
  pthread_mutex_unlock(&hdf5_lock);
  if (bytes == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: HDF5 failed", path);
  cvtm_output *output;
  cvtm_status status = cvtm_output_open(path, &output, error);
  if (status == CVTM_OK) {
    fwrite(bytes, 1, size, cvtm_output_stream(output));
    status = cvtm_output_commit(output, error);
  }
  free(bytes);
  return status;
}
#else
static cvtm_status write_hdf5(const char *path, const array *arrays, int count, cvtm_error *error) {
  (void)arrays, (void)count;
  return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                   "%s: this build has no HDF5, which binary XDMF needs; write it as text", path);
}
#endif

/* ---- XML ---- */

static char *row_item(char *to, const void *context, int64_t row) {
  const array *a = context;
  for (int c = 0; c < a->columns; ++c) {
    if (c > 0) *to++ = ' ';
    to = a->reals != NULL ? cvtm_text_number(to, a->reals[a->columns * row + c])
                          : cvtm_text_integer(to, a->integers[a->columns * row + c]);
  }
  *to++ = '\n';
  return to;
}

static void put_item(FILE *file, const array *a) {
  fprintf(file, "<DataItem Dimensions=\"%" PRId64, a->rows);
  if (a->columns > 1) fprintf(file, " %d", a->columns);
  fprintf(file, "\" NumberType=\"%s\" Precision=\"%d\" Format=\"%s\">",
          a->reals != NULL ? "Float" : "Int", a->reals != NULL ? 8 : 4,
          a->file != NULL ? "HDF" : "XML");
  if (a->file != NULL) {
    cvtm_put_xml_text(file, a->file);
    fputs(":/", file);
    cvtm_put_xml_text(file, a->name);
  } else {
    fputc('\n', file);
    cvtm_write_items(file, a->rows, 6 * (CVTM_TEXT_NUMBER + 1), row_item, a);
  }
  fputs("</DataItem>\n", file);
}

/* Cells of one kind, their nodes, and data on the cells or on the nodes. */
typedef struct grid {
  const char *name, *kind;
  const array *cells, *points;
  const array *data; /* each array's name is the name of the data */
  int data_count;
} grid;

static void put_grid(FILE *file, const grid *g) {
  fprintf(file,
          "<?xml version=\"1.0\"?>\n<Xdmf Version=\"3.0\">\n<Domain>\n"
          "<Grid Name=\"%s\" GridType=\"Uniform\">\n"
          "<Topology TopologyType=\"%s\" NumberOfElements=\"%" PRId64
          "\" NodesPerElement=\"%d\">\n",
          g->name, g->kind, g->cells->rows, g->cells->columns);
  put_item(file, g->cells);
  fputs("</Topology>\n<Geometry GeometryType=\"XY\">\n", file);
  put_item(file, g->points);
  fputs("</Geometry>\n", file);
  for (int k = 0; k < g->data_count; ++k) {
    const array *a = &g->data[k];
    fputs("<Attribute Name=\"", file);
    cvtm_put_xml_text(file, a->name);
    fprintf(file, "\" AttributeType=\"Scalar\" Center=\"%s\">\n", a->is_of_nodes ? "Node" : "Cell");
    put_item(file, a);
    fputs("</Attribute>\n", file);
  }
  fputs("</Grid>\n</Domain>\n</Xdmf>\n", file);
}

static cvtm_status write_grid(const char *path, const grid *g, cvtm_error *error) {
  cvtm_output *output;
  CVTM_TRY(cvtm_output_open(path, &output, error));
  put_grid(cvtm_output_stream(output), g);
  return cvtm_output_commit(output, error);
}

/* ---- files ---- */

typedef struct names {
  char *heavy, *boundary, *boundary_heavy; /* paths beside the file */
} names;

#define HEAVY_ENDING ".h5"
#define BOUNDARY_ENDING "_boundary.xdmf"
#define BOUNDARY_HEAVY_ENDING "_boundary.h5"

static int make_names(const char *path, names *n) {
  n->heavy = cvtm_path_beside(path, HEAVY_ENDING);
  n->boundary = cvtm_path_beside(path, BOUNDARY_ENDING);
  n->boundary_heavy = cvtm_path_beside(path, BOUNDARY_HEAVY_ENDING);
  return n->heavy != NULL && n->boundary != NULL && n->boundary_heavy != NULL;
}

enum { TRIANGLES, POINTS, REGION, VALUE, POINT, LINES, BOUNDARY, ARRAYS };

/* The arrays of the mesh; arrays without rows are not written. */
typedef struct content {
  array arrays[ARRAYS];
  cvtm_scratch memory; /* owns the arrays that the mesh does not have */
} content;

static int make_content(const cvtm_file_mesh *m, content *c) {
  const int second = m->triangle_middle != NULL, corners = second ? 6 : 3, ends = second ? 3 : 2;
  const int64_t triangles = m->triangle_count;
  const int64_t edges =
      m->regions != NULL && m->regions->group != NULL ? m->regions->edge_count : 0;
  int32_t *nodes =
      cvtm_scratch_take(&c->memory, (size_t)triangles, (size_t)corners * sizeof *nodes);
  int32_t *lines = cvtm_scratch_take(&c->memory, (size_t)edges, (size_t)ends * sizeof *lines);
  double *value = cvtm_scratch_zeros(&c->memory, (size_t)m->node_count, sizeof *value);
  if (c->memory.failed) return 0;
  for (int64_t t = 0; t < triangles; ++t) {
    int32_t node[6];
    memcpy(nodes + corners * t, node, (size_t)cvtm_triangle_nodes(m, t, node) * sizeof *nodes);
  }
  for (int64_t e = 0; e < edges; ++e) {
    int32_t node[3];
    memcpy(lines + ends * e, node, (size_t)cvtm_edge_nodes(m, e, node) * sizeof *lines);
  }
  if (m->value != NULL) memcpy(value, m->value, (size_t)m->vertex_count * sizeof *value);
  const int64_t regions = m->regions != NULL ? triangles : 0;
  c->arrays[TRIANGLES] = (array){"triangles", triangles, corners, NULL, nodes, NULL, 0};
  c->arrays[POINTS] = (array){"points", m->node_count, 2, m->points, NULL, NULL, 0};
  c->arrays[REGION] =
      (array){"region", regions, 1, NULL, regions > 0 ? m->regions->region : NULL, NULL, 0};
  c->arrays[VALUE] =
      (array){m->value_name, m->value != NULL ? m->node_count : 0, 1, value, NULL, NULL, 1};
  c->arrays[POINT] =
      (array){"point", m->point != NULL ? m->node_count : 0, 1, NULL, m->point, NULL, 1};
  c->arrays[LINES] = (array){"lines", edges, ends, NULL, lines, NULL, 0};
  c->arrays[BOUNDARY] =
      (array){"boundary", edges, 1, NULL, edges > 0 ? m->regions->group : NULL, NULL, 0};
  return 1;
}

static const char *without_folder(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

/* Writes the arrays first .. last - 1 that have rows. */
static cvtm_status write_heavy(const char *path, content *c, int first, int last,
                               cvtm_error *error) {
  array list[ARRAYS];
  int count = 0;
  for (int k = first; k < last; ++k) {
    if (c->arrays[k].rows == 0) continue;
    c->arrays[k].file = without_folder(path);
    list[count++] = c->arrays[k];
  }
  return count > 0 ? write_hdf5(path, list, count, error) : CVTM_OK;
}

static cvtm_status write_all(const char *path, const cvtm_file_mesh *m, content *c, const names *n,
                             cvtm_error *error) {
  const int stream = strcmp(path, "-") == 0, second = m->triangle_middle != NULL;
  if (!m->ascii) CVTM_TRY(write_heavy(n->heavy, c, 0, LINES, error));
  if (!m->ascii) CVTM_TRY(write_heavy(n->boundary_heavy, c, LINES, ARRAYS, error));
  array data[3];
  int data_count = 0;
  for (int k = REGION; k <= POINT; ++k)
    if (c->arrays[k].rows > 0) data[data_count++] = c->arrays[k];
  const grid mesh = {.name = "mesh",
                     .kind = second ? "Triangle_6" : "Triangle",
                     .cells = &c->arrays[TRIANGLES],
                     .points = &c->arrays[POINTS],
                     .data = data,
                     .data_count = data_count};
  const grid boundary = {.name = "boundary",
                         .kind = second ? "Edge_3" : "Polyline",
                         .cells = &c->arrays[LINES],
                         .points = &c->arrays[POINTS],
                         .data = &c->arrays[BOUNDARY],
                         .data_count = 1};
  if (!stream && c->arrays[LINES].rows > 0) CVTM_TRY(write_grid(n->boundary, &boundary, error));
  return write_grid(path, &mesh, error);
}

static cvtm_status write_xdmf(const char *path, const cvtm_file_mesh *m, cvtm_error *error) {
  content c = {0};
  names n = {NULL, NULL, NULL};
  cvtm_status status;
  if (strcmp(path, "-") == 0 && !m->ascii)
    status = cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                       "%s: only XDMF as text can be written to a stream", path);
  else if (m->triangle_count == 0)
    status = cvtm_fail(error, CVTM_ERROR_INPUT, "%s: the mesh has no triangles", path);
  else if (!make_names(path, &n) || !make_content(m, &c))
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path);
  else
    status = write_all(path, m, &c, &n, error);
  free(n.heavy);
  free(n.boundary);
  free(n.boundary_heavy);
  cvtm_scratch_free(&c.memory);
  return status;
}

const cvtm_format cvtm_format_xdmf = {
    .extension = "xdmf",
    .help = "XDMF with HDF5: dolfinx, meshio",
    .manual =
        "NAME.xdmf has the triangles, with `region` and the tags as in MSH, and `point`, the tags "
        "of named "
        "points. With a --domain "
        "NAME_boundary.xdmf has the edges of the boundary, with the tag of their group as "
        "`boundary`. The numbers are in NAME.h5 and NAME_boundary.h5 (HDF5, if the build has "
        "it), or, with `--format ascii`, in the .xdmf files themselves. In dolfinx the grids "
        "are called `mesh` and `boundary`.",
    .properties =
        CVTM_HOLDS_REGIONS | CVTM_HOLDS_SECOND_ORDER | CVTM_HOLDS_VALUES | CVTM_TEXT_OR_BINARY,
    .dependency = "HDF5",
    .has_library = cvtm_hdf5_known,
    .write_mesh_files = write_xdmf,
    .files_beside = {{HEAVY_ENDING, 1, 0}, {BOUNDARY_ENDING, 0, 1}, {BOUNDARY_HEAVY_ENDING, 1, 1}}};

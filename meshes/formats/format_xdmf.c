/* XDMF 3 with HDF5: the layout that meshio and dolfinx read. A file has one grid, so the edges of
 * the boundary are in a second file, NAME_boundary.xdmf. The arrays are in NAME.h5 and
 * NAME_boundary.h5, because dolfinx looks there, or in the XDMF file as text.
 * https://www.xdmf.org/index.php/XDMF_Model_and_Format */
#include "base/file.h"
#include "base/host.h"
#include "base/text.h"
#include "meshes/formats/formats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* An array of rows x columns numbers; one of the pointers is not NULL. */
typedef struct array {
  const char *name;
  int64_t rows;
  int columns;
  const double *reals;
  const int32_t *integers;
  const char *file; /* name of the HDF5 file with the array, without its folder; NULL: none */
} array;

/* ---- HDF5 ----
 *
 * The superblock, the headers of the arrays, the arrays, and the header of the group, which has
 * their names as links. Headers of version 1 have no checksum. Files are words of 8 bytes.
 * https://support.hdfgroup.org/documentation/hdf5/latest/_f_m_t3.html */

enum { WORD = 8, SUPERBLOCK_WORDS = 12, HEADER_WORDS = 16, NAME_MOST = 255 };
#define NOWHERE UINT64_MAX /* the address of what a file does not have */

static uint64_t whole_words(uint64_t bytes) { return (bytes + WORD - 1) / WORD * WORD; }

static uint64_t array_bytes(const array *a) {
  const size_t number = a->reals != NULL ? sizeof *a->reals : sizeof *a->integers;
  return (uint64_t)a->rows * (uint64_t)a->columns * number;
}

static uint64_t header_at(int k) { return WORD * (SUPERBLOCK_WORDS + HEADER_WORDS * (uint64_t)k); }

/* The address of array k; that of the group if k is the number of arrays. */
static uint64_t array_at(const array *arrays, int count, int k) {
  uint64_t at = header_at(count);
  for (int i = 0; i < k; ++i) at += whole_words(array_bytes(&arrays[i]));
  return at;
}

static void put_words(FILE *file, const uint64_t *words, size_t count) {
  fwrite(words, WORD, count, file);
}

/* The first words of a header and of a message in it, which takes `words` more. */
static uint64_t header_word(int messages) { return 1 | (uint64_t)messages << 16 | 1ull << 32; }
static uint64_t message_word(uint64_t kind, uint64_t words) { return kind | words * WORD << 16; }

/* Messages: zero for what is not written; the shape; the type; a place without gaps. */
static void put_array_header(FILE *file, const array *a, uint64_t at) {
  const uint64_t columns = a->columns > 1 ? (uint64_t)a->columns : 0, size = array_bytes(a);
  /* double, with the places of sign, exponent and mantissa; int32 */
  static const uint64_t real[] = {0x3f2011 | 8ull << 32, 0x34000b3400400000, 1023};
  static const uint64_t integer[] = {0x0810 | 4ull << 32, 0x200000, 0};
  const uint64_t *type = a->reals != NULL ? real : integer, rank = columns > 0 ? 2 : 1;
  const uint64_t words[4][4] = {
      {header_word(4), (HEADER_WORDS - 2) * WORD, message_word(5, 1), 0x01020202},
      {message_word(1, 3), 1 | rank << 8, (uint64_t)a->rows, columns},
      {message_word(3, 3), type[0], type[1], type[2]},
      {message_word(8, 3), 0x0103 | at << 16, at >> 48 | size << 16, size >> 48}};
  put_words(file, *words, HEADER_WORDS);
}

static uint64_t name_bytes(const array *a) { return strnlen(a->name, NAME_MOST); }
static uint64_t link_bytes(const array *a) { return whole_words(3 + name_bytes(a) + WORD); }

/* Messages: of the group, no index of its links, each link. */
static void put_group_header(FILE *file, const array *arrays, int count, uint64_t size) {
  const uint64_t words[] = {header_word(2 + count),
                            size,
                            message_word(10, 1),
                            0,
                            message_word(2, 3),
                            NOWHERE << 16,
                            NOWHERE,
                            0xffff};
  put_words(file, words, sizeof words / sizeof *words);
  for (int k = 0; k < count; ++k) {
    const uint64_t length = name_bytes(&arrays[k]), bytes = link_bytes(&arrays[k]);
    const uint64_t head = message_word(6, bytes / WORD), at = header_at(k);
    unsigned char link[NAME_MOST + 3 * WORD] = {1, 0, (unsigned char)length};
    memcpy(link + 3, arrays[k].name, length);
    memcpy(link + 3 + length, &at, sizeof at);
    put_words(file, &head, 1);
    fwrite(link, 1, bytes, file);
  }
}

static cvtm_status write_hdf5(const char *path, const array *arrays, int count, cvtm_error *error) {
  const uint64_t group = array_at(arrays, count, count), zero = 0;
  uint64_t links = 6 * WORD;
  for (int k = 0; k < count; ++k) links += WORD + link_bytes(&arrays[k]);
  /* signature, bytes of addresses and lengths, no nodes of a tree; end of the file; group */
  const uint64_t superblock[SUPERBLOCK_WORDS] = {
      0x0a1a0a0d46444889,       0x08080000000000, 0x100004, 0,    NOWHERE,
      group + 2 * WORD + links, NOWHERE,          0,        group};
  cvtm_output *output;
  CVTM_TRY(cvtm_output_open(path, &output, error));
  FILE *file = cvtm_output_stream(output);
  put_words(file, superblock, SUPERBLOCK_WORDS);
  for (int k = 0; k < count; ++k) put_array_header(file, &arrays[k], array_at(arrays, count, k));
  for (int k = 0; k < count; ++k) {
    const array *a = &arrays[k];
    const uint64_t bytes = array_bytes(a);
    fwrite(a->reals != NULL ? (const void *)a->reals : (const void *)a->integers, 1, bytes, file);
    fwrite(&zero, 1, whole_words(bytes) - bytes, file);
  }
  put_group_header(file, arrays, count, links);
  return cvtm_output_commit(output, error);
}

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
    fprintf(file, "\" AttributeType=\"Scalar\" Center=\"%s\">\n",
            a->reals != NULL ? "Node" : "Cell");
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

enum { TRIANGLES, POINTS, REGION, VALUE, LINES, BOUNDARY, ARRAYS };

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
  c->arrays[TRIANGLES] = (array){"triangles", triangles, corners, NULL, nodes, NULL};
  c->arrays[POINTS] = (array){"points", m->node_count, 2, m->points, NULL, NULL};
  c->arrays[REGION] =
      (array){"region", regions, 1, NULL, regions > 0 ? m->regions->region : NULL, NULL};
  c->arrays[VALUE] =
      (array){m->value_name, m->value != NULL ? m->node_count : 0, 1, value, NULL, NULL};
  c->arrays[LINES] = (array){"lines", edges, ends, NULL, lines, NULL};
  c->arrays[BOUNDARY] =
      (array){"boundary", edges, 1, NULL, edges > 0 ? m->regions->group : NULL, NULL};
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
  array data[2];
  int data_count = 0;
  if (c->arrays[REGION].rows > 0) data[data_count++] = c->arrays[REGION];
  if (c->arrays[VALUE].rows > 0) data[data_count++] = c->arrays[VALUE];
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
        "NAME.xdmf has the triangles, with `region` and the tags as in MSH. With a --domain "
        "NAME_boundary.xdmf has the edges of the boundary, with the tag of their group as "
        "`boundary`. The numbers are in NAME.h5 and NAME_boundary.h5 (HDF5), or, with `--format "
        "ascii`, in the .xdmf files themselves. In dolfinx the grids are called `mesh` and "
        "`boundary`.",
    .properties =
        CVTM_HOLDS_REGIONS | CVTM_HOLDS_SECOND_ORDER | CVTM_HOLDS_VALUES | CVTM_TEXT_OR_BINARY,
    .write_mesh_files = write_xdmf,
    .files_beside = {{HEAVY_ENDING, 1, 0}, {BOUNDARY_ENDING, 0, 1}, {BOUNDARY_HEAVY_ENDING, 1, 1}}};

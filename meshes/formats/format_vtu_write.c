/* VTK's XML unstructured grid: writing, with inline base64 (the default), compressed or not, or
 * text. The reader is format_vtu.c.
 * https://docs.vtk.org/en/latest/design_documents/VTKFileFormats.html */
#include "base/base64.h"
#include "meshes/formats/compressor.h"
#include "meshes/formats/formats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- base64 ---- */

typedef struct base64 {
  FILE *file;
  unsigned char group[3];
  size_t filled;
  size_t length; /* of the text that is not written yet */
  char text[4096];
} base64;

static void flush_text(base64 *w) {
  fwrite(w->text, 1, w->length, w->file);
  w->length = 0;
}

static void flush_group(base64 *w) {
  if (w->length + 4 > sizeof w->text) flush_text(w);
  w->length = (size_t)(cvtm_base64_encode(w->text + w->length, w->group, w->filled) - w->text);
  w->filled = 0;
}

static void put_bytes(base64 *w, const unsigned char *bytes, size_t size) {
  for (size_t k = 0; k < size; ++k) {
    w->group[w->filled++] = bytes[k];
    if (w->filled == 3) flush_group(w);
  }
}

static void put_value(base64 *w, cvtm_scalar type, double value) {
  unsigned char bytes[8];
  cvtm_scalar_pack(type, 0, value, bytes);
  put_bytes(w, bytes, cvtm_scalar_size(type));
}

/* ---- data arrays ---- */

/* Value k of an array. */
typedef double (*value_of)(const cvtm_file_mesh *mesh, int64_t k);

typedef struct data_array {
  const cvtm_file_mesh *mesh;
  cvtm_scalar type;
  int64_t count;
  value_of value;
} data_array;

static char *text_item(char *to, const void *context, int64_t k) {
  const data_array *a = context;
  return cvtm_text_word(cvtm_text_number(to, a->value(a->mesh, k)), "\n");
}

enum {
  LENGTH = 8,     /* bytes of an array's length, which stands before its values */
  ITEM = 24,      /* bytes that are encoded together; a multiple of 3 and of every type's size */
  ITEM_TEXT = 32, /* their text */
};

static size_t array_bytes(const data_array *a) {
  return (size_t)a->count * cvtm_scalar_size(a->type);
}

/* Item k of the bytes of an array, as base64. */
static char *base64_item(char *to, const void *context, int64_t k) {
  const data_array *a = context;
  const size_t width = cvtm_scalar_size(a->type), first = (size_t)k * ITEM;
  const size_t left = LENGTH + array_bytes(a) - first, size = left < ITEM ? left : ITEM;
  unsigned char bytes[ITEM];
  size_t made = 0;
  if (k == 0) {
    cvtm_scalar_pack(CVTM_U64, 0, (double)array_bytes(a), bytes);
    made = LENGTH;
  }
  for (; made < size; made += width)
    cvtm_scalar_pack(a->type, 0, a->value(a->mesh, (int64_t)((first + made - LENGTH) / width)),
                     bytes + made);
  return cvtm_base64_encode(to, bytes, size);
}

static void write_base64(FILE *file, const data_array *a) {
  const int64_t items = (int64_t)((LENGTH + array_bytes(a) + ITEM - 1) / ITEM);
  cvtm_write_items(file, items, ITEM_TEXT, base64_item, a);
}

enum { BLOCK = 1 << 16 }; /* bytes; a multiple of every type's size */

/* The blocks of an array, which are compressed one by one. */
typedef struct blocks {
  int64_t count;
  size_t most; /* bytes of a compressed block */
  unsigned char *data;
  uint64_t *size;
} blocks;

static size_t block_size(const data_array *a, int64_t block) {
  const size_t all = array_bytes(a), first = (size_t)block * BLOCK;
  return all - first < BLOCK ? all - first : BLOCK;
}

static int compress_blocks(const data_array *a, blocks *b) {
  const size_t width = cvtm_scalar_size(a->type);
  int failed = 0;
#pragma omp parallel for schedule(dynamic) reduction(| : failed)
  for (int64_t k = 0; k < b->count; ++k) {
    unsigned char raw[BLOCK];
    const size_t size = block_size(a, k);
    for (size_t i = 0; i < size / width; ++i)
      cvtm_scalar_pack(a->type, 0, a->value(a->mesh, k * (int64_t)(BLOCK / width) + (int64_t)i),
                       raw + width * i);
    b->size[k] = cvtm_compress(a->mesh->compression, raw, size, b->data + (size_t)k * b->most);
    failed |= b->size[k] == 0;
  }
  return !failed;
}

/* Numbers of blocks, bytes of a block and of the last one if it is smaller, compressed bytes of
 * each; then, in a base64 of their own, the blocks. */
static void write_blocks(FILE *file, const data_array *a, const blocks *b) {
  base64 w = {.file = file};
  const size_t last = b->count > 0 ? block_size(a, b->count - 1) : 0;
  put_value(&w, CVTM_U64, (double)b->count);
  put_value(&w, CVTM_U64, BLOCK);
  put_value(&w, CVTM_U64, last < BLOCK ? (double)last : 0);
  for (int64_t k = 0; k < b->count; ++k) put_value(&w, CVTM_U64, (double)b->size[k]);
  flush_group(&w);
  for (int64_t k = 0; k < b->count; ++k)
    put_bytes(&w, b->data + (size_t)k * b->most, (size_t)b->size[k]);
  flush_group(&w);
  flush_text(&w);
}

static void write_compressed(FILE *file, const data_array *a) {
  const size_t all = array_bytes(a);
  blocks b = {.count = (int64_t)((all + BLOCK - 1) / BLOCK),
              .most = cvtm_compressed_most(a->mesh->compression, BLOCK)};
  b.data = malloc((size_t)b.count * b.most + 1);
  b.size = malloc(((size_t)b.count + 1) * sizeof *b.size);
  if (b.data != NULL && b.size != NULL && compress_blocks(a, &b))
    write_blocks(file, a, &b);
  else
    *a->mesh->no_memory = 1;
  free(b.data);
  free(b.size);
}

static void write_array(FILE *file, const cvtm_file_mesh *m, cvtm_scalar type,
                        const char *attributes, int64_t count, value_of value) {
  const data_array a = {m, type, count, value};
  const char *name = type == CVTM_F64 ? "Float64" : type == CVTM_U8 ? "UInt8" : "Int64";
  fprintf(file, "<DataArray type=\"%s\" %s format=\"%s\">\n", name, attributes,
          m->ascii ? "ascii" : "binary");
  if (m->ascii)
    cvtm_write_items(file, count, CVTM_TEXT_NUMBER + 1, text_item, &a);
  else if (m->compression != CVTM_COMPRESS_NONE)
    write_compressed(file, &a);
  else
    write_base64(file, &a);
  fputs("\n</DataArray>\n", file);
}

/* ---- the arrays of a mesh ---- */

/* Lines follow the triangles of a mesh with regions. */
static int64_t line_count(const cvtm_file_mesh *m) {
  return m->regions != NULL && m->triangle_count > 0 ? m->regions->edge_count : 0;
}

/* A mesh without triangles shows its vertices: several readers fail on a file without cells. */
static int64_t first_cells(const cvtm_file_mesh *m) {
  return m->triangle_count > 0 ? m->triangle_count : m->vertex_count;
}

static int64_t cell_count(const cvtm_file_mesh *m) { return first_cells(m) + line_count(m); }

/* Nodes of a cell before the lines, and of a line. */
static int64_t first_nodes(const cvtm_file_mesh *m) {
  return m->triangle_count == 0 ? 1 : m->triangle_middle != NULL ? 6 : 3;
}

static int64_t line_nodes(const cvtm_file_mesh *m) { return m->edge_middle != NULL ? 3 : 2; }

static double connectivity_at(const cvtm_file_mesh *m, int64_t k) {
  const int64_t corners = first_nodes(m), lines = k - corners * first_cells(m);
  int32_t node[6];
  if (m->triangle_count == 0) return (double)k;
  if (lines >= 0) {
    cvtm_edge_nodes(m, lines / line_nodes(m), node);
    return node[lines % line_nodes(m)];
  }
  if (corners == 3) return m->triangles[k];
  cvtm_triangle_nodes(m, k / corners, node);
  return node[k % corners];
}

static double offset_at(const cvtm_file_mesh *m, int64_t k) {
  const int64_t first = first_cells(m), lines = k + 1 - first;
  return (double)(lines <= 0 ? first_nodes(m) * (k + 1)
                             : first_nodes(m) * first + line_nodes(m) * lines);
}

static double type_at(const cvtm_file_mesh *m, int64_t k) {
  enum { VERTEX = 1, LINE = 3, TRIANGLE = 5, QUADRATIC_EDGE = 21, QUADRATIC_TRIANGLE = 22 };
  if (m->triangle_count == 0) return VERTEX;
  if (k >= m->triangle_count) return m->edge_middle != NULL ? QUADRATIC_EDGE : LINE;
  return m->triangle_middle != NULL ? QUADRATIC_TRIANGLE : TRIANGLE;
}

static double coordinate_at(const cvtm_file_mesh *m, int64_t k) {
  return k % 3 == 2 ? 0 : m->points[2 * (k / 3) + k % 3];
}

static double value_at(const cvtm_file_mesh *m, int64_t k) {
  return k < m->vertex_count ? m->value[k] : 0;
}

static double region_at(const cvtm_file_mesh *m, int64_t k) {
  return k < m->triangle_count ? m->regions->region[k] : 0;
}

static double curve_at(const cvtm_file_mesh *m, int64_t k) {
  return k < m->triangle_count ? 0 : m->regions->curve[k - m->triangle_count];
}

static double boundary_at(const cvtm_file_mesh *m, int64_t k) {
  return k < m->triangle_count ? 0 : m->regions->group[k - m->triangle_count];
}

static void write_cell_data(FILE *file, const cvtm_file_mesh *m) {
  if (m->regions == NULL || m->triangle_count == 0) return;
  const int64_t n = cell_count(m);
  fputs("<CellData Scalars=\"region\">\n", file);
  write_array(file, m, CVTM_I64, "Name=\"region\"", n, region_at);
  write_array(file, m, CVTM_I64, "Name=\"curve\"", n, curve_at);
  if (m->regions->group != NULL)
    write_array(file, m, CVTM_I64, "Name=\"boundary\"", n, boundary_at);
  fputs("</CellData>\n", file);
}

static double pair_at(const cvtm_file_mesh *m, int64_t k) { return m->regions->pairs[k]; }

/* The table of the vertices that are copies of others. */
static void write_pairs(FILE *file, const cvtm_file_mesh *m) {
  char attributes[128];
  if (m->regions == NULL || m->regions->pairs == NULL) return;
  snprintf(attributes, sizeof attributes,
           "Name=\"periodic_pairs\" NumberOfComponents=\"3\" NumberOfTuples=\"%" PRId64 "\"",
           m->regions->pair_count);
  fputs("<FieldData>\n", file);
  write_array(file, m, CVTM_I64, attributes, 3 * m->regions->pair_count, pair_at);
  fputs("</FieldData>\n", file);
}

void cvtm_write_vtu(FILE *file, const cvtm_file_mesh *m) {
  const int packed = !m->ascii && m->compression != CVTM_COMPRESS_NONE;
  fputs(
      "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" "
      "byte_order=\"LittleEndian\" header_type=\"UInt64\"",
      file);
  if (packed) fprintf(file, " compressor=\"%s\"", cvtm_compressor_name(m->compression));
  fputs(">\n<UnstructuredGrid>\n", file);
  write_pairs(file, m);
  fprintf(file, "<Piece NumberOfPoints=\"%" PRId64 "\" NumberOfCells=\"%" PRId64 "\">\n",
          m->node_count, cell_count(m));
  if (m->value != NULL) {
    char name[64];
    (void)snprintf(name, sizeof name, "Name=\"%s\"", m->value_name);
    fprintf(file, "<PointData Scalars=\"%s\">\n", m->value_name);
    write_array(file, m, CVTM_F64, name, m->node_count, value_at);
    fputs("</PointData>\n", file);
  }
  write_cell_data(file, m);
  fputs("<Points>\n", file);
  write_array(file, m, CVTM_F64, "Name=\"Points\" NumberOfComponents=\"3\"", 3 * m->node_count,
              coordinate_at);
  fputs("</Points>\n<Cells>\n", file);
  write_array(file, m, CVTM_I64, "Name=\"connectivity\"",
              first_nodes(m) * first_cells(m) + line_nodes(m) * line_count(m), connectivity_at);
  write_array(file, m, CVTM_I64, "Name=\"offsets\"", cell_count(m), offset_at);
  write_array(file, m, CVTM_U8, "Name=\"types\"", cell_count(m), type_at);
  fputs("</Cells>\n</Piece>\n</UnstructuredGrid>\n</VTKFile>\n", file);
}

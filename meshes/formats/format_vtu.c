/* VTK's XML unstructured grids. Reads inline and appended data, raw, base64 or text, compressed or
 * not; writes inline base64 (the default) or text.
 * https://docs.vtk.org/en/latest/design_documents/VTKFileFormats.html */
#include "base/text.h"
#include "base/file.h"
#include "meshes/formats/formats.h"
#include "meshes/mesh_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#if CVTMESH_HAVE_ZLIB
#include <zlib.h>
#endif
#if CVTMESH_HAVE_LZ4
#include <lz4.h>
#endif

/* ---- Compressors ---- */

/* The names of compressors in a file. */
static const struct {
  const char *name;
  int known;
} compressors[] = {[CVTM_COMPRESS_NONE] = {"", 1},
                   [CVTM_COMPRESS_ZLIB] = {"vtkZLibDataCompressor", CVTMESH_HAVE_ZLIB},
                   [CVTM_COMPRESS_LZ4] = {"vtkLZ4DataCompressor", CVTMESH_HAVE_LZ4}};

int cvtm_compression_known(cvtm_compression kind) {
  return (unsigned)kind <= CVTM_COMPRESS_LZ4 && compressors[kind].known;
}

/* Returns the compressor with a name; CVTM_COMPRESS_NONE if this build has none. */
static cvtm_compression compressor_named(const char *name) {
  int kind = CVTM_COMPRESS_LZ4;
  while (kind > 0 && !(compressors[kind].known && strcmp(name, compressors[kind].name) == 0))
    --kind;
  return (cvtm_compression)kind;
}

/* The largest size that `size` bytes can have after compression. */
static size_t compressed_most(cvtm_compression kind, size_t size) {
#if CVTMESH_HAVE_ZLIB
  if (kind == CVTM_COMPRESS_ZLIB) return (size_t)compressBound((uLong)size);
#endif
#if CVTMESH_HAVE_LZ4
  if (kind == CVTM_COMPRESS_LZ4) return (size_t)LZ4_compressBound((int)size);
#endif
  (void)kind;
  return size;
}

/* Compresses into `to` (compressed_most bytes). Returns the compressed size; 0 on failure. */
static size_t compress_bytes(cvtm_compression kind, const unsigned char *from, size_t size,
                             unsigned char *to) {
  const size_t most = compressed_most(kind, size);
#if CVTMESH_HAVE_ZLIB
  uLongf made = (uLongf)most;
  if (kind == CVTM_COMPRESS_ZLIB)
    return compress(to, &made, from, (uLong)size) == Z_OK ? (size_t)made : 0;
#endif
#if CVTMESH_HAVE_LZ4
  if (kind == CVTM_COMPRESS_LZ4)
    return (size_t)LZ4_compress_default((const char *)from, (char *)to, (int)size, (int)most);
#endif
  (void)from, (void)to, (void)most;
  return 0;
}

/* Decompresses `from`. Returns 1 if the result has exactly `expected` bytes. */
static int decompress_bytes(cvtm_compression kind, const unsigned char *from, size_t size,
                            unsigned char *to, size_t expected) {
#if CVTMESH_HAVE_ZLIB
  uLongf made = (uLongf)expected;
  if (kind == CVTM_COMPRESS_ZLIB)
    return uncompress(to, &made, from, (uLong)size) == Z_OK && made == expected;
#endif
#if CVTMESH_HAVE_LZ4
  if (kind == CVTM_COMPRESS_LZ4 && size <= LZ4_MAX_INPUT_SIZE && expected <= LZ4_MAX_INPUT_SIZE)
    return LZ4_decompress_safe((const char *)from, (char *)to, (int)size, (int)expected) ==
           (int)expected;
#endif
  (void)kind, (void)from, (void)size, (void)to, (void)expected;
  return 0;
}

/* ---- Reading ---- */

typedef enum encoding { TEXT, BASE64, APPENDED } encoding;

/* The location and type of the values of a data array. */
typedef struct array {
  int seen;
  cvtm_scalar type;
  encoding how;
  size_t begin, end; /* inline content; APPENDED: begin is the offset in the appended data */
  int64_t line;
} array;

typedef enum section { SECTION_OTHER, SECTION_POINTS, SECTION_CELLS, SECTION_POINT_DATA } section;

typedef struct document {
  cvtm_source *source;
  size_t width; /* bytes of a length in the file: 4 or 8 */
  cvtm_compression compression;
  int pieces;
  int64_t vertex_count, cell_count;
  int file_seen;
  section where;
  array points, connectivity, offsets, types, field;
  int wants_field;
  const char *field_name; /* NULL: any */
  size_t appended;        /* offset of the appended data's first byte in the file; 0: none */
  int appended_raw;
  uint64_t expanded; /* total size of compressed arrays after decompression */
} document;

static int is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static int attribute_is(const char **attributes, const char *name, const char *expected) {
  const char *value = cvtm_xml_attribute(attributes, name);
  return value != NULL && strcmp(value, expected) == 0;
}

static int64_t get_count(cvtm_source *s, const char **attributes, const char *name) {
  const char *value = cvtm_xml_attribute(attributes, name);
  double number;
  if (value != NULL && cvtm_token_number((cvtm_token){value, strlen(value)}, &number) &&
      number >= 0 && number < 0x1p52 && number == (double)(int64_t)number)
    return (int64_t)number;
  cvtm_source_fail(s, "malformed or missing %s", name);
  return 0;
}

/* Sets the type that an attribute names. Returns 0 if it is unknown. */
static int parse_type(const char *text, cvtm_scalar *type) {
  static const char *const words[] = {"Int8",   "UInt8", "Int16",  "UInt16",  "Int32",
                                      "UInt32", "Int64", "UInt64", "Float32", "Float64"};
  const size_t count = sizeof words / sizeof words[0];
  size_t k = 0;
  while (text != NULL && k < count && strcmp(text, words[k]) != 0) ++k;
  *type = (cvtm_scalar)k;
  return text != NULL && k < count;
}

static void start_file(document *d, const char **attributes) {
  cvtm_source *s = d->source;
  const char *compressor = cvtm_xml_attribute(attributes, "compressor");
  if (!attribute_is(attributes, "type", "UnstructuredGrid"))
    cvtm_source_fail(s, "not an unstructured grid");
  if (compressor != NULL && *compressor != 0) {
    d->compression = compressor_named(compressor);
    if (d->compression == CVTM_COMPRESS_NONE)
      cvtm_source_fail(s, "this build does not support the compressor %.60s", compressor);
  }
  s->big = attribute_is(attributes, "byte_order", "BigEndian");
  d->width = attribute_is(attributes, "header_type", "UInt64") ? 8 : 4;
}

static int is_wanted_field(const document *d, const char **attributes) {
  const char *components = cvtm_xml_attribute(attributes, "NumberOfComponents");
  if (!d->wants_field || d->field.seen) return 0;
  if (components != NULL && strcmp(components, "1") != 0) return 0;
  return d->field_name == NULL || attribute_is(attributes, "Name", d->field_name);
}

static array *choose_array(document *d, const char **attributes) {
  if (d->where == SECTION_POINT_DATA) return is_wanted_field(d, attributes) ? &d->field : NULL;
  if (d->where == SECTION_POINTS) return &d->points;
  if (d->where != SECTION_CELLS) return NULL;
  if (attribute_is(attributes, "Name", "connectivity")) return &d->connectivity;
  if (attribute_is(attributes, "Name", "offsets")) return &d->offsets;
  return attribute_is(attributes, "Name", "types") ? &d->types : NULL;
}

static void start_array(document *d, const char **attributes) {
  cvtm_source *s = d->source;
  array *a = choose_array(d, attributes);
  if (a == NULL) return;
  if (a->seen) cvtm_source_fail(s, "a data array appears twice");
  a->seen = 1;
  a->line = s->line;
  if (!parse_type(cvtm_xml_attribute(attributes, "type"), &a->type))
    cvtm_source_fail(s, "a data array has no known type");
  if (a == &d->points && !attribute_is(attributes, "NumberOfComponents", "3"))
    cvtm_source_fail(s, "the points do not have three components");
  if (attribute_is(attributes, "format", "appended")) {
    a->how = APPENDED;
    a->begin = (size_t)get_count(s, attributes, "offset");
    return;
  }
  const int text = attribute_is(attributes, "format", "ascii") ||
                   cvtm_xml_attribute(attributes, "format") == NULL;
  if (!text && !attribute_is(attributes, "format", "binary"))
    cvtm_source_fail(s, "a data array has an unknown format");
  a->how = text ? TEXT : BASE64;
  a->begin = s->at;
  /* another element, such as a range, may follow the values inside this element */
  const unsigned char *end = memchr(s->data + s->at, '<', s->size - s->at);
  if (end == NULL)
    cvtm_source_fail(s, "a data array does not end");
  else
    a->end = (size_t)(end - s->data);
}

static void start_appended(document *d, const char **attributes) {
  cvtm_source *s = d->source;
  d->appended_raw = attribute_is(attributes, "encoding", "raw");
  if (!d->appended_raw && !attribute_is(attributes, "encoding", "base64"))
    cvtm_source_fail(s, "appended data of an unknown encoding");
  const unsigned char *mark = memchr(s->data + s->at, '_', s->size - s->at);
  if (mark == NULL)
    cvtm_source_fail(s, "appended data do not start with '_'");
  else
    d->appended = (size_t)(mark - s->data) + 1;
}

static void start_piece(document *d, const char **attributes) {
  if (++d->pieces > 1) cvtm_source_fail(d->source, "more than one piece");
  d->vertex_count = get_count(d->source, attributes, "NumberOfPoints");
  d->cell_count = get_count(d->source, attributes, "NumberOfCells");
}

static void start_element(void *context, const char *name, const char **attributes, int *stop) {
  document *d = context;
  if (!d->file_seen && strcmp(name, "VTKFile") != 0) cvtm_source_fail(d->source, "not a VTK file");
  d->file_seen = 1;
  *stop = strcmp(name, "AppendedData") == 0; /* raw bytes are not XML */
  if (*stop) start_appended(d, attributes);
  if (strcmp(name, "VTKFile") == 0) start_file(d, attributes);
  if (strcmp(name, "Piece") == 0) start_piece(d, attributes);
  if (strcmp(name, "Points") == 0) d->where = SECTION_POINTS;
  if (strcmp(name, "Cells") == 0) d->where = SECTION_CELLS;
  if (strcmp(name, "PointData") == 0) d->where = SECTION_POINT_DATA;
  if (strcmp(name, "DataArray") == 0) start_array(d, attributes);
}

static void end_element(void *context, const char *name) {
  document *d = context;
  if (strcmp(name, "Points") == 0 || strcmp(name, "Cells") == 0 || strcmp(name, "PointData") == 0)
    d->where = SECTION_OTHER;
}

static int digit_value(unsigned char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

/* Decodes groups of four digits up to a group with another character. Returns the number of
 * groups. */
static size_t decode_groups(const unsigned char *text, size_t groups, unsigned char *bytes) {
  int16_t value[256];
  for (int c = 0; c < 256; ++c) value[c] = (int16_t)digit_value((unsigned char)c);
  for (size_t k = 0; k < groups; ++k, text += 4, bytes += 3) {
    const int a = value[text[0]], b = value[text[1]], c = value[text[2]], d = value[text[3]];
    if ((a | b | c | d) < 0) return k;
    bytes[0] = (unsigned char)(a << 2 | b >> 4);
    bytes[1] = (unsigned char)((b << 4 | c >> 2) & 255);
    bytes[2] = (unsigned char)((c << 6 | d) & 255);
  }
  return groups;
}

/* Decodes up to `most` bytes, and returns their number. Stops at a character that is not base64.
 * Allows padding inside the text, because some writers encode the length separately from the
 * values. */
static size_t decode_base64(const unsigned char *text, size_t length, unsigned char *bytes,
                            size_t most) {
  uint32_t bits = 0;
  int held = 0, padding = 0;
  size_t skipped = 0;
  while (skipped < length && is_space((char)text[skipped])) ++skipped;
  const size_t most_groups = (length - skipped) / 4 < most / 3 ? (length - skipped) / 4 : most / 3;
  const size_t groups = decode_groups(text + skipped, most_groups, bytes);
  size_t made = 3 * groups;
  for (size_t k = skipped + 4 * groups; k < length && made < most; ++k) {
    int value = digit_value(text[k]);
    if (is_space((char)text[k])) continue;
    if (text[k] == '=' && held >= 2) {
      ++padding;
      value = 0;
    } else if (value < 0 || padding > 0) {
      break;
    }
    bits = bits << 6 | (uint32_t)value;
    if (++held < 4) continue;
    for (int b = 0; b < 3 - padding && made < most; ++b)
      bytes[made++] = (unsigned char)(bits >> (16 - 8 * b) & 255);
    bits = 0;
    held = padding = 0;
  }
  return made;
}

/* Converts bytes to `count` values. */
static double *take_values(const document *d, const array *a, const unsigned char *bytes,
                           int64_t count) {
  cvtm_source *s = d->source, inner = *s;
  inner.data = bytes;
  inner.size = (size_t)count * cvtm_scalar_size(a->type);
  inner.at = 0;
  inner.binary = 1;
  double *values = cvtm_source_values(&inner, a->type, count);
  s->status = inner.status;
  return values;
}

/* Finds the first `most` bytes of an array that is not text, decoded into `to` or in the file. */
static size_t first_bytes(const document *d, const array *a, size_t most, unsigned char *to,
                          const unsigned char **bytes) {
  const cvtm_source *s = d->source;
  const size_t begin = a->how == APPENDED ? d->appended + a->begin : a->begin;
  const size_t end = a->how == APPENDED ? s->size : a->end;
  *bytes = to;
  if (a->how != APPENDED || !d->appended_raw)
    return decode_base64(s->data + begin, end - begin, to, most);
  *bytes = s->data + begin;
  return end - begin < most ? end - begin : most;
}

static uint64_t header_word(const document *d, const unsigned char *bytes, uint64_t index) {
  const cvtm_scalar type = d->width == 8 ? CVTM_U64 : CVTM_U32;
  const double value = cvtm_scalar_unpack(type, d->source->big, bytes + d->width * index);
  return value < 0x1p62 ? (uint64_t)value : (uint64_t)1 << 62;
}

/* Reads values from bytes that begin with the length of the array. */
static double *take_plain(const document *d, const array *a, int64_t count) {
  const size_t needed = (size_t)count * cvtm_scalar_size(a->type), most = d->width + needed;
  const unsigned char *bytes;
  double *values = NULL;
  unsigned char *room = malloc(most);
  if (room == NULL)
    cvtm_source_no_memory(d->source);
  else if (first_bytes(d, a, most, room, &bytes) == most && header_word(d, bytes, 0) == needed)
    values = take_values(d, a, bytes + d->width, count);
  else
    cvtm_source_fail(d->source, "the size of a data array does not match its number of values");
  free(room);
  return values;
}

/* Decompresses blocks, each of `block` bytes when decompressed, into `needed` bytes at `raw`. */
static int unpack_blocks(const document *d, const unsigned char *bytes, size_t size,
                         uint64_t blocks, uint64_t block, unsigned char *raw, size_t needed) {
  size_t at = d->width * (size_t)(3 + blocks), made = 0;
  for (uint64_t k = 0; k < blocks; ++k) {
    const uint64_t packed = header_word(d, bytes, 3 + k);
    const size_t wanted = needed - made < block ? needed - made : (size_t)block;
    if (packed > size - at || wanted == 0) return 0;
    if (!decompress_bytes(d->compression, bytes + at, (size_t)packed, raw + made, wanted)) return 0;
    at += (size_t)packed;
    made += wanted;
  }
  return made == needed;
}

/* Finds the compressed blocks of an array, and decompresses them into `needed` bytes at `raw`.
 * room: memory for source->size bytes. The header has the number of blocks, the sizes of a block
 * and of the last block, and the compressed size of each block. Returns 0 for a damaged array. */
static int unpack_array(const document *d, const array *a, unsigned char *room, unsigned char *raw,
                        size_t needed) {
  const size_t most = d->source->size, width = d->width;
  const unsigned char *bytes;
  if (first_bytes(d, a, 3 * width, room, &bytes) < 3 * width) return 0;
  const uint64_t blocks = header_word(d, bytes, 0), block = header_word(d, bytes, 1);
  if (blocks >= most / width) return 0;
  const size_t size = first_bytes(d, a, most, room, &bytes);
  return size >= width * (size_t)(3 + blocks) &&
         unpack_blocks(d, bytes, size, blocks, block, raw, needed);
}

static double *take_packed(document *d, const array *a, int64_t count) {
  cvtm_source *s = d->source;
  const size_t needed = (size_t)count * cvtm_scalar_size(a->type);
  double *values = NULL;
  d->expanded += needed + (uint64_t)count * sizeof *values;
  s->status = cvtm_check_expansion(s->name, s->size, d->expanded, s->error);
  if (!cvtm_source_is_good(s)) return NULL;
  unsigned char *room = malloc(s->size + 1), *raw = malloc(needed + 1);
  if (room == NULL || raw == NULL)
    cvtm_source_no_memory(s);
  else if (unpack_array(d, a, room, raw, needed))
    values = take_values(d, a, raw, count);
  else
    cvtm_source_fail(s, "the size of a compressed data array does not match its number of values");
  free(room);
  free(raw);
  return values;
}

/* Returns NULL on failure. */
static double *take_array(document *d, const array *a, const char *what, int64_t count) {
  cvtm_source *s = d->source;
  /* A value takes at least one byte, and zlib expands a byte to at most 1032. This test also
   * prevents overflow in the products below. */
  const uint64_t most = d->compression != CVTM_COMPRESS_NONE ? 1032 : 1;
  if (!a->seen) cvtm_source_fail(s, "no %s", what);
  s->line = a->line;
  if ((uint64_t)count / most > s->size)
    cvtm_source_fail(s, "the header claims more %s than the file can hold", what);
  if (a->how == APPENDED && (d->appended == 0 || a->begin > s->size - d->appended))
    cvtm_source_fail(s, "the %s are not in the appended data", what);
  if (!cvtm_source_is_good(s)) return NULL;
  if (a->how == TEXT) {
    cvtm_source inner = *s;
    inner.at = a->begin;
    inner.size = a->end;
    double *values = cvtm_source_values(&inner, a->type, count);
    s->status = inner.status;
    return values;
  }
  return d->compression != CVTM_COMPRESS_NONE ? take_packed(d, a, count) : take_plain(d, a, count);
}

static void build_cells(document *d, cvtm_builder *b) {
  const int64_t cells = d->cell_count;
  double *offsets = take_array(d, &d->offsets, "offsets", cells);
  const double last = offsets != NULL ? offsets[cells - 1] : 0;
  if (!(last >= 0 && last < 0x1p52)) cvtm_source_fail(d->source, "malformed offsets");
  double *types = take_array(d, &d->types, "types", cells);
  const int64_t corners = cvtm_source_is_good(d->source) ? (int64_t)last : 0;
  double *connectivity = take_array(d, &d->connectivity, "connectivity", corners);
  if (cvtm_source_is_good(d->source))
    cvtm_builder_cells(b, cells, offsets, connectivity, corners, types);
  free(offsets);
  free(types);
  free(connectivity);
}

static cvtm_status read_vtu(cvtm_source *s, cvtm_builder *b) {
  static const cvtm_xml_handlers handlers = {start_element, end_element};
  document d = {.source = s, .wants_field = b->wants_field, .field_name = b->field};
  cvtm_xml_parse(s, &handlers, &d);
  if (d.pieces == 0) cvtm_source_fail(s, "no piece");
  double *points =
      d.vertex_count > 0 ? take_array(&d, &d.points, "points", 3 * d.vertex_count) : NULL;
  if (d.field.seen) b->values = take_array(&d, &d.field, "point data", d.vertex_count);
  if (points != NULL) cvtm_builder_vertices(b, points, d.vertex_count);
  free(points);
  if (d.cell_count > 0) build_cells(&d, b);
  return s->status;
}

/* ---- Writing ---- */

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
  LENGTH_BYTES = 8, /* bytes of the length of an array, which precedes its values */
  ITEM = 24,        /* bytes that are encoded together; a multiple of 3 and of every type's size */
  ITEM_TEXT = 32,   /* characters of an item as base64 */
};

static size_t array_bytes(const data_array *a) {
  return (size_t)a->count * cvtm_scalar_size(a->type);
}

/* Writes item k of the bytes of an array as base64. */
static char *base64_item(char *to, const void *context, int64_t k) {
  const data_array *a = context;
  const size_t width = cvtm_scalar_size(a->type), first = (size_t)k * ITEM;
  const size_t left = LENGTH_BYTES + array_bytes(a) - first, size = left < ITEM ? left : ITEM;
  unsigned char bytes[ITEM];
  size_t made = 0;
  if (k == 0) {
    cvtm_scalar_pack(CVTM_U64, 0, (double)array_bytes(a), bytes);
    made = LENGTH_BYTES;
  }
  for (; made < size; made += width)
    cvtm_scalar_pack(a->type, 0,
                     a->value(a->mesh, (int64_t)((first + made - LENGTH_BYTES) / width)),
                     bytes + made);
  return cvtm_base64_encode(to, bytes, size);
}

static void write_base64(FILE *file, const data_array *a) {
  const int64_t items = (int64_t)((LENGTH_BYTES + array_bytes(a) + ITEM - 1) / ITEM);
  cvtm_write_items(file, items, ITEM_TEXT, base64_item, a);
}

enum { BLOCK = 1 << 16 }; /* bytes; a multiple of every type's size */

/* The blocks of an array, which are compressed separately. */
typedef struct blocks {
  int64_t count;
  size_t most; /* largest size of a compressed block, bytes */
  unsigned char *data;
  uint64_t *head; /* 3 + count: the header before the blocks */
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
    b->head[3 + k] = compress_bytes(a->mesh->compression, raw, size, b->data + (size_t)k * b->most);
    failed |= b->head[3 + k] == 0;
  }
  return !failed;
}

/* Writes the header: the number of blocks, the size of a block, the size of the last block if it is
 * smaller, and the compressed size of each. The blocks follow as a separate base64 text. */
static void write_blocks(FILE *file, const data_array *a, const blocks *b) {
  const size_t last = b->count > 0 ? block_size(a, b->count - 1) : 0;
  size_t end = 0;
  for (int64_t k = 0; k < b->count; end += (size_t)b->head[3 + k++])
    memmove(b->data + end, b->data + (size_t)k * b->most, (size_t)b->head[3 + k]);
  b->head[0] = (uint64_t)b->count;
  b->head[1] = BLOCK;
  b->head[2] = last < BLOCK ? last : 0;
  for (int64_t k = 0; k < 3 + b->count; ++k)
    cvtm_bytes_of_64(0, b->head[k], (unsigned char *)&b->head[k]);
  cvtm_base64_write(file, (const unsigned char *)b->head, 8 * (3 + (size_t)b->count));
  cvtm_base64_write(file, b->data, end);
}

static void write_compressed(FILE *file, const data_array *a) {
  const size_t all = array_bytes(a);
  blocks b = {.count = (int64_t)((all + BLOCK - 1) / BLOCK),
              .most = compressed_most(a->mesh->compression, BLOCK)};
  b.data = malloc((size_t)b.count * b.most + 1);
  b.head = malloc(((size_t)b.count + 3) * sizeof *b.head);
  if (b.data != NULL && b.head != NULL && compress_blocks(a, &b))
    write_blocks(file, a, &b);
  else
    *a->mesh->no_memory = 1;
  free(b.data);
  free(b.head);
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

/* The number of lines, which follow the triangles of a mesh with regions. */
static int64_t line_count(const cvtm_file_mesh *m) {
  return m->regions != NULL && m->triangle_count > 0 ? m->regions->edge_count : 0;
}

/* The number of triangles or, in a mesh without triangles, of vertices written as cells, because
 * several readers fail on a file without cells. */
static int64_t first_cells(const cvtm_file_mesh *m) {
  return m->triangle_count > 0 ? m->triangle_count : m->vertex_count;
}

static int64_t node_count(const cvtm_file_mesh *m) {
  return m->cells != NULL ? m->cells->point_count : m->node_count;
}

static int64_t cell_count(const cvtm_file_mesh *m) {
  return m->cells != NULL ? m->cells->count : first_cells(m) + line_count(m);
}

/* Numbers of nodes of a cell before the lines, and of a line. */
static int64_t first_nodes(const cvtm_file_mesh *m) {
  return m->triangle_count == 0 ? 1 : m->triangle_middle != NULL ? 6 : 3;
}

static int64_t line_nodes(const cvtm_file_mesh *m) { return m->edge_middle != NULL ? 3 : 2; }

static int64_t corner_count(const cvtm_file_mesh *m) {
  return m->cells != NULL ? m->cells->end[m->cells->count - 1]
                          : first_nodes(m) * first_cells(m) + line_nodes(m) * line_count(m);
}

static double connectivity_at(const cvtm_file_mesh *m, int64_t k) {
  if (m->cells != NULL) return m->cells->corners[k];
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
  if (m->cells != NULL) return (double)m->cells->end[k];
  const int64_t first = first_cells(m), lines = k + 1 - first;
  return (double)(lines <= 0 ? first_nodes(m) * (k + 1)
                             : first_nodes(m) * first + line_nodes(m) * lines);
}

static double type_at(const cvtm_file_mesh *m, int64_t k) {
  if (m->cells != NULL) return CVTM_VTK_POLYGON;
  if (m->triangle_count == 0) return CVTM_VTK_VERTEX;
  if (k >= m->triangle_count)
    return m->edge_middle != NULL ? CVTM_VTK_QUADRATIC_EDGE : CVTM_VTK_LINE;
  return m->triangle_middle != NULL ? CVTM_VTK_QUADRATIC_TRIANGLE : CVTM_VTK_TRIANGLE;
}

static double coordinate_at(const cvtm_file_mesh *m, int64_t k) {
  if (m->cells != NULL) return m->cells->points[k];
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

static double point_at(const cvtm_file_mesh *m, int64_t k) { return m->point[k]; }

static double area_at(const cvtm_file_mesh *m, int64_t k) { return m->cells->area[k]; }

static void write_cell_data(FILE *file, const cvtm_file_mesh *m) {
  if (m->cells != NULL) {
    fputs("<CellData Scalars=\"area\">\n", file);
    write_array(file, m, CVTM_F64, "Name=\"area\"", m->cells->count, area_at);
    fputs("</CellData>\n", file);
  }
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

/* Writes the table of vertices that are copies of other vertices. */
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

static void write_vtu(FILE *file, const cvtm_file_mesh *m) {
  const int packed = !m->ascii && m->compression != CVTM_COMPRESS_NONE;
  fputs(
      "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" "
      "byte_order=\"LittleEndian\" header_type=\"UInt64\"",
      file);
  if (packed) fprintf(file, " compressor=\"%s\"", compressors[m->compression].name);
  fputs(">\n<UnstructuredGrid>\n", file);
  write_pairs(file, m);
  fprintf(file, "<Piece NumberOfPoints=\"%" PRId64 "\" NumberOfCells=\"%" PRId64 "\">\n",
          node_count(m), cell_count(m));
  if (m->value != NULL || m->point != NULL) {
    char name[64];
    (void)snprintf(name, sizeof name, "Name=\"%s\"", m->value_name);
    fprintf(file, "<PointData Scalars=\"%s\">\n", m->value != NULL ? m->value_name : "point");
    if (m->value != NULL) write_array(file, m, CVTM_F64, name, m->node_count, value_at);
    if (m->point != NULL) write_array(file, m, CVTM_I64, "Name=\"point\"", m->node_count, point_at);
    fputs("</PointData>\n", file);
  }
  write_cell_data(file, m);
  fputs("<Points>\n", file);
  write_array(file, m, CVTM_F64, "Name=\"Points\" NumberOfComponents=\"3\"", 3 * node_count(m),
              coordinate_at);
  fputs("</Points>\n<Cells>\n", file);
  write_array(file, m, CVTM_I64, "Name=\"connectivity\"", corner_count(m), connectivity_at);
  write_array(file, m, CVTM_I64, "Name=\"offsets\"", cell_count(m), offset_at);
  write_array(file, m, CVTM_U8, "Name=\"types\"", cell_count(m), type_at);
  fputs("</Cells>\n</Piece>\n</UnstructuredGrid>\n</VTKFile>\n", file);
}

const cvtm_format cvtm_format_vtu = {
    .extension = "vtu",
    .help = "VTK XML: ParaView, VTK, PyVista; cell data region, curve, boundary, point data point",
    .properties = CVTM_HOLDS_REGIONS | CVTM_HOLDS_SECOND_ORDER | CVTM_HOLDS_VALUES |
                  CVTM_TEXT_OR_BINARY | CVTM_COMPRESSED | CVTM_READS_FIELDS,
    .write_mesh = write_vtu,
    .read_mesh = read_vtu};

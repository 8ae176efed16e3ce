/* VTK's XML unstructured grid: reading, inline or appended, raw or base64 or text, compressed or
 * not. The writer is format_vtu_write.c. */
#include "base/file.h"
#include "meshes/formats/compressor.h"
#include "meshes/formats/formats.h"
#include "meshes/formats/xml.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

typedef enum encoding { TEXT, BASE64, APPENDED } encoding;

/* Where the values of a data array lie. */
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
  int wide_headers; /* lengths have 64 bits, not 32 */
  cvtm_compression compression;
  int pieces;
  int64_t vertex_count, cell_count;
  int file_seen;
  section where;
  array points, connectivity, offsets, types, field;
  int wants_field;
  const char *field_name; /* NULL: any */
  size_t appended;        /* of its first byte in the file; 0: none */
  int appended_raw;
  uint64_t expanded; /* bytes that compressed arrays become */
} document;

static int is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static int attribute_is(const char **attributes, const char *name, const char *expected) {
  const char *value = cvtm_xml_attribute(attributes, name);
  return value != NULL && strcmp(value, expected) == 0;
}

static cvtm_status get_count(cvtm_source *s, const char **attributes, const char *name,
                             int64_t *count) {
  const char *value = cvtm_xml_attribute(attributes, name);
  double number;
  if (value == NULL || !cvtm_token_number((cvtm_token){value, strlen(value)}, &number) ||
      !(number >= 0 && number < 0x1p52) || number != (double)(int64_t)number) {
    return cvtm_source_fail(s, "malformed or missing %s", name);
  }
  *count = (int64_t)number;
  return CVTM_OK;
}

static int parse_type(const char *text, cvtm_scalar *type) {
  static const char *const words[] = {"Int8",   "UInt8", "Int16",  "UInt16",  "Int32",
                                      "UInt32", "Int64", "UInt64", "Float32", "Float64"};
  for (size_t k = 0; k < sizeof words / sizeof words[0]; ++k) {
    if (strcmp(text, words[k]) == 0) {
      *type = (cvtm_scalar)k;
      return 1;
    }
  }
  return 0;
}

static cvtm_status start_file(document *d, const char **attributes) {
  cvtm_source *s = d->source;
  const char *compressor = cvtm_xml_attribute(attributes, "compressor");
  if (!attribute_is(attributes, "type", "UnstructuredGrid")) {
    return cvtm_source_fail(s, "not an unstructured grid");
  }
  if (compressor != NULL && *compressor != 0) {
    d->compression = cvtm_compressor_named(compressor);
    if (d->compression == CVTM_COMPRESS_NONE)
      return cvtm_source_fail(s, "this build has not the compressor %.60s", compressor);
  }
  s->big = attribute_is(attributes, "byte_order", "BigEndian");
  d->wide_headers = attribute_is(attributes, "header_type", "UInt64");
  return CVTM_OK;
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

static cvtm_status start_array(document *d, const char **attributes) {
  cvtm_source *s = d->source;
  array *a = choose_array(d, attributes);
  if (a == NULL) return CVTM_OK;
  if (a->seen) return cvtm_source_fail(s, "a data array appears twice");
  a->seen = 1;
  a->line = s->line;
  const char *type = cvtm_xml_attribute(attributes, "type");
  if (type == NULL || !parse_type(type, &a->type)) {
    return cvtm_source_fail(s, "a data array has no known type");
  }
  if (a == &d->points && !attribute_is(attributes, "NumberOfComponents", "3")) {
    return cvtm_source_fail(s, "the points do not have three components");
  }
  if (attribute_is(attributes, "format", "appended")) {
    int64_t offset = 0;
    a->how = APPENDED;
    cvtm_status status = get_count(s, attributes, "offset", &offset);
    a->begin = (size_t)offset;
    return status;
  }
  const int text = attribute_is(attributes, "format", "ascii") ||
                   cvtm_xml_attribute(attributes, "format") == NULL;
  if (!text && !attribute_is(attributes, "format", "binary")) {
    return cvtm_source_fail(s, "a data array has an unknown format");
  }
  a->how = text ? TEXT : BASE64;
  a->begin = s->at;
  /* Another element, such as a range, may follow the values inside this one. */
  const unsigned char *end = memchr(s->data + s->at, '<', s->size - s->at);
  if (end == NULL) return cvtm_source_fail(s, "a data array does not end");
  a->end = (size_t)(end - s->data);
  return CVTM_OK;
}

static cvtm_status start_appended(document *d, const char **attributes) {
  cvtm_source *s = d->source;
  d->appended_raw = attribute_is(attributes, "encoding", "raw");
  if (!d->appended_raw && !attribute_is(attributes, "encoding", "base64")) {
    return cvtm_source_fail(s, "appended data of an unknown encoding");
  }
  const unsigned char *mark = memchr(s->data + s->at, '_', s->size - s->at);
  if (mark == NULL) return cvtm_source_fail(s, "appended data do not start with '_'");
  d->appended = (size_t)(mark - s->data) + 1;
  return CVTM_OK;
}

static cvtm_status start_element(void *context, const char *name, const char **attributes,
                                 int *stop) {
  document *d = context;
  if (!d->file_seen && strcmp(name, "VTKFile") != 0) {
    return cvtm_source_fail(d->source, "not a VTK file");
  }
  if (strcmp(name, "VTKFile") == 0) {
    d->file_seen = 1;
    return start_file(d, attributes);
  }
  if (strcmp(name, "AppendedData") == 0) {
    *stop = 1; /* raw bytes are no XML */
    return start_appended(d, attributes);
  }
  if (strcmp(name, "Piece") == 0) {
    if (++d->pieces > 1) return cvtm_source_fail(d->source, "more than one piece");
    const cvtm_status status = get_count(d->source, attributes, "NumberOfPoints", &d->vertex_count);
    if (status != CVTM_OK) return status;
    return get_count(d->source, attributes, "NumberOfCells", &d->cell_count);
  }
  if (strcmp(name, "Points") == 0) d->where = SECTION_POINTS;
  if (strcmp(name, "Cells") == 0) d->where = SECTION_CELLS;
  if (strcmp(name, "PointData") == 0) d->where = SECTION_POINT_DATA;
  return strcmp(name, "DataArray") == 0 ? start_array(d, attributes) : CVTM_OK;
}

static cvtm_status end_element(void *context, const char *name) {
  document *d = context;
  if (strcmp(name, "Points") == 0 || strcmp(name, "Cells") == 0 || strcmp(name, "PointData") == 0)
    d->where = SECTION_OTHER;
  return CVTM_OK;
}

static int digit_value(unsigned char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

/* Decodes whole groups of four digits up to the first that has another character. Returns the
 * number of groups. */
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

/* Decodes up to `most` bytes. Padding inside is allowed: some writers encode the length apart from
 * the values. Returns the number of bytes, stopping at a character that is no base64. */
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
    for (int b = 0; b < 3 - padding && made < most; ++b) {
      bytes[made++] = (unsigned char)(bits >> (16 - 8 * b) & 255);
    }
    bits = 0;
    held = padding = 0;
  }
  return made;
}

/* Values of bytes that start with their length. */
static cvtm_status take_bytes(document *d, const array *a, const unsigned char *bytes, size_t size,
                              int64_t count, double **values) {
  cvtm_source inner = *d->source;
  inner.data = bytes;
  inner.size = size;
  inner.at = 0;
  inner.binary = 1;
  double length;
  size_t needed = (size_t)count * cvtm_scalar_size(a->type);
  cvtm_status status = cvtm_source_value(&inner, d->wide_headers ? CVTM_U64 : CVTM_U32, &length);
  inner.binary = 0;
  inner.line = a->line;
  if (status != CVTM_OK || length != (double)needed || size - inner.at < needed) {
    return cvtm_source_fail(&inner, "a data array does not hold the values that it should");
  }
  inner.binary = 1;
  return cvtm_source_values(&inner, a->type, count, values);
}

static cvtm_status take_base64(document *d, const array *a, size_t begin, size_t end, int64_t count,
                               double **values) {
  size_t most = (size_t)count * cvtm_scalar_size(a->type) + (d->wide_headers ? 8 : 4);
  if (most > end - begin) {
    return cvtm_source_fail(d->source, "a data array does not hold the values that it should");
  }
  unsigned char *bytes = malloc(most);
  if (bytes == NULL) return cvtm_source_no_memory(d->source);
  size_t made = decode_base64(d->source->data + begin, end - begin, bytes, most);
  cvtm_status status = take_bytes(d, a, bytes, made, count, values);
  free(bytes);
  return status;
}

/* The first `most` bytes of an array that is not text: into `to` from base64, or where they lie. */
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
  const size_t width = d->wide_headers ? 8 : 4;
  const cvtm_scalar type = d->wide_headers ? CVTM_U64 : CVTM_U32;
  const double value = cvtm_scalar_unpack(type, d->source->big, bytes + width * index);
  return value < 0x1p62 ? (uint64_t)value : (uint64_t)1 << 62;
}

/* Blocks of `block` bytes become `needed` bytes at `raw`. */
static int unpack_blocks(const document *d, const unsigned char *bytes, size_t size,
                         uint64_t blocks, uint64_t block, unsigned char *raw, size_t needed) {
  size_t at = (d->wide_headers ? 8 : 4) * (size_t)(3 + blocks), made = 0;
  for (uint64_t k = 0; k < blocks; ++k) {
    const uint64_t packed = header_word(d, bytes, 3 + k);
    const size_t wanted = needed - made < block ? needed - made : (size_t)block;
    if (packed > size - at || wanted == 0) return 0;
    if (!cvtm_decompress(d->compression, bytes + at, (size_t)packed, raw + made, wanted)) return 0;
    at += (size_t)packed;
    made += wanted;
  }
  return made == needed;
}

/* Values of compressed blocks: their number, the bytes of one and of the last, and the compressed
 * bytes of each stand before them. */
static cvtm_status take_packed(document *d, const array *a, int64_t count, double **values) {
  cvtm_source *s = d->source;
  const size_t most = s->size, needed = (size_t)count * cvtm_scalar_size(a->type);
  const size_t width = d->wide_headers ? 8 : 4;
  const unsigned char *bytes;
  d->expanded += needed + (uint64_t)count * sizeof **values;
  cvtm_status status = cvtm_check_expansion(s->name, s->size, d->expanded, s->error);
  if (status != CVTM_OK) return status;
  unsigned char *room = malloc(most + 1), *raw = malloc(needed + 1);
  if (room == NULL || raw == NULL) status = cvtm_source_no_memory(s);
  if (status == CVTM_OK) {
    const size_t head = first_bytes(d, a, 3 * width, room, &bytes);
    const uint64_t blocks = head == 3 * width ? header_word(d, bytes, 0) : most;
    const uint64_t block = head == 3 * width ? header_word(d, bytes, 1) : 0;
    size_t size = 0;
    if (blocks < most / width) size = first_bytes(d, a, most, room, &bytes);
    if (blocks >= most / width || size < width * (size_t)(3 + blocks) ||
        !unpack_blocks(d, bytes, size, blocks, block, raw, needed))
      status =
          cvtm_source_fail(s, "a compressed data array does not hold the values that it should");
  }
  if (status == CVTM_OK) {
    cvtm_source inner = *s;
    inner.data = raw;
    inner.size = needed;
    inner.at = 0;
    inner.binary = 1;
    status = cvtm_source_values(&inner, a->type, count, values);
  }
  free(room);
  free(raw);
  return status;
}

static cvtm_status take_array(document *d, const array *a, const char *what, int64_t count,
                              double **values) {
  cvtm_source *s = d->source;
  *values = NULL;
  if (!a->seen) return cvtm_source_fail(s, "no %s", what);
  s->line = a->line;
  /* A value takes a byte at least, and zlib makes no more than 1032 of one: this also keeps the
   * products below from overflowing. */
  const uint64_t most = d->compression != CVTM_COMPRESS_NONE ? 1032 : 1;
  if ((uint64_t)count / most > s->size) {
    return cvtm_source_fail(s, "more %s are claimed than the file can hold", what);
  }
  if (a->how == TEXT) {
    cvtm_source inner = *s;
    inner.at = a->begin;
    inner.size = a->end;
    return cvtm_source_values(&inner, a->type, count, values);
  }
  if (a->how == APPENDED && (d->appended == 0 || a->begin > s->size - d->appended)) {
    return cvtm_source_fail(s, "the %s are not in the appended data", what);
  }
  if (d->compression != CVTM_COMPRESS_NONE) return take_packed(d, a, count, values);
  if (a->how == BASE64) return take_base64(d, a, a->begin, a->end, count, values);
  size_t begin = d->appended + a->begin;
  if (!d->appended_raw) return take_base64(d, a, begin, s->size, count, values);
  return take_bytes(d, a, s->data + begin, s->size - begin, count, values);
}

static cvtm_status build_mesh(document *d, cvtm_builder *b) {
  double *points = NULL, *offsets = NULL, *connectivity = NULL, *types = NULL;
  int64_t cells = d->cell_count, corners = 0;
  cvtm_status status = CVTM_OK;
  if (d->vertex_count > 0) {
    status = take_array(d, &d->points, "points", 3 * d->vertex_count, &points);
  }
  if (status == CVTM_OK && d->field.seen)
    status = take_array(d, &d->field, "point data", d->vertex_count, &b->values);
  if (status == CVTM_OK) status = cvtm_builder_vertices(b, points, d->vertex_count);
  if (status == CVTM_OK && cells > 0) {
    status = take_array(d, &d->offsets, "offsets", cells, &offsets);
    if (status == CVTM_OK) {
      double last = offsets[cells - 1];
      corners = last >= 0 && last < 0x1p52 ? (int64_t)last : -1;
      if (corners < 0) status = cvtm_source_fail(d->source, "malformed offsets");
    }
    if (status == CVTM_OK) status = take_array(d, &d->types, "types", cells, &types);
    if (status == CVTM_OK) {
      status = take_array(d, &d->connectivity, "connectivity", corners, &connectivity);
    }
    if (status == CVTM_OK) {
      status = cvtm_builder_cells(b, cells, offsets, connectivity, corners, types);
    }
  }
  free(points);
  free(offsets);
  free(connectivity);
  free(types);
  return status;
}

cvtm_status cvtm_read_vtu(cvtm_source *s, cvtm_builder *b) {
  static const cvtm_xml_handlers handlers = {start_element, end_element};
  document d = {.source = s, .wants_field = b->wants_field, .field_name = b->field};
  cvtm_status status = cvtm_xml_parse(s, &handlers, &d);
  if (status != CVTM_OK) return status;
  if (d.pieces == 0) return cvtm_source_fail(s, "no piece");
  return build_mesh(&d, b);
}

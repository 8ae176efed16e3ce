/* VTK's XML unstructured grid. Written with inline base64 (the default) or text; read
 * inline or appended, raw or base64 or text, not compressed. */
#include "meshes/formats.h"
#include "meshes/xml.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* The values of one data array, as text or as base64 with its length in front. */
typedef struct array_writer {
  FILE *file;
  int ascii;
  cvtm_scalar type;
  unsigned char group[3];
  size_t filled;
  size_t length; /* of the text that is not written yet */
  char text[4096];
} array_writer;

static void flush_text(array_writer *w) {
  fwrite(w->text, 1, w->length, w->file);
  w->length = 0;
}

/* The characters that `most` more bytes may be written to. */
static char *text_end(array_writer *w, size_t most) {
  if (w->length + most > sizeof w->text) flush_text(w);
  return w->text + w->length;
}

static void flush_group(array_writer *w) {
  if (w->filled == 0) return;
  for (size_t k = w->filled; k < 3; ++k) w->group[k] = 0;
  uint32_t bits = (uint32_t)w->group[0] << 16 | (uint32_t)w->group[1] << 8 | w->group[2];
  char *text = text_end(w, 4);
  for (size_t k = 0; k < 4; ++k) {
    text[k] = k <= w->filled ? digits[bits >> (18 - 6 * k) & 63] : '=';
  }
  w->length += 4;
  w->filled = 0;
}

static void put_binary(array_writer *w, cvtm_scalar type, double value) {
  unsigned char bytes[8];
  cvtm_scalar_pack(type, 0, value, bytes);
  for (size_t k = 0; k < cvtm_scalar_size(type); ++k) {
    w->group[w->filled++] = bytes[k];
    if (w->filled == 3) flush_group(w);
  }
}

static array_writer begin_array(FILE *file, int ascii, cvtm_scalar type, const char *attributes,
                                int64_t count) {
  const char *name = type == CVTM_F64 ? "Float64" : type == CVTM_U8 ? "UInt8" : "Int64";
  array_writer w = {.file = file, .ascii = ascii, .type = type};
  fprintf(file, "<DataArray type=\"%s\" %s format=\"%s\">\n", name, attributes,
          ascii ? "ascii" : "binary");
  if (!ascii) put_binary(&w, CVTM_U64, (double)count * (double)cvtm_scalar_size(type));
  return w;
}

static void put(array_writer *w, double value) {
  if (w->ascii) {
    char *text = text_end(w, CVTM_TEXT_NUMBER + 1);
    char *end = cvtm_text_number(text, value);
    *end++ = '\n';
    w->length += (size_t)(end - text);
  } else {
    put_binary(w, w->type, value);
  }
}

static void end_array(array_writer *w) {
  flush_group(w);
  flush_text(w);
  fputs("\n</DataArray>\n", w->file);
}

/* Lines follow the triangles of a mesh with regions. */
static int64_t line_count(const cvtm_file_mesh *m) {
  return m->regions != NULL ? m->regions->edge_count : 0;
}

/* A mesh without triangles shows its vertices: several readers fail on a file without cells. */
static int64_t cell_count(const cvtm_file_mesh *m) {
  return m->triangle_count > 0 ? m->triangle_count + line_count(m) : m->vertex_count;
}

static void write_cells(FILE *file, const cvtm_file_mesh *m) {
  enum { VERTEX = 1, LINE = 3, TRIANGLE = 5 };
  const int corners = m->triangle_count > 0 ? 3 : 1;
  const int64_t lines = line_count(m), n = cell_count(m) - lines;
  array_writer w =
      begin_array(file, m->ascii, CVTM_I64, "Name=\"connectivity\"", corners * n + 2 * lines);
  for (int64_t k = 0; k < corners * n; ++k) put(&w, corners == 3 ? m->triangles[k] : (double)k);
  for (int64_t k = 0; k < 2 * lines; ++k) put(&w, m->regions->edges[k]);
  end_array(&w);
  w = begin_array(file, m->ascii, CVTM_I64, "Name=\"offsets\"", n + lines);
  for (int64_t t = 1; t <= n; ++t) put(&w, (double)(corners * t));
  for (int64_t e = 1; e <= lines; ++e) put(&w, (double)(corners * n + 2 * e));
  end_array(&w);
  w = begin_array(file, m->ascii, CVTM_U8, "Name=\"types\"", n + lines);
  for (int64_t t = 0; t < n; ++t) put(&w, corners == 3 ? TRIANGLE : VERTEX);
  for (int64_t e = 0; e < lines; ++e) put(&w, LINE);
  end_array(&w);
}

static void write_cell_data(FILE *file, const cvtm_file_mesh *m) {
  const cvtm_regions *regions = m->regions;
  if (regions == NULL || m->triangle_count == 0) return;
  const int64_t n = cell_count(m), triangles = m->triangle_count;
  fputs("<CellData Scalars=\"region\">\n", file);
  array_writer w = begin_array(file, m->ascii, CVTM_I64, "Name=\"region\"", n);
  for (int64_t k = 0; k < n; ++k) put(&w, k < triangles ? regions->region[k] : 0);
  end_array(&w);
  w = begin_array(file, m->ascii, CVTM_I64, "Name=\"curve\"", n);
  for (int64_t k = 0; k < n; ++k) put(&w, k < triangles ? 0 : regions->curve[k - triangles]);
  end_array(&w);
  fputs("</CellData>\n", file);
}

/* The table of the vertices that are copies of others. */
static void write_pairs(FILE *file, const cvtm_file_mesh *m) {
  char attributes[128];
  if (m->regions == NULL || m->regions->pairs == NULL) return;
  snprintf(attributes, sizeof attributes,
           "Name=\"periodic_pairs\" NumberOfComponents=\"3\" NumberOfTuples=\"%" PRId64 "\"",
           m->regions->pair_count);
  fputs("<FieldData>\n", file);
  array_writer w = begin_array(file, m->ascii, CVTM_I64, attributes, 3 * m->regions->pair_count);
  for (int64_t k = 0; k < 3 * m->regions->pair_count; ++k) put(&w, m->regions->pairs[k]);
  end_array(&w);
  fputs("</FieldData>\n", file);
}

void cvtm_write_vtu(FILE *file, const cvtm_file_mesh *m) {
  fprintf(file,
          "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" "
          "byte_order=\"LittleEndian\" header_type=\"UInt64\">\n<UnstructuredGrid>\n");
  write_pairs(file, m);
  fprintf(file, "<Piece NumberOfPoints=\"%" PRId64 "\" NumberOfCells=\"%" PRId64 "\">\n",
          m->vertex_count, cell_count(m));
  if (m->mass != NULL) {
    fputs("<PointData Scalars=\"mass\">\n", file);
    array_writer w = begin_array(file, m->ascii, CVTM_F64, "Name=\"mass\"", m->vertex_count);
    for (int64_t i = 0; i < m->vertex_count; ++i) put(&w, m->mass[i]);
    end_array(&w);
    fputs("</PointData>\n", file);
  }
  write_cell_data(file, m);
  fputs("<Points>\n", file);
  array_writer w = begin_array(file, m->ascii, CVTM_F64, "Name=\"Points\" NumberOfComponents=\"3\"",
                               3 * m->vertex_count);
  for (int64_t i = 0; i < m->vertex_count; ++i) {
    put(&w, m->points[2 * i]);
    put(&w, m->points[2 * i + 1]);
    put(&w, 0);
  }
  end_array(&w);
  fputs("</Points>\n<Cells>\n", file);
  write_cells(file, m);
  fputs("</Cells>\n</Piece>\n</UnstructuredGrid>\n</VTKFile>\n", file);
}

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

typedef enum section { SECTION_OTHER, SECTION_POINTS, SECTION_CELLS } section;

typedef struct document {
  cvtm_source *source;
  int wide_headers; /* lengths have 64 bits, not 32 */
  int pieces;
  int64_t vertex_count, cell_count;
  int file_seen;
  section where;
  array points, connectivity, offsets, types;
  size_t appended; /* of its first byte in the file; 0: none */
  int appended_raw;
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
    return cvtm_source_fail(s, "compressed VTU data are not supported; write them uncompressed");
  }
  s->big = attribute_is(attributes, "byte_order", "BigEndian");
  d->wide_headers = attribute_is(attributes, "header_type", "UInt64");
  return CVTM_OK;
}

static array *choose_array(document *d, const char **attributes) {
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
  return strcmp(name, "DataArray") == 0 ? start_array(d, attributes) : CVTM_OK;
}

static cvtm_status end_element(void *context, const char *name) {
  document *d = context;
  if (strcmp(name, "Points") == 0 || strcmp(name, "Cells") == 0) d->where = SECTION_OTHER;
  return CVTM_OK;
}

static int digit_value(unsigned char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

/* Decodes up to `most` bytes. Padding inside is allowed: some writers encode the length
 * apart from the values. Returns the number of bytes, stopping at what is no base64. */
static size_t decode_base64(const unsigned char *text, size_t length, unsigned char *bytes,
                            size_t most) {
  uint32_t bits = 0;
  int held = 0, padding = 0;
  size_t made = 0;
  for (size_t k = 0; k < length && made < most; ++k) {
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

static cvtm_status take_array(document *d, const array *a, const char *what, int64_t count,
                              double **values) {
  cvtm_source *s = d->source;
  *values = NULL;
  if (!a->seen) return cvtm_source_fail(s, "no %s", what);
  s->line = a->line;
  /* A value takes a byte at least: this also keeps the products below from overflowing. */
  if ((uint64_t)count > s->size) {
    return cvtm_source_fail(s, "more %s are claimed than the file can hold", what);
  }
  if (a->how == TEXT) {
    cvtm_source inner = *s;
    inner.at = a->begin;
    inner.size = a->end;
    return cvtm_source_values(&inner, a->type, count, values);
  }
  if (a->how == BASE64) return take_base64(d, a, a->begin, a->end, count, values);
  if (d->appended == 0 || a->begin > s->size - d->appended) {
    return cvtm_source_fail(s, "the %s are not in the appended data", what);
  }
  size_t begin = d->appended + a->begin;
  if (!d->appended_raw) return take_base64(d, a, begin, s->size, count, values);
  return take_bytes(d, a, s->data + begin, s->size - begin, count, values);
}

static cvtm_status build(document *d, cvtm_builder *b) {
  double *points = NULL, *offsets = NULL, *connectivity = NULL, *types = NULL;
  int64_t cells = d->cell_count, corners = 0;
  cvtm_status status = CVTM_OK;
  if (d->vertex_count > 0) {
    status = take_array(d, &d->points, "points", 3 * d->vertex_count, &points);
  }
  for (int64_t i = 0; i < d->vertex_count && status == CVTM_OK; ++i) {
    status = cvtm_builder_vertex(b, points[3 * i], points[3 * i + 1], points[3 * i + 2]);
  }
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
  document d = {.source = s};
  cvtm_status status = cvtm_xml_parse(s, &handlers, &d);
  if (status != CVTM_OK) return status;
  if (d.pieces == 0) return cvtm_source_fail(s, "no piece");
  return build(&d, b);
}

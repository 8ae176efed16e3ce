/* VTK's XML unstructured grid. Written with inline base64 (the default) or text; read
 * inline or appended, raw or base64 or text, not compressed. */
#include "meshes/formats.h"

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
} array_writer;

static void flush_group(array_writer *w) {
  if (w->filled == 0) return;
  for (size_t k = w->filled; k < 3; ++k) w->group[k] = 0;
  uint32_t bits = (uint32_t)w->group[0] << 16 | (uint32_t)w->group[1] << 8 | w->group[2];
  char text[4];
  for (size_t k = 0; k < 4; ++k) {
    text[k] = k <= w->filled ? digits[bits >> (18 - 6 * k) & 63] : '=';
  }
  fwrite(text, 1, sizeof text, w->file);
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
    cvtm_put_number(w->file, value);
    fputc('\n', w->file);
  } else {
    put_binary(w, w->type, value);
  }
}

static void end_array(array_writer *w) {
  flush_group(w);
  fputs("\n</DataArray>\n", w->file);
}

/* Lines follow the triangles of a mesh with regions. */
static int64_t line_count(const cvtm_image *m) {
  return m->regions != NULL ? m->regions->edge_count : 0;
}

/* A mesh without triangles shows its vertices: several readers stumble over no cells. */
static int64_t cell_count(const cvtm_image *m) {
  return m->triangle_count > 0 ? m->triangle_count + line_count(m) : m->vertex_count;
}

static void write_cells(FILE *file, const cvtm_image *m) {
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

static void write_cell_data(FILE *file, const cvtm_image *m) {
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

void cvtm_write_vtu(FILE *file, const cvtm_image *m) {
  fprintf(file,
          "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" "
          "byte_order=\"LittleEndian\" header_type=\"UInt64\">\n<UnstructuredGrid>\n"
          "<Piece NumberOfPoints=\"%" PRId64 "\" NumberOfCells=\"%" PRId64 "\">\n",
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
  section where;
  array points, connectivity, offsets, types;
  size_t appended; /* of its first byte in the file; 0: none */
  int appended_raw;
} document;

/* A tag: its name and, up to its closing bracket, its attributes. */
typedef struct tag {
  cvtm_token name;
  const char *attributes, *end;
  int closing, empty; /* </name>, <name/> */
} tag;

static int is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static void advance(cvtm_source *s, size_t to) {
  for (; s->at < to; ++s->at) s->line += s->data[s->at] == '\n';
}

/* The position of `text` at or after the cursor; s->size if there is none. */
static size_t find(const cvtm_source *s, const char *text) {
  size_t length = strlen(text);
  for (size_t k = s->at; k + length <= s->size; ++k) {
    const void *first = memchr(s->data + k, text[0], s->size - length + 1 - k);
    if (first == NULL) return s->size;
    k = (size_t)((const unsigned char *)first - s->data);
    if (memcmp(s->data + k, text, length) == 0) return k;
  }
  return s->size;
}

/* The next tag; *found = 0 at the end. Declarations and comments are skipped. */
static cvtm_status next_tag(cvtm_source *s, tag *t, int *found) {
  *found = 0;
  for (;;) {
    advance(s, find(s, "<"));
    if (s->at == s->size) return CVTM_OK;
    int comment = s->size - s->at >= 4 && memcmp(s->data + s->at, "<!--", 4) == 0;
    size_t end = find(s, comment ? "-->" : ">");
    if (end == s->size) return cvtm_source_fail(s, "a tag does not end");
    const char *text = (const char *)s->data + s->at + 1;
    const char *stop = (const char *)s->data + end;
    advance(s, end + 1);
    if (comment || *text == '?' || *text == '!') continue;
    t->closing = *text == '/';
    t->empty = stop > text && stop[-1] == '/';
    if (t->closing) ++text;
    if (t->empty) --stop;
    t->name.text = text;
    while (text < stop && !is_space(*text)) ++text;
    if (text <= t->name.text) return cvtm_source_fail(s, "malformed tag");
    t->name.length = (size_t)(text - t->name.text);
    t->attributes = text;
    t->end = stop;
    *found = 1;
    return CVTM_OK;
  }
}

/* The value of an attribute, possibly of length 0; 0: it is absent. */
static int get_attribute(const tag *t, const char *name, cvtm_token *value) {
  const char *p = t->attributes;
  for (;;) {
    while (p < t->end && is_space(*p)) ++p;
    cvtm_token key = {p, 0};
    while (p < t->end && *p != '=' && !is_space(*p)) ++p;
    key.length = (size_t)(p - key.text);
    while (p < t->end && is_space(*p)) ++p;
    if (p >= t->end || *p != '=') return 0;
    ++p;
    while (p < t->end && is_space(*p)) ++p;
    if (p >= t->end || (*p != '"' && *p != '\'')) return 0;
    char quote = *p++;
    value->text = p;
    while (p < t->end && *p != quote) ++p;
    if (p >= t->end) return 0;
    value->length = (size_t)(p - value->text);
    ++p;
    if (cvtm_token_is(key, name)) return 1;
  }
}

static int attribute_is(const tag *t, const char *name, const char *expected) {
  cvtm_token value;
  return get_attribute(t, name, &value) && cvtm_token_is(value, expected);
}

static cvtm_status get_count(cvtm_source *s, const tag *t, const char *name, int64_t *count) {
  cvtm_token value;
  double number;
  if (!get_attribute(t, name, &value) || !cvtm_token_number(value, &number) ||
      !(number >= 0 && number < 0x1p52) || number != (double)(int64_t)number) {
    return cvtm_source_fail(s, "malformed or missing %s", name);
  }
  *count = (int64_t)number;
  return CVTM_OK;
}

static int parse_type(cvtm_token token, cvtm_scalar *type) {
  static const char *const words[] = {"Int8",   "UInt8", "Int16",  "UInt16",  "Int32",
                                      "UInt32", "Int64", "UInt64", "Float32", "Float64"};
  for (size_t k = 0; k < sizeof words / sizeof words[0]; ++k) {
    if (cvtm_token_is(token, words[k])) {
      *type = (cvtm_scalar)k;
      return 1;
    }
  }
  return 0;
}

static cvtm_status parse_file_tag(document *d, const tag *t) {
  cvtm_source *s = d->source;
  cvtm_token value;
  if (!attribute_is(t, "type", "UnstructuredGrid")) {
    return cvtm_source_fail(s, "not an unstructured grid");
  }
  if (get_attribute(t, "compressor", &value) && value.length > 0) {
    return cvtm_source_fail(s, "compressed VTU data are not supported; write them uncompressed");
  }
  s->big = attribute_is(t, "byte_order", "BigEndian");
  d->wide_headers = attribute_is(t, "header_type", "UInt64");
  return CVTM_OK;
}

static array *choose_array(document *d, const tag *t) {
  if (d->where == SECTION_POINTS) return &d->points;
  if (d->where != SECTION_CELLS) return NULL;
  if (attribute_is(t, "Name", "connectivity")) return &d->connectivity;
  if (attribute_is(t, "Name", "offsets")) return &d->offsets;
  return attribute_is(t, "Name", "types") ? &d->types : NULL;
}

static cvtm_status parse_array_tag(document *d, const tag *t) {
  cvtm_source *s = d->source;
  array *a = choose_array(d, t);
  array ignored = {0};
  if (a == NULL) a = &ignored;
  if (a->seen) return cvtm_source_fail(s, "a data array appears twice");
  a->seen = 1;
  a->line = s->line;
  cvtm_token value;
  if (a != &ignored && (!get_attribute(t, "type", &value) || !parse_type(value, &a->type))) {
    return cvtm_source_fail(s, "a data array has no known type");
  }
  if (a == &d->points && !attribute_is(t, "NumberOfComponents", "3")) {
    return cvtm_source_fail(s, "the points do not have three components");
  }
  if (attribute_is(t, "format", "appended")) {
    int64_t offset = 0;
    a->how = APPENDED;
    cvtm_status status = get_count(s, t, "offset", &offset);
    a->begin = (size_t)offset;
    return status;
  }
  int text = attribute_is(t, "format", "ascii") || !get_attribute(t, "format", &value);
  if (!text && !attribute_is(t, "format", "binary")) {
    return cvtm_source_fail(s, "a data array has an unknown format");
  }
  a->how = text ? TEXT : BASE64;
  a->begin = a->end = s->at;
  if (!t->empty) {
    a->end = find(s, "<"); /* a range may follow as a tag of its own */
    if (a->end == s->size) return cvtm_source_fail(s, "a data array does not end");
    advance(s, a->end);
  }
  return CVTM_OK;
}

static cvtm_status parse_appended_tag(document *d, const tag *t) {
  cvtm_source *s = d->source;
  d->appended_raw = attribute_is(t, "encoding", "raw");
  if (!d->appended_raw && !attribute_is(t, "encoding", "base64")) {
    return cvtm_source_fail(s, "appended data of an unknown encoding");
  }
  size_t mark = find(s, "_");
  if (mark == s->size) return cvtm_source_fail(s, "appended data do not start with '_'");
  d->appended = mark + 1;
  return CVTM_OK;
}

static cvtm_status parse_tag(document *d, const tag *t) {
  if (cvtm_token_is(t->name, "VTKFile") && !t->closing) return parse_file_tag(d, t);
  if (cvtm_token_is(t->name, "Piece") && !t->closing) {
    if (++d->pieces > 1) return cvtm_source_fail(d->source, "more than one piece");
    cvtm_status status = get_count(d->source, t, "NumberOfPoints", &d->vertex_count);
    if (status != CVTM_OK) return status;
    return get_count(d->source, t, "NumberOfCells", &d->cell_count);
  }
  if (cvtm_token_is(t->name, "Points")) {
    d->where = t->closing ? SECTION_OTHER : SECTION_POINTS;
  } else if (cvtm_token_is(t->name, "Cells")) {
    d->where = t->closing ? SECTION_OTHER : SECTION_CELLS;
  } else if (cvtm_token_is(t->name, "DataArray") && !t->closing) {
    return parse_array_tag(d, t);
  }
  return CVTM_OK;
}

static cvtm_status parse_document(document *d) {
  cvtm_source *s = d->source;
  int found, file_seen = 0;
  tag t;
  for (;;) {
    cvtm_status status = next_tag(s, &t, &found);
    if (status != CVTM_OK) return status;
    if (!found) break;
    if (cvtm_token_is(t.name, "VTKFile")) {
      if (t.closing) break;
      file_seen = 1;
    }
    if (!file_seen) return cvtm_source_fail(s, "not a VTK file");
    if (cvtm_token_is(t.name, "AppendedData") && !t.closing) return parse_appended_tag(d, &t);
    status = parse_tag(d, &t);
    if (status != CVTM_OK) return status;
  }
  return file_seen ? CVTM_OK : cvtm_source_fail(s, "not a VTK file");
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
  document d = {.source = s};
  cvtm_status status = parse_document(&d);
  if (status != CVTM_OK) return status;
  if (d.pieces == 0) return cvtm_source_fail(s, "no piece");
  return build(&d, b);
}

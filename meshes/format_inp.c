/* Input decks of Abaqus and CalculiX: the mesh part. Written: plane stress triangles (CPS3, CPS6),
 * an element set for each region, and for each part of the boundary a set of nodes and a surface of
 * element edges, all with the names of the groups. Read: nodes and triangles of any family.
 * CalculiX CrunchiX User's Manual, *NODE, *ELEMENT, *NSET, *ELSET, *SURFACE. */
#include "meshes/file_sets.h"
#include "meshes/formats.h"
#include "meshes/node_tags.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

/* ---- writing ---- */

static char *node_line(char *to, const void *context, int64_t i) {
  const cvtm_file_mesh *m = context;
  to = cvtm_text_word(cvtm_text_integer(to, i + 1), ", ");
  to = cvtm_text_word(cvtm_text_number(to, m->points[2 * i]), ", ");
  return cvtm_text_word(cvtm_text_number(to, m->points[2 * i + 1]), ", 0\n");
}

/* Elements from `first` on. */
typedef struct element_lines {
  const cvtm_file_mesh *mesh;
  int64_t first;
} element_lines;

static char *element_line(char *to, const void *context, int64_t k) {
  const element_lines *lines = context;
  int32_t node[6];
  const int count = cvtm_triangle_nodes(lines->mesh, lines->first + k, node);
  to = cvtm_text_integer(to, lines->first + k + 1);
  for (int c = 0; c < count; ++c)
    to = cvtm_text_integer(cvtm_text_word(to, ", "), (int64_t)node[c] + 1);
  *to++ = '\n';
  return to;
}

static void write_region(FILE *file, const cvtm_file_mesh *m, const char *name, int64_t first,
                         int64_t end) {
  const element_lines lines = {m, first};
  fprintf(file, "*ELEMENT, TYPE=%s, ELSET=%s\n", m->triangle_middle != NULL ? "CPS6" : "CPS3",
          name);
  cvtm_write_items(file, end - first, 7 * (CVTM_TEXT_INTEGER + 2), element_line, &lines);
}

static void write_regions(FILE *file, const cvtm_file_mesh *m) {
  const cvtm_regions *r = m->regions;
  int64_t first = 0;
  if (r == NULL) write_region(file, m, "region-1", 0, m->triangle_count);
  for (int32_t g = 0; r != NULL && g < r->area_group_count; ++g) {
    int64_t end = first;
    while (end < m->triangle_count && r->region[end] == r->area_groups[g].tag) ++end;
    write_region(file, m, r->area_groups[g].name, first, end);
    first = end;
  }
}

static void write_boundary(FILE *file, const cvtm_file_mesh *m, int32_t g) {
  enum { IN_A_LINE = 12 };
  const cvtm_regions *r = m->regions;
  const cvtm_file_sets *sets = m->sets;
  fprintf(file, "*NSET, NSET=%s\n", r->line_groups[g].name);
  for (int64_t k = sets->start[g]; k < sets->start[g + 1]; ++k) {
    const int last =
        k + 1 == sets->start[g + 1] || (k - sets->start[g]) % IN_A_LINE == IN_A_LINE - 1;
    fprintf(file, "%" PRId64 "%s", (int64_t)sets->nodes[k] + 1, last ? "\n" : ", ");
  }
  fprintf(file, "*SURFACE, NAME=%s, TYPE=ELEMENT\n", r->line_groups[g].name);
  for (int64_t e = 0; e < r->edge_count; ++e) {
    if (r->group[e] != r->line_groups[g].tag) continue;
    fprintf(file, "%" PRId64 ", S%d\n", sets->face[e] / 3 + 1, (int)(sets->face[e] % 3) + 1);
  }
}

void cvtm_write_inp(FILE *file, const cvtm_file_mesh *m) {
  fprintf(file, "*HEADING\nmesh of cvtmesh: %" PRId64 " nodes, %" PRId64 " triangles\n",
          m->node_count, m->triangle_count);
  fputs("*NODE, NSET=nodes\n", file);
  cvtm_write_items(file, m->node_count, CVTM_TEXT_INTEGER + CVTM_TEXT_POINT + 8, node_line, m);
  if (m->triangle_count > 0) write_regions(file, m);
  for (int32_t g = 0; m->sets != NULL && g < m->regions->line_group_count; ++g)
    write_boundary(file, m, g);
}

/* ---- reading ---- */

typedef enum section { OTHER, NODES, ELEMENTS } section;

typedef struct deck {
  cvtm_source *source;
  cvtm_builder *builder;
  cvtm_node_tags nodes;
  section where;
  int corners;    /* of the elements of this section that are kept; 0: they are skipped */
  int wanted;     /* numbers that an element has, its own included */
  double item[8]; /* of the element that is read */
  int filled;
  int sorted;
} deck;

/* The next field up to a comma or the end of the line, without blanks around it; 0: the line ends.
 */
static int next_field(const char **at, const char *end, cvtm_token *field) {
  const char *start = *at;
  if (start >= end) return 0;
  const char *stop = memchr(start, ',', (size_t)(end - start));
  if (stop == NULL) stop = end;
  *at = stop < end ? stop + 1 : end;
  while (start < stop && isspace((unsigned char)*start)) ++start;
  while (stop > start && isspace((unsigned char)stop[-1])) --stop;
  *field = (cvtm_token){start, (size_t)(stop - start)};
  return 1;
}

/* Case does not matter. */
static int starts_with(cvtm_token token, const char *word) {
  const size_t length = strlen(word);
  if (token.length < length) return 0;
  for (size_t k = 0; k < length; ++k)
    if (toupper((unsigned char)token.text[k]) != word[k]) return 0;
  return 1;
}

static int equals(cvtm_token token, const char *word) {
  return token.length == strlen(word) && starts_with(token, word);
}

/* Nodes of a triangle by the name of its family, which ends in their number: CPS3, CPE6M, S3R. */
static int triangle_nodes(cvtm_token type) {
  static const char *const three[] = {"CPS3", "CPE3",   "CAX3",  "S3",    "STRI3", "M3D3",
                                      "R3D3", "SFM3D3", "DC2D3", "AC2D3", "DCAX3", "CPEG3"};
  static const char *const six[] = {"CPS6",   "CPE6",  "CAX6",  "S6",    "STRI65", "M3D6",
                                    "SFM3D6", "DC2D6", "AC2D6", "DCAX6", "CPEG6"};
  for (size_t k = 0; k < sizeof three / sizeof three[0]; ++k)
    if (starts_with(type, three[k])) return 3;
  for (size_t k = 0; k < sizeof six / sizeof six[0]; ++k)
    if (starts_with(type, six[k])) return 6;
  return 0;
}

/* Lines, points and what joins them. */
static int is_skipped(cvtm_token type) {
  static const char *const words[] = {"T2D", "T3D", "B2",     "B3",   "R2D2",
                                      "RB",  "RAX", "SPRING", "MASS", "DASHPOT"};
  for (size_t k = 0; k < sizeof words / sizeof words[0]; ++k)
    if (starts_with(type, words[k])) return 1;
  return 0;
}

static cvtm_status start_elements(deck *d, cvtm_token type) {
  d->wanted = d->filled = 0;
  d->corners = triangle_nodes(type);
  d->where = ELEMENTS;
  if (!d->sorted) {
    const cvtm_status status = cvtm_node_tags_sort(&d->nodes, d->source);
    if (status != CVTM_OK) return status;
    d->sorted = 1;
  }
  if (d->corners > 0) {
    d->wanted = d->corners + 1;
  } else if (is_skipped(type)) {
    d->where = OTHER;
  } else {
    return cvtm_source_fail(d->source, "an element of type '%.*s' is not a triangle",
                            (int)(type.length < 40 ? type.length : 40), type.text);
  }
  return CVTM_OK;
}

static cvtm_status start_section(deck *d, const char *at, const char *end) {
  cvtm_token keyword, field, type = {"", 0};
  if (d->filled > 0) return cvtm_source_fail(d->source, "an element has too few nodes");
  next_field(&at, end, &keyword);
  while (next_field(&at, end, &field)) {
    if (!starts_with(field, "TYPE") || memchr(field.text, '=', field.length) == NULL) continue;
    const char *value = (const char *)memchr(field.text, '=', field.length) + 1;
    const char *stop = field.text + field.length;
    next_field(&value, stop, &type);
  }
  d->where = OTHER;
  if (equals(keyword, "*INCLUDE"))
    return cvtm_source_fail(d->source, "*INCLUDE is not read: name the file with the mesh");
  if (equals(keyword, "*NODE")) {
    if (d->sorted) return cvtm_source_fail(d->source, "*NODE after *ELEMENT is not read");
    d->where = NODES;
  }
  return equals(keyword, "*ELEMENT") ? start_elements(d, type) : CVTM_OK;
}

static cvtm_status read_node(deck *d, const char *at, const char *end) {
  double value[4] = {0, 0, 0, 0};
  cvtm_token field;
  int count = 0;
  for (; count < 4 && next_field(&at, end, &field); ++count) {
    if (field.length > 0 && !cvtm_token_number(field, &value[count]))
      return cvtm_source_fail(d->source, "malformed node");
  }
  if (count < 3) return cvtm_source_fail(d->source, "a node has fewer than two coordinates");
  const cvtm_status status = cvtm_node_tags_add(&d->nodes, d->source, value[0]);
  return status == CVTM_OK ? cvtm_builder_vertex(d->builder, value[1], value[2], value[3]) : status;
}

/* An element may take several lines. */
static cvtm_status read_element(deck *d, const char *at, const char *end) {
  cvtm_token field;
  while (next_field(&at, end, &field)) {
    if (field.length == 0) continue;
    if (!cvtm_token_number(field, &d->item[d->filled]))
      return cvtm_source_fail(d->source, "malformed element");
    if (++d->filled < d->wanted) continue;
    d->filled = 0;
    double index[6];
    for (int k = 0; k < d->corners; ++k) index[k] = cvtm_node_tags_find(&d->nodes, d->item[k + 1]);
    cvtm_status status = cvtm_builder_triangle(d->builder, index);
    for (int k = 3; k < d->corners && status == CVTM_OK; ++k)
      status = cvtm_builder_middle(d->builder, index[k]);
    if (status != CVTM_OK) return status;
  }
  return CVTM_OK;
}

static cvtm_status read_line(deck *d, const char *at, const char *end) {
  while (at < end && isspace((unsigned char)*at)) ++at;
  if (at == end || (end - at >= 2 && at[0] == '*' && at[1] == '*')) return CVTM_OK;
  if (*at == '*') return start_section(d, at, end);
  if (d->where == NODES) return read_node(d, at, end);
  return d->where == ELEMENTS ? read_element(d, at, end) : CVTM_OK;
}

cvtm_status cvtm_read_inp(cvtm_source *s, cvtm_builder *b) {
  deck d = {.source = s, .builder = b};
  cvtm_status status = CVTM_OK;
  while (s->at < s->size && status == CVTM_OK) {
    const char *line = (const char *)s->data + s->at;
    const char *end = memchr(line, '\n', s->size - s->at);
    if (end == NULL) end = (const char *)s->data + s->size;
    status = read_line(&d, line, end);
    if (status == CVTM_OK) cvtm_source_end_line(s);
  }
  if (status == CVTM_OK && d.filled > 0)
    status = cvtm_source_fail(s, "an element has too few nodes");
  if (status == CVTM_OK && !d.sorted && b->vertex_count > 0)
    status = cvtm_source_fail(s, "no *ELEMENT");
  cvtm_node_tags_free(&d.nodes);
  return status;
}

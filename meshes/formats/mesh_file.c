/* Functions for reading and writing mesh files that the formats share. */
#include "base/file.h"
#include "base/host.h"
#include "base/geometry.h"
#include "meshes/elements/twins.h"
#include "meshes/formats/formats.h"
#include "meshes/mesh_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Sets of nodes and faces ---- */

/* Sorts the nodes of each group and removes duplicates. */
static void sort_nodes(const cvtm_regions *r, cvtm_file_sets *sets) {
  int64_t kept = 0;
  for (int32_t g = 0; g < r->line_group_count; ++g) {
    const int64_t first = sets->start[g], end = sets->start[g + 1];
    qsort(sets->nodes + first, (size_t)(end - first), sizeof *sets->nodes, cvtm_compare_int32);
    sets->start[g] = kept;
    for (int64_t k = first; k < end; ++k) {
      if (k == first || sets->nodes[k] != sets->nodes[k - 1]) sets->nodes[kept++] = sets->nodes[k];
    }
  }
  sets->start[r->line_group_count] = kept;
}

static void list_nodes(const cvtm_file_mesh *m, cvtm_file_sets *sets) {
  const cvtm_regions *r = m->regions;
  int32_t node[3];
  for (int pass = 0; pass < 2; ++pass) {
    for (int64_t e = 0; e < r->edge_count; ++e) {
      const int32_t g = r->group[e];
      const int count = cvtm_edge_nodes(m, e, node);
      for (int k = 0; k < count; ++k) {
        if (pass == 0) {
          ++sets->start[g];
          if (sets->marker[node[k]] == 0 || g < sets->marker[node[k]]) sets->marker[node[k]] = g;
        } else {
          sets->nodes[--sets->start[g]] = node[k];
        }
      }
    }
    /* after the first pass start[g] is the end of group g; the second moves it to the begin */
    for (int32_t g = 0; pass == 0 && g < r->line_group_count; ++g)
      sets->start[g + 1] += sets->start[g];
  }
  /* So far start[g] belongs to the group with tag g; from here groups are numbered from 0. */
  const int64_t all = (m->edge_middle != NULL ? 3 : 2) * r->edge_count;
  for (int32_t g = 0; g < r->line_group_count; ++g) sets->start[g] = sets->start[g + 1];
  sets->start[r->line_group_count] = all;
  sort_nodes(r, sets);
}

/* Finds the first triangle of each connected part of a region. */
static int find_seeds(const cvtm_file_mesh *m, cvtm_file_sets *sets) {
  const size_t n = (size_t)m->triangle_count + 1;
  cvtm_scratch memory = {0};
  int64_t *twin = cvtm_scratch_take(&memory, 3 * n, sizeof *twin);
  int64_t *stack = cvtm_scratch_take(&memory, n, sizeof *stack);
  char *seen = cvtm_scratch_zeros(&memory, n, 1);
  const int ready = !memory.failed && cvtm_find_twins(m->triangles, m->triangle_count,
                                                      m->vertex_count, twin, NULL, NULL) == CVTM_OK;
  for (int64_t first = 0; ready && first < m->triangle_count; ++first) {
    if (seen[first]) continue;
    int64_t depth = 0;
    sets->seeds[sets->seed_count++] = stack[depth++] = first;
    seen[first] = 1;
    while (depth > 0) {
      const int64_t t = stack[--depth];
      for (int k = 0; k < 3; ++k) {
        const int64_t g = twin[3 * t + k], other = g / 3;
        if (g < 0 || seen[other] || m->regions->region[other] != m->regions->region[t]) continue;
        seen[other] = 1;
        stack[depth++] = other;
      }
    }
  }
  cvtm_scratch_free(&memory);
  return ready;
}

/* Makes the sets of a mesh with grouped regions; returns 0 if memory runs out. */
static int file_sets_create(const cvtm_file_mesh *mesh, cvtm_scratch *memory,
                            cvtm_file_sets *sets) {
  const cvtm_regions *r = mesh->regions;
  const size_t edges = (size_t)r->edge_count, nodes = (size_t)mesh->node_count;
  const size_t groups = (size_t)r->line_group_count, triangles = (size_t)mesh->triangle_count;
  *sets = (cvtm_file_sets){.face = cvtm_scratch_take(memory, edges, sizeof *sets->face),
                           .start = cvtm_scratch_zeros(memory, groups + 2, sizeof *sets->start),
                           .nodes = cvtm_scratch_take(memory, 3 * edges, sizeof *sets->nodes),
                           .marker = cvtm_scratch_zeros(memory, nodes, sizeof *sets->marker),
                           .number = cvtm_scratch_take(memory, nodes, sizeof *sets->number),
                           .seeds = cvtm_scratch_take(memory, triangles, sizeof *sets->seeds)};
  if (memory->failed) return 0;
  list_nodes(mesh, sets);
  return cvtm_find_edge_faces(mesh->triangles, mesh->triangle_count, mesh->vertex_count, r,
                              sets->face) &&
         find_seeds(mesh, sets);
}

/* ---- Formats ---- */

int cvtm_mesh_format_known(const char *path) {
  return cvtm_format_of(path, CVTM_WRITES_MESH) != NULL;
}

/* Finds the format of a mesh to read; fields: nonzero: a format with fields. */
static cvtm_status find_readable(const char *extension, int fields, const char *name,
                                 const cvtm_format **f, cvtm_error *error) {
  const unsigned bits = CVTM_READS_MESH | (fields ? CVTM_READS_FIELDS : 0u);
  char known[CVTM_FORMAT_NAMES];
  *f = cvtm_format_find(cvtm_formats, extension, bits);
  if (*f != NULL) return CVTM_OK;
  cvtm_format_names(cvtm_formats, bits, fields ? " and " : ", ", known, sizeof known);
  return fields ? cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                            "%s: fields cannot be read from this format, only from %s", name, known)
                : cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%s: unknown mesh format (readable: %s)",
                            name, known);
}

/* ---- writing ---- */

/* Converts pixels, y down, to the coordinates of the file. */
static void place_points(const double *from, int64_t count, const cvtm_mesh_file_options *options,
                         double *to) {
  const double divisor = options->unit ? options->domain.width : 1;
  const double scale = options->scale > 0 && !options->unit ? options->scale : 1;
  for (int64_t i = 0; i < count; ++i) {
    const double up = options->domain.height - from[2 * i + 1];
    to[2 * i] = options->left + scale * from[2 * i] / divisor;
    to[2 * i + 1] = options->bottom + scale * up / divisor;
  }
}

double *cvtm_mesh_file_points(const cvtm_mesh *mesh, const cvtm_mesh_file_options *options) {
  static const cvtm_mesh_file_options none;
  if (options == NULL) options = &none;
  const int64_t middles = options->second != NULL ? options->second->count : 0;
  double *points = malloc((2 * (size_t)(mesh->vertex_count + middles) + 1) * sizeof *points);
  if (points == NULL) return NULL;
  place_points(mesh->points, mesh->vertex_count, options, points);
  if (middles > 0)
    place_points(options->second->points, middles, options, points + 2 * mesh->vertex_count);
  return points;
}

/* The tag of the first point group of each node, malloc'd; NULL if memory runs out. */
static int32_t *list_points(const cvtm_regions *r, int64_t nodes) {
  int32_t *tags = calloc((size_t)nodes + 1, sizeof *tags);
  for (int64_t k = r->point_count; tags != NULL && k-- > 0;)
    tags[r->points[2 * k]] = r->points[2 * k + 1];
  return tags;
}

static cvtm_status write_file(const char *path, const cvtm_format *f, const cvtm_file_mesh *mesh,
                              cvtm_error *error) {
  cvtm_output *output;
  if (f->write_mesh_files != NULL) return f->write_mesh_files(path, mesh, error);
  CVTM_TRY(cvtm_output_open(path, &output, error));
  f->write_mesh(cvtm_output_stream(output), mesh);
  if (!*mesh->no_memory) return cvtm_output_commit(output, error);
  cvtm_output_abort(output);
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path);
}

static cvtm_status write_with_sets(const char *path, const cvtm_format *f,
                                   const cvtm_file_mesh *mesh, cvtm_error *error) {
  const int is_grouped = mesh->regions != NULL && mesh->regions->group != NULL;
  if (!is_grouped && cvtm_format_has(f, CVTM_NEEDS_GROUPS))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "%s: this mesh has no domain, so no boundary to write", path);
  if (!is_grouped || !cvtm_format_has(f, CVTM_USES_SETS)) return write_file(path, f, mesh, error);
  cvtm_scratch memory = {0};
  cvtm_file_sets sets = {0};
  cvtm_file_mesh with_sets = *mesh;
  with_sets.sets = &sets;
  const cvtm_status status = file_sets_create(mesh, &memory, &sets)
                                 ? write_file(path, f, &with_sets, error)
                                 : cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path);
  cvtm_scratch_free(&memory);
  return status;
}

cvtm_status cvtm_mesh_write(const char *path, const cvtm_mesh *mesh,
                            const cvtm_mesh_file_options *options, cvtm_error *error) {
  static const cvtm_mesh_file_options none;
  char buffer[16];
  if (options == NULL) options = &none;
  if (mesh->vertex_count < 0 || mesh->vertex_count > INT32_MAX || mesh->triangle_count < 0)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%s: %" PRId64 " vertices, %" PRId64 " triangles",
                     path, mesh->vertex_count, mesh->triangle_count);
  const char *extension =
      options->format != NULL ? options->format : cvtm_file_extension(path, buffer, sizeof buffer);
  const cvtm_format *f = cvtm_format_find(cvtm_formats, extension, CVTM_WRITES_MESH);
  if (f == NULL) return cvtm_format_unknown(path, "mesh", CVTM_WRITES_MESH, error);
  double *points = cvtm_mesh_file_points(mesh, options);
  const cvtm_second_order *second = options->second;
  const int64_t nodes = mesh->vertex_count + (second ? second->count : 0);
  const int has_points = options->regions != NULL && options->regions->point_count > 0;
  int32_t *tags = has_points ? list_points(options->regions, nodes) : NULL;
  int no_memory = 0;
  const cvtm_file_mesh in_file = {
      .points = points,
      .vertex_count = mesh->vertex_count,
      .node_count = nodes,
      .point = tags,
      .triangle_middle = second ? second->triangle : NULL,
      .edge_middle = second ? second->edge : NULL,
      .triangles = mesh->triangles,
      .triangle_count = mesh->triangle_count,
      .value = options->vertex_data,
      .value_name = options->vertex_data_name != NULL ? options->vertex_data_name : "mass",
      .regions = options->regions,
      .labels = options->labels,
      .ascii = options->ascii,
      .binary = options->binary,
      .msh_version = options->msh_version,
      .inp_elements = options->inp_elements,
      .compression = options->compression,
      .no_memory = &no_memory,
      .mesh = mesh,
      .domain = options->domain};
  const cvtm_status status = points == NULL || (has_points && tags == NULL)
                                 ? cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path)
                                 : write_with_sets(path, f, &in_file, error);
  free(points);
  free(tags);
  return status;
}

/* ---- the builder ---- */

void cvtm_builder_vertices(cvtm_builder *b, const double *place, int64_t count) {
  if (count > INT32_MAX - b->vertex_count) cvtm_source_fail(b->source, "too many vertices");
  if (cvtm_source_is_good(b->source) &&
      !cvtm_grow(&b->points, 2 * sizeof *b->points, &b->vertex_capacity, b->vertex_count + count))
    cvtm_source_no_memory(b->source);
  if (!cvtm_source_is_good(b->source)) return;
  if (b->vertex_count == 0 && count > 0) b->z = place[2];
  double *to = b->points + 2 * b->vertex_count;
  for (int64_t i = 0; i < count; ++i, place += 3) {
    if (!isfinite(place[0]) || !isfinite(place[1]) || !isfinite(place[2]))
      cvtm_source_fail(b->source, "a coordinate is not finite");
    if (place[2] != b->z) cvtm_source_fail(b->source, "the mesh is not planar: z varies");
    to[2 * i] = place[0];
    to[2 * i + 1] = place[1];
  }
  b->vertex_count += count;
}

/* Marks a node in the middle of an edge. */
static void mark_middle(cvtm_builder *b, double index) {
  if (b->middle == NULL) b->middle = calloc((size_t)b->vertex_count, 1);
  if (b->middle == NULL)
    cvtm_source_no_memory(b->source);
  else
    b->middle[(int64_t)index] = 1;
}

void cvtm_builder_triangle(cvtm_builder *b, const double *index, int nodes) {
  for (int k = 0; k < nodes; ++k)
    if (!(index[k] >= 0 && index[k] < (double)b->vertex_count) ||
        index[k] != (double)(int32_t)index[k])
      cvtm_source_fail(b->source, "a triangle refers to a %s that does not exist",
                       k < 3 ? "vertex" : "node");
  if (cvtm_source_is_good(b->source) && !cvtm_grow(&b->triangles, 3 * sizeof *b->triangles,
                                                   &b->triangle_capacity, b->triangle_count + 1))
    cvtm_source_no_memory(b->source);
  if (!cvtm_source_is_good(b->source)) return;
  for (int k = 0; k < 3; ++k) b->triangles[3 * b->triangle_count + k] = (int32_t)index[k];
  for (int k = 3; k < nodes; ++k) mark_middle(b, index[k]);
  ++b->triangle_count;
}

void cvtm_builder_cells(cvtm_builder *b, int64_t cells, const double *ends,
                        const double *connectivity, int64_t corners, const double *types) {
  double start = 0;
  for (int64_t k = 0; k < cells && cvtm_source_is_good(b->source); ++k) {
    const double type = types[k];
    const int nodes = type == CVTM_VTK_QUADRATIC_TRIANGLE ? 6 : 3;
    if (!(ends[k] >= start && ends[k] <= (double)corners) || ends[k] != (double)(int64_t)ends[k])
      cvtm_source_fail(b->source, "the offsets of the cells are out of order");
    else if ((type == CVTM_VTK_TRIANGLE || type == CVTM_VTK_POLYGON ||
              type == CVTM_VTK_QUADRATIC_TRIANGLE) &&
             ends[k] - start == nodes)
      cvtm_builder_triangle(b, connectivity + (int64_t)start, nodes);
    else if (!(type >= CVTM_VTK_VERTEX && type <= CVTM_VTK_POLY_LINE) &&
             type != CVTM_VTK_QUADRATIC_EDGE)
      cvtm_source_fail(b->source, "a cell is not a triangle");
    start = ends[k];
  }
}

/* ---- reading ---- */

double cvtm_flip_points(double *points, int64_t count) {
  double top = count > 0 ? points[1] : 0;
  for (int64_t i = 1; i < count; ++i) top = points[2 * i + 1] > top ? points[2 * i + 1] : top;
  for (int64_t i = 0; i < count; ++i) points[2 * i + 1] = top - points[2 * i + 1];
  return top;
}

/* Reverses triangles that are clockwise with y up, unless this is uncertain by rounding. */
static void orient(cvtm_mesh *mesh) {
  const double rounding = 0x1p-50;
  for (int64_t t = 0; t < mesh->triangle_count; ++t) {
    int32_t *v = mesh->triangles + 3 * t;
    const double *a = mesh->points + 2 * (int64_t)v[0];
    const double *b = mesh->points + 2 * (int64_t)v[1];
    const double *c = mesh->points + 2 * (int64_t)v[2];
    double left = (b[0] - a[0]) * (c[1] - a[1]);
    double right = (b[1] - a[1]) * (c[0] - a[0]);
    /* with y down, a triangle that is counterclockwise with y up has a negative area */
    if (left - right > rounding * (fabs(left) + fabs(right))) {
      int32_t swapped = v[1];
      v[1] = v[2];
      v[2] = swapped;
    }
  }
}

/* Counts vertices without triangles that coincide with another vertex. used: nonzero for the
 * vertices of triangles. */
static cvtm_status find_coincident(cvtm_mesh *mesh, const unsigned char *used, const char *name,
                                   cvtm_error *error) {
  const int64_t n = mesh->vertex_count;
  cvtm_placed *list = malloc((size_t)n * sizeof *list);
  if (list == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", name);
  for (int64_t i = 0; i < n; ++i)
    list[i] = (cvtm_placed){mesh->points[2 * i], mesh->points[2 * i + 1], i};
  qsort(list, (size_t)n, sizeof *list, cvtm_compare_placed);
  for (int64_t first = 0, end; first < n; first = end) {
    int64_t unused = 0;
    for (end = first; end < n && list[end].x == list[first].x && list[end].y == list[first].y;
         ++end)
      unused += !used[list[end].index];
    mesh->coincident_count += unused < end - first ? unused : unused - 1;
  }
  free(list);
  return CVTM_OK;
}

static cvtm_status check_unused(cvtm_mesh *mesh, const char *name, cvtm_error *error) {
  const int64_t n = mesh->vertex_count;
  unsigned char *used = calloc((size_t)n, 1);
  if (used == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", name);
  for (int64_t k = 0; k < 3 * mesh->triangle_count; ++k) used[mesh->triangles[k]] = 1;
  const cvtm_status status =
      memchr(used, 0, (size_t)n) != NULL ? find_coincident(mesh, used, name, error) : CVTM_OK;
  free(used);
  return status;
}

/* Removes the nodes in the middle of edges. */
static cvtm_status drop_middle_nodes(cvtm_builder *b, cvtm_error *error) {
  int32_t *number = malloc((size_t)b->vertex_count * sizeof *number);
  if (number == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", b->source->name);
  for (int64_t k = 0; k < 3 * b->triangle_count; ++k) b->middle[b->triangles[k]] = 0;
  int64_t kept = 0;
  for (int64_t v = 0; v < b->vertex_count; ++v) {
    if (b->middle[v]) continue;
    number[v] = (int32_t)kept;
    b->points[2 * kept] = b->points[2 * v];
    b->points[2 * kept + 1] = b->points[2 * v + 1];
    if (b->values != NULL) b->values[kept] = b->values[v];
    ++kept;
  }
  for (int64_t k = 0; k < 3 * b->triangle_count; ++k) b->triangles[k] = number[b->triangles[k]];
  b->vertex_count = kept;
  free(number);
  return CVTM_OK;
}

/* Moves the arrays of the builder into the mesh. */
static cvtm_status finish_mesh(cvtm_builder *b, cvtm_mesh *mesh, const char *name,
                               cvtm_error *error) {
  if (b->vertex_count == 0)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: the mesh has no vertex", name);
  CVTM_TRY(b->middle != NULL ? drop_middle_nodes(b, error) : CVTM_OK);
  cvtm_mesh made = {.vertex_count = b->vertex_count,
                    .triangle_count = b->triangle_count,
                    .points = b->points,
                    .triangles = b->triangles};
  if (made.triangles == NULL) made.triangles = malloc(sizeof *made.triangles);
  if (made.triangles == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", name);
  b->triangles = made.triangles;
  made.collinear = made.triangle_count == 0;
  made.file_top = cvtm_flip_points(made.points, made.vertex_count);
  orient(&made);
  CVTM_TRY(check_unused(&made, name, error));
  b->points = NULL;
  b->triangles = NULL;
  *mesh = made;
  return CVTM_OK;
}

/* values: NULL, or receives the field. */
static cvtm_status read_mesh_bytes(const cvtm_format *f, const unsigned char *bytes, size_t size,
                                   const char *name, const char *field, cvtm_mesh *mesh,
                                   double **values, cvtm_error *error) {
  cvtm_source source = cvtm_source_open(name, bytes, size, error);
  cvtm_builder builder = {.source = &source, .wants_field = values != NULL, .field = field};
  cvtm_status status = f->read_mesh(&source, &builder);
  if (status == CVTM_OK && values != NULL && builder.values == NULL)
    status = cvtm_fail(error, CVTM_ERROR_INPUT, "%s: no field%s%s of one number per point", name,
                       field != NULL ? " " : "", field != NULL ? field : "");
  if (status == CVTM_OK) status = finish_mesh(&builder, mesh, name, error);
  if (status == CVTM_OK && values != NULL) {
    *values = builder.values;
    builder.values = NULL;
  }
  free(builder.points);
  free(builder.triangles);
  free(builder.middle);
  free(builder.values);
  return status;
}

cvtm_status cvtm_mesh_read_bytes(const char *extension, const unsigned char *bytes, size_t size,
                                 const char *name, cvtm_mesh *mesh, cvtm_error *error) {
  memset(mesh, 0, sizeof *mesh);
  const cvtm_format *f;
  CVTM_TRY(find_readable(extension, 0, name, &f, error));
  return read_mesh_bytes(f, bytes, size, name, NULL, mesh, NULL, error);
}

static cvtm_status read_file(const char *path, const char *field, cvtm_mesh *mesh, double **values,
                             cvtm_error *error) {
  char buffer[16];
  const char *extension = cvtm_file_extension(path, buffer, sizeof buffer);
  const cvtm_format *f;
  unsigned char *bytes;
  size_t size;
  memset(mesh, 0, sizeof *mesh);
  CVTM_TRY(find_readable(extension, values != NULL, path, &f, error));
  CVTM_TRY(cvtm_format_load(f, path, CVTM_FILE_MOST, &bytes, &size, error));
  cvtm_status status = read_mesh_bytes(f, bytes, size, path, field, mesh, values, error);
  free(bytes);
  return status;
}

cvtm_status cvtm_mesh_read(const char *path, cvtm_mesh *mesh, cvtm_error *error) {
  return read_file(path, NULL, mesh, NULL, error);
}

cvtm_status cvtm_mesh_read_field(const char *path, const char *field, cvtm_mesh *mesh,
                                 double **values, cvtm_error *error) {
  *values = NULL;
  return read_file(path, field, mesh, values, error);
}

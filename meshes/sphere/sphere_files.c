#include "meshes/sphere.h"

#include "base/file.h"
#include "base/host.h"
#include "base/sphere.h"
#include "base/text.h"
#include "meshes/formats/formats.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* --- NetCDF ---
 *
 * The classic formats: https://docs.unidata.ucar.edu/nug/current/file_format_specifications.html.
 * libnetcdf would convert the numbers by one thread, and keep the file in memory until its end. */

enum { VARIABLES = 64, DIMENSIONS = 8, ATTRIBUTES = 96 };
enum { NONE = -1, TEXT = 2, INTEGER = 4, REAL = 6 /* types of the formats */ };

/* What the numbers of a variable are; those from REALS on are doubles. */
typedef enum content {
  INTEGERS, /* of `from`, plus `item` */
  COUNT,    /* 1, 2, 3 ... */
  LONELY,   /* 1 if one of `item` integers of `from` is negative, else 0 */
  OTHERS,   /* edges around the cells of an edge, plus `item` */
  OTHER_COUNT,
  REALS,    /* `factor` times those of `from`; NULL: `factor` */
  LATITUDE, /* of points, times `factor` */
  LONGITUDE,
  COORDINATE, /* `item` of points, times `factor` */
  WEIGHTS,
} content;

typedef struct variable {
  const char *name;
  int dimension, width; /* numbers of dimensions; NONE: 1 */
  content content;
  const void *from;
  int item;
  double factor;
} variable;

typedef struct attribute {
  int owner; /* a variable, or NONE: the file */
  const char *name, *text;
  int type; /* of `number`, if it is not TEXT */
  double number;
} attribute;

typedef struct file {
  const cvtm_sphere_grid *grid;
  FILE *stream;  /* NULL: sizes are counted alone */
  uint64_t size; /* of what has been written */
  int count_bytes;
  char id[11];
  const char *dimension[DIMENSIONS];
  int64_t length[DIMENSIONS];
  variable variables[VARIABLES];
  attribute attributes[ATTRIBUTES];
  int dimensions, variable_count, attribute_count;
} file;

static int add_dimension(file *f, const char *name, int64_t length) {
  f->dimension[f->dimensions] = name;
  f->length[f->dimensions] = length;
  return f->dimensions++;
}

static void add_text(file *f, int owner, const char *name, const char *text) {
  f->attributes[f->attribute_count++] = (attribute){owner, name, text, TEXT, 0};
}

static void add_number(file *f, int owner, const char *name, int type, double number) {
  f->attributes[f->attribute_count++] = (attribute){owner, name, NULL, type, number};
}

static int add_integers(file *f, const char *name, int dimension, int width, content what,
                        const int32_t *from, int item) {
  f->variables[f->variable_count] = (variable){name, dimension, width, what, from, item, 1};
  return f->variable_count++;
}

static int add_reals(file *f, const char *name, int dimension, int width, const double *from,
                     double factor, const char *units) {
  f->variables[f->variable_count] = (variable){name, dimension, width, REALS, from, 0, factor};
  if (units != NULL) add_text(f, f->variable_count, "units", units);
  return f->variable_count++;
}

/* Latitudes, longitudes, x, y and z; the first two, in degrees, where there are no other names. */
static void add_points(file *f, const char *const names[5], int dimension, const double *points,
                       double radius) {
  static const content contents[] = {LATITUDE, LONGITUDE, COORDINATE, COORDINATE, COORDINATE};
  static const char *const degrees[2][2] = {{"degrees_north", "latitude"},
                                            {"degrees_east", "longitude"}};
  const int angular = names[2] == NULL;
  for (int k = 0; k < 5 && names[k] != NULL; ++k) {
    const char *units = k > 1 ? "m" : angular ? degrees[k][0] : "rad";
    const double factor = k > 1 ? radius : angular ? 180 / CVTM_PI : 1;
    const int owner = add_reals(f, names[k], dimension, NONE, points, factor, units);
    f->variables[owner].content = contents[k];
    f->variables[owner].item = k - 2;
    if (angular) add_text(f, owner, "standard_name", degrees[k][1]);
  }
}

/* Ten letters and digits that differ for other cells, as MPAS has them (FNV-1a). */
static void add_file_id(file *f) {
  const unsigned char *bytes = (const unsigned char *)f->grid->cell_point;
  const size_t size = 3 * (size_t)f->grid->cells * sizeof(double);
  uint64_t hash = UINT64_C(14695981039346656037);
  for (size_t k = 0; k < size; ++k) hash = (hash ^ bytes[k]) * UINT64_C(1099511628211);
  for (int k = 0; k < 10; ++k, hash /= 36)
    f->id[k] = "0123456789abcdefghijklmnopqrstuvwxyz"[hash % 36];
  add_text(f, NONE, "file_id", f->id);
}

static void fill_mpas(file *f, const cvtm_sphere_labels *l) {
  static const char *const names[3][5] = {
      {"latCell", "lonCell", "xCell", "yCell", "zCell"},
      {"latEdge", "lonEdge", "xEdge", "yEdge", "zEdge"},
      {"latVertex", "lonVertex", "xVertex", "yVertex", "zVertex"}};
  const cvtm_sphere_grid *g = f->grid;
  const double r = l->radius, r2 = r * r;
  const int cells = add_dimension(f, "nCells", g->cells);
  const int edges = add_dimension(f, "nEdges", g->edges);
  const int vertices = add_dimension(f, "nVertices", g->vertices);
  const int most = add_dimension(f, "maxEdges", g->max_edges);
  const int most2 = add_dimension(f, "maxEdges2", 2 * (int64_t)g->max_edges);
  const int two = add_dimension(f, "TWO", 2), three = add_dimension(f, "vertexDegree", 3);
  add_points(f, names[0], cells, g->cell_point, r);
  add_points(f, names[1], edges, g->edge_point, r);
  add_points(f, names[2], vertices, g->vertex_point, r);
  add_integers(f, "indexToCellID", cells, NONE, COUNT, NULL, 0);
  add_integers(f, "indexToEdgeID", edges, NONE, COUNT, NULL, 0);
  add_integers(f, "indexToVertexID", vertices, NONE, COUNT, NULL, 0);
  add_integers(f, "nEdgesOnCell", cells, NONE, INTEGERS, g->edge_count_on_cell, 0);
  add_integers(f, "nEdgesOnEdge", edges, NONE, OTHER_COUNT, NULL, 0);
  add_integers(f, "cellsOnCell", cells, most, INTEGERS, g->cells_on_cell, 1);
  add_integers(f, "edgesOnCell", cells, most, INTEGERS, g->edges_on_cell, 1);
  add_integers(f, "verticesOnCell", cells, most, INTEGERS, g->vertices_on_cell, 1);
  add_integers(f, "edgesOnEdge", edges, most2, OTHERS, NULL, 1);
  add_integers(f, "cellsOnEdge", edges, two, INTEGERS, g->cells_on_edge, 1);
  add_integers(f, "verticesOnEdge", edges, two, INTEGERS, g->vertices_on_edge, 1);
  add_integers(f, "cellsOnVertex", vertices, three, INTEGERS, g->cells_on_vertex, 1);
  add_integers(f, "edgesOnVertex", vertices, three, INTEGERS, g->edges_on_vertex, 1);
  add_integers(f, "boundaryVertex", vertices, NONE, LONELY, g->cells_on_vertex, 3);
  add_integers(f, "boundaryEdge", edges, NONE, LONELY, g->cells_on_edge, 2);
  add_integers(f, "cellParent", cells, NONE, INTEGERS, g->cell_parent, 1);
  if (l->zone != NULL) add_integers(f, "bdyMaskCell", cells, NONE, INTEGERS, l->zone, 0);
  add_reals(f, "dcEdge", edges, NONE, g->dc, r, "m");
  add_reals(f, "dvEdge", edges, NONE, g->dv, r, "m");
  add_reals(f, "angleEdge", edges, NONE, g->angle, 1, "rad");
  const int weights = add_reals(f, "weightsOnEdge", edges, most2, NULL, 1, NULL);
  f->variables[weights].content = WEIGHTS;
  add_reals(f, "areaCell", cells, NONE, g->cell_area, r2, "m2");
  add_reals(f, "areaTriangle", vertices, NONE, g->triangle_area, r2, "m2");
  add_reals(f, "kiteAreasOnVertex", vertices, three, g->kite_area, r2, "m2");
  add_reals(f, "meshDensity", cells, NONE, l->density, 1, NULL);
  add_text(f, NONE, "on_a_sphere", "YES");
  add_text(f, NONE, "is_periodic", "NO");
  add_text(f, NONE, "mesh_spec", "1.0");
  add_text(f, NONE, "Conventions", "MPAS");
  add_file_id(f);
  add_number(f, NONE, "sphere_radius", REAL, l->radius);
}

static void add_connectivity(file *f, const char *name, const char *role, int dimension, int width,
                             const int32_t *from) {
  const int owner = add_integers(f, name, dimension, width, INTEGERS, from, 0);
  if (from != f->grid->vertices_on_edge) /* no node of an edge is missing */
    add_number(f, owner, "_FillValue", INTEGER, -1);
  add_number(f, owner, "start_index", INTEGER, 0);
  add_text(f, owner, "cf_role", role);
}

static void fill_ugrid(file *f) {
  static const char *const names[3][5] = {
      {"face_lat", "face_lon"}, {"edge_lat", "edge_lon"}, {"node_lat", "node_lon"}};
  static const int32_t nothing = -2147483647; /* NC_FILL_INT */
  const cvtm_sphere_grid *g = f->grid;
  const int faces = add_dimension(f, "face", g->cells), edges = add_dimension(f, "edge", g->edges);
  const int nodes = add_dimension(f, "node", g->vertices);
  const int most = add_dimension(f, "max_face_nodes", g->max_edges);
  const int two = add_dimension(f, "two", 2);
  add_points(f, names[0], faces, g->cell_point, 0);
  add_points(f, names[1], edges, g->edge_point, 0);
  add_points(f, names[2], nodes, g->vertex_point, 0);
  add_connectivity(f, "face_nodes", "face_node_connectivity", faces, most, g->vertices_on_cell);
  add_connectivity(f, "face_edges", "face_edge_connectivity", faces, most, g->edges_on_cell);
  add_connectivity(f, "face_faces", "face_face_connectivity", faces, most, g->cells_on_cell);
  add_connectivity(f, "edge_nodes", "edge_node_connectivity", edges, two, g->vertices_on_edge);
  add_connectivity(f, "edge_faces", "edge_face_connectivity", edges, two, g->cells_on_edge);
  const int mesh = add_integers(f, "mesh", NONE, NONE, INTEGERS, &nothing, 0);
  add_number(f, mesh, "topology_dimension", INTEGER, 2);
  static const char *const texts[][2] = {{"cf_role", "mesh_topology"},
                                         {"long_name", "Voronoi cells of the sphere"},
                                         {"node_coordinates", "node_lon node_lat"},
                                         {"face_coordinates", "face_lon face_lat"},
                                         {"edge_coordinates", "edge_lon edge_lat"},
                                         {"face_node_connectivity", "face_nodes"},
                                         {"edge_node_connectivity", "edge_nodes"},
                                         {"face_edge_connectivity", "face_edges"},
                                         {"face_face_connectivity", "face_faces"},
                                         {"edge_face_connectivity", "edge_faces"},
                                         {"face_dimension", "face"},
                                         {"edge_dimension", "edge"}};
  for (size_t k = 0; k < sizeof texts / sizeof *texts; ++k)
    add_text(f, mesh, texts[k][0], texts[k][1]);
  add_text(f, NONE, "Conventions", "CF-1.11 UGRID-1.0");
}

static void put_bytes(file *f, const void *bytes, size_t size) {
  if (f->stream != NULL) fwrite(bytes, 1, size, f->stream);
  f->size += size;
}

/* Big-endian. */
static void put_word(file *f, uint64_t value, int size) {
  unsigned char bytes[8];
  for (int k = 0; k < size; ++k) bytes[k] = (unsigned char)(value >> (8 * (size - 1 - k)));
  put_bytes(f, bytes, (size_t)size);
}

static void put_text(file *f, const char *text) {
  const size_t length = strlen(text);
  put_word(f, length, f->count_bytes);
  put_bytes(f, text, length);
  put_bytes(f, "\0\0\0", (4 - length % 4) % 4);
}

static void begin_list(file *f, int tag, int count) {
  put_word(f, count > 0 ? (uint64_t)tag : 0, 4);
  put_word(f, (uint64_t)count, f->count_bytes);
}

static void put_attributes(file *f, int owner) {
  int count = 0;
  for (int k = 0; k < f->attribute_count; ++k) count += f->attributes[k].owner == owner;
  begin_list(f, 12, count);
  for (int k = 0; k < f->attribute_count; ++k) {
    const attribute *a = &f->attributes[k];
    if (a->owner != owner) continue;
    uint64_t bits = (uint64_t)(int64_t)a->number;
    if (a->type == REAL) memcpy(&bits, &a->number, sizeof bits);
    put_text(f, a->name);
    put_word(f, (uint64_t)a->type, 4);
    if (a->type == TEXT) {
      put_text(f, a->text);
    } else {
      put_word(f, 1, f->count_bytes);
      put_word(f, bits, a->type == REAL ? 8 : 4);
    }
  }
}

/* The rows of a variable, and the bytes of a row. */
static int64_t rows_of(const file *f, const variable *v, int64_t *row_bytes) {
  *row_bytes = (v->width == NONE ? 1 : f->length[v->width]) * (v->content < REALS ? 4 : 8);
  return v->dimension == NONE ? 1 : f->length[v->dimension];
}

/* start: where the numbers begin. */
static void put_header(file *f, uint64_t start) {
  f->size = 0;
  put_bytes(f, f->count_bytes == 8 ? "CDF\5" : "CDF\2", 4);
  put_word(f, 0, f->count_bytes); /* records */
  begin_list(f, 10, f->dimensions);
  for (int k = 0; k < f->dimensions; ++k) {
    put_text(f, f->dimension[k]);
    put_word(f, (uint64_t)f->length[k], f->count_bytes);
  }
  put_attributes(f, NONE);
  begin_list(f, 11, f->variable_count);
  for (int k = 0; k < f->variable_count; ++k) {
    const variable *v = &f->variables[k];
    int64_t row_bytes;
    const uint64_t size = (uint64_t)(rows_of(f, v, &row_bytes) * row_bytes);
    put_text(f, v->name);
    put_word(f, v->dimension == NONE ? 0 : v->width == NONE ? 1 : 2, f->count_bytes);
    if (v->dimension != NONE) put_word(f, (uint64_t)v->dimension, f->count_bytes);
    if (v->width != NONE) put_word(f, (uint64_t)v->width, f->count_bytes);
    put_attributes(f, k);
    put_word(f, v->content < REALS ? INTEGER : REAL, 4);
    put_word(f, size, f->count_bytes);
    put_word(f, start, 8);
    start += size;
  }
}

static void make_row(const file *f, const variable *v, int64_t row, int64_t width, void *to) {
  int32_t *whole = to;
  double *real = to;
  const int32_t *integers = v->from;
  const double *reals = v->from;
  const int64_t x = 3 * row; /* of a point */
  switch (v->content) {
    case INTEGERS:
      for (int64_t k = 0; k < width; ++k) whole[k] = integers[row * width + k] + v->item;
      break;
    case COUNT:
      *whole = (int32_t)row + 1;
      break;
    case LONELY:
      *whole = 0;
      for (int64_t k = 0; k < v->item; ++k) *whole |= integers[v->item * row + k] < 0;
      break;
    case OTHERS:
      cvtm_sphere_grid_weights(f->grid, row, whole, NULL);
      for (int64_t k = 0; k < width; ++k) whole[k] += v->item;
      break;
    case OTHER_COUNT:
      *whole = cvtm_sphere_grid_weights(f->grid, row, NULL, NULL);
      break;
    case REALS:
      for (int64_t k = 0; k < width; ++k)
        real[k] = v->factor * (reals == NULL ? 1 : reals[row * width + k]);
      break;
    case LATITUDE:
      *real = v->factor * atan2(reals[x + 2], hypot(reals[x], reals[x + 1]));
      break;
    case LONGITUDE:
      *real = atan2(reals[x + 1], reals[x]);
      if (*real < 0 && v->factor == 1) *real += 2 * CVTM_PI; /* radians */
      *real *= v->factor;
      break;
    case COORDINATE:
      *real = v->factor * reals[x + v->item];
      break;
    case WEIGHTS:
      cvtm_sphere_grid_weights(f->grid, row, NULL, real);
      break;
  }
}

/* Makes numbers of 4 or 8 bytes big-endian. */
static void reverse_bytes(void *numbers, int64_t count, int size) {
  const int little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
  char *at = numbers;
  for (int64_t k = 0; little && size == 4 && k < count; ++k) {
    uint32_t word;
    memcpy(&word, at + 4 * k, sizeof word);
    word = __builtin_bswap32(word);
    memcpy(at + 4 * k, &word, sizeof word);
  }
  for (int64_t k = 0; little && size == 8 && k < count; ++k) {
    uint64_t word;
    memcpy(&word, at + 8 * k, sizeof word);
    word = __builtin_bswap64(word);
    memcpy(at + 8 * k, &word, sizeof word);
  }
}

/* A variable is written in parts. While one thread writes a batch of parts, the others make the
 * next one. */
enum { PART_BYTES = 1 << 20, BATCH = 64 };

typedef struct part {
  const variable *variable;
  int64_t first, rows, row_bytes;
} part;

static part find_part(const file *f, int64_t number) {
  part p = {f->variables, 0, 0, 0};
  for (;; ++p.variable) {
    const int64_t rows = rows_of(f, p.variable, &p.row_bytes), most = PART_BYTES / p.row_bytes;
    const int64_t parts = (rows - 1) / most + 1;
    if (number < parts) {
      p.first = number * most;
      p.rows = rows - p.first < most ? rows - p.first : most;
      return p;
    }
    number -= parts;
  }
}

static void make_part(const file *f, int64_t number, char *to) {
  const part p = find_part(f, number);
  const int size = p.variable->content < REALS ? 4 : 8;
  const int64_t width = p.row_bytes / size;
  for (int64_t row = 0; row < p.rows; ++row)
    make_row(f, p.variable, p.first + row, width, to + row * p.row_bytes);
  reverse_bytes(to, p.rows * width, size);
}

static void put_numbers(const file *f, char *memory) {
  int64_t parts = 0;
  for (int k = 0; k < f->variable_count; ++k) {
    int64_t row_bytes;
    const int64_t rows = rows_of(f, &f->variables[k], &row_bytes);
    parts += (rows - 1) / (PART_BYTES / row_bytes) + 1;
  }
  for (int64_t first = 0; first < parts + BATCH && !ferror(f->stream); first += BATCH) {
    const int64_t end = first + BATCH < parts ? first + BATCH : parts;
#pragma omp parallel
    {
#pragma omp single nowait
      for (int64_t k = first - BATCH; k >= 0 && k < parts && k < first; ++k) {
        const part p = find_part(f, k);
        fwrite(memory + k % (2 * BATCH) * PART_BYTES, 1, (size_t)(p.rows * p.row_bytes), f->stream);
      }
#pragma omp for schedule(dynamic)
      for (int64_t k = first; k < end; ++k) make_part(f, k, memory + k % (2 * BATCH) * PART_BYTES);
    }
  }
}

static cvtm_status write_netcdf(const cvtm_sphere_grid *grid, const cvtm_sphere_labels *labels,
                                int ugrid, const char *path, cvtm_error *error) {
  const int64_t longest = 16 * (int64_t)grid->max_edges * grid->edges;
  const int64_t most = labels->wide > 0 ? labels->wide : INT32_MAX;
  if (16 * (int64_t)grid->max_edges > PART_BYTES)
    return cvtm_fail(error, CVTM_ERROR_UNSUPPORTED, "%s: a cell has %d edges", path,
                     (int)grid->max_edges);
  cvtm_scratch memory = {0};
  file *f = cvtm_scratch_zeros(&memory, 1, sizeof *f);
  char *parts = cvtm_scratch_take(&memory, 2 * BATCH, PART_BYTES);
  cvtm_output *output = NULL;
  cvtm_status status = memory.failed ? cvtm_no_memory(error, "the file") : CVTM_OK;
  if (status == CVTM_OK) status = cvtm_output_open(path, &output, error);
  if (status == CVTM_OK) {
    f->grid = grid;
    f->count_bytes = longest < most ? 4 : 8;
    if (ugrid)
      fill_ugrid(f);
    else
      fill_mpas(f, labels);
    if (labels->source != NULL) add_text(f, NONE, "source", labels->source);
    put_header(f, 0);
    f->stream = cvtm_output_stream(output);
    put_header(f, f->size);
    put_numbers(f, parts);
    status = cvtm_output_commit(output, error);
  }
  cvtm_scratch_free(&memory);
  return status;
}

/* --- texts ------------------------------------------------------------------------------------ */

static char *graph_line(char *to, const void *context, int64_t c) {
  const cvtm_sphere_grid *g = context;
  const int32_t *near = g->cells_on_cell + c * g->max_edges;
  for (int32_t k = 0, some = 0; k < g->edge_count_on_cell[c]; ++k)
    if (near[k] >= 0) to = cvtm_text_integer(cvtm_text_word(to, some++ ? " " : ""), near[k] + 1);
  return cvtm_text_word(to, "\n");
}

/* METIS: the cells, the edges between two cells, and the neighbours of each cell. */
static void put_graph(FILE *stream, const cvtm_sphere_grid *g) {
  int64_t inner = 0;
  for (int64_t e = 0; e < g->edges; ++e) inner += g->cells_on_edge[2 * e + 1] >= 0;
  fprintf(stream, "%" PRId64 " %" PRId64 "\n", g->cells, inner);
  cvtm_write_items(stream, g->cells, CVTM_MOST_ITEM_BYTES, graph_line, g);
}

/* The cells as OBJ or VTU. */
static cvtm_status put_cells(FILE *stream, const cvtm_format *format, const cvtm_sphere_grid *g,
                             double radius, cvtm_error *error) {
  const size_t n = (size_t)g->cells, v = 3 * (size_t)g->vertices;
  cvtm_scratch memory = {0};
  double *points = cvtm_scratch_take(&memory, v, sizeof *points);
  double *area = cvtm_scratch_take(&memory, n, sizeof *area);
  int64_t *end = cvtm_scratch_take(&memory, n, sizeof *end), sum = 0;
  int32_t *corners = cvtm_scratch_take(&memory, n * (size_t)g->max_edges, sizeof *corners);
  int no_memory = memory.failed;
  if (!no_memory) {
    for (int64_t c = 0; c < g->cells; ++c) {
      area[c] = radius * radius * g->cell_area[c];
      memcpy(corners + sum, g->vertices_on_cell + c * g->max_edges,
             (size_t)g->edge_count_on_cell[c] * sizeof *corners);
      end[c] = sum += g->edge_count_on_cell[c];
    }
    for (size_t k = 0; k < v; ++k) points[k] = radius * g->vertex_point[k];
    const cvtm_file_cells cells = {g->cells, g->vertices, points, end, corners, area};
    const cvtm_file_mesh mesh = {.cells = &cells, .no_memory = &no_memory};
    format->write_mesh(stream, &mesh);
  }
  cvtm_scratch_free(&memory);
  return no_memory ? cvtm_no_memory(error, "the file") : CVTM_OK;
}

cvtm_status cvtm_sphere_grid_write(const cvtm_sphere_grid *grid, const cvtm_sphere_labels *labels,
                                   const char *path, cvtm_error *error) {
  char extension[16];
  cvtm_file_extension(path, extension, sizeof extension);
  const size_t length = strlen(path);
  const int ugrid = length > 9 && strcmp(path + length - 9, ".ugrid.nc") == 0;
  if (strcmp(extension, "nc") == 0) return write_netcdf(grid, labels, ugrid, path, error);
  const int graph = strcmp(extension, "info") == 0;
  if (!graph && !cvtm_text_has_word("obj vtu", extension))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "%s: a mesh of the sphere is written as nc, ugrid.nc, info, vtu or obj", path);
  enum { MOST_EDGES = CVTM_MOST_ITEM_BYTES / (CVTM_TEXT_INTEGER + 1) - 1 };
  if (grid->max_edges > MOST_EDGES)
    return cvtm_fail(error, CVTM_ERROR_UNSUPPORTED, "%s: a cell has more than %d edges", path,
                     (int)MOST_EDGES);
  cvtm_output *output;
  cvtm_status status = cvtm_output_open(path, &output, error);
  if (status != CVTM_OK) return status;
  FILE *stream = cvtm_output_stream(output);
  if (graph)
    put_graph(stream, grid);
  else
    status = put_cells(stream, cvtm_format_of(path, CVTM_WRITES_MESH), grid, labels->radius, error);
  if (status == CVTM_OK) return cvtm_output_commit(output, error);
  cvtm_output_abort(output);
  return status;
}

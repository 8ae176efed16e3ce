#include "meshes/sphere.h"

#include "base/file.h"
#include "base/host.h"
#include "base/sphere.h"
#include "base/text.h"
#include "meshes/formats/formats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#if CVTMESH_HAVE_NETCDF
#include <netcdf.h>
#include <netcdf_mem.h>
#include <pthread.h>
#endif

int cvtm_netcdf_known(void) { return CVTMESH_HAVE_NETCDF; }

/* --- NetCDF ----------------------------------------------------------------------------------- */

#if CVTMESH_HAVE_NETCDF

enum { VARIABLES = 64, DIMENSIONS = 8 };

/* A variable and where its numbers come from: `reals`, or `integers` to which `add` is added. */
typedef struct variable {
  const char *name;
  int dimension, width; /* numbers of dimensions; width -1: none */
  const double *reals;
  const int32_t *integers;
  double factor;
  int add;
  void *owned; /* freed with the list */
  const char *units;
  int id;
} variable;

typedef struct file {
  int id, failed; /* the first error of libnetcdf */
  int64_t size[DIMENSIONS];
  int dimension[DIMENSIONS], dimensions;
  variable list[VARIABLES];
  int count;
  const cvtm_sphere_grid *grid;
} file;

static void expect(file *f, int code) {
  if (f->failed == NC_NOERR) f->failed = code;
}

static int add_dimension(file *f, const char *name, int64_t size) {
  f->size[f->dimensions] = size;
  expect(f, nc_def_dim(f->id, name, (size_t)size, &f->dimension[f->dimensions]));
  return f->dimensions++;
}

static variable *add_variable(file *f, const char *name, int dimension, int width) {
  variable *v = &f->list[f->count++];
  *v = (variable){name, dimension, width, NULL, NULL, 1, 0, NULL, NULL, 0};
  return v;
}

static void add_reals(file *f, const char *name, int dimension, int width, const double *reals,
                      double factor, const char *units) {
  variable *v = add_variable(f, name, dimension, width);
  v->reals = reals;
  v->factor = factor;
  v->units = units;
}

static variable *add_integers(file *f, const char *name, int dimension, int width,
                              const int32_t *integers, int add) {
  variable *v = add_variable(f, name, dimension, width);
  v->integers = integers;
  v->add = add;
  if (integers == NULL) expect(f, NC_ENOMEM);
  return v;
}

static void put_text(file *f, int variable_id, const char *name, const char *text) {
  expect(f, nc_put_att_text(f->id, variable_id, name, strlen(text), text));
}

static int64_t rows_of(const file *f, const variable *v, int64_t *width) {
  *width = v->width < 0 ? 1 : f->size[v->width];
  return f->size[v->dimension];
}

static void define_variables(file *f) {
  for (int k = 0; k < f->count; ++k) {
    variable *v = &f->list[k];
    const int shape[2] = {f->dimension[v->dimension], v->width < 0 ? 0 : f->dimension[v->width]};
    expect(f, nc_def_var(f->id, v->name, v->integers != NULL ? NC_INT : NC_DOUBLE,
                         v->width < 0 ? 1 : 2, shape, &v->id));
    if (v->units != NULL) put_text(f, v->id, "units", v->units);
  }
}

/* Converts and writes the numbers in pieces. */
static void write_variables(file *f) {
  enum { PIECE = 1 << 20 };
  double *reals = malloc(PIECE * sizeof *reals);
  int *integers = malloc(PIECE * sizeof *integers);
  if (reals == NULL || integers == NULL) expect(f, NC_ENOMEM);
  for (int k = 0; f->failed == NC_NOERR && k < f->count; ++k) {
    const variable *v = &f->list[k];
    int64_t width;
    const int64_t rows = rows_of(f, v, &width), piece = PIECE / width;
    for (int64_t row = 0; row < rows && f->failed == NC_NOERR; row += piece) {
      const int64_t now = rows - row < piece ? rows - row : piece;
      const size_t start[2] = {(size_t)row, 0}, count[2] = {(size_t)now, (size_t)width};
#pragma omp parallel for schedule(static)
      for (int64_t i = 0; i < now * width; ++i) {
        if (v->integers != NULL)
          integers[i] = v->integers[row * width + i] + v->add;
        else
          reals[i] = v->factor * v->reals[row * width + i];
      }
      expect(f, v->integers != NULL ? nc_put_vara_int(f->id, v->id, start, count, integers)
                                    : nc_put_vara_double(f->id, v->id, start, count, reals));
    }
  }
  free(reals);
  free(integers);
}

/* Adds x, y, z, and longitude and latitude in radians, or degrees for UGRID (plain: no x, y, z).
 */
static void add_points(file *f, const char *what, int dimension, const double *points,
                       double radius, int degrees) {
  static const char *const mpas[5] = {"lat", "lon", "x", "y", "z"};
  static char names[3][5][32];
  const int64_t n = f->size[dimension];
  const int group = what[0] == 'C' || what[0] == 'f' ? 0 : what[0] == 'E' || what[0] == 'e' ? 1 : 2;
  for (int axis = 0; axis < (degrees ? 2 : 5); ++axis) {
    double *values = malloc((size_t)n * sizeof *values + 1);
    variable *v = add_variable(f, names[group][axis], dimension, -1);
    v->reals = v->owned = values;
    if (degrees)
      snprintf(names[group][axis], sizeof names[group][axis], "%s_%s", what, mpas[axis]);
    else
      snprintf(names[group][axis], sizeof names[group][axis], "%s%s", mpas[axis], what);
    v->units = axis >= 2 ? "m" : !degrees ? "rad" : axis == 0 ? "degrees_north" : "degrees_east";
    if (values == NULL) {
      expect(f, NC_ENOMEM);
      return;
    }
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; ++i) {
      const double *p = points + 3 * i;
      const double lon = atan2(p[1], p[0]);
      values[i] = axis == 0   ? atan2(p[2], hypot(p[0], p[1]))
                  : axis == 1 ? (lon < 0 && !degrees ? lon + 2 * CVTM_PI : lon)
                              : radius * p[axis - 2];
      if (degrees) values[i] *= 180 / CVTM_PI;
    }
  }
}

static int32_t *count_up(int64_t count) {
  int32_t *numbers = malloc((size_t)count * sizeof *numbers + 1);
  for (int64_t i = 0; numbers != NULL && i < count; ++i) numbers[i] = (int32_t)i;
  return numbers;
}

/* Nonzero for vertices, edges and cells on the boundary of a culled grid. */
static int32_t *find_boundary(const int32_t *cells, int64_t count, int per) {
  int32_t *flags = malloc((size_t)count * sizeof *flags + 1);
  for (int64_t i = 0; flags != NULL && i < count; ++i) {
    flags[i] = 0;
    for (int k = 0; k < per; ++k) flags[i] |= cells[per * i + k] < 0;
  }
  return flags;
}

/* Ten letters and digits that differ for other cells, as MPAS has them (FNV-1a). */
static void put_file_id(file *f) {
  const unsigned char *bytes = (const unsigned char *)f->grid->cell_point;
  const size_t size = 3 * (size_t)f->grid->cells * sizeof(double);
  uint64_t hash = UINT64_C(14695981039346656037);
  for (size_t k = 0; k < size; ++k) hash = (hash ^ bytes[k]) * UINT64_C(1099511628211);
  char id[11] = "";
  for (int k = 0; k < 10; ++k, hash /= 36)
    id[k] = "0123456789abcdefghijklmnopqrstuvwxyz"[hash % 36];
  put_text(f, NC_GLOBAL, "file_id", id);
}

static void fill_mpas(file *f, const cvtm_sphere_labels *l) {
  const cvtm_sphere_grid *g = f->grid;
  const double r = l->radius, r2 = r * r;
  const int cells = add_dimension(f, "nCells", g->cells);
  const int edges = add_dimension(f, "nEdges", g->edges);
  const int vertices = add_dimension(f, "nVertices", g->vertices);
  const int most = add_dimension(f, "maxEdges", g->max_edges);
  const int most2 = add_dimension(f, "maxEdges2", 2 * (int64_t)g->max_edges);
  const int two = add_dimension(f, "TWO", 2), three = add_dimension(f, "vertexDegree", 3);
  add_points(f, "Cell", cells, g->cell_point, r, 0);
  add_points(f, "Edge", edges, g->edge_point, r, 0);
  add_points(f, "Vertex", vertices, g->vertex_point, r, 0);
  const int64_t longest = g->edges > g->vertices ? g->edges : g->vertices;
  int32_t *numbers = count_up(longest > g->cells ? longest : g->cells);
  int32_t *lonely_vertices = find_boundary(g->cells_on_vertex, g->vertices, 3);
  int32_t *lonely_edges = find_boundary(g->cells_on_edge, g->edges, 2);
  add_integers(f, "indexToCellID", cells, -1, numbers, 1)->owned = numbers;
  add_integers(f, "indexToEdgeID", edges, -1, numbers, 1);
  add_integers(f, "indexToVertexID", vertices, -1, numbers, 1);
  add_integers(f, "nEdgesOnCell", cells, -1, g->edge_count_on_cell, 0);
  add_integers(f, "nEdgesOnEdge", edges, -1, g->edge_count_on_edge, 0);
  add_integers(f, "cellsOnCell", cells, most, g->cells_on_cell, 1);
  add_integers(f, "edgesOnCell", cells, most, g->edges_on_cell, 1);
  add_integers(f, "verticesOnCell", cells, most, g->vertices_on_cell, 1);
  add_integers(f, "edgesOnEdge", edges, most2, g->edges_on_edge, 1);
  add_integers(f, "cellsOnEdge", edges, two, g->cells_on_edge, 1);
  add_integers(f, "verticesOnEdge", edges, two, g->vertices_on_edge, 1);
  add_integers(f, "cellsOnVertex", vertices, three, g->cells_on_vertex, 1);
  add_integers(f, "edgesOnVertex", vertices, three, g->edges_on_vertex, 1);
  add_integers(f, "boundaryVertex", vertices, -1, lonely_vertices, 0)->owned = lonely_vertices;
  add_integers(f, "boundaryEdge", edges, -1, lonely_edges, 0)->owned = lonely_edges;
  add_integers(f, "cellParent", cells, -1, g->cell_parent, 1);
  if (l->zone != NULL) add_integers(f, "bdyMaskCell", cells, -1, l->zone, 0);
  add_reals(f, "dcEdge", edges, -1, g->dc, r, "m");
  add_reals(f, "dvEdge", edges, -1, g->dv, r, "m");
  add_reals(f, "angleEdge", edges, -1, g->angle, 1, "rad");
  add_reals(f, "weightsOnEdge", edges, most2, g->weights_on_edge, 1, NULL);
  add_reals(f, "areaCell", cells, -1, g->cell_area, r2, "m2");
  add_reals(f, "areaTriangle", vertices, -1, g->triangle_area, r2, "m2");
  add_reals(f, "kiteAreasOnVertex", vertices, three, g->kite_area, r2, "m2");
  variable *density = add_variable(f, "meshDensity", cells, -1);
  density->reals = l->density;
  if (l->density == NULL) {
    double *ones = malloc((size_t)g->cells * sizeof *ones);
    for (int64_t i = 0; ones != NULL && i < g->cells; ++i) ones[i] = 1;
    if (ones == NULL) expect(f, NC_ENOMEM);
    density->reals = density->owned = ones;
  }
  put_text(f, NC_GLOBAL, "on_a_sphere", "YES");
  put_text(f, NC_GLOBAL, "is_periodic", "NO");
  put_text(f, NC_GLOBAL, "mesh_spec", "1.0");
  put_text(f, NC_GLOBAL, "Conventions", "MPAS");
  put_file_id(f);
  expect(f, nc_put_att_double(f->id, NC_GLOBAL, "sphere_radius", NC_DOUBLE, 1, &l->radius));
}

static void fill_ugrid(file *f) {
  const cvtm_sphere_grid *g = f->grid;
  static const int fill = -1, zero = 0, dimension = 2;
  const int faces = add_dimension(f, "face", g->cells), edges = add_dimension(f, "edge", g->edges);
  const int nodes = add_dimension(f, "node", g->vertices);
  const int most = add_dimension(f, "max_face_nodes", g->max_edges);
  const int two = add_dimension(f, "two", 2);
  add_points(f, "face", faces, g->cell_point, 1, 1);
  add_points(f, "edge", edges, g->edge_point, 1, 1);
  add_points(f, "node", nodes, g->vertex_point, 1, 1);
  add_integers(f, "face_nodes", faces, most, g->vertices_on_cell, 0);
  add_integers(f, "face_edges", faces, most, g->edges_on_cell, 0);
  add_integers(f, "face_faces", faces, most, g->cells_on_cell, 0);
  add_integers(f, "edge_nodes", edges, two, g->vertices_on_edge, 0);
  add_integers(f, "edge_faces", edges, two, g->cells_on_edge, 0);
  define_variables(f);
  for (int k = 0; k < f->count; ++k) {
    const variable *v = &f->list[k];
    if (v->integers == NULL) {
      put_text(f, v->id, "standard_name", strstr(v->name, "lat") ? "latitude" : "longitude");
      continue;
    }
    if (strcmp(v->name, "edge_nodes") != 0) /* no node of an edge is missing */
      expect(f, nc_put_att_int(f->id, v->id, "_FillValue", NC_INT, 1, &fill));
    expect(f, nc_put_att_int(f->id, v->id, "start_index", NC_INT, 1, &zero));
    char role[64];
    snprintf(role, sizeof role, "%.4s_%.4s_connectivity", v->name, v->name + 5);
    put_text(f, v->id, "cf_role", role);
  }
  int mesh;
  expect(f, nc_def_var(f->id, "mesh", NC_INT, 0, NULL, &mesh));
  expect(f, nc_put_att_int(f->id, mesh, "topology_dimension", NC_INT, 1, &dimension));
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
    put_text(f, mesh, texts[k][0], texts[k][1]);
  put_text(f, NC_GLOBAL, "Conventions", "CF-1.11 UGRID-1.0");
}

/* libnetcdf is not thread-safe. */
static pthread_mutex_t netcdf_lock = PTHREAD_MUTEX_INITIALIZER;

static int make_image(file *f, const cvtm_sphere_labels *labels, int ugrid, NC_memio *image) {
  const int64_t longest = 16 * (int64_t)f->grid->max_edges * f->grid->edges;
  const int mode = longest < INT32_MAX ? NC_64BIT_OFFSET : NC_NETCDF4;
  f->failed = nc_create_mem("cvtmesh.nc", mode, 1 << 10, &f->id);
  if (f->failed != NC_NOERR) return 0;
  if (ugrid) {
    fill_ugrid(f);
  } else {
    fill_mpas(f, labels);
    define_variables(f);
  }
  if (labels->source != NULL) put_text(f, NC_GLOBAL, "source", labels->source);
  expect(f, nc_enddef(f->id));
  if (f->failed == NC_NOERR) write_variables(f);
  const int closed = nc_close_memio(f->id, image);
  expect(f, closed);
  for (int k = 0; k < f->count; ++k) free(f->list[k].owned);
  return f->failed == NC_NOERR;
}

static cvtm_status write_netcdf(const cvtm_sphere_grid *grid, const cvtm_sphere_labels *labels,
                                int ugrid, const char *path, cvtm_error *error) {
  file *f = calloc(1, sizeof *f);
  if (f == NULL) return cvtm_no_memory(error, "the file");
  NC_memio image = {0};
  f->grid = grid;
  pthread_mutex_lock(&netcdf_lock);
  const int made = make_image(f, labels, ugrid, &image);
  cvtm_status status = CVTM_OK;
  if (!made)
    status = cvtm_fail(error, f->failed == NC_ENOMEM ? CVTM_ERROR_MEMORY : CVTM_ERROR_IO, "%s: %s",
                       path, nc_strerror(f->failed));
  pthread_mutex_unlock(&netcdf_lock);
  cvtm_output *output;
  if (status == CVTM_OK) status = cvtm_output_open(path, &output, error);
  if (status == CVTM_OK) {
    fwrite(image.memory, 1, image.size, cvtm_output_stream(output));
    status = cvtm_output_commit(output, error);
  }
  free(image.memory);
  free(f);
  return status;
}

/* --- reading: the header ---
 *
 * libnetcdf 4.9.0 crashes on malformed headers of the classic formats, so they are checked before:
 * https://docs.unidata.ucar.edu/nug/current/file_format_specifications.html. Its words are
 * big-endian; counts have 8 bytes in CDF-5, offsets in CDF-2, too. */

typedef struct header {
  const unsigned char *at, *end;
  size_t count_bytes, offset_bytes;
  uint64_t dimensions;
  int good; /* nothing was missing so far */
} header;

static const unsigned char *take_bytes(header *h, uint64_t size) {
  const unsigned char *bytes = h->at;
  h->good = h->good && size <= (uint64_t)(h->end - h->at);
  if (h->good) h->at += size;
  return bytes;
}

/* Reads a word; 0 beyond the end. */
static uint64_t take_word(header *h, size_t size) {
  const unsigned char *bytes = take_bytes(h, size);
  uint64_t value = 0;
  for (size_t k = 0; h->good && k < size; ++k) value = value << 8 | bytes[k];
  return value;
}

static void require(header *h, int holds) { h->good = h->good && holds; }

/* Skips `count` items, padded to words. */
static void skip_padded(header *h, uint64_t count, size_t size) {
  require(h, count <= (uint64_t)(h->end - h->at) / size);
  take_bytes(h, (count * size + 3) / 4 * 4);
}

static void skip_name(header *h) {
  const uint64_t length = take_word(h, h->count_bytes);
  require(h, length > 0 && length <= NC_MAX_NAME);
  skip_padded(h, length, 1);
}

/* The bytes of a value; 0: there is no such type. */
static size_t take_type(header *h) {
  static const unsigned char bytes[] = {0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8};
  const uint64_t type = take_word(h, 4);
  require(h, type > 0 && type < (h->count_bytes == 8 ? sizeof bytes : 7));
  return h->good ? bytes[type] : 1;
}

/* The number of elements of a list with this tag, which take at least 8 bytes each. */
static uint64_t begin_list(header *h, uint64_t tag) {
  const uint64_t found = take_word(h, 4), count = take_word(h, h->count_bytes);
  require(h,
          (found == tag || (found == 0 && count == 0)) && count <= (uint64_t)(h->end - h->at) / 8);
  return h->good ? count : 0;
}

static void skip_attributes(header *h) {
  for (uint64_t left = begin_list(h, 12); left > 0 && h->good; --left) {
    skip_name(h);
    const size_t size = take_type(h);
    skip_padded(h, take_word(h, h->count_bytes), size);
  }
}

static void check_variable(header *h, const unsigned char *start) {
  skip_name(h);
  const uint64_t axes = take_word(h, h->count_bytes);
  require(h, axes <= NC_MAX_VAR_DIMS);
  for (uint64_t k = 0; k < axes && h->good; ++k)
    require(h, take_word(h, h->count_bytes) < h->dimensions);
  skip_attributes(h);
  take_type(h);
  take_word(h, h->count_bytes);
  require(h, take_word(h, h->offset_bytes) <= (uint64_t)(h->end - start));
}

/* True for a file that is not of a classic format, too. */
static int header_is_sound(const unsigned char *bytes, size_t size) {
  if (size < 4 || memcmp(bytes, "CDF", 3) != 0) return 1;
  const int version = bytes[3];
  header h = {bytes + 4, bytes + size, version == 5 ? 8 : 4, version == 1 ? 4 : 8, 0, 1};
  take_word(&h, h.count_bytes); /* the number of records */
  h.dimensions = begin_list(&h, 10);
  for (uint64_t k = 0; k < h.dimensions && h.good; ++k) {
    skip_name(&h);
    require(&h, take_word(&h, h.count_bytes) <= INT64_MAX);
  }
  skip_attributes(&h);
  for (uint64_t left = begin_list(&h, 11); left > 0 && h.good; --left) check_variable(&h, bytes);
  return h.good;
}

/* --- reading: the map --- */

enum { MOST_STEPS = 1 << 24 /* of an axis: a step of two metres at the equator */ };

/* Reads the coordinates of dimension `id` in even steps. *turned: they descend. */
static int read_axis(int file_id, int id, int64_t *count, double *first, double *step,
                     int *turned) {
  char name[NC_MAX_NAME + 1];
  size_t length = 0;
  int coordinate = -1;
  if (nc_inq_dim(file_id, id, name, &length) != NC_NOERR || length < 2 || length > MOST_STEPS ||
      nc_inq_varid(file_id, name, &coordinate) != NC_NOERR)
    return 0;
  double *at = malloc(length * sizeof *at);
  int good = at != NULL && nc_get_var_double(file_id, coordinate, at) == NC_NOERR;
  if (good) {
    *count = (int64_t)length;
    *step = (at[length - 1] - at[0]) / (double)(length - 1);
    *turned = *step < 0;
    *first = *turned ? at[length - 1] : at[0];
    for (size_t k = 0; good && k < length; ++k)
      good = fabs(at[0] + (double)k * *step - at[k]) <= 1e-3 * fabs(*step);
    *step = fabs(*step);
  }
  free(at);
  return good && *step > 0;
}

static cvtm_status read_variable(int file_id, int id, const char *path, size_t size,
                                 cvtm_geographic_grid *grid, int *found, cvtm_error *error) {
  int count = 0, shape[NC_MAX_VAR_DIMS], south_last = 0, east_first = 0;
  if (nc_inq_varndims(file_id, id, &count) != NC_NOERR || count != 2 ||
      nc_inq_vardimid(file_id, id, shape) != NC_NOERR ||
      !read_axis(file_id, shape[0], &grid->rows, &grid->south, &grid->row_step, &south_last) ||
      !read_axis(file_id, shape[1], &grid->columns, &grid->west, &grid->column_step, &east_first))
    return CVTM_OK;
  const int64_t rows = grid->rows, columns = grid->columns;
  const uint64_t bytes = 2 * sizeof(float) * (uint64_t)rows * (uint64_t)columns;
  const cvtm_status status = cvtm_check_expansion(path, size, bytes, error);
  if (status != CVTM_OK) return status;
  float *raw = malloc(bytes / 2), *value = malloc(bytes / 2);
  *found = raw != NULL && value != NULL && nc_get_var_float(file_id, id, raw) == NC_NOERR;
  for (int64_t j = 0; *found && j < rows; ++j)
    for (int64_t i = 0; i < columns; ++i)
      value[j * columns + i] =
          raw[(south_last ? rows - 1 - j : j) * columns + (east_first ? columns - 1 - i : i)];
  const int missing = raw == NULL || value == NULL;
  free(raw);
  if (*found)
    grid->value = value;
  else
    free(value);
  return missing ? cvtm_no_memory(error, path) : CVTM_OK;
}

cvtm_status cvtm_geographic_grid_read(const char *path, cvtm_geographic_grid *grid,
                                      cvtm_error *error) {
  int id, count = 0, found = 0;
  unsigned char *bytes;
  size_t size;
  memset(grid, 0, sizeof *grid);
  cvtm_status status = cvtm_file_read(path, SIZE_MAX / 2, &bytes, &size, error);
  if (status != CVTM_OK) return status;
  pthread_mutex_lock(&netcdf_lock);
  const int code =
      header_is_sound(bytes, size) ? nc_open_mem(path, NC_NOWRITE, size, bytes, &id) : NC_ENOTNC;
  if (code == NC_NOERR) {
    nc_inq_nvars(id, &count);
    for (int k = 0; status == CVTM_OK && !found && k < count; ++k)
      status = read_variable(id, k, path, size, grid, &found, error);
    nc_close(id);
  }
  pthread_mutex_unlock(&netcdf_lock);
  free(bytes);
  if (code != NC_NOERR)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: %s", path, nc_strerror(code));
  if (status == CVTM_OK && !found)
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "%s: no variable has latitudes and longitudes in even steps", path);
  return status;
}
#else
cvtm_status cvtm_geographic_grid_read(const char *path, cvtm_geographic_grid *grid,
                                      cvtm_error *error) {
  (void)grid;
  return cvtm_fail(error, CVTM_ERROR_UNSUPPORTED, "%s: this build has no NetCDF", path);
}
static cvtm_status write_netcdf(const cvtm_sphere_grid *grid, const cvtm_sphere_labels *labels,
                                int ugrid, const char *path, cvtm_error *error) {
  (void)grid, (void)labels, (void)ugrid;
  return cvtm_fail(error, CVTM_ERROR_UNSUPPORTED, "%s: this build has no NetCDF", path);
}
#endif

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

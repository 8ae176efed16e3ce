#include "base/file.h"
#include "base/host.h"
#include "base/shared_library.h"
#include "meshes/sphere.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#if CVTMESH_HAVE_NETCDF
#include <netcdf.h>
#include <netcdf_mem.h>
#include <pthread.h>
#endif

int cvtm_netcdf_known(void) { return CVTMESH_HAVE_NETCDF; }

#if CVTMESH_HAVE_NETCDF

/* clang-format off */
#define FUNCTIONS(X) \
  X(open_mem) X(close) X(strerror) X(inq_nvars) X(inq_dim) X(inq_varid) X(inq_varndims) \
  X(inq_vardimid) X(get_var_double) X(get_var_float)
/* clang-format on */
#define POINTER(name) __typeof__(nc_##name) *(name);
#define NAME(name) "nc_" #name "\0"
/* libnetcdf, which takes longer to load than most commands run. */
static struct {
  void *library;
  FUNCTIONS(POINTER)
} nc;

/* libnetcdf is not thread-safe. */
static pthread_mutex_t netcdf_lock = PTHREAD_MUTEX_INITIALIZER;

/* --- the header ---
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
static uint64_t read_list(header *h, uint64_t tag) {
  const uint64_t found = take_word(h, 4), count = take_word(h, h->count_bytes);
  require(h,
          (found == tag || (found == 0 && count == 0)) && count <= (uint64_t)(h->end - h->at) / 8);
  return h->good ? count : 0;
}

static void skip_attributes(header *h) {
  for (uint64_t left = read_list(h, 12); left > 0 && h->good; --left) {
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
  h.dimensions = read_list(&h, 10);
  for (uint64_t k = 0; k < h.dimensions && h.good; ++k) {
    skip_name(&h);
    require(&h, take_word(&h, h.count_bytes) <= INT64_MAX);
  }
  skip_attributes(&h);
  for (uint64_t left = read_list(&h, 11); left > 0 && h.good; --left) check_variable(&h, bytes);
  return h.good;
}

/* --- the map --- */

enum { MOST_STEPS = 1 << 24 /* of an axis: a step of two metres at the equator */ };

/* Reads the coordinates of dimension `id` in even steps. *turned: they descend. */
static int read_axis(int file_id, int id, int64_t *count, double *first, double *step,
                     int *turned) {
  char name[NC_MAX_NAME + 1];
  size_t length = 0;
  int coordinate = -1;
  if (nc.inq_dim(file_id, id, name, &length) != NC_NOERR || length < 2 || length > MOST_STEPS ||
      nc.inq_varid(file_id, name, &coordinate) != NC_NOERR)
    return 0;
  double *at = malloc(length * sizeof *at);
  int good = at != NULL && nc.get_var_double(file_id, coordinate, at) == NC_NOERR;
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
  if (nc.inq_varndims(file_id, id, &count) != NC_NOERR || count != 2 ||
      nc.inq_vardimid(file_id, id, shape) != NC_NOERR ||
      !read_axis(file_id, shape[0], &grid->rows, &grid->south, &grid->row_step, &south_last) ||
      !read_axis(file_id, shape[1], &grid->columns, &grid->west, &grid->column_step, &east_first))
    return CVTM_OK;
  const int64_t rows = grid->rows, columns = grid->columns;
  const uint64_t bytes = 2 * sizeof(float) * (uint64_t)rows * (uint64_t)columns;
  CVTM_TRY(cvtm_check_expansion(path, size, bytes, error));
  float *raw = malloc(bytes / 2), *value = malloc(bytes / 2);
  *found = raw != NULL && value != NULL && nc.get_var_float(file_id, id, raw) == NC_NOERR;
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
  const char *missing = cvtm_library_load(CVTMESH_NETCDF_FILE "\0", FUNCTIONS(NAME), &nc);
  if (missing != NULL) return cvtm_fail(error, CVTM_ERROR_UNSUPPORTED, "%s: %s", path, missing);
  cvtm_status status = cvtm_file_read(path, SIZE_MAX / 2, &bytes, &size, error);
  if (status != CVTM_OK) return status;
  pthread_mutex_lock(&netcdf_lock);
  const int code =
      header_is_sound(bytes, size) ? nc.open_mem(path, NC_NOWRITE, size, bytes, &id) : NC_ENOTNC;
  if (code == NC_NOERR) {
    nc.inq_nvars(id, &count);
    for (int k = 0; status == CVTM_OK && !found && k < count; ++k)
      status = read_variable(id, k, path, size, grid, &found, error);
    nc.close(id);
  }
  pthread_mutex_unlock(&netcdf_lock);
  free(bytes);
  if (code != NC_NOERR)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: %s", path, nc.strerror(code));
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
#endif

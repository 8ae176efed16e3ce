/* cvtmesh info: the features of this build, and the devices that it finds. */
#include "cli/cli.h"
#include "run/output.h"
#include "run/json.h"
#include "density/density.h"
#include "meshes/mesh_file.h"
#include "meshes/sphere.h"
#include "draw/drawing.h"

#include <stdio.h>
#include <string.h>

#ifdef CVTMESH_MPI_MODULE
static const int has_mpi = 1;
#else
static const int has_mpi = 0;
#endif

/* Lists the extensions of the formats with this role that the build can write. */
static const char *names_of(unsigned role, char names[CVTM_FORMAT_NAMES]) {
  const cvtm_format *f;
  size_t used = 0;
  *names = '\0';
  for (int k = 0; (f = run_format_at(k)) != NULL; ++k) {
    if (!cvtm_format_has(f, role)) continue;
    if (f->dependency != NULL && !cvtm_format_has(f, CVTM_TEXT_OR_BINARY) && !f->has_library())
      continue;
    used += (size_t)snprintf(names + used, CVTM_FORMAT_NAMES - used, "%s%s%s%s",
                             used > 0 ? " " : "", f->extension, f->alias != NULL ? " " : "",
                             f->alias != NULL ? f->alias : "");
  }
  return names;
}

static int reads_tiff(void) { return strstr(cvtm_image_formats(), "tiff") != NULL; }

/* Describes a device, or why it cannot be opened. */
static int describe(const char *name, char *text, size_t capacity) {
  cvtm_device *device = NULL;
  cvtm_error error = {CVTM_OK, ""};
  cvtm_status status = cvtm_device_create(name, 0, &device, &error);
  snprintf(text, capacity, "%s",
           status == CVTM_OK ? cvtm_device_description(device) : error.message);
  cvtm_device_destroy(device);
  return status == CVTM_OK;
}

static void add_words(cJSON *object, const char *name, const char *words) {
  cJSON *array = cJSON_AddArrayToObject(object, name);
  char word[32];
  while (*(words += strspn(words, " ")) != '\0') {
    size_t length = strcspn(words, " ");
    snprintf(word, sizeof word, "%.*s", (int)length, words);
    run_json_append(array, cJSON_CreateString(word));
    words += length;
  }
}

static void add_device(cJSON *array, const char *name) {
  char text[512];
  int works = describe(name, text, sizeof text);
  cJSON *entry = run_json_item(array);
  run_json_text(entry, "name", name);
  cJSON_AddBoolToObject(entry, "works", works);
  run_json_text(entry, "description", text);
}

static int print_json(int cuda_count, const char *reason) {
  char names[CVTM_FORMAT_NAMES];
  cJSON *info = cJSON_CreateObject();
  run_json_text(info, "version", CVTMESH_VERSION);
  cJSON_AddBoolToObject(info, "cuda", CVTMESH_HAVE_CUDA);
  cJSON_AddBoolToObject(info, "tiff", reads_tiff());
  cJSON_AddBoolToObject(info, "colour_profiles", cvtm_image_applies_profiles());
  cJSON_AddBoolToObject(info, "cairo", cvtm_drawing_writes_pdf());
  cJSON_AddBoolToObject(info, "hdf5", cvtm_hdf5_known());
  cJSON_AddBoolToObject(info, "netcdf", cvtm_netcdf_known());
  cJSON_AddBoolToObject(info, "zlib", cvtm_compression_known(CVTM_COMPRESS_ZLIB));
  cJSON_AddBoolToObject(info, "lz4", cvtm_compression_known(CVTM_COMPRESS_LZ4));
  cJSON_AddBoolToObject(info, "isal", CVTMESH_HAVE_ISAL);
  cJSON_AddBoolToObject(info, "viewer", CVTMESH_HAVE_VIEWER);
  cJSON_AddBoolToObject(info, "mpi", has_mpi);
  add_words(info, "image_formats", cvtm_image_formats());
  add_words(info, "mesh_formats", names_of(CVTM_WRITES_MESH, names));
  add_words(info, "point_formats", names_of(CVTM_WRITES_POINTS, names));
  add_words(info, "drawing_formats", names_of(CVTM_WRITES_DRAWING, names));
  cJSON *devices = cJSON_AddArrayToObject(info, "devices");
  add_device(devices, "cpu");
  char name[32];
  for (int k = 0; k < cuda_count; ++k) {
    snprintf(name, sizeof name, "cuda:%d", k);
    add_device(devices, name);
  }
  run_json_text(info, "cuda_reason", cuda_count > 0 ? NULL : reason);
  cvtm_error error = {CVTM_OK, ""};
  cvtm_status status = run_json_write("-", info, &error);
  return status == CVTM_OK ? CLI_EXIT_OK : cli_failed(CLI_WRITING, status, &error);
}

int cli_info(const cli_options *options) {
  const char *reason = NULL;
  const int cuda_count = cvtm_cuda_count(&reason);
  if (options->json) return print_json(cuda_count, reason);
  char name[32], text[512], names[CVTM_FORMAT_NAMES];
  printf("cvtmesh %s\n", CVTMESH_VERSION);
  printf("built with   OpenMP%s%s%s%s%s%s%s%s%s%s%s\n", CVTMESH_HAVE_CUDA ? ", CUDA" : "",
         reads_tiff() ? ", TIFF" : "", cvtm_image_applies_profiles() ? ", colour profiles" : "",
         cvtm_drawing_writes_pdf() ? ", cairo" : "", cvtm_hdf5_known() ? ", HDF5" : "",
         cvtm_netcdf_known() ? ", NetCDF" : "",
         cvtm_compression_known(CVTM_COMPRESS_ZLIB) ? ", zlib" : "",
         cvtm_compression_known(CVTM_COMPRESS_LZ4) ? ", lz4" : "",
         CVTMESH_HAVE_ISAL ? ", ISA-L" : "", CVTMESH_HAVE_VIEWER ? ", viewer" : "",
         has_mpi ? ", MPI" : "");
  printf("reads        %s\n", cvtm_image_formats());
  printf("meshes       %s\n", names_of(CVTM_WRITES_MESH, names));
  printf("points       %s\n", names_of(CVTM_WRITES_POINTS, names));
  printf("drawings     %s\n", names_of(CVTM_WRITES_DRAWING, names));
  describe("cpu", text, sizeof text);
  printf("devices      cpu: %s\n", text);
  for (int k = 0; k < cuda_count; ++k) {
    snprintf(name, sizeof name, "cuda:%d", k);
    describe(name, text, sizeof text);
    printf("             %s: %s\n", name, text);
  }
  if (cuda_count == 0)
    printf("             no CUDA device%s%s\n", reason != NULL ? ": " : "",
           reason != NULL ? reason : "");
  return CLI_EXIT_OK;
}

/* The list of formats, and functions that look into rows. */
#include "meshes/format.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

/* X(name): the format in cvtm_format_NAME. Messages and --help keep this order. */
/* clang-format off */
#define FORMAT_LIST(X)                                                                   \
  X(obj) X(off) X(ply) X(stl) X(vtk) X(vtu) X(msh) X(inp) X(node) X(ele) X(poly) X(xdmf) \
  X(csv) X(npy) X(xyz) X(svg) X(geojson)
/* clang-format on */

#define FORMAT_ROW(name) extern const cvtm_format cvtm_format_##name;
FORMAT_LIST(FORMAT_ROW)

#define FORMAT_POINTER(name) &cvtm_format_##name,
const cvtm_format *const cvtm_formats[] = {FORMAT_LIST(FORMAT_POINTER) NULL};

int cvtm_format_has(const cvtm_format *f, unsigned bits) {
  const unsigned roles =
      (f->write_mesh || f->write_mesh_files ? CVTM_WRITES_MESH : 0u) |
      (f->read_mesh ? CVTM_READS_MESH : 0u) | (f->write_points ? CVTM_WRITES_POINTS : 0u) |
      (f->read_points ? CVTM_READS_POINTS : 0u) | (f->read_polygons ? CVTM_READS_POLYGONS : 0u) |
      (f->write_drawing ? CVTM_WRITES_DRAWING : 0u) | (f->write_pixels ? CVTM_WRITES_PICTURE : 0u);
  return ((roles | f->properties) & bits) == bits;
}

static int is_among(const char *words, const char *word) {
  const size_t length = strlen(word);
  while (words != NULL && *words != '\0') {
    const size_t end = strcspn(words, " ");
    if (end == length && strncmp(words, word, length) == 0) return 1;
    words += end + (words[end] == ' ');
  }
  return 0;
}

const cvtm_format *cvtm_format_find(const cvtm_format *const *list, const char *extension,
                                    unsigned bits) {
  for (; *list != NULL; ++list) {
    const cvtm_format *f = *list;
    if ((strcmp(f->extension, extension) == 0 || is_among(f->alias, extension)) &&
        cvtm_format_has(f, bits))
      return f;
  }
  return NULL;
}

const cvtm_format *cvtm_format_of(const char *path, unsigned bits) {
  char buffer[16];
  return cvtm_format_find(cvtm_formats, cvtm_file_extension(path, buffer, sizeof buffer), bits);
}

const char *cvtm_format_names(const cvtm_format *const *list, unsigned bits, const char *between,
                              char *text, size_t size) {
  size_t used = 0;
  *text = '\0';
  for (; *list != NULL; ++list)
    if (cvtm_format_has(*list, bits) && used < size)
      used += (size_t)snprintf(text + used, size - used, "%s%s", used > 0 ? between : "",
                               (*list)->extension);
  return text;
}

cvtm_status cvtm_format_unknown(const char *name, const char *kind, unsigned bits,
                                cvtm_error *error) {
  char known[CVTM_FORMAT_NAMES];
  return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%s: unknown %s format (known: %s)", name, kind,
                   cvtm_format_names(cvtm_formats, bits, ", ", known, sizeof known));
}

cvtm_status cvtm_format_load(const cvtm_format *f, const char *path, size_t limit,
                             unsigned char **bytes, size_t *size, cvtm_error *error) {
  return (f->load != NULL ? f->load : cvtm_file_read)(path, limit, bytes, size, error);
}

char *cvtm_path_beside(const char *path, const char *ending) {
  const char *slash = strrchr(path, '/'), *dot = strrchr(slash != NULL ? slash : path, '.');
  const size_t stem = dot != NULL ? (size_t)(dot - path) : strlen(path), size = strlen(ending) + 1;
  char *beside = malloc(stem + size);
  if (beside == NULL) return NULL;
  memcpy(beside, path, stem);
  memcpy(beside + stem, ending, size);
  return beside;
}

static void visit_beside(const char *path, const char *ending, const char *option,
                         cvtm_path_visitor visitor, void *context) {
  char *beside = cvtm_path_beside(path, ending);
  if (beside != NULL) visitor(context, option, beside);
  free(beside);
}

void cvtm_visit_written(const char *path, const char *option, int ascii, int grouped,
                        cvtm_path_visitor visitor, void *context) {
  const cvtm_format *f = cvtm_format_of(path, CVTM_WRITES_MESH);
  visitor(context, option, path);
  for (int k = 0; f != NULL && k < CVTM_FILES_BESIDE; ++k) {
    const cvtm_file_beside *file = &f->files_beside[k];
    if (file->ending != NULL && !(file->of_binary && ascii) && !(file->of_groups && !grouped))
      visit_beside(path, file->ending, option, visitor, context);
  }
}

void cvtm_visit_read(const char *path, const char *option, cvtm_path_visitor visitor,
                     void *context) {
  const cvtm_format *f = cvtm_format_of(path, 0);
  visitor(context, option, path);
  if (f != NULL && f->read_beside != NULL && (f->reads_beside == NULL || f->reads_beside(path)))
    visit_beside(path, f->read_beside, option, visitor, context);
}

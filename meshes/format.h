/* The formats of files. Each format is a row in the file that reads and writes it. Help, the
 * manual, the messages and the checks of files follow from the rows, and a test compares README.md
 * with the rows. A new format is a file with its row, and the row's name in
 * meshes/formats/format_list.c or, for a drawing or a picture, in draw/format_list.c. */
#pragma once

#include "base/status.h"

#include <stddef.h>
#include <stdio.h>

/* What a format can hold and needs. The last bits are roles: which functions a row has. */
enum {
  CVTM_HOLDS_REGIONS = 1,      /* with the groups of edges */
  CVTM_HOLDS_SECOND_ORDER = 2, /* the nodes of --element-order 2 */
  CVTM_HOLDS_VALUES = 4,       /* of vertices */
  CVTM_HOLDS_CLASSES = 8,      /* of points */
  CVTM_TEXT_OR_BINARY = 16,
  CVTM_COMPRESSED = 32,
  CVTM_READS_FIELDS = 64,
  CVTM_USES_SETS = 128,      /* cvtm_file_sets */
  CVTM_NEEDS_GROUPS = 256,   /* a mesh with a domain */
  CVTM_NEEDS_PAGE = 512,     /* a page or the size of a pixel */
  CVTM_NEEDS_PROFILE = 1024, /* of G-code */
  CVTM_FOR_MACHINES = 2048,  /* machines follow the path of --order tsp */
  CVTM_HAS_REAL_SIZE = 4096, /* without a page a pixel has the size of a CSS pixel */
  CVTM_WRITES_MESH = 1 << 16,
  CVTM_READS_MESH = 1 << 17,
  CVTM_WRITES_POINTS = 1 << 18,
  CVTM_READS_POINTS = 1 << 19,
  CVTM_READS_POLYGONS = 1 << 20,
  CVTM_WRITES_DRAWING = 1 << 21,
  CVTM_WRITES_PICTURE = 1 << 22
};

struct cvtm_builder;
struct cvtm_drawing;
struct cvtm_drawing_settings;
struct cvtm_file_mesh;
struct cvtm_point_list;
struct cvtm_point_set;
struct cvtm_ring_collector;
struct cvtm_source;

/* A file written beside another one, whose name has this ending in place of the extension. */
typedef struct cvtm_file_beside {
  const char *ending;
  int of_binary, of_groups; /* nonzero: only with binary numbers; only for a mesh with groups */
} cvtm_file_beside;

enum { CVTM_FILES_BESIDE = 3 };

typedef struct cvtm_format {
  const char *extension, *alias; /* in lower case; alias: another extension, of formats that
                                    are only read several with blanks between, or NULL */
  const char *help;              /* what the format is, and who uses it */
  const char *manual;            /* more sentences, with the markup of an option's text; or NULL */
  unsigned properties;           /* bits above that are not roles */
  /* The library that writes the format, and whether this build has it; NULL: no library is needed.
   * With CVTM_TEXT_OR_BINARY text needs no library. */
  const char *dependency;
  int (*has_library)(void);
  /* NULL: files of this format are not written or not read. Stream errors are detected when the
   * stream is closed. */
  void (*write_mesh)(FILE *file, const struct cvtm_file_mesh *mesh);
  cvtm_status (*write_mesh_files)(const char *path, const struct cvtm_file_mesh *mesh,
                                  cvtm_error *error); /* in place of write_mesh */
  cvtm_status (*read_mesh)(struct cvtm_source *source, struct cvtm_builder *builder);
  cvtm_status (*write_points)(const char *path, const struct cvtm_point_set *points,
                              cvtm_error *error);
  cvtm_status (*read_points)(struct cvtm_source *source, struct cvtm_point_list *points);
  cvtm_status (*read_polygons)(struct cvtm_source *source, struct cvtm_ring_collector *collector);
  cvtm_status (*write_drawing)(FILE *file, const struct cvtm_drawing *drawing,
                               const struct cvtm_drawing_settings *settings, cvtm_error *error);
  cvtm_status (*write_pixels)(const char *path, int width, int height, int channels,
                              const unsigned char *pixels, cvtm_error *error);
  /* Files that belong to a mesh or to polygons. */
  cvtm_file_beside files_beside[CVTM_FILES_BESIDE];
  const char
      *read_beside; /* the ending of a file that is read together with this one; NULL: none */
  int (*reads_beside)(
      const char *path); /* returns whether this file has one; NULL: every file has one */
  /* Reads the file and the file beside it into one array; NULL: cvtm_file_read. */
  cvtm_status (*load)(const char *path, size_t limit, unsigned char **bytes, size_t *size,
                      cvtm_error *error);
} cvtm_format;

/* The rows of all formats but drawings and pictures, and NULL at the end. */
extern const cvtm_format *const cvtm_formats[];

/* The first row in a list with this extension and these properties and roles; NULL: none. */
const cvtm_format *cvtm_format_find(const cvtm_format *const *list, const char *extension,
                                    unsigned bits);
/* The row of cvtm_formats for the extension of a path; NULL: none. */
const cvtm_format *cvtm_format_of(const char *path, unsigned bits);
/* True if the row has these properties and roles. */
int cvtm_format_has(const cvtm_format *format, unsigned bits);
/* Writes the extensions of the rows with these properties and roles, separated by `between`;
 * returns text. */
const char *cvtm_format_names(const cvtm_format *const *list, unsigned bits, const char *between,
                              char *text, size_t size);
/* Fails with CVTM_ERROR_ARGUMENT and the names of the known formats. kind: for example "mesh". */
cvtm_status cvtm_format_unknown(const char *name, const char *kind, unsigned bits,
                                cvtm_error *error);
enum { CVTM_FORMAT_NAMES = 256 };

/* Reads the file and, if the format has one, the file beside it into one array, malloc'd. */
cvtm_status cvtm_format_load(const cvtm_format *format, const char *path, size_t limit,
                             unsigned char **bytes, size_t *size, cvtm_error *error);

/* The path with another ending in place of its extension, malloc'd; NULL if memory runs out. */
char *cvtm_path_beside(const char *path, const char *ending);
/* option: the option that names the file. The path is valid during the call. */
typedef void (*cvtm_path_visitor)(void *context, const char *option, const char *path);
/* Visits a file that is written, and those beside it. grouped: nonzero: a mesh with groups. */
void cvtm_visit_written(const char *path, const char *option, int ascii, int grouped,
                        cvtm_path_visitor visitor, void *context);
/* Visits a file that is read, and the file that is read beside it, if any. */
void cvtm_visit_read(const char *path, const char *option, cvtm_path_visitor visitor,
                     void *context);

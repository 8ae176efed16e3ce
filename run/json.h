/* JSON reports: numbers that read back to the same bits, null for what is not finite. */
#ifndef CVTMESH_RUN_JSON_H
#define CVTMESH_RUN_JSON_H

#include "base/device.h"
#include "base/status.h"
#include "meshes/device_delaunay.h"
#include "meshes/mesh.h"

#include <cjson/cJSON.h>

/* Call before all other uses of cJSON: notes when cJSON finds no memory. cJSON then leaves out the
 * member and continues, so the caller asks run_json_starved once, when the object is complete. */
void run_json_start(void);
/* True if cJSON has found no memory in this thread since the last call. */
int run_json_starved(void);
/* The object as text in UTF-8, to be freed by cJSON_free; NULL if there was no memory for the text
 * or for a member. */
char *run_json_print(const cJSON *object, int indented);

/* The length in bytes of the UTF-8 character at `text`, which is not ""; 0: none begins there. */
size_t run_character_length(const char *text);

/* Deletes the item if it cannot be added; either may be NULL. */
void run_json_append(cJSON *array, cJSON *item);
/* A new object at the end of the list; NULL without memory. */
cJSON *run_json_item(cJSON *list);
void run_json_real(cJSON *object, const char *name, double value);
void run_json_integer(cJSON *object, const char *name, int64_t value);
void run_json_text(cJSON *object, const char *name, const char *value); /* NULL: null */

/* Adds `quality` (triangles whose circumcentre lies in the domain) and `quality_all`. */
void run_json_quality(cJSON *object, const cvtm_quality *quality);
/* Adds `triangulation`: where it was made, its seconds, and the seconds of kernels and of
 * copies. */
void run_json_triangulation(cJSON *object, const cvtm_delaunay_report *report);
/* Adds `device` (cpu, cuda:0) and `device_description`. */
void run_json_device(cJSON *object, const cvtm_device *device);

/* A report with `version` and the device (NULL: none). */
cJSON *run_json_begin(const cvtm_device *device);
/* Writes the object to a file or, for `-`, to stdout, and deletes it in any case. */
cvtm_status run_json_write(const char *path, cJSON *object, cvtm_error *error);

/* The records of all iterations of a run, for its report. */
typedef struct run_history {
  void *records; /* freed by its owner */
  int64_t count, capacity;
  int lost; /* true if there was no memory for a record */
} run_history;

/* Adds a record of `size` bytes and returns it; NULL without memory. Then the monitor asks to stop,
 * and the command fails by run_history_check: it was not interrupted. */
void *run_history_add(run_history *history, size_t size);
/* CVTM_ERROR_MEMORY if a record was lost. */
cvtm_status run_history_check(const run_history *history, cvtm_error *error);

#endif

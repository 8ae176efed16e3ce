/* JSON reports: numbers are read back with the same bits; null stands for nan and inf. */
#pragma once

#include "base/device.h"
#include "base/status.h"
#include "meshes/device_delaunay.h"
#include "meshes/mesh.h"

#include <cjson/cJSON.h>

/* To be called before other uses of cJSON: notes when cJSON finds no memory. cJSON then leaves out
 * the member and continues, so the caller asks run_json_starved when the object is complete. */
void run_json_start(void);
/* True if cJSON has found no memory in this thread since the last call. */
int run_json_starved(void);
/* Writes the object as text in UTF-8, to be freed by cJSON_free; NULL if memory ran out for the
 * text or for a member. */
char *run_json_print(const cJSON *object, int indented);

/* The length in bytes of the UTF-8 character at `text`, which is not ""; 0: no character. */
size_t run_character_length(const char *text);

/* Appends the item, or deletes it if that fails; either argument may be NULL. */
void run_json_append(cJSON *array, cJSON *item);
/* Adds an object to the end of the list; NULL if memory runs out. */
cJSON *run_json_item(cJSON *list);
void run_json_real(cJSON *object, const char *name, double value);
void run_json_integer(cJSON *object, const char *name, int64_t value);
void run_json_text(cJSON *object, const char *name, const char *value); /* NULL: null */

/* Adds `quality` (triangles whose circumcentre lies in the domain) and `quality_all`. */
void run_json_quality(cJSON *object, const cvtm_quality *quality);
/* Adds `triangulation`: the device, the seconds, and the seconds of kernels and of copies. */
void run_json_triangulation(cJSON *object, const cvtm_delaunay_report *report);
/* Adds `device` (cpu, cuda:0) and `device_description`. */
void run_json_device(cJSON *object, const cvtm_device *device);

/* Makes a report with `version` and the device (NULL: none). */
cJSON *run_json_begin(const cvtm_device *device);
/* Writes the object to a file or, for `-`, to stdout. Deletes the object in any case. */
cvtm_status run_json_write(const char *path, cJSON *object, cvtm_error *error);

/* The records of all iterations of a run, for its report. */
typedef struct run_history {
  void *records; /* freed by its owner */
  int64_t count, capacity;
  int lost; /* nonzero if memory ran out for a record */
} run_history;

/* Adds a record of `size` bytes and returns it; NULL if memory runs out. The monitor then asks to
 * stop, and the command fails by run_history_check, since it was not interrupted. */
void *run_history_add(run_history *history, size_t size);
/* CVTM_ERROR_MEMORY if a record was lost. */
cvtm_status run_history_check(const run_history *history, cvtm_error *error);

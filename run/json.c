#include "run/json.h"

#include "base/file.h"
#include "base/host.h"
#include "run/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local int starved;

size_t run_character_length(const char *text) {
  const unsigned char *c = (const unsigned char *)text;
  if (c[0] < 0x80) return 1;
  if (c[0] < 0xC2 || c[0] > 0xF4) return 0;
  const size_t length = c[0] < 0xE0 ? 2 : c[0] < 0xF0 ? 3 : 4;
  for (size_t k = 1; k < length; ++k)
    if ((c[k] & 0xC0) != 0x80) return 0;
  /* overlong forms, surrogates, and values beyond U+10FFFF */
  if ((c[0] == 0xE0 && c[1] < 0xA0) || (c[0] == 0xED && c[1] > 0x9F) ||
      (c[0] == 0xF0 && c[1] < 0x90) || (c[0] == 0xF4 && c[1] > 0x8F))
    return 0;
  return length;
}

static void *allocate_json(size_t size) {
  void *memory = malloc(size);
  if (memory == NULL) starved = 1;
  return memory;
}

void run_json_start(void) {
  cJSON_Hooks hooks = {allocate_json, free};
  cJSON_InitHooks(&hooks);
}

int run_json_starved(void) {
  const int was = starved;
  starved = 0;
  return was;
}

void run_json_append(cJSON *array, cJSON *item) {
  if (!cJSON_AddItemToArray(array, item)) cJSON_Delete(item);
}

cJSON *run_json_item(cJSON *list) {
  cJSON *item = cJSON_CreateObject();
  if (cJSON_AddItemToArray(list, item)) return item;
  cJSON_Delete(item);
  return NULL;
}

void run_json_real(cJSON *object, const char *name, double value) {
  char text[RUN_NUMBER_TEXT];
  if (isfinite(value))
    cJSON_AddRawToObject(object, name, run_number_text(value, text));
  else
    cJSON_AddNullToObject(object, name);
}

void run_json_integer(cJSON *object, const char *name, int64_t value) {
  char text[32];
  snprintf(text, sizeof text, "%lld", (long long)value);
  cJSON_AddRawToObject(object, name, text);
}

void run_json_text(cJSON *object, const char *name, const char *value) {
  if (value != NULL)
    cJSON_AddStringToObject(object, name, value);
  else
    cJSON_AddNullToObject(object, name);
}

static void add_histogram(cJSON *object, const char *name, const int64_t *bins, int count) {
  cJSON *array = cJSON_AddArrayToObject(object, name);
  for (int k = 0; k < count; ++k) run_json_append(array, cJSON_CreateNumber((double)bins[k]));
}

static void add_figures(cJSON *object, const char *name, const cvtm_quality_figures *figures,
                        const cvtm_quality *quality) {
  const double none = figures->triangles > 0 ? 0 : NAN; /* without triangles there is no figure */
  cJSON *entry = cJSON_AddObjectToObject(object, name);
  run_json_real(entry, "min_angle", figures->min_angle + none);
  run_json_real(entry, "mean_min_angle", figures->mean_min_angle + none);
  run_json_real(entry, "min_q", figures->min_q + none);
  run_json_real(entry, "mean_q", figures->mean_q + none);
  run_json_real(entry, "degree6_share",
                quality->interior_vertices > 0 ? quality->degree6_share : NAN);
  run_json_integer(entry, "triangles", figures->triangles);
  run_json_integer(entry, "vertices", quality->vertices);
  run_json_integer(entry, "interior_vertices", quality->interior_vertices);
  run_json_real(entry, "min_area", figures->min_area + none);
  run_json_real(entry, "mean_area", figures->mean_area + none);
  run_json_real(entry, "max_area", figures->max_area + none);
  run_json_real(entry, "max_aspect", figures->max_aspect + none);
  run_json_integer(entry, "degenerate", figures->degenerate);
  add_histogram(entry, "angle_histogram", figures->angle_histogram, CVTM_ANGLE_BINS);
  add_histogram(entry, "degree_histogram", quality->degree_histogram,
                (int)(sizeof quality->degree_histogram / sizeof quality->degree_histogram[0]));
}

void run_json_quality(cJSON *object, const cvtm_quality *quality) {
  add_figures(object, "quality", &quality->inner, quality);
  add_figures(object, "quality_all", &quality->all, quality);
}

void run_json_triangulation(cJSON *object, const cvtm_delaunay_report *report) {
  cJSON *entry = cJSON_AddObjectToObject(object, "triangulation");
  run_json_text(entry, "device", report->on_device ? "cuda" : "cpu");
  run_json_real(entry, "seconds", report->seconds);
  run_json_real(entry, "seconds_kernels", report->build);
  run_json_real(entry, "seconds_copies", report->copy_in + report->copy_out);
  run_json_integer(entry, "undecided", report->undecided);
}

void run_json_device(cJSON *object, const cvtm_device *device) {
  run_json_text(object, "device", cvtm_device_name(device));
  run_json_text(object, "device_description", cvtm_device_description(device));
}

/* Replaces every byte that is not UTF-8, as in some file names, by \xHH. Takes over the text. */
static char *escape_bytes(char *text) {
  enum { ESCAPE = 5 };
  size_t bad = 0;
  for (const char *c = text; *c != '\0';) {
    const size_t length = run_character_length(c);
    bad += length == 0;
    c += length > 0 ? length : 1;
  }
  if (bad == 0) return text;
  char *escaped = allocate_json(strlen(text) + (ESCAPE - 1) * bad + 1), *end = escaped;
  for (const char *c = text; escaped != NULL && *c != '\0';) {
    const size_t length = run_character_length(c);
    if (length > 0)
      memcpy(end, c, length);
    else
      snprintf(end, ESCAPE + 1, "\\\\x%02x", (unsigned char)*c);
    end += length > 0 ? length : ESCAPE;
    c += length > 0 ? length : 1;
  }
  if (escaped != NULL) *end = '\0';
  cJSON_free(text);
  return escaped;
}

char *run_json_print(const cJSON *object, int indented) {
  char *text = indented ? cJSON_Print(object) : cJSON_PrintUnformatted(object);
  if (text != NULL) text = escape_bytes(text);
  if (!run_json_starved()) return text;
  cJSON_free(text);
  return NULL;
}

cvtm_status run_json_write(const char *path, cJSON *object, cvtm_error *error) {
  char *text = run_json_print(object, 1);
  cJSON_Delete(object);
  if (text == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path);
  cvtm_output *output;
  cvtm_status status = cvtm_output_open(path, &output, error);
  if (status == CVTM_OK) {
    fprintf(cvtm_output_stream(output), "%s\n", text);
    status = cvtm_output_commit(output, error);
  }
  cJSON_free(text);
  return status;
}

void *run_history_add(run_history *history, size_t size) {
  if (!cvtm_grow(&history->records, size, &history->capacity, history->count + 1)) {
    history->lost = 1;
    return NULL;
  }
  return (char *)history->records + (size_t)history->count++ * size;
}

cvtm_status run_history_check(const run_history *history, cvtm_error *error) {
  if (!history->lost) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for the history of the iterations");
}

cJSON *run_json_begin(const cvtm_device *device) {
  cJSON *report = cJSON_CreateObject();
  run_json_text(report, "version", CVTMESH_VERSION);
  if (device != NULL) run_json_device(report, device);
  return report;
}

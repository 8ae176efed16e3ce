#include "run/json.h"

#include "cli/cli.h"

#include "base/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local int starved;

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

/* Prints with the fewest of 15 to 17 digits that read back to the same double. Returns 0 if the
 * value is not finite. */
static int number_text(double value, char *text, size_t capacity) {
  if (!isfinite(value)) return 0;
  for (int digits = 15; digits <= 17; ++digits) {
    snprintf(text, capacity, "%.*g", digits, value);
    if (strtod(text, NULL) == value) break;
  }
  return 1;
}

void run_json_real(cJSON *object, const char *name, double value) {
  char text[40];
  if (number_text(value, text, sizeof text))
    cJSON_AddRawToObject(object, name, text);
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
  const double none = figures->triangles > 0 ? 0 : NAN; /* without a triangle there is no figure */
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

/* JSON names have underscores where the command line has dashes. */
static const char *key_of(const char *name, char *key, size_t capacity) {
  snprintf(key, capacity, "%s", name);
  for (char *c = key; *c != '\0'; ++c)
    if (*c == '-') *c = '_';
  return key;
}

static void visit_flag(void *context, const char *name, int value) {
  char key[64];
  cJSON_AddBoolToObject(context, key_of(name, key, sizeof key), value);
}

static void visit_integer(void *context, const char *name, int64_t value) {
  char key[64];
  run_json_integer(context, key_of(name, key, sizeof key), value);
}

static void visit_real(void *context, const char *name, double value) {
  char key[64];
  run_json_real(context, key_of(name, key, sizeof key), value);
}

static void visit_text(void *context, const char *name, const char *value) {
  char key[64];
  run_json_text(context, key_of(name, key, sizeof key), value);
}

static void visit_list(void *context, const char *name, const cli_list *value) {
  char key[64];
  cJSON *array = cJSON_AddArrayToObject(context, key_of(name, key, sizeof key));
  for (int k = 0; k < value->count; ++k) run_json_append(array, cJSON_CreateString(value->item[k]));
}

/* Adds `options`: every option of the subcommand with the value that was in effect. */
static void add_options(cJSON *object, const cli_options *options) {
  cJSON *entry = cJSON_AddObjectToObject(object, "options");
  run_json_text(entry, "input", options->input);
  const cli_option_visitor visitor = {entry,      visit_flag, visit_integer,
                                      visit_real, visit_text, visit_list};
  cli_options_visit(options, &visitor);
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

cJSON *cli_report_begin(const cvtm_device *device, const cli_options *options) {
  cJSON *report = cJSON_CreateObject();
  run_json_text(report, "version", CVTMESH_VERSION);
  if (device != NULL) run_json_device(report, device);
  add_options(report, options);
  return report;
}

/* Writes every byte that is not UTF-8, as names of files may have them, as \xHH in its string.
 * Takes over the text. */
static char *escape_bytes(char *text) {
  enum { ESCAPE = 5 };
  size_t bad = 0;
  for (const char *c = text; *c != '\0';) {
    const size_t length = cli_character_length(c);
    bad += length == 0;
    c += length > 0 ? length : 1;
  }
  if (bad == 0) return text;
  char *escaped = allocate_json(strlen(text) + (ESCAPE - 1) * bad + 1), *end = escaped;
  for (const char *c = text; escaped != NULL && *c != '\0';) {
    const size_t length = cli_character_length(c);
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

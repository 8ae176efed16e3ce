/* The options of a command in its report. */
#include "cli/cli.h"
#include "run/json.h"

#include <stdio.h>

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

static void visit_list(void *context, const char *name, const cvtm_run_list *value) {
  char key[64];
  cJSON *array = cJSON_AddArrayToObject(context, key_of(name, key, sizeof key));
  for (int k = 0; k < value->count; ++k) run_json_append(array, cJSON_CreateString(value->item[k]));
}

void cli_report_options(const cli_options *options, cJSON *entry) {
  run_json_text(entry, "input", options->run.input.name);
  const cli_option_visitor visitor = {entry,      visit_flag, visit_integer,
                                      visit_real, visit_text, visit_list};
  cli_options_visit(options, &visitor);
}

cJSON *cli_report_begin(const cvtm_device *device, const cli_options *options) {
  cJSON *report = run_json_begin(device);
  cli_report_options(options, cJSON_AddObjectToObject(report, "options"));
  return report;
}

/* The options of a command in its report. */
#include "cli/cli.h"
#include "cli/option_table.h"
#include "run/json.h"

#include <stdio.h>

static void add_list(cJSON *entry, const char *key, const cvtm_run_list *list) {
  cJSON *array = cJSON_AddArrayToObject(entry, key);
  for (int k = 0; k < list->count; ++k) run_json_append(array, cJSON_CreateString(list->item[k]));
}

/* A cli_option_visitor. JSON names have underscores instead of dashes. */
static void add_option(void *context, const cli_option_row *row, const void *field) {
  char key[64];
  snprintf(key, sizeof key, "%s", row->name);
  for (char *c = key; *c != '\0'; ++c)
    if (*c == '-') *c = '_';
  switch (row->type) {
    case CLI_FLAG:
      cJSON_AddBoolToObject(context, key, *(const int *)field);
      break;
    case CLI_INTEGER:
      run_json_integer(context, key, *(const int64_t *)field);
      break;
    case CLI_REAL:
      run_json_real(context, key, *(const double *)field);
      break;
    case CLI_CHOICE:
    case CLI_SWITCH:
      run_json_text(context, key, cli_choice_name(row->choices, *(const int *)field));
      break;
    case CLI_TEXT:
      run_json_text(context, key, *(const char *const *)field);
      break;
    case CLI_SOURCE:
      run_json_text(context, key, ((const cvtm_input *)field)->name);
      break;
    case CLI_LIST:
      add_list(context, key, field);
      break;
  }
}

void cli_report_options(const cli_options *options, cJSON *entry) {
  run_json_text(entry, "input", options->run.input.name);
  cli_options_visit(options, add_option, entry);
}

cJSON *cli_report_begin(const cvtm_device *device, const cli_options *options) {
  cJSON *report = run_json_begin(device);
  cli_report_options(options, cJSON_AddObjectToObject(report, "options"));
  return report;
}

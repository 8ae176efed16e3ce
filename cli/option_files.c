/* The files that the values of options name. */
#include "cli/option_table.h"
#include "cli/domain.h"
#include "cli/outline.h"
#include "draw/drawing.h"
#include "meshes/formats/formats.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The length of the file name that begins `text`; 0 if the text names no file. */
static size_t length_of_name(cli_file_role role, const char *text) {
  size_t length = strlen(text);
  double numbers[3];
  switch (role) {
    case CLI_READS_WEIGHT:
      if (!cli_weight_parse(text, &length, numbers)) return 0;
      return length == 5 && strncmp(text, "alpha", 5) == 0 ? 0 : length;
    case CLI_READS_REGION:
      return strcmp(text, "alpha") == 0 ? 0 : length;
    case CLI_READS_CURVE:
      if (strcmp(text, "grow") == 0 || strcmp(text, "image") == 0) return 0;
      return cli_numbers_parse(text, 3, numbers) ? 0 : length;
    case CLI_READS_PROFILE:
      return cvtm_gcode_builtin(text) != NULL ? 0 : length;
    case CLI_READS_OMEGA:
      if (strcmp(text, "ratio") == 0) return 0;
      return cli_numbers_parse(text, 1, numbers) ? 0 : length;
    default:
      return length;
  }
}

static void visit_beside(cli_file_use use, const char *option, const char *path, const char *ending,
                         void *context, cli_file_visitor visitor) {
  char *beside = cvtm_path_beside(path, ending);
  if (beside != NULL) visitor(context, use, option, beside);
  free(beside);
}

/* A name of PATH_MAX bytes or more is skipped: no file can be opened by it. */
static void visit_read(cli_file_role role, const char *option, const char *text, void *context,
                       cli_file_visitor visitor) {
  char path[PATH_MAX];
  const size_t length = length_of_name(role, text);
  if (length == 0 || length >= sizeof path) return;
  memcpy(path, text, length);
  path[length] = '\0';
  visitor(context, CLI_FILE_READ, option, path);
  const char *ending = cvtm_mesh_read_beside(path);
  if (ending != NULL) visit_beside(CLI_FILE_READ, option, path, ending, context, visitor);
}

/* A file of --output, and those that come with a mesh. */
static void visit_output(const cli_options *options, const char *path, void *context,
                         cli_file_visitor visitor) {
  const char *ending[CVTM_FILES_BESIDE];
  const int grouped = options->domain.kind != CLI_DOMAIN_NONE || cli_outline_wanted(options);
  const int count = cvtm_mesh_written_beside(path, options->ascii, grouped, ending);
  visitor(context, CLI_FILE_WRITTEN, "output", path);
  for (int k = 0; k < count; ++k)
    visit_beside(CLI_FILE_WRITTEN, "output", path, ending[k], context, visitor);
}

static void visit_file(cli_file_role role, const char *option, const char *text, void *context,
                       cli_file_visitor visitor) {
  switch (role) {
    case CLI_NO_FILE:
      return;
    case CLI_WRITES:
      visitor(context, CLI_FILE_WRITTEN, option, text);
      return;
    case CLI_WRITES_NAMES:
      visitor(context, CLI_FILE_NAMES, option, text);
      return;
    case CLI_WRITES_FRAMES:
      visitor(context, CLI_FILE_FRAMES, option, text);
      return;
    default:
      visit_read(role, option, text, context, visitor);
  }
}

/* True if the option of `batch` is passed on to the jobs: it names their files, or is a template of
 * their names.
 */
static int names_files_of_jobs(cli_command command, const cli_option_row *row) {
  return command == CLI_BATCH && row->commands != CLI_EVERY_COMMAND &&
         cli_option_find_field(CLI_RUN, row->offset) >= 0;
}

void cli_options_visit_files(const cli_options *options, cli_file_visitor visitor, void *context) {
  const int operand_is_file = options->command != CLI_MINIMIZE;
  if (operand_is_file && options->input != NULL)
    visit_read(CLI_READS, NULL, options->input, context, visitor);
  for (int index = 0; index < cli_option_row_count; ++index) {
    const cli_option_row *row = &cli_option_rows[index];
    if (row->file == CLI_NO_FILE || !cli_option_applies(index, options->command)) continue;
    if (names_files_of_jobs(options->command, row)) continue;
    const void *field = cli_option_field_const(row, options);
    if (row->offset == CLI_FIELD(output)) {
      for (int k = 0; k < options->output.count; ++k)
        visit_output(options, options->output.item[k], context, visitor);
    } else if (row->type == CLI_LIST) {
      const cli_list *list = field;
      for (int k = 0; k < list->count; ++k)
        visit_file(row->file, row->name, list->item[k], context, visitor);
    } else if (*(const char *const *)field != NULL) {
      visit_file(row->file, row->name, *(const char *const *)field, context, visitor);
    }
  }
}

void cli_options_clear_written(cli_options *options) {
  for (int index = 0; index < cli_option_row_count; ++index) {
    const cli_option_row *row = &cli_option_rows[index];
    if (row->file < CLI_WRITES || !cli_option_applies(index, options->command)) continue;
    void *field = cli_option_field(row, options);
    if (row->type == CLI_LIST)
      ((cli_list *)field)->count = 0;
    else
      *(const char **)field = NULL;
  }
}

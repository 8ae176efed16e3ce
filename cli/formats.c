/* What --help, the manual and `info` say of the formats of files follows from their rows
 * (meshes/format.h). */
#include "cli/option_table.h"

#include "density/density.h"

#include <string.h>

typedef struct text {
  char bytes[1024];
  size_t used;
} text;

static void add_text(text *t, const char *part) {
  if (t->used < sizeof t->bytes)
    t->used += (size_t)snprintf(t->bytes + t->used, sizeof t->bytes - t->used, "%s", part);
}

static const struct {
  run_output_kind kind;
  const char *name, *note; /* note: after the extensions */
} kinds[] = {{RUN_OUTPUT_MESH, "meshes", " (y up)"},
             {RUN_OUTPUT_POINTS, "points", " (pixels, y down)"},
             {RUN_OUTPUT_LABELS, "labels", " (int32, height x width)"},
             {RUN_OUTPUT_DRAWING, "drawings", " (see --svg, --page)"},
             {RUN_OUTPUT_PICTURE, "pictures", ""}};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

const char *cli_format_kind(run_output_kind kind) {
  for (int k = 0; k < KINDS; ++k)
    if (kinds[k].kind == kind) return kinds[k].name;
  return NULL;
}

const char *cli_format_facts(const cvtm_format *f) {
  static const struct {
    unsigned bit;
    const char *name;
  } facts[] = {{CVTM_HOLDS_REGIONS, "regions and groups"},
               {CVTM_HOLDS_SECOND_ORDER, "nodes of second order"},
               {CVTM_HOLDS_VALUES, "values of vertices"},
               {CVTM_HOLDS_CLASSES, "classes of points"},
               {CVTM_TEXT_OR_BINARY, "numbers as text or binary"},
               {CVTM_COMPRESSED, "compressed numbers"}};
  static _Thread_local text t;
  t = (text){"", 0};
  for (size_t k = 0; k < sizeof facts / sizeof facts[0]; ++k) {
    if (!cvtm_format_has(f, facts[k].bit)) continue;
    add_text(&t, t.used > 0 ? ", " : "");
    add_text(&t, facts[k].name);
  }
  return t.bytes;
}

int cli_format_lists(cli_command command) {
  return command == CLI_VORONOI || cli_option_find(command, "layers") >= 0;
}

typedef struct kind_list {
  run_output_kind kind;
  FILE *stream; /* a line for each format is printed */
  text names;
} kind_list;

/* A run_format_visitor: collects names. */
static void add_names(void *context, run_output_kind kind, const cvtm_format *f) {
  kind_list *list = context;
  const char *const names[] = {f->extension, f->alias};
  for (int k = 0; kind == list->kind && k < 2 && names[k] != NULL; ++k) {
    add_text(&list->names, " ");
    add_text(&list->names, names[k]);
  }
}

/* A run_format_visitor: prints a line of the table. */
static void print_row(void *context, run_output_kind kind, const cvtm_format *f) {
  const kind_list *list = context;
  char left[CLI_HELP_COLUMN];
  if (kind != list->kind) return;
  snprintf(left, sizeof left, "  .%s%s%s", f->extension, f->alias != NULL ? ", ." : "",
           f->alias != NULL ? f->alias : "");
  fprintf(list->stream, "%-*s", CLI_HELP_COLUMN, left);
  cli_print_words(list->stream, f->help, CLI_HELP_COLUMN, CLI_HELP_COLUMN);
  fputc('\n', list->stream);
}

void cli_print_format_table(FILE *stream, cli_command command) {
  const cvtm_run_options of_command = {.purpose = cli_command_purpose(command)};
  fputs("\nFormats:\n", stream);
  for (int k = 0; k < KINDS; ++k) {
    kind_list list = {.kind = kinds[k].kind, .stream = stream};
    run_output_visit(&of_command, print_row, &list);
  }
}

static void add_outputs(text *t, cli_command command) {
  const cvtm_run_options of_command = {.purpose = cli_command_purpose(command)};
  const char *before = "\nOutputs: ";
  for (int k = 0; k < KINDS; ++k) {
    kind_list list = {.kind = kinds[k].kind};
    run_output_visit(&of_command, add_names, &list);
    if (list.names.used == 0) continue;
    add_text(t, before);
    add_text(t, kinds[k].name);
    add_text(t, list.names.bytes);
    add_text(t, kinds[k].note);
    before = "; ";
  }
  add_text(t, ".\n");
}

static void add_inputs(text *t, cli_command command) {
  static const struct {
    unsigned commands, role;
    const char *name;
  } inputs[] = {
      {1u << CLI_MESH | 1u << CLI_STATS | 1u << CLI_VORONOI, CVTM_READS_POINTS, "points "},
      {1u << CLI_MESH, CVTM_READS_POLYGONS, "outlines "},
      {1u << CLI_STATS, CVTM_READS_MESH, "meshes "},
      {1u << CLI_RUN | 1u << CLI_BATCH, 0, "pictures "}};
  const char *before = "\nInputs: ";
  char names[CVTM_FORMAT_NAMES];
  for (size_t k = 0; k < sizeof inputs / sizeof inputs[0]; ++k) {
    if ((inputs[k].commands & 1u << command) == 0) continue;
    add_text(t, before);
    add_text(t, inputs[k].name);
    add_text(t, inputs[k].role == 0
                    ? cvtm_image_formats()
                    : cvtm_format_names(cvtm_formats, inputs[k].role, " ", names, sizeof names));
    before = "; ";
  }
  if (*before == ';') add_text(t, ".\n");
}

void cli_print_formats(FILE *stream, cli_command command) {
  text t = {"", 0};
  if (cli_format_lists(command)) add_outputs(&t, command);
  add_inputs(&t, command);
  char *rest = t.bytes;
  for (char *line; (line = strtok_r(rest, "\n", &rest)) != NULL;) {
    fputc('\n', stream);
    cli_print_words(stream, line, -1, 0);
  }
  if (t.used > 0) fputc('\n', stream);
}

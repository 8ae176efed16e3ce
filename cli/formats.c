/* Prints the texts of --help about file formats from the rows of the formats (meshes/format.h). */
#include "cli/option_table.h"

#include "density/density.h"

static const char *const kind_names[] = {[RUN_OUTPUT_MESH] = "meshes (y up)",
                                         [RUN_OUTPUT_POINTS] = "points (pixels, y down)",
                                         [RUN_OUTPUT_DRAWING] = "drawings (see --svg, --page)",
                                         [RUN_OUTPUT_PICTURE] = "pictures",
                                         [RUN_OUTPUT_LABELS] = "labels (int32)"};

const char *cli_format_kind(run_output_kind kind) { return kind_names[kind]; }

int cli_format_lists(cli_command command) {
  return command == CLI_VORONOI || cli_option_find(command, "layers") >= 0;
}

/* A run_format_visitor: prints a line of the table. */
static void print_row(void *context, run_output_kind kind, const cvtm_format *f) {
  char left[CLI_HELP_COLUMN];
  (void)kind;
  snprintf(left, sizeof left, "  .%s%s%s", f->extension, f->alias != NULL ? ", ." : "",
           f->alias != NULL ? f->alias : "");
  fprintf(context, "%-*s", CLI_HELP_COLUMN, left);
  cli_print_words(context, f->help, CLI_HELP_COLUMN, CLI_HELP_COLUMN);
  fputc('\n', context);
}

void cli_print_format_table(FILE *stream, cli_command command) {
  const cvtm_run_options of_command = {.purpose = cli_commands[command].purpose};
  if (command == CLI_VORONOI) return; /* the texts are about points and pictures of a run */
  fputs("\nFormats:\n", stream);
  run_output_visit(&of_command, print_row, stream);
}

/* A line that is printed word by word. */
typedef struct line {
  FILE *stream;
  int column;
  int has_kind;
  run_output_kind kind; /* kind of the last format */
} line;

static void add_words(line *l, const char *words) {
  l->column = cli_print_words(l->stream, words, l->column, 0);
}

/* Begins the formats of another kind. */
static void add_kind(line *l, const char *name) {
  if (l->has_kind) fputc(';', l->stream);
  l->column += l->has_kind;
  l->has_kind = 1;
  add_words(l, name);
}

/* A run_format_visitor. Formats of one kind come one after another. */
static void add_format(void *context, run_output_kind kind, const cvtm_format *f) {
  line *l = context;
  if (kind != l->kind) add_kind(l, kind_names[l->kind = kind]);
  add_words(l, f->extension);
  if (f->alias != NULL) add_words(l, f->alias);
}

void cli_print_formats(FILE *stream, cli_command command) {
  static const struct {
    unsigned commands, role;
    const char *name;
  } inputs[] = {{1u << CLI_MESH | 1u << CLI_STATS | 1u << CLI_VORONOI, CVTM_READS_POINTS, "points"},
                {1u << CLI_MESH, CVTM_READS_POLYGONS, "outlines (with --size, -n or --min-angle)"},
                {1u << CLI_STATS, CVTM_READS_MESH, "meshes"},
                {1u << CLI_RUN | 1u << CLI_BATCH, 0, "pictures"}};
  const cvtm_run_options of_command = {.purpose = cli_commands[command].purpose};
  line l = {.stream = stream, .column = -1};
  char names[CVTM_FORMAT_NAMES];
  if (cli_format_lists(command)) {
    fputc('\n', stream);
    add_words(&l, "Outputs:");
    run_output_visit(&of_command, add_format, &l);
    fputs(".\n", stream);
  }
  l = (line){.stream = stream, .column = -1};
  for (size_t k = 0; k < sizeof inputs / sizeof inputs[0]; ++k) {
    if ((inputs[k].commands & 1u << command) == 0) continue;
    if (!l.has_kind && !cli_format_lists(command)) fputc('\n', stream);
    if (!l.has_kind) add_words(&l, "Inputs:");
    add_kind(&l, inputs[k].name);
    add_words(&l, inputs[k].role == 0
                      ? cvtm_image_formats()
                      : cvtm_format_names(cvtm_formats, inputs[k].role, " ", names, sizeof names));
  }
  if (l.has_kind) fputs(".\n", stream);
}

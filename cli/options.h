/* The values of all options of all commands. The table in option_table.c gives, for each option,
 * its name, commands, type, range, default and help; parsing, --help, config files, shell
 * completion and the `options` of a report follow from that table. */
#pragma once

#include "base/status.h"
#include "lcp/hlcp.h"
#include "lcp/lcp.h"
#include "run/run.h"

#include <stdint.h>
#include <stdio.h>

/* The commands of the program: names, operands and summaries. A new command needs a row here. */

/* Columns: code (as in CLI_RUN), function, name, operand, further usage, purpose, format of
 * standard output, nonzero if the command runs a solver on a problem of that solver, summary */
/* clang-format off */
#define CLI_COMMAND_LIST(X) \
  X(RUN, cli_run, "run", "IMAGE", " -n POINTS -o OUT [-o OUT2 ...]", CVTM_RUN_ALL, "csv", 0, \
    "turn a picture into points, cells, a triangle mesh or a drawing") \
  X(BATCH, cli_batch, "batch", "JOBS", " [the options of run]", CVTM_RUN_ALL, "csv", 0, \
    "do many runs in one process; can be resumed") \
  X(VORONOI, cli_voronoi, "voronoi", "POINTS", " -o LABELS", CVTM_RUN_LABELS, "npy", 0, \
    "compute a discrete Voronoi diagram") \
  X(MESH, cli_mesh, "mesh", "POINTS|OUTLINE|IMAGE", " -o MESH [-o MESH2 ...]", CVTM_RUN_POINTS, "obj", 0, \
    "triangulate points, mesh a polygon or, by --metric, a picture") \
  X(SPHERE, cli_sphere, "sphere", "WIDTHS", " -o GRID.nc [-o GRID2 ...]", CVTM_RUN_ALL, "nc", 0, \
    "mesh the globe by Voronoi cells; WIDTHS is a number of km or a map of widths") \
  X(DENSITY, cli_density, "density", "IMAGE", " -o OUT [-o OUT2 ...]", CVTM_RUN_DENSITY, "npy", 0, \
    "the density that run uses: tone, weights, smoothing, grading") \
  X(SEGMENT, cli_segment, "segment", "IMAGE", " --inside X,Y,R -o MASK", CVTM_RUN_SEGMENTATION, "npy", 0, \
    "find an object in a picture from marks inside and outside it") \
  X(VIEW, cli_view, "view", "IMAGE|POINTS", " [-n POINTS] [--shot FILE]", CVTM_RUN_VIEW, "csv", 0, \
    "watch and steer the optimisation in a window") \
  X(STATS, cli_stats, "stats", "FILE", "", CVTM_RUN_STATS, "npy", 0, \
    "measure a mesh, a point file or a drawing") \
  X(MINIMIZE, cli_minimize, "minimize", "PROBLEM", " [-o X.npy] [--report FILE]", CVTM_RUN_ALL, "npy", 1, \
    "the optimiser on a problem of MINPACK-2: ept pjb msa odc gl1 lj ssc gl2") \
  X(HLCP, cli_hlcp, "hlcp", "", " --example N | --matrix-a A.mtx --rhs Q.npy", CVTM_RUN_ALL, "npy", 1, \
    "solve a horizontal linear complementarity problem") \
  X(LCP, cli_lcp, "lcp", "", " --problem NAME --size M | --matrix A.mtx --rhs B.npy", CVTM_RUN_ALL, "npy", 1, \
    "solve a linear complementarity problem with bounds") \
  X(INFO, cli_info, "info", "", "", CVTM_RUN_ALL, "npy", 0, \
    "what this build can do, and the devices it sees")
/* clang-format on */

typedef enum cli_command {
#define CLI_COMMAND_CODE(code, ...) CLI_##code,
  CLI_COMMAND_LIST(CLI_COMMAND_CODE)
#undef CLI_COMMAND_CODE
      CLI_COMMAND_COUNT
} cli_command;

typedef struct cli_options cli_options;

typedef struct cli_command_row {
  const char *name;
  const char *operand; /* as in --help, for example "IMAGE"; "" if the command has no operand */
  const char *usage;   /* text after the operand in `usage:`; "", or it begins with a blank */
  cvtm_run_purpose purpose;
  const char *format; /* extension of the format for `-o -` */
  int is_research;
  const char *summary;
} cli_command_row;

extern const cli_command_row cli_commands[CLI_COMMAND_COUNT];

/* Finds a command by its name; CLI_COMMAND_COUNT: none. */
cli_command cli_command_find(const char *name);

enum { CLI_OPTIONS_MAX = 256 };

typedef struct cli_text cli_text; /* a string owned by options */

typedef enum cli_bounds { CLI_BOUNDS_NATURAL, CLI_BOUNDS_BOX, CLI_BOUNDS_NONE } cli_bounds;

/* The strings are borrowed from argv or from `config_text`. An int set by a CLI_CHOICE holds an
 * enumerator, usually one of the library. */
struct cli_options {
  cli_command command;
  /* The fields of a run; other commands use some of them. `input` is the operand. */
  cvtm_run_options run;

  struct { /* values with parts, as given; cli_set_... sets the parts in `run` */
    const char *format, *colours, *ranks, *levels, *picture_widths, *globe_view, *size_from,
        *domain, *smooth, *grade, *initial;
    const char *layers, *dot_size, *pen, *page, *pixel_size, *origin;
    cvtm_run_list within, obstacle, weight, inside, outside, region_names, max_area;
  } text;
  int distributed; /* nonzero: the ranks of mpirun share the run */
  int64_t ranks;   /* number of processes to start; 0: none */
  cvtm_input density;
  cvtm_input photograph; /* the picture with which stats compares */

  struct {
    double radius, grade;     /* radius in km; 1: the unit sphere */
    double picture_widths[2]; /* of black and of white, in km; 0: not given */
    double view[2]; /* longitude and latitude of the centre of the first view of a picture */
    cvtm_input mask;
    const char *region; /* a cap, or a file */
  } sphere;

  int64_t width, height; /* 0: not given */
  cvtm_input like;       /* a picture of the same size */
  int check, json;
  struct {
    cvtm_input labels;  /* initial labels */
    int64_t first_step; /* pixels; 0: chosen from the spacing of the sites */
  } warm;

  struct {
    int64_t nx, ny, n, atoms, dimension; /* 0: the default of the problem */
    cvtm_run_list parameters;
    int bounds, cauchy, history;
    int64_t memory, evaluations;
  } minimize;

  struct {
    int64_t example, size;
    cvtm_hlcp_options solver;
    cvtm_input omega; /* a number, `ratio` or a vector; NULL: that of the problem */
    cvtm_input rhs;
    const char *matrix_a, *matrix_b, *output_z, *output_w;
  } hlcp;

  struct {
    int problem; /* a cvtm_model; -1: none */
    int is_matrix_free;
    cvtm_lcp_options solver;
    int64_t size, width, height; /* width and height 0: size x size, or no grid for --matrix */
    cvtm_input rhs, lower, upper;
    const char *matrix, *mesh;
    double load; /* with --mesh; 0: that of the problem */
  } lcp;

  struct {
    int64_t jobs; /* simultaneous runs per device; 0: chosen for the device */
    int resume, fail_fast, follow;
    const char *journal, *shard, *report;
    char **more; /* further operands, borrowed */
    int more_count;
  } batch;

  struct {
    const char *script, *shot, *record, *save, *size;
    int64_t frames, every;
    int colour, paused, pinned;
    const char *watch; /* of run */
  } view;

  const char *device, *config;
  int quiet, verbose, help, version;

  /* For each row of the option table: 0 (default), CLI_GIVEN or CLI_INHERITED. */
  unsigned char given[CLI_OPTIONS_MAX];
  char *config_text; /* owned; the contents of the config file, divided into strings */
  cli_text *kept;    /* owned: parts of values */
};

typedef enum cli_parsed {
  CLI_PARSED,
  CLI_PARSED_HELP,
  CLI_PARSED_VERSION,
  CLI_PARSED_PLOTTERS, /* --plotter list */
  CLI_PARSE_FAILED
} cli_parsed;

/* Parses argv[1..] of a command (argv[0] is the command). On CLI_PARSE_FAILED a message was
 * printed, and *exit_code is set. The options must be freed also on failure. */
cli_parsed cli_options_parse(cli_command command, int argc, char **argv, cli_options *options,
                             int *exit_code);
void cli_options_free(cli_options *options);
/* Memory for a text of `size` bytes that lives as long as the options; NULL if memory runs out. */
char *cli_options_keep(cli_options *options, size_t size);

/* Maps an option's value to its value for another command, such as a template to a file name. */
typedef cvtm_status (*cli_text_map)(void *context, const char *text, const char **mapped,
                                    cvtm_error *error);
/* Sets the defaults of `run`, then every value that the user gave to `from` and that `run` also
 * has; strings are mapped by `map`. The result owns nothing, so the strings must outlive it. */
cvtm_status cli_options_inherit(const cli_options *from, cli_text_map map, void *context,
                                cli_options *options, cvtm_error *error);
/* Sets one option by its name, with _ or - between words; flags have the values true or false. The
 * first value of a list replaces an inherited list; further values are appended. */
cvtm_status cli_options_set(cli_options *options, const char *name, const char *value,
                            cvtm_error *error);

/* True if a job of a batch may set this option of `run`; _ or - between words. */
int cli_option_of_job(const char *name);

/* True if the user gave the option on the command line or in a config file. */
int cli_option_given(const cli_options *options, const char *name);

/* Prints help. topic: a group of options, `all`, or NULL for the chief options of each group.
 * Returns 0, with nothing printed, if the command has no such topic. */
int cli_print_help(FILE *stream, cli_command command, const char *topic);
void cli_print_overview(FILE *stream);
/* Prints the overview and every option of every command. */
void cli_print_all_help(FILE *stream);
/* Copies the template of the manual page. Replaces a line `.OPTIONS COMMAND` by the paragraphs of
 * the command's options, `.OPTIONS all` by those of options that every command has, `.FORMATS` by
 * those of file formats. Returns 0 if the template cannot be read or names an unknown command. */
int cli_print_manual(FILE *template_page, FILE *stream);
typedef void (*cli_name_visitor)(void *context, const char *name);
/* The topic of --help that `word` is or probably means; NULL: none. */
const char *cli_help_topic_near(cli_command command, const char *word);
/* Visits the word `all`, `formats` if the command writes some, and the groups of its options. */
void cli_visit_topics(cli_command command, cli_name_visitor visitor, void *context);
/* Prints the script with which a shell (bash, zsh, fish) completes the program's arguments by
 * calling cli_complete. Returns 0, with nothing printed, for another shell. */
int cli_print_completion(FILE *stream, const char *shell);
/* Prints the completions of the last word after the other words: on each line a word, a tab and its
 * help; a line `/` means names of files. */
void cli_complete(FILE *stream, int count, char **words);
/* Name and summary of the commands that are not in CLI_COMMAND_LIST; ends with a NULL name. */
extern const char *const cli_other_commands[][2];

typedef enum cli_file_use {
  CLI_FILE_READ,
  CLI_FILE_WRITTEN,
  CLI_FILE_NAMES, /* PATH.png, PATH.csv and PATH.obj may be written */
  CLI_FILE_FRAMES /* PATH is a folder; frame-NNNNNN.png and index.html are written into it */
} cli_file_use;

/* option: without dashes; NULL for the operand. path: for this call; `-`: a standard stream. */
typedef void (*cli_file_visitor)(void *context, cli_file_use use, const char *option,
                                 const char *path);
/* Visits every file that the options name, and files that belong to these, such as NAME.h5 to
 * NAME.xdmf. For `batch` these are the files of the batch itself, not those of its jobs. */
void cli_options_visit_files(const cli_options *options, cli_file_visitor visitor, void *context);

/* Clears every option that names a file to write. */
void cli_options_clear_written(cli_options *options);

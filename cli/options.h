/* The options of every subcommand, from one table: parsing, ranges, --help, config
 * files, the report's `options` and shell completion all follow from it. */
#ifndef CVTMESH_CLI_OPTIONS_H
#define CVTMESH_CLI_OPTIONS_H

#include "base/status.h"

#include <stdint.h>
#include <stdio.h>

/* code, function, name, operand, further usage, summary */
#define CLI_COMMAND_LIST(X)                                                               \
  X(CLI_RUN, cli_run, "run", "IMAGE", " -n POINTS -o OUT [-o OUT2 ...]",                  \
    "turn a density image into a CVT: points, cells, mesh, picture")                      \
  X(CLI_BATCH, cli_batch, "batch", "JOBS", " [the options of run]",                       \
    "many runs in one process, resumable")                                                \
  X(CLI_VORONOI, cli_voronoi, "voronoi", "POINTS", " -o LABELS",                          \
    "compute a discrete Voronoi diagram")                                                 \
  X(CLI_MESH, cli_mesh, "mesh", "POINTS", " -o MESH [-o MESH2 ...]",                      \
    "Delaunay triangulation of points")                                                   \
  X(CLI_DENSITY, cli_density, "density", "IMAGE", " -o OUT [-o OUT2 ...]",                \
    "the density of an image, with domain, weights, smoothing and grading")               \
  X(CLI_SEGMENT, cli_segment, "segment", "IMAGE", " --inside X,Y,R -o MASK",              \
    "the object in an image that seeds mark")                                             \
  X(CLI_VIEW, cli_view, "view", "IMAGE|POINTS", " [-n POINTS] [--shot FILE]",             \
    "watch and steer the optimisation in a window")                                       \
  X(CLI_STATS, cli_stats, "stats", "FILE", "", "quality of a mesh or point file")         \
  X(CLI_MINIMIZE, cli_minimize, "minimize", "PROBLEM", " [-o X.npy] [--report FILE]",     \
    "the optimiser on a problem of MINPACK-2: ept pjb msa odc gl1 lj ssc gl2")            \
  X(CLI_HLCP, cli_hlcp, "hlcp", "", " --example N | --problem NAME | --matrix-a FILE",    \
    "solve a horizontal linear complementarity problem")                                  \
  X(CLI_LCP, cli_lcp, "lcp", "", " --problem NAME --size M | --matrix A.mtx --rhs B.npy", \
    "solve a linear complementarity problem with bounds")                                 \
  X(CLI_BENCH, cli_bench, "bench", "NAME", "",                                            \
    "published figures beside this machine's: table1 to table4, figure3, 7, 8, hlcp")     \
  X(CLI_INFO, cli_info, "info", "", "", "what this build can do, and the devices it sees")

typedef enum cli_command {
#define CLI_COMMAND_CODE(code, function, name, operand, usage, summary) code,
  CLI_COMMAND_LIST(CLI_COMMAND_CODE)
#undef CLI_COMMAND_CODE
      CLI_COMMAND_COUNT
} cli_command;

enum { CLI_LIST_MAX = 64, CLI_OPTIONS_MAX = 256 };

typedef struct cli_list {
  const char *item[CLI_LIST_MAX];
  int count;
} cli_list;

/* Strings are borrowed from argv or from `config_text`. Choices hold the library's enums. */
typedef struct cli_options {
  cli_command command;
  const char *input; /* the operand */

  int64_t points; /* 0: not given */
  cli_list output;
  const char *format; /* of the output `-` */
  const char *picture, *density_out, *report;
  const char *layers; /* of the picture, split by commas; NULL: the default */
  int64_t picture_size;
  int svg, dots, unit, ascii;

  int method, energy, voronoi, start, periodic, effort, reseed;
  int64_t iterations, seed;
  double tolerance, gradient_tolerance, time_limit;
  const char *init, *fixed;
  struct {
    int on;
    double tolerance;
    const char *weights_out;
  } equal_mass;

  int invert, density_from;
  double gamma, floor;
  const char *density;

  struct {
    int kind; /* cli_domain_kind */
    const char *mask, *polygon, *labels;
    double smooth, smallest, tolerance;
    int sliding;
  } domain;

  struct {
    double bias, smooth, grade, grade_max, grade_size; /* lambdas, grade_max, grade_size 0: none */
    int bias_method;
    cli_list within, obstacle, weight;
  } condition;

  struct {
    int on; /* of run and density */
    cli_list inside, outside;
    const char *seeds, *initial;
    double sigma, k, tau, tolerance;
    int64_t steps;
  } segment;

  int64_t width, height; /* 0: not given */
  int check, json;
  struct {
    const char *labels; /* to start from; NULL: none */
    int64_t first_step; /* 0: chosen */
  } warm;

  struct {
    int64_t nx, ny, n, atoms, dimension; /* 0: the problem's own */
    cli_list parameters;
    int bounds, cauchy, precision, history;
    int64_t memory, evaluations;
  } minimize;
  int64_t size_limit; /* of bench; 0: none */

  struct {
    int64_t example, size, splits; /* splits 0: chosen for the device */
    int problem, method, rule, split, suggest;
    double mu, nu, eccentricity, supply, alpha, beta, gamma, start;
    const char *omega; /* a number, `ratio` or a file; NULL: that of the problem */
    const char *weights, *matrix_a, *matrix_b, *rhs, *output_z, *output_w;
  } hlcp;

  struct {
    int problem, method, is_matrix_free, nested;
    int64_t size, width, height, steps; /* width, height 0: size x size, or no grid */
    const char *matrix, *rhs, *lower, *upper;
    double omega;
  } lcp;

  struct {
    int64_t jobs; /* runs at a time on each device; 0: chosen */
    int resume, fail_fast;
    const char *journal, *shard, *report;
  } batch;

  struct {
    const char *script, *shot, *record, *save, *size;
    int64_t frames, every;
    int dark, colour, paused, pinned;
    const char *watch; /* of run */
  } view;

  const char *device, *config;
  int64_t threads;
  int quiet, verbose, help, version;

  unsigned char given[CLI_OPTIONS_MAX]; /* by row of the table: set by the user; 2: inherited */
  char *config_text;
} cli_options;

typedef enum cli_parsed {
  CLI_PARSED,
  CLI_PARSED_HELP,
  CLI_PARSED_VERSION,
  CLI_PARSE_FAILED
} cli_parsed;

/* Parses argv[1..] of a subcommand (argv[0] is its name). On CLI_PARSE_FAILED the
 * line is printed and *exit_code set. Free the options in every case. */
cli_parsed cli_options_parse(cli_command command, int argc, char **argv, cli_options *options,
                             int *exit_code);
void cli_options_free(cli_options *options);

/* Maps a text of one command's options to that of another's. */
typedef cvtm_status (*cli_text_map)(void *context, const char *text, const char **mapped,
                                    cvtm_error *error);
/* The defaults of `command`, and what the user gave to `from` of it, texts mapped. The
 * strings must outlive the options, which own nothing. */
cvtm_status cli_options_inherit(cli_command command, const cli_options *from, cli_text_map map,
                                void *context, cli_options *options, cvtm_error *error);
/* One option by its name, with _ or - between words; flags take true or false. The first
 * value of a list replaces what was inherited, further ones are added. */
cvtm_status cli_options_set(cli_options *options, const char *name, const char *value,
                            cvtm_error *error);

/* Nonzero if a job of a batch may set this option of `run`; _ or - between words. */
int cli_option_of_job(const char *name);

/* Nonzero if the option changes what the command writes, or where. */
int cli_option_affects_result(cli_command command, const char *name);

/* Nonzero if the user gave the option on the command line or in a config file. */
int cli_option_given(const cli_options *options, const char *name);

const char *cli_command_name(cli_command command);
/* CLI_COMMAND_COUNT if there is none of that name. */
cli_command cli_command_find(const char *name);

void cli_print_help(FILE *stream, cli_command command);
void cli_print_overview(FILE *stream);
void cli_print_bash_completion(FILE *stream);

/* Visits every option of the subcommand that has an effect on its result or says where
 * it goes, in the table's order, for the report. */
typedef struct cli_option_visitor {
  void *context;
  void (*flag)(void *context, const char *name, int value);
  void (*integer)(void *context, const char *name, int64_t value);
  void (*real)(void *context, const char *name, double value);
  void (*text)(void *context, const char *name, const char *value); /* NULL: not given */
  void (*list)(void *context, const char *name, const cli_list *value);
} cli_option_visitor;

void cli_options_visit(const cli_options *options, const cli_option_visitor *visitor);

typedef enum cli_file_use {
  CLI_FILE_READ,
  CLI_FILE_WRITTEN,
  CLI_FILE_NAMES, /* PATH.png, PATH.csv and PATH.obj may be written */
  CLI_FILE_FRAMES /* PATH is a folder: frame-NNNNNN.png and index.html in it are written */
} cli_file_use;

/* option: without the dashes; NULL: the operand. Only the path of a file that is written
 * outlives the call; `-` is a standard stream. */
typedef void (*cli_file_visitor)(void *context, cli_file_use use, const char *option,
                                 const char *path);
/* Visits every file that the options name. Of `batch` these are its own files, not those of
 * its jobs. */
void cli_options_visit_files(const cli_options *options, cli_file_visitor visitor, void *context);

/* The operand's name in --help; "" if there is none. */
const char *cli_operand_name(cli_command command);

/* `count` finite numbers split by commas; 0 if the text is anything else. */
int cli_numbers_parse(const char *text, int count, double *numbers);
/* The factor of FILE=FACTOR, and the length of FILE; 0 if the text is anything else. */
int cli_weight_parse(const char *text, size_t *length, double *factor);

#endif

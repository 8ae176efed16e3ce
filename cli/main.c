/* The program cvtmesh: finds the command, parses its options, and runs it. */
#include "base/file.h"
#include "cli/cli.h"
#include "cli/summary.h"
#include "run/options.h"
#include "run/json.h"
#include "meshes/mesh_file.h"
#include "meshes/polygon_file.h"

#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/auxv.h>
#include <sys/stat.h>
#endif

/* Flushes standard output, and returns the exit code; a full disk is a failure. */
static int printed(void) {
  errno = 0;
  if (fflush(stdout) == 0 && !ferror(stdout)) return CLI_EXIT_OK;
  fprintf(stderr, "cvtmesh: standard output: %s\n",
          errno != 0 ? strerror(errno) : "writing failed");
  return CLI_EXIT_FAILURE;
}

static int print_version(void) {
  printf("cvtmesh %s\n", CVTMESH_VERSION);
  return printed();
}

/* The word after --help, if it is a topic or similar to the name of one. Options are not parsed
 * yet, since getopt_long moves operands to the end. */
static const char *find_topic(cli_command command, int argc, char **argv) {
  for (int k = 1; k + 1 < argc; ++k) {
    if (strcmp(argv[k], "--help") != 0 && strcmp(argv[k], "-h") != 0) continue;
    return cli_help_topic_near(command, argv[k + 1]) != NULL ? argv[k + 1] : NULL;
  }
  return NULL;
}

static int print_help_of(cli_command command, const char *topic) {
  if (cli_print_help(stdout, command, topic)) return printed();
  const char *near = cli_help_topic_near(command, topic);
  if (near == NULL) return cli_usage_error(command, "--help has no topic '%s'", topic);
  return cli_usage_error(command, "--help has no topic '%s'; did you mean '%s'?", topic, near);
}

static int run_command(cli_command command, int argc, char **argv) {
  cli_options options;
  int code = CLI_EXIT_OK;
  const char *topic = find_topic(command, argc, argv);
  switch (cli_options_parse(command, argc, argv, &options, &code)) {
    case CLI_PARSED_HELP:
      code = print_help_of(command, topic);
      break;
    case CLI_PARSED_VERSION:
      code = print_version();
      break;
    case CLI_PARSED_PLOTTERS:
      (void)cli_print_plotters();
      code = printed();
      break;
    case CLI_PARSE_FAILED:
      break;
    case CLI_PARSED:
      if (options.run.threads > 0) omp_set_num_threads((int)options.run.threads);
      code = cli_command_run(&options);
      if (code == CLI_EXIT_OK) code = printed();
      break;
  }
  cli_options_free(&options);
  return code;
}

static int print_completion(int argc, char **argv) {
  static const char usage[] = "usage: cvtmesh completion bash|zsh|fish\n";
  if (argc > 2 && (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0)) {
    printf("%s", usage);
    return printed();
  }
  if (argc > 3 && strcmp(argv[2], "--") == 0) {
    cli_complete(stdout, argc - 3, argv + 3);
    return printed();
  }
  if (argc == 3 && cli_print_completion(stdout, argv[2])) return printed();
  fprintf(stderr, "%s", usage);
  return CLI_EXIT_USAGE;
}

static int open_page(int argc, char **argv) {
  static const char usage[] = "usage: cvtmesh page\n";
  if (argc == 2) return cli_open_page();
  if (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0) {
    printf("%s", usage);
    return printed();
  }
  fprintf(stderr, "%s", usage);
  return CLI_EXIT_USAGE;
}

/* --- a first word that is no command --- */

static const char *command_near(const char *word) {
  run_nearest nearest = run_nearest_start(word);
  for (int k = 0; k < CLI_COMMAND_COUNT; ++k) run_nearest_offer(&nearest, cli_commands[k].name);
  for (int k = 0; cli_other_commands[k][0] != NULL; ++k)
    run_nearest_offer(&nearest, cli_other_commands[k][0]);
  run_nearest_offer(&nearest, "--help");
  run_nearest_offer(&nearest, "--version");
  return nearest.best;
}

/* A command that accepts the file. *rest: words to follow the file's name in the command. */
static const char *command_for(const char *path, const char **rest) {
  char buffer[16], name[32];
  const char *extension = cvtm_file_extension(path, buffer, sizeof buffer);
  snprintf(name, sizeof name, "x.%s", extension);
  *rest = "";
  if (strcmp(extension, "jsonl") == 0) return "batch";
  if (cvtm_points_format_known(name) || cvtm_mesh_format_known(name)) return "stats";
  if (cvtm_polygon_format_known(name)) {
    *rest = " -n 1000 -o out.vtu";
    return "mesh";
  }
  *rest = " -n 5000 -o out.svg";
  return "run";
}

static int refuse_command(const char *word) {
  const char *near = command_near(word), *rest;
  const int is_file = *word != '-' && (strchr(word, '.') != NULL || access(word, F_OK) == 0);
  word = cli_visible(word);
  if (is_file && near == NULL) {
    const char *quote = strpbrk(word, " \t'\"&;|<>()$`*?") != NULL ? "'" : "";
    const char *command = command_for(word, &rest);
    fprintf(stderr, "cvtmesh: '%s' is not a command; try: cvtmesh %s %s%s%s%s\n", word, command,
            quote, word, quote, rest);
  } else if (*word == '-' && near == NULL) {
    fprintf(stderr, "cvtmesh: a command comes first: cvtmesh COMMAND %s (see cvtmesh --help)\n",
            word);
  } else if (near != NULL) {
    fprintf(stderr, "cvtmesh: there is no %s '%s'; did you mean '%s'?\n",
            *word == '-' ? "option" : "command", word, near);
  } else {
    fprintf(stderr, "cvtmesh: there is no command '%s' (see cvtmesh --help)\n", word);
  }
  return CLI_EXIT_USAGE;
}

/* Prints help for `cvtmesh --help [TOPIC]` or `cvtmesh help COMMAND [TOPIC]`. */
static int print_help_about(int argc, char **argv) {
  if (argc < 3) {
    cli_print_overview(stdout);
    return printed();
  }
  if (strcmp(argv[2], "all") == 0) {
    cli_print_all_help(stdout);
    return printed();
  }
  if (strcmp(argv[2], "man") == 0) /* for the build: docs/cvtmesh.1.in becomes cvtmesh.1 */
    return cli_print_manual(stdin, stdout) ? printed() : CLI_EXIT_INPUT;
  const cli_command command = cli_command_find(argv[2]);
  if (command == CLI_COMMAND_COUNT) return refuse_command(argv[2]);
  return print_help_of(command, argc > 3 ? argv[3] : NULL);
}

#if defined(__linux__)
/* True if the file at `path` is the running program, not a loader that runs the program. */
static int is_this_program(const char *path) {
  struct stat named, running;
  return stat(path, &named) == 0 && stat("/proc/self/exe", &running) == 0 &&
         named.st_dev == running.st_dev && named.st_ino == running.st_ino;
}

/* By default an OpenMP thread that waits for others spins for milliseconds before it sleeps. If
 * other processes use the cores, it takes a core from the threads for which it waits, and a run
 * takes several times as long. The OpenMP runtimes read their limit on spinning (libgomp a count,
 * libomp milliseconds) before main. So the program sets the limit and starts itself again, once. If
 * the user has set one of these variables, nothing changes. A single thread never waits. */
static void limit_spinning(char **argv) {
  static const char *const chosen[] = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"};
  if (omp_get_max_threads() == 1) return;
  for (size_t k = 0; k < sizeof chosen / sizeof chosen[0]; ++k)
    if (getenv(chosen[k]) != NULL) return;
  const char *path = (const char *)(uintptr_t)getauxval(AT_EXECFN);
  if (path == NULL || !is_this_program(path)) return;
  if (setenv("GOMP_SPINCOUNT", "1000", 0) != 0 || setenv("KMP_BLOCKTIME", "0", 0) != 0) return;
  (void)execv(path, argv);
}
#else
static void limit_spinning(char **argv) { (void)argv; }
#endif

/* Opens a file in place of each standard stream that is closed. Otherwise a file that is opened
 * later would get the number of the stream, and the messages with it. The stream remains unusable,
 * because its file is opened for the other direction. */
static void occupy_streams(void) {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream)
    if (fcntl(stream, F_GETFD) < 0)
      (void)open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv) {
  occupy_streams();
  run_json_start();
  signal(SIGXFSZ,
         SIG_IGN); /* exceeding the limit on file sizes is then an error such as a full disk */
  if (argc < 2) {
    cli_print_overview(stderr);
    return CLI_EXIT_USAGE;
  }
  const char *name = argv[1];
  if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0)
    return print_help_about(argc, argv);
  if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) return print_version();
  if (strcmp(name, "completion") == 0) return print_completion(argc, argv);
  if (strcmp(name, "page") == 0) return open_page(argc, argv);
  cli_command command = cli_command_find(name);
  if (command == CLI_COMMAND_COUNT) return refuse_command(name);
  limit_spinning(argv);
  return run_command(command, argc - 1, argv + 1);
}

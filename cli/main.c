/* The program cvtmesh: finds the command, parses its options, runs it. */
#define _POSIX_C_SOURCE 200809L

#include "cli/cli.h"
#include "cli/files.h"
#include "cli/report.h"

#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__linux__)
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

/* Flushes standard output and returns the exit code: a full disk is a failure. */
static int printed(void) {
  if (fflush(stdout) == 0 && !ferror(stdout)) return CLI_EXIT_OK;
  fprintf(stderr, "cvtmesh: standard output: cannot write\n");
  return CLI_EXIT_FAILURE;
}

static int print_version(void) {
  printf("cvtmesh %s\n", CVTMESH_VERSION);
  return printed();
}

static int (*const functions[])(const cli_options *) = {
#define CLI_COMMAND_ENTRY(code, function, name, operand, usage, summary) function,
    CLI_COMMAND_LIST(CLI_COMMAND_ENTRY)
#undef CLI_COMMAND_ENTRY
};

static int run_command(cli_command command, int argc, char **argv) {
  cli_options options;
  int code = CLI_EXIT_OK;
  switch (cli_options_parse(command, argc, argv, &options, &code)) {
    case CLI_PARSED_HELP:
      cli_print_help(stdout, command);
      code = printed();
      break;
    case CLI_PARSED_VERSION:
      code = print_version();
      break;
    case CLI_PARSE_FAILED:
      break;
    case CLI_PARSED:
      if (options.threads > 0) omp_set_num_threads((int)options.threads);
      code = cli_files_check(&options);
      if (code == CLI_EXIT_OK) code = functions[command](&options);
      if (code == CLI_EXIT_OK) code = printed();
      break;
  }
  cli_options_free(&options);
  return code;
}

static int print_completion(int argc, char **argv) {
  if (argc == 3 && strcmp(argv[2], "bash") == 0) {
    cli_print_bash_completion(stdout);
    return printed();
  }
  fprintf(stderr, "usage: cvtmesh completion bash\n");
  return CLI_EXIT_USAGE;
}

static int print_help_about(int argc, char **argv) {
  if (argc >= 3) {
    cli_command command = cli_command_find(argv[2]);
    if (command == CLI_COMMAND_COUNT) {
      fprintf(stderr, "cvtmesh: there is no command '%s' (see cvtmesh --help)\n", argv[2]);
      return CLI_EXIT_USAGE;
    }
    cli_print_help(stdout, command);
  } else {
    cli_print_overview(stdout);
  }
  return printed();
}

#if defined(__linux__)
/* True if the file at `path` is the running program, and not a loader that was given the
 * program. */
static int is_this_program(const char *path) {
  struct stat named, running;
  return stat(path, &named) == 0 && stat("/proc/self/exe", &running) == 0 &&
         named.st_dev == running.st_dev && named.st_ino == running.st_ino;
}

/* By default an OpenMP thread that waits for others spins for milliseconds before it sleeps. If
 * other processes use the cores, it takes a core from the threads that it waits for, and a run
 * takes several times as long. The OpenMP runtimes read the limit (libgomp a count, libomp
 * milliseconds) when they are loaded, before main. So the program sets the limit and starts itself
 * again, once. If the user has set one of these variables, nothing changes. */
static void limit_spinning(char **argv) {
  static const char *const chosen[] = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"};
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

int main(int argc, char **argv) {
  cli_json_start();
  signal(SIGXFSZ,
         SIG_IGN); /* exceeding the limit on file sizes is then an error like a full disk */
  if (argc < 2) {
    cli_print_overview(stderr);
    return CLI_EXIT_USAGE;
  }
  const char *name = argv[1];
  if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0)
    return print_help_about(argc, argv);
  if (strcmp(name, "--version") == 0) return print_version();
  if (strcmp(name, "completion") == 0) return print_completion(argc, argv);
  cli_command command = cli_command_find(name);
  if (command == CLI_COMMAND_COUNT) {
    fprintf(stderr, "cvtmesh: there is no command '%s' (see cvtmesh --help)\n", name);
    return CLI_EXIT_USAGE;
  }
  limit_spinning(argv);
  return run_command(command, argc - 1, argv + 1);
}

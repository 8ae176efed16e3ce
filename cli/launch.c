#define _POSIX_C_SOURCE 200809L

#include "cli/launch.h"

#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef CVTMESH_MPI_MODULE

/* All ranks are on this machine and share its processors; Open MPI 4 and 5 ask in these words. It
 * starts processes of root only on request, and the user has asked. */
static void set_environment(void) {
  static const char *const wishes[][2] = {
      {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
      {"OMPI_MCA_hwloc_base_binding_policy", "none"},
      {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
      {"PRTE_MCA_hwloc_default_binding_policy", "none"},
      {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
      {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
  };
  for (size_t k = 0; k < sizeof wishes / sizeof wishes[0]; ++k)
    (void)setenv(wishes[k][0], wishes[k][1], 0);
}

/* The words of this process's command line, one after the other, each with a zero behind it. */
static char *read_command_line(size_t *bytes) {
  FILE *file = fopen("/proc/self/cmdline", "rb");
  char *text = NULL;
  size_t room = 0;
  *bytes = 0;
  while (file != NULL && *bytes == room) {
    char *grown = realloc(text, room += 65536);
    if (grown == NULL) break;
    text = grown;
    *bytes += fread(text + *bytes, 1, room - *bytes, file);
  }
  if (file != NULL) fclose(file);
  return text;
}

static size_t count_words(const char *text, size_t bytes) {
  size_t count = 0;
  for (size_t k = 0; k < bytes; ++k) count += text[k] == '\0';
  return count;
}

/* The option is added behind the command's name, since `--` may end the options. */
static void fill_words(char **words, char *number, char *program, char *text, size_t bytes) {
  static char launcher[] = "mpirun", n[] = "-n", distributed[] = "--distributed";
  size_t w = 0, word = 0;
  words[w++] = launcher;
  words[w++] = n;
  words[w++] = number;
  words[w++] = program;
  for (size_t at = 0; at < bytes; at += strlen(text + at) + 1, ++word) {
    if (word > 0) words[w++] = text + at; /* 0: the program's name */
    if (word == 1) words[w++] = distributed;
  }
  words[w] = NULL;
}

int cli_launch_ranks(int64_t ranks) {
  char number[24], program[4096];
  cvtm_error error = {CVTM_OK, ""};
  size_t bytes = 0;
  char *text = read_command_line(&bytes);
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  char **words = text != NULL ? malloc((count_words(text, bytes) + 8) * sizeof *words) : NULL;
  if (words != NULL && length > 0) {
    program[length] = '\0';
    snprintf(number, sizeof number, "%lld", (long long)ranks);
    fill_words(words, number, program, text, bytes);
    set_environment();
    (void)execvp(words[0], words);
  }
  (void)cvtm_fail(&error, CVTM_ERROR_UNSUPPORTED, "cannot start %lld processes: mpirun: %s",
                  (long long)ranks, strerror(errno));
  free(words);
  free(text);
  return cli_failed(CLI_WORKING, CVTM_ERROR_UNSUPPORTED, &error);
}

#else

int cli_launch_ranks(int64_t ranks) {
  cvtm_error error = {CVTM_OK, ""};
  (void)cvtm_fail(&error, CVTM_ERROR_UNSUPPORTED,
                  "cannot start %lld processes: this build has no MPI", (long long)ranks);
  return cli_failed(CLI_WORKING, CVTM_ERROR_UNSUPPORTED, &error);
}

#endif

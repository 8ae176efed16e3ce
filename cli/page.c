/* `cvtmesh page`: opens the page of viewer/web in a browser. */
#include "cli/cli.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef CVTMESH_PAGE
#define CVTMESH_PAGE "../share/cvtmesh/cvtmesh.html"
#endif

/* xdg-open tries several browsers and prints the messages of each, so these are suppressed. */
static int open_in_browser(char *page) {
  char *const words[] = {"xdg-open", page, NULL};
  posix_spawn_file_actions_t actions;
  pid_t child;
  int status = -1;
  if (posix_spawn_file_actions_init(&actions) != 0) return 0;
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  const int began = posix_spawnp(&child, words[0], &actions, NULL, words, environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  return began && waitpid(child, &status, 0) == child && status == 0;
}

/* Looks where the page is installed and where the preset `web` builds it, from the program's
 * folder. */
int cli_open_page(void) {
  static const char *const places[] = {CVTMESH_PAGE, "../build-web/viewer/web/cvtmesh.html"};
  char program[4096], path[4096 + 256];
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  program[length > 0 ? length : 0] = '\0';
  if (length > 0) *(strrchr(program, '/') + 1) = '\0';
  for (size_t k = 0; k < sizeof places / sizeof places[0]; ++k) {
    snprintf(path, sizeof path, "%s%s", program, places[k]);
    char *page = realpath(path, NULL);
    if (page == NULL) continue;
    puts(page);
    fflush(stdout);
    const int is_open = open_in_browser(page);
    free(page);
    if (is_open) return CLI_EXIT_OK;
    fprintf(stderr,
            "cvtmesh: no browser was found by xdg-open; open the file above in a browser\n");
    return CLI_EXIT_FAILURE;
  }
  fprintf(stderr,
          "cvtmesh: the page is not installed: there is no %s%s; Debian has it in cvtmesh-doc, and "
          "`cmake --build build --target page` builds it\n",
          program, places[0]);
  return CLI_EXIT_FAILURE;
}

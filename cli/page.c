/* `cvtmesh page`: opens the page of viewer/web in a browser. */
#define _XOPEN_SOURCE 700

#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef CVTMESH_PAGE
#define CVTMESH_PAGE "../share/cvtmesh/cvtmesh.html"
#endif

/* Looks where it is installed and where the preset `web` builds it, both seen from the program's
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
    (void)execlp("xdg-open", "xdg-open", page, (char *)NULL);
    free(page);
    fprintf(stderr, "cvtmesh: xdg-open: %s; open the file in a browser\n", strerror(errno));
    return CLI_EXIT_FAILURE;
  }
  fprintf(stderr,
          "cvtmesh: the page is not installed: there is no %s%s; Debian has it in cvtmesh-doc, and "
          "`cmake --build build --target page` builds it\n",
          program, places[0]);
  return CLI_EXIT_FAILURE;
}

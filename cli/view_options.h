/* What `view` and `run --watch` have in common. */
#ifndef CVTMESH_CLI_VIEW_OPTIONS_H
#define CVTMESH_CLI_VIEW_OPTIONS_H

#include "cli/options.h"

#include <stdio.h>

/* --size, or its default; 0 if it is no size. */
static inline int cli_view_size(const cli_options *options, int *width, int *height) {
  char unused;
  *width = 1280;
  *height = 800;
  if (options->view.size == NULL) return 1;
  return sscanf(options->view.size, "%dx%d%c", width, height, &unused) == 2 && *width >= 16 &&
         *height >= 16 && *width <= 16384 && *height <= 16384;
}

#endif

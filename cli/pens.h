/* The pens of --colours, --pens and --palette. */
#ifndef CVTMESH_CLI_PENS_H
#define CVTMESH_CLI_PENS_H

#include "base/status.h"
#include "draw/inks.h"
#include "draw/drawing.h"

#include <stddef.h>

enum { CLI_PEN_SIZE = 32 };

typedef struct cli_pens {
  cvtm_inks inks;
  cvtm_pen pen[CVTM_INKS_MAX];            /* the same inks, with names */
  char size[CVTM_INKS_MAX][CLI_PEN_SIZE]; /* of the dots, as in --dot-size; empty: not given */
} cli_pens;

void cli_pens_cmyk(cli_pens *pens);
/* Reads lines `name = #rrggbb` or `name = #rrggbb MIN,MAX` with the bounds of the diameters of dots
 * as in --dot-size; empty lines and those that begin with # are skipped. `name` begins the
 * messages. Fails with CVTM_ERROR_INPUT, with the line. */
cvtm_status cli_pens_parse(const char *text, size_t size, const char *name, cli_pens *pens,
                           cvtm_error *error);
cvtm_status cli_pens_read(const char *path, cli_pens *pens, cvtm_error *error);
/* Chooses at most `count` inks for a picture (cvtm_inks_choose). */
cvtm_status cli_pens_choose(const float *rgb, int64_t pixels, int count, cli_pens *pens,
                            cvtm_error *error);

#endif

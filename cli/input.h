/* Input of commands other than `run`: domains of points, vectors. */
#pragma once

#include "base/domain.h"
#include "cli/options.h"

/* Where a domain lies. Points that no picture has (some are negative or beyond the largest side,
 * they cover less than half of the way from 0 to the largest coordinate, or less than 16 pixels)
 * are places: the domain is the smallest rectangle with whole corners around them. Other points are
 * pixels, and the domain begins at 0. */
typedef struct cli_corner {
  int is_of_places;
  double at[2]; /* the least x and y of the domain, in coordinates of the points */
} cli_corner;

/* Finds the domain of --width and --height, or else of --like. A side that is not given is the
 * smallest integer that contains the points. If the options say nothing about pixels, *corner says
 * where the domain lies. corner NULL: at 0, so points may lie outside. */
cvtm_status cli_domain_of_points(const cli_options *options, const char *path, const double *points,
                                 int64_t count, cvtm_domain *domain, cli_corner *corner,
                                 cvtm_error *error);

/* Prints on stderr how many points are outside the domain; not with --quiet, nor on a torus. */
void cli_note_outside(const cli_options *options, const double *points, int64_t count,
                      cvtm_domain domain);

/* Reads a vector of `rows` numbers; *vector is malloc'd. Does nothing without a source. */
cvtm_status cli_read_vector(const cvtm_input *source, int64_t rows, double **vector,
                            cvtm_error *error);

/* Input of commands other than `run`: domains of points, vectors. */
#pragma once

#include "base/domain.h"
#include "cli/options.h"

/* Finds the domain of --width and --height, or else of --like. A side that is not given is the
 * smallest integer that contains the points. corner: the domain's upper left corner in the
 * coordinates of the points; 0, except along an axis whose side is not given and where points lie
 * below 0 or beyond the largest side. With corner NULL such points lie outside or are refused. */
cvtm_status cli_domain_of_points(const cli_options *options, const char *path, const double *points,
                                 int64_t count, cvtm_domain *domain, double corner[2],
                                 cvtm_error *error);

/* Subtracts the corner from the points. */
void cli_move_to_corner(const double corner[2], double *points, int64_t count);

/* Prints on stderr how many points are outside the domain; not with --quiet, nor on a torus. */
void cli_note_outside(const cli_options *options, const double *points, int64_t count,
                      cvtm_domain domain);

/* Reads a vector of `rows` numbers; *vector is malloc'd. Does nothing without a source. */
cvtm_status cli_read_vector(const cvtm_input *source, int64_t rows, double **vector,
                            cvtm_error *error);

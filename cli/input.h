/* What commands other than `run` read: domains of points, vectors. */
#pragma once

#include "base/domain.h"
#include "cli/options.h"

/* The domain of --width and --height, or else of --like. A side that none of them gives is the
 * smallest integer that holds the points. corner: the domain's upper left corner in the coordinates
 * of the points. It is 0 except on an axis whose side is not given and where points lie below 0 or
 * beyond the largest side. NULL: such points lie outside or are refused. */
cvtm_status cli_domain_of_points(const cli_options *options, const char *path, const double *points,
                                 int64_t count, cvtm_domain *domain, double corner[2],
                                 cvtm_error *error);

/* Subtracts the corner. */
void cli_move_to_corner(const double corner[2], double *points, int64_t count);

/* Says on stderr how many points are outside the domain, if any; not with --quiet, nor on a
 * torus. */
void cli_note_outside(const cli_options *options, const double *points, int64_t count,
                      cvtm_domain domain);

/* Reads a vector of `rows` numbers; *vector is malloc'd. Does nothing without a source. */
cvtm_status cli_read_vector(const cvtm_input *source, int64_t rows, double **vector,
                            cvtm_error *error);

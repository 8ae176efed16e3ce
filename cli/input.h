/* What the subcommands read: densities and point files. */
#ifndef CVTMESH_CLI_INPUT_H
#define CVTMESH_CLI_INPUT_H

#include "base/domain.h"
#include "base/status.h"
#include "cli/options.h"
#include "density/density.h"

/* Reads the picture and makes its density by the tone options. *density: width * height
 * floats, malloc'd. An automatic density_from becomes what was chosen. */
cvtm_status cli_read_density(const char *path, cli_options *options, float **density,
                             cvtm_domain *domain, cvtm_error *error);

/* The tone options for a picture. An automatic density_from becomes what was chosen. */
void cli_choose_tone(const cvtm_image *image, cli_options *options, cvtm_density_options *tone);

/* The domain of --width and --height; a side that was not given is the smallest
 * whole number that holds the points. */
cvtm_status cli_domain_of_points(const cli_options *options, const char *path, const double *points,
                                 int64_t count, cvtm_domain *domain, cvtm_error *error);

/* Fails with the index of the first point that is not in the domain. */
cvtm_status cli_require_inside(const char *path, const double *points, int64_t count,
                               cvtm_domain domain, cvtm_error *error);

/* A vector of an NPY file, malloc'd; as many numbers as a matrix has rows. NULL for a path: none.
 */
cvtm_status cli_read_vector(const char *path, int64_t rows, double **vector, cvtm_error *error);

/* Passes a status on; the message of bad input is made to begin with the file's name. */
cvtm_status cli_name_file(const char *path, cvtm_status status, cvtm_error *error);

#endif

/* What several commands read: densities, point files, vectors. */
#pragma once

#include "base/domain.h"
#include "base/status.h"
#include "run/options.h"
#include "density/density.h"
#include "meshes/mesh.h"
#include "meshes/domain/pslg.h"

#include <cjson/cJSON.h>

/* Reads an image, with its colours if with_rgb; notes of its reader go to options->note. */
cvtm_status run_read_image(const cvtm_run_options *options, const cvtm_input *source, int with_rgb,
                           cvtm_image *image, cvtm_error *error);

/* Reads a graph or finds rings, as cvtm_pslg_read; a note names the segments that are omitted. */
cvtm_status run_read_pslg(const cvtm_run_options *options, const char *path, cvtm_pslg *pslg,
                          int *is_rings, cvtm_error *error);

/* Reads an image, and computes its density by the tone options. *density: width * height floats,
 * malloc'd. *tone (may be NULL): the ink that a drawing needs, in this form; NULL for data.
 * Replaces an automatic density_from by the chosen one. */
cvtm_status run_read_density(const cvtm_input *source, cvtm_run_options *options, float **density,
                             float **tone, cvtm_domain *domain, cvtm_error *error);

/* True if run_average_tone changes a density. */
int run_tone_is_averaged(const cvtm_run_options *options);
/* If the density comes from the tone: makes the number of equal dots proportional to the mean of
 * the tone over a cell of `count` sites, not to the mean of its square. */
cvtm_status run_average_tone(const cvtm_run_options *options, cvtm_domain domain, int64_t count,
                             float *density, cvtm_error *error);

/* Sets the tone options for an image. Replaces an automatic density_from by the chosen one. */
void run_choose_tone(const cvtm_image *image, cvtm_run_options *options,
                     cvtm_density_options *tone);

/* Fails if --density-from size is to give the number of sites of a picture, since the values of a
 * picture, 0 to 1, are not sizes in pixels. */
cvtm_status run_check_sizes(const cvtm_image *image, const cvtm_run_options *options,
                            cvtm_error *error);

int run_is_inside(const double *point, cvtm_domain domain);
/* Fails if a point is outside the domain; the message gives its index. */
cvtm_status run_require_inside(const char *path, const double *points, int64_t count,
                               cvtm_domain domain, cvtm_error *error);

/* Returns `status`; for bad input, puts the name of the file before the message. */
cvtm_status run_name_file(const char *path, cvtm_status status, cvtm_error *error);

/* --pixel-size and --origin: the position of the picture in the world, x to the right and y up. */

/* Checks --pixel-size, --origin and --unit; fails with CVTM_ERROR_USAGE. */
cvtm_status run_world_check(const cvtm_run_options *options, cvtm_error *error);

/* True if --pixel-size has a unit of length, or the picture's file may have one. */
int run_world_may_have_unit(const cvtm_run_options *options);

/* Sets the numbers of options->world. place: position given in the picture `path`, which is
 * `height` pixels high; NULL without a picture. Does nothing without --pixel-size. */
cvtm_status run_world_set(cvtm_run_options *options, const cvtm_image_place *place,
                          const char *path, int height, cvtm_error *error);

/* Adds `world` to the report: sizes, lengths and areas in the unit of the world. Does nothing
 * without --pixel-size. */
void run_world_report(const cvtm_run_options *options, cvtm_domain domain, const cvtm_mesh *mesh,
                      cJSON *report);

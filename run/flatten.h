/* --flatten: large areas of a picture become more alike in level, while details keep their
 * contrast. So a drawing with little ink spends less of it on large dark areas. */
#pragma once

#include "density/density.h"

/* Sets `level` to the levels of squares of `side` pixels, as encoded in sRGB, and `around` to how
 * far the surroundings of each are brighter than the mean of the picture. light: width * height
 * values; level, around: ceil(width / side) x ceil(height / side). */
cvtm_status run_surroundings(const float *light, int width, int height, int side, float *level,
                             float *around, cvtm_error *error);

/* The level, as encoded in sRGB, from which `share` of the surroundings is taken. */
double run_flattened(double level, double around, double share);

/* Flattens a picture, in colours, too; 0 changes nothing. Data are refused. */
cvtm_status run_flatten(cvtm_image *image, double share, const char *name, cvtm_error *error);

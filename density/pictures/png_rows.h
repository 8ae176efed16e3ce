/* Rows of plain PNG files, sooner than libpng has them: inflated by ISA-L in a task, while the
 * caller undoes the filters of the rows before. */
#ifndef CVTMESH_DENSITY_PICTURES_PNG_ROWS_H
#define CVTMESH_DENSITY_PICTURES_PNG_ROWS_H

#include "density/pictures/image_pixels.h"

/* Reads all rows of a picture of 8 or 16 bits, neither interlaced nor with a palette, into *pixels,
 * whose blocks of rows are allocated. *position: the length of the first IDAT chunk; afterwards the
 * first chunk behind them. *done is 0, and *position as before, where the file is anything but
 * plain and intact, which libpng then judges, or without ISA-L. */
cvtm_status cvtm_png_rows_read(const cvtm_image_source *source, size_t *position,
                               cvtm_pixels *pixels, int *done, cvtm_error *error);

#endif

/* EXIF: the orientation of a picture. */
#ifndef CVTMESH_DENSITY_EXIF_H
#define CVTMESH_DENSITY_EXIF_H

#include <stddef.h>

/* Orientation (tag 274) in the first directory of a block that begins as a TIFF file, with or
 * without "Exif\0\0" before it. 1 if it has none or is damaged; any number of 16 bits. */
int cvtm_exif_orientation(const unsigned char *data, size_t size);

#endif

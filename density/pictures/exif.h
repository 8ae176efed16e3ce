/* EXIF: the orientation of a picture. */
#ifndef CVTMESH_DENSITY_PICTURES_EXIF_H
#define CVTMESH_DENSITY_PICTURES_EXIF_H

#include <stddef.h>

/* Orientation (tag 274) in the first directory of a block that begins as a TIFF file, with or
 * without "Exif\0\0" before it. An integer of any type counts. 1 if there is none from 0 to 8,
 * or the block is damaged. */
int cvtm_exif_orientation(const unsigned char *data, size_t size);

#endif

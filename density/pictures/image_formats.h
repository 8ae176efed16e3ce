/* What the decoders of density/ share: one function per format, each from memory. */
#ifndef CVTMESH_DENSITY_PICTURES_IMAGE_FORMATS_H
#define CVTMESH_DENSITY_PICTURES_IMAGE_FORMATS_H

#include "density/density.h"

#include <stddef.h>
#include <stdint.h>

/* A file in memory; `name` begins every message. */
typedef struct cvtm_image_source {
  const unsigned char *bytes;
  size_t size;
  const char *name;
  /* Malloc'd bytes that a decoder may keep, which it then replaces by NULL. NULL: it must not. */
  unsigned char **owned;
  int with_rgb; /* linear red, green and blue are wanted beside the luminance */
} cvtm_image_source;

/* Decodes into *image, which was empty; on failure the caller frees it. Those of TIFF, WebP, GIF
 * and HEIF are there only with their libraries: CVTMESH_HAVE_TIFF, _WEBP, _GIF, _HEIF. */
typedef cvtm_status cvtm_image_decoder(const cvtm_image_source *source, cvtm_image *image,
                                       cvtm_error *error);
cvtm_image_decoder cvtm_image_decode_png, cvtm_image_decode_jpeg, cvtm_image_decode_tiff,
    cvtm_image_decode_pnm, cvtm_image_decode_bmp, cvtm_image_decode_webp, cvtm_image_decode_gif,
    cvtm_image_decode_heif;

/* Refuses sides of 0 and beyond CVTM_MAX_SIDE, and planes that cvtm_check_expansion refuses. */
cvtm_status cvtm_image_check_size(const cvtm_image_source *source, uint64_t width, uint64_t height,
                                  cvtm_error *error);

/* Refuses, before any pixel is allocated, a header whose `raw` bytes of pixels cannot come out of
 * this file when every byte of it stands for at most `ratio` of them. */
cvtm_status cvtm_image_check_ratio(const cvtm_image_source *source, uint64_t raw, uint64_t ratio,
                                   cvtm_error *error);

/* Allocates the planes of an image of checked size, without those of red, green and blue. */
cvtm_status cvtm_image_allocate(const cvtm_image_source *source, int width, int height,
                                int with_alpha, cvtm_image *image, cvtm_error *error);

/* Adds a clause to image->note. */
CVTM_PRINTF(2, 3) void cvtm_image_note(cvtm_image *image, const char *format, ...);

/* Turns and mirrors by the orientation 1 to 8 of EXIF and TIFF; others are ignored. */
cvtm_status cvtm_image_orient(const cvtm_image_source *source, int orientation, cvtm_image *image,
                              cvtm_error *error);

/* Stores a value of float data; a finite one that no float holds is refused. */
cvtm_status cvtm_image_store_data(const cvtm_image_source *source, cvtm_image *image, int x, int y,
                                  double value, cvtm_error *error);

/* EXIF: the orientation (tag 274) in the first directory of a block that begins as a TIFF file,
 * with or without "Exif\0\0" before it. An integer of any type counts. 1 if there is none from 0 to
 * 8, or the block is damaged. */
int cvtm_exif_orientation(const unsigned char *data, size_t size);

/* --- where a picture lies in the world, as files say it --- */

/* Sets the size of a pixel from pixels per unit across and down; does nothing if one of them is not
 * positive and finite. unit_mm: the unit in mm; the size is given in mm. */
void cvtm_place_set_resolution(cvtm_image_place *place, double across, double down, double unit_mm);

/* Sets the size of a pixel from the text of TIFF's ImageDescription: PhysicalSizeX and
 * PhysicalSizeY of OME-XML, or ImageJ's `unit=`, which names the unit of `across` and `down`, the
 * pixels per unit. Returns 0 if the text says nothing of either. */
int cvtm_place_set_description(cvtm_image_place *place, const char *text, double across,
                               double down);

#endif

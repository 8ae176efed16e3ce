/* Inside density only: what the decoders of pictures share. */
#ifndef CVTMESH_DENSITY_PICTURES_IMAGE_FORMATS_H
#define CVTMESH_DENSITY_PICTURES_IMAGE_FORMATS_H

#include "density/density.h"
#include "density/pictures/colour.h"

#include <stddef.h>
#include <stdint.h>

/* --- one function for each format ------------------------------------------------------------- */

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

/* --- where a picture lies in the world, as files say it --------------------------------------- */

/* Sets the size of a pixel from pixels per unit across and down; does nothing if one of them is not
 * positive and finite. unit_mm: the unit in mm; the size is given in mm. */
void cvtm_place_set_resolution(cvtm_image_place *place, double across, double down, double unit_mm);

/* Sets the size of a pixel from the text of TIFF's ImageDescription: PhysicalSizeX and
 * PhysicalSizeY of OME-XML, or ImageJ's `unit=`, which names the unit of `across` and `down`, the
 * pixels per unit. Returns 0 if the text says nothing of either. */
int cvtm_place_set_description(cvtm_image_place *place, const char *text, double across,
                               double down);

/* --- from decoded samples to linear light ----------------------------------------------------- */

/* From decoded samples to linear light: what every decoder of pictures hands its rows to.
 * Luminance is that of Rec. 709 of the colour over white. Compositing is done on encoded values, as
 * viewers do it. */

typedef enum cvtm_samples_kind {
  CVTM_SAMPLES_8,     /* unsigned char */
  CVTM_SAMPLES_16,    /* uint16_t, 0 .. max */
  CVTM_SAMPLES_16_BIG /* two bytes, the high one first */
} cvtm_samples_kind;

typedef enum cvtm_alpha_kind {
  CVTM_ALPHA_NONE,
  CVTM_ALPHA_STRAIGHT,
  CVTM_ALPHA_MULTIPLIED /* the colours are already multiplied by it */
} cvtm_alpha_kind;

/* The samples of a pixel lie together: its colours, then its alpha. */
typedef struct cvtm_pixel_layout {
  int colours; /* 1: grey; 3: red, green, blue; 4: cyan, magenta, yellow, black */
  cvtm_alpha_kind alpha;
  cvtm_samples_kind kind;
  unsigned max; /* the value of 1; 255 of CVTM_SAMPLES_8, 65535 of CVTM_SAMPLES_16_BIG */
  int is_light; /* of 4 colours: samples are max - ink, as in Adobe's JPEG */
} cvtm_pixel_layout;

typedef struct cvtm_pixels {
  cvtm_image *image;
  cvtm_pixel_layout layout;
  double *linear; /* max + 1: linear values of encoded samples of sRGB */
  float *narrow;  /* the same as floats */
  cvtm_colour colour;
  /* Of cvtm_pixels_row: two blocks of rows, of which one is filled while the other is stored. */
  unsigned char *block[2];
  int block_rows, first; /* the first row of the block that is filled */
} cvtm_pixels;

/* Allocates the planes of *image, of checked size, and the tables. colour: what the file says of
 * its colours; NULL: nothing. Call cvtm_pixels_end in either case; it
 * leaves the image. */
cvtm_status cvtm_pixels_begin(const cvtm_image_source *source, cvtm_pixel_layout layout,
                              const cvtm_colour_source *colour, int width, int height,
                              cvtm_image *image, cvtm_pixels *pixels, cvtm_error *error);
void cvtm_pixels_end(cvtm_pixels *pixels);

/* Stores `count` pixels of row y from column x on. Threads may store different pixels at a time. */
void cvtm_pixels_store(const cvtm_pixels *pixels, int x, int y, int count, const void *samples);

/* For decoders that yield whole rows from the top: allocates two blocks of rows. */
cvtm_status cvtm_pixels_begin_rows(const cvtm_image_source *source, cvtm_pixels *pixels,
                                   cvtm_error *error);
/* Where the samples of row y go, y from 0 in steps of 1. In a team of OpenMP the rows of a full
 * block are stored by tasks, while the caller decodes the next block; call all three from one
 * thread of the team. */
unsigned char *cvtm_pixels_row(cvtm_pixels *pixels, int y);
/* Stores the rows that are left, after the last one. */
void cvtm_pixels_finish_rows(cvtm_pixels *pixels);

/* Stores rows [first, end), which lie one after another, by tasks of a team of OpenMP; the samples
 * are needed until cvtm_pixels_end. */
void cvtm_pixels_store_rows(const cvtm_pixels *pixels, int first, int end,
                            const unsigned char *samples);

/* The bytes of a pixel. */
size_t cvtm_pixel_bytes(const cvtm_pixel_layout *layout);

/* --- in image_png.c --------------------------------------------------------------------------- */

/* Reads all rows of a picture of 8 or 16 bits, neither interlaced nor with a palette, into *pixels,
 * whose blocks of rows are allocated. *position: the length of the first IDAT chunk; afterwards the
 * first chunk behind them. *done is 0, and *position as before, where the file is anything but
 * plain and intact, which libpng then judges, or without ISA-L. */
cvtm_status cvtm_png_rows_read(const cvtm_image_source *source, size_t *position,
                               cvtm_pixels *pixels, int *done, cvtm_error *error);

#endif

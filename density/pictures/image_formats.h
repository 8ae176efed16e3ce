/* Inside density only: the interface of the picture decoders and the functions that they share. */
#pragma once

#include "density/density.h"
#include "density/pictures/colour.h"

#include <stddef.h>
#include <stdint.h>

/* --- one function per format ------------------------------------------------------------------ */

/* A file in memory. Every message begins with `name`. */
typedef struct cvtm_image_source {
  const unsigned char *bytes;
  size_t size;
  const char *name;
  cvtm_error *error; /* receives the message of a failure; may be NULL */
  /* Points to the malloc'd bytes if the decoder may take them over; it then sets *owned to NULL.
   * NULL: the bytes belong to the caller. */
  unsigned char **owned;
  int with_rgb; /* nonzero: also decode linear red, green and blue, not only the luminance */
} cvtm_image_source;

/* Decodes into *image, which is empty before; on failure the caller frees it. The decoders of TIFF,
 * WebP, GIF and HEIF exist only in builds with their libraries: CVTMESH_HAVE_TIFF, _WEBP, _GIF,
 * _HEIF. */
typedef cvtm_status cvtm_image_decoder(const cvtm_image_source *source, cvtm_image *image);
cvtm_image_decoder cvtm_image_decode_png, cvtm_image_decode_jpeg, cvtm_image_decode_tiff,
    cvtm_image_decode_pnm, cvtm_image_decode_bmp, cvtm_image_decode_webp, cvtm_image_decode_gif,
    cvtm_image_decode_heif;

/* --- functions that decoders share ------------------------------------------------------------ */

/* Fails with CVTM_ERROR_INPUT: "<name>: <reason>". */
CVTM_PRINTF(2, 3)
cvtm_status cvtm_image_fail(const cvtm_image_source *source, const char *format, ...);

static inline cvtm_status cvtm_image_no_memory(const cvtm_image_source *source) {
  return cvtm_fail(source->error, CVTM_ERROR_MEMORY, "%s: out of memory", source->name);
}

static inline cvtm_status cvtm_image_truncated(const cvtm_image_source *source) {
  return cvtm_image_fail(source, "truncated");
}

/* Read integers of two and four bytes; big: nonzero: the most significant byte is first. */
static inline unsigned cvtm_get_16(const unsigned char *p, int big) {
  return big ? (unsigned)p[0] << 8 | p[1] : (unsigned)p[1] << 8 | p[0];
}
static inline uint32_t cvtm_get_32(const unsigned char *p, int big) {
  const uint32_t first = cvtm_get_16(p, big), second = cvtm_get_16(p + 2, big);
  return big ? first << 16 | second : second << 16 | first;
}

/* Fails for sides of 0 or above CVTM_MAX_SIDE, and for planes that fail cvtm_check_expansion. */
cvtm_status cvtm_image_check_size(const cvtm_image_source *source, uint64_t width, uint64_t height);

/* Fails if the header promises more than `ratio` bytes of pixels per byte of the file, since no
 * file of this format expands by more. raw: the number of bytes promised. Called before pixels are
 * allocated. */
cvtm_status cvtm_image_check_ratio(const cvtm_image_source *source, uint64_t raw, uint64_t ratio);

/* Allocates the planes of an image of checked size, except red, green and blue. */
cvtm_status cvtm_image_allocate(const cvtm_image_source *source, int width, int height,
                                int with_alpha, cvtm_image *image);

/* Adds a clause to image->note. */
CVTM_PRINTF(2, 3) void cvtm_image_note(cvtm_image *image, const char *format, ...);

/* Rotates and mirrors by the EXIF or TIFF orientation 1 to 8; other values are ignored. */
cvtm_status cvtm_image_orient(const cvtm_image_source *source, int orientation, cvtm_image *image);

/* Stores a value of float data; fails for a finite value that overflows a float. */
cvtm_status cvtm_image_store_data(const cvtm_image_source *source, cvtm_image *image, int x, int y,
                                  double value);

/* The orientation (tag 274) in the first directory of a block of EXIF data, which begins as a TIFF
 * file, perhaps after "Exif\0\0". The tag may have any integer type. Returns 1 if there is no value
 * from 0 to 8, or the block is damaged. */
int cvtm_exif_orientation(const unsigned char *data, size_t size);

/* --- physical size and position of a picture -------------------------------------------------- */

/* Sets the size of a pixel, in mm, from the numbers of pixels per unit across and down; does
 * nothing unless both are positive and finite. unit_mm: the unit in mm. */
void cvtm_place_set_resolution(cvtm_image_place *place, double across, double down, double unit_mm);

/* Sets the size of a pixel from the text of TIFF's ImageDescription: PhysicalSizeX and
 * PhysicalSizeY of OME-XML, or the unit in ImageJ's text. across, down: pixels per unit; `unit=` in
 * ImageJ's text names the unit. Returns 0 if the text has neither. */
int cvtm_place_set_description(cvtm_image_place *place, const char *text, double across,
                               double down);

/* --- from decoded samples to linear light ----------------------------------------------------- */

/* All decoders of pictures pass their rows to these functions, which convert decoded samples to
 * linear light. Colours are composited over white as encoded values, as viewers do. The luminance
 * is that of Rec. 709. */

typedef enum cvtm_samples_kind {
  CVTM_SAMPLES_8,     /* unsigned char */
  CVTM_SAMPLES_16,    /* uint16_t, 0 .. max */
  CVTM_SAMPLES_16_BIG /* two bytes, big-endian */
} cvtm_samples_kind;

typedef enum cvtm_alpha_kind {
  CVTM_ALPHA_NONE,
  CVTM_ALPHA_STRAIGHT,
  CVTM_ALPHA_MULTIPLIED /* premultiplied: the colours are already multiplied by alpha */
} cvtm_alpha_kind;

/* Samples are interleaved: for each pixel its colours, then its alpha. */
typedef struct cvtm_pixel_layout {
  int colours; /* 1: grey; 3: red, green, blue; 4: cyan, magenta, yellow, black */
  cvtm_alpha_kind alpha;
  cvtm_samples_kind kind;
  unsigned max; /* the sample of value 1; 255 for CVTM_SAMPLES_8, 65535 for CVTM_SAMPLES_16_BIG */
  int is_light; /* 4 colours: the samples are max - ink, as in Adobe's JPEG */
} cvtm_pixel_layout;

typedef struct cvtm_pixels {
  cvtm_image *image;
  cvtm_pixel_layout layout;
  double *linear; /* table of max + 1 values: sRGB sample to linear light */
  float *narrow;  /* `linear` as floats */
  cvtm_colour colour;
  void *row; /* a buffer of the decoder for the samples of a row */
  /* For cvtm_pixels_row: two blocks of rows; the decoder fills one while tasks store the other. */
  unsigned char *block[2];
  int block_rows, first; /* first: the first row of the block that is being filled */
} cvtm_pixels;

/* Allocates the planes of *image, whose size is checked, and the tables. colour: the file's colour
 * information; NULL: none. The caller calls cvtm_pixels_end also after a failure; cvtm_pixels_end
 * does not free the image. */
cvtm_status cvtm_pixels_begin(const cvtm_image_source *source, cvtm_pixel_layout layout,
                              const cvtm_colour_source *colour, int width, int height,
                              cvtm_image *image, cvtm_pixels *pixels);
void cvtm_pixels_end(cvtm_pixels *pixels);

/* Stores `count` pixels of row y from column x on. Threads may store different pixels at the same
 * time. */
void cvtm_pixels_store(const cvtm_pixels *pixels, int x, int y, int count, const void *samples);

/* Allocates two blocks of rows, for decoders that produce rows from top to bottom. */
cvtm_status cvtm_pixels_begin_rows(const cvtm_image_source *source, cvtm_pixels *pixels);
/* Returns the memory for the samples of row y; called for y = 0, 1, 2, ... In an OpenMP team tasks
 * store the rows of a full block while the caller decodes the next block. One thread of the team
 * calls these three functions. */
unsigned char *cvtm_pixels_row(cvtm_pixels *pixels, int y);
/* Stores the remaining rows; called after the last row. */
void cvtm_pixels_finish_rows(cvtm_pixels *pixels);

/* Stores rows [first, end), which are contiguous, by tasks of an OpenMP team. The samples must
 * remain valid until cvtm_pixels_end. */
void cvtm_pixels_store_rows(const cvtm_pixels *pixels, int first, int end,
                            const unsigned char *samples);

/* Number of bytes per pixel. */
size_t cvtm_pixel_bytes(const cvtm_pixel_layout *layout);

/* --- in image_png.c --------------------------------------------------------------------------- */

/* Reads all rows of a picture of 8 or 16 bits without interlacing or palette into *pixels, whose
 * blocks of rows are allocated. *position: the offset of the length of the first IDAT chunk; on
 * return the offset of the first chunk after the IDAT chunks. If the build has no ISA-L or the file
 * is unusual or damaged, sets *done to 0 and leaves *position unchanged; libpng then reads the file
 * or reports the error. */
cvtm_status cvtm_png_rows_read(const cvtm_image_source *source, size_t *position,
                               cvtm_pixels *pixels, int *done);

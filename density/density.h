/* From a picture to a density: reading, and the tone mapping. */
#ifndef CVTMESH_DENSITY_DENSITY_H
#define CVTMESH_DENSITY_DENSITY_H

#include "base/domain.h"
#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

CVTM_API_BEGIN

/* Where a file says that its picture lies: GeoTIFF, OME-TIFF, ImageJ's TIFF, the resolution of
 * TIFF, PNG and JPEG. All zero: nothing is said. */
typedef struct cvtm_image_place {
  double pixel[2];  /* the width and the height of a pixel */
  const char *unit; /* of these: nm, um, mm, cm, m, in, ft; NULL: not said; static */
  int has_origin;
  double left, top; /* of the picture, in the same unit, y up */
} cvtm_image_place;

/* A picture as one plane of width * height floats, freed by cvtm_image_free. Pictures (PNG, JPEG,
 * integer TIFF, PGM/PPM): linear luminance Y in [0, 1] (Rec. 709) of the colour composited over
 * white by alpha (on the encoded values, as viewers do) and decoded from sRGB, or from what an ICC
 * profile or the chunks of a PNG say; turned as EXIF says. Data (NPY, PFM,
 * float TIFF): the values as they are. */
typedef struct cvtm_image {
  int width, height;
  int is_data;   /* nonzero: float data rather than a picture */
  float *value;  /* width * height */
  float *alpha;  /* width * height in [0, 1], NULL if the file has none */
  void *storage; /* the block that the values are part of; NULL: they are a block */
  float *rgb;    /* of cvtm_image_read_colour: planes of linear red, green and blue in [0, 1] with
                    the primaries and white of sRGB, 3 * width * height; NULL of data */
  cvtm_image_place place;
  int64_t masked; /* pixels that the file marks as without data (GDAL_NODATA of a TIFF): NaN in
                     value, white in rgb, 0 in the density and the tone */
  char note[160]; /* what the reader assumed or passed over, for the user; empty: nothing */
} cvtm_image;

/* The format goes by the first bytes of the file, not by its name. `-` is standard input. */
cvtm_status cvtm_image_read(const char *path, cvtm_image *image, cvtm_error *error);
/* The same with image->rgb beside the luminance; the colour is composited over white, too. */
cvtm_status cvtm_image_read_colour(const char *path, cvtm_image *image, cvtm_error *error);
/* As cvtm_image_read, from memory. `name` begins the messages; a message about an unknown format
 * also says what the extension of `name` promises. */
cvtm_status cvtm_image_parse(const unsigned char *bytes, size_t size, const char *name,
                             cvtm_image *image, cvtm_error *error);
cvtm_status cvtm_image_parse_colour(const unsigned char *bytes, size_t size, const char *name,
                                    cvtm_image *image, cvtm_error *error);
void cvtm_image_free(cvtm_image *image);
/* 8-bit PNG; channels 1 (grey), 3 (RGB) or 4 (RGBA). */
cvtm_status cvtm_png_write(const char *path, int width, int height, int channels,
                           const unsigned char *pixels, cvtm_error *error);
/* The same in memory, of one channel; *bytes is malloc'd. */
cvtm_status cvtm_png_encode(int width, int height, const unsigned char *pixels,
                            unsigned char **bytes, size_t *size, cvtm_error *error);
/* What this build reads: png jpeg tiff webp gif heic avif bmp pnm pfm npy. */
const char *cvtm_image_formats(void);
/* True if this build applies the ICC profiles of pictures. */
int cvtm_image_applies_profiles(void);

typedef enum cvtm_density_from {
  CVTM_DENSITY_FROM_AUTO,    /* tone for pictures, density for data */
  CVTM_DENSITY_FROM_TONE,    /* rho = tone^2: dot density follows tone */
  CVTM_DENSITY_FROM_DENSITY, /* rho = value */
  CVTM_DENSITY_FROM_SIZE     /* rho = value^-4: spacing follows value */
} cvtm_density_from;

typedef struct cvtm_density_options {
  int invert;   /* bright is dense */
  double gamma; /* tone^gamma first; 1 */
  cvtm_density_from from;
  double floor; /* rho below it is raised to it; 0 */
  /* Of pictures, before the tone, on values as sRGB encodes them: those up to `black` become black,
   * those from `white` white, and the distance from the middle grey is multiplied by `contrast`. */
  double black, white, contrast; /* 0, 1, 1 */
  /* With TONE: the diameter of dots where the tone is 0, of that where it is 1; between them it
   * follows the tone, and rho is such that the ink does too. 1: equal dots. */
  double dot_ratio;
  CVTM_RESERVED(8);
} cvtm_density_options;

void cvtm_density_defaults(cvtm_density_options *options);

/* The ink that a drawing of the picture needs: tone^gamma of each pixel, where tone = 1 - Y, or Y
 * if invert. *tone: width * height floats in [0, 1], malloc'd; NULL if the image is data,
 * which have no tone. */
cvtm_status cvtm_tone_from_image(const cvtm_image *image, const cvtm_density_options *options,
                                 const char *name, float **tone, cvtm_error *error);

/* The colours that a drawing by inks shows: each of image->rgb as the tone, by black, white,
 * contrast and gamma, but without invert. *rgb: three planes of width * height floats in [0, 1],
 * malloc'd. An image without colours is CVTM_ERROR_INPUT. */
cvtm_status cvtm_colours_from_image(const cvtm_image *image, const cvtm_density_options *options,
                                    const char *name, float **rgb, cvtm_error *error);

/* tone = 1 - Y for pictures (Y if invert); data is taken as it is (its maximum minus it
 * if invert). *density: width * height floats, malloc'd. Negative, NaN or infinite values and a
 * density that is zero everywhere are CVTM_ERROR_INPUT with the pixel or the remedy (an
 * all-white picture names --invert); `name` is the file's name for the message. */
cvtm_status cvtm_density_from_image(const cvtm_image *image, const cvtm_density_options *options,
                                    const char *name, float **density, cvtm_error *error);

CVTM_API_END
#endif

/* Reads pictures, and converts them to tones and densities. */
#pragma once

#include "base/domain.h"
#include "base/npy.h"
#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

CVTM_API_BEGIN

/* The physical size and position of a picture, as given by GeoTIFF, OME-TIFF, ImageJ's TIFF, or the
 * resolution of TIFF, PNG and JPEG. All zero: the file gives none. */
typedef struct cvtm_image_place {
  double pixel[2];  /* width and height of a pixel */
  const char *unit; /* nm, um, mm, cm, m, in or ft; NULL: unknown; static */
  int has_origin;
  double left, top; /* corner of the picture, in this unit, y up */
} cvtm_image_place;

/* A picture as one plane of width * height floats, freed by cvtm_image_free. Pictures (such as PNG,
 * JPEG, integer TIFF and PPM): linear luminance Y in [0, 1] (Rec. 709) of the colour. The encoded
 * colour is composited over white by alpha, as viewers do, then decoded from sRGB, or by the ICC
 * profile or the colour chunks of a PNG. The picture is rotated by its EXIF orientation. Data (NPY,
 * PFM, float TIFF): the values unchanged; of a PFM in colour, the luminance. */
typedef struct cvtm_image {
  int width, height;
  int is_data;   /* nonzero: float data rather than a picture */
  float *value;  /* width * height */
  float *alpha;  /* width * height in [0, 1], NULL if the file has none */
  void *storage; /* the malloc'd block that contains `value`; NULL: `value` is itself malloc'd */
  float *rgb;    /* from cvtm_image_read_colour: planes of linear red, green and blue in [0, 1] with
                    the primaries and white of sRGB, 3 * width * height; NULL for data */
  cvtm_image_place place;
  int64_t masked; /* number of pixels without data (GDAL_NODATA of a TIFF): NaN in value, white in
                     rgb, 0 in the density and the tone */
  char note[160]; /* for the user: what the reader assumed or ignored; may be empty */
} cvtm_image;

/* Reads a picture. Its first bytes determine the format, not its name. `-` is standard input. */
cvtm_status cvtm_image_read(const char *path, cvtm_image *image, cvtm_error *error);
/* cvtm_image_read that also sets image->rgb, composited over white. */
cvtm_status cvtm_image_read_colour(const char *path, cvtm_image *image, cvtm_error *error);
/* Reads a file like cvtm_image_read or, if with_rgb is nonzero, like cvtm_image_read_colour. An
 * array is data. */
cvtm_status cvtm_image_open(const cvtm_input *source, int with_rgb, cvtm_image *image,
                            cvtm_error *error);
/* cvtm_image_read from memory. Messages begin with `name`. If the format is unknown, the message
 * also names the format that the extension of `name` suggests. */
cvtm_status cvtm_image_parse(const unsigned char *bytes, size_t size, const char *name,
                             cvtm_image *image, cvtm_error *error);
cvtm_status cvtm_image_parse_colour(const unsigned char *bytes, size_t size, const char *name,
                                    cvtm_image *image, cvtm_error *error);
void cvtm_image_free(cvtm_image *image);
/* Writes an 8-bit PNG; channels 1 (grey), 3 (RGB) or 4 (RGBA). pixels: width * height * channels
 * bytes, the top row first. */
cvtm_status cvtm_png_write(const char *path, int width, int height, int channels,
                           const unsigned char *pixels, cvtm_error *error);
/* The formats that this build reads, from: png jpeg tiff webp gif heic avif bmp pnm pfm npy. The
 * text is valid until the thread's next call. */
const char *cvtm_image_formats(void);
/* True if this build applies the ICC profiles of pictures. */
int cvtm_image_applies_profiles(void);

typedef enum cvtm_density_from {
  CVTM_DENSITY_FROM_AUTO,    /* tone for pictures, density for data */
  CVTM_DENSITY_FROM_TONE,    /* rho = tone^2: the density of dots follows the tone */
  CVTM_DENSITY_FROM_DENSITY, /* rho = value */
  CVTM_DENSITY_FROM_SIZE     /* rho = value^-4: the spacing follows the value */
} cvtm_density_from;

/* Each comment ends with the default; without one, the default is 0 or NULL. */
typedef struct cvtm_density_options {
  int invert;   /* nonzero: bright areas are dense */
  double gamma; /* power to which the tone is raised first; 1 */
  cvtm_density_from from;
  double floor; /* lower bound of rho; 0 */
  /* For pictures, applied to sRGB-encoded values before the tone: values up to `black` become
   * black, values from `white` on become white, and `contrast` multiplies the distance from middle
   * grey. Defaults: 0, 1, 1. */
  double black, white, contrast; /* 0, 1, 1 */
  /* With TONE: the diameter of a dot at tone 0, divided by the diameter at tone 1. In between, the
   * diameter is linear in the tone, and rho is chosen such that the ink matches the tone; 1, for
   * equal dots. */
  double dot_ratio;
  CVTM_RESERVED(8);
} cvtm_density_options;

void cvtm_density_defaults(cvtm_density_options *options);

/* Sets *tone to the fraction of ink that each pixel of a drawing needs: tone^gamma, where tone = 1
 * - Y, or Y if invert. *tone: width * height floats in [0, 1], malloc'd; NULL if the image is data,
 * which has no tone. */
cvtm_status cvtm_tone_from_image(const cvtm_image *image, const cvtm_density_options *options,
                                 const char *name, float **tone, cvtm_error *error);

/* Sets *rgb to the colours that a drawing in inks has to show: image->rgb with black, white,
 * contrast and gamma applied as for the tone, but without invert. *rgb: three planes of width *
 * height floats in [0, 1], malloc'd. Fails with CVTM_ERROR_INPUT if the image has no colours. */
cvtm_status cvtm_colours_from_image(const cvtm_image *image, const cvtm_density_options *options,
                                    const char *name, float **rgb, cvtm_error *error);

/* Computes the density of an image. For pictures tone = 1 - Y, or Y if invert; data is used
 * unchanged, or as its maximum minus the value if invert. *density: width * height floats,
 * malloc'd. Fails with CVTM_ERROR_INPUT if a value is negative, NaN or infinite (the message names
 * the pixel), or if the density is zero everywhere (the message suggests a change, for example
 * --invert for an all-white picture). `name` is the file name for messages. */
cvtm_status cvtm_density_from_image(const cvtm_image *image, const cvtm_density_options *options,
                                    const char *name, float **density, cvtm_error *error);

CVTM_API_END

/* Error handlers for libpng, for reading and writing PNG. The message of an error goes to the
 * caller's cvtm_png_reason before libpng jumps back; warnings are dropped; nothing is printed. */
#ifndef CVTMESH_DENSITY_PICTURES_PNG_ERRORS_H
#define CVTMESH_DENSITY_PICTURES_PNG_ERRORS_H

#include <png.h>
#include <stdio.h>

typedef struct cvtm_png_reason {
  char text[160];
} cvtm_png_reason;

/* The error pointer given to libpng is a cvtm_png_reason. */
static inline void cvtm_png_on_error(png_structp png, png_const_charp message) {
  cvtm_png_reason *reason = png_get_error_ptr(png);
  snprintf(reason->text, sizeof reason->text, "%s", message);
  png_longjmp(png, 1);
}

static inline void cvtm_png_on_warning(png_structp png, png_const_charp message) {
  (void)png;
  (void)message;
}

#endif

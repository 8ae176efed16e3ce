#include "density/density.h"
#include "density/pictures/png_errors.h"

#include "base/file.h"

#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

typedef struct png_writer {
  const char *path;
  png_structp png;
  png_infop info;
  FILE *stream;
  cvtm_png_reason reason;
} png_writer;

static void write_bytes(png_structp png, png_bytep source, size_t count) {
  png_writer *writer = png_get_io_ptr(png);
  errno = 0;
  if (fwrite(source, 1, count, writer->stream) != count) {
    png_error(png, errno != 0 ? strerror(errno) : "writing failed");
  }
}

static void flush_bytes(png_structp png) { (void)png; }

/* The only function that libpng's errors come back to; it changes no local variable. */
static cvtm_status run_writer(png_writer *writer, int width, int height, int channels,
                              const unsigned char *pixels, cvtm_error *error) {
  if (setjmp(png_jmpbuf(writer->png)) != 0) {
    return cvtm_fail(error, CVTM_ERROR_IO, "%s: %s", writer->path, writer->reason.text);
  }
  int colour = channels == 1   ? PNG_COLOR_TYPE_GRAY
               : channels == 3 ? PNG_COLOR_TYPE_RGB
                               : PNG_COLOR_TYPE_RGB_ALPHA;
  png_set_write_fn(writer->png, writer, write_bytes, flush_bytes);
  png_set_IHDR(writer->png, writer->info, (png_uint_32)width, (png_uint_32)height, 8, colour,
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_set_sRGB(writer->png, writer->info, PNG_sRGB_INTENT_PERCEPTUAL);
  png_write_info(writer->png, writer->info);
  for (int y = 0; y < height; ++y) {
    png_write_row(writer->png, pixels + (size_t)y * (size_t)width * (size_t)channels);
  }
  png_write_end(writer->png, writer->info);
  return CVTM_OK;
}

cvtm_status cvtm_png_write(const char *path, int width, int height, int channels,
                           const unsigned char *pixels, cvtm_error *error) {
  if (width < 1 || height < 1 || width > CVTM_MAX_SIDE || height > CVTM_MAX_SIDE ||
      (channels != 1 && channels != 3 && channels != 4)) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%s: no PNG of %d x %d pixels of %d channels",
                     path, width, height, channels);
  }
  cvtm_output *output = NULL;
  cvtm_status status = cvtm_output_open(path, &output, error);
  if (status != CVTM_OK) return status;
  png_writer writer = {.path = path, .stream = cvtm_output_stream(output)};
  status = CVTM_ERROR_MEMORY;
  writer.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &writer.reason, cvtm_png_on_error,
                                       cvtm_png_on_warning);
  if (writer.png != NULL) writer.info = png_create_info_struct(writer.png);
  if (writer.info != NULL) {
    status = run_writer(&writer, width, height, channels, pixels, error);
  } else {
    cvtm_fail(error, status, "%s: out of memory", path);
  }
  png_destroy_write_struct(&writer.png, &writer.info);
  if (status == CVTM_OK) return cvtm_output_commit(output, error);
  cvtm_output_abort(output);
  return status;
}

cvtm_status cvtm_png_encode(int width, int height, const unsigned char *pixels,
                            unsigned char **bytes, size_t *size, cvtm_error *error) {
  png_image image = {.version = PNG_IMAGE_VERSION,
                     .width = (png_uint_32)width,
                     .height = (png_uint_32)height,
                     .format = PNG_FORMAT_GRAY};
  png_alloc_size_t most = PNG_IMAGE_PNG_SIZE_MAX(image);
  unsigned char *made = malloc(most);
  if (made == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for a PNG");
  if (!png_image_write_to_memory(&image, made, &most, 0, pixels, 0, NULL)) {
    free(made);
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no PNG: %s", image.message);
  }
  *bytes = made;
  *size = most;
  return CVTM_OK;
}

#include "density/image_formats.h"
#include "density/png_errors.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

/* Everything that an error inside libpng must find again, so that no local variable has to
 * survive the longjmp. */
typedef struct png_reader {
  const cvtm_image_source *source;
  size_t position;
  png_structp png;
  png_infop info;
  unsigned char *row;   /* one row, or all of them if the file is interlaced */
  unsigned char **rows; /* interlaced only */
  cvtm_samples samples;
  cvtm_image *image;
  cvtm_png_reason reason;
} png_reader;

static void read_bytes(png_structp png, png_bytep target, size_t count) {
  png_reader *reader = png_get_io_ptr(png);
  if (count > reader->source->size - reader->position) png_error(png, "truncated");
  memcpy(target, reader->source->bytes + reader->position, count);
  reader->position += count;
}

/* Whatever the file holds becomes 8 or 16 bits of grey or RGB, alpha last if there is any. */
static void set_transformations(png_reader *reader) {
  png_set_expand(reader->png); /* palette to RGB, few bits to 8, tRNS to alpha */
  (void)png_set_interlace_handling(reader->png);
  png_read_update_info(reader->png, reader->info);
}

static unsigned sample_at(const unsigned char *row, int wide, size_t index) {
  if (!wide) return row[index];
  return (unsigned)row[2 * index] << 8 | row[2 * index + 1];
}

static void store_row(png_reader *reader, const unsigned char *row, int y) {
  cvtm_image *image = reader->image;
  size_t channels = png_get_channels(reader->png, reader->info);
  int wide = png_get_bit_depth(reader->png, reader->info) == 16;
  float *value = image->value + (size_t)y * (size_t)image->width;
  float *alpha = image->alpha ? image->alpha + (size_t)y * (size_t)image->width : NULL;
  for (size_t x = 0; x < (size_t)image->width; ++x) {
    size_t first = x * channels;
    unsigned red = sample_at(row, wide, first), green = red, blue = red;
    unsigned opacity = reader->samples.max;
    if (channels >= 3) {
      green = sample_at(row, wide, first + 1);
      blue = sample_at(row, wide, first + 2);
    }
    if (alpha != NULL) {
      opacity = sample_at(row, wide, first + channels - 1);
      alpha[x] = (float)((double)opacity / (double)reader->samples.max);
    }
    value[x] = (float)cvtm_samples_luminance(&reader->samples, red, green, blue, opacity);
  }
}

static cvtm_status prepare(png_reader *reader, cvtm_error *error) {
  const cvtm_image_source *source = reader->source;
  png_uint_32 width = png_get_image_width(reader->png, reader->info);
  png_uint_32 height = png_get_image_height(reader->png, reader->info);
  cvtm_status status = cvtm_image_check_size(source, width, height, error);
  if (status != CVTM_OK) return status;
  /* Deflate makes at most 1032 bytes of one. */
  size_t file_row = png_get_rowbytes(reader->png, reader->info);
  status = cvtm_image_check_ratio(source, (uint64_t)file_row * height, 1032, error);
  if (status != CVTM_OK) return status;
  int interlaced = png_get_interlace_type(reader->png, reader->info) != PNG_INTERLACE_NONE;
  set_transformations(reader);
  int channels = png_get_channels(reader->png, reader->info);
  int with_alpha = channels == 2 || channels == 4;
  status = cvtm_image_allocate(source, (int)width, (int)height, with_alpha, reader->image, error);
  if (status != CVTM_OK) return status;
  unsigned max = png_get_bit_depth(reader->png, reader->info) == 16 ? 65535 : 255;
  status = cvtm_samples_create(source, max, &reader->samples, error);
  if (status != CVTM_OK) return status;
  size_t row_bytes = png_get_rowbytes(reader->png, reader->info);
  reader->row = malloc(row_bytes * (interlaced ? height : 1));
  if (interlaced) reader->rows = malloc(height * sizeof *reader->rows);
  if (reader->row == NULL || (interlaced && reader->rows == NULL)) {
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", source->name);
  }
  for (png_uint_32 y = 0; interlaced && y < height; ++y) {
    reader->rows[y] = reader->row + y * row_bytes;
  }
  return CVTM_OK;
}

static void read_pixels(png_reader *reader) {
  int height = reader->image->height;
  if (reader->rows != NULL) png_read_image(reader->png, reader->rows);
  for (int y = 0; y < height; ++y) {
    if (reader->rows == NULL) png_read_row(reader->png, reader->row, NULL);
    store_row(reader, reader->rows != NULL ? reader->rows[y] : reader->row, y);
  }
  png_read_end(reader->png, NULL); /* NOLINT(clang-analyzer-unix.Malloc): the caller frees rows */
}

/* The only function that libpng's errors come back to; it changes no local variable. */
static cvtm_status run_reader(png_reader *reader, cvtm_error *error) {
  if (setjmp(png_jmpbuf(reader->png)) != 0) {
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: bad PNG: %s", reader->source->name,
                     reader->reason.text);
  }
  png_set_read_fn(reader->png, reader, read_bytes);
  png_set_user_limits(reader->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX); /* checked in prepare */
  png_read_info(reader->png, reader->info);
  cvtm_status status = prepare(reader, error);
  if (status != CVTM_OK) return status;
  read_pixels(reader);
  return CVTM_OK;
}

cvtm_status cvtm_image_decode_png(const cvtm_image_source *source, cvtm_image *image,
                                  cvtm_error *error) {
  png_reader reader = {.source = source, .image = image};
  cvtm_status status = CVTM_ERROR_MEMORY;
  reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader.reason, cvtm_png_on_error,
                                      cvtm_png_on_warning);
  if (reader.png != NULL) reader.info = png_create_info_struct(reader.png);
  if (reader.info != NULL) {
    status = run_reader(&reader, error);
  } else {
    cvtm_fail(error, status, "%s: out of memory", source->name);
  }
  png_destroy_read_struct(&reader.png, &reader.info, NULL);
  free(reader.row);
  free(reader.rows);
  cvtm_samples_destroy(&reader.samples);
  if (status != CVTM_OK) cvtm_image_free(image);
  return status;
}

#include "density/pictures/exif.h"
#include "density/pictures/image_pixels.h"
#include "density/pictures/image_place.h"
#include "density/pictures/png_errors.h"
#include "density/pictures/png_rows.h"

#include <errno.h>
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
  unsigned char *all;   /* rows, if the file is interlaced */
  unsigned char **rows; /* the same, row by row */
  cvtm_pixels pixels;
  cvtm_image *image;
  int orientation;
  int is_plain; /* rows are stored as they are filtered: no palette, no interlacing, no few bits */
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

/* cICP: code points of RGB with the full range, which libpng 1.6 hands over as an unknown chunk. */
static void find_codes(png_reader *reader, cvtm_colour_source *colour) {
  png_unknown_chunkp chunks = NULL;
  const int count = png_get_unknown_chunks(reader->png, reader->info, &chunks);
  for (int k = 0; k < count; ++k) {
    if (memcmp(chunks[k].name, "cICP", 4) != 0 || chunks[k].size != 4) continue;
    const png_byte *data = chunks[k].data;
    if (data[2] != 0 || data[3] != 1) continue;
    colour->has_codes = 1;
    colour->primaries = data[0];
    colour->transfer = data[1];
  }
#ifdef PNG_cICP_SUPPORTED
  png_byte primaries, transfer, matrix, full;
  if (png_get_cICP(reader->png, reader->info, &primaries, &transfer, &matrix, &full) != 0) {
    colour->has_codes = matrix == 0 && full == 1;
    colour->primaries = primaries;
    colour->transfer = transfer;
  }
#endif
}

static cvtm_colour_source find_colour(png_reader *reader) {
  cvtm_colour_source colour = {0};
  png_structp png = reader->png;
  png_infop info = reader->info;
  png_charp name = NULL;
  png_bytep profile = NULL;
  png_uint_32 size = 0;
  int compression = 0;
  double *xy = colour.chromaticities;
  find_codes(reader, &colour);
  if (png_get_iCCP(png, info, &name, &compression, &profile, &size) != 0) {
    colour.profile = profile;
    colour.profile_size = size;
  }
  colour.is_srgb = png_get_valid(png, info, PNG_INFO_sRGB) != 0;
  if (png_get_valid(png, info, PNG_INFO_gAMA) != 0) png_get_gAMA(png, info, &colour.gamma);
  colour.has_chromaticities =
      png_get_valid(png, info, PNG_INFO_cHRM) != 0 &&
      png_get_cHRM(png, info, xy, xy + 1, xy + 2, xy + 3, xy + 4, xy + 5, xy + 6, xy + 7) != 0;
  return colour;
}

static void find_place(png_reader *reader) {
  const double metre = 1000;
  png_uint_32 across = 0, down = 0;
  int unit = PNG_RESOLUTION_UNKNOWN;
  if (png_get_pHYs(reader->png, reader->info, &across, &down, &unit) != 0 &&
      unit == PNG_RESOLUTION_METER)
    cvtm_place_set_resolution(&reader->image->place, across, down, metre);
}

/* eXIf may stand after the pixels. */
static int find_orientation(png_reader *reader) {
#ifdef PNG_eXIf_SUPPORTED
  png_uint_32 size = 0;
  png_bytep data = NULL;
  if (png_get_eXIf_1(reader->png, reader->info, &size, &data) != 0 && data != NULL)
    return cvtm_exif_orientation(data, size);
#endif
  return 1;
}

static cvtm_status begin_png_pixels(png_reader *reader, cvtm_error *error) {
  const int channels = png_get_channels(reader->png, reader->info);
  const int is_wide = png_get_bit_depth(reader->png, reader->info) == 16;
  const cvtm_pixel_layout layout = {
      .colours = channels >= 3 ? 3 : 1,
      .alpha = channels % 2 == 0 ? CVTM_ALPHA_STRAIGHT : CVTM_ALPHA_NONE,
      .kind = is_wide ? CVTM_SAMPLES_16_BIG : CVTM_SAMPLES_8,
      .max = is_wide ? 65535 : 255};
  const cvtm_colour_source colour = find_colour(reader);
  return cvtm_pixels_begin(
      reader->source, layout, &colour, (int)png_get_image_width(reader->png, reader->info),
      (int)png_get_image_height(reader->png, reader->info), reader->image, &reader->pixels, error);
}

static cvtm_status allocate_rows(png_reader *reader, cvtm_error *error) {
  const size_t row_bytes = png_get_rowbytes(reader->png, reader->info);
  const size_t height = (size_t)reader->image->height;
  reader->all = malloc(row_bytes * height);
  reader->rows = malloc(height * sizeof *reader->rows);
  if (reader->all == NULL || reader->rows == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", reader->source->name);
  for (size_t y = 0; y < height; ++y) reader->rows[y] = reader->all + y * row_bytes;
  return CVTM_OK;
}

static cvtm_status prepare_png(png_reader *reader, cvtm_error *error) {
  const cvtm_image_source *source = reader->source;
  png_uint_32 width = png_get_image_width(reader->png, reader->info);
  png_uint_32 height = png_get_image_height(reader->png, reader->info);
  cvtm_status status = cvtm_image_check_size(source, width, height, error);
  if (status != CVTM_OK) return status;
  /* Deflate makes at most 1032 bytes of one. */
  size_t file_row = png_get_rowbytes(reader->png, reader->info);
  status = cvtm_image_check_ratio(source, (uint64_t)file_row * height, 1032, error);
  if (status != CVTM_OK) return status;
  const int interlaced = png_get_interlace_type(reader->png, reader->info) != PNG_INTERLACE_NONE;
  const int narrow = png_get_bit_depth(reader->png, reader->info) < 8;
  set_transformations(reader);
  reader->is_plain =
      !interlaced && !narrow && png_get_rowbytes(reader->png, reader->info) == file_row;
  status = begin_png_pixels(reader, error);
  if (status != CVTM_OK) return status;
  return interlaced ? allocate_rows(reader, error)
                    : cvtm_pixels_begin_rows(source, &reader->pixels, error);
}

/* libpng has read the head of the first IDAT chunk. */
static cvtm_status read_plain_rows(png_reader *reader, int *done, cvtm_error *error) {
  const size_t head = 8;
  size_t next = reader->position - head;
  *done = 0;
  if (!reader->is_plain) return CVTM_OK;
  const cvtm_status status =
      cvtm_png_rows_read(reader->source, &next, &reader->pixels, done, error);
  if (!*done) return status;
  reader->position = next;
  /* png_read_end shall not inflate what is left. */
  png_set_keep_unknown_chunks(reader->png, PNG_HANDLE_CHUNK_NEVER, (png_const_bytep) "IDAT", 1);
  return CVTM_OK;
}

static void read_by_libpng(png_reader *reader) {
  if (reader->rows != NULL) {
    png_read_image(reader->png, reader->rows); /* its passes end together */
    cvtm_pixels_store_rows(&reader->pixels, 0, reader->image->height, reader->all);
  } else {
    for (int y = 0; y < reader->image->height; ++y)
      png_read_row(reader->png, cvtm_pixels_row(&reader->pixels, y), NULL);
    cvtm_pixels_finish_rows(&reader->pixels);
  }
}

/* The only function that libpng's errors come back to; it changes no local variable. */
static cvtm_status run_reader(png_reader *reader, cvtm_error *error) {
  if (setjmp(png_jmpbuf(reader->png)) != 0) {
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: bad PNG: %s", reader->source->name,
                     reader->reason.text);
  }
  png_set_read_fn(reader->png, reader, read_bytes);
  png_set_user_limits(reader->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX); /* checked in prepare */
  png_set_keep_unknown_chunks(reader->png, PNG_HANDLE_CHUNK_ALWAYS, (png_const_bytep) "cICP", 1);
  png_read_info(reader->png, reader->info);
  /* libpng leaves out a chunk for which it finds no memory. */
  if (errno == ENOMEM)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", reader->source->name);
  cvtm_status status = prepare_png(reader, error);
  if (status != CVTM_OK) return status;
  int done;
  status = read_plain_rows(reader, &done, error);
  if (status != CVTM_OK) return status;
  if (!done) read_by_libpng(reader);
  png_read_end(reader->png, reader->info);
  find_place(reader);
  reader->orientation = find_orientation(reader);
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
  cvtm_pixels_end(&reader.pixels);
  free(reader.all);
  free(reader.rows);
  if (status != CVTM_OK) {
    cvtm_image_free(image);
    return status;
  }
  return cvtm_image_orient(source, reader.orientation, image, error);
}

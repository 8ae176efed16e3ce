#include "density/pictures/image_formats.h"

#include "base/file.h"
#include "base/host.h"

#if CVTMESH_HAVE_PNG

#include <errno.h>
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#if CVTMESH_HAVE_ISAL
#include <isa-l.h>
#endif

/* State of the error handlers of libpng: an error is copied to the caller's png_reason before the
 * jump, a warning is ignored, and nothing is printed. */
typedef struct png_reason {
  char text[160];
} png_reason;

/* Called by libpng for an error. */
static void on_error(png_structp png, png_const_charp message) {
  png_reason *reason = png_get_error_ptr(png);
  snprintf(reason->text, sizeof reason->text, "%s", message);
  png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message) {
  (void)png;
  (void)message;
}

/* --- Rows of plain files --- */

/* Faster than libpng: a task inflates rows with ISA-L while the caller reverses the filters of the
 * preceding rows. */

#if CVTMESH_HAVE_ISAL

typedef struct idat_stream {
  const unsigned char *bytes; /* the bytes of the file */
  size_t size, next;          /* next: offset of the chunk after the current one */
  struct inflate_state state;
} idat_stream;

/* Clears the upper halves of the vector registers, which ISA-L 2.30 leaves set: until then SSE
 * instructions of this thread are several times slower on Intel processors. */
#ifdef __x86_64__
__attribute__((target("avx"))) static void zero_upper_halves(void) { __builtin_ia32_vzeroupper(); }
static void clear_vectors(void) {
  if (__builtin_cpu_supports("avx")) zero_upper_halves();
}
#else
static void clear_vectors(void) {}
#endif

/* Moves to the next chunk. Returns 0 if it is damaged or not an IDAT chunk. */
static int open_chunk(idat_stream *stream) {
  const size_t left = stream->size - stream->next;
  const unsigned char *chunk = stream->bytes + stream->next;
  if (left < 12 || memcmp(chunk + 4, "IDAT", 4) != 0) return 0;
  const uint32_t length = cvtm_get_32(chunk, 1);
  if (length > left - 12) return 0;
  const uint32_t checksum = crc32_gzip_refl(0, chunk + 4, length + 4);
  clear_vectors();
  if (checksum != cvtm_get_32(chunk + 8 + length, 1)) return 0;
  stream->state.next_in = (unsigned char *)chunk + 8;
  stream->state.avail_in = length;
  stream->next += (size_t)length + 12;
  return 1;
}

/* Inflates a part of the data or, if the current chunk is used up, opens the next chunk. Returns 0
 * if the data is damaged or there is no next chunk. */
static int inflate_some(idat_stream *stream) {
  struct inflate_state *state = &stream->state;
  const uint32_t in = state->avail_in, out = state->avail_out;
  const int result = isal_inflate(state);
  clear_vectors();
  if (result != ISAL_DECOMP_OK) return 0;
  if (state->block_state == ISAL_BLOCK_FINISH || state->avail_in < in || state->avail_out < out)
    return 1;
  return in == 0 && open_chunk(stream);
}

/* Inflates `count` bytes; returns 0 on failure. */
static int inflate_bytes(idat_stream *stream, unsigned char *target, size_t count) {
  struct inflate_state *state = &stream->state;
  state->next_out = target;
  state->avail_out = (uint32_t)count;
  while (state->avail_out > 0)
    if (state->block_state == ISAL_BLOCK_FINISH || !inflate_some(stream)) return 0;
  return 1;
}

/* Returns 1 if the stream ends here with the right checksum, and the IDAT chunks end, too. */
static int ends(idat_stream *stream) {
  struct inflate_state *state = &stream->state;
  unsigned char extra;
  state->next_out = &extra;
  state->avail_out = 1;
  while (state->block_state != ISAL_BLOCK_FINISH)
    if (!inflate_some(stream) || state->avail_out == 0) return 0;
  return state->avail_out == 1 && state->avail_in == 0 && !open_chunk(stream);
}

/* Begins to inflate. Returns 0 for windows smaller than 32 KiB, because ISA-L would accept
 * distances beyond the window; zlib reads these files. Only small pictures have such windows. */
static int begin_inflation(idat_stream *stream) {
  const unsigned char largest_window = 0x78;
  isal_inflate_init(&stream->state);
  stream->state.crc_flag = ISAL_ZLIB;
  return open_chunk(stream) && stream->state.avail_in > 0 &&
         *stream->state.next_in == largest_window;
}

/* The Paeth predictor: left, above or corner (upper left), whichever is nearest to left + above -
 * corner (PNG, 9.4). */
static inline unsigned char predict(int left, int above, int corner) {
  const int to_left = abs(above - corner), to_above = abs(left - corner);
  const int to_corner = abs(left + above - 2 * corner);
  const int nearer = to_above < to_left ? above : left;
  const int least = to_above < to_left ? to_above : to_left;
  return (unsigned char)(to_corner < least ? corner : nearer);
}

/* Reverses the filter named by the first byte of `line`. step: bytes per pixel, at most 8, a
 * constant in every call. Returns 0 for an unknown filter. */
CVTM_INLINE int undo_filter(const unsigned char *line, const unsigned char *above,
                            unsigned char *row, size_t count, size_t step) {
  const int filter = *line++;
  unsigned char left[8] = {0}, corner[8] = {0};
  switch (filter) {
    case 0:
      memcpy(row, line, count);
      return 1;
    case 2:
      for (size_t i = 0; i < count; ++i) row[i] = (unsigned char)(line[i] + above[i]);
      return 1;
    case 1:
    case 3:
    case 4:
      for (size_t i = 0; i < count; i += step) {
        for (size_t k = 0; k < step; ++k) {
          const unsigned char up = above[i + k];
          const int guess = filter == 1   ? left[k]
                            : filter == 3 ? (left[k] + up) / 2
                                          : predict(left[k], up, corner[k]);
          corner[k] = up;
          row[i + k] = left[k] = (unsigned char)(line[i + k] + guess);
        }
      }
      return 1;
    default:
      return 0;
  }
}

static int undo_filter_of(const unsigned char *line, const unsigned char *above, unsigned char *row,
                          size_t count, size_t step) {
  switch (step) {
    case 1:
      return undo_filter(line, above, row, count, 1);
    case 2:
      return undo_filter(line, above, row, count, 2);
    case 3:
      return undo_filter(line, above, row, count, 3);
    case 4:
      return undo_filter(line, above, row, count, 4);
    case 6:
      return undo_filter(line, above, row, count, 6);
    default:
      return undo_filter(line, above, row, count, 8);
  }
}

/* Reads all rows. Returns 0 if libpng has to read the file instead. raw: memory for two blocks of
 * filtered rows; above: a row of zeros. */
static int read_plain(idat_stream *stream, cvtm_pixels *pixels, unsigned char *const raw[2],
                      const unsigned char *above) {
  const int height = pixels->image->height, block = pixels->block_rows;
  const size_t step = cvtm_pixel_bytes(&pixels->layout);
  const size_t bytes = (size_t)pixels->image->width * step, line = bytes + 1;
  int ok = begin_inflation(stream);
  if (ok) ok = inflate_bytes(stream, raw[0], (size_t)block * line);
  for (int first = 0, k = 0; ok && first < height; first += block, k = !k) {
    const int end = height - first < block ? height : first + block;
    const int next = height - end < block ? height - end : block;
    unsigned char *row = cvtm_pixels_row(pixels, first);
    int has_next = 1;
#pragma omp task shared(has_next) firstprivate(stream, next, k, line) if (next > 0)
    has_next = inflate_bytes(stream, raw[!k], (size_t)next * line);
    for (int y = first; ok && y < end; ++y, above = row, row += bytes)
      ok = undo_filter_of(raw[k] + (size_t)(y - first) * line, above, row, bytes, step);
#pragma omp taskwait
    ok = ok && has_next;
  }
  return ok && ends(stream);
}

cvtm_status cvtm_png_rows_read(const cvtm_image_source *source, size_t *position,
                               cvtm_pixels *pixels, int *done) {
  const size_t bytes = (size_t)pixels->image->width * cvtm_pixel_bytes(&pixels->layout);
  const size_t block = (size_t)pixels->block_rows * (bytes + 1);
  *done = 0;
  if (block > UINT32_MAX) return CVTM_OK; /* the range of ISA-L's counters */
  idat_stream *stream = malloc(sizeof *stream);
  unsigned char *const raw[2] = {malloc(block), malloc(block)}, *zeros = calloc(bytes, 1);
  const int has_memory = stream != NULL && raw[0] != NULL && raw[1] != NULL && zeros != NULL;
  if (has_memory) {
    stream->bytes = source->bytes;
    stream->size = source->size;
    stream->next = *position;
    *done = read_plain(stream, pixels, raw, zeros);
  }
  if (*done) {
    cvtm_pixels_finish_rows(pixels);
    *position = stream->next;
  } else {
    pixels->first = 0; /* libpng starts again from the first row */
  }
  free(stream);
  free(raw[0]);
  free(raw[1]);
  free(zeros);
  return has_memory ? CVTM_OK : cvtm_image_no_memory(source);
}

#else

cvtm_status cvtm_png_rows_read(const cvtm_image_source *source, size_t *position,
                               cvtm_pixels *pixels, int *done) {
  (void)source, (void)position, (void)pixels;
  *done = 0;
  return CVTM_OK;
}

#endif

/* --- Reading --- */

/* All state of the decoder, so that no local variable has to survive a longjmp out of libpng. */
typedef struct png_reader {
  const cvtm_image_source *source;
  size_t position;
  png_structp png;
  png_infop info;
  unsigned char *all; /* the pixels of an interlaced file */
  size_t row_bytes;
  int passes; /* 1 without interlacing */
  cvtm_pixels pixels;
  cvtm_image *image;
  int orientation;
  int is_plain; /* nonzero: rows need no conversion: no palette, no interlacing, 8 or 16 bits */
  png_reason reason;
} png_reader;

static void read_bytes(png_structp png, png_bytep target, size_t count) {
  png_reader *reader = png_get_io_ptr(png);
  if (count > reader->source->size - reader->position) png_error(png, "truncated");
  memcpy(target, reader->source->bytes + reader->position, count);
  reader->position += count;
}

/* Makes libpng convert every kind of file to 8 or 16 bits of grey or RGB, with alpha, if there is
 * any, as the last channel. */
static void set_transformations(png_reader *reader) {
  png_set_expand(reader->png); /* palette to RGB, fewer than 8 bits to 8, tRNS to alpha */
  reader->passes = png_set_interlace_handling(reader->png);
  png_read_update_info(reader->png, reader->info);
  reader->row_bytes = png_get_rowbytes(reader->png, reader->info);
}

/* Reads the code points in cICP if they are for full-range RGB. To libpng 1.6 this chunk is
 * unknown. */
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

/* Reads eXIf, which may come after the pixels. */
static int find_orientation(png_reader *reader) {
#ifdef PNG_eXIf_SUPPORTED
  png_uint_32 size = 0;
  png_bytep data = NULL;
  if (png_get_eXIf_1(reader->png, reader->info, &size, &data) != 0 && data != NULL)
    return cvtm_exif_orientation(data, size);
#endif
  return 1;
}

static cvtm_status begin_png_pixels(png_reader *reader) {
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
      (int)png_get_image_height(reader->png, reader->info), reader->image, &reader->pixels);
}

static cvtm_status prepare_png(png_reader *reader) {
  const cvtm_image_source *source = reader->source;
  png_uint_32 width = png_get_image_width(reader->png, reader->info);
  png_uint_32 height = png_get_image_height(reader->png, reader->info);
  CVTM_TRY(cvtm_image_check_size(source, width, height));
  /* Deflate expands a byte to at most 1032 bytes. */
  size_t file_row = png_get_rowbytes(reader->png, reader->info);
  CVTM_TRY(cvtm_image_check_ratio(source, (uint64_t)file_row * height, 1032));
  const int narrow = png_get_bit_depth(reader->png, reader->info) < 8;
  set_transformations(reader);
  reader->is_plain = reader->passes == 1 && !narrow && reader->row_bytes == file_row;
  CVTM_TRY(begin_png_pixels(reader));
  if (reader->passes == 1) return cvtm_pixels_begin_rows(source, &reader->pixels);
  reader->all = malloc(reader->row_bytes * height);
  return reader->all != NULL ? CVTM_OK : cvtm_image_no_memory(source);
}

/* Reads a plain file, after libpng has read the header of the first IDAT chunk. */
static cvtm_status read_plain_rows(png_reader *reader, int *done) {
  const size_t head = 8;
  size_t next = reader->position - head;
  *done = 0;
  if (!reader->is_plain) return CVTM_OK;
  const cvtm_status status = cvtm_png_rows_read(reader->source, &next, &reader->pixels, done);
  if (!*done) return status;
  reader->position = next;
  /* otherwise png_read_end would inflate the remaining data */
  png_set_keep_unknown_chunks(reader->png, PNG_HANDLE_CHUNK_NEVER, (png_const_bytep) "IDAT", 1);
  return CVTM_OK;
}

static void read_by_libpng(png_reader *reader) {
  for (int pass = 0; pass < reader->passes; ++pass)
    for (int y = 0; y < reader->image->height; ++y)
      png_read_row(reader->png,
                   reader->all != NULL ? reader->all + (size_t)y * reader->row_bytes
                                       : cvtm_pixels_row(&reader->pixels, y),
                   NULL);
  if (reader->all != NULL)
    cvtm_pixels_store_rows(&reader->pixels, 0, reader->image->height, reader->all);
  else
    cvtm_pixels_finish_rows(&reader->pixels);
}

/* libpng's errors jump only into this function, which changes no local variable. */
static cvtm_status run_reader(png_reader *reader) {
  if (setjmp(png_jmpbuf(reader->png)) != 0) {
    return cvtm_image_fail(reader->source, "bad PNG: %s", reader->reason.text);
  }
  png_set_read_fn(reader->png, reader, read_bytes);
  png_set_user_limits(reader->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX); /* checked in prepare */
  png_set_keep_unknown_chunks(reader->png, PNG_HANDLE_CHUNK_ALWAYS, (png_const_bytep) "cICP", 1);
  png_read_info(reader->png, reader->info);
  /* libpng skips a chunk for which an allocation fails */
  if (errno == ENOMEM) return cvtm_image_no_memory(reader->source);
  CVTM_TRY(prepare_png(reader));
  int done;
  CVTM_TRY(read_plain_rows(reader, &done));
  if (!done) read_by_libpng(reader);
  png_read_end(reader->png, reader->info);
  find_place(reader);
  reader->orientation = find_orientation(reader);
  return CVTM_OK;
}

cvtm_status cvtm_image_decode_png(const cvtm_image_source *source, cvtm_image *image) {
  png_reader reader = {.source = source, .image = image};
  reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader.reason, on_error, on_warning);
  if (reader.png != NULL) reader.info = png_create_info_struct(reader.png);
  const cvtm_status status =
      reader.info != NULL ? run_reader(&reader) : cvtm_image_no_memory(source);
  png_destroy_read_struct(&reader.png, &reader.info, NULL);
  cvtm_pixels_end(&reader.pixels);
  free(reader.all);
  return status == CVTM_OK ? cvtm_image_orient(source, reader.orientation, image) : status;
}

/* --- Writing --- */

typedef struct png_writer {
  const char *path;
  png_structp png;
  png_infop info;
  FILE *stream;
  png_reason reason;
} png_writer;

static void write_bytes(png_structp png, png_bytep source, size_t count) {
  png_writer *writer = png_get_io_ptr(png);
  errno = 0;
  if (fwrite(source, 1, count, writer->stream) != count)
    png_error(png, errno != 0 ? strerror(errno) : "writing failed");
}

static void flush_bytes(png_structp png) { (void)png; }

/* True if most bytes are as the one before, as in a drawing by dots or lines. Runs without a filter
 * then compress better than what libpng chooses, in a fifth of the time. */
static int has_runs(const unsigned char *pixels, size_t count) {
  size_t alike = 0;
  for (size_t i = 1; i < count; ++i) alike += pixels[i] == pixels[i - 1];
  return 2 * alike > count;
}

/* libpng's errors jump only into this function, which changes no local variable. */
static cvtm_status run_writer(png_writer *writer, int width, int height, int channels,
                              const unsigned char *pixels, cvtm_error *error) {
  if (setjmp(png_jmpbuf(writer->png)) != 0)
    return cvtm_fail(error, CVTM_ERROR_IO, "%s: %s", writer->path, writer->reason.text);
  int colour = channels == 1   ? PNG_COLOR_TYPE_GRAY
               : channels == 3 ? PNG_COLOR_TYPE_RGB
                               : PNG_COLOR_TYPE_RGB_ALPHA;
  png_set_write_fn(writer->png, writer, write_bytes, flush_bytes);
  png_set_IHDR(writer->png, writer->info, (png_uint_32)width, (png_uint_32)height, 8, colour,
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_set_sRGB(writer->png, writer->info, PNG_sRGB_INTENT_PERCEPTUAL);
  if (channels == 1 && has_runs(pixels, (size_t)width * (size_t)height)) {
    png_set_filter(writer->png, PNG_FILTER_TYPE_BASE, PNG_FILTER_NONE);
    png_set_compression_strategy(writer->png, Z_RLE);
  }
  png_write_info(writer->png, writer->info);
  for (int y = 0; y < height; ++y)
    png_write_row(writer->png, pixels + (size_t)y * (size_t)width * (size_t)channels);
  png_write_end(writer->png, writer->info);
  return CVTM_OK;
}

static cvtm_status write_by_libpng(const char *path, int width, int height, int channels,
                                   const unsigned char *pixels, cvtm_error *error) {
  cvtm_output *output = NULL;
  CVTM_TRY(cvtm_output_open(path, &output, error));
  png_writer writer = {.path = path, .stream = cvtm_output_stream(output)};
  writer.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &writer.reason, on_error, on_warning);
  if (writer.png != NULL) writer.info = png_create_info_struct(writer.png);
  cvtm_status status = writer.info != NULL
                           ? run_writer(&writer, width, height, channels, pixels, error)
                           : cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path);
  png_destroy_write_struct(&writer.png, &writer.info);
  if (status == CVTM_OK) return cvtm_output_commit(output, error);
  cvtm_output_abort(output);
  return status;
}

#else

static cvtm_status write_by_libpng(const char *path, int width, int height, int channels,
                                   const unsigned char *pixels, cvtm_error *error) {
  (void)width, (void)height, (void)channels, (void)pixels;
  return cvtm_fail(error, CVTM_ERROR_UNSUPPORTED, "%s: this build has no libpng", path);
}

#endif

cvtm_status cvtm_png_write(const char *path, int width, int height, int channels,
                           const unsigned char *pixels, cvtm_error *error) {
  if (width < 1 || height < 1 || width > CVTM_MAX_SIDE || height > CVTM_MAX_SIDE ||
      (channels != 1 && channels != 3 && channels != 4)) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "%s: cannot write a PNG of %d x %d pixels with %d channels", path, width,
                     height, channels);
  }
  const cvtm_memory_output *wanted = cvtm_memory_output_find(path);
  if (wanted != NULL && wanted->array != NULL) {
    const int64_t shape[] = {height, width, channels};
    return cvtm_npy_write(path, 'u', 1, channels == 1 ? 2 : 3, shape, pixels, error);
  }
  return write_by_libpng(path, width, height, channels, pixels, error);
}

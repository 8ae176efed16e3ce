#include "density/pictures/png_rows.h"

#if CVTMESH_HAVE_ISAL

#include "base/vectors.h"

#include <isa-l.h>
#include <stdlib.h>
#include <string.h>

/* --- Inflation --- */

typedef struct idat_stream {
  const unsigned char *bytes; /* of the file */
  size_t size, next;          /* where the chunk after the one in work begins */
  struct inflate_state state;
} idat_stream;

/* ISA-L 2.30 returns with the upper halves of the vector registers set. Until these are cleared,
 * Intel processors run the SSE instructions of this thread several times as slowly. */
#ifdef __x86_64__
__attribute__((target("avx"))) static void zero_upper_halves(void) { __builtin_ia32_vzeroupper(); }
static void clear_vectors(void) {
  if (__builtin_cpu_supports("avx")) zero_upper_halves();
}
#else
static void clear_vectors(void) {}
#endif

static uint32_t big_endian(const unsigned char *p) {
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Goes on to the next chunk. Returns 0 if it is no IDAT chunk, or damaged. */
static int open_chunk(idat_stream *stream) {
  const size_t left = stream->size - stream->next;
  const unsigned char *chunk = stream->bytes + stream->next;
  if (left < 12 || memcmp(chunk + 4, "IDAT", 4) != 0) return 0;
  const uint32_t length = big_endian(chunk);
  if (length > left - 12) return 0;
  const uint32_t checksum = crc32_gzip_refl(0, chunk + 4, length + 4);
  clear_vectors();
  if (checksum != big_endian(chunk + 8 + length)) return 0;
  stream->state.next_in = (unsigned char *)chunk + 8;
  stream->state.avail_in = length;
  stream->next += (size_t)length + 12;
  return 1;
}

/* One step, with a further chunk if the last one is used up. Returns 0 if nothing more can come. */
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

/* Returns 0 if `count` bytes cannot be had. */
static int inflate_bytes(idat_stream *stream, unsigned char *target, size_t count) {
  struct inflate_state *state = &stream->state;
  state->next_out = target;
  state->avail_out = (uint32_t)count;
  while (state->avail_out > 0)
    if (state->block_state == ISAL_BLOCK_FINISH || !inflate_some(stream)) return 0;
  return 1;
}

/* 1 if the stream ends here, with the right checksum, and the chunks with it. */
static int ends(idat_stream *stream) {
  struct inflate_state *state = &stream->state;
  unsigned char extra;
  state->next_out = &extra;
  state->avail_out = 1;
  while (state->block_state != ISAL_BLOCK_FINISH)
    if (!inflate_some(stream) || state->avail_out == 0) return 0;
  return state->avail_out == 1 && state->avail_in == 0 && !open_chunk(stream);
}

/* A smaller window than 32 KiB, which only small pictures have, is left to zlib: ISA-L would allow
 * distances beyond it. */
static int begin_inflation(idat_stream *stream) {
  const unsigned char largest_window = 0x78;
  isal_inflate_init(&stream->state);
  stream->state.crc_flag = ISAL_ZLIB;
  return open_chunk(stream) && stream->state.avail_in > 0 &&
         *stream->state.next_in == largest_window;
}

/* --- Filters --- */

/* Of the bytes to the left, above, and above that to the left the one nearest to
 * left + above - corner (PNG, 9.4). */
static inline unsigned char predict(int left, int above, int corner) {
  const int to_left = abs(above - corner), to_above = abs(left - corner);
  const int to_corner = abs(left + above - 2 * corner);
  const int nearer = to_above < to_left ? above : left;
  const int least = to_above < to_left ? to_above : to_left;
  return (unsigned char)(to_corner < least ? corner : nearer);
}

/* Undoes the filter that `line` begins with. step: the bytes of a pixel, at most 8, a constant
 * where this is called. Returns 0 if there is no such filter. */
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

/* --- Rows --- */

/* Returns 0 where libpng has to judge. raw: two blocks; above: a row of zeros. */
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
                               cvtm_pixels *pixels, int *done, cvtm_error *error) {
  const size_t bytes = (size_t)pixels->image->width * cvtm_pixel_bytes(&pixels->layout);
  const size_t block = (size_t)pixels->block_rows * (bytes + 1);
  *done = 0;
  if (block > UINT32_MAX) return CVTM_OK; /* ISA-L's counters */
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
    pixels->first = 0; /* libpng begins anew */
  }
  free(stream);
  free(raw[0]);
  free(raw[1]);
  free(zeros);
  if (has_memory) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", source->name);
}

#else

cvtm_status cvtm_png_rows_read(const cvtm_image_source *source, size_t *position,
                               cvtm_pixels *pixels, int *done, cvtm_error *error) {
  (void)source, (void)position, (void)pixels, (void)error;
  *done = 0;
  return CVTM_OK;
}

#endif

/* Formats that need no library: BMP; Netpbm's PBM, PGM, PPM (plain and raw) and PFM. */
#include "base/text.h"
#include "density/pictures/image_formats.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- BMP -------------------------------------------------------------------------------------- */

/* BMP of Windows and OS/2: 1 to 32 bits, palettes, bit fields, run lengths, profiles of version
 * 5. */

enum {
  FILE_HEADER = 14,
  CORE_HEADER = 12,
  INFO_HEADER = 40,
  FIELDS_HEADER = 52,
  ALPHA_HEADER = 56,
  PROFILE_HEADER = 124
};
enum { BI_RGB = 0, BI_RLE8 = 1, BI_RLE4 = 2, BI_BITFIELDS = 3, BI_ALPHABITFIELDS = 6 };

typedef struct bmp_reader {
  const cvtm_image_source *source;
  size_t header, start; /* size of the header; offset of the pixels */
  unsigned width, height, bits, compression;
  int is_top_down;
  size_t palette, entry; /* offset of the palette; bytes per entry: 3 or 4 */
  unsigned colours;      /* number of entries of the palette */
  uint32_t mask[4];      /* red, green, blue, alpha */
  unsigned char *index;  /* for run lengths: width * height indices, bottom row first */
  int is_cut;            /* nonzero: a run extends beyond its row or the picture */
  cvtm_pixels pixels;
} bmp_reader;

static unsigned get16(const unsigned char *p) { return cvtm_get_16(p, 0); }

static uint32_t get32(const unsigned char *p) { return cvtm_get_32(p, 0); }

/* --- The header ------------------------------------------------------------------------------- */

static void read_bmp_size(bmp_reader *r, const unsigned char *info) {
  if (r->header == CORE_HEADER) {
    r->width = get16(info + 4);
    r->height = get16(info + 6);
    r->bits = get16(info + 10);
    return;
  }
  const uint32_t width = get32(info + 4), height = get32(info + 8);
  r->is_top_down = height > INT32_MAX;
  r->width = width;
  r->height = r->is_top_down ? 0u - height : height;
  r->bits = get16(info + 14);
  r->compression = get32(info + 16);
}

static int has_fields(const bmp_reader *r) {
  return r->compression == BI_BITFIELDS || r->compression == BI_ALPHABITFIELDS;
}

static cvtm_status check_kind(const bmp_reader *r) {
  const unsigned bits = r->bits;
  const int is_direct = bits == 16 || bits == 24 || bits == 32;
  const int is_indexed = bits == 1 || bits == 2 || bits == 4 || bits == 8;
  const int fits = (r->compression == BI_RGB && (is_direct || is_indexed)) ||
                   (r->compression == BI_RLE8 && bits == 8) ||
                   (r->compression == BI_RLE4 && bits == 4) ||
                   (has_fields(r) && (bits == 16 || bits == 32));
  if (fits) return CVTM_OK;
  return cvtm_image_fail(r->source, "BMP with %u bits and compression %u is not supported", bits,
                         r->compression);
}

/* Sets the masks. Without bit fields, a colour has 5 bits in 16-bit pixels, else 8 bits. With bit
 * fields, the masks are read from the header or, if it is short, from the bytes after it. */
static cvtm_status read_masks(bmp_reader *r) {
  const uint32_t five = 31, eight = 255;
  const unsigned char *fields = r->source->bytes + FILE_HEADER + INFO_HEADER;
  if (!has_fields(r)) {
    const int is_narrow = r->bits == 16;
    r->mask[0] = is_narrow ? five << 10 : eight << 16;
    r->mask[1] = is_narrow ? five << 5 : eight << 8;
    r->mask[2] = is_narrow ? five : eight;
    return CVTM_OK;
  }
  const size_t count = r->compression == BI_ALPHABITFIELDS || r->header >= ALPHA_HEADER ? 4 : 3;
  if (FILE_HEADER + INFO_HEADER + 4 * count > r->source->size)
    return cvtm_image_truncated(r->source);
  for (size_t c = 0; c < count; ++c) r->mask[c] = get32(fields + 4 * c);
  for (size_t c = 0; c < 3; ++c)
    if (r->mask[c] == 0) return cvtm_image_fail(r->source, "bad BMP: a colour has no bits");
  if (r->header == INFO_HEADER) r->palette += 4 * count;
  return CVTM_OK;
}

/* Drops alpha if it is 0 everywhere: many writers leave it at 0 in opaque pictures. */
static void drop_empty_alpha(bmp_reader *r, size_t stride) {
  for (size_t y = 0; r->mask[3] != 0 && y < r->height; ++y) {
    const unsigned char *line = r->source->bytes + r->start + y * stride;
    for (size_t x = 0; x < r->width; ++x)
      if (((r->bits == 16 ? get16(line + 2 * x) : get32(line + 4 * x)) & r->mask[3]) != 0) return;
  }
  r->mask[3] = 0;
}

static cvtm_status read_palette(bmp_reader *r, const unsigned char *info) {
  if (r->bits <= 8) {
    r->entry = r->header == CORE_HEADER ? 3 : 4;
    r->colours = r->header == CORE_HEADER ? 0 : get32(info + 32);
    if (r->colours == 0 || r->colours > 1u << r->bits) r->colours = 1u << r->bits;
    /* the short header does not give the number of colours; the palette ends where the pixels
     * begin */
    const size_t room = r->start > r->palette ? (r->start - r->palette) / r->entry : 0;
    if (r->header == CORE_HEADER && room > 0 && room < r->colours) r->colours = (unsigned)room;
  }
  const size_t end = r->palette + r->entry * r->colours;
  if (end > r->source->size) return cvtm_image_truncated(r->source);
  if (r->start >= end) return CVTM_OK;
  return cvtm_image_fail(r->source, "bad BMP: the pixels overlap the header or the palette");
}

static cvtm_status read_bmp_header(bmp_reader *r) {
  const cvtm_image_source *source = r->source;
  const unsigned char *info = source->bytes + FILE_HEADER;
  if (source->size < FILE_HEADER + CORE_HEADER) return cvtm_image_truncated(r->source);
  r->header = get32(info);
  r->start = get32(source->bytes + 10);
  if (r->header != CORE_HEADER && (r->header < INFO_HEADER || r->header > PROFILE_HEADER))
    return cvtm_image_fail(r->source, "bad BMP: unknown size of the header");
  if (source->size - FILE_HEADER < r->header || r->start > source->size)
    return cvtm_image_truncated(r->source);
  read_bmp_size(r, info);
  r->palette = FILE_HEADER + r->header;
  CVTM_TRY(cvtm_image_check_size(source, r->width, r->height));
  CVTM_TRY(check_kind(r));
  CVTM_TRY(read_masks(r));
  return read_palette(r, info);
}

/* Finds the profile that a header of version 5 embeds. */
static cvtm_colour_source find_profile(const bmp_reader *r) {
  const unsigned char *info = r->source->bytes + FILE_HEADER;
  const uint32_t embedded = 0x4D424544; /* MBED */
  if (r->header < PROFILE_HEADER || get32(info + 56) != embedded) return (cvtm_colour_source){0};
  const size_t start = FILE_HEADER + (size_t)get32(info + 112), size = get32(info + 116);
  if (start > r->source->size || size > r->source->size - start) return (cvtm_colour_source){0};
  return (cvtm_colour_source){.profile = r->source->bytes + start, .profile_size = size};
}

/* --- Run lengths ------------------------------------------------------------------------------ */

/* Copies a run of literal pixels; returns the number of bytes used, or 0 if the file ends. */
static size_t copy_absolute(const bmp_reader *r, const unsigned char *bytes, size_t left,
                            unsigned count, unsigned char *target, size_t room) {
  const size_t used = r->bits == 8 ? count : (count + 1) / 2, padded = used + used % 2;
  if (used > left) return 0;
  for (size_t i = 0; i < count && i < room; ++i)
    target[i] =
        (unsigned char)(r->bits == 8 ? bytes[i] : bytes[i / 2] >> (i % 2 == 0 ? 4 : 0) & 15);
  return padded < left ? padded : left;
}

static void fill_run(const bmp_reader *r, unsigned value, unsigned count, unsigned char *target,
                     size_t room) {
  for (size_t i = 0; i < count && i < room; ++i)
    target[i] = (unsigned char)(r->bits == 8 ? value : (i % 2 == 0 ? value >> 4 : value & 15));
}

/* Decodes the runs. Skipped pixels have colour 0. Needs an end mark or data for all rows. */
static cvtm_status unpack_runs(bmp_reader *r) {
  const unsigned char *p = r->source->bytes + r->start, *end = r->source->bytes + r->source->size;
  size_t x = 0, y = 0;
  while (end - p >= 2) {
    const unsigned count = p[0], value = p[1];
    const size_t room = y < r->height && x < r->width ? r->width - x : 0;
    unsigned char *target = r->index + (room > 0 ? y * r->width + x : 0);
    p += 2;
    const size_t drawn = count > 0 ? count : value > 2 ? value : 0;
    r->is_cut |= drawn > room;
    if (count > 0) {
      fill_run(r, value, count, target, room);
      x += count;
    } else if (value == 0) {
      x = 0;
      ++y;
    } else if (value == 1) {
      return CVTM_OK;
    } else if (value == 2) {
      if (end - p < 2) break;
      x += p[0];
      y += p[1];
      p += 2;
    } else {
      const size_t used = copy_absolute(r, p, (size_t)(end - p), value, target, room);
      if (used == 0) break;
      p += used;
      x += value;
    }
  }
  const int is_whole = y >= r->height || (y + 1 == r->height && x >= r->width);
  return is_whole && end - p < 2 ? CVTM_OK : cvtm_image_truncated(r->source);
}

/* --- Pixels ----------------------------------------------------------------------------------- */

/* The bits of a value that a mask selects, scaled to 0 .. 65535. */
static uint16_t field_of(uint32_t value, uint32_t mask) {
  if (mask == 0) return 65535;
  unsigned shift = 0;
  while (!(mask >> shift & 1)) ++shift;
  const uint64_t most = mask >> shift;
  return (uint16_t)((((value & mask) >> shift) * 65535ull + most / 2) / most);
}

static void put_direct(const bmp_reader *r, const unsigned char *line) {
  const size_t channels = r->mask[3] != 0 ? 4 : 3, bytes = r->bits / 8;
  uint16_t *row = r->pixels.row;
  for (size_t x = 0; x < r->width; ++x) {
    const unsigned char *p = line + x * bytes;
    const uint32_t value =
        bytes == 2 ? get16(p)
                   : get16(p) | (uint32_t)p[2] << 16 | (bytes == 4 ? (uint32_t)p[3] << 24 : 0);
    for (size_t c = 0; c < channels; ++c) row[x * channels + c] = field_of(value, r->mask[c]);
  }
}

/* Stores a row of indices; an index beyond the palette is black. */
static void put_indexed(const bmp_reader *r, const unsigned char *line, unsigned bits) {
  const unsigned char *palette = r->source->bytes + r->palette;
  uint16_t *row = r->pixels.row;
  for (size_t x = 0; x < r->width; ++x) {
    const size_t bit = x * bits;
    const unsigned index = (unsigned)line[bit / 8] >> (8 - bits - bit % 8) & ((1u << bits) - 1);
    for (size_t c = 0; c < 3; ++c)
      row[3 * x + c] =
          (uint16_t)(index < r->colours ? palette[index * r->entry + 2 - c] * 257u : 0);
  }
}

static cvtm_status begin_bmp_pixels(bmp_reader *r, cvtm_image *image) {
  const cvtm_pixel_layout layout = {
      .colours = 3,
      .alpha = r->mask[3] != 0 ? CVTM_ALPHA_STRAIGHT : CVTM_ALPHA_NONE,
      .kind = CVTM_SAMPLES_16,
      .max = 65535};
  const cvtm_colour_source colour = find_profile(r);
  CVTM_TRY(cvtm_pixels_begin(r->source, layout, &colour, (int)r->width, (int)r->height, image,
                             &r->pixels));
  const int has_runs = r->compression == BI_RLE8 || r->compression == BI_RLE4;
  if (!has_runs) return CVTM_OK;
  r->index = calloc(r->width, r->height);
  return r->index != NULL ? unpack_runs(r) : cvtm_image_no_memory(r->source);
}

static void read_bmp_rows(bmp_reader *r, size_t stride) {
  for (unsigned k = 0; k < r->height; ++k) {
    const unsigned y = r->is_top_down ? k : r->height - 1 - k;
    const unsigned char *line = r->source->bytes + r->start + k * stride;
    if (r->index != NULL)
      put_indexed(r, r->index + (size_t)k * r->width, 8);
    else if (r->bits <= 8)
      put_indexed(r, line, r->bits);
    else
      put_direct(r, line);
    cvtm_pixels_store(&r->pixels, 0, (int)y, (int)r->width, r->pixels.row);
  }
}

static cvtm_status read_bmp(bmp_reader *r, cvtm_image *image) {
  cvtm_status status = read_bmp_header(r);
  if (status != CVTM_OK) return status;
  const size_t stride = ((size_t)r->width * r->bits + 31) / 32 * 4;
  const uint64_t pixels = (uint64_t)r->width * r->height;
  const int has_runs = r->compression == BI_RLE8 || r->compression == BI_RLE4;
  /* two bytes can end a row of any length */
  if (has_runs) status = cvtm_image_check_ratio(r->source, pixels, CVTM_MAX_SIDE / 2);
  if (!has_runs && (r->source->size - r->start) / stride < r->height)
    status = cvtm_image_truncated(r->source);
  if (status == CVTM_OK) drop_empty_alpha(r, stride);
  if (status == CVTM_OK) status = begin_bmp_pixels(r, image);
  if (status != CVTM_OK) return status;
  read_bmp_rows(r, stride);
  if (r->is_cut) cvtm_image_note(image, "runs beyond the end of a row are cut");
  const unsigned char *info = r->source->bytes + FILE_HEADER;
  const double metre = 1000;
  if (r->header >= INFO_HEADER)
    cvtm_place_set_resolution(&image->place, get32(info + 24), get32(info + 28), metre);
  return CVTM_OK;
}

cvtm_status cvtm_image_decode_bmp(const cvtm_image_source *source, cvtm_image *image) {
  bmp_reader r = {.source = source};
  cvtm_status status = read_bmp(&r, image);
  free(r.index);
  cvtm_pixels_end(&r.pixels);
  return status;
}

/* --- Netpbm ----------------------------------------------------------------------------------- */

typedef struct pnm_reader {
  const cvtm_image_source *source;
  size_t position;
  int width, height;
  unsigned max;
  int channels;
} pnm_reader;

static size_t bytes_left(const pnm_reader *reader) {
  return reader->source->size - reader->position;
}

/* Skips white space and comments, from # to the end of the line. */
static void skip_space(pnm_reader *reader) {
  const unsigned char *bytes = reader->source->bytes;
  while (bytes_left(reader) > 0) {
    if (bytes[reader->position] == '#') {
      while (bytes_left(reader) > 0 && bytes[reader->position] != '\n' &&
             bytes[reader->position] != '\r') {
        ++reader->position;
      }
    } else if (isspace(bytes[reader->position])) {
      ++reader->position;
    } else {
      return;
    }
  }
}

/* Reads a decimal number; a number above 10^9 is read as 10^9. */
static cvtm_status read_number(pnm_reader *reader, unsigned *number) {
  enum { LARGE = 1000000000 };
  skip_space(reader);
  if (bytes_left(reader) == 0) return cvtm_image_truncated(reader->source);
  unsigned value = 0;
  size_t start = reader->position;
  while (bytes_left(reader) > 0 && isdigit(reader->source->bytes[reader->position])) {
    unsigned digit = (unsigned)(reader->source->bytes[reader->position++] - '0');
    value = value >= LARGE / 10 ? LARGE : value * 10 + digit;
  }
  if (reader->position == start)
    return cvtm_image_fail(reader->source, "byte 0x%02x at offset %zu is not a number",
                           reader->source->bytes[start], start);
  *number = value;
  return CVTM_OK;
}

/* Skips the single white space between header and raw pixels. */
static cvtm_status end_header(pnm_reader *reader) {
  if (bytes_left(reader) == 0) return cvtm_image_truncated(reader->source);
  if (!isspace(reader->source->bytes[reader->position]))
    return cvtm_image_fail(reader->source, "no white space after the header");
  ++reader->position;
  return CVTM_OK;
}

static cvtm_status read_pnm_size(pnm_reader *reader) {
  unsigned width = 0, height = 0;
  CVTM_TRY(read_number(reader, &width));
  CVTM_TRY(read_number(reader, &height));
  CVTM_TRY(cvtm_image_check_size(reader->source, width, height));
  reader->width = (int)width;
  reader->height = (int)height;
  return CVTM_OK;
}

/* --- Integer samples -------------------------------------------------------------------------- */

static cvtm_status read_max(pnm_reader *reader) {
  CVTM_TRY(read_number(reader, &reader->max));
  if (reader->max < 1 || reader->max > 65535)
    return cvtm_image_fail(reader->source, "the maximum value %u is not in 1 .. 65535",
                           reader->max);
  return CVTM_OK;
}

static cvtm_status check_sample(const pnm_reader *reader, unsigned sample, int x, int y) {
  if (sample <= reader->max) return CVTM_OK;
  return cvtm_image_fail(reader->source, "the value %u at pixel (%d, %d) is above the maximum %u",
                         sample, x, y, reader->max);
}

/* Reads a bit of a plain bitmap; 1 is black. There may be no space between digits. */
static cvtm_status read_plain_bit(pnm_reader *reader, unsigned *sample) {
  skip_space(reader);
  if (bytes_left(reader) == 0) return cvtm_image_truncated(reader->source);
  unsigned char digit = reader->source->bytes[reader->position];
  if (digit != '0' && digit != '1')
    return cvtm_image_fail(reader->source, "byte 0x%02x at offset %zu is neither 0 nor 1", digit,
                           reader->position);
  ++reader->position;
  *sample = digit == '0';
  return CVTM_OK;
}

static unsigned read_raw_sample(pnm_reader *reader) {
  const unsigned char *p = reader->source->bytes + reader->position;
  if (reader->max < 256) {
    ++reader->position;
    return p[0];
  }
  reader->position += 2;
  return (unsigned)p[0] << 8 | p[1];
}

static cvtm_status read_pixel(pnm_reader *reader, char kind, int x, int y, unsigned *pixel) {
  for (int c = 0; c < reader->channels; ++c) {
    if (kind == '1')
      CVTM_TRY(read_plain_bit(reader, &pixel[c]));
    else if (kind == '2' || kind == '3')
      CVTM_TRY(read_number(reader, &pixel[c]));
    else
      pixel[c] = read_raw_sample(reader);
    CVTM_TRY(check_sample(reader, pixel[c], x, y));
  }
  return CVTM_OK;
}

/* The least number of bytes of the pixels. */
static uint64_t smallest_body(const pnm_reader *reader, char kind) {
  uint64_t width = (uint64_t)reader->width, height = (uint64_t)reader->height;
  uint64_t samples = width * height * (uint64_t)reader->channels;
  if (kind == '1') return samples;
  if (kind == '2' || kind == '3') return 2 * samples - 1;
  if (kind == '4') return (width + 7) / 8 * height;
  return reader->max < 256 ? samples : 2 * samples;
}

static void unpack_bits(pnm_reader *reader, int y, uint16_t *row) {
  const size_t row_bytes = ((size_t)reader->width + 7) / 8;
  const unsigned char *bits = reader->source->bytes + reader->position + (size_t)y * row_bytes;
  for (int x = 0; x < reader->width; ++x) row[x] = !(bits[x / 8] >> (7 - x % 8) & 1);
}

static cvtm_status read_row(pnm_reader *reader, char kind, int y, uint16_t *row) {
  for (int x = 0; x < reader->width; ++x) {
    unsigned pixel[3] = {0, 0, 0};
    CVTM_TRY(read_pixel(reader, kind, x, y, pixel));
    for (int c = 0; c < reader->channels; ++c)
      row[(size_t)x * (size_t)reader->channels + (size_t)c] = (uint16_t)pixel[c];
  }
  return CVTM_OK;
}

static cvtm_status read_samples(pnm_reader *reader, char kind, cvtm_image *image) {
  const cvtm_pixel_layout layout = {
      .colours = reader->channels, .kind = CVTM_SAMPLES_16, .max = reader->max};
  cvtm_pixels pixels;
  cvtm_status status = cvtm_pixels_begin(reader->source, layout, NULL, reader->width,
                                         reader->height, image, &pixels);
  uint16_t *const row = pixels.row;
  for (int y = 0; status == CVTM_OK && y < reader->height; ++y) {
    if (kind == '4') unpack_bits(reader, y, row);
    if (kind != '4') status = read_row(reader, kind, y, row);
    if (status == CVTM_OK) cvtm_pixels_store(&pixels, 0, y, reader->width, row);
  }
  cvtm_pixels_end(&pixels);
  return status;
}

static cvtm_status decode_integers(pnm_reader *reader, char kind, cvtm_image *image) {
  reader->channels = kind == '3' || kind == '6' ? 3 : 1;
  reader->max = 1;
  CVTM_TRY(read_pnm_size(reader));
  if (kind != '1' && kind != '4') CVTM_TRY(read_max(reader));
  if (kind >= '4') CVTM_TRY(end_header(reader));
  if (bytes_left(reader) < smallest_body(reader, kind))
    CVTM_TRY(cvtm_image_truncated(reader->source));
  return read_samples(reader, kind, image);
}

/* --- PFM -------------------------------------------------------------------------------------- */

/* Reads the scale factor: its sign gives the byte order, its magnitude is ignored. */
static cvtm_status read_scale(pnm_reader *reader, int *little) {
  skip_space(reader);
  char text[64];
  size_t length = 0;
  while (length < bytes_left(reader) && length + 1 < sizeof text &&
         !isspace(reader->source->bytes[reader->position + length])) {
    text[length] = (char)reader->source->bytes[reader->position + length];
    ++length;
  }
  text[length] = 0;
  char *end = text;
  double scale = cvtm_strtod(text, &end);
  if (bytes_left(reader) == length) return cvtm_image_truncated(reader->source);
  if (length == 0 || *end != 0 || !isfinite(scale) || scale == 0)
    return cvtm_image_fail(reader->source, "bad scale factor in the header");
  reader->position += length;
  *little = scale < 0;
  return CVTM_OK;
}

static double read_float(const unsigned char *p, int little) {
  const uint32_t bits = cvtm_get_32(p, !little);
  float value;
  memcpy(&value, &bits, sizeof value);
  return (double)value;
}

static cvtm_status decode_floats(pnm_reader *reader, int channels, cvtm_image *image) {
  int little = 0;
  CVTM_TRY(read_pnm_size(reader));
  CVTM_TRY(read_scale(reader, &little));
  CVTM_TRY(end_header(reader));
  size_t row_bytes = (size_t)reader->width * (size_t)channels * 4;
  if (bytes_left(reader) < row_bytes * (size_t)reader->height)
    return cvtm_image_truncated(reader->source);
  CVTM_TRY(cvtm_image_allocate(reader->source, reader->width, reader->height, 0, image));
  image->is_data = 1;
  const unsigned char *p = reader->source->bytes + reader->position;
  for (int y = reader->height - 1; y >= 0; --y) {
    for (int x = 0; x < reader->width; ++x, p += 4 * channels) {
      double value = read_float(p, little);
      if (channels == 3)
        value = 0.2126 * value + 0.7152 * read_float(p + 4, little) +
                0.0722 * read_float(p + 8, little);
      CVTM_TRY(cvtm_image_store_data(reader->source, image, x, y, value));
    }
  }
  return CVTM_OK;
}

cvtm_status cvtm_image_decode_pnm(const cvtm_image_source *source, cvtm_image *image) {
  pnm_reader reader = {.source = source, .position = 2};
  char kind = (char)source->bytes[1];
  return kind == 'f' || kind == 'F' ? decode_floats(&reader, kind == 'F' ? 3 : 1, image)
                                    : decode_integers(&reader, kind, image);
}

/* Netpbm's PBM, PGM, PPM (plain and raw) and PFM. */
#include "base/text.h"
#include "density/pictures/image_pixels.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct pnm_reader {
  const cvtm_image_source *source;
  size_t position;
  int width, height;
  unsigned max;
  int channels;
} pnm_reader;

static cvtm_status truncated(const pnm_reader *reader, cvtm_error *error) {
  return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: truncated", reader->source->name);
}

static size_t bytes_left(const pnm_reader *reader) {
  return reader->source->size - reader->position;
}

/* White space and comments from # to the end of the line. */
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

/* A decimal number; those of 10^9 and more become 10^9. */
static cvtm_status read_number(pnm_reader *reader, unsigned *number, cvtm_error *error) {
  enum { LARGE = 1000000000 };
  skip_space(reader);
  if (bytes_left(reader) == 0) return truncated(reader, error);
  unsigned value = 0;
  size_t start = reader->position;
  while (bytes_left(reader) > 0 && isdigit(reader->source->bytes[reader->position])) {
    unsigned digit = (unsigned)(reader->source->bytes[reader->position++] - '0');
    value = value >= LARGE / 10 ? LARGE : value * 10 + digit;
  }
  if (reader->position == start) {
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: byte 0x%02x at offset %zu is not a number",
                     reader->source->name, reader->source->bytes[start], start);
  }
  *number = value;
  return CVTM_OK;
}

/* The one white space between header and raw pixels. */
static cvtm_status end_header(pnm_reader *reader, cvtm_error *error) {
  if (bytes_left(reader) == 0) return truncated(reader, error);
  if (!isspace(reader->source->bytes[reader->position])) {
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: no white space after the header",
                     reader->source->name);
  }
  ++reader->position;
  return CVTM_OK;
}

static cvtm_status read_size(pnm_reader *reader, cvtm_error *error) {
  unsigned width = 0, height = 0;
  cvtm_status status = read_number(reader, &width, error);
  if (status == CVTM_OK) status = read_number(reader, &height, error);
  if (status == CVTM_OK) status = cvtm_image_check_size(reader->source, width, height, error);
  if (status != CVTM_OK) return status;
  reader->width = (int)width;
  reader->height = (int)height;
  return CVTM_OK;
}

/* --- Integer samples --- */

static cvtm_status read_max(pnm_reader *reader, cvtm_error *error) {
  cvtm_status status = read_number(reader, &reader->max, error);
  if (status != CVTM_OK) return status;
  if (reader->max < 1 || reader->max > 65535) {
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: the maximum value %u is not in 1 .. 65535",
                     reader->source->name, reader->max);
  }
  return CVTM_OK;
}

static cvtm_status check_sample(const pnm_reader *reader, unsigned sample, int x, int y,
                                cvtm_error *error) {
  if (sample <= reader->max) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_INPUT,
                   "%s: the value %u at pixel (%d, %d) is above the maximum %u",
                   reader->source->name, sample, x, y, reader->max);
}

/* Plain bitmaps need no space between their digits; 1 is black. */
static cvtm_status read_plain_bit(pnm_reader *reader, unsigned *sample, cvtm_error *error) {
  skip_space(reader);
  if (bytes_left(reader) == 0) return truncated(reader, error);
  unsigned char digit = reader->source->bytes[reader->position];
  if (digit != '0' && digit != '1') {
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: byte 0x%02x at offset %zu is neither 0 nor 1",
                     reader->source->name, digit, reader->position);
  }
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

static cvtm_status read_pixel(pnm_reader *reader, char kind, int x, int y, unsigned *pixel,
                              cvtm_error *error) {
  cvtm_status status = CVTM_OK;
  for (int c = 0; status == CVTM_OK && c < reader->channels; ++c) {
    if (kind == '1') {
      status = read_plain_bit(reader, &pixel[c], error);
    } else if (kind == '2' || kind == '3') {
      status = read_number(reader, &pixel[c], error);
    } else {
      pixel[c] = read_raw_sample(reader);
    }
    if (status == CVTM_OK) status = check_sample(reader, pixel[c], x, y, error);
  }
  return status;
}

/* The least number of bytes that the pixels take. */
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

static cvtm_status read_row(pnm_reader *reader, char kind, int y, uint16_t *row,
                            cvtm_error *error) {
  cvtm_status status = CVTM_OK;
  for (int x = 0; status == CVTM_OK && x < reader->width; ++x) {
    unsigned pixel[3] = {0, 0, 0};
    status = read_pixel(reader, kind, x, y, pixel, error);
    for (int c = 0; c < reader->channels; ++c)
      row[(size_t)x * (size_t)reader->channels + (size_t)c] = (uint16_t)pixel[c];
  }
  return status;
}

static cvtm_status read_samples(pnm_reader *reader, char kind, cvtm_image *image,
                                cvtm_error *error) {
  const cvtm_pixel_layout layout = {
      .colours = reader->channels, .kind = CVTM_SAMPLES_16, .max = reader->max};
  cvtm_pixels pixels;
  cvtm_status status = cvtm_pixels_begin(reader->source, layout, NULL, reader->width,
                                         reader->height, image, &pixels, error);
  uint16_t *row = NULL;
  if (status == CVTM_OK)
    row = malloc((size_t)reader->width * (size_t)reader->channels * sizeof *row);
  if (status == CVTM_OK && row == NULL)
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", reader->source->name);
  for (int y = 0; status == CVTM_OK && y < reader->height; ++y) {
    if (kind == '4') unpack_bits(reader, y, row);
    if (kind != '4') status = read_row(reader, kind, y, row, error);
    if (status == CVTM_OK) cvtm_pixels_store(&pixels, 0, y, reader->width, row);
  }
  free(row);
  cvtm_pixels_end(&pixels);
  return status;
}

static cvtm_status decode_integers(pnm_reader *reader, char kind, cvtm_image *image,
                                   cvtm_error *error) {
  reader->channels = kind == '3' || kind == '6' ? 3 : 1;
  reader->max = 1;
  cvtm_status status = read_size(reader, error);
  if (status == CVTM_OK && kind != '1' && kind != '4') status = read_max(reader, error);
  if (status == CVTM_OK && kind >= '4') status = end_header(reader, error);
  if (status == CVTM_OK && bytes_left(reader) < smallest_body(reader, kind)) {
    status = truncated(reader, error);
  }
  return status == CVTM_OK ? read_samples(reader, kind, image, error) : status;
}

/* --- PFM --- */

/* The scale factor: its sign gives the byte order, its magnitude is ignored. */
static cvtm_status read_scale(pnm_reader *reader, int *little, cvtm_error *error) {
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
  if (bytes_left(reader) == length) return truncated(reader, error);
  if (length == 0 || *end != 0 || !isfinite(scale) || scale == 0) {
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: bad scale factor in the header",
                     reader->source->name);
  }
  reader->position += length;
  *little = scale < 0;
  return CVTM_OK;
}

static double read_float(const unsigned char *p, int little) {
  uint32_t bits = little ? (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0]
                         : (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
  float value;
  memcpy(&value, &bits, sizeof value);
  return (double)value;
}

static cvtm_status decode_floats(pnm_reader *reader, int channels, cvtm_image *image,
                                 cvtm_error *error) {
  int little = 0;
  cvtm_status status = read_size(reader, error);
  if (status == CVTM_OK) status = read_scale(reader, &little, error);
  if (status == CVTM_OK) status = end_header(reader, error);
  if (status != CVTM_OK) return status;
  size_t row_bytes = (size_t)reader->width * (size_t)channels * 4;
  if (bytes_left(reader) < row_bytes * (size_t)reader->height) return truncated(reader, error);
  status = cvtm_image_allocate(reader->source, reader->width, reader->height, 0, image, error);
  image->is_data = 1;
  const unsigned char *p = reader->source->bytes + reader->position;
  for (int y = reader->height - 1; status == CVTM_OK && y >= 0; --y) {
    for (int x = 0; status == CVTM_OK && x < reader->width; ++x, p += 4 * channels) {
      double value = read_float(p, little);
      if (channels == 3) {
        value = 0.2126 * value + 0.7152 * read_float(p + 4, little) +
                0.0722 * read_float(p + 8, little);
      }
      status = cvtm_image_store_data(reader->source, image, x, y, value, error);
    }
  }
  return status;
}

cvtm_status cvtm_image_decode_pnm(const cvtm_image_source *source, cvtm_image *image,
                                  cvtm_error *error) {
  pnm_reader reader = {.source = source, .position = 2};
  char kind = (char)source->bytes[1];
  cvtm_status status = kind == 'f' || kind == 'F'
                           ? decode_floats(&reader, kind == 'F' ? 3 : 1, image, error)
                           : decode_integers(&reader, kind, image, error);
  return status;
}

#include "base/text.h"
#include "density/pictures/image_formats.h"

#if CVTMESH_HAVE_TIFF

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tiffio.h>

typedef struct tiff_reader {
  const cvtm_image_source *source;
  uint64_t position;
  TIFF *tiff;
  char reason[256]; /* the first error or warning of libtiff */
  int lost_tag;     /* the file ends within a tag's values */
  int lacks_memory; /* nonzero: libtiff skipped a tag because an allocation failed */
  uint32_t width, height;
  uint16_t bits, channels, format, photometric, compression;
  int planes;        /* 1: samples of a pixel are interleaved; else one plane per channel */
  int alpha_channel; /* -1: none */
  int guesses_alpha; /* nonzero: a fourth sample of RGB that the file does not describe is used as
                        alpha */
  int is_guessed;    /* nonzero: alpha_channel is guessed in this way */
  int associated;    /* nonzero: the colours are already multiplied by alpha */
  int has_nodata;
  double nodata; /* sample value of pixels without data; NaN always means no data */
  int tiled;
  uint32_t chunk_width, chunk_height; /* size of a tile or a strip */
  size_t chunk_bytes, row_bytes;
  unsigned char *chunk; /* memory for `planes` consecutive chunks */
  uint16_t *palette[3];
  cvtm_pixels pixels;
  cvtm_image *image;
} tiff_reader;

/* --- Physical position, and pixels without data --- */

/* GeoTIFF 1.1 (OGC 19-008r4). */
enum {
  TAG_PIXEL_SCALE = 33550,
  TAG_TIEPOINT = 33922,
  TAG_KEYS = 34735,
  TAG_NODATA = 42113,
  KEY_MODEL = 1024,
  KEY_RASTER = 1025,
  KEY_LINEAR_UNITS = 3076,
  MODEL_PROJECTED = 1,
  RASTER_IS_POINT = 2,
  UNITS_METRE = 9001,
  UNITS_FOOT = 9002
};

/* The values of a tag unknown to libtiff; NULL if they do not have this type. */
static const void *read_values(TIFF *tiff, uint32_t tag, TIFFDataType type, uint32_t *count) {
  const TIFFField *field = TIFFFindField(tiff, tag, TIFF_ANY);
  const void *values = NULL;
  if (field == NULL || TIFFFieldDataType(field) != type || !TIFFFieldPassCount(field) ||
      TIFFFieldReadCount(field) != TIFF_VARIABLE2)
    return NULL;
  return TIFFGetField(tiff, tag, count, &values) ? values : NULL;
}

/* The value of a short key of GeoTIFF; 0 if the key is absent. */
static int read_key(TIFF *tiff, int wanted) {
  uint32_t count = 0;
  const uint16_t *keys = read_values(tiff, TAG_KEYS, TIFF_SHORT, &count);
  for (uint32_t k = 4; keys != NULL && k + 4 <= count; k += 4)
    if (keys[k] == wanted && keys[k + 1] == 0) return keys[k + 3];
  return 0;
}

static const char *read_geo_unit(TIFF *tiff) {
  const int unit = read_key(tiff, KEY_LINEAR_UNITS);
  if (unit == UNITS_FOOT) return "ft";
  if (unit == UNITS_METRE) return "m";
  return unit == 0 && read_key(tiff, KEY_MODEL) == MODEL_PROJECTED ? "m" : NULL;
}

static int set_by_geotiff(TIFF *tiff, cvtm_image_place *place) {
  uint32_t scales = 0, points = 0;
  const double *scale = read_values(tiff, TAG_PIXEL_SCALE, TIFF_DOUBLE, &scales);
  const double *tie = read_values(tiff, TAG_TIEPOINT, TIFF_DOUBLE, &points);
  if (scale == NULL || scales < 2 || !(scale[0] > 0) || !(scale[1] > 0) || !isfinite(scale[0]) ||
      !isfinite(scale[1]))
    return 0;
  place->pixel[0] = scale[0];
  place->pixel[1] = scale[1];
  place->unit = read_geo_unit(tiff);
  if (tie == NULL || points < 6) return 1;
  const double middle = read_key(tiff, KEY_RASTER) == RASTER_IS_POINT ? 0.5 : 0;
  place->left = tie[3] - (tie[0] + middle) * scale[0];
  place->top = tie[4] + (tie[1] + middle) * scale[1];
  place->has_origin = isfinite(place->left) && isfinite(place->top);
  return 1;
}

/* Finds the place in GeoTIFF's tags, else in the text of OME-XML or ImageJ, else from the
 * resolution. Of GeoTIFF's units only metres and feet are named; others, such as degrees, are left
 * unknown. */
static cvtm_image_place find_place(TIFF *tiff) {
  const double inch = 25.4, centimetre = 10;
  cvtm_image_place place = {0};
  float across = 0, down = 0;
  uint16_t unit = RESUNIT_INCH;
  const char *text = NULL;
  if (set_by_geotiff(tiff, &place)) return place;
  TIFFGetField(tiff, TIFFTAG_XRESOLUTION, &across);
  TIFFGetField(tiff, TIFFTAG_YRESOLUTION, &down);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_RESOLUTIONUNIT, &unit);
  if (TIFFGetField(tiff, TIFFTAG_IMAGEDESCRIPTION, &text) && text != NULL &&
      cvtm_place_set_description(&place, text, (double)across, (double)down))
    return place;
  if (unit == RESUNIT_INCH || unit == RESUNIT_CENTIMETER)
    cvtm_place_set_resolution(&place, (double)across, (double)down,
                              unit == RESUNIT_INCH ? inch : centimetre);
  return place;
}

/* Finds the sample value that means no data, perhaps NaN, in GDAL's tag. Returns 0 if there is
 * none. */
static int find_nodata(TIFF *tiff, double *nodata) {
  uint32_t count = 0;
  const char *value = read_values(tiff, TAG_NODATA, TIFF_ASCII, &count);
  char text[64] = "", *end;
  if (value == NULL || count >= sizeof text) return 0;
  memcpy(text, value, count);
  cvtm_numeric_locale locale = cvtm_numeric_locale_enter();
  *nodata = strtod(text, &end);
  cvtm_numeric_locale_leave(locale);
  return end != text;
}

/* --- libtiff reads from memory --- */

static tmsize_t read_bytes(thandle_t handle, void *target, tmsize_t count) {
  tiff_reader *reader = handle;
  uint64_t size = reader->source->size;
  uint64_t left = reader->position < size ? size - reader->position : 0;
  size_t got = (uint64_t)count < left ? (size_t)count : (size_t)left;
  memcpy(target, reader->source->bytes + (got > 0 ? reader->position : 0), got);
  reader->position += got;
  return (tmsize_t)got;
}

static tmsize_t write_bytes(thandle_t handle, void *source, tmsize_t count) {
  (void)handle, (void)source, (void)count;
  return 0;
}

static toff_t seek_bytes(thandle_t handle, toff_t offset, int origin) {
  tiff_reader *reader = handle;
  if (origin == SEEK_SET) reader->position = offset;
  if (origin == SEEK_CUR) reader->position += offset;
  if (origin == SEEK_END) reader->position = reader->source->size + offset;
  return reader->position;
}

static int close_bytes(thandle_t handle) {
  (void)handle;
  return 0;
}

static toff_t size_of_bytes(thandle_t handle) { return ((tiff_reader *)handle)->source->size; }

/* True for a message about a failed allocation. If the allocation was for a tag, libtiff opens the
 * file without the tag. */
static int is_about_memory(const char *text) {
  return strstr(text, "Out of memory") != NULL || strstr(text, "Failed to allocate") != NULL;
}

/* Takes a message as the reason of a failure, a warning only if it is about the file's end. */
CVTM_PRINTF(3, 0)
static int take_message(tiff_reader *reader, int is_warning, const char *format,
                        va_list arguments) {
  char text[sizeof reader->reason];
  vsnprintf(text, sizeof text, format, arguments);
  if (is_about_memory(text)) reader->lacks_memory = 1;
  if (reader->reason[0] != 0 || (is_warning && strstr(text, "IO error") == NULL)) return 1;
  memcpy(reader->reason, text, sizeof text);
  reader->lost_tag |= is_warning;
  return 1;
}

CVTM_PRINTF(4, 0)
static int on_error(TIFF *tiff, void *context, const char *module, const char *format,
                    va_list arguments) {
  (void)tiff, (void)module;
  return take_message(context, 0, format, arguments);
}

/* If the file ends within the values of a tag, such as a palette, libtiff only warns, and guesses
 * the values. */
CVTM_PRINTF(4, 0)
static int on_warning(TIFF *tiff, void *context, const char *module, const char *format,
                      va_list arguments) {
  (void)tiff, (void)module;
  return take_message(context, 1, format, arguments);
}

static cvtm_status bad_tiff(const tiff_reader *reader) {
  return cvtm_image_fail(reader->source, "bad TIFF: %s",
                         reader->reason[0] != 0 ? reader->reason : "cannot be decoded");
}

static cvtm_status open_tiff(tiff_reader *reader) {
  const tmsize_t largest_allocation = (tmsize_t)8 << 30;
  TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
  if (options == NULL) return cvtm_image_no_memory(reader->source);
  TIFFOpenOptionsSetMaxSingleMemAlloc(options, largest_allocation);
  TIFFOpenOptionsSetErrorHandlerExtR(options, on_error, reader);
  TIFFOpenOptionsSetWarningHandlerExtR(options, on_warning, reader);
  /* "m" disables memory mapping. */
  reader->tiff = TIFFClientOpenExt(reader->source->name, "rm", reader, read_bytes, write_bytes,
                                   seek_bytes, close_bytes, size_of_bytes, NULL, NULL, options);
  TIFFOpenOptionsFree(options);
  /* not closed, because libtiff 4.5 crashes when it frees a list of tags that could not grow */
  if (reader->lacks_memory) return cvtm_image_no_memory(reader->source);
  return reader->tiff != NULL ? CVTM_OK : bad_tiff(reader);
}

/* --- The header --- */

/* Moves to the first page that is neither a thumbnail nor a mask; if there is none, to the first
 * page. */
static int find_page(TIFF *tiff) {
  for (;;) {
    uint32_t kind = 0;
    TIFFGetField(tiff, TIFFTAG_SUBFILETYPE, &kind);
    if ((kind & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK)) == 0) return 1;
    if (TIFFLastDirectory(tiff)) return TIFFSetDirectory(tiff, 0);
    if (!TIFFReadDirectory(tiff)) return 0;
  }
}

static void find_alpha(tiff_reader *reader) {
  uint16_t count = 0;
  uint16_t *kinds = NULL;
  reader->alpha_channel = -1;
  if (!TIFFGetField(reader->tiff, TIFFTAG_EXTRASAMPLES, &count, &kinds)) count = 0;
  for (uint16_t i = 0; i < count && i < reader->channels; ++i) {
    if (kinds[i] != EXTRASAMPLE_ASSOCALPHA && kinds[i] != EXTRASAMPLE_UNASSALPHA) continue;
    reader->alpha_channel = reader->channels - count + i;
    reader->associated = kinds[i] == EXTRASAMPLE_ASSOCALPHA;
    return;
  }
  /* as do libtiff's own RGBA interface, ImageMagick and GIMP */
  reader->is_guessed =
      reader->guesses_alpha && reader->channels == 4 && reader->photometric == PHOTOMETRIC_RGB;
  if (reader->is_guessed) reader->alpha_channel = 3;
}

static int is_float(const tiff_reader *reader) { return reader->format == SAMPLEFORMAT_IEEEFP; }

static int is_grey(const tiff_reader *reader) {
  return reader->photometric == PHOTOMETRIC_MINISBLACK ||
         reader->photometric == PHOTOMETRIC_MINISWHITE;
}

static int is_cmyk(const tiff_reader *reader) {
  uint16_t inks = INKSET_CMYK;
  TIFFGetFieldDefaulted(reader->tiff, TIFFTAG_INKSET, &inks);
  return inks == INKSET_CMYK;
}

static cvtm_status check_samples(const tiff_reader *reader) {
  unsigned bits = reader->bits;
  if (is_float(reader)) {
    if (bits != 32 && bits != 64)
      return cvtm_image_fail(reader->source,
                             "float TIFF with neither 32 nor 64 bits is not supported");
    if (reader->channels != 1 || !is_grey(reader))
      return cvtm_image_fail(reader->source,
                             "float TIFF with more than one channel is not supported");
    return CVTM_OK;
  }
  if (reader->format != SAMPLEFORMAT_UINT && reader->format != SAMPLEFORMAT_VOID)
    return cvtm_image_fail(reader->source, "TIFF with signed or complex samples is not supported");
  int narrow = bits == 1 || bits == 2 || bits == 4;
  if (bits != 8 && bits != 16 && !(narrow && reader->channels == 1)) {
    return cvtm_image_fail(reader->source,
                           "integer TIFF with %u bits and %u channels is not supported", bits,
                           (unsigned)reader->channels);
  }
  return CVTM_OK;
}

static cvtm_status check_colours(tiff_reader *reader) {
  int needed = 1;
  if (reader->photometric == PHOTOMETRIC_YCBCR && reader->compression == COMPRESSION_JPEG) {
    /* The JPEG decoder of libtiff converts to RGB. */
    TIFFSetField(reader->tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    reader->photometric = PHOTOMETRIC_RGB;
  }
  if (reader->photometric == PHOTOMETRIC_RGB) {
    needed = 3;
  } else if (reader->photometric == PHOTOMETRIC_SEPARATED && is_cmyk(reader)) {
    needed = 4;
  } else if (reader->photometric == PHOTOMETRIC_PALETTE) {
    if (!TIFFGetField(reader->tiff, TIFFTAG_COLORMAP, &reader->palette[0], &reader->palette[1],
                      &reader->palette[2])) {
      return cvtm_image_fail(reader->source, "bad TIFF: the palette is missing");
    }
  } else if (!is_grey(reader)) {
    return cvtm_image_fail(
        reader->source,
        "TIFF with photometric interpretation %u (not grey, RGB, palette, CMYK) is not supported",
        (unsigned)reader->photometric);
  }
  int coloured = reader->alpha_channel >= 0 ? reader->alpha_channel : reader->channels;
  if (coloured < needed) return cvtm_image_fail(reader->source, "bad TIFF: too few channels");
  return CVTM_OK;
}

/* The largest number of bytes into which one byte of the file can expand. */
static uint64_t largest_ratio(uint16_t compression) {
  switch (compression) {
    case COMPRESSION_NONE:
      return 1;
    case COMPRESSION_PACKBITS:
      return 64;
    case COMPRESSION_ADOBE_DEFLATE:
    case COMPRESSION_DEFLATE:
      return 1032;
    case COMPRESSION_LZW:
      return 4096;
    default:
      return 1 << 16;
  }
}

static cvtm_status measure_chunks(tiff_reader *reader) {
  uint64_t bytes, row;
  if (reader->tiled) {
    if (!TIFFGetField(reader->tiff, TIFFTAG_TILEWIDTH, &reader->chunk_width) ||
        !TIFFGetField(reader->tiff, TIFFTAG_TILELENGTH, &reader->chunk_height))
      return bad_tiff(reader);
    bytes = TIFFTileSize64(reader->tiff);
    row = TIFFTileRowSize64(reader->tiff);
  } else {
    uint32_t rows = 0;
    if (!TIFFGetFieldDefaulted(reader->tiff, TIFFTAG_ROWSPERSTRIP, &rows) || rows == 0)
      return bad_tiff(reader);
    reader->chunk_width = reader->width;
    reader->chunk_height = rows < reader->height ? rows : reader->height;
    bytes = TIFFVStripSize64(reader->tiff, reader->chunk_height);
    row = TIFFScanlineSize64(reader->tiff);
  }
  uint64_t together = reader->planes == 1 ? reader->channels : 1;
  uint64_t needed_row = ((uint64_t)reader->chunk_width * together * reader->bits + 7) / 8;
  if (reader->chunk_width == 0 || reader->chunk_height == 0 || row < needed_row ||
      bytes / reader->chunk_height < row)
    return bad_tiff(reader);
  /* the file must contain all rows of every tile and of every strip except the last */
  uint64_t image_row = ((uint64_t)reader->width * reader->channels * reader->bits + 7) / 8;
  uint64_t ratio = largest_ratio(reader->compression);
  CVTM_TRY(cvtm_image_check_ratio(reader->source, image_row * reader->height, ratio));
  CVTM_TRY(cvtm_image_check_ratio(reader->source, bytes, ratio));
  reader->chunk_bytes = (size_t)bytes;
  reader->row_bytes = (size_t)row;
  return CVTM_OK;
}

static cvtm_status read_tiff_header(tiff_reader *reader) {
  TIFF *tiff = reader->tiff;
  uint16_t planar = PLANARCONFIG_CONTIG;
  if (!find_page(tiff) || !TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &reader->width) ||
      !TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &reader->height))
    return bad_tiff(reader);
  CVTM_TRY(cvtm_image_check_size(reader->source, reader->width, reader->height));
  TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &reader->bits);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &reader->channels);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &reader->format);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &reader->compression);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &planar);
  if (!TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &reader->photometric))
    reader->photometric = reader->channels >= 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK;
  if (reader->channels == 0 || reader->lost_tag) return bad_tiff(reader);
  if (!TIFFIsCODECConfigured(reader->compression)) {
    return cvtm_image_fail(reader->source, "TIFF with compression %u is not supported",
                           (unsigned)reader->compression);
  }
  reader->planes = planar == PLANARCONFIG_SEPARATE ? reader->channels : 1;
  reader->tiled = TIFFIsTiled(tiff);
  find_alpha(reader);
  reader->has_nodata = find_nodata(tiff, &reader->nodata);
  CVTM_TRY(check_samples(reader));
  CVTM_TRY(check_colours(reader));
  return measure_chunks(reader);
}

/* --- Pixels --- */

static cvtm_colour_source find_profile(const tiff_reader *reader) {
  uint32_t size = 0;
  void *profile = NULL;
  if (!TIFFGetField(reader->tiff, TIFFTAG_ICCPROFILE, &size, &profile))
    return (cvtm_colour_source){0};
  return (cvtm_colour_source){.profile = profile, .profile_size = size};
}

/* The number of samples of a pixel that are colours. */
static int count_colours(const tiff_reader *reader) {
  return reader->photometric == PHOTOMETRIC_RGB         ? 3
         : reader->photometric == PHOTOMETRIC_SEPARATED ? 4
                                                        : 1;
}

static cvtm_status begin_tiff_pixels(tiff_reader *reader) {
  const int has_alpha = reader->alpha_channel >= 0, has_palette = reader->palette[0] != NULL;
  const int is_multiplied = reader->associated && !has_palette;
  const cvtm_pixel_layout layout = {.colours = has_palette ? 3 : count_colours(reader),
                                    .alpha = !has_alpha      ? CVTM_ALPHA_NONE
                                             : is_multiplied ? CVTM_ALPHA_MULTIPLIED
                                                             : CVTM_ALPHA_STRAIGHT,
                                    .kind = CVTM_SAMPLES_16,
                                    .max = has_palette ? 65535 : (1u << reader->bits) - 1};
  const cvtm_colour_source colour = find_profile(reader);
  return cvtm_pixels_begin(reader->source, layout, &colour, (int)reader->width, (int)reader->height,
                           reader->image, &reader->pixels);
}

static cvtm_status allocate_image(tiff_reader *reader) {
  const cvtm_image_source *source = reader->source;
  CVTM_TRY(is_float(reader) ? cvtm_image_allocate(source, (int)reader->width, (int)reader->height,
                                                  0, reader->image)
                            : begin_tiff_pixels(reader));
  /* zeros, because the fax decoders of libtiff leave out rows that a damaged strip does not have */
  reader->chunk = calloc((size_t)reader->planes, reader->chunk_bytes);
  if (reader->chunk == NULL) return cvtm_image_no_memory(source);
  return CVTM_OK;
}

/* The offset of channel c of pixel (x, y) of the chunk, in samples from *row; sets *row. */
static size_t locate(const tiff_reader *reader, uint32_t x, uint32_t y, int c,
                     const unsigned char **row) {
  size_t plane = reader->planes > 1 ? (size_t)c * reader->chunk_bytes : 0;
  *row = reader->chunk + plane + (size_t)y * reader->row_bytes;
  return reader->planes > 1 ? x : (size_t)x * reader->channels + (size_t)c;
}

static unsigned sample_at(const tiff_reader *reader, uint32_t x, uint32_t y, int c) {
  const unsigned char *row;
  size_t index = locate(reader, x, y, c, &row);
  if (reader->bits == 16) {
    uint16_t value;
    memcpy(&value, row + 2 * index, sizeof value);
    return value;
  }
  if (reader->bits == 8) return row[index];
  size_t bit = index * reader->bits;
  unsigned shift = 8u - reader->bits - (unsigned)(bit % 8);
  return (unsigned)row[bit / 8] >> shift & ((1u << reader->bits) - 1);
}

static double float_at(const tiff_reader *reader, uint32_t x, uint32_t y) {
  const unsigned char *row;
  size_t index = locate(reader, x, y, 0, &row);
  if (reader->bits == 64) {
    double value;
    memcpy(&value, row + 8 * index, sizeof value);
    return value;
  }
  float value;
  memcpy(&value, row + 4 * index, sizeof value);
  return (double)value;
}

/* Writes the colours of a pixel, then its alpha; returns the end of the values. */
static uint16_t *gather_pixel(const tiff_reader *reader, uint32_t x, uint32_t y, uint16_t *target) {
  const unsigned max = (1u << reader->bits) - 1;
  const int has_palette = reader->palette[0] != NULL;
  const int count = count_colours(reader);
  const unsigned first = sample_at(reader, x, y, 0);
  for (int c = 0; c < count && !has_palette; ++c) {
    const unsigned value = c == 0 ? first : sample_at(reader, x, y, c);
    *target++ = (uint16_t)(reader->photometric == PHOTOMETRIC_MINISWHITE ? max - value : value);
  }
  for (int c = 0; c < 3 && has_palette; ++c) *target++ = reader->palette[c][first];
  if (reader->alpha_channel < 0) return target;
  const unsigned alpha = sample_at(reader, x, y, reader->alpha_channel);
  *target++ = (uint16_t)(has_palette ? (uint64_t)alpha * 65535 / max : alpha);
  return target;
}

/* Marks a pixel as having no data. */
static void mask_pixel(tiff_reader *reader, uint32_t x, uint32_t y) {
  cvtm_image *image = reader->image;
  const size_t plane = (size_t)image->width * (size_t)image->height;
  const size_t at = (size_t)y * (size_t)image->width + x;
  ++image->masked;
  image->value[at] = NAN;
  if (image->alpha != NULL) image->alpha[at] = 0;
  for (size_t c = 0; c < 3 && image->rgb != NULL; ++c) image->rgb[c * plane + at] = 1;
}

/* Nonzero if all stored colours of the pixel have the value that means no data. */
static int is_nodata(const tiff_reader *reader, uint32_t x, uint32_t y) {
  const int count = count_colours(reader);
  for (int c = 0; c < count; ++c)
    if ((double)sample_at(reader, x, y, c) != reader->nodata) return 0;
  return 1;
}

static int is_float_nodata(const tiff_reader *reader, double value) {
  const double nodata = reader->bits == 32 ? (double)(float)reader->nodata : reader->nodata;
  return reader->has_nodata && (isnan(value) || value == nodata);
}

static cvtm_status store_data(tiff_reader *reader, uint32_t left, uint32_t top, uint32_t columns,
                              uint32_t rows) {
  for (uint32_t y = 0; y < rows; ++y) {
    for (uint32_t x = 0; x < columns; ++x) {
      const double value = float_at(reader, x, y);
      if (is_float_nodata(reader, value)) {
        mask_pixel(reader, left + x, top + y);
        continue;
      }
      CVTM_TRY(cvtm_image_store_data(reader->source, reader->image, (int)(left + x), (int)(top + y),
                                     value));
    }
  }
  return CVTM_OK;
}

static cvtm_status store_chunk(tiff_reader *reader, uint32_t left, uint32_t top) {
  uint32_t columns = reader->width - left, rows = reader->height - top;
  if (columns > reader->chunk_width) columns = reader->chunk_width;
  if (rows > reader->chunk_height) rows = reader->chunk_height;
  if (is_float(reader)) return store_data(reader, left, top, columns, rows);
  for (uint32_t y = 0; y < rows; ++y) {
    uint16_t *target = reader->pixels.row;
    for (uint32_t x = 0; x < columns; ++x) target = gather_pixel(reader, x, y, target);
    cvtm_pixels_store(&reader->pixels, (int)left, (int)(top + y), (int)columns, reader->pixels.row);
    for (uint32_t x = 0; reader->has_nodata && x < columns; ++x)
      if (is_nodata(reader, x, y)) mask_pixel(reader, left + x, top + y);
  }
  return CVTM_OK;
}

/* Reads the tile or strip at (left, top) of one plane; fails if it lacks a row of the image. */
static int read_chunk(tiff_reader *reader, uint32_t left, uint32_t top, int plane) {
  unsigned char *target = reader->chunk + (size_t)plane * reader->chunk_bytes;
  uint16_t sample = (uint16_t)plane;
  if (reader->tiled) {
    uint32_t tile = TIFFComputeTile(reader->tiff, left, top, 0, sample);
    tmsize_t got = TIFFReadEncodedTile(reader->tiff, tile, target, (tmsize_t)reader->chunk_bytes);
    return got == (tmsize_t)reader->chunk_bytes;
  }
  uint32_t rows = reader->height - top;
  if (rows > reader->chunk_height) rows = reader->chunk_height;
  uint32_t strip = TIFFComputeStrip(reader->tiff, top, sample);
  tmsize_t got = TIFFReadEncodedStrip(reader->tiff, strip, target, (tmsize_t)reader->chunk_bytes);
  return got >= 0 && (uint64_t)got >= (uint64_t)rows * reader->row_bytes;
}

static cvtm_status read_pixels(tiff_reader *reader) {
  for (uint32_t top = 0; top < reader->height; top += reader->chunk_height) {
    for (uint32_t left = 0; left < reader->width; left += reader->chunk_width) {
      for (int plane = 0; plane < reader->planes; ++plane) {
        if (!read_chunk(reader, left, top, plane)) return bad_tiff(reader);
      }
      CVTM_TRY(store_chunk(reader, left, top));
    }
  }
  return CVTM_OK;
}

/* Copies the palette. The 8-bit values of very old writers are widened to 16 bits. */
static cvtm_status copy_palette(tiff_reader *reader) {
  if (reader->palette[0] == NULL) return CVTM_OK;
  size_t entries = (size_t)1 << reader->bits;
  uint16_t *copy = malloc(3 * entries * sizeof *copy);
  if (copy == NULL) {
    reader->palette[0] = NULL;
    return cvtm_image_no_memory(reader->source);
  }
  int narrow = 1;
  for (size_t c = 0; c < 3; ++c) {
    memcpy(copy + c * entries, reader->palette[c], entries * sizeof *copy);
    reader->palette[c] = copy + c * entries;
  }
  for (size_t i = 0; i < 3 * entries; ++i) narrow = narrow && copy[i] < 256;
  for (size_t i = 0; narrow && i < 3 * entries; ++i) copy[i] = (uint16_t)(copy[i] * 257);
  return CVTM_OK;
}

static int is_transparent(const cvtm_image *image) {
  const size_t count = (size_t)image->width * (size_t)image->height;
  size_t k = 0;
  while (k < count && image->alpha[k] == 0) ++k;
  return k == count;
}

static void note_reading(const tiff_reader *reader, cvtm_image *image) {
  if (reader->is_guessed)
    cvtm_image_note(
        image, "the fourth sample is used as alpha, although the file does not say what it is");
  if (image->masked > 0)
    cvtm_image_note(image, "%lld of %lld pixels have no data (GDAL_NODATA is %.9g)",
                    (long long)image->masked, (long long)image->width * image->height,
                    reader->nodata);
}

static cvtm_status decode_tiff(const cvtm_image_source *source, int guesses_alpha,
                               cvtm_image *image) {
  tiff_reader reader = {.source = source, .guesses_alpha = guesses_alpha, .image = image};
  CVTM_TRY(open_tiff(&reader));
  uint16_t orientation = 1;
  cvtm_status status = read_tiff_header(&reader);
  if (status != CVTM_OK)
    reader.palette[0] = NULL; /* belongs to libtiff */
  else
    status = copy_palette(&reader);
  if (status == CVTM_OK) status = allocate_image(&reader);
  if (status == CVTM_OK) image->is_data = is_float(&reader);
  if (status == CVTM_OK) status = read_pixels(&reader);
  TIFFGetFieldDefaulted(reader.tiff, TIFFTAG_ORIENTATION, &orientation);
  if (status == CVTM_OK) image->place = find_place(reader.tiff);
  TIFFClose(reader.tiff);
  free(reader.chunk);
  free(reader.palette[0]);
  cvtm_pixels_end(&reader.pixels);
  if (status == CVTM_OK && reader.is_guessed && is_transparent(image)) {
    cvtm_image_free(image); /* the sample is 0 everywhere, so it is not alpha */
    return decode_tiff(source, 0, image);
  }
  if (status != CVTM_OK) return status;
  note_reading(&reader, image);
  return cvtm_image_orient(source, orientation, image);
}

cvtm_status cvtm_image_decode_tiff(const cvtm_image_source *source, cvtm_image *image) {
  return decode_tiff(source, 1, image);
}

#endif

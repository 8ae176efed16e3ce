#include "density/pictures/image_formats.h"

#include "base/file.h"
#include "base/host.h"
#include "base/npy.h"
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Physical size and position --- */

static int is_size(double value) { return isfinite(value) && value > 0; }

static void set_pixel(cvtm_image_place *place, double width, double height, const char *unit) {
  if (!is_size(width) || !is_size(height)) return;
  place->pixel[0] = width;
  place->pixel[1] = height;
  place->unit = unit;
}

void cvtm_place_set_resolution(cvtm_image_place *place, double across, double down,
                               double unit_mm) {
  if (is_size(across) && is_size(down)) set_pixel(place, unit_mm / across, unit_mm / down, "mm");
}

/* The name that cvtmesh uses for a unit in a file; NULL if it is unknown. The micro sign may be in
 * UTF-8 (two different characters), in Latin-1, or ImageJ's escape sequence. */
static const char *find_unit(const char *text, size_t length) {
  static const char *const known[][2] = {
      {"nm", "nm"},         {"um", "um"},       {"\xc2\xb5m", "um"},  {"\xce\xbcm", "um"},
      {"\xb5m", "um"},      {"\\u00B5m", "um"}, {"micron", "um"},     {"microns", "um"},
      {"micrometer", "um"}, {"mm", "mm"},       {"millimeter", "mm"}, {"cm", "cm"},
      {"centimeter", "cm"}, {"m", "m"},         {"meter", "m"},       {"inch", "in"},
      {"inches", "in"},     {"in", "in"},       {"ft", "ft"}};
  for (size_t k = 0; k < sizeof known / sizeof known[0]; ++k)
    if (strlen(known[k][0]) == length && strncmp(known[k][0], text, length) == 0)
      return known[k][1];
  return NULL;
}

/* Finds the value of an XML attribute, without its quotes; NULL if there is none. */
static const char *find_attribute(const char *text, const char *name, size_t *length) {
  const size_t size = strlen(name);
  for (const char *at = strstr(text, name); at != NULL; at = strstr(at + 1, name)) {
    const char *value = at + size;
    if (at == text || (at[-1] != ' ' && at[-1] != '\n' && at[-1] != '\t')) continue;
    if (value[0] != '=' || (value[1] != '"' && value[1] != '\'')) continue;
    const char *end = strchr(value + 2, value[1]);
    if (end == NULL) return NULL;
    *length = (size_t)(end - value - 2);
    return value + 2;
  }
  return NULL;
}

static double read_length(const char *text, const char *name) {
  size_t length;
  const char *value = find_attribute(text, name, &length);
  char *end = NULL;
  const double size = value != NULL ? cvtm_strtod(value, &end) : 0;
  return value != NULL && end == value + length ? size : 0;
}

/* The unit in an attribute; micrometres if the attribute is absent. */
static const char *read_unit(const char *text, const char *name) {
  size_t length;
  const char *value = find_attribute(text, name, &length);
  return value != NULL ? find_unit(value, length) : "um";
}

/* Sets the place from OME-XML (Schindelin et al.; schema 2016-06, element Pixels). */
static int set_by_ome(cvtm_image_place *place, const char *text) {
  const double width = read_length(text, "PhysicalSizeX"),
               height = read_length(text, "PhysicalSizeY");
  const char *unit = read_unit(text, "PhysicalSizeXUnit");
  if (!is_size(width) || !is_size(height) || unit == NULL) return 0;
  if (unit != read_unit(text, "PhysicalSizeYUnit")) return 0;
  set_pixel(place, width, height, unit);
  return 1;
}

static int set_by_imagej(cvtm_image_place *place, const char *text, double across, double down) {
  const char *line = strstr(text, "\nunit=");
  if (line == NULL || !is_size(across) || !is_size(down)) return 0;
  line += strlen("\nunit=");
  const char *unit = find_unit(line, strcspn(line, "\r\n"));
  if (unit == NULL) return 0;
  set_pixel(place, 1 / across, 1 / down, unit);
  return 1;
}

int cvtm_place_set_description(cvtm_image_place *place, const char *text, double across,
                               double down) {
  const int is_imagej = strncmp(text, "ImageJ=", 7) == 0;
  return is_imagej ? set_by_imagej(place, text, across, down)
                   : strstr(text, "<OME") != NULL && set_by_ome(place, text);
}

/* Drops the origin of a rotated picture; orientations from 5 on exchange the sides of a pixel. */
static void orient_place(cvtm_image_place *place, int orientation) {
  if (orientation < 2 || orientation > 8) return;
  place->has_origin = 0;
  if (orientation < 5) return;
  const double width = place->pixel[0];
  place->pixel[0] = place->pixel[1];
  place->pixel[1] = width;
}

/* --- Functions for decoders --- */

cvtm_status cvtm_image_check_size(const cvtm_image_source *source, uint64_t width,
                                  uint64_t height) {
  if (width == 0 || height == 0)
    return cvtm_image_fail(source, "the image has no pixels (%llu x %llu)",
                           (unsigned long long)width, (unsigned long long)height);
  if (width > CVTM_MAX_SIDE || height > CVTM_MAX_SIDE)
    return cvtm_image_fail(source, "%llu x %llu pixels exceed the limit of %d per side",
                           (unsigned long long)width, (unsigned long long)height, CVTM_MAX_SIDE);
  const uint64_t planes = source->with_rgb ? 4 : 1;
  return cvtm_check_expansion(source->name, source->size, width * height * planes * sizeof(float),
                              source->error);
}

cvtm_status cvtm_image_check_ratio(const cvtm_image_source *source, uint64_t raw, uint64_t ratio) {
  if (raw / ratio > source->size)
    return cvtm_image_fail(
        source, "truncated: %zu bytes cannot hold the pixels that the header claims", source->size);
  return CVTM_OK;
}

cvtm_status cvtm_image_allocate(const cvtm_image_source *source, int width, int height,
                                int with_alpha, cvtm_image *image) {
  size_t count = (size_t)width * (size_t)height;
  *image = (cvtm_image){.width = width, .height = height};
  image->value = malloc(count * sizeof *image->value);
  cvtm_prefer_large_pages(image->value, count * sizeof *image->value);
  if (with_alpha) image->alpha = malloc(count * sizeof *image->alpha);
  if (image->value == NULL || (with_alpha && image->alpha == NULL))
    return cvtm_fail(source->error, CVTM_ERROR_MEMORY, "%s: out of memory for %d x %d pixels",
                     source->name, width, height);
  return CVTM_OK;
}

cvtm_status cvtm_image_fail(const cvtm_image_source *source, const char *format, ...) {
  char reason[sizeof source->error->message];
  va_list arguments;
  va_start(arguments, format);
  cvtm_numeric_locale locale = cvtm_numeric_locale_enter();
  vsnprintf(reason, sizeof reason, format, arguments);
  cvtm_numeric_locale_leave(locale);
  va_end(arguments);
  return cvtm_fail(source->error, CVTM_ERROR_INPUT, "%s: %s", source->name, reason);
}

void cvtm_image_note(cvtm_image *image, const char *format, ...) {
  const size_t length = strlen(image->note), most = sizeof image->note;
  va_list arguments;
  va_start(arguments, format);
  if (length > 0) snprintf(image->note + length, most - length, "; ");
  const size_t start = strlen(image->note);
  vsnprintf(image->note + start, most - start, format, arguments);
  va_end(arguments);
}

void cvtm_image_free(cvtm_image *image) {
  if (image == NULL) return;
  free(image->storage != NULL ? image->storage : image->value);
  free(image->alpha);
  free(image->rgb);
  image->value = image->alpha = image->rgb = NULL;
  image->storage = NULL;
  image->width = image->height = image->is_data = 0;
  image->masked = 0;
  image->note[0] = 0;
}

/* Writes a rotated copy of one plane, with height x width pixels if the orientation exchanges the
 * sides. */
static void orient_plane(const float *plane, int width, int height, int orientation,
                         float *turned) {
  int swap = orientation >= 5;
  int mirror_x = orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
  int mirror_y = orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
  int new_width = swap ? height : width;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      int u = swap ? (mirror_x ? height - 1 - y : y) : (mirror_x ? width - 1 - x : x);
      int v = swap ? (mirror_y ? width - 1 - x : x) : (mirror_y ? height - 1 - y : y);
      turned[(size_t)v * (size_t)new_width + (size_t)u] =
          plane[(size_t)y * (size_t)width + (size_t)x];
    }
  }
}

/* Rotates `count` consecutive planes. Returns 0 if memory runs out. */
static int orient_planes(float **planes, size_t count, const cvtm_image *image, int orientation) {
  if (*planes == NULL) return 1;
  const size_t plane = (size_t)image->width * (size_t)image->height;
  float *turned = malloc(count * plane * sizeof *turned);
  if (turned == NULL) return 0;
  for (size_t k = 0; k < count; ++k)
    orient_plane(*planes + k * plane, image->width, image->height, orientation, turned + k * plane);
  free(*planes);
  *planes = turned;
  return 1;
}

cvtm_status cvtm_image_orient(const cvtm_image_source *source, int orientation, cvtm_image *image) {
  if (orientation < 2 || orientation > 8) return CVTM_OK;
  orient_place(&image->place, orientation);
  if (!orient_planes(&image->value, 1, image, orientation) ||
      !orient_planes(&image->alpha, 1, image, orientation) ||
      !orient_planes(&image->rgb, 3, image, orientation))
    return cvtm_image_no_memory(source);
  if (orientation >= 5) {
    int width = image->width;
    image->width = image->height;
    image->height = width;
  }
  return CVTM_OK;
}

cvtm_status cvtm_image_store_data(const cvtm_image_source *source, cvtm_image *image, int x, int y,
                                  double value) {
  float narrow = (float)value;
  if (isfinite(value) && !isfinite(narrow))
    return cvtm_image_fail(
        source, "the value %g at pixel (%d, %d) is too large for single precision", value, x, y);
  image->value[(size_t)y * (size_t)image->width + (size_t)x] = narrow;
  return CVTM_OK;
}

/* --- NPY --- */

static cvtm_status check_shape(const cvtm_image_source *source, const cvtm_npy *array) {
  if (array->dimensions == 2 || (array->dimensions == 3 && array->shape[2] == 1))
    return cvtm_image_check_size(source, (uint64_t)array->shape[1], (uint64_t)array->shape[0]);
  if (array->dimensions == 3)
    return cvtm_image_fail(source,
                           "an array of shape (%lld, %lld, %lld) is not a density: give one "
                           "channel, of shape (height, width)",
                           (long long)array->shape[0], (long long)array->shape[1],
                           (long long)array->shape[2]);
  return cvtm_image_fail(source,
                         "an array of %d dimensions is not a density: its shape must be "
                         "(height, width)",
                         array->dimensions);
}

/* Moves the array's floats to the image. */
static void take_floats(cvtm_npy *array, cvtm_image *image) {
  *image = (cvtm_image){.width = (int)array->shape[1],
                        .height = (int)array->shape[0],
                        .value = array->data,
                        .storage = array->storage};
  array->data = array->storage = NULL;
}

/* Stores all values; fails at the first one that overflows a float. */
static cvtm_status store_values(const cvtm_image_source *source, const cvtm_npy *array,
                                cvtm_image *image) {
  int first = image->height;
#pragma omp parallel for schedule(static) reduction(min : first) if (array->count >= 1 << 20)
  for (int y = 0; y < image->height; ++y) {
    const int64_t start = (int64_t)y * image->width;
    const int bad = cvtm_npy_get_floats(array, start, image->width, image->value + start);
    if (bad && y < first) first = y;
  }
  cvtm_status status = CVTM_OK;
  for (int x = 0; first < image->height && status == CVTM_OK && x < image->width; ++x) {
    const double value = cvtm_npy_get(array, (int64_t)first * image->width + x);
    status = cvtm_image_store_data(source, image, x, first, value);
  }
  return status;
}

static cvtm_status read_array(const cvtm_image_source *source, cvtm_npy *array) {
  if (source->owned == NULL)
    return cvtm_npy_parse(source->bytes, source->size, source->name, array, source->error);
  unsigned char *bytes = *source->owned;
  *source->owned = NULL;
  return cvtm_npy_take(bytes, source->size, source->name, array, source->error);
}

/* Makes an image of an array, and frees the array or takes over its memory. */
static cvtm_status image_of_array(const cvtm_image_source *source, cvtm_npy *array,
                                  cvtm_image *image) {
  cvtm_status status = check_shape(source, array);
  if (status == CVTM_OK && array->kind == 'f' && array->item == 4 && array->storage != NULL) {
    take_floats(array, image);
  } else if (status == CVTM_OK) {
    status = cvtm_image_allocate(source, (int)array->shape[1], (int)array->shape[0], 0, image);
    if (status == CVTM_OK) status = store_values(source, array, image);
  }
  image->is_data = 1;
  cvtm_npy_free(array);
  return status;
}

static cvtm_status decode_npy(const cvtm_image_source *source, cvtm_image *image) {
  cvtm_npy array = {0};
  CVTM_TRY(read_array(source, &array));
  return image_of_array(source, &array, image);
}

/* --- EXIF --- */

/* The first value of an entry. The standard requires SHORT here, but some writers use LONG. */
static size_t get_value(const unsigned char *entry, int big) {
  enum { BYTE = 1, LONG = 4, SBYTE = 6, SLONG = 9 };
  const unsigned type = cvtm_get_16(entry + 2, big);
  if (type == LONG || type == SLONG) return cvtm_get_32(entry + 8, big);
  return type == BYTE || type == SBYTE ? entry[8] : cvtm_get_16(entry + 8, big);
}

int cvtm_exif_orientation(const unsigned char *data, size_t size) {
  enum { TAG_ORIENTATION = 0x0112, ENTRY_SIZE = 12 };
  if (size >= 6 && memcmp(data, "Exif\0\0", 6) == 0) {
    data += 6;
    size -= 6;
  }
  if (size < 8 || (memcmp(data, "II", 2) != 0 && memcmp(data, "MM", 2) != 0)) return 1;
  int big = data[0] == 'M';
  size_t directory = cvtm_get_32(data + 4, big);
  if (directory > size - 2) return 1;
  size_t entries = cvtm_get_16(data + directory, big);
  for (size_t i = 0; i < entries; ++i) {
    size_t entry = directory + 2 + i * ENTRY_SIZE;
    if (entry + ENTRY_SIZE > size) return 1;
    if (cvtm_get_16(data + entry, big) != TAG_ORIENTATION) continue;
    const size_t value = get_value(data + entry, big);
    return value <= 8 ? (int)value : 1;
  }
  return 1;
}

/* --- The format of a file, from its first bytes --- */

/* DECODE_X: the decoder, or NULL in a build without its library. */
#define WITH_0(decode) NULL
#define WITH_1(decode) decode
#define WITH_LIBRARY(has, decode) WITH_FLAG(has, decode)
#define WITH_FLAG(has, decode) WITH_##has(decode)
#define DECODE_PNG WITH_LIBRARY(CVTMESH_HAVE_PNG, cvtm_image_decode_png)
#define DECODE_JPEG WITH_LIBRARY(CVTMESH_HAVE_JPEG, cvtm_image_decode_jpeg)
#define DECODE_TIFF WITH_LIBRARY(CVTMESH_HAVE_TIFF, cvtm_image_decode_tiff)
#define DECODE_WEBP WITH_LIBRARY(CVTMESH_HAVE_WEBP, cvtm_image_decode_webp)
#define DECODE_GIF WITH_LIBRARY(CVTMESH_HAVE_GIF, cvtm_image_decode_gif)
#define DECODE_HEIF WITH_LIBRARY(CVTMESH_HAVE_HEIF, cvtm_image_decode_heif)

/* Nonzero if the file has `magic` at offset `at`. */
static int has_magic(const cvtm_image_source *source, size_t at, const char *magic, size_t length) {
  return source->size >= at + length && memcmp(source->bytes + at, magic, length) == 0;
}

static int is_netpbm(const cvtm_image_source *source) {
  return source->size >= 3 && source->bytes[0] == 'P' && source->bytes[1] != 0 &&
         strchr("123456fF", source->bytes[1]) != NULL &&
         (isspace(source->bytes[2]) || source->bytes[2] == '#');
}

/* Nonzero for BMP. Also tests the size of the second header, because texts may begin with `BM`. */
static int is_bmp(const cvtm_image_source *source) {
  return has_magic(source, 0, "BM", 2) && source->size >= 18 && source->bytes[14] >= 12 &&
         source->bytes[15] == 0 && source->bytes[16] == 0 && source->bytes[17] == 0;
}

/* Nonzero for a file of the ISO base media format with one of these brands. */
static int is_heif(const cvtm_image_source *source) {
  static const char *const brands[] = {"heic", "heix", "heim", "heis", "hevc",
                                       "hevx", "mif1", "msf1", "avif", "avis"};
  for (size_t k = 0; k < sizeof brands / sizeof brands[0]; ++k)
    if (has_magic(source, 4, "ftyp", 4) && has_magic(source, 8, brands[k], 4)) return 1;
  return 0;
}

typedef struct image_kind {
  const char *name;
  const char *formats;    /* names in cvtm_image_formats; NULL: another row has the name, or cvtmesh
                             does not read the format */
  const char *extensions; /* other extensions of the format; NULL: none */
  const char *magic;
  size_t at, length;
  int (*matches)(const cvtm_image_source *source); /* test used instead of the magic bytes */
  cvtm_image_decoder *decode;                      /* NULL: this build or cvtmesh has no decoder */
  /* A command that converts the file to PNG: the text before the name of the file, and the text
   * between that name and the name of the PNG. */
  const char *convert, *into;
} image_kind;

static const image_kind kinds[] = {
    {"PNG", "png", NULL, "\x89PNG", 0, 4, NULL, DECODE_PNG, NULL, NULL},
    {"JPEG", "jpeg", "jpg", "\xff\xd8\xff", 0, 3, NULL, DECODE_JPEG, "convert", ""},
    {"TIFF", "tiff", "tif", "II*\0", 0, 4, NULL, DECODE_TIFF, "convert", ""},
    {"TIFF", NULL, NULL, "MM\0*", 0, 4, NULL, DECODE_TIFF, "convert", ""},
    {"TIFF", NULL, NULL, "II+\0", 0, 4, NULL, DECODE_TIFF, "convert", ""},
    {"TIFF", NULL, NULL, "MM\0+", 0, 4, NULL, DECODE_TIFF, "convert", ""},
    {"WebP", "webp", NULL, "WEBP", 8, 4, NULL, DECODE_WEBP, "dwebp", "-o "},
    {"GIF", "gif", NULL, "GIF8", 0, 4, NULL, DECODE_GIF, "convert", ""},
    {"HEIC or AVIF", "heic avif", NULL, NULL, 0, 0, is_heif, DECODE_HEIF, "heif-convert", ""},
    {"BMP", "bmp", NULL, NULL, 0, 0, is_bmp, cvtm_image_decode_bmp, NULL, NULL},
    {"Netpbm", "pnm pfm", "pgm ppm pbm", NULL, 0, 0, is_netpbm, cvtm_image_decode_pnm, NULL, NULL},
    {"NPY", "npy", NULL, "\x93NUMPY", 0, 6, NULL, decode_npy, NULL, NULL},
    {"JPEG XL", NULL, NULL, "\xff\x0a", 0, 2, NULL, NULL, "djxl", ""},
    {"JPEG XL", NULL, NULL, "JXL ", 4, 4, NULL, NULL, "djxl", ""},
    {"JPEG 2000", NULL, NULL, "jP  ", 4, 4, NULL, NULL, "opj_decompress -i", "-o "},
    {"OpenEXR", NULL, NULL, "v/1\x01", 0, 4, NULL, NULL, "convert", ""},
    {"Photoshop's PSD", NULL, NULL, "8BPS", 0, 4, NULL, NULL, "convert", ""}};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static const image_kind *find_kind(const cvtm_image_source *source) {
  for (int k = 0; k < KINDS; ++k) {
    const image_kind *kind = &kinds[k];
    if (kind->matches != NULL ? kind->matches(source)
                              : has_magic(source, kind->at, kind->magic, kind->length))
      return kind;
  }
  return NULL;
}

/* The format that the extension stands for, or NULL. */
static const char *promised_format(const char *name) {
  char buffer[16];
  const char *extension = cvtm_file_extension(name, buffer, sizeof buffer);
  for (int k = 0; k < KINDS; ++k)
    if (cvtm_text_has_word(kinds[k].formats, extension) ||
        cvtm_text_has_word(kinds[k].extensions, extension))
      return kinds[k].name;
  return NULL;
}

/* Finds the decoder for a file by its first bytes. Fails with CVTM_ERROR_UNSUPPORTED if this build
 * cannot read the format; the message has a command that converts the file. */
static cvtm_status find_decoder(const cvtm_image_source *source, cvtm_image_decoder **decode) {
  const char *name = source->name;
  const image_kind *kind = find_kind(source);
  if (kind != NULL && kind->decode == NULL && (kind->convert == NULL || !CVTMESH_HAVE_PNG))
    return cvtm_fail(source->error, CVTM_ERROR_UNSUPPORTED, "%s: this build does not read %s", name,
                     kind->name);
  if (kind != NULL && kind->decode == NULL)
    return cvtm_fail(source->error, CVTM_ERROR_UNSUPPORTED,
                     "%s: this build does not read %s; convert it to PNG: %s %s %s%s.png", name,
                     kind->name, kind->convert, name, kind->into, name);
  if (kind != NULL) {
    *decode = kind->decode;
    return CVTM_OK;
  }
  const char *promised = promised_format(name);
  return cvtm_image_fail(source, "%s%s%sunknown image format (these are read: %s)",
                         promised != NULL ? "not " : "", promised != NULL ? promised : "",
                         promised != NULL ? ": " : "", cvtm_image_formats());
}

const char *cvtm_image_formats(void) {
  static _Thread_local char list[128];
  size_t used = 0;
  for (int k = 0; k < KINDS; ++k)
    if (kinds[k].decode != NULL && kinds[k].formats != NULL && used < sizeof list)
      used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? " " : "",
                               kinds[k].formats);
  return list;
}

/* --- Dispatch --- */

int cvtm_image_applies_profiles(void) { return CVTMESH_HAVE_LCMS2; }

/* Decodes a file. For a large PNG or JPEG a team of threads works: the calling thread decodes, and
 * tasks store the rows and inflate the next rows of a PNG. */
static cvtm_status decode_in_team(cvtm_image_decoder *decode, const cvtm_image_source *source,
                                  cvtm_image *image) {
  const size_t small = (size_t)1 << 16; /* bytes of a file below which one thread is as fast */
  const int has_tasks = decode == DECODE_PNG || decode == DECODE_JPEG;
  if (!has_tasks || source->size < small) return decode(source, image);
  cvtm_status status = CVTM_OK;
#pragma omp parallel
#pragma omp master
  status = decode(source, image);
  return status;
}

static cvtm_status parse_image(const cvtm_image_source *source, cvtm_image *image) {
  *image = (cvtm_image){0};
  if (source->size == 0) return cvtm_image_fail(source, "the file is empty");
  cvtm_image_decoder *decode = NULL;
  CVTM_TRY(find_decoder(source, &decode));
  errno = 0;
  cvtm_status status = decode_in_team(decode, source, image);
  /* image libraries report a failed allocation only as text, but set errno */
  if (status == CVTM_ERROR_INPUT && errno == ENOMEM) status = cvtm_image_no_memory(source);
  if (status != CVTM_OK) cvtm_image_free(image);
  return status;
}

cvtm_status cvtm_image_parse(const unsigned char *bytes, size_t size, const char *name,
                             cvtm_image *image, cvtm_error *error) {
  const cvtm_image_source source = {.bytes = bytes, .size = size, .name = name, .error = error};
  return parse_image(&source, image);
}

cvtm_status cvtm_image_parse_colour(const unsigned char *bytes, size_t size, const char *name,
                                    cvtm_image *image, cvtm_error *error) {
  const cvtm_image_source source = {
      .bytes = bytes, .size = size, .name = name, .error = error, .with_rgb = 1};
  return parse_image(&source, image);
}

static cvtm_status read_image(const char *path, int with_rgb, cvtm_image *image,
                              cvtm_error *error) {
  *image = (cvtm_image){0};
  unsigned char *bytes = NULL;
  size_t size = 0;
  CVTM_TRY(cvtm_file_read(path, CVTM_FILE_MOST, &bytes, &size, error));
  const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
  const cvtm_image_source source = {bytes, size, name, error, &bytes, with_rgb};
  cvtm_status status = parse_image(&source, image);
  free(bytes);
  return status;
}

cvtm_status cvtm_image_read(const char *path, cvtm_image *image, cvtm_error *error) {
  return read_image(path, 0, image, error);
}

cvtm_status cvtm_image_read_colour(const char *path, cvtm_image *image, cvtm_error *error) {
  return read_image(path, 1, image, error);
}

cvtm_status cvtm_image_open(const cvtm_input *source, int with_rgb, cvtm_image *image,
                            cvtm_error *error) {
  if (source->array == NULL) return read_image(source->name, with_rgb, image, error);
  cvtm_npy array;
  *image = (cvtm_image){0};
  CVTM_TRY(cvtm_npy_open(source, &array, error));
  const cvtm_image_source from = {
      .name = source->name, .error = error, .size = (size_t)array.count * (size_t)array.item};
  cvtm_status status = image_of_array(&from, &array, image);
  if (status != CVTM_OK) cvtm_image_free(image);
  return status;
}

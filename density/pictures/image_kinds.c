/* Which format a file has, by its first bytes. */
#include "density/pictures/image_formats.h"

#include "base/file.h"

#include <ctype.h>
#include <string.h>

#if CVTMESH_HAVE_WEBP
#define DECODE_WEBP cvtm_image_decode_webp
#else
#define DECODE_WEBP NULL
#endif
#if CVTMESH_HAVE_GIF
#define DECODE_GIF cvtm_image_decode_gif
#else
#define DECODE_GIF NULL
#endif
#if CVTMESH_HAVE_HEIF
#define DECODE_HEIF cvtm_image_decode_heif
#else
#define DECODE_HEIF NULL
#endif

/* `magic` at offset `at`. */
static int has_magic(const cvtm_image_source *source, size_t at, const char *magic, size_t length) {
  return source->size >= at + length && memcmp(source->bytes + at, magic, length) == 0;
}

static int is_netpbm(const cvtm_image_source *source) {
  return source->size >= 3 && source->bytes[0] == 'P' && source->bytes[1] != 0 &&
         strchr("123456fF", source->bytes[1]) != NULL &&
         (isspace(source->bytes[2]) || source->bytes[2] == '#');
}

/* The size of the second header, since `BM` begins many a text. */
static int is_bmp(const cvtm_image_source *source) {
  return has_magic(source, 0, "BM", 2) && source->size >= 18 && source->bytes[14] >= 12 &&
         source->bytes[15] == 0 && source->bytes[16] == 0 && source->bytes[17] == 0;
}

/* A file of the ISO base media format of one of these brands. */
static int is_heif(const cvtm_image_source *source) {
  static const char *const brands[] = {"heic", "heix", "heim", "heis", "hevc",
                                       "hevx", "mif1", "msf1", "avif", "avis"};
  for (size_t k = 0; k < sizeof brands / sizeof brands[0]; ++k)
    if (has_magic(source, 4, "ftyp", 4) && has_magic(source, 8, brands[k], 4)) return 1;
  return 0;
}

typedef struct image_kind {
  const char *name, *magic;
  size_t at, length;
  int (*matches)(const cvtm_image_source *source); /* instead of the magic bytes */
  cvtm_image_decoder decode; /* NULL: no decoder in this build, or none at all */
  /* A command that converts the file to PNG: what stands before its name, and between that and the
   * name of the PNG. */
  const char *convert, *into;
} image_kind;

static const image_kind kinds[] = {
    {"PNG", "\x89PNG", 0, 4, NULL, cvtm_image_decode_png, NULL, NULL},
    {"JPEG", "\xff\xd8\xff", 0, 3, NULL, cvtm_image_decode_jpeg, NULL, NULL},
    {"TIFF", "II*\0", 0, 4, NULL, cvtm_image_decode_tiff, "convert", ""},
    {"TIFF", "MM\0*", 0, 4, NULL, cvtm_image_decode_tiff, "convert", ""},
    {"TIFF", "II+\0", 0, 4, NULL, cvtm_image_decode_tiff, "convert", ""},
    {"TIFF", "MM\0+", 0, 4, NULL, cvtm_image_decode_tiff, "convert", ""},
    {"NPY", "\x93NUMPY", 0, 6, NULL, cvtm_image_decode_npy, NULL, NULL},
    {"Netpbm", NULL, 0, 0, is_netpbm, cvtm_image_decode_pnm, NULL, NULL},
    {"WebP", "WEBP", 8, 4, NULL, DECODE_WEBP, "dwebp", "-o "},
    {"GIF", "GIF8", 0, 4, NULL, DECODE_GIF, "convert", ""},
    {"BMP", NULL, 0, 0, is_bmp, cvtm_image_decode_bmp, NULL, NULL},
    {"HEIC or AVIF", NULL, 0, 0, is_heif, DECODE_HEIF, "heif-convert", ""},
    {"JPEG XL", "\xff\x0a", 0, 2, NULL, NULL, "djxl", ""},
    {"JPEG XL", "JXL ", 4, 4, NULL, NULL, "djxl", ""},
    {"JPEG 2000", "jP  ", 4, 4, NULL, NULL, "opj_decompress -i", "-o "},
    {"OpenEXR", "v/1\x01", 0, 4, NULL, NULL, "convert", ""},
    {"Photoshop's PSD", "8BPS", 0, 4, NULL, NULL, "convert", ""}};

static const image_kind *find_kind(const cvtm_image_source *source) {
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; ++k) {
    const image_kind *kind = &kinds[k];
    if (kind->matches != NULL ? kind->matches(source)
                              : has_magic(source, kind->at, kind->magic, kind->length))
      return kind;
  }
  return NULL;
}

/* The format that the extension promises, or NULL. */
static const char *promised_format(const char *name) {
  static const char *const promises[][2] = {
      {"png", "a PNG"},   {"jpg", "a JPEG"}, {"jpeg", "a JPEG"}, {"tif", "a TIFF"},
      {"tiff", "a TIFF"}, {"pgm", "a PGM"},  {"ppm", "a PPM"},   {"pbm", "a PBM"},
      {"pfm", "a PFM"},   {"npy", "an NPY"}, {"webp", "a WebP"}, {"pnm", "a PGM, PPM"},
      {"gif", "a GIF"},   {"bmp", "a BMP"},  {"heic", "a HEIC"}, {"avif", "an AVIF"}};
  char buffer[16];
  const char *extension = cvtm_file_extension(name, buffer, sizeof buffer);
  for (size_t i = 0; i < sizeof promises / sizeof promises[0]; ++i) {
    if (strcmp(extension, promises[i][0]) == 0) return promises[i][1];
  }
  return NULL;
}

cvtm_status cvtm_image_find_decoder(const cvtm_image_source *source, cvtm_image_decoder *decode,
                                    cvtm_error *error) {
  const char *name = source->name;
  const image_kind *kind = find_kind(source);
  const int is_missing =
      kind != NULL && (kind->decode == NULL ||
                       (kind->decode == cvtm_image_decode_tiff && !cvtm_image_tiff_available()));
  if (is_missing)
    return cvtm_fail(error, CVTM_ERROR_UNSUPPORTED,
                     "%s: this build does not read %s; convert it to PNG: %s %s %s%s.png", name,
                     kind->name, kind->convert, name, kind->into, name);
  if (kind != NULL) {
    *decode = kind->decode;
    return CVTM_OK;
  }
  const char *promised = promised_format(name);
  return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: %s%s%sunknown image format (these are read: %s)",
                   name, promised != NULL ? "not " : "", promised != NULL ? promised : "",
                   promised != NULL ? ": " : "", cvtm_image_formats());
}

#if CVTMESH_HAVE_WEBP
#define NAME_WEBP " webp"
#else
#define NAME_WEBP ""
#endif
#if CVTMESH_HAVE_GIF
#define NAME_GIF " gif"
#else
#define NAME_GIF ""
#endif
#if CVTMESH_HAVE_HEIF
#define NAMES_HEIF " heic avif"
#else
#define NAMES_HEIF ""
#endif
#define OTHER_NAMES NAME_WEBP NAME_GIF NAMES_HEIF " bmp pnm pfm npy"

const char *cvtm_image_formats(void) {
  return cvtm_image_tiff_available() ? "png jpeg tiff" OTHER_NAMES : "png jpeg" OTHER_NAMES;
}

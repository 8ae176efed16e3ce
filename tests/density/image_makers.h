/* Small images made with the libraries themselves, and what their luminance should be. */
#pragma once

#include "testing.h"

#include "density/density.h"

#include <unistd.h>

#include <jpeglib.h>
#include <png.h>

typedef struct made_file {
  unsigned char *bytes;
  size_t size;
} made_file;

static inline void append(made_file *file, const void *bytes, size_t size) {
  file->bytes = realloc(file->bytes, file->size + size + 1);
  assert_non_null(file->bytes);
  if (size > 0) memcpy(file->bytes + file->size, bytes, size);
  file->size += size;
}

/* Numbers from 0 to limit - 1 that look random and never change. */
static inline unsigned scramble(unsigned i, unsigned limit) {
  unsigned h = i * 2654435761u + 12345u;
  h ^= h >> 15;
  h *= 2246822519u;
  h ^= h >> 13;
  return h % limit;
}

static inline double linear_of(double v) {
  return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

/* Encoded colour over white, decoded, weighted; all in [0, 1]. */
static inline double expected_luminance(double r, double g, double b, double a) {
  return 0.2126 * linear_of(r * a + 1 - a) + 0.7152 * linear_of(g * a + 1 - a) +
         0.0722 * linear_of(b * a + 1 - a);
}

/* --- PNG --- */

static inline void append_png(png_structp png, png_bytep bytes, size_t size) {
  append(png_get_io_ptr(png), bytes, size);
}

static inline void flush_nothing(png_structp png) { (void)png; }

typedef struct png_recipe {
  int width, height, depth, colour, interlace;
  const png_color *palette;
  int palette_count;
  const unsigned char *palette_alpha;
  const png_color_16 *transparent;
  double gamma; /* 0: no chunk */
  int filters;  /* of libpng; 0: it chooses */
} png_recipe;

/* rows: packed as PNG packs them, 16 bits big-endian. */
static inline made_file make_png(const png_recipe *recipe, const unsigned char *rows,
                                 size_t row_bytes) {
  made_file file = {NULL, 0};
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
  png_infop info = png_create_info_struct(png);
  assert_non_null(info);
  png_set_write_fn(png, &file, append_png, flush_nothing);
  png_set_compression_level(png, 1);
  png_set_IHDR(png, info, (png_uint_32)recipe->width, (png_uint_32)recipe->height, recipe->depth,
               recipe->colour, recipe->interlace, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  if (recipe->palette != NULL) png_set_PLTE(png, info, recipe->palette, recipe->palette_count);
  if (recipe->palette_alpha != NULL || recipe->transparent != NULL) {
    png_set_tRNS(png, info, recipe->palette_alpha,
                 recipe->palette_alpha != NULL ? recipe->palette_count : 0, recipe->transparent);
  }
  if (recipe->gamma > 0) png_set_gAMA(png, info, recipe->gamma);
  png_write_info(png, info);
  if (recipe->filters != 0) png_set_filter(png, PNG_FILTER_TYPE_BASE, recipe->filters);
  png_bytep *pointers = malloc((size_t)recipe->height * sizeof *pointers);
  assert_non_null(pointers);
  for (int y = 0; y < recipe->height; ++y)
    pointers[y] = (png_bytep)(uintptr_t)(rows + (size_t)y * row_bytes);
  png_write_image(png, pointers);
  png_write_end(png, info);
  free(pointers);
  png_destroy_write_struct(&png, &info);
  return file;
}

/* --- JPEG --- */

typedef struct jpeg_recipe {
  int width, height, channels;
  J_COLOR_SPACE in, stored;
  int progressive;
  const unsigned char *exif; /* contents of an APP1 marker, or NULL */
  unsigned exif_size;
} jpeg_recipe;

static inline made_file make_jpeg(const jpeg_recipe *recipe, const unsigned char *pixels) {
  made_file file = {NULL, 0};
  struct jpeg_compress_struct jpeg;
  struct jpeg_error_mgr errors;
  unsigned char *bytes = NULL;
  unsigned long size = 0;
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  jpeg_mem_dest(&jpeg, &bytes, &size);
  jpeg.image_width = (JDIMENSION)recipe->width;
  jpeg.image_height = (JDIMENSION)recipe->height;
  jpeg.input_components = recipe->channels;
  jpeg.in_color_space = recipe->in;
  jpeg_set_defaults(&jpeg);
  jpeg_set_colorspace(&jpeg, recipe->stored);
  jpeg_set_quality(&jpeg, 100, TRUE);
  for (int c = 0; c < jpeg.num_components; ++c)
    jpeg.comp_info[c].h_samp_factor = jpeg.comp_info[c].v_samp_factor = 1;
  if (recipe->progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  if (recipe->exif != NULL)
    jpeg_write_marker(&jpeg, JPEG_APP0 + 1, recipe->exif, recipe->exif_size);
  while (jpeg.next_scanline < jpeg.image_height) {
    JSAMPROW row = (JSAMPROW)(uintptr_t)(pixels + (size_t)jpeg.next_scanline *
                                                      (size_t)(recipe->width * recipe->channels));
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  append(&file, bytes, size);
  free(bytes);
  return file;
}

/* --- Reading back --- */

static inline cvtm_image read_ok(const made_file *file, const char *name) {
  cvtm_error error = {CVTM_OK, ""};
  cvtm_image image;
  if (cvtm_image_parse(file->bytes, file->size, name, &image, &error) != CVTM_OK)
    fail_msg("%s", error.message);
  return image;
}

static inline void free_both(cvtm_image *image, const made_file *file) {
  cvtm_image_free(image);
  free(file->bytes);
}

/* The message must begin with the name and hold `part`; the image must be empty. */
static inline void read_fails(const made_file *file, const char *name, const char *part) {
  cvtm_image image = {.width = 1, .height = 1, .is_data = 1};
  cvtm_error error = {CVTM_OK, ""};
  setenv("CVTMESH_READ_LIMIT", "1024G", 1); /* the decoders' own checks */
  cvtm_status status = cvtm_image_parse(file->bytes, file->size, name, &image, &error);
  unsetenv("CVTMESH_READ_LIMIT");
  if (status != CVTM_ERROR_INPUT) fail_msg("%s: status %d", name, (int)status);
  assert_int_equal(error.status, CVTM_ERROR_INPUT);
  assert_memory_equal(error.message, name, strlen(name));
  assert_int_equal(error.message[strlen(name)], ':');
  assert_null(strchr(error.message, '\n'));
  if (strstr(error.message, part) == NULL) fail_msg("'%s' lacks '%s'", error.message, part);
  assert_null(image.value);
  assert_null(image.alpha);
}

/* The same, and the file is freed. */
static inline void refused_file(made_file file, const char *name, const char *part) {
  read_fails(&file, name, part);
  free(file.bytes);
}

static inline void assert_near(double found, double expected, double tolerance, int x, int y) {
  if (!(fabs(found - expected) <= tolerance))
    fail_msg("pixel (%d, %d): %.9g, expected %.9g", x, y, found, expected);
}

/* Cuts the file at every byte: whatever the answer, it is a clean one. Cuts shorter than
 * `whole` bytes must be errors, the others may be read. A copy of exact size lets
 * AddressSanitizer see a read beyond the cut. */
static inline void cut_everywhere(const made_file *file, const char *name, size_t whole) {
  for (size_t size = 0; size < file->size; ++size) {
    unsigned char *copy = malloc(size > 0 ? size : 1);
    assert_non_null(copy);
    memcpy(copy, file->bytes, size);
    cvtm_image image = {0};
    cvtm_error error = {CVTM_OK, ""};
    cvtm_status status = cvtm_image_parse(copy, size, name, &image, &error);
    if (status == CVTM_OK && size < whole) fail_msg("%s: read though cut at %zu", name, size);
    if (status != CVTM_OK) {
      assert_memory_equal(error.message, name, strlen(name));
      assert_null(image.value);
    }
    cvtm_image_free(&image);
    free(copy);
  }
}

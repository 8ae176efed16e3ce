/* Rows of plain PNG files are those that libpng reads, and libpng judges whatever is damaged. */
#include "density/pictures/image_formats.h"
#include "image_makers.h"

#include <zlib.h>

typedef struct plain_kind {
  int colour, channels, depth;
} plain_kind;

static const plain_kind kinds[] = {{PNG_COLOR_TYPE_GRAY, 1, 8},  {PNG_COLOR_TYPE_GRAY_ALPHA, 2, 8},
                                   {PNG_COLOR_TYPE_RGB, 3, 8},   {PNG_COLOR_TYPE_RGB_ALPHA, 4, 8},
                                   {PNG_COLOR_TYPE_GRAY, 1, 16}, {PNG_COLOR_TYPE_GRAY_ALPHA, 2, 16},
                                   {PNG_COLOR_TYPE_RGB, 3, 16},  {PNG_COLOR_TYPE_RGB_ALPHA, 4, 16}};

static size_t bytes_of_row(const plain_kind *kind, int width) {
  return (size_t)(width * kind->channels * kind->depth / 8);
}

/* Slopes with noise, of which a filter predicts a part. */
static unsigned char *make_rows(size_t bytes, int height) {
  unsigned char *rows = malloc(bytes * (size_t)height);
  assert_non_null(rows);
  for (size_t i = 0; i < bytes * (size_t)height; ++i)
    rows[i] = (unsigned char)(i % bytes / 3 + i / bytes * 5 + scramble((unsigned)i, 16));
  return rows;
}

/* Where the first IDAT chunk begins. */
static size_t find_idat(const made_file *file) {
  size_t at = 8;
  while (memcmp(file->bytes + at + 4, "IDAT", 4) != 0)
    at += 12 + (size_t)(file->bytes[at + 2] << 8 | file->bytes[at + 3]);
  return at;
}

/* Reads the rows without libpng; returns whether that was done. */
static int read_directly(const made_file *file, const plain_kind *kind, int width, int height,
                         cvtm_image *image) {
  const cvtm_image_source source = {.bytes = file->bytes, .size = file->size, .name = "direct.png"};
  const cvtm_pixel_layout layout = {
      .colours = kind->channels >= 3 ? 3 : 1,
      .alpha = kind->channels % 2 == 0 ? CVTM_ALPHA_STRAIGHT : CVTM_ALPHA_NONE,
      .kind = kind->depth == 16 ? CVTM_SAMPLES_16_BIG : CVTM_SAMPLES_8,
      .max = kind->depth == 16 ? 65535 : 255};
  const cvtm_colour_source colour = {0};
  cvtm_pixels pixels;
  size_t position = find_idat(file);
  int done = 0;
  *image = (cvtm_image){0};
  assert_ok(cvtm_pixels_begin(&source, layout, &colour, width, height, image, &pixels));
  assert_ok(cvtm_pixels_begin_rows(&source, &pixels));
#pragma omp parallel
#pragma omp master
  assert_ok(cvtm_png_rows_read(&source, &position, &pixels, &done));
  cvtm_pixels_end(&pixels);
  if (done) assert_memory_equal(file->bytes + position + 4, "IEND", 4);
  return done;
}

static void assert_same_picture(const cvtm_image *a, const cvtm_image *b) {
  const size_t bytes = (size_t)a->width * (size_t)a->height * sizeof *a->value;
  assert_int_equal(a->width, b->width);
  assert_int_equal(a->height, b->height);
  assert_memory_equal(a->value, b->value, bytes);
  assert_int_equal(a->alpha != NULL, b->alpha != NULL);
  if (a->alpha != NULL) assert_memory_equal(a->alpha, b->alpha, bytes);
}

/* libpng reads the interlaced file. */
static void check_kind(const plain_kind *kind, int filters) {
  enum { WIDTH = 301 };
  const size_t bytes = bytes_of_row(kind, WIDTH);
  const int height = (int)(600000 / bytes); /* more than one block of rows */
  unsigned char *rows = make_rows(bytes, height);
  png_recipe recipe = {
      .width = WIDTH, .height = height, .depth = kind->depth, .colour = kind->colour};
  recipe.interlace = PNG_INTERLACE_ADAM7;
  made_file interlaced = make_png(&recipe, rows, bytes);
  recipe.interlace = PNG_INTERLACE_NONE;
  recipe.filters = filters;
  made_file plain = make_png(&recipe, rows, bytes);
  cvtm_image expected, found, direct;
  expected = read_ok(&interlaced, "interlaced.png");
  found = read_ok(&plain, "plain.png");
  assert_same_picture(&expected, &found);
  assert_int_equal(read_directly(&plain, kind, WIDTH, height, &direct), CVTMESH_HAVE_ISAL);
  if (CVTMESH_HAVE_ISAL) assert_same_picture(&expected, &direct);
  cvtm_image_free(&expected);
  cvtm_image_free(&found);
  cvtm_image_free(&direct);
  free_all(interlaced.bytes, plain.bytes, rows);
}

TEST(plain_rows_are_those_of_libpng) {
  static const int filters[] = {PNG_FILTER_NONE, PNG_FILTER_SUB, PNG_FILTER_UP, PNG_FILTER_AVG,
                                PNG_FILTER_PAETH};
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; ++k) {
    check_kind(&kinds[k], PNG_ALL_FILTERS);
    check_kind(&kinds[k], filters[k % 5]);
  }
  for (int k = 0; k < 5; ++k) check_kind(&kinds[0], filters[k]);
}

/* --- Damage --- */

enum { SIDE = 200 };

static void append_chunk(made_file *file, const char *type, const unsigned char *bytes,
                         size_t size) {
  unsigned char head[8] = {(unsigned char)(size >> 24), (unsigned char)(size >> 16),
                           (unsigned char)(size >> 8), (unsigned char)size};
  memcpy(head + 4, type, 4);
  uLong crc = crc32(crc32(0, head + 4, 4), bytes, (uInt)size);
  if (size == 0) crc = crc32(0, head + 4, 4); /* NULL starts anew */
  const unsigned char tail[4] = {(unsigned char)(crc >> 24), (unsigned char)(crc >> 16),
                                 (unsigned char)(crc >> 8), (unsigned char)crc};
  append(file, head, sizeof head);
  if (size > 0) append(file, bytes, size);
  append(file, tail, sizeof tail);
}

/* A grey picture of SIDE x SIDE from any filtered rows, its stream in chunks of `part` bytes;
 * change: added to byte `where` of the stream, which counts from its end if it is negative. */
static made_file make_from_lines(const unsigned char *lines, size_t count, size_t part, long where,
                                 int change) {
  unsigned char *packed = malloc(compressBound(count));
  uLongf size = compressBound(count);
  const unsigned char header[13] = {0, 0, 0, SIDE, 0, 0, 0, SIDE, 8};
  made_file file = {NULL, 0};
  assert_non_null(packed);
  assert_int_equal(compress(packed, &size, lines, count), Z_OK);
  const size_t at = where < 0 ? size - (size_t)-where : (size_t)where;
  packed[at] = (unsigned char)(packed[at] + change);
  append(&file, "\x89PNG\r\n\x1a\n", 8);
  append_chunk(&file, "IHDR", header, sizeof header);
  for (size_t k = 0; k < size; k += part)
    append_chunk(&file, "IDAT", packed + k, size - k < part ? size - k : part);
  append_chunk(&file, "IEND", NULL, 0);
  free(packed);
  return file;
}

/* Whether the picture can be read, and whether that takes libpng. */
static void check_stream(const unsigned char *lines, size_t count, size_t part, long where,
                         int change, const char *reason, int direct) {
  static const plain_kind grey = {PNG_COLOR_TYPE_GRAY, 1, 8};
  made_file file = make_from_lines(lines, count, part, where, change);
  cvtm_image image;
  if (reason == NULL) {
    image = read_ok(&file, "stream.png");
    cvtm_image_free(&image);
  } else {
    read_fails(&file, "stream.png", reason);
  }
  const int done = read_directly(&file, &grey, SIDE, SIDE, &image);
  assert_int_equal(done, direct && CVTMESH_HAVE_ISAL);
  free_both(&image, &file);
}

TEST(libpng_judges_what_is_damaged) {
  const size_t line = SIDE + 1, count = line * SIDE;
  unsigned char *lines = make_rows(line, SIDE + 1);
  for (size_t y = 0; y <= SIDE; ++y) lines[y * line] = (unsigned char)(y % 5);
  check_stream(lines, count, 4096, 0, 0, NULL, 1);
  check_stream(lines, count, 1, 0, 0, NULL, 1);
  check_stream(lines, count, 1 << 20, 0, 0, NULL, 1);
  check_stream(lines, count - 1, 4096, 0, 0, "", 0);      /* the last row is not whole */
  check_stream(lines, count + line, 4096, 0, 0, NULL, 0); /* libpng takes what it needs */
  check_stream(lines, count, 4096, -1, 1, "check", 0);    /* the checksum of the stream */
  check_stream(lines, count, 4096, 0, 1, "", 0);          /* no deflate */
  check_stream(lines, count, 4096, 1, 0x20, "", 0);       /* a dictionary is needed */
  check_stream(lines, count, 4096, 2, 6, "", 0);          /* a block of the kind 3 */
  lines[7 * line] = 5;
  check_stream(lines, count, 4096, 0, 0, "filter", 0);
  lines[7 * line] = 0;
  made_file file = make_from_lines(lines, count, 4096, 0, 0);
  const size_t first = find_idat(&file);
  file.bytes[first + 8 + 4096] ^= 1; /* the checksum of the first chunk */
  read_fails(&file, "checksum.png", "CRC");
  free_all(file.bytes, lines);
}

TEST_MAIN()

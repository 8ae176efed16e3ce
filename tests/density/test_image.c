/* Every kind of PNG, JPEG, Netpbm, PFM and NPY file, and what is wrong with broken ones. */
#include "image_makers.h"

#include "base/npy.h"

#include <fcntl.h>
#include <sys/stat.h>

static const double exact = 1e-6;

/* --- PNG --- */

static void pack(unsigned char *row, int x, int depth, unsigned value) {
  if (depth == 16) {
    row[2 * x] = (unsigned char)(value >> 8);
    row[2 * x + 1] = (unsigned char)value;
  } else {
    int bit = x * depth;
    row[bit / 8] = (unsigned char)(row[bit / 8] | value << (8 - depth - bit % 8));
  }
}

static void check_png_variant(int colour, int channels, int depth, int interlace) {
  enum { WIDTH = 9, HEIGHT = 7 }; /* no pass of Adam7 is empty */
  unsigned limit = 1u << depth;
  size_t row_bytes = ((size_t)WIDTH * (size_t)(channels * depth) + 7) / 8;
  unsigned char *rows = calloc(HEIGHT, row_bytes);
  assert_non_null(rows);
  for (int y = 0; y < HEIGHT; ++y) {
    for (int i = 0; i < WIDTH * channels; ++i) {
      unsigned value = scramble((unsigned)(y * WIDTH * channels + i), limit);
      pack(rows + (size_t)y * row_bytes, i, depth, value);
    }
  }
  /* The gamma that writers of sRGB give must change nothing. */
  png_recipe recipe = {.width = WIDTH,
                       .height = HEIGHT,
                       .depth = depth,
                       .colour = colour,
                       .interlace = interlace,
                       .gamma = 0.45455};
  made_file file = make_png(&recipe, rows, row_bytes);
  cvtm_image image = read_ok(&file, "a.png");
  assert_int_equal(image.width, WIDTH);
  assert_int_equal(image.height, HEIGHT);
  assert_false(image.is_data);
  int has_alpha = channels == 2 || channels == 4;
  assert_int_equal(image.alpha != NULL, has_alpha);
  for (int y = 0; y < HEIGHT; ++y) {
    for (int x = 0; x < WIDTH; ++x) {
      double v[4] = {0};
      for (int c = 0; c < channels; ++c)
        v[c] = scramble((unsigned)((y * WIDTH + x) * channels + c), limit) / (limit - 1.0);
      double a = has_alpha ? v[channels - 1] : 1;
      double want = channels >= 3 ? expected_luminance(v[0], v[1], v[2], a)
                                  : expected_luminance(v[0], v[0], v[0], a);
      assert_near((double)image.value[y * WIDTH + x], want, exact, x, y);
      if (has_alpha) assert_near((double)image.alpha[y * WIDTH + x], a, exact, x, y);
    }
  }
  cvtm_image_free(&image);
  cut_everywhere(&file, "a.png", file.size);
  free_all(rows, file.bytes);
}

TEST(png_of_every_kind) {
  static const struct {
    int colour, channels;
  } kinds[] = {{PNG_COLOR_TYPE_GRAY, 1},
               {PNG_COLOR_TYPE_GRAY_ALPHA, 2},
               {PNG_COLOR_TYPE_RGB, 3},
               {PNG_COLOR_TYPE_RGB_ALPHA, 4}};
  for (size_t k = 0; k < 4; ++k) {
    for (int depth = kinds[k].channels == 1 ? 1 : 8; depth <= 16; depth *= 2) {
      check_png_variant(kinds[k].colour, kinds[k].channels, depth, PNG_INTERLACE_NONE);
      check_png_variant(kinds[k].colour, kinds[k].channels, depth, PNG_INTERLACE_ADAM7);
    }
  }
}

TEST(png_palette_with_transparency) {
  static const png_color palette[4] = {{0, 0, 0}, {255, 0, 0}, {10, 200, 30}, {255, 255, 255}};
  static const unsigned char alpha[4] = {255, 128, 0, 255};
  for (int depth = 2; depth <= 8; depth *= 2) {
    for (int transparent = 0; transparent < 2; ++transparent) {
      unsigned char row[8] = {0};
      for (int x = 0; x < 8; ++x) pack(row, x, depth, (unsigned)(x % 4));
      png_recipe recipe = {.width = 8,
                           .height = 1,
                           .depth = depth,
                           .palette = palette,
                           .colour = PNG_COLOR_TYPE_PALETTE,
                           .palette_count = 4};
      if (transparent) recipe.palette_alpha = alpha;
      made_file file = make_png(&recipe, row, sizeof row);
      cvtm_image image = read_ok(&file, "p.png");
      assert_int_equal(image.alpha != NULL, transparent);
      for (int x = 0; x < 8; ++x) {
        png_color c = palette[x % 4];
        double a = transparent ? alpha[x % 4] / 255.0 : 1;
        assert_near((double)image.value[x],
                    expected_luminance(c.red / 255.0, c.green / 255.0, c.blue / 255.0, a), exact, x,
                    0);
      }
      free_both(&image, &file);
    }
  }
}

TEST(png_transparent_colour) {
  const png_color_16 key = {.gray = 1000, .red = 7, .green = 8, .blue = 9};
  const unsigned char grey[4] = {1000 >> 8, 1000 & 255, 1000 >> 8, 999 & 255};
  png_recipe recipe = {
      .width = 2, .height = 1, .depth = 16, .colour = PNG_COLOR_TYPE_GRAY, .transparent = &key};
  made_file file = make_png(&recipe, grey, sizeof grey);
  cvtm_image image = read_ok(&file, "g.png");
  assert_true(image.value[0] == 1.0f); /* transparent: the white behind it */
  assert_true(image.alpha[0] == 0.0f);
  assert_near((double)image.value[1], linear_of(999 / 65535.0), exact, 1, 0);
  assert_true(image.alpha[1] == 1.0f);
  free_both(&image, &file);
  const unsigned char colours[6] = {7, 8, 9, 7, 8, 10};
  recipe.depth = 8;
  recipe.colour = PNG_COLOR_TYPE_RGB;
  file = make_png(&recipe, colours, sizeof colours);
  image = read_ok(&file, "c.png");
  assert_true(image.value[0] == 1.0f);
  assert_near((double)image.value[1], expected_luminance(7 / 255., 8 / 255., 10 / 255., 1), exact,
              1, 0);
  free_both(&image, &file);
}

TEST(png_white_is_exactly_one) {
  unsigned char white[12];
  memset(white, 255, sizeof white);
  png_recipe recipe = {.width = 4, .height = 1, .depth = 8, .colour = PNG_COLOR_TYPE_RGB};
  made_file file = make_png(&recipe, white, sizeof white);
  cvtm_image image = read_ok(&file, "w.png");
  for (int x = 0; x < 4; ++x) assert_true(image.value[x] == 1.0f);
  free_both(&image, &file);
}

/* A PNG whose header claims any size, with a right checksum and hardly any data. */
static made_file make_bare_png(uint32_t width, uint32_t height) {
  unsigned char bytes[33] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
  for (int i = 0; i < 4; ++i) {
    bytes[16 + i] = (unsigned char)(width >> (24 - 8 * i));
    bytes[20 + i] = (unsigned char)(height >> (24 - 8 * i));
  }
  bytes[24] = 8;
  uint32_t crc = 0xFFFFFFFFu;
  for (int i = 12; i < 29; ++i) {
    crc ^= bytes[i];
    for (int k = 0; k < 8; ++k) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
  }
  crc = ~crc;
  for (int i = 0; i < 4; ++i) bytes[29 + i] = (unsigned char)(crc >> (24 - 8 * i));
  made_file file = {NULL, 0};
  append(&file, bytes, sizeof bytes);
  append(&file, "\0\0\0\0IDAT\x35\xaf\x06\x1e", 12);
  return file;
}

TEST(png_headers_that_lie) {
  refused_file(make_bare_png(1000000000, 1), "wide.png", "limit of 262144");
  refused_file(make_bare_png(300000, 300000), "big.png", "limit of 262144");
  refused_file(make_bare_png(32768, 32768), "claims.png", "truncated");
  refused_file(make_bare_png(0, 3), "none.png", "");
}

TEST(png_damage) {
  unsigned char grey[64];
  for (unsigned i = 0; i < 64; ++i) grey[i] = (unsigned char)scramble(i, 256);
  png_recipe recipe = {.width = 8, .height = 8, .depth = 8, .colour = PNG_COLOR_TYPE_GRAY};
  made_file file = make_png(&recipe, grey, 8);
  made_file half = {file.bytes, file.size / 2};
  read_fails(&half, "half.png", "truncated");
  for (size_t i = 0; i < file.size; ++i) { /* every byte flipped in turn: no crash */
    file.bytes[i] ^= 0x5A;
    cvtm_image image = {0};
    if (cvtm_image_parse(file.bytes, file.size, "flip.png", &image, NULL) != CVTM_OK)
      assert_null(image.value);
    cvtm_image_free(&image);
    file.bytes[i] ^= 0x5A;
  }
  append(&file, "trailing", 8);
  cvtm_image image = read_ok(&file, "tail.png");
  free_both(&image, &file);
}

/* --- JPEG --- */

enum { JPEG_WIDTH = 24, JPEG_HEIGHT = 16 };

/* Flat 8 x 8 blocks, which JPEG at quality 100 keeps to a unit or so. */
static unsigned block_value(int x, int y, int c) {
  return scramble((unsigned)((y / 8 * 8 + x / 8) * 4 + c), 200) + 20;
}

static void check_jpeg(J_COLOR_SPACE in, J_COLOR_SPACE stored, int channels, int progressive) {
  unsigned char pixels[JPEG_WIDTH * JPEG_HEIGHT * 4];
  for (int y = 0; y < JPEG_HEIGHT; ++y) {
    for (int x = 0; x < JPEG_WIDTH; ++x)
      for (int c = 0; c < channels; ++c)
        pixels[(y * JPEG_WIDTH + x) * channels + c] = (unsigned char)block_value(x, y, c);
  }
  jpeg_recipe recipe = {.width = JPEG_WIDTH,
                        .height = JPEG_HEIGHT,
                        .channels = channels,
                        .in = in,
                        .stored = stored,
                        .progressive = progressive};
  made_file file = make_jpeg(&recipe, pixels);
  cvtm_image image = read_ok(&file, "a.jpg");
  assert_int_equal(image.width, JPEG_WIDTH);
  assert_int_equal(image.height, JPEG_HEIGHT);
  assert_null(image.alpha);
  for (int y = 0; y < JPEG_HEIGHT; ++y) {
    for (int x = 0; x < JPEG_WIDTH; ++x) {
      double v[4] = {0};
      for (int c = 0; c < channels; ++c) v[c] = block_value(x, y, c) / 255.0;
      double want;
      if (channels == 4) /* Adobe's: samples are light, not ink */
        want = expected_luminance(v[0] * v[3], v[1] * v[3], v[2] * v[3], 1);
      else if (channels == 3)
        want = expected_luminance(v[0], v[1], v[2], 1);
      else
        want = linear_of(v[0]);
      /* Grey blocks come back exactly; colours are rounded by the transform. */
      double tolerance = channels == 1 ? exact : 0.012;
      assert_near((double)image.value[y * JPEG_WIDTH + x], want, tolerance, x, y);
    }
  }
  cvtm_image_free(&image);
  cut_everywhere(&file, "a.jpg", file.size);
  free(file.bytes);
}

TEST(jpeg_of_every_kind) {
  for (int progressive = 0; progressive < 2; ++progressive) {
    check_jpeg(JCS_GRAYSCALE, JCS_GRAYSCALE, 1, progressive);
    check_jpeg(JCS_RGB, JCS_YCbCr, 3, progressive);
    check_jpeg(JCS_RGB, JCS_RGB, 3, progressive);
    check_jpeg(JCS_CMYK, JCS_CMYK, 4, progressive);
    check_jpeg(JCS_CMYK, JCS_YCCK, 4, progressive);
  }
}

/* Where the stored picture's top left block must appear: EXIF 2.3, table for tag 0x0112. */
TEST(jpeg_orientation) {
  static const struct {
    int swapped, right, bottom;
  } where[9] = {{0, 0, 0}, {0, 0, 0}, {0, 1, 0}, {0, 1, 1}, {0, 0, 1},
                {1, 0, 0}, {1, 1, 0}, {1, 1, 1}, {1, 0, 1}};
  for (int big = 0; big < 2; ++big) {
    for (int orientation = 0; orientation <= 8; ++orientation) {
      unsigned char exif[] =
          "Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x01\0\0\0\0\0\0";
      unsigned char motorola[] =
          "Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x01\0\0\0\0\0";
      exif[24] = (unsigned char)orientation;
      motorola[25] = (unsigned char)orientation;
      unsigned char pixels[16 * 8];
      for (int i = 0; i < 128; ++i) pixels[i] = i % 16 < 8 ? 50 : 200;
      pixels[0] = 50;
      jpeg_recipe recipe = {.width = 16,
                            .height = 8,
                            .channels = 1,
                            .in = JCS_GRAYSCALE,
                            .stored = JCS_GRAYSCALE,
                            .exif = big ? motorola : exif,
                            .exif_size = 32};
      made_file file = make_jpeg(&recipe, pixels);
      cvtm_image image = read_ok(&file, "o.jpg");
      int swapped = where[orientation].swapped;
      assert_int_equal(image.width, swapped ? 8 : 16);
      assert_int_equal(image.height, swapped ? 16 : 8);
      /* The dark half lies at the stored left. */
      int dark_far = swapped ? where[orientation].bottom : where[orientation].right;
      for (int y = 0; y < image.height; ++y) {
        for (int x = 0; x < image.width; ++x) {
          int dark = ((swapped ? y : x) < 8) != dark_far;
          assert_near((double)image.value[y * image.width + x],
                      linear_of((dark ? 50 : 200) / 255.0), exact, x, y);
        }
      }
      free_both(&image, &file);
    }
  }
}

TEST(jpeg_damage) {
  unsigned char pixels[32 * 32];
  for (unsigned i = 0; i < sizeof pixels; ++i) pixels[i] = (unsigned char)scramble(i, 256);
  jpeg_recipe recipe = {
      .width = 32, .height = 32, .channels = 1, .in = JCS_GRAYSCALE, .stored = JCS_GRAYSCALE};
  made_file file = make_jpeg(&recipe, pixels);
  made_file half = {file.bytes, file.size / 2};
  read_fails(&half, "half.jpg", "bad JPEG");
  made_file endless = {file.bytes, file.size - 2};
  read_fails(&endless, "no_end.jpg", "bad JPEG");
  for (size_t i = 0; i < file.size; ++i) {
    file.bytes[i] ^= 0x5A;
    cvtm_image image = {0};
    cvtm_image_parse(file.bytes, file.size, "flip.jpg", &image, NULL);
    cvtm_image_free(&image);
    file.bytes[i] ^= 0x5A;
  }
  /* The frame header claims 65280 x 65280 pixels. */
  for (size_t i = 0; i + 9 < file.size; ++i) {
    if (file.bytes[i] != 0xFF || file.bytes[i + 1] != 0xC0) continue;
    memcpy(file.bytes + i + 5, "\xff\x00\xff\x00", 4);
    read_fails(&file, "claims.jpg", "truncated");
    break;
  }
  free(file.bytes);
}

/* --- Netpbm and PFM --- */

static made_file make_text(const char *text) {
  made_file file = {NULL, 0};
  append(&file, text, strlen(text));
  return file;
}

static void check_values(const made_file *file, const char *name, int width, int height,
                         const double *want) {
  cvtm_image image = read_ok(file, name);
  assert_int_equal(image.width, width);
  assert_int_equal(image.height, height);
  for (int i = 0; i < width * height; ++i)
    assert_near((double)image.value[i], want[i], exact, i % width, i / width);
  cvtm_image_free(&image);
}

/* The file has these values, and is refused if more than its last `optional` bytes are cut off. */
static void check_whole(made_file file, const char *name, int width, int height, const double *want,
                        size_t optional) {
  check_values(&file, name, width, height, want);
  cut_everywhere(&file, name, file.size - optional);
  free(file.bytes);
}

TEST(pnm_plain) {
  made_file file = make_text("P1\n# a comment\n3 2\n1 0 1\n0#x\n10\n");
  check_whole(file, "a.pbm", 3, 2, (double[]){0, 1, 0, 1, 0, 1}, 1);
  file = make_text("P2 3 1 #max\n200 0 100\n200");
  /* "200" cut to "2" is a smaller number */
  check_whole(file, "a.pgm", 3, 1, (double[]){0, linear_of(0.5), 1}, 2);
  file = make_text("P3 1 2 65535 65535 0 0  1 2 3 ");
  check_whole(file, "a.ppm", 1, 2,
              (double[]){0.2126, expected_luminance(1 / 65535., 2 / 65535., 3 / 65535., 1)}, 1);
}

TEST(pnm_raw) {
  made_file file = make_text("P4 10 2\n");
  append(&file, "\xaa\x40\x0f\x80", 4);
  double bits[20];
  for (int x = 0; x < 10; ++x) {
    bits[x] = (0xaa40 >> (15 - x) & 1) ? 0 : 1;
    bits[10 + x] = (0x0f80 >> (15 - x) & 1) ? 0 : 1;
  }
  check_whole(file, "b.pbm", 10, 2, bits, 0);
  file = make_text("P5\n2 2\n255\n");
  append(&file, "\0\x80\xff\x0a", 4);
  check_values(&file, "b.pgm", 2, 2, (double[]){0, linear_of(128 / 255.), 1, linear_of(10 / 255.)});
  cut_everywhere(&file, "b.pgm", file.size);
  append(&file, "more", 4);
  check_values(&file, "b.pgm", 2, 2, (double[]){0, linear_of(128 / 255.), 1, linear_of(10 / 255.)});
  free(file.bytes);
  file = make_text("P5 2 1 1000 ");
  append(&file, "\x01\xf4\x03\xe8", 4);
  check_values(&file, "c.pgm", 2, 1, (double[]){linear_of(0.5), 1});
  free(file.bytes);
  file = make_text("P6 1 1 65535\n");
  append(&file, "\x12\x34\x56\x78\x9a\xbc", 6);
  check_whole(file, "c.ppm", 1, 1,
              (double[]){expected_luminance(0x1234 / 65535., 0x5678 / 65535., 0x9abc / 65535., 1)},
              0);
}

TEST(pnm_refused) {
  static const struct {
    const char *text, *part;
  } cases[] = {{"P5 1000000000 1 255 x", "limit of"},
               {"P5 99999999999999999999 1 255 x", "limit of"},
               {"P5 30000 30000 255 x", "truncated"},
               {"P2 30000 30000 255 1 2 3", "truncated"},
               {"P5 0 5 255 x", "no pixels"},
               {"P5 -3 5 255 x", "not a number"},
               {"P5 1 1 65536 xx", "maximum"},
               {"P5 1 1 0 x", "maximum"},
               {"P5 1 1 255x", "white space"},
               {"P2 1 1 10 11", "above the maximum"},
               {"P2 1 1 10 x", "not a number"},
               {"P1 1 1 2", "neither"},
               {"Pf 1 1 0 xxxx", "scale"},
               {"Pf 1 1 one xxxx", "scale"},
               {"Pf 1 1 -1 xxx", "truncated"},
               {"Pf 30000 30000 -1 xxx", "truncated"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    refused_file(make_text(cases[i].text), "bad.pnm", cases[i].part);
  }
}

static void append_float(made_file *file, float value, int little) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  for (int i = 0; i < 4; ++i) {
    unsigned char byte = (unsigned char)(bits >> (little ? 8 * i : 24 - 8 * i));
    append(file, &byte, 1);
  }
}

TEST(pfm_both_byte_orders) {
  for (int little = 0; little < 2; ++little) {
    made_file file = make_text(little ? "Pf\n2 3\n-1.0\n" : "Pf\n2 3\n2.5\n");
    for (int i = 0; i < 6; ++i) append_float(&file, (float)i * 0.75f, little);
    cvtm_image image = read_ok(&file, "a.pfm");
    assert_true(image.is_data);
    static const double want[6] = {4, 5, 2, 3, 0, 1}; /* the bottom row comes first */
    for (int i = 0; i < 6; ++i) assert_true((double)image.value[i] == want[i] * 0.75);
    cvtm_image_free(&image);
    cut_everywhere(&file, "a.pfm", file.size);
    free(file.bytes);
  }
  made_file file = make_text("PF 1 1 -1\n");
  append_float(&file, 10, 1);
  append_float(&file, 20, 1);
  append_float(&file, 30, 1);
  check_values(&file, "c.pfm", 1, 1, (double[]){0.2126 * 10 + 0.7152 * 20 + 0.0722 * 30});
  free(file.bytes);
}

/* --- NPY --- */

static made_file make_npy(const char *type, const char *shape, const void *data, size_t size) {
  char header[128];
  int length = snprintf(header, sizeof header,
                        "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", type, shape);
  while ((length + 1 + 10) % 64 != 0) header[length++] = ' ';
  header[length++] = '\n';
  made_file file = {NULL, 0};
  unsigned char start[10] = "\x93NUMPY\x01";
  start[8] = (unsigned char)length;
  append(&file, start, 10);
  append(&file, header, (size_t)length);
  append(&file, data, size);
  return file;
}

TEST(npy_arrays) {
  const double values[6] = {0.5, 1, 2e30, 1e-30, 0, 7};
  made_file file = make_npy("<f8", "(2, 3)", values, sizeof values);
  cvtm_image image = read_ok(&file, "a.npy");
  assert_int_equal(image.width, 3);
  assert_int_equal(image.height, 2);
  assert_true(image.is_data);
  for (int i = 0; i < 6; ++i) assert_true(image.value[i] == (float)values[i]);
  cvtm_image_free(&image);
  cut_everywhere(&file, "a.npy", file.size);
  free(file.bytes);
  file = make_npy("|u1", "(2, 2, 1)", "\x01\x02\x03\xff", 4);
  check_values(&file, "b.npy", 2, 2, (double[]){1, 2, 3, 255});
  free(file.bytes);
}

TEST(npy_refused) {
  const double values[6] = {1, 2, 3, 4, 5, 1e300};
  refused_file(make_npy("<f8", "(6,)", values, sizeof values), "one.npy", "(height, width)");
  refused_file(make_npy("<f8", "(1, 2, 3)", values, sizeof values), "rgb.npy", "one channel");
  refused_file(make_npy("<f8", "(2, 3)", values, sizeof values), "far.npy", "(2, 1)");
  refused_file(make_npy("<f8", "(0, 3)", values, 0), "empty.npy", "no pixels");
  refused_file(make_npy("<f8", "(30000, 30000)", values, sizeof values), "claims.npy", "");
  unsigned char *wide = calloc(300000, 1);
  made_file file = make_npy("|u1", "(1, 300000)", wide, 300000);
  read_fails(&file, "wide.npy", "limit of");
  free_all(file.bytes, wide);
}

/* --- Red, green and blue beside the luminance --- */

/* The planes of a 3 x 2 picture hold the linear values of `encoded`, four numbers in [0, 1] for
 * each pixel of the picture as it is seen: red, green, blue, alpha. */
static void check_planes(made_file file, const double *encoded) {
  cvtm_image image;
  cvtm_error error = {CVTM_OK, ""};
  cvtm_status status = cvtm_image_parse_colour(file.bytes, file.size, "planes", &image, &error);
  if (status != CVTM_OK) fail_msg("%s", error.message);
  assert_non_null(image.rgb);
  int count = image.width * image.height;
  assert_int_equal(count, 6);
  for (int i = 0; i < count; ++i) {
    const double *v = encoded + 4 * i;
    for (int c = 0; c < 3; ++c)
      assert_near((double)image.rgb[c * count + i], linear_of(v[c] * v[3] + 1 - v[3]), exact,
                  i % image.width, i / image.width);
    assert_near((double)image.value[i], expected_luminance(v[0], v[1], v[2], v[3]), exact,
                i % image.width, i / image.width);
  }
  free_both(&image, &file);
  assert_null(image.rgb);
}

TEST(planes_of_colour) {
  unsigned char bytes[24], grey[6];
  double encoded[24], opaque[24], shades[24];
  for (unsigned i = 0; i < 24; ++i) {
    bytes[i] = (unsigned char)scramble(i, 256);
    encoded[i] = bytes[i] / 255.0;
    opaque[i] = i % 4 == 3 ? 1 : encoded[i / 4 * 3 + i % 4];
    grey[i / 4] = (unsigned char)scramble(i / 4, 256);
    shades[i] = i % 4 == 3 ? 1 : grey[i / 4] / 255.0;
  }
  png_recipe recipe = {.width = 3, .height = 2, .depth = 8, .colour = PNG_COLOR_TYPE_RGB_ALPHA};
  made_file file = make_png(&recipe, bytes, 12);
  check_planes(file, encoded);
  recipe.colour = PNG_COLOR_TYPE_RGB;
  file = make_png(&recipe, bytes, 9);
  check_planes(file, opaque);
  recipe.colour = PNG_COLOR_TYPE_GRAY;
  file = make_png(&recipe, grey, 3);
  check_planes(file, shades);
  file = make_text("P6 3 2 255\n");
  append(&file, bytes, 18);
  check_planes(file, opaque);
}

/* Turned as the luminance is; of data there are none. */
TEST(planes_turned) {
  unsigned char exif[] = "Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0";
  unsigned char pixels[16 * 8 * 3];
  for (int i = 0; i < 128; ++i)
    memcpy(pixels + 3 * i, i % 16 < 8 ? "\x20\x60\xc0" : "\xf0\xa0\x10", 3);
  jpeg_recipe recipe = {.width = 16,
                        .height = 8,
                        .channels = 3,
                        .in = JCS_RGB,
                        .stored = JCS_RGB,
                        .exif = exif,
                        .exif_size = 32};
  made_file file = make_jpeg(&recipe, pixels);
  cvtm_image image;
  assert_ok(cvtm_image_parse_colour(file.bytes, file.size, "o.jpg", &image, NULL));
  assert_int_equal(image.width, 8);
  assert_int_equal(image.height, 16);
  static const double top[3] = {0x20 / 255., 0x60 / 255., 0xc0 / 255.};
  static const double bottom[3] = {0xf0 / 255., 0xa0 / 255., 0x10 / 255.};
  for (int i = 0; i < 3 * 128; ++i) {
    const double *colour = i % 128 < 64 ? top : bottom;
    assert_near((double)image.rgb[i], linear_of(colour[i / 128]), 0.01, i % 8, i % 128 / 8);
  }
  free_both(&image, &file);
  const double values[2] = {0.5, 1};
  file = make_npy("<f8", "(1, 2)", values, sizeof values);
  assert_ok(cvtm_image_parse_colour(file.bytes, file.size, "a.npy", &image, NULL));
  assert_null(image.rgb);
  free_both(&image, &file);
}

/* --- Files as files --- */

TEST(not_images) {
  made_file file = make_text("Dear reader,\n");
  read_fails(&file, "letter.png", "not PNG: unknown image format");
  read_fails(&file, "letter.JPG", "not JPEG: unknown image format");
  read_fails(&file, "letter.txt", "unknown image format");
  read_fails(&file, "letter", "unknown image format");
  free(file.bytes);
  file = make_text("");
  append(&file, "", 0);
  read_fails(&file, "none.png", "empty");
  free(file.bytes);
  cvtm_image image;
  cvtm_error error = {CVTM_OK, ""};
  assert_int_not_equal(cvtm_image_read("/nonexistent/a.png", &image, &error), CVTM_OK);
  assert_non_null(strstr(error.message, "/nonexistent/a.png: "));
  assert_null(image.value);
}

TEST(png_written_and_read) {
  char path[] = "/tmp/cvtmesh-image-XXXXXX";
  int handle = mkstemp(path);
  assert_true(handle >= 0);
  close(handle);
  for (int channels = 1; channels <= 4; ++channels) {
    unsigned char pixels[5 * 7 * 4];
    for (unsigned i = 0; i < sizeof pixels; ++i) pixels[i] = (unsigned char)scramble(i, 256);
    cvtm_error error = {CVTM_OK, ""};
    cvtm_status status = cvtm_png_write(path, 5, 7, channels, pixels, &error);
    if (channels == 2) {
      assert_refused(status);
      continue;
    }
    assert_ok(status);
    cvtm_image image; /* by its first bytes: the name has no extension */
    assert_ok(cvtm_image_read(path, &image, &error));
    for (int i = 0; i < 35; ++i) {
      const unsigned char *p = pixels + i * channels;
      double r = p[0] / 255., g = channels > 1 ? p[1] / 255. : r;
      double b = channels > 1 ? p[2] / 255. : r, a = channels == 4 ? p[3] / 255. : 1;
      assert_near((double)image.value[i], expected_luminance(r, g, b, a), exact, i % 5, i / 5);
    }
    cvtm_image_free(&image);
  }
  cvtm_error error = {CVTM_OK, ""};
  assert_int_equal(cvtm_png_write("/nonexistent/a.png", 1, 1, 1, (unsigned char[]){0}, &error),
                   CVTM_ERROR_IO);
  unlink(path);
}

/* What was freed is empty, so that freeing again does nothing. */
TEST(freed_twice) {
  static const char bytes[] = "P5\n2 1\n255\nab";
  cvtm_image image = {0};
  assert_ok(
      cvtm_image_parse((const unsigned char *)bytes, sizeof bytes - 1, "a.pgm", &image, NULL));
  assert_non_null(image.value);
  for (int times = 0; times < 2; ++times) {
    cvtm_image_free(&image);
    assert_int_equal(image.width, 0);
    assert_int_equal(image.height, 0);
    assert_null(image.value);
    assert_null(image.alpha);
  }
  cvtm_image_free(NULL);
}

TEST_MAIN()

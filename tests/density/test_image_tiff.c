/* TIFF files written by libtiff; every test is skipped in a build without it. */
#include "image_makers.h"

TEST(skip_without_tiff) {
  cvtm_image image;
  cvtm_error error = {CVTM_OK, ""};
  const unsigned char start[8] = {'I', 'I', '*', 0, 8, 0, 0, 0};
  int available = strstr(cvtm_image_formats(), "tiff") != NULL;
  cvtm_status status = cvtm_image_parse(start, sizeof start, "a.tif", &image, &error);
  assert_int_equal(status, available ? CVTM_ERROR_INPUT : CVTM_ERROR_UNSUPPORTED);
  assert_memory_equal(error.message, "a.tif: ", 7);
}

#if CVTMESH_HAVE_TIFF

#include <malloc.h>
#include <tiffio.h>

typedef struct tiff_recipe {
  unsigned width, height;
  int bits, channels, format, photometric, compression;
  int planar; /* PLANARCONFIG_* */
  int tile;   /* side of a tile, 0: strips */
  int alpha;  /* EXTRASAMPLE_* of the last channel, -1: none */
  int orientation;
  const char *mode; /* "wl", "wb": byte order; "w8": BigTIFF */
} tiff_recipe;

/* 19 x 21 unsigned samples in one plane of strips, not compressed, without alpha. */
static tiff_recipe recipe_of(int bits, int channels, int photometric) {
  return (tiff_recipe){
      19, 21, bits, channels, SAMPLEFORMAT_UINT, photometric, COMPRESSION_NONE, PLANARCONFIG_CONTIG,
      0,  -1, 0,    NULL};
}

/* Integer samples are scrambled numbers, float ones multiples of 1/8. */
static double sample_of(const tiff_recipe *recipe, unsigned x, unsigned y, int c) {
  unsigned index = (y * recipe->width + x) * (unsigned)recipe->channels + (unsigned)c;
  if (recipe->format == SAMPLEFORMAT_IEEEFP) return scramble(index, 1000) / 8.0;
  return scramble(index, 1u << recipe->bits);
}

static void put_sample(unsigned char *row, size_t index, const tiff_recipe *recipe, double value) {
  if (recipe->format == SAMPLEFORMAT_IEEEFP && recipe->bits == 64) {
    memcpy(row + 8 * index, &value, 8);
  } else if (recipe->format == SAMPLEFORMAT_IEEEFP) {
    float narrow = (float)value;
    memcpy(row + 4 * index, &narrow, 4);
  } else if (recipe->bits == 16) {
    uint16_t word = (uint16_t)value;
    memcpy(row + 2 * index, &word, 2);
  } else {
    size_t bit = index * (size_t)recipe->bits;
    row[bit / 8] =
        (unsigned char)(row[bit / 8] | (unsigned)value << (8 - (size_t)recipe->bits - bit % 8));
  }
}

/* One strip row or tile of one plane (all channels if contiguous). */
static void fill(unsigned char *block, size_t row_bytes, const tiff_recipe *recipe, unsigned left,
                 unsigned top, unsigned width, unsigned height, int plane) {
  int contiguous = recipe->planar == PLANARCONFIG_CONTIG;
  int channels = contiguous ? recipe->channels : 1;
  memset(block, 0, row_bytes * height);
  for (unsigned y = 0; y < height && top + y < recipe->height; ++y) {
    for (unsigned x = 0; x < width && left + x < recipe->width; ++x) {
      for (int c = 0; c < channels; ++c) {
        put_sample(block + y * row_bytes, (size_t)x * (size_t)channels + (size_t)c, recipe,
                   sample_of(recipe, left + x, top + y, contiguous ? c : plane));
      }
    }
  }
}

static void palette_entry(unsigned i, uint16_t *r, uint16_t *g, uint16_t *b) {
  *r = (uint16_t)scramble(3 * i, 65536);
  *g = (uint16_t)scramble(3 * i + 1, 65536);
  *b = (uint16_t)scramble(3 * i + 2, 65536);
}

static void write_pixels(TIFF *tiff, const tiff_recipe *recipe) {
  int planes = recipe->planar == PLANARCONFIG_CONTIG ? 1 : recipe->channels;
  size_t row_bytes = (size_t)(recipe->tile ? TIFFTileRowSize(tiff) : TIFFScanlineSize(tiff));
  unsigned side = (unsigned)recipe->tile;
  unsigned char *block = malloc(row_bytes * (side > 0 ? side : 1));
  assert_non_null(block);
  for (int plane = 0; plane < planes; ++plane) {
    for (unsigned y = 0; y<recipe->height; y += side> 0 ? side : 1) {
      if (side == 0) {
        fill(block, row_bytes, recipe, 0, y, recipe->width, 1, plane);
        assert_int_equal(TIFFWriteScanline(tiff, block, y, (uint16_t)plane), 1);
        continue;
      }
      for (unsigned x = 0; x < recipe->width; x += side) {
        fill(block, row_bytes, recipe, x, y, side, side, plane);
        assert_true(TIFFWriteTile(tiff, block, x, y, 0, (uint16_t)plane) > 0);
      }
    }
  }
  free(block);
}

static made_file make_tiff(const tiff_recipe *recipe) {
  char path[] = "/tmp/cvtmesh-tiff-XXXXXX";
  int handle = mkstemp(path);
  assert_true(handle >= 0);
  close(handle);
  TIFF *tiff = TIFFOpen(path, recipe->mode != NULL ? recipe->mode : "w");
  assert_non_null(tiff);
  TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, recipe->width);
  TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, recipe->height);
  TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, recipe->bits);
  TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, recipe->channels);
  TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, recipe->format);
  TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, recipe->photometric);
  TIFFSetField(tiff, TIFFTAG_COMPRESSION, recipe->compression);
  TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, recipe->planar);
  if (recipe->orientation > 0) TIFFSetField(tiff, TIFFTAG_ORIENTATION, recipe->orientation);
  if (recipe->alpha >= 0) {
    uint16_t kind = (uint16_t)recipe->alpha;
    TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, 1, &kind);
  }
  if (recipe->tile > 0) {
    TIFFSetField(tiff, TIFFTAG_TILEWIDTH, recipe->tile);
    TIFFSetField(tiff, TIFFTAG_TILELENGTH, recipe->tile);
  } else {
    TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, 4);
  }
  static uint16_t palette[3][256];
  if (recipe->photometric == PHOTOMETRIC_PALETTE) {
    for (unsigned i = 0; i < 256; ++i)
      palette_entry(i, &palette[0][i], &palette[1][i], &palette[2][i]);
    TIFFSetField(tiff, TIFFTAG_COLORMAP, palette[0], palette[1], palette[2]);
  }
  write_pixels(tiff, recipe);
  TIFFClose(tiff);
  made_file file = {NULL, 0};
  FILE *stream = fopen(path, "rb");
  assert_non_null(stream);
  unsigned char buffer[4096];
  size_t got;
  while ((got = fread(buffer, 1, sizeof buffer, stream)) > 0) append(&file, buffer, got);
  fclose(stream);
  unlink(path);
  return file;
}

static double luminance_of(const tiff_recipe *recipe, unsigned x, unsigned y) {
  double v[4] = {0, 0, 0, 0}, max = (double)((1u << recipe->bits) - 1), a = 1;
  for (int c = 0; c < recipe->channels; ++c) v[c] = sample_of(recipe, x, y, c) / max;
  if (recipe->photometric == PHOTOMETRIC_PALETTE) {
    uint16_t r, g, b;
    palette_entry((unsigned)sample_of(recipe, x, y, 0), &r, &g, &b);
    return expected_luminance(r / 65535., g / 65535., b / 65535., 1);
  }
  if (recipe->photometric == PHOTOMETRIC_MINISWHITE) v[0] = 1 - v[0];
  if (recipe->alpha >= 0) a = v[recipe->channels - 1];
  if (recipe->photometric != PHOTOMETRIC_RGB) v[1] = v[2] = v[0];
  if (recipe->alpha != EXTRASAMPLE_ASSOCALPHA) return expected_luminance(v[0], v[1], v[2], a);
  for (int c = 0; c < 3; ++c) v[c] = fmin(1, v[c] + 1 - a);
  return expected_luminance(v[0], v[1], v[2], 1);
}

static void check_tiff(tiff_recipe recipe) {
  made_file file = make_tiff(&recipe);
  cvtm_image image = read_ok(&file, "a.tif");
  int is_float = recipe.format == SAMPLEFORMAT_IEEEFP;
  assert_int_equal(image.width, recipe.width);
  assert_int_equal(image.height, recipe.height);
  assert_int_equal(image.is_data, is_float);
  assert_int_equal(image.alpha != NULL, recipe.alpha >= 0);
  for (unsigned y = 0; y < recipe.height; ++y) {
    for (unsigned x = 0; x < recipe.width; ++x) {
      double want = is_float ? sample_of(&recipe, x, y, 0) : luminance_of(&recipe, x, y);
      assert_near((double)image.value[y * recipe.width + x], want, 1e-6, (int)x, (int)y);
    }
  }
  cvtm_image_free(&image);
  /* libtiff writes the directory last, so a cut file has none and is cut. */
  cut_everywhere(&file, "a.tif", file.size);
  free(file.bytes);
}

TEST(integer_samples) {
  static const int compressions[] = {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_PACKBITS,
                                     COMPRESSION_ADOBE_DEFLATE};
  for (size_t k = 0; k < 4; ++k) {
    for (int tile = 0; tile <= 16; tile += 16) {
      for (int bits = 8; bits <= 16; bits += 8) {
        int compression = compressions[k];
        tiff_recipe grey = recipe_of(bits, 1, PHOTOMETRIC_MINISBLACK);
        grey.tile = tile;
        grey.compression = compression;
        check_tiff(grey);
        grey.photometric = PHOTOMETRIC_MINISWHITE;
        check_tiff(grey);
        tiff_recipe rgb = recipe_of(bits, 3, PHOTOMETRIC_RGB);
        rgb.tile = tile;
        rgb.compression = compression;
        check_tiff(rgb);
        rgb.planar = PLANARCONFIG_SEPARATE;
        check_tiff(rgb);
      }
    }
  }
}

TEST(narrow_samples) {
  for (int bits = 1; bits <= 4; bits *= 2) check_tiff(recipe_of(bits, 1, PHOTOMETRIC_MINISWHITE));
  tiff_recipe fax = recipe_of(1, 1, PHOTOMETRIC_MINISWHITE);
  fax.compression = COMPRESSION_CCITTFAX4;
  check_tiff(fax);
}

TEST(palettes) {
  for (int bits = 2; bits <= 8; bits *= 2) check_tiff(recipe_of(bits, 1, PHOTOMETRIC_PALETTE));
}

TEST(alpha_of_both_kinds) {
  for (int kind = EXTRASAMPLE_ASSOCALPHA; kind <= EXTRASAMPLE_UNASSALPHA; ++kind) {
    for (int bits = 8; bits <= 16; bits += 8) {
      tiff_recipe rgba = recipe_of(bits, 4, PHOTOMETRIC_RGB);
      rgba.alpha = kind;
      check_tiff(rgba);
      rgba.planar = PLANARCONFIG_SEPARATE;
      check_tiff(rgba);
      tiff_recipe grey = recipe_of(bits, 2, PHOTOMETRIC_MINISBLACK);
      grey.alpha = kind;
      check_tiff(grey);
    }
  }
}

TEST(float_samples) {
  static const char *const modes[] = {"wl", "wb", "w8"};
  for (int bits = 32; bits <= 64; bits += 32) {
    for (int m = 0; m < 3; ++m) {
      for (int tile = 0; tile <= 16; tile += 16) {
        tiff_recipe grey = recipe_of(bits, 1, PHOTOMETRIC_MINISBLACK);
        grey.format = SAMPLEFORMAT_IEEEFP;
        grey.tile = tile;
        grey.mode = modes[m];
        check_tiff(grey);
      }
    }
  }
}

TEST(byte_orders) {
  static const char *const modes[] = {"wl", "wb", "w8"};
  for (int m = 0; m < 3; ++m) {
    tiff_recipe rgb = recipe_of(16, 3, PHOTOMETRIC_RGB);
    rgb.mode = modes[m];
    check_tiff(rgb);
  }
}

TEST(orientation) {
  tiff_recipe recipe = recipe_of(8, 1, PHOTOMETRIC_MINISBLACK);
  recipe.width = 5;
  recipe.height = 3;
  recipe.orientation = ORIENTATION_RIGHTTOP;
  made_file file = make_tiff(&recipe);
  cvtm_image image = read_ok(&file, "o.tif");
  assert_int_equal(image.width, 3);
  assert_int_equal(image.height, 5);
  for (unsigned y = 0; y < 3; ++y) { /* row 0 is the right side, column 0 the top */
    for (unsigned x = 0; x < 5; ++x) {
      assert_near((double)image.value[x * 3 + (2 - y)], luminance_of(&recipe, x, y), 1e-6, (int)x,
                  (int)y);
    }
  }
  free_both(&image, &file);
}

TEST(refused) {
  tiff_recipe recipe = recipe_of(32, 1, PHOTOMETRIC_MINISBLACK);
  recipe.width = 4;
  recipe.height = 4;
  recipe.format = SAMPLEFORMAT_IEEEFP;
  made_file file = make_tiff(&recipe);
  for (size_t i = 0; i < file.size; ++i) { /* every byte flipped in turn: no crash */
    file.bytes[i] ^= 0xA5;
    cvtm_image image = {0};
    cvtm_image_parse(file.bytes, file.size, "flip.tif", &image, NULL);
    cvtm_image_free(&image);
    file.bytes[i] ^= 0xA5;
  }
  /* Directory entries of 12 bytes: tag, type, count, value; width and length are first. */
  for (size_t i = 8; i + 24 < file.size; ++i) {
    if (file.bytes[i] != 0 || file.bytes[i + 1] != 1 || file.bytes[i + 2] > 4 ||
        file.bytes[i + 12] != 1 || file.bytes[i + 13] != 1)
      continue;
    file.bytes[i + 2] = 4; /* LONG: a width of 327680 */
    memcpy(file.bytes + i + 8, "\0\0\5\0", 4);
    read_fails(&file, "wide.tif", "limit of");
    memcpy(file.bytes + i + 8, "\0\x80\0\0", 4);
    memcpy(file.bytes + i + 20, "\0\x80\0\0", 4);
    read_fails(&file, "claims.tif", "truncated");
    break;
  }
  free(file.bytes);
  recipe.channels = 3;
  recipe.photometric = PHOTOMETRIC_RGB;
  refused_file(make_tiff(&recipe), "float_rgb.tif", "more than one channel");
  recipe = recipe_of(8, 4, PHOTOMETRIC_SEPARATED);
  recipe.width = 4;
  recipe.height = 4;
  file = make_tiff(&recipe);
  cvtm_image image = read_ok(&file, "cmyk.tif");
  free_both(&image, &file);
  recipe.photometric = PHOTOMETRIC_CIELAB;
  refused_file(make_tiff(&recipe), "lab.tif", "photometric");
  recipe.photometric = PHOTOMETRIC_MINISBLACK;
  recipe.channels = 1;
  recipe.format = SAMPLEFORMAT_INT;
  refused_file(make_tiff(&recipe), "signed.tif", "signed");
}

/* Changes the value of an entry of the directory, all little-endian. */
static void set_tag(made_file *file, unsigned tag, unsigned value) {
  const size_t at = file->bytes[4] | (size_t)file->bytes[5] << 8;
  for (size_t k = 0; k < file->bytes[at]; ++k) {
    unsigned char *entry = file->bytes + at + 2 + 12 * k;
    if ((entry[0] | (unsigned)entry[1] << 8) != tag) continue;
    entry[8] = (unsigned char)value;
    entry[9] = (unsigned char)(value >> 8);
  }
}

TEST(rows_that_a_strip_lacks_do_not_depend_on_memory) {
  enum { HEIGHT = 1024 };
  tiff_recipe recipe = recipe_of(1, 1, PHOTOMETRIC_MINISWHITE);
  recipe.height = 4;
  recipe.compression = COMPRESSION_CCITTFAX4;
  recipe.mode = "wl";
  made_file file = make_tiff(&recipe);
  set_tag(&file, TIFFTAG_IMAGELENGTH, HEIGHT);
  set_tag(&file, TIFFTAG_ROWSPERSTRIP, HEIGHT);
  cvtm_image image[2];
  for (int k = 0; k < 2; ++k) {
    mallopt(M_PERTURB, k == 0 ? 0xFF : 1);
    image[k] = read_ok(&file, "short.tif");
  }
  mallopt(M_PERTURB, 0);
  assert_int_equal(image[0].height, HEIGHT);
  assert_memory_equal(image[0].value, image[1].value,
                      (size_t)image[0].width * HEIGHT * sizeof *image[0].value);
  cvtm_image_free(&image[0]);
  free_both(&image[1], &file);
}

#endif

TEST_MAIN()

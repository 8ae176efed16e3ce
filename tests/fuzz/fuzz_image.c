/* Any bytes as an image: no crash, no leak, no value that a picture cannot have. */
#include "density/density.h"

#include "mutate_npy.h"
#include "mutate_png.h"
#include "mutate_tiff.h"

/* Flat pictures of any size take a few bytes of WebP and HEIF. */
static int is_large(uint64_t width, uint64_t height) { return width * height > 1 << 20; }

static uint32_t get24(const uint8_t *p) {
  return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16;
}

static uint32_t get16(const uint8_t *p) { return p[0] | (uint32_t)p[1] << 8; }

static int is_large_webp(const uint8_t *data, size_t size) {
  if (size < 30 || memcmp(data + 8, "WEBP", 4) != 0) return 0;
  if (memcmp(data + 12, "VP8X", 4) == 0)
    return is_large(get24(data + 24) + 1, get24(data + 27) + 1);
  if (memcmp(data + 12, "VP8L", 4) == 0) {
    const uint32_t bits = get24(data + 21) | (uint32_t)data[24] << 24;
    return is_large((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1);
  }
  return is_large(get16(data + 26) & 0x3FFF, get16(data + 28) & 0x3FFF);
}

static int is_large_heif(const uint8_t *data, size_t size) {
  if (size < 12 || memcmp(data + 4, "ftyp", 4) != 0) return 0;
  for (size_t k = 12; k + 16 <= size; ++k)
    if (memcmp(data + k, "ispe", 4) == 0 &&
        is_large(fuzz_big(data + k + 8), fuzz_big(data + k + 12)))
      return 1;
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  cvtm_image image;
  cvtm_error error;
  if (is_large_webp(data, size) || is_large_heif(data, size)) return 0;
  if (cvtm_image_parse_colour(data, size, "fuzz", &image, &error) != CVTM_OK) {
    if (image.value != NULL || image.alpha != NULL || image.rgb != NULL) abort();
    return 0;
  }
  size_t count = (size_t)image.width * (size_t)image.height;
  for (size_t i = 0; i < count; ++i) {
    float value = image.value[i];
    const int is_masked = image.masked > 0 && value != value;
    if (!image.is_data && !is_masked && !(value >= 0 && value <= 1)) abort();
  }
  for (size_t i = 0; image.rgb != NULL && i < 3 * count; ++i)
    if (!(image.rgb[i] >= 0 && image.rgb[i] <= 1)) abort();
  cvtm_density_options options;
  cvtm_density_defaults(&options);
  float *density = NULL;
  if (cvtm_density_from_image(&image, &options, "fuzz", &density, &error) != CVTM_OK &&
      density != NULL)
    abort();
  free(density);
  cvtm_image_free(&image);
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  uint32_t state = fuzz_seed(seed);
  size_t made = 0;
  if (fuzz_random(&state) % 4 != 0) {
    made = fuzz_mutate_png(data, size, most, &state);
    if (made == 0) made = fuzz_mutate_npy(data, size, most, &state);
    if (made == 0 && fuzz_random(&state) % 2) made = fuzz_mutate_tiff(data, size, &state);
  }
  return made > 0 ? made : LLVMFuzzerMutate(data, size, most);
}

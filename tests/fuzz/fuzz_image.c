/* Any bytes as an image: no crash, no leak, no value that a picture cannot have. */
#include "density/density.h"

#include "mutate_npy.h"
#include "mutate_png.h"
#include "mutate_tiff.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  cvtm_image image;
  cvtm_error error;
  if (cvtm_image_parse_colour(data, size, "fuzz", &image, &error) != CVTM_OK) {
    if (image.value != NULL || image.alpha != NULL || image.rgb != NULL) abort();
    return 0;
  }
  size_t count = (size_t)image.width * (size_t)image.height;
  for (size_t i = 0; i < count; ++i) {
    float value = image.value[i];
    if (!image.is_data && !(value >= 0 && value <= 1)) abort();
  }
  for (size_t i = 0; image.rgb != NULL && i < 3 * count; ++i)
    if (!(image.rgb[i] >= 0 && image.rgb[i] <= 1)) abort();
  cvtm_density_options options;
  cvtm_density_defaults(&options);
  float *density = NULL;
  if (cvtm_density_from_image(&image, &options, "fuzz", &density, &error) != CVTM_OK &&
      density != NULL) {
    abort();
  }
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

/* Labels as the domain of run: read, traced, and planned for a few sites. */
#include "cli/options.h"
#include "run/domain.h"
#include "density/density.h"

#include "fuzz_file.h"
#include "mutate_npy.h"

enum { SIDE_MAX = 64 };

static void plan(const char *path, int width, int height) {
  char program[] = "run", input[] = "a.png", number[] = "-n40", domain[128];
  snprintf(domain, sizeof domain, "--domain=labels=%s", path);
  char *argv[] = {program, input, number, domain, NULL};
  cli_options options;
  int code;
  if (cli_options_parse(CLI_RUN, 4, argv, &options, &code) != CLI_PARSED) abort();
  float density[SIDE_MAX * SIDE_MAX];
  for (int k = 0; k < width * height; ++k) density[k] = 1;
  run_domain made = {0};
  cvtm_error error;
  (void)run_domain_read(&options.run, (cvtm_domain){.width = width, .height = height}, density,
                        &made, &error);
  run_domain_free(&made);
  cli_options_free(&options);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
  cvtm_image image = {0};
  cvtm_error error;
  if (cvtm_image_parse(data, size, "fuzz", &image, &error) != CVTM_OK) return 0;
  const int width = image.width, height = image.height;
  cvtm_image_free(&image);
  if (width > SIDE_MAX || height > SIDE_MAX) return 0;
  plan(fuzz_write_file("labels.npy", data, size), width, height);
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  uint32_t state = fuzz_seed(seed);
  const size_t made = fuzz_random(&state) % 4 == 0 ? fuzz_mutate_npy(data, size, most, &state) : 0;
  return made > 0 ? made : LLVMFuzzerMutate(data, size, most);
}

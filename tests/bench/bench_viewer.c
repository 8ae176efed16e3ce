/* Frames a second of the viewer, drawn in memory by EGL at 1280 x 800: while it solves, and while
 * it is paused. bench_viewer [--device NAME] [--sites N] [--frames N] [--pinned 1] */
#include "tests/bench/harness.h"
#include "viewer/viewer.h"

enum { SIDE = 1024 };

static void print_line(void *context, const char *line) {
  (void)context;
  printf("# %s\n", line);
}

/* Waves about a middle, four times as dense there as at the rim. */
static void fill_density(float *density) {
  for (int y = 0; y < SIDE; ++y) {
    for (int x = 0; x < SIDE; ++x) {
      const double r = hypot(x - 0.5 * SIDE, y - 0.5 * SIDE) / SIDE;
      density[y * SIDE + x] = (float)(0.25 + 0.75 * exp(-8 * r * r) * (1 + 0.5 * cos(40 * r)));
    }
  }
}

typedef struct bench {
  cvtm_device *device;
  float *density;
  int64_t frames;
  int pinned;
} bench;

static cvtm_status measure_frames(const bench *b, int64_t count, unsigned layers, int paused,
                                  cvtm_viewer_result *result, cvtm_error *error) {
  const cvtm_domain domain = {SIDE, SIDE, 0};
  double *sites = malloc(2 * (size_t)count * sizeof *sites);
  if (!sites) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  cvtm_status status =
      cvtm_cvt_sample(domain, b->density, count, 1, CVTM_CVT_START_STRATIFIED, sites, error);
  cvtm_viewer_options how = {.device = b->device,
                             .domain = domain,
                             .density = b->density,
                             .sites = sites,
                             .count = count,
                             .start = CVTM_CVT_START_STRATIFIED,
                             .width = 1280,
                             .height = 800,
                             .layers = layers,
                             .paused = paused,
                             .pinned = b->pinned,
                             .offscreen = 1,
                             .frames = b->frames,
                             .say = paused ? NULL : print_line};
  cvtm_cvt_defaults(&how.cvt);
  how.cvt.max_iterations = 1000000;
  how.cvt.tolerance = 0;
  if (status == CVTM_OK) status = cvtm_viewer_run(&how, result, error);
  free(sites);
  return status;
}

static int run_viewer(const bench *b, int64_t count) {
  static const struct {
    const char *name;
    unsigned layers;
  } kinds[] = {{"sites", CVTM_LAYER_SITES | CVTM_LAYER_FIGURES},
               {"cells, edges, sites, plot", 0},
               {"all", 0x1ff}};
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; ++k) {
    double rate[2];
    int64_t iterations = 0;
    for (int paused = 0; paused < 2; ++paused) {
      cvtm_viewer_result result;
      cvtm_error error = {CVTM_OK, ""};
      if (measure_frames(b, count, kinds[k].layers, paused, &result, &error) != CVTM_OK) {
        fprintf(stderr, "bench_viewer: %s\n", error.message);
        return 0;
      }
      rate[paused] = (double)result.frames / result.seconds;
      if (!paused) iterations = result.iterations;
      free(result.sites);
    }
    printf("%10lld  %-26s  %14.1f  %10lld  %14.1f\n", (long long)count, kinds[k].name, rate[0],
           (long long)iterations, rate[1]);
    fflush(stdout);
  }
  return 1;
}

int main(int argc, char **argv) {
  const int64_t count = bench_integer(argc, argv, "--sites");
  const int64_t frames = bench_integer(argc, argv, "--frames");
  bench b = {.device = bench_device(argc, argv, "cpu"),
             .density = malloc((size_t)SIDE * SIDE * sizeof *b.density),
             .frames = frames > 0 ? frames : 60,
             .pinned = bench_integer(argc, argv, "--pinned") != 0};
  if (!b.density) return 1;
  fill_density(b.density);
  printf("%10s  %-26s  %14s  %10s  %14s\n", "sites", "layers", "frames/s", "iterations",
         "paused, fr./s");
  const int good = run_viewer(&b, count > 0 ? count : 20000);
  free(b.density);
  cvtm_device_destroy(b.device);
  return !good;
}

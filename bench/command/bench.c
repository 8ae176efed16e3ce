#include "bench/command/bench.h"

#include "base/file.h"
#include "cli/cli.h"
#include "cli/preset.h"

#include <string.h>

static const struct {
  cvtm_status (*function)(cvtm_device *device, const cli_options *options);
  const char *name;
  int draws, tessellates;
  const char *summary;
} benches[] = {
#define CLI_BENCH_ROW(function, name, draws, tessellates, summary) \
  {function, name, draws, tessellates, summary},
    CLI_BENCH_LIST(CLI_BENCH_ROW)
#undef CLI_BENCH_ROW
};

enum { BENCH_COUNT = sizeof benches / sizeof benches[0] };

static int unknown_bench(const char *name) {
  char names[256] = "";
  size_t length = 0;
  for (int k = 0; k < BENCH_COUNT && length < sizeof names; ++k)
    length += (size_t)snprintf(names + length, sizeof names - length, " %s", benches[k].name);
  return cli_usage_error(CLI_BENCH, "there is no table '%s', but%s", name, names);
}

static int check_bench_options(const cli_options *options, int draws, int tessellates) {
  char buffer[16];
  if (options->density != NULL && !tessellates)
    return cli_usage_error(CLI_BENCH, "--density: %s has no tessellations", options->input);
  if (options->figure == NULL) return CLI_EXIT_OK;
  if (!draws) return cli_usage_error(CLI_BENCH, "%s is not drawn", options->input);
  if (strcmp(cvtm_file_extension(options->figure, buffer, sizeof buffer), "svg") == 0)
    return CLI_EXIT_OK;
  return cli_usage_error(CLI_BENCH, "%s: figures are drawn as .svg", options->figure);
}

int cli_bench(const cli_options *options) {
  int bench = 0;
  while (bench < BENCH_COUNT && strcmp(options->input, benches[bench].name) != 0) ++bench;
  if (bench == BENCH_COUNT) return unknown_bench(options->input);
  cvtm_device *device = NULL;
  cli_options chosen = *options;
  int code = check_bench_options(options, benches[bench].draws, benches[bench].tessellates);
  cli_preset_apply(&chosen);
  if (code == CLI_EXIT_OK) code = cli_open_device(&chosen, &device);
  if (code != CLI_EXIT_OK) return code;
  printf("%s, on %s (%s)\n\n", benches[bench].summary, cvtm_device_name(device),
         cvtm_device_description(device));
  const cvtm_status status = benches[bench].function(device, &chosen);
  if (status != CVTM_OK) code = cli_failed(CLI_WORKING, status, cvtm_device_error(device));
  cvtm_device_destroy(device);
  return code;
}

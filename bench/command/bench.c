#include "bench/command/bench.h"

#include "cli/cli.h"

#include <string.h>

static const struct {
  cvtm_status (*function)(cvtm_device *device, const cli_options *options);
  const char *name, *summary;
} benches[] = {
#define CLI_BENCH_ROW(function, name, summary) {function, name, summary},
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

int cli_bench(const cli_options *options) {
  int bench = 0;
  while (bench < BENCH_COUNT && strcmp(options->input, benches[bench].name) != 0) ++bench;
  if (bench == BENCH_COUNT) return unknown_bench(options->input);
  cvtm_device *device = NULL;
  cli_options chosen = *options;
  int code = cli_open_device(&chosen, &device);
  if (code != CLI_EXIT_OK) return code;
  printf("%s, on %s (%s)\n\n", benches[bench].summary, cvtm_device_name(device),
         cvtm_device_description(device));
  const cvtm_status status = benches[bench].function(device, options);
  if (status != CVTM_OK) code = cli_failed(CLI_WORKING, status, cvtm_device_error(device));
  cvtm_device_destroy(device);
  return code;
}

#include "cli/distributed.h"

#include "cli/cli.h"
#include "cli/colours.h"

#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int cli_distributed_check(const cli_options *options) {
  if (!options->distributed) return CLI_EXIT_OK;
  if (strncmp(options->device, "cuda", 4) == 0)
    return cli_usage_error(options->command, "--distributed is for CPUs; it cannot use --device %s",
                           options->device);
  if (options->equal_mass.on || options->noise == CLI_NOISE_BLUE || cli_colours_wanted(options) ||
      options->domain.kind != 0 || options->view.watch != NULL)
    return cli_usage_error(options->command,
                           "--distributed is of plain tessellations, not of --equal-mass, --noise "
                           "blue, colours, --domain and --watch");
  return CLI_EXIT_OK;
}

/* Ranks that the launcher has not bound to processors divide those of their machine. */
static int threads_of_rank(const batch_ranks *processes) {
  const int usable = omp_get_num_procs();
  if (usable < sysconf(_SC_NPROCESSORS_ONLN)) return usable;
  const int each = usable / batch_ranks_local_size(processes);
  return each > 0 ? each : 1;
}

int cli_distributed_join(cli_options *options, cli_distributed *d) {
  cvtm_error error = {CVTM_OK, ""};
  memset(d, 0, sizeof *d);
  if (!options->distributed) return CLI_EXIT_OK;
  const cvtm_status status = batch_ranks_start(&d->processes, &error);
  if (status != CVTM_OK) return cli_failed(CLI_WORKING, status, &error);
  d->ranks = batch_ranks_collective(d->processes);
  if (options->threads == 0) options->threads = threads_of_rank(d->processes);
  if (strcmp(options->device, "auto") == 0) options->device = "cpu";
  if (d->ranks.rank == 0) return CLI_EXIT_OK;
  options->quiet = 1;
  options->verbose = 0;
  (void)cli_capture_messages(&d->message);
  return CLI_EXIT_OK;
}

void cli_distributed_attach(const cli_distributed *d, cvtm_device *device) {
  if (d->processes != NULL) cvtm_device_set_ranks(device, &d->ranks);
}

int cli_distributed_writes(const cli_distributed *d) {
  return d->processes == NULL || d->ranks.rank == 0;
}

/* What all ranks have found rank 0 reports: the others give it time to. */
static void report_failure(const cli_distributed *d) {
  const struct timespec half_second = {0, 500000000};
  char host[64] = "?";
  if (d->ranks.rank == 0) return; /* printed already */
  nanosleep(&half_second, NULL);
  (void)gethostname(host, sizeof host - 1);
  fprintf(stderr, "cvtmesh: rank %d of %d on %s: %s\n", d->ranks.rank, d->ranks.size, host,
          d->message.message);
}

void cli_distributed_leave(cli_distributed *d, int code) {
  if (d->processes == NULL) return;
  if (code != CLI_EXIT_OK) {
    report_failure(d);
    batch_ranks_end_all(d->processes, code);
  }
  if (d->ranks.rank > 0) (void)cli_capture_messages(NULL);
  batch_ranks_finish(d->processes);
  d->processes = NULL;
}

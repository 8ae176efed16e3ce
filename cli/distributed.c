#include "cli/distributed.h"

#include "cli/cli.h"
#include "cli/colours.h"
#include "cli/preset.h"

#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int cli_distributed_check(const cli_options *options) {
  if (!options->distributed) return CLI_EXIT_OK;
  if (options->equal_mass.on || options->noise == CLI_NOISE_BLUE || cli_colours_wanted(options) ||
      options->domain.kind != 0 || options->view.watch != NULL)
    return cli_usage_error(options->command,
                           "--distributed is of plain tessellations, not of --equal-mass, --noise "
                           "blue, colours, --domain and --watch");
  cli_options chosen = *options;
  cli_preset_apply(&chosen);
  if (chosen.method == CVTM_CVT_NEWTON ||
      (chosen.energy == CVTM_CVT_PIXEL && chosen.voronoi != CVTM_VORONOI_EXACT))
    return cli_usage_error(options->command,
                           "--distributed divides exact diagrams and the methods lbfgsb and lloyd, "
                           "not --voronoi, --preset paper and --method newton");
  return CLI_EXIT_OK;
}

/* Ranks that the launcher has not bound to processors divide those of their machine. */
static int threads_of_rank(const batch_ranks *processes) {
  const int usable = omp_get_num_procs();
  if (usable < sysconf(_SC_NPROCESSORS_ONLN)) return usable;
  const int each = usable / batch_ranks_local_size(processes);
  return each > 0 ? each : 1;
}

/* The ranks of a machine take its GPUs in turn. */
static void choose_device(cli_options *options, cli_distributed *d) {
  const int is_auto = strcmp(options->device, "auto") == 0;
  const int count = cvtm_cuda_count(NULL);
  if (is_auto && count == 0) options->device = "cpu";
  if (count == 0 || !(is_auto || strcmp(options->device, "cuda") == 0)) return;
  snprintf(d->device, sizeof d->device, "cuda:%d", batch_ranks_local_rank(d->processes) % count);
  options->device = d->device;
}

int64_t cli_distributed_count(cli_options *options) {
  const int all = strcmp(options->device, "cuda:all") == 0;
  int64_t ranks = options->ranks;
  if (all) options->device = "cuda";
  if (batch_ranks_launched()) return 1;
  if (all && ranks == 0) ranks = cvtm_cuda_count(NULL); /* of none the device tells why */
  if (ranks > 1) options->distributed = 1;
  return ranks > 1 ? ranks : 1;
}

int cli_distributed_join(cli_options *options, cli_distributed *d) {
  cvtm_error error = {CVTM_OK, ""};
  memset(d, 0, sizeof *d);
  if (!options->distributed) return CLI_EXIT_OK;
  const cvtm_status status = batch_ranks_start(&d->processes, &error);
  if (status != CVTM_OK) return cli_failed(CLI_WORKING, status, &error);
  d->ranks = batch_ranks_collective(d->processes);
  if (options->threads == 0) options->threads = threads_of_rank(d->processes);
  choose_device(options, d);
  if (d->ranks.rank == 0) return CLI_EXIT_OK;
  options->quiet = 1;
  options->verbose = 0;
  (void)cli_capture_messages(&d->message);
  return CLI_EXIT_OK;
}

int cli_distributed_attach(cli_distributed *d, cvtm_device *device) {
  if (d->processes == NULL) return CLI_EXIT_OK;
  cvtm_device_set_ranks(device, &d->ranks);
  const cvtm_status status = cvtm_ranks_connect(device, &d->ranks);
  return status == CVTM_OK ? CLI_EXIT_OK
                           : cli_failed(CLI_WORKING, status, cvtm_device_error(device));
}

void cli_distributed_detach(cli_distributed *d, cvtm_device *device) {
  if (d->processes == NULL) return;
  cvtm_device_set_ranks(device, NULL);
  cvtm_nccl_close(d->ranks.nccl);
  d->ranks.nccl = NULL;
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
          cli_visible(d->message.message));
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

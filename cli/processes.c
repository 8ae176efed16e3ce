#include "cli/processes.h"

#include "cli/cli.h"
#include "run/colours.h"
#include "run/stages.h"

#include <errno.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int cli_distributed_check(const cli_options *options) {
  if (!options->distributed) return CLI_EXIT_OK;
  if (options->run.equal_mass.on || options->run.noise == CVTM_RUN_NOISE_BLUE ||
      run_colours_wanted(&options->run) || options->run.domain.kind != 0 ||
      options->view.watch != NULL)
    return cli_usage_error(options->command,
                           "--ranks does not go with --equal-mass, --noise blue, --colours, "
                           "--domain or --watch");
  cli_options chosen = *options;
  run_preset_apply(&chosen.run);
  if (chosen.run.energy == CVTM_CVT_PIXEL)
    return cli_usage_error(
        options->command,
        "--ranks divides the exact energy, not the pixel energy of --preset paper");
  return CLI_EXIT_OK;
}

/* Assigns the GPUs of a machine to its ranks in turn. */
static void choose_device(cli_options *options, cli_distributed *d) {
  const int is_auto = strcmp(options->device, "auto") == 0;
  const int count = cvtm_cuda_count(NULL);
  if (is_auto && count == 0) options->device = "cpu";
  if (count == 0 || !(is_auto || strcmp(options->device, "cuda") == 0)) return;
  snprintf(d->device, sizeof d->device, "cuda:%d", mpi_ranks_local_rank(d->processes) % count);
  options->device = d->device;
}

/* Measured on two H200: 10^8 sites take 14.5 s with two processes, 16.6 s with one; on two H100
 * 10^7 sites take 5.0 s with two, 2.8 s with one. */
enum { SITES_THAT_PAY = 50000000 }; /* per process */

/* The fewest processes, one GPU each, whose sites fit into four fifths of the memory of a GPU. */
static int64_t processes_that_fit(int64_t sites, int64_t most) {
  enum { ON_EVERY_RANK = 210, DIVIDED = 530 }; /* bytes per site */
  const double room = 0.8 * (double)cvtm_cuda_memory(0);
  int64_t count = 1;
  while (count < most && (double)sites * (ON_EVERY_RANK + (double)DIVIDED / (double)count) > room)
    ++count;
  return count;
}

int64_t cli_distributed_useful(const cli_options *options, int64_t asked) {
  const int on_gpus = strcmp(options->device, "cpu") != 0 && cvtm_cuda_count(NULL) > 0;
  const int64_t sites = options->run.points, pays = sites / SITES_THAT_PAY;
  if (sites <= 0 || pays >= asked) return asked; /* the number is decided by the input */
  const int64_t fits = on_gpus ? processes_that_fit(sites, asked) : 1;
  const int64_t chosen = fits > pays ? fits : pays;
  if (chosen < asked && !options->quiet) {
    fprintf(stderr, "cvtmesh: note: %lld of %lld processes: ", (long long)chosen, (long long)asked);
    if (chosen > 1 && fits >= pays) fprintf(stderr, "as many as the memory for the sites needs; ");
    fprintf(stderr, "processes with fewer than %d sites each do not make a run faster\n",
            SITES_THAT_PAY);
  }
  return chosen;
}

int64_t cli_distributed_count(cli_options *options) {
  const int all = strcmp(options->device, "cuda:all") == 0;
  int64_t ranks = options->ranks;
  if (all) options->device = "cuda";
  if (mpi_ranks_launched()) return 1;
  if (all && ranks == 0)
    ranks = cvtm_cuda_count(NULL); /* 0: opening the device reports the reason */
  if (ranks > 1) options->distributed = 1;
  return ranks > 1 ? ranks : 1;
}

int cli_distributed_join(cli_options *options, cli_distributed *d) {
  cvtm_error error = {CVTM_OK, ""};
  memset(d, 0, sizeof *d);
  if (!options->distributed) return CLI_EXIT_OK;
  const cvtm_status status = mpi_ranks_start(&d->processes, &error);
  if (status != CVTM_OK) return cli_failed(CLI_WORKING, status, &error);
  d->ranks = mpi_ranks_collective(d->processes);
  choose_device(options, d);
  if (options->run.threads == 0) {
    const int on_cpu = strcmp(options->device, "cpu") == 0;
    options->run.threads = mpi_ranks_cores(d->processes);
    /* rank 0 alone reads, makes the mesh and writes, so it may use all cores for these */
    omp_set_num_threads(d->ranks.rank > 0 || on_cpu ? (int)options->run.threads
                                                    : mpi_ranks_cores_alone(d->processes));
  }
  if (!options->quiet) mpi_ranks_print_note(d->processes);
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

/* Rank 0 reports failures of all ranks, and ends the other ranks while they wait here. */
static void report_failure(const cli_distributed *d) {
  const struct timespec half_second = {0, 500000000};
  char host[64] = "?";
  if (d->ranks.rank == 0) return; /* already printed */
  nanosleep(&half_second, NULL);
  (void)gethostname(host, sizeof host - 1);
  fprintf(stderr, "cvtmesh: rank %d of %d on %s: %s\n", d->ranks.rank, d->ranks.size, host,
          cli_visible(d->message.message));
}

void cli_distributed_leave(cli_distributed *d, int code) {
  if (d->processes == NULL) return;
  if (code != CLI_EXIT_OK) {
    report_failure(d);
    mpi_ranks_end_all(d->processes, code);
  }
  if (d->ranks.rank > 0) (void)cli_capture_messages(NULL);
  mpi_ranks_finish(d->processes);
  d->processes = NULL;
}

/* --- ranks on this machine ------------------------------------------------------------------ */

#ifdef CVTMESH_MPI_MODULE

/* Sets variables for Open MPI 4 and 5: all ranks are on this machine and share its processors. Open
 * MPI starts processes of root only on request; the user has requested this. */
static void set_environment(void) {
  static const char *const wishes[][2] = {
      {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
      {"OMPI_MCA_hwloc_base_binding_policy", "none"},
      {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
      {"PRTE_MCA_hwloc_default_binding_policy", "none"},
      {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
      {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
  };
  for (size_t k = 0; k < sizeof wishes / sizeof wishes[0]; ++k)
    (void)setenv(wishes[k][0], wishes[k][1], 0);
}

/* Reads the words of this process's command line, each followed by a zero byte. */
static char *read_command_line(size_t *bytes) {
  FILE *file = fopen("/proc/self/cmdline", "rb");
  char *text = NULL;
  size_t room = 0;
  *bytes = 0;
  while (file != NULL && *bytes == room) {
    char *grown = realloc(text, room += 65536);
    if (grown == NULL) break;
    text = grown;
    *bytes += fread(text + *bytes, 1, room - *bytes, file);
  }
  if (file != NULL) fclose(file);
  return text;
}

static size_t count_words(const char *text, size_t bytes) {
  size_t count = 0;
  for (size_t k = 0; k < bytes; ++k) count += text[k] == '\0';
  return count;
}

/* Makes mpirun's command line. The option follows the command's name: `--` may end the options. */
static void fill_words(char **words, char *number, char *program, char *text, size_t bytes) {
  static char launcher[] = "mpirun", n[] = "-n", distributed[] = "--ranks=mpi";
  size_t w = 0, word = 0;
  words[w++] = launcher;
  words[w++] = n;
  words[w++] = number;
  words[w++] = program;
  for (size_t at = 0; at < bytes; at += strlen(text + at) + 1, ++word) {
    if (word > 0) words[w++] = text + at; /* word 0 is the program's name */
    if (word == 1) words[w++] = distributed;
  }
  words[w] = NULL;
}

int cli_launch_ranks(int64_t ranks) {
  char number[24], program[4096];
  cvtm_error error = {CVTM_OK, ""};
  size_t bytes = 0;
  char *text = read_command_line(&bytes);
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  char **words = text != NULL ? malloc((count_words(text, bytes) + 8) * sizeof *words) : NULL;
  if (words != NULL && length > 0) {
    program[length] = '\0';
    snprintf(number, sizeof number, "%lld", (long long)ranks);
    fill_words(words, number, program, text, bytes);
    set_environment();
    (void)execvp(words[0], words);
  }
  (void)cvtm_fail(&error, CVTM_ERROR_UNSUPPORTED, "cannot start %lld processes: mpirun: %s",
                  (long long)ranks, strerror(errno));
  free(words);
  free(text);
  return cli_failed(CLI_WORKING, CVTM_ERROR_UNSUPPORTED, &error);
}

#else

int cli_launch_ranks(int64_t ranks) {
  cvtm_error error = {CVTM_OK, ""};
  (void)cvtm_fail(&error, CVTM_ERROR_UNSUPPORTED,
                  "cannot start %lld processes: this build has no MPI", (long long)ranks);
  return cli_failed(CLI_WORKING, CVTM_ERROR_UNSUPPORTED, &error);
}

#endif

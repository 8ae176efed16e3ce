/* cvtmesh run: density image -> centroidal Voronoi tessellation -> files. */
#include "cli/run.h"

#include "cli/processes.h"
#include "cli/summary.h"
#include "cli/watch.h"
#include "run/colours.h"
#include "run/job.h"
#include "run/output.h"
#include "run/page.h"

#include <string.h>

/* Nonzero if the run writes mesh files, but no points or dots, which would get other positions. */
static int writes_meshes(const cvtm_run_options *o) {
  for (int k = 0; k < o->output.count; ++k) {
    const run_output_kind kind = run_output_kind_of(o, o->output.item[k]);
    if (kind == RUN_OUTPUT_POINTS || (kind == RUN_OUTPUT_DRAWING && o->svg != CVTM_SVG_MESH))
      return 0;
  }
  return run_outputs_have_mesh(o);
}

void cli_run_choose_domain(cli_options *options) {
  cvtm_run_options *o = &options->run;
  const int has_ranks =
      options->distributed || options->ranks > 1 || strcmp(options->device, "cuda:all") == 0;
  const int is_bare = o->init.name != NULL || o->fixed.name != NULL || o->equal_mass.on ||
                      o->noise == CVTM_RUN_NOISE_BLUE || run_order_of(o) != CVTM_RUN_ORDER_NONE ||
                      run_colours_wanted(o) || o->preset == CVTM_RUN_PRESET_PAPER || has_ranks;
  if (strcmp(options->text.domain, "auto") != 0) return;
  o->domain.kind = writes_meshes(o) && !is_bare ? CVTM_RUN_DOMAIN_FRAME : CVTM_RUN_DOMAIN_NONE;
}

int cli_run_check_values(const cli_options *options) {
  cvtm_error error = {CVTM_OK, ""};
  CLI_TRY(cli_watch_check(options));
  CLI_TRY(cli_result(options->command, CLI_READING, run_check(&options->run, &error), &error));
  return cli_distributed_check(options);
}

int cli_run_check(const cli_options *options) {
  const cvtm_run_options *o = &options->run;
  CLI_TRY(cli_run_check_values(options));
  if (o->output.count == 0 && o->density_out == NULL && o->report == NULL &&
      options->view.watch == NULL)
    return cli_missing(options->command, "--output");
  return CLI_EXIT_OK;
}

int cli_run_create(cli_options *options, cli_progress *progress, cvtm_run **run) {
  cvtm_error error = {CVTM_OK, ""};
  cli_progress_attach(progress, options);
  return cli_result(CLI_RUN, CLI_READING, run_create(&options->run, run, &error), &error);
}

int cli_run_place(const cli_progress *progress, cvtm_run *run, cvtm_device *device) {
  cvtm_error error = {CVTM_OK, ""};
  cvtm_status status = run_place(run, device, &error);
  if (status == CVTM_OK && run->options.live) status = cli_watch_status(progress->watch, &error);
  return cli_result(CLI_RUN, CLI_WORKING, status, &error);
}

int cli_run_write(const cli_progress *progress, cvtm_run *run) {
  cvtm_error error = {CVTM_OK, ""};
  cvtm_status status = run_write(run, &error);
  if (status == CVTM_OK && run->options.live) status = cli_watch_page(progress->watch, run, &error);
  return cli_result(CLI_RUN, CLI_WRITING, status, &error);
}

/* The exit code of a run that has written its files. */
static int exit_code_of(const cvtm_run *run) {
  if (cli_interrupted()) return CLI_EXIT_INTERRUPTED;
  return run_converged(run) ? CLI_EXIT_OK : CLI_EXIT_NOT_CONVERGED;
}

/* Runs the stages. Ranks that do not write end after the solve. */
static int run_on(const cli_progress *progress, cvtm_run *run, cvtm_device *device, int writes) {
  cvtm_error error = {CVTM_OK, ""};
  CLI_TRY(cli_result(CLI_RUN, CLI_READING, run_read(run, device, &error), &error));
  CLI_TRY(cli_run_place(progress, run, device));
  if (!writes) return CLI_EXIT_OK;
  cvtm_status status = run_order(run, &error);
  if (status == CVTM_OK) status = run_mesh(run, device, &error);
  CLI_TRY(cli_result(CLI_RUN, CLI_WORKING, status, &error));
  return cli_run_write(progress, run);
}

/* *failed: the code of a failure that ends all ranks. */
static int run_part(cli_options *options, cli_distributed *distributed, int *failed) {
  const int writes = cli_distributed_writes(distributed);
  cli_progress progress = {0};
  cvtm_device *device = NULL;
  cvtm_run *run = NULL;
  int code = cli_open_device(options, &device);
  if (code != CLI_EXIT_OK) return *failed = code;
  code = cli_distributed_attach(distributed, device);
  cli_catch_signals();
  if (code == CLI_EXIT_OK) code = cli_run_create(options, &progress, &run);
  if (code == CLI_EXIT_OK) code = run_on(&progress, run, device, writes);
  *failed = code;
  if (code == CLI_EXIT_OK && !options->quiet) cli_run_print_summary(options, run);
  if (code == CLI_EXIT_OK) code = exit_code_of(run);
  cli_watch_destroy(progress.watch);
  cvtm_run_destroy(run);
  if (*failed == CLI_EXIT_OK) cli_distributed_detach(distributed, device);
  cvtm_device_destroy(device);
  return code;
}

static int check_all(const cli_options *options) {
  CLI_TRY(cli_run_check(options));
  return cli_outputs_check(options);
}

int cli_run(const cli_options *options) {
  cli_options chosen = *options;
  cli_distributed distributed;
  int failed = CLI_EXIT_OK;
  cli_run_choose_domain(&chosen);
  const int64_t asked = cli_distributed_count(&chosen);
  if (asked > 1) CLI_TRY(check_all(&chosen));
  const int64_t ranks = asked > 1 ? cli_distributed_useful(&chosen, asked) : 1;
  if (ranks > 1) return cli_launch_ranks(ranks);
  CLI_TRY(cli_distributed_join(&chosen, &distributed));
  int code = check_all(&chosen);
  if (code == CLI_EXIT_OK) code = run_part(&chosen, &distributed, &failed);
  cli_distributed_leave(&distributed, failed);
  return code;
}

/* The report of `run`, and the summary on stderr. */
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/page.h"
#include "cli/report.h"
#include "cli/run.h"
#include "cli/run_job.h"

#include <string.h>

static const char *const phase_names[] = {
#define CLI_RUN_PHASE_NAME(code, name) name,
    CLI_RUN_PHASE_LIST(CLI_RUN_PHASE_NAME)
#undef CLI_RUN_PHASE_NAME
};

static void add_history(cJSON *report, const cli_progress *progress) {
  cJSON *history = cJSON_AddArrayToObject(report, "history");
  const cvtm_cvt_record *records = progress->history.records;
  for (int64_t k = 0; k < progress->history.count; ++k) {
    const cvtm_cvt_record *record = &records[k];
    cJSON *entry = cJSON_CreateObject();
    cli_json_integer(entry, "iteration", record->iteration);
    cli_json_real(entry, "energy", record->energy);
    cli_json_real(entry, "gradient_norm", record->gradient_norm);
    cli_json_real(entry, "step", record->step);
    cli_json_append(history, entry);
  }
}

static void add_effort(cJSON *report, const cli_run_job *r) {
  cli_json_integer(report, "iterations", r->result.iterations);
  cli_json_integer(report, "evaluations", r->result.evaluations);
  cli_json_integer(report, "levels", r->result.levels);
  cli_json_integer(report, "coarse_iterations", r->result.coarse_iterations);
  cli_json_integer(report, "lattices", r->result.lattices);
  cli_json_integer(report, "search_rounds", r->result.rounds);
  cli_json_integer(report, "transferred_sites", r->result.transfers);
  if (r->options.effort == CVTM_CVT_EFFORT_BEST)
    cli_json_integer(report, "anneal_rounds", r->result.anneal_rounds);
}

static void add_seconds(cJSON *report, const cli_run_job *r) {
  cJSON *seconds = cJSON_AddObjectToObject(report, "seconds");
  for (int k = 0; k < CLI_RUN_PHASE_COUNT; ++k)
    cli_json_real(seconds, phase_names[k], r->seconds[k]);
  cli_json_real(seconds, "total", cvtm_clock() - r->start);
  cli_json_real(seconds, "optimize_evaluation", r->result.seconds_evaluation);
  cli_json_real(seconds, "optimize_optimizer", r->result.seconds_optimizer);
}

static void add_second_order(cJSON *report, const cli_run_job *r) {
  cJSON *second = cJSON_AddObjectToObject(report, "second_order");
  cli_json_integer(second, "nodes", r->second.count);
  cli_json_integer(second, "curved_edges", r->second.curved);
  cli_json_integer(second, "straightened_edges", r->second.straightened);
}

static void add_noise(cJSON *report, const cli_run_job *r) {
  cJSON *entry = cJSON_AddObjectToObject(report, "noise");
  cli_json_text(entry, "kind", "blue");
  cli_json_real(entry, "energy", r->noise_energy);
}

static cJSON *make_run_report(const cli_run_job *r) {
  cJSON *report = cli_report_begin(r->device, &r->options);
  cli_json_integer(report, "seed", r->options.seed);
  cli_json_integer(report, "width", r->domain.width);
  cli_json_integer(report, "height", r->domain.height);
  cli_json_integer(report, "sites", r->count);
  cli_json_integer(report, "sites_asked",
                   r->options.preview.asked > 0 ? r->options.preview.asked : r->options.points);
  cli_dot_count_report(&r->dots, report);
  cli_json_integer(report, "fixed_sites", r->fixed);
  add_effort(report, r);
  cli_json_text(report, "stop_reason", r->stop_reason);
  cli_json_real(report, "energy", r->energy);
  cli_json_real(report, "energy_reference", r->bound);
  cli_json_real(report, "energy_bound", r->bound); /* the older name */
  cli_json_real(report, "energy_ratio", r->energy / r->bound);
  if (r->options.equal_mass.on)
    cli_equal_mass_report(&r->equal, report);
  else if (r->options.energy == CVTM_CVT_PIXEL)
    cli_json_real(report, "energy_pixel", r->energy_pixel);
  cli_json_text(report, "objective", r->options.energy == CVTM_CVT_PIXEL ? "pixel" : "exact");
  cli_json_real(report, "gradient_norm", r->result.gradient_norm);
  cli_json_real(report, "tolerance", r->options.tolerance);
  cli_json_integer(report, "empty_cells", r->result.empty_cells);
  if (r->made.mask != NULL) cli_json_integer(report, "moved_sites", r->moved);
  cli_json_integer(report, "coincident_sites", r->mesh.coincident_count);
  cJSON_AddBoolToObject(report, "collinear", r->mesh.collinear != 0);
  cli_condition_report(&r->options, &r->made, report);
  cli_stipples_report(&r->stipples, report);
  if (r->options.noise == CLI_NOISE_BLUE) add_noise(report, r);
  cli_colours_report(&r->colours, report);
  add_history(report, &r->progress);
  add_seconds(report, r);
  if (r->triangulation.seconds > 0) cli_json_triangulation(report, &r->triangulation);
  cli_order_report(&r->order, &r->options, report);
  cli_page_report(&r->options, r->domain, report);
  cli_world_report(&r->options, r->domain, &r->mesh, report);
  if (r->options.domain.kind != CLI_DOMAIN_NONE) cli_domain_report(&r->shape, report);
  if (r->second.count > 0) add_second_order(report, r);
  cli_json_quality(report, &r->quality);
  return report;
}

char *cli_run_report_text(const cli_run_job *r) {
  cJSON *report = make_run_report(r);
  char *text = cli_json_print(report, 0);
  cJSON_Delete(report);
  return text;
}

cvtm_status cli_run_write_report(const cli_run_job *r, cvtm_error *error) {
  if (r->options.report == NULL) return CVTM_OK;
  cJSON *report = make_run_report(r);
  return cli_json_write(r->options.report, report, error);
}

cvtm_status cli_run_write_watch_page(const cli_run_job *r, cvtm_error *error) {
  if (r->watch == NULL) return CVTM_OK;
  cJSON *report = make_run_report(r);
  cJSON_DeleteItemFromObject(report, "history"); /* the page has a plot */
  char *text = cli_json_print(report, 1);
  const cvtm_status status =
      text != NULL ? cli_watch_page(r->watch, text, error)
                   : cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for a report");
  cJSON_free(text);
  cJSON_Delete(report);
  return status;
}

static const char *stop_text(const cli_run_job *r) {
  switch (r->result.stop) {
    case CVTM_STOP_GRADIENT:
      return "every site that moves is near enough to its centroid";
    case CVTM_STOP_DECREASE:
      return "the energy hardly decreases any more (--tolerance)";
    case CVTM_STOP_ITERATIONS:
      return "the limit on iterations (--iterations)";
    case CVTM_STOP_TIME:
      return "the time limit (--time-limit)";
    case CVTM_STOP_REQUEST:
      return "interrupted; the best state was kept";
    case CVTM_STOP_LINE_SEARCH:
      return "no step decreases the energy any further";
    default:
      return r->stop_reason;
  }
}

static void print_name(const char *path, int *first) {
  fprintf(stderr, "%s%s", *first ? "" : ", ",
          strcmp(path, "-") == 0 ? "standard output" : cli_visible(path));
  *first = 0;
}

static void print_written(const cli_options *options) {
  int first = 1;
  fprintf(stderr, "  wrote      ");
  for (int k = 0; k < options->output.count; ++k) print_name(options->output.item[k], &first);
  if (options->density_out != NULL) print_name(options->density_out, &first);
  if (options->equal_mass.weights_out != NULL) print_name(options->equal_mass.weights_out, &first);
  if (options->domain.pairs_out != NULL) print_name(options->domain.pairs_out, &first);
  if (options->report != NULL) print_name(options->report, &first);
  if (options->view.watch != NULL) print_name(options->view.watch, &first);
  fputc('\n', stderr);
}

/* Every phase that takes time. Reading includes what is done to the density. */
static void print_seconds(const cli_run_job *r) {
  const cli_options *o = &r->options;
  const char *reading =
      o->condition.smooth > 0 || o->condition.grade > 0 ? "read and smooth" : "read";
  fprintf(stderr, "  seconds    %.2f: %s %.2f", cvtm_clock() - r->start, reading,
          r->seconds[CLI_RUN_PHASE_READ]);
  const double least = 0.005; /* seen as 0.01 */
  for (int k = CLI_RUN_PHASE_READ + 1; k < CLI_RUN_PHASE_COUNT; ++k)
    if (r->seconds[k] >= least) fprintf(stderr, ", %s %.2f", phase_names[k], r->seconds[k]);
  fprintf(stderr, "\n");
}

void cli_run_print_summary(const cli_run_job *r) {
  const cvtm_quality_figures *inner = &r->quality.inner;
  fprintf(stderr, "%s: %d x %d pixels, %lld %s, on %s (%s)\n", cli_visible(r->options.input),
          r->domain.width, r->domain.height, (long long)r->count,
          cli_word(r->count, "site", "sites"), cvtm_device_name(r->device),
          cvtm_device_description(r->device));
  cli_dot_count_print(&r->dots, stderr);
  fprintf(stderr,
          "  energy     %.6f of the hexagonal reference; sites within %.2g px of their centroids\n",
          r->energy / r->bound, r->result.gradient_norm);
  fprintf(stderr, "  stopped    after %lld %s, %lld %s: %s\n", (long long)r->result.iterations,
          cli_word(r->result.iterations, "iteration", "iterations"),
          (long long)r->result.evaluations,
          cli_word(r->result.evaluations, "evaluation", "evaluations"), stop_text(r));
  if (r->options.equal_mass.on) cli_equal_mass_print_summary(&r->equal);
  if (inner->triangles > 0)
    fprintf(stderr,
            "  mesh       %lld %s; smallest angle %.1f degrees, mean %.1f; mean Q %.4f;"
            " degree 6 at %.1f %%\n",
            (long long)r->mesh.triangle_count,
            cli_word(r->mesh.triangle_count, "triangle", "triangles"), inner->min_angle,
            inner->mean_min_angle, inner->mean_q, 100 * r->quality.degree6_share);
  else
    fprintf(stderr, "  mesh       %lld %s\n", (long long)r->mesh.triangle_count,
            cli_word(r->mesh.triangle_count, "triangle", "triangles"));
  cli_order_print_summary(&r->order);
  cli_world_print(&r->options, r->domain, stderr);
  if (r->options.domain.kind != CLI_DOMAIN_NONE) cli_domain_print_summary(&r->shape);
  if (r->second.straightened > 0)
    fprintf(stderr, "  note       %lld %s straight that would turn a triangle over\n",
            (long long)r->second.straightened,
            cli_word(r->second.straightened, "edge is", "edges are"));
  cli_stipples_print(&r->stipples, stderr, "  tone       ");
  cli_colours_print(&r->options, &r->colours);
  if (r->count < r->options.points)
    fprintf(stderr, "  note       %lld of the %lld sites asked for: no room for the others\n",
            (long long)r->count, (long long)r->options.points);
  if (r->mesh.coincident_count > 0)
    fprintf(stderr, "  note       %lld %s another's place\n", (long long)r->mesh.coincident_count,
            cli_word(r->mesh.coincident_count, "site shares", "sites share"));
  if (r->moved > 0)
    fprintf(stderr, "  note       %lld %s moved into the domain, or out of an obstacle\n",
            (long long)r->moved, cli_word(r->moved, "site was", "sites were"));
  if (r->result.empty_cells > 0)
    fprintf(stderr, "  note       %lld %s no mass\n", (long long)r->result.empty_cells,
            cli_word(r->result.empty_cells, "cell has", "cells have"));
  if (r->checkpoint.resumed != NULL)
    fprintf(stderr, "  note       continued from %s\n", cli_visible(r->checkpoint.resumed));
  cli_preview_print(&r->options);
  print_seconds(r);
  print_written(&r->options);
}

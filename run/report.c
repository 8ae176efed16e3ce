/* The report of a run. */
#include "base/clock.h"
#include "run/budget.h"
#include "run/input.h"
#include "run/page.h"
#include "run/json.h"
#include "run/job.h"

const char *const run_phase_names[] = {
#define RUN_PHASE_NAME(code, name) name,
    RUN_PHASE_LIST(RUN_PHASE_NAME)
#undef RUN_PHASE_NAME
};

static void add_history(cJSON *report, const run_history *made) {
  cJSON *history = cJSON_AddArrayToObject(report, "history");
  const cvtm_cvt_record *records = made->records;
  for (int64_t k = 0; k < made->count; ++k) {
    const cvtm_cvt_record *record = &records[k];
    cJSON *entry = run_json_item(history);
    run_json_integer(entry, "iteration", record->iteration);
    run_json_real(entry, "energy", record->energy);
    run_json_real(entry, "gradient_norm", record->gradient_norm);
    run_json_real(entry, "step", record->step);
  }
}

static void add_effort(cJSON *report, const cvtm_run *r) {
  run_json_integer(report, "iterations", r->result.iterations);
  run_json_integer(report, "evaluations", r->result.evaluations);
  run_json_integer(report, "levels", r->result.levels);
  run_json_integer(report, "coarse_iterations", r->result.coarse_iterations);
  run_json_integer(report, "lattices", r->result.lattices);
  run_json_integer(report, "search_rounds", r->result.rounds);
  run_json_integer(report, "transferred_sites", r->result.transfers);
  if (r->options.effort == CVTM_CVT_EFFORT_BEST)
    run_json_integer(report, "anneal_rounds", r->result.anneal_rounds);
}

static void add_seconds(cJSON *report, const cvtm_run *r) {
  cJSON *seconds = cJSON_AddObjectToObject(report, "seconds");
  for (int k = 0; k < RUN_PHASE_COUNT; ++k)
    run_json_real(seconds, run_phase_names[k], r->seconds[k]);
  run_json_real(seconds, "total", cvtm_clock() - r->start);
  run_json_real(seconds, "optimize_evaluation", r->result.seconds_evaluation);
  run_json_real(seconds, "optimize_optimizer", r->result.seconds_optimizer);
}

static void add_second_order(cJSON *report, const cvtm_run *r) {
  cJSON *second = cJSON_AddObjectToObject(report, "second_order");
  run_json_integer(second, "nodes", r->second.count);
  run_json_integer(second, "curved_edges", r->second.curved);
  run_json_integer(second, "straightened_edges", r->second.straightened);
}

static void add_noise(cJSON *report, const cvtm_run *r) {
  cJSON *entry = cJSON_AddObjectToObject(report, "noise");
  run_json_text(entry, "kind", "blue");
  run_json_real(entry, "energy", r->noise_energy);
}

cJSON *run_report_make(const cvtm_run *r) {
  cJSON *report = run_json_begin(r->device);
  const cvtm_run_options *o = &r->options;
  if (o->describe != NULL)
    o->describe(o->context, o, r->device, cJSON_AddObjectToObject(report, "options"));
  run_json_integer(report, "seed", r->options.seed);
  run_json_integer(report, "width", r->domain.width);
  run_json_integer(report, "height", r->domain.height);
  run_json_integer(report, "sites", r->count);
  run_json_integer(report, "sites_asked",
                   r->options.preview.asked > 0 ? r->options.preview.asked : r->options.points);
  run_dot_count_report(&r->dots, report);
  run_json_integer(report, "fixed_sites", r->fixed);
  add_effort(report, r);
  run_json_text(report, "stop_reason", r->stop_reason);
  run_json_real(report, "energy", r->energy);
  run_json_real(report, "energy_reference", r->bound);
  run_json_real(report, "energy_bound", r->bound); /* the old name */
  run_json_real(report, "energy_ratio", r->energy / r->bound);
  if (r->options.equal_mass.on)
    run_equal_mass_report(&r->equal, report);
  else if (r->options.energy == CVTM_CVT_PIXEL)
    run_json_real(report, "energy_pixel", r->energy_pixel);
  run_json_text(report, "objective", r->options.energy == CVTM_CVT_PIXEL ? "pixel" : "exact");
  run_json_real(report, "gradient_norm", r->result.gradient_norm);
  run_json_real(report, "tolerance", r->options.tolerance);
  run_json_integer(report, "empty_cells", r->result.empty_cells);
  if (r->made.mask != NULL) run_json_integer(report, "moved_sites", r->moved);
  run_json_integer(report, "coincident_sites", r->mesh.coincident_count);
  cJSON_AddBoolToObject(report, "collinear", r->mesh.collinear != 0);
  run_condition_report(&r->options, &r->made, report);
  run_budget_report(o, report);
  run_stipples_report(&r->stipples, report);
  if (r->options.noise == CVTM_RUN_NOISE_BLUE) add_noise(report, r);
  run_colours_report(&r->colours, report);
  add_history(report, &r->history);
  add_seconds(report, r);
  if (r->triangulation.seconds > 0) run_json_triangulation(report, &r->triangulation);
  run_order_report(&r->order, &r->options, report);
  run_page_report(&r->options, r->domain, report);
  run_plot_report(&r->plot, report);
  run_world_report(&r->options, r->domain, &r->mesh, report);
  if (r->options.domain.kind != CVTM_RUN_DOMAIN_NONE) run_domain_report(&r->shape, report);
  if (r->second.count > 0) add_second_order(report, r);
  run_json_quality(report, &r->quality);
  return report;
}

char *cvtm_run_report(const cvtm_run *r) {
  cJSON *report = run_report_make(r);
  char *text = run_json_print(report, 0);
  cJSON_Delete(report);
  return text;
}

#include "cli/preset.h"

#include <stdio.h>

enum { PREVIEW_SITES = 20000 };
static const double preview_seconds = 2; /* of the descent */

static void replace(const cli_options *options, const char *name, int *field, int value) {
  if (!cli_option_given(options, name)) *field = value;
}

void cli_preview_limit(cli_options *o) {
  if (!o->preview.on || o->points <= PREVIEW_SITES) return;
  o->preview.asked = o->points;
  o->points = PREVIEW_SITES;
}

void cli_preview_print(const cli_options *o) {
  if (!o->preview.on) return;
  fprintf(stderr, "  preview    ");
  if (o->preview.asked > 0)
    fprintf(stderr, "%d of %lld sites; ", PREVIEW_SITES, (long long)o->preview.asked);
  fprintf(stderr, "at most %g %s of descent; a run without --preview is better\n", o->time_limit,
          o->time_limit == 1 ? "second" : "seconds");
}

static void apply_preview(cli_options *o) {
  if (!o->preview.on) return;
  replace(o, "effort", &o->effort, CVTM_CVT_EFFORT_LOW);
  if (!cli_option_given(o, "time-limit")) o->time_limit = preview_seconds;
  cli_preview_limit(o);
}

void cli_preset_apply(cli_options *o) {
  apply_preview(o);
  if (o->preset != CLI_PRESET_PAPER) return;
  replace(o, "energy", &o->energy, CVTM_CVT_PIXEL);
  replace(o, "voronoi", &o->voronoi, CVTM_VORONOI_JFA);
  replace(o, "start", &o->start, CVTM_CVT_START_RANDOM);
  replace(o, "effort", &o->effort, CVTM_CVT_EFFORT_LOW);
  if (!cli_option_given(o, "tolerance")) o->tolerance = 0;
}

void cli_preset_descent(const cli_options *options, cvtm_cvt_options *settings) {
  if (options->preset != CLI_PRESET_PAPER) return;
  settings->history = 8;
  settings->lloyd_steps = 0;
}

#include "cli/preset.h"

static void replace(const cli_options *options, const char *name, int *field, int value) {
  if (!cli_option_given(options, name)) *field = value;
}

void cli_preset_apply(cli_options *o) {
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

#include "cli/refine.h"

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* AREA or REGION=AREA; 0 if the text is neither. */
static int parse_cap(const char *text, cli_area_caps *caps) {
  const char *equals = strchr(text, '=');
  double area, region = 0;
  if (!cli_numbers_parse(equals != NULL ? equals + 1 : text, 1, &area) || !(area > 0)) return 0;
  if (equals == NULL) {
    caps->any = area;
    return 1;
  }
  char number[16];
  const size_t length = (size_t)(equals - text);
  if (length == 0 || length >= sizeof number) return 0;
  memcpy(number, text, length);
  number[length] = '\0';
  if (!cli_numbers_parse(number, 1, &region) || region != floor(region)) return 0;
  if (!(region >= 1 && region <= INT32_MAX)) return 0;
  caps->region[caps->count] = (int32_t)region;
  caps->area[caps->count++] = area;
  return 1;
}

int cli_area_caps_read(const cli_options *options, cli_area_caps *caps) {
  const cli_list *list = &options->refine.max_area;
  *caps = (cli_area_caps){.any = INFINITY};
  for (int k = 0; k < list->count; ++k) {
    if (!parse_cap(list->item[k], caps))
      return cli_usage_error(options->command, "--max-area: '%s' is neither AREA nor REGION=AREA",
                             list->item[k]);
  }
  return CLI_EXIT_OK;
}

/* A cvtm_area_cap. */
static double find_cap(const void *context, int32_t region, double x, double y) {
  const cli_area_caps *caps = context;
  double cap = caps->any;
  (void)x;
  (void)y;
  for (int k = 0; k < caps->count; ++k)
    if (caps->region[k] == region) cap = fmin(cap, caps->area[k]);
  return cap;
}

static int is_over(const void *context) {
  const double deadline = *(const double *)context;
  return cli_interrupted() || (deadline > 0 && cvtm_clock() >= deadline);
}

void cli_refine_choose(const cli_options *options, const cli_area_caps *caps,
                       const double *deadline, cvtm_refine_options *refine) {
  cvtm_refine_defaults(refine);
  refine->stop = is_over;
  refine->stop_context = deadline;
  if (cli_option_given(options, "min-angle")) refine->min_angle = options->refine.min_angle;
  if (caps->count == 0 && isinf(caps->any)) return;
  refine->area = find_cap;
  refine->area_context = caps;
}

int cli_refine_fell_short(const cvtm_refine_figures *figures) {
  return figures->below_free > 0 || figures->oversized > 0;
}

static void report_corners(const cvtm_refine_figures *figures, double height, cJSON *entry) {
  cJSON *list = cJSON_AddArrayToObject(entry, "small_corners");
  for (int64_t k = 0; k < figures->corner_count; ++k) {
    const cvtm_small_corner *corner = &figures->corners[k];
    cJSON *item = cJSON_CreateObject();
    cli_json_real(item, "x", corner->x);
    cli_json_real(item, "y", height > 0 ? height - corner->y : corner->y);
    cli_json_real(item, "angle", corner->angle);
    cli_json_integer(item, "triangles", corner->triangles);
    cli_json_append(list, item);
  }
}

void cli_refine_report(const cvtm_refine_options *refine, const cvtm_refine_figures *figures,
                       double height, cJSON *report) {
  cJSON *entry = cJSON_AddObjectToObject(report, "refinement");
  cli_json_real(entry, "min_angle_asked", refine->min_angle);
  cli_json_real(entry, "bound", figures->bound);
  cJSON_AddBoolToObject(entry, "stopped", figures->stopped != 0);
  cli_json_real(entry, "min_angle", figures->min_angle);
  cli_json_real(entry, "min_angle_free", figures->min_angle_free);
  cli_json_integer(entry, "below", figures->below);
  cli_json_integer(entry, "below_free", figures->below_free);
  cli_json_integer(entry, "oversized", figures->oversized);
  cli_json_integer(entry, "added_on_boundary", figures->added_on_boundary);
  cli_json_integer(entry, "added_for_angles", figures->added_for_angles);
  cli_json_integer(entry, "added_for_areas", figures->added_for_areas);
  cli_json_integer(entry, "removed", figures->removed);
  cli_json_integer(entry, "moved", figures->moved);
  report_corners(figures, height, entry);
}

void cli_refine_print_summary(const cvtm_refine_options *refine,
                              const cvtm_refine_figures *figures) {
  fprintf(stderr,
          "  refined    to %.3g degrees: %lld points added on the boundary, %lld for angles,"
          " %lld for areas\n",
          figures->bound, (long long)figures->added_on_boundary,
          (long long)figures->added_for_angles, (long long)figures->added_for_areas);
  if (figures->stopped)
    fprintf(stderr, "  warning    the refinement was stopped before its end\n");
  else if (figures->bound < refine->min_angle)
    fprintf(stderr, "  warning    %.3g degrees take too many points here; %.3g were worked for\n",
            refine->min_angle, figures->bound);
  if (figures->corner_count > 0)
    fprintf(stderr, "  note       %lld triangles are sharper, at %lld small angles of the input\n",
            (long long)(figures->below - figures->below_free), (long long)figures->corner_count);
  if (figures->below_free > 0)
    fprintf(stderr, "  warning    %lld triangles are sharper without such an angle: %.3g degrees\n",
            (long long)figures->below_free, figures->min_angle_free);
  if (figures->oversized > 0)
    fprintf(stderr, "  warning    %lld triangles are larger than --max-area\n",
            (long long)figures->oversized);
}

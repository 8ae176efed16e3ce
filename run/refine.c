#include "run/domain.h"

#include "run/input.h"
#include "run/page.h"
#include "run/json.h"

#include <math.h>
#include <stdlib.h>

static int has_length(const cvtm_run_area *cap) {
  return cap->unit >= 0 && run_unit_mm(cap->unit) > 0;
}

cvtm_status run_area_caps_read(const cvtm_run_options *options, run_area_caps *caps,
                               cvtm_error *error) {
  const cvtm_run_areas *list = &options->refine.max_area;
  *caps = (run_area_caps){.count = list->count};
  for (int k = 0; k < list->count; ++k) {
    const cvtm_run_area *cap = &list->item[k];
    const char *unit = cap->unit >= 0 ? run_unit_name(cap->unit) : "";
    if (!(cap->area > 0) || cap->region < 0 || cap->unit == CVTM_RUN_UNIT_WIDTH)
      return run_usage_error(error, "--max-area: '%g%s' is neither AREA nor REGION=AREA", cap->area,
                             unit);
    if (has_length(cap) && !run_has_page(options) && !run_world_may_have_unit(options))
      return run_usage_error(
          error, "--max-area %g%s^2: an area with a unit needs --page, or --pixel-size with a unit",
          cap->area, unit);
    caps->cap[k] = *cap;
  }
  return CVTM_OK;
}

cvtm_status run_area_caps_convert(const cvtm_run_options *options, cvtm_domain domain,
                                  run_area_caps *caps, cvtm_error *error) {
  for (int k = 0; k < caps->count; ++k) {
    double mm_per_pixel;
    if (!has_length(&caps->cap[k])) continue;
    CVTM_TRY(run_page_scale(options, domain, &mm_per_pixel, error));
    const double pixels = run_unit_mm(caps->cap[k].unit) / mm_per_pixel;
    caps->cap[k].area *= pixels * pixels;
    caps->cap[k].unit = CVTM_RUN_UNIT_NONE;
  }
  return CVTM_OK;
}

double run_area_cap_of(const run_area_caps *caps, int32_t region) {
  double least = INFINITY;
  int64_t first = 0, end = caps->file_count;
  for (int k = 0; k < caps->count; ++k)
    if (caps->cap[k].region == 0 || caps->cap[k].region == region)
      least = fmin(least, caps->cap[k].area);
  while (first < end) {
    const int64_t middle = first + (end - first) / 2;
    if (caps->file[middle].region < region)
      first = middle + 1;
    else
      end = middle;
  }
  for (; first < caps->file_count && caps->file[first].region == region; ++first)
    least = fmin(least, caps->file[first].area);
  return least;
}

/* A cvtm_area_cap. */
static double find_cap(const void *context, int32_t region, double x, double y) {
  (void)x;
  (void)y;
  return run_area_cap_of(context, region);
}

double run_area_caps_size(const run_area_caps *caps, int32_t region) {
  const double largest =
      1.6; /* largest area of a triangle relative to an equilateral triangle of this size */
  return sqrt(4 / sqrt(3) / largest * run_area_cap_of(caps, region));
}

void run_refine_choose(const cvtm_run_options *options, const run_area_caps *caps,
                       const run_limit *limit, cvtm_refine_options *refine) {
  cvtm_refine_defaults(refine);
  refine->stop = run_is_over;
  refine->stop_context = limit;
  if (options->given & CVTM_RUN_GIVEN_MIN_ANGLE) refine->min_angle = options->refine.min_angle;
  if (caps->count == 0) return;
  refine->area = find_cap;
  refine->area_context = caps;
}

int run_refine_fell_short(const cvtm_refine_figures *figures) {
  return figures->below_free > 0 || figures->oversized > 0;
}

/* Adds an entry to a list, with y = height - y; with height NaN, with y. */
static cJSON *report_place(cJSON *list, double x, double y, double height, double angle) {
  cJSON *item = run_json_item(list);
  run_json_real(item, "x", x);
  run_json_real(item, "y", isnan(height) ? y : height - y);
  run_json_real(item, "angle", angle);
  return item;
}

static void report_small(const cvtm_refine_figures *figures, double height, cJSON *entry) {
  cJSON *corners = cJSON_AddArrayToObject(entry, "small_corners");
  for (int64_t k = 0; k < figures->corner_count; ++k) {
    const cvtm_small_corner *c = &figures->corners[k];
    run_json_integer(report_place(corners, c->x, c->y, height, c->angle), "triangles",
                     c->triangles);
  }
  cJSON *narrow = cJSON_AddArrayToObject(entry, "narrow_triangles");
  for (int64_t k = 0; k < figures->narrow_count; ++k) {
    const cvtm_narrow_triangle *t = &figures->narrow[k];
    run_json_real(report_place(narrow, t->x, t->y, height, t->angle), "distance", t->distance);
  }
}

void run_refine_report(const cvtm_refine_options *refine, const cvtm_refine_figures *figures,
                       double height, cJSON *report) {
  cJSON *entry = cJSON_AddObjectToObject(report, "refinement");
  run_json_real(entry, "min_angle_asked", refine->min_angle);
  run_json_real(entry, "bound", figures->bound);
  cJSON_AddBoolToObject(entry, "stopped", figures->stopped != 0);
  run_json_real(entry, "min_angle", figures->min_angle);
  run_json_real(entry, "min_angle_free", figures->min_angle_free);
  run_json_integer(entry, "below", figures->below);
  run_json_integer(entry, "below_free", figures->below_free);
  run_json_integer(entry, "oversized", figures->oversized);
  run_json_integer(entry, "added_on_boundary", figures->added_on_boundary);
  run_json_integer(entry, "added_for_angles", figures->added_for_angles);
  run_json_integer(entry, "added_for_areas", figures->added_for_areas);
  run_json_integer(entry, "removed", figures->removed);
  run_json_integer(entry, "moved", figures->moved);
  report_small(figures, height, entry);
}

/* --- the mesh of a domain ------------------------------------------------------------------- */

int run_domain_refines(const cvtm_run_options *options) {
  const int is_zero = (options->given & CVTM_RUN_GIVEN_MIN_ANGLE) && options->refine.min_angle == 0;
  return !is_zero || options->refine.max_area.count > 0;
}

/* Without a bound from the user, the bound is the largest of 30, 28 and 26 degrees that all
 * triangles reach. Nonzero if a smaller bound must be tried. */
static int may_ask_less(const cvtm_run_options *options, const cvtm_refine_options *refine,
                        const cvtm_refine_figures *figures) {
  return !(options->given & CVTM_RUN_GIVEN_MIN_ANGLE) && figures->below_free > 0 &&
         !figures->stopped && refine->min_angle > 26;
}

cvtm_status run_domain_refine(const cvtm_run_options *options, run_domain *domain, double **sites,
                              int64_t *count, cvtm_error *error) {
  cvtm_refine_options *refine = &domain->refine;
  domain->limit.options = options;
  run_refine_choose(options, &domain->caps, &domain->limit, refine);
  refine->headroom = 0; /* other positions of the sites would have a larger energy */
  refine->wanted = *count;
  if (!run_domain_refines(options)) return CVTM_OK;
  for (;;) {
    CVTM_TRY(cvtm_refine(*sites, *count, &domain->boundary, refine, &domain->refined,
                         &domain->refinement, error));
    if (!may_ask_less(options, refine, &domain->refinement)) break;
    refine->min_angle -= 2;
    cvtm_refinement_destroy(domain->refined);
    domain->refined = NULL;
    cvtm_refine_figures_free(&domain->refinement);
  }
  *count = cvtm_refinement_count(domain->refined, &domain->boundary_vertices);
  free(*sites);
  *sites = malloc(2 * (size_t)*count * sizeof **sites);
  if (*sites == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for %lld sites", (long long)*count);
  cvtm_refinement_points(domain->refined, *sites);
  return CVTM_OK;
}

cvtm_status run_domain_raise_angles(run_domain *domain, double *sites, cvtm_error *error) {
  cvtm_refine_figures *reached = &domain->refinement;
  const cvtm_boundary_angles *angles = &domain->angles;
  CVTM_TRY(cvtm_refinement_boundary_angles(domain->refined, &domain->angles, error));
  cvtm_refinement_points(domain->refined, sites);
  reached->min_angle = angles->after.least;
  if (angles->inside.triangles > 0)
    reached->min_angle = fmin(reached->min_angle, angles->inside.least);
  if (reached->below_free == 0 && angles->least_kept > 0)
    reached->min_angle_free = angles->least_kept;
  return CVTM_OK;
}

cvtm_status run_domain_relax(run_domain *domain, double *sites, const double *centroid,
                             int64_t *moved, cvtm_error *error) {
  const cvtm_status status = cvtm_refinement_move(domain->refined, centroid, moved, error);
  if (status == CVTM_OK) cvtm_refinement_points(domain->refined, sites);
  return status;
}

#include "cli/metric.h"

#include "cli/cli.h"
#include "cli/condition.h"
#include "cli/input.h"
#include "cli/report.h"
#include "density/density.h"
#include "density/metric_source.h"
#include "meshes/polygon_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int cli_metric_is_of_picture(const cli_options *o) {
  return o->metric.from != NULL && !cvtm_polygon_format_known(o->input);
}

/* The picture that the metric is of; NULL: it is of a field on a mesh or at points. */
static const char *picture_of(const cli_options *o) {
  if (strcmp(o->metric.from, "hessian") == 0) return o->input;
  return cli_field_file_known(o->metric.from) ? NULL : o->metric.from;
}

int cli_metric_check(const cli_options *o) {
  const int of_picture = cli_metric_is_of_picture(o);
  if (o->metric.from == NULL) {
    if (cli_option_given(o, "metric-ratio") || o->points > 0)
      return cli_usage_error(o->command, "--points and --metric-ratio need --metric");
    return CLI_EXIT_OK;
  }
  if (strcmp(o->metric.from, "hessian") == 0 && !of_picture)
    return cli_usage_error(o->command, "--metric hessian is of pictures: name the field");
  if (cli_option_given(o, "min-angle") || o->refine.max_area.count > 0 || o->size.from != NULL)
    return cli_usage_error(o->command,
                           "--metric decides sizes and angles: --min-angle, --max-area and "
                           "--size-from contradict it");
  if (o->periodic || o->element_order == 2)
    return cli_usage_error(o->command, "--metric knows neither --periodic nor --element-order 2");
  return o->points > 0 ? CLI_EXIT_OK : cli_missing(o->command, "--points");
}

cvtm_status cli_metric_picture_size(const cli_options *o, cvtm_domain *domain, cvtm_error *error) {
  cvtm_image image = {0};
  const cvtm_status status = cvtm_image_read(o->input, &image, error);
  if (status == CVTM_OK) *domain = (cvtm_domain){image.width, image.height, 0};
  cvtm_image_free(&image);
  return status;
}

/* A picture lies as its frame does: its lower left corner is the origin of mesh files. */
static cvtm_status read_metric_picture(const cli_options *o, cvtm_domain domain, const char *path,
                                       cvtm_metric_field *field, cvtm_error *error) {
  cvtm_image image = {0};
  cvtm_status status = cli_read_image(o, path, 0, &image, error);
  if (status == CVTM_OK && image.masked > 0)
    status = cvtm_fail(error, CVTM_ERROR_INPUT, "%s: a metric needs data in every pixel", path);
  if (status != CVTM_OK) {
    cvtm_image_free(&image);
    return status;
  }
  /* A fifth of the mean distance of vertices: noise that is finer decides nothing. */
  const double spacing = sqrt((double)image.width * image.height / (double)o->points);
  *field = (cvtm_metric_field){.upper = domain.height - image.height,
                               .step = 1,
                               .width = image.width,
                               .height = image.height};
  status =
      cvtm_metric_of_picture(image.value, fmax(0.2 * spacing, 1), o->metric.ratio, field, error);
  cvtm_image_free(&image);
  return cli_name_file(path, status, error);
}

static void choose_cells(const double rectangle[4], cvtm_metric_field *field) {
  enum { CELLS = 1024 }; /* along the longer side */
  const double width = rectangle[2] - rectangle[0], height = rectangle[3] - rectangle[1];
  const double step = fmax(width, height) / CELLS;
  *field = (cvtm_metric_field){.left = rectangle[0],
                               .upper = rectangle[1],
                               .step = step,
                               .width = (int)fmax(ceil(width / step), 1),
                               .height = (int)fmax(ceil(height / step), 1)};
}

cvtm_status cli_metric_read(const cli_options *o, cvtm_domain domain, const double rectangle[4],
                            cvtm_metric_field *field, cvtm_error *error) {
  const char *picture = picture_of(o);
  if (picture != NULL) return read_metric_picture(o, domain, picture, field, error);
  cli_field source;
  choose_cells(rectangle, field);
  cvtm_status status = cli_field_read(o, o->metric.from, domain, &source, error);
  for (int64_t v = 0; v < source.mesh.vertex_count && status == CVTM_OK; ++v) {
    double *p = source.mesh.points + 2 * v; /* in cells */
    p[0] = (p[0] - field->left) / field->step;
    p[1] = (p[1] - field->upper) / field->step;
  }
  if (status == CVTM_OK)
    status =
        source.metric != NULL
            ? cvtm_metric_of_vertices(&source.mesh, source.metric, o->metric.ratio, field, error)
            : cvtm_metric_of_solution(&source.mesh, source.values, o->metric.ratio, field, error);
  cli_field_free(&source);
  return cli_name_file(o->metric.from, status, error);
}

void cli_metric_report(const cvtm_adapt_figures *f, cJSON *report) {
  cJSON *entry = cJSON_AddObjectToObject(report, "metric");
  cli_json_integer(entry, "rounds", f->rounds);
  cli_json_integer(entry, "divided", f->divided);
  cli_json_integer(entry, "removed", f->removed);
  cli_json_integer(entry, "flipped", f->flipped);
  cli_json_integer(entry, "moved", f->moved);
  cli_json_real(entry, "shortest", f->shortest);
  cli_json_real(entry, "longest", f->longest);
  cli_json_real(entry, "good_edges", f->good_edges);
  cli_json_real(entry, "least_quality", f->least_quality);
  cli_json_real(entry, "mean_quality", f->mean_quality);
}

void cli_metric_print_summary(const cvtm_adapt_figures *f) {
  fprintf(
      stderr,
      "  metric     %.1f %% of the edges between 1/sqrt(2) and sqrt(2); quality %.3f, mean %.3f\n",
      100 * f->good_edges, f->least_quality, f->mean_quality);
}

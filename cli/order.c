#include "cli/order.h"

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/domain.h"
#include "cli/output.h"
#include "cli/page.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "meshes/mesh_file.h"
#include "draw/tour.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int has_order(const cli_options *options, const char *path) {
  const cli_output_kind kind = cli_output_kind_of(options, path);
  if (kind == CLI_OUTPUT_SVG || kind == CLI_OUTPUT_DRAWING) {
    char buffer[CLI_EXTENSION_MAX];
    const int shown = cli_page_shows(options, cli_output_extension(options, path, buffer));
    return shown == CVTM_SVG_STIPPLES || shown == CVTM_SVG_PATH;
  }
  return kind != CLI_OUTPUT_MESH;
}

int cli_order_check(const cli_options *options) {
  if (options->order == CLI_ORDER_NONE) {
    if (options->command == CLI_RUN && options->svg == CVTM_SVG_PATH)
      return cli_usage_error(options->command, "--svg path: --order is missing: tsp or plot");
    return CLI_EXIT_OK;
  }
  if (options->domain.kind != CLI_DOMAIN_NONE)
    return cli_usage_error(
        options->command,
        "--order: the sites of --domain are vertices of a mesh, without an order");
  for (int k = 0; k < options->output.count; ++k)
    if (!has_order(options, options->output.item[k]))
      return cli_usage_error(options->command, "--order: %s: cells and meshes have no order",
                             options->output.item[k]);
  return CLI_EXIT_OK;
}

/* The area of the rectangle of the points. */
static double rectangle_area(const double *points, int64_t count) {
  double least[2] = {INFINITY, INFINITY}, most[2] = {-INFINITY, -INFINITY};
  for (int64_t k = 0; k < 2 * count; ++k) {
    least[k % 2] = fmin(least[k % 2], points[k]);
    most[k % 2] = fmax(most[k % 2], points[k]);
  }
  return (most[0] - least[0]) * (most[1] - least[1]);
}

/* A cvtm_tour_stop. */
typedef struct order_watch {
  double deadline;
  int is_stopped;
} order_watch;

static int has_ended(void *context) {
  order_watch *watch = context;
  watch->is_stopped |= cli_interrupted() || (watch->deadline > 0 && cvtm_clock() > watch->deadline);
  return watch->is_stopped;
}

cvtm_status cli_order_find(const cli_options *options, const double *points, int64_t count,
                           double deadline, cli_point_order *order, cvtm_error *error) {
  memset(order, 0, sizeof *order);
  if (options->order == CLI_ORDER_NONE) return CVTM_OK;
  const double start = cvtm_clock();
  order->order = malloc((size_t)count * sizeof *order->order);
  if (order->order == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory to order %lld points", (long long)count);
  order_watch watch = {deadline, 0};
  cvtm_status status = cvtm_tour_create_until(points, count, (int)options->threads, has_ended,
                                              &watch, order->order, error);
  order->is_stopped = watch.is_stopped;
  if (status == CVTM_OK)
    status = cvtm_tour_bound(points, count, (int)options->threads, &order->bound, error);
  if (status != CVTM_OK) return status;
  const int is_closed = options->order == CLI_ORDER_TSP;
  if (!is_closed) cvtm_tour_open(points, count, order->order);
  order->length = cvtm_tour_length(points, count, order->order, is_closed);
  order->estimate = cvtm_tour_estimate(count, rectangle_area(points, count));
  order->seconds = cvtm_clock() - start;
  return CVTM_OK;
}

cvtm_status cli_order_apply(const cli_point_order *order, int64_t count, int columns,
                            double *values, cvtm_error *error) {
  if (order->order == NULL || values == NULL) return CVTM_OK;
  const size_t row = (size_t)columns * sizeof *values;
  double *sorted = malloc((size_t)count * row);
  if (sorted == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory to order %lld points", (long long)count);
  for (int64_t k = 0; k < count; ++k)
    memcpy(sorted + columns * k, values + columns * (int64_t)order->order[k], row);
  memcpy(values, sorted, (size_t)count * row);
  free(sorted);
  return CVTM_OK;
}

void cli_order_free(cli_point_order *order) {
  free(order->order);
  order->order = NULL;
}

void cli_order_report(const cli_point_order *order, const cli_options *options, cJSON *report) {
  if (order->order == NULL) return;
  cJSON *part = cJSON_AddObjectToObject(report, "order");
  cli_json_text(part, "kind", options->order == CLI_ORDER_TSP ? "tsp" : "plot");
  cli_json_real(part, "length", order->length);
  cli_json_real(part, "bound", order->bound);
  cli_json_real(part, "uniform_estimate", order->estimate);
  cli_json_real(part, "seconds", order->seconds);
  cJSON_AddBoolToObject(part, "stopped", order->is_stopped);
}

void cli_order_print_summary(const cli_point_order *order) {
  if (order->order == NULL) return;
  fprintf(stderr,
          "  path       %.6g px, %.3f of a lower bound of closed paths, in %.2f seconds%s\n",
          order->length, order->length / order->bound, order->seconds,
          order->is_stopped ? ", stopped early" : "");
}

/* --order: points in the order in which a pen visits them. */
#include "base/clock.h"
#include "draw/tour.h"
#include "run/json.h"
#include "run/output.h"
#include "run/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int has_order(const cvtm_run_options *options, const char *path) {
  const run_output_kind kind = run_output_kind_of(options, path);
  return kind == RUN_OUTPUT_DRAWING ? run_page_shows_points(options, path)
                                    : kind != RUN_OUTPUT_MESH;
}

/* True if drawings of a run show a line. */
static int shows_path(const cvtm_run_options *options) {
  return options->purpose == CVTM_RUN_ALL && options->svg == CVTM_SVG_PATH;
}

cvtm_run_order run_order_of(const cvtm_run_options *options) {
  const int is_given = (run_given(options) & CVTM_RUN_GIVEN_ORDER) != 0;
  return shows_path(options) && !is_given ? CVTM_RUN_ORDER_TSP : options->order;
}

cvtm_status run_order_check(const cvtm_run_options *options, cvtm_error *error) {
  if (run_order_of(options) == CVTM_RUN_ORDER_NONE) {
    if (shows_path(options))
      return run_usage_error(error,
                             "--svg path does not go with --order none: a line has an order");
    return CVTM_OK;
  }
  const char *option = options->order != CVTM_RUN_ORDER_NONE ? "--order" : "--svg path";
  if (options->domain.kind != CVTM_RUN_DOMAIN_NONE)
    return run_usage_error(
        error, "%s does not go with --domain, whose sites are vertices of a mesh", option);
  for (int k = 0; k < options->output.count; ++k)
    if (!has_order(options, options->output.item[k]))
      return run_usage_error(error, "%s: %s: cells and meshes have no order", option,
                             options->output.item[k]);
  return CVTM_OK;
}

/* The area of the bounding box of the points. */
static double rectangle_area(const double *points, int64_t count) {
  double least[2] = {INFINITY, INFINITY}, most[2] = {-INFINITY, -INFINITY};
  for (int64_t k = 0; k < 2 * count; ++k) {
    least[k % 2] = fmin(least[k % 2], points[k]);
    most[k % 2] = fmax(most[k % 2], points[k]);
  }
  return (most[0] - least[0]) * (most[1] - least[1]);
}

typedef struct order_watch {
  run_limit limit;
  int is_stopped;
} order_watch;

/* A cvtm_tour_stop. */
static int has_ended(void *context) {
  order_watch *watch = context;
  watch->is_stopped |= run_is_over(&watch->limit);
  return watch->is_stopped;
}

cvtm_status run_order_find(const cvtm_run_options *options, const double *points, int64_t count,
                           double deadline, run_point_order *order, cvtm_error *error) {
  memset(order, 0, sizeof *order);
  if (options->order == CVTM_RUN_ORDER_NONE) return CVTM_OK;
  const double start = cvtm_clock();
  order->order = malloc((size_t)count * sizeof *order->order);
  if (order->order == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory to order %lld points", (long long)count);
  order_watch watch = {{options, deadline}, 0};
  cvtm_status status = cvtm_tour_create_until(points, count, (int)options->threads, has_ended,
                                              &watch, order->order, error);
  order->is_stopped = watch.is_stopped;
  if (status == CVTM_OK)
    status = cvtm_tour_bound(points, count, (int)options->threads, &order->bound, error);
  if (status != CVTM_OK) return status;
  const int is_closed = options->order == CVTM_RUN_ORDER_TSP;
  if (!is_closed) cvtm_tour_open(points, count, order->order);
  order->length = cvtm_tour_length(points, count, order->order, is_closed);
  order->estimate = cvtm_tour_estimate(count, rectangle_area(points, count));
  order->seconds = cvtm_clock() - start;
  return CVTM_OK;
}

cvtm_status run_order_apply(const run_point_order *order, int64_t count, int columns,
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

void run_order_free(run_point_order *order) {
  free(order->order);
  order->order = NULL;
}

void run_order_report(const run_point_order *order, const cvtm_run_options *options,
                      cJSON *report) {
  if (order->order == NULL) return;
  cJSON *part = cJSON_AddObjectToObject(report, "order");
  run_json_text(part, "kind", options->order == CVTM_RUN_ORDER_TSP ? "tsp" : "plot");
  run_json_real(part, "length", order->length);
  run_json_real(part, "bound", order->bound);
  run_json_real(part, "uniform_estimate", order->estimate);
  run_json_real(part, "seconds", order->seconds);
  cJSON_AddBoolToObject(part, "stopped", order->is_stopped);
}

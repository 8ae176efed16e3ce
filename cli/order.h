/* --order of `run` and `mesh`: points in the order in which a pen visits them. */
#ifndef CVTMESH_CLI_ORDER_H
#define CVTMESH_CLI_ORDER_H

#include "cli/options.h"

#include <cjson/cJSON.h>

typedef struct cli_point_order {
  int32_t *order;  /* count; NULL: the order stays */
  double length;   /* of the path, in pixels; closed for `tsp` */
  double bound;    /* no tour is shorter */
  double estimate; /* cvtm_tour_estimate for the rectangle of the points */
  double seconds;
  int is_stopped; /* by a signal or at the deadline, before the improvement ended */
} cli_point_order;

/* Refuses outputs that have no order of points. Returns CLI_EXIT_OK, or CLI_EXIT_USAGE after a
 * message. */
int cli_order_check(const cli_options *options);
/* Finds the order of --order. points: x, y. A signal stops it early; so does the deadline, a time
 * of cvtm_clock, 0: none. Free *order whatever is returned. */
cvtm_status cli_order_find(const cli_options *options, const double *points, int64_t count,
                           double deadline, cli_point_order *order, cvtm_error *error);
/* Puts `count` rows of `columns` values (at most 2) into the order; `values` NULL is allowed. */
cvtm_status cli_order_apply(const cli_point_order *order, int64_t count, int columns,
                            double *values, cvtm_error *error);
void cli_order_free(cli_point_order *order);
void cli_order_report(const cli_point_order *order, const cli_options *options, cJSON *report);
void cli_order_print_summary(const cli_point_order *order);

#endif

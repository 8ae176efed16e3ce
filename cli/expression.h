/* Formulas of x, y and distances, as in --size '1+0.1*d(hole)'. */
#ifndef CVTMESH_CLI_EXPRESSION_H
#define CVTMESH_CLI_EXPRESSION_H

#include "base/status.h"

enum { CLI_EXPRESSION_STEPS = 128, CLI_EXPRESSION_NAMES = 8, CLI_EXPRESSION_NAME_BYTES = 80 };

/* A step takes its operands from a stack, and leaves its value there. */
typedef struct cli_expression_step {
  int code;
  double value; /* a number, or the index of a name */
} cli_expression_step;

typedef struct cli_expression {
  int count, name_count;
  cli_expression_step step[CLI_EXPRESSION_STEPS];
  char name[CLI_EXPRESSION_NAMES][CLI_EXPRESSION_NAME_BYTES]; /* of d(NAME) */
} cli_expression;

/* Numbers, x, y, + - * / ^, parentheses, sqrt exp log sin cos abs min max, d(NAME) and d(X,Y): the
 * distance to a named thing and to a point. CVTM_ERROR_USAGE says where the text is wrong. */
cvtm_status cli_expression_parse(const char *text, cli_expression *made, cvtm_error *error);

/* The distance of (x, y) from the thing with this index in `name`. */
typedef double (*cli_distance)(const void *context, int name, double x, double y);
double cli_expression_value(const cli_expression *e, double x, double y, cli_distance distance,
                            const void *context);

#endif

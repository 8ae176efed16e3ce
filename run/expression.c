#include "run/outline_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STACK = 64, DEPTH = 64 };

typedef enum step_code { NUMBER, X, Y, DISTANCE, OF_ONE, OF_TWO, DISTANCE_FROM_POINT } step_code;

static double add(double a, double b) { return a + b; }
static double subtract(double a, double b) { return a - b; }
static double multiply(double a, double b) { return a * b; }
static double divide(double a, double b) { return a / b; }
static double negate(double a) { return -a; }

static const struct {
  const char *name; /* "": unused */
  run_function function;
} functions[] = {{"sqrt", {.of_one = sqrt}}, {"exp", {.of_one = exp}}, {"log", {.of_one = log}},
                 {"sin", {.of_one = sin}},   {"cos", {.of_one = cos}}, {"abs", {.of_one = fabs}},
                 {"min", {.of_two = fmin}},  {"max", {.of_two = fmax}}};

typedef struct parser {
  const char *text, *at;
  run_expression *made;
  cvtm_error *error;
  int depth, level; /* of the stack after the last step, and of parentheses */
} parser;

static cvtm_status fail(const parser *p, const char *wanted) {
  return cvtm_fail(p->error, CVTM_ERROR_USAGE, "'%s': %s expected at '%s'", p->text, wanted,
                   *p->at != '\0' ? p->at : "the end");
}

static void skip_blanks(parser *p) { p->at += strspn(p->at, " \t"); }

static int take(parser *p, char wanted) {
  skip_blanks(p);
  if (*p->at != wanted) return 0;
  ++p->at;
  return 1;
}

/* Appends a step. effect: change of the stack's depth by the step. */
static cvtm_status put_step(parser *p, run_expression_step step, int effect) {
  p->depth += effect;
  if (p->made->count == RUN_EXPRESSION_STEPS || p->depth > STACK)
    return cvtm_fail(p->error, CVTM_ERROR_USAGE, "'%s': too long", p->text);
  p->made->step[p->made->count++] = step;
  return CVTM_OK;
}

static cvtm_status put(parser *p, step_code code, double value, int effect) {
  return put_step(p, (run_expression_step){.code = (int)code, .value = value}, effect);
}

static cvtm_status put_function(parser *p, run_function f) {
  const int takes_one = f.of_one != NULL;
  return put_step(p, (run_expression_step){.code = takes_one ? OF_ONE : OF_TWO, .function = f},
                  takes_one ? 0 : -1);
}

static cvtm_status parse_sum(parser *p);

static cvtm_status parse_arguments(parser *p, int count) {
  for (int k = 0; k < count; ++k) {
    if (!take(p, k == 0 ? '(' : ',')) return fail(p, k == 0 ? "'('" : "','");
    CVTM_TRY(parse_sum(p));
  }
  return take(p, ')') ? CVTM_OK : fail(p, "')'");
}

/* Parses the argument of d: (NAME) or (X,Y). */
static cvtm_status parse_distance(parser *p) {
  run_expression *made = p->made;
  const char *const end = strchr(p->at, ')'), *const comma = strchr(p->at, ',');
  if (end != NULL && comma != NULL && comma < end) {
    const cvtm_status status = parse_arguments(p, 2);
    return status == CVTM_OK ? put(p, DISTANCE_FROM_POINT, 0, -1) : status;
  }
  if (!take(p, '(') || end == NULL) return fail(p, "(NAME)");
  const size_t length = (size_t)(end - p->at);
  if (length == 0 || length >= RUN_EXPRESSION_NAME_BYTES) return fail(p, "a name");
  if (made->name_count == RUN_EXPRESSION_NAMES)
    return cvtm_fail(p->error, CVTM_ERROR_USAGE, "'%s': more than %d names", p->text,
                     RUN_EXPRESSION_NAMES);
  memcpy(made->name[made->name_count], p->at, length);
  made->name[made->name_count][length] = '\0';
  p->at = end + 1;
  return put(p, DISTANCE, made->name_count++, 1);
}

static cvtm_status parse_word(parser *p) {
  const size_t length = strspn(p->at, "abcdefghijklmnopqrstuvwxyz");
  const char *word = p->at;
  p->at += length;
  if (length == 1 && *word == 'x') return put(p, X, 0, 1);
  if (length == 1 && *word == 'y') return put(p, Y, 0, 1);
  if (length == 1 && *word == 'd') return parse_distance(p);
  for (size_t k = 0; k < sizeof functions / sizeof functions[0]; ++k) {
    if (strlen(functions[k].name) != length || strncmp(functions[k].name, word, length) != 0)
      continue;
    const run_function f = functions[k].function;
    const cvtm_status status = parse_arguments(p, f.of_one != NULL ? 1 : 2);
    return status == CVTM_OK ? put_function(p, f) : status;
  }
  p->at = word;
  return fail(p, "a number, x, y, d(NAME) or a function");
}

static cvtm_status parse_primary(parser *p) {
  char *end;
  skip_blanks(p);
  if (take(p, '(')) {
    if (++p->level > DEPTH) return cvtm_fail(p->error, CVTM_ERROR_USAGE, "'%s': too deep", p->text);
    const cvtm_status status = parse_sum(p);
    --p->level;
    if (status != CVTM_OK) return status;
    return take(p, ')') ? CVTM_OK : fail(p, "')'");
  }
  if (*p->at >= 'a' && *p->at <= 'z') return parse_word(p);
  if (strchr("0123456789.", *p->at) == NULL || *p->at == '\0') return fail(p, "a number");
  const double value = strtod(p->at, &end);
  if (end == p->at) return fail(p, "a number");
  p->at = end;
  return put(p, NUMBER, value, 1);
}

/* Parses powers: -2^2 is -4, and 2^3^2 is 2^9. */
static cvtm_status parse_power(parser *p) {
  if (take(p, '-')) {
    if (++p->level > DEPTH) return cvtm_fail(p->error, CVTM_ERROR_USAGE, "'%s': too deep", p->text);
    const cvtm_status status = parse_power(p);
    --p->level;
    return status == CVTM_OK ? put_function(p, (run_function){.of_one = negate}) : status;
  }
  cvtm_status status = parse_primary(p);
  if (status != CVTM_OK || !take(p, '^')) return status;
  if (++p->level > DEPTH) return cvtm_fail(p->error, CVTM_ERROR_USAGE, "'%s': too deep", p->text);
  status = parse_power(p);
  --p->level;
  return status == CVTM_OK ? put_function(p, (run_function){.of_two = pow}) : status;
}

/* Parses terms joined by either of two operators. */
static cvtm_status parse_series(parser *p, cvtm_status (*parse)(parser *p), const char operators[2],
                                const run_function functions_of[2]) {
  cvtm_status status = parse(p);
  while (status == CVTM_OK) {
    const int first = take(p, operators[0]);
    if (!first && !take(p, operators[1])) break;
    status = parse(p);
    if (status == CVTM_OK) status = put_function(p, functions_of[!first]);
  }
  return status;
}

static cvtm_status parse_product(parser *p) {
  static const run_function both[2] = {{.of_two = multiply}, {.of_two = divide}};
  return parse_series(p, parse_power, "*/", both);
}

static cvtm_status parse_sum(parser *p) {
  static const run_function both[2] = {{.of_two = add}, {.of_two = subtract}};
  return parse_series(p, parse_product, "+-", both);
}

cvtm_status run_expression_parse(const char *text, run_expression *made, cvtm_error *error) {
  parser p = {.text = text, .at = text, .made = made, .error = error};
  made->count = made->name_count = 0;
  CVTM_TRY(parse_sum(&p));
  skip_blanks(&p);
  if (*p.at != '\0') return fail(&p, "an operator");
  int is_constant = 1;
  for (int k = 0; k < made->count; ++k) {
    const int code = made->step[k].code;
    is_constant &= code == NUMBER || code == OF_ONE || code == OF_TWO;
  }
  if (is_constant && isinf(run_expression_value(made, 0, 0, NULL, NULL)))
    return cvtm_fail(error, CVTM_ERROR_USAGE, "'%s' is infinite", text);
  return CVTM_OK;
}

double run_expression_value(const run_expression *e, double x, double y, run_distance distance,
                            const void *context) {
  double stack[STACK + 1] = {0};
  int depth = 0;
  for (int k = 0; k < e->count; ++k) {
    const run_expression_step *s = &e->step[k];
    double *top = stack + depth;
    if (s->code <= DISTANCE) {
      stack[depth++] = s->code == NUMBER ? s->value
                       : s->code == X    ? x
                       : s->code == Y    ? y
                                         : distance(context, (int)s->value, x, y);
    } else if (s->code == OF_ONE) {
      top[-1] = s->function.of_one(top[-1]);
    } else {
      --depth;
      top[-2] = s->code == OF_TWO ? s->function.of_two(top[-2], top[-1])
                                  : hypot(x - top[-2], y - top[-1]);
    }
  }
  return stack[0];
}

/* What the options say: numbers, lengths. */
#ifndef CVTMESH_RUN_OPTIONS_H
#define CVTMESH_RUN_OPTIONS_H

#include "run/run.h"

#include <stddef.h>

/* Fails because options contradict each other. */
#define run_usage_error(error, ...) cvtm_fail(error, CVTM_ERROR_USAGE, __VA_ARGS__)

/* True if the caller asks to stop. */
static inline int run_interrupted(const cvtm_run_options *options) {
  return options->interrupted != NULL && options->interrupted(options->context);
}

/* The limit of a piece of work. */
typedef struct run_limit {
  const cvtm_run_options *options;
  double deadline; /* by cvtm_clock; 0: none */
} run_limit;

/* True after the deadline, or if the caller asks to stop; limit: a run_limit. */
int run_is_over(const void *limit);

enum { RUN_NUMBER_TEXT = 40 };
/* Writes the fewest of 15 to 17 digits that read back to the same number; returns the text. */
const char *run_number_text(double value, char text[RUN_NUMBER_TEXT]);
/* Parses exactly `count` finite numbers separated by commas; returns 0 for any other text. */
int run_numbers_parse(const char *text, int count, double *numbers);
/* Parses one number, or two with a comma between, with a unit of length at the end: 0.3,0.8mm, px
 * for pixels. Returns 0 if the text is not of this form. */
int run_lengths_parse(const char *text, cvtm_run_lengths *lengths);
enum { RUN_LENGTHS_TEXT = 64 };
/* Writes the form that run_lengths_parse reads; returns the text. */
const char *run_lengths_text(const cvtm_run_lengths *lengths, char text[RUN_LENGTHS_TEXT]);
/* True if there are one or two numbers, above 0, without a unit or with one of pixels or lengths.
 */
int run_lengths_are_sizes(const cvtm_run_lengths *lengths);
/* With --page, or with the paper of a --plotter. */
int run_has_page(const cvtm_run_options *options);
static inline int run_has_world(const cvtm_run_options *options) {
  return options->world.from_file || options->world.pixel_size.count > 0;
}
/* The unit of this name but `width`; CVTM_RUN_UNIT_NONE: there is none. */
cvtm_run_unit run_unit_find(const char *name);
/* A unit of lengths in mm; 0 for pixels and widths. */
double run_unit_mm(int unit);
const char *run_unit_name(int unit);
/* The bit of CVTM_RUN_GIVEN_LIST of an option; 0: it has none. */
unsigned run_given_bit(const char *option);

/* The bits of CVTM_RUN_GIVEN_LIST of a whole run: `given`, and those of values that differ from the
 * default. */
unsigned run_given(const cvtm_run_options *options);

/* The options with which the file `path` is written: those of the finished run, and of *kind the
 * options that describe a file. */
cvtm_run_options run_options_of_file(const cvtm_run_options *options, const char *path,
                                     const cvtm_run_options *kind);

/* The word of a list that a mistyped word probably means. */
typedef struct run_nearest {
  const char *word;
  const char *best; /* borrowed; NULL: no candidate is near enough */
  int distance;     /* of `best`; if that is NULL, the least one that is too far */
} run_nearest;

/* word: borrowed. A candidate is near if at most a third of the word's characters must be
 * inserted, deleted, replaced or exchanged with their neighbours, and one at least. */
run_nearest run_nearest_start(const char *word);
/* If several candidates are equally near, the first one is kept. */
void run_nearest_offer(run_nearest *nearest, const char *candidate);

#endif

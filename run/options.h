/* The values of options: numbers, lengths. */
#pragma once

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
/* Writes the fewest of 15 to 17 digits from which the same number is read; returns the text. */
const char *run_number_text(double value, char text[RUN_NUMBER_TEXT]);
/* Parses exactly `count` finite numbers separated by commas; returns 0 for any other text. */
int run_numbers_parse(const char *text, int count, double *numbers);
/* Parses one or two numbers, separated by a comma, perhaps followed by a unit of length: 0.3,0.8mm;
 * px for pixels. Returns 0 if the text does not have this form. */
int run_lengths_parse(const char *text, cvtm_run_lengths *lengths);
enum { RUN_LENGTHS_TEXT = 64 };
/* Writes a text for run_lengths_parse, and returns it. */
const char *run_lengths_text(const cvtm_run_lengths *lengths, char text[RUN_LENGTHS_TEXT]);
/* True if there are one or two numbers above 0, without a unit or in pixels or a unit of length. */
int run_lengths_are_sizes(const cvtm_run_lengths *lengths);
/* True with --page or with the paper of a --plotter. */
int run_has_page(const cvtm_run_options *options);
static inline int run_has_world(const cvtm_run_options *options) {
  return options->world.from_file || options->world.pixel_size.count > 0;
}
/* The unit with this name, except `width`; CVTM_RUN_UNIT_NONE: no unit has it. */
cvtm_run_unit run_unit_find(const char *name);
/* The length of a unit in mm; 0 for pixels and widths. */
double run_unit_mm(int unit);
const char *run_unit_name(int unit);
/* The bit of an option in CVTM_RUN_GIVEN_LIST; 0: not in the list. */
unsigned run_given_bit(const char *option);

/* Returns `given` and the bits of CVTM_RUN_GIVEN_LIST for values that are not the default. */
unsigned run_given(const cvtm_run_options *options);

/* Returns the options for writing the file `path`: those of the finished run, with the options that
 * describe a file taken from *kind. */
cvtm_run_options run_options_of_file(const cvtm_run_options *options, const char *path,
                                     const cvtm_run_options *kind);

/* The word of a list that a mistyped word probably means. */
typedef struct run_nearest {
  const char *word;
  const char *best; /* borrowed; NULL: no candidate is close enough */
  int distance; /* distance of `best`; if that is NULL, the smallest distance that is too large */
} run_nearest;

/* word: borrowed. A candidate is close enough if at most a third of the word's characters, but at
 * least one, must be inserted, deleted, replaced or exchanged with a neighbour. */
run_nearest run_nearest_start(const char *word);
/* Compares a candidate with the best so far; of equally close ones the first is kept. */
void run_nearest_offer(run_nearest *nearest, const char *candidate);

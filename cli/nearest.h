/* The word of a list that a mistyped word probably means. */
#ifndef CVTMESH_CLI_NEAREST_H
#define CVTMESH_CLI_NEAREST_H

typedef struct cli_nearest {
  const char *word;
  const char *best; /* borrowed; NULL: no candidate is near enough */
  int distance;     /* of `best`; without one, the least that is too far */
} cli_nearest;

/* word: borrowed. A candidate is near if at most a third of the word's characters must be
 * inserted, deleted, replaced or exchanged with their neighbours, and one at least. */
cli_nearest cli_nearest_start(const char *word);
/* Of candidates at the same distance the first stays. */
void cli_nearest_offer(cli_nearest *nearest, const char *candidate);

#endif

#include "cli/nearest.h"

#include <string.h>

enum { LENGTH_MAX = 40 }; /* longer words are like no name */

static int least(int a, int b) { return a < b ? a : b; }

/* The number of insertions, deletions, replacements and exchanges of neighbours that make b of a,
 * no part of the word being edited twice (Damerau 1964). */
static int edit_distance(const char *a, const char *b) {
  const int m = (int)strlen(a), n = (int)strlen(b);
  int table[3][LENGTH_MAX + 1]; /* rows i - 2, i - 1 and i, modulo 3 */
  for (int j = 0; j <= n; ++j) table[0][j] = j;
  for (int i = 1; i <= m; ++i) {
    int *row = table[i % 3];
    const int *above = table[(i + 2) % 3], *above2 = table[(i + 1) % 3];
    row[0] = i;
    for (int j = 1; j <= n; ++j) {
      row[j] = above[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = least(row[j], 1 + least(above[j], row[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = least(row[j], above2[j - 2] + 1);
    }
  }
  return table[m % 3][n];
}

cli_nearest cli_nearest_start(const char *word) {
  const int length = (int)strnlen(word, LENGTH_MAX + 1);
  return (cli_nearest){word, NULL, (length < 3 ? 1 : length / 3) + 1};
}

void cli_nearest_offer(cli_nearest *nearest, const char *candidate) {
  if (strlen(nearest->word) > LENGTH_MAX || strlen(candidate) > LENGTH_MAX) return;
  const int found = edit_distance(nearest->word, candidate);
  if (found >= nearest->distance) return;
  nearest->best = candidate;
  nearest->distance = found;
}

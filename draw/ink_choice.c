/* Inks chosen from a picture: candidates by k-means of its full colours in OKLab, then a selection
 * by the error of the colours that they give. */
#include "base/srgb.h"
#include "draw/inks.h"
#include "draw/oklab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  STEPS = 16,
  BINS = STEPS * STEPS * STEPS,
  DEPTHS = 64,
  ROUNDS = 100,
  CANDIDATES = 32,
  COLOURS = 400, /* the most colours of the picture by which a selection is judged */
  EXCHANGES = 2  /* rounds of exchanges */
};

/* Pixels of about the same colour. */
typedef struct colour_bin {
  double weight;   /* the number of pixels, then its square root */
  double light[3]; /* their sum, then their mean */
  double depth;    /* the coverage by ink of the full colour that gives this colour */
  cvtm_oklab full;
  int ink;
} colour_bin;

static int bin_of(const double rgb[3]) {
  int bin = 0;
  for (int c = 0; c < 3; ++c) {
    const int step = (int)(STEPS * cvtm_linear_to_srgb(fmin(fmax(rgb[c], 0), 1)));
    bin = bin * STEPS + (step < STEPS ? step : STEPS - 1);
  }
  return bin;
}

static void count_colours(const float *rgb, int64_t pixels, colour_bin *bin) {
  for (int64_t p = 0; p < pixels; ++p) {
    const double light[3] = {(double)rgb[p], (double)rgb[pixels + p], (double)rgb[2 * pixels + p]};
    colour_bin *b = &bin[bin_of(light)];
    b->weight += 1;
    for (int c = 0; c < 3; ++c) b->light[c] += light[c];
  }
}

/* Keeps the bins that need ink, with their full colours; returns their number. */
static int find_full_colours(colour_bin *bin) {
  const double paper = 0.01;
  int kept = 0;
  for (int i = 0; i < BINS; ++i) {
    colour_bin b = bin[i];
    double darkest = 1, full[3];
    if (!(b.weight > 0)) continue;
    for (int c = 0; c < 3; ++c) darkest = fmin(darkest, b.light[c] /= b.weight);
    b.depth = 1 - darkest;
    if (b.depth <= paper) continue;
    for (int c = 0; c < 3; ++c) full[c] = fmax(1 - (1 - b.light[c]) / b.depth, 0);
    b.full = cvtm_oklab_of_linear(full);
    b.weight = sqrt(b.weight);
    bin[kept++] = b;
  }
  return kept;
}

static double square_distance(cvtm_oklab p, cvtm_oklab q) {
  const double distance = cvtm_oklab_distance(p, q);
  return distance * distance;
}

/* The first centre is the full colour of most weight; each other one that which is farthest from
 * the centres, by weight. Returns the number of centres, fewer where there are fewer colours. */
static int start_centres(const colour_bin *bin, int bins, int count, cvtm_oklab *centre) {
  const double least = 1e-4;
  for (int k = 0; k < count; ++k) {
    double best = 0;
    for (int i = 0; i < bins; ++i) {
      double score = bin[i].weight, nearest = k == 0 ? 1 : INFINITY;
      for (int j = 0; j < k; ++j) nearest = fmin(nearest, square_distance(bin[i].full, centre[j]));
      if (k > 0 && nearest < least) continue;
      score *= nearest;
      if (score > best) centre[k] = bin[i].full;
      best = fmax(best, score);
    }
    if (!(best > 0)) return k;
  }
  return count;
}

/* Assigns each bin to its nearest centre; returns 0 if none changes. */
static int assign_bins(colour_bin *bin, int bins, int count, const cvtm_oklab *centre) {
  int changes = 0;
  for (int i = 0; i < bins; ++i) {
    int best = 0;
    for (int k = 1; k < count; ++k)
      if (square_distance(bin[i].full, centre[k]) < square_distance(bin[i].full, centre[best]))
        best = k;
    changes += best != bin[i].ink;
    bin[i].ink = best;
  }
  return changes;
}

static void move_centres(const colour_bin *bin, int bins, int count, cvtm_oklab *centre) {
  cvtm_oklab sum[CANDIDATES] = {{0, 0, 0}};
  double weight[CANDIDATES] = {0};
  for (int i = 0; i < bins; ++i) {
    cvtm_oklab *s = &sum[bin[i].ink];
    s->l += bin[i].weight * bin[i].full.l;
    s->a += bin[i].weight * bin[i].full.a;
    s->b += bin[i].weight * bin[i].full.b;
    weight[bin[i].ink] += bin[i].weight;
  }
  for (int k = 0; k < count; ++k)
    if (weight[k] > 0)
      centre[k] = (cvtm_oklab){sum[k].l / weight[k], sum[k].a / weight[k], sum[k].b / weight[k]};
}

/* The depth that 98 % of the cluster's ink does not exceed. */
static double depth_of_cluster(const colour_bin *bin, int bins, int ink) {
  const double share = 0.98;
  double amount[DEPTHS] = {0}, total = 0, sum = 0;
  for (int i = 0; i < bins; ++i) {
    if (bin[i].ink != ink) continue;
    const int step = (int)(DEPTHS * bin[i].depth);
    amount[step < DEPTHS ? step : DEPTHS - 1] += bin[i].weight;
    total += bin[i].weight;
  }
  for (int step = 0; step < DEPTHS; ++step) {
    sum += amount[step];
    if (sum >= share * total) return (step + 1) / (double)DEPTHS;
  }
  return 1;
}

static double luminance_of(const double rgb[3]) {
  return 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2];
}

static void sort_inks(cvtm_inks *inks) {
  for (int k = 1; k < inks->count; ++k) {
    double moved[3];
    int to = k;
    memcpy(moved, inks->colour[k], sizeof moved);
    for (; to > 0 && luminance_of(inks->colour[to - 1]) < luminance_of(moved); --to)
      memcpy(inks->colour[to], inks->colour[to - 1], sizeof moved);
    memcpy(inks->colour[to], moved, sizeof moved);
  }
}

/* --- the selection --- */

/* Candidates, and the colours of the picture that they are judged by. */
typedef struct ink_selection {
  double candidate[CANDIDATES][3];
  int candidates;
  const colour_bin *colour;
  int colours;
} ink_selection;

static double error_of_inks(const ink_selection *s, const cvtm_inks *inks) {
  double part[COLOURS], sum = 0;
#pragma omp parallel for schedule(dynamic, 16)
  for (int i = 0; i < s->colours; ++i) {
    double coverage[CVTM_INKS_MAX], rgb[3];
    cvtm_inks_separate_roughly(inks, s->colour[i].light, coverage);
    cvtm_inks_mix(inks, coverage, rgb);
    part[i] = s->colour[i].weight *
              square_distance(cvtm_oklab_of_linear(rgb), cvtm_oklab_of_linear(s->colour[i].light));
  }
  for (int i = 0; i < s->colours; ++i) sum += part[i];
  return sum;
}

static int has_ink(const cvtm_inks *inks, const double colour[3]) {
  for (int k = 0; k < inks->count; ++k)
    if (memcmp(inks->colour[k], colour, sizeof inks->colour[k]) == 0) return 1;
  return 0;
}

/* Sets ink k to the candidate of the least error; `error` is the one to be improved on. Returns the
 * new error. */
static double improve_ink(const ink_selection *s, int k, double error, cvtm_inks *inks) {
  double best[3];
  memcpy(best, inks->colour[k], sizeof best);
  for (int i = 0; i < s->candidates; ++i) {
    if (has_ink(inks, s->candidate[i])) continue;
    memcpy(inks->colour[k], s->candidate[i], sizeof best);
    const double found = error_of_inks(s, inks);
    if (found < error) memcpy(best, s->candidate[i], sizeof best);
    error = fmin(error, found);
  }
  memcpy(inks->colour[k], best, sizeof best);
  return error;
}

static void select_inks(const ink_selection *s, int count, cvtm_inks *inks) {
  const double none = -1; /* no colour */
  double error = INFINITY;
  inks->count = 0;
  while (inks->count < count && inks->count < s->candidates) {
    inks->colour[inks->count][0] = none;
    ++inks->count;
    error = improve_ink(s, inks->count - 1, INFINITY, inks);
  }
  for (int round = 0; round < EXCHANGES; ++round)
    for (int k = 0; k < inks->count; ++k) error = improve_ink(s, k, error, inks);
}

/* The bins of most weight come first. */
static int compare_bins(const void *a, const void *b) {
  const colour_bin *one = a, *other = b;
  if (one->weight != other->weight) return one->weight > other->weight ? -1 : 1;
  return memcmp(one->light, other->light, sizeof one->light);
}

static void set_candidates(const colour_bin *bin, int bins, const cvtm_oklab *centre,
                           ink_selection *s) {
  for (int k = 0; k < s->candidates; ++k) {
    const double depth = depth_of_cluster(bin, bins, k);
    double full[3];
    cvtm_oklab_to_linear(centre[k], full);
    for (int c = 0; c < 3; ++c) s->candidate[k][c] = 1 - depth * (1 - full[c]);
  }
}

/* --- the whole --- */

static void choose_from_bins(colour_bin *bin, int bins, int count, cvtm_inks *inks) {
  cvtm_oklab centre[CANDIDATES] = {{0, 0, 0}};
  ink_selection s = {.candidates = start_centres(bin, bins, CANDIDATES, centre)};
  (void)assign_bins(bin, bins, s.candidates, centre);
  for (int round = 0; round < ROUNDS; ++round) {
    move_centres(bin, bins, s.candidates, centre);
    if (!assign_bins(bin, bins, s.candidates, centre)) break;
  }
  set_candidates(bin, bins, centre, &s);
  qsort(bin, (size_t)bins, sizeof *bin, compare_bins);
  s.colour = bin;
  s.colours = bins < COLOURS ? bins : COLOURS;
  select_inks(&s, count, inks);
  sort_inks(inks);
}

cvtm_status cvtm_inks_choose(const float *rgb, int64_t pixels, int count, cvtm_inks *inks,
                             cvtm_error *error) {
  if (count < 1 || count > CVTM_INKS_MAX)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%d inks; 1 to %d", count, CVTM_INKS_MAX);
  colour_bin *bin = calloc(BINS, sizeof *bin);
  if (bin == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory to choose inks");
  count_colours(rgb, pixels, bin);
  const int bins = find_full_colours(bin);
  if (bins > 0) choose_from_bins(bin, bins, count, inks);
  free(bin);
  return bins > 0 ? CVTM_OK : cvtm_fail(error, CVTM_ERROR_INPUT, "a white picture needs no ink");
}

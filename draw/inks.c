#include "draw/inks.h"

#include "base/srgb.h"
#include "draw/oklab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void cvtm_inks_cmyk(cvtm_inks *inks) {
  static const unsigned char process[4][3] = {
      {0, 174, 239}, {236, 0, 140}, {255, 242, 0}, {0, 0, 0}};
  inks->count = 4;
  for (int k = 0; k < 4; ++k)
    for (int c = 0; c < 3; ++c) inks->colour[k][c] = cvtm_srgb_to_linear(process[k][c] / 255.0);
}

void cvtm_inks_mix(const cvtm_inks *inks, const double *coverage, double rgb[3]) {
  for (int c = 0; c < 3; ++c) {
    rgb[c] = 1;
    for (int k = 0; k < inks->count; ++k) rgb[c] *= 1 - coverage[k] * (1 - inks->colour[k][c]);
  }
}

/* --- separation of one colour --- */

/* Sets `metric` to the metric of OKLab at a colour: J'J for the Jacobian J of OKLab with respect to
 * linear light. The colour is first lightened a little, because J is infinite at black. */
static void find_metric(const double rgb[3], double metric[3][3]) {
  static const double cone[3][3] = {{0.4122214708, 0.5363325363, 0.0514459929},
                                    {0.2119034982, 0.6806995451, 0.1073969566},
                                    {0.0883024619, 0.2817188376, 0.6299787005}};
  static const double lab[3][3] = {{0.2104542553, 0.7936177850, -0.0040720468},
                                   {1.9779984951, -2.4285922050, 0.4505937099},
                                   {0.0259040371, 0.7827717662, -0.8086757660}};
  const double lightened = 0.03;
  double jacobian[3][3] = {{0}};
  for (int i = 0; i < 3; ++i) {
    double response = lightened;
    for (int c = 0; c < 3; ++c) response += cone[i][c] * rgb[c];
    const double slope = 1 / (3 * pow(response, 2.0 / 3));
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 3; ++c) jacobian[r][c] += lab[r][i] * slope * cone[i][c];
  }
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b) {
      metric[a][b] = 0;
      for (int r = 0; r < 3; ++r) metric[a][b] += jacobian[r][a] * jacobian[r][b];
    }
}

static double dot(const double a[3], const double b[3]) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static double product(double metric[3][3], const double a[3], const double b[3]) {
  return a[0] * dot(metric[0], b) + a[1] * dot(metric[1], b) + a[2] * dot(metric[2], b);
}

static double square(double x) { return x * x; }

/* cost[k]: the variation of lightness that dots of ink k cause around a colour. */
static void find_costs(const cvtm_inks *inks, const double rgb[3], double *cost) {
  const double lightness = cvtm_oklab_of_linear(rgb).l;
  for (int k = 0; k < inks->count; ++k)
    cost[k] = square(cvtm_oklab_of_linear(inks->colour[k]).l - lightness);
}

/* The coverages of the inks, of which one is changed at a time, and the mixed colour. */
typedef struct mixture {
  const cvtm_inks *inks;
  double *coverage;
  double rgb[3];
} mixture;

static double light_through(const mixture *m, int k, int c) {
  return 1 - m->coverage[k] * (1 - m->inks->colour[k][c]);
}

/* Sets `without` to the mixed colour of all inks except k. */
static void mix_without(const mixture *m, int k, double without[3]) {
  const double safe = 1e-3; /* the least divisor */
  for (int c = 0; c < 3; ++c) {
    const double light = light_through(m, k, c);
    without[c] = 1;
    if (light > safe) without[c] = m->rgb[c] / light;
    for (int j = 0; light <= safe && j < m->inks->count; ++j)
      if (j != k) without[c] *= light_through(m, j, c);
  }
}

/* Sets the coverage of ink k to the minimum of the squared distance to `wanted` in the metric, plus
 * weight * coverage^2 - 2 * pull * coverage, and returns the change. The colour is linear in the
 * coverage: rgb = without - coverage * slope. */
static double move_coverage(mixture *m, int k, const double wanted[3], double metric[3][3],
                            double weight, double pull) {
  double without[3], slope[3], rest[3];
  mix_without(m, k, without);
  for (int c = 0; c < 3; ++c) {
    slope[c] = without[c] * (1 - m->inks->colour[k][c]);
    rest[c] = without[c] - wanted[c];
  }
  const double before = m->coverage[k];
  const double best =
      (product(metric, slope, rest) + pull) / (product(metric, slope, slope) + weight);
  m->coverage[k] = fmin(fmax(best, 0), 1);
  for (int c = 0; c < 3; ++c) m->rgb[c] = without[c] * light_through(m, k, c);
  return fabs(m->coverage[k] - before);
}

static double luminance_of(const double rgb[3]) {
  return 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2];
}

/* Lists the inks from the darkest to the lightest. */
static void order_by_luminance(const cvtm_inks *inks, int *order) {
  for (int k = 0; k < inks->count; ++k) {
    int to = k;
    for (; to > 0 && luminance_of(inks->colour[order[to - 1]]) > luminance_of(inks->colour[k]);
         --to)
      order[to] = order[to - 1];
    order[to] = k;
  }
}

/* Minimises over the coverages by coordinate descent; each step minimises a parabola. The weights
 * of variation and ink are large at first, to choose among the mixtures, and then decrease, so that
 * the colour comes as close as possible with this choice. Each sweep begins with the darkest ink,
 * so that it replaces lighter inks that would give a grey together. */
static void separate(const cvtm_inks *inks, const double rgb[3], int stages, double *coverage) {
  enum { SWEEPS = 400 };
  const double variation_weight = 0.05, ink_weight = 0.02, fading = 0.25;
  double metric[3][3], cost[CVTM_INKS_MAX], weight = 1;
  int order[CVTM_INKS_MAX];
  mixture m = {inks, coverage, {1, 1, 1}};
  find_metric(rgb, metric);
  find_costs(inks, rgb, cost);
  order_by_luminance(inks, order);
  for (int k = 0; k < inks->count; ++k) coverage[k] = 0;
  for (int stage = 0; stage < stages; ++stage, weight *= fading) {
    const double close = stages > 1 && stage == stages - 1 ? 1e-5 : 1e-4;
    double largest = 1;
    for (int sweep = 0; sweep < SWEEPS && largest > close; ++sweep) {
      largest = 0;
      for (int i = 0; i < inks->count; ++i) {
        const double pull = -0.5 * weight * variation_weight * cost[order[i]];
        largest =
            fmax(largest, move_coverage(&m, order[i], rgb, metric, weight * ink_weight, pull));
      }
    }
  }
}

static void cross_product(const double a[3], const double b[3], double product[3]) {
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    product[i] = a[j] * b[k] - a[k] * b[j];
  }
}

/* Solves matrix * x = right by Cramer's rule. */
static void solve(double matrix[3][3], const double right[3], double x[3]) {
  double column[3][3], determinant = 0;
  for (int i = 0; i < 3; ++i) cross_product(matrix[(i + 1) % 3], matrix[(i + 2) % 3], column[i]);
  for (int i = 0; i < 3; ++i) determinant += matrix[0][i] * column[0][i];
  for (int i = 0; i < 3; ++i)
    x[i] =
        (right[0] * column[0][i] + right[1] * column[1][i] + right[2] * column[2][i]) / determinant;
}

/* The step of the coverages that minimises |rest + step * slope|^2 in the metric plus damping times
 * the sum of step^2 / may_change, from the dual equations. */
static void find_step(int count, double slope[][3], const double *may_change, double metric[3][3],
                      const double rest[3], double *step) {
  const double damping = 2e-3;
  double matrix[3][3] = {{damping, 0, 0}, {0, damping, 0}, {0, 0, damping}}, right[3], dual[3];
  for (int i = 0; i < 3; ++i) {
    right[i] = -dot(metric[i], rest);
    for (int k = 0; k < count; ++k) {
      const double shown = may_change[k] * dot(metric[i], slope[k]);
      for (int j = 0; j < 3; ++j) matrix[i][j] += shown * slope[k][j];
    }
  }
  solve(matrix, right, dual);
  for (int k = 0; k < count; ++k) step[k] = may_change[k] * dot(slope[k], dual);
}

/* Moves the coverages towards a mixture that has the colour by steps of the Gauss-Newton method. An
 * ink changes in proportion to its coverage, so no ink is added. The damping leaves dark colours a
 * little too light: all inks at full coverage would take the dots from places where they show. */
static void approach(const cvtm_inks *inks, const double rgb[3], double *coverage) {
  enum { STEPS = 2 };
  double metric[3][3];
  mixture m = {inks, coverage, {1, 1, 1}};
  find_metric(rgb, metric);
  for (int n = 0; n < STEPS; ++n) {
    double slope[CVTM_INKS_MAX][3], may_change[CVTM_INKS_MAX], step[CVTM_INKS_MAX], rest[3];
    cvtm_inks_mix(inks, coverage, m.rgb);
    for (int c = 0; c < 3; ++c) rest[c] = m.rgb[c] - rgb[c];
    for (int k = 0; k < inks->count; ++k) {
      double without[3];
      mix_without(&m, k, without);
      for (int c = 0; c < 3; ++c) slope[k][c] = -without[c] * (1 - inks->colour[k][c]);
      may_change[k] = coverage[k];
    }
    for (int round = 0, held = 1; held && round < inks->count; ++round) {
      held = 0;
      find_step(inks->count, slope, may_change, metric, rest, step);
      for (int k = 0; k < inks->count; ++k)
        if ((coverage[k] <= 0 && step[k] < 0) || (coverage[k] >= 1 && step[k] > 0)) {
          may_change[k] = 0; /* the coverage stays at its bound */
          held = 1;
        }
    }
    for (int k = 0; k < inks->count; ++k)
      if (may_change[k] > 0) coverage[k] = fmin(fmax(coverage[k] + step[k], 0), 1);
  }
}

void cvtm_inks_separate_colour(const cvtm_inks *inks, const double rgb[3], double *coverage) {
  separate(inks, rgb, 5, coverage);
  approach(inks, rgb, coverage);
}

void cvtm_inks_separate_roughly(const cvtm_inks *inks, const double rgb[3], double *coverage) {
  separate(inks, rgb, 1, coverage);
}

/* --- the cube of colours --- */

enum { SIDE = 33 };

/* A place in the cube: between nodes low[c] and low[c] + 1 along each axis. */
typedef struct cube_place {
  int low[3];
  double part[3];
} cube_place;

static cube_place place_in_cube(const float *rgb, int64_t pixels, int64_t p) {
  cube_place place;
  for (int c = 0; c < 3; ++c) {
    const double light = (double)rgb[c * pixels + p];
    const double at = (SIDE - 1) * cvtm_linear_to_srgb(fmin(fmax(light, 0), 1));
    place.low[c] = at < SIDE - 2 ? (int)at : SIDE - 2;
    place.part[c] = at - place.low[c];
  }
  return place;
}

/* The number of a node beside the place, and the weight of the node. */
static int node_beside(const cube_place *place, int corner, double *weight) {
  int at = 0;
  *weight = 1;
  for (int c = 0; c < 3; ++c) {
    const int up = corner >> c & 1;
    *weight *= up ? place->part[c] : 1 - place->part[c];
    at = at * SIDE + place->low[c] + up;
  }
  return at;
}

/* Sets wanted[i] to 1 for the nodes i beside the colours of a picture. */
static void mark_nodes(const float *rgb, int64_t pixels, unsigned char *wanted) {
#pragma omp parallel for schedule(static)
  for (int64_t p = 0; p < pixels; ++p) {
    const cube_place place = place_in_cube(rgb, pixels, p);
    double weight;
    for (int corner = 0; corner < 8; ++corner) {
      const int at = node_beside(&place, corner, &weight);
#pragma omp atomic write
      wanted[at] = 1;
    }
  }
}

/* Fills the wanted nodes: node[i * count + k], where i = (r * SIDE + g) * SIDE + b, is the coverage
 * of ink k, and r, g and b count equal steps of the sRGB values. */
static void fill_cube(const cvtm_inks *inks, const unsigned char *wanted, float *node) {
#pragma omp parallel for schedule(dynamic, SIDE)
  for (int i = 0; i < SIDE * SIDE * SIDE; ++i) {
    const int step[3] = {i / (SIDE * SIDE), i / SIDE % SIDE, i % SIDE};
    double rgb[3], coverage[CVTM_INKS_MAX];
    if (!wanted[i]) continue;
    for (int c = 0; c < 3; ++c) rgb[c] = cvtm_srgb_to_linear(step[c] / (SIDE - 1.0));
    cvtm_inks_separate_colour(inks, rgb, coverage);
    for (int k = 0; k < inks->count; ++k) node[(int64_t)i * inks->count + k] = (float)coverage[k];
  }
}

/* Interpolates the cube trilinearly. */
static void look_up(const float *node, int count, const cube_place *place, double *coverage) {
  for (int k = 0; k < count; ++k) coverage[k] = 0;
  for (int corner = 0; corner < 8; ++corner) {
    double weight;
    const float *from = node + (int64_t)node_beside(place, corner, &weight) * count;
    for (int k = 0; k < count; ++k) coverage[k] += weight * (double)from[k];
  }
}

cvtm_status cvtm_inks_separate(const cvtm_inks *inks, const float *rgb, int64_t pixels,
                               float *const *coverage, cvtm_error *error) {
  enum { NODES = SIDE * SIDE * SIDE };
  float *node = malloc((size_t)NODES * (size_t)inks->count * sizeof *node);
  unsigned char *wanted = calloc(NODES, 1);
  const int good = node != NULL && wanted != NULL;
  if (good) {
    mark_nodes(rgb, pixels, wanted);
    fill_cube(inks, wanted, node);
  }
#pragma omp parallel for schedule(static) if (good)
  for (int64_t p = 0; p < (good ? pixels : 0); ++p) {
    const double colour[3] = {(double)rgb[p], (double)rgb[pixels + p], (double)rgb[2 * pixels + p]};
    const cube_place place = place_in_cube(rgb, pixels, p);
    double share[CVTM_INKS_MAX];
    look_up(node, inks->count, &place, share);
    approach(inks, colour, share);
    for (int k = 0; k < inks->count; ++k) coverage[k][p] = (float)share[k];
  }
  free(wanted);
  free(node);
  return good ? CVTM_OK : cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory to separate colours");
}

/* --- inks chosen from a picture --------------------------------------------------------------- */

/* Clusters the full colours of the picture in OKLab by k-means to get candidates. From these
 * selects the inks by the error of the colours that they give. */
enum {
  STEPS = 16,
  BINS = STEPS * STEPS * STEPS,
  DEPTHS = 64,
  ROUNDS = 100,
  CANDIDATES = 32,
  COLOURS = 400, /* largest number of colours on which a selection is evaluated */
  EXCHANGES = 2  /* rounds of exchanges */
};

/* Pixels with similar colours. */
typedef struct colour_bin {
  double weight;   /* the number of pixels, then its square root */
  double light[3]; /* sum of the colours of the pixels, then their mean */
  double depth;    /* the coverage by an ink of colour `full` that gives this colour */
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

/* Drops bins that need no ink, finds the full colours of the others, and returns their number. */
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

/* The first centre is the full colour with the largest weight; each further centre is the colour
 * with the largest weighted distance from the centres so far. Returns the number of centres; it is
 * smaller than count if there are fewer colours. */
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

/* Assigns each bin to its nearest centre; returns 0 if no assignment changes. */
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

/* The 98 % quantile of depth in a cluster; the bins count by their weights. */
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

/* The candidates, and the colours of the picture on which a selection is evaluated. */
typedef struct ink_selection {
  double candidate[CANDIDATES][3];
  int candidates;
  const colour_bin *colour;
  int colours;
} ink_selection;

/* The error of these inks, or a part of it that is `most` or more. */
static double error_of_inks(const ink_selection *s, const cvtm_inks *inks, double most) {
  enum { BLOCK = 32 };
  double part[COLOURS], sum = 0;
  for (int first = 0; first < s->colours && sum < most; first += BLOCK) {
    const int end = first + BLOCK < s->colours ? first + BLOCK : s->colours;
#pragma omp parallel for schedule(dynamic, 4)
    for (int i = first; i < end; ++i) {
      double coverage[CVTM_INKS_MAX], rgb[3];
      cvtm_inks_separate_roughly(inks, s->colour[i].light, coverage);
      cvtm_inks_mix(inks, coverage, rgb);
      part[i] = s->colour[i].weight * square_distance(cvtm_oklab_of_linear(rgb),
                                                      cvtm_oklab_of_linear(s->colour[i].light));
    }
    for (int i = first; i < end; ++i) sum += part[i];
  }
  return sum;
}

/* True if an ink other than ink `except` is within this distance of the colour. */
static int has_ink(const cvtm_inks *inks, int except, const double colour[3], double distance) {
  const cvtm_oklab own = cvtm_oklab_of_linear(colour);
  for (int k = 0; k < inks->count; ++k)
    if (k != except &&
        square_distance(cvtm_oklab_of_linear(inks->colour[k]), own) <= distance * distance)
      return 1;
  return 0;
}

/* Sets ink k to the candidate with the least error, farther than `distance` from other inks, if
 * this error is less than `error`. Returns the new error. */
static double improve_ink(const ink_selection *s, int k, double error, double distance,
                          cvtm_inks *inks) {
  double best[3];
  memcpy(best, inks->colour[k], sizeof best);
  for (int i = 0; i < s->candidates; ++i) {
    if (has_ink(inks, k, s->candidate[i], distance)) continue;
    memcpy(inks->colour[k], s->candidate[i], sizeof best);
    const double found = error_of_inks(s, inks, error);
    if (found < error) memcpy(best, s->candidate[i], sizeof best);
    error = fmin(error, found);
  }
  memcpy(inks->colour[k], best, sizeof best);
  return error;
}

static void select_inks(const ink_selection *s, int count, cvtm_inks *inks) {
  const double none = -1;    /* no colour */
  const double alike = 0.12; /* in OKLab */
  double error = INFINITY;
  inks->count = 0;
  while (inks->count < count && inks->count < s->candidates) {
    inks->colour[inks->count][0] = none;
    ++inks->count;
    error = improve_ink(s, inks->count - 1, INFINITY, 0, inks);
  }
  for (int round = 0; round < EXCHANGES; ++round)
    for (int k = 0; k < inks->count; ++k) error = improve_ink(s, k, error, 0, inks);
  /* Dark inks that look nearly alike would divide the shadows, and leave no pen for other colours.
   */
  for (int k = 0; k < inks->count; ++k)
    if (has_ink(inks, k, inks->colour[k], alike)) error = improve_ink(s, k, INFINITY, alike, inks);
}

/* For qsort: the bins with the largest weight come first. */
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

/* --- all steps --- */

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
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%d inks were requested; 1 to %d are possible",
                     count, CVTM_INKS_MAX);
  colour_bin *bin = calloc(BINS, sizeof *bin);
  if (bin == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory to choose inks");
  count_colours(rgb, pixels, bin);
  const int bins = find_full_colours(bin);
  if (bins > 0) choose_from_bins(bin, bins, count, inks);
  free(bin);
  return bins > 0 ? CVTM_OK : cvtm_fail(error, CVTM_ERROR_INPUT, "a white picture needs no ink");
}

#include "run/budget.h"

#include "base/host.h"
#include "base/srgb.h"
#include "cvt/local_mean.h"
#include "run/colours.h"
#include "run/flatten.h"
#include "run/json.h"
#include "run/page.h"
#include "run/resemblance.h"
#include "run/stages.h"
#include "run/stipples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS = 256 };

/* The picture in cells about as wide as the spacing of the dots, as it appears from a distance.
 * Levels are encoded as in sRGB, whose steps look nearly even to the eye. */
typedef struct budget {
  cvtm_run_options *options;
  int width, height;
  int64_t cells;
  float *level;          /* of the picture */
  float *around;         /* see run_surroundings */
  float *flat;           /* of the flattened picture */
  float *drawn;          /* of the drawing */
  run_sights sights;     /* of the picture */
  double spread[LEVELS]; /* fraction of the pixels that have this level */
  double share[LEVELS];  /* as spread; in several colours, the fraction of the dots that the inks
                            need */
  cvtm_ink piece;        /* of a dot, or of a point of a line */
  double area;           /* of the picture, square pixels */
  double ink;            /* of the dots: total area divided by the area of the picture */
  int pens;              /* in several colours; else 0 */
  run_pens *sizes;       /* of the pens' dots; in one colour of the first pen alone */
  double areas[CVTM_INKS_MAX]; /* of the dots, or pieces of lines, of these sizes */
  cvtm_scratch memory;
} budget;

/* A choice of levels and gamma, and of --flatten. */
typedef struct tones {
  double flatten, black, white, gamma, score;
} tones;

static const tones no_tones = {.score = -3};
static const tones own_tones = {.black = 0, .white = 1, .gamma = 1};

/* True if dots of given sizes, or a line, show the tone of a picture. */
static int has_tone(const cvtm_run_options *o) {
  const int has_size = o->dot_size.count > 0 || run_page_shows_line(o);
  return has_size && (o->dots != CVTM_RUN_DOTS_TONE || run_dot_ratio(o) == 1) &&
         o->density_from != CVTM_DENSITY_FROM_DENSITY &&
         o->density_from != CVTM_DENSITY_FROM_SIZE && o->preset == CVTM_RUN_PRESET_NONE &&
         o->domain.kind == CVTM_RUN_DOMAIN_NONE;
}

/* True if dots of one size, or a line, show the tone of a picture. */
static int shows_tone(const cvtm_run_options *o) {
  return has_tone(o) && (run_dot_ratio(o) == 1 || run_page_shows_line(o));
}

static int tones_are_plain(const cvtm_run_options *o) {
  return o->gamma == 1 && o->black == 0 && o->white == 1 && o->contrast == 1;
}

static int tones_are_wanted(const cvtm_run_options *o) {
  return o->tone == CVTM_RUN_TONE_AUTO && tones_are_plain(o) && o->points != 0 && has_tone(o);
}

int run_tones_thin_inks(const cvtm_run_options *o) { return run_colours_wanted(o) && has_tone(o); }

/* The ink that the density assigns to a level. */
static double tone_of(const budget *b, const tones *t, double level) {
  const double moved = (level - t->black) / (t->white - t->black);
  const double shown = 0.5 + (moved - 0.5) * b->options->contrast;
  const double light = cvtm_srgb_to_linear(fmin(fmax(shown, 0), 1));
  return pow(b->options->invert ? light : 1 - light, t->gamma);
}

/* The factor by which these tones, compared with own_tones, reduce the inks of a level. */
static double thinning(const budget *b, const tones *t, double level) {
  const double own = tone_of(b, &own_tones, level);
  return own > 0 ? tone_of(b, t, level) / own : 0;
}

/* The ink of the dots for a level. */
static double need_of(const budget *b, const tones *t, int bin) {
  const double level = (bin + 0.5) / LEVELS;
  if (b->share[bin] == 0) return 0;
  const double thin = thinning(b, t, level); /* the points of a line follow its square */
  if (b->pens > 0) return b->piece.kind == CVTM_INK_LINE ? thin * thin : thin;
  return cvtm_ink_needed(b->piece.kind, tone_of(b, t, level));
}

/* The area of the dots with these tones, divided by the area of the picture. */
static double ink_of(const budget *b, const tones *t) {
  double sum = 0;
  for (int bin = 0; bin < LEVELS; ++bin) sum += b->share[bin] * need_of(b, t, bin);
  return sum;
}

/* Sets the gamma with which the tones need this ink. Returns 0 if there is none. */
static int find_gamma(const budget *b, double ink, tones *t) {
  enum { STEPS = 24 };
  double low = log(0.1), high = log(20);
  for (int k = 0; k < STEPS; ++k) {
    const double middle = 0.5 * (low + high);
    t->gamma = exp(middle);
    *(ink_of(b, t) > ink ? &low : &high) = middle;
  }
  return fabs(ink_of(b, t) / ink - 1) < 0.02;
}

static int bin_of(double level) { return (int)fmin(level * LEVELS, LEVELS - 1); }

/* Sets the score of the tones: how far the drawing has the local contrasts of the picture. The eye
 * sees levels, so those of the drawing are compared with those of the picture. */
static cvtm_status score(budget *b, tones *t, cvtm_error *error) {
  float shown[LEVELS];
  for (int bin = 0; bin < LEVELS; ++bin) {
    const double tone = tone_of(b, t, (bin + 0.5) / LEVELS);
    shown[bin] = (float)cvtm_linear_to_srgb(b->options->invert ? tone : 1 - tone);
  }
  for (int64_t k = 0; k < b->cells; ++k) b->drawn[k] = shown[bin_of((double)b->flat[k])];
  return run_sights_score(&b->sights, b->drawn, &t->score, error);
}

/* Flattens the cells. In one colour their levels then replace those of the pixels. */
static void flatten_cells(budget *b, double share) {
  if (share == 0) return;
  memset(b->spread, 0, sizeof b->spread);
  for (int64_t k = 0; k < b->cells; ++k) {
    b->flat[k] = (float)run_flattened((double)b->level[k], (double)b->around[k], share);
    b->spread[bin_of((double)b->flat[k])] += 1 / (double)b->cells;
  }
  memcpy(b->share, b->spread, sizeof b->share);
}

/* Finds the tones with the best score. flattens: 0 if the picture must not be flattened, because of
 * several pens, or because an option says by how much. */
static cvtm_status search(budget *b, int flattens, tones *best, cvtm_error *error) {
  static const double shares[] = {0, 0.2, 0.4, 0.6, 0.8};
  static const double blacks[] = {-2, -1, -0.5, -0.2, 0, 0.2};
  static const double whites[] = {1, 0.8, 0.65, 0.5};
  enum { SHARES = sizeof shares / sizeof *shares, BLACKS = sizeof blacks / sizeof *blacks };
  enum { WHITES = sizeof whites / sizeof *whites };
  /* Tones of a larger gamma show hardly anything but black. */
  const double most_gamma = 5;
  /* With little ink only local contrasts show a form, so it takes the most that it can from large
   * areas, and the drawing is compared with the flattened picture. A line shows a form only where
   * it has many points. */
  const int is_line = b->piece.kind == CVTM_INK_LINE;
  const double own_ink = ink_of(b, &own_tones);
  const int is_thin = flattens && b->ink < (is_line ? 0.5 : 0.2) * own_ink;
  const int is_rich = b->ink > 0.3 * own_ink;
  /* A low white would leave bright inks, faces drawn by a line, and faces for which there is ink
   * without points. */
  const int usable = b->pens > 0 ? 1 : is_line ? 2 : is_rich ? 3 : WHITES;
  if (is_thin) flatten_cells(b, shares[SHARES - 1]);
  cvtm_status status = run_sights_make(b->flat, b->width, b->height, &b->sights, error);
  for (int i = is_thin ? SHARES - 1 : 0; i < (flattens ? SHARES : 1); ++i) {
    flatten_cells(b, shares[i]);
    for (int j = 0; status == CVTM_OK && j < BLACKS * usable; ++j) {
      tones t = {.flatten = shares[i], .black = blacks[j / usable], .white = whites[j % usable]};
      if (!find_gamma(b, b->ink, &t)) continue;
      status = score(b, &t, error);
      t.score -= 0.1 * fmax(t.gamma - most_gamma, 0);
      if (t.score > best->score) *best = t;
    }
  }
  run_sights_free(&b->sights);
  return status;
}

static double level_of(double light) { return cvtm_linear_to_srgb(fmin(fmax(light, 0), 1)); }

/* Averages the picture over cells. */
static cvtm_status shrink_to_cells(budget *b, cvtm_domain domain, const float *light,
                                   cvtm_error *error) {
  enum { MOST = 128 }; /* cells along the longer side */
  const double sites = b->options->points > 0 ? (double)b->options->points : MOST * MOST;
  const double longer = fmax(domain.width, domain.height);
  const int side = (int)fmax(ceil(fmax(sqrt(b->area / sites), longer / MOST)), 1);
  b->width = (domain.width + side - 1) / side;
  b->height = (domain.height + side - 1) / side;
  b->cells = (int64_t)b->width * b->height;
  float **plane[] = {&b->level, &b->around, &b->flat, &b->drawn};
  for (int k = 0; k < 4; ++k)
    *plane[k] = cvtm_scratch_take(&b->memory, (size_t)b->cells, sizeof **plane[k]);
  if (b->memory.failed) return cvtm_no_memory(error, "the tones of a drawing");
  CVTM_TRY(run_surroundings(light, domain.width, domain.height, side, b->level, b->around, error));
  memcpy(b->flat, b->level, (size_t)b->cells * sizeof *b->level);
  return CVTM_OK;
}

/* Counts the levels of the pixels. coverage: per pen; NULL: one colour. */
static void count_levels(budget *b, cvtm_domain domain, const float *light,
                         float *const *coverage) {
  const int64_t pixels = (int64_t)domain.width * domain.height;
  const int is_line = b->piece.kind == CVTM_INK_LINE;
  double all = 0;
  memset(b->spread, 0, sizeof b->spread);
  memset(b->share, 0, sizeof b->share);
  for (int64_t p = 0; p < pixels; ++p) {
    const int bin = bin_of(level_of((double)light[p]));
    double inks = b->pens == 0;
    for (int k = 0; k < b->pens; ++k) {
      const double ink = (double)coverage[k][p];
      inks += (is_line ? cvtm_ink_needed(CVTM_INK_LINE, ink) : ink) / b->areas[k];
    }
    b->spread[bin] += 1 / (double)pixels;
    b->share[bin] += inks;
    all += inks;
  }
  for (int bin = 0; bin < LEVELS && all > 0; ++bin) b->share[bin] /= all;
  if (b->pens > 0) b->piece.area = b->area / all;
}

/* --- time ------------------------------------------------------------------------------------ */

/* The seconds that a machine needs for `count` touches, or for a line through as many points, whose
 * spacings follow the tones. The constants, measured in drawings of photographs, are the distance
 * from a touch, or point, to the next, in spacings. */
static double seconds_of(const budget *b, const tones *t, const run_machine *machine,
                         double count) {
  const double way = 1, step = 1.085;
  const cvtm_plotter *p = machine->plotter;
  const double area = b->area * machine->mm * machine->mm, ink = ink_of(b, t);
  double sum = 0;
  for (int bin = 0; bin < LEVELS; ++bin) {
    const double dots = b->share[bin] * need_of(b, t, bin) / ink; /* fraction of all dots */
    if (!(dots > 0)) continue;
    const double spacing = sqrt(area * b->spread[bin] * fmax(b->pens, 1) / (count * dots));
    sum += dots * (b->piece.kind == CVTM_INK_LINE
                       ? step * spacing / p->draw_speed
                       : cvtm_plotter_seconds(p, way * spacing) + p->lift_seconds + p->dot_seconds);
  }
  return count * sum;
}

/* Sets the number of touches or points, at most `most`, that can be drawn in the time of -n.
 * Returns 0 if `most` can be drawn. */
static int count_in_time(budget *b, const tones *t, const run_machine *machine, double seconds,
                         double most) {
  enum { STEPS = 40 };
  double low = 1, high = fmax(most, 1);
  const int is_short = seconds_of(b, t, machine, high) > seconds;
  for (int k = 0; k < STEPS && is_short; ++k) {
    const double middle = sqrt(low * high);
    *(seconds_of(b, t, machine, middle) < seconds ? &low : &high) = middle;
  }
  b->options->points = (int64_t)fmax(round(high), 1);
  b->ink = (double)b->options->points * b->piece.area / b->area;
  return is_short;
}

/* --- time and tones -------------------------------------------------------------------------- */

/* Flattens a picture as its cells were, and adapts gamma to its pixels. */
static cvtm_status flatten_pixels(budget *b, cvtm_image *image, tones *t, cvtm_error *error) {
  const cvtm_domain domain = {image->width, image->height, 0};
  if (t->flatten == 0) return CVTM_OK;
  CVTM_TRY(run_flatten(image, t->flatten, b->options->input.name, error));
  flatten_cells(b, t->flatten);
  count_levels(b, domain, image->value, NULL);
  (void)find_gamma(b, b->ink, t);
  return CVTM_OK;
}

/* Chooses the number of dots by the time of -n, and the tones that this number of dots can show.
 * image: the picture, which may be flattened; NULL in several colours. */
static cvtm_status choose(budget *b, cvtm_domain domain, cvtm_image *image, const float *light,
                          cvtm_error *error) {
  cvtm_run_options *o = b->options;
  const double seconds = -(double)o->points;
  const int flattens = image != NULL && o->flatten == 0 && !o->periodic;
  int chooses = tones_are_wanted(o);
  const tones own = {.black = o->black, .white = o->white, .gamma = o->gamma};
  tones best = no_tones;
  run_machine machine;
  cvtm_status status = shrink_to_cells(b, domain, light, error);
  const double most = ink_of(b, &own) * b->area / b->piece.area;
  if (status == CVTM_OK && seconds > 0) {
    status = run_page_machine(o, domain, &machine, error);
    if (status == CVTM_OK) chooses &= count_in_time(b, &own, &machine, seconds, most);
  }
  b->ink = (double)o->points * b->piece.area / b->area;
  if (status == CVTM_OK && chooses) status = search(b, flattens, &best, error);
  if (status == CVTM_OK && best.score > no_tones.score && image != NULL)
    status = flatten_pixels(b, image, &best, error);
  if (status == CVTM_OK && best.score > no_tones.score && seconds > 0) {
    (void)count_in_time(b, &best, &machine, seconds, most);
    (void)find_gamma(b, b->ink, &best);
  }
  if (seconds > 0) {
    o->plot_seconds = seconds;
    run_preview_limit(o);
  }
  cvtm_scratch_free(&b->memory);
  if (status != CVTM_OK || best.score <= no_tones.score) return status;
  if (best.flatten > 0) o->flatten = best.flatten;
  o->black = best.black;
  o->white = best.white;
  o->gamma = round(1e3 * best.gamma) / 1e3;
  o->tone = CVTM_RUN_TONE_CHOSEN;
  return CVTM_OK;
}

cvtm_status run_smooth_dither(const cvtm_run_options *o, cvtm_image *image, cvtm_error *error) {
  const cvtm_domain domain = {image->width, image->height, o->periodic};
  const int64_t pixels = (int64_t)domain.width * domain.height;
  const int is_short = (int)o->effort == CVTM_CVT_EFFORT_LOW && o->preset == CVTM_RUN_PRESET_NONE;
  if (image->is_data || image->masked > 0 || !(has_tone(o) || is_short)) return CVTM_OK;
  CVTM_TRY(cvtm_smooth_dither(domain, image->value, error));
  for (int c = 0; c < 3 && image->rgb != NULL; ++c)
    CVTM_TRY(cvtm_smooth_dither(domain, image->rgb + c * pixels, error));
  return CVTM_OK;
}

/* Sets the piece, and counts levels. Gives all dots their largest sizes if -n dots of these have
 * less ink than the picture, or their smallest sizes if -n dots of these have more. A line has the
 * width of its pen. *fits: 0: sizes between these have the ink, or a size is not given. */
static cvtm_status choose_sizes(budget *b, cvtm_domain domain, const float *light,
                                float *const *coverage, int *fits, cvtm_error *error) {
  const cvtm_run_options *o = b->options;
  const run_pens given = *b->sizes;
  const tones own_levels = {.black = o->black, .white = o->white, .gamma = o->gamma};
  *fits = 1;
  for (int is_largest = 1; is_largest >= 0; --is_largest) {
    int is_fixed = 1;
    for (int k = 0; k < (b->pens > 0 ? b->pens : 1) && *fits; ++k) {
      cvtm_run_options own = run_options_of_pen(o, &given, k);
      const cvtm_run_lengths size = run_page_shows_line(o) ? own.pen : own.dot_size;
      const double wanted = size.value[is_largest && size.count > 1];
      is_fixed &= wanted == size.value[0] && (size.count < 2 || wanted == size.value[1]);
      own.dot_size = b->sizes->size[k] = (cvtm_run_lengths){{wanted, 0}, 1, size.unit};
      b->sizes->width[k] = own.pen;
      CVTM_TRY(run_ink_find(&own, domain, &b->piece, fits, error));
      b->areas[k] = b->piece.area;
      *fits = size.count > 0;
    }
    if (!*fits) break;
    count_levels(b, domain, light, coverage);
    const double needed = ink_of(b, &own_levels) * b->area / b->piece.area;
    if (is_fixed || (is_largest ? needed > (double)o->points : needed < (double)o->points))
      return CVTM_OK;
  }
  *b->sizes = given;
  *fits = 0;
  return CVTM_OK;
}

cvtm_status run_budget_choose(cvtm_run_options *o, cvtm_image *image, cvtm_error *error) {
  const cvtm_domain domain = {image->width, image->height, o->periodic};
  run_pens one = {.size[0] = o->dot_size, .width[0] = o->pen};
  budget b = {.options = o, .area = (double)image->width * image->height, .sizes = &one};
  int fits;
  if (run_colours_wanted(o) || (o->points > 0 && image->is_data)) return CVTM_OK;
  if (o->points < 0 && (image->is_data || o->density_from != CVTM_DENSITY_FROM_TONE))
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "%s: a time for -n needs the tone of a picture, not data", o->input.name);
  if (o->points == 0 || (o->points > 0 && !tones_are_wanted(o))) return CVTM_OK;
  CVTM_TRY(choose_sizes(&b, domain, image->value, NULL, &fits, error));
  if (!fits) return CVTM_OK;
  if (run_dot_ratio(o) < 1 && o->dot_size.count > 0) o->dot_size = one.size[0];
  return choose(&b, domain, image, image->value, error);
}

cvtm_status run_budget_choose_colours(cvtm_run_options *o, cvtm_domain domain, const float *light,
                                      float *const *coverage, run_pens *pens, cvtm_error *error) {
  budget b = {.options = o,
              .area = (double)domain.width * domain.height,
              .pens = pens->inks.count,
              .sizes = pens};
  int fits;
  if (o->points == 0) return CVTM_OK;
  CVTM_TRY(choose_sizes(&b, domain, light, coverage, &fits, error));
  if (!fits || (o->points > 0 && !tones_are_wanted(o))) return CVTM_OK;
  return choose(&b, domain, NULL, light, error);
}

int run_tones_thin(cvtm_run_options *o, cvtm_domain domain, const float *light,
                   float *const *coverage, int pens) {
  const int64_t pixels = (int64_t)domain.width * domain.height;
  const budget b = {.options = o};
  const tones t = {.black = o->black, .white = o->white, .gamma = o->gamma};
  if (!run_tones_thin_inks(o) || tones_are_plain(o)) return 0;
#pragma omp parallel for schedule(static)
  for (int64_t p = 0; p < pixels; ++p) {
    const double thinned = thinning(&b, &t, level_of((double)light[p]));
    for (int k = 0; k < pens; ++k)
      coverage[k][p] = (float)fmin(thinned * (double)coverage[k][p], 1);
  }
  return 1;
}

cvtm_status run_budget_check(const cvtm_run_options *o, cvtm_error *error) {
  cvtm_run_options chosen = *o;
  if (o->points >= 0) return CVTM_OK;
  run_pen_choose(&chosen);
  if (!run_page_has_machine(&chosen))
    return run_usage_error(error,
                           "--points: a time needs a drawing by a pen on a page, as by "
                           "--plotter axidraw --pen 0.5mm -o x.svg");
  if (has_tone(&chosen) && !shows_tone(&chosen))
    return run_usage_error(error,
                           "--points: a time needs dots of one size, as by --pen alone: with "
                           "--dot-size MIN,MAX the time of a dot depends on its size");
  if (!shows_tone(&chosen) || o->init.name != NULL || o->fixed.name != NULL)
    return run_usage_error(error,
                           "--points: a time needs dots of one size or a line; and no "
                           "--init, --fixed, --domain, --preset or --density-from");
  return CVTM_OK;
}

void run_touches_choose(cvtm_run_options *o) {
  const unsigned of_sites = CVTM_RUN_GIVEN_EFFORT | CVTM_RUN_GIVEN_ITERATIONS |
                            CVTM_RUN_GIVEN_TOLERANCE | CVTM_RUN_GIVEN_GRADIENT_TOLERANCE |
                            CVTM_RUN_GIVEN_PRESET | CVTM_RUN_GIVEN_METHOD;
  const unsigned own_effort = o->preview.on ? CVTM_RUN_GIVEN_EFFORT : 0;
  const int is_given = (run_given(o) & of_sites & ~own_effort) != 0;
  const int is_film = o->follow.on || o->init.name != NULL;
  const int is_plain = o->noise == CVTM_RUN_NOISE_HEXAGONAL && !o->equal_mass.on &&
                       o->domain.kind == CVTM_RUN_DOMAIN_NONE;
  if (o->follow.continues && !is_given) {
    o->effort = CVTM_CVT_EFFORT_LOW;
    o->iterations = 8;
    o->tolerance =
        0; /* with a tolerance the descent would end while all dots still follow the scene */
  }
  if (o->pen.count == 0 || run_page_shows_edges(o) || run_outputs_have_mesh(o) || is_given ||
      is_film || !is_plain)
    return;
  o->is_loose = 1;
  o->effort = CVTM_CVT_EFFORT_LOW;
  o->iterations = 12;
}

void run_budget_report(const cvtm_run_options *o, cJSON *report) {
  if (o->plot_seconds > 0) {
    cJSON *found = cJSON_AddObjectToObject(report, "points_found");
    run_json_text(found, "from", "time");
    run_json_real(found, "seconds", o->plot_seconds);
  }
  if (o->tone != CVTM_RUN_TONE_CHOSEN) return;
  cJSON *part = cJSON_AddObjectToObject(report, "tone_chosen");
  run_json_real(part, "flatten", o->flatten);
  run_json_real(part, "black", o->black);
  run_json_real(part, "white", o->white);
  run_json_real(part, "gamma", o->gamma);
}

#include "run/budget.h"

#include "base/host.h"
#include "base/srgb.h"
#include "cvt/local_mean.h"
#include "draw/likeness.h"
#include "run/colours.h"
#include "run/json.h"
#include "run/page.h"
#include "run/stipples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS = 1024 };

/* The picture in cells of about the spacing of the dots, as it looks from a distance. Levels are
 * encoded as in sRGB, which is nearly even for the eye. */
typedef struct budget {
  const cvtm_run_options *options;
  int width, height;
  int64_t cells;
  float *level;          /* of the picture */
  float *local;          /* its local contrasts */
  float *drawn;          /* of the drawing */
  float *wanted, *other; /* work arrays */
  double share[LEVELS];  /* of the pixels of each level */
  cvtm_ink_kind kind;
  double ink; /* that the dots have: their area over that of the picture */
  cvtm_scratch memory;
} budget;

/* A choice of levels and gamma. */
typedef struct tones {
  double black, white, gamma, score;
} tones;

static int is_wanted(const cvtm_run_options *o, const cvtm_image *image) {
  const int is_plain = o->gamma == 1 && o->black == 0 && o->white == 1 && o->contrast == 1;
  const int has_size = (o->dot_size.count > 0 && run_dot_ratio(o) == 1) || run_page_shows_line(o);
  return o->tone == CVTM_RUN_TONE_AUTO && is_plain && has_size && o->points > 0 &&
         !image->is_data && o->density_from == CVTM_DENSITY_FROM_TONE && !run_colours_wanted(o) &&
         o->preset == CVTM_RUN_PRESET_NONE && o->domain.kind == CVTM_RUN_DOMAIN_NONE;
}

/* The ink of a level, as the density has it. */
static double tone_of(const budget *b, const tones *t, double level) {
  const double moved = (level - t->black) / (t->white - t->black);
  const double light = cvtm_srgb_to_linear(fmin(fmax(moved, 0), 1));
  return pow(b->options->invert ? light : 1 - light, t->gamma);
}

/* The area of the dots that these tones need, over that of the picture. */
static double ink_of(const budget *b, const tones *t) {
  double sum = 0;
  for (int bin = 0; bin < LEVELS; ++bin)
    if (b->share[bin] > 0)
      sum += b->share[bin] * cvtm_ink_needed(b->kind, tone_of(b, t, (bin + 0.5) / LEVELS));
  return sum;
}

/* Sets the gamma at which the tones need all ink. Returns 0 if there is none. */
static int find_gamma(const budget *b, tones *t) {
  enum { STEPS = 24 };
  double low = log(0.1), high = log(20);
  for (int k = 0; k < STEPS; ++k) {
    const double middle = 0.5 * (low + high);
    t->gamma = exp(middle);
    *(ink_of(b, t) > b->ink ? &low : &high) = middle;
  }
  return fabs(ink_of(b, t) / b->ink - 1) < 0.02;
}

/* Replaces a plane by its difference from its mean over some cells around, about middle grey. */
static cvtm_status keep_local(budget *b, float *plane, cvtm_error *error) {
  const double around = 8; /* cells */
  memcpy(b->other, plane, (size_t)b->cells * sizeof *plane);
  const cvtm_status status = cvtm_plane_blur(b->other, b->width, b->height, around, error);
  for (int64_t k = 0; k < b->cells; ++k) plane[k] += 0.5F - b->other[k];
  return status;
}

static double contrast_of(const float *plane, int64_t count) {
  double sum = 0;
  for (int64_t k = 0; k < count; ++k) {
    const double local = (double)plane[k] - 0.5;
    sum += local * local;
  }
  return sqrt(sum / (double)count);
}

/* Sets the structural similarity of the local contrasts of the drawing and the picture, as they are
 * seen from a distance. The eye half adapts to the contrast of the whole drawing. Without that only
 * the darkest parts would get dots. */
static cvtm_status score(budget *b, tones *t, cvtm_error *error) {
  const double blur = 1.5; /* cells */
  cvtm_likeness likeness;
  for (int64_t k = 0; k < b->cells; ++k) {
    const double tone = tone_of(b, t, (double)b->level[k]);
    b->drawn[k] = (float)cvtm_linear_to_srgb(b->options->invert ? tone : 1 - tone);
  }
  cvtm_status status = keep_local(b, b->drawn, error);
  if (status != CVTM_OK) return status;
  const double adapted = sqrt(contrast_of(b->local, b->cells) / contrast_of(b->drawn, b->cells));
  for (int64_t k = 0; k < b->cells; ++k)
    b->drawn[k] = (float)(0.5 + adapted * ((double)b->drawn[k] - 0.5));
  memcpy(b->wanted, b->local, (size_t)b->cells * sizeof *b->wanted);
  status = cvtm_likeness_measure(b->drawn, b->wanted, b->width, b->height, blur, &likeness, error);
  t->score = likeness.ssim;
  return status;
}

static cvtm_status search(budget *b, tones *best, cvtm_error *error) {
  static const double blacks[] = {-2, -1, -0.5, -0.2, 0, 0.1, 0.2, 0.3};
  static const double whites[] = {1, 0.95, 0.9, 0.85, 0.75, 0.65};
  cvtm_status status = CVTM_OK;
  for (size_t i = 0; i < sizeof blacks / sizeof blacks[0]; ++i) {
    for (size_t j = 0; status == CVTM_OK && j < sizeof whites / sizeof whites[0]; ++j) {
      tones t = {.black = blacks[i], .white = whites[j]};
      if (!(t.black < t.white) || !find_gamma(b, &t)) continue;
      status = score(b, &t, error);
      if (t.score > best->score) *best = t;
    }
  }
  return status;
}

/* Averages the picture over cells. */
static cvtm_status shrink_to_cells(budget *b, const cvtm_image *image, cvtm_error *error) {
  enum { MOST = 128 }; /* cells along the longer side */
  const double area = (double)image->width * image->height;
  const double longer = fmax(image->width, image->height);
  const double spacing = sqrt(area / (double)b->options->points);
  const int side = (int)fmax(ceil(fmax(spacing, longer / MOST)), 1);
  b->width = (image->width + side - 1) / side;
  b->height = (image->height + side - 1) / side;
  b->cells = (int64_t)b->width * b->height;
  const int64_t pixels = (int64_t)image->width * image->height;
  b->level = cvtm_scratch_take(&b->memory, (size_t)b->cells, sizeof *b->level);
  b->drawn = cvtm_scratch_take(&b->memory, (size_t)b->cells, sizeof *b->drawn);
  b->wanted = cvtm_scratch_take(&b->memory, (size_t)b->cells, sizeof *b->wanted);
  b->other = cvtm_scratch_take(&b->memory, (size_t)b->cells, sizeof *b->other);
  b->local = cvtm_scratch_take(&b->memory, (size_t)b->cells, sizeof *b->local);
  if (b->memory.failed) return cvtm_no_memory(error, "the tones of a drawing");
  cvtm_plane_shrink(image->value, image->width, image->height, side, b->level);
  for (int64_t k = 0; k < b->cells; ++k)
    b->level[k] = (float)cvtm_linear_to_srgb(fmin(fmax((double)b->level[k], 0), 1));
  memcpy(b->local, b->level, (size_t)b->cells * sizeof *b->level);
  for (int64_t p = 0; p < pixels; ++p) {
    const double level = cvtm_linear_to_srgb(fmin(fmax((double)image->value[p], 0), 1));
    b->share[(int)fmin(level * LEVELS, LEVELS - 1)] += 1 / (double)pixels;
  }
  return keep_local(b, b->local, error);
}

cvtm_status run_budget_choose(cvtm_run_options *o, const cvtm_image *image, cvtm_error *error) {
  budget b = {.options = o};
  tones best = {.score = -1};
  cvtm_ink piece;
  int is_even;
  if (!is_wanted(o, image)) return CVTM_OK;
  const cvtm_domain domain = {image->width, image->height, o->periodic};
  cvtm_status status = run_ink_find(o, domain, &piece, &is_even, error);
  if (status == CVTM_OK) status = shrink_to_cells(&b, image, error);
  if (status == CVTM_OK) {
    b.kind = piece.kind;
    b.ink = (double)o->points * piece.area / ((double)image->width * image->height);
    status = search(&b, &best, error);
  }
  cvtm_scratch_free(&b.memory);
  if (status != CVTM_OK || best.score < 0) return status;
  o->black = best.black;
  o->white = best.white;
  o->gamma = round(1e3 * best.gamma) / 1e3;
  o->tone = CVTM_RUN_TONE_CHOSEN;
  return CVTM_OK;
}

void run_touches_choose(cvtm_run_options *o) {
  const unsigned of_sites = CVTM_RUN_GIVEN_EFFORT | CVTM_RUN_GIVEN_ITERATIONS |
                            CVTM_RUN_GIVEN_TOLERANCE | CVTM_RUN_GIVEN_GRADIENT_TOLERANCE |
                            CVTM_RUN_GIVEN_PRESET | CVTM_RUN_GIVEN_METHOD;
  const int is_film = o->follow.on || o->init.name != NULL;
  const int is_plain = o->noise == CVTM_RUN_NOISE_HEXAGONAL && !o->equal_mass.on &&
                       o->domain.kind == CVTM_RUN_DOMAIN_NONE && !run_colours_wanted(o);
  if (o->pen.count == 0 || run_page_shows_line(o) || run_outputs_have_mesh(o) ||
      (run_given(o) & of_sites) != 0 || is_film || !is_plain)
    return;
  o->is_loose = 1;
  o->effort = CVTM_CVT_EFFORT_LOW;
  o->iterations = 12;
}

void run_budget_report(const cvtm_run_options *o, cJSON *report) {
  if (o->tone != CVTM_RUN_TONE_CHOSEN) return;
  cJSON *part = cJSON_AddObjectToObject(report, "tone_chosen");
  run_json_real(part, "black", o->black);
  run_json_real(part, "white", o->white);
  run_json_real(part, "gamma", o->gamma);
}

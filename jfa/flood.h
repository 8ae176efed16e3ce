/* Inside jfa only: jump flooding at one pixel, written once for both devices.
 *
 * What is flooded are seeds: the pixels with sites in them. A seed is named by one
 * word, where its site lies, or the middle of the pixel if there are several, on a grid of
 * 2^16 steps along each axis of the least square of side a power of two that covers the
 * domain: x in the lower half of the word, y in the upper one. So a word says both which
 * pixel the seed is and how far away, and a pass reads nothing but words. If a site lies
 * outside the domain, or is not finite, words are places in the tree's order instead
 * (of several sites that nearest to the pixel's centre) and positions are looked up.
 *
 * Passes compare squared distances in float, with the roundings of cvtm_flood_key on every
 * device. The last pass of a method, which makes labels of words, decides as a comparison in
 * double of all sites of the seeds that it hears of does. */
#ifndef CVTMESH_JFA_FLOOD_H
#define CVTMESH_JFA_FLOOD_H

#include <string.h>

#include "voronoi/site_query.h"
#include "voronoi/site_tree_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The sites, at least one of them, and the domain. */
typedef struct cvtm_flood {
  cvtm_site_tree_view tree;
  cvtm_domain domain;
  cvtm_metric metric;
  int32_t *first_step; /* one number: passes of larger steps do nothing */
} cvtm_flood;

typedef struct cvtm_flood_table {
  /* Seeds have their words; all other pixels have no seed. */
  cvtm_status (*start)(cvtm_device *device, const cvtm_flood *flood, uint32_t *words);
  /* Seeds have their words; all other pixels have the word of the seed that holds the site of
   * their label now. words may be where labels are. */
  cvtm_status (*recall)(cvtm_device *device, const cvtm_flood *flood, const double *sites,
                        const int32_t *labels, uint32_t *words);
  /* Makes *first_step at least twice the radius of the largest empty circle. */
  cvtm_status (*limit)(cvtm_device *device, const cvtm_flood *flood);
  /* NULL, or: two passes in one, of a step and of half of it, from seeds alone. The domain is not
   * periodic, and four times the second step covers it. */
  cvtm_status (*open)(cvtm_device *device, const cvtm_flood *flood, int step, const uint32_t *from,
                      uint32_t *to);
  /* One pass from one array of words to another. */
  cvtm_status (*pass)(cvtm_device *device, const cvtm_flood *flood, int step, const uint32_t *from,
                      uint32_t *to);
  /* The last pass, of step 1: from words to labels. The words are lost. */
  cvtm_status (*finish)(cvtm_device *device, const cvtm_flood *flood, uint32_t *words,
                        int32_t *labels);
} cvtm_flood_table;

extern const cvtm_flood_table cvtm_flood_table_cpu, cvtm_flood_table_cuda;

#ifdef __cplusplus
}
#endif

#define CVTM_NO_SEED 0xFFFFFFFFU

/* How words become positions: (centre of pixel i) = origin + i step. */
typedef struct cvtm_flood_scale {
  float origin, step;
  float period_x, period_y; /* 0: not periodic */
  int packed;               /* words are positions, not places */
} cvtm_flood_scale;

/* Steps of the words' grid per pixel, as a power of two. */
CVTM_HD int cvtm_word_shift(cvtm_domain domain) { return cvtm_morton_shift(domain) - 16; }

CVTM_HD cvtm_flood_scale cvtm_flood_scale_of(const cvtm_flood *flood) {
  const cvtm_domain domain = flood->domain;
  const double *all = flood->tree.box + 4;
  const int32_t step = 1 << cvtm_word_shift(domain);
  cvtm_flood_scale scale;
  scale.packed = all[0] >= 0 && all[1] >= 0 && all[2] <= domain.width && all[3] <= domain.height;
  /* 2^23 is what cvtm_seed_position adds; all is whole and rounded down. */
  scale.origin = scale.packed ? 8388608.0F + (float)(step / 2) : 0.5F;
  scale.step = scale.packed ? (float)step : 1;
  scale.period_x = domain.periodic ? (float)domain.width * scale.step : 0;
  scale.period_y = domain.periodic ? (float)domain.height * scale.step : 0;
  return scale;
}

/* A pixel by its column and row. */
typedef struct cvtm_seed_pixel {
  uint32_t column, row;
} cvtm_seed_pixel;

/* The pixel that a position is in; of one outside, the nearest. */
CVTM_HD cvtm_seed_pixel cvtm_pixel_at(cvtm_domain domain, double x, double y) {
  const int shift = cvtm_morton_shift(domain);
  cvtm_seed_pixel pixel;
  pixel.column = (uint32_t)((uint64_t)cvtm_quantize(x, domain.width, shift) >> shift);
  pixel.row = (uint32_t)((uint64_t)cvtm_quantize(y, domain.height, shift) >> shift);
  return pixel;
}

CVTM_HD cvtm_seed_pixel cvtm_pixel_of_place(const cvtm_flood *flood, int64_t place) {
  const double *site = flood->tree.position + 2 * place;
  return cvtm_pixel_at(flood->domain, site[0], site[1]);
}

CVTM_HD uint64_t cvtm_pixel_code(cvtm_seed_pixel pixel) {
  return cvtm_spread_16_bits(pixel.column) | cvtm_spread_16_bits(pixel.row) << 1;
}

/* A word that says only which pixel the seed is: it stands for several sites. Its position is the
 * middle of the pixel; a lone site that happens to lie there has it, too. */
CVTM_HD uint32_t cvtm_shared_word(int shift, cvtm_seed_pixel pixel) {
  const uint32_t half = 1U << (shift - 1);
  return (pixel.column << shift | (half - 1)) | (pixel.row << shift | half) << 16;
}

CVTM_HD int cvtm_is_shared(int shift, uint32_t word) {
  const cvtm_seed_pixel first = {0, 0};
  const uint32_t fraction = (1U << shift) - 1;
  return (word & (fraction | fraction << 16)) == cvtm_shared_word(shift, first);
}

/* The word of a lone site inside the domain. */
CVTM_HD uint32_t cvtm_pack_word(const cvtm_flood *flood, double x, double y) {
  const int shift = cvtm_morton_shift(flood->domain);
  const uint32_t column = cvtm_quantize(x, flood->domain.width, shift) >> 16;
  const uint32_t row = cvtm_quantize(y, flood->domain.height, shift) >> 16;
  const cvtm_seed_pixel pixel = {column >> (shift - 16), row >> (shift - 16)};
  const uint32_t word = column | row << 16;
  return word == CVTM_NO_SEED ? cvtm_shared_word(shift - 16, pixel) : word;
}

/* The sites first .. last - 1 of the tree's order. */
typedef struct cvtm_seed_sites {
  int32_t first, last;
} cvtm_seed_sites;

/* The first place among first .. last - 1 whose pixel's code is at least this; else last. */
CVTM_HD int32_t cvtm_first_place(const cvtm_flood *flood, int32_t first, int32_t last,
                                 uint64_t code) {
  while (first < last) {
    const int32_t middle = first + (last - first) / 2;
    if (cvtm_pixel_code(cvtm_pixel_of_place(flood, middle)) < code)
      first = middle + 1;
    else
      last = middle;
  }
  return first;
}

/* All sites in a seed's pixel. */
CVTM_HD cvtm_seed_sites cvtm_sites_of_pixel(const cvtm_flood *flood, cvtm_seed_pixel pixel) {
  const cvtm_site_tree_view *tree = &flood->tree;
  const uint64_t code = cvtm_pixel_code(pixel);
  const int finer = tree->levels - (32 - cvtm_morton_shift(flood->domain));
  cvtm_seed_sites sites;
  if (finer >= 0) { /* the pixel is a run of bins */
    sites.first = tree->start[code << 2 * finer];
    sites.last = tree->start[(code + 1) << 2 * finer];
    return sites;
  }
  const int32_t *start = tree->start + (code >> -2 * finer);
  sites.first = start[0];
  sites.last = start[1];
  if (sites.last - sites.first == 1) return sites;
  sites.first = cvtm_first_place(flood, sites.first, sites.last, code);
  sites.last = cvtm_first_place(flood, sites.first, sites.last, code + 1);
  return sites;
}

CVTM_HD cvtm_seed_sites cvtm_sites_of_word(const cvtm_flood *flood, int packed, uint32_t word) {
  if (!packed) return cvtm_sites_of_pixel(flood, cvtm_pixel_of_place(flood, word));
  const int shift = cvtm_word_shift(flood->domain);
  cvtm_seed_pixel pixel;
  pixel.column = (word & 0xFFFFU) >> shift;
  pixel.row = (word >> 16) >> shift;
  return cvtm_sites_of_pixel(flood, pixel);
}

/* Improves *best by the sites of a seed, for the pixel centre (x, y). */
CVTM_HD void cvtm_consider_sites(const cvtm_flood *flood, double x, double y, cvtm_seed_sites sites,
                                 cvtm_nearest *best) {
  if (sites.last - sites.first == 1)
    cvtm_nearest_consider(&flood->tree, flood->metric, x, y, sites.first, best);
  else
    cvtm_search_range(&flood->tree, flood->metric, x, y, sites.first, sites.last, best);
}

/* The word of the seed that holds a site at (x, y). */
CVTM_HD uint32_t cvtm_word_at(const cvtm_flood *flood, int packed, double x, double y) {
  const cvtm_seed_pixel pixel = cvtm_pixel_at(flood->domain, x, y);
  const cvtm_seed_sites sites = cvtm_sites_of_pixel(flood, pixel);
  if (!packed) {
    cvtm_nearest middle = cvtm_nearest_none();
    cvtm_consider_sites(flood, pixel.column + 0.5, pixel.row + 0.5, sites, &middle);
    return (uint32_t)middle.place;
  }
  if (sites.last - sites.first > 1) return cvtm_shared_word(cvtm_word_shift(flood->domain), pixel);
  return cvtm_pack_word(flood, x, y);
}

CVTM_HD uint32_t cvtm_word_of_place(const cvtm_flood *flood, int packed, int64_t place) {
  const double *site = flood->tree.position + 2 * place;
  return cvtm_word_at(flood, packed, site[0], site[1]);
}

/* Makes the pixel of the site at a place a seed, if it is the pixel's first site. */
CVTM_HD void cvtm_seed_place(const cvtm_flood *flood, int packed, int64_t place, uint32_t *words) {
  const cvtm_seed_pixel pixel = cvtm_pixel_of_place(flood, place);
  if (place > 0) {
    const cvtm_seed_pixel before = cvtm_pixel_of_place(flood, place - 1);
    if (before.column == pixel.column && before.row == pixel.row) return;
  }
  words[(int64_t)pixel.row * flood->domain.width + pixel.column] =
      cvtm_word_of_place(flood, packed, place);
}

/* The word of the seed that holds a site, given by the caller's index; for an index that is none,
 * that of the site in the first place. */
CVTM_HD uint32_t cvtm_recall_word(const cvtm_flood *flood, int packed, const double *sites,
                                  int32_t label) {
  if (label < 0 || label >= flood->tree.count) return cvtm_word_of_place(flood, packed, 0);
  double x, y;
  cvtm_canonical_site(flood->metric, sites + 2 * (int64_t)label, &x, &y);
  return cvtm_word_at(flood, packed, x, y);
}

/* 2^23 + the lower or the upper half of a word. */
CVTM_HD float cvtm_biased_half(uint32_t word, int upper) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(__byte_perm(word, 0x4B000000U, upper ? 0x7632 : 0x7610));
#else
  const uint32_t bits = 0x4B000000U | (upper ? word >> 16 : word & 0xFFFFU);
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
#endif
}

/* Where a word's site lies, on the scale. */
CVTM_HD void cvtm_seed_position(const cvtm_flood *flood, int packed, uint32_t word, float *x,
                                float *y) {
  if (packed) {
    *x = cvtm_biased_half(word, 0);
    *y = cvtm_biased_half(word, 1);
  } else if (word != CVTM_NO_SEED) {
    *x = (float)flood->tree.position[2 * (int64_t)word];
    *y = (float)flood->tree.position[2 * (int64_t)word + 1];
  } else {
    *x = *y = HUGE_VALF;
  }
}

/* The distance along one axis, or its negative. */
CVTM_HD float cvtm_flood_gap(float p, float s, int periodic, float period) {
  const float straight = p - s;
  if (!periodic) return straight;
  const float near = fabsf(straight), around = fabsf(period - near);
  return around < near ? around : near;
}

/* The square of the distance along x to a word's site; no seed is infinitely far. */
CVTM_HD float cvtm_flood_square(uint32_t word, float gap) {
  return word == CVTM_NO_SEED ? HUGE_VALF : gap * gap;
}

/* The squared distance. */
CVTM_HD float cvtm_flood_distance2(int packed, float x2, float gap_y) {
  if (!packed) return x2 + gap_y * gap_y;
#ifdef __CUDA_ARCH__
  return __fmaf_rn(gap_y, gap_y, x2);
#else
  return (float)((double)x2 + (double)gap_y * gap_y); /* rounded once, too: whole numbers < 2^36 */
#endif
}

/* Of all that a pixel hears of, the word with the least key is kept: by the squared distance
 * without its last four bits, then by tag. The tag is 4 r + c, with r, c = 0 for the pixel's own
 * row and column, 1 for those before and 2 for those after. */
CVTM_HD uint32_t cvtm_flood_key(float distance2, uint32_t tag) {
#ifdef __CUDA_ARCH__
  uint32_t key; /* (bits & ~15) | tag in one instruction */
  asm("lop3.b32 %0, %1, %2, %3, 0xEA;"
      : "=r"(key)
      : "r"(__float_as_uint(distance2)), "r"(~15U), "r"(tag));
  return key;
#else
  uint32_t bits;
  memcpy(&bits, &distance2, sizeof bits);
  return (bits & ~15U) | tag;
#endif
}

/* i + step where that is in the domain, or brought there on a torus; else i. */
CVTM_HD int cvtm_step_along(int i, int step, int side, int periodic) {
  int k = i + step;
  if (k >= 0 && k < side) return k;
  if (!periodic) return i;
  k %= side;
  return k < 0 ? k + side : k;
}

/* --- the last pass --------------------------------------------------------------------- */

/* The pixels that the last pass hears of: those of a pass, the pixel's own among them, and four at
 * twice the step, which make up for what the rounding of positions has lost. */
enum { CVTM_LAST_HEARD = 13 };

/* Their columns and rows, from the pixel's own. */
CVTM_HD int cvtm_last_column(int k) { return k < 9 ? k % 3 - 1 : k == 9 ? -2 : k == 10 ? 2 : 0; }
CVTM_HD int cvtm_last_row(int k) { return k < 9 ? k / 3 - 1 : k == 11 ? -2 : k == 12 ? 2 : 0; }

/* The least of what a pixel heard that is at least `from`; if there is none, one that is less. */
CVTM_HD uint32_t cvtm_next_heard(const uint32_t *heard, uint32_t from) {
  uint32_t gap = UINT32_MAX;
  for (int k = 0; k < CVTM_LAST_HEARD; ++k) {
    const uint32_t here = heard[k] - from;
    gap = here < gap ? here : gap;
  }
  return from + gap;
}

/* --- the short schedule -------------------------------------------------------------- */

/* The least power of two that is at least `reach`, or CVTM_MAX_SIDE if that is less. */
CVTM_HD int32_t cvtm_covering_step(double reach) {
  int32_t step = 1;
  while (step < CVTM_MAX_SIDE && !(step >= reach)) step *= 2;
  return step;
}

/* Levels of the squares over which empty circles are bounded: about three squares to eight sites.
 */
CVTM_HD int32_t cvtm_circle_levels(const cvtm_flood *flood) {
  return flood->tree.levels > 2 ? flood->tree.levels - 2 : 0;
}

/* No pixel centre in square (column, row), of 2^levels along each axis, is farther from its
 * nearest site than this; 0 outside the domain. */
CVTM_HD double cvtm_empty_radius(const cvtm_flood *flood, int32_t column, int32_t row) {
  const int bits = 32 - cvtm_morton_shift(flood->domain);
  const double side = (double)(1 << bits) / (double)(1 << cvtm_circle_levels(flood));
  const double x0 = side * column, y0 = side * row;
  if (x0 >= flood->domain.width || y0 >= flood->domain.height) return 0;
  const double x1 = x0 + side < flood->domain.width ? x0 + side : flood->domain.width;
  const double y1 = y0 + side < flood->domain.height ? y0 + side : flood->domain.height;
  const double dx = 0.5 * (x1 - x0), dy = 0.5 * (y1 - y0);
  const double nearest2 =
      cvtm_site_tree_nearest(&flood->tree, flood->metric, x0 + dx, y0 + dy).distance2;
  return sqrt(nearest2) + sqrt(dx * dx + dy * dy);
}

#endif

/* Inside jfa only: the phases of jump flooding that differ between devices, and the work on one
 * pixel, written once for both.
 *
 * A seed is a pixel that contains sites. Each pixel stores the 32-bit code of one seed: the
 * position of the seed's site, or the centre of the seed if it has several sites. Positions are in
 * steps of a grid of 2^16 x 2^16 over the smallest square that covers the domain and whose side is
 * a power of two. The lower half of a code is x, the upper half y. So the pixel of the seed and its
 * distance follow from the code, and a pass reads nothing but codes. If a site is not finite or
 * lies outside the domain, no code has its position, and the final pass searches the tree.
 *
 * Passes compare squared distances in float, rounded by cvtm_flood_key in the same way on every
 * device. The final pass replaces codes by labels: it compares, in double, all sites of the
 * candidate seeds. */
#pragma once

#include <string.h>

#include "base/phases.h"
#include "jfa/site_query.h"
#include "jfa/site_tree_kernels.h"

CVTM_C_BEGIN

/* --- exact labels ----------------------------------------------------------------------------- */

/* Every pixel centre gets the index of its nearest site, the lowest index if several are equally
 * near, as a comparison of all sites by cvtm_distance2 would give. */

/* The arguments of the kernels that label pixels: at least one site, and the domain. */
typedef struct cvtm_diagram {
  cvtm_site_tree_view tree;
  cvtm_domain domain;
  cvtm_metric metric;
} cvtm_diagram;

typedef struct cvtm_exact_labels_table {
  /* Labels the pixels of the cells that hull construction can make. Sets the labels of the other
   * pixels to -1, and *unlabelled (device memory) to their number. Needs no boxes of the tree. NULL
   * on the CPU. */
  cvtm_status (*label_cells)(cvtm_device *device, const cvtm_diagram *diagram, int32_t *labels,
                             int32_t *unlabelled);
  /* Labels all pixels if unlabelled is NULL, else the pixels with the label -1, of which there are
   * *unlabelled. Needs the boxes of the tree. */
  cvtm_status (*label_tiles)(cvtm_device *device, const cvtm_diagram *diagram, int32_t *labels,
                             const int32_t *unlabelled);
  /* Replaces labels by the exact labels. Adds to *wrong (device memory) the number of labels whose
   * site was farther away than the nearest site. */
  cvtm_status (*correct)(cvtm_device *device, const cvtm_diagram *diagram, const double *sites,
                         const int32_t *exact, int32_t *labels, uint64_t *wrong);
} cvtm_exact_labels_table;

extern const cvtm_exact_labels_table cvtm_exact_labels_table_cpu, cvtm_exact_labels_table_cuda;

/* --- flooding --------------------------------------------------------------------------------- */

/* A list of phases (base/phases.h). */
#define CVTM_JFA_PHASES(X)                                                                      \
  /* Sets the codes of the seeds. */                                                            \
  X(set_seeds, (cvtm_device * device, const cvtm_diagram *diagram, uint32_t *codes), device,    \
    diagram->tree.count, cvtm_set_seed, CVTM_HOST_STRUCT(diagram), codes)                       \
  /* Sets each pixel's code to the code of the seed in which the labelled site now lies. sites: \
   * the array of the caller. codes and labels may be the same memory. */                       \
  X(warm_start,                                                                                 \
    (cvtm_device * device, const cvtm_diagram *diagram, const double *sites,                    \
     const int32_t *labels, uint32_t *codes),                                                   \
    device, (int64_t)diagram->domain.width * diagram->domain.height, cvtm_set_warm_code,        \
    CVTM_HOST_STRUCT(diagram), sites, labels, codes)

/* Arrays of codes and labels have width * height elements. */
typedef struct cvtm_jfa_table {
  /* Runs one pass, which reads one array of codes and writes the other. */
  cvtm_status (*pass)(cvtm_device *device, const cvtm_diagram *diagram, int step,
                      const uint32_t *from, uint32_t *to);
  /* Runs the last pass, with step 1, which replaces codes by labels. Overwrites the codes. */
  cvtm_status (*final_pass)(cvtm_device *device, const cvtm_diagram *diagram, uint32_t *codes,
                            int32_t *labels);
  CVTM_JFA_PHASES(CVTM_PHASE_FIELD)
} cvtm_jfa_table;

extern const cvtm_jfa_table cvtm_jfa_table_cpu, cvtm_jfa_table_cuda;

CVTM_C_END

/* --- codes ------------------------------------------------------------------------------------ */

#define CVTM_NO_SEED 0xFFFFFFFFU

/* Positions of pixel centres on the grid of codes: the centre of pixel i is at origin + i step. */
typedef struct cvtm_flood_scale {
  float origin, step;
  float period_x, period_y; /* 0: not periodic */
} cvtm_flood_scale;

/* log2 of the number of steps of the grid per pixel. */
CVTM_HD int cvtm_code_shift(cvtm_domain domain) { return cvtm_morton_shift(domain) - 16; }

CVTM_HD cvtm_flood_scale cvtm_flood_scale_of(const cvtm_diagram *diagram) {
  const cvtm_domain domain = diagram->domain;
  const int32_t step = 1 << cvtm_code_shift(domain);
  cvtm_flood_scale scale;
  /* 2^23 is the bias of cvtm_code_position. */
  scale.origin = 8388608.0F + (float)(step / 2);
  scale.step = (float)step;
  scale.period_x = domain.periodic ? (float)domain.width * scale.step : 0;
  scale.period_y = domain.periodic ? (float)domain.height * scale.step : 0;
  return scale;
}

typedef struct cvtm_pixel {
  uint32_t column, row;
} cvtm_pixel;

/* The pixel that contains a position, or the nearest pixel. */
CVTM_HD cvtm_pixel cvtm_pixel_at(cvtm_domain domain, double x, double y) {
  const int shift = cvtm_morton_shift(domain);
  cvtm_pixel pixel;
  pixel.column = (uint32_t)((uint64_t)cvtm_quantize(x, domain.width, shift) >> shift);
  pixel.row = (uint32_t)((uint64_t)cvtm_quantize(y, domain.height, shift) >> shift);
  return pixel;
}

CVTM_HD cvtm_pixel cvtm_pixel_of_slot(const cvtm_diagram *diagram, int64_t slot) {
  const double *site = diagram->tree.position + 2 * slot;
  return cvtm_pixel_at(diagram->domain, site[0], site[1]);
}

/* The number of a pixel along the Morton curve. */
CVTM_HD uint64_t cvtm_pixel_morton(cvtm_pixel pixel) {
  return cvtm_spread_16_bits(pixel.column) | cvtm_spread_16_bits(pixel.row) << 1;
}

/* The code of a seed with several sites: the centre of its pixel. A single site at that position
 * has the same code. */
CVTM_HD uint32_t cvtm_middle_code(int shift, cvtm_pixel pixel) {
  const uint32_t half = 1U << (shift - 1);
  return (pixel.column << shift | (half - 1)) | (pixel.row << shift | half) << 16;
}

/* The code of a seed with one site, which is inside the domain. */
CVTM_HD uint32_t cvtm_site_code(const cvtm_diagram *diagram, double x, double y) {
  const int shift = cvtm_morton_shift(diagram->domain);
  const uint32_t column = cvtm_quantize(x, diagram->domain.width, shift) >> 16;
  const uint32_t row = cvtm_quantize(y, diagram->domain.height, shift) >> 16;
  const cvtm_pixel pixel = {column >> (shift - 16), row >> (shift - 16)};
  const uint32_t code = column | row << 16;
  return code == CVTM_NO_SEED ? cvtm_middle_code(shift - 16, pixel) : code;
}

/* The sites at slots first .. last - 1. */
typedef struct cvtm_seed_sites {
  int32_t first, last;
} cvtm_seed_sites;

/* The first of the slots first .. last - 1 whose pixel has a number along the curve that is not
 * below `morton`; last if there is none. */
CVTM_HD int32_t cvtm_first_slot(const cvtm_diagram *diagram, int32_t first, int32_t last,
                                uint64_t morton) {
  while (first < last) {
    const int32_t middle = first + (last - first) / 2;
    if (cvtm_pixel_morton(cvtm_pixel_of_slot(diagram, middle)) < morton)
      first = middle + 1;
    else
      last = middle;
  }
  return first;
}

CVTM_HD cvtm_seed_sites cvtm_sites_of_pixel(const cvtm_diagram *diagram, cvtm_pixel pixel) {
  const cvtm_site_tree_view *tree = &diagram->tree;
  const uint64_t morton = cvtm_pixel_morton(pixel);
  const int finer = tree->levels - (32 - cvtm_morton_shift(diagram->domain));
  cvtm_seed_sites sites;
  if (finer >= 0) { /* the pixel is 4^finer consecutive bins */
    sites.first = tree->start[morton << 2 * finer];
    sites.last = tree->start[(morton + 1) << 2 * finer];
    return sites;
  }
  const int32_t *start = tree->start + (morton >> -2 * finer);
  sites.first = start[0];
  sites.last = start[1];
  if (sites.last - sites.first == 1) return sites;
  sites.first = cvtm_first_slot(diagram, sites.first, sites.last, morton);
  sites.last = cvtm_first_slot(diagram, sites.first, sites.last, morton + 1);
  return sites;
}

CVTM_HD cvtm_seed_sites cvtm_sites_of_code(const cvtm_diagram *diagram, uint32_t code) {
  const int shift = cvtm_code_shift(diagram->domain);
  cvtm_pixel pixel;
  pixel.column = (code & 0xFFFFU) >> shift;
  pixel.row = (code >> 16) >> shift;
  return cvtm_sites_of_pixel(diagram, pixel);
}

/* Updates *best, the site nearest to (x, y), by the sites of a seed. */
CVTM_HD void cvtm_consider_sites(const cvtm_diagram *diagram, double x, double y,
                                 cvtm_seed_sites sites, cvtm_nearest *best) {
  if (sites.last - sites.first == 1)
    cvtm_nearest_consider(&diagram->tree, diagram->metric, x, y, sites.first, best);
  else
    cvtm_search_range(&diagram->tree, diagram->metric, x, y, sites.first, sites.last, best);
}

/* The code of the seed that contains a site at (x, y). */
CVTM_HD uint32_t cvtm_code_at(const cvtm_diagram *diagram, double x, double y) {
  const cvtm_pixel pixel = cvtm_pixel_at(diagram->domain, x, y);
  const cvtm_seed_sites sites = cvtm_sites_of_pixel(diagram, pixel);
  if (sites.last - sites.first > 1)
    return cvtm_middle_code(cvtm_code_shift(diagram->domain), pixel);
  return cvtm_site_code(diagram, x, y);
}

CVTM_HD uint32_t cvtm_code_of_slot(const cvtm_diagram *diagram, int64_t slot) {
  const double *site = diagram->tree.position + 2 * slot;
  return cvtm_code_at(diagram, site[0], site[1]);
}

/* Sets the code of the seed that contains the site at a slot, if that is the seed's first site. */
CVTM_HD void cvtm_set_seed(const cvtm_diagram *diagram, uint32_t *codes, int64_t slot) {
  const cvtm_pixel pixel = cvtm_pixel_of_slot(diagram, slot);
  if (slot > 0) {
    const cvtm_pixel before = cvtm_pixel_of_slot(diagram, slot - 1);
    if (before.column == pixel.column && before.row == pixel.row) return;
  }
  codes[(int64_t)pixel.row * diagram->domain.width + pixel.column] =
      cvtm_code_of_slot(diagram, slot);
}

/* Sets the code of pixel p to the code of the seed in which the site of its old label now lies. A
 * label that is not the index of a site stands for the site at slot 0. */
CVTM_HD void cvtm_set_warm_code(const cvtm_diagram *diagram, const double *sites,
                                const int32_t *labels, uint32_t *codes, int64_t p) {
  const int32_t label = labels[p];
  double x, y;
  if (label < 0 || label >= diagram->tree.count) {
    codes[p] = cvtm_code_of_slot(diagram, 0);
    return;
  }
  cvtm_canonical_site(diagram->metric, sites + 2 * (int64_t)label, &x, &y);
  codes[p] = cvtm_code_at(diagram, x, y);
}

/* --- a pass ----------------------------------------------------------------------------------- */

/* 2^23 + half, exactly: the last bit of a float of that size has the value 1. */
CVTM_HD float cvtm_biased_float(uint32_t half) {
  const uint32_t bits = 0x4B000000U | half;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* The position of a code on the scale. CVTM_NO_SEED gives some position; cvtm_flood_x2 makes its
 * distance infinite. */
CVTM_HD void cvtm_code_position(uint32_t code, float *x, float *y) {
  *x = cvtm_biased_float(code & 0xFFFFU);
  *y = cvtm_biased_float(code >> 16);
}

/* The difference of two coordinates, with any sign; on a torus to the nearest image. */
CVTM_HD float cvtm_flood_difference(float p, float s, int periodic, float period) {
  const float straight = p - s;
  if (!periodic) return straight;
  const float near = fabsf(straight), around = fabsf(period - near);
  return around < near ? around : near;
}

/* The square of the difference along x; infinite without a seed. */
CVTM_HD float cvtm_flood_x2(uint32_t code, float dx) {
  return code == CVTM_NO_SEED ? HUGE_VALF : dx * dx;
}

CVTM_HD float cvtm_flood_distance2(float x2, float dy) {
#ifdef __CUDA_ARCH__
  return __fmaf_rn(dy, dy, x2);
#else
  return (float)((double)x2 + (double)dy * dy); /* rounds once: integers < 2^36 */
#endif
}

/* A pixel keeps the candidate with the least key. Keys are in the order of the squared distances
 * without their last four bits, and then in the order of the tags. A tag is 4 r + c: r and c are 0
 * in the row and column of the pixel, 1 in the row or column `step` before, and 2 in the row or
 * column `step` after. */
CVTM_HD uint32_t cvtm_flood_key(float distance2, uint32_t tag) {
  uint32_t bits;
  memcpy(&bits, &distance2, sizeof bits);
  return (bits & ~15U) | tag;
}

/* i + step, on a torus wrapped into the domain; i if i + step is outside the domain. */
CVTM_HD int cvtm_step_along(int i, int step, int side, int periodic) {
  int k = i + step;
  if (k >= 0 && k < side) return k;
  if (!periodic) return i;
  k %= side;
  return k < 0 ? k + side : k;
}

/* --- the final pass ----------------------------------------------------------------------- *
 * First every code except CVTM_NO_SEED is replaced by the slot of its seed's first site, plus
 * CVTM_SEVERAL_SITES if the seed has more. Then every pixel takes the nearest site of its
 * candidates. */

#define CVTM_SEVERAL_SITES 0x80000000U

CVTM_HD uint32_t cvtm_slot_of_code(const cvtm_diagram *diagram, uint32_t code) {
  if (code == CVTM_NO_SEED) return code;
  const cvtm_seed_sites sites = cvtm_sites_of_code(diagram, code);
  return (uint32_t)sites.first | (sites.last - sites.first == 1 ? 0 : CVTM_SEVERAL_SITES);
}

/* Updates *best by all sites of a seed. slot: the result of cvtm_slot_of_code. */
CVTM_HD void cvtm_consider_seed(const cvtm_diagram *diagram, int i, int j, uint32_t slot,
                                cvtm_nearest *best) {
  const double x = i + 0.5, y = j + 0.5;
  if (slot < CVTM_SEVERAL_SITES) {
    cvtm_nearest_consider(&diagram->tree, diagram->metric, x, y, slot, best);
    return;
  }
  const cvtm_pixel pixel = cvtm_pixel_of_slot(diagram, slot & ~CVTM_SEVERAL_SITES);
  cvtm_consider_sites(diagram, x, y, cvtm_sites_of_pixel(diagram, pixel), best);
}

/* The candidates of the final pass: the nine of a pass with step 1, and four at a distance of two
 * pixels, which make up for the rounding of positions. */
enum { CVTM_FINAL_CANDIDATES = 13 };

/* The offsets of candidate k from the pixel. */
CVTM_HD int cvtm_final_column(int k) { return k < 9 ? k % 3 - 1 : k == 9 ? -2 : k == 10 ? 2 : 0; }
CVTM_HD int cvtm_final_row(int k) { return k < 9 ? k / 3 - 1 : k == 11 ? -2 : k == 12 ? 2 : 0; }

/* The least candidate that is at least `from`; if there is none, a candidate below `from`. */
CVTM_HD uint32_t cvtm_next_candidate(const uint32_t *candidate, uint32_t from) {
  uint32_t gap = UINT32_MAX;
  for (int k = 0; k < CVTM_FINAL_CANDIDATES; ++k) {
    const uint32_t here = candidate[k] - from;
    gap = here < gap ? here : gap;
  }
  return from + gap;
}

/* True if all sites are in the domain. */
CVTM_HD int cvtm_holds_sites(const cvtm_diagram *diagram) {
  const double *root = diagram->tree.box + 4; /* the box of all sites */
  return root[0] >= 0 && root[1] >= 0 && root[2] <= diagram->domain.width &&
         root[3] <= diagram->domain.height;
}

/* The label of pixel (i, j); -1 if no site is at a finite distance. */
CVTM_HD int32_t cvtm_final_label(const cvtm_diagram *diagram, int i, int j, const uint32_t *slots) {
  if (!cvtm_holds_sites(diagram)) {
    const cvtm_nearest nearest =
        cvtm_site_tree_nearest(&diagram->tree, diagram->metric, i + 0.5, j + 0.5);
    return nearest.slot >= 0 ? nearest.index : -1;
  }
  const cvtm_domain domain = diagram->domain;
  uint32_t candidate[CVTM_FINAL_CANDIDATES];
  int differ = 0;
  for (int k = 0; k < CVTM_FINAL_CANDIDATES; ++k) {
    const int column = cvtm_step_along(i, cvtm_final_column(k), domain.width, domain.periodic);
    const int row = cvtm_step_along(j, cvtm_final_row(k), domain.height, domain.periodic);
    candidate[k] = slots[(int64_t)row * domain.width + column];
    differ |= candidate[k] != candidate[0];
  }
  if (!differ && candidate[0] < CVTM_SEVERAL_SITES) return diagram->tree.index[candidate[0]];
  cvtm_nearest best = cvtm_nearest_none();
  for (uint32_t from = 0;;) {
    const uint32_t slot = cvtm_next_candidate(candidate, from);
    if (slot < from || slot == CVTM_NO_SEED) break;
    cvtm_consider_seed(diagram, i, j, slot, &best);
    from = slot + 1;
  }
  return best.slot >= 0 ? best.index : -1;
}

/* --- exact labels ----------------------------------------------------------------------------- */

/* The squared distance from the centre of pixel (i, j) to the site of its label; infinite for a
 * label that is not the index of a site. */
CVTM_HD double cvtm_label_distance2(const cvtm_diagram *diagram, const double *sites, int i, int j,
                                    int32_t label) {
  if (label < 0 || label >= diagram->tree.count) return HUGE_VAL;
  double x, y;
  cvtm_canonical_site(diagram->metric, sites + 2 * (int64_t)label, &x, &y);
  return cvtm_distance2(diagram->metric, i + 0.5, j + 0.5, x, y);
}

/* The pixels [x, x + width) x [y, y + height). */
typedef struct cvtm_tile {
  int x, y, width, height;
} cvtm_tile;

CVTM_HD double cvtm_tile_center_x(cvtm_tile tile) { return tile.x + 0.5 * tile.width; }
CVTM_HD double cvtm_tile_center_y(cvtm_tile tile) { return tile.y + 0.5 * tile.height; }

/* The squared distance from the tile's centre beyond which no site is nearest to a pixel centre of
 * the tile. nearest2: the squared distance from the tile's centre to its nearest site. A pixel
 * centre is at most r from the tile's centre, so its nearest site is at most sqrt(nearest2) + 2 r
 * from the tile's centre. The factor covers rounding. */
CVTM_HD double cvtm_tile_reach2(cvtm_tile tile, double nearest2) {
  const double dx = 0.5 * (tile.width - 1), dy = 0.5 * (tile.height - 1);
  const double reach = sqrt(nearest2) + 2 * sqrt(dx * dx + dy * dy);
  return reach * reach * (1 + 1e-12);
}

/* True if the site at a slot coincides with the site at the slot before. The site at a slot is then
 * the nearest site of no pixel, since the site before has the lower index. */
CVTM_HD int cvtm_is_duplicate(const cvtm_site_tree_view *tree, int64_t slot) {
  return slot > 0 && tree->position[2 * slot] == tree->position[2 * slot - 2] &&
         tree->position[2 * slot + 1] == tree->position[2 * slot - 1];
}

/* Inside pull.h only: finds the sites near a tile of pixels and, for each pixel, its base and the
 * sites whose cells may meet the pixel. A tile with too many sites for the memory is divided into
 * parts. Compiles as C11 and inside CUDA kernels. */
#pragma once

#include "jfa/cell_lanes.h"
#include "jfa/site_query.h"

#include <string.h>

enum {
  CVTM_PULL_SHIFT = 5, /* log2 of the width of a tile, in pixels */
  CVTM_PULL_WIDTH = 1 << CVTM_PULL_SHIFT,
  CVTM_PULL_HEIGHT = 16,                  /* pixels */
  CVTM_PULL_LEVELS = 4,                   /* how often a part is divided in four, at most */
  CVTM_PULL_SITES = 96,                   /* sites near a part of a tile, at most */
  CVTM_PULL_WORDS = CVTM_PULL_SITES / 32, /* 32-bit words of a set of sites, one bit per site */
  CVTM_PULL_BLOCK_SHIFT = 3,              /* log2 of the sides of a block, in pixels */
  CVTM_PULL_BLOCK = 1 << CVTM_PULL_BLOCK_SHIFT,
  CVTM_PULL_BLOCKS_OF_TILE = CVTM_PULL_WIDTH / CVTM_PULL_BLOCK * CVTM_PULL_HEIGHT / CVTM_PULL_BLOCK,
  CVTM_PULL_SHARED = 128, /* added to the base of a pixel that other cells may meet */
  CVTM_PULL_CELLS = 32,   /* cells that may meet a pixel, at most */
  CVTM_PULL_VISITS = 4096 /* sites that a lane visits in one search, at most */
};

/* The polynomial a + b . x + c |x|^2. */
typedef struct cvtm_pull_polynomial {
  double a, bx, by, c;
} cvtm_pull_polynomial;

/* The sites near a part of a tile, in memory that the lanes share. Positions are relative to the
 * centre of the part. */
typedef struct cvtm_pull_near {
  double x[CVTM_PULL_SITES], y[CVTM_PULL_SITES];
  cvtm_pull_polynomial phi[CVTM_PULL_SITES]; /* with the site as the origin */
  float fx[CVTM_PULL_SITES], fy[CVTM_PULL_SITES];
  int32_t slot[CVTM_PULL_SITES];
  uint32_t of_block[CVTM_PULL_BLOCKS_OF_TILE][CVTM_PULL_WORDS]; /* sets of sites, by block */
  uint8_t base[CVTM_PULL_WIDTH * CVTM_PULL_HEIGHT]; /* the base of each pixel, plus CVTM_PULL_SHARED
                                                       if other cells may meet the pixel */
  uint16_t listed[CVTM_PULL_WIDTH * CVTM_PULL_HEIGHT]; /* pixels that may meet several cells */
  int32_t count;
} cvtm_pull_near;

/* A part of a tile, and the lanes that compute it. */
typedef struct cvtm_pull_part {
  cvtm_domain domain;
  cvtm_lanes lanes;
  int32_t column, row, width, height;
  int32_t shift; /* log2 of the width of the part */
  cvtm_pull_near *near;
} cvtm_pull_part;

/* --- the sites near a part -------------------------------------------------------------------- */

/* Returns the estimated distance between neighbouring sites around a point. */
CVTM_HD double cvtm_pull_spacing(const cvtm_site_tree_view *tree, cvtm_domain domain, double x,
                                 double y) {
  const cvtm_bin_level bins = cvtm_bin_level_for(tree, domain, 0);
  int32_t first, last;
  cvtm_bin_sites(tree, bins.level, cvtm_bin_coordinate(&bins, x, domain.width),
                 cvtm_bin_coordinate(&bins, y, domain.height), &first, &last);
  const double spacing = (double)tree->spacing[first < tree->count ? first : tree->count - 1];
  return spacing > 0 ? spacing : 0;
}

/* Adds the site at a slot if it is within `reach` of the part, and updates *count, the number of
 * added sites, which is the same in all lanes. All lanes must call; lanes without a site pass a
 * negative slot. */
CVTM_HD void cvtm_pull_add(const cvtm_pull_part *part, const cvtm_site_tree_view *tree,
                           int32_t slot, double reach, int32_t *count) {
  cvtm_pull_near *near = part->near;
  double x = 0, y = 0;
  int keep = 0;
  if (slot >= 0) {
    cvtm_tree_position(tree, slot, &x, &y);
    x -= part->column + 0.5 * part->width;
    y -= part->row + 0.5 * part->height;
    const double dx = fmax(fabs(x) - 0.5 * part->width, 0);
    const double dy = fmax(fabs(y) - 0.5 * part->height, 0);
    keep = dx * dx + dy * dy <= reach * reach;
  }
  const int32_t at = cvtm_lanes_number(part->lanes, keep, count);
  if (!keep || at >= CVTM_PULL_SITES) return;
  near->x[at] = x;
  near->y[at] = y;
  near->fx[at] = (float)x;
  near->fy[at] = (float)y;
  near->slot[at] = slot;
}

/* Gathers the sites within `reach` of the part in part->near. If there are more than
 * CVTM_PULL_SITES, it keeps that many, and part->near->count is larger. Returns 0 if a lane would
 * visit more than CVTM_PULL_VISITS sites. */
CVTM_HD int cvtm_pull_gather(const cvtm_pull_part *part, const cvtm_site_tree_view *tree,
                             double reach) {
  const cvtm_domain domain = part->domain;
  const cvtm_bin_level bins =
      cvtm_bin_level_for(tree, domain, fmax(reach, (double)CVTM_PULL_HEIGHT));
  const int32_t x0 = cvtm_bin_coordinate(&bins, part->column - reach, domain.width);
  const int32_t x1 = cvtm_bin_coordinate(&bins, part->column + part->width + reach, domain.width);
  const int32_t y0 = cvtm_bin_coordinate(&bins, part->row - reach, domain.height);
  const int32_t y1 = cvtm_bin_coordinate(&bins, part->row + part->height + reach, domain.height);
  const int32_t across = x1 - x0 + 1, bin_count = across * (y1 - y0 + 1);
  const int32_t lane = part->lanes.lane;
  int32_t visits = 0, count = 0;
  cvtm_lanes_sync();
  for (int32_t bin = lane; bin - lane < bin_count && count <= CVTM_PULL_SITES;
       bin += part->lanes.count) {
    int32_t first = 0, last = 0;
    if (bin < bin_count)
      cvtm_bin_sites(tree, bins.level, x0 + bin % across, y0 + bin / across, &first, &last);
    const int32_t most = cvtm_lanes_most(last - first);
    if ((visits += most) > CVTM_PULL_VISITS) return 0;
    for (int32_t k = 0; k < most; ++k)
      cvtm_pull_add(part, tree, k < last - first ? first + k : -1, reach, &count);
  }
  part->near->count = count;
  cvtm_lanes_sync();
  return 1;
}

CVTM_HD int cvtm_pull_is_inside(const cvtm_pull_part *part, int32_t pixel) {
  return (pixel & (part->width - 1)) < part->domain.width - part->column &&
         pixel >> part->shift < part->domain.height - part->row;
}

/* The centre of a pixel, relative to the centre of the part. */
CVTM_HD float cvtm_pull_x(const cvtm_pull_part *part, int32_t pixel) {
  return (float)(pixel & (part->width - 1)) + 0.5F * (float)(1 - part->width);
}
CVTM_HD float cvtm_pull_y(const cvtm_pull_part *part, int32_t pixel) {
  return (float)(pixel >> part->shift) + 0.5F * (float)(1 - part->height);
}

/* log2 of the width of a block, in pixels. A part narrower than CVTM_PULL_BLOCK is one block
 * wide. */
CVTM_HD int32_t cvtm_pull_block_shift(const cvtm_pull_part *part) {
  return part->shift < CVTM_PULL_BLOCK_SHIFT ? part->shift : CVTM_PULL_BLOCK_SHIFT;
}
CVTM_HD int32_t cvtm_pull_block_height(const cvtm_pull_part *part) {
  return part->height < CVTM_PULL_BLOCK ? part->height : CVTM_PULL_BLOCK;
}
CVTM_HD int32_t cvtm_pull_block_of(const cvtm_pull_part *part, int32_t pixel) {
  const int32_t column = (pixel & (part->width - 1)) >> CVTM_PULL_BLOCK_SHIFT;
  const int32_t row = pixel >> part->shift >> CVTM_PULL_BLOCK_SHIFT;
  return column + (row << (part->shift - cvtm_pull_block_shift(part)));
}

CVTM_HD float cvtm_pull_distance2(const cvtm_pull_near *near, int32_t k, float x, float y) {
  const float dx = near->fx[k] - x, dy = near->fy[k] - y;
  return CVTM_FMAF(dx, dx, dy * dy);
}

/* True unless the bisector of sites k and `base` separates the cell of site k from the rectangle of
 * w x h pixels with the centre (x, y). base2: the squared distance of site `base` from that centre.
 * Rounding errors make the result true, not false. */
CVTM_HD int cvtm_pull_may_share(const cvtm_pull_near *near, int32_t k, int32_t base, float base2,
                                float x, float y, float w, float h) {
  const float far2 =
      CVTM_FMAF(cvtm_pull_distance2(near, k, x, y), 1 - 2e-6F, -CVTM_FMAF(base2, 1 + 2e-6F, 3e-4F));
  return far2 <=
         CVTM_FMAF(w, fabsf(near->fx[k] - near->fx[base]), h * fabsf(near->fy[k] - near->fy[base]));
}

/* Returns the bits of a number >= 0 as an integer. The integers have the same order as the
 * numbers. */
CVTM_HD int32_t cvtm_pull_bits(float number) {
  int32_t bits;
  memcpy(&bits, &number, sizeof bits);
  return bits;
}

/* Selects the sites for the block with the centre (x, y): those whose cells are not separated from
 * the block by the bisector with the site nearest to the centre. */
CVTM_HD void cvtm_pull_choose(const cvtm_pull_part *part, int32_t block, float x, float y) {
  cvtm_pull_near *near = part->near;
  const int32_t lane = part->lanes.lane, lanes = part->lanes.count;
  const int32_t count = near->count < CVTM_PULL_SITES ? near->count : CVTM_PULL_SITES;
  const float w = (float)(1 << cvtm_pull_block_shift(part));
  const float h = (float)cvtm_pull_block_height(part);
  int32_t best = INT32_MIN; /* minus (the squared distance, with k in the last 7 bits) */
  for (int32_t k = lane; k < count; k += lanes) {
    const int32_t key = -((cvtm_pull_bits(cvtm_pull_distance2(near, k, x, y)) & ~127) + k);
    best = key > best ? key : best;
  }
  const int32_t base = -cvtm_lanes_most(best) & 127;
  const float base2 = cvtm_pull_distance2(near, base, x, y);
  for (int32_t word = 0; word < CVTM_PULL_WORDS; ++word) {
    uint32_t sites = 0;
    for (int32_t bit = 0; bit < 32 && 32 * word + bit < count; bit += lanes) {
      const int32_t k = 32 * word + bit + lane;
      const int may = k < count && cvtm_pull_may_share(near, k, base, base2, x, y, w, h);
      sites |= cvtm_lanes_vote(part->lanes, may) << bit;
    }
    if (lane == 0) near->of_block[block][word] = sites;
  }
  cvtm_lanes_sync();
}

/* Sets the bases of a pixel and of the pixel `down` rows below. Adds CVTM_PULL_SHARED if another
 * site is less than sqrt(2) farther away than the base: otherwise the whole pixel is nearer to
 * the base. Returns the larger of the squared distances of both pixels from their bases. */
CVTM_HD float cvtm_pull_set_two_bases(const cvtm_pull_part *part, int32_t pixel, int32_t down) {
  cvtm_pull_near *near = part->near;
  const uint32_t *sites = near->of_block[cvtm_pull_block_of(part, pixel)];
  const float x = cvtm_pull_x(part, pixel), y = cvtm_pull_y(part, pixel);
  float nearest[2] = {HUGE_VALF, HUGE_VALF}, second[2] = {HUGE_VALF, HUGE_VALF}, farthest = 0;
  int32_t base[2] = {0, 0};
  for (int32_t word = 0; word < CVTM_PULL_WORDS; ++word)
    for (uint32_t left = sites[word]; left != 0; left &= left - 1) {
      const int32_t k = 32 * word + cvtm_lowest_bit(left);
      const float dx = near->fx[k] - x, fy = near->fy[k], dx2 = dx * dx;
      for (int32_t q = 0; q < 2; ++q) {
        const float dy = fy - (y + (float)(q * down)), d2 = CVTM_FMAF(dy, dy, dx2);
        second[q] = fminf(second[q], fmaxf(nearest[q], d2));
        base[q] = d2 < nearest[q] ? k : base[q];
        nearest[q] = fminf(nearest[q], d2);
      }
    }
  for (int32_t q = 0; q < 2; ++q) {
    const int32_t at = pixel + (q * down << part->shift);
    const float least = (sqrtf(nearest[q]) + 1.4143F) * 1.00001F;
    near->base[at] = (uint8_t)(base[q] + (second[q] > least * least ? 0 : CVTM_PULL_SHARED));
    if (cvtm_pull_is_inside(part, at)) farthest = fmaxf(farthest, nearest[q]);
  }
  return farthest;
}

/* Sets the bases of all pixels to the nearest gathered sites. Returns a distance from the part
 * beyond which no site can have a share of a pixel of the part. */
CVTM_HD double cvtm_pull_set_bases(const cvtm_pull_part *part) {
  const int32_t shift = cvtm_pull_block_shift(part), height = cvtm_pull_block_height(part);
  const int32_t width = 1 << shift, down = height / 2, half = height > 1 ? down : 1;
  float farthest = 0;
  for (int32_t row = 0; row < part->height; row += height)
    for (int32_t column = 0; column < part->width; column += width) {
      const int32_t first = (row << part->shift) + column;
      if (!cvtm_pull_is_inside(part, first)) continue;
      cvtm_pull_choose(part, cvtm_pull_block_of(part, first),
                       cvtm_pull_x(part, first) + 0.5F * (float)(width - 1),
                       cvtm_pull_y(part, first) + 0.5F * (float)(height - 1));
      for (int32_t k = part->lanes.lane; k < width * half; k += part->lanes.count) {
        const int32_t pixel = first + (k >> shift << part->shift) + (k & (width - 1));
        farthest = fmaxf(farthest, cvtm_pull_set_two_bases(part, pixel, down));
      }
    }
  const double most = cvtm_lanes_largest(part->lanes, (double)farthest);
  return (sqrt(most) + 0.7072) * 1.00001;
}

/* Gathers all sites that can have a share of the pixels of the part, and sets the bases. Returns 0
 * if there are too many sites. */
CVTM_HD int cvtm_pull_prepare(const cvtm_pull_part *part, const cvtm_site_tree_view *tree,
                              const double *phi) {
  const double farthest = 4e9; /* larger than any distance of a site from a pixel */
  double reach = 1.5 + 0.9 * cvtm_pull_spacing(tree, part->domain, part->column + 0.5 * part->width,
                                               part->row + 0.5 * part->height);
  while (reach < farthest) {
    if (!cvtm_pull_gather(part, tree, reach)) return 0;
    const int crowded = part->near->count > CVTM_PULL_SITES;
    if (part->near->count == 0) {
      reach *= 2;
      continue;
    }
    const double needed = cvtm_pull_set_bases(part);
    cvtm_lanes_sync();
    if (!crowded && needed <= reach) break;
    if (crowded && !(needed < 0.9 * reach)) return 0;
    reach = needed;
  }
  if (!(reach < farthest)) return 0;
  for (int32_t k = part->lanes.lane; k < part->near->count; k += part->lanes.count) {
    const double *own = phi + 4 * (int64_t)tree->index[part->near->slot[k]];
    const cvtm_pull_polynomial p = {own[0], own[1], own[2], own[3]};
    part->near->phi[k] = p;
  }
  cvtm_lanes_sync();
  return 1;
}

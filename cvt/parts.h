/* Inside cvt and bench: an evaluation of the exact diagram whose sites are divided among ranks
 * (base/ranks.h).
 * Each rank has consecutive sites, and cuts out their cells from a site tree of these and of those
 * of other ranks around them, which it gets before every evaluation. The tree has the bins of the
 * tree of all sites, so that a cell has the same bits for any number of ranks.
 *
 * What a rank gets are the sites of the coarse bins (cvtm_tree_cover) that hold own sites or are
 * beside such bins. Where a search needs the sites of another bin, the evaluation is repeated with
 * that bin, too; so no cell is wrong however uneven the sites lie. The bins found so serve the
 * evaluations after it, too. Memory and time are proportional to the rank's own sites where these
 * lie together in the plane. */
#ifndef CVTMESH_CVT_PARTS_H
#define CVTMESH_CVT_PARTS_H

#include "base/ranks.h"
#include "cvt/evaluate_kernels.h"
#include "jfa/site_tree_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Pointers are to the device's memory unless said otherwise. */
typedef struct cvtm_parts {
  cvtm_device *device;
  const struct cvtm_parts_table *table;
  cvtm_domain domain;
  const float *density; /* width * height, borrowed */
  int rank, size;
  int64_t count, block; /* of all ranks: sites, and those of a block of sums */
  int64_t blocks;       /* their number */
  int64_t *first_block; /* on the host, size + 1: rank r has the blocks from first_block[r] on */
  int64_t first, own;   /* this rank has the sites first .. first + own - 1 */
  int64_t low, near;    /* sites of lower ranks around; sites around and own */
  int tree_clipping;    /* for tests: that of the plan */
  int64_t repeats;      /* evaluations that were repeated with more sites around */
  cvtm_cvt *plan;       /* of the sites around and own, in order of their numbers; or NULL */
  double seconds;       /* for the own cells in the last evaluation */
  /* Bits of the coarse bins, `words` 32-bit words for each. */
  int64_t words;
  uint32_t *marked;  /* that hold own sites */
  uint32_t *kept;    /* that searches have asked for */
  uint32_t *covered; /* of each rank in turn: whose sites it gets */
  uint32_t *missed;
  cvtm_tree_cover *cover;
  /* Of the sites that other ranks get: in each piece of CVTM_PARTS_PIECE own ones, by destination;
   * their sums; and the sites. */
  int64_t pieces;
  int32_t *counts;
  int64_t *offsets;
  double *sent;
  void *workspace; /* of the sums */
  size_t workspace_bytes;
  double *partial; /* of each CVTM_PARTS_PIECE sites of the own blocks: energy, distance */
  double *sums;    /* the same of all blocks */
  /* On the host: */
  int64_t *matrix;    /* size * size: numbers that go from each rank to each */
  int64_t *gathered;  /* size: scratch */
  int64_t *room;      /* size x 2: of each rank, sites that `plan` and `sent` have room for */
  double *matrix_row; /* size * size: scratch */
  double *staging;    /* as large as covered or sums; NULL on a CPU */
} cvtm_parts;

enum { CVTM_PARTS_PIECE = 1024 };

cvtm_status cvtm_parts_create(cvtm_device *device, cvtm_domain domain, const float *density,
                              cvtm_parts **parts);
void cvtm_parts_destroy(cvtm_parts *parts);
/* Divides `count` sites in blocks of `block`, which may be any number up to CVTM_PARTS_PIECE or a
 * multiple of it. Forgets what earlier searches have asked for. */
cvtm_status cvtm_parts_divide(cvtm_parts *parts, int64_t count, int64_t block);
/* The first site of a rank; of rank `size`, the number of all. */
int64_t cvtm_parts_first(const cvtm_parts *parts, int rank);
/* Collective: the moments of the cells of this rank's sites (2 * own, in the device's memory),
 * which are then at cvtm_parts_moments. */
cvtm_status cvtm_parts_evaluate(cvtm_parts *parts, const double *sites);
cvtm_cell_moments *cvtm_parts_moments(const cvtm_parts *parts);
/* From these: sums[2 b] = the energy of own block b, sums[2 b + 1] = the largest distance of a site
 * to its centroid (not of the first `fixed` of all sites), and the gradient (2 * own) unless that
 * is NULL. */
cvtm_status cvtm_parts_finish(cvtm_parts *parts, int64_t fixed, double *sums, double *gradient);
/* Collective: cvtm_parts_finish, then value[0] = the energy, value[1] = the largest distance. */
cvtm_status cvtm_parts_total(cvtm_parts *parts, int64_t fixed, double *value, double *gradient);

/* A job of cvtm_parts_table.finish: blocks of sums over the sites of a rank. */
typedef struct cvtm_parts_sums {
  const cvtm_cell_moments *moments; /* own */
  int64_t first, own, fixed, block;
  double *partial, *sums, *gradient;
} cvtm_parts_sums;

/* What differs between devices. */
typedef struct cvtm_parts_table {
  /* marked = the coarse bins of the own sites; covered, this rank's: those, the bins around them
   * and the kept ones. */
  cvtm_status (*cover)(const cvtm_parts *parts, const double *sites, uint32_t *covered);
  /* counts[q * pieces + p] = the sites of piece p in the bins that rank q covers. */
  cvtm_status (*count)(const cvtm_parts *parts, const double *sites);
  /* Writes these sites, in order, from offsets[q * pieces + p] on. */
  cvtm_status (*write)(const cvtm_parts *parts, const double *sites);
  cvtm_status (*finish)(cvtm_device *device, const cvtm_parts_sums *sums);
  /* value from the sums of all blocks. */
  cvtm_status (*total)(cvtm_device *device, const double *sums, int64_t blocks, double *value);
} cvtm_parts_table;

extern const cvtm_parts_table cvtm_parts_cpu, cvtm_parts_cuda;

#ifdef __cplusplus
}
#endif

/* The coarse bin of a site. */
CVTM_HD int32_t cvtm_parts_bin(cvtm_domain domain, int32_t coarse, const double *site) {
  double x, y;
  cvtm_canonical_site(cvtm_metric_of(domain), site, &x, &y);
  return coarse == 0 ? 0 : (int32_t)(cvtm_morton_code(domain, x, y) >> (64 - 2 * coarse));
}

CVTM_HD int cvtm_parts_has(const uint32_t *bits, int32_t bin) {
  return (int)(bits[bin / 32] >> bin % 32 & 1);
}

/* The coarse bin beside `bin`, -1 .. 1 columns and rows away; -1: there is none. */
CVTM_HD int32_t cvtm_parts_beside(cvtm_domain domain, int32_t coarse, int32_t bin, int32_t columns,
                                  int32_t rows) {
  const int shift = cvtm_morton_shift(domain);
  if (coarse == 0) return columns == 0 && rows == 0 ? 0 : -1;
  const int32_t across = (int32_t)((((uint64_t)domain.width << shift) - 1) >> (32 - coarse)) + 1;
  const int32_t down = (int32_t)((((uint64_t)domain.height << shift) - 1) >> (32 - coarse)) + 1;
  int32_t x = (int32_t)cvtm_even_bits((uint64_t)bin) + columns;
  int32_t y = (int32_t)cvtm_even_bits((uint64_t)bin >> 1) + rows;
  if (domain.periodic) {
    x = (x + across) % across;
    y = (y + down) % down;
  }
  if (x < 0 || y < 0 || x >= across || y >= down) return -1;
  return (int32_t)(cvtm_spread_16_bits((uint32_t)x) | cvtm_spread_16_bits((uint32_t)y) << 1);
}

#endif

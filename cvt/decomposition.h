/* Inside cvt and bench: domain decomposition. The sites of a descent are divided among ranks
 * (base/ranks.h). Each rank evaluates and moves its own sites.
 *
 * Between descents and evaluations every rank has all sites, in the caller's order. For a descent
 * the sites are renumbered: fixed sites first, then the others, both in the order of the site tree,
 * so that consecutive sites are close together in the plane. They are divided into blocks of equal
 * size. The subdomain of a rank consists of consecutive blocks; the rank has the state of the
 * descent for their sites, its own sites. Sums are formed by blocks, so the bits do not depend on
 * the number of ranks.
 *
 * A rank computes the cells of its own sites from a site tree of own and ghost sites. Ghost sites
 * are the sites of other ranks in the coarse bins (cvtm_tree_cover) that contain own sites, and in
 * the coarse bins beside those. The rank receives its ghost sites before every evaluation. The tree
 * has the bins of the tree of all sites, so that a cell has the same bits for any number of ranks.
 * If a search needs the sites of another bin, the evaluation is repeated with that bin, which later
 * evaluations keep. So all cells are right, however uneven the sites are. Memory and time are
 * proportional to the number of the rank's own sites, if these are close together in the plane. */
#pragma once

#include "base/host.h"
#include "base/phases.h"
#include "base/ranks.h"
#include "cvt/descent.h"
#include "jfa/site_tree_kernels.h"

CVTM_C_BEGIN

/* Pointers are to device memory unless stated otherwise. */
typedef struct cvtm_subdomain {
  cvtm_device *device;
  const struct cvtm_subdomain_table *table;
  cvtm_domain domain;
  const float *density; /* width * height, borrowed */
  int rank, size;
  int64_t count; /* number of sites of all ranks */
  int64_t block; /* number of sites in a block of sums */
  int64_t blocks;
  int64_t *first_block;  /* on the host, size + 1: first_block[r] is the first block of rank r */
  int64_t first, own;    /* sites first .. first + own - 1 belong to this rank */
  int64_t ghosts_before; /* ghost sites of lower ranks, which precede the own sites in `plan` */
  int64_t local;         /* number of own and ghost sites */
  int tree_clipping;     /* for tests: copied to the plan's member */
  int64_t repeats;       /* evaluations that were repeated with more bins */
  cvtm_cvt *plan;        /* plan of own and ghost sites, in the order of their indices; or NULL */
  double seconds;        /* time of the own cells in the last evaluation */
  /* Sets of coarse bins, one bit per bin, in `words` 32-bit words: */
  int64_t words;
  uint32_t *marked;  /* bins that contain own sites */
  uint32_t *kept;    /* bins that searches have needed */
  uint32_t *covered; /* for each rank in turn: bins whose sites the rank receives */
  uint32_t *missed;  /* nonzero: a search needed the sites of another bin */
  cvtm_tree_cover *cover;
  /* Own sites that are sent to other ranks, by destination and by piece of CVTM_SUBDOMAIN_PIECE own
   * sites: */
  int64_t pieces;
  int32_t *counts;  /* number of sites by destination and piece */
  int64_t *offsets; /* prefix sums of `counts` */
  double *sent;     /* the sites */
  double *partial;  /* energy and largest distance of each piece of the own blocks */
  double *sums;     /* energy and largest distance of each block of all ranks */
  /* On the host: */
  cvtm_scratch memory; /* `first_block` and the arrays below except `staging` */
  int64_t *matrix;     /* size * size: [k]: numbers (2 per site) from rank k / size to k % size */
  int64_t *gathered;   /* size: scratch */
  int64_t *room;       /* size x 2: number of sites that fit in `plan` and `sent` of each rank */
  double *matrix_row;  /* size * size: scratch */
  double *staging;     /* copy of `covered` or `sums`; NULL on a CPU */
} cvtm_subdomain;

enum { CVTM_SUBDOMAIN_PIECE = 1024 };

cvtm_status cvtm_subdomain_create(cvtm_device *device, cvtm_domain domain, const float *density,
                                  cvtm_subdomain **subdomain);
void cvtm_subdomain_destroy(cvtm_subdomain *subdomain);
/* Divides `count` sites into blocks of `block` sites; `block` is at most CVTM_SUBDOMAIN_PIECE, or a
 * multiple of CVTM_SUBDOMAIN_PIECE. Drops the bins that earlier searches needed. */
cvtm_status cvtm_subdomain_divide(cvtm_subdomain *subdomain, int64_t count, int64_t block);
/* Collective: computes the moments of the cells of this rank's sites (2 * own, in device memory).
 * cvtm_subdomain_moments returns the moments. */
cvtm_status cvtm_subdomain_evaluate(cvtm_subdomain *subdomain, const double *sites);
cvtm_cell_moments *cvtm_subdomain_moments(const cvtm_subdomain *subdomain);
/* From the moments, sets sums[2 b] to the energy of own block b, and sums[2 b + 1] to the largest
 * distance of a movable site of the block to its centroid (the first `fixed` of all sites do not
 * move). Also sets gradient (2 * own), unless it is NULL. */
cvtm_status cvtm_subdomain_finish(cvtm_subdomain *subdomain, int64_t fixed, double *sums,
                                  double *gradient);
/* Collective: calls cvtm_subdomain_finish, and sets value[0] = the energy and value[1] = the
 * largest distance of all ranks. */
cvtm_status cvtm_subdomain_total(cvtm_subdomain *subdomain, int64_t fixed, double *value,
                                 double *gradient);

/* The arguments of cvtm_subdomain_table.finish, which forms the sums over this rank's blocks. */
typedef struct cvtm_subdomain_sums {
  const cvtm_cell_moments *moments; /* moments of the own sites */
  int64_t first, own, fixed, block;
  double *partial, *sums, *gradient;
} cvtm_subdomain_sums;

/* A list of phases (base/phases.h). */
#define CVTM_SUBDOMAIN_PHASES(X)                                                                 \
  /* Items have `width` numbers. collect: item k of `to` is item order[k] of `from`. spread: the \
   * inverse. */                                                                                 \
  X(collect,                                                                                     \
    (cvtm_device * device, const double *from, const int32_t *order, int64_t count, int width,   \
     double *to),                                                                                \
    device, count, cvtm_collect_item, from, order, width, to)                                    \
  X(spread,                                                                                      \
    (cvtm_device * device, const double *from, const int32_t *order, int64_t count, int width,   \
     double *to),                                                                                \
    device, count, cvtm_spread_item, from, order, width, to)                                     \
  /* flags[k] = 1 if index[k] < fixed, else 0. */                                                \
  X(flag_fixed,                                                                                  \
    (cvtm_device * device, const int32_t *index, int64_t count, int64_t fixed, int32_t *flags),  \
    device, count, cvtm_flag_fixed, index, fixed, flags)                                         \
  /* order = index with the `fixed` sites first; before[k]: fixed sites before item k. */        \
  X(put_fixed_first,                                                                             \
    (cvtm_device * device, const int32_t *index, const int64_t *before, int64_t count,           \
     int64_t fixed, int32_t *order),                                                             \
    device, count, cvtm_put_fixed_first, index, before, fixed, order)                            \
  /* Joins the energies and distances of `count` consecutive parts into each sum. */             \
  X(join,                                                                                        \
    (cvtm_device * device, const double *part, int64_t parts, int64_t count, int64_t sums,       \
     double *sum),                                                                               \
    device, sums, cvtm_join_parts, part, parts, count, sum)

/* The functions that differ between devices. */
typedef struct cvtm_subdomain_table {
  /* Sets `marked` to the coarse bins of the own sites, and this rank's `covered` to these bins, the
   * bins around these, and the kept bins. */
  cvtm_status (*cover)(const cvtm_subdomain *subdomain, const double *sites, uint32_t *covered);
  /* Sets counts[q * pieces + p] to the number of sites of piece p in bins that rank q covers. */
  cvtm_status (*count)(const cvtm_subdomain *subdomain, const double *sites);
  /* Writes to `sent` the sites that `count` has counted, from offsets[q * pieces + p] on. */
  cvtm_status (*write)(const cvtm_subdomain *subdomain, const double *sites);
  cvtm_status (*finish)(cvtm_device *device, const cvtm_subdomain_sums *sums);
  CVTM_SUBDOMAIN_PHASES(CVTM_PHASE_FIELD)
} cvtm_subdomain_table;

extern const cvtm_subdomain_table cvtm_subdomain_cpu, cvtm_subdomain_cuda;

/* The data of a plan on a device with ranks. Arrays are in device memory. */
typedef struct cvtm_decomposition {
  cvtm_subdomain *subdomain;    /* the subdomain of the last descent or evaluation; may be NULL */
  int32_t *order;               /* capacity: the caller's index by the new index */
  double *sites, *best, *scale; /* 2 * own: as in cvtm_own_sites */
} cvtm_decomposition;

/* Sets cvt->decomposition, which cvtm_evaluator_of_ranks uses. */
cvtm_status cvtm_decomposition_create(cvtm_cvt *cvt);
void cvtm_decomposition_destroy(cvtm_cvt *cvt);

CVTM_C_END

/* The level of the coarse bins, of which there are 4^level. */
static inline int32_t cvtm_subdomain_coarse(const cvtm_subdomain *p) {
  return cvtm_tree_coarse(cvtm_site_tree_levels(p->domain, p->count));
}

/* The coarse bin that contains a site. */
CVTM_HD int32_t cvtm_subdomain_bin(cvtm_domain domain, int32_t coarse, const double *site) {
  double x, y;
  cvtm_canonical_site(cvtm_metric_of(domain), site, &x, &y);
  return coarse == 0 ? 0 : (int32_t)(cvtm_morton_code(domain, x, y) >> (64 - 2 * coarse));
}

CVTM_HD int cvtm_subdomain_has(const uint32_t *bits, int32_t bin) {
  return (int)(bits[bin / 32] >> bin % 32 & 1);
}

/* The coarse bin at an offset of -1 .. 1 columns and rows from `bin`; -1 if there is none. */
CVTM_HD int32_t cvtm_subdomain_beside(cvtm_domain domain, int32_t coarse, int32_t bin,
                                      int32_t columns, int32_t rows) {
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

/* If `bin` is marked, covers it and the bins around it. */
CVTM_HD void cvtm_subdomain_cover(cvtm_domain domain, int32_t coarse, const uint32_t *marked,
                                  uint32_t *covered, int64_t bin) {
  for (int k = 0; cvtm_subdomain_has(marked, (int32_t)bin) && k < 9; ++k) {
    const int32_t other = cvtm_subdomain_beside(domain, coarse, (int32_t)bin, k % 3 - 1, k / 3 - 1);
    if (other >= 0) cvtm_set_bits(covered + other / 32, (uint32_t)1 << other % 32);
  }
}

CVTM_HD void cvtm_collect_item(const double *from, const int32_t *order, int width, double *to,
                               int64_t k) {
  for (int w = 0; w < width; ++w) to[width * k + w] = from[width * (int64_t)order[k] + w];
}

CVTM_HD void cvtm_spread_item(const double *from, const int32_t *order, int width, double *to,
                              int64_t k) {
  for (int w = 0; w < width; ++w) to[width * (int64_t)order[k] + w] = from[width * k + w];
}

CVTM_HD void cvtm_flag_fixed(const int32_t *index, int64_t fixed, int32_t *flags, int64_t k) {
  flags[k] = index[k] < fixed;
}

CVTM_HD void cvtm_put_fixed_first(const int32_t *index, const int64_t *before, int64_t fixed,
                                  int32_t *order, int64_t k) {
  order[before[k + 1] > before[k] ? before[k] : fixed + k - before[k]] = index[k];
}

/* Joins parts b * count .. (b + 1) * count - 1, of `parts` in all, into sum b. Each part and each
 * sum has an energy and a largest distance. */
CVTM_HD void cvtm_join_parts(const double *part, int64_t parts, int64_t count, double *sum,
                             int64_t b) {
  double energy = 0, distance = 0;
  for (int64_t k = b * count; k < (b + 1) * count && k < parts; ++k) {
    energy += part[2 * k];
    distance = cvtm_cvt_larger(distance, part[2 * k + 1]);
  }
  sum[2 * b] = energy;
  sum[2 * b + 1] = distance;
}

/* Inside cvt only: the ring of a cell, the cyclic list of its neighbours. From its ring a cell is
 * made for the next diagram without a search; such a cell is called kept.
 *
 * A cell is kept if its bisectors with its neighbours of the last diagram, in the same order, bound
 * a convex polygon inside the domain. Other cells are cut out anew, as are the four cells at an
 * edge that has vanished, and all cells at the border of the domain. If a kept cell and a cell that
 * was cut out disagree about a common corner, the kept cell is cut out in the next round. The
 * rounds end when all cells agree. Then no cells overlap: cells that agree about their corners
 * cover every point of the domain as often as they cover its border, that is, once. So kept cells
 * are correct. On a torus all cells are cut out. Compiles as C11 and inside CUDA kernels. */
#pragma once

#include "base/portable.h"
#include "base/host.h"

#include <stdint.h>

/* The sites around a cell, by the caller's indices, in the order of the edges. A negative entry is
 * the border of the domain. */
typedef struct cvtm_ring {
  const int32_t *site;
  int32_t count;
} cvtm_ring;

/* Site k of the cyclic ring, for k = -1 .. count. */
CVTM_HD int32_t cvtm_ring_at(cvtm_ring ring, int32_t k) {
  return ring.site[k < 0 ? ring.count - 1 : k < ring.count ? k : 0];
}

/* The index of a site in a ring, or -1. */
CVTM_HD int32_t cvtm_ring_find(cvtm_ring ring, int32_t site) {
  for (int32_t k = 0; k < ring.count; ++k)
    if (ring.site[k] == site) return k;
  return -1;
}

/* ring: the ring of a neighbour of site i. In the ring of i this neighbour lies between the sites
 * `before` and `after`. Returns whether both rings agree, that is, whether `ring` has i between
 * `after` and `before`. */
CVTM_HD int cvtm_ring_agrees(cvtm_ring ring, int32_t i, int32_t before, int32_t after) {
  const int32_t at = cvtm_ring_find(ring, i);
  return at >= 0 && cvtm_ring_at(ring, at - 1) == after && cvtm_ring_at(ring, at + 1) == before;
}

/* *cut: the round in which a cell is cut out; 0: the cell is kept. Several threads may read and
 * write it at the same time. */
CVTM_HD void cvtm_ring_mark(int32_t *cut, int32_t round) {
#ifdef __CUDA_ARCH__
  *cut = round;
#else
  __atomic_store_n(cut, round, __ATOMIC_RELAXED);
#endif
}

/* Marks for round 1 the cells across the vanished edges of a ring, and the cells at the ends of
 * these edges. gone: one bit for each edge. */
CVTM_INLINE void cvtm_ring_mark_gone(cvtm_ring ring, uint32_t gone, int32_t *cut) {
  for (int32_t k = 0; k < ring.count; ++k) {
    if (!(gone >> k & 1)) continue;
    for (int32_t beside = -1; beside <= 1; ++beside)
      cvtm_ring_mark(&cut[cvtm_ring_at(ring, k + beside)], 1);
  }
}

#ifndef __CUDACC__

static inline int32_t cvtm_ring_mark_of(const int32_t *cut) {
  return __atomic_load_n(cut, __ATOMIC_RELAXED);
}

/* Marks, for a round, the kept cells that disagree with the cell of site i, which was cut out and
 * has the ring `now` instead of `old`. Returns their number. */
static inline int64_t cvtm_ring_mark_disagreeing(int32_t i, cvtm_ring old, cvtm_ring now,
                                                 cvtm_ring (*ring_of)(const void *, int32_t),
                                                 const void *context, int32_t round, int32_t *cut) {
  int64_t marked = 0;
  for (int32_t k = 0; k < now.count + old.count; ++k) {
    const int is_new = k < now.count;
    const int32_t j = is_new ? now.site[k] : old.site[k - now.count];
    if (j < 0 || cvtm_ring_mark_of(&cut[j]) != 0) continue;
    if (is_new ? cvtm_ring_agrees(ring_of(context, j), i, cvtm_ring_at(now, k - 1),
                                  cvtm_ring_at(now, k + 1))
               : cvtm_ring_find(now, j) >= 0)
      continue;
    cvtm_ring_mark(&cut[j], round);
    ++marked;
  }
  return marked;
}

#endif

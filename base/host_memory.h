/* Inside the library: host memory for arrays. */
#ifndef CVTMESH_BASE_HOST_MEMORY_H
#define CVTMESH_BASE_HOST_MEMORY_H

#include <stdint.h>
#include <stdlib.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

enum { CVTM_HOST_ALIGNMENT = 64, CVTM_HOST_HUGE = 2 << 20 };

/* Uninitialised, aligned, freed by free(); NULL if there is none. Large blocks ask for huge pages,
 * which are much cheaper to touch first. */
static inline void *cvtm_host_allocate(size_t bytes) {
  const size_t huge = CVTM_HOST_HUGE;
  const size_t alignment = bytes >= 2 * huge ? huge : CVTM_HOST_ALIGNMENT;
  if (bytes > SIZE_MAX / 2) return NULL;
  const size_t rounded = bytes == 0 ? alignment : (bytes + alignment - 1) / alignment * alignment;
  void *block = aligned_alloc(alignment, rounded);
#ifdef MADV_HUGEPAGE
  /* Advice: without it, the pages are small ones. */
  if (block != NULL && alignment == huge) (void)madvise(block, rounded, MADV_HUGEPAGE);
#endif
  return block;
}

#endif

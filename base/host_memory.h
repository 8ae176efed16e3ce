/* Inside the library: host memory for arrays, and the error where there is none. */
#ifndef CVTMESH_BASE_HOST_MEMORY_H
#define CVTMESH_BASE_HOST_MEMORY_H

#include <stdint.h>
#include <stdlib.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

#include "base/status.h"

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

/* Returns CVTM_ERROR_MEMORY. what: what the memory was for, as in "the boundary". */
static inline cvtm_status cvtm_no_memory(cvtm_error *error, const char *what) {
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for %s", what);
}

#endif

#define _DEFAULT_SOURCE

#include "base/large_pages.h"

#include <stdint.h>
#include <sys/mman.h>

void cvtm_prefer_large_pages(void *memory, size_t size) {
#ifdef MADV_HUGEPAGE
  const uintptr_t page = (uintptr_t)2 << 20;
  const uintptr_t first = ((uintptr_t)memory + page - 1) / page * page;
  const uintptr_t end = ((uintptr_t)memory + size) / page * page;
  /* A system without them refuses, and loses nothing. */
  if (memory != NULL && first < end) (void)madvise((void *)first, end - first, MADV_HUGEPAGE);
#else
  (void)memory;
  (void)size;
#endif
}

void cvtm_touch_pages(void *memory, size_t size) {
  enum { PAGE = 4096, WORTH_THREADS = 1 << 22 };
  volatile char *byte = memory;
  if (size < WORTH_THREADS) return;
  cvtm_prefer_large_pages(memory, size);
#pragma omp parallel for schedule(static)
  for (size_t k = 0; k < size; k += PAGE) byte[k] = byte[k];
}

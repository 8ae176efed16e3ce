#define _DEFAULT_SOURCE

#include "base/host.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* --- arrays that grow ------------------------------------------------------------------------- */

enum { SMALLEST = 64 };

/* Reallocates an array; returns 0 if memory runs out. `array` points to a pointer of any type, so
 * the bytes of that pointer are copied. */
static int move(const cvtm_growing *growing, int64_t capacity) {
  void *elements;
  if ((uint64_t)capacity > PTRDIFF_MAX / growing->size) return 0;
  memcpy(&elements, growing->array, sizeof elements);
  elements = realloc(elements, (size_t)capacity * growing->size);
  if (elements == NULL) return 0;
  memcpy(growing->array, &elements, sizeof elements);
  return 1;
}

int cvtm_grow_all(const cvtm_growing *arrays, int count, int64_t *capacity, int64_t needed) {
  if (needed <= *capacity) return 1;
  int64_t larger = *capacity < INT64_MAX / 2 ? 2 * *capacity : INT64_MAX;
  if (larger < needed) larger = needed;
  if (larger < SMALLEST) larger = SMALLEST;
  for (int k = 0; k < count; ++k)
    if (!move(&arrays[k], larger)) return 0;
  *capacity = larger;
  return 1;
}

int cvtm_grow(void *array, size_t size, int64_t *capacity, int64_t needed) {
  const cvtm_growing growing = {array, size};
  return cvtm_grow_all(&growing, 1, capacity, needed);
}

/* --- memory that is freed together ------------------------------------------------------------ */

static void *allocate(cvtm_scratch *scratch, size_t count, size_t size, int zeros) {
  void *block = NULL;
  if (scratch->count < CVTM_SCRATCH_BLOCKS && count < PTRDIFF_MAX / size) {
    const size_t bytes = count > 0 ? count * size : 1;
    block = zeros ? calloc(bytes, 1) : malloc(bytes);
  }
  scratch->failed |= block == NULL;
  if (block != NULL) scratch->blocks[scratch->count++] = block;
  return block;
}

void *cvtm_scratch_take(cvtm_scratch *scratch, size_t count, size_t size) {
  return allocate(scratch, count, size, 0);
}

void *cvtm_scratch_zeros(cvtm_scratch *scratch, size_t count, size_t size) {
  return allocate(scratch, count, size, 1);
}

void cvtm_scratch_free(cvtm_scratch *scratch) {
  for (int k = 0; k < scratch->count; ++k) free(scratch->blocks[k]);
  *scratch = (cvtm_scratch){0};
}

/* --- trees of a union-find -------------------------------------------------------------------- */

int32_t cvtm_root_of(int32_t *parent, int32_t i) {
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

int cvtm_join_trees(int32_t *parent, int32_t a, int32_t b) {
  const int32_t p = cvtm_root_of(parent, a), q = cvtm_root_of(parent, b);
  parent[p > q ? p : q] = p < q ? p : q;
  return p != q;
}

/* --- lists by key ----------------------------------------------------------------------------- */

void cvtm_list_by_key(const int32_t *key, int64_t count, int64_t keys, int64_t *start,
                      int64_t *list) {
  for (int64_t i = 0; i < count; ++i) ++start[key[i] + 2];
  for (int64_t k = 0; k < keys; ++k) start[k + 2] += start[k + 1];
  for (int64_t i = 0; i < count; ++i) list[start[key[i] + 1]++] = i;
}

/* --- large pages ------------------------------------------------------------------------------ */

void cvtm_prefer_large_pages(void *memory, size_t size) {
#ifdef MADV_HUGEPAGE
  const uintptr_t page = (uintptr_t)2 << 20;
  const uintptr_t first = ((uintptr_t)memory + page - 1) / page * page;
  const uintptr_t end = ((uintptr_t)memory + size) / page * page;
  /* A system without large pages refuses the advice, and nothing is lost. */
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

/* --- vectors ---------------------------------------------------------------------------------- */

static int find_wide_vectors(void) {
#if defined(__x86_64__)
  const char *wish = getenv("CVTMESH_VECTORS");
  if (wish != NULL && strcmp(wish, "baseline") == 0) return 0;
  return __builtin_cpu_supports("avx2") != 0;
#else
  return 0;
#endif
}

int cvtm_has_wide_vectors(void) {
  static atomic_int known; /* 0: not yet, 1: no, 2: yes */
  int state = atomic_load_explicit(&known, memory_order_relaxed);
  if (state == 0) {
    state = 1 + find_wide_vectors();
    atomic_store_explicit(&known, state, memory_order_relaxed);
  }
  return state == 2;
}

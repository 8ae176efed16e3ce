/* Inside the library: memory of the host, links of paths, and loops that are also compiled for wide
 * vectors. */
#pragma once

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __linux__
#include <sys/mman.h>
#endif

CVTM_C_BEGIN

/* --- memory for arrays ------------------------------------------------------------------------ */

/* Allocates uninitialised memory, aligned to 64 bytes or more, which free() frees. Returns NULL if
 * memory runs out. For large blocks the system is asked for huge pages, whose first touch takes
 * much less time. */
static inline void *cvtm_host_allocate(size_t bytes) {
  const size_t small = 64, huge = (size_t)2 << 20;
  const size_t alignment = bytes >= 2 * huge ? huge : small;
  if (bytes > SIZE_MAX / 2) return NULL;
  const size_t rounded = bytes == 0 ? alignment : (bytes + alignment - 1) / alignment * alignment;
  void *block = aligned_alloc(alignment, rounded);
#ifdef MADV_HUGEPAGE
  /* This is advice alone: if the system refuses, the pages are small. */
  if (block != NULL && alignment == huge) (void)madvise(block, rounded, MADV_HUGEPAGE);
#endif
  return block;
}

/* Returns CVTM_ERROR_MEMORY. what: the purpose of the memory, such as "the boundary". */
static inline cvtm_status cvtm_no_memory(cvtm_error *error, const char *what) {
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for %s", what);
}

/* --- arrays that grow ------------------------------------------------------------------------- */

/* One of the arrays that grow together. */
typedef struct cvtm_growing {
  void *array; /* the address of the pointer to the elements, which is NULL or from malloc */
  size_t size; /* bytes of an element */
} cvtm_growing;

/* Raises the capacity to `needed` elements or more, at least doubling it, so that appending n
 * elements one by one moves O(n) elements. Elements keep their values; new elements are
 * uninitialised. Returns 0 if memory runs out; arrays and *capacity are then still valid. */
int cvtm_grow_all(const cvtm_growing *arrays, int count, int64_t *capacity, int64_t needed);

/* cvtm_grow_all for one array. array: the address of the pointer to the elements. */
int cvtm_grow(void *array, size_t size, int64_t *capacity, int64_t needed);

/* --- memory that is freed together ------------------------------------------------------------ */

enum { CVTM_SCRATCH_BLOCKS = 16 };

/* Blocks of memory that are freed together; initialised to {0}. `failed` is set to nonzero if an
 * allocation fails or there are too many blocks. So the caller tests it once, after the last
 * allocation and before the use of any block. */
typedef struct cvtm_scratch {
  void *blocks[CVTM_SCRATCH_BLOCKS];
  int count, failed;
} cvtm_scratch;

/* Memory for `count` >= 0 elements of `size` bytes: uninitialised (take) or zeros (zeros); NULL if
 * the allocation fails. */
void *cvtm_scratch_take(cvtm_scratch *scratch, size_t count, size_t size);
void *cvtm_scratch_zeros(cvtm_scratch *scratch, size_t count, size_t size);
void cvtm_scratch_free(cvtm_scratch *scratch);

/* --- trees of a union-find -------------------------------------------------------------------- */

/* The root of i's tree, which is the smallest number of the tree. At first parent[i] = i. */
int32_t cvtm_root_of(int32_t *parent, int32_t i);
/* Joins the trees of a and b; returns 0 if a and b were in the same tree before. */
int cvtm_join_trees(int32_t *parent, int32_t a, int32_t b);

/* --- lists by key ----------------------------------------------------------------------------- */

/* Lists the items 0 .. count - 1 by their keys 0 .. keys - 1: the items with key k are
 * list[start[k]] .. list[start[k + 1] - 1], ascending. start: keys + 2 zeros at first. */
void cvtm_list_by_key(const int32_t *key, int64_t count, int64_t keys, int64_t *start,
                      int64_t *list);

/* --- comparisons for qsort -------------------------------------------------------------------- */

/* These compare numbers, or structs by their first members, which are such numbers. */

static inline int cvtm_compare_doubles(const void *left, const void *right) {
  const double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static inline int cvtm_compare_floats(const void *left, const void *right) {
  const float a = *(const float *)left, b = *(const float *)right;
  return (a > b) - (a < b);
}

static inline int cvtm_compare_int32(const void *left, const void *right) {
  const int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
  return (a > b) - (a < b);
}

/* By a double, then by an int32_t. */
static inline int cvtm_compare_keyed(const void *left, const void *right) {
  const int order = cvtm_compare_doubles(left, right);
  if (order != 0) return order;
  return cvtm_compare_int32((const double *)left + 1, (const double *)right + 1);
}

static inline int cvtm_compare_integers(const void *left, const void *right, int count) {
  const int32_t *a = (const int32_t *)left, *b = (const int32_t *)right;
  for (int k = 0; k < count; ++k)
    if (a[k] != b[k]) return a[k] < b[k] ? -1 : 1;
  return 0;
}

/* Lexicographically by the first 2, 3 or 4 members. */
static inline int cvtm_compare_two(const void *left, const void *right) {
  return cvtm_compare_integers(left, right, 2);
}

static inline int cvtm_compare_three(const void *left, const void *right) {
  return cvtm_compare_integers(left, right, 3);
}

static inline int cvtm_compare_four(const void *left, const void *right) {
  return cvtm_compare_integers(left, right, 4);
}

/* --- paths ------------------------------------------------------------------------------------ */

/* Replaces the last component of a path by its target while it is a symbolic link. Returns the name
 * at which a file exists or is to be made, malloc'd; NULL, with errno, after too many links or if
 * memory runs out. */
char *cvtm_follow_links(const char *path);

/* --- large pages ------------------------------------------------------------------------------ */

/* Asks the system for large pages in `size` bytes of malloc'd memory. The first touch of small
 * pages can take longer than the computation on the memory. */
void cvtm_prefer_large_pages(void *memory, size_t size);
/* Asks for large pages for a large block, and touches its pages by several threads, so that a later
 * copy by one thread finds the pages mapped. Keeps the contents, because that copy may fail. */
void cvtm_touch_pages(void *memory, size_t size);

/* --- vectors ---------------------------------------------------------------------------------- */

#if defined(__CUDACC__)
#define CVTM_INLINE static __host__ __device__ inline
#define CVTM_WIDE
#elif defined(__x86_64__)
#define CVTM_INLINE static inline __attribute__((always_inline))
#define CVTM_WIDE __attribute__((target("avx2")))
#else
#define CVTM_INLINE static inline __attribute__((always_inline))
#define CVTM_WIDE
#endif

/* Defines two copies of a CVTM_INLINE function: name_baseline, and name_wide, which is compiled for
 * AVX2. */
#define CVTM_DEFINE_WIDTHS(type, name, parameters, arguments)       \
  static type name##_baseline parameters { return name arguments; } \
  CVTM_WIDE static type name##_wide parameters { return name arguments; }

/* True if functions marked CVTM_WIDE may be called: the processor has AVX2, and the environment
 * variable CVTMESH_VECTORS is not "baseline". The variable is read at the first call. */
int cvtm_has_wide_vectors(void);

CVTM_C_END

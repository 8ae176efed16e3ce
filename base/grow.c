#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

enum { SMALLEST = 64 };

/* `array` points to a pointer of any type, so its bytes are copied. */
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

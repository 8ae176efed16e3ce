/* Inside the library: arrays in host memory that grow. */
#ifndef CVTMESH_BASE_GROW_H
#define CVTMESH_BASE_GROW_H

#include <stddef.h>
#include <stdint.h>

/* One of the arrays that grow together. */
typedef struct cvtm_growing {
  void *array; /* the address of the pointer to the elements, which is NULL or from malloc */
  size_t size; /* bytes of an element */
} cvtm_growing;

/* Raises the capacity to `needed` elements or more, at least doubling it, so that appending n
 * elements one by one moves O(n) of them. Elements keep their values; new ones are uninitialised.
 * Returns 0 if there is no memory: then arrays, elements and *capacity are still good. */
int cvtm_grow_all(const cvtm_growing *arrays, int count, int64_t *capacity, int64_t needed);

/* The same for one array; array: the address of its pointer. */
int cvtm_grow(void *array, size_t size, int64_t *capacity, int64_t needed);

#endif

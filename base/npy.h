/* Reads and writes NumPy's .npy files
 * (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html), versions 1 to 3, little
 * or big endian, of float16 (read as float32), float32, float64, bool and integers of 1 to 8 bytes.
 * Arrays have C order; files in Fortran order are transposed. */
#pragma once

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

CVTM_API_BEGIN

enum { CVTM_NPY_MAX_DIMENSIONS = 4 };

/* kind: 'f', 'i', 'u' or 'b' (bool); item: bytes per element. The elements have the native byte
 * order. */
typedef struct cvtm_npy {
  char kind;
  int item;
  int dimensions;
  int64_t shape[CVTM_NPY_MAX_DIMENSIONS];
  int64_t count; /* product of shape */
  void *data;    /* the elements, within `storage` */
  void *storage; /* malloc'd; free with cvtm_npy_free; NULL: `data` is borrowed */
} cvtm_npy;

/* The input of a function: a file, or the caller's array, which is read like an NPY file. */
typedef struct cvtm_input {
  const char *name;      /* path of the file, or the array's name in messages; NULL: no input */
  const cvtm_npy *array; /* borrowed; NULL: the file is read */
} cvtm_input;

/* Reads an NPY file into an array that owns its data. CVTM_ERROR_INPUT: not an NPY file, or one
 * with elements of an unsupported kind or more than CVTM_NPY_MAX_DIMENSIONS dimensions. */
cvtm_status cvtm_npy_read(const char *path, cvtm_npy *array, cvtm_error *error);
/* cvtm_npy_read for the contents of a file; name: for messages. */
cvtm_status cvtm_npy_parse(const unsigned char *bytes, size_t size, const char *name,
                           cvtm_npy *array, cvtm_error *error);
/* cvtm_npy_parse for malloc'd bytes, which the array takes over and which are freed on failure. The
 * elements are not copied, unless their order or their kind changes. */
cvtm_status cvtm_npy_take(unsigned char *bytes, size_t size, const char *name, cvtm_npy *array,
                          cvtm_error *error);
/* Reads the file, or borrows the array; cvtm_npy_free frees either. CVTM_ERROR_ARGUMENT: elements
 * cannot have this `kind` and `item`, or `count` is not the product of `shape`. */
cvtm_status cvtm_npy_open(const cvtm_input *source, cvtm_npy *array, cvtm_error *error);
void cvtm_npy_free(cvtm_npy *array);
/* Rounds elements first .. first + count - 1 to float; returns 1 if a finite element is too large
 * for a float. */
int cvtm_npy_get_floats(const cvtm_npy *array, int64_t first, int64_t count, float *values);
/* Element i converted to double. */
double cvtm_npy_get(const cvtm_npy *array, int64_t i);
/* Writes elements of this kind and size, in C order. CVTM_ERROR_ARGUMENT: elements cannot have this
 * kind and size, or the shape has too many dimensions, a negative size or too many elements. */
cvtm_status cvtm_npy_write(const char *path, char kind, int item, int dimensions,
                           const int64_t *shape, const void *data, cvtm_error *error);

CVTM_API_END

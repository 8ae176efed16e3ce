/* Inside meshes only: numbers as they lie in files. Inline, so that a type that is known where it
 * is used costs one move of bytes. */
#ifndef CVTMESH_MESHES_FORMATS_SCALARS_H
#define CVTMESH_MESHES_FORMATS_SCALARS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef enum cvtm_scalar {
  CVTM_I8,
  CVTM_U8,
  CVTM_I16,
  CVTM_U16,
  CVTM_I32,
  CVTM_U32,
  CVTM_I64,
  CVTM_U64,
  CVTM_F32,
  CVTM_F64
} cvtm_scalar;

static inline size_t cvtm_scalar_size(cvtm_scalar type) {
  static const unsigned char size[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8};
  return size[type];
}

/* 4 or 8 bytes in either order; compilers make one instruction of each line of bytes. */
static inline uint32_t cvtm_bytes_to_32(int big, const unsigned char *b) {
  return big ? (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3]
             : (uint32_t)b[3] << 24 | (uint32_t)b[2] << 16 | (uint32_t)b[1] << 8 | b[0];
}

static inline uint64_t cvtm_bytes_to_64(int big, const unsigned char *b) {
  const uint64_t first = cvtm_bytes_to_32(big, b), second = cvtm_bytes_to_32(big, b + 4);
  return big ? first << 32 | second : second << 32 | first;
}

static inline void cvtm_bytes_of_32(int big, uint32_t bits, unsigned char *b) {
  for (int k = 0; k < 4; ++k) b[k] = (unsigned char)(bits >> (big ? 24 - 8 * k : 8 * k) & 255);
}

static inline void cvtm_bytes_of_64(int big, uint64_t bits, unsigned char *b) {
  for (int k = 0; k < 8; ++k) b[k] = (unsigned char)(bits >> (big ? 56 - 8 * k : 8 * k) & 255);
}

/* Bytes to value and back. Integers beyond 2^53 lose bits: no index is that large. */
static inline double cvtm_scalar_unpack(cvtm_scalar type, int big, const unsigned char *bytes) {
  uint32_t bits;
  uint64_t wide;
  float single;
  double value;
  switch (type) {
    case CVTM_I8:
      return (int8_t)bytes[0];
    case CVTM_U8:
      return bytes[0];
    case CVTM_I16:
      return (int16_t)(bytes[!big] << 8 | bytes[big != 0]);
    case CVTM_U16:
      return (uint16_t)(bytes[!big] << 8 | bytes[big != 0]);
    case CVTM_I32:
      return (int32_t)cvtm_bytes_to_32(big, bytes);
    case CVTM_U32:
      return cvtm_bytes_to_32(big, bytes);
    case CVTM_I64:
      return (double)(int64_t)cvtm_bytes_to_64(big, bytes);
    case CVTM_U64:
      return (double)cvtm_bytes_to_64(big, bytes);
    case CVTM_F32:
      bits = cvtm_bytes_to_32(big, bytes);
      memcpy(&single, &bits, sizeof single);
      return (double)single;
    default:
      wide = cvtm_bytes_to_64(big, bytes);
      memcpy(&value, &wide, sizeof value);
      return value;
  }
}

static inline void cvtm_scalar_pack(cvtm_scalar type, int big, double value, unsigned char *bytes) {
  const size_t size = cvtm_scalar_size(type);
  uint64_t wide = 0;
  uint32_t bits;
  const float single = type == CVTM_F32 ? (float)value : 0;
  memcpy(&bits, &single, sizeof bits);
  if (type == CVTM_F64) memcpy(&wide, &value, sizeof wide);
  if (type < CVTM_F32) wide = (uint64_t)(int64_t)value;
  if (size == 8) {
    cvtm_bytes_of_64(big, wide, bytes);
  } else if (size == 4) {
    cvtm_bytes_of_32(big, type == CVTM_F32 ? bits : (uint32_t)wide, bytes);
  } else {
    for (size_t k = 0; k < size; ++k)
      bytes[big ? size - 1 - k : k] = (unsigned char)(wide >> (8 * k) & 255);
  }
}

/* The bytes of a number; returns their end. */
static inline char *cvtm_text_scalar(char *to, cvtm_scalar type, int big, double value) {
  cvtm_scalar_pack(type, big, value, (unsigned char *)to);
  return to + cvtm_scalar_size(type);
}

#endif

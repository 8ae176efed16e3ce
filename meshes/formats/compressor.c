#include "meshes/formats/compressor.h"

#include <string.h>
#if CVTMESH_HAVE_ZLIB
#include <zlib.h>
#endif
#if CVTMESH_HAVE_LZ4
#include <lz4.h>
#endif

int cvtm_compression_known(cvtm_compression kind) {
  return kind == CVTM_COMPRESS_NONE || (kind == CVTM_COMPRESS_ZLIB && CVTMESH_HAVE_ZLIB) ||
         (kind == CVTM_COMPRESS_LZ4 && CVTMESH_HAVE_LZ4);
}

const char *cvtm_compressor_name(cvtm_compression kind) {
  return kind == CVTM_COMPRESS_ZLIB  ? "vtkZLibDataCompressor"
         : kind == CVTM_COMPRESS_LZ4 ? "vtkLZ4DataCompressor"
                                     : "";
}

cvtm_compression cvtm_compressor_named(const char *name) {
  for (int kind = CVTM_COMPRESS_ZLIB; kind <= CVTM_COMPRESS_LZ4; ++kind) {
    if (cvtm_compression_known((cvtm_compression)kind) &&
        strcmp(name, cvtm_compressor_name((cvtm_compression)kind)) == 0)
      return (cvtm_compression)kind;
  }
  return CVTM_COMPRESS_NONE;
}

#if CVTMESH_HAVE_ZLIB
static size_t most_of_zlib(size_t size) { return (size_t)compressBound((uLong)size); }

static size_t by_zlib(const unsigned char *from, size_t size, unsigned char *to) {
  uLongf made = compressBound((uLong)size);
  return compress(to, &made, from, (uLong)size) == Z_OK ? (size_t)made : 0;
}

static int from_zlib(const unsigned char *from, size_t size, unsigned char *to, size_t expected) {
  uLongf made = (uLongf)expected;
  return uncompress(to, &made, from, (uLong)size) == Z_OK && made == expected;
}
#else
static size_t most_of_zlib(size_t size) { return size; }
static size_t by_zlib(const unsigned char *from, size_t size, unsigned char *to) {
  (void)from, (void)size, (void)to;
  return 0;
}
static int from_zlib(const unsigned char *from, size_t size, unsigned char *to, size_t expected) {
  (void)from, (void)size, (void)to, (void)expected;
  return 0;
}
#endif

#if CVTMESH_HAVE_LZ4
static size_t most_of_lz4(size_t size) { return (size_t)LZ4_compressBound((int)size); }

static size_t by_lz4(const unsigned char *from, size_t size, unsigned char *to) {
  const int made =
      LZ4_compress_default((const char *)from, (char *)to, (int)size, LZ4_compressBound((int)size));
  return made > 0 ? (size_t)made : 0;
}

static int from_lz4(const unsigned char *from, size_t size, unsigned char *to, size_t expected) {
  if (size > LZ4_MAX_INPUT_SIZE || expected > LZ4_MAX_INPUT_SIZE) return 0;
  return LZ4_decompress_safe((const char *)from, (char *)to, (int)size, (int)expected) ==
         (int)expected;
}
#else
static size_t most_of_lz4(size_t size) { return size; }
static size_t by_lz4(const unsigned char *from, size_t size, unsigned char *to) {
  (void)from, (void)size, (void)to;
  return 0;
}
static int from_lz4(const unsigned char *from, size_t size, unsigned char *to, size_t expected) {
  (void)from, (void)size, (void)to, (void)expected;
  return 0;
}
#endif

size_t cvtm_compressed_most(cvtm_compression kind, size_t size) {
  return kind == CVTM_COMPRESS_ZLIB ? most_of_zlib(size) : most_of_lz4(size);
}

size_t cvtm_compress(cvtm_compression kind, const unsigned char *from, size_t size,
                     unsigned char *to) {
  return kind == CVTM_COMPRESS_ZLIB ? by_zlib(from, size, to) : by_lz4(from, size, to);
}

int cvtm_decompress(cvtm_compression kind, const unsigned char *from, size_t size,
                    unsigned char *to, size_t expected) {
  return kind == CVTM_COMPRESS_ZLIB ? from_zlib(from, size, to, expected)
                                    : from_lz4(from, size, to, expected);
}

/* Inside meshes only: the compressors of VTK's XML files, as far as this build has them. */
#ifndef CVTMESH_MESHES_FORMATS_COMPRESSOR_H
#define CVTMESH_MESHES_FORMATS_COMPRESSOR_H

#include "meshes/mesh_file.h"

#include <stddef.h>

/* The name in a file, as vtkZLibDataCompressor; "" for CVTM_COMPRESS_NONE. */
const char *cvtm_compressor_name(cvtm_compression kind);
/* CVTM_COMPRESS_NONE if no compressor of this build has the name. */
cvtm_compression cvtm_compressor_named(const char *name);
/* The most bytes that `size` bytes become. */
size_t cvtm_compressed_most(cvtm_compression kind, size_t size);
/* Returns the number of bytes that were written to `to`, which has room for the most; 0: failed. */
size_t cvtm_compress(cvtm_compression kind, const unsigned char *from, size_t size,
                     unsigned char *to);
/* 1 if `from` becomes exactly `expected` bytes. */
int cvtm_decompress(cvtm_compression kind, const unsigned char *from, size_t size,
                    unsigned char *to, size_t expected);

#endif

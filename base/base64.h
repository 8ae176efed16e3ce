/* Base64 (RFC 4648). */
#ifndef CVTMESH_BASE_BASE64_H
#define CVTMESH_BASE_BASE64_H

#include <stddef.h>
#include <stdio.h>

/* Writes `size` bytes with padding and without line breaks; the stream's error says if it failed.
 */
void cvtm_base64_write(FILE *stream, const unsigned char *bytes, size_t size);

#endif

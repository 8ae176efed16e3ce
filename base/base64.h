/* Base64 (RFC 4648). */
#ifndef CVTMESH_BASE_BASE64_H
#define CVTMESH_BASE_BASE64_H

#include <stddef.h>
#include <stdio.h>

/* Appends the digits of `size` bytes, four for each three bytes or part of them; returns the end.
 */
char *cvtm_base64_encode(char *to, const unsigned char *bytes, size_t size);

/* Writes `size` bytes with padding and without line breaks; the stream's error says if it failed.
 */
void cvtm_base64_write(FILE *stream, const unsigned char *bytes, size_t size);

#endif

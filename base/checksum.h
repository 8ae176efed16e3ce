/* A checksum of bytes in memory, to find damage and differences; no protection against forgery. */
#ifndef CVTMESH_BASE_CHECKSUM_H
#define CVTMESH_BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* The sum over 64-bit words (the last one padded with zeros) of each word and its place, mixed by
 * the finaliser of splitmix64 (Steele, Lea & Flood 2014), plus the number of bytes. The same on
 * machines of one byte order. */
uint64_t cvtm_checksum(const void *bytes, size_t count);

#endif

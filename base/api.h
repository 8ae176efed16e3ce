/* The shared library exports the functions that a header declares between CVTM_API_BEGIN and
 * CVTM_API_END; in C++ they have C linkage. All other functions are hidden. */
#pragma once

#include <stdint.h>

/* Reserves space for fields of later releases in a struct that the caller and the library share. A
 * new field takes part of this space, so the size of the struct does not change. Functions that set
 * defaults fill the space with zeros. */
#define CVTM_RESERVED(words) int64_t reserved[words]

#if defined(__GNUC__)
#define CVTM_API_EXPORT_BEGIN _Pragma("GCC visibility push(default)")
#define CVTM_API_EXPORT_END _Pragma("GCC visibility pop")
#else
#define CVTM_API_EXPORT_BEGIN
#define CVTM_API_EXPORT_END
#endif

/* CVTM_C_BEGIN and CVTM_C_END enclose declarations of functions that are not exported, and give
 * them C linkage in C++. */
#ifdef __cplusplus
#define CVTM_C_BEGIN extern "C" {
#define CVTM_C_END }
#else
#define CVTM_C_BEGIN
#define CVTM_C_END
#endif

#define CVTM_API_BEGIN CVTM_API_EXPORT_BEGIN CVTM_C_BEGIN
#define CVTM_API_END CVTM_C_END CVTM_API_EXPORT_END

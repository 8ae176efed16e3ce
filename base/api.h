/* What surrounds the declarations of a public header: functions declared between CVTM_API_BEGIN and
 * CVTM_API_END are exported by the shared library, and C++ links them as C. All other functions are
 * hidden. */
#ifndef CVTMESH_BASE_API_H
#define CVTMESH_BASE_API_H

#include <stdint.h>

/* Room in a struct that the caller and the library share, for fields of later releases: a new field
 * takes its place, so that the size stays. The functions that fill in defaults make it 0. */
#define CVTM_RESERVED(words) int64_t reserved[words]

#if defined(__GNUC__)
#define CVTM_API_EXPORT_BEGIN _Pragma("GCC visibility push(default)")
#define CVTM_API_EXPORT_END _Pragma("GCC visibility pop")
#else
#define CVTM_API_EXPORT_BEGIN
#define CVTM_API_EXPORT_END
#endif

#ifdef __cplusplus
#define CVTM_API_BEGIN CVTM_API_EXPORT_BEGIN extern "C" {
#define CVTM_API_END \
  }                  \
  CVTM_API_EXPORT_END
#else
#define CVTM_API_BEGIN CVTM_API_EXPORT_BEGIN
#define CVTM_API_END CVTM_API_EXPORT_END
#endif

#endif

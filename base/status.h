/* Status codes and error messages. A function that can fail returns a cvtm_status and, where it
 * takes a cvtm_error of the caller, writes a message to it. On failure, outputs are unchanged or
 * freed. */
#pragma once

#include "base/api.h"

CVTM_API_BEGIN

/* code, text */
#define CVTM_STATUS_LIST(X)                                \
  X(CVTM_OK, "success")                                    \
  X(CVTM_ERROR_ARGUMENT, "invalid argument")               \
  X(CVTM_ERROR_MEMORY, "out of memory")                    \
  X(CVTM_ERROR_DEVICE_UNAVAILABLE, "device unavailable")   \
  X(CVTM_ERROR_DEVICE, "device failure")                   \
  X(CVTM_ERROR_IO, "input or output failed")               \
  X(CVTM_ERROR_INPUT, "bad input")                         \
  X(CVTM_ERROR_UNSUPPORTED, "not supported by this build") \
  X(CVTM_ERROR_EVALUATION, "the objective is not finite")  \
  X(CVTM_ERROR_INTERNAL, "internal error")                 \
  X(CVTM_ERROR_USAGE, "options contradict each other")

typedef enum cvtm_status {
#define CVTM_STATUS_CODE(code, text) code,
  CVTM_STATUS_LIST(CVTM_STATUS_CODE)
#undef CVTM_STATUS_CODE
} cvtm_status;

/* Owned by the caller. message: one line, without a newline at its end. */
typedef struct cvtm_error {
  cvtm_status status;
  char message[512];
} cvtm_error;

/* The text of a status code; never NULL. */
const char *cvtm_status_text(cvtm_status status);

#if defined(__GNUC__)
#define CVTM_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))
#else
#define CVTM_PRINTF(format_index, first)
#endif

/* Makes a call; if it fails, the function with this macro returns its status. */
#define CVTM_TRY(...)                             \
  do {                                            \
    const cvtm_status cvtm_tried = (__VA_ARGS__); \
    if (cvtm_tried != CVTM_OK) return cvtm_tried; \
  } while (0)

/* Formats a message into *error (which may be NULL) and returns status. */
CVTM_PRINTF(3, 4)
cvtm_status cvtm_fail(cvtm_error *error, cvtm_status status, const char *format, ...);
#if defined(__clang_analyzer__) && !defined(CVTM_STATUS_SOURCE)
/* clang-tidy reads one file at a time; with this it knows that cvtm_fail returns `status`. */
#define cvtm_fail(error, status, ...) (cvtm_fail(error, status, __VA_ARGS__), (status))
#endif

CVTM_API_END

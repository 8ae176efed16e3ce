/* Inside the library: lists of phases that treat each row (a site, a coordinate, a pixel)
 * independently. From a list, macros declare the phases as members of a table, and define them on
 * both devices.
 *
 * A list has entries X(name, parameters, device, rows, function, arguments). The phase calls
 * function(arguments, row), which is CVTM_HD, for row = 0 .. rows - 1. The phases are the last
 * members of the table. */
#pragma once

#include "base/device.h"

/* Passes a struct in host memory to a row function that takes a pointer. CUDA copies the struct. */
#ifdef __CUDACC__
#define CVTM_HOST_STRUCT(pointer) *(pointer)
#else
#define CVTM_HOST_STRUCT(pointer) (pointer)
#endif

/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration takes no parentheses. */
#define CVTM_PHASE_FIELD(name, parameters, ...) cvtm_status(*name) parameters;

/* --- the CPU's side --------------------------------------------------------------------------- */

/* With fewer rows, one thread is faster than several. A file whose rows are slow or fast may define
 * another number before it includes this header. */
#ifndef CVTM_PHASE_FEW
#define CVTM_PHASE_FEW 2048
#endif

#define CVTM_PHASE_CPU(name, parameters, device, rows, function, ...)                             \
  static cvtm_status name##_cpu parameters {                                                      \
    const int64_t rows_ = (rows);                                                                 \
    const int threads_ = rows_ < CVTM_PHASE_FEW ? 1 : cvtm_device_threads(device);                \
    (void)threads_;                                                                               \
    _Pragma("omp parallel for num_threads(threads_) schedule(static)") for (int64_t row_ = 0;     \
                                                                            row_ < rows_; ++row_) \
        function(__VA_ARGS__, row_);                                                              \
    return CVTM_OK;                                                                               \
  }
#define CVTM_PHASE_CPU_NAME(name, ...) .name = name##_cpu,

/* --- the side of CUDA, with base/cuda_utils.h ------------------------------------------------- */

/* The template argument `resident` of for_rows. A file may define another number before it includes
 * this header. */
#ifndef CVTM_PHASE_RESIDENT
#define CVTM_PHASE_RESIDENT 0
#endif

#define CVTM_PHASE_CUDA(name, parameters, device, rows, function, ...)                 \
  cvtm_status name##_cuda parameters {                                                 \
    return launch_rows<function, 256, CVTM_PHASE_RESIDENT>((device), #name, 0, (rows), \
                                                           __VA_ARGS__);               \
  }
#define CVTM_PHASE_CUDA_NAME(name, ...) name##_cuda,

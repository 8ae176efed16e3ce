/* Loops that are compiled twice: for the machine's baseline, and for AVX2 where it has that. */
#ifndef CVTMESH_BASE_VECTORS_H
#define CVTMESH_BASE_VECTORS_H

#if defined(__CUDACC__)
#define CVTM_INLINE static __host__ __device__ inline
#define CVTM_WIDE
#elif defined(__x86_64__)
#define CVTM_INLINE static inline __attribute__((always_inline))
#define CVTM_WIDE __attribute__((target("avx2")))
#else
#define CVTM_INLINE static inline
#define CVTM_WIDE
#endif

/* True if functions marked CVTM_WIDE may be called: the processor has AVX2, and the environment
 * variable CVTMESH_VECTORS is not "baseline". The variable is read at the first call. */
int cvtm_has_wide_vectors(void);

#endif

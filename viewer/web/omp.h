/* OpenMP's functions for a program with one thread, in the build of the page. */
#ifndef CVTMESH_VIEWER_WEB_OMP_H
#define CVTMESH_VIEWER_WEB_OMP_H

static inline int omp_get_max_threads(void) { return 1; }
static inline int omp_get_num_procs(void) { return 1; }
static inline int omp_get_num_threads(void) { return 1; }
static inline int omp_get_thread_num(void) { return 0; }
static inline void omp_set_num_threads(int count) { (void)count; }

#endif

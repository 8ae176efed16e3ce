/* The clock behind times and time limits. */
#ifndef CVTMESH_BASE_CLOCK_H
#define CVTMESH_BASE_CLOCK_H

#include <time.h>

/* Seconds from some fixed moment. Never goes back, whoever sets the time of day. */
static inline double cvtm_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif

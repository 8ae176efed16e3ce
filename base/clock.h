/* The clock for timings and time limits. */
#ifndef CVTMESH_BASE_CLOCK_H
#define CVTMESH_BASE_CLOCK_H

#include "base/api.h"

CVTM_C_BEGIN

/* Seconds since some fixed moment; never decreases, even if the time of day is set. The function is
 * alone in its file, so that a test can replace it. */
double cvtm_clock(void);

CVTM_C_END
#endif

/* The clock for timings and time limits. */
#pragma once

#include "base/api.h"

CVTM_C_BEGIN

/* Seconds since some fixed moment; never decreases, even if the time of day is set. The function is
 * alone in its file, so that a test can replace it. */
double cvtm_clock(void);

CVTM_C_END

/* The clock behind times and time limits. */
#ifndef CVTMESH_BASE_CLOCK_H
#define CVTMESH_BASE_CLOCK_H

#ifdef __cplusplus
extern "C" {
#endif

/* Seconds from some fixed moment. Never goes back, whoever sets the time of day. The function is
 * alone in its file, so that a test can replace it. */
double cvtm_clock(void);

#ifdef __cplusplus
}
#endif
#endif

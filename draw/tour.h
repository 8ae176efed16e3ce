/* Tours: short closed paths through all points (the travelling salesman problem), for pens. */
#pragma once

#include "base/status.h"

#include <stdint.h>

CVTM_API_BEGIN

/* Sets order[0 .. count) to the points (x, y; finite) along a closed tour: greedy edges, then 2-opt
 * and Or-opt moves among nearest neighbours with don't-look bits (Bentley 1992; Johnson & McGeoch
 * 1997), then exchanges of random neighbouring segments, each followed by such moves and reverted
 * if the tour became longer (Martin, Otto & Felten 1991, with segments as in Or-3opt). The tour
 * starts at the point nearest to (0, 0) and continues to the nearer of its two neighbours. O(n log
 * n) without the reversals. threads: number of CPU threads; 0: one per core; the order does not
 * depend on it. Fails with CVTM_ERROR_ARGUMENT for count < 1 or count > 2^30, with CVTM_ERROR_INPUT
 * if a coordinate is not finite or its magnitude exceeds 1e150, and with CVTM_ERROR_MEMORY. */
cvtm_status cvtm_tour_create(const double *points, int64_t count, int threads, int32_t *order,
                             cvtm_error *error);

/* cvtm_tour_create that calls stop(context) from time to time while it shortens the tour, and
 * returns the current tour once stop returns nonzero. stop may be NULL. */
typedef int (*cvtm_tour_stop)(void *context);
cvtm_status cvtm_tour_create_until(const double *points, int64_t count, int threads,
                                   cvtm_tour_stop stop, void *context, int32_t *order,
                                   cvtm_error *error);

/* Removes the longest edge of a tour, order[0 .. count) as of cvtm_tour_create, in place. The
 * remaining path starts at its end nearer to (0, 0). points: as for cvtm_tour_create. */
void cvtm_tour_open(const double *points, int64_t count, int32_t *order);

/* The length of the path order[0], ..., order[count - 1], in the units of the points. closed:
 * nonzero: includes the edge from the last point to the first. */
double cvtm_tour_length(const double *points, int64_t count, const int32_t *order, int closed);

/* Sets *bound to half the sum over all points of the distances to their two nearest points. No
 * closed tour is shorter; on a triangular lattice the shortest tour has this length. points, count,
 * threads and errors as for cvtm_tour_create. */
cvtm_status cvtm_tour_bound(const double *points, int64_t count, int threads, double *bound,
                            cvtm_error *error);

/* The asymptotic length of the shortest tour through `count` independent uniform points in a region
 * of this area: 0.7124 sqrt(count * area) (Johnson, McGeoch & Rothberg 1996). */
double cvtm_tour_estimate(int64_t count, double area);

CVTM_API_END

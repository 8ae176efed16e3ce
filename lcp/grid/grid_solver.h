/* Inside lcp only: linear systems on a grid, one cycle at a time, for a caller who changes the
 * diagonal between them. */
#ifndef CVTMESH_LCP_GRID_GRID_SOLVER_H
#define CVTMESH_LCP_GRID_GRID_SOLVER_H

#include "lcp/lcp.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A x = b for a solver by cvtm_lcp_create_grid whose coefficients are set. Forgets all that is
 * known of coarse operators. No solve may follow. */
cvtm_status cvtm_grid_begin_cycles(cvtm_lcp *lcp, const double *b, double *x);
/* width * height bytes in device memory: CVTM_GRID_CHANGED goes where the diagonal has changed
 * since the last cycle. The first cvtm_lcp_set_grid with links may move it; NULL after that has
 * found no memory. */
enum { CVTM_GRID_CHANGED = 0xff };
uint8_t *cvtm_grid_changes(cvtm_lcp *lcp);
/* One V-cycle, enqueued. */
cvtm_status cvtm_grid_cycle(cvtm_lcp *lcp);

#ifdef __cplusplus
}
#endif
#endif

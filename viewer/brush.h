/* What a dab of the brush (CVTM_SOLVE_PAINT) does to a density. */
#ifndef CVTMESH_VIEWER_BRUSH_H
#define CVTMESH_VIEWER_BRUSH_H

#include "viewer/solver.h"

/* Nonzero if the dab would leave no pixel with density. density: width * height. */
int cvtm_brush_empties(const float *density, cvtm_domain domain, const cvtm_solver_command *dab);
/* Dense dabs raise the density towards `reference`, softly to the dab's rim; sparse ones lower it;
 * an obstacle makes it 0. dab->radius > 0. */
void cvtm_brush_dab(float *density, cvtm_domain domain, double reference,
                    const cvtm_solver_command *dab);

#endif

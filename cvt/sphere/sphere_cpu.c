#include "cvt/sphere/sphere_phases.h"

CVTM_SPHERE_PHASES(CVTM_PHASE_CPU)

const cvtm_sphere_table cvtm_sphere_cpu = {CVTM_SPHERE_PHASES(CVTM_PHASE_CPU_NAME)};

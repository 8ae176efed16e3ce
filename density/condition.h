/* Asymmetric smoothing, grading, and the bound on the gradation of sizes, in this order: the last
 * steps of density/pipeline.h. */
#ifndef CVTMESH_DENSITY_CONDITION_H
#define CVTMESH_DENSITY_CONDITION_H

#include "base/device.h"
#include "density/bias.h"
#include "density/grade.h"

CVTM_API_BEGIN

typedef struct cvtm_condition_options {
  double bias;       /* p of the asymmetric smoothing; 0.5 */
  double smooth;     /* its lambda; 0: none */
  double grade;      /* lambda of grading; 0: none */
  double grade_max;  /* upper bound of grading, where the density is not larger; infinite */
  double grade_size; /* largest slope of the size density^(-1/4); 0: any */
  CVTM_RESERVED(7);
} cvtm_condition_options;

void cvtm_condition_defaults(cvtm_condition_options *options);
/* Nonzero if the options change anything. */
int cvtm_condition_wanted(const cvtm_condition_options *options);

typedef struct cvtm_condition_result {
  cvtm_hlcp_result bias; /* of the steps that the options ask for */
  cvtm_lcp_result grade;
  int converged;
  CVTM_RESERVED(6);
} cvtm_condition_result;

/* Changes density (host, width * height, >= 0, 0 where mask is 0) in place. mask: width * height,
 * or NULL; outside it the density stays 0. The residuals of the complementarity problems end below
 * 1e-8 times the largest density (2-norm), or at rounding. */
cvtm_status cvtm_density_condition(cvtm_device *device, int width, int height, const uint8_t *mask,
                                   const cvtm_condition_options *options, double *density,
                                   cvtm_condition_result *result);

/* The same of a density in device memory. Waits for the device. CVTM_ERROR_UNSUPPORTED with a
 * grade_size, which is computed on the host. */
cvtm_status cvtm_density_condition_on_device(cvtm_device *device, int width, int height,
                                             const uint8_t *mask,
                                             const cvtm_condition_options *options, double *density,
                                             cvtm_condition_result *result);

/* density = h^-4 for the largest sizes h <= density^(-1/4) with |grad h| <= slope; paths along
 * which the slope counts stay in the mask. */
void cvtm_grade_size(int width, int height, const uint8_t *mask, double slope, double *density);

CVTM_API_END
#endif

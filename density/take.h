/* Inside the program: a density made in the memory of its picture, which then has no values any
 * more. A large picture needs half the memory so, and no time for pages. */
#ifndef CVTMESH_DENSITY_TAKE_H
#define CVTMESH_DENSITY_TAKE_H

#include "density/pipeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As cvtm_density_from_image. Takes image->value over, unless that is part of image->storage. */
cvtm_status cvtm_density_take(cvtm_image *image, const cvtm_density_options *options,
                              const char *name, float **density, cvtm_error *error);
/* As cvtm_pipeline_run. Takes image->value over where no step but the tone needs it. */
cvtm_status cvtm_pipeline_take(cvtm_device *device, cvtm_image *image, const char *name,
                               const cvtm_pipeline_options *options, cvtm_pipeline_result *result,
                               cvtm_error *error);

#ifdef __cplusplus
}
#endif
#endif

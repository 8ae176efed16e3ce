/* Inside the program only: stores the density in the memory of the picture's values, which are
 * lost. A large picture then needs half the memory, and no time to map new pages. */
#pragma once

#include "density/pipeline.h"

CVTM_C_BEGIN

/* cvtm_density_from_image that reuses image->value, unless that is part of image->storage. */
cvtm_status cvtm_density_take(cvtm_image *image, const cvtm_density_options *options,
                              const char *name, float **density, cvtm_error *error);
/* cvtm_pipeline_run that reuses image->value if no step after the tone needs it. */
cvtm_status cvtm_pipeline_take(cvtm_device *device, cvtm_image *image, const char *name,
                               const cvtm_pipeline_options *options, cvtm_pipeline_result *result,
                               cvtm_error *error);

CVTM_C_END

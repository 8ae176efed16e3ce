/* The version of the library. tests/test_layers.py compares other files that state it. */
#pragma once

#include "base/api.h"

#define CVTMESH_VERSION_MAJOR 1
#define CVTMESH_VERSION_MINOR 0
#define CVTMESH_VERSION_PATCH 0
/* For comparisons: 10203 for 1.2.3. */
#define CVTMESH_VERSION_NUMBER \
  (CVTMESH_VERSION_MAJOR * 10000 + CVTMESH_VERSION_MINOR * 100 + CVTMESH_VERSION_PATCH)

CVTM_API_BEGIN

/* The version of the linked library, such as "1.2.3"; the macros give the version of the
 * headers. */
const char *cvtmesh_version(void);
/* The version of the linked library, as CVTMESH_VERSION_NUMBER. */
int cvtmesh_version_number(void);

CVTM_API_END

#include "base/version.h"

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

const char *cvtmesh_version(void) {
  return TEXT(CVTMESH_VERSION_MAJOR) "." TEXT(CVTMESH_VERSION_MINOR) "." TEXT(
      CVTMESH_VERSION_PATCH);
}

int cvtmesh_version_number(void) { return CVTMESH_VERSION_NUMBER; }

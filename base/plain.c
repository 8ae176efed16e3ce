#include "base/plain.h"

#include <stdlib.h>
#include <string.h>

int cvtm_uses_plain(const char *name) {
  const char *at = getenv("CVTMESH_PLAIN");
  const size_t length = strlen(name);
  while (at) {
    if (strncmp(at, name, length) == 0 && (at[length] == 0 || at[length] == ',')) return 1;
    at = strchr(at, ',');
    if (at) ++at;
  }
  return 0;
}

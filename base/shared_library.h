/* Inside the library: shared libraries that are loaded when they are needed, and not linked. So a
 * program also starts without them, and sooner. */
#pragma once

#include "base/api.h"

CVTM_C_BEGIN

/* Loads the first of `files` that can be loaded, for the rest of the process. place: the address of
 * a pointer to the library, NULL at first, which pointers to the functions `names` follow. In both
 * lists '\0' ends each name, the last one, too. Returns NULL, or the reason of a failure, which
 * lasts until the thread calls the loader again. Threads may call it at the same time. */
const char *cvtm_library_load(const char *files, const char *names, void *place);

CVTM_C_END

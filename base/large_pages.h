/* Memory of many megabytes that is written once from end to end. */
#ifndef CVTMESH_BASE_LARGE_PAGES_H
#define CVTMESH_BASE_LARGE_PAGES_H

#include <stddef.h>

/* Asks the system for large pages where `size` bytes of malloc'd memory have room for some. The
 * first touch of small ones can take longer than what is then done with the memory. */
void cvtm_prefer_large_pages(void *memory, size_t size);
/* Has threads touch the pages of memory, if it is large, so that a copy to it by one thread need
 * not wait for them. Contents stay: the copy may fail. Asks for large pages first. */
void cvtm_touch_pages(void *memory, size_t size);

#endif

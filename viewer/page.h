/* One self-contained HTML page of a run: its pictures, the energy over the iterations, and a
 * report. It loads no other file. */
#ifndef CVTMESH_VIEWER_PAGE_H
#define CVTMESH_VIEWER_PAGE_H

#include "base/status.h"
#include "viewer/frame.h"

typedef struct cvtm_page_picture {
  const char *path; /* a PNG file, which is embedded */
  int64_t iteration;
  int64_t sites;
  double ratio;
} cvtm_page_picture;

typedef struct cvtm_html_page {
  const char *title;
  int dark;
  const cvtm_page_picture *pictures;
  int64_t picture_count;
  const cvtm_view_history *history;
  const char *report; /* JSON text, shown as it is; NULL: none */
} cvtm_html_page;

/* Of more than 120 pictures the page shows every k-th, with the smallest k that leaves 120, and the
 * last. */
cvtm_status cvtm_page_write(const char *path, const cvtm_html_page *page, cvtm_error *error);

#endif

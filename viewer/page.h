/* Writes a self-contained HTML page about a run: pictures, energy over iterations, and a report. */
#pragma once

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
  const char *report; /* JSON text, shown unchanged; NULL: none */
} cvtm_html_page;

/* Writes the page. Of more than 120 pictures it shows every k-th, k = ceil(count / 120), and the
 * last. */
cvtm_status cvtm_page_write(const char *path, const cvtm_html_page *page, cvtm_error *error);

#include "cvt/noise/cell_list.h"

#include <stdlib.h>
#include <string.h>

static int cells_along(double length, double side, double most) {
  return (int)fmax(1, fmin(floor(length / side), most));
}

static int cell_of(const cvtm_cell_list *list, const double *point) {
  return cvtm_cell_on_axis(point[1], list->height, list->rows) * list->columns +
         cvtm_cell_on_axis(point[0], list->width, list->columns);
}

cvtm_status cvtm_cell_list_create(cvtm_domain domain, const double *points, int64_t count,
                                  double side, cvtm_cell_list *list, cvtm_error *error) {
  const double width = domain.width, height = domain.height;
  const double least = sqrt(width * height / (4 * (double)count + 1));
  cvtm_cell_list made = {.domain = domain};
  side = fmax(side, least);
  made.columns = cells_along(width, side, 1 << 15);
  made.rows = cells_along(height, side, 1 << 15);
  made.width = width / made.columns;
  made.height = height / made.rows;
  const size_t cells = (size_t)made.columns * (size_t)made.rows;
  made.start = calloc(cells + 2, sizeof *made.start);
  made.order = malloc((size_t)count * sizeof *made.order + 1);
  if (made.start == NULL || made.order == NULL) {
    cvtm_cell_list_free(&made);
    *list = made;
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for %lld points", (long long)count);
  }
  /* start[c + 1] counts, then becomes where the next point of cell c goes. */
  for (int64_t i = 0; i < count; ++i) ++made.start[cell_of(&made, points + 2 * i) + 2];
  for (size_t c = 0; c < cells; ++c) made.start[c + 2] += made.start[c + 1];
  for (int64_t i = 0; i < count; ++i)
    made.order[made.start[cell_of(&made, points + 2 * i) + 1]++] = (int32_t)i;
  *list = made;
  return CVTM_OK;
}

void cvtm_cell_list_free(cvtm_cell_list *list) {
  free(list->start);
  free(list->order);
  list->start = NULL;
  list->order = NULL;
}

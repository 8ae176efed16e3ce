#include "density/segment_stored.h"

#include <stdlib.h>

/* The coefficients of a step in host memory. */
typedef struct links {
  int64_t width, height;
  double *diagonal, *horizontal, *vertical;
} links;

static cvtm_status read_links(cvtm_device *device, const cvtm_level_set *set, links *l) {
  const int64_t across = (set->width + 1) * set->height, down = set->width * (set->height + 1);
  const int64_t pixels = set->width * set->height;
  const struct {
    double **place;
    const double *from;
    int64_t count;
  } parts[] = {{&l->diagonal, set->diagonal, pixels},
               {&l->horizontal, set->horizontal, across},
               {&l->vertical, set->vertical, down}};
  cvtm_status status = CVTM_OK;
  l->width = set->width;
  l->height = set->height;
  for (int k = 0; k < 3 && status == CVTM_OK; ++k) {
    const size_t bytes = (size_t)parts[k].count * sizeof(double);
    *parts[k].place = malloc(bytes);
    status = *parts[k].place != NULL
                 ? cvtm_device_copy_out(device, *parts[k].place, parts[k].from, bytes)
                 : cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "out of memory");
  }
  return status;
}

static void free_links(links *l) {
  free(l->diagonal);
  free(l->horizontal);
  free(l->vertical);
}

/* Appends an entry; returns the number of entries. */
static int64_t append_entry(cvtm_csr *a, int64_t count, int64_t column, double value) {
  a->column[count] = (int32_t)column;
  a->value[count] = value;
  return count + 1;
}

/* Row p = (i, j): north, west, own, east, south. Links that leave the image are 0. */
static int64_t append_row(const links *l, int64_t i, int64_t j, int64_t count, cvtm_csr *a) {
  const int64_t p = j * l->width + i;
  const double north = l->vertical[p], south = l->vertical[p + l->width];
  const double west = l->horizontal[j * (l->width + 1) + i];
  const double east = l->horizontal[j * (l->width + 1) + i + 1];
  if (j > 0) count = append_entry(a, count, p - l->width, -north);
  if (i > 0) count = append_entry(a, count, p - 1, -west);
  count = append_entry(a, count, p, l->diagonal[p] + ((west + east) + (north + south)));
  if (i + 1 < l->width) count = append_entry(a, count, p + 1, -east);
  if (j + 1 < l->height) count = append_entry(a, count, p + l->width, -south);
  a->row_start[p + 1] = count;
  return count;
}

static cvtm_status assemble(const links *l, cvtm_csr *a, cvtm_error *error) {
  const int64_t pixels = l->width * l->height;
  const cvtm_status status = cvtm_csr_create(pixels, pixels, 5 * pixels, a, error);
  if (status != CVTM_OK) return status;
  int64_t count = 0;
  a->row_start[0] = 0;
  for (int64_t j = 0; j < l->height; ++j)
    for (int64_t i = 0; i < l->width; ++i) count = append_row(l, i, j, count, a);
  return CVTM_OK;
}

cvtm_status cvtm_segment_solve_stored(cvtm_device *device, const cvtm_level_set *set,
                                      const cvtm_lcp_options *options, const double *lower,
                                      const double *upper, double *x, cvtm_lcp_result *result) {
  links l = {0};
  cvtm_csr a = {0};
  cvtm_lcp *lcp = NULL;
  cvtm_status status = read_links(device, set, &l);
  if (status == CVTM_OK) status = assemble(&l, &a, cvtm_device_error(device));
  if (status == CVTM_OK)
    status = cvtm_lcp_create(device, &a, set->width, set->height, options, &lcp);
  if (status == CVTM_OK) status = cvtm_lcp_solve(lcp, set->right, lower, upper, x, 1, result);
  cvtm_lcp_destroy(lcp);
  cvtm_csr_free(&a);
  free_links(&l);
  return status;
}

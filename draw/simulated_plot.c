/* Simulates what a drawing looks like on paper. */
#include "base/host.h"
#include "draw/disc.h"
#include "draw/drawing.h"

#include <string.h>

/* The segments of all strokes, in pixels of the picture. */
typedef struct pieces {
  double *from, *to, *radius;
  int64_t count;
} pieces;

static void place_in_picture(const cvtm_page *page, const double *mm, double *pixels) {
  pixels[0] = (mm[0] - page->left) / page->scale;
  pixels[1] = (mm[1] - page->top) / page->scale;
}

/* Adds the segments between the points of stroke k, or its only point. */
static void add_pieces(const cvtm_drawing *drawing, int64_t k, double radius, pieces *made) {
  const int64_t first = drawing->start[k], points = drawing->start[k + 1] - first;
  for (int64_t i = 0; i < points - (points > 1); ++i) {
    const double *p = drawing->points + 2 * (first + i);
    place_in_picture(&drawing->page, p, made->from + 2 * made->count);
    place_in_picture(&drawing->page, points > 1 ? p + 2 : p, made->to + 2 * made->count);
    made->radius[made->count++] = radius / drawing->page.scale;
  }
}

cvtm_status cvtm_drawing_coverage(const cvtm_drawing *drawing, int width, int height,
                                  float *coverage, cvtm_error *error) {
  const cvtm_disc_grid grid = cvtm_disc_grid_make((cvtm_domain){width, height, 0}, 1);
  const int64_t strokes = drawing->stroke_count;
  const size_t most = (size_t)(strokes > 0 ? drawing->start[strokes] : 0) + 1;
  cvtm_scratch memory = {0};
  pieces made = {.from = cvtm_scratch_take(&memory, 2 * most, sizeof *made.from),
                 .to = cvtm_scratch_take(&memory, 2 * most, sizeof *made.to),
                 .radius = cvtm_scratch_take(&memory, most, sizeof *made.radius)};
  cvtm_status status = CVTM_OK;
  if (memory.failed) status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a simulated plot");
  for (int64_t part = 0; status == CVTM_OK && part < cvtm_drawing_parts(drawing); ++part) {
    int64_t first, end;
    cvtm_drawing_part(drawing, part, &first, &end);
    for (int64_t k = first; k < end; ++k)
      add_pieces(
          drawing, k,
          drawing->radius != NULL ? drawing->radius[k] : 0.5 * cvtm_drawing_width_of(drawing, part),
          &made);
  }
  if (status == CVTM_OK && made.count == 0)
    memset(coverage, 0, (size_t)width * (size_t)height * sizeof *coverage);
  else if (status == CVTM_OK)
    status =
        cvtm_stroke_coverage(&grid, made.from, made.to, made.radius, made.count, coverage, error);
  cvtm_scratch_free(&memory);
  return status;
}

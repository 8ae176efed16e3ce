#include "base/file.h"
#include "draw/drawing.h"
#include "draw/drawing_files.h"

#include <math.h>

static void put_hpgl_point(FILE *file, const char *command, const cvtm_drawing *drawing,
                           int64_t i) {
  const double units = 40; /* per mm */
  fprintf(file, "%s%lld,%lld;", command, llround(units * drawing->points[2 * i]),
          llround(units * (drawing->page.height - drawing->points[2 * i + 1])));
}

static void put_hpgl_part(FILE *file, const cvtm_drawing *drawing, int64_t part) {
  int64_t first_stroke, end_stroke;
  cvtm_drawing_part(drawing, part, &first_stroke, &end_stroke);
  for (int64_t k = first_stroke; k < end_stroke; ++k) {
    const int64_t first = drawing->start[k];
    put_hpgl_point(file, "PU", drawing, first);
    fputs("PD;", file);
    for (int64_t i = first + 1; i < drawing->start[k + 1]; ++i)
      put_hpgl_point(file, "PD", drawing, i);
    fputs("PU;\n", file);
  }
}

cvtm_status cvtm_drawing_write_hpgl(const char *path, const cvtm_drawing *drawing,
                                    cvtm_error *error) {
  cvtm_output *output;
  cvtm_status status = cvtm_output_open(path, &output, error);
  if (status != CVTM_OK) return status;
  FILE *file = cvtm_output_stream(output);
  fputs("IN;PA;", file);
  int is_first = 1;
  for (int64_t part = 0; part < cvtm_drawing_parts(drawing); ++part) {
    if (drawing->pens != NULL && cvtm_drawing_part_is_empty(drawing, part)) continue;
    fprintf(file, "%sSP%d;\n", is_first ? "" : "SP0;", cvtm_drawing_pen_of(drawing, part) + 1);
    put_hpgl_part(file, drawing, part);
    is_first = 0;
  }
  if (is_first) fputc('\n', file);
  fputs("PU0,0;SP0;\n", file);
  return cvtm_output_commit(output, error);
}

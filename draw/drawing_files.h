/* Inside draw/: numbers of the files that machines read. */
#ifndef CVTMESH_DRAW_DRAWING_FILES_H
#define CVTMESH_DRAW_DRAWING_FILES_H

#include "draw/drawing.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum { CVTM_FIXED_MAX = 40 };

/* Formats millimetres with three decimals, with a point in every locale. */
static inline void cvtm_format_fixed(char text[CVTM_FIXED_MAX], double mm) {
  const long long thousandths = llround(1000 * mm);
  snprintf(text, CVTM_FIXED_MAX, "%s%lld.%03lld", thousandths < 0 ? "-" : "",
           llabs(thousandths) / 1000, llabs(thousandths) % 1000);
}

static inline void cvtm_put_fixed(FILE *file, double mm) {
  char text[CVTM_FIXED_MAX];
  cvtm_format_fixed(text, mm);
  fputs(text, file);
}

/* True for the layer of a pen that draws nothing. */
static inline int cvtm_drawing_part_is_empty(const cvtm_drawing *drawing, int64_t part) {
  int64_t first, end;
  cvtm_drawing_part(drawing, part, &first, &end);
  return first == end;
}

#endif

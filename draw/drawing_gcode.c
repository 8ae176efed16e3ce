#include "base/file.h"
#include "draw/drawing.h"
#include "draw/drawing_files.h"

#include <string.h>

static void put_lines(FILE *file, const cvtm_gcode_lines *lines) {
  for (int k = 0; k < lines->count; ++k) fprintf(file, "%s\n", lines->line[k]);
}

/* Writes the template with numbers in the places of {x} and {y}. */
static void put_move(FILE *file, const char *template, double x, double y) {
  for (const char *c = template; *c != '\0'; ++c) {
    if (strncmp(c, "{x}", 3) != 0 && strncmp(c, "{y}", 3) != 0) {
      fputc(*c, file);
      continue;
    }
    cvtm_put_fixed(file, c[1] == 'x' ? x : y);
    c += 2;
  }
  fputc('\n', file);
}

/* A name as it may stand in a comment in parentheses or in a message. */
static void put_name(FILE *file, const char *name) {
  for (; *name != '\0'; ++name) fputc(strchr("();", *name) != NULL ? ' ' : *name, file);
}

static void put_pen_line(FILE *file, const char *template, const cvtm_pen *pen, int number) {
  for (const char *c = template; *c != '\0'; ++c) {
    if (strncmp(c, "{pen}", 5) == 0) {
      fprintf(file, "%d", number);
      c += 4;
    } else if (strncmp(c, "{name}", 6) == 0) {
      put_name(file, pen->name);
      c += 5;
    } else {
      fputc(*c, file);
    }
  }
  fputc('\n', file);
}

/* What stands before a part: a pause, unless it is the first, and the lines of a new pen. */
static void begin_gcode_part(FILE *file, const cvtm_drawing *drawing,
                             const cvtm_gcode_profile *profile, int64_t part, int64_t before) {
  const int pen = cvtm_drawing_pen_of(drawing, part);
  if (before >= 0) put_lines(file, &profile->pause);
  if (drawing->pens == NULL) return;
  if (before >= 0 && cvtm_drawing_pen_of(drawing, before) == pen) return;
  for (int k = 0; k < profile->pen.count; ++k)
    put_pen_line(file, profile->pen.line[k], &drawing->pens[pen], pen + 1);
}

static void put_gcode_point(FILE *file, const char *template, const cvtm_drawing *drawing,
                            const cvtm_gcode_profile *profile, int64_t i) {
  const double y = drawing->points[2 * i + 1];
  put_move(file, template, drawing->points[2 * i],
           profile->from_top ? y : drawing->page.height - y);
}

static void put_gcode_part(FILE *file, const cvtm_drawing *drawing,
                           const cvtm_gcode_profile *profile, int64_t part) {
  int64_t first_stroke, end_stroke;
  cvtm_drawing_part(drawing, part, &first_stroke, &end_stroke);
  for (int64_t k = first_stroke; k < end_stroke; ++k) {
    const int64_t first = drawing->start[k], end = drawing->start[k + 1];
    put_gcode_point(file, profile->travel, drawing, profile, first);
    put_lines(file, &profile->down);
    if (end == first + 1) put_lines(file, &profile->dwell);
    for (int64_t i = first + 1; i < end; ++i)
      put_gcode_point(file, profile->draw, drawing, profile, i);
    put_lines(file, &profile->up);
  }
}

cvtm_status cvtm_drawing_write_gcode(const char *path, const cvtm_drawing *drawing,
                                     const cvtm_gcode_profile *profile, cvtm_error *error) {
  cvtm_output *output;
  cvtm_status status = cvtm_output_open(path, &output, error);
  if (status != CVTM_OK) return status;
  FILE *file = cvtm_output_stream(output);
  put_lines(file, &profile->start);
  put_lines(file, &profile->up);
  int64_t before = -1;
  for (int64_t part = 0; part < cvtm_drawing_parts(drawing); ++part) {
    if (drawing->pens != NULL && cvtm_drawing_part_is_empty(drawing, part)) continue;
    begin_gcode_part(file, drawing, profile, part, before);
    put_gcode_part(file, drawing, profile, part);
    before = part;
  }
  put_lines(file, &profile->end);
  return cvtm_output_commit(output, error);
}

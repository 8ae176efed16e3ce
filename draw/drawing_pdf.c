#include "base/file.h"
#include "draw/drawing.h"

#if CVTMESH_HAVE_CAIRO

#include "base/portable.h"

#include <cairo-pdf.h>

static cairo_status_t write_bytes(void *file, const unsigned char *bytes, unsigned size) {
  return fwrite(bytes, 1, size, file) == size ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

/* One area for many dots keeps the file small. */
static void draw_dots(cairo_t *cairo, const cvtm_drawing *drawing, int64_t first, int64_t end) {
  enum { PER_AREA = 256 };
  for (int64_t k = first; k < end; ++k) {
    cairo_new_sub_path(cairo);
    cairo_arc(cairo, drawing->points[2 * k], drawing->points[2 * k + 1], drawing->radius[k], 0,
              2 * CVTM_PI);
    cairo_close_path(cairo);
    if ((k - first) % PER_AREA == PER_AREA - 1) cairo_fill(cairo);
  }
  cairo_fill(cairo);
}

static void draw_lines(cairo_t *cairo, const cvtm_drawing *drawing, int64_t first, int64_t end) {
  cairo_set_line_width(cairo, drawing->line_width);
  cairo_set_line_join(cairo, CAIRO_LINE_JOIN_ROUND);
  cairo_set_line_cap(cairo, CAIRO_LINE_CAP_ROUND);
  for (int64_t k = first; k < end; ++k) {
    for (int64_t i = drawing->start[k]; i < drawing->start[k + 1]; ++i)
      cairo_line_to(cairo, drawing->points[2 * i], drawing->points[2 * i + 1]);
    cairo_stroke(cairo);
  }
}

static void draw_parts(cairo_t *cairo, const cvtm_drawing *drawing, int64_t first, int64_t end) {
  for (int64_t part = first; part < end; ++part) {
    int64_t first_stroke, end_stroke;
    cvtm_drawing_part(drawing, part, &first_stroke, &end_stroke);
    (drawing->radius != NULL ? draw_dots : draw_lines)(cairo, drawing, first_stroke, end_stroke);
  }
}

/* Each pen is a transparency group, so that where its own strokes overlap its ink is not darker;
 * the colours of different pens multiply. */
static void draw_pens(cairo_t *cairo, const cvtm_drawing *drawing) {
  const int64_t parts = cvtm_drawing_parts(drawing);
  for (int64_t first = 0, end; first < parts; first = end) {
    const int pen = cvtm_drawing_pen_of(drawing, first);
    const unsigned char *colour = drawing->pens[pen].colour;
    for (end = first + 1; end < parts && cvtm_drawing_pen_of(drawing, end) == pen;) ++end;
    cairo_push_group(cairo);
    cairo_set_source_rgb(cairo, colour[0] / 255., colour[1] / 255., colour[2] / 255.);
    draw_parts(cairo, drawing, first, end);
    cairo_pop_group_to_source(cairo);
    cairo_set_operator(cairo, CAIRO_OPERATOR_MULTIPLY);
    cairo_paint(cairo);
    cairo_set_operator(cairo, CAIRO_OPERATOR_OVER);
  }
}

static void draw_page(cairo_t *cairo, const cvtm_drawing *drawing) {
  const double points_per_mm = 72 / 25.4;
  cairo_scale(cairo, points_per_mm, points_per_mm);
  cairo_set_source_rgb(cairo, 0, 0, 0);
  if (drawing->light) {
    cairo_paint(cairo);
    cairo_set_source_rgb(cairo, 1, 1, 1);
  }
  if (drawing->pens != NULL)
    draw_pens(cairo, drawing);
  else
    draw_parts(cairo, drawing, 0, cvtm_drawing_parts(drawing));
}

/* The date is fixed: the same drawing gives the same bytes. */
static cairo_status_t draw_file(FILE *file, const cvtm_drawing *drawing) {
  const double points_per_mm = 72 / 25.4;
  cairo_surface_t *surface = cairo_pdf_surface_create_for_stream(
      write_bytes, file, points_per_mm * drawing->page.width, points_per_mm * drawing->page.height);
  cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATE_DATE, "2000-01-01T00:00:00Z");
  cairo_t *cairo = cairo_create(surface);
  draw_page(cairo, drawing);
  cairo_status_t status = cairo_status(cairo);
  cairo_destroy(cairo);
  cairo_surface_finish(surface);
  if (status == CAIRO_STATUS_SUCCESS) status = cairo_surface_status(surface);
  cairo_surface_destroy(surface);
  return status;
}

int cvtm_drawing_writes_pdf(void) { return 1; }

cvtm_status cvtm_drawing_write_pdf(const char *path, const cvtm_drawing *drawing,
                                   cvtm_error *error) {
  cvtm_output *output;
  const cvtm_status status = cvtm_output_open(path, &output, error);
  if (status != CVTM_OK) return status;
  const cairo_status_t drawn = draw_file(cvtm_output_stream(output), drawing);
  /* cvtm_output_commit reports a failed write and its reason. */
  if (drawn == CAIRO_STATUS_SUCCESS || drawn == CAIRO_STATUS_WRITE_ERROR)
    return cvtm_output_commit(output, error);
  cvtm_output_abort(output);
  return cvtm_fail(error, drawn == CAIRO_STATUS_NO_MEMORY ? CVTM_ERROR_MEMORY : CVTM_ERROR_IO,
                   "%s: %s", path, cairo_status_to_string(drawn));
}

#else

int cvtm_drawing_writes_pdf(void) { return 0; }

cvtm_status cvtm_drawing_write_pdf(const char *path, const cvtm_drawing *drawing,
                                   cvtm_error *error) {
  (void)drawing;
  return cvtm_fail(error, CVTM_ERROR_UNSUPPORTED, "%s: this build writes no PDF: it needs cairo",
                   path);
}

#endif

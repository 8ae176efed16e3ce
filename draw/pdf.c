/* PDF by cairo. */
#include "base/portable.h"
#include "base/shared_library.h"
#include "draw/drawing.h"
#include "draw/formats.h"

#if CVTMESH_HAVE_CAIRO
#include <cairo-pdf.h>

/* clang-format off */
#define FUNCTIONS(X) \
  X(arc) X(close_path) X(create) X(destroy) X(fill) X(line_to) X(move_to) X(new_sub_path) \
  X(paint) X(pdf_surface_create_for_stream) X(pdf_surface_set_metadata) X(pop_group_to_source) \
  X(push_group) X(scale) X(set_line_cap) X(set_line_join) X(set_line_width) X(set_operator) \
  X(set_source_rgb) X(set_tolerance) X(status) X(status_to_string) X(stroke) X(surface_destroy) \
  X(surface_finish) X(surface_status)
/* clang-format on */
#define POINTER(name) __typeof__(cairo_##name) *(name);
#define NAME(name) "cairo_" #name "\0"
/* Functions of cairo, which is loaded for a file. */
static struct {
  void *library;
  FUNCTIONS(POINTER)
} pdf;

/* Of curves, in points. At cairo's 0.1 the radius of a small circle is up to 2 % too large. */
#define TOLERANCE 1e-3

static cairo_status_t write_bytes(void *file, const unsigned char *bytes, unsigned size) {
  return fwrite(bytes, 1, size, file) == size ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

/* Fills many dots as one path, which keeps the file small. */
static void draw_dots(cairo_t *cairo, const cvtm_drawing *drawing, int64_t first, int64_t end) {
  enum { PER_AREA = 256 };
  for (int64_t k = first; k < end; ++k) {
    pdf.new_sub_path(cairo);
    pdf.arc(cairo, drawing->points[2 * k], drawing->points[2 * k + 1], drawing->radius[k], 0,
            2 * CVTM_PI);
    pdf.close_path(cairo);
    if ((k - first) % PER_AREA == PER_AREA - 1) pdf.fill(cairo);
  }
  pdf.fill(cairo);
}

/* Cairo draws the round caps of a line of length 0, but nothing for a path of a single point. */
static void draw_lines(cairo_t *cairo, const cvtm_drawing *drawing, int64_t first, int64_t end) {
  pdf.set_line_join(cairo, CAIRO_LINE_JOIN_ROUND);
  pdf.set_line_cap(cairo, CAIRO_LINE_CAP_ROUND);
  for (int64_t k = first; k < end; ++k) {
    const double *p = drawing->points + 2 * drawing->start[k];
    pdf.move_to(cairo, p[0], p[1]);
    for (int64_t i = drawing->start[k]; i < drawing->start[k + 1]; ++i)
      pdf.line_to(cairo, drawing->points[2 * i], drawing->points[2 * i + 1]);
    pdf.stroke(cairo);
  }
}

static void draw_parts(cairo_t *cairo, const cvtm_drawing *drawing, int64_t first, int64_t end) {
  for (int64_t part = first; part < end; ++part) {
    int64_t first_stroke, end_stroke;
    cvtm_drawing_part(drawing, part, &first_stroke, &end_stroke);
    pdf.set_line_width(cairo, cvtm_drawing_width_of(drawing, part));
    (drawing->radius != NULL ? draw_dots : draw_lines)(cairo, drawing, first_stroke, end_stroke);
  }
}

/* Draws each pen as a transparency group, so that overlapping strokes of one pen are not darker,
 * while the colours of different pens multiply. */
static void draw_pens(cairo_t *cairo, const cvtm_drawing *drawing) {
  const int64_t parts = cvtm_drawing_parts(drawing);
  for (int64_t first = 0, end; first < parts; first = end) {
    const int pen = cvtm_drawing_pen_of(drawing, first);
    const unsigned char *colour = drawing->pens[pen].colour;
    for (end = first + 1; end < parts && cvtm_drawing_pen_of(drawing, end) == pen;) ++end;
    pdf.push_group(cairo);
    pdf.set_source_rgb(cairo, colour[0] / 255., colour[1] / 255., colour[2] / 255.);
    draw_parts(cairo, drawing, first, end);
    pdf.pop_group_to_source(cairo);
    pdf.set_operator(cairo, CAIRO_OPERATOR_MULTIPLY);
    pdf.paint(cairo);
    pdf.set_operator(cairo, CAIRO_OPERATOR_OVER);
  }
}

static void draw_page(cairo_t *cairo, const cvtm_drawing *drawing) {
  const double points_per_mm = 72 / 25.4;
  pdf.scale(cairo, points_per_mm, points_per_mm);
  pdf.set_source_rgb(cairo, 0, 0, 0);
  if (drawing->light) {
    pdf.paint(cairo);
    pdf.set_source_rgb(cairo, 1, 1, 1);
  }
  if (drawing->pens != NULL)
    draw_pens(cairo, drawing);
  else
    draw_parts(cairo, drawing, 0, cvtm_drawing_parts(drawing));
}

/* Draws the page. The date is fixed, so that the same drawing gives the same bytes. */
static cairo_status_t draw_file(FILE *file, const cvtm_drawing *drawing) {
  const double points_per_mm = 72 / 25.4;
  cairo_surface_t *surface = pdf.pdf_surface_create_for_stream(
      write_bytes, file, points_per_mm * drawing->page.width, points_per_mm * drawing->page.height);
  pdf.pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATE_DATE, "2000-01-01T00:00:00Z");
  cairo_t *cairo = pdf.create(surface);
  pdf.set_tolerance(cairo, TOLERANCE);
  draw_page(cairo, drawing);
  cairo_status_t status = pdf.status(cairo);
  pdf.destroy(cairo);
  pdf.surface_finish(surface);
  if (status == CAIRO_STATUS_SUCCESS) status = pdf.surface_status(surface);
  pdf.surface_destroy(surface);
  return status;
}

int cvtm_drawing_writes_pdf(void) { return 1; }

static cvtm_status write_pdf(FILE *file, const cvtm_drawing *drawing,
                             const cvtm_drawing_settings *settings, cvtm_error *error) {
  (void)settings;
  const char *missing = cvtm_library_load(CVTMESH_CAIRO_FILE "\0", FUNCTIONS(NAME), &pdf);
  if (missing != NULL) return cvtm_fail(error, CVTM_ERROR_UNSUPPORTED, "PDF: %s", missing);
  const cairo_status_t drawn = draw_file(file, drawing);
  /* cvtm_output_commit reports a failed write and its reason. */
  if (drawn == CAIRO_STATUS_SUCCESS || drawn == CAIRO_STATUS_WRITE_ERROR) return CVTM_OK;
  return cvtm_fail(error, drawn == CAIRO_STATUS_NO_MEMORY ? CVTM_ERROR_MEMORY : CVTM_ERROR_IO,
                   "PDF: %s", pdf.status_to_string(drawn));
}

#else

int cvtm_drawing_writes_pdf(void) { return 0; }

static cvtm_status write_pdf(FILE *file, const cvtm_drawing *drawing,
                             const cvtm_drawing_settings *settings, cvtm_error *error) {
  (void)file, (void)drawing, (void)settings;
  return cvtm_fail(error, CVTM_ERROR_UNSUPPORTED, "this build writes no PDF: it needs cairo");
}

#endif

const cvtm_format cvtm_format_pdf = {.extension = "pdf",
                                     .help = "PDF: one page of vectors",
                                     .properties = CVTM_HAS_REAL_SIZE,
                                     .dependency = "cairo",
                                     .has_library = cvtm_drawing_writes_pdf,
                                     .write_drawing = write_pdf};

#include "base/file.h"
#include "base/xml_text.h"
#include "draw/drawing.h"
#include "draw/drawing_files.h"

#include <string.h>

static void put_attribute(FILE *file, const char *name, double mm, const char *unit) {
  fprintf(file, " %s=\"", name);
  cvtm_put_fixed(file, mm);
  fprintf(file, "%s\"", unit);
}

static void write_header(FILE *file, const cvtm_page *page) {
  fputs(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" "
      "xmlns:inkscape=\"http://www.inkscape.org/namespaces/inkscape\"",
      file);
  put_attribute(file, "width", page->width, page->in_pixels ? "" : "mm");
  put_attribute(file, "height", page->height, page->in_pixels ? "" : "mm");
  fputs(" viewBox=\"0 0 ", file);
  cvtm_put_fixed(file, page->width);
  fputc(' ', file);
  cvtm_put_fixed(file, page->height);
  fputs("\">\n", file);
}

static void write_dots(FILE *file, const cvtm_drawing *drawing, int64_t first, int64_t end) {
  for (int64_t k = first; k < end; ++k) {
    fputs("<circle", file);
    put_attribute(file, "cx", drawing->points[2 * k], "");
    put_attribute(file, "cy", drawing->points[2 * k + 1], "");
    put_attribute(file, "r", drawing->radius[k], "");
    fputs("/>\n", file);
  }
}

static void write_lines(FILE *file, const cvtm_drawing *drawing, int64_t first_stroke,
                        int64_t end_stroke) {
  enum { PER_LINE = 16 };
  for (int64_t k = first_stroke; k < end_stroke; ++k) {
    const int64_t first = drawing->start[k];
    fputs("<path d=\"", file);
    for (int64_t i = first; i < drawing->start[k + 1]; ++i) {
      if (i > first && (i - first) % PER_LINE == 0) fputc('\n', file);
      fputc(i == first ? 'M' : 'L', file);
      cvtm_put_fixed(file, drawing->points[2 * i]);
      fputc(',', file);
      cvtm_put_fixed(file, drawing->points[2 * i + 1]);
    }
    fputs("\"/>\n", file);
  }
}

/* Layers are numbered: programs for plotters pause between them. */
static void write_layer_name(FILE *file, const cvtm_drawing *drawing, int64_t part,
                             const cvtm_pen *pen) {
  fprintf(file, "<g inkscape:groupmode=\"layer\" inkscape:label=\"%lld ", (long long)part + 1);
  cvtm_put_xml_text(file, pen != NULL ? pen->name : drawing->light ? "white" : "black");
  fprintf(file, "\" id=\"part%lld\"", (long long)part + 1);
  if (pen != NULL) fputs(" style=\"mix-blend-mode:multiply\"", file);
}

static void write_layer(FILE *file, const cvtm_drawing *drawing, int64_t part) {
  const cvtm_pen *pen = drawing->pens != NULL ? &drawing->pens[drawing->pen[part]] : NULL;
  char ink[8];
  int64_t first, end;
  cvtm_drawing_part(drawing, part, &first, &end);
  snprintf(ink, sizeof ink, "%s", drawing->light ? "#fff" : "#000");
  if (pen != NULL)
    snprintf(ink, sizeof ink, "#%02x%02x%02x", pen->colour[0], pen->colour[1], pen->colour[2]);
  write_layer_name(file, drawing, part, pen);
  if (drawing->radius != NULL) {
    fprintf(file, " fill=\"%s\">\n", ink);
    write_dots(file, drawing, first, end);
  } else {
    fprintf(file, " fill=\"none\" stroke=\"%s\" stroke-linejoin=\"round\"", ink);
    fputs(" stroke-linecap=\"round\"", file);
    put_attribute(file, "stroke-width", drawing->line_width, "");
    fputs(">\n", file);
    write_lines(file, drawing, first, end);
  }
  fputs("</g>\n", file);
}

cvtm_status cvtm_drawing_write_svg(const char *path, const cvtm_drawing *drawing,
                                   cvtm_error *error) {
  cvtm_output *output;
  cvtm_status status = cvtm_output_open(path, &output, error);
  if (status != CVTM_OK) return status;
  FILE *file = cvtm_output_stream(output);
  write_header(file, &drawing->page);
  if (drawing->light) fputs("<rect width=\"100%\" height=\"100%\" fill=\"#000\"/>\n", file);
  for (int64_t part = 0; part < cvtm_drawing_parts(drawing); ++part)
    write_layer(file, drawing, part);
  fputs("</svg>\n", file);
  return cvtm_output_commit(output, error);
}

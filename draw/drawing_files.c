/* Files of drawings: SVG, DXF, HPGL and G-code. */
#include "draw/drawing.h"

#include "base/file.h"
#include "base/host.h"
#include "base/text.h"
#include "draw/formats.h"
#include "draw/plotter.h"
#include "meshes/formats/formats.h"

#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIXED_MAX = 40 };

/* Formats millimetres with three decimals, with a point in every locale. */
static void format_fixed(char text[FIXED_MAX], double mm) {
  const long long thousandths = llround(1000 * mm);
  snprintf(text, FIXED_MAX, "%s%lld.%03lld", thousandths < 0 ? "-" : "", llabs(thousandths) / 1000,
           llabs(thousandths) % 1000);
}

static void put_fixed(FILE *file, double mm) {
  char text[FIXED_MAX];
  format_fixed(text, mm);
  fputs(text, file);
}

/* Nonzero if a part has no strokes, such as the layer of an unused pen. */
static int part_is_empty(const cvtm_drawing *drawing, int64_t part) {
  int64_t first, end;
  cvtm_drawing_part(drawing, part, &first, &end);
  return first == end;
}

/* --- SVG -------------------------------------------------------------------------------------- */

/* The decimals of coordinates: the longer side of the page has at least 10^5 steps. */
static int choose_decimals(const cvtm_page *page) {
  const double longer = fmax(page->width, page->height);
  const int decimals = 3 + (int)fmax(ceil(log10(100 / longer)), 0);
  return decimals < 12 ? decimals : 12;
}

static void put_number(FILE *file, double value, int decimals) {
  char text[CVTM_TEXT_FIXED];
  fwrite(text, 1, (size_t)(cvtm_text_fixed(text, value, decimals) - text), file);
}

static void write_header(FILE *file, const cvtm_page *page) {
  const int decimals = choose_decimals(page);
  const double scale = page->pixel > 0 ? page->pixel : 1;
  const char *unit = page->in_pixels && !(page->pixel > 0) ? "" : "mm";
  fputs(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" "
      "xmlns:inkscape=\"http://www.inkscape.org/namespaces/inkscape\" width=\"",
      file);
  cvtm_put_number(file, scale * page->width);
  fprintf(file, "%s\" height=\"", unit);
  cvtm_put_number(file, scale * page->height);
  fprintf(file, "%s\" viewBox=\"0 0 ", unit);
  put_number(file, page->width, decimals);
  fputc(' ', file);
  put_number(file, page->height, decimals);
  if (page->picture[0] > 0) { /* the place of the picture, for cvtm_dots_read */
    const double box[4] = {page->left, page->top, page->picture[0], page->picture[1]};
    fputs("\" data-picture=\"", file);
    for (int k = 0; k < 4; ++k) {
      if (k > 0) fputc(' ', file);
      put_number(file, box[k], decimals);
    }
  }
  fputs("\" style=\"background:#fff\">\n", file);
}

/* A part of a drawing whose points or dots are items of cvtm_write_items. */
typedef struct svg_part {
  const cvtm_drawing *drawing;
  int64_t first;             /* the first point */
  const unsigned char *ends; /* of each point of the drawing; NULL: dots */
  int decimals;
} svg_part;

enum { FIRST_OF_STROKE = 1, LAST_OF_STROKE = 2 };

static char *put_circle(char *to, const void *context, int64_t item) {
  const svg_part *part = context;
  const double *point = part->drawing->points + 2 * (part->first + item);
  to = cvtm_text_word(to, "<circle cx=\"");
  to = cvtm_text_fixed(to, point[0], part->decimals);
  to = cvtm_text_word(to, "\" cy=\"");
  to = cvtm_text_fixed(to, point[1], part->decimals);
  to = cvtm_text_word(to, "\" r=\"");
  to = cvtm_text_fixed(to, part->drawing->radius[part->first + item], part->decimals);
  return cvtm_text_word(to, "\"/>\n");
}

static char *put_point(char *to, const void *context, int64_t item) {
  enum { PER_LINE = 16 };
  const svg_part *part = context;
  const double *point = part->drawing->points + 2 * (part->first + item);
  const int end = part->ends[part->first + item];
  if (end & FIRST_OF_STROKE)
    to = cvtm_text_word(to, "<path d=\"M");
  else
    to = cvtm_text_word(to, item % PER_LINE == 0 ? "\nL" : "L");
  to = cvtm_text_fixed(to, point[0], part->decimals);
  *to++ = ',';
  to = cvtm_text_fixed(to, point[1], part->decimals);
  /* vpype leaves out lines without length, so a touch has the least length that is not 0. */
  if (end == (FIRST_OF_STROKE | LAST_OF_STROKE)) {
    *to++ = 'h';
    to = cvtm_text_fixed(to, pow(10, -part->decimals), part->decimals);
  }
  return end & LAST_OF_STROKE ? cvtm_text_word(to, "\"/>\n") : to;
}

/* Marks the ends of strokes. malloc'd; NULL if memory runs out. */
static unsigned char *find_ends(const cvtm_drawing *drawing) {
  unsigned char *ends = calloc((size_t)drawing->start[drawing->stroke_count] + 1, 1);
  for (int64_t k = 0; ends != NULL && k < drawing->stroke_count; ++k) {
    ends[drawing->start[k]] |= FIRST_OF_STROKE;
    ends[drawing->start[k + 1] - 1] |= LAST_OF_STROKE;
  }
  return ends;
}

/* Layer names begin with a number, because plotter software pauses between numbered layers. */
static void write_layer_name(FILE *file, const cvtm_drawing *drawing, int64_t part,
                             const cvtm_pen *pen) {
  fprintf(file, "<g inkscape:groupmode=\"layer\" inkscape:label=\"%lld ", (long long)part + 1);
  cvtm_put_xml_text(file, pen != NULL ? pen->name : drawing->light ? "white" : "black");
  fprintf(file, "\" id=\"part%lld\"", (long long)part + 1);
  if (pen != NULL) fputs(" style=\"mix-blend-mode:multiply\"", file);
}

static void write_layer(FILE *file, const cvtm_drawing *drawing, int64_t part,
                        const unsigned char *ends) {
  const cvtm_pen *pen = drawing->pens != NULL ? &drawing->pens[drawing->pen[part]] : NULL;
  char ink[8];
  int64_t first, end;
  cvtm_drawing_part(drawing, part, &first, &end);
  first = drawing->start[first];
  end = drawing->start[end];
  const svg_part items = {drawing, first, ends, choose_decimals(&drawing->page)};
  snprintf(ink, sizeof ink, "%s", drawing->light ? "#fff" : "#000");
  if (pen != NULL)
    snprintf(ink, sizeof ink, "#%02x%02x%02x", pen->colour[0], pen->colour[1], pen->colour[2]);
  write_layer_name(file, drawing, part, pen);
  if (drawing->radius != NULL) {
    fprintf(file, " fill=\"%s\">\n", ink);
    cvtm_write_items(file, end - first, 3 * CVTM_TEXT_FIXED + 40, put_circle, &items);
  } else {
    fprintf(file, " fill=\"none\" stroke=\"%s\" stroke-linejoin=\"round\"", ink);
    fputs(" stroke-linecap=\"round\" stroke-width=\"", file);
    put_number(file, cvtm_drawing_width_of(drawing, part), items.decimals);
    fputs("\">\n", file);
    cvtm_write_items(file, end - first, 3 * CVTM_TEXT_FIXED + 20, put_point, &items);
  }
  fputs("</g>\n", file);
}

static cvtm_status write_svg(FILE *file, const cvtm_drawing *drawing,
                             const cvtm_drawing_settings *settings, cvtm_error *error) {
  (void)settings;
  unsigned char *ends = drawing->radius == NULL ? find_ends(drawing) : NULL;
  if (drawing->radius == NULL && ends == NULL) return cvtm_no_memory(error, "an SVG drawing");
  write_header(file, &drawing->page);
  if (drawing->light) fputs("<rect width=\"100%\" height=\"100%\" fill=\"#000\"/>\n", file);
  for (int64_t part = 0; part < cvtm_drawing_parts(drawing); ++part)
    write_layer(file, drawing, part, ends);
  fputs("</svg>\n", file);
  free(ends);
  return CVTM_OK;
}

const cvtm_format cvtm_format_svg_drawing = {
    .extension = "svg",
    .help = "SVG: screens, Inkscape, AxiDraw; a layer for each ink and part",
    .write_drawing = write_svg};

/* --- DXF -------------------------------------------------------------------------------------- */

enum { LAYER_NAME_MAX = 31 };

static void put_text_group(FILE *file, int code, const char *text) {
  fprintf(file, "%3d\n%s\n", code, text);
}

static void put_integer_group(FILE *file, int code, long long value) {
  fprintf(file, "%3d\n%lld\n", code, value);
}

static void put_real_group(FILE *file, int code, double value) {
  fprintf(file, "%3d\n", code);
  put_fixed(file, value);
  fputc('\n', file);
}

/* Writes a point with y up from the lower left corner of the page. */
static void put_dxf_point(FILE *file, const cvtm_drawing *drawing, int code, int64_t i) {
  put_real_group(file, code, drawing->points[2 * i]);
  put_real_group(file, code + 10, drawing->page.height - drawing->points[2 * i + 1]);
}

/* Keeps the characters that R12 allows in a name: capitals, digits, _ - and $. */
static void format_layer_name(const cvtm_drawing *drawing, int64_t part,
                              char name[LAYER_NAME_MAX + 1]) {
  const char *pen = drawing->pens != NULL ? drawing->pens[cvtm_drawing_pen_of(drawing, part)].name
                    : drawing->light      ? "white"
                                          : "black";
  char full[CVTM_PEN_NAME + 24];
  snprintf(full, sizeof full, "%lld_%s", (long long)part + 1, pen);
  int length = 0;
  for (; length < LAYER_NAME_MAX && full[length] != '\0'; ++length) {
    const unsigned char byte = (unsigned char)full[length];
    const int is_kept = byte < 128 && (isalnum(byte) || strchr("_-$", byte) != NULL);
    name[length] = is_kept ? (char)toupper(byte) : '_';
  }
  name[length] = '\0';
}

/* The number of the nearest of the nine colours that R12 names. */
static int find_colour_number(const unsigned char *colour) {
  static const unsigned char named[][3] = {{255, 0, 0},   {255, 255, 0},   {0, 255, 0},
                                           {0, 255, 255}, {0, 0, 255},     {255, 0, 255},
                                           {0, 0, 0},     {128, 128, 128}, {192, 192, 192}};
  int best = 0, least = 3 * 255 * 255 + 1;
  for (int k = 0; k < (int)(sizeof named / sizeof named[0]); ++k) {
    int distance = 0;
    for (int c = 0; c < 3; ++c) distance += (colour[c] - named[k][c]) * (colour[c] - named[k][c]);
    if (distance < least) {
      least = distance;
      best = k;
    }
  }
  return best + 1;
}

static void put_header(FILE *file, const cvtm_drawing *drawing, int in_mm) {
  fputs("  0\nSECTION\n  2\nHEADER\n  9\n$ACADVER\n  1\nAC1009\n  9\n$INSUNITS\n", file);
  put_integer_group(file, 70, in_mm ? 4 : 0);
  fputs("  9\n$EXTMIN\n 10\n0.000\n 20\n0.000\n  9\n$EXTMAX\n", file);
  put_real_group(file, 10, drawing->page.width);
  put_real_group(file, 20, drawing->page.height);
  fputs("  0\nENDSEC\n", file);
}

static void put_layers(FILE *file, const cvtm_drawing *drawing) {
  const int white = 7; /* colour 7 is black on a light background */
  const int64_t parts = cvtm_drawing_parts(drawing);
  char name[LAYER_NAME_MAX + 1];
  fputs("  0\nSECTION\n  2\nTABLES\n  0\nTABLE\n  2\nLAYER\n", file);
  put_integer_group(file, 70, parts);
  for (int64_t part = 0; part < parts; ++part) {
    format_layer_name(drawing, part, name);
    put_text_group(file, 0, "LAYER");
    put_text_group(file, 2, name);
    put_integer_group(file, 70, 0);
    put_integer_group(
        file, 62,
        drawing->pens != NULL
            ? find_colour_number(drawing->pens[cvtm_drawing_pen_of(drawing, part)].colour)
            : white);
    put_text_group(file, 6, "CONTINUOUS");
  }
  fputs("  0\nENDTAB\n  0\nENDSEC\n", file);
}

static void put_dot(FILE *file, const cvtm_drawing *drawing, int64_t k, const char *layer) {
  const int is_disc = drawing->radius != NULL && drawing->radius[k] > 0;
  put_text_group(file, 0, is_disc ? "CIRCLE" : "POINT");
  put_text_group(file, 8, layer);
  put_dxf_point(file, drawing, 10, drawing->start[k]);
  if (is_disc) put_real_group(file, 40, drawing->radius[k]);
}

static void put_dxf_vertex(FILE *file, const cvtm_drawing *drawing, int64_t i, const char *layer) {
  put_text_group(file, 0, "VERTEX");
  put_text_group(file, 8, layer);
  put_dxf_point(file, drawing, 10, i);
}

static void put_stroke(FILE *file, const cvtm_drawing *drawing, int64_t k, const char *layer) {
  const double *p = drawing->points;
  const int64_t first = drawing->start[k], last = drawing->start[k + 1] - 1;
  const int is_closed =
      last > first + 2 && p[2 * first] == p[2 * last] && p[2 * first + 1] == p[2 * last + 1];
  if (last == first + 1) {
    put_text_group(file, 0, "LINE");
    put_text_group(file, 8, layer);
    put_dxf_point(file, drawing, 10, first);
    put_dxf_point(file, drawing, 11, last);
    return;
  }
  put_text_group(file, 0, "POLYLINE");
  put_text_group(file, 8, layer);
  put_integer_group(file, 66, 1);
  put_integer_group(file, 70, is_closed);
  for (int64_t i = first; i <= last - is_closed; ++i) put_dxf_vertex(file, drawing, i, layer);
  put_text_group(file, 0, "SEQEND");
  put_text_group(file, 8, layer);
}

static cvtm_status write_dxf(FILE *file, const cvtm_drawing *drawing,
                             const cvtm_drawing_settings *settings, cvtm_error *error) {
  (void)error;
  put_header(file, drawing, settings->in_mm);
  put_layers(file, drawing);
  fputs("  0\nSECTION\n  2\nENTITIES\n", file);
  for (int64_t part = 0; part < cvtm_drawing_parts(drawing); ++part) {
    char layer[LAYER_NAME_MAX + 1];
    int64_t first, end;
    format_layer_name(drawing, part, layer);
    cvtm_drawing_part(drawing, part, &first, &end);
    for (int64_t k = first; k < end; ++k) {
      const int is_dot = drawing->start[k + 1] == drawing->start[k] + 1;
      (is_dot ? put_dot : put_stroke)(file, drawing, k, layer);
    }
  }
  fputs("  0\nENDSEC\n  0\nEOF\n", file);
  return CVTM_OK;
}

const cvtm_format cvtm_format_dxf = {
    .extension = "dxf",
    .help = "DXF of AutoCAD R12: laser cutters, CAD; parts are layers",
    .properties = CVTM_FOR_MACHINES,
    .write_drawing = write_dxf};

/* --- HPGL ------------------------------------------------------------------------------------- */

static void put_hpgl_point(FILE *file, const char *command, const cvtm_drawing *drawing,
                           const cvtm_plotter *plotter, int64_t i) {
  double place[2];
  cvtm_plotter_place(plotter, drawing->page.width, drawing->page.height, drawing->points + 2 * i,
                     place);
  fprintf(file, "%s%lld,%lld;", command, llround(place[0]), llround(place[1]));
}

static void put_hpgl_part(FILE *file, const cvtm_drawing *drawing, const cvtm_plotter *plotter,
                          int64_t part) {
  int64_t first_stroke, end_stroke;
  cvtm_drawing_part(drawing, part, &first_stroke, &end_stroke);
  for (int64_t k = first_stroke; k < end_stroke; ++k) {
    const int64_t first = drawing->start[k];
    put_hpgl_point(file, "PU", drawing, plotter, first);
    fputs("PD;", file);
    for (int64_t i = first + 1; i < drawing->start[k + 1]; ++i)
      put_hpgl_point(file, "PD", drawing, plotter, i);
    fputs("PU;\n", file);
  }
}

static cvtm_status write_hpgl(FILE *file, const cvtm_drawing *drawing,
                              const cvtm_drawing_settings *settings, cvtm_error *error) {
  const cvtm_plotter *plotter = settings->plotter;
  (void)error;
  if (plotter == NULL) plotter = cvtm_plotter_find("hpgl");
  fputs("IN;PA;", file);
  int is_first = 1;
  for (int64_t part = 0; part < cvtm_drawing_parts(drawing); ++part) {
    if (drawing->pens != NULL && part_is_empty(drawing, part)) continue;
    fprintf(file, "%sSP%d;\n", is_first ? "" : "SP0;", cvtm_drawing_pen_of(drawing, part) + 1);
    put_hpgl_part(file, drawing, plotter, part);
    is_first = 0;
  }
  if (is_first) fputc('\n', file);
  fputs("PU0,0;SP0;\n", file);
  return CVTM_OK;
}

const cvtm_format cvtm_format_hpgl = {.extension = "hpgl",
                                      .alias = "plt",
                                      .help = "HPGL: pen plotters",
                                      .properties = CVTM_FOR_MACHINES | CVTM_NEEDS_PAGE,
                                      .write_drawing = write_hpgl};

/* --- G-code ----------------------------------------------------------------------------------- */

static void put_lines(FILE *file, const cvtm_gcode_lines *lines) {
  for (int k = 0; k < lines->count; ++k) fprintf(file, "%s\n", lines->line[k]);
}

/* Writes the template with {x} and {y} replaced by numbers. */
static void put_move(FILE *file, const char *template, double x, double y) {
  for (const char *c = template; *c != '\0'; ++c) {
    if (strncmp(c, "{x}", 3) != 0 && strncmp(c, "{y}", 3) != 0) {
      fputc(*c, file);
      continue;
    }
    put_fixed(file, c[1] == 'x' ? x : y);
    c += 2;
  }
  fputc('\n', file);
}

/* Writes a name without the characters that end a comment in parentheses or a message. */
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

/* Writes what comes before a part: a pause, unless it is the first part, and the lines of a new
 * pen. */
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

static cvtm_status write_gcode(FILE *file, const cvtm_drawing *drawing,
                               const cvtm_drawing_settings *settings, cvtm_error *error) {
  (void)error;
  const cvtm_gcode_profile *profile = settings->profile;
  put_lines(file, &profile->start);
  put_lines(file, &profile->up);
  int64_t before = -1;
  for (int64_t part = 0; part < cvtm_drawing_parts(drawing); ++part) {
    if (drawing->pens != NULL && part_is_empty(drawing, part)) continue;
    begin_gcode_part(file, drawing, profile, part, before);
    put_gcode_part(file, drawing, profile, part);
    before = part;
  }
  put_lines(file, &profile->end);
  return CVTM_OK;
}

const cvtm_format cvtm_format_gcode = {
    .extension = "gcode",
    .alias = "nc",
    .help = "G-code: GRBL, Marlin, lasers, others by --plotter",
    .properties = CVTM_FOR_MACHINES | CVTM_NEEDS_PAGE | CVTM_NEEDS_PROFILE,
    .write_drawing = write_gcode};

/* --- files ------------------------------------------------------------------------------------ */

cvtm_status cvtm_drawing_write(const char *path, const char *extension, const cvtm_drawing *drawing,
                               const cvtm_drawing_settings *settings, cvtm_error *error) {
  static const cvtm_drawing_settings none;
  const cvtm_format *f = cvtm_format_find(cvtm_drawing_formats, extension, CVTM_WRITES_DRAWING);
  if (settings == NULL) settings = &none;
  if (f == NULL || (cvtm_format_has(f, CVTM_NEEDS_PROFILE) && settings->profile == NULL))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                     "%s: this is not a format of drawings, or the profile is missing", path);
  cvtm_output *output;
  cvtm_status status = cvtm_output_open(path, &output, error);
  if (status != CVTM_OK) return status;
  status = f->write_drawing(cvtm_output_stream(output), drawing, settings, error);
  if (status == CVTM_OK) return cvtm_output_commit(output, error);
  cvtm_output_abort(output);
  return status;
}

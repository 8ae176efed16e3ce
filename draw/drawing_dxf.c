/* DXF of AutoCAD R12 in ASCII, which programs for laser cutters and mills read: pairs of lines, a
 * group code and its value. */
#include "base/file.h"
#include "draw/drawing.h"
#include "draw/drawing_files.h"

#include <ctype.h>
#include <string.h>

enum { LAYER_NAME_MAX = 31 };

static void put_text_group(FILE *file, int code, const char *text) {
  fprintf(file, "%3d\n%s\n", code, text);
}

static void put_integer_group(FILE *file, int code, long long value) {
  fprintf(file, "%3d\n%lld\n", code, value);
}

static void put_real_group(FILE *file, int code, double value) {
  fprintf(file, "%3d\n", code);
  cvtm_put_fixed(file, value);
  fputc('\n', file);
}

/* y is up, from the lower left corner of the page. */
static void put_dxf_point(FILE *file, const cvtm_drawing *drawing, int code, int64_t i) {
  put_real_group(file, code, drawing->points[2 * i]);
  put_real_group(file, code + 10, drawing->page.height - drawing->points[2 * i + 1]);
}

/* R12 knows capital letters, digits, _ - and $ in names. */
static void format_layer_name(const cvtm_drawing *drawing, int64_t part,
                              char name[LAYER_NAME_MAX + 1]) {
  const char *pen = drawing->pens != NULL ? drawing->pens[cvtm_drawing_pen_of(drawing, part)].name
                    : drawing->light      ? "white"
                                          : "black";
  char whole[CVTM_PEN_NAME + 24];
  snprintf(whole, sizeof whole, "%lld_%s", (long long)part + 1, pen);
  int length = 0;
  for (; length < LAYER_NAME_MAX && whole[length] != '\0'; ++length) {
    const unsigned char byte = (unsigned char)whole[length];
    const int is_kept = byte < 128 && (isalnum(byte) || strchr("_-$", byte) != NULL);
    name[length] = is_kept ? (char)toupper(byte) : '_';
  }
  name[length] = '\0';
}

/* The nearest of the nine colours that R12 names. */
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
  put_text_group(file, 0, "SECTION");
  put_text_group(file, 2, "HEADER");
  put_text_group(file, 9, "$ACADVER");
  put_text_group(file, 1, "AC1009");
  put_text_group(file, 9, "$INSUNITS");
  put_integer_group(file, 70, in_mm ? 4 : 0);
  put_text_group(file, 9, "$EXTMIN");
  put_real_group(file, 10, 0);
  put_real_group(file, 20, 0);
  put_text_group(file, 9, "$EXTMAX");
  put_real_group(file, 10, drawing->page.width);
  put_real_group(file, 20, drawing->page.height);
  put_text_group(file, 0, "ENDSEC");
}

static void put_layers(FILE *file, const cvtm_drawing *drawing) {
  const int white = 7; /* black on a light screen */
  const int64_t parts = cvtm_drawing_parts(drawing);
  char name[LAYER_NAME_MAX + 1];
  put_text_group(file, 0, "SECTION");
  put_text_group(file, 2, "TABLES");
  put_text_group(file, 0, "TABLE");
  put_text_group(file, 2, "LAYER");
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
  put_text_group(file, 0, "ENDTAB");
  put_text_group(file, 0, "ENDSEC");
}

static void put_dot(FILE *file, const cvtm_drawing *drawing, int64_t k, const char *layer) {
  put_text_group(file, 0, drawing->radius[k] > 0 ? "CIRCLE" : "POINT");
  put_text_group(file, 8, layer);
  put_dxf_point(file, drawing, 10, k);
  if (drawing->radius[k] > 0) put_real_group(file, 40, drawing->radius[k]);
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

cvtm_status cvtm_drawing_write_dxf(const char *path, const cvtm_drawing *drawing, int in_mm,
                                   cvtm_error *error) {
  cvtm_output *output;
  const cvtm_status status = cvtm_output_open(path, &output, error);
  if (status != CVTM_OK) return status;
  FILE *file = cvtm_output_stream(output);
  put_header(file, drawing, in_mm);
  put_layers(file, drawing);
  put_text_group(file, 0, "SECTION");
  put_text_group(file, 2, "ENTITIES");
  for (int64_t part = 0; part < cvtm_drawing_parts(drawing); ++part) {
    char layer[LAYER_NAME_MAX + 1];
    int64_t first, end;
    format_layer_name(drawing, part, layer);
    cvtm_drawing_part(drawing, part, &first, &end);
    for (int64_t k = first; k < end; ++k)
      (drawing->radius != NULL ? put_dot : put_stroke)(file, drawing, k, layer);
  }
  put_text_group(file, 0, "ENDSEC");
  put_text_group(file, 0, "EOF");
  return cvtm_output_commit(output, error);
}

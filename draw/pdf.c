/* PDF 1.4: one page of vectors. The strokes of a pen are one object (a form), in mm. It is a
 * transparency group, so that strokes that overlap are not darker, while the colours of different
 * pens multiply. ISO 32000-1 */
#include "draw/formats.h"
#include "meshes/formats/formats.h"

#include <stdlib.h>

typedef struct pdf {
  FILE *file, *text; /* in memory: the file; the stream of the last object */
  char *file_bytes, *text_bytes;
  size_t file_size, text_size;
  long *place; /* of each object in the file */
  int objects;
} pdf;

/* ---- strokes ---- */

#define CIRCLE                                                                                     \
  "cm 1 0 m 1 .5523 .5523 1 0 1 c -.5523 1 -1 .5523 -1 0 c -1 -.5523 -.5523 -1 0 -1 c .5523 -1 1 " \
  "-.5523 1 0 c f Q\n"

static void put(FILE *text, double value) {
  char line[CVTM_TEXT_FIXED + 1];
  fwrite(line, 1, (size_t)(cvtm_text_word(cvtm_text_fixed(line, value, 3), " ") - line), text);
}

static void put_point(FILE *text, double x, double y, const char *operator) {
  put(text, x);
  put(text, y);
  fputs(operator, text);
}

/* A dot is the unit circle, as four Bezier curves, in coordinates of its own: a text that is always
 * the same keeps the file small. */
static void put_dots(FILE *text, const cvtm_drawing *drawing, int64_t first, int64_t end) {
  for (int64_t k = first; k < end; ++k) {
    fputs("q ", text);
    put_point(text, drawing->radius[k], 0, "0 ");
    put(text, drawing->radius[k]);
    put_point(text, drawing->points[2 * k], drawing->points[2 * k + 1], CIRCLE);
  }
}

/* A line of length 0 is drawn as its round ends; a path of a single point would not be drawn. */
static void put_lines(FILE *text, const cvtm_drawing *drawing, int64_t first, int64_t end) {
  for (int64_t k = first; k < end; ++k) {
    const double *p = drawing->points + 2 * drawing->start[k];
    put_point(text, p[0], p[1], "m\n");
    for (int64_t i = drawing->start[k]; i < drawing->start[k + 1]; ++i)
      put_point(text, drawing->points[2 * i], drawing->points[2 * i + 1], "l\n");
    fputs("S\n", text);
  }
}

/* Sets the colour of lines and areas; grey is not mixed of three inks. */
static void put_colour(FILE *text, const unsigned char colour[3]) {
  const int n = colour[0] == colour[1] && colour[1] == colour[2] ? 1 : 3;
  for (int k = 0; k < n; ++k) put(text, colour[k] / 255.);
  fputs(n == 1 ? "G\n" : "RG\n", text);
  for (int k = 0; k < n; ++k) put(text, colour[k] / 255.);
  fputs(n == 1 ? "g\n" : "rg\n", text);
}

/* ---- objects ---- */

static cvtm_status no_memory(cvtm_error *error) {
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "PDF: out of memory");
}

static void begin_object(pdf *p) {
  p->place[p->objects++] = ftell(p->file);
  fprintf(p->file, "%d 0 obj\n<<", p->objects);
}

static cvtm_status begin_text(pdf *p, cvtm_error *error) {
  p->text = open_memstream(&p->text_bytes, &p->text_size);
  return p->text != NULL ? CVTM_OK : no_memory(error);
}

/* Ends the object with the text as its stream. */
static cvtm_status end_text(pdf *p, cvtm_error *error) {
  const int packs = cvtm_compression_known(CVTM_COMPRESS_ZLIB), is_whole = fclose(p->text) == 0;
  const unsigned char *bytes = (const unsigned char *)p->text_bytes;
  unsigned char *packed = malloc(cvtm_compressed_most(CVTM_COMPRESS_ZLIB, p->text_size));
  size_t size = is_whole && packed != NULL ? p->text_size : 0;
  if (size > 0 && packs) size = cvtm_compress(CVTM_COMPRESS_ZLIB, bytes, size, packed);
  fprintf(p->file, "/Length %zu%s>>\nstream\n", size, packs ? "/Filter/FlateDecode" : "");
  fwrite(packs ? packed : bytes, 1, size, p->file);
  fputs("\nendstream\nendobj\n", p->file);
  free(packed);
  free(p->text_bytes);
  return size > 0 ? CVTM_OK : no_memory(error);
}

/* The object with parts first .. end - 1, which have one pen. */
static cvtm_status put_pen(pdf *p, const cvtm_drawing *drawing, int64_t first, int64_t end,
                           cvtm_error *error) {
  static const unsigned char paper[2][3] = {{0, 0, 0}, {255, 255, 255}};
  const cvtm_pen *pens = drawing->pens;
  int64_t first_stroke, end_stroke;
  CVTM_TRY(begin_text(p, error));
  put_colour(p->text, pens != NULL ? pens[cvtm_drawing_pen_of(drawing, first)].colour
                                   : paper[drawing->light != 0]);
  for (int64_t part = first; part < end; ++part) {
    put(p->text, cvtm_drawing_width_of(drawing, part));
    fputs("w 1 j 1 J\n", p->text);
    cvtm_drawing_part(drawing, part, &first_stroke, &end_stroke);
    (drawing->radius != NULL ? put_dots : put_lines)(p->text, drawing, first_stroke, end_stroke);
  }
  begin_object(p);
  fputs("/Type/XObject/Subtype/Form/BBox[0 0 ", p->file);
  put_point(p->file, drawing->page.width, drawing->page.height, "]");
  if (pens != NULL) fputs("/Group<</S/Transparency/I true>>", p->file);
  return end_text(p, error);
}

/* The objects of the page, which shows all objects before, and of the document. */
static cvtm_status put_page(pdf *p, const cvtm_drawing *drawing, cvtm_error *error) {
  const int count = p->objects, has_pens = drawing->pens != NULL;
  const double per_mm = 72 / 25.4;
  CVTM_TRY(begin_text(p, error));
  fputs("2.834645669 0 0 -2.834645669 ", p->text);
  put_point(p->text, 0, per_mm * drawing->page.height, "cm\n");
  if (drawing->light) fputs("0 g 0 0 ", p->text);
  if (drawing->light) put_point(p->text, drawing->page.width, drawing->page.height, "re f\n");
  for (int k = 1; k <= count; ++k) fprintf(p->text, "%s/P%d Do\n", has_pens ? "/M gs" : "", k);
  begin_object(p);
  CVTM_TRY(end_text(p, error));
  begin_object(p);
  fprintf(p->file, "/Type/Page/Parent %d 0 R/Contents %d 0 R/MediaBox[0 0 ", count + 3, count + 1);
  put_point(p->file, per_mm * drawing->page.width, per_mm * drawing->page.height, "]");
  if (has_pens) fputs("/Group<</S/Transparency/I true/CS/DeviceRGB>>", p->file);
  fprintf(p->file, "/Resources<<%s/XObject<<", has_pens ? "/ExtGState<</M<</BM/Multiply>>>>" : "");
  for (int k = 1; k <= count; ++k) fprintf(p->file, "/P%d %d 0 R", k, k);
  fputs(">>>>>>\nendobj\n", p->file);
  begin_object(p);
  fprintf(p->file, "/Type/Pages/Count 1/Kids[%d 0 R]>>\nendobj\n", count + 2);
  begin_object(p);
  fprintf(p->file, "/Type/Catalog/Pages %d 0 R>>\nendobj\n", count + 3);
  return CVTM_OK;
}

static cvtm_status put_all(pdf *p, const cvtm_drawing *drawing, int64_t parts, cvtm_error *error) {
  fputs("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n", p->file); /* bytes above 127: not a text */
  for (int64_t first = 0, end; first < parts; first = end) {
    const int pen = cvtm_drawing_pen_of(drawing, first);
    for (end = first + 1; end < parts && cvtm_drawing_pen_of(drawing, end) == pen;) ++end;
    CVTM_TRY(put_pen(p, drawing, first, end, error));
  }
  CVTM_TRY(put_page(p, drawing, error));
  const long table = ftell(p->file);
  fprintf(p->file, "xref\n0 %d\n0000000000 65535 f \n", p->objects + 1);
  for (int k = 0; k < p->objects; ++k) fprintf(p->file, "%010ld 00000 n \n", p->place[k]);
  fprintf(p->file, "trailer\n<</Size %d/Root %d 0 R>>\nstartxref\n%ld\n%%%%EOF\n", p->objects + 1,
          p->objects, table);
  return CVTM_OK;
}

static cvtm_status write_pdf(FILE *file, const cvtm_drawing *drawing,
                             const cvtm_drawing_settings *settings, cvtm_error *error) {
  const int64_t parts = cvtm_drawing_parts(drawing);
  pdf p = {.place = malloc((size_t)(parts + 4) * sizeof *p.place)};
  (void)settings;
  p.file = open_memstream(&p.file_bytes, &p.file_size);
  cvtm_status status =
      p.place != NULL && p.file != NULL ? put_all(&p, drawing, parts, error) : no_memory(error);
  const int is_whole = p.file != NULL && fclose(p.file) == 0 && p.file_bytes != NULL;
  if (status == CVTM_OK && !is_whole) status = no_memory(error);
  if (status == CVTM_OK) fwrite(p.file_bytes, 1, p.file_size, file);
  free(p.file_bytes);
  free(p.place);
  return status;
}

const cvtm_format cvtm_format_pdf = {.extension = "pdf",
                                     .help = "PDF: one page of vectors",
                                     .properties = CVTM_HAS_REAL_SIZE,
                                     .write_drawing = write_pdf};

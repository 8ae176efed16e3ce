/* The picture of a spectrum: power over the plane of frequencies, and three curves. */
#include "base/base64.h"
#include "base/file.h"
#include "cli/spectrum.h"
#include "density/density.h"

#include <math.h>
#include <stdlib.h>

enum { MARGIN = 36, PICTURE = 276, LEFT = 372, WIDTH = 420, HEIGHT = 64, PITCH = 106 };

static const double power_shown = 4, frequency_shown = 4, correlation_shown = 3;

/* A curve in a frame; x is (k + 0.5) step. */
typedef struct plot {
  const char *title;
  int top;
  double x_most, low, high; /* of the axes */
  double level;             /* where a dotted line is drawn */
  const double *value;
  int64_t count;
  double step;
  int decibels;
} plot;

/* Grey levels follow the square root of the power, which makes small powers visible: 0 is black,
 * `power_shown` and more is white. */
static cvtm_status write_power_picture(FILE *stream, const cvtm_spectrum *s, cvtm_error *error) {
  const int64_t cells = s->side * s->side;
  unsigned char *grey = malloc((size_t)cells), *png = NULL;
  size_t size = 0;
  if (grey == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a picture");
  for (int64_t p = 0; p < cells; ++p)
    grey[p] = (unsigned char)lrint(255 * sqrt(fmin(fmax(s->picture[p], 0) / power_shown, 1)));
  const cvtm_status status = cvtm_png_encode((int)s->side, (int)s->side, grey, &png, &size, error);
  free(grey);
  if (status != CVTM_OK) return status;
  fprintf(stream,
          "<image x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" href=\"data:image/png;base64,",
          MARGIN, MARGIN, PICTURE, PICTURE);
  cvtm_base64_write(stream, png, size);
  fprintf(stream, "\"/>\n");
  free(png);
  const int middle = MARGIN + PICTURE / 2, foot = MARGIN + PICTURE + 16;
  fprintf(stream, "<text x=\"%d\" y=\"%d\">power over frequency, black 0, white %g</text>\n",
          MARGIN, MARGIN - 10, power_shown);
  fprintf(stream, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">0</text>\n", middle, foot);
  fprintf(stream, "<text x=\"%d\" y=\"%d\">-%d</text>\n", MARGIN, foot, CVTM_SPECTRUM_SHOWN);
  fprintf(stream, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%d</text>\n", MARGIN + PICTURE, foot,
          CVTM_SPECTRUM_SHOWN);
  return CVTM_OK;
}

static double height_of(const plot *p, double value) {
  const double y = fmin(fmax((value - p->low) / (p->high - p->low), 0), 1);
  return p->top + HEIGHT * (1 - y);
}

static void write_axes(FILE *stream, const plot *p) {
  fprintf(stream, "<text x=\"%d\" y=\"%d\">%s</text>\n", LEFT, p->top - 8, p->title);
  fprintf(stream,
          "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#888\"/>\n",
          LEFT, p->top, WIDTH, HEIGHT);
  fprintf(stream,
          "<line x1=\"%d\" y1=\"%.2f\" x2=\"%d\" y2=\"%.2f\" stroke=\"#888\" stroke-dasharray=\"2 "
          "3\"/>\n",
          LEFT, height_of(p, p->level), LEFT + WIDTH, height_of(p, p->level));
  fprintf(stream, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%g</text>\n", LEFT - 4, p->top + 10,
          p->high);
  fprintf(stream, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%g</text>\n", LEFT - 4,
          p->top + HEIGHT, p->low);
  for (int x = 0; x <= (int)p->x_most; ++x)
    fprintf(stream, "<text x=\"%.2f\" y=\"%d\" text-anchor=\"middle\">%d</text>\n",
            LEFT + WIDTH * x / p->x_most, p->top + HEIGHT + 13, x);
}

/* Runs of finite values as polylines. */
static void write_plot(FILE *stream, const plot *p) {
  int drawing = 0;
  write_axes(stream, p);
  fprintf(stream, "<path fill=\"none\" stroke=\"#036\" d=\"");
  for (int64_t k = 0; k < p->count && ((double)k + 0.5) * p->step <= p->x_most; ++k) {
    const double value = p->decibels ? 10 * log10(p->value[k]) : p->value[k];
    if (isfinite(value))
      fprintf(stream, "%s%.2f %.2f", drawing ? " " : "M",
              LEFT + WIDTH * ((double)k + 0.5) * p->step / p->x_most, height_of(p, value));
    drawing = isfinite(value);
  }
  fprintf(stream, "\"/>\n");
}

static void write_plots(FILE *stream, const cvtm_spectrum *s) {
  const plot plots[] = {
      {"mean power over frequency (1 / mean spacing)", MARGIN, frequency_shown, 0, power_shown, 1,
       s->power, s->rings, s->step, 0},
      {"anisotropy over frequency, dB (isotropic: 0)", MARGIN + PITCH, frequency_shown, -10, 20, 0,
       s->anisotropy, s->rings, s->step, 1},
      {"pair correlation over distance (mean spacings)", MARGIN + 2 * PITCH, CVTM_SPECTRUM_DISTANCE,
       0, correlation_shown, 1, s->correlation, s->gaps, s->gap, 0}};
  for (size_t k = 0; k < sizeof plots / sizeof plots[0]; ++k) write_plot(stream, &plots[k]);
}

cvtm_status cli_spectrum_draw(const char *path, const cvtm_spectrum *spectrum, cvtm_error *error) {
  cvtm_output *output = NULL;
  cvtm_status status = cvtm_output_open(path, &output, error);
  if (status != CVTM_OK) return status;
  FILE *stream = cvtm_output_stream(output);
  fprintf(
      stream,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
      LEFT + WIDTH + 18, PICTURE + 2 * MARGIN);
  status = write_power_picture(stream, spectrum, error);
  write_plots(stream, spectrum);
  fprintf(stream, "</svg>\n");
  if (status == CVTM_OK) return cvtm_output_commit(output, error);
  cvtm_output_abort(output);
  return status;
}

#include "draw/chart.h"

#include "base/file.h"
#include "base/xml_text.h"

#include <math.h>
#include <stdio.h>

enum {
  LEFT = 84,
  TOP = 40,
  WIDTH = 520,
  HEIGHT = 340,
  LEGEND = 230,
  FOOT = 58,
  MOST_TICKS = 64,
  PITCH = 20 /* of the lines of the legend */
};

/* Okabe and Ito's colours, which colour-blind readers tell apart. */
static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                      "#e69f00", "#56b4e9", "#000000", "#999999"};
enum { COLOURS = sizeof colours / sizeof colours[0] };

/* An axis in the coordinates of the drawing: its values, or their logarithms, go from low to high
 * over `length` pixels. */
typedef struct scale {
  double low, high;
  int logarithmic, length;
} scale;

static double coordinate(const scale *s, double value) {
  return s->logarithmic ? log10(value) : value;
}

static int is_shown(const scale *s, double value) {
  return isfinite(value) && (!s->logarithmic || value > 0);
}

static double place_on_axis(const scale *s, double value) {
  return s->length * (coordinate(s, value) - s->low) / (s->high - s->low);
}

/* Widens the scale by the points of all curves; `vertical` chooses y. */
static scale scale_of(const cvtm_chart *chart, const scale *shape, const scale *other,
                      int vertical) {
  scale s = *shape;
  s.low = INFINITY;
  s.high = -INFINITY;
  for (int c = 0; c < chart->count; ++c) {
    const cvtm_chart_curve *curve = &chart->curves[c];
    for (int64_t k = 0; k < curve->count; ++k) {
      const double value = vertical ? curve->y[k] : curve->x[k];
      if (!is_shown(&s, value) || !is_shown(other, vertical ? curve->x[k] : curve->y[k])) continue;
      s.low = fmin(s.low, coordinate(&s, value));
      s.high = fmax(s.high, coordinate(&s, value));
    }
  }
  const double least = s.logarithmic ? 0.1 : 1e-9 * fmax(fabs(s.low), 1e-300);
  const double room = fmax(0.04 * (s.high - s.low), least);
  s.low -= room;
  s.high += room;
  return s;
}

/* The distance of ticks, 1, 2 or 5 times a power of ten, for at most some seven of them. */
static double tick_step(double range) {
  const double power = pow(10, floor(log10(range / 3.5)));
  const double factor = range / 3.5 / power;
  return power * (factor < 2 ? 1 : factor < 5 ? 2 : 5) / (factor < 1.25 ? 2 : 1);
}

static int linear_ticks(const scale *s, double *tick) {
  const double step = tick_step(s->high - s->low);
  int count = 0;
  for (double k = ceil(s->low / step); k * step <= s->high && count < MOST_TICKS; ++k)
    tick[count++] = k * step + 0.0; /* not -0 */
  return count;
}

/* Powers of ten; 2 and 5 times these too where there are few. */
static int logarithmic_ticks(const scale *s, double *tick) {
  const int first = (int)floor(s->low), last = (int)ceil(s->high);
  const int each = last - first > 3 ? 1 : 3, skip = 1 + (last - first) / 12;
  static const double factor[] = {1, 2, 5};
  int count = 0;
  for (int power = first; power <= last; power += skip)
    for (int k = 0; k < each && count < MOST_TICKS; ++k) {
      const double value = factor[k] * pow(10, power);
      if (log10(value) >= s->low && log10(value) <= s->high) tick[count++] = value;
    }
  return count;
}

static int ticks_of(const scale *s, double *tick) {
  return s->logarithmic ? logarithmic_ticks(s, tick) : linear_ticks(s, tick);
}

static void write_text(FILE *stream, double x, double y, const char *attributes, const char *text) {
  fprintf(stream, "<text x=\"%.2f\" y=\"%.2f\"%s>", x, y, attributes);
  cvtm_put_xml_text(stream, text);
  fputs("</text>\n", stream);
}

static void write_line(FILE *stream, double x0, double y0, double x1, double y1) {
  fprintf(stream, "<path stroke=\"#ddd\" d=\"M%.2f %.2fL%.2f %.2f\"/>\n", x0, y0, x1, y1);
}

static void write_frame(FILE *stream, const cvtm_chart *chart, const scale *x, const scale *y) {
  double tick[MOST_TICKS];
  char text[32];
  for (int k = 0, count = ticks_of(x, tick); k < count; ++k) {
    const double at = LEFT + place_on_axis(x, tick[k]);
    write_line(stream, at, TOP, at, TOP + HEIGHT);
    snprintf(text, sizeof text, "%.6g", tick[k]);
    write_text(stream, at, TOP + HEIGHT + 18, " text-anchor=\"middle\"", text);
  }
  for (int k = 0, count = ticks_of(y, tick); k < count; ++k) {
    const double at = TOP + HEIGHT - place_on_axis(y, tick[k]);
    write_line(stream, LEFT, at, LEFT + WIDTH, at);
    snprintf(text, sizeof text, "%.6g", tick[k]);
    write_text(stream, LEFT - 6, at + 4, " text-anchor=\"end\"", text);
  }
  fprintf(stream,
          "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#444\"/>\n",
          LEFT, TOP, WIDTH, HEIGHT);
  write_text(stream, LEFT, TOP - 16, " font-size=\"15\"", chart->title);
  write_text(stream, LEFT + WIDTH / 2, TOP + HEIGHT + 42, " text-anchor=\"middle\"",
             chart->x.title);
  fprintf(stream, "<g transform=\"translate(18,%d) rotate(-90)\">", TOP + HEIGHT / 2);
  write_text(stream, 0, 0, " text-anchor=\"middle\"", chart->y.title);
  fputs("</g>\n", stream);
}

static void write_curve(FILE *stream, const cvtm_chart_curve *curve, int number, const scale *x,
                        const scale *y) {
  const char *colour = colours[number % COLOURS];
  const char *dashes = curve->dashed ? " stroke-dasharray=\"5 4\"" : "";
  const double legend = TOP + 8 + PITCH * number;
  int drawing = 0;
  fprintf(stream, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.6\"%s d=\"", colour, dashes);
  for (int64_t k = 0; k < curve->count; ++k) {
    const int shown = is_shown(x, curve->x[k]) && is_shown(y, curve->y[k]);
    if (shown)
      fprintf(stream, "%s%.2f %.2f", drawing ? "L" : "M", LEFT + place_on_axis(x, curve->x[k]),
              TOP + HEIGHT - place_on_axis(y, curve->y[k]));
    drawing = shown;
  }
  fprintf(stream, "M%d %.2fh24\"/>\n", LEFT + WIDTH + 12, legend);
  for (int64_t k = 0; k < curve->count && curve->marked; ++k)
    if (is_shown(x, curve->x[k]) && is_shown(y, curve->y[k]))
      fprintf(stream, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"2.6\" fill=\"%s\"/>\n",
              LEFT + place_on_axis(x, curve->x[k]), TOP + HEIGHT - place_on_axis(y, curve->y[k]),
              colour);
  write_text(stream, LEFT + WIDTH + 42, legend + 4, "", curve->name);
}

cvtm_status cvtm_chart_write_svg(const char *path, const cvtm_chart *chart, cvtm_error *error) {
  const scale across = {.logarithmic = chart->x.logarithmic, .length = WIDTH};
  const scale up = {.logarithmic = chart->y.logarithmic, .length = HEIGHT};
  const scale x = scale_of(chart, &across, &up, 0), y = scale_of(chart, &up, &across, 1);
  cvtm_output *output = NULL;
  if (!(x.low < x.high))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%s: the chart has no points", path);
  const cvtm_status status = cvtm_output_open(path, &output, error);
  if (status != CVTM_OK) return status;
  FILE *stream = cvtm_output_stream(output);
  const int legend = TOP + PITCH * chart->count + 20, frame = TOP + HEIGHT + FOOT;
  const int width = LEFT + WIDTH + LEGEND, height = legend > frame ? legend : frame;
  fprintf(stream,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d "
          "%d\" font-family=\"sans-serif\" font-size=\"12\">\n"
          "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
          width, height, width, height);
  write_frame(stream, chart, &x, &y);
  for (int c = 0; c < chart->count; ++c) write_curve(stream, &chart->curves[c], c, &x, &y);
  fprintf(stream, "</svg>\n");
  return cvtm_output_commit(output, error);
}

#include "viewer/canvas.h"

#include "draw/raster.h"

#include <math.h>
#include <stdio.h>

typedef struct overlay {
  cvtm_canvas *canvas;
  const cvtm_view_state *state;
  const cvtm_view *view;
  const cvtm_theme *theme;
  double scale;
} overlay;

static void panel(const overlay *o, double x, double y, double width, double height) {
  const double s = o->scale;
  cvtm_canvas_box(o->canvas, x - s, y - s, width + 2 * s, height + 2 * s, 9 * s, o->theme->ink,
                  o->view->dark ? 0.10 : 0.12);
  cvtm_canvas_box(o->canvas, x, y, width, height, 8 * s, o->theme->paper, 0.93);
}

/* Formats 1234567 as 1,234,567. */
static void group_digits(int64_t number, char *text, size_t capacity) {
  char decimal[32];
  const int digits = snprintf(decimal, sizeof decimal, "%lld", (long long)number);
  size_t used = 0;
  for (int k = 0; k < digits && used + 2 < capacity; ++k) {
    if (k > 0 && (digits - k) % 3 == 0) text[used++] = ',';
    text[used++] = decimal[k];
  }
  text[used] = '\0';
}

/* Draws the border of the domain. */
static void draw_boundary(const overlay *o) {
  const double sides[2] = {(double)o->state->domain.width, (double)o->state->domain.height};
  const double origin[2] = {0, 0}, thickness = 2 * o->scale;
  double a[2], b[2];
  cvtm_view_to_screen(o->view, origin, a);
  cvtm_view_to_screen(o->view, sides, b);
  const double corners[5][2] = {
      {a[0], a[1]}, {b[0], a[1]}, {b[0], b[1]}, {a[0], b[1]}, {a[0], a[1]}};
  for (int k = 0; k < 4; ++k)
    cvtm_canvas_line(o->canvas, corners[k][0], corners[k][1], corners[k + 1][0], corners[k + 1][1],
                     thickness, o->theme->boundary, 1);
}

/* ---- The status line ---- */

static const char *phase_text(const cvtm_view_state *state) {
  static const char *const texts[] = {"running", "paused", "converged", "stopped"};
  return texts[state->phase];
}

static const float *phase_colour(const overlay *o) {
  switch (o->state->phase) {
    case CVTM_VIEW_RUNNING:
      return o->theme->accent;
    case CVTM_VIEW_CONVERGED:
      return o->theme->many;
    default:
      return o->theme->few;
  }
}

/* Draws a name, dimmed, and its value; returns the right end, or x if the text would reach beyond
 * `end`. */
static double figure(const overlay *o, double x, double y, double end, const char *name,
                     const char *value) {
  const double gap = 7 * o->scale;
  const double width = cvtm_canvas_text_width(o->canvas, name) + (*name ? gap : 0) +
                       cvtm_canvas_text_width(o->canvas, value);
  if (x + width > end) return x;
  if (*name) x = cvtm_canvas_text(o->canvas, x, y, name, o->theme->ink, 0.55) + gap;
  return cvtm_canvas_text(o->canvas, x, y, value, o->theme->ink, 0.95) + 20 * o->scale;
}

static void draw_figures(const overlay *o) {
  const cvtm_view_state *state = o->state;
  const double s = o->scale, height = 26 * s, margin = 8 * s;
  const double top = o->view->height - height - margin, y = top + 0.5 * height;
  const double end = o->view->width - margin - 10 * s;
  char value[96];
  panel(o, margin, top, o->view->width - 2 * margin, height);
  cvtm_canvas_ring(o->canvas, margin + 15 * s, y, 2.2 * s, 4.4 * s, phase_colour(o), 1);
  double x = figure(o, margin + 27 * s, y, end, "", phase_text(state));
  group_digits(state->iteration, value, sizeof value);
  x = figure(o, x, y, end, "iteration", value);
  snprintf(value, sizeof value, "%.6f", state->ratio);
  x = figure(o, x, y, end, "ratio", value);
  snprintf(value, sizeof value, "%.2e px", state->gradient_norm);
  x = figure(o, x, y, end, "gradient", value);
  group_digits(state->count, value, sizeof value);
  x = figure(o, x, y, end, "sites", value);
  x = figure(o, x, y, end, "", state->lloyd ? "Lloyd" : "L-BFGS-B");
  snprintf(value, sizeof value, "%.3g ms", state->milliseconds);
  x = figure(o, x, y, end, "iteration takes", value);
  if (o->view->tool[0]) x = figure(o, x, y, end, "brush", o->view->tool);
  figure(o, x, y, end, "", o->view->device);
}

static void draw_note(const overlay *o) {
  const double s = o->scale, height = 26 * s, margin = 8 * s;
  const double width = cvtm_canvas_text_width(o->canvas, o->view->note) + 24 * s;
  const double bar = o->view->layers & CVTM_LAYER_FIGURES ? 34 * s : 0;
  const double top = o->view->height - bar - height - margin;
  panel(o, margin, top, width, height);
  cvtm_canvas_text(o->canvas, margin + 12 * s, top + 0.5 * height, o->view->note, o->theme->ink,
                   0.95);
}

/* ---- The plot ---- */

typedef struct axis {
  double low, high;
} axis;

/* The range of log(value - above) over the values larger than `above`. */
static axis log_range(const float *values, int count, float above) {
  axis range = {INFINITY, -INFINITY};
  for (int k = 0; k < count; ++k) {
    if (!(values[k] > above)) continue;
    const double value = log10((double)(values[k] - above));
    range.low = fmin(range.low, value);
    range.high = fmax(range.high, value);
  }
  if (!(range.low <= range.high)) return (axis){0, 1};
  if (range.high - range.low < 1e-9) range.high = range.low + 1e-9;
  return range;
}

typedef struct plot_box {
  double x, y, width, height;
} plot_box;

static void draw_curve(const overlay *o, plot_box box, const float *values, float above,
                       const float colour[3]) {
  const axis range = log_range(values, o->state->history.count, above);
  const cvtm_view_history *h = &o->state->history;
  const double last = fmax((double)h->iteration[h->count - 1], 1);
  double x0 = 0, y0 = 0;
  int drawn = 0;
  for (int k = 0; k < h->count; ++k) {
    if (!(values[k] > above)) continue;
    const double t = (log10((double)(values[k] - above)) - range.low) / (range.high - range.low);
    const double x = box.x + box.width * (double)h->iteration[k] / last;
    const double y = box.y + box.height * (1 - t);
    if (drawn && x - x0 < 0.7 && fabs(y - y0) < 0.7) continue;
    if (drawn) cvtm_canvas_line(o->canvas, x0, y0, x, y, 1.6 * o->scale, colour, 0.95);
    x0 = x;
    y0 = y;
    drawn = 1;
  }
  if (drawn) cvtm_canvas_ring(o->canvas, x0, y0, 1.3 * o->scale, 2.6 * o->scale, colour, 1);
}

static void draw_plot(const overlay *o) {
  const cvtm_view_history *h = &o->state->history;
  const double s = o->scale, width = 300 * s, height = 170 * s, margin = 10 * s;
  if (o->view->width < width + 60 * s || o->view->height < height + 120 * s) return;
  const double left = o->view->width - width - margin, top = margin;
  const float *ratio = o->theme->accent, *gradient = o->theme->few;
  char text[64];
  panel(o, left, top, width, height);
  const plot_box box = {left + 14 * s, top + 52 * s, width - 28 * s, height - 82 * s};
  for (int k = 0; k <= 2; ++k) {
    const double y = floor(box.y + 0.5 * k * box.height) + 0.5;
    cvtm_canvas_line(o->canvas, box.x, y, box.x + box.width, y, s, o->theme->ink, 0.10);
  }
  const double second = left + 14 * s, line = 18 * s;
  const double value_x = left + 150 * s;
  cvtm_canvas_text(o->canvas, second, top + 16 * s, "energy ratio", ratio, 1);
  cvtm_canvas_text(o->canvas, second, top + 16 * s + line, "gradient, px", gradient, 1);
  snprintf(text, sizeof text, "%.6f", o->state->ratio);
  cvtm_canvas_text(o->canvas, value_x, top + 16 * s, text, o->theme->ink, 0.9);
  snprintf(text, sizeof text, "%.2e", o->state->gradient_norm);
  cvtm_canvas_text(o->canvas, value_x, top + 16 * s + line, text, o->theme->ink, 0.9);
  const double below = top + height - 14 * s;
  cvtm_canvas_text(o->canvas, box.x, below, "0", o->theme->ink, 0.5);
  group_digits(o->state->iteration, text, sizeof text);
  cvtm_canvas_text(o->canvas, box.x + box.width - cvtm_canvas_text_width(o->canvas, text), below,
                   text, o->theme->ink, 0.5);
  const char *name = "iterations, log scale";
  cvtm_canvas_text(o->canvas, box.x + 0.5 * (box.width - cvtm_canvas_text_width(o->canvas, name)),
                   below, name, o->theme->ink, 0.5);
  if (h->count == 0) return;
  draw_curve(o, box, h->gradient, 0, gradient);
  draw_curve(o, box, h->ratio, (float)cvtm_view_history_floor(h), ratio);
}

/* ---- The help ---- */

static const char *const help_lines[][2] = {
    {"space", "pause, go on"},
    {"N", "one iteration"},
    {"R", "new random sites"},
    {"L", "Lloyd or L-BFGS-B"},
    {"+  -", "more, fewer sites"},
    {"drag", "pan; on a site: move it"},
    {"wheel", "zoom at the cursor"},
    {"double click, F", "fit"},
    {"shift click", "add a site"},
    {"ctrl click", "delete a site"},
    {"B", "brush: denser, sparser, obstacle, off"},
    {"[  ]", "smaller, larger brush"},
    {"C", "colour by area, site, sides"},
    {"T", "dark or light"},
    {"S", "save picture, points, mesh"},
    {"H", "this help"},
    {"Q", "end"},
};

static void draw_help(const overlay *o) {
  enum { LINES = sizeof help_lines / sizeof help_lines[0] };
  const double s = o->scale, line = 19 * s, pad = 22 * s;
  const double width = 760 * s, height = LINES * line + 2 * pad + 24 * s;
  const double left = floor(0.5 * (o->view->width - width));
  const double top = floor(fmax(0.5 * (o->view->height - height), 0));
  const double keys = left + pad, texts = keys + 145 * s, layers = left + 510 * s;
  double y = top + pad + 4 * s;
  panel(o, left, top, width, height);
  cvtm_canvas_text(o->canvas, keys, y, "cvtmesh view", o->theme->accent, 1);
  cvtm_canvas_text(o->canvas, layers, y, "layers", o->theme->accent, 1);
  for (int k = 0; k < LINES; ++k) {
    const double at = y + (k + 1) * line + 10 * s;
    cvtm_canvas_text(o->canvas, keys, at, help_lines[k][0], o->theme->ink, 0.95);
    cvtm_canvas_text(o->canvas, texts, at, help_lines[k][1], o->theme->ink, 0.65);
  }
  for (int k = 0; k < CVTM_LAYERS; ++k) {
    const double at = y + (k + 1) * line + 10 * s;
    const char key[2] = {cvtm_layer_rows[k].key, '\0'};
    const int on = (o->view->layers & cvtm_layer_rows[k].layer) != 0;
    cvtm_canvas_text(o->canvas, layers, at, key, o->theme->ink, 0.95);
    cvtm_canvas_text(o->canvas, layers + 24 * s, at, cvtm_layer_rows[k].title,
                     on ? o->theme->accent : o->theme->ink, on ? 1 : 0.5);
  }
}

void cvtm_overlay_draw(cvtm_canvas *canvas, const cvtm_view_state *state, const cvtm_view *view) {
  const overlay o = {canvas, state, view, cvtm_theme_of(view->dark), view->scale};
  if (view->layers & CVTM_LAYER_BOUNDARY) draw_boundary(&o);
  if (view->brush > 0)
    cvtm_canvas_ring(canvas, view->cursor[0], view->cursor[1], view->brush * view->zoom,
                     1.5 * view->scale, o.theme->boundary, 0.9);
  if (view->layers & CVTM_LAYER_PLOT) draw_plot(&o);
  if (view->layers & CVTM_LAYER_FIGURES) draw_figures(&o);
  if (view->note[0]) draw_note(&o);
  if (view->help) draw_help(&o);
}

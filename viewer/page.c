#include "viewer/page.h"

#include "base/text.h"
#include "base/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_PICTURES = 120, MOST_PICTURE_BYTES = 1 << 28 };

static const char head[] =
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<style>\n"
    "body{--ground:#eceae6;--paper:#fbf9f5;--ink:#17212e;--quiet:#6b7480;--line:#d9d6cf;"
    "--accent:#0f7578;--second:#d2542f}\n"
    "body.dark{--ground:#0e1014;--paper:#15181f;--ink:#ebedea;--quiet:#949ba5;--line:#2a2f39;"
    "--accent:#66d1bd;--second:#ff8061}\n"
    "body{margin:0;background:var(--ground);color:var(--ink);"
    "font:15px/1.5 system-ui,-apple-system,\"Segoe UI\",sans-serif}\n"
    "main{max-width:1320px;margin:0 auto;padding:24px}\n"
    "h1{font-size:22px;font-weight:600;margin:0 0 16px}h2{font-size:16px;margin:0 0 10px}\n"
    "section{background:var(--paper);border:1px solid var(--line);border-radius:10px;"
    "padding:16px;margin-bottom:16px}\n"
    "#shown{display:block;width:100%;border-radius:6px}\n"
    ".bar{display:flex;gap:14px;align-items:center;margin-top:12px}\n"
    ".bar input{flex:1;accent-color:var(--accent)}\n"
    "button{font:inherit;color:var(--ink);background:none;border:1px solid var(--line);"
    "border-radius:6px;padding:3px 16px;cursor:pointer}\n"
    "#label{color:var(--quiet);min-width:19em;text-align:right;font-variant-numeric:tabular-nums}\n"
    "svg{width:100%;height:auto;display:block}svg text{fill:var(--quiet);font-size:12px}\n"
    "pre{overflow:auto;max-height:32em;margin:0;font-size:12.5px}\n"
    "</style>\n";

static const char script[] =
    "<script>\n"
    "const frames=JSON.parse(document.getElementById('frames').textContent);\n"
    "const shown=document.getElementById('shown'),slider=document.getElementById('slider'),\n"
    "label=document.getElementById('label'),play=document.getElementById('play');\n"
    "let timer=0;\n"
    "function show(k){const f=frames[k];slider.value=k;shown.src='data:image/png;base64,'+f.png;\n"
    "shown.alt='iteration '+f.iteration;label.textContent='iteration '+f.iteration+', '+\n"
    "f.sites.toLocaleString('en')+' sites, ratio '+f.ratio.toFixed(6);}\n"
    "function stop(){clearInterval(timer);timer=0;play.textContent='Play';}\n"
    "slider.max=frames.length-1;slider.oninput=()=>{stop();show(+slider.value);};\n"
    "play.onclick=()=>{if(timer){stop();return;}play.textContent='Stop';\n"
    "if(+slider.value===frames.length-1)show(0);\n"
    "timer=setInterval(()=>{const k=+slider.value+1;if(k<frames.length)show(k);else "
    "stop();},200);};\n"
    "if(frames.length)show(frames.length-1);\n"
    "document.body.dataset.ready=frames.length;\n"
    "</script>\n";

/* Writes a number, or 0 for NaN and infinity, which JSON does not have. */
static void write_number(FILE *stream, double value) {
  fprintf(stream, "%.9g", isfinite(value) ? value : 0.0);
}

static cvtm_status write_pictures(FILE *stream, const cvtm_html_page *page, cvtm_error *error) {
  const int64_t every = (page->picture_count + MOST_PICTURES - 1) / MOST_PICTURES;
  int first = 1;
  for (int64_t k = 0; k < page->picture_count; ++k) {
    const cvtm_page_picture *picture = &page->pictures[k];
    if (k % every != 0 && k + 1 < page->picture_count) continue;
    unsigned char *bytes = NULL;
    size_t size = 0;
    CVTM_TRY(cvtm_file_read(picture->path, MOST_PICTURE_BYTES, &bytes, &size, error));
    fprintf(stream, "%s\n{\"iteration\":%lld,\"sites\":%lld,\"ratio\":", first ? "" : ",",
            (long long)picture->iteration, (long long)picture->sites);
    write_number(stream, picture->ratio);
    fputs(",\"png\":\"", stream);
    cvtm_base64_write(stream, bytes, size);
    fputs("\"}", stream);
    free(bytes);
    first = 0;
  }
  return CVTM_OK;
}

/* ---- The plot ---- */

enum { PLOT_WIDTH = 1240, PLOT_HEIGHT = 260, PLOT_LEFT = 64, PLOT_TOP = 14, PLOT_BOTTOM = 30 };

typedef struct curve {
  const float *values;
  double above; /* the plot shows log(value - above) where this is defined */
  double low, high;
} curve;

static int on_curve(const curve *c, int k) { return (double)c->values[k] > c->above; }

static double height_of(const curve *c, int k) { return log10((double)c->values[k] - c->above); }

static curve make_curve(const float *values, int count, double above) {
  curve c = {values, above, INFINITY, -INFINITY};
  for (int k = 0; k < count; ++k) {
    if (!on_curve(&c, k)) continue;
    c.low = fmin(c.low, height_of(&c, k));
    c.high = fmax(c.high, height_of(&c, k));
  }
  if (!(c.low < c.high)) {
    c.low = isfinite(c.low) ? c.low - 0.5 : 0;
    c.high = c.low + 1;
  }
  return c;
}

static void write_curve(FILE *stream, const cvtm_view_history *h, const curve *c,
                        const char *colour) {
  const double last = fmax((double)h->iteration[h->count - 1], 1);
  fprintf(stream, "<polyline fill=\"none\" stroke=\"var(--%s)\" stroke-width=\"1.8\" points=\"",
          colour);
  for (int k = 0; k < h->count; ++k) {
    if (!on_curve(c, k)) continue;
    const double x = PLOT_LEFT + (PLOT_WIDTH - 2.0 * PLOT_LEFT) * (double)h->iteration[k] / last;
    const double y = PLOT_TOP + (PLOT_HEIGHT - PLOT_TOP - PLOT_BOTTOM) *
                                    (c->high - height_of(c, k)) / (c->high - c->low);
    fprintf(stream, "%.1f,%.1f ", x, y);
  }
  fputs("\"/>\n", stream);
}

static void write_scale(FILE *stream, const curve *c, int right) {
  const double x = right ? PLOT_WIDTH - PLOT_LEFT + 6 : PLOT_LEFT - 6;
  const char *anchor = right ? "start" : "end";
  fprintf(stream, "<text x=\"%g\" y=\"%d\" text-anchor=\"%s\">%.1e</text>\n", x, PLOT_TOP + 8,
          anchor, pow(10, c->high));
  fprintf(stream, "<text x=\"%g\" y=\"%d\" text-anchor=\"%s\">%.1e</text>\n", x,
          PLOT_HEIGHT - PLOT_BOTTOM, anchor, pow(10, c->low));
}

static void write_plot(FILE *stream, const cvtm_view_history *h) {
  if (h->count == 0) return;
  const double above = cvtm_view_history_floor(h);
  const curve ratio = make_curve(h->ratio, h->count, above);
  const curve gradient = make_curve(h->gradient, h->count, 0);
  fprintf(stream, "<section><h2>Energy</h2><svg id=\"plot\" viewBox=\"0 0 %d %d\">\n", PLOT_WIDTH,
          PLOT_HEIGHT);
  for (int k = 0; k <= 4; ++k) {
    const double y = PLOT_TOP + k * (PLOT_HEIGHT - PLOT_TOP - PLOT_BOTTOM) / 4.0;
    fprintf(stream, "<path d=\"M%d %gH%d\" stroke=\"var(--line)\"/>\n", PLOT_LEFT, y,
            PLOT_WIDTH - PLOT_LEFT);
  }
  write_curve(stream, h, &gradient, "second");
  write_curve(stream, h, &ratio, "accent");
  write_scale(stream, &ratio, 0);
  write_scale(stream, &gradient, 1);
  fprintf(stream,
          "<text x=\"%d\" y=\"%d\">0</text><text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.0f "
          "iterations</text>\n",
          PLOT_LEFT, PLOT_HEIGHT - 8, PLOT_WIDTH - PLOT_LEFT, PLOT_HEIGHT - 8,
          (double)h->iteration[h->count - 1]);
  fprintf(
      stream,
      "<text x=\"%d\" y=\"%d\" style=\"fill:var(--accent)\">energy ratio - %.4g (left, log)</text>"
      "<text x=\"%d\" y=\"%d\" style=\"fill:var(--second)\">largest distance to a centroid, "
      "pixels (right, log)</text></svg></section>\n",
      PLOT_WIDTH / 2 - 330, PLOT_HEIGHT - 8, above, PLOT_WIDTH / 2 - 100, PLOT_HEIGHT - 8);
}

static cvtm_status write_body(FILE *stream, const cvtm_html_page *page, cvtm_error *error) {
  fputs("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<title>", stream);
  cvtm_put_xml_text(stream, page->title);
  fputs("</title>\n", stream);
  fputs(head, stream);
  fprintf(stream, "</head><body class=\"%s\"><main>\n<h1>", page->dark ? "dark" : "light");
  cvtm_put_xml_text(stream, page->title);
  fputs(
      "</h1>\n<section><img id=\"shown\" alt=\"\"><div class=\"bar\"><button id=\"play\">Play"
      "</button><input id=\"slider\" type=\"range\" min=\"0\" value=\"0\" aria-label=\"frame\">"
      "<span id=\"label\"></span></div></section>\n",
      stream);
  write_plot(stream, page->history);
  if (page->report) {
    fputs("<section><h2>Report</h2><pre id=\"report\">", stream);
    cvtm_put_xml_text(stream, page->report);
    fputs("</pre></section>\n", stream);
  }
  fputs("</main>\n<script id=\"frames\" type=\"application/json\">[", stream);
  CVTM_TRY(write_pictures(stream, page, error));
  fputs("]</script>\n", stream);
  fputs(script, stream);
  fputs("</body></html>\n", stream);
  return CVTM_OK;
}

cvtm_status cvtm_page_write(const char *path, const cvtm_html_page *page, cvtm_error *error) {
  cvtm_output *output = NULL;
  CVTM_TRY(cvtm_output_open(path, &output, error));
  cvtm_status status = write_body(cvtm_output_stream(output), page, error);
  if (status == CVTM_OK) return cvtm_output_commit(output, error);
  cvtm_output_abort(output);
  return status;
}

#include "viewer/font.h"

#include "base/segment.h"

#include <math.h>
#include <string.h>

/* clang-format off */
const char *const cvtm_font_strokes[CVTM_FONT_GLYPHS] = {
    /* blank to / */
    "", "4045 4848", "3032 5052", "2818 3068 1363 0565", "~8170000484881807 404b",
    "0880 o00404404 o44848848", "~881100603505084885", "4042", "~6020286b", "~2060682b",
    "4145 2254 2452", "1575 4248", "483a", "1575", "4848", "0880",
    /* 0 to 9 */
    "o00808808", "124048 1878", "~0200808308 0888", "~0110808334 ~3484880807", "68600686",
    "701014 ~144383880807", "~71600005 o03838808", "008028", "o10707414 o04848808",
    "o00808505 ~83882817",
    /* : to @ */
    "4444 4848", "4444 483a", "711577", "1474 1676", "117517", "~010080834446 4848",
    "o34646636 ~6467878480000878",
    /* A to Z */
    "084088 2565", "0008 ~004070744404 ~044484884808", "~828000088886", "0008 ~003080883808",
    "80000888 0464", "800008 0464", "~82800008888585 8545", "0008 8088 0484", "4048 2060 2868",
    "~6066680806", "0008 8005 3488", "000888", "0800458088", "08008880", "o00808808",
    "0008 ~004080854505", "o00808808 5689", "0008 ~004080854505 4588", "~8170000484881807",
    "0080 4048", "~000508888580", "004880", "0028426880", "0088 8008", "004480 4448", "00800888",
    /* [ to ` */
    "60202a6a", "0088", "20606a2a", "244064", "0a8a", "3042",
    /* a to z */
    "o03838808 8388", "0008 o03838808", "~847303087887", "o03838808 8088", "0585 ~858303087887",
    "~70404348 1363", "o03838808 ~838a8b1b0a", "0008 ~0503838588", "2343 4348 2868 4040",
    "2353 ~53595b1b1a 5050", "0008 7306 3488", "2040 4048 2868", "0308 ~0503434548 ~4543838588",
    "0308 ~0503838588", "o03838808", "030b o03838808", "o03838808 838b", "0308 ~06037384",
    "~8473030586880807", "~3036385877 1373", "~030608888683 8388", "034883", "0328446883",
    "0388 8308", "0348 831b", "03830888",
    /* { to ~ */
    "~60404425 ~25464a6a", "404b", "~20404465 ~65464a2a", "~06234785",
};
/* clang-format on */

enum { CURVE_STEPS = 6, MAX_POINTS = 24 };

typedef struct pen {
  double unit_x, unit_y, left, top; /* pixels to a unit of the grid, and where its origin is */
  double radius;
  int width, height, stride;
  unsigned char *pixels;
} pen;

static void draw_segment(const pen *p, const double *a, const double *b) {
  for (int y = 0; y < p->height; ++y) {
    for (int x = 0; x < p->width; ++x) {
      const double cover = p->radius + 0.5 - cvtm_segment_distance(a, b, x + 0.5, y + 0.5);
      const double value = 255 * fmin(fmax(cover, 0), 1) + 0.5;
      unsigned char *pixel = &p->pixels[y * p->stride + x];
      if (value > *pixel) *pixel = (unsigned char)value;
    }
  }
}

static void middle(const double *a, const double *b, double *result) {
  for (int c = 0; c < 2; ++c) result[c] = 0.5 * (a[c] + b[c]);
}

/* The quadratic arc from a to b that leans to `control`. */
static void draw_arc(const pen *p, const double *a, const double *control, const double *b) {
  double from[2] = {a[0], a[1]};
  for (int k = 1; k <= CURVE_STEPS; ++k) {
    const double t = (double)k / CURVE_STEPS, s = 1 - t;
    double to[2];
    for (int c = 0; c < 2; ++c) to[c] = s * s * a[c] + 2 * s * t * control[c] + t * t * b[c];
    draw_segment(p, from, to);
    memcpy(from, to, sizeof from);
  }
}

static void draw_stroke(const pen *p, char kind, double points[][2], int count) {
  if (count == 1) draw_segment(p, points[0], points[0]);
  if (kind == 'o') {
    for (int k = 0; k < count; ++k) {
      double a[2], b[2];
      middle(points[(k + count - 1) % count], points[k], a);
      middle(points[k], points[(k + 1) % count], b);
      draw_arc(p, a, points[k], b);
    }
  } else if (kind == '~') {
    for (int k = 1; k + 1 < count; ++k) {
      double a[2], b[2];
      middle(points[k - 1], points[k], a);
      middle(points[k], points[k + 1], b);
      draw_arc(p, k == 1 ? points[0] : a, points[k], k + 2 == count ? points[count - 1] : b);
    }
  } else {
    for (int k = 0; k + 1 < count; ++k) draw_segment(p, points[k], points[k + 1]);
  }
}

static int grid_value(char c) { return c >= 'a' ? c - 'a' + 10 : c - '0'; }

void cvtm_font_draw(int glyph, int width, int height, double capital, double weight,
                    unsigned char *pixels, int stride) {
  pen p = {.unit_y = capital / 8, .width = width, .height = height, .stride = stride};
  p.unit_x = 0.62 * p.unit_y;
  p.left = 0.5 * (width - 8 * p.unit_x);
  p.top = 0.5 * (height - 11 * p.unit_y) + 0.5 * p.unit_y;
  /* Stems and base lines on whole pixels are sharp. */
  const double base = floor(p.top + 8 * p.unit_y) + 0.5;
  p.top = base - 8 * p.unit_y;
  p.radius = 0.5 * weight;
  p.pixels = pixels;
  const char *text = cvtm_font_strokes[glyph];
  while (*text) {
    double points[MAX_POINTS][2];
    int count = 0;
    const char kind = *text == '~' || *text == 'o' ? *text++ : '-';
    for (; *text && *text != ' ' && count < MAX_POINTS; text += 2, ++count) {
      points[count][0] = p.left + grid_value(text[0]) * p.unit_x;
      points[count][1] = p.top + grid_value(text[1]) * p.unit_y;
    }
    draw_stroke(&p, kind, points, count);
    if (*text == ' ') ++text;
  }
}

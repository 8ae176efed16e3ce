/* Polygons from SVG: paths and closed shapes, moved by the transforms of their elements. */
#include "base/grow.h"
#include "base/portable.h"
#include "meshes/formats/polygon_rings.h"
#include "meshes/formats/svg_walk.h"
#include "meshes/formats/xml.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Chords of a curve stay within this of it, in pixels. */
static const double curve_tolerance = 0.02;

/* Of a curve of such an extent: small ones, of drawings in another unit, keep their shape. */
static double tolerance_of(double extent) { return fmin(curve_tolerance, extent / 140); }

/* ---- Paths ---- */

/* The paths of one element. */
typedef struct outline {
  cvtm_ring_collector *rings;
  cvtm_affine transform;
} outline;

typedef struct pen {
  double x, y;             /* where it is, before the transform */
  double start_x, start_y; /* of the subpath */
  double control_x, control_y;
  char last; /* command, large */
} pen;

static cvtm_status add_outline_point(outline *o, double x, double y) {
  cvtm_affine_apply(&o->transform, &x, &y);
  return cvtm_ring_add_point(o->rings, x, y);
}

/* A cubic from the pen to its last control point, as chords; their number follows from the second
 * differences. */
static cvtm_status draw_cubic(outline *o, pen *p, const double control[6]) {
  double x[4] = {p->x, control[0], control[2], control[4]};
  double y[4] = {p->y, control[1], control[3], control[5]};
  p->x = x[3];
  p->y = y[3];
  for (int k = 0; k < 4; ++k) cvtm_affine_apply(&o->transform, &x[k], &y[k]);
  double bend = 0;
  for (int k = 0; k < 2; ++k) {
    bend = fmax(bend, hypot(x[k] - 2 * x[k + 1] + x[k + 2], y[k] - 2 * y[k + 1] + y[k + 2]));
  }
  double extent = 0;
  for (int k = 1; k < 4; ++k) extent = fmax(extent, hypot(x[k] - x[0], y[k] - y[0]));
  /* A chord over 1/n of the parameter is off by at most 6 bend / (8 n^2). */
  const double wanted = bend > 0 ? ceil(sqrt(0.75 * bend / tolerance_of(extent))) : 1;
  const int chords = wanted < 1                          ? 1
                     : wanted < CVTM_POLYGON_CORNERS_MAX ? (int)wanted
                                                         : CVTM_POLYGON_CORNERS_MAX;
  for (int k = 1; k <= chords; ++k) {
    const double t = (double)k / chords, u = 1 - t;
    const double w[4] = {u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t};
    double px = 0, py = 0;
    for (int j = 0; j < 4; ++j) {
      px += w[j] * x[j];
      py += w[j] * y[j];
    }
    const int end = k == chords;
    const cvtm_status status = cvtm_ring_add_point(o->rings, end ? x[3] : px, end ? y[3] : py);
    if (status != CVTM_OK) return status;
  }
  return CVTM_OK;
}

static cvtm_status draw_quadratic(outline *o, pen *p, double qx, double qy, double x, double y) {
  const double control[6] = {p->x + 2 * (qx - p->x) / 3,
                             p->y + 2 * (qy - p->y) / 3,
                             x + 2 * (qx - x) / 3,
                             y + 2 * (qy - y) / 3,
                             x,
                             y};
  p->control_x = qx;
  p->control_y = qy;
  return draw_cubic(o, p, control);
}

/* Part of an ellipse: its half axes are (ux, uy) and (vx, vy), and t runs from `from` over `by`. */
typedef struct arc {
  double x, y, ux, uy, vx, vy, from, by;
} arc;

/* The points of an arc behind its first one, as ends of chords of equal steps in t; the last one is
 * left to the caller. */
static cvtm_status draw_arc(outline *o, const arc *a) {
  const cvtm_affine *m = &o->transform;
  const double ux = m->xx * a->ux + m->xy * a->uy, uy = m->yx * a->ux + m->yy * a->uy;
  const double vx = m->xx * a->vx + m->xy * a->vy, vy = m->yx * a->vx + m->yy * a->vy;
  const double radius = hypot(hypot(ux, uy), hypot(vx, vy)); /* at least the longer half axis */
  /* A chord over a step in t is off by at most radius (1 - cos (step / 2)). */
  const double step = 2 * acos(fmax(1 - tolerance_of(radius) / radius, 0));
  const double wanted = ceil(fabs(a->by) / step);
  const int chords = wanted < CVTM_POLYGON_CORNERS_MAX ? (int)wanted : CVTM_POLYGON_CORNERS_MAX;
  cvtm_status status = CVTM_OK;
  for (int k = 1; k < chords && status == CVTM_OK; ++k) {
    const double t = a->from + a->by * k / chords, c = cos(t), s = sin(t);
    status = add_outline_point(o, a->x + c * a->ux + s * a->vx, a->y + c * a->uy + s * a->vy);
  }
  return status;
}

/* The angle from (ux, uy) to (vx, vy). */
static double angle_between(double ux, double uy, double vx, double vy) {
  return atan2(ux * vy - uy * vx, ux * vx + uy * vy);
}

/* Path command A: from the pen to (a[5], a[6]), as SVG 1.1, F.6 has it. */
static cvtm_status draw_path_arc(outline *o, pen *p, const double a[7]) {
  const double turn = a[2] * CVTM_PI / 180, c = cos(turn), s = sin(turn);
  const double dx = 0.5 * (p->x - a[5]), dy = 0.5 * (p->y - a[6]);
  const double px = c * dx + s * dy, py = c * dy - s * dx; /* half the way back, in its axes */
  double rx = fabs(a[0]), ry = fabs(a[1]);
  const int is_line = rx == 0 || ry == 0 || (dx == 0 && dy == 0);
  cvtm_status status = CVTM_OK;
  if (!is_line) {
    const double excess = hypot(px / rx, py / ry);
    if (excess > 1) { /* too small to reach: as large as needed */
      rx *= excess;
      ry *= excess;
    }
    const double gap = fmin(excess, 1), away = sqrt(fmax(1 - gap * gap, 0)) / gap;
    const double side = (a[3] != 0) == (a[4] != 0) ? -away : away;
    const double qx = side * rx * py / ry, qy = -side * ry * px / rx; /* the centre */
    const double sx = (px - qx) / rx, sy = (py - qy) / ry;
    double by = angle_between(sx, sy, (-px - qx) / rx, (-py - qy) / ry);
    if (a[4] != 0 && by < 0) by += 2 * CVTM_PI;
    if (a[4] == 0 && by > 0) by -= 2 * CVTM_PI;
    const arc whole = {0.5 * (p->x + a[5]) + c * qx - s * qy,
                       0.5 * (p->y + a[6]) + s * qx + c * qy,
                       c * rx,
                       s * rx,
                       -s * ry,
                       c * ry,
                       atan2(sy, sx),
                       by};
    status = draw_arc(o, &whole);
  }
  p->x = a[5];
  p->y = a[6];
  return status == CVTM_OK ? add_outline_point(o, p->x, p->y) : status;
}

static int arguments_of(char command) {
  switch (command) {
    case 'H':
    case 'V':
      return 1;
    case 'M':
    case 'L':
    case 'T':
      return 2;
    case 'S':
    case 'Q':
      return 4;
    case 'C':
      return 6;
    case 'A':
      return 7;
    default:
      return 0;
  }
}

/* One command with its absolute arguments a. */
static cvtm_status run_path_command(outline *o, pen *p, char command, const double *a) {
  const int cubic = p->last == 'C' || p->last == 'S', quadratic = p->last == 'Q' || p->last == 'T';
  cvtm_status status = CVTM_OK;
  switch (command) {
    case 'M':
      status = cvtm_ring_close(o->rings);
      p->start_x = p->x = a[0];
      p->start_y = p->y = a[1];
      return status == CVTM_OK ? add_outline_point(o, p->x, p->y) : status;
    case 'C':
    case 'S': {
      const int k = command == 'C' ? 2 : 0;
      const double control[6] = {k ? a[0] : (cubic ? 2 * p->x - p->control_x : p->x),
                                 k ? a[1] : (cubic ? 2 * p->y - p->control_y : p->y),
                                 a[k],
                                 a[k + 1],
                                 a[k + 2],
                                 a[k + 3]};
      p->control_x = a[k];
      p->control_y = a[k + 1];
      return draw_cubic(o, p, control);
    }
    case 'Q':
      return draw_quadratic(o, p, a[0], a[1], a[2], a[3]);
    case 'A':
      return draw_path_arc(o, p, a);
    case 'T':
      return draw_quadratic(o, p, quadratic ? 2 * p->x - p->control_x : p->x,
                            quadratic ? 2 * p->y - p->control_y : p->y, a[0], a[1]);
    default:
      p->x = command == 'V' ? p->x : a[0];
      p->y = command == 'H' ? p->y : a[command == 'V' ? 0 : 1];
      return add_outline_point(o, p->x, p->y);
  }
}

/* Of an arc: 0 or 1, which needs no blank behind it. */
static int take_flag(cvtm_source *s, double *value) {
  while (s->at < s->size && strchr(" \t\r\n,", s->data[s->at])) ++s->at;
  if (s->at >= s->size || (s->data[s->at] != '0' && s->data[s->at] != '1')) return 0;
  *value = s->data[s->at++] - '0';
  return 1;
}

static cvtm_status read_path(cvtm_source *s, outline *o) {
  pen p = {0};
  char command = 0;
  for (;;) {
    while (s->at < s->size && strchr(" \t\r\n,", s->data[s->at])) ++s->at;
    if (s->at >= s->size) return cvtm_ring_close(o->rings);
    int given = cvtm_is_letter(s->data[s->at]);
    if (given) command = (char)s->data[s->at++];
    const char large = (char)(command & ~32);
    const int relative = command != large;
    if (p.last == 0 && large != 'M') return cvtm_source_fail(s, "a path begins with M");
    if (large == 'Z' && given) {
      const cvtm_status closed = cvtm_ring_close(o->rings);
      if (closed != CVTM_OK) return closed;
      p.x = p.start_x;
      p.y = p.start_y;
      p.last = 'Z';
      continue;
    }
    const int wanted = arguments_of(large);
    if (wanted == 0) {
      return cvtm_source_fail(s, "path command `%c` is not supported", command ? command : '?');
    }
    double a[7];
    for (int k = 0; k < wanted; ++k) {
      const int is_flag = large == 'A' && (k == 3 || k == 4);
      if (!(is_flag ? take_flag(s, &a[k]) : cvtm_svg_take_number(s, &a[k]))) {
        return cvtm_source_fail(s, "path command `%c` needs %d numbers", command, wanted);
      }
      const int vertical = large == 'V' || (large != 'H' && (wanted - k) % 2 == 1);
      if (relative && (large != 'A' || k >= 5)) a[k] += vertical ? p.y : p.x;
    }
    cvtm_status status = CVTM_OK;
    /* After Z the next subpath may begin without M, where the last one did. */
    if (p.last == 'Z' && large != 'M') status = add_outline_point(o, p.x, p.y);
    if (status == CVTM_OK) status = run_path_command(o, &p, large, a);
    if (status != CVTM_OK) return status;
    p.last = large;
    if (large == 'M') command = relative ? 'l' : 'L'; /* further pairs are lines */
  }
}

static cvtm_status read_corner_list(cvtm_source *s, outline *o) {
  double x, y;
  while (cvtm_svg_take_number(s, &x)) {
    if (!cvtm_svg_take_number(s, &y)) return cvtm_source_fail(s, "a corner needs two numbers");
    const cvtm_status status = add_outline_point(o, x, y);
    if (status != CVTM_OK) return status;
  }
  while (s->at < s->size && strchr(" \t\r\n", s->data[s->at])) ++s->at;
  return s->at < s->size ? cvtm_source_fail(s, "expected a number") : cvtm_ring_close(o->rings);
}

/* ---- Closed shapes ---- */

static cvtm_status read_lengths(cvtm_source *source, const char **attributes,
                                const char *const *names, int count, double *value) {
  for (int k = 0; k < count; ++k) {
    const cvtm_status status = cvtm_svg_length(source, attributes, names[k], &value[k]);
    if (status != CVTM_OK) return status;
  }
  return CVTM_OK;
}

/* An arc with its first point. */
static cvtm_status add_arc(outline *o, double x, double y, double rx, double ry, double from,
                           double by) {
  const arc whole = {x, y, rx, 0, 0, ry, from, by};
  const cvtm_status status = add_outline_point(o, x + rx * cos(from), y + ry * sin(from));
  return status == CVTM_OK ? draw_arc(o, &whole) : status;
}

static cvtm_status read_ellipse(cvtm_source *source, const char **attributes, outline *o,
                                int is_circle) {
  static const char *const names[] = {"cx", "cy", "rx", "ry", "r"};
  double v[5];
  cvtm_status status = read_lengths(source, attributes, names, 5, v);
  if (status != CVTM_OK) return status;
  const double rx = is_circle ? v[4] : v[2], ry = is_circle ? v[4] : v[3];
  if (!(rx > 0 && ry > 0)) return CVTM_OK; /* not drawn */
  status = add_arc(o, v[0], v[1], rx, ry, 0, 2 * CVTM_PI);
  return status == CVTM_OK ? cvtm_ring_close(o->rings) : status;
}

static cvtm_status read_rectangle(cvtm_source *source, const char **attributes, outline *o) {
  static const char *const names[] = {"x", "y", "width", "height", "rx", "ry"};
  double v[6];
  cvtm_status status = read_lengths(source, attributes, names, 6, v);
  if (status != CVTM_OK || !(v[2] > 0 && v[3] > 0)) return status;
  const int has_rx = cvtm_xml_attribute(attributes, "rx") != NULL;
  const int has_ry = cvtm_xml_attribute(attributes, "ry") != NULL;
  const double rx = fmin(fmax(has_rx ? v[4] : v[5], 0), 0.5 * v[2]);
  const double ry = fmin(fmax(has_ry ? v[5] : v[4], 0), 0.5 * v[3]);
  for (int k = 0; k < 4 && status == CVTM_OK; ++k) {
    const int right = k == 1 || k == 2, low = k >= 2;
    const double x = v[0] + (right ? v[2] - rx : rx), y = v[1] + (low ? v[3] - ry : ry);
    if (rx == 0 || ry == 0) {
      status = add_outline_point(o, v[0] + (right ? v[2] : 0), v[1] + (low ? v[3] : 0));
      continue;
    }
    const double from = (2 + k) * 0.5 * CVTM_PI, to = from + 0.5 * CVTM_PI;
    status = add_arc(o, x, y, rx, ry, from, to - from);
    if (status == CVTM_OK) status = add_outline_point(o, x + rx * cos(to), y + ry * sin(to));
  }
  return status == CVTM_OK ? cvtm_ring_close(o->rings) : status;
}

/* A cvtm_svg_visitor. */
static cvtm_status read_shape(void *context, cvtm_source *source, const char *name,
                              const char **attributes, const cvtm_affine *transform) {
  outline o = {context, *transform};
  const char *label = cvtm_xml_attribute(attributes, "inkscape:label");
  if (label == NULL) label = cvtm_xml_attribute(attributes, "id");
  const cvtm_status begun = cvtm_ring_begin_shape(o.rings, label);
  if (begun != CVTM_OK) return begun;
  const int is_circle = strcmp(name, "circle") == 0;
  if (is_circle || strcmp(name, "ellipse") == 0)
    return read_ellipse(source, attributes, &o, is_circle);
  if (strcmp(name, "rect") == 0) return read_rectangle(source, attributes, &o);
  const int is_path = strcmp(name, "path") == 0, is_polygon = strcmp(name, "polygon") == 0;
  const char *value = is_path      ? cvtm_xml_attribute(attributes, "d")
                      : is_polygon ? cvtm_xml_attribute(attributes, "points")
                                   : NULL;
  if (value == NULL) return CVTM_OK;
  cvtm_source s = cvtm_svg_value(source, value);
  return is_path ? read_path(&s, &o) : read_corner_list(&s, &o);
}

cvtm_status cvtm_read_polygons_svg(cvtm_source *source, cvtm_ring_collector *collector) {
  return cvtm_svg_walk(source, read_shape, collector);
}

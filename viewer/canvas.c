#include "viewer/canvas.h"

#include "base/host.h"
#include "base/geometry.h"

#include <epoxy/gl.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- Shaders ---- */

static cvtm_status compile(const char *name, GLenum stage, const char *preamble, const char *text,
                           GLuint program, cvtm_error *error) {
  const char *parts[2] = {preamble, text};
  const GLuint shader = glCreateShader(stage);
  GLint done = 0;
  glShaderSource(shader, 2, parts, NULL);
  glCompileShader(shader);
  glGetShaderiv(shader, GL_COMPILE_STATUS, &done);
  cvtm_status status = CVTM_OK;
  if (!done) {
    char log[400] = "";
    glGetShaderInfoLog(shader, (GLsizei)sizeof log, NULL, log);
    status = cvtm_fail(error, CVTM_ERROR_DEVICE, "OpenGL: shader of %s: %s", name, log);
  } else {
    glAttachShader(program, shader);
  }
  glDeleteShader(shader);
  return status;
}

cvtm_status cvtm_gl_program(const char *name, const char *preamble, const char *vertex,
                            const char *fragment, unsigned *result, cvtm_error *error) {
  const GLuint program = glCreateProgram();
  cvtm_status status = compile(name, GL_VERTEX_SHADER, preamble, vertex, program, error);
  if (status == CVTM_OK)
    status = compile(name, GL_FRAGMENT_SHADER, preamble, fragment, program, error);
  if (status == CVTM_OK) {
    GLint done = 0;
    glLinkProgram(program);
    glGetProgramiv(program, GL_LINK_STATUS, &done);
    if (!done) {
      char log[400] = "";
      glGetProgramInfoLog(program, (GLsizei)sizeof log, NULL, log);
      status = cvtm_fail(error, CVTM_ERROR_DEVICE, "OpenGL: program of %s: %s", name, log);
    }
  }
  if (status != CVTM_OK) {
    glDeleteProgram(program);
    return status;
  }
  *result = program;
  return CVTM_OK;
}

cvtm_status cvtm_gl_check(const char *what, cvtm_error *error) {
  const GLenum first = glGetError();
  if (first == GL_NO_ERROR) return CVTM_OK;
  /* a lost context reports errors without end, so the number of calls is limited */
  for (int k = 0; k < 16 && glGetError() != GL_NO_ERROR; ++k) continue;
  return cvtm_fail(error, CVTM_ERROR_DEVICE, "OpenGL: %s: error 0x%04x", what, (unsigned)first);
}

/* ---- The typeface ---- */

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
  double unit_x, unit_y, left,
      top; /* pixels per unit of the grid; the position of the origin of the grid */
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

/* Draws the quadratic Bezier curve from a to b with control point `control`. */
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
  /* stems and base lines are sharp if they lie on integer pixels */
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

/* ---- The canvas ---- */

typedef enum shape { SHAPE_BOX, SHAPE_RING, SHAPE_LINE, SHAPE_GLYPH } shape;

typedef struct vertex {
  float x, y; /* position on the screen */
  float u,
      v; /* position relative to the middle of the shape, in pixels; for a glyph, in the atlas */
  float w, h, size; /* half width, half height; size: corner radius or half thickness */
  float kind;
  unsigned char colour[4];
} vertex;

struct cvtm_canvas {
  unsigned program, array, buffer, atlas;
  int screen; /* location of the uniform `screen` */
  int width, height;
  double scale;
  int glyph_width, glyph_height;
  vertex *vertices;
  int64_t count, capacity;
  int no_memory;
};

static const char preamble[] = "#version 330 core\n";

static const char vertex_shader[] =
    "layout(location = 0) in vec2 place;\n"
    "layout(location = 1) in vec2 local;\n"
    "layout(location = 2) in vec4 form;\n"
    "layout(location = 3) in vec4 colour;\n"
    "uniform vec2 screen;\n"
    "out vec2 at;\n"
    "flat out vec4 shape;\n"
    "out vec4 tint;\n"
    "void main() {\n"
    "  at = local;\n"
    "  shape = form;\n"
    "  tint = colour;\n"
    "  gl_Position = vec4(2.0 * place.x / screen.x - 1.0, 1.0 - 2.0 * place.y / screen.y, 0, 1);\n"
    "}\n";

static const char fragment_shader[] =
    "in vec2 at;\n"
    "flat in vec4 shape;\n"
    "in vec4 tint;\n"
    "uniform sampler2D atlas;\n"
    "out vec4 result;\n"
    "void main() {\n"
    "  float cover;\n"
    "  if (shape.w > 2.5) {\n"
    "    cover = texelFetch(atlas, ivec2(at), 0).r;\n"
    "  } else if (shape.w > 1.5) {\n"
    "    vec2 d = vec2(max(abs(at.x) - shape.x, 0.0), at.y);\n"
    "    cover = clamp(shape.z + 0.5 - length(d), 0.0, 1.0) * min(2.0 * shape.z, 1.0);\n"
    "  } else if (shape.w > 0.5) {\n"
    "    cover = clamp(shape.z + 0.5 - abs(length(at) - shape.x), 0.0, 1.0);\n"
    "  } else {\n"
    "    vec2 d = abs(at) - shape.xy + shape.z;\n"
    "    cover = clamp(0.5 + shape.z - length(max(d, 0.0)) - min(max(d.x, d.y), 0.0), 0.0, 1.0);\n"
    "  }\n"
    "  result = vec4(tint.rgb, tint.a * cover);\n"
    "}\n";

cvtm_status cvtm_canvas_create(cvtm_canvas **result, cvtm_error *error) {
  cvtm_canvas *canvas = calloc(1, sizeof *canvas);
  if (!canvas) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  const cvtm_status status =
      cvtm_gl_program("text", preamble, vertex_shader, fragment_shader, &canvas->program, error);
  if (status != CVTM_OK) {
    free(canvas);
    return status;
  }
  canvas->screen = glGetUniformLocation(canvas->program, "screen");
  glGenVertexArrays(1, &canvas->array);
  glGenBuffers(1, &canvas->buffer);
  glGenTextures(1, &canvas->atlas);
  glBindVertexArray(canvas->array);
  glBindBuffer(GL_ARRAY_BUFFER, canvas->buffer);
  const GLsizei stride = (GLsizei)sizeof(vertex);
  glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, stride, (void *)offsetof(vertex, x));
  glVertexAttribPointer(1, 2, GL_FLOAT, GL_FALSE, stride, (void *)offsetof(vertex, u));
  glVertexAttribPointer(2, 4, GL_FLOAT, GL_FALSE, stride, (void *)offsetof(vertex, w));
  glVertexAttribPointer(3, 4, GL_UNSIGNED_BYTE, GL_TRUE, stride, (void *)offsetof(vertex, colour));
  for (GLuint k = 0; k < 4; ++k) glEnableVertexAttribArray(k);
  glBindVertexArray(0);
  *result = canvas;
  return CVTM_OK;
}

void cvtm_canvas_destroy(cvtm_canvas *canvas) {
  if (!canvas) return;
  glDeleteProgram(canvas->program);
  glDeleteVertexArrays(1, &canvas->array);
  glDeleteBuffers(1, &canvas->buffer);
  glDeleteTextures(1, &canvas->atlas);
  free(canvas->vertices);
  free(canvas);
}

/* Draws all glyphs side by side, in the size for `scale`. */
static cvtm_status make_atlas(cvtm_canvas *canvas, double scale, cvtm_error *error) {
  if (canvas->scale == scale) return CVTM_OK;
  const int width = (int)ceil(8.2 * scale), height = (int)ceil(18 * scale);
  const int stride = width * CVTM_FONT_GLYPHS;
  unsigned char *pixels = calloc((size_t)stride * (size_t)height, 1);
  if (!pixels) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  for (int glyph = 0; glyph < CVTM_FONT_GLYPHS; ++glyph)
    cvtm_font_draw(glyph, width, height, 9.2 * scale, 0.6 + 0.72 * scale, pixels + glyph * width,
                   stride);
  glBindTexture(GL_TEXTURE_2D, canvas->atlas);
  glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_R8, stride, height, 0, GL_RED, GL_UNSIGNED_BYTE, pixels);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAX_LEVEL, 0);
  free(pixels);
  canvas->scale = scale;
  canvas->glyph_width = width;
  canvas->glyph_height = height;
  return CVTM_OK;
}

cvtm_status cvtm_canvas_begin(cvtm_canvas *canvas, int width, int height, double scale,
                              cvtm_error *error) {
  canvas->width = width;
  canvas->height = height;
  canvas->count = 0;
  canvas->no_memory = 0;
  return make_atlas(canvas, scale, error);
}

/* Adds two triangles with these four corners, in the order of a triangle strip. */
static void add_quad(cvtm_canvas *canvas, const vertex corners[4]) {
  if (!cvtm_grow(&canvas->vertices, sizeof *canvas->vertices, &canvas->capacity,
                 canvas->count + 6)) {
    canvas->no_memory = 1;
    return;
  }
  static const int order[6] = {0, 1, 2, 2, 1, 3};
  for (int k = 0; k < 6; ++k) canvas->vertices[canvas->count++] = corners[order[k]];
}

static vertex make_vertex(shape kind, const float colour[3], double opacity) {
  vertex v = {.kind = (float)kind};
  for (int c = 0; c < 3; ++c) v.colour[c] = (unsigned char)(255 * colour[c] + 0.5f);
  v.colour[3] = (unsigned char)(255 * opacity + 0.5);
  return v;
}

/* Adds a shape around x, y with the given extents along and across the direction (cx, cy). */
static void add_shape(cvtm_canvas *canvas, vertex v, double x, double y, double reach_along,
                      double reach_across, double cx, double cy) {
  vertex corners[4];
  for (int k = 0; k < 4; ++k) {
    const double u = k & 1 ? reach_along : -reach_along, w = k & 2 ? reach_across : -reach_across;
    corners[k] = v;
    corners[k].x = (float)(x + u * cx - w * cy);
    corners[k].y = (float)(y + u * cy + w * cx);
    corners[k].u = (float)u;
    corners[k].v = (float)w;
  }
  add_quad(canvas, corners);
}

void cvtm_canvas_box(cvtm_canvas *canvas, double x, double y, double width, double height,
                     double radius, const float colour[3], double opacity) {
  vertex v = make_vertex(SHAPE_BOX, colour, opacity);
  v.w = (float)(0.5 * width);
  v.h = (float)(0.5 * height);
  v.size = (float)radius;
  add_shape(canvas, v, x + 0.5 * width, y + 0.5 * height, 0.5 * width + 1, 0.5 * height + 1, 1, 0);
}

void cvtm_canvas_ring(cvtm_canvas *canvas, double x, double y, double radius, double thickness,
                      const float colour[3], double opacity) {
  vertex v = make_vertex(SHAPE_RING, colour, opacity);
  v.w = (float)radius;
  v.size = (float)(0.5 * thickness);
  const double reach = radius + thickness + 1;
  add_shape(canvas, v, x, y, reach, reach, 1, 0);
}

void cvtm_canvas_line(cvtm_canvas *canvas, double x0, double y0, double x1, double y1,
                      double thickness, const float colour[3], double opacity) {
  const double dx = x1 - x0, dy = y1 - y0, length = hypot(dx, dy);
  vertex v = make_vertex(SHAPE_LINE, colour, opacity);
  v.w = (float)(0.5 * length);
  v.size = (float)(0.5 * thickness);
  const double cx = length > 0 ? dx / length : 1, cy = length > 0 ? dy / length : 0;
  add_shape(canvas, v, 0.5 * (x0 + x1), 0.5 * (y0 + y1), 0.5 * (length + thickness) + 1,
            0.5 * thickness + 1, cx, cy);
}

double cvtm_canvas_text(cvtm_canvas *canvas, double x, double y, const char *text,
                        const float colour[3], double opacity) {
  const float w = (float)canvas->glyph_width, h = (float)canvas->glyph_height;
  const float top = (float)floor(y - 0.5 * canvas->glyph_height);
  float left = (float)floor(x);
  for (; *text; ++text, left += w) {
    const int glyph = (unsigned char)*text - CVTM_FONT_FIRST;
    if (glyph <= 0 || glyph >= CVTM_FONT_GLYPHS) continue;
    vertex corners[4];
    for (int k = 0; k < 4; ++k) {
      corners[k] = make_vertex(SHAPE_GLYPH, colour, opacity);
      const float right = k & 1 ? w : 0, down = k & 2 ? h : 0;
      corners[k].x = left + right;
      corners[k].y = top + down;
      corners[k].u = (float)glyph * w + right;
      corners[k].v = down;
    }
    add_quad(canvas, corners);
  }
  return (double)left;
}

double cvtm_canvas_text_width(const cvtm_canvas *canvas, const char *text) {
  return (double)strlen(text) * canvas->glyph_width;
}

cvtm_status cvtm_canvas_end(cvtm_canvas *canvas, cvtm_error *error) {
  if (canvas->no_memory) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  glUseProgram(canvas->program);
  glUniform2f(canvas->screen, (float)canvas->width, (float)canvas->height);
  glActiveTexture(GL_TEXTURE0);
  glBindTexture(GL_TEXTURE_2D, canvas->atlas);
  glBindVertexArray(canvas->array);
  glBindBuffer(GL_ARRAY_BUFFER, canvas->buffer);
  glBufferData(GL_ARRAY_BUFFER, (GLsizeiptr)((size_t)canvas->count * sizeof(vertex)),
               canvas->vertices, GL_STREAM_DRAW);
  glDrawArrays(GL_TRIANGLES, 0, (GLsizei)canvas->count);
  glBindVertexArray(0);
  return CVTM_OK;
}

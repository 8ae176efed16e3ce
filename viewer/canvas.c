#include "viewer/canvas.h"

#include "base/grow.h"
#include "viewer/font.h"
#include "viewer/gl_program.h"

#include <epoxy/gl.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef enum shape { SHAPE_BOX, SHAPE_RING, SHAPE_LINE, SHAPE_GLYPH } shape;

typedef struct vertex {
  float x, y;       /* place */
  float u, v;       /* from the middle of the shape, in pixels; of a glyph in the atlas */
  float w, h, size; /* half width and height, radius or half thickness */
  float kind;
  unsigned char colour[4];
} vertex;

struct cvtm_canvas {
  unsigned program, array, buffer, atlas;
  int screen; /* uniform */
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

/* The glyphs side by side, at the size that the scale asks for. */
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

/* Two triangles over the four corners, in the order of a strip. */
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

/* A shape about x, y that reaches so far along and across the direction (cx, cy). */
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

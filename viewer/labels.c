#include "viewer/labels.h"

#include <epoxy/gl.h>

/* The disc of a site reaches 1.3 times the root of its cell's area, which was known when the
 * geometry was made last. */
const char cvtm_labels_site_vertex[] =
    "layout(location = 0) in vec2 place;\n"
    "uniform float least_area;\n"
    "flat out int label;\n"
    "flat out vec2 middle;\n"
    "flat out float radius;\n"
    "void main() {\n"
    "  gl_Position = place_on_screen(place);\n"
    "  middle = 0.5 * (gl_Position.xy + 1.0) * screen;\n"
    "  float area = cell_count > 0 ? max(cell_of(gl_VertexID).x, least_area) : 4.0 * least_area;\n"
    "  radius = min(1.3 * sqrt(area) * zoom + 1.5, 127.0);\n"
    "  label = gl_VertexID;\n"
    "  gl_PointSize = 2.0 * radius + 1.0;\n"
    "}\n";

const char cvtm_labels_site_fragment[] =
    "flat in int label;\n"
    "flat in vec2 middle;\n"
    "flat in float radius;\n"
    "out int result;\n"
    "void main() {\n"
    "  float away = distance(gl_FragCoord.xy, middle);\n"
    "  if (away > radius) discard;\n"
    "  gl_FragDepth = away / 128.0;\n"
    "  result = label;\n"
    "}\n";

/* Colours a pixel as the fragment shader of cells does. The edge of a cell is the bisector to the
 * site of a label nearby. A pixel that no disc covers takes the nearest site of labels around. */
const char cvtm_labels_fragment[] =
    "uniform isampler2D labels;\n"
    "uniform samplerBuffer sites;\n"
    "uniform vec2 domain;\n"
    "uniform int margin;\n"
    "in vec2 at;\n"
    "out vec4 result;\n"
    "int label_at(ivec2 p) { return texelFetch(labels, p + margin, 0).r; }\n"
    "vec2 window_of(int id) {\n"
    "  vec2 p = texelFetch(sites, id).rg;\n"
    "  vec2 s = zoom * (p - centre);\n"
    "  return vec2(s.x, -s.y) + 0.5 * screen;\n"
    "}\n"
    "int find_around(ivec2 p) {\n"
    "  int found = -1;\n"
    "  float least = 1e30;\n"
    "  for (int step = 2; step <= 64 && found < 0; step *= 2) {\n"
    "    for (int k = 0; k < 9; ++k) {\n"
    "      int id = label_at(p + step * ivec2(k % 3 - 1, k / 3 - 1));\n"
    "      if (id < 0) continue;\n"
    "      float away = distance(gl_FragCoord.xy, window_of(id));\n"
    "      if (away < least) { least = away; found = id; }\n"
    "    }\n"
    "  }\n"
    "  return found;\n"
    "}\n"
    "void main() {\n"
    "  ivec2 pixel = ivec2(gl_FragCoord.xy);\n"
    "  int id = label_at(pixel);\n"
    "  if (id < 0) id = find_around(pixel);\n"
    "  if (id < 0) discard;\n"
    "  vec2 p = gl_FragCoord.xy, a = window_of(id);\n"
    "  vec2 border = min(at, 1.0 - at) * domain * zoom;\n"
    "  float spacing = sqrt(cell_of(id).x) * zoom, away = min(border.x, border.y);\n"
    "  int neighbour = id;\n"
    "  for (int k = 0; k < 25; ++k) {\n"
    "    int next = label_at(pixel + ivec2(k % 5 - 2, k / 5 - 2));\n"
    "    if (next < 0 || next == id || next == neighbour) continue;\n"
    "    vec2 b = window_of(next);\n"
    "    float to_edge = 0.5 * (dot(p - b, p - b) - dot(p - a, p - a)) / max(distance(a, b), "
    "1e-6);\n"
    "    if (to_edge < away) { away = to_edge; neighbour = next; }\n"
    "  }\n"
    "  result = shade_cell(fill_colour(id), fill_colour(neighbour), max(away, 0.0), spacing);\n"
    "}\n";

static void create(cvtm_labels *l) {
  glGenFramebuffers(1, &l->framebuffer);
  glGenTextures(1, &l->picture);
  glGenRenderbuffers(1, &l->depth);
}

static void resize_labels(cvtm_labels *l, int width, int height) {
  l->width = width;
  l->height = height;
  glActiveTexture(GL_TEXTURE3); /* the texture unit of the labels, see render.c */
  glBindTexture(GL_TEXTURE_2D, l->picture);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_R32I, width, height, 0, GL_RED_INTEGER, GL_INT, NULL);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAX_LEVEL, 0);
  glBindRenderbuffer(GL_RENDERBUFFER, l->depth);
  glRenderbufferStorage(GL_RENDERBUFFER, GL_DEPTH_COMPONENT32F, width, height);
  glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, l->picture, 0);
  glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_RENDERBUFFER, l->depth);
}

cvtm_status cvtm_labels_begin(cvtm_labels *l, int width, int height, cvtm_error *error) {
  static const int none[4] = {-1, -1, -1, -1};
  static const float far = 1;
  const int wide = width + 2 * CVTM_LABELS_MARGIN, high = height + 2 * CVTM_LABELS_MARGIN;
  glGetIntegerv(GL_FRAMEBUFFER_BINDING, &l->outer);
  if (l->framebuffer == 0) create(l);
  glBindFramebuffer(GL_FRAMEBUFFER, l->framebuffer);
  if (wide != l->width || high != l->height) resize_labels(l, wide, high);
  if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE) {
    cvtm_labels_end(l);
    return cvtm_fail(error, CVTM_ERROR_DEVICE, "OpenGL: no framebuffer of %d x %d labels", wide,
                     high);
  }
  glViewport(0, 0, wide, high);
  glClearBufferiv(GL_COLOR, 0, none);
  glClearBufferfv(GL_DEPTH, 0, &far);
  return CVTM_OK;
}

void cvtm_labels_end(const cvtm_labels *l) {
  glBindFramebuffer(GL_FRAMEBUFFER, (unsigned)l->outer);
}

void cvtm_labels_destroy(cvtm_labels *l) {
  if (l->framebuffer == 0) return;
  glDeleteFramebuffers(1, &l->framebuffer);
  glDeleteTextures(1, &l->picture);
  glDeleteRenderbuffers(1, &l->depth);
}

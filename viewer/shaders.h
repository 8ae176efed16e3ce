/* The shaders of render.c. */
#pragma once

/* Transforms domain coordinates to screen coordinates, and colours cells by a palette with a row
 * for each cvtm_fill. */
static const char preamble[] =
    "#version 330 core\n"
    "uniform vec2 centre, screen;\n"
    "uniform float zoom, scale;\n"
    "vec4 place_on_screen(vec2 p) {\n"
    "  vec2 s = 2.0 * zoom * (p - centre) / screen;\n"
    "  return vec4(s.x, -s.y, 0.0, 1.0);\n"
    "}\n"
    "uniform samplerBuffer cells;\n"
    "uniform sampler2D palette;\n"
    "uniform vec2 area_range;\n"
    "uniform int fill;\n"
    "uniform int cell_count;\n"
    "vec2 cell_of(int id) { return texelFetch(cells, clamp(id, 0, max(cell_count - 1, 0))).rg; }\n"
    "vec3 fill_colour(int id) {\n"
    "  vec2 cell = cell_of(id);\n"
    "  int step = int(255.5 * clamp(1.0 - (log(cell.x) - area_range.x) * area_range.y, 0.0, "
    "1.0));\n"
    "  if (fill == 1) step = int((uint(id) * 2654435761u) >> 24);\n"
    "  if (fill == 2) step = cell.y < 0.0 ? 6 : int(cell.y + 0.5);\n"
    "  return texelFetch(palette, ivec2(min(step, 255), fill), 0).rgb;\n"
    "}\n"
    "uniform float fill_opacity, edge_opacity;\n"
    "uniform vec3 ink;\n"
    /* The colour of a pixel of cell `own`, at a distance in pixels from the edge to cell
     * `other`. */
    "vec4 shade_cell(vec3 own, vec3 other, float distance, float spacing) {\n"
    "  vec3 colour = mix(own, other, clamp(0.5 - distance, 0.0, 0.5));\n"
    "  float half_width = clamp(0.035 * spacing, 0.35 * scale, 1.1 * scale);\n"
    "  float edge = clamp(half_width + 0.5 - distance, 0.0, 1.0) * edge_opacity;\n"
    "  edge *= smoothstep(2.5 * scale, 9.0 * scale, spacing);\n"
    "  vec3 line = ink;\n"
    "  if (fill_opacity > 0.5) {\n"
    "    vec3 ground = 0.5 * (own + other);\n"
    "    float light = dot(ground, vec3(0.30, 0.59, 0.11));\n"
    "    line = light > 0.42 ? mix(ground, vec3(0.05, 0.10, 0.14), 0.42)\n"
    "                        : mix(ground, vec3(1.0), 0.30);\n"
    "  }\n"
    "  float rest = fill_opacity * (1.0 - edge);\n"
    "  return vec4(colour * rest + line * edge, rest + edge);\n"
    "}\n";

/* A cell is a fan of triangles around its site, so the distance to the edge of the cell is linear
 * in each triangle. Edges and borders of colours are therefore exact, and antialiased without
 * multisampling. */
static const char cell_vertex[] =
    "layout(location = 0) in vec2 place;\n"
    "layout(location = 1) in ivec2 cell;\n"
    "out float away;\n"
    "flat out vec3 own, other;\n"
    "flat out float spacing;\n"
    "void main() {\n"
    "  gl_Position = place_on_screen(place);\n"
    "  away = cell.y == 0x7ffffffe ? 1.0 : 0.0;\n"
    "  own = fill_colour(cell.x);\n"
    "  other = cell.y >= 0x7ffffffe ? own : fill_colour(cell.y);\n"
    "  spacing = sqrt(cell_of(cell.x).x) * zoom;\n"
    "}\n";

static const char cell_fragment[] =
    "in float away;\n"
    "flat in vec3 own, other;\n"
    "flat in float spacing;\n"
    "out vec4 result;\n"
    "void main() {\n"
    "  float distance = away / max(length(vec2(dFdx(away), dFdy(away))), 1e-6);\n"
    "  result = shade_cell(own, other, distance, spacing);\n"
    "}\n";

static const char mesh_vertex[] =
    "layout(location = 0) in vec2 place;\n"
    "out vec3 corner;\n"
    "void main() {\n"
    "  int k = gl_VertexID % 3;\n"
    "  gl_Position = place_on_screen(place);\n"
    "  corner = vec3(k == 0, k == 1, k == 2);\n"
    "}\n";

static const char mesh_fragment[] =
    "in vec3 corner;\n"
    "out vec4 result;\n"
    "void main() {\n"
    "  vec3 dx = dFdx(corner), dy = dFdy(corner);\n"
    "  vec3 slope = max(sqrt(dx * dx + dy * dy), vec3(1e-6));\n"
    "  vec3 d = corner / slope;\n"
    "  float distance = min(d.x, min(d.y, d.z));\n"
    "  float lowest = 1.0 / max(slope.x, max(slope.y, slope.z));\n"
    "  float cover = clamp(0.55 * scale + 0.5 - distance, 0.0, 1.0);\n"
    "  cover *= 0.9 * smoothstep(1.5 * scale, 6.0 * scale, lowest);\n"
    "  if (cover <= 0.0) discard;\n"
    "  result = vec4(ink * cover, cover);\n"
    "}\n";

/* Sites are dark dots on light cells and light dots on dark cells. */
static const char site_vertex[] =
    "layout(location = 0) in vec2 place;\n"
    "uniform int filled;\n"
    "flat out vec4 tint;\n"
    "flat out float radius;\n"
    "void main() {\n"
    "  gl_Position = place_on_screen(place);\n"
    "  float spacing = sqrt(max(cell_of(gl_VertexID).x, 1e-6)) * zoom;\n"
    "  radius = clamp(0.085 * spacing, 0.6 * scale, 4.0 * scale);\n"
    "  float opacity = 0.85 * clamp(spacing / (5.0 * scale), 0.15, 1.0);\n"
    "  vec3 colour = ink;\n"
    "  if (filled == 1) {\n"
    "    opacity *= smoothstep(1.5 * scale, 4.0 * scale, spacing);\n"
    "    float light = dot(fill_colour(gl_VertexID), vec3(0.30, 0.59, 0.11));\n"
    "    colour = light > 0.5 ? vec3(0.05, 0.10, 0.14) : vec3(0.97, 0.98, 0.96);\n"
    "  }\n"
    "  tint = vec4(colour, opacity);\n"
    "  gl_PointSize = 2.0 * radius + 2.0;\n"
    "}\n";

static const char defect_vertex[] =
    "layout(location = 0) in vec3 place;\n"
    "uniform vec3 few, many;\n"
    "uniform float size;\n"
    "flat out vec4 tint;\n"
    "flat out float radius;\n"
    "void main() {\n"
    "  gl_Position = place_on_screen(place.xy);\n"
    "  float strength = abs(place.z - 6.0) > 1.5 ? 0.6 : 1.0;\n"
    "  tint = vec4((place.z < 6.0 ? few : many) * strength, 0.92);\n"
    "  radius = size;\n"
    "  gl_PointSize = 2.0 * radius + 2.0;\n"
    "}\n";

static const char dot_fragment[] =
    "flat in vec4 tint;\n"
    "flat in float radius;\n"
    "out vec4 result;\n"
    "void main() {\n"
    "  float distance = length(gl_PointCoord - 0.5) * (2.0 * radius + 2.0);\n"
    "  float cover = clamp(radius + 0.5 - distance, 0.0, 1.0) * tint.a;\n"
    "  if (cover <= 0.0) discard;\n"
    "  result = vec4(tint.rgb * cover, cover);\n"
    "}\n";

/* The rectangle of the domain: paper, with the density if its layer is shown. */
static const char ground_vertex[] =
    "uniform vec2 domain;\n"
    "out vec2 at;\n"
    "void main() {\n"
    "  at = vec2(gl_VertexID & 1, gl_VertexID >> 1);\n"
    "  gl_Position = place_on_screen(at * domain);\n"
    "}\n";

static const char ground_fragment[] =
    "in vec2 at;\n"
    "uniform sampler2D tone;\n"
    "uniform vec3 paper;\n"
    "uniform float strength;\n"
    "out vec4 result;\n"
    "void main() {\n"
    "  float t = strength > 0.0 ? strength * texture(tone, at).r : 0.0;\n"
    "  result = vec4(mix(paper, ink, t), 1.0);\n"
    "}\n";

/* The radius of a site's disc is 1.3 times the square root of the area of its last computed
 * cell. */
static const char label_site_vertex[] =
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

static const char label_site_fragment[] =
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

/* Colours a pixel like the fragment shader of cells. The edge of a cell is the bisector with the
 * site of a nearby label. A pixel that no disc covers gets the nearest of the sites whose labels
 * are found around the pixel. */
static const char label_fragment[] =
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

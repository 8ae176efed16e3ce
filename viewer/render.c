#include "viewer/render.h"

#include "base/host.h"
#include "draw/raster.h"
#include "viewer/canvas.h"
#include "viewer/shaders.h"

#include <epoxy/gl.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- Labels ---- */

/* The picture of labels has the nearest site of each screen pixel. OpenGL draws it from the sites
 * alone: each site is a disc whose depth is the distance to the site (Hoff, Keyser, Lin, Manocha &
 * Culver 1999), so the depth test keeps the nearest site. A second pass colours the pixels. The
 * picture follows the sites in every frame, while computing many cells takes seconds. */
enum {
  LABELS_MARGIN = 128,    /* pixels: width of the screen's margin, radius of the largest disc */
  LABELS_FEWEST = 200000, /* number of sites from which labels replace outdated cells */
};

typedef struct label_picture {
  unsigned framebuffer, picture, depth; /* OpenGL's names; 0 before the first use */
  int width, height;                    /* with the margins */
  int outer;                            /* the framebuffer bound before */
} label_picture;

static void create_labels(label_picture *l) {
  glGenFramebuffers(1, &l->framebuffer);
  glGenTextures(1, &l->picture);
  glGenRenderbuffers(1, &l->depth);
}

static void resize_labels(label_picture *l, int width, int height) {
  l->width = width;
  l->height = height;
  glActiveTexture(GL_TEXTURE3); /* the texture unit of the labels */
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

/* Returns to the framebuffer that was bound before begin_labels. */
static void end_labels(const label_picture *l) {
  glBindFramebuffer(GL_FRAMEBUFFER, (unsigned)l->outer);
}

/* Binds and clears a framebuffer for a screen of width x height pixels and its margins. */
static cvtm_status begin_labels(label_picture *l, int width, int height, cvtm_error *error) {
  static const int none[4] = {-1, -1, -1, -1};
  static const float far = 1;
  const int wide = width + 2 * LABELS_MARGIN, high = height + 2 * LABELS_MARGIN;
  glGetIntegerv(GL_FRAMEBUFFER_BINDING, &l->outer);
  if (l->framebuffer == 0) create_labels(l);
  glBindFramebuffer(GL_FRAMEBUFFER, l->framebuffer);
  if (wide != l->width || high != l->height) resize_labels(l, wide, high);
  if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE) {
    end_labels(l);
    return cvtm_fail(error, CVTM_ERROR_DEVICE, "OpenGL: no framebuffer of %d x %d labels", wide,
                     high);
  }
  glViewport(0, 0, wide, high);
  glClearBufferiv(GL_COLOR, 0, none);
  glClearBufferfv(GL_DEPTH, 0, &far);
  return CVTM_OK;
}

static void destroy_labels(label_picture *l) {
  if (l->framebuffer == 0) return;
  glDeleteFramebuffers(1, &l->framebuffer);
  glDeleteTextures(1, &l->picture);
  glDeleteRenderbuffers(1, &l->depth);
}

/* ---- Resources ---- */

typedef struct buffer {
  unsigned name, array;
  int64_t count; /* size of the buffer in bytes */
} buffer;

struct cvtm_render {
  cvtm_canvas *canvas;
  unsigned cell_program, mesh_program, site_program, defect_program, ground_program;
  unsigned label_program, label_cell_program;
  label_picture labels;
  buffer vertices, indices, mesh, sites, defects, cells;
  unsigned ground_array, cell_texture, site_texture, palette[2], tone;
  const cvtm_view_frame *frame;
  int stale_cells, stale_vertices, stale_mesh, stale_defects;
  int64_t site_count,
      fewest; /* fewest: number of sites from which labels are drawn instead of outdated cells */
  int moved;  /* nonzero: the sites are newer than the frame */
  double reference; /* square root of the density shown as full tone */
};

static cvtm_status create_programs(cvtm_render *r, cvtm_error *error) {
  const struct {
    const char *name, *vertex, *fragment;
    unsigned *program;
  } programs[] = {{"cells", cell_vertex, cell_fragment, &r->cell_program},
                  {"mesh", mesh_vertex, mesh_fragment, &r->mesh_program},
                  {"sites", site_vertex, dot_fragment, &r->site_program},
                  {"defects", defect_vertex, dot_fragment, &r->defect_program},
                  {"ground", ground_vertex, ground_fragment, &r->ground_program},
                  {"labels", label_site_vertex, label_site_fragment, &r->label_program},
                  {"cells of labels", ground_vertex, label_fragment, &r->label_cell_program}};
  for (size_t k = 0; k < sizeof programs / sizeof programs[0]; ++k)
    CVTM_TRY(cvtm_gl_program(programs[k].name, preamble, programs[k].vertex, programs[k].fragment,
                             programs[k].program, error));
  return CVTM_OK;
}

/* Creates a vertex array over one buffer of floats. */
static void create_array(buffer *b, int floats) {
  glGenBuffers(1, &b->name);
  glGenVertexArrays(1, &b->array);
  glBindVertexArray(b->array);
  glBindBuffer(GL_ARRAY_BUFFER, b->name);
  glVertexAttribPointer(0, floats, GL_FLOAT, GL_FALSE, 0, NULL);
  glEnableVertexAttribArray(0);
}

static void create_buffers(cvtm_render *r) {
  create_array(&r->mesh, 2);
  create_array(&r->sites, 2);
  create_array(&r->defects, 3);
  glGenBuffers(1, &r->vertices.name);
  glGenBuffers(1, &r->indices.name);
  glGenVertexArrays(1, &r->vertices.array);
  glBindVertexArray(r->vertices.array);
  glBindBuffer(GL_ARRAY_BUFFER, r->vertices.name);
  const GLsizei stride = (GLsizei)sizeof(cvtm_view_vertex);
  glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, stride, NULL);
  glVertexAttribIPointer(1, 2, GL_INT, stride, (void *)offsetof(cvtm_view_vertex, cell));
  glEnableVertexAttribArray(0);
  glEnableVertexAttribArray(1);
  glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, r->indices.name);
  glGenVertexArrays(1, &r->ground_array);
  glBindVertexArray(0);

  glGenBuffers(1, &r->cells.name);
  glBindBuffer(GL_TEXTURE_BUFFER, r->cells.name);
  glBufferData(GL_TEXTURE_BUFFER, (GLsizeiptr)sizeof(cvtm_view_cell), NULL, GL_STREAM_DRAW);
  glGenTextures(1, &r->cell_texture);
  glBindTexture(GL_TEXTURE_BUFFER, r->cell_texture);
  glTexBuffer(GL_TEXTURE_BUFFER, GL_RG32F, r->cells.name);
  glGenTextures(1, &r->site_texture);
}

static void create_palettes(cvtm_render *r) {
  unsigned char pixels[CVTM_PALETTE_ROWS][CVTM_PALETTE_WIDTH][4];
  glGenTextures(2, r->palette);
  for (int dark = 0; dark < 2; ++dark) {
    cvtm_palette_fill(dark, pixels);
    glBindTexture(GL_TEXTURE_2D, r->palette[dark]);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, CVTM_PALETTE_WIDTH, CVTM_PALETTE_ROWS, 0, GL_RGBA,
                 GL_UNSIGNED_BYTE, pixels);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAX_LEVEL, 0);
  }
  glGenTextures(1, &r->tone);
}

cvtm_status cvtm_render_create(cvtm_render **render, cvtm_error *error) {
  if (epoxy_gl_version() < 33)
    return cvtm_fail(error, CVTM_ERROR_DEVICE_UNAVAILABLE, "OpenGL 3.3 is needed; this is %d.%d",
                     epoxy_gl_version() / 10, epoxy_gl_version() % 10);
  cvtm_render *r = calloc(1, sizeof *r);
  if (!r) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  r->fewest = LABELS_FEWEST;
  cvtm_status status = create_programs(r, error);
  if (status == CVTM_OK) status = cvtm_canvas_create(&r->canvas, error);
  if (status == CVTM_OK) {
    create_buffers(r);
    create_palettes(r);
    status = cvtm_gl_check("preparing", error);
  }
  if (status != CVTM_OK) {
    cvtm_render_destroy(r);
    return status;
  }
  *render = r;
  return CVTM_OK;
}

void cvtm_render_destroy(cvtm_render *r) {
  if (!r) return;
  cvtm_canvas_destroy(r->canvas);
  destroy_labels(&r->labels);
  const unsigned programs[] = {r->cell_program,      r->mesh_program,   r->site_program,
                               r->defect_program,    r->ground_program, r->label_program,
                               r->label_cell_program};
  for (size_t k = 0; k < sizeof programs / sizeof programs[0]; ++k) glDeleteProgram(programs[k]);
  buffer *const buffers[] = {&r->vertices, &r->indices, &r->mesh,
                             &r->sites,    &r->defects, &r->cells};
  for (size_t k = 0; k < sizeof buffers / sizeof buffers[0]; ++k) {
    glDeleteBuffers(1, &buffers[k]->name);
    glDeleteVertexArrays(1, &buffers[k]->array);
  }
  glDeleteVertexArrays(1, &r->ground_array);
  glDeleteTextures(2, r->palette);
  glDeleteTextures(1, &r->cell_texture);
  glDeleteTextures(1, &r->site_texture);
  glDeleteTextures(1, &r->tone);
  free(r);
}

const char *cvtm_render_name(void) {
  const GLubyte *name = glGetString(GL_RENDERER);
  return name ? (const char *)name : "OpenGL";
}

/* ---- Data to draw ---- */

void cvtm_render_set_frame(cvtm_render *r, const cvtm_view_frame *frame) {
  r->frame = frame;
  r->stale_cells = r->stale_vertices = r->stale_mesh = r->stale_defects = 1;
  r->moved = 0;
}

void cvtm_render_set_fewest_labels(cvtm_render *r, int64_t fewest) { r->fewest = fewest; }

unsigned cvtm_render_sites_buffer(cvtm_render *r, int64_t count, int *renewed) {
  const int64_t bytes = 2 * count * (int64_t)sizeof(float);
  *renewed = bytes > r->sites.count;
  if (*renewed) {
    glDeleteBuffers(1, &r->sites.name);
    glDeleteVertexArrays(1, &r->sites.array);
    create_array(&r->sites, 2);
    r->sites.count = bytes + bytes / 4 + 64;
    glBufferData(GL_ARRAY_BUFFER, (GLsizeiptr)r->sites.count, NULL, GL_STREAM_DRAW);
  }
  r->site_count = count;
  r->moved = 1;
  return r->sites.name;
}

cvtm_status cvtm_render_set_sites(cvtm_render *r, cvtm_error *error) {
  const cvtm_view_state *state = &r->frame->state;
  int renewed;
  const unsigned name = cvtm_render_sites_buffer(r, state->count, &renewed);
  float *narrow = malloc(2 * (size_t)state->count * sizeof *narrow + 1);
  if (!narrow) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  for (int64_t k = 0; k < 2 * state->count; ++k) narrow[k] = (float)state->sites[k];
  glBindBuffer(GL_ARRAY_BUFFER, name);
  glBufferSubData(GL_ARRAY_BUFFER, 0, (GLsizeiptr)(2 * (size_t)state->count * sizeof *narrow),
                  narrow);
  free(narrow);
  return CVTM_OK;
}

/* The 99.5 % quantile of the square root of the density, so that outliers do not affect the
 * picture. */
static double find_reference(const float *density, int64_t count) {
  enum { SAMPLE = 4096 };
  double sample[SAMPLE];
  const int64_t stride = count / SAMPLE + 1;
  int taken = 0;
  for (int64_t k = 0; k < count; k += stride) sample[taken++] = sqrt((double)density[k]);
  qsort(sample, (size_t)taken, sizeof *sample, cvtm_compare_doubles);
  const double high = sample[(int)(0.995 * (taken - 1))];
  return high > 0 ? high : sample[taken - 1] > 0 ? sample[taken - 1] : 1;
}

cvtm_status cvtm_render_set_density(cvtm_render *r, const float *density, cvtm_domain domain,
                                    cvtm_error *error) {
  enum { MOST = 4096 };
  if (r->reference == 0)
    r->reference = find_reference(density, (int64_t)domain.width * domain.height);
  const int every = (domain.width > domain.height ? domain.width : domain.height) / MOST + 1;
  const int width = (domain.width + every - 1) / every;
  const int height = (domain.height + every - 1) / every;
  unsigned char *pixels = malloc((size_t)width * (size_t)height);
  if (!pixels) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const double rho = (double)density[(int64_t)y * every * domain.width + (int64_t)x * every];
      pixels[(size_t)y * (size_t)width + (size_t)x] =
          (unsigned char)(255 * fmin(sqrt(rho) / r->reference, 1) + 0.5);
    }
  }
  glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
  glBindTexture(GL_TEXTURE_2D, r->tone);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_R8, width, height, 0, GL_RED, GL_UNSIGNED_BYTE, pixels);
  glGenerateMipmap(GL_TEXTURE_2D);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR_MIPMAP_LINEAR);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_LINEAR);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
  free(pixels);
  return CVTM_OK;
}

/* ---- Drawing ---- */

static void upload_buffer(GLenum target, buffer *b, const void *data, int64_t count, size_t size) {
  const int64_t bytes = count * (int64_t)size;
  if (bytes > b->count) b->count = bytes + bytes / 8 + 64;
  glBindBuffer(target, b->name);
  /* allocates new storage; commands still being executed use the old storage */
  glBufferData(target, (GLsizeiptr)b->count, NULL, GL_STREAM_DRAW);
  if (bytes > 0) glBufferSubData(target, 0, (GLsizeiptr)bytes, data);
}

/* Uploads the arrays that the layers need. */
static void upload_frame(cvtm_render *r, unsigned layers) {
  const cvtm_view_frame *f = r->frame;
  if (r->stale_cells && f->cell_count > 0) {
    upload_buffer(GL_TEXTURE_BUFFER, &r->cells, f->cells, f->cell_count, sizeof *f->cells);
    r->stale_cells = 0;
  }
  if (r->stale_vertices && layers & (CVTM_LAYER_CELLS | CVTM_LAYER_CELL_EDGES)) {
    glBindVertexArray(r->vertices.array);
    upload_buffer(GL_ARRAY_BUFFER, &r->vertices, f->vertices, f->vertex_count, sizeof *f->vertices);
    upload_buffer(GL_ELEMENT_ARRAY_BUFFER, &r->indices, f->indices, f->index_count,
                  sizeof *f->indices);
    r->stale_vertices = 0;
  }
  if (r->stale_mesh && layers & CVTM_LAYER_MESH_EDGES) {
    upload_buffer(GL_ARRAY_BUFFER, &r->mesh, f->corners, 2 * f->corner_count, sizeof *f->corners);
    r->stale_mesh = 0;
  }
  if (r->stale_defects && layers & CVTM_LAYER_DEFECTS) {
    upload_buffer(GL_ARRAY_BUFFER, &r->defects, f->defects, 3 * f->defect_count,
                  sizeof *f->defects);
    r->stale_defects = 0;
  }
}

static int place_of(unsigned program, const char *name) {
  return glGetUniformLocation(program, name);
}

static void set_colour(unsigned program, const char *name, const float colour[3]) {
  glUniform3fv(place_of(program, name), 1, colour);
}

static void use_program(const cvtm_render *r, unsigned program, const cvtm_view *view) {
  const cvtm_view_frame *f = r->frame;
  const float low = logf(f->low_area), span = logf(f->high_area) - low;
  glUseProgram(program);
  glUniform2f(place_of(program, "centre"), (float)view->x, (float)view->y);
  glUniform2f(place_of(program, "screen"), (float)view->width, (float)view->height);
  glUniform1f(place_of(program, "zoom"), (float)view->zoom);
  glUniform1f(place_of(program, "scale"), (float)view->scale);
  glUniform2f(place_of(program, "area_range"), low, span > 0 ? 1 / span : 0);
  glUniform1i(place_of(program, "fill"), (int)view->fill);
  glUniform1i(place_of(program, "cell_count"), (int)f->cell_count);
  glUniform1i(place_of(program, "cells"), 1);
  glUniform1i(place_of(program, "palette"), 2);
  set_colour(program, "ink", cvtm_theme_of(view->dark)->ink);
}

static void draw_ground(const cvtm_render *r, const cvtm_view *view) {
  const cvtm_domain domain = r->frame->state.domain;
  const int shown = (view->layers & CVTM_LAYER_DENSITY) && r->reference > 0;
  use_program(r, r->ground_program, view);
  glUniform2f(place_of(r->ground_program, "domain"), (float)domain.width, (float)domain.height);
  glUniform1i(place_of(r->ground_program, "tone"), 0);
  glUniform1f(place_of(r->ground_program, "strength"), shown ? 0.8f : 0.0f);
  set_colour(r->ground_program, "paper", cvtm_theme_of(view->dark)->paper);
  glActiveTexture(GL_TEXTURE0);
  glBindTexture(GL_TEXTURE_2D, r->tone);
  glBindVertexArray(r->ground_array);
  glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
}

static void set_opacities(unsigned p, unsigned layers) {
  const float fill = layers & CVTM_LAYER_CELLS ? layers & CVTM_LAYER_DENSITY ? 0.6f : 1.0f : 0.0f;
  glUniform1f(place_of(p, "fill_opacity"), fill);
  glUniform1f(place_of(p, "edge_opacity"),
              layers & CVTM_LAYER_CELL_EDGES ? fill > 0 ? 1.0f : 0.75f : 0.0f);
}

static void draw_cells(const cvtm_render *r, const cvtm_view *view) {
  use_program(r, r->cell_program, view);
  set_opacities(r->cell_program, view->layers);
  glBindVertexArray(r->vertices.array);
  glDrawElements(GL_TRIANGLES, (GLsizei)r->frame->index_count, GL_UNSIGNED_INT, NULL);
}

/* The mean spacing of sites in screen pixels. */
static double mean_spacing(const cvtm_render *r, const cvtm_view *view) {
  const cvtm_domain domain = r->frame->state.domain;
  return sqrt((double)domain.width * domain.height / fmax((double)r->site_count, 1)) * view->zoom;
}

/* Nonzero if labels are drawn: there are many cells, and they are older than the sites. */
static int draws_labels(const cvtm_render *r, const cvtm_view *view) {
  return r->site_count >= r->fewest && (r->moved || r->frame->state.phase == CVTM_VIEW_RUNNING) &&
         mean_spacing(r, view) < 0.3 * LABELS_MARGIN;
}

/* Draws the labels of the screen and its margins. */
static cvtm_status draw_label_picture(cvtm_render *r, const cvtm_view *view, cvtm_error *error) {
  const cvtm_domain domain = r->frame->state.domain;
  const unsigned p = r->label_program;
  cvtm_view wide = *view;
  wide.width += 2 * LABELS_MARGIN;
  wide.height += 2 * LABELS_MARGIN;
  CVTM_TRY(begin_labels(&r->labels, view->width, view->height, error));
  glDisable(GL_BLEND);
  glEnable(GL_DEPTH_TEST);
  glEnable(GL_PROGRAM_POINT_SIZE);
  use_program(r, p, &wide);
  glUniform1f(place_of(p, "least_area"),
              (float)(0.25 * domain.width * domain.height / (double)r->site_count));
  glBindVertexArray(r->sites.array);
  glDrawArrays(GL_POINTS, 0, (GLsizei)r->site_count);
  glDisable(GL_DEPTH_TEST);
  glEnable(GL_BLEND);
  end_labels(&r->labels);
  glViewport(0, 0, view->width, view->height);
  return CVTM_OK;
}

/* Colours the pixels of the domain by their labels. */
static void draw_label_cells(const cvtm_render *r, const cvtm_view *view) {
  const cvtm_domain domain = r->frame->state.domain;
  const unsigned p = r->label_cell_program;
  use_program(r, p, view);
  set_opacities(p, view->layers);
  glUniform2f(place_of(p, "domain"), (float)domain.width, (float)domain.height);
  glUniform1i(place_of(p, "labels"), 3);
  glUniform1i(place_of(p, "sites"), 4);
  glUniform1i(place_of(p, "margin"), LABELS_MARGIN);
  glActiveTexture(GL_TEXTURE3);
  glBindTexture(GL_TEXTURE_2D, r->labels.picture);
  glActiveTexture(GL_TEXTURE4);
  glBindTexture(GL_TEXTURE_BUFFER, r->site_texture);
  glTexBuffer(GL_TEXTURE_BUFFER, GL_RG32F, r->sites.name);
  glBindVertexArray(r->ground_array);
  glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
}

static void draw_mesh(const cvtm_render *r, const cvtm_view *view) {
  use_program(r, r->mesh_program, view);
  set_colour(r->mesh_program, "ink", cvtm_theme_of(view->dark)->mesh);
  glBindVertexArray(r->mesh.array);
  glDrawArrays(GL_TRIANGLES, 0, (GLsizei)r->frame->corner_count);
}

static void draw_defects(const cvtm_render *r, const cvtm_view *view) {
  const cvtm_view_state *state = &r->frame->state;
  const unsigned p = r->defect_program;
  const double area = (double)state->domain.width * state->domain.height;
  const double spacing = sqrt(area / fmax((double)state->count, 1)) * view->zoom;
  use_program(r, p, view);
  glUniform1f(place_of(p, "size"),
              (float)fmin(fmax(0.22 * spacing, 1.6 * view->scale), 8 * view->scale));
  set_colour(p, "few", cvtm_theme_of(view->dark)->few);
  set_colour(p, "many", cvtm_theme_of(view->dark)->many);
  glBindVertexArray(r->defects.array);
  glDrawArrays(GL_POINTS, 0, (GLsizei)r->frame->defect_count);
}

static void draw_sites(const cvtm_render *r, const cvtm_view *view) {
  use_program(r, r->site_program, view);
  glUniform1i(place_of(r->site_program, "filled"), (view->layers & CVTM_LAYER_CELLS) != 0);
  glBindVertexArray(r->sites.array);
  glDrawArrays(GL_POINTS, 0, (GLsizei)r->site_count);
}

/* The layers without those that fade out on small cells, if even the largest cells are small. */
static unsigned visible_layers(const cvtm_render *r, const cvtm_view *view) {
  const double spacing = sqrt((double)r->frame->high_area) * view->zoom / view->scale;
  unsigned layers = view->layers;
  if (spacing < 1.5 && layers & CVTM_LAYER_CELLS) layers &= ~(unsigned)CVTM_LAYER_SITES;
  if (spacing < 1.5) layers &= ~(unsigned)CVTM_LAYER_MESH_EDGES;
  if (spacing < 2.5) layers &= ~(unsigned)CVTM_LAYER_CELL_EDGES;
  return layers;
}

static cvtm_status draw_layers(cvtm_render *r, const cvtm_view *view, cvtm_error *error) {
  const unsigned layers = visible_layers(r, view), cells = CVTM_LAYER_CELLS | CVTM_LAYER_CELL_EDGES;
  const int by_labels = layers & cells && draws_labels(r, view);
  upload_frame(r, by_labels ? layers & ~cells : layers);
  glActiveTexture(GL_TEXTURE1);
  glBindTexture(GL_TEXTURE_BUFFER, r->cell_texture);
  glActiveTexture(GL_TEXTURE2);
  glBindTexture(GL_TEXTURE_2D, r->palette[view->dark != 0]);
  if (by_labels) CVTM_TRY(draw_label_picture(r, view, error));
  glDisable(GL_BLEND);
  draw_ground(r, view);
  glEnable(GL_BLEND);
  glBlendFunc(GL_ONE, GL_ONE_MINUS_SRC_ALPHA); /* colours are premultiplied by their coverage */
  if (by_labels)
    draw_label_cells(r, view);
  else if (r->frame->index_count > 0 && layers & cells)
    draw_cells(r, view);
  if (layers & CVTM_LAYER_MESH_EDGES && r->frame->corner_count > 0) draw_mesh(r, view);
  glEnable(GL_PROGRAM_POINT_SIZE);
  if (layers & CVTM_LAYER_SITES && r->site_count > 0) draw_sites(r, view);
  if (layers & CVTM_LAYER_DEFECTS && r->frame->defect_count > 0) draw_defects(r, view);
  return CVTM_OK;
}

cvtm_status cvtm_render_draw(cvtm_render *r, const cvtm_view *view, cvtm_error *error) {
  const float *ground = cvtm_theme_of(view->dark)->ground;
  glViewport(0, 0, view->width, view->height);
  glDisable(GL_DEPTH_TEST);
  glDisable(GL_BLEND);
  glClearColor(ground[0], ground[1], ground[2], 1);
  glClear(GL_COLOR_BUFFER_BIT);
  if (!r->frame) return cvtm_gl_check("clearing", error);
  CVTM_TRY(draw_layers(r, view, error));
  glBlendFuncSeparate(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA, GL_ONE, GL_ONE_MINUS_SRC_ALPHA);
  CVTM_TRY(cvtm_canvas_begin(r->canvas, view->width, view->height, view->scale, error));
  cvtm_overlay_draw(r->canvas, &r->frame->state, view);
  CVTM_TRY(cvtm_canvas_end(r->canvas, error));
  return cvtm_gl_check("drawing", error);
}

cvtm_status cvtm_render_read(int width, int height, unsigned char *pixels, cvtm_error *error) {
  const size_t stride = 3 * (size_t)width;
  unsigned char *row = malloc(stride);
  if (!row) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  glPixelStorei(GL_PACK_ALIGNMENT, 1);
  glReadPixels(0, 0, width, height, GL_RGB, GL_UNSIGNED_BYTE, pixels);
  for (int top = 0, bottom = height - 1; top < bottom; ++top, --bottom) {
    memcpy(row, pixels + (size_t)top * stride, stride);
    memcpy(pixels + (size_t)top * stride, pixels + (size_t)bottom * stride, stride);
    memcpy(pixels + (size_t)bottom * stride, row, stride);
  }
  free(row);
  return cvtm_gl_check("reading", error);
}

#include "viewer/surface.h"

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#include <ctype.h>
#include <dlfcn.h>
#include <epoxy/egl.h>
#include <epoxy/gl.h>
#include <stdlib.h>
#include <time.h>

/* ---- A window, by GLFW ---- */

typedef struct window {
  cvtm_surface base;
  GLFWwindow *handle;
  double ratio_x, ratio_y; /* framebuffer pixels per unit of the cursor position */
} window;

static void emit_event(window *w, cvtm_event event) {
  event.time = glfwGetTime();
  if (w->base.handler) w->base.handler(w->base.handler_context, &event);
}

static void measure_window(window *w) {
  int width = 1, height = 1;
  float sx = 1, sy = 1;
  glfwGetFramebufferSize(w->handle, &w->base.width, &w->base.height);
  glfwGetWindowSize(w->handle, &width, &height);
  glfwGetWindowContentScale(w->handle, &sx, &sy);
  w->base.scale = (double)(sx > 0 ? sx : 1);
  w->ratio_x = width > 0 ? (double)w->base.width / width : 1;
  w->ratio_y = height > 0 ? (double)w->base.height / height : 1;
}

static void on_size(GLFWwindow *handle, int width, int height) {
  window *w = glfwGetWindowUserPointer(handle);
  (void)width;
  (void)height;
  measure_window(w);
  emit_event(w, (cvtm_event){.kind = CVTM_EVENT_RESIZE,
                             .width = w->base.width,
                             .height = w->base.height,
                             .scale = w->base.scale});
}

static void on_scale(GLFWwindow *handle, float sx, float sy) {
  (void)sx;
  (void)sy;
  on_size(handle, 0, 0);
}

static void on_refresh(GLFWwindow *handle) {
  emit_event(glfwGetWindowUserPointer(handle), (cvtm_event){.kind = CVTM_EVENT_REDRAW});
}

static void on_close(GLFWwindow *handle) {
  emit_event(glfwGetWindowUserPointer(handle), (cvtm_event){.kind = CVTM_EVENT_CLOSE});
}

/* Handles characters rather than keys, because + needs Shift on some keyboards. */
static void on_character(GLFWwindow *handle, unsigned code) {
  if (code > 126) return;
  emit_event(glfwGetWindowUserPointer(handle),
             (cvtm_event){.kind = CVTM_EVENT_KEY, .key = tolower((int)code)});
}

static void on_key(GLFWwindow *handle, int key, int scancode, int action, int modifiers) {
  (void)scancode;
  (void)modifiers;
  if (key == GLFW_KEY_ESCAPE && action == GLFW_PRESS)
    emit_event(glfwGetWindowUserPointer(handle),
               (cvtm_event){.kind = CVTM_EVENT_KEY, .key = CVTM_KEY_ESCAPE});
}

static cvtm_event at_cursor(const window *w, cvtm_event_kind kind) {
  double x, y;
  glfwGetCursorPos(w->handle, &x, &y);
  return (cvtm_event){.kind = kind, .x = x * w->ratio_x, .y = y * w->ratio_y};
}

static void on_button(GLFWwindow *handle, int button, int action, int modifiers) {
  window *w = glfwGetWindowUserPointer(handle);
  cvtm_event event = at_cursor(w, action == GLFW_PRESS ? CVTM_EVENT_PRESS : CVTM_EVENT_RELEASE);
  event.button = button;
  event.modifiers = (modifiers & GLFW_MOD_SHIFT ? CVTM_SHIFT : 0) |
                    (modifiers & GLFW_MOD_CONTROL ? CVTM_CONTROL : 0);
  emit_event(w, event);
}

static void on_move(GLFWwindow *handle, double x, double y) {
  window *w = glfwGetWindowUserPointer(handle);
  emit_event(w, (cvtm_event){.kind = CVTM_EVENT_MOVE, .x = x * w->ratio_x, .y = y * w->ratio_y});
}

static void on_scroll(GLFWwindow *handle, double dx, double dy) {
  window *w = glfwGetWindowUserPointer(handle);
  (void)dx;
  cvtm_event event = at_cursor(w, CVTM_EVENT_SCROLL);
  event.amount = dy;
  emit_event(w, event);
}

static int ignore_lost_display(void *display) {
  (void)display;
  return 0;
}

static void on_display_lost(void *display, void *context) {
  (void)display;
  ((window *)context)->base.lost = 1;
}

/* Installs handlers without which Xlib ends the program when it loses the X server. Looks the
 * functions up at run time, because GLFW may be built for another window system. */
static void survive_display(window *w) {
  void *(*get_display)(void) = NULL;
  void (*set_handler)(int (*handler)(void *)) = NULL;
  void (*set_exit)(void *display, void (*handler)(void *, void *), void *context) = NULL;
  *(void **)&get_display = dlsym(RTLD_DEFAULT, "glfwGetX11Display");
  *(void **)&set_handler = dlsym(RTLD_DEFAULT, "XSetIOErrorHandler");
  *(void **)&set_exit = dlsym(RTLD_DEFAULT, "XSetIOErrorExitHandler");
  void *display = get_display ? get_display() : NULL;
  if (!display || !set_handler || !set_exit) return;
  set_handler(ignore_lost_display);
  set_exit(display, on_display_lost, w);
}

static void window_poll(cvtm_surface *surface, double seconds) {
  (void)surface;
  if (seconds > 0)
    glfwWaitEventsTimeout(seconds);
  else
    glfwPollEvents();
}

static void window_present(cvtm_surface *surface) { glfwSwapBuffers(((window *)surface)->handle); }

static cvtm_status window_resize(cvtm_surface *surface, int width, int height, cvtm_error *error) {
  window *w = (window *)surface;
  (void)error;
  glfwSetWindowSize(w->handle, (int)(width / w->ratio_x + 0.5), (int)(height / w->ratio_y + 0.5));
  glfwPollEvents();
  return CVTM_OK;
}

static void window_destroy(cvtm_surface *surface) {
  glfwDestroyWindow(((window *)surface)->handle);
  glfwTerminate();
  free(surface);
}

static cvtm_status open_window(window *w, const char *title, int width, int height) {
  glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
  glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
  glfwWindowHint(GLFW_OPENGL_FORWARD_COMPAT, GLFW_TRUE);
  glfwWindowHint(GLFW_SCALE_TO_MONITOR, GLFW_TRUE);
  glfwWindowHint(GLFW_DEPTH_BITS, 0);
  glfwWindowHint(GLFW_STENCIL_BITS, 0);
  w->handle = glfwCreateWindow(width, height, title, NULL, NULL);
  if (!w->handle) return CVTM_ERROR_DEVICE_UNAVAILABLE;
  survive_display(w);
  glfwMakeContextCurrent(w->handle);
  glfwSwapInterval(1);
  glfwSetWindowUserPointer(w->handle, w);
  measure_window(w);
  glfwSetFramebufferSizeCallback(w->handle, on_size);
  glfwSetWindowContentScaleCallback(w->handle, on_scale);
  glfwSetWindowRefreshCallback(w->handle, on_refresh);
  glfwSetWindowCloseCallback(w->handle, on_close);
  glfwSetCharCallback(w->handle, on_character);
  glfwSetKeyCallback(w->handle, on_key);
  glfwSetMouseButtonCallback(w->handle, on_button);
  glfwSetCursorPosCallback(w->handle, on_move);
  glfwSetScrollCallback(w->handle, on_scroll);
  return CVTM_OK;
}

cvtm_status cvtm_window_create(const char *title, int width, int height, cvtm_surface **surface,
                               cvtm_error *error) {
  const char *reason = NULL;
  window *w = calloc(1, sizeof *w);
  if (!w) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  if (!glfwInit()) {
    free(w);
    return cvtm_fail(error, CVTM_ERROR_DEVICE_UNAVAILABLE, "no display: use --shot or run --watch");
  }
  if (open_window(w, title, width, height) != CVTM_OK) {
    glfwGetError(&reason);
    cvtm_fail(error, CVTM_ERROR_DEVICE_UNAVAILABLE, "no window with OpenGL 3.3: %s",
              reason ? reason : "unknown reason");
    glfwTerminate();
    free(w);
    return CVTM_ERROR_DEVICE_UNAVAILABLE;
  }
  w->base.name = "window";
  w->base.poll = window_poll;
  w->base.present = window_present;
  w->base.resize = window_resize;
  w->base.destroy = window_destroy;
  *surface = &w->base;
  return CVTM_OK;
}

/* ---- Memory, by EGL ---- */

typedef struct headless {
  cvtm_surface base;
  EGLDisplay display;
  EGLContext context;
  GLuint framebuffer, colour;
} headless;

/* Opens an EGL display and a context on it; closes both on failure. The display is never
 * terminated, because it belongs to the process, and another surface may use it. */
static int open_context(headless *h, EGLDisplay display, const char *name) {
  static const EGLint wanted[] = {EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_SURFACE_TYPE,
                                  EGL_PBUFFER_BIT, EGL_NONE};
  static const EGLint version[] = {EGL_CONTEXT_MAJOR_VERSION,
                                   3,
                                   EGL_CONTEXT_MINOR_VERSION,
                                   3,
                                   EGL_CONTEXT_OPENGL_PROFILE_MASK,
                                   EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT,
                                   EGL_NONE};
  EGLConfig config = NULL;
  EGLint configs = 0;
  if (display == EGL_NO_DISPLAY || !eglInitialize(display, NULL, NULL)) return 0;
  h->context = EGL_NO_CONTEXT;
  if (epoxy_has_egl_extension(display, "EGL_KHR_surfaceless_context") &&
      eglBindAPI(EGL_OPENGL_API)) {
    eglChooseConfig(display, wanted, &config, 1, &configs);
    h->context = eglCreateContext(display, configs > 0 ? config : NULL, EGL_NO_CONTEXT, version);
  }
  if (h->context != EGL_NO_CONTEXT &&
      eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, h->context)) {
    h->display = display;
    h->base.name = name;
    return 1;
  }
  if (h->context != EGL_NO_CONTEXT) eglDestroyContext(display, h->context);
  return 0;
}

static int has_client_extension(const char *name) {
  return epoxy_has_egl_extension(EGL_NO_DISPLAY, name);
}

/* Nonzero for the GPU `cuda`, or any: CUDA maps buffers of OpenGL only on one GPU. */
static int is_cuda_device(EGLDeviceEXT device, int cuda) {
  EGLAttrib index = -1;
  return cuda < 0 ||
         (eglQueryDeviceAttribEXT(device, EGL_CUDA_DEVICE_NV, &index) && index == (EGLAttrib)cuda);
}

static int open_device(headless *h, int cuda) {
  enum { MOST = 32 };
  EGLDeviceEXT devices[MOST];
  EGLint count = 0;
  if (!has_client_extension("EGL_EXT_platform_device") ||
      !has_client_extension("EGL_EXT_device_enumeration") ||
      !eglQueryDevicesEXT(MOST, devices, &count))
    return 0;
  for (EGLint k = 0; k < count; ++k) {
    if (!is_cuda_device(devices[k], cuda)) continue;
    if (open_context(h, eglGetPlatformDisplayEXT(EGL_PLATFORM_DEVICE_EXT, devices[k], NULL),
                     "EGL device"))
      return 1;
  }
  return 0;
}

static int open_surfaceless(headless *h) {
  if (!has_client_extension("EGL_MESA_platform_surfaceless")) return 0;
  return open_context(h, eglGetPlatformDisplayEXT(EGL_PLATFORM_SURFACELESS_MESA, NULL, NULL),
                      "EGL surfaceless");
}

/* Nonzero if libEGL can be loaded; otherwise libepoxy would abort the program. */
static int has_egl(void) {
  void *library = dlopen("libEGL.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library) dlclose(library);
  return library != NULL;
}

static cvtm_status headless_resize(cvtm_surface *surface, int width, int height,
                                   cvtm_error *error) {
  headless *h = (headless *)surface;
  glBindRenderbuffer(GL_RENDERBUFFER, h->colour);
  glRenderbufferStorage(GL_RENDERBUFFER, GL_RGBA8, width, height);
  glBindFramebuffer(GL_FRAMEBUFFER, h->framebuffer);
  glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, h->colour);
  if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE)
    return cvtm_fail(error, CVTM_ERROR_DEVICE, "OpenGL cannot draw pictures of %d x %d", width,
                     height);
  surface->width = width;
  surface->height = height;
  if (surface->handler) {
    const cvtm_event event = {
        .kind = CVTM_EVENT_RESIZE, .width = width, .height = height, .scale = surface->scale};
    surface->handler(surface->handler_context, &event);
  }
  return CVTM_OK;
}

static void headless_poll(cvtm_surface *surface, double seconds) {
  (void)surface;
  if (seconds > 0) nanosleep(&(struct timespec){0, (long)(seconds * 1e9)}, NULL);
}

static void headless_present(cvtm_surface *surface) {
  (void)surface;
  glFinish();
}

static void headless_destroy(cvtm_surface *surface) {
  headless *h = (headless *)surface;
  glDeleteFramebuffers(1, &h->framebuffer);
  glDeleteRenderbuffers(1, &h->colour);
  eglMakeCurrent(h->display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  eglDestroyContext(h->display, h->context);
  eglReleaseThread();
  free(h);
}

cvtm_status cvtm_headless_create(int width, int height, int cuda, cvtm_surface **surface,
                                 cvtm_error *error) {
  headless *h = calloc(1, sizeof *h);
  if (!h) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  const int found = has_egl() && ((cuda >= 0 && open_device(h, cuda)) || open_device(h, -1) ||
                                  open_surfaceless(h));
  if (!found) {
    free(h);
    return cvtm_fail(error, CVTM_ERROR_DEVICE_UNAVAILABLE,
                     "no OpenGL 3.3 for pictures: EGL offers none without a display");
  }
  h->base.scale = 1;
  h->base.poll = headless_poll;
  h->base.present = headless_present;
  h->base.resize = headless_resize;
  h->base.destroy = headless_destroy;
  glGenFramebuffers(1, &h->framebuffer);
  glGenRenderbuffers(1, &h->colour);
  const cvtm_status status = headless_resize(&h->base, width, height, error);
  if (status != CVTM_OK) {
    headless_destroy(&h->base);
    return status;
  }
  *surface = &h->base;
  return CVTM_OK;
}

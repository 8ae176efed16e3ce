#include "viewer/surface.h"

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#include <ctype.h>
#include <dlfcn.h>
#include <stdlib.h>

typedef struct window {
  cvtm_surface base;
  GLFWwindow *handle;
  double ratio_x, ratio_y; /* framebuffer pixels to a unit of the cursor's place */
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

/* Characters follow the keyboard's layout; + may need Shift. */
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

/* Without these handlers Xlib ends the program when the connection to the X server is lost. GLFW
 * may have been built for another window system, so the functions are looked up at run time. */
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
  if (seconds > 0) {
    glfwWaitEventsTimeout(seconds);
  } else {
    glfwPollEvents();
  }
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

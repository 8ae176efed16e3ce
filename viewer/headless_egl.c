#include "viewer/surface.h"

#include <dlfcn.h>
#include <epoxy/egl.h>
#include <epoxy/gl.h>
#include <stdlib.h>
#include <time.h>

typedef struct headless {
  cvtm_surface base;
  EGLDisplay display;
  EGLContext context;
  GLuint framebuffer, colour;
} headless;

/* ---- Displays ---- */

/* One EGL display and a context on it, or nothing. A display belongs to the whole process, so it
 * is never terminated here: another surface may use it. */
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

/* OpenGL on the GPU of the CUDA device has buffers that CUDA can map. */
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

/* libepoxy aborts the program if it cannot load libEGL. */
static int has_egl(void) {
  void *library = dlopen("libEGL.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library) dlclose(library);
  return library != NULL;
}

/* ---- The surface ---- */

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

/* A surface is a window or a framebuffer in memory. Its OpenGL context is current for the thread
 * that created the surface. A window delivers events of keys and mouse. */
#pragma once

#include "base/status.h"

typedef enum cvtm_event_kind {
  CVTM_EVENT_KEY,   /* key: a character, lower case, or CVTM_KEY_ESCAPE */
  CVTM_EVENT_PRESS, /* button at x, y */
  CVTM_EVENT_RELEASE,
  CVTM_EVENT_MOVE,
  CVTM_EVENT_SCROLL, /* amount: notches, up is positive */
  CVTM_EVENT_RESIZE, /* width, height, scale */
  CVTM_EVENT_REDRAW,
  CVTM_EVENT_CLOSE
} cvtm_event_kind;

enum { CVTM_KEY_ESCAPE = 27 };
enum { CVTM_SHIFT = 1, CVTM_CONTROL = 2 };

/* Coordinates are framebuffer pixels, y down. */
typedef struct cvtm_event {
  cvtm_event_kind kind;
  int key;
  int button; /* 0 left, 1 right, 2 middle */
  int modifiers;
  double x, y, amount;
  int width, height;
  double scale;
  double time; /* seconds */
} cvtm_event;

typedef void (*cvtm_event_handler)(void *context, const cvtm_event *event);

typedef struct cvtm_surface cvtm_surface;
struct cvtm_surface {
  const char *name;  /* "window", "EGL device", ... */
  int width, height; /* size of the framebuffer */
  double scale;
  int lost;                   /* nonzero: the connection to the display is lost */
  cvtm_event_handler handler; /* set by the caller */
  void *handler_context;
  /* Delivers pending events; if there are none, waits at most the given time for an event. */
  void (*poll)(cvtm_surface *surface, double seconds);
  /* Shows the picture. */
  void (*present)(cvtm_surface *surface);
  cvtm_status (*resize)(cvtm_surface *surface, int width, int height, cvtm_error *error);
  void (*destroy)(cvtm_surface *surface);
};

/* Opens a window. CVTM_ERROR_DEVICE_UNAVAILABLE without a display. */
cvtm_status cvtm_window_create(const char *title, int width, int height, cvtm_surface **surface,
                               cvtm_error *error);
/* Creates a framebuffer in memory, by EGL, without a display. cuda: the CUDA device whose GPU has
 * to draw; -1: any. */
cvtm_status cvtm_headless_create(int width, int height, int cuda, cvtm_surface **surface,
                                 cvtm_error *error);

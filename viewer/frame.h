/* The state of an optimisation at an iteration, and the geometry that is drawn. */
#pragma once

#include "base/domain.h"
#include "base/status.h"

#include <stdint.h>

enum { CVTM_VIEW_HISTORY = 1024 };

/* Energy ratio and gradient over iterations; full arrays drop every second entry. */
typedef struct cvtm_view_history {
  int count;
  int64_t stride; /* iterations between two entries */
  int64_t seen;
  float iteration[CVTM_VIEW_HISTORY], ratio[CVTM_VIEW_HISTORY], gradient[CVTM_VIEW_HISTORY];
} cvtm_view_history;

void cvtm_view_history_add(cvtm_view_history *history, int64_t iteration, double ratio,
                           double gradient);

/* The number to subtract from the ratios for a log scale: 1, or slightly less than the lowest ratio
 * if this ratio is at most 1, which happens if the density varies within cells. */
double cvtm_view_history_floor(const cvtm_view_history *history);

typedef enum cvtm_view_phase {
  CVTM_VIEW_RUNNING,
  CVTM_VIEW_PAUSED,
  CVTM_VIEW_CONVERGED,
  CVTM_VIEW_FAILED
} cvtm_view_phase;

typedef struct cvtm_view_state {
  cvtm_domain domain;
  int64_t count, capacity;
  double *sites; /* 2 * count, malloc'd */
  int64_t iteration;
  double ratio;         /* energy / reference energy */
  double gradient_norm; /* pixels */
  double milliseconds;  /* per iteration */
  int lloyd;            /* nonzero: Lloyd's method, else L-BFGS-B */
  cvtm_view_phase phase;
  uint64_t commands; /* number of commands that the state includes */
  cvtm_view_history history;
} cvtm_view_state;

cvtm_status cvtm_view_state_reserve(cvtm_view_state *state, int64_t count, cvtm_error *error);
void cvtm_view_state_free(cvtm_view_state *state);
/* Copies *from to *to, reusing the memory of *to. */
cvtm_status cvtm_view_state_copy(cvtm_view_state *to, const cvtm_view_state *from,
                                 cvtm_error *error);

/* A corner of a cell, or its site. */
typedef struct cvtm_view_vertex {
  float x, y;
  uint32_t cell;
  uint32_t across; /* the cell across the edge to the next corner, or CVTM_VIEW_BORDER or _CENTRE */
} cvtm_view_vertex;
enum { CVTM_VIEW_BORDER = 0x7fffffff, CVTM_VIEW_CENTRE = 0x7ffffffe };

typedef struct cvtm_view_cell {
  float area;  /* square pixels */
  float sides; /* number of sides; negative if the cell touches the border */
} cvtm_view_cell;

/* A state and its geometry. The arrays grow and are reused. */
typedef struct cvtm_view_frame {
  cvtm_view_state state;
  int64_t vertex_count, index_count, cell_count, corner_count, defect_count;
  cvtm_view_vertex *vertices;
  uint32_t *indices;     /* triples: site, corner k + 1, corner k; `across` is in corner k */
  cvtm_view_cell *cells; /* cell_count */
  float *corners;        /* x, y of 3 corners of each Delaunay triangle */
  float *defects; /* x, y and number of sides of each inner cell that does not have six sides */
  float low_area, high_area; /* the ends of the colour scale */
  int64_t capacity[5];
} cvtm_view_frame;

/* Computes the geometry of frame->state. */
cvtm_status cvtm_view_frame_build(cvtm_view_frame *frame, cvtm_error *error);
void cvtm_view_frame_free(cvtm_view_frame *frame);

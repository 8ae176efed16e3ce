/* Inside noise/ only: the computation of a sum of kernels, for both devices, and the phases of
 * Gaussian blue noise that differ between devices.
 *
 * Sources are divided into classes, the octaves of their variances, and the sources of a class
 * into nearly square cells. A sum visits the cells within reach of a point row by row, because the
 * sources of a row of cells are consecutive. */
#pragma once

#include "base/portable.h"
#include "base/host.h"
#include "base/phases.h"
#include "cvt/noise/blue_noise.h"
#include "cvt/noise/target.h"

#include <math.h>
#include <string.h>

enum {
  CVTM_WIDTH_CLASSES = 64, /* octaves; sources of larger variances are in the last class */
  CVTM_KERNEL_LANES = 4,   /* lanes of a sum; each adds every 4th source of a run */
};

/* A kernel between widths a and b is neglected beyond this times sqrt(a^2 + b^2). */
#define CVTM_KERNEL_REACH 6.0

/* The sources of one octave of variances. */
typedef struct cvtm_width_class {
  int64_t count;
  int columns, rows;
  double width, height; /* size of a cell */
  double widest;        /* the largest variance */
  int64_t start;        /* number of the class's first cell */
} cvtm_width_class;

/* Sorted sources. The arrays are in device memory. */
typedef struct cvtm_kernel_cells {
  cvtm_domain domain;
  int64_t capacity;          /* in sources */
  cvtm_width_class *classes; /* CVTM_WIDTH_CLASSES */
  int64_t *starts;           /* first source of each cell, and the end of the last */
  int32_t *order;            /* the caller's index of each stored source */
  double *x, *y, *variance;  /* of each stored source; then CVTM_KERNEL_LANES zeros */
  double *strength;          /* 2 mass width */
  int32_t *cell;             /* the cell of each source, in the caller's order */
  /* Only for CUDA: */
  uint64_t *keys, *keys_alt;
  int32_t *order_alt, *cell_count;
  double *least; /* the least variance */
} cvtm_kernel_cells;

/* --- cells ------------------------------------------------------------------------------- */

/* An upper bound of the number of cells for this number of sources. */
CVTM_HD int64_t cvtm_kernel_most_cells(int64_t sources) { return 4 * sources + CVTM_WIDTH_CLASSES; }

CVTM_HD int cvtm_width_class_of(double variance, double least) {
  const int octave = ilogb(variance / least);
  return octave < 0 ? 0 : octave < CVTM_WIDTH_CLASSES ? octave : CVTM_WIDTH_CLASSES - 1;
}

CVTM_HD int cvtm_cells_of_length(double length, double side) {
  return (int)fmax(1, fmin(length / side, 32768));
}

/* Divides the domain into cells for a class that has sources: cells are at least twice as wide as
 * the narrowest kernel, and there are at most 4 per source. Adds their number to *cells. */
CVTM_HD void cvtm_width_class_shape(cvtm_domain domain, double narrowest, cvtm_width_class *c,
                                    int64_t *cells) {
  const double width = domain.width, height = domain.height, most = 4 * (double)c->count;
  const double least = fmax(sqrt(width * height / most), fmax(width, height) / most);
  const double side = fmax(2 * narrowest, least);
  c->columns = cvtm_cells_of_length(width, side);
  c->rows = cvtm_cells_of_length(height, side);
  c->width = width / c->columns;
  c->height = height / c->rows;
  c->start = *cells;
  *cells += (int64_t)c->columns * c->rows;
}

/* Chooses the cells of all classes from their counts and variances. Returns the number of cells. */
CVTM_HD int64_t cvtm_width_classes_shape(cvtm_domain domain, double least,
                                         cvtm_width_class *classes) {
  int64_t cells = 0;
  for (int c = 0; c < CVTM_WIDTH_CLASSES; ++c)
    if (classes[c].count > 0)
      cvtm_width_class_shape(domain, sqrt(ldexp(least, c)), &classes[c], &cells);
  return cells;
}

CVTM_HD int cvtm_kernel_on_axis(double x, double side, int cells) {
  const int i = (int)(x / side);
  return i < 0 ? 0 : i >= cells ? cells - 1 : i;
}

CVTM_HD int32_t cvtm_kernel_cell_of(const cvtm_width_class *c, double x, double y) {
  return (int32_t)(c->start + (int64_t)cvtm_kernel_on_axis(y, c->height, c->rows) * c->columns +
                   cvtm_kernel_on_axis(x, c->width, c->columns));
}

/* Stores the caller's source i at index `at`. */
CVTM_HD void cvtm_kernel_store(const cvtm_kernel_cells *cells, const cvtm_kernel_source *source,
                               int32_t i, int64_t at) {
  cells->x[at] = source[i].x;
  cells->y[at] = source[i].y;
  cells->variance[at] = source[i].variance;
  cells->strength[at] = 2 * source[i].mass * source[i].width;
}

/* --- runs -------------------------------------------------------------------------------- */

/* The cells of a class within reach of a point, row by row. On a torus, rows and columns outside 0
 * .. rows - 1 and 0 .. columns - 1 belong to another periodic image. */
typedef struct cvtm_kernel_walk {
  double x, y, radius;
  int row, last_row, column, last_column;
} cvtm_kernel_walk;

/* The stored sources begin .. end - 1; x, y: the position of the point relative to the periodic
 * image of these sources. */
typedef struct cvtm_kernel_run {
  int64_t begin, end;
  double x, y;
} cvtm_kernel_run;

CVTM_HD int cvtm_kernel_clip(int i, int cells) { return i < 0 ? 0 : i >= cells ? cells - 1 : i; }

/* Finds the cells along an axis between two coordinates. */
CVTM_HD void cvtm_kernel_range(double low, double high, double side, int cells, int periodic,
                               int *first, int *last) {
  *first = (int)floor(low / side);
  *last = (int)floor(high / side);
  if (periodic) return;
  *first = cvtm_kernel_clip(*first, cells);
  *last = cvtm_kernel_clip(*last, cells);
}

CVTM_HD void cvtm_kernel_enter_row(const cvtm_width_class *c, int periodic,
                                   cvtm_kernel_walk *walk) {
  const double above = walk->row * c->height - walk->y;
  const double below = walk->y - (walk->row + 1) * c->height;
  const double off = fmax(fmax(above, below), 0);
  const double half = sqrt(fmax(walk->radius * walk->radius - off * off, 0));
  cvtm_kernel_range(walk->x - half, walk->x + half, c->width, c->columns, periodic, &walk->column,
                    &walk->last_column);
}

/* Begins at the first row within reach of (x, y). square: the squared width of the point. */
CVTM_HD cvtm_kernel_walk cvtm_kernel_walk_from(const cvtm_width_class *c, int periodic, double x,
                                               double y, double square) {
  cvtm_kernel_walk walk;
  walk.x = x;
  walk.y = y;
  walk.radius = CVTM_KERNEL_REACH * sqrt(square + c->widest);
  cvtm_kernel_range(y - walk.radius, y + walk.radius, c->height, c->rows, periodic, &walk.row,
                    &walk.last_row);
  cvtm_kernel_enter_row(c, periodic, &walk);
  return walk;
}

/* Finds the next run; returns 0 if there is none. A row has a run per periodic image. */
CVTM_HD int cvtm_kernel_walk_next(const cvtm_kernel_cells *cells, const cvtm_width_class *c,
                                  cvtm_kernel_walk *walk, cvtm_kernel_run *run) {
  while (walk->column > walk->last_column) {
    if (++walk->row > walk->last_row) return 0;
    cvtm_kernel_enter_row(c, cells->domain.periodic, walk);
  }
  const int turn_y = (int)floor((double)walk->row / c->rows);
  const int turn_x = (int)floor((double)walk->column / c->columns), base = turn_x * c->columns;
  const int64_t row = c->start + (int64_t)(walk->row - turn_y * c->rows) * c->columns;
  const int end =
      walk->last_column < base + c->columns - 1 ? walk->last_column : base + c->columns - 1;
  run->begin = cells->starts[row + walk->column - base];
  run->end = cells->starts[row + end - base + 1];
  run->x = walk->x - turn_x * (double)cells->domain.width;
  run->y = walk->y - turn_y * (double)cells->domain.height;
  walk->column = end + 1;
  return 1;
}

/* --- terms ------------------------------------------------------------------------------- */

/* exp(x) for -700 < x <= 0, by 2^k times a polynomial, so that compilers can vectorise it. */
CVTM_INLINE double cvtm_kernel_exponential(double x) {
  const double shift = 0x1.8p52; /* the lowest bits of x + shift are the nearest integer */
  const double rounded = x * 1.4426950408889634 + shift;
  const double k = rounded - shift;
  /* Subtracts k log 2 in two parts. */
  const double r = (x - k * 0x1.62e42fefa38p-1) - k * 0x1.ef35793c7673p-45;
  double p = 1.0 / 39916800;
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r + 1;
  p = p * r + 1;
  uint64_t exponent, bits;
  memcpy(&exponent, &rounded, sizeof exponent);
  memcpy(&bits, &p, sizeof bits);
  bits += exponent << 52;
  memcpy(&p, &bits, sizeof bits);
  return p;
}

/* The term of stored source j in the sum at a point, without the factor w, the width at the point,
 * by which the caller multiplies the whole sum. x, y: as in cvtm_kernel_run. square: w^2. strength:
 * that of the source, or 0 to leave the source out. */
CVTM_INLINE cvtm_kernel_sum cvtm_kernel_term(const cvtm_kernel_cells *cells, int64_t j,
                                             double strength, double x, double y, double square) {
  const double dx = x - cells->x[j], dy = y - cells->y[j];
  const double inverse = 1 / (square + cells->variance[j]);
  const double q = (dx * dx + dy * dy) * inverse;
  /* max(-q / 2, -60), without a branch. */
  const double power = 0.5 * ((-0.5 * q - 60) + fabs(60 - 0.5 * q));
  const double part = strength * inverse * cvtm_kernel_exponential(power);
  const double force = part * inverse, share = square * inverse;
  cvtm_kernel_sum term;
  term.value = part;
  term.by_x = -(force * dx);
  term.by_y = -(force * dy);
  term.by_log_width = part * (1 + share * (q - 2));
  return term;
}

/* --- the phases ---------------------------------------------------------------------------- */

CVTM_C_BEGIN

/* The points of an evaluation. Arrays are in device memory and have `count` elements. */
typedef struct cvtm_noise_points {
  int64_t count;
  cvtm_target target;         /* its arrays are in device memory, too */
  cvtm_target_value *local;   /* the target at each point */
  cvtm_kernel_source *source; /* each point's kernel */
  cvtm_kernel_sum *sum;       /* the sum over all kernels at each point */
  double *term;               /* each point's contribution to the energy */
} cvtm_noise_points;

/* A list of phases (base/phases.h). */
#define CVTM_NOISE_PHASES(X)                                                                 \
  /* Sets the kernels of the points at x, with the widths that the target has there. */      \
  X(place, (cvtm_device * device, const cvtm_noise_points *points, const double *x), device, \
    points->count, cvtm_noise_place, CVTM_HOST_STRUCT(points), x)

/* Each phase enqueues its work. */
typedef struct cvtm_noise_table {
  /* Sorts `count` sources into cells. Sources of a cell keep their order. */
  cvtm_status (*sort)(cvtm_device *device, const cvtm_kernel_cells *cells,
                      const cvtm_kernel_source *source, int64_t count);
  /* Sets sum[i] to the sum at place[i], where i = order[k], or k without `order`, for k = 0 ..
   * count - 1. */
  cvtm_status (*sums)(cvtm_device *device, const cvtm_kernel_cells *cells,
                      const cvtm_kernel_source *place, const int32_t *order, int64_t count,
                      cvtm_kernel_sum *sum);
  /* Sets the energy f[0] and the gradient. The sum at a point includes the point's own kernel,
   * which has the value 1 and no force; the value is subtracted. */
  cvtm_status (*gradient)(cvtm_device *device, const cvtm_noise_points *points, double *f,
                          double *g);
  CVTM_NOISE_PHASES(CVTM_PHASE_FIELD)
} cvtm_noise_table;

extern const cvtm_noise_table cvtm_noise_table_cpu, cvtm_noise_table_cuda;

CVTM_C_END

/* --- one point ----------------------------------------------------------------------------- */

CVTM_HD void cvtm_noise_place(const cvtm_noise_points *p, const double *x, int64_t i) {
  const cvtm_domain domain = p->target.domain;
  const double px = cvtm_into_domain(x[2 * i], domain.width, domain.periodic);
  const double py = cvtm_into_domain(x[2 * i + 1], domain.height, domain.periodic);
  p->local[i] = cvtm_target_at(&p->target, px, py);
  cvtm_kernel_source *source = &p->source[i];
  source->x = px;
  source->y = py;
  source->width = exp(p->local[i].log_width);
  source->variance = source->width * source->width;
  source->mass = 1;
}

CVTM_HD void cvtm_noise_gradient(const cvtm_noise_points *p, double *g, int64_t i) {
  const cvtm_target_value *at = &p->local[i];
  const cvtm_kernel_sum *sum = &p->sum[i];
  p->term[i] = 0.5 * (sum->value - 1) - at->potential;
  g[2 * i] = sum->by_x + sum->by_log_width * at->width_by[0] - at->potential_by[0];
  g[2 * i + 1] = sum->by_y + sum->by_log_width * at->width_by[1] - at->potential_by[1];
}

/* The motion between two frames of a film, by the method of Lucas and Kanade (1981) from coarse to
 * fine pictures. Where a window shows too little, the motion of the coarser picture is kept. */
#include "run/motion.h"

#include "base/host.h"
#include "draw/likeness.h"

#include <math.h>
#include <string.h>

/* Two pictures of one size and the motion between them, in their pixels. product: for each pixel
 * the sums over the window around it of gx gx, gx gy, gy gy, gx d and gy d, with the gradient g and
 * the difference d of the pictures. */
enum { PRODUCTS = 5 };
typedef struct level {
  int width, height;
  float *before, *now, *motion[2], *product[PRODUCTS];
} level;

static double value_in(const level *l, const float *plane, double x, double y) {
  return cvtm_plane_at(plane, l->width, l->height, x, y);
}

/* The mean of two differences across two pixels, as a slope; 0 if an edge is in one picture alone,
 * since it appears or vanishes rather than moves. */
static double common(double before, double now) {
  return before * now > 0 ? copysign(0.5 * sqrt(before * now), before) : 0;
}

/* Sets the products at each pixel; 0 for points that have left the picture. */
static void set_products(const level *l) {
#pragma omp parallel for schedule(static)
  for (int j = 0; j < l->height; ++j) {
    for (int i = 0; i < l->width; ++i) {
      const int64_t p = (int64_t)j * l->width + i;
      const double x = i + (double)l->motion[0][p], y = j + (double)l->motion[1][p];
      const int is_inside = x >= 0 && y >= 0 && x <= l->width - 1 && y <= l->height - 1;
      const double gx = common(value_in(l, l->before, i + 1, j) - value_in(l, l->before, i - 1, j),
                               value_in(l, l->now, x + 1, y) - value_in(l, l->now, x - 1, y));
      const double gy = common(value_in(l, l->before, i, j + 1) - value_in(l, l->before, i, j - 1),
                               value_in(l, l->now, x, y + 1) - value_in(l, l->now, x, y - 1));
      const double d = value_in(l, l->now, x, y) - (double)l->before[p];
      const double products[PRODUCTS] = {gx * gx, gx * gy, gy * gy, gx * d, gy * d};
      for (int k = 0; k < PRODUCTS; ++k) l->product[k][p] = (float)(is_inside ? products[k] : 0);
    }
  }
}

/* A step of Newton's method for each window, damped where its gradients are small. */
static cvtm_status improve(const level *l, cvtm_error *error) {
  const double window = 2, damping = 0.01, longest = 1; /* pixels; relative to the mean; pixels */
  const int64_t pixels = (int64_t)l->width * l->height;
  cvtm_status status = CVTM_OK;
  double mean = 0;
  set_products(l);
  for (int k = 0; status == CVTM_OK && k < PRODUCTS; ++k)
    status = cvtm_plane_blur(l->product[k], l->width, l->height, window, error);
  if (status != CVTM_OK) return status;
  for (int64_t p = 0; p < pixels; ++p)
    mean += ((double)l->product[0][p] + (double)l->product[2][p]) / (double)pixels;
  for (int64_t p = 0; mean > 0 && p < pixels; ++p) {
    const double xx = (double)l->product[0][p] + damping * mean, xy = (double)l->product[1][p],
                 yy = (double)l->product[2][p] + damping * mean;
    const double xd = (double)l->product[3][p], yd = (double)l->product[4][p];
    const double determinant = xx * yy - xy * xy;
    const double step[2] = {(xy * yd - yy * xd) / determinant, (xy * xd - xx * yd) / determinant};
    for (int axis = 0; axis < 2; ++axis)
      l->motion[axis][p] += (float)fmin(fmax(step[axis], -longest), longest);
  }
  return CVTM_OK;
}

static void take_level(cvtm_scratch *memory, int width, int height, level *l) {
  enum { PLANES = 4 + PRODUCTS };
  const size_t pixels = (size_t)width * (size_t)height;
  float *planes = cvtm_scratch_zeros(memory, PLANES * pixels, sizeof *planes);
  *l = (level){.width = width, .height = height};
  if (planes == NULL) return;
  l->before = planes;
  l->now = planes + pixels;
  for (int k = 0; k < 2; ++k) l->motion[k] = planes + (size_t)(2 + k) * pixels;
  for (int k = 0; k < PRODUCTS; ++k) l->product[k] = planes + (size_t)(4 + k) * pixels;
}

/* Starts from the motion of the next coarser pictures, whose pixels are twice as wide. */
static void refine_motion(const level *coarse, const level *l) {
  for (int axis = 0; axis < 2; ++axis)
    for (int j = 0; j < l->height; ++j)
      for (int i = 0; i < l->width; ++i)
        l->motion[axis][(int64_t)j * l->width + i] =
            (float)(2 * value_in(coarse, coarse->motion[axis], (i - 0.5) / 2, (j - 0.5) / 2));
}

cvtm_status run_motion_find(cvtm_domain domain, const float *before, const float *now,
                            int64_t count, run_motion *motion, cvtm_error *error) {
  enum { LEVELS = 3, LEAST = 12, STEPS = 3 };
  const double spacing = sqrt((double)domain.width * domain.height / (double)count);
  const int side = (int)fmax(spacing / 2.4, 1);
  level levels[LEVELS];
  int depth = 0, width = (domain.width + side - 1) / side,
      height = (domain.height + side - 1) / side;
  *motion = (run_motion){.domain = domain, .side = side, .width = width, .height = height};
  do {
    take_level(&motion->memory, width, height, &levels[depth++]);
    width = (width + 1) / 2;
    height = (height + 1) / 2;
  } while (depth < LEVELS && width >= LEAST && height >= LEAST);
  if (motion->memory.failed) {
    run_motion_free(motion);
    return cvtm_no_memory(error, "the motion of a film");
  }
  cvtm_plane_shrink(before, domain.width, domain.height, side, levels[0].before);
  cvtm_plane_shrink(now, domain.width, domain.height, side, levels[0].now);
  for (int k = 1; k < depth; ++k) {
    const level *fine = &levels[k - 1];
    cvtm_plane_shrink(fine->before, fine->width, fine->height, 2, levels[k].before);
    cvtm_plane_shrink(fine->now, fine->width, fine->height, 2, levels[k].now);
  }
  cvtm_status status = CVTM_OK;
  for (int k = depth - 1; status == CVTM_OK && k >= 0; --k) {
    if (k + 1 < depth) refine_motion(&levels[k + 1], &levels[k]);
    for (int step = 0; status == CVTM_OK && step < STEPS; ++step)
      status = improve(&levels[k], error);
  }
  memcpy(motion->along, levels[0].motion, sizeof motion->along);
  if (status != CVTM_OK) run_motion_free(motion);
  return status;
}

void run_motion_move(const run_motion *m, double *points, int64_t count) {
  for (int64_t i = 0; m->side > 0 && i < count; ++i) {
    double *place = points + 2 * i, moved[2];
    const double x = place[0] / m->side - 0.5, y = place[1] / m->side - 0.5;
    for (int axis = 0; axis < 2; ++axis)
      moved[axis] =
          place[axis] + m->side * cvtm_plane_at(m->along[axis], m->width, m->height, x, y);
    if (moved[0] > 0 && moved[0] < m->domain.width && moved[1] > 0 && moved[1] < m->domain.height)
      memcpy(place, moved, sizeof moved);
  }
}

void run_motion_free(run_motion *motion) {
  cvtm_scratch_free(&motion->memory);
  *motion = (run_motion){.side = 0};
}

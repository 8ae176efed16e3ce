/* The part of a polygon that a disc covers. */
#include "base/portable.h"
#include "draw/disc.h"

#include <math.h>

static double cross(const double *p, const double *q) { return p[0] * q[1] - p[1] * q[0]; }
static double dot(const double *p, const double *q) { return p[0] * q[0] + p[1] * q[1]; }

/* The signed area of the disc's sector from the direction of p to that of q. */
static double sector_area(const double *p, const double *q, double radius, double *arc) {
  const double angle = atan2(cross(p, q), dot(p, q));
  *arc += angle;
  return 0.5 * radius * radius * angle;
}

/* The signed area of the triangle (0, p, q) within the disc about 0. */
static double triangle_area(const double *p, const double *q, double radius, double *arc) {
  const double d[2] = {q[0] - p[0], q[1] - p[1]};
  const double a = dot(d, d), b = dot(p, d), c = dot(p, p) - radius * radius;
  const double discriminant = b * b - a * c;
  if (!(a > 0)) return 0;
  if (discriminant <= 0) return sector_area(p, q, radius, arc);
  const double root = sqrt(discriminant);
  const double enter = fmax((-b - root) / a, 0), leave = fmin((-b + root) / a, 1);
  if (enter >= leave) return sector_area(p, q, radius, arc);
  const double in[2] = {p[0] + enter * d[0], p[1] + enter * d[1]};
  const double out[2] = {p[0] + leave * d[0], p[1] + leave * d[1]};
  double area = 0.5 * cross(in, out);
  if (enter > 0) area += sector_area(p, in, radius, arc);
  if (leave < 1) area += sector_area(out, q, radius, arc);
  return area;
}

double cvtm_disc_polygon_area(const double *corners, int64_t count, const double *centre,
                              double radius, double *arc) {
  double area = 0, angle = 0;
  for (int64_t k = 0; k < count; ++k) {
    const double *a = corners + 2 * k, *b = corners + 2 * (k + 1 < count ? k + 1 : 0);
    const double p[2] = {a[0] - centre[0], a[1] - centre[1]};
    const double q[2] = {b[0] - centre[0], b[1] - centre[1]};
    area += triangle_area(p, q, radius, &angle);
  }
  *arc = fabs(angle);
  return fabs(area);
}

static double farthest_corner(const double *corners, int64_t count, const double *centre) {
  double farthest = 0;
  for (int64_t k = 0; k < count; ++k)
    farthest = fmax(farthest, hypot(corners[2 * k] - centre[0], corners[2 * k + 1] - centre[1]));
  return farthest;
}

double cvtm_disc_radius_for(const double *corners, int64_t count, const double *centre,
                            double area) {
  enum { STEPS = 60 };
  const double far = farthest_corner(corners, count, centre), exact = 1e-12 * area;
  if (!(area > 0)) return 0;
  /* Newton's method between bounds. A whole disc is never smaller than its part. */
  double low = sqrt(area / CVTM_PI), high = far, radius = low;
  for (int k = 0; k < STEPS && low < high; ++k) {
    double arc;
    const double excess = cvtm_disc_polygon_area(corners, count, centre, radius, &arc) - area;
    if (fabs(excess) <= exact) return radius;
    if (excess < 0)
      low = radius;
    else
      high = radius;
    radius -= excess / (radius * arc);
    if (!(radius > low && radius < high)) radius = 0.5 * (low + high);
  }
  return fmin(radius, far);
}

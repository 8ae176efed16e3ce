/* Random points of the unit sphere for tests. */
#pragma once

#include "base/sphere.h"
#include "splitmix64.h"
#include "testing.h"

/* 3 * count coordinates, malloc'd. */
static inline double *random_sphere(int64_t count, uint64_t seed) {
  double *points = doubles(3 * count);
  for (int64_t i = 0; i < count; ++i) {
    const double z = 2 * random_unit(&seed) - 1,
                 turn = 2 * 3.14159265358979323846 * random_unit(&seed);
    const double r = sqrt(1 - z * z);
    cvtm_vector_store(points, i, cvtm_vector_of(r * cos(turn), r * sin(turn), z));
  }
  return points;
}

#include "viewer/brush.h"

#include "base/portable.h"

#include <math.h>

/* A dab moves the pixel at its centre by this fraction of the difference to the target. */
static const double strength = 0.3;

/* distance: from the centre, in radii. */
static float dabbed(float rho, double reference, cvtm_brush brush, double distance) {
  const double soft = 0.5 + 0.5 * cos(CVTM_PI * distance);
  switch (brush) {
    case CVTM_BRUSH_DENSE:
      return (float)((double)rho + strength * soft * fmax(reference - (double)rho, 0));
    case CVTM_BRUSH_SPARSE:
      return (float)((double)rho * (1 - strength * soft));
    default:
      return 0;
  }
}

int cvtm_brush_empties(const float *density, cvtm_domain domain, const cvtm_solver_command *dab) {
  if (dab->brush != CVTM_BRUSH_OBSTACLE) return 0;
  for (int y = 0; y < domain.height; ++y)
    for (int x = 0; x < domain.width; ++x)
      if (density[(int64_t)y * domain.width + x] > 0 &&
          hypot(x + 0.5 - dab->x, y + 0.5 - dab->y) >= dab->radius)
        return 0;
  return 1;
}

void cvtm_brush_dab(float *density, cvtm_domain domain, double reference,
                    const cvtm_solver_command *dab) {
  const int x0 = (int)fmax(floor(dab->x - dab->radius), 0);
  const int y0 = (int)fmax(floor(dab->y - dab->radius), 0);
  const int x1 = (int)fmin(ceil(dab->x + dab->radius), domain.width);
  const int y1 = (int)fmin(ceil(dab->y + dab->radius), domain.height);
  for (int y = y0; y < y1; ++y) {
    for (int x = x0; x < x1; ++x) {
      const double distance = hypot(x + 0.5 - dab->x, y + 0.5 - dab->y) / dab->radius;
      float *rho = &density[(int64_t)y * domain.width + x];
      if (distance < 1) *rho = dabbed(*rho, reference, dab->brush, distance);
    }
  }
}

#include "cvt/density_scan.h"

#include <float.h>
#include <math.h>

enum { BANDS = 256, WORTH_THREADS = 1 << 20 /* pixels */ };

static cvtm_status refuse(cvtm_domain domain, const float *density, cvtm_error *error) {
  const int64_t area = (int64_t)domain.width * domain.height;
  for (int64_t p = 0; p < area; ++p) {
    if (density[p] >= 0 && density[p] <= FLT_MAX) continue;
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "density at pixel (%d, %d) is %g",
                     (int)(p % domain.width), (int)(p / domain.width), (double)density[p]);
  }
  return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "the density is zero everywhere");
}

/* Row by row, so that the sums stay accurate for large images. Returns whether any pixel is bad. */
static int scan_rows(cvtm_domain domain, const float *density, int first, int last,
                     cvtm_density_sums *sums) {
  int bad = 0;
  *sums = (cvtm_density_sums){0, 0};
  for (int j = first; j < last; ++j) {
    const float *rho = density + (int64_t)j * domain.width;
    double mass = 0, root = 0;
    for (int i = 0; i < domain.width; ++i) {
      bad |= !(rho[i] >= 0 && rho[i] <= FLT_MAX);
      mass += (double)rho[i];
      root += sqrt((double)rho[i]);
    }
    sums->mass += mass;
    sums->root += root;
  }
  return bad;
}

cvtm_status cvtm_density_scan(cvtm_domain domain, const float *density, cvtm_density_sums *sums,
                              cvtm_error *error) {
  const int bands = domain.height < BANDS ? domain.height : BANDS;
  const int64_t area = (int64_t)domain.width * domain.height;
  cvtm_density_sums part[BANDS];
  int bad = 0;
#pragma omp parallel for schedule(static) reduction(| : bad) if (area >= WORTH_THREADS)
  for (int b = 0; b < bands; ++b) {
    const int first = (int)((int64_t)domain.height * b / bands);
    const int last = (int)((int64_t)domain.height * (b + 1) / bands);
    bad |= scan_rows(domain, density, first, last, &part[b]);
  }
  cvtm_density_sums total = {0, 0};
  for (int b = 0; b < bands; ++b) {
    total.mass += part[b].mass;
    total.root += part[b].root;
  }
  if (bad || !(total.mass > 0)) return refuse(domain, density, error);
  *sums = total;
  return CVTM_OK;
}

/* The library in one page: 500 sites on a density that grows to the right.
 * cc minimal.c $(pkg-config --cflags --libs cvtmesh) -o minimal */
#include <cvtmesh/cvtmesh.h>

#include <stdio.h>

enum { SIDE = 128, SITES = 500 };

int main(void) {
  const cvtm_domain domain = {SIDE, SIDE, 0};
  static float density[SIDE * SIDE];
  static double sites[2 * SITES];
  for (int k = 0; k < SIDE * SIDE; k++) density[k] = 1.0F + (float)(k % SIDE);

  cvtm_error error;
  cvtm_device *device = NULL;
  cvtm_cvt *cvt = NULL;
  if (cvtm_device_create("auto", 0, &device, &error)) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  cvtm_cvt_options options;
  cvtm_cvt_result result;
  cvtm_cvt_defaults(&options);
  /* The solver places all sites: 0 are given. */
  int failed = cvtm_cvt_create(device, domain, density, SITES, &cvt) ||
               cvtm_cvt_solve(cvt, &options, 0, sites, SITES, &result);
  if (failed) {
    fprintf(stderr, "%s\n", cvtm_device_error(device)->message);
  } else {
    printf("%s: %.4f of the energy of hexagons after %lld iterations\n", cvtm_device_name(device),
           result.objective / cvtm_cvt_energy_bound(domain, density, SITES),
           (long long)result.iterations);
    failed = cvtm_points_write("minimal.csv", sites, SITES, &error) != CVTM_OK;
    if (failed) fprintf(stderr, "%s\n", error.message);
  }
  cvtm_cvt_destroy(cvt);
  cvtm_device_destroy(device);
  return failed;
}

/* Arrays that already lie in a device's memory go in and come out without a copy: the energy of
 * 400 sites and its gradient. Here they are filled from the host; CUDA code hands over its own
 * pointers, and work on cvtm_device_stream is in order with what is enqueued.
 * cc device_arrays.c $(pkg-config --cflags --libs cvtmesh) -lm -o device_arrays */
#include <cvtmesh/cvtmesh.h>

#include <math.h>
#include <stdio.h>

enum { SIDE = 64, ROW = 20, SITES = ROW * ROW, ARRAYS = 4 };

/* On the device: density (SIDE * SIDE floats), sites (2 a site), the energy (1), moments (4 a
 * site). */
static cvtm_status evaluate(cvtm_device *device, void **on_device, double *energy,
                            double *moments) {
  const cvtm_domain domain = {SIDE, SIDE, 0};
  cvtm_cvt *cvt = NULL;
  cvtm_status status = cvtm_cvt_create_view(device, domain, on_device[0], SITES, &cvt);
  if (status == CVTM_OK)
    status = cvtm_cvt_evaluate_on_device(cvt, on_device[1], SITES, CVTM_CVT_EXACT,
                                         CVTM_VORONOI_EXACT, on_device[2], on_device[3]);
  if (status == CVTM_OK)
    status = cvtm_device_copy_out(device, energy, on_device[2], sizeof *energy);
  if (status == CVTM_OK)
    status = cvtm_device_copy_out(device, moments, on_device[3], 4 * SITES * sizeof *moments);
  cvtm_cvt_destroy(cvt);
  return status;
}

static cvtm_status put(cvtm_device *device, int64_t count, size_t size, const void *host,
                       void **memory) {
  const cvtm_status status = cvtm_device_allocate(device, count, size, memory);
  if (status != CVTM_OK || host == NULL) return status;
  return cvtm_device_copy_in(device, *memory, host, (size_t)count * size);
}

int main(void) {
  static float density[SIDE * SIDE];
  static double sites[2 * SITES], moments[4 * SITES];
  double energy = 0, mass = 0, largest = 0;
  for (int p = 0; p < SIDE * SIDE; ++p) density[p] = 1 + (float)(p % SIDE) / SIDE;
  for (int i = 0; i < SITES; ++i) {
    sites[2 * i] = SIDE * (i % ROW + 0.5) / ROW + 1e-4 * cos(i);
    sites[2 * i + 1] = SIDE * ((double)(i - i % ROW) / ROW + 0.5) / ROW + 1e-4 * sin(i);
  }
  cvtm_error error;
  cvtm_device *device = NULL;
  void *on_device[ARRAYS] = {NULL};
  if (cvtm_device_create("auto", 0, &device, &error)) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  const int failed = put(device, SIDE * SIDE, sizeof *density, density, &on_device[0]) ||
                     put(device, 2 * SITES, sizeof *sites, sites, &on_device[1]) ||
                     put(device, 1, sizeof energy, NULL, &on_device[2]) ||
                     put(device, 4 * SITES, sizeof *moments, NULL, &on_device[3]) ||
                     evaluate(device, on_device, &energy, moments);
  /* The moments of a cell: the integrals of rho, rho (x - x_i), rho (y - y_i), rho |x - x_i|^2. */
  for (int i = 0; i < SITES && !failed; ++i) {
    mass += moments[4 * i];
    largest = fmax(largest, 2 * hypot(moments[4 * i + 1], moments[4 * i + 2]));
  }
  if (failed)
    fprintf(stderr, "%s\n", cvtm_device_error(device)->message);
  else
    printf("%s: energy %.4f, mass %.3f, largest gradient %.4f\n", cvtm_device_name(device), energy,
           mass, largest);
  for (int k = 0; k < ARRAYS; ++k) cvtm_device_free(device, on_device[k]);
  cvtm_device_destroy(device);
  return failed;
}

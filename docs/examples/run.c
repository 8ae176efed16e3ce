/* What `cvtmesh run photo.png -n 5000 -o a.svg -o a.msh` does, with the same bytes.
 * cc run.c $(pkg-config --cflags --libs cvtmesh) -o run */
#include <cvtmesh/cvtmesh.h>

#include <stdio.h>

int main(int argc, char **argv) {
  cvtm_error error;
  cvtm_device *device = NULL;
  cvtm_run *run = NULL;
  cvtm_run_options options;
  cvtm_run_defaults(&options);
  options.input.name = argc > 1 ? argv[1] : "photo.png";
  options.points = 5000;
  const int failed = cvtm_device_create("auto", 0, &device, &error) ||
                     cvtm_run_create(device, &options, &run, &error) ||
                     cvtm_run_solve(run, &error) || cvtm_run_write(run, "a.svg", NULL, &error) ||
                     cvtm_run_write(run, "a.msh", NULL, &error);
  if (failed)
    fprintf(stderr, "%s\n", error.message);
  else
    printf("%lld sites\n", (long long)cvtm_run_get(run)->count);
  cvtm_run_destroy(run);
  cvtm_device_destroy(device);
  return failed;
}

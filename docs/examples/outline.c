/* What `cvtmesh mesh plate.geojson --size '0.2+0.1*d(hole)' -o plate.msh` does, with the same
 * bytes. cc outline.c $(pkg-config --cflags --libs cvtmesh) -o outline */
#include <cvtmesh/cvtmesh.h>

#include <stdio.h>

int main(int argc, char **argv) {
  cvtm_error error;
  cvtm_outline *outline = NULL;
  cvtm_run_options options;
  cvtm_run_defaults(&options);
  options.input.name = argc > 1 ? argv[1] : "plate.geojson";
  options.outline.size = (cvtm_run_list){{"0.2+0.1*d(hole)"}, 1};
  const int failed = cvtm_outline_create(&options, &outline, &error) ||
                     cvtm_outline_solve(outline, &error) ||
                     cvtm_outline_write(outline, "plate.msh", NULL, &error) ||
                     cvtm_outline_write(outline, "plate.svg", NULL, &error);
  if (failed)
    fprintf(stderr, "%s\n", error.message);
  else
    printf("%lld triangles\n", (long long)cvtm_outline_get(outline)->mesh->triangle_count);
  cvtm_outline_destroy(outline);
  return failed;
}

/* Maps of widths in NetCDF's classic formats. Files in HDF5 are left to libhdf5's own fuzzers. */
#include "meshes/sphere.h"

#include "fuzz_file.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
  cvtm_geographic_grid grid;
  cvtm_error error;
  if (size < 4 || memcmp(data, "CDF", 3) != 0) return 0;
  if (cvtm_geographic_grid_read(fuzz_write_file("map.nc", data, size), &grid, &error) != CVTM_OK)
    return 0;
  if (grid.rows < 2 || grid.columns < 2 || !(grid.row_step > 0) || !(grid.column_step > 0)) abort();
  double sum = 0;
  for (int64_t k = 0; k < grid.rows * grid.columns; ++k) sum += grid.value[k];
  free(grid.value);
  return sum == 0.12345 ? -1 : 0;
}

#include "bench/problems/panel_kernels.h"

enum { PART = 1024, LANES = 4 };

static int64_t parts_of_panel(int64_t rows) { return (rows - 1) / PART + 1; }

static double dot(const double *a, const double *b, int64_t count) {
  double sum[LANES] = {0.0, 0.0, 0.0, 0.0};
  int64_t r = 0;
  for (; r + LANES <= count; r += LANES) {
    for (int l = 0; l < LANES; ++l) sum[l] += a[r + l] * b[r + l];
  }
  for (; r < count; ++r) sum[0] += a[r] * b[r];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static cvtm_status cpu_product(cvtm_device *device, int64_t rows, const double *a, const double *b,
                               double *product, double *partial) {
  const int64_t parts = parts_of_panel(rows);
  int threads = cvtm_device_threads(device);
  if (threads > parts) threads = (int)parts;
  (void)threads;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t first = part * PART, count = rows - first < PART ? rows - first : PART;
    for (int e = 0; e < CVTM_PANEL_ENTRIES; ++e) {
      const int p = e / CVTM_PANEL_COLUMNS, q = e % CVTM_PANEL_COLUMNS;
      partial[part * CVTM_PANEL_ENTRIES + e] =
          dot(a + p * rows + first, b + q * rows + first, count);
    }
  }
  for (int e = 0; e < CVTM_PANEL_ENTRIES; ++e) {
    product[e] = 0.0;
    for (int64_t part = 0; part < parts; ++part) {
      product[e] += partial[part * CVTM_PANEL_ENTRIES + e];
    }
  }
  return CVTM_OK;
}

const cvtm_panel_table cvtm_panel_table_cpu = {.parts = parts_of_panel, .product = cpu_product};

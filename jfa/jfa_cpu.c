#include "jfa/jfa_kernels.h"

static void set_all_seeds(cvtm_device *device, const cvtm_diagram *diagram, uint32_t *codes) {
#pragma omp parallel for num_threads(cvtm_device_threads(device)) schedule(static)
  for (int64_t place = 0; place < diagram->tree.count; ++place)
    cvtm_set_seed(diagram, place, codes);
}

static cvtm_status set_seeds_cpu(cvtm_device *device, const cvtm_diagram *diagram,
                                 uint32_t *codes) {
  const size_t pixels = (size_t)diagram->domain.width * (size_t)diagram->domain.height;
  const cvtm_status status = cvtm_device_fill(device, codes, 0xFF, pixels * sizeof *codes);
  if (status != CVTM_OK) return status;
  set_all_seeds(device, diagram, codes);
  return CVTM_OK;
}

static cvtm_status warm_start_cpu(cvtm_device *device, const cvtm_diagram *diagram,
                                  const double *sites, const int32_t *labels, uint32_t *codes) {
  const int64_t pixels = (int64_t)diagram->domain.width * diagram->domain.height;
#pragma omp parallel for num_threads(cvtm_device_threads(device)) schedule(static)
  for (int64_t p = 0; p < pixels; ++p) codes[p] = cvtm_warm_start_code(diagram, sites, labels[p]);
  set_all_seeds(device, diagram, codes);
  return CVTM_OK;
}

/* The rows of codes that a row of pixels takes candidates from, in the order of tags. */
typedef struct candidate_rows {
  const uint32_t *row[3];
  float y; /* of the pixel centres */
} candidate_rows;

/* The code of pixel i after a pass. `periodic` is a constant where this is inlined. */
static inline uint32_t flood_pixel(const cvtm_diagram *diagram, const cvtm_flood_scale *scale,
                                   int periodic, const candidate_rows *rows, int i, int step) {
  const int width = diagram->domain.width;
  const int column[3] = {i, cvtm_step_along(i, -step, width, periodic),
                         cvtm_step_along(i, step, width, periodic)};
  const float x = scale->origin + (float)i * scale->step;
  uint32_t least = UINT32_MAX;
  for (uint32_t tag = 0; tag < 11; ++tag) {
    if (tag % 4 == 3) continue;
    const uint32_t code = rows->row[tag / 4][column[tag % 4]];
    float seed_x, seed_y;
    cvtm_code_position(code, &seed_x, &seed_y);
    const float dx = cvtm_flood_difference(x, seed_x, periodic, scale->period_x);
    const float dy = cvtm_flood_difference(rows->y, seed_y, periodic, scale->period_y);
    const uint32_t key = cvtm_flood_key(cvtm_flood_distance2(cvtm_flood_x2(code, dx), dy), tag);
    least = key < least ? key : least;
  }
  return rows->row[(least & 15U) / 4][column[least % 4]];
}

static cvtm_status pass_cpu(cvtm_device *device, const cvtm_diagram *diagram, int step,
                            const uint32_t *from, uint32_t *to) {
  const cvtm_flood_scale scale = cvtm_flood_scale_of(diagram);
  const int64_t width = diagram->domain.width;
  const int height = diagram->domain.height, periodic = diagram->domain.periodic;
#pragma omp parallel for num_threads(cvtm_device_threads(device)) schedule(static)
  for (int j = 0; j < height; ++j) {
    const candidate_rows rows = {
        {from + j * width, from + cvtm_step_along(j, -step, height, periodic) * width,
         from + cvtm_step_along(j, step, height, periodic) * width},
        scale.origin + (float)j * scale.step};
    uint32_t *row = to + j * width;
    for (int i = 0; i < width; ++i)
      row[i] = periodic ? flood_pixel(diagram, &scale, 1, &rows, i, step)
                        : flood_pixel(diagram, &scale, 0, &rows, i, step);
  }
  return CVTM_OK;
}

/* Replaces the codes of a row by places. Neighbours mostly have the same. */
static void find_places(const cvtm_diagram *diagram, uint32_t *codes) {
  uint32_t code = codes[0], place = cvtm_place_of_code(diagram, code);
  for (int i = 0; i < diagram->domain.width; ++i) {
    if (codes[i] != code) {
      code = codes[i];
      place = cvtm_place_of_code(diagram, code);
    }
    codes[i] = place;
  }
}

static cvtm_status final_pass_cpu(cvtm_device *device, const cvtm_diagram *diagram, uint32_t *codes,
                                  int32_t *labels) {
  const int64_t width = diagram->domain.width;
  const int height = diagram->domain.height;
#pragma omp parallel num_threads(cvtm_device_threads(device))
  {
#pragma omp for schedule(static)
    for (int j = 0; j < height; ++j) find_places(diagram, codes + j * width);
#pragma omp for schedule(static)
    for (int j = 0; j < height; ++j)
      for (int i = 0; i < width; ++i)
        labels[j * width + i] = cvtm_final_label(diagram, i, j, codes);
  }
  return CVTM_OK;
}

const cvtm_jfa_table cvtm_jfa_table_cpu = {
    .set_seeds = set_seeds_cpu,
    .warm_start = warm_start_cpu,
    .pass = pass_cpu,
    .final_pass = final_pass_cpu,
};

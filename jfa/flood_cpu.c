#include "jfa/flood.h"

static void seed_all(cvtm_device *device, const cvtm_flood *flood, int packed, uint32_t *words) {
#pragma omp parallel for num_threads(cvtm_device_threads(device)) schedule(static)
  for (int64_t place = 0; place < flood->tree.count; ++place)
    cvtm_seed_place(flood, packed, place, words);
}

static cvtm_status start_cpu(cvtm_device *device, const cvtm_flood *flood, uint32_t *words) {
  const size_t pixels = (size_t)flood->domain.width * (size_t)flood->domain.height;
  const cvtm_status status = cvtm_device_fill(device, words, 0xFF, pixels * sizeof *words);
  if (status != CVTM_OK) return status;
  seed_all(device, flood, cvtm_flood_scale_of(flood).packed, words);
  return CVTM_OK;
}

static cvtm_status recall_cpu(cvtm_device *device, const cvtm_flood *flood, const double *sites,
                              const int32_t *labels, uint32_t *words) {
  const int packed = cvtm_flood_scale_of(flood).packed;
  const int64_t pixels = (int64_t)flood->domain.width * flood->domain.height;
#pragma omp parallel for num_threads(cvtm_device_threads(device)) schedule(static)
  for (int64_t p = 0; p < pixels; ++p) words[p] = cvtm_recall_word(flood, packed, sites, labels[p]);
  seed_all(device, flood, packed, words);
  return CVTM_OK;
}

static cvtm_status limit_cpu(cvtm_device *device, const cvtm_flood *flood) {
  const int32_t squares = 1 << cvtm_circle_levels(flood);
  double radius = 0;
#pragma omp parallel for num_threads(cvtm_device_threads(device)) reduction(max : radius)
  for (int32_t row = 0; row < squares; ++row)
    for (int32_t column = 0; column < squares; ++column) {
      const double here = cvtm_empty_radius(flood, column, row);
      if (here > radius) radius = here;
    }
  *flood->first_step = cvtm_covering_step(2 * radius);
  return CVTM_OK;
}

/* The rows of words that the pixels of one row hear of: theirs, the one above and the one below. */
typedef struct heard_rows {
  const uint32_t *word[3];
  float y;
} heard_rows;

/* The word of pixel i after a pass. `packed` and `periodic` are constants where this is inlined. */
static inline uint32_t flood_pixel(const cvtm_flood *flood, const cvtm_flood_scale *scale,
                                   int packed, int periodic, const heard_rows *rows, int i,
                                   int step) {
  const int width = flood->domain.width;
  const int column[3] = {i, cvtm_step_along(i, -step, width, periodic),
                         cvtm_step_along(i, step, width, periodic)};
  const float x = scale->origin + (float)i * scale->step;
  uint32_t least = UINT32_MAX;
  for (uint32_t tag = 0; tag < 11; ++tag) {
    if (tag % 4 == 3) continue;
    const uint32_t word = rows->word[tag / 4][column[tag % 4]];
    float seed_x, seed_y;
    cvtm_seed_position(flood, packed, word, &seed_x, &seed_y);
    const float x2 = cvtm_flood_square(word, cvtm_flood_gap(x, seed_x, periodic, scale->period_x));
    const uint32_t key =
        cvtm_flood_key(cvtm_flood_distance2(
                           packed, x2, cvtm_flood_gap(rows->y, seed_y, periodic, scale->period_y)),
                       tag);
    least = key < least ? key : least;
  }
  return rows->word[(least & 15U) / 4][column[least % 4]];
}

static cvtm_status pass_cpu(cvtm_device *device, const cvtm_flood *flood, int step,
                            const uint32_t *from, uint32_t *to) {
  if (step > *flood->first_step) return CVTM_OK;
  const cvtm_flood_scale scale = cvtm_flood_scale_of(flood);
  const int64_t width = flood->domain.width;
  const int height = flood->domain.height, periodic = flood->domain.periodic;
#pragma omp parallel for num_threads(cvtm_device_threads(device)) schedule(static)
  for (int j = 0; j < height; ++j) {
    const heard_rows rows = {
        {from + j * width, from + cvtm_step_along(j, -step, height, periodic) * width,
         from + cvtm_step_along(j, step, height, periodic) * width},
        scale.origin + (float)j * scale.step};
    uint32_t *row = to + j * width;
    for (int i = 0; i < width; ++i)
      row[i] = !scale.packed ? flood_pixel(flood, &scale, 0, periodic, &rows, i, step)
               : periodic    ? flood_pixel(flood, &scale, 1, 1, &rows, i, step)
                             : flood_pixel(flood, &scale, 1, 0, &rows, i, step);
  }
  return CVTM_OK;
}

/* In the last pass words are replaced by names first: the place of the seed's only site, or
 * 2^31 + the first of its places. No seed keeps its word. */
enum { SEVERAL = INT32_MIN };

static uint32_t name_of_word(const cvtm_flood *flood, int packed, uint32_t word) {
  if (word == CVTM_NO_SEED) return word;
  const cvtm_seed_sites sites = cvtm_sites_of_word(flood, packed, word);
  return (uint32_t)(sites.last - sites.first == 1 ? sites.first : SEVERAL | sites.first);
}

static void name_row(const cvtm_flood *flood, int packed, uint32_t *words) {
  uint32_t word = words[0], name = name_of_word(flood, packed, word);
  for (int i = 0; i < flood->domain.width; ++i) {
    if (words[i] != word) {
      word = words[i];
      name = name_of_word(flood, packed, word);
    }
    words[i] = name;
  }
}

/* Improves *best by all sites of a seed. */
static void consider_name(const cvtm_flood *flood, int i, int j, uint32_t name,
                          cvtm_nearest *best) {
  const double x = i + 0.5, y = j + 0.5;
  if (name <= INT32_MAX) {
    cvtm_nearest_consider(&flood->tree, flood->metric, x, y, name, best);
    return;
  }
  const cvtm_seed_pixel pixel = cvtm_pixel_of_place(flood, name & INT32_MAX);
  cvtm_consider_sites(flood, x, y, cvtm_sites_of_pixel(flood, pixel), best);
}

static int32_t label_pixel(const cvtm_flood *flood, int i, int j, const uint32_t *names) {
  const cvtm_domain domain = flood->domain;
  uint32_t heard[CVTM_LAST_HEARD];
  int differ = 0;
  for (int k = 0; k < CVTM_LAST_HEARD; ++k) {
    const int column = cvtm_step_along(i, cvtm_last_column(k), domain.width, domain.periodic);
    const int row = cvtm_step_along(j, cvtm_last_row(k), domain.height, domain.periodic);
    heard[k] = names[(int64_t)row * domain.width + column];
    differ |= heard[k] != heard[0];
  }
  if (!differ && heard[0] <= INT32_MAX) return flood->tree.index[heard[0]];
  cvtm_nearest best = cvtm_nearest_none();
  uint32_t from = 0;
  for (;;) {
    const uint32_t name = cvtm_next_heard(heard, from);
    if (name < from || name == CVTM_NO_SEED) break;
    consider_name(flood, i, j, name, &best);
    from = name + 1;
  }
  return best.place >= 0 ? best.index : -1;
}

static cvtm_status finish_cpu(cvtm_device *device, const cvtm_flood *flood, uint32_t *words,
                              int32_t *labels) {
  const int packed = cvtm_flood_scale_of(flood).packed;
  const int64_t width = flood->domain.width;
  const int height = flood->domain.height;
#pragma omp parallel num_threads(cvtm_device_threads(device))
  {
#pragma omp for schedule(static)
    for (int j = 0; j < height; ++j) name_row(flood, packed, words + j * width);
#pragma omp for schedule(static)
    for (int j = 0; j < height; ++j)
      for (int i = 0; i < width; ++i) labels[j * width + i] = label_pixel(flood, i, j, words);
  }
  return CVTM_OK;
}

const cvtm_flood_table cvtm_flood_table_cpu = {
    .start = start_cpu,
    .recall = recall_cpu,
    .limit = limit_cpu,
    .pass = pass_cpu,
    .finish = finish_cpu,
};

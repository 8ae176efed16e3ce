#include "cvt/sphere/sphere_plan.h"

#include "base/host.h"
#include "base/primitives.h"
#include "base/select.h"

#include <stdlib.h>
#include <string.h>

/* --- the map ---------------------------------------------------------------------------------- */

void cvtm_sphere_widths_free(cvtm_sphere_widths *widths) {
  free(widths->value);
  widths->value = NULL;
  widths->rows = widths->columns = 0;
}

/* The width at (row, column) of the map. A row beyond a pole is the mirror image of a row before
 * the pole. If the map has a row at the pole, that row is the mirror. */
static float width_beyond(const cvtm_sphere_widths *w, int64_t row, int64_t column) {
  const int over = row < 0 || row >= w->rows;
  const double north = w->south + (w->rows - 1) * w->row_step, near = 0.25 * w->row_step;
  if (row < 0) row = w->south + 0.5 * CVTM_PI < near ? -row : -1 - row;
  if (row >= w->rows) row = 2 * (int64_t)w->rows - 1 - row - (0.5 * CVTM_PI - north < near);
  const float *line = w->value + row * w->columns;
  if (!over) return line[column % w->columns];
  const int64_t half = w->columns / 2, i = (column + half) % w->columns;
  return w->columns % 2 == 0 ? line[i] : 0.5F * (line[i] + line[(i + 1) % w->columns]);
}

double cvtm_sphere_widths_at(const cvtm_sphere_widths *w, const double point[3]) {
  if (w->value == NULL) return 0;
  const double latitude = atan2(point[2], hypot(point[0], point[1]));
  double column = (atan2(point[1], point[0]) - w->west) / w->column_step;
  column -= floor(column / w->columns) * w->columns;
  const double row = (latitude - w->south) / w->row_step;
  const int64_t i = (int64_t)column % w->columns, j = (int64_t)floor(row);
  const double u = column - floor(column), v = row - (double)j;
  const double south =
      (1 - u) * (double)width_beyond(w, j, i) + u * (double)width_beyond(w, j, i + 1);
  const double north =
      (1 - u) * (double)width_beyond(w, j + 1, i) + u * (double)width_beyond(w, j + 1, i + 1);
  return south + v * (north - south);
}

cvtm_status cvtm_sphere_map_create(const cvtm_sphere_widths *w, cvtm_sphere_map *map,
                                   cvtm_error *error) {
  memset(map, 0, sizeof *map);
  if (w->value == NULL) return CVTM_OK;
  map->side = w->rows < 2 ? 2 : w->rows > CVTM_SPHERE_MAP_MOST ? CVTM_SPHERE_MAP_MOST : w->rows;
  const int64_t count = 6 * (int64_t)map->side * map->side;
  float *value = malloc((size_t)count * sizeof *value);
  if (value == NULL) return cvtm_no_memory(error, "the map of widths");
#pragma omp parallel for schedule(static)
  for (int64_t k = 0; k < count; ++k) {
    const cvtm_vector at = cvtm_sphere_map_point(map->side, k);
    const double point[3] = {at.x, at.y, at.z};
    value[k] = (float)cvtm_sphere_widths_at(w, point);
  }
  map->value = value;
  return CVTM_OK;
}

/* The area of a cell of the grid in row j. */
static double row_area(const cvtm_sphere_widths *w, int64_t j) {
  const double middle = w->south + (double)j * w->row_step, half = 0.5 * w->row_step;
  const double low = j == 0 ? -0.5 * CVTM_PI : middle - half;
  const double high = j == w->rows - 1 ? 0.5 * CVTM_PI : middle + half;
  return w->column_step * (sin(high) - sin(low));
}

double cvtm_sphere_widths_count(const cvtm_sphere_widths *w) {
  const double per = 2 / sqrt(3.0);
  double sum = 0;
  for (int64_t j = 0; j < w->rows; ++j) {
    double row = 0;
    for (int64_t i = 0; i < w->columns; ++i) {
      const double width = (double)w->value[j * w->columns + i];
      row += 1 / (width * width);
    }
    sum += row * row_area(w, j);
  }
  return per * sum;
}

/* Sweeps over the grid in four directions, and across the poles, until nothing changes. */
void cvtm_sphere_widths_grade(cvtm_sphere_widths *w, double growth) {
  const int64_t rows = w->rows, columns = w->columns;
  for (int sweep = 0, changed = 1; changed && sweep < 64; ++sweep) {
    changed = 0;
    for (int64_t b = 0; b < rows; ++b) {
      const int64_t j = sweep % 2 ? rows - 1 - b : b;
      const double across = w->column_step * cos(w->south + (double)j * w->row_step);
      for (int64_t a = 0; a < 2 * columns; ++a) {
        const int64_t i = (sweep / 2 % 2 ? 2 * columns - 1 - a : a) % columns;
        float least = w->value[j * columns + i];
        for (int64_t dj = -1; dj <= 1; ++dj) {
          for (int64_t di = -1; di <= 1; ++di) {
            if (di == 0 && dj == 0) continue;
            const double down = (double)dj * w->row_step, along = (double)di * across;
            const double reach = growth * sqrt(down * down + along * along);
            const float other = width_beyond(w, j + dj, i + di + columns) + (float)reach;
            least = other < least ? other : least;
          }
        }
        if (least < w->value[j * columns + i] * (1 - 1e-6F)) {
          w->value[j * columns + i] = least;
          changed = 1;
        }
      }
    }
  }
}

/* --- the plan --------------------------------------------------------------------------------- */

static cvtm_arrays plan_arrays(cvtm_sphere_plan *p, int64_t map_size) {
  const int64_t n = p->count;
  cvtm_arrays a = {{CVTM_ARRAY(p->work.sites, 3 * n),
                    CVTM_ARRAY(p->work.hints, CVTM_SPHERE_HINTS * n), CVTM_ARRAY(p->work.energy, n),
                    CVTM_ARRAY(p->work.mass, n), CVTM_ARRAY(p->work.open, n),
                    CVTM_ARRAY(p->map, map_size), CVTM_ARRAY(p->fixed, n), CVTM_ARRAY(p->x, 3 * n),
                    CVTM_ARRAY(p->gradient, 3 * n), CVTM_ARRAY(p->value, 4),
                    CVTM_ARRAY(p->scale, 3 * n), CVTM_ARRAY(p->order, n)}};
  for (int32_t level = 0; level < p->work.tree.levels; ++level) {
    cvtm_array *next = a.array + 12 + level;
    next->memory = (void **)&p->work.tree.balls[level];
    next->count = (n - 1) / cvtm_sphere_span(level) + 1;
    next->size = sizeof *p->work.tree.balls[level];
  }
  return a;
}

void cvtm_sphere_plan_destroy(cvtm_sphere_plan *plan) {
  if (plan->device != NULL) cvtm_device_free_arrays(plan->device, plan_arrays(plan, 0));
  memset(plan, 0, sizeof *plan);
}

cvtm_status cvtm_sphere_plan_create(cvtm_device *device, const cvtm_sphere_map *map, int64_t count,
                                    cvtm_sphere_plan *plan) {
  memset(plan, 0, sizeof *plan);
  cvtm_sphere_plan *p = plan;
  p->table = CVTM_TABLE(device, cvtm_sphere);
  p->count = p->work.tree.count = count;
  while (p->work.tree.levels == 0 || cvtm_sphere_span(p->work.tree.levels - 1) < count)
    ++p->work.tree.levels;
  CVTM_TRY(cvtm_reduce_reserve(device, count));
  const int64_t map_size = map->value == NULL ? 0 : 6 * (int64_t)map->side * map->side;
  p->device = device;
  cvtm_status status = cvtm_device_allocate_arrays(device, plan_arrays(p, map_size));
  p->work.map = *map;
  p->work.tree.sites = p->work.sites;
  if (status == CVTM_OK && map->value != NULL) {
    p->work.map.value = p->map;
    status = cvtm_device_copy_in(device, p->map, map->value, (size_t)map_size * sizeof *p->map);
  }
  if (status != CVTM_OK) cvtm_sphere_plan_destroy(p);
  return status;
}

cvtm_status cvtm_sphere_plan_put(cvtm_sphere_plan *p, const double *sites, int64_t fixed) {
  const int64_t n = p->count;
  uint64_t *keys = NULL, *keys_alt = NULL;
  int32_t *order_alt = NULL;
  const cvtm_arrays sorting = {
      {CVTM_ARRAY(keys, n), CVTM_ARRAY(keys_alt, n), CVTM_ARRAY(order_alt, n)}};
  cvtm_status status = cvtm_device_allocate_arrays(p->device, sorting);
  if (status == CVTM_OK)
    status = cvtm_device_copy_in(p->device, p->work.sites, sites, 3 * (size_t)n * sizeof *sites);
  if (status == CVTM_OK) status = p->table->keys(p->device, p->work.sites, n, keys, p->order);
  if (status == CVTM_OK)
    status = cvtm_sort_pairs(p->device, keys, p->order, keys_alt, order_alt, n, 63);
  if (status == CVTM_OK)
    status = p->table->gather(p->device, p->work.sites, p->order, n, p->x, p->work.hints);
  if (status == CVTM_OK) status = cvtm_device_synchronize(p->device);
  cvtm_device_free_arrays(p->device, sorting);
  p->work.fixed = NULL;
  if (status != CVTM_OK || fixed == 0) return status;
  int32_t *order = malloc((size_t)n * sizeof *order);
  unsigned char *flags = malloc((size_t)n);
  if (order == NULL || flags == NULL)
    status = cvtm_no_memory(cvtm_device_error(p->device), "the fixed sites");
  if (status == CVTM_OK)
    status = cvtm_device_copy_out(p->device, order, p->order, (size_t)n * sizeof *order);
  if (status == CVTM_OK) {
    for (int64_t i = 0; i < n; ++i) flags[i] = order[i] < fixed;
    status = cvtm_device_copy_in(p->device, p->fixed, flags, (size_t)n);
    p->work.fixed = p->fixed;
  }
  free(order);
  free(flags);
  return status;
}

/* Copies `per` numbers of each site to the host, in the caller's order. */
static cvtm_status read_back(cvtm_sphere_plan *p, const double *from, int64_t per, double *to) {
  const size_t n = (size_t)p->count;
  double *values = malloc((size_t)per * n * sizeof *values);
  int32_t *order = malloc(n * sizeof *order);
  cvtm_status status = CVTM_OK;
  if (values == NULL || order == NULL)
    status = cvtm_no_memory(cvtm_device_error(p->device), "the sites");
  if (status == CVTM_OK)
    status = cvtm_device_copy_out(p->device, values, from, (size_t)per * n * sizeof *values);
  if (status == CVTM_OK)
    status = cvtm_device_copy_out(p->device, order, p->order, n * sizeof *order);
  if (status == CVTM_OK)
    for (int64_t i = 0; i < p->count; ++i)
      memcpy(to + per * order[i], values + per * i, (size_t)per * sizeof *to);
  free(values);
  free(order);
  return status;
}

cvtm_status cvtm_sphere_plan_get(cvtm_sphere_plan *p, double *sites) {
  CVTM_TRY(p->table->normalise(p->device, p->x, p->count, p->work.sites));
  return read_back(p, p->work.sites, 3, sites);
}

cvtm_status cvtm_sphere_plan_mesh(cvtm_sphere_plan *p, cvtm_sphere_mesh *mesh) {
  enum { WIDE = CVTM_SPHERE_HINTS };
  cvtm_error *error = cvtm_device_error(p->device);
  const size_t n = (size_t)p->count;
  cvtm_scratch memory = {0};
  double *sites = cvtm_scratch_take(&memory, 3 * n, sizeof *sites);
  int32_t *rings = cvtm_scratch_take(&memory, WIDE * n, sizeof *rings), *turned = NULL;
  int32_t *order = cvtm_scratch_take(&memory, n, sizeof *order);
  if (p->work.fixed != NULL) turned = cvtm_scratch_take(&memory, WIDE * n, sizeof *turned);
  cvtm_status status = memory.failed ? cvtm_no_memory(error, "the triangulation") : CVTM_OK;
  if (status == CVTM_OK)
    status = cvtm_device_copy_out(p->device, rings, p->work.hints, WIDE * n * sizeof *rings);
  if (status == CVTM_OK)
    status = turned != NULL
                 ? read_back(p, p->work.sites, 3, sites)
                 : cvtm_device_copy_out(p->device, sites, p->work.sites, 3 * n * sizeof *sites);
  if (status == CVTM_OK && turned != NULL)
    status = cvtm_device_copy_out(p->device, order, p->order, n * sizeof *order);
  for (size_t i = 0; status == CVTM_OK && turned != NULL && i < n; ++i) {
    int32_t *own = turned + WIDE * (size_t)order[i], k = 0;
    for (const int32_t *ring = rings + WIDE * i; k < WIDE && ring[k] >= 0; ++k)
      own[k] = order[ring[k]];
    if (k < WIDE) own[k] = -1;
  }
  if (status == CVTM_OK)
    status = cvtm_sphere_join(sites, p->count, turned != NULL ? turned : rings, WIDE, mesh, error);
  cvtm_scratch_free(&memory);
  return status;
}

cvtm_status cvtm_sphere_plan_evaluate(cvtm_sphere_plan *p, const double *x, double *value,
                                      double *gradient) {
  CVTM_TRY(p->table->normalise(p->device, x, p->count, p->work.sites));
  for (int32_t level = 0; level < p->work.tree.levels; ++level)
    CVTM_TRY(
        p->table->balls(p->device, &p->work, level, (p->count - 1) / cvtm_sphere_span(level) + 1));
  CVTM_TRY(p->table->cells(p->device, &p->work, x, gradient));
  CVTM_TRY(cvtm_reduce(p->device, CVTM_REDUCE_SUM, p->work.energy, p->count, value));
  return cvtm_reduce(p->device, CVTM_REDUCE_SUM, p->work.open, p->count, value + 1);
}

cvtm_status cvtm_sphere_plan_lloyd(cvtm_sphere_plan *p, int steps) {
  cvtm_status status = CVTM_OK;
  for (int k = 0; status == CVTM_OK && k < steps; ++k) {
    status = cvtm_sphere_plan_evaluate(p, p->x, p->value, p->gradient);
    if (status == CVTM_OK)
      status = p->table->move(p->device, p->gradient, p->work.mass, p->count, p->x);
  }
  return status;
}

static cvtm_status evaluate_sphere(void *context, const double *x, double *f, double *g,
                                   void *stream) {
  (void)stream;
  return cvtm_sphere_plan_evaluate(context, x, f, g);
}

static int ask_stop(void *context, const cvtm_lbfgsb_progress *progress) {
  const cvtm_sphere_options *o = context;
  (void)progress;
  return o->stop(o->stop_context);
}

cvtm_status cvtm_sphere_plan_descend(cvtm_sphere_plan *p, const cvtm_sphere_options *o,
                                     int iterations, double max_seconds,
                                     cvtm_lbfgsb_result *result) {
  cvtm_status status = cvtm_sphere_plan_evaluate(p, p->x, p->value, p->gradient);
  if (status == CVTM_OK)
    status = cvtm_reduce(p->device, CVTM_REDUCE_SUM, p->work.mass, p->count, p->value + 2);
  double mass = 0;
  if (status == CVTM_OK) status = cvtm_device_copy_out(p->device, &mass, p->value + 2, sizeof mass);
  if (status == CVTM_OK)
    status = p->table->scale(p->device, p->work.mass, p->count, mass / (double)p->count, p->scale);
  cvtm_lbfgsb_options options;
  cvtm_lbfgsb_defaults(&options);
  options.history = 7;
  options.max_iterations = iterations;
  options.max_seconds = max_seconds;
  if (o->stop != NULL) options.monitor = ask_stop;
  options.monitor_context = (void *)o;
  cvtm_lbfgsb *solver = NULL;
  if (status == CVTM_OK) status = cvtm_lbfgsb_create(p->device, 3 * p->count, &options, &solver);
  if (status == CVTM_OK) status = cvtm_lbfgsb_set_scaling(solver, p->scale);
  if (status == CVTM_OK) status = cvtm_lbfgsb_minimize(solver, p->x, evaluate_sphere, p, result);
  cvtm_lbfgsb_destroy(solver);
  return status;
}

cvtm_status cvtm_sphere_energy(cvtm_device *device, const cvtm_sphere_widths *widths,
                               const double *sites, int64_t count, double *energy, double *gradient,
                               double *masses) {
  cvtm_sphere_plan plan;
  cvtm_sphere_map map;
  double value[2] = {0, 0};
  memset(&plan, 0, sizeof plan);
  cvtm_status status = cvtm_sphere_map_create(widths, &map, cvtm_device_error(device));
  if (status == CVTM_OK) status = cvtm_sphere_plan_create(device, &map, count, &plan);
  if (status == CVTM_OK) status = cvtm_sphere_plan_put(&plan, sites, 0);
  if (status == CVTM_OK)
    status = cvtm_sphere_plan_evaluate(&plan, plan.x, plan.value, plan.gradient);
  if (status == CVTM_OK) status = cvtm_device_copy_out(device, value, plan.value, sizeof value);
  if (status == CVTM_OK && value[1] > 0)
    status = cvtm_fail(cvtm_device_error(device), CVTM_ERROR_UNSUPPORTED,
                       "%.0f cells reach farther than 83 degrees from their sites", value[1]);
  if (status == CVTM_OK && gradient != NULL) status = read_back(&plan, plan.gradient, 3, gradient);
  if (status == CVTM_OK && masses != NULL) status = read_back(&plan, plan.work.mass, 1, masses);
  if (status == CVTM_OK) *energy = value[0];
  cvtm_sphere_plan_destroy(&plan);
  free((void *)map.value);
  return status;
}

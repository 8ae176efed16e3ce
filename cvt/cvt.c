#include "cvt/cvt_kernels.h"

#include "base/primitives.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WINDOW = 10 }; /* iterations over which the relative decrease is averaged */

/* Sites farther out than this cannot be placed to a pixel any more. */
static const double farthest = 1e9;

/* --- the plan ------------------------------------------------------------------- */

static int64_t pixels_of(cvtm_domain domain) { return (int64_t)domain.width * domain.height; }

static cvtm_status check_plan(cvtm_device *device, cvtm_domain domain, const float *density,
                              int64_t capacity) {
  cvtm_error *error = cvtm_device_error(device);
  if (domain.width < 1 || domain.height < 1 || domain.width > CVTM_MAX_SIDE ||
      domain.height > CVTM_MAX_SIDE) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "a domain of %d x %d pixels; 1 to %d a side",
                     domain.width, domain.height, CVTM_MAX_SIDE);
  }
  if (capacity < 1 || capacity > INT32_MAX) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%lld sites; 1 to 2^31 - 1", (long long)capacity);
  }
  if (!density) return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "no density");
  int positive = 0;
  for (int64_t p = 0; p < pixels_of(domain); ++p) {
    if (!(density[p] >= 0) || isinf(density[p])) {
      return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "density at pixel (%d, %d) is %g",
                       (int)(p % domain.width), (int)(p / domain.width), (double)density[p]);
    }
    positive |= density[p] > 0;
  }
  if (!positive) return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "the density is zero everywhere");
  return CVTM_OK;
}

static cvtm_status allocate_plan(cvtm_cvt *cvt, const float *density) {
  cvtm_device *device = cvt->device;
  const int64_t n = cvt->capacity, area = pixels_of(cvt->domain);
  void *value = NULL;
  cvtm_status status = cvtm_device_allocate(device, area, sizeof(float), &value);
  cvt->density =
      (cvtm_density_view){value, cvt->domain.width, cvt->domain.height, cvt->domain.periodic != 0};
  const struct {
    void **memory;
    int64_t count;
    size_t size;
  } arrays[] = {
      {(void **)&cvt->sites, 2 * n, sizeof(double)}, {(void **)&cvt->best, 2 * n, sizeof(double)},
      {(void **)&cvt->scale, 2 * n, sizeof(double)}, {(void **)&cvt->sums, n, sizeof *cvt->sums},
      {(void **)&cvt->second, n, sizeof(double)},    {(void **)&cvt->distance, n, sizeof(double)},
      {(void **)&cvt->value, 2, sizeof(double)},
  };
  for (size_t a = 0; status == CVTM_OK && a < sizeof arrays / sizeof arrays[0]; ++a)
    status = cvtm_device_allocate(device, arrays[a].count, arrays[a].size, arrays[a].memory);
  if (status == CVTM_OK) status = cvtm_site_tree_create(device, cvt->domain, n, &cvt->tree);
  if (status == CVTM_OK) status = cvtm_reduce_workspace(device, n, &cvt->workspace_bytes);
  if (status == CVTM_OK)
    status = cvtm_device_allocate(device, (int64_t)cvt->workspace_bytes, 1, &cvt->workspace);
  if (status == CVTM_OK) status = cvt->table->create_state(cvt);
  if (status == CVTM_OK)
    status = cvtm_device_copy_in(device, value, density, (size_t)area * sizeof(float));
  return status;
}

cvtm_status cvtm_cvt_create(cvtm_device *device, cvtm_domain domain, const float *density,
                            int64_t capacity, cvtm_cvt **result) {
  cvtm_status status = check_plan(device, domain, density, capacity);
  if (status != CVTM_OK) return status;
  cvtm_cvt *cvt = calloc(1, sizeof *cvt);
  if (!cvt) return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "no memory");
  cvt->device = device;
  cvt->domain = domain;
  cvt->capacity = capacity;
  cvt->table = &cvtm_cvt_table_cpu;
#if CVTMESH_HAVE_CUDA
  if (cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA) cvt->table = &cvtm_cvt_table_cuda;
#endif
  status = allocate_plan(cvt, density);
  if (status != CVTM_OK) {
    cvtm_cvt_destroy(cvt);
    return status;
  }
  *result = cvt;
  return CVTM_OK;
}

static void release_pixels(cvtm_cvt *cvt) {
  cvtm_voronoi_destroy(cvt->voronoi);
  cvt->voronoi = NULL;
  void **arrays[] = {(void **)&cvt->labels, (void **)&cvt->pixels, (void **)&cvt->pixels_alt,
                     (void **)&cvt->keys, (void **)&cvt->keys_alt};
  for (size_t a = 0; a < sizeof arrays / sizeof arrays[0]; ++a) {
    cvtm_device_free(cvt->device, *arrays[a]);
    *arrays[a] = NULL;
  }
}

void cvtm_cvt_destroy(cvtm_cvt *cvt) {
  if (!cvt) return;
  cvt->table->destroy_state(cvt);
  release_pixels(cvt);
  cvtm_site_tree_destroy(cvt->tree);
  void *arrays[] = {(void *)(uintptr_t)cvt->density.value,
                    cvt->sites,
                    cvt->best,
                    cvt->scale,
                    cvt->sums,
                    cvt->second,
                    cvt->distance,
                    cvt->value,
                    cvt->workspace};
  for (size_t a = 0; a < sizeof arrays / sizeof arrays[0]; ++a)
    cvtm_device_free(cvt->device, arrays[a]);
  free(cvt);
}

cvtm_status cvtm_cvt_set_density(cvtm_cvt *cvt, const float *density) {
  const cvtm_status status = check_plan(cvt->device, cvt->domain, density, cvt->capacity);
  if (status != CVTM_OK) return status;
  return cvtm_device_copy_in(cvt->device, (void *)(uintptr_t)cvt->density.value, density,
                             (size_t)pixels_of(cvt->domain) * sizeof(float));
}

/* The pixel energy needs 28 bytes more per pixel; most plans never ask for it. */
static cvtm_status prepare_pixels(cvtm_cvt *cvt) {
  if (cvt->voronoi) return CVTM_OK;
  cvtm_device *device = cvt->device;
  const int64_t area = pixels_of(cvt->domain);
  size_t bytes = 0;
  void *workspace = NULL;
  cvtm_status status = cvtm_device_allocate(device, area, sizeof(int32_t), (void **)&cvt->labels);
  if (status == CVTM_OK)
    status = cvtm_device_allocate(device, area, sizeof(int32_t), (void **)&cvt->pixels);
  if (status == CVTM_OK)
    status = cvtm_device_allocate(device, area, sizeof(int32_t), (void **)&cvt->pixels_alt);
  if (status == CVTM_OK)
    status = cvtm_device_allocate(device, area, sizeof(uint64_t), (void **)&cvt->keys);
  if (status == CVTM_OK)
    status = cvtm_device_allocate(device, area, sizeof(uint64_t), (void **)&cvt->keys_alt);
  if (status == CVTM_OK) status = cvtm_sort_workspace(device, area, &bytes);
  if (status == CVTM_OK && bytes > cvt->workspace_bytes) {
    status = cvtm_device_allocate(device, (int64_t)bytes, 1, &workspace);
    if (status == CVTM_OK) {
      cvtm_device_free(device, cvt->workspace);
      cvt->workspace = workspace;
      cvt->workspace_bytes = bytes;
    }
  }
  if (status == CVTM_OK)
    status = cvtm_voronoi_create(device, cvt->domain, cvt->capacity, &cvt->voronoi);
  if (status != CVTM_OK) release_pixels(cvt);
  return status;
}

/* --- one evaluation -------------------------------------------------------------- */

/* What is evaluated; the same for all evaluations of a run. */
typedef struct evaluation {
  cvtm_cvt *cvt;
  int64_t count, fixed;
  cvtm_cvt_energy energy;
  cvtm_voronoi_method voronoi;
  int timed;      /* the work is done when a call returns, so its time can be taken */
  double seconds; /* spent so far, if timed */
} evaluation;

/* The pixel energy on a diagram that may be wrong. */
static int uses_labels(const evaluation *e) {
  return e->energy == CVTM_CVT_PIXEL && e->voronoi != CVTM_VORONOI_EXACT;
}

static int bits_for(int64_t largest) {
  int bits = 1;
  while (bits < 63 && largest >> bits) ++bits;
  return bits;
}

/* Cell by cell, without labels. */
static cvtm_status enqueue_cells(cvtm_cvt *cvt, const double *sites, int64_t count,
                                 cvtm_cvt_energy energy) {
  const cvtm_status status = cvtm_site_tree_sort(cvt->tree, sites, count);
  return status == CVTM_OK ? cvt->table->cell_sums(cvt, count, energy) : status;
}

static cvtm_status enqueue_pixel(cvtm_cvt *cvt, const double *sites, int64_t count,
                                 cvtm_voronoi_method voronoi) {
  cvtm_status status = cvtm_voronoi_compute(cvt->voronoi, sites, count, voronoi, cvt->labels);
  if (status == CVTM_OK) status = cvt->table->pixel_keys(cvt);
  if (status == CVTM_OK)
    status = cvtm_sort_pairs(cvt->device, cvt->keys, cvt->pixels, cvt->keys_alt, cvt->pixels_alt,
                             pixels_of(cvt->domain), bits_for(count - 1), cvt->workspace,
                             cvt->workspace_bytes);
  if (status == CVTM_OK) status = cvt->table->pixel_sums(cvt, sites, count);
  return status;
}

/* value[0] = the energy, value[1] = the largest distance of a movable site to its
 * centroid; gradient may be NULL. All in device memory. */
static cvtm_status enqueue_evaluation(const evaluation *e, const double *sites, double *value,
                                      double *gradient) {
  cvtm_cvt *cvt = e->cvt;
  cvtm_status status = uses_labels(e) ? enqueue_pixel(cvt, sites, e->count, e->voronoi)
                                      : enqueue_cells(cvt, sites, e->count, e->energy);
  if (status == CVTM_OK) status = cvt->table->finish(cvt, e->count, e->fixed, value, gradient);
  return status;
}

static cvtm_status read_evaluation(const evaluation *e, const double *sites, double value[2]) {
  cvtm_cvt *cvt = e->cvt;
  const cvtm_status status = enqueue_evaluation(e, sites, cvt->value, NULL);
  if (status != CVTM_OK) return status;
  return cvtm_device_copy_out(cvt->device, value, cvt->value, 2 * sizeof(double));
}

static cvtm_status check_sites(const cvtm_cvt *cvt, const double *sites, int64_t count) {
  cvtm_error *error = cvtm_device_error(cvt->device);
  if (count < 1 || count > cvt->capacity || !sites) {
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%lld sites; the plan has room for %lld",
                     (long long)count, (long long)cvt->capacity);
  }
  for (int64_t i = 0; i < count; ++i) {
    if (fabs(sites[2 * i]) <= farthest && fabs(sites[2 * i + 1]) <= farthest) continue;
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "site %lld is (%g, %g)", (long long)i,
                     sites[2 * i], sites[2 * i + 1]);
  }
  return CVTM_OK;
}

static cvtm_status start_evaluation(evaluation *e) {
  cvtm_cvt *cvt = e->cvt;
  if (e->energy != CVTM_CVT_EXACT && e->energy != CVTM_CVT_PIXEL)
    return cvtm_fail(cvtm_device_error(cvt->device), CVTM_ERROR_ARGUMENT, "unknown energy %d",
                     (int)e->energy);
  e->timed = cvtm_device_get_kind(cvt->device) == CVTM_DEVICE_CPU;
  return uses_labels(e) ? prepare_pixels(cvt) : CVTM_OK;
}

static cvtm_status read_sums(cvtm_cvt *cvt, int64_t count, cvtm_cell_sums **sums) {
  const size_t bytes = (size_t)count * sizeof **sums;
  *sums = malloc(bytes);
  if (!*sums)
    return cvtm_fail(cvtm_device_error(cvt->device), CVTM_ERROR_MEMORY, "no memory for moments");
  const cvtm_status status = cvtm_device_copy_out(cvt->device, *sums, cvt->sums, bytes);
  if (status != CVTM_OK) {
    free(*sums);
    *sums = NULL;
  }
  return status;
}

static cvtm_status read_moments(cvtm_cvt *cvt, const double *sites, int64_t count,
                                const cvtm_cvt_moments *moments) {
  cvtm_cell_sums *sums = NULL;
  const cvtm_status status = read_sums(cvt, count, &sums);
  if (status != CVTM_OK) return status;
  for (int64_t i = 0; i < count; ++i) {
    const cvtm_cell_sums *s = &sums[i];
    if (moments->mass) moments->mass[i] = s->mass;
    if (moments->second) moments->second[i] = s->second;
    if (moments->centroid) {
      moments->centroid[2 * i] = sites[2 * i] + (s->mass > 0 ? s->x / s->mass : 0);
      moments->centroid[2 * i + 1] = sites[2 * i + 1] + (s->mass > 0 ? s->y / s->mass : 0);
    }
  }
  free(sums);
  return CVTM_OK;
}

cvtm_status cvtm_cvt_evaluate(cvtm_cvt *cvt, const double *sites, int64_t count,
                              cvtm_cvt_energy energy, cvtm_voronoi_method voronoi, double *value,
                              const cvtm_cvt_moments *moments) {
  evaluation e = {.cvt = cvt, .count = count, .energy = energy, .voronoi = voronoi};
  double result[2];
  cvtm_status status = check_sites(cvt, sites, count);
  if (status == CVTM_OK) status = start_evaluation(&e);
  if (status == CVTM_OK)
    status =
        cvtm_device_copy_in(cvt->device, cvt->sites, sites, 2 * (size_t)count * sizeof(double));
  if (status == CVTM_OK) status = read_evaluation(&e, cvt->sites, result);
  if (status == CVTM_OK && moments) status = read_moments(cvt, sites, count, moments);
  if (status == CVTM_OK && value) *value = result[0];
  return status;
}

/* --- minimisation ---------------------------------------------------------------- */

void cvtm_cvt_defaults(cvtm_cvt_options *options) {
  *options = (cvtm_cvt_options){.method = CVTM_CVT_LBFGSB,
                                .energy = CVTM_CVT_EXACT,
                                .voronoi = CVTM_VORONOI_EXACT,
                                .max_iterations = 300,
                                .tolerance = 1e-7,
                                .history = 8,
                                .lloyd_steps = 5,
                                .effort = CVTM_CVT_EFFORT_NORMAL,
                                .start = CVTM_CVT_START_STRATIFIED,
                                .seed = 1};
}

typedef struct run {
  evaluation e;
  const cvtm_cvt_options *options;
  double start;
  cvtm_stop stop;
  int64_t iterations, evaluations;
  double decrease[WINDOW]; /* relative, of the last iterations of Lloyd's method */
  double last, best;       /* energies of Lloyd's method */
} run;

static double now(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static cvtm_status read_timed(run *r, const double *sites, double value[2]) {
  const double start = now();
  const cvtm_status status = read_evaluation(&r->e, sites, value);
  r->e.seconds += now() - start;
  ++r->evaluations;
  return status;
}

/* Tells the monitor and remembers its wish, and the gradient's, to stop. */
static void report(run *r, const cvtm_cvt_record *record) {
  const cvtm_cvt_options *o = r->options;
  if (record->gradient_norm <= o->gradient_tolerance) r->stop = CVTM_STOP_GRADIENT;
  if (o->monitor && o->monitor(o->monitor_context, record)) r->stop = CVTM_STOP_REQUEST;
}

static double mean_decrease(const run *r) {
  double sum = 0;
  for (int k = 0; k < WINDOW; ++k) sum += r->decrease[k];
  return sum / WINDOW;
}

static void decide_lloyd_stop(run *r, double energy) {
  const cvtm_cvt_options *o = r->options;
  if (r->iterations > 0) {
    const double larger = fmax(fabs(r->last), fabs(energy));
    r->decrease[r->iterations % WINDOW] = larger > 0 ? (r->last - energy) / larger : 0;
  }
  r->last = energy;
  if (r->stop != CVTM_STOP_NONE) return;
  if (o->tolerance > 0 && r->iterations >= WINDOW && mean_decrease(r) <= o->tolerance)
    r->stop = CVTM_STOP_DECREASE;
  else if (o->max_iterations > 0 && r->iterations >= o->max_iterations)
    r->stop = CVTM_STOP_ITERATIONS;
  else if (o->max_seconds > 0 && now() - r->start >= o->max_seconds)
    r->stop = CVTM_STOP_TIME;
}

/* Evaluates the sites, moves them to their centroids, and so on: `steps` moves at most
 * (negative: no limit), the last state evaluated too. A site that is where it belongs to the last
 * bit ends the run, as does any stop; the best state met is kept in cvt->best. */
static cvtm_status run_lloyd(run *r, int64_t steps) {
  cvtm_cvt *cvt = r->e.cvt;
  const size_t bytes = 2 * (size_t)r->e.count * sizeof(double);
  for (;;) {
    double value[2];
    cvtm_status status = read_timed(r, cvt->sites, value);
    if (status != CVTM_OK) return status;
    if (!isfinite(value[0])) {
      return cvtm_fail(cvtm_device_error(cvt->device), CVTM_ERROR_EVALUATION,
                       "the energy is not finite after %lld iterations", (long long)r->iterations);
    }
    if (r->iterations == 0 || value[0] < r->best) {
      r->best = value[0];
      status = cvtm_device_copy(cvt->device, cvt->best, cvt->sites, bytes);
      if (status != CVTM_OK) return status;
    }
    const cvtm_cvt_record record = {r->e.count, r->iterations, value[0], value[1],
                                    r->iterations > 0 ? 1 : 0};
    report(r, &record);
    decide_lloyd_stop(r, value[0]);
    if (r->stop != CVTM_STOP_NONE || r->iterations == steps) return CVTM_OK;
    status = cvt->table->lloyd(cvt, cvt->sites, r->e.count, r->e.fixed);
    if (status != CVTM_OK) return status;
    ++r->iterations;
  }
}

static cvtm_status objective(void *context, const double *x, double *f, double *g, void *stream) {
  evaluation *e = context;
  (void)stream; /* the device's own */
  const double start = e->timed ? now() : 0;
  const cvtm_status status = enqueue_evaluation(e, x, f, g);
  if (e->timed) e->seconds += now() - start;
  return status;
}

static int watch(void *context, const cvtm_lbfgsb_progress *progress) {
  run *r = context;
  if (progress->iteration == 0) return 0; /* Lloyd's last state, recorded already */
  const cvtm_cvt_record record = {r->e.count, r->iterations + progress->iteration, progress->f,
                                  progress->measure, progress->step};
  report(r, &record);
  return r->stop != CVTM_STOP_NONE;
}

/* With y_i = x_i sqrt(2 m_i) the Hessian is near the identity. A site without mass has no
 * scale of its own and takes the mean's. */
static void fill_scale(const cvtm_cell_sums *sums, int64_t count, double *scale) {
  double mean = 0;
  for (int64_t i = 0; i < count; ++i) mean += sums[i].mass;
  mean /= (double)count;
  if (!(mean > 0)) mean = 1; /* pixel energy of sites that own no centre with density */
  for (int64_t i = 0; i < count; ++i) {
    const double mass = sums[i].mass > 0 ? fmax(sums[i].mass, 1e-6 * mean) : mean;
    scale[2 * i] = scale[2 * i + 1] = 1 / sqrt(2 * mass);
  }
}

static cvtm_status set_scaling(run *r, cvtm_lbfgsb *solver, double *host) {
  cvtm_cvt *cvt = r->e.cvt;
  cvtm_cell_sums *sums = NULL;
  cvtm_status status = read_sums(cvt, r->e.count, &sums);
  if (status != CVTM_OK) return status;
  fill_scale(sums, r->e.count, host);
  free(sums);
  status =
      cvtm_device_copy_in(cvt->device, cvt->scale, host, 2 * (size_t)r->e.count * sizeof(double));
  return status == CVTM_OK ? cvtm_lbfgsb_set_scaling(solver, cvt->scale) : status;
}

/* The domain's rectangle, no bounds on a torus; fixed sites have a box of one point.
 * `host` has room for 4 * count numbers. */
static cvtm_status set_bounds(run *r, cvtm_lbfgsb *solver, double *host, double *lower,
                              double *upper) {
  cvtm_cvt *cvt = r->e.cvt;
  const int64_t n = 2 * r->e.count;
  const size_t bytes = (size_t)n * sizeof(double);
  const double size[2] = {(double)cvt->domain.width, (double)cvt->domain.height};
  if (cvt->domain.periodic && r->e.fixed == 0) return CVTM_OK;
  double *low = host, *high = host + n;
  cvtm_status status = cvtm_device_copy_out(cvt->device, low, cvt->sites, bytes);
  if (status != CVTM_OK) return status;
  for (int64_t k = 0; k < n; ++k) {
    high[k] = low[k];
    if (k < 2 * r->e.fixed) continue;
    low[k] = cvt->domain.periodic ? -INFINITY : 0;
    high[k] = cvt->domain.periodic ? INFINITY : size[k % 2];
  }
  status = cvtm_device_copy_in(cvt->device, lower, low, bytes);
  if (status == CVTM_OK) status = cvtm_device_copy_in(cvt->device, upper, high, bytes);
  return status == CVTM_OK ? cvtm_lbfgsb_set_bounds(solver, lower, upper) : status;
}

static cvtm_status minimize(run *r, cvtm_lbfgsb *solver, double *host, double *bounds) {
  cvtm_cvt *cvt = r->e.cvt;
  cvtm_lbfgsb_result result;
  cvtm_status status = set_bounds(r, solver, host, bounds, bounds + 2 * r->e.count);
  if (status == CVTM_OK) status = set_scaling(r, solver, host);
  if (status == CVTM_OK)
    status = cvtm_lbfgsb_minimize(solver, cvt->sites, objective, &r->e, &result);
  if (status != CVTM_OK) return status;
  if (r->stop == CVTM_STOP_NONE) r->stop = result.stop;
  r->iterations += result.iterations;
  r->evaluations += result.evaluations;
  return CVTM_OK;
}

/* What Lloyd's steps left of the limits. */
static cvtm_status run_lbfgsb(run *r) {
  cvtm_cvt *cvt = r->e.cvt;
  const cvtm_cvt_options *o = r->options;
  const int64_t n = 2 * r->e.count;
  cvtm_lbfgsb_options options;
  cvtm_lbfgsb_defaults(&options);
  options.history = o->history;
  options.max_iterations = o->max_iterations > 0 ? o->max_iterations - r->iterations : 0;
  options.max_seconds = o->max_seconds > 0 ? fmax(o->max_seconds - (now() - r->start), 1e-9) : 0;
  options.decrease_tolerance = o->tolerance;
  options.monitor = watch;
  options.monitor_context = r;
  cvtm_lbfgsb *solver = NULL;
  double *bounds = NULL;
  double *host = malloc(2 * (size_t)n * sizeof *host);
  cvtm_status status = CVTM_OK;
  if (!host) status = cvtm_fail(cvtm_device_error(cvt->device), CVTM_ERROR_MEMORY, "no memory");
  if (status == CVTM_OK)
    status = cvtm_device_allocate(cvt->device, 2 * n, sizeof(double), (void **)&bounds);
  if (status == CVTM_OK) status = cvtm_lbfgsb_create(cvt->device, n, &options, &solver);
  cvt->solver = solver;
  if (status == CVTM_OK) status = minimize(r, solver, host, bounds);
  cvt->solver = NULL;
  cvtm_lbfgsb_destroy(solver);
  cvtm_device_free(cvt->device, bounds);
  free(host);
  return status;
}

const double *cvtm_cvt_current_sites(const cvtm_cvt *cvt) {
  return cvt->solver ? cvtm_lbfgsb_point(cvt->solver) : cvt->sites;
}

static double wrap(double x, double size) {
  const double wrapped = x - size * floor(x / size);
  return wrapped >= 0 && wrapped < size ? wrapped : 0;
}

/* Clamped into the rectangle, or wrapped into the period. */
static void move_inside(cvtm_domain domain, double *sites, int64_t count) {
  const double size[2] = {(double)domain.width, (double)domain.height};
  for (int64_t k = 0; k < 2 * count; ++k) {
    const double s = size[k % 2];
    sites[k] = domain.periodic ? wrap(sites[k], s) : fmin(fmax(sites[k], 0), s);
  }
}

/* Evaluates the final state, or that of Lloyd's method if it was better: a diagram that is
 * not exact can mislead a descent. */
static cvtm_status finish(run *r, double *sites, cvtm_cvt_result *result) {
  cvtm_cvt *cvt = r->e.cvt;
  const size_t bytes = 2 * (size_t)r->e.count * sizeof(double);
  double value[2];
  cvtm_cell_sums *sums = NULL;
  cvtm_status status = read_timed(r, cvt->sites, value);
  if (status == CVTM_OK && !(value[0] <= r->best)) {
    status = cvtm_device_copy(cvt->device, cvt->sites, cvt->best, bytes);
    if (status == CVTM_OK) status = read_timed(r, cvt->sites, value);
  }
  if (status == CVTM_OK) status = read_sums(cvt, r->e.count, &sums);
  if (status == CVTM_OK) status = cvtm_device_copy_out(cvt->device, sites, cvt->sites, bytes);
  if (status != CVTM_OK) {
    free(sums);
    return status;
  }
  move_inside(cvt->domain, sites, r->e.count);
  result->stop = r->stop;
  result->iterations = r->iterations;
  result->evaluations = r->evaluations;
  result->objective = value[0];
  result->gradient_norm = value[1];
  result->empty_cells = 0;
  for (int64_t i = 0; i < r->e.count; ++i) result->empty_cells += !(sums[i].mass > 0);
  free(sums);
  return CVTM_OK;
}

/* Where the evaluations run asynchronously inside the solver's loop, one more is timed
 * alone and stands for all. */
static cvtm_status take_times(run *r, cvtm_cvt_result *result) {
  result->seconds = now() - r->start;
  result->seconds_evaluation = r->e.seconds;
  if (!r->e.timed) {
    const double start = now();
    double value[2];
    const cvtm_status status = read_evaluation(&r->e, r->e.cvt->sites, value);
    if (status != CVTM_OK) return status;
    result->seconds_evaluation = (now() - start) * (double)r->evaluations;
  }
  result->seconds_evaluation = fmin(result->seconds_evaluation, result->seconds);
  result->seconds_optimizer = result->seconds - result->seconds_evaluation;
  return CVTM_OK;
}

static cvtm_status check_options(cvtm_cvt *cvt, const cvtm_cvt_options *o, int64_t count) {
  cvtm_error *error = cvtm_device_error(cvt->device);
  if (o->method != CVTM_CVT_LLOYD && o->method != CVTM_CVT_LBFGSB)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "unknown method %d", (int)o->method);
  if (o->history < 1 || o->history > CVTM_LBFGSB_MAX_HISTORY)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "a history of %d; 1 to %d", o->history,
                     CVTM_LBFGSB_MAX_HISTORY);
  if (o->fixed < 0 || o->fixed > count)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%lld fixed sites of %lld", (long long)o->fixed,
                     (long long)count);
  if (o->lloyd_steps < 0 || o->max_iterations < 0 || !(o->tolerance >= 0) ||
      !(o->gradient_tolerance >= 0) || !(o->max_seconds >= 0))
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "a limit or tolerance is negative");
  return CVTM_OK;
}

cvtm_status cvtm_cvt_optimize(cvtm_cvt *cvt, const cvtm_cvt_options *options, double *sites,
                              int64_t count, cvtm_cvt_result *result) {
  run r = {.options = options, .start = now(), .stop = CVTM_STOP_NONE};
  r.e = (evaluation){.cvt = cvt,
                     .count = count,
                     .fixed = options->fixed,
                     .energy = options->energy,
                     .voronoi = options->voronoi};
  const size_t bytes = 2 * (size_t)count * sizeof(double);
  cvtm_status status = check_sites(cvt, sites, count);
  if (status == CVTM_OK) status = check_options(cvt, options, count);
  if (status == CVTM_OK) status = start_evaluation(&r.e);
  if (status != CVTM_OK) return status;
  double *inside = malloc(bytes);
  if (!inside)
    return cvtm_fail(cvtm_device_error(cvt->device), CVTM_ERROR_MEMORY, "no memory for sites");
  memcpy(inside, sites, bytes);
  move_inside(cvt->domain, inside, count);
  status = cvtm_device_copy_in(cvt->device, cvt->sites, inside, bytes);

  cvtm_cvt_result found = {0};
  const int descend = options->method == CVTM_CVT_LBFGSB;
  if (status == CVTM_OK) status = run_lloyd(&r, descend ? options->lloyd_steps : -1);
  if (status == CVTM_OK && descend && r.stop == CVTM_STOP_NONE) status = run_lbfgsb(&r);
  if (status == CVTM_OK) status = finish(&r, inside, &found);
  if (status == CVTM_OK) status = take_times(&r, &found);
  if (status == CVTM_OK) {
    memcpy(sites, inside, bytes);
    if (result) *result = found;
  }
  free(inside);
  return status;
}

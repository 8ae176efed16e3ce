/* Many small calls of the library, over and over: results keep their bits, and what the process
 * holds does not grow. Every caller is a thread with a device of its own, which it opens and closes
 * in every round.
 *
 *   soak [--device NAME] [--seconds S] [--calls N] [--callers K]
 *
 * It ends after S seconds, or N calls where N is given. A failed call, a result that differs from
 * the first round's, or growth ends it with exit code 1. */
#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/npy.h"
#include "lcp/problems/complementarity.h"
#include "cvt/cvt.h"
#include "cvt/equal_mass.h"
#include "density/condition.h"
#include "lcp/hlcp.h"
#include "lcp/lcp.h"
#include "meshes/mesh_file.h"

#if CVTMESH_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif

enum {
  SIDE = 32,
  AREA = SIDE * SIDE,
  SITES = 50,
  VARIANTS = 4, /* rounds that differ, by seeds and densities */
  CALLERS_MAX = 64,
  SKIPPED = 77, /* no such device */
};

typedef struct settings {
  const char *device;
  double seconds;
  int64_t calls;
  int callers;
  char folder[64];
} settings;

typedef struct caller {
  const settings *set;
  int number;
  cvtm_device *device;
  uint64_t hash; /* of the results of this round */
} caller;

static atomic_llong calls_made;

static _Noreturn void end(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("soak: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  exit(EXIT_FAILURE);
}

static void check(const caller *c, cvtm_status status, const cvtm_error *error, const char *what) {
  atomic_fetch_add(&calls_made, 1);
  if (status == CVTM_OK) return;
  if (error == NULL) error = cvtm_device_error(c->device);
  end("%s: %s: %s", what, cvtm_status_text(status), error->message);
}

/* A call whose error is in the device's message, and one with an error of its own. */
#define CALL(c, call) check(c, call, NULL, #call)
#define CALL_WITH(c, error, call) check(c, call, error, #call)

/* FNV-1a */
static void add(caller *c, const void *bytes, size_t count) {
  const unsigned char *from = bytes;
  for (size_t k = 0; k < count; ++k) c->hash = (c->hash ^ from[k]) * 0x100000001b3U;
}

static void *room_for(size_t count, size_t size) {
  void *memory = calloc(count, size);
  if (memory == NULL) end("out of memory");
  return memory;
}

static void free_on_device(const caller *c, void *const *memory, int count) {
  for (int k = 0; k < count; ++k) cvtm_device_free(c->device, memory[k]);
}

/* --- what is called ------------------------------------------------------------------------- */

/* A ramp, steeper with every variant. */
static void fill_density(float *density, int variant) {
  for (int k = 0; k < AREA; ++k)
    density[k] = 1 + (float)variant * (float)(k % SIDE) / SIDE + (float)(k / SIDE) / SIDE;
}

static cvtm_cvt_options small_options(int variant, cvtm_cvt_energy energy) {
  cvtm_cvt_options options;
  cvtm_cvt_defaults(&options);
  options.max_iterations = 4;
  options.seed = (uint64_t)variant + 1;
  options.energy = energy;
  options.effort = variant % 2 == 0 ? CVTM_CVT_EFFORT_LOW : CVTM_CVT_EFFORT_NORMAL;
  return options;
}

/* A mesh of the sites, its quality, its cells, and a file of it that is read back. */
static void mesh(caller *c, const double *sites, cvtm_domain domain, int variant) {
  static const char *const formats[VARIANTS] = {"vtu", "msh", "vtu", "obj"};
  char path[128];
  cvtm_error error = {CVTM_OK, ""};
  cvtm_mesh made, back;
  cvtm_cells cells;
  cvtm_quality quality;
  const cvtm_mesh_file_options options = {.domain = domain};
  snprintf(path, sizeof path, "%s/%d.%s", c->set->folder, c->number, formats[variant]);
  CALL_WITH(c, &error, cvtm_delaunay(sites, SITES, &made, &error));
  CALL_WITH(c, &error, cvtm_cells_create(&made, domain, &cells, &error));
  CALL_WITH(c, &error, cvtm_quality_compute(&made, &domain, &quality, &error));
  CALL_WITH(c, &error, cvtm_mesh_write(path, &made, &options, &error));
  CALL_WITH(c, &error, cvtm_mesh_read(path, &back, &error));
  add(c, made.triangles, 3 * (size_t)made.triangle_count * sizeof *made.triangles);
  add(c, cells.corners, 2 * (size_t)cells.start[cells.count] * sizeof *cells.corners);
  add(c, &quality.all.mean_q, sizeof quality.all.mean_q);
  add(c, back.points, 2 * (size_t)back.vertex_count * sizeof *back.points);
  cvtm_mesh_free(&back);
  cvtm_cells_free(&cells);
  cvtm_mesh_free(&made);
}

static void tessellate(caller *c, int variant) {
  const cvtm_domain domain = {SIDE, SIDE, 0};
  float density[AREA];
  double sites[2 * SITES], weights[SITES], value = 0;
  cvtm_cvt *cvt = NULL;
  cvtm_cvt_result result;
  cvtm_equal_mass_result equal;
  fill_density(density, variant);
  CALL(c, cvtm_cvt_create(c->device, domain, density, SITES, &cvt));
  for (int energy = CVTM_CVT_EXACT; energy <= CVTM_CVT_PIXEL; ++energy) {
    const cvtm_cvt_options options = small_options(variant, (cvtm_cvt_energy)energy);
    CALL(c, cvtm_cvt_solve(cvt, &options, 0, sites, SITES, &result));
    CALL(c, cvtm_cvt_evaluate(cvt, sites, SITES, options.energy, CVTM_VORONOI_EXACT, &value, NULL));
    add(c, sites, sizeof sites);
    add(c, &value, sizeof value);
  }
  const cvtm_cvt_options options = small_options(0, CVTM_CVT_EXACT);
  CALL(c, cvtm_equal_mass_solve(cvt, &options, 1e-3, SITES, sites, weights, SITES, NULL, &equal));
  add(c, weights, sizeof weights);
  cvtm_cvt_destroy(cvt);
  mesh(c, sites, domain, variant);
}

static void label(caller *c, int variant) {
  static const cvtm_voronoi_method methods[VARIANTS] = {
      CVTM_VORONOI_EXACT, CVTM_VORONOI_JFA, CVTM_VORONOI_JFA_PLUS_1, CVTM_VORONOI_JFA_SQUARED};
  const cvtm_domain domain = {SIDE, SIDE, variant % 2};
  double sites[2 * SITES];
  int32_t labels[AREA];
  void *device_sites = NULL, *device_labels = NULL;
  cvtm_voronoi *voronoi = NULL;
  int64_t wrong = 0;
  for (int k = 0; k < 2 * SITES; ++k) sites[k] = (k * 37 + variant * 11) % (10 * SIDE) / 10.0;
  CALL(c, cvtm_voronoi_create(c->device, domain, SITES, &voronoi));
  CALL(c, cvtm_device_allocate(c->device, 2 * SITES, sizeof(double), &device_sites));
  CALL(c, cvtm_device_allocate(c->device, AREA, sizeof(int32_t), &device_labels));
  CALL(c, cvtm_device_copy_in(c->device, device_sites, sites, sizeof sites));
  CALL(c, cvtm_voronoi_compute(voronoi, device_sites, SITES, methods[variant], device_labels));
  CALL(c, cvtm_voronoi_correct(voronoi, device_labels, &wrong));
  CALL(c, cvtm_device_copy_out(c->device, labels, device_labels, sizeof labels));
  add(c, labels, sizeof labels);
  add(c, &wrong, sizeof wrong);
  free_on_device(c, (void *[]){device_sites, device_labels}, 2);
  cvtm_voronoi_destroy(voronoi);
}

/* Chained Rosenbrock. */
static double valley(void *context, const double *x, double *g) {
  const int n = *(const int *)context;
  double f = 0;
  memset(g, 0, (size_t)n * sizeof *g);
  for (int k = 0; k + 1 < n; ++k) {
    const double bend = x[k + 1] - x[k] * x[k], away = 1 - x[k];
    f += 100 * bend * bend + away * away;
    g[k] -= 400 * x[k] * bend + 2 * away;
    g[k + 1] += 200 * bend;
  }
  return f;
}

static void minimize(caller *c, int variant) {
  enum { MOST = 40 };
  int n = 10 * (variant + 1);
  double x[MOST], lower[MOST], upper[MOST];
  cvtm_lbfgsb_options options;
  cvtm_lbfgsb_result result;
  cvtm_lbfgsb_defaults(&options);
  options.max_iterations = 10;
  for (int k = 0; k < n; ++k) {
    x[k] = k % 2 ? 1 : -1.2;
    lower[k] = -2;
    upper[k] = k % 3 ? 2 : 0.5;
  }
  CALL(c, cvtm_lbfgsb_minimize_host(c->device, n, lower, upper, x, valley, &n, &options, &result));
  add(c, x, (size_t)n * sizeof *x);
}

static double *sent(caller *c, const double *from, int64_t count) {
  void *memory = NULL;
  CALL(c, cvtm_device_allocate(c->device, count, sizeof *from, &memory));
  CALL(c, cvtm_device_copy_in(c->device, memory, from, (size_t)count * sizeof *from));
  return memory;
}

static void obstacle(caller *c, int variant) {
  static const cvtm_lcp_method methods[VARIANTS] = {CVTM_LCP_AUTO, CVTM_LCP_PSOR, CVTM_LCP_TNNMG,
                                                    CVTM_LCP_PDAS};
  enum { NODES = 15 };
  cvtm_error error = {CVTM_OK, ""};
  cvtm_model_problem problem;
  cvtm_lcp_options options;
  cvtm_lcp_result result;
  cvtm_lcp *lcp = NULL;
  CALL_WITH(c, &error,
            cvtm_model_problem_create(CVTM_MODEL_TORSION, NODES, NODES, 1, &problem, &error));
  cvtm_lcp_defaults(&options);
  options.method = methods[variant];
  options.max_iterations = 10;
  const int64_t n = problem.matrix.rows;
  double *x = room_for((size_t)n, sizeof *x);
  CALL(c, cvtm_lcp_create(c->device, &problem.matrix, NODES, NODES, &options, &lcp));
  double *b = sent(c, problem.b, n), *lower = sent(c, problem.lower, n), *to = sent(c, x, n);
  CALL(c, cvtm_lcp_solve(lcp, b, lower, NULL, to, 0, &result));
  CALL(c, cvtm_device_copy_out(c->device, x, to, (size_t)n * sizeof *x));
  add(c, x, (size_t)n * sizeof *x);
  free_on_device(c, (void *[]){b, lower, to}, 3);
  cvtm_lcp_destroy(lcp);
  cvtm_model_problem_free(&problem);
  free(x);
}

static void split(caller *c, int variant) {
  cvtm_error error = {CVTM_OK, ""};
  cvtm_hlcp_problem problem;
  cvtm_hlcp_options options;
  cvtm_hlcp_result result;
  cvtm_hlcp *hlcp = NULL;
  CALL_WITH(c, &error, cvtm_hlcp_example(3, 8, &problem, &error));
  cvtm_hlcp_defaults(&options);
  options.omega = cvtm_hlcp_example_omega(3);
  options.splits = variant + 1;
  options.max_iterations = 10;
  const int64_t n = problem.a.rows;
  double *z = room_for((size_t)n, sizeof *z);
  CALL(c, cvtm_hlcp_create(c->device, &problem.a, &problem.b, &options, &hlcp));
  double *q = sent(c, problem.q, n), *to = sent(c, z, n), *w = sent(c, z, n);
  CALL(c, cvtm_hlcp_solve(hlcp, q, NULL, 0, to, w, &result));
  CALL(c, cvtm_device_copy_out(c->device, z, to, (size_t)n * sizeof *z));
  add(c, z, (size_t)n * sizeof *z);
  free_on_device(c, (void *[]){q, to, w}, 3);
  cvtm_hlcp_destroy(hlcp);
  cvtm_hlcp_problem_free(&problem);
  free(z);
}

/* Smoothing and grading, by way of a file. */
static void condition(caller *c, int variant) {
  const int64_t shape[2] = {SIDE, SIDE};
  char path[128];
  float ramp[AREA];
  double density[AREA];
  cvtm_error error = {CVTM_OK, ""};
  cvtm_npy array;
  cvtm_condition_options options;
  cvtm_condition_result result;
  cvtm_condition_defaults(&options);
  options.smooth = variant % 2 ? 4 : 0;
  options.grade = 4;
  fill_density(ramp, variant);
  snprintf(path, sizeof path, "%s/%d.npy", c->set->folder, c->number);
  CALL_WITH(c, &error, cvtm_npy_write(path, 'f', sizeof *ramp, 2, shape, ramp, &error));
  CALL_WITH(c, &error, cvtm_npy_read(path, &array, &error));
  for (int k = 0; k < AREA; ++k) density[k] = cvtm_npy_get(&array, k);
  cvtm_npy_free(&array);
  CALL(c, cvtm_density_condition(c->device, SIDE, SIDE, NULL, &options, density, &result));
  add(c, density, sizeof density);
}

/* A call that is refused leaves nothing behind. */
static void refuse(caller *c) {
  const cvtm_domain domain = {SIDE, SIDE, 0};
  static const float zero[AREA];
  cvtm_cvt *cvt = NULL;
  atomic_fetch_add(&calls_made, 1);
  if (cvtm_cvt_create(c->device, domain, zero, SITES, &cvt) != CVTM_ERROR_ARGUMENT)
    end("a density of zeros was not refused");
}

static uint64_t round_of(caller *c, int variant) {
  cvtm_error error = {CVTM_OK, ""};
  c->hash = 0xcbf29ce484222325U;
  CALL_WITH(c, &error, cvtm_device_create(c->set->device, 1 + c->number % 2, &c->device, &error));
  if (variant % 2) CALL(c, cvtm_device_share(c->device));
  tessellate(c, variant);
  label(c, variant);
  minimize(c, variant);
  obstacle(c, variant);
  split(c, variant);
  condition(c, variant);
  refuse(c);
  cvtm_device_destroy(c->device);
  c->device = NULL;
  return c->hash;
}

/* --- what the process holds ----------------------------------------------------------------- */

typedef struct holding {
  long resident;  /* bytes */
  long allocated; /* bytes of malloc, in use */
  long device;    /* bytes in use of the CUDA device, by everybody */
  long files;     /* open descriptors */
} holding;

/* What may come on top of what is held after the warm-up: resident pages and the caches of malloc
 * follow the order in which threads allocate. In 10^6 calls, some 10^4 rounds of two callers, a
 * leak of 50 bytes a round exceeds the bound of malloc. */
#if defined(__SANITIZE_ADDRESS__)
/* AddressSanitizer keeps what is freed, and finds leaks itself. */
static const holding slack = {512L << 20, 512L << 10, 64L << 20, 0};
#else
static const holding slack = {8L << 20, 512L << 10, 64L << 20, 0};
#endif

static long open_files(void) {
  long open = 0;
  for (int k = 0; k < 1024; ++k) open += dup2(k, k) == k;
  return open;
}

static holding measure(const char *device) {
  holding now = {0, 0, 0, open_files()};
  FILE *stream = fopen("/proc/self/statm", "r");
  long total = 0;
  if (stream == NULL || fscanf(stream, "%ld %ld", &total, &now.resident) != 2)
    end("/proc/self/statm: %s", strerror(errno));
  fclose(stream);
  now.resident *= sysconf(_SC_PAGESIZE);
  const struct mallinfo2 info = mallinfo2();
  now.allocated = (long)(info.uordblks + info.hblkhd);
  (void)device;
#if CVTMESH_HAVE_CUDA
  size_t unused = 0, whole = 0;
  if (strncmp(device, "cuda", 4) == 0 && cudaMemGetInfo(&unused, &whole) == cudaSuccess)
    now.device = (long)(whole - unused);
#endif
  return now;
}

static void compare(const char *what, long first, long now, long more) {
  if (now > first + more) end("%s grew from %ld to %ld, by more than %ld", what, first, now, more);
}

static void tell(const holding *held, double seconds) {
  printf("%8.0f s %10lld calls  resident %ld KiB  malloc %ld KiB  device %ld KiB  files %ld\n",
         seconds, (long long)atomic_load(&calls_made), held->resident >> 10, held->allocated >> 10,
         held->device >> 10, held->files);
  fflush(stdout);
}

/* --- rounds --------------------------------------------------------------------------------- */

typedef struct turn {
  caller caller;
  int variant;
  uint64_t hash;
} turn;

static void *take_turn(void *context) {
  turn *t = context;
  t->hash = round_of(&t->caller, t->variant);
  return NULL;
}

/* All callers at once, every one with another variant. */
static void at_once(turn *turns, int callers, int64_t number) {
  pthread_t threads[CALLERS_MAX];
  for (int k = 0; k < callers; ++k) {
    turns[k].variant = (int)((number + k) % VARIANTS);
    const int failed = pthread_create(&threads[k], NULL, take_turn, &turns[k]);
    if (failed) end("a thread: %s", strerror(failed));
  }
  for (int k = 0; k < callers; ++k) pthread_join(threads[k], NULL);
}

static double clock_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void soak(const settings *set) {
  enum { WARM = 3 * VARIANTS }; /* rounds before the first measurement */
  turn turns[CALLERS_MAX];
  uint64_t expected[VARIANTS];
  holding first = {0, 0, 0, 0}, now = first;
  for (int k = 0; k < set->callers; ++k) turns[k].caller = (caller){.set = set, .number = k};
  for (int v = 0; v < VARIANTS; ++v) expected[v] = round_of(&turns[0].caller, v);
  const double start = clock_now();
  double told = start;
  int64_t number = 0;
  for (int go_on = 1; go_on; ++number) {
    at_once(turns, set->callers, number);
    for (int k = 0; k < set->callers; ++k)
      if (turns[k].hash != expected[turns[k].variant])
        end("round %lld: caller %d has other results than the first round", (long long)number, k);
    const double time = clock_now();
    go_on = number < 2 * WARM ||
            (set->calls > 0 ? atomic_load(&calls_made) < set->calls : time - start < set->seconds);
    if (number < WARM) continue;
    now = measure(set->device);
    if (number == WARM) first = now;
    compare("resident memory", first.resident, now.resident, slack.resident);
    compare("memory of malloc", first.allocated, now.allocated, slack.allocated);
    compare("memory of the device", first.device, now.device, slack.device);
    compare("number of open files", first.files, now.files, slack.files);
    if (number == WARM || !go_on || time - told > 60) tell(&now, (told = time) - start);
  }
  printf("%lld rounds of %d callers: the same bits, and no growth\n", (long long)number,
         set->callers);
}

static _Noreturn void usage(void) {
  fputs("usage: soak [--device NAME] [--seconds S] [--calls N] [--callers K]\n", stderr);
  exit(2);
}

static void read_arguments(int count, char **argument, settings *set) {
  for (int k = 1; k < count; k += 2) {
    const char *name = argument[k], *value = argument[k + 1];
    if (value == NULL) usage();
    if (strcmp(name, "--device") == 0)
      set->device = value;
    else if (strcmp(name, "--seconds") == 0)
      set->seconds = atof(value);
    else if (strcmp(name, "--calls") == 0)
      set->calls = atoll(value);
    else if (strcmp(name, "--callers") == 0)
      set->callers = atoi(value);
    else
      usage();
  }
  if (set->callers < 1 || set->callers > CALLERS_MAX) usage();
}

static void remove_files(const char *folder) {
  static const char *const extensions[] = {"vtu", "msh", "obj", "npy"};
  char path[128];
  for (int k = 0; k < CALLERS_MAX; ++k)
    for (size_t e = 0; e < sizeof extensions / sizeof *extensions; ++e) {
      snprintf(path, sizeof path, "%s/%d.%s", folder, k, extensions[e]);
      (void)unlink(path);
    }
  if (rmdir(folder) != 0) end("%s: %s", folder, strerror(errno));
}

int main(int count, char **argument) {
  settings set = {.device = "cpu", .seconds = 3600, .callers = 2, .folder = "/tmp/soak-XXXXXX"};
  cvtm_device *device = NULL;
  cvtm_error error = {CVTM_OK, ""};
  read_arguments(count, argument, &set);
  const cvtm_status status = cvtm_device_create(set.device, 1, &device, &error);
  if (status != CVTM_OK) {
    fprintf(stderr, "soak: %s\n", error.message);
    return status == CVTM_ERROR_DEVICE_UNAVAILABLE ? SKIPPED : EXIT_FAILURE;
  }
  cvtm_device_destroy(device);
  if (mkdtemp(set.folder) == NULL) end("%s: %s", set.folder, strerror(errno));
  soak(&set);
  remove_files(set.folder);
  return EXIT_SUCCESS;
}

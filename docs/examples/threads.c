/* Several threads at once: each has a separate device handle, and gets the bits that it would get
 * alone. cc threads.c $(pkg-config --cflags --libs cvtmesh) -pthread -o threads */
#include <cvtmesh/cvtmesh.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 4, SIDE = 96, SITES = 200 };

typedef struct task {
  uint64_t seed;
  double sites[2 * SITES];
  cvtm_error error;
} task;

static void *solve(void *context) {
  task *t = context;
  static const cvtm_domain domain = {SIDE, SIDE, 0};
  float density[SIDE * SIDE];
  for (int k = 0; k < SIDE * SIDE; ++k) density[k] = 1.0F + (float)(k / SIDE);
  cvtm_device *device = NULL;
  cvtm_cvt *cvt = NULL;
  cvtm_cvt_options options;
  cvtm_cvt_result result;
  cvtm_cvt_defaults(&options);
  options.seed = t->seed;
  t->error.status = CVTM_OK;
  if (cvtm_device_create("cpu", 1, &device, &t->error)) return NULL;
  if (cvtm_cvt_create(device, domain, density, SITES, &cvt) ||
      cvtm_cvt_solve(cvt, &options, 0, t->sites, SITES, &result))
    t->error = *cvtm_device_error(device);
  cvtm_cvt_destroy(cvt);
  cvtm_device_destroy(device);
  return NULL;
}

int main(void) {
  static task together[THREADS], alone;
  pthread_t thread[THREADS];
  int wrong = 0;
  for (int k = 0; k < THREADS; ++k) {
    together[k].seed = (uint64_t)(k + 1);
    if (pthread_create(&thread[k], NULL, solve, &together[k])) return 1;
  }
  for (int k = 0; k < THREADS; ++k) pthread_join(thread[k], NULL);
  for (int k = 0; k < THREADS; ++k) {
    alone.seed = together[k].seed;
    solve(&alone);
    if (together[k].error.status != CVTM_OK) fprintf(stderr, "%s\n", together[k].error.message);
    wrong += together[k].error.status != CVTM_OK ||
             memcmp(alone.sites, together[k].sites, sizeof alone.sites) != 0;
  }
  printf("%d threads, %d results differ from those alone\n", THREADS, wrong);
  return wrong != 0;
}

/* Ranks that are threads of a test, each with a device handle of its own. */
#pragma once

#include <pthread.h>

#include "base/ranks.h"
#include "test_devices.h"

enum { MOST_RANKS = 4 };

static pthread_barrier_t thread_meeting;
static double *thread_parts[MOST_RANKS]; /* of each rank, between two meetings */
static int64_t thread_value;             /* of rank 0 */
static _Thread_local int own_rank;
static int rank_count;

static int thread_gather(double *all, const int64_t *counts) {
  thread_parts[own_rank] = all;
  pthread_barrier_wait(&thread_meeting);
  int64_t before = 0;
  for (int r = 0; r < rank_count; before += counts[r++])
    if (r != own_rank)
      memcpy(all + before, thread_parts[r] + before, (size_t)counts[r] * sizeof *all);
  pthread_barrier_wait(&thread_meeting);
  return 0;
}

static int thread_agree(int64_t *value) {
  if (own_rank == 0) thread_value = *value;
  pthread_barrier_wait(&thread_meeting);
  *value = thread_value;
  pthread_barrier_wait(&thread_meeting);
  return 0;
}

/* What a rank does, on a device that has ranks; context: that of run_ranks. */
typedef void (*rank_function)(cvtm_device *device, int rank, void *context);

typedef struct rank_thread {
  int rank;
  rank_function function;
  void *context;
} rank_thread;

static void *run_rank_thread(void *argument) {
  const rank_thread *thread = argument;
  cvtm_device *device = test_device_open_threads(1);
  const cvtm_ranks ranks = {thread->rank, rank_count, thread_gather, thread_agree, NULL};
  own_rank = thread->rank;
  cvtm_device_set_ranks(device, &ranks);
  thread->function(device, thread->rank, thread->context);
  cvtm_device_destroy(device);
  return NULL;
}

/* Runs `function` on 1 .. MOST_RANKS ranks side by side. */
static inline void run_ranks(int count, rank_function function, void *context) {
  pthread_t ids[MOST_RANKS];
  rank_thread threads[MOST_RANKS];
  rank_count = count;
  assert_int_equal(pthread_barrier_init(&thread_meeting, NULL, (unsigned)count), 0);
  for (int r = 0; r < count; ++r) {
    threads[r] = (rank_thread){r, function, context};
    assert_int_equal(pthread_create(&ids[r], NULL, run_rank_thread, &threads[r]), 0);
  }
  for (int r = 0; r < count; ++r) pthread_join(ids[r], NULL);
  pthread_barrier_destroy(&thread_meeting);
}

/* cvtmesh batch: many runs in one process. A lane is a thread that takes a job, reads its image,
 * borrows a device, and writes the files. There are more lanes than devices, so some lanes read and
 * write while others compute. */
#include "base/clock.h"
#include "base/device.h"
#include "base/text.h"
#include "cli/batch.h"
#include "cli/cli.h"
#include "run/job.h"
#include "run/files.h"
#include "cli/mpi_ranks.h"
#include "cli/options.h"
#include "run/output.h"
#include "run/json.h"
#include "cli/run.h"

#include <cjson/cJSON.h>

#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* --- devices, lent to jobs ---------------------------------------------------------------- */

enum {
  DEVICES_MAX = 64,
  NAME_SIZE = 24,
  RUNS_PER_GPU = 12, /* more runs at a time gain nothing (tests/bench/batch_throughput.py) */
};

typedef struct batch_devices {
  char name[DEVICES_MAX][NAME_SIZE];
  int count; /* number of devices */
  int runs;  /* handles per device */
  int threads;
  int is_cuda;
  cvtm_device **handle; /* handle[k] belongs to device k % count */
  int handles;          /* runs that can compute at the same time */
  cvtm_device **idle;   /* a ring buffer of handles that are not lent */
  int first, idle_count;
  pthread_mutex_t lock;
  pthread_cond_t returned;
} batch_devices;

static cvtm_status add_names(batch_devices *devices, const char *names, cvtm_error *error) {
  const int is_auto = strcmp(names, "auto") == 0;
  if (is_auto || strcmp(names, "all") == 0) {
    const int found = cvtm_cuda_count(NULL);
    while (devices->count < found && devices->count < DEVICES_MAX) {
      snprintf(devices->name[devices->count], NAME_SIZE, "cuda:%d", devices->count);
      ++devices->count;
    }
    if (devices->count == 0) strcpy(devices->name[devices->count++], is_auto ? "cpu" : "cuda");
    return CVTM_OK;
  }
  while (*names != '\0') {
    const size_t length = strcspn(names, ",");
    if (length == 0 || length >= NAME_SIZE || devices->count == DEVICES_MAX)
      return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--device: '%s' is not a list of devices",
                       names);
    memcpy(devices->name[devices->count++], names, length);
    names += length + (names[length] == ',');
  }
  return CVTM_OK;
}

static int available_threads(const cli_options *options) {
  return options->run.threads > 0 ? (int)options->run.threads : omp_get_num_procs();
}

/* The threads of the frame of a film that is solved. The other cores read and write other frames,
 * each of these in a lane with one thread. */
static int film_team(const cli_options *options) {
  const int available = available_threads(options);
  return available > 4 ? available / 4 : 1;
}

static int film_lanes(const cli_options *options) {
  enum { MOST = 16 };
  const int lanes = available_threads(options) - film_team(options) + 1;
  return lanes < MOST ? lanes : MOST;
}

/* Chooses handles and their threads. On the CPU many runs with one thread each use the cores best.
 * A run gets several threads only if there are fewer jobs than cores, or for a film, whose frames
 * are solved one after the other. */
static void share_out(batch_devices *devices, const cli_options *options, int64_t jobs) {
  const int available = available_threads(options);
  const int most = !devices->is_cuda       ? options->batch.follow ? 1 : available
                   : options->batch.follow ? 2
                                           : RUNS_PER_GPU;
  const int64_t needed = (jobs + devices->count - 1) / devices->count;
  devices->runs = options->batch.jobs > 0 ? (int)options->batch.jobs : most;
  if (needed < devices->runs) devices->runs = needed > 1 ? (int)needed : 1;
  devices->threads = available / devices->runs;
  if ((devices->is_cuda && !options->batch.follow) || devices->threads < 1) devices->threads = 1;
  devices->handles = devices->count * devices->runs;
}

static cvtm_status open_handles(batch_devices *devices, cvtm_error *error) {
  devices->handle = calloc((size_t)devices->handles, sizeof(cvtm_device *));
  devices->idle = calloc((size_t)devices->handles, sizeof(cvtm_device *));
  if (devices->handle == NULL || devices->idle == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for devices");
  cvtm_status status = CVTM_OK;
  for (int k = 0; k < devices->handles && status == CVTM_OK; ++k) {
    cvtm_device **handle = &devices->handle[k];
    status = cvtm_device_create(devices->name[k % devices->count], devices->threads, handle, error);
    if (status == CVTM_OK && (status = cvtm_device_share(*handle)) != CVTM_OK)
      (void)cvtm_fail(error, status, "%s", cvtm_device_error(*handle)->message);
    devices->idle[k] = *handle;
  }
  devices->idle_count = devices->handles;
  return status;
}

static void close_handles(batch_devices *devices) {
  for (int k = 0; devices->handle != NULL && k < devices->handles; ++k)
    cvtm_device_destroy(devices->handle[k]);
  free(devices->handle);
  free(devices->idle);
  devices->handle = devices->idle = NULL;
}

static void batch_devices_close(batch_devices *devices) {
  if (devices == NULL) return;
  close_handles(devices);
  pthread_cond_destroy(&devices->returned);
  pthread_mutex_destroy(&devices->lock);
  free(devices);
}

/* Opens the devices of --device: for `auto` and `all` every CUDA device; for `auto`, without one,
 * the CPU. jobs: an upper bound on the number of jobs. */
static cvtm_status batch_devices_open(const cli_options *options, int64_t jobs,
                                      batch_devices **result, cvtm_error *error) {
  /* with the default of 8 connections, further streams would wait for each other */
  (void)setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  batch_devices *devices = calloc(1, sizeof *devices);
  if (devices == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for devices");
  pthread_mutex_init(&devices->lock, NULL);
  pthread_cond_init(&devices->returned, NULL);
  cvtm_status status = add_names(devices, options->device, error);
  if (status == CVTM_OK) {
    devices->is_cuda = strncmp(devices->name[0], "cuda", 4) == 0;
    share_out(devices, options, jobs);
    status = open_handles(devices, error);
  }
  if (status != CVTM_OK && devices->is_cuda && strcmp(options->device, "auto") == 0) {
    close_handles(devices); /* CUDA devices exist, but this build or the driver cannot use them */
    devices->count = 1;
    devices->is_cuda = 0;
    strcpy(devices->name[0], "cpu");
    share_out(devices, options, jobs);
    status = open_handles(devices, error);
  }
  if (status == CVTM_OK)
    *result = devices;
  else
    batch_devices_close(devices);
  return status;
}

/* The number of lanes that keeps all devices busy. */
static int batch_devices_lanes(const batch_devices *devices) {
  return devices->is_cuda ? 2 * devices->handles : devices->handles + 1;
}

/* Waits until a handle is free. The handle that was returned first is lent first. */
static cvtm_device *batch_devices_lend(batch_devices *devices) {
  pthread_mutex_lock(&devices->lock);
  while (devices->idle_count == 0) pthread_cond_wait(&devices->returned, &devices->lock);
  cvtm_device *device = devices->idle[devices->first];
  devices->first = (devices->first + 1) % devices->handles;
  --devices->idle_count;
  pthread_mutex_unlock(&devices->lock);
  return device;
}

static void batch_devices_give_back(batch_devices *devices, cvtm_device *device) {
  pthread_mutex_lock(&devices->lock);
  devices->idle[(devices->first + devices->idle_count) % devices->handles] = device;
  ++devices->idle_count;
  pthread_cond_signal(&devices->returned);
  pthread_mutex_unlock(&devices->lock);
}

/* Adds the array `devices` with name, description and runs_at_a_time of each device. */
static void batch_devices_report(const batch_devices *devices, cJSON *report) {
  cJSON *array = cJSON_AddArrayToObject(report, "devices");
  for (int k = 0; k < devices->count; ++k) {
    cJSON *entry = run_json_item(array);
    run_json_device(entry, devices->handle[k]);
    run_json_integer(entry, "runs_at_a_time", devices->runs);
  }
}

enum { FAILURES_REPORTED = 1000 };

/* A job that is NOT_CONVERGED also counts as DONE or SKIPPED. */
typedef enum outcome { DONE, SKIPPED, FAILED, NOT_CONVERGED, OUTCOME_COUNT } outcome;

/* The work on which a lane spends time. The report gives the seconds of all lanes together. */
typedef enum stage { STAGE_READ, STAGE_WAIT, STAGE_SOLVE, STAGE_WRITE, STAGE_COUNT } stage;

/* --follow: the density of a frame, owned. */
typedef struct film_picture {
  cvtm_domain domain;
  float *density;
} film_picture;

typedef struct batch {
  const cli_options *options;
  batch_list *list;
  batch_journal *journal;
  batch_devices *devices;
  const cli_listener *listener; /* called by all lanes */
  char *journal_base;
  int64_t shard, shards; /* this shard has the jobs shard, shard + shards, ... */
  int64_t listed;        /* jobs in the list, of all shards */
  int64_t mine;          /* jobs of this shard */
  double start;
  struct {                /* --follow: the last frame that was solved, under the lock */
    run_film_frame frame; /* the sites of that frame; count 0: none yet */
    int64_t job;          /* the frame whose turn it is to be solved */
    int64_t read;         /* the frame whose turn it is to exchange the picture */
    film_picture picture; /* of the last frame that was read; used at that turn alone */
    double flatten, black, white, gamma; /* chosen by the first frame */
    cvtm_run_tone tone;
  } last;
  pthread_cond_t solved;     /* signalled when the next frame's turn comes */
  int visible;               /* a progress line is shown */
  pthread_mutex_t list_lock; /* protects the list and the next member */
  int64_t next;              /* number of the next job, among the jobs of this shard */

  pthread_mutex_t lock; /* protects the members below */
  pthread_cond_t ended; /* signalled when a lane has ended */
  int lanes;            /* lanes that have not ended */
  int stopped;          /* true: no further job starts */
  int code;             /* exit code of the failure that stopped the batch */
  int64_t count[OUTCOME_COUNT];
  double seconds[STAGE_COUNT];
} batch;

/* --- lanes ---------------------------------------------------------------------------- */

/* Ends the batch after a failure that other jobs would share. */
static void halt(batch *b, int code) {
  pthread_mutex_lock(&b->lock);
  b->stopped = 1;
  if (b->code == CLI_EXIT_OK) b->code = code;
  pthread_mutex_unlock(&b->lock);
}

static int stopped(batch *b) {
  pthread_mutex_lock(&b->lock);
  const int result = b->stopped;
  pthread_mutex_unlock(&b->lock);
  return result || cli_interrupted();
}

static void count(batch *b, outcome what) {
  pthread_mutex_lock(&b->lock);
  ++b->count[what];
  pthread_mutex_unlock(&b->lock);
}

/* Takes the next job that no other lane has taken; an earlier session may have done this job. *job
 * is NULL after the last job. */
static cvtm_status next_job(batch *b, batch_job **job, cvtm_error *error) {
  *job = NULL;
  if (b->next >= b->mine) return CVTM_OK;
  CVTM_TRY(batch_list_get(b->list, b->shard + b->next++ * b->shards, job, error));
  if (*job == NULL)
    return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: the list changed while the batch ran",
                     b->options->run.input.name);
  return CVTM_OK;
}

/* Takes the next job that is not done; NULL if none is left. */
static batch_job *take_job(batch *b, batch_key *key) {
  batch_job *job = NULL;
  cvtm_error error = {CVTM_OK, ""};
  pthread_mutex_lock(&b->list_lock);
  while (!stopped(b)) {
    const cvtm_status status = next_job(b, &job, &error);
    if (status != CVTM_OK) halt(b, cli_failed(CLI_READING, status, &error));
    if (job == NULL) break;
    *key = batch_job_key(job);
    const int code = batch_journal_code(b->journal, job, *key);
    if (code < 0) break;
    count(b, SKIPPED);
    if (code == CLI_EXIT_NOT_CONVERGED) count(b, NOT_CONVERGED);
    batch_job_free(job);
    job = NULL;
  }
  pthread_mutex_unlock(&b->list_lock);
  return job;
}

static void end_stage(batch *b, stage which, double *begin) {
  const double now = cvtm_clock();
  pthread_mutex_lock(&b->lock);
  b->seconds[which] += now - *begin;
  pthread_mutex_unlock(&b->lock);
  *begin = now;
}

static int solve_job(batch *b, const cli_progress *progress, cvtm_run *run, double *begin) {
  cvtm_device *device = batch_devices_lend(b->devices);
  end_stage(b, STAGE_WAIT, begin);
  const int code = cli_run_place(progress, run, device);
  batch_devices_give_back(b->devices, device);
  end_stage(b, STAGE_SOLVE, begin);
  return code;
}

/* Makes the mesh. Only a large mesh is made faster on a device than on the host. */
static cvtm_status mesh_job(batch *b, cvtm_run *run, cvtm_error *error) {
  if (!run_mesh_is_large(run)) return run_mesh(run, NULL, error);
  cvtm_device *device = batch_devices_lend(b->devices);
  const cvtm_status status = run_mesh(run, device, error);
  batch_devices_give_back(b->devices, device);
  return status;
}

/* turn: a member of b->last. */
static void wait_for_turn(batch *b, const int64_t *turn, int64_t job) {
  pthread_mutex_lock(&b->lock);
  while (*turn < job) pthread_cond_wait(&b->solved, &b->lock);
  pthread_mutex_unlock(&b->lock);
}

static void pass_turn(batch *b, int64_t *turn) {
  pthread_mutex_lock(&b->lock);
  ++*turn;
  pthread_cond_broadcast(&b->solved);
  pthread_mutex_unlock(&b->lock);
}

/* Waits until an earlier frame has chosen the number of dots and the tones for all frames, or until
 * it is this job's turn to choose them. */
static void choose_as_first(batch *b, const batch_job *job, cvtm_run_options *o) {
  pthread_mutex_lock(&b->lock);
  while (b->last.frame.count == 0 && b->last.job != (int64_t)job->index)
    pthread_cond_wait(&b->solved, &b->lock);
  if (b->last.frame.count > 0) {
    o->follow.continues = 1;
    o->init = (cvtm_input){.name = NULL};
    o->points = b->last.frame.count;
    if (b->last.tone == CVTM_RUN_TONE_CHOSEN) {
      o->flatten = b->last.flatten;
      o->black = b->last.black;
      o->white = b->last.white;
      o->gamma = b->last.gamma;
    }
  }
  pthread_mutex_unlock(&b->lock);
}

/* Keeps a frame for the start of the next one. */
static cvtm_status keep_last(batch *b, const cvtm_run *run, cvtm_error *error) {
  pthread_mutex_lock(&b->lock);
  if (run->options.tone == CVTM_RUN_TONE_CHOSEN) {
    b->last.tone = CVTM_RUN_TONE_CHOSEN;
    b->last.flatten = run->options.flatten;
    b->last.black = run->options.black;
    b->last.white = run->options.white;
    b->last.gamma = run->options.gamma;
  }
  const cvtm_status status = run_frame_keep(&run->frame, &b->last.frame, error);
  pthread_mutex_unlock(&b->lock);
  return status;
}

static cvtm_status copy_picture(const cvtm_run *run, film_picture *copy, cvtm_error *error) {
  const size_t bytes =
      (size_t)run->domain.width * (size_t)run->domain.height * sizeof *copy->density;
  *copy = (film_picture){run->domain, malloc(bytes)};
  if (copy->density == NULL) return cvtm_no_memory(error, "the picture of a frame");
  memcpy(copy->density, run->density, bytes);
  return CVTM_OK;
}

static cvtm_status check_size(cvtm_domain frame, cvtm_domain before, cvtm_error *error) {
  if (frame.width == before.width && frame.height == before.height) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_INPUT,
                   "the frame has %d x %d pixels, but the frame before %d x %d", frame.width,
                   frame.height, before.width, before.height);
}

/* Finds the motion from the frame before, while other lanes do the same for other frames. code: as
 * for solve_frame. A frame that cannot follow leaves the picture before to the next frame. */
static int find_motion(batch *b, int64_t job, int code, const cvtm_run *run, run_motion *motion) {
  cvtm_error error = {CVTM_OK, ""};
  film_picture own = {.density = NULL}, before = {.density = NULL};
  const int continues = run != NULL && run->options.follow.continues;
  if (code == CLI_EXIT_OK)
    code = cli_result(CLI_RUN, CLI_READING, copy_picture(run, &own, &error), &error);
  wait_for_turn(b, &b->last.read, job);
  if (code == CLI_EXIT_OK && continues)
    code = cli_result(CLI_RUN, CLI_READING, check_size(own.domain, b->last.picture.domain, &error),
                      &error);
  if (code == CLI_EXIT_OK) {
    before = b->last.picture;
    b->last.picture = own;
    own.density = NULL;
  }
  pass_turn(b, &b->last.read);
  if (code == CLI_EXIT_OK && continues)
    code = cli_result(CLI_RUN, CLI_READING,
                      run_motion_find(run->domain, before.density, run->density,
                                      run->count - run->fixed, motion, &error),
                      &error);
  free(own.density);
  free(before.density);
  return code;
}

/* Starts a frame from the one before, and solves it. */
static cvtm_status follow_last(batch *b, cvtm_run *run, const run_motion *motion,
                               cvtm_device *device, cvtm_error *error) {
  const int own_threads = omp_get_max_threads();
  cvtm_status status = CVTM_OK;
  omp_set_num_threads(film_team(b->options)); /* all other frames wait for this */
  if (run->options.follow.continues) status = run_follow(run, &b->last.frame, motion, error);
  omp_set_num_threads(own_threads);
  if (status == CVTM_OK) status = run_descend(run, device, error);
  return status == CVTM_OK ? keep_last(b, run, error) : status;
}

/* Solves a frame of a film when its turn comes. code: the exit code of reading the frame. With a
 * second handle the frame makes its plan while the frame before is solved. The next frame needs
 * only the sites, so its turn comes before they are evaluated. */
static int solve_frame(batch *b, const batch_job *job, const cli_progress *progress, int code,
                       cvtm_run *run, double *begin) {
  const int64_t turn = (int64_t)job->index, ahead = b->devices->handles > 1;
  cvtm_error error = {CVTM_OK, ""};
  cvtm_device *device = NULL;
  run_motion motion = {.side = 0};
  code = find_motion(b, turn, code, run, &motion);
  end_stage(b, STAGE_READ, begin);
  wait_for_turn(b, &b->last.job, turn - ahead);
  if (code == CLI_EXIT_OK) {
    device = batch_devices_lend(b->devices);
    code = cli_result(CLI_RUN, CLI_WORKING, run_plan(run, device, &error), &error);
  }
  wait_for_turn(b, &b->last.job, turn);
  end_stage(b, STAGE_WAIT, begin);
  if (code == CLI_EXIT_OK)
    code = cli_result(CLI_RUN, CLI_WORKING, follow_last(b, run, &motion, device, &error), &error);
  pass_turn(b, &b->last.job);
  run_motion_free(&motion);
  if (code == CLI_EXIT_OK) code = cli_run_place(progress, run, device);
  if (device != NULL) batch_devices_give_back(b->devices, device);
  end_stage(b, STAGE_SOLVE, begin);
  return code;
}

/* Runs all stages of a job. Returns CLI_EXIT_INTERRUPTED if the job was abandoned before it wrote a
 * file, CLI_EXIT_NOT_CONVERGED if it has written all files. */
static int run_stages(batch *b, batch_job *job) {
  double begin = cvtm_clock();
  cli_progress progress = {0};
  cvtm_run *run = NULL;
  cvtm_error error = {CVTM_OK, ""};
  if (b->options->batch.follow) choose_as_first(b, job, &job->options.run);
  int code = cli_outputs_check(&job->options);
  if (code == CLI_EXIT_OK) code = cli_run_create(&job->options, &progress, &run);
  if (code == CLI_EXIT_OK)
    code = cli_result(CLI_RUN, CLI_READING, run_read(run, NULL, &error), &error);
  end_stage(b, STAGE_READ, &begin);
  if (b->options->batch.follow)
    code = solve_frame(b, job, &progress, code, run, &begin);
  else if (code == CLI_EXIT_OK)
    code = solve_job(b, &progress, run, &begin);
  if (code == CLI_EXIT_OK) code = cli_result(CLI_RUN, CLI_WORKING, run_order(run, &error), &error);
  if (cli_interrupted()) code = CLI_EXIT_INTERRUPTED;
  if (code == CLI_EXIT_OK) {
    code = cli_result(CLI_RUN, CLI_WORKING, mesh_job(b, run, &error), &error);
    if (code == CLI_EXIT_OK) code = cli_run_write(&progress, run);
    if (code == CLI_EXIT_OK && !run_converged(run)) code = CLI_EXIT_NOT_CONVERGED;
    end_stage(b, STAGE_WRITE, &begin);
  }
  cvtm_run_destroy(run);
  return code;
}

static void tell(const batch *b, const batch_job *job, double seconds, const char *reason) {
  const char *input = job->options.run.input.name;
  const long long number = (long long)job->index + 1;
  if (b->listener != NULL) return; /* the listener reads the report instead */
  if (reason != NULL) {
    const int named = strncmp(reason, input, strlen(input)) == 0;
    fprintf(stderr, "%scvtmesh: job %lld: %s%s%s\n", b->visible ? "\r\033[K" : "", number,
            named ? "" : cli_visible(input), named ? "" : ": ", cli_visible(reason));
  } else if (b->options->verbose && !b->options->quiet) {
    fprintf(stderr, "job %lld: %s: %.2f seconds\n", number, cli_visible(input), seconds);
  }
}

/* Does a job. An error of the device ends the batch, since it would recur in every job; any other
 * error ends only this job. */
static void do_job(batch *b, batch_job *job, batch_key key) {
  cvtm_error error = {CVTM_OK, ""};
  cvtm_error message = {CVTM_OK, ""};
  const double start = cvtm_clock();
  (void)cli_capture_messages(&message);
  const int code = run_stages(b, job);
  (void)cli_capture_messages(NULL);
  if (code == CLI_EXIT_INTERRUPTED) return;
  const double seconds = cvtm_clock() - start;
  const int is_done = code == CLI_EXIT_OK || code == CLI_EXIT_NOT_CONVERGED;
  const char *reason = is_done ? NULL : message.message;
  if (!is_done && message.status == CVTM_ERROR_DEVICE) halt(b, code);
  tell(b, job, seconds,
       code == CLI_EXIT_NOT_CONVERGED && !b->options->quiet ? "not converged; the result is written"
                                                            : reason);
  count(b, is_done ? DONE : FAILED);
  if (code == CLI_EXIT_NOT_CONVERGED) count(b, NOT_CONVERGED);
  const cvtm_status status = batch_journal_add(b->journal, job, key, seconds, code, reason, &error);
  if (status != CVTM_OK) halt(b, cli_failed(CLI_WRITING, status, &error));
  if (reason != NULL && b->options->batch.fail_fast) halt(b, CLI_EXIT_FAILURE);
}

static void *lane(void *context) {
  batch *b = context;
  batch_key key;
  (void)cvtm_numeric_locale_enter(); /* for this thread, until its end */
  cli_listen(b->listener);
  omp_set_num_threads(b->options->batch.follow ? 1 : b->devices->threads);
  for (batch_job *job = take_job(b, &key); job != NULL; job = take_job(b, &key)) {
    do_job(b, job, key);
    batch_job_free(job);
  }
  pthread_mutex_lock(&b->lock);
  --b->lanes;
  pthread_cond_signal(&b->ended);
  pthread_mutex_unlock(&b->lock);
  return NULL;
}

/* --- progress ------------------------------------------------------------------------- */

static void print_batch_progress(const batch *b, const int64_t *counts) {
  const double elapsed = cvtm_clock() - b->start;
  const int64_t worked = counts[DONE] + counts[FAILED];
  const int64_t ended = worked + counts[SKIPPED];
  fprintf(stderr, "\r%lld of %s", (long long)ended, cli_count(b->mine, "job", "jobs"));
  if (counts[FAILED] > 0) fprintf(stderr, "  %lld failed", (long long)counts[FAILED]);
  if (worked > 0) {
    const double left = elapsed / (double)worked * (double)(b->mine - ended);
    fprintf(stderr, "  %.1f a second", (double)worked / elapsed);
    fprintf(stderr, "  %lld:%02lld left", (long long)left / 60, (long long)left % 60);
  }
  fputs("\033[K", stderr);
}

/* Shows the progress until all lanes have ended. */
static void watch_lanes(batch *b) {
  pthread_mutex_lock(&b->lock);
  while (b->lanes > 0) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 100000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&b->ended, &b->lock, &until);
    int64_t counts[OUTCOME_COUNT];
    memcpy(counts, b->count, sizeof counts);
    pthread_mutex_unlock(&b->lock);
    if (b->visible) print_batch_progress(b, counts);
    pthread_mutex_lock(&b->lock);
  }
  pthread_mutex_unlock(&b->lock);
  if (b->visible) fputs("\r\033[K", stderr);
}

static cvtm_status work(batch *b, cvtm_error *error) {
  const int wanted =
      b->options->batch.follow ? film_lanes(b->options) : batch_devices_lanes(b->devices);
  pthread_t *threads = calloc((size_t)wanted, sizeof *threads);
  if (threads == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for threads");
  cvtm_status status = CVTM_OK;
  b->lanes = wanted;
  int started = 0;
  while (started < wanted && pthread_create(&threads[started], NULL, lane, b) == 0) ++started;
  pthread_mutex_lock(&b->lock);
  b->lanes -= wanted - started;
  pthread_mutex_unlock(&b->lock);
  if (started == 0) status = cvtm_fail(error, CVTM_ERROR_MEMORY, "no thread can be started");
  watch_lanes(b);
  for (int k = 0; k < started; ++k) pthread_join(threads[k], NULL);
  free(threads);
  return status;
}

/* --- before the work -------------------------------------------------------------------- */

/* Parses --shard: I/N, or `slurm` for the variables of a job array. */
static cvtm_status read_shard(batch *b, cvtm_error *error) {
  const char *text = b->options->batch.shard;
  b->shards = 1;
  if (text == NULL) return CVTM_OK;
  char slurm[64];
  if (strcmp(text, "slurm") == 0) {
    const char *task = getenv("SLURM_ARRAY_TASK_ID"), *tasks = getenv("SLURM_ARRAY_TASK_COUNT");
    const char *least = getenv("SLURM_ARRAY_TASK_MIN"), *step = getenv("SLURM_ARRAY_TASK_STEP");
    if (task == NULL || tasks == NULL)
      return cvtm_fail(error, CVTM_ERROR_ARGUMENT,
                       "--shard slurm: this process is not a task of a Slurm array");
    const int64_t stride = step != NULL && atoll(step) > 0 ? atoll(step) : 1;
    snprintf(slurm, sizeof slurm, "%lld/%s",
             (long long)((atoll(task) - (least != NULL ? atoll(least) : 0)) / stride), tasks);
    text = slurm;
  }
  char *end = NULL;
  b->shard = strtoll(text, &end, 10);
  if (end != text && *end == '/') {
    const char *number = end + 1;
    b->shards = strtoll(number, &end, 10);
    if (end != number && *end == '\0' && b->shard >= 0 && b->shard < b->shards) return CVTM_OK;
  }
  return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "--shard: '%s' is not I/N with 0 <= I < N", text);
}

/* The files that the jobs and the batch itself read and write. */
typedef struct batch_files {
  batch_key_set written, read;
  int64_t job; /* the job whose files are being added, from 1; 0: the batch itself */
  cvtm_status status;
  cvtm_error *error;
} batch_files;

static cvtm_status refuse_file(const batch_files *files, cli_file_use use, const char *option,
                               const char *path) {
  char job[40] = "";
  if (files->job > 0) snprintf(job, sizeof job, "job %lld: ", (long long)files->job);
  return cvtm_fail(files->error, CVTM_ERROR_ARGUMENT, "%s%s: %s%s %s a file that %s", job, path,
                   option != NULL ? "--" : "", option != NULL ? option : "input",
                   use == CLI_FILE_READ ? "reads" : "writes",
                   use == CLI_FILE_READ ? "the batch writes" : "the batch reads or also writes");
}

/* A cli_file_visitor. A file with a single name is identified by that name alone: other processes
 * of the batch replace files meanwhile, and a new file may get a removed file's inode. */
static void add_file(void *context, cli_file_use use, const char *option, const char *path) {
  batch_files *files = context;
  const run_file_id id = run_file_id_of(path);
  if (files->status != CVTM_OK || !id.is_file) return;
  batch_key_set *own = use == CLI_FILE_READ ? &files->read : &files->written;
  const batch_key_set *other = use == CLI_FILE_READ ? &files->written : &files->read;
  const batch_key keys[2] = {id.name, id.inode};
  for (int k = 0; k < (id.is_linked ? 2 : 1) && files->status == CVTM_OK; ++k) {
    const int added = batch_key_set_add(own, keys[k]);
    if (added < 0)
      files->status = cvtm_fail(files->error, CVTM_ERROR_MEMORY, "out of memory for file names");
    else if (batch_key_set_has(other, keys[k]) || (added == 0 && use != CLI_FILE_READ))
      files->status = refuse_file(files, use, option, path);
  }
}

static cvtm_status check_own_files(const batch *b, batch_files *files) {
  cli_options_visit_files(b->options, add_file, files);
  if (b->options->batch.journal == NULL)
    add_file(files, CLI_FILE_WRITTEN, "journal", b->journal_base);
  return files->status;
}

/* Refuses a file that two jobs write, or that one job writes and another reads. */
static cvtm_status check_files(batch_files *files, const batch_job *job) {
  files->job = job->index + 1;
  cli_options_visit_files(&job->options, add_file, files);
  return files->status;
}

/* Reads the list to its end: counts the jobs, and checks their options and files. */
static cvtm_status check_list(batch *b, cvtm_error *error) {
  batch_files files = {.status = CVTM_OK, .error = error};
  batch_job *job = NULL;
  cvtm_status status = check_own_files(b, &files);
  if (status == CVTM_OK) status = batch_list_get(b->list, 0, &job, error);
  while (status == CVTM_OK && job != NULL) {
    status = check_files(&files, job);
    batch_job_free(job);
    if (status == CVTM_OK) status = batch_list_get(b->list, ++b->listed, &job, error);
  }
  batch_key_set_free(&files.written);
  batch_key_set_free(&files.read);
  b->mine = (b->listed - b->shard + b->shards - 1) / b->shards;
  return status == CVTM_OK ? batch_list_rewind(b->list, error) : status;
}

/* Makes the folder of a file, and missing folders above it. */
static cvtm_status make_folder(const char *path, cvtm_error *error) {
  struct stat found;
  char *folder = strdup(path), *last = folder != NULL ? strrchr(folder, '/') : NULL;
  if (folder == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path);
  cvtm_status status = CVTM_OK;
  if (last != NULL && last > folder) {
    *last = '\0';
    int reason = stat(folder, &found) == 0 ? 0 : errno;
    for (char *slash = folder; reason != 0 && slash != NULL;) {
      slash = strchr(slash + 1, '/');
      if (slash != NULL) *slash = '\0';
      if (mkdir(folder, 0777) != 0) reason = errno;
      if (slash != NULL) *slash = '/';
    }
    if (reason != 0 && stat(folder, &found) != 0)
      status = cvtm_fail(error, CVTM_ERROR_IO, "%s: the folder is missing and cannot be made: %s",
                         folder, strerror(reason));
  }
  free(folder);
  return status;
}

typedef struct folder_making {
  cvtm_status status;
  cvtm_error *error;
} folder_making;

/* A cli_file_visitor. */
static void make_folder_of(void *context, cli_file_use use, const char *option, const char *path) {
  folder_making *m = context;
  (void)option;
  if (use == CLI_FILE_WRITTEN && m->status == CVTM_OK) m->status = make_folder(path, m->error);
}

/* Makes the folders of the outputs. */
static cvtm_status make_folders(batch *b, cvtm_error *error) {
  const char *report = b->options->batch.report;
  cvtm_status status = CVTM_OK;
  if (report != NULL) status = make_folder(report, error);
  for (int64_t k = 0; k < b->mine && status == CVTM_OK; ++k) {
    batch_job *job = NULL;
    status = batch_list_get(b->list, b->shard + k * b->shards, &job, error);
    if (job == NULL) break;
    folder_making m = {CVTM_OK, error};
    cli_options_visit_files(&job->options, make_folder_of, &m);
    status = m.status;
    batch_job_free(job);
  }
  return status == CVTM_OK ? batch_list_rewind(b->list, error) : status;
}

/* The path of the journal, malloc'd: --journal, or a path made from the name of the list. */
static char *make_journal_base(const cli_options *options) {
  static const char plain[] = "cvtmesh-batch.journal";
  const char *list = options->run.input.name, *dot = strrchr(list, '.');
  if (options->batch.journal != NULL) return strdup(options->batch.journal);
  const int is_list = dot != NULL && strpbrk(list, "*?[") == NULL &&
                      (strcmp(dot, ".jsonl") == 0 || strcmp(dot, ".ndjson") == 0);
  if (!is_list) return strdup(plain);
  const size_t size = strlen(list) + sizeof ".journal";
  char *name = malloc(size);
  if (name != NULL) snprintf(name, size, "%s.journal", list);
  return name;
}

static cvtm_status open_journal(batch *b, cvtm_error *error) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  const int64_t session = ((int64_t)now.tv_sec << 20) + now.tv_nsec / 1000; /* exact in a double */
  char shard[40] = "";
  if (b->options->batch.shard != NULL)
    snprintf(shard, sizeof shard, ".shard%lld", (long long)b->shard);
  const size_t size = strlen(b->journal_base) + sizeof shard;
  char *path = malloc(size);
  if (path == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  snprintf(path, size, "%s%s", b->journal_base, shard);
  const cvtm_status status = batch_journal_open(path, b->journal_base, b->options->batch.resume,
                                                session, &b->journal, error);
  free(path);
  return status;
}

static int prepare_batch(batch *b) {
  cvtm_error error = {CVTM_OK, ""};
  b->journal_base = make_journal_base(b->options);
  cvtm_status status = CVTM_OK;
  if (b->journal_base == NULL) status = cvtm_fail(&error, CVTM_ERROR_MEMORY, "out of memory");
  if (status == CVTM_OK) status = read_shard(b, &error);
  if (status == CVTM_OK) status = batch_list_open(b->options, &b->list, &error);
  if (status == CVTM_OK) status = check_list(b, &error);
  if (status == CVTM_ERROR_ARGUMENT) return cli_usage_error(CLI_BATCH, "%s", error.message);
  if (status != CVTM_OK) return cli_failed(CLI_WORKING, status, &error);
  status = open_journal(b, &error);
  if (status == CVTM_OK) status = make_folders(b, &error);
  if (status != CVTM_OK) return cli_failed(CLI_WRITING, status, &error);
  return CLI_EXIT_OK;
}

/* --- after the work --------------------------------------------------------------------- */

static cvtm_status write_batch_report(const batch *b, double seconds, cvtm_error *error) {
  static const char *const stages[] = {"read", "wait", "solve", "write"};
  if (b->options->batch.report == NULL) return CVTM_OK;
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  cJSON *report = cJSON_CreateObject();
  run_json_text(report, "version", CVTMESH_VERSION);
  run_json_integer(report, "jobs", b->mine);
  run_json_integer(report, "done", b->count[DONE]);
  run_json_integer(report, "skipped", b->count[SKIPPED]);
  run_json_integer(report, "failed", b->count[FAILED]);
  run_json_integer(report, "not_converged", b->count[NOT_CONVERGED]);
  cJSON_AddBoolToObject(report, "interrupted", cli_interrupted() != 0);
  batch_devices_report(b->devices, report);
  run_json_text(report, "journal", b->journal_base);
  cJSON *times = cJSON_AddObjectToObject(report, "seconds");
  run_json_real(times, "total", seconds);
  for (int k = 0; k < STAGE_COUNT; ++k) run_json_real(times, stages[k], b->seconds[k]);
  run_json_real(report, "done_per_second", (double)b->count[DONE] / seconds);
  run_json_integer(report, "peak_memory", (int64_t)usage.ru_maxrss * 1024);
  cJSON *failures = cJSON_AddArrayToObject(report, "failures");
  cvtm_status status = CVTM_OK;
  if (b->count[FAILED] > 0)
    status = batch_journal_failures(b->journal, FAILURES_REPORTED, failures, error);
  if (status == CVTM_OK) return run_json_write(b->options->batch.report, report, error);
  cJSON_Delete(report);
  return status;
}

static void print_batch_summary(const batch *b, double seconds) {
  const batch_devices *on = b->devices;
  const int64_t left = b->mine - b->count[DONE] - b->count[SKIPPED] - b->count[FAILED];
  fprintf(stderr, "%s: %s on %d x %s (%s), %d %s at a time on each\n  done       %lld\n",
          cli_visible(b->options->run.input.name), cli_count(b->mine, "job", "jobs"), on->count,
          cvtm_device_name(on->handle[0]), cvtm_device_description(on->handle[0]), on->runs,
          cli_word(on->runs, "run", "runs"), (long long)b->count[DONE]);
  if (b->count[SKIPPED] > 0)
    fprintf(stderr, "  before     %lld, according to the journal\n", (long long)b->count[SKIPPED]);
  if (b->count[NOT_CONVERGED] > 0)
    fprintf(stderr, "  of these   %lld not converged\n", (long long)b->count[NOT_CONVERGED]);
  if (b->count[FAILED] > 0)
    fprintf(stderr, "  failed     %lld; the reasons are above and in %s\n",
            (long long)b->count[FAILED], cli_visible(b->journal_base));
  if (left > 0) fprintf(stderr, "  left       %lld; --resume does them\n", (long long)left);
  fprintf(stderr, "  seconds    %.2f, %.1f runs a second\n", seconds,
          (double)b->count[DONE] / seconds);
}

static int conclude(batch *b) {
  cvtm_error error = {CVTM_OK, ""};
  cvtm_status status = CVTM_OK;
  const double seconds = cvtm_clock() - b->start;
  if (b->devices != NULL) {
    if (!b->options->quiet) print_batch_summary(b, seconds);
    status = write_batch_report(b, seconds, &error);
  }
  if (status != CVTM_OK) return cli_failed(CLI_WRITING, status, &error);
  if (cli_interrupted()) return CLI_EXIT_INTERRUPTED;
  if (b->code != CLI_EXIT_OK) return b->code;
  if (b->count[FAILED] > 0) return CLI_EXIT_FAILURE;
  return b->count[NOT_CONVERGED] > 0 ? CLI_EXIT_NOT_CONVERGED : CLI_EXIT_OK;
}

static int perform_batch(batch *b) {
  CLI_TRY(prepare_batch(b));
  cvtm_error error = {CVTM_OK, ""};
  cli_catch_signals();
  /* a pipe without a reader then fails only the job that writes to it */
  if (b->listener == NULL) (void)signal(SIGPIPE, SIG_IGN);
  b->start = cvtm_clock();
  b->visible = !b->options->quiet && !b->options->verbose && isatty(STDERR_FILENO);
  cvtm_status status = batch_devices_open(b->options, b->mine, &b->devices, &error);
  if (status == CVTM_ERROR_ARGUMENT)
    halt(b, cli_usage_error(CLI_BATCH, "%s", error.message));
  else if (status != CVTM_OK || (status = work(b, &error)) != CVTM_OK)
    halt(b, cli_failed(CLI_WORKING, status, &error));
  return conclude(b);
}

int cli_batch(const cli_options *options) {
  batch b = {.options = options, .listener = cli_listening()};
  const int processes = mpi_ranks_launched();
  if (processes != 0 && processes != 1 && options->batch.shard == NULL)
    return cli_usage_error(CLI_BATCH,
                           "every process of mpirun would do all jobs; give each a part "
                           "by --shard I/N");
  if (options->batch.follow && (options->batch.resume || options->batch.shard != NULL))
    return cli_usage_error(CLI_BATCH,
                           "--follow makes the frames one after the other, so it goes neither with "
                           "--resume nor with --shard");
  pthread_mutex_init(&b.list_lock, NULL);
  pthread_mutex_init(&b.lock, NULL);
  pthread_cond_init(&b.ended, NULL);
  pthread_cond_init(&b.solved, NULL);
  const int code = perform_batch(&b);
  batch_devices_close(b.devices);
  batch_journal_close(b.journal);
  batch_list_close(b.list);
  pthread_cond_destroy(&b.ended);
  pthread_cond_destroy(&b.solved);
  pthread_mutex_destroy(&b.lock);
  pthread_mutex_destroy(&b.list_lock);
  free(b.journal_base);
  run_frame_free(&b.last.frame);
  free(b.last.picture.density);
  return code;
}

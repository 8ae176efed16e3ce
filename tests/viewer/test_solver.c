/* The solver's thread: every command, as its states show it. */
#include "base/device_kernels.h"
#include "test_devices.h"

#include "viewer/solver.h"

enum { SIDE = 64, COUNT = 60 };

typedef struct fixture {
  cvtm_device *device;
  cvtm_solver *solver;
  const cvtm_view_state *state;
  float density[SIDE * SIDE];
  double sites[2 * COUNT];
} fixture;

static const cvtm_device_table *own_table;
static cvtm_device_table faulty_table;
static int copies_left; /* until one fails */

static cvtm_status failing_copy_out(cvtm_device *device, void *to, const void *from, size_t bytes) {
  if (copies_left-- == 0)
    return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_DEVICE, "the copy failed");
  return own_table->copy_out(device, to, from, bytes);
}

/* copies: to the host, before one fails; -1: none fails. */
static void start_failing(fixture *f, int copies, int paused, int64_t fixed) {
  const cvtm_domain domain = {SIDE, SIDE, 0};
  memset(f, 0, sizeof *f);
  f->device = test_device_open();
  own_table = f->device->table;
  faulty_table = *own_table;
  faulty_table.copy_out = failing_copy_out;
  copies_left = copies;
  if (copies >= 0) f->device->table = &faulty_table;
  for (int p = 0; p < SIDE * SIDE; ++p) f->density[p] = 1;
  assert_ok(cvtm_cvt_sample(domain, f->density, COUNT, 3, CVTM_CVT_START_RANDOM, f->sites, NULL));
  cvtm_solver_options options = {.device = f->device,
                                 .domain = domain,
                                 .density = f->density,
                                 .sites = f->sites,
                                 .count = COUNT,
                                 .start = CVTM_CVT_START_RANDOM,
                                 .seed = 3,
                                 .paused = paused};
  cvtm_cvt_defaults(&options.cvt);
  options.cvt.fixed = fixed;
  assert_ok(cvtm_solver_start(&options, NULL, &f->solver, NULL));
}

static void start(fixture *f, int paused, int64_t fixed) { start_failing(f, -1, paused, fixed); }

static void stop(fixture *f) {
  assert_ok(cvtm_solver_error(f->solver, NULL));
  cvtm_solver_stop(f->solver);
  cvtm_device_destroy(f->device);
}

/* Sends, and waits for a state that has taken it in; fails only if that never comes. */
static void send(fixture *f, cvtm_solver_command command) {
  const uint64_t number = cvtm_solver_send(f->solver, &command);
  assert_true(number > 0);
  for (int k = 0; k < 6000; ++k) {
    if (cvtm_solver_take(f->solver, &f->state) && f->state->commands >= number) return;
    cvtm_solver_wait(f->solver, 0.01);
  }
  fail_msg("command %d was not taken in", (int)command.kind);
}

/* The newest state may be in the phase already: then no other need come. */
static void wait_for_phase(fixture *f, cvtm_view_phase phase) {
  for (int k = 0; k < 6000; ++k) {
    cvtm_solver_take(f->solver, &f->state);
    if (f->state != NULL && f->state->phase == phase) return;
    cvtm_solver_wait(f->solver, 0.01);
  }
  fail_msg("phase %d never came", (int)phase);
}

/* The start is evaluated and shown as it is. */
TEST(test_paused_start) {
  fixture f;
  start(&f, 1, 0);
  wait_for_phase(&f, CVTM_VIEW_PAUSED);
  assert_int_equal(f.state->count, COUNT);
  assert_int_equal(f.state->iteration, 0);
  assert_true(f.state->ratio > 1);
  assert_memory_equal(f.state->sites, f.sites, sizeof f.sites);
  stop(&f);
}

TEST(test_converges) {
  fixture f;
  start(&f, 0, 0);
  wait_for_phase(&f, CVTM_VIEW_CONVERGED);
  assert_true(f.state->iteration > 5);
  assert_true(f.state->ratio > 1 && f.state->ratio < 1.05);
  assert_true(f.state->gradient_norm < 0.1);
  const cvtm_view_history *h = &f.state->history;
  assert_true(h->count > 5 && h->ratio[h->count - 1] < h->ratio[0]);
  stop(&f);
}

TEST(test_pause_and_step) {
  fixture f;
  start(&f, 1, 0);
  wait_for_phase(&f, CVTM_VIEW_PAUSED);
  const double before = f.state->ratio;
  send(&f, (cvtm_solver_command){.kind = CVTM_SOLVE_STEP});
  while (f.state->iteration < 1) wait_for_phase(&f, CVTM_VIEW_PAUSED);
  assert_true(f.state->ratio < before);
  send(&f, (cvtm_solver_command){.kind = CVTM_SOLVE_PAUSE});
  wait_for_phase(&f, CVTM_VIEW_CONVERGED);
  assert_true(f.state->iteration > 1);
  stop(&f);
}

/* A held site stands where it is put, to the bit, and the others keep their numbers. */
TEST(test_hold) {
  fixture f;
  start(&f, 1, 0);
  wait_for_phase(&f, CVTM_VIEW_PAUSED);
  send(&f, (cvtm_solver_command){.kind = CVTM_SOLVE_HOLD, .site = 17, .x = 12.25, .y = 40.5});
  f.sites[34] = 12.25;
  f.sites[35] = 40.5;
  assert_memory_equal(f.state->sites, f.sites, sizeof f.sites);
  send(&f, (cvtm_solver_command){.kind = CVTM_SOLVE_PAUSE});
  wait_for_phase(&f, CVTM_VIEW_CONVERGED);
  assert_true(f.state->sites[34] == 12.25 && f.state->sites[35] == 40.5);
  assert_true(f.state->sites[0] != f.sites[0]);
  send(&f, (cvtm_solver_command){.kind = CVTM_SOLVE_LET_GO});
  wait_for_phase(&f, CVTM_VIEW_CONVERGED);
  assert_true(f.state->sites[34] != 12.25);
  stop(&f);
}

TEST(test_sites_come_and_go) {
  fixture f;
  start(&f, 1, 4);
  send(&f, (cvtm_solver_command){.kind = CVTM_SOLVE_ADD, .x = 5, .y = 70});
  assert_int_equal(f.state->count, COUNT + 1);
  assert_true(f.state->sites[2 * COUNT] == 5 && f.state->sites[2 * COUNT + 1] == SIDE);
  send(&f, (cvtm_solver_command){.kind = CVTM_SOLVE_DELETE, .site = 10});
  assert_int_equal(f.state->count, COUNT);
  assert_memory_equal(f.state->sites, f.sites, 20 * sizeof(double));
  assert_memory_equal(f.state->sites + 20, f.sites + 22, 2 * (COUNT - 11) * sizeof(double));
  send(&f, (cvtm_solver_command){.kind = CVTM_SOLVE_SCATTER, .site = 500});
  assert_int_equal(f.state->count, COUNT + 500);
  send(&f, (cvtm_solver_command){.kind = CVTM_SOLVE_SCATTER, .site = -100000});
  assert_int_equal(f.state->count, 4); /* the fixed ones stay */
  assert_memory_equal(f.state->sites, f.sites, 8 * sizeof(double));
  send(&f, (cvtm_solver_command){.kind = CVTM_SOLVE_DELETE, .site = 99});
  assert_int_equal(f.state->count, 4);
  stop(&f);
}

TEST(test_reseed_and_method) {
  fixture f;
  start(&f, 1, 2);
  send(&f, (cvtm_solver_command){.kind = CVTM_SOLVE_METHOD});
  assert_true(f.state->lloyd);
  send(&f, (cvtm_solver_command){.kind = CVTM_SOLVE_RESEED});
  assert_memory_equal(f.state->sites, f.sites, 4 * sizeof(double));
  assert_memory_not_equal(f.state->sites + 4, f.sites + 4, 2 * (COUNT - 2) * sizeof(double));
  assert_int_equal(f.state->iteration, 0);
  assert_int_equal(f.state->history.count, 1);
  stop(&f);
}

static void copy_density(void *context, const float *density, cvtm_domain domain) {
  memcpy(context, density, (size_t)domain.width * (size_t)domain.height * sizeof *density);
}

TEST(test_paint) {
  fixture f;
  float painted[SIDE * SIDE];
  uint64_t version = 0;
  start(&f, 1, 0);
  cvtm_solver_command dab = {.kind = CVTM_SOLVE_PAINT, .x = 32, .y = 32, .radius = 16};
  dab.brush = CVTM_BRUSH_SPARSE;
  send(&f, dab);
  cvtm_solver_visit_density(f.solver, &version, copy_density, painted);
  assert_true(painted[32 * SIDE + 32] < 0.75f && painted[0] == 1);
  dab.brush = CVTM_BRUSH_OBSTACLE;
  send(&f, dab);
  cvtm_solver_visit_density(f.solver, &version, copy_density, painted);
  assert_true(painted[32 * SIDE + 32] == 0 && painted[0] == 1);
  for (int64_t i = 0; i < f.state->count; ++i) {
    const int64_t x = (int64_t)fmin(f.state->sites[2 * i], SIDE - 1);
    const int64_t y = (int64_t)fmin(f.state->sites[2 * i + 1], SIDE - 1);
    assert_true(painted[y * SIDE + x] > 0);
  }
  /* The last of the density cannot be painted away. */
  dab.radius = 1000;
  send(&f, dab);
  const uint64_t seen = version;
  cvtm_solver_visit_density(f.solver, &version, copy_density, painted);
  assert_true(version == seen);
  send(&f, (cvtm_solver_command){.kind = CVTM_SOLVE_PAUSE});
  wait_for_phase(&f, CVTM_VIEW_CONVERGED);
  stop(&f);
}

/* Commands in a storm, and the end in the middle of it. */
TEST(test_storm) {
  fixture f;
  start(&f, 0, 0);
  for (int k = 0; k < 300; ++k) {
    const cvtm_solver_command command = {.kind = (cvtm_solver_command_kind)(k % 10),
                                         .site = k % 7,
                                         .x = k % SIDE,
                                         .y = (3 * k) % SIDE,
                                         .radius = 5,
                                         .brush = (cvtm_brush)(k % CVTM_BRUSH_COUNT)};
    assert_true(cvtm_solver_send(f.solver, &command) > 0);
  }
  stop(&f);
}

/* Whichever copy to the host fails, that of a state to be shown included, the solver ends and says
 * why: a state that is lost is no wish to stop. */
TEST(test_failed_copies) {
  for (int k = 0; k < 6; ++k) {
    fixture f;
    cvtm_error error = {CVTM_OK, ""};
    start_failing(&f, k, 0, 0);
    for (int wait = 0; wait < 6000 && cvtm_solver_error(f.solver, &error) == CVTM_OK; ++wait) {
      (void)cvtm_solver_take(f.solver, &f.state);
      cvtm_solver_wait(f.solver, 0.01);
    }
    assert_int_equal(error.status, CVTM_ERROR_DEVICE);
    assert_string_equal(error.message, "the copy failed");
    cvtm_solver_stop(f.solver);
    cvtm_device_destroy(f.device);
  }
}

TEST(test_no_sites) {
  cvtm_error error = {CVTM_OK, ""};
  cvtm_solver *solver = NULL;
  const cvtm_solver_options options = {.count = 0};
  assert_refused(cvtm_solver_start(&options, NULL, &solver, &error));
}

TEST_MAIN()

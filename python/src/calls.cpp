/* Calls that Python can interrupt: a thread of a pool does the work, and the calling thread waits
 * for it. A solver polls for a request to stop only between its iterations. If the work of an
 * interrupted call does not stop soon, it continues alone, so that KeyboardInterrupt never waits
 * for it. */
#include "python/src/core.h"

#include <omp.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

namespace {

using namespace std::chrono_literals;
constexpr auto SIGNALS_EVERY = 20ms;
constexpr auto PATIENCE = 80ms; /* after Ctrl-C, before the work continues alone */

struct Call {
  std::function<void()> work;
  std::shared_ptr<void> owner;
  int64_t threads = 0;
  bool has_callback = false;

  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::exception_ptr error;
  /* An iteration that waits for the callback's answer; NULL: none. */
  const cvtm_cvt_record *record = nullptr;
  double bound = 0;
};

/* --- in the thread of the work ------------------------------------------------------------------
 */

thread_local Call *current;

/* Passes the record to the calling thread, and waits until the callback has returned. */
int iteration(void *context, const cvtm_cvt_record *record, double bound) {
  Call *call = static_cast<Call *>(context);
  if (!call->has_callback) return call->stop;
  std::unique_lock<std::mutex> lock(call->mutex);
  call->record = record;
  call->bound = bound;
  call->changed.notify_all();
  call->changed.wait(lock, [&] { return call->record == nullptr || call->stop; });
  call->record = nullptr;
  return call->stop;
}

int asked_to_stop(void *context) { return static_cast<Call *>(context)->stop; }

/* The thread that waits for the call may destroy it as soon as `done` is set. */
void carry_out(Call *call) {
  const cli_listener listener = {call, iteration, asked_to_stop};
  std::exception_ptr error;
  current = call;
  cli_listen(&listener);
  try {
    call->work();
  } catch (...) {
    error = std::current_exception();
  }
  cli_listen(nullptr);
  current = nullptr;
  std::lock_guard<std::mutex> lock(call->mutex);
  call->error = error;
  call->done = true;
  call->changed.notify_all();
}

/* --- the pool: its threads, and the threads of their OpenMP teams, are kept --- */

struct Worker {
  std::mutex mutex;
  std::condition_variable given;
  Call *call = nullptr;
};

struct Pool {
  std::mutex mutex;
  std::vector<Worker *> idle;
};

Pool *pool = new Pool; /* never freed: workers live longer than static objects */

void run_worker(Worker *worker, Pool *home) {
  const int threads = omp_get_max_threads();
  for (;;) {
    Call *call;
    {
      std::unique_lock<std::mutex> lock(worker->mutex);
      worker->given.wait(lock, [&] { return worker->call != nullptr; });
      call = worker->call;
      worker->call = nullptr;
    }
    omp_set_num_threads(call->threads > 0 ? static_cast<int>(call->threads) : threads);
    carry_out(call);
    std::lock_guard<std::mutex> lock(home->mutex);
    home->idle.push_back(worker);
  }
}

void give(Call *call) {
  Worker *worker = nullptr;
  {
    std::lock_guard<std::mutex> lock(pool->mutex);
    if (!pool->idle.empty()) {
      worker = pool->idle.back();
      pool->idle.pop_back();
    }
  }
  if (worker == nullptr) {
    worker = new Worker;
    std::thread(run_worker, worker, pool).detach();
  }
  std::lock_guard<std::mutex> lock(worker->mutex);
  worker->call = call;
  worker->given.notify_one();
}

/* A forked process has no threads of its parent. */
void forget_workers() { pool = new Pool; }

/* --- in the calling thread, with the GIL
 * ---------------------------------------------------------- */

using Calls = std::vector<std::unique_ptr<Call>>;
Calls *left_alone = new Calls; /* their owners hold Python objects: changed only with the GIL */

bool is_done(Call &call) {
  std::lock_guard<std::mutex> lock(call.mutex);
  return call.done;
}

void drop_done() {
  Calls running, finished;
  for (auto &call : *left_alone) (is_done(*call) ? finished : running).push_back(std::move(call));
  *left_alone = std::move(running);
}

void wait_for_all(double seconds) {
  const auto start = std::chrono::steady_clock::now();
  const std::chrono::duration<double> limit(seconds);
  while (drop_done(), !left_alone->empty() && std::chrono::steady_clock::now() - start < limit) {
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    nb::gil_scoped_release release;
    std::this_thread::sleep_for(SIGNALS_EVERY);
  }
}

enum class Event { done, record, none };

Event wait_for_event(Call &call, std::chrono::milliseconds time) {
  nb::gil_scoped_release release;
  std::unique_lock<std::mutex> lock(call.mutex);
  call.changed.wait_for(lock, time, [&] { return call.done || call.record != nullptr; });
  return call.done ? Event::done : call.record != nullptr ? Event::record : Event::none;
}

void answer(Call &call, bool stop) {
  nb::gil_scoped_release release;
  std::lock_guard<std::mutex> lock(call.mutex);
  call.record = nullptr;
  if (stop) call.stop = true;
  call.changed.notify_all();
}

bool call_back(const Call &call, nb::handle callback) {
  const cvtm_cvt_record &record = *call.record;
  nb::dict figures;
  figures["iteration"] = record.iteration;
  figures["energy"] = record.energy;
  figures["energy_ratio"] = record.energy / call.bound;
  figures["gradient_norm"] = record.gradient_norm;
  figures["step"] = record.step;
  return nb::cast<bool>(nb::bool_(callback(figures)));
}

/* Waits until the work is done. A Python exception asks the work to stop, and is thrown. */
void attend(Call &call, nb::handle callback) {
  for (;;) {
    const Event event = wait_for_event(call, SIGNALS_EVERY);
    if (event == Event::done) return;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (event == Event::record) answer(call, call_back(call, callback));
  }
}

}  // namespace

int interrupted(void *) { return current != nullptr && current->stop; }

void perform(std::shared_ptr<void> owner, const std::function<void()> &work, nb::handle callback,
             int64_t threads) {
  drop_done();
  auto call = std::make_unique<Call>();
  call->work = work;
  call->owner = std::move(owner);
  call->threads = threads;
  call->has_callback = !callback.is_none();
  give(call.get());
  try {
    attend(*call, callback);
  } catch (...) {
    answer(*call, true);
    const auto end = std::chrono::steady_clock::now() + PATIENCE;
    while (wait_for_event(*call, SIGNALS_EVERY) != Event::done)
      if (std::chrono::steady_clock::now() > end) {
        left_alone->push_back(std::move(call));
        break;
      }
    throw;
  }
  if (call->error) std::rethrow_exception(call->error);
}

void bind_calls(nb::module_ &module) {
  pthread_atfork(nullptr, nullptr, forget_workers);
  module.def("wait", &wait_for_all, nb::arg("seconds") = HUGE_VAL,
             "Waits for the work of interrupted calls, at most for this many seconds.");
}

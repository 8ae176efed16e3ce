/* Declarations for the files of the extension: arguments of commands, calls that can be
 * interrupted, and errors. */
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

extern "C" {
#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/option_table.h"
#include "meshes/mesh.h"
}

namespace nb = nanobind;

/* A failure of the library, which becomes the Python exception for its status. */
struct Failure : std::exception {
  Failure(cvtm_status s, const std::string &text) : status(s), message(text) {}
  const char *what() const noexcept override { return message.c_str(); }
  cvtm_status status;
  std::string message;
};

/* While this object lives, the thread reads and prints numbers as in the C locale, as commands of
 * the program expect, and messages name options as keywords. */
struct Language {
  Language() = default;
  Language(const Language &) = delete;
  ~Language() {
    cvtm_option_style_use(style);
    cvtm_numeric_locale_leave(locale);
  }
  const cvtm_numeric_locale locale = cvtm_numeric_locale_enter();
  const cvtm_option_style style = cvtm_option_style_use(CVTM_OPTION_KEYWORDS);
};

/* Throws a Failure unless the status is CVTM_OK. */
void check(cvtm_status status, const cvtm_error *error);

/* The name of an option and its value: a flag, a number, a text, or a tuple of parts. A part is a
 * number, a word, or an array with its name. */
using Value = std::pair<std::string, nb::object>;
using Inputs = std::vector<std::pair<std::string, nb::bytes>>; /* paths and files in memory */
using Figures = nb::typed<nb::dict, nb::str, nb::any>;

template <typename T>
using Array = nb::ndarray<nb::numpy, T>;

/* The options of one command, and the arrays and files in memory that they name. Holds Python
 * objects, so it must be created and destroyed with the GIL. */
class Arguments {
 public:
  /* operand: None, a path, or an array with its name. outputs: the paths of files that remain in
   * memory; arrays: the paths of files of which only the elements are kept. */
  Arguments(const std::string &command, nb::handle operand, const std::vector<Value> &values,
            const Inputs &inputs, const std::vector<std::string> &outputs,
            const std::vector<std::string> &arrays = {});
  ~Arguments();
  Arguments(const Arguments &) = delete;

  /* Sets options of `to`, whose strings and arrays live as long as this object. Needs the GIL. */
  void set(cli_options *to, const std::vector<Value> &values);
  /* Runs a stage of a command. If the stage returns a code other than CLI_EXIT_OK, throws a Failure
   * with its message; a batch with failed jobs has no message. */
  void stage(const std::function<int()> &work);
  /* Runs a function of the library as a stage. */
  void stage(const std::function<cvtm_status(cvtm_error *)> &work);
  /* Returns the options `made` with other options of the outputs. Needs the GIL. */
  cli_options ask(const cvtm_run_options &made, const std::vector<Value> &values);
  /* Checks the files of such options, then writes them; only one call at a time. */
  void save(cli_options *asked, const std::function<cvtm_status(cvtm_error *)> &write);
  nb::bytes output(size_t index) const;
  /* Takes element `index` of `arrays`, without a copy; once for each. */
  nb::object take_array(size_t index);

  cli_options options;

 private:
  [[noreturn]] void fail(cvtm_status status, const std::string &message) const;
  cvtm_status set_one(cli_options *to, int row, nb::handle value, cvtm_error *error);
  cli_part part_of(nb::handle value);
  const char *keep(const std::string &text) { return strings_.emplace_back(text).c_str(); }
  const cvtm_npy *borrow(nb::handle array, const std::string &name);

  std::mutex saving_;
  std::deque<std::string> strings_;
  std::deque<Py_buffer> buffers_;
  std::deque<cvtm_npy> arrays_, made_;
  std::vector<cvtm_memory_file> inputs_;
  std::vector<cvtm_memory_output> outputs_;
  cvtm_memory_files files_;
};

/* Runs `work` in a separate thread, without the GIL, while the calling thread answers signals and
 * calls `callback` (None, or a function of a dict that returns true to stop) for each iteration of
 * `run`. Ctrl-C stops the work and raises KeyboardInterrupt. Work that does not stop soon continues
 * alone; at exit the program waits for it for a while. The call keeps `owner` alive, which must
 * hold all objects that the work uses. */
void perform(std::shared_ptr<void> owner, const std::function<void()> &work, nb::handle callback,
             int64_t threads);

/* perform for an object with options `arguments` and a function `run`. */
template <typename Work>
void solve(const std::shared_ptr<Work> &work) {
  Work *w = work.get();
  perform(
      work, [w] { w->run(); }, nb::none(), w->arguments.options.run.threads);
}

/* perform for a function that owns all objects that it uses. */
template <typename Work>
void perform(Work work) {
  const auto held = std::make_shared<Work>(std::move(work));
  perform(
      held, [w = held.get()] { (*w)(); }, nb::none(), 0);
}

/* True in the thread of a call that was interrupted. */
int interrupted(void *);

/* Makes a new array with a copy of the elements. */
template <typename T>
Array<T> copy_array(const T *from, std::initializer_list<size_t> shape) {
  size_t count = 1;
  for (size_t side : shape) count *= side;
  T *data = new T[count + 1];
  if (count > 0) std::copy(from, from + count, data);
  nb::capsule owner(data, [](void *p) noexcept { delete[] static_cast<T *>(p); });
  return Array<T>(data, shape, owner);
}

using Names = std::vector<std::tuple<std::string, int32_t, int>>; /* name, tag, dimension */
/* The groups of a mesh: of points, edges, triangles. */
Names names_of(const cvtm_regions &regions);
/* Makes a string of the text of a report, and frees the text. */
nb::str report_text(char *text);

void bind_options(nb::module_ &module);
void bind_calls(nb::module_ &module);
void bind_run(nb::module_ &module);
void bind_outline(nb::module_ &module);
void bind_on_device(nb::module_ &module);
void bind_equal_mass(nb::module_ &module);
void bind_lcp(nb::module_ &module);
void bind_minimize(nb::module_ &module);
void bind_triangulate(nb::module_ &module);

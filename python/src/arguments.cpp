/* Turns names, values and buffers into the options of a command. */
#include "python/src/core.h"

#include <cstdlib>

namespace {

/* The name of the argument that a file in memory belongs to: image of <image>.npy. */
std::string label(const std::string &path) {
  const size_t end = path.find('>');
  return end == std::string::npos ? path : path.substr(1, end - 1);
}

int row_of(cli_command command, std::string name) {
  for (char &c : name)
    if (c == '_') c = '-';
  return cli_option_find(command, name.c_str());
}

void free_memory(void *memory) noexcept { free(memory); }

void replace_all(std::string &text, const std::string &from, const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

}  // namespace

Arguments::Arguments(const std::string &command, nb::handle operand,
                     const std::vector<Value> &values, const Inputs &inputs,
                     const std::vector<std::string> &outputs,
                     const std::vector<std::string> &arrays) {
  const cli_command found = cli_command_find(command.c_str());
  if (found == CLI_COMMAND_COUNT) throw nb::value_error("there is no such command");
  for (const auto &[path, bytes] : inputs) {
    const std::string &contents = strings_.emplace_back(bytes.c_str(), bytes.size());
    inputs_.push_back({keep(path), contents.data(), contents.size()});
  }
  for (const std::string &path : outputs) outputs_.push_back({keep(path), nullptr, 0, nullptr});
  for (const std::string &path : arrays)
    outputs_.push_back({keep(path), nullptr, 0, &made_.emplace_back(cvtm_npy{})});
  files_ = {inputs_.data(), outputs_.data(), inputs_.size(), outputs_.size()};
  cli_options_set_defaults(found, &options);
  options.quiet = 1;
  if (nb::isinstance<nb::str>(operand)) {
    options.run.input.name = keep(nb::cast<std::string>(operand));
  } else if (!operand.is_none()) {
    const std::string name = nb::cast<std::string>(operand[0]);
    options.run.input = {keep(name), borrow(operand[1], name)};
  }
  set(&options, values);
}

Arguments::~Arguments() {
  for (Py_buffer &buffer : buffers_) PyBuffer_Release(&buffer);
  for (cvtm_memory_output &file : outputs_) free(file.bytes);
  for (cvtm_npy &array : made_) cvtm_npy_free(&array);
  cli_options_free(&options);
}

/* array: kind and bytes of an element, shape, and an object with a buffer or None. */
const cvtm_npy *Arguments::borrow(nb::handle array, const std::string &name) {
  const nb::tuple shape = nb::cast<nb::tuple>(array[2]);
  const nb::object memory = array[3];
  if (shape.size() > CVTM_NPY_MAX_DIMENSIONS)
    throw Failure(CVTM_ERROR_INPUT, name + ": more than 4 dimensions");
  cvtm_npy &made = arrays_.emplace_back(cvtm_npy{});
  made.kind = nb::cast<std::string>(array[0])[0];
  made.item = nb::cast<int>(array[1]);
  made.dimensions = static_cast<int>(shape.size());
  made.count = 1;
  for (size_t k = 0; k < shape.size(); ++k)
    made.count *= made.shape[k] = nb::cast<int64_t>(nb::object(shape[k]));
  if (memory.is_none()) return &made;
  if (PyObject_GetBuffer(memory.ptr(), &buffers_.emplace_back(), PyBUF_SIMPLE) != 0) {
    buffers_.pop_back();
    throw nb::python_error();
  }
  made.data = buffers_.back().buf;
  return &made;
}

cli_part Arguments::part_of(nb::handle value) {
  if (nb::isinstance<nb::str>(value)) return {keep(nb::cast<std::string>(value)), nullptr, 0};
  if (!nb::isinstance<nb::tuple>(value)) return {nullptr, nullptr, nb::cast<double>(value)};
  const std::string name = nb::cast<std::string>(nb::object(value[0]));
  return {keep(name), borrow(value[1], name), 0};
}

cvtm_status Arguments::set_one(cli_options *to, int row, nb::handle value, cvtm_error *error) {
  if (nb::isinstance<nb::bool_>(value) || nb::isinstance<nb::int_>(value))
    return cli_option_set_integer(to, row, nb::cast<int64_t>(value), error);
  if (nb::isinstance<nb::float_>(value))
    return cli_option_set_real(to, row, nb::cast<double>(value), error);
  if (nb::isinstance<nb::str>(value))
    return cli_option_set_row(to, row, keep(nb::cast<std::string>(value)), error);
  std::vector<cli_part> parts;
  for (nb::handle part : nb::borrow<nb::tuple>(value)) parts.push_back(part_of(part));
  return cli_option_set_parts(to, row, parts.data(), static_cast<int>(parts.size()), error);
}

void Arguments::set(cli_options *to, const std::vector<Value> &values) {
  const Language language;
  cvtm_error error = {CVTM_OK, ""};
  for (const auto &[name, value] : values) {
    const int row = row_of(to->command, name);
    if (row < 0) throw nb::value_error(("there is no option " + name).c_str());
    const cvtm_status status = set_one(to, row, value, &error);
    options.kept = to->kept;
    if (status != CVTM_OK) fail(status, error.message);
  }
}

void Arguments::fail(cvtm_status status, const std::string &message) const {
  std::string text = message;
  for (const cvtm_memory_file &file : inputs_) replace_all(text, file.path, label(file.path));
  throw Failure(status, text);
}

void Arguments::stage(const std::function<int()> &work) {
  const Language language;
  cvtm_error message = {CVTM_OK, ""};
  cvtm_memory_files_use(&files_);
  cli_capture_messages(&message);
  const int code = work();
  cli_capture_messages(nullptr);
  cvtm_memory_files_use(nullptr);
  if (code == CLI_EXIT_OK || code == CLI_EXIT_NOT_CONVERGED || code == CLI_EXIT_INTERRUPTED) return;
  if (code == CLI_EXIT_FAILURE && message.status == CVTM_OK) return;
  fail(message.status, message.message);
}

void Arguments::stage(const std::function<cvtm_status(cvtm_error *)> &work) {
  const Language language;
  cvtm_error error = {CVTM_OK, ""};
  cvtm_memory_files_use(&files_);
  const cvtm_status status = work(&error);
  cvtm_memory_files_use(nullptr);
  if (status != CVTM_OK)
    fail(status, error.message[0] != '\0' ? error.message : cvtm_status_text(status));
}

cli_options Arguments::ask(const cvtm_run_options &made, const std::vector<Value> &values) {
  cli_options asked = options;
  asked.run = made;
  cli_options_clear_written(&asked);
  set(&asked, values);
  return asked;
}

void Arguments::save(cli_options *asked, const std::function<cvtm_status(cvtm_error *)> &write) {
  std::lock_guard<std::mutex> lock(saving_);
  cli_progress none = {};
  cli_progress_attach(&none, asked);
  stage([&] { return cli_files_check(asked); });
  stage([&] { return cli_outputs_check(asked); });
  stage(write);
}

nb::bytes Arguments::output(size_t index) const {
  const cvtm_memory_output &file = outputs_.at(index);
  return nb::bytes(file.bytes != nullptr ? file.bytes : "", file.size);
}

nb::object Arguments::take_array(size_t index) {
  cvtm_npy &array = made_.at(index);
  std::vector<size_t> shape(array.shape, array.shape + array.dimensions);
  nb::capsule owner(array.storage != nullptr ? array.storage : malloc(1), free_memory);
  array.storage = nullptr;
  const nb::dlpack::dtype_code code = array.kind == 'f'   ? nb::dlpack::dtype_code::Float
                                      : array.kind == 'i' ? nb::dlpack::dtype_code::Int
                                      : array.kind == 'u' ? nb::dlpack::dtype_code::UInt
                                                          : nb::dlpack::dtype_code::Bool;
  const nb::dlpack::dtype type = {static_cast<uint8_t>(code), static_cast<uint8_t>(8 * array.item),
                                  1};
  return nb::cast(
      nb::ndarray<nb::numpy>(array.data, shape.size(), shape.data(), owner, nullptr, type));
}

/* --- the option table, for signatures and docstrings -------------------------------------------
 */

namespace {

nb::object text_or_none(const char *text) {
  return text != nullptr ? nb::object(nb::str(text)) : nb::none();
}

nb::object default_of(const cli_option_row &row, const cli_options &options) {
  const void *field = cli_option_field_const(&row, &options);
  switch (row.type) {
    case CLI_FLAG:
      return nb::bool_(*static_cast<const int *>(field) != 0);
    case CLI_INTEGER:
      return nb::int_(*static_cast<const int64_t *>(field));
    case CLI_REAL:
      return nb::float_(*static_cast<const double *>(field));
    case CLI_CHOICE:
    case CLI_SWITCH:
      return text_or_none(cli_choice_name(row.choices, *static_cast<const int *>(field)));
    case CLI_TEXT:
      return text_or_none(*static_cast<const char *const *>(field));
    case CLI_SOURCE:
      return nb::none();
    case CLI_LIST:
      break;
  }
  return nb::tuple();
}

const char *type_name(cli_option_type type) {
  switch (type) {
    case CLI_FLAG:
      return "flag";
    case CLI_INTEGER:
      return "integer";
    case CLI_REAL:
      return "real";
    case CLI_CHOICE:
      return "choice";
    case CLI_SWITCH:
      return "switch";
    case CLI_TEXT:
      return "text";
    case CLI_SOURCE:
      return "source";
    case CLI_LIST:
      break;
  }
  return "list";
}

/* Lists a dict for each option of the command, in the order of the table. */
nb::typed<nb::list, Figures> options_of(const std::string &name) {
  const cli_command command = cli_command_find(name.c_str());
  if (command == CLI_COMMAND_COUNT) throw nb::value_error("there is no such command");
  cli_options defaults;
  cli_options_set_defaults(command, &defaults);
  nb::list rows;
  for (int index = 0; index < cli_option_row_count; ++index) {
    const cli_option_row &row = cli_option_rows[index];
    if (!cli_option_applies(index, command)) continue;
    nb::list choices;
    for (const cli_choice *choice = row.choices; choice != nullptr && choice->name; ++choice)
      choices.append(nb::str(choice->name));
    nb::dict entry;
    entry["name"] = nb::str(row.name);
    entry["type"] = nb::str(type_name(row.type));
    entry["default"] = default_of(row, defaults);
    entry["choices"] = choices;
    entry["help"] = nb::str(row.help);
    entry["argument"] = row.argument != nullptr ? nb::object(nb::str(row.argument)) : nb::none();
    entry["reads"] = nb::bool_(row.file >= CLI_READS && row.file < CLI_WRITES);
    entry["writes"] = nb::bool_(row.file >= CLI_WRITES);
    rows.append(entry);
  }
  return nb::typed<nb::list, Figures>(rows);
}

/* The text of a value with parts. */
std::string option_text(const std::string &command, const std::string &name, nb::object value) {
  const Arguments made(command, nb::none(), {{name, value}}, {}, {});
  const cli_option_row &row = cli_option_rows[row_of(made.options.command, name)];
  const void *field = cli_option_field_const(&row, &made.options);
  return row.type == CLI_LIST ? static_cast<const cvtm_run_list *>(field)->item[0]
                              : *static_cast<const char *const *>(field);
}

}  // namespace

void bind_options(nb::module_ &module) {
  module.def("options", &options_of, nb::arg("command"),
             "The options of a command of the program, in the order of its table.");
  module.def("option_text", &option_text, nb::arg("command"), nb::arg("name"), nb::arg("value"),
             "A value with parts as the command line has it.");
}

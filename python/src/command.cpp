/* A whole command of the program, its files in memory. */
#include "python/src/core.h"

namespace {

/* Returns the contents of `outputs`, as arrays of bytes. */
std::vector<Array<uint8_t>> command(const std::string &name,
                                    const std::optional<std::string> &operand,
                                    const std::vector<Value> &values, const Inputs &inputs,
                                    const std::vector<std::string> &outputs) {
  auto arguments = std::make_shared<Arguments>(name, operand, values, inputs, outputs);
  Arguments *a = arguments.get();
  perform(
      arguments, [a] { a->stage([a] { return cli_command_run(&a->options); }); }, nb::none(),
      a->options.threads);
  std::vector<Array<uint8_t>> contents;
  for (size_t k = 0; k < outputs.size(); ++k) contents.push_back(a->take_output(k));
  return contents;
}

}  // namespace

void bind_command(nb::module_ &module) {
  module.def("command", &command, nb::arg("name"), nb::arg("operand").none(), nb::arg("values"),
             nb::arg("inputs"), nb::arg("outputs"),
             "Runs a command of the program and returns the bytes of the files `outputs`.");
}

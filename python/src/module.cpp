/* cvtmesh._core: the functions that the Python package calls. They convert arguments and results;
 * all logic is in the library and in the commands of the program. */
#include "python/src/core.h"

extern "C" {
#include "run/json.h"
#include "density/density.h"
#include "meshes/mesh.h"
}

#include <cerrno>
#include <cstring>

void check(cvtm_status status, const cvtm_error *error) {
  if (status == CVTM_OK) return;
  throw Failure(status, error->message[0] != '\0' ? error->message : cvtm_status_text(status));
}

namespace {

/* True if a message of the library ends with the text of the errno `number`. */
bool ends_with(const std::string &message, int number) {
  const std::string text = std::string(": ") + strerror(number);
  return message.size() > text.size() &&
         message.compare(message.size() - text.size(), text.size(), text) == 0;
}

PyObject *exception_of(cvtm_status status, const std::string &message) {
  if (ends_with(message, ENOENT)) return PyExc_FileNotFoundError;
  if (ends_with(message, EACCES)) return PyExc_PermissionError;
  if (ends_with(message, EISDIR)) return PyExc_IsADirectoryError;
  switch (status) {
    case CVTM_ERROR_ARGUMENT:
    case CVTM_ERROR_USAGE:
    case CVTM_ERROR_INPUT:
      return PyExc_ValueError;
    case CVTM_ERROR_MEMORY:
      return PyExc_MemoryError;
    case CVTM_ERROR_IO:
      return PyExc_OSError;
    case CVTM_ERROR_UNSUPPORTED:
      return PyExc_NotImplementedError;
    case CVTM_ERROR_EVALUATION:
      return PyExc_FloatingPointError;
    default:
      return PyExc_RuntimeError;
  }
}

#if !CVTMESH_SOLVERS_ALONE
using Bytes = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/* Reads the luminance, or the data, of a file in memory. */
Array<float> read_image(const Bytes &contents) {
  struct Read {
    ~Read() { cvtm_image_free(&image); }
    cvtm_image image = {};
  };
  const auto read = std::make_shared<Read>();
  const cvtm_image &image = read->image;
  perform([read, contents] {
    cvtm_error error = {CVTM_OK, ""};
    check(cvtm_image_parse(contents.data(), contents.size(), "image", &read->image, &error),
          &error);
  });
  return copy_array(image.value,
                    {static_cast<size_t>(image.height), static_cast<size_t>(image.width)});
}

/* --- a command of the program, with its files in memory --- */

/* Returns the contents of `outputs`, then the arrays of `arrays`. */
nb::typed<nb::list, nb::any> command(const std::string &name, nb::object operand,
                                     const std::vector<Value> &values, const Inputs &inputs,
                                     const std::vector<std::string> &outputs,
                                     const std::vector<std::string> &arrays) {
  auto arguments = std::make_shared<Arguments>(name, operand, values, inputs, outputs, arrays);
  Arguments *a = arguments.get();
  perform(
      arguments, [a] { a->stage([a] { return cli_command_run(&a->options); }); }, nb::none(),
      a->options.run.threads);
  nb::list made;
  for (size_t k = 0; k < outputs.size(); ++k) made.append(a->output(k));
  for (size_t k = 0; k < arrays.size(); ++k) made.append(a->take_array(k));
  return nb::typed<nb::list, nb::any>(made);
}

/* --- Delaunay triangulations of given points --- */

using Points = nb::ndarray<const double, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;

Array<int32_t> delaunay(const Points &points) {
  struct Mesh : cvtm_mesh {
    Mesh() : cvtm_mesh{} {}
    ~Mesh() { cvtm_mesh_free(this); }
  };
  auto mesh = std::make_shared<Mesh>();
  perform([mesh, points] {
    cvtm_error error = {CVTM_OK, ""};
    const int64_t count = static_cast<int64_t>(points.shape(0));
    check(cvtm_delaunay(points.data(), count, mesh.get(), &error), &error);
  });
  return copy_array(mesh->triangles, {static_cast<size_t>(mesh->triangle_count), 3});
}
#endif

}  // namespace

NB_MODULE(_core, module) {
  /* at exit PyTorch may still hold results, with the cells that their gradients need */
  nb::set_leak_warnings(false);
  static PyObject *device_error;
  const std::string name = nb::cast<std::string>(module.attr("__name__")) + ".DeviceError";
  device_error = PyErr_NewException(name.c_str(), PyExc_RuntimeError, nullptr);
  module.attr("DeviceError") = nb::handle(device_error);
  nb::register_exception_translator([](const std::exception_ptr &p, void *) {
    try {
      std::rethrow_exception(p);
    } catch (const Failure &failure) {
      PyErr_SetString(failure.status == CVTM_ERROR_DEVICE_UNAVAILABLE
                          ? device_error
                          : exception_of(failure.status, failure.message),
                      failure.message.c_str());
    }
  });
  module.attr("version") = CVTMESH_VERSION;
  module.attr("max_side") = static_cast<int>(CVTM_MAX_SIDE);
  module.def(
      "cuda_devices", [] { return cvtm_cuda_count(nullptr); },
      "The number of CUDA devices that can be used.");
  module.attr("solvers_alone") = nb::bool_(CVTMESH_SOLVERS_ALONE != 0);
  bind_options(module);
  bind_calls(module);
  bind_lcp(module);
  bind_minimize(module);
#if !CVTMESH_SOLVERS_ALONE
  run_json_start();
  module.def("read_image", &read_image, nb::arg("contents"),
             "The luminance of a picture, or the values of data, float32.");
  module.def("command", &command, nb::arg("name"), nb::arg("operand").none(), nb::arg("values"),
             nb::arg("inputs"), nb::arg("outputs"), nb::arg("arrays") = std::vector<std::string>(),
             "Runs a command of the program and returns the bytes of the files `outputs` and the "
             "arrays that it would write to the files `arrays`.");
  module.def("delaunay", &delaunay, nb::arg("points"),
             "The triangles of the Delaunay triangulation of points (n, 2), float64.");
  bind_run(module);
  bind_outline(module);
  bind_equal_mass(module);
  bind_on_device(module);
  bind_triangulate(module);
#endif
}

/* A device, and vectors in its memory. */
#pragma once

#include "python/src/core.h"

#include <cstdlib>
#include <cstring>

/* Frees an object that a function of the library has created. */
template <auto destroy>
struct Destroys {
  template <typename T>
  void operator()(T *made) const {
    destroy(made);
  }
};
template <typename T, auto destroy>
using Owner = std::unique_ptr<T, Destroys<destroy>>;

/* A vector in the memory of the host or of a device, of any framework. */
using Numbers = nb::ndarray<const double, nb::ndim<1>, nb::c_contig>;

class OnDevice {
 public:
  OnDevice() = default;
  ~OnDevice() {
    for (double *each : vectors_) cvtm_device_free(device, each);
    cvtm_device_destroy(device);
  }
  OnDevice(const OnDevice &) = delete;

  /* Opens the device by the options `device` and `threads` of a command. */
  void open(Arguments &arguments) {
    arguments.stage([&] { return cli_open_device(&arguments.options, &device); });
  }
  void require(cvtm_status status) { check(status, cvtm_device_error(device)); }

  /* Allocates n numbers on the device, uninitialised or copied from the host. They live until
   * `drop`, or as long as this object. */
  double *vector(int64_t n, const double *from = nullptr) {
    void *memory = nullptr;
    require(cvtm_device_allocate(device, n, sizeof(double), &memory));
    double *made = static_cast<double *>(memory);
    vectors_.push_back(made);
    if (from != nullptr) require(cvtm_device_copy_in(device, made, from, bytes_of(n)));
    return made;
  }
  /* The numbers of an array: on the device in place, or a copy of those on the host. */
  const double *numbers(const Numbers &array) {
    const bool host = array.device_type() == nb::device::cpu::value;
    return host ? vector(static_cast<int64_t>(array.size()), array.data()) : array.data();
  }
  void drop(double *vector) {
    for (size_t k = 0; k < vectors_.size(); ++k)
      if (vectors_[k] == vector) vectors_.erase(vectors_.begin() + static_cast<ptrdiff_t>(k--));
    cvtm_device_free(device, vector);
  }
  std::vector<double> host(const double *from, int64_t n) {
    std::vector<double> to(static_cast<size_t>(n));
    require(cvtm_device_copy_out(device, to.data(), from, bytes_of(n)));
    return to;
  }

  bool is_cuda() const { return cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA; }
  int ordinal() const {
    const char *colon = strchr(cvtm_device_name(device), ':');
    return colon != nullptr ? atoi(colon + 1) : 0;
  }
  uintptr_t stream() const { return reinterpret_cast<uintptr_t>(cvtm_device_stream(device)); }

  static size_t bytes_of(int64_t n) { return static_cast<size_t>(n) * sizeof(double); }

  cvtm_device *device = nullptr;

 private:
  std::vector<double *> vectors_;
};

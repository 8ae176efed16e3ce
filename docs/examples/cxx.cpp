// The library from C++: handles that free themselves, errors as exceptions.
// c++ -std=c++17 cxx.cpp $(pkg-config --cflags --libs cvtmesh) -o cxx
#include <cvtmesh/cvtmesh.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

struct Destroy {
  void operator()(cvtm_device *device) const { cvtm_device_destroy(device); }
  void operator()(cvtm_cvt *cvt) const { cvtm_cvt_destroy(cvt); }
};
using Device = std::unique_ptr<cvtm_device, Destroy>;
using Cvt = std::unique_ptr<cvtm_cvt, Destroy>;

static Device open_device(const char *name) {
  cvtm_error error;
  cvtm_device *device = nullptr;
  if (cvtm_device_create(name, 0, &device, &error) != CVTM_OK)
    throw std::runtime_error(error.message);
  return Device(device);
}

static void check(const Device &device, cvtm_status status) {
  if (status != CVTM_OK) throw std::runtime_error(cvtm_device_error(device.get())->message);
}

int main() try {
  const cvtm_domain domain = {128, 128, 0};
  const std::vector<float> density(128 * 128, 1.0F);
  std::vector<double> sites(2 * 500);
  const Device device = open_device("auto");
  cvtm_cvt *made = nullptr;
  check(device, cvtm_cvt_create(device.get(), domain, density.data(), 500, &made));
  const Cvt cvt(made);
  cvtm_cvt_options options;
  cvtm_cvt_result result;
  cvtm_cvt_defaults(&options);
  check(device, cvtm_cvt_solve(cvt.get(), &options, 0, sites.data(), 500, &result));
  std::printf("cvtmesh %s: %.4f of the energy of hexagons\n", cvtmesh_version(),
              result.objective / cvtm_cvt_energy_bound(domain, density.data(), 500));
} catch (const std::exception &failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 1;
}

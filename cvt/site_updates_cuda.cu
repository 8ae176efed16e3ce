#include "base/cuda_utils.h"
#include "cvt/site_updates.h"

namespace {

enum { THREADS = 256 };

/* n: the number of coordinates. */
__global__ void keep_best_kernel(const double *sites, int64_t n, const double *value, double *least,
                                 double *best) {
  const double before = least[0], now = value[0];
  const bool better = now < before;
  if (cvtm_first_thread() == 0) least[1] = better ? now : before;
  if (!better) return;
  for (int64_t k = cvtm_first_thread(); k < n; k += cvtm_thread_count()) best[k] = sites[k];
}

__global__ void bounds_kernel(cvtm_domain domain, const double *sites, int64_t count, int64_t fixed,
                              double *lower, double *upper) {
  for (int64_t k = cvtm_first_thread(); k < 2 * count; k += cvtm_thread_count())
    cvtm_cvt_bounds_of(domain, sites, fixed, k, lower + k, upper + k);
}

__global__ void scale_kernel(const cvtm_cell_moments *sums, int64_t count, double mean, double root,
                             double *scale) {
  for (int64_t i = cvtm_first_thread(); i < count; i += cvtm_thread_count())
    scale[2 * i] = scale[2 * i + 1] = cvtm_cvt_scale_of(&sums[i], mean, root);
}

__global__ void energy_keys_kernel(const cvtm_cell_moments *sums, int64_t fixed, int64_t movable,
                                   uint64_t *keys, int32_t *sites) {
  for (int64_t i = cvtm_first_thread(); i < movable; i += cvtm_thread_count()) {
    keys[i] = cvtm_cvt_energy_key(sums[fixed + i].second);
    sites[i] = static_cast<int32_t>(fixed + i);
  }
}

/* No site belongs to two pairs. The last pair that is transferred sets the number. */
__global__ void transfer_kernel(cvtm_cvt_transfer transfer, int64_t *moved) {
  for (int64_t k = cvtm_first_thread(); cvtm_cvt_transfers(&transfer, k);
       k += cvtm_thread_count()) {
    cvtm_cvt_transfer_site(&transfer, k);
    if (!cvtm_cvt_transfers(&transfer, k + 1)) *moved = k + 1;
  }
}

__global__ void repel_kernel(const __grid_constant__ cvtm_cvt_repulsion repulsion) {
  for (int64_t place = cvtm_first_thread(); place < repulsion.tree.count;
       place += cvtm_thread_count())
    cvtm_cvt_repel_site(&repulsion, place);
}

__global__ void halve_kernel(cvtm_density_view density, float *half) {
  const int32_t width = (density.width + 1) / 2, height = (density.height + 1) / 2;
  const int64_t area = int64_t{width} * height;
  for (int64_t p = cvtm_first_thread(); p < area; p += cvtm_thread_count())
    half[p] = cvtm_pyramid_pixel(&density, static_cast<int32_t>(p % width),
                                 static_cast<int32_t>(p / width));
}

__global__ void enlarge_kernel(const double *from, int64_t numbers, double factor, double *to) {
  for (int64_t k = cvtm_first_thread(); k < numbers; k += cvtm_thread_count())
    to[k] = factor * from[k];
}

__global__ void add_moments_kernel(const cvtm_cell_moments *more, int64_t count, double weight,
                                   cvtm_cell_moments *sums) {
  for (int64_t i = cvtm_first_thread(); i < count; i += cvtm_thread_count())
    sums[i] = cvtm_cvt_add_moments(&sums[i], &more[i], weight);
}

cvtm_status keep_best_cuda(cvtm_device *device, const double *sites, int64_t count,
                           const double *value, double *least, double *best) {
  keep_best_kernel<<<cvtm_cuda_blocks(2 * count, THREADS), THREADS, 0, cvtm_cuda_stream(device)>>>(
      sites, 2 * count, value, least, best);
  return cvtm_cuda_launched(device, "keep_best_kernel");
}

cvtm_status bounds_cuda(cvtm_device *device, cvtm_domain domain, const double *sites, int64_t count,
                        int64_t fixed, double *lower, double *upper) {
  bounds_kernel<<<cvtm_cuda_blocks(2 * count, THREADS), THREADS, 0, cvtm_cuda_stream(device)>>>(
      domain, sites, count, fixed, lower, upper);
  return cvtm_cuda_launched(device, "bounds_kernel");
}

cvtm_status scale_cuda(cvtm_device *device, const cvtm_cell_moments *sums, int64_t count,
                       double mean, double root, double *scale) {
  scale_kernel<<<cvtm_cuda_blocks(count, THREADS), THREADS, 0, cvtm_cuda_stream(device)>>>(
      sums, count, mean, root, scale);
  return cvtm_cuda_launched(device, "scale_kernel");
}

cvtm_status energy_keys_cuda(cvtm_device *device, const cvtm_cell_moments *sums, int64_t fixed,
                             int64_t movable, uint64_t *keys, int32_t *sites) {
  energy_keys_kernel<<<cvtm_cuda_blocks(movable, THREADS), THREADS, 0, cvtm_cuda_stream(device)>>>(
      sums, fixed, movable, keys, sites);
  return cvtm_cuda_launched(device, "energy_keys_kernel");
}

cvtm_status transfer_cuda(cvtm_device *device, const cvtm_cvt_transfer *transfer, int64_t *moved) {
  const int64_t half = transfer->movable / 2;
  const int64_t most = transfer->most < half ? transfer->most : half;
  transfer_kernel<<<cvtm_cuda_blocks(most, THREADS), THREADS, 0, cvtm_cuda_stream(device)>>>(
      *transfer, moved);
  return cvtm_cuda_launched(device, "transfer_kernel");
}

cvtm_status repel_cuda(cvtm_device *device, const cvtm_cvt_repulsion *repulsion) {
  repel_kernel<<<cvtm_cuda_blocks(repulsion->tree.count, THREADS), THREADS, 0,
                 cvtm_cuda_stream(device)>>>(*repulsion);
  return cvtm_cuda_launched(device, "repel_kernel");
}

cvtm_status halve_cuda(cvtm_device *device, const cvtm_density_view *density, float *half) {
  const int64_t area = int64_t{(density->width + 1) / 2} * ((density->height + 1) / 2);
  halve_kernel<<<cvtm_cuda_blocks(area, THREADS), THREADS, 0, cvtm_cuda_stream(device)>>>(*density,
                                                                                          half);
  return cvtm_cuda_launched(device, "halve_kernel");
}

cvtm_status enlarge_cuda(cvtm_device *device, const double *from, int64_t numbers, double factor,
                         double *to) {
  enlarge_kernel<<<cvtm_cuda_blocks(numbers, THREADS), THREADS, 0, cvtm_cuda_stream(device)>>>(
      from, numbers, factor, to);
  return cvtm_cuda_launched(device, "enlarge_kernel");
}

cvtm_status add_moments_cuda(cvtm_device *device, const cvtm_cell_moments *more, int64_t count,
                             double weight, cvtm_cell_moments *sums) {
  add_moments_kernel<<<cvtm_cuda_blocks(count, THREADS), THREADS, 0, cvtm_cuda_stream(device)>>>(
      more, count, weight, sums);
  return cvtm_cuda_launched(device, "add_moments_kernel");
}

}  // namespace

extern "C" const cvtm_site_updates_table cvtm_site_updates_cuda = {
    keep_best_cuda,
    bounds_cuda,
    scale_cuda,
    energy_keys_cuda,
    cvtm_edge_midpoints_cuda,
    cvtm_place_midpoints_cuda,
    cvtm_rescale_cuda,
    transfer_cuda,
    repel_cuda,
    halve_cuda,
    enlarge_cuda,
    add_moments_cuda,
};

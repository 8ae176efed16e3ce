/* Inside the library: selects default options, a device's table of kernels, and plain kernels. */
#pragma once

#include "base/device.h"

#include <stddef.h>

/* The first line of a public function with options: points a NULL `options` to the defaults of its
 * type, ROOM_options. */
#define CVTM_DEFAULT_OPTIONS(room, options) \
  room##_options room##_default;            \
  if ((options) == NULL) {                  \
    room##_defaults(&room##_default);       \
    (options) = &room##_default;            \
  }

/* The table of kernels that a device uses: &NAME_cuda for a CUDA device, &NAME_cpu for the CPU. The
 * two are declared in one line,
 *   extern const cvtm_x_table cvtm_x_table_cpu, cvtm_x_table_cuda;
 * A build without CUDA has no table NAME_cuda. */
#if CVTMESH_HAVE_CUDA
#define CVTM_TABLE(device, name) \
  (cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA ? &name##_cuda : &name##_cpu)
#else
#define CVTM_TABLE(device, name) ((void)(device), &name##_cpu)
#endif

/* A specialised kernel that saves time has a plain counterpart with the same result. For tests and
 * benchmarks CVTMESH_PLAIN=NAME,NAME,... in the environment selects the plain kernels of these
 * names:
 *
 * march         V-cycles on grids: kernels march down strips; plain: a kernel for each operation
 * tiles         phases of a coarse level in shared memory; plain: a kernel for each operation
 * tail          the small levels in one block; plain: tiles on all levels
 * bilinear      P'AP by flags in shared memory and closed forms; plain: galerkin_kernel
 * pdl           a kernel starts before the previous kernel has ended; plain: ordinary launches
 * grid          all names above
 * small         L-BFGS-B of at most 32 variables: a group of lanes; plain: a block
 * panels        L-BFGS-B of short histories by its own phases; plain: by panels.c, as for long ones
 * nccl          ranks exchange arrays by NCCL; plain: through the host
 *
 * bench_lcp times the kernels of grids, batches.py those of small problems, with and without the
 * variable. */
CVTM_C_BEGIN

/* True if CVTMESH_PLAIN has that name. */
int cvtm_uses_plain(const char *name);

CVTM_C_END

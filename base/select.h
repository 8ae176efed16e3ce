/* Inside the library: macros and functions that select default options, the table of kernels of a
 * device, and plain kernels. */
#ifndef CVTMESH_BASE_SELECT_H
#define CVTMESH_BASE_SELECT_H

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

/* Which table of kernels a device uses. A room declares the two sides of a table in one line,
 *   extern const cvtm_x_table cvtm_x_table_cpu, cvtm_x_table_cuda;
 * and a build without CUDA does not name the second.
 * CVTM_TABLE is &NAME_cuda for a CUDA device, &NAME_cpu for the CPU. */
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
 * march         V-cycles on grids: marches down strips; plain: a kernel for each operation
 * tiles         phases of a coarse level in shared memory; plain: a kernel for each operation
 * tail          the small levels in one block; plain: tiles on all levels
 * bilinear      P'AP by flags in shared memory and closed forms; plain: galerkin_kernel
 * pdl           a kernel starts before the kernel ahead has ended; plain: ordinary launches
 * grid          all of these
 * small         L-BFGS-B of at most 32 variables: a group of lanes; plain: a block
 *
 * bench_lcp times those of grids, batches.py small, with and without the variable. */
#ifdef __cplusplus
extern "C" {
#endif

/* True if CVTMESH_PLAIN has that name. */
int cvtm_uses_plain(const char *name);

#ifdef __cplusplus
}
#endif

#endif

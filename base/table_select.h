/* Which table of kernels a device uses. A room declares the two sides of a table in one line,
 *   extern const cvtm_x_table cvtm_x_table_cpu, cvtm_x_table_cuda;
 * and a build without CUDA does not name the second. */
#ifndef CVTMESH_BASE_TABLE_SELECT_H
#define CVTMESH_BASE_TABLE_SELECT_H

#include "base/device.h"

/* &NAME_cuda for a CUDA device, &NAME_cpu for the CPU. */
#if CVTMESH_HAVE_CUDA
#define CVTM_TABLE(device, name) \
  (cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA ? &name##_cuda : &name##_cpu)
#else
#define CVTM_TABLE(device, name) ((void)(device), &name##_cpu)
#endif

#endif

/* Which specialised kernels the plain ones replace, for tests and benchmarks. A specialised kernel
 * that wins time stands beside a plain one that gives the same result. CVTMESH_PLAIN=NAME,NAME,...
 * of the environment has the plain ones of these names run:
 *
 * march         V-cycles on grids: marches down strips; plain: a kernel for each operation
 * tiles         phases of a coarse level in shared memory; plain: a kernel for each operation
 * tail          the small levels in one block; plain: tiles on all levels
 * bilinear      P'AP by flags in shared memory and closed forms; plain: galerkin_kernel
 * pdl           kernels that start before the ones ahead have ended; plain: ordinary launches
 * grid          all of these
 * small_levels  V-cycles on stored matrices: the small levels in one block; plain: many launches
 * stages        deferred cells: the stages of finish_kernel in one kernel; plain: one kernel each
 * sort          the tree of sites: sorted by counting; plain: by CUB
 * flooding      jump flooding: chains of pixels; plain: one pixel per thread
 *
 * bench_lcp times those of grids, bench_cvt stages and sort, bench_voronoi
 * flooding, with and without the variable. */
#ifndef CVTMESH_BASE_PLAIN_H
#define CVTMESH_BASE_PLAIN_H

#ifdef __cplusplus
extern "C" {
#endif

/* True if CVTMESH_PLAIN has that name. */
int cvtm_uses_plain(const char *name);

#ifdef __cplusplus
}
#endif
#endif

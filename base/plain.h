/* Which specialised kernels the plain ones replace, for tests and bench/. A specialised kernel that
 * wins time stands beside a plain one that gives the same result. CVTMESH_PLAIN=NAME,NAME,... of
 * the environment has the plain ones of these names run; bench/bench_plain.c lists the names. */
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

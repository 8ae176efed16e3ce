/* Inside cvt only: the parts of cvtm_cvt_solve (solve.c): samples (sample.c), the start from coarse
 * to fine (levels.c), transfers of sites (transfers.c), annealing (anneal.c), and sites at
 * one place (separate.c). */
#ifndef CVTMESH_CVT_SOLVE_H
#define CVTMESH_CVT_SOLVE_H

#include "cvt/checkpoint.h"
#include "cvt/descent.h"
#include "cvt/site_updates.h"

/* A site is transferred from a cell to one whose energy is this many times larger. The factor is
 * large while the energies are those of a rough start. */
static const double contrast_of_balance = 3, contrast_of_search = 1.3;

/* The state of one cvtm_cvt_solve. */
typedef struct cvtm_solve {
  cvtm_cvt *cvt;
  const float *density; /* the plan's, on the host; of several ranks on rank 0, else NULL */
  float *copied;        /* the same, if it is a copy; else NULL */
  const cvtm_cvt_options *options;
  int64_t count;        /* of the level at hand; the full set is the last one */
  int sampled;          /* all sites that may move are placed by cvtm_cvt_solve */
  double deadline;      /* of cvtm_clock; infinity: none; 0 after a request to stop */
  double *spare;        /* on the host, room for the full set: coarse sites */
  cvtm_pyramid pyramid; /* of the plan's density, on coarse levels */
  /* In device memory, if sites may be transferred, with room for the full set: */
  double *kept; /* the sites to which cvtm_solve_restore returns */
  uint64_t *keys, *keys_alt;
  int32_t *order, *order_alt;
  int64_t *moved;
  void *workspace; /* of the sort */
  size_t workspace_bytes;
  uint64_t draws; /* the number of transfers so far, from which each draws different random numbers
                   */
  double pace;    /* seconds per iteration in the last descent of the full set */
  cvtm_checkpoint *checkpoint; /* NULL: none */
  cvtm_cvt_result result;
} cvtm_solve;

cvtm_cvt_task cvtm_solve_task(const cvtm_solve *solve);
/* True at a time from `deadline` on. All decisions by the clock go through this function: a run
 * that continues decides as before. */
int cvtm_solve_is_late(cvtm_solve *solve, double deadline);
/* cvtm_cvt_count_empty of all sites. */
cvtm_status cvtm_solve_count_empty(cvtm_solve *solve, int64_t *empty);
/* One descent, of which the monitor is told in the picture's units; adds its evaluations and times
 * to the result. */
cvtm_status cvtm_solve_descend(cvtm_solve *solve, const cvtm_cvt_options *options, double deadline,
                               cvtm_cvt_result *found);

/* cvtm_cvt_sample for a density that cvtm_density_scan has accepted; root: its integrals of
 * sqrt(rho) over squares. */
cvtm_status cvtm_cvt_sample_scanned(cvtm_domain domain, const float *density, const double *root,
                                    int64_t count, uint64_t seed, cvtm_cvt_start start,
                                    double *sites, cvtm_error *error);
/* Places the sites that were not given in the plan. */
cvtm_status cvtm_solve_place(cvtm_solve *solve, int64_t given, double *sites);

cvtm_status cvtm_solve_allocate_transfers(cvtm_solve *solve);
void cvtm_solve_free_transfers(cvtm_solve *solve);
/* Moves up to `most` sites from the cells of least energy to beside those of the largest.
 * *transfers: the number moved. The plan's moments must be those of the sites. */
cvtm_status cvtm_solve_transfer(cvtm_solve *solve, int64_t most, double contrast,
                                int64_t *transfers);
/* cvtm_solve_keep saves the plan's sites, whose descent gave *found; cvtm_solve_restore goes back
 * to the sites last saved. */
cvtm_status cvtm_solve_keep(cvtm_solve *solve, const cvtm_cvt_result *found);
cvtm_status cvtm_solve_restore(cvtm_solve *solve);
/* Rounds of a transfer and a short descent, of which only those are kept that lower the energy. */
typedef struct cvtm_search {
  int rounds;         /* at most */
  int64_t iterations; /* of a descent, at most */
  double deadline;
} cvtm_search;
enum { CVTM_SEARCH_ROUNDS = 24, CVTM_SEARCH_ITERATIONS = 60 }; /* from the high effort on */
cvtm_status cvtm_solve_search(cvtm_solve *solve, const cvtm_search *search);
/* Rounds of displacements of all sites and short descents; the best sites found stay (anneal.c). */
cvtm_status cvtm_solve_anneal(cvtm_solve *s);
/* Moves sites (host) that share a place apart, and evaluates again. A coarse level refined in
 * little time, bounds, and transfers may put sites at one place, of which all but one have no mass.
 * The sites are those of the last evaluation, before and after. */
cvtm_status cvtm_solve_separate(cvtm_solve *solve, double *sites);

#endif

/* Inside cvt only: cvtm_cvt_solve as a sequence of descents over one state. The phases (solve.c),
 * the start of the sites and refinement (levels.c), moves of single sites between descents
 * (moves.c), and the state as a checkpoint (checkpoint.c). */
#ifndef CVTMESH_CVT_SOLVE_H
#define CVTMESH_CVT_SOLVE_H

#include "cvt/descent.h"
#include "cvt/lattice.h"
#include "cvt/site_updates.h"

/* A site is transferred from a cell to one whose energy is this many times larger. The factor is
 * large while the energies are those of a rough start. */
static const double contrast_of_balance = 3, contrast_of_search = 1.3;

enum { CVTM_SOLVE_LEVELS = 12 /* coarse levels, at most */ };

/* A phase is a descent and what follows it. */
typedef enum cvtm_solve_phase {
  CVTM_SOLVE_LATTICE, /* tries lattices as starts of an even density */
  CVTM_SOLVE_COARSE,  /* descends on a coarse level, then refines */
  CVTM_SOLVE_SEARCH,  /* rounds of transfers, each undone if its descent does not end lower */
  CVTM_SOLVE_FINE,    /* the descent of the full set, with some transfers */
  CVTM_SOLVE_ANNEAL,  /* rounds of displacements of all sites */
  CVTM_SOLVE_END
} cvtm_solve_phase;

/* All on which the rest of a run depends, before a descent, besides the sites and the `kept` ones.
 * What the clock decided is here as the decision. */
typedef struct cvtm_solve_state {
  int64_t phase;       /* of cvtm_solve_phase: that of the next descent */
  int64_t level;       /* of its sites; 0: the full set */
  int64_t round;       /* of the phase, from 0 on */
  int64_t limit;       /* fine: iterations up to a transfer; 0: the descent goes to its end */
  int64_t transferred; /* sites, just before the descent */
  int64_t most;        /* search: sites that the next round transfers, at most */
  int64_t idle;        /* anneal: rounds since the last gain */
  int64_t kept;        /* the number of sites in `kept`; 0: they are not needed */
  uint64_t draws;      /* transfers so far, from which each draws different random numbers */
  double pace;         /* seconds per iteration in the last descent of the full set */
  cvtm_cvt_result result;
} cvtm_solve_state;

struct cvtm_checkpoint;

/* One cvtm_cvt_solve. */
typedef struct cvtm_solve {
  cvtm_cvt *cvt;
  const float *density; /* the plan's, on the host; of several ranks on rank 0, else NULL */
  float *copied;        /* the same, if it is a copy; else NULL */
  const cvtm_cvt_options *options;
  int64_t given;
  double *sites;   /* the caller's; scratch until the end */
  double *spare;   /* on the host, room for the full set: scratch */
  double deadline; /* of cvtm_clock; infinity: none; 0 after a request to stop */
  /* The start: */
  int levels;                            /* coarse ones */
  int64_t counts[CVTM_SOLVE_LEVELS + 1]; /* the number of sites of each level */
  int lattices;                          /* to be tried; 0: the density is not even */
  cvtm_lattice lattice[CVTM_LATTICE_MAX];
  int transfers_help;   /* cvtm_cvt_solve places all sites that move, not on a lattice */
  int64_t count;        /* of the sites at hand: counts[state.level] */
  cvtm_pyramid pyramid; /* of the plan's density, on coarse levels */
  /* In device memory, if sites may be transferred, with room for the full set: */
  double *kept; /* the sites to which cvtm_solve_restore returns */
  uint64_t *keys, *keys_alt;
  int32_t *order, *order_alt;
  int64_t *moved;
  void *workspace; /* of the sort */
  size_t workspace_bytes;
  struct cvtm_checkpoint *checkpoint; /* NULL: none */
  cvtm_solve_state state;
} cvtm_solve;

cvtm_cvt_task cvtm_solve_task(const cvtm_solve *solve);
/* True at a time from `deadline` on. */
int cvtm_solve_is_late(const cvtm_solve *solve, double deadline);

/* --- levels.c --------------------------------------------------------------------------------- */

/* cvtm_cvt_sample for a density that cvtm_density_scan has accepted; root: its integrals of
 * sqrt(rho) over squares. */
cvtm_status cvtm_cvt_sample_scanned(cvtm_domain domain, const float *density, const double *root,
                                    int64_t count, uint64_t seed, cvtm_cvt_start start,
                                    double *sites, cvtm_error *error);
/* Finds the lattices or the levels to start from. */
cvtm_status cvtm_solve_plan_start(cvtm_solve *solve);
/* Gives the plan the density of state.level, on which the run starts or continues. */
cvtm_status cvtm_solve_enter(cvtm_solve *solve);
/* Puts sites into the plan: the given ones, then samples. */
cvtm_status cvtm_solve_sample(cvtm_solve *solve);
cvtm_status cvtm_solve_place_lattice(cvtm_solve *solve, const cvtm_lattice *lattice);
/* Goes to the next finer level. */
cvtm_status cvtm_solve_refine(cvtm_solve *solve);

/* --- moves.c ---------------------------------------------------------------------------------- */

cvtm_status cvtm_solve_allocate_transfers(cvtm_solve *solve);
void cvtm_solve_free_transfers(cvtm_solve *solve);
/* Moves up to `most` sites from the cells of least energy to beside those of the largest; sets
 * state.transferred. The plan's moments must be those of the sites. */
cvtm_status cvtm_solve_transfer(cvtm_solve *solve, int64_t most, double contrast);
/* Moves every site away from the nearest other one; the same holds. */
cvtm_status cvtm_solve_displace(cvtm_solve *solve);
/* cvtm_solve_keep saves the plan's sites, whose descent gave *found; cvtm_solve_restore goes back
 * to the sites last saved, and evaluates them. */
cvtm_status cvtm_solve_keep(cvtm_solve *solve, const cvtm_cvt_result *found);
cvtm_status cvtm_solve_restore(cvtm_solve *solve);
/* Moves sites (host) that share a place apart, and evaluates again. A coarse level refined in
 * little time, bounds, and transfers may put sites at one place, of which all but one have no mass.
 * The sites are those of the last evaluation, before and after. */
cvtm_status cvtm_solve_separate(cvtm_solve *solve);

/* --- checkpoint.c ----------------------------------------------------------------------------- */

/* With options->checkpoint, before sites are placed: reads the state of a run to be continued;
 * CVTM_ERROR_INPUT if it is damaged or that of another run. */
cvtm_status cvtm_checkpoint_open(cvtm_solve *solve);
void cvtm_checkpoint_close(cvtm_solve *solve);
/* True if the run continues from a checkpoint. */
int cvtm_checkpoint_continues(const cvtm_solve *solve);
/* Restores the sites, once cvtm_solve_enter has prepared the level. */
cvtm_status cvtm_checkpoint_restore(cvtm_solve *solve);
/* Gives a descent its pauses, and the state that the checkpoint holds of it. */
void cvtm_checkpoint_attach(const cvtm_solve *solve, cvtm_descent *descent);
/* Between two descents: saves the state if it is time for it. */
cvtm_status cvtm_checkpoint_visit(cvtm_solve *solve);

#endif

/* Inside cvt only: cvtm_cvt_solve as a sequence of descents with a common state. solve.c has the
 * phases, levels.c the start of the sites and refinement, moves.c the moves of single sites between
 * descents, and checkpoint.c the checkpoints of the state. The full set is level 0, all sites. */
#pragma once

#include "cvt/descent.h"
#include "cvt/lattice.h"
#include "cvt/site_updates.h"

/* A site leaves its cell for another cell only if the other cell has more than this many times the
 * energy of its own cell. The factor is large in the rough start after refinement. */
static const double contrast_of_balance = 3, contrast_of_search = 1.3;

enum { CVTM_SOLVE_LEVELS = 12 /* coarse levels, at most */ };

/* A phase is a descent, and the steps after the descent. */
typedef enum cvtm_solve_phase {
  CVTM_SOLVE_LATTICE, /* tries lattices as starts for a constant density */
  CVTM_SOLVE_COARSE,  /* descends on a coarse level, then refines */
  CVTM_SOLVE_SEARCH,  /* rounds of transfers; undone if the energy does not decrease */
  CVTM_SOLVE_FINE,    /* the descent of the full set, with some transfers */
  CVTM_SOLVE_ANNEAL,  /* rounds of displacements of the sites */
  CVTM_SOLVE_END
} cvtm_solve_phase;

/* The state before a descent: all data on which the rest of a run depends, including decisions that
 * depended on the clock, except the sites and the `kept` sites. */
typedef struct cvtm_solve_state {
  int64_t phase;       /* cvtm_solve_phase of the next descent */
  int64_t level;       /* level of that descent; 0: the full set */
  int64_t round;       /* round of the phase, counted from 0 */
  int64_t limit;       /* fine: iterations before a transfer; 0: no transfer follows */
  int64_t transferred; /* number of sites that were transferred before the descent */
  int64_t most;        /* search: largest number of sites that the next round transfers */
  int64_t idle;        /* anneal: rounds since the energy last decreased */
  int64_t kept;        /* number of sites in `kept`; 0: `kept` is not needed */
  uint64_t draws;      /* how often random numbers were drawn; part of their seed */
  double pace;         /* seconds per iteration in the last descent of the full set */
  cvtm_cvt_result result;
} cvtm_solve_state;

struct cvtm_checkpoint;

/* The data of one call of cvtm_cvt_solve. */
typedef struct cvtm_solve {
  cvtm_cvt *cvt;
  const float *density; /* the plan's density on the host; with several ranks only on rank 0 */
  float *copied;        /* `density` if that is a copy to be freed, else NULL */
  const cvtm_cvt_options *options;
  int64_t given;
  double *sites;   /* the caller's array; scratch until the end */
  double *spare;   /* scratch on the host, for the full set */
  double deadline; /* by cvtm_clock; infinite if there is none; 0 after a request to stop */
  /* The start: */
  int levels;                            /* number of coarse levels */
  int64_t counts[CVTM_SOLVE_LEVELS + 1]; /* the number of sites of each level */
  int lattices;                          /* number of lattices to try */
  cvtm_lattice lattice[CVTM_LATTICE_MAX];
  int transfers_help;   /* true if cvtm_cvt_solve places all movable sites, and not on a lattice */
  int64_t count;        /* current number of sites: counts[state.level] */
  cvtm_pyramid pyramid; /* densities of coarse levels */
  /* In device memory for the full set, if sites may be transferred: */
  double *kept; /* the sites to which cvtm_solve_restore returns */
  uint64_t *keys, *keys_alt;
  int32_t *order, *order_alt;
  int64_t *moved;
  struct cvtm_checkpoint *checkpoint; /* NULL: none */
  cvtm_solve_state state;
} cvtm_solve;

cvtm_cvt_task cvtm_solve_task(const cvtm_solve *solve);
/* True if `deadline` has passed by the clock of rank 0, or if the ranks cannot communicate. */
int cvtm_solve_is_late(const cvtm_solve *solve, double deadline);

/* --- levels.c --------------------------------------------------------------------------------- */

/* cvtm_cvt_sample for a density that cvtm_density_scan has accepted. sqrt_integral: the integrals
 * of sqrt(rho) over squares. */
cvtm_status cvtm_cvt_sample_scanned(cvtm_domain domain, const float *density,
                                    const double *sqrt_integral, int64_t count, uint64_t seed,
                                    cvtm_cvt_start start, double *sites, cvtm_error *error);
/* Chooses the lattices or the levels for the start; neither if sites are given or effort is low. */
cvtm_status cvtm_solve_plan_start(cvtm_solve *solve);
/* Makes the plan use the density of state.level, at which the run starts or continues. */
cvtm_status cvtm_solve_enter(cvtm_solve *solve);
/* Sets the plan's sites: the given sites, then sampled sites. */
cvtm_status cvtm_solve_sample(cvtm_solve *solve);
cvtm_status cvtm_solve_place_lattice(cvtm_solve *solve, const cvtm_lattice *lattice);
/* Goes to the next finer level. */
cvtm_status cvtm_solve_refine(cvtm_solve *solve);

/* --- moves.c ---------------------------------------------------------------------------------- */

cvtm_status cvtm_solve_allocate_transfers(cvtm_solve *solve);
void cvtm_solve_free_transfers(cvtm_solve *solve);
/* Moves up to `most` sites with the least energies beside the sites with the largest energies, and
 * sets state.transferred. The plan's moments must be those of the sites. */
cvtm_status cvtm_solve_transfer(cvtm_solve *solve, int64_t most, double contrast);
/* Moves the sites away from their nearest neighbours (cvtm_cvt_repel_site). The plan's moments must
 * be those of the sites. */
cvtm_status cvtm_solve_displace(cvtm_solve *solve);
/* cvtm_solve_keep saves the energy and gradient norm of *found, the result of a descent, and the
 * plan's sites if `kept` is not NULL. cvtm_solve_restore copies them back, and evaluates the
 * energy. */
cvtm_status cvtm_solve_keep(cvtm_solve *solve, const cvtm_cvt_result *found);
cvtm_status cvtm_solve_restore(cvtm_solve *solve);
/* Separates coincident sites (host), of which all but one have no mass, and evaluates again. Sites
 * can coincide after the refinement of a coarse level that had little time, at bounds, and after
 * transfers. Before and after the call, the last evaluation is that of the sites. */
cvtm_status cvtm_solve_separate(cvtm_solve *solve);

/* --- checkpoint.c ----------------------------------------------------------------------------- */

/* With options->checkpoint, called before sites are placed: reads the state of the run to continue,
 * if there is one. CVTM_ERROR_INPUT: the state is damaged or belongs to another run. */
cvtm_status cvtm_checkpoint_open(cvtm_solve *solve);
void cvtm_checkpoint_close(cvtm_solve *solve);
/* True if the run continues from a checkpoint. */
int cvtm_checkpoint_continues(const cvtm_solve *solve);
/* Restores the sites. cvtm_solve_enter must have prepared the level. */
cvtm_status cvtm_checkpoint_restore(cvtm_solve *solve);
/* Sets the pauses of a descent, and its state if the checkpoint has the state of a descent. */
void cvtm_checkpoint_attach(const cvtm_solve *solve, cvtm_descent *descent);
/* Called between two descents: saves the state if a save is due. */
cvtm_status cvtm_checkpoint_visit(cvtm_solve *solve);

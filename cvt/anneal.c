/* Annealing: every site moves away from the nearest other one by less than half of their distance,
 * and all descend; the next round continues from there, higher or lower, and the best sites are
 * kept (Gonzalez, Choksi & Nave 2021, "A simple geometric method for navigating the energy
 * landscape of centroidal Voronoi tessellations", between whose displacements are a few steps of
 * Lloyd's method). */
#include "cvt/solve.h"

enum {
  ANNEAL_ROUNDS = 200,
  ANNEAL_PATIENCE = 15, /* rounds without a gain that end it */
  ANNEAL_ITERATIONS = 60
};

/* Of a displacement, in root mean square radii of the cell: 0.4 of the spacing of hexagons. */
static const double anneal_reach = 1.07;

/* The plan's moments must be those of its sites. */
static cvtm_status displace_sites(cvtm_solve *s) {
  cvtm_cvt *cvt = s->cvt;
  if (cvtm_checkpoint_replays(s->checkpoint)) return CVTM_OK;
  const cvtm_status status = cvtm_site_tree_build(cvt->tree, cvt->sites, s->count);
  if (status != CVTM_OK) return status;
  const cvtm_cvt_repulsion repulsion = {.tree = cvtm_site_tree_get_view(cvt->tree),
                                        .domain = cvt->domain,
                                        .moments = cvt->moments,
                                        .fixed = s->options->fixed,
                                        .reach = anneal_reach,
                                        .sites = cvt->sites};
  return cvt->updates->repel(cvt->device, &repulsion);
}

static cvtm_status try_round(cvtm_solve *s, int *lower) {
  cvtm_cvt_options options = *s->options;
  cvtm_cvt_result found;
  options.max_iterations = ANNEAL_ITERATIONS;
  if (options.monitor) options.monitor = cvtm_cvt_relay;
  options.monitor_context = (void *)(uintptr_t)s->options;
  ++s->result.anneal_rounds;
  cvtm_status status = displace_sites(s);
  if (status == CVTM_OK) status = cvtm_solve_descend(s, &options, s->deadline, &found);
  if (status != CVTM_OK) return status;
  *lower = found.objective < s->result.objective;
  return *lower ? cvtm_solve_keep(s, &found) : CVTM_OK;
}

cvtm_status cvtm_solve_anneal(cvtm_solve *s) {
  cvtm_status status = CVTM_OK;
  int idle = 0;
  for (int round = 0; status == CVTM_OK && round < ANNEAL_ROUNDS && idle < ANNEAL_PATIENCE;
       ++round) {
    int lower = 0;
    if (cvtm_solve_is_late(s, s->deadline)) break;
    status = try_round(s, &lower);
    idle = lower ? 0 : idle + 1;
  }
  return status == CVTM_OK ? cvtm_solve_restore(s) : status;
}

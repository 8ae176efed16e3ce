/* Moves single sites between descents: transfers, displacements, separation of coincident sites. */
#include "base/geometry.h"
#include "base/primitives.h"
#include "base/random.h"
#include "cvt/solve.h"

#include <math.h>
#include <stdlib.h>

/* --- transfers ---------------------------------------------------------------------------------
 *
 * Sites move from cells of small energy to cells of large energy. In an optimal tessellation all
 * cells have nearly equal energies, and an additional site reduces the total by about such an
 * energy (Gersho 1979). */

static cvtm_arrays transfer_arrays(cvtm_solve *s) {
  return (cvtm_arrays){{
      CVTM_ARRAY(s->kept, 2 * s->count),
      CVTM_ARRAY(s->keys, s->count),
      CVTM_ARRAY(s->keys_alt, s->count),
      CVTM_ARRAY(s->order, s->count),
      CVTM_ARRAY(s->order_alt, s->count),
      CVTM_ARRAY(s->moved, 1),
  }};
}

cvtm_status cvtm_solve_allocate_transfers(cvtm_solve *s) {
  CVTM_TRY(cvtm_sort_reserve(s->cvt->device, s->count));
  return cvtm_device_allocate_arrays(s->cvt->device, transfer_arrays(s));
}

void cvtm_solve_free_transfers(cvtm_solve *s) {
  cvtm_device_free_arrays(s->cvt->device, transfer_arrays(s));
}

cvtm_status cvtm_solve_transfer(cvtm_solve *s, int64_t most, double contrast) {
  cvtm_cvt *cvt = s->cvt;
  const cvtm_cvt_transfer transfer = {.domain = cvt->domain,
                                      .sites = cvt->sites,
                                      .moments = cvt->moments,
                                      .order = s->order,
                                      .movable = s->count - s->options->fixed,
                                      .most = most,
                                      .contrast = contrast,
                                      .seed = s->options->seed,
                                      .draw = ++s->state.draws};
  int64_t *transferred = &s->state.transferred;
  *transferred = 0;
  if (transfer.movable < 2) return CVTM_OK;
  CVTM_TRY(cvt->updates->energy_keys(cvt->device, cvt->moments, s->options->fixed, transfer.movable,
                                     s->keys, s->order));
  CVTM_TRY(cvtm_sort_pairs(cvt->device, s->keys, s->order, s->keys_alt, s->order_alt,
                           transfer.movable, 64));
  CVTM_TRY(cvtm_device_fill(cvt->device, s->moved, 0, sizeof *s->moved));
  CVTM_TRY(cvt->updates->transfer(cvt->device, &transfer, s->moved));
  return cvtm_device_copy_out(cvt->device, transferred, s->moved, sizeof *transferred);
}

static cvtm_status copy_sites(const cvtm_solve *s, double *to, const double *from) {
  return cvtm_device_copy(s->cvt->device, to, from, 2 * (size_t)s->count * sizeof *to);
}

cvtm_status cvtm_solve_keep(cvtm_solve *s, const cvtm_cvt_result *found) {
  s->state.result.objective = found->objective;
  s->state.result.gradient_norm = found->gradient_norm;
  if (!s->kept) return CVTM_OK;
  s->state.kept = s->count;
  return copy_sites(s, s->kept, s->cvt->sites);
}

cvtm_status cvtm_solve_restore(cvtm_solve *s) {
  const cvtm_cvt_task task = cvtm_solve_task(s);
  ++s->state.result.evaluations;
  CVTM_TRY(copy_sites(s, s->cvt->sites, s->kept));
  return cvtm_cvt_enqueue(&task, s->cvt->sites, s->cvt->value, NULL);
}

/* --- displacements ---------------------------------------------------------------------------- */

/* The distance by which a site is displaced, in root mean square radii of its cell: for regular
 * hexagons, 0.4 times the distance between neighbouring sites. */
static const double anneal_reach = 1.07;

cvtm_status cvtm_solve_displace(cvtm_solve *s) {
  cvtm_cvt *cvt = s->cvt;
  CVTM_TRY(cvtm_site_tree_build(cvt->tree, cvt->sites, s->count));
  const cvtm_cvt_repulsion repulsion = {.tree = cvtm_site_tree_get_view(cvt->tree),
                                        .domain = cvt->domain,
                                        .moments = cvt->moments,
                                        .fixed = s->options->fixed,
                                        .reach = anneal_reach,
                                        .sites = cvt->sites};
  return cvt->updates->repel(cvt->device, &repulsion);
}

/* --- coincident sites ------------------------------------------------------------------------- */

enum { SEPARATE_ROUNDS = 5 };

/* x + step, or x - step if x + step is outside [0, size]. */
static double step_inside(double x, double step, double size) {
  return x + step >= 0 && x + step <= size ? x + step : x - step;
}

/* Moves a site that coincides with the site `owner`, which has the cell, to a random position in a
 * disc about as wide as that cell. If many sites moved to a circle instead, each of their cells
 * would be cut by all the others. */
static void move_off(const cvtm_solve *s, const cvtm_cell_moments *sums, int64_t owner,
                     int64_t site, double *sites) {
  const cvtm_domain domain = s->cvt->domain;
  const double width = domain.width, height = domain.height;
  const cvtm_cell_moments *cell = &sums[owner];
  double draw[2], direction[2];
  cvtm_random_uniform2(s->options->seed, s->state.draws, (uint64_t)site, draw);
  cvtm_random_direction(draw[0], direction);
  const double mean = 0.1 * sqrt(width * height / (double)s->count);
  const double widest = cell->second > 0 ? sqrt(cell->second / cell->mass) : mean;
  const double radius = widest * sqrt(draw[1]);
  double *place = sites + 2 * site;
  place[0] = step_inside(place[0], radius * direction[0], width);
  place[1] = step_inside(place[1], radius * direction[1], height);
}

/* Moves coincident sites (host), except the first of each group and fixed sites. Returns the number
 * of sites that moved, or -1 if memory runs out. */
static int64_t move_apart(const cvtm_solve *s, const cvtm_cell_moments *sums, double *sites) {
  cvtm_placed *order = malloc((size_t)s->count * sizeof *order);
  int64_t moved = 0, owner = 0;
  if (!order) return -1;
  for (int64_t i = 0; i < s->count; ++i)
    order[i] = (cvtm_placed){sites[2 * i], sites[2 * i + 1], i};
  qsort(order, (size_t)s->count, sizeof *order, cvtm_compare_placed);
  for (int64_t k = 1; k < s->count; ++k) {
    const int64_t site = order[k].index;
    if (order[k].x != order[owner].x || order[k].y != order[owner].y) owner = k;
    if (k == owner || site < s->options->fixed) continue;
    move_off(s, sums, order[owner].index, site, sites);
    ++moved;
  }
  free(order);
  return moved;
}

cvtm_status cvtm_solve_separate(cvtm_solve *s) {
  double *sites = s->sites;
  cvtm_cvt *cvt = s->cvt;
  const cvtm_cvt_task task = cvtm_solve_task(s);
  for (int round = 0; round < SEPARATE_ROUNDS && s->state.result.empty_cells > 0; ++round) {
    cvtm_cell_moments *sums = NULL;
    double value[2];
    CVTM_TRY(cvtm_cvt_read_cell_moments(cvt, s->count, &sums));
    ++s->state.draws;
    const int64_t moved = move_apart(s, sums, sites);
    free(sums);
    if (moved == 0) break;
    if (moved < 0)
      return cvtm_fail(cvtm_device_error(cvt->device), CVTM_ERROR_MEMORY, "no memory for sites");
    CVTM_TRY(cvtm_cvt_put_sites(cvt, sites, s->count));
    CVTM_TRY(cvtm_cvt_enqueue(&task, cvt->sites, cvt->value, NULL));
    CVTM_TRY(cvtm_device_copy_out(cvt->device, value, cvt->value, sizeof value));
    CVTM_TRY(cvtm_cvt_count_empty(cvt, s->count, &s->state.result.empty_cells));
    ++s->state.result.evaluations;
    s->state.result.objective = value[0];
    s->state.result.gradient_norm = value[1];
  }
  return CVTM_OK;
}

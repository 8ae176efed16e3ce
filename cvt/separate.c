/* Sites at one place, of which all but one have no mass, are moved apart. */
#include "base/geometry.h"
#include "base/random.h"
#include "cvt/solve.h"

#include <math.h>
#include <stdlib.h>

enum { SEPARATE_ROUNDS = 5 };

/* x + step, or x - step if that would leave 0 .. size. */
static double step_inside(double x, double step, double size) {
  return x + step >= 0 && x + step <= size ? x + step : x - step;
}

/* Moves a site that shares the place of `owner`, whose cell has the mass, to a random place in a
 * disc about as wide as that cell. A disc, since on a circle each cell of many sites would be cut
 * by all others. */
static void move_off(const cvtm_solve *s, const cvtm_cell_moments *sums, int64_t owner,
                     int64_t site, double *sites) {
  const cvtm_domain domain = s->cvt->domain;
  const double width = domain.width, height = domain.height;
  const cvtm_cell_moments *cell = &sums[owner];
  double draw[2];
  cvtm_random_uniform2(s->options->seed, s->draws, (uint64_t)site, draw);
  const double mean = 0.1 * sqrt(width * height / (double)s->count);
  const double widest = cell->second > 0 ? sqrt(cell->second / cell->mass) : mean;
  const double turn = 6.283185307179586 * draw[0], radius = widest * sqrt(draw[1]);
  double *place = sites + 2 * site;
  place[0] = step_inside(place[0], radius * cos(turn), width);
  place[1] = step_inside(place[1], radius * sin(turn), height);
}

/* Moves all but one of the sites (host) at each place; the first, or a fixed one, stays. Returns
 * the number of sites moved, or -1 if memory ran out. */
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

cvtm_status cvtm_solve_separate(cvtm_solve *s, double *sites) {
  cvtm_cvt *cvt = s->cvt;
  const cvtm_cvt_task task = cvtm_solve_task(s);
  for (int round = 0; round < SEPARATE_ROUNDS && s->result.empty_cells > 0; ++round) {
    cvtm_cell_moments *sums = NULL;
    double value[2];
    cvtm_status status = cvtm_cvt_read_cell_moments(cvt, s->count, &sums);
    if (status != CVTM_OK) return status;
    ++s->draws;
    const int64_t moved = move_apart(s, sums, sites);
    free(sums);
    if (moved == 0) break;
    if (moved < 0)
      return cvtm_fail(cvtm_device_error(cvt->device), CVTM_ERROR_MEMORY, "no memory for sites");
    status = cvtm_cvt_put_sites(cvt, sites, s->count);
    if (status == CVTM_OK) status = cvtm_cvt_enqueue(&task, cvt->sites, cvt->value, NULL);
    if (status == CVTM_OK)
      status = cvtm_device_copy_out(cvt->device, value, cvt->value, sizeof value);
    if (status == CVTM_OK) status = cvtm_cvt_count_empty(cvt, s->count, &s->result.empty_cells);
    if (status != CVTM_OK) return status;
    ++s->result.evaluations;
    s->result.objective = value[0];
    s->result.gradient_norm = value[1];
  }
  return CVTM_OK;
}

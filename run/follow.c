/* The frames of a film: the sites of a frame start from those of the previous frame. */
#include "run/follow.h"

#include "base/host.h"
#include "base/portable.h"
#include "cvt/cell_mass.h"
#include "meshes/mesh.h"
#include "run/colours.h"
#include "run/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A site and the number of sites that the density wants in its cell. */
typedef struct wanted_site {
  double wanted;
  int32_t index;
} wanted_site;

/* The data of a pass. */
typedef struct follower {
  cvtm_domain domain;
  int64_t count, fixed;
  const float *root; /* square root of the density; the number of sites is proportional to it */
  double total;      /* integral of root */
  double *mass;
  wanted_site *site;
  run_film_frame *frame;
} follower;

/* Sorts the movable sites by the number of sites that the density wants in their cells. area:
 * receives the area of each cell. */
static cvtm_status find_wanted(follower *f, double *area, cvtm_error *error) {
  double *points = f->frame->points;
  cvtm_mesh mesh = {0};
  cvtm_cells cells = {0};
  cvtm_status status = cvtm_delaunay(points, f->count, &mesh, error);
  if (status == CVTM_OK) status = cvtm_cells_create(&mesh, f->domain, &cells, error);
  if (status == CVTM_OK)
    status = cvtm_cells_mass(&cells, points, f->domain, f->root, f->mass, error);
  for (int64_t i = 0; status == CVTM_OK && i < f->count; ++i) {
    const double *corner = cells.corners + 2 * cells.start[i];
    const int64_t corners = cells.start[i + 1] - cells.start[i];
    double twice = 0;
    for (int64_t k = 0; k < corners; ++k) {
      const double *a = corner + 2 * k, *b = corner + 2 * ((k + 1) % corners);
      twice += a[0] * b[1] - a[1] * b[0];
    }
    area[i] = 0.5 * fabs(twice);
    f->site[i] = (wanted_site){f->mass[i] * (double)f->count / f->total, (int32_t)i};
  }
  cvtm_cells_free(&cells);
  cvtm_mesh_free(&mesh);
  if (status == CVTM_OK)
    qsort(f->site + f->fixed, (size_t)(f->count - f->fixed), sizeof *f->site, cvtm_compare_keyed);
  return status;
}

/* Sets the position of the k-th of `more` new sites in the cell of a site. The positions form a
 * spiral, as sunflower seeds do. */
static void place_in_cell(const follower *f, const double *site, double area, int k, int more,
                          double *place) {
  const double golden = CVTM_PI * (3 - sqrt(5.0));
  const double radius = 0.5 * sqrt(area * (k + 1) / (more + 1));
  const double size[2] = {f->domain.width, f->domain.height};
  place[0] = site[0] + radius * cos(golden * k);
  place[1] = site[1] + radius * sin(golden * k);
  for (int axis = 0; axis < 2; ++axis)
    place[axis] = fmin(fmax(place[axis], 0.01), size[axis] - 0.01);
}

/* Moves sites from cells where the density wants few sites to cells where it wants many. Sites of
 * cells that should have less than 0.5 sites go to cells that should have 1.5 or more; of cells
 * below 0.95, to cells that should have 2 or more. In a scene at rest each cell should have about
 * one. A moved site gets a new identity. Returns the number of moved sites. */
static int64_t move_sites(const follower *f, const double *area) {
  run_film_frame *frame = f->frame;
  int64_t next = f->fixed, moved = 0;
  for (int64_t at = f->count - 1; at > next; --at) {
    const wanted_site *s = &f->site[at];
    const int more = (int)fmin(round(s->wanted) - 1, 1000);
    const double few = s->wanted >= 2 ? 0.95 : 0.5;
    if (more < 1) break;
    for (int k = 0; k < more && next < at && f->site[next].wanted < few; ++k, ++next, ++moved) {
      const int32_t i = f->site[next].index;
      place_in_cell(f, frame->points + 2 * (int64_t)s->index, area[s->index], k, more,
                    frame->points + 2 * (int64_t)i);
      frame->id[i] = frame->next_id++;
    }
  }
  return moved;
}

/* Adapts the sites to the density. */
static cvtm_status adapt(int64_t fixed, run_film_frame *frame, cvtm_error *error) {
  enum { PASSES = 2 };
  const int64_t few = frame->count / 100; /* moves that need no second pass */
  const cvtm_domain domain = frame->domain;
  const size_t pixels = (size_t)domain.width * (size_t)domain.height, n = (size_t)frame->count;
  cvtm_scratch memory = {0};
  float *root = cvtm_scratch_take(&memory, pixels, sizeof *root);
  follower f = {.domain = domain,
                .count = frame->count,
                .fixed = fixed,
                .root = root,
                .mass = cvtm_scratch_take(&memory, n, sizeof *f.mass),
                .site = cvtm_scratch_take(&memory, n, sizeof *f.site),
                .frame = frame};
  double *area = cvtm_scratch_take(&memory, n, sizeof *area);
  cvtm_status status = memory.failed ? cvtm_no_memory(error, "the sites of a frame") : CVTM_OK;
  for (size_t p = 0; status == CVTM_OK && p < pixels; ++p) {
    root[p] = sqrtf(frame->density[p]);
    f.total += (double)root[p];
  }
  for (int pass = 0; status == CVTM_OK && pass < PASSES; ++pass) {
    status = find_wanted(&f, area, error);
    if (status == CVTM_OK && move_sites(&f, area) <= few) break;
  }
  cvtm_scratch_free(&memory);
  return status;
}

cvtm_status run_frame_number(run_film_frame *frame, cvtm_error *error) {
  frame->id = malloc((size_t)frame->count * sizeof *frame->id);
  if (frame->id == NULL) return cvtm_no_memory(error, "the sites of a frame");
  for (int64_t i = 0; i < frame->count; ++i) frame->id[i] = i;
  frame->next_id = frame->count;
  return CVTM_OK;
}

cvtm_status run_frame_follow(const run_film_frame *before, const run_motion *motion, int64_t fixed,
                             run_film_frame *frame, cvtm_error *error) {
  const int64_t moving = frame->count - fixed;
  memcpy(frame->id, before->id, (size_t)frame->count * sizeof *frame->id);
  frame->next_id = before->next_id;
  memcpy(frame->points + 2 * fixed, before->points + 2 * fixed,
         2 * (size_t)moving * sizeof *frame->points);
  run_motion_move(motion, frame->points + 2 * fixed, moving);
  return adapt(fixed, frame, error);
}

void run_frame_free(run_film_frame *copy) {
  free(copy->points);
  free(copy->id);
  *copy = (run_film_frame){.density = NULL};
}

cvtm_status run_frame_keep(const run_film_frame *frame, run_film_frame *copy, cvtm_error *error) {
  const size_t n = (size_t)frame->count;
  run_frame_free(copy);
  *copy = *frame;
  copy->density = NULL;
  copy->points = malloc(2 * n * sizeof *copy->points);
  copy->id = malloc(n * sizeof *copy->id);
  if (copy->points == NULL || copy->id == NULL) {
    run_frame_free(copy);
    return cvtm_no_memory(error, "the sites of a frame");
  }
  memcpy(copy->points, frame->points, 2 * n * sizeof *copy->points);
  memcpy(copy->id, frame->id, n * sizeof *copy->id);
  return CVTM_OK;
}

cvtm_status run_follow_check(const cvtm_run_options *o, cvtm_error *error) {
  const int is_plain = run_order_of(o) == CVTM_RUN_ORDER_NONE && !run_colours_wanted(o) &&
                       o->domain.kind == CVTM_RUN_DOMAIN_NONE && !o->equal_mass.on &&
                       o->noise == CVTM_RUN_NOISE_HEXAGONAL;
  if (!o->follow.on || is_plain) return CVTM_OK;
  return run_usage_error(error,
                         "--follow cannot be used with --order, --colours, --domain, "
                         "--equal-mass and --noise blue");
}

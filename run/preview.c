/* --effort preview: fewer sites, less time, and a large picture in larger pixels; and the part of
 * a picture that is on its page. */
#include "draw/likeness.h"
#include "run/job.h"
#include "run/page.h"

#include <math.h>
#include <stdlib.h>

void run_preview_limit(cvtm_run_options *o) {
  const int64_t most = run_page_shows_line(o) ? RUN_PREVIEW_SITES / 2 : RUN_PREVIEW_SITES;
  if (!o->preview.on || o->points <= most) return;
  o->preview.asked = o->points;
  o->points = most;
}

void run_preview_apply(cvtm_run_options *o) {
  if ((int)o->effort == CVTM_RUN_EFFORT_PREVIEW) {
    o->preview.on = 1;
    o->effort = CVTM_CVT_EFFORT_LOW;
  }
  if (!o->preview.on) return;
  if (!(o->given & CVTM_RUN_GIVEN_TIME_LIMIT)) o->time_limit = run_colours_wanted(o) ? 1 : 2;
  run_preview_limit(o);
}

/* True if nothing but the picture is in its pixels, in particular no other file. */
static int is_alone(const cvtm_run_options *o, const cvtm_image *image) {
  const cvtm_condition_options conditions = o->condition.how;
  return !o->follow.on && o->purpose == CVTM_RUN_ALL && !o->live && !image->is_data &&
         image->masked == 0 && o->preset == CVTM_RUN_PRESET_NONE &&
         o->domain.kind == CVTM_RUN_DOMAIN_NONE && !o->equal_mass.on && !o->periodic &&
         !run_has_world(o) && o->density_out == NULL && o->init.name == NULL &&
         o->fixed.name == NULL && o->size.from.name == NULL &&
         o->density_from != CVTM_DENSITY_FROM_SIZE && o->condition.within.count == 0 &&
         o->condition.obstacle.count == 0 && o->condition.weight.count == 0 &&
         !cvtm_condition_wanted(&conditions);
}

cvtm_status run_page_crop(const cvtm_run_options *o, cvtm_image *image, cvtm_error *error) {
  const cvtm_domain whole = {image->width, image->height, 0};
  int part[4];
  if (!o->page.fill || o->output.count == 0) return CVTM_OK;
  for (int k = 0; k < o->output.count; ++k) {
    const run_output_kind kind = run_output_kind_of(o, o->output.item[k]);
    if (kind != RUN_OUTPUT_DRAWING && kind != RUN_OUTPUT_PICTURE) return CVTM_OK;
  }
  if (!is_alone(o, image)) return CVTM_OK;
  CVTM_TRY(run_page_part(o, whole, part, error));
  run_crop_planes(image->value, 1, whole, part);
  run_crop_planes(image->alpha, 1, whole, part);
  run_crop_planes(image->rgb, 3, whole, part);
  image->width = part[2] - part[0];
  image->height = part[3] - part[1];
  return CVTM_OK;
}

/* Replaces planes, all in one block, by their means over squares. */
static cvtm_status reduce_planes(float **planes, int count, int width, int height, int side,
                                 cvtm_error *error) {
  const size_t pixels = (size_t)width * (size_t)height;
  const size_t small = (size_t)((width + side - 1) / side) * (size_t)((height + side - 1) / side);
  if (*planes == NULL) return CVTM_OK;
  float *made = malloc((size_t)count * small * sizeof *made);
  if (made == NULL) return cvtm_no_memory(error, "a smaller picture");
  for (int c = 0; c < count; ++c)
    cvtm_plane_shrink(*planes + (size_t)c * pixels, width, height, side, made + (size_t)c * small);
  free(*planes);
  *planes = made;
  return CVTM_OK;
}

cvtm_status run_preview_reduce(cvtm_run_options *o, cvtm_image *image, cvtm_error *error) {
  const double pixels = (double)image->width * image->height;
  const int side = (int)round(sqrt(pixels / RUN_PREVIEW_PIXELS));
  const int width = image->width, height = image->height;
  if (side < 2 || !o->preview.on || o->keep || o->preview.side > 0 || !is_alone(o, image))
    return CVTM_OK;
  CVTM_TRY(reduce_planes(&image->value, 1, width, height, side, error));
  CVTM_TRY(reduce_planes(&image->alpha, 1, width, height, side, error));
  CVTM_TRY(reduce_planes(&image->rgb, 3, width, height, side, error));
  image->width = (width + side - 1) / side;
  image->height = (height + side - 1) / side;
  o->preview.side = side;
  return CVTM_OK;
}

/* --- back to the pixels of the picture --- */

static void multiply(double *values, int64_t count, double factor) {
  for (int64_t i = 0; values != NULL && i < count; ++i) values[i] *= factor;
}

static cvtm_status enlarge_density(cvtm_run *r, cvtm_domain small, cvtm_error *error) {
  const int side = r->options.preview.side, width = r->domain.width;
  float *made = malloc((size_t)width * (size_t)r->domain.height * sizeof *made);
  if (made == NULL) return cvtm_no_memory(error, "the density of a preview");
  for (int y = 0; y < r->domain.height; ++y)
    for (int x = 0; x < width; ++x)
      made[(int64_t)y * width + x] = r->density[(int64_t)(y / side) * small.width + x / side];
  free(r->made.density);
  r->density = r->made.density = made;
  return CVTM_OK;
}

/* Lengths of the dots of several pens. */
static void enlarge_colours(run_colours *c, int64_t count, double side) {
  multiply(c->radius, count, side);
  c->blur *= side;
  for (int k = 0; k < c->count; ++k) {
    run_pen_figures *f = &c->figures[k];
    double *const lengths[] = {&f->smallest, &f->largest, &f->nearest.least, &f->nearest.mean};
    for (int i = 0; i < 4; ++i) *lengths[i] *= side;
  }
}

cvtm_status run_preview_restore(cvtm_run *r, cvtm_error *error) {
  const double side = r->options.preview.side, energy = side * side * side * side;
  const cvtm_domain small = r->domain;
  run_stipples *dots = &r->stipples;
  if (!(side > 1)) return CVTM_OK;
  r->domain.width *= r->options.preview.side;
  r->domain.height *= r->options.preview.side;
  CVTM_TRY(enlarge_density(r, small, error));
  multiply(r->sites, 2 * r->count, side);
  multiply(r->centroid, 2 * r->count, side);
  multiply(r->mass, r->count, side * side);
  multiply(r->mesh.points, 2 * r->mesh.vertex_count, side);
  if (r->cells.start != NULL) multiply(r->cells.corners, 2 * r->cells.start[r->cells.count], side);
  multiply(dots->radius, r->mesh.vertex_count, side);
  enlarge_colours(&r->colours, r->count, side);
  double *const lengths[] = {&dots->blur,       &dots->smallest,    &dots->largest,
                             &r->dots.smallest, &r->dots.largest,   &r->order.length,
                             &r->order.bound,   &r->order.estimate, &r->result.gradient_norm};
  for (size_t k = 0; k < sizeof lengths / sizeof *lengths; ++k) *lengths[k] *= side;
  r->dots.mm_per_pixel /= side;
  r->energy *= energy;
  r->bound *= energy;
  for (int64_t k = 0; k < r->history.count; ++k) {
    cvtm_cvt_record *record = (cvtm_cvt_record *)r->history.records + k;
    record->energy *= energy;
    record->gradient_norm *= side;
  }
  r->reduced = r->options.preview.side;
  r->options.preview.side = 0;
  return CVTM_OK;
}

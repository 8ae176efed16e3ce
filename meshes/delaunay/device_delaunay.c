#include "meshes/device_delaunay.h"

#include "base/clock.h"
#include "base/primitives.h"
#include "base/select.h"
#include "meshes/delaunay/star.h"

#include <stdlib.h>

/* Limits: squares that all stars of a pass may visit together, squares that one star may visit. At
 * most one point in ADOPTED_SHARE may get its triangles from its neighbours. */
enum { VISITS_OF_ALL = 1 << 26, VISITS_OF_ONE = 1 << 18, ADOPTED_SHARE = 16 };

/* If more than one star in HARD_SHARE needs a far search, TRIED of them are tried first. */
enum { HARD_SHARE = 4, TRIED = 4096 };

struct cvtm_device_delaunay {
  cvtm_device *device;
  const cvtm_star_table *table;
  int64_t count, distinct, triangle_count;
  int64_t hidden; /* number of points with empty cells */
  int thorough;   /* nonzero: the search of a star is not limited */
  int32_t levels; /* the deepest level of bins that fits into the memory */
  double *points;
  uint64_t *keys, *keys_alt, *tree_keys;
  int32_t *index; /* later flags of undecided vertices */
  int32_t *index_alt, *vertex, *start;
  int32_t *is_distinct; /* later the list of unfinished stars */
  int32_t *undone;      /* the stars that the previous pass left unfinished */
  cvtm_grid_point *place;
  int64_t *sums;
  cvtm_bounds *bounds;
  cvtm_star_counts *counts;
  cvtm_star_output output;
  cvtm_star_corners *triangles;
  double *weights; /* per point; NULL, as are the next fields, without weights */
  int64_t *weight, *heaviest;
  int32_t *link;
};

/* The level at which a bin of the grid's square has 1.5 to 6 points on average. */
static int32_t levels_for(int64_t count) {
  int32_t levels = 0;
  while (levels < 13 && (int64_t)3 << 2 * (levels + 1) <= 2 * count) ++levels;
  return levels;
}

static cvtm_arrays delaunay_arrays(cvtm_device_delaunay *d) {
  const int64_t n = d->count;
  cvtm_star_output *out = &d->output;
  return (cvtm_arrays){{
      CVTM_ARRAY(d->points, 2 * n),
      CVTM_ARRAY(d->keys, n),
      CVTM_ARRAY(d->keys_alt, n),
      CVTM_ARRAY(d->tree_keys, n),
      CVTM_ARRAY(d->index, n),
      CVTM_ARRAY(d->index_alt, n),
      CVTM_ARRAY(d->vertex, n),
      CVTM_ARRAY(d->start, ((int64_t)1 << 2 * d->levels) + 1),
      CVTM_ARRAY(d->is_distinct, n),
      CVTM_ARRAY(d->undone, n),
      CVTM_ARRAY(d->place, n),
      CVTM_ARRAY(d->sums, n + 1),
      CVTM_ARRAY(d->bounds, 1),
      CVTM_ARRAY(d->counts, 1),
      CVTM_ARRAY(out->fans, 2 * n),
      CVTM_ARRAY(out->fan_start, n),
      CVTM_ARRAY(out->fan_count, n),
      CVTM_ARRAY(d->triangles, 2 * n),
  }};
}

static cvtm_arrays weight_arrays(cvtm_device_delaunay *d) {
  const int64_t n = d->count;
  return (cvtm_arrays){{
      CVTM_ARRAY(d->weights, n),
      CVTM_ARRAY(d->weight, n),
      CVTM_ARRAY(d->heaviest, cvtm_star_first_of_level(d->levels + 1)),
      CVTM_ARRAY(d->link, n),
  }};
}

static cvtm_status allocate_weights(cvtm_device_delaunay *d) {
  return cvtm_device_allocate_arrays(d->device, weight_arrays(d));
}

static cvtm_status allocate_stars(cvtm_device_delaunay *d) {
  cvtm_status status = cvtm_device_allocate_arrays(d->device, delaunay_arrays(d));
  d->output.room = (int32_t)(2 * d->count);
  d->output.counts = d->counts;
  return status;
}

cvtm_status cvtm_device_delaunay_create(cvtm_device *device, int64_t count,
                                        cvtm_device_delaunay **result) {
  cvtm_device_delaunay *d = calloc(1, sizeof *d);
  if (!d) return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_MEMORY, "out of memory");
  d->device = device;
  d->table = CVTM_TABLE(device, cvtm_star_table);
  d->count = count;
  d->levels = levels_for(count);
  const cvtm_status status = allocate_stars(d);
  if (status != CVTM_OK) {
    cvtm_device_delaunay_destroy(d);
    return status;
  }
  *result = d;
  return CVTM_OK;
}

void cvtm_device_delaunay_destroy(cvtm_device_delaunay *d) {
  if (!d) return;
  cvtm_device_free_arrays(d->device, delaunay_arrays(d));
  cvtm_device_free_arrays(d->device, weight_arrays(d));
  free(d);
}

double *cvtm_device_delaunay_points(const cvtm_device_delaunay *d) { return d->points; }

/* Finds the range of the weights; *least is the smallest. */
static cvtm_status bound_weights(cvtm_device_delaunay *d, double *least, double *range) {
  cvtm_device *device = d->device;
  double most = 0, *result = (double *)d->sums;
  CVTM_TRY(cvtm_reduce(device, CVTM_REDUCE_MIN, d->weights, d->count, result));
  CVTM_TRY(cvtm_device_copy_out(device, least, result, sizeof *least));
  CVTM_TRY(cvtm_reduce(device, CVTM_REDUCE_MAX, d->weights, d->count, result));
  CVTM_TRY(cvtm_device_copy_out(device, &most, result, sizeof most));
  *range = most - *least;
  if (!(fabs(*least) <= CVTM_LARGEST_COORDINATE && fabs(most) <= CVTM_LARGEST_COORDINATE))
    return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_INPUT,
                     "a weight is not finite or too large");
  return CVTM_OK;
}

/* The least exponent of the grid step with which weights differ by at most 2^61 squared steps; then
 * the predicates of star_search.h are exact. */
static int exponent_for_weights(double range, int exponent) {
  while (ldexp(range, -2 * exponent) > 0x1p61) ++exponent;
  return exponent;
}

/* Rounds points, and sorts them along the Morton curve into keys and index. *most: largest
 * coordinates. */
static cvtm_status sort_points(cvtm_device_delaunay *d, cvtm_grid_point *most,
                               cvtm_star_scale *scale) {
  cvtm_device *device = d->device;
  cvtm_bounds bounds;
  CVTM_TRY(d->table->bound(device, d->points, d->count, d->bounds));
  CVTM_TRY(cvtm_device_copy_out(device, &bounds, d->bounds, sizeof bounds));
  if (!bounds.usable)
    return cvtm_fail(cvtm_device_error(device), CVTM_ERROR_INPUT,
                     "a coordinate is not finite or too large");
  int exponent = cvtm_snap_exponent(&bounds);
  if (d->weights) {
    double range = 0;
    CVTM_TRY(bound_weights(d, &scale->least, &range));
    exponent = exponent_for_weights(range, exponent);
    scale->exponent = 2 * exponent;
  }
  const cvtm_snapping snapping = cvtm_snapping_for(&bounds, exponent);
  double right = bounds.high[0], top = bounds.low[1];
  most->x = cvtm_snap_coordinate(&snapping.x, &right);
  most->y = cvtm_snap_coordinate(&snapping.y, &top);
  CVTM_TRY(d->table->snap(device, snapping, d->points, d->count, d->keys, d->index));
  return cvtm_sort_pairs(device, d->keys, d->index, d->keys_alt, d->index_alt, d->count,
                         CVTM_STAR_KEY_BITS);
}

/* Sets the weight and the vertex of each point of the tree, and the largest weight in each square;
 * clears the links. */
static cvtm_status weigh_tree(cvtm_device_delaunay *d, cvtm_star_scale scale,
                              cvtm_star_tree *tree) {
  CVTM_TRY(d->table->weigh(d->device, d->weights, scale, d->index, d->is_distinct, d->sums,
                           d->count, d->weight, d->vertex));
  tree->weight = d->weight;
  tree->heaviest = d->heaviest;
  tree->link = d->link;
  for (int32_t level = tree->levels; level >= 0; --level)
    CVTM_TRY(d->table->find_heaviest(d->device, tree, level, d->heaviest));
  return cvtm_device_fill(d->device, d->link, 0xFF, (size_t)d->count * sizeof *d->link);
}

/* Builds the tree of the distinct points. */
static cvtm_status make_tree(cvtm_device_delaunay *d, cvtm_star_tree *tree) {
  const cvtm_star_table *table = d->table;
  cvtm_device *device = d->device;
  const int64_t n = d->count;
  cvtm_grid_point most = {0, 0};
  cvtm_star_scale scale = {0, 0};
  CVTM_TRY(sort_points(d, &most, &scale));
  CVTM_TRY(table->mark(device, d->keys, n, d->is_distinct));
  CVTM_TRY(cvtm_scan_64(device, d->is_distinct, n, d->sums));
  CVTM_TRY(table->compact(device, d->keys, d->index, d->is_distinct, d->sums, n, d->tree_keys,
                          d->place, d->vertex));
  CVTM_TRY(cvtm_device_copy_out(device, &d->distinct, d->sums + n, sizeof d->distinct));
  *tree = (cvtm_star_tree){.count = d->distinct,
                           .key = d->tree_keys,
                           .place = d->place,
                           .vertex = d->vertex,
                           .start = d->start,
                           .levels = levels_for(d->distinct),
                           .most = most};
  cvtm_status status = table->divide(device, d->tree_keys, d->distinct, tree->levels, d->start);
  return status == CVTM_OK && d->weights ? weigh_tree(d, scale, tree) : status;
}

/* Finds the stars of a list (NULL: all). Appends stars whose search failed to
 * d->output.deferred. */
static cvtm_status make_some(cvtm_device_delaunay *d, const cvtm_star_tree *tree,
                             const int32_t *list, int64_t count, int32_t visits,
                             cvtm_star_counts *counts) {
  cvtm_device *device = d->device;
  CVTM_TRY(cvtm_device_copy_in(device, d->counts, counts, sizeof *counts));
  CVTM_TRY(d->table->make(device, tree, list, count, visits, &d->output));
  return cvtm_device_copy_out(device, counts, d->counts, sizeof *counts);
}

/* Makes one pass over the stars of a list (NULL: all), which lists stars whose search failed in
 * d->output.deferred. If many stars have to search beyond their neighbourhood, some are tried
 * first; if nearly all of these fail, the pass ends. */
static cvtm_status make_pass(cvtm_device_delaunay *d, const cvtm_star_tree *tree,
                             const int32_t *list, int64_t count, int32_t visits,
                             cvtm_star_counts *counts) {
  const int many =
      list && visits > 0 && count > TRIED && count > d->distinct / HARD_SHARE && !d->thorough;
  const int64_t tried = many ? TRIED : 0;
  d->output.deferred = list == d->undone ? d->is_distinct : d->undone;
  counts->deferred = counts->unlinked = 0;
  if (many) {
    const cvtm_status status = make_some(d, tree, list, tried, visits, counts);
    const int hopeless = counts->deferred - counts->unlinked > tried - tried / 8;
    if (hopeless) counts->deferred = (int32_t)count;
    if (status != CVTM_OK || hopeless) return status;
  }
  return make_some(d, tree, list ? list + tried : NULL, count - tried, visits, counts);
}

/* The limit of the search in the next pass: the fewer stars are left, the larger it is. */
static int32_t next_visits(const cvtm_device_delaunay *d, int32_t visits, int64_t undone) {
  const int64_t share = VISITS_OF_ALL / undone;
  if (visits == CVTM_STAR_NEAR) return CVTM_STAR_AROUND;
  if (d->thorough) return INT32_MAX;
  return share < VISITS_OF_ONE ? (int32_t)share : VISITS_OF_ONE;
}

/* Finds all stars, or as many as is possible with limited effort. Stars without a known neighbour
 * are tried again after each pass. If no other star has any of these points as a neighbour, their
 * cells are empty. */
static cvtm_status make_stars(cvtm_device_delaunay *d, const cvtm_star_tree *tree,
                              cvtm_star_counts *counts) {
  int64_t left = tree->count;
  int32_t visits = CVTM_STAR_NEAR;
  const int32_t *list = NULL;
  cvtm_status status =
      cvtm_device_fill(d->device, d->output.fan_count, 0, (size_t)d->count * sizeof(int32_t));
  for (;;) {
    if (status == CVTM_OK) status = make_pass(d, tree, list, left, visits, counts);
    if (status != CVTM_OK || counts->deferred == 0) return status;
    const int all_unlinked = counts->unlinked == left;
    list = d->output.deferred;
    left = counts->deferred;
    if (all_unlinked) {
      d->hidden = left;
      counts->deferred = 0;
      return CVTM_OK;
    }
    if (counts->unlinked == left) continue;
    const int32_t next = next_visits(d, visits, left - counts->unlinked);
    if (next / 2 < visits) return CVTM_OK;
    visits = next;
  }
}

/* For vertices whose star search failed, takes the triangles from the stars of their neighbours. A
 * triangle is missed if the searches of all three vertices failed. */
static cvtm_status adopt(cvtm_device_delaunay *d, const cvtm_star_tree *tree,
                         cvtm_star_counts *counts) {
  const cvtm_star_table *table = d->table;
  cvtm_device *device = d->device;
  const int32_t *list = d->output.deferred;
  int32_t *undecided = d->index;
  cvtm_status status = cvtm_device_fill(device, undecided, 0, (size_t)d->count * sizeof *undecided);
  if (status == CVTM_OK) status = table->flag(device, tree, list, counts->deferred, undecided);
  if (status == CVTM_OK)
    status = table->adopt(device, tree, VISITS_OF_ONE, undecided, d->triangles, &d->output);
  if (status == CVTM_OK) status = cvtm_device_copy_out(device, counts, d->counts, sizeof *counts);
  if (status != CVTM_OK || counts->adopted > d->output.room - counts->triangles) return status;
  status = table->sort_adopted(device, tree, list, counts->deferred, undecided, d->triangles,
                               counts->adopted, &d->output);
  if (status == CVTM_OK) status = cvtm_device_copy_out(device, counts, d->counts, sizeof *counts);
  return status;
}

/* A triangulation of n points, h of them on the hull, has 2 n - 2 - h triangles. Stars whose search
 * failed can only make the number of triangles and h too small, so errors cannot cancel. Points
 * with empty cells do not count. */
static int is_complete(const cvtm_device_delaunay *d, const cvtm_star_counts *counts) {
  if (counts->triangles == 0) return counts->deferred == 0;
  return counts->triangles == 2 * (d->distinct - d->hidden) - 2 - counts->open;
}

static cvtm_status collect_triangles(cvtm_device_delaunay *d) {
  CVTM_TRY(cvtm_scan_64(d->device, d->output.fan_count, d->count, d->sums));
  CVTM_TRY(d->table->collect(d->device, &d->output, d->sums, d->count, d->triangles));
  return cvtm_device_synchronize(d->device);
}

cvtm_status cvtm_device_delaunay_build(cvtm_device_delaunay *d, int64_t *undecided) {
  cvtm_star_tree tree;
  cvtm_star_counts counts = {0};
  d->hidden = 0;
  CVTM_TRY(make_tree(d, &tree));
  CVTM_TRY(make_stars(d, &tree, &counts));
  if (counts.deferred > 0 && !d->weights && counts.deferred <= d->distinct / ADOPTED_SHARE)
    CVTM_TRY(adopt(d, &tree, &counts));
  *undecided = 0;
  d->triangle_count = counts.triangles;
  if (is_complete(d, &counts)) return collect_triangles(d);
  *undecided = counts.deferred;
  if (counts.deferred > 0) return CVTM_OK;
  return cvtm_fail(cvtm_device_error(d->device), CVTM_ERROR_INTERNAL,
                   "%d triangles of %lld points, of which %d lie on the hull", counts.triangles,
                   (long long)(d->distinct - d->hidden), counts.open);
}

const int32_t *cvtm_device_delaunay_triangles(const cvtm_device_delaunay *d, int64_t *count) {
  *count = d->triangle_count;
  return (const int32_t *)d->triangles;
}

cvtm_status cvtm_device_delaunay_copy_out(const cvtm_device_delaunay *d, cvtm_mesh *mesh) {
  cvtm_mesh made = {
      .vertex_count = d->count,
      .triangle_count = d->triangle_count,
      .coincident_count = d->count - d->distinct + (d->triangle_count > 0 ? d->hidden : 0),
      .collinear = d->triangle_count == 0};
  made.points = malloc((size_t)(2 * d->count) * sizeof *made.points);
  made.triangles = malloc((size_t)(3 * (d->triangle_count + 1)) * sizeof *made.triangles);
  cvtm_status status = CVTM_OK;
  if (!made.points || !made.triangles)
    status = cvtm_fail(cvtm_device_error(d->device), CVTM_ERROR_MEMORY,
                       "no memory for the triangles of %lld points", (long long)d->count);
  if (status == CVTM_OK)
    status = cvtm_device_copy_out(d->device, made.points, d->points,
                                  (size_t)(2 * d->count) * sizeof *made.points);
  if (status == CVTM_OK)
    status = cvtm_device_copy_out(d->device, made.triangles, d->triangles,
                                  (size_t)d->triangle_count * sizeof *d->triangles);
  if (status != CVTM_OK) {
    cvtm_mesh_free(&made);
    return status;
  }
  *mesh = made;
  return CVTM_OK;
}

typedef struct weighted_points {
  const double *points;
  const double *resident; /* the same points in device memory; NULL: they are copied there */
  const double *weights;  /* NULL: none */
  int64_t count;
} weighted_points;

static cvtm_status fill_points(cvtm_device_delaunay *d, const weighted_points *p) {
  const size_t bytes = (size_t)(2 * p->count) * sizeof *p->points;
  return p->resident ? cvtm_device_copy(d->device, d->points, p->resident, bytes)
                     : cvtm_device_copy_in(d->device, d->points, p->points, bytes);
}

/* Triangulates on the device. If report->undecided is not 0, there is no mesh. */
static cvtm_status triangulate_on(cvtm_device *device, const weighted_points *p, cvtm_mesh *mesh,
                                  cvtm_delaunay_report *report) {
  cvtm_device_delaunay *d = NULL;
  const double start = cvtm_clock();
  cvtm_status status = cvtm_device_delaunay_create(device, p->count, &d);
  if (status == CVTM_OK && p->weights) {
    d->thorough = cvtm_device_get_kind(device) == CVTM_DEVICE_CPU;
    status = allocate_weights(d);
    if (status == CVTM_OK)
      status = cvtm_device_copy_in(device, d->weights, p->weights,
                                   (size_t)p->count * sizeof *p->weights);
  }
  if (status == CVTM_OK) status = fill_points(d, p);
  const double there = cvtm_clock();
  if (status == CVTM_OK) status = cvtm_device_delaunay_build(d, &report->undecided);
  const double built = cvtm_clock();
  if (status == CVTM_OK && report->undecided == 0) status = cvtm_device_delaunay_copy_out(d, mesh);
  report->copy_in = there - start;
  report->build = built - there;
  report->copy_out = cvtm_clock() - built;
  cvtm_device_delaunay_destroy(d);
  return status;
}

/* Triangulates on the device, if that is useful. Nonzero if the device made the mesh. *status: an
 * error that would also occur on the host. Other errors are left to the host, which has more memory
 * and names the point with a bad coordinate. */
static int made_on_device(cvtm_device *device, const weighted_points *p, cvtm_mesh *mesh,
                          cvtm_delaunay_report *report, cvtm_status *status) {
  const int useful = device && p->points && mesh && p->count >= 1 &&
                     p->count <= CVTM_DELAUNAY_MOST &&
                     cvtm_device_get_kind(device) == CVTM_DEVICE_CUDA;
  *status = CVTM_OK;
  if (!useful) return 0;
  const cvtm_status made = triangulate_on(device, p, mesh, report);
  if (made != CVTM_OK && made != CVTM_ERROR_MEMORY && made != CVTM_ERROR_INPUT) *status = made;
  report->on_device = made == CVTM_OK && report->undecided == 0;
  return report->on_device;
}

/* Makes the regular triangulation by threads of the host. device: has their number; may be NULL. */
static cvtm_status weigh_on_host(const cvtm_device *device, const weighted_points *p,
                                 cvtm_mesh *mesh, cvtm_error *error) {
  cvtm_delaunay_report report = {0};
  cvtm_device *cpu = NULL;
  CVTM_TRY(cvtm_device_create("cpu", device ? cvtm_device_threads(device) : 0, &cpu, error));
  cvtm_status status = triangulate_on(cpu, p, mesh, &report);
  if (status != CVTM_OK) cvtm_fail(error, status, "%s", cvtm_device_error(cpu)->message);
  cvtm_device_destroy(cpu);
  return status;
}

static cvtm_status triangulate_somewhere(cvtm_device *device, const weighted_points *p,
                                         cvtm_mesh *mesh, cvtm_delaunay_report *report,
                                         cvtm_error *error) {
  cvtm_delaunay_report own = {0};
  const double start = cvtm_clock();
  cvtm_status status;
  if (!made_on_device(device, p, mesh, &own, &status)) {
    if (status != CVTM_OK)
      return cvtm_fail(error, status, "%s", cvtm_device_error(device)->message);
    status = p->weights ? weigh_on_host(device, p, mesh, error)
                        : cvtm_delaunay(p->points, p->count, mesh, error);
  }
  own.seconds = cvtm_clock() - start;
  if (report) *report = own;
  return status;
}

cvtm_status cvtm_delaunay_on(cvtm_device *device, const double *points, int64_t count,
                             cvtm_mesh *mesh, cvtm_delaunay_report *report, cvtm_error *error) {
  return cvtm_delaunay_resident(device, points, NULL, count, mesh, report, error);
}

cvtm_status cvtm_delaunay_resident(cvtm_device *device, const double *points,
                                   const double *resident, int64_t count, cvtm_mesh *mesh,
                                   cvtm_delaunay_report *report, cvtm_error *error) {
  const weighted_points p = {points, resident, NULL, count};
  return triangulate_somewhere(device, &p, mesh, report, error);
}

cvtm_status cvtm_regular_triangulation(cvtm_device *device, const double *points,
                                       const double *weights, int64_t count, cvtm_mesh *mesh,
                                       cvtm_delaunay_report *report, cvtm_error *error) {
  if (!points || !weights || !mesh)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "no points, no weights or no mesh");
  if (count < 1 || count > CVTM_DELAUNAY_MOST)
    return cvtm_fail(error, CVTM_ERROR_ARGUMENT, "%lld points; 1 to %d can be triangulated",
                     (long long)count, CVTM_DELAUNAY_MOST);
  const weighted_points p = {points, NULL, weights, count};
  return triangulate_somewhere(device, &p, mesh, report, error);
}

/* Inside meshes only, for both devices: finds the star of a point, that is, the triangles around it
 * in the Delaunay triangulation or in the regular triangulation of weighted points, without the
 * stars of other points. Predicates are evaluated in floating point where rounding cannot change
 * the result, else in integers.
 *
 * The edge from a point o to its nearest neighbour q is a Delaunay edge. On one side of a Delaunay
 * edge oq the third corner of the triangle is the point c for which the circle through o, q and c
 * extends least far to that side: with cross = q x c > 0, the point with the least t = c.(c - q) /
 * cross. The search continues from edge to edge until the triangles close around o, or end at the
 * hull. A better point than the best so far lies inside the circle of the best, so squares of a
 * quadtree outside this circle are skipped.
 *
 * Ties: of cocircular points the first from left to right, then upwards, is a corner of all
 * triangles (cvtm_precedes). So of four such points the diagonal from the first is in the
 * triangulation. A triangle of more than four is in it exactly if it is in the triangulation of its
 * corners and any fourth point.
 *
 * With weights the power |y - p|^2 - w_p replaces the squared distance from p to y. A point whose
 * power cell is empty has no triangles. The search for a point inside its own cell begins with the
 * neighbour whose bisector is nearest. For any other point it begins with a neighbour in whose star
 * the point was found; there is one after finitely many passes, because the triangulation is
 * connected. Ties of powers are broken by distances, as if each weight were reduced by an
 * infinitesimal multiple of |p|^2, and then as without weights. */
#pragma once

#include "base/device.h"
#include "meshes/delaunay/star_search.h"

/* ---- The first neighbour ---- */

/* True if a^2 / a2 < b^2 / b2, or if both are equal and a2 < b2, for 0 < a, b <= 2^62 and
 * 0 < a2, b2 <= 2^61. */
CVTM_HD int cvtm_star_reaches_less(int64_t a, int64_t a2, int64_t b, int64_t b2) {
  const double left = (double)a * (double)a * (double)b2;
  const double right = (double)b * (double)b * (double)a2;
  const double bound = 1e-14 * (left + right);
  if (left - right > bound) return 0;
  if (left - right < -bound) return 1;
  /* Both products in 192 bits: the upper 128 of each, then the lower 64. */
  const cvtm_uint128 aa = (cvtm_uint128)a * (cvtm_uint128)a, bb = (cvtm_uint128)b * (cvtm_uint128)b;
  const cvtm_uint128 a_low = (cvtm_uint128)(uint64_t)aa * (uint64_t)b2;
  const cvtm_uint128 b_low = (cvtm_uint128)(uint64_t)bb * (uint64_t)a2;
  const cvtm_uint128 a_high = (aa >> 64) * (uint64_t)b2 + (a_low >> 64);
  const cvtm_uint128 b_high = (bb >> 64) * (uint64_t)a2 + (b_low >> 64);
  if (a_high != b_high) return a_high < b_high;
  if ((uint64_t)a_low != (uint64_t)b_low) return (uint64_t)a_low < (uint64_t)b_low;
  return a2 < b2;
}

/* Makes the point the best neighbour if its bisector is nearer than that of the best so far. With
 * weights, sets s->undone if o is not inside its own cell. */
CVTM_HD void cvtm_star_offer_first(cvtm_star_search *s, int32_t place, int weighted) {
  const cvtm_grid_point c = cvtm_star_from(s, place);
  const int64_t distance2 = (int64_t)c.x * c.x + (int64_t)c.y * c.y;
  if (place == s->self) return;
  if (weighted) {
    const int64_t bisector = cvtm_star_bisector(s, place, c);
    if (bisector <= 0) s->undone = CVTM_STAR_UNLINKED;
    if (bisector <= 0 ||
        (s->best >= 0 && !cvtm_star_reaches_less(bisector, distance2, s->bisector, s->distance2)))
      return;
    s->bisector = bisector;
  } else if (s->best >= 0 && distance2 >= s->distance2) {
    return;
  }
  s->best = place;
  s->distance2 = distance2;
}

/* Twice the distance from o to the nearest bisector, increased by the error of rounding. */
CVTM_HD double cvtm_star_first_reach(const cvtm_star_search *s, int weighted) {
  if (s->best < 0) return HUGE_VAL;
  const double distance = sqrt((double)s->distance2);
  return (weighted ? (double)s->bisector / distance : distance) * (1 + 1e-9) + (weighted ? 1 : 0);
}

/* Sets s->best to the neighbour whose bisector is nearest to o; -1 if there is no other point. */
CVTM_HD void cvtm_star_find_first(cvtm_star_search *s, int weighted) {
  s->best = -1;
  for (int32_t k = 0; k < s->near_count && !s->undone; ++k)
    cvtm_star_offer_first(s, s->near[k], weighted);
  if (!(s->cover < HUGE_VAL) || s->undone) return;
  if (cvtm_star_first_reach(s, weighted) < s->cover) return;
  cvtm_star_node stack[CVTM_STAR_STACK];
  const cvtm_star_node root = {0, 0, 0};
  int32_t top = 0;
  stack[top++] = root;
  while (top > 0 && !s->undone) {
    const cvtm_star_node node = stack[--top];
    if (--s->visits < 0) {
      s->undone = CVTM_STAR_FAR;
      return;
    }
    int32_t first, last;
    cvtm_star_range(s->tree, node.level, cvtm_star_code((uint32_t)node.i, (uint32_t)node.j), &first,
                    &last);
    if (first == last) continue;
    const cvtm_star_box box = cvtm_star_box_of(s, node.level, node.i, node.j);
    const double distance = sqrt(cvtm_star_distance2(&box, 0, 0));
    const double gain = weighted ? cvtm_star_gain(s, node.level, node.i, node.j) : 0;
    if (distance > 0 && cvtm_star_least_reach(distance, gain) > cvtm_star_first_reach(s, weighted))
      continue;
    if (last - first <= CVTM_STAR_LEAF || node.level == CVTM_GRID_BITS) {
      for (int32_t k = first; k < last; ++k) cvtm_star_offer_first(s, k, weighted);
    } else {
      top = cvtm_star_push_children(node, &box, stack, top);
    }
  }
}

/* ---- The star ---- */

/* The corners of a triangle, counterclockwise from the first vertex. */
typedef struct cvtm_star_corners {
  int32_t first, second, third;
} cvtm_star_corners;

/* Triangles around a point. If `undecided` is NULL, these are the triangles whose first vertex is
 * the point. Otherwise these are the triangles that have vertices with smaller numbers, all of them
 * undecided. Triangles beyond `room` are counted but not stored. */
typedef struct cvtm_star_fan {
  cvtm_star_corners *triangles;
  int32_t room, count;
  const int32_t *undecided; /* nonzero for undecided vertices; NULL: see above */
  int32_t open;             /* nonzero: the point lies on the hull */
  int32_t end[2];           /* the places of the point's two neighbours on the hull */
} cvtm_star_fan;

CVTM_HD cvtm_star_fan cvtm_star_fan_in(cvtm_star_corners *triangles, int32_t room,
                                       const int32_t *undecided) {
  const cvtm_star_fan fan = {triangles, room, 0, undecided, 0, {-1, -1}};
  return fan;
}

/* Nonzero if the triangle of the vertices a, b and c belongs to the fan of a. */
CVTM_HD int cvtm_star_belongs(const cvtm_star_fan *fan, int32_t a, int32_t b, int32_t c) {
  if (fan->undecided == NULL) return a < b && a < c;
  if (a < b && a < c) return 0;
  return (a < b || fan->undecided[b]) && (a < c || fan->undecided[c]);
}

CVTM_HD void cvtm_star_add(const cvtm_star_search *s, int32_t q, int32_t r, cvtm_star_fan *fan) {
  const int32_t *vertex = s->tree->vertex;
  const int32_t a = vertex[s->self], b = vertex[q], c = vertex[r];
  if (!cvtm_star_belongs(fan, a, b, c)) return;
  if (fan->count < fan->room) {
    const cvtm_star_corners abc = {a, b, c}, bca = {b, c, a}, cab = {c, a, b};
    fan->triangles[fan->count] = a < b && a < c ? abc : b < c ? bca : cab;
  }
  fan->count++;
}

/* Records s->self as a neighbour of the point at `place`. Several threads may write there at
 * once. */
CVTM_HD void cvtm_star_link(const cvtm_star_search *s, int32_t place) {
#ifdef __CUDA_ARCH__
  *(volatile int32_t *)(s->tree->link + place) = s->self;
#else
  __atomic_store_n(s->tree->link + place, s->self, __ATOMIC_RELAXED);
#endif
}

CVTM_HD int32_t cvtm_star_link_of(const cvtm_star_search *s) {
#ifdef __CUDA_ARCH__
  return *(volatile const int32_t *)(s->tree->link + s->self);
#else
  return __atomic_load_n(s->tree->link + s->self, __ATOMIC_RELAXED);
#endif
}

/* Goes around the point from the edge to `start` in one direction. Returns nonzero if it comes back
 * to this edge. */
CVTM_HD int cvtm_star_sweep(cvtm_star_search *s, int32_t start, int32_t sense, int weighted,
                            cvtm_star_fan *fan) {
  int32_t at = start;
  for (;;) {
    if (weighted) cvtm_star_link(s, at);
    cvtm_star_find(s, at, sense, weighted);
    if (s->undone) return 0;
    if (s->best < 0) {
      fan->end[sense > 0] = at;
      return 0;
    }
    const int32_t next = s->best;
    cvtm_star_add(s, sense > 0 ? at : next, sense > 0 ? next : at, fan);
    if (next == start) return 1;
    at = next;
  }
}

/* Finds the fan of the point at a place, in no particular order. weighted: a compile-time constant,
 * nonzero if the tree has weights. visits: limit of the search. stack: NULL, or memory that the
 * threads of a warp share; then all threads of the warp call. */
CVTM_HD cvtm_star_outcome cvtm_star_make(const cvtm_star_tree *tree, int weighted, int32_t place,
                                         int32_t visits, cvtm_star_node *stack,
                                         cvtm_star_fan *fan) {
  cvtm_star_search s;
  s.stack = stack;
  s.tree = tree;
  s.self = place;
  s.o = tree->place[place];
  s.weight = weighted ? tree->weight[place] : 0;
  s.visits = visits;
  s.undone = CVTM_STAR_DONE;
  fan->count = 0;
  cvtm_star_set_block(&s, weighted);
  int32_t start = weighted ? cvtm_star_link_of(&s) : -1;
#ifdef __CUDA_ARCH__
  if (weighted && stack != NULL) start = __shfl_sync(0xFFFFFFFFu, start, 0);
#endif
  if (start < 0) {
    cvtm_star_find_first(&s, weighted);
    start = s.best;
    if (s.undone || start < 0) return (cvtm_star_outcome)s.undone;
  }
  if (!cvtm_star_sweep(&s, start, 1, weighted, fan) && !s.undone) {
    fan->open = 1;
    cvtm_star_sweep(&s, start, -1, weighted, fan);
  }
  return (cvtm_star_outcome)s.undone;
}

/* Sorts a fan by the second corner; heapsort, because it needs no memory for a long fan. */
CVTM_HD void cvtm_star_sift(cvtm_star_corners *fan, int32_t at, int32_t count) {
  const cvtm_star_corners moving = fan[at];
  for (;;) {
    int32_t child = 2 * at + 1;
    if (child >= count) break;
    if (child + 1 < count && fan[child].second < fan[child + 1].second) ++child;
    if (fan[child].second < moving.second) break;
    fan[at] = fan[child];
    at = child;
  }
  fan[at] = moving;
}

CVTM_HD void cvtm_star_sort(cvtm_star_corners *fan, int32_t count) {
  if (count <= 16) {
    for (int32_t i = 1; i < count; ++i) {
      const cvtm_star_corners moving = fan[i];
      int32_t k = i;
      for (; k > 0 && fan[k - 1].second > moving.second; --k) fan[k] = fan[k - 1];
      fan[k] = moving;
    }
    return;
  }
  for (int32_t i = count / 2 - 1; i >= 0; --i) cvtm_star_sift(fan, i, count);
  for (int32_t last = count - 1; last > 0; --last) {
    const cvtm_star_corners largest = fan[0];
    fan[0] = fan[last];
    fan[last] = largest;
    cvtm_star_sift(fan, 0, last);
  }
}

/* ---- The phases that differ between devices ---- */

CVTM_C_BEGIN

enum { CVTM_STAR_ROOM = 16 /* triangles of a fan that are stored during the search */ };

/* Counters of the kernels. */
typedef struct cvtm_star_counts {
  int32_t triangles; /* triangles in fans */
  int32_t deferred;  /* stars whose search failed */
  int32_t unlinked;  /* of these stars, those without a known neighbour */
  int32_t open;      /* stars of points on the hull */
  int32_t adopted;   /* triangles of undecided vertices */
} cvtm_star_counts;

/* Arrays that receive the stars. */
typedef struct cvtm_star_output {
  cvtm_star_corners *fans; /* `room` triangles; the triangles of a fan are consecutive */
  int32_t room;
  int32_t *fan_start, *fan_count; /* per vertex */
  int32_t *deferred;              /* places of stars whose search failed */
  cvtm_star_counts *counts;
} cvtm_star_output;

/* The integer weight is the weight minus `least`, in units of 2^exponent. */
typedef struct cvtm_star_scale {
  double least;
  int32_t exponent;
} cvtm_star_scale;

CVTM_HD int64_t cvtm_star_weight(cvtm_star_scale scale, double weight) {
  return (int64_t)rint(ldexp(weight - scale.least, -scale.exponent));
}

/* Each phase enqueues its work; all arrays are in device memory. */
typedef struct cvtm_star_table {
  /* Sets *bounds to the bounding box of count >= 1 points. */
  cvtm_status (*bound)(cvtm_device *device, const double *points, int64_t count,
                       cvtm_bounds *bounds);
  /* Rounds the points to the grid, and computes their keys; index[i] = i. */
  cvtm_status (*snap)(cvtm_device *device, cvtm_snapping snapping, double *points, int64_t count,
                      uint64_t *keys, int32_t *index);
  /* distinct[k]: 1 if sorted key k differs from the one before. */
  cvtm_status (*mark)(cvtm_device *device, const uint64_t *keys, int64_t count, int32_t *distinct);
  /* Copies the distinct keys to place sums[k] of the tree's arrays. */
  cvtm_status (*compact)(cvtm_device *device, const uint64_t *keys, const int32_t *index,
                         const int32_t *distinct, const int64_t *sums, int64_t count,
                         uint64_t *tree_keys, cvtm_grid_point *place, int32_t *vertex);
  /* Sets weight and vertex of the tree's points. Of coincident points the heaviest is used; of
   * equal weights the first. weights: those of all points, converted by cvtm_star_weight. */
  cvtm_status (*weigh)(cvtm_device *device, const double *weights, cvtm_star_scale scale,
                       const int32_t *index, const int32_t *distinct, const int64_t *sums,
                       int64_t count, int64_t *weight, int32_t *vertex);
  /* Sets the largest weight in each square of a level, from the points if level = tree->levels,
   * else from the four squares below. */
  cvtm_status (*find_heaviest)(cvtm_device *device, const cvtm_star_tree *tree, int32_t level,
                               int64_t *heaviest);
  /* Sets start of the 4^levels squares. */
  cvtm_status (*divide)(cvtm_device *device, const uint64_t *tree_keys, int64_t count,
                        int32_t levels, int32_t *start);
  /* Finds the stars of the places list[0 .. count - 1], or of 0 .. count - 1 if list is NULL; with
   * weights if the tree has them. */
  cvtm_status (*make)(cvtm_device *device, const cvtm_star_tree *tree, const int32_t *list,
                      int64_t count, int32_t visits, const cvtm_star_output *output);
  /* Sets undecided[v] = 1 for the vertices v at the places of a list. */
  cvtm_status (*flag)(cvtm_device *device, const cvtm_star_tree *tree, const int32_t *list,
                      int64_t count, int32_t *undecided);
  /* Without weights: copies triangles of undecided vertices from the stars of other vertices to
   * `adopted` (output->room triangles), counted in fan_count. Sets undecided[v] to 2 on the
   * hull. */
  cvtm_status (*adopt)(cvtm_device *device, const cvtm_star_tree *tree, int32_t visits,
                       int32_t *undecided, cvtm_star_corners *adopted,
                       const cvtm_star_output *output);
  /* Sorts the adopted triangles into fans, for the vertices at the places of the list. */
  cvtm_status (*sort_adopted)(cvtm_device *device, const cvtm_star_tree *tree, const int32_t *list,
                              int64_t count, const int32_t *undecided,
                              const cvtm_star_corners *adopted, int64_t adopted_count,
                              const cvtm_star_output *output);
  /* Writes the triangles of all fans; those of vertex v begin at first[v]. */
  cvtm_status (*collect)(cvtm_device *device, const cvtm_star_output *output, const int64_t *first,
                         int64_t count, cvtm_star_corners *triangles);
} cvtm_star_table;

extern const cvtm_star_table cvtm_star_table_cpu, cvtm_star_table_cuda;

CVTM_C_END
/* Records that the fan of a place begins at `at`. */
CVTM_HD void cvtm_star_keep(const cvtm_star_tree *tree, int32_t place, int32_t at, int32_t count,
                            const cvtm_star_output *output) {
  output->fan_start[tree->vertex[place]] = at;
  output->fan_count[tree->vertex[place]] = count;
  cvtm_star_sort(output->fans + at, count);
}

/* Stores a fan of at most CVTM_STAR_ROOM triangles from `at` on. The array has room for all
 * triangles of a triangulation; if there are more, the total count shows it. */
CVTM_HD void cvtm_star_copy(const cvtm_star_tree *tree, int32_t place, int32_t at,
                            const cvtm_star_fan *fan, const cvtm_star_output *output) {
  if (fan->count > output->room - at) return;
  for (int32_t k = 0; k < fan->count; ++k) output->fans[at + k] = fan->triangles[k];
  cvtm_star_keep(tree, place, at, fan->count, output);
}

/* Stores a fan; if it has more than CVTM_STAR_ROOM triangles, the search is repeated. */
CVTM_HD void cvtm_star_store(const cvtm_star_tree *tree, int weighted, int32_t place,
                             int32_t visits, int32_t at, const cvtm_star_fan *fan,
                             const cvtm_star_output *output) {
  if (fan->count <= CVTM_STAR_ROOM) {
    cvtm_star_copy(tree, place, at, fan, output);
  } else if (fan->count <= output->room - at) {
    cvtm_star_fan again = cvtm_star_fan_in(output->fans + at, fan->count, NULL);
    (void)cvtm_star_make(tree, weighted, place, visits, NULL, &again);
    cvtm_star_keep(tree, place, at, fan->count, output);
  }
}

/* The number of stored triangles of a fan. If triangles of undecided vertices are lost, the total
 * count shows it. */
CVTM_HD int32_t cvtm_star_kept(const cvtm_star_fan *fan) {
  return fan->count < fan->room ? fan->count : fan->room;
}

/* Writes the triangles of vertex v. */
CVTM_HD void cvtm_star_collect_fan(const cvtm_star_output *output, const int64_t *first, int64_t v,
                                   cvtm_star_corners *triangles) {
  const int32_t count = output->fan_count[v];
  if (count == 0) return; /* a coincident point has no fan */
  const cvtm_star_corners *fan = output->fans + output->fan_start[v];
  for (int32_t k = 0; k < count; ++k) triangles[first[v] + k] = fan[k];
}

/* Sets the heaviest of the coincident points whose first sorted key is k; see `weigh`. */
CVTM_HD void cvtm_star_weigh(const double *weights, cvtm_star_scale scale, const int32_t *index,
                             const int32_t *distinct, int64_t k, int64_t count, int64_t *weight,
                             int32_t *vertex) {
  *weight = -1;
  do {
    const int64_t here = cvtm_star_weight(scale, weights[index[k]]);
    if (here > *weight) *vertex = index[k];
    if (here > *weight) *weight = here;
  } while (++k < count && !distinct[k]);
}

/* Sets the largest weight in square `code` of a level; see `find_heaviest`. */
CVTM_HD void cvtm_star_set_heaviest(const cvtm_star_tree *tree, int32_t level, int64_t code,
                                    int64_t *heaviest) {
  const int64_t *below = heaviest + cvtm_star_first_of_level(level + 1) + 4 * code;
  const int leaf = level == tree->levels;
  const int64_t first = leaf ? tree->start[code] : 0, last = leaf ? tree->start[code + 1] : 4;
  int64_t most = 0;
  for (int64_t k = first; k < last; ++k) {
    const int64_t weight = leaf ? tree->weight[k] : below[k];
    if (weight > most) most = weight;
  }
  heaviest[cvtm_star_first_of_level(level) + code] = most;
}

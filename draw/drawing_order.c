/* The order of the strokes of a drawing: each part begins at the end of a stroke that is nearest to
 * the origin of the page, and goes on with the nearest end of the strokes that are not yet drawn.
 * This end is found in a k-d tree, from which the ends of drawn strokes are removed. */
#include "base/host.h"
#include "draw/drawing.h"
#include "draw/nearest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Ends 2 k and 2 k + 1 are the first and the last point of stroke k. The node of a range of `order`
 * is the end in its middle; live[middle] counts the ends of the range that are not removed. */
typedef struct end_tree {
  double *place; /* x, y of each end */
  int32_t *order, *at, *live;
  unsigned char *axis, *gone;
  double best; /* squared distance of `found` */
  int32_t found;
  cvtm_scratch memory; /* of the arrays */
} end_tree;

static void build_range(end_tree *t, int32_t first, int32_t end) {
  while (first < end) {
    const int32_t middle = first + (end - first) / 2;
    t->axis[middle] = (unsigned char)cvtm_split_points(t->place, t->order, first, end);
    t->live[middle] = end - first;
    build_range(t, first, middle);
    first = middle + 1;
  }
}

static void remove_end(end_tree *t, int32_t count, int32_t one) {
  const int32_t place = t->at[one];
  for (int32_t first = 0, end = count;;) {
    const int32_t middle = first + (end - first) / 2;
    --t->live[middle];
    if (place == middle) break;
    if (place < middle)
      end = middle;
    else
      first = middle + 1;
  }
  t->gone[one] = 1;
}

/* Finds the end nearest to p, and of several at the same distance the first. */
static void search_range(end_tree *t, int32_t first, int32_t end, const double *p) {
  while (first < end) {
    const int32_t middle = first + (end - first) / 2;
    if (t->live[middle] == 0) return;
    const int32_t one = t->order[middle];
    const double x = t->place[2 * (int64_t)one] - p[0], y = t->place[2 * (int64_t)one + 1] - p[1];
    const double distance = x * x + y * y;
    if (!t->gone[one] && (distance < t->best || (distance == t->best && one < t->found))) {
      t->best = distance;
      t->found = one;
    }
    const double beyond = t->axis[middle] ? y : x; /* positive: p lies in the lower half */
    const int lower_first = beyond > 0, has_other = beyond * beyond <= t->best;
    if (lower_first && has_other)
      search_range(t, first, middle, p), first = middle + 1;
    else if (lower_first)
      end = middle;
    else if (has_other)
      search_range(t, middle + 1, end, p), end = middle;
    else
      first = middle + 1;
  }
}

static void allocate_tree(end_tree *t, size_t ends) {
  t->place = cvtm_scratch_take(&t->memory, 2 * ends, sizeof *t->place);
  t->order = cvtm_scratch_take(&t->memory, ends, sizeof *t->order);
  t->at = cvtm_scratch_take(&t->memory, ends, sizeof *t->at);
  t->live = cvtm_scratch_take(&t->memory, ends, sizeof *t->live);
  t->axis = cvtm_scratch_take(&t->memory, ends, 1);
  t->gone = cvtm_scratch_take(&t->memory, ends, 1);
}

/* Sets walk[] to the strokes of a part in their new order: 2 * stroke, + 1 if it is reversed. */
static void walk_strokes(end_tree *t, const cvtm_drawing *drawing, int64_t first, int32_t strokes,
                         int32_t *walk) {
  const int32_t ends = 2 * strokes;
  for (int32_t e = 0; e < ends; ++e) {
    const int64_t k = first + e / 2;
    const int64_t point = e % 2 ? drawing->start[k + 1] - 1 : drawing->start[k];
    memcpy(t->place + 2 * (int64_t)e, drawing->points + 2 * point, 2 * sizeof *t->place);
    t->order[e] = e;
    t->gone[e] = 0;
  }
  build_range(t, 0, ends);
  for (int32_t k = 0; k < ends; ++k) t->at[t->order[k]] = k;
  double p[2] = {0, 0};
  for (int32_t k = 0; k < strokes; ++k) {
    t->best = INFINITY;
    t->found = INT32_MAX;
    search_range(t, 0, ends, p);
    walk[k] = t->found;
    remove_end(t, ends, t->found);
    remove_end(t, ends, t->found ^ 1);
    memcpy(p, t->place + 2 * (int64_t)(t->found ^ 1), sizeof p);
  }
}

/* The arrays of the reordered drawing. */
typedef struct ordered_strokes {
  int64_t *start, *part, count, points;
  double *place;
} ordered_strokes;

/* Appends stroke walk / 2, reversed if walk is odd. If the stroke begins where the previous stroke
 * of the part ends, the two are joined. */
static void append_stroke(const cvtm_drawing *drawing, int64_t first, int32_t walk, int is_first,
                          ordered_strokes *made) {
  const double near = 1e-6 * (drawing->page.width + drawing->page.height);
  const int64_t k = first + walk / 2, begin = drawing->start[k], end = drawing->start[k + 1];
  const int64_t step = walk % 2 ? -1 : 1;
  const double *from = drawing->points + 2 * (walk % 2 ? end - 1 : begin);
  const double *last = made->place + 2 * (made->points - 1);
  const int goes_on = !is_first && hypot(from[0] - last[0], from[1] - last[1]) <= near;
  if (!goes_on) made->start[made->count++] = made->points;
  for (int64_t i = goes_on; i < end - begin; ++i)
    memcpy(made->place + 2 * made->points++, from + 2 * step * i, 2 * sizeof *from);
}

cvtm_status cvtm_drawing_order(cvtm_drawing *drawing, cvtm_error *error) {
  const int64_t strokes = drawing->stroke_count, parts = cvtm_drawing_parts(drawing);
  if (drawing->radius != NULL || strokes == 0) return CVTM_OK;
  if (strokes > INT32_MAX / 2)
    return cvtm_fail(error, CVTM_ERROR_UNSUPPORTED,
                     "a drawing of %lld strokes is too large to be ordered", (long long)strokes);
  const size_t n = (size_t)strokes;
  end_tree tree = {0};
  ordered_strokes made = {
      .start = malloc((n + 1) * sizeof *made.start),
      .part = malloc(((size_t)parts + 1) * sizeof *made.part),
      .place = malloc(2 * (size_t)drawing->start[strokes] * sizeof *made.place)};
  int32_t *walk = cvtm_scratch_take(&tree.memory, n, sizeof *walk);
  allocate_tree(&tree, 2 * n);
  const int has_memory = !tree.memory.failed && made.start && made.part && made.place;
  for (int64_t part = 0; has_memory && part < parts; ++part) {
    int64_t first, end;
    cvtm_drawing_part(drawing, part, &first, &end);
    made.part[part] = made.count;
    walk_strokes(&tree, drawing, first, (int32_t)(end - first), walk);
    for (int64_t k = 0; k < end - first; ++k) append_stroke(drawing, first, walk[k], k == 0, &made);
  }
  cvtm_scratch_free(&tree.memory);
  if (!has_memory) {
    free(made.start);
    free(made.part);
    free(made.place);
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory to order %lld strokes",
                     (long long)strokes);
  }
  made.part[parts] = made.count;
  made.start[made.count] = made.points;
  free(drawing->start);
  free(drawing->points);
  drawing->start = made.start;
  drawing->points = made.place;
  drawing->stroke_count = made.count;
  if (drawing->part != NULL) {
    free(drawing->part);
    drawing->part = made.part;
  } else {
    free(made.part);
  }
  return CVTM_OK;
}

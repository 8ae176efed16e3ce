#include "meshes/sized/size_tree.h"

#include "base/host.h"

#include <math.h>
#include <stdlib.h>

enum { LEAF = 8, MOST_LEVELS = 40 };

void cvtm_size_tree_free(cvtm_size_tree *tree) {
  free(tree->sources);
  free(tree->nodes);
  *tree = (cvtm_size_tree){0};
}

int cvtm_size_tree_add(cvtm_size_tree *tree, double x, double y, double size) {
  if (!cvtm_grow(&tree->sources, sizeof *tree->sources, &tree->capacity, tree->count + 1)) return 0;
  tree->sources[tree->count++] = (cvtm_small_size){x, y, size};
  return 1;
}

/* A total order, so that equal sources give equal trees. axis: 0, by x first; 1, by y first. */
static int is_before(const cvtm_small_size *a, const cvtm_small_size *b, int axis) {
  const double p[2] = {a->x, a->y}, q[2] = {b->x, b->y};
  if (p[axis] != q[axis]) return p[axis] < q[axis];
  return p[1 - axis] != q[1 - axis] ? p[1 - axis] < q[1 - axis] : a->size < b->size;
}

/* Moves the first `middle` sources in that order to the front (Hoare's selection). */
static void select_first(cvtm_small_size *s, int64_t count, int64_t middle, int axis) {
  int64_t low = 0, high = count - 1;
  while (low < high) {
    const cvtm_small_size pivot = s[low + (high - low) / 2];
    int64_t i = low, k = high;
    while (i <= k) {
      while (is_before(&s[i], &pivot, axis)) ++i;
      while (is_before(&pivot, &s[k], axis)) --k;
      if (i > k) break;
      const cvtm_small_size swap = s[i];
      s[i++] = s[k];
      s[k--] = swap;
    }
    if (middle <= k)
      high = k;
    else if (middle >= i)
      low = i;
    else
      return;
  }
}

static void describe_node(cvtm_size_node *node, const cvtm_small_size *s, int64_t count) {
  *node = (cvtm_size_node){{INFINITY, INFINITY}, {-INFINITY, -INFINITY}, INFINITY};
  for (int64_t k = 0; k < count; ++k) {
    node->low[0] = fmin(node->low[0], s[k].x);
    node->low[1] = fmin(node->low[1], s[k].y);
    node->high[0] = fmax(node->high[0], s[k].x);
    node->high[1] = fmax(node->high[1], s[k].y);
    node->least = fmin(node->least, s[k].size);
  }
}

static void build(cvtm_size_tree *tree, int64_t node, int level, int64_t begin, int64_t end) {
  cvtm_size_node *n = tree->nodes + node;
  describe_node(n, tree->sources + begin, end - begin);
  if (level == tree->leaf_level) return;
  const int wide = n->high[0] - n->low[0] > n->high[1] - n->low[1];
  const int64_t middle = begin + (end - begin) / 2;
  select_first(tree->sources + begin, end - begin, middle - begin, wide ? 0 : 1);
  build(tree, 2 * node + 1, level + 1, begin, middle);
  build(tree, 2 * node + 2, level + 1, middle, end);
}

int cvtm_size_tree_build(cvtm_size_tree *tree) {
  free(tree->nodes);
  tree->nodes = NULL;
  tree->built = tree->count;
  tree->leaf_level = 0;
  if (tree->count == 0) return 1;
  while (tree->leaf_level < MOST_LEVELS - 1 && tree->count >> tree->leaf_level > LEAF)
    ++tree->leaf_level;
  tree->nodes = malloc(((size_t)2 << tree->leaf_level) * sizeof *tree->nodes);
  if (tree->nodes == NULL) return 0;
  build(tree, 0, 0, 0, tree->count);
  return 1;
}

/* A lower bound of the sizes that the sources of a node allow at (x, y). */
static double bound_of(const cvtm_size_node *n, double growth, double x, double y) {
  const double dx = x < n->low[0] ? n->low[0] - x : x > n->high[0] ? x - n->high[0] : 0;
  const double dy = y < n->low[1] ? n->low[1] - y : y > n->high[1] ? y - n->high[1] : 0;
  return n->least + growth * sqrt(dx * dx + dy * dy);
}

typedef struct visit {
  double bound;
  int64_t node, begin, end;
  int level;
} visit;

double cvtm_size_tree_find(const cvtm_size_tree *tree, double growth, double x, double y,
                           double most, int64_t *source) {
  int64_t found = -1;
  if (source != NULL) *source = -1;
  if (tree->built == 0 || !(most > 0)) return most;
  visit stack[MOST_LEVELS + 1];
  int depth = 0;
  stack[depth++] = (visit){bound_of(tree->nodes, growth, x, y), 0, 0, tree->built, 0};
  while (depth > 0) {
    visit v = stack[--depth];
    while (v.bound < most && v.level < tree->leaf_level) {
      const int64_t middle = v.begin + (v.end - v.begin) / 2;
      const int64_t left = 2 * v.node + 1;
      visit near = {bound_of(tree->nodes + left, growth, x, y), left, v.begin, middle, v.level + 1};
      visit far = {bound_of(tree->nodes + left + 1, growth, x, y), left + 1, middle, v.end,
                   v.level + 1};
      if (far.bound < near.bound) {
        const visit swap = far;
        far = near;
        near = swap;
      }
      if (far.bound < most) stack[depth++] = far;
      v = near;
    }
    if (v.bound >= most) continue;
    for (int64_t k = v.begin; k < v.end; ++k) {
      const cvtm_small_size *s = tree->sources + k;
      const double dx = s->x - x, dy = s->y - y;
      const double here = s->size + growth * sqrt(dx * dx + dy * dy);
      if (!(here < most)) continue;
      most = here;
      found = k;
    }
  }
  if (source != NULL) *source = found;
  return most;
}

#include "meshes/node_tags.h"

#include "base/grow.h"

#include <math.h>
#include <stdlib.h>

typedef struct cvtm_node_tag {
  double tag;
  int32_t vertex;
} cvtm_node_tag;

cvtm_status cvtm_node_tags_add(cvtm_node_tags *tags, cvtm_source *source, double tag) {
  if (!cvtm_grow(&tags->list, sizeof *tags->list, &tags->capacity, tags->count + 1))
    return cvtm_source_no_memory(source);
  if (tags->count == INT32_MAX) return cvtm_source_fail(source, "too many nodes");
  tags->list[tags->count] = (cvtm_node_tag){tag, (int32_t)tags->count};
  ++tags->count;
  return CVTM_OK;
}

static int compare_tags(const void *a, const void *b) {
  const double p = ((const cvtm_node_tag *)a)->tag, q = ((const cvtm_node_tag *)b)->tag;
  return (p > q) - (p < q);
}

cvtm_status cvtm_node_tags_sort(cvtm_node_tags *tags, cvtm_source *source) {
  int increasing = 1;
  tags->consecutive = 1;
  for (int64_t i = 1; i < tags->count; ++i) {
    increasing &= tags->list[i - 1].tag < tags->list[i].tag;
    tags->consecutive &= tags->list[i].tag - tags->list[0].tag == (double)i;
  }
  if (increasing) return CVTM_OK;
  qsort(tags->list, (size_t)tags->count, sizeof *tags->list, compare_tags);
  for (int64_t i = 1; i < tags->count; ++i) {
    if (tags->list[i - 1].tag == tags->list[i].tag)
      return cvtm_source_fail(source, "two nodes have the same tag");
  }
  return CVTM_OK;
}

double cvtm_node_tags_find(const cvtm_node_tags *tags, double tag) {
  if (tags->count == 0) return -1;
  const double guess = tag - tags->list[0].tag; /* tags are mostly consecutive */
  if (tags->consecutive)
    return guess >= 0 && guess < (double)tags->count && guess == trunc(guess) ? guess : -1;
  if (guess >= 0 && guess < (double)tags->count && tags->list[(int64_t)guess].tag == tag)
    return tags->list[(int64_t)guess].vertex;
  int64_t low = 0, high = tags->count;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (tags->list[middle].tag < tag) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < tags->count && tags->list[low].tag == tag ? tags->list[low].vertex : -1;
}

void cvtm_node_tags_free(cvtm_node_tags *tags) {
  free(tags->list);
  *tags = (cvtm_node_tags){0};
}

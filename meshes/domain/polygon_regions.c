/* Shapes with common edges, or with names, become the regions of a graph. */
#include "base/host_memory.h"
#include "meshes/domain/plane_parts.h"
#include "meshes/formats/polygon_rings.h"
#include "meshes/delaunay/snap.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Edges ---- */

/* An edge between two places, from the smaller number to the larger one. */
typedef struct shape_edge {
  int32_t from, to, shape;
} shape_edge;

typedef struct edge_list {
  double *points; /* of the places: 2 * count */
  int64_t count;
  shape_edge *edges; /* sorted; an edge of several shapes is there for each of them */
  int64_t edge_count;
  int32_t *segments; /* 2 * segment_count: each edge once */
  int64_t segment_count;
  int64_t *first; /* segment_count + 1: where each segment begins in edges */
} edge_list;

static void free_edges(edge_list *l) {
  free(l->points);
  free(l->edges);
  free(l->segments);
  free(l->first);
}

typedef struct placed_corner {
  cvtm_grid_point place;
  int64_t corner;
} placed_corner;

/* For qsort. */
static int compare_corners(const void *left, const void *right) {
  const placed_corner *a = left, *b = right;
  if (a->place.x != b->place.x) return a->place.x < b->place.x ? -1 : 1;
  if (a->place.y != b->place.y) return a->place.y < b->place.y ? -1 : 1;
  return (a->corner > b->corner) - (a->corner < b->corner);
}

static int order_by_ends(const shape_edge *a, const shape_edge *b) {
  if (a->from != b->from) return a->from < b->from ? -1 : 1;
  return (a->to > b->to) - (a->to < b->to);
}

/* For qsort. */
static int compare_shape_edges(const void *left, const void *right) {
  const shape_edge *a = left, *b = right;
  const int ends = order_by_ends(a, b);
  return ends != 0 ? ends : (a->shape > b->shape) - (a->shape < b->shape);
}

/* Corners that share a place of the grid are one; number: of each corner's place. */
static cvtm_status number_places(const cvtm_polygons *rings, int32_t *number, edge_list *l,
                                 cvtm_error *error) {
  const size_t n = (size_t)rings->start[rings->ring_count];
  double *places = malloc(2 * n * sizeof *places);
  cvtm_grid_point *grid = malloc(n * sizeof *grid);
  placed_corner *sorted = malloc(n * sizeof *sorted);
  cvtm_status status = CVTM_OK;
  if (places == NULL || grid == NULL || sorted == NULL) status = cvtm_no_memory(error, "the rings");
  if (status == CVTM_OK) {
    memcpy(places, rings->points, 2 * n * sizeof *places);
    status = cvtm_snap_points(places, (int64_t)n, grid, error);
  }
  if (status == CVTM_OK) {
    for (size_t k = 0; k < n; ++k) sorted[k] = (placed_corner){grid[k], (int64_t)k};
    qsort(sorted, n, sizeof *sorted, compare_corners);
    for (size_t k = 0; k < n; ++k) {
      const int same = k > 0 && sorted[k - 1].place.x == sorted[k].place.x &&
                       sorted[k - 1].place.y == sorted[k].place.y;
      if (!same)
        memcpy(l->points + 2 * l->count++, rings->points + 2 * sorted[k].corner,
               2 * sizeof *l->points);
      number[sorted[k].corner] = (int32_t)(l->count - 1);
    }
  }
  free(places);
  free(grid);
  free(sorted);
  return status;
}

static void collect_edges(const cvtm_ring_collector *c, const int32_t *number, edge_list *l) {
  const cvtm_polygons *rings = &c->rings;
  for (int64_t r = 0; r < rings->ring_count; ++r) {
    for (int64_t k = rings->start[r]; k < rings->start[r + 1]; ++k) {
      const int64_t next = k + 1 < rings->start[r + 1] ? k + 1 : rings->start[r];
      const int32_t a = number[k], b = number[next];
      if (a == b) continue;
      l->edges[l->edge_count++] = (shape_edge){a < b ? a : b, a < b ? b : a, c->shape[r]};
    }
  }
  qsort(l->edges, (size_t)l->edge_count, sizeof *l->edges, compare_shape_edges);
}

/* Two equal edges of one shape bound nothing. */
static void cancel_edges(edge_list *l) {
  int64_t kept = 0;
  for (int64_t k = 0; k < l->edge_count; ++k) {
    if (kept > 0 && compare_shape_edges(&l->edges[kept - 1], &l->edges[k]) == 0)
      --kept;
    else
      l->edges[kept++] = l->edges[k];
  }
  l->edge_count = kept;
}

static void list_segments(edge_list *l) {
  for (int64_t k = 0; k < l->edge_count; ++k) {
    if (k > 0 && order_by_ends(&l->edges[k - 1], &l->edges[k]) == 0) continue;
    l->segments[2 * l->segment_count] = l->edges[k].from;
    l->segments[2 * l->segment_count + 1] = l->edges[k].to;
    l->first[l->segment_count++] = k;
  }
  l->first[l->segment_count] = l->edge_count;
}

static cvtm_status make_edges(const cvtm_ring_collector *c, edge_list *l, cvtm_error *error) {
  const size_t n = (size_t)c->rings.start[c->rings.ring_count];
  int32_t *number = malloc(n * sizeof *number);
  *l = (edge_list){.points = malloc(2 * n * sizeof *l->points),
                   .edges = malloc(n * sizeof *l->edges),
                   .segments = malloc(2 * n * sizeof *l->segments),
                   .first = malloc((n + 1) * sizeof *l->first)};
  cvtm_status status = number && l->points && l->edges && l->segments && l->first
                           ? number_places(&c->rings, number, l, error)
                           : cvtm_no_memory(error, "the rings");
  if (status == CVTM_OK) {
    collect_edges(c, number, l);
    cancel_edges(l);
    list_segments(l);
  }
  free(number);
  return status;
}

/* ---- Which shape covers a part ---- */

typedef struct coverer {
  const edge_list *edges;
  const cvtm_plane_parts *parts;
  int32_t *from; /* per part: the part beside it that is nearer to the outside; -1: the outside */
  int64_t *through; /* per part: the segment between; -1: none, it is outside itself */
  uint8_t *reached; /* per part */
  uint8_t *inside;  /* per shape, while a part is looked at */
} coverer;

/* The segment that a half-edge is; -1 if it is only a piece of one. */
static int64_t segment_at(const coverer *c, int64_t half) {
  const cvtm_plane_parts *p = c->parts;
  const int64_t after = half % 3 == 2 ? half - 2 : half + 1;
  const int32_t a = p->source[p->mesh.triangles[half]], b = p->source[p->mesh.triangles[after]];
  const shape_edge wanted = {a < b ? a : b, a < b ? b : a, 0};
  int64_t low = 0, high = c->edges->segment_count;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    const int order = order_by_ends(&c->edges->edges[c->edges->first[middle]], &wanted);
    if (order == 0) return middle;
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return -1;
}

/* Enters the part of the triangle behind a half-edge, if that is new. Returns 0 if the segment
 * between is not known. */
static int enter_part(coverer *c, int32_t from, int64_t half, int64_t *tail) {
  const cvtm_plane_parts *p = c->parts;
  const int32_t part = p->part[half / 3];
  const int64_t through = p->is_segment[half] ? segment_at(c, half) : -1;
  if (c->reached[part]) return 1;
  c->reached[part] = 1;
  c->from[part] = from;
  c->through[part] = through;
  p->stack[(*tail)++] = part;
  return through >= 0 || !p->is_segment[half];
}

/* The half-edges on the border of each part, one part after another: from[part] .. in `list`. */
static void list_borders(const cvtm_plane_parts *p, int64_t *begin, int64_t *list) {
  const int64_t halves = 3 * p->mesh.triangle_count;
  for (int32_t k = 0; k <= p->part_count; ++k) begin[k] = 0;
  for (int64_t h = 0; h < halves; ++h) begin[p->part[h / 3] + 1] += p->is_segment[h];
  for (int32_t k = 0; k < p->part_count; ++k) begin[k + 1] += begin[k];
  for (int64_t h = halves - 1; h >= 0; --h)
    if (p->is_segment[h]) list[--begin[p->part[h / 3] + 1]] = h;
  /* begin[k + 1] is where part k begins now. */
  for (int32_t k = 0; k < p->part_count; ++k) begin[k] = begin[k + 1];
}

/* From the outside inwards. Returns the part at which it failed, or -1. */
static int32_t reach_parts(coverer *c, const int64_t *begin, const int64_t *list,
                           int64_t list_count) {
  const cvtm_plane_parts *p = c->parts;
  int64_t tail = 0;
  for (int64_t h = 0; h < 3 * p->mesh.triangle_count; ++h)
    if (p->twin[h] < 0 && !enter_part(c, -1, h, &tail)) return p->part[h / 3];
  for (int64_t head = 0; head < tail; ++head) {
    const int32_t part = (int32_t)p->stack[head];
    const int64_t end = part + 1 < p->part_count ? begin[part + 1] : list_count;
    for (int64_t k = begin[part]; k < end; ++k) {
      const int64_t beyond = p->twin[list[k]];
      if (beyond >= 0 && !enter_part(c, part, beyond, &tail)) return p->part[beyond / 3];
    }
  }
  return -1;
}

/* Toggles the shapes of all segments between a part and the outside; returns the last shape that
 * it is inside of after the first call, -1 if there is none. */
static int32_t toggle_shapes(coverer *c, int32_t part) {
  const edge_list *l = c->edges;
  int32_t last = -1;
  for (int pass = 0; pass < 2; ++pass) {
    for (int32_t at = part; at >= 0 && c->through[at] >= 0; at = c->from[at]) {
      for (int64_t k = l->first[c->through[at]]; k < l->first[c->through[at] + 1]; ++k) {
        const int32_t shape = l->edges[k].shape;
        if (pass == 0) c->inside[shape] ^= 1;
        if (pass == 1 && c->inside[shape] && shape > last) last = shape;
      }
    }
  }
  return last;
}

/* region: per shape. */
static cvtm_status cover_parts(const edge_list *l, const int32_t *region, int64_t shapes,
                               cvtm_plane_parts *p, cvtm_error *error) {
  const size_t parts = (size_t)p->part_count, halves = 3 * (size_t)p->mesh.triangle_count;
  coverer c = {l,
               p,
               malloc(parts * sizeof *c.from),
               malloc(parts * sizeof *c.through),
               calloc(parts, 1),
               calloc((size_t)shapes, 1)};
  int64_t *begin = malloc((parts + 1) * sizeof *begin), *list = malloc(halves * sizeof *list);
  cvtm_status status = CVTM_OK;
  if (c.from && c.through && c.reached && c.inside && begin && list) {
    int64_t list_count = 0;
    for (size_t h = 0; h < halves; ++h) list_count += p->is_segment[h];
    list_borders(p, begin, list);
    const int32_t failed = reach_parts(&c, begin, list, list_count);
    if (failed >= 0) {
      const double *at = l->points + 2 * (int64_t)l->segments[0];
      for (size_t t = 0; t < halves / 3; ++t)
        if (p->part[t] == failed) at = l->points + 2 * (int64_t)p->source[p->mesh.triangles[3 * t]];
      status =
          cvtm_fail(error, CVTM_ERROR_INPUT,
                    "a ring meets itself, or a corner is on an edge, near (%g, %g)", at[0], at[1]);
    }
    for (int32_t k = 0; k < p->part_count && status == CVTM_OK; ++k) {
      const int32_t shape = toggle_shapes(&c, k);
      p->region[k] = shape >= 0 ? region[shape] : 0;
      (void)toggle_shapes(&c, k);
    }
  } else {
    status = cvtm_no_memory(error, "the rings");
  }
  free(c.from);
  free(c.through);
  free(c.reached);
  free(c.inside);
  free(begin);
  free(list);
  return status;
}

/* ---- Regions and their names ---- */

typedef struct named_shape {
  const char *name;
  int32_t shape, region;
} named_shape;

/* For qsort: shapes without a name come last. */
static int compare_names(const void *left, const void *right) {
  const named_shape *a = left, *b = right;
  if ((a->name == NULL) != (b->name == NULL)) return a->name == NULL ? 1 : -1;
  const int order = a->name != NULL ? strcmp(a->name, b->name) : 0;
  return order != 0 ? order : a->shape - b->shape;
}

static int compare_shapes(const void *left, const void *right) {
  const named_shape *a = left, *b = right;
  return a->shape - b->shape;
}

/* What every mesh format takes: at most 31 bytes, a letter first. */
enum { NAME_BYTES = 32 };

static void clean_name(const char *name, char made[NAME_BYTES]) {
  int length = 0;
  const int begins = cvtm_is_letter((unsigned char)*name);
  if (!begins) length = snprintf(made, NAME_BYTES, "region-");
  for (const char *at = name; *at != 0 && length + 1 < NAME_BYTES; ++at) {
    const unsigned char byte = (unsigned char)*at;
    if ((byte & 0xc0) == 0x80) continue; /* the rest of a character of UTF-8 */
    const int stays = cvtm_is_letter(byte) || (byte >= '0' && byte <= '9') || byte == '-';
    if (!stays && length > 0 && made[length - 1] == '_') continue;
    made[length++] = stays ? (char)byte : '_';
  }
  made[length] = 0;
}

/* Appends the region's number to a name that another region has. */
static void distinguish_name(const cvtm_pslg *made, int32_t region, char name[NAME_BYTES]) {
  char number[16];
  for (int64_t k = 0; k < made->name_count; ++k) {
    if (strcmp(made->text[k], name) != 0) continue;
    const int digits = snprintf(number, sizeof number, "-%" PRId32, region);
    const size_t length = strlen(name), most = (size_t)(NAME_BYTES - 1 - digits);
    memcpy(name + (length < most ? length : most), number, (size_t)digits + 1);
    return;
  }
}

static int add_name(cvtm_pslg *made, const named_shape *s) {
  char name[NAME_BYTES];
  clean_name(s->name, name);
  distinguish_name(made, s->region, name);
  char *copy = malloc(NAME_BYTES);
  if (copy == NULL) return 0;
  memcpy(copy, name, NAME_BYTES);
  made->text[made->name_count] = copy;
  made->names[made->name_count++] = (cvtm_region_name){s->region, copy};
  return 1;
}

/* Regions are numbered from 1 in the order of their first shapes; shapes without a ring are none.
 * region: per shape. */
static cvtm_status number_regions(const cvtm_ring_collector *c, int32_t *region, cvtm_pslg *made,
                                  cvtm_error *error) {
  int64_t shapes = 0; /* with rings; these come in ascending order */
  named_shape *list = malloc((size_t)c->shape_count * sizeof *list);
  made->names = malloc((size_t)c->shape_count * sizeof *made->names);
  made->text = malloc((size_t)c->shape_count * sizeof *made->text);
  int good = list != NULL && made->names != NULL && made->text != NULL;
  int32_t last = 0;
  for (int64_t r = 0; r < c->rings.ring_count && good; ++r) {
    const int32_t shape = c->shape[r];
    if (r == 0 || shape != c->shape[r - 1])
      list[shapes++] = (named_shape){c->name[shape], shape, 0};
  }
  if (good) qsort(list, (size_t)shapes, sizeof *list, compare_names);
  for (int64_t k = 0; k < shapes && good; ++k) { /* for now, the first shape of the name */
    const int same = k > 0 && list[k].name && strcmp(list[k].name, list[k - 1].name) == 0;
    list[k].region = same ? list[k - 1].region : list[k].shape;
  }
  if (good) qsort(list, (size_t)shapes, sizeof *list, compare_shapes);
  for (int64_t k = 0; k < shapes && good; ++k) {
    const int is_first = list[k].region == list[k].shape;
    list[k].region = region[list[k].shape] = is_first ? ++last : region[list[k].region];
    if (is_first && list[k].name != NULL) good = add_name(made, &list[k]);
  }
  free(list);
  return good ? CVTM_OK : cvtm_no_memory(error, "the regions");
}

static cvtm_status divide_plane(const cvtm_ring_collector *c, const edge_list *l, cvtm_pslg *made,
                                cvtm_error *error) {
  cvtm_plane_parts parts = {0};
  int32_t *region = malloc((size_t)c->shape_count * sizeof *region);
  cvtm_status status = region != NULL ? number_regions(c, region, made, error)
                                      : cvtm_no_memory(error, "the regions");
  if (status == CVTM_OK)
    status =
        cvtm_plane_parts_create(l->points, l->count, l->segments, l->segment_count, &parts, error);
  if (status == CVTM_OK) status = cover_parts(l, region, c->shape_count, &parts, error);
  if (status == CVTM_OK)
    status = cvtm_plane_parts_boundary(l->points, &parts, 0, &made->boundary, error);
  cvtm_plane_parts_free(&parts);
  free(region);
  return status;
}

cvtm_status cvtm_pslg_read_shapes(const char *extension, const unsigned char *bytes, size_t size,
                                  const char *name, cvtm_pslg *pslg, int *is_rings,
                                  cvtm_error *error) {
  cvtm_source source = cvtm_source_open(name, bytes, size, error);
  cvtm_ring_collector c;
  edge_list edges = {0};
  cvtm_pslg made = {0};
  cvtm_status status = cvtm_rings_read(extension, &source, &c);
  *is_rings = status != CVTM_OK || c.shape_count < 2 - c.names_divide || c.rings.ring_count == 0;
  if (!*is_rings) {
    status = cvtm_rings_refuse_crossings(&c.rings, name, error);
    if (status == CVTM_OK) status = cvtm_rings_touch(&c.rings, error);
    if (status == CVTM_OK) status = make_edges(&c, &edges, error);
    *is_rings = !c.names_divide && edges.edge_count == edges.segment_count;
    if (status == CVTM_OK && !*is_rings) status = divide_plane(&c, &edges, &made, error);
  }
  free_edges(&edges);
  cvtm_ring_collector_free(&c);
  if (status != CVTM_OK) {
    cvtm_pslg_free(&made);
    return status;
  }
  *pslg = made;
  return CVTM_OK;
}

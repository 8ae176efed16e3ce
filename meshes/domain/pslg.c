/* Planar straight-line graphs: .poly files, and shapes with common edges or with names. */
#include "base/file.h"
#include "base/geometry.h"
#include "base/host.h"
#include "meshes/constrained.h"
#include "meshes/contour.h"
#include "meshes/delaunay/constraints.h"
#include "meshes/delaunay/grid.h"
#include "meshes/delaunay/locate.h"
#include "meshes/domain/pslg.h"
#include "meshes/domain/plane_parts.h"
#include "meshes/domain/shape_crossings.h"
#include "meshes/elements/twins.h"
#include "meshes/formats/formats.h"
#include "meshes/mesh.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Edges of shapes ---- */

/* An edge between two merged corners, the smaller number first. Its fields are the sort keys. */
typedef struct shape_edge {
  int32_t from, to, shape;
} shape_edge;

typedef struct edge_list {
  double *points; /* of the merged corners: 2 * count */
  int64_t count;
  shape_edge *edges; /* sorted; an edge of several shapes is listed once for each */
  int64_t edge_count;
  int32_t *segments; /* 2 * segment_count: each edge once */
  int64_t segment_count;
  int64_t *first; /* segment_count + 1: index in `edges` of the first edge of each segment */
  int cancelled;  /* nonzero: parts of one shape had a common edge inside the shape */
  int32_t lines;  /* from this shape on, shapes are lines */
} edge_list;

static void free_edges(edge_list *l) {
  free(l->points);
  free(l->edges);
  free(l->segments);
  free(l->first);
}

/* Merges corners at the same grid point, in the order of the file. number: the merged corner of
 * each corner. */
static cvtm_status merge_corners(const cvtm_polygons *rings, int32_t *number, edge_list *l,
                                 cvtm_scratch *memory, cvtm_error *error) {
  const size_t n = (size_t)rings->start[rings->ring_count];
  double *snapped = cvtm_scratch_take(memory, n, 2 * sizeof *snapped);
  cvtm_grid_point *grid = cvtm_scratch_take(memory, n, sizeof *grid);
  cvtm_placed *sorted = cvtm_scratch_take(memory, n, sizeof *sorted);
  if (memory->failed) return cvtm_no_memory(error, "the rings");
  memcpy(snapped, rings->points, 2 * n * sizeof *snapped);
  CVTM_TRY(cvtm_snap_points(snapped, (int64_t)n, grid, error));
  for (size_t k = 0; k < n; ++k) sorted[k] = (cvtm_placed){grid[k].x, grid[k].y, (int64_t)k};
  qsort(sorted, n, sizeof *sorted, cvtm_compare_placed);
  for (size_t k = 0, first = 0; k < n; ++k) {
    if (cvtm_compare_points(&sorted[first], &sorted[k]) != 0) first = k;
    number[sorted[k].index] = (int32_t)sorted[first].index;
  }
  for (size_t k = 0; k < n; ++k) {
    const int is_first = number[k] == (int32_t)k;
    if (is_first) memcpy(l->points + 2 * l->count, rings->points + 2 * k, 2 * sizeof *l->points);
    number[k] = is_first ? (int32_t)l->count++ : number[number[k]];
  }
  return CVTM_OK;
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
  qsort(l->edges, (size_t)l->edge_count, sizeof *l->edges, cvtm_compare_three);
}

/* Removes pairs of equal edges of the same shape, except of lines, whose pairs bound nothing. */
static void cancel_edges(edge_list *l) {
  int64_t kept = 0;
  for (int64_t k = 0; k < l->edge_count; ++k) {
    if (kept > 0 && l->edges[k].shape < l->lines &&
        cvtm_compare_three(&l->edges[kept - 1], &l->edges[k]) == 0)
      --kept;
    else
      l->edges[kept++] = l->edges[k];
  }
  l->cancelled = kept < l->edge_count;
  l->edge_count = kept;
}

static void list_shape_segments(edge_list *l) {
  for (int64_t k = 0; k < l->edge_count; ++k) {
    if (k > 0 && cvtm_compare_two(&l->edges[k - 1], &l->edges[k]) == 0) continue;
    l->segments[2 * l->segment_count] = l->edges[k].from;
    l->segments[2 * l->segment_count + 1] = l->edges[k].to;
    l->first[l->segment_count++] = k;
  }
  l->first[l->segment_count] = l->edge_count;
}

static cvtm_status make_edges(const cvtm_ring_collector *c, edge_list *l, cvtm_error *error) {
  const size_t n = (size_t)c->rings.start[c->rings.ring_count];
  cvtm_scratch memory = {0};
  int32_t *number = cvtm_scratch_take(&memory, n, sizeof *number);
  *l = (edge_list){.points = malloc(2 * n * sizeof *l->points),
                   .edges = malloc(n * sizeof *l->edges),
                   .segments = malloc(2 * n * sizeof *l->segments),
                   .first = malloc((n + 1) * sizeof *l->first),
                   .lines = (int32_t)c->shape_count};
  cvtm_status status = number && l->points && l->edges && l->segments && l->first
                           ? merge_corners(&c->rings, number, l, &memory, error)
                           : cvtm_no_memory(error, "the rings");
  if (status == CVTM_OK) {
    collect_edges(c, number, l);
    cancel_edges(l);
    list_shape_segments(l);
  }
  cvtm_scratch_free(&memory);
  return status;
}

/* ---- The shape that covers a part ---- */

typedef struct coverer {
  const edge_list *edges;
  const cvtm_plane_parts *parts;
  const int32_t *region; /* per shape; negative for shapes that cut holes into others */
  int32_t *from;    /* per part: the neighbouring part on the path to the outside; -1: the part is
                       outside */
  int64_t *through; /* per part: the segment between the part and `from`; -1: the part is outside */
  uint8_t *reached; /* per part */
  uint8_t *inside;  /* per shape: scratch memory for a part */
} coverer;

/* The segment between two points; -1: none, only part of a segment. */
static int64_t segment_between(const edge_list *l, int32_t a, int32_t b) {
  const int32_t ends[2] = {a < b ? a : b, a < b ? b : a};
  const int32_t *found =
      bsearch(ends, l->segments, (size_t)l->segment_count, sizeof ends, cvtm_compare_two);
  return found != NULL ? (found - l->segments) / 2 : -1;
}

static int64_t segment_at(const coverer *c, int64_t half) {
  const cvtm_plane_parts *p = c->parts;
  return segment_between(c->edges, p->source[p->mesh.triangles[half]],
                         p->source[p->mesh.triangles[cvtm_half_after(half)]]);
}

/* A cvtm_crack_test: nonzero if a line passes. */
static int is_of_line(const void *context, int32_t a, int32_t b) {
  const edge_list *l = context;
  const int64_t segment = segment_between(l, a, b);
  return segment >= 0 && l->edges[l->first[segment + 1] - 1].shape >= l->lines;
}

/* Enters the part on the other side of a half-edge, if it was not visited. Returns 0 if the segment
 * between the parts is unknown. */
static int enter_part(coverer *c, int32_t from, int64_t half, int64_t *tail) {
  const cvtm_plane_parts *p = c->parts;
  const int32_t part = p->part[half / 3];
  const int64_t through = p->segment[half] >= 0 ? segment_at(c, half) : -1;
  if (c->reached[part]) return 1;
  c->reached[part] = 1;
  c->from[part] = from;
  c->through[part] = through;
  p->stack[(*tail)++] = part;
  return through >= 0 || p->segment[half] < 0;
}

/* Lists the half-edges on the border of each part; those of part k are list[begin[k]], ... . */
static void list_borders(const cvtm_plane_parts *p, int64_t *begin, int64_t *list) {
  const int64_t halves = 3 * p->mesh.triangle_count;
  for (int32_t k = 0; k <= p->part_count; ++k) begin[k] = 0;
  for (int64_t h = 0; h < halves; ++h) begin[p->part[h / 3] + 1] += p->segment[h] >= 0;
  for (int32_t k = 0; k < p->part_count; ++k) begin[k + 1] += begin[k];
  for (int64_t h = halves - 1; h >= 0; --h)
    if (p->segment[h] >= 0) list[--begin[p->part[h / 3] + 1]] = h;
  /* Now begin[k + 1] is the begin of part k. */
  for (int32_t k = 0; k < p->part_count; ++k) begin[k] = begin[k + 1];
}

/* Visits the parts from the outside inwards. Returns -1, or the part that could not be entered. */
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

/* Toggles the shapes of all segments between a part and the outside. After the first call, returns
 * the region of the last shape that contains the part; 0: none, or the part is in a hole. A second
 * call resets the shapes. */
static int32_t toggle_shapes(coverer *c, int32_t part) {
  const edge_list *l = c->edges;
  int32_t last = -1;
  int cuts = 0, is_covered = 0; /* parity of the shapes that cut; nonzero: inside another shape */
  for (int pass = 0; pass < 2; ++pass) {
    for (int32_t at = part; at >= 0 && c->through[at] >= 0; at = c->from[at]) {
      for (int64_t k = l->first[c->through[at]]; k < l->first[c->through[at] + 1]; ++k) {
        const int32_t shape = l->edges[k].shape;
        if (pass == 0) {
          c->inside[shape] ^= 1;
          cuts ^= c->region[shape] < 0;
        } else if (c->inside[shape]) {
          is_covered |= c->region[shape] > 0;
          if (shape > last) last = shape;
        }
      }
    }
  }
  if (last < 0 || c->region[last] > 0) return last < 0 ? 0 : c->region[last];
  return cuts != is_covered ? -c->region[last] : 0;
}

/* Sets the region of each part to that of the shape that covers it. region: as of a coverer. */
static cvtm_status cover_parts(const edge_list *l, const int32_t *region, int64_t shapes,
                               cvtm_plane_parts *p, cvtm_error *error) {
  const size_t parts = (size_t)p->part_count, halves = 3 * (size_t)p->mesh.triangle_count;
  cvtm_scratch memory = {0};
  coverer c = {l,
               p,
               region,
               cvtm_scratch_take(&memory, parts, sizeof *c.from),
               cvtm_scratch_take(&memory, parts, sizeof *c.through),
               cvtm_scratch_zeros(&memory, parts, 1),
               cvtm_scratch_zeros(&memory, (size_t)shapes, 1)};
  int64_t *begin = cvtm_scratch_take(&memory, parts + 1, sizeof *begin);
  int64_t *list = cvtm_scratch_take(&memory, halves, sizeof *list);
  cvtm_status status = CVTM_OK;
  if (!memory.failed) {
    int64_t list_count = 0;
    for (size_t h = 0; h < halves; ++h) list_count += p->segment[h] >= 0;
    list_borders(p, begin, list);
    const int32_t failed = reach_parts(&c, begin, list, list_count);
    if (failed >= 0) {
      const double *at = l->points + 2 * (int64_t)l->segments[0];
      for (size_t t = 0; t < halves / 3; ++t)
        if (p->part[t] == failed) at = l->points + 2 * (int64_t)p->source[p->mesh.triangles[3 * t]];
      status = cvtm_fail(error, CVTM_ERROR_INPUT,
                         "a ring meets itself, or a corner is on an edge, near (%.9g, %.9g)", at[0],
                         at[1]);
    }
    for (int32_t k = 0; k < p->part_count && status == CVTM_OK; ++k) {
      p->region[k] = toggle_shapes(&c, k);
      (void)toggle_shapes(&c, k);
    }
  } else {
    status = cvtm_no_memory(error, "the rings");
  }
  cvtm_scratch_free(&memory);
  return status;
}

/* ---- Regions and their names ---- */

typedef struct named_shape {
  const char *name;
  int32_t shape;
} named_shape;

/* For qsort: shapes without a name come last. */
static int compare_names(const void *left, const void *right) {
  const named_shape *a = left, *b = right;
  if ((a->name == NULL) != (b->name == NULL)) return a->name == NULL ? 1 : -1;
  const int order = a->name != NULL ? strcmp(a->name, b->name) : 0;
  return order != 0 ? order : a->shape - b->shape;
}

/* Makes a name that is valid in every mesh format: at most 31 bytes, beginning with a letter. */
enum { NAME_BYTES = 32 };

static void clean_name(const char *name, char made[NAME_BYTES]) {
  int length = 0;
  const int begins = cvtm_is_letter((unsigned char)*name);
  if (!begins) length = snprintf(made, NAME_BYTES, "region-");
  for (const char *at = name; *at != 0 && length + 1 < NAME_BYTES; ++at) {
    const unsigned char byte = (unsigned char)*at;
    if ((byte & 0xc0) == 0x80) continue; /* continuation byte of UTF-8 */
    const int stays = cvtm_is_letter(byte) || (byte >= '0' && byte <= '9') || byte == '-';
    if (!stays && length > 0 && made[length - 1] == '_') continue;
    made[length++] = stays ? (char)byte : '_';
  }
  made[length] = 0;
}

/* If another region already has the name, appends the number of the region. */
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

static int add_name(cvtm_pslg *made, const char *given, int32_t region) {
  char name[NAME_BYTES];
  clean_name(given, name);
  distinguish_name(made, region, name);
  char *copy = malloc(NAME_BYTES);
  if (copy == NULL) return 0;
  memcpy(copy, name, NAME_BYTES);
  made->text[made->name_count] = copy;
  made->names[made->name_count++] = (cvtm_region_name){region, copy};
  return 1;
}

/* Numbers regions from 1 in the order of their first shapes; shapes without rings are no regions.
 * region: per shape, zeros. */
static cvtm_status number_regions(const cvtm_ring_collector *c, int32_t *region, cvtm_pslg *made,
                                  cvtm_error *error) {
  int64_t shapes = 0; /* number of shapes with rings */
  named_shape *list = malloc((size_t)c->shape_count * sizeof *list);
  made->names = malloc((size_t)c->shape_count * sizeof *made->names);
  made->text = malloc((size_t)c->shape_count * sizeof *made->text);
  int good = list != NULL && made->names != NULL && made->text != NULL;
  int32_t last = 0;
  for (int64_t r = 0; r < c->rings.ring_count; ++r)
    if (c->shape[r] < c->shape_count) region[c->shape[r]] = 1;
  for (int32_t k = 0; k < c->shape_count && good; ++k)
    if (region[k] > 0) list[shapes++] = (named_shape){c->name[k], k};
  if (good) qsort(list, (size_t)shapes, sizeof *list, compare_names);
  /* now the region is the first shape with the same name, plus 1 */
  for (int64_t k = 0; k < shapes && good; ++k) {
    const int same = k > 0 && list[k].name && strcmp(list[k].name, list[k - 1].name) == 0;
    region[list[k].shape] = same ? region[list[k - 1].shape] : list[k].shape + 1;
  }
  for (int32_t k = 0; k < c->shape_count && good; ++k) {
    if (region[k] == 0) continue;
    const int is_first = region[k] == k + 1;
    region[k] = is_first ? ++last : region[region[k] - 1];
    if (is_first && c->name[k] != NULL) good = add_name(made, c->name[k], last);
  }
  free(list);
  return good ? CVTM_OK : cvtm_no_memory(error, "the regions");
}

/* Turns each segment so that its left region has the larger number, as chains of chords need. */
static void turn_segments(cvtm_boundary *b) {
  for (int64_t e = 0; e < b->edge_count; ++e) {
    const int32_t left = b->left[e], from = b->edges[2 * e];
    if (left >= b->right[e]) continue;
    b->left[e] = b->right[e];
    b->right[e] = left;
    b->edges[2 * e] = b->edges[2 * e + 1];
    b->edges[2 * e + 1] = from;
  }
}

static cvtm_status divide_by_shapes(const cvtm_ring_collector *c, const edge_list *l,
                                    cvtm_pslg *made, cvtm_error *error) {
  cvtm_plane_parts parts = {0};
  int32_t *region = calloc((size_t)(c->shape_count + c->line_count), sizeof *region);
  cvtm_status status = region != NULL ? number_regions(c, region, made, error)
                                      : cvtm_no_memory(error, "the regions");
  for (int64_t k = 0; k < c->shape_count && status == CVTM_OK; ++k)
    if (c->names_divide && c->unnamed_cut && c->name[k] == NULL) region[k] = -region[k];
  if (status == CVTM_OK)
    status =
        cvtm_plane_parts_create(l->points, l->count, l->segments, l->segment_count, &parts, error);
  if (status == CVTM_OK)
    status = cover_parts(l, region, c->shape_count + c->line_count, &parts, error);
  if (status == CVTM_OK)
    status = cvtm_plane_parts_boundary(l->points, &parts, c->line_count > 0 ? is_of_line : NULL, l,
                                       &made->boundary, error);
  if (status == CVTM_OK && c->curve_count > 0) turn_segments(&made->boundary);
  cvtm_plane_parts_free(&parts);
  free(region);
  return status;
}

/* Makes rings that nearly touch touch. Shapes with names may overlap, where the last one counts;
 * makes corners where these cross. */
static cvtm_status join_shapes(cvtm_ring_collector *c, const char *name, cvtm_error *error) {
  enum { ROUNDS = 4 }; /* a new corner bends its edges, which may then cross others */
  int64_t found = c->names_divide;
  for (int round = 0; round < ROUNDS && found > 0; ++round) {
    CVTM_TRY(cvtm_shapes_cross(&c->rings, c->shape, &found, error));
    if (found > 0) CVTM_TRY(cvtm_rings_touch(&c->rings, error));
  }
  CVTM_TRY(cvtm_rings_refuse_crossings(c, name, error));
  return cvtm_rings_touch(&c->rings, error);
}

/* Marks the lines and points that have names. */
static cvtm_status mark_lines(const cvtm_ring_collector *c, cvtm_marks *made, cvtm_error *error) {
  int64_t named = 0;
  for (int64_t k = 0; k < c->line_count; ++k) named += c->name[c->lines[k].shape] != NULL;
  if (named == 0) return CVTM_OK;
  named_shape *list = malloc((size_t)named * sizeof *list);
  made->mark = calloc((size_t)named, sizeof *made->mark);
  if (list == NULL || made->mark == NULL) {
    free(list);
    return cvtm_no_memory(error, "the lines");
  }
  named = 0;
  for (int64_t k = 0; k < c->line_count; ++k)
    if (c->name[c->lines[k].shape] != NULL)
      list[named++] = (named_shape){c->name[c->lines[k].shape], (int32_t)k};
  qsort(list, (size_t)named, sizeof *list, compare_names);
  for (int64_t k = 0; k < named; ++k) {
    const int same = k > 0 && strcmp(list[k].name, list[k - 1].name) == 0;
    const cvtm_kept_line *line = &c->lines[list[k].shape];
    cvtm_mark *m = &made->mark[made->count++];
    m->marker = same ? m[-1].marker : (int32_t)k + 2;
    clean_name(list[k].name, m->name);
    memcpy(m->from, line->from, sizeof m->from);
    memcpy(m->to, line->to, sizeof m->to);
  }
  free(list);
  return CVTM_OK;
}

/* Drops the lines beyond the box around the rings. */
static void drop_far_lines(cvtm_ring_collector *c) {
  cvtm_box box = cvtm_empty_box();
  int64_t kept = 0;
  for (int64_t v = 0; c->rings.ring_count > 0 && v < c->rings.start[c->rings.ring_count]; ++v)
    cvtm_box_add(&box, c->rings.points + 2 * v);
  for (int64_t k = 0; k < c->line_count; ++k) {
    const double *p = c->lines[k].from, *q = c->lines[k].to;
    if (fmax(p[0], q[0]) >= box.low[0] && fmin(p[0], q[0]) <= box.high[0] &&
        fmax(p[1], q[1]) >= box.low[1] && fmin(p[1], q[1]) <= box.high[1])
      c->lines[kept++] = c->lines[k];
  }
  c->line_count = kept;
}

/* Adds the lines as rings of two corners, each a shape of its own, and points as rings of one
 * corner; makes corners where they meet rings and each other. */
static cvtm_status add_lines(cvtm_ring_collector *c, cvtm_error *error) {
  enum { ROUNDS = 4 };
  cvtm_polygons *rings = &c->rings;
  int64_t at = rings->start[rings->ring_count], found = 1;
  c->point_capacity = at; /* of arrays with inserted corners */
  c->ring_capacity = rings->ring_count + 1;
  if (!cvtm_grow(&rings->points, 2 * sizeof *rings->points, &c->point_capacity,
                 at + 2 * c->line_count) ||
      !cvtm_grow(&rings->start, sizeof *rings->start, &c->ring_capacity,
                 rings->ring_count + c->line_count + 1) ||
      !cvtm_grow(&c->shape, sizeof *c->shape, &c->shape_capacity,
                 rings->ring_count + c->line_count))
    return cvtm_no_memory(error, "the lines");
  for (int64_t k = 0; k < c->line_count; ++k) {
    const cvtm_kept_line *line = &c->lines[k];
    memcpy(rings->points + 2 * at++, line->from, sizeof line->from);
    if (memcmp(line->from, line->to, sizeof line->from) != 0)
      memcpy(rings->points + 2 * at++, line->to, sizeof line->to);
    c->shape[rings->ring_count++] = (int32_t)(c->shape_count + k);
    rings->start[rings->ring_count] = at;
  }
  cvtm_status status = cvtm_rings_touch(rings, error);
  for (int round = 0; round < ROUNDS && found > 0 && status == CVTM_OK; ++round) {
    status = cvtm_shapes_cross(rings, c->shape, &found, error);
    if (status == CVTM_OK && found > 0) status = cvtm_rings_touch(rings, error);
  }
  return status;
}

/* Keeps the lines and points beside the shapes. is_rings: the shapes are one region. */
static cvtm_status keep_lines(cvtm_ring_collector *c, int is_rings, const char *name,
                              cvtm_pslg *made, edge_list *edges, cvtm_error *error) {
  free_edges(edges);
  *edges = (edge_list){0};
  for (int64_t r = 1; r < c->rings.ring_count && is_rings; ++r) c->shape[r] = c->shape[0];
  CVTM_TRY(mark_lines(c, &made->marks, error));
  CVTM_TRY(cvtm_rings_refuse_crossings(c, name, error));
  CVTM_TRY(add_lines(c, error));
  return make_edges(c, edges, error);
}

/* cvtm_pslg_read_bytes for files with shapes. */
static cvtm_status pslg_read_shapes(const char *extension, const unsigned char *bytes, size_t size,
                                    const char *name, cvtm_pslg *pslg, int *is_rings,
                                    cvtm_error *error) {
  cvtm_source source = cvtm_source_open(name, bytes, size, error);
  cvtm_ring_collector c;
  edge_list edges = {0};
  cvtm_pslg made = {0};
  cvtm_status status = cvtm_rings_read(extension, &source, &c);
  drop_far_lines(&c);
  *is_rings = status != CVTM_OK || c.shape_count < 1 || c.rings.ring_count < 2 - c.names_divide;
  if (!*is_rings) {
    status = join_shapes(&c, name, error);
    if (status == CVTM_OK) status = make_edges(&c, &edges, error);
    *is_rings = !c.names_divide && edges.edge_count == edges.segment_count && !edges.cancelled;
  }
  if (status == CVTM_OK && c.line_count > 0) {
    status = keep_lines(&c, *is_rings, name, &made, &edges, error);
    *is_rings = 0;
  }
  if (status == CVTM_OK && !*is_rings) status = divide_by_shapes(&c, &edges, &made, error);
  made.curve_count = c.curve_count;
  made.curve = c.curve;
  c.curve = NULL;
  free_edges(&edges);
  cvtm_ring_collector_free(&c);
  if (status != CVTM_OK) {
    cvtm_pslg_free(&made);
    return status;
  }
  *pslg = made;
  return CVTM_OK;
}

/* A triangulation of the vertices and segments of a .poly file. */
struct cvtm_file_triangles {
  cvtm_locator within;
  cvtm_grid_frame frame;
  double top; /* y is top - y of the boundary */
};

void cvtm_pslg_interpolate(const cvtm_pslg *pslg, const double *places, int64_t count,
                           double *values) {
  struct cvtm_file_triangles *t = pslg->triangles;
  const int64_t width = pslg->file.attribute_count;
  for (int64_t k = 0; k < count; ++k) {
    const double place[2] = {places[2 * k], t->top - places[2 * k + 1]};
    cvtm_interpolate(&t->within, &t->frame, place, pslg->file.attributes, width,
                     values + width * k);
  }
}

void cvtm_pslg_free(cvtm_pslg *pslg) {
  cvtm_boundary_free(&pslg->boundary);
  free(pslg->curve);
  free(pslg->marks.mark);
  free(pslg->areas);
  free(pslg->attributes);
  cvtm_triangle_vertices_free(&pslg->file);
  if (pslg->triangles != NULL) cvtm_locator_free(&pslg->triangles->within);
  free(pslg->triangles);
  for (int64_t k = 0; k < pslg->name_count; ++k) free(pslg->text[k]);
  free(pslg->text);
  free(pslg->names);
  *pslg = (cvtm_pslg){0};
}

/* ---- Files of Triangle ---- */

/* A point that marks a hole or a region. */
typedef struct marker {
  double x, y, attribute, area; /* NAN: not given */
} marker;

typedef struct graph {
  cvtm_source *source;
  cvtm_triangle_vertices vertices;
  int32_t *ends;   /* 2 per segment */
  int32_t *marker; /* per segment */
  int64_t segment_count, hole_count, region_count;
  marker *holes, *regions;
} graph;

static void free_graph(graph *g) {
  cvtm_triangle_vertices_free(&g->vertices);
  free(g->ends);
  free(g->marker);
  free(g->holes);
  free(g->regions);
}

/* Reads the values after the coordinates on the same line. */
static void read_attributes(cvtm_source *s, marker *p) {
  double *const values[2] = {&p->attribute, &p->area};
  cvtm_token token;
  for (int k = 0; k < 2 && cvtm_source_line_token(s, &token); ++k)
    if (!cvtm_token_number(token, values[k]))
      cvtm_source_fail(s, "the attribute or area of a region is not a number");
}

/* Reads a list of points, which is empty if the file ends before it. */
static void read_markers(cvtm_source *s, const char *what, int have_attributes, marker **list,
                         int64_t *count) {
  cvtm_source ahead = *s;
  cvtm_token token;
  *count = 0;
  if (!cvtm_source_token(&ahead, &token)) return;
  *count = cvtm_source_integer(s, CVTM_I64, 0, INT32_MAX / 2, what);
  if ((uint64_t)*count > s->size)
    cvtm_source_fail(s, "the header claims more points than the file can hold");
  if (!cvtm_source_is_good(s)) return;
  *list = malloc(((size_t)*count + 1) * sizeof **list);
  if (*list == NULL) cvtm_source_no_memory(s);
  for (int64_t k = 0; k < *count && cvtm_source_is_good(s); ++k) {
    marker *p = &(*list)[k];
    *p = (marker){0, 0, NAN, NAN};
    (void)cvtm_source_value(s, CVTM_F64); /* the number */
    p->x = cvtm_source_value(s, CVTM_F64);
    p->y = cvtm_source_value(s, CVTM_F64);
    if (have_attributes) read_attributes(s, p);
  }
}

static cvtm_status read_graph(graph *g) {
  cvtm_triangle_read_graph(g->source, &g->vertices, &g->ends, &g->marker, &g->segment_count);
  read_markers(g->source, "number of holes", 0, &g->holes, &g->hole_count);
  read_markers(g->source, "number of regions", 1, &g->regions, &g->region_count);
  return g->source->status;
}

/* The part of the plane that contains a point; -1: none. */
static int32_t part_at(const cvtm_plane_parts *p, const marker *at) {
  const double x = at->x, y = at->y;
  for (int64_t t = 0; t < p->mesh.triangle_count; ++t) {
    int inside = 1;
    for (int k = 0; k < 3 && inside; ++k) {
      const double *a = p->mesh.points + 2 * (int64_t)p->mesh.triangles[3 * t + k];
      const double *b = p->mesh.points + 2 * (int64_t)p->mesh.triangles[3 * t + (k + 1) % 3];
      /* The triangles are clockwise here; mirroring makes them counterclockwise. */
      inside = (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0]) <= 0;
    }
    if (inside) return p->part[t];
  }
  return -1;
}

enum { MOST_REGION = 1 << 30 };

/* Numbers the regions that points mark: number[k] is that of point k. taken: scratch memory, zeros.
 * Returns the largest number. */
static int32_t number_marked(const graph *g, uint8_t *taken, int32_t *number) {
  int32_t last = (int32_t)g->region_count;
  for (int64_t k = 0; k < g->region_count; ++k) {
    const double a = g->regions[k].attribute;
    number[k] = a >= 1 && a <= MOST_REGION && a == floor(a) ? (int32_t)a : 0;
    if (number[k] > 0 && number[k] <= g->region_count) taken[number[k]] = 1;
    last = number[k] > last ? number[k] : last;
  }
  for (int64_t k = 0; k < g->region_count; ++k)
    if (number[k] == 0) number[k] = taken[k + 1] ? ++last : (int32_t)(k + 1);
  return last;
}

static cvtm_status mark_parts(const graph *g, const int32_t *number, cvtm_plane_parts *p,
                              cvtm_pslg *made, cvtm_error *error) {
  for (int64_t k = 0; k < g->region_count; ++k) {
    const marker *at = &g->regions[k];
    const int32_t part = part_at(p, at);
    if (part < 0 || p->region[part] == 0)
      return cvtm_fail(error, CVTM_ERROR_INPUT,
                       "%s: the point (%g, %g) that marks a region lies outside the domain",
                       g->source->name, at->x, at->y);
    p->region[part] = number[k];
    made->attributes[made->attribute_count++] =
        (cvtm_region_attribute){number[k], isnan(at->attribute) ? 0 : at->attribute};
    if (at->area > 0) made->areas[made->area_count++] = (cvtm_region_area){number[k], at->area};
  }
  return CVTM_OK;
}

static cvtm_status number_parts(const graph *g, cvtm_plane_parts *p, cvtm_pslg *made,
                                cvtm_error *error) {
  const size_t regions = (size_t)g->region_count + 1;
  int32_t inside = 0, holes = 0;
  int32_t *number = cvtm_scratch_take(&p->memory, regions, sizeof *number);
  uint8_t *taken = cvtm_scratch_zeros(&p->memory, regions, 1);
  made->areas = malloc(regions * sizeof *made->areas);
  made->attributes = malloc(regions * sizeof *made->attributes);
  if (p->memory.failed || made->areas == NULL || made->attributes == NULL)
    return cvtm_no_memory(error, "the segments");
  for (int64_t k = 0; k < g->hole_count; ++k) {
    const int32_t part = part_at(p, &g->holes[k]);
    if (part < 0) continue;
    holes += p->region[part] < 0;
    p->region[part] = 0;
  }
  int32_t last = number_marked(g, taken, number);
  CVTM_TRY(mark_parts(g, number, p, made, error));
  for (int32_t k = 0; k < p->part_count; ++k) {
    if (p->region[k] < 0) p->region[k] = ++last;
    inside += p->region[k] > 0;
  }
  if (inside > 0) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: the segments bound nothing: %s", g->source->name,
                   holes > 0 ? "everything they enclose is a hole" : "they form no closed ring");
}

/* Marks vertices as Triangle does: one without a marker gets the first marker of a segment that
 * ends there. */
static void mark_ends(graph *g) {
  for (int64_t k = 0; k < 2 * g->segment_count; ++k) {
    int32_t *own = &g->vertices.marker[g->ends[k]];
    if (*own == 0) *own = g->marker[k / 2];
  }
}

/* If a segment has a marker, copies all segments. */
static cvtm_status take_marks(const graph *g, cvtm_marks *made, cvtm_error *error) {
  int64_t marked = 0;
  for (int64_t k = 0; k < g->segment_count; ++k) marked += g->marker[k] != 0 && g->marker[k] != 1;
  if (marked == 0) return CVTM_OK;
  made->mark = malloc((size_t)g->segment_count * sizeof *made->mark);
  if (made->mark == NULL) return cvtm_no_memory(error, "the segments");
  for (int64_t k = 0; k < g->segment_count; ++k) {
    cvtm_mark *m = &made->mark[made->count++];
    m->marker = g->marker[k];
    m->name[0] = 0;
    memcpy(m->from, g->vertices.points + 2 * (int64_t)g->ends[2 * k], sizeof m->from);
    memcpy(m->to, g->vertices.points + 2 * (int64_t)g->ends[2 * k + 1], sizeof m->to);
  }
  return CVTM_OK;
}

/* Triangulates the vertices and segments; c: crossings, freed by the caller, as is m. */
static cvtm_status constrain(graph *g, cvtm_half_edges *m, cvtm_grid_frame *frame,
                             cvtm_constraints *c, cvtm_error *error) {
  cvtm_boundary all = {.vertex_count = g->vertices.count,
                       .points = g->vertices.points,
                       .edge_count = g->segment_count,
                       .edges = g->ends};
  CVTM_TRY(cvtm_delaunay_half_edges(all.points, all.vertex_count, m, frame, error));
  return cvtm_constrain(m, &all, c, error);
}

/* Adds the crossing of two segments. It gets the marker and the attributes of the second. */
static void add_crossing(graph *g, const int32_t crossed[2], const cvtm_grid_frame *frame,
                         cvtm_grid_point at) {
  cvtm_triangle_vertices *v = &g->vertices;
  const int32_t *ends = g->ends + 2 * (int64_t)crossed[1];
  const double *p = v->points + 2 * (int64_t)ends[0], *q = v->points + 2 * (int64_t)ends[1];
  double *place = v->points + 2 * v->count;
  cvtm_place_crossing(v->points, g->ends, crossed, frame, at, place);
  const double u[2] = {q[0] - p[0], q[1] - p[1]};
  const double t =
      ((place[0] - p[0]) * u[0] + (place[1] - p[1]) * u[1]) / (u[0] * u[0] + u[1] * u[1]);
  for (int64_t k = 0, width = v->attribute_count; k < width; ++k) {
    const double from = v->attributes[width * ends[0] + k], to = v->attributes[width * ends[1] + k];
    v->attributes[width * v->count + k] = from + t * (to - from);
  }
  v->marker[v->count++] = g->marker[crossed[1]];
}

/* Takes the parts of segments between crossings, which become vertices, in place of the segments.
 */
static cvtm_status take_divided(graph *g, const cvtm_half_edges *m, const cvtm_grid_frame *frame,
                                const cvtm_constraints *c, cvtm_error *error) {
  cvtm_triangle_vertices *v = &g->vertices;
  const int64_t given = v->count, halves = 3 * m->triangle_count;
  const size_t count = (size_t)(given + c->crossed_count), room = (size_t)halves + 1;
  int32_t *ends = malloc(2 * room * sizeof *ends), *kept = malloc(room * sizeof *kept);
  const cvtm_growing arrays[] = {
      {&v->points, 2 * sizeof *v->points},
      {&v->marker, sizeof *v->marker},
      {&v->attributes, (size_t)(v->attribute_count + 1) * sizeof *v->attributes}};
  int64_t capacity = given;
  if (!ends || !kept || !cvtm_grow_all(arrays, 3, &capacity, (int64_t)count + 1)) {
    free(ends);
    free(kept);
    return cvtm_no_memory(error, "the segments");
  }
  for (int64_t k = 0; k < c->crossed_count; ++k)
    add_crossing(g, c->crossed + 2 * k, frame, m->grid[given + k]);
  int64_t made = 0;
  for (int64_t h = 0; h < halves; ++h) {
    if (m->segment[h] < 0 || m->twin[h] > h) continue;
    ends[2 * made] = m->corner[h];
    ends[2 * made + 1] = cvtm_end_of(m, h);
    kept[made++] = g->marker[m->segment[h]];
  }
  free(g->ends);
  free(g->marker);
  g->ends = ends;
  g->marker = kept;
  g->segment_count = made;
  return CVTM_OK;
}

/* Divides segments where they cross, as Triangle does. */
static cvtm_status divide_segments(graph *g, cvtm_error *error) {
  cvtm_half_edges m = {0};
  cvtm_grid_frame frame;
  cvtm_constraints c = {.marker = g->marker};
  cvtm_status status = constrain(g, &m, &frame, &c, error);
  if (status == CVTM_OK) status = take_divided(g, &m, &frame, &c, error);
  free(c.crossed);
  cvtm_half_edges_free(&m);
  return status;
}

/* Keeps the triangulation of vertices with attributes. */
static cvtm_status keep_triangles(graph *g, cvtm_pslg *made, cvtm_error *error) {
  cvtm_half_edges m = {0};
  cvtm_constraints c = {0};
  if (g->vertices.attribute_count == 0) return CVTM_OK;
  struct cvtm_file_triangles *t = made->triangles = calloc(1, sizeof *t);
  if (t == NULL) return cvtm_no_memory(error, "the attributes");
  cvtm_status status = constrain(g, &m, &t->frame, &c, error);
  if (status == CVTM_OK && c.crossed_count > 0)
    status = cvtm_fail(error, CVTM_ERROR_INPUT, "%s: segments cross at a very small angle",
                       g->source->name);
  if (status == CVTM_OK) status = cvtm_locator_keep(&m, &t->within, error);
  free(c.crossed);
  cvtm_half_edges_free(&m);
  return status;
}

static int is_any(const void *context, int32_t a, int32_t b) {
  (void)context;
  (void)a;
  (void)b;
  return 1;
}

static cvtm_status divide_plane(graph *g, cvtm_pslg *made, cvtm_error *error) {
  cvtm_plane_parts p;
  cvtm_error first = {CVTM_OK, ""};
  cvtm_status status = cvtm_plane_parts_create(g->vertices.points, g->vertices.count, g->ends,
                                               g->segment_count, &p, &first);
  if (status == CVTM_ERROR_INPUT) {
    cvtm_plane_parts_free(&p);
    status = divide_segments(g, error);
    if (status == CVTM_OK)
      status = cvtm_plane_parts_create(g->vertices.points, g->vertices.count, g->ends,
                                       g->segment_count, &p, error);
  } else if (status != CVTM_OK && error != NULL) {
    *error = first;
  }
  if (status == CVTM_OK) status = number_parts(g, &p, made, error);
  if (status == CVTM_OK)
    status =
        cvtm_plane_parts_boundary(g->vertices.points, &p, is_any, NULL, &made->boundary, error);
  cvtm_plane_parts_free(&p);
  return status;
}

static cvtm_status read_poly(const unsigned char *bytes, size_t size, const char *name,
                             cvtm_pslg *pslg, int *is_rings, cvtm_error *error) {
  cvtm_source source = cvtm_source_open(name, bytes, size, error);
  graph g = {.source = &source};
  cvtm_pslg made = {0};
  cvtm_status status = read_graph(&g);
  *is_rings =
      status == CVTM_OK && g.segment_count < 3; /* the reader of rings refuses such a file */
  if (status == CVTM_OK && !*is_rings) {
    mark_ends(&g);
    status = divide_plane(&g, &made, error);
    if (status == CVTM_OK) status = take_marks(&g, &made.marks, error);
    if (status == CVTM_OK) status = keep_triangles(&g, &made, error);
    made.file = g.vertices;
    g.vertices = (cvtm_triangle_vertices){0};
  }
  free_graph(&g);
  if (status != CVTM_OK) {
    cvtm_pslg_free(&made);
    return status;
  }
  made.skipped = source.skipped;
  *pslg = made;
  return CVTM_OK;
}

/* ---- Reading ---- */

cvtm_status cvtm_pslg_read_bytes(const char *extension, const unsigned char *bytes, size_t size,
                                 const char *name, cvtm_pslg *pslg, int *is_rings,
                                 cvtm_error *error) {
  const int is_poly = strcmp(extension, "poly") == 0;
  if (is_poly) return read_poly(bytes, size, name, pslg, is_rings, error);
  return pslg_read_shapes(extension, bytes, size, name, pslg, is_rings, error);
}

cvtm_status cvtm_pslg_read(const char *path, cvtm_pslg *pslg, int *is_rings, cvtm_error *error) {
  char buffer[16];
  const char *extension = cvtm_file_extension(path, buffer, sizeof buffer);
  unsigned char *bytes;
  size_t size;
  CVTM_TRY(cvtm_polygons_load(path, &bytes, &size, error));
  cvtm_status status = cvtm_pslg_read_bytes(extension, bytes, size, path, pslg, is_rings, error);
  free(bytes);
  return status;
}

void cvtm_pslg_turn(cvtm_pslg *pslg, int y_up, int height) {
  cvtm_boundary *b = &pslg->boundary;
  for (int64_t v = 0; v < b->vertex_count && y_up; ++v)
    b->points[2 * v + 1] = height - b->points[2 * v + 1];
  for (int64_t k = 0; k < pslg->marks.count && y_up; ++k) {
    cvtm_mark *m = &pslg->marks.mark[k];
    m->from[1] = height - m->from[1];
    m->to[1] = height - m->to[1];
  }
  for (int64_t k = 0; k < pslg->file.count && y_up; ++k)
    pslg->file.points[2 * k + 1] = height - pslg->file.points[2 * k + 1];
  if (pslg->triangles != NULL) pslg->triangles->top = height;
  if (y_up) return;
  int32_t *const left = b->left;
  b->left = b->right;
  b->right = left;
}

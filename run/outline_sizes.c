#include "run/outline_parts.h"

#include "base/file.h"
#include "run/input.h"
#include "run/json.h"
#include "run/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Reading ---- */

static int is_max(const cvtm_run_options *o) {
  for (int k = 0; k < o->outline.size.count; ++k)
    if (strcmp(o->outline.size.item[k], "max") == 0) return 1;
  return 0;
}

int run_sizes_wanted(const cvtm_run_options *o) {
  if (o->outline.metric != NULL || is_max(o) || (o->given & CVTM_RUN_GIVEN_MIN_ANGLE)) return 0;
  return o->outline.size.count > 0 || o->points > 0;
}

/* Reads a size: a number with a unit, a formula, or a file. */
static cvtm_status read_size(const cvtm_run_options *o, const char *text, run_size_rule *rule,
                             cvtm_error *error) {
  cvtm_run_lengths size;
  rule->unit = -1;
  if (run_field_file_known(text)) {
    rule->file = text;
    return CVTM_OK;
  }
  if (run_lengths_parse(text, &size) && size.count == 1) {
    rule->unit = size.unit;
    if (!(size.value[0] > 0) || isinf(size.value[0]))
      return run_usage_error(error, "--size %s: a size must be positive and finite", text);
    rule->formula.count = 1;
    rule->formula.step[0].value = size.value[0];
    if (rule->unit < 0 || !(run_unit_mm(rule->unit) > 0) || run_has_page(o)) return CVTM_OK;
    if (run_world_may_have_unit(o) || run_outline_is_svg(o)) return CVTM_OK;
    return run_usage_error(
        error, "--size %s: a size with a unit needs --page, or --pixel-size with a unit", text);
  }
  cvtm_error reason = {CVTM_OK, ""};
  if (run_expression_parse(text, &rule->formula, &reason) == CVTM_OK) return CVTM_OK;
  return run_usage_error(error, "--size %s", reason.message);
}

/* Reads a rule, NAME=SIZE or SIZE. */
static cvtm_status read_rule(const cvtm_run_options *o, const char *text, run_size_rule *rule,
                             cvtm_error *error) {
  const char *equals = strchr(text, '=');
  const size_t length = equals != NULL ? (size_t)(equals - text) : 0;
  if (equals == NULL) return read_size(o, text, rule, error);
  if (length == 0 || length >= sizeof rule->name)
    return run_usage_error(error, "--size %s: a name before '=' is missing or too long", text);
  memcpy(rule->name, text, length);
  rule->name[length] = '\0';
  return read_size(o, equals + 1, rule, error);
}

/* Nonzero if the fields of the file have names; 0 for an array. */
static int has_named_fields(const run_size_rule *rule) {
  char buffer[16];
  return rule->file != NULL &&
         strcmp(cvtm_file_extension(rule->file, buffer, sizeof buffer), "npy") != 0;
}

cvtm_status run_sizes_read(const cvtm_run_options *o, run_sizes *sizes, cvtm_error *error) {
  const cvtm_run_list *list = &o->outline.size;
  cvtm_status status = CVTM_OK;
  int has_names = 0;
  *sizes = (run_sizes){.factor = 1, .cap_factor = 1, .base = INFINITY};
  if (is_max(o) && (list->count > 1 || o->points > 0))
    return run_usage_error(error, "--size max does not go with another --size or with --points");
  if (o->outline.metric != NULL || is_max(o)) return CVTM_OK;
  const int is_refined = (o->given & CVTM_RUN_GIVEN_MIN_ANGLE) != 0;
  if (is_refined && o->points > 0)
    return run_usage_error(error, "--points of an outline does not go with --min-angle");
  sizes->rule = calloc((size_t)list->count + 1, sizeof *sizes->rule);
  if (sizes->rule == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  for (; sizes->count < list->count && status == CVTM_OK; ++sizes->count) {
    status = read_rule(o, list->item[sizes->count], &sizes->rule[sizes->count], error);
    sizes->is_everywhere |= sizes->rule[sizes->count].name[0] == '\0';
    has_names |= has_named_fields(&sizes->rule[sizes->count]);
  }
  if (status == CVTM_OK && list->count > 0 && !sizes->is_everywhere && o->points == 0 &&
      !is_refined)
    return run_usage_error(error, "--size without a name is missing: add one, or --points");
  if (status == CVTM_OK && o->size.field != NULL && !has_names)
    return run_usage_error(error,
                           "--size-field needs a .vtu or .msh file: --size FILE or --metric FILE");
  return status;
}

void run_sizes_free(run_sizes *sizes) {
  for (int k = 0; k < sizes->count; ++k) {
    free(sizes->rule[k].raster.size);
    cvtm_size_tree_free(&sizes->rule[k].around);
    for (int i = 0; i < RUN_EXPRESSION_NAMES; ++i) cvtm_size_tree_free(&sizes->rule[k].near[i]);
  }
  free(sizes->rule);
  free(sizes->edge_size);
  free(sizes->is_smooth);
  free(sizes->mark);
  free(sizes->marks.mark);
  *sizes = (run_sizes){0};
}

/* ---- Values ---- */

typedef struct distances {
  const run_size_rule *rule;
  int is_up;
} distances;

/* A run_distance; y is as in the file. */
static double distance_from(const void *context, int name, double x, double y) {
  const distances *d = context;
  return cvtm_size_tree_find(&d->rule->near[name], 1, x, d->is_up ? -y : y, (double)INFINITY, NULL);
}

/* The value of a rule. The mesher refuses one that is not positive. */
static double value_of(const run_sizes *sizes, const run_size_rule *rule, double x, double y) {
  if (rule->raster.size != NULL) return run_size_at(&rule->raster, x, y);
  const distances d = {rule, sizes->is_up};
  return run_expression_value(&rule->formula, x, sizes->is_up ? -y : y, distance_from, &d);
}

/* The smallest size by the rules at a point inside; one that is not positive counts as it is. */
static double size_by_rules(const run_sizes *sizes, int32_t region, double x, double y) {
  double least = sizes->factor * sizes->base;
  for (int k = 0; k < sizes->count; ++k) {
    const run_size_rule *rule = &sizes->rule[k];
    if (rule->is_of_boundary || (rule->region > 0 && rule->region != region)) continue;
    double value = value_of(sizes, rule, x, y);
    if (rule->name[0] == '\0') value *= sizes->factor;
    if (!(value > 0)) return value;
    if (rule->around.count > 0)
      value +=
          cvtm_size_tree_find(&rule->around, sizes->options.growth, x, y, (double)INFINITY, NULL);
    if (!(value >= least)) least = value;
  }
  return least;
}

/* A cvtm_size_function. */
static double find_size(const void *context, int32_t region, double x, double y) {
  const run_sizes *sizes = context;
  const double wanted = size_by_rules(sizes, region, x, y);
  const double most = sizes->cap_factor * run_area_caps_size(sizes->caps, region);
  return wanted > most ? most : wanted;
}

/* A cvtm_area_cap. */
static double largest_area(const void *context, int32_t region, double x, double y) {
  const run_sizes *sizes = context;
  const double size = size_by_rules(sizes, region, x, y), area = sqrt(3) / 4 * size * size;
  const double most = run_area_cap_of(sizes->caps, region);
  if (!(size > 0)) return (double)NAN;
  return area > most ? most : area;
}

/* ---- Names ---- */

/* The parts of the outline: its triangulation, in which each edge of the boundary has the name of
 * its group. Made only if options name parts. */
typedef struct parts {
  cvtm_mesh mesh;
  cvtm_regions regions;
  int32_t *source;
} parts;

static void free_parts(parts *p) {
  cvtm_mesh_free(&p->mesh);
  cvtm_regions_free(&p->regions);
  free(p->source);
}

static const char *group_name(const cvtm_group *groups, int32_t count, int32_t tag) {
  for (int32_t k = 0; k < count; ++k)
    if (groups[k].tag == tag) return groups[k].name;
  return "";
}

/* The region with a name, or with a number as its name; 0: none. */
static int32_t region_named(const parts *p, const char *name) {
  char *end;
  const long number = strtol(name, &end, 10);
  for (int32_t k = 0; k < p->regions.area_group_count; ++k) {
    const cvtm_group *group = &p->regions.area_groups[k];
    if (strcmp(group->name, name) == 0 || (*end == '\0' && number == group->tag)) return group->tag;
  }
  return 0;
}

static int edge_has_name(const parts *p, int64_t e, const char *name, int32_t region) {
  const cvtm_regions *r = &p->regions;
  if (region > 0) return r->left[e] == region || r->right[e] == region;
  return run_part_is_named(group_name(r->line_groups, r->line_group_count, r->group[e]), name);
}

static cvtm_status fail_name(const cvtm_outline *o, const parts *p, const char *name,
                             cvtm_error *error) {
  char list[256] = "";
  size_t used = 0;
  for (int32_t k = 0; k < p->regions.area_group_count + p->regions.line_group_count; ++k) {
    const int32_t line = k - p->regions.area_group_count;
    const char *known =
        line < 0 ? p->regions.area_groups[k].name : p->regions.line_groups[line].name;
    if (used < sizeof list) used += (size_t)snprintf(list + used, sizeof list - used, " %s", known);
  }
  for (int64_t k = 0; k < o->graph.marks.count && used < sizeof list; ++k)
    if (run_mark_is_point(&o->graph.marks.mark[k]))
      used += (size_t)snprintf(list + used, sizeof list - used, " %s", o->graph.marks.mark[k].name);
  return cvtm_fail(error, CVTM_ERROR_INPUT, "--size: the outline has no part '%s'; it has%s", name,
                   list);
}

/* Gives the size of a rule to the edges of the boundary with the rule's name. */
static cvtm_status size_edges(run_sizes *sizes, const cvtm_outline *o, const parts *p,
                              const run_size_rule *rule, cvtm_error *error) {
  const cvtm_boundary *b = &o->boundary;
  const size_t n = (size_t)b->vertex_count;
  int64_t *first = calloc(n + 2, sizeof *first),
          *from = malloc(((size_t)b->edge_count + 1) * sizeof *from);
  if (sizes->edge_size == NULL) {
    sizes->edge_size = malloc(((size_t)b->edge_count + 1) * sizeof *sizes->edge_size);
    for (int64_t e = 0; e < b->edge_count && sizes->edge_size != NULL; ++e)
      sizes->edge_size[e] = INFINITY;
  }
  if (first == NULL || from == NULL || sizes->edge_size == NULL) {
    free(first);
    free(from);
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for the sizes");
  }
  for (int64_t e = 0; e < b->edge_count; ++e) ++first[b->edges[2 * e] + 2];
  for (size_t v = 0; v < n; ++v) first[v + 2] += first[v + 1];
  for (int64_t e = 0; e < b->edge_count; ++e) from[first[b->edges[2 * e] + 1]++] = e;
  int64_t found = 0;
  for (int64_t e = 0; e < p->regions.edge_count; ++e) {
    if (!edge_has_name(p, e, rule->name, 0)) continue;
    ++found;
    const int32_t ends[2] = {p->source[p->regions.edges[2 * e]],
                             p->source[p->regions.edges[2 * e + 1]]};
    for (int i = 0; i < 2; ++i) {
      for (int64_t k = first[ends[i]]; k < first[ends[i] + 1]; ++k) {
        if (b->edges[2 * from[k] + 1] != ends[1 - i]) continue;
        const double *u = b->points + 2 * (int64_t)ends[0], *v = b->points + 2 * (int64_t)ends[1];
        const double size = value_of(sizes, rule, 0.5 * (u[0] + v[0]), 0.5 * (u[1] + v[1]));
        if (!(size >= sizes->edge_size[from[k]])) sizes->edge_size[from[k]] = size;
      }
    }
  }
  free(first);
  free(from);
  return found > 0 ? CVTM_OK : fail_name(o, p, rule->name, error);
}

/* Lists the points of the outline with this name. */
static int take_points(const cvtm_outline *o, const char *name, cvtm_size_tree *near) {
  int is_good = 1;
  for (int64_t k = 0; k < o->graph.marks.count && is_good; ++k) {
    const cvtm_mark *m = &o->graph.marks.mark[k];
    if (run_mark_is_point(m) && strcmp(m->name, name) == 0)
      is_good = cvtm_size_tree_add(near, m->from[0], m->from[1], 0);
  }
  return is_good;
}

/* Lists points with the name, and points on the named edges, so close together that distances to
 * them are accurate to a few thousandths of the outline. */
static cvtm_status find_places(const cvtm_outline *o, const parts *p, const char *name,
                               cvtm_size_tree *near, cvtm_error *error) {
  const double wide = fmax(o->sides[2] - o->sides[0], o->sides[3] - o->sides[1]);
  const int32_t region = region_named(p, name);
  int is_good = take_points(o, name, near);
  for (int64_t e = 0; e < p->regions.edge_count && is_good; ++e) {
    if (!edge_has_name(p, e, name, region)) continue;
    const double *u = p->mesh.points + 2 * (int64_t)p->regions.edges[2 * e],
                 *v = p->mesh.points + 2 * (int64_t)p->regions.edges[2 * e + 1];
    const int count = (int)ceil(4000 * hypot(v[0] - u[0], v[1] - u[1]) / wide) + 1;
    for (int k = 0; k <= count && is_good; ++k) {
      const double t = (double)k / count;
      is_good = cvtm_size_tree_add(near, u[0] + t * (v[0] - u[0]), u[1] + t * (v[1] - u[1]), 0);
    }
  }
  if (is_good && near->count == 0) return fail_name(o, p, name, error);
  if (is_good && cvtm_size_tree_build(near)) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for the sizes");
}

static cvtm_status find_parts(const cvtm_outline *o, parts *p, cvtm_error *error) {
  CVTM_TRY(cvtm_constrained_delaunay(o->boundary.points, o->boundary.vertex_count, &o->boundary,
                                     &p->mesh, &p->regions, &p->source, error));
  return run_outline_group(o, &p->mesh, o->sides, &p->regions, NULL, error);
}

static cvtm_status resolve_names(run_sizes *sizes, const cvtm_outline *o, cvtm_error *error) {
  parts p = {0};
  cvtm_status status = CVTM_OK;
  for (int k = 0; k < sizes->count && status == CVTM_OK; ++k) {
    run_size_rule *rule = &sizes->rule[k];
    if (rule->name[0] == '\0' && rule->formula.name_count == 0) continue;
    if (p.source == NULL) status = find_parts(o, &p, error);
    for (int i = 0; i < rule->formula.name_count && status == CVTM_OK; ++i)
      status = find_places(o, &p, rule->formula.name[i], &rule->near[i], error);
    if (rule->name[0] == '\0' || status != CVTM_OK) continue;
    rule->region = region_named(&p, rule->name);
    if (rule->region > 0) continue;
    if (!take_points(o, rule->name, &rule->around) || !cvtm_size_tree_build(&rule->around))
      status = cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for the sizes");
    rule->is_of_boundary = rule->around.count == 0;
    if (status == CVTM_OK && rule->is_of_boundary) status = size_edges(sizes, o, &p, rule, error);
  }
  free_parts(&p);
  return status;
}

static cvtm_status convert_units(const cvtm_outline *o, run_sizes *sizes, cvtm_error *error) {
  for (int k = 0; k < sizes->count; ++k) {
    run_size_rule *rule = &sizes->rule[k];
    double mm_per_pixel;
    if (rule->unit < 0 || !(run_unit_mm(rule->unit) > 0)) continue;
    CVTM_TRY(run_page_scale(&o->options, o->domain, &mm_per_pixel, error));
    rule->formula.step[0].value *= run_unit_mm(rule->unit) / mm_per_pixel;
  }
  return CVTM_OK;
}

/* ---- The mesh ---- */

/* The sum of the areas of the regions. */
static double outline_area(const cvtm_boundary *b) {
  double twice = 0;
  for (int64_t e = 0; e < b->edge_count; ++e) {
    const double *o = b->points, *p = o + 2 * (int64_t)b->edges[2 * e],
                 *q = o + 2 * (int64_t)b->edges[2 * e + 1];
    const double cross = (p[0] - o[0]) * (q[1] - o[1]) - (p[1] - o[1]) * (q[0] - o[0]);
    twice += cross * ((b->right[e] > 0) - (b->left[e] > 0));
  }
  return 0.5 * fabs(twice);
}

/* A run_edge_size, and its context. */
typedef struct sized_edges {
  const run_sizes *sizes;
  const cvtm_boundary *boundary;
} sized_edges;

static double size_on_edge(const void *context, int64_t e, double x, double y) {
  const sized_edges *s = context;
  const int32_t left = s->boundary->left[e], right = s->boundary->right[e];
  double size = s->sizes->edge_size != NULL ? s->sizes->edge_size[e] : INFINITY;
  if (left > 0) size = fmin(size, find_size(s->sizes, left, x, y));
  return right > 0 && right != left ? fmin(size, find_size(s->sizes, right, x, y)) : size;
}

/* Meshes the outline with curves divided by the sizes, or undivided if they would cross. */
static cvtm_status mesh_curves(cvtm_outline *o, cvtm_sized_figures *figures, cvtm_error *error) {
  run_sizes *sizes = &o->sizes;
  cvtm_sized_options options = sizes->options;
  const sized_edges edges = {sizes, &o->boundary};
  cvtm_boundary divided = {0};
  int64_t *source = NULL;
  double *size = NULL;
  cvtm_error reason = {CVTM_OK, ""};
  if (sizes->is_smooth == NULL)
    return cvtm_sized_mesh(&o->boundary, &options, &o->mesh, &o->regions, &o->origin, figures,
                           error);
  cvtm_status status = run_outline_divide_curves(&o->boundary, sizes->is_smooth, sizes->tolerance,
                                                 size_on_edge, &edges, &divided, &source, &reason);
  if (status == CVTM_OK)
    status = run_outline_carry_over(&o->graph.marks, &divided, source, sizes, &size, &reason);
  if (size != NULL) options.edge_size = size;
  if (status == CVTM_OK)
    status = cvtm_sized_mesh(&divided, &options, &o->mesh, &o->regions, NULL, figures, &reason);
  free(source);
  free(size);
  cvtm_boundary_free(&divided);
  if (status != CVTM_OK && status != CVTM_ERROR_INPUT && error != NULL) *error = reason;
  if (status != CVTM_ERROR_INPUT) return status;
  sizes->marks.count = 0;
  return cvtm_sized_mesh(&o->boundary, &sizes->options, &o->mesh, &o->regions, NULL, figures,
                         error);
}

/* The greatest length of edges at narrow parts, in widths: angles are then 45 degrees. */
static const double longest_narrow = 2;

/* The search for a number of vertices. If most vertices are in narrow parts of the outline, other
 * lengths hardly change the number; then edges there become longer than the parts are wide. */
typedef struct number_search {
  double wanted;
  double *scale; /* what is sought: the factor of all lengths, or options.narrow */
  int tries;
  double last, last_error; /* logarithms of the last scale, and of its number by the wanted one */
  double ends[2]; /* logarithms of the nearest scales with too many vertices, and with too few */
  double best, least_error; /* the scale with the best number, and the error of that number */
} number_search;

static void begin_search(number_search *s, double wanted, double *scale) {
  *s = (number_search){wanted, scale, 0, 0, 0, {-INFINITY, INFINITY}, *scale, INFINITY};
}

/* The factor for all lengths with which the mesh has the wanted number of vertices: given ones,
 * added ones on the boundary (as 1 / factor), and inner ones (as 1 / factor^2). */
static double factor_for(const cvtm_sized_figures *found, double count, double wanted) {
  const double inside = (double)found->inside, added = (double)found->on_boundary;
  const double rest = wanted - (count - inside - added);
  if (!(inside > 0 && rest > 0)) return sqrt(count / wanted);
  return 2 * inside / (sqrt(added * added + 4 * inside * rest) - added);
}

/* Takes the number of vertices that belongs to the scale, and sets the next scale, by the secant
 * through the last two. Returns 0 if the number hardly depends on the scale. */
static int search_on(number_search *s, const cvtm_sized_figures *found, double count,
                     const double *factor) {
  const double steepest = -2.5, flattest = -0.05, farthest = log(4), short_way = 0.1;
  const double at = log(*s->scale), error = log(count / s->wanted);
  const double slope = s->tries++ > 0 ? (error - s->last_error) / (at - s->last) : steepest;
  double way = s->scale == factor ? log(factor_for(found, count, s->wanted)) : error;
  if (fabs(error) < s->least_error) s->best = *s->scale;
  s->least_error = fmin(s->least_error, fabs(error));
  if (slope > steepest && slope < flattest) way = -error / slope;
  s->ends[error > 0 ? 0 : 1] = at;
  double next = at + fmax(-farthest, fmin(way, farthest));
  const int has_ends = isfinite(s->ends[0]) && isfinite(s->ends[1]);
  if (has_ends && !(next > s->ends[0] && next < s->ends[1])) next = 0.5 * (s->ends[0] + s->ends[1]);
  const double most = s->scale == factor ? INFINITY : longest_narrow;
  const int goes_on = !(error > 0 && *s->scale >= most) &&
                      (has_ends || slope < flattest || fabs(at - s->last) < short_way);
  s->last = at;
  s->last_error = error;
  *s->scale = fmin(exp(next), most);
  return goes_on;
}

/* Finds the scale with which the mesh is expected to have the wanted number of vertices. */
static cvtm_status fit_number(cvtm_outline *o, number_search *s, cvtm_error *error) {
  enum { TRIES = 8 };
  const double wanted = (double)o->options.points;
  run_sizes *sizes = &o->sizes;
  const double near = 0.03; /* no further try if less is left to change */
  cvtm_sized_options *options = &sizes->options;
  if (!sizes->is_everywhere) sizes->base = sqrt(2 / sqrt(3) * outline_area(&o->boundary) / wanted);
  begin_search(s, wanted, &sizes->factor);
  options->only_estimates = 1;
  for (int k = 0; k < TRIES; ++k) {
    cvtm_sized_figures found = {0};
    CVTM_TRY(mesh_curves(o, &found, error));
    if (!search_on(s, &found, found.expected, &sizes->factor)) {
      if (s->scale != &sizes->factor) break;
      begin_search(s, wanted, &options->narrow);
      (void)search_on(s, &found, found.expected, &sizes->factor);
    }
    /* a scale of all lengths corrects small errors; at narrow parts numbers jump */
    if (fabs(s->scale == &sizes->factor ? 0.5 * s->last_error : log(*s->scale) - s->last) < near)
      break;
  }
  options->only_estimates = 0;
  options->number = wanted;
  begin_search(s, wanted, s->scale);
  return CVTM_OK;
}

/* Finds the corners that sizes may replace: those of curves and, with --simplify, those of chains.
 * Periodic outlines keep all corners, so that opposite sides are divided in the same way. */
static cvtm_status find_curves(const cvtm_outline *o, run_sizes *sizes, cvtm_error *error) {
  const int is_simplified = (o->options.given & CVTM_RUN_GIVEN_SIMPLIFY) != 0;
  sizes->tolerance = is_simplified ? o->options.outline.simplify : -1;
  if (o->boundary.twin != NULL || (o->graph.curve_count == 0 && !is_simplified)) return CVTM_OK;
  sizes->is_smooth = calloc((size_t)o->boundary.vertex_count + 1, 1);
  sizes->mark = malloc(((size_t)o->boundary.edge_count + 1) * sizeof *sizes->mark);
  if (sizes->is_smooth == NULL || sizes->mark == NULL)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  const double slack = ldexp(fmax(o->sides[2] - o->sides[0], o->sides[3] - o->sides[1]), -28);
  return run_outline_find_smooth(&o->boundary, o->graph.curve, o->graph.curve_count,
                                 sizes->tolerance, &o->graph.marks, slack, sizes->mark,
                                 sizes->is_smooth, error);
}

/* Nonzero if a triangle is larger than its region allows. */
static int is_oversized(const cvtm_outline *o) {
  int found = 0;
  const int64_t n = o->mesh.triangle_count;
#pragma omp parallel for schedule(static) reduction(max : found) if (n >= 1 << 13)
  for (int64_t t = 0; t < n; ++t) {
    const int32_t *corner = o->mesh.triangles + 3 * t;
    const double *p = o->mesh.points + 2 * (int64_t)corner[0],
                 *q = o->mesh.points + 2 * (int64_t)corner[1],
                 *r = o->mesh.points + 2 * (int64_t)corner[2];
    const double twice = fabs((q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]));
    if (0.5 * twice > run_area_cap_of(&o->caps, o->regions.region[t])) found = 1;
  }
  return found;
}

/* Nonzero unless the vertices have not moved because another number is wanted. */
static int has_moved(const cvtm_sized_figures *f) { return f->sweeps > 0 || f->stopped; }

static void forget_mesh(cvtm_outline *o) {
  cvtm_mesh_free(&o->mesh);
  cvtm_regions_free(&o->regions);
  free(o->origin);
  o->origin = NULL;
}

/* Meshes again, with smaller sizes in regions of bounded area, until no triangle is too large. */
static cvtm_status mesh_below_caps(cvtm_outline *o, cvtm_error *error) {
  enum { TRIES = 8 };
  cvtm_sized_figures *figures = &o->sizes.figures;
  for (int k = 0;; ++k) {
    const cvtm_status status = mesh_curves(o, figures, error);
    if (status != CVTM_OK || k == TRIES || !has_moved(figures) || !is_oversized(o)) return status;
    o->sizes.cap_factor *= 0.95;
    forget_mesh(o);
  }
}

/* Makes a mesh whose number of vertices is within two percent of the wanted one, if it can. */
static cvtm_status mesh_of_number(cvtm_outline *o, number_search *s, cvtm_error *error) {
  enum { TRIES = 5 };
  run_sizes *sizes = &o->sizes;
  const cvtm_sized_figures *figures = &sizes->figures;
  for (int k = 0;; ++k) {
    sizes->options.off = k < TRIES ? 0.035 : INFINITY;
    CVTM_TRY(mesh_below_caps(o, error));
    const int is_done = has_moved(figures);
    const double count = is_done ? (double)o->mesh.vertex_count : figures->expected;
    if (is_done && (k >= TRIES || figures->stopped || fabs(count / s->wanted - 1) < 0.02))
      return CVTM_OK;
    if (is_done && sizes->options.number == s->wanted && fabs(count / s->wanted - 1) < 0.08)
      sizes->options.number *= s->wanted / count; /* as many are removed again, or added */
    else if (!search_on(s, figures, count, &sizes->factor) || k + 1 >= TRIES) {
      k = TRIES - 1;
      *s->scale = s->best;
    }
    forget_mesh(o);
  }
}

/* Reads the fields of --size, and finds the parts that its names denote. */
static cvtm_status prepare(cvtm_outline *o, cvtm_error *error) {
  run_sizes *sizes = &o->sizes;
  sizes->caps = &o->caps;
  sizes->is_up = o->y_up;
  cvtm_sized_defaults(&sizes->options);
  sizes->options.y_up = o->y_up;
  sizes->options.growth = o->options.outline.grade;
  if (!(sizes->options.growth > 0)) sizes->options.growth = o->options.points > 0 ? 0.2 : 0.13;
  cvtm_status status = convert_units(o, sizes, error);
  for (int k = 0; k < sizes->count && status == CVTM_OK; ++k)
    if (sizes->rule[k].file != NULL)
      status = run_size_raster_read(&o->options, sizes->rule[k].file, run_outline_place_domain(o),
                                    o->sides, &sizes->rule[k].raster, error);
  return status == CVTM_OK ? resolve_names(sizes, o, error) : status;
}

cvtm_status run_sizes_bound_areas(cvtm_outline *o, cvtm_error *error) {
  run_sizes *sizes = &o->sizes;
  CVTM_TRY(prepare(o, error));
  for (int k = 0; k < sizes->count; ++k)
    if (sizes->rule[k].is_of_boundary)
      return cvtm_fail(error, CVTM_ERROR_INPUT,
                       "--size %s=...: with --min-angle only regions have sizes of their own",
                       sizes->rule[k].name);
  if (sizes->count == 0 && o->caps.file_count == 0) return CVTM_OK;
  o->refine.area = largest_area;
  o->refine.area_context = sizes;
  return CVTM_OK;
}

cvtm_status run_sizes_mesh(cvtm_outline *o, cvtm_error *error) {
  run_sizes *sizes = &o->sizes;
  number_search search;
  CVTM_TRY(prepare(o, error));
  CVTM_TRY(find_curves(o, sizes, error));
  sizes->options.size = find_size;
  sizes->options.size_context = sizes;
  sizes->options.edge_size = sizes->edge_size;
  sizes->options.stop = run_is_over;
  sizes->options.stop_context = &o->limit;
  if (o->options.points > 0) CVTM_TRY(fit_number(o, &search, error));
  return o->options.points > 0 ? mesh_of_number(o, &search, error) : mesh_below_caps(o, error);
}

void run_sizes_report(const run_sizes *sizes, cJSON *report) {
  const cvtm_sized_figures *f = &sizes->figures;
  cJSON *entry = cJSON_AddObjectToObject(report, "sizes");
  run_json_real(entry, "factor", sizes->factor);
  run_json_real(entry, "grade", sizes->options.growth);
  run_json_integer(entry, "added_on_boundary", f->on_boundary);
  run_json_integer(entry, "added_inside", f->inside);
  run_json_integer(entry, "narrow_places", f->narrowed);
  run_json_integer(entry, "sweeps", f->sweeps);
  cJSON_AddBoolToObject(entry, "stopped", f->stopped != 0);
}

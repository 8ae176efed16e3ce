#include "run/domain.h"

#include "base/file.h"
#include "base/host.h"
#include "base/npy.h"
#include "base/srgb.h"
#include "run/input.h"
#include "run/json.h"
#include "density/density.h"
#include "density/segmentation.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Options ---- */

cvtm_status run_domain_check(const cvtm_run_options *options, cvtm_error *error) {
  const int kind = (int)options->domain.kind;
  if (options->domain.smooth > 0 && kind != CVTM_RUN_DOMAIN_IMAGE && kind != CVTM_RUN_DOMAIN_MASK &&
      kind != CVTM_RUN_DOMAIN_LABELS)
    return run_usage_error(error, "--domain-smooth needs --domain image, mask or labels");
  if (options->domain.sliding && kind == CVTM_RUN_DOMAIN_NONE)
    return run_usage_error(error, "--boundary sliding needs --domain");
  if (options->domain.pairs_out != NULL && !(kind != CVTM_RUN_DOMAIN_NONE && options->periodic))
    return run_usage_error(error, "--pairs-out needs --domain and --periodic");
  run_area_caps caps;
  CVTM_TRY(run_area_caps_read(options, &caps, error));
  if (kind == CVTM_RUN_DOMAIN_NONE) {
    if (options->given & CVTM_RUN_GIVEN_MIN_ANGLE)
      return run_usage_error(error, "--min-angle needs --domain");
    if (options->refine.max_area.count > 0)
      return run_usage_error(error, "--max-area needs --domain");
    return CVTM_OK;
  }
  if (options->init.name != NULL || options->fixed.name != NULL)
    return run_usage_error(error, "--fixed does not go with --domain");
  if (kind == CVTM_RUN_DOMAIN_IMAGE && options->input.array == NULL &&
      strcmp(options->input.name, "-") == 0)
    return run_usage_error(error,
                           "--domain image reads the image twice, so the image must be a file");
  return CVTM_OK;
}

/* ---- Reading ---- */

static cvtm_status check_same_size(const char *path, const cvtm_image *image, cvtm_domain domain,
                                   cvtm_error *error) {
  if (image->width == domain.width && image->height == domain.height) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: %d x %d pixels, but the image has %d x %d", path,
                   image->width, image->height, domain.width, domain.height);
}

/* Converts linear light to sRGB, in [0, 1]: antialiased masks store coverage as sRGB values. */
static float encode_coverage(float linear) {
  return (float)cvtm_linear_to_srgb(fmin(fmax((double)linear, 0), 1));
}

static int is_translucent(const cvtm_image *image) {
  if (image->alpha == NULL) return 0;
  const int64_t pixels = (int64_t)image->width * image->height;
  for (int64_t k = 0; k < pixels; ++k) {
    if (image->alpha[k] < 1) return 1;
  }
  return 0;
}

/* Replaces the values by coverage, 0 .. 1: for the input image its darkness (brightness with
 * --invert); for a mask its alpha channel or, if it is opaque, its brightness; data is unchanged.
 * Pixels without data have coverage 0. */
static void make_coverage(const cvtm_run_options *options, cvtm_image *image) {
  const int64_t pixels = (int64_t)image->width * image->height;
  const int own = options->domain.kind == CVTM_RUN_DOMAIN_IMAGE;
  const int by_alpha = !own && is_translucent(image);
  const int dark = own && !options->invert && !image->is_data;
  for (int64_t k = 0; k < pixels; ++k) {
    if (image->masked > 0 && isnan(image->value[k])) {
      image->value[k] = 0;
      continue;
    }
    const float value = by_alpha         ? image->alpha[k]
                        : image->is_data ? image->value[k]
                                         : encode_coverage(image->value[k]);
    image->value[k] = dark ? 1 - value : value;
  }
}

/* Labels of a picture: its grey levels, numbered in ascending order from 0 for black. */
static cvtm_status rank_levels(const char *path, const cvtm_image *image, int32_t *labels,
                               cvtm_error *error) {
  enum { MOST = 4096 };
  float levels[MOST] = {0};
  int count = 1;
  const int64_t pixels = (int64_t)image->width * image->height;
  for (int64_t k = 0; k < pixels; ++k) {
    const float value = image->value[k];
    if (bsearch(&value, levels, (size_t)count, sizeof *levels, cvtm_compare_floats) != NULL)
      continue;
    if (count == MOST)
      return cvtm_fail(error, CVTM_ERROR_INPUT, "%s: labels may have at most %d grey levels", path,
                       MOST);
    int at = count++;
    for (; levels[at - 1] > value; --at) levels[at] = levels[at - 1];
    levels[at] = value;
  }
  for (int64_t k = 0; k < pixels; ++k) {
    const float *found =
        bsearch(&image->value[k], levels, (size_t)count, sizeof *levels, cvtm_compare_floats);
    labels[k] = (int32_t)(found - levels);
  }
  return CVTM_OK;
}

/* Reads labels. Pixels without data get the label 0. */
static cvtm_status take_labels(const char *path, const cvtm_image *image, int32_t *labels,
                               cvtm_error *error) {
  const int64_t pixels = (int64_t)image->width * image->height;
  for (int64_t k = 0; image->masked > 0 && k < pixels; ++k)
    if (isnan(image->value[k])) image->value[k] = 0;
  if (!image->is_data) return rank_levels(path, image, labels, error);
  for (int64_t k = 0; k < pixels; ++k) {
    const double value = (double)image->value[k];
    if (value >= 0 && value < 0x1p24 && value == floor(value)) {
      labels[k] = (int32_t)value;
      continue;
    }
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "%s: pixel (%d, %d) is %g; labels are integers from 0 on", path,
                     (int)(k % image->width), (int)(k / image->width), value);
  }
  return CVTM_OK;
}

/* What tells labels from noise. */
typedef struct label_counts {
  int64_t junctions; /* corners of pixels where three or more labels meet */
  int64_t beside;    /* pixels inside the image beside another label */
  int64_t alone;     /* pixels inside the image with another label than all eight around them */
} label_counts;

static label_counts count_labels(const int32_t *labels, int64_t w, int64_t h) {
  label_counts n = {0, 0, 0};
  for (int64_t j = 0; j + 1 < h; ++j) {
    for (int64_t i = 0; i + 1 < w; ++i) {
      const int32_t *p = labels + j * w + i, *q = p + w, *o = p - w;
      const int repeated = (p[1] == p[0]) + (q[0] == p[0] || q[0] == p[1]) +
                           (q[1] == p[0] || q[1] == p[1] || q[1] == q[0]);
      n.junctions += repeated < 2; /* three or four different labels */
      if (i == 0 || j == 0) continue;
      const int sides = (p[1] == *p) + (p[-1] == *p) + (*q == *p) + (*o == *p);
      n.beside += sides < 4;
      n.alone += sides == 0 && q[1] != *p && q[-1] != *p && o[1] != *p && o[-1] != *p;
    }
  }
  return n;
}

/* Refuses labels whose contours have too many junctions or specks: if three or more labels meet at
 * over a quarter of the pixel corners, as in a photograph, or if over a tenth of the pixels beside
 * other labels are alone, as in JPEG, with smoothed edges, or with salt and pepper. smallest: of
 * the parts that are not dropped. */
static cvtm_status check_noise(const char *path, const cvtm_image *image, const int32_t *labels,
                               double smallest, cvtm_error *error) {
  enum { LEAST_ALONE = 100 };
  const int64_t w = image->width, h = image->height, squares = (w - 1) * (h - 1);
  const label_counts n = count_labels(labels, w, h);
  const int is_mixed = n.junctions * 4 > squares && squares >= 256;
  const int is_specked = n.alone * 10 > n.beside && n.alone >= LEAST_ALONE && smallest <= 1;
  if (!is_mixed && !is_specked) return CVTM_OK;
  int32_t most = 0;
  for (int64_t k = 0; k < w * h; ++k) most = labels[k] > most ? labels[k] : most;
  if (is_mixed)
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "%s: at %.0f %% of the corners of pixels three or more of its %" PRId32
                     " grey levels meet, so they are no regions: threshold the picture first",
                     path, 100.0 * (double)n.junctions / (double)squares, most + 1);
  return cvtm_fail(error, CVTM_ERROR_INPUT,
                   "%s: %" PRId64 " pixels differ from all pixels around them, so its %" PRId32
                   " grey levels are no regions: threshold the picture first, or drop specks by "
                   "--domain-smallest",
                   path, n.alone, most + 1);
}

/* Copies values of a periodic image to `wide`, continued by `margin` pixels on all sides. */
static void extend_periodically(const cvtm_image *image, int margin, double *wide) {
  const int64_t w = image->width, h = image->height, row = w + 2 * margin;
  for (int64_t j = -margin; j < h + margin; ++j) {
    const float *from = image->value + (j % h + h) % h * w;
    for (int64_t i = -margin; i < w + margin; ++i)
      wide[(j + margin) * row + i + margin] = (double)from[(i % w + w) % w];
  }
}

/* Smooths the ragged contours of thresholded photographs by 2 G v - G G v, where G is a Gaussian
 * filter: to first order curved edges do not move, so areas do not change. */
static cvtm_status smooth_coverage(double sigma, int periodic, cvtm_image *image,
                                   cvtm_error *error) {
  const size_t pixels = (size_t)image->width * (size_t)image->height;
  size_t valid = 0; /* cvtm_contour_of_mask refuses values outside [0, 1]; these are not smoothed */
  while (valid < pixels && image->value[valid] >= 0 && image->value[valid] <= 1) ++valid;
  if (!(sigma > 0) || valid < pixels) return CVTM_OK;
  const int margin = periodic ? (int)ceil(8 * sigma) : 0; /* both Gaussians are negligible there */
  const int w = image->width + 2 * margin, h = image->height + 2 * margin;
  const size_t wide = (size_t)w * (size_t)h;
  double *once = malloc(2 * wide * sizeof *once);
  if (once == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory to smooth the domain");
  double *twice = once + wide;
  extend_periodically(image, margin, once);
  cvtm_status status = cvtm_shades_blur(w, h, sigma, once, error);
  memcpy(twice, once, wide * sizeof *twice);
  if (status == CVTM_OK) status = cvtm_shades_blur(w, h, sigma, twice, error);
  for (size_t k = 0; k < pixels && status == CVTM_OK; ++k) {
    const size_t columns = (size_t)image->width;
    const size_t from = (k / columns + (size_t)margin) * (size_t)w + k % columns + (size_t)margin;
    image->value[k] = (float)fmin(fmax(2 * once[from] - twice[from], 0), 1);
  }
  free(once);
  return status;
}

static cvtm_status trace_labels(const char *path, const cvtm_image *picture,
                                const cvtm_contour_options *settings, cvtm_contour *contour,
                                cvtm_error *error) {
  int32_t *labels = malloc((size_t)picture->width * (size_t)picture->height * sizeof *labels);
  if (labels == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path);
  cvtm_status status = take_labels(path, picture, labels, error);
  if (status == CVTM_OK) status = check_noise(path, picture, labels, settings->smallest, error);
  if (status == CVTM_OK)
    status =
        cvtm_contour_of_labels(labels, picture->width, picture->height, settings, contour, error);
  free(labels);
  return status;
}

static cvtm_status trace_picture(const cvtm_run_options *options, const cvtm_input *source,
                                 cvtm_domain image, const cvtm_contour_options *settings,
                                 cvtm_contour *contour, cvtm_error *error) {
  const char *path = source->name;
  cvtm_image picture = {0};
  /* the notes about the input were printed when it was first read */
  CVTM_TRY(strcmp(path, options->input.name) == 0
               ? cvtm_image_open(source, 0, &picture, error)
               : run_read_image(options, source, 0, &picture, error));
  cvtm_status status = check_same_size(path, &picture, image, error);
  if (status == CVTM_OK && options->domain.kind == CVTM_RUN_DOMAIN_LABELS) {
    status = trace_labels(path, &picture, settings, contour, error);
  } else if (status == CVTM_OK) {
    make_coverage(options, &picture);
    status = smooth_coverage(options->domain.smooth, options->periodic, &picture, error);
    if (status == CVTM_OK)
      status =
          cvtm_contour_of_mask(picture.value, image.width, image.height, settings, contour, error);
  }
  cvtm_image_free(&picture);
  return status;
}

static cvtm_status trace_rings(const char *path, cvtm_domain image,
                               const cvtm_contour_options *settings, cvtm_contour *contour,
                               cvtm_error *error) {
  cvtm_polygons polygons = {0};
  CVTM_TRY(cvtm_polygons_read(path, &polygons, error));
  cvtm_polygons_turn(&polygons, image.height);
  cvtm_status status =
      cvtm_contour_of_polygons(&polygons, image.width, image.height, settings, contour, error);
  cvtm_polygons_free(&polygons);
  return status;
}

static cvtm_status trace_polygons(const cvtm_run_options *options, const char *path,
                                  cvtm_domain image, cvtm_contour_options *settings,
                                  run_domain *domain, cvtm_error *error) {
  char buffer[16];
  int is_rings;
  CVTM_TRY(run_read_pslg(options, path, &domain->graph, &is_rings, error));
  settings->corner_angle = 10; /* degrees: polygons are exact, so small turns are corners, too */
  if (is_rings) return trace_rings(path, image, settings, &domain->contour, error);
  cvtm_pslg_turn(&domain->graph,
                 strcmp(cvtm_file_extension(path, buffer, sizeof buffer), "poly") == 0,
                 image.height);
  return cvtm_contour_of_pslg(&domain->graph, image.width, image.height, settings, &domain->contour,
                              error);
}

cvtm_status run_domain_read(const cvtm_run_options *options, cvtm_domain image, float *density,
                            run_domain *domain, cvtm_error *error) {
  const int kind = (int)options->domain.kind;
  const cvtm_input *given = &options->domain.source;
  const cvtm_input *source = given->name != NULL ? given : &options->input;
  cvtm_contour_options settings;
  cvtm_contour_defaults(&settings);
  settings.smallest = domain->smallest = options->domain.smallest;
  settings.smooth = kind == CVTM_RUN_DOMAIN_LABELS ? options->domain.smooth : 0;
  (void)run_area_caps_read(options, &domain->caps,
                           NULL); /* run_domain_check has refused bad values */
  settings.border = options->periodic                ? CVTM_BORDER_PERIODIC
                    : kind == CVTM_RUN_DOMAIN_LABELS ? CVTM_BORDER_FLAT
                                                     : CVTM_BORDER_EMPTY;
  CVTM_TRY(run_area_caps_convert(options, image, &domain->caps, error));
  cvtm_status status =
      kind == CVTM_RUN_DOMAIN_FRAME
          ? cvtm_contour_of_frame(image.width, image.height, &settings, &domain->contour, error)
      : kind == CVTM_RUN_DOMAIN_POLYGON
          ? trace_polygons(options, source->name, image, &settings, domain, error)
          : trace_picture(options, source, image, &settings, &domain->contour, error);
  domain->contour.keep_on_curve = options->element_order == 2;
  if (status == CVTM_OK)
    status = cvtm_domain_plan(&domain->contour, image.width, image.height, options->points,
                              options->domain.tolerance, density, &domain->boundary,
                              &domain->figures, error);
  domain->boundary_vertices = domain->boundary.vertex_count;
  if (status == CVTM_ERROR_INPUT && kind == CVTM_RUN_DOMAIN_FRAME && error != NULL) {
    const cvtm_error cause = *error;
    status = cvtm_fail(error, status, "%s (--domain none meshes free sites)", cause.message);
  }
  return run_name_file(source->name, status, error);
}

/* ---- The mesh ---- */

static double twice_area(const cvtm_mesh *mesh, int64_t t) {
  const double *a = mesh->points + 2 * (int64_t)mesh->triangles[3 * t];
  const double *b = mesh->points + 2 * (int64_t)mesh->triangles[3 * t + 1];
  const double *c = mesh->points + 2 * (int64_t)mesh->triangles[3 * t + 2];
  return (b[1] - a[1]) * (c[0] - a[0]) - (b[0] - a[0]) * (c[1] - a[1]);
}

static double area_of(const cvtm_mesh *mesh) {
  double twice = 0;
  for (int64_t t = 0; t < mesh->triangle_count; ++t) twice += twice_area(mesh, t);
  return 0.5 * twice;
}

/* A triangle, its centroid, and a number proportional to the sites that it needs by the density. */
typedef struct triangle_demand {
  double sites, x, y;
  int64_t triangle;
} triangle_demand;

static int compare_demands(const void *left, const void *right) {
  const triangle_demand *a = left, *b = right;
  if (a->sites != b->sites) return a->sites > b->sites ? -1 : 1;
  return (a->triangle > b->triangle) - (a->triangle < b->triangle);
}

static void list_candidates(const cvtm_mesh *mesh, cvtm_domain image, const float *density,
                            triangle_demand *candidates) {
  for (int64_t t = 0; t < mesh->triangle_count; ++t) {
    double x = 0, y = 0;
    for (int k = 0; k < 3; ++k) {
      x += mesh->points[2 * (int64_t)mesh->triangles[3 * t + k]] / 3;
      y += mesh->points[2 * (int64_t)mesh->triangles[3 * t + k] + 1] / 3;
    }
    const int64_t i = (int64_t)fmin(fmax(x, 0), image.width - 1);
    const int64_t j = (int64_t)fmin(fmax(y, 0), image.height - 1);
    const double root = sqrt((double)density[j * image.width + i]);
    candidates[t] = (triangle_demand){fabs(twice_area(mesh, t)) * root, x, y, t};
  }
  qsort(candidates, (size_t)mesh->triangle_count, sizeof *candidates, compare_demands);
}

/* The next candidate with no corner that has a new neighbour; NULL: none. */
static const triangle_demand *next_candidate(const cvtm_mesh *mesh,
                                             const triangle_demand *candidates, int64_t *next,
                                             char *taken) {
  while (*next < mesh->triangle_count) {
    const triangle_demand *candidate = &candidates[(*next)++];
    const int32_t *corner = mesh->triangles + 3 * candidate->triangle;
    if (taken[corner[0]] || taken[corner[1]] || taken[corner[2]]) continue;
    taken[corner[0]] = taken[corner[1]] = taken[corner[2]] = 1;
    return candidate;
  }
  return NULL;
}

cvtm_status run_domain_move_dropped(const run_domain *domain, cvtm_domain image,
                                    const float *density, double *sites, int64_t count,
                                    int64_t *moved, cvtm_error *error) {
  cvtm_mesh mesh = {0};
  cvtm_regions regions = {0};
  int32_t *source = NULL;
  *moved = 0;
  cvtm_status status =
      cvtm_domain_mesh(sites, count, &domain->boundary, &mesh, &regions, &source, error);
  if (status != CVTM_OK) return status;
  triangle_demand *candidates = malloc((size_t)mesh.triangle_count * sizeof *candidates);
  char *taken = calloc((size_t)mesh.vertex_count, 1);
  if (mesh.vertex_count == count || mesh.triangle_count == 0) {
    /* no site was dropped, or no triangle can take one */
  } else if (candidates == NULL || taken == NULL) {
    status = cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory");
  } else {
    const triangle_demand *candidate = NULL;
    int64_t next = 0;
    list_candidates(&mesh, image, density, candidates);
    for (int64_t site = 0, v = 0; site < count; ++site) {
      if (v < mesh.vertex_count && source[v] == site) {
        ++v;
      } else if ((candidate = next_candidate(&mesh, candidates, &next, taken)) != NULL) {
        sites[2 * site] = candidate->x;
        sites[2 * site + 1] = candidate->y;
        ++*moved;
      }
    }
  }
  free(candidates);
  free(taken);
  free(source);
  cvtm_regions_free(&regions);
  cvtm_mesh_free(&mesh);
  return status;
}

cvtm_status run_domain_triangulate(run_domain *domain, double *sites, double *mass,
                                   double *centroid, int64_t *count, cvtm_mesh *mesh,
                                   cvtm_error *error) {
  int32_t *source = NULL;
  CVTM_TRY(domain->refined != NULL
               ? cvtm_refinement_mesh(domain->refined, mesh, &domain->regions, &source, error)
               : cvtm_domain_mesh(sites, *count, &domain->boundary, mesh, &domain->regions, &source,
                                  error));
  for (int64_t v = 0; v < mesh->vertex_count && domain->refined == NULL; ++v) {
    const int64_t from = source[v];
    mass[v] = mass[from];
    memmove(sites + 2 * v, sites + 2 * from, 2 * sizeof *sites);
    memmove(centroid + 2 * v, centroid + 2 * from, 2 * sizeof *centroid);
  }
  free(domain->source);
  domain->source = source;
  domain->dropped = *count - mesh->vertex_count;
  domain->mesh_area = area_of(mesh);
  *count = mesh->vertex_count;
  return CVTM_OK;
}

cvtm_status run_domain_write_pairs(const cvtm_run_options *options, const cvtm_regions *regions,
                                   cvtm_error *error) {
  const int64_t shape[2] = {regions->pair_count, 3};
  if (options->domain.pairs_out == NULL) return CVTM_OK;
  return cvtm_npy_write(options->domain.pairs_out, 'i', (int)sizeof(int32_t), 2, shape,
                        regions->pairs, error);
}

/* ---- Report ---- */

int64_t run_domain_corners(const run_domain *domain) {
  const cvtm_boundary *boundary = &domain->boundary;
  int64_t corners = 0;
  for (int64_t v = 0; v < boundary->vertex_count; ++v) corners += boundary->corner[v];
  return corners;
}

double run_domain_deviation(const run_domain *domain) {
  return fmax(domain->contour.corner_shift, cvtm_boundary_deviation(&domain->boundary));
}

static void list_groups(const cvtm_group *groups, int32_t count, int dimension, cJSON *list) {
  for (int32_t k = 0; k < count; ++k) {
    cJSON *entry = run_json_item(list);
    run_json_integer(entry, "dimension", dimension);
    run_json_integer(entry, "tag", groups[k].tag);
    run_json_text(entry, "name", groups[k].name);
  }
}

static void report_smallest(const char *name, const cvtm_smallest_angles *angles, cJSON *entry) {
  cJSON *item = cJSON_AddObjectToObject(entry, name);
  run_json_integer(item, "triangles", angles->triangles);
  run_json_real(item, "min", angles->least);
  run_json_real(item, "p5", angles->fifth);
  run_json_real(item, "median", angles->median);
}

/* Reports the smallest angles of triangles within two elements of the boundary, and elsewhere. */
static void report_angles(const cvtm_boundary_angles *angles, cJSON *report) {
  cJSON *entry = cJSON_AddObjectToObject(report, "boundary_angles");
  run_json_integer(entry, "moved", angles->moved);
  report_smallest("before", &angles->before, entry);
  report_smallest("after", &angles->after, entry);
  report_smallest("inside", &angles->inside, entry);
}

void run_domain_report(const run_domain *domain, cJSON *report) {
  const cvtm_boundary *boundary = &domain->boundary;
  cJSON *entry = cJSON_AddObjectToObject(report, "domain");
  run_json_integer(entry, "curves", domain->contour.arc_count);
  run_json_integer(entry, "dropped_curves", domain->contour.dropped);
  run_json_integer(entry, "boundary_vertices", domain->boundary_vertices);
  run_json_integer(entry, "boundary_edges",
                   domain->refined ? domain->regions.edge_count : boundary->edge_count);
  run_json_integer(entry, "corners", run_domain_corners(domain));
  run_json_integer(entry, "limited_edges", domain->figures.limited);
  run_json_integer(entry, "dropped_sites", domain->dropped);
  run_json_integer(entry, "slides", domain->slides.count);
  if (domain->slides.count > 0) run_json_real(entry, "energy_locked", domain->slides.start_energy);
  if (domain->regions.pairs != NULL) {
    run_json_integer(entry, "pairs", domain->regions.pair_count);
    run_json_integer(entry, "unpaired_vertices", domain->regions.unpaired);
  }
  run_json_real(entry, "spacing", domain->figures.spacing);
  run_json_real(entry, "area", domain->contour.area);
  run_json_real(entry, "mesh_area", domain->mesh_area);
  run_json_real(entry, "hausdorff", run_domain_deviation(domain));
  cJSON *groups = cJSON_AddArrayToObject(entry, "groups");
  const cvtm_regions *regions = &domain->regions;
  list_groups(regions->line_groups, regions->line_group_count, 1, groups);
  list_groups(regions->area_groups, regions->area_group_count, 2, groups);
  if (!domain->refined) return;
  run_refine_report(&domain->refine, &domain->refinement, NAN, report);
  report_angles(&domain->angles, report);
}

void run_domain_free(run_domain *domain) {
  cvtm_pslg_free(&domain->graph);
  cvtm_contour_free(&domain->contour);
  cvtm_boundary_free(&domain->boundary);
  cvtm_regions_free(&domain->regions);
  free(domain->source);
  cvtm_refinement_destroy(domain->refined);
  cvtm_refine_figures_free(&domain->refinement);
}

/* --- names of regions ----------------------------------------------------------------------- */

enum { NAME_MAX_BYTES = 31 }; /* the names of interfaces then fit */

/* A name is valid in every format if it is a letter, then letters, digits, _ and -. */
int run_name_is_valid(const char *name) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  static const char others[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
  const size_t length = strlen(name);
  return length > 0 && length <= NAME_MAX_BYTES && strcspn(name, letters) == 0 &&
         strspn(name, others) == length;
}

cvtm_status run_region_names_check(const cvtm_run_options *o, cvtm_error *error) {
  const cvtm_region_name *item = o->domain.region_names.item;
  const int count = o->domain.region_names.count;
  if (count > 0 && o->domain.kind == CVTM_RUN_DOMAIN_NONE)
    return run_usage_error(error, "--region-name needs --domain");
  for (int k = 0; k < count; ++k) {
    if (item[k].region < 1 || item[k].region > 1 << 24 || !run_name_is_valid(item[k].name))
      return run_usage_error(error,
                             "--region-name: '%d=%s' is not N=NAME, with a name of letters, digits,"
                             " _ and -",
                             item[k].region, item[k].name);
    for (int j = 0; j < k; ++j) {
      if (item[j].region == item[k].region || strcmp(item[j].name, item[k].name) == 0)
        return run_usage_error(error, "--region-name: '%d=%s' and '%d=%s' contradict each other",
                               item[j].region, item[j].name, item[k].region, item[k].name);
    }
  }
  return CVTM_OK;
}

cvtm_status run_region_names_group(const cvtm_run_options *o, const cvtm_pslg *graph,
                                   const cvtm_mesh *mesh, cvtm_domain image, cvtm_regions *regions,
                                   cvtm_error *error) {
  const size_t most = CVTM_RUN_LIST_MAX + (size_t)graph->name_count;
  cvtm_region_name *made = malloc(most * sizeof *made);
  const int64_t count = o->domain.region_names.count;
  if (made == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for names");
  memcpy(made, o->domain.region_names.item, (size_t)count * sizeof *made);
  if (graph->name_count > 0) /* the first name of a region counts */
    memcpy(made + count, graph->names, (size_t)graph->name_count * sizeof *made);
  const cvtm_status status =
      cvtm_regions_group(mesh, image, made, count + graph->name_count, regions, error);
  free(made);
  return status;
}

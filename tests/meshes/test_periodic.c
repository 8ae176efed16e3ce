/* Meshes of random periodic micrographs: every vertex on a side of the image has its copy on the
 * opposite side. */
#include "testing.h"

#include "meshes/contour.h"
#include "meshes/domain_mesh.h"
#include "meshes/refine.h"
#include "meshes/domain_plan.h"
#include "splitmix64.h"

enum { MOST = 48 }; /* pixels of a side */

typedef struct micrograph {
  int width, height;
  int32_t labels[MOST * MOST];
} micrograph;

static double torus_distance2(const micrograph *m, double dx, double dy) {
  dx = fabs(dx);
  dy = fabs(dy);
  dx = fmin(dx, m->width - dx);
  dy = fmin(dy, m->height - dy);
  return dx * dx + dy * dy;
}

/* Voronoi grains on the torus; every fourth picture has pores. */
static void draw_grains(micrograph *m, uint64_t *state) {
  enum { GRAINS = 12 };
  double x[GRAINS], y[GRAINS];
  int32_t label[GRAINS];
  const int grains = 1 + random_below(state, GRAINS), porous = random_below(state, 4) == 0;
  for (int k = 0; k < grains; ++k) {
    x[k] = m->width * random_unit(state);
    y[k] = m->height * random_unit(state);
    label[k] = porous && k > 0 && random_below(state, 3) == 0 ? 0 : k + 1;
  }
  for (int p = 0; p < m->width * m->height; ++p) {
    double least = INFINITY;
    for (int k = 0; k < grains; ++k) {
      const double d =
          torus_distance2(m, p % m->width + 0.5 - x[k], (double)(p / m->width) + 0.5 - y[k]);
      if (d >= least) continue;
      least = d;
      m->labels[p] = label[k];
    }
  }
}

/* Discs in a matrix, some of them pores, some over others. */
static void draw_discs(micrograph *m, uint64_t *state) {
  const int discs = 1 + random_below(state, 8);
  for (int p = 0; p < m->width * m->height; ++p) m->labels[p] = 1;
  for (int k = 0; k < discs; ++k) {
    const double x = m->width * random_unit(state), y = m->height * random_unit(state);
    const double radius = 1 + 9 * random_unit(state);
    const int32_t label = random_below(state, 2) ? k + 2 : 0;
    for (int p = 0; p < m->width * m->height; ++p) {
      const double d = torus_distance2(m, p % m->width + 0.5 - x, (double)(p / m->width) + 0.5 - y);
      if (d < radius * radius) m->labels[p] = label;
    }
  }
}

/* Stripes whose edges lie on the sides of the image. */
static void draw_stripes(micrograph *m, uint64_t *state) {
  const int across = random_below(state, 2), porous = random_below(state, 2);
  for (int p = 0; p < m->width * m->height; ++p) {
    const int half = across ? 2 * (p / m->width) < m->height : 2 * (p % m->width) < m->width;
    m->labels[p] = half ? 2 : !porous;
  }
}

static micrograph draw(uint64_t seed) {
  uint64_t state = seed;
  micrograph m = {.width = 12 + random_below(&state, MOST - 11),
                  .height = 12 + random_below(&state, MOST - 11)};
  const int kind = random_below(&state, 20);
  if (kind == 0) draw_stripes(&m, &state);
  if (kind % 2 == 1) draw_grains(&m, &state);
  if (kind % 2 == 0 && kind > 0) draw_discs(&m, &state);
  return m;
}

/* ---- Checks ---- */

static int compare_numbers(const void *first, const void *second) {
  const double a = *(const double *)first, b = *(const double *)second;
  return (a > b) - (a < b);
}

/* The places along the side where coordinate `across` is `at`, sorted. */
static int64_t list_side(const cvtm_mesh *mesh, int across, double at, double *places) {
  int64_t count = 0;
  for (int64_t v = 0; v < mesh->vertex_count; ++v)
    if (mesh->points[2 * v + across] == at) places[count++] = mesh->points[2 * v + !across];
  qsort(places, (size_t)count, sizeof *places, compare_numbers);
  return count;
}

static void check_pairs(const cvtm_mesh *mesh, const micrograph *m, uint64_t seed) {
  double *near = doubles(mesh->vertex_count), *far = doubles(mesh->vertex_count);
  for (int across = 0; across < 2; ++across) {
    const double size = across == 0 ? m->width : m->height;
    const int64_t count = list_side(mesh, across, 0, near);
    if (list_side(mesh, across, size, far) != count ||
        memcmp(near, far, (size_t)count * sizeof *near) != 0)
      fail_msg("seed %llu: vertices without a copy on the opposite side", (unsigned long long)seed);
  }
  free_all(near, far);
}

/* The area that the pixels on interfaces may change each region by. */
static void find_slack(const micrograph *m, double *slack) {
  const int w = m->width, h = m->height;
  for (int j = 0; j < h; ++j) {
    for (int i = 0; i < w; ++i) {
      const int32_t own = m->labels[j * w + i];
      const int32_t around[2] = {m->labels[j * w + (i + 1) % w], m->labels[(j + 1) % h * w + i]};
      for (int k = 0; k < 2; ++k) {
        if (around[k] == own) continue;
        slack[own] += 0.25;
        slack[around[k]] += 0.25;
      }
    }
  }
}

/* The regions have the areas of their pixels: within a quarter of the pixels on interfaces or, of
 * smooth curves, within 0.1 %. No triangle is flat or turned. */
static void check_areas(const cvtm_mesh *mesh, const cvtm_regions *regions, const micrograph *m,
                        int smooth, uint64_t seed) {
  double area[MOST] = {0}, pixels[MOST] = {0}, slack[MOST] = {0};
  find_slack(m, slack);
  for (int64_t t = 0; t < mesh->triangle_count; ++t) {
    const double *a = mesh->points + 2 * (int64_t)mesh->triangles[3 * t];
    const double *b = mesh->points + 2 * (int64_t)mesh->triangles[3 * t + 1];
    const double *c = mesh->points + 2 * (int64_t)mesh->triangles[3 * t + 2];
    const double twice = (b[1] - a[1]) * (c[0] - a[0]) - (b[0] - a[0]) * (c[1] - a[1]);
    assert_true(twice > 0);
    area[regions->region[t]] += 0.5 * twice;
  }
  for (int p = 0; p < m->width * m->height; ++p) pixels[m->labels[p]] += 1;
  for (int32_t label = 1; label < MOST; ++label) {
    const double most = smooth ? 1e-3 * pixels[label] : 1e-9 + slack[label];
    if (fabs(area[label] - pixels[label]) <= most) continue;
    fail_msg("seed %llu, smooth %d: region %d has %g pixels and the area %g",
             (unsigned long long)seed, smooth, (int)label, pixels[label], area[label]);
  }
}

/* The image's corners are vertices wherever a region has them. */
static void check_corners(const cvtm_mesh *mesh, const cvtm_contour *contour) {
  for (int64_t k = 0; k < contour->start[contour->arc_count]; ++k) {
    const double *p = contour->points + 2 * k;
    if (!contour->corner[k] || p[0] != 0 || p[1] != 0) continue;
    int found = 0;
    for (int64_t v = 0; v < mesh->vertex_count && !found; ++v)
      found = mesh->points[2 * v] == 0 && mesh->points[2 * v + 1] == 0;
    assert_true(found);
  }
}

/* The vertices of the boundary, and as many random points inside. */
static double *add_sites(const cvtm_boundary *boundary, const micrograph *m, int64_t count,
                         uint64_t seed) {
  uint64_t state = seed;
  double *sites = doubles(2 * count);
  memcpy(sites, boundary->points, 2 * (size_t)boundary->vertex_count * sizeof *sites);
  for (int64_t k = boundary->vertex_count; k < count; ++k) {
    sites[2 * k] = 0.5 + (m->width - 1) * random_unit(&state);
    sites[2 * k + 1] = 0.5 + (m->height - 1) * random_unit(&state);
  }
  return sites;
}

static int is_empty(const micrograph *m) {
  int64_t sum = 0;
  for (int p = 0; p < m->width * m->height; ++p) sum += m->labels[p];
  return sum == 0;
}

static double largest_area(const void *context, int32_t region, double x, double y) {
  const micrograph *m = context;
  (void)x;
  (void)y;
  return region % 2 == 0 ? 2 : m->width * m->height;
}

/* Refined from the boundary alone, so that its edges have to be divided, and then moved where
 * angles at the boundary are small: all vertices are paired, and the bound holds. */
static void check_refined(const double *points, const cvtm_boundary *boundary, const micrograph *m,
                          uint64_t seed) {
  DEFAULT_OPTIONS(cvtm_refine, options);
  options.min_angle = 28 + (double)(seed % 7);
  options.area = largest_area;
  options.area_context = m;
  cvtm_refinement *made = NULL;
  int32_t *source = NULL;
  cvtm_refine_figures figures;
  cvtm_mesh mesh = {0};
  cvtm_regions regions = {0};
  cvtm_error error = {CVTM_OK, ""};
  cvtm_status status =
      cvtm_refine(points, boundary->vertex_count, boundary, &options, &made, &figures, &error);
  cvtm_boundary_angles angles = {0};
  if (status == CVTM_OK) status = cvtm_refinement_boundary_angles(made, &angles, &error);
  if (status == CVTM_OK && !(angles.after.least >= angles.before.least))
    fail_msg("seed %llu: %g degrees, %g before", (unsigned long long)seed, angles.after.least,
             angles.before.least);
  if (status == CVTM_OK) status = cvtm_refinement_mesh(made, &mesh, &regions, &source, &error);
  if (status != CVTM_OK) fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
  check_pairs(&mesh, m, seed);
  if (figures.below_free + figures.oversized > 0)
    fail_msg("seed %llu: %g of %g degrees", (unsigned long long)seed, figures.min_angle_free,
             options.min_angle);
  free(source);
  cvtm_refinement_destroy(made);
  cvtm_refine_figures_free(&figures);
  cvtm_mesh_free(&mesh);
  cvtm_regions_free(&regions);
}

static void check_micrograph(uint64_t seed, int smooth) {
  const micrograph m = draw(seed);
  DEFAULT_OPTIONS(cvtm_contour, how);
  how.border = CVTM_BORDER_PERIODIC;
  how.smallest = 0;
  how.smooth = smooth;
  cvtm_contour contour = {0};
  cvtm_boundary boundary = {0};
  cvtm_domain_plan_figures figures;
  cvtm_mesh mesh = {0};
  cvtm_regions regions = {0};
  int32_t *source = NULL;
  float density[MOST * MOST];
  cvtm_error error = {CVTM_OK, ""};
  if (is_empty(&m)) return;
  for (int p = 0; p < MOST * MOST; ++p) density[p] = 1;
  cvtm_status status = cvtm_contour_of_labels(m.labels, m.width, m.height, &how, &contour, &error);
  if (status == CVTM_OK)
    status = cvtm_domain_plan(&contour, m.width, m.height, 1000, 0.3, density, &boundary, &figures,
                              &error);
  double *sites = status == CVTM_OK ? add_sites(&boundary, &m, 1000, seed) : NULL;
  if (status == CVTM_OK)
    status = cvtm_domain_mesh(sites, 1000, &boundary, &mesh, &regions, &source, &error);
  if (status != CVTM_OK)
    fail_msg("seed %llu, smooth %d: %s", (unsigned long long)seed, smooth, error.message);
  check_pairs(&mesh, &m, seed);
  check_areas(&mesh, &regions, &m, smooth, seed);
  check_corners(&mesh, &contour);
  free(source);
  cvtm_mesh_free(&mesh);
  cvtm_regions_free(&regions);
  check_refined(sites, &boundary, &m, seed);
  free(sites);
  cvtm_boundary_free(&boundary);
  cvtm_contour_free(&contour);
}

/* CVTMESH_MICROGRAPHS: their number, 60 unless it is set. */
TEST(micrographs_are_paired) {
  const char *asked = getenv("CVTMESH_MICROGRAPHS");
  const int count = asked != NULL ? atoi(asked) : 60;
  for (int k = 0; k < count; ++k) {
    check_micrograph((uint64_t)k + 1, 0);
    check_micrograph((uint64_t)k + 1, 1 + k % 3);
  }
}

TEST_MAIN()

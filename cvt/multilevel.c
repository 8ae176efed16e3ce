/* Coarse to fine: a tessellation of few sites is minimised first, then each pair of
 * neighbours gets a site between them. The hexagons of the coarse level become hexagons of the
 * fine one, so that defects, whose number stays, become rare. */
#include "cvt/multilevel.h"

#include "meshes/mesh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- the plan of levels ----------------------------------------------------------- */

/* Cells along the border per root of the number of sites; a torus has none. */
static double border_share(cvtm_domain domain, const float *density) {
  if (domain.periodic) return 0;
  const int64_t width = domain.width, height = domain.height;
  double area = 0, border = 0;
  for (int64_t j = 0; j < height; ++j) {
    double row = 0;
    for (int64_t i = 0; i < width; ++i) row += sqrt((double)density[j * width + i]);
    area += row;
    border += pow((double)density[j * width], 0.25);
    border += pow((double)density[j * width + width - 1], 0.25);
  }
  for (int64_t i = 0; i < width; ++i) {
    border += pow((double)density[i], 0.25);
    border += pow((double)density[(height - 1) * width + i], 0.25);
  }
  return 1.07 * border / sqrt(area); /* a row of hexagons is narrower than its height */
}

/* How many sites become about `count` when refined: 4 v - c sqrt(v) - 3 = count (Euler). */
int64_t cvtm_cvt_coarse_count(cvtm_domain domain, const float *density, int64_t count) {
  const double c = border_share(domain, density);
  const double root = (c + sqrt(c * c + 16 * ((double)count + 3))) / 8;
  return (int64_t)fmin(ceil(root * root), (double)count);
}

/* --- refinement ------------------------------------------------------------------- */

typedef struct pair_list {
  int64_t count, capacity;
  double *middle; /* 2 * capacity */
} pair_list;

static cvtm_status add_middle(pair_list *pairs, double x, double y, cvtm_error *error) {
  if (pairs->count == pairs->capacity) {
    const int64_t capacity = 2 * pairs->capacity + 64;
    double *grown = realloc(pairs->middle, 2 * (size_t)capacity * sizeof *grown);
    if (!grown) return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory to refine sites");
    pairs->middle = grown;
    pairs->capacity = capacity;
  }
  pairs->middle[2 * pairs->count] = x;
  pairs->middle[2 * pairs->count + 1] = y;
  ++pairs->count;
  return CVTM_OK;
}

/* The middles between sites whose cells share an edge inside the rectangle. */
static cvtm_status middles_in_rectangle(cvtm_domain domain, const double *sites,
                                        const cvtm_mesh *mesh, pair_list *pairs,
                                        cvtm_error *error) {
  cvtm_cells cells = {0};
  cvtm_status status = cvtm_cells_create(mesh, domain, &cells, error);
  for (int64_t i = 0; status == CVTM_OK && i < cells.count; ++i) {
    for (int64_t k = cells.start[i]; status == CVTM_OK && k < cells.start[i + 1]; ++k) {
      const int64_t j = cells.neighbors[k];
      if (j > i)
        status = add_middle(pairs, 0.5 * (sites[2 * i] + sites[2 * j]),
                            0.5 * (sites[2 * i + 1] + sites[2 * j + 1]), error);
    }
  }
  cvtm_cells_free(&cells);
  return status;
}

/* The sites and, a quarter of the domain around it, their copies. */
typedef struct tiling {
  int64_t count;
  double *points;
  int32_t *owner;
} tiling;

static double wrapped(double x, double size) {
  const double inside = x - size * floor(x / size);
  return inside < size ? inside : 0;
}

/* On a torus: of a mesh of all sites and the copies around them, each edge once, from
 * the end of the smaller site. */
static cvtm_status middles_on_torus(cvtm_domain domain, const cvtm_mesh *mesh, const tiling *tiles,
                                    int64_t count, pair_list *pairs, cvtm_error *error) {
  cvtm_status status = CVTM_OK;
  for (int64_t t = 0; status == CVTM_OK && t < 3 * mesh->triangle_count; ++t) {
    const int64_t a = mesh->triangles[t], b = mesh->triangles[t % 3 == 2 ? t - 2 : t + 1];
    if (a >= count || tiles->owner[a] >= tiles->owner[b])
      continue; /* seen once from each triangle's side */
    const double *p = tiles->points + 2 * a, *q = tiles->points + 2 * b;
    status = add_middle(pairs, wrapped(0.5 * (p[0] + q[0]), (double)domain.width),
                        wrapped(0.5 * (p[1] + q[1]), (double)domain.height), error);
  }
  return status;
}

static void add_copies(tiling *tiles, cvtm_domain domain, const double *sites, int64_t count,
                       int dx, int dy) {
  const double width = (double)domain.width, height = (double)domain.height;
  for (int64_t i = 0; i < count; ++i) {
    const double x = sites[2 * i] + dx * width, y = sites[2 * i + 1] + dy * height;
    if (fabs(x - width / 2) > 0.75 * width || fabs(y - height / 2) > 0.75 * height) continue;
    tiles->points[2 * tiles->count] = x;
    tiles->points[2 * tiles->count + 1] = y;
    tiles->owner[tiles->count++] = (int32_t)i;
  }
}

static cvtm_status tile(cvtm_domain domain, const double *sites, int64_t count, tiling *tiles,
                        cvtm_error *error) {
  tiles->points = malloc(18 * (size_t)count * sizeof *tiles->points);
  tiles->owner = malloc(9 * (size_t)count * sizeof *tiles->owner);
  if (!tiles->points || !tiles->owner)
    return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory to refine sites");
  add_copies(tiles, domain, sites, count, 0, 0); /* these first: vertex i is site i */
  for (int k = 0; k < 9; ++k)
    if (k != 4) add_copies(tiles, domain, sites, count, k % 3 - 1, k / 3 - 1);
  return CVTM_OK;
}

static cvtm_status find_middles(cvtm_domain domain, const double *sites, int64_t count,
                                pair_list *pairs, cvtm_error *error) {
  cvtm_mesh mesh = {0};
  tiling tiles = {0};
  cvtm_status status = CVTM_OK;
  if (domain.periodic) {
    status = tile(domain, sites, count, &tiles, error);
    if (status == CVTM_OK) status = cvtm_delaunay(tiles.points, tiles.count, &mesh, error);
    if (status == CVTM_OK) status = middles_on_torus(domain, &mesh, &tiles, count, pairs, error);
  } else {
    status = cvtm_delaunay(sites, count, &mesh, error);
    if (status == CVTM_OK) status = middles_in_rectangle(domain, sites, &mesh, pairs, error);
  }
  cvtm_mesh_free(&mesh);
  free(tiles.points);
  free(tiles.owner);
  return status;
}

/* Does item i of `count` belong to an even choice of `chosen` of them? */
static int in_even_choice(int64_t i, int64_t count, int64_t chosen) {
  const double share = (double)chosen / (double)count;
  return floor((double)(i + 1) * share) > floor((double)i * share);
}

cvtm_status cvtm_cvt_refine(cvtm_domain domain, const double *coarse, int64_t coarse_count,
                            double *fine, int64_t count, cvtm_error *error) {
  pair_list pairs = {0};
  const cvtm_status status = find_middles(domain, coarse, coarse_count, &pairs, error);
  if (status == CVTM_OK) {
    memcpy(fine, coarse, 2 * (size_t)coarse_count * sizeof *fine);
    const int64_t room = count - coarse_count;
    int64_t placed = coarse_count;
    for (int64_t k = 0; k < pairs.count && placed < count; ++k) {
      if (pairs.count > room && !in_even_choice(k, pairs.count, room)) continue;
      fine[2 * placed] = pairs.middle[2 * k];
      fine[2 * placed + 1] = pairs.middle[2 * k + 1];
      ++placed;
    }
    /* Too few: between evenly chosen sites and those that follow them along the list. */
    const int64_t have = placed;
    for (int64_t k = 0; placed < count; ++k, ++placed) {
      const int64_t i = k * have / (count - have) % have, j = (i + 1) % have;
      fine[2 * placed] = 0.75 * fine[2 * i] + 0.25 * fine[2 * j];
      fine[2 * placed + 1] = 0.75 * fine[2 * i + 1] + 0.25 * fine[2 * j + 1];
    }
  }
  free(pairs.middle);
  return status;
}

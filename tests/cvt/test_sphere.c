/* Tessellations of the sphere: cells and integrals against the dual of the Delaunay triangulation
 * and adaptive quadrature, the gradient also against differences of the energy, and descents. */
#include "base/sphere.h"
#include "cvt/sphere.h"
#include "meshes/sphere.h"
#include "sphere_points.h"
#include "tests/test_devices.h"

enum { ROWS = 9, COLUMNS = 16, SITES = 40 };

static const double pi = 3.14159265358979323846;

/* Rows at the poles. Widths differ by a third, in a way that is the same at no two places. */
static cvtm_sphere_widths some_widths(int32_t rows, int32_t columns) {
  const double row_step = pi / (rows - 1), column_step = 2 * pi / columns;
  cvtm_sphere_widths w = {rows,
                          columns,
                          -0.5 * pi,
                          -pi,
                          row_step,
                          column_step,
                          allocated((int64_t)rows * columns, sizeof(float))};
  for (int32_t j = 0; j < rows; ++j) {
    for (int32_t i = 0; i < columns; ++i) {
      const double latitude = -0.5 * pi + j * row_step, longitude = -pi + i * column_step;
      const double x = cos(latitude) * cos(longitude), y = cos(latitude) * sin(longitude);
      w.value[j * columns + i] = (float)(0.2 + 0.03 * x - 0.02 * y * sin(latitude));
    }
  }
  return w;
}

/* --- quadrature ------------------------------------------------------------------------------- */

/* The widths on the faces of a cube, interpolated bilinearly from those of its points. */
typedef struct cube {
  int side; /* 0: the density is 1 */
  double value[6][64][64];
} cube;

static void fill_cube(cube *c, const cvtm_sphere_widths *w) {
  c->side = w->value == NULL ? 0 : w->rows;
  for (int face = 0; face < 6; ++face) {
    for (int j = 0; j < c->side; ++j) {
      for (int i = 0; i < c->side; ++i) {
        const int axis = face / 2;
        double at[3];
        at[axis] = face % 2 ? -1 : 1;
        at[(axis + 1) % 3] = 2.0 * j / (c->side - 1) - 1;
        at[(axis + 2) % 3] = 2.0 * i / (c->side - 1) - 1;
        c->value[face][j][i] = (double)(float)cvtm_sphere_widths_at(w, at);
      }
    }
  }
}

static double density_at(const cube *c, cvtm_vector p) {
  const double at[3] = {p.x, p.y, p.z};
  int axis = 0;
  if (c->side == 0) return 1;
  for (int k = 1; k < 3; ++k)
    if (fabs(at[k]) > fabs(at[axis])) axis = k;
  const double scale = 0.5 * (c->side - 1), top = fabs(at[axis]);
  const double row = (at[(axis + 1) % 3] / top + 1) * scale;
  const double column = (at[(axis + 2) % 3] / top + 1) * scale;
  const int j = (int)fmin(row, c->side - 2), i = (int)fmin(column, c->side - 2);
  const double(*value)[64] = c->value[2 * axis + (at[axis] < 0)];
  const double v = row - j, u = column - i;
  const double width = (1 - v) * ((1 - u) * value[j][i] + u * value[j][i + 1]) +
                       v * ((1 - u) * value[j + 1][i] + u * value[j + 1][i + 1]);
  return pow(width, -4);
}

typedef struct sums {
  double mass, energy;
  cvtm_vector moment;
} sums;

/* Over the spherical triangle, whose points are those of the plane through its corners, projected.
 */
static sums by_rule(const cube *c, cvtm_vector site, const cvtm_vector corner[3]) {
  static const double point[2] = {0.101286507323456338800, 0.470142064105115089770};
  static const double weight[2] = {0.125939180544827152595, 0.132394152788506180737};
  const double det = cvtm_vector_dot(corner[0], cvtm_vector_cross(corner[1], corner[2]));
  sums s = {0, 0, {0, 0, 0}};
  for (int k = 0; k < 7; ++k) {
    const double t = k == 6 ? 1.0 / 3 : point[k / 3], w = k == 6 ? 0.225 : weight[k / 3];
    cvtm_vector p = {0, 0, 0};
    for (int i = 0; i < 3; ++i)
      p = cvtm_vector_add(p, i == k % 3 && k < 6 ? 1 - 2 * t : t, corner[i]);
    const double length = cvtm_vector_length(p);
    const double part = 0.5 * w * det / (length * length * length) * density_at(c, p);
    const cvtm_vector at = cvtm_vector_unit(p);
    s.mass += part;
    s.energy += part * cvtm_chord2(at, site);
    s.moment = cvtm_vector_add(s.moment, part, at);
  }
  return s;
}

static void add_sums(sums *to, sums s) {
  to->mass += s.mass;
  to->energy += s.energy;
  to->moment = cvtm_vector_add(to->moment, 1, s.moment);
}

/* Divides a triangle into four until the sums change by less than `tolerance`. */
static void integrate(const cube *c, cvtm_vector site, const cvtm_vector corner[3], sums whole,
                      double tolerance, sums *total) {
  cvtm_vector middle[3], inner[4][3];
  for (int k = 0; k < 3; ++k)
    middle[k] = cvtm_vector_unit(cvtm_vector_add(corner[(k + 1) % 3], 1, corner[(k + 2) % 3]));
  sums part[4], all = {0, 0, {0, 0, 0}};
  for (int k = 0; k < 4; ++k) {
    for (int i = 0; i < 3; ++i)
      inner[k][i] = k == 3 ? middle[i] : i == k ? corner[k] : middle[3 - k - i];
    part[k] = by_rule(c, site, inner[k]);
    add_sums(&all, part[k]);
  }
  if (fabs(all.mass - whole.mass) + fabs(all.energy - whole.energy) +
          cvtm_vector_length(cvtm_vector_add(all.moment, -1, whole.moment)) <=
      tolerance) {
    add_sums(total, all);
    return;
  }
  for (int k = 0; k < 4; ++k) integrate(c, site, inner[k], part[k], tolerance, total);
}

/* The direction of a point of a face's plane. */
static cvtm_vector face_point(int face, double row, double column) {
  double at[3];
  at[face / 2] = face % 2 ? -1 : 1;
  at[(face / 2 + 1) % 3] = row;
  at[(face / 2 + 2) % 3] = column;
  return cvtm_vector_of(at[0], at[1], at[2]);
}

/* Keeps the directions of a convex polygon that are nearer to a than to b (Sutherland & Hodgman).
 */
static int cut(cvtm_vector *polygon, int count, cvtm_vector a, cvtm_vector b) {
  cvtm_vector kept[64];
  int made = 0;
  const cvtm_vector normal = cvtm_vector_add(b, -1, a);
  for (int k = 0; k < count; ++k) {
    const cvtm_vector p = polygon[k], q = polygon[(k + 1) % count];
    const double s = cvtm_vector_dot(p, normal), t = cvtm_vector_dot(q, normal);
    if (s <= 0) kept[made++] = p;
    if ((s < 0 && t > 0) || (s > 0 && t < 0))
      kept[made++] = cvtm_vector_add(p, s / (s - t), cvtm_vector_add(q, -1, p));
  }
  memcpy(polygon, kept, (size_t)made * sizeof *kept);
  return made;
}

typedef struct reference {
  double energy, mass[SITES], gradient[3 * SITES];
} reference;

/* The part of a cell in each pixel of the cube, in the plane of its face, against every site. */
static sums integrate_cell(const cube *c, const double *sites, int i) {
  const int pixels = c->side ? c->side - 1 : 1;
  const double step = 2.0 / pixels;
  const cvtm_vector site = cvtm_vector_load(sites, i);
  sums total = {0, 0, {0, 0, 0}};
  for (int pixel = 0; pixel < 6 * pixels * pixels; ++pixel) {
    const int face = pixel / (pixels * pixels);
    const double row = -1 + step * (pixel / pixels % pixels), column = -1 + step * (pixel % pixels);
    cvtm_vector polygon[64] = {face_point(face, row, column), face_point(face, row + step, column),
                               face_point(face, row + step, column + step),
                               face_point(face, row, column + step)};
    int count = 4;
    for (int j = 0; j < SITES && count > 0; ++j)
      if (j != i) count = cut(polygon, count, site, cvtm_vector_load(sites, j));
    for (int k = 1; k + 1 < count; ++k) {
      /* Counterclockwise from outside. */
      const int turned = face % 2;
      const cvtm_vector corner[3] = {cvtm_vector_unit(polygon[0]),
                                     cvtm_vector_unit(polygon[turned ? k + 1 : k]),
                                     cvtm_vector_unit(polygon[turned ? k : k + 1])};
      const sums whole = by_rule(c, site, corner);
      integrate(c, site, corner, whole, c->side ? 1e-9 : 1e-12, &total);
    }
  }
  return total;
}

static void find_reference(const cvtm_sphere_widths *w, const double *sites, reference *r) {
  static cube c;
  fill_cube(&c, w);
  r->energy = 0;
  for (int i = 0; i < SITES; ++i) {
    const cvtm_vector site = cvtm_vector_load(sites, i), zero = {0, 0, 0};
    const sums total = integrate_cell(&c, sites, i);
    const cvtm_vector tangent =
        cvtm_vector_add(total.moment, -cvtm_vector_dot(total.moment, site), site);
    cvtm_vector_store(r->gradient, i, cvtm_vector_add(zero, -2, tangent));
    r->mass[i] = total.mass;
    r->energy += total.energy;
  }
}

/* 1e-10 of the largest number of each kind. */
static void check_integrals(cvtm_device *device, const cvtm_sphere_widths *w) {
  static reference r;
  double *sites = random_sphere(SITES, 7), energy, mass[SITES], gradient[3 * SITES];
  find_reference(w, sites, &r);
  assert_device_ok(device, cvtm_sphere_energy(device, w, sites, SITES, &energy, gradient, mass));
  double most_mass = 0, most_gradient = 0;
  for (int i = 0; i < SITES; ++i) most_mass = fmax(most_mass, r.mass[i]);
  for (int i = 0; i < 3 * SITES; ++i) most_gradient = fmax(most_gradient, fabs(r.gradient[i]));
  assert_true(fabs(energy - r.energy) <= 1e-10 * r.energy);
  for (int i = 0; i < SITES; ++i) assert_true(fabs(mass[i] - r.mass[i]) <= 1e-10 * most_mass);
  for (int i = 0; i < 3 * SITES; ++i)
    assert_true(fabs(gradient[i] - r.gradient[i]) <= 1e-10 * most_gradient);
  free(sites);
}

TEST_ON_DEVICE(integrals_of_an_even_density) {
  const cvtm_sphere_widths even = {0, 0, 0, 0, 0, 0, NULL};
  check_integrals(device, &even);
}

TEST_ON_DEVICE(integrals_of_a_map) {
  cvtm_sphere_widths w = some_widths(ROWS, COLUMNS);
  check_integrals(device, &w);
  cvtm_sphere_widths_free(&w);
}

/* Central differences, whose error is near 1e-9 with these steps. */
TEST_ON_DEVICE(gradient_is_that_of_the_energy) {
  cvtm_sphere_widths w = some_widths(ROWS, COLUMNS);
  double *sites = random_sphere(SITES, 8), energy, gradient[3 * SITES];
  assert_device_ok(device, cvtm_sphere_energy(device, &w, sites, SITES, &energy, gradient, NULL));
  for (int k = 0; k < 3 * SITES; k += 17) {
    const cvtm_vector at = cvtm_vector_load(sites, k / 3);
    double side[2];
    for (int turn = 0; turn < 2; ++turn) {
      const double step = turn ? 1e-5 : -1e-5;
      const cvtm_vector along = {k % 3 == 0, k % 3 == 1, k % 3 == 2};
      cvtm_vector_store(sites, k / 3, cvtm_vector_unit(cvtm_vector_add(at, step, along)));
      assert_device_ok(device,
                       cvtm_sphere_energy(device, &w, sites, SITES, &side[turn], NULL, NULL));
    }
    cvtm_vector_store(sites, k / 3, at);
    assert_true(fabs((side[1] - side[0]) / 2e-5 - gradient[k]) <= 1e-7 * energy);
  }
  free(sites);
  cvtm_sphere_widths_free(&w);
}

TEST_ON_DEVICE(device_and_cpu_agree) {
  enum { MANY = 3000 };
  cvtm_device *cpu = test_cpu_open(1);
  cvtm_sphere_widths w = some_widths(ROWS, COLUMNS);
  double *sites = random_sphere(MANY, 9), *gradient = doubles(3 * MANY), *mass = doubles(MANY);
  double *other_gradient = doubles(3 * MANY), *other_mass = doubles(MANY), energy, other;
  assert_device_ok(device, cvtm_sphere_energy(device, &w, sites, MANY, &energy, gradient, mass));
  assert_device_ok(cpu,
                   cvtm_sphere_energy(cpu, &w, sites, MANY, &other, other_gradient, other_mass));
  double total = 0;
  for (int i = 0; i < MANY; ++i) total += mass[i];
  assert_true(fabs(energy - other) <= 1e-13 * energy);
  for (int i = 0; i < MANY; ++i) assert_true(fabs(mass[i] - other_mass[i]) <= 1e-13 * total);
  for (int i = 0; i < 3 * MANY; ++i)
    assert_true(fabs(gradient[i] - other_gradient[i]) <= 1e-13 * total);
  free_all(sites, gradient, mass, other_gradient, other_mass);
  cvtm_sphere_widths_free(&w);
  cvtm_device_destroy(cpu);
}

/* --- descents --------------------------------------------------------------------------------- */

static void solve(cvtm_device *device, const cvtm_sphere_widths *w, const double *fixed,
                  const cvtm_sphere_options *options, double **sites, int64_t *count) {
  cvtm_sphere_result result;
  cvtm_sphere_mesh mesh, again;
  assert_device_ok(device, cvtm_sphere_solve(device, w, fixed, options, &mesh, &result));
  *count = mesh.count;
  *sites = doubles(3 * mesh.count);
  memcpy(*sites, mesh.points, 3 * (size_t)mesh.count * sizeof **sites);
  assert_ok(cvtm_sphere_delaunay(*sites, *count, &again, NULL));
  assert_memory_equal(mesh.triangles, again.triangles, 6 * (size_t)(*count - 2) * sizeof(int32_t));
  assert_memory_equal(mesh.twins, again.twins, 6 * (size_t)(*count - 2) * sizeof(int32_t));
  CALL_EACH(cvtm_sphere_mesh_free, cvtm_sphere_mesh, &mesh, &again);
  for (int64_t i = 0; i < *count; ++i)
    assert_true(fabs(cvtm_vector_length(cvtm_vector_load(*sites, i)) - 1) <= 1e-15);
}

static cvtm_sphere_quality quality_of(const double *sites, int64_t count) {
  cvtm_sphere_mesh mesh;
  cvtm_sphere_quality quality;
  assert_ok(cvtm_sphere_delaunay(sites, count, &mesh, NULL));
  assert_ok(cvtm_sphere_quality_compute(&mesh, &quality, NULL));
  cvtm_sphere_mesh_free(&mesh);
  return quality;
}

/* Of every class of icosahedral grids, and with less energy than the grid. */
TEST_ON_DEVICE(even_widths_have_twelve_pentagons) {
  static const int64_t counts[] = {12, 42, 72, 500, 1000};
  const cvtm_sphere_widths even = {0, 0, 0, 0, 0, 0, NULL};
  for (int k = 0; k < 5; ++k) {
    DEFAULT_OPTIONS(cvtm_sphere, options);
    options.count = counts[k];
    double *sites, *start, energy, start_energy;
    int64_t count, start_count;
    solve(device, &even, NULL, &options, &sites, &count);
    options.iterations = 0;
    solve(device, &even, NULL, &options, &start, &start_count);
    assert_int_equal(count, start_count);
    assert_true(llabs(count - counts[k]) <= counts[k] / 10);
    const cvtm_sphere_quality quality = quality_of(sites, count);
    assert_int_equal(quality.degree[5], 12);
    assert_int_equal(quality.degree[6], count - 12);
    assert_int_equal(quality.obtuse, 0);
    assert_device_ok(device, cvtm_sphere_energy(device, &even, sites, count, &energy, NULL, NULL));
    assert_device_ok(device,
                     cvtm_sphere_energy(device, &even, start, count, &start_energy, NULL, NULL));
    assert_true(energy <= start_energy * (1 + 1e-14));
    assert_true(count <= 42 || energy < start_energy);
    free_all(sites, start);
  }
}

/* Beside hexagons of equal mass, whose energy is 5 / (18 sqrt(3)) m_i a_i each: for the density
 * width^-4 the least energy of many cells is 5 / (18 sqrt(3)) (integral of width^-2)^2 / count. */
TEST_ON_DEVICE(a_map_comes_near_the_energy_of_hexagons) {
  cvtm_sphere_widths w = some_widths(ROWS, COLUMNS);
  DEFAULT_OPTIONS(cvtm_sphere, options);
  options.count = 2000;
  double *sites, energy;
  int64_t count;
  solve(device, &w, NULL, &options, &sites, &count);
  assert_true(llabs(count - 2000) <= 40);
  assert_device_ok(device, cvtm_sphere_energy(device, &w, sites, count, &energy, NULL, NULL));
  const double inverse_squares = cvtm_sphere_widths_count(&w) * sqrt(3.0) / 2;
  const double least = 5 / (18 * sqrt(3.0)) * inverse_squares * inverse_squares / (double)count;
  assert_in_range((int64_t)(1000 * energy / least), 990, 1015);
  const cvtm_sphere_quality quality = quality_of(sites, count);
  assert_true(quality.not_six < 0.06 && quality.mean_min_angle > 55);
  free(sites);
  cvtm_sphere_widths_free(&w);
}

TEST_ON_DEVICE(fixed_sites_stay_and_the_count_is_exact) {
  enum { FIXED = 5 };
  cvtm_sphere_widths w = some_widths(ROWS, COLUMNS);
  double *fixed = random_sphere(FIXED, 3), *sites;
  int64_t count;
  DEFAULT_OPTIONS(cvtm_sphere, options);
  options.count = 777;
  options.fixed = FIXED;
  options.any_count = 0;
  solve(device, &w, fixed, &options, &sites, &count);
  assert_int_equal(count, 777);
  for (int i = 0; i < 3 * FIXED; ++i) assert_true(fabs(sites[i] - fixed[i]) <= 1e-15);
  free_all(fixed, sites);
  cvtm_sphere_widths_free(&w);
}

TEST_ON_DEVICE(the_same_seed_gives_the_same_bits) {
  cvtm_sphere_widths w = some_widths(ROWS, COLUMNS);
  cvtm_device *other = test_device_open_threads(1);
  DEFAULT_OPTIONS(cvtm_sphere, options);
  options.count = 500;
  double *a, *b, *c;
  int64_t count, again;
  solve(device, &w, NULL, &options, &a, &count);
  solve(other, &w, NULL, &options, &b, &again);
  assert_int_equal(count, again);
  assert_memory_equal(a, b, 3 * (size_t)count * sizeof *a);
  options.seed = 2;
  solve(device, &w, NULL, &options, &c, &again);
  assert_memory_not_equal(a, c, 3 * (size_t)count * sizeof *a);
  free_all(a, b, c);
  cvtm_sphere_widths_free(&w);
  cvtm_device_destroy(other);
}

/* --- widths ----------------------------------------------------------------------------------- */

TEST(the_number_of_cells_follows_from_the_widths) {
  cvtm_sphere_widths w = some_widths(91, 180);
  for (int k = 0; k < 91 * 180; ++k) w.value[k] = 0.02F;
  const double expected = 4 * pi * 2 / (sqrt(3.0) * (double)0.02F * (double)0.02F);
  assert_true(fabs(cvtm_sphere_widths_count(&w) / expected - 1) <= 1e-12);
  cvtm_sphere_widths_free(&w);
}

/* Also where the nearest small width is beyond a pole or the date line. */
TEST(graded_widths_grow_slowly) {
  cvtm_sphere_widths w = some_widths(46, 90);
  for (int k = 0; k < 46 * 90; ++k) w.value[k] = 1;
  w.value[44 * 90] = 0.1F;
  cvtm_sphere_widths_grade(&w, 0.3);
  const double place[3] = {-cos(w.south + 44 * w.row_step), 0, sin(w.south + 44 * w.row_step)};
  for (int j = 1; j < 45; ++j) {
    for (int i = 0; i < 90; ++i) {
      const double y = w.south + j * w.row_step, x = w.west + i * w.column_step;
      const double arc = cvtm_arc(cvtm_vector_load(place, 0),
                                  cvtm_vector_of(cos(y) * cos(x), cos(y) * sin(x), sin(y)));
      const double width = (double)w.value[j * 90 + i];
      /* Along eight directions a way is at most 1.09 times as long. */
      assert_true(width >= fmin(1, 0.1 + 0.3 * arc) - 0.01);
      assert_true(width <= fmin(1, 0.1 + 0.3 * 1.12 * arc) + 0.01);
    }
  }
  cvtm_sphere_widths_free(&w);
}

TEST_ON_DEVICE(bad_options_are_refused) {
  const cvtm_sphere_widths even = {0, 0, 0, 0, 0, 0, NULL};
  static const int64_t bad[][2] = {{11, 0}, {300000001, 0}, {100, 51}, {100, -1}};
  for (int k = 0; k < 4; ++k) {
    DEFAULT_OPTIONS(cvtm_sphere, options);
    cvtm_sphere_mesh mesh = {0};
    cvtm_sphere_result result;
    options.count = bad[k][0];
    options.fixed = bad[k][1];
    assert_refused(cvtm_sphere_solve(device, &even, NULL, &options, &mesh, &result));
    assert_null(mesh.points);
  }
}

TEST_DEVICE_MAIN()

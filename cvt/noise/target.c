#include "cvt/noise/target.h"

#include "cvt/noise/local_width.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MARGIN = CVTM_TARGET_MARGIN };

static const double step_of_spacing = 0.5; /* of the nodes, where the density is largest */
static const double nodes_of_point = 8, nodes_least = 16384;

/* --- masses --------------------------------------------------------------------------------------
 */

/* The masses of `cells` equal parts of a line of `count` values, constant on each: differences of
 * their sums. */
static void divide_line(const double *value, int64_t stride, int count, int cells, double *mass,
                        int64_t mass_stride) {
  const double size = (double)count / cells;
  double before = 0, sum = 0;
  int next = 0;
  for (int c = 1; c <= cells; ++c) {
    const double end = c == cells ? count : c * size;
    while (next < (int)end) sum += value[next++ * stride];
    const double part = end > next ? (end - next) * value[next * stride] : 0;
    mass[(c - 1) * mass_stride] = fmax(sum + part - before, 0);
    before = sum + part;
  }
}

/* Masses of a grid of columns x rows cells of the domain, whose total is `count`. */
static cvtm_status divide_density(cvtm_domain domain, const float *density, int64_t count,
                                  int columns, int rows, double *mass, cvtm_error *error) {
  const int width = domain.width, height = domain.height;
  double *line = malloc((size_t)width * sizeof *line);
  double *tall = malloc((size_t)columns * (size_t)height * sizeof *tall);
  double total = 0;
  if (line != NULL && tall != NULL) {
    for (int j = 0; j < height; ++j) {
      for (int i = 0; i < width; ++i) line[i] = (double)density[(int64_t)j * width + i];
      divide_line(line, 1, width, columns, tall + (int64_t)j * columns, 1);
    }
    for (int i = 0; i < columns; ++i)
      divide_line(tall + i, columns, height, rows, mass + i, columns);
    for (int64_t k = 0; k < (int64_t)columns * rows; ++k) total += mass[k];
    for (int64_t k = 0; k < (int64_t)columns * rows; ++k) mass[k] *= (double)count / total;
  }
  const int made = line != NULL && tall != NULL;
  free(line);
  free(tall);
  return made ? CVTM_OK : cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a density");
}

/* The distance of nodes is what the largest density needs, or larger if that would be too many
 * nodes. */
static void choose_nodes(cvtm_domain domain, const float *density, int64_t count, int cells[2]) {
  const double area = (double)domain.width * domain.height;
  double total = 0, largest = 0;
  for (int64_t p = 0; p < (int64_t)domain.width * domain.height; ++p) {
    total += (double)density[p];
    largest = fmax(largest, (double)density[p]);
  }
  const double least = sqrt(area / (nodes_of_point * (double)count + nodes_least));
  const double step = fmax(step_of_spacing * sqrt(total / (largest * (double)count)), least);
  cells[0] = (int)fmin(fmax(ceil(domain.width / step), 4), 30000);
  cells[1] = (int)fmin(fmax(ceil(domain.height / step), 4), 30000);
}

/* --- the whole -----------------------------------------------------------------------------------
 */

/* Copies the inner values outwards: those of the nearest nodes, in a torus those a turn away. */
static void fill_margins(cvtm_target *target, const int cells[2], const double *inner) {
  for (int j = 0; j < target->rows; ++j) {
    for (int i = 0; i < target->columns; ++i) {
      int x = i - MARGIN, y = j - MARGIN;
      if (target->domain.periodic) {
        x = (x + cells[0]) % cells[0];
        y = (y + cells[1]) % cells[1];
      }
      x = x < 0 ? 0 : x >= cells[0] ? cells[0] - 1 : x;
      y = y < 0 ? 0 : y >= cells[1] ? cells[1] - 1 : y;
      target->log_width[(int64_t)j * target->columns + i] = inner[(int64_t)y * cells[0] + x];
    }
  }
}

cvtm_status cvtm_target_masses(cvtm_domain domain, const float *density, int64_t count,
                               int cells[2], double **mass, cvtm_error *error) {
  choose_nodes(domain, density, count, cells);
  *mass = malloc((size_t)cells[0] * (size_t)cells[1] * sizeof **mass);
  if (*mass == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a density");
  const cvtm_status status =
      divide_density(domain, density, count, cells[0], cells[1], *mass, error);
  if (status == CVTM_OK) return CVTM_OK;
  free(*mass);
  *mass = NULL;
  return status;
}

static cvtm_status allocate_nodes(cvtm_target *target, double **inner, cvtm_error *error) {
  const size_t nodes = (size_t)target->columns * (size_t)target->rows;
  *inner = malloc(nodes * sizeof **inner);
  target->log_width = malloc(nodes * sizeof *target->log_width);
  target->potential = calloc(nodes, sizeof *target->potential);
  if (*inner && target->log_width && target->potential) return CVTM_OK;
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "no memory for a density");
}

cvtm_status cvtm_target_create(cvtm_domain domain, const float *density, int64_t count,
                               double width, int threads, cvtm_target *target, double **masses,
                               cvtm_error *error) {
  int cells[2];
  double *mass = NULL, *inner = NULL;
  memset(target, 0, sizeof *target);
  cvtm_status status = cvtm_target_masses(domain, density, count, cells, &mass, error);
  if (status != CVTM_OK) return status;
  cvtm_target made = {.domain = domain,
                      .columns = cells[0] + 2 * MARGIN,
                      .rows = cells[1] + 2 * MARGIN,
                      .step = {(double)domain.width / cells[0], (double)domain.height / cells[1]}};
  status = allocate_nodes(&made, &inner, error);
  if (status == CVTM_OK)
    status =
        cvtm_local_width(cells, made.step, domain.periodic, mass, width, threads, inner, error);
  if (status == CVTM_OK) fill_margins(&made, cells, inner);
  free(inner);
  if (status != CVTM_OK) cvtm_target_free(&made);
  if (status == CVTM_OK && masses != NULL) {
    *masses = mass;
  } else {
    free(mass);
  }
  *target = made;
  return status;
}

void cvtm_target_free(cvtm_target *target) {
  free(target->log_width);
  free(target->potential);
  memset(target, 0, sizeof *target);
}

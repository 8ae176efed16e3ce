#include "cli/class_spacing.h"

#include "base/grow.h"
#include "cli/cli.h"
#include "cli/report.h"

#include <stdlib.h>
#include <string.h>

typedef struct class_point {
  int32_t class_of, index;
} class_point;

static int compare_class_points(const void *a, const void *b) {
  const class_point *p = a, *q = b;
  if (p->class_of != q->class_of) return p->class_of < q->class_of ? -1 : 1;
  return (p->index > q->index) - (p->index < q->index);
}

static cvtm_status no_memory_for_points(int64_t count, cvtm_error *error) {
  return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for %lld points", (long long)count);
}

/* Adds the class of `count` points. */
static cvtm_status add_class(cvtm_domain domain, const double *points, const class_point *of_class,
                             int64_t count, double *xy, int64_t capacity[2],
                             cli_class_spacing *made, cvtm_error *error) {
  const int64_t k = made->classes;
  for (int64_t i = 0; i < count; ++i)
    memcpy(xy + 2 * i, points + 2 * (int64_t)of_class[i].index, 2 * sizeof *xy);
  if (!cvtm_grow(&made->number, sizeof *made->number, &capacity[0], k + 1) ||
      !cvtm_grow(&made->distances, sizeof *made->distances, &capacity[1], k + 1))
    return no_memory_for_points(count, error);
  made->number[k] = of_class[0].class_of;
  ++made->classes;
  return cvtm_nearest_distances_measure(domain, xy, count, 0, &made->distances[k], error);
}

cvtm_status cli_class_spacing_measure(cvtm_domain domain, const double *points,
                                      const int32_t *class_of, int64_t count,
                                      cli_class_spacing *made, cvtm_error *error) {
  int64_t capacity[2] = {0, 0};
  *made = (cli_class_spacing){0};
  if (class_of == NULL || domain.width < 1) return CVTM_OK;
  class_point *sorted = malloc((size_t)count * sizeof *sorted);
  double *xy = malloc(2 * (size_t)count * sizeof *xy);
  cvtm_status status = sorted != NULL && xy != NULL ? CVTM_OK : no_memory_for_points(count, error);
  if (status == CVTM_OK) {
    for (int64_t i = 0; i < count; ++i) sorted[i] = (class_point){class_of[i], (int32_t)i};
    qsort(sorted, (size_t)count, sizeof *sorted, compare_class_points);
  }
  for (int64_t first = 0, end; first < count && status == CVTM_OK; first = end) {
    for (end = first; end < count && sorted[end].class_of == sorted[first].class_of;) ++end;
    status = add_class(domain, points, sorted + first, end - first, xy, capacity, made, error);
  }
  free(sorted);
  free(xy);
  return status;
}

void cli_class_spacing_free(cli_class_spacing *made) {
  free(made->number);
  free(made->distances);
  *made = (cli_class_spacing){0};
}

void cli_class_spacing_report(const cli_class_spacing *made, cJSON *report) {
  if (made->classes == 0) return;
  cJSON *list = cJSON_AddArrayToObject(report, "classes");
  for (int64_t k = 0; k < made->classes; ++k) {
    cJSON *part = cJSON_CreateObject();
    cli_json_integer(part, "class", made->number[k]);
    cli_json_integer(part, "points", made->distances[k].points);
    cli_json_real(part, "nearest_least", made->distances[k].least);
    cli_json_real(part, "nearest_mean", made->distances[k].mean);
    cli_json_append(list, part);
  }
}

void cli_class_spacing_print(const cli_class_spacing *made, FILE *stream) {
  for (int64_t k = 0; k < made->classes; ++k) {
    const cvtm_nearest_distances *of = &made->distances[k];
    fprintf(stream, "%s%8d: %lld %s", k == 0 ? "classes:\n" : "", (int)made->number[k],
            (long long)of->points, cli_word(of->points, "point", "points"));
    if (of->points > 1)
      fprintf(stream, ", the nearest at %.4g px on average, %.4g at least", of->mean, of->least);
    fputc('\n', stream);
  }
}

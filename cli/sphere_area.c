#include "cli/sphere_area.h"

#include "base/host.h"
#include "meshes/polygon_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BANDS = 1800 };

static int64_t band_of(double latitude) {
  const double band = (latitude + 90) * (BANDS / 180.0);
  return band > 0 ? (int64_t)fmin(band, BANDS - 1.0) : 0;
}

void cli_area_free(cli_area *area) {
  free(area->first);
  free(area->edge);
  memset(area, 0, sizeof *area);
}

/* Counts the edges of each band in count[band], or puts them at next[band] and moves that on. */
static void sort_edges(const cvtm_polygons *p, int64_t *count, int64_t *next, double *edge) {
  for (int64_t ring = 0; ring < p->ring_count; ++ring) {
    for (int64_t k = p->start[ring]; k < p->start[ring + 1]; ++k) {
      const double *from = p->points + 2 * k;
      const double *to = p->points + 2 * (k + 1 < p->start[ring + 1] ? k + 1 : p->start[ring]);
      const int64_t last = band_of(fmax(from[1], to[1]));
      for (int64_t band = band_of(fmin(from[1], to[1])); band <= last; ++band) {
        if (edge == NULL) {
          ++count[band];
          continue;
        }
        double *place = edge + 4 * next[band]++;
        memcpy(place, from, 2 * sizeof *place);
        memcpy(place + 2, to, 2 * sizeof *place);
      }
    }
  }
}

cvtm_status cli_area_read(const char *path, cli_area *area, cvtm_error *error) {
  cvtm_polygons polygons;
  cvtm_status status = cvtm_polygons_read(path, &polygons, error);
  if (status != CVTM_OK) return status;
  int64_t next[BANDS] = {0};
  sort_edges(&polygons, next, NULL, NULL);
  cli_area made = {malloc((BANDS + 1) * sizeof *made.first), NULL};
  int64_t sum = 0;
  for (int band = 0; made.first != NULL && band < BANDS; ++band) {
    made.first[band] = sum;
    sum += next[band];
    next[band] = made.first[band];
  }
  made.edge = malloc(((size_t)sum + 1) * 4 * sizeof *made.edge);
  if (made.first != NULL && made.edge != NULL) {
    made.first[BANDS] = sum;
    sort_edges(&polygons, NULL, next, made.edge);
    *area = made;
  } else {
    cli_area_free(&made);
    status = cvtm_no_memory(error, path);
  }
  cvtm_polygons_free(&polygons);
  return status;
}

int cli_area_contains(const cli_area *area, double longitude, double latitude) {
  const int64_t band = band_of(latitude);
  int inside = 0;
  for (int turn = -1; turn <= 1 && !inside; ++turn) {
    const double x = longitude + 360.0 * turn;
    for (int64_t k = area->first[band]; k < area->first[band + 1]; ++k) {
      const double *e = area->edge + 4 * k;
      if ((e[1] > latitude) == (e[3] > latitude)) continue;
      inside ^= x < e[0] + (latitude - e[1]) / (e[3] - e[1]) * (e[2] - e[0]);
    }
  }
  return inside;
}

/* SVG pictures, y down like the image. Coordinates have as many decimals as a thousandth
 * of the mean spacing needs, at least two. */
#include "base/file.h"
#include "base/numeric_locale.h"
#include "meshes/formats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double mean_spacing(cvtm_domain domain, int64_t count) {
  return sqrt((double)domain.width * domain.height / (double)(count > 0 ? count : 1));
}

static int choose_decimals(double spacing) {
  int decimals = (int)ceil(log10(1000 / spacing));
  return decimals < 2 ? 2 : decimals > 12 ? 12 : decimals;
}

/* Rounded, without trailing zeros. */
static void put(FILE *file, double value, int decimals) {
  char text[400];
  int length = snprintf(text, sizeof text, "%.*f", decimals, value);
  while (length > 0 && text[length - 1] == '0') --length;
  if (length > 0 && text[length - 1] == '.') --length;
  text[length] = 0;
  fputs(strcmp(text, "-0") == 0 ? "0" : text, file);
}

static void put_point(FILE *file, char command, const double *p, int decimals) {
  fputc(command, file);
  put(file, p[0], decimals);
  fputc(p[1] < 0 ? ' ' : ',', file);
  put(file, p[1], decimals);
}

static void write_stipples(FILE *file, const cvtm_mesh *mesh, const double *radius, int light,
                           double spacing) {
  const double share = 0.3; /* of the mean spacing: neighbours do not touch */
  int decimals = choose_decimals(spacing);
  fprintf(file, "<g fill=\"%s\">\n", light ? "#fff" : "#000");
  for (int64_t i = 0; i < mesh->vertex_count; ++i) {
    fputs("<circle cx=\"", file);
    put(file, mesh->points[2 * i], decimals);
    fputs("\" cy=\"", file);
    put(file, mesh->points[2 * i + 1], decimals);
    fputs("\" r=\"", file);
    put(file, radius != NULL ? radius[i] : share * spacing, decimals + 1);
    fputs("\"/>\n", file);
  }
  fputs("</g>\n", file);
}

static void begin_lines(FILE *file, double spacing) {
  fputs("<g fill=\"none\" stroke=\"#000\" stroke-linejoin=\"round\" stroke-width=\"", file);
  put(file, 0.05 * spacing, 4);
  fputs("\">\n", file);
}

static void write_cells(FILE *file, const cvtm_cells *cells, double spacing) {
  int decimals = choose_decimals(spacing);
  begin_lines(file, spacing);
  for (int64_t i = 0; i < cells->count; ++i) {
    if (cells->start[i] == cells->start[i + 1]) continue;
    fputs("<path d=\"", file);
    for (int64_t k = cells->start[i]; k < cells->start[i + 1]; ++k) {
      put_point(file, k == cells->start[i] ? 'M' : 'L', cells->corners + 2 * k, decimals);
    }
    fputs("Z\"/>\n", file);
  }
  fputs("</g>\n", file);
}

static int compare_edges(const void *a, const void *b) {
  uint64_t p = *(const uint64_t *)a, q = *(const uint64_t *)b;
  return (p > q) - (p < q);
}

/* Every edge once: smaller vertex in the high half. Returns how many; the caller frees. */
static int64_t list_edges(const cvtm_mesh *mesh, uint64_t **edges) {
  uint64_t *e = malloc((3 * (size_t)mesh->triangle_count + 1) * sizeof *e);
  *edges = e;
  if (e == NULL) return -1;
  int64_t all = 0, kept = 0;
  for (int64_t t = 0; t < mesh->triangle_count; ++t) {
    for (int k = 0; k < 3; ++k) {
      uint64_t a = (uint32_t)mesh->triangles[3 * t + k];
      uint64_t b = (uint32_t)mesh->triangles[3 * t + (k + 1) % 3];
      e[all++] = a < b ? a << 32 | b : b << 32 | a;
    }
  }
  qsort(e, (size_t)all, sizeof *e, compare_edges);
  for (int64_t k = 0; k < all; ++k) {
    if (kept == 0 || e[kept - 1] != e[k]) e[kept++] = e[k];
  }
  return kept;
}

/* One path, so that the picture stays small. */
static void write_edges(FILE *file, const cvtm_mesh *mesh, const uint64_t *edges, int64_t count,
                        double spacing) {
  enum { PER_LINE = 8 };
  int decimals = choose_decimals(spacing);
  begin_lines(file, spacing);
  fputs("<path d=\"", file);
  for (int64_t k = 0; k < count; ++k) {
    if (k > 0 && k % PER_LINE == 0) fputc('\n', file);
    put_point(file, 'M', mesh->points + 2 * (int64_t)(edges[k] >> 32), decimals);
    put_point(file, 'L', mesh->points + 2 * (int64_t)(edges[k] & UINT32_MAX), decimals);
  }
  fputs("\"/>\n</g>\n", file);
}

static void write_path(FILE *file, const cvtm_mesh *mesh, int closed, double spacing) {
  enum { PER_LINE = 16 };
  const double share = 0.25; /* of the mean spacing: the width of the line */
  int decimals = choose_decimals(spacing);
  fputs(
      "<path fill=\"none\" stroke=\"#000\" stroke-linejoin=\"round\" stroke-linecap=\"round\" "
      "stroke-width=\"",
      file);
  put(file, share * spacing, decimals + 1);
  fputs("\" d=\"", file);
  for (int64_t i = 0; i < mesh->vertex_count; ++i) {
    if (i > 0 && i % PER_LINE == 0) fputc('\n', file);
    put_point(file, i == 0 ? 'M' : 'L', mesh->points + 2 * i, decimals);
  }
  fputs(closed ? "Z\"/>\n" : "\"/>\n", file);
}

static void write_picture(FILE *file, cvtm_svg_kind kind, const cvtm_mesh *mesh,
                          const cvtm_cells *cells, const double *radius, int light,
                          cvtm_domain domain, const uint64_t *edges, int64_t edge_count) {
  int64_t sites = kind == CVTM_SVG_CELLS ? cells->count : mesh->vertex_count;
  double spacing = mean_spacing(domain, sites);
  fprintf(file,
          "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
          "viewBox=\"0 0 %d %d\">\n<rect width=\"%d\" height=\"%d\" fill=\"%s\"/>\n",
          domain.width, domain.height, domain.width, domain.height, domain.width, domain.height,
          light && kind == CVTM_SVG_STIPPLES ? "#000" : "#fff");
  if (kind == CVTM_SVG_STIPPLES) write_stipples(file, mesh, radius, light, spacing);
  if (kind == CVTM_SVG_CELLS) write_cells(file, cells, spacing);
  if (kind == CVTM_SVG_MESH) write_edges(file, mesh, edges, edge_count, spacing);
  if (kind == CVTM_SVG_PATH || kind == CVTM_SVG_TOUR)
    write_path(file, mesh, kind == CVTM_SVG_TOUR, spacing);
  fputs("</svg>\n", file);
}

cvtm_status cvtm_svg_write(const char *path, cvtm_svg_kind kind, const cvtm_mesh *mesh,
                           const cvtm_cells *cells, const double *radius, int light,
                           cvtm_domain domain, cvtm_error *error) {
  uint64_t *edges = NULL;
  int64_t edge_count = kind == CVTM_SVG_MESH ? list_edges(mesh, &edges) : 0;
  if (edge_count < 0) return cvtm_fail(error, CVTM_ERROR_MEMORY, "%s: out of memory", path);
  cvtm_output *output;
  cvtm_status status = cvtm_output_open(path, &output, error);
  if (status == CVTM_OK) {
    cvtm_numeric_locale locale = cvtm_numeric_locale_enter();
    write_picture(cvtm_output_stream(output), kind, mesh, cells, radius, light, domain, edges,
                  edge_count);
    cvtm_numeric_locale_leave(locale);
    status = cvtm_output_commit(output, error);
  }
  free(edges);
  return status;
}

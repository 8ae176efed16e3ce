#include "cli/spectrum.h"

#include "base/file.h"
#include "base/npy.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Points whose numbers in squares scatter more than those of Poisson's process are no sample of a
 * uniform density. */
static const double dispersion_of_uniform = 2;

/* A file that --spectrum may name. */
typedef cvtm_status (*spectrum_writer)(const char *path, const cli_spectrum *made,
                                       cvtm_error *error);

/* Sites of a tessellation, and of blue noise, follow the root of a density. */
static cvtm_status compute_graded(const cli_options *options, cvtm_domain domain,
                                  const float *density, const double *points, int64_t count,
                                  cvtm_spectrum *spectrum, cvtm_error *error) {
  const int64_t pixels = (int64_t)domain.width * domain.height;
  float *root = malloc((size_t)pixels * sizeof *root);
  if (root == NULL) return cvtm_fail(error, CVTM_ERROR_MEMORY, "out of memory for a density");
  for (int64_t p = 0; p < pixels; ++p) root[p] = sqrtf(density[p]);
  const cvtm_status status = cvtm_spectrum_compute_graded(domain, root, points, count,
                                                          (int)options->threads, spectrum, error);
  free(root);
  return status;
}

static double decibels(double ratio) { return 10 * log10(ratio); }

/* --- files ---------------------------------------------------------------------------------------
 */

static cvtm_status write_svg(const char *path, const cli_spectrum *made, cvtm_error *error) {
  return cli_spectrum_draw(path, &made->spectrum, error);
}

static cvtm_status write_npy(const char *path, const cli_spectrum *made, cvtm_error *error) {
  const int64_t shape[2] = {made->spectrum.side, made->spectrum.side};
  return cvtm_npy_write(path, 'f', (int)sizeof(double), 2, shape, made->spectrum.picture, error);
}

static void print_curve_row(FILE *stream, const char *curve, double x, double y) {
  if (isfinite(y)) fprintf(stream, "%s,%.10g,%.10g\n", curve, x, y);
}

static cvtm_status write_csv(const char *path, const cli_spectrum *made, cvtm_error *error) {
  const cvtm_spectrum *s = &made->spectrum;
  cvtm_output *output = NULL;
  const cvtm_status status = cvtm_output_open(path, &output, error);
  if (status != CVTM_OK) return status;
  FILE *stream = cvtm_output_stream(output);
  fprintf(stream, "curve,x,y\n");
  for (int64_t k = 0; k < s->rings; ++k)
    print_curve_row(stream, "power", ((double)k + 0.5) * s->step, s->power[k]);
  for (int64_t k = 0; k < s->rings; ++k)
    print_curve_row(stream, "anisotropy_db", ((double)k + 0.5) * s->step,
                    decibels(s->anisotropy[k]));
  for (int64_t k = 0; k < s->gaps; ++k)
    print_curve_row(stream, "pair_correlation", ((double)k + 0.5) * s->gap, s->correlation[k]);
  return cvtm_output_commit(output, error);
}

static void add_figures(const cli_spectrum *made, cJSON *report) {
  const cvtm_spectrum *s = &made->spectrum;
  cli_json_integer(report, "points", s->count);
  cli_json_real(report, "spacing", s->spacing);
  cli_json_real(report, "least_distance", s->least_distance);
  cli_json_real(report, "mean_distance", s->mean_distance);
  cli_json_real(report, "low_frequency_power", s->low_power);
  cli_json_real(report, "effective_nyquist", s->effective_nyquist);
  cli_json_real(report, "oscillation", s->oscillation);
  cli_json_real(report, "peak_power", s->peak_power);
  cli_json_real(report, "anisotropy_db", s->mean_anisotropy);
  cli_json_real(report, "bond_order", made->bond_order);
  cli_json_real(report, "dispersion", s->dispersion);
}

static void add_curve(cJSON *report, const char *name, const double *value, int64_t count) {
  cJSON *array = cJSON_AddArrayToObject(report, name);
  for (int64_t k = 0; k < count; ++k)
    cli_json_append(array, isfinite(value[k]) ? cJSON_CreateNumber(value[k]) : cJSON_CreateNull());
}

static cvtm_status write_json(const char *path, const cli_spectrum *made, cvtm_error *error) {
  const cvtm_spectrum *s = &made->spectrum;
  cJSON *report = cJSON_CreateObject();
  cli_json_text(report, "version", CVTMESH_VERSION);
  add_figures(made, report);
  cli_json_real(report, "frequency_step", s->step);
  add_curve(report, "power", s->power, s->rings);
  add_curve(report, "anisotropy", s->anisotropy, s->rings);
  cli_json_real(report, "distance_step", s->gap);
  add_curve(report, "pair_correlation", s->correlation, s->gaps);
  return cli_json_write(path, report, error);
}

/* The writer for the extension of a path; NULL: none. */
static spectrum_writer writer_for(const char *path) {
  static const struct {
    const char *extension;
    spectrum_writer writer;
  } known[] = {{"svg", write_svg}, {"csv", write_csv}, {"npy", write_npy}, {"json", write_json}};
  char buffer[64];
  const char *extension = cvtm_file_extension(path, buffer, sizeof buffer);
  for (size_t k = 0; k < sizeof known / sizeof known[0]; ++k)
    if (strcmp(known[k].extension, extension) == 0) return known[k].writer;
  return NULL;
}

cvtm_status cli_spectrum_write(const cli_options *options, const cli_spectrum *made,
                               cvtm_error *error) {
  cvtm_status status = CVTM_OK;
  for (int k = 0; k < options->spectrum.count && status == CVTM_OK; ++k)
    status = writer_for(options->spectrum.item[k])(options->spectrum.item[k], made, error);
  return status;
}

/* --- the command ---------------------------------------------------------------------------------
 */

int cli_spectrum_check(const cli_options *options) {
  if (options->spectrum.count == 0) return CLI_EXIT_OK;
  for (int k = 0; k < options->spectrum.count; ++k)
    if (writer_for(options->spectrum.item[k]) == NULL)
      return cli_usage_error(options->command, "%s: --spectrum is written as svg, csv, npy or json",
                             options->spectrum.item[k]);
  return cli_outputs_check(options);
}

cvtm_status cli_spectrum_measure(const cli_options *options, cvtm_domain domain,
                                 const float *density, const double *points, const cvtm_mesh *mesh,
                                 cli_spectrum *made, cvtm_error *error) {
  const int64_t count = mesh->vertex_count;
  memset(made, 0, sizeof *made);
  if (options->spectrum.count == 0) return CVTM_OK;
  if (domain.width < 1 || domain.height < 1)
    return cvtm_fail(error, CVTM_ERROR_INPUT,
                     "%s: a mesh needs --width and --height for a spectrum", options->input);
  cvtm_status status = cli_require_inside(options->input, points, count, domain, error);
  if (status == CVTM_OK && count < 2)
    status = cvtm_fail(error, CVTM_ERROR_INPUT, "%s: one point has no spectrum", options->input);
  if (status == CVTM_OK && density != NULL)
    status = compute_graded(options, domain, density, points, count, &made->spectrum, error);
  else if (status == CVTM_OK)
    status =
        cvtm_spectrum_compute(domain, points, count, (int)options->threads, &made->spectrum, error);
  if (status == CVTM_OK)
    status = cvtm_bond_order(mesh->points, count, mesh->triangles, mesh->triangle_count,
                             &made->bond_order, error);
  if (status != CVTM_OK) cvtm_spectrum_free(&made->spectrum);
  made->is_measured = status == CVTM_OK;
  return status;
}

void cli_spectrum_free(cli_spectrum *made) { cvtm_spectrum_free(&made->spectrum); }

void cli_spectrum_report(const cli_spectrum *made, cJSON *report) {
  if (made->is_measured) add_figures(made, cJSON_AddObjectToObject(report, "noise"));
}

void cli_spectrum_print(const cli_spectrum *made, FILE *stream) {
  const cvtm_spectrum *s = &made->spectrum;
  if (!made->is_measured) return;
  fprintf(stream, "noise, frequencies in units of 1 / %.4g px:\n", s->spacing);
  fprintf(stream, "  nearest points       %.4f of the hexagonal lattice's distance, mean %.4f\n",
          s->least_distance, s->mean_distance);
  fprintf(stream, "  power to 1/2         %.3g; 0.1 on average to %.3f (effective Nyquist)\n",
          s->low_power, s->effective_nyquist);
  fprintf(stream, "  power beyond         oscillation %.2f; largest %.3g\n", s->oscillation,
          s->peak_power);
  if (isfinite(s->mean_anisotropy))
    fprintf(stream, "  anisotropy           %.1f dB\n", s->mean_anisotropy);
  fprintf(stream, "  bond order           %.3f (1: hexagons)\n", made->bond_order);
  if (s->dispersion > dispersion_of_uniform)
    fprintf(stream,
            "  note: the points are not uniform (their numbers in squares scatter %.3g times as\n"
            "  much as independent ones); the spectrum is that of the set as a whole\n",
            s->dispersion);
}

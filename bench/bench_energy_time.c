/* Energy against time: several ways from the same random sites, and the start of the program.
 * Prints a table and, if a name is given, draws the curves as SVG.
 *
 *     bench_energy_time [--device NAME] [--side 256] [--sites 2500] [--seconds 2] [FILE.svg] */
#include "base/clock.h"
#include "cvt/cvt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_POINTS = 160 };

typedef struct way {
  const char *name, *colour;
  cvtm_cvt_method method;
  cvtm_cvt_energy energy;
  cvtm_cvt_effort effort;
  cvtm_cvt_start start;
} way;

static const way ways[] = {
    {"coarse to fine, exact energy (default)", "#0072b2", CVTM_CVT_LBFGSB, CVTM_CVT_EXACT,
     CVTM_CVT_EFFORT_NORMAL, CVTM_CVT_START_STRATIFIED},
    {"L-BFGS-B, exact energy", "#009e73", CVTM_CVT_LBFGSB, CVTM_CVT_EXACT, CVTM_CVT_EFFORT_LOW,
     CVTM_CVT_START_RANDOM},
    {"Lloyd, exact energy", "#e69f00", CVTM_CVT_LLOYD, CVTM_CVT_EXACT, CVTM_CVT_EFFORT_LOW,
     CVTM_CVT_START_RANDOM},
    {"L-BFGS-B, pixel energy", "#d55e00", CVTM_CVT_LBFGSB, CVTM_CVT_PIXEL, CVTM_CVT_EFFORT_LOW,
     CVTM_CVT_START_RANDOM},
    {"Lloyd, pixel energy", "#cc79a7", CVTM_CVT_LLOYD, CVTM_CVT_PIXEL, CVTM_CVT_EFFORT_LOW,
     CVTM_CVT_START_RANDOM},
};

enum { WAYS = sizeof ways / sizeof ways[0] };

typedef struct curve {
  cvtm_device *device;
  const cvtm_cvt *cvt;
  int64_t count;      /* sites */
  double start, away; /* when the run began; seconds that the measuring took, not the run */
  double next;        /* no point before this time */
  int points;
  double time[MOST_POINTS], ratio[MOST_POINTS];
  double *sites; /* of every point, 2 * count each */
} curve;

typedef struct setting {
  const char *device, *picture;
  int side;
  int64_t sites;
  double seconds;
} setting;

/* Keeps the sites, at times that grow by some per cent. */
static int keep_sites(void *context, const cvtm_cvt_record *record) {
  curve *c = context;
  const double came = cvtm_clock(), time = came - c->start - c->away;
  if (record->sites != c->count || time < c->next || c->points == MOST_POINTS) return 0;
  const size_t numbers = 2 * (size_t)c->count;
  if (cvtm_device_copy_out(c->device, c->sites + (size_t)c->points * numbers,
                           cvtm_cvt_current_sites(c->cvt), numbers * sizeof(double)) != CVTM_OK)
    return 1;
  c->time[c->points++] = time;
  c->next = 1.06 * time;
  c->away += cvtm_clock() - came;
  return 0;
}

static cvtm_status run_way(cvtm_device *device, const setting *s, const float *density,
                           const way *w, curve *c) {
  const cvtm_domain domain = {s->side, s->side, 0};
  cvtm_cvt *cvt = NULL;
  cvtm_cvt_options options;
  cvtm_cvt_result result;
  double *sites = malloc(2 * (size_t)s->sites * sizeof *sites);
  cvtm_status status = sites ? CVTM_OK : CVTM_ERROR_MEMORY;
  if (status == CVTM_OK) status = cvtm_cvt_create(device, domain, density, s->sites, &cvt);
  cvtm_cvt_defaults(&options);
  options.method = w->method;
  options.energy = w->energy;
  options.effort = w->effort;
  options.start = w->start;
  options.max_iterations = 0;
  options.tolerance = 0;
  options.max_seconds = s->seconds;
  options.monitor = keep_sites;
  options.monitor_context = c;
  c->device = device;
  c->cvt = cvt;
  c->count = s->sites;
  c->start = cvtm_clock();
  if (status == CVTM_OK) status = cvtm_cvt_solve(cvt, &options, 0, sites, s->sites, &result);
  const double bound = cvtm_cvt_energy_bound(domain, density, s->sites);
  for (int k = 0; status == CVTM_OK && k < c->points; ++k) {
    status = cvtm_cvt_evaluate(cvt, c->sites + 2 * (size_t)k * (size_t)s->sites, s->sites,
                               CVTM_CVT_EXACT, CVTM_VORONOI_EXACT, &c->ratio[k], NULL);
    c->ratio[k] /= bound;
  }
  cvtm_cvt_destroy(cvt);
  free(sites);
  return status;
}

/* --- the picture ------------------------------------------------------------------- */

enum { LEFT = 64, TOP = 20, WIDTH = 560, HEIGHT = 360 };
static const double highest = 1.12;

static double across(double time, double first, double last) {
  return LEFT + WIDTH * log(time / first) / log(last / first);
}

static double down(double ratio) {
  return TOP + HEIGHT * (highest - fmin(ratio, highest)) / (highest - 1);
}

static void draw_axes(FILE *file, double first, double last) {
  fprintf(file, "<g stroke=\"#ccc\" fill=\"none\">\n");
  for (int k = 0; k <= 12; k += 2)
    fprintf(file, "<path d=\"M%d %.1fh%d\"/>\n", LEFT, down(1 + 0.01 * k), WIDTH);
  fprintf(file, "</g>\n<g fill=\"#333\" font-family=\"sans-serif\" font-size=\"12\">\n");
  for (int k = 0; k <= 12; k += 2)
    fprintf(file, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.2f</text>\n", LEFT - 8,
            down(1 + 0.01 * k) + 4, 1 + 0.01 * k);
  for (double decade = 1e-4; decade < 1e4; decade *= 10) {
    for (int k = 1; k <= 5; k += k == 1 ? 1 : 3) {
      const double time = k * decade;
      if (time < first || time > last) continue;
      fprintf(file, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
              across(time, first, last), TOP + HEIGHT + 18, time);
    }
  }
  fprintf(file,
          "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">seconds</text>\n"
          "<text transform=\"translate(14 %d) rotate(-90)\" text-anchor=\"middle\">energy / that "
          "of regular hexagons</text>\n</g>\n",
          LEFT + WIDTH / 2, TOP + HEIGHT + 38, TOP + HEIGHT / 2);
}

static void draw_curve(FILE *file, const curve *c, int w, double first, double last) {
  fprintf(file, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\" d=\"", ways[w].colour);
  char pen = 'M';
  for (int k = 0; k < c->points; ++k) {
    if (c->time[k] < first || c->ratio[k] > highest) continue;
    fprintf(file, "%c%.1f %.1f", pen, across(c->time[k], first, last), down(c->ratio[k]));
    pen = 'L';
  }
  if (pen == 'L') fprintf(file, "H%d", LEFT + WIDTH); /* the energy of a run that has ended stays */
  fprintf(file,
          "\"/>\n<text x=\"%d\" y=\"%d\" font-family=\"sans-serif\" font-size=\"13\" "
          "fill=\"%s\">%s</text>\n",
          LEFT + WIDTH - 262, TOP + 20 + 20 * w, ways[w].colour, ways[w].name);
}

static int draw_curves(const setting *s, const curve *curves) {
  FILE *file = fopen(s->picture, "w");
  if (!file) return 0;
  double first = s->seconds;
  for (int w = 0; w < WAYS; ++w)
    for (int k = 0; k < curves[w].points; ++k)
      if (curves[w].ratio[k] < highest) first = fmin(first, curves[w].time[k]);
  const int width = LEFT + WIDTH + 20, height = TOP + HEIGHT + 50;
  fprintf(file,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d "
          "%d\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
          width, height, width, height);
  draw_axes(file, first, s->seconds);
  for (int w = 0; w < WAYS; ++w) draw_curve(file, &curves[w], w, first, s->seconds);
  fprintf(file, "</svg>\n");
  const int failed = ferror(file);
  return fclose(file) == 0 && !failed;
}

/* --- the table --------------------------------------------------------------------- */

static double ratio_at(const curve *c, double time) {
  double ratio = NAN;
  for (int k = 0; k < c->points && c->time[k] <= time; ++k) ratio = c->ratio[k];
  return ratio;
}

static void print_table(const setting *s, const curve *curves) {
  printf("| seconds |");
  for (int w = 0; w < WAYS; ++w) printf(" %s |", ways[w].name);
  printf("\n|---|");
  for (int w = 0; w < WAYS; ++w) printf("---|");
  for (double time = s->seconds / 32; time <= s->seconds; time *= 2) {
    printf("\n| %g |", time);
    for (int w = 0; w < WAYS; ++w) {
      const double ratio = ratio_at(&curves[w], time);
      if (isnan(ratio))
        printf(" - |");
      else
        printf(" %.4f |", ratio);
    }
  }
  printf("\n");
}

static cvtm_status measure_curves(cvtm_device *device, const setting *s, curve *curves) {
  const size_t pixels = (size_t)s->side * (size_t)s->side;
  float *density = malloc(pixels * sizeof *density);
  cvtm_status status = density ? CVTM_OK : CVTM_ERROR_MEMORY;
  for (size_t p = 0; density && p < pixels; ++p) density[p] = 1;
  for (int w = 0; status == CVTM_OK && w < WAYS; ++w) {
    curves[w].sites = malloc(MOST_POINTS * 2 * (size_t)s->sites * sizeof(double));
    status =
        curves[w].sites ? run_way(device, s, density, &ways[w], &curves[w]) : CVTM_ERROR_MEMORY;
    free(curves[w].sites);
  }
  free(density);
  return status;
}

static int read_arguments(int argc, char **argv, setting *s) {
  for (int k = 1; k < argc; ++k) {
    if (argv[k][0] != '-') {
      s->picture = argv[k];
      continue;
    }
    if (k + 1 == argc) return 0;
    if (!strcmp(argv[k], "--device"))
      s->device = argv[++k];
    else if (!strcmp(argv[k], "--side"))
      s->side = (int)strtol(argv[++k], NULL, 10);
    else if (!strcmp(argv[k], "--sites"))
      s->sites = strtol(argv[++k], NULL, 10);
    else if (!strcmp(argv[k], "--seconds"))
      s->seconds = strtod(argv[++k], NULL);
    else
      return 0;
  }
  return s->side > 0 && s->sites > 0 && s->seconds > 0;
}

int main(int argc, char **argv) {
  static curve curves[WAYS];
  setting s = {.device = "cpu", .side = 256, .sites = 2500, .seconds = 2};
  cvtm_device *device = NULL;
  cvtm_error error = {CVTM_OK, ""};
  if (!read_arguments(argc, argv, &s)) {
    fprintf(stderr,
            "usage: bench_energy_time [--device NAME] [--side S] [--sites N] "
            "[--seconds T] [FILE.svg]\n");
    return 2;
  }
  if (cvtm_device_create(s.device, 0, &device, &error)) {
    fprintf(stderr, "bench_energy_time: %s\n", error.message);
    return 5;
  }
  printf(
      "Device: %s (%s); %lld sites in %d^2, uniform density; continuous energy over the bound\n\n",
      cvtm_device_name(device), cvtm_device_description(device), (long long)s.sites, s.side);
  cvtm_status status = measure_curves(device, &s, curves);
  if (status == CVTM_OK) {
    print_table(&s, curves);
    if (s.picture && !draw_curves(&s, curves)) {
      fprintf(stderr, "bench_energy_time: cannot write %s\n", s.picture);
      status = CVTM_ERROR_INPUT;
    }
  } else {
    fprintf(stderr, "bench_energy_time: %s\n", cvtm_device_error(device)->message);
  }
  cvtm_device_destroy(device);
  return status == CVTM_OK ? 0 : 1;
}

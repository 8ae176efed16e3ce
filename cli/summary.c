/* The summaries of results on stderr. */
#include "cli/summary.h"

#include "base/clock.h"
#include "cli/cli.h"
#include "run/job.h"

#include <math.h>
#include <string.h>

static void print_pen(const run_colours *c, int k) {
  const int64_t dots = c->start[k + 1] - c->start[k];
  const run_pen_figures *f = &c->figures[k];
  fprintf(stderr, "  %-10s %-16s %s", k == 0 ? "pens" : "", c->pens.pen[k].name,
          cli_count(dots, "dot", "dots"));
  if (dots > 1)
    fprintf(stderr, ", the nearest at %.3g px (%.3g at least)", f->nearest.mean, f->nearest.least);
  fprintf(stderr, "; ink %.2f %%, wanted %.2f %%", 100 * f->drawn, 100 * f->asked);
  if (dots > 0) fprintf(stderr, "; energy %.4f of the reference", c->solved.ratio[k]);
  fputc('\n', stderr);
}

static void print_colours(const cvtm_run_options *o, const run_colours *c) {
  for (int k = 0; k < c->count; ++k) print_pen(c, k);
  if (c->count > 0 && o->colours.palette > c->count)
    fprintf(stderr, "  note       the picture has the colours of %d %s, not of %lld\n", c->count,
            cli_word(c->count, "ink", "inks"), (long long)o->colours.palette);
  if (!c->is_measured) return;
  fprintf(stderr, "  colour     error %.4f in OKLab (rms %.4f), %.4f with ideal dots of these inks",
          c->reached.mean, c->reached.rms, c->possible.mean);
  /* an even picture has no contrast with which to compare */
  if (isfinite(c->reached.luminance.contrast))
    fprintf(stderr, "; contrast %.3f of the picture's, correlation %.4f",
            c->reached.luminance.contrast, c->reached.luminance.correlation);
  fputc('\n', stderr);
}

/* Says what to do if the dots cannot show the picture, and their tones were neither mapped nor
 * meant to be the picture's. */
static void print_far_ink(const cvtm_run *r) {
  const double contrast = r->colours.is_measured ? r->colours.reached.luminance.contrast
                                                 : r->stipples.likeness.contrast;
  const int is_far = contrast < 0.75 || contrast > 1.33;
  if (r->options.tone != CVTM_RUN_TONE_AUTO || r->options.dot_size.count == 0 || !is_far ||
      !(r->colours.is_measured || r->stipples.is_measured))
    return;
  fprintf(stderr,
          "  note       the ink of these dots is far from the picture's: change -n or their "
          "sizes (without -n, the ink gives the number)\n");
}

static const char *triangles_are(int64_t count) {
  return cli_word(count, "triangle is", "triangles are");
}

void cli_refine_print_summary(const cvtm_refine_options *refine,
                              const cvtm_refine_figures *figures) {
  fprintf(stderr,
          "  refined    to %.3g degrees: %s added on the boundary, %lld for angles,"
          " %lld for areas\n",
          figures->bound, cli_count(figures->added_on_boundary, "point", "points"),
          (long long)figures->added_for_angles, (long long)figures->added_for_areas);
  if (figures->stopped)
    fprintf(stderr, "  warning    the refinement was stopped before its end\n");
  else if (figures->bound < refine->min_angle)
    fprintf(stderr, "  warning    %.3g degrees take too many points here; the bound became %.3g\n",
            refine->min_angle, figures->bound);
  const int64_t at_corners = figures->below - figures->below_free - figures->narrow_count;
  if (figures->corner_count > 0)
    fprintf(stderr, "  note       %lld %s sharper, at %lld small %s of the input\n",
            (long long)at_corners, triangles_are(at_corners), (long long)figures->corner_count,
            cli_word(figures->corner_count, "angle", "angles"));
  if (figures->narrow_count > 0)
    fprintf(stderr, "  note       %lld %s sharper where the input is too narrow for the grid\n",
            (long long)figures->narrow_count, triangles_are(figures->narrow_count));
  if (figures->below_free > 0)
    fprintf(stderr, "  warning    %lld %s sharper for no such reason: %.3g degrees\n",
            (long long)figures->below_free, triangles_are(figures->below_free),
            figures->min_angle_free);
  if (figures->oversized > 0)
    fprintf(stderr, "  warning    %lld %s larger than asked for\n", (long long)figures->oversized,
            triangles_are(figures->oversized));
}

static void print_domain(const run_domain *domain) {
  fprintf(stderr,
          "  domain     %lld boundary %s, %lld of them corners; within %.2f px of the"
          " contour, area off by %.3f %%\n",
          (long long)domain->boundary_vertices,
          cli_word(domain->boundary_vertices, "vertex", "vertices"),
          (long long)run_domain_corners(domain), run_domain_deviation(domain),
          100 * fabs(domain->mesh_area - domain->contour.area) / domain->contour.area);
  if (domain->regions.pairs != NULL)
    fprintf(stderr, "  periodic   %s of vertices on opposite sides, %lld without a copy\n",
            cli_count(domain->regions.pair_count, "pair", "pairs"),
            (long long)domain->regions.unpaired);
  if (domain->refined) cli_refine_print_summary(&domain->refine, &domain->refinement);
  if (domain->contour.dropped > 0)
    fprintf(stderr, "  note       %s of less than %g square pixels %s left out\n",
            cli_count(domain->contour.dropped, "speck", "specks"), domain->smallest,
            cli_word(domain->contour.dropped, "was", "were"));
}

void cli_order_print_summary(const run_point_order *order) {
  if (order->order == NULL) return;
  fprintf(stderr,
          "  path       %.6g px, %.3f of a lower bound of closed paths, in %.2f seconds%s\n",
          order->length, order->length / order->bound, order->seconds,
          order->is_stopped ? ", stopped early" : "");
}

/* Formats minutes and seconds, or hours and minutes. */
static const char *time_text(double seconds, char text[32]) {
  const long long s = llround(fmin(seconds, 1e12));
  if (s < 3600)
    snprintf(text, 32, "%lld min %02lld s", s / 60, s % 60);
  else
    snprintf(text, 32, "%lld h %02lld min", s / 3600, s / 60 % 60);
  return text;
}

void cli_plot_print(const run_plot *plot) {
  const cvtm_plot_figures *f = &plot->figures;
  char text[4][32];
  if (plot->plotter == NULL) return;
  fprintf(stderr,
          "  plot       %s on %s: %.1f m drawn, %.1f m travelled; pen down %s, lifting %s, travel "
          "%s (%s)\n",
          time_text(f->seconds_drawing + f->seconds_lifting + f->seconds_travelling, text[0]),
          plot->plotter->name, 1e-3 * f->drawn, 1e-3 * f->travelled,
          time_text(f->seconds_drawing, text[1]), time_text(f->seconds_lifting, text[2]),
          time_text(f->seconds_travelling, text[3]), cli_count(f->strokes, "stroke", "strokes"));
}

int cli_print_plotters(void) {
  printf("%-14s %-6s %-7s %-17s %-5s %-10s %s\n", "name", "file", "paper", "area, mm", "pens",
         "mm/s", "machine");
  for (int k = 0; cvtm_plotter_at(k) != NULL; ++k) {
    const cvtm_plotter *p = cvtm_plotter_at(k);
    char paper[32] = "any", area[48] = "the page", pens[16] = "any", speed[32];
    if (p->paper[0] > 0) snprintf(paper, sizeof paper, "%gx%g", p->paper[0], p->paper[1]);
    if (p->area[2] > 0)
      snprintf(area, sizeof area, "%.1f x %.1f", p->area[2] - p->area[0], p->area[3] - p->area[1]);
    if (p->pens > 0) snprintf(pens, sizeof pens, "%d", p->pens);
    snprintf(speed, sizeof speed, "%.0f/%.0f", p->draw_speed, p->travel_speed);
    printf("%-14s %-6s %-7s %-17s %-5s %-10s %s\n", p->name, p->format, paper, area, pens, speed,
           p->help);
  }
  return CLI_EXIT_OK;
}

static void print_dot_count(const run_dot_count *dots) {
  if (!(dots->count > 0)) return;
  const double unit = dots->mm_per_pixel > 0 ? dots->mm_per_pixel : 1;
  fprintf(stderr, "  points     %.0f: as many %s of ", dots->count,
          dots->is_line ? "points of a line" : "dots");
  if (dots->largest > dots->smallest) fprintf(stderr, "%.3g to ", unit * dots->smallest);
  fprintf(stderr, "%.3g %s%s as have the ink of the picture, %.2f %% of the paper\n",
          unit * dots->largest, dots->mm_per_pixel > 0 ? "mm" : "px",
          dots->is_default ? " (1/128 of its side)" : "", 100 * dots->ink);
}

void cli_stipples_print(const run_stipples *stipples, FILE *stream, const char *title) {
  if (!stipples->is_measured) return;
  const cvtm_likeness *likeness = &stipples->likeness;
  fputs(title, stream);
  /* an even picture has no contrast with which to compare */
  if (isfinite(likeness->contrast))
    fprintf(stream, "contrast %.3f of the picture's, correlation %.4f; ", likeness->contrast,
            likeness->correlation);
  fprintf(stream, "ink %.2f %% of the paper, of the picture %.2f %%\n", 100 * stipples->ink,
          100 * stipples->picture_ink);
}

void cli_world_print(const cvtm_run_options *options, cvtm_domain domain) {
  const double scale = options->world.scale;
  const char *unit = options->world.unit != NULL ? options->world.unit : "units";
  if (!(scale > 0)) return;
  fprintf(stderr, "  world      %.6g x %.6g %s from (%.9g, %.9g), a pixel is %.6g %s\n",
          scale * domain.width, scale * domain.height, unit, options->world.left,
          options->world.bottom, scale, unit);
}

static void print_equal_mass(const run_equal_mass *made) {
  const cvtm_equal_mass_result *result = &made->result;
  fprintf(stderr, "  masses     equal to %.1e; %s, %lld Newton %s\n", result->deviation,
          cli_count(result->diagrams, "diagram", "diagrams"), (long long)result->newton_steps,
          cli_word(result->newton_steps, "step", "steps"));
  if (!result->converged)
    fprintf(stderr, "  note       rounding errors prevent --mass-tolerance %g\n", made->tolerance);
}

static void print_preview(const cvtm_run *r) {
  const cvtm_run_options *o = &r->options;
  if (!o->preview.on) return;
  fprintf(stderr, "  preview    ");
  if (o->preview.asked > 0)
    fprintf(stderr, "%lld of %lld sites; ", (long long)r->count, (long long)o->preview.asked);
  if (r->reduced > 1) fprintf(stderr, "squares of %d pixels; ", r->reduced);
  fprintf(stderr, "at most %g %s of descent; another --effort is better\n", o->time_limit,
          o->time_limit == 1 ? "second" : "seconds");
}

static const char *stop_text(const cvtm_run *r) {
  switch (r->result.stop) {
    case CVTM_STOP_GRADIENT:
      return "every site that moves is near enough to its centroid";
    case CVTM_STOP_DECREASE:
      return "the energy hardly decreases any more (--tolerance)";
    case CVTM_STOP_ITERATIONS:
      return "the limit on iterations (--iterations)";
    case CVTM_STOP_TIME:
      return "the time limit (--time-limit)";
    case CVTM_STOP_REQUEST:
      return "interrupted; the best state was kept";
    case CVTM_STOP_LINE_SEARCH:
      return "no step decreases the energy any further";
    default:
      return r->stop_reason;
  }
}

static void print_name(const char *path, int *first) {
  fprintf(stderr, "%s%s", *first ? "" : ", ",
          strcmp(path, "-") == 0 ? "standard output" : cli_visible(path));
  *first = 0;
}

static void print_written(const cli_options *command, const cvtm_run_options *options) {
  int first = 1;
  fprintf(stderr, "  wrote      ");
  for (int k = 0; k < options->output.count; ++k) print_name(options->output.item[k], &first);
  if (options->density_out != NULL) print_name(options->density_out, &first);
  if (options->equal_mass.weights_out != NULL) print_name(options->equal_mass.weights_out, &first);
  if (options->domain.pairs_out != NULL) print_name(options->domain.pairs_out, &first);
  if (options->report != NULL) print_name(options->report, &first);
  if (command->view.watch != NULL) print_name(command->view.watch, &first);
  fputc('\n', stderr);
}

/* Prints the seconds of each phase. Reading includes the work on the density. */
static void print_seconds(const cvtm_run *r) {
  const cvtm_run_options *o = &r->options;
  const char *reading =
      o->condition.how.smooth > 0 || o->condition.how.grade > 0 ? "read and smooth" : "read";
  fprintf(stderr, "  seconds    %.2f: %s %.2f", cvtm_clock() - r->start, reading,
          r->seconds[RUN_PHASE_READ]);
  const double least = 0.005; /* below this, a phase would be printed as 0.00 */
  for (int k = RUN_PHASE_READ + 1; k < RUN_PHASE_COUNT; ++k)
    if (r->seconds[k] >= least) fprintf(stderr, ", %s %.2f", run_phase_names[k], r->seconds[k]);
  fprintf(stderr, "\n");
}

void cli_run_print_summary(const cli_options *options, const cvtm_run *r) {
  const cvtm_quality_figures *inner = &r->quality.inner;
  char text[32];
  fprintf(stderr, "%s: %d x %d pixels, %s, on %s (%s)\n", cli_visible(r->options.input.name),
          r->domain.width, r->domain.height, cli_count(r->count, "site", "sites"),
          cvtm_device_name(r->device), cvtm_device_description(r->device));
  print_dot_count(&r->dots);
  if (r->options.plot_seconds > 0)
    fprintf(stderr, "  points     %lld: as many as the machine draws in %s, or the ink needs\n",
            (long long)r->options.points, time_text(r->options.plot_seconds, text));
  fprintf(stderr,
          "  energy     %.6f of the hexagonal reference; sites within %.2g px of their centroids\n",
          r->energy / r->bound, r->result.gradient_norm);
  fprintf(stderr, "  stopped    after %s, %s: %s\n",
          cli_count(r->result.iterations, "iteration", "iterations"),
          cli_count(r->result.evaluations, "evaluation", "evaluations"), stop_text(r));
  if (r->options.equal_mass.on) print_equal_mass(&r->equal);
  if (inner->triangles > 0)
    fprintf(stderr,
            "  mesh       %s; smallest angle %.1f degrees, mean %.1f; mean Q %.4f;"
            " degree 6 at %.1f %%\n",
            cli_count(r->mesh.triangle_count, "triangle", "triangles"), inner->min_angle,
            inner->mean_min_angle, inner->mean_q, 100 * r->quality.degree6_share);
  else
    fprintf(stderr, "  mesh       %s\n",
            cli_count(r->mesh.triangle_count, "triangle", "triangles"));
  cli_order_print_summary(&r->order);
  cli_plot_print(&r->plot);
  cli_world_print(&r->options, r->domain);
  if (r->options.domain.kind != CVTM_RUN_DOMAIN_NONE) print_domain(&r->shape);
  if (r->second.straightened > 0)
    fprintf(stderr, "  note       %s straight that would turn a triangle over\n",
            cli_count(r->second.straightened, "edge is", "edges are"));
  if (r->options.tone == CVTM_RUN_TONE_CHOSEN)
    fprintf(
        stderr,
        "  tone       mapped to the ink of these dots by --flatten %g --levels %g,%g --gamma %g "
        "(--tone linear keeps the picture's tones)\n",
        r->options.flatten, r->options.black, r->options.white, r->options.gamma);
  cli_stipples_print(&r->stipples, stderr, "  tone       ");
  print_colours(&r->options, &r->colours);
  print_far_ink(r);
  if (r->count < r->options.points)
    fprintf(stderr,
            "  note       %lld of the %lld requested sites; there is no room for the others\n",
            (long long)r->count, (long long)r->options.points);
  if (r->mesh.coincident_count > 0)
    fprintf(stderr, "  note       %s the position of another\n",
            cli_count(r->mesh.coincident_count, "site has", "sites have"));
  if (r->moved > 0)
    fprintf(stderr, "  note       %s moved into the domain, or out of an obstacle\n",
            cli_count(r->moved, "site was", "sites were"));
  if (r->result.empty_cells > 0)
    fprintf(stderr, "  note       %s no mass\n",
            cli_count(r->result.empty_cells, "cell has", "cells have"));
  if (r->checkpoint.resumed != NULL)
    fprintf(stderr, "  note       continued from %s\n", cli_visible(r->checkpoint.resumed));
  print_preview(r);
  print_seconds(r);
  print_written(options, &r->options);
}

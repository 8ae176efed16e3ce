/* The groups by which --help lists options. An option that no group names is listed under
 * "Other". */
#include "cli/option_table.h"

#include <string.h>

#define RESEARCH (1u << CLI_MINIMIZE | 1u << CLI_HLCP | 1u << CLI_LCP)
#define VIEW (1u << CLI_VIEW)

/* An option is in the first group that names it of those for the command. */
static const cli_option_group groups[] = {
    {"problem", "Problem", RESEARCH,
     "problem example size matrix rhs lower upper matrix-a matrix-b mesh nx ny n",
     "atoms dim param bounds width height load"},
    {"solver", "Solver", RESEARCH, "method iterations tolerance time-limit",
     "evaluations gradient-tolerance memory cauchy history storage nested omega splits "
     "alpha beta gamma rule split start preset voronoi"},
    {"window", "Window", VIEW, "layers shot record script",
     "colour dark size paused frames save pinned"},
    {"basic", "Basic", CLI_EVERY_COMMAND,
     "points output preview picture report noise equal-mass density width height like "
     "json resume",
     "format picture-size density-out run-report output-z output-w labels-from first-step check"},
    {"batch", "Batch", CLI_EVERY_COMMAND, "jobs", "fail-fast journal shard"},
    {"tone", "Tone", CLI_EVERY_COMMAND, "invert contrast density-from", "black white gamma floor"},
    {"density", "Density", CLI_EVERY_COMMAND, "weight smooth grade-size size-from",
     "within obstacle bias grade grade-max size-field size-as"},
    {"drawing", "Drawing", CLI_EVERY_COMMAND, "svg dots dot-size colours palette order",
     "overlap pens coupling layers"},
    {"page", "Page", CLI_EVERY_COMMAND, "page margin pixel-size",
     "orientation fill split gcode unit origin"},
    {"domain", "Domain", CLI_EVERY_COMMAND,
     "domain mask polygon min-angle max-area metric boundary",
     "metric-ratio labels region-name domain-smooth domain-smallest pairs-out boundary-tolerance"},
    {"files", "Mesh files", CLI_EVERY_COMMAND, "",
     "ascii binary compress element-order msh-version"},
    {"segmentation", "Segmentation", CLI_EVERY_COMMAND, "segment inside outside seeds",
     "initial sigma k epsilon seed-value tau steps"},
    {"solver", "Solver", CLI_EVERY_COMMAND, "effort time-limit seed periodic method",
     "energy voronoi iterations tolerance gradient-tolerance mass-tolerance "
     "weights-out start init fixed distributed ranks checkpoint "
     "checkpoint-every "
     "watch every dark "
     "size "
     "preset"},
    {"general", "General", CLI_EVERY_COMMAND, "device quiet help",
     "threads config verbose version"},
    {"other", "Other", CLI_EVERY_COMMAND, "", ""},
};

enum { COUNT = sizeof groups / sizeof groups[0] };

static int holds(const char *names, const char *name) {
  const size_t length = strlen(name);
  for (const char *word = names; *word != '\0'; word += strspn(word, " ")) {
    const size_t found = strcspn(word, " ");
    if (found == length && strncmp(word, name, length) == 0) return 1;
    word += found;
  }
  return 0;
}

const cli_option_group *cli_option_group_at(int index) {
  return index < COUNT ? &groups[index] : NULL;
}

const cli_option_group *cli_option_group_of(const char *option, cli_command command,
                                            int *is_chief) {
  for (int k = 0; k < COUNT; ++k) {
    if ((groups[k].commands & 1u << command) == 0) continue;
    *is_chief = holds(groups[k].chief, option);
    if (*is_chief || holds(groups[k].others, option)) return &groups[k];
  }
  *is_chief = 0;
  return &groups[COUNT - 1];
}

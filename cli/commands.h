/* The commands of the program: names, operands and summaries. A new command is a new row here. */
#ifndef CVTMESH_CLI_COMMANDS_H
#define CVTMESH_CLI_COMMANDS_H

/* code, function, name, operand, further usage, summary */
#define CLI_COMMAND_LIST(X)                                                                 \
  X(CLI_RUN, cli_run, "run", "IMAGE", " -n POINTS -o OUT [-o OUT2 ...]",                    \
    "turn a picture into points, cells, a triangle mesh or a drawing")                      \
  X(CLI_BATCH, cli_batch, "batch", "JOBS", " [the options of run]",                         \
    "do many runs in one process; can be resumed")                                          \
  X(CLI_VORONOI, cli_voronoi, "voronoi", "POINTS", " -o LABELS",                            \
    "compute a discrete Voronoi diagram")                                                   \
  X(CLI_MESH, cli_mesh, "mesh", "POINTS|OUTLINE|IMAGE", " -o MESH [-o MESH2 ...]",          \
    "triangulate points, mesh a polygon or, by --metric, a picture")                        \
  X(CLI_DENSITY, cli_density, "density", "IMAGE", " -o OUT [-o OUT2 ...]",                  \
    "the density that run uses: tone, weights, smoothing, grading")                         \
  X(CLI_SEGMENT, cli_segment, "segment", "IMAGE", " --inside X,Y,R -o MASK",                \
    "find the object that seeds mark in a picture")                                         \
  X(CLI_VIEW, cli_view, "view", "IMAGE|POINTS", " [-n POINTS] [--shot FILE]",               \
    "watch and steer the optimisation in a window")                                         \
  X(CLI_STATS, cli_stats, "stats", "FILE", "", "measure a mesh, a point file or a drawing") \
  X(CLI_MINIMIZE, cli_minimize, "minimize", "PROBLEM", " [-o X.npy] [--report FILE]",       \
    "the optimiser on a problem of MINPACK-2: ept pjb msa odc gl1 lj ssc gl2")              \
  X(CLI_HLCP, cli_hlcp, "hlcp", "", " --example N | --problem NAME | --matrix-a FILE",      \
    "solve a horizontal linear complementarity problem")                                    \
  X(CLI_LCP, cli_lcp, "lcp", "", " --problem NAME --size M | --matrix A.mtx --rhs B.npy",   \
    "solve a linear complementarity problem with bounds")                                   \
  X(CLI_INFO, cli_info, "info", "", "", "what this build can do, and the devices it sees")

typedef enum cli_command {
#define CLI_COMMAND_CODE(code, function, name, operand, usage, summary) code,
  CLI_COMMAND_LIST(CLI_COMMAND_CODE)
#undef CLI_COMMAND_CODE
      CLI_COMMAND_COUNT
} cli_command;

const char *cli_command_name(cli_command command);
/* CLI_COMMAND_COUNT if no command has this name. */
cli_command cli_command_find(const char *name);
/* The operand as --help prints it, as in "IMAGE"; "" if the command takes none. */
const char *cli_operand_name(cli_command command);
/* What `usage:` prints after the operand; "" or text that begins with a blank. */
const char *cli_command_usage(cli_command command);
const char *cli_command_summary(cli_command command);
/* True if the command runs one solver on a problem of that solver, not on a picture. */
int cli_command_is_research(cli_command command);

#endif

#include "cli/option_table.h"

#include "run/options.h"

#include "lcp/problems/complementarity.h"
#include "run/domain.h"
#include "cvt/cvt.h"
#include "density/density.h"
#include "density/size_field.h"
#include "draw/inks.h"
#include "lcp/hlcp.h"
#include "lcp/lcp.h"
#include "meshes/mesh_file.h"
#include "viewer/view.h"

#include <math.h>
#include <string.h>

/* --- choices: names on the command line, and the values that they stand for ----------------- */

#define CHOICE_OF(code, name) {name, code},
#define END_OF_CHOICES \
  { NULL, 0 }

/* Lists whose values are named by the library. */
static const cli_choice voronoi_methods[] = {CVTM_VORONOI_LIST(CHOICE_OF) END_OF_CHOICES};
static const cli_choice hlcp_methods[] = {CVTM_HLCP_METHOD_LIST(CHOICE_OF) END_OF_CHOICES};
static const cli_choice lcp_methods[] = {CVTM_LCP_METHOD_LIST(CHOICE_OF) END_OF_CHOICES};
/* On a mesh, the membrane is what others call the obstacle problem. */
static const cli_choice lcp_problems[] = {
    CVTM_MODEL_LIST(CHOICE_OF){"obstacle", CVTM_MODEL_MEMBRANE}, END_OF_CHOICES};

static const cli_choice svg_kinds[] = {{"stipples", CVTM_SVG_STIPPLES},
                                       {"cells", CVTM_SVG_CELLS},
                                       {"mesh", CVTM_SVG_MESH},
                                       {"path", CVTM_SVG_PATH},
                                       END_OF_CHOICES};
static const cli_choice dot_areas[] = {{"auto", CVTM_RUN_DOTS_AUTO},
                                       {"equal", CVTM_RUN_DOTS_EQUAL},
                                       {"mass", CVTM_RUN_DOTS_MASS},
                                       {"tone", CVTM_RUN_DOTS_TONE},
                                       END_OF_CHOICES};
static const cli_choice point_orders[] = {{"none", CVTM_RUN_ORDER_NONE},
                                          {"tsp", CVTM_RUN_ORDER_TSP},
                                          {"plot", CVTM_RUN_ORDER_PLOT},
                                          END_OF_CHOICES};
static const cli_choice page_orientations[] = {{"auto", CVTM_RUN_PAGE_AUTO},
                                               {"portrait", CVTM_RUN_PAGE_PORTRAIT},
                                               {"landscape", CVTM_RUN_PAGE_LANDSCAPE},
                                               END_OF_CHOICES};
#define LENGTH_UNIT(code, name, mm) {name, code},
static const cli_choice coordinate_units[] = {{"pixel", CVTM_RUN_UNIT_PIXEL},
                                              {"width", CVTM_RUN_UNIT_WIDTH},
                                              CVTM_RUN_LENGTH_LIST(LENGTH_UNIT) END_OF_CHOICES};
static const cli_choice presets[] = {
    {"none", CVTM_RUN_PRESET_NONE}, {"paper", CVTM_RUN_PRESET_PAPER}, END_OF_CHOICES};
static const cli_choice noise_kinds[] = {
    {"hexagonal", CVTM_RUN_NOISE_HEXAGONAL}, {"blue", CVTM_RUN_NOISE_BLUE}, END_OF_CHOICES};
static const cli_choice cvt_methods[] = {
    {"lloyd", CVTM_CVT_LLOYD}, {"lbfgsb", CVTM_CVT_LBFGSB}, END_OF_CHOICES};
static const cli_choice cvt_efforts[] = {
    {"preview", CVTM_RUN_EFFORT_PREVIEW}, {"low", CVTM_CVT_EFFORT_LOW},
    {"normal", CVTM_CVT_EFFORT_NORMAL},   {"high", CVTM_CVT_EFFORT_HIGH},
    {"best", CVTM_CVT_EFFORT_BEST},       END_OF_CHOICES};
static const cli_choice boundary_kinds[] = {{"locked", 0}, {"sliding", 1}, END_OF_CHOICES};
static const cli_choice density_sources[] = {{"auto", CVTM_DENSITY_FROM_AUTO},
                                             {"tone", CVTM_DENSITY_FROM_TONE},
                                             {"density", CVTM_DENSITY_FROM_DENSITY},
                                             {"size", CVTM_DENSITY_FROM_SIZE},
                                             END_OF_CHOICES};
static const cli_choice minimize_bounds[] = {{"natural", CLI_BOUNDS_NATURAL},
                                             {"box", CLI_BOUNDS_BOX},
                                             {"none", CLI_BOUNDS_NONE},
                                             END_OF_CHOICES};
static const cli_choice cauchy_points[] = {{"approximate", CVTM_LBFGSB_CAUCHY_APPROXIMATE},
                                           {"exact", CVTM_LBFGSB_CAUCHY_EXACT},
                                           END_OF_CHOICES};
static const cli_choice hlcp_rules[] = {
    {"rows", CVTM_HLCP_ROWS}, {"block", CVTM_HLCP_BLOCK}, END_OF_CHOICES};
static const cli_choice hlcp_splits[] = {
    {"both", CVTM_HLCP_SPLIT_BOTH}, {"a", CVTM_HLCP_SPLIT_A_ONLY}, END_OF_CHOICES};
static const cli_choice lcp_storages[] = {{"sparse", 0}, {"matrix-free", 1}, END_OF_CHOICES};
static const cli_choice cell_fills[] = {
    {"area", CVTM_FILL_AREA}, {"site", CVTM_FILL_SITE}, {"sides", CVTM_FILL_SIDES}, END_OF_CHOICES};

const cli_choice *cli_choice_find(const cli_choice *choices, const char *name) {
  for (; choices->name != NULL; ++choices)
    if (strcmp(choices->name, name) == 0) return choices;
  return NULL;
}

const char *cli_choice_name(const cli_choice *choices, int value) {
  for (; choices->name != NULL; ++choices)
    if (choices->value == value) return choices->name;
  return NULL;
}

int cli_choice_names(const cli_choice *choices, char separator, char *text, size_t capacity) {
  int length = 0;
  for (const cli_choice *choice = choices; choice->name != NULL; ++choice) {
    const size_t used = (size_t)length < capacity ? (size_t)length : capacity;
    const char before[2] = {choice == choices ? '\0' : separator, '\0'};
    length += snprintf(text + used, capacity - used, "%s%s", before, choice->name);
  }
  return length;
}

/* --- the table ------------------------------------------------------------------------------- */

#define IN(command) (1u << (command))
/* The bits of the commands by their codes; those of `run` and `batch` have nearly all in common. */
#define RUN RUN_ALONE
#define COMMAND_BIT(code, ...) code = IN(CLI_##code),
enum { CLI_COMMAND_LIST(COMMAND_BIT) };
#undef RUN
#define RUN (RUN_ALONE | BATCH)
#define COUNT_MAX 2147483647.0
#define SEED_MAX 9007199254740992.0 /* 2^53, what every JSON reader keeps */

/* The columns from `type` to `most`, by the type of the option. */
#define FLAG(field) CLI_FLAG, CLI_FIELD(field), NULL, NULL, 0, 0
#define INTEGER(field, argument, least, most) \
  CLI_INTEGER, CLI_FIELD(field), argument, NULL, least, most
#define REAL(field, argument, least, most) CLI_REAL, CLI_FIELD(field), argument, NULL, least, most
#define CHOICE(field, choices) CLI_CHOICE, CLI_FIELD(field), NULL, choices, 0, 0
#define SWITCH(field, choices, off, on) CLI_SWITCH, CLI_FIELD(field), NULL, choices, off, on
#define TEXT(field, argument) CLI_TEXT, CLI_FIELD(field), argument, NULL, 0, 0
#define SOURCE(field, argument) CLI_SOURCE, CLI_FIELD(field), argument, NULL, 0, 0
#define LIST(field, argument) CLI_LIST, CLI_FIELD(field), argument, NULL, 0, 0

/* The columns `group` and `is_chief`. */
#define CHIEF(group) CLI_GROUP_##group, 1
#define OTHER(group) CLI_GROUP_##group, 0

/* Most rows leave out the last columns: manual, words, CLI_NO_FILE, CLI_ON_RESULT. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
/* clang-format off */
const cli_option_row cli_option_rows[] = {
  {"points", 'n', RUN | MESH | VIEW, INTEGER(run.points, "N", 1, COUNT_MAX), CHIEF(BASIC),
   "number of sites (of vertices, with --metric or of an outline); if omitted, as many dots as the ink of the picture needs (see "
   "--dot-size)",
   .manual = "At most 715827882 sites; 5k is 5000 and 2M is 2000000, as for every count. It can be omitted with "
   "--init, whose points, with the fixed ones, are then the sites; with --density-from size, where the sizes give the "
   "number; and for a picture, whose darkness then gives the number of dots (see --dot-size). Data and --domain need "
   "the number. In a domain (--domain) sites that lie too near to the boundary for a triangle are moved to where "
   "there is room, and the descent continues for a few iterations. Sites for which there is no room or no time are "
   "dropped: the report has `sites` beside `sites_asked`."},
  {"output", 'o', RUN | VORONOI | MESH | VIEW | MINIMIZE | LCP | DENSITY | SEGMENT, LIST(run.output, "FILE"), CHIEF(BASIC),
   "write FILE in the format of its extension; can be repeated; - is standard output",
   .manual = "See FORMATS.",
   .file = CLI_WRITES},
  {"format", 0, RUN | VORONOI | MESH | VIEW | MINIMIZE | LCP | DENSITY | SEGMENT, TEXT(text.format, "LIST"), OTHER(BASIC),
   "how files are written, separated by commas: ascii or binary, where a mesh format has both; zlib or lz4, for vtu; "
   "msh2, version 2.2 of Gmsh's format; at last the extension for standard output",
   .manual = "`ascii` gives text where a format is binary by default, `binary` the reverse (msh). `cvtmesh info` says "
   "which compressions the build has.", .words = "ascii binary zlib lz4 msh2", .set = cli_set_format},
  {"layers", 0, RUN | MESH, TEXT(text.layers, "LIST"), OTHER(DRAWING),
   "what a picture shows, separated by commas: density, cells, cell-edges, triangles, mesh-edges, sites, stipples", .set = cli_set_layers},
  {"picture-size", 0, RUN | MESH | VIEW, INTEGER(run.picture_size, "PIXELS", 0, 16384), OTHER(BASIC),
   "length of the longer side of a picture; 0: chosen from the spacing of the sites"},
  {"density-out", 0, RUN, TEXT(run.density_out, "FILE"), OTHER(BASIC),
   "write the density that was used as NPY, float32, height x width", .file = CLI_WRITES},
  {"report", 0, RUN_ALONE | VORONOI | MESH | MINIMIZE | HLCP | LCP | DENSITY | SEGMENT, TEXT(run.report, "FILE"), CHIEF(BASIC),
   "write a JSON report; - is standard output",
   .manual = "It has version, options, seed, device, timings, history, energy and quality. `triangulation` says where "
   "the mesh was made: on a CUDA device from 20,000 sites on (without --domain and --equal-mass), else on the CPU. "
   "The mesh is the same. `energy_ratio` is the energy over `energy_reference`, the energy of regular hexagons whose "
   "sizes follow the density: 5 / (18 sqrt 3) times the square of the integral of sqrt(rho), divided by the number of "
   "sites. The least energy approaches this reference as the number of sites grows, so the ratio says how good a "
   "tessellation is: 1.002 to 1.01 is good. The reference is asymptotic and not a bound: the ratio of an even density "
   "is above 1, but where the density changes much within a cell, as in detailed pictures, it can be below 1. "
   "`energy_bound` is the older name of the reference, and has the same value.", .file = CLI_WRITES},
  {"run-report", 0, BATCH, TEXT(run.report, "FILE"), OTHER(BASIC), "write a JSON report of each run", .file = CLI_WRITES},
  {"svg", 0, RUN | MESH | VIEW, CHOICE(run.svg, svg_kinds), CHIEF(DRAWING), "what an SVG or another drawing shows",
   .manual = "`path` is one line through all points, in the order of --order."},
  {"dots", 0, RUN | STATS | VIEW, CHOICE(run.dots, dot_areas), CHIEF(DRAWING),
   "sizes of the dots of a drawing. mass: each has the ink of its cell; tone: the same, with larger dots where the "
   "picture is darker; equal: one size, with the mean ink of the picture; auto: mass for pictures, equal for data",
   .manual = "`mass`: the area of each dot inside its cell is the integral of the tone over the cell. So the drawing "
   "has the tone of the picture everywhere. With the default density the dots differ by a few percent in size. "
   "`tone`: the same, with sites placed so that dots are larger where the picture is darker, as in weighted "
   "Linde-Buzo-Gray stippling (Deussen, Spicker & Zheng 2017). The diameter grows with the tone from MIN to MAX of "
   "--dot-size or, without that option, from the smallest diameter to twice as much. Not with --equal-mass. `equal`: "
   "dots of one size, chosen so that the mean ink is that of the picture. Dots overlap where the tone is above 0.907. "
   "Data has no tone: there `equal` dots have a radius of 0.3 mean spacings, and the areas of `mass` are proportional "
   "to the masses of the cells. `auto`: `mass` for pictures, `equal` for data. With --invert or --dark the dots are "
   "white on black. The summary and the member `tone` of the report compare the drawing with the picture, in linear "
   "light and after a Gaussian blur of 1.5 mean spacings: `contrast` (ratio of the standard deviations), "
   "`correlation`, `ssim` (structural similarity); `ink` and `picture_ink` (mean share of the paper), `blur` "
   "(standard deviation, pixels), `smallest_dot` and `largest_dot` (diameters)."},
  {"dot-size", 0, RUN | STATS | VIEW, TEXT(text.dot_size, "MIN,MAX"), CHIEF(DRAWING),
   "smallest and largest diameter of the dots, or one number for both: in mm on a page, else in pixels, or with a "
   "unit (mm, px); without -n it also gives the number of sites",
   .manual = "Any unit of --unit may follow the last number. Without -n the number of sites is such that the dots, if "
   "none overlap, cover as much of the paper as the picture is dark, as in Linde-Buzo-Gray stippling. They have the "
   "mean diameter or, with --dots tone, the diameter for each tone. Without -n and --dot-size this diameter is 1/128 "
   "of the longer side of the picture. The summary prints the number and the diameter, and the report has them in "
   "`points_found`: `from` (dot-size or default), `smallest_dot` and `largest_dot` (diameters, pixels), `picture_ink` "
   "(mean tone).", .set = cli_set_dot_size},
  {"overlap", 0, RUN | STATS | VIEW, FLAG(run.overlap), OTHER(DRAWING),
   "allow dots to overlap; with --no-overlap dots shrink until they do not",
   .manual = "With --no-overlap a dot shrinks until it reaches at most halfway to its nearest neighbour. Dark places "
   "of the drawing are then too light."},
  {"colours", 0, RUN, TEXT(text.colours, "INKS"), CHIEF(DRAWING),
   "draw with several inks. cmyk: cyan, magenta, yellow and black; a number: as many, chosen from the picture; or a file "
   "with lines `name = #rrggbb`, or `name = #rrggbb MIN,MAX` with the diameters of dots",
   .manual = "See SEVERAL COLOURS. The inks of `cmyk` are #00aeef, #ec008c, #fff200 and #000000; a number is at most 16. "
   "Dots of one ink on white paper give colours between white and the ink. So the colours of the picture are extended "
   "away from white and clustered in OKLab, and those clusters are taken whose inks reproduce the picture with the "
   "least error. Inks are drawn from light to dark; a picture of fewer colours gets fewer inks.", .words = "none cmyk",
   .file = CLI_READS, .set = cli_set_colours},
  {"order", 0, RUN | MESH, CHOICE(run.order, point_orders), CHIEF(DRAWING),
   "order of the points. tsp: along a short closed path through all; plot: along the same path, opened, so that a pen "
   "travels little between dots",
   .manual = "The order of the points in point files, of the dots of a drawing and of the points of --svg path. `tsp` "
   "is a short closed path through all points that starts near the upper left corner (travelling salesman problem). "
   "`plot` opens this path at its longest edge, so that a pen travels little between dots; the end that is nearer to "
   "the upper left corner comes first. For uniform points the path is 2 to 3 % longer than 0.7124 sqrt(number of "
   "points x area), the length of the shortest path through many points. The order does not depend on the number of "
   "threads. --time-limit, also of `cvtmesh mesh`, and an interrupt end the search for a shorter path; `stopped` in "
   "the report is then true. Fixed sites do not come first then. The report has, under `order`, the `length` in "
   "pixels, a `bound` that no closed path is shorter than, `uniform_estimate` (0.7124 sqrt(n A) for the rectangle of "
   "the points) and the `seconds`. Outputs that are meshes, and --domain, are refused, since their points have no "
   "order."},
  {"page", 0, RUN | MESH | STATS | VIEW, TEXT(text.page, "WxH"), CHIEF(PAGE),
   "draw on a page of this size in mm, or of one that has a name: A0 to A6, letter, legal, tabloid",
   .manual = "SVG, PDF and DXF then have the size of the page; so have the files of pen machines, HPGL (`.hpgl`, "
   "`.plt`) and G-code (`.gcode`, `.nc`), which need this option; see DRAWINGS and PEN MACHINES.",
   .words = "A0 A1 A2 A3 A4 A5 A6 letter legal tabloid", .set = cli_set_page},
  {"margin", 0, RUN | MESH | STATS | VIEW, REAL(run.page.margin, "MM", 0, 10000), CHIEF(PAGE),
   "margin of the page; nothing is drawn there"},
  {"orientation", 0, RUN | MESH | STATS | VIEW, CHOICE(run.page.orientation, page_orientations), OTHER(PAGE),
   "orientation of the page; auto: that of the picture, except for WIDTHxHEIGHT"},
  {"fill", 0, RUN | MESH | STATS | VIEW, FLAG(run.page.fill), OTHER(PAGE),
   "fill the page inside the margins and crop the picture; otherwise the whole picture is drawn"},
  {"split", 0, RUN | MESH, REAL(run.page.split, "MM", 0, HUGE_VAL), OTHER(PAGE),
   "split lines into parts of at most this length, to refill the pen between them; 0: never",
   .manual = "Between parts HPGL puts the pen into its holder and takes it again, and G-code has the lines `pause` of "
   "the profile. An SVG has a layer for each part. Dots are not split."},
  {"gcode", 0, RUN | MESH, TEXT(run.page.gcode, "PROFILE"), OTHER(PAGE),
   "how to write G-code: grbl-servo, grbl-z, marlin-servo, or a file with a profile", .manual = "See PEN MACHINES.",
   .words = "grbl-servo grbl-z marlin-servo", .file = CLI_READS},
  {"unit", 0, RUN | MESH | STATS | VIEW, SWITCH(run.unit, coordinate_units, CVTM_RUN_UNIT_PIXEL, CVTM_RUN_UNIT_WIDTH), OTHER(PAGE),
   "unit of coordinates in files. A length: on the page, or in the world (--pixel-size); width, or no value: "
   "coordinates of meshes are divided by the width of the image",
   .manual = "A unit of length needs a --pixel-size or a --page; with a page the coordinates are those of the drawing "
   "on it, measured from the upper left corner of the page in point files, where y goes down, and from the lower left "
   "corner in mesh files, where y goes up. `width` divides coordinates of meshes by the width of the image, and leaves "
   "points in pixels; so does --unit without a value."},
  {"pixel-size", 0, RUN | MESH | STATS, TEXT(text.pixel_size, "LENGTH"), CHIEF(PAGE),
   "the size of a pixel in the world, for example 0.65um; or file: what the picture's file says. Files then have real "
   "units, y up",
   .manual = "LENGTH is a number with or without a unit of --unit. `file` takes what the picture's file says: GeoTIFF "
   "(ModelPixelScale and ModelTiepoint, which is the origin; metres and feet are named), PhysicalSizeX and "
   "PhysicalSizeY of OME-TIFF, ImageJ's unit, the resolution of TIFF (ResolutionUnit inch or centimetre), pHYs of PNG, "
   "the density of JFIF. Without --pixel-size none of this is used. With it, points and meshes are both measured in "
   "the world, x to the right and y up, from the lower left corner of the picture, in the unit of LENGTH or in that of "
   "--unit; lengths of other options may have units without a --page; SVG, PDF, DXF, HPGL and G-code have the real "
   "size if the unit is known; and the report has `world`: unit, pixel_size, origin, width, height, area, mesh_area, "
   "mean_triangle_area, shortest_edge, mean_edge, longest_edge. Points and polygons that are read (--init, --domain) "
   "stay in pixels; only `stats` needs the options with which its file was written. Pixels that are not square are "
   "refused.", .words = "file", .set = cli_set_pixel_size},
  {"origin", 0, RUN | MESH | STATS, TEXT(text.origin, "X,Y"), OTHER(PAGE),
   "with --pixel-size: the coordinates of the picture's lower left corner",
   .manual = "The unit is that of the files unless one follows Y. Without this option the origin is 0,0, or that of "
   "the file.", .set = cli_set_origin},
  {"element-order", 0, RUN | MESH, INTEGER(run.element_order, "N", 1, 2), OTHER(FILES),
   "2: add nodes in the middle of edges; on the boundary they lie on its curves",
   .manual = "FORMATS says which formats hold these nodes; files of other formats have the corners alone. A run is "
   "refused if none of its files holds the nodes. With --domain the vertices of the boundary lie on its contour, and "
   "the node of an edge is where the edge's perpendicular bisector meets the contour. Where such a bent edge would "
   "turn a triangle over (a Jacobian that is not positive, or below 1/20 of that of the straight triangle), the edge "
   "is straight. The report has a member `second_order`: `nodes`, `curved_edges` and `straightened_edges`."},
  {"preset", 0, RUN | VIEW, CHOICE(run.preset, presets), OTHER(SOLVER),
   "paper: the method of Fei, Rong, Wang & Wang 2014: random start, pixel energy, jump flooding, and L-BFGS-B with m "
   "= 8 and the approximate Cauchy point until the energy stops falling",
   .manual = "Options that are given keep their values. `paper` also has --effort low and --tolerance 0; no steps of Lloyd's method come first."},
  {"noise", 0, RUN, CHOICE(run.noise, noise_kinds), CHIEF(BASIC),
   "kind of sites. hexagonal: a tessellation, nearly a hexagonal lattice; blue: irregular, isotropic blue noise, "
   "whose density follows that of the image (as with --equal-mass)",
   .manual = "`blue` is Gaussian blue noise (Ahmed, Ren and Wonka 2022), irregular and isotropic, with hardly any "
   "power at low frequencies, for sampling and dithering; see docs/noise.md. The number of points in a place follows "
   "the density of the image itself, as with --equal-mass: tone, value, or value^-2 with --density-from size. Edges of "
   "the density are blurred by less than half the spacing of the sites. There are 150 iterations by default (75 and "
   "300 with --effort low and high); many more make the sites more regular. -n, --seed, --periodic, --fixed, --init, "
   "--tolerance and --time-limit mean the same as for tessellations; other options of tessellations are refused. The "
   "report has the member `noise`: `kind` and `energy`, the energy of the kernels for each site; `energy_ratio` is "
   "that of the sites' Voronoi cells."},
  {"method", 0, RUN | VIEW, CHOICE(run.method, cvt_methods), CHIEF(SOLVER), "how the energy is minimised",
   .manual = "`lloyd` moves every site to the centroid of its cell, again and again; it needs about ten times as "
   "long."},
  {"method", 0, VORONOI, CHOICE(run.voronoi, voronoi_methods), CHIEF(SOLVER), "how the diagram is computed",
   .manual = "`exact` has no wrong pixel. `jfa` is jump flooding: passes with steps of half the side, a quarter, and "
   "so on to 1, after which a few pixels may have the wrong site. `1+jfa` has a pass of step 1 before these, `jfa+1` "
   "one after them, `jfa+2` passes of steps 2 and 1 after them, and `jfa2` does all passes twice. If a point lies "
   "outside the domain, every method has no wrong pixel."},
  {"iterations", 0, RUN | VIEW | MINIMIZE, INTEGER(run.iterations, "N", 0, 1e15), OTHER(SOLVER),
   "maximum number of iterations; 0 keeps the start"},
  {"tolerance", 0, RUN | VIEW | MINIMIZE, REAL(run.tolerance, "T", 0, 1), OTHER(SOLVER),
   "stop when the mean relative decrease over 10 iterations is at most this; 0: never"},
  {"gradient-tolerance", 0, RUN | VIEW, REAL(run.gradient_tolerance, "PIXELS", 0, HUGE_VAL), OTHER(SOLVER),
   "stop when no site is farther than this from its centroid; 0: never"},
  {"time-limit", 0, RUN | MESH | VIEW | MINIMIZE, REAL(run.time_limit, "SECONDS", 0, HUGE_VAL), CHIEF(SOLVER),
   "stop optimising, or shortening a path, after this time; 0: never",
   .manual = "The time is counted from the start of sampling to the last iteration; reading the picture, evaluating "
   "the final sites, making the mesh and writing the files are not included. At least half of the time is for the "
   "full set of sites, whatever the --effort, a quarter is for a boundary that slides, 15 % is for the refinement of "
   "a domain, and a quarter for the path of --order. A run exceeds the limit by one evaluation of the energy at most, "
   "or by a few just after the set of sites was refined or sites were transferred. With --equal-mass the masses are "
   "balanced once more after the limit."},
  {"ranks", 0, RUN_ALONE, TEXT(text.ranks, "N"), OTHER(SOLVER),
   "processes that share the run. N: start N on this machine; mpi: the ranks of mpirun; 0: one",
   .manual = "With `mpi` the ranks that `mpirun` or `srun` has started share the work of this run, on CPUs or, with "
   "--device cuda, on GPUs. In descents and evaluations each rank has its part of the sites, their cells and the state "
   "of the optimiser. Rank 0 reads the picture and writes the files. Every rank has the whole density on its device. "
   "The bits of the files do not depend on the number of ranks. They differ in rounding from those of a run on one "
   "process. The ranks of a machine take its GPUs in turn. If each rank has a GPU of its own, the GPUs exchange data "
   "by NCCL, if that library is found, else through MPI. A rank that fails or is killed ends all of them. Not with "
   "--domain, --equal-mass, --noise blue, --watch, the pixel energy (--preset paper) and drawings in several colours. "
   "Open MPI by default binds a rank to a core or a socket. The program undoes this and says so; the ranks of a "
   "machine then share its cores. --ranks needs a build with MPI. --device cuda:all starts a process for each GPU. "
   "Processes of fewer than 5x10^7 sites are not started, unless the sites need the memory of more GPUs; a note then "
   "says how many there are, and with one the run stays in its process.", .words = "mpi", .effect = CLI_NO_EFFECT, .set = cli_set_ranks},
  {"checkpoint", 0, RUN_ALONE, TEXT(run.checkpoint.file, "FILE"), CHIEF(SOLVER),
   "write the state of the optimisation to FILE from time to time; where FILE exists, continue from it",
   .manual = "The file is always complete: it is written under a temporary name, synced and renamed. It has about 400 "
   "bytes for each site, with --effort best some 60 more; writing it needs as much memory. The file is kept when the "
   "run has ended; a run that takes less than --checkpoint-every writes none. The sites are the same with and without "
   "checkpoints. With FILE from a run that was killed, the files are the same, to the last bit, as those of a run "
   "without a break. The picture, the density, the options that the sites depend on, the version of cvtmesh, the kind "
   "of device and, with GPUs, the model must be the same; else an error names the difference, and FILE is left as it "
   "is. Threads, outputs and --time-limit may differ; the time limit counts all parts of the run together. Seconds in "
   "the report are those since the run was resumed. What follows the optimisation (the boundary that slides, "
   "refinement, files) is done again. Not for --equal-mass, --noise blue and drawings in several colours.",
   .file = CLI_WRITES, .effect = CLI_NO_EFFECT},
  {"checkpoint-every", 0, RUN_ALONE, REAL(run.checkpoint.every, "SECONDS", 0, HUGE_VAL), OTHER(SOLVER),
   "time between two checkpoints", .effect = CLI_NO_EFFECT},
  {"seed", 0, RUN | VIEW, INTEGER(run.seed, "N", 0, SEED_MAX), CHIEF(SOLVER),
   "seed of the random start; the same seed gives the same files",
   .manual = "The files do not depend on the number of threads, on CPUs of one architecture, and on GPUs of one "
   "model."},
  {"effort", 0, RUN, CHOICE(run.effort, cvt_efforts), CHIEF(SOLVER),
   "preview: a rough result in some seconds; low: one descent from the first sites; normal: from coarse to fine; high: "
   "then move sites from crowded to sparse places, which takes several times as long; best: then rounds of random "
   "changes, keeping those that lower the energy",
   .manual = "`preview` is low effort with a time limit of 2 seconds, unless --time-limit is given, and at most 20000 "
   "sites; the summary says what was left out. `low` is one descent from the first sites. `normal` goes from coarse to "
   "fine: each level starts from a tessellation of a quarter of its sites. On a coarse level whose cells hold many "
   "pixels, the density has larger pixels, the means of 2 x 2 and more. During the last descent, and after that of a "
   "sixteenth of the sites, a few sites at a time are moved from crowded places to sparse ones; the descent continues, "
   "and moves that do not end at a lower energy are undone. `high` has longer descents on coarse levels, and moves "
   "sites after the descent of each level. With --init or --fixed there are no levels; with --init only `high` and "
   "`best` move sites from crowded places. `best` continues where `high` ends, with rounds of annealing. Each round "
   "moves every site away from its nearest neighbour and descends, starting from the sites of the round before it. "
   "After 15 rounds without a gain, or 200 rounds, the best sites found are taken. See also --time-limit. The report "
   "has the number of rounds (`anneal_rounds`)."},
  {"init", 0, RUN | VIEW, SOURCE(run.init, "FILE"), OTHER(SOLVER), "start from the points of FILE (csv, npy, xyz)",
   .manual = "The points must all lie inside the image.", .file = CLI_READS},
  {"fixed", 0, RUN | VIEW, SOURCE(run.fixed, "FILE"), OTHER(SOLVER),
   "sites that do not move; they come first and count among the N", .file = CLI_READS},
  {"periodic", 0, RUN | MESH | VORONOI | STATS | VIEW, FLAG(run.periodic), CHIEF(SOLVER),
   "opposite sides are joined: a torus",
   .manual = "`run` writes the triangulation of the sites in the plane; `cvtmesh mesh --periodic` makes that of the "
   "torus from them. With --domain the mesh ends at the sides, and their vertices are paired; see MESHES THAT KEEP A "
   "BOUNDARY.\nWith `cvtmesh mesh` the outline is a cell that repeats. Its sides lie on the rectangle around it. Edges "
   "on opposite sides that are equal, but for one coordinate, are divided together, so that each vertex has its copy "
   "on the opposite side, to the last bit. Opposite sides without any equal edges, like the walls of a channel, are "
   "not paired; an outline with no equal edges at all, or with some edges that have a copy and others that have none, "
   "is refused. The pairs are in the files as with `run --domain --periodic`, and --pairs-out writes them; their "
   "number is `pairs` in the report. Points, which have no --min-angle and --max-area, lie on the torus of --width and "
   "--height, into which they are moved. The mesh is its Delaunay triangulation, two triangles for each point, laid "
   "out in the plane: after the points come copies of some of them, one width to the right or one height above (or "
   "both), which are the corners of triangles across a side. Copies of the mesh fill the plane. PLY, VTK, VTU, MSH and "
   "NODE have, for each vertex, the number `original` of the point that it is or is a copy of, counted from 0. "
   "--pairs-out writes a row for each copy: the point, the copy, and the axis between them, 0 or 1, or 2 for both; "
   "their number is `copies` in the report. Points are rounded to multiples of a power of two that divides the sides, "
   "at most 2^-29 of the longer side and its surroundings. Of points on one circle the leftmost (of these the lowest) "
   "is a corner of all triangles. This mesh has no pictures and no triangles of second order."},
  {"equal-mass", 0, RUN, FLAG(run.equal_mass.on), CHIEF(BASIC),
   "cells of equal mass, by weighted cells (a power diagram); the density of the sites is then that of the image: "
   "tone, value or value^-2",
   .manual = "The cells are then power cells: the cell of site i holds the points where |x - x_i|^2 - w_i is least, "
   "with weights w that semi-discrete optimal transport determines. The sites move to lower transport cost. This cost "
   "is the energy that is reported; its reference is the energy of hexagons of equal mass. The number of sites in a "
   "place follows the density itself and not its root, so that the powers of --density-from are halved: tone, value, "
   "or value^-2. The sites start from a plain tessellation of the squared density; --iterations 0 keeps given or "
   "sampled sites and only finds the weights. The mesh is the regular triangulation, which is the dual of the cells "
   "in the plane; like a Delaunay triangulation it is exact for the coordinates of the mesh, and is made on the GPU "
   "if there is one. On a torus masses and sites are those of the torus; mesh and pictures show the diagram of the "
   "same weights in the plane. Sites that share a place are refused, as are --preset, --domain and --watch."},
  {"mass-tolerance", 0, RUN, REAL(run.equal_mass.tolerance, "T", 1e-13, 1), OTHER(SOLVER),
   "with --equal-mass: the largest relative deviation of a cell's mass",
   .manual = "If rounding does not let the masses come so close, the best result is written and the exit status is "
   "4."},
  {"weights-out", 0, RUN, TEXT(run.equal_mass.weights_out, "FILE"), OTHER(SOLVER),
   "with --equal-mass: write the weights of the sites as NPY, float64",
   .manual = "The weights are in the order of the sites; their mean is 0.", .file = CLI_WRITES},
  {"domain", 0, RUN, TEXT(text.domain, "KIND[=FILE]"), CHIEF(DOMAIN),
   "mesh a domain and keep its boundary. frame: the whole image, as `auto` does for files of meshes; image: what is "
   "dark in the image (bright with --invert); mask=IMAGE, polygon=FILE, labels=IMAGE: what the file holds; none: all "
   "sites are free, and the mesh is the dual of their cells",
   .manual = "See MESHES THAT KEEP A BOUNDARY. `auto` is `frame` if an output is the file of a mesh, and `none` for "
   "points, drawings and pictures alone; also `none` with --init, --fixed, --equal-mass, --noise blue, --colours, "
   "--preset paper and several --ranks. Pictures have the size of the image that is meshed. `mask`: what is "
   "opaque, if IMAGE has an alpha channel, else what is bright. `labels`: a region for each grey level but black, "
   "numbered in ascending order; in an NPY file, for each number but 0. `polygon`: polygons with holes by the even-odd "
   "rule, in pixels with y down: SVG (paths, polygons, circles, ellipses and rectangles, with their transforms), "
   "GeoJSON (Polygon and MultiPolygon), or CSV (x,y in a line, an empty line between rings); or a .poly of Triangle, "
   "with y up, whose segments make closed rings and whose vertices may stand in the .node beside it. Rings may touch "
   "each other and themselves in points. If two shapes have a common edge, or features of GeoJSON have names, each "
   "shape is a region, and the edges between regions are shared by the triangles on both sides. Shapes are the "
   "features of GeoJSON, the elements of SVG, and the rings of CSV. Where shapes overlap, the last one counts; shapes "
   "of one name are one region. A group has the name of its shape: of a feature the first of the properties name, "
   "material, label, region and class, else the id; of an element of SVG inkscape:label or the id. Other characters "
   "than letters, digits and hyphens become underscores. Segments of a .poly file may also divide the plane, as with "
   "`mesh`.",
   .words = "auto none frame image mask= polygon= labels=", .file = CLI_READS, .set = cli_set_domain},
  {"region-name", 0, RUN, LIST(text.region_names, "N=NAME"), OTHER(DOMAIN),
   "name of region N in msh, inp and the report; can be repeated",
   .manual = "A name has up to 31 letters, digits, _ and -, and starts with a letter.", .set = cli_set_region_name},
  {"domain-smooth", 0, RUN, REAL(run.domain.smooth, "SIGMA", 0, 100), OTHER(DOMAIN),
   "smooth the boundary from an image, a mask or labels on this scale, in pixels"},
  {"domain-smallest", 0, RUN, REAL(run.domain.smallest, "AREA", 0, 1e12), OTHER(DOMAIN),
   "drop islands and holes smaller than this, in square pixels", .manual = "The last part of a label is not dropped."},
  {"pairs-out", 0, RUN | MESH, TEXT(run.domain.pairs_out, "FILE"), OTHER(DOMAIN),
   "with --periodic: write the pairs of vertices on opposite sides as NPY",
   .manual = "The array is int32, n x 3; see MESHES THAT KEEP A BOUNDARY, and --periodic for points.",
   .file = CLI_WRITES},
  {"boundary", 0, RUN, CHOICE(run.domain.sliding, boundary_kinds), CHIEF(DOMAIN),
   "locked: sites on the boundary stay; sliding: they move along it to lower energy"},
  {"boundary-tolerance", 0, RUN, REAL(run.domain.tolerance, "PIXELS", 0.01, 100), OTHER(DOMAIN),
   "largest distance between edges and a smooth boundary"},
  {"min-angle", 0, RUN | MESH, REAL(run.refine.min_angle, "DEGREES", 0, 40), CHIEF(DOMAIN),
   "refine the mesh until no angle is smaller, except at sharper corners of the boundary",
   .manual = "For `run` see MESHES THAT KEEP A BOUNDARY.\nFor `cvtmesh mesh` the outline is a polygon with holes in a "
   "svg, geojson, csv or poly file, as with `run --domain polygon=FILE`. Segments of a .poly file may also divide the "
   "plane into several regions, or end inside, and points may lie on no segment. A part is outside if it can be reached "
   "from outside without crossing a segment, or has a point in the list of holes. A part with a point in the list of regions has the point's attribute as its number (its "
   "position in the list, if that is not a positive integer), and the area of its triangles is at most that in the "
   "file. Other parts are numbered after these. The inside is meshed by Delaunay refinement until no angle is below "
   "DEGREES (0 to 40; 30 if only --max-area is given), with few triangles. The outline may have any size, and its "
   "coordinates are those of mesh files; in SVG, y is down as in pictures.\nEvery corner is a vertex and every edge is "
   "kept: vertices that are added to an edge lie on it exactly if the grid of the coordinates (2^30 steps along the "
   "longer side of the outline) has a point there, else within one step. Up to 33 degrees the program first tries a "
   "bound that is larger by 1.5 degrees, so that rounding in the program that reads the mesh does no harm. Two edges "
   "that meet at less than DEGREES keep their angle, and a few triangles beside such a corner stay below the bound "
   "too; the report lists these corners (`small_corners`). Between pieces of the outline that are nearer to each other "
   "than 32 steps of the grid, angles may stay below the bound, since vertices are points of the grid; the report "
   "lists these triangles (`narrow_triangles`). Refinement ends for every outline. A bound above 33 degrees that takes "
   "more than eight times as many points as 33 degrees is lowered in steps of 2 degrees until it does not (`bound` in "
   "the report); the mesh is then written, and the exit status is 4. A signal or --time-limit ends the refinement: the "
   "mesh as it is then is written (`stopped`)."},
  {"max-area", 0, RUN | MESH, LIST(text.max_area, "[REGION=]AREA[UNIT2]"), CHIEF(DOMAIN),
   "refine the mesh until no triangle (of the region) is larger; can be repeated",
   .manual = "AREA is in square units of the outline or, for a picture, in square pixels. With the square of a unit of "
   "length, as in 4mm2 or 3=20um2, the area is measured in the world of --pixel-size (whose unit is needed), or on the "
   "page of --page. An outline is region 1.", .set = cli_set_max_area},
  {"picture", 0, STATS, SOURCE(photograph, "IMAGE"), CHIEF(BASIC),
   "also compare a drawing of the points as dots with this picture",
   .manual = "The picture is the domain; see --dots, --dot-size and --overlap. If FILE is an SVG, by any program, its "
   "circles are the dots: what is drawn is measured. Its viewBox must have the shape of the picture; else --page and "
   "its options say where the picture is.", .file = CLI_READS},
  {"density", 0, STATS, SOURCE(density, "IMAGE"), CHIEF(BASIC), "also print the energy ratio for this density",
   .manual = "The image of the density is the domain.", .file = CLI_READS},
  {"invert", 0, RUN | STATS | VIEW | DENSITY, FLAG(run.invert), CHIEF(TONE), "bright is dense"},
  {"gamma", 0, RUN | STATS | VIEW | DENSITY, REAL(run.gamma, "G", 1e-6, 1e6), OTHER(TONE), "raise the tone to this power"},
  {"levels", 0, RUN | STATS | VIEW | DENSITY, TEXT(text.levels, "BLACK,WHITE"), OTHER(TONE),
   "levels of a picture (sRGB values, 0 to 1): those up to BLACK become black, those from WHITE on white",
   .set = cli_set_levels},
  {"contrast", 0, RUN | STATS | VIEW | DENSITY, REAL(run.contrast, "FACTOR", 1e-3, 1e3), CHIEF(TONE),
   "multiply the distances of levels from middle grey by this"},
  {"density-from", 0, RUN | STATS | VIEW | DENSITY, CHOICE(run.density_from, density_sources), CHIEF(TONE),
   "density = tone^2, value, or value^-4; auto: tone for pictures, density for data",
   .manual = "See FROM A PICTURE TO A DENSITY."},
  {"size-from", 0, RUN | MESH, TEXT(text.size_from, "[KIND=]FILE"), CHIEF(DENSITY),
   "take the sizes of triangles from a field on a mesh (vtu, msh) or at points (npy), not from the picture. KIND is "
   "what the field is. solution: its interpolation error becomes the same everywhere; indicator: it estimates the "
   "error; size: in the unit of the mesh; if omitted, solution",
   .manual = "The field is the point data of a .vtu file or the node data of a .msh file with the name that "
   "--size-field gives (by default the first with one number for each point), in the coordinates that this run writes. "
   "A .npy array, whose rows are x, y and the value, is a field on the Delaunay triangulation of its points. "
   "`solution`: sizes are |H|^-1/2, where |H| is the largest eigenvalue of the Hessian of the quadratic polynomial "
   "that best fits the values around a vertex, so that the interpolation error of linear elements becomes the same "
   "everywhere. `indicator`: sizes are those of the mesh divided by the root of the field, an error indicator. For "
   "both, -n gives the factor. With `size` -n may be left out. docs/examples/l_shape.py solves and adapts in a "
   "loop.\nWith `cvtmesh mesh` no triangle of an outline is larger than an equilateral one whose side is the size at "
   "its centroid. The field is one on a mesh or at points, as with `run`, in the coordinates of mesh files; it is read "
   "on a raster of 1024 cells along the longer side of the outline, and lowered where it grows by more than 0.3 per "
   "unit of distance. Sizes from a solution or an indicator, which are known up to a factor, need a number of points: "
   "`cvtmesh run --domain polygon=FILE`.", .words = "solution= indicator= size=", .file = CLI_READS,
   .set = cli_set_size_from},
  {"size-field", 0, RUN | MESH, TEXT(run.size.field, "NAME"), OTHER(DENSITY),
   "with --size-from: the name of the field; if omitted, the first"},
  {"size", 0, MESH, LIST(outline.size, "[NAME=]SIZE"), CHIEF(DOMAIN),
   "length of the edges in the mesh of an outline: a number (perhaps with a unit), a formula as 1+0.1*d(hole), or max; "
   "NAME is a region or a part of the boundary; can be repeated",
   .manual = "The mesh of an outline by triangles whose edges have this length, in the unit of the outline. Vertices "
   "inside are those of a centroidal Voronoi tessellation; corners and edges of the outline stay, with the same "
   "coordinates to the last bit. With a unit, as in 2mm, the size is one in the world of --pixel-size, or on the page "
   "of --page. NAME=SIZE is for a region (its name or number) or for a part of the boundary (outer, hole-1, hole for "
   "all holes, left, right, bottom, top, interface-A-B), from which sizes grow inward by --grade; without a name, "
   "SIZE holds everywhere else. The least size at a place counts, and --max-area and --size-from reduce it. A formula has "
   "numbers, x, y, + - * / ^, parentheses, sqrt, exp, log, sin, cos, abs, min, max, and distances: d(NAME) to a part of "
   "the boundary or to a region's, and d(X,Y) to a point. Edges are shorter where edges of the outline are, or where "
   "it is narrow. `max` asks for the fewest triangles with angles of --min-angle, as that option alone does. With -n "
   "all sizes get a common factor so that about N vertices are made; -n alone makes equal sizes.", .words = "max"},
  {"grade", 0, MESH, REAL(outline.grade, "G", 0.01, 10), OTHER(DOMAIN),
   "of --size: by how much sizes grow per unit of distance from smaller ones at the boundary"},
  {"simplify", 0, MESH, REAL(outline.simplify, "TOL", 0, HUGE_VAL), OTHER(DOMAIN),
   "of --size: chains of short edges are divided by the size, not by the corners between them, within this distance",
   .manual = "Corners at which the outline turns by 30 degrees or more stay, and so do those where three edges meet. "
   "Curves of SVG files are divided by the size without this option, within a tenth of the edges' lengths; the nodes "
   "of paths stay. Not with --periodic."},
  {"metric", 0, MESH, TEXT(metric.from, "FIELD"), CHIEF(DOMAIN),
   "stretch triangles along a field, so that --points vertices interpolate it best: the picture that is meshed "
   "(hessian), another one, a solution (vtu, msh, npy), or a metric (npy)",
   .manual = "The operand is an outline, or a picture, whose frame is meshed. The field is the picture that is meshed "
   "(hessian), another picture, or one on a mesh or at points as with --size-from; an array whose rows are x, y, xx, "
   "xy, yy gives the components of a metric itself, up to a factor: an edge e is to have the same e'Me everywhere.\n"
   "The metric of a field with the Hessian H is |H| / det(|H|)^(1/6) (Alauzet & Loseille 2010); a picture is smoothed "
   "over a fifth of the mean distance of the vertices, one pixel at least, and so is its metric; fields on meshes are "
   "taken on a raster of 1024 cells along the longer side. Edges that are too long in the metric are divided, those "
   "that are too short vanish, diagonals are exchanged and vertices move. The number of vertices is exact unless the "
   "corners of the outline take more. There is no bound on angles: R bounds the ratio of the sizes in two "
   "directions; with 1 the triangles are as regular as their sizes let them be. Outlines, regions and groups are as "
   "with --min-angle; --periodic and --element-order 2 are refused. The report says what was reached (`metric`)."},
  {"metric-ratio", 0, MESH, REAL(metric.ratio, "R", 1, 1e6), OTHER(DOMAIN),
   "with --metric: the largest ratio of sizes in two directions"},
  {"floor", 0, RUN | STATS | VIEW | DENSITY, REAL(run.floor, "RHO", 0, 3e38), OTHER(TONE),
   "raise smaller densities to this"},
  {"within", 0, RUN | DENSITY, LIST(text.within, "FILE"), OTHER(DENSITY),
   "keep the density only inside: an image (what is bright), polygons (svg, geojson, csv, poly), or alpha for the "
   "picture's own alpha channel; can be repeated, to keep it where all overlap",
   .manual = "--smooth, --grade and --grade-size change the density only where these options keep it, and do not act "
   "through obstacles. The centroid of a cell around an obstacle may lie in the obstacle. At the end `run` therefore "
   "moves such sites to a place nearby, so that no site is outside the regions or in an obstacle (polygons are taken "
   "exactly), and prints their number (`moved_sites` in the report). Fixed sites, those of --equal-mass, and those of "
   "--init if there are no iterations, are not moved.", .words = "alpha", .file = CLI_READS, .set = cli_set_within},
  {"obstacle", 0, RUN | DENSITY, LIST(text.obstacle, "FILE"), OTHER(DENSITY),
   "no density inside, and no smoothing through it; regions as for --within; can be repeated", .words = "alpha",
   .file = CLI_READS, .set = cli_set_obstacle},
  {"weight", 0, RUN | DENSITY, LIST(text.weight, "FILE=FACTOR"), CHIEF(DENSITY),
   "multiply the density of a region; regions as for --within; can be repeated",
   .manual = "The number of sites in a place follows the root of the density: a factor of 4 doubles it. With "
   "--equal-mass and --noise blue it follows the density itself. A region is an image of the picture's size, polygons "
   "in a file (svg, geojson, csv, poly), or `alpha`, the picture's own alpha channel. The region of an image is what "
   "is more than half opaque, if the image has an alpha channel, else what is brighter than half; of data it is what "
   "is positive. The region of polygons is the pixels whose centre is inside, and those through which a part thinner "
   "than a pixel passes.", .file = CLI_READS, .set = cli_set_weight},
  {"smooth", 0, RUN | DENSITY, TEXT(text.smooth, "LAMBDA[,P]"), CHIEF(DENSITY),
   "smooth the density, over about sqrt(LAMBDA) pixels; with P below 1/2 the result leans above the density, over 1/2 "
   "below it",
   .manual = "The density rho is replaced by the u that minimises the sum of (u - rho)^2 over all pixels plus LAMBDA "
   "times the sum of (u_i - u_j)^2 over neighbouring pixels. With P the first sum is weighted, so that u leans to "
   "higher values (P below 1/2) or to lower ones (P above 1/2): for P below 1/2 pixels with u < rho weigh (1 - P)/P "
   "times as much as others, for P above 1/2 those with u > rho weigh P/(1 - P) times as much.",
   .set = cli_set_smooth},
  {"grade", 0, RUN | DENSITY, TEXT(text.grade, "LAMBDA[,MAX]"), OTHER(DENSITY),
   "the smoothest density that is nowhere below the image's, and at most MAX where the image is",
   .manual = "The same minimum as --smooth, but under the constraint u >= rho: the smoothest density that is nowhere "
   "lower.", .set = cli_set_grade},
  {"grade-size", 0, RUN | DENSITY, REAL(run.condition.grade_size, "G", 0, 1e6), CHIEF(DENSITY),
   "sizes (density^-1/4) grow by at most G per pixel; 0: no limit"},
  {"inside", 0, SEGMENT, LIST(text.inside, "X,Y,R"), CHIEF(SEGMENTATION),
   "a disc inside the object, in pixels; can be repeated", .manual = "Seeds that contradict each other are refused.", .set = cli_set_inside},
  {"outside", 0, SEGMENT, LIST(text.outside, "X,Y,R"), CHIEF(SEGMENTATION),
   "a disc outside the object; can be repeated", .set = cli_set_outside},
  {"seeds", 0, SEGMENT, SOURCE(run.segment.seeds, "IMAGE"), CHIEF(SEGMENTATION),
   "seeds as a picture: white is inside, black outside, grey or transparent neither; data: by sign",
   .file = CLI_READS},
  {"initial", 0, SEGMENT, TEXT(text.initial, "WHAT"), OTHER(SEGMENTATION),
   "the first curve: grow (from the seeds up to edges), image (its border), X,Y,R (a circle) or a file as for "
   "--within of cvtmesh density",
   .manual = "`grow`: one front starts from the seeds inside, another from those outside, or from the border of the "
   "image if there are none. Edges slow both, and the curve is where they meet. One seed in a coin gives the coin; a "
   "photograph with weak edges needs seeds on both sides of these. `image`: the border of the image, for a single "
   "object on a plain ground. X,Y,R: a circle, whose level set is the exact distance at the pixel centres. A file as "
   "for --within: a curve drawn around the object.", .words = "grow image", .file = CLI_READS, .set = cli_set_initial},
  {"sigma", 0, SEGMENT, REAL(run.segment.sigma, "PIXELS", 0, 1000), OTHER(SEGMENTATION),
   "smooth the image by a Gaussian of this width first", .manual = "With a smaller width noise holds the curve."},
  {"k", 0, SEGMENT, REAL(run.segment.k, "K", 0, 1e12), OTHER(SEGMENTATION),
   "how much edges slow the curve: by 1 / (1 + K |grad I|^2), on the unit square"},
  {"epsilon", 0, SEGMENT, REAL(run.segment.epsilon, "E", 1e-6, 1e6), OTHER(SEGMENTATION),
   "E in Q = sqrt(E^2 + |grad u|^2) of the level set's equation"},
  {"seed-value", 0, SEGMENT, REAL(run.segment.seed_value, "V", 1e-6, 1e6), OTHER(SEGMENTATION),
   "the level set is at most -V on what belongs to the object, at least V on what does not; the longer side of the "
   "image is 1"},
  {"tau", 0, SEGMENT, REAL(run.segment.tau, "T", 1e-12, 1e6), OTHER(SEGMENTATION), "step in time"},
  {"steps", 0, SEGMENT, INTEGER(run.segment.steps, "N", 0, 1e6), OTHER(SEGMENTATION),
   "maximum number of steps"},
  {"tolerance", 0, SEGMENT, REAL(run.segment.tolerance, "T", 0, HUGE_VAL), OTHER(SEGMENTATION),
   "stop when a step changes the level set by less (root mean square)"},
  {"width", 0, VORONOI | MESH | STATS | VIEW, INTEGER(width, "W", 0, CVTM_MAX_SIDE), CHIEF(BASIC),
   "width of the domain; 0: from the points, except for voronoi",
   .manual = "A file of points does not hold the size of the picture: `cvtmesh voronoi` needs it from --width and "
   "--height, from --like or from --labels-from."},
  {"height", 0, VORONOI | MESH | STATS | VIEW, INTEGER(height, "H", 0, CVTM_MAX_SIDE), CHIEF(BASIC),
   "height of the domain; 0: from the points, except for voronoi"},
  {"like", 0, VORONOI | MESH | STATS | VIEW, SOURCE(like, "IMAGE"), CHIEF(BASIC),
   "take the size of the domain from this picture", .file = CLI_READS},
  {"nx", 0, MINIMIZE, INTEGER(minimize.nx, "N", 1, 1e15), CHIEF(PROBLEM), "interior nodes across [200; gl2: 100]"},
  {"ny", 0, MINIMIZE, INTEGER(minimize.ny, "N", 1, 1e15), CHIEF(PROBLEM), "interior nodes up [200; gl2: 100]"},
  {"n", 0, MINIMIZE, INTEGER(minimize.n, "N", 1, 1e15), CHIEF(PROBLEM), "variables of gl1 [40000]"},
  {"atoms", 0, MINIMIZE, INTEGER(minimize.atoms, "N", 1, 1e15), OTHER(PROBLEM), "atoms of lj [20000]"},
  {"dim", 0, MINIMIZE, INTEGER(minimize.dimension, "D", 2, 3), OTHER(PROBLEM), "dimension of lj"},
  {"param", 0, MINIMIZE, LIST(minimize.parameters, "NAME=VALUE"), OTHER(PROBLEM),
   "ept: c; pjb: e, b; odc, ssc: lambda; gl1: T; gl2: vortices, kappa; can be repeated"},
  {"bounds", 0, MINIMIZE, CHOICE(minimize.bounds, minimize_bounds), OTHER(PROBLEM),
   "those of the problem, [-1, 1] for every variable, or none"},
  {"memory", 'm', MINIMIZE, INTEGER(minimize.memory, "M", 1, CVTM_LBFGSB_MAX_HISTORY), OTHER(SOLVER),
   "pairs of steps and gradient changes that are kept",
   .manual = "More than 20 need cuBLAS on a GPU, which is loaded when it is wanted."},
  {"cauchy", 0, MINIMIZE, CHOICE(minimize.cauchy, cauchy_points), OTHER(SOLVER), "generalized Cauchy point",
   .manual = "At most the first breakpoint (`approximate`), or the first minimiser along the projected gradient "
   "(`exact`)."},
  {"evaluations", 0, MINIMIZE, INTEGER(minimize.evaluations, "N", 0, 1e15), OTHER(SOLVER),
   "maximum number of evaluations; 0: no limit", .manual = "A run that ends at a limit exits with 4."},
  {"gradient-tolerance", 0, MINIMIZE, REAL(run.gradient_tolerance, "G", 0, HUGE_VAL), OTHER(SOLVER),
   "stop when no component of the projected gradient is larger; 0: when the decrease of the objective is rounding",
   .manual = "Without this option and --tolerance the run ends when the decrease is rounding, 1.8e-15; with this "
   "option alone, no earlier than when neither the objective nor the projected gradient decreases."},
  {"history", 0, MINIMIZE, FLAG(minimize.history), OTHER(SOLVER), "write every iteration to the report"},
  {"example", 0, HLCP, INTEGER(hlcp.example, "N", 1, 3), CHIEF(PROBLEM), "example 1, 2 or 3 of Mezzadri 2020"},
  {"size", 0, HLCP, INTEGER(hlcp.size, "H", 1, COUNT_MAX), CHIEF(PROBLEM), "size of the example: n = H^2"},
  {"matrix-a", 0, HLCP, TEXT(hlcp.matrix_a, "A.mtx"), CHIEF(PROBLEM), "Matrix Market file", .file = CLI_READS},
  {"matrix-b", 0, HLCP, TEXT(hlcp.matrix_b, "B.mtx"), CHIEF(PROBLEM), "if omitted, the identity: an LCP",
   .file = CLI_READS},
  {"rhs", 0, HLCP, SOURCE(hlcp.rhs, "Q.npy"), CHIEF(PROBLEM), "right side", .file = CLI_READS},
  {"output-z", 0, HLCP, TEXT(hlcp.output_z, "Z.npy"), OTHER(BASIC), "write z, float64", .file = CLI_WRITES},
  {"output-w", 0, HLCP, TEXT(hlcp.output_w, "W.npy"), OTHER(BASIC), "write w, float64", .file = CLI_WRITES},
  {"method", 0, HLCP, CHOICE(hlcp.solver.method, hlcp_methods), CHIEF(SOLVER),
   "multisplitting Jacobi, Gauss-Seidel, SOR, AOR; semismooth Newton"},
  {"splits", 0, HLCP, INTEGER(hlcp.solver.splits, "L", -1e15, 1e15), OTHER(SOLVER),
   "number of blocks; if omitted, chosen for the device",
   .manual = "Where L does not divide the number of unknowns, the first blocks have one row more."},
  {"alpha", 0, HLCP, REAL(hlcp.solver.alpha, "A", 1e-9, HUGE_VAL), OTHER(SOLVER), "parameter of mmsor and mmaor",
   .manual = "The paper's figures for \"MMSOR, alpha = 1.1\" belong to alpha = 1, beta = 1.1, which is the default; "
   "alpha = beta = 1.1 needs fewer sweeps."},
  {"beta", 0, HLCP, REAL(hlcp.solver.beta, "B", 0, HUGE_VAL), OTHER(SOLVER), "parameter of mmsor and mmaor"},
  {"omega", 0, HLCP, SOURCE(hlcp.omega, "W"), OTHER(SOLVER),
   "a number, ratio (a_ii / b_ii) or an .npy of numbers; if omitted: the paper's for an example, else ratio",
   .words = "ratio", .file = CLI_READS_OMEGA},
  {"gamma", 0, HLCP, REAL(hlcp.solver.gamma, "G", -HUGE_VAL, HUGE_VAL), OTHER(SOLVER), "scale of the modulus variable"},
  {"rule", 0, HLCP, CHOICE(hlcp.solver.rule, hlcp_rules), OTHER(SOLVER),
   "L_k: the lower part of the rows of block k, or of E_k A E_k",
   .manual = "`rows` has Jacobi predictions for unknowns outside the block (what the paper's tables used)."},
  {"splitting", 0, HLCP, CHOICE(hlcp.solver.split, hlcp_splits), OTHER(SOLVER), "split A and B, or A alone (B diagonal)",
   .manual = "These are the two forms for LCPs."},
  {"start", 0, HLCP, REAL(hlcp.solver.start, "X", -HUGE_VAL, HUGE_VAL), OTHER(SOLVER), "every component of the first x"},
  {"iterations", 0, HLCP, INTEGER(run.iterations, "N", 0, 1e15), CHIEF(SOLVER), "most sweeps or Newton steps"},
  {"tolerance", 0, HLCP, REAL(run.tolerance, "T", 0, HUGE_VAL), CHIEF(SOLVER), "stop when ||A z - B w - q|| is less",
   .manual = "With T = 0 all N are done, unless the residual becomes exactly 0, and the exit status is 4."},
  {"check", 0, VORONOI, FLAG(check), OTHER(BASIC), "compare with the exact diagram",
   .manual = "The share of wrong pixels is printed; the labels written stay as they are."},
  {"labels-from", 0, VORONOI, SOURCE(warm.labels, "FILE"), OTHER(BASIC),
   "warm start: jump flooding from the labels (npy) that the sites had before they moved a little; checked, and "
   "corrected where something was missed", .file = CLI_READS},
  {"first-step", 0, VORONOI, INTEGER(warm.first_step, "PIXELS", 0, CVTM_MAX_SIDE), OTHER(BASIC),
   "with --labels-from: how far the sites may have moved; 0: 0.3 spacings"},
  {"json", 0, STATS | INFO, FLAG(json), CHIEF(BASIC), "print JSON",
   .manual = "Of `stats`, the quality object of the report of `run`."},
  {"problem", 0, LCP, CHOICE(lcp.problem, lcp_problems), CHIEF(PROBLEM), "a model problem",
   .manual = "A loaded membrane over an obstacle, or elastic-plastic torsion of a square bar."},
  {"size", 0, LCP, INTEGER(lcp.size, "M", 1, COUNT_MAX), CHIEF(PROBLEM), "nodes along a side"},
  {"width", 0, LCP, INTEGER(lcp.width, "W", 0, COUNT_MAX), OTHER(PROBLEM), "grid of the unknowns, with --height"},
  {"height", 0, LCP, INTEGER(lcp.height, "H", 0, COUNT_MAX), OTHER(PROBLEM), "without both a matrix has no grid"},
  {"mesh", 0, LCP, TEXT(lcp.mesh, "FILE"), CHIEF(PROBLEM), "the problem on these triangles (formats of mesh files)",
   .manual = "The membrane (or `obstacle`) or the torsion problem on the triangles of a mesh file (msh, vtu, obj or "
   "ele), by linear elements; x is 0 on the boundary, and the longer side of the mesh has length 1. -o then writes "
   "npy (x at the vertices), vtu, vtk, msh or ply (with the vertex data `solution`), or png: the triangles coloured "
   "by x, with those outlined that touch the obstacle or, in torsion, are plastic.", .file = CLI_READS},
  {"load", 0, LCP, REAL(lcp.load, "C", 0, 1e12), OTHER(PROBLEM), "load of --mesh; 0: 1 for membrane, 5 for torsion",
   .manual = "The load of the membrane, or twice the bar's angle of twist per length."},
  {"matrix", 0, LCP, TEXT(lcp.matrix, "A.mtx"), CHIEF(PROBLEM), "Matrix Market file",
   .manual = "With --width and --height the unknowns are the nodes of a grid, row by row, and coarse grids follow it; "
   "else they are found by aggregation.", .file = CLI_READS},
  {"rhs", 0, LCP, SOURCE(lcp.rhs, "B.npy"), CHIEF(PROBLEM), "right side", .file = CLI_READS},
  {"lower", 0, LCP, SOURCE(lcp.lower, "L.npy"), CHIEF(PROBLEM), "lower bounds; if omitted: none", .file = CLI_READS},
  {"upper", 0, LCP, SOURCE(lcp.upper, "U.npy"), CHIEF(PROBLEM), "upper bounds; if omitted: none",
   .manual = "An entry of a bound that is infinite does not bind.", .file = CLI_READS},
  {"method", 0, LCP, CHOICE(lcp.solver.method, lcp_methods), CHIEF(SOLVER), "auto: tnnmg for a symmetric matrix, else pdas",
   .manual = "`tnnmg` (truncated nonsmooth Newton multigrid) needs a symmetric positive definite matrix; where "
   "coefficients jump so much that cycles of tnnmg are slow on a stored matrix, it goes on as pdas; `pdas` "
   "(primal-dual active sets) does not need one, and is for M- and H-matrices; `psor` is relaxation alone. `auto` "
   "takes tnnmg for a symmetric matrix and pdas for others; it does not test definiteness. Rows of a matrix that is "
   "not symmetric may differ in scale: pdas goes on until they are solved alike, so that no row with small entries is "
   "lost in the norm of the residual."},
  {"storage", 0, LCP, CHOICE(lcp.is_matrix_free, lcp_storages), OTHER(SOLVER),
   "how the matrix is stored; matrix-free: model problems on grids",
   .manual = "`matrix-free` takes about 75 bytes per unknown in all."},
  {"omega", 0, LCP, REAL(lcp.solver.omega, "W", -HUGE_VAL, HUGE_VAL), OTHER(SOLVER), "relaxation of psor, between 0 and 2"},
  {"nested", 0, LCP, FLAG(lcp.solver.nested), OTHER(SOLVER), "start multigrid from coarser grids",
   .manual = "Without this a cycle moves the free boundary by a few nodes only, and the number of cycles grows with "
   "the size."},
  {"iterations", 0, LCP, INTEGER(run.iterations, "N", 0, 1e15), CHIEF(SOLVER),
   "most sweeps, cycles or steps; 0: 100000 sweeps of psor, else 200"},
  {"tolerance", 0, LCP, REAL(run.tolerance, "T", 0, 1 - 1e-9), CHIEF(SOLVER),
   "stop when the natural residual has fallen by this factor from its value at x = 0",
   .manual = "If rounding does not let it fall so far, the solver stops at the least that rounding allows, and the "
   "exit status is 0."},
  {"jobs", 'j', BATCH, INTEGER(batch.jobs, "N", 0, 256), CHIEF(BATCH),
   "runs at a time on each device; 0: chosen for it",
   .manual = "The default is 8 on a GPU, and on the CPU one for each core, each with one thread; with fewer jobs than "
   "cores they get more threads. Every run at work holds its image and its plan in memory.", .effect = CLI_NO_EFFECT},
  {"resume", 0, BATCH, FLAG(batch.resume), CHIEF(BASIC), "do only the jobs that the journal does not list as done",
   .manual = "A job is also done again if an output of it is missing, or if an input file, an option that affects the "
   "result, or the version of the program has changed. Without this option the journal is cleared and every job is "
   "done.", .effect = CLI_NO_EFFECT},
  {"fail-fast", 0, BATCH, FLAG(batch.fail_fast), OTHER(BATCH), "start no further run after a failure",
   .effect = CLI_NO_EFFECT},
  {"journal", 0, BATCH, TEXT(batch.journal, "FILE"), OTHER(BATCH),
   "what was done; default: the list's name with .journal, or cvtmesh-batch.journal",
   .manual = "The file that gets a line, a JSON object, for every job that has ended. A file of other content is "
   "refused. The line is on the disk before the job counts as done. Two batches cannot use one journal at the same "
   "time: a batch locks its journal while it runs, and a second one is refused. Without --resume, the journals of its "
   "shards are removed, and the batch is refused if one of them is in use. On a file system without locks the program "
   "prints a note: make sure that no two batches use one journal, and remove temporary files of a killed batch "
   "yourself. Any other error of locking, as on a network file system whose lock service is down, ends the batch with "
   "exit status 1; put the journal on another file system then.", .file = CLI_WRITES, .effect = CLI_NO_EFFECT},
  {"shard", 0, BATCH, TEXT(batch.shard, "I/N"), OTHER(BATCH),
   "every Nth job from number I, I = 0 to N - 1; slurm: this task of an array",
   .manual = "`slurm` takes both from the variables of a Slurm array's task. Each shard has a journal of its own, "
   "FILE.shardI; all of them are read to resume.", .words = "slurm", .effect = CLI_NO_EFFECT},
  {"report", 0, BATCH, TEXT(batch.report, "FILE"), CHIEF(BASIC), "write a JSON report of the batch; - is stdout",
   .manual = "It has counts, seconds, devices, and the first 1000 failures with their reasons.", .file = CLI_WRITES,
   .effect = CLI_NO_EFFECT},
  {"layers", 0, VIEW, TEXT(text.layers, "LIST"), CHIEF(VIEW),
   "shown at the start, split by commas: density, cells, cell-edges, sites, mesh-edges, defects, boundary, plot, "
   "figures", .manual = "`defects` are the cells whose number of sides is not six."},
  {"colour", 0, VIEW, CHOICE(view.colour, cell_fills), OTHER(VIEW), "what the colour of filled cells shows"},
  {"dark", 0, VIEW | RUN_ALONE, FLAG(run.dark), OTHER(VIEW), "light on a dark ground (--watch, view)"},
  {"window", 0, VIEW | RUN_ALONE, TEXT(view.size, "WxH"), OTHER(VIEW),
   "size of the window or of the pictures (--watch, view) [1280x800]"},
  {"paused", 0, VIEW, FLAG(view.paused), OTHER(VIEW), "begin with a pause"},
  {"script", 0, VIEW, TEXT(view.script, "FILE"), CHIEF(VIEW), "do what FILE says: keys, mouse, waiting, pictures",
   .manual = "A line is `key` K (a character, space, plus, minus, escape); `move` X Y`,` `press` X Y`,` `release` X "
   "Y`,` `click` X Y (then a button, left, right or middle, and shift or ctrl); `drag` X Y X Y`;` `scroll` X Y "
   "NOTCHES`;` `size` W H`;` `layers` LIST`;` `wait` N (iterations); `converge`; `settle` (until all of this is in "
   "the picture); `frames` N`;` `shot` FILE`.` Coordinates are pixels of the picture or, as in `drag 20i 20i 33i "
   "41i`, of the image.", .file = CLI_READS},
  {"frames", 0, VIEW, INTEGER(view.frames, "N", 0, 1e9), OTHER(VIEW), "end after so many frames; 0: no limit",
   .manual = "The program prints how many were drawn in a second."},
  {"shot", 0, VIEW, TEXT(view.shot, "FILE"), CHIEF(VIEW), "no window: write the last frame as PNG",
   .manual = "Nothing needs a display. Without a script the last frame shows the result.", .file = CLI_WRITES},
  {"record", 0, VIEW, TEXT(view.record, "DIR"), CHIEF(VIEW), "no window: write every frame into DIR",
   .file = CLI_WRITES_FRAMES},
  {"save", 0, VIEW, TEXT(view.save, "NAME"), OTHER(VIEW), "S writes NAME.png, NAME.csv, NAME.obj",
   .file = CLI_WRITES_NAMES},
  {"pinned", 0, VIEW, FLAG(view.pinned), OTHER(VIEW), "no CUDA-OpenGL interop: copy through pinned memory",
   .effect = CLI_NO_EFFECT},
  {"watch", 0, RUN_ALONE, TEXT(view.watch, "DIR"), CHIEF(VIEW),
   "pictures of the optimisation, and a page DIR/index.html with them",
   .manual = "No display is needed. The pictures are DIR/frame-000001.png and so on; the page holds the pictures, the "
   "energy over the iterations and the report, and needs no other file.", .file = CLI_WRITES_FRAMES},
  {"every", 0, RUN_ALONE, INTEGER(view.every, "K", 1, 1e9), OTHER(VIEW), "iterations between two pictures of --watch"},
  {"device", 0, RUN_ALONE, TEXT(device, "NAME"), CHIEF(GENERAL),
   "where to compute: cpu, cuda, cuda:N, auto, or cuda:all: a process for each GPU", .manual = "`auto` takes CUDA where it works.",
   .words = "auto cpu cuda", .effect = CLI_NO_EFFECT},
  {"device", 0, VORONOI | STATS | VIEW | MINIMIZE | HLCP | LCP | DENSITY | SEGMENT, TEXT(device, "NAME"), CHIEF(GENERAL),
   "where to compute: cpu, cuda, cuda:N or auto", .words = "auto cpu cuda", .effect = CLI_NO_EFFECT},
  {"device", 0, MESH, TEXT(device, "NAME"), CHIEF(GENERAL),
   "where to triangulate: cpu, cuda, cuda:N, or auto: CUDA for half a million points and more",
   .manual = "The mesh is the same. Outlines are meshed on the CPU: another device is refused for them.",
   .words = "auto cpu cuda", .effect = CLI_NO_EFFECT},
  {"device", 0, BATCH, TEXT(device, "NAMES"), CHIEF(GENERAL),
   "auto, cpu, cuda, cuda:N, several of them split by commas, or all",
   .manual = "`auto` is every CUDA device or else the CPU, `all` every CUDA device.", .words = "auto cpu cuda",
   .effect = CLI_NO_EFFECT},
  {"threads", 0, RUN | VORONOI | STATS | VIEW | MINIMIZE | HLCP | LCP | DENSITY | SEGMENT, INTEGER(run.threads, "N", 0, 4096), OTHER(GENERAL),
   "CPU threads; 0: as many as there are cores", .effect = CLI_NO_EFFECT},
  {"config", 0, CLI_EVERY_COMMAND, TEXT(config, "FILE"), OTHER(GENERAL),
   "read options from FILE: lines `name = value`; the command line wins", .manual = "See CONFIG FILES.",
   .file = CLI_READS, .effect = CLI_NO_EFFECT},
  {"quiet", 'q', CLI_EVERY_COMMAND, FLAG(quiet), CHIEF(GENERAL), "no progress and no summary",
   .manual = "`cvtmesh stats` prints nothing then, except with --json.", .effect = CLI_NO_EFFECT},
  {"verbose", 'v', CLI_EVERY_COMMAND, FLAG(verbose), OTHER(GENERAL), "a line for every iteration",
   .effect = CLI_NO_EFFECT},
  {"help", 'h', CLI_EVERY_COMMAND, FLAG(help), CHIEF(GENERAL), "print the chief options; --help all: every one",
   .manual = "`cvtmesh COMMAND --help TOPIC` prints all options of a group. `cvtmesh --help all` prints every option "
   "of every command.", .effect = CLI_NO_EFFECT},
  {"version", 'V', CLI_EVERY_COMMAND, FLAG(version), OTHER(GENERAL), "print the version", .effect = CLI_NO_EFFECT},
};
/* clang-format on */
#pragma GCC diagnostic pop

enum { ROW_COUNT = sizeof cli_option_rows / sizeof cli_option_rows[0] };
_Static_assert((int)ROW_COUNT <= (int)CLI_OPTIONS_MAX, "cli_options.given is too small");

const int cli_option_row_count = ROW_COUNT;

int cli_option_applies(int row, cli_command command) {
  return (cli_option_rows[row].commands & IN(command)) != 0;
}

void *cli_option_field(const cli_option_row *row, cli_options *options) {
  return (char *)options + row->offset;
}

const void *cli_option_field_const(const cli_option_row *row, const cli_options *options) {
  return (const char *)options + row->offset;
}

size_t cli_option_size(const cli_option_row *row) {
  if (row->type >= CLI_TEXT) return 0;
  return row->type == CLI_INTEGER ? sizeof(int64_t)
         : row->type == CLI_REAL  ? sizeof(double)
                                  : sizeof(int);
}

int cli_option_find(cli_command command, const char *name) {
  for (int row = 0; row < ROW_COUNT; ++row)
    if (cli_option_applies(row, command) && strcmp(cli_option_rows[row].name, name) == 0)
      return row;
  return -1;
}

int cli_option_find_field(cli_command command, size_t offset) {
  for (int row = 0; row < ROW_COUNT; ++row)
    if (cli_option_applies(row, command) && cli_option_rows[row].offset == offset) return row;
  return -1;
}

/* clang-format off */
const cli_former_option cli_former_options[] = {
  {"segment", RUN | DENSITY, "cvtmesh segment IMAGE --inside X,Y,R -o object.png, then --within object.png"},
  {"inside", RUN | DENSITY, "an option of cvtmesh segment"},
  {"outside", RUN | DENSITY, "an option of cvtmesh segment"},
  {"seeds", RUN | DENSITY, "an option of cvtmesh segment"},
  {"initial", RUN | DENSITY, "an option of cvtmesh segment"},
  {"sigma", RUN | DENSITY, "an option of cvtmesh segment"},
  {"k", RUN | DENSITY, "an option of cvtmesh segment"},
  {"epsilon", RUN | DENSITY, "an option of cvtmesh segment"},
  {"seed-value", RUN | DENSITY, "an option of cvtmesh segment"},
  {"tau", RUN | DENSITY, "an option of cvtmesh segment"},
  {"steps", RUN | DENSITY, "an option of cvtmesh segment"},
  {"mask", RUN, "--domain mask=FILE"},
  {"polygon", RUN, "--domain polygon=FILE"},
  {"labels", RUN, "--domain labels=FILE"},
  {"ascii", RUN | MESH | VIEW | LCP, "--format ascii"},
  {"binary", RUN | MESH | VIEW, "--format binary"},
  {"compress", RUN | MESH | VIEW, "--format zlib or --format lz4"},
  {"msh-version", RUN | MESH | VIEW, "--format msh2"},
  {"distributed", RUN_ALONE, "--ranks mpi"},
  {"resume", RUN_ALONE, "--checkpoint FILE, which continues where FILE exists"},
  {"picture", RUN, "-o FILE.png"},
  {"energy", RUN | VIEW, "--preset paper has the pixel energy"},
  {"voronoi", RUN | VIEW, "--preset paper has jump flooding"},
  {"start", RUN | VIEW, "--preset paper starts from random sites; --init FILE from any"},
  {"coupling", RUN, "union_weight of cvtm_classes_options in the library"},
  {"preview", RUN_ALONE, "--effort preview"},
  {"pens", RUN, "--colours FILE"},
  {"palette", RUN, "--colours N"},
  {"size-as", RUN | MESH, "--size-from KIND=FILE"},
  {"black", RUN | STATS | VIEW | DENSITY, "--levels BLACK,WHITE"},
  {"white", RUN | STATS | VIEW | DENSITY, "--levels BLACK,WHITE"},
  {"bias", RUN | DENSITY, "--smooth LAMBDA,P"},
  {"grade-max", RUN | DENSITY, "--grade LAMBDA,MAX"},
  {"size", RUN_ALONE | VIEW, "--window WxH"},
  {"split", HLCP, "--splitting both or --splitting a"},
  {NULL, 0, NULL}};
/* clang-format on */

const char *cli_former_option_instead(cli_command command, const char *name) {
  for (const cli_former_option *k = cli_former_options; k->name != NULL; ++k)
    if ((k->commands & IN(command)) != 0 && strcmp(k->name, name) == 0) return k->instead;
  return NULL;
}

static const char *const group_texts[][2] = {
#define GROUP_TEXTS(code, name, title) {name, title},
    CLI_GROUP_LIST(GROUP_TEXTS)};

const char *cli_group_name(cli_option_group group) { return group_texts[group][0]; }

const char *cli_group_title(cli_option_group group) { return group_texts[group][1]; }

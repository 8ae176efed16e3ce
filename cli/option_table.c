#include "cli/option_table.h"

#include "lcp/problems/complementarity.h"
#include "cvt/cvt.h"
#include "density/density.h"
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

/* Choices that the library names. */
static const cli_choice voronoi_methods[] = {CVTM_VORONOI_LIST(CHOICE_OF) END_OF_CHOICES};
static const cli_choice hlcp_methods[] = {CVTM_HLCP_METHOD_LIST(CHOICE_OF) END_OF_CHOICES};
static const cli_choice lcp_methods[] = {CVTM_LCP_METHOD_LIST(CHOICE_OF) END_OF_CHOICES};
/* The membrane on a mesh is also known as the obstacle problem. */
static const cli_choice lcp_problems[] = {
    CVTM_MODEL_LIST(CHOICE_OF){"obstacle", CVTM_MODEL_MEMBRANE}, END_OF_CHOICES};

static const cli_choice svg_kinds[] = {{"dots", CVTM_SVG_STIPPLES},
                                       {"touches", CVTM_SVG_TOUCHES},
                                       {"cells", CVTM_SVG_CELLS},
                                       {"mesh", CVTM_SVG_MESH},
                                       {"path", CVTM_SVG_PATH},
                                       {"stipples", CVTM_SVG_STIPPLES},
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
static const cli_choice tone_choices[] = {
    {"auto", CVTM_RUN_TONE_AUTO}, {"linear", CVTM_RUN_TONE_LINEAR}, END_OF_CHOICES};
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
/* The bits of the commands by their codes; RUN includes `batch`, which has nearly the same
 * options. */
#define RUN RUN_ALONE
#define COMMAND_BIT(code, ...) code = IN(CLI_##code),
enum { CLI_COMMAND_LIST(COMMAND_BIT) };
#undef RUN
#define RUN (RUN_ALONE | BATCH)
#define COUNT_MAX 2147483647.0
#define SEED_MAX 9007199254740992.0 /* 2^53, up to which every JSON reader is exact */

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

/* Most rows omit the last columns: manual, words, CLI_NO_FILE, CLI_ON_RESULT. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
/* clang-format off */
const cli_option_row cli_option_rows[] = {
  {"points", 'n', RUN, INTEGER(run.points, "N|TIME", 1, COUNT_MAX), CHIEF(BASIC),
   "number of sites: dots, cells, or vertices of the mesh; or a time such as 2h or 1h30min: the number of touches of the --pen "
   "that the machine draws in this time. Without -n, the ink of the picture gives the number of dots (see --dot-size)",
   .manual = "At most 715827882 sites. A time, in h, min or s, is for the machine of --plotter or of the first "
   "drawing: as many touches, or with --svg path points of a line, as it draws by its speeds, without changes of "
   "pens; at most those that the ink of the picture needs. All counts may be written as 5k (5000) or 2M (2000000). The option can be "
   "left out in three cases: with --init, the points of the file and those of --fixed are the sites; with "
   "--density-from size, the sizes give the number; for a picture, its darkness gives the number of dots (see "
   "--dot-size). Data and --domain need the number. In a domain, some sites may be so close to the boundary that no "
   "good triangle fits between. They are moved to free places, and the descent continues for a few iterations. "
   "Sites that find no place in time are removed. The report has the number that was requested, `sites_asked`, and "
   "the number in the result, `sites`.", .set = cli_set_plot_time},
  {"points", 'n', VIEW, INTEGER(run.points, "N", 1, COUNT_MAX), CHIEF(BASIC),
   "number of sites; without it, the ink of the picture gives the number of dots (see --dot-size)"},
  {"points", 'n', MESH, INTEGER(run.points, "N", 1, COUNT_MAX), CHIEF(BASIC),
   "number of vertices in the mesh of an outline, approximately; with --metric, exactly",
   .manual = "With --metric an outline that has more corners than N keeps them all."},
  {"points", 'n', SPHERE, INTEGER(run.points, "N", 12, 3e8), CHIEF(BASIC),
   "number of cells; all widths are multiplied by one factor that gives it. Without -n the widths determine the number"},
  {"radius", 0, SPHERE, REAL(sphere.radius, "KM", 1e-3, 1e9), CHIEF(BASIC),
   "radius of the sphere in km; 1: the unit sphere",
   .manual = "Widths are in km, too, and files in metres. With --radius 1 both are in units of the radius."},
  {"grade", 0, SPHERE, REAL(sphere.grade, "G", 0.01, 10), OTHER(BASIC),
   "largest growth of the widths, in km per km of distance",
   .manual = "Where the map of widths changes faster, for example at a step, the smaller widths reach beyond it."},
  {"picture-widths", 0, SPHERE, TEXT(text.picture_widths, "BLACK,WHITE"), OTHER(BASIC),
   "if WIDTHS is a picture: the widths in km of black and of white; greys between follow their sRGB values",
   .set = cli_set_picture_widths},
  {"view", 0, SPHERE, TEXT(text.globe_view, "LON,LAT"), OTHER(BASIC),
   "centre of the first view of a picture, in degrees; the second view is from the other side [-60,20]",
   .set = cli_set_globe_view},
  {"mask", 0, SPHERE, SOURCE(sphere.mask, "FILE"), OTHER(BASIC),
   "leave out cells whose centre is on land. FILE is a map that is not 0 on land (npy, nc, a picture), or polygons "
   "(geojson, csv, svg)",
   .manual = "A cell is left out if its centre is on land. Polygons have longitudes and latitudes in degrees. "
   "The other cells are numbered anew. Edges without a cell and vertices without a cell are left out, too. `boundaryVertex` and `boundaryEdge` "
   "mark those that lack a cell, and `cellParent` has the number of each cell before.", .file = CLI_READS},
  {"region", 0, SPHERE, TEXT(sphere.region, "CAP|FILE"), OTHER(BASIC),
   "keep only the cells of a region and seven rings of cells around it. The region is a cap LON,LAT,RADIUS in degrees or a file "
   "of polygons (geojson, csv, svg)", .manual =
   "`bdyMaskCell` is 0 inside and 1 to 7 in the rings, the zones where limited-area models relax to their boundary values.",
   .file = CLI_READS},
  {"fixed", 0, SPHERE, SOURCE(run.fixed, "FILE"), OTHER(SOLVER),
   "fixed centres of cells, as longitude and latitude in degrees; these cells come first in the files", .file = CLI_READS},
  {"output", 'o', SPHERE, LIST(run.output, "FILE"), CHIEF(BASIC),
   "write FILE in the format of its extension: .nc (the mesh of MPAS), .ugrid.nc (UGRID), .info (graph.info for "
   "METIS), .vtu, .obj, .png (a picture); can be repeated", .file = CLI_WRITES},
  {"output", 'o', DENSITY, LIST(run.output, "FILE"), CHIEF(BASIC),
   "write the density as .npy (float64, height x width) or as a picture, .png; can be repeated; - is standard output", .file = CLI_WRITES},
  {"output", 'o', SEGMENT, LIST(run.output, "FILE"), CHIEF(BASIC),
   "write the object: .png (a mask), .svg (its contour) or .npy (the level set); can be repeated; - is standard output",
   .file = CLI_WRITES},
  {"output", 'o', MINIMIZE, LIST(run.output, "FILE"), CHIEF(BASIC), "write the minimiser as .npy, float64; - is standard output", .file = CLI_WRITES},
  {"output", 'o', LCP, LIST(run.output, "FILE"), CHIEF(BASIC),
   "write the solution x as .npy, float64; with --mesh also as a picture (.png) or on the mesh (.vtu, .msh and others); "
   "can be repeated; - is standard output", .file = CLI_WRITES},
  {"output", 'o', RUN | VORONOI | MESH | VIEW, LIST(run.output, "FILE"), CHIEF(BASIC),
   "write FILE in the format of its extension; can be repeated; - is standard output",
   .manual = "See FORMATS.",
   .file = CLI_WRITES},
  {"format", 0, VORONOI | MINIMIZE | DENSITY | SEGMENT, TEXT(text.format, "EXTENSION"), OTHER(BASIC), "format of standard output, as an extension", .set = cli_set_format},
  {"format", 0, RUN | MESH | VIEW | LCP, TEXT(text.format, "LIST"), OTHER(BASIC),
   "how files are written; words separated by commas: ascii or binary, for mesh formats that have both; zlib or "
   "lz4, the compression of vtu; msh2, version 2.2 of Gmsh's format; cps, cpe or shell, the elements of inp. The last word may be the "
   "extension that names the format of standard output",
   .manual = "`ascii` writes text in formats that are binary by default. `binary` writes msh in binary form. Triangles of inp are in plane stress "
   "(`cps`: CPS3, CPS6), with `cpe` in plane strain (CPE3, CPE6), with `shell` shells (S3, S6). "
   "`cvtmesh info` lists the compressions of this build.", .words = "ascii binary zlib lz4 msh2 cps cpe shell", .set = cli_set_format},
  {"layers", 0, RUN | MESH, TEXT(text.layers, "LIST"), OTHER(DRAWING),
   "what a picture shows, separated by commas: density, cells, cell-edges, triangles, mesh-edges, sites, stipples", .set = cli_set_layers},
  {"picture-size", 0, RUN | MESH | VIEW, INTEGER(run.picture_size, "PIXELS", 0, 16384), OTHER(BASIC),
   "length of the longer side of a picture; 0: the program chooses it from the spacing of the sites"},
  {"density-out", 0, RUN, TEXT(run.density_out, "FILE"), OTHER(BASIC),
   "write the density of the run as an NPY array, float32, height x width", .file = CLI_WRITES},
  {"report", 0, RUN_ALONE | VORONOI | MESH | SPHERE | MINIMIZE | HLCP | LCP | DENSITY | SEGMENT, TEXT(run.report, "FILE"), CHIEF(BASIC),
   "write a JSON report; - is standard output",
   .manual = "The report has the version, options, seed, device, timings, history, energy and quality. "
   "`triangulation` names the device that made the mesh: a CUDA device from 20,000 sites on (without --domain and "
   "--equal-mass), else the CPU. The mesh is the same on both. `energy_ratio` is the energy divided by "
   "`energy_reference`. The reference is the energy of regular hexagons whose sizes follow the density: 5 / (18 "
   "sqrt 3) times the square of the integral of sqrt(rho), divided by the number of sites. The least possible "
   "energy approaches the reference as the number of sites grows, so the ratio measures the quality of a "
   "tessellation: 1.002 to 1.01 is good. The reference is not a lower bound. An even density has a ratio above 1; "
   "in detailed pictures, where the density varies within a cell, the ratio can be below 1. `energy_bound` is an "
   "older name of the reference.", .file = CLI_WRITES},
  {"run-report", 0, BATCH, TEXT(run.report, "FILE"), OTHER(BASIC), "write a JSON report of each run", .file = CLI_WRITES},
  {"svg", 0, RUN | MESH | STATS | VIEW, CHOICE(run.svg, svg_kinds), CHIEF(DRAWING), "what a drawing shows. dots: filled circles; touches: a touch of the pen for each dot; path: one line through the points; stipples: an older name of dots",
   .manual = "`dots` are filled circles. `touches` are what a pen does for them: a stroke without length and with "
   "round ends, as wide as the pen, or a spiral where the dot is wider. They are the default with --pen, for HPGL and "
   "G-code, and for the SVG of a --plotter. `stipples` is the older name of `dots`. `path` is one line through all points, in the order of --order. "
   "With --pen the density of the points is such that the line has the tone of the picture."},
  {"dots", 0, RUN | STATS | VIEW, CHOICE(run.dots, dot_areas), CHIEF(DRAWING),
   "sizes of the dots of a drawing. mass: each dot has the ink of its cell; tone: the same, but dots are larger "
   "where the picture is darker; equal: all dots have one size, and together the ink of the picture; auto: mass for "
   "pictures, equal for data",
   .manual = "`mass`: the area of each dot inside its cell equals the integral of the tone over the cell, so the "
   "drawing has the tone of the picture everywhere. With the default density the sizes of the dots differ by a few "
   "percent. `tone`: the areas follow the same rule, but the sites are placed so that dots are larger where the "
   "picture is darker, as in weighted Linde-Buzo-Gray stippling (Deussen, Spicker & Zheng 2017). The diameter grows "
   "with the tone from MIN to MAX of --dot-size; without that option MAX is twice MIN. `tone` cannot be used with "
   "--equal-mass. `equal`: all dots have one size, and the drawing has as much ink as the picture. Dots overlap "
   "where the tone is above 0.907. Data has no tone: `equal` dots then have a radius of 0.3 mean spacings, and the "
   "areas of `mass` are proportional to the masses of the cells. `auto`: `mass` for pictures, `equal` for data. "
   "With --invert or --dark the dots are white on black. The summary and the member `tone` of the report compare "
   "the drawing with the picture in linear light, both after a Gaussian blur of 1.5 mean spacings: `contrast` "
   "(ratio of the standard deviations), `correlation`, `ssim` (structural similarity); `ink` and `picture_ink` "
   "(mean share of the paper), `blur` (standard deviation, pixels), `smallest_dot` and `largest_dot` (diameters)."},
  {"dot-size", 0, RUN | STATS | VIEW, TEXT(text.dot_size, "MIN,MAX"), CHIEF(DRAWING),
   "smallest and largest diameter of the dots, or one number for both. The unit is mm on a page, else pixels, "
   "unless a unit follows (mm, px). Without -n the diameters also give the number of sites",
   .manual = "Any unit of --unit may follow the last number. Without -n, the program chooses the number of dots so "
   "that dots of the mean diameter (with --dots tone, of the diameter for each tone) cover the same share of the "
   "paper as the ink of the picture, as in Linde-Buzo-Gray stippling. Without -n and --dot-size the diameter is "
   "1/128 of the longer side of the picture. The summary prints the number and the diameter. The report has them in "
   "`points_found`: `from` (dot-size or default), `smallest_dot` and `largest_dot` (diameters, pixels), "
   "`picture_ink` (mean tone).", .set = cli_set_dot_size},
  {"pen", 0, RUN | MESH | STATS, TEXT(text.pen, "WIDTH"), CHIEF(DRAWING),
   "width of the pen; a dot becomes one touch of this pen. Without a unit: in mm on a page, else in pixels",
   .manual = "Drawings show touches then (--svg touches), and lines have this width. Dots are as wide as the pen, "
   "unless --dot-size gives larger ones, which a spiral of the pen fills. Without -n the width of the pen gives the "
   "number of touches. In a file of --colours a pen is as wide as the smallest of its dots. Sites have 12 iterations at low effort, after which touches and lines form no rows in "
   "even places; with one of --effort, --iterations, --tolerance, --gradient-tolerance and --method they are regular. "
   "Without this option the "
   "pen is as wide as the smallest dot of --dot-size, else 0.5 mm in drawings for pen machines. The line `tone` of "
   "the summary measures a simulated plot.", .set = cli_set_pen},
  {"overlap", 0, RUN | STATS | VIEW, FLAG(run.overlap), OTHER(DRAWING),
   "allow dots to overlap; --no-overlap makes dots smaller where they would",
   .manual = "With --no-overlap the radius of a dot is at most half the distance to its nearest neighbour. Dark "
   "parts of the drawing are then too light."},
  {"colours", 0, RUN, TEXT(text.colours, "INKS"), CHIEF(DRAWING),
   "draw with several inks. cmyk: cyan, magenta, yellow and black; a number: so many inks, chosen from the colours "
   "of the picture; or a file with lines `name = #rrggbb` or `name = #rrggbb MIN,MAX`, where MIN and MAX are "
   "diameters of dots",
   .manual = "See SEVERAL COLOURS. The inks of `cmyk` are #00aeef, #ec008c, #fff200 and #000000. The largest number "
   "of inks is 16. To choose inks, the program extends the colours of the picture away from white, because dots of "
   "one ink on white paper give all colours between white and the ink. It clusters these colours in OKLab, and "
   "takes the clusters whose inks reproduce the picture with the least error. A picture with fewer colours gets "
   "fewer inks. Inks are drawn from light to dark.", .words = "none cmyk",
   .file = CLI_READS, .set = cli_set_colours},
  {"order", 0, RUN | MESH, CHOICE(run.order, point_orders), CHIEF(DRAWING),
   "order of the points. tsp: along a short closed path through all points; plot: along the same path, open, so "
   "that a pen travels little between dots",
   .manual = "The order holds for point files, for the dots of a drawing, and for the line of --svg path, whose "
   "default is `tsp`. `tsp` "
   "follows a short closed path through all points (travelling salesman problem), which starts near the upper left "
   "corner. `plot` opens this path at its longest edge, and starts at the end that is closer to the upper left "
   "corner. For uniform points the path is 2 to 3 % longer than 0.7124 sqrt(number of points x area), the length of "
   "the shortest path through many points. The order does not depend on the number of threads. --time-limit and an "
   "interrupt end the search for a shorter path; the report then has `stopped` = true. With --order, fixed sites no "
   "longer come first. The report has, under `order`, the `length` in pixels, `bound` (a lower bound for closed "
   "paths), `uniform_estimate` (0.7124 sqrt(n A) for the rectangle of the points) and the `seconds`. Mesh files and "
   "--domain cannot be used with --order, because the vertices of a mesh have an order of their own."},
  {"page", 0, RUN | MESH | STATS | VIEW, TEXT(text.page, "WxH"), CHIEF(PAGE),
   "draw on a page: its size in mm, or A0 to A6, letter, legal, tabloid. After a comma: portrait, landscape, or fill, "
   "which crops the picture so that it fills the page inside the margins",
   .manual = "A page with a name lies as the picture does, unless portrait or landscape follows, as in "
   "`A4,landscape,fill`. With --plotter these words may stand alone. Without `fill` the whole picture is drawn. SVG, PDF and DXF files then have the size of the page. Files for pen machines, HPGL (`.hpgl`, `.plt`) "
   "and G-code (`.gcode`, `.nc`), need this option, or a --plotter with a paper of its own (not grbl-*, marlin-* or hpgl). See DRAWINGS and PEN MACHINES.",
   .words = "A0 A1 A2 A3 A4 A5 A6 letter legal tabloid", .set = cli_set_page},
  {"margin", 0, RUN | MESH | STATS | VIEW, REAL(run.page.margin, "MM", 0, 10000), CHIEF(PAGE),
   "width of the page's margin, where nothing is drawn"},
  {"split", 0, RUN | MESH, REAL(run.page.split, "MM", 0, HUGE_VAL), OTHER(PAGE),
   "split lines into parts no longer than this, so that the pen can be refilled between them; 0: never",
   .manual = "Between two parts, HPGL puts the pen back and takes it again, and G-code has the lines `pause` of its "
   "profile. An SVG has one layer for each part. Dots are not split."},
  {"plotter", 0, RUN | MESH, TEXT(run.page.plotter, "MACHINE"), CHIEF(PAGE),
   "the machine that draws: it determines area, origin, units and speeds; or a file that describes your own G-code machine; "
   "list: print the machines",
   .manual = "See PEN MACHINES. Without --page the page is the paper of the machine. Names without a size, such as axidraw, are those of the machine that the page fits. The picture lies inside what the "
   "machine reaches, and a page that is too large is refused. Without this option HPGL on A4, A3, letter and tabloid "
   "is for the HP 7475A, and G-code for GRBL with a servo. The summary and the report's `plot` have the time to plot.",
   .words = "list hp7475a hp7475a-a3 hp7475a-letter hp7475a-tabloid hp7550 hp7550-a3 hp7550-letter hp7550-tabloid dxy "
   "axidraw-a4 axidraw-a3 grbl-servo grbl-z grbl-laser marlin-servo marlin-laser hpgl", .file = CLI_READS},
  {"unit", 0, RUN | MESH | STATS | VIEW, SWITCH(run.unit, coordinate_units, CVTM_RUN_UNIT_PIXEL, CVTM_RUN_UNIT_WIDTH), OTHER(PAGE),
   "unit of coordinates in files. A unit of length needs --page or --pixel-size. With `width`, which is also the unit without a "
   "value, coordinates of meshes are divided by the width of the image",
   .manual = "With --page, coordinates are positions on the page: point files measure from its upper left corner, "
   "with y down, and mesh files from its lower left corner, with y up. With --pixel-size, coordinates are positions "
   "in the world. `width`, or --unit without a value, divides the coordinates of meshes by the width of the image; "
   "points stay in pixels."},
  {"pixel-size", 0, RUN | MESH | STATS, TEXT(text.pixel_size, "LENGTH"), CHIEF(PAGE),
   "the real size of a pixel, for example 0.65um; file: the size that is stored in the picture's file. "
   "Coordinates in files are then positions in the world, y up",
   .manual = "LENGTH is a number, with or without a unit of --unit. `file` reads the size from the picture's file: "
   "from GeoTIFF (ModelPixelScale, and ModelTiepoint for the origin, in metres or feet), PhysicalSizeX and "
   "PhysicalSizeY of OME-TIFF, the unit of ImageJ, the resolution of TIFF (ResolutionUnit inch or centimetre), pHYs "
   "of PNG, or the density of JFIF. Without --pixel-size the program ignores all of these. With --pixel-size, "
   "points and meshes are measured from the lower left corner of the picture, x to the right and y up, in the unit "
   "of LENGTH or of --unit. Lengths of other options may then have units without a --page. SVG, PDF, DXF, HPGL and "
   "G-code have their real size if the unit is known. The report has the member `world`: unit, pixel_size, origin, "
   "width, height, area, mesh_area, mean_triangle_area, shortest_edge, mean_edge, longest_edge. Points and polygons "
   "that a run reads (--init, --domain) are in pixels all the same. `stats` needs the same --pixel-size, --origin "
   "and --unit as the run that wrote its file. Pixels that are not square are an error.", .words = "file", .set = cli_set_pixel_size},
  {"origin", 0, RUN | MESH | STATS, TEXT(text.origin, "X,Y"), OTHER(PAGE),
   "with --pixel-size: the coordinates of the picture's lower left corner",
   .manual = "The numbers are in the unit of the files unless another unit follows Y. Without this option the "
   "origin is 0,0 or, with --pixel-size file, that of the picture's file.", .set = cli_set_origin},
  {"element-order", 0, RUN | MESH, INTEGER(run.element_order, "N", 1, 2), OTHER(FILES),
   "2: second-order elements, with a node in the middle of each edge; on the boundary the node lies on the curve",
   .manual = "FORMATS lists the formats that hold these nodes; files of other formats have the corners alone. At "
   "least one output must hold the nodes. With --domain the vertices of the boundary lie on its contour, and the "
   "node of an edge lies where the perpendicular bisector of the edge meets the contour. An edge stays straight if "
   "its curve would invert the triangle (a Jacobian below 1/20 of that of the straight triangle). The report has "
   "the member `second_order`: `nodes`, `curved_edges` and `straightened_edges`."},
  {"preset", 0, RUN | VIEW, CHOICE(run.preset, presets), OTHER(SOLVER),
   "paper: the method of Fei, Rong, Wang & Wang 2014, that is a random start, the pixel energy, jump flooding, and "
   "L-BFGS-B with m = 8 and the approximate Cauchy point until the energy no longer decreases",
   .manual = "`paper` also sets --effort low and --tolerance 0, and begins without steps of Lloyd's method. Options "
   "on the command line take precedence over the preset."},
  {"noise", 0, RUN, CHOICE(run.noise, noise_kinds), CHIEF(BASIC),
   "kind of sites. hexagonal: sites of a tessellation, which are nearly a hexagonal lattice; blue: irregular sites "
   "without preferred directions (blue noise), whose density is that of the image, as with --equal-mass",
   .manual = "`blue` is Gaussian blue noise (Ahmed, Ren and Wonka 2022), for sampling and dithering: irregular, "
   "isotropic, and with hardly any power at low frequencies; see docs/noise.md. The number of points per area "
   "follows the density of the image, as with --equal-mass: tone, value, or value^-2 with --density-from size. "
   "Edges of the density are blurred by less than half the spacing of the sites. The default is 150 iterations (75 "
   "with --effort low, 300 with --effort high); many more make the sites more regular. -n, --seed, --periodic, "
   "--fixed, --init, --tolerance and --time-limit mean the same as for tessellations; other options of "
   "tessellations are an error. The report has the member `noise` with `kind` and `energy`, the energy of the "
   "kernels per site. `energy_ratio` is that of the Voronoi cells of the sites."},
  {"method", 0, RUN | VIEW, CHOICE(run.method, cvt_methods), CHIEF(SOLVER), "how the energy is minimised",
   .manual = "`lloyd` moves every site to the centroid of its cell in each iteration. It takes about ten times as "
   "long as `lbfgsb`."},
  {"method", 0, VORONOI, CHOICE(run.voronoi, voronoi_methods), CHIEF(SOLVER), "how the diagram is computed",
   .manual = "`exact` gives every pixel the nearest site. `jfa` is jump flooding: passes with steps of half the "
   "side, a quarter, and so on down to 1, after which a few pixels may have a wrong site. `1+jfa` has an additional "
   "pass of step 1 at the start, `jfa+1` one at the end, `jfa+2` has passes of steps 2 and 1 at the end, and `jfa2` "
   "does all passes twice. If a point lies outside the domain, all methods are exact."},
  {"iterations", 0, RUN | VIEW | SPHERE | MINIMIZE, INTEGER(run.iterations, "N", 0, 1e15), OTHER(SOLVER),
   "maximum number of iterations; 0: keep the start"},
  {"tolerance", 0, MINIMIZE, REAL(run.tolerance, "T", 0, 1), OTHER(SOLVER),
   "stop when the mean relative decrease of the objective over 10 iterations is at most this; 0: when it is a rounding "
   "error, or with --gradient-tolerance never"},
  {"tolerance", 0, RUN | VIEW, REAL(run.tolerance, "T", 0, 1), OTHER(SOLVER),
   "stop when the mean relative decrease of the energy over 10 iterations is at most this; 0: never"},
  {"gradient-tolerance", 0, RUN | VIEW, REAL(run.gradient_tolerance, "PIXELS", 0, HUGE_VAL), OTHER(SOLVER),
   "stop when no site is farther than this from the centroid of its cell; 0: never"},
  {"time-limit", 0, SPHERE | VIEW | MINIMIZE, REAL(run.time_limit, "SECONDS", 0, HUGE_VAL), CHIEF(SOLVER), "stop the optimisation after this time, with the result that it has; 0: never"},
  {"time-limit", 0, MESH, REAL(run.time_limit, "SECONDS", 0, HUGE_VAL), CHIEF(SOLVER),
   "stop improving the mesh of an outline, or searching for a shorter path (--order), after this time; 0: never"},
  {"time-limit", 0, RUN, REAL(run.time_limit, "SECONDS", 0, HUGE_VAL), CHIEF(SOLVER),
   "stop the optimisation, or the search for a shorter path, after this time; 0: never",
   .manual = "The time runs from the start of sampling to the last iteration. Reading the picture, evaluating the "
   "final sites, making the mesh and writing the files do not count. At least half of the time is reserved for the "
   "full set of sites at any --effort, a quarter for a sliding boundary, 15 % for the refinement of a domain, and a "
   "quarter for the path of --order. A run exceeds the limit by at most one evaluation of the energy, or by a few "
   "if the program has just refined the set of sites or transferred sites. With --equal-mass the program balances "
   "the masses once more after the limit."},
  {"ranks", 0, RUN_ALONE, TEXT(text.ranks, "N"), OTHER(SOLVER),
   "number of processes that share the run: N starts up to N processes on this machine, mpi takes the ranks of mpirun, 0 "
   "means one process",
   .manual = "With `mpi`, the ranks that `mpirun` or `srun` has started share the work, on CPUs or, with --device "
   "cuda, on GPUs, which they take in turn. In descents and evaluations each rank handles a part of the sites, with their "
   "cells and their part of the optimiser's state. Rank 0 reads the picture and writes the files. Every rank has the "
   "complete density on its device. The bits of the files do not depend on the number of ranks; they differ from those of "
   "a run in one process by rounding. If one rank fails or is killed, all ranks end. N and --device cuda:all start one "
   "process for each 5x10^7 sites, and more only if the sites need the memory of more GPUs; a note says how many. GPUs "
   "exchange data by NCCL where that library is installed and each rank has its own, else by MPI, which the build must "
   "have. --ranks cannot be used with --domain, --equal-mass, --noise blue, --watch, --preset paper (whose pixel energy is "
   "not divided) and drawings in several colours.", .words = "mpi", .effect = CLI_NO_EFFECT, .set = cli_set_ranks},
  {"checkpoint", 0, RUN_ALONE, TEXT(run.checkpoint.file, "FILE"), CHIEF(SOLVER),
   "save the state of the optimisation in FILE from time to time; if FILE exists, continue from it",
   .manual = "The file is complete at all times: the program writes it under a temporary name, syncs it and renames "
   "it. It has about 400 bytes per site (460 with --effort best), and writing it takes as much memory. The file "
   "remains after the run. A run that takes less time than --checkpoint-every writes none. Checkpoints do not "
   "change the sites. A run that continues from the FILE of a killed run writes the same files, to the last bit, as "
   "a run without interruption. The picture, the density, the options that affect the sites, the version of "
   "cvtmesh, the kind of device and, for GPUs, the model must be the same; otherwise an error names the difference, "
   "and FILE is unchanged. Threads, outputs and --time-limit may differ. The time limit counts all parts of the run "
   "together. Seconds in the report count from the continuation on. The steps after the optimisation (the sliding "
   "boundary, refinement, files) are done again. --checkpoint cannot be used with --equal-mass, --noise blue and "
   "drawings in several colours.",
   .file = CLI_WRITES, .effect = CLI_NO_EFFECT},
  {"checkpoint-every", 0, RUN_ALONE, REAL(run.checkpoint.every, "SECONDS", 0, HUGE_VAL), OTHER(SOLVER),
   "time between two checkpoints", .effect = CLI_NO_EFFECT},
  {"seed", 0, RUN | VIEW | SPHERE, INTEGER(run.seed, "N", 0, SEED_MAX), CHIEF(SOLVER),
   "seed of the random numbers; the same seed gives the same files",
   .manual = "The files do not depend on the number of threads, on CPUs of one architecture, and on GPUs of one "
   "model."},
  {"effort", 0, RUN, CHOICE(run.effort, cvt_efforts), CHIEF(SOLVER),
   "preview: a rough result in seconds; low: one descent from the first sites; normal: from coarse to fine; high: "
   "also move sites from crowded to sparse places, which takes several times as long; best: also rounds of random "
   "changes, of which those that lower the energy are kept",
   .manual = "`preview` is low effort with at most 20000 sites, 10000 of a line, and a time limit of 2 seconds, or 1 in several "
   "colours, unless --time-limit sets another. A picture of more than 0.9 million pixels is averaged over squares, "
   "unless other files belong to its pixels. The summary says what was left out. `low` is one descent from the first sites. `normal` "
   "goes from coarse to fine: each level starts from a tessellation with a quarter of its sites. On a coarse level whose "
   "cells contain many pixels, the density is averaged over blocks of 2 x 2 or more pixels. During the last "
   "descent, and after the descent of the level with a sixteenth of the sites, the program moves a few sites at a "
   "time from crowded places to sparse ones and continues the descent. It undoes moves that do not lower the "
   "energy. `high` has longer descents on coarse levels, and moves sites after the descent of each level. With "
   "--init or --fixed there are no levels; with --init only `high` and `best` move sites between places. `best` "
   "continues from the result of `high` with rounds of annealing. Each round starts from the sites of the round "
   "before, moves every site away from its nearest neighbour, and descends. After 15 rounds without improvement, or "
   "200 rounds in all, the best sites are the result. See also --time-limit. The report has the number of rounds "
   "(`anneal_rounds`)."},
  {"init", 0, RUN | VIEW, SOURCE(run.init, "FILE"), OTHER(SOLVER), "start from the points of FILE (csv, npy, xyz)",
   .manual = "The points must all lie inside the image.", .file = CLI_READS},
  {"fixed", 0, RUN | VIEW, SOURCE(run.fixed, "FILE"), OTHER(SOLVER),
   "sites that do not move; they come first in the files, and -n counts them", .file = CLI_READS},
  {"periodic", 0, RUN | MESH | VORONOI | STATS | VIEW, FLAG(run.periodic), CHIEF(SOLVER),
   "join opposite sides, so that the domain is a torus",
   .manual = "`run` writes the triangulation of the sites in the plane; `cvtmesh mesh --periodic` makes the "
   "triangulation on the torus from them. With --domain the mesh ends at the sides of the image, and vertices on "
   "opposite sides are paired; see MESHES THAT KEEP A BOUNDARY.\nFor `cvtmesh mesh OUTLINE` the outline is a cell "
   "that repeats: a rectangle, parallelogram or hexagon with equal opposite sides, with voids at its corners or with "
   "bent sides between two straight ones. A side and its translated copy are divided at the same fractions of their "
   "edges, so each vertex has a copy. Copies differ from translated vertices no more than corners do; on horizontal and "
   "vertical sides one coordinate is the same to the last bit. The longest sides are paired first, of equal ones those "
   "to the left and right, then others with which copies of the outline do not overlap. Coordinates may differ by a "
   "rounding error or, where that pairs more sides, by two units of the last decimal in the file and an eighth of the "
   "edge; then there is a note. A corner on only one of two sides, as where a hole or a line touches it, is added to "
   "the other. Walls without copies are not paired. It is an error if no side has a copy, or if some edges of a side "
   "have none. The report has the number of `pairs` and the `translations`, and --pairs-out writes the pairs as with "
   "`run --domain --periodic`, with the number of the translation: 0 for the most horizontal one, at least 1 for the "
   "first that is steeper than 45 degrees.\nFor `cvtmesh mesh POINTS` the mesh is the Delaunay triangulation of a "
   "torus of the size --width x --height, into which points outside are moved by multiples of these, with two "
   "triangles for each point, laid out in the plane. Triangles across a side have corners one width to the right or "
   "one height above and follow the points in the file. PLY, VTK, VTU, MSH and NODE have a number `original` for each "
   "vertex: the index, from 0 on, of the point that it is or that it copies. --pairs-out writes a row for each copy: "
   "the point, the copy, and the axis between them, 0 or 1, or 2 for both; the report has their number, `copies`. "
   "Points are rounded to multiples of a power of two that divides the sides, at most 2^-29 of the longer side and its "
   "surroundings. If several points lie on one circle, the leftmost (of these the lowest) is a corner of all "
   "triangles. --min-angle, --max-area, pictures and second-order elements are not available for points."},
  {"equal-mass", 0, RUN, FLAG(run.equal_mass.on), CHIEF(BASIC),
   "give all cells the same mass, by a power diagram (weighted cells); the density of the sites is then that of the "
   "image: tone, value or value^-2",
   .manual = "The cells are power cells: the cell of site i consists of the points where |x - x_i|^2 - w_i is "
   "least. Semi-discrete optimal transport determines the weights w. The sites move so that the transport cost "
   "decreases. This cost is the energy in the report, and its reference is the energy of hexagons of equal mass. "
   "The number of sites per area follows the density itself and not its square root, so the powers of "
   "--density-from are halved: tone, value, or value^-2. The sites start from a plain tessellation of the squared "
   "density. --iterations 0 keeps the given or sampled sites and computes the weights alone. The mesh is the "
   "regular triangulation, the dual of the cells in the plane. Like a Delaunay triangulation it is computed exactly "
   "from the coordinates, and on the GPU if there is one. On a torus, masses and sites belong to the torus; mesh "
   "and pictures show the diagram of the same weights in the plane. Two sites at the same position are an error, as "
   "are --preset, --domain and --watch."},
  {"mass-tolerance", 0, RUN, REAL(run.equal_mass.tolerance, "T", 1e-13, 1), OTHER(SOLVER),
   "with --equal-mass: the largest relative deviation of a cell's mass that is accepted",
   .manual = "If rounding errors prevent this tolerance, the program writes the best result, and the exit status is "
   "4."},
  {"weights-out", 0, RUN, TEXT(run.equal_mass.weights_out, "FILE"), OTHER(SOLVER),
   "with --equal-mass: write the weights of the sites as NPY, float64",
   .manual = "The weights are in the order of the sites; their mean is 0.", .file = CLI_WRITES},
  {"domain", 0, RUN, TEXT(text.domain, "KIND[=FILE]"), CHIEF(DOMAIN),
   "mesh a domain and keep its boundary. auto: frame for files of meshes; frame: the complete image; image: the dark "
   "part of the image (the bright part with --invert); mask=IMAGE, polygon=FILE, labels=IMAGE: the domain in that "
   "file; none: no domain",
   .manual = "See MESHES THAT KEEP A BOUNDARY. `auto` is `frame` if the run writes files of meshes, and neither "
   "points nor dots; `none` otherwise, and with --init, --fixed, --order, --equal-mass, --noise blue, --colours, "
   "--preset paper or several ranks. With `none` all sites are free, and the mesh is the dual of their cells. A mask or labels must have the size of the image. `mask`: the domain "
   "is the opaque part if IMAGE has an alpha channel, else the bright part. `labels`: each grey level except black "
   "is a region, numbered in ascending order; in an NPY file each number except 0. `polygon`: polygons with holes "
   "by the even-odd rule, in pixels with y down, from SVG (paths, polygons, circles, ellipses and rectangles, with "
   "their transforms), GeoJSON (Polygon and MultiPolygon), or CSV (x,y on each line, an empty line between rings); "
   "or a .poly file of Triangle, with y up, whose segments form closed rings, and whose vertices may be in the "
   ".node file of the same name. Rings may touch other rings and themselves in points. Each shape is a region of "
   "its own if two shapes have a common edge, or if shapes of GeoJSON or SVG have names; the triangles on both sides "
   "then share the edges between regions. Shapes are the features of GeoJSON, the elements of SVG, and the rings of "
   "CSV. Where shapes overlap, the last one counts. Shapes with the same name are one region. A group has the name "
   "of its shape: for a feature the first of its properties name, material, label, region and class, else its id; "
   "for an element of SVG inkscape:label or the id, except ids as editors make them (rect12, path7-3). In an SVG with names, "
   "shapes without one, or called hole, hole-1 and so on, cut holes into the others. Characters other than letters, digits and hyphens become "
   "underscores. Lines and points of GeoJSON (LineString, MultiLineString, Point, MultiPoint) and lines of SVG "
   "(line, polyline, open paths without fill) are edges and vertices of the mesh, as far as they lie inside. Segments of a .poly file may also divide the plane, as with `mesh`.",
   .words = "auto none frame image mask= polygon= labels=", .file = CLI_READS, .set = cli_set_domain},
  {"region-name", 0, RUN, LIST(text.region_names, "N=NAME"), OTHER(DOMAIN),
   "name of region N in msh, inp and the report; can be repeated",
   .manual = "A name has up to 31 letters, digits, _ and -, and starts with a letter.", .set = cli_set_region_name},
  {"domain-smooth", 0, RUN, REAL(run.domain.smooth, "SIGMA", 0, 100), OTHER(DOMAIN),
   "smooth the boundary of an image, a mask or labels on this scale, in pixels"},
  {"domain-smallest", 0, RUN, REAL(run.domain.smallest, "AREA", 0, 1e12), OTHER(DOMAIN),
   "leave out islands and holes smaller than this, in square pixels", .manual = "The largest part of a label always "
   "remains."},
  {"pairs-out", 0, RUN | MESH, TEXT(run.domain.pairs_out, "FILE"), OTHER(DOMAIN),
   "with --periodic: write the pairs of vertices on sides that are copies as an NPY array",
   .manual = "The array is int32, n x 3; see MESHES THAT KEEP A BOUNDARY, and --periodic for points.",
   .file = CLI_WRITES},
  {"boundary", 0, RUN, CHOICE(run.domain.sliding, boundary_kinds), CHIEF(DOMAIN),
   "locked: sites on the boundary do not move; sliding: they move along it to lower the energy"},
  {"boundary-tolerance", 0, RUN, REAL(run.domain.tolerance, "PIXELS", 0.01, 100), OTHER(DOMAIN),
   "largest distance between the edges of the mesh and a smooth boundary"},
  {"min-angle", 0, RUN | MESH, REAL(run.refine.min_angle, "DEGREES", 0, 40), CHIEF(DOMAIN),
   "refine the mesh until no angle is smaller than this, except at sharper corners of the boundary",
   .manual = "For `run` see MESHES THAT KEEP A BOUNDARY.\nFor `cvtmesh mesh` the outline is a polygon with holes in "
   "an svg, geojson, csv or poly file, as for `run --domain polygon=FILE`. Segments of a .poly file may also divide "
   "the plane into several regions, or end inside, and points may lie on no segment. A part is outside if a path "
   "from outside reaches it without crossing a segment, or if the list of holes has a point in it. If the list of "
   "regions has a point in a part, the attribute of the point is the number of the part (or the position in the "
   "list, if the attribute is not a positive integer), and the area in the file limits its triangles. The other "
   "parts have the numbers after these. Delaunay refinement meshes the inside with few triangles until no angle is "
   "below DEGREES (0 to 40). The outline may have any size, and the mesh has its "
   "coordinates; in SVG, y is down as in pictures.\nEvery corner is a vertex, and every edge is kept. A new vertex "
   "lies exactly on a horizontal or vertical edge, and on another one within a step of the grid of the coordinates "
   "(2^-30 of the longer side of the outline). Up to 33 degrees the program first tries a bound that is 1.5 degrees "
   "larger, so that rounding in programs that read the mesh does no harm. Two edges that meet at less than DEGREES "
   "keep their angle, and a few triangles at such a corner are below the bound; the report lists these corners "
   "(`small_corners`). Where parts of the outline are closer to each other than 32 steps of the grid, angles may be "
   "below the bound, because vertices are points of the grid; the report lists these triangles "
   "(`narrow_triangles`). Refinement ends for every outline. If a bound above 33 degrees takes more than eight "
   "times as many points as 33 degrees, the program lowers it in steps of 2 degrees until it does not (`bound` in "
   "the report); it then writes the mesh, and the exit status is 4. A signal or --time-limit ends the refinement, "
   "and the program writes the mesh as it is (`stopped`)."},
  {"max-area", 0, RUN, LIST(text.max_area, "[REGION=]AREA[UNIT2]"), CHIEF(DOMAIN),
   "refine the mesh until no triangle (or none in REGION) is larger than this, for example 4mm2 or 3=20um2; can be repeated",
   .manual = "AREA is in square pixels. A unit may follow, as in "
   "4mm2 or 3=20um2: the area is then one in the world of --pixel-size, which must have a unit, or one on the page "
   "of --page.", .set = cli_set_max_area},
  {"picture", 0, STATS, SOURCE(photograph, "IMAGE"), CHIEF(BASIC),
   "draw the points as dots, and compare the drawing with this picture",
   .manual = "The picture is the domain or, of an SVG drawn with `--page ...,fill`, the part of the picture on the page. --dots, --dot-size and --overlap say how the dots are drawn. With --pen the "
   "drawing is a simulated plot: touches and spirals of the pen or, with --svg path, one line through the points in "
   "their order. If FILE is an SVG, of any program, its circles are the dots, and so are touches of a pen; its paths, lines and polygons are "
   "strokes as wide as their attribute stroke-width. A drawing of `run` on a page says where the picture lies. In others the viewBox "
   "must have the shape of the picture; if it does not, --page and its options must say where the picture lies.", .file = CLI_READS},
  {"density", 0, STATS, SOURCE(density, "IMAGE"), CHIEF(BASIC), "also measure how well the points follow this density: the ratio of energies",
   .manual = "The domain is that of this image. The density is that of `run` without --domain.", .file = CLI_READS},
  {"invert", 0, RUN | STATS | VIEW | DENSITY, FLAG(run.invert), CHIEF(TONE), "bright is dense"},
  {"gamma", 0, RUN | STATS | VIEW | DENSITY, REAL(run.gamma, "G", 1e-6, 1e6), OTHER(TONE), "raise the tone to this power"},
  {"levels", 0, RUN | STATS | VIEW | DENSITY, TEXT(text.levels, "BLACK,WHITE"), OTHER(TONE),
   "range of levels (sRGB values; BLACK may be below 0): pixels up to BLACK become black, pixels from WHITE on become white",
   .set = cli_set_levels},
  {"flatten", 0, RUN | STATS | VIEW | DENSITY, REAL(run.flatten, "SHARE", 0, 1), OTHER(TONE),
   "make large areas more alike in level, and keep the contrast of details: take this share of the differences between large areas",
   .manual = "The level (sRGB value) of each pixel is reduced by SHARE times the difference between the mean around it "
   "(Gaussian, its standard deviation 0.085 of the longer side) and the mean of the picture. This happens before "
   "--levels. A drawing with little ink then has more of it for details and less for large dark areas. With --tone auto the "
   "program chooses SHARE."},
  {"contrast", 0, RUN | STATS | VIEW | DENSITY, REAL(run.contrast, "FACTOR", 1e-3, 1e3), CHIEF(TONE),
   "multiply the difference between each level and middle grey by this"},
  {"tone", 0, RUN, CHOICE(run.tone, tone_choices), CHIEF(TONE),
   "-n dots of a pen have less ink than most pictures, or more. auto: --flatten, --levels and --gamma are chosen so that the "
   "dots can show the picture; linear: the tones stay as they are, so that the drawing may be too light or too dark",
   .manual = "-n dots of a pen have less ink than most photographs need, or more. `auto` chooses the SHARE of --flatten, the BLACK "
   "and WHITE of --levels and the --gamma at which the dots have as much ink as the tones, and of these the ones whose drawing "
   "has the local contrasts of the picture most (structural similarity of contrasts at three distances, weighted by the "
   "contrast of the picture, times a power of the correlation). A line with less than half of the ink of the picture, and dots with less than a fifth, take a SHARE of 0.8. With more than 0.3 of the ink WHITE of dots is at least 0.65. A gamma above 5 is the last choice. BLACK below 0 means that no place is fully covered. The summary prints them. With --dot-size MIN,MAX all dots are MAX wide if their ink is still too little, MIN if it is too much; else the sizes have the ink. Where one of --levels, --gamma and --contrast is given, nothing is chosen; where --flatten is given, only the others are. "
   "A dithered picture is smoothed over 6 pixels first. With --colours levels and gamma reduce the inks of these dots, and keep their colours. With `linear` "
   "and too little ink the drawing is pale. The report has `tone_chosen`: `flatten`, `black`, `white`, `gamma`."},
  {"density-from", 0, RUN | STATS | VIEW | DENSITY, CHOICE(run.density_from, density_sources), CHIEF(TONE),
   "tone: the density is tone^2; density: it is the value; size: it is value^-4; auto: tone for pictures, density "
   "for data",
   .manual = "See FROM A PICTURE TO A DENSITY."},
  {"size-from", 0, RUN, TEXT(text.size_from, "[KIND=]FILE"), CHIEF(DENSITY),
   "take the sizes of triangles from a field on a mesh (vtu, msh) or at points (npy) instead of the picture. KIND "
   "solution (the default): sizes make the interpolation error of the field the same everywhere; indicator: the "
   "field is an estimate of the error; size: the field is the size",
   .manual = "The field is the point data of a .vtu file or the node data of a .msh file that --size-field names "
   "(by default the first with one number per point). Its coordinates are those of the files that this run writes. "
   "A .npy array with rows x, y, value is a field on the Delaunay triangulation of its points. `solution`: sizes "
   "are |H|^-1/2, where |H| is the largest eigenvalue of the Hessian of the quadratic polynomial that best fits the "
   "values around a vertex, so that the interpolation error of linear elements becomes the same everywhere. "
   "`indicator`: sizes are those of the mesh divided by the root of the field, an error indicator. Both give sizes "
   "up to a factor, which follows from -n. With `size` -n may be left out. docs/examples/l_shape.py solves and "
   "adapts in a loop; for an outline it runs `cvtmesh run --domain polygon=FILE`.", .words = "solution= indicator= size=", .file = CLI_READS,
   .set = cli_set_size_from},
  {"size-field", 0, RUN | MESH, TEXT(run.size.field, "NAME"), OTHER(DENSITY),
   "the name of the field in the file of sizes or of the metric; default: the first one"},
  {"size", 0, MESH, LIST(run.outline.size, "[NAME=]SIZE"), CHIEF(DOMAIN),
   "length of the edges in the mesh of an outline: a number (a unit may follow), a formula such as 1+0.1*d(hole), "
   "a file with a field (vtu, msh, npy), or max (as few triangles as --min-angle allows); NAME is a region or a part of the boundary; can be repeated",
   .manual = "The outline is meshed by triangles whose edges have this length, in the unit of the outline. The "
   "vertices inside are the sites of a centroidal Voronoi tessellation. Corners and edges of the outline keep their "
   "coordinates to the last bit. With a unit, as in 2mm, the size is one in the world of --pixel-size, on the "
   "page of --page, or in an SVG that states its own size in mm, cm, in, pt or pc. NAME=SIZE is for a region (its name or number) or for a part of the boundary (outer, hole-1, "
   "hole for all holes, left, right, bottom, top, interface-A-B, marker-N, or the name of a line or a point of the file), from which "
   "sizes grow inward by --grade; without a name, SIZE holds everywhere else. Where several sizes apply, the smallest one counts. A formula has numbers, x, y, + - * / ^, parentheses, sqrt, exp, log, sin, "
   "cos, abs, min, max, and distances: d(NAME) to a part of the boundary, to a line or point of the file or to the boundary of a region, and d(X,Y) "
   "to a point. A file has a field on a mesh (.vtu, .msh; --size-field names it) or rows of x, y and the size (.npy), "
   "in the coordinates of mesh files. The program samples it on a raster of 1024 cells along the longer side of the "
   "outline, and reduces it where it grows by more than 0.3 per unit of distance. Edges are shorter where the outline has short edges or is narrow. `max` makes as few triangles as "
   "the angles of --min-angle allow, as that option does alone. With --min-angle the triangles are as few as possible, "
   "too, but none is larger than an equilateral one with sides of the size at its centroid. With -n one factor multiplies the "
   "sizes without a name, so that the mesh has about N vertices. Sizes with names stay. Where -n has no size without a "
   "name, all other edges have about the same length.", .words = "max"},
  {"boundary-name", 0, MESH, LIST(run.outline.boundary_names, "PART=NAME"), OTHER(DOMAIN),
   "rename a part of the boundary of an outline; PART is its present name, such as hole-1 (hole: all holes), just the number N of "
   "marker-N, or a place X,Y beside a side; can be repeated",
   .manual = "A name has up to 31 letters, digits, _ and -, and starts with a letter. The other options know the part "
   "by its new name. Parts with the same name become one. X,Y=NAME is the side nearest to the place, in the unit of the "
   "outline: as far as the boundary turns by less than 30 degrees."},
  {"grade", 0, MESH, REAL(run.outline.grade, "G", 0.01, 10), OTHER(DOMAIN),
   "growth of sizes per unit of distance from the boundary; default: 0.13 with --size, 0.2 with -n"},
  {"simplify", 0, MESH, REAL(run.outline.simplify, "TOL", 0, HUGE_VAL), OTHER(DOMAIN),
   "with --size: replace chains of short edges by edges of the wanted size that are no farther than this from the "
   "outline",
   .manual = "Corners where the outline turns by 30 degrees or more remain, and so do corners where three edges "
   "or two lines of different names meet. Curves of SVG files need no --simplify: edges of the wanted size replace them, within a tenth of the "
   "length of an edge, and the nodes of paths remain. --simplify needs --size or -n, and cannot be used with --periodic, --min-angle, --size max or --metric."},
  {"metric", 0, MESH, TEXT(run.outline.metric, "FIELD"), CHIEF(DOMAIN),
   "stretch triangles along a field, so that --points vertices interpolate it as well as possible. FIELD is `hessian` "
   "(of the picture that is meshed) or a file: a picture, a solution (vtu, msh, npy) or a metric (npy)",
   .manual = "The operand is an outline or a picture; a picture is meshed to its frame. The field is the picture "
   "that is meshed (hessian), another picture, or a field on a mesh or at points as with --size-from. An array with "
   "rows x, y, xx, xy, yy is a metric M, up to a factor: e'Me is to be the same for every edge e.\nThe metric of a "
   "field with the Hessian H is |H| / det(|H|)^(1/6) (Alauzet & Loseille 2010); a picture and its metric are "
   "smoothed over a fifth of the mean distance of the vertices, at least one pixel; fields on meshes are sampled on "
   "a raster of 1024 cells along the longer side. The program divides edges that are too long in the metric, "
   "collapses those that are too short, flips diagonals and moves vertices. The number of vertices is exact unless "
   "the outline has more corners. Angles have no bound. --metric-ratio bounds the ratio of the sizes in two "
   "directions; with 1 the triangles are as regular as their sizes allow. Outlines, regions and groups are as with "
   "--min-angle. --periodic and --element-order 2 are an error. The member `metric` of the report has the result."},
  {"metric-ratio", 0, MESH, REAL(run.outline.metric_ratio, "R", 1, 1e6), OTHER(DOMAIN),
   "with --metric: the largest ratio of sizes in two directions"},
  {"floor", 0, RUN | STATS | VIEW | DENSITY, REAL(run.floor, "RHO", 0, 3e38), OTHER(TONE),
   "lower bound of the density: smaller values become this"},
  {"within", 0, RUN | DENSITY, LIST(text.within, "FILE"), OTHER(DENSITY),
   "keep the density inside a region alone: the bright part of an image, polygons (svg, geojson, csv, poly), or "
   "alpha for the picture's own alpha channel; if the option is repeated, only the overlap of the regions is kept",
   .manual = "--smooth, --grade and --grade-size change the density inside the regions of --within alone, and do "
   "not act across obstacles. The centroid of a cell around an obstacle may lie in the obstacle. At the end, `run` "
   "moves such sites to a place nearby, so that no site is outside the regions or in an obstacle (for polygons "
   "exactly), and prints the number of these sites (`moved_sites` in the report). It does not move fixed sites, "
   "sites of --equal-mass, or sites of --init if there are no iterations.", .words = "alpha", .file = CLI_READS, .set = cli_set_within},
  {"obstacle", 0, RUN | DENSITY, LIST(text.obstacle, "FILE"), OTHER(DENSITY),
   "set the density to 0 inside a region, and do not smooth across it; regions as for --within; can be repeated", .words = "alpha",
   .file = CLI_READS, .set = cli_set_obstacle},
  {"weight", 0, RUN | DENSITY, LIST(text.weight, "FILE=FACTOR"), CHIEF(DENSITY),
   "multiply the density of a region; regions as for --within; can be repeated",
   .manual = "The number of sites per area follows the square root of the density: a factor of 4 doubles it. With "
   "--equal-mass and --noise blue it follows the density itself. A region is an image of the same size as the "
   "picture, polygons in a file (svg, geojson, csv, poly), or `alpha`, the picture's own alpha channel. In an image "
   "with an alpha channel the region is the part that is more than half opaque; in another image, the part brighter "
   "than half; in data, the positive values. The region of polygons consists of the pixels whose centres are "
   "inside, and of those that a part thinner than a pixel crosses.", .file = CLI_READS, .set = cli_set_weight},
  {"smooth", 0, RUN | DENSITY, TEXT(text.smooth, "LAMBDA[,P]"), CHIEF(DENSITY),
   "smooth the density over about sqrt(LAMBDA) pixels. P is 1/2 or says where the result lies: mostly above the density if P is "
   "smaller, mostly below the density if P is larger",
   .manual = "The density rho is replaced by the u that minimises the sum of (u - rho)^2 over all pixels plus "
   "LAMBDA times the sum of (u_i - u_j)^2 over neighbouring pixels. P weights the first sum. For P below 1/2, "
   "pixels with u < rho count (1 - P)/P times as much as others, so that u tends to higher values. For P above 1/2, "
   "pixels with u > rho count P/(1 - P) times as much, so that u tends to lower values.",
   .set = cli_set_smooth},
  {"grade", 0, RUN | DENSITY, TEXT(text.grade, "LAMBDA[,MAX]"), OTHER(DENSITY),
   "replace the density by the smoothest one that is nowhere smaller (LAMBDA as for --smooth) and nowhere above MAX, except "
   "where the density itself is",
   .manual = "This minimises the same sum as --smooth, but under the constraint u >= rho.", .set = cli_set_grade},
  {"grade-size", 0, RUN | DENSITY, REAL(run.condition.how.grade_size, "G", 0, 1e6), CHIEF(DENSITY),
   "sizes (density^-1/4) grow by at most G per pixel; 0: no limit"},
  {"inside", 0, SEGMENT, LIST(text.inside, "X,Y,R"), CHIEF(SEGMENTATION),
   "a disc inside the object: centre and radius in pixels; can be repeated", .manual = "Seeds that contradict each other are refused.", .set = cli_set_inside},
  {"outside", 0, SEGMENT, LIST(text.outside, "X,Y,R"), CHIEF(SEGMENTATION),
   "a disc outside the object: its centre and radius in pixels; can be repeated", .set = cli_set_outside},
  {"seeds", 0, SEGMENT, SOURCE(run.segment.how.seeds, "IMAGE"), CHIEF(SEGMENTATION),
   "a picture with seeds: white marks the inside, black the outside, grey or transparent neither. In data, positive "
   "values mark the inside, negative ones the outside",
   .file = CLI_READS},
  {"initial", 0, SEGMENT, TEXT(text.initial, "WHAT"), OTHER(SEGMENTATION),
   "the first curve: grow (from the seeds to edges), image (the border of the image), X,Y,R (a circle), or a file "
   "as for --within of cvtmesh density",
   .manual = "`grow`: one front starts from the seeds inside, another from the seeds outside or, if there are none, "
   "from the border of the image. Edges slow both fronts, and the curve lies where they meet. One seed in a coin "
   "finds the coin. A photograph with weak edges needs seeds on both sides of these edges. `image`: the curve "
   "starts at the border of the image, for a single object on a plain ground. X,Y,R: a circle, whose level set is "
   "the exact distance at the pixel centres. A file (see --within of cvtmesh density) holds a curve around the object.", .words = "grow image", .file = CLI_READS, .set = cli_set_initial},
  {"sigma", 0, SEGMENT, REAL(run.segment.how.sigma, "PIXELS", 0, 1000), OTHER(SEGMENTATION),
   "first smooth the image by a Gaussian of this width", .manual = "If the width is too small, noise stops the "
   "curve."},
  {"k", 0, SEGMENT, REAL(run.segment.how.segment.k, "K", 0, 1e12), OTHER(SEGMENTATION),
   "how much edges slow the curve: its speed is multiplied by 1 / (1 + K |grad I|^2); the longer side of the image has "
   "length 1"},
  {"epsilon", 0, SEGMENT, REAL(run.segment.how.segment.epsilon, "E", 1e-6, 1e6), OTHER(SEGMENTATION),
   "regularisation E of the level set equation, in Q = sqrt(E^2 + |grad u|^2)"},
  {"seed-value", 0, SEGMENT, REAL(run.segment.how.seed_value, "V", 1e-6, 1e6), OTHER(SEGMENTATION),
   "the level set is at most -V at seeds inside, and at least V at seeds outside; the longer side of the image has "
   "length 1"},
  {"tau", 0, SEGMENT, REAL(run.segment.how.segment.tau, "T", 1e-12, 1e6), OTHER(SEGMENTATION), "time step of the level set equation"},
  {"steps", 0, SEGMENT, INTEGER(run.segment.how.segment.max_steps, "N", 0, 1e6), OTHER(SEGMENTATION),
   "maximum number of steps"},
  {"tolerance", 0, SEGMENT, REAL(run.segment.how.segment.tolerance, "T", 0, HUGE_VAL), OTHER(SEGMENTATION),
   "stop when a step changes the level set by less than this (root mean square)"},
  {"width", 0, VORONOI, INTEGER(width, "W", 0, CVTM_MAX_SIDE), CHIEF(BASIC), "width of the diagram, unless --like or --labels-from gives its size"},
  {"height", 0, VORONOI, INTEGER(height, "H", 0, CVTM_MAX_SIDE), CHIEF(BASIC), "height of the diagram in pixels"},
  {"width", 0, MESH | STATS | VIEW, INTEGER(width, "W", 0, CVTM_MAX_SIDE), CHIEF(BASIC), "width of the domain; 0: as wide as the points need"},
  {"height", 0, MESH | STATS | VIEW, INTEGER(height, "H", 0, CVTM_MAX_SIDE), CHIEF(BASIC), "height of the domain; 0: as high as the points need"},
  {"like", 0, VORONOI | MESH | STATS | VIEW, SOURCE(like, "IMAGE"), CHIEF(BASIC),
   "give the domain the size of this picture", .file = CLI_READS},
  {"nx", 0, MINIMIZE, INTEGER(minimize.nx, "N", 1, 1e15), CHIEF(PROBLEM), "number of interior nodes in x [200; gl2: 100]"},
  {"ny", 0, MINIMIZE, INTEGER(minimize.ny, "N", 1, 1e15), CHIEF(PROBLEM), "number of interior nodes in y [200; gl2: 100]"},
  {"n", 0, MINIMIZE, INTEGER(minimize.n, "N", 1, 1e15), CHIEF(PROBLEM), "number of variables of gl1 [40000]"},
  {"atoms", 0, MINIMIZE, INTEGER(minimize.atoms, "N", 1, 1e15), OTHER(PROBLEM), "number of atoms of lj [20000]"},
  {"dim", 0, MINIMIZE, INTEGER(minimize.dimension, "D", 2, 3), OTHER(PROBLEM), "dimension of lj"},
  {"param", 0, MINIMIZE, LIST(minimize.parameters, "NAME=VALUE"), OTHER(PROBLEM),
   "parameter of the problem. ept: c; pjb: e, b; odc, ssc: lambda; gl1: T; gl2: vortices, kappa; can be repeated"},
  {"bounds", 0, MINIMIZE, CHOICE(minimize.bounds, minimize_bounds), OTHER(PROBLEM),
   "natural: the bounds of the problem; box: [-1, 1] for every variable; none: no bounds"},
  {"memory", 'm', MINIMIZE, INTEGER(minimize.memory, "M", 1, CVTM_LBFGSB_MAX_HISTORY), OTHER(SOLVER),
   "number of pairs of steps and gradient changes in the history of L-BFGS-B",
   .manual = "On a GPU, more than 20 pairs need cuBLAS, which the program loads then."},
  {"cauchy", 0, MINIMIZE, CHOICE(minimize.cauchy, cauchy_points), OTHER(SOLVER), "how the generalized Cauchy point is computed",
   .manual = "`approximate` goes no farther than the first breakpoint; `exact` finds the first minimiser along the "
   "projected gradient."},
  {"evaluations", 0, MINIMIZE, INTEGER(minimize.evaluations, "N", 0, 1e15), OTHER(SOLVER),
   "maximum number of evaluations; 0: no limit", .manual = "A run that ends at a limit has the exit status 4."},
  {"gradient-tolerance", 0, MINIMIZE, REAL(run.gradient_tolerance, "G", 0, HUGE_VAL), OTHER(SOLVER),
   "stop when no component of the projected gradient is larger than this; 0: go on until the objective changes only by "
   "rounding errors",
   .manual = "Without this option and --tolerance, the run ends when the relative decrease is as small as rounding "
   "errors, 1.8e-15. With this option alone it ends at the tolerance, or when neither the objective nor the "
   "projected gradient decreases any more."},
  {"history", 0, MINIMIZE, FLAG(minimize.history), OTHER(SOLVER), "write every iteration to the report"},
  {"example", 0, HLCP, INTEGER(hlcp.example, "N", 1, 3), CHIEF(PROBLEM), "example 1, 2 or 3 of Mezzadri 2020"},
  {"size", 0, HLCP, INTEGER(hlcp.size, "H", 1, COUNT_MAX), CHIEF(PROBLEM), "size of the example, which has H^2 unknowns"},
  {"matrix-a", 0, HLCP, TEXT(hlcp.matrix_a, "A.mtx"), CHIEF(PROBLEM), "the matrix A, a Matrix Market file", .file = CLI_READS},
  {"matrix-b", 0, HLCP, TEXT(hlcp.matrix_b, "B.mtx"), CHIEF(PROBLEM), "the matrix B, a Matrix Market file; default: the identity, which gives an LCP",
   .file = CLI_READS},
  {"rhs", 0, HLCP, SOURCE(hlcp.rhs, "Q.npy"), CHIEF(PROBLEM), "the right-hand side q", .file = CLI_READS},
  {"output-z", 0, HLCP, TEXT(hlcp.output_z, "Z.npy"), OTHER(BASIC), "write z, float64", .file = CLI_WRITES},
  {"output-w", 0, HLCP, TEXT(hlcp.output_w, "W.npy"), OTHER(BASIC), "write w, float64", .file = CLI_WRITES},
  {"method", 0, HLCP, CHOICE(hlcp.solver.method, hlcp_methods), CHIEF(SOLVER),
   "modulus-based multisplitting by Jacobi, Gauss-Seidel, SOR or AOR, or a semismooth Newton method"},
  {"splits", 0, HLCP, INTEGER(hlcp.solver.splits, "L", -1e15, 1e15), OTHER(SOLVER),
   "number of splittings, each with a block of the unknowns; default: chosen for the device",
   .manual = "If L does not divide the number of unknowns, the first blocks have one row more."},
  {"alpha", 0, HLCP, REAL(hlcp.solver.alpha, "A", 1e-9, HUGE_VAL), OTHER(SOLVER), "parameter of mmsor and mmaor",
   .manual = "The paper's figures for \"MMSOR, alpha = 1.1\" belong to alpha = 1, beta = 1.1, which is the default; "
   "alpha = beta = 1.1 needs fewer sweeps."},
  {"beta", 0, HLCP, REAL(hlcp.solver.beta, "B", 0, HUGE_VAL), OTHER(SOLVER), "parameter of mmsor and mmaor"},
  {"omega", 0, HLCP, SOURCE(hlcp.omega, "W"), OTHER(SOLVER),
   "a number, ratio (a_ii / b_ii), or an .npy file of numbers; default: that of the paper for an example, else ratio",
   .words = "ratio", .file = CLI_READS_OMEGA},
  {"gamma", 0, HLCP, REAL(hlcp.solver.gamma, "G", -HUGE_VAL, HUGE_VAL), OTHER(SOLVER), "scale of the modulus variable"},
  {"rule", 0, HLCP, CHOICE(hlcp.solver.rule, hlcp_rules), OTHER(SOLVER),
   "the matrix L_k of a splitting. rows: the lower part of the rows of block k; block: the lower part of block k alone",
   .manual = "`rows` uses Jacobi predictions for unknowns outside the block, as the tables of the paper do."},
  {"splitting", 0, HLCP, CHOICE(hlcp.solver.split, hlcp_splits), OTHER(SOLVER), "split both A and B, or A alone (B is then diagonal)",
   .manual = "These are the two forms for LCPs."},
  {"start", 0, HLCP, REAL(hlcp.solver.start, "X", -HUGE_VAL, HUGE_VAL), OTHER(SOLVER), "value of every component of the modulus variable x at the start"},
  {"iterations", 0, HLCP, INTEGER(run.iterations, "N", 0, 1e15), CHIEF(SOLVER), "maximum number of sweeps or Newton steps"},
  {"tolerance", 0, HLCP, REAL(run.tolerance, "T", 0, HUGE_VAL), CHIEF(SOLVER), "stop when ||A z - B w - q|| is less than this",
   .manual = "With T = 0 the solver does all iterations, unless the residual becomes exactly 0, and the exit status "
   "is 4."},
  {"check", 0, VORONOI, FLAG(check), OTHER(BASIC), "compare the labels with the exact diagram",
   .manual = "The program prints the share of wrong pixels. The labels in the file are not corrected."},
  {"labels-from", 0, VORONOI, SOURCE(warm.labels, "FILE"), OTHER(BASIC),
   "start jump flooding from labels (npy) of sites that have moved a little since; the program checks the result and "
   "corrects it", .file = CLI_READS},
  {"first-step", 0, VORONOI, INTEGER(warm.first_step, "PIXELS", 0, CVTM_MAX_SIDE), OTHER(BASIC),
   "with --labels-from: the largest distance that a site has moved; 0: 0.3 mean spacings"},
  {"json", 0, STATS | INFO, FLAG(json), CHIEF(BASIC), "print JSON",
   .manual = "`stats` prints the same object `quality` as the report of `run`."},
  {"problem", 0, LCP, CHOICE(lcp.problem, lcp_problems), CHIEF(PROBLEM), "a model problem",
   .manual = "The problems are a loaded membrane over an obstacle, and the elastic-plastic torsion of a square bar."},
  {"size", 0, LCP, INTEGER(lcp.size, "M", 1, COUNT_MAX), CHIEF(PROBLEM), "number of nodes along a side"},
  {"width", 0, LCP, INTEGER(lcp.width, "W", 0, COUNT_MAX), OTHER(PROBLEM), "the unknowns are the nodes of a grid of this width; give it together with --height"},
  {"height", 0, LCP, INTEGER(lcp.height, "H", 0, COUNT_MAX), OTHER(PROBLEM), "height of the grid, together with --width; without both, a matrix has no grid"},
  {"mesh", 0, LCP, TEXT(lcp.mesh, "FILE"), CHIEF(PROBLEM), "solve the problem on the triangles of a mesh file",
   .manual = "The problem `membrane` (or `obstacle`) or `torsion` is solved by linear elements on the triangles of "
   "a msh, vtu, obj or ele file. x is 0 on the boundary, and the longer side of the mesh has length 1. -o then "
   "writes npy (x at the vertices), vtu, vtk, msh or ply (with the vertex data `solution`), or png. The PNG "
   "colours the triangles by x. It outlines the triangles that touch the obstacle or, in torsion, are plastic.", .file = CLI_READS},
  {"load", 0, LCP, REAL(lcp.load, "C", 0, 1e12), OTHER(PROBLEM), "with --mesh: the load; 0 means 1 for membrane and 5 for torsion",
   .manual = "For torsion, the load is twice the angle of twist of the bar per length."},
  {"matrix", 0, LCP, TEXT(lcp.matrix, "A.mtx"), CHIEF(PROBLEM), "the matrix, a Matrix Market file",
   .manual = "With --width and --height the unknowns are the nodes of a grid, row by row, and multigrid coarsens "
   "this grid. Without them it finds coarse levels by aggregation.", .file = CLI_READS},
  {"rhs", 0, LCP, SOURCE(lcp.rhs, "B.npy"), CHIEF(PROBLEM), "the right-hand side, as .npy or as a Matrix Market file", .file = CLI_READS},
  {"lower", 0, LCP, SOURCE(lcp.lower, "L.npy"), CHIEF(PROBLEM), "lower bounds; default: none", .file = CLI_READS},
  {"upper", 0, LCP, SOURCE(lcp.upper, "U.npy"), CHIEF(PROBLEM), "upper bounds; default: none",
   .manual = "An infinite entry means that the unknown has no such bound.", .file = CLI_READS},
  {"method", 0, LCP, CHOICE(lcp.solver.method, lcp_methods), CHIEF(SOLVER), "the solver; auto: tnnmg for a symmetric matrix, else pdas; lemke where these fail",
   .manual = "`tnnmg` (truncated nonsmooth Newton multigrid) needs a symmetric positive definite matrix. If the "
   "coefficients of a stored matrix jump so much that its cycles converge slowly, it continues as pdas. `pdas` "
   "(primal-dual active sets) is for M- and H-matrices, which need not be symmetric. `psor` is projected relaxation "
   "alone. These three need a positive diagonal. `lemke` (Lemke's method, with a dense matrix) takes any matrix, "
   "for example that of the optimality conditions of a linear program. Its path may end in a ray (exit status "
   "4). Then it tries other paths, unless it can prove that there is no solution (stop reason `infeasible`); if none "
   "finds one, the question stays open (`ray`), which never happens for a positive semidefinite matrix. `auto` takes tnnmg for a symmetric matrix and "
   "pdas for others; it does not test definiteness. For up to 2000 rows it takes lemke if the diagonal is not "
   "positive, or if the other method finds no solution. The rows of a matrix that is not symmetric may differ in "
   "scale. pdas continues until rows with small entries are solved as accurately as the others, although the norm "
   "of the residual hardly shows them."},
  {"storage", 0, LCP, CHOICE(lcp.is_matrix_free, lcp_storages), OTHER(SOLVER),
   "how the matrix is stored; matrix-free is for model problems on grids",
   .manual = "`matrix-free` takes about 75 bytes per unknown in all."},
  {"omega", 0, LCP, REAL(lcp.solver.omega, "W", -HUGE_VAL, HUGE_VAL), OTHER(SOLVER), "relaxation factor of psor, between 0 and 2"},
  {"nested", 0, LCP, FLAG(lcp.solver.nested), OTHER(SOLVER), "start multigrid from the solutions on coarser grids",
   .manual = "Without this, each cycle moves the free boundary by a few nodes only, so the number of cycles grows "
   "with the size."},
  {"iterations", 0, LCP, INTEGER(run.iterations, "N", 0, 1e15), CHIEF(SOLVER),
   "maximum number of sweeps, cycles or steps; 0: 100000 for psor, else 200"},
  {"tolerance", 0, LCP, REAL(run.tolerance, "T", 0, 1 - 1e-9), CHIEF(SOLVER),
   "stop when the natural residual is at most this times its value at x = 0",
   .manual = "If rounding errors prevent this, the solver stops at the smallest residual that they allow, and the "
   "exit status is 0."},
  {"jobs", 'j', BATCH, INTEGER(batch.jobs, "N", 0, 256), CHIEF(BATCH),
   "number of runs at the same time on each device; 0: chosen for the device",
   .manual = "The default is 8 runs on a GPU. On the CPU it is one run with one thread for each core; with fewer "
   "jobs than cores, runs get more threads. Each active run keeps its image and its work arrays in memory.", .effect = CLI_NO_EFFECT},
  {"resume", 0, BATCH, FLAG(batch.resume), CHIEF(BASIC), "skip the jobs that the journal lists as done",
   .manual = "A job is done again if one of its outputs is missing, or if an input file, an option that affects the "
   "result, or the version of the program has changed. Without --resume the program clears the journal and does "
   "every job.", .effect = CLI_NO_EFFECT},
  {"follow", 0, BATCH, FLAG(batch.follow), CHIEF(BATCH),
   "the pictures are frames of a film: each run starts from the sites of the frame before",
   .manual = "Sites move with the scene. Where the tone changed much, sites go from places that have too many to places "
   "that have too few. CSV and NPY files have a third column, `id`: a site keeps its number as long as it stays. All "
   "frames have the size, the number of sites and the tones (see --tone) of the first one. Frames are solved one "
   "after the other, in the order of the names; --resume, --shard, --order, --colours, --domain, --equal-mass and --noise blue "
   "are errors.", .effect = CLI_NO_EFFECT},
  {"fail-fast", 0, BATCH, FLAG(batch.fail_fast), OTHER(BATCH), "start no more runs after a failure",
   .effect = CLI_NO_EFFECT},
  {"journal", 0, BATCH, TEXT(batch.journal, "FILE"), OTHER(BATCH),
   "file that records finished jobs; default: the name of the list with .journal, or cvtmesh-batch.journal",
   .manual = "The journal gets one line, a JSON object, for every job that has ended. The line is on the disk "
   "before the job counts as done. An existing file that is not a journal is an error. A batch locks its journal "
   "while it runs, so that a second batch with the same journal fails. Without --resume, the program removes the "
   "journals of the shards, and fails if one of them is in use. On a file system without locks the program prints a "
   "note: make sure that no two batches use one journal, and remove temporary files of a killed batch yourself. Any "
   "other error of locking, as on a network file system whose lock service is down, ends the batch with exit status "
   "1; put the journal on another file system then.", .file = CLI_WRITES, .effect = CLI_NO_EFFECT},
  {"shard", 0, BATCH, TEXT(batch.shard, "I/N"), OTHER(BATCH),
   "do only every Nth job, starting with job I (0 to N - 1); slurm: take I and N from the Slurm array task",
   .manual = "`slurm` takes I and N from the environment of the task. Each shard has its own journal, FILE.shardI; "
   "--resume reads all of them.", .words = "slurm", .effect = CLI_NO_EFFECT},
  {"report", 0, BATCH, TEXT(batch.report, "FILE"), CHIEF(BASIC), "write a JSON report of the batch; - is stdout",
   .manual = "The report has counts, seconds, devices, and the first 1000 failures with their reasons.", .file = CLI_WRITES,
   .effect = CLI_NO_EFFECT},
  {"layers", 0, VIEW, TEXT(text.layers, "LIST"), CHIEF(VIEW),
   "layers that are shown at the start, separated by commas: density, cells, cell-edges, sites, mesh-edges, "
   "defects, boundary, plot, figures", .manual = "`defects` marks the cells that do not have six sides."},
  {"colour", 0, VIEW, CHOICE(view.colour, cell_fills), OTHER(VIEW), "what the colour of filled cells shows"},
  {"dark", 0, VIEW | RUN_ALONE, FLAG(run.dark), OTHER(VIEW), "light on a dark ground, in `view` and the pictures of --watch"},
  {"window", 0, VIEW | RUN_ALONE, TEXT(view.size, "WxH"), OTHER(VIEW),
   "size of the window of `view`, or of the pictures of --watch [1280x800]"},
  {"paused", 0, VIEW, FLAG(view.paused), OTHER(VIEW), "pause the optimisation at the start"},
  {"script", 0, VIEW, TEXT(view.script, "FILE"), CHIEF(VIEW), "execute the commands of FILE: keys, mouse, waiting, pictures",
   .manual = "Each line is one of these: `key` K (a character, space, plus, minus, escape); `move` X Y`,` `press` X "
   "Y`,` `release` X Y`,` `click` X Y (then a button, left, right or middle, and shift or ctrl); `drag` X Y X Y`;` "
   "`scroll` X Y NOTCHES`;` `size` W H`;` `layers` LIST`;` `wait` N (iterations); `converge`; `settle` (until all "
   "of this is in the picture); `frames` N`;` `shot` FILE`.` Coordinates are pixels of the picture or, as in `drag "
   "20i 20i 33i 41i`, of the image.", .file = CLI_READS},
  {"frames", 0, VIEW, INTEGER(view.frames, "N", 0, 1e9), OTHER(VIEW), "end after this number of frames; 0: no limit",
   .manual = "The program prints the number of frames per second."},
  {"shot", 0, VIEW, TEXT(view.shot, "FILE"), CHIEF(VIEW), "write the last frame as PNG, without a window",
   .manual = "No display is needed. Without a script the last frame shows the result.", .file = CLI_WRITES},
  {"record", 0, VIEW, TEXT(view.record, "DIR"), CHIEF(VIEW), "write every frame into DIR, without a window",
   .file = CLI_WRITES_FRAMES},
  {"save", 0, VIEW, TEXT(view.save, "NAME"), OTHER(VIEW), "name of the files NAME.png, NAME.csv and NAME.obj that the key S writes",
   .file = CLI_WRITES_NAMES},
  {"pinned", 0, VIEW, FLAG(view.pinned), OTHER(VIEW), "copy frames through pinned memory, without CUDA-OpenGL interoperability",
   .effect = CLI_NO_EFFECT},
  {"watch", 0, RUN_ALONE, TEXT(view.watch, "DIR"), CHIEF(VIEW),
   "write pictures of the optimisation, and a page DIR/index.html that shows them",
   .manual = "No display is needed. The pictures are DIR/frame-000001.png and so on; the page holds the pictures, the "
   "energy over the iterations and the report, and needs no other file.", .file = CLI_WRITES_FRAMES},
  {"every", 0, RUN_ALONE, INTEGER(view.every, "K", 1, 1e9), OTHER(VIEW), "number of iterations between two pictures of --watch"},
  {"device", 0, RUN_ALONE, TEXT(device, "NAME"), CHIEF(GENERAL),
   "where to compute: cpu, cuda, cuda:N, auto, or cuda:all (up to one process for each GPU)", .manual = "`auto` takes a CUDA "
   "device if one works, else the CPU.",
   .words = "auto cpu cuda", .effect = CLI_NO_EFFECT},
  {"device", 0, VORONOI | SPHERE | STATS | VIEW | MINIMIZE | HLCP | LCP | DENSITY | SEGMENT, TEXT(device, "NAME"), CHIEF(GENERAL),
   "where to compute: cpu, cuda, cuda:N or auto", .words = "auto cpu cuda", .effect = CLI_NO_EFFECT},
  {"device", 0, MESH, TEXT(device, "NAME"), CHIEF(GENERAL),
   "where to triangulate: cpu, cuda, cuda:N, or auto: CUDA for half a million points and more",
   .manual = "The mesh is the same on every device. Outlines are meshed on the CPU; another device is an error.",
   .words = "auto cpu cuda", .effect = CLI_NO_EFFECT},
  {"device", 0, BATCH, TEXT(device, "NAMES"), CHIEF(GENERAL),
   "where to compute: auto, cpu, cuda, cuda:N, several of these separated by commas, or all",
   .manual = "`auto` takes every CUDA device, or the CPU if there is none; `all` takes every CUDA device.", .words = "auto cpu cuda",
   .effect = CLI_NO_EFFECT},
  {"threads", 0, RUN | VORONOI | SPHERE | STATS | VIEW | MINIMIZE | HLCP | LCP | DENSITY | SEGMENT, INTEGER(run.threads, "N", 0, 4096), OTHER(GENERAL),
   "CPU threads; 0: as many as there are cores", .effect = CLI_NO_EFFECT},
  {"config", 0, CLI_EVERY_COMMAND, TEXT(config, "FILE"), OTHER(GENERAL),
   "read options from FILE, with lines `name = value`; the command line takes precedence", .manual = "See CONFIG FILES.",
   .file = CLI_READS, .effect = CLI_NO_EFFECT},
  {"quiet", 'q', CLI_EVERY_COMMAND, FLAG(quiet), CHIEF(GENERAL), "print no progress and no summary",
   .manual = "`cvtmesh stats` prints nothing then, except with --json.", .effect = CLI_NO_EFFECT},
  {"verbose", 'v', CLI_EVERY_COMMAND, FLAG(verbose), OTHER(GENERAL), "print a line for every iteration, where a command has any",
   .effect = CLI_NO_EFFECT},
  {"help", 'h', CLI_EVERY_COMMAND, FLAG(help), CHIEF(GENERAL), "print the main options; --help all: every option",
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
  {"hours", RUN, "-n 2h"},
  {"palette", RUN, "--colours N"},
  {"size-as", RUN, "--size-from KIND=FILE"},
  {"size-as", MESH, "--size FILE"},
  {"size-from", MESH, "--size FILE"},
  {"max-area", MESH, "--min-angle 30 --size LENGTH, the side of an equilateral triangle of that area"},
  {"black", RUN | STATS | VIEW | DENSITY, "--levels BLACK,WHITE"},
  {"white", RUN | STATS | VIEW | DENSITY, "--levels BLACK,WHITE"},
  {"bias", RUN | DENSITY, "--smooth LAMBDA,P"},
  {"grade-max", RUN | DENSITY, "--grade LAMBDA,MAX"},
  {"size", RUN_ALONE | VIEW, "--window WxH"},
  {"gcode", RUN | MESH, "--plotter MACHINE"},
  {"orientation", RUN | MESH | STATS | VIEW, "--page A4,landscape"},
  {"fill", RUN | MESH | STATS | VIEW, "--page A4,fill"},
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
